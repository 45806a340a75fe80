//! Sheets that start crossed with sheets, themselves or needles come free.

use glam::Vec3;
use poplin::cook::{CookOptions, cook};
use poplin_model::{ContactPartner, Mesh, Shape, TriangleMesh};
use poplin_testkit::crossing_scene::{floor, weightless};

use super::{THICKNESS, World, comes_free, corner, fastest_of, hook, sheet};

#[test]
fn a_corner_through_a_sheet_comes_back() {
    let mut world = corner();
    assert!(world.scene.crossings() > 4);
    let fastest = comes_free(&mut world);
    assert!(fastest < 1.0, "{fastest} m/s");
    let positions = world.positions();
    world.step();
    let speed = fastest_of(&world, &positions);
    assert!(speed < 0.2, "{speed} m/s are left");
}

#[test]
fn a_sheet_through_itself_comes_free() {
    let mut world = hook();
    assert!(world.scene.crossings() > 4);
    let fastest = comes_free(&mut world);
    let partner = world.report(0).crossed.map(|it| it.partner);
    assert_eq!(partner, Some(ContactPartner::Itself));
    assert!(fastest < 5.0, "{fastest} m/s");
}

#[test]
fn needles_through_a_sheet_come_out_of_it() {
    let needle = |x: f32, z: f32| {
        let ring = (0..8).map(|k| {
            let (sin, cos) = (std::f32::consts::TAU * k as f32 / 8.0).sin_cos();
            [x + 0.01 * cos, 0.0, z + 0.01 * sin]
        });
        let vertices: Vec<_> = ring.chain([[x, 0.2, z], [x, 0.0, z]]).collect();
        let triangles: Vec<_> =
            (0..8).flat_map(|k| [[k, 8, (k + 1) % 8], [(k + 1) % 8, 9, k]]).collect();
        Shape::TriangleMesh(TriangleMesh { vertices: vertices.into(), triangles: triangles.into() })
    };
    let needles = [(-0.05, -0.04), (0.06, -0.05), (0.0, 0.06)].map(|(x, z)| needle(x, z).into());
    let cloth = sheet(16, [0.3, 0.3], |p| Vec3::new(p.x + 0.003, 0.185, p.z + 0.001));
    let mut world = World::new(&[cloth], &needles.into_iter().chain([floor()]).collect::<Vec<_>>());
    assert!(world.scene.crossings() > 4);
    comes_free(&mut world);
}

/// Two wavy sheets that pass through each other.
#[test]
fn waves_through_waves_come_free() {
    let wave = |sign: f32, shift: f32| {
        sheet(24, [0.3, 0.3], move |p| {
            let height = 0.01 * (40.0 * p.x).sin() * (40.0 * p.z).sin();
            Vec3::new(p.x + shift, sign * height + 3.0 * shift, p.z)
        })
    };
    let sheets = [wave(1.0, 0.0), wave(-1.0, 0.002)].map(weightless);
    let mut world = World::new(&sheets, &[]);
    assert!(world.scene.crossings() > 100);
    comes_free(&mut world);
}

#[test]
fn a_bump_through_a_sheet_comes_back() {
    let flat = sheet(20, [0.3, 0.3], |p| p);
    let bump = sheet(20, [0.3, 0.3], |p| {
        let depth = 0.04 * (-(p.x * p.x + p.z * p.z) / 0.003).exp();
        Vec3::new(p.x, 0.01 - depth, p.z + 0.003)
    });
    let mut world = World::new(&[flat, bump].map(weightless), &[]);
    assert!(world.scene.crossings() > 10);
    comes_free(&mut world);
}

/// A tube around a tube, in places too narrow, like layers of a garment.
#[test]
fn a_sleeve_through_a_sleeve_comes_free() {
    let sleeve = |radius: f32, wobble: f32| {
        let mesh = Mesh::tube(24, 20, radius, radius, 0.25);
        let mut sleeve = cook(&mesh, &CookOptions::default()).unwrap().into_cloth();
        sleeve.rest_positions = mesh.positions.clone();
        for particle in &mut sleeve.particles {
            particle.inverse_mass = if particle.position[1] > -0.001 { 0.0 } else { 1e4 };
            let [x, y, z] = &mut particle.position;
            let factor = 1.0 + wobble * (30.0 * *y).sin();
            (*x, *z) = (*x * factor, *z * factor);
        }
        sleeve.config.thickness = THICKNESS;
        sleeve.config.solver.as_pbd_mut().unwrap().frequency = 600.0;
        sleeve
    };
    let mut world = World::new(&[sleeve(0.08, 0.0), sleeve(0.087, 0.12)], &[]);
    assert!(world.scene.crossings() > 100);
    comes_free(&mut world);
}
