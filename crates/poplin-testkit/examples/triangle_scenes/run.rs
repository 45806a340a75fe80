//! Runs a scene and measures each of its frames.

use std::error::Error;
use std::time::Instant;

use poplin::model::{Particle, Placement, Rigid, Shape};
use poplin::{Engine as _, ParticleMotion};
use poplin_measure::depth::DepthField;
use poplin_measure::metrics::stretch_strain;
use poplin_picture::{ContactSheet, Image, Surface, cloth_color};
use poplin_testkit::crossing_scene::CrossingScene;

use crate::scene::Scene;

/// Frames per second [1/s].
const FRAME_RATE: f32 = 60.0;
/// Side of a picture in pixels.
const SIDE: u32 = 240;

/// Limits and outputs of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    /// Largest run time of a scene \[s\].
    pub(crate) limit: f64,
    /// Largest number of frames of a scene.
    pub(crate) frames: u32,
    /// True to print each frame.
    pub(crate) is_verbose: bool,
    /// True to draw a picture.
    pub(crate) has_picture: bool,
}

/// Result of a scene.
pub(crate) struct Outcome {
    /// Cells of the table row: all columns of [`HEAD`] except name and kind.
    pub(crate) row: Vec<String>,
    /// Picture of the scene.
    pub(crate) picture: Option<Image>,
}

/// Columns of the table. The gap is between surfaces without thickness.
pub(crate) const HEAD: [&str; 14] = [
    "scene",
    "kind",
    "particles",
    "frames",
    "crossings",
    "depth [mm]",
    "gap/thickness",
    "p99 [%]",
    "ms mean",
    "median",
    "max",
    "forced frames",
    "hurried frames",
    "and",
];

/// Running scene with its worst values so far.
struct Run {
    world: CrossingScene,
    scene: Scene,
    /// Solids that cloth must not penetrate.
    solids: DepthField,
    /// Largest number of crossings in a frame, and the first frame with any (0: at the start).
    crossed: Option<(usize, u32)>,
    /// Deepest point of cloth in a collider \[m\].
    depth: f64,
    /// Smallest gap \[m\].
    gap: f32,
    /// Largest 99th percentile of strain.
    strain: f32,
    /// Frame times \[ms\].
    times: Vec<f64>,
    /// Number of frames with contact pairs forced by pins or colliders, and of frames with motion
    /// too fast to follow.
    troubles: [u32; 2],
    /// True if a cloth was frozen because it would have become NaN or infinite.
    is_frozen: bool,
    /// Remark of the scene.
    remark: Option<String>,
}

impl Run {
    fn new(scene: Scene) -> Result<Self, Box<dyn Error>> {
        let mut world = CrossingScene::new(&scene.cloths, &scene.colliders);
        for (&id, &velocity) in world.ids.iter().zip(&scene.velocities) {
            let particles = world.engine.current(id).to_vec();
            let velocities = vec![velocity; particles.len()];
            world.engine.set_particles(id, &particles, ParticleMotion::Velocities(&velocities))?;
        }
        let solids = DepthField::new(&shapes(&world));
        let at_start = world.crossings();
        Ok(Self {
            world,
            scene,
            solids,
            crossed: (at_start > 0).then_some((at_start, 0)),
            depth: 0.0,
            gap: f32::INFINITY,
            strain: 0.0,
            times: Vec::new(),
            troubles: [0; 2],
            is_frozen: false,
            remark: None,
        })
    }

    /// Simulates a frame that ends at a time \[s\].
    fn step(&mut self, frame: u32, time: f32) -> Result<(), Box<dyn Error>> {
        if let Some(pins) = &self.scene.pins {
            let (indices, rows): (Vec<u32>, Vec<Particle>) = pins(time)
                .into_iter()
                .map(|(i, position)| (i, Particle { position, inverse_mass: 0.0 }))
                .unzip();
            self.world.engine.cloth_mut(self.world.ids[0])?.write_particles(&indices, &rows)?;
        }
        if let Some(poses) = &self.scene.poses {
            for (&id, pose) in self.world.colliders.iter().zip(poses(time)) {
                self.world.engine.colliders_mut().set_pose(id, pose)?;
            }
        }
        let begin = Instant::now();
        self.world.engine.step(1.0 / FRAME_RATE)?;
        self.times.push(begin.elapsed().as_secs_f64() * 1e3);
        self.judge(frame, time)
    }

    /// Measures the state after a frame.
    fn judge(&mut self, frame: u32, time: f32) -> Result<(), Box<dyn Error>> {
        let crossings = self.world.crossings();
        if crossings > 0 {
            let (most, first) = self.crossed.unwrap_or((0, frame));
            self.crossed = Some((most.max(crossings), first));
        }
        if self.scene.poses.is_some() {
            self.solids = DepthField::new(&shapes(&self.world));
        }
        let state = self.world.engine.state()?;
        let mut positions = Vec::new();
        let mut is_troubled = [false; 2];
        for (&id, cloth) in self.world.ids.iter().zip(&self.scene.cloths) {
            let particles = self.world.engine.current(id);
            let points: Vec<[f32; 3]> = particles.iter().map(|it| it.position).collect();
            let triangles = cloth.fabric.triangles.iter().copied();
            let deepest = [
                self.solids.measure(Default::default(), particles).deepest_m,
                self.solids.measure_triangles(&points, triangles).deepest_m,
            ];
            self.depth = deepest.into_iter().fold(self.depth, f64::max);
            self.strain = self.strain.max(stretch_strain(&cloth.fabric, particles).p99);
            self.is_frozen |= state.fault_count(id) > 0;
            let report = state.contact_report(id);
            for (is_troubled, trouble) in
                is_troubled.iter_mut().zip([report.forced, report.hurried])
            {
                *is_troubled |= trouble.is_some_and(|it| it.last_frame == report.frames);
            }
            positions.extend(points);
        }
        for (count, is_troubled) in self.troubles.iter_mut().zip(is_troubled) {
            *count += u32::from(is_troubled);
        }
        self.gap = self.gap.min(self.world.engine.triangle_contact().report.least_gap);
        if let Some(watch) = &mut self.scene.watch {
            self.remark = watch(time, &positions).or(self.remark.take());
        }
        Ok(())
    }

    /// Draws the current state.
    fn draw(&self, label: String) -> Result<Image, Box<dyn Error>> {
        let surface = |(index, (&id, cloth)): (usize, (_, &poplin::model::ClothDesc))| {
            let particles = self.world.engine.current(id).iter();
            let positions = particles.map(|it| it.position).collect();
            Surface::new(positions, cloth.fabric.triangles.to_vec(), cloth_color(index))
        };
        let surfaces = self.world.ids.iter().zip(&self.scene.cloths).enumerate().map(surface);
        let mut sheet = ContactSheet::new(1, 1, SIDE)?.with_view(self.scene.view);
        // Walls would hide the cloth between them.
        let is_wall = |it: &Shape| matches!(it, Shape::Plane(plane) if plane.normal[1] == 0.0);
        let mut shapes = shapes(&self.world);
        shapes.retain(|it| !is_wall(it));
        sheet.add_with_colliders(label, surfaces.collect(), shapes)?;
        Ok(sheet.render())
    }

    /// Cells of the table row.
    fn row(mut self, frames: u32) -> Vec<String> {
        let thickness = self.scene.cloths[0].config.thickness;
        let particles: usize = self.scene.cloths.iter().map(|it| it.particles.len()).sum();
        let done = self.times.len();
        let mean = self.times.iter().sum::<f64>() / done.max(1) as f64;
        self.times.sort_by(f64::total_cmp);
        let time = |index: usize| self.times.get(index).map_or("-".into(), |ms| format!("{ms:.1}"));
        let depth = match (self.scene.colliders.is_empty(), self.depth > 0.0) {
            (true, _) => "-".into(),
            (_, false) => "0".into(),
            _ => format!("{:.3}", 1e3 * self.depth),
        };
        vec![
            particles.to_string(),
            match (done == frames as usize, self.is_frozen) {
                (true, false) => done.to_string(),
                (_, false) => format!("{done} of {frames}"),
                (_, true) => format!("{done} of {frames}, then frozen"),
            },
            self.crossed
                .map_or("0".into(), |(most, first)| format!("{most} (first in frame {first})")),
            depth,
            if self.gap.is_finite() { format!("{:.3}", self.gap / thickness) } else { "-".into() },
            format!("{:.2}", 100.0 * self.strain),
            format!("{mean:.1}"),
            time(done / 2),
            time(done.saturating_sub(1)),
            self.troubles[0].to_string(),
            self.troubles[1].to_string(),
            self.remark.unwrap_or_default(),
        ]
    }
}

/// Current shapes of the colliders of a scene.
fn shapes(world: &CrossingScene) -> Vec<Shape> {
    let set = world.engine.colliders();
    let colliders = world.colliders.iter().filter_map(|&id| set.get(id).ok());
    colliders.map(|it| it.shape.transformed(&Placement::new(1.0, Rigid::new(it.pose)))).collect()
}

/// Simulates a scene and measures it.
pub(crate) fn run(name: &str, scene: Scene, options: Options) -> Result<Outcome, Box<dyn Error>> {
    let frames = (scene.seconds * FRAME_RATE).round() as u32;
    let mut run = Run::new(scene)?;
    let (begin, mut picture) = (Instant::now(), None);
    for frame in 1..=frames.min(options.frames) {
        let time = frame as f32 / FRAME_RATE;
        run.step(frame, time)?;
        if options.is_verbose {
            let ms = run.times[run.times.len() - 1];
            let report = run.world.engine.triangle_contact().report;
            println!("{frame:4} {ms:8.2} ms, crossings {}, {report:?}", run.world.crossings());
        }
        let is_last = run.is_frozen
            || frame == frames.min(options.frames)
            || begin.elapsed().as_secs_f64() > options.limit;
        if options.has_picture
            && picture.is_none()
            && (is_last || time > run.scene.shown - 0.5 / FRAME_RATE)
        {
            picture = Some(run.draw(format!("{name}  {time:.2} s"))?);
        }
        if is_last {
            break;
        }
    }
    Ok(Outcome { row: run.row(frames), picture })
}
