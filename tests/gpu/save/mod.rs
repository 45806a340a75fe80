//! Snapshots: a simulation restored from one, or from its bytes, on either backend, continues with
//! the same bits as the original.

mod bytes;
mod restore;

use poplin::{Backend, ClothId, Error, Simulation, Snapshot, State};
use poplin_model::{
    ClothContactSolver, ClothDesc, Collider, ColliderId, InteractionGroups, Pose, RigidBody, Shape,
    Sphere, TriangleMesh,
};
use poplin_testkit::scenes::{
    equip, hanging_sheet, implicit_sheet, loose_particles, random_cloth, random_xpbd_cloth,
};

/// Frame before which the snapshot is taken, and total number of frames.
const SAVED: usize = 6;

/// Number of frames of a run.
const END: usize = SAVED + 6;

/// Index of the cloth with inputs of every kind, in the order of adding.
const EQUIPPED: usize = 0;

/// Indices of the sheets that share a fabric.
const SHEETS: std::ops::Range<usize> = 4..7;

/// Groups of the sleeper and the only collider that it meets.
const HIDDEN: InteractionGroups = InteractionGroups { memberships: 2, filter: 2 };

/// Groups of the colliders that the sleeper does not meet.
const PLAIN: InteractionGroups = InteractionGroups { memberships: 1, filter: u32::MAX };

/// Scene whose inputs all change from frame to frame.
struct Scene {
    /// Colliders of the shared set: a chain of capsules, a mesh, a ball with a body, and a ball
    /// that only the sleeper meets.
    chain: Vec<ColliderId>,
    mesh: ColliderId,
    heavy: ColliderId,
    hidden: ColliderId,
}

fn at(translation: [f32; 3]) -> Pose {
    Pose { translation, ..Pose::default() }
}

/// Closed mesh of four triangles.
fn tetrahedron() -> TriangleMesh {
    let vertices = [[0.0, 0.3, 0.0], [0.3, -0.1, 0.0], [-0.2, -0.1, 0.3], [-0.2, -0.1, -0.3]];
    let triangles = [[0, 2, 1], [0, 3, 2], [0, 1, 3], [1, 2, 3]];
    TriangleMesh { vertices: vertices.into(), triangles: triangles.into() }
}

/// Sheet with self collision and cloth collision; the scene has three copies that share a fabric.
fn sheet() -> ClothDesc {
    let mut cloth = hanging_sheet(5, 5);
    cloth.config.self_collision.distance = Some(0.15);
    cloth.config.cloth_collision.distance = Some(0.1);
    cloth.config.contact.friction = 0.4;
    cloth.config.air.drag = 0.2;
    cloth
}

/// Loose particles that fall asleep.
fn sleeper() -> ClothDesc {
    let mut cloth = loose_particles((0..4).map(|k| [k as f32, 5.0, 0.0, 1.0]).collect());
    cloth.config.sleep.threshold = 1e-3;
    cloth.config.sleep.test_interval = 10;
    cloth.config.sleep.after_count = 3;
    cloth.collider_groups = HIDDEN;
    cloth
}

impl Scene {
    fn build(simulation: &mut Simulation) -> Self {
        let set = simulation.colliders_mut();
        let ball = |x: f32| Sphere { center: [x, -0.5, 0.1], radius: 0.25 };
        let bone = |k: usize| poplin_model::Capsule {
            ends: [ball(0.1 * k as f32), ball(0.1 * (k + 1) as f32)],
        };
        let gone = set.add(Shape::sphere(1.0)).unwrap();
        let chain = (0..12).map(|k| Collider { groups: PLAIN, ..bone(k).into() });
        let chain = chain.map(|bone| set.add(bone).unwrap()).collect();
        let mesh = set
            .add(Collider { groups: PLAIN, pose: at([0.2, -0.3, 0.6]), ..tetrahedron().into() })
            .unwrap();
        let body = set.add_body(RigidBody { inverse_mass: 0.5, ..RigidBody::default() }).unwrap();
        let heavy = Collider {
            body: Some(body),
            groups: PLAIN,
            pose: at([0.8, -0.2, 0.5]),
            ..Shape::sphere(0.3).into()
        };
        let heavy = set.add(heavy).unwrap();
        let hidden =
            Collider { groups: HIDDEN, pose: at([0.0, 5.0, 2.0]), ..Shape::sphere(0.5).into() };
        let hidden = set.add(hidden).unwrap();
        set.remove(gone).unwrap();

        let mut random = random_cloth(5, 24);
        random.config.cloth_collision.distance = Some(0.0);
        let id = simulation.add(random).unwrap();
        equip(simulation.cloth_mut(id).unwrap(), 5);
        let gone = simulation.add(hanging_sheet(5, 5)).unwrap();
        simulation.add(random_xpbd_cloth(3, 26)).unwrap();
        let mut implicit = implicit_sheet(4, 4);
        let solver = implicit.config.solver.as_implicit_mut().unwrap();
        (solver.max_iterations, solver.stretch_stiffness) = (6, [1e4; 2]);
        simulation.add(implicit).unwrap();
        simulation.add(sleeper()).unwrap();
        let first = simulation.add(sheet()).unwrap();
        let copies = simulation.clone_cloth(first, 2).unwrap();
        for (k, copy) in (1..).zip(copies) {
            let pose = at([0.05, -0.06 * k as f32, 0.02]);
            simulation.cloth_mut(copy).unwrap().teleport_to(pose).unwrap();
        }
        let settings =
            ClothContactSolver { friction: 0.2, every: 2, ..ClothContactSolver::default() };
        simulation.set_cloth_contact_solver(settings).unwrap();
        simulation.remove(gone).unwrap();
        Self { chain, mesh, heavy, hidden }
    }

    /// Sets the inputs of a frame.
    fn drive(&self, simulation: &mut Simulation, frame: usize) {
        let t = frame as f32;
        let ids = simulation.ids().to_vec();
        let set = simulation.colliders_mut();
        for (k, &bone) in self.chain.iter().enumerate() {
            // Some capsules leave their neighbours, so that trees are refitted and rebuilt.
            let angle = 0.3 * t * (1 + k % 3) as f32;
            set.set_pose(bone, at([0.05 * angle.sin(), 0.0, 0.04 * angle.cos()])).unwrap();
        }
        set.set_pose(self.mesh, at([0.2, -0.3 - 0.01 * t, 0.6])).unwrap();
        if frame == SAVED {
            set.teleport(self.heavy, at([0.7, -0.2, 0.5])).unwrap();
        }
        if frame == SAVED + 3 {
            set.set_pose(self.hidden, at([0.0, 5.0, 0.3])).unwrap();
        }
        let angle = 0.02 * t;
        let pose = Pose {
            translation: [0.03 * t, 0.01 * t * t, 0.0],
            rotation: [0.0, angle.sin(), 0.0, angle.cos()],
        };
        let equipped = simulation.cloth_mut(ids[EQUIPPED]).unwrap();
        equipped.set_pose(pose).unwrap();
        let count = equipped.desc().particle_count();
        let sphere =
            |k: usize| Sphere { center: [0.1 * k as f32 - 1.0, 0.02 * t, 0.0], radius: 1.0 };
        equipped.set_motion_spheres(&(0..count).map(sphere).collect::<Vec<_>>()).unwrap();
        if frame % 4 == 2 {
            equipped.ignore_velocity_discontinuity();
            let accelerations = vec![[0.0, t, 0.0]; count];
            equipped.set_particle_accelerations(&accelerations).unwrap();
        }
        let first = simulation.cloth_mut(ids[SHEETS.start]).unwrap();
        let mut pin = first.desc().particles[0];
        pin.position[1] += 0.01 * t;
        first.write_particles(&[0], &[pin]).unwrap();
        first.set_pose(at([0.01 * t, 0.0, 0.0])).unwrap();
        if frame == SAVED - 1 {
            let mut config = first.desc().config.clone();
            config.air.wind_velocity = [3.0, 0.0, 1.0];
            first.set_config(config).unwrap();
            let order: Vec<u32> = first.desc().phase_order.iter().rev().copied().collect();
            first.set_phase_order(&order).unwrap();
        }
    }

    /// Sets inputs and steps frames; returns the state after each.
    fn run(&self, simulation: &mut Simulation, frames: std::ops::Range<usize>) -> Vec<State> {
        let step = |frame| {
            self.drive(simulation, frame);
            // Frames have different lengths.
            simulation.step(if frame % 3 == 1 { 1.0 / 50.0 } else { 1.0 / 60.0 }).unwrap();
            simulation.state().unwrap()
        };
        frames.map(step).collect()
    }
}

/// Snapshot of a scene before a frame, as bytes with pending inputs, and the states after that
/// frame and the following ones.
struct Saved {
    scene: Scene,
    bytes: Vec<u8>,
    simulation: Simulation,
    states: Vec<State>,
}

fn restore_bytes(simulation: &mut Simulation, bytes: &[u8]) -> Result<Vec<ClothId>, Error> {
    simulation.restore(&Snapshot::from_bytes(bytes)?)
}

/// Runs a scene on a backend and takes its snapshot on the way.
fn saved(backend: Backend) -> Saved {
    let mut simulation = Simulation::new(backend).unwrap();
    let scene = Scene::build(&mut simulation);
    scene.run(&mut simulation, 0..SAVED);
    scene.drive(&mut simulation, SAVED);
    let bytes = simulation.save().unwrap().to_bytes().unwrap();
    let states = scene.run(&mut simulation, SAVED..END);
    Saved { scene, bytes, simulation, states }
}
