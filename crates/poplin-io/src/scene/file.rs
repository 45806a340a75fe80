//! Scene files as serde reads them, and their conversion to a [`Scene`].

use std::borrow::Cow;
use std::io::Read;
use std::path::{Path, PathBuf};

use poplin_cook::CookOptions;
use poplin_model::{
    Air, Chosen, ClothCollision, ClothConfig, ClothContactSolver, Contact, Inertia, Material,
    MotionConstraints, PhaseKind, SelfCollision, Sleep, Solver,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};

use super::keys::{keys_elsewhere, keys_that_mean};
use super::locate::{Source, in_order};
use super::mend::read_file;
use super::mesh_motion::AnimationKey;
use super::moved::refuse_keys_of_the_cloth;
use super::pin::Side;
use super::validate::{validate, validate_cloth, validate_collider, validate_wind};
use super::{
    AccelerationKey, AnimatedPins, BoxShape, CapsuleShape, ColliderShape, CylinderShape,
    DEFAULT_PERTURBATION, FrameKey, GridPlane, GridShape, LocalFrame, Location, MeshMotion,
    MotionSource, PinRule, PlaneShape, Scene, SceneAcceleration, SceneBody, SceneCloth,
    SceneCollider, SceneError, SceneSpheres, Shape, SphereShape, Transform, TubeShape, Wind,
};
use crate::picture::View;
use crate::{FRAME_FORMATS, FrameFormat, IoError};

/// Size limit of a scene file \[bytes\]; meshes are in files of their own.
const MAX_SCENE_BYTES: usize = 16 << 20;

/// Minimum similarity of a known name that is suggested for an unknown one.
const LIKENESS: f64 = 0.85;

/// Similarity above which an unknown name counts as a typo of a known one.
const TYPO: f64 = 0.9;

/// Maximum number of keys in other tables that are suggested for an unknown key; longer lists do
/// not help.
const MAX_ELSEWHERE: usize = 3;

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
    /// damping, friction and thickness unless the cloth states them; a compliance of 0 counts as
    /// not stated. Stretch, shear and bending need `solver.xpbd`, the default beside a material, or
    /// `solver.implicit`.
    material: Option<MaterialName>,
    /// Mass per area [kg/m^2], `1e-9..=1e9` (default: that of the material, else 0.2, a light
    /// cotton).
    density: Option<f32>,
    /// Rules that select the pinned vertices, evaluated before the transform (default none):
    /// `top:3%` (also `bottom`, `left`, `right`, `front`, `back`), `corner:top-left`,
    /// `box:x0,y0,z0,x1,y1,z1`, `indices:0,5,7-12`, `all`, `none`.
    #[serde(default)]
    pins: Rules,
    /// Pins that move and rotate along a path: `[[cloth.animated_pins]]` (default none).
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
    /// instead of the two-ring edges of `bending`. `bends = false` removes the bending rigidity of
    /// a material, and is an error beside a stated rigidity.
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

/// Name of a material.
struct MaterialName(Material);

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
        material.map(Self).ok_or_else(|| de::Error::unknown_variant(&name, &NAMES))
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
    /// rotate at a constant rate around one axis, by the smaller angle.
    keys: Vec<FrameKey>,
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

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Collider")]
struct ColliderFile {
    /// Name (default `collider 0`, `collider 1`, ...).
    name: Option<String>,
    /// Ball.
    sphere: Option<SphereShape>,
    /// Capsule: the hull of two balls, its radius changing linearly between them. Exactly one of
    /// `radius` and `radii` is needed.
    capsule: Option<CapsuleFile>,
    /// Half-space behind a plane, for example the ground.
    plane: Option<PlaneShape>,
    /// Rectangular box.
    #[serde(rename = "box")]
    cuboid: Option<BoxShape>,
    /// Cylinder or cone.
    cylinder: Option<CylinderShape>,
    /// Convex polyhedron: the points behind all of several planes, each of them a face.
    convex: Option<ConvexFile>,
    /// Inside of a closed surface from a mesh file (OBJ, PLY, STL, glTF, GLB), its path relative to
    /// the folder of the scene file.
    mesh: Option<PathBuf>,
    /// Animation of a glTF mesh by name or index: nodes, skins and morph targets (default none: the
    /// mesh stays in its rest pose).
    animation: Option<AnimationKey>,
    /// Point cache (PC2, MDD) that moves the vertices of a mesh, with the same number of vertices;
    /// its path is relative to the folder of the scene file (default none).
    cache: Option<PathBuf>,
    /// Frames per second of a PC2 cache [1/s], `0.1..=10_000` (default: `frame_rate`); MDD stores
    /// times in seconds.
    cache_rate: Option<f32>,
    /// Start time of the animation or cache [s], `-1e6..=1e6` (default: the time of its first key
    /// or sample).
    start: Option<f32>,
    /// Playback speed of the animation or cache, `0.001..=1000` (default 1).
    speed: Option<f32>,
    /// Repeats the animation or cache when it ends (default false: it holds its last pose).
    #[serde(rename = "loop")]
    is_looped: Option<bool>,
    /// Pose before `keys` move the collider; in the world if there are none.
    #[serde(default)]
    transform: Transform,
    /// Path of the body that the shape is fixed to, rising in time (default none: the shape is at
    /// rest).
    #[serde(default)]
    keys: Vec<FrameKey>,
    /// Rigid body: cloths and gravity move the collider (default none). It passes through all other
    /// colliders and bodies.
    body: Option<SceneBody>,
    /// Factor on the friction of cloths that touch the collider, `0..=100` (default 1).
    friction: Option<f32>,
    /// Names of the cloths that collide with it, at least one (default: all).
    cloths: Option<Vec<String>>,
    /// Accepts a mesh that is not closed (default false): everything behind its nearest triangle
    /// then counts as inside, at any distance.
    #[serde(default)]
    open: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Capsule")]
struct CapsuleFile {
    /// Center of one end [m].
    from: [f32; 3],
    /// Center of the other end [m].
    to: [f32; 3],
    /// Radius of both ends [m], `1e-6..=1e6`.
    radius: Option<f32>,
    /// Radius at each end [m], `1e-6..=1e6`.
    radii: Option<[f32; 2]>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Convex")]
struct ConvexFile {
    /// Planes, at least one; their normals face outwards.
    planes: Vec<PlaneShape>,
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

/// Pin rules as text: one rule or a list.
#[derive(Default)]
struct Rules(Vec<String>);

impl JsonSchema for Rules {
    fn schema_name() -> Cow<'static, str> {
        "PinRules".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] })
    }
}

impl<'de> Deserialize<'de> for Rules {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Rules;

            fn expecting(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.write_str("a pin rule like \"top:3%\", or a list of them")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Rules, E> {
                Ok(Rules(vec![text.to_owned()]))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<Rules, A::Error> {
                let mut rules = Vec::new();
                while let Some(rule) = items.next_element()? {
                    rules.push(rule);
                }
                Ok(Rules(rules))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
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

impl Scene {
    /// Reads and checks a scene file. Mesh paths in it are relative to its folder.
    ///
    /// # Errors
    /// [`SceneError`] for the first fault, with its line.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, SceneError> {
        Self::load_at(path.as_ref())
    }

    /// Checks the text of a scene. `path` is the file name in errors; mesh paths are relative to
    /// its folder.
    ///
    /// # Errors
    /// [`SceneError`] for the first fault, with its line.
    pub fn parse(text: &str, path: impl AsRef<Path>) -> Result<Self, SceneError> {
        Self::parse_at(text, path.as_ref())
    }

    // Not generic over the path, so that scene deserialization is compiled once, in this crate.

    fn load_at(path: &Path) -> Result<Self, SceneError> {
        Self::parse_at(&read_scene_text(path)?, path)
    }

    fn parse_at(text: &str, path: &Path) -> Result<Self, SceneError> {
        let SceneCheck { scene, faults, .. } = check(text, path);
        faults.into_iter().next().map_or(Ok(scene), Err)
    }

    /// Checks the text of a scene and collects all faults; `path` is used as in [`Scene::parse`].
    pub fn check_text(text: &str, path: impl AsRef<Path>) -> SceneCheck {
        check(text, path.as_ref())
    }

    /// Location of a field such as `cloth[0].density` in the file, or of the nearest enclosing
    /// table that the file has.
    pub fn location(&self, field: &str) -> Location {
        *Source::new(&self.text, &self.path).location(field)
    }

    /// Text that the scene was read from.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Reads the text of a scene or sweep file.
///
/// # Errors
/// [`SceneError`] if the file cannot be read, is longer than the limit, or is not UTF-8.
pub fn read_scene_text(path: &Path) -> Result<String, SceneError> {
    let file = std::fs::File::open(path).map_err(IoError::open(path))?;
    let mut bytes = Vec::new();
    file.take(MAX_SCENE_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(IoError::read(path))?;
    let (count, limit) = (bytes.len(), MAX_SCENE_BYTES);
    if count > limit {
        return Err(IoError::TooMany {
            path: path.into(),
            what: "bytes of a scene file",
            count,
            limit,
        }
        .into());
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()])
            .into_owned();
        let at = Source::new(&valid, path).location_of(valid.len()..valid.len());
        SceneError::Syntax { at, message: "this is not UTF-8 text".into() }
    })
}

/// Scene with all faults of its file.
#[derive(Debug)]
#[non_exhaustive]
pub struct SceneCheck {
    /// The scene, with stand-in values where the file is faulty.
    pub scene: Scene,
    /// Faults in the order of the file. Mesh files are looked up, but not read.
    pub faults: Vec<SceneError>,
    /// Indices of cloths without faults.
    pub sound_cloths: Vec<usize>,
    /// Indices of colliders without faults.
    pub sound_colliders: Vec<usize>,
}

/// Reads and checks a whole scene, and collects all faults.
fn check(text: &str, path: &Path) -> SceneCheck {
    let source = Source::new(text, path);
    let (file, damaged) = read_file(&source);
    // Faults of reading are kept apart: they explain some of the faults of validation below.
    let unread = source.take_faults();
    let stem = source.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
    if let Some(wind) = &file.wind {
        validate_wind(wind, "wind", &source);
    }
    let (mut sound_cloths, mut sound_colliders) = (Vec::new(), Vec::new());
    let mut cloths: Vec<SceneCloth> = Vec::with_capacity(file.cloth.len());
    for (index, cloth) in file.cloth.into_iter().enumerate() {
        let (field, before) = (format!("cloth[{index}]"), source.fault_count());
        let cloth = cloth.convert(index, file.wind, &source);
        validate_cloth(&cloth, &field, &source);
        if source.fault_count() == before && !damaged.has(&field) {
            sound_cloths.push(index);
        }
        cloths.push(cloth);
    }
    let mut colliders: Vec<SceneCollider> = Vec::with_capacity(file.collider.len());
    for (index, collider) in file.collider.into_iter().enumerate() {
        let (field, before) = (format!("collider[{index}]"), source.fault_count());
        let collider = collider.convert(index, file.frame_rate, &source);
        validate_collider(&collider, &cloths, &field, &source);
        if source.fault_count() == before && !damaged.has(&field) {
            sound_colliders.push(index);
        }
        colliders.push(collider);
    }
    let scene = Scene {
        title: file.title.unwrap_or(stem),
        frames: file.frames,
        frame_rate: file.frame_rate,
        formats: file.formats,
        view: file.camera.map(|CameraFile { azimuth, elevation }| View { azimuth, elevation }),
        cloths,
        colliders,
        cloth_contact_solver: file.cloth_contact_solver,
        path: source.path().into(),
        text: text.to_owned(),
    };
    validate(&scene, &source);
    let own = source.take_faults().into_iter().filter(|fault| !damaged.explains(fault));
    let faults = in_order(unread.into_iter().chain(own).collect());
    SceneCheck { scene, faults, sound_cloths, sound_colliders }
}

impl ClothFile {
    fn convert(self, index: usize, scene_wind: Option<Wind>, source: &Source<'_>) -> SceneCloth {
        let field = format!("cloth[{index}]");
        let shape = match (self.grid, self.tube, self.mesh) {
            (Some(grid), None, None) => Shape::Grid(grid),
            (None, Some(tube), None) => Shape::Tube(tube),
            (None, None, Some(mesh)) => Shape::Mesh(beside(source, mesh)),
            (grid, tube, mesh) => {
                let found =
                    [("grid", grid.is_some()), ("tube", tube.is_some()), ("mesh", mesh.is_some())];
                let found = present(&found);
                refuse_shape(source, &field, "`grid`, `tube` and `mesh`", found);
                Shape::Grid(NO_SHAPE)
            }
        };
        let animated_pins =
            self.animated_pins.into_iter().enumerate().map(|(position, animated)| {
                let field = format!("{field}.animated_pins[{position}].pins");
                let AnimatedPinsFile { pins, pivot, keys } = animated;
                AnimatedPins { pins: parse_rules(pins, &field, source), pivot, keys }
            });
        let animated_pins = animated_pins.collect();
        let motion_spheres = self.motion_spheres.into_iter().enumerate().map(|(position, file)| {
            file.convert(&format!("{field}.motion_spheres[{position}]"), source)
        });
        let motion_spheres = motion_spheres.collect();
        let separation_spheres = self.separation_spheres.into_iter().enumerate();
        let separation_spheres = separation_spheres.map(|(position, file)| {
            file.convert(&format!("{field}.separation_spheres[{position}]"), source)
        });
        let separation_spheres = separation_spheres.collect();
        let accelerations = self.accelerations.into_iter().enumerate().map(|(position, file)| {
            file.convert(&format!("{field}.accelerations[{position}]"), source)
        });
        let accelerations = accelerations.collect();
        refuse_keys_of_the_cloth(&self.fabric, &format!("{field}.fabric"), source);
        let material = self.material.map(|MaterialName(material)| material);
        let density = self.density.or(material.map(|material| material.density));
        let density = density.unwrap_or(self.fabric.density);
        let default = ClothConfig::default();
        // A stated PBD frequency is an explicit choice of solver settings: nothing is chosen
        // automatically.
        let chosen = if source.states(&format!("{field}.solver.pbd.frequency")) {
            Chosen::NONE
        } else {
            Chosen { stiffness_frequency: self.stiffness_frequency.is_none(), ..Chosen::ALL }
        };
        let mut config = ClothConfig {
            gravity: self.gravity.unwrap_or(default.gravity),
            damping: self.damping.unwrap_or(default.damping),
            stiffness_frequency: self.stiffness_frequency.unwrap_or(default.stiffness_frequency),
            thickness: self.thickness.unwrap_or(default.thickness),
            max_speed: self.max_speed,
            solver: self.solver,
            tethers: self.tethers,
            air: self.air,
            inertia: self.inertia,
            motion: self.motion,
            contact: self.contact,
            self_collision: self.self_collision,
            cloth_collision: self.cloth_collision,
            sleep: self.sleep,
        };
        if let Some(material) = &material {
            // `fill` only replaces defaults, so a stated value equal to its default is restored
            // afterwards.
            let stated = config.clone();
            material.fill(&mut config);
            let states = |key: &str| source.states(&format!("{field}.{key}"));
            if states("thickness") {
                config.thickness = stated.thickness;
            }
            if states("contact.friction") {
                config.contact.friction = stated.contact.friction;
            }
            if states("solver.pbd") {
                config.solver = stated.solver.clone();
            }
            if let (Some(filled), Some(stated)) =
                (config.solver.as_xpbd_mut(), stated.solver.as_xpbd())
            {
                if states("solver.xpbd.bending_rigidity") {
                    filled.bending_rigidity = stated.bending_rigidity;
                }
                if states("solver.xpbd.bending_damping") {
                    filled.bending_damping = stated.bending_damping;
                }
            }
            if let (Some(filled), Some(stated)) =
                (config.solver.as_implicit_mut(), stated.solver.as_implicit())
            {
                if states("solver.implicit.stretch_stiffness") {
                    filled.stretch_stiffness = stated.stretch_stiffness;
                }
                if states("solver.implicit.shear_stiffness") {
                    filled.shear_stiffness = stated.shear_stiffness;
                }
                if states("solver.implicit.bending_rigidity") {
                    filled.bending_rigidity = stated.bending_rigidity;
                }
                if states("solver.implicit.bending_damping") {
                    filled.bending_damping = stated.bending_damping;
                }
            }
        }
        let mut fabric = CookOptions { density, ..self.fabric };
        let bends = format!("{field}.fabric.bends");
        let without_bends = !fabric.bends && source.states(&bends);
        let stated_rigidity = format!("{field}.solver.{}.bending_rigidity", config.solver.name());
        if without_bends
            && config.solver.bending_rigidity() > 0.0
            && source.states(&stated_rigidity)
        {
            let (at, bends) = (source.location(&bends), bends.clone());
            source.refuse(SceneError::NoBends { at, bends, rigidity: stated_rigidity });
        }
        // Bending elements [N m] replace two-ring edges, which would be redundant beside
        // inextensible edges.
        if config.solver.bending_rigidity() > 0.0
            && !source.states(&format!("{field}.fabric.bending"))
        {
            fabric.bending = false;
        }
        if without_bends {
            config.solver.set_bending_rigidity(0.0);
        }
        SceneCloth {
            name: self.name.unwrap_or_else(|| format!("cloth {index}")),
            shape,
            transform: self.transform,
            pins: parse_rules(self.pins, &format!("{field}.pins"), source),
            animated_pins,
            motion_spheres,
            separation_spheres,
            accelerations,
            frame: self.frame,
            wind: self.wind.or(scene_wind),
            config,
            chosen,
            fabric,
            without_bends,
            material,
            phase_order: self.phase_order,
            count: self.count,
            spacing: self.spacing,
            perturbation: self.perturbation.unwrap_or(DEFAULT_PERTURBATION),
        }
    }
}

/// Stand-in for a missing or ambiguous shape.
const NO_SHAPE: GridShape =
    GridShape { columns: 2, rows: 2, width: 1.0, height: 1.0, plane: GridPlane::Xy };

impl MotionSpheresFile {
    fn convert(self, field: &str, source: &Source<'_>) -> SceneSpheres {
        let Self { vertices, radius, radii, from } = self;
        let offset = 0.0;
        SeparationSpheresFile { vertices, radius, radii, from, offset }.convert(field, source)
    }
}

impl SeparationSpheresFile {
    fn convert(self, field: &str, source: &Source<'_>) -> SceneSpheres {
        let Self { vertices, radius, radii, from, offset } = self;
        if let (Some(_), Some(_), None) = (from, radius, radii) {
            let field = format!("{field}.from");
            let message = format!("{field} needs `radii`: a `radius` is the same everywhere");
            source.refuse(SceneError::Syntax { at: source.location(&field), message });
        }
        SceneSpheres {
            vertices: parse_rules(vertices, &format!("{field}.vertices"), source),
            radii: one_or_two(radius, radii, field, source),
            from: from.unwrap_or_default(),
            offset,
        }
    }
}

impl AccelerationFile {
    fn convert(self, field: &str, source: &Source<'_>) -> SceneAcceleration {
        let keys = match (self.acceleration, self.keys) {
            (Some(acceleration), None) => vec![AccelerationKey { time: 0.0, acceleration }],
            (None, Some(keys)) => keys,
            (acceleration, keys) => {
                let found = [("acceleration", acceleration.is_some()), ("keys", keys.is_some())];
                refuse_shape(source, field, "`acceleration` and `keys`", present(&found));
                vec![AccelerationKey { time: 0.0, acceleration: [0.0; 3] }]
            }
        };
        let vertices = parse_rules(self.vertices, &format!("{field}.vertices"), source);
        SceneAcceleration { vertices, keys }
    }
}

impl ColliderFile {
    fn convert(mut self, index: usize, frame_rate: f32, source: &Source<'_>) -> SceneCollider {
        let field = format!("collider[{index}]");
        let mut motion = self.motion(&field, frame_rate, source).unwrap_or_else(|error| {
            source.refuse(error);
            None
        });
        let found = present(&[
            ("sphere", self.sphere.is_some()),
            ("capsule", self.capsule.is_some()),
            ("plane", self.plane.is_some()),
            ("box", self.cuboid.is_some()),
            ("cylinder", self.cylinder.is_some()),
            ("convex", self.convex.is_some()),
            ("mesh", self.mesh.is_some()),
        ]);
        let mut shapes = self.sphere.map(ColliderShape::Sphere).into_iter().collect::<Vec<_>>();
        if let Some(CapsuleFile { from, to, radius, radii }) = self.capsule {
            let radii = one_or_two(radius, radii, &format!("{field}.capsule"), source);
            shapes.push(ColliderShape::Capsule(CapsuleShape { from, to, radii }));
        }
        shapes.extend(self.plane.map(ColliderShape::Plane));
        shapes.extend(self.cuboid.map(ColliderShape::Box));
        shapes.extend(self.cylinder.map(ColliderShape::Cylinder));
        shapes.extend(self.convex.map(|convex| ColliderShape::Convex(convex.planes)));
        shapes.extend(self.mesh.map(|mesh| ColliderShape::Mesh(beside(source, mesh))));
        let shape = match (shapes.pop(), found.len()) {
            (Some(shape), 1) => shape,
            _ => {
                let known = "`sphere`, `capsule`, `plane`, `box`, `cylinder`, `convex` and `mesh`";
                refuse_shape(source, &field, known, found);
                // The motion has no known shape to apply to.
                motion = None;
                ColliderShape::Sphere(SphereShape { radius: 1.0, center: [0.0; 3] })
            }
        };
        SceneCollider {
            name: self.name.unwrap_or_else(|| format!("collider {index}")),
            shape,
            transform: self.transform,
            keys: self.keys,
            body: self.body,
            friction: self.friction.unwrap_or(1.0),
            cloths: self.cloths,
            is_open: self.open,
            motion,
        }
    }

    /// Returns the motion of the vertices of a mesh, if the keys state one.
    fn motion(
        &mut self,
        field: &str,
        frame_rate: f32,
        source: &Source<'_>,
    ) -> Result<Option<MeshMotion>, SceneError> {
        let lone = |key: &str, needed| {
            let field = format!("{field}.{key}");
            SceneError::Lone { at: source.location(&field), field, needed }
        };
        let (animation, cache) = (self.animation.take(), self.cache.take());
        let key = if animation.is_some() { "animation" } else { "cache" };
        if self.cache_rate.is_some() && cache.is_none() {
            return Err(lone("cache_rate", "`cache`"));
        }
        let from = match (animation, cache) {
            (None, None) => {
                let stated = [
                    ("start", self.start.is_some()),
                    ("speed", self.speed.is_some()),
                    ("loop", self.is_looped.is_some()),
                ];
                return match present(&stated).first() {
                    Some(key) => Err(lone(key, "`animation` or `cache`")),
                    None => Ok(None),
                };
            }
            (Some(_), Some(_)) => return Err(lone("cache", "a collider without `animation`")),
            (Some(AnimationKey(choice)), None) => MotionSource::Animation(choice),
            (None, Some(path)) => {
                let path = beside(source, path);
                let rate = self.cache_rate.unwrap_or(frame_rate);
                MotionSource::Cache { path, rate }
            }
        };
        if self.mesh.is_none() {
            return Err(lone(key, "`mesh`"));
        }
        Ok(Some(MeshMotion {
            source: from,
            start: self.start,
            speed: self.speed.unwrap_or(1.0),
            is_looped: self.is_looped.unwrap_or(false),
        }))
    }
}

/// Returns the radii at both ends, from exactly one of `radius` and `radii`.
fn one_or_two(
    radius: Option<f32>,
    radii: Option<[f32; 2]>,
    field: &str,
    source: &Source<'_>,
) -> [f32; 2] {
    match (radius, radii) {
        (Some(radius), None) => [radius; 2],
        (None, Some(radii)) => radii,
        (radius, radii) => {
            let found = present(&[("radius", radius.is_some()), ("radii", radii.is_some())]);
            refuse_shape(source, field, "`radius` and `radii`", found);
            [1.0; 2]
        }
    }
}

/// Reports a table that has none or several of a set of mutually exclusive keys.
fn refuse_shape(source: &Source<'_>, field: &str, known: &'static str, found: Vec<&'static str>) {
    let at = source.location(field);
    source.refuse(SceneError::Shape { at, field: field.into(), known, found });
}

/// Resolves a path relative to the folder of the scene file.
fn beside(source: &Source<'_>, path: PathBuf) -> PathBuf {
    source.path().parent().unwrap_or(Path::new("")).join(path)
}

/// Returns the names of the keys that are present.
fn present(keys: &[(&'static str, bool)]) -> Vec<&'static str> {
    keys.iter().filter(|(_, is_there)| *is_there).map(|(name, _)| *name).collect()
}

/// Parses pin rules, and reports those that are malformed.
fn parse_rules(rules: Rules, field: &str, source: &Source<'_>) -> Vec<PinRule> {
    let parse = |(position, rule): (usize, &String)| {
        rule.parse().unwrap_or_else(|error| {
            let field = format!("{field}[{position}]");
            let at = source.location(&field);
            source.refuse(SceneError::Pin { at, field, source: error });
            // An empty list would be reported as a second fault.
            PinRule::None
        })
    };
    rules.0.iter().enumerate().map(parse).collect()
}

/// Converts an error of serde: adds a suggestion for unknown names, and rephrases types for other
/// errors.
pub(super) fn toml_error(error: &toml::de::Error, source: &Source<'_>) -> SceneError {
    let span = error.span().unwrap_or(0..0);
    let (offset, at) = (span.start, source.location_of(span));
    let message = error.message();
    let kinds = [("unknown field `", "key"), ("unknown variant `", "value")];
    let Some((_, kind)) = kinds.into_iter().find(|(begin, _)| message.starts_with(begin)) else {
        return SceneError::Syntax { at, message: plain(&message.replace('\n', "; ")) };
    };
    // serde: unknown field `a`, expected one of `b`, `c`. Every second piece between backticks is a
    // name.
    let mut names = message.split('`').skip(1).step_by(2).map(str::to_owned);
    let name = names.next().unwrap_or_default();
    let known: Vec<String> = names.collect();
    // The table of the key is the last header line above it.
    let above = source.text().get(..offset).unwrap_or_default();
    let table = above
        .lines()
        .rev()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .find(|line| line.starts_with('[') && line.ends_with(']'));
    let table: Box<str> = table.unwrap_or_default().into();
    let name = name.into_boxed_str();
    let mut suggestion = nearest(&name, &known);
    // Unless it is a likely typo, the key may belong to another table, or name its meaning
    // ("mass").
    if kind == "key" && suggestion.as_ref().is_none_or(|known| likeness(known, &name) < TYPO) {
        let elsewhere = keys_elsewhere(&name, &table);
        if (1..=MAX_ELSEWHERE).contains(&elsewhere.len()) {
            return SceneError::Elsewhere { at, name, table, instead: elsewhere };
        }
        if let [only] = keys_that_mean(&name, &known).as_slice() {
            suggestion = Some(only.clone());
        }
    }
    SceneError::Unknown { at, kind, name, table, suggestion, known }
}

/// Rephrases serde's type names for people who write TOML.
fn plain(message: &str) -> String {
    let known = [
        ("wanted exactly 1 element, more than 1 element", "expected one key here, found more"),
        ("wanted exactly 1 element, found 0", "expected one key here, found none"),
        (
            "invalid type: map, expected a sequence",
            "expected a list of tables: write [[ ]] around its name",
        ),
        (
            "unit variant, expected newtype variant",
            "only a name, expected a table with it: `name = {}`",
        ),
        ("expected u32", "expected a whole number, 0 or more"),
        ("expected u64", "expected a whole number, 0 or more"),
        ("expected f32", "expected a number"),
        ("expected f64", "expected a number"),
    ];
    known.iter().fold(message.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// Returns the known name most similar to an unknown one, if any is similar enough.
pub(super) fn nearest(name: &str, known: &[String]) -> Option<String> {
    let nearest = known.iter().max_by(|a, b| likeness(a, name).total_cmp(&likeness(b, name)));
    nearest.filter(|candidate| likeness(candidate, name) >= LIKENESS).cloned()
}

/// Jaro-Winkler similarity of two names, 1 = equal.
fn likeness(a: &str, b: &str) -> f64 {
    strsim::jaro_winkler(a, b)
}
