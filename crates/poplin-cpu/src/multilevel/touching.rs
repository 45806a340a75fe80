//! Contacts of a cloth before a multilevel solve.

use crate::stage::implicit::ContactPlane;

/// Contacts with colliders in the last slice, of contact of triangles; empty without it.
#[derive(Debug, Clone, Default)]
pub struct Touching {
    /// Plane of each particle that touches a collider.
    pub(crate) planes: Vec<Option<ContactPlane>>,
    /// Planes of edges and faces that do.
    pub(crate) links: Vec<ContactLink>,
}

/// Plane that keeps a point of an edge or face out of a collider.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContactLink {
    pub(crate) particles: [u32; 3],
    /// Share of each particle in the point, 0 of the third of an edge; they sum to 1.
    pub(crate) shares: [f32; 3],
    pub(crate) plane: ContactPlane,
}

impl Touching {
    pub(crate) fn clear(&mut self) {
        self.planes.clear();
        self.links.clear();
    }

    /// True if the cloth is not in contact of triangles.
    pub(crate) fn is_empty(&self) -> bool {
        self.planes.is_empty()
    }

    /// Allocated bytes.
    pub(crate) fn size(&self) -> usize {
        size_of::<Option<ContactPlane>>() * self.planes.capacity()
            + size_of::<ContactLink>() * self.links.capacity()
    }
}
