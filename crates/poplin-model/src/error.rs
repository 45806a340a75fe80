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
        /// The array or field, with its groups: `air.wind_velocity`.
        what: String,
        /// The entry.
        index: usize,
        /// Its value.
        value: f32,
        /// The largest magnitude.
        limit: f32,
    },
    /// A value outside its range.
    #[error("{field} = {value} is outside {min}..={max}")]
    OutOfRange {
        /// The field, with its groups: `air.drag`.
        field: String,
        /// Its value.
        value: f32,
        /// Smallest value.
        min: f32,
        /// Largest value.
        max: f32,
    },
    /// A name that nothing has.
    #[error("there is no {what} `{name}`; expected one of {known}")]
    UnknownName {
        /// What was to be named.
        what: &'static str,
        /// The name as written.
        name: String,
        /// The names that there are, with commas between them.
        known: String,
    },
    /// An index that points past the end of what it indexes.
    #[error("{what}[{position}] is {index}, but there are only {count}")]
    IndexOutOfRange {
        /// The array that holds the index.
        what: &'static str,
        /// Its position in that array.
        position: usize,
        /// The index.
        index: u32,
        /// Count of what it may point at.
        count: usize,
    },
    /// An index that occurs twice in a list that may have it once.
    #[error("{what}[{position}] is {index}, which is in the list already")]
    Repeated {
        /// The list.
        what: &'static str,
        /// Its position in the list.
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
    /// A triangle with a repeated corner; it needs three different ones.
    #[error("{what}[{index}] has the corners {corners:?}; they must be three different particles")]
    RepeatedCorner {
        /// The array.
        what: &'static str,
        /// The entry.
        index: usize,
        /// Its corners.
        corners: [u32; 3],
    },
    /// A bend with a repeated particle; it needs four different ones.
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
    /// A fabric with a stiffness per edge, together with a setting that cannot use it.
    #[error(
        "the fabric has a stiffness per edge (edge_stiffness_log2), which {setting} does not read; that needs {needed}"
    )]
    EdgeStiffness {
        /// The setting.
        setting: String,
        /// What it would have to be.
        needed: &'static str,
    },
    /// A bending rigidity for a fabric that has no bends.
    #[error(
        "solver.{solver}.bending_rigidity = {rigidity} N m acts on bends, of which the fabric has 0; cook it with `bends`"
    )]
    NoBends {
        /// The solver.
        solver: &'static str,
        /// The bending rigidity [N m].
        rigidity: f32,
    },
    /// The implicit solver for a fabric without shapes of its triangles.
    #[error(
        "solver.implicit acts on the rest shapes of triangles (triangle_shapes), of which the fabric has 0; cook it from a mesh, \
         or use solver.xpbd"
    )]
    NoTriangleShapes,
    /// Springs for a fabric that does not say what breadth of cloth its edges stand for.
    #[error(
        "springs of solver.implicit act on edges and their breadths (edge_breadths), of which the fabric has 0; cook it from a mesh, \
         or use stretch_shear and face_angle"
    )]
    NoEdgeBreadths,
    /// A bending rigidity by springs for a fabric without edges that they could be.
    #[error(
        "solver.implicit.bend = springs has its bending_rigidity = {rigidity} N m by two-ring edges, of which the fabric has 0; cook \
         it with `bending`"
    )]
    NoTwoRingEdges {
        /// The bending rigidity [N m].
        rigidity: f32,
    },
    /// A bend of a cloth with the implicit solver whose triangles have no height at rest.
    #[error(
        "bend {index} of the fabric has triangles of the heights {heights:?} m at rest (wings), which must be above 0 with \
         solver.implicit"
    )]
    BendWithoutWings {
        /// The bend.
        index: usize,
        /// The heights \[m\].
        heights: [f32; 2],
    },
    /// A bend whose rest angle is too large for the model of bending.
    #[error(
        "solver.implicit.bend = {model} holds rest angles up to {limit} rad; bend {index} of the fabric has {angle} rad; use \
         face_angle"
    )]
    RestAngle {
        /// The model.
        model: &'static str,
        /// The bend.
        index: usize,
        /// Its rest angle \[rad\].
        angle: f32,
        /// The largest \[rad\].
        limit: f32,
    },
    /// A collider whose shape at the start of the next frame is not one that its shape can come from.
    #[error(
        "collider {index} cannot go from its shape at the start of the frame to the one at its end"
    )]
    OtherShape {
        /// Its position in the set.
        index: usize,
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
    /// A write with mass for a pinned particle: pins are set by the cloth, not by a write.
    #[error(
        "particle {particle} is pinned; a write may move it but not set its inverse mass to {inverse_mass}"
    )]
    PinnedParticle {
        /// The particle.
        particle: u32,
        /// The inverse mass written [1/kg].
        inverse_mass: f32,
    },
}

/// Names the group of a field in an error.
pub(crate) trait Context {
    /// Puts `group.` before the field that the error names.
    fn within(self, group: &str) -> Self;
}

impl Context for Result<(), ModelError> {
    fn within(self, group: &str) -> Self {
        self.map_err(|mut error| {
            if let ModelError::OutOfRange { field, .. }
            | ModelError::NotFinite { what: field, .. } = &mut error
            {
                *field = format!("{group}.{field}");
            }
            error
        })
    }
}

/// The one of `all` that has this name. A `-` counts as `_`, so that names of scene files serve on command lines too.
///
/// # Errors
/// [`ModelError::UnknownName`] with the names that there are.
pub fn parse_name<T: Copy>(
    what: &'static str,
    all: &[T],
    name_of: fn(T) -> &'static str,
    name: &str,
) -> Result<T, ModelError> {
    let plain = name.replace('-', "_");
    all.iter().copied().find(|&one| name_of(one) == plain).ok_or_else(|| ModelError::UnknownName {
        what,
        name: name.to_owned(),
        known: all.iter().map(|&one| name_of(one)).collect::<Vec<_>>().join(", "),
    })
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
                return Err(ModelError::NotFinite { what: what.into(), index, value, limit });
            }
        }
    }
    Ok(())
}

/// Refuses a value outside `min..=max`; NaN is outside every range.
pub(crate) fn check_range(
    field: &'static str,
    value: f32,
    min: f32,
    max: f32,
) -> Result<(), ModelError> {
    if value >= min && value <= max {
        Ok(())
    } else {
        Err(ModelError::OutOfRange { field: field.into(), value, min, max })
    }
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
