//! Choice of the fiber solver.

use std::fmt;
use std::str::FromStr;

use crate::error::{ModelError, parse_name};

/// Solver of the edges of a fiber.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum FiberSolver {
    /// One edge after the other. Errors propagate by one edge per iteration against the order of
    /// the fiber. The cheapest iteration, and the one that supports soft edges.
    GaussSeidel,
    /// All edges of a fiber as one tridiagonal linear system, by forward elimination and back
    /// substitution (LDL^T): the fiber has its rest length after one iteration, however many edges
    /// it has. On a GPU all lanes build the equations and move the particles, and one lane per
    /// fiber solves them.
    ///
    /// A phase with a fiber that visits a moving particle twice, such as a ring, is solved with
    /// [`FiberSolver::GaussSeidel`] (cooked fibers never do; a loop is cooked as two fibers).
    ///
    /// Kim, "Character Clothing in PhysX-3", 2011; with [`crate::Xpbd`], compliance and damping are
    /// on the diagonal (Macklin et al., "XPBD", 2016, eq. 26). Deviation: elimination reduces the
    /// diagonal of the last edge of a fiber between two pins to no less than half, see
    /// `shaders/stage/semi_implicit.wgsl`.
    SemiImplicit,
    /// Parallel cyclic reduction of the same system, many lanes per fiber: `log2(edges) + 2`
    /// barriers instead of two sequential passes. For few long fibers (ropes, ribbons, hair) on a
    /// GPU; on the CPU it costs `log2(edges)` times as much for the same result up to rounding.
    ///
    /// A phase with a fiber of two or more pins, or a cloth with motion spheres, which can pin any
    /// particle, is solved with [`FiberSolver::SemiImplicit`]. Hockney, Jesshope, "Parallel
    /// Computers", 1981; Zhang, Cohen, Owens, "Fast Tridiagonal Solvers on the GPU", 2010.
    CyclicReduction,
}

impl FiberSolver {
    /// All fiber solvers.
    pub const ALL: [Self; 3] = [Self::GaussSeidel, Self::SemiImplicit, Self::CyclicReduction];

    /// Name in scene files; on the command line `-` may replace `_`.
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
    fn fiber_solvers_parse_from_names_with_hyphens_or_underscores() {
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
