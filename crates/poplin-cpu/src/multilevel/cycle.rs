//! Coarser levels in a multilevel solve.

use poplin_geometry::Csr;
use poplin_model::{Hierarchy, Level, Parents};

use super::parallel::each;
use super::solve::JACOBI;
use super::symmetric::Symmetric;
use super::{add, scale, subtract};

/// Largest number of nodes of a level that is solved by a cycle.
const MAX_TAIL: usize = 1024;

/// Weight of the diagonal blocks in a cycle.
const CYCLE_JACOBI: f32 = 0.55;

/// Level of a cloth, made once.
#[derive(Debug)]
pub(super) struct LevelPlan {
    level: Level,
    /// Nodes of the finer level that each node moves, and their weights.
    children: Csr<(u32, f32)>,
    /// Neighbours of each node, and the blocks between them.
    neighbours: Csr<(u32, u32)>,
    /// Diagonal block of each node.
    diagonals: Vec<u32>,
    /// Part of bends in each block, a multiple of the unit matrix, over the rigidity; empty where
    /// the finer level has it.
    bending: Vec<f32>,
}

impl LevelPlan {
    pub(super) fn new(level: &Level, bending: Vec<f32>) -> Self {
        let count = level.node_count();
        let children = level.parents.iter().zip(0..).flat_map(|(parents, finer)| {
            parents.iter().map(move |(node, weight)| (node, (finer, weight)))
        });
        let blocks = || level.blocks.iter().copied().zip(0u32..);
        let neighbours = blocks()
            .filter(|([a, b], _)| a != b)
            .flat_map(|([a, b], block)| [(a, (b, block)), (b, (a, block))]);
        let diagonals = blocks().filter(|([a, b], _)| a == b).map(|(_, block)| block);
        Self {
            children: Csr::new(count, children),
            neighbours: Csr::new(count, neighbours),
            diagonals: diagonals.collect(),
            bending,
            level: level.clone(),
        }
    }

    fn node_count(&self) -> usize {
        self.level.node_count()
    }

    /// Allocated bytes.
    pub(super) fn size(&self) -> usize {
        let Level { particles, parents, blocks, block_ends, terms } = &self.level;
        size_of_val(particles.as_slice())
            + size_of_val(parents.as_slice())
            + size_of_val(blocks.as_slice())
            + size_of_val(block_ends.as_slice())
            + size_of_val(terms.as_slice())
            + self.children.size()
            + self.neighbours.size()
            + size_of_val(self.diagonals.as_slice())
            + size_of_val(self.bending.as_slice())
    }
}

/// First level with few enough nodes for a cycle.
pub(super) fn tail_of(levels: &[LevelPlan]) -> usize {
    levels
        .iter()
        .position(|it| it.node_count() <= MAX_TAIL)
        .unwrap_or(levels.len().saturating_sub(1))
}

/// Matrix and vectors of a level.
#[derive(Debug, Clone, Default)]
pub(super) struct LevelMemory {
    blocks: Vec<Symmetric>,
    inverses: Vec<Symmetric>,
    residuals: Vec<[f32; 3]>,
    moves: Vec<[f32; 3]>,
    /// Residuals after the first half of a cycle.
    rest: Vec<[f32; 3]>,
    /// Inverse of the whole matrix, row by row; empty but at the coarsest level.
    whole: Vec<f32>,
}

impl LevelMemory {
    /// Makes room for the level.
    pub(super) fn fit(&mut self, plan: &LevelPlan) {
        let count = plan.node_count();
        self.blocks.resize(plan.level.blocks.len(), Symmetric::default());
        self.inverses.resize(count, Symmetric::default());
        for vectors in [&mut self.residuals, &mut self.moves, &mut self.rest] {
            vectors.resize(count, [0.0; 3]);
        }
    }

    /// Allocated bytes.
    pub(super) fn size(&self) -> usize {
        let vectors = [&self.residuals, &self.moves, &self.rest].map(Vec::capacity);
        24 * (self.blocks.capacity() + self.inverses.capacity())
            + 12 * vectors.iter().sum::<usize>()
            + 4 * self.whole.capacity()
    }

    pub(super) fn block(&self, block: u32) -> Symmetric {
        self.blocks[block as usize]
    }

    pub(super) fn residuals(&self) -> &[[f32; 3]] {
        &self.residuals
    }

    /// Makes the blocks of the matrix for a bending rigidity [N m]; `gather` adds a multiple of a
    /// source.
    pub(super) fn set_up(
        &mut self,
        plan: &LevelPlan,
        rigidity: f32,
        gather: impl Fn(u32, &mut Symmetric, f32) + Copy + Send + Sync,
    ) {
        each(&mut self.blocks, move |index, block| {
            let bending = plan.bending.get(index).copied().unwrap_or(0.0);
            let mut sum = Symmetric::scalar(rigidity * bending);
            for term in plan.level.terms_of(index) {
                gather(term.source, &mut sum, term.factor);
            }
            *block = sum;
        });
        let blocks = &self.blocks[..];
        each(&mut self.inverses, move |node, inverse| {
            *inverse = blocks[plan.diagonals[node] as usize].inverse();
        });
    }

    /// Inverts the whole matrix if it is small.
    pub(super) fn invert(&mut self, plan: &LevelPlan) {
        let count = plan.node_count();
        self.whole.clear();
        if count > Hierarchy::MAX_COARSEST {
            return;
        }
        let side = 3 * count;
        let mut matrix = vec![0.0; side * side];
        for (&[a, b], &Symmetric([xx, xy, xz, yy, yz, zz])) in
            plan.level.blocks.iter().zip(&self.blocks)
        {
            for (row, values) in [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]].into_iter().enumerate()
            {
                for (column, value) in values.into_iter().enumerate() {
                    let (a, b) = (3 * a as usize, 3 * b as usize);
                    matrix[(a + row) * side + b + column] = value;
                    matrix[(b + row) * side + a + column] = value;
                }
            }
        }
        invert_in_place(&mut matrix, side);
        self.whole = matrix;
    }

    /// Restricts the residuals of the finer level: `P^T r`.
    pub(super) fn restrict(&mut self, plan: &LevelPlan, finer: &[[f32; 3]]) {
        each(&mut self.residuals, move |node, sum| {
            *sum = plan.children.row(node).iter().fold([0.0; 3], |sum, &(child, weight)| {
                add(sum, scale(finer[child as usize], weight))
            });
        });
    }

    /// Interpolates the move of a node of the finer level: `P z`.
    pub(super) fn interpolated(&self, plan: &LevelPlan, finer: usize) -> [f32; 3] {
        let Parents { nodes, weights } = plan.level.parents[finer];
        nodes.into_iter().zip(weights).fold([0.0; 3], |sum, (node, weight)| {
            add(sum, scale(self.moves[node as usize], weight))
        })
    }

    /// Adds the correction of the coarser level to that of the diagonal blocks.
    pub(super) fn smooth(&mut self, coarser_plan: &LevelPlan, coarser: &Self) {
        let (inverses, residuals) = (&self.inverses[..], &self.residuals[..]);
        each(&mut self.moves, move |node, moved| {
            let own = scale(inverses[node].times(residuals[node]), JACOBI);
            *moved = add(own, coarser.interpolated(coarser_plan, node));
        });
    }

    /// Computes what the moves leave of the residuals.
    fn set_rest(&mut self, plan: &LevelPlan) {
        for node in 0..self.moves.len() {
            let own = self.blocks[plan.diagonals[node] as usize].times(self.moves[node]);
            let mut rest = subtract(self.residuals[node], own);
            for &(neighbour, block) in plan.neighbours.row(node) {
                let product = self.blocks[block as usize].times(self.moves[neighbour as usize]);
                rest = subtract(rest, product);
            }
            self.rest[node] = rest;
        }
    }

    /// Solves the coarsest level.
    fn solve(&mut self) {
        let count = self.moves.len();
        for node in 0..count {
            self.moves[node] = if self.whole.is_empty() {
                self.inverses[node].times(self.residuals[node])
            } else {
                std::array::from_fn(|axis| {
                    let row = (3 * node + axis) * 3 * count;
                    let rows = self.whole[row..row + 3 * count].iter();
                    let products = rows.zip(self.residuals.as_flattened()).map(|(a, r)| a * r);
                    products.fold(0.0, |sum, product| sum + product)
                })
            };
        }
    }
}

/// Solves the levels from `first` on by a V-cycle.
pub(super) fn solve_tail(plans: &[LevelPlan], levels: &mut [LevelMemory], first: usize) {
    let Some((level, coarser)) = levels.get_mut(first..).and_then(<[_]>::split_first_mut) else {
        return;
    };
    let Some(next) = coarser.first_mut() else {
        return level.solve();
    };
    let plan = &plans[first];
    for node in 0..level.moves.len() {
        level.moves[node] = scale(level.inverses[node].times(level.residuals[node]), CYCLE_JACOBI);
    }
    level.set_rest(plan);
    next.restrict(&plans[first + 1], &level.rest);
    solve_tail(plans, levels, first + 1);
    let (finer, coarser) = levels.split_at_mut(first + 1);
    let level = &mut finer[first];
    for node in 0..level.moves.len() {
        let correction = coarser[0].interpolated(&plans[first + 1], node);
        level.moves[node] = add(level.moves[node], correction);
    }
    level.set_rest(plan);
    for node in 0..level.moves.len() {
        let correction = scale(level.inverses[node].times(level.rest[node]), CYCLE_JACOBI);
        level.moves[node] = add(level.moves[node], correction);
    }
}

/// Inverts a symmetric, positive definite matrix by the Gauss-Jordan method; rows without a
/// positive pivot become 0.
fn invert_in_place(matrix: &mut [f32], side: usize) {
    for pivot in 0..side {
        let value = matrix[pivot * side + pivot];
        let inverse = if value > 0.0 && value.is_finite() { value.recip() } else { 0.0 };
        matrix[pivot * side + pivot] = 1.0;
        for column in 0..side {
            matrix[pivot * side + column] *= inverse;
        }
        for row in (0..side).filter(|row| *row != pivot) {
            let factor = matrix[row * side + pivot];
            matrix[row * side + pivot] = 0.0;
            for column in 0..side {
                matrix[row * side + column] -= factor * matrix[pivot * side + column];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_matrix_is_inverted() {
        let side = 5;
        let at = |row: usize, column: usize| match row.abs_diff(column) {
            0 => 2.5,
            1 => -1.0,
            _ => 0.1,
        };
        let all = || (0..side).flat_map(|row| (0..side).map(move |column| at(row, column)));
        let mut matrix: Vec<f32> = all().collect();
        invert_in_place(&mut matrix, side);
        for row in 0..side {
            for column in 0..side {
                let product: f32 = (0..side).map(|k| matrix[row * side + k] * at(k, column)).sum();
                let expected = if row == column { 1.0 } else { 0.0 };
                assert!((product - expected).abs() < 1e-5, "{row} {column}: {product}");
            }
        }
    }
}
