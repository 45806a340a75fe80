//! Settings of the implicit solver.

use std::str::FromStr;

use super::xpbd::MAX_SUBSTEPS;
use crate::error::{ModelError, check_range, parse_name};

/// Most iterations of a step of [`Implicit`].
pub const MAX_SOLVER_ITERATIONS: u32 = 1000;

/// Largest [`Implicit::max_halvings`].
pub const MAX_HALVINGS: u32 = 8;

/// Backward Euler: each step finds the positions where inertia, stretch and bending balance, by non-linear conjugate gradients.
/// Stiffnesses are those of the cloth, in N/m and N m, and mean the same at any step and any mesh.
///
/// A step minimises `sum m/(2 h^2) |x - y|^2 + E(x)`, y where the particle would be without forces of the cloth (Martin et al.,
/// "Example-Based Elastic Materials", 2011; Gast et al., "Optimization Integrator for Large Time Steps", 2015), with directions by
/// Polak, Ribière, 1969, and Powell, 1986, preconditioned. Long steps damp fast motion, as backward Euler does.
///
/// It needs a fabric with [`crate::Fabric::triangle_shapes`]. Edges of its phases take part as springs alone, which need
/// [`crate::Fabric::edge_breadths`].
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Implicit {
    /// Steps of a frame, whatever its length, `1..=20_000` (default 4). Contact with colliders wants steps of 1/240 s and less.
    pub substeps: u32,
    /// What resists stretch and shear (default: threads).
    pub stretch: StretchModel,
    /// Membrane stiffness along warp (vertical) and weft (horizontal), force per width over strain [N/m], `0..=1e9` (default 1000
    /// each). [`StretchModel::Trispring`] has the first in all directions.
    pub stretch_stiffness: [f32; 2],
    /// Shear stiffness, force per width over the angle of shear [N/m], `0..=1e9` (default 300). [`StretchModel::Trispring`] has
    /// that of its Poisson ratio instead.
    pub shear_stiffness: f32,
    /// How much of a strain the cloth narrows by across it, `-0.9..=0.49` (default 0.3), with [`StretchModel::Trispring`] alone:
    /// threads do not narrow.
    pub poisson_ratio: f32,
    /// What resists bending (default: the angle between triangles).
    pub bend: BendModel,
    /// Bending rigidity B of the cloth [N m], `0..=1e6` (default 0 = off): the moment per width that bends it to a curvature
    /// of 1/m. Cotton has about 1e-5. Needs a fabric with [`crate::Fabric::bends`], or with two-ring edges for
    /// [`BendModel::Springs`].
    pub bending_rigidity: f32,
    /// Fraction of their stiffness that springs have where they are shorter than at rest, `0..=1` (default 1), with
    /// [`StretchModel::Springs`] alone: cloth that buckles between particles resists compression less.
    pub compression: f32,
    /// Damping of stretch and shear, viscosity over stiffness \[s\], `0..=1e6` (default 0).
    pub stretch_damping: f32,
    /// Damping of bending, viscosity over rigidity \[s\], `0..=1e6` (default 0).
    pub bending_damping: f32,
    /// What directions are improved by (default: mass).
    pub preconditioner: Preconditioner,
    /// What may be left of a particle's acceleration in a solved step, as a fraction of gravity (9.81 m/s^2 where there is
    /// none), `1e-4..=0.9` (default 0.1). Rounding to f32 may leave more in stiff cloth of fine meshes: no less is asked for.
    pub tolerance: f32,
    /// Iterations in which a step must be solved, `1..=1000` (default 96). A step that is not is halved, or taken as it is after
    /// [`Self::max_halvings`]; [`ImplicitReport`] counts both.
    pub max_iterations: u32,
    /// How often a step may be halved, `0..=8` (default 0: steps have a fixed length, for games). Step control by the effort of
    /// the solve, with 6 as a good value where steps must be solved: a step that is not is taken back and made in halves; steps
    /// that are solved in few iterations become twice as long again, up to [`Self::substeps`] a frame; the rest of a step that has
    /// taken 1024 iterations, or four times [`Self::max_iterations`], is taken as it is. The parts of a step share its wind, tethers and collisions.
    pub max_halvings: u32,
}

/// What resists stretch and shear in [`Implicit`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[repr(u32)]
pub enum StretchModel {
    /// Threads along warp and weft and the angle between them, for woven cloth (Baraff, Witkin, "Large Steps in Cloth
    /// Simulation", 1998; weighted by area where they have its square).
    #[default]
    StretchShear,
    /// The same in all directions, with a Poisson ratio, for films and felt: three coupled springs a triangle, which are a
    /// St. Venant-Kirchhoff membrane (Delingette, "Triangular Springs for Modeling Nonlinear Membranes", 2008).
    Trispring,
    /// Springs along the edges of the fabric, `k = K breadth / length` with [`crate::Fabric::edge_breadths`]: cheap, without
    /// degenerate triangles. Diagonals hold along the threads too, which are as stiff as K + G, and narrow cloth that is pulled
    /// as far as shear is stiff (Provot, "Deformation Constraints in a Mass-Spring Model", 1995).
    Springs,
}

/// What resists bending in [`Implicit`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[repr(u32)]
pub enum BendModel {
    /// The angle between two triangles (Grinspun et al., "Discrete Shells", 2003).
    #[default]
    FaceAngle,
    /// How far the corner of a triangle is from the plane of the other: no trigonometry. It holds up to 90 degrees between
    /// triangles and is softer than the angle from half of that on. Rest angles beyond 1.2 rad are refused.
    PlaneProjection,
    /// The mean curvature vector, quadratic in positions: the energy of `2 sin(angle / 2)` (Bergou, Wardetzky, Harmon, Zorin,
    /// Grinspun, "A Quadratic Bending Model for Inextensible Surfaces", 2006). The cheapest and never degenerate; for cloth that is
    /// flat at rest and hardly stretches. Rest angles beyond 0.01 rad are refused.
    Isometric,
    /// Springs along the two-ring edges of a fabric that was cooked with `bending`. Flat, they resist only in fourth order of the
    /// angle, so that no rigidity is theirs: they have the energy of [`Self::FaceAngle`] where cloth of squares folds by 0.5 rad
    /// an edge, and a quarter of it at 0.25 rad.
    Springs,
}

/// What the residual of [`Implicit`] is multiplied by before it becomes a direction: an approximate inverse of the Hessian.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[repr(u32)]
pub enum Preconditioner {
    /// The mass alone: cheap iterations, some three `dt sqrt(K / density) / edge` a frame. However few there are, they keep momentum.
    #[default]
    Mass,
    /// The Hessian along chains of warp and of weft edges, each solved as a whole, and the mean of both, for stiff cloth of fine meshes:
    /// half as many iterations at a shear stiffness of 0.3 of that along threads, a fifth and less at 0.03. Momentum is kept
    /// as far as steps are solved.
    Fibers,
}

impl Preconditioner {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Mass, Self::Fibers];

    /// The name in scenes and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mass => "mass",
            Self::Fibers => "fibers",
        }
    }
}

impl StretchModel {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::StretchShear, Self::Trispring, Self::Springs];

    /// The name in scenes and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::StretchShear => "stretch_shear",
            Self::Trispring => "trispring",
            Self::Springs => "springs",
        }
    }
}

impl BendModel {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::FaceAngle, Self::PlaneProjection, Self::Isometric, Self::Springs];

    /// Largest rest angle that it can hold \[rad\].
    pub fn max_rest_angle(self) -> f32 {
        match self {
            Self::FaceAngle | Self::Springs => std::f32::consts::PI,
            Self::PlaneProjection => 1.2,
            Self::Isometric => 0.01,
        }
    }

    /// The name in scenes and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::FaceAngle => "face_angle",
            Self::PlaneProjection => "plane_projection",
            Self::Isometric => "isometric",
            Self::Springs => "springs",
        }
    }
}

impl FromStr for StretchModel {
    type Err = ModelError;

    fn from_str(name: &str) -> Result<Self, ModelError> {
        parse_name("stretch model", &Self::ALL, Self::name, name)
    }
}

impl FromStr for Preconditioner {
    type Err = ModelError;

    fn from_str(name: &str) -> Result<Self, ModelError> {
        parse_name("preconditioner", &Self::ALL, Self::name, name)
    }
}

impl FromStr for BendModel {
    type Err = ModelError;

    fn from_str(name: &str) -> Result<Self, ModelError> {
        parse_name("bend model", &Self::ALL, Self::name, name)
    }
}

impl Default for Implicit {
    fn default() -> Self {
        Self {
            substeps: 4,
            stretch: StretchModel::default(),
            stretch_stiffness: [1000.0; 2],
            shear_stiffness: 300.0,
            poisson_ratio: 0.3,
            bend: BendModel::default(),
            bending_rigidity: 0.0,
            compression: 1.0,
            stretch_damping: 0.0,
            bending_damping: 0.0,
            preconditioner: Preconditioner::default(),
            tolerance: 0.1,
            max_iterations: 96,
            max_halvings: 0,
        }
    }
}

impl Implicit {
    /// Checks the ranges given in the field docs.
    ///
    /// # Errors
    /// [`ModelError`] that names the first field out of range.
    pub fn validate(&self) -> Result<(), ModelError> {
        check_range("substeps", self.substeps as f32, 1.0, MAX_SUBSTEPS as f32)?;
        for stiffness in self.stretch_stiffness {
            check_range("stretch_stiffness", stiffness, 0.0, 1e9)?;
        }
        check_range("shear_stiffness", self.shear_stiffness, 0.0, 1e9)?;
        check_range("poisson_ratio", self.poisson_ratio, -0.9, 0.49)?;
        check_range("bending_rigidity", self.bending_rigidity, 0.0, 1e6)?;
        check_range("compression", self.compression, 0.0, 1.0)?;
        check_range("stretch_damping", self.stretch_damping, 0.0, 1e6)?;
        check_range("bending_damping", self.bending_damping, 0.0, 1e6)?;
        check_range("tolerance", self.tolerance, 1e-4, 0.9)?;
        let most = MAX_SOLVER_ITERATIONS as f32;
        check_range("max_iterations", self.max_iterations as f32, 1.0, most)?;
        check_range("max_halvings", self.max_halvings as f32, 0.0, MAX_HALVINGS as f32)
    }
}

/// What the implicit solver took since the cloth was added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImplicitReport {
    /// Steps, parts of halved ones each.
    pub steps: u32,
    /// Iterations of all of them, rejected ones included.
    pub iterations: u32,
    /// Steps that were not solved and taken as they were.
    pub unconverged: u32,
    /// Steps in which nothing moved, as nothing finite was found.
    pub held: u32,
    /// Steps that were taken back and halved.
    pub rejections: u32,
    /// How often steps are halved now.
    pub halvings: u32,
}

impl ImplicitReport {
    /// That of both, up to the largest number; of both halvings the larger.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            steps: self.steps.saturating_add(other.steps),
            iterations: self.iterations.saturating_add(other.iterations),
            unconverged: self.unconverged.saturating_add(other.unconverged),
            held: self.held.saturating_add(other.held),
            rejections: self.rejections.saturating_add(other.rejections),
            halvings: self.halvings.max(other.halvings),
        }
    }
}
