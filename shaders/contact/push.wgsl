#import lib/math
#import contact/buffers

/// Tests whether rows i and j are in contact: their cloths collide, and they are closer than the
/// sum of their radii.
fn touches(i: u32, j: u32) -> bool {
    let delta = contact_rows[i].xyz - contact_rows[j].xyz;
    let distance = contact_rows[contact.row_count + i].w + contact_rows[contact.row_count + j].w;
    let is_near = dot3(delta, delta) < distance * distance;
    return is_near && wants(contact_entries[i], contact_entries[j]);
}

/// Counts the contacts of row i; 0 for immovable rows, whose pushes need no average.
fn count_contacts(i: u32) {
    var count = 0u;
    if (is_met(i) && contact_rows[i].w > 0.0) {
        let cell = cell_of(contact_rows[i].xyz);
        for (var k = 0u; k < 9u; k++) {
            let first = line_of(cell, k);
            for (var part = 0u; part < part_count(first); part++) {
                let range = part_range(first, part);
                for (var entry = range.x; entry < range.y; entry++) {
                    count += u32(touches(i, contact_entries[3u * contact.row_count + entry]));
                }
            }
        }
    }
    contact_entries[4u * contact.row_count + i] = count;
}

/// Adds the push of row i by row j to `push` [m].
///
/// With n = (x_i - x_j) / |x_i - x_j|, d the sum of the radii, and v = v_j - v_i the relative
/// motion per iteration,
///   x_i += w_i / (w_i + w_j) / c * (stiffness (d - |x_i - x_j|) n + friction (v - (v . n) n)).
/// c is the larger contact count of the two rows, so that both get the same c and momentum is
/// conserved.
fn add_push(push: vec3<f32>, i: u32, j: u32) -> vec3<f32> {
    let own = contact_rows[i];
    let other = contact_rows[j];
    let own_motion = contact_rows[contact.row_count + i];
    let other_motion = contact_rows[contact.row_count + j];
    let delta = own.xyz - other.xyz;
    let square = dot3(delta, delta);
    let length = sqrt(square);
    let overlap = own_motion.w + other_motion.w - length;
    // Coincident particles separate along y, the one of the earlier cloth upwards.
    var normal = vec3<f32>(0.0, select(-1.0, 1.0, i < j), 0.0);
    if (square > MIN_SQUARE) {
        normal = delta / length;
    }
    let count = max(contact_entries[4u * contact.row_count + i], contact_entries[4u * contact.row_count + j]);
    let fraction = own.w / (own.w + other.w) / f32(max(count, 1u));
    let relative = other_motion.xyz - own_motion.xyz;
    let along = relative - normal * dot3(relative, normal);
    return push + normal * (contact.stiffness * overlap * fraction) + along * (contact.friction * fraction);
}

/// Tests whether the motion of row j is large enough to wake the sleeping cloth of row i.
fn wakes(i: u32, j: u32) -> bool {
    let motion = abs(contact_rows[contact.row_count + j].xyz);
    let least = contact_cloths[contact.cloth_begin + contact_entries[i]].wake_distance;
    return max(motion.x, max(motion.y, motion.z)) > least;
}

/// Pushes the particle of row i away from all rows in contact, in grid order, and wakes its cloth
/// if it sleeps.
fn push_row(i: u32) {
    if (is_met(i)) {
        let slot = contact_entries[i];
        let own = contact_rows[i];
        let is_still = is_held(slot);
        let cell = cell_of(own.xyz);
        var push = vec3<f32>(0.0);
        var is_woken = false;
        if (own.w > 0.0 || is_still) {
            for (var k = 0u; k < 9u; k++) {
                let first = line_of(cell, k);
                for (var part = 0u; part < part_count(first); part++) {
                    let range = part_range(first, part);
                    for (var entry = range.x; entry < range.y; entry++) {
                        let j = contact_entries[3u * contact.row_count + entry];
                        if (touches(i, j)) {
                            if (own.w > 0.0) {
                                push = add_push(push, i, j);
                            }
                            is_woken = is_woken || wakes(i, j);
                        }
                    }
                }
            }
        }
        let c = contact.cloth_begin + slot;
        if (is_still && is_woken) {
            atomicStore(&contact_feedback[REPORT_WORDS * contact_cloths[c].cloth + REPORT_SLEEP_PASS_COUNT], 0u);
        }
        if (own.w > 0.0) {
            let particle = contact_cloths[c].particle_begin + i - contact_cloths[c].row_begin;
            // The push in local space, by the transposed axes.
            let x = dot3(contact_cloths[c].axis_x.xyz, push);
            let y = dot3(contact_cloths[c].axis_y.xyz, push);
            let z = dot3(contact_cloths[c].axis_z.xyz, push);
            let old = contact_current[particle];
            contact_current[particle] = vec4<f32>(old.xyz + vec3<f32>(x, y, z), old.w);
        }
    }
}
