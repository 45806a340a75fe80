#import lib/math
#import state/shared
#import state/solve
#import stage/implicit/models
#import stage/implicit/addresses
#import stage/implicit/edges
#import stage/implicit/contacts
#import stage/implicit/springs
#import stage/implicit/stretch
#import stage/implicit/bends
#import stage/implicit/residual
#import stage/implicit/rates
#import stage/implicit/sums
#import stage/implicit/chain_blocks
#import stage/implicit/chains
#import stage/implicit/step_control

/// Starts a step at the prediction of particle i. Until the end of the solve the current position
/// is a displacement from the previous one: differences of small numbers keep the digits that
/// forces of stiff cloth need.
///
/// A step may be made in 2^j equal parts, each a step of backward Euler. All that acts besides
/// inertia adds the same velocity to each part: (y - x - inertia) / 4^j adds to each part's
/// displacement over the part before.
fn begin_solve(i: u32) {
    let particle = load_current(i);
    var predicted = particle.xyz - load_previous(i).xyz;
    if ((STAGES & STAGE_INTEGRATE) != 0u) {
        if (cloth.remainder_begin != NO_OFFSET) {
            predicted += load_scratch(cloth.remainder_begin + i).xyz;
        }
    }
    var inertia = predicted;
    if ((STAGES & STAGE_INTEGRATE) != 0u) {
        inertia = select(predicted, load_scratch(solve_row(SOLVE_INERTIA, i)).xyz, particle.w > 0.0);
    }
    let fraction = load_implicit().fraction;
    // Displacement over inertia, by the square of the part's length.
    let added = (predicted - inertia) * (fraction * fraction);
    store_scratch(solve_row(SOLVE_INERTIA, i), vec4<f32>(added, 0.0));
    var start = predicted;
    if (fraction < 1.0) {
        start = inertia * fraction + added;
    }
    start_at(i, start, particle.w);
    if (i == 0u) {
        let has_bends = load_implicit().rigidity > 0.0;
        store_scratch(solve_state(1u), vec4<f32>(0.0, 0.0, SOLVE_START, select(0.0, 1.0, has_bends)));
        store_scratch(solve_state(3u), vec4<f32>(0.0));
        store_scratch(solve_state(6u), vec4<f32>(vec3<f32>(0.0), load_scratch(solve_state(6u)).w));
    }
}

/// Starts a solve of particle i with this prediction and inverse mass.
fn start_at(i: u32, prediction: vec3<f32>, inverse_mass: f32) {
    var mass = 0.0;
    if (inverse_mass > 0.0) {
        mass = 1.0 / inverse_mass;
    }
    store_current(i, vec4<f32>(prediction, inverse_mass));
    store_scratch(solve_row(SOLVE_PREDICTIONS, i), vec4<f32>(prediction, inverse_mass));
    store_scratch(solve_row(SOLVE_MOVES, i), vec4<f32>(prediction, mass));
    store_scratch(solve_row(SOLVE_RESIDUALS, i), vec4<f32>(0.0));
    store_scratch(solve_row(SOLVE_TRIALS, i), vec4<f32>(0.0));
    store_scratch(solve_row(SOLVE_DIRECTIONS, i), vec4<f32>(0.0));
    store_scratch(solve_row(SOLVE_FORCES, i), vec4<f32>(0.0));
    store_scratch(solve_row(SOLVE_PLANES, i), vec4<f32>(0.0));
}

/// Moves particle i along its direction (0 without mass), updates residual and direction, and makes
/// the next trial.
fn take_step(i: u32) {
    let factors = load_scratch(solve_state(0u));
    let next = load_scratch(solve_state(1u));
    if ((STAGES & IMPLICIT_HALVINGS) != 0u) {
        if (next.z == SOLVE_START) {
            begin_part(i, factors.x > 0.0, factors.y);
            return;
        }
    }
    let displacement = load_scratch(solve_row(SOLVE_MOVES, i));
    let direction = load_scratch(solve_row(SOLVE_DIRECTIONS, i)).xyz;
    let inverse_mass = load_scratch(solve_row(SOLVE_PREDICTIONS, i)).w;
    // u += a d;  r = (1 - f) r + f r1;  d = z + beta d;  trial = u + s d
    let moved = displacement.xyz + direction * factors.x;
    let residual = load_scratch(solve_row(SOLVE_RESIDUALS, i)).xyz * factors.y + load_scratch(solve_row(SOLVE_TRIALS, i)).xyz * factors.z;
    let next_direction = residual * factors.w + direction * next.x;
    store_scratch(solve_row(SOLVE_MOVES, i), vec4<f32>(moved, displacement.w));
    store_scratch(solve_row(SOLVE_RESIDUALS, i), vec4<f32>(residual, 0.0));
    store_scratch(solve_row(SOLVE_DIRECTIONS, i), vec4<f32>(next_direction, 0.0));
    store_current(i, vec4<f32>(moved + next_direction * next.y, inverse_mass));
}

/// Starts the next part of a step for particle i, `ratio` times as long as the part solved last:
/// after that part if it was accepted, otherwise again at its start.
fn begin_part(i: u32, is_taken: bool, ratio: f32) {
    let prediction = load_scratch(solve_row(SOLVE_PREDICTIONS, i));
    let added = load_scratch(solve_row(SOLVE_INERTIA, i)).xyz;
    var inertia = prediction.xyz - added;
    if (is_taken) {
        inertia = solved_move(i, prediction.w);
        let before = load_previous(i);
        store_previous(i, vec4<f32>(before.xyz + inertia, before.w));
    }
    // The added displacement scales with the square of the step.
    let next_added = added * (ratio * ratio);
    store_scratch(solve_row(SOLVE_INERTIA, i), vec4<f32>(next_added, 0.0));
    start_at(i, inertia * ratio + next_added, prediction.w);
}

/// Displacement of particle i by the solve: 0 if the solve found nothing finite, unless the
/// particle is pinned.
fn solved_move(i: u32, inverse_mass: f32) -> vec3<f32> {
    if (inverse_mass > 0.0 && load_scratch(solve_state(3u)).w > 0.0) {
        return vec3<f32>(0.0);
    }
    return load_scratch(solve_row(SOLVE_MOVES, i)).xyz;
}

/// Moves particle i to its solved position, less what friction takes off its slide along a contact
/// plane. After a step in `split` parts the previous position is set back, so that the particle
/// keeps the velocity of the last part over a whole step.
fn end_solve(i: u32) {
    let inverse_mass = load_scratch(solve_row(SOLVE_PREDICTIONS, i)).w;
    let displacement = solved_move(i, inverse_mass);
    let split = load_implicit().split;
    let start = load_previous(i);
    var before = start.xyz;
    var last = displacement;
    if (split > 1.0) {
        before -= displacement * (split - 1.0);
        last = displacement * split;
    }
    var position = start.xyz + displacement;
    if ((STAGES & STAGES_OF_PROBES) != 0u) {
        let slide = plane_slide(i, displacement, inverse_mass);
        if (cloth_parameters[cloth_slot].colliders.friction_holds != 0u) {
            position -= slide;
        } else {
            before += slide;
        }
        last -= slide;
    }
    if (cloth.remainder_begin != NO_OFFSET) {
        store_scratch(cloth.remainder_begin + i, vec4<f32>(lost_displacement(last, position, before), 0.0));
    }
    store_previous(i, vec4<f32>(before, start.w));
    store_current(i, vec4<f32>(position, inverse_mass));
}
