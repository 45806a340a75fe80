//! Every stage of the mirror against the f64 oracle, from random and degenerate input.

use bytemuck::cast_slice;
use poplin_host::{Engine as _, LiveCloth};
use poplin_testkit::nth_cloth;
use std::sync::Arc;

use poplin_cook::{CookOptions, cook};
use poplin_host::FramePart;
use poplin_layout::{Stage, StageMask, effective_stiffness, stiffness_to_log2};
use poplin_model::{
    Bend, BendModel, Cloth, Fabric, FiberSolver, Frame, Implicit, Mesh, Particle, Pbd, PbdPhase,
    Phase, PhaseKind, Phases, Pose, Preconditioner, Solver, Sphere, StretchModel, Xpbd, XpbdPhase,
};
use poplin_reference::oracle::implicit::{MinimizeOptions, Mixing, Objective, minimize};
use poplin_reference::oracle::{
    Air, BendStep, Chain, ChainSolution, SoftRange, air_impulse, bend_angle, bend_gradient,
    constrain_to_anchors, integrate, keep_inside, keep_outside, project_distance, solve_bend,
    solve_chain,
};
use poplin_reference::{HostCloth, ReferenceEngine, Team};
use poplin_testkit::implicit::implicit_oracle;
use poplin_testkit::rng::Rng;
use poplin_testkit::scenes::random_ropes;

/// Allowance in units of `f32::EPSILON * scale`: some ten roundings at that scale.
const FACTOR: f64 = 32.0;

fn wide(particle: impl Into<[f32; 4]>) -> [f64; 3] {
    let p = particle.into();
    std::array::from_fn(|k| f64::from(p[k]))
}

fn after_stage(cloth: &Cloth, stage: Stage) -> Vec<[f32; 4]> {
    after_stage_with(cloth, stage, |_| ())
}

/// One iteration of one stage of a cloth that was given inputs.
fn after_stage_with(
    cloth: &Cloth,
    stage: Stage,
    equip: impl FnOnce(&mut LiveCloth),
) -> Vec<[f32; 4]> {
    let mut engine = ReferenceEngine::new();
    engine.add(cloth.clone()).unwrap();
    equip(engine.cloth_mut(nth_cloth(0)).unwrap());
    let dt = cloth.config.solver.as_pbd().map_or(STEP as f32, |pbd| 1.0 / pbd.frequency);
    engine.begin_frame(&Frame { dt }).unwrap();
    let part = FramePart { stages: StageMask::only(stage), ..FramePart::WHOLE };
    engine.run_part(nth_cloth(0), &part, &mut Team::single()).unwrap();
    Particle::rows(engine.current(nth_cloth(0))).to_vec()
}

#[track_caller]
fn assert_near(what: &str, got: [f32; 4], expected: [f64; 3], scale: f64) {
    for k in 0..3 {
        let error = (f64::from(got[k]) - expected[k]).abs();
        let allowed = FACTOR * f64::from(f32::EPSILON) * scale;
        assert!(
            error <= allowed,
            "{what}: {got:?} against {expected:?}: {error:e} above {FACTOR} eps x {scale}"
        );
    }
}

/// A chain over the given particles, one fiber in one set, by Gauss-Seidel.
fn chain(particles: Vec<[f32; 4]>, rest_lengths: Vec<f32>) -> Cloth {
    let count = particles.len() as u32;
    let fabric = Fabric {
        particle_count: count,
        phases: vec![Phase { kind: PhaseKind::Vertical, set_begin: 0, set_end: 1 }],
        set_fiber_begin: vec![0, 1],
        fiber_edge_begin: vec![0, rest_lengths.len() as u32],
        fiber_vertices: (0..count).collect(),
        rest_lengths,
        ..Default::default()
    };
    let mut cloth = Cloth::new(Arc::new(fabric), particles);
    cloth.config.solver.set_fiber_solver(Some(FiberSolver::GaussSeidel));
    cloth
}

/// PBD of 300 Hz, every phase so.
fn pbd(phase: PbdPhase) -> Solver {
    Pbd { phases: Phases::all(phase), ..Pbd::default() }.into()
}

/// XPBD of one substep, every phase so.
fn xpbd(phase: XpbdPhase) -> Solver {
    Xpbd { substeps: 1, phases: Phases::all(phase), ..Xpbd::default() }.into()
}

/// How the first phase of a cloth responds; as by default what its solver does not have.
fn first_phase(cloth: &Cloth) -> (PbdPhase, XpbdPhase) {
    let kind = cloth.fabric.phases[0].kind;
    match &cloth.config.solver {
        Solver::Pbd(solver) => (*solver.phases.of(0, kind), XpbdPhase::default()),
        Solver::Xpbd(solver) => (PbdPhase::default(), *solver.phases.of(0, kind)),
        Solver::Implicit(_) => panic!("it has no phases"),
    }
}

/// A sheet whose particles are thrown about, and where they were a step before.
fn thrown_sheet(rng: &mut Rng) -> Cloth {
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
        // Pairs of seeds have the same models, twelve pairs all of them.
        let seed = seed / 2;
        let mut cloth = thrown_sheet(&mut rng);
        let damping = if seed & 4 == 0 { 0.0 } else { 2e-3 };
        let bend = BendModel::ALL[seed % 4];
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

fn random_particle(rng: &mut Rng) -> [f32; 4] {
    let [x, y, z] = rng.point(-1.0, 1.0);
    [x, y, z, if rng.index(5) == 0 { 0.0 } else { rng.range(0.01, 20.0) }]
}

#[test]
fn gauss_seidel_equals_the_distance_constraint_edge_by_edge() {
    let mut rng = Rng::new(11);
    for round in 0..200 {
        let edges = 1 + rng.index(12);
        let particles: Vec<_> = (0..=edges).map(|_| random_particle(&mut rng)).collect();
        let mut cloth = chain(particles, (0..edges).map(|_| rng.range(0.05, 2.0)).collect());
        let config = PbdPhase {
            fiber_solver: Some(FiberSolver::GaussSeidel),
            stiffness: rng.range(0.1, 1.0),
            stiffness_multiplier: rng.range(0.0, 1.0),
            compression_limit: rng.range(0.4, 1.0),
            stretch_limit: rng.range(1.0, 2.5),
        };
        cloth.config.solver = pbd(config);
        let got = after_stage(&cloth, Stage::GaussSeidel);

        let exponent =
            cloth.config.stiffness_frequency / cloth.config.solver.as_pbd().unwrap().frequency;
        let stiffness =
            f64::from(effective_stiffness(stiffness_to_log2(config.stiffness), exponent));
        let soft = SoftRange {
            multiplier: 1.0 - f64::from(config.stiffness_multiplier).powf(f64::from(exponent)),
            compression_limit: f64::from(config.compression_limit),
            stretch_limit: f64::from(config.stretch_limit),
        };
        let mut expected: Vec<_> = cloth.particles.iter().map(|&p| wide(p)).collect();
        for edge in 0..edges {
            let w = [
                f64::from(cloth.particles[edge].inverse_mass),
                f64::from(cloth.particles[edge + 1].inverse_mass),
            ];
            let rest = f64::from(cloth.fabric.rest_lengths[edge]);
            let [a, b] = project_distance(
                expected[edge],
                expected[edge + 1],
                w,
                rest,
                stiffness,
                Some(soft),
            );
            expected[edge] = a;
            expected[edge + 1] = b;
        }
        // Errors add up along the chain; the guard adds EPSILON to squared lengths of 0.05^2 and more, and to masses.
        let scale = 4.0 * edges as f64;
        for (i, (&got, &expected)) in got.iter().zip(&expected).enumerate() {
            assert_near(&format!("round {round} particle {i}"), got, expected, scale);
        }
    }
}

#[test]
fn degenerate_edges_move_nothing_or_stay_finite() {
    let cases = [
        ("both pinned", [[0.0, 0.0, 0.0, 0.0], [3.0, 0.0, 0.0, 0.0]], 1.0),
        ("coincident", [[0.5, 0.5, 0.5, 1.0], [0.5, 0.5, 0.5, 1.0]], 1.0),
        ("no rest length", [[0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]], 0.0),
    ];
    for (what, particles, rest) in cases {
        let got = after_stage(&chain(particles.to_vec(), vec![rest]), Stage::GaussSeidel);
        assert_eq!(got, particles, "{what}");
    }
    let far = after_stage(
        &chain(vec![[1e9, 0.0, 0.0, 1e9], [-1e9, 1.0, 0.0, 1e-9]], vec![1e-5]),
        Stage::GaussSeidel,
    );
    assert!(far.iter().flatten().all(|value| value.is_finite()), "{far:?}");
}

#[test]
fn momentum_is_kept_by_an_edge() {
    let mut rng = Rng::new(5);
    for _ in 0..100 {
        let mut particles = vec![random_particle(&mut rng), random_particle(&mut rng)];
        particles.iter_mut().for_each(|p| p[3] = p[3].max(0.1));
        let got = after_stage(&chain(particles.clone(), vec![0.3]), Stage::GaussSeidel);
        for k in 0..3 {
            let moved: f64 = (0..2)
                .map(|i| {
                    (f64::from(got[i][k]) - f64::from(particles[i][k])) / f64::from(particles[i][3])
                })
                .sum();
            assert!(moved.abs() < 20.0 * f64::from(f32::EPSILON), "{moved}");
        }
    }
}

#[test]
fn tether_equals_the_largest_distance_to_anchors() {
    let mut rng = Rng::new(23);
    for round in 0..200 {
        let count = 2 + rng.index(20);
        let particles: Vec<_> = (0..count).map(|_| random_particle(&mut rng)).collect();
        let mut cloth = chain(particles, vec![1.0; count - 1]);
        let per_particle = 1 + rng.index(4);
        let fabric = Arc::make_mut(&mut cloth.fabric);
        fabric.tethers_per_particle = per_particle as u32;
        fabric.tether_anchors =
            (0..per_particle * count).map(|_| rng.index(count) as u32).collect();
        fabric.tether_lengths = (0..per_particle * count).map(|_| rng.range(0.0, 2.0)).collect();
        cloth.config.tethers.stiffness = rng.range(0.1, 1.0);
        cloth.config.tethers.scale = rng.range(0.5, 1.5);
        let got = after_stage(&cloth, Stage::Tether);
        let exponent =
            cloth.config.stiffness_frequency / cloth.config.solver.as_pbd().unwrap().frequency;
        let stiffness = f64::from(effective_stiffness(
            stiffness_to_log2(cloth.config.tethers.stiffness),
            exponent,
        ));
        for (i, &particle) in cloth.particles.iter().enumerate() {
            let anchors: Vec<_> = (0..per_particle)
                .map(|k| {
                    let tether = k * count + i;
                    let anchor = cloth.fabric.tether_anchors[tether] as usize;
                    let length = f64::from(cloth.fabric.tether_lengths[tether])
                        * f64::from(cloth.config.tethers.scale);
                    (wide(cloth.particles[anchor]), length)
                })
                .collect();
            let expected = constrain_to_anchors(wide(particle), &anchors, stiffness);
            assert_near(&format!("round {round} particle {i}"), got[i], expected, 8.0);
        }
    }
}

#[test]
fn integrate_equals_the_damped_verlet_step() {
    let mut rng = Rng::new(31);
    for round in 0..100 {
        let particles: Vec<_> = (0..8).map(|_| random_particle(&mut rng)).collect();
        let mut cloth = chain(particles, vec![1.0; 7]);
        cloth.previous_positions = cloth
            .particles
            .iter()
            .map(|p| std::array::from_fn(|k| p.position[k] + rng.range(-0.1, 0.1)))
            .collect();
        cloth.particle_accelerations = (0..8).map(|_| rng.point(-20.0, 20.0)).collect();
        cloth.config.gravity = rng.point(-20.0, 20.0);
        cloth.config.damping = rng.point(0.0, 1.0);
        let got = after_stage(&cloth, Stage::Integrate);
        let step = 1.0 / f64::from(cloth.config.solver.as_pbd().unwrap().frequency);
        let exponent = f64::from(cloth.config.stiffness_frequency) * step;
        let kept = cloth.config.damping.map(|damping| (1.0 - f64::from(damping)).powf(exponent));
        for (i, &particle) in cloth.particles.iter().enumerate() {
            let widen = |v: [f32; 3]| v.map(f64::from);
            let before = widen(cloth.previous_positions[i]);
            let gravity = (widen(cloth.config.gravity), step);
            let acceleration = (widen(cloth.particle_accelerations[i]), step);
            let moved = integrate(wide(particle), before, kept, 1.0, gravity, acceleration);
            let expected = if particle.inverse_mass > 0.0 { moved } else { wide(particle) };
            assert_near(&format!("round {round} particle {i}"), got[i], expected, 1.5);
        }
    }
}

fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|k| a[k] - b[k])
}

fn length(a: [f64; 3]) -> f64 {
    a.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn mean(points: [[f64; 3]; 3]) -> [f64; 3] {
    std::array::from_fn(|k| (points[0][k] + points[1][k] + points[2][k]) / 3.0)
}

/// `v` rotated about `axis` (of unit length) by `angle` \[rad\], by Rodrigues' formula.
fn rotated(v: [f64; 3], axis: [f64; 3], angle: f64) -> [f64; 3] {
    let along: f64 = (0..3).map(|k| axis[k] * v[k]).sum();
    let cross: [f64; 3] = std::array::from_fn(|k| {
        axis[(k + 1) % 3] * v[(k + 2) % 3] - axis[(k + 2) % 3] * v[(k + 1) % 3]
    });
    std::array::from_fn(|k| {
        v[k] * angle.cos() + cross[k] * angle.sin() + axis[k] * along * (1.0 - angle.cos())
    })
}

/// How the local space moves in the one iteration of a wind test: a rotation about an axis, and a shift \[m\].
struct FrameMove {
    axis: [f64; 3],
    angle: f64,
    shift: [f32; 3],
}

/// Where wind takes every particle by the oracle, and the scale of its rounding errors.
///
/// In the world a triangle goes from `before` to `rotation * now + shift`, less the displacement of the wind; the cloth sees the difference in
/// the rotated local space. Triangles are summed in descending order, so that an order of the stage would show.
fn blown(cloth: &Cloth, frame: &FrameMove) -> Vec<([f64; 3], f64)> {
    let config = &cloth.config;
    let step = 1.0 / f64::from(config.solver.as_pbd().unwrap().frequency);
    let exponent = config.stiffness_frequency / config.solver.as_pbd().unwrap().frequency;
    let coefficient =
        |value: f32| f64::from(effective_stiffness(stiffness_to_log2(value), exponent));
    let air = Air {
        drag: coefficient(config.air.drag),
        lift: coefficient(config.air.lift),
        density: f64::from(config.air.density),
        step,
        still: f64::from(f32::EPSILON),
    };
    let mut moved: Vec<_> = cloth.particles.iter().map(|&particle| (wide(particle), 1.0)).collect();
    for triangle in cloth.fabric.triangles.iter().rev() {
        let corners = triangle.map(|i| wide(cloth.particles[i as usize]));
        let before = mean(triangle.map(|i| cloth.previous_positions[i as usize].map(f64::from)));
        let left: [f64; 3] = std::array::from_fn(|k| {
            f64::from(frame.shift[k]) - step * f64::from(config.air.wind_velocity[k]) - before[k]
        });
        let left = rotated(left, frame.axis, -frame.angle);
        let displacement: [f64; 3] = std::array::from_fn(|k| mean(corners)[k] + left[k]);
        let impulse = air_impulse(corners, displacement, air);
        // Roundings: some of the impulse (area |d|^2), of d, which is a difference of positions p (area |d| p), and of the
        // normal, which is a difference of squared edges e (|d|^2 e^2).
        let size = 1.0 + length(before) + length(left);
        let edge = length(minus(corners[1], corners[0])).max(length(minus(corners[2], corners[0])));
        let (e2, d) = (edge * edge, length(displacement));
        let rounding =
            air.density / 2.0 / step * (air.drag + air.lift) * (2.0 * e2 * d * d + e2 * d * size);
        for &corner in triangle {
            let w = f64::from(cloth.particles[corner as usize].inverse_mass);
            let (position, scale) = &mut moved[corner as usize];
            (0..3).for_each(|k| position[k] -= impulse[k] * w);
            *scale += rounding * w;
        }
    }
    moved
}

/// Particles with triangles among them, and air.
fn windy_cloth(rng: &mut Rng, count: usize) -> Cloth {
    let particles: Vec<_> = (0..count).map(|_| random_particle(rng)).collect();
    let mut cloth = chain(particles, vec![1.0; count - 1]);
    let mut corner = || rng.index(count) as u32;
    Arc::make_mut(&mut cloth.fabric).triangles =
        (0..2 * count).map(|_| [corner(), corner(), corner()]).collect();
    cloth.previous_positions = cloth
        .particles
        .iter()
        .map(|p| std::array::from_fn(|k| p.position[k] + rng.range(-0.1, 0.1)))
        .collect();
    cloth.config.air.wind_velocity = rng.point(-20.0, 20.0);
    cloth.config.air.drag = rng.range(0.0, 1.0);
    cloth.config.air.lift = rng.range(0.0, 1.0);
    cloth.config.air.density = rng.range(0.001, 0.1);
    cloth
}

#[test]
fn wind_equals_the_summed_impulses_of_the_triangles() {
    let mut rng = Rng::new(41);
    let mut farthest = 0.0f64;
    for round in 0..200 {
        let count = 3 + rng.index(20);
        let cloth = windy_cloth(&mut rng, count);
        let axis = rng.point(-1.0, 1.0).map(f64::from);
        let axis = axis.map(|x| x / length(axis));
        let is_turning = round % 2 == 1;
        let angle = if is_turning { f64::from(rng.range(-0.2, 0.2)) } else { 0.0 };
        let shift = rng.point(-0.1, 0.1);
        let half = (angle / 2.0).sin_cos();
        let rotation =
            [axis[0] * half.0, axis[1] * half.0, axis[2] * half.0, half.1].map(|x| x as f32);
        let got = after_stage_with(&cloth, Stage::Wind, |host| {
            host.set_pose(Pose { translation: shift, rotation }).unwrap();
        });
        for (i, (expected, scale)) in
            blown(&cloth, &FrameMove { axis, angle, shift }).into_iter().enumerate()
        {
            assert_near(&format!("round {round} particle {i}"), got[i], expected, scale);
            farthest = farthest.max(length(minus(expected, wide(cloth.particles[i]))));
        }
    }
    assert!(farthest > 0.01, "the wind moved nothing far enough to be tested: {farthest}");
}

#[test]
fn still_air_triangles_without_area_and_pins_feel_no_wind() {
    let corners =
        [[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0], [1.0, 0.0, 0.0, 1.0], [0.5, 0.0, 0.5, 1.0]];
    let run = |particles: [[f32; 4]; 4], triangle: [u32; 3], fall: f32| {
        let mut cloth = chain(particles.to_vec(), vec![1.0; 3]);
        Arc::make_mut(&mut cloth.fabric).triangles = vec![triangle];
        cloth.previous_positions = particles.iter().map(|p| [p[0], p[1] + fall, p[2]]).collect();
        cloth.config.air.drag = 1.0;
        cloth.config.air.lift = 1.0;
        after_stage(&cloth, Stage::Wind)
    };
    let threshold = f32::EPSILON.sqrt();
    assert_ne!(
        run(corners, [0, 1, 2], threshold * 1.01),
        corners,
        "just above the threshold the air must act"
    );
    assert_eq!(run(corners, [0, 1, 2], threshold * 0.99), corners, "below the threshold");
    assert_eq!(run(corners, [0, 0, 2], 0.1), corners, "a corner twice");
    assert_eq!(run(corners, [1, 2, 3], 0.1), corners, "three corners in a line");
    let pinned = corners.map(|[x, y, z, _]| [x, y, z, 0.0]);
    assert_eq!(run(pinned, [0, 1, 2], 0.1), pinned, "pins");
    // w = 0 on one corner: the others move as before.
    let mut half = corners;
    half[0][3] = 0.0;
    let got = run(half, [0, 1, 2], 0.1);
    assert_eq!(got[0], half[0]);
    assert_eq!(got[1..], run(corners, [0, 1, 2], 0.1)[1..]);
}

/// A random sphere around the origin.
fn random_sphere(rng: &mut Rng) -> [f32; 4] {
    let [x, y, z] = rng.point(-1.0, 1.0);
    [x, y, z, rng.range(-0.2, 1.5)]
}

/// Scale of the rounding of a sphere stage: numbers up to 4 (positions up to 1, radii up to 3), and the EPSILON in the squared
/// distance, which moves `d * r / |d|` by `r * EPSILON / (2 |d|^2)` of a length.
fn sphere_scale(x: [f64; 3], center: [f64; 3], radius: f64) -> f64 {
    4.0 + radius.abs() / (2.0 * length(minus(center, x)).powi(2))
}

#[test]
fn the_largest_speed_is_a_sphere_around_where_the_particle_was() {
    let mut rng = Rng::new(48);
    for round in 0..200 {
        let particles: Vec<_> = (0..16).map(|_| random_particle(&mut rng)).collect();
        let mut cloth = chain(particles, vec![1.0; 15]);
        cloth.previous_positions = (0..16).map(|_| rng.point(-1.0, 1.0)).collect();
        cloth.config.max_speed = Some(rng.range(0.0, 600.0));
        let got = after_stage(&cloth, Stage::LimitSpeed);
        let frequency = f64::from(cloth.config.solver.as_pbd().unwrap().frequency);
        let max_move = f64::from(cloth.config.max_speed.unwrap()) / frequency;
        for (i, (&particle, previous)) in
            cloth.particles.iter().zip(&cloth.previous_positions).enumerate()
        {
            let before = previous.map(f64::from);
            let is_pin = particle.inverse_mass == 0.0;
            let expected = if is_pin {
                wide(particle)
            } else {
                keep_inside(wide(particle), before, max_move, 1.0)
            };
            assert_near(&format!("round {round}, particle {i}"), got[i], expected, 4.0);
            assert_eq!(got[i][3], particle.inverse_mass);
        }
    }
}

#[test]
fn motion_equals_the_sphere_that_may_not_be_left() {
    let mut rng = Rng::new(43);
    for round in 0..200 {
        let particles: Vec<_> = (0..16).map(|_| random_particle(&mut rng)).collect();
        let spheres: Vec<_> = (0..16).map(|_| random_sphere(&mut rng)).collect();
        let mut cloth = chain(particles, vec![1.0; 15]);
        cloth.config.motion.scale = rng.range(0.0, 2.0);
        cloth.config.motion.bias = rng.range(-0.3, 0.3);
        cloth.config.motion.stiffness = rng.range(0.1, 1.0);
        let got = after_stage_with(&cloth, Stage::Motion, |host| {
            host.set_motion_spheres(cast_slice(&spheres)).unwrap()
        });
        let exponent =
            cloth.config.stiffness_frequency / cloth.config.solver.as_pbd().unwrap().frequency;
        let stiffness = f64::from(effective_stiffness(
            stiffness_to_log2(cloth.config.motion.stiffness),
            exponent,
        ));
        for (i, (&particle, &sphere)) in cloth.particles.iter().zip(&spheres).enumerate() {
            let radius = f64::from(sphere[3]) * f64::from(cloth.config.motion.scale)
                + f64::from(cloth.config.motion.bias);
            let expected = keep_inside(wide(particle), wide(sphere), radius, stiffness);
            let scale = sphere_scale(wide(particle), wide(sphere), radius);
            assert_near(&format!("round {round} particle {i}"), got[i], expected, scale);
            let is_held = radius <= 0.0;
            assert_eq!(
                got[i][3],
                if is_held { 0.0 } else { particle.inverse_mass },
                "round {round} particle {i}, radius {radius}"
            );
        }
    }
}

#[test]
fn separation_equals_the_sphere_that_may_not_be_entered() {
    let mut rng = Rng::new(47);
    for round in 0..200 {
        let particles: Vec<_> = (0..16).map(|_| random_particle(&mut rng)).collect();
        let spheres: Vec<_> = (0..16).map(|_| random_sphere(&mut rng)).collect();
        let cloth = chain(particles, vec![1.0; 15]);
        let got = after_stage_with(&cloth, Stage::Separation, |host| {
            host.set_separation_spheres(cast_slice(&spheres)).unwrap()
        });
        for (i, (&particle, &sphere)) in cloth.particles.iter().zip(&spheres).enumerate() {
            let radius = f64::from(sphere[3]);
            let expected = keep_outside(wide(particle), wide(sphere), radius);
            let scale = sphere_scale(wide(particle), wide(sphere), radius);
            assert_near(&format!("round {round} particle {i}"), got[i], expected, scale);
            assert_eq!(got[i][3], particle.inverse_mass, "separation changes no mass");
        }
    }
}

#[test]
fn degenerate_spheres_hold_leave_or_move_even_pins() {
    let here = [0.25, -0.5, 0.75, 2.0];
    let pin = [1.0, 0.0, 0.0, 0.0];
    let cloth = chain(vec![here, pin], vec![1.0]);
    let motion = |a: [f32; 4], b: [f32; 4]| {
        after_stage_with(&cloth, Stage::Motion, |host| {
            host.set_motion_spheres(&[a, b].map(Sphere::from)).unwrap()
        })
    };
    let separation = |a: [f32; 4], b: [f32; 4]| {
        after_stage_with(&cloth, Stage::Separation, |host| {
            host.set_separation_spheres(&[a, b].map(Sphere::from)).unwrap()
        })
    };
    let around = |p: [f32; 4], radius: f32| [p[0], p[1], p[2], radius];
    assert_eq!(motion(around(here, 1.0), around(pin, 1.0)), [here, pin], "at the center");
    assert_eq!(
        motion(around(here, 0.0), around(pin, -1.0)),
        [around(here, 0.0), pin],
        "no radius holds without a move"
    );
    assert_eq!(
        separation(around(here, 1.0), around(pin, 1.0)),
        [here, pin],
        "at the center there is no exit"
    );
    assert_eq!(
        separation(around(pin, 0.0), around(here, -1.0)),
        [here, pin],
        "no radius keeps nothing out"
    );
    let pulled = motion(around(here, 1.0), [3.0, 0.0, 0.0, 1.0])[1];
    assert!(
        pulled[0] > 1.9 && pulled[0] < 2.0 && pulled[3] == 0.0,
        "a pin is pulled by 0.948 of its distance: {pulled:?}"
    );
    let pushed = separation(around(pin, 0.0), [1.5, 0.0, 0.0, 1.0])[1];
    assert!(
        (pushed[0] - 0.5).abs() < 8.0 * f32::EPSILON && pushed[3] == 0.0,
        "a pin is pushed to the surface: {pushed:?}"
    );
}

/// Length of one step of the XPBD tests \[s\]: one iteration of [`after_stage`].
const STEP: f64 = 1.0 / 300.0;

/// A fiber whose particles have moved since the last step; now and then with an edge that is hardly there, or not at all.
fn wild_chain(rng: &mut Rng, edges: usize) -> Cloth {
    let mut particles: Vec<_> = (0..=edges).map(|_| random_particle(rng)).collect();
    for i in 1..particles.len() {
        let shift = [1e-3, 1e-5, 0.0].get(rng.index(30)).copied();
        if let Some(shift) = shift {
            particles[i] = [
                particles[i - 1][0] + shift,
                particles[i - 1][1],
                particles[i - 1][2],
                particles[i][3],
            ];
        }
    }
    let mut cloth = chain(
        particles,
        (0..edges).map(|_| if rng.index(20) == 0 { 0.0 } else { rng.range(0.05, 2.0) }).collect(),
    );
    cloth.previous_positions = cloth
        .particles
        .iter()
        .map(|p| std::array::from_fn(|k| p.position[k] + rng.range(-0.1, 0.1)))
        .collect();
    cloth
}

/// Leaves at most one pin: between two a stiff fiber is not solved as a whole.
fn keep_one_pin(cloth: &mut Cloth, rng: &mut Rng) {
    let only = rng.index(2 * cloth.particles.len());
    cloth
        .particles
        .iter_mut()
        .enumerate()
        .filter(|(i, _)| *i != only)
        .for_each(|(_, p)| p.inverse_mass = p.inverse_mass.max(0.01));
}

/// Such a fiber for XPBD.
fn compliant_chain(rng: &mut Rng, edges: usize) -> Cloth {
    let mut cloth = wild_chain(rng, edges);
    let (compliance, damping): (f32, f32) =
        ([0.0, 1e-7, 1e-5, 1e-3, 1.0][rng.index(5)], [0.0, 1.0, 1000.0][rng.index(3)]);
    let damping = if compliance > 0.0 { damping } else { 0.0 };
    if compliance < 1e-3 || damping > 0.0 {
        keep_one_pin(&mut cloth, rng);
    }
    cloth.config.solver = xpbd(XpbdPhase { fiber_solver: None, compliance, damping });
    cloth
}

/// Such a fiber for PBD, solved as a whole, with a stiffness and in half of the rounds a soft range.
fn stiff_chain(rng: &mut Rng, edges: usize) -> Cloth {
    let mut cloth = wild_chain(rng, edges);
    keep_one_pin(&mut cloth, rng);
    let whole = PbdPhase { fiber_solver: Some(FiberSolver::SemiImplicit), ..PbdPhase::default() };
    let stiffness = [1.0, rng.range(0.05, 1.0)][rng.index(2)];
    let soft = PbdPhase {
        // 0 lets an edge in its range go as far as the log map can.
        stiffness_multiplier: [0.0, rng.range(0.0, 1.0)][rng.index(2)],
        compression_limit: rng.range(0.4, 1.0),
        stretch_limit: rng.range(1.0, 2.5),
        ..whole
    };
    cloth.config.solver = pbd(PbdPhase { stiffness, ..[whole, soft][rng.index(2)] });
    cloth
}

/// One fiber of a cloth with one phase as the oracle solves it.
fn solve_dense(cloth: &Cloth, fiber: usize) -> ChainSolution {
    let (config, elastic) = first_phase(cloth);
    let (compliance, damping) = (f64::from(elastic.compliance), f64::from(elastic.damping));
    let exponent = (f64::from(cloth.config.stiffness_frequency) * STEP) as f32;
    let is_xpbd = cloth.config.solver.is_xpbd();
    let soft = SoftRange {
        multiplier: f64::from(effective_stiffness(
            stiffness_to_log2(1.0 - config.stiffness_multiplier),
            exponent,
        )),
        compression_limit: f64::from(config.compression_limit),
        stretch_limit: f64::from(config.stretch_limit),
    };
    let fabric = &cloth.fabric;
    let vertices = || fabric.fiber_vertices(fiber).iter().map(|&vertex| vertex as usize);
    let edges =
        fabric.fiber_edge_begin[fiber] as usize..fabric.fiber_edge_begin[fiber + 1] as usize;
    solve_chain(&Chain {
        positions: &vertices().map(|i| wide(cloth.particles[i])).collect::<Vec<_>>(),
        previous: &vertices()
            .map(|i| cloth.previous_positions[i].map(f64::from))
            .collect::<Vec<_>>(),
        inverse_masses: &vertices()
            .map(|i| f64::from(cloth.particles[i].inverse_mass))
            .collect::<Vec<_>>(),
        rest_lengths: &fabric.rest_lengths[edges].iter().map(|&x| f64::from(x)).collect::<Vec<_>>(),
        compliance: compliance / (STEP * STEP),
        damping: compliance * damping / STEP,
        stiffness: if is_xpbd {
            1.0
        } else {
            f64::from(effective_stiffness(stiffness_to_log2(config.stiffness), exponent))
        },
        soft: (!is_xpbd).then_some(soft),
    })
}

/// Holds the particles of a fiber to what the oracle says, as far as the system is well conditioned; whether it is well enough
/// to see a fault of 0.4 %, and how far the particles were to move.
fn assert_solved(what: &str, cloth: &Cloth, fiber: usize, got: &[[f32; 4]]) -> (bool, f64) {
    assert!(got.iter().flatten().all(|x| x.is_finite()), "{what}: {got:?}");
    let expected = solve_dense(cloth, fiber);
    if expected.positions.iter().flatten().any(|x| !x.is_finite()) {
        return (false, 0.0); // Two pins in one place and no compliance: there is no solution.
    }
    let vertices = cloth.fabric.fiber_vertices(fiber);
    let position = |i: u32| wide(cloth.particles[i as usize]);
    // A system A lambda = r solved from A + dA and r + dr has an error of |A^-1| (dr + dA |lambda|). Positions of 1 m yield
    // dr = 1, and so does damping; directions of edges of 1e-5 m are good to 0.01 themselves, but such an edge is held by
    // its neighbours' directions only as far as they are, so that they count as dA = |A| / length.
    let lengths =
        vertices.windows(2).map(|pair| length(minus(position(pair[1]), position(pair[0]))));
    let shortest = lengths.filter(|&x| x > 0.0).fold(1.0, f64::min);
    let (_, elastic) = first_phase(cloth);
    let right = 1.0 + f64::from(elastic.compliance) * f64::from(elastic.damping) / STEP;
    let error = expected.inverse_norm * (right + expected.norm * expected.multiplier / shortest);
    let (mut is_sharp, mut farthest) = (true, 0.0f64);
    for (&i, &position) in vertices.iter().zip(&expected.positions) {
        let before = cloth.particles[i as usize];
        let scale = 2.0 + f64::from(before.inverse_mass) * (error + expected.multiplier / shortest);
        is_sharp &= scale < 1e3;
        assert_near(&format!("{what} particle {i}"), got[i as usize], position, scale);
        farthest = farthest.max(length(minus(position, wide(before))));
    }
    (is_sharp, farthest)
}

#[test]
fn whole_fibers_equal_the_dense_system_of_their_edges() {
    let mut rng = Rng::new(71);
    let (mut sharp, mut farthest) = ([[0; 2]; 2], 0.0f64);
    for round in 0..600 {
        let is_xpbd = round % 2 == 0;
        let edges = 1 + rng.index([8, 64, if round % 20 == 2 { 256 } else { 30 }][round % 3]);
        let mut cloth =
            if is_xpbd { compliant_chain(&mut rng, edges) } else { stiff_chain(&mut rng, edges) };
        for (k, stage) in [Stage::SemiImplicit, Stage::CyclicReduction].into_iter().enumerate() {
            if k == 1 && cloth.particles.iter().filter(|p| p.is_pinned()).count() > 1 {
                continue; // Not for cyclic reduction.
            }
            let solver = [FiberSolver::SemiImplicit, FiberSolver::CyclicReduction][k];
            cloth.config.solver.set_fiber_solver(Some(solver));
            let got = after_stage(&cloth, stage);
            let (is_sharp, displacement) =
                assert_solved(&format!("{stage:?} round {round}, {edges} edges,"), &cloth, 0, &got);
            sharp[k][usize::from(is_xpbd)] += usize::from(is_sharp);
            farthest = farthest.max(displacement);
        }
    }
    let is_enough = sharp.iter().flatten().all(|&rounds| rounds > 60);
    assert!(
        is_enough && farthest > 0.1,
        "only {sharp:?} rounds were sharp, the farthest move {farthest} m"
    );
}

#[test]
fn an_edge_by_gauss_seidel_gives_way_by_its_compliance() {
    let mut rng = Rng::new(73);
    let mut sharp = 0;
    for round in 0..200 {
        let mut cloth = compliant_chain(&mut rng, 1);
        if length(minus(wide(cloth.particles[0]), wide(cloth.particles[1]))) < 0.05 {
            continue; // EPSILON, which Gauss-Seidel adds to squared lengths, counts.
        }
        cloth.config.solver.set_fiber_solver(Some(FiberSolver::GaussSeidel));
        let got = after_stage(&cloth, Stage::GaussSeidel);
        sharp += usize::from(assert_solved(&format!("round {round}"), &cloth, 0, &got).0);
    }
    assert!(sharp > 100, "only {sharp} rounds were sharp");
}

#[test]
fn cyclic_reduction_leaves_fibers_of_two_pins_and_cloths_with_motion_spheres_to_the_walk() {
    let mut cloth = chain((0..9).map(|i| [i as f32, 0.0, 0.0, 1.0]).collect(), vec![1.1; 8]);
    cloth.config.solver.set_fiber_solver(Some(FiberSolver::CyclicReduction));
    let stages = |cloth: &Cloth, spheres: &[[f32; 4]]| {
        let mut host = HostCloth::new(cloth.clone()).unwrap();
        host.live_mut().set_motion_spheres(cast_slice(spheres)).unwrap();
        host.input_len();
        [Stage::CyclicReduction, Stage::SemiImplicit].map(|stage| host.stages().contains(stage))
    };
    cloth.particles[4].inverse_mass = 0.0;
    assert_eq!(stages(&cloth, &[]), [true, false], "one pin");
    assert_eq!(stages(&cloth, &[[0.0, 0.0, 0.0, 1.0]; 9]), [false, true], "motion spheres");
    cloth.particles[8].inverse_mass = 0.0;
    assert_eq!(stages(&cloth, &[]), [false, true], "two pins");
}

#[test]
fn whole_fibers_stay_finite_whatever_the_masses_places_and_lengths() {
    let mut rng = Rng::new(77);
    for round in 0..3000 {
        let edges = 1 + rng.index([4, 40][round % 2]);
        let mut pick = |values: &[f32]| values[rng.index(values.len())];
        let particles: Vec<[f32; 4]> = (0..=edges)
            .map(|_| {
                let position = std::array::from_fn::<_, 3, _>(|_| {
                    pick(&[0.0, 1e-20, 1e-3, 1.0, -1.0, 1e6, 1e15, -1e15])
                });
                [
                    position[0],
                    position[1],
                    position[2],
                    pick(&[0.0, 1e-15, 1e-6, 1.0, 1.0, 1e6, 1e15]),
                ]
            })
            .collect();
        let lengths = (0..edges).map(|_| pick(&[0.0, 1e-9, 1e-3, 1.0, 1e6])).collect();
        let mut cloth = chain(particles, lengths);
        for stage in [Stage::SemiImplicit, Stage::CyclicReduction] {
            let solver = if stage == Stage::SemiImplicit {
                FiberSolver::SemiImplicit
            } else {
                FiberSolver::CyclicReduction
            };
            cloth.config.solver.set_fiber_solver(Some(solver));
            let got = after_stage(&cloth, stage);
            assert!(
                got.iter().flatten().all(|x| x.is_finite()),
                "{stage:?} round {round}: {:?} {got:?}",
                cloth.particles
            );
        }
    }
}

#[test]
fn fibers_of_a_set_are_solved_apart_by_cyclic_reduction() {
    let mut sharp = 0;
    for seed in 0..20 {
        let mut cloth = random_ropes(seed, 150 + 4 * seed as u32);
        // The first set only: the next one starts from what this one left.
        let fabric = Arc::make_mut(&mut cloth.fabric);
        fabric.set_fiber_begin.truncate(2);
        fabric.fiber_edge_begin.truncate(fabric.set_fiber_begin[1] as usize + 1);
        fabric.rest_lengths.truncate(*fabric.fiber_edge_begin.last().unwrap() as usize);
        fabric.fiber_vertices.truncate(fabric.edge_count() + fabric.fiber_count());
        fabric.phases = vec![Phase { kind: PhaseKind::Vertical, set_begin: 0, set_end: 1 }];
        cloth.phase_order.truncate(1);
        match &mut cloth.config.solver {
            Solver::Pbd(pbd) => pbd.phases.single.truncate(1),
            Solver::Xpbd(xpbd) => xpbd.phases.single.truncate(1),
            Solver::Implicit(_) => {}
        }
        let got = after_stage(&cloth, Stage::CyclicReduction);
        for fiber in 0..cloth.fabric.fiber_count() {
            sharp += usize::from(
                assert_solved(&format!("seed {seed} fiber {fiber}"), &cloth, fiber, &got).0,
            );
        }
    }
    assert!(sharp > 20, "only {sharp} fibers were sharp");
}

#[test]
fn a_fiber_of_one_edge_is_plain_xpbd_and_pins_part_a_fiber() {
    let mut cloth = chain(vec![[0.0, 0.0, 0.0, 1.0], [1.5, 0.0, 0.0, 2.0]], vec![1.0]);
    let compliance = (6.0 * STEP * STEP) as f32;
    cloth.config.solver = xpbd(XpbdPhase { compliance, ..XpbdPhase::default() });
    let got = after_stage(&cloth, Stage::SemiImplicit);
    // lambda = -0.5 / (1 + 2 + 6)
    assert_near("left", got[0], [0.5 / 9.0, 0.0, 0.0], 1.0);
    assert_near("right", got[1], [1.5 - 1.0 / 9.0, 0.0, 0.0], 1.0);
    let still =
        [[0.0, 0.0, 0.0, 0.0], [3.0, 0.0, 0.0, 0.0], [3.0, 0.0, 0.0, 1.0], [3.0, 1.0, 0.0, 1.0]];
    cloth = chain(still.to_vec(), vec![1.0, 0.5, 1.0]);
    cloth.config.solver = Solver::xpbd(1);
    assert_eq!(
        after_stage(&cloth, Stage::SemiImplicit),
        still,
        "pins, an edge without length, an edge at rest"
    );
}

#[test]
fn a_straight_fiber_between_two_pins_stays_finite_and_between_them() {
    // Without compliance its edges contradict each other: the last pivot is 0.
    let particles: Vec<_> =
        (0..=8).map(|i| [i as f32, 0.0, 0.0, if i % 8 == 0 { 0.0 } else { 1.0 }]).collect();
    let mut cloth = chain(particles, vec![0.75; 8]);
    cloth.config.solver = Solver::xpbd(1);
    let got = after_stage(&cloth, Stage::SemiImplicit);
    assert!(got.iter().all(|p| (0.0..=8.0).contains(&p[0]) && p[1] == 0.0), "{got:?}");
    // Near straight the errors of the edges, 0.25 m each, and 2 m in all, would throw particles across by metres.
    for i in 1..8 {
        cloth.particles[i].position[1] = [0.01, -0.01][i % 2];
    }
    let got = after_stage(&cloth, Stage::SemiImplicit);
    assert!(got.iter().all(|p| p[1].abs() < 0.5), "{got:?}");
}

/// Two triangles over an edge, with heights of 0.1 m and more, whose particles have moved since the last step.
fn hinge(rng: &mut Rng) -> Cloth {
    let base = rng.point(-0.5, 0.5);
    let axis = rng.point(-1.0, 1.0).map(f64::from);
    let axis = axis.map(|x| x / length(axis).max(1e-3));
    let other = if axis[0].abs() < 0.6 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
    let across: [f64; 3] = std::array::from_fn(|k| {
        axis[(k + 1) % 3] * other[(k + 2) % 3] - axis[(k + 2) % 3] * other[(k + 1) % 3]
    });
    let across = across.map(|x| x / length(across));
    let mut wing = |angle: f64| {
        let arm = rotated(across, axis, angle);
        let (along, height) = (f64::from(rng.range(-0.5, 1.0)), f64::from(rng.range(0.1, 1.0)));
        std::array::from_fn::<f32, 3, _>(|k| {
            (f64::from(base[k]) + axis[k] * along + arm[k] * height) as f32
        })
    };
    let positions =
        [base, std::array::from_fn(|k| base[k] + 0.7 * axis[k] as f32), wing(0.0), wing(0.0)];
    let rotation = f64::from(rng.range(0.0, 6.2));
    let last = wing_at(positions[3], base, axis, rotation);
    let mass = |rng: &mut Rng| if rng.index(5) == 0 { 0.0 } else { rng.range(0.01, 20.0) };
    let particles =
        [positions[0], positions[1], positions[2], last].map(|[x, y, z]| [x, y, z, mass(rng)]);
    let fabric = Fabric {
        particle_count: 4,
        bends: vec![Bend {
            particles: [0, 1, 2, 3],
            rest_angle: rng.range(-3.13, 3.13),
            weight: rng.range(0.1, 4.0),
            wings: Default::default(),
        }],
        bend_set_ends: vec![1],
        ..Fabric::default()
    };
    let mut cloth = Cloth::new(Arc::new(fabric), particles.to_vec());
    cloth.previous_positions = cloth
        .particles
        .iter()
        .map(|p| std::array::from_fn(|k| p.position[k] + rng.range(-0.1, 0.1)))
        .collect();
    cloth.config.solver = Solver::Xpbd(Xpbd {
        substeps: 1,
        bending_rigidity: [1e-3, 1.0, 30.0, 1e3, 1e5][rng.index(5)],
        bending_damping: [0.0, 1e-3, 1.0][rng.index(3)],
        ..Xpbd::default()
    });
    cloth
}

fn wing_at(position: [f32; 3], base: [f32; 3], axis: [f64; 3], angle: f64) -> [f32; 3] {
    let arm = rotated(minus(position.map(f64::from), base.map(f64::from)), axis, angle);
    std::array::from_fn(|k| (f64::from(base[k]) + arm[k]) as f32)
}

#[test]
fn a_bend_equals_xpbd_with_the_angle_and_its_differences() {
    let mut rng = Rng::new(73);
    let mut farthest = 0.0f64;
    for round in 0..500 {
        let cloth = hinge(&mut rng);
        let got = after_stage(&cloth, Stage::Bend);
        let bend = cloth.fabric.bends[0];
        let positions: [[f64; 3]; 4] = std::array::from_fn(|i| wide(cloth.particles[i]));
        let solver = cloth.config.solver.as_xpbd().unwrap();
        let stiffness = f64::from(solver.bending_rigidity) * f64::from(bend.weight);
        let damping = f64::from(solver.bending_damping) / f64::from(solver.bending_rigidity) / STEP;
        let step = BendStep {
            previous: std::array::from_fn(|i| cloth.previous_positions[i].map(f64::from)),
            inverse_masses: std::array::from_fn(|i| f64::from(cloth.particles[i].inverse_mass)),
            rest_angle: f64::from(bend.rest_angle),
            compliance: 1.0 / (stiffness * STEP * STEP),
            damping,
        };
        let expected = solve_bend(positions, &step);
        let gradient = bend_gradient(positions, 1e-6);
        for i in 0..4 {
            // Positions of 1 m make the angle and the displacement good to the gradient of 10/m, and the gradient, which goes by the square
            // of a height of 0.1 m, to 100 times itself over that of the moves; the largest multiplier is the limit of all.
            let slope = gradient.iter().map(|&g| length(g)).fold(0.0, f64::max);
            let moved = length(minus(expected[i], positions[i]));
            let mobility: f64 =
                (0..4).map(|i| step.inverse_masses[i] * length(gradient[i]).powi(2)).sum();
            let rest = (1.0 + damping) * mobility + (step.compliance - 0.5 * mobility).max(0.0);
            let of_error = step.inverse_masses[i] * length(gradient[i]) * slope * (1.0 + damping)
                / rest.max(1e-30);
            let scale = 2.0 + 2.0 * of_error + 4.0 * slope * moved;
            assert_near(&format!("round {round} particle {i}"), got[i], expected[i], scale);
            farthest = farthest.max(moved);
        }
    }
    assert!(farthest > 0.1, "no bend moved anything far enough to be tested: {farthest}");
}

#[test]
fn the_angle_is_that_of_the_fold_and_goes_around_without_a_jump_but_at_pi() {
    let at = |angle: f64| {
        bend_angle([[0.0; 3], [1.0, 0.0, 0.0], [0.3, 1.0, 0.0], [0.6, -angle.cos(), -angle.sin()]])
    };
    for k in -31..=31 {
        let angle = 0.1 * f64::from(k);
        assert!((at(angle) - angle).abs() < 1e-12, "{angle}: {}", at(angle));
    }
    // The stage drives an angle beyond pi back along the shorter arc.
    for (angle, rest) in [(3.1f64, -3.1f32), (-3.1, 3.1), (3.1, 3.0), (0.0, 0.1)] {
        let wing = [0.6, -angle.cos() as f32, -angle.sin() as f32, 1.0];
        let fabric = Fabric {
            particle_count: 4,
            bends: vec![Bend {
                particles: [0, 1, 2, 3],
                rest_angle: rest,
                weight: 1.0,
                wings: Default::default(),
            }],
            bend_set_ends: vec![1],
            ..Fabric::default()
        };
        let mut cloth = Cloth::new(
            Arc::new(fabric),
            vec![[0.0; 4], [1.0, 0.0, 0.0, 0.0], [0.3, 1.0, 0.0, 0.0], wing],
        );
        cloth.config.solver = Xpbd { substeps: 1, bending_rigidity: 1e6, ..Xpbd::default() }.into();
        let got = after_stage(&cloth, Stage::Bend);
        let after = bend_angle(std::array::from_fn(|i| wide(got[i])));
        let away = (after - f64::from(rest)).rem_euclid(std::f64::consts::TAU);
        assert!(
            away.min(std::f64::consts::TAU - away) < 1e-3,
            "from {angle} towards {rest}: {after}"
        );
    }
}

#[test]
fn degenerate_bends_move_nothing_and_folded_ones_stay_finite() {
    let run = |c: [f32; 3], d: [f32; 3], rest_angle: f32| {
        let mut cloth =
            Cloth::new(Arc::default(), vec![[0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]]);
        cloth.particles.extend([c, d].map(|position| Particle { position, inverse_mass: 1.0 }));
        let bends = vec![Bend {
            particles: [0, 1, 2, 3],
            rest_angle,
            weight: 1.0,
            wings: Default::default(),
        }];
        cloth.fabric = Arc::new(Fabric {
            particle_count: 4,
            bends,
            bend_set_ends: vec![1],
            ..Fabric::default()
        });
        cloth.config.solver = Xpbd { substeps: 1, bending_rigidity: 1e5, ..Xpbd::default() }.into();
        let got = after_stage(&cloth, Stage::Bend);
        assert!(got.iter().flatten().all(|x| x.is_finite()), "{got:?}");
        (got != Particle::rows(&cloth.particles), got)
    };
    assert!(!run([0.5, 1.0, 0.0], [0.5, -1.0, 0.0], 0.0).0, "flat at rest");
    assert!(!run([0.5, 0.0, 0.0], [0.5, -1.0, 0.0], 1.0).0, "no area");
    assert!(!run([0.5, 1e-6, 0.0], [0.5, -1.0, 0.0], 1.0).0, "hardly any area");
    assert!(run([0.5, 1e-4, 0.0], [0.5, -1.0, 0.0], 1.0).0, "small, but an area");
    for rest in [0.0, 1.0, -1.0] {
        let (is_moved, got) = run([0.5, 1.0, 0.0], [0.5, 1.0, 0.0], rest);
        assert!(is_moved, "folded onto itself");
        // From pi the shorter arc leads up to 1 and down to -1: the wings part to the sides that the sign says.
        assert!(
            rest == 0.0 || (got[2][2] - got[3][2]).signum() == rest.signum(),
            "{rest}: {got:?}"
        );
    }
}

#[test]
fn free_fibers_and_bends_keep_momentum_and_angular_momentum() {
    let mut rng = Rng::new(79);
    for round in 0..200 {
        let edges = 1 + rng.index(20);
        let mut cloth = match round % 3 {
            0 => compliant_chain(&mut rng, edges),
            1 => stiff_chain(&mut rng, edges),
            _ => hinge(&mut rng),
        };
        cloth.particles.iter_mut().for_each(|p| p.inverse_mass = p.inverse_mass.max(0.1));
        let stage = match round % 6 {
            0 | 1 => Stage::SemiImplicit,
            3 | 4 => {
                cloth.config.solver.set_fiber_solver(Some(FiberSolver::CyclicReduction));
                Stage::CyclicReduction
            }
            _ => Stage::Bend,
        };
        let got = after_stage(&cloth, stage);
        let (mut sum, mut moment, mut size) = ([0.0; 3], [0.0; 3], 0.0f64);
        for (before, after) in cloth.particles.iter().zip(&got) {
            let (x, mass) = (wide(*before), 1.0 / f64::from(before.inverse_mass));
            let impulse = minus(wide(*after), x).map(|displacement| mass * displacement);
            for k in 0..3 {
                sum[k] += impulse[k];
                moment[k] +=
                    x[(k + 1) % 3] * impulse[(k + 2) % 3] - x[(k + 2) % 3] * impulse[(k + 1) % 3];
            }
            // A position is good to EPSILON, the impulse of a constraint to some EPSILON of itself.
            size += mass + length(impulse);
        }
        let allowed = 8.0 * f64::from(f32::EPSILON) * size;
        assert!(
            length(sum) < allowed && length(moment) < 2.0 * allowed,
            "round {round}: {sum:?} {moment:?} above {allowed:e}"
        );
    }
}
