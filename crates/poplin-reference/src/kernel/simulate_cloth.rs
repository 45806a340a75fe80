//! Twin of `shaders/kernel/simulate_cloth.wgsl`.

use std::ops::Range;

use poplin_layout::{Feedback, Stage, StageMask};

use crate::stage::gauss_seidel::project_fiber;
use crate::stage::integrate::integrate_particle;
use crate::stage::mass::restore_mass;
use crate::stage::tether::{constrain_tethers, gather_anchor};
use crate::{ClothMemory, Team, Work};

/// Simulates a range of iterations of one frame of one cloth.
///
/// Each call of [`Team::interval`] stands for a loop over items and the barrier after it.
pub fn simulate_cloth(
    memory: &mut ClothMemory<'_>,
    feedback: &mut Feedback,
    iterations: Range<u32>,
    stages: StageMask,
    team: &mut Team<'_>,
) {
    let iteration_end = memory.cloth.iteration_count.min(iterations.end);
    let phase_begin = memory.cloth.phase_begin;
    let phase_end = phase_begin + 2 * memory.cloth.phase_count;
    let set_begin = memory.cloth.set_begin;
    let particle_count = memory.cloth.particle_count;
    memory.fault_count = feedback.fault_count;
    memory.fault_particle = feedback.fault_particle;
    if feedback.fault_count != 0 {
        return;
    }

    for k in iterations.start..iteration_end {
        memory.iteration = memory.load_iteration(k);
        if stages.contains(Stage::Integrate) {
            team.interval(memory, Work { name: "integrate_particle", begin: 0, end: particle_count, run: integrate_particle });
            if memory.fault_count != 0 {
                feedback.fault_count = memory.fault_count;
                feedback.fault_particle = memory.fault_particle;
                feedback.iteration_total += k - iterations.start;
                feedback.fault_iteration = feedback.iteration_total;
                return;
            }
        }
        if stages.contains(Stage::Tether) {
            team.interval(memory, Work { name: "gather_anchor", begin: 0, end: memory.cloth.anchor_count, run: gather_anchor });
            team.interval(memory, Work { name: "constrain_tethers", begin: 0, end: particle_count, run: constrain_tethers });
        }
        if stages.contains(Stage::GaussSeidel) {
            for constants in (phase_begin..phase_end).step_by(2) {
                memory.phase = memory.load_phase(constants);
                for set in memory.phase.set_begin..memory.phase.set_end {
                    let fiber_begin = memory.fabric(set_begin + set);
                    let fiber_end = memory.fabric(set_begin + set + 1);
                    team.interval(memory, Work { name: "project_fiber", begin: fiber_begin, end: fiber_end, run: project_fiber });
                }
            }
        }
        if stages.contains(Stage::Mass) {
            team.interval(memory, Work { name: "restore_mass", begin: 0, end: particle_count, run: restore_mass });
        }
    }
    feedback.iteration_total += iteration_end.saturating_sub(iterations.start);
}
