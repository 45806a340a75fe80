//! The CPU backend against the mirror: stage by stage and whole, at every width that the machine has, bit for bit.

use poplin_cpu::{CpuEngine, WideTeam};
use poplin_host::{Engine as _, FramePart};
use poplin_layout::{Feedback, STAGES, StageMask};
use poplin_model::{Cloth, FiberSolver, Frame, Particle};
use poplin_reference::{LaneEngine, ReferenceEngine, Team, Workers};
use poplin_testkit::compare::same_bits;
use poplin_testkit::inputs::{cloths, equip_with_masses, inputs_of};

/// Current and previous particles, and the report.
type Outcome = (Vec<[f32; 4]>, Vec<[f32; 4]>, Feedback);

fn run<W: Workers + Default>(
    cloth: &Cloth,
    frames: &[Frame],
    stages: StageMask,
    workers: &mut impl Workers<Kept = W::Kept>,
) -> Outcome {
    let mut engine = LaneEngine::<W>::new();
    let id = engine.add(cloth.clone()).unwrap();
    equip_with_masses(engine.cloth_mut(id).unwrap());
    for frame in frames {
        engine.begin_frame(frame).unwrap();
        engine.run_part(id, &FramePart { stages, ..FramePart::WHOLE }, workers).unwrap();
    }
    let [current, previous] = [engine.current(id), engine.previous(id)].map(Particle::rows);
    (current.to_vec(), previous.to_vec(), engine.feedback(id))
}

#[track_caller]
fn assert_same(what: &str, cloth: &Cloth, frames: &[Frame], stages: StageMask) {
    let expected = run::<Team>(cloth, frames, stages, &mut Team::single());
    for mut team in WideTeam::all() {
        let what = format!("{what}, {}", team.describe());
        let got = run::<WideTeam>(cloth, frames, stages, &mut team);
        same_bits(&what, &got.0, &expected.0).unwrap();
        same_bits(&what, &got.1, &expected.1).unwrap();
        assert_eq!(got.2, expected.2, "{what}: the reports differ");
    }
}

const ONE_ITERATION: Frame = Frame { dt: 1.0 / 300.0 };
const SOME: [Frame; 3] =
    [Frame { dt: 1.0 / 60.0 }, Frame { dt: 1.0 / 50.0 }, Frame { dt: 1.0 / 60.0 }];

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
    for (name, cloth) in cloths() {
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

#[test]
fn many_cloths_have_the_mirrors_bits() {
    let (mut wide, mut mirror) = (CpuEngine::new(), ReferenceEngine::new());
    for (_, cloth) in cloths() {
        let id = wide.add(cloth.clone()).unwrap();
        equip_with_masses(wide.cloth_mut(id).unwrap());
        let id = mirror.add(cloth).unwrap();
        equip_with_masses(mirror.cloth_mut(id).unwrap());
    }
    for frame in &SOME {
        wide.step(frame).unwrap();
        mirror.step(frame).unwrap();
    }
    let [got, expected] = [wide.state().unwrap(), mirror.state().unwrap()];
    for &id in wide.ids() {
        same_bits("many", got.current(id), expected.current(id)).unwrap();
        same_bits("many", got.previous(id), expected.previous(id)).unwrap();
    }
}
