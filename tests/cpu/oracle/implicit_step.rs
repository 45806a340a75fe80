//! Steps of the implicit solver against the minimum that the `f64` oracle finds.

use std::sync::Arc;

use poplin_cook::{CookOptions, cook};
use poplin_geometry::Rng;
use poplin_layout::Stage;
use poplin_model::{BendModel, ClothDesc, Implicit, Mesh, Preconditioner, StretchModel};
use poplin_oracle::implicit::{MinimizeOptions, Mixing, Objective, minimize};
use poplin_testkit::implicit::implicit_oracle;

use super::{STEP, after_stage};

/// Sheet with randomly displaced current and previous positions.
fn thrown_sheet(rng: &mut Rng) -> ClothDesc {
    let options = CookOptions { pins: vec![0, 4], bends: true, ..CookOptions::default() };
    let mut cloth = cook(&Mesh::grid(5, 6, 0.4, 0.5), &options).unwrap().into_cloth();
    let noise = |rng: &mut Rng, size: f32| rng.point(-size, size);
    for bend in &mut Arc::make_mut(&mut cloth.fabric).bends {
        bend.rest_angle = rng.range(-0.5, 0.5);
    }
    for particle in &mut cloth.particles {
        let noise = noise(rng, 0.01);
        (0..3).for_each(|k| particle.position[k] += noise[k]);
    }
    cloth.previous_positions = cloth
        .particles
        .iter()
        .map(|particle| {
            let noise = noise(rng, 0.005);
            std::array::from_fn(|k| particle.position[k] + noise[k])
        })
        .collect();
    cloth
}

#[test]
fn an_implicit_step_ends_at_the_minimum_in_f64() {
    let mut rng = Rng::new(21);
    for (seed, preconditioner) in (0..24usize).zip(Preconditioner::ALL.into_iter().cycle()) {
        // Two consecutive seeds use the same models; twelve such pairs cover all of them.
        let seed = seed / 2;
        let mut cloth = thrown_sheet(&mut rng);
        let damping = if seed & 4 == 0 { 0.0 } else { 2e-3 };
        let bend = BendModel::ALL[seed % BendModel::ALL.len()];
        if bend == BendModel::Isometric {
            let fabric = Arc::make_mut(&mut cloth.fabric);
            fabric.bends.iter_mut().for_each(|bend| bend.rest_angle = 0.0);
        }
        let implicit = Implicit {
            substeps: 1,
            stretch: StretchModel::ALL[seed % 3],
            bend,
            compression: 0.5,
            stretch_stiffness: [80.0, 30.0],
            shear_stiffness: 20.0,
            bending_rigidity: 1e-3,
            stretch_damping: damping,
            bending_damping: damping,
            tolerance: 1e-4,
            preconditioner,
            max_iterations: 1000,
            ..Implicit::default()
        };
        cloth.config.solver = implicit.clone().into();
        cloth.validate().unwrap();
        let previous: Vec<_> = cloth.previous_positions.iter().map(|p| p.map(f64::from)).collect();
        let predicted: Vec<[f64; 3]> = cloth
            .particles
            .iter()
            .zip(&previous)
            .map(|(p, old)| std::array::from_fn(|k| f64::from(p.position[k]) - old[k]))
            .collect();
        let oracle = implicit_oracle(&cloth, &implicit);
        let objective = Objective::new(&oracle, &previous, &predicted, STEP, &[]);
        let minimum = minimize(
            &objective,
            &MinimizeOptions {
                tolerance: 1e-13,
                iterations: 20_000,
                first_step: 0.01,
                growth: 4.0,
                divergence: f64::INFINITY,
                interval: 10,
                lags_bends: false,
                mixing: Mixing::PolakRibierePlus,
            },
        );
        let got = after_stage(&cloth, Stage::Implicit);
        let mut moved = 0.0f64;
        for (i, got) in got.iter().enumerate() {
            for k in 0..3 {
                let expected = previous[i][k] + minimum.displacements[i][k];
                let error = (f64::from(got[k]) - expected).abs();
                assert!(error < 1e-6, "seed {seed}, particle {i}: {got:?}, {error:e}");
                moved = moved.max((minimum.displacements[i][k] - predicted[i][k]).abs());
            }
        }
        assert!(moved > 1e-3, "seed {seed}: the cloth moved nothing by more than {moved}");
    }
}
