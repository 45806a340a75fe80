//! Coarser levels of a fabric, for the multilevel solver.

use crate::error::{ModelError, check_indices, check_range};

/// Coarser levels of a fabric, the finest first, each with about a ninth of the nodes of the one
/// before.
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Parents {
    /// Nodes of the coarser level, ascending; those without weight are 0.
    pub nodes: [u32; 3],
    /// Weights, with a sum of 1, or all 0 for a pin.
    pub weights: [f32; 3],
}

/// Term of a block: a multiple of a block of the finer level, or of a spring or particle.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Term {
    /// Index of the source.
    pub source: u32,
    /// Factor on the source.
    pub factor: f32,
}

impl Hierarchy {
    /// Number of nodes at which no coarser level follows: their matrix is inverted as a whole.
    pub const MAX_COARSEST: usize = 16;

    /// Checks indices, lengths and weights for a fabric with so many particles and edges.
    pub(crate) fn validate(&self, particles: usize, edges: usize) -> Result<(), ModelError> {
        check_indices(
            "fabric hierarchy springs",
            self.springs.iter().flatten().copied(),
            particles,
        )?;
        check_indices("fabric hierarchy spring_edges", self.spring_edges.iter().copied(), edges)?;
        check_len("fabric hierarchy spring_edges", self.spring_edges.len(), self.springs.len())?;
        let limit = crate::MAX_COORDINATE;
        check_range("fabric hierarchy mean_edge", self.mean_edge, 0.0, limit)?;
        let (mut finer, mut sources) = (particles, self.springs.len() + particles);
        for level in &self.levels {
            level.validate(finer, sources, particles)?;
            (finer, sources) = (level.node_count(), level.blocks.len());
        }
        Ok(())
    }
}

fn check_len(what: &'static str, len: usize, expected: usize) -> Result<(), ModelError> {
    if len == expected { Ok(()) } else { Err(ModelError::Length { what, len, expected }) }
}

impl Level {
    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.particles.len()
    }

    /// Checks a level above so many nodes and sources.
    fn validate(&self, finer: usize, sources: usize, particles: usize) -> Result<(), ModelError> {
        let count = self.node_count();
        let blocks = "fabric hierarchy level blocks (ascending, with the diagonal)";
        check_indices(
            "fabric hierarchy level particles",
            self.particles.iter().copied(),
            particles,
        )?;
        check_len("fabric hierarchy level parents", self.parents.len(), finer)?;
        for Parents { nodes, weights } in &self.parents {
            check_indices("fabric hierarchy level parents", nodes.iter().copied(), count)?;
            for &weight in weights {
                check_range("fabric hierarchy level weight", weight, 0.0, 1.0)?;
            }
        }
        check_indices(blocks, self.blocks.iter().flatten().copied(), count)?;
        let diagonal = self.blocks.iter().filter(|[a, b]| a == b).count();
        check_len(blocks, diagonal, count)?;
        for (position, pair) in self.blocks.windows(2).enumerate() {
            let [a, b] = pair[1];
            if pair[0] >= pair[1] || a > b {
                return Err(ModelError::IndexOutOfRange {
                    what: blocks,
                    position: position + 1,
                    index: a,
                    count,
                });
            }
        }
        check_len("fabric hierarchy level block_ends", self.block_ends.len(), self.blocks.len())?;
        let mut last = 0;
        for (position, &value) in self.block_ends.iter().enumerate() {
            let is_last = position + 1 == self.block_ends.len();
            let total = self.terms.len();
            if value < last || value as usize > total || is_last && value as usize != total {
                let what = "fabric hierarchy level block_ends";
                return Err(ModelError::PrefixSum { what, position, value, total });
            }
            last = value;
        }
        let terms = self.terms.iter().map(|term| term.source);
        check_indices("fabric hierarchy level terms", terms, sources)?;
        self.terms.iter().try_for_each(|term| {
            check_range("fabric hierarchy level factor", term.factor, -1e6, 1e6)
        })
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
