//! Automatic choice of [`Pbd`] settings from the cloth, by a rule fitted to measurements.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

use crate::{ClothDesc, Fabric, FiberSolver, Pbd, Solver};

/// Acceleration assumed for a cloth without gravity [m/s^2], which something else will accelerate.
const EARTH: f64 = 9.81;

/// Chosen frequencies are multiples of this [1/s], so that common frame rates divide them.
const FREQUENCY_STEP: f64 = 60.0;

/// Smallest and largest chosen frequency [1/s].
const FREQUENCIES: [f64; 2] = [120.0, 9960.0];

/// Settings of a cloth that [`ClothDesc::choose_solver`] may set; all others are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chosen {
    /// [`Pbd::frequency`].
    pub frequency: bool,
    /// [`crate::PbdPhase::fiber_solver`] if it is `None`.
    pub fiber_solver: bool,
    /// [`crate::ClothConfig::stiffness_frequency`], see
    /// [`crate::ClothConfig::set_stiffness_frequency`].
    pub stiffness_frequency: bool,
}

impl Chosen {
    /// All settings.
    pub const ALL: Self = Self { frequency: true, fiber_solver: true, stiffness_frequency: true };

    /// No settings.
    pub const NONE: Self =
        Self { frequency: false, fiber_solver: false, stiffness_frequency: false };
}

/// Support that keeps the far end of a cloth from falling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Hold {
    /// Tethers to pinned particles.
    Tethers,
    /// Pinned particles, through edges only.
    Pins,
    /// No support except what it falls on.
    Nothing,
}

impl Hold {
    /// Iterations required in the time `sqrt(reach / gravity)`: at least the first number, and the
    /// second number per edge of the longest chain. The solvers page of the guide has the
    /// measurements.
    fn iterations(self) -> [f64; 2] {
        match self {
            Self::Tethers => [100.0, 1.0],
            Self::Pins => [100.0, 2.5],
            Self::Nothing => [150.0, 1.75],
        }
    }

    /// Description for messages: `held by tethers`.
    fn described(self) -> &'static str {
        match self {
            Self::Tethers => "held by tethers",
            Self::Pins => "held by pins without tethers",
            Self::Nothing => "held by nothing",
        }
    }
}

/// A solver frequency and the quantities it was derived from.
///
/// A correction travels along a chain of edges while gravity acts. In a step h, the n edges of a
/// chain of length L overshoot sideways unless `n g h^2` is small compared to the length of an
/// edge, and contact pushes apart cloth that a step of free fall has pushed together. The time in
/// which a cloth falls by its own length, `sqrt(L / g)` up to a factor, therefore needs about as
/// many steps as the chain has edges, and at least a hundred.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct SolverChoice {
    /// Iterations per second [1/s], a multiple of 60, `120..=9960`.
    pub frequency: f32,
    /// True if all fibers became semi-implicit, because no setting selects another solver.
    pub all_semi_implicit: bool,
    /// Length of the longest chain of edges to the nearest pin \[m\]; for cloth without a pin, from
    /// end to end.
    pub reach: f32,
    /// Median length of stretch edges \[m\].
    pub edge_length: f32,
    /// Support of that chain.
    pub held_by: Hold,
}

impl SolverChoice {
    /// Approximate number of edges of the longest chain.
    pub fn chain_edges(&self) -> u32 {
        (self.reach / self.edge_length).round() as u32
    }

    fn of(cloth: &ClothDesc) -> Option<Self> {
        let edge_length = median_stretch_length(&cloth.fabric)?;
        let gravity = cloth.config.gravity.map(f64::from);
        let gravity = match gravity.iter().map(|x| x * x).sum::<f64>().sqrt() {
            0.0 => EARTH,
            gravity => gravity,
        };
        let has_tethers =
            cloth.fabric.tethers_per_particle > 0 && cloth.config.tethers.stiffness > 0.0;
        let held = if has_tethers { Hold::Tethers } else { Hold::Pins };
        let [pinned, free] = reaches(cloth);
        // Iterations per sqrt(reach / g) seconds become a frequency; the cloth part that needs most
        // decides.
        // A cloth may have pinned and loose parts.
        let choices = [(pinned, held), (free, Hold::Nothing)].map(|(reach, held_by)| {
            let [least, by_edge] = held_by.iterations();
            let iterations = (by_edge * reach / edge_length).max(least);
            let frequency = iterations * (gravity / reach).sqrt();
            (frequency, reach, held_by)
        });
        let reaching = choices.into_iter().filter(|&(_, reach, _)| reach > 0.0);
        let (frequency, reach, held_by) = reaching.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let frequency = (frequency / FREQUENCY_STEP).ceil() * FREQUENCY_STEP;
        Some(Self {
            frequency: frequency.clamp(FREQUENCIES[0], FREQUENCIES[1]) as f32,
            all_semi_implicit: false,
            reach: reach as f32,
            edge_length: edge_length as f32,
            held_by,
        })
    }
}

impl fmt::Display for SolverChoice {
    /// Formats like
    /// `420 Hz, all fibers semi-implicit: longest chain 76 edges of 15.9 mm, held by tethers`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fibers = if self.all_semi_implicit { ", all fibers semi-implicit" } else { "" };
        let (edges, length) = (self.chain_edges(), 1e3 * self.edge_length);
        let (frequency, held) = (self.frequency, self.held_by.described());
        write!(out, "{frequency} Hz{fibers}: longest chain {edges} edges of {length:.1} mm, {held}")
    }
}

impl ClothDesc {
    /// Chooses solver settings of the cloth from its fabric, its pins and gravity, such that at
    /// most 1 % of the edges of a hanging, draped or swinging sheet are more than 1.5 % too long.
    /// Call it after all other settings are made: stiffness-like values are converted
    /// ([`crate::ClothConfig::set_stiffness_frequency`]).
    ///
    /// Sets what `chosen` selects: the frequency; all fibers semi-implicit, where no phase has
    /// another solver; and the stiffness frequency to that of the solver, so that an edge of
    /// stiffness 1 loses its whole error in one iteration. With a stiffness per edge it sets only
    /// the frequency.
    ///
    /// Returns the basis of the chosen frequency; `None` if no frequency was chosen: with
    /// [`crate::Xpbd`], which does not derive it from the fabric, for a fabric without edges, or if
    /// `chosen` does not include it.
    pub fn choose_solver(&mut self, chosen: Chosen) -> Option<SolverChoice> {
        let chooses = chosen.frequency && !self.config.solver.is_xpbd();
        let choice = if chooses { SolverChoice::of(self) } else { None };
        let has_edge_stiffness = !self.fabric.edge_stiffness_log2.is_empty();
        let Solver::Pbd(Pbd { frequency, phases, .. }) = &mut self.config.solver else {
            return None;
        };
        *frequency = choice.map_or(*frequency, |choice| choice.frequency);
        let frequency = *frequency;
        // A stiffness per edge needs Gauss-Seidel.
        let is_whole = chosen.fiber_solver && !has_edge_stiffness;
        if is_whole {
            for phase in phases.iter_mut() {
                phase.fiber_solver.get_or_insert(FiberSolver::SemiImplicit);
            }
        }
        let all_semi_implicit =
            phases.iter_mut().all(|phase| phase.fiber_solver == Some(FiberSolver::SemiImplicit));
        if chosen.stiffness_frequency && !has_edge_stiffness {
            self.config.set_stiffness_frequency(frequency);
        }
        choice.map(|choice| SolverChoice { all_semi_implicit, ..choice })
    }
}

/// Median rest length of the vertical and horizontal edges, or of all edges if there are none;
/// `None` without edges.
fn median_stretch_length(fabric: &Fabric) -> Option<f64> {
    let kinds = fabric.edge_kinds();
    let lengths = |is_counted: &dyn Fn(usize) -> bool| {
        let counted = (0..kinds.len()).filter(|&edge| is_counted(edge));
        let lengths = counted.map(|edge| fabric.rest_lengths[edge]);
        lengths.filter(|&length| length > 0.0).collect::<Vec<_>>()
    };
    let mut stretch = lengths(&|edge| kinds[edge].is_stretch());
    if stretch.is_empty() {
        stretch = lengths(&|_| true);
    }
    let middle = stretch.len() / 2;
    let is_empty = stretch.is_empty();
    (!is_empty).then(|| f64::from(*stretch.select_nth_unstable_by(middle, f32::total_cmp).1))
}

/// Returns the largest path length along edges from a particle to its nearest pin \[m\], and the
/// largest path length within cloth that has no pin; each 0 if there is no such cloth.
fn reaches(cloth: &ClothDesc) -> [f64; 2] {
    let mut paths = Paths::new(&cloth.fabric);
    let count = cloth.particle_count() as u32;
    let pins = (0..count).filter(|&particle| cloth.particles[particle as usize].is_pinned());
    let (pinned, _) = paths.extend(pins);
    let mut free = 0.0f64;
    for particle in 0..count {
        if paths.lengths[particle as usize].is_infinite() {
            // Twice farthest-first: the far end of a connected part, then the particle farthest
            // from that end.
            let (_, end) = paths.extend([particle]);
            // Second search from the far end.
            paths.forget(end);
            free = free.max(paths.extend([end]).0);
        }
    }
    [pinned, free]
}

/// Shortest paths along edges (Dijkstra's algorithm).
struct Paths {
    /// First neighbour of every particle in `neighbours`.
    begin: Vec<u32>,
    /// Neighbours, each with the length of the edge \[m\].
    neighbours: Vec<(u32, f64)>,
    /// Length of the shortest path found so far to every particle \[m\], infinite if none.
    lengths: Vec<f64>,
}

impl Paths {
    fn new(fabric: &Fabric) -> Self {
        let count = fabric.particle_count as usize;
        let mut begin = vec![0u32; count + 1];
        for (_, pair) in fabric.edges() {
            pair.iter().for_each(|&end| begin[end as usize + 1] += 1);
        }
        for particle in 0..count {
            begin[particle + 1] += begin[particle];
        }
        let mut next = begin.clone();
        let mut neighbours = vec![(0, 0.0); begin[count] as usize];
        for (edge, [a, b]) in fabric.edges() {
            let length = f64::from(fabric.rest_lengths[edge].max(0.0));
            for (from, to) in [(a, b), (b, a)] {
                neighbours[next[from as usize] as usize] = (to, length);
                next[from as usize] += 1;
            }
        }
        Self { begin, neighbours, lengths: vec![f64::INFINITY; count] }
    }

    /// Range of a particle's entries in `neighbours`.
    fn neighbours(&self, particle: u32) -> std::ops::Range<usize> {
        self.begin[particle as usize] as usize..self.begin[particle as usize + 1] as usize
    }

    /// Extends the paths from `sources` to all connected particles; returns the length of the
    /// longest path \[m\] and its end.
    fn extend(&mut self, sources: impl IntoIterator<Item = u32>) -> (f64, u32) {
        // Bits of non-negative floats sort like the floats.
        let mut queue: BinaryHeap<_> =
            sources.into_iter().map(|source| Reverse((0.0f64.to_bits(), source))).collect();
        queue.iter().for_each(|&Reverse((_, source))| self.lengths[source as usize] = 0.0);
        let mut longest = (0.0, 0);
        while let Some(Reverse((bits, particle))) = queue.pop() {
            let length = f64::from_bits(bits);
            // A shorter path was found after this entry was queued.
            if self.lengths[particle as usize] < length {
                continue;
            }
            longest = (length, particle);
            for index in self.neighbours(particle) {
                let (neighbour, edge) = self.neighbours[index];
                if length + edge < self.lengths[neighbour as usize] {
                    self.lengths[neighbour as usize] = length + edge;
                    queue.push(Reverse(((length + edge).to_bits(), neighbour)));
                }
            }
        }
        longest
    }

    /// Removes the paths to a particle and to all particles connected with it.
    fn forget(&mut self, particle: u32) {
        let mut stack = vec![particle];
        while let Some(particle) = stack.pop() {
            if self.lengths[particle as usize].is_finite() {
                self.lengths[particle as usize] = f64::INFINITY;
                stack.extend(self.neighbours(particle).map(|index| self.neighbours[index].0));
            }
        }
    }
}
