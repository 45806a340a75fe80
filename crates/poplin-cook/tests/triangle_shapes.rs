//! Rest shapes of triangles: side lengths of the mesh, v along the vertical, u across.

use glam::{DQuat, DVec2, DVec3};
use poplin_cook::{CookOptions, Direction, Weld, cook};
use poplin_model::{Fabric, Mesh};

/// Distance between columns and between rows of [`grid`] \[m\].
const SPACING: [f64; 2] = [0.03, 0.05];

const COLUMNS: u32 = 7;

/// A grid of quads, the first half of them split into triangles.
fn grid() -> Mesh {
    let [width, depth] = [6.0 * SPACING[0], 4.0 * SPACING[1]].map(|size| size as f32);
    let mut mesh = Mesh::grid(COLUMNS, 5, width, depth);
    let rest = mesh.quads.split_off(12);
    (mesh.triangles, mesh.quads) = (mesh.triangulated(), rest);
    mesh
}

/// Rotates the mesh to a slope with level rows.
fn tilted(mut mesh: Mesh) -> Mesh {
    let rotation = DQuat::from_rotation_y(0.7) * DQuat::from_rotation_x(0.9);
    for position in &mut mesh.positions {
        *position = (rotation * glam::Vec3::from(*position).as_dvec3()).as_vec3().to_array();
    }
    mesh
}

/// Moves every vertex by up to 30 % of the spacing along each axis, from a fixed sequence.
fn crumpled(mut mesh: Mesh) -> Mesh {
    let mut rng = poplin_geometry::Rng::new(1);
    for coordinate in mesh.positions.as_flattened_mut() {
        *coordinate += 0.3 * SPACING[0] as f32 * rng.range(-1.0, 1.0);
    }
    mesh
}

fn fabric(mesh: &Mesh, direction: Direction) -> Fabric {
    let options = CookOptions { direction, weld: Weld::Off, ..CookOptions::default() };
    let fabric = cook(mesh, &options).expect("the mesh cooks").fabric;
    assert_eq!(fabric.triangle_shapes.len(), fabric.triangles.len());
    fabric
}

/// Iterates over all triangles with the (u, v) of their corners.
fn triangles(fabric: &Fabric) -> impl Iterator<Item = ([u32; 3], [DVec2; 3])> {
    fabric.triangles.iter().zip(&fabric.triangle_shapes).map(|(&corners, shape)| {
        let [u1, v1, u2, v2] = shape.map(f64::from);
        (corners, [DVec2::ZERO, DVec2::new(u1, v1), DVec2::new(u2, v2)])
    })
}

fn corners_in_space(mesh: &Mesh, corners: [u32; 3]) -> [DVec3; 3] {
    corners.map(|corner| glam::Vec3::from(mesh.positions[corner as usize]).as_dvec3())
}

#[test]
fn sloped_grid_has_u_along_rows_and_v_along_columns() {
    let mesh = tilted(grid());
    let fabric = fabric(&mesh, Direction::Gravity);
    let mut area = 0.0;
    for (corners, at) in triangles(&fabric) {
        for (k, next) in [(0, 1), (1, 2), (2, 0)] {
            let [a, b] = [corners[k], corners[next]];
            let columns = (a % COLUMNS).abs_diff(b % COLUMNS);
            let rows = (a / COLUMNS).abs_diff(b / COLUMNS);
            let expected = DVec2::new(columns.into(), rows.into()) * DVec2::from(SPACING);
            let side = (at[next] - at[k]).abs();
            assert!(side.distance(expected) < 1e-7, "{corners:?}: {side} is not {expected}");
        }
        area += 0.5 * at[1].perp_dot(at[2]);
    }
    let expected = 24.0 * SPACING[0] * SPACING[1];
    assert!((area / expected - 1.0).abs() < 1e-6, "{area} is not {expected}");
}

#[test]
fn rotated_uvs_rotate_the_shapes() {
    let mut mesh = tilted(grid());
    let upright = fabric(&mesh, Direction::Uv);
    mesh.uvs.iter_mut().for_each(|uv| *uv = [uv[1], -uv[0]]);
    let rotated = fabric(&mesh, Direction::Uv);
    for ((corners, before), (_, after)) in triangles(&upright).zip(triangles(&rotated)) {
        for (before, after) in before.into_iter().zip(after) {
            assert!(before.perp().distance(after) < 1e-7, "{corners:?}: {before}, {after}");
        }
    }
}

#[test]
fn shapes_of_a_crumpled_mesh_keep_lengths_and_orientation() {
    for direction in Direction::ALL {
        let mesh = crumpled(tilted(grid()));
        for (corners, at) in triangles(&fabric(&mesh, direction)) {
            let positions = corners_in_space(&mesh, corners);
            for (k, next) in [(0, 1), (1, 2), (2, 0)] {
                let [shape, space] =
                    [at[k].distance(at[next]), positions[k].distance(positions[next])];
                assert!((shape / space - 1.0).abs() < 1e-6, "{corners:?}: {shape}, {space}");
            }
            assert!(at[1].perp_dot(at[2]) > 0.0, "{corners:?} runs clockwise");
        }
    }
}

#[test]
fn v_is_gravity_projected_into_each_triangle() {
    let mut mesh = crumpled(tilted(grid()));
    (mesh.triangles, mesh.quads) = (mesh.triangulated(), Vec::new());
    for (corners, at) in triangles(&fabric(&mesh, Direction::Gravity)) {
        let [a, b, c] = corners_in_space(&mesh, corners);
        let normal = (b - a).cross(c - a).normalize();
        let down = DVec3::NEG_Y.reject_from_normalized(normal).normalize();
        let expected = DVec2::new(down.dot(b - a), down.dot(c - a));
        let v = DVec2::new(at[1].y, at[2].y);
        assert!(v.distance(expected) < 1e-7, "{corners:?}: {v} is not {expected}");
    }
}

#[test]
fn degenerate_triangle_has_zero_shape() {
    let positions = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, -1.0, 0.0]];
    let mesh = Mesh { positions, quads: vec![[0, 1, 2, 3]], ..Mesh::default() };
    let fabric = fabric(&mesh, Direction::Gravity);
    assert_eq!(fabric.triangles, [[0, 1, 2], [2, 3, 0]]);
    let [none, some] = fabric.triangle_shapes[..] else { panic!("two triangles") };
    assert_eq!(none, [0.0; 4]);
    // From corner 2: corner 3 is 2 m across and 1 m down, corner 0 is 2 m across.
    assert_eq!(some.map(f32::abs), [2.0, 1.0, 2.0, 0.0]);
}

#[test]
fn halves_of_a_folded_quad_normal_to_its_vertical_have_shapes() {
    // The quad as a whole faces along z, so that its vertical is y; each half lies almost in the
    // x/z plane.
    let positions = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 1.0], [1.0, 0.0, 0.0], [1.0, 1e-3, 1.0]];
    let mesh = Mesh { positions, quads: vec![[0, 1, 2, 3]], ..Mesh::default() };
    for (corners, at) in triangles(&fabric(&mesh, Direction::Gravity)) {
        let [a, b, c] = corners_in_space(&mesh, corners);
        let [shape, space] = [at[1].perp_dot(at[2]), (b - a).cross(c - a).length()];
        assert!((shape / space - 1.0).abs() < 1e-6, "{corners:?}: {shape}, {space}");
    }
}
