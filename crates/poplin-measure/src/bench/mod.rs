//! Benchmark harness of `poplin bench` and `cargo bench`: workloads whose setups are the rows of a
//! table.
//!
//! A run steps a scene from its start. Timed runs do nothing else and are timed from their second
//! frame on, since a GPU compiles kernels in the first. One more run is measured frame by frame.

mod method;
mod scene;
mod scene_run;
mod setup;
mod table;
mod workload;

use std::time::{Duration, Instant};

use poplin::gpu::Headless;
use poplin::{ClothId, Error, SimulationOptions, State};
use poplin_model::{ClothDesc, Particle, Pose, Shape};
use serde::Serialize;

use crate::depth::DepthField;
use crate::strain::{SignedStrain, StretchEdges};
use crate::tangle::{Tangle, TangleField, kept_distance};

pub use method::Method;
pub use scene::Scene;
pub use scene_run::SceneRun;
pub use setup::Setup;
pub use table::table;
pub use workload::Workload;

/// Frames per second [1/s].
pub const FRAME_RATE: u32 = 60;

/// Interval between counts of crossings \[frames\]; the last frame is counted as well.
const COUNTED_EVERY: u32 = 2;

/// Number of frames and runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Frames that are timed and measured; `None` (default) stands for the frame count of the
    /// scene. With a different count, strain, depth and crossings describe another period of the
    /// scene, which the row states.
    pub frames: Option<u32>,
    /// Number of timed runs, 1 or more (default 3).
    pub repeat: u32,
}

impl Default for Effort {
    fn default() -> Self {
        Self { frames: None, repeat: 3 }
    }
}

/// Results of a setup.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Name of the workload.
    pub workload: String,
    /// Solver settings, see [`Setup::settings`], and the frame count if it differs from that of the
    /// scene.
    pub settings: String,
    /// Number of cloths.
    pub cloths: usize,
    /// Number of particles of all cloths.
    pub particles: usize,
    /// Number of edges of all cloths.
    pub edges: usize,
    /// Iterations per frame.
    pub iterations: u32,
    /// Number of frames that were timed and measured.
    pub frames: u32,
    /// Frame count of the scene.
    pub frames_of_scene: u32,
    /// Time per frame of all cloths \[ms\].
    pub ms_a_frame: FrameTime,
    /// Device measurements of a frame, on a GPU with timestamps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<GpuFrame>,
    /// Strain of the horizontal and vertical edges after the last frame.
    pub strain_at_end: SignedStrain,
    /// Strain of the same edges over all frames of the second half.
    pub strain_in_second_half: SignedStrain,
    /// Depth of the deepest particle in a ball or capsule in the second half \[mm\]; `None` without
    /// such shapes.
    pub depth_in_shapes_mm: Option<f64>,
    /// Depth of the deepest particle below the floor in the second half \[mm\]; `None` without a
    /// floor.
    pub depth_in_floor_mm: Option<f64>,
    /// Crossings and close pairs, for cloth with self collision.
    pub tangle: Option<RowTangle>,
    /// Number of cloths that were frozen because a particle would have become NaN, infinite or too
    /// far away.
    pub faulty_cloths: usize,
}

/// Time per frame: the median over the frames of a run, summarized over all timed runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FrameTime {
    /// Median of the runs \[ms\].
    pub median: f64,
    /// Minimum of the runs \[ms\].
    pub least: f64,
}

/// Device measurements of a frame on a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct GpuFrame {
    /// Median time per frame by the clock of the device \[ms\]; the rest of the frame time is host,
    /// driver and waiting.
    pub ms: f64,
    /// Upload of the last frame \[KB\].
    pub uploaded_kilobytes: f64,
    /// Fraction of the memory bandwidth that a frame needs: the time to read and write both states
    /// of every particle once at the device's copy rate, relative to `ms`.
    pub bandwidth_fraction: f64,
}

/// Entanglement of a cloth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RowTangle {
    /// Number of edges that cross triangles after the last frame.
    pub crossings_at_end: usize,
    /// Largest number of crossings, counted every second frame and after the last.
    pub most_crossings: usize,
    /// Number of particle pairs after the last frame that are closer than half the thickness and
    /// not neighbors at rest.
    pub close_pairs_at_end: usize,
}

impl Row {
    /// Tests whether the row covers another period than the scene's own.
    pub fn is_of_another_period(&self) -> bool {
        self.frames != self.frames_of_scene
    }

    /// Median time per particle and iteration \[ns\].
    pub fn ns_a_particle(&self) -> f64 {
        self.nanoseconds_by(self.particles)
    }

    /// Median time per edge and iteration \[ns\].
    pub fn ns_an_edge(&self) -> f64 {
        self.nanoseconds_by(self.edges)
    }

    fn nanoseconds_by(&self, count: usize) -> f64 {
        1e6 * self.ms_a_frame.median / (count as f64 * f64::from(self.iterations))
    }
}

/// Times and measures a setup.
///
/// # Errors
/// [`Error`] if the backend cannot be used, has no room, or failed.
pub fn measure(
    workload: &Workload,
    setup: &Setup,
    options: &SimulationOptions,
    effort: Effort,
) -> Result<Row, Error> {
    let frames_of_scene = setup.scene.frames();
    let frames = effort.frames.unwrap_or(frames_of_scene).max(1);
    let times = (0..effort.repeat.max(1)).map(|_| time(setup, options, frames));
    let ms_a_frame = FrameTime::of(times.collect::<Result<_, _>>()?);
    let cloth = setup.cloth()?;
    let mut recorder = Recorder::new(setup.scene, &cloth);
    let mut run = SceneRun::new(setup, options)?;
    let mut gpu_times = Vec::new();
    for frame in 1..=frames {
        run.step()?;
        if let Some(gpu) = run.simulation.gpu() {
            gpu_times.extend(gpu.frame_time()?);
        }
        let state = run.simulation.state()?;
        recorder.record(&state, &run, frame, frames);
    }
    let count = setup.scene.cloths();
    gpu_times.sort_unstable();
    // `None` on devices without timestamps.
    let median = gpu_times.get(gpu_times.len() / 2);
    let gpu = match run.simulation.gpu().zip(median) {
        Some((gpu, median)) => Some(GpuFrame::of(gpu, *median)?),
        None => None,
    };
    Ok(Row {
        workload: workload.name.to_owned(),
        settings: match frames == frames_of_scene {
            true => setup.settings(),
            false => format!("{}, {frames} frames of {frames_of_scene}", setup.settings()),
        },
        cloths: count,
        particles: count * cloth.particle_count(),
        edges: count * cloth.fabric.edge_count(),
        iterations: setup.iterations,
        frames,
        frames_of_scene,
        ms_a_frame,
        gpu,
        strain_at_end: recorder.strain_at_end,
        strain_in_second_half: SignedStrain::of(&mut recorder.strains),
        depth_in_shapes_mm: recorder.depth_in_shapes_mm,
        depth_in_floor_mm: recorder.depth_in_floor_mm,
        tangle: recorder.tangle,
        faulty_cloths: recorder.faulty_cloths,
    })
}

/// Median time per frame of a run, without its first frame.
fn time(setup: &Setup, options: &SimulationOptions, frames: u32) -> Result<Duration, Error> {
    let mut run = SceneRun::new(setup, options)?;
    run.step()?;
    median_time(frames, || run.step())
}

/// Median time of one or more frames.
pub(crate) fn median_time(
    frames: u32,
    mut step: impl FnMut() -> Result<(), Error>,
) -> Result<Duration, Error> {
    let mut frame = || {
        let begin = Instant::now();
        step().map(|()| begin.elapsed())
    };
    let mut times = (0..frames).map(|_| frame()).collect::<Result<Vec<_>, _>>()?;
    times.sort_unstable();
    Ok(times[times.len() / 2])
}

impl GpuFrame {
    fn of(gpu: &Headless, median: Duration) -> Result<Self, Error> {
        let engine = gpu.engine();
        // Reads and writes of the current and the previous state.
        let bytes = 4 * size_of::<Particle>() as u64 * u64::from(engine.particle_count());
        let copied = gpu.copy_rate()?.unwrap_or_default() * median.as_secs_f64();
        Ok(Self {
            ms: 1e3 * median.as_secs_f64(),
            uploaded_kilobytes: 1e-3 * engine.uploaded_bytes() as f64,
            bandwidth_fraction: if copied > 0.0 { bytes as f64 / copied } else { 0.0 },
        })
    }
}

impl FrameTime {
    /// Summarizes the times of at least one run.
    fn of(mut runs: Vec<Duration>) -> Self {
        runs.sort_unstable();
        let milliseconds = |time: Duration| 1e3 * time.as_secs_f64();
        Self { median: milliseconds(runs[runs.len() / 2]), least: milliseconds(runs[0]) }
    }
}

/// Accumulates the measurements of a run frame by frame.
struct Recorder<'a> {
    scene: Scene,
    cloth: &'a ClothDesc,
    edges: StretchEdges,
    /// Strains of all edges and frames of the second half.
    strains: Vec<f32>,
    strain_at_end: SignedStrain,
    depth_in_shapes_mm: Option<f64>,
    depth_in_floor_mm: Option<f64>,
    tangle: Option<RowTangle>,
    faulty_cloths: usize,
}

impl<'a> Recorder<'a> {
    fn new(scene: Scene, cloth: &'a ClothDesc) -> Self {
        Self {
            scene,
            cloth,
            edges: StretchEdges::new(&cloth.fabric),
            strains: Vec::new(),
            strain_at_end: SignedStrain::default(),
            depth_in_shapes_mm: None,
            depth_in_floor_mm: None,
            tangle: None,
            faulty_cloths: 0,
        }
    }

    fn record(&mut self, state: &State, run: &SceneRun, frame: u32, frames: u32) {
        if 2 * frame > frames {
            for (index, &id) in run.cloths.iter().enumerate() {
                self.record_depth(index, state.current(id), run.time());
                self.strains.extend(self.edges.strains(state.current(id)));
            }
        }
        if frame == frames {
            let all = |&id: &ClothId| self.edges.strains(state.current(id)).collect::<Vec<_>>();
            let mut strains: Vec<_> = run.cloths.iter().flat_map(all).collect();
            self.strain_at_end = SignedStrain::of(&mut strains);
            self.faulty_cloths = run.cloths.iter().filter(|&&id| state.fault_count(id) > 0).count();
        }
        if frame.is_multiple_of(COUNTED_EVERY) || frame == frames {
            run.cloths.iter().for_each(|&id| self.record_tangle(state.current(id)));
        }
    }

    fn record_depth(&mut self, cloth: usize, particles: &[Particle], time: f32) {
        let deepest = |shapes: &[Shape]| {
            let depth = DepthField::new(shapes).measure(Pose::default(), particles);
            Some(1e3 * depth.deepest_m).filter(|_| !shapes.is_empty())
        };
        let solids = deepest(&self.scene.solids(cloth, time));
        self.depth_in_shapes_mm = larger(self.depth_in_shapes_mm, solids);
        let floor: Vec<_> = self.scene.floor().map(Shape::from).into_iter().collect();
        self.depth_in_floor_mm = larger(self.depth_in_floor_mm, deepest(&floor));
    }

    fn record_tangle(&mut self, particles: &[Particle]) {
        let Some(distance) = kept_distance(self.cloth) else { return };
        let mut field = TangleField::default();
        field.add(self.cloth, distance, Pose::default(), particles);
        let Some(Tangle { close_pairs, crossings }) = field.measure() else { return };
        let most = self.tangle.map_or(0, |tangle| tangle.most_crossings);
        self.tangle = Some(RowTangle {
            crossings_at_end: crossings,
            most_crossings: most.max(crossings),
            close_pairs_at_end: close_pairs,
        });
    }
}

/// Larger of two values, or the only one.
fn larger(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.into_iter().chain(b).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use poplin::Backend;

    fn row(name: &str, frames: u32) -> Row {
        let workload = Workload::named(name).unwrap();
        let effort = Effort { frames: Some(frames), repeat: 1 };
        measure(&workload, &workload.setups()[0], &Backend::Cpu.into(), effort).unwrap()
    }

    #[test]
    fn second_half_strains_are_pooled() {
        let [one, two, six] = [1, 2, 6].map(|frames| row("w1", frames));
        assert_eq!(one.strain_in_second_half, one.strain_at_end);
        assert_eq!(two.strain_in_second_half, two.strain_at_end);
        let (half, end) = (six.strain_in_second_half, six.strain_at_end);
        assert!(half.longest >= end.longest && half.shortest <= end.shortest && half != end);
        assert!(end.longest > 0.0 && one.strain_at_end != two.strain_at_end);
    }

    #[test]
    fn a_row_states_a_different_period() {
        let [cut, whole] = [2, 120].map(|frames| row("w1", frames));
        assert!(cut.is_of_another_period() && !whole.is_of_another_period());
        assert_eq!(cut.settings, whole.settings.clone() + ", 2 frames of 120");
        assert_eq!([cut.frames, cut.frames_of_scene], [2, 120]);
    }

    #[test]
    fn a_row_has_the_values_of_its_scene() {
        let swing = row("w1", 1);
        assert_eq!((swing.depth_in_shapes_mm, swing.depth_in_floor_mm), (Some(0.0), None));
        assert_eq!((swing.cloths, swing.particles, swing.iterations), (1, 256, 2));
        let nanoseconds = 1e6 * swing.ms_a_frame.median / (256.0 * 2.0);
        assert!((swing.ns_a_particle() - nanoseconds).abs() < 1e-6 * nanoseconds);
        assert_eq!(swing.tangle, None);
        let dropped = row("w4", 1);
        assert_eq!(dropped.depth_in_floor_mm, Some(0.0));
        let apart = RowTangle { crossings_at_end: 0, most_crossings: 0, close_pairs_at_end: 0 };
        assert_eq!(dropped.tangle, Some(apart));
    }

    #[test]
    fn most_crossings_and_deepest_depth_are_kept() {
        let setup = Workload::named("w4").unwrap().setups()[0];
        let cloth = setup.cloth().unwrap();
        let mut recorder = Recorder::new(setup.scene, &cloth);
        let mut folded = cloth.particles.clone();
        // Edges from the first row to the second cross the sheet and the floor, between its
        // columns.
        for (index, particle) in folded[..128].iter_mut().enumerate() {
            let [x, y, _] = particle.position;
            particle.position = [x + 0.003, y + 0.3, if index < 64 { -0.25 } else { 0.6 }];
        }
        for particles in [&cloth.particles, &folded, &cloth.particles] {
            recorder.record_tangle(particles);
            recorder.record_depth(0, particles, 0.0);
        }
        let tangle = recorder.tangle.unwrap();
        assert!(tangle.most_crossings > 0 && tangle.crossings_at_end == 0, "{tangle:?}");
        let depth = recorder.depth_in_floor_mm.unwrap();
        assert!((depth - 250.0).abs() < 0.1, "{depth}");
    }
}
