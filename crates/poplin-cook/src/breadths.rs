//! Width of cloth that each edge represents.

use std::collections::{BTreeMap, BTreeSet};

use poplin_model::{Fabric, PhaseKind};

use crate::topology::pair_key;

/// Computes [`Fabric::edge_breadths`] from the edges and triangles of the fabric.
///
/// A spring of stiffness k along an edge of length L and breadth b is a membrane of stiffness K = k
/// L / b. A side of triangles with the total area A has b = A / L, so that the sides of right
/// triangles are threads one cell width apart, and half of that at boundaries. The two diagonals of
/// a cell each take `G L^2 / (2 A)` (Provot, 1995): b = L^3 / (2 A), or twice that for a single
/// diagonal. A two-ring edge has the larger particle area of its two ends over half its length.
pub(crate) fn edge_breadths(fabric: &Fabric) -> Vec<f32> {
    let mut sides: BTreeMap<u64, Side> = BTreeMap::new();
    let mut particle_areas = vec![0.0f64; fabric.particle_count as usize];
    for (triangle, shape) in fabric.triangles.iter().zip(&fabric.triangle_shapes) {
        let [u1, v1, u2, v2] = shape.map(f64::from);
        // Rest area from thread coordinates: |p x q| / 2
        let area = 0.5 * (u1 * v2 - u2 * v1).abs();
        for k in 0..3 {
            let [a, b, far] = [0, 1, 2].map(|n| triangle[(k + n) % 3]);
            let side = sides.entry(pair_key([a, b])).or_default();
            side.area += area;
            side.far.push(far);
            particle_areas[triangle[k] as usize] += area / 3.0;
        }
    }
    let kinds = fabric.edge_kinds();
    let shearing: BTreeSet<u64> = fabric
        .edges()
        .filter(|&(edge, _)| kinds[edge] == PhaseKind::Shearing)
        .map(|(_, pair)| pair_key(pair))
        .collect();
    // Cells by their diagonal that is not a triangle side: area, and true if the other diagonal is
    // a shear edge too.
    let cells: BTreeMap<u64, (f64, bool)> = sides
        .iter()
        .filter(|(_, side)| side.far.len() == 2)
        .map(|(key, side)| {
            let across = pair_key([side.far[0], side.far[1]]);
            (across, (side.area, shearing.contains(key)))
        })
        .collect();
    let breadth = |(edge, pair): (usize, [u32; 2])| {
        let length = f64::from(fabric.rest_lengths[edge]);
        let key = pair_key(pair);
        let area = match (kinds[edge], sides.get(&key)) {
            (PhaseKind::Bending, _) => {
                2.0 * pair.map(|i| particle_areas[i as usize]).into_iter().fold(0.0, f64::max)
            }
            (PhaseKind::Shearing, side) => {
                let of_side = side.map(|side| {
                    let is_crossed =
                        matches!(side.far[..], [c, d] if shearing.contains(&pair_key([c, d])));
                    (side.area, is_crossed)
                });
                let cell = of_side.or_else(|| cells.get(&key).copied());
                let Some((area, is_crossed)) = cell.filter(|(area, _)| *area > 0.0) else {
                    return 0.0;
                };
                // b = L^3 / (2 A) as area / L; a single diagonal counts twice.
                length.powi(4) / if is_crossed { 2.0 * area } else { area }
            }
            (_, side) => side.map_or(0.0, |side| side.area),
        };
        let breadth = area / length;
        if breadth.is_finite() { breadth as f32 } else { 0.0 }
    };
    fabric.edges().map(breadth).collect()
}

/// A side shared by triangles.
#[derive(Debug, Clone, Default)]
struct Side {
    /// Total area of the triangles \[m^2\].
    area: f64,
    /// Corners of the triangles opposite to the side.
    far: Vec<u32>,
}

#[cfg(test)]
mod tests {
    use poplin_model::Mesh;

    use super::*;
    use crate::{CookOptions, cook};

    #[test]
    fn breadths_of_threads_match_cells_shared_by_diagonals() {
        // Cells of 0.5 m by 0.25 m.
        let options = CookOptions { bending: true, ..CookOptions::default() };
        let fabric = cook(&Mesh::grid(5, 5, 2.0, 1.0), &options).unwrap().fabric;
        let kinds = fabric.edge_kinds();
        let of_kind = |kind| {
            let mut found: Vec<f32> = (0..fabric.edge_count())
                .filter(|&edge| kinds[edge] == kind)
                .map(|edge| fabric.edge_breadths[edge])
                .collect();
            found.sort_by(f32::total_cmp);
            found.dedup_by(|a, b| (*a - *b).abs() < 1e-5);
            found
        };
        let near = |found: &[f32], expected: &[f32]| {
            assert_eq!(found.len(), expected.len(), "{found:?}");
            let differs = found.iter().zip(expected).any(|(a, b)| (a - b).abs() > 1e-5);
            assert!(!differs, "{found:?} instead of {expected:?}");
        };
        near(&of_kind(PhaseKind::Vertical), &[0.25, 0.5]);
        near(&of_kind(PhaseKind::Horizontal), &[0.125, 0.25]);
        let diagonal = 0.3125f32.sqrt();
        near(&of_kind(PhaseKind::Shearing), &[diagonal.powi(3) / 0.25]);
        near(&of_kind(PhaseKind::Bending), &[0.125, 0.25, 0.5]);
    }
}
