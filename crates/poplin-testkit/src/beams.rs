//! Strips of cloth as beams, clamped level or upright, for all solvers with a bending rigidity in N
//! m.

use poplin_cook::{CookOptions, Tethers, cook};
use poplin_model::{ClothDesc, Mesh, PhaseKind};

/// Gravity [m/s^2].
pub const G: f64 = 9.81;

/// Mass per area of all strips [kg/m^2].
pub const SIGMA: f64 = 0.2;

/// Cooking options of strips and sheets: the first particles pinned, whole fibers, bending only by
/// dihedral angles.
pub fn beam_options(pin_count: u32) -> CookOptions {
    CookOptions {
        density: SIGMA as f32,
        pins: (0..pin_count).collect(),
        max_fiber_length: Some(1 << 20),
        bending: false,
        tethers: Tethers::None,
        bends: true,
        ..CookOptions::default()
    }
}

/// Creates a strip of one column of quads, each `edge` m by `edge` m, with `segments` rows,
/// starting at x = 0 or y = 0. Edges run only along and across.
///
/// Particles `2 i` and `2 i + 1` form row `i`. Mass is lumped by quads: interior rows weigh
/// `SIGMA * edge^2`, end rows half as much.
pub fn strip(
    segments: u32,
    edge: f64,
    position: impl Fn(f64, f64) -> [f64; 3],
    pinned_rows: u32,
) -> ClothDesc {
    let mut mesh = Mesh { positions: Vec::new(), ..Mesh::default() };
    for row in 0..=segments {
        for side in [0.0, edge] {
            mesh.positions.push(position(f64::from(row) * edge, side).map(|x| x as f32));
        }
        if row > 0 {
            let k = 2 * row;
            mesh.quads.push([k - 2, k - 1, k + 1, k]);
        }
    }
    let options = beam_options(2 * pinned_rows);
    let mut cooked = cook(&mesh, &options).expect("a strip cooks");
    // With all diagonals in one direction, a single column twists as it bends, which a beam does
    // not: average both directions.
    mesh.quads.iter_mut().for_each(|quad| quad.rotate_left(1));
    let others = cook(&mesh, &options).expect("a strip cooks").fabric;
    let fabric = &mut cooked.fabric;
    fabric
        .bend_set_ends
        .extend(others.bend_set_ends.iter().map(|end| end + fabric.bends.len() as u32));
    fabric.bends.extend(others.bends);
    fabric.bends.iter_mut().for_each(|bend| bend.weight *= 0.5);
    // Lumped by quads, so that sums over the discrete strip are those of the beam.
    let row_mass = SIGMA * edge * edge;
    for (index, particle) in
        cooked.particles.iter_mut().enumerate().filter(|(_, particle)| particle.inverse_mass > 0.0)
    {
        let is_end = index as u32 / 2 == segments;
        particle.inverse_mass = (1.0 / (row_mass * if is_end { 0.25 } else { 0.5 })) as f32;
    }
    let mut cloth = cooked.into_cloth();
    let phases =
        (0..).zip(&cloth.fabric.phases).filter(|(_, phase)| phase.kind != PhaseKind::Shearing);
    cloth.phase_order = phases.map(|(index, _)| index).collect();
    cloth
}

/// Damping setting that removes approximately the fraction `rate` of a velocity per second.
pub fn damping(rate: f64) -> [f32; 3] {
    [(1.0 - (-rate / 10.0).exp()) as f32; 3]
}

/// Critical load `w L^3 / B` above which a strip clamped upright buckles under its own weight
/// (Greenhill, 1881).
pub const GREENHILL: f64 = 7.837;

/// Edge length of upright strips and sheets: `segments + 1/2` edges are 1 m, measured from the
/// middle of the second hinge.
pub fn edge_on_end(segments: u32) -> f64 {
    1.0 / (f64::from(segments) + 0.5)
}

/// Initial deviation of an upright strip from the vertical at `along` from its lower edge \[m\].
pub fn bowed(along: f64, edge: f64) -> f64 {
    1e-3 * (along - 1.5 * edge).max(0.0).powi(2)
}

/// Creates an upright strip with its two lowest rows clamped.
pub fn strip_on_end(segments: u32) -> ClothDesc {
    let edge = edge_on_end(segments);
    strip(segments + 1, edge, |along, side| [bowed(along, edge), along - edge - 0.5, side], 2)
}

/// Creates an upright sheet of 8 columns, cooked like a user's mesh with all diagonals in one
/// direction.
pub fn sheet_on_end(segments: u32) -> ClothDesc {
    let (columns, edge) = (8, edge_on_end(segments));
    let mut mesh = Mesh::grid(columns + 1, segments + 2, (f64::from(columns) * edge) as f32, 1.0);
    for (row, positions) in mesh.positions.chunks_mut(columns as usize + 1).enumerate() {
        let along = row as f64 * edge;
        for position in positions {
            let side = position[0];
            *position = [bowed(along, edge) as f32, (along - edge - 0.5) as f32, side];
        }
    }
    cook(&mesh, &beam_options(2 * (columns + 1))).expect("a grid cooks").into_cloth()
}
