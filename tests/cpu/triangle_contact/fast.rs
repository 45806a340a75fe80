//! Fast sheets and balls: nothing is crossed, momentum is kept.

use glam::{DVec3, Vec3};
use poplin_host::Engine as _;
use poplin_model::{ClothContactSolver, ClothDesc, Collider, Shape, Sphere};
use poplin_oracle::point_triangle;
use poplin_testkit::crossing_scene::{at, weightless};

use super::{World, each_position, moved, sheet};

/// Turns a cloth into the plane of x and y.
fn upright(cloth: ClothDesc) -> ClothDesc {
    each_position(cloth, |p| Vec3::new(p.x, p.z, p.y))
}

#[test]
fn sheets_that_meet_edge_on_at_20_m_per_s_do_not_cross() {
    let halves =
        [0.16, -0.16].map(|x| weightless(moved(upright(sheet(10, 0.25)), [x, 0.0, 0.0013 * x])));
    let mut world = World::new(&halves, &[]).thrown(&[[-20.0, 0.0, 0.0], [20.0, 0.0, 0.0]]);
    (0..30).for_each(|frame| world.step(frame));
}

#[test]
fn with_one_round_fast_sheets_are_held_back_and_do_not_cross() {
    let halves =
        [0.16, -0.16].map(|x| weightless(moved(upright(sheet(10, 0.25)), [x, 0.0, 0.0013 * x])));
    let mut world = World::new(&halves, &[]).thrown(&[[-20.0, 0.0, 0.0], [20.0, 0.0, 0.0]]);
    let settings = world.scene.engine.cloth_contact_solver();
    let settings = ClothContactSolver { max_rounds: 1, ..settings };
    world.scene.engine.set_cloth_contact_solver(settings).unwrap();
    for frame in 0..20 {
        world.step(frame);
        assert_eq!(world.scene.engine.triangle_contact().report.rounds, 1);
    }
    let [left, right] = [1, 0].map(|cloth| world.mean(cloth).x);
    assert!(left < right + 0.05, "they passed each other: {left} and {right} m");
}

/// Number of triangles crossed by the ray from a point along +z or -z.
fn passes(triangles: &[[[f64; 3]; 3]], from: DVec3, sign: f64) -> usize {
    let to = from + DVec3::Z * sign * 10.0;
    let volume = |a: DVec3, b: DVec3, c: DVec3, d: DVec3| (b - a).cross(c - a).dot(d - a);
    let is_hit = |it: &&[[f64; 3]; 3]| {
        let [a, b, c] = it.map(DVec3::from);
        let signs = [volume(from, to, a, b), volume(from, to, b, c), volume(from, to, c, a)];
        // The ends are on different sides of the triangle, and the line is on one side of all its
        // edges.
        (volume(a, b, c, from) > 0.0) != (volume(a, b, c, to) > 0.0)
            && (signs.iter().all(|&it| it > 0.0) || signs.iter().all(|&it| it < 0.0))
    };
    triangles.iter().filter(is_hit).count()
}

/// Flies a ball at `speed` into a sheet with a pinned border, until it is 0.15 m beyond the first
/// plane of the sheet, and checks that it stays on its side.
fn shoot(speed: f32) {
    let columns = 12;
    let mut cloth = upright(sheet(columns as u32, 0.5));
    for k in 0..columns {
        for edge in [k, columns * (columns - 1) + k, columns * k, columns * k + columns - 1] {
            cloth.particles[edge].inverse_mass = 0.0;
        }
    }
    let stride = speed / 60.0;
    let frame_count = (0.65 / stride).ceil();
    let (begin, offset) = (frame_count * stride - 0.15, Vec3::new(0.011, 0.007, 0.0));
    let ball: Collider = Shape::from(Sphere { center: offset.into(), radius: 0.05 }).into();
    let mut world = World::new(&[cloth], &[Collider { pose: at([0.0, 0.0, begin]), ..ball }]);
    for frame in 0..frame_count as usize {
        let z = begin - stride * (frame + 1) as f32;
        let id = world.scene.colliders[0];
        world.scene.engine.colliders_mut().set_pose(id, at([0.0, 0.0, z])).unwrap();
        world.step(frame);
        let center = (offset + Vec3::new(0.0, 0.0, z)).as_dvec3();
        let triangles = world.triangles(0);
        let nearest = triangles.iter().map(|&it| point_triangle(center.to_array(), it));
        let nearest = nearest.fold(f64::INFINITY, f64::min);
        let (before, behind) = (passes(&triangles, center, 1.0), passes(&triangles, center, -1.0));
        println!("frame {frame}: {nearest:.4} m from the center, {before} before, {behind} behind");
        assert!(before % 2 == 0 && behind % 2 == 1, "the ball is behind the sheet");
        assert!(nearest > f64::from(0.05f32), "{nearest} m from the center");
    }
}

#[test]
fn a_ball_at_5_metres_a_second_stays_on_its_side() {
    shoot(5.0);
}

#[test]
fn a_ball_at_50_metres_a_second_stays_on_its_side() {
    shoot(50.0);
}

/// Collides two free sheets: momentum changes by at most a fraction `allowed`, and kinetic energy
/// does not grow.
fn collide(cloths: [ClothDesc; 2], velocities: [[f32; 3]; 2], allowed: f64) {
    let mut world = World::new(&cloths.map(weightless), &[]).thrown(&velocities);
    world.step(0);
    let (momentum, size, energy) = world.motion();
    let first = world.momentum(0);
    let (mut worst, mut most) = (0.0f64, 0.0f64);
    for frame in 1..60 {
        world.step(frame);
        let (now, _, energy_now) = world.motion();
        let error = (now - momentum).length() / size;
        worst = worst.max(error);
        most = most.max(energy_now / energy);
    }
    let change = (world.momentum(0) - first).length() / first.length();
    println!(
        "momentum off by {worst:.1e}, {most:.4} of the energy, the first sheet lost {change:.3}"
    );
    assert!(change > 0.1, "they never met");
    assert!(worst < allowed, "momentum changed by {worst} of what moves");
    assert!(most <= 1.001, "{most} of the energy");
}

#[test]
fn face_on_collisions_conserve_momentum() {
    let cloths = [0.0, 0.05].map(|z| moved(upright(sheet(10, 0.25)), [z, 0.3 * z, z]));
    collide(cloths, [[0.0, 0.0, 1.5], [0.1, 0.0, -0.5]], 1e-4);
}

#[test]
fn edge_on_collisions_conserve_momentum() {
    let cloths = [-0.16, 0.16].map(|x| moved(upright(sheet(10, 0.25)), [x, 0.0, 0.0013 * x]));
    collide(cloths, [[3.0, 0.0, 0.0], [-2.0, 0.1, 0.0]], 1e-4);
}
