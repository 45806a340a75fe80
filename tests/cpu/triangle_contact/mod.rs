//! Triangle contact on the CPU backend: sheets on every kind of shape, stacks on slopes, piles and
//! fast collisions. No edge crosses a triangle, counted exactly in every frame; friction, momentum
//! and energy follow their laws.

mod fast;
mod friction;
mod repeat;
mod solids;

use glam::{DVec3, Vec3};
use poplin::ParticleMotion;
use poplin::cook::{CookOptions, cook};
use poplin_host::Engine as _;
use poplin_model::{ClothDesc, Collider, Mesh};
use poplin_testkit::crossing_scene::CrossingScene;

/// Thickness of every cloth \[m\].
const THICKNESS: f32 = 0.005;

/// Solver iterations per second [1/s].
const FREQUENCY: f32 = 600.0;

const FRICTION: f32 = 0.5;

/// Square sheet around the origin in the plane of x and z.
fn sheet(columns: u32, width: f32) -> ClothDesc {
    cooked_sheet(columns, width, &CookOptions::default())
}

fn cooked_sheet(columns: u32, width: f32, options: &CookOptions) -> ClothDesc {
    let mut mesh = Mesh::grid(columns, columns, width, width);
    for [x, _, z] in &mut mesh.positions {
        (*x, *z) = (*x - 0.5 * width, *z - 0.5 * width);
    }
    let mut cloth = cook(&mesh, options).unwrap().into_cloth();
    let mass = 0.2 * width * width / (columns * columns) as f32;
    for particle in &mut cloth.particles {
        particle.inverse_mass = 1.0 / mass;
    }
    cloth.config.thickness = THICKNESS;
    cloth.config.contact.friction = FRICTION;
    cloth.config.solver.as_pbd_mut().unwrap().frequency = FREQUENCY;
    cloth
}

fn each_position(mut cloth: ClothDesc, f: impl Fn(Vec3) -> Vec3) -> ClothDesc {
    for particle in &mut cloth.particles {
        particle.position = f(particle.position.into()).into();
    }
    cloth
}

fn moved(cloth: ClothDesc, by: [f32; 3]) -> ClothDesc {
    each_position(cloth, |p| p + Vec3::from(by))
}

/// Scene with the triangles of its cloths.
struct World {
    scene: CrossingScene,
    triangles: Vec<Vec<[u32; 3]>>,
}

impl World {
    fn new(cloths: &[ClothDesc], colliders: &[Collider]) -> Self {
        let triangles = cloths.iter().map(|cloth| cloth.fabric.triangles.to_vec()).collect();
        Self { scene: CrossingScene::new(cloths, colliders), triangles }
    }

    fn thrown(mut self, velocities: &[[f32; 3]]) -> Self {
        for (&id, &velocity) in self.scene.ids.iter().zip(velocities) {
            let particles = self.scene.engine.current(id).to_vec();
            let velocities = vec![velocity; particles.len()];
            let motion = ParticleMotion::Velocities(&velocities);
            self.scene.engine.set_particles(id, &particles, motion).unwrap();
        }
        self
    }

    /// Steps one frame and checks that nothing is crossed.
    #[track_caller]
    fn step(&mut self, frame: usize) {
        self.scene.engine.step(1.0 / 60.0).unwrap();
        let crossings = self.scene.crossings();
        let report = self.scene.engine.triangle_contact().report;
        assert_eq!(crossings, 0, "crossings after frame {frame}: {report:?}");
    }

    fn positions(&self, cloth: usize) -> Vec<DVec3> {
        let particles = self.scene.engine.current(self.scene.ids[cloth]).iter();
        particles.map(|particle| Vec3::from(particle.position).as_dvec3()).collect()
    }

    fn triangles(&self, cloth: usize) -> Vec<[[f64; 3]; 3]> {
        let positions = self.positions(cloth);
        let corner = |corner: u32| positions[corner as usize].to_array();
        self.triangles[cloth].iter().map(|corners| corners.map(corner)).collect()
    }

    fn mean(&self, cloth: usize) -> DVec3 {
        let positions = self.positions(cloth);
        positions.iter().sum::<DVec3>() / positions.len() as f64
    }

    /// Momentum \[kg m/s\], its scale (the sum of the absolute momenta of all particles), and
    /// kinetic energy \[J\].
    fn motion(&self) -> (DVec3, f64, f64) {
        let (mut momentum, mut size, mut energy) = (DVec3::ZERO, 0.0, 0.0);
        for &id in &self.scene.ids {
            for (now, before) in
                self.scene.engine.current(id).iter().zip(self.scene.engine.previous(id))
            {
                let [now_at, before_at] = [now, before].map(|p| Vec3::from(p.position).as_dvec3());
                let mass = 1.0 / f64::from(now.inverse_mass);
                let velocity = (now_at - before_at) * f64::from(FREQUENCY);
                momentum += mass * velocity;
                size += mass * velocity.length();
                energy += 0.5 * mass * velocity.length_squared();
            }
        }
        (momentum, size, energy)
    }

    fn momentum(&self, cloth: usize) -> DVec3 {
        let id = self.scene.ids[cloth];
        let pairs = self.scene.engine.current(id).iter().zip(self.scene.engine.previous(id));
        let each = pairs.map(|(now, before)| {
            let [now_at, before_at] = [now, before].map(|p| Vec3::from(p.position).as_dvec3());
            (now_at - before_at) * f64::from(FREQUENCY) / f64::from(now.inverse_mass)
        });
        each.sum()
    }
}
