//! Buffers of the triangle contact kernels.

use crate::gpu_struct::gpu_struct;
use crate::{RoundState, StructDescription};

/// Structs of triangle contact, in the order of `shaders/contact/triangle_types.wgsl`.
pub const TRIANGLE_STRUCTS: &[StructDescription] = &[
    TriangleRow::DESCRIPTION,
    TriangleCandidate::DESCRIPTION,
    TrianglePair::DESCRIPTION,
    TriangleMultiplier::DESCRIPTION,
    TriangleTask::DESCRIPTION,
    TriangleNode::DESCRIPTION,
    TriangleParameters::DESCRIPTION,
    TriangleReport::DESCRIPTION,
    RoundState::DESCRIPTION,
];

gpu_struct! {
    /// Constants of a row (a vertex of a participant) while it takes part.
    pub struct TriangleRow {
        /// Position at rest \[m\], or the normal of a plane; w unused.
        pub rest: [f32; 4],
        /// Inverse mass [1/kg]; 0 for rows that contact cannot stop.
        pub inverse_mass: f32,
        /// Half the thickness of a cloth, or the radius of a sphere or capsule \[m\].
        pub radius: f32,
        /// Portion of the radius that is solid collider \[m\].
        pub hard: f32,
        /// Index of its body.
        pub body: u32,
    }
}

gpu_struct! {
    /// Candidate pair: a vertex and a face, two edges, or a vertex and a plane that may come close.
    pub struct TriangleCandidate {
        /// Rows of the four corners.
        pub rows: [u32; 4],
        /// Sort key of candidates: both bodies, kind and first simplex, second simplex.
        pub rank: [u32; 4],
        /// Rows of the far corners of the faces adjacent to a face, `NO_OFFSET` if there is none or
        /// it is the vertex; w unused.
        pub beyond: [u32; 4],
        /// Kind of pair: `TRIANGLE_VERTEX_FACE` and so on.
        pub kind: u32,
        /// Mask of the sides and corners that a face owns.
        pub owned: u32,
        /// Coefficient of friction.
        pub friction: f32,
        /// 1 if both simplices belong to the same body, otherwise 0.
        pub is_own: u32,
    }
}

gpu_struct! {
    /// Contact pair in reach, with its constants of a round.
    pub struct TrianglePair {
        /// Rows of the four corners.
        pub rows: [u32; 4],
        /// Barycentric weights of the corners.
        pub weights: [f32; 4],
        /// Separating direction; w: distance at the start, excluding the solid portion of a
        /// collider \[m\].
        pub normal: [f32; 4],
        /// Lagrange multiplier of friction; w: of the push [kg m].
        pub drag: [f32; 4],
        /// Change of the multipliers by an iteration [kg m]; w: one over the sum of weights squared
        /// times inverse mass times contacts \[kg\].
        pub change: [f32; 4],
        /// Displacement of the first simplex along the second by surfaces that turn in place \[m\];
        /// w unused.
        pub slide: [f32; 4],
        /// Step fraction that the pair allows each of its corners.
        pub fractions: [f32; 4],
        /// Distance by which the pair may approach: down to its thickness, 0 if it is already
        /// closer \[m\].
        pub closing: f32,
        /// Solid portion of a collider in the distance \[m\].
        pub hard: f32,
        /// Overlap: thickness minus distance \[m\], at least 0.
        pub overlap: f32,
        /// Coefficient of friction.
        pub friction: f32,
        /// Index of its candidate.
        pub candidate: u32,
        /// Number of corners of its first simplex.
        pub first_count: u32,
        /// 1 if the pair pushes; 0 if it only limits moves.
        pub is_active: u32,
        /// 1 if pins or colliders press the pair by more than its gap allows, otherwise 0.
        pub is_pressed: u32,
    }
}

gpu_struct! {
    /// Multipliers of a pair of the last slice, per slice.
    pub struct TriangleMultiplier {
        /// Rank of its candidate.
        pub rank: [u32; 4],
        /// Lagrange multiplier of friction, in the plane of contact; w: of the push [kg m].
        pub drag: [f32; 4],
    }
}

gpu_struct! {
    /// Broad-phase task: simplices of a body queried against those of another body, or of the same
    /// one.
    pub struct TriangleTask {
        /// The first body.
        pub first_body: u32,
        /// The second body; equal to the first for a task within one body.
        pub second_body: u32,
        /// Kind of task: vertices of the first body and faces of the second (0), faces and vertices
        /// (1), or edges (2).
        pub kind: u32,
        /// First query; each simplex of the first body is one query.
        pub query_begin: u32,
        /// Rows of these simplices in `triangle_simplices`.
        pub items: u32,
        /// Root of the tree that is searched; `NO_OFFSET` if there is none.
        pub root: u32,
        /// Row of the plane that is tested; `NO_OFFSET` if it is not a plane.
        pub plane: u32,
        /// Coefficient of friction.
        pub friction: f32,
    }
}

gpu_struct! {
    /// A node of a tree of boxes. Levels are stored one after the other, leaves first.
    pub struct TriangleNode {
        /// First child; for a leaf its first simplex.
        pub first: u32,
        /// Number of children, or of simplices.
        pub count: u32,
        /// Offset of all simplices of the tree in `triangle_simplices`; only for a leaf.
        pub simplices: u32,
        /// Words per simplex of a leaf, two rows or those of a face; 0 for inner nodes.
        pub words: u32,
    }
}

gpu_struct! {
    /// Uniform of a pass of triangle contact.
    pub struct TriangleParameters {
        /// Number of rows of all bodies.
        pub row_count: u32,
        /// Number of bodies.
        pub body_count: u32,
        /// Number of tasks of a search.
        pub task_count: u32,
        /// Number of queries of all tasks.
        pub query_count: u32,
        /// Capacity for candidates.
        pub capacity: u32,
        /// Number of counters in `triangle_slots`, a multiple of `SCAN_BLOCK` except for its last
        /// block.
        pub slot_len: u32,
        /// Number of counters in `triangle_begins`, likewise.
        pub begin_len: u32,
        /// Number of counters in `triangle_counts`, likewise.
        pub query_len: u32,
        /// Index in `RoundState.gates` of the condition that this pass runs under.
        pub gate: u32,
        /// First node of the level of this pass.
        pub node_begin: u32,
        /// One past the last node of the level.
        pub node_end: u32,
        /// Smallest thickness of a cloth \[m\].
        pub thickness: f32,
        /// Largest deviation of a row from its path by contact in a round \[m\].
        pub reserve: f32,
        /// Factor on the multipliers of the last slice.
        pub held_scale: f32,
        /// First entry of `triangle_cloths`.
        pub cloth_begin: u32,
        /// Number of cloths, which are the first bodies.
        pub cloth_count: u32,
        /// Time of the collider positions as a fraction of the frame.
        pub fraction: f32,
        /// Largest number of rounds of a slice.
        pub max_rounds: u32,
        /// 1 in the first slice of a frame, otherwise 0.
        pub is_first: u32,
        /// Fraction of the frame that the slice takes.
        pub slice_part: f32,
    }
}

gpu_struct! {
    /// Report of triangle contact of a cloth since it was added or reset. Frames count from 1; 0 =
    /// never.
    pub struct TriangleReport {
        /// Position of one of the forced pairs, from the frame with the most of them \[m\]; w
        /// unused.
        pub forced_at: [f32; 4],
        /// Center of the cloth when something last moved too far to be followed, or the pair buffer
        /// was too small \[m\]; w unused.
        pub middle: [f32; 4],
        /// Number of frames with triangle contact.
        pub frames: u32,
        /// First frame in which pairs were forced to cross.
        pub forced_first: u32,
        /// Last frame in which pairs were forced to cross.
        pub forced_last: u32,
        /// Largest number of forced pairs in a slice.
        pub forced_most: u32,
        /// First frame in which something moved too far to be followed.
        pub hurried_first: u32,
        /// Last frame in which something moved too far to be followed.
        pub hurried_last: u32,
        /// First frame in which the pair buffer was too small.
        pub lack_first: u32,
        /// Last frame in which the pair buffer was too small.
        pub lack_last: u32,
        /// Largest number of candidates found in such a frame.
        pub lack_most: u32,
        /// Origin of the last excessive speed: `TRIANGLE_BY_ITSELF` and so on.
        pub hurried_by: u32,
        /// Fills the struct to a multiple of 16 bytes.
        pub padding_0: u32,
        /// Padding, see `padding_0`.
        pub padding_1: u32,
    }
}

/// Participants of triangle contact, prepared for the broad phase.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TriangleBodies {
    /// Number of bodies.
    pub count: u32,
    /// Number of cloths, which are the first bodies.
    pub cloth_count: u32,
    /// Number of queries of all tasks.
    pub query_count: u32,
    /// Tasks in the order of the ranks of their candidates.
    pub tasks: Vec<TriangleTask>,
    /// Flags of each body, then rows of vertices, edges and faces, and the simplices of each leaf.
    pub simplices: Vec<u32>,
    /// Nodes of all trees, level by level.
    pub nodes: Vec<TriangleNode>,
    /// End of each level in `nodes`.
    pub levels: Vec<u32>,
}

/// State of a round in its buffers: the input of a round, or the output of its passes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TriangleRound {
    /// Constants of each row.
    pub rows: Vec<TriangleRow>,
    /// Sections with one entry per row: `TRIANGLE_STARTS` and so on; w is 0.
    pub moves: Vec<[f32; 4]>,
    /// Candidate pairs, in the order of their ranks.
    pub candidates: Vec<TriangleCandidate>,
    /// Pairs in reach.
    pub pairs: Vec<TrianglePair>,
    /// Multipliers of the last slice, in the order of ranks.
    pub held: Vec<TriangleMultiplier>,
    /// First corner of each row in `corners`, and the number of corners.
    pub begins: Vec<u32>,
    /// Corners by row: four times the pair plus the corner.
    pub corners: Vec<u32>,
    /// 1 for each row that was held back in this slice, otherwise 0.
    pub holds: Vec<u32>,
    /// True if any row may be held back.
    pub is_careful: bool,
    /// Number of pairs that push.
    pub contacts: u32,
    /// Number of rows that were held back.
    pub held_rows: u32,
    /// Number of pairs that pins or colliders force to cross.
    pub forced: u32,
    /// Smallest gap \[m\]; infinite if no pair is near.
    pub least_gap: f32,
    /// Smallest thickness of a cloth \[m\].
    pub thickness: f32,
    /// Fraction of the slice covered by the round; 0 after the last round.
    pub part: f32,
    /// Factor on the multipliers of the last slice.
    pub held_scale: f32,
    /// Number of rounds of the slice.
    pub rounds: u32,
    /// Time of the collider positions as a fraction of the frame.
    pub fraction: f32,
    /// Fraction of the frame that the slice takes.
    pub slice_part: f32,
}
