//! Sheets on spikes, tables, balls, capsules and the floor.

use poplin_model::{Capsule, Collider, Parallelepiped, Shape, Sphere};
use poplin_oracle::{point_triangle, segment_segment};
use poplin_testkit::crossing_scene::{at, floor, spike};

use super::{THICKNESS, World, moved, sheet};

/// Drops a sheet on a collider above the floor and calls `watch` after each frame of 1.5 s.
fn drop_on(height: f32, collider: Collider, mut watch: impl FnMut(&World)) -> World {
    let cloth = moved(sheet(12, 0.4), [0.0, height, 0.0]);
    let mut world = World::new(&[cloth], &[collider, floor()]);
    for frame in 0..90 {
        world.step(frame);
        let lowest = world.positions(0).iter().map(|p| p.y).fold(f64::INFINITY, f64::min);
        assert!(lowest > 0.0, "{lowest} m in frame {frame}");
        watch(&world);
    }
    world
}

#[test]
fn a_sheet_on_a_spike_crosses_nothing() {
    let world = drop_on(0.33, spike([0.0, 0.3, 0.0], 0.3, 0.1), |_| {});
    let highest = world.positions(0).iter().map(|p| p.y).fold(0.0, f64::max);
    println!("highest {highest} m");
}

#[test]
fn a_sheet_over_the_edge_of_a_table_crosses_nothing() {
    let table = Shape::from(Parallelepiped::cuboid([0.12, 0.02, 0.12]));
    drop_on(0.36, Collider { pose: at([0.08, 0.3, 0.0]), ..table.into() }, |_| {});
}

#[test]
fn no_point_of_a_sheet_gets_into_a_ball() {
    let center = [0.02, 0.2, 0.01];
    drop_on(0.33, Shape::from(Sphere { center, radius: 0.1 }).into(), |world| {
        let distances =
            world.triangles(0).into_iter().map(|it| point_triangle(center.map(f64::from), it));
        let nearest = distances.fold(f64::INFINITY, f64::min);
        assert!(nearest > f64::from(0.1f32), "{nearest} m from the center");
    });
}

#[test]
fn no_point_of_a_sheet_gets_into_a_capsule() {
    let ends = [-0.3, 0.3].map(|z| Sphere { center: [0.02, 0.2, z], radius: 0.07 });
    let axis = ends.map(|end| end.center.map(f64::from));
    drop_on(0.3, Shape::from(Capsule { ends }).into(), |world| {
        // The sheet does not reach the ends of the axis: the closest points of a triangle and the
        // axis are on a side of the triangle.
        for [a, b, c] in world.triangles(0) {
            for side in [[a, b], [b, c], [c, a]] {
                let distance = segment_segment(side, axis);
                assert!(distance > f64::from(0.07f32), "{distance} m from the axis");
            }
        }
    });
}

#[test]
fn vertices_over_the_axis_of_a_capsule_are_pushed() {
    // One row is exactly above the axis: no side of the flat sheet is nearer anywhere between its
    // ends.
    let ends = [-0.3, 0.3].map(|z| Sphere { center: [0.0, 0.2, z], radius: 0.07 });
    let cloth = moved(sheet(11, 0.4), [0.0, 0.28, 0.0]);
    let mut world = World::new(&[cloth], &[Shape::from(Capsule { ends }).into()]);
    for frame in 0..60 {
        world.step(frame);
        let distances = world.positions(0).into_iter().map(|p| p.x.hypot(p.y - f64::from(0.2f32)));
        let gap = distances.fold(f64::INFINITY, f64::min) - f64::from(0.07f32);
        assert!(gap > 0.4 * f64::from(THICKNESS), "{gap} m in frame {frame}");
    }
}

#[test]
fn a_sheet_lies_half_its_thickness_above_the_floor() {
    let mut world = World::new(&[moved(sheet(12, 0.4), [0.0, 0.05, 0.0])], &[floor()]);
    (0..120).for_each(|frame| world.step(frame));
    for p in world.positions(0) {
        let ratio = p.y / (0.5 * f64::from(THICKNESS));
        assert!((0.95..=1.05).contains(&ratio), "{ratio} of half the thickness");
    }
}
