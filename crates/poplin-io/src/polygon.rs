//! Triangulation of polygons.

use glam::DVec3;
use poplin_model::Mesh;

/// Maximum number of corners of a concave polygon: the time to triangulate one grows faster than
/// their square.
pub(crate) const MAX_CORNERS: usize = 1024;

/// Minimum area of a flipped triangle against the polygon's front, as a fraction of the polygon's
/// area: less is rounding in the file, and the polygon counts as convex.
const FLIPPED: f64 = 1e-5;

/// Areas below this fraction are rounding errors of `f64`.
const NO_AREA: f64 = 1e-12;

/// Triangulation of a polygon.
#[derive(Debug, PartialEq)]
pub(crate) enum Cut {
    /// Fan from the first corner.
    Fan,
    /// Triangles as corner indices, where a fan would flip a triangle.
    Ears(Vec<[usize; 3]>),
    /// No triangulation without a flipped triangle: its sides cross, or it is concave with more
    /// than [`MAX_CORNERS`] corners.
    Twisted,
}

/// Triangulates a polygon of three corners or more: convex ones as a fan, concave ones by ear
/// clipping (Meisters, "Polygons have ears", 1975).
pub(crate) fn cut(corners: &[DVec3]) -> Cut {
    let [first, others @ ..] = corners else { return Cut::Fan };
    let fan = || others.windows(2).map(|pair| (pair[0] - first).cross(pair[1] - first));
    let normal: DVec3 = fan().sum();
    let (area, unsigned) = (normal.length(), fan().map(DVec3::length).sum::<f64>());
    let reach = others.iter().map(|corner| corner.distance_squared(*first)).fold(0.0, f64::max);
    // Degenerate: all corners on a line or at one point.
    if unsigned <= NO_AREA * reach {
        return Cut::Fan;
    }
    // part = 2 area of a triangle times 2 area of the polygon, signed.
    let is_upright = |part: f64| part >= -FLIPPED * area * area;
    if area > NO_AREA * unsigned && fan().all(|part| is_upright(part.dot(normal))) {
        return Cut::Fan;
    }
    if area <= NO_AREA * unsigned || corners.len() > MAX_CORNERS {
        return Cut::Twisted;
    }
    let area_of = |[a, b, c]: [usize; 3]| {
        (corners[b] - corners[a]).cross(corners[c] - corners[a]).dot(normal)
    };
    let least = NO_AREA * area * area;
    // An ear faces front and has no other corner inside.
    let is_ear = |ear: [usize; 3], left: &[usize]| {
        let [a, b, c] = ear;
        let is_within = |&other: &usize| {
            // Corners at equal positions, as along a slit, do not block an ear.
            ear.iter().all(|&corner| corners[corner] != corners[other])
                && [[a, b, other], [b, c, other], [c, a, other]]
                    .into_iter()
                    .all(|it| area_of(it) >= -least)
        };
        area_of(ear) > least && !left.iter().any(is_within)
    };
    let mut left: Vec<usize> = (0..corners.len()).collect();
    let mut triangles = Vec::with_capacity(corners.len() - 2);
    let (mut at, mut refused) = (0, 0);
    while left.len() > 3 && refused < left.len() {
        let middle = (at + 1) % left.len();
        let ear = [left[at], left[middle], left[(at + 2) % left.len()]];
        refused += 1;
        if is_ear(ear, &left) {
            triangles.push(ear);
            left.remove(middle);
            refused = 0;
        }
        // Advances a corner each time, so that no long fan is left.
        at = (at + 1) % left.len();
    }
    // A rest without an ear is flat, or its sides cross.
    triangles.extend(left[1..].windows(2).map(|pair| [left[0], pair[0], pair[1]]));
    if triangles.iter().all(|&it| is_upright(area_of(it))) {
        Cut::Ears(triangles)
    } else {
        Cut::Twisted
    }
}

/// Adds a face of three corners or more to a mesh with these vertex positions. `uvs` returns the
/// texture coordinate of a corner. Quads stay quads; a concave quad is rotated to start at a corner
/// whose diagonal is inside. Returns true if the face has a flipped triangle.
pub(crate) fn add_face(
    mesh: &mut Mesh,
    positions: &[DVec3],
    corners: &[u32],
    uvs: impl Fn(usize) -> u32,
) -> bool {
    let around: Vec<_> = corners.iter().map(|&corner| positions[corner as usize]).collect();
    let parts = if corners.len() > 3 { cut(&around) } else { Cut::Fan };
    if corners.len() == 4 {
        let first = usize::from(matches!(parts, Cut::Ears(_)));
        let ring: [usize; 4] = std::array::from_fn(|k| (first + k) % 4);
        mesh.quads.push(ring.map(|k| corners[k]));
        mesh.corner_uvs.quads.push(ring.map(uvs));
    } else {
        let triangles = match &parts {
            Cut::Ears(ears) => ears.clone(),
            _ => (2..corners.len()).map(|k| [0, k - 1, k]).collect(),
        };
        mesh.triangles.extend(triangles.iter().map(|it| it.map(|k| corners[k])));
        mesh.corner_uvs.triangles.extend(triangles.iter().map(|it| it.map(&uvs)));
    }
    parts == Cut::Twisted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(corners: &[[f64; 2]]) -> Vec<DVec3> {
        corners.iter().map(|&[x, y]| DVec3::new(x, y, 0.0)).collect()
    }

    fn areas(corners: &[DVec3], triangles: &[[usize; 3]]) -> Vec<f64> {
        let area = |&[a, b, c]: &[usize; 3]| {
            0.5 * (corners[b] - corners[a]).cross(corners[c] - corners[a]).z
        };
        triangles.iter().map(area).collect()
    }

    #[test]
    fn convex_polygons_are_fans_even_with_corners_on_a_side() {
        let circle: Vec<_> = (0..40)
            .map(|k| DVec3::new((f64::from(k) * 0.157).cos(), (f64::from(k) * 0.157).sin(), 0.0))
            .collect();
        assert_eq!(cut(&circle), Cut::Fan);
        let sides = [[0.0, 0.0], [0.5, 1e-7], [1.0, 0.0], [1.0, 1.0], [0.3, 1.0], [0.0, 1.0]];
        assert_eq!(cut(&flat(&sides)), Cut::Fan);
        assert_eq!(cut(&flat(&[[0.0, 0.0], [0.1, 0.1], [0.2, 0.2], [0.3, 0.3]])), Cut::Fan);
        assert_eq!(cut(&[DVec3::ONE; 5]), Cut::Fan);
    }

    #[test]
    fn concave_polygons_are_covered_once() {
        // An L, a comb, a star, and a square with a hole connected by a slit.
        let comb: Vec<_> = (0..12)
            .map(|k| [f64::from(k), if k % 2 == 0 { 3.0 } else { 0.5 }])
            .chain([[11.0, 0.0], [0.0, 0.0]])
            .collect();
        let star = (0..10).map(|k| {
            let (angle, radius) = (f64::from(k) * 0.628_318, if k % 2 == 0 { 1.0 } else { 0.3 });
            [radius * angle.cos(), radius * angle.sin()]
        });
        let outer = [[0.0, 0.0], [3.0, 0.0], [3.0, 3.0], [0.0, 3.0], [0.0, 0.0]];
        let hole = [[1.0, 1.0], [1.0, 2.0], [2.0, 2.0], [2.0, 1.0], [1.0, 1.0]];
        let ell = [[2.0, 0.0], [2.0, 1.0], [1.0, 1.0], [1.0, 2.0], [0.0, 2.0], [0.0, 0.0]];
        let shapes: [Vec<_>; 4] =
            [ell.to_vec(), comb, star.collect(), outer.into_iter().chain(hole).collect()];
        for shape in shapes {
            for begin in 0..shape.len() {
                let mut corners = flat(&shape);
                corners.rotate_left(begin);
                let fan: Vec<_> = (2..shape.len()).map(|k| [0, k - 1, k]).collect();
                let whole: f64 = areas(&corners, &fan).iter().sum();
                let triangles = match cut(&corners) {
                    Cut::Ears(triangles) => triangles,
                    // A concave polygon may be a fan from some of its corners.
                    Cut::Fan => fan,
                    Cut::Twisted => panic!("{begin}: {corners:?}"),
                };
                assert_eq!(triangles.len(), shape.len() - 2);
                let parts = areas(&corners, &triangles);
                assert!((parts.iter().sum::<f64>() - whole).abs() < 1e-9, "{parts:?}");
                assert!(parts.iter().all(|&area| area * whole > -1e-9), "{begin}: {parts:?}");
            }
        }
    }

    #[test]
    fn self_intersecting_polygons_are_twisted() {
        let bow_tie = [[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]];
        assert_eq!(cut(&flat(&bow_tie)), Cut::Twisted);
        let pentagram: Vec<_> =
            (0..5).map(|k| [(f64::from(k) * 2.513).cos(), (f64::from(k) * 2.513).sin()]).collect();
        assert_eq!(cut(&flat(&pentagram)), Cut::Twisted);
    }

    #[test]
    fn ear_clipping_is_limited_to_1024_corners() {
        let spiral = |count: u32| {
            let at = |k: u32, radius: f64| {
                let angle = 0.2 * f64::from(k);
                let radius = radius + 0.1 * angle;
                [radius * angle.cos(), radius * angle.sin()]
            };
            let half = count / 2;
            let inner: Vec<_> = (0..half).rev().map(|k| at(k, 1.0)).collect();
            flat(&(0..half).map(|k| at(k, 1.2)).chain(inner).collect::<Vec<_>>())
        };
        assert!(matches!(cut(&spiral(1024)), Cut::Ears(_)));
        assert_eq!(cut(&spiral(1026)), Cut::Twisted);
    }
}
