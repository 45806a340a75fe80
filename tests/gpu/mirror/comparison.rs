//! Comparison of a kernel with the mirror, and the tolerance of a GPU that fuses.

use std::sync::Arc;

use poplin_cpu::Team;
use poplin_geometry::Rng;
use poplin_gpu::{EngineOptions, FramePart};
use poplin_host::Engine as _;
use poplin_layout::{Feedback, Stage, StageMask};
use poplin_model::{Bend, ClothDesc, Particle, YarnPoint};
use poplin_testkit::adapter::{Rounding, headless};
use poplin_testkit::compare::{same_bits, within};
use poplin_testkit::inputs::equip_with_masses;

use super::{FACTOR, ONE_ITERATION, State, run_on_mirror, state_of};

/// Number of runs of the mirror from disturbed input.
const DISTURBED_RUNS: u64 = 64;
/// Multiple of the spread of these runs that a GPU that fuses may differ by.
const SPREAD: f32 = 8.0;

/// Returns the cloth with every component of its particles and every number of its edges, yarns and
/// bends reduced by at most one epsilon, relative.
fn disturbed(cloth: &ClothDesc, seed: u64) -> ClothDesc {
    let mut rng = Rng::new(seed);
    let mut disturb = |x: &mut f32| *x -= *x * rng.range(0.0, 1.0) * f32::EPSILON;
    let mut cloth = cloth.clone();
    bytemuck::cast_slice_mut(&mut cloth.particles).iter_mut().for_each(&mut disturb);
    cloth.previous_positions.as_flattened_mut().iter_mut().for_each(&mut disturb);
    let fabric = Arc::make_mut(&mut cloth.fabric);
    fabric.rest_lengths.iter_mut().for_each(&mut disturb);
    for YarnPoint { weight, shares, rest_length, .. } in &mut fabric.yarn_points {
        shares.iter_mut().chain([weight, rest_length]).for_each(&mut disturb);
    }
    fabric.bends.iter_mut().for_each(|Bend { rest_angle, weight, .. }| {
        [rest_angle, weight].into_iter().for_each(&mut disturb);
    });
    cloth
}

/// Returns the tolerance of each value on a GPU that fuses, and the reports of the disturbed runs.
///
/// The tolerance is that of a few roundings, or the spread of the mirror under a relative input
/// error of one epsilon if that is larger: a fold or a nearly singular coupling magnifies both
/// errors alike.
///
/// With `is_wild` any finite value passes. The semi-implicit fibers of the degenerate cloths have
/// multipliers of 1e15 N s^2, whose difference is pure rounding and moves particles by 1e9 m.
///
/// Where rounding decides when an implicit solve ends, the report of a GPU that fuses must equal
/// the report of one of the runs.
fn allowances(
    cloth: &ClothDesc,
    stages: StageMask,
    mirror: &State,
    is_wild: bool,
) -> (State, Vec<Feedback>) {
    let mut reports = Vec::new();
    let of_value = |x: f32| {
        if is_wild { f32::MAX } else { FACTOR * f32::EPSILON * x.abs().max(1.0) }
    };
    let of_roundings = |p: &[f32; 4]| p.map(of_value);
    let mut allowed: State =
        (mirror.0.iter().map(of_roundings).collect(), mirror.1.iter().map(of_roundings).collect());
    for seed in 0..DISTURBED_RUNS {
        let cloth = disturbed(cloth, seed);
        let (engine, index) = run_on_mirror(&cloth, ONE_ITERATION, stages, &mut Team::single());
        reports.push(engine.feedback(index));
        let other = state_of(&engine, index);
        // tolerance = max(FACTOR eps max(|x|, 1), SPREAD |x - x disturbed|)
        for (allowed, (mirror, other)) in
            [(&mut allowed.0, (&mirror.0, &other.0)), (&mut allowed.1, (&mirror.1, &other.1))]
        {
            let values = mirror.as_flattened().iter().zip(other.as_flattened());
            for (allowed, (a, b)) in allowed.as_flattened_mut().iter_mut().zip(values) {
                *allowed = allowed.max(SPREAD * (a - b).abs());
            }
        }
    }
    (allowed, reports)
}

/// Returns all disagreements of a kernel with the mirror over some cloths, for one stage mask.
pub(super) fn disagreements(
    cloths: &[(String, ClothDesc)],
    stages: StageMask,
    (options, rounding): &(EngineOptions, Rounding),
) -> Vec<String> {
    let Some(mut gpu) = headless(options.clone()) else { return Vec::new() };
    let mut ids = Vec::new();
    for (_, cloth) in cloths {
        let id = gpu.add(cloth.clone()).unwrap();
        equip_with_masses(gpu.engine_mut().cloth_mut(id).unwrap());
        ids.push(id);
    }
    gpu.engine_mut().begin_frame(ONE_ITERATION).unwrap();
    gpu.step_part(&FramePart { stages, ..FramePart::WHOLE }).unwrap();
    let snapshot = gpu.state().unwrap();
    let found = cloths.iter().zip(ids).filter_map(|((name, cloth), id)| {
        let (engine, index) = run_on_mirror(cloth, ONE_ITERATION, stages, &mut Team::single());
        let is_degenerate = ["degenerate", "degenerate xpbd"].contains(&name.as_str());
        let name = format!("{name}, {rounding:?}");
        let has_report = |expected: Feedback| snapshot.feedback(id) == expected;
        let has_reports = has_report(engine.feedback(index));
        if !has_reports && *rounding == Rounding::AsMirror {
            return Some(format!("{name}: the reports differ"));
        }
        let rows = |particles| Particle::rows(particles).to_vec();
        let own = (rows(snapshot.current(id)), rows(snapshot.previous(id)));
        let mirror = state_of(&engine, index);
        let difference = match rounding {
            Rounding::AsMirror => same_bits(&name, &own.0, &mirror.0)
                .and_then(|()| same_bits(&name, &own.1, &mirror.1)),
            Rounding::MayFuse => {
                let is_wild = is_degenerate && stages.contains(Stage::SemiImplicit);
                let (allowed, reports) = allowances(cloth, stages, &mirror, is_wild);
                if !has_reports && !reports.into_iter().any(has_report) {
                    return Some(format!("{name}: no disturbed run has this report"));
                }
                within(&name, &own.0, &mirror.0, &allowed.0)
                    .and_then(|()| within(&name, &own.1, &mirror.1, &allowed.1))
            }
        };
        difference.err().map(|difference| difference.to_string())
    });
    found.collect()
}
