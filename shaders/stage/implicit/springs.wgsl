#import stage/implicit/addresses
#import stage/implicit/edges

/// Start of the springs of particles in `fabric_pool`, of stretch and shear or of bending: the
/// first spring of each particle and one past the last, `[particle_count + 1]`, then two words per
/// spring: SPRING_KINDS times its edge plus its kind, and the factor on its stiffness.
fn spring_list(of_bends: bool) -> u32 {
    let first = chain_list() + 2u + chain_end() + 2u * cloth.particle_count;
    var list = first;
    if (of_bends) {
        list = first + cloth.particle_count + 1u + 2u * fabric_pool[first + cloth.particle_count];
    }
    return list;
}

/// Start of the words of the springs in a list.
fn spring_words(list: u32) -> u32 {
    return list + cloth.particle_count + 1u;
}

/// Particle at the other end of a spring of particle i.
fn spring_end(spring: u32, i: u32) -> u32 {
    let ends = cloth.fabric.ends_begin + 2u * (fabric_pool[spring] / SPRING_KINDS);
    // a ^ b ^ i is the end that is not i.
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

/// Gradient of the energy of the springs of particle i [N], k/2 (l - L)^2 each, summed in ascending
/// order. A spring of stretch or shear that is shorter than at rest has a fraction of its
/// stiffness. Damping is that of `stretch_triangle`.
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
        // Damping shifts the rest length towards the last length: L' = L share + l_last memory.
        var rest = rest_length_of(fabric_pool[spring] / SPRING_KINDS) * share;
        if (memory > 0.0) {
            let last = previous_edge(i, other);
            rest += sqrt(dot3(last, last)) * memory;
        }
        var pull = slack(edge, rest) * spring_stiffness(spring);
        if (pull < 0.0 && !of_bends) {
            pull *= load_implicit().compression;
        }
        // dE/dx_i = -k (1 - L/l) d,  d the edge from particle i.
        gradient -= edge * pull;
    }
    return gradient;
}
