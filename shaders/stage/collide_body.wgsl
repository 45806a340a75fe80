#import stage/collide_convex
#import stage/collide_box
#import stage/collide_triangle
#import stage/collide_shape

/// Rigid body in the current iteration.
struct Body {
    /// Center of mass [m].
    center: vec3<f32>,
    /// Inverse mass [1/kg].
    inverse_mass: f32,
    /// Velocity of the center, including the cloth's impulses of this frame [m/s].
    velocity: vec3<f32>,
    /// Restitution.
    restitution: f32,
    /// Angular velocity, including the cloth's impulses of this frame [rad/s].
    angular_velocity: vec3<f32>,
    /// Mass of the free particles that hit it in this iteration [kg].
    contact_mass: f32,
    /// Number of pinned particles that hit it.
    pin_count: f32,
    /// Inverse inertia [1/(kg m^2)], column by column.
    inverse_inertia: mat3x3<f32>,
}

/// Impulses on a body.
struct Impulse {
    /// Sum of the impulses [N s].
    linear: vec3<f32>,
    /// Sum of the angular impulses about the center of mass [N m s].
    angular: vec3<f32>,
    /// Number of contacts.
    count: f32,
}

/// First row of body b in scratch.
fn body_row(b: u32) -> u32 {
    return cloth_parameters[cloth_slot].colliders.impulse_begin + BODY_ROWS * b;
}

/// First row of the sums of chunk c for body b.
fn chunk_row(c: u32, b: u32) -> u32 {
    let bodies = cloth_parameters[cloth_slot].colliders.body_count;
    return cloth_parameters[cloth_slot].colliders.impulse_begin + BODY_ROWS * bodies + CHUNK_ROWS * (c * bodies + b);
}

/// Number of chunks of the cloth.
fn chunk_count() -> u32 {
    return (cloth.particle_count + CHUNK - 1u) / CHUNK;
}

/// Product of a symmetric matrix's columns with v, with a fixed order of additions.
fn multiply(m: mat3x3<f32>, v: vec3<f32>) -> vec3<f32> {
    return m[0] * v.x + m[1] * v.y + m[2] * v.z;
}

/// Body b now.
fn load_body(b: u32) -> Body {
    let input = cloth_parameters[cloth_slot].colliders.body_begin + BODY_INPUT_ROWS * b;
    let row = body_row(b);
    let center = input_row(input);
    let velocity = input_row(input + 1u);
    let angular_velocity = input_row(input + 2u).xyz;
    let inverse_inertia = mat3x3<f32>(input_row(input + 3u).xyz, input_row(input + 4u).xyz, input_row(input + 5u).xyz);
    // In the frame's first iteration scratch still holds the impulses of the last frame.
    let is_later = f32(iteration.bias.w > 0.0);
    let linear = load_scratch(row).xyz * is_later;
    let angular = load_scratch(row + 1u).xyz * is_later;
    let time = iteration.velocity_scale.w / cloth_parameters[cloth_slot].colliders.iteration_fraction * cloth_parameters[cloth_slot].colliders.step;
    return Body(
        center.xyz + velocity.xyz * time,
        center.w,
        velocity.xyz + linear * center.w,
        velocity.w,
        angular_velocity + multiply(inverse_inertia, angular),
        load_scratch(row + 2u).x,
        load_scratch(row + 2u).y,
        inverse_inertia,
    );
}

/// Exits of particle i, at x, from the shapes of body b.
fn touch_body(b: u32, i: u32, x: vec3<f32>) -> Contacts {
    let input = cloth_parameters[cloth_slot].colliders.body_begin + BODY_INPUT_ROWS * b;
    let round = input_pool[input + 6u];
    let flat = input_pool[input + 7u];
    var contacts = no_contacts();
    for (var k = flat.x; k < flat.x + flat.y; k++) {
        touch_convex(load_index(k), x, &contacts);
    }
    for (var k = flat.z; k < flat.z + flat.w; k++) {
        touch_box(load_index(k), x, &contacts);
    }
    if (input_row(input + 2u).w > 0.0) {
        touch_mesh(i, x, &contacts);
    }
    for (var k = round.z; k < round.z + round.w; k++) {
        touch_capsule(load_index(k), x, &contacts);
    }
    for (var k = round.x; k < round.x + round.y; k++) {
        touch_sphere(load_index(k), x, &contacts);
    }
    return contacts;
}

/// Velocity of a particle at x, coming from `before`, relative to the point of the body there
/// [m/s].
fn approach(body: Body, x: vec3<f32>, before: vec3<f32>) -> vec3<f32> {
    return (x - before) / cloth_parameters[cloth_slot].colliders.step - body.velocity - cross3(body.angular_velocity, x - body.center);
}

/// Number of parts that the body is split into for a particle of inverse mass w, so that all
/// particles that hit it at once together hit the whole body: each takes a share by mass, a pinned
/// one as much as all free ones together.
fn body_split(body: Body, w: f32) -> f32 {
    return max(body.contact_mass * w, f32(body.contact_mass > 0.0)) + body.pin_count;
}

/// Change of the body's velocity at `arm` from the center by a unit impulse along `direction`
/// [1/kg], for one of `split` parts of the body (Tonge, Benevolenski, Voroshilov, "Mass Splitting
/// for Jitter-Free Parallel Rigid Body Simulation", 2012).
fn body_response(body: Body, arm: vec3<f32>, direction: vec3<f32>, split: f32) -> f32 {
    // (1/m + (r x d) . I^-1 (r x d)) split
    let torque = cross3(arm, direction);
    return (body.inverse_mass + dot3(torque, multiply(body.inverse_inertia, torque))) * split;
}

/// Visits the particles of chunk c that touch bodies: first to sum the mass that hits each body,
/// then to push particles out and exchange impulses.
///
/// A push moves a particle without changing its velocity. Along the normal, particle and body
/// separate with `restitution` times their approach speed: j = (1 + e) v / (w + w_body). Across it
/// friction takes at most `friction * j`.
fn visit_chunk(c: u32, is_counting: bool) {
    let end = min((c + 1u) * CHUNK, cloth.particle_count);
    for (var b = 0u; b < cloth_parameters[cloth_slot].colliders.body_count; b++) {
        let body = load_body(b);
        var sum = Impulse(vec3<f32>(0.0), vec3<f32>(0.0), 0.0);
        for (var i = c * CHUNK; i < end; i++) {
            let particle = load_current(i);
            let before = load_previous(i);
            let contacts = touch_body(b, i, particle.xyz);
            let push_square = dot3(contacts.push, contacts.push);
            if (push_square > 0.0) {
                let normal = contacts.push / sqrt(push_square);
                let velocity = approach(body, particle.xyz, before.xyz);
                let speed = dot3(velocity, normal);
                if (is_counting) {
                    // Mass of free particles and number of pins, stored in place of impulses.
                    if (speed < 0.0 && before.w > 0.0) {
                        sum.linear.x += 1.0 / before.w;
                    } else if (speed < 0.0) {
                        sum.linear.y += 1.0;
                    }
                } else {
                    let impulse = exchange(body, i, particle, before, contacts, normal, velocity, speed);
                    sum.linear -= impulse;
                    sum.angular -= cross3(particle.xyz - body.center, impulse);
                    sum.count += 1.0;
                }
            }
        }
        let row = chunk_row(c, b);
        store_scratch(row, vec4<f32>(sum.linear, sum.count));
        store_scratch(row + 1u, vec4<f32>(sum.angular, 0.0));
    }
}

/// Moves particle i out of a body and applies the impulse of the contact to it; returns that
/// impulse [N s].
fn exchange(
    body: Body,
    i: u32,
    particle: vec4<f32>,
    before: vec4<f32>,
    contacts: Contacts,
    normal: vec3<f32>,
    velocity: vec3<f32>,
    speed: f32,
) -> vec3<f32> {
    let arm = particle.xyz - body.center;
    let split = body_split(body, before.w);
    let response = before.w + body_response(body, arm, normal, split);
    var impulse = vec3<f32>(0.0);
    var drag = vec3<f32>(0.0);
    if (speed < 0.0 && response > 0.0) {
        // j = -(1 + e) (v . n) / (w + w_body)
        let strength = -(1.0 + body.restitution) * speed / response;
        impulse = normal * strength;
        let slide = velocity - normal * speed;
        let slide_square = dot3(slide, slide);
        if (slide_square > 0.0) {
            let slide_speed = sqrt(slide_square);
            let tangent = slide / slide_speed;
            // Impulse that stops the slide; friction is limited to the cone.
            let stop = slide_speed / (before.w + body_response(body, arm, tangent, split));
            drag = tangent * min(cloth_parameters[cloth_slot].colliders.friction * friction_factor(contacts) * strength, stop);
        }
    }
    if (particle.w > 0.0) {
        var push = contacts.push / contacts.count;
        if (is_deep(push)) {
            push *= push_fractions(velocity * cloth_parameters[cloth_slot].colliders.step, contacts).x;
        }
        // The push moves both positions, the impulse only the previous one: x_previous -= j w h.
        // Friction that holds moves the particle back instead, with the same velocity.
        let reach = before.w * cloth_parameters[cloth_slot].colliders.step;
        var position = particle.xyz + push;
        var start = before.xyz + push - impulse * reach;
        if (cloth_parameters[cloth_slot].colliders.friction_holds != 0u) {
            position -= drag * reach;
        } else {
            start += drag * reach;
        }
        store_current(i, vec4<f32>(position, particle.w));
        store_previous(i, vec4<f32>(start, before.w));
    }
    return impulse - drag;
}

/// Sums the results of all chunks for body b: first mass and pins, where the first iteration also
/// clears the impulses of the last frame; then the impulses, added to those of the frame.
fn sum_chunks(b: u32, is_counting: bool) {
    let row = body_row(b);
    var linear = vec4<f32>(0.0);
    var angular = vec4<f32>(0.0);
    if (!is_counting || iteration.bias.w > 0.0) {
        linear = load_scratch(row);
        angular = load_scratch(row + 1u);
    }
    var weight = vec4<f32>(0.0);
    let end = chunk_count();
    for (var c = 0u; c < end; c++) {
        let found = load_scratch(chunk_row(c, b));
        if (is_counting) {
            weight += found;
        } else {
            linear += found;
            angular += load_scratch(chunk_row(c, b) + 1u);
        }
    }
    store_scratch(row, linear);
    store_scratch(row + 1u, angular);
    store_scratch(row + 2u, weight);
}
