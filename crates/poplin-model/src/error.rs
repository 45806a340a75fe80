//! What can be wrong with user data.

use thiserror::Error;

/// Why a mesh, fabric, cloth, config or frame was refused. Each message says what, where and the limit.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// An array that may not be empty is empty.
    #[error("{what} is empty")]
    Empty {
        /// The array.
        what: &'static str,
    },
    /// An array has the wrong length.
    #[error("{what} has {len} entries; expected {expected}")]
    Length {
        /// The array.
        what: &'static str,
        /// Its length.
        len: usize,
        /// The length it must have.
        expected: usize,
    },
    /// More of something than the engine takes.
    #[error("{what}: {count} is more than the limit {limit}")]
    TooMany {
        /// What is counted.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// How many may be.
        limit: usize,
    },
    /// A NaN, an infinity, or a coordinate beyond [`crate::MAX_COORDINATE`].
    #[error("{what}[{index}] = {value} is not a finite number below {limit:e}")]
    NotFinite {
        /// The array or field.
        what: &'static str,
        /// The entry.
        index: usize,
        /// Its value.
        value: f32,
        /// The largest magnitude.
        limit: f32,
    },
    /// A number outside its range.
    #[error("{field} = {value} is outside {min}..={max}")]
    OutOfRange {
        /// The field.
        field: &'static str,
        /// Its value.
        value: f32,
        /// Smallest value.
        min: f32,
        /// Largest value.
        max: f32,
    },
    /// An index that points past the end of what it indexes.
    #[error("{what}[{position}] is {index}, but there are only {count}")]
    IndexOutOfRange {
        /// The array that holds the index.
        what: &'static str,
        /// Where in that array.
        position: usize,
        /// The index.
        index: u32,
        /// How many things it may point at.
        count: usize,
    },
    /// An index that may stand only once in a list.
    #[error("{what}[{position}] is {index}, which is in the list already")]
    Repeated {
        /// The list.
        what: &'static str,
        /// Where in the list.
        position: usize,
        /// The index.
        index: u32,
    },
    /// Prefix sums that do not ascend from 0 to the total.
    #[error("{what} must rise from 0 to {total}; entry {position} is {value}")]
    PrefixSum {
        /// The prefix-sum array.
        what: &'static str,
        /// The offending entry.
        position: usize,
        /// Its value.
        value: u32,
        /// What the last entry must be.
        total: usize,
    },
    /// Two fibers of one set move the same particle: they would race.
    #[error("set {set}: fibers {first} and {second} both move particle {particle}")]
    SharedParticle {
        /// The set.
        set: usize,
        /// One fiber.
        first: usize,
        /// The other fiber.
        second: usize,
        /// The particle both move.
        particle: u32,
    },
    /// A corner stands twice in a triangle that needs three different ones.
    #[error("{what}[{index}] has the corners {corners:?}; they must be three different particles")]
    RepeatedCorner {
        /// The array.
        what: &'static str,
        /// The entry.
        index: usize,
        /// Its corners.
        corners: [u32; 3],
    },
    /// A particle stands twice in a bend, which needs four different ones.
    #[error(
        "fabric bends[{index}] has the particles {particles:?}; they must be four different ones"
    )]
    RepeatedBendParticle {
        /// The bend.
        index: usize,
        /// Its particles.
        particles: [u32; 4],
    },
    /// Two bends of one set move the same particle: they would race.
    #[error("bend set {set}: bends {first} and {second} both move particle {particle}")]
    SharedBendParticle {
        /// The set.
        set: usize,
        /// One bend.
        first: usize,
        /// The other bend.
        second: usize,
        /// The particle both move.
        particle: u32,
    },
    /// A field off its default that nothing would read.
    #[error("{field} = {value} has no effect without {needs}; leave it at {default}")]
    Unused {
        /// The field.
        field: &'static str,
        /// Its value.
        value: f32,
        /// Its default.
        default: f32,
        /// What would read it.
        needs: &'static str,
    },
    /// A phase whose fibers are to be solved as a whole, in a fabric with a stiffness per edge.
    #[error(
        "phase config[{position}] solves fibers as a whole, but the fabric has a stiffness per edge; that needs fiber_solver gauss_seidel"
    )]
    EdgeStiffness {
        /// The phase config.
        position: usize,
    },
    /// A handle of something that was removed, or of another set.
    #[error("no such {what}: it was removed, or the handle is of another set")]
    StaleHandle {
        /// What the handle was of.
        what: &'static str,
    },
    /// Triangle meshes that one cloth meets belong to different bodies, or some to one and others to none.
    #[error("all triangle meshes that a cloth meets must belong to the same body or to none")]
    MeshesOfBodies,
    /// A write gave a pinned particle mass: pins are set by the cloth, not by a write.
    #[error(
        "particle {particle} is pinned; a write may move it but not give it inverse mass {inverse_mass}"
    )]
    PinnedParticle {
        /// The particle.
        particle: u32,
        /// The inverse mass written [1/kg].
        inverse_mass: f32,
    },
}

/// Refuses NaN, infinities and magnitudes beyond [`MAX_COORDINATE`](crate::MAX_COORDINATE) in an array of vectors.
///
/// # Errors
/// [`ModelError::NotFinite`] with the first such entry.
pub fn check_finite<const N: usize>(
    what: &'static str,
    values: &[[f32; N]],
) -> Result<(), ModelError> {
    let limit = crate::MAX_COORDINATE;
    for (index, vector) in values.iter().enumerate() {
        for &value in vector {
            if !value.is_finite() || value.abs() > limit {
                return Err(ModelError::NotFinite { what, index, value, limit });
            }
        }
    }
    Ok(())
}

/// Refuses a number outside `min..=max`; NaN is outside every range.
pub(crate) fn check_range(
    field: &'static str,
    value: f32,
    min: f32,
    max: f32,
) -> Result<(), ModelError> {
    if value >= min && value <= max {
        Ok(())
    } else {
        Err(ModelError::OutOfRange { field, value, min, max })
    }
}

/// Refuses a field off its default that nothing reads.
pub(crate) fn check_unused(
    field: &'static str,
    value: f32,
    default: f32,
    needs: &'static str,
) -> Result<(), ModelError> {
    if value == default { Ok(()) } else { Err(ModelError::Unused { field, value, default, needs }) }
}

/// Refuses an index at or past `count`.
pub(crate) fn check_indices(
    what: &'static str,
    indices: impl IntoIterator<Item = u32>,
    count: usize,
) -> Result<(), ModelError> {
    for (position, index) in indices.into_iter().enumerate() {
        if index as usize >= count {
            return Err(ModelError::IndexOutOfRange { what, position, index, count });
        }
    }
    Ok(())
}
