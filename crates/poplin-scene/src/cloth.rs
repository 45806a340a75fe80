//! Scenes as plain data.

use glam::DVec3;
use poplin_cook::CookOptions;
use poplin_geometry::wide;
use poplin_model::{Chosen, ClothConfig, ClothContactSolver, Material, Particle, PhaseKind};

use super::{
    AnimatedPins, BaseSettings, LocalFrame, PinRule, SceneAcceleration, SceneCollider,
    SceneSpheres, Settings, Shape, Transform, Wind,
};
use poplin_io::FrameFormat;
use poplin_model::View;

/// A checked scene.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// Title shown to people (default: the file's stem).
    pub title: String,
    /// Number of frames to simulate, `1..=1_000_000` (default 120).
    pub frames: u32,
    /// Frames per second [1/s], `0.1..=10_000` (default 60).
    pub frame_rate: f32,
    /// Formats in which the frames are written, of [`FRAME_FORMATS`](poplin_io::FRAME_FORMATS)
    /// (default `pc2`).
    pub formats: Vec<FrameFormat>,
    /// Camera direction of pictures (default: chosen by the picture).
    pub view: Option<View>,
    /// Cloths, at least one.
    pub cloths: Vec<SceneCloth>,
    /// Shapes to collide with (default none).
    pub colliders: Vec<SceneCollider>,
    /// Solver of contacts between cloths that have a `thickness`, or a distance in their
    /// `cloth_collision`.
    pub cloth_contact_solver: ClothContactSolver,
    /// Path of the scene file, for later errors.
    pub(super) path: std::path::PathBuf,
    /// Text of the scene file, for the lines of later errors.
    pub(super) text: String,
}

/// Default of [`SceneCloth::perturbation`].
pub const DEFAULT_PERTURBATION: f32 = 1e-3;

/// One `[[cloth]]` of a scene.
#[derive(Debug, Clone, PartialEq)]
pub struct SceneCloth {
    /// Name (default `cloth <index>`).
    pub name: String,
    /// Source of the mesh: `grid`, `tube` or `mesh`.
    pub shape: Shape,
    /// Pose and scale in the cloth's local space, or in the world without a `frame`.
    pub transform: Transform,
    /// Vertices held at their positions (default none), selected before the transform.
    pub pins: Vec<PinRule>,
    /// Pinned vertices that move by keyframes (default none).
    pub animated_pins: Vec<AnimatedPins>,
    /// Spheres around rest positions that particles may not leave (default none).
    pub motion_spheres: Vec<SceneSpheres>,
    /// Spheres behind rest positions that particles may not enter (default none).
    pub separation_spheres: Vec<SceneSpheres>,
    /// Accelerations of vertices in addition to gravity (default none).
    pub accelerations: Vec<SceneAcceleration>,
    /// Velocity of the free vertices at the start, axes of the local space [m/s], each
    /// `-10000..=10000` (default 0).
    pub velocity: [f32; 3],
    /// Angular velocity at the start about the center of mass of the free vertices, axes of the
    /// local space [degrees/s], each `-36000..=36000` (default 0).
    pub angular_velocity: [f32; 3],
    /// Path of the local space (default none: it is at the world's origin).
    pub frame: Option<LocalFrame>,
    /// Wind: that of the cloth, else of the scene; `None` is the steady wind
    /// `config.air.wind_velocity`.
    pub wind: Option<Wind>,
    /// Lowest layer of settings.
    pub base: BaseSettings,
    /// Settings that the file, or an option over it, states. The fields below follow from `base`,
    /// the material and these ([`Self::state`]).
    pub stated: Settings,
    /// Settings; their groups are tables of the cloth, `[cloth.air]`.
    pub config: ClothConfig,
    /// Material, if one is stated. `config` and `fabric` already have its values where nothing else
    /// is stated; the edges get theirs once the cloth is cooked ([`Self::set_membrane`]).
    pub material: Option<Material>,
    /// True if `fabric.bends = false` is stated; the bending rigidity is then 0.
    pub without_bends: bool,
    /// Settings to choose automatically once the cloth is cooked
    /// ([`poplin_model::ClothDesc::choose_solver`]): if `solver.pbd.frequency` is not stated, that
    /// and the settings of [`Chosen`] that the file leaves out, otherwise none.
    pub chosen: Chosen,
    /// Cooking options, including the key `density` of the cloth; `gravity` and `pins`, also keys
    /// of the cloth, are at their defaults here. `max_fiber_length` and `bends`, where not set,
    /// follow from the solver: XPBD uses fibers as long as the mesh allows, and a bending rigidity
    /// uses bends.
    pub fabric: CookOptions,
    /// Order in which phases are solved; phases that are not listed are skipped (default empty:
    /// all, in the order of cooking).
    pub phase_order: Vec<PhaseKind>,
    /// Number of copies, 1 or more (default 1).
    pub count: u32,
    /// Displacement from one copy to the next \[m\] (default 0).
    pub spacing: [f32; 3],
    /// Amplitude of pseudo-random displacements, the same in every run, that move free particles of
    /// a flat mesh off its plane at the start, in mean edge lengths, `0..=0.1` (default
    /// [`DEFAULT_PERTURBATION`]; 0: none). A sheet that hangs exactly in its plane never folds.
    pub perturbation: f32,
}

impl SceneCloth {
    /// Creates a cloth that states nothing: no pins, at rest, with the settings `base`.
    pub fn new(name: String, shape: Shape, base: BaseSettings) -> Self {
        Self {
            name,
            shape,
            transform: Transform::default(),
            pins: Vec::new(),
            animated_pins: Vec::new(),
            motion_spheres: Vec::new(),
            separation_spheres: Vec::new(),
            accelerations: Vec::new(),
            velocity: [0.0; 3],
            angular_velocity: [0.0; 3],
            frame: None,
            wind: None,
            config: base.config.clone(),
            chosen: base.chosen,
            base,
            stated: Settings::default(),
            material: None,
            without_bends: false,
            fabric: CookOptions::default(),
            phase_order: Vec::new(),
            count: 1,
            spacing: [0.0; 3],
            perturbation: DEFAULT_PERTURBATION,
        }
    }

    /// Returns the velocity of each particle at the start [m/s], `v + omega x (x - c)`, c the
    /// center of mass of the free ones; 0 for pinned ones. Empty if the cloth starts at rest.
    pub fn velocities(&self, particles: &[Particle]) -> Vec<[f32; 3]> {
        if [self.velocity, self.angular_velocity] == [[0.0; 3]; 2] {
            return Vec::new();
        }
        let free = particles.iter().filter(|particle| !particle.is_pinned());
        let (moment, mass) = free.fold((DVec3::ZERO, 0.0), |(moment, mass), particle| {
            let own = f64::from(particle.inverse_mass).recip();
            (moment + wide(particle.position) * own, mass + own)
        });
        let velocity = |particle: &Particle| {
            if particle.is_pinned() {
                return [0.0; 3];
            }
            let arm = wide(particle.position) - moment / mass;
            let spin = wide(self.angular_velocity.map(f32::to_radians));
            (wide(self.velocity) + spin.cross(arm)).as_vec3().to_array()
        };
        particles.iter().map(velocity).collect()
    }

    /// Displacement \[m\] of the copy `index`, from 0.
    pub fn copy_offset(&self, index: u32) -> [f32; 3] {
        self.spacing.map(|step| step * index as f32)
    }
}
