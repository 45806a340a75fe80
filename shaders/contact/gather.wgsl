#import lib/math
#import contact/buffers

/// Transforms particle i of a cloth to world space and returns its position. A particle of a
/// sleeping or frozen cloth gets inverse mass 0.
///
/// With axes R and origin o now, R' and o' one iteration ago, the motion is
///   (R x + o) - (R' p + o') = R (x - p) + (R - R') p + (o - o'),
/// which is exact where the local space does not move.
fn gather_particle(slot: u32, i: u32) -> vec3<f32> {
    let k = contact.cloth_begin + slot;
    let row = contact_cloths[k].row_begin + i;
    let now = contact_current[contact_cloths[k].particle_begin + i];
    let before = contact_previous[contact_cloths[k].particle_begin + i].xyz;
    let x = contact_cloths[k].axis_x.xyz;
    let y = contact_cloths[k].axis_y.xyz;
    let z = contact_cloths[k].axis_z.xyz;
    let position = x * now.x + y * now.y + z * now.z + contact_cloths[k].origin.xyz;
    let moved = now.xyz - before;
    let own = x * moved.x + y * moved.y + z * moved.z;
    let turn_x = contact_cloths[k].turn_x.xyz;
    let turn_y = contact_cloths[k].turn_y.xyz;
    let turn_z = contact_cloths[k].turn_z.xyz;
    let of_frame = turn_x * before.x + turn_y * before.y + turn_z * before.z + contact_cloths[k].shift.xyz;
    let is_still = is_held(slot);
    contact_rows[row] = vec4<f32>(position, select(now.w, 0.0, is_still));
    let motion = select(own + of_frame, vec3<f32>(0.0), is_still);
    contact_rows[contact.row_count + row] = vec4<f32>(motion, contact_cloths[k].radius);
    contact_entries[row] = slot;
    return position;
}

/// Tests whether the bounds of two cloths are closer than the sum of their radii.
fn bounds_meet(a: u32, b: u32) -> bool {
    let reach = contact_cloths[contact.cloth_begin + a].radius + contact_cloths[contact.cloth_begin + b].radius;
    var is_near = true;
    for (var k = 0u; k < 3u; k++) {
        // Signed gap along the axis, on either side.
        let above = from_ordered(contact_bounds[6u * a + k]) - from_ordered(contact_bounds[6u * b + 3u + k]);
        let below = from_ordered(contact_bounds[6u * b + k]) - from_ordered(contact_bounds[6u * a + 3u + k]);
        is_near = is_near && above <= reach && below <= reach;
    }
    return is_near;
}

/// Tests whether a cloth is near another one that it collides with; only particles of near cloths
/// enter the grid.
fn find_near_cloth(slot: u32) {
    var is_near = 0u;
    for (var other = 0u; other < contact.cloth_count && is_near == 0u; other++) {
        if (wants(slot, other) && bounds_meet(slot, other)) {
            is_near = 1u;
        }
    }
    contact_bounds[6u * contact.cloth_count + slot] = is_near;
}
