use super::refit::bounds_of_paths;
use super::*;
use poplin_model::{Capsule, Collider, ModelError, Pose, RigidBody, Shape, Sphere, TriangleMesh};

fn updated(host: &mut HostColliders, own: &ColliderSet) {
    let pose = Pose::default();
    let motion = SpaceMotion { start: pose, target: pose, dt: 0.1 };
    let (world, groups) = (ColliderSet::new(), InteractionGroups::default());
    host.update(own, &world, groups, motion, 0.0).unwrap();
}

fn uploaded(host: &mut HostColliders) -> usize {
    uploaded_to(host, 0)
}

fn uploaded_to(host: &mut HostColliders, begin: u32) -> usize {
    host.input_len();
    let mut rows = 0;
    host.take_changed(begin, |_, part| rows += part.len());
    rows
}

#[test]
fn shapes_of_bodies_are_not_free() {
    let (mut host, mut set) = (HostColliders::default(), ColliderSet::new());
    let body = set.add_body(RigidBody::default()).unwrap();
    set.add(Shape::capsule(1.0, [0.5, 0.4])).unwrap();
    let owned = Collider::from(Shape::capsule(1.0, [0.5, 0.4]));
    set.add(Collider { body: Some(body), ..owned }).unwrap();
    updated(&mut host, &set);
    assert_eq!((&host.free_spheres, &host.free_capsules), (&vec![0, 1], &vec![0]));
}

#[test]
fn a_mesh_with_vertices_of_each_face_is_closed() {
    let corners = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
    let is_closed = |faces: &[[usize; 3]]| {
        let (mut host, mut set) = (HostColliders::default(), ColliderSet::new());
        let vertices: Vec<_> = faces.iter().flatten().map(|&corner| corners[corner]).collect();
        let triangles: Vec<_> =
            (0..faces.len() as u32).map(|k| [0, 1, 2].map(|c| 3 * k + c)).collect();
        set.add(TriangleMesh { vertices: vertices.into(), triangles: triangles.into() }).unwrap();
        updated(&mut host, &set);
        host.is_mesh_closed
    };
    assert!(is_closed(&faces));
    // Each face twice has no rim, either.
    assert!(is_closed(&[faces, faces].concat()));
    assert!(!is_closed(&faces[1..]));
}

#[test]
fn capsules_share_the_sphere_of_a_joint_until_they_separate() {
    let (mut host, mut set) = (HostColliders::default(), ColliderSet::new());
    let ball = |y: f32| Sphere { center: [0.0, y, 0.0], radius: 0.1 };
    let bone = |from: f32, to: f32| Capsule { ends: [ball(from), ball(to)] };
    set.add(bone(0.0, 1.0)).unwrap();
    let shin = set.add(bone(1.0, 2.0)).unwrap();
    set.add(ball(1.0)).unwrap();
    updated(&mut host, &set);
    assert_eq!(host.capsules, [[0, 1], [1, 2]]);
    assert_eq!(host.sphere_owners.len(), 4, "a separate sphere is not a joint");
    set.set_shape(shin, bone(1.5, 2.0)).unwrap();
    updated(&mut host, &set);
    assert_eq!(host.capsules, [[0, 1], [2, 3]]);
    assert_eq!(host.spheres.start()[2][1], 1.0, "the new sphere starts at the joint");
}

#[test]
fn a_part_beyond_its_capacity_uploads_all_parts_again() {
    let (mut host, mut set) = (HostColliders::default(), ColliderSet::new());
    set.add(Shape::sphere(1.0)).unwrap();
    set.add(Shape::sphere(2.0)).unwrap();
    updated(&mut host, &set);
    let first = host.input_len();
    let before = uploaded(&mut host);
    assert!(before >= 3, "two spheres and the indices");
    set.add(Shape::cuboid([1.0; 3])).unwrap();
    updated(&mut host, &set);
    assert!(host.input_len() >= first + 8);
    // A longer range lies elsewhere.
    let again = uploaded_to(&mut host, first);
    assert!(again >= before + 4, "{again}");
}

#[test]
fn a_mesh_with_more_unused_vertices_gets_a_new_layout() {
    let (mut host, mut set) = (HostColliders::default(), ColliderSet::new());
    let mesh = |count| TriangleMesh {
        vertices: vec![[1.0; 3]; count].into(),
        triangles: [[0, 1, 2]].into(),
    };
    let pose = Pose::default();
    let motion = SpaceMotion { start: pose, target: pose, dt: 0.1 };
    let (world, groups) = (ColliderSet::new(), InteractionGroups::default());
    let mut changes = Vec::new();
    for count in [3, 5] {
        let id = set.add(mesh(count)).unwrap();
        changes.push(host.update(&set, &world, groups, motion, 0.0).unwrap());
        set.remove(id).unwrap();
    }
    assert_eq!(changes, [ColliderChange::Lists; 2]);
}

#[test]
fn moving_one_shape_uploads_only_its_kind() {
    let (mut host, mut set) = (HostColliders::default(), ColliderSet::new());
    let at = |x: f32| Pose { translation: [x, 0.0, 0.0], ..Pose::default() };
    let ball = set.add(Shape::sphere(1.0)).unwrap();
    let shape = set.add(Shape::cuboid([1.0; 3])).unwrap();
    let vertices: Vec<_> = (0..3000).map(|k| [k as f32, 0.0, (k % 2) as f32]).collect();
    let triangles: Vec<_> = (0..1000).map(|k| [3 * k, 3 * k + 1, 3 * k + 2]).collect();
    let (vertices, triangles) = (vertices.into(), triangles.into());
    let mesh = set.add(TriangleMesh { vertices, triangles }).unwrap();
    updated(&mut host, &set);
    let all = uploaded(&mut host);
    assert!(all > 3000 + 1000, "{all}");
    updated(&mut host, &set);
    assert_eq!(uploaded(&mut host), 0, "nothing changed");
    set.set_pose(shape, at(1.0)).unwrap();
    updated(&mut host, &set);
    assert_eq!(uploaded(&mut host), 4, "the target of the box");
    host.end_frame(true);
    set.end_frame();
    set.set_pose(ball, at(1.0)).unwrap();
    updated(&mut host, &set);
    assert_eq!(uploaded(&mut host), 1 + 2, "the target of the ball and its tree");
    host.end_frame(true);
    set.end_frame();
    set.set_pose(mesh, at(1.0)).unwrap();
    updated(&mut host, &set);
    let nodes = 2 * 1000 - 1;
    assert_eq!(uploaded(&mut host), 3000 + 2 * nodes, "vertices and tree, not the triangles");
}

#[test]
fn trees_bound_moving_shapes_and_are_kept_within_their_slack() {
    let (mut host, mut set) = (HostColliders::default(), ColliderSet::new());
    let ids = [Shape::sphere(0.1), Shape::capsule(0.4, [0.1, 0.2]), Shape::sphere(0.3)]
        .map(|shape| set.add(shape).unwrap());
    let (mut positions, mut kept, mut rng) = ([[0.0_f32; 3]; 3], 0, poplin_geometry::Rng::new(7));
    for frame in 0..600 {
        // Slow, at rest, then fast with jumps.
        let speed = [0.005, 0.0, 0.2][frame / 40 % 3];
        for (id, position) in ids.into_iter().zip(&mut positions) {
            for x in position.iter_mut() {
                *x += rng.range(-speed, speed);
            }
            let is_jump = frame % 40 == 20;
            position[0] += f32::from(u8::from(is_jump));
            let pose = Pose { translation: *position, ..Pose::default() };
            let set_pose = if is_jump { ColliderSet::teleport } else { ColliderSet::set_pose };
            set_pose(&mut set, id, pose).unwrap();
        }
        host.sphere_tree_rows.uploaded.move_to(0);
        updated(&mut host, &set);
        kept += usize::from(!host.sphere_tree_rows.uploaded.is_nowhere());
        let ends = [host.capsules[0].to_vec(), vec![host.free_spheres[0]]];
        for (rows, items) in
            [&host.capsule_tree_rows, &host.sphere_tree_rows].into_iter().zip(&ends)
        {
            let path = bounds_of_paths(&host.spheres, items, |[.., radius]| radius);
            // Bounds of the root node.
            let [low, high] = [0, 1].map(|row| rows.rows[row].map(f32::from_bits));
            for k in 0..3 {
                assert!(low[k] <= path.min[k] && path.max[k] <= high[k], "frame {frame}");
            }
        }
        host.end_frame(true);
        set.end_frame();
    }
    assert!((300..450).contains(&kept), "the trees were kept in {kept} frames");
}

#[test]
fn meshes_of_different_bodies_are_rejected() {
    let (mut host, mut set) = (HostColliders::default(), ColliderSet::new());
    let (vertices, triangles) = ([[0.0; 3]; 3].into(), [[0, 1, 2]].into());
    let mesh = TriangleMesh { vertices, triangles };
    let body = set.add_body(RigidBody::default()).unwrap();
    set.add(mesh.clone()).unwrap();
    set.add(Collider { body: Some(body), ..Collider::from(mesh) }).unwrap();
    let pose = Pose::default();
    let motion = SpaceMotion { start: pose, target: pose, dt: 0.1 };
    let groups = InteractionGroups::default();
    let result = host.update(&set, &ColliderSet::new(), groups, motion, 0.0);
    assert_eq!(result, Err(ModelError::MeshesOfBodies));
}
