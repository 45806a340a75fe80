//! The implicit solver against analytic results: stiffnesses in N/m and N m mean the same at any step and mesh.
//!
//! Nearly all on the CPU backend; `mirror.rs` holds the GPU to the same bits, and the solver in `f64` is tested in
//! `crates/poplin-reference/tests/implicit_oracle`.

use std::collections::HashSet;
use std::sync::Arc;

use poplin::gpu::EngineOptions;
use poplin::model::{
    BendModel, Cloth, Frame, Implicit, ImplicitReport, Particle, Preconditioner, StretchModel,
};
use poplin::{Engine as _, State};
use poplin_testkit::adapter::devices;
use poplin_testkit::beams::{G, GREENHILL, strip_on_end};
use poplin_testkit::implicit::{
    Measured, beam, bow, cantilever, elongation, energies, energy_kept, hung_settings,
    implicit_oracle, positions, report, shear_force, sheared_springs, sheet, simulate, simulation,
    solved, spin_left, swing_error, thrown, width_ratio,
};
use poplin_testkit::nth_cloth;
use poplin_testkit::rng::Rng;

// ---- stretch ----

#[test]
fn a_strip_hangs_as_long_as_its_stiffness_says_at_any_step() {
    // w L^2 / 2 K of threads and springs; a trispring stiffens as it is pulled.
    for (stretch, expected) in [
        (StretchModel::StretchShear, 9.810e-3),
        (StretchModel::Trispring, 9.625e-3),
        (StretchModel::Springs, 9.810e-3),
    ] {
        for substeps in [1, 4] {
            let Measured { value: found, report } = elongation(hung_settings(stretch, substeps));
            assert_eq!(report.unconverged, 0, "{report:?}");
            eprintln!("{stretch:?}, {substeps} steps: {found:.6} of {expected}");
            assert!((found / expected - 1.0).abs() < 2e-3, "{stretch:?}: {found} of {expected}");
        }
    }
}

#[test]
fn a_sheared_square_pulls_as_its_stiffness_says() {
    // G gamma and what its threads are drawn out by; K / (2 (1 + nu)) gamma and the same of a St. Venant-Kirchhoff membrane; diagonals
    // of springs that rotate and lengthen (by hand, `sheared_springs`).
    for (stretch, expected) in [
        (StretchModel::StretchShear, 30.496),
        (StretchModel::Trispring, 39.011),
        (StretchModel::Springs, sheared_springs(0.1)),
    ] {
        let force = shear_force(Implicit { stretch, ..Implicit::default() });
        eprintln!("{stretch:?}: {force:.3} N of {expected}");
        assert!((force / expected - 1.0).abs() < 1e-3, "{stretch:?}: {force} of {expected}");
    }
}

#[test]
fn a_trispring_narrows_by_its_poisson_ratio() {
    let width = |poisson_ratio| {
        let settings = hung_settings(StretchModel::Trispring, 1);
        width_ratio(Implicit { poisson_ratio, ..settings }).value
    };
    // w L / 2 K of strain at half height, times the ratio.
    let widths = [0.0, 0.3].map(width);
    eprintln!("{widths:?}");
    assert!((widths[0] - 1.0).abs() < 1e-4 && (widths[1] - 0.9971).abs() < 3e-4, "{widths:?}");
}

// ---- bending ----

#[test]
fn a_heavy_cantilever_drops_alike_at_any_step_and_mesh() {
    let (load, expected) = (10.0, 0.70020);
    let (face, plane) = (BendModel::FaceAngle, BendModel::PlaneProjection);
    for (bend, segments, substeps) in [
        (face, 10, 1),
        (face, 10, 16),
        (face, 20, 4),
        (face, 40, 4),
        (face, 80, 8),
        (plane, 10, 4),
        (plane, 20, 1),
        (plane, 40, 4),
        (BendModel::Isometric, 10, 16),
        (BendModel::Isometric, 20, 4),
        (BendModel::Isometric, 40, 1),
    ] {
        let error = cantilever(segments, beam(load, substeps, bend), 100).value / expected - 1.0;
        let name = bend.name();
        eprintln!("{name}, {segments} segments, {substeps} steps: {:+.2} %", 100.0 * error);
        assert!(error.abs() < 0.02, "{name}, {segments}, {substeps}: {error}");
    }
}

/// How far the end of a strip of 1 m and so many rows hangs down that is held level by its first two, `w L^3 / B = 10`.
fn strip_drop(rows: u32, bend: BendModel) -> f64 {
    let edge = 1.0 / (f64::from(rows) - 1.5);
    let (columns, length) = (rows / 5 + 1, edge * f64::from(rows - 1));
    let mut cloth = sheet(columns, rows, 0.2, length as f32, (0..2 * columns).collect());
    cloth.config.damping = [0.5; 3];
    let implicit = Implicit { tolerance: 0.01, ..beam(10.0, 4, bend) };
    let state = simulate(solved(cloth, implicit), 120, 1.0 / 60.0);
    -positions(&state).last().unwrap()[1]
}

#[test]
fn springs_across_two_edges_are_no_bending_rigidity() {
    let drops = |bend| [11, 21].map(|rows| strip_drop(rows, bend));
    let (angles, springs) = (drops(BendModel::FaceAngle), drops(BendModel::Springs));
    eprintln!("11 and 21 rows: angles {angles:.3?}, springs {springs:.3?}");
    assert!((angles[1] / angles[0] - 1.0).abs() < 0.02, "{angles:?}");
    // What folds by less than half a radian an edge is softer, and a finer mesh folds by less.
    assert!(springs[0] > 1.1 * angles[0] && springs[1] > 1.05 * springs[0], "{springs:?}");
}

#[test]
fn a_strip_on_end_buckles_under_the_load_of_theory_at_any_step() {
    for (segments, substeps, bend) in [
        (20, 1, BendModel::FaceAngle),
        (20, 4, BendModel::PlaneProjection),
        (40, 4, BendModel::FaceAngle),
    ] {
        let [holds, falls] = [0.95, 1.05].map(|part| {
            let beam = beam(part * GREENHILL, substeps, bend);
            bow(strip_on_end(segments), segments, beam.into(), 360).value
        });
        eprintln!("{}, {segments} segments, {substeps} steps: {holds:.3}, {falls:.1}", bend.name());
        // Near its load it leans by what the tolerance leaves: 0.003 of its weight sideways alone are 6 cm at 0.95.
        assert!(holds < 6.0 && falls > 5.0 * holds, "{segments}, {substeps}: {holds}, {falls}");
    }
}

#[test]
fn eighty_segments_at_one_step_a_frame_drop_alike_once_steps_are_halved() {
    let drop_error = |max_halvings, max_iterations, frames| {
        let settings = beam(10.0, 1, BendModel::FaceAngle);
        let found = cantilever(80, Implicit { max_halvings, max_iterations, ..settings }, frames);
        eprintln!("{max_halvings}: {found:?}");
        100.0 * (found.value / 0.70020 - 1.0)
    };
    let (whole, halved) = (drop_error(0, 1000, 100), drop_error(6, 400, 100));
    assert!(whole > 2.0 && halved.abs() < 2.0, "{whole}, {halved}");
}

// ---- on the GPU ----

#[test]
fn strips_and_beams_of_all_models_end_alike_on_both_backends() {
    let cloths: Vec<Cloth> = (0..12)
        .map(|k| {
            let mut cloth = sheet(3, 7, 0.2, 0.6, vec![0, 1, 2, 3, 4, 5]);
            cloth.config.damping = [0.3; 3];
            let damping = if k % 2 == 0 { 0.0 } else { 1e-3 };
            let implicit = Implicit {
                substeps: 2,
                stretch: StretchModel::ALL[k % 3],
                bend: BendModel::ALL[k % 4],
                bending_rigidity: 1e-2,
                stretch_damping: damping,
                bending_damping: damping,
                preconditioner: Preconditioner::ALL[k / 6],
                max_iterations: 24,
                max_halvings: (k % 3) as u32,
                ..Implicit::default()
            };
            solved(cloth, implicit)
        })
        .collect();
    // As the mirror rounds: its tests have both.
    for (mut gpu, rounding) in devices(&EngineOptions::default()).take(1) {
        let ids: Vec<_> = cloths.iter().map(|cloth| gpu.add(cloth.clone()).unwrap()).collect();
        (0..30).for_each(|_| gpu.step(&Frame::default()).unwrap());
        let state = gpu.state().unwrap();
        for (k, (cloth, id)) in cloths.iter().zip(ids).enumerate() {
            let expected = simulate(cloth.clone(), 30, 1.0 / 60.0);
            let (own, cpu) = (state.current(id), expected.current(nth_cloth(0)));
            assert!(own[20].position[1] < -0.01, "{k}: it hangs by {:?}", own[20]);
            rounding.agree_on_average(&format!("cloth {k}"), own, cpu, 1e-3).unwrap();
        }
    }
}

// ---- preconditioning ----

#[test]
fn fibers_take_a_fraction_of_the_iterations_where_shear_is_soft() {
    let swung = |preconditioner, shear_stiffness| {
        let implicit = Implicit {
            stretch_stiffness: [4000.0; 2],
            shear_stiffness,
            preconditioner,
            max_iterations: 1000,
            ..Implicit::default()
        };
        let mut cloth = solved(sheet(24, 24, 1.0, 1.0, vec![0, 23]), implicit);
        cloth.config.damping = [0.3; 3];
        report(&simulate(cloth, 20, 1.0 / 60.0))
    };
    for (shear_stiffness, most) in [(1200.0, 0.6), (120.0, 0.3)] {
        let [mass, fibers] = Preconditioner::ALL.map(|kind| swung(kind, shear_stiffness));
        assert_eq!((mass.unconverged, fibers.unconverged), (0, 0), "{mass:?}, {fibers:?}");
        let fraction = f64::from(fibers.iterations) / f64::from(mass.iterations);
        eprintln!("{shear_stiffness} N/m: {fraction:.2}, {mass:?}, {fibers:?}");
        assert!(fraction < most, "{shear_stiffness} N/m: {fraction}");
    }
}

// ---- momentum and energy ----

/// Sum of mass times displacement of the last step, and the same of its length.
fn momentum(state: &State) -> ([f64; 3], f64) {
    let pairs = state.current(nth_cloth(0)).iter().zip(state.previous(nth_cloth(0)));
    let (mut sum, mut size) = ([0.0; 3], 0.0);
    for (now, before) in pairs {
        let mass = 1.0 / f64::from(now.inverse_mass);
        let both = now.position.into_iter().zip(before.position);
        for (sum, (now, before)) in sum.iter_mut().zip(both) {
            let moved = f64::from(now) - f64::from(before);
            *sum += mass * moved;
            size += mass * moved.abs();
        }
    }
    (sum, size)
}

#[test]
fn a_free_sheet_keeps_its_momentum_however_few_iterations_it_has() {
    for max_iterations in [1, 5, 96] {
        for stretch in StretchModel::ALL {
            let implicit = Implicit {
                stretch,
                bending_rigidity: 1e-4,
                stretch_damping: 1e-3,
                bending_damping: 1e-3,
                max_iterations,
                ..Implicit::default()
            };
            let cloth = thrown(1.0, implicit);
            let (start, size) = momentum(&simulate(cloth.clone(), 0, 1.0 / 60.0));
            let (end, _) = momentum(&simulate(cloth, 60, 1.0 / 60.0));
            let lost = (0..3).map(|k| (end[k] - start[k]).abs()).fold(0.0, f64::max);
            eprintln!("{stretch:?}, {max_iterations}: {lost:e} of {size:e}");
            // Positions of half a metre round by 3e-8 m a step of some 4 mm, 240 of them at random.
            assert!(lost < 1e-4 * size, "{stretch:?}, {max_iterations}: {lost} of {size}");
        }
    }
}

#[test]
fn a_sheet_in_free_fall_needs_no_iteration() {
    let cloth = solved(sheet(8, 8, 0.5, 0.5, Vec::new()), Implicit::default());
    let state = simulate(cloth, 30, 1.0 / 60.0);
    assert_eq!(report(&state), ImplicitReport { steps: 120, ..ImplicitReport::default() });
    let fallen = -positions(&state)[0][1];
    // Symplectic steps of 1/240 s: g n (n + 1) h^2 / 2.
    assert!((fallen / (G * 120.0 * 121.0 / 240.0f64.powi(2) / 2.0) - 1.0).abs() < 1e-4, "{fallen}");
}

#[test]
fn a_spinning_sheet_slows_down_as_backward_euler_says() {
    let (omega, h) = (std::f64::consts::TAU, 1.0 / 240.0);
    let implicit =
        Implicit { substeps: 4, tolerance: 0.001, max_iterations: 400, ..Implicit::default() };
    let left = spin_left(implicit).value;
    let expected = (1.0 + 2.0 * omega * omega * h).powf(-0.5);
    eprintln!("{left} of {expected}");
    assert!((left / expected - 1.0).abs() < 0.01, "{left} of {expected}");
}

#[test]
fn a_stiff_mode_keeps_as_much_energy_as_backward_euler_leaves() {
    for (reach, expected) in [(0.5, 0.8), (1.0, 0.5), (2.0, 0.2)] {
        let kept = energy_kept(reach);
        eprintln!("omega h {reach}: {kept:.3} of {expected}");
        assert!((kept / expected - 1.0).abs() < 0.03, "{reach}: {kept} of {expected}");
    }
}

#[test]
fn the_error_of_a_swing_halves_with_the_step() {
    let errors = [50, 100, 200].map(swing_error);
    let ratios = [errors[0] / errors[1], errors[1] / errors[2]];
    eprintln!("errors {errors:.5?}, ratios {ratios:.3?}");
    assert!(ratios.iter().all(|ratio| (ratio - 2.0).abs() < 0.1), "{errors:?}");
}

/// Total energy of a thrown sheet frame by frame \[J\], and by how much it rises at most from one to the next.
fn thrown_energies(implicit: Implicit) -> (Vec<f64>, f64) {
    let h = 1.0 / 60.0 / f64::from(implicit.substeps);
    let cloth = thrown(1.0, implicit.clone());
    let oracle = implicit_oracle(&cloth, &implicit);
    let mut simulation = simulation(cloth);
    let mut total = || {
        let state = simulation.state().unwrap();
        simulation.step(&Frame::default()).unwrap();
        energies(&oracle, &state, h).iter().sum::<f64>()
    };
    let found: Vec<_> = (0..30).map(|_| total()).collect();
    let rise = found.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::MIN, f64::max);
    (found, rise)
}

#[test]
fn the_energy_of_a_free_sheet_never_rises() {
    let settings = Implicit {
        bending_rigidity: 1e-4,
        tolerance: 1e-3,
        max_iterations: 1000,
        ..Implicit::default()
    };
    // Every model at both steps, every pair of models at one.
    for k in 0..12 {
        let (stretch, bend, substeps) =
            (StretchModel::ALL[k % 3], BendModel::ALL[k % 4], [1, 4][k / 4 % 2]);
        let implicit = Implicit { substeps, stretch, bend, ..settings.clone() };
        let (found, rise) = thrown_energies(implicit);
        let what = format!("{}, {}, {substeps} steps", stretch.name(), bend.name());
        eprintln!("{what}: {:.3e} to {:.3e} J, by {rise:e} at most", found[0], found[29]);
        assert!(rise < 0.0 && found[29] > 0.02 * found[0], "{what}: {found:?}");
    }
    // See it fail: steps that are taken long before they are solved.
    let (found, rise) = thrown_energies(Implicit { substeps: 1, max_iterations: 3, ..settings });
    eprintln!("3 iterations: {:.3e} to {:.3e} J, by {rise:e} at most", found[0], found[29]);
    assert!(rise > 0.0, "{found:?}");
}

// ---- step control ----

/// A sheet of 16 x 16 that swings on two corners for a second, a step a frame.
fn swing(implicit: Implicit) -> State {
    let implicit = Implicit { substeps: 1, bending_rigidity: 1e-5, ..implicit };
    simulate(solved(sheet(16, 16, 1.0, 1.0, vec![0, 15]), implicit), 60, 1.0 / 60.0)
}

#[test]
fn steps_that_are_not_solved_are_made_in_halves() {
    let few = Implicit { max_iterations: 24, ..Implicit::default() };
    for preconditioner in Preconditioner::ALL {
        let fixed = report(&swing(Implicit { preconditioner, ..few.clone() }));
        let halved = report(&swing(Implicit { preconditioner, max_halvings: 6, ..few.clone() }));
        eprintln!("{preconditioner:?}: {fixed:?}, {halved:?}");
        assert!(fixed.unconverged > 30 && fixed.rejections == 0, "{fixed:?}");
        assert_eq!((halved.unconverged, halved.held), (0, 0), "{halved:?}");
        assert!(halved.halvings > 0 && halved.steps > 2 * fixed.steps, "{halved:?}");
    }
}

#[test]
fn a_step_in_parts_moves_cloth_as_shorter_steps_do() {
    let settings = Implicit { max_iterations: 24, tolerance: 0.01, ..Implicit::default() };
    let cut = swing(Implicit { max_halvings: 3, ..settings.clone() });
    let parts = f64::from(report(&cut).steps) / 60.0;
    let of = |substeps| {
        let implicit = Implicit { substeps, max_iterations: 400, ..settings.clone() };
        let cloth = sheet(16, 16, 1.0, 1.0, vec![0, 15]);
        let implicit = Implicit { bending_rigidity: 1e-5, ..implicit };
        simulate(solved(cloth, implicit), 60, 1.0 / 60.0)
    };
    let distance = |state: &State| {
        let pairs = positions(state).into_iter().zip(positions(&cut));
        pairs.map(|(a, b)| (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt()).sum::<f64>()
            / 256.0
    };
    let distances = [1, 4, 8, 16].map(|substeps| distance(&of(substeps)));
    eprintln!("{parts} parts, {:?}: {distances:?}", report(&cut));
    assert!((parts - 8.0).abs() < 0.5, "{parts}");
    for k in [0, 1, 3] {
        assert!(distances[2] < 0.1 * distances[k], "{distances:?}");
    }
}

#[test]
fn a_step_ends_however_hard_it_is() {
    for preconditioner in Preconditioner::ALL {
        let implicit = Implicit {
            substeps: 1,
            stretch_stiffness: [1e6; 2],
            max_iterations: 1,
            max_halvings: 8,
            preconditioner,
            ..Implicit::default()
        };
        let state = simulate(thrown(1.0, implicit), 10, 1.0 / 60.0);
        let report = report(&state);
        eprintln!("{report:?}");
        assert_eq!(state.fault_count(nth_cloth(0)), 0);
        assert!(report.steps == 2560 && report.unconverged > 0, "{report:?}");
    }
}

// ---- violent starts ----

/// Fraction of the edges of triangles that are beyond a strain of 5 %.
///
/// Not of the other diagonals: where a cell lies folded over along its own, they are as short as can be, and nothing is strained.
fn strained(cloth: &Cloth, positions: &[[f64; 3]]) -> f64 {
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
    type Start = fn(&mut Cloth, &mut Rng, f32);
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
fn pins_that_dash_off_at_10_m_per_s_are_followed() {
    for stretch in StretchModel::ALL {
        let implicit = Implicit { stretch, bending_rigidity: 1e-5, ..Implicit::default() };
        let mut cloth = solved(sheet(10, 10, 1.0, 1.0, vec![0, 9]), implicit);
        cloth.config.damping = [0.3; 3];
        let pins = [0, 9].map(|i| cloth.particles[i as usize]);
        let mut simulation = simulation(cloth.clone());
        let mut worst = 0.0f64;
        // A sixth of a second, then they stop.
        for frame in 1..=180 {
            let shift = 10.0 / 60.0 * frame.min(10) as f32;
            let moved = pins.map(|mut pin| {
                pin.position[0] += shift;
                pin
            });
            simulation.cloth_mut(nth_cloth(0)).unwrap().write_particles(&[0, 9], &moved).unwrap();
            simulation.step(&Frame::default()).unwrap();
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

// ---- refusals ----

#[test]
fn settings_out_of_range_and_fabrics_without_shapes_are_refused() {
    let cloth = solved(
        sheet(3, 3, 1.0, 1.0, vec![0]),
        Implicit { bending_rigidity: 1e-5, ..Implicit::default() },
    );
    cloth.validate().unwrap();
    type Damage = fn(&mut Cloth);
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

fn set(cloth: &mut Cloth) -> &mut Implicit {
    cloth.config.solver.as_implicit_mut().unwrap()
}

fn fabric(cloth: &mut Cloth) -> &mut poplin::model::Fabric {
    Arc::make_mut(&mut cloth.fabric)
}
