//! Detection of pairs of triangles that form one quad.

use glam::DVec3;

use crate::surface::Surface;
use crate::topology::Topology;

/// Largest |cos| of the corner angles of a pair: at most 25 degrees off a right angle, sin(25
/// degrees). Two equilateral triangles (30 degrees off) stay triangles.
const MAX_COSINE: f64 = 0.422_618_261_740_699_4;

/// Smallest cosine between the normals of a pair: folded by at most 60 degrees.
const MIN_FOLD_COSINE: f64 = 0.5;

/// Pairs of triangles.
#[derive(Debug, Clone)]
pub(crate) struct QuadPairs {
    /// Diagonals of each pair: the shared edge, and the vertices opposite to it.
    pub(crate) diagonals: Vec<[[u32; 2]; 2]>,
    /// True for each mesh edge that is the shared edge of a pair.
    pub(crate) is_shared_edge: Vec<bool>,
    /// True for each face that is part of a pair.
    pub(crate) is_paired: Vec<bool>,
}

impl QuadPairs {
    /// No pairs.
    pub(crate) fn none(surface: &Surface) -> Self {
        Self {
            diagonals: Vec::new(),
            is_shared_edge: Vec::new(),
            is_paired: vec![false; surface.faces.len()],
        }
    }

    /// Pairs triangles greedily, the most nearly right-angled pair first (ties: lower edge index).
    pub(crate) fn find(surface: &Surface, topology: &Topology) -> Self {
        let mut candidates: Vec<(f64, u32)> = Vec::new();
        for edge in 0..topology.edges.len() {
            let Some((ends, opposite)) = topology.triangle_pair(edge, &surface.faces) else {
                continue;
            };
            let [a, b] = ends.map(|vertex| surface.positions[vertex as usize]);
            let [c, d] = opposite.map(|vertex| surface.positions[vertex as usize]);
            if let Some(cosine) = worst_corner([a, c, b, d]) {
                candidates.push((cosine, edge as u32));
            }
        }
        candidates.sort_unstable_by(|x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)));
        let mut pairs = Self {
            diagonals: Vec::new(),
            is_shared_edge: vec![false; topology.edges.len()],
            is_paired: vec![false; surface.faces.len()],
        };
        for (_, edge) in candidates {
            let faces = topology.edge_faces.row(edge as usize);
            if faces.iter().any(|&face| pairs.is_paired[face as usize]) {
                continue;
            }
            faces.iter().for_each(|&face| pairs.is_paired[face as usize] = true);
            pairs.is_shared_edge[edge as usize] = true;
            pairs
                .diagonals
                .extend(topology.triangle_pair(edge as usize, &surface.faces).map(|(a, b)| [a, b]));
        }
        pairs
    }
}

/// Largest |cos| of the corner angles of the quad `a c b d` cut along `a b`; `None` if any is too
/// far from a right angle or the fold is too sharp.
fn worst_corner([a, c, b, d]: [DVec3; 4]) -> Option<f64> {
    let cosine = |corner: DVec3, x: DVec3, y: DVec3| {
        (x - corner).normalize_or_zero().dot((y - corner).normalize_or_zero())
    };
    // Corners c and d belong to one triangle each.
    let mut worst = cosine(c, a, b).abs().max(cosine(d, a, b).abs());
    if worst > MAX_COSINE {
        return None;
    }
    // At a and b the angles of the two triangles add up; on a folded pair that is the angle of the
    // flattened quad.
    for (corner, other) in [(a, b), (b, a)] {
        let angle = |x: DVec3| cosine(corner, other, x).clamp(-1.0, 1.0).acos();
        worst = worst.max((angle(c) + angle(d)).cos().abs());
    }
    let normal = (b - a).cross(c - a).normalize_or_zero();
    let fold = normal.dot((d - a).cross(b - a).normalize_or_zero());
    (worst <= MAX_COSINE && fold >= MIN_FOLD_COSINE).then_some(worst)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Weld;
    use poplin_model::Mesh;

    fn pairs(mesh: &Mesh) -> QuadPairs {
        let surface = Surface::new(mesh, Weld::Off).unwrap();
        let topology = Topology::new(&surface).unwrap();
        QuadPairs::find(&surface, &topology)
    }

    #[test]
    fn triangulated_grid_is_fully_paired() {
        let mut mesh = Mesh::grid(5, 4, 1.0, 1.0);
        (mesh.triangles, mesh.quads) = (mesh.triangulated(), Vec::new());
        let pairs = pairs(&mesh);
        assert_eq!(pairs.diagonals.len(), 12);
        assert!(pairs.is_paired.iter().all(|&paired| paired));
    }

    #[test]
    fn equilateral_triangles_and_sharp_folds_stay_triangles() {
        let side = 0.75f32.sqrt();
        let positions = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.0, side], [1.5, 0.0, side]];
        let equilateral =
            Mesh { positions, triangles: vec![[0, 1, 2], [1, 3, 2]], ..Mesh::default() };
        assert!(pairs(&equilateral).diagonals.is_empty());
        let positions = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.5, 0.7, 0.5]];
        let folded = Mesh { positions, triangles: vec![[0, 1, 2], [1, 0, 3]], ..Mesh::default() };
        assert!(pairs(&folded).diagonals.is_empty());
    }
}
