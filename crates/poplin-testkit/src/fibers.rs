//! Cloths, settings and measurements that compare methods to solve fibers.
//!
//! Three questions, each with its function: what one iteration does to stretch that has just occurred ([`FreeFall`]), how
//! stretched a cloth hangs at rest ([`hang`]), and how stretched one is that swings and hits something ([`Swing`]).

use crate::nth_cloth;
use poplin_host::Engine as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use poplin_cook::{CookError, CookOptions, Tethers, cook};
use poplin_host::FramePart;
use poplin_layout::{Stage, StageMask};
use poplin_model::{
    Cloth, Fabric, FiberSolver, Frame, Mesh, Particle, Pbd, PbdPhase, Phase, PhaseKind, Phases,
    Solver, Sphere,
};
use poplin_reference::{ReferenceEngine, Team};

use poplin_measure::metrics::{Strain, max_speed, stretch_strain, stretch_strains};

/// Frames per second [1/s]; each is one step of [`FreeFall`].
pub const FRAME_RATE: u32 = 60;

/// Longer than any fiber here: fibers from border to border.
pub const WHOLE: u32 = 1 << 12;

/// Which phases are solved semi-implicitly; the others by Gauss-Seidel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mix {
    /// None.
    GaussSeidel,
    /// Vertical ones, as Kim, "Character Clothing in PhysX-3", 2011, has it.
    Vertical,
    /// Vertical and horizontal ones: the default of PBD.
    Stretch,
    /// All, shearing and bending too.
    All,
}

impl Mix {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::GaussSeidel, Self::Vertical, Self::Stretch, Self::All];

    /// For tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::GaussSeidel => "Gauss-Seidel",
            Self::Vertical => "semi-implicit, vertical",
            Self::Stretch => "semi-implicit, stretch",
            Self::All => "semi-implicit, all",
        }
    }

    /// PBD of so many iterations per second [1/s], every phase fully stiff.
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

/// Where a hanging sheet is pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pins {
    /// All of the upper row.
    TopRow,
    /// The two upper corners.
    Corners,
}

/// A chain of so many edges, 1 m long, that hangs from its first particle: one vertical fiber, from the pin down.
pub fn hanging_chain(edges: u32) -> Cloth {
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
    Cloth::new(Arc::new(fabric), particles)
}

/// A square sheet of `side` x `side` particles, 1 m and 0.2 kg, that hangs in the plane z = 0 as long as it is at rest, without
/// tethers; fibers of at most so many edges.
///
/// # Panics
/// If the grid does not cook; grids of at least 2 x 2 do.
pub fn hanging_sheet(side: u32, pins: Pins, max_fiber_length: u32) -> Cloth {
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

/// A mesh that hangs from pinned vertices, without tethers, its fibers as long as the cooker makes them.
///
/// # Errors
/// [`CookError`] if it does not cook.
pub fn hanging_mesh(mesh: &Mesh, pins: Vec<u32>) -> Result<Cloth, CookError> {
    let options = CookOptions {
        pins,
        max_fiber_length: Some(WHOLE),
        tethers: Tethers::None,
        ..CookOptions::default()
    };
    Ok(cook(mesh, &options)?.into_cloth())
}

/// Sets a cloth to so many steps per second [1/s], in each of which a stiffness of 1 removes the whole error: an exponent of 1.
fn with_frequency(mut cloth: Cloth, mix: Mix, frequency: u32) -> Cloth {
    cloth.config.solver = mix.solver(frequency);
    cloth.config.stiffness_frequency = frequency as f32;
    cloth
}

/// A cloth at rest that gravity has moved for one step of 1/60 s: every particle but the pinned ones has fallen by g h^2 =
/// 2.7 mm. Then only fibers are solved, iteration by iteration.
#[derive(Debug)]
pub struct FreeFall {
    engine: ReferenceEngine,
    fabric: Arc<Fabric>,
}

impl FreeFall {
    /// Drops the cloth; it is as stretched then as it gets.
    ///
    /// # Panics
    /// If the cloth is not valid.
    pub fn new(cloth: &Cloth, mix: Mix) -> Self {
        let cloth = with_frequency(cloth.clone(), mix, FRAME_RATE);
        let fabric = cloth.fabric.clone();
        let mut engine = ReferenceEngine::new();
        engine.add(cloth).expect("the cloth is valid");
        engine.begin_frame(&Frame { dt: 1.0 / FRAME_RATE as f32 }).expect("the frame is valid");
        let mut fall = Self { engine, fabric };
        fall.run(StageMask::only(Stage::Integrate));
        fall
    }

    /// Solves every phase once.
    pub fn iterate(&mut self) {
        self.run(StageMask::FIBERS);
    }

    /// How long that takes; the state stays.
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

    /// Strain of the stretch edges now.
    pub fn strain(&self) -> Strain {
        stretch_strain(&self.fabric, self.engine.current(nth_cloth(0)))
    }

    /// Strain after each of so many iterations, the first without any.
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

/// How a cloth hangs after some time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hanging {
    /// Strain of the stretch edges.
    pub strain: Strain,
    /// How much deeper the lowest particle hangs below the highest than at the start, as a fraction of that.
    pub elongation: f32,
    /// Speed of the fastest particle \[m/s\]: whether it is at rest.
    pub speed: f32,
}

/// Lets a cloth hang for 4 s, in `frequency` steps per second with so many iterations of the fibers in each; a tenth of the
/// speed is lost in 1/60 s.
///
/// # Panics
/// If the cloth is not valid.
pub fn hang(cloth: &Cloth, mix: Mix, frequency: u32, passes: u32) -> Hanging {
    let mut cloth = with_frequency(cloth.clone(), mix, frequency);
    cloth.phase_order = cloth.phase_order.repeat(passes as usize);
    cloth.config.damping = [1.0 - 0.9f32.powf(FRAME_RATE as f32 / frequency as f32); 3];
    // A sheet in a plane would never leave it: waves of a millimetre, which stretch it by 1e-4.
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
    (0..4 * FRAME_RATE).for_each(|_| {
        engine.step(&Frame { dt: 1.0 / FRAME_RATE as f32 }).expect("the frame is valid")
    });
    let (current, previous) = (engine.current(nth_cloth(0)), engine.previous(nth_cloth(0)));
    Hanging {
        strain: stretch_strain(&fabric, current),
        elongation: height(current) / start - 1.0,
        speed: max_speed(previous, current, 1.0 / frequency as f32),
    }
}

/// A level sheet of 1 m and 0.2 kg, z up, x in -0.5..0.5, y in 0..1, z = 1, pinned at (+-0.5, 0, 1), that swings down onto a
/// sphere of radius 0.25 m at (0, 0.5, 0.55) for 2 s at 60 frames per second. No damping, no friction, no air.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Swing {
    /// Particles along each side.
    pub side: u32,
    /// Edges of the longest fiber, `None`: as the cooker chooses.
    pub max_fiber_length: Option<u32>,
    /// Whether tethers help.
    pub tethers: Tethers,
    /// How fibers are solved.
    pub solver: SwingSolver,
    /// Iterations of a frame.
    pub iterations: u32,
}

/// How the fibers of a [`Swing`] are solved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SwingSolver {
    /// PBD at the default stiffness frequency.
    Pbd(Mix),
    /// PBD where each iteration removes the whole error of an edge or fiber.
    PbdFully(Mix),
    /// XPBD without compliance.
    Xpbd,
}

/// The result of a [`Swing`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Swung {
    /// At the end.
    pub end: Strain,
    /// Over all edges and frames of the second second.
    pub second: Strain,
    /// 99th percentile of the worst frame.
    pub worst_p99: f32,
    /// Median over the frames: simulation only.
    pub frame_time: Duration,
}

impl Swing {
    /// The cloth at the start.
    ///
    /// # Panics
    /// If the grid does not cook; grids of at least 2 x 2 do.
    pub fn cloth(&self) -> Cloth {
        let mut mesh = Mesh::grid(self.side, self.side, 1.0, 1.0);
        mesh.positions.iter_mut().for_each(|[x, y, z]| (*x, *y, *z) = (*x - 0.5, *z, 1.0));
        let options = CookOptions {
            pins: vec![0, self.side - 1],
            max_fiber_length: self.max_fiber_length,
            tethers: self.tethers,
            // Level cloth has no vertical; once it hangs this is.
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

    /// Swings it.
    ///
    /// # Panics
    /// If the cloth is not valid.
    pub fn run(&self) -> Swung {
        let cloth = self.cloth();
        let fabric = cloth.fabric.clone();
        let mut engine = ReferenceEngine::new();
        engine.add(cloth).expect("the cloth is valid");
        let (mut times, mut pooled, mut worst_p99, mut end) =
            (Vec::new(), Vec::new(), 0.0f32, Strain::default());
        for frame in 0..2 * FRAME_RATE {
            let begin = Instant::now();
            engine.step(&Frame { dt: 1.0 / FRAME_RATE as f32 }).expect("the frame is valid");
            times.push(begin.elapsed());
            let strains = stretch_strains(&fabric, engine.current(nth_cloth(0)));
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

/// Which of rungs of rising effort is the first that keeps its promise and goes on to do so on every rung after it.
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
    fn a_lucky_rung_does_not_last() {
        let first = |rungs: &[bool]| first_lasting(rungs.iter().copied());
        assert_eq!(first(&[false, true, false, true, true]), Some(3));
        assert_eq!(first(&[true, true]), Some(0));
        assert_eq!(first(&[true, false]), None);
        assert_eq!(first(&[]), None);
    }

    #[test]
    fn gravity_moves_all_but_the_pin_by_one_step() {
        let fall = FreeFall::new(&hanging_chain(4), Mix::GaussSeidel);
        // Only the uppermost of the edges of 0.25 m is longer, by g h^2.
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
