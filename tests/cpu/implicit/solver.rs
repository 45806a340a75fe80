//! Iterations, preconditioners and step control, on both backends.

use poplin::gpu::EngineOptions;
use poplin::model::{BendModel, ClothDesc, Implicit, Preconditioner, StretchModel};
use poplin::{Engine as _, State};
use poplin_testkit::adapter::devices;
use poplin_testkit::implicit::{
    hung, hung_settings, positions, report, sheet, simulate, solved, thrown,
};
use poplin_testkit::nth_cloth;
use poplin_testkit::skip::part;

#[test]
fn strips_and_beams_of_all_models_end_alike_on_both_backends() {
    let cloths: Vec<ClothDesc> = part(0..12, 5)
        .into_iter()
        .map(|k| {
            let mut cloth = sheet(3, 7, 0.2, 0.6, vec![0, 1, 2, 3, 4, 5]);
            cloth.config.damping = [0.3; 3];
            let damping = if k % 2 == 0 { 0.0 } else { 1e-3 };
            let implicit = Implicit {
                substeps: 2,
                stretch: StretchModel::ALL[k % 3],
                bend: BendModel::ALL[k % BendModel::ALL.len()],
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
    // Only adapters that round like the CPU twin; its own tests cover the others.
    for (mut gpu, rounding) in devices(&EngineOptions::default()).take(1) {
        let ids: Vec<_> = cloths.iter().map(|cloth| gpu.add(cloth.clone()).unwrap()).collect();
        (0..30).for_each(|_| gpu.step(1.0 / 60.0).unwrap());
        let state = gpu.state().unwrap();
        for (k, (cloth, id)) in cloths.iter().zip(ids).enumerate() {
            let expected = simulate(cloth.clone(), 30, 1.0 / 60.0);
            let (own, cpu) = (state.current(id), expected.current(nth_cloth(0)));
            assert!(own[20].position[1] < -0.01, "{k}: it hangs by {:?}", own[20]);
            rounding.agree_on_average(&format!("cloth {k}"), own, cpu, 1e-3).unwrap();
        }
    }
}

#[test]
fn fiber_preconditioning_saves_iterations_if_shear_is_soft() {
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

/// Sheet of 16 x 16 particles that swings from two corners for a second, one step a frame.
fn swing(implicit: Implicit) -> State {
    let implicit = Implicit { substeps: 1, bending_rigidity: 1e-5, ..implicit };
    simulate(solved(sheet(16, 16, 1.0, 1.0, vec![0, 15]), implicit), 60, 1.0 / 60.0)
}

#[test]
fn unsolved_steps_are_halved() {
    let few = Implicit { max_iterations: 32, ..Implicit::default() };
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
fn a_step_in_parts_moves_like_as_many_shorter_steps() {
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
fn steps_that_end_at_rounding_are_counted() {
    // 0.2 kg/m^2 in segments of 25 mm: rounding leaves 2 K / sigma / L times 2.4e-7.
    let floored = |stiffness: f32, tolerance: f32| {
        let stretch_stiffness = [stiffness; 2];
        let settings = hung_settings(StretchModel::StretchShear, 4);
        let found = report(&hung(Implicit { stretch_stiffness, tolerance, ..settings }, 5, 0.1));
        assert_eq!((found.steps, found.unconverged), (720, 0), "{found:?}");
        f64::from(found.floored) / f64::from(found.steps)
    };
    // 29 m/s^2 of 0.98 m/s^2, 0.19 of 0.98, 0.19 of 0.01.
    let shares = [(3e5, 0.1), (2e3, 0.1), (2e3, 0.001)].map(|(k, tolerance)| floored(k, tolerance));
    eprintln!("{shares:?}");
    assert!(shares[0] > 0.9 && shares[1] == 0.0 && shares[2] > 0.9, "{shares:?}");
}

#[test]
fn every_step_terminates() {
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
