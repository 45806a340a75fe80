use super::*;

#[derive(Debug, Clone, PartialEq)]
struct TriangleMesh {
    vertices: Vec<[f32; 3]>,
    triangles: Vec<[u32; 3]>,
}

fn close_surface(mesh: &TriangleMesh) -> Result<(TriangleMesh, Repairs), OpenSurface> {
    let closed = super::close_surface(&mesh.vertices, &mesh.triangles)?;
    let mesh = TriangleMesh { vertices: closed.positions, triangles: closed.triangles };
    Ok((mesh, closed.repairs))
}

/// Ball of quads with a pole of one vertex at each end, as triangles.
fn ball() -> TriangleMesh {
    let (rings, segments) = (9_u32, 16_u32);
    let mut vertices = vec![[0.0, 1.0, 0.0], [0.0, -1.0, 0.0]];
    for ring in 1..rings {
        let polar = std::f32::consts::PI * ring as f32 / rings as f32;
        for k in 0..segments {
            let angle = std::f32::consts::TAU * k as f32 / segments as f32;
            vertices.push([polar.sin() * angle.cos(), polar.cos(), polar.sin() * angle.sin()]);
        }
    }
    let at = |ring: u32, k: u32| 2 + (ring - 1) * segments + k % segments;
    let mut triangles = Vec::new();
    for k in 0..segments {
        triangles.push([0, at(1, k + 1), at(1, k)]);
        triangles.push([1, at(rings - 1, k), at(rings - 1, k + 1)]);
        for ring in 1..rings - 1 {
            let [a, b, c, d] = [at(ring, k), at(ring, k + 1), at(ring + 1, k), at(ring + 1, k + 1)];
            triangles.extend([[a, b, c], [b, d, c]]);
        }
    }
    TriangleMesh { vertices, triangles }
}

fn changed(mesh: &TriangleMesh, change: impl FnOnce(&mut Vec<[u32; 3]>)) -> TriangleMesh {
    let mut triangles = mesh.triangles.clone();
    change(&mut triangles);
    TriangleMesh { triangles, ..mesh.clone() }
}

fn volume(mesh: &TriangleMesh) -> f64 {
    let corner = |vertex: u32| wide(mesh.vertices[vertex as usize]);
    six_volumes(mesh.triangles.iter().map(|corners| corners.map(corner))) / 6.0
}

#[test]
fn a_closed_surface_is_unchanged() {
    assert!((3.5..4.2).contains(&volume(&ball())), "{}", volume(&ball()));
    let (mesh, repairs) = close_surface(&ball()).unwrap();
    assert_eq!((mesh, repairs), (ball(), Repairs::default()));
}

#[test]
fn triangles_that_face_the_wrong_way_are_flipped() {
    let all = ball().triangles.len();
    for flipped in [1, 7, all / 2 + 3, all] {
        let wrong = changed(&ball(), |triangles| {
            triangles[..flipped].iter_mut().for_each(|triangle| triangle.swap(1, 2));
        });
        let (mesh, repairs) = close_surface(&wrong).unwrap();
        assert_eq!(repairs, Repairs { flipped_triangles: flipped, ..Repairs::default() });
        assert_eq!(volume(&mesh), volume(&ball()));
    }
    let repairs = Repairs { flipped_triangles: 1, filled_holes: 2, ..Repairs::default() };
    assert_eq!(repairs.to_string(), "1 triangle flipped, 2 small holes filled");
}

#[test]
fn vertices_at_equal_positions_are_merged() {
    let sound = ball();
    let vertices: Vec<_> =
        sound.triangles.iter().flat_map(|t| t.map(|k| sound.vertices[k as usize])).collect();
    let triangles: Vec<_> =
        (0..sound.triangles.len() as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
    let soup = TriangleMesh { vertices, triangles };
    assert_eq!(close_surface(&soup).unwrap().1, Repairs::default());
}

#[test]
fn small_holes_are_filled_and_large_holes_are_located() {
    let (closed, repairs) = close_surface(&changed(&ball(), |t| {
        t.swap_remove(20);
    }))
    .unwrap();
    assert_eq!(repairs, Repairs { filled_holes: 1, ..Repairs::default() });
    assert_eq!(close_surface(&closed).unwrap().1, Repairs::default());
    assert!((volume(&closed) - volume(&ball())).abs() < 0.02);
    // Without all triangles above the equator.
    let bowl = changed(&ball(), |triangles| {
        triangles.retain(|t| t.iter().all(|&k| ball().vertices[k as usize][1] < 0.3));
    });
    let open = close_surface(&bowl).unwrap_err();
    assert_eq!((open.holes, open.hole_edges), (1, 16));
    assert!(open.near[0].abs() < 1e-6 && open.near[1] > 0.0, "{open}");
    let vertices = (0..16).map(|k| [(k % 4) as f32, 0.0, (k / 4) as f32]).collect();
    let firsts = (0..12).filter(|k| k % 4 < 3);
    let triangles = firsts.flat_map(|k| [[k, k + 4, k + 1], [k + 1, k + 4, k + 5]]).collect();
    let sheet = TriangleMesh { vertices, triangles };
    assert_eq!(close_surface(&sheet).unwrap_err().hole_edges, 12);
}

#[test]
fn cavities_stay_and_non_manifold_fins_are_rejected() {
    let inner: Vec<_> = ball().vertices.iter().map(|p| p.map(|x| 0.5 * x)).collect();
    let count = ball().vertices.len() as u32;
    let vertices: Vec<_> = ball().vertices.iter().copied().chain(inner).collect();
    let inwards =
        ball().triangles.iter().map(|&[a, b, c]| [a, c, b].map(|k| k + count)).collect::<Vec<_>>();
    let triangles: Vec<_> = ball().triangles.iter().copied().chain(inwards).collect();
    let hollow = TriangleMesh { vertices, triangles };
    assert_eq!(close_surface(&hollow).unwrap().1, Repairs::default());
    // The same two balls side by side: the inverted one is no cavity there and is flipped.
    let shifted =
        |(k, &[x, y, z]): (usize, &[f32; 3])| [if k < count as usize { x } else { x + 2.0 }, y, z];
    let vertices: Vec<_> = hollow.vertices.iter().enumerate().map(shifted).collect();
    let aside = TriangleMesh { vertices, ..hollow };
    let flipped_triangles = ball().triangles.len();
    assert_eq!(
        close_surface(&aside).unwrap().1,
        Repairs { flipped_triangles, ..Repairs::default() }
    );
    let fin = changed(&ball(), |triangles| {
        let [a, b, _] = triangles[40];
        triangles.push([a, b, 0]);
    });
    let open = close_surface(&fin).unwrap_err();
    assert_eq!((open.holes, open.branching_edges), (0, 1), "{open}");
}

/// Joins meshes to one.
fn joined(meshes: &[TriangleMesh]) -> TriangleMesh {
    let mut all = TriangleMesh { vertices: Vec::new(), triangles: Vec::new() };
    for TriangleMesh { vertices, triangles } in meshes {
        let begin = all.vertices.len() as u32;
        all.vertices.extend(vertices);
        all.triangles.extend(triangles.iter().map(|it| it.map(|corner| corner + begin)));
    }
    all
}

/// Returns a mesh scaled, then moved along x, with all triangles flipped on demand.
fn placed(mesh: &TriangleMesh, scale: f32, x: f32, is_flipped: bool) -> TriangleMesh {
    let mut mesh = mesh.clone();
    for vertex in &mut mesh.vertices {
        *vertex = vertex.map(|it| it * scale);
        vertex[0] += x;
    }
    if is_flipped {
        mesh.triangles.iter_mut().for_each(|triangle| triangle.swap(1, 2));
    }
    mesh
}

/// Square of two triangles, drawn from one side or from both.
fn label(is_two_sided: bool) -> TriangleMesh {
    let vertices = [[0.0, 0.0], [0.1, 0.0], [0.1, 0.1], [0.0, 0.1]].map(|[x, z]| [x, 0.0, z]);
    let mut triangles = vec![[0, 1, 2], [0, 2, 3]];
    if is_two_sided {
        triangles.extend([[0, 2, 1], [0, 3, 2]]);
    }
    TriangleMesh { vertices: vertices.to_vec(), triangles }
}

/// Tube of 12 sides without ends.
fn tube() -> TriangleMesh {
    let angle = |k: u32| k as f32 * std::f32::consts::TAU / 12.0;
    let at = |k: u32| [(k / 12) as f32, 0.1 * angle(k).cos(), 0.1 * angle(k).sin()];
    let side = |k: u32| [[k, (k + 1) % 12, 12 + k], [(k + 1) % 12, 12 + (k + 1) % 12, 12 + k]];
    TriangleMesh {
        vertices: (0..24).map(at).collect(),
        triangles: (0..12).flat_map(side).collect(),
    }
}

#[test]
fn parts_that_enclose_nothing_are_left_out_beside_a_solid() {
    for part in [label(false), label(true), tube()] {
        for is_first in [true, false] {
            let part = placed(&part, 1.0, 3.0, false);
            let both = if is_first { [part.clone(), ball()] } else { [ball(), part.clone()] };
            let (mesh, repairs) = close_surface(&joined(&both)).unwrap();
            let left_out_triangles = part.triangles.len();
            let expected = Repairs { left_out_parts: 1, left_out_triangles, ..Repairs::default() };
            assert_eq!(repairs, expected);
            assert_eq!(mesh.triangles.len(), ball().triangles.len());
            assert!((volume(&mesh) - volume(&ball())).abs() < 1e-6, "{}", volume(&mesh));
        }
        // On its own, or as the larger part, it is refused.
        assert!(close_surface(&part).is_err());
        let beside = joined(&[placed(&part, 100.0, 0.0, false), ball()]);
        assert!(close_surface(&beside).is_err());
    }
    let board = close_surface(&label(true)).unwrap_err();
    assert_eq!((board.flat_parts, board.holes), (1, 0));
    assert!(board.to_string().contains("enclose nothing"), "{board}");
    let text = Repairs { left_out_parts: 1, left_out_triangles: 2, ..Repairs::default() };
    assert_eq!(text.to_string(), "1 part without a volume left out (2 triangles)");
    // A thin board is a solid.
    let thin = TriangleMesh {
        vertices: (0..8)
            .map(|k| [(k & 1) as f32, 5e-6 * (k >> 1 & 1) as f32, (k >> 2) as f32])
            .collect(),
        triangles: [
            [1, 3, 4, 2],
            [5, 6, 8, 7],
            [1, 2, 6, 5],
            [3, 7, 8, 4],
            [1, 5, 7, 3],
            [2, 4, 8, 6],
        ]
        .into_iter()
        .flat_map(|[a, b, c, d]| [[a, b, c], [a, c, d]])
        .map(|corners| corners.map(|corner: u32| corner - 1))
        .collect(),
    };
    assert_eq!(close_surface(&thin).unwrap().1.left_out_parts, 0);
}

#[test]
fn winding_numbers_decide_which_inward_parts_are_cavities() {
    let count = ball().triangles.len();
    // A ring of balls around the middle: its box holds what it does not contain.
    let ring = [-2.0, 2.0].map(|x| placed(&ball(), 1.0, x, false));
    let inward = placed(&ball(), 0.5, 0.0, true);
    let (_, repairs) = close_surface(&joined(&[ring[0].clone(), ring[1].clone(), inward])).unwrap();
    assert_eq!(repairs, Repairs { flipped_triangles: count, ..Repairs::default() });
    // A small inward ball in a corner of the box of a large one.
    let mut aside = placed(&ball(), 0.3, 2.5, true);
    aside.vertices.iter_mut().for_each(|vertex| vertex[1] += 2.5);
    let corner = joined(&[placed(&ball(), 3.0, 0.0, false), aside]);
    let (_, repairs) = close_surface(&corner).unwrap();
    assert_eq!(repairs, Repairs { flipped_triangles: count, ..Repairs::default() });
    // Cavity, a solid that faces inwards in it, and one that faces outwards.
    for (is_flipped, flipped_triangles) in [(true, count), (false, 0)] {
        let nested = joined(&[
            placed(&ball(), 2.0, 0.0, false),
            placed(&ball(), 1.0, 0.0, true),
            placed(&ball(), 0.5, 0.0, is_flipped),
        ]);
        let (_, repairs) = close_surface(&nested).unwrap();
        assert_eq!(repairs, Repairs { flipped_triangles, ..Repairs::default() });
    }
    // An inward part with a small hole faces outwards once the hole is filled.
    let holed = changed(&placed(&ball(), 1.0, 0.0, true), |triangles| {
        triangles.swap_remove(20);
    });
    let (mesh, repairs) = close_surface(&holed).unwrap();
    assert_eq!(repairs.filled_holes, 1);
    assert!(volume(&mesh) > 0.0, "{}", volume(&mesh));
}
