//! What takes part in contact of triangles: surfaces of cloths and colliders.

use std::ops::Range;
use std::sync::Arc;

use glam::Vec3;
use poplin_host::is_closed;

use super::tree::{Path, Tree};
use super::weld::welded;

/// Vertices, edges and faces of a surface, which do not change. A ball is a vertex with a radius, a capsule an edge.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Surface {
    /// Positions at rest \[m\].
    pub rest: Vec<Vec3>,
    /// Corners of the faces.
    pub faces: Vec<[u32; 3]>,
    /// Which of their sides (a to b first) and corners a face answers for: bits 0 to 2 and 3 to 5. Every side and corner of the
    /// surface has one face.
    pub owned: Vec<u8>,
    /// Ends of the edges, each once.
    pub edges: Vec<[u32; 2]>,
    /// The faces on both sides of each edge; `u32::MAX` beyond a border, and of more than two the first two.
    pub wings: Vec<[u32; 2]>,
    /// Whether every edge has two faces that run along it in opposite directions, where vertices in one spot count as one.
    pub is_closed: bool,
    /// The vertices that collide.
    pub vertices: Vec<[u32; 1]>,
}

/// No face.
pub(super) const NO_FACE: u32 = u32::MAX;

impl Surface {
    /// The surface of a triangle mesh. Triangles with a corner twice are left out, vertices without a triangle do not collide.
    pub fn of_triangles(rest: Vec<Vec3>, triangles: &[[u32; 3]]) -> Self {
        let has_three = |&&[a, b, c]: &&[u32; 3]| a != b && b != c && c != a;
        let faces: Vec<[u32; 3]> = triangles.iter().filter(has_three).copied().collect();
        let sides = faces.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
        let mut edges: Vec<[u32; 2]> = sides.map(|[a, b]| [a.min(b), a.max(b)]).collect();
        edges.sort_unstable();
        edges.dedup();
        let mut vertices: Vec<[u32; 1]> = faces.iter().flatten().map(|&corner| [corner]).collect();
        vertices.sort_unstable();
        vertices.dedup();
        let mut owned = vec![0; faces.len()];
        let mut seen_corners = vec![false; rest.len()];
        let mut seen_edges = vec![false; edges.len()];
        let mut wings = vec![[NO_FACE; 2]; edges.len()];
        for (index, (face, owned)) in (0..).zip(faces.iter().zip(&mut owned)) {
            for k in 0..3 {
                let (a, b) = (face[k], face[(k + 1) % 3]);
                let edge = edges.binary_search(&[a.min(b), a.max(b)]).unwrap_or_default();
                let is_second = wings[edge][0] != NO_FACE;
                if !is_second || wings[edge][1] == NO_FACE {
                    wings[edge][usize::from(is_second)] = index;
                }
                if !std::mem::replace(&mut seen_edges[edge], true) {
                    *owned |= 1 << k;
                }
                if !std::mem::replace(&mut seen_corners[a as usize], true) {
                    *owned |= 8 << k;
                }
            }
        }
        let is_closed = is_closed(&welded(&rest, &faces));
        Self { rest, faces, owned, edges, wings, is_closed, vertices }
    }
}

/// How a body takes part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Role {
    /// A cloth: groups that it belongs to and collides with, whether it collides with itself.
    Cloth {
        /// Groups that it belongs to.
        group: u32,
        /// Groups that it collides with.
        mask: u32,
        /// Groups of colliders that it meets, and is in for them.
        colliders: [u32; 2],
    },
    /// A collider; of one cloth only, or of all that its groups let.
    Collider {
        /// The body of the cloth whose it is.
        owner: Option<u32>,
        /// Groups that it is in, and that it meets.
        groups: [u32; 2],
    },
}

/// A surface with its rows and its trees.
#[derive(Debug, Clone)]
pub struct Body {
    /// Its topology.
    pub surface: Arc<Surface>,
    /// How it takes part.
    pub role: Role,
    /// Coefficient of friction of a cloth, factor of a collider.
    pub friction: f32,
    /// Its rows.
    pub rows: Range<usize>,
    /// Whether it collides with itself.
    pub meets_itself: bool,
    /// Whether it is a plane: a row for a point of it, the rest position of which is the normal.
    pub is_plane: bool,
    pub(super) faces: Tree<3>,
    /// Faces where they are, fitted when something is crossed.
    pub(super) still_faces: Tree<3>,
    pub(super) edges: Tree<2>,
    pub(super) vertices: Tree<1>,
}

impl Body {
    /// A body whose rows are added by the memory of the passes.
    pub fn new(surface: Arc<Surface>, role: Role, friction: f32) -> Self {
        let rows = 0..0;
        let rest = &surface.rest;
        let faces = Tree::new(&surface.faces, rest);
        let edges = Tree::new(&surface.edges, rest);
        let vertices = Tree::new(&surface.vertices, rest);
        Self {
            meets_itself: matches!(role, Role::Cloth { .. }),
            is_plane: false,
            role,
            friction,
            rows,
            faces,
            still_faces: Tree::default(),
            edges,
            vertices,
            surface,
        }
    }

    /// Around the paths to which its trees were fitted; a plane is everywhere.
    pub(super) fn bounds(&self) -> Path {
        if self.is_plane {
            return Path::EVERYTHING;
        }
        let mut bounds = self.faces.bounds();
        bounds.include(&self.edges.bounds());
        bounds.include(&self.vertices.bounds());
        bounds
    }

    pub(super) fn is_cloth(&self) -> bool {
        matches!(self.role, Role::Cloth { .. })
    }

    /// Whether two different bodies collide: each must want the other, and one must be a cloth.
    pub(super) fn wants(&self, own: u32, other: &Self, others: u32) -> bool {
        match (self.role, other.role) {
            (Role::Cloth { group, mask, .. }, Role::Cloth { group: g, mask: m, .. }) => {
                group & m != 0 && g & mask != 0
            }
            (Role::Cloth { colliders, .. }, Role::Collider { owner, groups }) => {
                owner.is_none_or(|owner| owner == own)
                    && colliders[0] & groups[1] != 0
                    && groups[0] & colliders[1] != 0
            }
            (Role::Collider { .. }, Role::Cloth { .. }) => other.wants(others, self, own),
            (Role::Collider { .. }, Role::Collider { .. }) => false,
        }
    }

    /// Coefficient of friction between two bodies: the geometric mean of two cloths, that of a cloth times the factor of a collider.
    pub(super) fn friction_with(&self, other: &Self) -> f32 {
        let product = self.friction * other.friction;
        if self.is_cloth() && other.is_cloth() { product.sqrt() } else { product }
    }
}
