//! Specimen of a drape test, simulated from the scene file beside this source.

use std::path::Path;

use poplin::{Backend, Simulation};
use poplin_run::{Failure, Job, JobSimulation};

use super::disc::Disc;
use super::shadow::Shadow;

/// Scene of a specimen.
const SCENE: &str = include_str!("drape.toml");

/// Result of a drape test.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Drape {
    /// Drape coefficient at the end.
    pub(crate) coefficient: f64,
    /// Largest change of the drape coefficient in the last second.
    pub(crate) change: f64,
    /// Number of folds.
    pub(crate) folds: usize,
}

/// Drapes a disc. Writes its mesh and its scene, with `[before, after]` changed in the text, into
/// `folder`.
pub(crate) fn drape(disc: &Disc, folder: &Path, changes: &[[&str; 2]]) -> Result<Drape, Failure> {
    let pins = format!("indices:0-{}", disc.clamped - 1);
    let mut text = SCENE.to_owned();
    for [before, after] in [["indices:0-270", &pins]].iter().chain(changes) {
        assert_eq!(text.matches(before).count(), 1, "drape.toml: {before}");
        text = text.replace(before, after);
    }
    let path = folder.join("drape.toml");
    std::fs::write(folder.join("disc.obj"), disc.obj()).expect("the folder is writable");
    std::fs::write(&path, &text).expect("the folder is writable");
    let job = Job::of_scene(&path, None, |_| Ok(()))?;
    let mut running = JobSimulation::new(Simulation::new(Backend::Cpu)?, &job)?;
    let mut last = Vec::new();
    let mut folds = 0;
    for frame in 1..=job.frames {
        running.advance(&job, frame)?;
        if frame + 60 >= job.frames {
            let state = running.simulation.state()?;
            let positions: Vec<_> =
                state.positions(running.ids[0][0]).map(|p| [p[0], p[2]].map(f64::from)).collect();
            let shadow = Shadow::new(disc, &positions);
            last.push(shadow.coefficient(disc));
            folds = shadow.folds();
        }
    }
    let coefficient = last.last().copied().unwrap_or(f64::NAN);
    let change = last.iter().map(|it| (it - coefficient).abs()).fold(0.0, f64::max);
    Ok(Drape { coefficient, change, folds })
}
