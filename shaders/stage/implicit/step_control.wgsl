#import stage/implicit/models
#import stage/implicit/sums

/// Decides from the sums over all particles how the solve continues: next trial, residual check, or
/// end of the part.
///
/// Non-linear conjugate gradients (Polak, Ribiere, 1969; Powell, 1986) with one evaluation per
/// iteration. The secant of <r, d> between the displacement and the trial u + s d yields the step
/// a. The residual is taken as linear along d, so with f = a/s the residual after the step is (1 -
/// f) r + f r1, and all products follow. At checks the residual is evaluated, as are the bends,
/// whose forces are otherwise held where they change slowly enough.
///
/// Deviations from Shewchuk, "An Introduction to the Conjugate Gradient Method Without the
/// Agonizing Pain", 1994, B4: the solve starts at the prediction, and restarts where <r, d> is not
/// positive; the trial is the last step; a step is at most 1, as no eigenvalue in the metric is
/// below 1, and at most SOLVE_GROWTH trials; a trial is at least a 64th of the first, so that
/// energies of fourth order are measured where they are steep; a residual that all but vanishes is
/// evaluated, as the rest of the recurrence is rounding.
///
/// A step that does not converge, or diverges, is rejected and made in halves. If a part took more
/// than three quarters of the iteration limit, the next part is half as long. If two parts in a row
/// took at most three eighths, the next is twice as long, provided that it ends on the grid of such
/// parts. The very first step is halved by the rate of stretch.
fn choose_step(_item: u32) {
    let parts = add_sums(sum_row(0u), SOLVE_SUMS);
    let sums = parts[0];
    let rates = parts[1];
    let mode = load_scratch(solve_state(1u)).z;
    let products = load_scratch(solve_state(2u));
    let last = load_scratch(solve_state(3u));
    let has_bends = load_implicit().rigidity > 0.0;
    let step_square = load_implicit().step_square;
    let is_sane = is_within(sums.x + sums.y + sums.z, SOLVE_MAX);
    var iterations = last.x;
    var tolerance_square = last.y;
    var holds_bends = last.z > 0.0;
    var first_trial = products.w;
    var next_mode = SOLVE_LINE;
    var step = 0.0;
    var kept = 0.0;
    var taken = 1.0;
    // Products of the next residual: with itself, with the last one, with the direction.
    var rr = sums.z;
    var overlap = sums.y;
    var rd = sums.x;
    var trial = products.z;
    let control = load_scratch(solve_state(5u));
    let halvings = control.x;
    let ticks = load_scratch(solve_state(6u)).x;
    let spent = load_scratch(solve_state(6u)).y;
    var start_square = load_scratch(solve_state(6u)).z;
    let floored = load_scratch(solve_state(6u)).w;
    let most = f32(load_implicit().max_halvings);
    var next = halvings;
    var ratio = 1.0;
    if (mode == SOLVE_START) {
        start_square = sums.w;
        let tolerance = max(load_implicit().tolerance, SOLVE_ROUNDING * rates.z * step_square);
        tolerance_square = tolerance * tolerance;
        holds_bends = rates.y * step_square <= 1.0;
        // Stiff cloth starts with a shorter trial.
        let reach = min(2.0 * rates.x * step_square, SOLVE_MAX_REACH);
        first_trial = 1.0;
        if (reach > 4.0 && !is_preconditioned()) {
            first_trial = 4.0 / reach;
        }
        trial = first_trial;
        if ((STAGES & IMPLICIT_HALVINGS) != 0u) {
            var square = reach;
            let limit = f32(load_implicit().max_iterations);
            let first_reach = SOLVE_FIRST_REACH * limit * limit;
            while (control.w > 0.0 && square > first_reach && next < most) {
                // Half the step has a quarter of the squared rate.
                square *= 0.25;
                ratio *= 0.5;
                next += 1.0;
            }
        }
    }
    if (mode == SOLVE_LINE) {
        iterations += 1.0;
        step = 2.0 * products.z;
        if (sums.x < products.y) {
            // Secant of <r, d>: y at 0, x at the trial z; its zero is at a = z y / (y - x).
            step = products.z * products.y / (products.y - sums.x);
        }
        step = min(min(step, SOLVE_GROWTH * products.z), load_implicit().max_step);
        taken = step / products.z;
        kept = 1.0 - taken;
        // (1 - f) r + f r1|^2 in the metric, expanded.
        rr = kept * kept * products.x + 2.0 * (taken * kept) * sums.y + taken * taken * sums.z;
        overlap = kept * products.x + taken * sums.y;
        rd = kept * products.y + taken * sums.x;
        trial = max(step, 0.015625 * first_trial);
        let is_due = u32(iterations) % load_implicit().check_interval == 0u;
        let is_last = u32(iterations) >= load_implicit().max_iterations;
        let is_exhausted = rr <= SOLVE_EXHAUSTED * products.x;
        if (is_due || is_last || is_exhausted) {
            next_mode = SOLVE_CHECK;
        }
        // Such an extra check counts as an iteration, so that the kernel's bound on evaluations
        // holds.
        if (is_exhausted && !is_due && !is_last) {
            iterations += 1.0;
        }
    }
    let is_check = mode != SOLVE_LINE;
    let is_solved = is_sane && is_check && is_within(sums.w, tolerance_square);
    let iteration_limit = load_implicit().max_iterations;
    var is_late = false;
    if ((STAGES & IMPLICIT_HALVINGS) != 0u) {
        is_late = most > 0.0 && spent + iterations > f32(load_implicit().iteration_budget);
    }
    let is_last_check = u32(iterations) >= iteration_limit || (is_late && mode != SOLVE_START);
    let is_over = is_check && !is_solved && is_last_check;
    var may_halve = false;
    if ((STAGES & IMPLICIT_HALVINGS) != 0u) {
        may_halve = halvings < most && !is_late;
    }
    let is_worse = is_check && sums.w > SOLVE_WORSE * max(start_square, tolerance_square);
    let has_failed = !is_sane || is_over || (is_worse && may_halve);
    if (next > halvings || has_failed || is_solved) {
        let is_first_cut = next > halvings;
        let is_rejected = !is_first_cut && has_failed && may_halve;
        let is_taken = !is_first_cut && !is_rejected;
        let tick_count = load_implicit().tick_count;
        var ticks_done = ticks;
        var quick_steps = 0.0;
        if (is_taken) {
            ticks_done += f32(tick_count);
            if (4.0 * iterations > 3.0 * f32(iteration_limit) && may_halve) {
                next = halvings + 1.0;
                ratio = 0.5;
            } else if (is_solved && 8.0 * iterations <= 3.0 * f32(iteration_limit)) {
                quick_steps = 1.0;
                // The second quick part in a row, at the end of a part twice as long.
                if (control.y > 0.0 && u32(ticks_done) % (2u * tick_count) == 0u && halvings > 0.0) {
                    next = halvings - 1.0;
                    ratio = 2.0;
                    quick_steps = 0.0;
                }
            }
        } else if (is_rejected) {
            next = halvings + 1.0;
            ratio = 0.5;
        }
        // A whole step has 2^max_halvings ticks.
        let is_done = is_taken && u32(ticks_done) >= 1u << load_implicit().max_halvings;
        let taken_flag = select(0.0, 1.0, is_taken);
        let held = select(0.0, 1.0, is_taken && !is_sane);
        let unconverged = select(0.0, 1.0, is_taken && is_sane && !is_solved);
        // Solved only because rounding raised the tolerance.
        let is_floored = is_taken && is_solved && sums.w > SOLVE_FLOORED * load_implicit().tolerance * load_implicit().tolerance;
        let counters = load_scratch(solve_state(4u));
        store_scratch(solve_state(0u), vec4<f32>(taken_flag, ratio, 0.0, 0.0));
        store_scratch(solve_state(1u), vec4<f32>(0.0, 0.0, select(SOLVE_START, SOLVE_DONE, is_done), select(0.0, 1.0, has_bends)));
        store_scratch(solve_state(2u), vec4<f32>(0.0));
        store_scratch(solve_state(3u), vec4<f32>(0.0, 0.0, 0.0, held));
        store_scratch(solve_state(4u), counters + vec4<f32>(taken_flag, iterations, unconverged, held));
        store_scratch(solve_state(5u), vec4<f32>(next, quick_steps, control.z + select(0.0, 1.0, is_rejected), 0.0));
        store_scratch(solve_state(6u), vec4<f32>(ticks_done, spent + iterations, 0.0, floored + select(0.0, 1.0, is_floored)));
        // Encodes what the kernel reads; see `shared_is_done`.
        shared_is_done = select(2u * u32(next) + 3u, 1u, is_done);
    } else {
        let takes = has_bends && (next_mode == SOLVE_CHECK || !holds_bends);
        let takes_flag = select(0.0, 1.0, takes);
        if (next_mode == SOLVE_CHECK) {
            // Residual and direction stay until the true residual is known.
            store_scratch(solve_state(0u), vec4<f32>(step, 1.0, 0.0, 0.0));
            store_scratch(solve_state(1u), vec4<f32>(1.0, 0.0, SOLVE_CHECK, takes_flag));
            store_scratch(solve_state(2u), vec4<f32>(products.x, products.y, trial, first_trial));
        } else {
            var mixed = 0.0;
            if (mode != SOLVE_START) {
                // Polak-Ribiere factor, restarted where negative (PR+).
                mixed = max(0.0, (rr - overlap) / products.x);
            }
            var descent = rr + mixed * rd;
            // Not a descent direction (or NaN): restart with the residual.
            if (!is_positive(descent)) {
                mixed = 0.0;
                descent = rr;
            }
            store_scratch(solve_state(0u), vec4<f32>(step, kept, taken, 1.0));
            store_scratch(solve_state(1u), vec4<f32>(mixed, trial, SOLVE_LINE, takes_flag));
            store_scratch(solve_state(2u), vec4<f32>(rr, descent, trial, first_trial));
        }
        store_scratch(solve_state(3u), vec4<f32>(iterations, tolerance_square, select(0.0, 1.0, holds_bends), 0.0));
        store_scratch(solve_state(6u), vec4<f32>(ticks, spent, start_square, floored));
        let factors = next_mode == SOLVE_CHECK && u32(iterations) % SOLVE_FACTOR_INTERVAL == 0u;
        shared_is_done = 2u * u32(halvings) + 2u + select(0u, 1u, factors);
    }
}
