//! Errors in user data.

use thiserror::Error;

/// Reason for rejecting a mesh, fabric, cloth, config or frame. Each message names the field, its
/// position and the limit.
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
        /// Its required length.
        expected: usize,
    },
    /// More elements of a kind than the limit.
    #[error("{what}: {count} is more than the limit {limit}")]
    TooMany {
        /// Kind of element.
        what: &'static str,
        /// Number of elements.
        count: usize,
        /// Largest number.
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
        /// Largest magnitude.
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
    /// An unknown name.
    #[error("there is no {what} `{name}`; expected one of {known}")]
    UnknownName {
        /// Kind of thing that the name refers to.
        what: &'static str,
        /// The given name.
        name: String,
        /// Known names, separated by commas.
        known: String,
    },
    /// An index beyond the end of the array that it refers to.
    #[error("{what}[{position}] is {index}, but there are only {count}")]
    IndexOutOfRange {
        /// The array that contains the index.
        what: &'static str,
        /// Its position in that array.
        position: usize,
        /// The index.
        index: u32,
        /// Number of valid indices.
        count: usize,
    },
    /// An index that occurs twice in a list of unique indices.
    #[error("{what}[{position}] is {index}, which is already in the list")]
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
        /// Position of the invalid entry.
        position: usize,
        /// Its value.
        value: u32,
        /// Required value of the last entry.
        total: usize,
    },
    /// Two fibers of one set that move the same particle, a data race.
    #[error("set {set}: fibers {first} and {second} both move particle {particle}")]
    SharedParticle {
        /// The set.
        set: usize,
        /// One fiber.
        first: usize,
        /// The other fiber.
        second: usize,
        /// Their shared particle.
        particle: u32,
    },
    /// A triangle with a repeated corner; its three corners must be different.
    #[error("{what}[{index}] has the corners {corners:?}; they must be three different particles")]
    RepeatedCorner {
        /// The array.
        what: &'static str,
        /// The entry.
        index: usize,
        /// Its corners.
        corners: [u32; 3],
    },
    /// A bend with a repeated particle; its four particles must be different.
    #[error(
        "fabric bends[{index}] has the particles {particles:?}; they must be four different ones"
    )]
    RepeatedBendParticle {
        /// The bend.
        index: usize,
        /// Its particles.
        particles: [u32; 4],
    },
    /// Two bends of one set that move the same particle, a data race.
    #[error("bend set {set}: bends {first} and {second} both move particle {particle}")]
    SharedBendParticle {
        /// The set.
        set: usize,
        /// One bend.
        first: usize,
        /// The other bend.
        second: usize,
        /// Their shared particle.
        particle: u32,
    },
    /// Two yarns of one set that move the same particle, a data race.
    #[error("yarn set {set}: yarns {first} and {second} both move particle {particle}")]
    SharedYarnParticle {
        /// The set.
        set: usize,
        /// One yarn.
        first: usize,
        /// The other yarn.
        second: usize,
        /// Their shared particle.
        particle: u32,
    },
    /// A stiffness per edge combined with a setting that does not support it.
    #[error(
        "the fabric has a stiffness per edge (edge_stiffness_log2), which {setting} does not support; use {needed}"
    )]
    EdgeStiffness {
        /// The incompatible setting.
        setting: String,
        /// The setting to use instead.
        needed: &'static str,
    },
    /// A bending rigidity for a fabric without bends.
    #[error(
        "solver.{solver}.bending_rigidity = {rigidity} N m requires bends, but the fabric has none; cook it with `bends`"
    )]
    NoBends {
        /// The solver.
        solver: &'static str,
        /// The bending rigidity [N m].
        rigidity: f32,
    },
    /// A solver that needs the rest shapes of triangles for a fabric without them.
    #[error(
        "solver.{solver} requires the rest shapes of triangles (triangle_shapes), but the fabric has none; cook it from a mesh \
         or use solver.xpbd"
    )]
    NoTriangleShapes {
        /// The solver.
        solver: &'static str,
    },
    /// Springs for a fabric without edge breadths.
    #[error(
        "springs of solver.{solver} require edge breadths (edge_breadths), but the fabric has none; cook it from a mesh \
         or use solver.implicit with stretch_shear and face_angle"
    )]
    NoEdgeBreadths {
        /// The solver.
        solver: &'static str,
    },
    /// The multilevel solver for a fabric without levels.
    #[error(
        "solver.multilevel requires coarser levels of the cloth (hierarchy), but the fabric has none; cook it with `levels` \
         (in Python with this solver in the `settings` of `cook`) or use solver.implicit"
    )]
    NoLevels,
    /// A bending rigidity by springs for a fabric without two-ring edges.
    #[error(
        "solver.implicit.bend = springs with bending_rigidity = {rigidity} N m requires two-ring edges, but the fabric has none; cook \
         it with `bending`"
    )]
    NoTwoRingEdges {
        /// The bending rigidity [N m].
        rigidity: f32,
    },
    /// A bend whose triangles have no rest height, with the implicit solver.
    #[error(
        "bend {index} of the fabric has triangles of the rest heights {heights:?} m (wings); they must be above 0 for \
         solver.implicit"
    )]
    BendWithoutWings {
        /// The bend.
        index: usize,
        /// The heights \[m\].
        heights: [f32; 2],
    },
    /// A rest angle beyond the limit of the bend model.
    #[error(
        "solver.implicit.bend = {model} supports rest angles up to {limit} rad, but bend {index} of the fabric has {angle} rad; use \
         face_angle"
    )]
    RestAngle {
        /// The bend model.
        model: &'static str,
        /// The bend.
        index: usize,
        /// Its rest angle \[rad\].
        angle: f32,
        /// Largest rest angle \[rad\].
        limit: f32,
    },
    /// A collider whose shape at the start of the next frame cannot be interpolated to its shape at
    /// the end.
    #[error(
        "collider {index}: its shapes at the start and at the end of the frame have different kinds, plane counts or triangles"
    )]
    OtherShape {
        /// Its position in the set.
        index: usize,
    },
    /// A handle of a removed object, or of another set.
    #[error("no such {what}: it was removed, or the handle is of another set")]
    StaleHandle {
        /// Kind of the object.
        what: &'static str,
    },
    /// Triangle meshes that collide with one cloth but belong to different bodies, or partly to a
    /// body and partly to none.
    #[error(
        "all triangle meshes that a cloth collides with must belong to the same body or to none"
    )]
    MeshesOfBodies,
    /// A write of nonzero inverse mass to a pinned particle: pins are set by the cloth, not by a
    /// write.
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

/// Adds the group of a field to an error.
pub(crate) trait Context {
    /// Prefixes the field that the error names with `group.`.
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

/// Finds the element of `all` with a name. A `-` counts as `_`, so that names of scene files also
/// work on command lines.
///
/// # Errors
/// [`ModelError::UnknownName`] with the known names.
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

/// Rejects NaN, infinities and magnitudes beyond [`MAX_COORDINATE`](crate::MAX_COORDINATE) in an
/// array of vectors.
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

/// Rejects a value outside `min..=max`; NaN is outside every range.
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

/// Rejects an index at or past `count`.
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
