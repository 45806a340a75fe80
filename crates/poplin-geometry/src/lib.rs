//! Internal crate of [poplin](https://docs.rs/poplin), no API of its own: depend on `poplin`.
//!
//! Geometry that several crates need: each algorithm has one implementation here. Lengths are in
//! meters.

mod bounds;
mod box_tree;
mod closed_surface;
mod closest;
mod convex;
mod crossing;
mod csr;
mod mass;
mod normals;
mod rng;
mod sets;
mod triangle;
mod triangle_tree;
mod vector;
mod weld;

pub use bounds::Bounds;
pub use box_tree::BoxTree;
pub use closed_surface::{ClosedSurface, OpenSurface, Repairs, close_surface};
pub use closest::closest_on_triangle;
pub use convex::{HalfSpace, clip_polygon, convex_polygons, convex_sides, is_empty_convex, walls};
pub use crossing::{FaceTree, crossing_point, properly_intersect};
pub use csr::Csr;
pub use mass::{MassProperties, outer};
pub use normals::vertex_normals;
pub use rng::{Rng, split_mix};
pub use sets::Sets;
pub use triangle::{edges_of, six_volumes, solid_angle, triangle_area};
pub use triangle_tree::{NearestTriangle, TriangleTree};
pub use vector::wide;
pub use weld::{
    CompactMesh, Spots, compact_mesh, first_at_positions, is_closed, is_rimless, weld_triangles,
    weld_vertices,
};
