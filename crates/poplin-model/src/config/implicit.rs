//! Settings of the implicit solver.

use std::str::FromStr;

use super::xpbd::check_steps;
use crate::error::{ModelError, check_range, parse_name};

/// Largest number of iterations per step of [`Implicit`].
pub const MAX_SOLVER_ITERATIONS: u32 = 1000;

/// Largest value of [`Implicit::max_halvings`].
pub const MAX_HALVINGS: u32 = 8;

/// Backward Euler: each step finds the positions where inertia, stretch and bending are in
/// equilibrium, by the non-linear conjugate gradient method. Stiffnesses are those of the cloth, in
/// N/m and N m, independent of step and mesh.
///
/// A step minimises `sum m/(2 h^2) |x - y|^2 + E(x)`, with y the position of the particle in the
/// absence of internal forces (Martin et al., "Example-Based Elastic Materials", 2011; Gast et al.,
/// "Optimization Integrator for Large Time Steps", 2015). Search directions are preconditioned,
/// after Polak, Ribière, 1969, and Powell, 1986. Long steps damp fast motion, as backward Euler
/// does.
///
/// Requires a fabric with [`crate::Fabric::triangle_shapes`]. Edges of its phases take part only as
/// springs, which require [`crate::Fabric::edge_breadths`].
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Implicit {
    /// Steps per frame, whatever the length of the frame, `1..=20_000` (default 4). Contact with
    /// colliders requires steps of at most 1/240 s. No effect with a [`Self::frequency`].
    pub substeps: u32,
    /// Steps per second [1/s], `1..=100_000` (default: none, [`Self::substeps`] per frame): a frame
    /// of `dt` seconds has `max(1, floor(dt * frequency + 0.5))`. Cloth then moves alike at all
    /// frame rates of which the frequency is a multiple, except in contact of triangles, which is
    /// planned per frame.
    pub frequency: Option<f32>,
    /// Model of the resistance to stretch and shear (default: threads).
    pub stretch: StretchModel,
    /// Membrane stiffness along warp (vertical) and weft (horizontal), force per width over strain
    /// [N/m], `0..=1e9` (default 1000 each). [`StretchModel::Trispring`] uses the first value in
    /// all directions.
    pub stretch_stiffness: [f32; 2],
    /// Shear stiffness, force per width over shear angle [N/m], `0..=1e9` (default 300).
    /// [`StretchModel::Trispring`] derives it from its Poisson ratio instead.
    pub shear_stiffness: f32,
    /// Poisson ratio: transverse contraction as a fraction of the strain, `-0.9..=0.49` (default
    /// 0.3); only for [`StretchModel::Trispring`], since threads do not contract.
    pub poisson_ratio: f32,
    /// Model of the resistance to bending (default: the angle between triangles).
    pub bend: BendModel,
    /// Bending rigidity B of the cloth [N m], `0..=1e6` (default 0 = off): the moment per width
    /// that bends it to a curvature of 1/m. Cotton has about 1e-5. Requires a fabric with
    /// [`crate::Fabric::bends`], or with two-ring edges for [`BendModel::Springs`].
    pub bending_rigidity: f32,
    /// Factor on the stiffness of springs shorter than at rest, `0..=1` (default 1); only for
    /// [`StretchModel::Springs`]. Use less than 1 for cloth that buckles between particles and so
    /// resists compression less.
    pub compression: f32,
    /// Damping of stretch and shear: viscosity over stiffness \[s\], `0..=1e6` (default 0).
    pub stretch_damping: f32,
    /// Damping of bending: viscosity over rigidity \[s\], `0..=1e6` (default 0).
    pub bending_damping: f32,
    /// Preconditioner of the conjugate gradient method (default: mass).
    pub preconditioner: Preconditioner,
    /// Tolerance: residual acceleration of a particle in a solved step, as a fraction of gravity
    /// (9.81 m/s^2 if gravity is 0), `1e-4..=0.9` (default 0.1). In stiff, light cloth of fine
    /// meshes the solver relaxes it to what rounding to f32 permits; [`ImplicitReport::floored`]
    /// counts such steps.
    pub tolerance: f32,
    /// Iterations after which an unsolved step is halved, or accepted as it is after
    /// [`Self::max_halvings`], `1..=1000` (default 96). [`ImplicitReport`] counts both cases.
    pub max_iterations: u32,
    /// Largest number of times a step is halved, `0..=8` (default 0: fixed step length, for games).
    /// Adapts the step length to the effort of the solve; 6 is a good value if all steps must be
    /// solved. An unsolved step is rejected and repeated as two halves; after steps that are solved
    /// in few iterations the length doubles again, up to the one set by [`Self::substeps`]. Once a
    /// step has used 1024 iterations, or four times [`Self::max_iterations`], the rest of it is
    /// accepted as it is. The parts of a step share its wind, tethers and collisions.
    pub max_halvings: u32,
}

/// Model of the resistance to stretch and shear in [`Implicit`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[repr(u32)]
pub enum StretchModel {
    /// Threads along warp and weft and the angle between them, for woven cloth (Baraff, Witkin,
    /// "Large Steps in Cloth Simulation", 1998; here weighted by area, there by its square).
    #[default]
    StretchShear,
    /// Isotropic membrane with a Poisson ratio, for films and felt: three coupled springs per
    /// triangle, which amount to a St. Venant-Kirchhoff membrane (Delingette, "Triangular Springs
    /// for Modeling Nonlinear Membranes", 2008).
    Trispring,
    /// Springs along the edges of the fabric, `k = K breadth / length` with
    /// [`crate::Fabric::edge_breadths`]: cheap, without degenerate triangles. Diagonals add
    /// stiffness along the threads too, which becomes K + G, and make stretched cloth contract
    /// according to the shear stiffness (Provot, "Deformation Constraints in a Mass-Spring Model",
    /// 1995).
    Springs,
}

/// Model of the resistance to bending in [`Implicit`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[repr(u32)]
pub enum BendModel {
    /// Dihedral angle between two triangles (Grinspun et al., "Discrete Shells", 2003).
    #[default]
    FaceAngle,
    /// Distance of the third corner of each triangle from the plane of the other: no trigonometry.
    /// Valid up to 90 degrees between triangles and softer than the angle from half of that on.
    /// Rest angles beyond 1.2 rad are rejected.
    PlaneProjection,
    /// Mean curvature vector, quadratic in positions: the energy of `2 sin(angle / 2)` (Bergou,
    /// Wardetzky, Harmon, Zorin, Grinspun, "A Quadratic Bending Model for Inextensible Surfaces",
    /// 2006). The cheapest model and never degenerate; for cloth that is flat at rest and hardly
    /// stretches. Rest angles beyond 0.01 rad are rejected.
    Isometric,
    /// Springs along the two-ring edges of a fabric that was cooked with `bending`. Near the flat
    /// state their energy is of fourth order in the angle, so that they match no constant rigidity:
    /// on a square grid the energy equals that of [`Self::FaceAngle`] at 0.5 rad per edge, and is a
    /// quarter of it at 0.25 rad.
    Springs,
}

/// Preconditioner of [`Implicit`]: an approximate inverse of the Hessian that turns the residual
/// into a search direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
#[repr(u32)]
pub enum Preconditioner {
    /// The mass only: cheap iterations, about `3 dt sqrt(K / density) / edge` per frame. Momentum
    /// is conserved after any number of iterations.
    #[default]
    Mass,
    /// The Hessian along chains of warp and of weft edges, each chain solved directly, and the mean
    /// of both; for stiff cloth of fine meshes. Takes half as many iterations with a shear
    /// stiffness of 0.3 times that along the threads, a fifth or fewer at 0.03. Momentum is
    /// conserved to the accuracy of the solve.
    Fibers,
}

impl Preconditioner {
    /// All preconditioners.
    pub const ALL: [Self; 2] = [Self::Mass, Self::Fibers];

    /// Name in scenes and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mass => "mass",
            Self::Fibers => "fibers",
        }
    }

    /// One-line description.
    pub fn doc(self) -> &'static str {
        match self {
            Self::Mass => "Cheap iterations; keeps momentum at any number of iterations",
            Self::Fibers => {
                "Solves whole chains of warp and weft: for fine, stiff sheets with soft shear"
            }
        }
    }
}

impl StretchModel {
    /// All stretch models.
    pub const ALL: [Self; 3] = [Self::StretchShear, Self::Trispring, Self::Springs];

    /// Name in scenes and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::StretchShear => "stretch_shear",
            Self::Trispring => "trispring",
            Self::Springs => "springs",
        }
    }

    /// One-line description.
    pub fn doc(self) -> &'static str {
        match self {
            Self::StretchShear => "Threads along warp and weft, and the angle between them",
            Self::Trispring => "Isotropic membrane that narrows under tension",
            Self::Springs => "Springs along edges; narrows under tension as far as shear is stiff",
        }
    }
}

impl BendModel {
    /// All bend models.
    pub const ALL: [Self; 4] =
        [Self::FaceAngle, Self::PlaneProjection, Self::Isometric, Self::Springs];

    /// Largest rest angle that the model supports \[rad\].
    pub fn max_rest_angle(self) -> f32 {
        match self {
            Self::FaceAngle | Self::Springs => std::f32::consts::PI,
            Self::PlaneProjection => 1.2,
            Self::Isometric => 0.01,
        }
    }

    /// Name in scenes and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::FaceAngle => "face_angle",
            Self::PlaneProjection => "plane_projection",
            Self::Isometric => "isometric",
            Self::Springs => "springs",
        }
    }

    /// One-line description.
    pub fn doc(self) -> &'static str {
        match self {
            Self::FaceAngle => "The angle between two triangles",
            Self::PlaneProjection => {
                "Distance of a corner from the plane of the adjacent triangle, up to 90 degrees"
            }
            Self::Isometric => "The mean curvature vector: cheap, for cloth that is flat at rest",
            Self::Springs => "Springs along two-ring edges: no modulus, weak where cloth is flat",
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
            frequency: None,
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

/// Checks the stiffness of a membrane by its stretch and shear model.
pub(super) fn check_membrane(stretch: [f32; 2], shear: f32, ratio: f32) -> Result<(), ModelError> {
    for stiffness in stretch {
        check_range("stretch_stiffness", stiffness, 0.0, 1e9)?;
    }
    check_range("shear_stiffness", shear, 0.0, 1e9)?;
    check_range("poisson_ratio", ratio, -0.9, 0.49)
}

impl Implicit {
    /// Checks the ranges given in the field docs.
    ///
    /// # Errors
    /// [`ModelError`] that names the first field out of range.
    pub fn validate(&self) -> Result<(), ModelError> {
        check_steps(self.substeps, self.frequency)?;
        check_membrane(self.stretch_stiffness, self.shear_stiffness, self.poisson_ratio)?;
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

/// Statistics of the implicit or the multilevel solver since the cloth was added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImplicitReport {
    /// Number of steps; each part of a halved step counts.
    pub steps: u32,
    /// Iterations of all steps, including rejected ones.
    pub iterations: u32,
    /// Steps that were accepted without being solved; of the multilevel solver, those whose last
    /// Newton step left more than one edge in 100 off by more than 0.3 %, or whose residuals stayed
    /// above a hundredth of those at the start after four times the usual iterations.
    pub unconverged: u32,
    /// Steps that moved nothing, because no finite solution was found.
    pub held: u32,
    /// Solved steps whose residual is above four times [`Implicit::tolerance`], as rounding to f32
    /// permits no less. The multilevel solver has none, nor any of the next two.
    pub floored: u32,
    /// Steps that were rejected and halved.
    pub rejections: u32,
    /// Current number of halvings.
    pub halvings: u32,
}

impl ImplicitReport {
    /// Merges two reports: saturating sums of the counts, and the larger number of halvings.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            steps: self.steps.saturating_add(other.steps),
            iterations: self.iterations.saturating_add(other.iterations),
            unconverged: self.unconverged.saturating_add(other.unconverged),
            held: self.held.saturating_add(other.held),
            floored: self.floored.saturating_add(other.floored),
            rejections: self.rejections.saturating_add(other.rejections),
            halvings: self.halvings.max(other.halvings),
        }
    }
}
