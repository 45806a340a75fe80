//! The implicit solver against analytic results: stiffnesses in N/m and N m mean the same at any step and mesh.
//!
//! All on the CPU backend; `mirror.rs` holds the GPU to the same bits, and the solver in `f64` is tested in
//! `crates/poplin-reference/tests/implicit_oracle`.

use poplin::cook::{CookOptions, Tethers, cook};
use poplin::model::{Cloth, Frame, Implicit, Mesh, StretchModel};
use poplin::{Backend, Simulation, State};
use poplin_testkit::nth_cloth;

/// Mass per area [kg/m^2].
const SIGMA: f64 = 0.2;

/// A grid in the plane of x and z, cooked for the implicit solver.
fn sheet(columns: u32, rows: u32, width: f32, depth: f32, pins: Vec<u32>) -> Cloth {
    let options = CookOptions {
        density: SIGMA as f32,
        pins,
        tethers: Tethers::None,
        bending: false,
        bends: true,
        ..CookOptions::default()
    };
    cook(&Mesh::grid(columns, rows, width, depth), &options).unwrap().into_cloth()
}

fn solved(mut cloth: Cloth, implicit: Implicit) -> Cloth {
    cloth.config.solver = implicit.into();
    cloth
}

/// Particles after some frames.
fn simulate(cloth: Cloth, frames: u32, dt: f32) -> State {
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    simulation.add(cloth).unwrap();
    for _ in 0..frames {
        simulation.step(&Frame { dt }).unwrap();
    }
    simulation.state().unwrap()
}
#[test]
fn a_strip_hangs_as_long_as_its_stiffness_says_at_any_step() {
    // w L^2 / 2 K of threads; a trispring stiffens as it is pulled.
    for (stretch, expected) in
        [(StretchModel::StretchShear, 9.810e-3), (StretchModel::Trispring, 9.625e-3)]
    {
        for substeps in [1, 4] {
            let mut cloth = sheet(5, 41, 0.1, 1.0, (0..5).collect());
            // Hung up: z becomes down.
            for particle in &mut cloth.particles {
                let [x, y, z] = particle.position;
                particle.position = [x, -z, y];
            }
            cloth.config.damping = [0.6; 3];
            let implicit = Implicit {
                substeps,
                stretch,
                stretch_stiffness: [100.0; 2],
                shear_stiffness: 0.0,
                poisson_ratio: 0.0,
                tolerance: 0.01,
                max_iterations: 400,
                ..Implicit::default()
            };
            let [before, state] = [0, 180].map(|frames| {
                let cloth = solved(cloth.clone(), implicit.clone());
                simulate(cloth, frames, 1.0 / 60.0)
            });
            let [before, after] = [&before, &state].map(|state| {
                let rows = state.current(nth_cloth(0)).iter();
                rows.map(|particle| particle.position[1]).fold(f32::MAX, f32::min)
            });
            let found = f64::from(before - after);
            assert!((found / expected - 1.0).abs() < 2e-3, "{stretch:?}: {found} of {expected}");
            let report = state.implicit_report(nth_cloth(0));
            assert_eq!((report.steps, report.unconverged), (180 * substeps, 0), "{stretch:?}");
        }
    }
}
