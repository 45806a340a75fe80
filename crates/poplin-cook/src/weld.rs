//! Welding of coincident vertices.

use std::collections::HashMap;

use glam::DVec3;

use crate::Weld;

/// Distance \[m\] within which vertices are welded, or `None` for no welding. `corners` are those
/// of all faces, since unused vertices do not count for the size of the mesh.
pub(crate) fn weld_tolerance(corners: impl Iterator<Item = DVec3>, weld: Weld) -> Option<f64> {
    match weld {
        Weld::Off => None,
        Weld::Distance(distance) => Some(distance.into()),
        Weld::Relative(part) => {
            let [low, high] = corners
                .fold([DVec3::INFINITY, DVec3::NEG_INFINITY], |[low, high], p| {
                    [low.min(p), high.max(p)]
                });
            Some((high - low).max(DVec3::ZERO).length() * f64::from(part))
        }
    }
}

/// Finds the representative of each vertex, shape `[vertex_count]`: the first at its position.
///
/// In index order every vertex joins the lowest earlier representative within the tolerance, or
/// becomes one itself. A vertex is therefore never farther than the tolerance from its
/// representative (no chains), and the result does not depend on the hash.
pub(crate) fn weld_vertices(positions: &[DVec3], tolerance: Option<f64>) -> Vec<u32> {
    match tolerance {
        None => (0..positions.len() as u32).collect(),
        Some(tolerance) if tolerance > 0.0 => weld_near(positions, tolerance),
        Some(_) => weld_equal(positions),
    }
}

fn weld_equal(positions: &[DVec3]) -> Vec<u32> {
    let mut first = HashMap::with_capacity(positions.len());
    // Adding 0.0 maps -0.0 to 0.0.
    let key = |p: DVec3| (p + DVec3::ZERO).to_array().map(f64::to_bits);
    positions
        .iter()
        .enumerate()
        .map(|(index, &p)| *first.entry(key(p)).or_insert(index as u32))
        .collect()
}

fn weld_near(positions: &[DVec3], tolerance: f64) -> Vec<u32> {
    const END: u32 = u32::MAX;
    // With cells of four tolerances most queries touch one cell, and no cell holds more than a few
    // hundred representatives, because these are at least a tolerance apart.
    let inverse_cell = 0.25 / tolerance;
    // Cell coordinates are f64: if coordinates are too large for the tolerance, a cell is one value
    // and nothing overflows.
    let cell = |p: DVec3| ((p * inverse_cell).floor() + DVec3::ZERO).to_array().map(f64::to_bits);
    let mut head: HashMap<[u64; 3], u32> = HashMap::with_capacity(positions.len());
    let mut next = vec![END; positions.len()];
    let mut representative = Vec::with_capacity(positions.len());
    for (index, &position) in positions.iter().enumerate() {
        let (low, high) = (cell(position - tolerance), cell(position + tolerance));
        let mut best = END;
        let sides = |axis: usize| {
            let other = (low[axis] != high[axis]).then_some(high[axis]);
            std::iter::once(low[axis]).chain(other)
        };
        // Up to 8 cells around the position contain every representative within the tolerance.
        for x in sides(0) {
            for y in sides(1) {
                for z in sides(2) {
                    let mut other = head.get(&[x, y, z]).copied().unwrap_or(END);
                    while other != END {
                        if other < best
                            && position.distance_squared(positions[other as usize])
                                <= tolerance * tolerance
                        {
                            best = other;
                        }
                        other = next[other as usize];
                    }
                }
            }
        }
        if best == END {
            best = index as u32;
            next[index] = head.insert(cell(position), best).unwrap_or(END);
        }
        representative.push(best);
    }
    representative
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(x: &[f64]) -> Vec<DVec3> {
        x.iter().map(|&x| DVec3::new(x, 0.0, 0.0)).collect()
    }

    #[test]
    fn lowest_index_within_the_tolerance_wins() {
        assert_eq!(
            weld_vertices(&line(&[1.0, 0.0, 0.05, 0.99, -0.05]), Some(0.1)),
            [0, 1, 1, 0, 1]
        );
    }

    #[test]
    fn welding_does_not_chain() {
        assert_eq!(weld_vertices(&line(&[0.0, 0.09, 0.18, 0.27]), Some(0.1)), [0, 0, 2, 2]);
    }

    #[test]
    fn zero_tolerance_welds_exact_duplicates_only() {
        assert_eq!(weld_vertices(&line(&[0.0, -0.0, 1e-30, 0.0]), Some(0.0)), [0, 0, 2, 0]);
    }

    #[test]
    fn huge_coordinates_and_tiny_tolerances_stay_finite() {
        let weld = weld_vertices(&line(&[1e15, -1e15, 1e15, 0.0]), Some(1e-30));
        assert_eq!(weld, [0, 1, 0, 3]);
    }

    #[test]
    fn off_keeps_every_vertex() {
        assert_eq!(weld_vertices(&line(&[0.0, 0.0]), None), [0, 1]);
    }
}
