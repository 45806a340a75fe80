#import lib/math
#import lib/grid
#import state/shared

/// Row of the sorted particles in `scratch`: position and inverse mass.
fn particle_row(slot: u32) -> u32 {
    return cloth_parameters[cloth_slot].self_collision.grid_begin + slot;
}

/// Row of the indices of the sorted particles.
fn index_row(slot: u32) -> u32 {
    return particle_row(slot) + cloth_parameters[cloth_slot].self_collision.member_count;
}

/// Row of the indices before sorting, then of the contacts: sum of their directions, and their
/// number.
fn contact_row(slot: u32) -> u32 {
    return particle_row(slot) + 2u * cloth_parameters[cloth_slot].self_collision.member_count;
}

/// Particle index in a row.
fn load_particle_index(row: u32) -> u32 {
    return scratch[cloth.scratch_begin + row].x;
}

/// Writes a particle index to a row.
fn store_particle_index(row: u32, i: u32) {
    scratch[cloth.scratch_begin + row].x = i;
}

/// Index of participating particle k.
fn load_member(k: u32) -> u32 {
    let begin = cloth_parameters[cloth_slot].self_collision.member_begin;
    if (begin == NO_OFFSET) {
        return k;
    }
    return input_pool[begin + (k >> 2u)][k & 3u];
}

/// Bucket of the cell that contains a position.
fn bucket_of(position: vec3<f32>) -> u32 {
    let scaled = position * cloth_parameters[cloth_slot].self_collision.inverse_cell;
    let cell = vec3<i32>(floor(clamp(scaled, vec3<f32>(-SELF_MAX_CELL), vec3<f32>(SELF_MAX_CELL))));
    return bucket_of_cell(cell, GRID_CELLS);
}

/// Clears bucket `cell`.
fn clear_cell(cell: u32) {
    atomicStore(&shared_cells[cell], 0u);
}

/// Counts participating particle k in its bucket.
fn count_member(k: u32) {
    atomicAdd(&shared_cells[bucket_of(load_current(load_member(k)).xyz)], 1u);
}

/// Sums the counts of one part of the grid.
fn sum_cells(part: u32) {
    let width = GRID_CELLS / GRID_PARTS;
    var total = 0u;
    for (var cell = part * width; cell < part * width + width; cell++) {
        total += atomicLoad(&shared_cells[cell]);
    }
    shared_cell_sums[part] = total;
}

/// Replaces the counts of one part by exclusive prefix sums: the slots of the buckets' first
/// particles.
fn scan_cells(part: u32) {
    let width = GRID_CELLS / GRID_PARTS;
    var begin = 0u;
    for (var before = 0u; before < part; before++) {
        begin += shared_cell_sums[before];
    }
    for (var cell = part * width; cell < part * width + width; cell++) {
        let count = atomicLoad(&shared_cells[cell]);
        atomicStore(&shared_cells[cell], begin);
        begin += count;
    }
}

/// Writes participating particle k into its bucket, in order of arrival. Afterwards a bucket's cell
/// holds its end.
fn scatter_member(k: u32) {
    let i = load_member(k);
    let slot = atomicAdd(&shared_cells[bucket_of(load_current(i).xyz)], 1u);
    store_particle_index(contact_row(slot), i);
}

/// Slot of the first particle of a bucket.
fn bucket_begin(bucket: u32) -> u32 {
    if (bucket == 0u) {
        return 0u;
    }
    return atomicLoad(&shared_cells[bucket - 1u]);
}

/// Moves the particle at a slot to its rank by index in its bucket, so that sums do not depend on
/// lane order, and stores its position.
fn sort_member(slot: u32) {
    let i = load_particle_index(contact_row(slot));
    let particle = load_current(i);
    let bucket = bucket_of(particle.xyz);
    let begin = bucket_begin(bucket);
    let end = atomicLoad(&shared_cells[bucket]);
    var sorted = begin;
    for (var other = begin; other < end; other++) {
        sorted += u32(load_particle_index(contact_row(other)) < i);
    }
    store_scratch(particle_row(sorted), particle);
    store_particle_index(index_row(sorted), i);
}

/// Squared distance at which particles i and j are kept apart, min(d, 0.9 d_rest) [m^2].
fn kept_square(i: u32, j: u32) -> f32 {
    let rest = cloth_parameters[cloth_slot].self_collision.rest_begin;
    let between = input_row(rest + i).xyz - input_row(rest + j).xyz;
    let distance = cloth_parameters[cloth_slot].self_collision.distance;
    return min(distance * distance, REST_FRACTION_SQUARE * dot3(between, between));
}

/// Iterator over the slots of particles that may be near a position, each once, in an order that
/// does not depend on the bucket count: nine rows of three cells along x, each row cell by cell,
/// each cell by index.
struct NearWalk {
    /// Bucket of the position.
    center: u32,
    /// Current row, 9 at the end; a row that wraps past the last bucket has two parts.
    row: u32,
    /// 1 in the second part.
    part: u32,
    /// Next slot.
    slot: u32,
    /// One past the last slot of this part of the row.
    end: u32,
}

/// Advances the iterator to the next part of a row.
fn enter_row(walk: ptr<function, NearWalk>) {
    let row = i32((*walk).row);
    let step = bucket_of_cell(vec3<i32>(-1, row % 3 - 1, row / 3 - 1), GRID_CELLS);
    let first = ((*walk).center + step) & (GRID_CELLS - 1u);
    let last = first + 2u;
    let has_more = last >= GRID_CELLS;
    if ((*walk).part == 0u) {
        (*walk).slot = bucket_begin(first);
        (*walk).end = atomicLoad(&shared_cells[min(last, GRID_CELLS - 1u)]);
    } else {
        (*walk).slot = 0u;
        (*walk).end = atomicLoad(&shared_cells[last & (GRID_CELLS - 1u)]);
    }
    if (has_more && (*walk).part == 0u) {
        (*walk).part = 1u;
    } else {
        (*walk).part = 0u;
        (*walk).row += 1u;
    }
}

/// Advances the iterator to the next particle closer to `position` than the distance; false at the
/// end. The slot of that particle is `walk.slot - 1`.
fn next_near(walk: ptr<function, NearWalk>, position: vec3<f32>) -> bool {
    let distance = cloth_parameters[cloth_slot].self_collision.distance;
    while (true) {
        while ((*walk).slot == (*walk).end) {
            if ((*walk).row == 9u) {
                return false;
            }
            enter_row(walk);
        }
        let between = position - load_scratch(particle_row((*walk).slot)).xyz;
        (*walk).slot += 1u;
        if (dot3(between, between) < distance * distance) {
            return true;
        }
    }
    return false;
}

/// Unit vector from b to a, particles j and i; coincident ones separate along y.
fn normal_of(a: vec3<f32>, b: vec3<f32>, distance: f32, i: u32, j: u32) -> vec3<f32> {
    if (distance > MIN_DISTANCE) {
        return (a - b) / distance;
    }
    return vec3<f32>(0.0, select(-1.0, 1.0, i < j), 0.0);
}

/// Sums the directions of the contacts of the particle at a slot, and counts them.
fn count_contacts(slot: u32) {
    let a = load_scratch(particle_row(slot));
    let i = load_particle_index(index_row(slot));
    var walk = NearWalk(bucket_of(a.xyz), 0u, 0u, 0u, 0u);
    var sum = vec3<f32>(0.0);
    var count = 0.0;
    while (next_near(&walk, a.xyz)) {
        let other = walk.slot - 1u;
        let b = load_scratch(particle_row(other));
        let j = load_particle_index(index_row(other));
        let between = a.xyz - b.xyz;
        let square = dot3(between, between);
        if (other != slot && square < kept_square(i, j) && a.w + b.w > 0.0) {
            sum += normal_of(a.xyz, b.xyz, sqrt(square), i, j);
            count += 1.0;
        }
    }
    store_scratch(contact_row(slot), vec4<f32>(sum, count));
}

/// Number of contacts that push a particle along a direction: half the count plus half the sum of
/// cosines, at least 1.
fn contacts_along(direction: vec3<f32>, contacts: vec4<f32>) -> f32 {
    return max(0.5 * contacts.w + 0.5 * dot3(direction, contacts.xyz), 1.0);
}

/// Pushes the particle at a slot away from its contacts, by one step of a weighted Jacobi
/// iteration, whose result does not depend on the order of particles. With d = x_a - x_b, n = d /
/// |d|, and k the kept distance of the two:
///
///   x_a += w_a / (w_a + w_b) (stiffness min(1, 1.5 / c) (k - |d|) n
///          - friction / c_all sideways(move_a - move_b)).
///
/// c is the number of contacts that push a or b along n, whichever has more: (count + n . sum of
/// directions) / 2, at least the sum of the positive cosines between n and all contacts, which is
/// the row sum by which Jacobi converges. c_all is the number of all contacts, so that friction
/// never reverses a motion. Both are the same for both ends, so momentum is conserved. Moves are
/// those since the last iteration.
///
/// Sources: Müller, "Cloth Self-Collision Handling", Ten Minute Physics 15 (hash, rest distance,
/// friction); Macklin et al., "Unified Particle Physics for Real-Time Applications", 2014, section
/// 4.2 (averaged Jacobi, over-relaxation of 1 to 2). Deviations: only contacts that push in the
/// same direction are averaged; friction does not act along d, and is weighted by mass; neighbours
/// may come as close as SELF_COLLISION_REST_FRACTION of their rest distance.
fn push_apart(slot: u32) {
    let a = load_scratch(particle_row(slot));
    let own_contacts = load_scratch(contact_row(slot));
    if (own_contacts.w == 0.0 || a.w == 0.0) {
        return;
    }
    let i = load_particle_index(index_row(slot));
    let move_a = a.xyz - load_previous(i).xyz;
    var walk = NearWalk(bucket_of(a.xyz), 0u, 0u, 0u, 0u);
    var push = vec3<f32>(0.0);
    while (next_near(&walk, a.xyz)) {
        let other = walk.slot - 1u;
        let b = load_scratch(particle_row(other));
        let j = load_particle_index(index_row(other));
        let between = a.xyz - b.xyz;
        let square = dot3(between, between);
        let kept = kept_square(i, j);
        if (other != slot && square < kept) {
            let distance = sqrt(square);
            let normal = normal_of(a.xyz, b.xyz, distance, i, j);
            let others = load_scratch(contact_row(other));
            let weight = a.w / (a.w + b.w);
            let count = max(contacts_along(normal, own_contacts), contacts_along(-normal, others));
            let push_fraction = cloth_parameters[cloth_slot].self_collision.stiffness * weight * min(RELAXATION / count, 1.0);
            let friction_fraction = cloth_parameters[cloth_slot].self_collision.friction * weight / max(own_contacts.w, others.w);
            let move_b = b.xyz - load_previous(j).xyz;
            let slip = move_a - move_b;
            let sideways = slip - normal * dot3(normal, slip);
            push += normal * ((sqrt(kept) - distance) * push_fraction);
            push -= sideways * friction_fraction;
        }
    }
    store_current(i, vec4<f32>(a.xyz + push, a.w));
}
