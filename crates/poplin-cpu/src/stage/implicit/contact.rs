//! Contact planes of an implicit solve.

use poplin_layout::{SOLVE_LINE, SOLVE_PLANE_DEPTH, SOLVE_PLANES, SOLVE_TRAVELS, Stage, StageMask};

use super::rows::{load_rows, solve_row, solve_state};
use crate::ClothMemory;
use crate::colliders::Contacts;
use crate::lanes::{Real, max};
use crate::math::{dot3, particle as pack, xyz};
use crate::particles::Block;
use crate::shapes::Table;
use crate::stage::collide_box::touch_boxes;
use crate::stage::collide_convex::{approach_convex, touch_convex};
use crate::stage::collide_shape::touch_shapes;
use crate::stage::collide_triangle::touch_mesh;
use crate::stage::sweep::swept_back;
use crate::vector::Vec3;

/// Tests whether this evaluation searches for contacts: all but those of line searches.
pub fn probes_contacts(memory: &ClothMemory<'_>) -> bool {
    StageMask(memory.registers.stages).intersects(StageMask::PROBES)
        && memory.load_scratch(solve_state(memory, 1))[2] != SOLVE_LINE
}

/// Tests the trial of particle i against all shapes. A particle inside is kept out by the plane of
/// its mean exit, with the energy kc/2 max(0, o - n . u)^2.
pub fn probe_contacts(memory: &mut ClothMemory<'_>, i: u32) {
    let particle = memory.load_current(i);
    if particle[3] > 0.0 {
        let row = solve_row(memory, SOLVE_PLANES, i);
        let plane = memory.load_scratch(row);
        if let Some(found) = contact_plane(memory, i, xyz(particle), plane) {
            memory.store_scratch(row, found.plane);
            memory.store_scratch(solve_row(memory, SOLVE_TRAVELS, i), found.travel);
        }
    }
}

/// Plane that keeps a particle out of shapes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContactPlane {
    /// Normal n and reach o of the displacement u since the start of the step: `n . u >= o` \[m\].
    pub(crate) plane: [f32; 4],
    /// Displacement of the shapes in the step \[m\], and the friction factor.
    pub(crate) travel: [f32; 4],
}

/// Finds the plane of the mean exit of particle i, displaced by `moved` since the start of the
/// step, from the shapes that it is in; `None` if it is in none, or has a plane that will do.
///
/// A plane never moves a particle outwards that was behind it one step ago, except along with the
/// shape: the stages after the solve do. It is kept while it explains half of the depth, so that
/// rounding of positions does not disturb the solve.
fn contact_plane(
    memory: &mut ClothMemory<'_>,
    i: u32,
    moved: glam::Vec3,
    plane: [f32; 4],
) -> Option<ContactPlane> {
    let (contacts, push) = exits(memory, i, moved)?;
    let depth = dot3(push, push).sqrt();
    if depth <= SOLVE_PLANE_DEPTH * plane_depth((), plane, moved.into()) {
        return None;
    }
    Some(contacts.plane(push / depth, depth, moved))
}

/// Finds the exits of particle i, displaced by `moved` since the start of the step, from the shapes
/// that it is in, and what takes it out of them: their mean, from where a sweep stops it; `None` if
/// it is in none.
pub(crate) fn exits(
    memory: &mut ClothMemory<'_>,
    i: u32,
    moved: glam::Vec3,
) -> Option<(Contacts<f32>, glam::Vec3)> {
    let before = xyz(memory.load_previous(i));
    let end = before + moved;
    let mut back = glam::Vec3::ZERO;
    if memory.runs(Stage::Sweep) {
        back = swept_back(memory, i, before, end);
    }
    let x = end + back;
    let (mut contacts, at) = (Contacts::new(()), x.into());
    if memory.runs(Stage::CollideConvex) {
        let convexes = Table::default();
        for place in 0..convexes.count::<f32>(memory) {
            let convex = convexes.shape(&*memory, place);
            if touch_convex((), &convex, at, &mut contacts) {
                approach_convex((), &convex, at, &mut contacts);
            }
        }
    }
    if memory.runs(Stage::CollideBox) {
        touch_boxes((), memory, &Table::default(), at, &mut contacts);
    }
    if memory.runs(Stage::CollideTriangle) {
        touch_mesh(memory, i, x, &mut contacts);
    }
    if StageMask(memory.registers.stages).intersects(StageMask::SPHERES) {
        touch_shapes((), memory, &Default::default(), at, &mut contacts);
    }
    (contacts.count > 0.0).then(|| {
        let push = glam::Vec3::from(contacts.mean_push()) + back;
        (contacts, push)
    })
}

impl ContactPlane {
    /// True if a particle displaced by `moved` is behind the plane.
    pub(crate) fn holds(&self, moved: [f32; 3]) -> bool {
        plane_depth((), self.plane, glam::Vec3::from(moved).into()) > 0.0
    }
}

impl Contacts<f32> {
    /// Returns the plane of a particle, displaced by `moved`, of this normal and depth.
    pub(crate) fn plane(&self, normal: glam::Vec3, depth: f32, moved: glam::Vec3) -> ContactPlane {
        let travel = self.mean_travel();
        let advance = self.approach / self.count + dot3(self.travel.into(), normal) / self.count;
        // o = min(n . u + depth, advance of the shape since the last step)
        let reach = (dot3(normal, moved) + depth).min(advance.max(0.0));
        ContactPlane { plane: pack(normal, reach), travel: pack(travel, self.friction_factor()) }
    }

    /// Mean displacement of the shapes in the step \[m\].
    pub(crate) fn mean_travel(&self) -> glam::Vec3 {
        glam::Vec3::from(self.travel) / self.count
    }
}

/// Displacements that friction takes off particles which the solve has moved and pressed against
/// their contact planes \[m\].
#[inline(always)]
pub(super) fn plane_slide<V: Real>(
    simd: V::Token,
    memory: &ClothMemory<'_>,
    block: Block<V>,
    moved: Vec3<V>,
    inverse_mass: V,
) -> Vec3<V> {
    let constants = memory.load_implicit();
    let splat = |value: f32| V::splat(simd, value);
    let plane = load_rows(simd, memory, SOLVE_PLANES, block);
    let travel = load_rows(simd, memory, SOLVE_TRAVELS, block);
    // Displacement by the contact force: h^2 w kc depth, over all parts of the step.
    let strength = splat(constants.contact_stiffness * constants.step_square) * inverse_mass;
    let push =
        strength * plane_depth(simd, plane, moved) * splat(constants.split * constants.split);
    let contacts = Contacts {
        push: Vec3::splat(simd, [0.0; 3]),
        count: splat(1.0),
        travel: Vec3::xyz(travel),
        approach: splat(0.0),
        axis: Vec3::xyz(plane) * push,
        grip: push * travel[3],
    };
    let shapes = &memory.cloth.colliders;
    let friction = [splat(shapes.friction), splat(shapes.friction_slop)];
    contacts.friction_slide(simd, moved * splat(constants.split), friction)
}

/// Depths behind contact planes of particles displaced by u \[m\]: max(0, o - n . u).
#[inline(always)]
pub(super) fn plane_depth<V: Real>(simd: V::Token, plane: [V; 4], u: Vec3<V>) -> V {
    max(plane[3] - Vec3::xyz(plane).dot(u), V::splat(simd, 0.0))
}
