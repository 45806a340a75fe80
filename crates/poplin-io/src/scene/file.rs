//! The scene file as serde sees it, and its conversion to a [`Scene`].

use std::io::Read;
use std::path::{Path, PathBuf};

use poplin_cook::CookOptions;
use poplin_model::{
    Air, Chosen, ClothCollision, ClothConfig, ClothContactSolver, Contact, Inertia,
    MotionConstraints, PhaseKind, SelfCollision, Sleep, Solver,
};
use serde::{Deserialize, Deserializer, de};

use super::locate::Source;
use super::moved::{moved_key, refuse_keys_of_the_cloth};
use super::validate::{validate, validate_wind};
use super::{
    AnimatedPins, BoxShape, CapsuleShape, ColliderShape, CylinderShape, DEFAULT_PERTURBATION,
    FrameKey, GridShape, Keyframe, LocalFrame, PinRule, PlaneShape, Scene, SceneCloth,
    SceneCollider, SceneError, Shape, SphereShape, Transform, TubeShape, Wind,
};
use crate::{FRAME_FORMATS, FrameFormat, IoError};

/// Longest scene file \[bytes\]: scenes name meshes, they do not hold them.
const MAX_SCENE_BYTES: usize = 16 << 20;

/// Least likeness (Jaro-Winkler, 1 = equal) of a name that is offered for an unknown one.
const LIKENESS: f64 = 0.75;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SceneFile {
    title: Option<String>,
    #[serde(default = "default_frames")]
    frames: u32,
    #[serde(default = "default_frame_rate")]
    frame_rate: f32,
    #[serde(default = "default_formats")]
    formats: Vec<FrameFormat>,
    wind: Option<Wind>,
    #[serde(default)]
    cloth_contact_solver: ClothContactSolver,
    #[serde(default)]
    cloth: Vec<ClothFile>,
    #[serde(default)]
    collider: Vec<ColliderFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClothFile {
    name: Option<String>,
    grid: Option<GridShape>,
    tube: Option<TubeShape>,
    mesh: Option<PathBuf>,
    #[serde(default)]
    transform: Transform,
    density: Option<f32>,
    #[serde(default)]
    pins: Rules,
    #[serde(default)]
    animated_pins: Vec<AnimatedPinsFile>,
    frame: Option<LocalFrame>,
    wind: Option<Wind>,
    gravity: Option<[f32; 3]>,
    damping: Option<[f32; 3]>,
    stiffness_frequency: Option<f32>,
    thickness: Option<f32>,
    max_speed: Option<f32>,
    #[serde(default)]
    solver: Solver,
    #[serde(default)]
    tethers: poplin_model::Tethers,
    #[serde(default)]
    air: Air,
    #[serde(default)]
    inertia: Inertia,
    #[serde(default)]
    motion: MotionConstraints,
    #[serde(default)]
    contact: Contact,
    #[serde(default)]
    self_collision: SelfCollision,
    #[serde(default)]
    cloth_collision: ClothCollision,
    #[serde(default)]
    sleep: Sleep,
    #[serde(default)]
    fabric: CookOptions,
    #[serde(default)]
    phase_order: Vec<PhaseKind>,
    #[serde(default = "default_count")]
    count: u32,
    #[serde(default)]
    spacing: [f32; 3],
    perturbation: Option<f32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnimatedPinsFile {
    pins: Rules,
    keys: Vec<Keyframe>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ColliderFile {
    name: Option<String>,
    sphere: Option<SphereShape>,
    capsule: Option<CapsuleFile>,
    plane: Option<PlaneShape>,
    #[serde(rename = "box")]
    cuboid: Option<BoxShape>,
    cylinder: Option<CylinderShape>,
    convex: Option<ConvexFile>,
    mesh: Option<PathBuf>,
    #[serde(default)]
    transform: Transform,
    #[serde(default)]
    keys: Vec<FrameKey>,
    friction: Option<f32>,
    cloths: Option<Vec<String>>,
    #[serde(default)]
    open: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CapsuleFile {
    from: [f32; 3],
    to: [f32; 3],
    radius: Option<f32>,
    radii: Option<[f32; 2]>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConvexFile {
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

impl Scene {
    /// Reads and checks a scene file. Mesh paths in it count from its folder.
    ///
    /// # Errors
    /// [`SceneError`] for the first fault, with its line.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, SceneError> {
        let path = path.as_ref();
        let file = std::fs::File::open(path).map_err(IoError::open(path))?;
        let mut bytes = Vec::new();
        file.take(MAX_SCENE_BYTES as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(IoError::read(path))?;
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
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid =
                String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()])
                    .into_owned();
            let at = Source { text: &valid, path }.location_of(valid.len());
            SceneError::Syntax { at, message: "this is not UTF-8 text".into() }
        })?;
        Self::parse(&text, path)
    }

    /// Checks the text of a scene. `path` names it in errors, and mesh paths count from its folder.
    ///
    /// # Errors
    /// [`SceneError`] for the first fault, with its line.
    pub fn parse(text: &str, path: impl AsRef<Path>) -> Result<Self, SceneError> {
        let source = Source { text, path: path.as_ref() };
        let file: SceneFile = toml::from_str(text).map_err(|error| toml_error(&error, &source))?;
        let stem = source.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(wind) = &file.wind {
            validate_wind(wind, "wind", &source)?;
        }
        let cloths = file
            .cloth
            .into_iter()
            .enumerate()
            .map(|(index, cloth)| cloth.convert(index, file.wind, &source));
        let colliders = file
            .collider
            .into_iter()
            .enumerate()
            .map(|(index, collider)| collider.convert(index, &source));
        let scene = Scene {
            title: file.title.unwrap_or(stem),
            frames: file.frames,
            frame_rate: file.frame_rate,
            formats: file.formats,
            cloths: cloths.collect::<Result<_, _>>()?,
            colliders: colliders.collect::<Result<_, _>>()?,
            cloth_contact_solver: file.cloth_contact_solver,
            path: source.path.into(),
            text: text.to_owned(),
        };
        validate(&scene, &source)?;
        Ok(scene)
    }
}

impl ClothFile {
    fn convert(
        self,
        index: usize,
        scene_wind: Option<Wind>,
        source: &Source<'_>,
    ) -> Result<SceneCloth, SceneError> {
        let field = format!("cloth[{index}]");
        let shape = match (self.grid, self.tube, self.mesh) {
            (Some(grid), None, None) => Shape::Grid(grid),
            (None, Some(tube), None) => Shape::Tube(tube),
            (None, None, Some(mesh)) => Shape::Mesh(beside(source, mesh)),
            (grid, tube, mesh) => {
                let found =
                    [("grid", grid.is_some()), ("tube", tube.is_some()), ("mesh", mesh.is_some())];
                let found = present(&found);
                let at = source.location(&field);
                return Err(SceneError::Shape {
                    at,
                    field,
                    known: "`grid`, `tube` and `mesh`",
                    found,
                });
            }
        };
        let animated_pins =
            self.animated_pins.into_iter().enumerate().map(|(position, animated)| {
                let field = format!("{field}.animated_pins[{position}].pins");
                Ok(AnimatedPins {
                    pins: parse_rules(animated.pins, &field, source)?,
                    keys: animated.keys,
                })
            });
        refuse_keys_of_the_cloth(&self.fabric, &format!("{field}.fabric"), source)?;
        let density = self.density.unwrap_or(self.fabric.density);
        let default = ClothConfig::default();
        let chosen = if source.states(&format!("{field}.solver.pbd.frequency")) {
            Chosen::NONE
        } else {
            Chosen { stiffness_frequency: self.stiffness_frequency.is_none(), ..Chosen::ALL }
        };
        let config = ClothConfig {
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
        Ok(SceneCloth {
            name: self.name.unwrap_or_else(|| format!("cloth {index}")),
            shape,
            transform: self.transform,
            pins: parse_rules(self.pins, &format!("{field}.pins"), source)?,
            animated_pins: animated_pins.collect::<Result<_, SceneError>>()?,
            frame: self.frame,
            wind: self.wind.or(scene_wind),
            config,
            chosen,
            fabric: CookOptions { density, ..self.fabric },
            phase_order: self.phase_order,
            count: self.count,
            spacing: self.spacing,
            perturbation: self.perturbation.unwrap_or(DEFAULT_PERTURBATION),
        })
    }
}

impl ColliderFile {
    fn convert(self, index: usize, source: &Source<'_>) -> Result<SceneCollider, SceneError> {
        let field = format!("collider[{index}]");
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
        if let Some(capsule) = self.capsule {
            shapes.push(ColliderShape::Capsule(
                capsule.convert(&format!("{field}.capsule"), source)?,
            ));
        }
        shapes.extend(self.plane.map(ColliderShape::Plane));
        shapes.extend(self.cuboid.map(ColliderShape::Box));
        shapes.extend(self.cylinder.map(ColliderShape::Cylinder));
        shapes.extend(self.convex.map(|convex| ColliderShape::Convex(convex.planes)));
        shapes.extend(self.mesh.map(|mesh| ColliderShape::Mesh(beside(source, mesh))));
        let (Some(shape), 1) = (shapes.pop(), found.len()) else {
            let at = source.location(&field);
            let known = "`sphere`, `capsule`, `plane`, `box`, `cylinder`, `convex` and `mesh`";
            return Err(SceneError::Shape { at, field, known, found });
        };
        Ok(SceneCollider {
            name: self.name.unwrap_or_else(|| format!("collider {index}")),
            shape,
            transform: self.transform,
            keys: self.keys,
            friction: self.friction.unwrap_or(1.0),
            cloths: self.cloths,
            is_open: self.open,
        })
    }
}

impl CapsuleFile {
    fn convert(self, field: &str, source: &Source<'_>) -> Result<CapsuleShape, SceneError> {
        let Self { from, to, .. } = self;
        match (self.radius, self.radii) {
            (Some(radius), None) => Ok(CapsuleShape { from, to, radii: [radius; 2] }),
            (None, Some(radii)) => Ok(CapsuleShape { from, to, radii }),
            (radius, radii) => {
                let found = present(&[("radius", radius.is_some()), ("radii", radii.is_some())]);
                Err(SceneError::Shape {
                    at: source.location(field),
                    field: field.into(),
                    known: "`radius` and `radii`",
                    found,
                })
            }
        }
    }
}

/// A path that counts from the folder of the scene file.
fn beside(source: &Source<'_>, path: PathBuf) -> PathBuf {
    source.path.parent().unwrap_or(Path::new("")).join(path)
}

/// The names of the keys that are there.
fn present(keys: &[(&'static str, bool)]) -> Vec<&'static str> {
    keys.iter().filter(|(_, is_there)| *is_there).map(|(name, _)| *name).collect()
}

fn parse_rules(rules: Rules, field: &str, source: &Source<'_>) -> Result<Vec<PinRule>, SceneError> {
    let parse = |(position, rule): (usize, &String)| {
        rule.parse().map_err(|error| {
            let field = format!("{field}[{position}]");
            let at = source.location(&field);
            SceneError::Pin { at, field, source: error }
        })
    };
    rules.0.iter().enumerate().map(parse).collect()
}

/// Makes serde's message about an unknown name into one with a suggestion; others keep their text.
fn toml_error(error: &toml::de::Error, source: &Source<'_>) -> SceneError {
    let offset = error.span().map_or(0, |span| span.start);
    let at = source.location_of(offset);
    let message = error.message();
    let kinds = [("unknown field `", "key"), ("unknown variant `", "value")];
    let Some((_, kind)) = kinds.into_iter().find(|(begin, _)| message.starts_with(begin)) else {
        return SceneError::Syntax { at, message: message.replace('\n', "; ") };
    };
    // serde: unknown field `a`, expected one of `b`, `c`. Every second piece between backticks is a name.
    let mut names = message.split('`').skip(1).step_by(2).map(str::to_owned);
    let name = names.next().unwrap_or_default();
    let known: Vec<String> = names.collect();
    let above = source.text.get(..offset).unwrap_or_default();
    let table = above
        .lines()
        .rev()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .find(|line| line.starts_with('[') && line.ends_with(']'));
    let table = table.unwrap_or_default().into();
    let name = name.into_boxed_str();
    if let Some(instead) = moved_key(&name).filter(|_| kind == "key") {
        return SceneError::Moved { at, name, table, instead };
    }
    let suggestion = nearest(&name, &known);
    SceneError::Unknown { at, kind, name, table, suggestion, known }
}

/// The known name that is most like an unknown one, if one is like it at all.
pub(super) fn nearest(name: &str, known: &[String]) -> Option<String> {
    let likeness = |candidate: &&String| strsim::jaro_winkler(candidate, name);
    let nearest = known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    nearest.filter(|candidate| likeness(candidate) >= LIKENESS).cloned()
}
