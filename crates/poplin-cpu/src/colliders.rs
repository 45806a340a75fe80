//! Twin of `shaders/state/colliders.wgsl`.

use glam::Vec3;
use poplin_layout::{
    BOX_ROWS, CAPSULE_ROWS, MIN_NORMAL_SQUARE, NO_OFFSET, SPHERE_ROWS, Stage, StageMask,
};

use crate::ClothMemory;
use crate::geometry::{Cone, cone_between};
use crate::math::{cross3, dot3, guarded_square, particle as pack, xyz};
use crate::stage::implicit::borne_push;

/// Accumulated contacts of one particle with some shapes in one stage.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Contacts {
    /// Sum of the exits \[m\].
    pub(crate) push: Vec3,
    /// Number of contacts.
    pub(crate) count: f32,
    /// Sum of the displacements of the shapes in this iteration \[m\].
    pub(crate) travel: Vec3,
    /// Sum of the advances of planes towards the particle in this iteration \[m\].
    pub(crate) approach: f32,
    /// Largest friction factor of the shapes.
    pub(crate) friction_factor: f32,
}

impl ClothMemory<'_> {
    /// Tests whether a stage is active.
    pub fn runs(&self, stage: Stage) -> bool {
        StageMask(self.registers.stages).contains(stage)
    }

    /// Adds the exit from a shape; indices count spheres, then capsules, convexes, boxes,
    /// triangles.
    #[inline]
    pub(crate) fn add_contact(&self, contacts: &mut Contacts, shape: u32, exit: Vec3) {
        let begin = self.cloth.colliders.friction_factor_begin;
        let factor =
            if begin == NO_OFFSET { 1.0 } else { f32::from_bits(self.load_index(begin + shape)) };
        contacts.push += exit;
        contacts.count += 1.0;
        contacts.friction_factor = contacts.friction_factor.max(factor);
    }

    /// Index of convex c among all shapes.
    pub fn convex_shape(&self, c: u32) -> u32 {
        self.cloth.colliders.sphere_count + self.cloth.colliders.capsule_count + c
    }

    /// Index of box b among all shapes.
    pub fn box_shape(&self, b: u32) -> u32 {
        self.convex_shape(self.cloth.colliders.convex_count) + b
    }

    /// Index of triangle t among all shapes.
    pub(crate) fn triangle_shape(&self, t: u32) -> u32 {
        self.box_shape(self.cloth.colliders.box_count) + t
    }

    /// Entry k of the cloth's lists of indices.
    #[inline]
    pub fn load_index(&self, k: u32) -> u32 {
        self.input_pool[(self.cloth.colliders.number_begin + (k >> 2)) as usize][(k & 3) as usize]
    }

    /// First prepared row of sphere s: its current state, then that of the last iteration.
    #[inline]
    pub fn sphere_row(&self, s: u32) -> u32 {
        self.cloth.colliders.prepared_begin + SPHERE_ROWS * s
    }

    /// Current center and radius of sphere s.
    #[inline]
    pub fn load_sphere(&self, s: u32) -> [f32; 4] {
        self.load_scratch(self.sphere_row(s))
    }

    /// Displacement of sphere s in this iteration \[m\].
    pub fn sphere_move(&self, s: u32) -> Vec3 {
        let row = self.sphere_row(s);
        xyz(self.load_scratch(row)) - xyz(self.load_scratch(row + 1))
    }

    /// First prepared row of capsule c.
    #[inline]
    pub fn capsule_row(&self, c: u32) -> u32 {
        self.sphere_row(self.cloth.colliders.sphere_count) + CAPSULE_ROWS * c
    }

    /// Loads the cone whose three rows begin at `row`.
    #[inline]
    pub fn load_cone(&self, row: u32) -> Cone {
        let [first, second, third] = [0, 1, 2].map(|k| self.load_scratch(row + k));
        Cone {
            center: xyz(first),
            half_length: first[3],
            axis: xyz(second),
            slope: second[3],
            radius: third[0],
            cosine_square: third[1],
        }
    }

    /// The two spheres of capsule c.
    #[inline]
    pub fn capsule_ends(&self, c: u32) -> [u32; 2] {
        let [a, b, ..] = self.input_pool[(self.cloth.colliders.capsule_begin + c) as usize];
        [a, b]
    }

    /// Prepared row of plane p.
    #[inline]
    pub fn plane_row(&self, p: u32) -> u32 {
        self.capsule_row(self.cloth.colliders.capsule_count) + p
    }

    /// First prepared row of box b.
    #[inline]
    pub fn box_row(&self, b: u32) -> u32 {
        self.plane_row(self.cloth.colliders.plane_count) + BOX_ROWS * b
    }

    /// Number of shapes to prepare.
    pub(crate) fn prepared_count(&self) -> u32 {
        let shapes = &self.cloth.colliders;
        shapes.sphere_count + shapes.capsule_count + shapes.plane_count + shapes.box_count
    }

    /// Interpolated center and radius of sphere s at a fraction of the frame.
    fn sphere_at(&self, s: u32, fraction: f32) -> [f32; 4] {
        self.load_at(
            self.cloth.colliders.sphere_start,
            self.cloth.colliders.sphere_target,
            s,
            fraction,
        )
    }

    /// Tests whether the box of a tree node, whose two rows begin at `row`, overlaps the box from
    /// `low` to `high`.
    #[inline]
    pub fn meets_node(&self, row: u32, low: Vec3, high: Vec3) -> bool {
        let node_low = xyz(self.input_row(row));
        let node_high = xyz(self.input_row(row + 1));
        node_low.x <= high.x
            && node_low.y <= high.y
            && node_low.z <= high.z
            && low.x <= node_high.x
            && low.y <= node_high.y
            && low.z <= node_high.z
    }

    /// Next node if the box of this one is missed.
    #[inline]
    pub fn node_escape(&self, row: u32) -> u32 {
        self.input_pool[row as usize][3]
    }

    /// Item of a leaf plus 1, 0 for an inner node.
    #[inline]
    pub fn node_item(&self, row: u32) -> u32 {
        self.input_pool[row as usize + 1][3]
    }

    /// Traverses a tree without a stack from `node` on. Returns 1 + the next item whose box
    /// overlaps the box from `low` to `high`, 0 at the end.
    #[inline]
    pub fn next_item(&self, begin: u32, count: u32, node: &mut u32, low: Vec3, high: Vec3) -> u32 {
        let mut item = 0;
        while item == 0 && *node < count {
            let row = begin + 2 * *node;
            if self.meets_node(row, low, high) {
                item = self.node_item(row);
                *node += 1;
            } else {
                *node = self.node_escape(row);
            }
        }
        item
    }
}

/// Stores the cone between the spheres of capsule c at a fraction of the frame.
fn prepare_cone(memory: &mut ClothMemory<'_>, c: u32, fraction: f32, row: u32) {
    let [a, b] = memory.capsule_ends(c);
    let cone = cone_between(memory.sphere_at(a, fraction), memory.sphere_at(b, fraction));
    memory.store_scratch(row, pack(cone.center, cone.half_length));
    memory.store_scratch(row + 1, pack(cone.axis, cone.slope));
    memory.store_scratch(row + 2, [cone.radius, cone.cosine_square, 0.0, 0.0]);
}

/// Stores the outward unit normal of a pair of box faces spanned by a and b, and the thickness
/// between them.
fn prepare_face(memory: &mut ClothMemory<'_>, a: Vec3, b: Vec3, edge: Vec3, row: u32) {
    let normal = cross3(a, b);
    let area_square = dot3(normal, normal);
    let mut face = [0.0; 4];
    if area_square > MIN_NORMAL_SQUARE {
        let unit = normal / area_square.sqrt();
        // Points outwards even for a left-handed box.
        let thickness = dot3(unit, edge);
        face = if thickness < 0.0 { pack(-unit, -thickness) } else { pack(unit, thickness) };
    }
    memory.store_scratch(row, face);
}

/// Prepares shape `shape` for this iteration; indices count spheres, then capsules, planes, boxes.
pub(crate) fn prepare_shape(memory: &mut ClothMemory<'_>, shape: u32) {
    let fraction = memory.iteration.velocity_scale[3];
    let fraction_before = memory.iteration.bias[3];
    let shapes = memory.cloth.colliders;
    let sphere_end = shapes.sphere_count;
    let capsule_end = sphere_end + shapes.capsule_count;
    let plane_end = capsule_end + shapes.plane_count;
    if shape < sphere_end {
        let row = memory.sphere_row(shape);
        memory.store_scratch(row, memory.sphere_at(shape, fraction));
        memory.store_scratch(row + 1, memory.sphere_at(shape, fraction_before));
    } else if shape < capsule_end {
        let capsule = shape - sphere_end;
        prepare_cone(memory, capsule, fraction, memory.capsule_row(capsule));
        prepare_cone(memory, capsule, fraction_before, memory.capsule_row(capsule) + 3);
    } else if shape < plane_end {
        let plane = shape - capsule_end;
        memory.store_scratch(
            memory.plane_row(plane),
            memory.load_at(shapes.plane_start, shapes.plane_target, plane, fraction),
        );
    } else {
        let box_index = shape - plane_end;
        let [corner, a, b, c] = [0, 1, 2, 3].map(|k| {
            memory.load_at(shapes.box_start, shapes.box_target, 4 * box_index + k, fraction)
        });
        let [a, b, c] = [a, b, c].map(xyz);
        let row = memory.box_row(box_index);
        memory.store_scratch(row, corner);
        prepare_face(memory, b, c, a, row + 1);
        prepare_face(memory, c, a, b, row + 2);
        prepare_face(memory, a, b, c, row + 3);
    }
}

/// Moves particle i, at position x, out of the shapes that it touches, and applies friction.
pub(crate) fn resolve_contacts(
    memory: &mut ClothMemory<'_>,
    i: u32,
    x: Vec3,
    w: f32,
    contacts: &Contacts,
) {
    if contacts.count > 0.0 {
        let mut made = *contacts;
        let push = contacts.push / contacts.count;
        let mut position = x + push;
        let has_friction = memory.cloth.colliders.friction > 0.0;
        let is_deep = is_deep(memory, push);
        if has_friction || is_deep {
            let previous_particle = memory.load_previous(i);
            let mut before = xyz(previous_particle);
            let displacement = x - before;
            if is_deep {
                let [fraction, lost] = push_fractions(memory, displacement, contacts);
                made.push *= fraction;
                position = x + push * fraction;
                // Moving the previous position along removes this part of the push from the
                // velocity.
                before += push * lost;
            }
            if has_friction {
                if memory.runs(Stage::Implicit) {
                    // The solve has borne a part of the contact force: friction acts on the sum.
                    made.push *= 1.0 + borne_push(memory, i, push) / guarded_square(push).sqrt();
                }
                let slide = friction_slide(memory, displacement, &made);
                // Friction either holds the particle in place or only changes its velocity.
                if memory.cloth.colliders.friction_holds != 0 {
                    position -= slide;
                } else {
                    before += slide;
                }
            }
            if before != xyz(previous_particle) {
                memory.store_previous(i, pack(before, previous_particle[3]));
            }
        }
        memory.store_current(i, pack(position, w));
    }
}

/// Tests whether a push exceeds the depenetration step of one iteration.
pub(crate) fn is_deep(memory: &ClothMemory<'_>, push: Vec3) -> bool {
    let limit = memory.cloth.colliders.depenetration_step;
    dot3(push, push) > limit * limit
}

/// Returns the fraction of a deep push that this iteration applies, and the fraction that adds no
/// velocity.
pub(crate) fn push_fractions(
    memory: &ClothMemory<'_>,
    displacement: Vec3,
    contacts: &Contacts,
) -> [f32; 2] {
    let push = contacts.push / contacts.count;
    let length = dot3(push, push).sqrt();
    let relative = displacement - contacts.travel / contacts.count;
    // Speed of the particle into the shape, along the push.
    let inward = contacts.approach / contacts.count - dot3(relative, push) / length;
    let allowed = inward.max(0.0) + memory.cloth.colliders.depenetration_step;
    if length > allowed {
        [allowed / length, memory.cloth.colliders.depenetration_step / length]
    } else {
        [1.0, 0.0]
    }
}

/// Returns the part of the tangential displacement that friction removes from a particle that moved
/// by `displacement` in this iteration.
pub(crate) fn friction_slide(
    memory: &ClothMemory<'_>,
    displacement: Vec3,
    contacts: &Contacts,
) -> Vec3 {
    let relative = displacement - contacts.travel / contacts.count;
    let push_square = dot3(contacts.push, contacts.push);
    let mut slide = Vec3::ZERO;
    if push_square > 0.0 {
        let slop_square =
            memory.cloth.colliders.friction_slop * memory.cloth.colliders.friction_slop;
        // The slop regularizes both lengths.
        let normal_square = slop_square + push_square;
        let along = dot3(relative, contacts.push) / normal_square;
        // The slop keeps both directions defined for vanishing pushes and motions.
        let tangent = relative - contacts.push * along;
        let tangent_square = slop_square + dot3(tangent, tangent);
        if tangent_square > 0.0 {
            let push = push_square / normal_square.sqrt() / contacts.count;
            let friction = memory.cloth.colliders.friction * contacts.friction_factor;
            // |slide| <= friction |push| (Coulomb), and at most all of the tangential motion
            let limit = friction * push / tangent_square.sqrt();
            slide = tangent * limit.min(1.0);
        }
    }
    slide
}
