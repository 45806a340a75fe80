//! Options of cooking that are one of several.

use std::fmt;
use std::str::FromStr;

use poplin_model::{ModelError, parse_name};

/// Which vertices count as one.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Weld {
    /// None: vertices are one only where the mesh shares their index. Texture seams then tear open.
    Off,
    /// Vertices at most this far apart \[m\], `0..=1e15`. 0 welds exact duplicates only.
    Distance(f32),
    /// Vertices at most this fraction of the diagonal of the mesh's bounding box apart, `0..=1` (default 1e-6).
    Relative(f32),
}

/// What "vertical" means: it sorts chains of stretch edges into vertical and horizontal by their course, and is the v axis of
/// [`poplin_model::Fabric::triangle_shapes`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Direction {
    /// Along [`crate::CookOptions::gravity`] (default).
    #[default]
    Gravity,
    /// Along the gradient of texture coordinate v in each face, for garments laid out with v along the warp; along gravity
    /// where v is constant.
    Uv,
}

/// How a particle is kept from straying from the pins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Tethers {
    /// Not at all.
    None,
    /// One tether per particle to the nearest pin, as the crow flies.
    Euclidean,
    /// One tether per particle and island of pins, as long as the shortest path over the surface (default).
    ///
    /// An island is a group of pins connected by mesh edges. A mesh with an edge of three or more faces is no surface:
    /// it gets euclidean tethers.
    #[default]
    Geodesic,
}

/// Which points of triangles collide besides the particles, so that small shapes do not slip through between them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum VirtualParticles {
    /// None (default).
    #[default]
    None,
    /// This many points in every triangle, `1..=64`.
    PerTriangle(u32),
    /// Points about this far apart \[m\], `1e-9..=1e6`: a triangle gets its area divided by the square of this, at most 256.
    /// The count is rounded and the rest carried over to the next triangle, so that small triangles share points.
    Spacing(f32),
}

impl Direction {
    /// Every one.
    pub const ALL: [Self; 2] = [Self::Gravity, Self::Uv];

    /// Its name in scene files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gravity => "gravity",
            Self::Uv => "uv",
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Direction {
    type Err = ModelError;

    fn from_str(name: &str) -> Result<Self, ModelError> {
        parse_name("direction", &Self::ALL, Self::name, name)
    }
}

impl Tethers {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Geodesic, Self::Euclidean, Self::None];

    /// Its name in scene files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Euclidean => "euclidean",
            Self::Geodesic => "geodesic",
        }
    }
}

impl fmt::Display for Tethers {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Tethers {
    type Err = ModelError;

    fn from_str(name: &str) -> Result<Self, ModelError> {
        parse_name("kind of tethers", &Self::ALL, Self::name, name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tethers_and_directions_are_found_by_name() {
        for tethers in Tethers::ALL {
            assert_eq!(tethers.to_string().parse(), Ok(tethers));
        }
        for direction in Direction::ALL {
            assert_eq!(direction.to_string().parse(), Ok(direction));
        }
        let refused = [
            "geodesik".parse::<Tethers>().unwrap_err().to_string(),
            "UV".parse::<Direction>().unwrap_err().to_string(),
        ];
        let expected = [
            "there is no kind of tethers `geodesik`; expected one of geodesic, euclidean, none",
            "there is no direction `UV`; expected one of gravity, uv",
        ];
        assert_eq!(refused, expected);
    }
}
