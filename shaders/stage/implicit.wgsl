#import lib/math
#import state/shared
#import state/solve
#import stage/bend
#import stage/collide_convex
#import stage/collide_box
#import stage/collide_triangle
#import stage/collide_shape

/// Row of a corner of a triangle (`FabricOffsets.corner_begin`): the gradient of its energy there [N].
fn corner_row(corner: u32) -> u32 {
    return solve_row(SOLVE_PARTICLE_ARRAYS, corner);
}

/// Row of a bend end (`FabricOffsets.element_begin`): the gradient of its energy there [N].
fn bend_end_row(end: u32) -> u32 {
    return corner_row(3u * cloth.fabric.triangle_count + end);
}

/// First row of link k of the chains.
fn link_row(k: u32) -> u32 {
    return bend_end_row(4u * bend_count()) + SOLVE_CHAIN_ROWS * k;
}

/// Row of what the chain of a family solves for particle i: entry `family * particle_count + i`.
fn chain_value_row(entry: u32) -> u32 {
    return link_row(2u * cloth.particle_count) + entry;
}

/// Where the chains are in `fabric_pool`: their number, the first link of each and one past the last, particles.
fn chain_list() -> u32 {
    return rate_row(cloth.particle_count) + cloth.particle_count + 1u + 4u * bend_count();
}

/// Number of chains.
fn chain_end() -> u32 {
    return fabric_pool[chain_list()];
}

/// First link of a chain.
fn chain_begin(chain: u32) -> u32 {
    return fabric_pool[chain_list() + 1u + chain];
}

/// Particle of link k.
fn link_particle(k: u32) -> u32 {
    return fabric_pool[chain_list() + 2u + chain_end() + k];
}

/// Whether residuals become directions by chains.
fn is_preconditioned() -> bool {
    var does = false;
    if ((STAGES & IMPLICIT_CHAINS) != 0u) {
        does = load_implicit().preconditioner == PRECONDITIONER_FIBERS;
    }
    return does;
}

/// Where the rates of particle i are in `fabric_pool`; behind those of the last one the lists of bend ends.
fn rate_row(i: u32) -> u32 {
    return cloth.fabric.element_begin + SHAPE_WORDS * cloth.fabric.triangle_count + 4u * i;
}

/// Number of bends.
fn bend_count() -> u32 {
    return fabric_pool[cloth.fabric.bend_set_begin + cloth.fabric.bend_set_count];
}

/// Sets how often the step is halved that is solved from here on.
fn set_halvings(halvings: u32) {
    if ((STAGES & IMPLICIT_HALVINGS) != 0u) {
        solve_halvings = halvings;
    }
}

/// Whether springs resist stretch and shear, in place of triangles.
fn stretches_springs() -> bool {
    var does = false;
    if ((STAGES & IMPLICIT_SPRINGS) != 0u) {
        does = load_implicit().stretch_model == STRETCH_SPRINGS;
    }
    return does;
}

/// Whether springs resist bending, in place of bends.
fn bends_springs() -> bool {
    var does = false;
    if ((STAGES & IMPLICIT_SPRINGS) != 0u) {
        does = load_implicit().bend_model == BEND_SPRINGS;
    }
    return does;
}

/// Where the springs of particles are in `fabric_pool`, those of stretch and shear or those of bending: the first of each particle and one
/// past the last, `[particle_count + 1]`, then two words each: SPRING_KINDS times the edge plus its kind, and what its stiffness is
/// multiplied with.
fn spring_list(of_bends: bool) -> u32 {
    let first = chain_list() + 2u + chain_end() + 2u * cloth.particle_count;
    var list = first;
    if (of_bends) {
        list = first + cloth.particle_count + 1u + 2u * fabric_pool[first + cloth.particle_count];
    }
    return list;
}

/// Words of the springs of a list.
fn spring_words(list: u32) -> u32 {
    return list + cloth.particle_count + 1u;
}

/// Particle at the other end of a spring of particle i.
fn spring_end(spring: u32, i: u32) -> u32 {
    let ends = cloth.fabric.ends_begin + 2u * (fabric_pool[spring] / SPRING_KINDS);
    return (fabric_pool[ends] ^ fabric_pool[ends + 1u] ^ i) & ~END_OF_FIBER;
}

/// Stiffness of a spring [N/m].
fn spring_stiffness(spring: u32) -> f32 {
    let kind = fabric_pool[spring] % SPRING_KINDS;
    var stiffness = load_implicit().rigidity;
    if (kind == SPRING_VERTICAL) {
        stiffness = load_implicit().stiffness_v;
    } else if (kind == SPRING_HORIZONTAL) {
        stiffness = load_implicit().stiffness_u;
    } else if (kind == SPRING_SHEARING) {
        stiffness = load_implicit().shear_stiffness;
    }
    return stiffness * bitcast<f32>(fabric_pool[spring + 1u]);
}

/// Sum of the stiffnesses of the springs of particle i [N/m].
fn spring_sum(i: u32, of_bends: bool) -> f32 {
    let list = spring_list(of_bends);
    let end = fabric_pool[list + i + 1u];
    var sum = 0.0;
    for (var k = fabric_pool[list + i]; k < end; k++) {
        sum += spring_stiffness(spring_words(list) + 2u * k);
    }
    return sum;
}

/// Gradient of the energy of the springs of particle i [N], k/2 (l - L)^2 each, in ascending order. Those of stretch and shear have a
/// fraction of their stiffness where they are shorter than at rest; damping as in `stretch_triangle`.
fn spring_gradient(i: u32, of_bends: bool) -> vec3<f32> {
    let list = spring_list(of_bends);
    let end = fabric_pool[list + i + 1u];
    let memory = select(load_implicit().stretch_memory, load_implicit().bend_memory, of_bends);
    let share = select(load_implicit().rest_fraction, load_implicit().bend_rest_fraction, of_bends);
    var gradient = vec3<f32>(0.0);
    for (var k = fabric_pool[list + i]; k < end; k++) {
        let spring = spring_words(list) + 2u * k;
        let other = spring_end(spring, i);
        let edge = trial_edge(i, other);
        var rest = rest_length_of(fabric_pool[spring] / SPRING_KINDS) * share;
        if (memory > 0.0) {
            let last = previous_edge(i, other);
            rest += sqrt(dot3(last, last)) * memory;
        }
        var pull = slack(edge, rest) * spring_stiffness(spring);
        if (pull < 0.0 && !of_bends) {
            pull *= load_implicit().compression;
        }
        gradient -= edge * pull;
    }
    return gradient;
}

/// -1 + |d|^2. The constant stands first: drivers pull constants out of sums (Mesa does), and this order survives that.
fn excess_square(d: vec3<f32>) -> f32 {
    return -1.0 + d.x * d.x + d.y * d.y + d.z * d.z;
}

/// Begins a step at the prediction of particle i. From here to the end of the solve the current position is a displacement from the
/// previous one: differences of small numbers keep the digits that forces of stiff cloth are made of.
///
/// A step may be made in 2^j equal parts, steps of their own of backward Euler. What acts besides inertia adds as much speed to each
/// of them: (y - x - inertia) / 4^j is added to the displacement of each over that of the part before.
fn begin_solve(i: u32) {
    let particle = load_current(i);
    let predicted = particle.xyz - load_previous(i).xyz;
    var inertia = predicted;
    if ((STAGES & STAGE_INTEGRATE) != 0u) {
        inertia = select(predicted, load_scratch(solve_row(SOLVE_INERTIA, i)).xyz, particle.w > 0.0);
    }
    let fraction = load_implicit().fraction;
    let added = (predicted - inertia) * (fraction * fraction);
    store_scratch(solve_row(SOLVE_INERTIA, i), vec4<f32>(added, 0.0));
    var start = predicted;
    if (fraction < 1.0) {
        start = inertia * fraction + added;
    }
    start_at(i, start, particle.w);
    if (i == 0u) {
        let has_bends = load_implicit().rigidity > 0.0;
        store_scratch(solve_state(1u), vec4<f32>(0.0, 0.0, SOLVE_START, select(0.0, 1.0, has_bends)));
        store_scratch(solve_state(3u), vec4<f32>(0.0));
        store_scratch(solve_state(6u), vec4<f32>(0.0));
    }
}

/// Begins a solve for particle i with this prediction and inverse mass.
fn start_at(i: u32, prediction: vec3<f32>, inverse_mass: f32) {
    var mass = 0.0;
    if (inverse_mass > 0.0) {
        mass = 1.0 / inverse_mass;
    }
    store_current(i, vec4<f32>(prediction, inverse_mass));
    store_scratch(solve_row(SOLVE_PREDICTIONS, i), vec4<f32>(prediction, inverse_mass));
    store_scratch(solve_row(SOLVE_MOVES, i), vec4<f32>(prediction, mass));
    store_scratch(solve_row(SOLVE_RESIDUALS, i), vec4<f32>(0.0));
    store_scratch(solve_row(SOLVE_TRIALS, i), vec4<f32>(0.0));
    store_scratch(solve_row(SOLVE_DIRECTIONS, i), vec4<f32>(0.0));
    store_scratch(solve_row(SOLVE_FORCES, i), vec4<f32>(0.0));
    store_scratch(solve_row(SOLVE_PLANES, i), vec4<f32>(0.0));
}

/// Whether this evaluation looks for contacts: where forces are taken as they are.
fn probes_contacts() -> bool {
    var is_due = false;
    if ((STAGES & STAGES_OF_PROBES) != 0u) {
        is_due = load_scratch(solve_state(1u)).z != SOLVE_LINE;
    }
    return is_due;
}

/// Looks whether the trial has particle i in shapes. If so, it is kept out from here on by the plane of its mean exit, with the energy
/// kc/2 max(0, o - n . u)^2, u its displacement.
///
/// A plane never moves a particle outwards that was behind it one step ago, other than with the shape: the stages behind the solve do. It
/// is kept as long as it explains half of how deep the particle is, so that rounding of positions does not disturb the solve.
fn probe_contacts(i: u32) {
    let particle = load_current(i);
    if (particle.w > 0.0) {
        let x = load_previous(i).xyz + particle.xyz;
        var contacts = no_contacts();
        if ((STAGES & STAGE_COLLIDE_CONVEX) != 0u) {
            touch_convexes(x, &contacts);
        }
        if ((STAGES & STAGE_COLLIDE_BOX) != 0u) {
            touch_boxes(x, &contacts);
        }
        if ((STAGES & STAGE_COLLIDE_TRIANGLE) != 0u) {
            touch_mesh(i, x, &contacts);
        }
        if ((STAGES & STAGES_OF_SPHERES) != 0u) {
            touch_shapes(x, &contacts);
        }
        if (contacts.count > 0.0) {
            let push = contacts.push / contacts.count;
            let depth = sqrt(dot3(push, push));
            let plane = load_scratch(solve_row(SOLVE_PLANES, i));
            if (depth > SOLVE_PLANE_DEPTH * plane_depth(plane, particle.xyz)) {
                let normal = push / depth;
                let advance = contacts.approach / contacts.count + dot3(contacts.travel, normal) / contacts.count;
                let reach = min(dot3(normal, particle.xyz) + depth, max(advance, 0.0));
                store_scratch(solve_row(SOLVE_PLANES, i), vec4<f32>(normal, reach));
            }
        }
    }
}

/// How far a particle that moves by u is behind a plane of contact [m].
fn plane_depth(plane: vec4<f32>, u: vec3<f32>) -> f32 {
    return max(plane.w - dot3(plane.xyz, u), 0.0);
}

/// Edge from particle a to particle b of the trial [m].
fn trial_edge(a: u32, b: u32) -> vec3<f32> {
    return load_previous(b).xyz - load_previous(a).xyz + (load_current(b).xyz - load_current(a).xyz);
}

/// Edge from particle a to particle b one step ago [m].
fn previous_edge(a: u32, b: u32) -> vec3<f32> {
    return load_previous(b).xyz - load_previous(a).xyz;
}

/// Gradient of the energy of triangle t at its corners, to scratch.
///
/// With wu and wv the derivatives of its position by its rest coordinates u and v, and A its area,
///   threads: A/2 (Ku (|wu| - 1)^2 + Kv (|wv| - 1)^2 + G (wu . wv)^2) (Baraff, Witkin, "Large Steps in Cloth Simulation", 1998, eqs. 9
///   to 11, with A once in place of squared),
///   trispring: A (mu |E|^2 + lambda/2 tr(E)^2), E the strain of Green: the quadratic springs of Delingette, "Triangular Springs for
///   Modeling Nonlinear Membranes", 2008.
/// Damping resists the change of |wu|, |wv|, wu . wv, or E, since the last step: stiffer by beta/h against a shape between that at rest
/// and the last one.
fn stretch_triangle(t: u32) {
    let corners = cloth.fabric.triangle_begin + 3u * t;
    let i0 = fabric_pool[corners];
    let i1 = fabric_pool[corners + 1u];
    let i2 = fabric_pool[corners + 2u];
    let by_u = vec2<f32>(shape_value(0u, t), shape_value(1u, t));
    let by_v = vec2<f32>(shape_value(2u, t), shape_value(3u, t));
    let area = shape_value(4u, t);
    let p = trial_edge(i0, i1);
    let q = trial_edge(i0, i2);
    let wu = p * by_u.x + q * by_u.y;
    let wv = p * by_v.x + q * by_v.y;
    let stiffness_u = load_implicit().stiffness_u;
    let stiffness_v = load_implicit().stiffness_v;
    let memory = load_implicit().stretch_memory;
    var last_u = vec3<f32>(0.0);
    var last_v = vec3<f32>(0.0);
    if (memory > 0.0) {
        let last_p = previous_edge(i0, i1);
        let last_q = previous_edge(i0, i2);
        last_u = last_p * by_u.x + last_q * by_u.y;
        last_v = last_p * by_v.x + last_q * by_v.y;
    }
    let last_shear = dot3(last_u, last_v) * memory;
    var pu = vec3<f32>(0.0);
    var pv = vec3<f32>(0.0);
    if (load_implicit().stretch_model == STRETCH_THREADS) {
        let share = load_implicit().rest_fraction;
        let shear = load_implicit().shear_stiffness * (dot3(wu, wv) - last_shear);
        let rest_u = share + sqrt(dot3(last_u, last_u)) * memory;
        let rest_v = share + sqrt(dot3(last_v, last_v)) * memory;
        pu = wu * (stiffness_u * slack(wu, rest_u)) + wv * shear;
        pv = wv * (stiffness_v * slack(wv, rest_v)) + wu * shear;
    } else {
        var strain_u = excess_square(wu);
        var strain_v = excess_square(wv);
        if (memory > 0.0) {
            strain_u -= excess_square(last_u) * memory;
            strain_v -= excess_square(last_v) * memory;
        }
        // Strains are twice those of Green.
        let pressure = stiffness_u * 0.5 * (strain_u + strain_v);
        let shear = stiffness_v * (dot3(wu, wv) - last_shear);
        pu = wu * (stiffness_v * strain_u + pressure) + wv * shear;
        pv = wv * (stiffness_v * strain_v + pressure) + wu * shear;
    }
    // Not multiplied with the area at the end: drivers factor that out of the sum of both (Mesa does).
    let gradient_1 = pu * (by_u.x * area) + pv * (by_v.x * area);
    let gradient_2 = pu * (by_u.y * area) + pv * (by_v.y * area);
    let row = corner_row(3u * t);
    store_scratch(row, vec4<f32>(-(gradient_1 + gradient_2), 0.0));
    store_scratch(row + 1u, vec4<f32>(gradient_1, 0.0));
    store_scratch(row + 2u, vec4<f32>(gradient_2, 0.0));
}

/// Number k of the rest shape of triangle t.
fn shape_value(k: u32, t: u32) -> f32 {
    return bitcast<f32>(fabric_pool[cloth.fabric.element_begin + k * cloth.fabric.triangle_count + t]);
}

/// 1 - rest/|w|, 0 without a length.
fn slack(w: vec3<f32>, rest: f32) -> f32 {
    let square = dot3(w, w);
    if (square > MIN_EDGE_SQUARE) {
        return 1.0 - rest / sqrt(square);
    }
    return 0.0;
}

/// What two triangles at an edge have in common for energies of bending; see `solve_bend`.
struct Fold {
    /// Whether both triangles have a height.
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

/// The fold of an edge and the sides from its first end to the third and fourth particle.
fn fold_of(edge: vec3<f32>, side_2: vec3<f32>, side_3: vec3<f32>) -> Fold {
    let normal_2 = cross3(edge, side_2);
    let normal_3 = cross3(side_3, edge);
    let edge_square = dot3(edge, edge);
    let squares = vec2<f32>(dot3(normal_2, normal_2), dot3(normal_3, normal_3));
    let is_usable = edge_square > MIN_HINGE_SQUARE && has_height(edge_square, dot3(side_2, side_2), squares.x)
        && has_height(edge_square, dot3(side_3, side_3), squares.y);
    return Fold(is_usable, normal_2, normal_3, edge_square, squares);
}

/// Angle of a fold less that at rest [rad], in -PI..PI.
fn angle_error(fold: Fold, edge: vec3<f32>, rest: f32) -> f32 {
    let unit_2 = fold.normal_2 / sqrt(fold.squares.x);
    let unit_3 = fold.normal_3 / sqrt(fold.squares.y);
    let angle = atan2_portable(dot3(cross3(unit_2, unit_3), edge / sqrt(fold.edge_square)), dot3(unit_2, unit_3));
    var error = angle - rest;
    if (error > PI) {
        error -= TAU;
    } else if (error <= -PI) {
        error += TAU;
    }
    return error;
}

/// How far the third and the fourth particle are behind the plane of the other's triangle, over their heights at rest, less the sine
/// of the rest angle.
fn depth_errors(fold: Fold, side_2: vec3<f32>, side_3: vec3<f32>, heights: vec2<f32>, sine: f32) -> vec2<f32> {
    let depth_2 = dot3(side_2, fold.normal_3) / sqrt(fold.squares.y);
    let depth_3 = dot3(side_3, fold.normal_2) / sqrt(fold.squares.x);
    return vec2<f32>(-depth_2 / heights.x - sine, -depth_3 / heights.y - sine);
}

/// Gradient of the energy of a bend at its particles, to scratch.
///
/// Face angle: k/2 (angle - rest)^2, with the gradient of `solve_bend`. Plane projection: k/4 ((d2/H2 - sin rest)^2 + (d3/H3 - sin rest)^2)
/// with d the distance of the third and fourth particle behind the plane of the other's triangle and H their heights at rest. The
/// gradient of d3 is -m/|m| at the fourth particle and m/|m| times the barycentric coordinates of its foot at the others. Isometric:
/// k/2 |sum c_i x_i|^2 with the cotangent weights c of a flat rest shape: that of the third particle is -1/H2, of the fourth -1/H3
/// (Bergou et al., "A Quadratic Bending Model for Inextensible Surfaces", 2006). Damping as in `stretch_triangle`.
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
            let at_2 = dot3(cross3(edge, side_3), fold.normal_2) / fold.squares.x;
            let at_3 = -dot3(cross3(edge, side_2), fold.normal_3) / fold.squares.y;
            let foot_3 = dot3(cross3(side_3, side_2), fold.normal_2) / fold.squares.x;
            let foot_2 = -dot3(cross3(side_2, side_3), fold.normal_3) / fold.squares.y;
            gradient_1 = push_3 * foot_3 + push_2 * foot_2;
            gradient_2 = push_3 * at_2 - push_2;
            gradient_3 = push_2 * at_3 - push_3;
        }
    }
    let first = bend_end_row(4u * bend);
    store_scratch(first, vec4<f32>(-(gradient_1 + gradient_2 + gradient_3), 0.0));
    store_scratch(first + 1u, vec4<f32>(gradient_1, 0.0));
    store_scratch(first + 2u, vec4<f32>(gradient_2, 0.0));
    store_scratch(first + 3u, vec4<f32>(gradient_3, 0.0));
}

/// Gradient of the energy of the triangles of particle i [N], in ascending order, or of its springs.
fn stretch_gradient(i: u32) -> vec3<f32> {
    if ((STAGES & IMPLICIT_SPRINGS) != 0u) {
        if (stretches_springs()) {
            return spring_gradient(i, false);
        }
    }
    let begin = fabric_pool[cloth.fabric.corner_begin + i];
    let end = fabric_pool[cloth.fabric.corner_begin + i + 1u];
    let corners = cloth.fabric.corner_begin + cloth.particle_count + 1u;
    var gradient = vec3<f32>(0.0);
    for (var k = begin; k < end; k++) {
        gradient += load_scratch(corner_row(fabric_pool[corners + k])).xyz;
    }
    return gradient;
}

/// Gradient of the energy of the bends of particle i [N], in ascending order, or of its springs.
fn bend_gradient(i: u32) -> vec3<f32> {
    if ((STAGES & IMPLICIT_SPRINGS) != 0u) {
        if (bends_springs()) {
            return spring_gradient(i, true);
        }
    }
    let begins = rate_row(cloth.particle_count);
    let begin = fabric_pool[begins + i];
    let end = fabric_pool[begins + i + 1u];
    let ends = begins + cloth.particle_count + 1u;
    var gradient = vec3<f32>(0.0);
    for (var k = begin; k < end; k++) {
        gradient += load_scratch(bend_end_row(fabric_pool[ends + k])).xyz;
    }
    return gradient;
}

/// Whether forces of bends are taken in this evaluation.
fn takes_bends() -> bool {
    return load_scratch(solve_state(1u)).w > 0.0;
}

/// Residual r1 of the trial of particle i with inverse mass: y - u - h^2 w grad E, the gradient of m/(2 h^2) |u - y|^2 + E(x + u) in the
/// metric m/h^2 [m].
fn trial_residual(i: u32) -> vec3<f32> {
    let prediction = load_scratch(solve_row(SOLVE_PREDICTIONS, i));
    var force = load_scratch(solve_row(SOLVE_FORCES, i)).xyz;
    if (takes_bends()) {
        force = bend_gradient(i);
        store_scratch(solve_row(SOLVE_FORCES, i), vec4<f32>(force, 0.0));
    }
    force = stretch_gradient(i) + force;
    let plane = load_scratch(solve_row(SOLVE_PLANES, i));
    force -= plane.xyz * (load_implicit().contact_stiffness * plane_depth(plane, load_current(i).xyz));
    return prediction.xyz - load_current(i).xyz - force * (load_implicit().step_square * prediction.w);
}

/// Residual of the trial of particle i, to scratch, where chains read it; 0 without inverse mass.
fn find_residual(i: u32) {
    var trial = vec3<f32>(0.0);
    if (load_scratch(solve_row(SOLVE_PREDICTIONS, i)).w > 0.0) {
        trial = trial_residual(i);
    }
    store_scratch(solve_row(SOLVE_TRIALS, i), vec4<f32>(trial, 0.0));
}

/// What the Hessian of triangle t is made of, to the rows of its corners: derivatives by u and v of the trial with how much of the
/// stiffness along each acts in all directions, 1 - 1/|w| where that is positive; what the rest is over |w|^2.
fn direct_triangle(t: u32) {
    let corners = cloth.fabric.triangle_begin + 3u * t;
    let i0 = fabric_pool[corners];
    let p = trial_edge(i0, fabric_pool[corners + 1u]);
    let q = trial_edge(i0, fabric_pool[corners + 2u]);
    let wu = p * shape_value(0u, t) + q * shape_value(1u, t);
    let wv = p * shape_value(2u, t) + q * shape_value(3u, t);
    let all_u = max(slack(wu, 1.0), 0.0);
    let all_v = max(slack(wv, 1.0), 0.0);
    let row = corner_row(3u * t);
    store_scratch(row, vec4<f32>(wu, all_u));
    store_scratch(row + 1u, vec4<f32>(wv, all_v));
    store_scratch(row + 2u, vec4<f32>(remainder_over_square(wu, all_u), remainder_over_square(wv, all_v), 0.0, 0.0));
}

/// (1 - all) / |w|^2, 0 without a length.
fn remainder_over_square(w: vec3<f32>, all: f32) -> f32 {
    let square = dot3(w, w);
    if (square > MIN_EDGE_SQUARE) {
        return (1.0 - all) / square;
    }
    return 0.0;
}

/// A matrix of three by three.
struct Block {
    /// First column.
    x: vec3<f32>,
    /// Second column.
    y: vec3<f32>,
    /// Third column.
    z: vec3<f32>,
}

/// Weights of a corner of triangle t in the derivatives by u and v.
fn corner_weights(t: u32, corner: u32) -> vec2<f32> {
    let second = vec2<f32>(shape_value(0u, t), shape_value(2u, t));
    let third = vec2<f32>(shape_value(1u, t), shape_value(3u, t));
    if (corner == 0u) {
        return -(second + third);
    }
    return select(third, second, corner == 1u);
}

/// Stiffness along u and v and of shear [N/m], of a trispring those of its small strains, without what narrows it.
fn chain_stiffness() -> vec3<f32> {
    let implicit = load_implicit();
    if (implicit.stretch_model == STRETCH_THREADS) {
        return vec3<f32>(implicit.stiffness_u, implicit.stiffness_v, implicit.shear_stiffness);
    }
    let along = implicit.stiffness_u + 2.0 * implicit.stiffness_v;
    return vec3<f32>(along, along, implicit.stiffness_v);
}

/// Columns of the Hessian of triangle t between two of its corners, positive semi-definite for one of them: along u A Ku ci cj
/// (all I + rest w w^T), likewise along v, of shear A G gi gj^T with g = cu wv + cv wu.
fn corner_block(t: u32, a: vec2<f32>, b: vec2<f32>) -> Block {
    let row = corner_row(3u * t);
    let wu = load_scratch(row);
    let wv = load_scratch(row + 1u);
    let remainders = load_scratch(row + 2u).xy;
    let stiffness = chain_stiffness() * shape_value(4u, t);
    let along_u = stiffness.x * (a.x * b.x);
    let along_v = stiffness.y * (a.y * b.y);
    let all = along_u * wu.w + along_v * wv.w;
    let in_u = wu.xyz * (along_u * remainders.x);
    let in_v = wv.xyz * (along_v * remainders.y);
    let ga = (wv.xyz * a.x + wu.xyz * a.y) * stiffness.z;
    let gb = wv.xyz * b.x + wu.xyz * b.y;
    return Block(
        vec3<f32>(all, 0.0, 0.0) + in_u * wu.x + in_v * wv.x + ga * gb.x,
        vec3<f32>(0.0, all, 0.0) + in_u * wu.y + in_v * wv.y + ga * gb.y,
        vec3<f32>(0.0, 0.0, all) + in_u * wu.z + in_v * wv.z + ga * gb.z,
    );
}

/// Columns of the Hessian of a spring of particle i there, positive semi-definite: k (all I + rest d d^T), as those of triangles are.
fn spring_block(spring: u32, i: u32) -> Block {
    let edge = trial_edge(i, spring_end(spring, i));
    let all = max(slack(edge, rest_length_of(fabric_pool[spring] / SPRING_KINDS)), 0.0);
    let stiffness = spring_stiffness(spring);
    let along = edge * (stiffness * remainder_over_square(edge, all));
    let beside = stiffness * all;
    return Block(
        vec3<f32>(beside, 0.0, 0.0) + along * edge.x,
        vec3<f32>(0.0, beside, 0.0) + along * edge.y,
        vec3<f32>(0.0, 0.0, beside) + along * edge.z,
    );
}

/// Factors the part of I + h^2 M^-1/2 H M^-1/2 along a chain, L D L^T in blocks, H the Hessian of stretch, shear and contact at the start of
/// the solve and of bending the bound of its rate in all directions. What it resists outside the chain is in the pivots alone.
fn factor_chain(chain: u32) {
    let step_square = load_implicit().step_square;
    let corners = cloth.fabric.corner_begin + cloth.particle_count + 1u;
    let end = chain_begin(chain + 1u);
    var previous = NO_OFFSET;
    var root_before = 0.0;
    // Of the last pivot: diagonal; xy, xz, yz.
    var diagonal = vec3<f32>(0.0);
    var beside = vec3<f32>(0.0);
    for (var k = chain_begin(chain); k < end; k++) {
        let i = link_particle(k);
        let inverse_mass = load_scratch(solve_row(SOLVE_PREDICTIONS, i)).w;
        let root = sqrt(max(inverse_mass, 0.0));
        var pivot = Block(vec3<f32>(0.0), vec3<f32>(0.0), vec3<f32>(0.0));
        var coupling = pivot;
        if ((STAGES & IMPLICIT_SPRINGS) != 0u) {
            if (stretches_springs()) {
                let list = spring_list(false);
                let spring_end_of_i = fabric_pool[list + i + 1u];
                for (var s = fabric_pool[list + i]; s < spring_end_of_i; s++) {
                    let spring = spring_words(list) + 2u * s;
                    let block = spring_block(spring, i);
                    pivot = Block(pivot.x + block.x, pivot.y + block.y, pivot.z + block.z);
                    if (spring_end(spring, i) == previous) {
                        coupling = Block(coupling.x - block.x, coupling.y - block.y, coupling.z - block.z);
                    }
                }
            }
        }
        if ((STAGES & IMPLICIT_TRIANGLES) != 0u) {
            let corner_end = select(fabric_pool[cloth.fabric.corner_begin + i + 1u], 0u, stretches_springs());
            for (var c = fabric_pool[cloth.fabric.corner_begin + i]; c < corner_end; c++) {
                let entry = fabric_pool[corners + c];
                let t = entry / 3u;
                let own = corner_weights(t, entry % 3u);
                let block = corner_block(t, own, own);
                pivot = Block(pivot.x + block.x, pivot.y + block.y, pivot.z + block.z);
                for (var other = 0u; other < 3u; other++) {
                    if (fabric_pool[cloth.fabric.triangle_begin + 3u * t + other] == previous) {
                        let beyond = corner_block(t, own, corner_weights(t, other));
                        coupling = Block(coupling.x + beyond.x, coupling.y + beyond.y, coupling.z + beyond.z);
                    }
                }
            }
        }
        let plane = load_scratch(solve_row(SOLVE_PLANES, i)).xyz;
        let held = plane * load_implicit().contact_stiffness;
        let bend = bend_rate(i);
        let scale = step_square * inverse_mass;
        let own_diagonal = vec3<f32>(pivot.x.x, pivot.y.y, pivot.z.z) + held * plane + bend;
        let own_beside = vec3<f32>(pivot.y.x, pivot.z.x, pivot.z.y) + held.xxy * plane.yzz;
        let between = step_square * (root * root_before);
        let c0 = coupling.x * between;
        let c1 = coupling.y * between;
        let c2 = coupling.z * between;
        let l0 = c0 * diagonal.x + c1 * beside.x + c2 * beside.y;
        let l1 = c0 * beside.x + c1 * diagonal.y + c2 * beside.z;
        let l2 = c0 * beside.y + c1 * beside.z + c2 * diagonal.z;
        let d = 1.0 + own_diagonal * scale - (l0 * c0 + l1 * c1 + l2 * c2);
        let o = own_beside * scale - (l0.xxy * c0.yzz + l1.xxy * c1.yzz + l2.xxy * c2.yzz);
        let cofactors = vec3<f32>(d.y * d.z - o.z * o.z, d.x * d.z - o.y * o.y, d.x * d.y - o.x * o.x);
        let minors = vec3<f32>(o.y * o.z - o.x * d.z, o.x * o.z - o.y * d.y, o.x * o.y - d.x * o.z);
        let determinant = d.x * cofactors.x + o.x * minors.x + o.y * minors.y;
        if (determinant >= MIN_DETERMINANT) {
            diagonal = cofactors / determinant;
            beside = minors / determinant;
        } else {
            diagonal = 1.0 / (1.0 + own_diagonal * scale);
            beside = vec3<f32>(0.0);
        }
        let row = link_row(k);
        store_scratch(row, vec4<f32>(l0, diagonal.x));
        store_scratch(row + 1u, vec4<f32>(l1, diagonal.y));
        store_scratch(row + 2u, vec4<f32>(l2, diagonal.z));
        store_scratch(row + 3u, vec4<f32>(beside, root));
        previous = i;
        root_before = root;
    }
}

/// Solves a chain for the residuals of its particles, over the roots of their inverse masses.
fn solve_chain(chain: u32) {
    let begin = chain_begin(chain);
    let end = chain_begin(chain + 1u);
    // Chains of the second family begin behind those of all particles.
    let values = select(0u, cloth.particle_count, begin >= cloth.particle_count);
    var last = vec3<f32>(0.0);
    for (var k = begin; k < end; k++) {
        let i = link_particle(k);
        let row = link_row(k);
        let root = load_scratch(row + 3u).w;
        var value = vec3<f32>(0.0);
        if (root > 0.0) {
            value = load_scratch(solve_row(SOLVE_TRIALS, i)).xyz / root;
        }
        value -= load_scratch(row).xyz * last.x + load_scratch(row + 1u).xyz * last.y + load_scratch(row + 2u).xyz * last.z;
        store_scratch(chain_value_row(values + i), vec4<f32>(value, 0.0));
        last = value;
    }
    var carried = vec3<f32>(0.0);
    for (var k = end; k > begin; k--) {
        let i = link_particle(k - 1u);
        let row = link_row(k - 1u);
        let l0 = load_scratch(row);
        let l1 = load_scratch(row + 1u);
        let l2 = load_scratch(row + 2u);
        let beside = load_scratch(row + 3u);
        let entry = chain_value_row(values + i);
        let value = load_scratch(entry).xyz;
        let solved = vec3<f32>(
            l0.w * value.x + beside.x * value.y + beside.y * value.z,
            beside.x * value.x + l1.w * value.y + beside.z * value.z,
            beside.y * value.x + beside.z * value.y + l2.w * value.z,
        ) - carried;
        store_scratch(entry, vec4<f32>(solved, 0.0));
        carried = vec3<f32>(dot3(l0.xyz, solved), dot3(l1.xyz, solved), dot3(l2.xyz, solved));
    }
}

/// Residuals r1 of the trial of every SOLVE_PARTS-th particle from `part` on, to scratch as they are preconditioned, z1, and sums:
/// m r1 . d, m r1 . z, m r1 . z1, largest r1 . r1; at the start also the largest squared rate of stretch [1/s^2], of bending, and of stretch
/// times edge length [m/s^2]. By the mass alone z is r.
fn sum_part(part: u32) {
    let is_start = load_scratch(solve_state(1u)).z == SOLVE_START;
    var sums = vec4<f32>(0.0);
    var rates = vec4<f32>(0.0);
    for (var i = part; i < cloth.particle_count; i += SOLVE_PARTS) {
        let prediction = load_scratch(solve_row(SOLVE_PREDICTIONS, i));
        if (prediction.w > 0.0) {
            var trial = vec3<f32>(0.0);
            var conditioned = vec3<f32>(0.0);
            if (is_preconditioned()) {
                trial = load_scratch(solve_row(SOLVE_TRIALS, i)).xyz;
                let both = load_scratch(chain_value_row(i)).xyz + load_scratch(chain_value_row(cloth.particle_count + i)).xyz;
                conditioned = both * (0.5 * sqrt(prediction.w));
            } else {
                trial = trial_residual(i);
                conditioned = trial;
            }
            store_scratch(solve_row(SOLVE_TRIALS, i), vec4<f32>(conditioned, 0.0));
            let mass = load_scratch(solve_row(SOLVE_MOVES, i)).w;
            let square = dot3(trial, trial);
            sums.x += mass * dot3(trial, load_scratch(solve_row(SOLVE_DIRECTIONS, i)).xyz);
            sums.y += mass * dot3(trial, load_scratch(solve_row(SOLVE_RESIDUALS, i)).xyz);
            sums.z += mass * dot3(trial, conditioned);
            sums.w = max(sums.w, square);
            if (is_start) {
                let plane = load_scratch(solve_row(SOLVE_PLANES, i));
                let has_plane = any(plane.xyz != vec3<f32>(0.0));
                rates = max(rates, particle_rates(i, prediction.w, has_plane));
            }
        }
    }
    store_scratch(part_row(part), sums);
    store_scratch(part_row(part) + 1u, rates);
}

/// What bends and springs of bending resist particle i with at most [N/m].
fn bend_rate(i: u32) -> f32 {
    if ((STAGES & IMPLICIT_SPRINGS) != 0u) {
        if (bends_springs()) {
            return 2.0 * spring_sum(i, true);
        }
    }
    return load_implicit().rigidity * bitcast<f32>(fabric_pool[rate_row(i) + 2u]);
}

/// What triangles resist particle i with at rest, or its springs drawn straight [N/m].
fn stretch_rate(i: u32) -> f32 {
    if ((STAGES & IMPLICIT_SPRINGS) != 0u) {
        if (stretches_springs()) {
            return spring_sum(i, false);
        }
    }
    let along_u = load_implicit().rate_u * bitcast<f32>(fabric_pool[rate_row(i)]);
    let along_v = load_implicit().rate_v * bitcast<f32>(fabric_pool[rate_row(i) + 1u]);
    return along_u + along_v;
}

/// Squared rates of particle i: of stretch and contact [1/s^2], of bending, and of stretch times the length of its edges [m/s^2].
fn particle_rates(i: u32, inverse_mass: f32, has_plane: bool) -> vec4<f32> {
    let stretch = stretch_rate(i) * inverse_mass;
    let bend = bend_rate(i) * inverse_mass;
    let contact = select(0.0, load_implicit().contact_stiffness * inverse_mass, has_plane);
    return vec4<f32>(stretch + contact, bend, stretch * bitcast<f32>(fabric_pool[rate_row(i) + 3u]), 0.0);
}

/// Adds sums of parts from row `begin` on, in order, as `sum_part` has them.
fn add_sums(begin: u32, count: u32) -> array<vec4<f32>, 2> {
    var sums = vec4<f32>(0.0);
    var rates = vec4<f32>(0.0);
    for (var k = 0u; k < count; k++) {
        let part = load_scratch(begin + 2u * k);
        sums = vec4<f32>(sums.xyz + part.xyz, max(sums.w, part.w));
        rates = max(rates, load_scratch(begin + 2u * k + 1u));
    }
    return array<vec4<f32>, 2>(sums, rates);
}

/// Adds as many parts as there are in a sum.
fn sum_parts(sum: u32) {
    let count = SOLVE_PARTS / SOLVE_SUMS;
    let sums = add_sums(part_row(sum * count), count);
    store_scratch(sum_row(sum), sums[0]);
    store_scratch(sum_row(sum) + 1u, sums[1]);
}

/// Decides by the sums over all particles how the solve continues.
///
/// Non-linear conjugate gradients (Polak, Ribiere, 1969; Powell, 1986) with one evaluation an iteration: the secant of <r, d> between
/// the displacement and the trial u + s d yields the step a, and as the residual is taken as linear along d, the residual there is
/// (1 - f) r + f r1 with f = a/s, and so are all products. At checks it is evaluated, and the bends, whose forces are
/// held between where they change slowly enough. Deviations from Shewchuk, "An Introduction to the Conjugate Gradient Method Without
/// the Agonizing Pain", 1994, B4: it starts at the prediction, and again where <r, d> is not positive; it tries the last step; it never
/// steps further than 1, as no eigenvalue of the metric is below 1, nor further than SOLVE_GROWTH trials; trials go down to a 64th of
/// the first, so that energies of fourth order are measured where they are steep; where a residual all but vanishes
/// it is evaluated, as what is left of the recurrence is rounding.
///
/// A step that is not solved, or far from it, is taken back and made in halves. Where a part took more than three quarters of the
/// iterations the next one is half as long, and where two in a row took no more than three eighths it is twice as long, if that
/// ends where a part of that length does. The very first step is cut by the rate of stretch.
fn choose_step(_item: u32) {
    let parts = add_sums(sum_row(0u), SOLVE_SUMS);
    let sums = parts[0];
    let rates = parts[1];
    let mode = load_scratch(solve_state(1u)).z;
    let products = load_scratch(solve_state(2u));
    let last = load_scratch(solve_state(3u));
    let has_bends = load_implicit().rigidity > 0.0;
    let step_square = load_implicit().step_square;
    // NaN fails too.
    let is_sane = abs(sums.x + sums.y + sums.z) <= SOLVE_MAX;
    var iterations = last.x;
    var tolerance_square = last.y;
    var holds_bends = last.z > 0.0;
    var first_trial = products.w;
    var next_mode = SOLVE_LINE;
    var step = 0.0;
    var kept = 0.0;
    var taken = 1.0;
    // Products of the next residual with itself, with the last one, and with the direction.
    var rr = sums.z;
    var overlap = sums.y;
    var rd = sums.x;
    var trial = products.z;
    let control = load_scratch(solve_state(5u));
    let halvings = control.x;
    let ticks = load_scratch(solve_state(6u)).x;
    let spent = load_scratch(solve_state(6u)).y;
    var start_square = load_scratch(solve_state(6u)).z;
    let most = f32(load_implicit().max_halvings);
    var next = halvings;
    var ratio = 1.0;
    if (mode == SOLVE_START) {
        start_square = sums.w;
        let tolerance = max(load_implicit().tolerance, SOLVE_ROUNDING * rates.z * step_square);
        tolerance_square = tolerance * tolerance;
        holds_bends = rates.y * step_square <= 1.0;
        let reach = min(2.0 * rates.x * step_square, SOLVE_MAX_REACH);
        first_trial = 1.0;
        if (reach > 4.0 && !is_preconditioned()) {
            first_trial = 4.0 / reach;
        }
        trial = first_trial;
        if ((STAGES & IMPLICIT_HALVINGS) != 0u) {
            var square = reach;
            let limit = f32(load_implicit().max_iterations);
            let first_reach = SOLVE_FIRST_REACH * limit * limit;
            while (control.w > 0.0 && square > first_reach && next < most) {
                square *= 0.25;
                ratio *= 0.5;
                next += 1.0;
            }
        }
    }
    if (mode == SOLVE_LINE) {
        iterations += 1.0;
        step = 2.0 * products.z;
        if (sums.x < products.y) {
            step = products.z * products.y / (products.y - sums.x);
        }
        step = min(min(step, SOLVE_GROWTH * products.z), load_implicit().max_step);
        taken = step / products.z;
        kept = 1.0 - taken;
        rr = kept * kept * products.x + 2.0 * (taken * kept) * sums.y + taken * taken * sums.z;
        overlap = kept * products.x + taken * sums.y;
        rd = kept * products.y + taken * sums.x;
        trial = max(step, 0.015625 * first_trial);
        let is_due = u32(iterations) % load_implicit().check_interval == 0u;
        let is_last = u32(iterations) >= load_implicit().max_iterations;
        let is_exhausted = rr <= SOLVE_EXHAUSTED * products.x;
        if (is_due || is_last || is_exhausted) {
            next_mode = SOLVE_CHECK;
        }
        // Checks that come by themselves count as iterations, so that there are no more evaluations than the kernel has.
        if (is_exhausted && !is_due && !is_last) {
            iterations += 1.0;
        }
    }
    let is_check = mode != SOLVE_LINE;
    let is_solved = is_sane && is_check && sums.w <= tolerance_square;
    let iteration_limit = load_implicit().max_iterations;
    var is_late = false;
    if ((STAGES & IMPLICIT_HALVINGS) != 0u) {
        is_late = most > 0.0 && spent + iterations > f32(load_implicit().iteration_budget);
    }
    let is_last_check = u32(iterations) >= iteration_limit || (is_late && mode != SOLVE_START);
    let is_over = is_check && !is_solved && is_last_check;
    var may_halve = false;
    if ((STAGES & IMPLICIT_HALVINGS) != 0u) {
        may_halve = halvings < most && !is_late;
    }
    let is_worse = is_check && sums.w > SOLVE_WORSE * max(start_square, tolerance_square);
    let has_failed = !is_sane || is_over || (is_worse && may_halve);
    if (next > halvings || has_failed || is_solved) {
        let is_first_cut = next > halvings;
        let is_rejected = !is_first_cut && has_failed && may_halve;
        let is_taken = !is_first_cut && !is_rejected;
        let tick_count = load_implicit().tick_count;
        var ticks_done = ticks;
        var quick_steps = 0.0;
        if (is_taken) {
            ticks_done += f32(tick_count);
            if (4.0 * iterations > 3.0 * f32(iteration_limit) && may_halve) {
                next = halvings + 1.0;
                ratio = 0.5;
            } else if (is_solved && 8.0 * iterations <= 3.0 * f32(iteration_limit)) {
                quick_steps = 1.0;
                if (control.y > 0.0 && u32(ticks_done) % (2u * tick_count) == 0u && halvings > 0.0) {
                    next = halvings - 1.0;
                    ratio = 2.0;
                    quick_steps = 0.0;
                }
            }
        } else if (is_rejected) {
            next = halvings + 1.0;
            ratio = 0.5;
        }
        let is_done = is_taken && u32(ticks_done) >= 1u << load_implicit().max_halvings;
        let taken_flag = select(0.0, 1.0, is_taken);
        let held = select(0.0, 1.0, is_taken && !is_sane);
        let unconverged = select(0.0, 1.0, is_taken && is_sane && !is_solved);
        let counters = load_scratch(solve_state(4u));
        store_scratch(solve_state(0u), vec4<f32>(taken_flag, ratio, 0.0, 0.0));
        store_scratch(solve_state(1u), vec4<f32>(0.0, 0.0, select(SOLVE_START, SOLVE_DONE, is_done), select(0.0, 1.0, has_bends)));
        store_scratch(solve_state(2u), vec4<f32>(0.0));
        store_scratch(solve_state(3u), vec4<f32>(0.0, 0.0, 0.0, held));
        store_scratch(solve_state(4u), counters + vec4<f32>(taken_flag, iterations, unconverged, held));
        store_scratch(solve_state(5u), vec4<f32>(next, quick_steps, control.z + select(0.0, 1.0, is_rejected), 0.0));
        store_scratch(solve_state(6u), vec4<f32>(ticks_done, spent + iterations, 0.0, 0.0));
        shared_is_done = select(2u * u32(next) + 3u, 1u, is_done);
    } else {
        let takes = has_bends && (next_mode == SOLVE_CHECK || !holds_bends);
        let takes_flag = select(0.0, 1.0, takes);
        if (next_mode == SOLVE_CHECK) {
            // Residual and direction stay until the true residual is known.
            store_scratch(solve_state(0u), vec4<f32>(step, 1.0, 0.0, 0.0));
            store_scratch(solve_state(1u), vec4<f32>(1.0, 0.0, SOLVE_CHECK, takes_flag));
            store_scratch(solve_state(2u), vec4<f32>(products.x, products.y, trial, first_trial));
        } else {
            var mixed = 0.0;
            if (mode != SOLVE_START) {
                mixed = max(0.0, (rr - overlap) / products.x);
            }
            var descent = rr + mixed * rd;
            if (!(descent > 0.0)) {
                mixed = 0.0;
                descent = rr;
            }
            store_scratch(solve_state(0u), vec4<f32>(step, kept, taken, 1.0));
            store_scratch(solve_state(1u), vec4<f32>(mixed, trial, SOLVE_LINE, takes_flag));
            store_scratch(solve_state(2u), vec4<f32>(rr, descent, trial, first_trial));
        }
        store_scratch(solve_state(3u), vec4<f32>(iterations, tolerance_square, select(0.0, 1.0, holds_bends), 0.0));
        store_scratch(solve_state(6u), vec4<f32>(ticks, spent, start_square, 0.0));
        let factors = next_mode == SOLVE_CHECK && u32(iterations) % SOLVE_FACTOR_INTERVAL == 0u;
        shared_is_done = 2u * u32(halvings) + 2u + select(0u, 1u, factors);
    }
}

/// Moves particle i along the direction, which is 0 without mass, updates its residual and direction, and makes the next trial.
fn take_step(i: u32) {
    let factors = load_scratch(solve_state(0u));
    let next = load_scratch(solve_state(1u));
    if ((STAGES & IMPLICIT_HALVINGS) != 0u) {
        if (next.z == SOLVE_START) {
            begin_part(i, factors.x > 0.0, factors.y);
            return;
        }
    }
    let displacement = load_scratch(solve_row(SOLVE_MOVES, i));
    let direction = load_scratch(solve_row(SOLVE_DIRECTIONS, i)).xyz;
    let inverse_mass = load_scratch(solve_row(SOLVE_PREDICTIONS, i)).w;
    let moved = displacement.xyz + direction * factors.x;
    let residual = load_scratch(solve_row(SOLVE_RESIDUALS, i)).xyz * factors.y + load_scratch(solve_row(SOLVE_TRIALS, i)).xyz * factors.z;
    let next_direction = residual * factors.w + direction * next.x;
    store_scratch(solve_row(SOLVE_MOVES, i), vec4<f32>(moved, displacement.w));
    store_scratch(solve_row(SOLVE_RESIDUALS, i), vec4<f32>(residual, 0.0));
    store_scratch(solve_row(SOLVE_DIRECTIONS, i), vec4<f32>(next_direction, 0.0));
    store_current(i, vec4<f32>(moved + next_direction * next.y, inverse_mass));
}

/// Begins the next part of a step for particle i, `ratio` as long as the one that was solved last: behind that one, or again where that
/// began.
fn begin_part(i: u32, is_taken: bool, ratio: f32) {
    let prediction = load_scratch(solve_row(SOLVE_PREDICTIONS, i));
    let added = load_scratch(solve_row(SOLVE_INERTIA, i)).xyz;
    var inertia = prediction.xyz - added;
    if (is_taken) {
        inertia = solved_move(i, prediction.w);
        let before = load_previous(i);
        store_previous(i, vec4<f32>(before.xyz + inertia, before.w));
    }
    let next_added = added * (ratio * ratio);
    store_scratch(solve_row(SOLVE_INERTIA, i), vec4<f32>(next_added, 0.0));
    start_at(i, inertia * ratio + next_added, prediction.w);
}

/// What the solve moves particle i by: nothing where nothing finite was found, unless it is pinned.
fn solved_move(i: u32, inverse_mass: f32) -> vec3<f32> {
    if (inverse_mass > 0.0 && load_scratch(solve_state(3u)).w > 0.0) {
        return vec3<f32>(0.0);
    }
    return load_scratch(solve_row(SOLVE_MOVES, i)).xyz;
}

/// Moves particle i to where the solve has found it to be. Behind a step in parts it has the speed of the last one: it was that far back
/// for each part one step ago.
fn end_solve(i: u32) {
    let prediction = load_scratch(solve_row(SOLVE_PREDICTIONS, i));
    let displacement = solved_move(i, prediction.w);
    let split = load_implicit().split;
    let plane = load_scratch(solve_row(SOLVE_PLANES, i));
    let strength = load_implicit().contact_stiffness * load_implicit().step_square * prediction.w;
    store_scratch(solve_row(SOLVE_PLANES, i), vec4<f32>(plane.xyz, strength * plane_depth(plane, displacement) * (split * split)));
    let before = load_previous(i);
    if (split > 1.0) {
        store_previous(i, vec4<f32>(before.xyz - displacement * (split - 1.0), before.w));
    }
    store_current(i, vec4<f32>(before.xyz + displacement, prediction.w));
}
