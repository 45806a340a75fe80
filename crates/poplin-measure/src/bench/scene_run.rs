//! Simulation of a setup, frame by frame.

use poplin::{ClothId, Error, Simulation, SimulationOptions};
use poplin_model::ColliderId;

use super::{FRAME_RATE, Scene, Setup};

/// Running simulation of a setup.
#[derive(Debug)]
pub struct SceneRun {
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

impl SceneRun {
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
        let mut run = Self { simulation, cloths, scene, colliders, frame: 0 };
        for _ in 0..scene.settling() {
            run.step()?;
        }
        Ok(run)
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
        self.simulation.step(1.0 / FRAME_RATE as f32)?;
        self.simulation.wait()
    }

    /// Simulated time \[s\].
    pub fn time(&self) -> f32 {
        self.frame as f32 / FRAME_RATE as f32
    }
}
