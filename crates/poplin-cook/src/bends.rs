//! Dihedral-angle constraints between triangles, in sets for parallel processing.

use std::f64::consts::PI;

use poplin_model::{Bend, FirstFitSets, Wing};

use crate::surface::{Surface, has_area};
use crate::topology::{key_pair, pair_key};

/// Bends grouped in sets.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bends {
    /// The bends, set after set.
    pub(crate) bends: Vec<Bend>,
    /// One past the last bend of each set.
    pub(crate) set_ends: Vec<u32>,
}

impl Bends {
    /// Creates a bend for every pair of triangles at an edge where any particle moves: one at an
    /// edge of two triangles; at an edge of more, one for each triangle and the next in mesh order.
    /// Each goes to the first set that contains none of its moving particles, in the order of the
    /// edges.
    pub(crate) fn find(surface: &Surface, inverse_masses: &[f32]) -> Self {
        let mut sides: Vec<(u64, u32, [u32; 3])> = Vec::new();
        for (triangle, index) in surface.triangles().zip(0u32..) {
            for k in 0..3 {
                let corners = [triangle[k], triangle[(k + 1) % 3], triangle[(k + 2) % 3]];
                sides.push((pair_key([corners[0], corners[1]]), index, corners));
            }
        }
        // Sorted by edge: triangles that share an edge become adjacent.
        sides.sort_unstable_by_key(|&(key, index, _)| (key, index));
        let pairs = sides.windows(2).filter(|pair| pair[0].0 == pair[1].0);
        let bends = pairs
            .filter_map(|pair| bend(surface, inverse_masses, pair[0].0, pair[0].2, pair[1].2[2]));
        let mut sets: Vec<Vec<Bend>> = Vec::new();
        let mut assigner = FirstFitSets::new(inverse_masses.len());
        for bend in bends {
            let moving = bend
                .particles
                .into_iter()
                .filter(|&particle| inverse_masses[particle as usize] > 0.0);
            let set = assigner.assign(moving);
            sets.resize_with(sets.len().max(set + 1), Vec::new);
            sets[set].push(bend);
        }
        let ends = sets.iter().scan(0, |end, set| {
            *end += set.len() as u32;
            Some(*end)
        });
        Self { set_ends: ends.collect(), bends: sets.concat() }
    }
}

/// Creates the bend over the edge `a b` between the triangle `a b c` and the triangle with the far
/// corner `d`; `None` if all particles are pinned or a triangle is degenerate.
fn bend(
    surface: &Surface,
    inverse_masses: &[f32],
    key: u64,
    [a, b, c]: [u32; 3],
    d: u32,
) -> Option<Bend> {
    debug_assert_eq!(key_pair(key), [a.min(b), a.max(b)]);
    let particles = [a, b, c, d];
    let [pa, pb, pc, pd] = particles.map(|particle| surface.positions[particle as usize]);
    // Triangles folded onto each other share their far corner and have no hinge.
    let is_usable = c != d
        && particles.iter().any(|&particle| inverse_masses[particle as usize] > 0.0)
        && has_area(pa, pb, pc)
        && has_area(pa, pb, pd);
    if !is_usable {
        return None;
    }
    let edge = pb - pa;
    let (m, n) = (edge.cross(pc - pa), (pd - pa).cross(edge));
    let length = edge.length();
    // Signed angle between the normals about the edge: atan2((m x n) . e / |e|, m . n)
    let angle = (m.cross(n).dot(edge) / length).atan2(m.dot(n)).clamp(-PI, PI);
    // |m| = length * height
    let mean_height = 0.5 * (m.length() + n.length()) / length;
    let wing = |normal: glam::DVec3, third: glam::DVec3| Wing {
        height: (normal.length() / length) as f32,
        foot: ((third - pa).dot(edge) / edge.length_squared()) as f32,
    };
    Some(Bend {
        particles,
        rest_angle: angle as f32,
        weight: (length / mean_height).min(1e9) as f32,
        wings: [wing(m, pc), wing(n, pd)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Weld;
    use poplin_model::Mesh;

    fn find(mesh: &Mesh, inverse_masses: &[f32]) -> Bends {
        Bends::find(&Surface::new(mesh, Weld::Off).unwrap(), inverse_masses)
    }

    #[test]
    fn grid_has_bends_at_inner_edges_and_diagonals() {
        let bends = find(&Mesh::grid(4, 3, 3.0, 4.0), &[1.0; 12]);
        // 6 quads with diagonals; 3 inner edges across, 1 m each; 4 along, 2 m each.
        assert_eq!(bends.bends.len(), 6 + 3 + 4);
        assert!(bends.bends.iter().all(|bend| bend.rest_angle == 0.0));
        let count = |weight: f32| {
            bends.bends.iter().filter(|bend| (bend.weight - weight).abs() < 1e-6).count()
        };
        // Length over height: 1 m over 2 m, 2 m over 1 m, diagonals of sqrt(5) m over 2/sqrt(5) m.
        assert_eq!((count(0.5), count(2.0), count(2.5)), (3, 4, 6));
    }

    #[test]
    fn bends_of_a_set_share_no_moving_particle() {
        let mut mesh = Mesh { positions: vec![[0.0; 3]], ..Mesh::default() };
        for k in 0..100u32 {
            let (sin, cos) = (k as f32 * 0.05).sin_cos();
            mesh.positions.push([cos, 0.0, sin]);
            if k > 0 {
                mesh.triangles.push([0, k, k + 1]);
            }
        }
        let mut masses = [1.0; 101];
        assert_eq!(
            find(&mesh, &masses).set_ends.len(),
            98,
            "all share the hub; more than the 64 bits of a word"
        );
        masses[0] = 0.0;
        assert_eq!(find(&mesh, &masses).set_ends.len(), 3);
        assert_eq!(find(&mesh, &[0.0; 101]).bends, []);
    }

    #[test]
    fn edge_of_three_triangles_has_two_bends_with_rest_angles() {
        let positions = vec![
            [0.0, 0.0, 0.0],
            [1.0, 0.0, 0.0],
            [0.5, 1.0, 0.0],
            [0.5, 0.0, 1.0],
            [0.5, -1.0, 0.0],
        ];
        let mesh =
            Mesh { positions, triangles: vec![[0, 1, 2], [0, 1, 3], [1, 0, 4]], ..Mesh::default() };
        let bends = find(&mesh, &[1.0; 5]);
        assert_eq!(
            bends.bends.iter().map(|bend| bend.particles).collect::<Vec<_>>(),
            [[0, 1, 2, 3], [0, 1, 3, 4]]
        );
        // Seen along the edge, 2 is up, 3 to the left of it, 4 down: both bends are folded by a
        // right angle towards the normal.
        assert!(
            bends
                .bends
                .iter()
                .all(|bend| (bend.rest_angle + std::f32::consts::FRAC_PI_2).abs() < 1e-6),
            "{bends:?}"
        );
        assert_eq!(bends.set_ends, [1, 2]);
    }
}
