#import stage/implicit/residual
#import stage/implicit/rates

/// Sums the products of every SOLVE_PARTS-th particle from `part` on: m r1 . d, m r1 . z, m r1 .
/// z1, and the largest r1 . r1. It evaluates the residual r1 of each, and writes the preconditioned
/// residual z1 to scratch; without chains z1 is r1.
///
/// At the start of a solve it also finds the largest squared rates: of stretch [1/s^2], of bending
/// [1/s^2], and of stretch times edge length [m/s^2].
fn sum_part(part: u32) {
    let is_start = load_scratch(solve_state(1u)).z == SOLVE_START;
    var sums = vec4<f32>(0.0);
    var rates = vec4<f32>(0.0);
    for (var i = part; i < cloth.particle_count; i += SOLVE_PARTS) {
        let prediction = load_scratch(solve_row(SOLVE_PREDICTIONS, i));
        if (prediction.w > 0.0) {
            var trial = vec3<f32>(0.0);
            var conditioned = vec3<f32>(0.0);
            if (is_preconditioned()) {
                trial = load_scratch(solve_row(SOLVE_TRIALS, i)).xyz;
                // Mean of both chain families; the root undoes the scaling by M^-1/2 of
                // `factor_chain`.
                let both = load_scratch(chain_value_row(i)).xyz + load_scratch(chain_value_row(cloth.particle_count + i)).xyz;
                conditioned = both * (0.5 * sqrt(prediction.w));
            } else {
                trial = trial_residual(i);
                conditioned = trial;
            }
            store_scratch(solve_row(SOLVE_TRIALS, i), vec4<f32>(conditioned, 0.0));
            let mass = load_scratch(solve_row(SOLVE_MOVES, i)).w;
            let square = dot3(trial, trial);
            sums.x += mass * dot3(trial, load_scratch(solve_row(SOLVE_DIRECTIONS, i)).xyz);
            sums.y += mass * dot3(trial, load_scratch(solve_row(SOLVE_RESIDUALS, i)).xyz);
            sums.z += mass * dot3(trial, conditioned);
            sums.w = max(sums.w, square);
            if (is_start) {
                let plane = load_scratch(solve_row(SOLVE_PLANES, i));
                let has_plane = any(plane.xyz != vec3<f32>(0.0));
                rates = max(rates, particle_rates(i, prediction.w, has_plane));
            }
        }
    }
    store_scratch(part_row(part), sums);
    store_scratch(part_row(part) + 1u, rates);
}

/// Adds the sums of `count` parts from row `begin` on, in order; layout as in `sum_part`.
fn add_sums(begin: u32, count: u32) -> array<vec4<f32>, 2> {
    var sums = vec4<f32>(0.0);
    var rates = vec4<f32>(0.0);
    for (var k = 0u; k < count; k++) {
        let part = load_scratch(begin + 2u * k);
        sums = vec4<f32>(sums.xyz + part.xyz, max(sums.w, part.w));
        rates = max(rates, load_scratch(begin + 2u * k + 1u));
    }
    return array<vec4<f32>, 2>(sums, rates);
}

/// Adds the sums of the SOLVE_PARTS / SOLVE_SUMS parts that belong to a sum.
fn sum_parts(sum: u32) {
    let count = SOLVE_PARTS / SOLVE_SUMS;
    let sums = add_sums(part_row(sum * count), count);
    store_scratch(sum_row(sum), sums[0]);
    store_scratch(sum_row(sum) + 1u, sums[1]);
}
