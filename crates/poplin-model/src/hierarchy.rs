//! Coarser levels of a fabric, for multilevel solvers.

/// Coarser levels of a fabric, the finest first, each with about a ninth of the nodes of the one
/// before.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hierarchy {
    /// Ends of the springs that the matrix of the cloth consists of: edges that resist stretch or
    /// shear, in the order of the fabric.
    pub springs: Vec<[u32; 2]>,
    /// Index of each spring among the edges of the fabric.
    pub spring_edges: Vec<u32>,
    /// Mean rest length of the edges that resist stretch, or of all springs if there are none
    /// \[m\].
    pub mean_edge: f32,
    /// Levels; empty for a cloth without springs.
    pub levels: Vec<Level>,
}

/// Level of a [`Hierarchy`]: nodes are particles, and the motion of the finer level's nodes is
/// interpolated from theirs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Level {
    /// Particle of each node.
    pub particles: Vec<u32>,
    /// Interpolation of each node of the finer level, or of each particle at the first level: P.
    pub parents: Vec<Parents>,
    /// Nodes of each block of the matrix `A' = P^T A P`, the smaller first, ascending; every node
    /// has its diagonal block. Blocks are symmetric, and that of `[b, a]` equals that of `[a, b]`.
    pub blocks: Vec<[u32; 2]>,
    /// One past the last term of each block.
    pub block_ends: Vec<u32>,
    /// Terms of the blocks, by source. Sources are blocks of the finer level; at the first level
    /// springs, then the diagonal blocks of particles without their springs.
    pub terms: Vec<Term>,
}

/// Interpolation of a node: the weighted sum of up to three nodes of the coarser level.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Parents {
    /// Nodes of the coarser level, ascending; those without weight are 0.
    pub nodes: [u32; 3],
    /// Weights, with a sum of 1, or all 0 for a pin.
    pub weights: [f32; 3],
}

/// Term of a block: a multiple of a block of the finer level, or of a spring or particle.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Term {
    /// Index of the source.
    pub source: u32,
    /// Factor on the source.
    pub factor: f32,
}

impl Hierarchy {
    /// Number of nodes at which no coarser level follows: their matrix is inverted as a whole.
    pub const MAX_COARSEST: usize = 16;
}

impl Level {
    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.particles.len()
    }

    /// Terms of block `block`.
    pub fn terms_of(&self, block: usize) -> &[Term] {
        let begin = block.checked_sub(1).map_or(0, |before| self.block_ends[before]);
        &self.terms[begin as usize..self.block_ends[block] as usize]
    }
}

impl Parents {
    /// Iterates over the parents that have a weight.
    pub fn iter(&self) -> impl Iterator<Item = (u32, f32)> + Clone + use<> {
        self.nodes.into_iter().zip(self.weights).filter(|(_, weight)| *weight > 0.0)
    }
}
