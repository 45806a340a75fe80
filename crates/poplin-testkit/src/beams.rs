//! Strips of cloth as beams, clamped level or upright, for all solvers with a bending rigidity in N
//! m. They are cooked like those of a scene.

use poplin_cook::{CookOptions, Tethers, cook};
use poplin_geometry::Rng;
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
    /// Four triangles around the middle of each square.
    Cross,
    /// Triangles around particles in staggered rows, each a little off its place.
    Irregular,
}

impl Cells {
    /// All kinds, without mirror images.
    pub const ALL: [Self; 5] =
        [Self::Quads, Self::OneWay, Self::Alternating, Self::Cross, Self::Irregular];

    /// Description in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quads => "quads",
            Self::OneWay => "triangles, diagonals one way",
            Self::OtherWay => "triangles, diagonals the other way",
            Self::Alternating => "triangles, diagonals alternate",
            Self::Cross => "four triangles a square",
            Self::Irregular => "irregular triangles",
        }
    }

    /// Creates a sheet with edges of 1 m: x across, z along. Its last vertex is at the end of both.
    pub fn mesh(self, columns: u32, rows: u32) -> Mesh {
        let mut mesh = Mesh::grid(columns + 1, rows + 1, columns as f32, rows as f32);
        match self {
            Self::Quads => return mesh,
            Self::Cross => return crossed(&mesh),
            Self::Irregular => return staggered(columns, rows),
            Self::OneWay => {}
            Self::OtherWay => mesh.quads.iter_mut().for_each(|quad| quad.rotate_left(1)),
            Self::Alternating => {
                for (cell, quad) in (0..).zip(&mut mesh.quads) {
                    quad.rotate_left((cell % columns + cell / columns) as usize % 2);
                }
            }
        }
        Mesh { triangles: mesh.triangulated(), positions: mesh.positions, ..Mesh::default() }
    }
}

/// Divides each quad into four triangles around its middle.
fn crossed(mesh: &Mesh) -> Mesh {
    let count = mesh.quads.len() as u32;
    let mut crossed = Mesh::default();
    for (middle, quad) in (0..).zip(&mesh.quads) {
        let corners = quad.map(|corner| mesh.positions[corner as usize]);
        crossed.positions.push([0, 1, 2].map(|k| corners.iter().map(|p| p[k]).sum::<f32>() / 4.0));
        let sides = (0..4).map(|k| [quad[k] + count, quad[(k + 1) % 4] + count, middle]);
        crossed.triangles.extend(sides);
    }
    crossed.positions.extend(&mesh.positions);
    crossed
}

/// Creates rows of vertices, every other one shifted by half an edge. Those inside, from the third
/// row on, are up to a fifth of an edge off their places.
fn staggered(columns: u32, rows: u32) -> Mesh {
    let mut rng = Rng::new(7);
    let mut mesh = Mesh::default();
    let mut last: Vec<(f32, u32)> = Vec::new();
    for row in 0..=rows {
        let (width, shift) = (columns as f32, 0.5 * (row % 2) as f32);
        let inner = (0..columns).map(|k| k as f32 + shift).filter(|&x| x > 0.0);
        let mut next = Vec::new();
        for x in std::iter::once(0.0).chain(inner).chain([width]) {
            next.push((x, mesh.positions.len() as u32));
            let is_inside = x > 0.0 && x < width && row > 1 && row < rows;
            let [dx, _, dz] = if is_inside { rng.point(-0.2, 0.2) } else { [0.0; 3] };
            mesh.positions.push([x + dx, 0.0, row as f32 + dz]);
        }
        let (mut i, mut k) = (0, 0);
        while i + 1 < last.len() || !last.is_empty() && k + 1 < next.len() {
            // The shorter of the two possible diagonals.
            if k + 1 == next.len() || i + 1 < last.len() && last[i + 1].0 <= next[k + 1].0 {
                mesh.triangles.push([last[i].1, last[i + 1].1, next[k].1]);
                i += 1;
            } else {
                mesh.triangles.push([last[i].1, next[k + 1].1, next[k].1]);
                k += 1;
            }
        }
        last = next;
    }
    mesh
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

/// Creates a sheet of cells of `edge` m, given their columns and rows, and the position of each
/// particle by its distances along and across.
pub fn sheet(
    cells: Cells,
    [columns, rows]: [u32; 2],
    edge: f64,
    position: impl Fn(f64, f64) -> [f64; 3],
    pinned_rows: u32,
) -> ClothDesc {
    let mut mesh = cells.mesh(columns, rows);
    let pins = (0..).zip(&mesh.positions).filter(|(_, place)| place[2] + 0.5 < pinned_rows as f32);
    let pins = pins.map(|(vertex, _)| vertex).collect();
    for place in &mut mesh.positions {
        let [across, _, along] = place.map(|x| f64::from(x) * edge);
        *place = position(along, across).map(|x| x as f32);
    }
    let options = CookOptions {
        density: SIGMA as f32,
        pins,
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
