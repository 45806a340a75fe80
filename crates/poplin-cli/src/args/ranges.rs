//! Values of options, checked during parsing so that the message names the option.

use std::ops::RangeInclusive;

use poplin_cook::{CookError, CookOptions, Weld};
use poplin_measure::bench::Workload;
use poplin_model::MAX_COORDINATE;
use thiserror::Error;

use poplin_run::Ground;

/// Error of an option value.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub(crate) enum ValueError {
    /// Not a number.
    #[error("not a number")]
    NotANumber,
    /// Not a whole number, or below 1.
    #[error("not a whole number of at least 1")]
    NotACount,
    /// Not a whole number in its range.
    #[error("not a whole number in {min}..={max}")]
    NotWhole {
        /// Smallest value.
        min: u32,
        /// Largest value.
        max: u32,
    },
    /// Not three numbers.
    #[error("not three numbers separated by commas, such as `0,0.5,0`")]
    NotAVector,
    /// Not four numbers.
    #[error("not four numbers separated by commas, such as `600,300,700,200`")]
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
        /// Unit with a leading space, or empty.
        unit: &'static str,
    },
    /// Value that cooking rejects.
    #[error(transparent)]
    Option(#[from] CookError),
    /// No workload has this name.
    #[error("there is no workload `{name}`; there are {}", Workload::ALL.map(|workload| workload.name).join(", "))]
    NoSuchWorkload {
        /// The name.
        name: String,
    },
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

/// Returns a parser of whole numbers in a range.
pub(crate) fn whole(
    range: RangeInclusive<u32>,
) -> impl Fn(&str) -> Result<u32, ValueError> + Clone {
    move |text| {
        let value = text.trim().parse().ok().filter(|value| range.contains(value));
        value.ok_or(ValueError::NotWhole { min: *range.start(), max: *range.end() })
    }
}

/// Parses frames per second [1/s], in the range of scene files.
pub(crate) fn frame_rate(text: &str) -> Result<f32, ValueError> {
    in_range(text, [0.1, 10_000.0], " 1/s")
}

/// Parses the speed of cloth at rest [m/s].
pub(crate) fn rest_speed(text: &str) -> Result<f32, ValueError> {
    in_range(text, [1e-6, 1000.0], " m/s")
}

/// Parses a mass per area [kg/m^2], in the range of cooking.
pub(crate) fn density(text: &str) -> Result<f32, ValueError> {
    let density = number(text)?;
    CookOptions { density, ..CookOptions::default() }.validate()?;
    Ok(density)
}

/// Parses the distance of welding [m], in the range of cooking.
pub(crate) fn weld(text: &str) -> Result<f32, ValueError> {
    let distance = number(text)?;
    CookOptions { weld: Weld::Distance(distance), ..CookOptions::default() }.validate()?;
    Ok(distance)
}

/// Parses the length of a fiber in edges, in the range of cooking.
pub(crate) fn max_fiber_length(text: &str) -> Result<u32, ValueError> {
    let length = text.trim().parse().map_err(|_| ValueError::NotACount)?;
    CookOptions { max_fiber_length: Some(length), ..CookOptions::default() }.validate()?;
    Ok(length)
}

/// Parses a factor on lengths, in the range of scene files.
pub(crate) fn scale(text: &str) -> Result<f32, ValueError> {
    in_range(text, [1e-6, 1e6], "")
}

/// Parses an angle of up to ten revolutions \[degrees\].
pub(crate) fn degrees(text: &str) -> Result<f32, ValueError> {
    in_range(text, [-3600.0, 3600.0], " degrees")
}

/// Parses three numbers, such as a position \[m\] or angles \[degrees\].
pub(crate) fn vector(text: &str) -> Result<[f32; 3], ValueError> {
    let mut vector = [0.0; 3];
    let mut words = text.split(',');
    for value in &mut vector {
        let word = words.next().ok_or(ValueError::NotAVector)?;
        *value = in_range(word, [-MAX_COORDINATE, MAX_COORDINATE], "")?;
    }
    words.next().is_none().then_some(vector).ok_or(ValueError::NotAVector)
}

/// Parses a wind velocity [m/s], in the range of scene files.
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

/// Parses the two pixels of a drag, each coordinate in `0..=16384`.
pub(crate) fn drag(text: &str) -> Result<[f32; 4], ValueError> {
    let values = text.split(',').map(|word| in_range(word, [0.0, 16_384.0], " pixels"));
    let values = values.collect::<Result<Vec<_>, _>>()?;
    values.try_into().map_err(|_| ValueError::NotADrag)
}

/// Parses the height of a floor \[m\], or `none`.
pub(crate) fn ground(text: &str) -> Result<Ground, ValueError> {
    if text.trim() == "none" {
        return Ok(Ground::None);
    }
    in_range(text, [-MAX_COORDINATE, MAX_COORDINATE], " m")?;
    // Parsed again as `f64`: far from the origin `f32` does not resolve metres.
    text.trim().parse().map(Ground::At).map_err(|_| ValueError::NotANumber)
}

/// Parses iterations per second [1/s], in the range of [`poplin_model::Pbd::frequency`].
pub(crate) fn solver_frequency(text: &str) -> Result<f32, ValueError> {
    in_range(text, [1.0, 10_000.0], " 1/s")
}

/// Parses a coefficient of friction, in the range of [`poplin_model::Contact::friction`].
pub(crate) fn friction(text: &str) -> Result<f32, ValueError> {
    in_range(text, [0.0, 100.0], "")
}

/// Parses the thickness of a cloth \[m\], in the range of [`poplin_model::ClothConfig::thickness`].
pub(crate) fn thickness(text: &str) -> Result<f32, ValueError> {
    in_range(text, [0.0, 1000.0], " m")
}

/// Parses the perturbation of a flat mesh, in the range of scene files.
pub(crate) fn perturbation(text: &str) -> Result<f32, ValueError> {
    in_range(text, [0.0, 0.1], "")
}

/// Parses a bending rigidity [N m], in the range of [`poplin_model::Xpbd::bending_rigidity`].
pub(crate) fn rigidity(text: &str) -> Result<f32, ValueError> {
    in_range(text, [0.0, 1e6], " N m")
}

/// Parses the name of a workload of `poplin bench`.
pub(crate) fn workload(name: &str) -> Result<Workload, ValueError> {
    Workload::named(name).ok_or_else(|| ValueError::NoSuchWorkload { name: name.to_owned() })
}

/// Parses a coefficient of drag or lift, `0..=100`.
pub(crate) fn air_coefficient(text: &str) -> Result<f32, ValueError> {
    in_range(text, [0.0, 100.0], "")
}

/// Parses a fraction, `0..=1`.
pub(crate) fn fraction(text: &str) -> Result<f32, ValueError> {
    in_range(text, [0.0, 1.0], "")
}

/// Parses the share of the second-order correction of velocities, in the range of scene files.
pub(crate) fn share(text: &str) -> Result<f32, ValueError> {
    in_range(text, [0.0, 0.8], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_numbers_outside_their_range() {
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
            assert_eq!(message, "not a whole number in 1..=1000", "{text}");
        }
        assert_eq!(fraction("x").unwrap_err().to_string(), "not a number");
        assert!(scale("inf").is_err() && solver_frequency("0").is_err());
    }
}
