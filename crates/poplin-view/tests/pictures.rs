//! A picture shows the cloth in its colour, its shadow, and its strain.

use std::path::Path;

use poplin::cook::{CookOptions, cook};
use poplin::model::{Frame, Mesh, Plane, Shape};
use poplin::{Backend, Simulation};
use poplin_io::picture::{Image, View};
use poplin_testkit::skip::{is_gpu_off, skip};
use poplin_view::{Gpu, Scenes, Screenshot, Show, ShowError, ShownCloth, ViewError};

/// Width of the picture without the panel, and its height \[pixels\].
const SIDE: u32 = 300;

/// A level sheet of 1 m x 1 m over the ground, pinned at two sides and stretched by 10 % between them.
struct Sheet {
    simulation: Simulation,
    cloths: Vec<ShownCloth>,
    frame: u32,
}

impl Sheet {
    fn new() -> Result<Self, ShowError> {
        let pins = (0..81).filter(|particle| matches!(particle % 9, 0 | 8)).collect();
        let options = CookOptions { pins, ..CookOptions::default() };
        let mut cloth = cook(&Mesh::grid(9, 9, 1.0, 1.0), &options)?.into_cloth();
        for particle in &mut cloth.particles {
            particle.position[0] *= 1.1;
            particle.position[1] += 0.5;
        }
        let mut simulation = Simulation::new(Backend::Cpu)?;
        let ids = vec![simulation.add(cloth)?];
        let cloths = vec![ShownCloth { name: "sheet".into(), ids, wind: None }];
        Ok(Self { simulation, cloths, frame: 0 })
    }
}

impl Show for Sheet {
    fn title(&self) -> &str {
        "Sheet"
    }
    fn frame_rate(&self) -> f32 {
        60.0
    }
    fn view(&self) -> Option<View> {
        Some(View::ABOVE)
    }
    fn frame(&self) -> u32 {
        self.frame
    }
    fn cloths(&self) -> &[ShownCloth] {
        &self.cloths
    }
    fn cloths_mut(&mut self) -> &mut [ShownCloth] {
        &mut self.cloths
    }
    fn shapes(&self) -> Vec<Shape> {
        vec![Plane { normal: [0.0, 1.0, 0.0], offset: 0.0 }.into()]
    }
    fn simulation(&mut self) -> &mut Simulation {
        &mut self.simulation
    }
    fn prepare(&mut self) -> Result<Frame, ShowError> {
        Ok(Frame::default())
    }
    fn step(&mut self, frame: &Frame) -> Result<(), ShowError> {
        self.frame += 1;
        Ok(self.simulation.step(frame)?)
    }
    fn reset(&mut self) -> Result<(), ShowError> {
        Ok(())
    }
    fn record(&mut self) -> Result<(), ShowError> {
        Ok(())
    }
    fn is_recording(&self) -> bool {
        false
    }
    fn stop_recording(&mut self) -> Result<String, ShowError> {
        Ok(String::new())
    }
    fn save(&mut self) -> Result<String, ShowError> {
        Ok(String::new())
    }
}

struct Sheets;

impl Scenes for Sheets {
    fn names(&self) -> Vec<&'static str> {
        vec!["sheet"]
    }
    fn open(&self, _: &Path) -> Result<Box<dyn Show>, ShowError> {
        Ok(Box::new(Sheet::new()?))
    }
}

/// The pixels beside the panel.
fn pixels(image: &Image) -> impl Iterator<Item = [f32; 3]> {
    let rows = image.pixels.chunks(image.width as usize);
    rows.flat_map(|row| &row[..SIDE as usize]).map(|pixel| pixel.map(f32::from))
}

fn take(has_strain: bool) -> Result<Image, ViewError> {
    let screenshot = Screenshot {
        scene: "sheet".into(),
        frames: 3,
        size: [SIDE + 320, SIDE],
        drag: None,
        has_strain,
        has_edges: false,
    };
    screenshot.take(Box::new(Sheets))
}

fn fraction(image: &Image, is_such: impl Fn([f32; 3]) -> bool) -> f32 {
    pixels(image).filter(|&pixel| is_such(pixel)).count() as f32 / (SIDE * SIDE) as f32
}

fn is_blue([red, _, blue]: [f32; 3]) -> bool {
    blue > 1.3 * red
}

fn is_red([red, _, blue]: [f32; 3]) -> bool {
    red > 1.5 * blue
}

/// Ground and paper have no colour of their own.
fn is_grey([red, _, blue]: [f32; 3]) -> bool {
    (red - blue).abs() < 16.0
}

#[test]
fn a_picture_shows_the_cloth_its_shadow_and_its_strain() {
    if is_gpu_off() {
        return;
    }
    if Gpu::new().is_err() {
        skip("a picture of the viewer: there is no adapter");
        return;
    }
    let plain = take(false).unwrap();
    let cloth = fraction(&plain, is_blue);
    assert!((0.1..0.7).contains(&cloth), "{cloth} of the picture is cloth");
    let grey: Vec<f32> =
        pixels(&plain).filter(|&pixel| is_grey(pixel)).map(|[_, g, _]| g).collect();
    let brightest = grey.iter().copied().fold(0.0, f32::max);
    let shadow = grey.iter().filter(|value| **value < 0.8 * brightest).count();
    assert!(shadow > 500, "{shadow} pixels of the ground are in the shadow");
    let strained = take(true).unwrap();
    let (before, after) = (fraction(&plain, is_red), fraction(&strained, is_red));
    assert!(after > 0.1 && before < 0.05, "{before} of the picture was red, {after} is");
}
