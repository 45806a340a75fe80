//! Cost of collider shapes on the CPU backend: one frame (60 Hz, 300 iterations per second) of a
//! sheet of 64 x 64 particles that lies on them. With trees, distant shapes should cost nothing,
//! and a large mesh little more than a small one.

use poplin_host::Engine as _;
use poplin_testkit::nth_cloth;
use poplin_testkit::scenes::hanging_sheet;
use std::f32::consts::{PI, TAU};

use criterion::{Criterion, criterion_group, criterion_main};
use poplin_cook::{CookOptions, Tethers, VirtualParticles, cook};
use poplin_cpu::CpuEngine;
use poplin_measure::shape_arrays::{ArrayBody, ShapeArrays};
use poplin_model::{ClothDesc, Mesh, Pose, RigidBody, Shape};

/// Particles along each side of the sheet.
const SIDE: u32 = 64;

/// Height to which the shapes press the sheet up \[m\]; its pinned border is at 0.
const TOP: f32 = 0.03;

/// Frames after which the sheet rests on the shapes.
const SETTLING: usize = 60;

/// Creates a sheet of a square meter around the origin, pinned along its border and light, so that
/// it also stays in place without shapes.
fn sheet(points: VirtualParticles, colliders: ShapeArrays) -> ClothDesc {
    let mut mesh = Mesh::grid(SIDE, SIDE, 1.0, 1.0);
    mesh.positions.iter_mut().for_each(|[x, _, z]| (*x, *z) = (*x - 0.5, *z - 0.5));
    let is_border = |line: u32| line == 0 || line == SIDE - 1;
    let pins = (0..SIDE * SIDE)
        .filter(|index| is_border(index % SIDE) || is_border(index / SIDE))
        .collect();
    let options = CookOptions {
        pins,
        tethers: Tethers::None,
        virtual_particles: points,
        ..CookOptions::default()
    };
    let mut cloth = cook(&mesh, &options).expect("a grid cooks").into_cloth();
    cloth.config.gravity = [0.0, -1.0, 0.0];
    cloth.config.damping = [0.5; 3];
    cloth.colliders = colliders.to_set().expect("the shapes are valid");
    cloth
}

/// Creates `side` x `side` spheres under the whole sheet.
fn spheres(side: u32, radius: f32) -> ShapeArrays {
    let coordinate = |index: u32| (index as f32 + 0.5) / side as f32 - 0.5;
    let sphere = |index| [coordinate(index % side), TOP - radius, coordinate(index / side), radius];
    ShapeArrays { spheres: (0..side * side).map(sphere).collect(), ..ShapeArrays::default() }
}

/// Creates four spheres and four tapered capsules under the sheet.
fn eight() -> ShapeArrays {
    let mut colliders = spheres(2, 0.1);
    for (index, [x, z]) in
        [[-0.35, 0.0], [0.35, 0.0], [0.0, -0.35], [0.0, 0.35]].into_iter().enumerate()
    {
        let first = colliders.spheres.len() as u32;
        let reach = 0.3 * (x + z) * (x + z);
        let along = if index < 2 { [reach, 0.0] } else { [0.0, reach] };
        for (sign, radius) in [(-1.0, 0.08), (1.0, 0.05)] {
            colliders.spheres.push([
                x + sign * along[0],
                TOP - radius,
                z + sign * along[1],
                radius,
            ]);
        }
        colliders.capsules.push([first, first + 1]);
    }
    colliders
}

/// Creates the shapes of [`eight`] plus 256 spheres and 256 capsules in a field that begins 10 m
/// away.
fn eight_of_many() -> ShapeArrays {
    let mut colliders = eight();
    let (of_spheres, end) = (colliders.spheres.len() as u32, 256);
    let position = |index: u32| [10.0 + (index % 16) as f32, 0.0, (index / 16) as f32];
    colliders.spheres.extend((0..end).map(position).map(|[x, y, z]| [x, y, z, 0.2]));
    for index in 0..end {
        let [x, y, z] = position(index);
        let first = of_spheres + end + 2 * index;
        colliders.spheres.extend([[x, y + 1.0, z, 0.2], [x + 0.5, y + 1.0, z, 0.1]]);
        colliders.capsules.push([first, first + 1]);
    }
    colliders
}

/// Creates a closed, bumpy ball as a mesh of `4 * rings * (rings - 1)` triangles.
fn bumpy_ball(rings: u32) -> ShapeArrays {
    let (segments, radius) = (2 * rings, 0.35);
    let vertex = |ring: u32, segment: u32| {
        let (polar, around) =
            (PI * ring as f32 / rings as f32, TAU * segment as f32 / segments as f32);
        let radius =
            radius * (1.0 + 0.05 * polar.sin() * (9.0 * polar).sin() * (8.0 * around).cos());
        [
            radius * polar.sin() * around.cos(),
            TOP - 0.35 + radius * polar.cos(),
            radius * polar.sin() * around.sin(),
        ]
    };
    let mut colliders = ShapeArrays {
        mesh_vertices: vec![vertex(0, 0), vertex(rings, 0)],
        ..ShapeArrays::default()
    };
    for ring in 1..rings {
        colliders.mesh_vertices.extend((0..segments).map(|segment| vertex(ring, segment)));
    }
    let at = |ring: u32, segment: u32| match ring {
        0 => 0,
        _ if ring == rings => 1,
        _ => 2 + (ring - 1) * segments + segment % segments,
    };
    for ring in 0..rings {
        for segment in 0..segments {
            let [a, b, c, d] = [
                at(ring, segment),
                at(ring, segment + 1),
                at(ring + 1, segment + 1),
                at(ring + 1, segment),
            ];
            let triangles = [[a, b, c], [a, c, d]];
            colliders.mesh_triangles.extend(triangles.iter().filter(|[a, b, c]| a != b && b != c));
        }
    }
    colliders
}

/// Creates the shapes of [`eight`] with one sphere on a rigid body that the cloth pushes.
fn with_body() -> ShapeArrays {
    let body = RigidBody { inverse_mass: 1.0, ..RigidBody::default() };
    let body = ArrayBody { spheres: vec![0], body, ..ArrayBody::default() };
    ShapeArrays { bodies: vec![body], ..eight() }
}

fn shapes(criterion: &mut Criterion) {
    let none = VirtualParticles::None;
    let mut continuous = sheet(none, eight());
    continuous.config.contact.continuous = true;
    let cases = [
        ("none", sheet(none, ShapeArrays::default())),
        ("eight", sheet(none, eight())),
        ("eight_of_520", sheet(none, eight_of_many())),
        ("spheres_256", sheet(none, spheres(16, 0.045))),
        ("mesh_5k", sheet(none, bumpy_ball(36))),
        ("mesh_100k", sheet(none, bumpy_ball(159))),
        ("eight_continuous", continuous),
        ("eight_virtual_particles", sheet(VirtualParticles::PerTriangle(4), eight())),
        ("eight_one_a_body", sheet(none, with_body())),
    ];
    let mut group = criterion.benchmark_group("shapes");
    group.sample_size(20);
    for (name, cloth) in cases {
        let mut engine = CpuEngine::new();
        engine.add(cloth).expect("the sheet is valid");
        let step = |engine: &mut CpuEngine| engine.step(1.0 / 60.0).expect("the frame is valid");
        (0..SETTLING).for_each(|_| step(&mut engine));
        let highest = |engine: &CpuEngine| {
            engine.current(nth_cloth(0)).iter().map(|p| p.position[1]).fold(f32::MIN, f32::max)
        };
        assert_eq!(
            highest(&engine) > 0.8 * TOP,
            name != "none",
            "{name}: the sheet lies on the shapes"
        );
        group.bench_function(name, |bencher| bencher.iter(|| step(&mut engine)));
        assert_eq!(
            highest(&engine) > 0.8 * TOP,
            name != "none",
            "{name}: the sheet still lies on the shapes"
        );
    }
    group.finish();
}

/// Host cost of moving shapes: a frame of zero duration of 50 sheets of 16 x 16 particles, before
/// which every shape moves.
fn moving(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("moving");
    group.sample_size(20);
    let sheet = hanging_sheet(16, 16);
    let cases = [
        ("none", 0, Shape::sphere(0.1)),
        ("2_spheres", 2, Shape::sphere(0.1)),
        ("8_spheres", 8, Shape::sphere(0.1)),
        ("4_capsules", 4, Shape::capsule(0.2, [0.06, 0.04])),
        ("8_capsules", 8, Shape::capsule(0.2, [0.06, 0.04])),
        ("16_capsules", 16, Shape::capsule(0.2, [0.06, 0.04])),
        ("64_capsules", 64, Shape::capsule(0.2, [0.06, 0.04])),
    ];
    for (name, count, shape) in cases {
        let mut engine = CpuEngine::new();
        for _ in 0..50 {
            engine.add(sheet.clone()).expect("the sheet is valid");
        }
        let colliders = engine.colliders_mut();
        let add = |_| colliders.add(shape.clone()).expect("the shape is valid");
        let shapes: Vec<_> = (0..count).map(add).collect();
        let mut time = 0.0_f32;
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                time += 0.01;
                for (index, &shape) in shapes.iter().enumerate() {
                    let index = index as f32;
                    let translation = [0.1 * index, (time + index).sin() - 3.0, 0.0];
                    let pose = Pose { translation, ..Pose::default() };
                    engine.colliders_mut().set_pose(shape, pose).expect("the pose is valid");
                }
                engine.step(0.0).expect("the frame is valid")
            })
        });
    }
    group.finish();
}

criterion_group!(benches, shapes, moving);
criterion_main!(benches);
