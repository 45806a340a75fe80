//! How fibers are solved.

use std::fmt;
use std::str::FromStr;

use crate::error::{ModelError, parse_name};

/// How the edges of a fiber are solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum FiberSolver {
    /// One edge after the other: an error propagates by one edge per iteration against the order of the fiber.
    /// The cheapest iteration, and the one to soften edges with.
    GaussSeidel,
    /// All edges of a fiber as one linear system, tridiagonal, by forward elimination and back substitution (LDL^T): the fiber
    /// is as long as it should be after one iteration, however many edges it has. On a GPU all lanes build the equations and
    /// move the particles, one lane per fiber solves them.
    ///
    /// A phase with a fiber that visits a moving particle twice, such as a ring, is solved as [`FiberSolver::GaussSeidel`]
    /// (cooked fibers never do; a loop is cooked as two).
    ///
    /// Kim, "Character Clothing in PhysX-3", 2011; with [`crate::Xpbd`] compliance and damping are on the diagonal
    /// (Macklin et al., "XPBD", 2016, eq. 26). Deviation: the last edge of a fiber between two pins keeps at most half of its
    /// diagonal from the edges before, as `shaders/stage/semi_implicit.wgsl` says.
    SemiImplicit,
    /// The same system by parallel cyclic reduction, many lanes per fiber: `log2(edges) + 2` barriers in place of a pass along
    /// the fiber and back. For few long fibers (ropes, ribbons, hair) on a GPU; on the CPU it costs `log2(edges)` times as
    /// much for the same result up to rounding.
    ///
    /// A phase with a fiber of two or more pins, or a cloth with motion spheres, which can pin any particle, is solved as
    /// [`FiberSolver::SemiImplicit`]. Hockney, Jesshope, "Parallel Computers", 1981; Zhang, Cohen, Owens, "Fast Tridiagonal
    /// Solvers on the GPU", 2010.
    CyclicReduction,
}

impl FiberSolver {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::GaussSeidel, Self::SemiImplicit, Self::CyclicReduction];

    /// Its name in scene files, and on the command line with `-` for `_`.
    pub fn name(self) -> &'static str {
        match self {
            Self::GaussSeidel => "gauss_seidel",
            Self::SemiImplicit => "semi_implicit",
            Self::CyclicReduction => "cyclic_reduction",
        }
    }
}

impl fmt::Display for FiberSolver {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for FiberSolver {
    type Err = ModelError;

    fn from_str(name: &str) -> Result<Self, ModelError> {
        parse_name("fiber solver", &Self::ALL, Self::name, name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fiber_solvers_are_found_by_name_with_either_dash() {
        for solver in FiberSolver::ALL {
            assert_eq!(solver.to_string().parse(), Ok(solver));
            assert_eq!(solver.name().replace('_', "-").parse(), Ok(solver));
        }
        assert_eq!(
            "gauss".parse::<FiberSolver>().unwrap_err().to_string(),
            "there is no fiber solver `gauss`; expected one of gauss_seidel, semi_implicit, cyclic_reduction"
        );
    }
}
