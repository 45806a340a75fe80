//! Every stage of the CPU twin against the `f64` oracle, on random and degenerate input.

mod bend;
mod edge;
mod fiber;
mod implicit_step;
mod momentum;
mod particle;
mod wind;
mod yarn;

use std::sync::Arc;

use poplin_cpu::{ReferenceEngine, Team};
use poplin_geometry::Rng;
use poplin_host::{Cloth, Engine as _, FramePart};
use poplin_layout::{Stage, StageMask};
use poplin_model::{
    Bend, ClothDesc, Fabric, FiberSolver, Particle, Pbd, PbdPhase, Phase, PhaseKind, Phases,
    Solver, Xpbd, XpbdPhase,
};
use poplin_testkit::nth_cloth;

/// Allowed error in units of `f32::EPSILON * scale`: about ten roundings at that scale.
const FACTOR: f64 = 32.0;

fn wide(particle: impl Into<[f32; 4]>) -> [f64; 3] {
    let p = particle.into();
    std::array::from_fn(|k| f64::from(p[k]))
}

fn after_stage(cloth: &ClothDesc, stage: Stage) -> Vec<[f32; 4]> {
    after_stage_with(cloth, stage, |_| ())
}

/// Returns the particles after one iteration of one stage, after `equip` has set the inputs.
fn after_stage_with(
    cloth: &ClothDesc,
    stage: Stage,
    equip: impl FnOnce(&mut Cloth),
) -> Vec<[f32; 4]> {
    let mut engine = ReferenceEngine::new();
    engine.add(cloth.clone()).unwrap();
    equip(engine.cloth_mut(nth_cloth(0)).unwrap());
    let dt = cloth.config.solver.as_pbd().map_or(STEP as f32, |pbd| 1.0 / pbd.frequency);
    engine.begin_frame(dt).unwrap();
    let part = FramePart { stages: StageMask::only(stage), ..FramePart::WHOLE };
    engine.run_part(nth_cloth(0), &part, &mut Team::single()).unwrap();
    Particle::rows(engine.current(nth_cloth(0))).to_vec()
}

#[track_caller]
fn assert_near(what: &str, got: [f32; 4], expected: [f64; 3], scale: f64) {
    for k in 0..3 {
        let error = (f64::from(got[k]) - expected[k]).abs();
        let allowed = FACTOR * f64::from(f32::EPSILON) * scale;
        assert!(
            error <= allowed,
            "{what}: {got:?} against {expected:?}: {error:e} above {FACTOR} eps x {scale}"
        );
    }
}

/// Chain over the given particles: one fiber in one set, solved by Gauss-Seidel.
fn chain(particles: Vec<[f32; 4]>, rest_lengths: Vec<f32>) -> ClothDesc {
    let count = particles.len() as u32;
    let fabric = Fabric {
        particle_count: count,
        phases: vec![Phase { kind: PhaseKind::Vertical, set_begin: 0, set_end: 1 }],
        set_fiber_begin: vec![0, 1],
        fiber_edge_begin: vec![0, rest_lengths.len() as u32],
        fiber_vertices: (0..count).collect(),
        rest_lengths,
        ..Default::default()
    };
    let mut cloth = ClothDesc::new(Arc::new(fabric), particles);
    cloth.config.solver.set_fiber_solver(Some(FiberSolver::GaussSeidel));
    cloth
}

/// PBD at 300 Hz with the same settings in every phase.
fn pbd(phase: PbdPhase) -> Solver {
    Pbd { phases: Phases::all(phase), ..Pbd::default() }.into()
}

/// XPBD with one substep and the same settings in every phase.
fn xpbd(phase: XpbdPhase) -> Solver {
    Xpbd { substeps: 1, phases: Phases::all(phase), ..Xpbd::default() }.into()
}

fn random_particle(rng: &mut Rng) -> [f32; 4] {
    let [x, y, z] = rng.point(-1.0, 1.0);
    [x, y, z, if rng.index(5) == 0 { 0.0 } else { rng.range(0.01, 20.0) }]
}

fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|k| a[k] - b[k])
}

fn length(a: [f64; 3]) -> f64 {
    a.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// `v` rotated about `axis` (of unit length) by `angle` \[rad\], by Rodrigues' formula.
fn rotated(v: [f64; 3], axis: [f64; 3], angle: f64) -> [f64; 3] {
    let along: f64 = (0..3).map(|k| axis[k] * v[k]).sum();
    let cross: [f64; 3] = std::array::from_fn(|k| {
        axis[(k + 1) % 3] * v[(k + 2) % 3] - axis[(k + 2) % 3] * v[(k + 1) % 3]
    });
    std::array::from_fn(|k| {
        v[k] * angle.cos() + cross[k] * angle.sin() + axis[k] * along * (1.0 - angle.cos())
    })
}

/// Length of one step of the XPBD tests \[s\]: one iteration of [`after_stage`].
const STEP: f64 = 1.0 / 300.0;

/// Fiber whose particles have moved since the last step; some edges are extremely short or have
/// length 0.
fn wild_chain(rng: &mut Rng, edges: usize) -> ClothDesc {
    let mut particles: Vec<_> = (0..=edges).map(|_| random_particle(rng)).collect();
    for i in 1..particles.len() {
        let shift = [1e-3, 1e-5, 0.0].get(rng.index(30)).copied();
        if let Some(shift) = shift {
            particles[i] = [
                particles[i - 1][0] + shift,
                particles[i - 1][1],
                particles[i - 1][2],
                particles[i][3],
            ];
        }
    }
    let mut cloth = chain(
        particles,
        (0..edges).map(|_| if rng.index(20) == 0 { 0.0 } else { rng.range(0.05, 2.0) }).collect(),
    );
    cloth.previous_positions = cloth
        .particles
        .iter()
        .map(|p| std::array::from_fn(|k| p.position[k] + rng.range(-0.1, 0.1)))
        .collect();
    cloth
}

/// Unpins all but at most one particle: between two pins a stiff fiber is not solved as a whole.
fn keep_one_pin(cloth: &mut ClothDesc, rng: &mut Rng) {
    let only = rng.index(2 * cloth.particles.len());
    cloth
        .particles
        .iter_mut()
        .enumerate()
        .filter(|(i, _)| *i != only)
        .for_each(|(_, p)| p.inverse_mass = p.inverse_mass.max(0.01));
}

/// Random fiber as in [`wild_chain`] for XPBD, with a random compliance and damping.
fn compliant_chain(rng: &mut Rng, edges: usize) -> ClothDesc {
    let mut cloth = wild_chain(rng, edges);
    let (compliance, damping): (f32, f32) =
        ([0.0, 1e-7, 1e-5, 1e-3, 1.0][rng.index(5)], [0.0, 1.0, 1000.0][rng.index(3)]);
    let damping = if compliance > 0.0 { damping } else { 0.0 };
    if compliance < 1e-3 || damping > 0.0 {
        keep_one_pin(&mut cloth, rng);
    }
    cloth.config.solver = xpbd(XpbdPhase { fiber_solver: None, compliance, damping });
    cloth
}

/// Random fiber as in [`wild_chain`] for PBD, solved as a whole, with a random stiffness and in
/// half of the cases a soft range.
fn stiff_chain(rng: &mut Rng, edges: usize) -> ClothDesc {
    let mut cloth = wild_chain(rng, edges);
    keep_one_pin(&mut cloth, rng);
    let whole = PbdPhase { fiber_solver: Some(FiberSolver::SemiImplicit), ..PbdPhase::default() };
    let stiffness = [1.0, rng.range(0.05, 1.0)][rng.index(2)];
    let soft = PbdPhase {
        // 0 lets an edge in its range move as far as the log map allows.
        stiffness_multiplier: [0.0, rng.range(0.0, 1.0)][rng.index(2)],
        compression_limit: rng.range(0.4, 1.0),
        stretch_limit: rng.range(1.0, 2.5),
        ..whole
    };
    cloth.config.solver = pbd(PbdPhase { stiffness, ..[whole, soft][rng.index(2)] });
    cloth
}

/// Two triangles that share an edge, of heights of at least 0.1 m, whose particles have moved since
/// the last step.
fn hinge(rng: &mut Rng) -> ClothDesc {
    let base = rng.point(-0.5, 0.5);
    let axis = rng.point(-1.0, 1.0).map(f64::from);
    let axis = axis.map(|x| x / length(axis).max(1e-3));
    let other = if axis[0].abs() < 0.6 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
    let across: [f64; 3] = std::array::from_fn(|k| {
        axis[(k + 1) % 3] * other[(k + 2) % 3] - axis[(k + 2) % 3] * other[(k + 1) % 3]
    });
    let across = across.map(|x| x / length(across));
    let mut wing = |angle: f64| {
        let arm = rotated(across, axis, angle);
        let (along, height) = (f64::from(rng.range(-0.5, 1.0)), f64::from(rng.range(0.1, 1.0)));
        std::array::from_fn::<f32, 3, _>(|k| {
            (f64::from(base[k]) + axis[k] * along + arm[k] * height) as f32
        })
    };
    let positions =
        [base, std::array::from_fn(|k| base[k] + 0.7 * axis[k] as f32), wing(0.0), wing(0.0)];
    let rotation = f64::from(rng.range(0.0, 6.2));
    let last = wing_at(positions[3], base, axis, rotation);
    let mass = |rng: &mut Rng| if rng.index(5) == 0 { 0.0 } else { rng.range(0.01, 20.0) };
    let particles =
        [positions[0], positions[1], positions[2], last].map(|[x, y, z]| [x, y, z, mass(rng)]);
    let fabric = Fabric {
        particle_count: 4,
        bends: vec![Bend {
            particles: [0, 1, 2, 3],
            rest_angle: rng.range(-3.13, 3.13),
            weight: rng.range(0.1, 4.0),
            wings: Default::default(),
        }],
        bend_set_ends: vec![1],
        ..Fabric::default()
    };
    let mut cloth = ClothDesc::new(Arc::new(fabric), particles.to_vec());
    cloth.previous_positions = cloth
        .particles
        .iter()
        .map(|p| std::array::from_fn(|k| p.position[k] + rng.range(-0.1, 0.1)))
        .collect();
    cloth.config.solver = Solver::Xpbd(Xpbd {
        substeps: 1,
        bending_rigidity: [1e-3, 1.0, 30.0, 1e3, 1e5][rng.index(5)],
        bending_damping: [0.0, 1e-3, 1.0][rng.index(3)],
        ..Xpbd::default()
    });
    cloth
}

fn wing_at(position: [f32; 3], base: [f32; 3], axis: [f64; 3], angle: f64) -> [f32; 3] {
    let arm = rotated(minus(position.map(f64::from), base.map(f64::from)), axis, angle);
    std::array::from_fn(|k| (f64::from(base[k]) + arm[k]) as f32)
}
