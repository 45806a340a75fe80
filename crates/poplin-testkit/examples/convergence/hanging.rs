//! Effect and cost of one iteration on new stretch, and stretch of cloths hanging at rest.

use std::path::Path;
use std::time::Duration;

use poplin_measure::metrics::Strain;
use poplin_model::ClothDesc;
use poplin_testkit::fibers::{FreeFall, Mix, hang};

use crate::table::{Table, percent};

/// Iterations of Gauss-Seidel in the tables.
const COUNTS: [usize; 6] = [1, 2, 4, 8, 15, 30];

/// Iterations of semi-implicit fibers in the table of hanging cloths.
const PASSES: [u32; 3] = [1, 2, 4];

/// Largest number of iterations in the search for an equal stretch.
const MOST: usize = 2000;

/// Number of timed iterations of each solver, interleaved with those of the others.
const TIMED: usize = 101;

/// Speed above which a cloth is not at rest [m/s].
const RESTLESS: f32 = 0.1;

/// Cloth with its name; `is_shown` selects it for the tables, while the CSV files contain all
/// cloths.
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) cloth: ClothDesc,
    pub(crate) is_shown: bool,
}

/// Strain after 0, 1, 2 ... iterations.
pub(crate) struct Curve {
    pub(crate) cloth: String,
    pub(crate) mix: Mix,
    pub(crate) strains: Vec<Strain>,
}

fn shown(cloths: &[Named]) -> impl Iterator<Item = &Named> {
    cloths.iter().filter(|named| named.is_shown)
}

fn header<'a>(first: &'a str, cloths: &'a [Named]) -> impl Iterator<Item = &'a str> {
    std::iter::once(first).chain(shown(cloths).map(|named| named.name.as_str()))
}

/// Prints the residual stretch after iterations of free fall.
pub(crate) fn residuals(cloths: &[Named], folder: &Path) -> std::io::Result<Vec<Curve>> {
    let mut curves = Vec::new();
    let mut csv = Table::new(["cloth", "solver", "iterations", "rms", "p99", "max"]);
    for Named { name, cloth, .. } in cloths {
        for mix in Mix::ALL {
            let strains = FreeFall::new(cloth, mix).residuals(COUNTS[COUNTS.len() - 1]);
            for (count, strain) in strains.iter().enumerate() {
                let numbers = [count as f32, strain.rms, strain.p99, strain.max]
                    .map(|number| number.to_string());
                csv.push([name.clone(), mix.name().to_owned()].into_iter().chain(numbers));
            }
            curves.push(Curve { cloth: name.clone(), mix, strains });
        }
    }
    csv.write_csv(&folder.join("residuals.csv"))?;

    let curve = |named: &Named, mix: Mix| {
        curves.iter().find(|curve| curve.cloth == named.name && curve.mix == mix)
    };
    let rms = |mix: Mix, count: usize| {
        shown(cloths).map(move |named| {
            curve(named, mix).map_or_else(String::new, |curve| percent(curve.strains[count].rms))
        })
    };
    let mut table = Table::new(header("RMS of the strain [%]", cloths));
    table.push(std::iter::once("after the fall".to_owned()).chain(rms(Mix::GaussSeidel, 0)));
    for count in COUNTS {
        table.push(
            std::iter::once(format!("Gauss-Seidel, {count}")).chain(rms(Mix::GaussSeidel, count)),
        );
    }
    for mix in [Mix::Vertical, Mix::Stretch, Mix::All] {
        for count in [1, 2] {
            table.push(std::iter::once(format!("{}, {count}", mix.name())).chain(rms(mix, count)));
        }
    }
    for mix in [Mix::Vertical, Mix::Stretch, Mix::All] {
        let equal = shown(cloths).map(|named| {
            let aim = curve(named, mix).map_or(0.0, |curve| curve.strains[1].rms);
            let mut fall = FreeFall::new(&named.cloth, Mix::GaussSeidel);
            let count = (1..=MOST).find(|_| {
                fall.iterate();
                fall.strain().rms <= aim
            });
            count.map_or_else(|| format!("> {MOST}"), |count| count.to_string())
        });
        table.push(std::iter::once(format!("Gauss-Seidel like {}, 1", mix.name())).chain(equal));
    }
    table.print("Residual stretch after iterations of the fibers");
    Ok(curves)
}

/// Prints the cost of an iteration.
pub(crate) fn costs(cloths: &[Named], folder: &Path) -> std::io::Result<()> {
    let mut csv = Table::new(["cloth", "solver", "microseconds", "fraction of Gauss-Seidel"]);
    let mut table =
        Table::new(["microseconds an iteration"].into_iter().chain(Mix::ALL.map(Mix::name)));
    for Named { name, cloth, .. } in cloths {
        let mut falls = Mix::ALL.map(|mix| FreeFall::new(cloth, mix));
        let mut times: [Vec<Duration>; 4] = Default::default();
        for _ in 0..TIMED {
            falls
                .iter_mut()
                .zip(&mut times)
                .for_each(|(fall, times)| times.push(fall.time_iteration()));
        }
        let medians = times.map(|mut times| {
            times.sort();
            1e6 * times[TIMED / 2].as_secs_f64()
        });
        for (mix, time) in Mix::ALL.iter().zip(medians) {
            let numbers = [time, time / medians[0]].map(|number| format!("{number:.3}"));
            csv.push([name.clone(), mix.name().to_owned()].into_iter().chain(numbers));
        }
        let cells = medians.iter().map(|time| format!("{time:.1} ({:.2})", time / medians[0]));
        table.push(std::iter::once(name.clone()).chain(cells));
    }
    csv.write_csv(&folder.join("costs.csv"))?;
    table.print("Cost of an iteration, and as a fraction of Gauss-Seidel");
    Ok(())
}

/// Prints the stretch of cloths hanging at rest, for each number of steps per second.
pub(crate) fn at_rest(cloths: &[Named], frequencies: &[u32], folder: &Path) -> std::io::Result<()> {
    let mut csv = Table::new([
        "cloth",
        "steps per second",
        "solver",
        "passes",
        "p99",
        "mean",
        "elongation",
        "speed",
    ]);
    let rows = COUNTS.map(|count| (Mix::GaussSeidel, count as u32)).into_iter();
    let whole = [Mix::Vertical, Mix::Stretch, Mix::All]
        .into_iter()
        .flat_map(|mix| PASSES.map(|count| (mix, count)));
    let rows: Vec<_> = rows.chain(whole).collect();
    for &frequency in frequencies {
        let mut table = Table::new(header("p99 strain, elongation [%]", cloths));
        for &(mix, passes) in &rows {
            let cells = shown(cloths).map(|named| {
                let hanging = hang(&named.cloth, mix, frequency, passes);
                let (strain, elongation, speed) =
                    (hanging.strain, hanging.elongation, hanging.speed);
                let numbers =
                    [strain.p99, strain.mean, elongation, speed].map(|number| number.to_string());
                let names = [
                    named.name.clone(),
                    frequency.to_string(),
                    mix.name().to_owned(),
                    passes.to_string(),
                ];
                csv.push(names.into_iter().chain(numbers));
                format!(
                    "{}, {}{}",
                    percent(strain.p99),
                    percent(elongation),
                    if speed > RESTLESS { "*" } else { "" }
                )
            });
            let cells: Vec<_> = cells.collect();
            table.push(std::iter::once(format!("{}, {passes}", mix.name())).chain(cells));
        }
        table.print(&format!(
            "Hanging for 4 s, {frequency} steps per second, passes in each (* moves faster than {RESTLESS} m/s)"
        ));
    }
    csv.write_csv(&folder.join("hanging.csv"))
}
