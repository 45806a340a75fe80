//! Why a mesh could not be cooked.

use poplin_model::ModelError;
use thiserror::Error;

/// Why cooking refused a mesh or its options. Each message says what, where and the limit.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum CookError {
    /// The mesh, or the fabric that it would become, is outside what the model takes.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// An option outside its range.
    #[error("cook option {field} = {value} is outside {min}..={max}{}{unit}", if unit.is_empty() { "" } else { " " })]
    OptionOutOfRange {
        /// The option, with its kind: `weld.distance`.
        field: &'static str,
        /// Its value.
        value: f64,
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
        /// The unit, or empty.
        unit: &'static str,
    },
    /// An entry of a per-vertex option outside its range.
    #[error("cook option {field}[{index}] = {value} is outside {min}..={max}")]
    EntryOutOfRange {
        /// The option.
        field: &'static str,
        /// The mesh vertex.
        index: usize,
        /// Its value.
        value: f32,
        /// Smallest value.
        min: f32,
        /// Largest value.
        max: f32,
    },
    /// A per-vertex option with another length than the mesh.
    #[error("cook option {field} has {len} entries; the mesh has {expected} vertices")]
    OptionLength {
        /// The option.
        field: &'static str,
        /// Its length.
        len: usize,
        /// The count of mesh vertices.
        expected: usize,
    },
    /// A gravity of zero length or with a component that is not finite.
    #[error("cook option gravity = {gravity:?} must be finite and not zero")]
    NoGravity {
        /// The gravity.
        gravity: [f32; 3],
    },
    /// The direction is to come from texture coordinates that the mesh does not have.
    #[error("cook option direction is uv, but the mesh has no uvs")]
    NoUvs,
    /// A pin that is no vertex of the mesh.
    #[error("cook option pins[{position}] is {vertex}, but the mesh has only {count} vertices")]
    PinOutOfRange {
        /// Its position in the list of pins.
        position: usize,
        /// The vertex asked for.
        vertex: u32,
        /// The count of mesh vertices.
        count: usize,
    },
    /// More faces than indices can count.
    #[error("the mesh has {count} faces; the limit is {limit}")]
    TooManyFaces {
        /// Faces of the mesh.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// Every face was degenerate.
    #[error(
        "no face is left: all {degenerate} faces are degenerate (repeated corner or no area) at weld distance {tolerance} m"
    )]
    NoFaces {
        /// Faces dropped because they are degenerate.
        degenerate: usize,
        /// Distance within which vertices were welded \[m\].
        tolerance: f64,
    },
    /// A vertex with so many edges that no set of fibers could run in parallel.
    #[error("mesh vertex {vertex} has {count} neighbours; the limit is {limit}")]
    TooManyNeighbours {
        /// The mesh vertex.
        vertex: u32,
        /// Its neighbours.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// More virtual particles than a fabric takes.
    #[error("cook option virtual_particles asks for {count} points; the limit is {limit}")]
    TooManyVirtualParticles {
        /// Points of all triangles.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// A free particle whose mass has no usable inverse.
    #[error(
        "mesh vertex {vertex} has mass {mass} kg; a vertex that is not pinned needs {min}..={max} kg"
    )]
    MassOutOfRange {
        /// The mesh vertex.
        vertex: u32,
        /// Its mass \[kg\].
        mass: f64,
        /// Smallest mass \[kg\].
        min: f64,
        /// Largest mass \[kg\].
        max: f64,
    },
    /// A vertex of a mesh that is to follow a cloth is too far from it.
    #[error(
        "mesh vertex {vertex} is {distance:.3} m from the cloth; at most {limit:.3} m are allowed (max_distance)"
    )]
    FarFromCloth {
        /// The mesh vertex that is furthest away.
        vertex: u32,
        /// Its distance \[m\].
        distance: f64,
        /// The limit \[m\].
        limit: f64,
    },
}
