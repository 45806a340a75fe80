//! Crossings that cannot be resolved stay reported and calm.

use glam::Vec3;
use poplin::cook::{CookOptions, cook};
use poplin_model::{ClothDesc, Collider, ContactPartner, Mesh, Parallelepiped, Shape};
use poplin_testkit::crossing_scene::{CrossingScene, at, weightless};

use super::{SECOND, THICKNESS, World, fastest_of, sheet};

/// A tube with pinned ends through the middle of a sheet with a pinned border.
fn skewer() -> (ClothDesc, ClothDesc) {
    let mut mesh = Mesh::tube(16, 13, 0.03, 0.03, 0.2);
    for [x, y, z] in &mut mesh.positions {
        (*x, *y, *z) = (*x + 0.004, *y + 0.103, *z + 0.002);
    }
    let mut tube = cook(&mesh, &CookOptions::default()).unwrap().into_cloth();
    for particle in &mut tube.particles {
        let is_end = !(-0.095..=0.1).contains(&particle.position[1]);
        particle.inverse_mass = if is_end { 0.0 } else { 1e4 };
    }
    tube.config.thickness = THICKNESS;
    tube.config.solver.as_pbd_mut().unwrap().frequency = 600.0;
    let mut cloth = sheet(16, [0.2, 0.2], |p| p);
    for particle in &mut cloth.particles {
        let [x, _, z] = particle.position.map(f32::abs);
        if x.max(z) > 0.099 {
            particle.inverse_mass = 0.0;
        }
    }
    (weightless(tube), weightless(cloth))
}

fn skewered() -> World {
    let (tube, cloth) = skewer();
    World::new(&[tube, cloth], &[])
}

#[test]
fn a_tube_through_a_sheet_stays_reported_and_calm() {
    let mut world = skewered();
    let before = world.scene.crossings();
    assert!(before > 10);
    let speeds = stays(&mut world);
    for cloth in [0, 1] {
        let report = world.report(cloth);
        assert_eq!(report.start_crossings as usize, before);
        let crossed = report.crossed.unwrap();
        assert_eq!((crossed.first_frame, crossed.last_frame), (0, report.frames));
        assert!(Vec3::from(crossed.position_m).length() < 0.05, "{crossed:?}");
        assert_eq!(crossed.partner, ContactPartner::OtherCloth);
    }
    println!("{} crossings, {speeds:?} m/s", world.scene.crossings());
    assert!(speeds[0] < 1.0 && speeds[1] < 0.1 && speeds[2] < 0.01, "{speeds:?} m/s");
}

/// A sheet with a pinned border, in the plane of x and y or of x and z.
fn framed(is_upright: bool) -> ClothDesc {
    let mut cloth = sheet(16, [0.2, 0.2], |p| p);
    for particle in &mut cloth.particles {
        let [x, _, z] = particle.position;
        if x.abs().max(z.abs()) > 0.099 {
            particle.inverse_mass = 0.0;
        }
        if is_upright {
            particle.position = [x + 0.003, z + 0.004, 0.002];
        }
    }
    weightless(cloth)
}

/// Runs a scene for 3 s; returns the largest particle speed in each second [m/s].
fn stays(world: &mut World) -> Vec<f32> {
    let second = |_| {
        let mut fastest = 0.0f32;
        for _ in 0..SECOND {
            let positions = world.positions();
            world.step();
            fastest = fastest.max(fastest_of(world, &positions));
        }
        fastest
    };
    (0..3).map(second).collect()
}

#[test]
fn framed_sheets_through_each_other_are_given_up() {
    let speeds = stays(&mut World::new(&[framed(false), framed(true)], &[]));
    println!("{speeds:?} m/s");
    assert!(speeds[0] < 2.0 && speeds[2] < 0.1, "{speeds:?} m/s");
}

#[test]
fn a_column_through_a_framed_sheet_stays_reported_and_bounded() {
    let column = Shape::from(Parallelepiped::cuboid([0.03, 0.3, 0.03]));
    let column = Collider { pose: at([0.004, 0.0, 0.002]), ..column.into() };
    let speeds = stays(&mut World::new(&[framed(false)], &[column]));
    println!("{speeds:?} m/s");
    assert!(speeds.iter().all(|&speed| speed < 6.0), "{speeds:?} m/s");
}

#[test]
fn a_sheet_that_falls_on_stuck_cloths_crosses_nothing() {
    let (tube, cloth) = skewer();
    let third = sheet(16, [0.25, 0.25], |p| Vec3::new(p.x + 0.01, 0.12, p.z));
    let world = World::new(&[tube.clone(), cloth.clone(), third.clone()], &[]);
    let mut all = world;
    let tangled = CrossingScene::new(&[tube, cloth], &[]).counter;
    for frame in 0..SECOND {
        all.step();
        let positions: Vec<[f32; 3]> = all.positions().iter().map(|p| p.to_array()).collect();
        let count = positions.len() - third.particles.len();
        let own = tangled.crossings(&positions[..count]);
        assert_eq!(all.scene.crossings(), own, "crossings in frame {frame}");
        assert!(own > 10);
    }
    let lowest = all.positions().iter().map(|p| p.y).fold(f32::INFINITY, f32::min);
    assert!(lowest > -0.15, "{lowest} m: nothing held it");
}
