//! What makes the result of a run doubtful: on stderr at the end, and as data in `summary.json`.

use std::fmt;
use std::sync::Arc;

use poplin::Backend;
use poplin_io::scene::BuiltCollider;
use poplin_io::{MAX_RESOLUTION, TwistedFaces};
use poplin_measure::depth::Depth;
use poplin_measure::strain::LongEdges;
use poplin_model::{ContactMode, ContactPartner, ContactReport, ImplicitReport, Shape, Trouble};
use serde::Serialize;

use crate::choices::mean_edge;
use crate::garment::{Garment, mean_rest_length};
use crate::output::{counted, grouped, short_length};

/// Strain beyond which an edge is reported: woven cloth breaks at 10 to 30 %, knits give up to 100 %, but not in one place.
pub(super) const MAX_STRETCH: f32 = 0.5;

/// Strain of 99 % of the edges at the end beyond which a cloth is reported: its own weight stretches woven cloth by far less
/// than a percent along its threads.
pub(super) const MAX_USUAL_STRETCH: f32 = 0.05;

/// Speed beyond which what moves a cloth is reported [m/s].
const MAX_SPEED: f32 = 100.0;

/// Of all faces, how many may be left out without a word.
const MAX_LOST_FACES: f32 = 0.01;

/// Sizes of cloth that are not reported \[m\]: a mesh in millimetres, or one in metres scaled by a thousandth, is outside.
const USUAL_SIZES: [f32; 2] = [0.01, 100.0];

/// Of the mean edge, the largest thickness that is not reported.
const MAX_THICKNESS: f32 = 5.0;

/// The same with contact of triangles: beyond it most pairs are of what is near along the cloth.
const MAX_TRIANGLE_THICKNESS: f32 = 1.0;

/// Shortening of 99 % of the edges beyond which a cloth is reported: cloth folds before it is compressed.
pub(super) const MAX_SQUASH: f32 = 0.3;

/// Of all steps of an implicit solver, how many may use up their iterations without a word.
const MAX_UNCONVERGED: f64 = 0.1;

/// How far the iterations of a second may be from those asked for.
const MAX_RATE_ERROR: f32 = 0.1;

/// A reason to doubt the result.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Warning {
    /// Free particles are inside colliders before the first frame.
    StartsInside {
        cloth: String,
        #[serde(flatten)]
        depth: Depth,
        /// How fast they come out; `None` with contact of triangles, which untangles them.
        #[serde(skip_serializing_if = "Option::is_none")]
        depenetration_speed_m_per_s: Option<f32>,
    },
    /// Edges became longer than any cloth.
    Overstretched {
        cloth: String,
        #[serde(flatten)]
        stretch: Overstretch,
    },
    /// Most edges are longer than those of usual cloth.
    Stretchy { cloth: String, p99_strain: f32, frequency_hz: f32 },
    /// Most edges are far shorter than at rest.
    Squashed { cloth: String, p99_strain: f32, shortest_strain: f32 },
    /// Points of triangles that collide with nothing there is.
    IdlePoints { cloth: String },
    /// A wind without drag or lift.
    IdleWind { cloth: String },
    /// Stretch and bending of a material that the solver does not read.
    IdleMaterial { cloth: String, material: &'static str },
    /// Contact of triangles of cloths without a thickness.
    IdleContact,
    /// A rigid body, the first of some, where triangles meet all else.
    BodyAmongTriangles { collider: String, bodies: usize },
    /// All particles are pinned.
    AllPinned { cloth: String, particles: usize },
    /// Larger or smaller than cloth is.
    OddSize { cloth: String, size_m: f32 },
    /// Thicker than its edges are long.
    Thick { cloth: String, contact: ContactMode, thickness_m: f32, mean_edge_m: f32 },
    /// Copies of a cloth with a thickness start where the others are.
    Coincident { cloth: String, copies: usize },
    /// Cloth is so far from the origin that its positions are coarse.
    Coarse { cloth: String, farthest_m: f32, resolution_m: f32, mean_edge_m: f32 },
    /// All of a collider's mesh is so far from where positions count from that they are coarse.
    CoarseCollider { collider: String, nearest_m: f32, resolution_m: f32, mean_edge_m: f32 },
    /// Faces were left out.
    LostFaces { cloth: String, faces: usize, all_faces: usize, welded_vertices: usize },
    /// Faces of a file that have a flipped triangle.
    TwistedFaces { what: String, faces: usize, first_line: usize },
    /// No particle may move.
    NoSpeed { cloth: String },
    /// What moves the cloth is faster than anything that does.
    Fast { what: String, speed_m_per_s: f32, frame: u32 },
    /// A step in which gravity moves the cloth by more than an edge.
    LongStep { cloth: String, step_s: f32, fall_m: f32, mean_edge_m: f32 },
    /// A step in which bends of XPBD are softer than their rigidity.
    SoftBends { cloth: String, step_s: f32, longest_step_s: f32, substeps: u32 },
    /// Many implicit steps were taken as they were when the iterations and halvings were used up.
    Unconverged {
        cloth: String,
        steps: u32,
        unconverged: u32,
        max_iterations: u32,
        max_halvings: u32,
    },
    /// Implicit steps in which nothing finite was found.
    Held { cloth: String, steps: u32, held: u32 },
    /// Edges went through triangles of cloth or of colliders.
    Crossed {
        cloth: String,
        copy: usize,
        /// Before the first frame, and after the last.
        crossings_at_start: u32,
        crossings_at_end: u32,
        /// Whether a GPU simulated it, which untangles nothing.
        #[serde(skip)]
        is_on_gpu: bool,
        #[serde(flatten)]
        trouble: Trouble,
    },
    /// Balls, capsules or planes came through cloth, which nothing counts exactly, as pins or their motion force it.
    Forced {
        cloth: String,
        copy: usize,
        #[serde(flatten)]
        trouble: Trouble,
    },
    /// Pins or colliders moved too far in an iteration.
    Hurried {
        cloth: String,
        copy: usize,
        #[serde(flatten)]
        trouble: Trouble,
    },
    /// There was no room for the pairs of a cloth.
    Unlisted {
        cloth: String,
        copy: usize,
        #[serde(flatten)]
        trouble: Trouble,
    },
    /// Whole iterations do not fit a frame.
    OtherFrequency { cloth: String, asked_hz: f32, frequency_hz: f32 },
}

impl Warning {
    /// What is doubtful about a cloth of a job of so many frames before it is simulated.
    pub(crate) fn before_run(
        garment: &Garment,
        contact: ContactMode,
        frames: u32,
        frame_rate: f32,
    ) -> impl Iterator<Item = Self> {
        let start = Self::of_start(garment, contact).into_iter();
        let of_motion = Self::of_motion(frames, frame_rate, garment);
        start.chain(Self::of_mesh(garment, contact)).chain(of_motion)
    }

    /// Whether a cloth starts inside colliders.
    pub(super) fn of_start(garment: &Garment, contact: ContactMode) -> Option<Self> {
        let config = &garment.cloth.config;
        // Rigid bodies meet particles.
        let has_triangles = contact == ContactMode::Triangles
            && config.thickness > 0.0
            && garment.colliders().all(|collider| collider.body.is_none());
        let speed = config.contact.depenetration_speed;
        let depenetration_speed_m_per_s = (!has_triangles).then_some(speed);
        let depth = (garment.start_depth.particles_inside > 0).then_some(garment.start_depth);
        depth.map(|depth| Self::StartsInside {
            cloth: garment.name.clone(),
            depth,
            depenetration_speed_m_per_s,
        })
    }

    /// The key of a cloth that it is about; empty if it is none alone.
    pub(crate) fn key(&self) -> &'static str {
        match self {
            Self::IdlePoints { .. } => "fabric.virtual_particles",
            Self::IdleWind { .. } => "wind",
            Self::IdleMaterial { .. } => "material",
            Self::AllPinned { .. } => "pins",
            Self::Thick { .. } => "thickness",
            Self::Coincident { .. } => "count",
            Self::NoSpeed { .. } => "max_speed",
            Self::LostFaces { .. } | Self::TwistedFaces { .. } => "mesh",
            _ => "",
        }
    }

    /// What is doubtful about a mesh.
    pub(super) fn of_mesh(garment: &Garment, contact: ContactMode) -> impl Iterator<Item = Self> {
        let cloth = || garment.name.clone();
        let positions = garment.cloth.particles.iter().flat_map(|particle| particle.position);
        let farthest_m = positions.map(f32::abs).fold(0.0, f32::max);
        let (resolution_m, mean_edge_m) =
            (farthest_m * f32::EPSILON, mean_rest_length(&garment.cloth.fabric));
        let is_coarse = mean_edge_m > 0.0 && resolution_m > MAX_RESOLUTION * mean_edge_m;
        let coarse = is_coarse.then(|| Self::Coarse {
            cloth: cloth(),
            farthest_m,
            resolution_m,
            mean_edge_m,
        });
        let report = &garment.report;
        let faces = report.degenerate_face_count + report.duplicate_face_count;
        let all_faces = report.face_count;
        let are_many = faces as f32 > MAX_LOST_FACES * all_faces as f32;
        let welded_vertices = report.welded_vertex_count;
        let lost =
            are_many.then(|| Self::LostFaces { cloth: cloth(), faces, all_faces, welded_vertices });
        // What is a body meets none of them.
        let is_round = |collider: &BuiltCollider| {
            collider.body.is_none()
                && matches!(collider.shape, Shape::Sphere(_) | Shape::Capsule(_))
        };
        let has_points = !garment.cloth.fabric.virtual_particles.is_empty();
        let are_idle = has_points && garment.has_colliders() && !garment.colliders().any(is_round);
        let idle = are_idle.then(|| Self::IdlePoints { cloth: cloth() });
        let twisted = Self::of_faces(|| format!("cloth `{}`", garment.name), garment.twisted);
        let of_mesh = coarse.into_iter().chain(lost).chain(twisted).chain(idle);
        of_mesh.chain(Self::of_settings(garment, contact))
    }

    /// Whether triangles are to meet and no cloth has a thickness to keep, or there are bodies that they do not meet.
    pub(crate) fn of_mode(
        garments: &[Garment],
        colliders: &[Arc<BuiltCollider>],
        contact: ContactMode,
    ) -> Option<Self> {
        if contact != ContactMode::Triangles {
            return None;
        }
        if garments.iter().all(|garment| garment.cloth.config.thickness == 0.0) {
            return Some(Self::IdleContact);
        }
        let bodies = colliders.iter().filter(|collider| collider.body.is_some());
        let first = bodies.clone().next()?;
        let collider = first.name.clone();
        Some(Self::BodyAmongTriangles { collider, bodies: bodies.count() })
    }

    /// What is doubtful about the meshes of colliders.
    pub(crate) fn of_colliders(
        garments: &[Garment],
        colliders: &[Arc<BuiltCollider>],
    ) -> impl Iterator<Item = Self> {
        let edges = garments.iter().map(|it| mean_rest_length(&it.cloth.fabric));
        let mean_edge_m = edges.filter(|&edge| edge > 0.0).fold(f32::INFINITY, f32::min);
        colliders.iter().flat_map(move |collider| {
            let twisted =
                Self::of_faces(|| format!("collider `{}`", collider.name), collider.twisted);
            twisted.into_iter().chain(Self::of_far_collider(collider, mean_edge_m))
        })
    }

    fn of_far_collider(collider: &BuiltCollider, mean_edge_m: f32) -> Option<Self> {
        let Shape::TriangleMesh(mesh) = &collider.shape else { return None };
        let farthest_axis =
            |vertex: &[f32; 3]| vertex.map(f32::abs).into_iter().fold(0.0, f32::max);
        let nearest_m = mesh.vertices.iter().map(farthest_axis).fold(f32::INFINITY, f32::min);
        let resolution_m = nearest_m * f32::EPSILON;
        (resolution_m.is_finite() && resolution_m > MAX_RESOLUTION * mean_edge_m).then(|| {
            let collider = collider.name.clone();
            Self::CoarseCollider { collider, nearest_m, resolution_m, mean_edge_m }
        })
    }

    fn of_faces(what: impl Fn() -> String, twisted: TwistedFaces) -> Option<Self> {
        let TwistedFaces { count: faces, first_line } = twisted;
        (faces > 0).then(|| Self::TwistedFaces { what: what(), faces, first_line })
    }

    /// What is doubtful about settings of a garment that do not go with its mesh.
    fn of_settings(garment: &Garment, contact: ContactMode) -> impl Iterator<Item = Self> {
        let cloth = || garment.name.clone();
        let (all, config) = (&garment.cloth.particles, &garment.cloth.config);
        let wind = garment.has_idle_wind.then(|| Self::IdleWind { cloth: cloth() });
        let unread = garment.material.filter(|_| config.solver.as_pbd().is_some());
        let material =
            unread.map(|material| Self::IdleMaterial { cloth: cloth(), material: material.name });
        let pinned = all
            .iter()
            .all(|particle| particle.is_pinned())
            .then(|| Self::AllPinned { cloth: cloth(), particles: all.len() });
        let [low, high] = garment.bounds();
        let size_m = (high - low).length();
        let is_odd = !(USUAL_SIZES[0]..=USUAL_SIZES[1]).contains(&size_m);
        let odd = is_odd.then(|| Self::OddSize { cloth: cloth(), size_m });
        let thickness_m = config.thickness;
        let (mean_edge_m, most) = match contact {
            ContactMode::Particles => (mean_rest_length(&garment.cloth.fabric), MAX_THICKNESS),
            ContactMode::Triangles => (mean_edge(&garment.mesh), MAX_TRIANGLE_THICKNESS),
        };
        let is_thick = mean_edge_m > 0.0 && thickness_m > most * mean_edge_m;
        let thick =
            is_thick.then(|| Self::Thick { cloth: cloth(), contact, thickness_m, mean_edge_m });
        let is_still = config.max_speed == Some(0.0);
        let still = is_still.then(|| Self::NoSpeed { cloth: cloth() });
        let copies = garment.offsets.len();
        let are_one = thickness_m > 0.0 && copies > 1 && garment.offsets[0] == garment.offsets[1];
        let coincident = are_one.then(|| Self::Coincident { cloth: cloth(), copies });
        [wind, material, pinned, still, odd, thick, coincident].into_iter().flatten()
    }

    /// What is doubtful about how pins and colliders of a garment move.
    pub(super) fn of_motion(
        frames: u32,
        frame_rate: f32,
        garment: &Garment,
    ) -> impl Iterator<Item = Self> + use<> {
        let fastest = |what: String, position: &dyn Fn(f64) -> [f32; 3]| {
            let time = |frame: u32| f64::from(frame) / f64::from(frame_rate);
            let mut fastest = (0.0, 0);
            let mut before = position(0.0);
            for frame in 1..=frames {
                let now = position(time(frame));
                let square = (0..3).map(|axis| (now[axis] - before[axis]).powi(2)).sum::<f32>();
                let speed = square.sqrt() * frame_rate;
                if speed > fastest.0 {
                    fastest = (speed, frame);
                }
                before = now;
            }
            let (speed_m_per_s, frame) = fastest;
            (speed_m_per_s > MAX_SPEED).then_some(Self::Fast { what, speed_m_per_s, frame })
        };
        let name = &garment.name;
        let pins = garment.moving.iter().filter_map(|moving| {
            // The fastest of those that rotate is the one farthest out.
            let pins = moving.particles.iter();
            let pins = pins.map(|&particle| garment.cloth.particles[particle as usize].position);
            let arm = |pin: &[f32; 3]| -> f32 {
                (0..3).map(|k| (pin[k] - moving.path.pivot[k]).powi(2)).sum()
            };
            let farthest = pins.max_by(|a, b| arm(a).total_cmp(&arm(b)))?;
            fastest(format!("a pin of cloth `{name}`"), &|time| {
                moving.path.motion(time).apply(farthest)
            })
        });
        let frame = garment.has_moving_frame().then(|| {
            fastest(format!("the local space of cloth `{name}`"), &|time| {
                garment.pose_at(0, time).translation
            })
        });
        let colliders = garment.colliders().filter_map(|collider| {
            let what = format!("collider `{}` of cloth `{name}`", collider.name);
            fastest(what, &|time| collider.rigid_at(time).translation.as_vec3().to_array())
        });
        pins.chain(frame.flatten()).chain(colliders).collect::<Vec<_>>().into_iter()
    }

    /// What is doubtful about so many iterations in each of so many frames a second.
    pub(super) fn of_step(
        garment: &Garment,
        frame_rate: f32,
        iterations: f32,
    ) -> impl Iterator<Item = Self> {
        let cloth = || garment.name.clone();
        let config = &garment.cloth.config;
        let frequency_hz = frame_rate * iterations;
        let step_s = frequency_hz.recip();
        let gravity = config.gravity.iter().map(|value| value * value).sum::<f32>().sqrt();
        let (fall_m, mean_edge_m) =
            (gravity * step_s * step_s, mean_rest_length(&garment.cloth.fabric));
        let is_long = iterations > 0.0 && mean_edge_m > 0.0 && fall_m > mean_edge_m;
        let long = is_long.then(|| Self::LongStep { cloth: cloth(), step_s, fall_m, mean_edge_m });
        let soft = Self::of_bends(garment, frame_rate, step_s);
        let asked = config.solver.as_pbd().map(|pbd| pbd.frequency);
        let other = asked
            .filter(|asked| iterations > 0.0 && (frequency_hz / asked - 1.0).abs() > MAX_RATE_ERROR)
            .map(|asked_hz| Self::OtherFrequency { cloth: cloth(), asked_hz, frequency_hz });
        long.into_iter().chain(other).chain(soft)
    }

    /// Whether bends of XPBD have their rigidity B: up to a step of `a^2 sqrt(sigma / (16 B))` (`tests/xpbd.rs`), with the mean stretch edge a and,
    /// of the free particles, the mean mass `sigma a^2`.
    fn of_bends(garment: &Garment, frame_rate: f32, step_s: f32) -> Option<Self> {
        let rigidity = garment.cloth.config.solver.as_xpbd()?.bending_rigidity;
        let fabric = &garment.cloth.fabric;
        let free = garment.cloth.particles.iter().filter(|particle| !particle.is_pinned());
        let (mass, count) = free.fold((0.0, 0.0f32), |(mass, count), particle| {
            (mass + particle.inverse_mass.recip(), count + 1.0)
        });
        let edges = fabric.edge_kinds().into_iter().zip(&fabric.rest_lengths);
        let (length, edge_count) = edges
            .filter(|(kind, _)| kind.is_stretch())
            .fold((0.0, 0.0f32), |(sum, count), (_, length)| (sum + length, count + 1.0));
        let longest_step_s = length / edge_count * (mass / (16.0 * rigidity * count)).sqrt();
        let is_soft = !fabric.bends.is_empty()
            && rigidity > 0.0
            && longest_step_s > 0.0
            && step_s > longest_step_s;
        is_soft.then(|| Self::SoftBends {
            cloth: garment.name.clone(),
            step_s,
            longest_step_s,
            substeps: (longest_step_s * frame_rate).recip().ceil() as u32,
        })
    }
}

impl Warning {
    /// What is doubtful about the steps of an implicit solver.
    pub(super) fn of_solves(
        garment: &Garment,
        report: &ImplicitReport,
    ) -> impl Iterator<Item = Self> + use<> {
        let cloth = || garment.name.clone();
        let ImplicitReport { steps, unconverged, held, .. } = *report;
        let solver = garment.cloth.config.solver.as_implicit();
        let unsolved = solver
            .filter(|_| f64::from(unconverged) > MAX_UNCONVERGED * f64::from(steps))
            .map(|solver| Self::Unconverged {
                cloth: cloth(),
                steps,
                unconverged,
                max_iterations: solver.max_iterations,
                max_halvings: solver.max_halvings,
            });
        let held = (held > 0).then(|| Self::Held { cloth: cloth(), steps, held });
        unsolved.into_iter().chain(held)
    }
}

impl Warning {
    /// What contact of triangles could not keep apart of the copies of a cloth: of each kind the copy that had most.
    pub(super) fn of_contact(
        garment: &Garment,
        reports: &[ContactReport],
        backend: &str,
    ) -> impl Iterator<Item = Self> + use<> {
        let worst = |pick: fn(&ContactReport) -> Option<Trouble>| {
            let all = (0..).zip(reports);
            let all = all.filter_map(|(copy, report)| Some((copy, report, pick(report)?)));
            // Of equals the first.
            all.reduce(|a, b| if b.2.most_pairs > a.2.most_pairs { b } else { a })
        };
        let cloth = || garment.name.clone();
        let crossed = worst(|report| report.crossed);
        let crossed = crossed.map(|(copy, report, trouble)| Self::Crossed {
            cloth: cloth(),
            copy,
            crossings_at_start: report.start_crossings,
            crossings_at_end: report.crossings,
            is_on_gpu: backend == Backend::Gpu.name(),
            trouble,
        });
        let forced = worst(|report| report.forced).map(|(copy, _, trouble)| Self::Forced {
            cloth: cloth(),
            copy,
            trouble,
        });
        let hurried = worst(|report| report.hurried).map(|(copy, _, trouble)| Self::Hurried {
            cloth: cloth(),
            copy,
            trouble,
        });
        let unlisted = worst(|report| report.unlisted).map(|(copy, _, trouble)| Self::Unlisted {
            cloth: cloth(),
            copy,
            trouble,
        });
        [crossed, forced, hurried, unlisted].into_iter().flatten()
    }
}

/// Frames of a trouble and where it was most, in words.
fn when_and_where(trouble: &Trouble) -> (String, String) {
    let Trouble { first_frame, last_frame, position_m: [x, y, z], .. } = trouble;
    let frames = if first_frame == last_frame {
        format!("in frame {first_frame}")
    } else {
        format!("in frames {first_frame} to {last_frame}")
    };
    (frames, format!("near ({x:.3}, {y:.3}, {z:.3}) m"))
}

/// A cloth or one of its copies, in words.
fn cloth_or_copy(cloth: &str, copy: usize) -> String {
    if copy > 0 { format!("copy {copy} of cloth `{cloth}`") } else { format!("cloth `{cloth}`") }
}

/// Edges of a cloth beyond [`MAX_STRETCH`], in all frames that were read back.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Overstretch {
    /// The first such frame.
    pub(super) first_frame: usize,
    /// Edges beyond it in the last frame.
    pub(super) edges_at_end: usize,
    /// The most of them in a frame.
    pub(super) most_edges: usize,
    /// Strain of the longest edge, and when and where it was: its frame, copy, particles and one of its ends in the world [m].
    pub(super) longest_strain: f32,
    pub(super) frame: usize,
    pub(super) copy: usize,
    pub(super) particles: [u32; 2],
    pub(super) position_m: [f32; 3],
}

impl Overstretch {
    /// Adds the long edges of a copy in a frame to those of the other copies.
    pub(super) fn add(
        all: &mut Option<Self>,
        long: LongEdges,
        [frame, copy]: [usize; 2],
        position: impl Fn(u32) -> [f32; 3],
    ) {
        let count = long.count + all.map_or(0, |all| all.edges_at_end);
        let worst = all.filter(|all| all.longest_strain >= long.longest).unwrap_or_else(|| Self {
            first_frame: frame,
            edges_at_end: 0,
            most_edges: 0,
            longest_strain: long.longest,
            frame,
            copy,
            particles: long.particles,
            position_m: position(long.particles[0]),
        });
        *all = Some(Self { edges_at_end: count, most_edges: count, ..worst });
    }

    /// Takes over the next frame that was read back.
    pub(super) fn follow(all: &mut Option<Self>, now: Option<Self>) {
        let Some(before) = *all else {
            *all = now;
            return;
        };
        let most_edges = before.most_edges.max(now.map_or(0, |now| now.most_edges));
        let edges_at_end = now.map_or(0, |now| now.edges_at_end);
        let worst = now.filter(|now| now.longest_strain > before.longest_strain).unwrap_or(before);
        *all = Some(Self { first_frame: before.first_frame, edges_at_end, most_edges, ..worst });
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StartsInside { cloth, depth, depenetration_speed_m_per_s: speed } => {
                let Depth { free_particles, particles_inside, deepest_m } = depth;
                let inside = grouped(*particles_inside);
                let all = counted(*free_particles, "free particle");
                let exit = match speed {
                    Some(speed) => format!(
                        "they come out at {speed} m/s (`contact.depenetration_speed`), some perhaps by the wrong side"
                    ),
                    None => "contact of triangles moves them out by the nearest face, some perhaps by the wrong side or not at all"
                        .into(),
                };
                write!(
                    f,
                    "cloth `{cloth}` starts inside a collider: {inside} of {all}, up to {:.1} mm deep; {exit}: move the cloth or \
                     the collider",
                    1e3 * deepest_m
                )
            }
            Self::Overstretched { cloth, stretch } => {
                let Overstretch { first_frame, edges_at_end, most_edges, frame, copy, .. } =
                    stretch;
                let [a, b] = stretch.particles;
                let [x, y, z] = stretch.position_m;
                let copy = if *copy > 0 { format!(" of copy {copy}") } else { String::new() };
                write!(
                    f,
                    "cloth `{cloth}` is stretched as no cloth is, from frame {first_frame} on: up to {} beyond {:.0} % ({} at \
                     the end), the longest by {:.0} % in frame {frame}, between particles {a} and {b}{copy} near ({x:.3}, \
                     {y:.3}, {z:.3}) m; look for a collider that it starts in or is caught behind and for pins that are pulled \
                     apart, or raise the frequency",
                    counted(*most_edges, "edge"),
                    100.0 * MAX_STRETCH,
                    grouped(*edges_at_end),
                    100.0 * stretch.longest_strain,
                )
            }
            Self::Stretchy { cloth, p99_strain, frequency_hz } => write!(
                f,
                "cloth `{cloth}` is as stretchy as a knit: 99 % of its edges are within {:.1} % at the end; more than the {:.0} \
                 iterations a second that it had make it stiffer (--solver-frequency, or --substeps with xpbd and implicit)",
                100.0 * p99_strain,
                frequency_hz
            ),
            Self::IdlePoints { cloth } => write!(
                f,
                "the virtual particles of cloth `{cloth}` do nothing: they collide with spheres and capsules, and it has none; \
                 finer cloth keeps edges of boxes and meshes from showing through, or rounded ones of capsules"
            ),
            Self::Squashed { cloth, p99_strain, shortest_strain } => write!(
                f,
                "cloth `{cloth}` is squashed: 99 % of its edges are within {:.0} % at the end, the shortest by {:.0} %; look for pins, \
                 tethers or colliders that leave it no room",
                100.0 * p99_strain,
                100.0 * shortest_strain
            ),
            Self::IdleWind { cloth } => write!(
                f,
                "cloth `{cloth}` does not feel its wind: `drag` and `lift` in `air` are 0"
            ),
            Self::IdleMaterial { cloth, material } => write!(
                f,
                "cloth `{cloth}` has the density, friction and thickness of {material} alone: its stretch and bending need the solver \
                 xpbd"
            ),
            Self::IdleContact => write!(
                f,
                "contact of triangles does nothing: no cloth has a `thickness` (--thickness) to keep; particles alone meet colliders"
            ),
            Self::BodyAmongTriangles { collider, bodies } => write!(
                f,
                "{} particles of cloth alone, at half its thickness: what is between particles may come through, and no crossing of \
                 it is counted; take finer cloth where a body is thin or sharp, more iterations where it is fast",
                match bodies {
                    1 => format!("collider `{collider}`, a rigid body, meets"),
                    bodies =>
                        format!("{bodies} rigid bodies, the first collider `{collider}`, meet"),
                }
            ),
            Self::AllPinned { cloth, particles } => write!(
                f,
                "all {} of cloth `{cloth}` are pinned: nothing moves but what its pins do; if a rule was to take an edge, look along \
                 which axis the mesh extends",
                counted(*particles, "particle")
            ),
            Self::OddSize { cloth, size_m } => write!(
                f,
                "cloth `{cloth}` is {} across; if its file is not in metres, `transform.scale` (--scale) makes it so: 0.001 for \
                 millimetres",
                short_length(*size_m)
            ),
            Self::Thick { cloth, contact, thickness_m, mean_edge_m } => write!(
                f,
                "cloth `{cloth}` is {} thick, with edges of {}: {}",
                short_length(*thickness_m),
                short_length(*mean_edge_m),
                match contact {
                    ContactMode::Particles =>
                        "particles keep that distance where they can, and each frame takes long; take a thickness near the edges",
                    ContactMode::Triangles =>
                        "contact of triangles then looks at what is near along the cloth too, each frame takes long, and short \
                         edges stretch; take a thickness of at most a third of the edges, or a coarser mesh",
                }
            ),
            Self::Coincident { cloth, copies } => write!(
                f,
                "the {copies} copies of cloth `{cloth}` start in one spot and push one another apart; set `spacing`"
            ),
            Self::Coarse { cloth, farthest_m, resolution_m, mean_edge_m } => write!(
                f,
                "cloth `{cloth}` is {farthest_m:.0} m from the origin: positions are multiples of {} there, with edges of {}; move \
                 it near the origin",
                short_length(*resolution_m),
                short_length(*mean_edge_m)
            ),
            Self::CoarseCollider { collider, nearest_m, resolution_m, mean_edge_m } => write!(
                f,
                "collider `{collider}` is {nearest_m:.0} m from where positions count from: they are multiples of {} there, with edges \
                 of cloth of {}; move cloth and collider near each other",
                short_length(*resolution_m),
                short_length(*mean_edge_m)
            ),
            Self::LostFaces { cloth, faces, all_faces, welded_vertices } => write!(
                f,
                "cloth `{cloth}` has {} of {} left out: they have no area, a corner twice, or the corners of another; {} welded to \
                 others (`fabric.weld`); `poplin cook` counts them",
                grouped(*faces),
                counted(*all_faces, "face"),
                match welded_vertices {
                    1 => "1 vertex was".into(),
                    count => format!("{} vertices were", grouped(*count)),
                }
            ),
            Self::TwistedFaces { what, faces, first_line } => write!(
                f,
                "{what} has {} in its file that cannot be cut into triangles without flipping one{}: \
                 sides cross, or it is concave with more than 1024 corners; cut such faces before",
                counted(*faces, "face"),
                in_line(*first_line)
            ),
            Self::NoSpeed { cloth } => write!(
                f,
                "cloth `{cloth}` cannot move: its `max_speed` is 0 m/s; leave it out, and there is no limit"
            ),
            Self::Fast { what, speed_m_per_s, frame } => write!(
                f,
                "{what} moves at {speed_m_per_s:.0} m/s in frame {frame}; check the times and units of its keys"
            ),
            Self::LongStep { cloth, step_s, fall_m, mean_edge_m } => write!(
                f,
                "cloth `{cloth}` has a step of {:.1} ms, in which it falls by {:.1} mm and its edges are {:.1} mm long; raise the \
                 frequency or the frame rate",
                1e3 * step_s,
                1e3 * fall_m,
                1e3 * mean_edge_m
            ),
            Self::SoftBends { cloth, step_s, longest_step_s, substeps } => write!(
                f,
                "cloth `{cloth}` bends more easily than its rigidity says: that holds to a step of {:.2} ms on its mesh, and it has {:.2} \
                 ms; take {substeps} substeps, a coarser mesh or less rigidity",
                1e3 * longest_step_s,
                1e3 * step_s
            ),
            Self::Unconverged { cloth, steps, unconverged, max_iterations, max_halvings } => {
                let (halved, more) = match max_halvings {
                    0 => (String::new(), "halves of such steps (--max-halvings 6), "),
                    count => (format!(", halved up to {}", counted(*count as usize, "time")), ""),
                };
                write!(
                    f,
                    "cloth `{cloth}` is softer than its stiffness says: {} of its {} steps were not solved in {max_iterations} \
                     iterations{halved}; take {more}more substeps (--substeps), more iterations (--max-iterations), a coarser mesh \
                     or less stiffness",
                    grouped(*unconverged as usize),
                    grouped(*steps as usize),
                )
            }
            Self::Held { cloth, steps, held } => write!(
                f,
                "cloth `{cloth}` stood still in {} of its {} steps, in which its solver found nothing finite; look for pins and \
                 colliders that jump, and for masses or stiffnesses that differ by many orders",
                grouped(*held as usize),
                grouped(*steps as usize),
            ),
            Self::Crossed {
                cloth,
                copy,
                crossings_at_start,
                crossings_at_end,
                is_on_gpu,
                trouble,
            } => {
                let (frames, position) = when_and_where(trouble);
                let cloth = cloth_or_copy(cloth, *copy);
                let most = counted(trouble.most_pairs as usize, "edge-triangle crossing");
                let is_from_start = *crossings_at_start > 0;
                let what = if is_from_start { "starts crossed" } else { "was crossed" };
                let cure = match (is_on_gpu, is_from_start) {
                    (true, _) => "a GPU untangles nothing, choose --backend cpu",
                    (false, true) => "move the layers apart",
                    _ => "look for pins and colliders that leave it no room, or slow them",
                };
                let with = match trouble.partner {
                    ContactPartner::Itself => "itself",
                    ContactPartner::OtherCloth => "other cloth",
                    ContactPartner::Collider => "a collider",
                };
                let end = match crossings_at_end {
                    // Of a GPU only frames that are read are known.
                    0 if *is_on_gpu => String::from("free at the end"),
                    0 => format!("free since frame {}", trouble.last_frame + 1),
                    count => format!("{} stay at the end: {cure}", grouped(*count as usize)),
                };
                write!(
                    f,
                    "{cloth} {what}, mostly with {with}: up to {most} {frames}, {position}; {end}"
                )
            }
            Self::Forced { cloth, copy, trouble } => {
                let (frames, position) = when_and_where(trouble);
                write!(
                    f,
                    "a ball, capsule or plane goes through {}: {} {frames}, {position}, at most in an iteration; move it and the \
                     pins apart, or slow them",
                    cloth_or_copy(cloth, *copy),
                    counted(trouble.most_pairs as usize, "pair"),
                )
            }
            Self::Hurried { cloth, copy, trouble } => {
                let (frames, position) = when_and_where(trouble);
                let what = match trouble.partner {
                    ContactPartner::Itself => "its own pins are",
                    ContactPartner::OtherCloth => "pins of other cloth are",
                    ContactPartner::Collider => "a collider is",
                };
                write!(
                    f,
                    "{what} too fast for {} {frames}, {position}: what moves by many thicknesses in an iteration may pass \
                     through it; slow that, or raise the frequency",
                    cloth_or_copy(cloth, *copy),
                )
            }
            Self::Unlisted { cloth, copy, trouble } => {
                let (frames, position) = when_and_where(trouble);
                write!(
                    f,
                    "there was no room for all pairs ({} or more) near {} {frames}, {position}: what may touch stood still in those \
                     iterations; choose a smaller thickness, longer edges or, on a GPU, --backend cpu",
                    counted(trouble.most_pairs as usize, "pair"),
                    cloth_or_copy(cloth, *copy),
                )
            }
            Self::OtherFrequency { cloth, asked_hz, frequency_hz } => write!(
                f,
                "cloth `{cloth}` is solved {frequency_hz:.0} times a second in place of {asked_hz:.0}, as a frame has whole \
                 iterations, and so has another stiffness; choose a multiple of the frame rate"
            ),
        }
    }
}
/// Where the first of some faces is, if its file has lines.
pub(crate) fn in_line(first_line: usize) -> String {
    match first_line {
        0 => String::new(),
        line => format!(", the first in line {line}"),
    }
}
