//! Runs one frame stage by stage from measured states, to locate a wrong stage.

use poplin::cpu::{CpuEngine, WideTeam};
use poplin::gpu::Headless;
use poplin::{Backend, Cloth, ClothId, Engine, Error, SimulationOptions};
use poplin_host::FramePart;
use poplin_layout::{Stage, StageMask};
use poplin_model::Particle;

use crate::case::{Case, CaseError};
use crate::conform::{max_distance, measured};
use crate::shape_arrays::ShapeArrays;
use crate::stage_case::StageCase;

/// Result of one stage.
#[derive(Debug, Clone, PartialEq)]
pub struct StageVerdict {
    /// Iteration of the frame, from 0.
    pub iteration: u32,
    /// Name of the stage as in the file; phases of the fabric are numbered: `fabric_phase 3`.
    pub stage: String,
    /// Largest distance of a particle from its measured position \[m\].
    pub error: f32,
    /// Largest allowed error \[m\].
    pub tolerance: f32,
}

impl StageVerdict {
    /// Tests whether the error is within the tolerance; NaN is not.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.error <= self.tolerance
    }
}

/// Tolerance of one stage that starts from the measured state before it \[m\]: the file has nine
/// digits.
const TOLERANCE: f32 = 2e-6;

/// Tolerance of the wind stage \[m\]: the measured program moves particles triangle by triangle,
/// while here all triangles read the input of the stage. Evaluated one by one, the formulas match
/// `wind_density` within 8e-8 m; evaluated at once, they differ by 2.5e-6 m.
const WIND_TOLERANCE: f32 = 5e-6;

/// Runs every stage from the measured state before it and compares the result with the measured
/// state after it.
///
/// The first stage of the file starts from this engine's own state at the beginning of the frame,
/// which may differ by the tolerance of the case.
///
/// # Errors
/// [`CaseError`] if the files do not belong together, cannot be run, or name an unknown stage.
pub fn run_stages(
    case: &Case,
    stages: &StageCase,
    options: &SimulationOptions,
) -> Result<Vec<StageVerdict>, CaseError> {
    if stages.case != case.name || stages.frame_index >= case.frames.len() {
        let message = format!(
            "stages of `{}`, frame {}, do not belong to case `{}`",
            stages.case, stages.frame_index, case.name
        );
        return Err(CaseError::Unsupported(message));
    }
    let mut shapes = ShapeArrays::default();
    let mut runner = Runner::new(case, options, &mut shapes)?;
    for (index, frame) in case.frames.iter().enumerate().take(stages.frame_index + 1) {
        for event in &frame.events {
            event.apply(runner.cloth_mut()?, &mut shapes)?;
        }
        runner.begin_frame(frame.dt)?;
        // The frame of the file takes its inputs, but runs no iteration yet.
        let iterations = if index < stages.frame_index { 0..u32::MAX } else { 0..0 };
        runner.run_part(&FramePart { iterations, ..FramePart::WHOLE })?;
    }
    let drift = case
        .expected
        .iter()
        .filter(|s| s.frame <= stages.frame_index.max(1))
        .filter_map(|s| s.tolerance_m)
        .fold(0.0, f32::max);
    let iteration_count = stages.stages.first().map_or(0, |first| first.iterations_left);
    let mut verdicts: Vec<StageVerdict> = Vec::new();
    let mut phase = 0;
    let (mut before, mut before_previous) = runner.state()?;
    for state in &stages.stages {
        // The file counts iterations down.
        let iteration = iteration_count.saturating_sub(state.iterations_left);
        let mut name = state.stage.clone();
        let part = match name.as_str() {
            "integrate" => Some(StageMask::only(Stage::Integrate)),
            "wind" => Some(StageMask::only(Stage::Wind)),
            "motion" => Some(StageMask::only(Stage::Motion)),
            "tether" => Some(StageMask::only(Stage::Tether)),
            "separation" => Some(StageMask::only(Stage::Separation)),
            "fabric_phase" => Some(StageMask::FIBERS),
            "bounds" => Some(StageMask::only(Stage::Mass)),
            "collide_convexes" => Some(StageMask::only(Stage::CollideConvex)),
            "collide_triangles" => Some(StageMask::only(Stage::CollideTriangle)),
            "collide_spheres_cones" => {
                Some(StageMask::only(Stage::CollideShape).with(Stage::CollideContinuous))
            }
            "virtual_particles" => Some(StageMask::only(Stage::VirtualParticles)),
            "self_collision" => Some(StageMask::only(Stage::SelfCollide)),
            // Markers that close a group of stages and move nothing.
            "fabric" | "collide_shapes" => None,
            unknown => {
                let message = format!("stage `{unknown}` of {}", stages.case);
                return Err(CaseError::Unsupported(message));
            }
        };
        phase = if name == "integrate" { 0 } else { phase };
        let mut phases = None;
        if name == "fabric_phase" {
            phases = Some(phase..phase + 1);
            name = format!("fabric_phase {phase}");
            phase += 1;
        }
        let after = measured(&state.particles);
        // Every stage starts from the measured state, so that errors do not accumulate.
        let (mut current, mut previous) = (before, before_previous.clone());
        if let Some(stages) = part {
            runner.set_state(&current, &previous)?;
            runner.run_part(&FramePart { iterations: iteration..iteration + 1, stages, phases })?;
            (current, previous) = runner.state()?;
        }
        let own = max_distance(&current, after);
        let of_previous = state
            .previous
            .as_ref()
            .map_or(0.0, |particles| max_distance(&previous, measured(particles)));
        let error =
            if own.is_nan() || of_previous.is_nan() { f32::NAN } else { own.max(of_previous) };
        let tolerance = if name == "wind" { WIND_TOLERANCE } else { TOLERANCE };
        // Both states of the first stage may be off by the drift of the frames before.
        let tolerance = if verdicts.is_empty() { tolerance + 2.0 * drift } else { tolerance };
        verdicts.push(StageVerdict { iteration, stage: name, error, tolerance });
        before = after.to_vec();
        if let Some(previous) = &state.previous {
            before_previous = measured(previous).to_vec();
        }
    }
    Ok(verdicts)
}

/// Current and previous particles.
type State = (Vec<Particle>, Vec<Particle>);

/// CPU or GPU engine, and the first cloth of a case.
enum Runner {
    Cpu(Box<CpuEngine>, ClothId),
    Gpu(Box<Headless>, ClothId),
}

/// Adds the cloths of a case and returns the first one, which stage files describe.
fn add(engine: &mut dyn Engine, case: &Case) -> Result<ClothId, CaseError> {
    for cloth in case.cloths()? {
        engine.add(cloth)?;
    }
    let unsupported = || CaseError::Unsupported("stages of a case without cloths".to_owned());
    engine.ids().first().copied().ok_or_else(unsupported)
}

impl Runner {
    fn new(
        case: &Case,
        options: &SimulationOptions,
        shapes: &mut ShapeArrays,
    ) -> Result<Self, CaseError> {
        let mut runner = match options.backend {
            Backend::Gpu => {
                let mut headless = Box::new(Headless::new(options.gpu.clone())?);
                let id = add(&mut *headless, case)?;
                Self::Gpu(headless, id)
            }
            _ => {
                let mut engine = Box::new(CpuEngine::new());
                let id = add(&mut *engine, case)?;
                Self::Cpu(engine, id)
            }
        };
        for event in case.setup_events() {
            event.apply(runner.cloth_mut()?, shapes)?;
        }
        Ok(runner)
    }

    fn cloth_mut(&mut self) -> Result<&mut Cloth, CaseError> {
        Ok(match self {
            Self::Cpu(engine, id) => engine.cloth_mut(*id)?,
            Self::Gpu(headless, id) => headless.cloth_mut(*id)?,
        })
    }

    fn begin_frame(&mut self, dt: f32) -> Result<(), CaseError> {
        match self {
            Self::Cpu(engine, _) => engine.begin_frame(dt)?,
            Self::Gpu(headless, _) => headless.engine_mut().begin_frame(dt)?,
        }
        Ok(())
    }

    fn run_part(&mut self, part: &FramePart) -> Result<(), CaseError> {
        match self {
            Self::Cpu(engine, id) => {
                engine.run_part(*id, part, &mut WideTeam::default()).map_err(Error::from)?
            }
            Self::Gpu(headless, _) => headless.step_part(part)?,
        }
        Ok(())
    }

    fn state(&mut self) -> Result<State, CaseError> {
        let (state, id) = match self {
            Self::Cpu(engine, id) => (engine.read(*id)?, *id),
            Self::Gpu(headless, id) => (headless.read(*id)?, *id),
        };
        Ok((state.current(id).to_vec(), state.previous(id).to_vec()))
    }

    fn set_state(&mut self, current: &[Particle], previous: &[Particle]) -> Result<(), CaseError> {
        match self {
            Self::Cpu(engine, id) => engine.set_state(*id, current, previous)?,
            Self::Gpu(headless, id) => headless.engine_mut().set_state(*id, current, previous)?,
        }
        Ok(())
    }
}
