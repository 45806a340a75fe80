//! Direction of a camera.

use std::str::FromStr;

/// Direction from which a scene is seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct View {
    /// Rotation around the vertical axis \[degrees\], `-360..=360`: 0 looks along -z (from the
    /// front), 90 along -x (from the right).
    pub azimuth: f64,
    /// Height of the camera above the horizon \[degrees\], `-89..=89`.
    pub elevation: f64,
}

impl View {
    /// View from the front right, slightly above (the default).
    pub const THREE_QUARTER: Self = Self { azimuth: 32.0, elevation: 16.0 };
    /// View straight from the front.
    pub const FRONT: Self = Self { azimuth: 0.0, elevation: 0.0 };
    /// View straight from the right.
    pub const SIDE: Self = Self { azimuth: 90.0, elevation: 0.0 };
    /// View straight from above.
    pub const TOP: Self = Self { azimuth: 0.0, elevation: 89.0 };
    /// View from the front right, high above, for flat scenes.
    pub const ABOVE: Self = Self { azimuth: 32.0, elevation: 38.0 };
}

impl FromStr for View {
    type Err = ViewError;

    /// Parses `front`, `side`, `top`, or azimuth and elevation separated by a comma: `120,20`.
    fn from_str(text: &str) -> Result<Self, ViewError> {
        let error = || ViewError { text: text.to_owned() };
        match text {
            "front" => Ok(Self::FRONT),
            "side" => Ok(Self::SIDE),
            "top" => Ok(Self::TOP),
            _ => {
                let (azimuth, elevation) = text.split_once(',').ok_or_else(error)?;
                let angle = |text: &str| text.trim().parse().map_err(|_| error());
                let view = Self { azimuth: angle(azimuth)?, elevation: angle(elevation)? };
                view.is_valid().then_some(view).ok_or_else(error)
            }
        }
    }
}

/// Error of a text that is not a [`View`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a camera: expected front, side, top, or AZIMUTH,ELEVATION in degrees, -360..=360 and -89..=89"
)]
pub struct ViewError {
    text: String,
}

impl View {
    /// Minimum and maximum azimuth \[degrees\].
    pub const AZIMUTHS: [f64; 2] = [-360.0, 360.0];
    /// Minimum and maximum elevation \[degrees\].
    pub const ELEVATIONS: [f64; 2] = [-89.0, 89.0];

    /// Tests whether the angles are in their ranges.
    fn is_valid(&self) -> bool {
        let is_in = |angle: f64, [min, max]: [f64; 2]| (min..=max).contains(&angle);
        is_in(self.azimuth, Self::AZIMUTHS) && is_in(self.elevation, Self::ELEVATIONS)
    }
}

impl Default for View {
    fn default() -> Self {
        Self::THREE_QUARTER
    }
}
