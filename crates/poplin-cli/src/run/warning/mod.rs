//! Reasons to doubt the result of a run: on stderr at the end, and as data in `summary.json`.

mod contact;
mod message;
mod motion;
mod setup;
mod step;
mod stretch;

use poplin_measure::depth::Depth;
use poplin_model::{ContactMode, Trouble};
use serde::Serialize;

use crate::job_cloth::JobCloth;
pub(crate) use message::in_line;
pub(super) use stretch::{MAX_SQUASH, MAX_STRETCH, MAX_USUAL_STRETCH, Overstretch};

/// A reason to doubt the result.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Warning {
    /// Free particles are inside colliders before the first frame.
    StartsInside {
        cloth: String,
        #[serde(flatten)]
        depth: Depth,
        /// Speed at which contact pushes them out; `None` with triangle contact, which untangles
        /// them.
        #[serde(skip_serializing_if = "Option::is_none")]
        depenetration_speed_m_per_s: Option<f32>,
    },
    /// Edges are stretched beyond what cloth survives, [`MAX_STRETCH`].
    Overstretched {
        cloth: String,
        #[serde(flatten)]
        stretch: Overstretch,
    },
    /// 99 % of the edges are within a strain larger than that of woven cloth,
    /// [`MAX_USUAL_STRETCH`].
    Stretchy { cloth: String, p99_strain: f32, frequency_hz: f32 },
    /// Edges are compressed by more than [`MAX_SQUASH`].
    Squashed { cloth: String, p99_strain: f32, shortest_strain: f32 },
    /// Virtual particles without a collider that they can collide with.
    IdlePoints { cloth: String },
    /// Wind on a cloth without drag and lift.
    IdleWind { cloth: String },
    /// Stretch and bending stiffness of a material that the solver does not use.
    IdleMaterial { cloth: String, material: &'static str },
    /// Triangle contact in a scene where no cloth has a thickness.
    IdleContact,
    /// Rigid bodies in a scene with triangle contact; `collider` is the first of them.
    BodyAmongTriangles { collider: String, bodies: usize },
    /// All particles are pinned.
    AllPinned { cloth: String, particles: usize },
    /// Size outside [`setup::USUAL_SIZES`], probably a wrong unit.
    OddSize { cloth: String, size_m: f32 },
    /// Thickness larger than the edges allow.
    Thick { cloth: String, contact: ContactMode, thickness_m: f32, mean_edge_m: f32 },
    /// Copies of a cloth with a thickness start at the same position.
    Coincident { cloth: String, copies: usize },
    /// Cloth so far from the origin that `f32` positions are too coarse for its edges.
    Coarse { cloth: String, farthest_m: f32, resolution_m: f32, mean_edge_m: f32 },
    /// Collider mesh so far from the origin of positions that `f32` is too coarse for it.
    CoarseCollider { collider: String, nearest_m: f32, resolution_m: f32, mean_edge_m: f32 },
    /// Faces that cooking dropped.
    LostFaces { cloth: String, faces: usize, all_faces: usize, welded_vertices: usize },
    /// Faces of a mesh file whose triangulation has a flipped triangle.
    TwistedFaces { what: String, faces: usize, first_line: usize },
    /// Speed limit of 0.
    NoSpeed { cloth: String },
    /// Pins, local space or collider faster than [`motion::MAX_SPEED`].
    Fast { what: String, speed_m_per_s: f32, frame: u32 },
    /// Step in which gravity moves the cloth by more than its mean edge.
    LongStep { cloth: String, step_s: f32, fall_m: f32, mean_edge_m: f32 },
    /// Step so long that bends of XPBD are softer than their rigidity.
    SoftBends { cloth: String, step_s: f32, longest_step_s: f32, substeps: u32 },
    /// Implicit steps that did not converge within the allowed iterations and halvings.
    Unconverged {
        cloth: String,
        steps: u32,
        unconverged: u32,
        max_iterations: u32,
        max_halvings: u32,
    },
    /// Implicit steps without a finite solution, in which the cloth did not move.
    Held { cloth: String, steps: u32, held: u32 },
    /// Edges crossed triangles of cloth or of colliders.
    Crossed {
        cloth: String,
        copy: usize,
        /// Edge-triangle crossings before the first frame.
        crossings_at_start: u32,
        /// Edge-triangle crossings after the last frame.
        crossings_at_end: u32,
        /// True for a GPU run: GPU contact does not untangle.
        #[serde(skip)]
        is_on_gpu: bool,
        #[serde(flatten)]
        trouble: Trouble,
    },
    /// Spheres, capsules or planes passed through cloth, forced by pins or by their own motion.
    /// They have no triangles, so these pairs are estimated, not counted exactly.
    Forced {
        cloth: String,
        copy: usize,
        #[serde(flatten)]
        trouble: Trouble,
    },
    /// Pins or colliders moved too far in one iteration to be tracked.
    Hurried {
        cloth: String,
        copy: usize,
        #[serde(flatten)]
        trouble: Trouble,
    },
    /// The contact pairs of a cloth exceeded the capacity of their list.
    Unlisted {
        cloth: String,
        copy: usize,
        #[serde(flatten)]
        trouble: Trouble,
    },
    /// Frequency rounded to whole iterations per frame.
    OtherFrequency { cloth: String, asked_hz: f32, frequency_hz: f32 },
}

impl Warning {
    /// Warnings about a cloth that are known before its job of `frames` frames is simulated.
    pub(crate) fn before_run(
        job_cloth: &JobCloth,
        contact: ContactMode,
        frames: u32,
        frame_rate: f32,
    ) -> impl Iterator<Item = Self> {
        let start = Self::of_start(job_cloth, contact).into_iter();
        let of_motion = Self::of_motion(frames, frame_rate, job_cloth);
        start.chain(Self::of_mesh(job_cloth, contact)).chain(of_motion)
    }

    /// Key of the cloth in the scene file that the warning is about; empty if there is no single
    /// one.
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
}
