//! Meshes of a disc of cloth: a grid of quads cut to a circle, and rings of irregular triangles.

use std::f64::consts::{PI, TAU};
use std::fmt::Write as _;

/// Radius of a specimen \[m\].
pub(crate) const RADIUS: f64 = 0.15;

/// Radius of the clamp \[m\].
pub(crate) const CLAMP: f64 = 0.09;

/// Kind of a mesh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cells {
    /// Squares whose centers are in the circle.
    Quads,
    /// Triangles between rings of vertices that are turned and a little off their places.
    Triangles,
}

/// Mesh of a disc in the plane of x and z around the origin.
#[derive(Debug)]
pub(crate) struct Disc {
    /// Vertices, those of the clamp first \[m\].
    pub(crate) vertices: Vec<[f64; 2]>,
    /// Corners of each face.
    pub(crate) faces: Vec<Vec<usize>>,
    /// Number of vertices of the clamp.
    pub(crate) clamped: usize,
}

impl Disc {
    /// Creates a disc of `count` edges per radius, a multiple of 5, so that the clamp ends at
    /// vertices.
    pub(crate) fn new(cells: Cells, count: usize) -> Self {
        assert_eq!(count % 5, 0, "the clamp ends between vertices");
        match cells {
            Cells::Quads => Self::quads(count as i32),
            Cells::Triangles => Self::triangles(count),
        }
    }

    /// Creates a grid. Cells count by their centers, at the rim as at the clamp, so that both
    /// outlines are as often outside of their circle as inside.
    fn quads(count: i32) -> Self {
        let edge = RADIUS / f64::from(count);
        let cells_within = |radius: f64| {
            let is_within = move |&[x, z]: &[i32; 2]| {
                (f64::from(x) + 0.5).hypot(f64::from(z) + 0.5) * edge <= radius
            };
            let cells = (-count..count).flat_map(move |x| (-count..count).map(move |z| [x, z]));
            cells.filter(is_within)
        };
        let corners = |[x, z]: [i32; 2]| [[x, z], [x, z + 1], [x + 1, z + 1], [x + 1, z]];
        let mut places: Vec<[i32; 2]> = Vec::new();
        let mut clamped = 0;
        for radius in [CLAMP, RADIUS] {
            for place in cells_within(radius).flat_map(corners) {
                if !places.contains(&place) {
                    places.push(place);
                }
            }
            clamped = if radius == CLAMP { places.len() } else { clamped };
        }
        let index = |place| places.iter().position(|it| *it == place).expect("corners are listed");
        let faces = cells_within(RADIUS).map(|cell| corners(cell).map(index).to_vec()).collect();
        let vertices = places.iter().map(|place| place.map(|x| f64::from(x) * edge)).collect();
        Self { vertices, faces, clamped }
    }

    /// Creates rings of 6, 12, 18, ... vertices around one at the center.
    fn triangles(count: usize) -> Self {
        let edge = RADIUS / count as f64;
        let clamp = count * 3 / 5;
        // Low-discrepancy numbers in -0.5..0.5
        let offset = |index: usize, ratio: f64| (index as f64 * ratio).fract() - 0.5;
        let mut rings = vec![vec![0.0]];
        let mut vertices = vec![[0.0; 2]];
        for ring in 1..=count {
            let spacing = TAU / (6 * ring) as f64;
            let mut angles = Vec::new();
            for k in 0..6 * ring {
                let turn = offset(ring, 0.618_034);
                let angle = spacing * (k as f64 + turn + 0.4 * offset(vertices.len(), 0.754_878));
                let is_outline = ring == clamp || ring == count;
                let out = if is_outline { 0.0 } else { 0.3 * offset(vertices.len(), 0.569_840) };
                let (sin, cos) = angle.sin_cos();
                vertices.push([cos, sin].map(|x| x * edge * (ring as f64 + out)));
                angles.push(angle);
            }
            rings.push(angles);
        }
        let mut faces = Vec::new();
        let mut first = 0;
        for pair in rings.windows(2) {
            let [inner, outer] = [&pair[0], &pair[1]];
            let next = first + inner.len();
            // Angle of vertex k of a ring, any number of turns on
            let at = |ring: &[f64], k: usize| ring[k % ring.len()] + TAU * (k / ring.len()) as f64;
            let sides = if inner.len() == 1 { 0 } else { inner.len() };
            // The vertex of the outer ring nearest to the first one of the inner ring
            let start = (0..outer.len())
                .max_by(|&a, &b| {
                    let nearness = |k| (PI - (at(outer, k) - inner[0]).rem_euclid(TAU)).abs();
                    nearness(a).total_cmp(&nearness(b))
                })
                .expect("a ring has vertices");
            let turns = TAU * ((inner[0] - outer[start]) / TAU).round();
            let [mut i, mut j] = [0, 0];
            while i < sides || j < outer.len() {
                let middle_in = at(inner, i) + at(inner, i + 1);
                let middle_out = at(outer, start + j) + at(outer, start + j + 1) + 2.0 * turns;
                let [a, b] = [first + i % inner.len(), next + (start + j) % outer.len()];
                if j == outer.len() || i < sides && middle_in < middle_out {
                    i += 1;
                    faces.push(vec![a, first + i % inner.len(), b]);
                } else {
                    j += 1;
                    faces.push(vec![a, next + (start + j) % outer.len(), b]);
                }
            }
            first = next;
        }
        // 1 + 6 + 12 + ...
        Self { vertices, faces, clamped: 1 + 3 * clamp * (clamp + 1) }
    }

    /// Returns the text of an OBJ file.
    pub(crate) fn obj(&self) -> String {
        let mut text = String::new();
        for [x, z] in &self.vertices {
            writeln!(text, "v {x:.6} 0 {z:.6}").expect("a string takes any text");
        }
        for face in &self.faces {
            let corners: Vec<_> = face.iter().map(|corner| (corner + 1).to_string()).collect();
            writeln!(text, "f {}", corners.join(" ")).expect("a string takes any text");
        }
        text
    }
}
