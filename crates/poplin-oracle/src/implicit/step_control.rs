//! Adaptive steps of a frame, with rejection.

use super::cloth::ImplicitCloth;
use super::conjugate_gradients::{MinimizeOptions, Minimum, Mixing, Outcome, add, minimize};
use super::objective::{ContactPlane, Objective};
use crate::vector::{along, dot, length};

/// Step length control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepControl {
    /// Steps of `dt / 2^j`, j from 0 to `finest`, adapted to the number of iterations.
    Adaptive {
        /// Level of the shortest steps, J.
        finest: u32,
    },
    /// Fixed number of steps per frame, each accepted as it is.
    Fixed {
        /// Number of steps per frame.
        substeps: u32,
    },
}

/// Settings of the solver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ImplicitSettings {
    /// Step length control.
    pub control: StepControl,
    /// Largest residual as a fraction of `g h^2`.
    pub tolerance: f64,
    /// True to raise the tolerance to the rounding of `f32`, [`ImplicitCloth::floor`].
    pub has_floor: bool,
    /// Largest number of iterations of a step, I.
    pub iterations: usize,
    /// Number of iterations of a frame beyond which steps are accepted as they are.
    pub frame_iterations: usize,
    /// Largest step over the trial that measured it.
    pub growth: f64,
    /// Iterations between exact residuals.
    pub interval: usize,
    /// True to keep the gradient of the bends constant between exact residuals where `h omega_b <=
    /// 1`.
    pub lags_bends: bool,
    /// Formula of beta.
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

/// Statistics of a frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImplicitFeedback {
    /// Number of steps that were accepted or held.
    pub steps: usize,
    /// Number of iterations, including rejected steps.
    pub iterations: usize,
    /// Number of gradients of stretch elements, including rejected steps.
    pub gradients: usize,
    /// Number of rejected steps.
    pub rejections: usize,
    /// Number of steps accepted above the tolerance.
    pub unconverged: usize,
    /// Number of steps without motion, because no finite result was found.
    pub held: usize,
    /// Level j after the frame.
    pub level: u32,
}

/// `h omega_G` of the first level.
const FIRST_REACH: f64 = 40.0;

/// Growth of the residual above which a step is rejected.
const DIVERGENCE: f64 = 1e3;

/// Number of held steps in a row that freezes a cloth.
const HELD_LIMIT: usize = 8;

/// Cloth in motion.
#[derive(Debug, Clone)]
pub struct ImplicitSimulation {
    /// The cloth.
    pub cloth: ImplicitCloth,
    /// Settings of the solver.
    pub settings: ImplicitSettings,
    /// Gravity [m/s^2].
    pub gravity: [f64; 3],
    /// Exponential decay rate of velocities [1/s].
    pub fade: f64,
    /// Contact planes; one entry per particle, or none.
    pub planes: Vec<Option<ContactPlane>>,
    /// Positions \[m\].
    pub positions: Vec<[f64; 3]>,
    /// Displacements of the last step \[m\].
    pub displacements: Vec<[f64; 3]>,
    /// Length of the last step \[s\].
    pub last_step: f64,
    /// Level j of the next step.
    pub level: Option<u32>,
    /// True once the cloth no longer moves.
    pub is_frozen: bool,
    /// Rates `omega_G` and `omega_b` [1/s], floor [m/s^2].
    rates: [f64; 3],
    /// Number of easy steps (few iterations) in a row, and of held steps in a row.
    easy: usize,
    held: usize,
}

impl ImplicitSimulation {
    /// Creates a cloth at the positions `start` \[m\] without velocity, with the rest shape `rest`,
    /// in gravity of 9.81 m/s^2 along -z.
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

    /// Returns the displacements of a step without elements: decayed inertia and gravity. Pinned
    /// particles keep their velocity.
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

    /// Returns the options of a step that may be rejected or not.
    pub fn minimize_options(&self, step: f64, may_reject: bool) -> MinimizeOptions {
        let [stretch_rate, bend_rate, floor] = self.rates;
        // Planes are springs too: a first trial that always ends in front of a plane would never
        // measure it.
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

    /// Accepts a step, or holds the cloth still if the step is not finite.
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
