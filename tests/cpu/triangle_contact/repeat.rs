//! Repeatability: equal bits after a reset or restore, and on any number of threads.

use poplin_cook::CookOptions;
use poplin_host::{Engine as _, Snapshot};
use poplin_model::{ClothDesc, Multilevel, Pose, Shape};
use poplin_testkit::compare::same_bits;
use poplin_testkit::crossing_scene::{at, floor};

use super::{World, cooked_sheet, moved, sheet};

/// Sheets over a moving ball, one of them solved by levels.
fn busy() -> World {
    let options = CookOptions { levels: true, ..CookOptions::default() };
    let mut fine = cooked_sheet(10, 0.25, &options);
    fine.config.solver = Multilevel::default().into();
    let cloths = [fine, sheet(10, 0.25), sheet(10, 0.25)];
    let at_height = |(cloth, y): (ClothDesc, f32)| moved(cloth, [0.0, y, 0.1 * y]);
    let cloths: Vec<_> = cloths.into_iter().zip([0.11, 0.12, 0.13]).map(at_height).collect();
    World::new(&cloths, &[Shape::sphere(0.1).into(), floor()])
}

fn run(world: &mut World, frames: std::ops::Range<usize>) {
    for frame in frames {
        let id = world.scene.colliders[0];
        let x = 0.03 * (0.2 * frame as f32).sin();
        world.scene.engine.colliders_mut().set_pose(id, at([x, 0.0, 0.0])).unwrap();
        world.step(frame);
    }
}

#[test]
fn a_reset_scene_has_the_same_bits_again() {
    let mut world = busy();
    run(&mut world, 0..40);
    let first = world.scene.rows();
    for id in world.scene.ids.clone() {
        world.scene.engine.reset(id).unwrap();
    }
    let ball = world.scene.colliders[0];
    world.scene.engine.colliders_mut().teleport(ball, Pose::default()).unwrap();
    run(&mut world, 0..40);
    same_bits("after a reset", &world.scene.rows(), &first).unwrap();
}

#[test]
fn a_restored_scene_continues_with_the_same_bits() {
    let mut world = busy();
    run(&mut world, 0..40);
    let snapshot = world.scene.engine.save().unwrap();
    assert!(!snapshot.multipliers().pairs.is_empty());
    let bytes = snapshot.to_bytes().unwrap();
    run(&mut world, 40..60);
    let gone_on = world.scene.rows();
    for snapshot in [snapshot, Snapshot::from_bytes(&bytes).unwrap()] {
        world.scene.ids = world.scene.engine.restore(&snapshot).unwrap();
        run(&mut world, 40..60);
        same_bits("after a restore", &world.scene.rows(), &gone_on).unwrap();
    }
}

#[test]
fn threads_do_not_change_bits() {
    let with_threads = |count: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap();
        pool.install(|| {
            let mut world = busy();
            world.scene.engine.force_parts(count);
            run(&mut world, 0..40);
            world.scene.rows()
        })
    };
    let alone = with_threads(1);
    for count in [2, 3] {
        same_bits("several threads", &with_threads(count), &alone).unwrap();
    }
}
