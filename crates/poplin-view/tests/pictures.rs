//! Pictures of the viewer: colours, shadows, strain, and input.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use egui::{Event, PointerButton, Pos2, RawInput, Rect};
use poplin::cook::{CookOptions, cook};
use poplin::model::{Mesh, Plane, Shape};
use poplin::{Backend, Simulation};
use poplin_picture::{Image, View};
use poplin_testkit::skip::{is_gpu_off, skip};
use poplin_view::{
    FORMAT, Gpu, LineLayers, Scenes, Screenshot, Show, ShowError, ShownCloth, ViewError, Viewer,
};

/// Width of the picture without the panel, and height \[pixels\].
const SIDE: u32 = 300;

/// Level sheet of 1 m x 1 m above the ground, pinned at two sides and stretched by 10 % between
/// them.
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
    fn shapes(&self) -> Result<Vec<Shape>, ShowError> {
        Ok(vec![Plane { normal: [0.0, 1.0, 0.0], offset: 0.0 }.into()])
    }
    fn simulation(&mut self) -> &mut Simulation {
        &mut self.simulation
    }
    fn prepare(&mut self) -> Result<f32, ShowError> {
        Ok(1.0 / 60.0)
    }
    fn step(&mut self, dt: f32) -> Result<(), ShowError> {
        self.frame += 1;
        Ok(self.simulation.step(dt)?)
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
    fn open(&self, scene: &Path) -> Result<Box<dyn Show>, ShowError> {
        match scene.extension() {
            None => Ok(Box::new(Sheet::new()?)),
            Some(_) => Err(format!("{} is broken", scene.display()).into()),
        }
    }
}

/// Returns the pixels beside the panel.
fn pixels(image: &Image) -> impl Iterator<Item = [f32; 3]> {
    let rows = image.pixels.chunks(image.width as usize);
    rows.flat_map(|row| &row[..SIDE as usize]).map(|pixel| pixel.map(f32::from))
}

fn take(has_strain: bool, lines: LineLayers) -> Result<Image, ViewError> {
    let screenshot = Screenshot {
        scene: "sheet".into(),
        frames: 3,
        size: [SIDE + 320, SIDE],
        drag: None,
        has_strain,
        lines,
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

fn is_green_or_yellow([_, green, blue]: [f32; 3]) -> bool {
    green > 1.3 * blue
}

/// Tests whether a pixel is grey, like ground and paper.
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
    let none = LineLayers::default();
    let plain = take(false, none).unwrap();
    let cloth = fraction(&plain, is_blue);
    assert!((0.1..0.7).contains(&cloth), "{cloth} of the picture is cloth");
    let grey: Vec<f32> =
        pixels(&plain).filter(|&pixel| is_grey(pixel)).map(|[_, g, _]| g).collect();
    let brightest = grey.iter().copied().fold(0.0, f32::max);
    let shadow = grey.iter().filter(|value| **value < 0.8 * brightest).count();
    assert!(shadow > 500, "{shadow} pixels of the ground are in the shadow");
    let strained = take(true, none).unwrap();
    let (before, after) = (fraction(&plain, is_red), fraction(&strained, is_red));
    assert!(after > 0.1 && before < 0.05, "{before} of the picture was red, {after} is");
    // Edges of some sets are yellow and green.
    let lined = take(false, LineLayers { edges: true, ..none }).unwrap();
    let [before, after] = [&plain, &lined].map(|image| fraction(image, is_green_or_yellow));
    assert!(after > 0.01 && before < 0.001, "{before} of the picture had lines, {after} has");
}

/// Dropped file with this name.
#[derive(Debug)]
struct Dropped(PathBuf);

impl egui::DroppedFile for Dropped {
    fn path(&self) -> &Path {
        &self.0
    }
    fn bytes(&self) -> Result<Vec<u8>, String> {
        Err("only its name is known".into())
    }
}

/// Feeds input to the viewer, one picture per list of events.
fn act(viewer: &mut Viewer, time: &mut f64, events: Vec<Vec<Event>>) {
    for events in events {
        *time += 1.0;
        let screen = egui::vec2((SIDE + 320) as f32, SIDE as f32);
        let input = RawInput {
            screen_rect: Some(Rect::from_min_size(Pos2::ZERO, screen)),
            time: Some(*time),
            events,
            ..RawInput::default()
        };
        viewer.frame(input, None);
    }
}

/// Returns the events of a drag with a button from one point to another.
fn drag(button: PointerButton, from: Pos2, to: Pos2) -> Vec<Vec<Event>> {
    let press = |pos, pressed| Event::PointerButton {
        pos,
        button,
        pressed,
        modifiers: egui::Modifiers::default(),
    };
    vec![
        vec![Event::PointerMoved(from), press(from, true)],
        vec![Event::PointerMoved(from.lerp(to, 0.5))],
        vec![Event::PointerMoved(to)],
        vec![press(to, false)],
    ]
}

#[test]
fn drags_move_the_camera_and_dropped_files_open() {
    if is_gpu_off() {
        return;
    }
    let Ok(gpu) = Gpu::new() else {
        skip("input of the viewer: there is no adapter");
        return;
    };
    let mut viewer = Viewer::new(gpu, FORMAT, Box::new(Sheets), Path::new("sheet")).unwrap();
    let time = &mut 0.0;
    act(&mut viewer, time, vec![vec![]; 2]);
    let first = *viewer.orbit();
    // In a corner, beside the cloth.
    let (corner, beside) = (egui::pos2(8.0, 8.0), egui::pos2(48.0, 18.0));
    act(&mut viewer, time, drag(PointerButton::Primary, corner, beside));
    let rotated = *viewer.orbit();
    assert!(rotated.view.azimuth != first.view.azimuth);
    assert_eq!((rotated.target, rotated.distance), (first.target, first.distance));
    act(&mut viewer, time, drag(PointerButton::Middle, corner, beside));
    let panned = *viewer.orbit();
    assert!(panned.target != rotated.target);
    assert_eq!((panned.view, panned.distance), (rotated.view, rotated.distance));
    let unit = egui::MouseWheelUnit::Line;
    let (delta, modifiers) = (egui::vec2(0.0, 3.0), egui::Modifiers::default());
    let (phase, source) = (egui::TouchPhase::Move, egui::MouseWheelSource::Wheel);
    let wheel = vec![Event::MouseWheel { unit, delta, phase, source, modifiers }];
    act(&mut viewer, time, [vec![wheel], vec![vec![]; 8]].concat());
    let zoomed = *viewer.orbit();
    assert!(zoomed.distance < 0.95 * panned.distance, "{} m", zoomed.distance);
    // Reset to the first camera.
    let key = |pressed| Event::Key {
        key: egui::Key::F,
        physical_key: None,
        pressed,
        repeat: false,
        modifiers,
    };
    act(&mut viewer, time, vec![vec![key(true)], vec![key(false)]]);
    assert_eq!(*viewer.orbit(), first);

    let mut drop = |file: &str| {
        let dropped_files: Vec<egui::DroppedFileHandle> = vec![Arc::new(Dropped(file.into()))];
        *time += 1.0;
        viewer.frame(RawInput { dropped_files, time: Some(*time), ..RawInput::default() }, None);
        (viewer.scene().to_path_buf(), viewer.fault().map(str::to_owned))
    };
    assert_eq!(drop("broken.obj"), ("sheet".into(), Some("broken.obj is broken".into())));
    assert_eq!(drop("other"), ("other".into(), None));
}
