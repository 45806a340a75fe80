//! Scenes of the page: a cloth, its colliders and its motion.

use std::f64::consts::TAU;

use poplin::Cloth;
use poplin::cook::{CookOptions, RenderMeshOptions, cook};
use poplin::model::{
    Capsule, ClothDesc, Mesh, ModelError, Plane, Pose, RenderMesh, SelfCollision, Shape, Sphere,
    Xpbd,
};
use poplin_picture::View;
use poplin_scene::{Gust, Wind};

use crate::WebError;

/// Names of the scenes, in the order of their buttons.
pub const NAMES: [&str; 3] = ["ball", "flag", "skirt"];

/// Frames per second of every scene.
pub const FRAME_RATE: f32 = 60.0;

/// Cloth and surroundings at the start.
#[derive(Debug, Clone)]
pub struct Scene {
    /// Simulated cloth; its own colliders are the body that wears it.
    pub cloth: ClothDesc,
    /// Drawn mesh of the cloth.
    pub drawn: RenderMesh,
    /// World-space colliders.
    pub shapes: Vec<Shape>,
    /// Bounding box for the first camera, lowest and highest corner \[m\].
    pub framed: [[f64; 3]; 2],
    /// View of the first camera.
    pub view: View,
    /// Index of the cloth colour.
    pub color: usize,
    wind: Wind,
    motion: fn(f64) -> Pose,
}

const GROUND: Shape = Shape::Plane(Plane { normal: [0.0, 1.0, 0.0], offset: 0.0 });

/// Returns a capsule between two points \[m\].
fn capsule(ends: [[f32; 3]; 2], radius: f32) -> Shape {
    Shape::Capsule(Capsule { ends: ends.map(|center| Sphere { center, radius }) })
}

/// Returns cotton with bends between triangles instead of two-ring edges.
fn cotton(substeps: u32, bending_rigidity: f32, shearing_compliance: f32) -> Xpbd {
    let mut xpbd = Xpbd { substeps, bending_rigidity, ..Xpbd::default() };
    xpbd.phases.shearing.compliance = shearing_compliance;
    xpbd
}

/// Cooks a mesh into a scene with only its cloth and the ground.
fn hang(mesh: &Mesh, pins: Vec<u32>, xpbd: Xpbd) -> Result<Scene, WebError> {
    let options = CookOptions { pins, bending: false, bends: true, ..CookOptions::default() };
    let cooked = cook(mesh, &options)?;
    let drawn = cooked.render_mesh(mesh, &RenderMeshOptions::default())?;
    let mut cloth = cooked.into_cloth();
    cloth.config.solver = xpbd.into();
    Ok(Scene {
        cloth,
        drawn,
        shapes: vec![GROUND],
        framed: [[-1.0, 0.0, -1.0], [1.0; 3]],
        view: View::THREE_QUARTER,
        color: 0,
        wind: Wind::default(),
        motion: |_| Pose::default(),
    })
}

impl Scene {
    /// Builds a scene of [`NAMES`].
    ///
    /// # Errors
    /// [`WebError::NoSuchScene`].
    pub fn new(name: &str) -> Result<Self, WebError> {
        match name {
            "ball" => Self::ball(),
            "flag" => Self::flag(),
            "skirt" => Self::skirt(),
            _ => Err(WebError::NoSuchScene { name: name.to_owned() }),
        }
    }

    /// Builds a square metre of cotton that falls over a ball and folds onto itself.
    fn ball() -> Result<Self, WebError> {
        let mut mesh = Mesh::grid(45, 45, 1.0, 1.0);
        mesh.positions.iter_mut().for_each(|[x, y, z]| (*x, *y, *z) = (*x - 0.5, 0.55, *z - 0.5));
        let mut scene = hang(&mesh, Vec::new(), cotton(20, 1e-5, 0.02))?;
        let config = &mut scene.cloth.config;
        config.damping = [0.2; 3];
        config.thickness = 0.01;
        config.contact.friction = 0.3;
        config.self_collision = SelfCollision { friction: 0.5, ..SelfCollision::default() };
        scene.shapes.push(Shape::Sphere(Sphere { center: [0.0, 0.22, 0.0], radius: 0.22 }));
        scene.framed = [[-0.5, 0.0, -0.5], [0.5, 0.6, 0.5]];
        scene.color = 1;
        Ok(scene)
    }

    /// Builds a flag in a gusty wind.
    fn flag() -> Result<Self, WebError> {
        let [columns, rows] = [49, 33];
        let mut mesh = Mesh::grid(columns, rows, 1.5, 1.0);
        mesh.positions.iter_mut().for_each(|[_, y, z]| (*y, *z) = (2.0 - *z, 0.0));
        let pins = (0..rows).map(|row| columns * row).collect();
        let mut scene = hang(&mesh, pins, cotton(20, 1e-4, 0.02))?;
        let config = &mut scene.cloth.config;
        config.damping = [0.05; 3];
        (config.air.drag, config.air.lift) = (0.04, 0.04);
        scene.shapes.push(capsule([[-0.025, 0.0, 0.0], [-0.025, 2.12, 0.0]], 0.02));
        scene.shapes.push(Shape::Sphere(Sphere { center: [-0.025, 2.15, 0.0], radius: 0.035 }));
        scene.framed = [[-0.1, 0.3, -0.6], [1.6, 2.2, 0.6]];
        // Gusts across the wind are as strong as along it and make the flag swing.
        let gust = Gust { strength: 6.0, period: 0.3, seed: 3, direction_spread: 1.0 };
        scene.wind = Wind { velocity: [8.0, 0.0, 0.0], gust };
        Ok(scene)
    }

    /// Builds a skirt on a rotating body.
    fn skirt() -> Result<Self, WebError> {
        let segments = 72;
        let mesh = Mesh::tube(segments, 28, 0.125, 0.38, 0.55);
        let mut scene = hang(&mesh, (0..segments).collect(), cotton(15, 1e-5, 0.02))?;
        let config = &mut scene.cloth.config;
        config.damping = [0.2; 3];
        config.thickness = 0.01;
        config.contact.friction = 0.2;
        (config.air.drag, config.air.lift) = (0.02, 0.01);
        // Colliders in local space move with the cloth.
        for shape in [
            capsule([[0.0, -0.05, 0.0], [0.0, 0.25, 0.0]], 0.115),
            capsule([[-0.06, -0.15, 0.0], [0.06, -0.15, 0.0]], 0.11),
            capsule([[-0.09, -0.2, 0.0], [-0.09, -0.94, 0.0]], 0.06),
            capsule([[0.09, -0.2, 0.0], [0.09, -0.94, 0.0]], 0.06),
        ] {
            scene.cloth.colliders.add(shape)?;
        }
        scene.framed = [[-0.5, 0.0, -0.5], [0.5, 1.3, 0.5]];
        scene.color = 2;
        // Half a rotation back and forth, with a pause at each end.
        scene.motion = |time| {
            // yaw = 1.6 (1 - c (3 - c^2) / 2), c = cos(2 pi t / 4): velocity 0 at both ends.
            let swing = (TAU * time / 4.0).cos();
            let yaw = 1.6 * (1.0 - swing * (1.5 - 0.5 * swing * swing));
            let (sin, cos) = (0.5 * yaw).sin_cos();
            let rotation = [0.0, sin as f32, 0.0, cos as f32];
            Pose { translation: [0.0, 1.0, 0.0], rotation }
        };
        scene.cloth.pose = (scene.motion)(0.0);
        Ok(scene)
    }

    /// Sets wind and pose of the cloth for the frame after `frame` frames; call it before every
    /// frame.
    ///
    /// # Errors
    /// [`ModelError`] if the wind is out of range.
    pub fn prepare(&self, cloth: &mut Cloth, frame: u32) -> Result<(), ModelError> {
        let time = f64::from(frame) / f64::from(FRAME_RATE);
        if self.wind != Wind::default() {
            let mut config = cloth.desc().config.clone();
            config.air.wind_velocity = self.wind.velocity_at(time);
            cloth.set_config(config)?;
        }
        cloth.set_pose((self.motion)(time + 1.0 / f64::from(FRAME_RATE)))
    }
}
