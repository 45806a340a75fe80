//! Memory over many rounds of adding and removing, and of many copies.

use std::sync::Arc;

use poplin::ClothId;
use poplin_cpu::ReferenceEngine;
use poplin_geometry::Rng;
use poplin_gpu::{EngineOptions, GpuEngine, wgpu};
use poplin_host::Engine as _;
use poplin_measure::shape_arrays::ShapeArrays;
use poplin_model::{ClothDesc, Fabric};
use poplin_testkit::adapter::noop_device;
use poplin_testkit::scenes::hanging_sheet;

/// Engine on a device that computes nothing, but validates and allocates everything.
fn noop_engine() -> GpuEngine {
    let (device, queue) = noop_device(wgpu::Limits::default());
    let options = EngineOptions { lane_count: Some(64), ..EngineOptions::default() };
    GpuEngine::new(&device, &queue, options).unwrap()
}

/// Sheets of 2 x 2 to 8 x 8 particles, which share a kernel: the number of dispatches, whose
/// uniforms take memory too, does not depend on the random sizes.
fn sheets() -> Vec<ClothDesc> {
    (2..9).flat_map(|rows| (2..9).map(move |columns| hanging_sheet(columns, rows))).collect()
}

/// Number of cloths at a time.
const LIVE: usize = 8;

/// Largest number of spheres in a round.
const MOST_SPHERES: usize = 6;

/// Adds, steps and removes cloths of random sizes, each with its own fabric. Returns `memory` after
/// 100, 1,000 and 10,000 rounds, when all cloths have the largest size and the most spheres, and
/// after all cloths are removed.
fn rounds<E>(
    engine: &mut E,
    add: impl Fn(&mut E, ClothDesc) -> ClothId,
    step: impl Fn(&mut E, ClothId, usize),
    remove: impl Fn(&mut E, ClothId),
    memory: impl Fn(&E) -> u64,
) -> [u64; 4] {
    let (sheets, mut rng) = (sheets(), Rng::new(11));
    let (mut live, mut curve) = (Vec::new(), Vec::new());
    for round in 1..=10_000 {
        // The last eight cloths before a measurement have the largest size.
        let is_measured =
            [100, 1_000, 10_000].iter().any(|&end| (end - LIVE + 1..=end).contains(&round));
        let size = if is_measured { sheets.len() - 1 } else { rng.index(sheets.len()) };
        let mut cloth = sheets[size].clone();
        cloth.fabric = Arc::new(Fabric::clone(&cloth.fabric));
        if live.len() == LIVE {
            let index = if is_measured { 0 } else { rng.index(LIVE) };
            remove(engine, live.remove(index));
        }
        let id = add(engine, cloth);
        live.push(id);
        let sphere_count = rng.index(MOST_SPHERES + 1);
        step(engine, id, if is_measured { MOST_SPHERES } else { sphere_count });
        if [100, 1_000, 10_000].contains(&round) {
            curve.push(memory(engine));
        }
    }
    live.into_iter().for_each(|id| remove(engine, id));
    curve.push(memory(engine));
    curve.try_into().unwrap()
}

#[test]
fn memory_stays_bounded_over_10k_rounds_on_the_gpu() {
    let mut engine = noop_engine();
    let step = |engine: &mut GpuEngine, newest: ClothId, sphere_count: usize| {
        // Inputs of different lengths are added and removed with the cloths.
        let spheres = vec![[0.0, -9.0, 0.0, 0.1]; 1 + sphere_count];
        let set = engine.cloth_mut(newest).unwrap().colliders_mut();
        ShapeArrays { spheres, ..ShapeArrays::default() }.reach(set).unwrap();
        let mut encoder = engine.device().create_command_encoder(&Default::default());
        engine.encode_frame(&mut encoder, 1.0 / 60.0).unwrap();
        encoder.finish();
    };
    let curve = rounds(
        &mut engine,
        |engine, cloth| engine.add(cloth).unwrap(),
        step,
        |engine, id| engine.remove(id).unwrap(),
        GpuEngine::memory_bytes,
    );
    eprintln!("GPU: {curve:?} bytes after 100, 1,000, 10,000 rounds and when all cloths are gone");
    assert!(curve[1] <= curve[0] && curve[2] <= curve[0], "{curve:?}");
    assert_eq!((engine.particle_count(), engine.fabric_bytes()), (0, 0));
}

#[test]
fn memory_stays_bounded_over_10k_rounds_on_the_cpu() {
    let mut engine = ReferenceEngine::new();
    let curve = rounds(
        &mut engine,
        |engine, cloth| engine.add(cloth).unwrap(),
        |engine, _, _| engine.step(1.0 / 300.0).unwrap(),
        |engine, id| engine.remove(id).unwrap(),
        ReferenceEngine::memory_bytes,
    );
    eprintln!("CPU: {curve:?} bytes after 100, 1,000, 10,000 rounds and when all cloths are gone");
    assert!(curve[1] <= curve[0] && curve[2] <= curve[0], "{curve:?}");
    assert_eq!(curve[3], 0, "{curve:?}");
}

#[test]
fn four_thousand_copies_of_a_garment_store_its_fabric_once() {
    let mut engine = noop_engine();
    let source = engine.add(hanging_sheet(12, 12)).unwrap();
    let fabric_bytes = engine.fabric_bytes();
    assert!(fabric_bytes > 1_000);
    let ids = engine.clone_cloth(source, 4_095).unwrap();
    assert_eq!((engine.ids().len(), engine.fabric_bytes()), (4_096, fabric_bytes));
    assert_eq!(engine.particle_count(), 4_096 * 144);
    let mut encoder = engine.device().create_command_encoder(&Default::default());
    engine.encode_frame(&mut encoder, 1.0 / 60.0).unwrap();
    ids.into_iter().for_each(|id| engine.remove(id).unwrap());
    assert_eq!(engine.fabric_bytes(), fabric_bytes);
    engine.clear();
    assert_eq!((engine.fabric_bytes(), engine.particle_count(), engine.ids().len()), (0, 0, 0));
}

#[test]
fn copies_that_do_not_fit_are_refused_and_leave_nothing() {
    let mut engine = noop_engine();
    let source = engine.add(hanging_sheet(60, 60)).unwrap();
    // 3,600 particles of 16 bytes: at most 2,330 cloths in a buffer of 128 MiB.
    assert!(engine.clone_cloth(source, 3_000).is_err());
    assert_eq!((engine.ids(), engine.particle_count()), (&[source][..], 3_600));
    engine.clone_cloth(source, 3).unwrap();
}
