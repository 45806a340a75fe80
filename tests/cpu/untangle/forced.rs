//! Crossings forced by pins and colliders are reported with frame and position.

use glam::Vec3;
use poplin_host::Engine as _;
use poplin_model::{Collider, ContactPartner, Parallelepiped, Shape};
use poplin_testkit::crossing_scene::at;

use super::{World, sheet};

/// Moves a collider along z through a sheet whose particles are all pinned; calls `watch` with the
/// frame and the position along z after each frame.
fn rammed(shape: Shape, speed: f32, mut watch: impl FnMut(&mut World, u32, f32)) -> World {
    let mut cloth = sheet(12, [0.4, 0.4], |p| Vec3::new(p.x, p.z, 0.0));
    cloth.particles.iter_mut().for_each(|particle| particle.inverse_mass = 0.0);
    let pose = |z: f32| at([0.013, 0.017, z]);
    let mut world = World::new(&[cloth], &[Collider { pose: pose(0.3), ..shape.into() }]);
    let stride = speed / 60.0;
    for frame in 1..=(0.3 / stride) as u32 {
        let z = 0.3 - stride * frame as f32;
        let id = world.scene.colliders[0];
        world.scene.engine.colliders_mut().set_pose(id, pose(z)).unwrap();
        world.step();
        watch(&mut world, frame, z);
    }
    world
}

#[test]
fn a_box_through_a_pinned_sheet_is_reported_where_it_is() {
    let mut first = 0;
    let cube = Shape::from(Parallelepiped::cuboid([0.1, 0.1, 0.1]));
    let mut world = rammed(cube, 0.7, |world, frame, _| {
        let report = world.report(0);
        assert_eq!(report.crossings as usize, world.scene.crossings(), "frame {frame}");
        if first == 0 && report.crossings > 0 {
            first = frame;
        }
    });
    let report = world.report(0);
    let crossed = report.crossed.unwrap();
    assert_eq!((crossed.first_frame, crossed.last_frame), (first, report.frames));
    assert!(first > 10 && report.start_crossings == 0 && crossed.most_pairs > 10, "{report:?}");
    let [x, y, z] = crossed.position_m;
    assert!(x.abs() < 0.12 && y.abs() < 0.12 && z.abs() < 1e-3, "{crossed:?}");
    assert_eq!(crossed.partner, ContactPartner::Collider);
}

#[test]
fn a_ball_through_a_pinned_sheet_is_reported() {
    let mut first = 0;
    let mut world = rammed(Shape::sphere(0.1), 0.7, |_, frame, z| {
        if first == 0 && z < 0.1 {
            first = frame;
        }
    });
    let report = world.report(0);
    let forced = report.forced.unwrap();
    assert_eq!((forced.first_frame, forced.last_frame), (first, report.frames), "{forced:?}");
    assert_eq!((report.crossings, report.hurried), (0, None));
    assert_eq!(forced.partner, ContactPartner::Collider);
}

#[test]
fn a_collider_that_is_too_fast_is_reported() {
    // Displacements of 83 mm an iteration are followed; 167 mm exceed 25.6 thicknesses.
    let mut world = rammed(Shape::sphere(0.1), 50.0, |_, _, _| {});
    assert!(world.report(0).hurried.is_none(), "no frame was that long");
    let id = world.scene.colliders[0];
    world.scene.engine.colliders_mut().set_pose(id, at([0.0, 0.0, -1.5])).unwrap();
    world.step();
    let hurried = world.report(0).hurried.map(|it| (it.first_frame, it.partner));
    assert_eq!(hurried, Some((1, ContactPartner::Collider)));
}
