//! Collision between cloths with neighbor lists that are kept from pass to pass, against the
//! reference, which searches in every pass: bit for bit at every width, whatever moves the
//! particles or changes the settings that lists depend on.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod common;

use common::loose;
use poplin_cpu::WideTeam;
use poplin_cpu::{LaneEngine, ReferenceEngine};
use poplin_geometry::Rng;
use poplin_host::{ClothId, Engine, ParticleMotion};
use poplin_model::{ClothContactSolver, ClothDesc, Pose};

/// Distance kept between the cloths \[m\].
const DISTANCE: f32 = 0.02;

const FRAMES: usize = 24;

/// Unconnected particles without forces in a cube of half side `size` around `center`; some are
/// pinned.
fn cloud(rng: &mut Rng, count: usize, center: [f32; 3], size: f32) -> ClothDesc {
    let mut particle = |k: usize| {
        let [x, y, z] = rng.point(-size, size);
        let w = if k % 11 == 4 { 0.0 } else { 1.0 + (k % 5) as f32 };
        [center[0] + x, center[1] + y, center[2] + z, w]
    };
    let mut cloth = loose((0..count).map(&mut particle));
    cloth.config.gravity = [0.0; 3];
    // Lists are only kept if pushes do not make particles fly.
    cloth.config.damping = [0.99; 3];
    cloth.config.cloth_collision.distance = Some(DISTANCE);
    cloth
}

/// Several overlapping clouds with more rows than a block.
fn clouds(rng: &mut Rng) -> Vec<ClothDesc> {
    let size = 6.0 * DISTANCE;
    let mut cloths: Vec<_> =
        [150, 7, 300, 1, 90].map(|count| cloud(rng, count, [0.0; 3], size)).into();
    cloths[2].config.cloth_collision.distance = Some(0.6 * DISTANCE);
    cloths
}

/// CPU engine.
type Subject = dyn Engine;

/// Change made to an engine before a frame.
type Edit = fn(&mut Subject, usize, &mut Rng);

/// State and report of every cloth after each frame.
fn run_frames(engine: &mut Subject, edit: Edit) -> Vec<Vec<[u32; 4]>> {
    let mut rng = Rng::new(3);
    let settings = ClothContactSolver { friction: 0.3, ..ClothContactSolver::default() };
    engine.set_cloth_contact_solver(settings).unwrap();
    for cloth in clouds(&mut rng) {
        engine.add(cloth).unwrap();
    }
    (0..FRAMES)
        .map(|frame| {
            edit(engine, frame, &mut rng);
            engine.step(1.0 / 60.0).unwrap();
            let ids = engine.ids().to_vec();
            let state = engine.state().unwrap();
            let rows = |id: &ClothId| {
                let rows = state.current(*id).iter().chain(state.previous(*id));
                let mut rows: Vec<_> =
                    rows.map(|&row| <[f32; 4]>::from(row).map(f32::to_bits)).collect();
                let feedback = state.feedback(*id);
                rows.push([feedback.fault_count, feedback.is_asleep, feedback.sleep_pass_count, 0]);
                rows
            };
            ids.iter().flat_map(rows).collect()
        })
        .collect()
}

#[track_caller]
fn assert_same(what: &str, edit: Edit) {
    let expected = run_frames(&mut ReferenceEngine::new(), edit);
    assert!(
        expected.windows(2).filter(|pair| pair[0] != pair[1]).count() > 2,
        "{what}: nothing moves"
    );
    for team in WideTeam::all() {
        let lanes = team.describe();
        let got = run_frames(&mut LaneEngine::with_workers(team), edit);
        for (frame, (got, expected)) in got.iter().zip(&expected).enumerate() {
            let differing = got.iter().zip(expected).filter(|(a, b)| a != b).count();
            assert_eq!(differing, 0, "{what}, {lanes}: rows that differ after frame {frame}");
        }
    }
}

/// Moves every particle of a cloth; `particle` maps its index and position to the new position.
fn set(engine: &mut Subject, index: usize, particle: impl Fn(usize, [f32; 3]) -> [f32; 3]) {
    let id = engine.ids()[index];
    let mut particles = engine.state().unwrap().current(id).to_vec();
    for (k, own) in particles.iter_mut().enumerate() {
        own.position = particle(k, own.position);
    }
    engine.set_particles(id, &particles, ParticleMotion::Rest).unwrap();
}

#[test]
fn clouds_separate_as_in_the_reference() {
    assert_same("at rest", |_, _, _| {});
}

#[test]
fn contacts_on_cell_borders_keep_the_reference_order() {
    assert_same("borders", |engine, frame, _| {
        if frame % 8 == 0 {
            for index in [0, 2, 4] {
                let cell = 0.5 * 1.001 * DISTANCE;
                set(engine, index, |k, _| {
                    [k % 7, k / 7 % 7, k / 49].map(|step| cell * (step as f32 - 3.0))
                });
            }
        }
    });
}

#[test]
fn lists_are_rebuilt_when_rows_come_close() {
    // A cloth moves through the others, by steps of less and of more than the margin of a search;
    // then one comes from far away.
    for (what, edit) in [
        ("slow", (|engine, frame, _| place_slab(engine, 8.0 - 0.15 * frame as f32)) as Edit),
        ("fast", |engine, frame, _| place_slab(engine, 8.0 - 1.1 * frame as f32)),
        ("jump", |engine, frame, _| place_slab(engine, if frame < 9 { 90.0 } else { 5.5 })),
        ("half", |engine, frame, _| {
            // The other half stays in contact with the clouds.
            let height = if frame < 9 { 90.0 } else { 5.5 };
            set(engine, 4, |k, x| if k % 2 == 0 { [x[0], height * DISTANCE, x[2]] } else { x });
        }),
    ] {
        assert_same(what, edit);
    }
}

/// Moves the last cloth, as a slab, to a height in units of the distance.
fn place_slab(engine: &mut Subject, height: f32) {
    set(engine, 4, |k, _| {
        [(k % 10) as f32 - 5.0, height, (k / 10) as f32 - 5.0].map(|x| 1.1 * DISTANCE * x)
    });
}

#[test]
fn lists_follow_common_and_separate_motion() {
    assert_same("moved", |engine, frame, rng| {
        let step = rng.point(-0.4 * DISTANCE, 0.4 * DISTANCE);
        for index in 0..5 {
            // All cloths together, then one of them on its own; once beyond 65,536 cells and back.
            let own = if frame < 6 && frame == index { 0.3 * DISTANCE } else { 0.0 };
            let far = [(7, 3000.0), (11, -3000.0)].into_iter().find(|(at, _)| *at == frame);
            let far = far.map_or(0.0, |(_, step)| step);
            set(engine, index, |_, [x, y, z]| [x + step[0] + far, y + step[1] + own, z + step[2]]);
        }
    });
}

#[test]
fn contacts_far_from_the_origin_match_the_reference() {
    // Positions are multiples of 1/330 of the distance there.
    assert_same("rounding", |engine, frame, rng| {
        if frame % 3 == 0 {
            for index in 0..5 {
                let middle = [900.0, -1000.0, 0.0];
                let offset = rng.point(-DISTANCE, DISTANCE);
                set(engine, index, |k, _| {
                    let steps =
                        [k % 6, k / 6 % 6, k / 36].map(|step| 0.999 * DISTANCE * step as f32);
                    [0, 1, 2].map(|k| middle[k] + offset[k] + steps[k])
                });
            }
        }
    });
}

#[test]
fn changed_cloths_rebuild_the_lists() {
    assert_same("settings", |engine, frame, rng| {
        let id = engine.ids()[1 + frame % 3];
        let cloth = engine.cloth_mut(id).unwrap();
        let mut config = cloth.desc().config.clone();
        match frame {
            2 => config.cloth_collision.distance = Some(1.5 * DISTANCE),
            4 => config.cloth_collision.distance = Some(0.0),
            6 => config.cloth_collision.mask = 2,
            8 => config.cloth_collision.mask = u32::MAX,
            10 => (config.cloth_collision.group, config.cloth_collision.mask) = (4, 1),
            12 => config.cloth_collision = cloth.desc().config.cloth_collision,
            _ => {}
        }
        cloth.set_config(config).unwrap();
        match frame {
            14 => {
                let pose = Pose { translation: [0.7 * DISTANCE; 3], ..Pose::default() };
                cloth.set_pose(pose).unwrap();
            }
            15 => {
                let added = cloud(rng, 60, [0.0; 3], 3.0 * DISTANCE);
                engine.add(added).unwrap();
            }
            17 => engine.remove(id).unwrap(),
            19 => engine.reset(id).unwrap(),
            20 => {
                engine.clone_cloth(id, 2).unwrap();
            }
            _ => {}
        }
    });
}

#[test]
fn faulty_and_sleeping_cloths_are_not_moved() {
    assert_same("held", |engine, frame, _| {
        if frame == 0 {
            for index in [1, 2] {
                let id = engine.ids()[index];
                let cloth = engine.cloth_mut(id).unwrap();
                let mut config = cloth.desc().config.clone();
                config.sleep.threshold = 1.0;
                config.sleep.after_count = 2;
                cloth.set_config(config).unwrap();
            }
        }
        if frame == 10 {
            set(engine, 0, |k, x| if k == 3 { [9e14, 0.0, 0.0] } else { x });
            // Out of the range of positions within an iteration.
            let id = engine.ids()[0];
            let cloth = engine.cloth_mut(id).unwrap();
            let mut config = cloth.desc().config.clone();
            config.gravity = [1e15, 0.0, 0.0];
            cloth.set_config(config).unwrap();
        }
        if frame == 14 {
            place_slab(engine, 1.0);
        }
    });
}
