//! Cloths, settings and measurements for comparing fiber solvers.
//!
//! Three measurements: the effect of one iteration on new stretch ([`FreeFall`]), the stretch of a
//! hanging cloth at rest ([`hang`]), and the stretch of a cloth that swings and hits an obstacle
//! ([`Swing`]).

use crate::nth_cloth;
use poplin_host::Engine as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use poplin_cook::{CookError, CookOptions, Tethers, cook};
use poplin_cpu::{ReferenceEngine, Team};
use poplin_host::FramePart;
use poplin_layout::{Stage, StageMask};
use poplin_model::{
    ClothDesc, Fabric, FiberSolver, Mesh, Particle, Pbd, PbdPhase, Phase, PhaseKind, Phases,
    Solver, Sphere,
};

use poplin_measure::metrics::{Strain, max_speed, stretch_strain, stretch_strains};

/// Frames per second [1/s]; each is one step of [`FreeFall`].
pub const FRAME_RATE: u32 = 60;

/// Fiber length limit above every fiber here, for fibers from border to border \[edges\].
pub const WHOLE: u32 = 1 << 12;

/// Phases that are solved semi-implicitly; the others are solved by Gauss-Seidel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mix {
    /// No phase.
    GaussSeidel,
    /// Vertical phases, as in Kim, "Character Clothing in PhysX-3", 2011.
    Vertical,
    /// Vertical and horizontal phases: the default of PBD.
    Stretch,
    /// All phases, including shearing and bending.
    All,
}

impl Mix {
    /// All mixes.
    pub const ALL: [Self; 4] = [Self::GaussSeidel, Self::Vertical, Self::Stretch, Self::All];

    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::GaussSeidel => "Gauss-Seidel",
            Self::Vertical => "semi-implicit, vertical",
            Self::Stretch => "semi-implicit, stretch",
            Self::All => "semi-implicit, all",
        }
    }

    /// PBD with `frequency` iterations per second [1/s] and full stiffness in every phase.
    pub fn solver(self, frequency: u32) -> Solver {
        let mut phases = Phases::default();
        for kind in PhaseKind::ALL {
            let is_whole = match self {
                Self::GaussSeidel => false,
                Self::Vertical => kind == PhaseKind::Vertical,
                Self::Stretch => kind.is_stretch(),
                Self::All => true,
            };
            let solver =
                if is_whole { FiberSolver::SemiImplicit } else { FiberSolver::GaussSeidel };
            *phases.kind_mut(kind) = PbdPhase { fiber_solver: Some(solver), ..PbdPhase::default() };
        }
        Solver::Pbd(Pbd { frequency: frequency as f32, phases, ..Pbd::default() })
    }
}

/// Pinned particles of a hanging sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pins {
    /// All particles of the upper row.
    TopRow,
    /// Both upper corners.
    Corners,
}

/// Creates a chain of `edges` edges, 1 m long, that hangs from its first particle: one vertical
/// fiber, from the pin down.
pub fn hanging_chain(edges: u32) -> ClothDesc {
    let fabric = Fabric {
        particle_count: edges + 1,
        phases: vec![Phase { kind: PhaseKind::Vertical, set_begin: 0, set_end: 1 }],
        set_fiber_begin: vec![0, 1],
        fiber_edge_begin: vec![0, edges],
        fiber_vertices: (0..=edges).collect(),
        rest_lengths: vec![1.0 / edges as f32; edges as usize],
        ..Default::default()
    };
    let particles =
        (0..=edges).map(|i| [0.0, -(i as f32 / edges as f32), 0.0, if i == 0 { 0.0 } else { 1.0 }]);
    ClothDesc::new(Arc::new(fabric), particles)
}

/// Creates a square sheet of `side` x `side` particles, 1 m and 0.2 kg, that hangs at rest in the
/// plane z = 0, without tethers and with fibers of at most `max_fiber_length` edges.
///
/// # Panics
/// Panics if the grid does not cook; grids of at least 2 x 2 do.
pub fn hanging_sheet(side: u32, pins: Pins, max_fiber_length: u32) -> ClothDesc {
    let mut mesh = Mesh::grid(side, side, 1.0, 1.0);
    mesh.positions.iter_mut().for_each(|[x, y, z]| (*x, *y, *z) = (*x - 0.5, -*z, 0.0));
    let pins = match pins {
        Pins::TopRow => (0..side).collect(),
        Pins::Corners => vec![0, side - 1],
    };
    let options = CookOptions {
        pins,
        max_fiber_length: Some(max_fiber_length),
        tethers: Tethers::None,
        ..CookOptions::default()
    };
    cook(&mesh, &options).expect("a grid cooks").into_cloth()
}

/// Creates a cloth from a mesh that hangs from pinned vertices, without tethers and with fibers as
/// long as possible.
///
/// # Errors
/// [`CookError`] if it does not cook.
pub fn hanging_mesh(mesh: &Mesh, pins: Vec<u32>) -> Result<ClothDesc, CookError> {
    let options = CookOptions {
        pins,
        max_fiber_length: Some(WHOLE),
        tethers: Tethers::None,
        ..CookOptions::default()
    };
    Ok(cook(mesh, &options)?.into_cloth())
}

/// Sets a cloth to `frequency` steps per second [1/s], in each of which a stiffness of 1 removes
/// the whole error: an exponent of 1.
fn with_frequency(mut cloth: ClothDesc, mix: Mix, frequency: u32) -> ClothDesc {
    cloth.config.solver = mix.solver(frequency);
    cloth.config.stiffness_frequency = frequency as f32;
    cloth
}

/// Cloth at rest after one step of 1/60 s under gravity: every particle except the pinned ones has
/// fallen by g h^2 = 2.7 mm. From there, only fibers are solved, iteration by iteration.
#[derive(Debug)]
pub struct FreeFall {
    engine: ReferenceEngine,
    fabric: Arc<Fabric>,
}

impl FreeFall {
    /// Drops the cloth, after which its stretch is largest.
    ///
    /// # Panics
    /// Panics if the cloth is not valid.
    pub fn new(cloth: &ClothDesc, mix: Mix) -> Self {
        let cloth = with_frequency(cloth.clone(), mix, FRAME_RATE);
        let fabric = cloth.fabric.clone();
        let mut engine = ReferenceEngine::new();
        engine.add(cloth).expect("the cloth is valid");
        engine.begin_frame(1.0 / FRAME_RATE as f32).expect("the frame is valid");
        let mut fall = Self { engine, fabric };
        fall.run(StageMask::only(Stage::Integrate));
        fall
    }

    /// Solves every phase once.
    pub fn iterate(&mut self) {
        self.run(StageMask::FIBERS);
    }

    /// Time of one iteration; restores the state afterwards.
    pub fn time_iteration(&mut self) -> Duration {
        let (current, previous) = (
            self.engine.current(nth_cloth(0)).to_vec(),
            self.engine.previous(nth_cloth(0)).to_vec(),
        );
        let begin = Instant::now();
        self.iterate();
        let time = begin.elapsed();
        self.engine
            .set_state(nth_cloth(0), &current, &previous)
            .expect("it is the state of this cloth");
        time
    }

    /// Current strain of the stretch edges.
    pub fn strain(&self) -> Strain {
        stretch_strain(&self.fabric, self.engine.current(nth_cloth(0)))
    }

    /// Strain after 0 to `iterations` iterations.
    pub fn residuals(mut self, iterations: usize) -> Vec<Strain> {
        let mut strains = vec![self.strain()];
        for _ in 0..iterations {
            self.iterate();
            strains.push(self.strain());
        }
        strains
    }

    fn run(&mut self, stages: StageMask) {
        self.engine
            .run_part(
                nth_cloth(0),
                &FramePart { iterations: 0..1, stages, phases: None },
                &mut Team::single(),
            )
            .expect("the cloth is there");
    }
}

/// State of a cloth after hanging for some time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hanging {
    /// Strain of the stretch edges.
    pub strain: Strain,
    /// Relative growth of the height from the lowest to the highest particle.
    pub elongation: f32,
    /// Speed of the fastest particle \[m/s\]: near 0 at rest.
    pub speed: f32,
}

/// Lets a cloth hang for 4 s with `frequency` steps per second and `passes` fiber iterations in
/// each. Damping removes a tenth of the velocity in 1/60 s.
///
/// # Panics
/// Panics if the cloth is not valid.
pub fn hang(cloth: &ClothDesc, mix: Mix, frequency: u32, passes: u32) -> Hanging {
    let mut cloth = with_frequency(cloth.clone(), mix, frequency);
    // Repeated phases are several fiber iterations per step.
    cloth.phase_order = cloth.phase_order.repeat(passes as usize);
    // (1 - damping)^(steps in 1/60 s) = 0.9
    cloth.config.damping = [1.0 - 0.9f32.powf(FRAME_RATE as f32 / frequency as f32); 3];
    // An exactly plane sheet would never leave its plane: add waves of a millimeter, which stretch
    // it by 1e-4.
    cloth
        .particles
        .iter_mut()
        .filter(|p| p.inverse_mass > 0.0)
        .for_each(|p| p.position[2] += 1e-3 * (4.0 * std::f32::consts::PI * p.position[0]).sin());
    let fabric = cloth.fabric.clone();
    let height = |particles: &[Particle]| {
        let (low, high) = particles
            .iter()
            .map(|particle| particle.position[1])
            .fold((f32::MAX, f32::MIN), |(low, high), y| (low.min(y), high.max(y)));
        high - low
    };
    let start = height(&cloth.particles);
    let mut engine = ReferenceEngine::new();
    engine.add(cloth).expect("the cloth is valid");
    (0..4 * FRAME_RATE)
        .for_each(|_| engine.step(1.0 / FRAME_RATE as f32).expect("the frame is valid"));
    let (current, previous) = (engine.current(nth_cloth(0)), engine.previous(nth_cloth(0)));
    Hanging {
        strain: stretch_strain(&fabric, current),
        elongation: height(current) / start - 1.0,
        speed: max_speed(previous, current, 1.0 / frequency as f32),
    }
}

/// Level sheet of 1 m and 0.2 kg, z up, x in -0.5..0.5, y in 0..1, z = 1, pinned at (+-0.5, 0, 1),
/// that swings down onto a sphere of radius 0.25 m at (0, 0.5, 0.55) for 2 s at 60 frames per
/// second. No damping, friction or air.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Swing {
    /// Particles along each side.
    pub side: u32,
    /// Fiber length limit \[edges\]; `None` leaves it to the cooker.
    pub max_fiber_length: Option<u32>,
    /// Tethers of the sheet.
    pub tethers: Tethers,
    /// Solver of the fibers.
    pub solver: SwingSolver,
    /// Iterations per frame.
    pub iterations: u32,
}

/// Fiber solver of a [`Swing`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SwingSolver {
    /// PBD at the default stiffness frequency.
    Pbd(Mix),
    /// PBD with each iteration removing the whole error of an edge or fiber.
    PbdFully(Mix),
    /// XPBD without compliance.
    Xpbd,
}

/// Result of a [`Swing`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Swung {
    /// Strain after the last frame.
    pub end: Strain,
    /// Strain over all edges and frames of the second second.
    pub second: Strain,
    /// Largest 99th percentile of a frame.
    pub worst_p99: f32,
    /// Median time of a frame, simulation only.
    pub frame_time: Duration,
}

impl Swing {
    /// Creates the cloth in its start state.
    ///
    /// # Panics
    /// Panics if the grid does not cook; grids of at least 2 x 2 do.
    pub fn cloth(&self) -> ClothDesc {
        let mut mesh = Mesh::grid(self.side, self.side, 1.0, 1.0);
        mesh.positions.iter_mut().for_each(|[x, y, z]| (*x, *y, *z) = (*x - 0.5, *z, 1.0));
        let options = CookOptions {
            pins: vec![0, self.side - 1],
            max_fiber_length: self.max_fiber_length,
            tethers: self.tethers,
            // Level cloth has no vertical direction: use the one along which it will hang.
            gravity: [0.0, 1.0, 0.0],
            ..CookOptions::default()
        };
        let mut cloth = cook(&mesh, &options).expect("a grid cooks").into_cloth();
        cloth.config.gravity = [0.0, 0.0, -9.81];
        match self.solver {
            SwingSolver::Pbd(mix) => cloth.config.solver = mix.solver(FRAME_RATE * self.iterations),
            SwingSolver::PbdFully(mix) => {
                cloth = with_frequency(cloth, mix, FRAME_RATE * self.iterations);
            }
            SwingSolver::Xpbd => cloth.config.solver = Solver::xpbd(self.iterations),
        }
        let ball = Sphere { center: [0.0, 0.5, 0.55], radius: 0.25 };
        cloth.colliders.add(ball).expect("the ball is valid");
        cloth
    }

    /// Runs the simulation.
    ///
    /// # Panics
    /// Panics if the cloth is not valid.
    pub fn run(&self) -> Swung {
        let cloth = self.cloth();
        let fabric = cloth.fabric.clone();
        let mut engine = ReferenceEngine::new();
        engine.add(cloth).expect("the cloth is valid");
        let (mut times, mut pooled, mut worst_p99, mut end) =
            (Vec::new(), Vec::new(), 0.0f32, Strain::default());
        for frame in 0..2 * FRAME_RATE {
            let begin = Instant::now();
            engine.step(1.0 / FRAME_RATE as f32).expect("the frame is valid");
            times.push(begin.elapsed());
            let strains = stretch_strains(&fabric, engine.current(nth_cloth(0)));
            // The first second is the swing down; the second one counts.
            if frame >= FRAME_RATE {
                pooled.extend_from_slice(&strains);
            }
            end = Strain::of(strains);
            worst_p99 = worst_p99.max(end.p99);
        }
        times.sort();
        Swung { end, second: Strain::of(pooled), worst_p99, frame_time: times[times.len() / 2] }
    }
}

/// Index of the first of several settings of rising effort from which on all settings meet a
/// criterion.
pub fn first_lasting(
    is_kept: impl DoubleEndedIterator<Item = bool> + ExactSizeIterator,
) -> Option<usize> {
    let count = is_kept.len();
    let lasting = is_kept.rev().take_while(|kept| *kept).count();
    (lasting > 0).then_some(count - lasting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_success_does_not_count_as_lasting() {
        let first = |rungs: &[bool]| first_lasting(rungs.iter().copied());
        assert_eq!(first(&[false, true, false, true, true]), Some(3));
        assert_eq!(first(&[true, true]), Some(0));
        assert_eq!(first(&[true, false]), None);
        assert_eq!(first(&[]), None);
    }

    #[test]
    fn gravity_moves_all_but_the_pin_by_one_step() {
        let fall = FreeFall::new(&hanging_chain(4), Mix::GaussSeidel);
        // Only the uppermost edge of 0.25 m is longer, by g h^2.
        let stretch = 9.81 / 3600.0 / 0.25;
        let strain = fall.strain();
        assert!((strain.max / stretch - 1.0).abs() < 1e-4, "{strain:?}");
        assert!(
            (strain.mean / (stretch / 4.0) - 1.0).abs() < 1e-4
                && (strain.rms / (stretch / 2.0) - 1.0).abs() < 1e-4
        );
    }

    #[test]
    fn timing_an_iteration_leaves_the_state() {
        let mut fall = FreeFall::new(&hanging_chain(4), Mix::GaussSeidel);
        let before = fall.strain();
        fall.time_iteration();
        assert_eq!(fall.strain(), before);
        fall.iterate();
        assert_ne!(fall.strain(), before);
    }
}
