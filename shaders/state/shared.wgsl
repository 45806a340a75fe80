#import state/constants
#import state/types
#import state/bindings

// Memory budget of a workgroup [bytes]:
//   shared_current   16 * CURRENT_CAPACITY   half-resident too: particle capacity; otherwise 1
//   shared_previous  16 * PREVIOUS_CAPACITY  resident: particle capacity; otherwise 1
//   shared_rows      16 * ROW_CAPACITY       with whole fibers, where there is room; otherwise 1
//   shared_cells     4 * GRID_CELLS          with self collision; otherwise 4
//   counters         24
//   shared_cell_sums 4 * GRID_SUMS           64 with self collision; otherwise 1

/// Lanes of a workgroup; each workgroup simulates one cloth.
override LANES: u32 = 64u;
/// Number of particles whose current state fits in workgroup memory.
override CURRENT_CAPACITY: u32 = 1u;
/// Number of particles whose previous state fits in workgroup memory.
override PREVIOUS_CAPACITY: u32 = 1u;
/// True if current particles are in workgroup memory (resident and half-resident tiers).
override CURRENT_SHARED: bool = false;
/// True if previous particles are in workgroup memory (resident tier).
override PREVIOUS_SHARED: bool = false;
/// Number of rows of whole fibers that fit in workgroup memory, two for each edge of a set.
override ROW_CAPACITY: u32 = 1u;
/// True if the rows of whole fibers and the current particles are in workgroup memory.
override ROWS_SHARED: bool = false;
/// True if the rows of whole fibers are in storage and the current particles in workgroup memory.
override ROWS_APART: bool = false;
/// Buckets of the self-collision grid, a power of two, at least 256 where the stage is compiled in.
override GRID_CELLS: u32 = 1u;
/// Parts of that grid whose counts are summed: GRID_PARTS where the stage is compiled in.
override GRID_SUMS: u32 = 1u;
/// Stages that are compiled in, one bit each.
override STAGES: u32 = 0xffffffffu;

/// Current particles of this workgroup's cloth.
var<workgroup> shared_current: array<vec4<f32>, CURRENT_CAPACITY>;
/// Previous particles of this workgroup's cloth.
var<workgroup> shared_previous: array<vec4<f32>, PREVIOUS_CAPACITY>;
/// Rows of the edges in the current set of whole fibers.
var<workgroup> shared_rows: array<vec4<f32>, ROW_CAPACITY>;
/// Buckets of the self-collision grid: particle counts, then the slot of each first particle, then
/// the end of each.
var<workgroup> shared_cells: array<atomic<u32>, GRID_CELLS>;
/// Sums of counts over the parts of the grid.
var<workgroup> shared_cell_sums: array<u32, GRID_SUMS>;
/// Number of particles that would have left the range of f32.
var<workgroup> shared_fault_count: atomic<u32>;
/// Lowest index of such a particle.
var<workgroup> shared_fault_particle: atomic<u32>;
/// Time since the last test for rest [ms].
var<workgroup> shared_sleep_time: u32;
/// Number of consecutive passed tests for rest.
var<workgroup> shared_sleep_pass_count: u32;
/// Number of particles that moved too far for rest since the last test began.
var<workgroup> shared_restless: atomic<u32>;

/// State of the work. At the start: 1 if the cloth has a fault or sleeps. In an implicit solve: 1
/// if it has ended, otherwise 2 (halvings + 1), plus 1 if chains are to be factored.
var<workgroup> shared_is_done: u32;

/// Number of halvings of the step in the current implicit solve.
var<private> solve_halvings: u32;

/// Cloth of this workgroup: the part that every iteration of every cloth reads, in registers.
/// Settings of single features are read from `cloth_parameters[cloth_slot]` where they are used,
/// since they would take half of the registers.
var<private> cloth: ClothParameters;
/// Index of the cloth in `cloth_parameters`.
var<private> cloth_slot: u32;
/// Constants of the current iteration.
var<private> iteration: IterationConstants;
/// Row of the matrices of the current iteration in `frame_pool`, for a rotating local space.
var<private> rotation_columns: u32;

/// Current state of particle i of the cloth.
fn load_current(i: u32) -> vec4<f32> {
    if (CURRENT_SHARED) {
        return shared_current[i];
    }
    return current[cloth.particle_begin + i];
}

/// Writes the current state of particle i.
fn store_current(i: u32, particle: vec4<f32>) {
    if (CURRENT_SHARED) {
        shared_current[i] = particle;
    } else {
        current[cloth.particle_begin + i] = particle;
    }
}

/// Previous state of particle i of the cloth.
fn load_previous(i: u32) -> vec4<f32> {
    if (PREVIOUS_SHARED) {
        return shared_previous[i];
    }
    return previous[cloth.particle_begin + i];
}

/// Writes the previous state of particle i.
fn store_previous(i: u32, particle: vec4<f32>) {
    if (PREVIOUS_SHARED) {
        shared_previous[i] = particle;
    } else {
        previous[cloth.particle_begin + i] = particle;
    }
}

/// Loads particle i into workgroup memory, as far as the tier keeps it there.
fn fetch_particle(i: u32) {
    if (CURRENT_SHARED) {
        shared_current[i] = current[cloth.particle_begin + i];
    }
    if (PREVIOUS_SHARED) {
        shared_previous[i] = previous[cloth.particle_begin + i];
    }
}

/// Writes particle i back from workgroup memory.
fn flush_particle(i: u32) {
    if (CURRENT_SHARED) {
        current[cloth.particle_begin + i] = shared_current[i];
    }
    if (PREVIOUS_SHARED) {
        previous[cloth.particle_begin + i] = shared_previous[i];
    }
}

/// Row of `frame_pool` that holds floats.
fn frame_row(row: u32) -> vec4<f32> {
    return bitcast<vec4<f32>>(frame_pool[row]);
}

/// Row of `input_pool` that holds floats.
fn input_row(row: u32) -> vec4<f32> {
    return bitcast<vec4<f32>>(input_pool[row]);
}

/// Row of the cloth's `scratch` that holds floats.
fn load_scratch(row: u32) -> vec4<f32> {
    return bitcast<vec4<f32>>(scratch[cloth.scratch_begin + row]);
}

/// Writes floats to a row of the cloth's `scratch`.
fn store_scratch(row: u32, value: vec4<f32>) {
    scratch[cloth.scratch_begin + row] = bitcast<vec4<u32>>(value);
}

/// Difference of a displacement and the two positions that it leads to.
fn lost_displacement(displacement: vec3<f32>, position: vec3<f32>, before: vec3<f32>) -> vec3<f32> {
    return displacement - (unchanged(position) - before);
}

/// Vector `v`, hidden from compilers that rewrite sums: they would take `position - before`
/// for the displacement that was added to `before`.
fn unchanged(v: vec3<f32>) -> vec3<f32> {
    // 1 or 0 as a float: the lowest bit is 0.
    let none = bitcast<u32>(iteration.previous_bias.w) & 1u;
    return bitcast<vec3<f32>>(bitcast<vec3<u32>>(v) ^ vec3<u32>(none));
}

/// Row of scratch with the rest of the position of particle i: what it lacks after rounding.
fn rest_row(i: u32) -> u32 {
    return cloth.remainder_begin + cloth.particle_count + i;
}

/// True where the stages of the fabric find displacements in place of positions.
fn is_displaced() -> bool {
    return (STAGES & STAGE_DISPLACEMENT) != 0u && cloth.remainder_begin != NO_OFFSET;
}

/// Vector from particle a to particle b, in the stages of the fabric.
fn vector_between(a: u32, pa: vec4<f32>, b: u32, pb: vec4<f32>) -> vec3<f32> {
    if (is_displaced()) {
        return (load_previous(b).xyz - load_previous(a).xyz) + (pb.xyz - pa.xyz);
    }
    return pb.xyz - pa.xyz;
}

/// Displacement of particle i since the last step, in the stages of the fabric.
fn displacement_of(particle: vec4<f32>, i: u32) -> vec3<f32> {
    if (is_displaced()) {
        return particle.xyz;
    }
    return particle.xyz - load_previous(i).xyz;
}

/// Row of whole fibers.
fn load_row(row: u32) -> vec4<f32> {
    if (ROWS_SHARED) {
        return shared_rows[row];
    }
    return load_scratch(row);
}

/// Writes a row of whole fibers.
fn store_row(row: u32, value: vec4<f32>) {
    if (ROWS_SHARED) {
        shared_rows[row] = value;
    } else {
        store_scratch(row, value);
    }
}

/// Constants of iteration k of the cloth.
fn load_iteration(k: u32) -> IterationConstants {
    let begin = cloth.iteration_begin + k * ITERATION_ROWS;
    return IterationConstants(frame_row(begin), frame_row(begin + 1u), frame_row(begin + 2u), frame_row(begin + 3u));
}

/// Product of v with the matrix whose three columns begin at `begin` in `frame_pool`.
fn multiply_columns(begin: u32, v: vec3<f32>) -> vec3<f32> {
    return frame_row(begin).xyz * v.x + frame_row(begin + 1u).xyz * v.y + frame_row(begin + 2u).xyz * v.z;
}

/// Row i of an array that is interpolated from start to target, at a fraction of the frame; exactly
/// the target at its end.
fn load_at(start: u32, destination: u32, i: u32, fraction: f32) -> vec4<f32> {
    let from_row = input_row(start + i);
    let to_row = input_row(destination + i);
    // from + (to - from) is not always `to` when rounded.
    if (fraction == 1.0) {
        return to_row;
    }
    return from_row + (to_row - from_row) * fraction;
}

/// Row i of an interpolated array in the current iteration.
fn load_interpolated(start: u32, destination: u32, i: u32) -> vec4<f32> {
    return load_at(start, destination, i, iteration.velocity_scale.w);
}

/// Rest length of an edge [m].
fn rest_length_of(edge: u32) -> f32 {
    return bitcast<f32>(fabric_pool[cloth.fabric.edge_begin + edge]);
}

/// Constants of the implicit solver for the current number of halvings.
fn load_implicit() -> ImplicitConstants {
    let begin = cloth.phase_begin + IMPLICIT_ROWS * solve_halvings;
    let models = frame_pool[begin];
    let stretch = frame_row(begin + 1u);
    let bend = frame_row(begin + 2u);
    let step = frame_row(begin + 3u);
    let search = frame_pool[begin + 4u];
    let control = frame_pool[begin + 5u];
    let springs = frame_pool[begin + 6u];
    return ImplicitConstants(
        models.x, models.y, models.z, models.w, stretch.x, stretch.y, stretch.z, stretch.w, bend.x, bend.y, bend.z, bend.w, step.x, step.y, step.z, step.w,
        search.x, search.y, bitcast<f32>(search.z), search.w, control.x, control.y, bitcast<f32>(control.z), bitcast<f32>(control.w),
        bitcast<f32>(springs.x), bitcast<f32>(springs.y), springs.z, springs.w,
    );
}

/// Constants of a phase, whose first vec4 is at `begin` in `frame_pool`.
fn load_phase(begin: u32) -> PhaseConstants {
    let values = frame_row(begin);
    let sets = frame_pool[begin + 1u];
    let compliance = bitcast<vec2<f32>>(sets.zw);
    let solver = frame_pool[begin + 2u];
    return PhaseConstants(
        values.x, values.y, values.z, values.w, sets.x, sets.y, compliance.x, compliance.y, solver.x, bitcast<f32>(solver.y), solver.z, 0u,
    );
}
