//! Settings of extended position-based dynamics.

use super::{FiberSolver, Phases};
use crate::error::{Context, ModelError, check_range};

/// Largest number of iterations per frame with [`Xpbd`], and of steps with [`crate::Implicit`] and
/// [`crate::Multilevel`].
pub const MAX_SUBSTEPS: u32 = 20_000;

/// Largest number of iterations per second with [`Xpbd`], and of steps with [`crate::Implicit`] and
/// [`crate::Multilevel`] [1/s].
pub const MAX_FREQUENCY: f32 = 1e5;

/// Checks the steps of a solver, per frame and per second.
pub(super) fn check_steps(substeps: u32, frequency: Option<f32>) -> Result<(), ModelError> {
    check_range("substeps", substeps as f32, 1.0, MAX_SUBSTEPS as f32)?;
    frequency.map_or(Ok(()), |frequency| check_range("frequency", frequency, 1.0, MAX_FREQUENCY))
}

/// Extended position-based dynamics with small steps: each frame is divided into
/// iterations; the compliance of edges in m/N and the rigidity of bends in N m do not depend on the
/// step. The edges of a fiber are solved together.
///
/// Macklin, Müller, Chentanez, "XPBD", 2016, eq. 18 and 26; Macklin et al., "Small Steps in Physics
/// Simulation", 2019. Deviations: one linear system per fiber instead of one equation per edge, the
/// gravity of each step without averaging (no [`crate::Pbd::acceleration_filter_width`]), and the
/// bends documented in `shaders/stage/bend.wgsl`.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Xpbd {
    /// Iterations per frame, whatever its length, `1..=20_000` (default 20). No effect with a
    /// [`Self::frequency`].
    pub substeps: u32,
    /// Iterations per second [1/s], `1..=100_000` (default: none, [`Self::substeps`] per frame): a
    /// frame of `dt` seconds has `max(1, floor(dt * frequency + 0.5))`. Cloth then moves alike at
    /// all frame rates of which the frequency is a multiple, except in contact of triangles, which
    /// is planned per frame.
    pub frequency: Option<f32>,
    /// Bending rigidity B of the cloth [N m], `0..=1e6` (default 0 = off): the moment per width
    /// that bends it to a curvature of 1/m. Cotton has about 1e-5. Requires a fabric with
    /// [`crate::Fabric::bends`].
    pub bending_rigidity: f32,
    /// Damping of bending [N m s], `0..=1e6` (default 0): the moment per width at a rate of change
    /// of curvature of 1/m per second. Acts only with a bending rigidity above 0.
    pub bending_damping: f32,
    /// Share of the second-order correction of velocities, `0..=0.8` (default 0 = first order).
    /// Each iteration is a step of backward Euler, which damps what bends, stretches or turns; the
    /// correction leaves `1 - second_order` of that loss, so that cloth swings and spins longer.
    /// Contact stays without bounce: only moves by edges, yarns and bends count. Short waves fade
    /// slower as well: at 240 iterations per second cloth stretches more for moments. No effect
    /// while the local space rotates.
    pub second_order: f32,
    /// Resistance to stretch and shear of a fabric with [`crate::Fabric::yarns`], in place of that
    /// of its edges (default: none, edges resist).
    pub membrane: Option<Membrane>,
    /// Response of the edges of each phase (default: they do not stretch).
    pub phases: Phases<XpbdPhase>,
}

/// Membrane of a cloth in [`Xpbd`], independent of its mesh. Yarns along warp and weft, and at 45
/// degrees to both, resist as the whole cloth does.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct Membrane {
    /// Stiffness along warp (vertical) and weft (horizontal), force per width over strain [N/m],
    /// each `1e-3..=1e9` (default 1000).
    pub stretch: [f32; 2],
    /// Shear stiffness, force per width over shear angle [N/m], `0..=1e9` (default 300; 0 = none).
    pub shear: f32,
    /// Damping time of shear \[s\], viscosity over stiffness, `0..=1e3` (default 0).
    pub shear_damping: f32,
}

impl Default for Membrane {
    fn default() -> Self {
        Self { stretch: [1000.0; 2], shear: 300.0, shear_damping: 0.0 }
    }
}

impl Membrane {
    /// Checks the ranges given in the field docs.
    ///
    /// # Errors
    /// [`ModelError`] that names the first field out of range.
    pub fn validate(&self) -> Result<(), ModelError> {
        let [warp, weft] = self.stretch;
        check_range("stretch[0]", warp, 1e-3, 1e9)?;
        check_range("stretch[1]", weft, 1e-3, 1e9)?;
        check_range("shear", self.shear, 0.0, 1e9)?;
        check_range("shear_damping", self.shear_damping, 0.0, 1e3)
    }

    /// Stiffness of the yarns along warp and weft [N/m]: the diagonal yarns add to the stiffness of
    /// both, and narrow a strip that is pulled.
    pub fn beside_shear(&self) -> [f64; 2] {
        crate::material::beside_shear(self.stretch.map(f64::from), self.shear.into())
    }
}

impl Default for Xpbd {
    fn default() -> Self {
        Self {
            substeps: 20,
            frequency: None,
            bending_rigidity: 0.0,
            bending_damping: 0.0,
            second_order: 0.0,
            membrane: None,
            phases: Phases::default(),
        }
    }
}

impl Xpbd {
    /// Checks the ranges given in the field docs.
    ///
    /// # Errors
    /// [`ModelError`] that names the first field out of range.
    pub fn validate(&self) -> Result<(), ModelError> {
        check_steps(self.substeps, self.frequency)?;
        check_range("bending_rigidity", self.bending_rigidity, 0.0, 1e6)?;
        check_range("bending_damping", self.bending_damping, 0.0, 1e6)?;
        check_range("second_order", self.second_order, 0.0, 0.8)?;
        if let Some(membrane) = &self.membrane {
            membrane.validate().within("membrane")?;
        }
        self.phases.validate_each(XpbdPhase::validate).within("phases")
    }
}

/// Response of the edges of a phase in [`Xpbd`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct XpbdPhase {
    /// Fiber solver of the phase (default: semi-implicit; see [`crate::ClothDesc::fiber_solver`]).
    pub fiber_solver: Option<FiberSolver>,
    /// Compliance of each edge [m/N], `0..=1e9` (default 0: does not stretch). For cloth of
    /// membrane stiffness K [N/m], an edge that represents a strip of width `width` has the
    /// compliance `length / (K * width)`.
    pub compliance: f32,
    /// Damping of each edge [N s/m], `0..=1e9` (default 0): the force at a rate of change of its
    /// length of 1 m/s. Acts only with a compliance above 0, since an edge that does not stretch
    /// has nothing to damp.
    pub damping: f32,
}

impl XpbdPhase {
    /// Checks the ranges given in the field docs.
    ///
    /// # Errors
    /// [`ModelError`] that names the first field out of range.
    pub fn validate(&self) -> Result<(), ModelError> {
        check_range("compliance", self.compliance, 0.0, 1e9)?;
        check_range("damping", self.damping, 0.0, 1e9)
    }
}
