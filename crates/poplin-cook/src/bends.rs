//! Dihedral-angle constraints between triangles, in sets for parallel processing.

mod descent;
mod net;
mod patch;
mod plate;

use std::collections::HashMap;
use std::f64::consts::PI;

use glam::DVec3;
use poplin_model::{Bend, FirstFitSets, Wing, halves_of_quad};

use crate::quadify::QuadPairs;
use crate::surface::{Surface, has_area};
use crate::topology::{key_pair, pair_key};

/// Largest deviation from a rectangle at which two hinges count as one, relative to their edge.
const SAME: f32 = 0.01;

/// Hold of fitted bends on a particle, relative to the usual ones, below which it gets a part of
/// those.
const MIN_HOLD: f64 = 0.1;

/// Bends grouped in sets.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bends {
    /// The bends, set after set.
    pub(crate) bends: Vec<Bend>,
    /// One past the last bend of each set.
    pub(crate) set_ends: Vec<u32>,
}

/// Hinge: an edge and a third corner on either side of it.
#[derive(Debug, Clone, Copy)]
struct Hinge {
    /// Ends of the edge, then the third corners.
    particles: [u32; 4],
    kind: HingeKind,
}

/// Position of a hinge in its cells.
#[derive(Debug, Clone, Copy, PartialEq)]
enum HingeKind {
    /// Over the side of two triangles.
    Side,
    /// Over a side, with both corners beside its first end: one of the two hinges there.
    Line,
    /// Over one of the two diagonals of a quad.
    Diagonal,
    /// Over any edge, with a fitted stiffness over the rigidity.
    Fitted(f64),
}

impl HingeKind {
    /// Stiffness over the rigidity, given the length and the mean height of the triangles.
    fn weight(self, length: f64, mean_height: f64) -> f64 {
        match self {
            Self::Side => length / mean_height,
            Self::Line => 0.5 * length / mean_height,
            Self::Diagonal => mean_height / length,
            Self::Fitted(weight) => weight,
        }
    }

    /// Key that a bend shares with the one that folds by the same angle, if there may be one: over
    /// the other diagonal of a parallelogram, or over the side that continues this one across a
    /// straight line.
    fn twin_key(self, bend: &Bend) -> Option<[u32; 4]> {
        let [a, _, c, d] = bend.particles;
        let [foot_c, foot_d] = bend.wings.map(|wing| wing.foot);
        let [height_c, height_d] = bend.wings.map(|wing| wing.height);
        match self {
            Self::Line if foot_c.abs().max(foot_d.abs()) < SAME => {
                Some([a, c.min(d), c.max(d), u32::MAX])
            }
            Self::Diagonal
                if (foot_c + foot_d - 1.0).abs() < SAME
                    && (height_c - height_d).abs() < SAME * height_c =>
            {
                let mut key = bend.particles;
                key.sort_unstable();
                Some(key)
            }
            _ => None,
        }
    }
}

/// Side of a cell.
#[derive(Debug, Clone, Copy)]
struct Side {
    ends: [u32; 2],
    /// Corners of the cell beside each end: two of a quad, the same one of a triangle.
    corners: [u32; 2],
}

impl Bends {
    /// Creates bends whose energy per area is `B/2 (k_ss^2 + k_tt^2 + 2 k_st^2)` on a mesh of
    /// rectangles, for a curvature with the components k along the sides s and t: the energy of a
    /// plate of rigidity B with Poisson's ratio 0, which has no grain.
    ///
    /// Cells are quads, pairs of triangles that form one ([`QuadPairs`]), and other triangles.
    ///
    /// - **Sides.** A triangle with its third corner beside one end of the edge and another with
    ///   it beside the other end would fold by `(k_ss +- k_st) height`. Two triangles beside the
    ///   same end fold by `k_ss height`, without k_st. So the edge between two quads has two
    ///   hinges, one with the corners beside each end, each with half of the weight
    ///   `length / mean height`: together `B/2 k_ss^2 length height`. The edge between two
    ///   triangles has one hinge with the whole weight. At an edge of more cells, this holds for
    ///   each cell and the next in mesh order.
    /// - **Diagonals.** Of a cell a x b, each has the length `l = sqrt(a^2 + b^2)` and heights of
    ///   `h = a b / l`, and folds by `k_st l`. Two hinges of the weight `h / l` have the energy
    ///   `B/2 2 (h / l) (k_st l)^2 = B/2 2 k_st^2 a b`.
    ///
    /// A triangle with three pinned corners does not bend, so that the mean height counts only half
    /// of the other: a sheet clamped by two rows of pins is as stiff there as elsewhere.
    ///
    /// Both diagonals of a parallelogram fold by the same angle, as do the two hinges in line at a
    /// vertex between four rectangles: one with the sum of their weights replaces both.
    ///
    /// Bends whose particles are all pinned or that have a degenerate triangle are skipped. Each
    /// goes to the first set that contains none of its moving particles, in the order of
    /// [`hinges`].
    pub(crate) fn find(surface: &Surface, quad_pairs: &QuadPairs, inverse_masses: &[f32]) -> Self {
        let mut bends: Vec<Bend> = Vec::new();
        let mut first_of_twins: HashMap<[u32; 4], usize> = HashMap::new();
        for hinge in hinges(surface, quad_pairs) {
            let Some(bend) = bend(surface, inverse_masses, hinge) else { continue };
            let twin = (hinge.kind.twin_key(&bend))
                .map(|key| *first_of_twins.entry(key).or_insert(bends.len()));
            match twin.and_then(|first| bends.get_mut(first)) {
                Some(first) => first.weight += bend.weight,
                None => bends.push(bend),
            }
        }
        Self::in_sets(bends, inverse_masses)
    }

    /// Creates bends of the same energy on triangles of any shape ([`plate::fit`]).
    ///
    /// A particle that these hardly hold, like one in the corner of a single triangle, is held by a
    /// part of the usual bends, too.
    pub(crate) fn fit(surface: &Surface, inverse_masses: &[f32]) -> Self {
        let mut fitted = plate::fit(surface, inverse_masses);
        fitted.sort_by_key(|&([a, b, ..], _)| (b - a, a));
        let create = |hinge| bend(surface, inverse_masses, hinge);
        let fitted = fitted.into_iter().map(|(particles, weight)| {
            let kind = HingeKind::Fitted(weight);
            Hinge { particles, kind }
        });
        let mut bends: Vec<Bend> = fitted.filter_map(create).collect();
        let none = QuadPairs::none(surface);
        let usual: Vec<Bend> = hinges(surface, &none).into_iter().filter_map(create).collect();
        let [held, needed] = [&bends, &usual].map(|it| holds(it, inverse_masses.len()));
        let is_loose = |&particle: &u32| {
            let particle = particle as usize;
            inverse_masses[particle] > 0.0 && held[particle] < MIN_HOLD * needed[particle]
        };
        let loose = usual.into_iter().filter(|bend| bend.particles.iter().any(is_loose));
        bends.extend(loose.map(|bend| Bend { weight: bend.weight * MIN_HOLD as f32, ..bend }));
        Self::in_sets(bends, inverse_masses)
    }

    fn in_sets(bends: Vec<Bend>, inverse_masses: &[f32]) -> Self {
        let is_moving = |&particle: &u32| inverse_masses[particle as usize] > 0.0;
        let sets = FirstFitSets::group(inverse_masses.len(), bends, |bend| {
            bend.particles.into_iter().filter(is_moving)
        });
        let ends = sets.iter().scan(0, |end, set| {
            *end += set.len() as u32;
            Some(*end)
        });
        Self { set_ends: ends.collect(), bends: sets.concat() }
    }
}

/// Sums the weights of all bends by the squares of how far each particle folds them.
fn holds(bends: &[Bend], particle_count: usize) -> Vec<f64> {
    let mut holds = vec![0.0; particle_count];
    for bend in bends {
        let [c, d] = bend.wings.map(|wing| [wing.foot, wing.height].map(f64::from));
        let at_a = (1.0 - c[0]) / c[1] + (1.0 - d[0]) / d[1];
        let at_b = c[0] / c[1] + d[0] / d[1];
        for (&particle, factor) in bend.particles.iter().zip([at_a, at_b, 1.0 / c[1], 1.0 / d[1]]) {
            holds[particle as usize] += f64::from(bend.weight) * factor * factor;
        }
    }
    holds
}

/// Finds all hinges of a surface, in the order of the difference between the indices of their ends.
///
/// In a mesh that is numbered row by row, hinges over rows come first, then those over columns,
/// then diagonals. Solved in this order by XPBD, a cantilever of 4 x 10 cells twists by 0.01
/// degrees with the longest step of bends; by 0.9 if all kinds take turns along the rows.
fn hinges(surface: &Surface, quad_pairs: &QuadPairs) -> Vec<Hinge> {
    let mut sides: Vec<(u64, Side)> = Vec::with_capacity(4 * surface.faces.len());
    let mut hinges: Vec<(u64, Hinge)> = Vec::with_capacity(6 * surface.faces.len());
    let mut add_triangle = |[a, b, c]: [u32; 3]| {
        sides.extend(
            [[a, b, c], [b, c, a], [c, a, b]]
                .map(|[a, b, c]| (pair_key([a, b]), Side { ends: [a, b], corners: [c, c] })),
        );
    };
    let mut quads: Vec<[u32; 4]> = Vec::new();
    for (face, &is_paired) in surface.faces.iter().zip(&quad_pairs.is_paired) {
        match *face.corners() {
            [a, b, c, d] if is_flat(surface, [a, b, c, d]) => quads.push([a, b, c, d]),
            [a, b, c, d] => halves_of_quad([a, b, c, d]).into_iter().for_each(&mut add_triangle),
            [a, b, c] if !is_paired => add_triangle([a, b, c]),
            _ => {}
        }
    }
    quads.extend(quad_pairs.diagonals.iter().map(|&[[a, b], [c, d]]| [a, c, b, d]));
    for [a, b, c, d] in quads {
        sides.extend(
            [[a, b, c, d], [b, c, d, a], [c, d, a, b], [d, a, b, c]]
                .map(|[a, b, c, d]| (pair_key([a, b]), Side { ends: [a, b], corners: [d, c] })),
        );
        hinges.extend([[a, c, b, d], [b, d, a, c]].map(|particles| {
            let key = pair_key([particles[0], particles[1]]);
            (key, Hinge { particles, kind: HingeKind::Diagonal })
        }));
    }
    // Stable: the cells at an edge become adjacent and stay in order.
    sides.sort_by_key(|&(key, _)| key);
    for pair in sides.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
        let [(key, first), (_, mut second)] = [pair[0], pair[1]];
        if second.ends[0] != first.ends[0] {
            second.corners.reverse();
        }
        let [a, b] = first.ends;
        let [one, other] = [0, 1].map(|end| [first.corners[end], second.corners[end]]);
        let mut push = |[a, b]: [u32; 2], [c, d]: [u32; 2], kind| {
            hinges.push((key, Hinge { particles: [a, b, c, d], kind }));
        };
        if one == other {
            push([a, b], one, HingeKind::Side);
        } else {
            push([a, b], one, HingeKind::Line);
            push([b, a], other, HingeKind::Line);
        }
    }
    hinges.sort_by_key(|&(key, _)| {
        let [a, b] = key_pair(key);
        (b - a, a)
    });
    hinges.into_iter().map(|(_, hinge)| hinge).collect()
}

/// True if a quad is folded by less than a right angle along each of its diagonals. One with a
/// reentrant corner is not.
fn is_flat(surface: &Surface, quad: [u32; 4]) -> bool {
    let [a, b, c, d] = quad.map(|particle| surface.positions[particle as usize]);
    let is_flat_along = |a: DVec3, b: DVec3, c: DVec3, d: DVec3| {
        let edge = b - a;
        edge.cross(c - a).dot((d - a).cross(edge)) > 0.0
    };
    is_flat_along(a, c, b, d) && is_flat_along(b, d, a, c)
}

/// Creates the bend of a hinge; `None` if all particles are pinned or a triangle is degenerate.
fn bend(surface: &Surface, inverse_masses: &[f32], hinge: Hinge) -> Option<Bend> {
    let particles = hinge.particles;
    let [a, b, c, d] = particles;
    let [pa, pb, pc, pd] = particles.map(|particle| surface.positions[particle as usize]);
    let is_pinned = |particle: u32| inverse_masses[particle as usize] == 0.0;
    // Triangles folded onto each other share their far corner and have no hinge.
    let is_usable = c != d
        && !particles.into_iter().all(is_pinned)
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
    let heights = [m.length() / length, n.length() / length];
    let bending = [c, d].map(|corner| ![a, b, corner].into_iter().all(is_pinned));
    let is_diagonal = hinge.kind == HingeKind::Diagonal;
    let mean_height: f64 = (heights.into_iter().zip(bending))
        .map(|(height, bends)| if bends || is_diagonal { 0.5 * height } else { 0.0 })
        .sum();
    let wing = |height: f64, third: DVec3| Wing {
        height: height as f32,
        foot: ((third - pa).dot(edge) / edge.length_squared()) as f32,
    };
    Some(Bend {
        particles,
        rest_angle: angle as f32,
        weight: hinge.kind.weight(length, mean_height).min(1e9) as f32,
        wings: [wing(heights[0], pc), wing(heights[1], pd)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Weld;
    use crate::topology::Topology;
    use poplin_model::Mesh;

    fn find(mesh: &Mesh, inverse_masses: &[f32]) -> Bends {
        let surface = Surface::new(mesh, Weld::Off).unwrap();
        let topology = Topology::new(&surface).unwrap();
        Bends::find(&surface, &QuadPairs::find(&surface, &topology), inverse_masses)
    }

    #[test]
    fn grid_has_bends_at_inner_edges_and_diagonals() {
        let bends = find(&Mesh::grid(4, 3, 3.0, 4.0), &[1.0; 12]);
        // 6 quads; 2 inner vertices in each of 3 rows, one in each of 4 columns.
        assert_eq!(bends.bends.len(), 6 + 2 * 3 + 4);
        assert!(bends.bends.iter().all(|bend| bend.rest_angle == 0.0));
        let count = |weight: f32| {
            bends.bends.iter().filter(|bend| (bend.weight - weight).abs() < 1e-6).count()
        };
        // Length over height: 2 m over 1 m in a row, 1 m over 2 m in a column, half of it in outer
        // ones. Twice height over length: diagonals of sqrt(5) m under 2/sqrt(5) m.
        assert_eq!([2.0, 1.0, 0.5, 0.25, 0.8].map(count), [2, 4, 2, 2, 6]);
    }

    /// Columns and rows of the cells of [`grid`].
    const CELLS: [u32; 2] = [6, 5];

    /// Grid of [`CELLS`] a m by b m; triangulated with all diagonals in one direction (1) or
    /// in alternating ones (2).
    fn grid([a, b]: [f64; 2], triangulation: u32) -> Mesh {
        let [columns, rows] = CELLS;
        let size = [a * f64::from(columns), b * f64::from(rows)].map(|size| size as f32);
        let mut mesh = Mesh::grid(columns + 1, rows + 1, size[0], size[1]);
        if triangulation > 0 {
            for (cell, quad) in (0..).zip(&mut mesh.quads) {
                let turn = (cell % columns + cell / columns) % triangulation;
                quad.rotate_left(turn as usize);
            }
            (mesh.triangles, mesh.quads) = (mesh.triangulated(), Vec::new());
        }
        mesh
    }

    /// Energy of bends of rigidity 1 N m over a flat mesh that is bent to a height of `height` over
    /// x and z \[J\].
    fn energy(bends: &Bends, mesh: &Mesh, height: impl Fn(f64, f64) -> f64) -> f64 {
        let at = |particle: u32| {
            let [x, _, z] = mesh.positions[particle as usize].map(f64::from);
            DVec3::new(x, height(x, z), z)
        };
        let of_bend = |bend: &Bend| {
            let [a, b, c, d] = bend.particles.map(at);
            let (m, n) = ((b - a).cross(c - a), (d - a).cross(b - a));
            0.5 * f64::from(bend.weight) * m.angle_between(n).powi(2)
        };
        bends.bends.iter().map(of_bend).sum()
    }

    #[test]
    fn energy_of_rectangles_is_that_of_a_plate_in_any_direction() {
        let (sin, cos) = 0.3f64.sin_cos();
        // k_ss, k_tt, k_st: cylinders along s, t, their bisector and 0.3 rad, a saddle either way,
        // a sphere.
        let curvatures = [
            [1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0],
            [0.5, 0.5, 0.5],
            [cos * cos, sin * sin, sin * cos],
            [1.0, -1.0, 0.0],
            [0.0, 0.0, 1.0],
            [1.0, 1.0, 0.0],
        ]
        .map(|components| components.map(|k| 1e-3 * k));
        let [columns, rows] = CELLS.map(f64::from);
        for sides in [[0.1, 0.1], [0.1, 0.2]] {
            for triangulation in [0, 1, 2] {
                let mesh = grid(sides, triangulation);
                let bends = find(&mesh, &vec![1.0; mesh.positions.len()]);
                for [ss, tt, st] in curvatures {
                    let found =
                        energy(&bends, &mesh, |x, z| 0.5 * (ss * x * x + tt * z * z) + st * x * z);
                    // Half a cell at either end of a row or column has no curvature along it.
                    let cells = ss * ss * (columns - 1.0) * rows
                        + tt * tt * columns * (rows - 1.0)
                        + 2.0 * st * st * columns * rows;
                    let expected = 0.5 * cells * sides[0] * sides[1];
                    assert!(
                        (found / expected - 1.0).abs() < 1e-5,
                        "{sides:?}, {triangulation}, {ss}, {tt}, {st}: {found}, {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn sheet_between_pinned_rows_is_as_stiff_at_the_clamp() {
        for triangulation in [0, 1, 2] {
            let mesh = grid([0.1, 0.2], triangulation);
            let across = CELLS[0] as usize + 1;
            let mut inverse_masses = vec![1.0; mesh.positions.len()];
            inverse_masses[..2 * across].fill(0.0);
            let bends = find(&mesh, &inverse_masses);
            // Curved from the second row on, where the sheet is clamped level.
            let found = energy(&bends, &mesh, |_, z| 0.5e-3 * (z - 0.2).max(0.0).powi(2));
            let rows = f64::from(CELLS[1]) - 1.0;
            // Half of a cell at the free end has no curvature along it; that at the clamp folds by
            // half of the angle of others over half of their length.
            let expected = 0.5e-6 * 0.1 * f64::from(CELLS[0]) * 0.2 * (rows - 0.5);
            assert!((found / expected - 1.0).abs() < 1e-5, "{triangulation}: {found}, {expected}");
        }
    }

    #[test]
    fn quads_share_edges_with_triangles_unless_reentrant() {
        let mut positions = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0]];
        positions.extend([[0.0, 0.0, 1.0], [0.5, 0.0, -1.0]]);
        let mesh = Mesh {
            positions,
            triangles: vec![[0, 1, 4]],
            quads: vec![[0, 1, 2, 3]],
            ..Mesh::default()
        };
        let mut particles: Vec<_> =
            find(&mesh, &[1.0; 5]).bends.iter().map(|bend| bend.particles).collect();
        particles.sort_unstable();
        assert_eq!(particles, [[0, 1, 4, 3], [0, 2, 1, 3], [1, 0, 4, 2]]);
        let mut reentrant = Mesh { triangles: Vec::new(), ..mesh };
        reentrant.positions[3] = [0.6, 0.0, 0.4];
        assert_eq!(find(&reentrant, &[1.0; 5]).bends.len(), 1);
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
