//! Setups: a scene with solver settings.

use poplin::Error;
use poplin::cook::{CookOptions, Tethers, cook};
use poplin_model::{Chosen, ClothDesc, Mesh};

use super::{FRAME_RATE, Method, Scene};

/// Mass of a cloth \[kg\], spread evenly over its particles.
pub(super) const MASS: f32 = 0.2;

/// Thickness of the dropped sheet \[m\].
const THICKNESS: f32 = 0.01;

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
            Method::Multilevel { stretch, iterations: own } => {
                format!("{stretch} N/m, {iterations} steps of {own} iterations")
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
    pub fn cloth(&self) -> Result<ClothDesc, Error> {
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
            levels: matches!(method, Method::Multilevel { .. }),
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
