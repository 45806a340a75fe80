//! Values of options, checked where they are parsed so that the message names the option.

use std::ops::RangeInclusive;

use poplin_cook::{CookError, CookOptions};
use poplin_measure::bench::Workload;
use poplin_model::MAX_COORDINATE;
use thiserror::Error;

use super::position::Ground;
use crate::batch::Part;

/// Why the value of an option was rejected.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub(crate) enum ValueError {
    /// Not a number.
    #[error("this is not a number")]
    NotANumber,
    /// Not a whole number, or below 0.
    #[error("this is not a whole number from 1 on")]
    NotACount,
    /// Not a whole number in its range.
    #[error("this is not a whole number in {min}..={max}")]
    NotWhole {
        /// Smallest value.
        min: u32,
        /// Largest value.
        max: u32,
    },
    /// Not three numbers.
    #[error("these are not three numbers with commas between them, such as `0,0.5,0`")]
    NotAVector,
    /// Not four numbers.
    #[error("these are not four numbers with commas between them, such as `600,300,700,200`")]
    NotADrag,
    /// A number outside its range.
    #[error("{value} is outside {min}..={max}{unit}")]
    OutOfRange {
        /// The value.
        value: f32,
        /// Smallest value.
        min: f32,
        /// Largest value.
        max: f32,
        /// The unit with a blank before it, or empty.
        unit: &'static str,
    },
    /// No range of jobs.
    #[error("this is no range of jobs such as `0..100`, from one on and before another")]
    NotARange,
    /// No shard.
    #[error(
        "this is no part such as `0/4`, counted from 0: it is one of `0/4`, `1/4`, `2/4`, `3/4`"
    )]
    NotAShard,
    /// What cooking does not take.
    #[error(transparent)]
    Option(#[from] CookError),
    /// No workload has this name.
    #[error("there is no workload `{name}`; there are {}", Workload::ALL.map(|workload| workload.name).join(", "))]
    NoSuchWorkload {
        /// The name.
        name: String,
    },
    /// No backend has this name.
    #[error("there is no backend `{name}`; there are auto, gpu, cpu")]
    NoSuchBackend {
        /// The name.
        name: String,
    },
    /// An adapter was named for the CPU backend.
    #[error("--adapter names a GPU adapter; it does not go with --backend cpu")]
    AdapterOnCpu,
}

/// Some jobs in a row.
pub(crate) fn jobs(text: &str) -> Result<Part, ValueError> {
    let (begin, end) = text.split_once("..").ok_or(ValueError::NotARange)?;
    let number = |text: &str| text.trim().parse::<usize>().map_err(|_| ValueError::NotARange);
    let (begin, end) = (number(begin)?, number(end)?);
    if begin < end { Ok(Part::Jobs { begin, end }) } else { Err(ValueError::NotARange) }
}

/// One of several equal parts.
pub(crate) fn shard(text: &str) -> Result<Part, ValueError> {
    let (index, count) = text.split_once('/').ok_or(ValueError::NotAShard)?;
    let number = |text: &str| text.trim().parse::<usize>().map_err(|_| ValueError::NotAShard);
    let (index, count) = (number(index)?, number(count)?);
    if index < count { Ok(Part::Shard { index, count }) } else { Err(ValueError::NotAShard) }
}

fn number(text: &str) -> Result<f32, ValueError> {
    text.trim().parse().map_err(|_| ValueError::NotANumber)
}

fn in_range(text: &str, [min, max]: [f32; 2], unit: &'static str) -> Result<f32, ValueError> {
    let value = number(text)?;
    if value >= min && value <= max {
        Ok(value)
    } else {
        Err(ValueError::OutOfRange { value, min, max, unit })
    }
}

/// A whole number in a range.
pub(crate) fn whole(
    range: RangeInclusive<u32>,
) -> impl Fn(&str) -> Result<u32, ValueError> + Clone {
    move |text| {
        let value = text.trim().parse().ok().filter(|value| range.contains(value));
        value.ok_or(ValueError::NotWhole { min: *range.start(), max: *range.end() })
    }
}

/// Frames per second [1/s], the range of scene files.
pub(crate) fn frame_rate(text: &str) -> Result<f32, ValueError> {
    in_range(text, [0.1, 10_000.0], " 1/s")
}

/// Mass per area [kg/m^2] that cooking takes.
pub(crate) fn density(text: &str) -> Result<f32, ValueError> {
    let density = number(text)?;
    CookOptions { density, ..CookOptions::default() }.validate()?;
    Ok(density)
}

/// Length of a fiber in edges that cooking takes.
pub(crate) fn max_fiber_length(text: &str) -> Result<u32, ValueError> {
    let length = text.trim().parse().map_err(|_| ValueError::NotACount)?;
    CookOptions { max_fiber_length: Some(length), ..CookOptions::default() }.validate()?;
    Ok(length)
}

/// Factor on lengths, the range of scene files.
pub(crate) fn scale(text: &str) -> Result<f32, ValueError> {
    in_range(text, [1e-6, 1e6], "")
}

/// An angle of up to ten revolutions \[degrees\].
pub(crate) fn degrees(text: &str) -> Result<f32, ValueError> {
    in_range(text, [-3600.0, 3600.0], " degrees")
}

/// Three numbers, as of positions \[m\] or angles \[degrees\].
pub(crate) fn vector(text: &str) -> Result<[f32; 3], ValueError> {
    let mut vector = [0.0; 3];
    let mut words = text.split(',');
    for value in &mut vector {
        let word = words.next().ok_or(ValueError::NotAVector)?;
        *value = in_range(word, [-MAX_COORDINATE, MAX_COORDINATE], "")?;
    }
    words.next().is_none().then_some(vector).ok_or(ValueError::NotAVector)
}

/// Wind [m/s], the range of scene files.
pub(crate) fn wind(text: &str) -> Result<[f32; 3], ValueError> {
    let wind = vector(text)?;
    match wind.into_iter().find(|speed| speed.abs() > 1000.0) {
        Some(value) => {
            let [min, max] = [-1000.0, 1000.0];
            Err(ValueError::OutOfRange { value, min, max, unit: " m/s" })
        }
        None => Ok(wind),
    }
}

/// From one pixel to another, each `0..=16384`.
pub(crate) fn drag(text: &str) -> Result<[f32; 4], ValueError> {
    let values = text.split(',').map(|word| in_range(word, [0.0, 16_384.0], " pixels"));
    let values = values.collect::<Result<Vec<_>, _>>()?;
    values.try_into().map_err(|_| ValueError::NotADrag)
}

/// Height of a floor \[m\], or `none`.
pub(crate) fn ground(text: &str) -> Result<Ground, ValueError> {
    if text.trim() == "none" {
        return Ok(Ground::None);
    }
    in_range(text, [-MAX_COORDINATE, MAX_COORDINATE], " m")?;
    // Far from the origin `f32` has no metres left.
    text.trim().parse().map(Ground::At).map_err(|_| ValueError::NotANumber)
}

/// Iterations per second [1/s], the range of [`poplin_model::Pbd::frequency`].
pub(crate) fn solver_frequency(text: &str) -> Result<f32, ValueError> {
    in_range(text, [1.0, 10_000.0], " 1/s")
}

/// Coefficient of friction, the range of [`poplin_model::Contact::friction`].
pub(crate) fn friction(text: &str) -> Result<f32, ValueError> {
    in_range(text, [0.0, 100.0], "")
}

/// Thickness of a cloth, the range of [`poplin_model::ClothConfig::thickness`].
pub(crate) fn thickness(text: &str) -> Result<f32, ValueError> {
    in_range(text, [0.0, 1000.0], " m")
}

/// Perturbation of a flat mesh, the range of scene files.
pub(crate) fn perturbation(text: &str) -> Result<f32, ValueError> {
    in_range(text, [0.0, 0.1], "")
}

/// Bending rigidity [N m], the range of [`poplin_model::Xpbd::bending_rigidity`].
pub(crate) fn rigidity(text: &str) -> Result<f32, ValueError> {
    in_range(text, [0.0, 1e6], " N m")
}

/// A workload of `poplin bench`, by its name.
pub(crate) fn workload(name: &str) -> Result<Workload, ValueError> {
    Workload::named(name).ok_or_else(|| ValueError::NoSuchWorkload { name: name.to_owned() })
}

/// A fraction, `0..=1`.
pub(crate) fn fraction(text: &str) -> Result<f32, ValueError> {
    in_range(text, [0.0, 1.0], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_outside_their_range_are_refused_with_it() {
        assert_eq!(frame_rate("60"), Ok(60.0));
        assert_eq!(frame_rate("NaN").unwrap_err().to_string(), "NaN is outside 0.1..=10000 1/s");
        assert_eq!(
            density("-1").unwrap_err().to_string(),
            "cook option density = -1 is outside 0.000000001..=1000000000 kg/m^2"
        );
        assert_eq!(
            max_fiber_length("16777217").unwrap_err().to_string(),
            "cook option max_fiber_length = 16777217 is outside 1..=16777216"
        );
        assert_eq!(max_fiber_length("-1"), Err(ValueError::NotACount));
        let count = whole(1..=1000);
        assert_eq!((count("1"), count(" 1000 ")), (Ok(1), Ok(1000)));
        for text in ["abc", "", "0", "-3", "1001", "2.5", "99999999999"] {
            let message = count(text).unwrap_err().to_string();
            assert_eq!(message, "this is not a whole number in 1..=1000", "{text}");
        }
        assert_eq!(fraction("x").unwrap_err().to_string(), "this is not a number");
        assert!(scale("inf").is_err() && solver_frequency("0").is_err());
    }
}
