//! Benchmark workloads: scenes with the solver settings they are run with.

use super::scene::FRICTION;
use super::{FRAME_RATE, Method, Scene, Setup};

/// Friction coefficients of `w4-frictions`.
const FRICTIONS: [f32; 8] = [0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5];

/// Number of cloths in the workload `headline`.
const BATCH: usize = 50;

/// Group of setups of one scene or of a few related scenes.
#[derive(Debug, Clone, Copy)]
pub struct Workload {
    /// Name on the command line and in tables.
    pub name: &'static str,
    /// Description for help pages and table captions.
    pub about: &'static str,
    setups: fn() -> Vec<Setup>,
}

impl Workload {
    /// All workloads, in the order of tables.
    pub const ALL: [Self; 11] = [
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
        Self {
            name: "fine-64",
            about: "a sheet of 64 x 64 swings down by two corners",
            setups: || fine(64, 4),
        },
        Self {
            name: "fine-128",
            about: "a sheet of 128 x 128 swings down by two corners",
            setups: || fine(128, 5),
        },
        Self {
            name: "fine-256",
            about: "a sheet of 256 x 256 swings down by two corners",
            setups: || fine(256, 5),
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
        scene: Scene::Swing { side, has_ball: true, has_tethers },
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
        (Method::Multilevel { stretch: 5000, iterations: 4 }, 4 * FRAME_RATE, false),
    ];
    swings(64, &settings)
}

fn large_swings() -> Vec<Setup> {
    let settings = [
        (Method::Default, 300, true),
        (Method::SemiImplicitFully, 480, true),
        (Method::Chosen, 480, true),
        (Method::by_mass(4000, 400, 48), 8 * FRAME_RATE, false),
        (Method::Multilevel { stretch: 5000, iterations: 5 }, 4 * FRAME_RATE, false),
    ];
    swings(128, &settings)
}

/// Sheets that touch nothing: fibers with and without tethers, and the multilevel solver with these
/// iterations per step.
fn fine(side: u32, iterations: u16) -> Vec<Setup> {
    let free = Scene::Swing { side, has_ball: false, has_tethers: false };
    let tethered = Scene::Swing { side, has_ball: false, has_tethers: true };
    let multilevel = |stretch| Method::Multilevel { stretch, iterations };
    let settings = [
        (tethered, Method::SemiImplicitFully, 8),
        (free, Method::SemiImplicitFully, 16),
        (free, Method::Xpbd, 16),
        (free, multilevel(5000), 1),
        (free, multilevel(5000), 2),
        (free, multilevel(5000), 4),
        (free, multilevel(100_000), 4),
    ];
    settings.map(|(scene, method, iterations)| Setup { scene, method, iterations }).to_vec()
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

#[cfg(test)]
mod tests {
    use super::*;
    use poplin::Backend;
    use poplin::cook::Solids;
    use poplin_model::{Shape, Sphere};

    use super::super::SceneRun;
    use super::super::setup::MASS;

    /// Distance up to which a particle outside counts as touching \[m\].
    const SKIN: f64 = 1e-4;

    #[test]
    fn chosen_rows_have_the_chosen_iterations() {
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
            let mut run = SceneRun::new(&setup, &Backend::Cpu.into()).unwrap();
            let (frames, mut touching) = (20, 0);
            for _ in 0..frames {
                run.step().unwrap();
                let state = run.simulation.state().unwrap();
                for (index, &id) in run.cloths.iter().enumerate() {
                    let solids = Solids::new(&setup.scene.solids(index, run.time()));
                    let depth = |position: [f32; 3]| solids.depth(position.map(f64::from));
                    touching +=
                        state.positions(id).filter(|&position| depth(position) > -SKIN).count();
                }
            }
            let mean = touching as f64 / (frames * run.cloths.len()) as f64;
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
