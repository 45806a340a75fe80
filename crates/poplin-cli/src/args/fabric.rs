//! Options that change every cloth of a scene, or the cloth of `--mesh`.

use clap::{Args, ValueEnum};
use poplin::model::{ClothConfig, FiberSolver, Solver};
use poplin_io::scene::{PhaseOptions, PhaseSettings, SceneCloth, Tethers, WarpDirection};

use super::ranges::{density, friction, rigidity, share, solver_frequency, thickness};

/// How meshes become fabrics.
#[derive(Debug, Args)]
#[command(next_help_heading = "Fabric (of every cloth; replaces what the scene says)")]
pub(crate) struct FabricArgs {
    /// Mass per area [kg/m^2] [default: 0.2, a light cotton]
    #[arg(long, value_name = "DENSITY", value_parser = density, allow_negative_numbers = true)]
    density: Option<f32>,
    /// Longest chain of edges that one thread works, 1 to 1024; 1 = coloured edges [default: as costs a GPU the least,
    /// with xpbd as long as the mesh lets it be]
    #[arg(long, value_name = "EDGES", value_parser = clap::value_parser!(u32).range(1..=1024), allow_negative_numbers = true)]
    max_fiber_length: Option<u32>,
    /// Make no edges that resist folding
    #[arg(long)]
    no_bending: bool,
    /// What keeps particles from straying from the pins [default: geodesic]
    #[arg(long, value_enum, value_name = "KIND")]
    tethers: Option<TetherKind>,
    /// What tells vertical from horizontal edges [default: gravity]
    #[arg(long, value_enum, value_name = "KIND")]
    direction: Option<DirectionKind>,
}

/// How the solver works.
#[derive(Debug, Args)]
#[command(next_help_heading = "Solver (of every cloth; replaces what the scene says)")]
pub(crate) struct SolverArgs {
    /// Iterations per second [1/s], 1 to 10000; higher is stiffer and costs more [default: 300; 2000 with --mesh]
    #[arg(long, value_name = "RATE", value_parser = solver_frequency, allow_negative_numbers = true)]
    solver_frequency: Option<f32>,
    /// Share of the velocity lost every tenth of a second, 0 to 1 [default: 0; 0.2 with --mesh]
    #[arg(long, value_name = "SHARE", value_parser = share, allow_negative_numbers = true)]
    damping: Option<f32>,
    /// Solver; xpbd has compliances in place of stiffnesses, which go back to their defaults [default: pbd]
    #[arg(long, value_enum, value_name = "KIND")]
    solver: Option<SolverKind>,
    /// Iterations of a frame with --solver xpbd, 1 to 20000 [default: 20]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=20_000), requires = "solver")]
    substeps: Option<u32>,
    /// Bending rigidity with --solver xpbd [N m], 0 to 1e6; 0 = off [default: 1e-5, cotton]
    #[arg(long, value_name = "RIGIDITY", value_parser = rigidity, allow_negative_numbers = true, requires = "solver")]
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
    /// As long as the way along the mesh
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
    /// Puts what was given in place of what the cloth has.
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
    /// Puts what was given in place of what the cloth has.
    pub(crate) fn apply(&self, cloth: &mut SceneCloth) {
        match self.solver {
            Some(SolverKind::Pbd) => self.use_pbd(cloth),
            Some(SolverKind::Xpbd) => self.use_xpbd(cloth),
            None => {}
        }
        if let Some(kind) = self.fiber_solver {
            let fiber_solver = match kind {
                FiberSolverKind::Mixed => None,
                FiberSolverKind::GaussSeidel => Some(FiberSolver::GaussSeidel),
                FiberSolverKind::SemiImplicit => Some(FiberSolver::SemiImplicit),
                FiberSolverKind::CyclicReduction => Some(FiberSolver::CyclicReduction),
            };
            phases(cloth).into_iter().for_each(|phase| phase.fiber_solver = fiber_solver);
        }
        let config = &mut cloth.config;
        config.solver_frequency = self.solver_frequency.unwrap_or(config.solver_frequency);
        config.damping = self.damping.map_or(config.damping, |share| [share; 3]);
        config.contact.friction = self.friction.unwrap_or(config.contact.friction);
        config.thickness = self.thickness.unwrap_or(config.thickness);
    }

    /// Position-based, with defaults in place of what only XPBD knows.
    fn use_pbd(&self, cloth: &mut SceneCloth) {
        let config = &mut cloth.config;
        (config.solver, config.bending_rigidity, config.bending_damping) = (Solver::Pbd, 0.0, 0.0);
        for phase in phases(cloth) {
            (phase.compliance, phase.damping) = (0.0, 0.0);
        }
    }

    /// XPBD with defaults in place of what only PBD knows, and bends in place of two-ring edges.
    fn use_xpbd(&self, cloth: &mut SceneCloth) {
        let (config, default) = (&mut cloth.config, ClothConfig::default());
        let was_xpbd = config.solver.is_xpbd();
        let known = if let Solver::Xpbd { substeps } = config.solver { substeps } else { 20 };
        config.solver = Solver::Xpbd { substeps: self.substeps.unwrap_or(known) };
        (config.solver_frequency, config.acceleration_filter_width) =
            (default.solver_frequency, default.acceleration_filter_width);
        let rigidity = if was_xpbd { config.bending_rigidity } else { 1e-5 };
        config.bending_rigidity = self.bending_rigidity.unwrap_or(rigidity);
        if config.bending_rigidity == 0.0 {
            config.bending_damping = 0.0;
        }
        if !was_xpbd {
            cloth.fabric.bending = false;
            for phase in phases(cloth) {
                let PhaseOptions { fiber_solver, compliance, damping, .. } = *phase;
                *phase =
                    PhaseOptions { fiber_solver, compliance, damping, ..PhaseOptions::default() };
            }
        }
    }
}

fn phases(cloth: &mut SceneCloth) -> [&mut PhaseOptions; 4] {
    let PhaseSettings { vertical, horizontal, shearing, bending } = &mut cloth.phases;
    [vertical, horizontal, shearing, bending]
}
