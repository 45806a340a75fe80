//! What breadth of cloth each edge stands for.

use std::collections::{BTreeMap, BTreeSet};

use poplin_model::{Fabric, PhaseKind};

use crate::topology::pair_key;

/// [`Fabric::edge_breadths`] of edges and triangles that are there.
///
/// A spring of k along an edge of length L with the breadth b is a membrane of K = k L / b: a side of triangles of the area A has b = A / L,
/// so that sides of right triangles are threads as far apart as the cells are wide, half as much at borders. Both diagonals of a cell take
/// `G L^2 / (2 A)` (Provot, 1995): b = L^3 / (2 A), or twice that for a single one. A two-ring edge is as broad as the cloth of a particle at
/// one of its ends, the more of both, over half its length.
pub(crate) fn edge_breadths(fabric: &Fabric) -> Vec<f32> {
    let mut sides: BTreeMap<u64, Side> = BTreeMap::new();
    let mut particle_areas = vec![0.0f64; fabric.particle_count as usize];
    for (triangle, shape) in fabric.triangles.iter().zip(&fabric.triangle_shapes) {
        let [u1, v1, u2, v2] = shape.map(f64::from);
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
    // Cells by their diagonals that are no side of triangles: area, and whether the other one is an edge as well.
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
                length.powi(4) / if is_crossed { 2.0 * area } else { area }
            }
            (_, side) => side.map_or(0.0, |side| side.area),
        };
        let breadth = area / length;
        if breadth.is_finite() { breadth as f32 } else { 0.0 }
    };
    fabric.edges().map(breadth).collect()
}

/// A side of triangles.
#[derive(Debug, Clone, Default)]
struct Side {
    /// Area of the triangles \[m^2\].
    area: f64,
    /// Their corners opposite to it.
    far: Vec<u32>,
}

#[cfg(test)]
mod tests {
    use poplin_model::Mesh;

    use super::*;
    use crate::{CookOptions, cook};

    #[test]
    fn threads_are_as_broad_as_cells_and_diagonals_share_them() {
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
            assert!(!differs, "{found:?} in place of {expected:?}");
        };
        near(&of_kind(PhaseKind::Vertical), &[0.25, 0.5]);
        near(&of_kind(PhaseKind::Horizontal), &[0.125, 0.25]);
        let diagonal = 0.3125f32.sqrt();
        near(&of_kind(PhaseKind::Shearing), &[diagonal.powi(3) / 0.25]);
        near(&of_kind(PhaseKind::Bending), &[0.125, 0.25, 0.5]);
    }
}
