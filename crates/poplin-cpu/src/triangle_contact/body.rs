//! Body of triangle contact with the trees of its simplices.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use poplin_host::{Role, Surface, TriangleBody};

use super::path::Path;
use super::tree::Tree;

/// Surface with its rows and bounding-volume trees.
#[derive(Debug, Clone)]
pub struct Body {
    it: TriangleBody,
    pub(super) faces: Tree<3>,
    /// Faces at their current positions, refitted when intersections are searched for.
    pub(super) still_faces: Tree<3>,
    pub(super) edges: Tree<2>,
    pub(super) vertices: Tree<1>,
}

impl Deref for Body {
    type Target = TriangleBody;

    fn deref(&self) -> &TriangleBody {
        &self.it
    }
}

impl DerefMut for Body {
    fn deref_mut(&mut self) -> &mut TriangleBody {
        &mut self.it
    }
}

impl From<TriangleBody> for Body {
    fn from(it: TriangleBody) -> Self {
        let Surface { rest, faces, edges, vertices, .. } = &*it.surface;
        let (faces, edges) = (Tree::new(faces, rest.len()), Tree::new(edges, rest.len()));
        let vertices = Tree::new(vertices, rest.len());
        Self { faces, still_faces: Tree::default(), edges, vertices, it }
    }
}

impl Body {
    /// Creates a body whose rows [`TriangleContact::add`](super::TriangleContact::add) assigns.
    pub fn new(surface: Arc<Surface>, role: Role, friction: f32) -> Self {
        TriangleBody::new(surface, role, friction, 0).into()
    }

    /// Returns the box around the paths that the trees were fitted to; everything for a plane.
    pub(super) fn bounds(&self) -> Path {
        if self.is_plane {
            return Path::EVERYTHING;
        }
        let mut bounds = self.faces.bounds();
        bounds.include(&self.edges.bounds());
        bounds.include(&self.vertices.bounds());
        bounds
    }
}
