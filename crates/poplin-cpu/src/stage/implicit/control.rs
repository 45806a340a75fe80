//! Step control of the conjugate gradients and of the parts of a step.

use poplin_layout::{
    SOLVE_CHECK, SOLVE_DONE, SOLVE_EXHAUSTED, SOLVE_FIRST_REACH, SOLVE_FLOORED, SOLVE_GROWTH,
    SOLVE_LINE, SOLVE_MAX, SOLVE_MAX_REACH, SOLVE_ROUNDING, SOLVE_START, SOLVE_SUMS, SOLVE_WORSE,
};

use super::residual::add_sums;
use super::rows::{is_preconditioned, solve_state, sum_row};
use crate::ClothMemory;

/// Chooses the next phase of the solve from the sums over all particles.
///
/// Non-linear conjugate gradients (Polak, Ribiere 1969; Powell 1986) with one evaluation per
/// iteration: the secant of `<r, d>` between the displacement and the trial u + s d yields the step
/// a. The residual is taken as linear along d, so at a it is (1 - f) r + f r1 with f = a/s, and so
/// are all products. At checks it is evaluated again, together with the bends, whose forces are
/// constant in between where they change slowly enough.
///
/// Deviations from Shewchuk 1994, An Introduction to the Conjugate Gradient Method Without the
/// Agonizing Pain, B4: the solve starts at the prediction; the direction restarts where `<r, d>` is
/// not positive; the first trial of a line is the last step; a step is at most `max_step` and at
/// most `SOLVE_GROWTH` trials; trials shrink at most to 1/64 of the first, so that energies of
/// fourth order are measured where they are steep; a residual that all but vanishes is evaluated,
/// because the recurrence then consists of rounding.
///
/// A step that is not solved, or far from it, is taken back and halved. The next part is half as
/// long if a part took more than three quarters of the iterations, and twice as long if two in a
/// row took no more than three eighths. The very first step is divided by the rate of stretch.
pub fn choose_step(memory: &mut ClothMemory<'_>, _item: u32) {
    let [sums, rates] = add_sums(memory, sum_row(memory, 0), SOLVE_SUMS);
    let state = |k| memory.load_scratch(solve_state(memory, k));
    let mode = state(1)[2];
    let products = state(2);
    let last = state(3);
    let implicit = memory.load_implicit();
    let has_bends = implicit.rigidity > 0.0;
    let step_square = implicit.step_square;
    let is_sane = (sums[0] + sums[1] + sums[2]).abs() <= SOLVE_MAX;
    let [mut iterations, mut tolerance_square, holds, _] = last;
    let mut holds_bends = holds > 0.0;
    let mut first_trial = products[3];
    let mut next_mode = SOLVE_LINE;
    let (mut step, mut kept, mut taken) = (0.0f32, 0.0f32, 1.0f32);
    let [mut rd, mut overlap, mut rr, _] = sums;
    let mut trial = products[2];
    let [halvings, quick, rejections, is_first] = state(5);
    let [ticks, spent, mut start_square, floored] = state(6);
    let most = implicit.max_halvings as f32;
    let (mut next, mut ratio) = (halvings, 1.0f32);
    if mode == SOLVE_START {
        start_square = sums[3];
        let tolerance = implicit.tolerance.max(SOLVE_ROUNDING * rates[2] * step_square);
        tolerance_square = tolerance * tolerance;
        holds_bends = rates[1] * step_square <= 1.0;
        // (h omega)^2 of stretch; the first trial is min(1, 4 / (h omega)^2).
        let reach = (2.0 * rates[0] * step_square).min(SOLVE_MAX_REACH);
        first_trial = if reach > 4.0 && !is_preconditioned(memory) { 4.0 / reach } else { 1.0 };
        trial = first_trial;
        let mut square = reach;
        let limit = implicit.max_iterations as f32;
        let first_reach = SOLVE_FIRST_REACH * limit * limit;
        // Halving the step divides its square by 4.
        while is_first > 0.0 && square > first_reach && next < most {
            square *= 0.25;
            ratio *= 0.5;
            next += 1.0;
        }
    }
    if mode == SOLVE_LINE {
        iterations += 1.0;
        step = 2.0 * products[2];
        if sums[0] < products[1] {
            // Secant: a = s <r, d> / (<r, d> - <r1, d>)
            step = products[2] * products[1] / (products[1] - sums[0]);
        }
        step = step.min(SOLVE_GROWTH * products[2]).min(implicit.max_step);
        taken = step / products[2];
        kept = 1.0 - taken;
        // Products of the next residual r' = (1 - f) r + f r1: <r', r'>, <r', r>, <r', d>.
        rr = kept * kept * products[0] + 2.0 * (taken * kept) * sums[1] + taken * taken * sums[2];
        overlap = kept * products[0] + taken * sums[1];
        rd = kept * products[1] + taken * sums[0];
        trial = step.max(0.015625 * first_trial);
        let is_due = (iterations as u32).is_multiple_of(implicit.check_interval);
        let is_last = iterations as u32 >= implicit.max_iterations;
        let is_exhausted = rr <= SOLVE_EXHAUSTED * products[0];
        if is_due || is_last || is_exhausted {
            next_mode = SOLVE_CHECK;
        }
        // An unscheduled check counts as an iteration, so that the kernel's number of evaluations
        // suffices.
        if is_exhausted && !is_due && !is_last {
            iterations += 1.0;
        }
    }
    let is_check = mode != SOLVE_LINE;
    let is_solved = is_sane && is_check && sums[3] <= tolerance_square;
    let is_late = most > 0.0 && spent + iterations > implicit.iteration_budget as f32;
    let is_last_check =
        iterations as u32 >= implicit.max_iterations || (is_late && mode != SOLVE_START);
    let is_over = is_check && !is_solved && is_last_check;
    let may_halve = halvings < most && !is_late;
    let is_worse = is_check && sums[3] > SOLVE_WORSE * start_square.max(tolerance_square);
    let has_failed = !is_sane || is_over || (is_worse && may_halve);
    let number = |is_set: bool| if is_set { 1.0 } else { 0.0 };
    if next > halvings || has_failed || is_solved {
        let is_first_cut = next > halvings;
        let is_rejected = !is_first_cut && has_failed && may_halve;
        let is_taken = !is_first_cut && !is_rejected;
        let ticks_of_step = implicit.tick_count as f32;
        let mut ticks_done = ticks;
        let mut quick_steps = 0.0;
        let iteration_limit = implicit.max_iterations as f32;
        if is_taken {
            ticks_done += ticks_of_step;
            if 4.0 * iterations > 3.0 * iteration_limit && may_halve {
                (next, ratio) = (halvings + 1.0, 0.5);
            } else if is_solved && 8.0 * iterations <= 3.0 * iteration_limit {
                quick_steps = 1.0;
                // A longer part must start at a multiple of its own length.
                let is_even = (ticks_done as u32).is_multiple_of(2 * implicit.tick_count);
                if quick > 0.0 && is_even && halvings > 0.0 {
                    (next, ratio, quick_steps) = (halvings - 1.0, 2.0, 0.0);
                }
            }
        } else if is_rejected {
            (next, ratio) = (halvings + 1.0, 0.5);
        }
        let is_done = is_taken && ticks_done as u32 >= 1 << implicit.max_halvings;
        let is_held = is_taken && !is_sane;
        // Solved only because rounding raised the tolerance.
        let most_square = SOLVE_FLOORED * implicit.tolerance * implicit.tolerance;
        let is_floored = is_taken && is_solved && sums[3] > most_square;
        let [steps, total, unconverged, held] = state(4);
        let rows = [
            [number(is_taken), ratio, 0.0, 0.0],
            [0.0, 0.0, if is_done { SOLVE_DONE } else { SOLVE_START }, number(has_bends)],
            [0.0; 4],
            [0.0, 0.0, 0.0, number(is_held)],
            [
                steps + number(is_taken),
                total + iterations,
                unconverged + number(is_taken && is_sane && !is_solved),
                held + number(is_held),
            ],
            [next, quick_steps, rejections + number(is_rejected), 0.0],
            [ticks_done, spent + iterations, 0.0, floored + number(is_floored)],
        ];
        for (k, row) in (0..).zip(rows) {
            memory.store_scratch(solve_state(memory, k), row);
        }
    } else {
        let takes = number(has_bends && (next_mode == SOLVE_CHECK || !holds_bends));
        let rows = if next_mode == SOLVE_CHECK {
            [
                [step, 1.0, 0.0, 0.0],
                [1.0, 0.0, SOLVE_CHECK, takes],
                // Residual and direction stay until the exact residual is known.
                [products[0], products[1], trial, first_trial],
            ]
        } else {
            let mut mixed = 0.0;
            if mode != SOLVE_START {
                // beta = max(0, <r', r' - r> / <r, r>), Polak-Ribiere
                mixed = ((rr - overlap) / products[0]).max(0.0);
            }
            let mut descent = rr + mixed * rd;
            // The comparison is false for NaN: restart along the residual.
            if !matches!(descent.partial_cmp(&0.0), Some(std::cmp::Ordering::Greater)) {
                mixed = 0.0;
                descent = rr;
            }
            [
                [step, kept, taken, 1.0],
                [mixed, trial, SOLVE_LINE, takes],
                [rr, descent, trial, first_trial],
            ]
        };
        for (k, row) in (0..).zip(rows) {
            memory.store_scratch(solve_state(memory, k), row);
        }
        let next = [iterations, tolerance_square, number(holds_bends), 0.0];
        memory.store_scratch(solve_state(memory, 3), next);
        memory.store_scratch(solve_state(memory, 6), [ticks, spent, start_square, floored]);
    }
}
