//! Each stage on its own: the kernel agrees with the mirror.

use poplin_cpu::Team;
use poplin_host::Engine as _;
use poplin_layout::{Feedback, STAGES, Stage, StageMask};
use poplin_testkit::adapter::roundings;
use poplin_testkit::inputs::{fast_particles, inputs_of};

use super::comparison::disagreements;
use super::damage::assert_seen;
use super::{ONE_ITERATION, of_many_models, of_stages, run_on_mirror};

/// Declares one test per stage of the table, so that they run in parallel: their kernels compile
/// for seconds to minutes on a software adapter.
macro_rules! stage_tests {
    ($($(#[$doc:meta])+ $stage:ident { name: $name:ident, $($rest:tt)* })+ kernel: $kernel:tt) => {
        $(#[test]
        fn $name() {
            assert_stage_agrees(Stage::$stage);
        })+
    };
}
poplin_layout::stage_table!(stage_tests);

/// A stage with the one that it needs: rests of positions come from the Verlet step.
fn with_source(stage: Stage) -> StageMask {
    match stage {
        Stage::Displacement => StageMask::only(stage).with(Stage::Integrate),
        _ => StageMask::only(stage),
    }
}

/// Compares one stage with the mirror on all its inputs, for each rounding.
fn assert_stage_agrees(stage: Stage) {
    for lane in &roundings(&of_many_models()) {
        let found = disagreements(&inputs_of(stage), with_source(stage), lane);
        assert_eq!(found, Vec::<String>::new());
    }
}

#[test]
fn stages_of_the_fabric_agree_on_displacements() {
    let fabric =
        [Stage::GaussSeidel, Stage::SemiImplicit, Stage::CyclicReduction, Stage::Yarn, Stage::Bend];
    let inputs = inputs_of(Stage::Displacement);
    for lane in roundings(&of_stages()) {
        for stage in fabric {
            let stages = with_source(Stage::Displacement).with(stage);
            assert_eq!(disagreements(&inputs, stages, &lane), Vec::<String>::new(), "{stage:?}");
        }
    }
}

#[test]
fn the_limit_of_velocity_agrees() {
    let integrate = StageMask::only(Stage::Integrate);
    for lane in roundings(&of_stages()) {
        assert_eq!(disagreements(&fast_particles(), integrate, &lane), Vec::<String>::new());
    }
    assert_seen(
        "position = particle.xyz + displacement * limit;",
        "position = particle.xyz;",
        &fast_particles(),
        integrate,
    );
}

#[test]
fn every_stage_changes_its_inputs() {
    for row in STAGES {
        // What is corrected, or kept from rounding, is the move by other stages.
        let others = match row.stage {
            Stage::SecondOrder | Stage::Displacement => {
                StageMask::only(Stage::Integrate).with(Stage::GaussSeidel)
            }
            _ => StageMask(0),
        };
        let is_changed = inputs_of(row.stage).iter().any(|(_, cloth)| {
            let states = [others, others.with(row.stage)].map(|stages| {
                let (mut engine, id) =
                    run_on_mirror(cloth, ONE_ITERATION, stages, &mut Team::single());
                let Feedback { sleep_time, sleep_pass_count, .. } = engine.feedback(id);
                (
                    engine.current(id).to_vec(),
                    engine.previous(id).to_vec(),
                    engine.save().unwrap().cloths()[0].remainders.clone(),
                    sleep_time,
                    sleep_pass_count,
                )
            });
            states[0] != states[1]
        });
        assert!(is_changed, "{} does nothing to any of its inputs", row.name);
    }
}
