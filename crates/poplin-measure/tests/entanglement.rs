//! Close pairs and crossings against known counts, and against brute force over all pairs in
//! integers.

use poplin_geometry::Rng;
use poplin_measure::entanglement::{Entanglement, EntanglementCounter};
use poplin_model::Mesh;

/// Triangle in the plane `y = 0` whose interior contains (1, 0, 1).
const FLAT: [[f32; 3]; 3] = [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 0.0, 4.0]];

/// Crossings of two triangles without a common particle.
fn crossings_of(a: [[f32; 3]; 3], b: [[f32; 3]; 3]) -> usize {
    let positions = [a, b].concat();
    EntanglementCounter::new(&positions, &[[0, 1, 2], [3, 4, 5]], &[]).crossings(&positions)
}

/// Coordinates as integers in units of 2^-24, exact for the random triangles of these tests.
fn exact(point: [f32; 3]) -> [i128; 3] {
    point.map(|x| {
        let scaled = f64::from(x) * (1 << 24) as f64;
        assert_eq!(scaled.fract(), 0.0, "{x} has finer bits");
        scaled as i128
    })
}

/// Sign of the volume of a tetrahedron, in integers.
fn side(a: [f32; 3], b: [f32; 3], c: [f32; 3], d: [f32; 3]) -> i128 {
    let [a, b, c, d] = [a, b, c, d].map(exact);
    let [u, v, w]: [[i128; 3]; 3] =
        [a, b, c].map(|corner| std::array::from_fn(|k| corner[k] - d[k]));
    let minor = |i: usize, j: usize| v[i] * w[j] - v[j] * w[i];
    (u[0] * minor(1, 2) + u[1] * minor(2, 0) + u[2] * minor(0, 1)).signum()
}

/// Crossings of every edge with every triangle.
fn brute_crossings(positions: &[[f32; 3]], triangles: &[[u32; 3]]) -> usize {
    let mut edges: Vec<[u32; 2]> =
        triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [a, c]]).collect();
    edges.iter_mut().for_each(|edge| edge.sort_unstable());
    edges.sort_unstable();
    edges.dedup();
    let at = |particle: u32| positions[particle as usize];
    let crosses = |&[p, q]: &[u32; 2], &[a, b, c]: &[u32; 3]| {
        let apart = [p, q].iter().all(|end| ![a, b, c].contains(end));
        let [p, q, a, b, c] = [p, q, a, b, c].map(at);
        let crossings = side(p, q, a, b) + side(p, q, b, c) + side(p, q, c, a);
        apart && side(a, b, c, p) * side(a, b, c, q) == -1 && crossings.abs() == 3
    };
    edges
        .iter()
        .map(|edge| triangles.iter().filter(|triangle| crosses(edge, triangle)).count())
        .sum()
}

/// Random corners of 50 triangles over as many points.
fn random_triangles(rng: &mut Rng) -> Vec<[u32; 3]> {
    (0..50).map(|_| std::array::from_fn(|_| rng.index(50) as u32)).collect()
}

/// Sum of the crossings of seeded triangle soups, each compared with brute force.
fn soups(seeds: std::ops::Range<u64>, point: impl Fn(&mut Rng) -> [f32; 3]) -> usize {
    let crossings = |seed| {
        let mut rng = Rng::new(seed);
        let positions: Vec<_> = (0..50).map(|_| point(&mut rng)).collect();
        let triangles = random_triangles(&mut rng);
        let count = EntanglementCounter::new(&positions, &triangles, &[]).crossings(&positions);
        assert_eq!(count, brute_crossings(&positions, &triangles), "seed {seed}");
        count
    };
    seeds.map(crossings).sum()
}

#[test]
fn an_edge_through_a_triangle_is_one_crossing() {
    assert_eq!(crossings_of(FLAT, [[1.0, -1.0, 1.0], [1.0, 1.0, 1.0], [9.0, 1.0, 9.0]]), 2);
    assert_eq!(crossings_of(FLAT, [[1.0, -1.0, 1.0], [1.0, 1.0, 1.0], [-9.0, 1.0, 1.0]]), 2);
    // A small triangle that cuts a side of the large one: each has an edge through the other.
    assert_eq!(crossings_of(FLAT, [[2.0, -1.0, 1.0], [2.0, 3.0, 1.0], [2.0, -1.0, -9.0]]), 2);
    assert_eq!(crossings_of(FLAT, [[5.0, -1.0, 5.0], [5.0, 1.0, 5.0], [9.0, 1.0, 9.0]]), 0);
}

#[test]
fn touching_is_not_crossing() {
    let above = |tip| crossings_of(FLAT, [tip, [1.0, 1.0, 1.0], [1.0, 1.0, 2.0]]);
    assert_eq!(above([1.0, 0.0, 1.0]), 0, "end inside");
    assert_eq!(above([1.0, -f32::MIN_POSITIVE, 1.0]), 2, "end barely through");
    assert_eq!(above([2.0, 0.0, 0.0]), 0, "end on a side");
    let through = |x, z| crossings_of(FLAT, [[x, -1.0, z], [x, 1.0, z], [x - 9.0, 1.0, z - 9.0]]);
    assert_eq!(through(0.0, 0.0), 0, "corner");
    assert_eq!(through(2.0, 2.0), 0, "side through side");
    assert_eq!(through(1.999, 1.999), 1, "barely inside");
    assert_eq!(
        crossings_of(FLAT, [[1.0, 0.0, 1.0], [9.0, 0.0, 1.0], [9.0, 0.0, 9.0]]),
        0,
        "one plane"
    );
    assert_eq!(crossings_of(FLAT, FLAT), 0, "one position");
    assert_eq!(
        crossings_of([[1.0, 0.0, 1.0], [2.0, 0.0, 1.0], [3.0, 0.0, 1.0]], [[2.0, -1.0, 1.0]; 3]),
        0,
        "no area"
    );
}

#[test]
fn triangles_with_a_common_particle_do_not_cross_there() {
    let positions = [FLAT.as_slice(), &[[1.0, -1.0, 1.0], [1.0, 1.0, 1.0]]].concat();
    let crossings = |triangles: &[[u32; 3]]| {
        EntanglementCounter::new(&positions, triangles, &[]).crossings(&positions)
    };
    // The edge 3-4 crosses; the edges to the common corner only touch.
    assert_eq!(crossings(&[[0, 1, 2], [0, 3, 4]]), 1);
    assert_eq!(crossings(&[[0, 1, 2], [0, 1, 4]]), 0);
    // An edge shared by two triangles counts once.
    assert_eq!(crossings(&[[0, 1, 2], [0, 3, 4], [1, 4, 3]]), 1);
}

#[test]
fn parallel_sheets_are_close_but_do_not_cross() {
    let sheet = Mesh::grid(5, 4, 4.0, 3.0);
    let lower = sheet.triangulated();
    let triangles =
        [lower.clone(), lower.iter().map(|corners| corners.map(|corner| corner + 20)).collect()]
            .concat();
    let raised = |y: f32| {
        [sheet.positions.clone(), sheet.positions.iter().map(|[x, _, z]| [*x, y, *z]).collect()]
            .concat()
    };
    let rest = raised(0.25);
    let cloths = EntanglementCounter::new(&rest, &triangles, &[20, 40]);
    let found = cloths.measure(&rest, 0.5, 2.0);
    assert_eq!(found, Entanglement { close_pairs: 20, nearest_pair_m: 0.25, crossings: 0 });
    // A pair exactly at the distance is not closer, neither now nor at rest.
    assert_eq!(cloths.close_pairs(&rest, 0.25, 2.0), (0, f64::INFINITY));
    assert_eq!(cloths.close_pairs(&rest, 0.25_f64.next_up(), 2.0), (20, 0.25));
    let one = EntanglementCounter::new(&rest, &triangles, &[]);
    assert_eq!(one.close_pairs(&rest, 0.5, 0.25_f64.next_up()), (0, f64::INFINITY));
    assert_eq!(one.close_pairs(&rest, 0.5, 0.25), (20, 0.25));
    assert_eq!(one.close_pairs(&rest, 0.5, -1.0), (20, 0.25));
    // Along a row and up to the other sheet: 31 sides of quads.
    assert_eq!(one.close_pairs(&raised(0.0), 1.0, 0.0), (20, 0.0));
    assert_eq!(one.close_pairs(&raised(8.0), 1.0_f64.next_up(), 0.0), (2 * 31, 1.0));
    // Particles xyzw count as well.
    let particles: Vec<[f32; 4]> = rest.iter().map(|&[x, y, z]| [x, y, z, 77.0]).collect();
    assert_eq!(cloths.measure(&particles, 0.5, 2.0), found);
}

#[test]
fn folded_sheet_crosses_once_per_edge_over_the_cut() {
    const ROWS: u32 = 9;
    // Seen along z, the sheet goes right, up, and back down through its first column of quads, at
    // 3/4 of that column and half of its last. The rows there are 0.3 higher: the first column's
    // rows cross the cut at z = j and its diagonals at j + 0.75, the last column's at j + 0.3 and j
    // + 0.8. All except the first and the last meet the interior of a triangle.
    let profile = [[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.3], [0.0, -1.0, 0.3]];
    let sheet = Mesh::grid(4, ROWS, 3.0, 8.0);
    let counter = EntanglementCounter::new(&sheet.positions, &sheet.triangulated(), &[]);
    assert_eq!(counter.crossings(&sheet.positions), 0);
    let position =
        |i: usize| [profile[i % 4][0], profile[i % 4][1], profile[i % 4][2] + (i / 4) as f32];
    let folded: Vec<[f32; 3]> = (0..sheet.positions.len()).map(position).collect();
    assert_eq!(counter.crossings(&folded), 4 * (ROWS as usize - 1));
}

#[test]
fn triangle_soups_match_brute_force() {
    assert!(soups(0..20, |rng| rng.point(-1.0, 1.0)) > 1000);
    // Two distant planes of points; a few triangles span both.
    assert!(
        soups(20..25, |rng| [rng.range(0.0, 1.0), rng.range(0.0, 1.0), rng.index(2) as f32 * 64.0])
            > 100
    );
}

#[test]
fn lattice_soups_match_brute_force() {
    assert!(soups(100..140, |rng| std::array::from_fn(|_| rng.index(4) as f32)) > 1000);
}

#[test]
fn nearly_coplanar_soups_match_brute_force() {
    let off_plane = |rng: &mut Rng| {
        let [x, y] = [rng.range(0.0, 1.0), rng.range(0.0, 1.0)];
        let z = 0.3 * x + 0.6 * y;
        [x, y, (z * (1 << 24) as f32).round() / (1 << 24) as f32]
    };
    assert!(soups(200..240, off_plane) > 1000);
}

#[test]
fn small_triangles_of_a_large_soup_are_found() {
    let mut rng = Rng::new(300);
    let mut positions = Vec::new();
    for _ in 0..600 {
        let middle = rng.point(-1.0, 1.0);
        positions.extend([(); 3].map(|()| {
            let offset = rng.point(-0.125, 0.125);
            std::array::from_fn::<f32, 3, _>(|k| {
                ((middle[k] + offset[k]) * 65536.0).round() / 65536.0
            })
        }));
    }
    let triangles: Vec<[u32; 3]> = (0..600).map(|k| [3 * k, 3 * k + 1, 3 * k + 2]).collect();
    let count = EntanglementCounter::new(&positions, &triangles, &[]).crossings(&positions);
    assert!(count > 50, "{count}");
    assert_eq!(count, brute_crossings(&positions, &triangles));
}

#[test]
fn close_pairs_match_brute_force() {
    for seed in 400..420 {
        let mut rng = Rng::new(seed);
        let [rest, positions]: [Vec<[f32; 3]>; 2] =
            [(); 2].map(|()| (0..200).map(|_| rng.point(-1.0, 1.0)).collect());
        let (distance, neighbour_distance) =
            (f64::from(rng.range(0.05, 1.5)), f64::from(rng.range(0.5, 1.5)));
        let apart = |positions: &[[f32; 3]], a: usize, b: usize| {
            let square: f64 = (0..3)
                .map(|k| (f64::from(positions[a][k]) - f64::from(positions[b][k])).powi(2))
                .sum();
            square.sqrt()
        };
        let cloth = |particle: usize| (particle >= 50) as u32 + (particle >= 120) as u32;
        let pairs = (0..200).flat_map(|a| (a + 1..200).map(move |b| (a, b)));
        let strange = pairs
            .filter(|&(a, b)| cloth(a) != cloth(b) || apart(&rest, a, b) >= neighbour_distance);
        let close: Vec<_> = strange
            .map(|(a, b)| apart(&positions, a, b))
            .filter(|&apart| apart < distance)
            .collect();
        let expected = (close.len(), close.iter().copied().fold(f64::INFINITY, f64::min));
        let counter = EntanglementCounter::new(&rest, &[], &[50, 120, 200]);
        assert_eq!(
            counter.close_pairs(&positions, distance, neighbour_distance),
            expected,
            "seed {seed}"
        );
    }
}

#[test]
fn positions_that_are_not_finite_do_not_count() {
    let mut positions = [FLAT, [[1.0, -1.0, 1.0], [1.0, 1.0, 1.0], [9.0, 1.0, 9.0]]].concat();
    let counter = EntanglementCounter::new(&positions, &[[0, 1, 2], [3, 4, 5]], &[3, 6]);
    assert_eq!(counter.measure(&positions, 2.0, 0.0).crossings, 2);
    assert_eq!(counter.close_pairs(&positions, f64::INFINITY, f64::INFINITY).0, 9);
    for (broken, crossings, pairs) in
        [(f32::NAN, 1, 6), (f32::INFINITY, 1, 6), (f32::NEG_INFINITY, 1, 6)]
    {
        positions[5][1] = broken;
        assert_eq!(counter.crossings(&positions), crossings, "the edge without it stays");
        assert_eq!(counter.close_pairs(&positions, f64::INFINITY, f64::INFINITY).0, pairs);
    }
    assert_eq!(counter.measure(&[[f32::NAN; 3]; 6], 1.0, 0.0).crossings, 0);
    assert_eq!(counter.close_pairs(&[[0.0; 3]; 6], f64::NAN, 0.0), (0, f64::INFINITY));
    assert_eq!(counter.close_pairs(&[[0.0; 3]; 6], -1.0, 0.0), (0, f64::INFINITY));
}

#[test]
fn crossings_do_not_depend_on_scale() {
    let tip = [[1.0, -1.0, 1.0], [1.0, 1.0, 1.0], [9.0, 1.0, 9.0]];
    for scale in [f32::MIN_POSITIVE, 1e-45, 1e37] {
        let [a, b] = [FLAT, tip]
            .map(|corners: [[f32; 3]; 3]| corners.map(|corner| corner.map(|x| x * scale)));
        assert_eq!(crossings_of(a, b), 2, "{scale}");
    }
    assert_eq!(
        EntanglementCounter::new(&[], &[], &[]).measure::<3>(&[], 1.0, 1.0).nearest_pair_m,
        f64::INFINITY
    );
}

#[test]
#[should_panic(expected = "positions and rest positions")]
fn different_particle_count_panics() {
    let _ = EntanglementCounter::new(&FLAT, &[], &[]).crossings(&[[0.0_f32; 3]]);
}
