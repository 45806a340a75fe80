//! Options that change every cloth of a scene, or the cloth of `--mesh`.

use anyhow::anyhow;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use poplin::model::{
    BendModel, Chosen, ClothConfig, ContactMode, FiberSolver, Implicit, Material, Pbd, PbdPhase,
    Preconditioner, Solver, StretchModel, Xpbd, XpbdPhase,
};
use poplin_cook::{Direction, Tethers};
use poplin_scene::SceneCloth;

use crate::failure::Failure;

use super::ranges::{
    density, fraction, friction, max_fiber_length, perturbation, rigidity, solver_frequency,
    thickness, whole,
};

/// Options of cooking: how a mesh becomes a fabric.
#[derive(Debug, Args)]
#[command(next_help_heading = "Fabric (of every cloth; replaces what the scene says)")]
pub(crate) struct FabricArgs {
    /// Material of the cloth: sets density, stretch, bending, damping, friction and thickness, with
    /// the solver xpbd; other options override single values
    #[arg(long, value_parser = material(), value_name = "NAME")]
    material: Option<Material>,
    /// Mass per area [kg/m^2] [default: from --material, or 0.2, light cotton]
    #[arg(long, value_name = "DENSITY", value_parser = density, allow_negative_numbers = true)]
    density: Option<f32>,
    /// Longest chain of edges that one lane solves, 1 or more; 1 = coloured edges [default: the
    /// cheapest on a GPU; with xpbd as long as the mesh allows]
    #[arg(long, value_name = "EDGES", value_parser = max_fiber_length, allow_negative_numbers = true)]
    max_fiber_length: Option<u32>,
    /// Cook no bending edges, and with xpbd no bends: nothing resists folding
    #[arg(long)]
    no_bending: bool,
    /// Tethers, which limit the distance of particles from pins [default: geodesic]
    #[arg(long, value_parser = tethers(), value_name = "KIND")]
    tethers: Option<Tethers>,
    /// Direction that separates vertical from horizontal edges [default: gravity]
    #[arg(long, value_parser = direction(), value_name = "KIND")]
    direction: Option<Direction>,
}

/// Options of the solver.
#[derive(Debug, Args)]
#[command(next_help_heading = "Solver (of every cloth; replaces what the scene says)")]
pub(crate) struct SolverArgs {
    /// Iterations per second of pbd [1/s], 1 to 10000; higher is stiffer and costs more [default:
    /// chosen from the cloth; 2000 with --mesh]
    #[arg(long, value_name = "RATE", value_parser = solver_frequency, allow_negative_numbers = true)]
    solver_frequency: Option<f32>,
    /// Fraction of the velocity lost per tenth of a second, 0 to 1 [default: 0; 0.2 with --mesh]
    #[arg(long, value_name = "FRACTION", value_parser = fraction, allow_negative_numbers = true)]
    damping: Option<f32>,
    /// Solver; changing to xpbd or implicit resets their stiffnesses to the defaults [default: pbd]
    #[arg(long, value_enum, value_name = "KIND")]
    solver: Option<SolverKind>,
    /// Iterations per frame with xpbd, steps per frame with implicit, 1 to 20000 [default: 20; 4
    /// with implicit]
    #[arg(long, value_name = "COUNT", value_parser = whole(1..=20_000), allow_negative_numbers = true)]
    substeps: Option<u32>,
    /// Bending rigidity with xpbd and implicit [N m], 0 to 1e6; 0 = off [default: 1e-5, cotton]
    #[arg(long, value_name = "RIGIDITY", value_parser = rigidity, allow_negative_numbers = true)]
    pub(crate) bending_rigidity: Option<f32>,
    /// Stretch and shear model of implicit [default: stretch-shear]
    #[arg(long, value_parser = stretch(), value_name = "MODEL")]
    stretch: Option<StretchModel>,
    /// Bending model of implicit [default: face-angle]
    #[arg(long, value_parser = bend(), value_name = "MODEL")]
    bend: Option<BendModel>,
    /// Preconditioner of implicit [default: mass]
    #[arg(long, value_parser = preconditioner(), value_name = "KIND")]
    preconditioner: Option<Preconditioner>,
    /// Most iterations of implicit per step, 1 to 1000 [default: 96]
    #[arg(long, value_name = "COUNT", value_parser = whole(1..=1000), allow_negative_numbers = true)]
    max_iterations: Option<u32>,
    /// Most times that implicit halves a step which does not converge in these iterations, 0 to 8
    /// [default: 0]
    #[arg(long, value_name = "COUNT", value_parser = whole(0..=8), allow_negative_numbers = true)]
    max_halvings: Option<u32>,
    /// Solver of fibers [default: semi-implicit where the frequency is chosen, else mixed]
    #[arg(long, value_parser = fiber_solver(), value_name = "KIND")]
    fiber_solver: Option<MixedOr>,
    /// Coefficient of friction with colliders, 0 to 100 [default: 0; 0.4 with --mesh]
    #[arg(long, value_name = "COEFFICIENT", value_parser = friction, allow_negative_numbers = true)]
    friction: Option<f32>,
    /// Thickness [m], 0 to 1000; above 0 cloth collides with itself and with other cloth [default:
    /// 0; the mean edge with --mesh, a third of it with --contact triangles]
    #[arg(long, value_name = "METRES", value_parser = thickness, allow_negative_numbers = true)]
    pub(crate) thickness: Option<f32>,
    /// Primitives of thick cloth that collide [default: particles]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) contact: Option<ContactKind>,
    /// Largest initial displacement of particles off the plane of a flat mesh, in mean edges, 0 to
    /// 0.1; at 0 a flat cloth may never fold [default: 0.001]
    #[arg(long, value_name = "FRACTION", value_parser = perturbation, allow_negative_numbers = true)]
    perturbation: Option<f32>,
}

/// Primitives of cloth that collide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ContactKind {
    /// Particles with particles: cheap, on every backend
    Particles,
    /// Vertices with faces and edges with edges, of cloths and of colliders: prevents crossings;
    /// untangles only on the CPU
    Triangles,
}

impl From<ContactKind> for ContactMode {
    fn from(kind: ContactKind) -> Self {
        match kind {
            ContactKind::Particles => Self::Particles,
            ContactKind::Triangles => Self::Triangles,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SolverKind {
    /// Position-based: stiffer with more iterations
    Pbd,
    /// Extended position-based with small steps: stiffness set by compliances
    Xpbd,
    /// Backward Euler: stiffness independent of step and mesh, and slower
    Implicit,
}

/// Fiber solver; `None` is `mixed`.
type MixedOr = Option<FiberSolver>;

/// Returns a parser of names, each with its help text; `_` in a name becomes `-`.
fn named(names: impl IntoIterator<Item = (&'static str, &'static str)>) -> PossibleValuesParser {
    let value =
        |(name, help): (&str, &'static str)| PossibleValue::new(name.replace('_', "-")).help(help);
    names.into_iter().map(value).collect::<Vec<_>>().into()
}

fn material() -> impl TypedValueParser<Value = Material> {
    let names = Material::ALL.map(|material| (material.name, material.about));
    named(names).try_map(|name| Material::named(&name).ok_or("there is no such material"))
}

fn tethers() -> impl TypedValueParser<Value = Tethers> {
    let help = |kind| match kind {
        Tethers::Geodesic => "As long as the path along the mesh",
        Tethers::Euclidean => "As long as the straight line",
        Tethers::None => "No tethers",
    };
    named(Tethers::ALL.map(|kind| (kind.name(), help(kind)))).try_map(|name| name.parse())
}

fn direction() -> impl TypedValueParser<Value = Direction> {
    let help = |kind| match kind {
        Direction::Gravity => "The direction of gravity",
        Direction::Uv => "The texture coordinate v",
    };
    named(Direction::ALL.map(|kind| (kind.name(), help(kind)))).try_map(|name| name.parse())
}

fn fiber_solver() -> impl TypedValueParser<Value = MixedOr> {
    let mixed =
        "Stretch fibers as semi-implicit, the rest as gauss-seidel; with xpbd all as semi-implicit";
    let help = |kind| match kind {
        FiberSolver::GaussSeidel => "One edge after another: stretchy unless iterations are many",
        FiberSolver::SemiImplicit => {
            "All edges of a fiber in one linear system: exact length after one iteration"
        }
        FiberSolver::CyclicReduction => {
            "The same system with many GPU threads per fiber: for few long fibers"
        }
    };
    let kinds = FiberSolver::ALL.map(|kind| (kind.name(), help(kind)));
    named(std::iter::once(("mixed", mixed)).chain(kinds))
        .try_map(|name| if name == "mixed" { Ok(None) } else { name.parse().map(Some) })
}

fn stretch() -> impl TypedValueParser<Value = StretchModel> {
    let help = |model| match model {
        StretchModel::StretchShear => "Threads along warp and weft, and the angle between them",
        StretchModel::Trispring => "Isotropic membrane that narrows under tension",
        StretchModel::Springs => {
            "Springs along edges; narrows under tension as far as shear is stiff"
        }
    };
    named(StretchModel::ALL.map(|model| (model.name(), help(model)))).try_map(|name| name.parse())
}

fn bend() -> impl TypedValueParser<Value = BendModel> {
    let help = |model| match model {
        BendModel::FaceAngle => "The angle between two triangles",
        BendModel::PlaneProjection => {
            "Distance of a corner from the plane of the adjacent triangle, up to 90 degrees"
        }
        BendModel::Isometric => "The mean curvature vector: cheap, for cloth that is flat at rest",
        BendModel::Springs => "Springs along two-ring edges: no modulus, weak where cloth is flat",
    };
    named(BendModel::ALL.map(|model| (model.name(), help(model)))).try_map(|name| name.parse())
}

fn preconditioner() -> impl TypedValueParser<Value = Preconditioner> {
    let help = |kind| match kind {
        Preconditioner::Mass => "Cheap iterations; keeps momentum at any number of iterations",
        Preconditioner::Fibers => {
            "Solves whole chains of warp and weft: for fine, stiff sheets with soft shear"
        }
    };
    named(Preconditioner::ALL.map(|kind| (kind.name(), help(kind)))).try_map(|name| name.parse())
}

impl FabricArgs {
    /// Overrides the cloth's settings with the options that were passed.
    pub(crate) fn apply(&self, cloth: &mut SceneCloth) {
        if let Some(material) = self.material {
            use_material(cloth, material);
        }
        let fabric = &mut cloth.fabric;
        fabric.density = self.density.unwrap_or(fabric.density);
        fabric.max_fiber_length = self.max_fiber_length.or(fabric.max_fiber_length);
        fabric.bending &= !self.no_bending;
        fabric.tethers = self.tethers.unwrap_or(fabric.tethers);
        fabric.direction = self.direction.unwrap_or(fabric.direction);
    }

    /// Resets a bending rigidity that no option states, if --no-bending or `fabric.bends = false`
    /// excludes bends.
    pub(crate) fn drop_bends(&self, cloth: &mut SceneCloth, stated_rigidity: Option<f32>) {
        let without_bends = self.no_bending || cloth.without_bends;
        if without_bends && stated_rigidity.is_none() {
            cloth.config.solver.set_bending_rigidity(0.0);
        }
    }
}

impl SolverArgs {
    /// Overrides the cloth's settings with the options that were passed.
    ///
    /// # Errors
    /// [`Failure::BadInput`] for an option of a different solver than that of the cloth.
    pub(crate) fn apply(&self, cloth: &mut SceneCloth) -> Result<(), Failure> {
        match self.solver {
            Some(SolverKind::Pbd) => use_pbd(cloth),
            Some(SolverKind::Xpbd) => use_xpbd(cloth),
            Some(SolverKind::Implicit) => use_implicit(cloth),
            None => {}
        }
        if self.solver_frequency.is_some() {
            cloth.chosen = Chosen::NONE;
        }
        cloth.chosen.fiber_solver &= self.fiber_solver.is_none();
        let config = &mut cloth.config;
        let name = config.solver.name();
        let options = [
            (self.solver_frequency.is_some(), "--solver-frequency", &["pbd"][..]),
            (self.fiber_solver.is_some(), "--fiber-solver", &["pbd", "xpbd"]),
            (self.substeps.is_some(), "--substeps", &["xpbd", "implicit"]),
            (self.bending_rigidity.is_some(), "--bending-rigidity", &["xpbd", "implicit"]),
            (self.stretch.is_some(), "--stretch", &["implicit"]),
            (self.bend.is_some(), "--bend", &["implicit"]),
            (self.preconditioner.is_some(), "--preconditioner", &["implicit"]),
            (self.max_iterations.is_some(), "--max-iterations", &["implicit"]),
            (self.max_halvings.is_some(), "--max-halvings", &["implicit"]),
        ];
        for (is_passed, option, needed) in options {
            if is_passed && !needed.contains(&name) {
                return Err(Failure::BadInput(anyhow!(
                    "{option} needs the solver {}, but cloth `{}` uses {name}",
                    needed.join(" or "),
                    cloth.name
                )));
            }
        }
        if let Some(rigidity) = self.bending_rigidity {
            config.solver.set_bending_rigidity(rigidity);
        }
        match &mut config.solver {
            Solver::Pbd(pbd) => pbd.frequency = self.solver_frequency.unwrap_or(pbd.frequency),
            Solver::Xpbd(xpbd) => xpbd.substeps = self.substeps.unwrap_or(xpbd.substeps),
            Solver::Implicit(implicit) => {
                implicit.substeps = self.substeps.unwrap_or(implicit.substeps);
                implicit.stretch = self.stretch.unwrap_or(implicit.stretch);
                implicit.bend = self.bend.unwrap_or(implicit.bend);
                implicit.preconditioner = self.preconditioner.unwrap_or(implicit.preconditioner);
                implicit.max_iterations = self.max_iterations.unwrap_or(implicit.max_iterations);
                implicit.max_halvings = self.max_halvings.unwrap_or(implicit.max_halvings);
            }
        }
        if let Some(fiber_solver) = self.fiber_solver {
            config.solver.set_fiber_solver(fiber_solver);
        }
        // Two-ring edges are rigid: beside them a bending rigidity has no effect.
        if self.bending_rigidity.is_some_and(|rigidity| rigidity > 0.0) {
            cloth.fabric.bending = false;
        }
        config.damping = self.damping.map_or(config.damping, |fraction| [fraction; 3]);
        config.contact.friction = self.friction.unwrap_or(config.contact.friction);
        config.thickness = self.thickness.unwrap_or(config.thickness);
        cloth.perturbation = self.perturbation.unwrap_or(cloth.perturbation);
        Ok(())
    }
}

/// Replaces the values that a material sets with those of `material`; the numerical settings of
/// XPBD and of the implicit solver stay.
fn use_material(cloth: &mut SceneCloth, material: Material) {
    let SceneCloth { config, fabric, .. } = cloth;
    fabric.density = material.density;
    fabric.bending = false;
    let default = ClothConfig::default();
    config.contact.friction = default.contact.friction;
    config.thickness = default.thickness;
    config.solver = match &config.solver {
        Solver::Pbd(_) => default.solver,
        Solver::Xpbd(xpbd) => Solver::xpbd(xpbd.substeps),
        Solver::Implicit(implicit) => Implicit {
            stretch_stiffness: Implicit::default().stretch_stiffness,
            shear_stiffness: Implicit::default().shear_stiffness,
            bending_rigidity: Implicit::default().bending_rigidity,
            bending_damping: Implicit::default().bending_damping,
            ..implicit.clone()
        }
        .into(),
    };
    material.fill(config);
    cloth.material = Some(material);
}

/// Switches to default PBD; fiber solvers stay.
fn use_pbd(cloth: &mut SceneCloth) {
    if let Solver::Implicit(_) = &cloth.config.solver {
        cloth.config.solver = Pbd::default().into();
    }
    if let Solver::Xpbd(xpbd) = &cloth.config.solver {
        let phase = |phase: &XpbdPhase| PbdPhase {
            fiber_solver: phase.fiber_solver,
            ..PbdPhase::default()
        };
        let phases = xpbd.phases.map(phase);
        cloth.config.solver = Pbd { phases, ..Pbd::default() }.into();
    }
}

/// Switches to XPBD with the rigidity of cotton, and from two-ring edges to bends; fiber solvers
/// stay.
fn use_xpbd(cloth: &mut SceneCloth) {
    if let Solver::Implicit(Implicit { bending_rigidity, .. }) = cloth.config.solver {
        cloth.config.solver = Xpbd { bending_rigidity, ..Xpbd::default() }.into();
        fill_solver(cloth);
    }
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

/// Switches to the implicit solver, with the stiffnesses of the material if there is one, and from
/// two-ring edges to bends.
fn use_implicit(cloth: &mut SceneCloth) {
    if cloth.config.solver.as_implicit().is_none() {
        cloth.config.solver = Implicit::default().into();
        fill_solver(cloth);
        if cloth.config.solver.bending_rigidity() == 0.0 {
            cloth.config.solver.set_bending_rigidity(1e-5);
        }
        cloth.fabric.bending = false;
    }
}

/// Sets the stiffnesses of the cloth's material, if it has one.
fn fill_solver(cloth: &mut SceneCloth) {
    if let Some(material) = cloth.material {
        material.fill(&mut cloth.config);
    }
}
