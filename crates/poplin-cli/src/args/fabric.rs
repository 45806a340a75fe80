//! Options that change every cloth of a scene, or the cloth of `--mesh`.

use anyhow::anyhow;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use poplin::model::{BendModel, ContactMode, FiberSolver, Material, Preconditioner, StretchModel};
use poplin_cook::{Direction, Tethers};
use poplin_scene::{SceneCloth, Settings};

use poplin_run::{Failure, OrFail};

use super::ranges::{
    density, fraction, friction, max_fiber_length, perturbation, rigidity, share, solver_frequency,
    thickness, weld, whole,
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
    /// Distance within which vertices of the mesh become one [m], 0 or more [default: a millionth
    /// of the mesh's diagonal]
    #[arg(long, value_name = "DISTANCE", value_parser = weld, allow_negative_numbers = true)]
    weld: Option<f32>,
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
    /// Iterations per second [1/s], 1 to 10000; higher is more exact and costs more, and stiffer
    /// with pbd [default: chosen from the cloth; 2000 with --mesh; 1200 with xpbd and 240 with
    /// implicit or multilevel and a material]
    #[arg(long, value_name = "RATE", value_parser = solver_frequency, allow_negative_numbers = true)]
    solver_frequency: Option<f32>,
    /// Fraction of the velocity lost per tenth of a second, 0 to 1 [default: 0; 0.2 with --mesh]
    #[arg(long, value_name = "FRACTION", value_parser = fraction, allow_negative_numbers = true)]
    damping: Option<f32>,
    /// Solver; changing to another than pbd resets its stiffnesses to the defaults [default: pbd]
    #[arg(long, value_enum, value_name = "KIND")]
    solver: Option<SolverKind>,
    /// Iterations per frame with xpbd, steps per frame with implicit and multilevel, 1 to 20000, in
    /// place of --solver-frequency [default: 20; 4 with implicit and multilevel]
    #[arg(long, value_name = "COUNT", value_parser = whole(1..=20_000), allow_negative_numbers = true,
        conflicts_with = "solver_frequency")]
    substeps: Option<u32>,
    /// Bending rigidity with xpbd, implicit and multilevel [N m], 0 to 1e6; 0 = off [default: 1e-5,
    /// cotton]
    #[arg(long, value_name = "RIGIDITY", value_parser = rigidity, allow_negative_numbers = true,
        conflicts_with = "no_bending")]
    bending_rigidity: Option<f32>,
    /// Share of the second-order correction of velocities with xpbd, 0 to 0.8: what swings and
    /// spins goes on longer [default: 0]
    #[arg(long, value_name = "SHARE", value_parser = share, allow_negative_numbers = true)]
    second_order: Option<f32>,
    /// Stretch and shear model of implicit and multilevel [default: stretch-shear]
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
    /// Most Newton steps of multilevel per step, 1 to 20 [default: 4]
    #[arg(long, value_name = "COUNT", value_parser = whole(1..=20), allow_negative_numbers = true)]
    max_newton_steps: Option<u32>,
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
    /// Backward Euler on coarser levels, for fine cloth that holds its lengths; on the CPU
    Multilevel,
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
    named(StretchModel::ALL.map(|model| (model.name(), model.doc()))).try_map(|name| name.parse())
}

fn bend() -> impl TypedValueParser<Value = BendModel> {
    named(BendModel::ALL.map(|model| (model.name(), model.doc()))).try_map(|name| name.parse())
}

fn preconditioner() -> impl TypedValueParser<Value = Preconditioner> {
    named(Preconditioner::ALL.map(|kind| (kind.name(), kind.doc()))).try_map(|name| name.parse())
}

impl FabricArgs {
    /// States the options that were passed, over what the cloth states.
    ///
    /// # Errors
    /// [`Failure::BadInput`] for an option of a different solver than that of the cloth.
    pub(crate) fn apply(
        &self,
        cloth: &mut SceneCloth,
        solver: Option<&SolverArgs>,
    ) -> Result<(), Failure> {
        if let Some(material) = self.material {
            cloth.use_material(material).or_bad_input()?;
        }
        if let Some(kind) = solver.and_then(|options| options.solver) {
            cloth.use_solver(kind.name()).or_bad_input()?;
        }
        let solver_name = cloth.config.solver.name();
        let mut options = Settings::default();
        options.set_some("density", self.density);
        options.set_some("fabric.weld.distance", self.weld);
        options.set_some("fabric.max_fiber_length", self.max_fiber_length);
        options.set_some("fabric.tethers", self.tethers.map(Tethers::name));
        options.set_some("fabric.direction", self.direction.map(Direction::name));
        if self.no_bending {
            options.set("fabric.bending", false);
            if solver_name != "pbd" {
                options.set(&format!("solver.{solver_name}.bending_rigidity"), 0.0);
            }
        }
        match solver {
            Some(solver) => solver.apply(cloth, options),
            None => cloth.state(&options).or_bad_input(),
        }
    }
}

impl SolverKind {
    /// Name in scene files.
    fn name(self) -> &'static str {
        match self {
            Self::Pbd => "pbd",
            Self::Xpbd => "xpbd",
            Self::Implicit => "implicit",
            Self::Multilevel => "multilevel",
        }
    }
}

impl SolverArgs {
    /// States the options that were passed, beside those of the fabric.
    fn apply(&self, cloth: &mut SceneCloth, mut options: Settings) -> Result<(), Failure> {
        let name = cloth.config.solver.name();
        let passed = [
            (self.fiber_solver.is_some(), "--fiber-solver", &["pbd", "xpbd"][..]),
            (self.substeps.is_some(), "--substeps", &["xpbd", "implicit", "multilevel"]),
            (
                self.bending_rigidity.is_some(),
                "--bending-rigidity",
                &["xpbd", "implicit", "multilevel"],
            ),
            (self.second_order.is_some(), "--second-order", &["xpbd"]),
            (self.stretch.is_some(), "--stretch", &["implicit", "multilevel"]),
            (self.bend.is_some(), "--bend", &["implicit"]),
            (self.preconditioner.is_some(), "--preconditioner", &["implicit"]),
            (self.max_iterations.is_some(), "--max-iterations", &["implicit"]),
            (self.max_halvings.is_some(), "--max-halvings", &["implicit"]),
            (self.max_newton_steps.is_some(), "--max-newton-steps", &["multilevel"]),
        ];
        for (is_passed, option, needed) in passed {
            if is_passed && !needed.contains(&name) {
                return Err(Failure::BadInput(anyhow!(
                    "{option} needs the solver {}, but cloth `{}` uses {name}",
                    needed.join(" or "),
                    cloth.name
                )));
            }
        }
        let key = |key: &str| format!("solver.{name}.{key}");
        options.set_some(&key("frequency"), self.solver_frequency);
        options.set_some(&key("substeps"), self.substeps);
        options.set_some(&key("second_order"), self.second_order);
        options.set_some(&key("stretch"), self.stretch.map(StretchModel::name));
        options.set_some(&key("bend"), self.bend.map(BendModel::name));
        options.set_some(&key("preconditioner"), self.preconditioner.map(Preconditioner::name));
        options.set_some(&key("max_iterations"), self.max_iterations);
        options.set_some(&key("max_halvings"), self.max_halvings);
        options.set_some(&key("max_newton_steps"), self.max_newton_steps);
        options.set_some(&key("bending_rigidity"), self.bending_rigidity);
        if self.bending_rigidity.is_some() {
            options.reset("fabric.bends");
        }
        // Two-ring edges are rigid: beside them a bending rigidity has no effect.
        if self.bending_rigidity.is_some_and(|rigidity| rigidity > 0.0) {
            options.set("fabric.bending", false);
        }
        options.set_some("damping", self.damping.map(|fraction| vec![fraction; 3]));
        options.set_some("contact.friction", self.friction);
        options.set_some("thickness", self.thickness);
        options.set_some("perturbation", self.perturbation);
        cloth.state(&options).or_bad_input()?;
        // `mixed` is no value of a key.
        if let Some(fiber_solver) = self.fiber_solver {
            cloth.config.solver.set_fiber_solver(fiber_solver);
            cloth.chosen.fiber_solver = false;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use poplin_scene::Scene;

    #[derive(Parser)]
    struct Options {
        #[command(flatten)]
        fabric: FabricArgs,
        #[command(flatten)]
        solver: SolverArgs,
    }

    /// Applies options to a cloth with these lines in its scene.
    fn cloth(lines: &str, options: &[&str]) -> SceneCloth {
        let sheet = "[[cloth]]\ngrid = { columns = 3, rows = 3, width = 1, height = 1 }";
        let scene = Scene::parse(&format!("{sheet}\n{lines}"), "scene.toml").unwrap();
        let mut cloth = scene.cloths[0].clone();
        let options = Options::parse_from([&["options"], options].concat());
        options.fabric.apply(&mut cloth, Some(&options.solver)).unwrap();
        cloth
    }

    #[test]
    fn options_at_their_default_replace_a_material() {
        let options = ["--material", "silk", "--friction", "0", "--thickness", "0"];
        let config = cloth("", &options).config;
        assert_eq!((config.contact.friction, config.thickness), (0.0, 0.0));
        assert_eq!(config.solver.bending_rigidity(), Material::SILK.bending);
        let config = cloth("material = 'silk'", &["--bending-rigidity", "0"]).config;
        assert_eq!(config.solver.bending_rigidity(), 0.0);
        assert_eq!(config.contact.friction, Material::SILK.friction);
    }

    #[test]
    fn values_of_a_scene_survive_another_solver() {
        let stated = "material = 'silk'\ncontact.friction = 0\nsolver.pbd.frequency = 300";
        for (solver, options) in
            [("xpbd", &["--substeps", "7"]), ("implicit", &["--substeps", "2"])]
        {
            let cloth = cloth(stated, &[&["--solver", solver], &options[..]].concat());
            assert_eq!((cloth.config.solver.name(), cloth.config.contact.friction), (solver, 0.0));
            assert_eq!(cloth.config.solver.bending_rigidity(), Material::SILK.bending);
            assert!(!cloth.fabric.bending, "two-ring edges beside bends");
        }
    }

    #[test]
    fn a_solver_without_a_material_bends_like_cotton() {
        for solver in ["xpbd", "implicit"] {
            let cloth = cloth("solver.pbd.frequency = 300", &["--solver", solver]);
            assert_eq!(cloth.config.solver.bending_rigidity(), 1e-5);
        }
        let stated = "solver.xpbd.phases.shearing.fiber_solver = 'gauss_seidel'";
        let pbd = cloth(stated, &["--solver", "pbd"]).config.solver;
        let shearing = &pbd.as_pbd().unwrap().phases.shearing;
        assert_eq!(shearing.fiber_solver, Some(FiberSolver::GaussSeidel));
    }
}
