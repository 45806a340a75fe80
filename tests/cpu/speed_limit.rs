//! The largest speed holds while the local space of a cloth jumps.

use poplin::cook::{CookOptions, Tethers, cook};
use poplin::model::{ClothDesc, Implicit, Inertia, Mesh, Pose, Solver, Xpbd};
use poplin::{Backend, Simulation};
use poplin_measure::metrics::max_speed;

/// Largest speed [m/s].
const MOST: f32 = 10.0;

/// Sheet of 1 m x 1 m that hangs by its upper row, without gravity.
fn cape(solver: Solver, inertia: f32) -> ClothDesc {
    let options = CookOptions {
        pins: (0..11).collect(),
        tethers: Tethers::None,
        bends: true,
        ..CookOptions::default()
    };
    let mut cloth = cook(&Mesh::grid(11, 11, 1.0, 1.0), &options).unwrap().into_cloth();
    cloth.config.gravity = [0.0; 3];
    cloth.config.max_speed = Some(MOST);
    cloth.config.solver = solver;
    cloth.config.inertia = Inertia {
        linear: [inertia; 3],
        angular: [inertia; 3],
        centrifugal: [inertia; 3],
        ..Inertia::default()
    };
    cloth
}

#[test]
fn a_jump_of_the_local_space_does_not_exceed_the_largest_speed() {
    let half_turn = Pose { translation: [0.0; 3], rotation: [0.0, 1.0, 0.0, 0.0] };
    let jumps = [
        ("50 m", Pose { translation: [50.0, 0.0, 0.0], ..Pose::default() }),
        ("half a turn", half_turn),
        ("both", Pose { translation: [0.0, 20.0, 5.0], ..half_turn }),
    ];
    let dt = 1.0 / 60.0;
    let mut wrong = Vec::new();
    for (jump, pose) in jumps {
        for (inertia, solver) in [
            (1.0, Solver::pbd(300.0)),
            (0.5, Solver::pbd(300.0)),
            (1.0, Solver::pbd(1200.0)),
            (1.0, Xpbd { substeps: 8, ..Xpbd::default() }.into()),
            (1.0, Implicit { substeps: 4, ..Implicit::default() }.into()),
        ] {
            let name = solver.name();
            let mut simulation = Simulation::new(Backend::Cpu).unwrap();
            let id = simulation.add(cape(solver, inertia)).unwrap();
            let mut most = 0.0f32;
            let mut before = simulation.state().unwrap().current(id).to_vec();
            for frame in 0..40 {
                if frame == 20 {
                    simulation.cloth_mut(id).unwrap().set_pose(pose).unwrap();
                }
                simulation.step(dt).unwrap();
                let state = simulation.state().unwrap();
                let now = state.current(id);
                most = most.max(max_speed(&before, now, dt));
                // The velocity that the next iteration keeps.
                let iterations = state.iteration_total(id) as f32 / (frame + 1) as f32;
                most = most.max(max_speed(state.previous(id), now, dt / iterations));
                before = now.to_vec();
            }
            println!("{name}, inertia {inertia}, {jump}: {most} m/s");
            if most > MOST * 1.001 {
                wrong.push(format!("{name}, inertia {inertia}, {jump}: {most} m/s"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
