//! Options of cooking that choose between alternatives.

use std::fmt;
use std::str::FromStr;

use poplin_model::{ModelError, parse_name};

/// Criterion for merging vertices.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Weld {
    /// No welding: vertices are shared only if the mesh shares their index. Cloth then comes apart
    /// at texture seams.
    Off,
    /// Largest distance of merged vertices \[m\], `0..=1e15`. 0 merges only exact duplicates.
    Distance(f32),
    /// Largest distance of merged vertices as a fraction of the diagonal of the mesh's bounding
    /// box, `0..=1` (default 1e-6).
    Relative(f32),
}

/// Source of the vertical direction. It classifies chains of stretch edges as vertical or
/// horizontal by their course, and is the v axis of [`poplin_model::Fabric::triangle_shapes`].
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
    /// Along the gradient of texture coordinate v in each face, for garments laid out with v along
    /// the warp; along gravity in faces with constant v.
    Uv,
}

/// Kind of tethers, which limit the distance of particles from pins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Tethers {
    /// No tethers.
    None,
    /// One tether per particle to the nearest pin, with the straight-line distance.
    Euclidean,
    /// One tether per particle and island of pins, with the length of the shortest path over the
    /// surface (default).
    ///
    /// An island is a group of pins connected by mesh edges. A mesh with an edge of three or more
    /// faces is not a surface and gets euclidean tethers.
    #[default]
    Geodesic,
}

/// Additional collision points on triangles, which keep small shapes from slipping through between
/// the particles.
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
    /// Number of points in every triangle, `1..=64`.
    PerTriangle(u32),
    /// Approximate distance of points \[m\], `1e-9..=1e6`: a triangle gets its area divided by the
    /// square of this distance, at most 256 points. The count is rounded and the remainder carried
    /// over to the next triangle, so that small triangles share points.
    Spacing(f32),
}

/// Meshes that get yarns ([`poplin_model::Fabric::yarns`]), with which [`poplin_model::Xpbd`]
/// resists stretch and shear alike on any triangles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Yarns {
    /// None (default): edges resist.
    #[default]
    None,
    /// Meshes of which more than a tenth of the area is neither quads nor triangles that form
    /// quads.
    Irregular,
    /// All.
    All,
}

impl Direction {
    /// All directions.
    pub const ALL: [Self; 2] = [Self::Gravity, Self::Uv];

    /// Name in scene files and on the command line.
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
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Geodesic, Self::Euclidean, Self::None];

    /// Name in scene files and on the command line.
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
    fn tethers_and_directions_parse_from_names() {
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
