//! Benchmark workloads: scenes with the solver settings they are run with.

use poplin::cook::{CookOptions, Tethers, cook};
use poplin::{ClothId, Error, Simulation, SimulationOptions};
use poplin_model::{
    Capsule, Chosen, Cloth, ColliderId, FiberSolver, Frame, Implicit, Mesh, Pbd, PbdPhase,
    PhaseKind, Phases, Plane, Preconditioner, Shape, Solver, Sphere,
};

/// Frames per second [1/s].
pub const FRAME_RATE: u32 = 60;

/// Mass of a cloth \[kg\], spread evenly over its particles.
const MASS: f32 = 0.2;

/// Difference in radius between the colliding and the visible ball \[m\]: only particles collide,
/// and the triangles between them reach further in.
const BALL_MARGIN: f32 = 5e-3;

/// Friction of the swinging sheets, and of the dropped sheet except in `w4-frictions`.
const FRICTION: f32 = 0.2;

/// Friction coefficients of `w4-frictions`.
const FRICTIONS: [f32; 8] = [0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5];

/// Thickness of the dropped sheet \[m\].
const THICKNESS: f32 = 0.01;

/// Bending rigidity with the implicit solver [N m].
const BENDING: f32 = 1e-6;

/// Fiber length limit above every fiber here, for fibers from border to border \[edges\].
const WHOLE: u32 = 1 << 12;

/// Number of cloths in the workload `headline`.
const BATCH: usize = 50;

/// Stiffness of the stretch, shear and bending edges of hanging cloths.
const STIFFNESS: [f32; 3] = [1.0, 0.8, 0.5];

/// Damping of hanging cloths, so that they come to rest.
const DAMPING: f32 = 0.2;

/// Group of setups of one scene or of a few related scenes.
#[derive(Debug, Clone, Copy)]
pub struct Workload {
    /// Name on the command line and in tables.
    pub name: &'static str,
    /// Description for help pages and table captions.
    pub about: &'static str,
    setups: fn() -> Vec<Setup>,
}

/// Scene and solver settings: a row of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setup {
    /// Simulated cloths and shapes.
    pub scene: Scene,
    /// Solver of the edges.
    pub method: Method,
    /// Iterations per frame, 1 or more.
    pub iterations: u32,
}

/// Cloths and shapes. All cloths are 1 m x 1 m squares of 0.2 kg; z is up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scene {
    /// Cloths that hang by two corners, without friction and tethers, with stiffness 1, 0.8 and 0.5
    /// against stretch, shear and bending.
    Hanging {
        /// Number of cloths.
        cloths: usize,
        /// Particles along each side of a cloth.
        side: u32,
        /// True if each cloth collides with four moving tapered capsules.
        has_capsules: bool,
    },
    /// Level sheet at z = 1, pinned at two corners of one side, that swings down onto a ball of
    /// radius 0.25 m at (0, 0.5, 0.55).
    Swing {
        /// Particles along each side.
        side: u32,
        /// True if the sheet has tethers.
        has_tethers: bool,
    },
    /// Level sheet of 64 x 64 particles and 1 cm thickness with self collision, dropped from z =
    /// 0.5 onto a ball of radius 0.2 m that lies on the floor z = 0.
    Drop {
        /// Coefficient of friction with ball and floor.
        friction: f32,
    },
}

/// Solver of the edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// PBD, edge by edge: fibers of a single edge by Gauss-Seidel.
    SingleEdges,
    /// PBD with default settings.
    Default,
    /// PBD with the settings and iterations that [`Cloth::choose_solver`] chooses.
    Chosen,
    /// PBD with the default solvers and fibers from border to border.
    WholeFibers,
    /// PBD with all phases solved semi-implicitly over fibers from border to border.
    SemiImplicit,
    /// [`Method::SemiImplicit`] with each iteration removing the whole error of a fiber.
    SemiImplicitFully,
    /// XPBD without compliance over fibers from border to border.
    Xpbd,
    /// Implicit solver; the iterations of a setup are its substeps.
    Implicit {
        /// Membrane stiffness [N/m].
        stretch: u16,
        /// Shear stiffness [N/m].
        shear: u16,
        /// Preconditioner of the conjugate gradients.
        preconditioner: Preconditioner,
        /// Largest number of iterations per substep.
        most: u16,
    },
}

impl Workload {
    /// All workloads, in the order of tables.
    pub const ALL: [Self; 8] = [
        Self {
            name: "headline",
            about: "50 hanging cloths of 16 x 16, each with 4 moving tapered capsules",
            setups: headline,
        },
        Self {
            name: "sheet-64",
            about: "a hanging cloth of 64 x 64, edge by edge",
            setups: || vec![hanging_sheet(64)],
        },
        Self {
            name: "sheet-128",
            about: "a hanging cloth of 128 x 128, edge by edge",
            setups: || vec![hanging_sheet(128)],
        },
        Self {
            name: "w1",
            about: "a sheet of 16 x 16 swings down onto a ball, friction 0.2",
            setups: small_swings,
        },
        Self {
            name: "w3-64",
            about: "a sheet of 64 x 64 swings down onto a ball, friction 0.2",
            setups: medium_swings,
        },
        Self {
            name: "w3-128",
            about: "a sheet of 128 x 128 swings down onto a ball, friction 0.2",
            setups: large_swings,
        },
        Self {
            name: "w4",
            about: "a sheet of 64 x 64 that collides with itself, dropped on a ball on the floor",
            setups: drops,
        },
        Self {
            name: "w4-frictions",
            about: "the same sheet by 8 frictions, with which crossings come and go",
            setups: drops_by_friction,
        },
    ];

    /// Returns the workload with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|workload| workload.name == name)
    }

    /// Setups of the workload, in the order of its table.
    pub fn setups(&self) -> Vec<Setup> {
        (self.setups)()
    }
}

fn headline() -> Vec<Setup> {
    let scene = Scene::Hanging { cloths: BATCH, side: 16, has_capsules: true };
    let methods = [Method::SingleEdges, Method::Default, Method::SemiImplicit];
    let both = methods.map(|method| [1, 5].map(|iterations| Setup { scene, method, iterations }));
    both.concat()
}

fn hanging_sheet(side: u32) -> Setup {
    let scene = Scene::Hanging { cloths: 1, side, has_capsules: false };
    Setup { scene, method: Method::SingleEdges, iterations: 5 }
}

fn swings(side: u32, settings: &[(Method, u32, bool)]) -> Vec<Setup> {
    let setup = |&(method, frequency, has_tethers): &(Method, u32, bool)| Setup {
        scene: Scene::Swing { side, has_tethers },
        method,
        iterations: frequency / FRAME_RATE,
    };
    settings.iter().map(setup).collect()
}

fn small_swings() -> Vec<Setup> {
    let settings = [
        (Method::Default, 120, true),
        (Method::Default, 300, true),
        (Method::SemiImplicitFully, 300, true),
        (Method::Xpbd, 480, false),
        (Method::Chosen, 300, true),
        (Method::by_mass(2000, 600, 96), 4 * FRAME_RATE, false),
        (Method::by_fibers(10_000, 100, 8), 8 * FRAME_RATE, false),
    ];
    swings(16, &settings)
}

fn medium_swings() -> Vec<Setup> {
    let settings = [
        (Method::Default, 300, true),
        (Method::Default, 300, false),
        (Method::SemiImplicitFully, 120, true),
        (Method::SemiImplicitFully, 300, true),
        (Method::SemiImplicitFully, 360, false),
        (Method::Chosen, 300, true),
        (Method::by_mass(2000, 600, 1000), 8 * FRAME_RATE, false),
        (Method::by_mass(3000, 300, 35), 6 * FRAME_RATE, false),
        (Method::by_fibers(10_000, 100, 8), 8 * FRAME_RATE, false),
    ];
    swings(64, &settings)
}

fn large_swings() -> Vec<Setup> {
    let settings = [
        (Method::Default, 300, true),
        (Method::SemiImplicitFully, 480, true),
        (Method::Chosen, 480, true),
        (Method::by_mass(4000, 400, 48), 8 * FRAME_RATE, false),
    ];
    swings(128, &settings)
}

fn drops() -> Vec<Setup> {
    let settings = [
        (Method::Default, 5),
        (Method::WholeFibers, 10),
        (Method::SemiImplicitFully, 10),
        (Method::Xpbd, 12),
        (Method::Chosen, 7),
        (Method::by_mass(1000, 300, 40), 20),
    ];
    settings.map(|(method, iterations)| drop(FRICTION, method, iterations)).to_vec()
}

fn drops_by_friction() -> Vec<Setup> {
    let settings = [
        (Method::Default, 5),
        (Method::WholeFibers, 5),
        (Method::WholeFibers, 10),
        (Method::Xpbd, 12),
        (Method::Chosen, 7),
    ];
    let of_settings = |(method, iterations)| FRICTIONS.map(|x| drop(x, method, iterations));
    settings.map(of_settings).concat()
}

fn drop(friction: f32, method: Method, iterations: u32) -> Setup {
    Setup { scene: Scene::Drop { friction }, method, iterations }
}

impl Method {
    /// Implicit solver preconditioned by mass.
    const fn by_mass(stretch: u16, shear: u16, most: u16) -> Self {
        Self::Implicit { stretch, shear, preconditioner: Preconditioner::Mass, most }
    }

    /// Implicit solver preconditioned by fibers.
    const fn by_fibers(stretch: u16, shear: u16, most: u16) -> Self {
        Self::Implicit { stretch, shear, preconditioner: Preconditioner::Fibers, most }
    }

    /// Fiber length limit \[edges\]; `None` leaves it to the cooker.
    fn max_fiber_length(self) -> Option<u32> {
        match self {
            Self::SingleEdges => Some(1),
            Self::Default | Self::Chosen | Self::Implicit { .. } => None,
            Self::WholeFibers | Self::SemiImplicit | Self::SemiImplicitFully | Self::Xpbd => {
                Some(WHOLE)
            }
        }
    }

    /// Solver settings with `iterations` per frame and, for PBD, this stiffness of stretch, shear
    /// and bending edges.
    fn solver(self, iterations: u32, [stretch, shear, bending]: [f32; 3]) -> Solver {
        let fiber_solver = match self {
            Self::SingleEdges => Some(FiberSolver::GaussSeidel),
            Self::Default | Self::Chosen | Self::WholeFibers => None,
            Self::SemiImplicit | Self::SemiImplicitFully => Some(FiberSolver::SemiImplicit),
            Self::Xpbd => return Solver::xpbd(iterations),
            Self::Implicit { stretch, shear, preconditioner, most } => {
                return Implicit {
                    substeps: iterations,
                    stretch_stiffness: [stretch.into(); 2],
                    shear_stiffness: shear.into(),
                    bending_rigidity: BENDING,
                    preconditioner,
                    max_iterations: most.into(),
                    ..Implicit::default()
                }
                .into();
            }
        };
        let mut phases = Phases::default();
        for kind in PhaseKind::ALL {
            let stiffness = match kind {
                PhaseKind::Vertical | PhaseKind::Horizontal => stretch,
                PhaseKind::Shearing => shear,
                PhaseKind::Bending => bending,
            };
            *phases.kind_mut(kind) = PbdPhase { fiber_solver, stiffness, ..PbdPhase::default() };
        }
        Pbd { frequency: (iterations * FRAME_RATE) as f32, phases, ..Pbd::default() }.into()
    }

    fn name(self) -> &'static str {
        match self {
            Self::SingleEdges => "Gauss-Seidel, single edges",
            Self::Default => "default",
            Self::Chosen => "as chosen",
            Self::WholeFibers => "default, whole fibers",
            Self::SemiImplicit => "all semi-implicit, whole fibers",
            Self::SemiImplicitFully => "all semi-implicit, whole fibers, full stiffness",
            Self::Xpbd => "XPBD, whole fibers",
            Self::Implicit { preconditioner: Preconditioner::Mass, .. } => "implicit by mass",
            Self::Implicit { preconditioner: Preconditioner::Fibers, .. } => "implicit by fibers",
        }
    }
}

impl Setup {
    /// Formats the solver settings and special features of the scene:
    /// `default, 300 Hz, no tethers`.
    pub fn settings(&self) -> String {
        let Self { scene, method, iterations } = self;
        let effort = match method {
            Method::Xpbd => format!("{iterations} substeps"),
            Method::Implicit { stretch, shear, most, .. } => {
                format!(
                    "{stretch} and {shear} N/m, {iterations} steps of at most {most} iterations"
                )
            }
            _ => format!("{} Hz", iterations * FRAME_RATE),
        };
        let method = format!("{}, {effort}", method.name());
        match scene {
            Scene::Swing { has_tethers: false, .. } => format!("{method}, no tethers"),
            Scene::Drop { friction } => format!("{method}, friction {friction}"),
            _ => method,
        }
    }

    /// Creates a cloth of the scene in its start state, with its shapes.
    ///
    /// # Errors
    /// [`Error::Model`] if a shape is rejected, which would be a bug of this function.
    pub fn cloth(&self) -> Result<Cloth, Error> {
        let Self { scene, method, iterations } = *self;
        let side = scene.side();
        let mut mesh = Mesh::grid(side, side, 1.0, 1.0);
        mesh.positions.iter_mut().for_each(|position| *position = scene.start(*position));
        let tethers = match scene {
            Scene::Swing { has_tethers: true, .. } => Tethers::Geodesic,
            _ => Tethers::None,
        };
        let options = CookOptions {
            masses: Some(vec![MASS / (side * side) as f32; mesh.positions.len()]),
            pins: if scene.is_pinned() { vec![0, side - 1] } else { Vec::new() },
            max_fiber_length: method.max_fiber_length(),
            tethers,
            gravity: scene.down(),
            bends: matches!(method, Method::Implicit { .. }),
            ..CookOptions::default()
        };
        let mut cloth = cook(&mesh, &options).expect("a grid cooks").into_cloth();
        let config = &mut cloth.config;
        config.gravity = [0.0, 0.0, -9.81];
        config.contact.friction = scene.friction();
        config.solver = method.solver(iterations, scene.stiffness());
        config.damping = scene.damping();
        if method == Method::SemiImplicitFully {
            // Each iteration removes the whole error of a fiber.
            config.stiffness_frequency = (iterations * FRAME_RATE) as f32;
        }
        if scene.keeps_apart() {
            config.thickness = THICKNESS;
        }
        if method == Method::Chosen {
            cloth.choose_solver(Chosen::ALL);
        }
        for shape in scene.colliders(0, 0.0) {
            cloth.colliders.add(shape)?;
        }
        Ok(cloth)
    }
}

impl Scene {
    /// Default number of frames that are timed and measured.
    pub fn frames(&self) -> u32 {
        match self {
            Self::Hanging { .. } | Self::Swing { .. } => 120,
            Self::Drop { .. } => 180,
        }
    }

    /// Number of frames before these, in which hanging cloths come to rest.
    pub fn settling(&self) -> u32 {
        if matches!(self, Self::Hanging { .. }) { 60 } else { 0 }
    }

    /// Number of cloths.
    pub fn cloths(&self) -> usize {
        if let Self::Hanging { cloths, .. } = self { *cloths } else { 1 }
    }

    /// Tests whether the cloth has self collision.
    pub fn keeps_apart(&self) -> bool {
        matches!(self, Self::Drop { .. })
    }

    /// Visible solids that a cloth must not penetrate at a time \[s\].
    pub fn solids(&self, cloth: usize, time: f32) -> Vec<Shape> {
        match *self {
            Self::Hanging { has_capsules: true, .. } => {
                (0..4).map(|capsule| moving_capsule(capsule, cloth, time).into()).collect()
            }
            Self::Hanging { .. } => Vec::new(),
            Self::Swing { .. } => {
                vec![Sphere { center: [0.0, 0.5, 0.55], radius: 0.25 }.into()]
            }
            Self::Drop { .. } => vec![Sphere { center: [0.0, 0.0, 0.2], radius: 0.2 }.into()],
        }
    }

    /// Floor plane, if there is one.
    pub fn floor(&self) -> Option<Plane> {
        let floor = Plane { normal: [0.0, 0.0, 1.0], offset: 0.0 };
        matches!(self, Self::Drop { .. }).then_some(floor)
    }

    fn side(&self) -> u32 {
        match *self {
            Self::Hanging { side, .. } | Self::Swing { side, .. } => side,
            Self::Drop { .. } => 64,
        }
    }

    fn is_pinned(&self) -> bool {
        !matches!(self, Self::Drop { .. })
    }

    /// Direction of gravity for the cooker. For a level sheet: the direction along which it will
    /// hang.
    fn down(&self) -> [f32; 3] {
        if matches!(self, Self::Swing { .. }) { [0.0, 1.0, 0.0] } else { [0.0, 0.0, -1.0] }
    }

    /// Stiffness of stretch, shear and bending edges.
    fn stiffness(&self) -> [f32; 3] {
        if matches!(self, Self::Hanging { .. }) { STIFFNESS } else { [1.0; 3] }
    }

    fn damping(&self) -> [f32; 3] {
        if matches!(self, Self::Hanging { .. }) { [DAMPING; 3] } else { [0.0; 3] }
    }

    fn friction(&self) -> f32 {
        match *self {
            Self::Hanging { .. } => 0.0,
            Self::Swing { .. } => FRICTION,
            Self::Drop { friction } => friction,
        }
    }

    /// Start position of a vertex of the unit grid \[m\].
    fn start(&self, [x, _, y]: [f32; 3]) -> [f32; 3] {
        match self {
            Self::Hanging { .. } => [x - 0.5, 0.0, -y],
            Self::Swing { .. } => [x - 0.5, y, 1.0],
            Self::Drop { .. } => [x - 0.5, y - 0.5, 0.5],
        }
    }

    /// Colliding shapes of a cloth at a time \[s\].
    fn colliders(&self, cloth: usize, time: f32) -> Vec<Shape> {
        let grown = |shape| match shape {
            Shape::Sphere(Sphere { center, radius }) => {
                Sphere { center, radius: radius + BALL_MARGIN }.into()
            }
            other => other,
        };
        let solids = self.solids(cloth, time).into_iter().map(grown);
        solids.chain(self.floor().map(Shape::from)).collect()
    }
}

/// One of four tapered capsules that swing against a cloth from behind, with a different phase for
/// each cloth.
fn moving_capsule(capsule: usize, cloth: usize, time: f32) -> Capsule {
    let phase = 0.37 * cloth as f32 + 1.3 * capsule as f32;
    let y = -0.01 + 0.01 * (2.0 * time + phase).sin();
    let (x, z) = ([-0.25, 0.25][capsule % 2], [-0.4, -0.75][capsule / 2]);
    let end = |offset: f32, radius| Sphere { center: [x + offset, y, z + offset], radius };
    Capsule { ends: [end(-0.06, 0.07), end(0.06, 0.05)] }
}

/// Running simulation of a setup.
#[derive(Debug)]
pub struct Stage {
    /// Simulation with all cloths of the scene.
    pub simulation: Simulation,
    /// Handles of the cloths.
    pub cloths: Vec<ClothId>,
    scene: Scene,
    /// Colliders of each cloth.
    colliders: Vec<Vec<ColliderId>>,
    /// Number of simulated frames.
    frame: u32,
}

impl Stage {
    /// Adds the cloths to a simulation and simulates until hanging cloths have come to rest.
    ///
    /// # Errors
    /// [`Error`] if the backend cannot be used or is out of memory.
    pub fn new(setup: &Setup, options: &SimulationOptions) -> Result<Self, Error> {
        let scene = setup.scene;
        let mut simulation = Simulation::new(options.clone())?;
        let cloth = setup.cloth()?;
        let cloths = (0..scene.cloths()).map(|_| simulation.add(cloth.clone()));
        let cloths = cloths.collect::<Result<Vec<_>, _>>()?;
        let handles = |&id: &ClothId| {
            let set = simulation.cloth(id)?.colliders();
            Ok::<_, Error>(set.iter().map(|(collider, _)| collider).collect())
        };
        let colliders = cloths.iter().map(handles).collect::<Result<_, _>>()?;
        let mut stage = Self { simulation, cloths, scene, colliders, frame: 0 };
        for _ in 0..scene.settling() {
            stage.step()?;
        }
        Ok(stage)
    }

    /// Simulates one frame: moves the colliders, steps, and waits for the state.
    ///
    /// # Errors
    /// [`Error`] if the GPU failed.
    pub fn step(&mut self) -> Result<(), Error> {
        self.frame += 1;
        if matches!(self.scene, Scene::Hanging { has_capsules: true, .. }) {
            let time = self.time();
            for (index, (&id, colliders)) in self.cloths.iter().zip(&self.colliders).enumerate() {
                let set = self.simulation.cloth_mut(id)?.colliders_mut();
                for (&collider, shape) in colliders.iter().zip(self.scene.colliders(index, time)) {
                    set.set_shape(collider, shape)?;
                }
            }
        }
        self.simulation.step(&Frame { dt: 1.0 / FRAME_RATE as f32 })?;
        self.simulation.wait()
    }

    /// Simulated time \[s\].
    pub fn time(&self) -> f32 {
        self.frame as f32 / FRAME_RATE as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poplin::Backend;
    use poplin::cook::Solids;

    /// Distance up to which a particle outside counts as touching \[m\].
    const SKIN: f64 = 1e-4;

    #[test]
    fn rows_as_chosen_have_the_iterations_that_are_chosen() {
        let setups = Workload::ALL.iter().flat_map(Workload::setups);
        let chosen: Vec<_> = setups.filter(|setup| setup.method == Method::Chosen).collect();
        assert_eq!(chosen.len(), 12);
        for setup in chosen {
            let cloth = setup.cloth().unwrap();
            let frequency = cloth.config.solver.as_pbd().unwrap().frequency;
            assert_eq!(frequency, (setup.iterations * FRAME_RATE) as f32, "{setup:?}");
        }
    }

    #[test]
    fn seven_to_thirteen_particles_touch_the_capsules() {
        let setups = Workload::named("headline").unwrap().setups();
        assert_eq!(setups.len(), 6);
        for setup in setups.into_iter().filter(|setup| setup.iterations == 5) {
            let cloth = setup.cloth().unwrap();
            assert_eq!((cloth.fabric.edge_count(), cloth.particle_count()), (1378, 256));
            let mut stage = Stage::new(&setup, &Backend::Cpu.into()).unwrap();
            let (frames, mut touching) = (20, 0);
            for _ in 0..frames {
                stage.step().unwrap();
                let state = stage.simulation.state().unwrap();
                for (index, &id) in stage.cloths.iter().enumerate() {
                    let solids = Solids::new(&setup.scene.solids(index, stage.time()));
                    let depth = |position: [f32; 3]| solids.depth(position.map(f64::from));
                    touching +=
                        state.positions(id).filter(|&position| depth(position) > -SKIN).count();
                }
            }
            let mean = touching as f64 / (frames * stage.cloths.len()) as f64;
            assert!((7.0..=13.0).contains(&mean), "{}: {mean} particles", setup.settings());
        }
    }

    #[test]
    fn particles_have_equal_masses_and_the_ball_a_margin() {
        let setup = Workload::named("w3-64").unwrap().setups()[0];
        let cloth = setup.cloth().unwrap();
        let free = cloth.particles.iter().filter(|particle| particle.inverse_mass > 0.0);
        let inverse = 64.0 * 64.0 / MASS;
        let is_equal = |mass: f32| (mass / inverse - 1.0).abs() < 1e-5;
        assert_eq!(free.filter(|particle| is_equal(particle.inverse_mass)).count(), 64 * 64 - 2);
        let shapes: Vec<_> = cloth.colliders.iter().map(|(_, collider)| &collider.shape).collect();
        let ball = Sphere { center: [0.0, 0.5, 0.55], radius: 0.255 };
        assert_eq!(shapes, [&Shape::from(ball)]);
        assert_eq!(cloth.config.contact.friction, 0.2);
    }

    #[test]
    fn every_setup_is_valid_and_named_once_in_its_workload() {
        for workload in Workload::ALL {
            let setups = workload.setups();
            let mut names: Vec<_> = setups.iter().map(Setup::settings).collect();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), setups.len(), "{}", workload.name);
            // Large ones take the same code.
            for setup in setups.iter().filter(|setup| setup.scene.side() < 128) {
                setup.cloth().unwrap().validate().unwrap();
            }
        }
        assert!(Workload::named("w2").is_none());
    }
}
