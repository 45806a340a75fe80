//! The CPU engine allocates nothing in the steady state. The only test of its binary: others would be counted too.

use std::alloc::System;

use poplin_cpu::CpuEngine;
use poplin_host::Engine as _;
use poplin_model::{Cloth, Frame, Pose, Shape};
use poplin_testkit::scenes::hanging_sheet;
use rayon::ThreadPoolBuilder;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static COUNTED: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const FRAME: Frame = Frame { dt: 1.0 / 60.0 };
/// Frames until buffers have grown.
const WARM_UP: usize = 40;
/// Frames that are counted.
const COUNTED_FRAMES: usize = 20;

fn plain(side: u32) -> Cloth {
    hanging_sheet(side, side)
}

fn colliding(side: u32) -> Cloth {
    let mut cloth = plain(side);
    cloth.config.self_collision.distance = Some(0.02);
    cloth
}

/// Allocations of the counted frames.
fn count(cloths: &[Cloth], has_capsules: bool, threads: usize) -> usize {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let mut engine = CpuEngine::new();
        for cloth in cloths {
            engine.add(cloth.clone()).unwrap();
        }
        let capsule = Shape::capsule(0.4, [0.1, 0.08]);
        let capsule = has_capsules.then(|| engine.colliders_mut().add(capsule).unwrap());
        let mut step = |frame: usize| {
            if let Some(id) = capsule {
                let pose =
                    Pose { translation: [0.0, 0.01 * frame as f32, -0.4], ..Pose::default() };
                engine.colliders_mut().set_pose(id, pose).unwrap();
            }
            engine.step(&FRAME).unwrap();
        };
        (0..WARM_UP).for_each(&mut step);
        let region = Region::new(COUNTED);
        (WARM_UP..WARM_UP + COUNTED_FRAMES).for_each(&mut step);
        let change = region.change();
        change.allocations + change.reallocations
    })
}

#[test]
fn a_frame_allocates_nothing_in_the_steady_state() {
    let mut meeting = vec![plain(12); 4];
    for cloth in &mut meeting {
        cloth.config.cloth_collision.distance = Some(0.02);
    }
    // Many cloths on more threads may need one more worker in any frame, when for the first time all are busy at once.
    let scenes: [(&str, Vec<Cloth>, bool, usize); 7] = [
        ("many", vec![plain(8); 30], false, 1),
        ("large", vec![plain(64)], false, 1),
        ("large, on two threads", vec![plain(64)], false, 2),
        ("self collision", vec![colliding(16); 4], false, 1),
        ("large self collision", vec![colliding(64)], false, 1),
        ("moving capsules", vec![plain(12); 4], true, 1),
        ("collision between cloths", meeting, false, 1),
    ];
    let found = scenes.map(|(name, cloths, has_capsules, threads)| {
        let found = count(&cloths, has_capsules, threads);
        (found > 0).then(|| format!("{name}: {found} in {COUNTED_FRAMES} frames"))
    });
    let found: Vec<_> = found.into_iter().flatten().collect();
    assert_eq!(found, [""; 0]);
}
