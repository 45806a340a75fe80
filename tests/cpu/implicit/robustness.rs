//! Violent starts, fast pins, long frames and refused settings.

use std::collections::HashSet;
use std::sync::Arc;

use poplin::model::{BendModel, ClothDesc, Implicit, Particle, StretchModel};
use poplin_geometry::Rng;
use poplin_testkit::implicit::{positions, report, sheet, simulate, simulation, solved};
use poplin_testkit::nth_cloth;

/// Fraction of the triangle edges whose strain exceeds 5 %.
///
/// The second diagonals of cells do not count: in a cell folded over the first diagonal they are
/// short without any strain.
fn strained(cloth: &ClothDesc, positions: &[[f64; 3]]) -> f64 {
    let triangles = &cloth.fabric.triangles;
    let sides = |t: &[u32; 3]| [[t[0], t[1]], [t[1], t[2]], [t[2], t[0]]];
    let sides: HashSet<_> =
        triangles.iter().flat_map(sides).map(|[a, b]| [a.min(b), a.max(b)]).collect();
    let of_edge = |(edge, [a, b]): (usize, [u32; 2])| {
        if !sides.contains(&[a.min(b), a.max(b)]) {
            return None;
        }
        let [a, b] = [a, b].map(|i| positions[i as usize]);
        let length = (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt();
        Some((length / f64::from(cloth.fabric.rest_lengths[edge]) - 1.0).abs())
    };
    let strains: Vec<_> = cloth.fabric.edges().filter_map(of_edge).collect();
    strains.iter().filter(|strain| **strain > 0.05).count() as f64 / strains.len() as f64
}

#[test]
fn violent_starts_are_survived_and_forgotten() {
    let edge = 1.0 / 9.0;
    type Start = fn(&mut ClothDesc, &mut Rng, f32);
    let starts: [(&str, Start); 4] = [
        ("an edge of noise", |cloth, rng, edge| {
            for particle in cloth.particles.iter_mut().filter(|p| p.inverse_mass > 0.0) {
                let noise = rng.point(-edge, edge);
                (0..3).for_each(|k| particle.position[k] += noise[k]);
            }
        }),
        ("all at one point", |cloth, _, _| {
            for particle in cloth.particles.iter_mut().filter(|p| p.inverse_mass > 0.0) {
                particle.position = [0.1, 0.2, 0.3];
            }
        }),
        ("50 m/s", |cloth, rng, _| {
            let mut back = |particle: &Particle| {
                // Four substeps a frame of 1/60 s: 240 steps a second.
                let velocity = rng.point(-50.0, 50.0);
                std::array::from_fn(|k| particle.position[k] - velocity[k] / 240.0)
            };
            cloth.previous_positions = cloth.particles.iter().map(&mut back).collect();
        }),
        ("100 kN/m", |cloth, rng, edge| {
            cloth.config.solver.as_implicit_mut().unwrap().stretch_stiffness = [1e5; 2];
            for particle in cloth.particles.iter_mut().filter(|p| p.inverse_mass > 0.0) {
                let noise = rng.point(-edge, edge);
                (0..3).for_each(|k| particle.position[k] += 0.3 * noise[k]);
            }
        }),
    ];
    let mut rejections = 0;
    for (what, start) in starts {
        for stretch in StretchModel::ALL {
            let max_halvings = if stretch == StretchModel::Trispring { 6 } else { 0 };
            let implicit =
                Implicit { stretch, bending_rigidity: 1e-5, max_halvings, ..Implicit::default() };
            let mut cloth = solved(sheet(10, 10, 1.0, 1.0, vec![0, 9]), implicit);
            cloth.config.damping = [0.3; 3];
            start(&mut cloth, &mut Rng::new(3), edge);
            let state = simulate(cloth.clone(), 180, 1.0 / 60.0);
            let strained = strained(&cloth, &positions(&state));
            eprintln!("{what}, {stretch:?}: {:.1} %, {:?}", 100.0 * strained, report(&state));
            assert_eq!((state.fault_count(nth_cloth(0)), report(&state).held), (0, 0), "{what}");
            rejections += report(&state).rejections;
            assert!(strained < 1e-3, "{what}, {stretch:?}: {strained}");
        }
    }
    assert!(rejections > 0, "steps were taken back");
}

#[test]
fn pins_at_10_m_per_s_are_followed() {
    for stretch in StretchModel::ALL {
        let implicit = Implicit { stretch, bending_rigidity: 1e-5, ..Implicit::default() };
        let mut cloth = solved(sheet(10, 10, 1.0, 1.0, vec![0, 9]), implicit);
        cloth.config.damping = [0.3; 3];
        let pins = [0, 9].map(|i| cloth.particles[i as usize]);
        let mut simulation = simulation(cloth.clone());
        let mut worst = 0.0f64;
        // The pins move for a sixth of a second, then stop.
        for frame in 1..=180 {
            let shift = 10.0 / 60.0 * frame.min(10) as f32;
            let moved = pins.map(|mut pin| {
                pin.position[0] += shift;
                pin
            });
            simulation.cloth_mut(nth_cloth(0)).unwrap().write_particles(&[0, 9], &moved).unwrap();
            simulation.step(1.0 / 60.0).unwrap();
            worst = worst.max(strained(&cloth, &positions(&simulation.state().unwrap())));
        }
        let state = simulation.state().unwrap();
        let strained = strained(&cloth, &positions(&state));
        eprintln!("{stretch:?}: {worst:.3} at worst, {strained:.3}, {:?}", report(&state));
        assert_eq!((state.fault_count(nth_cloth(0)), report(&state).held), (0, 0));
        assert!(positions(&state).iter().flatten().all(|x| x.abs() < 3.0));
        assert!(worst > 0.05 && strained < 1e-3, "{stretch:?}: {worst}, {strained}");
    }
}

#[test]
fn a_frame_of_a_second_is_survived() {
    let implicit = Implicit { substeps: 1, bending_rigidity: 1e-5, ..Implicit::default() };
    let cloth = solved(sheet(16, 16, 1.0, 1.0, vec![0, 15]), implicit);
    let state = simulate(cloth.clone(), 20, 1.0);
    assert!(positions(&state).iter().flatten().all(|x| x.abs() < 10.0));
}

#[test]
fn settings_out_of_range_and_fabrics_without_shapes_are_refused() {
    let cloth = solved(
        sheet(3, 3, 1.0, 1.0, vec![0]),
        Implicit { bending_rigidity: 1e-5, ..Implicit::default() },
    );
    cloth.validate().unwrap();
    type Damage = fn(&mut ClothDesc);
    let damages: [(Damage, &str); 14] = [
        (
            |c| set(c).stretch_stiffness[1] = -1.0,
            "solver.implicit.stretch_stiffness = -1 is outside",
        ),
        (|c| set(c).stretch_stiffness[0] = f32::NAN, "solver.implicit.stretch_stiffness = NaN"),
        (|c| set(c).shear_stiffness = -1.0, "solver.implicit.shear_stiffness = -1 is outside"),
        (
            |c| set(c).poisson_ratio = 0.5,
            "solver.implicit.poisson_ratio = 0.5 is outside -0.9..=0.49",
        ),
        (|c| set(c).bending_rigidity = -1.0, "solver.implicit.bending_rigidity = -1 is outside"),
        (|c| set(c).tolerance = 0.0, "solver.implicit.tolerance = 0 is outside 0.0001..=0.9"),
        (|c| set(c).tolerance = 1.0, "solver.implicit.tolerance = 1 is outside"),
        (|c| set(c).max_iterations = 0, "solver.implicit.max_iterations = 0 is outside 1..=1000"),
        (|c| set(c).max_halvings = 9, "solver.implicit.max_halvings = 9 is outside 0..=8"),
        (|c| set(c).substeps = 0, "solver.implicit.substeps = 0 is outside 1..=20000"),
        (|c| fabric(c).triangle_shapes.clear(), "rest shapes of triangles (triangle_shapes)"),
        (
            |c| fabric(c).bends[3].wings[1].height = 0.0,
            "bend 3 of the fabric has triangles of the rest heights",
        ),
        (
            |c| {
                set(c).bend = BendModel::PlaneProjection;
                fabric(c).bends[2].rest_angle = -1.3;
            },
            "bend 2 of the fabric has -1.3 rad",
        ),
        (
            |c| {
                let count = c.fabric.edge_count();
                fabric(c).edge_stiffness_log2 = vec![-1.0; count];
            },
            "which solver.implicit does not support",
        ),
    ];
    for (damage, text) in damages {
        let mut cloth = cloth.clone();
        damage(&mut cloth);
        let error = cloth.validate().unwrap_err().to_string();
        assert!(error.contains(text), "`{error}` lacks `{text}`");
    }
}

fn set(cloth: &mut ClothDesc) -> &mut Implicit {
    cloth.config.solver.as_implicit_mut().unwrap()
}

fn fabric(cloth: &mut ClothDesc) -> &mut poplin::model::Fabric {
    Arc::make_mut(&mut cloth.fabric)
}
