//! Collision and friction of virtual particles, and their distribution to the corners.

use std::sync::Arc;

use poplin_geometry::Rng;
use poplin_layout::{Stage, StageMask};
use poplin_measure::shape_arrays::ShapeArrays;
use poplin_model::{ClothDesc, VirtualParticle};
use poplin_oracle::{coulomb, keep_outside, weigh_pushed};

use super::{
    FACTOR, Judged, Vec3, after, after_stage, assert_near, cloud, distance, length, minus, plus,
    random_particle, random_sphere, shape_scale, spheres_of, wide, with_spheres,
};

/// Cloth of one triangle with one virtual particle.
fn with_virtual(corners: [[f32; 4]; 3], weights: [f32; 3]) -> ClothDesc {
    let mut cloth = cloud(corners.to_vec());
    Arc::make_mut(&mut cloth.fabric).triangles = vec![[0, 1, 2]];
    Arc::make_mut(&mut cloth.fabric).virtual_particles =
        vec![VirtualParticle { corners: [0, 1, 2], weights }];
    cloth
}

fn blend(points: [Vec3; 3], weights: [f32; 3]) -> Vec3 {
    std::array::from_fn(|k| (0..3).map(|c| points[c][k] * f64::from(weights[c])).sum())
}

#[test]
fn corners_move_a_pushed_virtual_particle_onto_the_surface() {
    let mut rng = Rng::new(167);
    let mut judged = Judged::default();
    for round in 0..400 {
        let mut corners = [(); 3].map(|()| random_particle(&mut rng));
        corners.iter_mut().for_each(|corner| corner[3] = corner[3].max(0.1));
        let (b, c) = (rng.range(0.05, 0.5), rng.range(0.05, 0.45));
        let weights = [1.0 - b - c, b, c];
        let pin = rng.index(6);
        if pin < 3 {
            corners[pin][3] = 0.0;
        }
        let mut cloth = with_virtual(corners, weights);
        let sphere = random_sphere(&mut rng, 1.2);
        let shapes = ShapeArrays { spheres: vec![sphere], ..Default::default() };
        cloth.colliders = shapes.to_set().unwrap();
        cloth.config.contact.mass_scale = rng.range(0.0, 50.0);
        let got = after_stage(&cloth, Stage::VirtualParticles);
        let old = corners.map(wide);
        let x = blend(old, weights);
        let expected = keep_outside(x, wide(sphere), sphere[3].into());
        let push = minus(expected, x);
        let is_pushed = push != [0.0; 3];
        if !judged.takes((distance(x, wide(sphere)) - f64::from(sphere[3])).abs()) {
            continue;
        }
        judged.note_push(is_pushed);
        // A push d of the virtual particle moves corner k by d w_k / sum(w^2).
        let square: f64 = weights.iter().map(|&w| f64::from(w) * f64::from(w)).sum();
        let scale = shape_scale(x, &spheres_of(&[sphere]), &[]) / square.sqrt();
        for k in 0..3 {
            let fraction = if corners[k][3] > 0.0 { f64::from(weights[k]) / square } else { 0.0 };
            let position: Vec3 = std::array::from_fn(|axis| old[k][axis] + push[axis] * fraction);
            assert_near(&format!("round {round} corner {k}"), got[k], position, scale);
            // The inverse mass of a corner changes like that of a particle which receives this
            // fraction of the push.
            let heavy = weigh_pushed(1.0, cloth.config.contact.mass_scale.into(), push);
            let w = f64::from(corners[k][3]) * (1.0 + f64::from(weights[k]) * (heavy - 1.0));
            let allowed =
                FACTOR * f64::from(f32::EPSILON) * f64::from(corners[k][3]) * scale * 50.0;
            assert!(
                (f64::from(got[k][3]) - w).abs() <= allowed,
                "round {round} corner {k}: {} against {w}",
                got[k][3]
            );
        }
        if pin >= 3 {
            let landed = blend([got[0], got[1], got[2]].map(wide), weights);
            assert!(
                distance(landed, expected) < FACTOR * f64::from(f32::EPSILON) * scale,
                "round {round}: {landed:?} {expected:?}"
            );
        }
    }
    judged.assert_most("virtual particles", 0.1);
}

#[test]
fn friction_of_a_virtual_particle_moves_its_corners() {
    let mut rng = Rng::new(173);
    for round in 0..100 {
        let corners = [[-0.3, 0.0, -0.2, 1.0], [0.4, 0.0, -0.1, 2.0], [0.0, 0.0, 0.5, 3.0]];
        let weights = [0.3, 0.3, 0.4];
        let mut cloth = with_virtual(corners, weights);
        let sphere = [0.02, -0.25, 0.04, 0.3];
        let target = [0.03, -0.25, 0.04, 0.3];
        let shapes = ShapeArrays { spheres: vec![sphere], ..Default::default() };
        cloth.colliders = shapes.to_set().unwrap();
        cloth.config.contact.friction = rng.range(0.0, 1.0);
        cloth.previous_positions =
            corners.map(|p| std::array::from_fn(|k| p[k] + rng.range(-0.1, 0.1))).to_vec();
        let got = after(&cloth, StageMask::only(Stage::VirtualParticles), 1, |host| {
            with_spheres(&shapes, &[target]).reach(host.colliders_mut()).unwrap()
        });
        let old: [Vec3; 3] = std::array::from_fn(|k| cloth.previous_positions[k].map(f64::from));
        let x = blend(corners.map(wide), weights);
        let push = minus(keep_outside(x, wide(target), 0.3f32.into()), x);
        assert!(length(push) > 0.01);
        let sphere_way = minus(wide(target), wide(sphere));
        let slide = coulomb(
            minus(x, blend(old, weights)),
            sphere_way,
            &[(push, 1.0)],
            cloth.config.contact.friction.into(),
        );
        let now = blend([got.previous[0], got.previous[1], got.previous[2]].map(wide), weights);
        let expected = plus(blend(old, weights), slide);
        assert!(distance(now, expected) < 2e-6, "round {round}: {now:?} against {expected:?}");
    }
}

#[test]
fn pinned_corners_of_a_virtual_particle_keep_both_positions() {
    let corners = [[-0.3, 0.0, -0.2, 0.0], [0.4, 0.0, -0.1, 2.0], [0.0, 0.0, 0.5, 3.0]];
    let mut cloth = with_virtual(corners, [0.3, 0.3, 0.4]);
    let shapes = ShapeArrays { spheres: vec![[0.02, -0.25, 0.04, 0.3]], ..Default::default() };
    cloth.colliders = shapes.to_set().unwrap();
    cloth.config.contact.friction = 0.8;
    cloth.previous_positions = corners.map(|p| [p[0] - 0.1, p[1], p[2]]).to_vec();
    let got = after(&cloth, StageMask::only(Stage::VirtualParticles), 1, |_| ());
    assert_ne!(got.current[1], corners[1], "the particle must be touched");
    assert_eq!(got.current[0], corners[0]);
    // The push goes to dynamic corners only, and so does the friction on previous positions.
    assert_eq!(
        &got.previous[0][..3],
        &cloth.previous_positions[0],
        "friction moved the previous position of a pin"
    );
}
