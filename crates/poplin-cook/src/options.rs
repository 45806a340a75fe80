//! What a user chooses about cooking.

use poplin_model::{MAX_COORDINATE, Mesh};

use crate::CookError;

/// Which vertices count as one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Weld {
    /// None: vertices are one only where the mesh shares their index. Texture seams then tear open.
    Off,
    /// Vertices at most this far apart \[m\], `0..=1e15`. 0 welds exact duplicates only.
    Distance(f32),
    /// Vertices at most this fraction of the diagonal of the mesh's bounding box apart, `0..=1` (default 1e-6).
    Relative(f32),
}

/// What "vertical" means: it sorts chains of stretch edges into vertical and horizontal by their course.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Direction {
    /// Along this vector, usually gravity (default `[0, -1, 0]`); of any length but 0.
    Gravity([f32; 3]),
    /// Along the gradient of texture coordinate v in each face, for garments laid out with v along the warp.
    UvV,
}

/// How a particle is kept from straying from the pins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tethers {
    /// Not at all.
    None,
    /// One tether per particle to the nearest pin, as the crow flies.
    Euclidean,
    /// One tether per particle and island of pins, as long as the shortest path over the surface (default).
    ///
    /// An island is a group of pins connected by mesh edges. A mesh with an edge of three or more faces is no surface:
    /// it gets euclidean tethers.
    Geodesic,
}

/// Which points of triangles collide besides the particles, so that small shapes do not slip through between them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
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

/// How a mesh is cooked.
#[derive(Debug, Clone, PartialEq)]
pub struct CookOptions {
    /// Which vertices are welded (default `Relative(1e-6)`).
    pub weld: Weld,
    /// Mass of the cloth per area [kg/m^2], `1e-9..=1e9` (default 0.2, a light cotton). Unused if `masses` is set.
    pub density: f32,
    /// Mass of every mesh vertex \[kg\], shape `[vertex_count]`, or `None` (default): from `density`. Welded vertices add up.
    pub masses: Option<Vec<f32>>,
    /// Mesh vertices that are pinned (inverse mass 0), in any order, repeats allowed (default none).
    pub pins: Vec<u32>,
    /// What "vertical" means (default gravity along -y).
    pub direction: Direction,
    /// Longest fiber, in edges, `1..=16777216`, or `None` (default): what costs a workgroup the least
    /// ([`poplin_model::LaneCost::GPU`]). Fibers against stretch are then cut only where few are long, since they are solved
    /// as a whole ([`poplin_model::FiberSolver::SemiImplicit`]) and converge the better the longer they are; those of shear
    /// and bending, which Gauss-Seidel solves edge by edge, are short. 1 yields the classical graph-coloured fabric. With
    /// [`poplin_model::Xpbd`], which solves all fibers as a whole, set a large value.
    ///
    /// Fibers end at pins, and one that hangs on a single pin begins there; other vertical ones begin at their upper end:
    /// against gravity, or along +y for [`Direction::UvV`].
    pub max_fiber_length: Option<u32>,
    /// Largest deflection from one edge of a fiber to the next, measured in the surface \[rad\], `0..=pi` (default pi/4).
    ///
    /// Small deflections add up: a chain of stretch edges is cut also where it strays from the vertical to the horizontal, or the
    /// other way round, by more than two edges that lie fully across, or four at 60 degrees.
    pub max_turn: f32,
    /// Whether to make two-ring edges (default true). Without, nothing but the one-ring resists folding.
    pub bending: bool,
    /// Whether two triangles that form a nearly right-angled quad cook like that quad (default true).
    ///
    /// If false the edge between the two stays a mesh edge for bending: two-ring edges run on along it. Either way it
    /// and the other diagonal of the pair are shear edges.
    pub quadify: bool,
    /// Kind of tethers (default geodesic).
    pub tethers: Tethers,
    /// Most tethers of one particle, `1..=64` (default 8): those to the nearest islands. Tethers take this times the
    /// particle count of memory, and time in every iteration.
    pub max_tethers_per_particle: u32,
    /// Stiffness of every mesh vertex, `0..=1`, shape `[vertex_count]`, or empty (default): then phases have one
    /// stiffness each. An edge has the smaller stiffness of its two ends; welded vertices the smallest of theirs.
    pub vertex_stiffness: Vec<f32>,
    /// Points of triangles that collide too (default none). Triangles between three pins get none.
    pub virtual_particles: VirtualParticles,
    /// Whether to make [`poplin_model::Fabric::bends`] (default false): angles between triangles, which only
    /// [`poplin_model::Xpbd`] with a bending rigidity reads. They take some 150 bytes a particle. Two-ring edges
    /// (`bending`) would hold against folding as well; with bends they are better left out.
    pub bends: bool,
}

impl Default for CookOptions {
    fn default() -> Self {
        Self {
            weld: Weld::Relative(1e-6),
            density: 0.2,
            masses: None,
            pins: Vec::new(),
            direction: Direction::Gravity([0.0, -1.0, 0.0]),
            max_fiber_length: None,
            max_turn: std::f32::consts::FRAC_PI_4,
            bending: true,
            quadify: true,
            tethers: Tethers::Geodesic,
            max_tethers_per_particle: 8,
            vertex_stiffness: Vec::new(),
            virtual_particles: VirtualParticles::None,
            bends: false,
        }
    }
}

impl CookOptions {
    /// Checks the ranges of everything that does not depend on the mesh.
    ///
    /// # Errors
    /// [`CookError`] that names the option, its value and the limit.
    pub fn validate(&self) -> Result<(), CookError> {
        match self.weld {
            Weld::Off => {}
            Weld::Distance(distance) => {
                check_option("weld distance", distance.into(), 0.0, MAX_COORDINATE.into())?
            }
            Weld::Relative(part) => check_option("weld relative", part.into(), 0.0, 1.0)?,
        }
        if self.masses.is_none() {
            check_option("density", self.density.into(), 1e-9, 1e9)?;
        }
        if let Direction::Gravity(direction) = self.direction {
            let usable =
                direction.iter().all(|x| x.is_finite()) && direction.iter().any(|&x| x != 0.0);
            if !usable {
                return Err(CookError::NoDirection { direction });
            }
        }
        check_option(
            "max_fiber_length",
            self.max_fiber_length.unwrap_or(1).into(),
            1.0,
            f64::from(1 << 24),
        )?;
        check_option("max_turn", self.max_turn.into(), 0.0, std::f32::consts::PI.into())?;
        check_option("max_tethers_per_particle", self.max_tethers_per_particle.into(), 1.0, 64.0)?;
        match self.virtual_particles {
            VirtualParticles::None => {}
            VirtualParticles::PerTriangle(count) => {
                check_option("virtual_particles per_triangle", count.into(), 1.0, 64.0)?
            }
            VirtualParticles::Spacing(spacing) => {
                check_option("virtual_particles spacing", spacing.into(), 1e-9, 1e6)?
            }
        }
        check_entries("masses", self.masses.as_deref().unwrap_or_default(), 0.0, MAX_COORDINATE)?;
        check_entries("vertex_stiffness", &self.vertex_stiffness, 0.0, 1.0)
    }

    /// Checks lengths and indices against the mesh to be cooked.
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
        if self.direction == Direction::UvV && mesh.uvs.is_empty() {
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

/// Refuses a value outside `min..=max`; NaN is outside every range.
fn check_option(field: &'static str, value: f64, min: f64, max: f64) -> Result<(), CookError> {
    if value >= min && value <= max {
        Ok(())
    } else {
        Err(CookError::OptionOutOfRange { field, value, min, max })
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
