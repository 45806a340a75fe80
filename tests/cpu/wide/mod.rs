//! The CPU backend against its scalar twin, bit by bit: single stages and whole frames, at every
//! SIMD width of the machine, and split over threads.

mod side_by_side;
mod split;
mod widths;

use poplin_cpu::{LaneEngine, Workers};
use poplin_host::{Engine as _, FramePart};
use poplin_layout::{Feedback, StageMask};
use poplin_model::{ClothDesc, Particle};
use poplin_testkit::inputs::equip_with_masses;

/// Current and previous particles, and the feedback.
type Outcome = (Vec<[f32; 4]>, Vec<[f32; 4]>, Feedback);

fn run<W: Workers + Default + Clone + Send + Sync + 'static>(
    cloth: &ClothDesc,
    frames: &[f32],
    stages: StageMask,
    workers: &mut impl Workers<Kept = W::Kept>,
) -> Outcome {
    let mut engine = LaneEngine::<W>::new();
    let id = engine.add(cloth.clone()).unwrap();
    equip_with_masses(engine.cloth_mut(id).unwrap());
    for &dt in frames {
        engine.begin_frame(dt).unwrap();
        engine.run_part(id, &FramePart { stages, ..FramePart::WHOLE }, workers).unwrap();
    }
    let [current, previous] = [engine.current(id), engine.previous(id)].map(Particle::rows);
    (current.to_vec(), previous.to_vec(), engine.feedback(id))
}

/// Thread counts that loops are split over.
const THREADS: [usize; 4] = [1, 2, 3, 7];

const ONE_ITERATION: f32 = 1.0 / 300.0;

const SOME: [f32; 3] = [1.0 / 60.0, 1.0 / 50.0, 1.0 / 60.0];
