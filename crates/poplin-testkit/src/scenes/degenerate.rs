//! Degenerate cloths for PBD, XPBD and the implicit solver.

use std::sync::Arc;

use poplin_model::{Bend, ClothDesc, Phases, VirtualParticle, Wing, XpbdPhase};

use super::random::{random_fabric, use_implicit, use_xpbd};
use poplin_geometry::Rng;

/// Creates a cloth with degenerate states that every stage must survive: coincident particles, zero
/// rest lengths, huge and tiny masses, far-away particles, a fiber with only pins, empty sets.
///
/// # Panics
/// Panics if the cloth is not valid, which would be a bug of this function.
pub fn degenerate_cloth() -> ClothDesc {
    let mut fabric = random_fabric(&mut Rng::new(7), 24, 6);
    let count = fabric.edge_count();
    for (edge, length) in fabric.rest_lengths.iter_mut().enumerate() {
        *length = [0.0, 1e-9, 1.0, 1e6][edge % 4];
    }
    assert!(count > 8, "the degenerate cloth needs edges of each kind");
    fabric.tethers_per_particle = 2;
    fabric.tether_anchors = (0..48).map(|k| if k < 24 { k } else { 0 }).collect();
    fabric.tether_lengths = (0..48).map(|k| [0.0, 1e-9, 1.0][k % 3]).collect();
    fabric.triangles = vec![[0, 1, 2], [0, 0, 9], [8, 9, 8], [16, 17, 18], [0, 16, 17]];
    let corners = [[0, 1, 2], [8, 9, 10], [8, 9, 10], [16, 17, 18], [0, 16, 17]];
    let weights =
        [[0.25, 0.5, 0.25], [1.0, 0.0, 0.0], [8.0, -8.0, 1.0], [1e-3, 0.0, 0.0], [0.4, 0.3, 0.3]];
    let point = |(corners, weights)| VirtualParticle { corners, weights };
    fabric.virtual_particles = corners.into_iter().zip(weights).map(point).collect();
    let mut particles = vec![[0.25, -0.5, 0.125, 1.0]; 24];
    for (i, particle) in particles.iter_mut().enumerate().skip(8) {
        particle[3] = [0.0, 1e-9, 1e9, 1.0][i % 4];
        if i >= 16 {
            particle[0] = [1e9, -1e-20, 1e4, 0.0][i % 4];
        }
    }
    let mut cloth = ClothDesc::new(Arc::new(fabric), particles);
    cloth.config.tethers.scale = 0.0;
    cloth.config.air.drag = 1.0;
    cloth.config.air.lift = 1.0;
    cloth.config.air.wind_velocity = [1e3, 0.0, 0.0];
    // Particles that coincide, with and without coincident rest positions, and some far away.
    cloth.config.self_collision.distance = Some(0.5);
    cloth.config.self_collision.friction = 1.0;
    cloth.config.sleep.threshold = 1e-3;
    cloth.rest_positions = (0..24).map(|k| [(k / 3) as f32, 0.0, 0.0]).collect();
    cloth.validate().expect("the degenerate cloth is valid");
    cloth
}

/// Creates a cloth with degenerate fibers and bends: those of [`degenerate_cloth`], and hinges that
/// are flat, folded to 0 and to pi, without length, without area, with only pins, huge and tiny.
///
/// # Panics
/// Panics if the cloth is not valid, which would be a bug of this function.
pub fn degenerate_xpbd_cloth() -> ClothDesc {
    let edge = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]];
    let wings: [[[f32; 3]; 2]; 10] = [
        [[0.5, 1.0, 0.0], [0.5, -1.0, 0.0]],
        [[0.5, 1.0, 0.0], [0.5, 1.0, 0.0]],
        [[0.5, 1.0, 1e-6], [0.5, 1.0, -1e-6]],
        [[0.5, 0.0, 1.0], [0.5, -1.0, 0.0]],
        [[2.0, 0.0, 0.0], [0.5, -1.0, 0.0]],
        [[0.5, 1.0, 0.0], [0.0, 0.0, 0.0]],
        [[0.5, 1e-7, 0.0], [0.5, -1e-7, 1e-7]],
        [[9.0, 1.0, 0.3], [-8.0, -1.0, 0.3]],
        [[0.5, 1e9, 0.0], [0.5, 0.0, 1e9]],
        [[0.5, -1.0, 1e-3], [0.5, 1.0, 1e-3]],
    ];
    let (sizes, masses) = (
        [1.0f32, 1e-3, 1e-12, 1e6],
        [[1.0; 4], [0.0, 0.0, 1.0, 1.0], [1.0, 2.0, 0.0, 0.0], [0.0; 4]],
    );
    let mut particles = vec![[0.25, -0.5, 0.125, 1.0]; 2];
    let mut bends = Vec::new();
    for (wing, rest_angle) in wings.iter().zip([0.0, 3.0, -3.0, 1.0, -1.0].into_iter().cycle()) {
        for (size, masses) in sizes.into_iter().zip(masses) {
            let begin = particles.len() as u32;
            bends.push(Bend {
                particles: [0, 1, 2, 3].map(|k| begin + k),
                rest_angle,
                weight: 2.0,
                wings: [Wing { height: size, foot: 0.5 }; 2],
            });
            let corners = [edge[0], edge[1], wing[0], wing[1]];
            let chain_particles =
                corners.iter().zip(masses).map(|(p, w)| [p[0] * size, p[1] * size, p[2] * size, w]);
            particles.extend(chain_particles);
        }
    }
    // One hinge has no length, and the bend of another has no weight.
    bends[1].weight = 0.0;
    let hinge = bends[0].particles;
    particles[hinge[1] as usize] = particles[hinge[0] as usize];
    let count = particles.len() as u32;
    let mut fabric = random_fabric(&mut Rng::new(8), count, 6);
    for (index, length) in fabric.rest_lengths.iter_mut().enumerate() {
        *length = [0.0, 1e-9, 1.0, 1e6, 0.5][index % 5];
    }
    (fabric.bend_set_ends, fabric.bends) = (vec![bends.len() as u32], bends);
    (fabric.tethers_per_particle, fabric.tether_anchors) = (1, (0..count).collect());
    fabric.tether_lengths = vec![1.0; count as usize];
    let mut cloth = ClothDesc::new(Arc::new(fabric), particles);
    let soft = |compliance| XpbdPhase { compliance, ..XpbdPhase::default() };
    let phases = Phases {
        bending: soft(0.0),
        shearing: soft(1e-9),
        horizontal: soft(1.0),
        vertical: soft(1e9),
        single: Vec::new(),
    };
    use_xpbd(&mut cloth, phases).bending_rigidity = 10.0;
    // Same stages as the random cloths, to compile no further kernel.
    cloth.config.air.drag = 0.1;
    cloth.validate().expect("the degenerate cloth is valid");
    cloth
}

/// Creates the cloth of [`degenerate_xpbd_cloth`] with the implicit solver and triangle rest shapes
/// that are huge, tiny or without area.
///
/// # Panics
/// Panics if the cloth is not valid, which would be a bug of this function.
pub fn degenerate_implicit_cloth(seed: u64) -> ClothDesc {
    let mut cloth = degenerate_xpbd_cloth();
    let fabric = Arc::make_mut(&mut cloth.fabric);
    let shapes = [[1.0, 0.0, 0.0, 1.0], [0.0; 4], [1e-9, 0.0, 0.0, 1e-9], [1e6, 0.0, 1e6, 1e6]];
    fabric.triangles = fabric
        .bends
        .iter()
        .flat_map(|bend| {
            let [a, b, c, d] = bend.particles;
            [[a, b, c], [b, a, d]]
        })
        .collect();
    fabric.triangle_shapes = (0..fabric.triangles.len()).map(|k| shapes[k % 4]).collect();
    use_implicit(&mut cloth, seed);
    cloth.validate().expect("the degenerate cloth is valid");
    cloth
}
