//! Speed beside that of the CPU.

use std::time::Instant;

use poplin::model::Particle;
use poplin::{Backend, Error, Simulation, SimulationOptions};

use super::{Finding, Patient, Verdict, milliseconds};
use crate::bench::{Method, Scene, Setup, median_time};

/// Cloths of a batch.
const BATCH: usize = 1000;

/// Cloths of a batch on a software adapter.
const SHORT_BATCH: usize = 50;

/// Frames that are timed.
const FRAMES: u32 = 20;

/// Frames that are timed on a software adapter.
const SHORT_FRAMES: u32 = 3;

/// Times of a backend.
struct Times {
    /// Frame of the batch \[ms\].
    batch: f64,
    /// Frame of one large cloth \[ms\].
    single: f64,
    /// State of the batch \[MB/s\].
    read: f64,
}

/// Times a batch and a large cloth on both backends.
pub(super) fn speed(patient: &Patient) -> Result<Finding, String> {
    let [cpu, gpu] = [Backend::Cpu.into(), patient.options.clone()].map(|it| times(patient, &it));
    let (cpu, gpu) =
        (cpu.map_err(|error| error.to_string())?, gpu.map_err(|error| error.to_string())?);
    let batch = if patient.is_short { SHORT_BATCH } else { BATCH };
    let compare = |cpu: f64, gpu: f64| {
        let (word, ratio) = if gpu < cpu { ("faster", cpu / gpu) } else { ("slower", gpu / cpu) };
        format!("{gpu:.2} ms, {ratio:.1} times {word} than the CPU")
    };
    let text = format!(
        "{batch} cloths of 16 x 16 {}; one of 64 x 64 {}; states read at {:.0} MB/s",
        compare(cpu.batch, gpu.batch),
        compare(cpu.single, gpu.single),
        gpu.read
    );
    let is_slow = [gpu.batch > cpu.batch, gpu.single > cpu.single];
    let finding = Finding::new("speed", Verdict::Ok, text)
        .with("batch_cpu_ms", cpu.batch)
        .with("batch_gpu_ms", gpu.batch)
        .with("single_cpu_ms", cpu.single)
        .with("single_gpu_ms", gpu.single)
        .with("read_gpu_mb_per_s", gpu.read);
    Ok(match is_slow {
        [false, false] => finding,
        [false, true] => finding.advise("simulate single cloths with --backend cpu"),
        _ => Finding { verdict: Verdict::Slow, ..finding }.advise("simulate with --backend cpu"),
    })
}

fn times(patient: &Patient, options: &SimulationOptions) -> Result<Times, Error> {
    let (batch, frames) =
        if patient.is_short { (SHORT_BATCH, SHORT_FRAMES) } else { (BATCH, FRAMES) };
    let small = Scene::Hanging { cloths: batch, side: 16, has_capsules: false };
    let large = Scene::Hanging { cloths: 1, side: 64, has_capsules: false };
    let (batch, read) = time(small, frames, options)?;
    let (single, _) = time(large, frames, options)?;
    Ok(Times { batch, single, read })
}

/// Median time of a frame \[ms\], and the rate of reading the states \[MB/s\].
fn time(scene: Scene, frames: u32, options: &SimulationOptions) -> Result<(f64, f64), Error> {
    let cloth = Setup { scene, method: Method::Default, iterations: 5 }.cloth()?;
    let mut simulation = Simulation::new(options.clone())?;
    let first = simulation.add(cloth.clone())?;
    simulation.clone_cloth(first, scene.cloths() - 1)?;
    let mut step = || simulation.step(1.0 / 60.0).and_then(|()| simulation.wait());
    // The first frame compiles and uploads.
    step()?;
    let median = median_time(frames, step)?;
    simulation.state()?;
    let begin = Instant::now();
    simulation.state()?;
    let bytes = 2 * size_of::<Particle>() * cloth.particle_count() * scene.cloths();
    let read = 1e-6 * bytes as f64 / begin.elapsed().as_secs_f64();
    Ok((milliseconds(median), read))
}
