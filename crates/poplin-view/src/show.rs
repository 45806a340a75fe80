//! Interface of a viewer to the program that provides the scenes.

use std::error::Error;
use std::path::Path;

use poplin::model::Shape;
use poplin::{ClothId, Simulation};
use poplin_picture::View;
use poplin_scene::Wind;

/// Error of a scene.
pub type ShowError = Box<dyn Error + Send + Sync>;

/// Cloth of a scene, with its copies.
#[derive(Debug, Clone)]
pub struct ShownCloth {
    /// Name in the scene.
    pub name: String,
    /// Copies, at least one.
    pub ids: Vec<ClothId>,
    /// Time-dependent wind that acts on the cloth, if there is one.
    pub wind: Option<Wind>,
}

/// Scene in simulation.
pub trait Show {
    /// Returns the title for display.
    fn title(&self) -> &str;

    /// Returns the frames per second [1/s].
    fn frame_rate(&self) -> f32;

    /// Returns the first view, if the scene states one.
    fn view(&self) -> Option<View>;

    /// Returns the number of frames simulated since the start.
    fn frame(&self) -> u32;

    /// Returns the cloths.
    fn cloths(&self) -> &[ShownCloth];

    /// Returns the cloths, to change their wind.
    fn cloths_mut(&mut self) -> &mut [ShownCloth];

    /// Returns the current world-space shapes of the colliders.
    ///
    /// # Errors
    /// Error of a motion file that cannot be read.
    fn shapes(&self) -> Result<Vec<Shape>, ShowError>;

    /// Returns the simulation, to read and tune it.
    fn simulation(&mut self) -> &mut Simulation;

    /// Sets the motion of the scene over the next frame, and returns its length \[s\].
    ///
    /// # Errors
    /// Error of the simulation.
    fn prepare(&mut self) -> Result<f32, ShowError>;

    /// Simulates the prepared frame of `dt` seconds.
    ///
    /// # Errors
    /// Error of the simulation or of a recording.
    fn step(&mut self, dt: f32) -> Result<(), ShowError>;

    /// Resets the scene to its start, keeps the settings and ends a recording.
    ///
    /// # Errors
    /// Error of the simulation.
    fn reset(&mut self) -> Result<(), ShowError>;

    /// Resets the scene and starts a recording.
    ///
    /// # Errors
    /// Error of files that cannot be written.
    fn record(&mut self) -> Result<(), ShowError>;

    /// Tests whether a recording is in progress.
    fn is_recording(&self) -> bool;

    /// Ends the recording and returns a message with its location.
    ///
    /// # Errors
    /// Error of a file that cannot be written.
    fn stop_recording(&mut self) -> Result<String, ShowError>;

    /// Saves the current settings and returns a message with the file.
    ///
    /// # Errors
    /// Error of a file that cannot be written.
    fn save(&mut self) -> Result<String, ShowError>;
}

/// Scenes of the program.
pub trait Scenes {
    /// Returns the names of the available scenes.
    fn names(&self) -> Vec<&'static str>;

    /// Opens a scene by its name, a scene file, or a mesh.
    ///
    /// # Errors
    /// Error of a scene that cannot be opened.
    fn open(&self, scene: &Path) -> Result<Box<dyn Show>, ShowError>;
}
