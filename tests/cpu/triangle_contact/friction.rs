//! Stacks and piles of sheets: static and sliding friction, rest.

use glam::{DVec3, Quat, Vec3};
use poplin::cook::{CookOptions, cook};
use poplin_host::Engine as _;
use poplin_model::{
    ClothDesc, Collider, Implicit, Mesh, Parallelepiped, Plane, Shape, Solver, Sphere,
};
use poplin_testkit::compare::same_bits;
use poplin_testkit::crossing_scene::{at, floor};

use super::{FRICTION, THICKNESS, World, each_position, moved, sheet};

/// Gravity of a default cloth \[m/s^2\].
const GRAVITY: f64 = 9.81;

/// Stack of sheets on a slope along x that is `factor` times as steep as friction holds. Returns
/// the direction down the slope and its angle \[rad\].
fn stack(count: usize, factor: f32) -> (World, DVec3, f64) {
    let angle = (factor * FRICTION).atan();
    let rotation = Quat::from_rotation_z(-angle);
    let layer = |layer: usize| {
        let height = (0.5 + layer as f32) * THICKNESS + 0.0001;
        let cloth = moved(sheet(8, 0.2), [0.0, height, 0.0]);
        each_position(cloth, |p| rotation * p)
    };
    let cloths: Vec<ClothDesc> = (0..count).map(layer).collect();
    let slope = Shape::from(Plane { normal: (rotation * Vec3::Y).to_array(), offset: 0.0 });
    let down = (rotation * Vec3::X).as_dvec3();
    (World::new(&cloths, &[slope.into()]), down, f64::from(angle))
}

#[test]
fn a_stack_below_the_angle_of_friction_does_not_creep() {
    let (mut world, ..) = stack(3, 0.9);
    (0..60).for_each(|frame| world.step(frame));
    let before = [0, 1, 2].map(|cloth| world.positions(cloth));
    (60..240).for_each(|frame| world.step(frame));
    for (cloth, before) in before.iter().enumerate() {
        let now = world.positions(cloth);
        let distances = now.iter().zip(before).map(|(now, before)| now.distance(*before));
        let farthest = distances.fold(0.0, f64::max);
        println!("sheet {cloth}: {:.5} mm in 3 s", 1e3 * farthest);
        assert!(farthest < 1e-5, "sheet {cloth} crept {farthest} m");
    }
}

#[test]
fn distant_cloths_and_colliders_do_not_change_a_stack() {
    let (mut world, ..) = stack(3, 0.9);
    (0..60).for_each(|frame| world.step(frame));
    let (mut other, ..) = stack(3, 0.9);
    (0..60).for_each(|frame| other.step(frame));
    let far = Sphere { center: [100.0, 0.0, 0.0], radius: 0.1 };
    other.scene.engine.colliders_mut().add(Shape::from(far)).unwrap();
    other.scene.engine.add(moved(sheet(3, 0.1), [50.0, 0.0, 0.0])).unwrap();
    for frame in 60..75 {
        world.step(frame);
        other.step(frame);
    }
    same_bits("beside others", &other.scene.rows(), &world.scene.rows()).unwrap();
}

/// Slides sheets down a slope and compares their accelerations between two frames with Coulomb's
/// law.
fn slide(count: usize, frames: std::ops::Range<usize>) {
    let (mut world, down, angle) = stack(count, 1.1);
    // Coulomb: a = g (sin - mu cos).
    let expected = GRAVITY * (angle.sin() - f64::from(FRICTION) * angle.cos());
    let mut velocity = |frames: std::ops::Range<usize>| {
        let paths =
            |world: &World| (0..count).map(|cloth| world.mean(cloth).dot(down)).collect::<Vec<_>>();
        let mut before = Vec::new();
        for frame in frames {
            before = paths(&world);
            world.step(frame);
        }
        let now = paths(&world);
        (0..count).map(|cloth| 60.0 * (now[cloth] - before[cloth])).collect::<Vec<_>>()
    };
    let first = velocity(0..frames.start);
    let seconds = frames.len() as f64 / 60.0;
    for (cloth, last) in velocity(frames).into_iter().enumerate() {
        let acceleration = (last - first[cloth]) / seconds;
        println!("sheet {cloth}: {acceleration:.4} m/s^2 of {expected:.4}");
        let ratio = acceleration / expected;
        assert!((0.99..=1.01).contains(&ratio), "sheet {cloth}: {ratio} of the acceleration");
    }
}

#[test]
fn a_sheet_above_the_angle_of_friction_slides_by_coulombs_law() {
    slide(1, 12..120);
}

#[test]
fn a_stack_above_the_angle_of_friction_slides_by_coulombs_law() {
    // After they have settled and before the upper sheets hang over the edge of the lowest.
    slide(3, 12..24);
}

#[test]
fn a_sheet_pinched_between_plates_moves_with_them() {
    let plate = |y: f32| {
        let shape = Shape::from(Parallelepiped::cuboid([0.08, 0.02, 0.08]));
        Collider { pose: at([0.0, y, 0.0]), ..shape.into() }
    };
    let cloth = sheet(12, 0.3);
    let mut world = World::new(&[cloth], &[plate(-0.025), plate(0.025)]);
    let mut grasp = Vec::new();
    for frame in 0..90 {
        // The plates close to 0.9 thicknesses in 0.25 s and move by 0.4 m in 1 s, with at most 2.4
        // m/s^2: a jerk would cause slip.
        let closed = ((frame + 1) as f32 / 15.0).min(1.0);
        let height = 0.02 + 0.5 * THICKNESS * (2.0 - 1.1 * closed);
        let part = (frame as f32 - 29.0).clamp(0.0, 60.0) / 60.0;
        // Smoothstep, whose acceleration is bounded.
        let x = 0.4 * part * part * (3.0 - 2.0 * part);
        for (k, sign) in [-1.0, 1.0].into_iter().enumerate() {
            let id = world.scene.colliders[k];
            world.scene.engine.colliders_mut().set_pose(id, at([x, sign * height, 0.0])).unwrap();
        }
        world.step(frame);
        if frame == 29 {
            grasp = world.positions(0);
        }
    }
    let now = world.positions(0);
    let slip = |reach: f64| {
        let is_inside = |p: &DVec3| p.abs().max_element() < reach;
        let inside = (0..now.len()).filter(|&k| is_inside(&grasp[k]));
        inside.map(|k| (now[k] - grasp[k] - DVec3::X * 0.4).length()).fold(0.0, f64::max)
    };
    let (all, inner) = (slip(0.07), slip(0.05));
    println!("slip {:.3} mm, {:.3} mm in the middle", 1e3 * all, 1e3 * inner);
    // Cloth that hangs out pulls at the corners. Ends of the way 1e-5 m apart give 0.25 to 0.44 mm.
    assert!(inner < 5e-4 && all < 1e-3, "slips by {inner} m, {all} m at the border");
}

#[test]
fn a_pile_comes_to_rest() {
    let cloths = [0, 1, 2, 3].map(|k| moved(sheet(10, 0.25), [0.0, 0.01 + 0.007 * k as f32, 0.0]));
    let mut world = World::new(&cloths, &[floor()]);
    let all = |world: &World| [0, 1, 2, 3].map(|cloth| world.positions(cloth)).concat();
    let (mut before, mut fastest) = (all(&world), 0.0);
    let [mut least, mut rise] = [f64::INFINITY, 0.0_f64];
    for frame in 0..301 {
        world.step(frame);
        let now = all(&world);
        let pairs = || now.iter().zip(&before);
        let speed = |(now, before): (&DVec3, &DVec3)| 60.0 * now.distance(*before);
        fastest = pairs().map(speed).fold(0.0, f64::max);
        // Energy over weight half a frame earlier \[m\]: mean height plus squared velocity over 2
        // g.
        let heights: f64 = pairs().map(|(now, before)| 0.5 * (now.y + before.y)).sum();
        let squares: f64 = pairs().map(|pair| speed(pair).powi(2)).sum();
        let energy = (heights + squares / (2.0 * GRAVITY)) / now.len() as f64;
        least = least.min(energy);
        rise = rise.max(energy - least);
        before = now;
    }
    println!("fastest {:.4} mm/s, energy rises by {:.4} mm of height", 1e3 * fastest, 1e3 * rise);
    assert!(fastest < 1e-3, "{fastest} m/s after 5 s");
    assert!(rise < 1e-4, "energy rises by {rise} m of height");
}

/// One sheet around the origin for each solver, with ten steps a frame.
fn sheets_of_all_solvers(columns: u32, width: f32) -> [ClothDesc; 3] {
    let mut mesh = Mesh::grid(columns, columns, width, width);
    for [x, _, z] in &mut mesh.positions {
        (*x, *z) = (*x - 0.5 * width, *z - 0.5 * width);
    }
    let options = CookOptions { bends: true, ..CookOptions::default() };
    let [pbd, mut xpbd, mut implicit] = [&sheet(columns, width); 3].map(Clone::clone);
    xpbd.config.solver = Solver::xpbd(10);
    let shaped = cook(&mesh, &options).unwrap().into_cloth();
    implicit = ClothDesc { fabric: shaped.fabric, ..implicit };
    implicit.config.solver =
        Implicit { substeps: 10, bending_rigidity: 1e-5, ..Implicit::default() }.into();
    [pbd, xpbd, implicit]
}

#[test]
fn stacked_sheets_of_all_solvers_come_to_rest_on_a_ball() {
    let sheets = sheets_of_all_solvers(9, 0.3);
    let [a, b, c] = &sheets;
    let order = [c, a, b, c].map(Clone::clone);
    let cloths: Vec<ClothDesc> = (0..)
        .zip(order)
        .map(|(k, cloth)| moved(cloth, [0.0, 0.095 + 0.01 * k as f32, 0.0]))
        .collect();
    let ball = Sphere { center: [0.01, 0.04, -0.01], radius: 0.05 };
    let mut world = World::new(&cloths, &[floor(), Shape::from(ball).into()]);
    (0..150).for_each(|frame| world.step(frame));
    let all = |world: &World| (0..4).flat_map(|k| world.positions(k)).collect::<Vec<_>>();
    let before = all(&world);
    (150..180).for_each(|frame| world.step(frame));
    let now = all(&world);
    let moved = now.iter().zip(&before).map(|(now, before)| now.distance(*before));
    let farthest = moved.fold(0.0, f64::max);
    println!("at most {:.3} mm in the last half second", 1e3 * farthest);
    assert!(farthest < 5e-3, "{farthest} m in the last half second");
    let center = DVec3::new(0.01, 0.04, -0.01);
    let least = now.iter().map(|p| p.distance(center) - 0.05).fold(f64::INFINITY, f64::min);
    assert!(least > 0.9 * 0.5 * f64::from(THICKNESS), "{least} m above the ball");
}

#[test]
fn every_solver_holds_below_and_slides_above_the_friction_angle() {
    for factor in [0.9_f32, 1.1] {
        let angle = (factor * FRICTION).atan();
        let rotation = Quat::from_rotation_z(-angle);
        let slope = Shape::from(Plane { normal: (rotation * Vec3::Y).to_array(), offset: 0.0 });
        let down = (rotation * Vec3::X).as_dvec3();
        for (solver, cloth) in ["pbd", "xpbd", "implicit"].iter().zip(sheets_of_all_solvers(8, 0.2))
        {
            let cloth =
                each_position(cloth, |p| rotation * (p + Vec3::Y * (0.5 * THICKNESS + 0.0001)));
            let mut world = World::new(&[cloth], &[slope.clone().into()]);
            (0..30).for_each(|frame| world.step(frame));
            let start = world.mean(0);
            (30..60).for_each(|frame| world.step(frame));
            let middle = world.mean(0);
            (60..90).for_each(|frame| world.step(frame));
            let distances = [middle - start, world.mean(0) - middle].map(|it| it.dot(down));
            if factor < 1.0 {
                let creep = distances[0] + distances[1];
                println!("{solver}: {:.5} mm in 1 s", 1e3 * creep);
                assert!(creep.abs() < 1e-4, "{solver} crept {creep} m");
            } else {
                let (sin, cos) = f64::from(angle).sin_cos();
                let law = GRAVITY * (sin - f64::from(FRICTION) * cos);
                // Distances in two periods of t = 0.5 s differ by a t^2.
                let found = (distances[1] - distances[0]) / 0.25;
                println!("{solver}: {found:.4} m/s^2, law {law:.4}");
                assert!((found / law - 1.0).abs() < 0.05, "{solver}: {found} m/s^2, law {law}");
            }
        }
    }
}
