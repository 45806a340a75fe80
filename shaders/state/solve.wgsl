#import state/shared

/// Row k of the state of the implicit solve:
///   0: factors of the direction in the displacement; of the residual and the trial residual in the
///      residual; of the residual in the direction,
///   1: factor of the last direction in the direction; of the direction in the trial; kind of the
///      evaluation; 1 if bends are updated,
///   2: <r, r>, <r, d>, trial step of the next line, trial step of the first,
///   3: iterations, squared tolerance [m^2], 1 if bends are held between checks, 1 if nothing
///      finite was found,
///   4: counters of the dispatch: steps, iterations, unconverged steps, held steps,
///   5: halvings of the next step, 1 if the last one was quick, rejected steps, 1 if no step was
///      made yet,
///   6: of the whole step: ticks done, iterations of ended solves, largest squared residual at the
///      start.
/// Where the next part of a step begins, row 0 holds 1 if the last part was accepted, and the ratio
/// of the lengths.
fn solve_state(k: u32) -> u32 {
    return load_implicit().solve_begin + k;
}

/// First of the two rows of sums of a part.
fn part_row(part: u32) -> u32 {
    return load_implicit().solve_begin + SOLVE_STATE_ROWS + 2u * part;
}

/// First of the two rows of a sum of parts.
fn sum_row(sum: u32) -> u32 {
    return part_row(SOLVE_PARTS + sum);
}

/// Row of particle i in an array of the solve.
fn solve_row(array: u32, i: u32) -> u32 {
    return part_row(SOLVE_PARTS + SOLVE_SUMS) + array * cloth.particle_count + i;
}
