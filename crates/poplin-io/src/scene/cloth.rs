//! A scene as plain data.

use poplin_model::{ClothCollision, ClothConfig, FiberSolver, PhaseConfig, PhaseKind};
use serde::Deserialize;

use super::{AnimatedPins, LocalFrame, PinRule, SceneCollider, Shape, Transform, Wind};
use crate::FrameFormat;

/// A checked scene.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// Title, for people (default: the file's stem).
    pub title: String,
    /// Frames to simulate, `1..=1_000_000` (default 120).
    pub frames: u32,
    /// Frames per second [1/s], `0.1..=10_000` (default 60).
    pub frame_rate: f32,
    /// Formats to write the frames in, of [`FRAME_FORMATS`](crate::FRAME_FORMATS) (default `pc2`).
    pub formats: Vec<FrameFormat>,
    /// The cloths, at least one.
    pub cloths: Vec<SceneCloth>,
    /// What they collide with (default nothing).
    pub colliders: Vec<SceneCollider>,
    /// How they collide with one another: those with a `thickness` in their `config`.
    pub cloth_collision: ClothCollision,
    /// The file, for errors that come up later.
    pub(super) path: std::path::PathBuf,
    /// Its text, for their lines.
    pub(super) text: String,
}

/// One `[[cloth]]` of a scene.
#[derive(Debug, Clone, PartialEq)]
pub struct SceneCloth {
    /// Name (default `cloth <number>`).
    pub name: String,
    /// Where the mesh comes from: `grid`, `tube` or `mesh`.
    pub shape: Shape,
    /// Where it stands in its local frame; in the world, if that does not move.
    pub transform: Transform,
    /// Mass per area [kg/m^2], `1e-6..=1e6` (default 0.2, a light cotton).
    pub density: f32,
    /// Vertices that stay where they are (default none), picked before the transform.
    pub pins: Vec<PinRule>,
    /// Vertices that move by keyframes (default none).
    pub animated_pins: Vec<AnimatedPins>,
    /// The path of the local frame (default: none, it stands at the world's origin).
    pub frame: Option<LocalFrame>,
    /// The wind: the cloth's own, else the scene's, else `None`: steadily `config.wind_velocity`.
    pub wind: Option<Wind>,
    /// Solver settings.
    pub config: ClothConfig,
    /// How the mesh becomes a fabric.
    pub fabric: FabricOptions,
    /// Stiffness by direction.
    pub phases: PhaseSettings,
    /// Copies, 1 or more (default 1).
    pub count: u32,
    /// Displacement from one copy to the next \[m\] (default 0).
    pub spacing: [f32; 3],
}

impl SceneCloth {
    /// Displacement \[m\] of the copy `index`, from 0.
    pub fn copy_offset(&self, index: u32) -> [f32; 3] {
        self.spacing.map(|step| step * index as f32)
    }
}

/// How a mesh becomes a fabric.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FabricOptions {
    /// Most edges of one fiber, `1..=1024` (default: as costs a GPU the least, with XPBD as long as the mesh lets it be).
    pub max_fiber_length: Option<u32>,
    /// Whether bending edges are made (default true).
    pub bending: bool,
    /// Which tethers hold the cloth to its pins (default geodesic).
    pub tethers: Tethers,
    /// What tells vertical from horizontal edges (default gravity).
    pub direction: WarpDirection,
    /// Vertices nearer to each other than this become one \[m\], `0..=1` (default 1e-6).
    pub weld_tolerance: f32,
    /// Points of triangles that collide too (default none).
    pub virtual_particles: VirtualParticles,
}

impl Default for FabricOptions {
    fn default() -> Self {
        Self {
            max_fiber_length: None,
            bending: true,
            tethers: Tethers::Geodesic,
            direction: WarpDirection::Gravity,
            weld_tolerance: 1e-6,
            virtual_particles: VirtualParticles::None,
        }
    }
}

/// Which tethers hold particles to pins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tethers {
    /// As long as the way along the mesh.
    Geodesic,
    /// As long as the straight line.
    Euclidean,
    /// No tethers.
    None,
}

/// Which points of triangles collide besides the vertices.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VirtualParticles {
    /// None.
    None,
    /// So many in every triangle, `1..=64`.
    PerTriangle(u32),
    /// Points about so far apart \[m\], `1e-6..=1e6`.
    Spacing(f32),
}

/// What tells vertical from horizontal edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WarpDirection {
    /// The direction of gravity.
    Gravity,
    /// The texture coordinate v.
    Uv,
}

/// How edges of one direction are solved.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PhaseOptions {
    /// As [`PhaseConfig::fiber_solver`], `"gauss_seidel"`, `"semi_implicit"` or `"cyclic_reduction"` (default: by the cloth's solver).
    pub fiber_solver: Option<FiberSolver>,
    /// As [`PhaseConfig::stiffness`], `0..=1` (default 1).
    pub stiffness: f32,
    /// As [`PhaseConfig::stiffness_multiplier`], `0..=1` (default 1).
    pub stiffness_multiplier: f32,
    /// As [`PhaseConfig::compression_limit`], `0.001..=1` (default 1).
    pub compression_limit: f32,
    /// As [`PhaseConfig::stretch_limit`], `1..=1000` (default 1).
    pub stretch_limit: f32,
    /// As [`PhaseConfig::compliance`] [m/N], `0..=1e9` (default 0).
    pub compliance: f32,
    /// As [`PhaseConfig::damping`] [N s/m], `0..=1e9` (default 0).
    pub damping: f32,
}

impl Default for PhaseOptions {
    fn default() -> Self {
        let PhaseConfig {
            phase: _,
            fiber_solver,
            stiffness,
            stiffness_multiplier,
            compression_limit,
            stretch_limit,
            compliance,
            damping,
        } = PhaseConfig::stiff(0);
        Self {
            fiber_solver,
            stiffness,
            stiffness_multiplier,
            compression_limit,
            stretch_limit,
            compliance,
            damping,
        }
    }
}

impl PhaseOptions {
    /// The settings of phase number `phase` of a fabric.
    pub fn config(&self, phase: u32) -> PhaseConfig {
        PhaseConfig {
            phase,
            fiber_solver: self.fiber_solver,
            stiffness: self.stiffness,
            stiffness_multiplier: self.stiffness_multiplier,
            compression_limit: self.compression_limit,
            stretch_limit: self.stretch_limit,
            compliance: self.compliance,
            damping: self.damping,
        }
    }
}

/// Stiffness by direction; each is fully stiff by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PhaseSettings {
    /// Stretch along the warp direction.
    pub vertical: PhaseOptions,
    /// Stretch across it.
    pub horizontal: PhaseOptions,
    /// Diagonals.
    pub shearing: PhaseOptions,
    /// Edges that resist folding.
    pub bending: PhaseOptions,
}

impl PhaseSettings {
    /// The settings of a kind of phase.
    pub fn of(&self, kind: PhaseKind) -> &PhaseOptions {
        match kind {
            PhaseKind::Vertical => &self.vertical,
            PhaseKind::Horizontal => &self.horizontal,
            PhaseKind::Shearing => &self.shearing,
            PhaseKind::Bending => &self.bending,
        }
    }
}
