//! One cloth at 4, 8 and 16 SIMD lanes, over one thread and over several.

use std::sync::Arc;

use poplin_cpu::{CpuEngine, WideTeam};
use poplin_cpu::{LaneOrder, Team};
use poplin_geometry::Rng;
use poplin_host::{Engine as _, FramePart};
use poplin_layout::{STAGES, StageMask};
use poplin_model::{ClothDesc, Fabric, FiberSolver, Particle, Phase, PhaseKind};
use poplin_testkit::compare::same_bits;
use poplin_testkit::inputs::{cloths, equip_with_masses, implicit_cloths_among_shapes, inputs_of};
use rayon::ThreadPoolBuilder;

use super::{ONE_ITERATION, Outcome, SOME, THREADS, run};

/// Runs at the largest width, with every loop split into as many parts as there are threads.
fn run_split(cloth: &ClothDesc, frames: &[f32], stages: StageMask, threads: usize) -> Outcome {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let mut engine = CpuEngine::new();
        engine.force_parts(threads);
        let id = engine.add(cloth.clone()).unwrap();
        equip_with_masses(engine.cloth_mut(id).unwrap());
        let mut team = WideTeam::default();
        for &dt in frames {
            engine.begin_frame(dt).unwrap();
            let part = FramePart { stages, ..FramePart::WHOLE };
            engine.run_part_split(id, &part, &mut team).unwrap();
        }
        let [current, previous] = [engine.current(id), engine.previous(id)].map(Particle::rows);
        (current.to_vec(), previous.to_vec(), engine.feedback(id))
    })
}

#[track_caller]
fn assert_outcome(what: &str, got: &Outcome, expected: &Outcome) {
    same_bits(what, &got.0, &expected.0).unwrap();
    same_bits(what, &got.1, &expected.1).unwrap();
    assert_eq!(got.2, expected.2, "{what}: the reports differ");
}

#[track_caller]
fn assert_same(what: &str, cloth: &ClothDesc, frames: &[f32], stages: StageMask) {
    let expected = run::<Team>(cloth, frames, stages, &mut Team::single());
    for mut team in WideTeam::all() {
        let what = format!("{what}, {}", team.describe());
        let got = run::<WideTeam>(cloth, frames, stages, &mut team);
        assert_outcome(&what, &got, &expected);
    }
    for threads in THREADS {
        let got = run_split(cloth, frames, stages, threads);
        assert_outcome(&format!("{what}, {threads} threads"), &got, &expected);
    }
}

#[test]
fn every_stage_has_the_mirrors_bits_at_every_width() {
    for row in STAGES {
        for (name, cloth) in inputs_of(row.stage) {
            let stages = StageMask::only(row.stage);
            assert_same(&format!("{}, {name}", row.name), &cloth, &[ONE_ITERATION], stages);
        }
    }
}

#[test]
fn whole_frames_have_the_mirrors_bits_at_every_width() {
    for (name, cloth) in cloths().into_iter().chain(implicit_cloths_among_shapes()) {
        assert_same(&name, &cloth, &SOME, StageMask::ALL);
    }
}

#[test]
fn every_fiber_solver_has_the_mirrors_bits_at_every_width() {
    for solver in [FiberSolver::GaussSeidel, FiberSolver::SemiImplicit] {
        for (name, mut cloth) in cloths() {
            if !cloth.fabric.edge_stiffness_log2.is_empty() && solver != FiberSolver::GaussSeidel {
                continue;
            }
            cloth.config.solver.set_fiber_solver(Some(solver));
            assert_same(&format!("{solver:?}, {name}"), &cloth, &SOME[..1], StageMask::FIBERS);
        }
    }
}

/// Sixteen distorted rings of four edges in one set.
fn rings() -> ClothDesc {
    const COUNT: u32 = 16;
    let begin = |fiber: u32| 4 * fiber;
    let fabric = Fabric {
        particle_count: 4 * COUNT,
        phases: vec![Phase { kind: PhaseKind::Vertical, set_begin: 0, set_end: 1 }],
        set_fiber_begin: vec![0, COUNT],
        fiber_edge_begin: (0..=COUNT).map(begin).collect(),
        fiber_vertices: (0..COUNT).flat_map(|k| [0, 1, 2, 3, 0].map(|v| begin(k) + v)).collect(),
        rest_lengths: vec![1.0; 4 * COUNT as usize],
        ..Fabric::default()
    };
    let mut rng = Rng::new(3);
    let corners = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
    let particles = (0..COUNT).flat_map(|k| corners.map(|[x, y]| [x, y, k as f32]));
    let disturbed = particles.map(|[x, y, z]| [x, y, z].map(|v| v + rng.range(-0.2, 0.2)));
    let rows: Vec<[f32; 4]> = disturbed.map(|[x, y, z]| [x, y, z, 1.0]).collect();
    let mut cloth = ClothDesc::new(Arc::new(fabric), rows);
    cloth.config.gravity = [0.0; 3];
    cloth
}

#[test]
fn rings_are_solved_edge_by_edge_for_any_fiber_solver() {
    let cloth = rings();
    let mut expected = cloth.clone();
    expected.config.solver.set_fiber_solver(Some(FiberSolver::GaussSeidel));
    let expected = run::<Team>(&expected, &SOME, StageMask::FIBERS, &mut Team::single());
    for solver in [None, Some(FiberSolver::SemiImplicit), Some(FiberSolver::CyclicReduction)] {
        let mut cloth = cloth.clone();
        cloth.config.solver.set_fiber_solver(solver);
        let what = format!("{solver:?}");
        let mut backward = Team::new(32, LaneOrder::Reversed);
        let got = run::<Team>(&cloth, &SOME, StageMask::FIBERS, &mut backward);
        assert_outcome(&what, &got, &expected);
        assert_same(&what, &cloth, &SOME, StageMask::FIBERS);
    }
}
