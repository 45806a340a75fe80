//! XPBD yarns against dense elimination.

use std::sync::Arc;

use poplin_geometry::Rng;
use poplin_layout::Stage;
use poplin_model::{ClothDesc, Fabric, Membrane, PhaseKind, Xpbd, Yarn, YarnPoint};
use poplin_oracle::{YarnStep, solve_yarn};

use super::{STEP, after_stage, assert_near, random_particle, wide};

/// One yarn of up to nine points, about a metre apart, over edges between neighbours of a chain of
/// particles: consecutive points share them.
fn yarn(rng: &mut Rng) -> ClothDesc {
    let count = 2 + rng.index(8);
    let particles: Vec<[f32; 4]> = (0..=count)
        .map(|k| {
            let [x, y, z, w] = random_particle(rng);
            [0.3 * x + 1.2 * k as f32 - 5.0, 0.3 * y, 0.3 * z, w]
        })
        .collect();
    let points: Vec<_> = (0..count as u32)
        .map(|k| YarnPoint {
            particles: [k, k + 1],
            weight: rng.range(0.3, 0.7),
            shares: [rng.range(0.3, 2.0), rng.range(0.3, 2.0)],
            rest_length: rng.range(0.5, 1.5),
        })
        .collect();
    let kind = [PhaseKind::Shearing, PhaseKind::Horizontal, PhaseKind::Vertical][rng.index(3)];
    let fabric = Fabric {
        particle_count: particles.len() as u32,
        yarns: vec![Yarn { kind, point_end: points.len() as u32, breadth: rng.range(0.1, 1.0) }],
        yarn_points: points,
        yarn_set_ends: vec![1],
        ..Fabric::default()
    };
    let mut cloth = ClothDesc::new(Arc::new(fabric), particles);
    cloth.previous_positions = cloth
        .particles
        .iter()
        .map(|p| std::array::from_fn(|k| p.position[k] + rng.range(-0.1, 0.1)))
        .collect();
    let stiffness = [1.0, 1e3, 1e5];
    let membrane = Membrane {
        stretch: [stiffness[rng.index(3)], stiffness[rng.index(3)]],
        shear: stiffness[rng.index(3)],
        shear_damping: [0.0, 0.01][rng.index(2)],
    };
    cloth.config.solver = Xpbd { substeps: 1, membrane: Some(membrane), ..Xpbd::default() }.into();
    cloth
}

#[test]
fn a_yarn_equals_xpbd_of_its_points_by_dense_elimination() {
    let mut rng = Rng::new(74);
    let mut farthest = 0.0f64;
    for round in 0..500 {
        let cloth = yarn(&mut rng);
        let got = after_stage(&cloth, Stage::Yarn);
        let positions: Vec<[f64; 3]> = cloth.particles.iter().map(|p| wide(*p)).collect();
        let (points, of) = (&cloth.fabric.yarn_points, cloth.fabric.yarns[0]);
        let membrane = cloth.config.solver.as_xpbd().unwrap().membrane.unwrap();
        let [warp, weft] = membrane.beside_shear();
        let is_shear = of.kind == PhaseKind::Shearing;
        let stiffness = match of.kind {
            PhaseKind::Vertical => warp,
            PhaseKind::Horizontal => weft,
            _ => 2.0 * f64::from(membrane.shear),
        };
        let lengths = points[..points.len() - 1].iter().map(|p| f64::from(p.rest_length));
        let rest_lengths: Vec<_> = lengths.collect();
        let compliance = |length: &f64| length / (stiffness * f64::from(of.breadth) * STEP * STEP);
        let step = YarnStep {
            previous: cloth.previous_positions.iter().map(|p| p.map(f64::from)).collect(),
            inverse_masses: cloth.particles.iter().map(|p| f64::from(p.inverse_mass)).collect(),
            points: points
                .iter()
                .map(|p| (p.particles.map(|end| end as usize), f64::from(p.weight)))
                .collect(),
            shares: points.iter().map(|p| p.shares.map(f64::from)).collect(),
            compliances: rest_lengths.iter().map(compliance).collect(),
            rest_lengths,
            damping: if is_shear { f64::from(membrane.shear_damping) / STEP } else { 0.0 },
        };
        let expected = solve_yarn(&positions, &step);
        for (i, expected) in expected.into_iter().enumerate() {
            let what = format!("round {round} particle {i}");
            // Positions of up to 6 m; the pivots of stiff yarns amplify their rounding.
            assert_near(&what, got[i], expected, 100.0);
            farthest = farthest.max(super::length(super::minus(expected, positions[i])));
        }
    }
    assert!(farthest > 0.1, "no yarn moved anything far enough to be tested: {farthest}");
}
