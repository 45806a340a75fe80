//! Options that change every cloth of a scene, or the cloth of `--mesh`.

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use poplin::model::{FiberSolver, Pbd, PbdPhase, Solver, Xpbd, XpbdPhase};
use poplin_io::scene::{SceneCloth, Tethers, WarpDirection};

use crate::failure::Failure;

use super::ranges::{density, fraction, friction, rigidity, solver_frequency, thickness};

/// How meshes become fabrics.
#[derive(Debug, Args)]
#[command(next_help_heading = "Fabric (of every cloth; replaces what the scene says)")]
pub(crate) struct FabricArgs {
    /// Mass per area [kg/m^2] [default: 0.2, a light cotton]
    #[arg(long, value_name = "DENSITY", value_parser = density, allow_negative_numbers = true)]
    density: Option<f32>,
    /// Longest chain of edges that one lane solves, 1 to 1024; 1 = coloured edges [default: as costs a GPU the least,
    /// with xpbd as long as the mesh lets it be]
    #[arg(long, value_name = "EDGES", value_parser = clap::value_parser!(u32).range(1..=1024), allow_negative_numbers = true)]
    max_fiber_length: Option<u32>,
    /// Make no edges that resist folding
    #[arg(long)]
    no_bending: bool,
    /// What keeps particles from straying from the pins [default: geodesic]
    #[arg(long, value_enum, value_name = "KIND")]
    tethers: Option<TetherKind>,
    /// What distinguishes vertical from horizontal edges [default: gravity]
    #[arg(long, value_enum, value_name = "KIND")]
    direction: Option<DirectionKind>,
}

/// The solver.
#[derive(Debug, Args)]
#[command(next_help_heading = "Solver (of every cloth; replaces what the scene says)")]
pub(crate) struct SolverArgs {
    /// Iterations per second of pbd [1/s], 1 to 10000; higher is stiffer and costs more [default: 300; 2000 with --mesh]
    #[arg(long, value_name = "RATE", value_parser = solver_frequency, allow_negative_numbers = true)]
    solver_frequency: Option<f32>,
    /// Fraction of the velocity lost every tenth of a second, 0 to 1 [default: 0; 0.2 with --mesh]
    #[arg(long, value_name = "FRACTION", value_parser = fraction, allow_negative_numbers = true)]
    damping: Option<f32>,
    /// Solver; xpbd has compliances in place of stiffnesses, which go back to their defaults [default: pbd]
    #[arg(long, value_enum, value_name = "KIND")]
    solver: Option<SolverKind>,
    /// Iterations of a frame with xpbd, 1 to 20000 [default: 20]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=20_000))]
    substeps: Option<u32>,
    /// Bending rigidity with xpbd [N m], 0 to 1e6; 0 = off [default: 1e-5, cotton]
    #[arg(long, value_name = "RIGIDITY", value_parser = rigidity, allow_negative_numbers = true)]
    bending_rigidity: Option<f32>,
    /// How fibers are solved [default: mixed]
    #[arg(long, value_enum, value_name = "KIND")]
    fiber_solver: Option<FiberSolverKind>,
    /// Coefficient of friction with colliders, 0 to 100 [default: 0; 0.4 with --mesh]
    #[arg(long, value_name = "COEFFICIENT", value_parser = friction, allow_negative_numbers = true)]
    friction: Option<f32>,
    /// Thickness [m], 0 to 1000; above 0 cloth collides with itself and with other cloth [default: 0]
    #[arg(long, value_name = "METRES", value_parser = thickness, allow_negative_numbers = true)]
    thickness: Option<f32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SolverKind {
    /// Position-based: stiffer with more iterations
    Pbd,
    /// Extended position-based with small steps: as stiff as its compliances say
    Xpbd,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FiberSolverKind {
    /// What holds against stretch as semi-implicit, the rest as gauss-seidel; with xpbd all as semi-implicit
    Mixed,
    /// One edge after the other: stretchy unless iterations are many
    GaussSeidel,
    /// All edges of a fiber at once: as long as it should be after one iteration
    SemiImplicit,
    /// The same by many GPU threads per fiber: for few long fibers
    CyclicReduction,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum TetherKind {
    /// As long as the path along the mesh
    Geodesic,
    /// As long as the straight line
    Euclidean,
    /// No tethers
    None,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DirectionKind {
    /// The direction of gravity
    Gravity,
    /// The texture coordinate v
    Uv,
}

impl FabricArgs {
    /// Overrides the cloth's settings with those passed.
    pub(crate) fn apply(&self, cloth: &mut SceneCloth) {
        let fabric = &mut cloth.fabric;
        cloth.density = self.density.unwrap_or(cloth.density);
        fabric.max_fiber_length = self.max_fiber_length.or(fabric.max_fiber_length);
        fabric.bending &= !self.no_bending;
        fabric.tethers = self.tethers.map_or(fabric.tethers, |kind| match kind {
            TetherKind::Geodesic => Tethers::Geodesic,
            TetherKind::Euclidean => Tethers::Euclidean,
            TetherKind::None => Tethers::None,
        });
        fabric.direction = self.direction.map_or(fabric.direction, |kind| match kind {
            DirectionKind::Gravity => WarpDirection::Gravity,
            DirectionKind::Uv => WarpDirection::Uv,
        });
    }
}

impl SolverArgs {
    /// Overrides the cloth's settings with those passed.
    ///
    /// # Errors
    /// [`Failure::BadInput`] for an option of one solver and a cloth that is solved by the other.
    pub(crate) fn apply(&self, cloth: &mut SceneCloth) -> Result<(), Failure> {
        match self.solver {
            Some(SolverKind::Pbd) => use_pbd(cloth),
            Some(SolverKind::Xpbd) => use_xpbd(cloth),
            None => {}
        }
        let config = &mut cloth.config;
        let name = config.solver.name();
        let (option, needed) = match &mut config.solver {
            Solver::Pbd(pbd) => {
                pbd.frequency = self.solver_frequency.unwrap_or(pbd.frequency);
                let rigidity = self.bending_rigidity.and(Some("--bending-rigidity"));
                (self.substeps.and(Some("--substeps")).or(rigidity), "xpbd")
            }
            Solver::Xpbd(xpbd) => {
                xpbd.substeps = self.substeps.unwrap_or(xpbd.substeps);
                xpbd.bending_rigidity = self.bending_rigidity.unwrap_or(xpbd.bending_rigidity);
                (self.solver_frequency.and(Some("--solver-frequency")), "pbd")
            }
        };
        if let Some(option) = option {
            return Err(Failure::BadInput(anyhow!(
                "{option} goes with the solver {needed}, but the cloth `{}` is solved by {name}",
                cloth.name
            )));
        }
        if let Some(kind) = self.fiber_solver {
            config.solver.set_fiber_solver(match kind {
                FiberSolverKind::Mixed => None,
                FiberSolverKind::GaussSeidel => Some(FiberSolver::GaussSeidel),
                FiberSolverKind::SemiImplicit => Some(FiberSolver::SemiImplicit),
                FiberSolverKind::CyclicReduction => Some(FiberSolver::CyclicReduction),
            });
        }
        config.damping = self.damping.map_or(config.damping, |fraction| [fraction; 3]);
        config.contact.friction = self.friction.unwrap_or(config.contact.friction);
        config.thickness = self.thickness.unwrap_or(config.thickness);
        Ok(())
    }
}

/// PBD as by default in place of XPBD; fibers are solved as they were.
fn use_pbd(cloth: &mut SceneCloth) {
    if let Solver::Xpbd(xpbd) = &cloth.config.solver {
        let phase = |phase: &XpbdPhase| PbdPhase {
            fiber_solver: phase.fiber_solver,
            ..PbdPhase::default()
        };
        let phases = xpbd.phases.map(phase);
        cloth.config.solver = Pbd { phases, ..Pbd::default() }.into();
    }
}

/// XPBD of cotton in place of PBD, and bends in place of two-ring edges; fibers are solved as they were.
fn use_xpbd(cloth: &mut SceneCloth) {
    if let Solver::Pbd(pbd) = &cloth.config.solver {
        let phase = |phase: &PbdPhase| XpbdPhase {
            fiber_solver: phase.fiber_solver,
            ..XpbdPhase::default()
        };
        let phases = pbd.phases.map(phase);
        cloth.config.solver = Xpbd { bending_rigidity: 1e-5, phases, ..Xpbd::default() }.into();
        cloth.fabric.bending = false;
    }
}
