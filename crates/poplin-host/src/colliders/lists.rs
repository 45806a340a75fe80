//! Index lists and body rows that the kernel reads: shapes without a body, shapes of each body.

use poplin_layout::groups_by_member;

use super::arrays::Owner;
use super::{HostColliders, pad};

/// Ranges and begins of the index lists \[indices\]; a pair is begin and length.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lists {
    pub(super) free_spheres: [u32; 2],
    pub(super) free_capsules: [u32; 2],
    pub(super) free_convexes: [u32; 2],
    pub(super) free_boxes: [u32; 2],
    pub(super) sphere_capsules: u32,
    pub(super) convex_planes: u32,
    /// Begin of the friction factors; `None` if all are 1.
    pub(super) frictions: Option<u32>,
}

fn bits(row: [f32; 4]) -> [u32; 4] {
    row.map(f32::to_bits)
}

impl HostColliders {
    pub(super) fn make_lists(&mut self) {
        let mut indices: Vec<u32> = Vec::new();
        // All lists share one array; each is addressed by begin and length.
        let mut append = |list: &mut dyn Iterator<Item = u32>| {
            let begin = indices.len() as u32;
            indices.extend(list);
            [begin, indices.len() as u32 - begin]
        };
        let of_body = |owners: &[Owner], body: Option<u32>| -> Vec<u32> {
            (0..).zip(owners).filter(|(_, own)| own.body == body).map(|(shape, _)| shape).collect()
        };
        self.free_spheres = of_body(&self.sphere_owners, None);
        self.free_capsules = of_body(&self.capsule_owners, None);
        // Prefix sum of the plane counts, without the leading 0.
        let plane_begin = self.convexes.iter().scan(0, |sum, convex| {
            *sum += convex.len() as u32;
            Some(*sum)
        });
        let sphere_capsules = groups_by_member(self.sphere_owners.len(), &self.capsules);
        let owners =
            [&self.sphere_owners, &self.capsule_owners, &self.convex_owners, &self.box_owners];
        // Friction factors in the order spheres, capsules, convexes, boxes, meshes.
        let of_shapes = owners.into_iter().flatten().map(|owner| owner.friction);
        let frictions: Vec<_> = of_shapes.chain(self.mesh.frictions()).map(f32::to_bits).collect();
        let has_frictions = frictions.iter().any(|&bits| bits != 1.0_f32.to_bits());
        self.free = Lists {
            // Omitted if all are 1, the usual case.
            frictions: has_frictions.then(|| append(&mut frictions.into_iter())[0]),
            free_spheres: append(&mut self.free_spheres.iter().copied()),
            free_capsules: append(&mut self.free_capsules.iter().copied()),
            free_convexes: append(&mut of_body(&self.convex_owners, None).into_iter()),
            free_boxes: append(&mut of_body(&self.box_owners, None).into_iter()),
            sphere_capsules: append(&mut sphere_capsules.into_iter())[0],
            convex_planes: append(
                &mut std::iter::once(0)
                    .chain(plane_begin)
                    .chain(self.convexes.iter().flatten().copied()),
            )[0],
        };
        // Eight rows per body: center, velocity, angular velocity, 3 of inertia, 2 of lists.
        let mut rows = Vec::with_capacity(8 * self.bodies.states.len());
        for (index, body) in (0..).zip(&self.bodies.states) {
            let mut list = |owners: &[Owner]| append(&mut of_body(owners, Some(index)).into_iter());
            let [sphere, capsule] = [list(&self.sphere_owners), list(&self.capsule_owners)];
            let [convex, shape] = [list(&self.convex_owners), list(&self.box_owners)];
            let has_mesh = self.mesh_body() == Some(index);
            let with = |[x, y, z]: [f32; 3], w: f32| [x, y, z, w];
            rows.extend(
                [
                    with(body.center, body.inverse_mass),
                    with(body.velocity, body.restitution),
                    with(body.angular_velocity, f32::from(u8::from(has_mesh))),
                ]
                .map(bits),
            );
            rows.extend(body.inverse_inertia.map(pad).map(bits));
            rows.push([sphere[0], sphere[1], capsule[0], capsule[1]]);
            rows.push([convex[0], convex[1], shape[0], shape[1]]);
        }
        // Four indices share a vec4 row.
        indices.resize(indices.len().next_multiple_of(4), 0);
        self.index_rows.set(indices.as_chunks::<4>().0.iter().copied());
        self.body_rows.set(rows);
    }
}
