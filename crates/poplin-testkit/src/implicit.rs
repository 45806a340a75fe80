//! Cloths with known solutions for the implicit solver, and its energies in `f64`.
//!
//! `tests/cpu/implicit` checks some of them; the example `implicit_validation` prints all.

use std::sync::Arc;

use poplin::{Backend, Simulation, State};
use poplin_cook::{CookOptions, Tethers, cook};
use poplin_model::{
    Bend, BendModel, ClothConfig, ClothDesc, Implicit, ImplicitReport, Mesh, Particle, PhaseKind,
    Solver, StretchModel,
};
use poplin_oracle::implicit::{
    Element, FaceAngle, ImplicitCloth, Isometric, Law, PlaneProjection, Spring, StretchShear,
    Trispring,
};

use crate::beams::{G, GREENHILL, SIGMA, bowed, damping, edge_on_end, strip};
use crate::nth_cloth;
use poplin_geometry::Rng;

/// Frame rate of all measurements without one of their own [1/s].
const FRAME_RATE: f64 = 60.0;

/// Creates a grid in the x-z plane, cooked for the implicit solver.
pub fn sheet(columns: u32, rows: u32, width: f32, depth: f32, pins: Vec<u32>) -> ClothDesc {
    let options = CookOptions {
        density: SIGMA as f32,
        pins,
        tethers: Tethers::None,
        // Two-ring edges only act with the spring bending model.
        bending: true,
        bends: true,
        ..CookOptions::default()
    };
    cook(&Mesh::grid(columns, rows, width, depth), &options).expect("a grid cooks").into_cloth()
}

/// Returns the cloth with the implicit solver.
pub fn solved(mut cloth: ClothDesc, implicit: Implicit) -> ClothDesc {
    cloth.config.solver = implicit.into();
    cloth
}

/// Creates a simulation of one cloth on the CPU.
pub fn simulation(cloth: ClothDesc) -> Simulation {
    let mut simulation = Simulation::new(Backend::Cpu).expect("there is a CPU");
    simulation.add(cloth).expect("the cloth is valid");
    simulation
}

/// State of a cloth after a number of frames.
pub fn simulate(cloth: ClothDesc, frames: u32, dt: f64) -> State {
    let mut simulation = simulation(cloth);
    for _ in 0..frames {
        simulation.step(dt as f32).expect("the frame is valid");
    }
    simulation.state().expect("the state is there")
}

/// Solver report of the only cloth.
pub fn report(state: &State) -> ImplicitReport {
    state.implicit_report(nth_cloth(0))
}

/// Positions of the only cloth \[m\].
pub fn positions(state: &State) -> Vec<[f64; 3]> {
    state.current(nth_cloth(0)).iter().map(|p| p.position.map(f64::from)).collect()
}

/// Measured value with the solver report of the steps that led to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Measured value.
    pub value: f64,
    /// Solver report.
    pub report: ImplicitReport,
}

impl Measured {
    fn new(state: &State, value: f64) -> Self {
        Self { value, report: report(state) }
    }

    /// Fraction of steps that were taken without convergence.
    pub fn unsolved(&self) -> f64 {
        f64::from(self.report.unconverged) / f64::from(self.report.steps.max(1))
    }
}

// ---- stretch ----

/// Settings of [`hung`]: K 100 N/m, no shear.
pub fn hung_settings(stretch: StretchModel, substeps: u32) -> Implicit {
    Implicit {
        substeps,
        stretch,
        stretch_stiffness: [100.0; 2],
        shear_stiffness: 0.0,
        poisson_ratio: 0.0,
        tolerance: 0.01,
        max_iterations: 400,
        ..Implicit::default()
    }
}

/// State of a strip of 1 m and 41 rows that has hung by its upper end for 3 s.
pub fn hung(implicit: Implicit, columns: u32, width: f32) -> State {
    let mut cloth = sheet(columns, 41, width, 1.0, (0..columns).collect());
    // Rotate the sheet so that z points down.
    for particle in &mut cloth.particles {
        let [x, y, z] = particle.position;
        particle.position = [x, -z, y];
    }
    cloth.config.damping = [0.6; 3];
    simulate(solved(cloth, implicit), 180, 1.0 / FRAME_RATE)
}

/// Elongation of a hanging strip of 5 columns and 0.1 m \[m\].
pub fn elongation(implicit: Implicit) -> Measured {
    let state = hung(implicit, 5, 0.1);
    let lowest = positions(&state).iter().map(|p| p[1]).fold(f64::MAX, f64::min);
    Measured::new(&state, -1.0 - lowest)
}

/// Width at half height of a hanging strip of 9 columns and 0.2 m, relative to its rest width.
pub fn width_ratio(implicit: Implicit) -> Measured {
    let state = hung(implicit, 9, 0.2);
    let row: Vec<_> = positions(&state)[9 * 20..9 * 21].iter().map(|p| p[0]).collect();
    Measured::new(&state, (row[8] - row[0]) / 0.2)
}

/// Force along x that holds the far edge of a square of 1 m sheared by 0.1 \[N\], from the motion
/// of that edge in a step of 1/600 s.
///
/// The five particles of that edge are heavy enough to move only by a few tenths of a millimeter.
/// Extrapolating from two masses removes the error of this displacement.
pub fn shear_force(implicit: Implicit) -> f64 {
    let h = 1.0 / 600.0f32;
    let force = |inverse_mass: f32| {
        let mut cloth = sheet(5, 2, 1.0, 1.0, (0..5).collect());
        for particle in &mut cloth.particles {
            particle.position[0] += 0.1 * particle.position[2];
        }
        for particle in &mut cloth.particles[5..] {
            particle.inverse_mass = inverse_mass;
        }
        cloth.config.gravity = [0.0; 3];
        let before: Vec<_> = cloth.particles[5..].iter().map(|p| p.position[0]).collect();
        let implicit =
            Implicit { substeps: 1, tolerance: 1e-4, max_iterations: 400, ..implicit.clone() };
        let after = positions(&simulate(solved(cloth, implicit), 1, h.into()));
        let moved = after[5..].iter().zip(before).map(|(x, before)| f64::from(before) - x[0]);
        moved.sum::<f64>() / (f64::from(h).powi(2) * f64::from(inverse_mass))
    };
    // Richardson extrapolation: the error is linear in the inverse mass.
    2.0 * force(15.0) - force(30.0)
}

/// Force along x of springs with K = 1000 N/m and G = 300 N/m in cells of 0.25 m by 1 m sheared by
/// `gamma` \[N\].
pub fn sheared_springs(gamma: f64) -> f64 {
    let (width, height) = (0.25f64, 1.0f64);
    let energy = |gamma: f64| {
        let spring =
            |k: f64, x: f64, y: f64| 0.5 * k * ((x + gamma * y).hypot(y) - x.hypot(y)).powi(2);
        let diagonal = 300.0 * (width.powi(2) + height.powi(2)) / (2.0 * width * height);
        let of_cell = spring(diagonal, width, height) + spring(diagonal, -width, height);
        4.0 * (of_cell + spring(1000.0 * width / height, 0.0, height))
    };
    let step = 1e-5;
    // Central difference: force = dE/dgamma for a height of 1 m.
    (energy(gamma + step) - energy(gamma - step)) / (2.0 * step)
}

// ---- bending ----

/// Settings of a beam of 1 m with the load `w L^3 / B` and nearly inextensible threads.
pub fn beam(load: f64, substeps: u32, bend: BendModel) -> Implicit {
    Implicit {
        substeps,
        bend,
        stretch_stiffness: [1000.0; 2],
        shear_stiffness: 300.0,
        bending_rigidity: (SIGMA * G / load) as f32,
        tolerance: 0.003,
        max_iterations: 1000,
        ..Implicit::default()
    }
}

/// Relative drop of the tip of a strip of `segments` segments clamped level, after `frames` frames;
/// as in `tests/cpu/xpbd`.
pub fn cantilever(segments: u32, implicit: Implicit, frames: u32) -> Measured {
    let edge = 1.0 / f64::from(segments);
    let mut cloth = strip(segments + 1, edge, |along, side| [along - edge - 0.5, 0.0, side], 2);
    cloth.config =
        ClothConfig { solver: implicit.into(), damping: damping(8.0), ..ClothConfig::default() };
    let state = simulate(cloth, frames, 1.0 / FRAME_RATE);
    let drop = -positions(&state).last().expect("it has particles")[1];
    Measured::new(&state, drop)
}

/// Deviation of the top of an upright cloth from the vertical after `frames` frames, relative to
/// the initial one.
pub fn bow(cloth: ClothDesc, segments: u32, solver: Solver, frames: u32) -> Measured {
    let state = simulate(column(cloth, solver), frames, 1.0 / FRAME_RATE);
    Measured::new(&state, bow_of(&state, segments))
}

/// Scale of [`bowed`] for the initial deviation of upright cloths: 1 cm. With less, the bending
/// force at 1 % above the theoretical load is below 1e-4 of the weight, which is the finest
/// tolerance.
const BOW: f32 = 10.0;

/// Returns an upright cloth that is straight at rest, with this solver.
pub fn column(mut cloth: ClothDesc, solver: Solver) -> ClothDesc {
    Arc::make_mut(&mut cloth.fabric).bends.iter_mut().for_each(|bend| bend.rest_angle = 0.0);
    cloth.particles.iter_mut().for_each(|particle| particle.position[0] *= BOW);
    cloth.config = ClothConfig { solver, damping: damping(1.0), ..ClothConfig::default() };
    cloth
}

fn bow_of(state: &State, segments: u32) -> f64 {
    let edge = edge_on_end(segments);
    let top = positions(state).last().expect("it has particles")[0];
    (top / (f64::from(BOW) * bowed(1.0 + edge, edge))).abs()
}

/// Critical load `w L^3 / B` of an upright cloth relative to theory, by bisection to 0.005; `None`
/// if it buckles below a fortieth of the theoretical load, as with XPBD at steps that are too long.
///
/// A cloth counts as buckled if its top is 0.3 m off within 20 s, or a quarter farther after 20 s
/// than after 10 s: at 1 % above the theoretical load the deviation grows fourfold in that time. A
/// cloth that only leans, because a force pushes it sideways, does not grow.
pub fn critical_load(
    cloth: &ClothDesc,
    segments: u32,
    solver: impl Fn(f64) -> Solver,
) -> Option<f64> {
    let buckles = |part: f64| {
        let mut simulation = simulation(column(cloth.clone(), solver(part * GREENHILL)));
        let mut bows = Vec::new();
        for _ in 0..20 {
            for _ in 0..60 {
                simulation.step(1.0 / 60.0).expect("the frame is valid");
            }
            let state = simulation.state().expect("the state is there");
            bows.push(bow_of(&state, segments));
            if !(0.02..30.0).contains(bows.last().expect("there is one")) {
                break;
            }
        }
        let last = bows[bows.len() - 1];
        last >= 30.0 || bows.len() == 20 && last > 1.25 * bows[9]
    };
    let (mut holds, mut falls) = (0.02, 1.3);
    while falls - holds > 0.01 {
        let middle = 0.5 * (holds + falls);
        // Bisection.
        *(if buckles(middle) { &mut falls } else { &mut holds }) = middle;
    }
    (falls > 0.03).then_some(0.5 * (holds + falls))
}

// ---- momentum and energy ----

/// Creates a free square of 8 x 8 particles and 0.5 m with random velocities, without gravity.
pub fn thrown(speed: f32, implicit: Implicit) -> ClothDesc {
    let mut cloth = sheet(8, 8, 0.5, 0.5, Vec::new());
    let mut rng = Rng::new(5);
    let h = 1.0 / FRAME_RATE as f32 / implicit.substeps as f32;
    let mut back = |particle: &Particle| {
        let velocity = rng.point(-speed, speed);
        std::array::from_fn(|k| particle.position[k] - velocity[k] * h)
    };
    cloth.previous_positions = cloth.particles.iter().map(&mut back).collect();
    cloth.config.gravity = [0.0; 3];
    solved(cloth, implicit)
}

/// Angular momentum of a square that rotates once per second after one second, relative to the
/// start.
pub fn spin_left(implicit: Implicit) -> Measured {
    let omega = std::f64::consts::TAU;
    let h = 1.0 / FRAME_RATE / f64::from(implicit.substeps);
    let mut cloth = solved(sheet(5, 5, 0.4, 0.4, Vec::new()), implicit);
    for k in 0..3 {
        let center = cloth.particles.iter().map(|p| p.position[k]).sum::<f32>() / 25.0;
        cloth.particles.iter_mut().for_each(|particle| particle.position[k] -= center);
    }
    let back = |particle: &Particle| {
        let [x, y, z] = particle.position.map(f64::from);
        [(x - omega * h * z) as f32, y as f32, (z + omega * h * x) as f32]
    };
    cloth.previous_positions = cloth.particles.iter().map(back).collect();
    cloth.config.gravity = [0.0; 3];
    let spin = |state: &State| -> f64 {
        let pairs = state.current(nth_cloth(0)).iter().zip(state.previous(nth_cloth(0)));
        pairs
            .map(|(now, before)| {
                let [[x, _, z], [a, _, b]] =
                    [now, before].map(|particle| particle.position.map(f64::from));
                // y component of m x0 x x1
                (a * z - b * x) / f64::from(now.inverse_mass)
            })
            .sum()
    };
    let [start, end] = [0, 60].map(|frames| simulate(cloth.clone(), frames, 1.0 / FRAME_RATE));
    Measured::new(&end, spin(&end) / spin(&start))
}

/// Creates a free row below a pinned one, displaced by `drawn` m: it oscillates on its threads with
/// the angular frequency `omega`.
fn oscillator(omega: f64, drawn: f32, substeps: u32) -> ClothDesc {
    // k = m omega^2
    let stiffness = SIGMA * 0.25 / 2.0 * omega.powi(2);
    let implicit = Implicit {
        substeps,
        stretch_stiffness: [stiffness as f32; 2],
        shear_stiffness: 0.0,
        tolerance: 1e-4,
        max_iterations: 400,
        ..Implicit::default()
    };
    let mut cloth = sheet(2, 2, 0.5, 0.5, vec![0, 1]);
    cloth.config.gravity = [0.0; 3];
    for particle in &mut cloth.particles[2..] {
        particle.inverse_mass = (1.0 / (SIGMA * 0.25 / 4.0)) as f32;
        particle.position[2] += drawn;
    }
    solved(cloth, implicit)
}

/// Fraction of the energy that a mode with `omega h = reach` keeps per step.
pub fn energy_kept(reach: f64) -> f64 {
    let h = 1.0 / FRAME_RATE;
    let omega = reach / h;
    let mut simulation = simulation(oscillator(omega, 1e-3, 1));
    let mut energies = Vec::new();
    for _ in 0..4 {
        simulation.step(h as f32).expect("the frame is valid");
        let state = simulation.state().expect("the state is there");
        let [now, before] = [state.current(nth_cloth(0))[2], state.previous(nth_cloth(0))[2]]
            .map(|particle| f64::from(particle.position[2]) - 0.5);
        // Twice the energy per mass: v^2 + omega^2 x^2
        energies.push(((now - before) / h).powi(2) + (omega * now).powi(2));
    }
    // Geometric mean over three steps.
    (energies[3] / energies[0]).powf(1.0 / 3.0)
}

/// Error of half an oscillation with 0.1 m amplitude in one frame of `substeps` steps, relative to
/// the amplitude.
pub fn swing_error(substeps: u32) -> f64 {
    let (omega, drawn) = (10.0, 0.1f32);
    let state = simulate(oscillator(omega, drawn, substeps), 1, std::f64::consts::PI / omega);
    let drawn = f64::from(drawn);
    ((positions(&state)[2][2] - 0.5) / drawn + 1.0).abs()
}

// ---- in f64 ----

/// Energies that the implicit solver minimizes, in `f64`.
pub fn implicit_oracle(cloth: &ClothDesc, implicit: &Implicit) -> ImplicitCloth {
    let fabric = &cloth.fabric;
    let [warp, weft] = implicit.stretch_stiffness.map(f64::from);
    let kinds = fabric.edge_kinds();
    let springs = |of_bends: bool| -> Vec<Element> {
        let chosen =
            fabric.edges().filter(|&(edge, _)| (kinds[edge] == PhaseKind::Bending) == of_bends);
        let spring = |(edge, [a, b]): (usize, [u32; 2])| {
            let rest_length = f64::from(fabric.rest_lengths[edge]);
            let share = f64::from(fabric.edge_breadths[edge]) / rest_length;
            // Same stiffness as hinges at 0.5 rad: k = 16 B b/(a^3 t^2), a = L/2.
            let stiffness = match kinds[edge] {
                PhaseKind::Vertical => warp * share,
                PhaseKind::Horizontal => weft * share,
                PhaseKind::Shearing => f64::from(implicit.shear_stiffness) * share,
                PhaseKind::Bending => {
                    512.0 * f64::from(implicit.bending_rigidity) * share / rest_length.powi(2)
                }
            };
            let compression = if of_bends { 1.0 } else { implicit.compression.into() };
            let [a, b] = [a, b].map(|i| i as usize);
            let law = Law::Spring(Spring { stiffness, rest_length, compression });
            Element { particles: [a, b, b, b], law }
        };
        chosen.map(spring).collect()
    };
    let of_triangle = |(triangle, shape): (&[u32; 3], &[f32; 4])| {
        let [a, b, c] = triangle.map(|i| i as usize);
        let [u1, v1, u2, v2] = shape.map(f64::from);
        let law = match implicit.stretch {
            StretchModel::Springs => unreachable!("springs are no triangles"),
            StretchModel::StretchShear => Law::StretchShear(StretchShear::new(
                [[0.0; 2], [u1, v1], [u2, v2]],
                [weft, warp],
                implicit.shear_stiffness.into(),
            )),
            StretchModel::Trispring => Law::Trispring(Trispring::new(
                [[0.0; 3], [u1, v1, 0.0], [u2, v2, 0.0]],
                warp,
                implicit.poisson_ratio.into(),
            )),
        };
        Element { particles: [a, b, c, c], law }
    };
    let of_bend = |bend: &Bend| {
        let stiffness = f64::from(implicit.bending_rigidity) * f64::from(bend.weight);
        let rest_angle = f64::from(bend.rest_angle);
        let law = match implicit.bend {
            BendModel::FaceAngle => Law::FaceAngle(FaceAngle { stiffness, rest_angle }),
            BendModel::PlaneProjection => Law::PlaneProjection(PlaneProjection {
                stiffness,
                heights: bend.wings.map(|wing| f64::from(wing.height)),
                rest: [rest_angle.sin(); 2],
            }),
            BendModel::Isometric => {
                let [c, d] = bend.wings.map(|wing| 1.0 / f64::from(wing.height));
                let [at_c, at_d] = bend.wings.map(|wing| f64::from(wing.foot));
                let weights = [(1.0 - at_c) * c + (1.0 - at_d) * d, at_c * c + at_d * d, -c, -d];
                Law::Isometric(Isometric { stiffness, weights, rest: [0.0; 3] })
            }
            BendModel::Springs => unreachable!("springs are no bends"),
        };
        Element { particles: bend.particles.map(|i| i as usize), law }
    };
    ImplicitCloth {
        inverse_masses: cloth.particles.iter().map(|p| f64::from(p.inverse_mass)).collect(),
        stretch: match implicit.stretch {
            StretchModel::Springs => springs(false),
            _ => fabric.triangles.iter().zip(&fabric.triangle_shapes).map(of_triangle).collect(),
        },
        bends: match implicit.bend {
            BendModel::Springs => springs(true),
            _ => fabric.bends.iter().map(of_bend).collect(),
        },
        stretch_damping: implicit.stretch_damping.into(),
        bend_damping: implicit.bending_damping.into(),
    }
}

/// Kinetic energy of the only cloth, whose last step took `h` s, and potential energy of its
/// elements \[J\].
pub fn energies(oracle: &ImplicitCloth, state: &State, h: f64) -> [f64; 2] {
    let pairs = state.current(nth_cloth(0)).iter().zip(state.previous(nth_cloth(0)));
    let kinetic = pairs.filter(|(now, _)| now.inverse_mass > 0.0).map(|(now, before)| {
        let both = now.position.into_iter().zip(before.position);
        let square: f64 =
            both.map(|(now, before)| ((f64::from(now) - f64::from(before)) / h).powi(2)).sum();
        0.5 * square / f64::from(now.inverse_mass)
    });
    [kinetic.sum(), oracle.potential(&positions(state))]
}
