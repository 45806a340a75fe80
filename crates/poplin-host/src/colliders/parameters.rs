//! Constants of the colliders for a frame, as the kernel reads them.

use bytemuck::Zeroable;
use poplin_layout::{ColliderParameters, FrameSteps, NO_OFFSET};
use poplin_model::ClothConfig;

use super::layout::Part;
use super::{HostColliders, JUMP};
use crate::InterpolatedArray;

impl HostColliders {
    /// Constants of the next frame. `input_begin` is the begin of the colliders' inputs in
    /// `input_pool`, `scratch_begin` that of their part of the cloth's scratch.
    pub(crate) fn frame(
        &self,
        config: &ClothConfig,
        steps: Option<&FrameSteps>,
        particle_count: u32,
        input_begin: u32,
        scratch_begin: u32,
    ) -> ColliderParameters {
        if self.is_empty() {
            return Zeroable::zeroed();
        }
        let begins = self.begins().map(|begin| input_begin + begin);
        let begin = |part: Part| begins[part as usize];
        // An array without a target returns the same offset twice.
        let halves =
            |array: &InterpolatedArray, part: Part| array.offsets().map(|half| begin(part) + half);
        let [sphere_start, sphere_target] = halves(&self.spheres, Part::Spheres);
        let [plane_start, plane_target] = halves(&self.planes, Part::Planes);
        let [box_start, box_target] = halves(&self.boxes, Part::Boxes);
        let [vertex_start, vertex_target] = halves(&self.vertices, Part::Vertices);
        let prepared_begin = scratch_begin;
        let nearest_begin = self.nearest_begin(scratch_begin);
        ColliderParameters {
            sphere_count: self.sphere_owners.len() as u32,
            sphere_start,
            sphere_target,
            capsule_count: self.capsules.len() as u32,
            capsule_begin: begin(Part::Capsules),
            plane_count: self.planes.start().len() as u32,
            plane_start,
            plane_target,
            box_count: self.box_owners.len() as u32,
            box_start,
            box_target,
            vertex_start,
            vertex_target,
            triangle_begin: begin(Part::Triangles),
            triangle_count: self.triangles.len() as u32,
            triangle_tree_begin: begin(Part::TriangleTree),
            triangle_tree_count: self.triangle_tree.node_count(),
            is_mesh_closed: u32::from(self.is_mesh_closed),
            sphere_tree_begin: begin(Part::SphereTree),
            sphere_tree_count: self.sphere_tree.node_count(),
            capsule_tree_begin: begin(Part::CapsuleTree),
            capsule_tree_count: self.capsule_tree.node_count(),
            number_begin: begin(Part::Indices),
            free_sphere_begin: self.free.free_spheres[0],
            free_capsule_begin: self.free.free_capsules[0],
            free_convex_begin: self.free.free_convexes[0],
            free_convex_count: self.free.free_convexes[1],
            free_box_begin: self.free.free_boxes[0],
            free_box_count: self.free.free_boxes[1],
            sphere_capsule_begin: self.free.sphere_capsules,
            convex_plane_begin: self.free.convex_planes,
            convex_count: self.convexes.len() as u32,
            body_begin: begin(Part::Bodies),
            body_count: self.body_count(),
            prepared_begin,
            nearest_begin,
            impulse_begin: nearest_begin + self.nearest_len(particle_count),
            friction: config.contact.friction,
            friction_factor_begin: self.free.frictions.unwrap_or(NO_OFFSET),
            twist_begin: begin(Part::Twists),
            friction_slop: config.contact.friction_slop,
            friction_holds: u32::from(config.contact.friction_holds),
            mass_scale: config.contact.mass_scale,
            continuous_reach: 1.0 + config.contact.continuous_reach,
            depenetration_step: config.contact.depenetration_speed
                * steps.map_or(0.0, |steps| steps.step),
            mesh_step: self.mesh_step(steps),
            step: steps.map_or(0.0, |steps| steps.step),
            iteration_fraction: steps.map_or(0.0, |steps| 1.0 / steps.iteration_count as f32),
        }
    }

    /// Largest displacement of a mesh vertex in one iteration of the next frame \[m\]; [`JUMP`] in
    /// the frame after the mesh was replaced.
    fn mesh_step(&self, steps: Option<&FrameSteps>) -> f32 {
        if self.has_new_mesh {
            return JUMP;
        }
        let (start, target) = (self.vertices.start(), self.vertices.target());
        let square =
            |(a, b): (&[f32; 4], &[f32; 4])| (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f32>();
        // max |target - start| over the vertices, divided evenly among the iterations.
        let farthest = if self.vertices.has_target() {
            start.iter().zip(target).map(square).fold(0.0, f32::max)
        } else {
            0.0
        };
        // 0.1 % more than computed, against rounding.
        1.001 * farthest.sqrt() / steps.map_or(1.0, |steps| steps.iteration_count as f32)
    }

    /// Loop trips of one particle in one iteration: every plane and box, and a usual share of the
    /// tree nodes.
    pub(crate) fn trips_per_particle(&self) -> u64 {
        // A traversal of a large tree visits about 192 nodes.
        let of_tree = |count: u32| u64::from(count).min(192);
        let of_convexes = self.convexes.iter().map(Vec::len).sum::<usize>();
        let one_by_one = self.planes.start().len() + self.box_owners.len() + of_convexes;
        one_by_one as u64
            + of_tree(self.triangle_tree.node_count())
            + of_tree(self.sphere_tree.node_count())
            + of_tree(self.capsule_tree.node_count())
    }
}
