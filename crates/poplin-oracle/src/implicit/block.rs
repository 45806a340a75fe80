//! Matrices of 3 x 3.

/// Matrix of three rows.
pub(super) type Block = [[f64; 3]; 3];

pub(super) fn times(m: &Block, v: [f64; 3]) -> [f64; 3] {
    m.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2])
}

pub(super) fn transposed(m: &Block) -> Block {
    std::array::from_fn(|i| [0, 1, 2].map(|j| m[j][i]))
}

pub(super) fn product(a: &Block, b: &Block) -> Block {
    a.map(|row| [0, 1, 2].map(|j| (0..3).map(|k| row[k] * b[k][j]).sum()))
}

/// `a + factor b`.
pub(super) fn sum(a: &Block, b: &Block, factor: f64) -> Block {
    std::array::from_fn(|i| [0, 1, 2].map(|j| a[i][j] + factor * b[i][j]))
}

/// Returns the inverse by cofactors; meaningless for a singular matrix.
pub(super) fn inverse(m: &Block) -> Block {
    let cofactor = |i: usize, j: usize| {
        let [a, b, c, d] = [(i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3];
        m[a][c] * m[b][d] - m[a][d] * m[b][c]
    };
    let determinant: f64 = (0..3).map(|j| m[0][j] * cofactor(0, j)).sum();
    std::array::from_fn(|i| [0, 1, 2].map(|j| cofactor(j, i) / determinant))
}
