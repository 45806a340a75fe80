//! What a viewer asks of the program that has the scenes.

use std::error::Error;
use std::path::Path;

use poplin::{ClothId, Simulation};
use poplin_io::picture::View;
use poplin_io::scene::Wind;
use poplin_model::{Frame, Shape};

/// What a scene reports if something fails.
pub type ShowError = Box<dyn Error + Send + Sync>;

/// A cloth of a scene, with its copies.
#[derive(Debug, Clone)]
pub struct ShownCloth {
    /// Name in the scene.
    pub name: String,
    /// The copies, at least one.
    pub ids: Vec<ClothId>,
    /// The wind that it feels and that its settings do not hold, if there is one.
    pub wind: Option<Wind>,
}

/// A scene in simulation.
pub trait Show {
    /// Title, for people.
    fn title(&self) -> &str;

    /// Frames per second [1/s].
    fn frame_rate(&self) -> f32;

    /// From where it is seen first, if it says so.
    fn view(&self) -> Option<View>;

    /// Frames simulated since the start.
    fn frame(&self) -> u32;

    /// Its cloths.
    fn cloths(&self) -> &[ShownCloth];

    /// Its cloths, to change their wind.
    fn cloths_mut(&mut self) -> &mut [ShownCloth];

    /// What the cloths collide with, where it is now.
    ///
    /// # Errors
    /// That a file which moves it cannot be read.
    fn shapes(&self) -> Result<Vec<Shape>, ShowError>;

    /// The simulation, to read and tune it.
    fn simulation(&mut self) -> &mut Simulation;

    /// Sets what the scene moves over the next frame, and says which frame that is.
    ///
    /// # Errors
    /// What the simulation says.
    fn prepare(&mut self) -> Result<Frame, ShowError>;

    /// Simulates the frame that was prepared.
    ///
    /// # Errors
    /// What the simulation or a recording says.
    fn step(&mut self, frame: &Frame) -> Result<(), ShowError>;

    /// Goes back to the start, with the settings as they are now; a recording ends.
    ///
    /// # Errors
    /// What the simulation says.
    fn reset(&mut self) -> Result<(), ShowError>;

    /// Goes back to the start and records from there.
    ///
    /// # Errors
    /// That the files cannot be written.
    fn record(&mut self) -> Result<(), ShowError>;

    /// Whether it records.
    fn is_recording(&self) -> bool;

    /// Ends the recording and says where it is.
    ///
    /// # Errors
    /// That a file could not be written.
    fn stop_recording(&mut self) -> Result<String, ShowError>;

    /// Saves the settings as they are now and says where.
    ///
    /// # Errors
    /// That the file could not be written.
    fn save(&mut self) -> Result<String, ShowError>;
}

/// The scenes of the program.
pub trait Scenes {
    /// The names of those to choose from.
    fn names(&self) -> Vec<&'static str>;

    /// Opens a scene by its name, a scene file, or a mesh.
    ///
    /// # Errors
    /// What is wrong with it.
    fn open(&self, scene: &Path) -> Result<Box<dyn Show>, ShowError>;
}
