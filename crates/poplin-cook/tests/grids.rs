//! Cooking of grids: the edges of each kind are exactly those of a classical grid cloth.

use std::collections::BTreeSet;

use poplin_cook::{CookOptions, Cooked, Direction, Tethers, cook};
use poplin_model::{Mesh, PhaseKind};

type Pairs = BTreeSet<[u32; 2]>;

fn pairs_of(cooked: &Cooked, kinds: &[PhaseKind]) -> Pairs {
    let edge_kinds = cooked.fabric.edge_kinds();
    let edges = cooked.fabric.edges().filter(|&(edge, _)| kinds.contains(&edge_kinds[edge]));
    edges.map(|(_, [a, b])| [a.min(b), a.max(b)]).collect()
}

/// Returns all pairs of a grid that are `columns` and `rows` apart (both diagonals) and are not
/// both in `pins`.
fn pairs_apart(count: u32, columns: u32, rows: u32, pins: &[u32]) -> Pairs {
    let mut pairs = Pairs::new();
    for row in 0..count - rows {
        for column in 0..count - columns {
            let [a, b] = [row * count + column, (row + rows) * count + column + columns];
            pairs.insert([a, b]);
            let [a, b] = [row * count + column + columns, (row + rows) * count + column];
            pairs.insert([a.min(b), a.max(b)]);
        }
    }
    pairs.retain(|pair| !pair.iter().all(|end| pins.contains(end)));
    pairs
}

fn union(a: Pairs, b: Pairs) -> Pairs {
    a.union(&b).copied().collect()
}

fn hanging(mut mesh: Mesh) -> Mesh {
    mesh.positions.iter_mut().for_each(|p| *p = [p[0], -p[2], 0.0]);
    mesh
}

fn triangulated(mut mesh: Mesh) -> Mesh {
    (mesh.triangles, mesh.quads) = (mesh.triangulated(), Vec::new());
    mesh
}

/// A grid of triangles whose diagonals alternate from quad to quad.
fn diamonds(count: u32) -> Mesh {
    let mut mesh = Mesh::grid(count, count, 1.0, 1.0);
    for (index, &[a, b, c, d]) in mesh.quads.iter().enumerate() {
        let (row, column) = (index as u32 / (count - 1), index as u32 % (count - 1));
        let split = if (row + column).is_multiple_of(2) {
            [[a, b, c], [c, d, a]]
        } else {
            [[b, c, d], [d, a, b]]
        };
        mesh.triangles.extend(split);
    }
    mesh.quads.clear();
    mesh
}

const STRETCH: [PhaseKind; 2] = [PhaseKind::Horizontal, PhaseKind::Vertical];

fn assert_grid_kinds(cooked: &Cooked, count: u32, pins: &[u32]) {
    let apart = |columns, rows| pairs_apart(count, columns, rows, pins);
    assert_eq!(pairs_of(cooked, &STRETCH), union(apart(1, 0), apart(0, 1)));
    assert_eq!(pairs_of(cooked, &[PhaseKind::Vertical]), apart(0, 1));
    assert_eq!(pairs_of(cooked, &[PhaseKind::Shearing]), apart(1, 1));
    assert_eq!(pairs_of(cooked, &[PhaseKind::Bending]), union(apart(2, 0), apart(0, 2)));
}

#[test]
fn horizontal_quad_grid_has_the_classical_edges() {
    for (count, edge_count) in [(8, 306), (16, 1378)] {
        let pins = vec![0, count - 1];
        let cooked = cook(
            &Mesh::grid(count, count, 0.7, 0.7),
            &CookOptions { pins: pins.clone(), ..Default::default() },
        );
        let cooked = cooked.unwrap();
        assert_grid_kinds(&cooked, count, &pins);
        assert_eq!(cooked.report.edge_count(), edge_count);
    }
}

#[test]
fn hanging_grid_has_no_edges_between_pins() {
    let pins: Vec<u32> = (0..12).collect();
    let cooked = cook(
        &hanging(Mesh::grid(12, 12, 1.1, 1.1)),
        &CookOptions { pins: pins.clone(), ..Default::default() },
    );
    let cooked = cooked.unwrap();
    assert_grid_kinds(&cooked, 12, &pins);
    let counts = PhaseKind::ALL.map(|kind| cooked.report.edge_count_of(kind));
    assert_eq!(counts, [230, 242, 121, 132]);
}

#[test]
fn triangulated_grid_cooks_like_the_quad_grid() {
    for mesh in [triangulated(Mesh::grid(9, 9, 1.0, 1.0)), diamonds(9)] {
        assert_grid_kinds(&cook(&mesh, &CookOptions::default()).unwrap(), 9, &[]);
    }
}

#[test]
fn diagonals_have_bending_edges_without_quadify() {
    let options = CookOptions { quadify: false, pins: vec![0, 15], ..Default::default() };
    let cooked = cook(&diamonds(16), &options).unwrap();
    let counts = PhaseKind::ALL.map(|kind| cooked.report.edge_count_of(kind));
    assert_eq!(counts, [448 + 2 * 98, 450, 240, 240]);
    let bending = pairs_of(&cooked, &[PhaseKind::Bending]);
    assert!(bending.is_superset(&union(pairs_apart(16, 2, 0, &[]), pairs_apart(16, 0, 2, &[]))));
    assert!(bending.is_subset(
        &[(2, 0), (0, 2), (2, 2)].iter().fold(Pairs::new(), |all, &(columns, rows)| {
            union(all, pairs_apart(16, columns, rows, &[]))
        })
    ));
}

#[test]
fn vertical_fibers_are_columns() {
    let count = 10;
    let mut lying = Mesh::grid(count, count, 1.0, 1.0);
    let mut texture = hanging(lying.clone());
    texture.uvs.iter_mut().for_each(|uv| *uv = [uv[1], uv[0]]);
    lying.uvs.clear();
    let gravity = CookOptions::default();
    let by_texture = CookOptions { direction: Direction::Uv, ..Default::default() };
    for (mesh, options, step) in [
        (&lying, &gravity, count),
        (&hanging(lying.clone()), &gravity, count),
        (&texture, &by_texture, 1),
    ] {
        let cooked = cook(mesh, options).unwrap();
        let phase =
            cooked.fabric.phases.iter().find(|phase| phase.kind == PhaseKind::Vertical).unwrap();
        assert_eq!(phase.set_end - phase.set_begin, 1, "columns share nothing");
        let fibers = cooked.fabric.set_fiber_begin[phase.set_begin as usize]
            ..cooked.fabric.set_fiber_begin[phase.set_end as usize];
        assert_eq!(fibers.len(), count as usize);
        for fiber in fibers {
            let vertices = cooked.fabric.fiber_vertices(fiber as usize);
            assert!(vertices.windows(2).all(|pair| pair[1] == pair[0] + step), "{vertices:?}");
            assert_eq!(vertices.len(), count as usize);
        }
    }
}

#[test]
fn fibers_of_one_edge_need_as_few_sets_as_graph_colouring() {
    let options = CookOptions { max_fiber_length: Some(1), ..Default::default() };
    let cooked = cook(&hanging(Mesh::grid(32, 32, 1.0, 1.0)), &options).unwrap();
    let sets: Vec<usize> = cooked.report.phases.iter().map(|phase| phase.set_count).collect();
    assert_eq!(sets, [4, 4, 2, 2]);
    assert_eq!(
        (cooked.report.longest_fiber, cooked.report.fiber_count()),
        (1, cooked.report.edge_count())
    );
}

#[test]
fn phases_come_in_the_order_of_all_kinds() {
    let cooked = cook(&Mesh::grid(5, 5, 1.0, 1.0), &CookOptions::default()).unwrap();
    assert_eq!(
        cooked.fabric.phases.iter().map(|phase| phase.kind).collect::<Vec<_>>(),
        PhaseKind::ALL
    );
    let without =
        cook(&Mesh::grid(5, 5, 1.0, 1.0), &CookOptions { bending: false, ..Default::default() })
            .unwrap();
    assert_eq!(
        without.fabric.phases.iter().map(|phase| phase.kind).collect::<Vec<_>>(),
        PhaseKind::ALL[1..]
    );
}

#[test]
fn edges_take_the_smaller_stiffness_of_their_ends() {
    let mesh = Mesh::grid(4, 4, 1.0, 1.0);
    let vertex_stiffness: Vec<f32> = (0..16).map(|k| 0.05 + 0.06 * k as f32).collect();
    let cooked = cook(
        &mesh,
        &CookOptions { vertex_stiffness: vertex_stiffness.clone(), ..Default::default() },
    )
    .unwrap();
    for (edge, [a, b]) in cooked.fabric.edges() {
        let smaller = vertex_stiffness[a as usize].min(vertex_stiffness[b as usize]);
        assert!((cooked.fabric.edge_stiffness_log2[edge] - (1.0 - smaller).log2()).abs() < 1e-6);
    }
    let stiff = cook(&mesh, &CookOptions { vertex_stiffness: vec![1.0; 16], ..Default::default() })
        .unwrap();
    assert!(stiff.fabric.edge_stiffness_log2.iter().all(|&value| value == -128.0));
}

#[test]
fn tethers_go_to_each_corner_nearest_first() {
    let mesh = Mesh::grid(8, 8, 0.7, 0.7);
    let options = CookOptions { pins: vec![0, 7], ..Default::default() };
    let fabric = cook(&mesh, &options).unwrap().fabric;
    assert_eq!(fabric.tethers_per_particle, 2);
    assert_eq!(fabric.tether_anchors[..8], [0, 0, 0, 0, 7, 7, 7, 7]);
    // Pins are tethered only to themselves: pins that are moved apart must stay where they are put.
    assert_eq!(fabric.tether_anchors[64..72], [0, 7, 7, 7, 0, 0, 0, 7]);
    for (k, (&anchor, &length)) in
        fabric.tether_anchors.iter().zip(&fabric.tether_lengths).enumerate()
    {
        let [a, b] = [mesh.positions[k % 64], mesh.positions[anchor as usize]];
        assert!((length - (a[0] - b[0]).hypot(a[2] - b[2])).abs() < 1e-6);
    }
}

#[test]
fn pinned_row_is_one_island_with_one_tether_per_particle() {
    let pins: Vec<u32> = (0..8).collect();
    let mesh = hanging(Mesh::grid(8, 8, 0.7, 0.7));
    for tethers in [Tethers::Geodesic, Tethers::Euclidean] {
        let cooked =
            cook(&mesh, &CookOptions { pins: pins.clone(), tethers, ..Default::default() })
                .unwrap();
        assert_eq!((cooked.report.island_count, cooked.fabric.tethers_per_particle), (1, 1));
        let columns: Vec<u32> = (0..64).map(|k| k % 8).collect();
        assert_eq!(cooked.fabric.tether_anchors, columns, "{tethers:?}");
    }
    let none =
        cook(&mesh, &CookOptions { pins, tethers: Tethers::None, ..Default::default() }).unwrap();
    assert_eq!(none.fabric.tethers_per_particle, 0);
}

#[test]
fn tethers_go_only_to_the_nearest_islands() {
    let count = 30;
    // 100 single pins, two rows and columns apart.
    let pins: Vec<u32> = (0..100).map(|k| (k / 10 * 3) * count + (k % 10) * 3).collect();
    let mesh = Mesh::grid(count, count, 2.9, 2.9);
    let options =
        CookOptions { pins: pins.clone(), max_tethers_per_particle: 3, ..Default::default() };
    let cooked = cook(&mesh, &options).unwrap();
    assert_eq!((cooked.report.island_count, cooked.fabric.tethers_per_particle), (100, 3));
    let particle_count = (count * count) as usize;
    for particle in 0..particle_count {
        let at = |k: u32| glam::Vec3::from(mesh.positions[k as usize]);
        let mut distances: Vec<f32> =
            pins.iter().map(|&pin| at(pin).distance(at(particle as u32))).collect();
        distances.sort_by(f32::total_cmp);
        if pins.contains(&(particle as u32)) {
            distances.fill(0.0);
        }
        for (k, expected) in distances[..3].iter().enumerate() {
            let length = cooked.fabric.tether_lengths[k * particle_count + particle];
            assert!(
                (length - expected).abs() < 1e-5,
                "particle {particle}, tether {k}: {length} is not {expected}"
            );
        }
    }
}
