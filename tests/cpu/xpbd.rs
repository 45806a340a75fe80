//! XPBD against analytic results: what it does is given by compliances and rigidities, not by steps and meshes.
//!
//! All on the CPU backend; `mirror.rs` holds the GPU to the same bits. `cargo xtask tables` writes the rows of
//! the guide.

use poplin_testkit::beams::{
    G, GREENHILL, SIGMA, bowed, damping, edge_on_end, sheet_on_end, strip, strip_on_end,
};
use poplin_testkit::nth_cloth;
use std::sync::Arc;

use poplin::cook::{CookOptions, Tethers, cook};
use poplin::model::{
    Bend, Cloth, ClothConfig, Fabric, FiberSolver, Frame, Material, Mesh, ModelError, Particle,
    Phase, PhaseKind, Phases, Solver, Xpbd, XpbdPhase,
};
use poplin::{Backend, Simulation, State};
use poplin_testkit::compare::same_bits;
use poplin_testkit::generated::{assert_block, markdown_table};

fn run(cloth: Cloth, dt: f64, seconds: f64) -> State {
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    simulation.add(cloth).unwrap();
    for _ in 0..(seconds / dt).round() as u32 {
        simulation.step(&Frame { dt: dt as f32 }).unwrap();
    }
    simulation.state().unwrap()
}

// ---- hanging strip ----

/// Strain at the top of the hanging strip, w L / K.
const STRAIN: f64 = 0.05;

/// Elongation of a 1 m strip of compliant edges that hangs by its upper end, over its length.
fn elongation(segments: u32, dt: f64, substeps: u32) -> f64 {
    let edge = 1.0 / f64::from(segments);
    let mut cloth = strip(segments, edge, |along, side| [side, -along, 0.0], 1);
    // Each of the two fibers carries half of the strip's width.
    let stiffness = SIGMA * G / STRAIN;
    let compliance = (edge / (stiffness * edge / 2.0)) as f32;
    let vertical = XpbdPhase { compliance, ..XpbdPhase::default() };
    let phases = Phases { vertical, ..Phases::default() };
    cloth.config = ClothConfig {
        solver: Xpbd { substeps, phases, ..Xpbd::default() }.into(),
        damping: damping(8.0),
        ..ClothConfig::default()
    };
    let state = run(cloth, dt, 3.0);
    -f64::from(state.current(nth_cloth(0)).last().unwrap().position[1]) - 1.0
}

#[test]
fn a_hanging_strip_is_as_long_as_its_stiffness_says_at_any_step_and_mesh() {
    let expected = STRAIN / 2.0;
    let mut found = Vec::new();
    for (segments, frame_rate, substeps) in [
        (32, 60.0, 5),
        (32, 60.0, 10),
        (32, 60.0, 20),
        (32, 60.0, 40),
        (32, 30.0, 10),
        (32, 120.0, 10),
        (32, 240.0, 10),
        (16, 60.0, 10),
        (64, 60.0, 10),
    ] {
        let elongation = elongation(segments, 1.0 / frame_rate, substeps);
        eprintln!(
            "{segments} segments, {frame_rate} Hz x {substeps}: {elongation:.6} of {expected}"
        );
        found.push(elongation);
    }
    assert!(found.iter().all(|elongation| (elongation / expected - 1.0).abs() < 0.02), "{found:?}");
    assert!(found.iter().all(|elongation| (elongation / found[1] - 1.0).abs() < 0.01), "{found:?}");
}

// ---- heavy cantilever ----

/// `G = w L^3 / B` and drop over length of the elastica clamped level, from `theta'' = -G (1 - s) cos theta`.
const CANTILEVERS: [(f64, f64); 4] =
    [(1.0, 0.12347), (2.0, 0.23851), (5.0, 0.49591), (10.0, 0.70020)];

/// Drop over length of a strip of `segments` segments clamped level, at rest.
///
/// A hinge stands for half a segment on each side of it. The clamp holds two rows, and the beam begins half a segment behind
/// the second of them: its length is `segments + 1/2` edges. Clamped at the second row instead it would be half a segment too
/// long, an error of first order.
fn cantilever(segments: u32, load: f64, substeps: u32) -> f64 {
    let edge = 1.0 / (f64::from(segments) + 0.5);
    let bending_rigidity = (SIGMA * G / load) as f32;
    // The beam's middle is where f32 has its finest positions.
    let mut cloth = strip(segments + 1, edge, |along, side| [along - edge - 0.5, 0.0, side], 2);
    cloth.config = ClothConfig {
        solver: Xpbd { substeps, bending_rigidity, ..Xpbd::default() }.into(),
        damping: damping(4.0),
        ..ClothConfig::default()
    };
    let state = run(cloth, 1.0 / 60.0, 4.0);
    -f64::from(state.current(nth_cloth(0)).last().unwrap().position[1])
}

/// Segments, substeps of a frame of 1/60 s, and the error that is allowed: of second order in the segments until, beyond 20, the
/// rounding of f32 positions takes over. A step moves a particle by g h^2, which must be many times the 3e-8 m to which positions
/// around 0.4 m are known: 4e-7 m at 80 substeps.
const CANTILEVER_MESHES: [(u32, u32, f64); 3] = [(5, 10, 0.025), (10, 20, 0.008), (20, 40, 0.008)];

fn cantilever_rows() -> Vec<(f64, u32, u32, f64, f64)> {
    let rows = CANTILEVERS.iter().flat_map(|&(load, expected)| {
        CANTILEVER_MESHES.map(|(segments, substeps, _)| {
            (load, segments, substeps, expected, cantilever(segments, load, substeps))
        })
    });
    // Lighter loads need more steps for bends this close (see `stage/bend.wgsl`) than rounding leaves room for.
    let fine = CANTILEVERS[1..].iter().zip([100, 80, 80]);
    rows.chain(fine.map(|(&(load, expected), substeps)| {
        (load, 40, substeps, expected, cantilever(40, load, substeps))
    }))
    .collect()
}

#[test]
fn a_heavy_cantilever_is_the_elastica() {
    let rows = cantilever_rows();
    let error =
        |&(.., expected, drop): &(f64, u32, u32, f64, f64)| (drop / expected - 1.0f64).abs();
    for row in &rows {
        eprintln!(
            "G = {}, {} segments x {}: {:.5} of {}, {:+.4}",
            row.0,
            row.1,
            row.2,
            row.4,
            row.3,
            row.4 / row.3 - 1.0
        );
        let fine = if row.0 < 5.0 { 0.05 } else { 0.02 };
        let allowed =
            CANTILEVER_MESHES.iter().find(|mesh| mesh.0 == row.1).map_or(fine, |mesh| mesh.2);
        assert!(error(row) < allowed, "{row:?}");
    }
    for mesh in rows[..12].chunks(3) {
        assert!(
            error(&mesh[0]) > 2.5 * error(&mesh[1]),
            "the mesh error is of second order: {mesh:?}"
        );
    }
}

// ---- strip and sheet on end ----

/// How far the top of a cloth on end is out of line after 8 s, over how far it was, with a load `w L^3 / B` and steps of this fraction
/// of `a^2 sqrt(sigma / B)`.
fn bow(mut cloth: Cloth, segments: u32, load: f64, step: f64) -> f64 {
    let (edge, rigidity) = (edge_on_end(segments), SIGMA * G / load);
    Arc::make_mut(&mut cloth.fabric).bends.iter_mut().for_each(|bend| bend.rest_angle = 0.0);
    let longest = step * edge * edge * (SIGMA / rigidity).sqrt();
    let substeps = (1.0 / 60.0 / longest).ceil() as u32;
    let bending_rigidity = rigidity as f32;
    cloth.config = ClothConfig {
        solver: Xpbd { substeps, bending_rigidity, ..Xpbd::default() }.into(),
        damping: damping(1.0),
        ..ClothConfig::default()
    };
    let state = run(cloth, 1.0 / 60.0, 8.0);
    let top = f64::from(state.current(nth_cloth(0)).last().unwrap().position[0]);
    (top / bowed(1.0 + edge, edge)).abs()
}

#[test]
fn a_strip_on_end_buckles_under_the_load_of_theory() {
    for (segments, steps) in [(10, vec![0.5, 0.25]), (20, vec![0.5, 0.25]), (40, vec![0.5])] {
        for step in steps {
            let [holds, falls] = [0.95, 1.05]
                .map(|part| bow(strip_on_end(segments), segments, part * GREENHILL, step));
            eprintln!("{segments} segments, step {step}: {holds:.3} at 0.95, {falls:.1} at 1.05");
            assert!(holds < 0.5 && falls > 5.0, "{segments}, {step}: {holds}, {falls}");
        }
    }
    // See it fail: twice the step that holds a strip.
    assert!(bow(strip_on_end(20), 20, 0.7 * GREENHILL, 1.0) > 5.0);
}

#[test]
fn a_sheet_on_end_wants_half_the_step_of_a_strip() {
    // The mesh itself is soft: with one diagonal a cell, it buckles at 0.87 of theory in `f64` too (`implicit_oracle`).
    for segments in [10, 20] {
        for step in [0.25, 0.125] {
            let [holds, falls] = [0.76, 0.92]
                .map(|part| bow(sheet_on_end(segments), segments, part * GREENHILL, step));
            eprintln!("{segments} segments, step {step}: {holds:.3} at 0.76, {falls:.1} at 0.92");
            assert!(holds < 0.5 && falls > 5.0, "{segments}, {step}: {holds}, {falls}");
        }
        // See it fail: the step of a strip.
        assert!(bow(sheet_on_end(segments), segments, 0.76 * GREENHILL, 0.5) > 5.0, "{segments}");
    }
}

// ---- damping ----

/// The largest deviation of `x(t)` from a damped oscillation from 1 at rest with `omega^2 = k/m` and the rate `c/(2 m)`.
fn worst_of_oscillation(
    cloth: Cloth,
    stiffness: f64,
    damping: f64,
    coordinate: impl Fn(&State) -> f64,
) -> f64 {
    let (dt, rate) = (1.0 / 60.0, damping / 2.0);
    let omega = (stiffness - rate * rate).sqrt();
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    simulation.add(cloth).unwrap();
    let mut worst = 0.0f64;
    for frame in 1..=120 {
        simulation.step(&Frame { dt: dt as f32 }).unwrap();
        let t = f64::from(frame) * dt;
        let expected = (-rate * t).exp() * ((omega * t).cos() + rate / omega * (omega * t).sin());
        worst = worst.max((coordinate(&simulation.state().unwrap()) - expected).abs());
    }
    worst
}

/// So many substeps that what the scheme damps of itself, `omega^2 h / 2`, is a hundredth of what is asked for. The mass swings
/// around the origin, where f32 positions are fine enough for such steps.
const FINE: u32 = 100;

#[test]
fn an_edge_swings_and_calms_down_as_its_compliance_and_damping_say() {
    let (stiffness, rate) = (100.0, 2.0);
    let fabric = Fabric {
        particle_count: 2,
        phases: vec![Phase { kind: PhaseKind::Vertical, set_begin: 0, set_end: 1 }],
        set_fiber_begin: vec![0, 1],
        fiber_edge_begin: vec![0, 1],
        fiber_vertices: vec![0, 1],
        rest_lengths: vec![1.0],
        ..Fabric::default()
    };
    // A mass of 2 kg, so that a force is not an acceleration.
    let mut cloth = Cloth::new(Arc::new(fabric), vec![[-1.0, 0.0, 0.0, 0.0], [0.1, 0.0, 0.0, 0.5]]);
    let (compliance, damping) = (0.5 / stiffness, 2.0 * rate);
    let phase =
        XpbdPhase { fiber_solver: None, compliance: compliance as f32, damping: damping as f32 };
    let solver = Xpbd { substeps: FINE, phases: Phases::all(phase), ..Xpbd::default() }.into();
    cloth.config = ClothConfig { solver, gravity: [0.0; 3], ..ClothConfig::default() };
    let worst = worst_of_oscillation(cloth, stiffness, rate, |state| {
        f64::from(state.current(nth_cloth(0))[1].position[0]) / 0.1
    });
    eprintln!("edge: {worst}");
    assert!(worst < 0.01, "{worst}");
}

#[test]
fn a_bend_swings_and_calms_down_as_its_rigidity_and_damping_say() {
    let (stiffness, rate) = (100.0, 2.0);
    // A hinge of weight 3 with a wing of 2 kg that an edge holds 0.5 m from it: an inertia of 0.5 kg m^2.
    let fabric = Fabric {
        particle_count: 5,
        phases: vec![Phase { kind: PhaseKind::Vertical, set_begin: 0, set_end: 1 }],
        set_fiber_begin: vec![0, 1],
        fiber_edge_begin: vec![0, 1],
        fiber_vertices: vec![4, 3],
        rest_lengths: vec![0.5],
        bends: vec![Bend {
            particles: [0, 1, 2, 3],
            rest_angle: 0.0,
            weight: 3.0,
            wings: Default::default(),
        }],
        bend_set_ends: vec![1],
        ..Fabric::default()
    };
    let (sin, cos) = 0.1f32.sin_cos();
    let wing = [0.5, -0.5 * cos, 0.5 * sin, 0.5];
    let positions =
        vec![[0.0; 4], [1.0, 0.0, 0.0, 0.0], [0.5, 1.0, 0.0, 0.0], wing, [0.5, 0.0, 0.0, 0.0]];
    let mut cloth = Cloth::new(Arc::new(fabric), positions);
    let (bending_rigidity, bending_damping) =
        ((0.5 * stiffness / 3.0) as f32, (0.5 * rate / 3.0) as f32);
    let solver = Xpbd { substeps: FINE, bending_rigidity, bending_damping, ..Xpbd::default() };
    cloth.config =
        ClothConfig { solver: solver.into(), gravity: [0.0; 3], ..ClothConfig::default() };
    let worst = worst_of_oscillation(cloth, stiffness, rate, |state| {
        let [_, y, z] = state.current(nth_cloth(0))[3].position.map(f64::from);
        z.atan2(-y) / 0.1
    });
    eprintln!("bend: {worst}");
    // Here the mass swings half a metre from the origin: rounding takes as much as the scheme.
    assert!(worst < 0.015, "{worst}");
}

// ---- what does not depend on the step ----

/// Strain of a square sheet of 0.2 m that hangs by its upper edge and weighs `load` times what its material does, per force
/// per width: `density * load * length / (2 K)` for a membrane of stiffness K.
fn hung_strain(material: &Material, side: u32, load: f64) -> [f64; 2] {
    let length = 0.2;
    let options = CookOptions {
        density: material.density,
        pins: (0..side).collect(),
        bending: false,
        bends: true,
        tethers: Tethers::None,
        max_fiber_length: Some(1024),
        gravity: [0.0, 0.0, 1.0],
        ..CookOptions::default()
    };
    let mut cloth =
        cook(&Mesh::grid(side, side, length as f32, length as f32), &options).unwrap().into_cloth();
    material.fill(&mut cloth.config);
    cloth.set_membrane(material);
    cloth.config.thickness = 0.0;
    // A grid lies in the plane of x and z.
    cloth.config.gravity = [0.0, 0.0, load as f32];
    cloth.config.damping = damping(60.0);
    let state = run(cloth, 1.0 / 60.0, 1.0);
    let lowest: Vec<_> = state.current(nth_cloth(0))[(side * (side - 1)) as usize..]
        .iter()
        .map(|it| f64::from(it.position[2]))
        .collect();
    let mean = lowest.iter().sum::<f64>() / lowest.len() as f64;
    let expected =
        f64::from(material.density) * load * length / (2.0 * f64::from(material.stretch[0]));
    [mean / length - 1.0, expected]
}

#[test]
fn a_sheet_stretches_as_its_material_says_on_any_mesh() {
    // Leather holds against shear as against stretch, so the upper edge, which cannot narrow, makes it stiffer.
    let [cotton, silk, leather] = [Material::COTTON, Material::SILK, Material::LEATHER];
    for (material, load, allowed) in
        [(cotton, 4000.0, 0.01), (silk, 4000.0, 0.01), (leather, 2400.0, 0.06)]
    {
        // A hundredth of its stiffness and load, for the same strain: the sheet would fall too fast for the steps.
        let stretch = material.stretch.map(|stiffness| stiffness / 100.0);
        let soft = Material { stretch, shear: material.shear / 100.0, ..material };
        for side in [6, 11, 21] {
            let [strain, expected] = hung_strain(&soft, side, load / 100.0);
            assert!(
                (strain / expected - 1.0).abs() < allowed,
                "{} {side}: {strain}, {expected}",
                material.name
            );
        }
    }
}

#[test]
fn iterations_change_the_length_of_a_strip_by_gauss_seidel_and_not_by_xpbd() {
    let pbd = [300.0, 600.0, 1200.0].map(|frequency| {
        let mut cloth = strip(32, 1.0 / 32.0, |along, side| [side, -along, 0.0], 1);
        let solver = Solver::pbd(frequency);
        cloth.config = ClothConfig { solver, damping: damping(8.0), ..ClothConfig::default() };
        cloth.config.solver.set_fiber_solver(Some(FiberSolver::GaussSeidel));
        -f64::from(run(cloth, 1.0 / 60.0, 3.0).current(nth_cloth(0)).last().unwrap().position[1])
            - 1.0
    });
    let xpbd = [5, 10, 20].map(|substeps| elongation(32, 1.0 / 60.0, substeps));
    eprintln!("stretch at 5, 10, 20 iterations a frame: PBD {pbd:.5?}, XPBD {xpbd:.5?}");
    assert!(pbd[0] > 2.0 * pbd[2], "{pbd:?}");
    assert!((xpbd[0] / xpbd[2] - 1.0).abs() < 0.01, "{xpbd:?}");
}

/// A square of 8 x 8 particles of all kinds of edges and bends, thrown with a spin and a twist.
fn thrown_sheet(h: f64) -> Cloth {
    let options = CookOptions {
        tethers: Tethers::None,
        bending: false,
        bends: true,
        ..CookOptions::default()
    };
    let mut cloth = cook(&Mesh::grid(8, 8, 1.0, 1.0), &options).unwrap().into_cloth();
    let velocity = |[x, _, z]: [f32; 3]| {
        let (x, z) = (f64::from(x) - 0.5, f64::from(z) - 0.5);
        [1.0, 3.0 + 2.0 * x + 3.0 * x * z, 0.5]
    };
    let back = |p: [f32; 3]| std::array::from_fn(|k| (f64::from(p[k]) - velocity(p)[k] * h) as f32);
    cloth.previous_positions = cloth.particles.iter().map(|p| back(p.position)).collect();
    let soft = |compliance| XpbdPhase { fiber_solver: None, compliance, damping: 1.0 };
    let single = vec![(0, soft(1e-3)), (1, soft(1e-4))];
    cloth.config.solver = Solver::Xpbd(Xpbd {
        substeps: 10,
        bending_rigidity: 1e-3,
        bending_damping: 1e-5,
        phases: Phases { single, ..Phases::default() },
    });
    cloth
}

/// Momentum times h and angular momentum times h about the center of mass, of particles of equal mass.
fn momenta(state: &State) -> [[f64; 3]; 2] {
    let wide = |particle: &Particle| particle.position.map(f64::from);
    let mut sums = [[0.0; 3]; 4];
    for (now, before) in state.current(nth_cloth(0)).iter().zip(state.previous(nth_cloth(0))) {
        let (mass, x, old) = (1.0 / f64::from(now.inverse_mass), wide(now), wide(before));
        let displacement: [f64; 3] = std::array::from_fn(|k| x[k] - old[k]);
        sums[3][0] += mass;
        for k in 0..3 {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            sums[0][k] += mass * displacement[k];
            sums[1][k] += mass * (x[i] * displacement[j] - x[j] * displacement[i]);
            sums[2][k] += mass * x[k];
        }
    }
    let [displacement, spin, center, [mass, ..]] = sums;
    let about = |k: usize| {
        let (i, j) = ((k + 1) % 3, (k + 2) % 3);
        spin[k] - (center[i] * displacement[j] - center[j] * displacement[i]) / mass
    };
    [displacement, std::array::from_fn(about)]
}

#[test]
fn a_free_sheet_keeps_its_momentum_and_its_spin() {
    let (dt, h) = (1.0 / 60.0, 1.0 / 600.0);
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    simulation.add(thrown_sheet(h)).unwrap();
    let start = momenta(&simulation.state().unwrap());
    (0..60).for_each(|_| simulation.step(&Frame { dt: dt as f32 }).unwrap());
    let end = momenta(&simulation.state().unwrap());
    let length = |v: [f64; 3]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    let mass = 0.2;
    let lost: [f64; 3] =
        std::array::from_fn(|k| end[0][k] - start[0][k] + if k == 1 { mass * G * h } else { 0.0 });
    // Positions of 4 m round by up to 2 EPSILON, each a velocity that goes on, in each of 600 steps.
    let rounding = 2.0 * f64::from(f32::EPSILON) * 600.0f64.sqrt() * mass;
    let spin = length(end[1]) / length(start[1]);
    eprintln!("momentum lost {lost:?} of {:?}, allowed {rounding:e}; spin {spin}", start[0]);
    assert!(length(lost) < 3.0 * rounding, "{lost:?}");
    // An edge that rotates by w h is taken back onto its circle: w^2 h / 2 of its momentum per second, w below 4 rad/s.
    assert!((spin - 1.0).abs() < 16.0 * h / 2.0, "{spin}");
}

#[test]
fn two_runs_give_the_same_bits() {
    let [a, b] = [(); 2].map(|()| run(thrown_sheet(1.0 / 600.0), 1.0 / 60.0, 0.5));
    same_bits("current", a.current(nth_cloth(0)), b.current(nth_cloth(0))).unwrap();
    same_bits("previous", a.previous(nth_cloth(0)), b.previous(nth_cloth(0))).unwrap();
}

// ---- refusals ----

#[test]
fn settings_that_the_fabric_does_not_go_with_are_refused() {
    let xpbd = thrown_sheet(1.0 / 600.0);
    xpbd.validate().unwrap();
    let mut without_bends = xpbd.clone();
    let fabric = Arc::make_mut(&mut without_bends.fabric);
    (fabric.bends, fabric.bend_set_ends) = Default::default();
    assert_eq!(
        without_bends.validate(),
        Err(ModelError::NoBends { solver: "xpbd", rigidity: 1e-3 })
    );
    let mut stiffness_per_edge = xpbd.clone();
    let fabric = Arc::make_mut(&mut stiffness_per_edge.fabric);
    fabric.edge_stiffness_log2 = vec![-1.0; fabric.edge_count()];
    let refused = stiffness_per_edge.validate();
    assert!(
        matches!(refused, Err(ModelError::EdgeStiffness { needed: "solver.pbd", .. })),
        "{refused:?}"
    );
    let solver = |substeps| Solver::xpbd(substeps).validate();
    assert!(solver(0).is_err() && solver(20_001).is_err() && solver(20_000).is_ok());
}

#[test]
fn the_solver_of_a_cloth_can_change_between_frames() {
    let mut simulation = Simulation::new(Backend::Cpu).unwrap();
    let id = simulation.add(thrown_sheet(1.0 / 600.0)).unwrap();
    simulation.step(&Frame::default()).unwrap();
    for solver in [Solver::default(), Solver::xpbd(FINE)] {
        let config = ClothConfig { solver, ..ClothConfig::default() };
        simulation.cloth_mut(id).unwrap().set_config(config).unwrap();
        simulation.step(&Frame::default()).unwrap();
    }
    let state = simulation.state().unwrap();
    assert!(Particle::rows(state.current(id)).iter().flatten().all(|x| x.is_finite()));
}

#[test]
fn table_of_all_rows() {
    let row = |case: String, expected: f64, got: f64| {
        let error = 100.0 * (got / expected - 1.0).abs();
        vec![case, format!("{expected:.5}"), format!("{got:.5}"), format!("{error:.2} %")]
    };
    let strips = [(32, 60.0, 5), (32, 60.0, 40), (16, 30.0, 10), (64, 240.0, 10)];
    let strips = strips.map(|(segments, frame_rate, substeps)| {
        let steps = format!("{segments} segments, {substeps} substeps of 1/{frame_rate} s");
        let got = elongation(segments, 1.0 / frame_rate, substeps);
        row(format!("hanging strip, stretch, {steps} \\[m\\]"), STRAIN / 2.0, got)
    });
    let cantilever_row = |(load, segments, substeps, expected, drop): (f64, u32, u32, f64, f64)| {
        let steps = format!("{segments} segments, {substeps} substeps");
        row(format!("cantilever, drop/L at G = {load}, {steps}"), expected, drop)
    };
    // What rounding does: at 80 segments a step of gravity is two roundings of a position.
    let (load, expected) = CANTILEVERS[3];
    let finest = (load, 80, 150, expected, cantilever(80, load, 150));
    let cantilevers = cantilever_rows().into_iter().chain([finest]).map(cantilever_row);
    let rows: Vec<_> = strips.into_iter().chain(cantilevers).collect();
    let table = markdown_table(&["case", "expected", "got", "error"], &rows);
    assert_block("crates/poplin/guide/validation.md", "xpbd", &table);
}
