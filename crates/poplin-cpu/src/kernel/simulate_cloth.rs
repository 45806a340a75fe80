//! Twin of `shaders/kernel/simulate_cloth.wgsl`: runs the schedule of `poplin-layout`.

use std::ops::Range;

use poplin_layout::{
    Feedback, GRID_PARTS, ITERATION, Items, PHASE_ROWS, Repeat, SOLVE_PARTS, SOLVE_SUMS, Stage,
    StageMask, Step, Task, chunk_count,
};
use poplin_model::FiberSolver;

use crate::multilevel::{repair_levels, solve_levels};
use crate::stage::implicit::{
    bend_count, bends_springs, chain_end, evaluation_count, is_factored, is_preconditioned,
    is_solved, probes_contacts, solve_state, stretches_springs, takes_bends,
};
use crate::stage::sleep::is_sleep_test;
use crate::{ClothMemory, Solves, Work, Workers};

/// Loads faults and sleep counters; returns false if the cloth sleeps or has a fault.
pub fn fetch_counters(
    memory: &mut ClothMemory<'_>,
    report: &mut Feedback,
    is_frame_start: bool,
    stages: StageMask,
) -> bool {
    // A changed wake count restarts the rest tests.
    let is_woken = report.wake_count != memory.cloth.sleep.wake_count;
    let pass_count = if is_woken { 0 } else { report.sleep_pass_count };
    if is_frame_start {
        let is_asleep =
            stages.contains(Stage::Sleep) && pass_count >= memory.cloth.sleep.after_count;
        report.is_asleep = u32::from(is_asleep);
        let slept = u32::from(is_asleep && memory.cloth.iteration_count > 0);
        report.sleep_frame_count = report.sleep_frame_count.wrapping_add(slept);
    }
    memory.sleep_pass_count = pass_count;
    memory.sleep_time = if is_woken { 0 } else { report.sleep_time };
    memory.fault_count = report.fault_count;
    memory.fault_particle = report.fault_particle;
    if stages.contains(Stage::Implicit) {
        memory.store_scratch(solve_state(memory, 4), [0.0; 4]);
        memory.store_scratch(solve_state(memory, 6), [0.0; 4]);
        let halvings = report.implicit_halvings.min(memory.load_implicit().max_halvings);
        let is_first = if report.implicit_steps == 0 { 1.0 } else { 0.0 };
        let control = [halvings as f32, report.implicit_quick as f32, 0.0, is_first];
        memory.store_scratch(solve_state(memory, 5), control);
    }
    report.is_asleep == 0 && report.fault_count == 0
}

/// Writes faults and sleep counters to the report after `iteration_count` whole iterations.
pub fn flush_counters(
    memory: &ClothMemory<'_>,
    report: &mut Feedback,
    iteration_count: u32,
    stages: StageMask,
) {
    // Counters wrap, as those of the shader do.
    let total = report.iteration_total.wrapping_add(iteration_count);
    if report.fault_count == 0 && memory.fault_count != 0 {
        report.fault_count = memory.fault_count;
        report.fault_particle = memory.fault_particle;
        report.fault_iteration = total;
    }
    report.iteration_total = total;
    report.sleep_time = memory.sleep_time;
    report.sleep_pass_count = memory.sleep_pass_count;
    report.wake_count = memory.cloth.sleep.wake_count;
    let mut solves = memory.solves;
    if stages.contains(Stage::Implicit) {
        let [steps, iterations, unconverged, held] =
            memory.load_scratch(solve_state(memory, 4)).map(|count| count as u32);
        solves = Solves { steps, iterations, unconverged, held };
        let [.., floored] = memory.load_scratch(solve_state(memory, 6));
        report.implicit_floored = report.implicit_floored.wrapping_add(floored as u32);
        let [halvings, quick, rejections, _] =
            memory.load_scratch(solve_state(memory, 5)).map(|count| count as u32);
        report.implicit_rejections = report.implicit_rejections.wrapping_add(rejections);
        report.implicit_halvings = halvings;
        report.implicit_quick = quick;
    }
    for (count, more) in [
        (&mut report.implicit_steps, solves.steps),
        (&mut report.implicit_iterations, solves.iterations),
        (&mut report.implicit_unconverged, solves.unconverged),
        (&mut report.implicit_held, solves.held),
    ] {
        *count = count.wrapping_add(more);
    }
}

/// Simulates a range of iterations of one frame of one cloth.
pub fn simulate_cloth(
    memory: &mut ClothMemory<'_>,
    feedback: &mut Feedback,
    iterations: Range<u32>,
    stages: StageMask,
    team: &mut (impl Workers + ?Sized),
) {
    if fetch_counters(memory, feedback, iterations.start == 0, stages) {
        let ran = run_iterations(memory, iterations, stages, team);
        flush_counters(memory, feedback, ran, stages);
    }
}

/// Runs the schedule for a range of iterations, capped by the frame's count; returns the number of
/// completed iterations.
pub fn run_iterations(
    memory: &mut ClothMemory<'_>,
    iterations: Range<u32>,
    stages: StageMask,
    team: &mut (impl Workers + ?Sized),
) -> u32 {
    let iteration_end = memory.cloth.iteration_count.min(iterations.end);
    memory.registers.stages = stages.0;
    if stages.contains(Stage::SelfCollide) {
        team.open_grid(memory);
    }
    let mut ran = 0;
    for k in iterations.start..iteration_end {
        team.begin_iteration(memory, k);
        if stages.contains(Stage::Implicit) {
            begin_halvings(memory);
        }
        if run_steps(ITERATION, memory, stages, team) == Flow::Stop {
            break;
        }
        ran += 1;
    }
    ran
}

/// Loads the number of halvings of the next part of a step.
fn begin_halvings(memory: &mut ClothMemory<'_>) {
    memory.registers.halvings = memory.load_scratch(solve_state(memory, 5))[0] as u32;
}

/// Control flow after a list of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flow {
    /// Continue with the next step.
    Continue,
    /// Leave the innermost repetition.
    Leave,
    /// Stop: a particle has left the range of f32.
    Stop,
}

/// Runs a list of steps.
fn run_steps(
    steps: &'static [Step],
    memory: &mut ClothMemory<'_>,
    stages: StageMask,
    team: &mut (impl Workers + ?Sized),
) -> Flow {
    for step in steps {
        let flow = match step {
            Step::Stages(mask, steps) if stages.intersects(*mask) => {
                run_steps(steps, memory, stages, team)
            }
            Step::Stages(..) => Flow::Continue,
            Step::Repeat(repeat, steps) => {
                // `Leave` ends only this repetition; `Stop` ends the iteration.
                let mut repetitions = 0..repeat_count(memory, *repeat);
                let flow = repetitions.find_map(|k| {
                    begin_repeat(memory, *repeat, k);
                    let flow = run_steps(steps, memory, stages, team);
                    (flow != Flow::Continue).then_some(flow)
                });
                if flow == Some(Flow::Stop) { Flow::Stop } else { Flow::Continue }
            }
            Step::Work(items, tasks) => {
                let [begin, end] = range_of(memory, *items);
                let is_due = |task: &Task| {
                    task.stage().is_none_or(|stage| stages.contains(stage)) && is_due(memory, *task)
                };
                if begin < end {
                    let work = Work::new(begin..end, tasks.iter().copied().filter(is_due), memory);
                    team.work(work, memory);
                }
                Flow::Continue
            }
            Step::Barrier(_) => {
                team.barrier(memory);
                Flow::Continue
            }
            Step::LeaveIfSolved => {
                team.barrier(memory);
                if is_solved(memory) { Flow::Leave } else { Flow::Continue }
            }
            Step::SolveLevels | Step::RepairLevels => {
                if let (true, Some(plan)) = (stages.intersects(StageMask::LEVELS), memory.levels) {
                    team.barrier(memory);
                    match step {
                        Step::SolveLevels => solve_levels(memory, plan, team.levels()),
                        _ => repair_levels(memory, plan, team.levels(), &[], true),
                    }
                }
                Flow::Continue
            }
            Step::StopAtFault if team.goes_on(memory) => Flow::Continue,
            Step::StopAtFault => Flow::Stop,
        };
        if flow != Flow::Continue {
            return flow;
        }
    }
    Flow::Continue
}

/// Returns the number of repetitions.
fn repeat_count(memory: &ClothMemory<'_>, repeat: Repeat) -> u32 {
    let (fabric, phase) = (&memory.cloth.fabric, &memory.registers.phase);
    match repeat {
        Repeat::Iterations => memory.cloth.iteration_count,
        Repeat::Phases => memory.cloth.phase_count,
        Repeat::FiberSets => phase.set_end - phase.set_begin,
        Repeat::ReductionSteps if phase.fiber_solver == FiberSolver::CyclicReduction as u32 => {
            phase.round_count + 1
        }
        Repeat::ReductionSteps => 0,
        Repeat::WholeFibers => u32::from(phase.fiber_solver == FiberSolver::SemiImplicit as u32),
        Repeat::YarnSets => fabric.yarn_set_count,
        Repeat::BendSets => fabric.bend_set_count,
        Repeat::BodyVisits => 2,
        Repeat::BundleSets => fabric.virtual_set_count,
        Repeat::Evaluations => evaluation_count(memory),
        Repeat::Chains => u32::from(is_preconditioned(memory)),
        Repeat::Factors => u32::from(is_factored(memory)),
    }
}

/// Sets the registers for repetition k.
fn begin_repeat(memory: &mut ClothMemory<'_>, repeat: Repeat, k: u32) {
    let fabric = memory.cloth.fabric;
    let range =
        |memory: &ClothMemory<'_>, begin: u32| [memory.fabric(begin), memory.fabric(begin + 1)];
    match repeat {
        Repeat::Iterations | Repeat::WholeFibers | Repeat::Chains | Repeat::Factors => {}
        Repeat::Evaluations => begin_halvings(memory),
        Repeat::Phases => {
            memory.registers.phase = memory.load_phase(memory.cloth.phase_begin + PHASE_ROWS * k);
        }
        Repeat::FiberSets => {
            memory.registers.fibers =
                range(memory, fabric.set_begin + memory.registers.phase.set_begin + k);
            memory.registers.edges =
                memory.registers.fibers.map(|fiber| memory.fabric(fabric.fiber_begin + fiber));
        }
        Repeat::ReductionSteps => memory.registers.reduction_step = k,
        Repeat::YarnSets => memory.registers.yarns = range(memory, fabric.yarn_set_begin + k),
        Repeat::BendSets => memory.registers.bends = range(memory, fabric.bend_set_begin + k),
        Repeat::BodyVisits => memory.registers.is_counting = k == 0,
        Repeat::BundleSets => {
            memory.registers.bundles = range(memory, fabric.virtual_set_begin + k)
        }
    }
}

/// Returns the items of a loop: first and one past the last.
fn range_of(memory: &ClothMemory<'_>, items: Items) -> [u32; 2] {
    let cloth = &memory.cloth;
    let by = |solver: FiberSolver, range: [u32; 2]| {
        if memory.registers.phase.fiber_solver == solver as u32 { range } else { [0, 0] }
    };
    match items {
        Items::Shapes => [0, memory.prepared_count()],
        Items::Particles => [0, cloth.particle_count],
        Items::TestedParticles => [0, if is_sleep_test(memory) { cloth.particle_count } else { 0 }],
        Items::Triangles => [0, cloth.fabric.triangle_count],
        Items::Anchors => [0, cloth.fabric.anchor_count],
        Items::Fibers(solver) => by(solver, memory.registers.fibers),
        Items::Edges(solver) => by(solver, memory.registers.edges),
        Items::Yarns => memory.registers.yarns,
        Items::Bends => memory.registers.bends,
        Items::Cells => [0, memory.cells.len() as u32],
        Items::CellParts => [0, GRID_PARTS],
        Items::Members => [0, cloth.self_collision.member_count],
        Items::Chunks => [0, chunk_count(cloth.particle_count)],
        Items::Bodies => [0, cloth.colliders.body_count],
        Items::Bundles => memory.registers.bundles,
        Items::ProbedParticles => {
            [0, if probes_contacts(memory) { cloth.particle_count } else { 0 }]
        }
        Items::StretchedTriangles => {
            [0, if stretches_springs(memory) { 0 } else { cloth.fabric.triangle_count }]
        }
        Items::TakenBends => {
            let is_folding = takes_bends(memory) && !bends_springs(memory);
            [0, if is_folding { bend_count(memory) } else { 0 }]
        }
        Items::Chains => [0, chain_end(memory)],
        Items::SolveParts => [0, SOLVE_PARTS],
        Items::SolveSums => [0, SOLVE_SUMS],
        Items::One => [0, 1],
    }
}

/// Tests whether a function runs in the current repetition.
fn is_due(memory: &ClothMemory<'_>, task: Task) -> bool {
    let is_first_step = memory.registers.reduction_step == 0;
    task.is_of_first_step().is_none_or(|is_first| is_first == is_first_step)
}
