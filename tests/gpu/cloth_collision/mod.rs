//! Particle contact between cloths: kernels against the CPU twin, the twin against all pairs in
//! `f64`, momentum, local spaces, groups, sleep, and no change where nothing collides.

mod all_pairs;
mod compare;
mod groups;
mod laws;
mod mirror;

use poplin_cook::{CookOptions, cook};
use poplin_cpu::{LaneEngine, ReferenceEngine, Team, Workers};
use poplin_geometry::Rng;
use poplin_host::Engine as _;
use poplin_model::{ClothContactSolver, ClothDesc, Mesh, Particle, Pose};
use poplin_testkit::nth_cloth;
use poplin_testkit::scenes::loose_particles;

/// Frame of a single iteration.
const STEP: f32 = 1.0 / 300.0;

/// Loose particles without forces.
fn cloud(particles: Vec<[f32; 4]>, distance: f32) -> ClothDesc {
    let mut cloth = loose_particles(particles);
    cloth.config.cloth_collision.distance = Some(distance);
    cloth
}

/// Random moving particles in a cube of `size` metres, some of them pinned.
fn random_cloud(rng: &mut Rng, count: usize, size: f32, distance: f32) -> ClothDesc {
    let mut particle = || {
        let [x, y, z] = rng.point(-0.5 * size, 0.5 * size);
        [x, y, z, if rng.index(5) == 0 { 0.0 } else { rng.range(0.1, 50.0) }]
    };
    let mut cloth = cloud((0..count).map(|_| particle()).collect(), distance);
    cloth.previous_positions = cloth
        .particles
        .iter()
        .map(|p| std::array::from_fn(|k| p.position[k] + rng.range(-0.01, 0.01)))
        .collect();
    cloth
}

/// Random rotation as a quaternion.
fn rotation(rng: &mut Rng) -> [f32; 4] {
    let [x, y, z] = rng.point(-1.0, 1.0);
    let length = (x * x + y * y + z * z + 0.3).sqrt();
    [x / length, y / length, z / length, 0.3f32.sqrt() / length]
}

fn sheet(columns: u32, width: f32, height: f32, distance: f32) -> ClothDesc {
    let mesh = Mesh::grid(columns, columns, width, width);
    let mut cloth = cook(&mesh, &CookOptions::default()).unwrap().into_cloth();
    for particle in &mut cloth.particles {
        particle.position = [particle.position[0] - 0.5 * width, height, particle.position[2]];
    }
    cloth.config.cloth_collision.distance = Some(distance);
    cloth
}

/// Cloths, settings and frames of a run.
struct Setup {
    name: &'static str,
    cloths: Vec<ClothDesc>,
    settings: ClothContactSolver,
    frames: Vec<f32>,
}

/// A sheet that is asleep when another one falls on it.
fn sleepers() -> Setup {
    let mut cloths: Vec<_> = [0.0, 0.25].map(|height| sheet(8, 0.4, height, 0.06)).to_vec();
    cloths[0].config.gravity = [0.0; 3];
    cloths[0].config.sleep.threshold = 0.05;
    cloths[0].config.sleep.after_count = 2;
    let settings = ClothContactSolver { friction: 0.3, ..ClothContactSolver::default() };
    Setup { name: "sleepers", cloths, settings, frames: vec![1.0 / 60.0; 20] }
}

fn on_mirror(setup: &Setup) -> ReferenceEngine {
    on_workers(setup, Team::single())
}

/// Runs a setup on the CPU with these workers.
fn on_workers<W: Workers + Clone + Send + Sync + 'static>(
    setup: &Setup,
    workers: W,
) -> LaneEngine<W> {
    let mut engine = LaneEngine::with_workers(workers);
    engine.set_cloth_contact_solver(setup.settings).unwrap();
    setup.cloths.iter().for_each(|cloth| assert!(engine.add(cloth.clone()).is_ok()));
    for (index, &dt) in setup.frames.iter().enumerate() {
        move_space(engine.cloth_mut(nth_cloth(setup.cloths.len() - 1)).unwrap(), index);
        engine.step(dt).unwrap();
    }
    engine
}

/// Moves and rotates a local space, as every run does with that of its last cloth.
fn move_space(host: &mut poplin::Cloth, index: usize) {
    if index > 0 {
        let half = 0.01 * index as f32;
        let translation = host.pose().translation.map(|x| x + 0.002);
        host.set_pose(Pose { translation, rotation: [0.0, half.sin(), 0.0, half.cos()] }).unwrap();
    }
}

/// Particles of all cloths in one list.
fn all(engine: &ReferenceEngine) -> Vec<[f32; 4]> {
    let ids = engine.ids().iter();
    ids.flat_map(|&id| Particle::rows(engine.current(id)).to_vec()).collect()
}
