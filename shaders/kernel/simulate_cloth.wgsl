// Written by `cargo xtask generate` from crates/poplin-layout: change the declaration there.
#import state/shared
#import state/counters
#import stage/integrate
#import stage/wind
#import stage/motion
#import stage/tether
#import stage/implicit
#import stage/gauss_seidel
#import stage/semi_implicit
#import stage/cyclic_reduction
#import stage/yarn
#import stage/bend
#import stage/displacement
#import stage/second_order
#import stage/separation
#import stage/self_collide
#import stage/sweep
#import stage/collide_convex
#import stage/collide_box
#import stage/collide_triangle
#import stage/mass
#import stage/collide_shape
#import stage/collide_continuous
#import stage/collide_body
#import stage/virtual_particles
#import stage/limit_speed
#import stage/sleep

/// Simulates a range of iterations of one frame, one cloth per workgroup.
///
/// Every lane runs every barrier: work is guarded, barriers are not. A cloth that sleeps or has a
/// fault returns before any of its particles is read.
@compute @workgroup_size(LANES)
fn simulate_cloth(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let slot = workgroup.y * dispatch_parameters.row_width + workgroup.x;
    let is_inside = slot < dispatch_parameters.cloth_count;
    // A workgroup beyond the list takes the last cloth and does nothing.
    let cloth_index = fabric_pool[dispatch_parameters.list_begin + min(slot, dispatch_parameters.cloth_count - 1u)];
    let iteration_begin = dispatch_parameters.iteration_begin;
    let phase_count = cloth_parameters[cloth_index].phase_count;
    let phases = cloth_parameters[cloth_index].phase_begin;
    let phase_begin = phases + PHASE_ROWS * min(dispatch_parameters.phase_begin, phase_count);
    let phase_end = phases + PHASE_ROWS * min(dispatch_parameters.phase_end, phase_count);
    let set_begin = cloth_parameters[cloth_index].fabric.set_begin;
    let yarn_begin = cloth_parameters[cloth_index].fabric.yarn_set_begin;
    let yarn_end = yarn_begin + cloth_parameters[cloth_index].fabric.yarn_set_count;
    let bend_begin = cloth_parameters[cloth_index].fabric.bend_set_begin;
    let bend_end = bend_begin + cloth_parameters[cloth_index].fabric.bend_set_count;
    let virtual_begin = cloth_parameters[cloth_index].fabric.virtual_set_begin;
    let virtual_end = virtual_begin + cloth_parameters[cloth_index].fabric.virtual_set_count;

    cloth_slot = cloth_index;
    cloth = cloth_parameters[cloth_slot];
    var next_halvings = feedback[cloth.cloth].implicit_halvings;
    if (lane == 0u && is_inside) {
        fetch_counters(iteration_begin == 0u);
    }
    // The load is uniform, and a barrier: every lane sees the decision of lane 0.
    let is_idle = workgroupUniformLoad(&shared_is_done) != 0u;
    let is_busy = is_inside && !is_idle;
    let iteration_end = select(0u, min(cloth_parameters[cloth_index].iteration_count, dispatch_parameters.iteration_end), is_busy);
    let particle_count = select(0u, cloth.particle_count, is_busy);
    for (var i = lane; i < particle_count; i += LANES) {
        fetch_particle(i);
    }
    workgroupBarrier(); // fetch -> iterations

    var is_alive = true;
    var ran = 0u;
    for (var k = iteration_begin; k < iteration_end; k++) {
        iteration = load_iteration(k);
        rotation_columns = cloth.rotation_begin + select(6u, 0u, k == 0u);
        if ((STAGES & STAGES_OF_SHAPES) != 0u) {
            if (is_alive) {
                let end = prepared_count();
                for (var shape = lane; shape < end; shape += LANES) {
                    prepare_shape(shape);
                }
            }
            workgroupBarrier();
            storageBarrier();
        }
        if ((STAGES & STAGE_INTEGRATE) != 0u) {
            if (is_alive) {
                for (var i = lane; i < particle_count; i += LANES) {
                    integrate_particle(i);
                }
            }
            workgroupBarrier();
            storageBarrier();
            is_alive = is_alive && atomicLoad(&shared_fault_count) == 0u;
        }
        if ((STAGES & STAGE_WIND) != 0u) {
            if (is_alive) {
                for (var t = lane; t < cloth.fabric.triangle_count; t += LANES) {
                    blow_triangle(t);
                }
            }
            workgroupBarrier();
            storageBarrier();
            if (is_alive) {
                for (var i = lane; i < particle_count; i += LANES) {
                    gather_wind(i);
                }
            }
            workgroupBarrier();
            storageBarrier();
        }
        if ((STAGES & STAGE_MOTION) != 0u) {
            if (is_alive) {
                for (var i = lane; i < particle_count; i += LANES) {
                    constrain_motion(i);
                }
            }
            if (CURRENT_SHARED) { workgroupBarrier(); } else { storageBarrier(); }
        }
        if ((STAGES & STAGE_TETHER) != 0u) {
            if (is_alive) {
                for (var slot = lane; slot < cloth.fabric.anchor_count; slot += LANES) {
                    gather_anchor(slot);
                }
            }
            workgroupBarrier();
            storageBarrier();
            if (is_alive) {
                for (var i = lane; i < particle_count; i += LANES) {
                    constrain_tethers(i);
                }
            }
            if (CURRENT_SHARED) { workgroupBarrier(); } else { storageBarrier(); }
        }
        if ((STAGES & STAGE_DISPLACEMENT) != 0u) {
            if (is_alive) {
                for (var i = lane; i < particle_count; i += LANES) {
                    begin_displacement(i);
                }
            }
            if (CURRENT_SHARED) { workgroupBarrier(); } else { storageBarrier(); }
        }
        if ((STAGES & STAGE_SECOND_ORDER) != 0u) {
            if (is_alive) {
                for (var i = lane; i < particle_count; i += LANES) {
                    note_prediction(i);
                }
            }
            if (CURRENT_SHARED) { workgroupBarrier(); } else { storageBarrier(); }
        }
        if ((STAGES & STAGE_IMPLICIT) != 0u) {
            set_halvings(min(next_halvings, frame_pool[phases + 5u].x));
            if (is_alive) {
                for (var i = lane; i < particle_count; i += LANES) {
                    begin_solve(i);
                }
            }
            workgroupBarrier();
            storageBarrier();
            let evaluation_end = frame_pool[phases + 4u].w;
            let chain_passes = select(0u, 1u, frame_pool[phases + 4u].x == PRECONDITIONER_FIBERS);
            // Chains are factored at the first evaluation and at some checks, solved at each.
            var factor_passes = 1u;
            // A cloth with a fault leaves at once: it chooses no step.
            if (lane == 0u) {
                shared_is_done = 1u;
            }
            for (var evaluation = 0u; evaluation < evaluation_end; evaluation++) {
                if (is_alive) {
                    let end = select(0u, particle_count, probes_contacts());
                    for (var i = lane; i < end; i += LANES) {
                        probe_contacts(i);
                    }
                }
                if ((STAGES & IMPLICIT_TRIANGLES) != 0u) {
                    if (is_alive) {
                        let end = select(cloth.fabric.triangle_count, 0u, stretches_springs());
                        for (var t = lane; t < end; t += LANES) {
                            stretch_triangle(t);
                        }
                    }
                }
                if ((STAGES & IMPLICIT_BENDS) != 0u) {
                    if (is_alive) {
                        let end = select(0u, bend_count(), takes_bends() && !bends_springs());
                        for (var bend = lane; bend < end; bend += LANES) {
                            fold_bend(bend);
                        }
                    }
                }
                storageBarrier();
                if ((STAGES & IMPLICIT_CHAINS) != 0u) {
                    for (var chain_pass = 0u; chain_pass < chain_passes; chain_pass++) {
                        if (is_alive) {
                            for (var i = lane; i < particle_count; i += LANES) {
                                find_residual(i);
                            }
                        }
                        storageBarrier();
                        for (var factor_pass = 0u; factor_pass < factor_passes; factor_pass++) {
                            if ((STAGES & IMPLICIT_TRIANGLES) != 0u) {
                                if (is_alive) {
                                    let end = select(cloth.fabric.triangle_count, 0u, stretches_springs());
                                    for (var t = lane; t < end; t += LANES) {
                                        direct_triangle(t);
                                    }
                                }
                            }
                            storageBarrier();
                            if (is_alive) {
                                let end = chain_end();
                                for (var chain = lane; chain < end; chain += LANES) {
                                    factor_chain(chain);
                                }
                            }
                        }
                        if (is_alive) {
                            let end = chain_end();
                            for (var chain = lane; chain < end; chain += LANES) {
                                solve_chain(chain);
                            }
                        }
                        storageBarrier();
                    }
                }
                if (is_alive) {
                    for (var part = lane; part < SOLVE_PARTS; part += LANES) {
                        sum_part(part);
                    }
                }
                storageBarrier();
                if (is_alive) {
                    for (var sum = lane; sum < SOLVE_SUMS; sum += LANES) {
                        sum_parts(sum);
                    }
                }
                storageBarrier();
                if (is_alive && lane == 0u) {
                    choose_step(0u);
                }
                storageBarrier();
                // See `shared_is_done`: 1 ends the solve, bit 0 asks for new factors, the rest is
                // the halving.
                let verdict = workgroupUniformLoad(&shared_is_done);
                if (verdict == 1u) {
                    break;
                }
                factor_passes = verdict & 1u;
                set_halvings((verdict >> 1u) - 1u);
                if (is_alive) {
                    for (var i = lane; i < particle_count; i += LANES) {
                        take_step(i);
                    }
                }
                workgroupBarrier();
                storageBarrier();
            }
            if (is_alive) {
                for (var i = lane; i < particle_count; i += LANES) {
                    end_solve(i);
                }
            }
            next_halvings = u32(load_scratch(solve_state(5u)).x);
        }
        if ((STAGES & STAGES_OF_FIBERS) != 0u) {
            for (var constants = phase_begin; constants < phase_end; constants += PHASE_ROWS) {
                let phase = load_phase(constants);
                let sets = frame_pool[constants + 1u];
                let solver = frame_pool[constants + 2u];
                // Passes of cyclic reduction: one builds the rows, each of the others reduces them.
                let step_count = select(0u, solver.z + 1u, solver.x == SOLVER_CYCLIC_REDUCTION);
                let solve_count = select(0u, 1u, solver.x == SOLVER_SEMI_IMPLICIT);
                for (var set_index = sets.x; set_index < sets.y; set_index++) {
                    let fiber_begin = fabric_pool[set_begin + set_index];
                    let fiber_end = fabric_pool[set_begin + set_index + 1u];
                    let edges = vec2<u32>(fabric_pool[cloth.fabric.fiber_begin + fiber_begin], fabric_pool[cloth.fabric.fiber_begin + fiber_end]);
                    if ((STAGES & STAGE_CYCLIC_REDUCTION) != 0u) {
                        for (var step = 0u; step < step_count; step++) {
                            if (is_alive) {
                                for (var edge = edges.x + lane; edge < edges.y; edge += LANES) {
                                    if (step == 0u) {
                                        build_row(edge, edges.x, phase);
                                    }
                                    if (step > 0u) {
                                        reduce_row(edge, step - 1u, edges, phase);
                                    }
                                }
                            }
                            if (ROWS_SHARED) { workgroupBarrier(); } else { storageBarrier(); }
                        }
                        if (is_alive && solver.x == SOLVER_CYCLIC_REDUCTION) {
                            for (var edge = edges.x + lane; edge < edges.y; edge += LANES) {
                                move_edge(edge, edges.x, phase);
                            }
                        }
                        if (ROWS_APART) { storageBarrier(); }
                    }
                    if ((STAGES & STAGE_GAUSS_SEIDEL) != 0u) {
                        if (is_alive && solver.x == SOLVER_GAUSS_SEIDEL) {
                            for (var fiber = fiber_begin + lane; fiber < fiber_end; fiber += LANES) {
                                project_fiber(fiber, phase);
                            }
                        }
                    }
                    if ((STAGES & STAGE_SEMI_IMPLICIT) != 0u) {
                        for (var solve = 0u; solve < solve_count; solve++) {
                            if (is_alive) {
                                for (var edge = edges.x + lane; edge < edges.y; edge += LANES) {
                                    build_equation(edge, edges.x, phase);
                                }
                            }
                            if (ROWS_SHARED) { workgroupBarrier(); } else { storageBarrier(); }
                            if (is_alive) {
                                for (var fiber = fiber_begin + lane; fiber < fiber_end; fiber += LANES) {
                                    solve_fiber(fiber, edges.x);
                                }
                            }
                            if (ROWS_SHARED) { workgroupBarrier(); } else { storageBarrier(); }
                            if (is_alive) {
                                for (var edge = edges.x + lane; edge < edges.y; edge += LANES) {
                                    push_edge(edge, edges.x);
                                }
                            }
                            if (ROWS_APART) { storageBarrier(); }
                        }
                    }
                    if (CURRENT_SHARED) { workgroupBarrier(); } else { storageBarrier(); }
                }
            }
        }
        if ((STAGES & STAGE_YARN) != 0u) {
            for (var yarns = yarn_begin; yarns < yarn_end; yarns++) {
                if (is_alive) {
                    let end = fabric_pool[yarns + 1u];
                    for (var yarn = fabric_pool[yarns] + lane; yarn < end; yarn += LANES) {
                        solve_yarn(yarn);
                    }
                }
                workgroupBarrier();
                storageBarrier();
            }
        }
        if ((STAGES & STAGE_BEND) != 0u) {
            for (var bends = bend_begin; bends < bend_end; bends++) {
                if (is_alive) {
                    let end = fabric_pool[bends + 1u];
                    for (var bend = fabric_pool[bends] + lane; bend < end; bend += LANES) {
                        solve_bend(bend);
                    }
                }
                if (CURRENT_SHARED) { workgroupBarrier(); } else { storageBarrier(); }
            }
        }
        if ((STAGES & STAGE_SECOND_ORDER) != 0u) {
            if (is_alive) {
                for (var i = lane; i < particle_count; i += LANES) {
                    correct_velocity(i);
                }
            }
        }
        if ((STAGES & STAGE_DISPLACEMENT) != 0u) {
            if (is_alive) {
                for (var i = lane; i < particle_count; i += LANES) {
                    end_displacement(i);
                }
            }
        }
        if ((STAGES & STAGE_SEPARATION) != 0u) {
            if (is_alive) {
                for (var i = lane; i < particle_count; i += LANES) {
                    constrain_separation(i);
                }
            }
        }
        if ((STAGES & STAGE_SELF_COLLIDE) != 0u) {
            if (is_alive) {
                for (var cell = lane; cell < GRID_CELLS; cell += LANES) {
                    clear_cell(cell);
                }
            }
            workgroupBarrier();
            storageBarrier();
            if (is_alive) {
                let end = cloth_parameters[cloth_slot].self_collision.member_count;
                for (var member = lane; member < end; member += LANES) {
                    count_member(member);
                }
            }
            workgroupBarrier();
            if (is_alive) {
                for (var part = lane; part < GRID_PARTS; part += LANES) {
                    sum_cells(part);
                }
            }
            workgroupBarrier();
            if (is_alive) {
                for (var part = lane; part < GRID_PARTS; part += LANES) {
                    scan_cells(part);
                }
            }
            workgroupBarrier();
            if (is_alive) {
                let end = cloth_parameters[cloth_slot].self_collision.member_count;
                for (var member = lane; member < end; member += LANES) {
                    scatter_member(member);
                }
            }
            workgroupBarrier();
            storageBarrier();
            if (is_alive) {
                let end = cloth_parameters[cloth_slot].self_collision.member_count;
                for (var member = lane; member < end; member += LANES) {
                    sort_member(member);
                }
            }
            storageBarrier();
            if (is_alive) {
                let end = cloth_parameters[cloth_slot].self_collision.member_count;
                for (var member = lane; member < end; member += LANES) {
                    count_contacts(member);
                }
            }
            storageBarrier();
            if (is_alive) {
                let end = cloth_parameters[cloth_slot].self_collision.member_count;
                for (var member = lane; member < end; member += LANES) {
                    push_apart(member);
                }
            }
            if (CURRENT_SHARED) { workgroupBarrier(); } else { storageBarrier(); }
        }
        if (is_alive) {
            for (var i = lane; i < particle_count; i += LANES) {
                if ((STAGES & STAGE_SWEEP) != 0u) {
                    sweep(i);
                }
                if ((STAGES & STAGE_COLLIDE_CONVEX) != 0u) {
                    collide_convex(i);
                }
                if ((STAGES & STAGE_COLLIDE_BOX) != 0u) {
                    collide_box(i);
                }
                if ((STAGES & STAGE_COLLIDE_TRIANGLE) != 0u) {
                    collide_triangle(i);
                }
                if ((STAGES & STAGE_MASS) != 0u) {
                    restore_mass(i);
                }
                if ((STAGES & STAGE_COLLIDE_SHAPE) != 0u) {
                    collide_shape(i);
                }
                if ((STAGES & STAGE_COLLIDE_CONTINUOUS) != 0u) {
                    collide_continuous(i);
                }
            }
        }
        if ((STAGES & STAGE_COLLIDE_BODY) != 0u) {
            // The first visit sums the mass that hits each body, the second exchanges impulses.
            for (var visit = 0u; visit < 2u; visit++) {
                workgroupBarrier();
                storageBarrier();
                if (is_alive) {
                    let end = (particle_count + CHUNK - 1u) / CHUNK;
                    for (var chunk = lane; chunk < end; chunk += LANES) {
                        visit_chunk(chunk, visit == 0u);
                    }
                }
                workgroupBarrier();
                storageBarrier();
                if (is_alive) {
                    let end = cloth_parameters[cloth_slot].colliders.body_count;
                    for (var body = lane; body < end; body += LANES) {
                        sum_chunks(body, visit == 0u);
                    }
                }
            }
        }
        if ((STAGES & STAGE_VIRTUAL_PARTICLES) != 0u) {
            workgroupBarrier();
            storageBarrier();
            for (var bundles = virtual_begin; bundles < virtual_end; bundles++) {
                if (is_alive) {
                    let end = fabric_pool[bundles + 1u];
                    for (var bundle = fabric_pool[bundles] + lane; bundle < end; bundle += LANES) {
                        collide_bundle(bundle);
                    }
                }
                workgroupBarrier();
                storageBarrier();
            }
        }
        if ((STAGES & STAGE_LIMIT_SPEED) != 0u) {
            if (is_alive) {
                for (var i = lane; i < particle_count; i += LANES) {
                    limit_speed(i);
                }
            }
        }
        if ((STAGES & STAGE_SLEEP) != 0u) {
            if (is_alive) {
                let end = select(0u, particle_count, is_sleep_test(shared_sleep_time));
                for (var i = lane; i < end; i += LANES) {
                    test_rest(i);
                }
            }
            workgroupBarrier();
            if (is_alive && lane == 0u) {
                count_sleep(0u);
            }
        }
        if (CURRENT_SHARED) { workgroupBarrier(); } else { workgroupBarrier(); storageBarrier(); }
        ran += u32(is_alive);
    }

    for (var i = lane; i < particle_count; i += LANES) {
        flush_particle(i);
    }
    if (lane == 0u && is_busy) {
        flush_counters(ran);
    }
}
