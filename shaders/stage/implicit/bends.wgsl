#import stage/bend
#import stage/implicit/addresses
#import stage/implicit/edges

/// Common quantities of two triangles at an edge, for bending energies; see `solve_bend`.
struct Fold {
    /// True if both triangles have a usable height.
    is_usable: bool,
    /// Normal of the third particle's triangle [m^2].
    normal_2: vec3<f32>,
    /// Normal of the fourth particle's triangle [m^2].
    normal_3: vec3<f32>,
    /// Squared length of the edge [m^2].
    edge_square: f32,
    /// Squared lengths of the normals [m^4].
    squares: vec2<f32>,
}

/// Computes the fold of an edge from the sides that lead from its first end to the third and fourth
/// particle.
fn fold_of(edge: vec3<f32>, side_2: vec3<f32>, side_3: vec3<f32>) -> Fold {
    let normal_2 = cross3(edge, side_2);
    let normal_3 = cross3(side_3, edge);
    let edge_square = dot3(edge, edge);
    let squares = vec2<f32>(dot3(normal_2, normal_2), dot3(normal_3, normal_3));
    let is_usable = edge_square > MIN_HINGE_SQUARE && has_height(edge_square, dot3(side_2, side_2), squares.x)
        && has_height(edge_square, dot3(side_3, side_3), squares.y);
    return Fold(is_usable, normal_2, normal_3, edge_square, squares);
}

/// Difference of the dihedral angle of a fold and its rest angle [rad], in -PI..PI.
fn angle_error(fold: Fold, edge: vec3<f32>, rest: f32) -> f32 {
    let unit_2 = fold.normal_2 / sqrt(fold.squares.x);
    let unit_3 = fold.normal_3 / sqrt(fold.squares.y);
    let angle = atan2_portable(dot3(cross3(unit_2, unit_3), edge / sqrt(fold.edge_square)), dot3(unit_2, unit_3));
    var error = angle - rest;
    // Wraps into one turn, so that folded cloth bends back the short way.
    if (error > PI) {
        error -= TAU;
    } else if (error <= -PI) {
        error += TAU;
    }
    return error;
}

/// Distances of the third and fourth particle behind the plane of the opposite triangle, relative
/// to their rest heights, less the sine of the rest angle.
fn depth_errors(fold: Fold, side_2: vec3<f32>, side_3: vec3<f32>, heights: vec2<f32>, sine: f32) -> vec2<f32> {
    let depth_2 = dot3(side_2, fold.normal_3) / sqrt(fold.squares.y);
    let depth_3 = dot3(side_3, fold.normal_2) / sqrt(fold.squares.x);
    return vec2<f32>(-depth_2 / heights.x - sine, -depth_3 / heights.y - sine);
}

/// Computes the gradient of the energy of a bend at its particles and writes it to scratch.
///
/// Face angle: k/2 (angle - rest)^2, with the gradient of `solve_bend`.
///
/// Plane projection: k/4 ((d2/H2 - sin rest)^2 + (d3/H3 - sin rest)^2), d the distance of the third
/// and fourth particle behind the plane of the opposite triangle and H their rest heights. The
/// gradient of d3 is -m/|m| at the fourth particle, and m/|m| times the barycentric coordinates of
/// its foot at the others.
///
/// Isometric: k/2 |sum c_i x_i|^2, c the cotangent weights of a flat rest shape: -1/H2 of the third
/// particle, -1/H3 of the fourth (Bergou et al., "A Quadratic Bending Model for Inextensible
/// Surfaces", 2006).
///
/// Damping is that of `stretch_triangle`.
fn fold_bend(bend: u32) {
    let row = cloth.fabric.bend_begin + BEND_WORDS * bend;
    let i0 = fabric_pool[row];
    let i1 = fabric_pool[row + 1u];
    let i2 = fabric_pool[row + 2u];
    let i3 = fabric_pool[row + 3u];
    let stiffness = load_implicit().rigidity * bitcast<f32>(fabric_pool[row + 5u]);
    let memory = load_implicit().bend_memory;
    let edge = trial_edge(i0, i1);
    let side_2 = trial_edge(i0, i2);
    let side_3 = trial_edge(i0, i3);
    let fold = fold_of(edge, side_2, side_3);
    var gradient_1 = vec3<f32>(0.0);
    var gradient_2 = vec3<f32>(0.0);
    var gradient_3 = vec3<f32>(0.0);
    if (load_implicit().bend_model == BEND_ISOMETRIC) {
        let heights = vec2<f32>(bitcast<f32>(fabric_pool[row + 6u]), bitcast<f32>(fabric_pool[row + 7u]));
        let weight = bitcast<f32>(fabric_pool[row + 9u]);
        // sum c_i x_i, with the first particle as origin.
        var curvature = edge * weight - side_2 / heights.x - side_3 / heights.y;
        if (memory > 0.0) {
            let last = previous_edge(i0, i1) * weight - previous_edge(i0, i2) / heights.x - previous_edge(i0, i3) / heights.y;
            curvature -= last * memory;
        }
        let moment = curvature * stiffness;
        gradient_1 = moment * weight;
        gradient_2 = -moment / heights.x;
        gradient_3 = -moment / heights.y;
    } else if (fold.is_usable) {
        let last_edge = previous_edge(i0, i1);
        let last_2 = previous_edge(i0, i2);
        let last_3 = previous_edge(i0, i3);
        var last = Fold(false, vec3<f32>(0.0), vec3<f32>(0.0), 0.0, vec2<f32>(0.0));
        if (memory > 0.0) {
            last = fold_of(last_edge, last_2, last_3);
        }
        if (load_implicit().bend_model == BEND_FACE_ANGLE) {
            let rest = bitcast<f32>(fabric_pool[row + 4u]);
            var error = angle_error(fold, edge, rest);
            if (last.is_usable) {
                error -= angle_error(last, last_edge, rest) * memory;
            }
            // Gradients of the angle: -|e| m/|m|^2 and -|e| n/|n|^2, scaled by k (angle - rest).
            let moment = stiffness * error * sqrt(fold.edge_square);
            gradient_2 = fold.normal_2 * (-moment / fold.squares.x);
            gradient_3 = fold.normal_3 * (-moment / fold.squares.y);
            gradient_1 = gradient_2 * -(dot3(side_2, edge) / fold.edge_square) - gradient_3 * (dot3(side_3, edge) / fold.edge_square);
        } else {
            let heights = vec2<f32>(bitcast<f32>(fabric_pool[row + 6u]), bitcast<f32>(fabric_pool[row + 7u]));
            let sine = bitcast<f32>(fabric_pool[row + 8u]);
            var errors = depth_errors(fold, side_2, side_3, heights, sine);
            if (last.is_usable) {
                errors -= depth_errors(last, last_2, last_3, heights, sine) * memory;
            }
            let force_2 = 0.5 * stiffness * errors.x / heights.x;
            let force_3 = 0.5 * stiffness * errors.y / heights.y;
            let push_2 = fold.normal_3 * (force_2 / sqrt(fold.squares.y));
            let push_3 = fold.normal_2 * (force_3 / sqrt(fold.squares.x));
            // Barycentric weights of the feet: of the fourth particle in (p0, p1, p2), of the third
            // in (p1, p0, p3).
            let at_2 = dot3(cross3(edge, side_3), fold.normal_2) / fold.squares.x;
            let at_3 = -dot3(cross3(edge, side_2), fold.normal_3) / fold.squares.y;
            let foot_3 = dot3(cross3(side_3, side_2), fold.normal_2) / fold.squares.x;
            let foot_2 = -dot3(cross3(side_2, side_3), fold.normal_3) / fold.squares.y;
            gradient_1 = push_3 * foot_3 + push_2 * foot_2;
            gradient_2 = push_3 * at_2 - push_2;
            gradient_3 = push_2 * at_3 - push_3;
        }
    }
    // The gradients of all particles sum to 0: momentum is conserved.
    let first = bend_end_row(4u * bend);
    store_scratch(first, vec4<f32>(-(gradient_1 + gradient_2 + gradient_3), 0.0));
    store_scratch(first + 1u, vec4<f32>(gradient_1, 0.0));
    store_scratch(first + 2u, vec4<f32>(gradient_2, 0.0));
    store_scratch(first + 3u, vec4<f32>(gradient_3, 0.0));
}
