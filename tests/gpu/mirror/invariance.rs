//! Bits that depend neither on memory tier, lane count and dispatches nor on the rest of a batch.

use poplin_gpu::EngineOptions;
use poplin_host::Engine as _;
use poplin_layout::MemoryTier;
use poplin_model::{ClothDesc, Particle};
use poplin_testkit::adapter::headless;
use poplin_testkit::compare::same_bits;
use poplin_testkit::scenes::{
    equip, hanging_sheet, implicit_sheet, random_cloth, random_implicit_cloth,
};
use poplin_testkit::skip::part;

use super::{State, seed_of};

/// Returns the particles after two frames with these options; `None` without an adapter.
fn in_tier(cloth: &ClothDesc, options: EngineOptions) -> Option<State> {
    let mut gpu = headless(options)?;
    let id = gpu.add(cloth.clone()).unwrap();
    equip(gpu.engine_mut().cloth_mut(id).unwrap(), seed_of(cloth));
    for _ in 0..3 {
        gpu.step(1.0 / 60.0).unwrap();
    }
    let snapshot = gpu.state().unwrap();
    Some((
        Particle::rows(snapshot.current(id)).to_vec(),
        Particle::rows(snapshot.previous(id)).to_vec(),
    ))
}

#[test]
fn tier_lane_count_and_dispatch_split_do_not_change_bits() {
    // Columns: cloth, lane counts, trips per dispatch. Cloths with many stages compile for seconds
    // in each tier and lane count, so one of them varies the lane count and another only the
    // dispatches.
    let cases: [(ClothDesc, &[u32], &[u64]); 4] = [
        (hanging_sheet(14, 13), &[32, 128], &[u64::MAX, 1]),
        (random_cloth(3, 62), &[128], &[u64::MAX, 1]),
        (implicit_sheet(9, 8), &[128], &[u64::MAX, 1]),
        (random_cloth(4, 60), &[32], &[1]),
    ];
    for (cloth, lane_counts, trips) in part(cases, 2) {
        let options = EngineOptions {
            tier: Some(MemoryTier::Resident),
            lane_count: Some(32),
            ..Default::default()
        };
        let Some(resident) = in_tier(&cloth, options) else {
            return;
        };
        for tier in MemoryTier::ALL {
            for &lane_count in lane_counts {
                for &trips_per_dispatch in trips {
                    let options = EngineOptions {
                        tier: Some(tier),
                        lane_count: Some(lane_count),
                        trips_per_dispatch,
                        ..Default::default()
                    };
                    let other = in_tier(&cloth, options).unwrap();
                    let what = format!(
                        "{} with {lane_count} lanes, {trips_per_dispatch} trips",
                        tier.name()
                    );
                    same_bits(&what, &other.0, &resident.0).unwrap();
                    same_bits(&what, &other.1, &resident.1).unwrap();
                }
            }
        }
    }
}

#[test]
fn a_cloth_gives_the_same_bits_alone_and_in_a_batch() {
    let options = EngineOptions { lane_count: Some(64), ..EngineOptions::default() };
    let Some(mut gpu) = headless(options.clone()) else { return };
    // Only two distinct sets of stages: each kernel compiles for seconds on a software adapter.
    let cloths: Vec<ClothDesc> = (0..64)
        .map(|seed| match seed % 16 {
            5 => random_implicit_cloth(seed, 34),
            _ => random_cloth(seed, 34 + 2 * (seed as u32 % 15)),
        })
        .collect();
    let ids: Vec<_> = cloths.iter().map(|cloth| gpu.add(cloth.clone()).unwrap()).collect();
    for (id, cloth) in ids.iter().zip(&cloths) {
        equip(gpu.engine_mut().cloth_mut(*id).unwrap(), seed_of(cloth));
    }
    for _ in 0..2 {
        gpu.step(1.0 / 60.0).unwrap();
    }
    let batch = gpu.state().unwrap();
    for index in [0, 5, 17, 37, 63] {
        let mut alone = headless(options.clone()).unwrap();
        let id = alone.add(cloths[index].clone()).unwrap();
        equip(alone.engine_mut().cloth_mut(id).unwrap(), seed_of(&cloths[index]));
        for _ in 0..2 {
            alone.step(1.0 / 60.0).unwrap();
        }
        same_bits(
            &format!("cloth {index}"),
            alone.state().unwrap().current(id),
            batch.current(ids[index]),
        )
        .unwrap();
    }
}
