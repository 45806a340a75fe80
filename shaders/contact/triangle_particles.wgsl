#import lib/math
#import contact/types
#import contact/triangle_state

/// Participating cloths, one entry per slice of the frame.
@group(0) @binding(1) var<storage, read> triangle_cloths: array<ContactCloth>;
/// Constants of each row.
@group(0) @binding(2) var<storage, read_write> triangle_rows: array<TriangleRow>;
/// Position [m] and working inverse mass [1/kg], in local space.
@group(0) @binding(4) var<storage, read_write> triangle_current: array<vec4<f32>>;
/// Position one iteration ago [m], in local space.
@group(0) @binding(5) var<storage, read_write> triangle_previous: array<vec4<f32>>;
/// Reports of the solver for each cloth.
@group(0) @binding(6) var<storage, read> triangle_feedback: array<u32>;

/// Reports of triangle contact for each cloth.
@group(0) @binding(7) var<storage, read_write> triangle_reports: array<TriangleReport>;

/// Tests whether a cloth sleeps or is frozen, so that contact does not move it.
fn is_held(cloth: u32) -> bool {
    let report = REPORT_WORDS * triangle_cloths[cloth].cloth;
    let is_frozen = triangle_feedback[report + REPORT_FAULT_COUNT] != 0u;
    return is_frozen || triangle_feedback[report + REPORT_IS_ASLEEP] != 0u;
}

/// Particle of row i of cloth k in world space.
fn particle_of(i: u32, k: u32) -> vec4<f32> {
    let now = triangle_current[triangle_cloths[k].particle_begin + i - triangle_cloths[k].row_begin];
    let x = triangle_cloths[k].axis_x.xyz;
    let y = triangle_cloths[k].axis_y.xyz;
    let z = triangle_cloths[k].axis_z.xyz;
    return vec4<f32>(x * now.x + y * now.y + z * now.z + triangle_cloths[k].origin.xyz, now.w);
}

/// Stores the world position of row i before the frame; rows of colliders already have theirs.
fn gather_position(i: u32) {
    let body = triangle_rows[i].body;
    if (body < triangle.cloth_count) {
        store_row(TRIANGLE_STARTS, i, particle_of(i, triangle.cloth_begin + body).xyz);
    }
}

/// Stores the contact-free position of row i at a fraction of the frame: the solver's for
/// particles, the path's for colliders.
fn set_target(i: u32) {
    let body = triangle_rows[i].body;
    var goal = load_row(TRIANGLE_FRAME_ENDS, i);
    if (body < triangle.cloth_count) {
        let k = triangle.cloth_begin + body;
        let particle = particle_of(i, k);
        goal = particle.xyz;
        triangle_rows[i].inverse_mass = particle.w;
        if (is_held(k)) {
            goal = load_row(TRIANGLE_STARTS, i);
            triangle_rows[i].inverse_mass = 0.0;
        }
    } else if (triangle.fraction < 1.0) {
        let start = load_row(TRIANGLE_FRAME_STARTS, i);
        goal = start + (goal - start) * triangle.fraction;
    }
    store_row(TRIANGLE_TURNS, i, load_row(TRIANGLE_SPINS, i) * triangle.slice_part);
    store_row(TRIANGLE_TARGETS, i, goal);
    store_row(TRIANGLE_WANTED, i, goal);
}

/// Direction from world space in the local space of a cloth.
fn to_local(cloth: u32, v: vec3<f32>) -> vec3<f32> {
    let x = dot3(triangle_cloths[cloth].axis_x.xyz, v);
    let y = dot3(triangle_cloths[cloth].axis_y.xyz, v);
    return vec3<f32>(x, y, dot3(triangle_cloths[cloth].axis_z.xyz, v));
}

/// Moves the particle of row i by the displacement and the velocity change that contact computed.
fn write_particle(i: u32) {
    let body = triangle_rows[i].body;
    let k = triangle.cloth_begin + min(body, triangle.cloth_count - 1u);
    if (body < triangle.cloth_count && triangle_rows[i].inverse_mass != 0.0 && !is_held(k)) {
        let particle = triangle_cloths[k].particle_begin + i - triangle_cloths[k].row_begin;
        let push = to_local(k, load_row(TRIANGLE_STARTS, i) - load_row(TRIANGLE_WANTED, i));
        let carry = to_local(k, load_row(TRIANGLE_CARRIES, i));
        let current = triangle_current[particle];
        let previous = triangle_previous[particle];
        triangle_current[particle] = vec4<f32>(current.xyz + push, current.w);
        triangle_previous[particle] = vec4<f32>(previous.xyz + carry, previous.w);
    }
}

/// Adds the results of the slice to the report of cloth k.
fn update_report(k: u32) {
    let slot = triangle_cloths[triangle.cloth_begin + k].cloth;
    triangle_reports[slot].frames += triangle.is_first;
    let frame = triangle_reports[slot].frames;
    let forced = atomicLoad(&triangle_lists.words[body_word(k, TRIANGLE_BODY_FORCED)]);
    if (forced > 0u) {
        if (forced > triangle_reports[slot].forced_most) {
            let row = atomicLoad(&triangle_lists.words[body_word(k, TRIANGLE_BODY_FORCED_ROW)]) - 1u;
            triangle_reports[slot].forced_at = vec4<f32>(load_row(TRIANGLE_STARTS, row), 0.0);
            triangle_reports[slot].forced_most = forced;
        }
        if (triangle_reports[slot].forced_first == 0u) {
            triangle_reports[slot].forced_first = frame;
        }
        triangle_reports[slot].forced_last = frame;
    }
    var low = vec3<f32>(0.0);
    var high = vec3<f32>(0.0);
    for (var axis = 0u; axis < 3u; axis++) {
        low[axis] = from_ordered(atomicLoad(&triangle_lists.words[body_word(k, axis)]));
        high[axis] = from_ordered(atomicLoad(&triangle_lists.words[body_word(k, 3u + axis)]));
    }
    let middle = vec4<f32>((low + high) * 0.5, 0.0);
    let longest = sqrt(bitcast<f32>(atomicLoad(&triangle_lists.round.forced_move_square)));
    let hurry = atomicLoad(&triangle_lists.words[body_word(k, TRIANGLE_BODY_HURRY)]);
    // The two lowest bits name who moved; see TRIANGLE_BY_ITSELF.
    let near = sqrt(bitcast<f32>(hurry & 0xfffffffcu));
    let most = f32(min(TRIANGLE_MAX_ROUNDS, triangle.max_rounds)) * TRIANGLE_STRIDE;
    // More than the rounds can follow, by this cloth or a body near it.
    if (longest > most * triangle.thickness && near > 0.5 * longest) {
        if (triangle_reports[slot].hurried_first == 0u) {
            triangle_reports[slot].hurried_first = frame;
        }
        triangle_reports[slot].hurried_last = frame;
        triangle_reports[slot].hurried_by = hurry & 3u;
        triangle_reports[slot].middle = middle;
    }
    let lack = atomicLoad(&triangle_lists.round.unlisted_count);
    if (lack > 0u) {
        if (triangle_reports[slot].lack_first == 0u) {
            triangle_reports[slot].lack_first = frame;
        }
        triangle_reports[slot].lack_last = frame;
        triangle_reports[slot].lack_most = max(triangle_reports[slot].lack_most, lack);
        triangle_reports[slot].middle = middle;
    }
}
