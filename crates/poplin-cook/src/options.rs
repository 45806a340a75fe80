//! Options of cooking.

use std::fmt::Display;

use poplin_model::{MAX_COORDINATE, Mesh};

use crate::{CookError, Direction, Tethers, VirtualParticles, Weld, Yarns};

/// Options of [`crate::cook()`].
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct CookOptions {
    /// Welding of vertices (default relative, 1e-6).
    pub weld: Weld,
    /// Mass of the cloth per area [kg/m^2], `1e-9..=1e9` (default 0.2, a light cotton). Ignored if
    /// `masses` is set.
    pub density: f32,
    /// Mass of each mesh vertex \[kg\], shape `[vertex_count]` (default: from `density`). Masses of
    /// welded vertices are added.
    pub masses: Option<Vec<f32>>,
    /// Pinned mesh vertices (inverse mass 0), in any order, duplicates allowed (default none).
    pub pins: Vec<u32>,
    /// Source of the vertical (warp) direction (default gravity).
    pub direction: Direction,
    /// Direction of gravity: a finite vector of any nonzero length (default `[0, -1, 0]`).
    pub gravity: [f32; 3],
    /// Largest length of a fiber, in edges, `1..=16777216` (default: the lengths of least cost for
    /// a workgroup, [`poplin_model::LaneCost::GPU`]). By default stretch fibers are cut only if few
    /// of them are long, since they are solved together
    /// ([`poplin_model::FiberSolver::SemiImplicit`]) and converge better the longer they are; shear
    /// and bending fibers, which Gauss-Seidel solves edge by edge, are short. 1 yields the
    /// classical graph-coloured fabric. With [`poplin_model::Xpbd`], which solves all fibers
    /// semi-implicitly, set a large value.
    ///
    /// Fibers end at pins. A fiber with a single pin starts there; other vertical fibers start at
    /// their upper end, against gravity.
    pub max_fiber_length: Option<u32>,
    /// Largest deflection from one edge of a fiber to the next, measured in the surface \[rad\],
    /// `0..=pi` (default pi/4).
    ///
    /// Small deflections accumulate: a chain of stretch edges is also cut where it drifts from
    /// vertical to horizontal, or vice versa, by more than two edges fully across, or four at 60
    /// degrees.
    pub max_turn: f32,
    /// True to create two-ring edges (default true). Without them only the one-ring resists
    /// folding.
    pub bending: bool,
    /// True to cook two triangles that form a nearly right-angled quad like that quad (default
    /// true).
    ///
    /// If false, the shared edge remains a mesh edge for bending: two-ring edges continue along it.
    /// In both cases the shared edge and the other diagonal of the pair are shear edges.
    pub quadify: bool,
    /// Kind of tethers (default geodesic).
    pub tethers: Tethers,
    /// Largest number of tethers per particle, `1..=64` (default 8): those to the nearest islands.
    /// Memory is proportional to this times the particle count, and so is the time of every
    /// iteration.
    pub max_tethers_per_particle: u32,
    /// Stiffness of each mesh vertex, `0..=1`, shape `[vertex_count]`, or empty (default) for one
    /// stiffness per phase. An edge has the smaller stiffness of its two ends; welded vertices have
    /// the smallest of theirs.
    pub vertex_stiffness: Vec<f32>,
    /// Points on triangles that collide in addition to the particles (default none). Triangles with
    /// three pins get none.
    pub virtual_particles: VirtualParticles,
    /// True to create [`poplin_model::Fabric::bends`] (default false): dihedral-angle constraints,
    /// used by [`poplin_model::Xpbd`] and [`poplin_model::Implicit`] with a bending rigidity. They
    /// take about 150 bytes per particle of a grid. On quads, and on triangles that form quads, all
    /// directions bend alike. Two-ring edges (`bending`) would resist folding as well;
    /// turn them off with bends.
    pub bends: bool,
    /// True to fit `bends` on irregular triangles to a plate that bends alike in all directions
    /// (default true): within 2 % of the rigidity in place of 12 %, by three to four times as many
    /// bends, which take XPBD up to twice as long. Meshes of which at most 3 % of the area is in
    /// triangles that form no quads do so without.
    pub isotropic_bends: bool,
    /// Meshes that get yarns in place of edges for [`poplin_model::Xpbd::membrane`] (default none).
    pub yarns: Yarns,
    /// True to create [`poplin_model::Fabric::hierarchy`] (default false): coarser levels, which
    /// [`poplin_model::Multilevel`] needs. They take about 4 us and 0.5 KB per particle.
    pub levels: bool,
}

impl Default for CookOptions {
    fn default() -> Self {
        Self {
            weld: Weld::Relative(1e-6),
            density: 0.2,
            masses: None,
            pins: Vec::new(),
            direction: Direction::Gravity,
            gravity: [0.0, -1.0, 0.0],
            max_fiber_length: None,
            max_turn: std::f32::consts::FRAC_PI_4,
            bending: true,
            quadify: true,
            tethers: Tethers::Geodesic,
            max_tethers_per_particle: 8,
            vertex_stiffness: Vec::new(),
            virtual_particles: VirtualParticles::None,
            bends: false,
            isotropic_bends: true,
            yarns: Yarns::None,
            levels: false,
        }
    }
}

impl CookOptions {
    /// Checks the ranges of all options that do not depend on the mesh.
    ///
    /// # Errors
    /// [`CookError`] that names the option, its value and the limit.
    pub fn validate(&self) -> Result<(), CookError> {
        match self.weld {
            Weld::Off => {}
            Weld::Distance(distance) => {
                check_option("weld.distance", distance, [0.0, as_written(MAX_COORDINATE)], "m")?
            }
            Weld::Relative(part) => check_option("weld.relative", part, [0.0, 1.0], "")?,
        }
        if self.masses.is_none() {
            check_option("density", self.density, [1e-9, 1e9], "kg/m^2")?;
        }
        let gravity = self.gravity;
        if gravity.iter().any(|x| !x.is_finite()) || gravity == [0.0; 3] {
            return Err(CookError::NoGravity { gravity });
        }
        let max_fiber_length = self.max_fiber_length.unwrap_or(1);
        check_option("max_fiber_length", max_fiber_length, [1.0, f64::from(1 << 24)], "")?;
        check_option("max_turn", self.max_turn, [0.0, std::f32::consts::PI.into()], "rad")?;
        let max_tethers = self.max_tethers_per_particle;
        check_option("max_tethers_per_particle", max_tethers, [1.0, 64.0], "")?;
        match self.virtual_particles {
            VirtualParticles::None => {}
            VirtualParticles::PerTriangle(count) => {
                check_option("virtual_particles.per_triangle", count, [1.0, 64.0], "")?
            }
            VirtualParticles::Spacing(spacing) => {
                check_option("virtual_particles.spacing", spacing, [1e-9, 1e6], "m")?
            }
        }
        check_entries("masses", self.masses.as_deref().unwrap_or_default(), 0.0, MAX_COORDINATE)?;
        check_entries("vertex_stiffness", &self.vertex_stiffness, 0.0, 1.0)
    }

    /// Checks lengths and indices against the mesh.
    pub(crate) fn check_against(&self, mesh: &Mesh) -> Result<(), CookError> {
        let expected = mesh.positions.len();
        if let Some(masses) = &self.masses
            && masses.len() != expected
        {
            return Err(CookError::OptionLength { field: "masses", len: masses.len(), expected });
        }
        if !self.vertex_stiffness.is_empty() && self.vertex_stiffness.len() != expected {
            let len = self.vertex_stiffness.len();
            return Err(CookError::OptionLength { field: "vertex_stiffness", len, expected });
        }
        if self.direction == Direction::Uv && mesh.uvs.is_empty() {
            return Err(CookError::NoUvs);
        }
        match self.pins.iter().position(|&pin| pin as usize >= expected) {
            Some(position) => Err(CookError::PinOutOfRange {
                position,
                vertex: self.pins[position],
                count: expected,
            }),
            None => Ok(()),
        }
    }
}

/// Converts to the `f64` with the same shortest decimal form, so that an `f32` of 0.1 reads 0.1 in
/// messages and compares with written limits.
fn as_written(value: impl Display) -> f64 {
    value.to_string().parse().unwrap_or(f64::NAN)
}

/// Rejects a value outside `min..=max`; NaN is outside every range.
pub(crate) fn check_option(
    field: &'static str,
    value: impl Display,
    [min, max]: [f64; 2],
    unit: &'static str,
) -> Result<(), CookError> {
    let value = as_written(value);
    if value >= min && value <= max {
        Ok(())
    } else {
        Err(CookError::OptionOutOfRange { field, value, min, max, unit })
    }
}

fn check_entries(field: &'static str, values: &[f32], min: f32, max: f32) -> Result<(), CookError> {
    match values.iter().position(|&value| !(value >= min && value <= max)) {
        Some(index) => {
            Err(CookError::EntryOutOfRange { field, index, value: values[index], min, max })
        }
        None => Ok(()),
    }
}
