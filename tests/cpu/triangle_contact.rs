//! Contact of triangles on the CPU backend: sheets dropped on every kind of shape, stacks on slopes, piles and fast collisions. No
//! edge ever crosses a triangle, counted exactly in every frame; friction, momentum and energy are those of the law.

use glam::{DVec3, Quat, Vec3};
use poplin::ParticleMotion;
use poplin::cook::{CookOptions, cook};
use poplin_host::{Engine as _, Snapshot};
use poplin_model::{
    Capsule, Cloth, ClothContactSolver, Collider, Frame, Implicit, Mesh, Parallelepiped, Plane,
    Pose, Shape, Solver, Sphere,
};
use poplin_reference::oracle::{point_triangle, segment_segment};
use poplin_testkit::compare::same_bits;
use poplin_testkit::crossing_scene::{CrossingScene, at, floor, spike, weightless};

/// Thickness of every cloth \[m\].
const THICKNESS: f32 = 0.005;
/// Solver iterations per second [1/s].
const FREQUENCY: f32 = 600.0;
/// Gravity of a default cloth \[m/s^2\].
const GRAVITY: f64 = 9.81;
const FRICTION: f32 = 0.5;
/// A square sheet around the origin in the plane of x and z.
fn sheet(columns: u32, width: f32) -> Cloth {
    let mut mesh = Mesh::grid(columns, columns, width, width);
    for [x, _, z] in &mut mesh.positions {
        (*x, *z) = (*x - 0.5 * width, *z - 0.5 * width);
    }
    let mut cloth = cook(&mesh, &CookOptions::default()).unwrap().into_cloth();
    let mass = 0.2 * width * width / (columns * columns) as f32;
    for particle in &mut cloth.particles {
        particle.inverse_mass = 1.0 / mass;
    }
    cloth.config.thickness = THICKNESS;
    cloth.config.contact.friction = FRICTION;
    cloth.config.solver.as_pbd_mut().unwrap().frequency = FREQUENCY;
    cloth
}

fn each_position(mut cloth: Cloth, f: impl Fn(Vec3) -> Vec3) -> Cloth {
    for particle in &mut cloth.particles {
        particle.position = f(particle.position.into()).into();
    }
    cloth
}

fn moved(cloth: Cloth, by: [f32; 3]) -> Cloth {
    each_position(cloth, |p| p + Vec3::from(by))
}

/// In the plane of x and y.
fn upright(cloth: Cloth) -> Cloth {
    each_position(cloth, |p| Vec3::new(p.x, p.z, p.y))
}

/// A scene with the triangles of its cloths.
struct World {
    scene: CrossingScene,
    triangles: Vec<Vec<[u32; 3]>>,
}

impl World {
    fn new(cloths: &[Cloth], colliders: &[Collider]) -> Self {
        let triangles = cloths.iter().map(|cloth| cloth.fabric.triangles.to_vec()).collect();
        Self { scene: CrossingScene::new(cloths, colliders), triangles }
    }

    fn thrown(mut self, velocities: &[[f32; 3]]) -> Self {
        for (&id, &velocity) in self.scene.ids.iter().zip(velocities) {
            let particles = self.scene.engine.current(id).to_vec();
            let velocities = vec![velocity; particles.len()];
            let motion = ParticleMotion::Velocities(&velocities);
            self.scene.engine.set_particles(id, &particles, motion).unwrap();
        }
        self
    }

    /// A frame, after which nothing is crossed.
    #[track_caller]
    fn step(&mut self, frame: usize) {
        self.scene.engine.step(&Frame::default()).unwrap();
        let crossings = self.scene.crossings();
        let report = self.scene.engine.triangle_contact().report;
        assert_eq!(crossings, 0, "crossings after frame {frame}: {report:?}");
    }

    fn positions(&self, cloth: usize) -> Vec<DVec3> {
        let particles = self.scene.engine.current(self.scene.ids[cloth]).iter();
        particles.map(|particle| Vec3::from(particle.position).as_dvec3()).collect()
    }

    fn triangles(&self, cloth: usize) -> Vec<[[f64; 3]; 3]> {
        let positions = self.positions(cloth);
        let corner = |corner: u32| positions[corner as usize].to_array();
        self.triangles[cloth].iter().map(|corners| corners.map(corner)).collect()
    }

    fn mean(&self, cloth: usize) -> DVec3 {
        let positions = self.positions(cloth);
        positions.iter().sum::<DVec3>() / positions.len() as f64
    }

    /// Momentum \[kg m/s\], what it is a difference of (the momentum of all masses along their own paths), and kinetic energy \[J\].
    fn motion(&self) -> (DVec3, f64, f64) {
        let (mut momentum, mut size, mut energy) = (DVec3::ZERO, 0.0, 0.0);
        for &id in &self.scene.ids {
            for (now, before) in
                self.scene.engine.current(id).iter().zip(self.scene.engine.previous(id))
            {
                let [now_at, before_at] = [now, before].map(|p| Vec3::from(p.position).as_dvec3());
                let mass = 1.0 / f64::from(now.inverse_mass);
                let velocity = (now_at - before_at) * f64::from(FREQUENCY);
                momentum += mass * velocity;
                size += mass * velocity.length();
                energy += 0.5 * mass * velocity.length_squared();
            }
        }
        (momentum, size, energy)
    }

    fn momentum(&self, cloth: usize) -> DVec3 {
        let id = self.scene.ids[cloth];
        let pairs = self.scene.engine.current(id).iter().zip(self.scene.engine.previous(id));
        let each = pairs.map(|(now, before)| {
            let [now_at, before_at] = [now, before].map(|p| Vec3::from(p.position).as_dvec3());
            (now_at - before_at) * f64::from(FREQUENCY) / f64::from(now.inverse_mass)
        });
        each.sum()
    }
}

/// Drops a sheet on a collider above the floor and watches it for 1.5 s.
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
        // The sheet does not reach the ends: the nearest points of a triangle and the axis are of a side and the axis.
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
    // A row of them is exactly over it: no side of the flat sheet is nearer anywhere between its ends.
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

/// Sheets upon one another on a slope along x of so many times the slope that friction holds; down the slope, and its angle.
fn stack(count: usize, factor: f32) -> (World, DVec3, f64) {
    let angle = (factor * FRICTION).atan();
    let rotation = Quat::from_rotation_z(-angle);
    let layer = |layer: usize| {
        let height = (0.5 + layer as f32) * THICKNESS + 0.0001;
        let cloth = moved(sheet(8, 0.2), [0.0, height, 0.0]);
        each_position(cloth, |p| rotation * p)
    };
    let cloths: Vec<Cloth> = (0..count).map(layer).collect();
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
fn a_stack_does_not_notice_what_comes_and_goes_far_away() {
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

/// Slides sheets down a slope and compares their accelerations between two frames with the law.
fn slide(count: usize, frames: std::ops::Range<usize>) {
    let (mut world, down, angle) = stack(count, 1.1);
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
fn a_sheet_above_the_angle_of_friction_slides_as_the_law_says() {
    slide(1, 12..120);
}

#[test]
fn a_stack_above_the_angle_of_friction_slides_as_the_law_says() {
    // Once they have settled and before the upper ones hang over the edge of the lowest.
    slide(3, 12..24);
}

#[test]
fn what_is_pinched_between_plates_moves_with_them() {
    let plate = |y: f32| {
        let shape = Shape::from(Parallelepiped::cuboid([0.08, 0.02, 0.08]));
        Collider { pose: at([0.0, y, 0.0]), ..shape.into() }
    };
    let cloth = sheet(12, 0.3);
    let mut world = World::new(&[cloth], &[plate(-0.025), plate(0.025)]);
    let mut grasp = Vec::new();
    for frame in 0..90 {
        // The plates close to 0.9 thicknesses in 0.25 s and move 0.4 m in 1 s, by at most 2.4 m/s^2: a jerk would make it slip.
        let closed = ((frame + 1) as f32 / 15.0).min(1.0);
        let height = 0.02 + 0.5 * THICKNESS * (2.0 - 1.1 * closed);
        let part = (frame as f32 - 29.0).clamp(0.0, 60.0) / 60.0;
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
    // What hangs out pulls at the corners.
    assert!(inner < 3e-4 && all < 1e-3, "slips by {inner} m, {all} m at the border");
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
        // Energy over weight half a frame ago \[m\]: the mean height, and the square of velocity over 2 g.
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

/// A sheet around the origin by each solver, with ten steps a frame.
fn sheets_of_all_solvers(columns: u32, width: f32) -> [Cloth; 3] {
    let mut mesh = Mesh::grid(columns, columns, width, width);
    for [x, _, z] in &mut mesh.positions {
        (*x, *z) = (*x - 0.5 * width, *z - 0.5 * width);
    }
    let options = CookOptions { bends: true, ..CookOptions::default() };
    let [pbd, mut xpbd, mut implicit] = [&sheet(columns, width); 3].map(Clone::clone);
    xpbd.config.solver = Solver::xpbd(10);
    let shaped = cook(&mesh, &options).unwrap().into_cloth();
    implicit = Cloth { fabric: shaped.fabric, ..implicit };
    implicit.config.solver =
        Implicit { substeps: 10, bending_rigidity: 1e-5, ..Implicit::default() }.into();
    [pbd, xpbd, implicit]
}

#[test]
fn sheets_of_all_solvers_lie_on_one_another_over_a_ball_and_come_to_rest() {
    let sheets = sheets_of_all_solvers(9, 0.3);
    let [a, b, c] = &sheets;
    let order = [c, a, b, c].map(Clone::clone);
    let cloths: Vec<Cloth> = (0..)
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
fn a_sheet_of_any_solver_holds_below_the_angle_of_friction_and_slides_above() {
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
                let found = (distances[1] - distances[0]) / 0.25;
                println!("{solver}: {found:.4} m/s^2, law {law:.4}");
                assert!((found / law - 1.0).abs() < 0.05, "{solver}: {found} m/s^2, law {law}");
            }
        }
    }
}

#[test]
fn sheets_that_meet_edge_on_at_20_metres_a_second_cross_nowhere() {
    let halves =
        [0.16, -0.16].map(|x| weightless(moved(upright(sheet(10, 0.25)), [x, 0.0, 0.0013 * x])));
    let mut world = World::new(&halves, &[]).thrown(&[[-20.0, 0.0, 0.0], [20.0, 0.0, 0.0]]);
    (0..30).for_each(|frame| world.step(frame));
}

#[test]
fn a_round_at_most_holds_back_what_is_fast_and_nothing_crosses() {
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

/// How often the ray from a point in a direction along z passes a triangle.
fn passes(triangles: &[[[f64; 3]; 3]], from: DVec3, sign: f64) -> usize {
    let to = from + DVec3::Z * sign * 10.0;
    let volume = |a: DVec3, b: DVec3, c: DVec3, d: DVec3| (b - a).cross(c - a).dot(d - a);
    let is_hit = |it: &&[[f64; 3]; 3]| {
        let [a, b, c] = it.map(DVec3::from);
        let signs = [volume(from, to, a, b), volume(from, to, b, c), volume(from, to, c, a)];
        (volume(a, b, c, from) > 0.0) != (volume(a, b, c, to) > 0.0)
            && (signs.iter().all(|&it| it > 0.0) || signs.iter().all(|&it| it < 0.0))
    };
    triangles.iter().filter(is_hit).count()
}

/// A ball that flies into a sheet pinned at its border, until it is 0.15 m beyond where the sheet was.
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

/// Two sheets that collide freely: momentum stays but for a fraction `allowed` of what moves, kinetic energy does not grow.
fn collide(cloths: [Cloth; 2], velocities: [[f32; 3]; 2], allowed: f64) {
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
fn momentum_of_sheets_that_meet_face_on_stays() {
    let cloths = [0.0, 0.05].map(|z| moved(upright(sheet(10, 0.25)), [z, 0.3 * z, z]));
    collide(cloths, [[0.0, 0.0, 1.5], [0.1, 0.0, -0.5]], 1e-4);
}

#[test]
fn momentum_of_sheets_that_meet_edge_on_stays() {
    let cloths = [-0.16, 0.16].map(|x| moved(upright(sheet(10, 0.25)), [x, 0.0, 0.0013 * x]));
    collide(cloths, [[3.0, 0.0, 0.0], [-2.0, 0.1, 0.0]], 1e-4);
}

/// Sheets on a ball that moves, frame by frame.
fn busy() -> World {
    let cloths = [0.12, 0.13].map(|y| moved(sheet(10, 0.25), [0.0, y, 0.1 * y]));
    World::new(&cloths, &[Shape::sphere(0.1).into(), floor()])
}

fn run(world: &mut World, frames: std::ops::Range<usize>) {
    for frame in frames {
        let id = world.scene.colliders[0];
        let x = 0.03 * (0.2 * frame as f32).sin();
        world.scene.engine.colliders_mut().set_pose(id, at([x, 0.0, 0.0])).unwrap();
        world.step(frame);
    }
}

#[test]
fn a_reset_scene_has_the_same_bits_again() {
    let mut world = busy();
    run(&mut world, 0..40);
    let first = world.scene.rows();
    for id in world.scene.ids.clone() {
        world.scene.engine.reset(id).unwrap();
    }
    let ball = world.scene.colliders[0];
    world.scene.engine.colliders_mut().teleport(ball, Pose::default()).unwrap();
    run(&mut world, 0..40);
    same_bits("after a reset", &world.scene.rows(), &first).unwrap();
}

#[test]
fn what_is_restored_goes_on_with_the_same_bits() {
    let mut world = busy();
    run(&mut world, 0..40);
    let snapshot = world.scene.engine.save().unwrap();
    assert!(!snapshot.multipliers().pairs.is_empty());
    let bytes = snapshot.to_bytes().unwrap();
    run(&mut world, 40..60);
    let gone_on = world.scene.rows();
    for snapshot in [snapshot, Snapshot::from_bytes(&bytes).unwrap()] {
        world.scene.ids = world.scene.engine.restore(&snapshot).unwrap();
        run(&mut world, 40..60);
        same_bits("after a restore", &world.scene.rows(), &gone_on).unwrap();
    }
}

#[test]
fn threads_do_not_change_bits() {
    let with_threads = |count: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap();
        pool.install(|| {
            let mut world = busy();
            world.scene.engine.force_parts(count);
            run(&mut world, 0..40);
            world.scene.rows()
        })
    };
    let alone = with_threads(1);
    for count in [2, 3] {
        same_bits("several threads", &with_threads(count), &alone).unwrap();
    }
}
