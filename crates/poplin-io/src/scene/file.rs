//! The scene file as serde sees it, and its conversion to a [`Scene`].

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

/// Longest scene file \[bytes\]: scenes name meshes, they do not hold them.
const MAX_SCENE_BYTES: usize = 16 << 20;

/// Least likeness of a name that is offered for an unknown one.
const LIKENESS: f64 = 0.85;

/// Least likeness of a name that an unknown one is taken to be a slip of.
const TYPO: f64 = 0.9;

/// Most keys of other tables that are offered for an unknown one: more say nothing.
const MAX_ELSEWHERE: usize = 3;

/// A scene of poplin: cloths, what they collide with, wind.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Scene")]
pub(super) struct SceneFile {
    /// Title, for people (default: the file's name).
    title: Option<String>,
    /// Frames to simulate, `1..=1_000_000` (default 120).
    #[serde(default = "default_frames")]
    frames: u32,
    /// Frames per second [1/s], `0.1..=10_000` (default 60).
    #[serde(default = "default_frame_rate")]
    frame_rate: f32,
    /// Formats to write the frames in (default `pc2`).
    #[serde(default = "default_formats")]
    formats: Vec<FrameFormat>,
    /// Wind on every cloth that has none of its own (default none).
    wind: Option<Wind>,
    /// From where the pictures are seen (default: from the front right, slightly above, or high above for what lies flat).
    camera: Option<CameraFile>,
    /// How contacts between cloths are solved: those with a `thickness`, or a `distance` in their `cloth_collision`.
    #[serde(default)]
    cloth_contact_solver: ClothContactSolver,
    /// A cloth, at least one: `[[cloth]]`. It needs one of `grid`, `tube` and `mesh`.
    #[serde(default)]
    cloth: Vec<ClothFile>,
    /// A shape to collide with: `[[collider]]`. It needs one of the shapes from `sphere` to `mesh`.
    #[serde(default)]
    collider: Vec<ColliderFile>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Camera")]
struct CameraFile {
    /// Rotation around the vertical [degrees], `-360..=360` (default 32): 0 looks along -z (from the front), 90 along -x (from
    /// the right).
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
    /// Name, also of its files; no other cloth has it (default `cloth 0`, `cloth 1`, ...).
    name: Option<String>,
    /// The mesh is a rectangle of quads.
    grid: Option<GridShape>,
    /// The mesh is a tube of quads, or a sector of one.
    tube: Option<TubeShape>,
    /// The mesh is this file (OBJ, PLY, STL, glTF, GLB); its path counts from the folder of the scene file.
    mesh: Option<PathBuf>,
    /// Its pose and scale in its local space; in the world, if that does not move.
    #[serde(default)]
    transform: Transform,
    /// What it is made of: density, stretch, shear, bending, damping, friction and thickness of measured cloth, where the
    /// settings of the cloth do not state them (default: none); a compliance of 0 counts as not stated. Stretch and bending go with
    /// `solver.xpbd`, which is the default beside a material.
    material: Option<MaterialName>,
    /// Mass per area [kg/m^2], `1e-9..=1e9` (default that of the material, or 0.2, a light cotton).
    density: Option<f32>,
    /// Rules for vertices that are pinned, before the transform (default none): `top:3%` (also `bottom`, `left`, `right`,
    /// `front`, `back`), `corner:top-left`, `box:x0,y0,z0,x1,y1,z1`, `indices:0,5,7-12`, `all`, `none`.
    #[serde(default)]
    pins: Rules,
    /// Pins that move and rotate along a path: `[[cloth.animated_pins]]` (default none).
    #[serde(default)]
    animated_pins: Vec<AnimatedPinsFile>,
    /// Spheres around the rest positions of vertices that they may not leave: `[[cloth.motion_spheres]]` (default none). They move with the
    /// local space; `motion` says how they act.
    #[serde(default)]
    motion_spheres: Vec<MotionSpheresFile>,
    /// Spheres behind the rest positions of vertices that they may not enter, known as backstops: `[[cloth.separation_spheres]]` (default
    /// none). They move with the local space.
    #[serde(default)]
    separation_spheres: Vec<SeparationSpheresFile>,
    /// Accelerations of vertices on top of gravity: `[[cloth.accelerations]]` (default none).
    #[serde(default)]
    accelerations: Vec<AccelerationFile>,
    /// The path of the local space, that of the body that wears the cloth (default: it is the world). Pins move with it, and
    /// `inertia` says how much of the motion the cloth feels. Copies have local spaces of their own, `spacing` apart.
    frame: Option<LocalFrame>,
    /// Its own wind, in place of that of the scene.
    wind: Option<Wind>,
    /// Acceleration of every particle [m/s^2], world axes (default 0, -9.81, 0).
    gravity: Option<[f32; 3]>,
    /// Fraction of the velocity lost, stiffness-like, per axis, `0..=1` (default 0).
    damping: Option<[f32; 3]>,
    /// Reference rate of all stiffness-like values [1/s], `0.001..=10_000` (default 10): one of x is the fraction that
    /// is gone after one over this rate. With a chosen `solver.pbd.frequency`, that.
    stiffness_frequency: Option<f32>,
    /// Thickness of the cloth [m], `0..=1000` (default 0 = off). Above 0 the cloth collides with itself and with other cloths
    /// that have one, at distances that follow from it where they are not set.
    thickness: Option<f32>,
    /// Largest speed of a particle in its local space [m/s], `0..=1e6` (default: none); 0 holds the cloth still.
    max_speed: Option<f32>,
    /// How constraints are solved, one of `pbd` and `xpbd` (default `pbd`, at a frequency chosen from the cloth).
    #[serde(default)]
    solver: Solver,
    /// Long-range attachments to the pins.
    #[serde(default)]
    tethers: poplin_model::Tethers,
    /// Drag, lift and pressure.
    #[serde(default)]
    air: Air,
    /// What the cloth feels of the motion of its local space.
    #[serde(default)]
    inertia: Inertia,
    /// How motion spheres act.
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
    /// When the cloth comes to rest.
    #[serde(default)]
    sleep: Sleep,
    /// How the mesh is cooked. `max_fiber_length` and `bends`, where they are not set, follow from the solver: XPBD takes
    /// fibers as long as the mesh lets them be, and a bending rigidity takes bends, in place of the two-ring edges of `bending`.
    /// `bends = false` takes away the bending rigidity of a material, and is refused beside one that is stated.
    #[serde(default)]
    fabric: CookOptions,
    /// The order in which phases are solved; those that are not named are not (default, and if empty: all, in the order of
    /// cooking).
    #[serde(default)]
    phase_order: Vec<PhaseKind>,
    /// Copies of the cloth, 1 or more (default 1).
    #[serde(default = "default_count")]
    count: u32,
    /// Displacement from one copy to the next [m] (default 0).
    #[serde(default)]
    spacing: [f32; 3],
    /// How far free particles of a flat mesh are moved off its plane at the start, at random and each time alike, in mean
    /// edges, `0..=0.1` (default 0.001; 0 = not at all). A sheet that hangs exactly in its plane never folds.
    perturbation: Option<f32>,
}

/// A material by its name.
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

/// The names of all materials.
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
    /// Rules for the vertices, as `pins` of a cloth.
    pins: Rules,
    /// Point that they rotate about, in the local space after `transform` [m] (default: the middle of the box that they are in).
    pivot: Option<[f32; 3]>,
    /// Poses from the first position, at least one, rising in time, in the axes of the local space: rotated about the pivot, then
    /// moved. Between them the pivot moves linearly and the pins rotate steadily around one axis, by the smaller angle.
    keys: Vec<FrameKey>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "MotionSpheres")]
struct MotionSpheresFile {
    /// Rules for the vertices, as `pins` of a cloth. A vertex in several lists has the sphere of the last.
    vertices: Rules,
    /// Radius [m], `0..=1e6`: as far a vertex may go. 0 holds it. It needs one of `radius` and `radii`.
    radius: Option<f32>,
    /// Radius at a side of the box that the vertices are in, and at the side opposite [m], `0..=1e6`; between them it changes evenly.
    radii: Option<[f32; 2]>,
    /// The side that the first of `radii` is at, before the transform (default `top`).
    from: Option<Side>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SeparationSpheres")]
struct SeparationSpheresFile {
    /// Rules for the vertices, as `pins` of a cloth. A vertex in several lists has the sphere of the last.
    vertices: Rules,
    /// Radius [m], `0..=1e6`: the larger, the more of what is beside the vertex is covered. 0 is none. It needs one of `radius` and
    /// `radii`.
    radius: Option<f32>,
    /// Radius at a side of the box that the vertices are in, and at the side opposite [m], `0..=1e6`; between them it changes evenly.
    radii: Option<[f32; 2]>,
    /// The side that the first of `radii` is at, before the transform (default `top`).
    from: Option<Side>,
    /// How far behind its rest position, against the normal of the cloth there, a vertex may go [m], `-1e6..=1e6` (default 0).
    #[serde(default)]
    offset: f32,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Acceleration")]
struct AccelerationFile {
    /// Rules for the vertices, as `pins` of a cloth. What several lists say of a vertex adds up.
    vertices: Rules,
    /// Acceleration in the axes of the local space [m/s^2], each `-1e6..=1e6`. It needs one of `acceleration` and `keys`.
    acceleration: Option<[f32; 3]>,
    /// Accelerations at least at one time, rising; linear between them.
    keys: Option<Vec<AccelerationKey>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Collider")]
struct ColliderFile {
    /// Name (default `collider 0`, `collider 1`, ...).
    name: Option<String>,
    /// A ball.
    sphere: Option<SphereShape>,
    /// A ball drawn out along a line, its radius changing evenly. It needs one of `radius` and `radii`.
    capsule: Option<CapsuleFile>,
    /// Everything behind a plane, for example the ground.
    plane: Option<PlaneShape>,
    /// A right-angled box.
    #[serde(rename = "box")]
    cuboid: Option<BoxShape>,
    /// A cylinder or a cone.
    cylinder: Option<CylinderShape>,
    /// What is behind several planes: each plane is a side.
    convex: Option<ConvexFile>,
    /// The inside of a closed surface: a file (OBJ, PLY, STL, glTF, GLB), its path counts from the folder of the scene file.
    mesh: Option<PathBuf>,
    /// The animation that moves a mesh in glTF, by its name or index: nodes, skins and morph targets (default none: it is
    /// as at rest).
    animation: Option<AnimationKey>,
    /// A point cache (PC2, MDD) that moves a mesh, of as many vertices; its path counts from the folder of the scene file
    /// (default none).
    cache: Option<PathBuf>,
    /// Frames per second of a PC2 cache [1/s], `0.1..=10_000` (default: `frame_rate`); MDD has seconds.
    cache_rate: Option<f32>,
    /// When the animation or cache begins [s], `-1e6..=1e6` (default: at the time of its first key or sample).
    start: Option<f32>,
    /// How fast the animation or cache is played, `0.001..=1000` (default 1).
    speed: Option<f32>,
    /// Whether the animation or cache begins anew at its end (default false: it stays as it is there).
    #[serde(rename = "loop")]
    is_looped: Option<bool>,
    /// Its pose before `keys` move it; in the world, if there are none.
    #[serde(default)]
    transform: Transform,
    /// Path of the body that the shape is fixed to, rising in time (default none: it is at rest).
    #[serde(default)]
    keys: Vec<FrameKey>,
    /// Makes a rigid body of it, which cloths and gravity move (default none). It feels nothing else: other colliders, bodies too, it
    /// passes through.
    body: Option<SceneBody>,
    /// Factor on the friction of the cloths that touch it, `0..=100` (default 1).
    friction: Option<f32>,
    /// Names of the cloths that feel it, at least one (default: all).
    cloths: Option<Vec<String>>,
    /// Whether a mesh that is not closed is taken as it is (default false): then everything behind its nearest triangle is
    /// inside, however far.
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
    /// The planes, at least one; their normals face outwards.
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

/// Pin rules as texts: one, or a list.
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
    /// Reads and checks a scene file. Mesh paths in it count from its folder.
    ///
    /// # Errors
    /// [`SceneError`] for the first fault, with its line.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, SceneError> {
        Self::load_at(path.as_ref())
    }

    /// Checks the text of a scene. `path` names it in errors, and mesh paths count from its folder.
    ///
    /// # Errors
    /// [`SceneError`] for the first fault, with its line.
    pub fn parse(text: &str, path: impl AsRef<Path>) -> Result<Self, SceneError> {
        Self::parse_at(text, path.as_ref())
    }

    // Without type parameters, so that the deserialisation of a scene is compiled here once and not in every crate
    // that reads one.

    fn load_at(path: &Path) -> Result<Self, SceneError> {
        Self::parse_at(&read_scene_text(path)?, path)
    }

    fn parse_at(text: &str, path: &Path) -> Result<Self, SceneError> {
        let SceneCheck { scene, faults, .. } = check(text, path);
        faults.into_iter().next().map_or(Ok(scene), Err)
    }

    /// Checks the text of a scene to its end, whatever is wrong with it; `path` as that of [`Scene::parse`].
    pub fn check_text(text: &str, path: impl AsRef<Path>) -> SceneCheck {
        check(text, path.as_ref())
    }

    /// Where a field such as `cloth[0].density` is in the file, or the nearest table above it that is there.
    pub fn location(&self, field: &str) -> Location {
        *Source::new(&self.text, &self.path).location(field)
    }

    /// The text that it was read from.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// The text of a scene file, or of a sweep.
///
/// # Errors
/// [`SceneError`] if it cannot be read, is longer than any scene or not UTF-8.
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

/// A scene with all that is wrong with its file.
#[derive(Debug)]
#[non_exhaustive]
pub struct SceneCheck {
    /// The scene, with something else in place of what is wrong.
    pub scene: Scene,
    /// What is wrong, in the order of the file. Meshes are looked for, but not read.
    pub faults: Vec<SceneError>,
    /// The cloths that nothing is wrong with, by index.
    pub sound_cloths: Vec<usize>,
    /// The colliders that nothing is wrong with, by index.
    pub sound_colliders: Vec<usize>,
}

/// Reads and checks a scene to its end, whatever is wrong with it.
fn check(text: &str, path: &Path) -> SceneCheck {
    let source = Source::new(text, path);
    let (file, damaged) = read_file(&source);
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
        // Bends do what two-ring edges would, in N m: beside edges that do not yield they would show nothing.
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

/// In place of a shape that is not stated.
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
            let message = format!("{field} goes with `radii`: a `radius` is the same everywhere");
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
                // What it moves is not known.
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

    /// How the vertices of its mesh move.
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
            (Some(_), Some(_)) => return Err(lone("cache", "no `animation` beside it")),
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

/// One radius for both ends, or one for each.
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

/// Notes that a table has none or several of the keys that it needs one of.
fn refuse_shape(source: &Source<'_>, field: &str, known: &'static str, found: Vec<&'static str>) {
    let at = source.location(field);
    source.refuse(SceneError::Shape { at, field: field.into(), known, found });
}

/// A path that counts from the folder of the scene file.
fn beside(source: &Source<'_>, path: PathBuf) -> PathBuf {
    source.path().parent().unwrap_or(Path::new("")).join(path)
}

/// The names of the keys that are there.
fn present(keys: &[(&'static str, bool)]) -> Vec<&'static str> {
    keys.iter().filter(|(_, is_there)| *is_there).map(|(name, _)| *name).collect()
}

/// The rules that can be read; others are refused.
fn parse_rules(rules: Rules, field: &str, source: &Source<'_>) -> Vec<PinRule> {
    let parse = |(position, rule): (usize, &String)| {
        rule.parse().unwrap_or_else(|error| {
            let field = format!("{field}[{position}]");
            let at = source.location(&field);
            source.refuse(SceneError::Pin { at, field, source: error });
            // That there are no rules would be another fault.
            PinRule::None
        })
    };
    rules.0.iter().enumerate().map(parse).collect()
}

/// Makes serde's message about an unknown name into one with a suggestion; others keep their text.
pub(super) fn toml_error(error: &toml::de::Error, source: &Source<'_>) -> SceneError {
    let span = error.span().unwrap_or(0..0);
    let (offset, at) = (span.start, source.location_of(span));
    let message = error.message();
    let kinds = [("unknown field `", "key"), ("unknown variant `", "value")];
    let Some((_, kind)) = kinds.into_iter().find(|(begin, _)| message.starts_with(begin)) else {
        return SceneError::Syntax { at, message: plain(&message.replace('\n', "; ")) };
    };
    // serde: unknown field `a`, expected one of `b`, `c`. Every second piece between backticks is a name.
    let mut names = message.split('`').skip(1).step_by(2).map(str::to_owned);
    let name = names.next().unwrap_or_default();
    let known: Vec<String> = names.collect();
    let above = source.text().get(..offset).unwrap_or_default();
    let table = above
        .lines()
        .rev()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .find(|line| line.starts_with('[') && line.ends_with(']'));
    let table: Box<str> = table.unwrap_or_default().into();
    let name = name.into_boxed_str();
    let mut suggestion = nearest(&name, &known);
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

/// What serde says of types, for those who write TOML.
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
            "a name alone, expected a table with it: `name = {}`",
        ),
        ("expected u32", "expected a whole number, 0 or more"),
        ("expected u64", "expected a whole number, 0 or more"),
        ("expected f32", "expected a number"),
        ("expected f64", "expected a number"),
    ];
    known.iter().fold(message.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// The known name that is most like an unknown one, if one is like it at all.
pub(super) fn nearest(name: &str, known: &[String]) -> Option<String> {
    let nearest = known.iter().max_by(|a, b| likeness(a, name).total_cmp(&likeness(b, name)));
    nearest.filter(|candidate| likeness(candidate, name) >= LIKENESS).cloned()
}

/// How alike two names are: Jaro-Winkler, 1 = equal.
fn likeness(a: &str, b: &str) -> f64 {
    strsim::jaro_winkler(a, b)
}
