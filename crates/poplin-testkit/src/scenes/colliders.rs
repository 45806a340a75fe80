//! Random colliders and other inputs of simulated cloths.

use poplin::Cloth;
use poplin_measure::shape_arrays::{ArrayBody, ShapeArrays};
use poplin_model::{Parallelepiped, Pose, RigidBody, Sphere};

use poplin_geometry::Rng;

/// Sets the inputs of a simulated cloth by its family (see [`super::random_cloth`]) and a seed:
/// motion and separation spheres with a target, moving colliders of all kinds, and a moving and
/// rotating local space.
///
/// # Panics
/// Panics if the cloth rejects an input, which would be a bug of this function.
pub fn equip(host: &mut Cloth, seed: u64) {
    let mut rng = Rng::new(seed ^ 0xE9);
    let count = host.desc().particle_count();
    let mut spheres = |low: f32| -> Vec<Sphere> {
        let mut sphere = || Sphere { center: rng.point(-1.0, 1.0), radius: rng.range(low, 0.6) };
        (0..count).map(|_| sphere()).collect()
    };
    let family = host.desc().particle_count() % 4;
    if family < 2 {
        let [first, second] = [spheres(-0.2), spheres(-0.2)];
        host.set_motion_spheres(&first).expect("motion spheres are valid");
        host.set_motion_spheres(&second).expect("motion spheres are valid");
    }
    if family != 3 {
        let [first, second] = [spheres(0.0), spheres(0.0)];
        host.set_separation_spheres(&first).expect("separation spheres are valid");
        host.set_separation_spheres(&second).expect("separation spheres are valid");
    }
    if family != 2 {
        let (many, bodies) = (family != 0, family != 1);
        let [start, target] = [0.0, 0.03]
            .map(|shift| moved(random_colliders(&mut Rng::new(seed), many, bodies), shift));
        let set = host.colliders_mut();
        *set = start.to_set().expect("random colliders are valid");
        target.reach(set).expect("random colliders are valid");
        let ids: Vec<_> = set.iter().map(|(id, _)| id).collect();
        for (id, factor) in ids.into_iter().zip([0.5, 1.0, 3.0, 0.0].into_iter().cycle()) {
            // Some cloths only have the factor 1, which is not packed.
            let factor = if seed.is_multiple_of(3) { 1.0 } else { factor };
            set.set_friction(id, factor).expect("the factor is valid");
            // Some turn, too.
            let is_free = set.get(id).is_ok_and(|collider| collider.body.is_none());
            if is_free && !seed.is_multiple_of(3) {
                let [x, y, z] = rng.point(-0.02, 0.02);
                let pose = Pose { translation: rng.point(-0.02, 0.02), rotation: [x, y, z, 1.0] };
                set.set_pose(id, pose).expect("the pose is valid");
            }
        }
    }
    if seed % 5 < 3 {
        let half = rng.range(-0.02, 0.02);
        let rotation = if seed.is_multiple_of(5) {
            [0.0, 0.0, 0.0, 1.0]
        } else {
            [half.sin(), 0.0, 0.0, half.cos()]
        };
        host.set_pose(Pose { translation: rng.point(-0.05, 0.05), rotation })
            .expect("the pose is valid");
    }
}

/// Creates colliders of all kinds in the space of random cloths; with `many`, enough of them that
/// trees are used. Two calls with the same counts make a start and a target. Among the shapes are
/// flat boxes, spheres without radius, capsules with one sphere inside the other, and triangles
/// without area.
pub fn random_colliders(rng: &mut Rng, many: bool, bodies: bool) -> ShapeArrays {
    let count = if many { 40 } else { 6 };
    let mut spheres: Vec<_> = (0..count)
        .map(|k| {
            let [x, y, z] = rng.point(-1.0, 1.0);
            [x, y, z, if k % 5 == 4 { 0.0 } else { rng.range(0.0, 0.4) }]
        })
        .collect();
    let [x, y, z, r] = spheres[0];
    spheres[1] = [x, y, z, 0.5 * r];
    let capsules = (0..count / 2 + 12 * u32::from(many))
        .map(|k| [k % count, (k * 7 + 1) % count])
        .filter(|[a, b]| a != b)
        .collect();
    let plane = |rng: &mut Rng| {
        let [x, y, z] = rng.point(-1.0, 1.0);
        let length = (x * x + y * y + z * z).sqrt().max(1e-3);
        let row = [x / length, y / length, z / length, rng.range(-0.2, 0.4)];
        if length > 1e-2 { row } else { [0.0, 1.0, 0.0, 0.0] }
    };
    let boxes = (0..4)
        .map(|k| Parallelepiped {
            corner: rng.point(-1.0, 0.5),
            edges: [
                rng.point(-0.6, 0.6),
                rng.point(-0.6, 0.6),
                if k == 2 { [0.0; 3] } else { rng.point(-0.6, 0.6) },
            ],
        })
        .collect();
    let mut mesh_vertices: Vec<_> = (0..24).map(|_| rng.point(-1.2, 1.2)).collect();
    mesh_vertices[3] = mesh_vertices[0];
    let mut mesh_triangles: Vec<_> = (0..20).map(|k| [k, (k + 1) % 24, (k + 3) % 24]).collect();
    if many {
        // A closed mesh.
        mesh_vertices = [
            [0.6, 0.0, 0.0],
            [-0.5, 0.1, 0.0],
            [0.0, 0.7, 0.0],
            [0.1, -0.5, 0.0],
            [0.0, 0.0, 0.4],
            [0.1, 0.0, -0.6],
        ]
        .to_vec();
        let (sides, poles) = ([0, 2, 1, 3], [4, 5]);
        let side = |k: usize| {
            [[sides[k], sides[(k + 1) % 4], poles[0]], [sides[(k + 1) % 4], sides[k], poles[1]]]
        };
        mesh_triangles = (0..4).flat_map(side).collect();
    }
    let random_body = |rng: &mut Rng| RigidBody {
        inverse_mass: rng.range(0.0, 2.0),
        inverse_inertia: [
            [rng.range(0.0, 9.0), 0.1, 0.0],
            [0.1, 1.0, 0.0],
            [0.0, 0.0, rng.range(0.0, 9.0)],
        ],
        center: rng.point(-1.0, 1.0),
        velocity: rng.point(-3.0, 3.0),
        angular_velocity: rng.point(-3.0, 3.0),
        restitution: rng.range(0.0, 1.0),
    };
    let body = |spheres: Vec<u32>, boxes: Vec<u32>, rng: &mut Rng| ArrayBody {
        spheres,
        boxes,
        body: random_body(rng),
        ..ArrayBody::default()
    };
    let bodies = if bodies {
        let mut of_mesh = body(vec![], vec![1], rng);
        (of_mesh.has_mesh, of_mesh.convexes) = (false, vec![2]);
        vec![body(vec![count - 2], vec![0], rng), of_mesh]
    } else {
        Vec::new()
    };
    ShapeArrays {
        spheres,
        capsules: if bodies.is_empty() { capsules } else { keep_off(capsules, count - 2) },
        planes: (0..7).map(|_| plane(rng)).collect(),
        convexes: vec![vec![0, 1, 2], vec![3, 4], vec![5, 6]],
        boxes,
        mesh_vertices,
        mesh_triangles,
        bodies,
    }
}

/// Shifts shapes along x by `shift` \[m\], with an additional shear of boxes.
fn moved(mut colliders: ShapeArrays, shift: f32) -> ShapeArrays {
    colliders.spheres.iter_mut().for_each(|sphere| sphere[0] += shift);
    colliders.planes.iter_mut().for_each(|plane| plane[3] += shift);
    for shape in &mut colliders.boxes {
        shape.corner[0] += shift;
        shape.edges[1][0] += shift;
    }
    colliders.mesh_vertices.iter_mut().for_each(|vertex| vertex[0] += shift);
    colliders
}

/// Removes the capsules that end in a sphere which belongs to a body.
fn keep_off(capsules: Vec<[u32; 2]>, sphere: u32) -> Vec<[u32; 2]> {
    capsules.into_iter().filter(|pair| !pair.contains(&sphere)).collect()
}
