//! What the kernels of contact of triangles read and write.

use crate::gpu_struct::gpu_struct;
use crate::{RoundState, StructDescription};

/// The structs of contact of triangles, in the order of `shaders/contact/triangle_types.wgsl`.
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
    /// What a row keeps while it takes part.
    pub struct TriangleRow {
        /// Position at rest \[m\]; the normal of a plane; w unused.
        pub rest: [f32; 4],
        /// Inverse mass [1/kg]; 0: nothing can stop it.
        pub inverse_mass: f32,
        /// Half the thickness of a cloth, the radius of a ball or capsule \[m\].
        pub radius: f32,
        /// What of it is the volume of a collider \[m\].
        pub hard: f32,
        /// Its body.
        pub body: u32,
    }
}

gpu_struct! {
    /// A vertex and a face, two edges, or a vertex and a plane that may come close.
    pub struct TriangleCandidate {
        /// Rows of its four corners.
        pub rows: [u32; 4],
        /// Both bodies, the kind and the first simplex, and the second: candidates are in this order.
        pub rank: [u32; 4],
        /// Of a face: rows of the corners beyond its sides, `NO_OFFSET` if there is none or it is the vertex; w unused.
        pub beyond: [u32; 4],
        /// What its corners are: `TRIANGLE_VERTEX_FACE` and so on.
        pub kind: u32,
        /// Of a face: the sides and corners that it answers for.
        pub owned: u32,
        /// Coefficient of friction.
        pub friction: f32,
        /// Whether both simplices are of one body: 0 or 1.
        pub is_own: u32,
    }
}

gpu_struct! {
    /// A pair in reach, with what a round keeps constant.
    pub struct TrianglePair {
        /// Rows of its four corners.
        pub rows: [u32; 4],
        /// Weights of the corners.
        pub weights: [f32; 4],
        /// Direction in which it is apart; w: distance at the start, without the volume of a collider \[m\].
        pub normal: [f32; 4],
        /// Multiplier of friction; w: of the push [kg m].
        pub drag: [f32; 4],
        /// What an iteration adds to the multipliers [kg m]; w: one over the sum of weights squared times inverse mass times contacts \[kg\].
        pub change: [f32; 4],
        /// What it leaves of the moves of its corners.
        pub fractions: [f32; 4],
        /// What the distance may close by: down to the thickness, or not at all \[m\].
        pub closing: f32,
        /// The volume of a collider in the distance \[m\].
        pub hard: f32,
        /// How much nearer than its thickness it is \[m\].
        pub overlap: f32,
        /// Coefficient of friction.
        pub friction: f32,
        /// Its candidate.
        pub candidate: u32,
        /// Corners of its first simplex.
        pub first_count: u32,
        /// Whether it pushes; others only limit moves: 0 or 1.
        pub is_active: u32,
        /// Whether pins or colliders press it by more than its gap leaves: 0 or 1.
        pub is_pressed: u32,
    }
}

gpu_struct! {
    /// Multipliers of a pair of the last slice, per slice.
    pub struct TriangleMultiplier {
        /// That of its candidate.
        pub rank: [u32; 4],
        /// Of friction, in the plane of contact; w: of the push [kg m].
        pub drag: [f32; 4],
    }
}

gpu_struct! {
    /// Simplices of a body that look for those of another one, or of their own.
    pub struct TriangleTask {
        /// The first body.
        pub first_body: u32,
        /// The second body; the same: within one.
        pub second_body: u32,
        /// Vertices of the first body and faces of the second (0), the other order (1), or edges (2).
        pub kind: u32,
        /// Its first query; each simplex is one.
        pub query_begin: u32,
        /// Rows of these simplices in `triangle_simplices`.
        pub items: u32,
        /// Root of the tree of those that they look for; `NO_OFFSET` if there is none.
        pub root: u32,
        /// Row of the plane that they look for; `NO_OFFSET` if it is none.
        pub plane: u32,
        /// Coefficient of friction.
        pub friction: f32,
    }
}

gpu_struct! {
    /// A node of a tree of boxes. Levels follow one another, leaves first.
    pub struct TriangleNode {
        /// Its first child; of a leaf its first simplex.
        pub first: u32,
        /// How many there are.
        pub count: u32,
        /// Of a leaf: where all simplices of the tree are in `triangle_simplices`.
        pub simplices: u32,
        /// Of a leaf: words of a simplex, two rows or those of a face; of others 0.
        pub words: u32,
    }
}

gpu_struct! {
    /// The uniform of a pass of contact of triangles.
    pub struct TriangleParameters {
        /// Rows of all bodies.
        pub row_count: u32,
        /// Bodies.
        pub body_count: u32,
        /// Tasks of a search.
        pub task_count: u32,
        /// Queries of all tasks.
        pub query_count: u32,
        /// Candidates that there is room for.
        pub capacity: u32,
        /// Counts of `triangle_slots`, a multiple of `SCAN_BLOCK`, but for its last block.
        pub slot_len: u32,
        /// Counts of `triangle_begins`, likewise.
        pub begin_len: u32,
        /// Counts of `triangle_counts`, likewise.
        pub query_len: u32,
        /// Index in `RoundState.gates` of the condition that this pass runs under.
        pub gate: u32,
        /// First node of the level of this pass.
        pub node_begin: u32,
        /// The end of its nodes.
        pub node_end: u32,
        /// Smallest thickness of a cloth \[m\].
        pub thickness: f32,
        /// How far contact may take a row off its path in a round \[m\].
        pub reserve: f32,
        /// Factor on the multipliers of the last slice.
        pub held_scale: f32,
        /// First entry of `triangle_cloths`.
        pub cloth_begin: u32,
        /// Cloths: the first bodies.
        pub cloth_count: u32,
        /// Where colliders are: fraction of the frame.
        pub fraction: f32,
        /// Most rounds of a slice.
        pub max_rounds: u32,
        /// 1 in the first slice of a frame, else 0.
        pub is_first: u32,
        /// Fills the struct to a multiple of 16 bytes.
        pub padding_0: u32,
    }
}

gpu_struct! {
    /// What the device reports of contact of triangles of a cloth since it was added or reset. Frames count from 1; 0: never.
    pub struct TriangleReport {
        /// Where one of the most pairs was that were forced to cross \[m\]; w unused.
        pub forced_at: [f32; 4],
        /// The middle of the cloth when something last moved too far to be followed, or there was no room for the pairs \[m\]; w unused.
        pub middle: [f32; 4],
        /// Frames with contact of triangles.
        pub frames: u32,
        /// First frame in which pairs were forced to cross.
        pub forced_first: u32,
        /// The last one.
        pub forced_last: u32,
        /// The most pairs of a slice.
        pub forced_most: u32,
        /// First frame in which something moved too far to be followed.
        pub hurried_first: u32,
        /// The last one.
        pub hurried_last: u32,
        /// First frame in which there was no room for the pairs.
        pub lack_first: u32,
        /// The last one.
        pub lack_last: u32,
        /// The most candidates that were found then.
        pub lack_most: u32,
        /// What was too fast last: `TRIANGLE_BY_ITSELF` and so on.
        pub hurried_by: u32,
        /// Fills the struct to a multiple of 16 bytes.
        pub padding_0: u32,
        /// Fills it.
        pub padding_1: u32,
    }
}

/// Who takes part, as the search has it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TriangleBodies {
    /// Bodies.
    pub count: u32,
    /// Those of them that are cloths: the first ones.
    pub cloth_count: u32,
    /// Queries of all tasks.
    pub query_count: u32,
    /// Tasks in the order of the ranks that they find.
    pub tasks: Vec<TriangleTask>,
    /// Flags of each body, then rows of vertices, edges and faces, and which of them are in each leaf.
    pub simplices: Vec<u32>,
    /// Nodes of all trees, level by level.
    pub nodes: Vec<TriangleNode>,
    /// Where each level ends.
    pub levels: Vec<u32>,
}

/// A round as its buffers hold it: what it starts from, or what its passes leave.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TriangleRound {
    /// What each row keeps.
    pub rows: Vec<TriangleRow>,
    /// Sections with an entry per row: `TRIANGLE_STARTS` and so on; w is 0.
    pub moves: Vec<[f32; 4]>,
    /// Pairs that may touch, in the order of their ranks.
    pub candidates: Vec<TriangleCandidate>,
    /// Pairs in reach.
    pub pairs: Vec<TrianglePair>,
    /// Multipliers of the last slice, in the order of ranks.
    pub held: Vec<TriangleMultiplier>,
    /// Where the corners of each row begin, and how many there are.
    pub begins: Vec<u32>,
    /// Corners by row: four times the pair plus the corner.
    pub corners: Vec<u32>,
    /// Whether each row was held back in this slice: 0 or 1.
    pub holds: Vec<u32>,
    /// Whether any row may be held back.
    pub is_careful: bool,
    /// Pairs that push.
    pub contacts: u32,
    /// Rows that were held back.
    pub held_rows: u32,
    /// Pairs that pins or colliders force to cross.
    pub forced: u32,
    /// The smallest gap \[m\]; infinite if no pair is near.
    pub least_gap: f32,
    /// Smallest thickness of a cloth \[m\].
    pub thickness: f32,
    /// Part of a slice that the round is; 0 after the last.
    pub part: f32,
    /// Factor on the multipliers of the last slice.
    pub held_scale: f32,
    /// Rounds of the slice.
    pub rounds: u32,
    /// Where colliders are: fraction of the frame.
    pub fraction: f32,
}
