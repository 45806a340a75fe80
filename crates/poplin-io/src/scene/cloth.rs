//! A scene as plain data.

use poplin_cook::CookOptions;
use poplin_model::{Chosen, ClothConfig, ClothContactSolver, Material, PhaseKind};

use super::{
    AnimatedPins, LocalFrame, PinRule, SceneAcceleration, SceneCollider, SceneSpheres, Shape,
    Transform, Wind,
};
use crate::FrameFormat;
use crate::picture::View;

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
    /// From where its pictures are seen (default: as suits the moments, [`View::fitting`]).
    pub view: Option<View>,
    /// The cloths, at least one.
    pub cloths: Vec<SceneCloth>,
    /// What they collide with (default nothing).
    pub colliders: Vec<SceneCollider>,
    /// How contacts between cloths are solved: those with a `thickness`, or a distance in their `cloth_collision`.
    pub cloth_contact_solver: ClothContactSolver,
    /// The file, for errors that come up later.
    pub(super) path: std::path::PathBuf,
    /// Its text, for their lines.
    pub(super) text: String,
}

/// What [`SceneCloth::perturbation`] is where nobody says.
pub const DEFAULT_PERTURBATION: f32 = 1e-3;

/// One `[[cloth]]` of a scene.
#[derive(Debug, Clone, PartialEq)]
pub struct SceneCloth {
    /// Name (default `cloth <index>`).
    pub name: String,
    /// Where the mesh comes from: `grid`, `tube` or `mesh`.
    pub shape: Shape,
    /// Its pose and scale in its local space; in the world, if that does not move.
    pub transform: Transform,
    /// Vertices that stay where they are (default none), picked before the transform.
    pub pins: Vec<PinRule>,
    /// Vertices that move by keyframes (default none).
    pub animated_pins: Vec<AnimatedPins>,
    /// Spheres around rest positions that particles may not leave (default none).
    pub motion_spheres: Vec<SceneSpheres>,
    /// Spheres behind rest positions that particles may not enter (default none).
    pub separation_spheres: Vec<SceneSpheres>,
    /// Accelerations on top of gravity (default none).
    pub accelerations: Vec<SceneAcceleration>,
    /// The path of the local space (default: none, it is at the world's origin).
    pub frame: Option<LocalFrame>,
    /// The wind: the cloth's own, else the scene's, else `None`: steadily `config.air.wind_velocity`.
    pub wind: Option<Wind>,
    /// Settings: its groups are keys of the cloth itself, `[cloth.air]`.
    pub config: ClothConfig,
    /// What it is made of, if the file says so: `config` and `fabric` have its values where nothing else is stated, and the edges
    /// get theirs once the cloth is cooked ([`poplin_model::Cloth::set_membrane`]).
    pub material: Option<Material>,
    /// Whether the file states `fabric.bends = false`: then a bending rigidity that nobody states is none.
    pub without_bends: bool,
    /// Which settings are to be chosen once the cloth is cooked ([`poplin_model::Cloth::choose_solver`]): without a
    /// `solver.pbd.frequency` that, and what else of them the file does not state; with one none, the cloth is solved as the
    /// file says.
    pub chosen: Chosen,
    /// How the mesh is cooked, the key `density` of the cloth included; of its `gravity` and `pins`, which are keys of the
    /// cloth too, it holds the defaults. `max_fiber_length` and `bends`, where not set, follow from the solver:
    /// XPBD takes fibers as long as the mesh lets them be, and a bending rigidity takes bends.
    pub fabric: CookOptions,
    /// The order in which phases are solved; those that are not named are not (default empty: all, in the order of cooking).
    pub phase_order: Vec<PhaseKind>,
    /// Copies, 1 or more (default 1).
    pub count: u32,
    /// Displacement from one copy to the next \[m\] (default 0).
    pub spacing: [f32; 3],
    /// How far free particles of a flat mesh are moved off its plane at the start, at random and each time alike, as a fraction of the
    /// mean edge, `0..=0.1` (default [`DEFAULT_PERTURBATION`]; 0: not at all). A sheet that hangs exactly in its plane never folds.
    pub perturbation: f32,
}

impl SceneCloth {
    /// Displacement \[m\] of the copy `index`, from 0.
    pub fn copy_offset(&self, index: u32) -> [f32; 3] {
        self.spacing.map(|step| step * index as f32)
    }
}
