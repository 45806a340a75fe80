//! Seeded cloths for tests: random and degenerate, all valid.

mod colliders;
mod degenerate;
mod random;

use std::sync::Arc;

use poplin_cook::{CookOptions, Tethers, cook};
use poplin_geometry::Rng;
use poplin_model::{ClothDesc, Fabric, Implicit, Mesh, Particle};

pub use self::colliders::{equip, random_colliders};
pub use self::degenerate::{degenerate_cloth, degenerate_implicit_cloth, degenerate_xpbd_cloth};
pub use self::random::{
    random_cloth, random_implicit_cloth, random_ropes, random_xpbd_cloth, random_yarn_cloth,
};

/// Creates a cooked sheet of `columns` x `rows` particles, 1 m wide, with two pinned corners and
/// geodesic tethers.
///
/// # Panics
/// Panics if the grid does not cook; grids of at least 2 x 2 do.
pub fn hanging_sheet(columns: u32, rows: u32) -> ClothDesc {
    let depth = (rows - 1) as f32 / (columns - 1) as f32;
    let options = CookOptions {
        pins: vec![0, columns - 1],
        tethers: Tethers::Geodesic,
        ..CookOptions::default()
    };
    cook(&Mesh::grid(columns, rows, 1.0, depth), &options).expect("a grid cooks").into_cloth()
}

/// Creates a sheet like [`hanging_sheet`] with the implicit solver: two steps per frame with few
/// iterations, each divided into up to four parts.
pub fn implicit_sheet(columns: u32, rows: u32) -> ClothDesc {
    let depth = (rows - 1) as f32 / (columns - 1) as f32;
    let options = CookOptions { pins: vec![0, columns - 1], bends: true, ..CookOptions::default() };
    let cooked = cook(&Mesh::grid(columns, rows, 1.0, depth), &options).expect("a grid cooks");
    let mut cloth = cooked.into_cloth();
    cloth.config.solver = Implicit {
        substeps: 2,
        bending_rigidity: 1e-5,
        max_iterations: 12,
        max_halvings: 2,
        ..Implicit::default()
    }
    .into();
    cloth
}

/// Lets each particle of a cloth come from up to `far` m away along each axis.
pub fn move_particles(cloth: &mut ClothDesc, rng: &mut Rng, far: f32) {
    let before = |particle: &Particle| {
        std::array::from_fn(|axis| particle.position[axis] + rng.range(-far, far))
    };
    cloth.previous_positions = cloth.particles.iter().map(before).collect();
}

/// Creates a cloth of unconnected particles without forces.
pub fn loose_particles(particles: Vec<[f32; 4]>) -> ClothDesc {
    let fabric = Fabric {
        particle_count: particles.len() as u32,
        set_fiber_begin: vec![0],
        fiber_edge_begin: vec![0],
        ..Fabric::default()
    };
    let mut cloth = ClothDesc::new(Arc::new(fabric), particles);
    cloth.config.gravity = [0.0; 3];
    cloth
}
