//! Scenes with triangle contact in which crossings are counted exactly.

use glam::{Quat, Vec3};
use poplin::cpu::CpuEngine;
use poplin_host::{ClothId, Engine as _};
use poplin_measure::entanglement::EntanglementCounter;
use poplin_model::{
    ClothContactSolver, ClothDesc, Collider, ColliderId, ContactMode, Parallelepiped, Particle,
    Plane, Pose, Shape, TriangleMesh,
};

/// Returns the cloth without gravity.
pub fn weightless(mut cloth: ClothDesc) -> ClothDesc {
    cloth.config.gravity = [0.0; 3];
    cloth
}

/// Returns a pose at a point, without rotation.
pub fn at(translation: [f32; 3]) -> Pose {
    Pose { translation, ..Pose::default() }
}

/// The plane y = 0.
pub fn floor() -> Collider {
    Shape::from(Plane { normal: [0.0, 1.0, 0.0], offset: 0.0 }).into()
}

/// Creates a vertical cone with its tip, 2 mm wide, at a point \[m\].
pub fn spike([x, y, z]: [f32; 3], height: f32, radius: f32) -> Collider {
    let sides = 12;
    let ring = |radius: f32, y: f32| {
        (0..sides).map(move |k| {
            let angle = std::f32::consts::TAU * k as f32 / sides as f32;
            [x + radius * angle.cos(), y, z + radius * angle.sin()]
        })
    };
    let vertices: Vec<_> =
        ring(radius, y - height).chain(ring(0.001, y)).chain([[x, y, z]]).collect();
    let triangles: Vec<_> = (0..sides)
        .flat_map(|k| {
            let l = (k + 1) % sides;
            let (low, top) = (sides + k, sides + l);
            [[k, low, l], [l, low, top], [low, 2 * sides, top]]
        })
        .collect();
    let mesh = TriangleMesh { vertices: vertices.into(), triangles: triangles.into() };
    Shape::TriangleMesh(mesh).into()
}

/// Vertices and triangles of a shape that can be crossed.
fn surface(shape: &Shape) -> (Vec<[f32; 3]>, Vec<[u32; 3]>) {
    match shape {
        Shape::TriangleMesh(mesh) => (mesh.vertices.to_vec(), mesh.triangles.to_vec()),
        Shape::Parallelepiped(it) => (it.corners().to_vec(), Parallelepiped::TRIANGLES.to_vec()),
        _ => Default::default(),
    }
}

/// Cloths and colliders in triangle contact, with a counter of crossings.
#[derive(Debug)]
pub struct CrossingScene {
    /// Engine of the scene.
    pub engine: CpuEngine,
    /// Cloths of the scene.
    pub ids: Vec<ClothId>,
    /// Shared colliders of the scene.
    pub colliders: Vec<ColliderId>,
    /// Counter of crossings.
    pub counter: EntanglementCounter,
}

impl CrossingScene {
    /// Creates a scene of these cloths and colliders.
    ///
    /// # Panics
    /// Panics if the engine rejects one of them.
    pub fn new(cloths: &[ClothDesc], colliders: &[Collider]) -> Self {
        let mut engine = CpuEngine::default();
        let settings = ClothContactSolver {
            contact: ContactMode::Triangles,
            iterations: 4,
            ..ClothContactSolver::default()
        };
        engine.set_cloth_contact_solver(settings).expect("valid settings");
        let (mut rest, mut triangles, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        let parts = cloths.iter().map(|cloth| {
            let positions = cloth.particles.iter().map(|particle| particle.position);
            (positions.collect(), cloth.fabric.triangles.to_vec())
        });
        for (positions, own) in parts.chain(colliders.iter().map(|it| surface(&it.shape))) {
            // Cloths and colliders share one list of vertices.
            let base = rest.len() as u32;
            rest.extend(positions);
            triangles.extend(own.iter().map(|corners| corners.map(|corner| base + corner)));
            ends.push(rest.len());
        }
        Self {
            ids: cloths
                .iter()
                .map(|cloth| engine.add(cloth.clone()).expect("a valid cloth"))
                .collect(),
            colliders: colliders
                .iter()
                .map(|it| engine.colliders_mut().add(it.clone()).expect("a valid collider"))
                .collect(),
            counter: EntanglementCounter::new(&rest, &triangles, &ends),
            engine,
        }
    }

    /// Number of edges that cross triangles of cloths, boxes and meshes, counted exactly.
    ///
    /// # Panics
    /// Panics if a cloth or collider has been removed.
    pub fn crossings(&self) -> usize {
        let mut positions: Vec<[f32; 3]> = Vec::new();
        for &id in &self.ids {
            positions.extend(self.engine.current(id).iter().map(|particle| particle.position));
        }
        for &id in &self.colliders {
            let it = self.engine.colliders().get(id).expect("a collider of the scene");
            let (rotation, origin) = (Quat::from_array(it.pose.rotation), it.pose.translation);
            let vertices = surface(&it.shape).0.into_iter().map(Vec3::from);
            positions.extend(vertices.map(|p| (rotation * p + Vec3::from(origin)).to_array()));
        }
        self.counter.crossings(&positions)
    }

    /// Current and previous particles of all cloths.
    pub fn rows(&self) -> Vec<[f32; 4]> {
        let each = |&id: &ClothId| [self.engine.current(id), self.engine.previous(id)].concat();
        self.ids.iter().flat_map(|id| Particle::rows(&each(id)).to_vec()).collect()
    }
}
