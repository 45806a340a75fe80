//! Simulates the scenes of the page on the CPU backend, as reference for `cargo xtask web`: writes
//! the particles to `NAME.bin` in the folder of the first argument, after the number of frames of
//! the second argument.

use std::error::Error;
use std::fs::{create_dir_all, write};
use std::path::PathBuf;

use poplin::model::FixedStep;
use poplin::{Backend, Simulation};
use poplin_web::{FRAME_RATE, NAMES, Scene};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("the folder is missing")?);
    let frames: u32 = arguments.next().ok_or("the number of frames is missing")?.parse()?;
    create_dir_all(&folder)?;
    for name in NAMES {
        let scene = Scene::new(name)?;
        let mut simulation = Simulation::new(Backend::Cpu)?;
        for shape in &scene.shapes {
            simulation.colliders_mut().add(shape.clone())?;
        }
        let cloth = simulation.add(scene.cloth.clone())?;
        let dt = FixedStep::new(1.0 / FRAME_RATE, 1)?.dt();
        for number in 0..frames {
            scene.prepare(simulation.cloth_mut(cloth)?, number)?;
            simulation.step(dt)?;
        }
        let state = simulation.state()?;
        let rows = state.current(cloth).iter().flat_map(|particle| {
            let [x, y, z] = particle.position;
            [x, y, z, particle.inverse_mass].map(f32::to_le_bytes)
        });
        write(folder.join(name).with_extension("bin"), rows.flatten().collect::<Vec<u8>>())?;
    }
    Ok(())
}
