//! Whole iterations and frames: the kernel agrees with the mirror.

use poplin_cpu::{ReferenceEngine, Team};
use poplin_geometry::Rng;
use poplin_gpu::{EngineOptions, FramePart};
use poplin_host::{ClothId, Engine as _};
use poplin_layout::{Stage, StageMask};
use poplin_model::{ClothDesc, Solver};
use poplin_shaders::Kernel;
use poplin_testkit::adapter::{Rounding, devices, headless, roundings};
use poplin_testkit::fused::fused_texts;
use poplin_testkit::inputs::{cloths, equip_with_masses, implicit_cloths_among_shapes};
use poplin_testkit::nth_cloth;
use poplin_testkit::scenes::{hanging_sheet, loose_particles};
use poplin_testkit::skip::part;

use super::comparison::disagreements;
use super::{FACTOR, ONE_ITERATION, of_many_models, of_stages, run_on_mirror};

/// Compares a whole iteration with the mirror for one of the [`roundings`]; some machines have only
/// the first.
fn assert_iteration_agrees(cloths: &[(String, ClothDesc)], rounding: usize) {
    if let Some(lane) = roundings(&of_many_models()).get(rounding) {
        assert_eq!(disagreements(cloths, StageMask::ALL, lane), Vec::<String>::new());
    }
}

#[test]
fn a_whole_iteration_agrees() {
    assert_iteration_agrees(&part(cloths(), 3), 0);
}

#[test]
fn a_whole_fused_iteration_agrees() {
    // Only the cloths with the fewest stages: the fused kernels of all cloths compile for a minute.
    let mut cloths = cloths();
    cloths.retain(|(_, cloth)| cloth.particle_count() % 4 == 2);
    assert_iteration_agrees(&part(cloths, 3), 1);
}

#[test]
fn an_implicit_solve_among_shapes_agrees() {
    let stages = StageMask::PROBES.with(Stage::Implicit);
    let cloths = part(implicit_cloths_among_shapes(), 4);
    for lane in roundings(&of_many_models()) {
        assert_eq!(disagreements(&cloths, stages, &lane), Vec::<String>::new());
    }
}

#[test]
fn remainders_of_displacements_agree() {
    let dt = 1.0 / 60.0;
    let often = |(name, mut cloth): (String, ClothDesc)| {
        match &mut cloth.config.solver {
            Solver::Pbd(pbd) => pbd.frequency = 1200.0,
            Solver::Xpbd(xpbd) => xpbd.substeps = 20,
            Solver::Implicit(implicit) => implicit.substeps = 8,
            Solver::Multilevel(_) => unreachable!("no GPU has it"),
        }
        (name, cloth)
    };
    let cloths: Vec<_> = cloths().into_iter().map(often).collect();
    let (integrate, solve) = (
        StageMask::only(Stage::Integrate),
        StageMask::only(Stage::Integrate).with(Stage::Implicit),
    );
    let corrected = integrate.with(Stage::GaussSeidel).with(Stage::SecondOrder);
    let known = "moved += load_scratch(cloth.remainder_begin + i).xyz;";
    let stored = "store_scratch(cloth.remainder_begin + i, \
                  vec4<f32>(lost_displacement(last, position, before), 0.0));";
    let changed = " - change * cloth.second_order";
    // All that moves displacements, and the correction, whose rows then follow those of rests.
    let fabric = [Stage::SemiImplicit, Stage::CyclicReduction, Stage::Yarn, Stage::Bend];
    let displaced = fabric.into_iter().fold(corrected, StageMask::with).with(Stage::Displacement);
    let between = "(load_previous(b).xyz - load_previous(a).xyz) + ";
    let kinds = [(integrate, known), (solve, stored), (corrected, changed), (displaced, between)];
    for (stages, damaged) in kinds {
        let takes_part = |cloth: &ClothDesc| match &cloth.config.solver {
            Solver::Implicit(_) => stages == solve,
            solver => stages == displaced || stages == corrected && solver.second_order() > 0.0,
        };
        let mut cloths = cloths.clone();
        if stages != integrate {
            cloths.retain(|(_, cloth)| takes_part(cloth));
            if stages == displaced {
                cloths = cloths.into_iter().step_by(3).collect();
            } else {
                cloths.truncate(4);
            }
        }
        let compare = |(options, rounding): &(EngineOptions, Rounding)| -> Vec<String> {
            let Some(mut gpu) = headless(options.clone()) else { return Vec::new() };
            let add = |(_, cloth): &(String, ClothDesc)| {
                let id = gpu.add(cloth.clone()).unwrap();
                equip_with_masses(gpu.engine_mut().cloth_mut(id).unwrap());
                id
            };
            let ids: Vec<_> = cloths.iter().map(add).collect();
            gpu.engine_mut().begin_frame(dt).unwrap();
            // In two parts: remainders outlast the first.
            for iterations in [0..3, 3..u32::MAX] {
                gpu.step_part(&FramePart { iterations, stages, phases: None }).unwrap();
            }
            let state = gpu.state().unwrap();
            let agree = |((name, cloth), &id): (&(String, ClothDesc), &ClothId)| {
                let (engine, index) = run_on_mirror(cloth, dt, stages, &mut Team::single());
                let (current, previous) = (engine.current(index), engine.previous(index));
                let agrees = rounding.agree(name, state.current(id), current, FACTOR);
                agrees.and(rounding.agree(name, state.previous(id), previous, FACTOR)).err()
            };
            cloths.iter().zip(&ids).filter_map(agree).map(|found| found.to_string()).collect()
        };
        // Eight solves, or 20 of edges, magnify a rounding beyond the tolerance of one stage.
        let is_precise = |(_, rounding): &_| stages == integrate || *rounding == Rounding::AsMirror;
        for lane in roundings(&of_stages()).into_iter().filter(is_precise) {
            assert_eq!(compare(&lane), Vec::<String>::new(), "{stages:?}");
        }
        let text = poplin_shaders::compose("kernel/simulate_cloth").unwrap().text;
        assert!(text.contains(damaged), "the kernel no longer contains `{damaged}`");
        let Some((mut options, rounding)) = roundings(&of_stages()).into_iter().next() else {
            return;
        };
        options.shader_texts.insert(Kernel::SimulateCloth, text.replace(damaged, ""));
        assert_ne!(compare(&(options, rounding)), Vec::<String>::new(), "{stages:?}");
    }
}

#[test]
fn thirty_frames_agree() {
    let cloth = hanging_sheet(12, 12);
    let mut engine = ReferenceEngine::new();
    engine.add(cloth.clone()).unwrap();
    (0..30).for_each(|_| engine.step(1.0 / 60.0).unwrap());
    let (current, previous) = (engine.current(nth_cloth(0)), engine.previous(nth_cloth(0)));
    for (mut gpu, rounding) in devices(&EngineOptions::default()) {
        let id = gpu.add(cloth.clone()).unwrap();
        (0..30).for_each(|_| gpu.step(1.0 / 60.0).unwrap());
        let snapshot = gpu.state().unwrap();
        rounding.agree("current", snapshot.current(id), current, FACTOR).unwrap();
        rounding.agree("previous", snapshot.previous(id), previous, FACTOR).unwrap();
        assert_eq!(snapshot.feedback(id), engine.feedback(nth_cloth(0)), "{rounding:?}");
    }
}

#[test]
fn fused_kernels_round_a_multiply_add_once() {
    let mut rng = Rng::new(8);
    let mut points: Vec<_> =
        (0..400).map(|_| (rng.point(-1.0, 1.0), rng.point(-3e4, 3e4))).collect();
    // The displacement of the first particle is that of 1 m/s^2, the factor of all accelerations.
    points[0] = ([0.0; 3], [1.0; 3]);
    let particles = points.iter().map(|([x, y, z], _)| [*x, *y, *z, 1.0]).collect();
    let accelerations: Vec<_> = points.iter().map(|(_, acceleration)| *acceleration).collect();
    let options = EngineOptions { shader_texts: fused_texts().clone(), ..of_stages() };
    let Some(mut gpu) = headless(options) else { return };
    let id = gpu.add(loose_particles(particles)).unwrap();
    let host = gpu.engine_mut().cloth_mut(id).unwrap();
    host.set_particle_accelerations(&accelerations).unwrap();
    gpu.engine_mut().begin_frame(ONE_ITERATION).unwrap();
    let stages = StageMask::only(Stage::Integrate);
    gpu.step_part(&FramePart { stages, ..FramePart::WHOLE }).unwrap();
    let state = gpu.state().unwrap();
    let scale = state.current(id)[0].position[0];
    let mut rounded_twice = 0;
    for ((position, acceleration), moved) in points.iter().zip(state.current(id)) {
        for k in 0..3 {
            // Fused: one rounding of a * scale + x.
            assert_eq!(moved.position[k], acceleration[k].mul_add(scale, position[k]));
            rounded_twice +=
                usize::from(moved.position[k] != acceleration[k] * scale + position[k]);
        }
    }
    assert!(rounded_twice > 100, "only {rounded_twice} differ from rounding twice");
}
