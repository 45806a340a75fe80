//! Sheets that start inside boxes, meshes and balls come out.

use glam::Vec3;
use poplin_host::Engine as _;
use poplin_model::{Parallelepiped, Shape, Sphere, TriangleMesh};
use poplin_oracle::point_triangle;
use poplin_testkit::crossing_scene::floor;

use super::{SECOND, World, comes_free, sheet};

/// A sheet that starts 1 cm below the top of a collider of height 0.2 m, and is larger than it or
/// inside.
fn sunk(width: f32, shape: Shape) -> World {
    let cloth = sheet(16, [width, width], |p| Vec3::new(p.x + 0.003, 0.19, p.z + 0.001));
    World::new(&[cloth], &[shape.into(), floor()])
}

/// A box of height 0.2 m on the floor.
fn block() -> Parallelepiped {
    let half = Parallelepiped::cuboid([0.1, 0.1, 0.1]);
    let [x, y, z] = half.corner;
    Parallelepiped { corner: [x, y + 0.1, z], ..half }
}

/// The box of [`block`] as a mesh.
fn mesh() -> TriangleMesh {
    let triangles = Parallelepiped::TRIANGLES.to_vec();
    TriangleMesh { vertices: block().corners().to_vec().into(), triangles: triangles.into() }
}

/// Heights of the lowest and the highest particle \[m\].
fn heights(world: &World) -> [f32; 2] {
    let all = world.positions();
    let each = || all.iter().map(|p| p.y);
    [each().fold(f32::INFINITY, f32::min), each().fold(0.0, f32::max)]
}

/// Number of particles in the collider.
fn count_in_block(world: &World) -> usize {
    let is_in = |p: &Vec3| p.x.abs() < 0.1 && p.y < 0.2 && p.z.abs() < 0.1;
    world.positions().iter().filter(|p| is_in(p)).count()
}

/// Checks that a sheet which starts in a collider and hangs out of it comes out at the top, from
/// where it may slide off.
#[track_caller]
fn comes_out_at_the_top_of(shape: Shape) {
    let mut world = sunk(0.3, shape.clone());
    assert!(world.scene.crossings() > 4 && count_in_block(&world) > 50);
    comes_free(&mut world);
    assert_eq!(count_in_block(&world), 0);
    let mut world = sunk(0.3, shape);
    (0..SECOND / 10).for_each(|_| world.step());
    assert_eq!((world.scene.crossings(), count_in_block(&world)), (0, 0));
    assert!(heights(&world)[1] > 0.2, "{:?}", heights(&world));
}

#[test]
fn a_sheet_larger_than_its_box_comes_out() {
    comes_out_at_the_top_of(Shape::from(block()));
}

#[test]
fn a_sheet_larger_than_its_mesh_comes_out() {
    comes_out_at_the_top_of(Shape::TriangleMesh(mesh()));
}

/// Checks that a sheet which starts wholly inside a collider comes out at the top without being
/// thrown.
#[track_caller]
fn comes_out_of(shape: Shape) {
    let mut world = sunk(0.1, shape);
    assert_eq!(world.scene.crossings(), 0);
    let fastest = comes_free(&mut world);
    assert!(fastest < 1.0, "{fastest} m/s: it was thrown out");
    let [low, _] = heights(&world);
    assert!(low > 0.2, "{low} m");
}

#[test]
fn a_sheet_wholly_in_a_box_comes_out_of_it() {
    comes_out_of(Shape::from(block()));
}

#[test]
fn a_sheet_wholly_in_a_mesh_comes_out_of_it() {
    comes_out_of(Shape::TriangleMesh(mesh()));
}

#[test]
fn a_sheet_wholly_in_a_mesh_with_split_seams_comes_out_of_it() {
    // Split seams, as in a textured file: each triangle has its own corners.
    let TriangleMesh { vertices, triangles } = mesh();
    let vertices = triangles.iter().flatten().map(|&corner| vertices[corner as usize]).collect();
    let triangles = (0..triangles.len() as u32).map(|it| [0, 1, 2].map(|k| 3 * it + k)).collect();
    comes_out_of(Shape::TriangleMesh(TriangleMesh { vertices, triangles }));
}

#[test]
fn a_sheet_in_a_ball_comes_out_of_it() {
    let ball = Sphere { center: [0.0, 0.1, 0.0], radius: 0.1 };
    let mut world = sunk(0.3, ball.into());
    comes_free(&mut world);
    let triangles = &world.scene.engine.cloth(world.scene.ids[0]).unwrap().desc().fabric.triangles;
    let at = world.positions();
    let nearest = triangles.iter().map(|it| {
        let corners = it.map(|corner| at[corner as usize].as_dvec3().to_array());
        point_triangle(ball.center.map(f64::from), corners)
    });
    let nearest = nearest.fold(f64::INFINITY, f64::min);
    assert!(nearest > f64::from(ball.radius), "{nearest} m from the center");
}
