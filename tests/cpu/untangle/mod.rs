//! Triangle contact of scenes that start crossed: crossings are counted exactly, resolved within a
//! second and stay resolved; those that cannot be resolved stay reported and cause no fast motion.

mod forced;
mod sheets;
mod solids;
mod stuck;

use glam::{Quat, Vec3};
use poplin::cook::{CookOptions, cook};
use poplin_host::Engine as _;
use poplin_model::{ClothDesc, Collider, ContactReport, Mesh};
use poplin_testkit::compare::same_bits;
use poplin_testkit::crossing_scene::{CrossingScene, weightless};

/// Thickness of every cloth \[m\].
const THICKNESS: f32 = 0.005;

/// Number of frames in a second.
const SECOND: usize = 60;

/// Rectangular sheet around the origin in the plane of x and z, displaced by `f`; its rest state is
/// flat.
fn sheet(columns: u32, [width, depth]: [f32; 2], f: impl Fn(Vec3) -> Vec3) -> ClothDesc {
    let rows = (columns as f32 * depth / width).round() as u32;
    let mut mesh = Mesh::grid(columns, rows, width, depth);
    for [x, _, z] in &mut mesh.positions {
        (*x, *z) = (*x - 0.5 * width, *z - 0.5 * depth);
    }
    let mut cloth = cook(&mesh, &CookOptions::default()).unwrap().into_cloth();
    let mass = 0.2 * width * depth / (columns * rows) as f32;
    let rest: Vec<[f32; 3]> = cloth.particles.iter().map(|it| it.position).collect();
    cloth.rest_positions = rest;
    for particle in &mut cloth.particles {
        particle.inverse_mass = 1.0 / mass;
        particle.position = f(particle.position.into()).into();
    }
    cloth.config.thickness = THICKNESS;
    cloth.config.contact.friction = 0.5;
    cloth.config.solver.as_pbd_mut().unwrap().frequency = 600.0;
    cloth
}

/// Scene with the reports of its cloths.
struct World {
    scene: CrossingScene,
}

impl World {
    fn new(cloths: &[ClothDesc], colliders: &[Collider]) -> Self {
        Self { scene: CrossingScene::new(cloths, colliders) }
    }

    fn positions(&self) -> Vec<Vec3> {
        let all = self.scene.ids.iter().flat_map(|&id| self.scene.engine.current(id));
        all.map(|particle| Vec3::from(particle.position)).collect()
    }

    fn report(&mut self, cloth: usize) -> ContactReport {
        self.scene.engine.state().unwrap().contact_report(self.scene.ids[cloth])
    }

    fn step(&mut self) {
        self.scene.engine.step(1.0 / 60.0).unwrap();
    }
}

/// Largest particle speed over the last frame [m/s], from the positions before it.
fn fastest_of(world: &World, before: &[Vec3]) -> f32 {
    let now = world.positions();
    let moved = now.iter().zip(before).map(|(now, before)| now.distance(*before));
    60.0 * moved.fold(0.0, f32::max)
}

/// Runs a scene that starts crossed: nothing is crossed after a second and during another half
/// second. Returns the largest speed of a particle [m/s].
#[track_caller]
fn comes_free(world: &mut World) -> f32 {
    let before = world.scene.crossings();
    let (mut free, mut fastest) = (None, 0.0f32);
    for frame in 1..=3 * SECOND / 2 {
        let positions = world.positions();
        world.step();
        fastest = fastest.max(fastest_of(world, &positions));
        let crossings = world.scene.crossings();
        let reports: Vec<_> = (0..world.scene.ids.len()).map(|cloth| world.report(cloth)).collect();
        if crossings > 0 {
            // Crossed again: an earlier moment without crossings does not count.
            free = None;
            assert!(reports.iter().any(|report| report.crossings > 0), "{reports:?}");
        } else {
            free = free.or(Some(frame));
            assert!(reports.iter().all(|report| report.crossings == 0), "{reports:?}");
        }
    }
    println!("{before} crossings at the start, free after frame {free:?}, up to {fastest:.2} m/s");
    assert!(free.is_some_and(|frame| frame <= SECOND), "free after frame {free:?}");
    fastest
}

/// A corner of one sheet pokes 2 cm through another sheet.
fn corner() -> World {
    let upright = sheet(16, [0.3, 0.3], |p| Vec3::new(p.x, p.z, 0.0));
    let rotation = Quat::from_rotation_y(std::f32::consts::FRAC_PI_4 + 0.1);
    let pointed = sheet(16, [0.3, 0.3], |p| {
        rotation * p + Vec3::new(0.003, 0.011, -0.3 * std::f32::consts::FRAC_1_SQRT_2 + 0.02)
    });
    World::new(&[weightless(upright), weightless(pointed)], &[])
}

/// A sheet that bends back in an arc and passes through itself with the last 1 cm.
fn hook() -> World {
    let radius = 0.03;
    let cloth = sheet(25, [0.3, 0.12], |p| {
        let (arc, x) = (std::f32::consts::PI * radius, p.x);
        if x < 0.0 {
            return p;
        }
        if x < arc {
            let angle = x / radius;
            return Vec3::new(radius * angle.sin(), radius * (1.0 - angle.cos()), p.z);
        }
        // Descends at 60 degrees until it is below.
        let (back, height) = (0.5 * (x - arc), 0.8660254 * (x - arc));
        Vec3::new(-back, 2.0 * radius - 1.35 * height, p.z)
    });
    World::new(&[weightless(cloth)], &[])
}

#[test]
fn threads_do_not_change_bits() {
    let with_threads = |count: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap();
        pool.install(|| {
            let mut world = hook();
            world.scene.engine.force_parts(count);
            (0..20).for_each(|_| world.step());
            world.scene.rows()
        })
    };
    let alone = with_threads(1);
    for count in [2, 3] {
        same_bits("several threads", &with_threads(count), &alone).unwrap();
    }
}

#[test]
fn a_reset_scene_has_the_same_bits_again() {
    let mut world = corner();
    (0..20).for_each(|_| world.step());
    let (first, report) = (world.scene.rows(), world.report(0));
    assert_eq!((report.frames, report.crossings), (20, 0));
    for id in world.scene.ids.clone() {
        world.scene.engine.reset(id).unwrap();
    }
    assert_eq!(world.report(0), ContactReport::default());
    (0..20).for_each(|_| world.step());
    same_bits("after a reset", &world.scene.rows(), &first).unwrap();
    assert_eq!(world.report(0), report);
}
