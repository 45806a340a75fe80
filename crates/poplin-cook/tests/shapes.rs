//! Cooking of unusual meshes: closed, torn, folded, tiny, broken. All yield a valid fabric or a
//! clear error.

use poplin_cook::{CookError, CookOptions, Cooked, Direction, Tethers, Weld, cook};
use poplin_model::{Mesh, ModelError, PhaseKind};

fn mesh(positions: &[[f32; 3]], triangles: &[[u32; 3]]) -> Mesh {
    Mesh { positions: positions.to_vec(), triangles: triangles.to_vec(), ..Mesh::default() }
}

/// Cooks a mesh and checks the invariants of every fabric.
fn cook_checked(mesh: &Mesh, options: &CookOptions) -> Cooked {
    let cooked = cook(mesh, options).expect("the mesh cooks");
    cooked.clone().into_cloth().validate().expect("the cloth is valid");
    assert_eq!(cooked.fabric.edge_count(), cooked.report.edge_count());
    cooked
}

fn pinned(pins: &[u32]) -> CookOptions {
    CookOptions { pins: pins.to_vec(), ..CookOptions::default() }
}

const TRIANGLE: [[f32; 3]; 3] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];

#[test]
fn one_triangle_cooks() {
    let cooked = cook_checked(&mesh(&TRIANGLE, &[[0, 1, 2]]), &pinned(&[0]));
    assert_eq!((cooked.report.edge_count(), cooked.report.boundary_edge_count), (3, 3));
    assert_eq!(
        cooked.report.edge_count_of(PhaseKind::Shearing),
        0,
        "without its edges a triangle could stretch"
    );
}

#[test]
fn closed_surface_has_no_boundary() {
    // An octahedron.
    let positions =
        [[1., 0., 0.], [-1., 0., 0.], [0., 1., 0.], [0., -1., 0.], [0., 0., 1.], [0., 0., -1.]];
    let triangles =
        [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]];
    let cooked = cook_checked(&mesh(&positions, &triangles), &pinned(&[2]));
    assert_eq!((cooked.report.boundary_edge_count, cooked.report.component_count), (0, 1));
    // The path from top to bottom crosses two faces and the middle of an edge.
    let path = 2.0 * (1.5f32).sqrt();
    assert!(
        (cooked.fabric.tether_lengths[3] - path).abs() < 0.03 * path,
        "{}",
        cooked.fabric.tether_lengths[3]
    );
}

#[test]
fn tube_has_rings_as_horizontal_loops() {
    let cooked =
        cook_checked(&Mesh::tube(12, 6, 0.2, 0.3, 0.8), &pinned(&(0..12).collect::<Vec<_>>()));
    let counts = PhaseKind::ALL.map(|kind| cooked.report.edge_count_of(kind));
    assert_eq!(counts, [12 * 4 + 12 * 5, 120, 60, 60]);
    for fiber in 0..cooked.fabric.fiber_count() {
        let mut vertices = cooked.fabric.fiber_vertices(fiber).to_vec();
        vertices.sort_unstable();
        assert!(
            vertices.windows(2).all(|pair| pair[0] != pair[1]),
            "no fiber visits a vertex twice"
        );
    }
}

#[test]
fn non_manifold_mesh_gets_euclidean_tethers() {
    let positions = [[0., 0., 0.], [1., 0., 0.], [0., 0., 1.], [0., 1., 0.], [0., -1., 0.1]];
    let cooked =
        cook_checked(&mesh(&positions, &[[0, 1, 2], [0, 1, 3], [1, 0, 4]]), &pinned(&[2, 3]));
    assert_eq!((cooked.report.non_manifold_edge_count, cooked.report.island_count), (1, 2));
    assert_eq!(cooked.fabric.tethers_per_particle, 1);
    assert_eq!(cooked.fabric.tether_anchors[2..4], [2, 3]);
    assert!(cooked.report.to_string().contains("1 edges of 3 or more faces"));
}

#[test]
fn unpinned_part_has_no_acting_tethers() {
    let mut two = Mesh::grid(3, 3, 1.0, 1.0);
    two.positions.extend([[5.0, 0.0, 0.0], [6.0, 0.0, 0.0], [5.0, 0.0, 1.0]]);
    two.uvs.clear();
    two.triangles.push([9, 10, 11]);
    let cooked = cook_checked(&two, &pinned(&[0]));
    assert_eq!(cooked.report.component_count, 2);
    assert_eq!(cooked.fabric.tether_anchors[9..], [9, 10, 11]);
    assert_eq!(cooked.fabric.tether_lengths[9..], [0.0; 3]);
}

#[test]
fn t_junction_cooks_as_a_boundary() {
    let positions =
        [[0., 0., 0.], [2., 0., 0.], [1., 0., 1.], [1., 0., 0.], [0., 0., -1.], [2., 0., -1.]];
    let cooked = cook_checked(
        &mesh(&positions, &[[0, 1, 2], [3, 0, 4], [1, 3, 5], [3, 4, 5]]),
        &pinned(&[2]),
    );
    assert_eq!(cooked.report.non_manifold_edge_count, 0);
    assert!(cooked.report.boundary_edge_count >= 5);
}

#[test]
fn everything_pinned_leaves_no_edges() {
    let cooked = cook_checked(&Mesh::grid(3, 3, 1.0, 1.0), &pinned(&(0..9).collect::<Vec<_>>()));
    assert_eq!(
        (cooked.report.edge_count(), cooked.fabric.phases.len(), cooked.report.pinned_count),
        (0, 0, 9)
    );
    assert_eq!(cooked.fabric.tether_lengths, [0.0; 9]);
}

#[test]
fn nothing_pinned_gives_no_tethers() {
    for tethers in [Tethers::Geodesic, Tethers::Euclidean, Tethers::None] {
        let cooked = cook_checked(
            &Mesh::grid(3, 3, 1.0, 1.0),
            &CookOptions { tethers, ..CookOptions::default() },
        );
        assert_eq!((cooked.fabric.tethers_per_particle, cooked.report.island_count), (0, 0));
    }
}

#[test]
fn welded_seams_map_every_vertex_to_a_particle() {
    // Two quads that share a side in space but not in indices, as at texture seams.
    let mut seam = Mesh::grid(2, 2, 1.0, 1.0);
    let right: Vec<[f32; 3]> = seam.positions.iter().map(|p| [p[0] + 1.0, p[1], p[2]]).collect();
    seam.positions.extend(right);
    seam.positions.push([9.0; 3]);
    seam.quads.push([4, 6, 7, 5]);
    seam.uvs.clear();
    let cooked = cook_checked(&seam, &pinned(&[4]));
    assert_eq!(
        cooked.vertex_to_particle,
        [0, 1, 2, 3, 1, 4, 3, 5, 9].map(|p| (p < 9).then_some(p))
    );
    assert_eq!((cooked.report.welded_vertex_count, cooked.report.dropped_vertex_count), (2, 1));
    assert_eq!(cooked.particles[1].inverse_mass, 0.0, "a pin on either side of the seam pins both");
    let torn = cook_checked(&seam, &CookOptions { weld: Weld::Off, ..pinned(&[8]) });
    assert_eq!((torn.report.component_count, torn.report.dropped_pin_count), (2, 1));
}

#[test]
fn tetrahedron_has_every_edge_once() {
    let positions = [[0., 0., 0.], [1., 0., 0.], [0., 1., 0.], [0., 0., 1.]];
    let cooked = cook_checked(
        &mesh(&positions, &[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]),
        &pinned(&[]),
    );
    assert_eq!(cooked.report.edge_count(), 6);
}

#[test]
fn mirrored_texture_islands_keep_their_columns() {
    let mut grid = Mesh::grid(6, 6, 1.0, 1.0);
    grid.uvs.iter_mut().for_each(|uv| uv[1] = (uv[1] - 0.4).abs());
    let cooked =
        cook_checked(&grid, &CookOptions { direction: Direction::Uv, ..CookOptions::default() });
    assert_eq!(cooked.report.edge_count_of(PhaseKind::Vertical), 30);
}

#[test]
fn rejects_bad_options_by_name() {
    let grid = Mesh::grid(2, 2, 1.0, 1.0);
    let default = CookOptions::default;
    let cases: [(CookOptions, &str); 13] = [
        (CookOptions { density: f32::NAN, ..default() }, "cook option density = NaN is outside"),
        (
            CookOptions { density: -1.0, ..default() },
            "cook option density = -1 is outside 0.000000001..=1000000000 kg/m^2",
        ),
        (
            CookOptions { weld: Weld::Distance(f32::INFINITY), ..default() },
            "cook option weld.distance = inf is outside 0..=1000000000000000 m",
        ),
        (
            CookOptions { weld: Weld::Relative(-0.5), ..default() },
            "cook option weld.relative = -0.5",
        ),
        (CookOptions { gravity: [0.0; 3], ..default() }, "must be finite and not zero"),
        (CookOptions { gravity: [f32::NAN, 1.0, 0.0], ..default() }, "must be finite"),
        (
            CookOptions { pins: vec![1, u32::MAX], ..default() },
            "cook option pins[1] is 4294967295, but the mesh has only 4",
        ),
        (
            CookOptions { max_fiber_length: Some(0), ..default() },
            "cook option max_fiber_length = 0 is outside 1..=",
        ),
        (CookOptions { max_turn: -0.1, ..default() }, "cook option max_turn"),
        (
            CookOptions { max_tethers_per_particle: 0, ..default() },
            "cook option max_tethers_per_particle = 0",
        ),
        (
            CookOptions { masses: Some(vec![1.0; 3]), ..default() },
            "cook option masses has 3 entries; the mesh has 4",
        ),
        (
            CookOptions { masses: Some(vec![1.0, f32::NAN, 1.0, 1.0]), ..default() },
            "cook option masses[1] = NaN",
        ),
        (
            CookOptions { vertex_stiffness: vec![0.0, 2.0, 0.0, 0.0], ..default() },
            "cook option vertex_stiffness[1] = 2",
        ),
    ];
    for (options, expected) in cases {
        let error = cook(&grid, &options).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let bare = Mesh { uvs: Vec::new(), ..grid };
    assert_eq!(
        cook(&bare, &CookOptions { direction: Direction::Uv, ..default() }).unwrap_err(),
        CookError::NoUvs
    );
}

#[test]
fn rejects_bad_meshes_with_the_position() {
    let default = CookOptions::default();
    let error = cook(&Mesh::default(), &default).unwrap_err();
    assert_eq!(error, CookError::Model(ModelError::Empty { what: "mesh positions" }));
    let error = cook(&mesh(&TRIANGLE, &[[0, 1, u32::MAX]]), &default).unwrap_err();
    assert!(
        matches!(error, CookError::Model(ModelError::IndexOutOfRange { position: 2, .. })),
        "{error}"
    );
    let error =
        cook(&mesh(&[[f32::NAN; 3], [0.0; 3], [1.0; 3]], &[[0, 1, 2]]), &default).unwrap_err();
    assert!(matches!(error, CookError::Model(ModelError::NotFinite { index: 0, .. })), "{error}");
    let error = cook(&mesh(&TRIANGLE, &[[0, 1, 1]]), &default).unwrap_err();
    assert!(matches!(error, CookError::NoFaces { degenerate: 1, .. }), "{error}");
    let tiny = TRIANGLE.map(|p| p.map(|x| x * 1e-12));
    let error = cook(&mesh(&tiny, &[[0, 1, 2]]), &default).unwrap_err();
    assert!(matches!(error, CookError::MassOutOfRange { vertex: 0, .. }), "{error}");
    let error =
        cook(&mesh(&TRIANGLE, &[[0, 1, 2]]), &CookOptions { weld: Weld::Distance(2.0), ..default })
            .unwrap_err();
    assert!(error.to_string().ends_with("at weld distance 2 m"), "{error}");
}

#[test]
fn coordinates_at_the_limits_cook_or_are_rejected() {
    for scale in [1e-6f32, 1e6, 3e14, 1e15] {
        let huge = TRIANGLE.map(|p| p.map(|x| (x - 0.5) * 2.0 * scale));
        match cook(
            &mesh(&huge, &[[0, 1, 2]]),
            &CookOptions { masses: Some(vec![1.0; 3]), ..pinned(&[0]) },
        ) {
            Ok(cooked) => cooked.into_cloth().validate().unwrap(),
            Err(error) => {
                assert!(matches!(error, CookError::Model(ModelError::OutOfRange { .. })), "{error}")
            }
        }
    }
}
