//! Settings of [`Pbd`] that follow from the cloth, by a measured rule.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

use crate::{Cloth, Fabric, FiberSolver, Pbd, Solver};

/// Acceleration that is reckoned with where a cloth feels no gravity [m/s^2]: something else will move it.
const EARTH: f64 = 9.81;

/// Chosen frequencies are multiples of this [1/s], so that the usual frame rates divide them.
const FREQUENCY_STEP: f64 = 60.0;

/// Smallest and largest frequency that is chosen [1/s].
const FREQUENCIES: [f64; 2] = [120.0, 9960.0];

/// Which settings of a cloth [`Cloth::choose_solver`] sets; the others stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chosen {
    /// [`Pbd::frequency`].
    pub frequency: bool,
    /// [`crate::PbdPhase::fiber_solver`] where it is `None`.
    pub fiber_solver: bool,
    /// [`crate::ClothConfig::stiffness_frequency`], see [`crate::ClothConfig::set_stiffness_frequency`].
    pub stiffness_frequency: bool,
}

impl Chosen {
    /// All of them.
    pub const ALL: Self = Self { frequency: true, fiber_solver: true, stiffness_frequency: true };

    /// None of them.
    pub const NONE: Self =
        Self { frequency: false, fiber_solver: false, stiffness_frequency: false };
}

/// What keeps the far end of a cloth from falling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Hold {
    /// Tethers to pins.
    Tethers,
    /// Pins, through the edges alone.
    Pins,
    /// Nothing but what it falls on.
    Nothing,
}

impl Hold {
    /// Iterations that are wanted in the time `sqrt(reach / gravity)`: at least so many, and so many for each edge of the
    /// longest chain. The page about solvers of the guide has the measurements.
    fn iterations(self) -> [f64; 2] {
        match self {
            Self::Tethers => [100.0, 1.0],
            Self::Pins => [100.0, 2.5],
            Self::Nothing => [150.0, 1.75],
        }
    }

    /// What holds it, for people: `held by tethers`.
    fn described(self) -> &'static str {
        match self {
            Self::Tethers => "held by tethers",
            Self::Pins => "held by pins without tethers",
            Self::Nothing => "held by nothing",
        }
    }
}

/// A solver frequency and what it was chosen by.
///
/// A correction travels along a chain of edges, and while it does, gravity acts: in a step h the n edges of a chain of length
/// L swing past their goal sideways if `n g h^2` is not small beside the length of one, and contact pushes cloth apart that a
/// step of free fall has pushed together. In the time that a cloth takes to fall by its own length, `sqrt(L / g)`, up to a
/// factor, that asks for as many steps as the chain has edges, and for a hundred at least.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct SolverChoice {
    /// Iterations per second [1/s], a multiple of 60, `120..=9960`.
    pub frequency: f32,
    /// Whether all fibers were made semi-implicit, where no setting has them solved otherwise.
    pub all_semi_implicit: bool,
    /// Length of the longest chain of edges to the next pin \[m\]; of cloth without a pin, from end to end.
    pub reach: f32,
    /// Median length of the edges that hold against stretch \[m\].
    pub edge_length: f32,
    /// What holds that chain.
    pub held_by: Hold,
}

impl SolverChoice {
    /// Edges of the longest chain, about.
    pub fn chain_edges(&self) -> u32 {
        (self.reach / self.edge_length).round() as u32
    }

    fn of(cloth: &Cloth) -> Option<Self> {
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
    /// `420 Hz, all fibers semi-implicit: longest chain 76 edges of 15.9 mm, held by tethers`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fibers = if self.all_semi_implicit { ", all fibers semi-implicit" } else { "" };
        let (edges, length) = (self.chain_edges(), 1e3 * self.edge_length);
        let (frequency, held) = (self.frequency, self.held_by.described());
        write!(out, "{frequency} Hz{fibers}: longest chain {edges} edges of {length:.1} mm, {held}")
    }
}

impl Cloth {
    /// Chooses how the cloth is solved from its fabric, its pins and gravity, so that at most a hundredth of the edges of a
    /// sheet that hangs, drapes or swings are more than 1.5 % too long. Call it when the rest of the settings is made: values
    /// that mean a fraction per time are restated ([`crate::ClothConfig::set_stiffness_frequency`]).
    ///
    /// It sets what `chosen` names: the frequency; all fibers semi-implicit, where no phase has another solver; and the
    /// frequency of stiffnesses to that of the solver, so that an edge of stiffness 1 loses its whole error in an iteration.
    /// With a stiffness per edge it sets the frequency alone.
    ///
    /// Returns what the frequency was chosen by, `None` where it was not: with [`crate::Xpbd`], which takes it from no fabric,
    /// for a fabric without edges, and where `chosen` does not name it.
    pub fn choose_solver(&mut self, chosen: Chosen) -> Option<SolverChoice> {
        let chooses = chosen.frequency && !self.config.solver.is_xpbd();
        let choice = if chooses { SolverChoice::of(self) } else { None };
        let has_edge_stiffness = !self.fabric.edge_stiffness_log2.is_empty();
        let Solver::Pbd(Pbd { frequency, phases, .. }) = &mut self.config.solver else {
            return None;
        };
        *frequency = choice.map_or(*frequency, |choice| choice.frequency);
        let frequency = *frequency;
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

/// Median rest length of the vertical and horizontal edges, of all edges if there are none of these; `None` without edges.
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

/// How far the farthest particle is from its nearest pin along edges \[m\], and how far apart the ends are of cloth that no pin
/// holds; 0 where there is no such cloth.
fn reaches(cloth: &Cloth) -> [f64; 2] {
    let mut paths = Paths::new(&cloth.fabric);
    let count = cloth.particle_count() as u32;
    let pins = (0..count).filter(|&particle| cloth.particles[particle as usize].is_pinned());
    let (pinned, _) = paths.extend(pins);
    let mut free = 0.0f64;
    for particle in 0..count {
        if paths.lengths[particle as usize].is_infinite() {
            // The far end of a connected part, and what is farthest from there.
            let (_, end) = paths.extend([particle]);
            paths.forget(end);
            free = free.max(paths.extend([end]).0);
        }
    }
    [pinned, free]
}

/// Shortest paths along edges (Dijkstra).
struct Paths {
    /// First neighbour of every particle in `neighbours`.
    begin: Vec<u32>,
    /// Neighbours with the length of the edge \[m\].
    neighbours: Vec<(u32, f64)>,
    /// Length of the shortest path to every particle \[m\], infinite where there is none yet.
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

    /// Particles that edges lead to from here.
    fn neighbours(&self, particle: u32) -> std::ops::Range<usize> {
        self.begin[particle as usize] as usize..self.begin[particle as usize + 1] as usize
    }

    /// Adds paths from these particles to all that they lead to; returns the length of the longest \[m\], and its end.
    fn extend(&mut self, sources: impl IntoIterator<Item = u32>) -> (f64, u32) {
        // Lengths are not negative, so their bits sort as they do.
        let mut queue: BinaryHeap<_> =
            sources.into_iter().map(|source| Reverse((0.0f64.to_bits(), source))).collect();
        queue.iter().for_each(|&Reverse((_, source))| self.lengths[source as usize] = 0.0);
        let mut longest = (0.0, 0);
        while let Some(Reverse((bits, particle))) = queue.pop() {
            let length = f64::from_bits(bits);
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

    /// Forgets the paths to a particle and to all that hang together with it.
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
