//! Errors of cooking.

use poplin_model::ModelError;
use thiserror::Error;

/// Reason for rejecting a mesh or cooking options. Each message names the option or element, its
/// position and the limit.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum CookError {
    /// A mesh, or the fabric cooked from it, outside the limits of the model.
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
        /// Unit, or empty.
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
    /// A per-vertex option whose length is not the vertex count of the mesh.
    #[error("cook option {field} has {len} entries; the mesh has {expected} vertices")]
    OptionLength {
        /// The option.
        field: &'static str,
        /// Its length.
        len: usize,
        /// Number of mesh vertices.
        expected: usize,
    },
    /// A gravity vector of zero length or with a component that is not finite.
    #[error("cook option gravity = {gravity:?} must be finite and not zero")]
    NoGravity {
        /// The gravity.
        gravity: [f32; 3],
    },
    /// A direction from texture coordinates for a mesh without texture coordinates.
    #[error("cook option direction is uv, but the mesh has no uvs")]
    NoUvs,
    /// A pin that is not a vertex of the mesh.
    #[error("cook option pins[{position}] is {vertex}, but the mesh has only {count} vertices")]
    PinOutOfRange {
        /// Position in the list of pins.
        position: usize,
        /// The requested vertex.
        vertex: u32,
        /// Number of mesh vertices.
        count: usize,
    },
    /// More faces than 32-bit indices can address.
    #[error("the mesh has {count} faces; the limit is {limit}")]
    TooManyFaces {
        /// Number of faces of the mesh.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// A mesh whose faces are all degenerate.
    #[error(
        "no face is left: all {degenerate} faces are degenerate (repeated corner or no area) at weld distance {tolerance} m"
    )]
    NoFaces {
        /// Number of degenerate faces.
        degenerate: usize,
        /// Distance within which vertices were welded \[m\].
        tolerance: f64,
    },
    /// A vertex with too many edges: none of its fibers could run in parallel.
    #[error("mesh vertex {vertex} has {count} neighbours; the limit is {limit}")]
    TooManyNeighbours {
        /// The mesh vertex.
        vertex: u32,
        /// Number of its neighbours.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// More virtual particles than a fabric supports.
    #[error("cook option virtual_particles yields {count} points; the limit is {limit}")]
    TooManyVirtualParticles {
        /// Number of points on all triangles.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// A free particle whose mass has no usable inverse.
    #[error(
        "mesh vertex {vertex} has mass {mass:.2e} kg; a vertex that is not pinned needs {min:.2e}..={max:.2e} kg: \
         check the scale of the mesh, its density and masses"
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
    /// A vertex of a skinned mesh that is too far from the cloth.
    #[error(
        "mesh vertex {vertex} is {distance:.3} m from the cloth; at most {limit:.3} m are allowed (max_distance)"
    )]
    FarFromCloth {
        /// The farthest mesh vertex.
        vertex: u32,
        /// Its distance \[m\].
        distance: f64,
        /// The limit \[m\].
        limit: f64,
    },
}
