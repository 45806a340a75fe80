//! Number and positions of additional collision points on triangles.

use poplin_cook::{CookError, CookOptions, Cooked, VirtualParticles, cook};
use poplin_model::Mesh;

fn cooked(mesh: &Mesh, virtual_particles: VirtualParticles) -> Cooked {
    cook(mesh, &CookOptions { virtual_particles, ..CookOptions::default() })
        .expect("the mesh cooks")
}

fn refused(virtual_particles: VirtualParticles) -> CookError {
    cook(&Mesh::grid(3, 3, 1.0, 1.0), &CookOptions { virtual_particles, ..CookOptions::default() })
        .expect_err("the option was accepted")
}

#[test]
fn none_by_default() {
    let cooked = cooked(&Mesh::grid(3, 3, 1.0, 1.0), VirtualParticles::default());
    assert!(cooked.fabric.virtual_particles.is_empty());
    assert!(!cooked.report.to_string().contains("virtual"));
}

#[test]
fn points_of_each_triangle_are_adjacent() {
    for count in [1, 2, 3, 4, 5, 7, 64] {
        let cooked = cooked(&Mesh::grid(5, 4, 1.0, 1.0), VirtualParticles::PerTriangle(count));
        let (fabric, count) = (&cooked.fabric, count as usize);
        assert_eq!(fabric.virtual_particles.len(), count * fabric.triangles.len());
        assert_eq!(cooked.report.virtual_particle_count, fabric.virtual_particles.len());
        for (points, triangle) in fabric.virtual_particles.chunks(count).zip(&fabric.triangles) {
            assert!(points.iter().all(|point| point.corners == *triangle));
            for point in points {
                assert!(point.weights.iter().all(|&weight| weight >= 0.0));
                assert!((point.weights.iter().sum::<f32>() - 1.0).abs() < 1e-6);
            }
        }
    }
}

#[test]
fn spacing_determines_the_density() {
    for spacing in [0.01, 0.013, 0.02, 0.03, 0.05, 0.09] {
        let cooked = cooked(&Mesh::grid(21, 11, 1.0, 0.5), VirtualParticles::Spacing(spacing));
        let even = 0.5 / f64::from(spacing * spacing);
        let ratio = cooked.report.virtual_particle_count as f64 / even;
        assert!((0.97..1.03).contains(&ratio), "{spacing} m: {ratio}");
    }
}

#[test]
fn small_triangles_share_points_and_large_ones_are_limited() {
    let mesh = Mesh::grid(2, 2, 1.0, 1.0);
    assert_eq!(cooked(&mesh, VirtualParticles::Spacing(2.0)).report.virtual_particle_count, 0);
    let fine = cooked(&Mesh::grid(21, 21, 1.0, 1.0), VirtualParticles::Spacing(0.1));
    assert_eq!(fine.report.virtual_particle_count, 100, "eight triangles for each point");
    assert_eq!(
        cooked(&mesh, VirtualParticles::Spacing(1e-3)).report.virtual_particle_count,
        2 * 256
    );
}

#[test]
fn triangles_with_three_pins_get_none() {
    let mesh = Mesh::grid(3, 2, 1.0, 1.0);
    let options = CookOptions {
        virtual_particles: VirtualParticles::PerTriangle(3),
        ..CookOptions::default()
    };
    let of_pins = |pins: Vec<u32>| {
        cook(&mesh, &CookOptions { pins, ..options.clone() }).unwrap().report.virtual_particle_count
    };
    assert_eq!(of_pins(vec![0, 1]), 12, "two pins are not three");
    assert_eq!(of_pins(vec![0, 1, 3, 4]), 6, "the left quad is pinned");
    assert_eq!(of_pins((0..6).collect()), 0);
}

#[test]
fn points_are_deterministic() {
    let mesh = Mesh::tube(12, 8, 0.2, 0.4, 1.0);
    let points = || cooked(&mesh, VirtualParticles::Spacing(0.02)).fabric.virtual_particles;
    assert_eq!(points(), points());
}

#[test]
fn report_shows_the_count() {
    let cooked = cooked(&Mesh::grid(3, 3, 1.0, 1.0), VirtualParticles::PerTriangle(4));
    assert!(
        cooked
            .report
            .to_string()
            .contains("virtual               32  collision points on triangles\n")
    );
}

#[test]
fn rejects_numbers_out_of_range() {
    for (choice, message) in [
        (
            VirtualParticles::PerTriangle(0),
            "cook option virtual_particles.per_triangle = 0 is outside 1..=64",
        ),
        (
            VirtualParticles::PerTriangle(65),
            "cook option virtual_particles.per_triangle = 65 is outside 1..=64",
        ),
        (
            VirtualParticles::Spacing(f32::NAN),
            "cook option virtual_particles.spacing = NaN is outside 0.000000001..=1000000 m",
        ),
        (
            VirtualParticles::Spacing(0.0),
            "cook option virtual_particles.spacing = 0 is outside 0.000000001..=1000000 m",
        ),
    ] {
        assert_eq!(refused(choice).to_string(), message);
    }
}

#[test]
fn rejects_too_many_points_with_count_and_limit() {
    let mesh = Mesh::grid(257, 257, 1.0, 1.0);
    let options = CookOptions {
        virtual_particles: VirtualParticles::Spacing(1e-5),
        bending: false,
        ..CookOptions::default()
    };
    let error = cook(&mesh, &options).unwrap_err();
    assert_eq!(
        error,
        CookError::TooManyVirtualParticles { count: 256 * 256 * 2 * 256, limit: 1 << 24 }
    );
    assert_eq!(
        error.to_string(),
        "cook option virtual_particles yields 33554432 points; the limit is 16777216"
    );
}
