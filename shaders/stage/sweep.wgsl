#import stage/collide_triangle

/// Depth inside a mesh at which the path of a particle may start and still enter it [m], and
/// distance beside a face that still counts as on it: rounding, and what other stages leave.
const SWEEP_SKIN: f32 = 1.0e-4;

/// Least slope of a face towards a path behind another face.
const SWEEP_SLOPE: f32 = 1.0e-6;

/// Path of a particle through a shape in this iteration, relative to the shape.
struct Sweep {
    /// Fraction of the path at which it passes the last face inwards.
    enter: f32,
    /// Fraction of the path at which it passes the first face outwards.
    leave: f32,
    /// Unit normal of the face that it enters by.
    normal: vec3<f32>,
    /// Height of its start over that face [m].
    start: f32,
    /// Height of its end over that face [m].
    end: f32,
}

/// Clips a path at a face of a convex shape, over which its start and its end have these heights.
fn clip_path(normal: vec3<f32>, start: f32, end: f32, sweep: ptr<function, Sweep>) {
    if (end < start) {
        let time = start / (start - end);
        if (time > (*sweep).enter) {
            *sweep = Sweep(time, (*sweep).leave, normal, start, end);
        }
    } else if (end > start) {
        (*sweep).leave = min((*sweep).leave, start / (start - end));
    } else if (end >= 0.0) {
        (*sweep).leave = -1.0;
    }
}

/// Displacement that brings the end of a path back to behind the face that it entered by [m].
///
/// `thickness` is that of the shape behind the face. Up to its middle the stages after this one
/// push the particle out through the same face; beyond, it comes back to a quarter.
fn return_path(sweep: Sweep, thickness: f32) -> vec3<f32> {
    let is_hit = sweep.enter <= sweep.leave && sweep.enter < 1.0 && sweep.leave > 0.0;
    let middle = 0.5 * thickness;
    var back = vec3<f32>(0.0);
    if (is_hit && thickness > 0.0 && -sweep.end > middle && -sweep.start < middle) {
        back = -sweep.normal * (sweep.end + 0.25 * thickness);
    }
    return back;
}

/// Displacement of x, coming from `before`, back to the face by which it entered convex c [m].
fn sweep_convex(c: u32, before: vec3<f32>, x: vec3<f32>) -> vec3<f32> {
    let begins = cloth_parameters[cloth_slot].colliders.convex_plane_begin;
    let planes = begins + cloth_parameters[cloth_slot].colliders.convex_count + 1u;
    let begin = planes + load_index(begins + c);
    let end = planes + load_index(begins + c + 1u);
    var sweep = Sweep(-3.0e38, 3.0e38, vec3<f32>(0.0), 0.0, 0.0);
    for (var k = begin; k < end; k++) {
        let p = load_index(k);
        let plane = load_scratch(plane_row(p));
        let old = load_at(cloth_parameters[cloth_slot].colliders.plane_start, cloth_parameters[cloth_slot].colliders.plane_target, p, iteration.bias.w);
        clip_path(plane.xyz, dot3(old.xyz, before) + old.w, dot3(plane.xyz, x) + plane.w, &sweep);
        if (sweep.enter >= 1.0 || sweep.leave <= 0.0) {
            break;
        }
    }
    var back = vec3<f32>(0.0);
    if (sweep.enter < 1.0 && sweep.leave > 0.0) {
        // Way from the face along its normal to the first plane on the other side.
        let foot = x - sweep.normal * sweep.end;
        var thickness = 3.0e38;
        for (var k = begin; k < end; k++) {
            let plane = load_scratch(plane_row(load_index(k)));
            let depth = -(dot3(plane.xyz, foot) + plane.w);
            let slope = -dot3(plane.xyz, sweep.normal);
            if (slope > SWEEP_SLOPE) {
                thickness = min(thickness, depth / slope);
            } else if (depth < -SWEEP_SKIN) {
                thickness = 0.0;
            }
        }
        back = return_path(sweep, thickness);
    }
    return back;
}

/// Displacement of x, coming from `before`, back to the face by which it entered box b [m].
///
/// The start of the path is where the particle was relative to the box: rotations are of first
/// order in an iteration.
fn sweep_box(b: u32, before: vec3<f32>, x: vec3<f32>) -> vec3<f32> {
    let row = box_row(b);
    let corner = load_scratch(row).xyz;
    let fraction = cloth_parameters[cloth_slot].colliders.iteration_fraction;
    let corner_move = input_row(cloth_parameters[cloth_slot].colliders.box_target + 4u * b).xyz - input_row(cloth_parameters[cloth_slot].colliders.box_start + 4u * b).xyz;
    let old = before - corner + corner_move * fraction;
    var begin = old;
    for (var k = 0u; k < 3u; k++) {
        let face = load_scratch(row + 1u + k);
        let edge = 4u * b + 1u + k;
        let edge_move = input_row(cloth_parameters[cloth_slot].colliders.box_target + edge).xyz - input_row(cloth_parameters[cloth_slot].colliders.box_start + edge).xyz;
        if (face.w > 0.0) {
            begin += edge_move * (dot3(face.xyz, old) / face.w * fraction);
        }
    }
    let d = x - corner;
    var sweep = Sweep(-3.0e38, 3.0e38, vec3<f32>(0.0), 0.0, 0.0);
    for (var k = 0u; k < 3u; k++) {
        let face = load_scratch(row + 1u + k);
        let start = dot3(face.xyz, begin);
        let end = dot3(face.xyz, d);
        clip_path(-face.xyz, -start, -end, &sweep);
        clip_path(face.xyz, start - face.w, end - face.w, &sweep);
    }
    var back = vec3<f32>(0.0);
    if (sweep.enter < 1.0 && sweep.leave > 0.0) {
        // Way from the face along its normal to the first face on the other side.
        let foot = d - sweep.normal * sweep.end;
        var thickness = 3.0e38;
        for (var k = 0u; k < 3u; k++) {
            let face = load_scratch(row + 1u + k);
            let depth = dot3(face.xyz, foot);
            let slope = dot3(face.xyz, sweep.normal);
            if (slope > SWEEP_SLOPE) {
                thickness = min(thickness, depth / slope);
            } else if (slope < -SWEEP_SLOPE) {
                thickness = min(thickness, (face.w - depth) / -slope);
            } else if (depth < -SWEEP_SKIN || depth > face.w + SWEEP_SKIN) {
                thickness = 0.0;
            }
        }
        back = return_path(sweep, thickness);
    }
    return back;
}

/// Position of vertex v of the mesh at a fraction of the frame [m].
fn vertex_at(v: u32, fraction: f32) -> vec3<f32> {
    return load_at(cloth_parameters[cloth_slot].colliders.vertex_start, cloth_parameters[cloth_slot].colliders.vertex_target, v, fraction).xyz;
}

/// Finds where a path from `begin`, at `fraction` of the frame, to `end`, now, passes triangle t:
/// from the front to the back if `side` is 1, else from the back to the front if it is -1. Replaces
/// `sweep` if that is earlier.
fn cross_triangle(t: u32, begin: vec3<f32>, end: vec3<f32>, fraction: f32, side: f32, sweep: ptr<function, Sweep>) {
    let corners = triangle_corners(t);
    let a = load_vertex(corners.x);
    let ab = load_vertex(corners.y) - a;
    let ac = load_vertex(corners.z) - a;
    let old_a = vertex_at(corners.x, fraction);
    let old_ab = vertex_at(corners.y, fraction) - old_a;
    let old_ac = vertex_at(corners.z, fraction) - old_a;
    let normal = cross3(ab, ac);
    let old_normal = cross3(old_ab, old_ac);
    let square = dot3(normal, normal);
    let old_square = dot3(old_normal, old_normal);
    if (square > MIN_NORMAL_SQUARE && old_square > MIN_NORMAL_SQUARE) {
        let unit = normal / sqrt(square);
        let p = end - a;
        let old_p = begin - old_a;
        let height = dot3(unit, p) * side;
        let old_height = dot3(old_normal / sqrt(old_square), old_p) * side;
        let start = max(old_height, 0.0);
        let time = start / (start - height);
        if (height < 0.0 && old_height > -SWEEP_SKIN && time < (*sweep).enter) {
            // Barycentric coordinates of the point where it passes, times the squared normal.
            let q = old_p + (p - old_p) * time;
            let u = old_ab + (ab - old_ab) * time;
            let v = old_ac + (ac - old_ac) * time;
            let n = cross3(u, v);
            let slack = 1.0e-4 * dot3(n, n);
            let beta = dot3(cross3(q, v), n);
            let gamma = dot3(cross3(u, q), n);
            if (beta >= -slack && gamma >= -slack && beta + gamma <= dot3(n, n) + slack) {
                *sweep = Sweep(time, 3.0e38, unit, old_height, height);
            }
        }
    }
}

/// Displacement of x, the position of particle i coming from `before`, back to the triangle by
/// which it entered the mesh [m].
///
/// The second search goes from that triangle straight to the other side: it finds the thickness of
/// a part so thin that the particle has passed its middle.
fn sweep_mesh(i: u32, before: vec3<f32>, x: vec3<f32>) -> vec3<f32> {
    let tree = cloth_parameters[cloth_slot].colliders.triangle_tree_begin;
    let nearby = load_nearby(i);
    let a = x - nearby.position;
    let b = before - nearby.position;
    let reach = sqrt(max(dot3(a, a), dot3(b, b))) + cloth_parameters[cloth_slot].colliders.mesh_step;
    var back = vec3<f32>(0.0);
    // As in `touch_mesh`, nothing is nearer than the clearance.
    if (cloth_parameters[cloth_slot].colliders.is_mesh_closed == 0u || nearby.clearance <= reach) {
        var entry = Sweep(3.0e38, 3.0e38, vec3<f32>(0.0), 0.0, 0.0);
        var begin = before;
        var end = x;
        var fraction = iteration.bias.w;
        var side = 1.0;
        for (var search = 0u; search < 2u; search++) {
            var found = Sweep(3.0e38, 3.0e38, vec3<f32>(0.0), 0.0, 0.0);
            var node = 0u;
            loop {
                let item = next_item(tree, cloth_parameters[cloth_slot].colliders.triangle_tree_count, &node, min(begin, end), max(begin, end));
                if (item == 0u) {
                    break;
                }
                cross_triangle(item - 1u, begin, end, fraction, side, &found);
            }
            if (found.enter > 1.0) {
                break;
            }
            if (search == 0u) {
                entry = found;
                begin = x - entry.normal * entry.end;
                end = x + entry.normal * entry.end;
                fraction = iteration.velocity_scale.w;
                side = -1.0;
            } else {
                back = return_path(entry, -2.0 * entry.end * found.enter);
            }
        }
    }
    return back;
}

/// Displacement that brings particle i, at x and coming from `before`, back to where it entered the
/// convexes, the boxes and the mesh that it has passed [m].
fn swept_back(i: u32, before: vec3<f32>, x: vec3<f32>) -> vec3<f32> {
    var back = vec3<f32>(0.0);
    let convexes = cloth_parameters[cloth_slot].colliders.free_convex_begin;
    for (var k = convexes; k < convexes + cloth_parameters[cloth_slot].colliders.free_convex_count; k++) {
        back += sweep_convex(load_index(k), before, x + back);
    }
    let boxes = cloth_parameters[cloth_slot].colliders.free_box_begin;
    for (var k = boxes; k < boxes + cloth_parameters[cloth_slot].colliders.free_box_count; k++) {
        back += sweep_box(load_index(k), before, x + back);
    }
    if (cloth_parameters[cloth_slot].colliders.triangle_count > 0u) {
        back += sweep_mesh(i, before, x + back);
    }
    return back;
}

/// Brings particle i back to the face by which it entered a convex, a box or the mesh since the
/// last iteration, if it passed the middle of the part behind that face.
///
/// The stages that follow test where particles are: beyond the middle of a thin part they would
/// push it out on the far side, and beyond the part they would not see it. The path is clipped at
/// the faces of convex shapes (Cyrus and Beck, "Generalized two- and three-dimensional clipping",
/// 1978).
fn sweep(i: u32) {
    let particle = load_current(i);
    let back = swept_back(i, load_previous(i).xyz, particle.xyz);
    if (any(back != vec3<f32>(0.0))) {
        store_current(i, vec4<f32>(particle.xyz + back, particle.w));
    }
}
