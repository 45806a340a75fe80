//! Scene files as serde reads them, and their conversion to a [`Scene`].

mod check;
mod choice;
mod cloth;
mod collider;
mod rules;
mod serde_error;

use std::borrow::Cow;
use std::path::PathBuf;

use poplin_cook::CookOptions;
use poplin_model::{
    Air, ClothCollision, ClothContactSolver, Contact, Inertia, Material, MotionConstraints,
    PhaseKind, SelfCollision, Sleep, Solver,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};

use self::collider::ColliderFile;
use self::rules::Rules;
use super::pin::Side;
use super::{AccelerationKey, FrameKey, GridShape, LocalFrame, Transform, TubeShape, Wind};
use poplin_io::{FRAME_FORMATS, FrameFormat};
use poplin_model::View;

pub use self::check::{SceneCheck, read_scene_text};
pub(super) use self::serde_error::{missing_field, nearest, toml_error};

/// Scene of poplin: cloths, colliders and wind.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Scene")]
pub(super) struct SceneFile {
    /// Title shown to people (default: the file's name).
    title: Option<String>,
    /// Number of frames to simulate, `1..=1_000_000` (default 120).
    #[serde(default = "default_frames")]
    frames: u32,
    /// Frames per second [1/s], `0.1..=10_000` (default 60).
    #[serde(default = "default_frame_rate")]
    frame_rate: f32,
    /// Formats in which the frames are written (default `pc2`).
    #[serde(default = "default_formats")]
    formats: Vec<FrameFormat>,
    /// Wind on every cloth without its own `wind` (default none).
    wind: Option<Wind>,
    /// Camera direction of pictures (default: from the front right and slightly above, or high
    /// above for a flat scene).
    camera: Option<CameraFile>,
    /// Solver of contacts between cloths that have a `thickness`, or a `distance` in their
    /// `cloth_collision`.
    #[serde(default)]
    cloth_contact_solver: ClothContactSolver,
    /// Cloths, at least one: `[[cloth]]`. Each needs exactly one of `grid`, `tube` and `mesh`.
    #[serde(default)]
    cloth: Vec<ClothFile>,
    /// Shapes to collide with: `[[collider]]`. Each needs exactly one of the shapes from `sphere`
    /// to `mesh`.
    #[serde(default)]
    collider: Vec<ColliderFile>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Camera")]
struct CameraFile {
    /// Rotation around the vertical axis [degrees], `-360..=360` (default 32): 0 looks along -z
    /// (from the front), 90 along -x (from the right).
    azimuth: f64,
    /// Height above the horizon [degrees], `-89..=89` (default 16).
    elevation: f64,
}

impl Default for CameraFile {
    fn default() -> Self {
        let View { azimuth, elevation } = View::default();
        Self { azimuth, elevation }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Cloth")]
#[expect(dead_code, reason = "settings are checked here and read from the table of the cloth")]
struct ClothFile {
    /// Name of the cloth and of its files, unique in the scene (default `cloth 0`, `cloth 1`, ...).
    name: Option<String>,
    /// Rectangular mesh of quads.
    grid: Option<GridShape>,
    /// Tubular mesh of quads, or a sector of a tube.
    tube: Option<TubeShape>,
    /// Mesh file (OBJ, PLY, STL, glTF, GLB), its path relative to the folder of the scene file.
    mesh: Option<PathBuf>,
    /// Pose and scale in the cloth's local space, or in the world without a `frame`.
    #[serde(default)]
    transform: Transform,
    /// Material with measured values (default none): sets density, stretch, shear, bending,
    /// damping, friction and thickness unless the cloth states them. Stretch, shear and bending
    /// need `solver.xpbd`, the default beside a material, or `solver.implicit`.
    material: Option<MaterialName>,
    /// Mass per area [kg/m^2], `1e-9..=1e9` (default: that of the material, else 0.2, a light
    /// cotton).
    density: Option<f32>,
    /// Rules that select the pinned vertices, evaluated before the transform (default none):
    /// `top:3%` (also `bottom`, `left`, `right`, `front`, `back`), `corner:top-left`,
    /// `box:x0,y0,z0,x1,y1,z1`, `indices:0,5,7-12`, `all`, `none`, or the index of a vertex; one or
    /// a list.
    #[serde(default)]
    pins: Rules,
    /// Pins that move and rotate along a path, or are let go at a time:
    /// `[[cloth.animated_pins]]` (default none).
    #[serde(default)]
    animated_pins: Vec<AnimatedPinsFile>,
    /// Spheres around rest positions that vertices may not leave: `[[cloth.motion_spheres]]`
    /// (default none). They move with the local space; `motion` has their settings.
    #[serde(default)]
    motion_spheres: Vec<MotionSpheresFile>,
    /// Spheres behind rest positions that vertices may not enter (backstops):
    /// `[[cloth.separation_spheres]]` (default none). They move with the local space.
    #[serde(default)]
    separation_spheres: Vec<SeparationSpheresFile>,
    /// Accelerations of vertices in addition to gravity: `[[cloth.accelerations]]` (default none).
    #[serde(default)]
    accelerations: Vec<AccelerationFile>,
    /// Velocity of all free vertices at the start, axes of the local space [m/s], each
    /// `-10000..=10000` (default 0).
    #[serde(default)]
    velocity: [f32; 3],
    /// Angular velocity at the start about the center of mass of the free vertices, axes of the
    /// local space [degrees/s], each `-36000..=36000` (default 0). It is added to `velocity`.
    #[serde(default)]
    angular_velocity: [f32; 3],
    /// Path of the local space, for example of the body that wears the cloth (default: the local
    /// space is the world). Pins move with it, and `inertia` sets how strongly its motion acts on
    /// the cloth. Each copy has its own local space, `spacing` apart.
    frame: Option<LocalFrame>,
    /// Wind on this cloth, instead of the scene's `wind`.
    wind: Option<Wind>,
    /// Acceleration of every particle [m/s^2], world axes (default 0, -9.81, 0).
    gravity: Option<[f32; 3]>,
    /// Fraction of the velocity lost per axis within 1 / `stiffness_frequency`, `0..=1` (default
    /// 0).
    damping: Option<[f32; 3]>,
    /// Reference rate of all stiffness-like values [1/s], `0.001..=10_000`: a value x removes the
    /// fraction x of an error within 1 / this rate. The default is 10, or `solver.pbd.frequency`
    /// where that is chosen from the cloth.
    stiffness_frequency: Option<f32>,
    /// Thickness of the cloth [m], `0..=1000` (default 0 = off). Above 0, the cloth collides with
    /// itself and with other cloths that have a thickness; distances that are not set follow from
    /// it.
    thickness: Option<f32>,
    /// Maximum speed of a particle relative to the local space [m/s], `0..=1e6` (default: no
    /// limit); 0 holds the cloth still.
    max_speed: Option<f32>,
    /// Constraint solver, one of `pbd`, `xpbd` and `implicit` (default `pbd`, at a frequency chosen
    /// from the cloth).
    #[serde(default)]
    solver: Solver,
    /// Long-range attachments to the pins.
    #[serde(default)]
    tethers: poplin_model::Tethers,
    /// Drag, lift and pressure.
    #[serde(default)]
    air: Air,
    /// Inertial forces from the motion of the local space.
    #[serde(default)]
    inertia: Inertia,
    /// Settings of the motion spheres.
    #[serde(default)]
    motion: MotionConstraints,
    /// Contact with colliders.
    #[serde(default)]
    contact: Contact,
    /// Collision of the cloth with itself.
    #[serde(default)]
    self_collision: SelfCollision,
    /// Collision with other cloths.
    #[serde(default)]
    cloth_collision: ClothCollision,
    /// Conditions under which a cloth at rest is no longer simulated.
    #[serde(default)]
    sleep: Sleep,
    /// Options of cooking the mesh. `max_fiber_length` and `bends`, where not set, follow from the
    /// solver: XPBD uses fibers as long as the mesh allows, and a bending rigidity uses `bends`
    /// instead of the two-ring edges of `bending`. So does XPBD that stretches, by a `membrane` or
    /// a compliance, with 1e-5 N m if no rigidity is stated. `bends = false` removes the bending
    /// rigidity of a material, and is an error beside a stated rigidity.
    #[serde(default)]
    fabric: CookOptions,
    /// Order in which phases are solved; phases that are not listed are skipped (default and if
    /// empty: all, in the order of cooking).
    #[serde(default)]
    phase_order: Vec<PhaseKind>,
    /// Copies of the cloth, 1 or more (default 1).
    #[serde(default = "default_count")]
    count: u32,
    /// Displacement from one copy to the next [m] (default 0).
    #[serde(default)]
    spacing: [f32; 3],
    /// Amplitude of pseudo-random displacements, the same in every run, that move free particles of
    /// a flat mesh off its plane at the start, in mean edge lengths, `0..=0.1` (default 0.001; 0 =
    /// none). A sheet that hangs exactly in its plane never folds.
    perturbation: Option<f32>,
}

/// Name of a material, checked.
struct MaterialName;

impl JsonSchema for MaterialName {
    fn schema_name() -> Cow<'static, str> {
        "Material".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": Material::ALL.map(|material| material.name) })
    }
}

impl<'de> Deserialize<'de> for MaterialName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const NAMES: [&str; Material::ALL.len()] = names();
        let name = String::deserialize(deserializer)?;
        let material = Material::named(&name);
        material.map(|_| Self).ok_or_else(|| de::Error::unknown_variant(&name, &NAMES))
    }
}

/// Names of all materials.
const fn names() -> [&'static str; Material::ALL.len()] {
    let mut names = [""; Material::ALL.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = Material::ALL[index].name;
        index += 1;
    }
    names
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AnimatedPins")]
struct AnimatedPinsFile {
    /// Rules that select the vertices, as in `pins` of a cloth.
    pins: Rules,
    /// Pivot of the rotation, in the local space after `transform` [m] (default: the center of the
    /// vertices' bounding box).
    pivot: Option<[f32; 3]>,
    /// Poses relative to the start, at least one, rising in time, in the axes of the local space:
    /// rotated about the pivot, then moved. Between two keys the pivot moves linearly and the pins
    /// rotate at a constant rate around one axis, by the smaller angle. With `release`, the default
    /// is to hold the pins at their start.
    #[serde(default)]
    keys: Vec<FrameKey>,
    /// Time at which the pins are let go, rounded to the nearest frame [s], `0..=1e6` (default:
    /// never). They keep their velocity, and have their mass from the start: no tether is anchored
    /// at them.
    release: Option<f32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MotionSpheres")]
struct MotionSpheresFile {
    /// Rules that select the vertices, as in `pins` of a cloth. A vertex in several lists has the
    /// sphere of the last list.
    vertices: Rules,
    /// Radius [m], `0..=1e6`: the farthest a vertex may move; 0 holds it. Exactly one of `radius`
    /// and `radii` is needed.
    radius: Option<f32>,
    /// Radii at one side of the vertices' bounding box and at the opposite side [m], `0..=1e6`;
    /// linear between them.
    radii: Option<[f32; 2]>,
    /// Side of the bounding box with the first of `radii`, before the transform (default `top`).
    from: Option<Side>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SeparationSpheres")]
struct SeparationSpheresFile {
    /// Rules that select the vertices, as in `pins` of a cloth. A vertex in several lists has the
    /// sphere of the last list.
    vertices: Rules,
    /// Radius [m], `0..=1e6`: a larger sphere blocks more of the area beside the vertex; 0 is no
    /// sphere. Exactly one of `radius` and `radii` is needed.
    radius: Option<f32>,
    /// Radii at one side of the vertices' bounding box and at the opposite side [m], `0..=1e6`;
    /// linear between them.
    radii: Option<[f32; 2]>,
    /// Side of the bounding box with the first of `radii`, before the transform (default `top`).
    from: Option<Side>,
    /// Depth behind its rest position, against the normal of the cloth there, to which a vertex may
    /// go [m], `-1e6..=1e6` (default 0).
    #[serde(default)]
    offset: f32,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Acceleration")]
struct AccelerationFile {
    /// Rules that select the vertices, as in `pins` of a cloth. Accelerations of a vertex in
    /// several lists add up.
    vertices: Rules,
    /// Acceleration in the axes of the local space [m/s^2], each `-1e6..=1e6`. Exactly one of
    /// `acceleration` and `keys` is needed.
    acceleration: Option<[f32; 3]>,
    /// Keyframes of the acceleration, at least one, rising in time; linear between them.
    keys: Option<Vec<AccelerationKey>>,
}

fn default_frames() -> u32 {
    120
}

fn default_frame_rate() -> f32 {
    60.0
}

fn default_formats() -> Vec<FrameFormat> {
    FRAME_FORMATS[..1].to_vec()
}

fn default_count() -> u32 {
    1
}

impl Default for SceneFile {
    fn default() -> Self {
        Self {
            title: None,
            frames: default_frames(),
            frame_rate: default_frame_rate(),
            formats: default_formats(),
            wind: None,
            camera: None,
            cloth_contact_solver: ClothContactSolver::default(),
            cloth: Vec::new(),
            collider: Vec::new(),
        }
    }
}
