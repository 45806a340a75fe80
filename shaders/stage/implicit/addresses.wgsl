#import state/shared
#import state/solve

/// Row of a corner of a triangle (`FabricOffsets.corner_begin`), which holds the gradient of the
/// triangle's energy there [N].
fn corner_row(corner: u32) -> u32 {
    return solve_row(SOLVE_PARTICLE_ARRAYS, corner);
}

/// Row of a bend end (`FabricOffsets.element_begin`), which holds the gradient of the bend's energy
/// there [N].
fn bend_end_row(end: u32) -> u32 {
    return corner_row(3u * cloth.fabric.triangle_count + end);
}

/// First row of link k of the chains.
fn link_row(k: u32) -> u32 {
    return bend_end_row(4u * bend_count()) + SOLVE_CHAIN_ROWS * k;
}

/// Row of a chain's solution at particle i, by the entry `family * particle_count + i`.
fn chain_value_row(entry: u32) -> u32 {
    return link_row(2u * cloth.particle_count) + entry;
}

/// Start of the chains in `fabric_pool`: their number, the first link of each and one past the
/// last, then the particle of each link.
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

/// Start of the rates of particle i in `fabric_pool`. The lists of bend ends follow those of the
/// last particle.
fn rate_row(i: u32) -> u32 {
    return cloth.fabric.element_begin + SHAPE_WORDS * cloth.fabric.triangle_count + 4u * i;
}

/// Number of bends.
fn bend_count() -> u32 {
    return fabric_pool[cloth.fabric.bend_set_begin + cloth.fabric.bend_set_count];
}

/// Number k of the rest shape of triangle t.
fn shape_value(k: u32, t: u32) -> f32 {
    return bitcast<f32>(fabric_pool[cloth.fabric.element_begin + k * cloth.fabric.triangle_count + t]);
}
