//! Contact of triangles of what starts crossed: it is counted exactly, moved apart within a second and then kept apart; what cannot be
//! moved apart stays reported and moves no faster than it must.

use glam::{Quat, Vec3};
use poplin::cook::{CookOptions, cook};
use poplin_host::Engine as _;
use poplin_model::{
    Cloth, Collider, ContactPartner, ContactReport, Frame, Mesh, Parallelepiped, Shape, Sphere,
    TriangleMesh,
};
use poplin_reference::oracle::point_triangle;
use poplin_testkit::compare::same_bits;
use poplin_testkit::crossing_scene::{CrossingScene, at, floor, weightless};

/// Thickness of every cloth \[m\].
const THICKNESS: f32 = 0.005;
/// Frames of a second.
const SECOND: usize = 60;

/// A rectangular sheet around the origin in the plane of x and z, whose particles then move; it rests where it was flat.
fn sheet(columns: u32, [width, depth]: [f32; 2], f: impl Fn(Vec3) -> Vec3) -> Cloth {
    let rows = (columns as f32 * depth / width).round() as u32;
    let mut mesh = Mesh::grid(columns, rows, width, depth);
    for [x, _, z] in &mut mesh.positions {
        (*x, *z) = (*x - 0.5 * width, *z - 0.5 * depth);
    }
    let mut cloth = cook(&mesh, &CookOptions::default()).unwrap().into_cloth();
    let mass = 0.2 * width * depth / (columns * rows) as f32;
    let rest: Vec<[f32; 3]> = cloth.particles.iter().map(|it| it.position).collect();
    cloth.rest_positions = rest;
    for particle in &mut cloth.particles {
        particle.inverse_mass = 1.0 / mass;
        particle.position = f(particle.position.into()).into();
    }
    cloth.config.thickness = THICKNESS;
    cloth.config.contact.friction = 0.5;
    cloth.config.solver.as_pbd_mut().unwrap().frequency = 600.0;
    cloth
}

/// A scene with what its cloths report.
struct World {
    scene: CrossingScene,
}

impl World {
    fn new(cloths: &[Cloth], colliders: &[Collider]) -> Self {
        Self { scene: CrossingScene::new(cloths, colliders) }
    }

    fn positions(&self) -> Vec<Vec3> {
        let all = self.scene.ids.iter().flat_map(|&id| self.scene.engine.current(id));
        all.map(|particle| Vec3::from(particle.position)).collect()
    }

    fn report(&mut self, cloth: usize) -> ContactReport {
        self.scene.engine.state().unwrap().contact_report(self.scene.ids[cloth])
    }

    fn step(&mut self) {
        self.scene.engine.step(&Frame::default()).unwrap();
    }
}

/// How fast the fastest particle has moved since it was at these positions, a frame before [m/s].
fn fastest_of(world: &World, before: &[Vec3]) -> f32 {
    let now = world.positions();
    let moved = now.iter().zip(before).map(|(now, before)| now.distance(*before));
    60.0 * moved.fold(0.0, f32::max)
}

/// Runs what starts crossed: nothing is crossed after a second, nor for half of another one. Returns the fastest motion of a particle [m/s].
#[track_caller]
fn comes_free(world: &mut World) -> f32 {
    let before = world.scene.crossings();
    let (mut free, mut fastest) = (None, 0.0f32);
    for frame in 1..=3 * SECOND / 2 {
        let positions = world.positions();
        world.step();
        fastest = fastest.max(fastest_of(world, &positions));
        let crossings = world.scene.crossings();
        let reports: Vec<_> = (0..world.scene.ids.len()).map(|cloth| world.report(cloth)).collect();
        if crossings > 0 {
            free = None;
            assert!(reports.iter().any(|report| report.crossings > 0), "{reports:?}");
        } else {
            free = free.or(Some(frame));
            assert!(reports.iter().all(|report| report.crossings == 0), "{reports:?}");
        }
    }
    println!("{before} crossings at the start, free after frame {free:?}, up to {fastest:.2} m/s");
    assert!(free.is_some_and(|frame| frame <= SECOND), "free after frame {free:?}");
    fastest
}

/// A corner of one sheet pokes 2 cm through another one.
fn corner() -> World {
    let upright = sheet(16, [0.3, 0.3], |p| Vec3::new(p.x, p.z, 0.0));
    let rotation = Quat::from_rotation_y(std::f32::consts::FRAC_PI_4 + 0.1);
    let pointed = sheet(16, [0.3, 0.3], |p| {
        rotation * p + Vec3::new(0.003, 0.011, -0.3 * std::f32::consts::FRAC_1_SQRT_2 + 0.02)
    });
    World::new(&[weightless(upright), weightless(pointed)], &[])
}

#[test]
fn a_corner_through_a_sheet_comes_back() {
    let mut world = corner();
    assert!(world.scene.crossings() > 4);
    let fastest = comes_free(&mut world);
    assert!(fastest < 1.0, "{fastest} m/s");
    let positions = world.positions();
    world.step();
    let speed = fastest_of(&world, &positions);
    assert!(speed < 0.2, "{speed} m/s are left");
}

/// A sheet that comes back in an arc and goes through itself with 1 cm of its end.
fn hook() -> World {
    let radius = 0.03;
    let cloth = sheet(25, [0.3, 0.12], |p| {
        let (arc, x) = (std::f32::consts::PI * radius, p.x);
        if x < 0.0 {
            return p;
        }
        if x < arc {
            let angle = x / radius;
            return Vec3::new(radius * angle.sin(), radius * (1.0 - angle.cos()), p.z);
        }
        // Down again, at 60 degrees, until it is below.
        let (back, height) = (0.5 * (x - arc), 0.8660254 * (x - arc));
        Vec3::new(-back, 2.0 * radius - 1.35 * height, p.z)
    });
    World::new(&[weightless(cloth)], &[])
}

#[test]
fn a_sheet_through_itself_comes_free() {
    let mut world = hook();
    assert!(world.scene.crossings() > 4);
    let fastest = comes_free(&mut world);
    let partner = world.report(0).crossed.map(|it| it.partner);
    assert_eq!(partner, Some(ContactPartner::Itself));
    assert!(fastest < 5.0, "{fastest} m/s");
}

/// A sheet that starts 1 cm below the top of a collider of height 0.2 m, which it is larger than or in.
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

/// The same as a mesh.
fn mesh() -> TriangleMesh {
    let triangles = Parallelepiped::TRIANGLES.to_vec();
    TriangleMesh { vertices: block().corners().to_vec().into(), triangles: triangles.into() }
}

/// The height of the lowest and the highest particle \[m\].
fn heights(world: &World) -> [f32; 2] {
    let all = world.positions();
    let each = || all.iter().map(|p| p.y);
    [each().fold(f32::INFINITY, f32::min), each().fold(0.0, f32::max)]
}

/// Particles in the collider.
fn count_in_block(world: &World) -> usize {
    let is_in = |p: &Vec3| p.x.abs() < 0.1 && p.y < 0.2 && p.z.abs() < 0.1;
    world.positions().iter().filter(|p| is_in(p)).count()
}

/// A sheet that starts in a collider and hangs out of it comes out at its top, from which it may slide.
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
fn a_sheet_larger_than_the_box_that_it_starts_in_comes_out_of_it() {
    comes_out_at_the_top_of(Shape::from(block()));
}

#[test]
fn a_sheet_larger_than_the_mesh_that_it_starts_in_comes_out_of_it() {
    comes_out_at_the_top_of(Shape::TriangleMesh(mesh()));
}

/// A sheet that starts wholly in a collider comes out at its top and is not thrown.
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
    // As a file with a texture has it: each triangle has corners of its own.
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
    let triangles = &world.scene.engine.cloth(world.scene.ids[0]).unwrap().cloth().fabric.triangles;
    let at = world.positions();
    let nearest = triangles.iter().map(|it| {
        let corners = it.map(|corner| at[corner as usize].as_dvec3().to_array());
        point_triangle(ball.center.map(f64::from), corners)
    });
    let nearest = nearest.fold(f64::INFINITY, f64::min);
    assert!(nearest > f64::from(ball.radius), "{nearest} m from the center");
}

#[test]
fn needles_through_a_sheet_come_out_of_it() {
    let needle = |x: f32, z: f32| {
        let ring = (0..8).map(|k| {
            let (sin, cos) = (std::f32::consts::TAU * k as f32 / 8.0).sin_cos();
            [x + 0.01 * cos, 0.0, z + 0.01 * sin]
        });
        let vertices: Vec<_> = ring.chain([[x, 0.2, z], [x, 0.0, z]]).collect();
        let triangles: Vec<_> =
            (0..8).flat_map(|k| [[k, 8, (k + 1) % 8], [(k + 1) % 8, 9, k]]).collect();
        Shape::TriangleMesh(TriangleMesh { vertices: vertices.into(), triangles: triangles.into() })
    };
    let needles = [(-0.05, -0.04), (0.06, -0.05), (0.0, 0.06)].map(|(x, z)| needle(x, z).into());
    let cloth = sheet(16, [0.3, 0.3], |p| Vec3::new(p.x + 0.003, 0.185, p.z + 0.001));
    let mut world = World::new(&[cloth], &needles.into_iter().chain([floor()]).collect::<Vec<_>>());
    assert!(world.scene.crossings() > 4);
    comes_free(&mut world);
}

#[test]
fn threads_do_not_change_bits() {
    let with_threads = |count: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap();
        pool.install(|| {
            let mut world = hook();
            world.scene.engine.force_parts(count);
            (0..20).for_each(|_| world.step());
            world.scene.rows()
        })
    };
    let alone = with_threads(1);
    for count in [2, 3] {
        same_bits("several threads", &with_threads(count), &alone).unwrap();
    }
}

/// A tube whose ends are pinned, through the middle of a sheet whose border is.
fn skewer() -> (Cloth, Cloth) {
    let mut mesh = Mesh::tube(16, 13, 0.03, 0.03, 0.2);
    for [x, y, z] in &mut mesh.positions {
        (*x, *y, *z) = (*x + 0.004, *y + 0.103, *z + 0.002);
    }
    let mut tube = cook(&mesh, &CookOptions::default()).unwrap().into_cloth();
    for particle in &mut tube.particles {
        let is_end = !(-0.095..=0.1).contains(&particle.position[1]);
        particle.inverse_mass = if is_end { 0.0 } else { 1e4 };
    }
    tube.config.thickness = THICKNESS;
    tube.config.solver.as_pbd_mut().unwrap().frequency = 600.0;
    let mut cloth = sheet(16, [0.2, 0.2], |p| p);
    for particle in &mut cloth.particles {
        let [x, _, z] = particle.position.map(f32::abs);
        if x.max(z) > 0.099 {
            particle.inverse_mass = 0.0;
        }
    }
    (weightless(tube), weightless(cloth))
}

fn skewered() -> World {
    let (tube, cloth) = skewer();
    World::new(&[tube, cloth], &[])
}

#[test]
fn a_tube_through_a_sheet_stays_reported_and_calm() {
    let mut world = skewered();
    let before = world.scene.crossings();
    assert!(before > 10);
    let speeds = stays(&mut world);
    for cloth in [0, 1] {
        let report = world.report(cloth);
        assert_eq!(report.start_crossings as usize, before);
        let crossed = report.crossed.unwrap();
        assert_eq!((crossed.first_frame, crossed.last_frame), (0, report.frames));
        assert!(Vec3::from(crossed.position_m).length() < 0.05, "{crossed:?}");
        assert_eq!(crossed.partner, ContactPartner::OtherCloth);
    }
    println!("{} crossings, {speeds:?} m/s", world.scene.crossings());
    assert!(speeds[0] < 1.0 && speeds[1] < 0.1 && speeds[2] < 0.01, "{speeds:?} m/s");
}

/// A sheet whose border is pinned, in the plane of x and y, or of x and z.
fn framed(is_upright: bool) -> Cloth {
    let mut cloth = sheet(16, [0.2, 0.2], |p| p);
    for particle in &mut cloth.particles {
        let [x, _, z] = particle.position;
        if x.abs().max(z.abs()) > 0.099 {
            particle.inverse_mass = 0.0;
        }
        if is_upright {
            particle.position = [x + 0.003, z + 0.004, 0.002];
        }
    }
    weightless(cloth)
}

/// What stays crossed for 3 s: how fast the fastest particle is in each of them [m/s].
fn stays(world: &mut World) -> Vec<f32> {
    let second = |_| {
        let mut fastest = 0.0f32;
        for _ in 0..SECOND {
            let positions = world.positions();
            world.step();
            fastest = fastest.max(fastest_of(world, &positions));
        }
        fastest
    };
    (0..3).map(second).collect()
}

#[test]
fn framed_sheets_through_each_other_are_given_up() {
    let speeds = stays(&mut World::new(&[framed(false), framed(true)], &[]));
    println!("{speeds:?} m/s");
    assert!(speeds[0] < 2.0 && speeds[2] < 0.1, "{speeds:?} m/s");
}

#[test]
fn a_column_through_a_framed_sheet_stays_reported_and_bounded() {
    let column = Shape::from(Parallelepiped::cuboid([0.03, 0.3, 0.03]));
    let column = Collider { pose: at([0.004, 0.0, 0.002]), ..column.into() };
    let speeds = stays(&mut World::new(&[framed(false)], &[column]));
    println!("{speeds:?} m/s");
    assert!(speeds.iter().all(|&speed| speed < 6.0), "{speeds:?} m/s");
}

#[test]
fn a_sheet_that_falls_on_what_stays_crossed_crosses_nothing() {
    let (tube, cloth) = skewer();
    let third = sheet(16, [0.25, 0.25], |p| Vec3::new(p.x + 0.01, 0.12, p.z));
    let world = World::new(&[tube.clone(), cloth.clone(), third.clone()], &[]);
    let mut all = world;
    let tangled = CrossingScene::new(&[tube, cloth], &[]).counter;
    for frame in 0..SECOND {
        all.step();
        let positions: Vec<[f32; 3]> = all.positions().iter().map(|p| p.to_array()).collect();
        let count = positions.len() - third.particles.len();
        let own = tangled.crossings(&positions[..count]);
        assert_eq!(all.scene.crossings(), own, "crossings in frame {frame}");
        assert!(own > 10);
    }
    let lowest = all.positions().iter().map(|p| p.y).fold(f32::INFINITY, f32::min);
    assert!(lowest > -0.15, "{lowest} m: nothing held it");
}

/// Two sheets that go through each other in waves.
#[test]
fn waves_through_waves_come_free() {
    let wave = |sign: f32, shift: f32| {
        sheet(24, [0.3, 0.3], move |p| {
            let height = 0.01 * (40.0 * p.x).sin() * (40.0 * p.z).sin();
            Vec3::new(p.x + shift, sign * height + 3.0 * shift, p.z)
        })
    };
    let sheets = [wave(1.0, 0.0), wave(-1.0, 0.002)].map(weightless);
    let mut world = World::new(&sheets, &[]);
    assert!(world.scene.crossings() > 100);
    comes_free(&mut world);
}

#[test]
fn a_bump_through_a_sheet_comes_back() {
    let flat = sheet(20, [0.3, 0.3], |p| p);
    let bump = sheet(20, [0.3, 0.3], |p| {
        let depth = 0.04 * (-(p.x * p.x + p.z * p.z) / 0.003).exp();
        Vec3::new(p.x, 0.01 - depth, p.z + 0.003)
    });
    let mut world = World::new(&[flat, bump].map(weightless), &[]);
    assert!(world.scene.crossings() > 10);
    comes_free(&mut world);
}

/// A tube in a tube that is too narrow here and there, as layers of a garment are.
#[test]
fn a_sleeve_through_a_sleeve_comes_free() {
    let sleeve = |radius: f32, wobble: f32| {
        let mesh = Mesh::tube(24, 20, radius, radius, 0.25);
        let mut sleeve = cook(&mesh, &CookOptions::default()).unwrap().into_cloth();
        sleeve.rest_positions = mesh.positions.clone();
        for particle in &mut sleeve.particles {
            particle.inverse_mass = if particle.position[1] > -0.001 { 0.0 } else { 1e4 };
            let [x, y, z] = &mut particle.position;
            let factor = 1.0 + wobble * (30.0 * *y).sin();
            (*x, *z) = (*x * factor, *z * factor);
        }
        sleeve.config.thickness = THICKNESS;
        sleeve.config.solver.as_pbd_mut().unwrap().frequency = 600.0;
        sleeve
    };
    let mut world = World::new(&[sleeve(0.08, 0.0), sleeve(0.087, 0.12)], &[]);
    assert!(world.scene.crossings() > 100);
    comes_free(&mut world);
}

/// What a collider that moves through a sheet does whose particles are all pinned, frame by frame.
fn rammed(shape: Shape, speed: f32, mut watch: impl FnMut(&mut World, u32, f32)) -> World {
    let mut cloth = sheet(12, [0.4, 0.4], |p| Vec3::new(p.x, p.z, 0.0));
    cloth.particles.iter_mut().for_each(|particle| particle.inverse_mass = 0.0);
    let pose = |z: f32| at([0.013, 0.017, z]);
    let mut world = World::new(&[cloth], &[Collider { pose: pose(0.3), ..shape.into() }]);
    let stride = speed / 60.0;
    for frame in 1..=(0.3 / stride) as u32 {
        let z = 0.3 - stride * frame as f32;
        let id = world.scene.colliders[0];
        world.scene.engine.colliders_mut().set_pose(id, pose(z)).unwrap();
        world.step();
        watch(&mut world, frame, z);
    }
    world
}

#[test]
fn a_box_through_a_pinned_sheet_is_reported_with_frame_and_position() {
    let mut first = 0;
    let cube = Shape::from(Parallelepiped::cuboid([0.1, 0.1, 0.1]));
    let mut world = rammed(cube, 0.7, |world, frame, _| {
        let report = world.report(0);
        assert_eq!(report.crossings as usize, world.scene.crossings(), "frame {frame}");
        if first == 0 && report.crossings > 0 {
            first = frame;
        }
    });
    let report = world.report(0);
    let crossed = report.crossed.unwrap();
    assert_eq!((crossed.first_frame, crossed.last_frame), (first, report.frames));
    assert!(first > 10 && report.start_crossings == 0 && crossed.most_pairs > 10, "{report:?}");
    let [x, y, z] = crossed.position_m;
    assert!(x.abs() < 0.12 && y.abs() < 0.12 && z.abs() < 1e-3, "{crossed:?}");
    assert_eq!(crossed.partner, ContactPartner::Collider);
}

#[test]
fn a_ball_through_a_pinned_sheet_is_reported() {
    let mut first = 0;
    let mut world = rammed(Shape::sphere(0.1), 0.7, |_, frame, z| {
        if first == 0 && z < 0.1 {
            first = frame;
        }
    });
    let report = world.report(0);
    let forced = report.forced.unwrap();
    assert_eq!((forced.first_frame, forced.last_frame), (first, report.frames), "{forced:?}");
    assert_eq!((report.crossings, report.hurried), (0, None));
    assert_eq!(forced.partner, ContactPartner::Collider);
}

#[test]
fn a_collider_that_is_too_fast_is_reported() {
    // 83 mm in an iteration are followed, 167 mm are more than 25.6 thicknesses.
    let mut world = rammed(Shape::sphere(0.1), 50.0, |_, _, _| {});
    assert!(world.report(0).hurried.is_none(), "no frame was that long");
    let id = world.scene.colliders[0];
    world.scene.engine.colliders_mut().set_pose(id, at([0.0, 0.0, -1.5])).unwrap();
    world.step();
    let hurried = world.report(0).hurried.map(|it| (it.first_frame, it.partner));
    assert_eq!(hurried, Some((1, ContactPartner::Collider)));
}

#[test]
fn a_reset_scene_has_the_same_bits_again() {
    let mut world = corner();
    (0..20).for_each(|_| world.step());
    let (first, report) = (world.scene.rows(), world.report(0));
    assert_eq!((report.frames, report.crossings), (20, 0));
    for id in world.scene.ids.clone() {
        world.scene.engine.reset(id).unwrap();
    }
    assert_eq!(world.report(0), ContactReport::default());
    (0..20).for_each(|_| world.step());
    same_bits("after a reset", &world.scene.rows(), &first).unwrap();
    assert_eq!(world.report(0), report);
}
