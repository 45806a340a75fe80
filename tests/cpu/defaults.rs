//! Default solver settings: the rule of [`ClothDesc::choose_solver`], and the stretch of sheets
//! solved by its choice.

use poplin::cook::{CookOptions, Tethers, cook};
use poplin::model::{Chosen, ClothDesc, FiberSolver, Hold, Mesh, PhaseKind, Solver, SolverChoice};
use poplin::{Backend, Simulation};
use poplin_measure::strain::{SignedStrain, StretchEdges};

/// Level square sheet of n x n particles and this width \[m\], with pins at two corners or none.
fn sheet(n: u32, width: f32, is_pinned: bool, tethers: Tethers) -> ClothDesc {
    let pins = if is_pinned { vec![0, n - 1] } else { Vec::new() };
    let options = CookOptions { pins, tethers, ..CookOptions::default() };
    cook(&Mesh::grid(n, n, width, width), &options).unwrap().into_cloth()
}

fn pinned(n: u32, width: f32) -> ClothDesc {
    sheet(n, width, true, Tethers::Geodesic)
}

fn chosen(mut cloth: ClothDesc) -> SolverChoice {
    cloth.choose_solver(Chosen::ALL).unwrap()
}

/// Fiber solver of each kind of phase.
fn fiber_solvers(cloth: &ClothDesc) -> [Option<FiberSolver>; 4] {
    let phases = &cloth.config.solver.as_pbd().unwrap().phases;
    PhaseKind::ALL.map(|kind| phases.kind(kind).fiber_solver)
}

#[test]
fn the_frequency_follows_from_chain_edges_and_gravity() {
    let free = |n, width| sheet(n, width, false, Tethers::Geodesic);
    let loose = |n, width| sheet(n, width, true, Tethers::None);
    let table = [
        (pinned(8, 1.0), 300.0, 8, Hold::Tethers),
        (pinned(64, 1.0), 300.0, 76, Hold::Tethers),
        (pinned(128, 1.0), 480.0, 153, Hold::Tethers),
        (pinned(64, 0.3), 540.0, 76, Hold::Tethers),
        (pinned(64, 3.0), 180.0, 76, Hold::Tethers),
        (loose(64, 1.0), 600.0, 76, Hold::Pins),
        (free(16, 1.0), 420.0, 21, Hold::Nothing),
        (free(64, 1.0), 420.0, 89, Hold::Nothing),
        (free(128, 1.0), 840.0, 180, Hold::Nothing),
    ];
    for (cloth, frequency, edges, held_by) in table {
        let choice = chosen(cloth);
        assert_eq!(
            (choice.frequency, choice.chain_edges(), choice.held_by),
            (frequency, edges, held_by),
            "{choice}"
        );
    }
    // A quarter of the gravity halves the frequency; without gravity the gravity of the earth
    // counts.
    let under = |gravity| {
        let mut cloth = pinned(128, 1.0);
        cloth.config.gravity = [0.0, 0.0, gravity];
        chosen(cloth).frequency
    };
    assert_eq!([-9.81, -9.81 / 4.0, 0.0].map(under), [480.0, 240.0, 480.0]);
}

#[test]
fn an_unpinned_part_counts_by_itself() {
    let mut mesh = Mesh::grid(16, 16, 1.0, 1.0);
    let mut part = Mesh::grid(96, 96, 1.0, 1.0);
    part.positions.iter_mut().for_each(|position| position[1] -= 2.0);
    // The first mesh has 16 x 16 = 256 vertices.
    mesh.quads.extend(part.quads.iter().map(|quad| quad.map(|index| index + 256)));
    mesh.positions.extend(part.positions);
    mesh.uvs.clear();
    let options = CookOptions { pins: vec![0, 15], ..CookOptions::default() };
    let both = chosen(cook(&mesh, &options).unwrap().into_cloth());
    assert_eq!(both.held_by, Hold::Nothing);
    assert_eq!(both.frequency, chosen(sheet(96, 1.0, false, Tethers::Geodesic)).frequency);
}

#[test]
fn explicit_settings_are_kept() {
    let mut cloth = pinned(64, 1.0);
    cloth.config.damping = [0.2; 3];
    let stated = cloth.config.clone();
    assert_eq!(cloth.choose_solver(Chosen::NONE), None);
    assert_eq!(cloth.config, stated);

    let choice = cloth.choose_solver(Chosen { frequency: true, ..Chosen::NONE }).unwrap();
    assert!(!choice.all_semi_implicit);
    assert_eq!(fiber_solvers(&cloth), [None; 4]);
    assert_eq!((cloth.config.stiffness_frequency, cloth.config.damping), (10.0, [0.2; 3]));

    let gauss_seidel = Some(FiberSolver::GaussSeidel);
    cloth.config.solver.as_pbd_mut().unwrap().phases.bending.fiber_solver = gauss_seidel;
    let choice = cloth.choose_solver(Chosen::ALL).unwrap();
    assert!(!choice.all_semi_implicit);
    let whole = Some(FiberSolver::SemiImplicit);
    assert_eq!(fiber_solvers(&cloth), [gauss_seidel, whole, whole, whole]);
    assert_eq!(cloth.config.stiffness_frequency, choice.frequency);
    cloth.validate().unwrap();

    cloth.config.solver = Solver::xpbd(20);
    let stated = cloth.config.clone();
    assert_eq!(cloth.choose_solver(Chosen::ALL), None);
    assert_eq!(cloth.config, stated);
}

#[test]
fn per_edge_stiffness_gets_only_a_frequency() {
    let options = CookOptions {
        pins: vec![0, 63],
        vertex_stiffness: vec![0.5; 64 * 64],
        ..CookOptions::default()
    };
    let mut cloth = cook(&Mesh::grid(64, 64, 1.0, 1.0), &options).unwrap().into_cloth();
    let choice = cloth.choose_solver(Chosen::ALL).unwrap();
    assert_eq!((choice.frequency, choice.all_semi_implicit), (300.0, false));
    assert_eq!(cloth.config.stiffness_frequency, 10.0);
    cloth.validate().unwrap();
}

#[test]
fn the_choice_prints_on_one_line() {
    assert_eq!(
        chosen(pinned(64, 1.0)).to_string(),
        "300 Hz, all fibers semi-implicit: longest chain 76 edges of 15.9 mm, held by tethers"
    );
}

/// 99th percentile of the strains in frames 30 to 60.
fn strain_of_swing(cloth: ClothDesc) -> f32 {
    let edges = StretchEdges::new(&cloth.fabric);
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    let id = simulation.add(cloth).unwrap();
    let mut strains = Vec::new();
    for frame in 1..=60 {
        simulation.step(1.0 / 60.0).unwrap();
        if frame >= 30 {
            let state = simulation.state().unwrap();
            strains.extend(edges.strains(state.current(id)));
        }
    }
    SignedStrain::of(&mut strains).p99
}

#[test]
fn chosen_settings_keep_the_length_of_a_swinging_sheet() {
    let mut cloth = pinned(96, 1.0);
    let by_default = strain_of_swing(cloth.clone());
    assert!(by_default > 0.03, "the default strains by {by_default}: there is nothing to choose");
    cloth.choose_solver(Chosen::ALL).unwrap();
    let by_choice = strain_of_swing(cloth);
    assert!(by_choice < 0.005, "{by_choice}");
}
