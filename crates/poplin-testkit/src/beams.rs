//! Strips of cloth as beams, clamped level or upright, for all solvers with a bending rigidity in N
//! m. They are cooked like those of a scene.

use poplin_cook::{CookOptions, Tethers, cook};
use poplin_model::{ClothDesc, Mesh};

/// Gravity [m/s^2].
pub const G: f64 = 9.81;

/// Mass per area of all strips [kg/m^2].
pub const SIGMA: f64 = 0.2;

/// Cells of a sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cells {
    /// Quads.
    Quads,
    /// Triangles with all diagonals in one direction.
    OneWay,
    /// Triangles with all diagonals in the other direction.
    OtherWay,
    /// Triangles with diagonals in alternating directions.
    Alternating,
}

impl Cells {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Quads, Self::OneWay, Self::OtherWay, Self::Alternating];
}

/// Creates a strip of one column of quads, each `edge` m by `edge` m, with `segments` rows,
/// starting at x = 0 or y = 0. Particles `2 i` and `2 i + 1` form row `i`.
pub fn strip(
    segments: u32,
    edge: f64,
    position: impl Fn(f64, f64) -> [f64; 3],
    pinned_rows: u32,
) -> ClothDesc {
    sheet(Cells::Quads, [1, segments], edge, position, pinned_rows)
}

/// Creates a sheet of square cells of `edge` m, given their columns and rows, and the position of
/// each particle by its distances along and across.
pub fn sheet(
    cells: Cells,
    [columns, rows]: [u32; 2],
    edge: f64,
    position: impl Fn(f64, f64) -> [f64; 3],
    pinned_rows: u32,
) -> ClothDesc {
    let mut mesh = Mesh::grid(columns + 1, rows + 1, 1.0, 1.0);
    for (row, positions) in mesh.positions.chunks_mut(columns as usize + 1).enumerate() {
        for (column, place) in positions.iter_mut().enumerate() {
            *place = position(row as f64 * edge, column as f64 * edge).map(|x| x as f32);
        }
    }
    if cells != Cells::Quads {
        for (cell, quad) in (0..).zip(&mut mesh.quads) {
            let turns = match cells {
                Cells::Quads | Cells::OneWay => 0,
                Cells::OtherWay => 1,
                Cells::Alternating => (cell % columns + cell / columns) % 2,
            };
            quad.rotate_left(turns as usize);
        }
        (mesh.triangles, mesh.quads) = (mesh.triangulated(), Vec::new());
    }
    let options = CookOptions {
        density: SIGMA as f32,
        pins: (0..pinned_rows * (columns + 1)).collect(),
        max_fiber_length: Some(1 << 20),
        bending: false,
        tethers: Tethers::None,
        bends: true,
        ..CookOptions::default()
    };
    cook(&mesh, &options).expect("a sheet cooks").into_cloth()
}

/// Damping setting that removes approximately the fraction `rate` of a velocity per second.
pub fn damping(rate: f64) -> [f32; 3] {
    [(1.0 - (-rate / 10.0).exp()) as f32; 3]
}

/// Critical load `w L^3 / B` above which a strip clamped upright buckles under its own weight
/// (Greenhill, 1881).
pub const GREENHILL: f64 = 7.837;

/// Edge length of upright strips and sheets: `segments` edges above the clamp are 1 m.
pub fn edge_on_end(segments: u32) -> f64 {
    1.0 / f64::from(segments)
}

/// Initial deviation of an upright strip from the vertical at `along` from its lower edge \[m\].
pub fn bowed(along: f64, edge: f64) -> f64 {
    1e-3 * (along - edge).max(0.0).powi(2)
}

/// Creates an upright strip with its two lowest rows clamped.
pub fn strip_on_end(segments: u32) -> ClothDesc {
    sheet_on_end(Cells::Quads, 1, segments)
}

/// Creates an upright sheet of some columns with its two lowest rows clamped.
pub fn sheet_on_end(cells: Cells, columns: u32, segments: u32) -> ClothDesc {
    let edge = edge_on_end(segments);
    let position = |along, side| [bowed(along, edge), along - edge - 0.5, side];
    sheet(cells, [columns, segments + 1], edge, position, 2)
}
