//! Cost of a frame in which a swinging sheet stays within 1 % of its length.

use std::path::Path;
use std::time::Duration;

use poplin_cook::Tethers;
use poplin_testkit::fibers::{FRAME_RATE, Mix, Swing, SwingSolver, Swung, WHOLE, first_lasting};

use crate::table::{Table, percent};

/// Iteration counts per frame.
const RUNGS: [u32; 13] = [1, 2, 3, 4, 5, 6, 8, 10, 14, 20, 28, 40, 56];

/// Largest number of iterations per frame of a large sheet, with Gauss-Seidel and with
/// semi-implicit fibers, which converge long before.
const MOST: [u32; 2] = [40, 20];

/// Largest allowed p99 strain.
const AIM: f32 = 0.01;

/// Number of repeated runs for the time of the setting that meets the limit: the least median
/// counts, since other load on the machine can only add to it.
const REPEATS: usize = 3;

/// Results of one solver for rising iteration counts.
pub(crate) struct Ladder {
    pub(crate) first: Swing,
    pub(crate) rungs: Vec<(u32, Swung)>,
}

impl Ladder {
    /// Runs a solver with all iteration counts, or returns `None` if its name does not contain
    /// `only`.
    fn climb(first: Swing, only: &str) -> Option<Self> {
        let mut ladder = Self { first, rungs: Vec::new() };
        if !ladder.name().contains(only) {
            return None;
        }
        let is_gauss_seidel = matches!(
            first.solver,
            SwingSolver::Pbd(Mix::GaussSeidel) | SwingSolver::PbdFully(Mix::GaussSeidel)
        );
        let most = if first.side > 32 { MOST[usize::from(!is_gauss_seidel)] } else { u32::MAX };
        let run = |iterations| Swing { iterations, ..first }.run();
        let mut rungs: Vec<_> =
            RUNGS.into_iter().filter(|&n| n <= most).map(|n| (n, run(n))).collect();
        if let Some(index) = Self::lasting(&rungs, |swung| swung.second.p99) {
            let (count, swung) = &mut rungs[index];
            let times = (0..REPEATS).map(|_| run(*count).frame_time);
            swung.frame_time = times.fold(swung.frame_time, Duration::min);
        }
        ladder.rungs = rungs;
        Some(ladder)
    }

    /// Milliseconds per iteration of the least disturbed run.
    pub(crate) fn pace(&self) -> f32 {
        let pace =
            |(count, swung): &(u32, Swung)| 1e3 * swung.frame_time.as_secs_f32() / *count as f32;
        self.rungs.iter().map(pace).fold(f32::MAX, f32::min)
    }

    fn lasting(rungs: &[(u32, Swung)], strain: impl Fn(&Swung) -> f32) -> Option<usize> {
        first_lasting(rungs.iter().map(|(_, swung)| strain(swung) <= AIM))
    }

    /// Cheapest run from which on all runs meet the limit.
    fn aim(&self, strain: impl Fn(&Swung) -> f32) -> Option<&(u32, Swung)> {
        Self::lasting(&self.rungs, strain).map(|index| &self.rungs[index])
    }

    /// Time of a frame that meets the limit and, for solvers that never do, the strain of the last
    /// run: less is better.
    fn score(&self) -> (Duration, f32) {
        let last = self.rungs.last().map_or(f32::MAX, |(_, swung)| swung.second.p99);
        self.aim(|swung| swung.second.p99)
            .map_or((Duration::MAX, last), |(_, swung)| (swung.frame_time, 0.0))
    }

    fn mix(&self) -> Option<Mix> {
        match self.first.solver {
            SwingSolver::Pbd(mix) | SwingSolver::PbdFully(mix) => Some(mix),
            SwingSolver::Xpbd => None,
        }
    }

    pub(crate) fn name(&self) -> String {
        let fibers = match self.first.max_fiber_length {
            None => "fibers by default".to_owned(),
            Some(WHOLE) => "whole fibers".to_owned(),
            Some(length) => format!("fibers of {length}"),
        };
        let solver = self.mix().map_or("XPBD", Mix::name);
        let stiffness = if matches!(self.first.solver, SwingSolver::Pbd(_)) {
            "default stiffness"
        } else {
            "full stiffness"
        };
        format!("{solver}, {fibers}, {stiffness}")
    }
}

fn milliseconds(swung: &Swung) -> String {
    format!("{:.3}", 1e3 * swung.frame_time.as_secs_f64())
}

fn is_tethered(ladder: &Ladder) -> &'static str {
    if ladder.first.tethers == Tethers::None { "no" } else { "yes" }
}

/// Fiber length limits and solvers to compare.
fn solvers() -> impl Iterator<Item = (Option<u32>, SwingSolver)> {
    let lengths = |mix| match mix {
        Mix::GaussSeidel => [Some(1), Some(8), Some(WHOLE)].as_slice(),
        _ => [None, Some(WHOLE)].as_slice(),
    };
    let mixes = Mix::ALL
        .into_iter()
        .flat_map(move |mix| lengths(mix).iter().map(move |&length| (length, mix)));
    let both = mixes.flat_map(|(length, mix)| {
        [(length, SwingSolver::Pbd(mix)), (length, SwingSolver::PbdFully(mix))]
    });
    both.chain([(Some(WHOLE), SwingSolver::Xpbd)])
}

/// Runs all solvers whose names contain `only` on a sheet, and prints the results.
pub(crate) fn ladders(side: u32, only: &str, folder: &Path) -> std::io::Result<Vec<Ladder>> {
    let ladder = |tethers| {
        move |(max_fiber_length, solver)| {
            Ladder::climb(Swing { side, max_fiber_length, tethers, solver, iterations: 1 }, only)
        }
    };
    let ladders: Vec<_> = [Tethers::Geodesic, Tethers::None]
        .into_iter()
        .flat_map(|tethers| solvers().filter_map(ladder(tethers)))
        .collect();

    let mut csv =
        Table::new(["solver", "tethers", "iterations", "ms", "end p99", "second p99", "worst p99"]);
    for ladder in &ladders {
        for (count, swung) in &ladder.rungs {
            let numbers =
                [swung.end.p99, swung.second.p99, swung.worst_p99].map(|number| number.to_string());
            let names = [
                ladder.name(),
                is_tethered(ladder).to_owned(),
                count.to_string(),
                milliseconds(swung),
            ];
            csv.push(names.into_iter().chain(numbers));
        }
    }
    csv.write_csv(&folder.join(format!("swinging_{side}.csv")))?;

    let columns = [
        "tethers",
        "iterations/s",
        "ms a frame",
        "p99 of the 2nd second",
        "at the end",
        "worst frame",
        "by the end alone",
    ];
    let header = || Table::new(std::iter::once("solver").chain(columns));
    let mut all = header();
    ladders.iter().for_each(|ladder| all.push(row(ladder)));
    all.print(&format!("Sheet of {side} x {side}: first rung within 1 % from which on all are"));
    let mut best = header();
    for tethers in ["yes", "no"] {
        for mix in Mix::ALL.map(Some).into_iter().chain([None]) {
            let same = ladders
                .iter()
                .filter(|ladder| ladder.mix() == mix && is_tethered(ladder) == tethers);
            let order = |a: &&Ladder, b: &&Ladder| {
                a.score().0.cmp(&b.score().0).then(a.score().1.total_cmp(&b.score().1))
            };
            same.min_by(order).into_iter().for_each(|ladder| best.push(row(ladder)));
        }
    }
    best.print(&format!("Sheet of {side} x {side}: the fastest of each kind"));
    Ok(ladders)
}

fn row(ladder: &Ladder) -> Vec<String> {
    let mut row = vec![ladder.name(), is_tethered(ladder).to_owned()];
    match ladder.aim(|swung| swung.second.p99) {
        Some((count, swung)) => {
            let strains = [swung.second.p99, swung.end.p99, swung.worst_p99].map(percent);
            row.extend(
                [(count * FRAME_RATE).to_string(), milliseconds(swung)].into_iter().chain(strains),
            );
        }
        None => {
            let (count, swung) = &ladder.rungs[ladder.rungs.len() - 1];
            let strains = [swung.second.p99, swung.end.p99, swung.worst_p99].map(percent);
            row.extend(
                [format!("> {}", count * FRAME_RATE), format!("> {}", milliseconds(swung))]
                    .into_iter()
                    .chain(strains),
            );
        }
    }
    let by_end = ladder.aim(|swung| swung.end.p99);
    row.push(by_end.map_or("-".to_owned(), |(count, swung)| {
        format!("{}: {} ms", count * FRAME_RATE, milliseconds(swung))
    }));
    row
}
