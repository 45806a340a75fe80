//! Collision groups, many cloths, batches, sleep and refused settings.

use poplin_cpu::ReferenceEngine;
use poplin_geometry::Rng;
use poplin_gpu::EngineOptions;
use poplin_host::Engine as _;
use poplin_measure::separation::between;
use poplin_model::{ClothContactSolver, ClothDesc, Pose};
use poplin_testkit::adapter::devices;
use poplin_testkit::compare::same_bits;
use poplin_testkit::nth_cloth;

use super::compare::{run_on_gpu, wrong, wrong_in_first_pass};
use super::{STEP, Setup, all, cloud, on_mirror, random_cloud, sheet, sleepers};

/// Tests whether two overlapping sheets push each other.
fn are_pushed(groups: [u32; 2], masks: [u32; 2]) -> bool {
    let mut cloths = [0.0, 0.02].map(|height| sheet(5, 0.2, height, 0.06));
    for ((cloth, group), mask) in cloths.iter_mut().zip(groups).zip(masks) {
        (cloth.config.cloth_collision.group, cloth.config.cloth_collision.mask) = (group, mask);
    }
    let setup =
        |settings| Setup { name: "groups", cloths: cloths.to_vec(), settings, frames: vec![STEP] };
    let off = ClothContactSolver { stiffness: 0.0, ..ClothContactSolver::default() };
    all(&on_mirror(&setup(ClothContactSolver::default()))) != all(&on_mirror(&setup(off)))
}

#[test]
fn cloths_collide_only_if_both_masks_allow_it() {
    assert!(are_pushed([1, 1], [u32::MAX; 2]));
    assert!(are_pushed([1, 4], [4, 1]));
    assert!(!are_pushed([1, 4], [4, 4]), "the second does not want the first");
    assert!(!are_pushed([1, 4], [1, 1]), "the first does not want the second");
    assert!(!are_pushed([0, 1], [u32::MAX; 2]), "the first belongs to no group");
    assert!(!are_pushed([1, 1], [0, u32::MAX]), "the first wants none");
}

#[test]
fn a_hundred_cloths_in_one_place_leave_none_out() {
    let mut rng = Rng::new(11);
    let cloths: Vec<_> = (0..100).map(|_| random_cloud(&mut rng, 10, 0.03, 0.1)).collect();
    let settings = ClothContactSolver { iterations: 1, ..ClothContactSolver::default() };
    let engine = on_mirror(&Setup { name: "hundred", cloths, settings, frames: vec![STEP] });
    let memory = engine.contact_memory();
    for (row, &count) in memory.counts.iter().enumerate() {
        let expected = if memory.positions[row][3] > 0.0 { 990 } else { 0 };
        assert_eq!(count, expected, "row {row}");
    }
}

#[test]
fn two_thousand_cloths_are_no_limit() {
    let at = |k: usize| {
        [0.05 * (k % 40) as f32, 0.05 * (k / 40 % 10) as f32, 0.05 * (k / 400) as f32, 1.0]
    };
    let cloths: Vec<_> = (0..2000).map(|k| cloud(vec![at(k), at(k)], 0.08)).collect();
    let setup =
        Setup { name: "many", cloths, settings: ClothContactSolver::default(), frames: vec![STEP] };
    let setups = [setup];
    assert_eq!(wrong(&setups, wrong_in_first_pass), Vec::<String>::new());
    let [setup] = setups;
    assert!(on_mirror(&setup).contact_memory().counts.iter().all(|&count| count >= 6));
}

#[test]
fn nothing_changes_where_nothing_can_collide() {
    let cloths =
        |distances: [f32; 2]| [0, 1].map(|k| sheet(6, 0.3, 0.02 * k as f32, distances[k])).to_vec();
    let setup = |distances, settings| Setup {
        name: "off",
        cloths: cloths(distances),
        settings,
        frames: vec![1.0 / 60.0; 3],
    };
    let on = ClothContactSolver { friction: 1.0, ..ClothContactSolver::default() };
    let off = ClothContactSolver { stiffness: 0.0, ..ClothContactSolver::default() };
    let without = all(&on_mirror(&setup([0.0; 2], ClothContactSolver::default())));
    let mut gpus: Vec<_> = devices(&EngineOptions::default()).collect();
    for setup in [setup([0.0; 2], on), setup([0.05, 0.0], on), setup([0.05; 2], off)] {
        let engine = on_mirror(&setup);
        assert!(engine.contact_memory().positions.is_empty(), "a pass was run");
        same_bits("cloths", &all(&engine), &without).unwrap();
        for (gpu, rounding) in &mut gpus {
            let ids = run_on_gpu(gpu, &setup);
            let snapshot = gpu.state().unwrap();
            for (cloth, &id) in ids.iter().enumerate() {
                let mirror = engine.current(nth_cloth(cloth));
                rounding.agree(setup.name, snapshot.current(id), mirror, 64.0).unwrap();
            }
        }
    }
    // Control: two cloths that take part are pushed.
    assert!(same_bits("cloths", &all(&on_mirror(&setup([0.05; 2], on))), &without).is_err());
}

#[test]
fn a_pair_gives_the_same_bits_alone_in_a_batch_and_again() {
    let pair = || [0, 1].map(|k| sheet(8, 0.4, 0.05 * k as f32, 0.06)).to_vec();
    let mut batch = pair();
    for k in 0..30 {
        let pose = Pose { translation: [3.0 + 2.0 * k as f32, 0.0, -1.0], ..Pose::default() };
        batch.extend(
            [0, 1].map(|layer| ClothDesc { pose, ..sheet(8, 0.4, 0.05 * layer as f32, 0.06) }),
        );
    }
    let settings = ClothContactSolver { friction: 0.2, ..ClothContactSolver::default() };
    let run = |cloths: Vec<ClothDesc>| {
        let mut engine = ReferenceEngine::new();
        engine.set_cloth_contact_solver(settings).unwrap();
        cloths.into_iter().for_each(|cloth| assert!(engine.add(cloth).is_ok()));
        (0..6).for_each(|_| engine.step(1.0 / 60.0).unwrap());
        engine
    };
    let (alone, crowd) = (run(pair()), run(batch.clone()));
    for cloth in 0..2 {
        same_bits(
            "alone or in a batch",
            alone.current(nth_cloth(cloth)),
            crowd.current(nth_cloth(cloth)),
        )
        .unwrap();
    }
    same_bits("run to run", &all(&crowd), &all(&run(batch.clone()))).unwrap();
    // On a GPU particles reach their buckets in a different order in every run.
    for (mut gpu, rounding) in devices(&EngineOptions::default()) {
        gpu.engine_mut().set_cloth_contact_solver(settings).unwrap();
        let ids: Vec<_> = batch.iter().map(|cloth| gpu.add(cloth.clone()).unwrap()).collect();
        (0..6).for_each(|_| gpu.step(1.0 / 60.0).unwrap());
        let snapshot = gpu.state().unwrap();
        for (cloth, &id) in ids[..2].iter().enumerate() {
            let mirror = alone.current(nth_cloth(cloth));
            rounding.agree("in a batch", snapshot.current(id), mirror, 64.0).unwrap();
        }
    }
}

#[test]
fn the_order_of_adding_does_not_matter() {
    let cloths: Vec<_> = (0..4).map(|k| sheet(7, 0.3, 0.03 * k as f32, 0.05)).collect();
    let run = |cloths: Vec<ClothDesc>| {
        let settings = ClothContactSolver { friction: 0.4, ..ClothContactSolver::default() };
        let mut engine = ReferenceEngine::new();
        engine.set_cloth_contact_solver(settings).unwrap();
        cloths.into_iter().for_each(|cloth| assert!(engine.add(cloth).is_ok()));
        (0..5).for_each(|_| engine.step(1.0 / 60.0).unwrap());
        engine
    };
    let (forward, reversed) = (run(cloths.clone()), run(cloths.into_iter().rev().collect()));
    for cloth in 0..4 {
        for (a, b) in
            forward.current(nth_cloth(cloth)).iter().zip(reversed.current(nth_cloth(3 - cloth)))
        {
            assert!(
                (0..3).all(|k| (a.position[k] - b.position[k]).abs() < 1e-4),
                "{a:?} against {b:?}"
            );
        }
    }
}

#[test]
fn a_moving_cloth_wakes_a_sleeping_one_when_it_touches_it() {
    let setup = sleepers();
    let mut engine = ReferenceEngine::new();
    engine.set_cloth_contact_solver(setup.settings).unwrap();
    setup.cloths.iter().for_each(|cloth| assert!(engine.add(cloth.clone()).is_ok()));
    let mut slept = 0;
    let mut touched = None;
    for (index, &dt) in setup.frames.iter().enumerate() {
        let before = engine.current(nth_cloth(0)).to_vec();
        engine.step(dt).unwrap();
        if engine.feedback(nth_cloth(0)).is_asleep != 0 {
            slept += 1;
            same_bits("the sleeping sheet", engine.current(nth_cloth(0)), &before).unwrap();
        }
        let gap = between(engine.current(nth_cloth(0)), engine.current(nth_cloth(1)));
        if gap < 0.0601 && touched.is_none() {
            touched = Some(index);
        }
    }
    let touched = touched.expect("the second sheet reaches the first");
    assert!(slept > 2 && touched > 5, "slept {slept} frames, touched in frame {touched}");
    assert_eq!(engine.feedback(nth_cloth(0)).is_asleep, 0);
    assert!(
        engine.current(nth_cloth(0))[0].position[1] < -1e-3,
        "the first sheet is not pushed down"
    );
}

#[test]
fn settings_out_of_range_are_refused() {
    let mut engine = ReferenceEngine::new();
    let wrong = ClothContactSolver { iterations: 0, ..ClothContactSolver::default() };
    assert!(engine.set_cloth_contact_solver(wrong).is_err());
    assert_eq!(engine.cloth_contact_solver(), ClothContactSolver::default());
    let mut cloth = sheet(3, 0.1, 0.0, -0.1);
    assert!(engine.add(cloth.clone()).is_err());
    cloth.config.cloth_collision.distance = Some(f32::NAN);
    assert!(engine.add(cloth).is_err());
}
