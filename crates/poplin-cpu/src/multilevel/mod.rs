//! Multilevel solve: steps of Newton's method for backward Euler, the first linearised at the
//! prediction and, where edges turn far, a few more, by conjugate gradients with an additive
//! multilevel preconditioner (Bramble, Pasciak, Xu, "Parallel multilevel preconditioners", 1990) on
//! the levels of a [`Hierarchy`].
//!
//! The matrix of a spring of stiffness k under the tension N at length l is `q q^T + t 1` with
//! `t = eps k + max(0, N) / l` and `|q|^2 = k - t`: it is positive, and the small part `eps` of
//! transverse stiffness holds back the rotations that a step linearised once cannot follow. That
//! of a bend is `k g g^T`, g the gradient of its angle. Coarser levels are made from springs, of
//! like stiffness if triangles resist stretch, and from flat bends, a constant: a preconditioner
//! may be of another matrix.

mod bends;
mod contact;
mod contacts;
mod cycle;
mod parallel;
mod solve;
mod sums;
mod symmetric;
mod touching;
mod triangles;

use poplin_geometry::Csr;
use poplin_layout::{MultilevelConstants, NO_OFFSET, Stage, StageMask};
use poplin_model::{Fabric, Hierarchy, PhaseKind};

use crate::ClothMemory;
use crate::stage::implicit::{ContactPlane, exits};

use bends::{BendPlan, coarse_bending};
use contact::ContactOptions;
use cycle::LevelPlan;
use triangles::TrianglePlan;

pub use solve::LevelsMemory;
pub(crate) use touching::ContactLink;
pub use touching::Touching;

/// Largest mean push of a particle that shapes press from opposite sides, in pushes of each: they
/// cancel, and leave no plane.
const PINCHED: f32 = 0.1;

/// Fabric as its solve sees it, made once.
#[derive(Debug)]
pub struct LevelsPlan {
    springs: Vec<Spring>,
    /// Springs of each particle.
    slots: Csr<Slot>,
    triangles: TrianglePlan,
    bends: BendPlan,
    levels: Vec<LevelPlan>,
    /// First level that is solved by a cycle.
    tail: usize,
}

#[derive(Debug, Clone, Copy)]
struct Spring {
    ends: [u32; 2],
    rest_length: f32,
    /// Stiffness over that of the membrane.
    factor: f32,
    kind: PhaseKind,
}

/// End of a spring at a particle.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    neighbour: u32,
    spring: u32,
}

impl LevelsPlan {
    /// Prepares a fabric with the breadths of edges.
    pub(crate) fn new(fabric: &Fabric, hierarchy: &Hierarchy) -> Self {
        let kinds = fabric.edge_kinds();
        let edges = hierarchy.springs.iter().zip(&hierarchy.spring_edges);
        let spring = |(&ends, &edge): (&[u32; 2], &u32)| {
            let edge = edge as usize;
            let rest_length = fabric.rest_lengths[edge];
            let factor = fabric.edge_breadths[edge] / rest_length;
            let factor = if factor.is_finite() { factor } else { 0.0 };
            Spring { ends, rest_length, factor, kind: kinds[edge] }
        };
        let springs: Vec<Spring> = edges.map(spring).collect();
        let slots = springs.iter().zip(0..).flat_map(|(spring, index)| {
            let [a, b] = spring.ends;
            [(a, Slot { neighbour: b, spring: index }), (b, Slot { neighbour: a, spring: index })]
        });
        let first = hierarchy.levels.first();
        let mut bending = first.map(|level| coarse_bending(fabric, level)).unwrap_or_default();
        let levels = hierarchy.levels.iter();
        let levels: Vec<_> =
            levels.map(|level| LevelPlan::new(level, std::mem::take(&mut bending))).collect();
        Self {
            slots: Csr::new(fabric.particle_count as usize, slots),
            springs,
            triangles: TrianglePlan::new(fabric),
            bends: BendPlan::new(fabric),
            tail: cycle::tail_of(&levels),
            levels,
        }
    }

    /// Allocated bytes.
    pub(crate) fn size(&self) -> usize {
        let levels: usize = self.levels.iter().map(LevelPlan::size).sum();
        let elements = self.triangles.size() + self.bends.size();
        size_of_val(self.springs.as_slice()) + self.slots.size() + elements + levels
    }
}

impl Spring {
    /// Stiffness [N/m].
    fn stiffness(&self, constants: &MultilevelConstants) -> f32 {
        let [warp, weft] = constants.stretch_stiffness;
        self.factor
            * match self.kind {
                PhaseKind::Vertical => warp,
                PhaseKind::Horizontal => weft,
                PhaseKind::Shearing | PhaseKind::Bending => constants.shear_stiffness,
            }
    }
}

/// Solves a step of a cloth: its particles are at their predictions at first, and at the solution
/// afterwards. Where no finite solution is found, free particles stay where the step began.
pub(crate) fn solve_levels(
    memory: &mut ClothMemory<'_>,
    plan: &LevelsPlan,
    solve: &mut LevelsMemory,
) {
    let constants = memory.load_multilevel();
    let remainders = memory.cloth.remainder_begin;
    let has_remainders = remainders != NO_OFFSET;
    let has_inertia = memory.runs(Stage::Integrate);
    let count = memory.cloth.particle_count;
    solve.fit(plan, count as usize);
    for i in 0..count {
        let ([x, y, z, inverse_mass], [u, v, w, _]) =
            (memory.load_current(i), memory.load_previous(i));
        let mut moved = [x - u, y - v, z - w];
        if has_remainders && has_inertia {
            let [x, y, z, _] = memory.load_scratch(remainders + i);
            moved = add(moved, [x, y, z]);
        }
        solve.start_at(i as usize, [u, v, w], moved, inverse_mass);
    }
    let touches = StageMask(memory.registers.stages).intersects(StageMask::PROBES);
    let touching = memory.touching;
    // Friction of contact of triangles moves particles back.
    let options = ContactOptions {
        friction: memory.cloth.colliders.friction,
        is_by_triangles: !touching.is_empty(),
        meets_itself: memory.runs(Stage::SelfCollide),
    };
    let holds = options.is_by_triangles || memory.cloth.colliders.friction_holds != 0;
    let [x, y, z, _] = memory.iteration.bias;
    let fall = if has_inertia { [x, y, z] } else { [0.0; 3] };
    let contacts = (options, &touching.links[..]);
    let solved = solve.solve(plan, &constants, contacts, fall, |particle, moved| {
        let plane = touching.planes.get(particle).copied().flatten();
        let plane = plane.filter(|plane| plane.holds(moved));
        plane.or_else(|| touches.then(|| contact(memory, particle as u32, moved.into())).flatten())
    });
    let solves = &mut memory.solves;
    solves.steps += 1;
    solves.iterations += solved.iterations;
    let is_converged = solved.is_solved && solved.is_converged;
    solves.unconverged += u32::from(solved.is_finite && !is_converged);
    solves.held += u32::from(!solved.is_finite);
    for i in 0..count {
        let [x, y, z, inverse_mass] = memory.load_current(i);
        let [u, v, w, own] = memory.load_previous(i);
        let moved = solve.moved(i as usize);
        let slide = solve.held_slide(i as usize, &constants);
        let last = subtract(moved, slide);
        let (mut start, mut end) = ([u, v, w], [x, y, z]);
        if inverse_mass > 0.0 {
            // As in the collision stages: friction moves the particle back or only slows it down.
            if holds {
                end = add(start, last);
            } else {
                end = add(start, moved);
                start = add(start, slide);
            }
        }
        solve.end_at(i as usize, last, end);
        let [x, y, z] = end;
        memory.store_current(i, [x, y, z, inverse_mass]);
        let [u, v, w] = start;
        memory.store_previous(i, [u, v, w, own]);
        if has_remainders {
            let [x, y, z] = subtract(last, subtract(end, start));
            memory.store_scratch(remainders + i, [x, y, z, 0.0]);
        }
    }
}

/// Repairs a step of a cloth where particles were pushed since its solve or, if given, since they
/// were at the positions `before`. Of a cloth in free flight it keeps the momentum.
pub(crate) fn repair_levels(
    memory: &mut ClothMemory<'_>,
    plan: &LevelsPlan,
    solve: &mut LevelsMemory,
    before: &[[f32; 4]],
    is_flying: bool,
) {
    let constants = memory.load_multilevel();
    let count = memory.cloth.particle_count;
    let mut is_pushed = false;
    for i in 0..count {
        if let Some(&[x, y, z, _]) = before.get(i as usize) {
            solve.follow(i as usize, [x, y, z]);
        }
        let [x, y, z, _] = memory.load_current(i);
        is_pushed |= solve.push(i as usize, [x, y, z]);
    }
    if !is_pushed {
        return;
    }
    memory.solves.iterations += solve.repair(plan, &constants, is_flying);
    for i in 0..count {
        let [x, y, z, w] = memory.load_current(i);
        let [x, y, z] = solve.corrected(i as usize, [x, y, z]);
        memory.store_current(i, [x, y, z, w]);
    }
}

/// Finds the contact of particle i, displaced by `moved` since the start of the step. Of one that
/// is pinched, the normal is 0 and the reach its mean push \[m\].
fn contact(memory: &mut ClothMemory<'_>, i: u32, moved: glam::Vec3) -> Option<ContactPlane> {
    let (contacts, push) = exits(memory, i, moved)?;
    let depth = push.length();
    let grip = contacts.grip / contacts.count;
    if depth < PINCHED * grip {
        let [x, y, z] = contacts.mean_travel().to_array();
        return Some(ContactPlane { plane: [0.0, 0.0, 0.0, grip], travel: [x, y, z, 1.0] });
    }
    (depth > 0.0).then(|| contacts.plane(push / depth, depth, moved))
}

/// Vector from one particle to another, both displaced \[m\]: differences first, as positions round
/// by more than displacements.
fn apart(positions: &[[f32; 3]], moves: &[[f32; 3]], [from, to]: [usize; 2]) -> [f32; 3] {
    add(subtract(positions[to], positions[from]), subtract(moves[to], moves[from]))
}

fn dot([a, b, c]: [f32; 3], [x, y, z]: [f32; 3]) -> f32 {
    a * x + b * y + c * z
}

fn add([a, b, c]: [f32; 3], [x, y, z]: [f32; 3]) -> [f32; 3] {
    [a + x, b + y, c + z]
}

fn subtract([a, b, c]: [f32; 3], [x, y, z]: [f32; 3]) -> [f32; 3] {
    [a - x, b - y, c - z]
}

fn scale([a, b, c]: [f32; 3], factor: f32) -> [f32; 3] {
    [a * factor, b * factor, c * factor]
}
