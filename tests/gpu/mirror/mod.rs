//! GPU kernel against the CPU reference (its mirror), stage by stage and over whole iterations.
//!
//! On software adapters every bit must agree. Real GPUs may fuse multiply and add: there, and for
//! kernels that are fused by hand, the tolerance is `FACTOR * f32::EPSILON * scale` per stage.

mod comparison;
mod damage;
mod frames;
mod invariance;
mod lane_orders;
mod stage_agrees;

use poplin_cpu::{ReferenceEngine, Team};
use poplin_gpu::{Compilation, EngineOptions, FramePart};
use poplin_host::{ClothId, Engine as _};
use poplin_layout::StageMask;
use poplin_model::{ClothDesc, Particle};
use poplin_testkit::inputs::equip_with_masses;

/// Tolerance of a real GPU after one stage, in epsilons: chains have up to 8 edges with about ten
/// roundings each.
const FACTOR: f32 = 256.0;

/// Current and previous particles of a cloth.
type State = (Vec<[f32; 4]>, Vec<[f32; 4]>);

/// Returns the seed for the equipment of a cloth, its particle count. The seeds of the test cloths
/// select every kind of input at least once.
fn seed_of(cloth: &ClothDesc) -> u64 {
    cloth.particle_count() as u64
}

/// Runs `stages` of one frame on the mirror.
fn run_on_mirror(
    cloth: &ClothDesc,
    dt: f32,
    stages: StageMask,
    team: &mut Team,
) -> (ReferenceEngine, ClothId) {
    let mut engine = ReferenceEngine::new();
    let id = engine.add(cloth.clone()).unwrap();
    equip_with_masses(engine.cloth_mut(id).unwrap());
    engine.begin_frame(dt).unwrap();
    engine.run_part(id, &FramePart { stages, ..FramePart::WHOLE }, team).unwrap();
    (engine, id)
}

/// Returns the particles after [`run_on_mirror`].
fn on_mirror(cloth: &ClothDesc, dt: f32, stages: StageMask, team: &mut Team) -> State {
    let (engine, id) = run_on_mirror(cloth, dt, stages, team);
    state_of(&engine, id)
}

/// Returns the current and previous particles of a cloth.
fn state_of(engine: &ReferenceEngine, id: ClothId) -> State {
    (Particle::rows(engine.current(id)).to_vec(), Particle::rows(engine.previous(id)).to_vec())
}

/// Frame of one iteration for every cloth of these tests: rounding differences of a real GPU cannot
/// accumulate.
const ONE_ITERATION: f32 = 1.0 / 300.0;

/// Returns the options for runs of single stages.
fn of_stages() -> EngineOptions {
    EngineOptions {
        compilation: Compilation::WhenNeeded,
        lane_count: Some(64),
        ..EngineOptions::default()
    }
}

/// Returns [`of_stages`] with one kernel for all models of the implicit solver: each kernel with
/// all colliders compiles for most of a minute.
fn of_many_models() -> EngineOptions {
    EngineOptions { all_implicit_parts: true, ..of_stages() }
}
