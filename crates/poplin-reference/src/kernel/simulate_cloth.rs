//! Twin of `shaders/kernel/simulate_cloth.wgsl`.

use std::ops::Range;

use poplin_layout::{Feedback, GRID_PARTS, PHASE_ROWS, Stage, StageMask, chunk_count};
use poplin_model::FiberSolver;

use crate::colliders::prepare_shape;
use crate::stage::bend::solve_bend;
use crate::stage::collide_body::{push_chunk, sum_contacts, sum_impulses, weigh_contacts};
use crate::stage::collide_box::collide_box;
use crate::stage::collide_continuous::collide_continuous;
use crate::stage::collide_convex::collide_convex;
use crate::stage::collide_shape::collide_shape;
use crate::stage::collide_triangle::collide_triangle;
use crate::stage::cyclic_reduction::{build_row, move_edge, pull_edge, reduce_row};
use crate::stage::gauss_seidel::project_fiber;
use crate::stage::integrate::integrate_particle;
use crate::stage::mass::restore_mass;
use crate::stage::motion::constrain_motion;
use crate::stage::self_collide::{
    clear_cell, count_contacts, count_member, push_apart, scan_cells, scatter_member, sort_member,
    sum_cells,
};
use crate::stage::semi_implicit::solve_fiber;
use crate::stage::separation::constrain_separation;
use crate::stage::sleep::{count_sleep, is_sleep_test, test_rest};
use crate::stage::tether::{constrain_tethers, gather_anchor};
use crate::stage::virtual_particles::collide_bundle;
use crate::stage::wind::{blow_triangle, gather_wind};
use crate::{ClothMemory, StageFunction, Team, Work};

/// Brings faults and sleep counters into the workgroup; false if there is nothing to do.
fn fetch_counters(
    memory: &mut ClothMemory<'_>,
    report: &mut Feedback,
    is_frame_start: bool,
    stages: StageMask,
) -> bool {
    let is_woken = report.wake_count != memory.cloth.sleep.wake_count;
    let pass_count = if is_woken { 0 } else { report.sleep_pass_count };
    if is_frame_start {
        let is_asleep =
            stages.contains(Stage::Sleep) && pass_count >= memory.cloth.sleep.after_count;
        report.is_asleep = u32::from(is_asleep);
        report.sleep_frame_count += u32::from(is_asleep && memory.cloth.iteration_count > 0);
    }
    memory.sleep_pass_count = pass_count;
    memory.sleep_time = if is_woken { 0 } else { report.sleep_time };
    memory.fault_count = report.fault_count;
    memory.fault_particle = report.fault_particle;
    report.is_asleep == 0 && report.fault_count == 0
}

/// Reports faults and sleep counters after `iteration_count` whole iterations.
fn flush_counters(memory: &ClothMemory<'_>, report: &mut Feedback, iteration_count: u32) {
    let total = report.iteration_total + iteration_count;
    if report.fault_count == 0 && memory.fault_count != 0 {
        report.fault_count = memory.fault_count;
        report.fault_particle = memory.fault_particle;
        report.fault_iteration = total;
    }
    report.iteration_total = total;
    report.sleep_time = memory.sleep_time;
    report.sleep_pass_count = memory.sleep_pass_count;
    report.wake_count = memory.cloth.sleep.wake_count;
}

/// Simulates a range of iterations of one frame of one cloth.
///
/// Each call of [`Team::work`] stands for a loop over items, each of [`Team::interval`] for such a loop and the barrier
/// after it.
pub fn simulate_cloth(
    memory: &mut ClothMemory<'_>,
    feedback: &mut Feedback,
    iterations: Range<u32>,
    stages: StageMask,
    team: &mut Team<'_>,
) {
    let iteration_end = memory.cloth.iteration_count.min(iterations.end);
    let phase_begin = memory.cloth.phase_begin;
    let phase_end = phase_begin + PHASE_ROWS * memory.cloth.phase_count;
    let set_begin = memory.cloth.fabric.set_begin;
    let particle_count = memory.cloth.particle_count;
    let bend_begin = memory.cloth.fabric.bend_set_begin;
    let bend_end = bend_begin + memory.cloth.fabric.bend_set_count;
    let virtual_begin = memory.cloth.fabric.virtual_set_begin;
    let virtual_end = virtual_begin + memory.cloth.fabric.virtual_set_count;
    if !fetch_counters(memory, feedback, iterations.start == 0, stages) {
        return;
    }

    let mut ran = 0;
    for k in iterations.start..iteration_end {
        memory.iteration = memory.load_iteration(k);
        memory.turn_columns = memory.cloth.rotation_begin.wrapping_add(if k == 0 { 0 } else { 6 });
        if stages.intersects(StageMask::SHAPES) {
            let end = memory.prepared_count();
            team.interval(
                memory,
                Work { name: "prepare_shape", begin: 0, end, run: prepare_shape },
            );
        }
        if stages.contains(Stage::Integrate) {
            team.interval(
                memory,
                Work {
                    name: "integrate_particle",
                    begin: 0,
                    end: particle_count,
                    run: integrate_particle,
                },
            );
            if memory.fault_count != 0 {
                break;
            }
        }
        if stages.contains(Stage::Wind) {
            team.interval(
                memory,
                Work {
                    name: "blow_triangle",
                    begin: 0,
                    end: memory.cloth.fabric.triangle_count,
                    run: blow_triangle,
                },
            );
            team.interval(
                memory,
                Work { name: "gather_wind", begin: 0, end: particle_count, run: gather_wind },
            );
        }
        if stages.contains(Stage::Motion) {
            team.interval(
                memory,
                Work {
                    name: "constrain_motion",
                    begin: 0,
                    end: particle_count,
                    run: constrain_motion,
                },
            );
        }
        if stages.contains(Stage::Tether) {
            team.interval(
                memory,
                Work {
                    name: "gather_anchor",
                    begin: 0,
                    end: memory.cloth.fabric.anchor_count,
                    run: gather_anchor,
                },
            );
            team.interval(
                memory,
                Work {
                    name: "constrain_tethers",
                    begin: 0,
                    end: particle_count,
                    run: constrain_tethers,
                },
            );
        }
        if stages.intersects(StageMask::FIBERS) {
            for constants in (phase_begin..phase_end).step_by(PHASE_ROWS as usize) {
                memory.phase = memory.load_phase(constants);
                let is_solved_by = |solver| memory.phase.fiber_solver == solver as u32;
                let is_semi_implicit =
                    stages.contains(Stage::SemiImplicit) && is_solved_by(FiberSolver::SemiImplicit);
                let is_cyclic = stages.contains(Stage::CyclicReduction)
                    && is_solved_by(FiberSolver::CyclicReduction);
                let is_gauss_seidel =
                    stages.contains(Stage::GaussSeidel) && is_solved_by(FiberSolver::GaussSeidel);
                for set in memory.phase.set_begin..memory.phase.set_end {
                    let (begin, end) =
                        (memory.fabric(set_begin + set), memory.fabric(set_begin + set + 1));
                    if is_cyclic {
                        memory.fibers = [begin, end];
                        memory.edges = [begin, end]
                            .map(|fiber| memory.fabric(memory.cloth.fabric.fiber_begin + fiber));
                        let [begin, end] = memory.edges;
                        team.interval(
                            memory,
                            Work { name: "build_row", begin, end, run: build_row },
                        );
                        for round in 0..memory.phase.round_count {
                            memory.round = round;
                            team.interval(
                                memory,
                                Work { name: "reduce_row", begin, end, run: reduce_row },
                            );
                        }
                        team.interval(
                            memory,
                            Work { name: "pull_edge", begin, end, run: pull_edge },
                        );
                        team.work(Work { name: "move_edge", begin, end, run: move_edge });
                    }
                    if is_gauss_seidel {
                        team.work(Work { name: "project_fiber", begin, end, run: project_fiber });
                    }
                    if is_semi_implicit {
                        team.work(Work { name: "solve_fiber", begin, end, run: solve_fiber });
                    }
                    team.barrier(memory);
                }
            }
        }
        if stages.contains(Stage::Bend) {
            for bends in bend_begin..bend_end {
                let (begin, end) = (memory.fabric(bends), memory.fabric(bends + 1));
                team.interval(memory, Work { name: "solve_bend", begin, end, run: solve_bend });
            }
        }
        if stages.contains(Stage::Separation) {
            team.work(Work {
                name: "constrain_separation",
                begin: 0,
                end: particle_count,
                run: constrain_separation,
            });
        }
        if stages.contains(Stage::SelfCollide) {
            memory.open_grid();
            let (cells, members) =
                (memory.cells.len() as u32, memory.cloth.self_collision.member_count);
            team.interval(
                memory,
                Work { name: "clear_cell", begin: 0, end: cells, run: clear_cell },
            );
            team.interval(
                memory,
                Work { name: "count_member", begin: 0, end: members, run: count_member },
            );
            team.interval(
                memory,
                Work { name: "sum_cells", begin: 0, end: GRID_PARTS, run: sum_cells },
            );
            team.interval(
                memory,
                Work { name: "scan_cells", begin: 0, end: GRID_PARTS, run: scan_cells },
            );
            team.interval(
                memory,
                Work { name: "scatter_member", begin: 0, end: members, run: scatter_member },
            );
            team.interval(
                memory,
                Work { name: "sort_member", begin: 0, end: members, run: sort_member },
            );
            team.interval(
                memory,
                Work { name: "count_contacts", begin: 0, end: members, run: count_contacts },
            );
            team.interval(
                memory,
                Work { name: "push_apart", begin: 0, end: members, run: push_apart },
            );
        }
        if stages.contains(Stage::CollideConvex) {
            team.work(Work {
                name: "collide_convex",
                begin: 0,
                end: particle_count,
                run: collide_convex,
            });
        }
        if stages.contains(Stage::CollideBox) {
            team.work(Work {
                name: "collide_box",
                begin: 0,
                end: particle_count,
                run: collide_box,
            });
        }
        if stages.contains(Stage::CollideTriangle) {
            team.work(Work {
                name: "collide_triangle",
                begin: 0,
                end: particle_count,
                run: collide_triangle,
            });
        }
        if stages.contains(Stage::Mass) {
            team.work(Work {
                name: "restore_mass",
                begin: 0,
                end: particle_count,
                run: restore_mass,
            });
        }
        if stages.contains(Stage::CollideShape) {
            team.work(Work {
                name: "collide_shape",
                begin: 0,
                end: particle_count,
                run: collide_shape,
            });
        }
        if stages.contains(Stage::CollideContinuous) {
            team.work(Work {
                name: "collide_continuous",
                begin: 0,
                end: particle_count,
                run: collide_continuous,
            });
        }
        if stages.contains(Stage::CollideBody) {
            let (chunk_end, body_end) =
                (chunk_count(particle_count), memory.cloth.colliders.body_count);
            for (visit, sum) in [
                (weigh_contacts as StageFunction, sum_contacts as StageFunction),
                (push_chunk, sum_impulses),
            ] {
                team.barrier(memory);
                team.interval(
                    memory,
                    Work { name: "visit_chunk", begin: 0, end: chunk_end, run: visit },
                );
                team.work(Work { name: "sum_chunks", begin: 0, end: body_end, run: sum });
            }
        }
        if stages.contains(Stage::VirtualParticles) {
            team.barrier(memory);
            for bundles in virtual_begin..virtual_end {
                let (begin, end) = (memory.fabric(bundles), memory.fabric(bundles + 1));
                team.interval(
                    memory,
                    Work { name: "collide_bundle", begin, end, run: collide_bundle },
                );
            }
        }
        if stages.contains(Stage::Sleep) {
            let end = if is_sleep_test(memory) { particle_count } else { 0 };
            team.interval(memory, Work { name: "test_rest", begin: 0, end, run: test_rest });
            team.work(Work { name: "count_sleep", begin: 0, end: 1, run: count_sleep });
        }
        team.barrier(memory);
        ran += 1;
    }
    flush_counters(memory, feedback, ran);
}
