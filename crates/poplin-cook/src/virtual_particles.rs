//! Distribution of additional collision points on triangles.

use glam::DVec3;
use poplin_geometry::triangle_area;
use poplin_model::VirtualParticle;

use crate::surface::{Surface, has_area};
use crate::{CookError, VirtualParticles};

/// Largest number of points per triangle; coarser meshes should be refined.
const MAX_PER_TRIANGLE: u32 = 256;

/// Largest number of points of a fabric.
const MAX_VIRTUAL_PARTICLES: usize = 1 << 24;

/// Creates the points of all triangles, those of one triangle together, in the order of the
/// triangles.
///
/// Degenerate triangles and triangles with three pins get none.
pub(crate) fn spread_virtual_particles(
    surface: &Surface,
    inverse_masses: &[f32],
    choice: VirtualParticles,
) -> Result<Vec<VirtualParticle>, CookError> {
    let mut carry = 0.0;
    let count = |corners: [u32; 3]| {
        let is_pinned = corners.iter().all(|&corner| inverse_masses[corner as usize] == 0.0);
        let [a, b, c] = corners.map(|corner| surface.positions[corner as usize]);
        let is_usable = !is_pinned && has_area(a, b, c);
        if is_usable { points_of_area(choice, triangle_area([a, b, c]), &mut carry) } else { 0 }
    };
    let counts: Vec<u32> = surface.triangles().map(count).collect();
    let total = counts.iter().map(|&count| count as usize).sum();
    if total > MAX_VIRTUAL_PARTICLES {
        return Err(CookError::TooManyVirtualParticles {
            count: total,
            limit: MAX_VIRTUAL_PARTICLES,
        });
    }
    let mut points = Vec::with_capacity(total);
    for (corners, count) in surface.triangles().zip(counts) {
        points.extend(
            (0..count).map(|index| VirtualParticle { corners, weights: weights(index, count) }),
        );
    }
    Ok(points)
}

/// Number of points of a triangle of this area [m^2]. `carry` is the fraction of a point,
/// `-0.5..=0.5`, missing from earlier triangles; without it triangles of less than half a point
/// would never get one.
fn points_of_area(choice: VirtualParticles, area: f64, carry: &mut f64) -> u32 {
    match choice {
        VirtualParticles::None => 0,
        VirtualParticles::PerTriangle(count) => count,
        VirtualParticles::Spacing(spacing) => {
            let spacing = f64::from(spacing);
            let wanted = area / (spacing * spacing) + *carry;
            *carry = wanted - wanted.round();
            wanted.round().clamp(0.0, MAX_PER_TRIANGLE.into()) as u32
        }
    }
}

/// Barycentric weights of point `index` of `count`, each above 0, with a sum of 1.
fn weights(index: u32, count: u32) -> [f32; 3] {
    let [_, b, c] = match (count, count.isqrt()) {
        (3, _) => corner_third(index),
        (_, side) if side * side == count => part_center(index, side),
        _ => folded_sequence(index),
    };
    let (b, c) = (b as f32, c as f32);
    [1.0 - b - c, b, c]
}

/// One of three points, each near one corner: the centers of the triangles between a corner and the
/// midpoints of its sides.
fn corner_third(index: u32) -> [f64; 3] {
    let mut weights = [1.0 / 6.0; 3];
    weights[index as usize % 3] = 2.0 / 3.0;
    weights
}

/// Center of part `index` after each side is divided into `side` equal pieces: `side^2` equal
/// triangles in rows.
fn part_center(index: u32, side: u32) -> [f64; 3] {
    // Row r of the triangle, counted from corner a, has 2 r + 1 parts, alternately upright and
    // upside down, so that r^2 parts precede it.
    let row = index.isqrt();
    let rank = index - row * row;
    let (column, is_upside_down) = (rank / 2, rank % 2 == 1);
    // Steps from corner a: down along ab, then across towards c. An upright part has corners (r,
    // k), (r+1, k), (r+1, k+1), an upside-down one (r, k), (r, k+1), (r+1, k+1); the center is
    // their mean.
    let (down, across) =
        if is_upside_down { (1.0 / 3.0, 2.0 / 3.0) } else { (2.0 / 3.0, 1.0 / 3.0) };
    let (down, across) =
        ((f64::from(row) + down) / f64::from(side), (f64::from(column) + across) / f64::from(side));
    [1.0 - down, down - across, across]
}

/// Point of the R2 sequence (Roberts, "The unreasonable effectiveness of quasirandom sequences",
/// 2018) in the unit square, with its upper half folded onto the lower: evenly distributed for
/// every count.
fn folded_sequence(index: u32) -> [f64; 3] {
    // 1/g and 1/g^2 with g^3 = g + 1.
    const STEP: [f64; 2] = [0.754_877_666_246_693, 0.569_840_290_998_053_3];
    let [u, v] = STEP.map(|step| (0.5 + step * f64::from(index + 1)).fract());
    let [u, v] = if u + v > 1.0 { [1.0 - u, 1.0 - v] } else { [u, v] };
    // Shrunk towards the center, so that no point lies on a side.
    let inner =
        (DVec3::new(1.0 - u - v, u, v) - DVec3::splat(1.0 / 3.0)) * 0.97 + DVec3::splat(1.0 / 3.0);
    inner.to_array()
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::Vec3;

    fn distance(a: [f32; 3], b: [f32; 3]) -> f32 {
        // In an equilateral triangle of side 1.
        let point = |[_, b, c]: [f32; 3]| Vec3::new(b + 0.5 * c, 0.75_f32.sqrt() * c, 0.0);
        point(a).distance(point(b))
    }

    #[test]
    fn weights_are_inside_and_sum_to_one() {
        for count in 1..=MAX_PER_TRIANGLE {
            for index in 0..count {
                let weights = weights(index, count);
                assert!(
                    weights.iter().all(|&weight| weight > 0.0),
                    "{index} of {count}: {weights:?}"
                );
                assert!(
                    (weights.iter().sum::<f32>() - 1.0).abs() < 1e-6,
                    "{index} of {count}: {weights:?}"
                );
            }
        }
    }

    #[test]
    fn one_three_and_square_counts_are_symmetric() {
        assert!(distance(weights(0, 1), [1.0 / 3.0; 3]) < 1e-6);
        for count in [1, 3, 4, 9, 16, 64] {
            let all: Vec<_> = (0..count).map(|index| weights(index, count)).collect();
            for &[a, b, c] in &all {
                let nearest =
                    all.iter().map(|&other| distance(other, [b, c, a])).fold(f32::MAX, f32::min);
                assert!(nearest < 1e-5, "{count}: [{a}, {b}, {c}]");
            }
        }
    }

    #[test]
    fn points_are_well_separated() {
        for count in 2..=MAX_PER_TRIANGLE {
            let all: Vec<_> = (0..count).map(|index| weights(index, count)).collect();
            let nearest = (1..all.len())
                .flat_map(|i| (0..i).map(move |j| (i, j)))
                .map(|(i, j)| distance(all[i], all[j]));
            let nearest = nearest.fold(f32::MAX, f32::min);
            // In a perfect lattice of this many points in the area sqrt(3)/4, the distance is about
            // sqrt(area / count).
            let even = (0.433 / count as f32).sqrt();
            assert!(nearest > 0.3 * even, "{count}: {nearest} of {even}");
        }
    }
}
