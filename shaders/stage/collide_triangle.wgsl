#import state/colliders

/// Location of a point relative to a triangle.
struct TriangleTouch {
    /// Squared distance [m^2], a little more from behind: between two triangles equally near, the
    /// one in front of the point wins.
    square: f32,
    /// Height of the point over the triangle's plane [m].
    height: f32,
    /// Unit normal.
    normal: vec3<f32>,
    /// Barycentric coordinates of the nearest point: weights of the second and third corner.
    barycentric: vec2<f32>,
}

/// Vertex indices of the corners of triangle t.
fn triangle_corners(t: u32) -> vec3<u32> {
    return input_pool[cloth_parameters[cloth_slot].colliders.triangle_begin + t].xyz;
}

/// Position of vertex v of the mesh now [m].
fn load_vertex(v: u32) -> vec3<f32> {
    return load_at(cloth_parameters[cloth_slot].colliders.vertex_start, cloth_parameters[cloth_slot].colliders.vertex_target, v, iteration.velocity_scale.w).xyz;
}

/// Locates x relative to triangle t; far away if the triangle has no area.
fn touch_triangle(t: u32, x: vec3<f32>) -> TriangleTouch {
    let corners = triangle_corners(t);
    let a = load_vertex(corners.x);
    let ab = load_vertex(corners.y) - a;
    let ac = load_vertex(corners.z) - a;
    let p = x - a;
    let normal = cross3(ab, ac);
    let normal_square = dot3(normal, normal);
    var touch = TriangleTouch(3.0e38, 0.0, vec3<f32>(0.0), vec2<f32>(0.0));
    if (normal_square > MIN_NORMAL_SQUARE) {
        touch.normal = normal / sqrt(normal_square);
        touch.height = dot3(touch.normal, p);
        touch.barycentric = closest_on_triangle(p, ab, ac);
        let gap = p - ab * touch.barycentric.x - ac * touch.barycentric.y;
        touch.square = dot3(gap, gap) * select(1.0, 1.0001, touch.height < 0.0);
    }
    return touch;
}

/// Squared distance between x and the box of a tree node [m^2], rounded down.
fn square_to_node(row: u32, x: vec3<f32>) -> f32 {
    let gap = max(max(input_row(row).xyz - x, x - input_row(row + 1u).xyz), vec3<f32>(0.0));
    return dot3(gap, gap) * 0.9999;
}

/// Result of the last search for particle i.
struct Nearby {
    /// Position of the particle then [m].
    position: vec3<f32>,
    /// Triangle nearest to it then.
    triangle: u32,
    /// Lower bound of its distance in front of the mesh then [m].
    clearance: f32,
}

/// Result of the last search for particle i.
fn load_nearby(i: u32) -> Nearby {
    let row = cloth.scratch_begin + cloth_parameters[cloth_slot].colliders.nearest_begin + NEARBY_ROWS * i;
    let first = scratch[row];
    return Nearby(bitcast<vec3<f32>>(first.xyz), first.w, bitcast<f32>(scratch[row + 1u].x));
}

/// Stores the result of a search for particle i.
fn store_nearby(i: u32, nearby: Nearby) {
    let row = cloth.scratch_begin + cloth_parameters[cloth_slot].colliders.nearest_begin + NEARBY_ROWS * i;
    scratch[row] = vec4<u32>(bitcast<vec3<u32>>(nearby.position), nearby.triangle);
    scratch[row + 1u] = vec4<u32>(bitcast<u32>(nearby.clearance), 0u, 0u, 0u);
}

/// Finds the triangle nearest to x among those that do not face away from `side`; the lowest index
/// wins a tie. The search begins with triangle `guess`, on which the result does not depend.
fn nearest_triangle(x: vec3<f32>, guess: u32, side: vec3<f32>, touch: ptr<function, TriangleTouch>) -> u32 {
    let tree = cloth_parameters[cloth_slot].colliders.triangle_tree_begin;
    *touch = TriangleTouch(3.0e38, 0.0, vec3<f32>(0.0), vec2<f32>(0.0));
    var nearest = 0u;
    var candidate = 1u + min(guess, cloth_parameters[cloth_slot].colliders.triangle_count - 1u);
    var node = 0u;
    while (candidate > 0u || node < cloth_parameters[cloth_slot].colliders.triangle_tree_count) {
        if (candidate > 0u) {
            let triangle = candidate - 1u;
            let other = touch_triangle(triangle, x);
            let is_nearer = other.square < (*touch).square || (other.square == (*touch).square && triangle < nearest);
            if (is_nearer && dot3(other.normal, side) >= 0.0) {
                *touch = other;
                nearest = triangle;
            }
            candidate = 0u;
        } else {
            let row = tree + 2u * node;
            if (square_to_node(row, x) <= (*touch).square) {
                candidate = node_item(row);
                node += 1u;
            } else {
                node = node_escape(row);
            }
        }
    }
    return nearest;
}

/// Finds the triangle through whose plane x leaves the mesh, and its `touch`.
///
/// Beyond the middle of a thin part the nearest triangle is on the far side, which would pull the
/// cloth through. Suppose that one iteration ago, at `before` and relative to the mesh, the
/// particle was behind that triangle by at least 1.5 times its present depth, and less deep behind
/// one that faces away from it. Then the nearest triangle that faces like the latter is taken.
fn exit_triangle(x: vec3<f32>, before: vec3<f32>, guess: u32, touch: ptr<function, TriangleTouch>) -> u32 {
    var exit = guess;
    var point = x;
    var side = vec3<f32>(0.0);
    // Searches from x, from `before`, then from x on that side: one loop, so that a driver inlines
    // the search once.
    for (var search = 0u; search < 3u; search++) {
        var found: TriangleTouch;
        let triangle = nearest_triangle(point, exit, side, &found);
        if (search == 1u) {
            side = found.normal;
            point = x;
            if (found.height <= (*touch).height || dot3((*touch).normal, side) >= 0.0) {
                break;
            }
        } else if (search == 0u || found.height < 0.0) {
            *touch = found;
            exit = triangle;
            // Where the particle was, relative to the mesh as it is now.
            let start = before + triangle_move(triangle, found.barycentric);
            let height_before = found.height + dot3(found.normal, start - x);
            if (found.height >= 0.0 || height_before >= 1.5 * found.height) {
                break;
            }
            point = start;
        }
    }
    return exit;
}

/// Adds the exit of particle i, at x, from the mesh: up to the plane of `exit_triangle`, if x is
/// behind it.
///
/// A particle cannot enter a closed mesh by a displacement shorter than its distance to it. As long
/// as particle and mesh together have not moved by the clearance of the last search, no search is
/// needed.
fn touch_mesh(i: u32, x: vec3<f32>, contacts: ptr<function, Contacts>) {
    let tree = cloth_parameters[cloth_slot].colliders.triangle_tree_begin;
    let is_closed = cloth_parameters[cloth_slot].colliders.is_mesh_closed != 0u;
    var nearby = load_nearby(i);
    let displacement = x - nearby.position;
    nearby.clearance -= sqrt(dot3(displacement, displacement)) + cloth_parameters[cloth_slot].colliders.mesh_step;
    nearby.position = x;
    // Outside the root box of the tree nothing can be behind the mesh either.
    let is_clear = is_closed && (nearby.clearance > 0.0 || !meets_node(tree, x, x));
    if (!is_clear) {
        var touch: TriangleTouch;
        let exit = exit_triangle(x, load_previous(i).xyz, nearby.triangle, &touch);
        nearby.triangle = exit;
        // Rounded down.
        nearby.clearance = select(0.0, 0.999 * sqrt(touch.square), touch.height > 0.0);
        if (touch.height < 0.0) {
            add_contact(contacts, triangle_shape(exit), -touch.normal * touch.height);
            (*contacts).travel += triangle_move(exit, touch.barycentric);
        }
    }
    store_nearby(i, nearby);
}

/// Displacement of a point of triangle t in one iteration [m].
fn triangle_move(t: u32, barycentric: vec2<f32>) -> vec3<f32> {
    let corners = triangle_corners(t);
    let a = vertex_move(corners.x);
    let b = vertex_move(corners.y);
    let c = vertex_move(corners.z);
    return (a + (b - a) * barycentric.x + (c - a) * barycentric.y) * cloth_parameters[cloth_slot].colliders.iteration_fraction;
}

/// Displacement of vertex v in the frame [m].
fn vertex_move(v: u32) -> vec3<f32> {
    return input_row(cloth_parameters[cloth_slot].colliders.vertex_target + v).xyz - input_row(cloth_parameters[cloth_slot].colliders.vertex_start + v).xyz;
}

/// Pushes particle i out of the mesh.
fn collide_triangle(i: u32) {
    let particle = load_current(i);
    var contacts = no_contacts();
    touch_mesh(i, particle.xyz, &contacts);
    resolve_contacts(i, particle.xyz, particle.w, contacts);
}
