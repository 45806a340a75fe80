//! Steps of a frame: how long, and which are taken back.

use super::cloth::ImplicitCloth;
use super::conjugate_gradients::{MinimizeOptions, Minimum, Mixing, Outcome, add, minimize};
use super::objective::{ContactPlane, Objective};
use crate::oracle::vector::{along, dot, length};

/// How long steps are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepControl {
    /// `dt / 2^j` with j from 0 to `finest`, by how the iterations go.
    Adaptive {
        /// Level of the shortest steps, J.
        finest: u32,
    },
    /// So many in a frame, each accepted as it is.
    Fixed {
        /// Steps of a frame.
        substeps: u32,
    },
}

/// How steps are solved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ImplicitSettings {
    /// How long steps are.
    pub control: StepControl,
    /// Largest residual as a fraction of `g h^2`.
    pub tolerance: f64,
    /// Whether the tolerance is raised to what rounding to `f32` leaves, [`ImplicitCloth::floor`].
    pub has_floor: bool,
    /// Most iterations of a step, I.
    pub iterations: usize,
    /// Iterations of a frame beyond which steps are accepted as they are.
    pub frame_iterations: usize,
    /// Largest step over the trial that measured it.
    pub growth: f64,
    /// Iterations between true residuals.
    pub interval: usize,
    /// Whether the gradient of bends is held between true residuals where `h omega_b <= 1`.
    pub lags_bends: bool,
    /// How a direction is mixed with the last.
    pub mixing: Mixing,
}

impl Default for ImplicitSettings {
    fn default() -> Self {
        Self {
            control: StepControl::Adaptive { finest: 6 },
            tolerance: 0.1,
            has_floor: true,
            iterations: 96,
            frame_iterations: 4096,
            growth: 8.0,
            interval: 10,
            lags_bends: true,
            mixing: Mixing::PolakRibierePlus,
        }
    }
}

/// What a frame took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImplicitFeedback {
    /// Steps that were accepted or held.
    pub steps: usize,
    /// Iterations, with those of rejected steps.
    pub iterations: usize,
    /// Gradients of stretch elements, with those of rejected steps.
    pub gradients: usize,
    /// Steps that were taken back.
    pub rejections: usize,
    /// Steps that were accepted above the tolerance.
    pub unconverged: usize,
    /// Steps in which nothing moved, as nothing finite was found.
    pub held: usize,
    /// Level j after the frame.
    pub level: u32,
}

/// `h omega_G` of the first level.
const FIRST_REACH: f64 = 40.0;

/// Growth of the residual above which a step is rejected.
const DIVERGENCE: f64 = 1e3;

/// Held steps in a row that freeze a cloth.
const HELD_LIMIT: usize = 8;

/// A cloth in motion.
#[derive(Debug, Clone)]
pub struct ImplicitSimulation {
    /// The cloth.
    pub cloth: ImplicitCloth,
    /// How steps are solved.
    pub settings: ImplicitSettings,
    /// Gravity [m/s^2].
    pub gravity: [f64; 3],
    /// Rate at which velocities fade [1/s].
    pub fade: f64,
    /// Planes that hold particles; one entry for each, or none.
    pub planes: Vec<Option<ContactPlane>>,
    /// Positions \[m\].
    pub positions: Vec<[f64; 3]>,
    /// Displacements of the last step \[m\].
    pub displacements: Vec<[f64; 3]>,
    /// Length of the last step \[s\].
    pub last_step: f64,
    /// Level j of the next step.
    pub level: Option<u32>,
    /// Whether it no longer moves.
    pub is_frozen: bool,
    /// `omega_G` and `omega_b` [1/s], floor [m/s^2].
    rates: [f64; 3],
    /// Steps of few iterations, and held steps, in a row.
    easy: usize,
    held: usize,
}

impl ImplicitSimulation {
    /// A cloth at the positions `start` \[m\] without velocity, and at rest at `rest`, in gravity of 9.81 m/s^2 along -z.
    pub fn new(cloth: ImplicitCloth, rest: &[[f64; 3]], start: Vec<[f64; 3]>) -> Self {
        Self {
            rates: [cloth.stretch_rate(rest), cloth.bend_rate(rest), cloth.floor(rest)],
            cloth,
            settings: ImplicitSettings::default(),
            gravity: [0.0, 0.0, -9.81],
            fade: 0.0,
            planes: Vec::new(),
            displacements: vec![[0.0; 3]; start.len()],
            positions: start,
            last_step: 1.0 / 60.0,
            level: None,
            is_frozen: false,
            easy: 0,
            held: 0,
        }
    }

    /// Sets all velocities [m/s], of pinned particles too.
    pub fn set_velocities(&mut self, mut velocity: impl FnMut(usize) -> [f64; 3]) {
        for (i, displacement) in self.displacements.iter_mut().enumerate() {
            *displacement = velocity(i).map(|v| v * self.last_step);
        }
    }

    /// Velocity of a particle [m/s].
    pub fn velocity(&self, particle: usize) -> [f64; 3] {
        self.displacements[particle].map(|d| d / self.last_step)
    }

    /// Kinetic energy \[J\].
    pub fn kinetic(&self) -> f64 {
        let moving = (0..self.positions.len()).filter(|&i| self.cloth.inverse_masses[i] > 0.0);
        moving
            .map(|i| {
                let v = self.velocity(i);
                0.5 * dot(v, v) / self.cloth.inverse_masses[i]
            })
            .sum()
    }

    /// Displacements of a step where no element acts: what is left of the last, and gravity. Pinned particles go on as they went.
    pub fn prediction(&self, step: f64) -> Vec<[f64; 3]> {
        let kept = (-self.fade * step).exp();
        let ratio = step / self.last_step;
        let masses = self.cloth.inverse_masses.iter();
        masses
            .zip(&self.displacements)
            .map(|(&w, displacement)| {
                if w > 0.0 {
                    along(displacement.map(|d| d * ratio * kept), self.gravity, step * step)
                } else {
                    displacement.map(|d| d * ratio)
                }
            })
            .collect()
    }

    /// Options of a step that may be rejected or not.
    pub fn minimize_options(&self, step: f64, may_reject: bool) -> MinimizeOptions {
        let [stretch_rate, bend_rate, floor] = self.rates;
        // Planes are springs too: a trial that always ends in front of a plane never sees it.
        let planes = self.planes.iter().zip(&self.cloth.inverse_masses);
        let plane_square = planes
            .filter_map(|(plane, w)| plane.map(|plane| 2.0 * w * plane.stiffness))
            .fold(0.0, f64::max);
        let rate_square = stretch_rate.powi(2) + plane_square;
        let g = match length(self.gravity) {
            0.0 => 9.81,
            g => g,
        };
        let floor = if self.settings.has_floor { floor } else { 0.0 };
        MinimizeOptions {
            tolerance: (self.settings.tolerance * g).max(floor) * step * step,
            iterations: self.settings.iterations,
            first_step: (4.0 / (step * step * rate_square)).min(1.0),
            growth: self.settings.growth,
            divergence: if may_reject { DIVERGENCE } else { f64::INFINITY },
            interval: self.settings.interval,
            lags_bends: self.settings.lags_bends && step * bend_rate <= 1.0,
            mixing: self.settings.mixing,
        }
    }

    /// Simulates a frame of `dt` \[s\].
    pub fn run_frame(&mut self, dt: f64) -> ImplicitFeedback {
        let mut feedback = ImplicitFeedback::default();
        match self.settings.control {
            StepControl::Fixed { substeps } => {
                let step = dt / f64::from(substeps);
                for _ in 0..substeps {
                    let minimum = self.solve(step, false, &mut feedback);
                    self.accept(minimum, step, &mut feedback);
                }
            }
            StepControl::Adaptive { finest } => self.run_adaptive(dt, finest, &mut feedback),
        }
        feedback.level = self.level.unwrap_or_default();
        feedback
    }

    fn run_adaptive(&mut self, dt: f64, finest: u32, feedback: &mut ImplicitFeedback) {
        let step = |level: u32| dt / f64::from(1u32 << level);
        let reach = |level: &u32| step(*level) * self.rates[0] <= FIRST_REACH;
        let mut level =
            self.level.unwrap_or_else(|| (0..finest).find(reach).unwrap_or(finest)).min(finest);
        let mut tick = 0;
        while tick < 1 << finest {
            let may_reject =
                level < finest && feedback.iterations <= self.settings.frame_iterations;
            let minimum = self.solve(step(level), may_reject, feedback);
            if may_reject && minimum.outcome != Outcome::Converged {
                feedback.rejections += 1;
                self.easy = 0;
                level += 1;
                continue;
            }
            let iterations = minimum.iterations;
            self.accept(minimum, step(level), feedback);
            tick += 1 << (finest - level);
            self.easy =
                if 8 * iterations <= 3 * self.settings.iterations { self.easy + 1 } else { 0 };
            let is_even = (tick >> (finest - level)) % 2 == 0;
            if 4 * iterations > 3 * self.settings.iterations && level < finest {
                level += 1;
            } else if self.easy >= 2 && is_even && level > 0 {
                level -= 1;
                self.easy = 0;
            }
        }
        self.level = Some(level);
    }

    /// Solves a step without taking it.
    fn solve(&self, step: f64, may_reject: bool, feedback: &mut ImplicitFeedback) -> Minimum {
        let prediction = self.prediction(step);
        let objective =
            Objective::new(&self.cloth, &self.positions, &prediction, step, &self.planes);
        let minimum = minimize(&objective, &self.minimize_options(step, may_reject));
        feedback.iterations += minimum.iterations;
        feedback.gradients += minimum.gradients;
        minimum
    }

    /// Takes a step, or holds still if it is not finite.
    fn accept(&mut self, minimum: Minimum, step: f64, feedback: &mut ImplicitFeedback) {
        feedback.steps += 1;
        if self.is_frozen {
            return;
        }
        self.last_step = step;
        if minimum.outcome == Outcome::NotFinite {
            self.displacements.fill([0.0; 3]);
            feedback.held += 1;
            self.held += 1;
            self.is_frozen = self.held >= HELD_LIMIT;
            return;
        }
        self.held = 0;
        feedback.unconverged += usize::from(minimum.outcome != Outcome::Converged);
        self.positions = add(&self.positions, &minimum.displacements, 1.0);
        self.displacements = minimum.displacements;
    }
}
