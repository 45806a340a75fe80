//! Seeded cloths for tests: random and degenerate, all valid.

use std::sync::Arc;

use poplin::LiveCloth;
use poplin_cook::{CookOptions, Tethers, cook};
use poplin_measure::shape_arrays::{ArrayBody, ShapeArrays};
use poplin_model::{
    Bend, BendModel, Cloth, Fabric, FiberSolver, Implicit, Mesh, Parallelepiped, Pbd, PbdPhase,
    Phase, PhaseKind, Phases, Pose, Preconditioner, RigidBody, Sphere, StretchModel,
    VirtualParticle, Wing, Xpbd, XpbdPhase,
};

use crate::rng::Rng;

/// Creates a cooked sheet of `columns` x `rows` particles, 1 m wide, with two pinned corners and
/// geodesic tethers.
///
/// # Panics
/// Panics if the grid does not cook; grids of at least 2 x 2 do.
pub fn hanging_sheet(columns: u32, rows: u32) -> Cloth {
    let depth = (rows - 1) as f32 / (columns - 1) as f32;
    let options = CookOptions {
        pins: vec![0, columns - 1],
        tethers: Tethers::Geodesic,
        ..CookOptions::default()
    };
    cook(&Mesh::grid(columns, rows, 1.0, depth), &options).expect("a grid cooks").into_cloth()
}

/// Creates a cloth of unconnected particles without forces.
pub fn loose_particles(particles: Vec<[f32; 4]>) -> Cloth {
    let fabric = Fabric {
        particle_count: particles.len() as u32,
        set_fiber_begin: vec![0],
        fiber_edge_begin: vec![0],
        ..Fabric::default()
    };
    let mut cloth = Cloth::new(Arc::new(fabric), particles);
    cloth.config.gravity = [0.0; 3];
    cloth
}

/// Creates a cloth of random chains over random particles: pins, accelerations, stiffness per edge,
/// soft ranges, several tethers, non-default settings. The same seed gives the same cloth.
///
/// `particle_count % 4` decides which stages the cloth needs, also in [`equip`], so that tests
/// compile few kernels: 0 everything with discrete collision; 1 with continuous collision and
/// without self collision; 2 no colliders and no motion spheres; 3 only colliders. Cloths with an
/// odd remainder may have a stiffness per edge and are solved by Gauss-Seidel; the others also have
/// phases of whole fibers.
///
/// # Panics
/// Panics if the cloth is not valid, which would be a bug of this function.
pub fn random_cloth(seed: u64, particle_count: u32) -> Cloth {
    let mut rng = Rng::new(seed);
    let mut fabric = random_fabric(&mut rng, particle_count, 6);
    let edge_count = fabric.edge_count();
    let family = particle_count % 4;
    let has_whole_fibers = family.is_multiple_of(2);
    if rng.index(2) == 0 && !has_whole_fibers {
        fabric.edge_stiffness_log2 = (0..edge_count).map(|_| -rng.range(0.0, 12.0)).collect();
    }
    let tethers = if family == 3 { 0 } else { 1 + rng.index(3) as u32 };
    let total = (tethers * particle_count) as usize;
    fabric.triangles = (0..particle_count)
        .map(|_| std::array::from_fn(|_| rng.index(particle_count as usize) as u32))
        .collect();
    let mut point = || {
        let first = rng.index(particle_count as usize) as u32;
        let corners = [
            first,
            (first + 1) % particle_count,
            (first + 2 + rng.index(4) as u32) % particle_count,
        ];
        let a = rng.range(0.0, 1.0);
        let b = rng.range(0.0, 1.0 - a);
        VirtualParticle { corners, weights: [a, b, 1.0 - a - b] }
    };
    fabric.virtual_particles = (0..particle_count / 2).flat_map(|_| [point(); 2]).collect();
    fabric.tethers_per_particle = tethers;
    fabric.tether_anchors = (0..total).map(|_| rng.index(particle_count as usize) as u32).collect();
    fabric.tether_lengths = (0..total).map(|_| rng.range(0.0, 1.5)).collect();

    let particles = (0..particle_count).map(|_| {
        let [x, y, z] = rng.point(-1.0, 1.0);
        let w = if rng.index(6) == 0 { 0.0 } else { rng.range(0.1, 50.0) };
        [x, y, z, w]
    });
    let mut cloth = Cloth::new(Arc::new(fabric), particles);
    cloth.previous_positions = cloth
        .particles
        .iter()
        .map(|p| std::array::from_fn(|k| p.position[k] + rng.range(-0.02, 0.02)))
        .collect();
    if rng.index(2) == 0 {
        cloth.particle_accelerations = (0..particle_count).map(|_| rng.point(-5.0, 5.0)).collect();
    }
    cloth.config.gravity = rng.point(-10.0, 10.0);
    cloth.config.damping = rng.point(0.0, 0.9);
    let frequency = [60.0, 120.0, 300.0][rng.index(3)];
    cloth.config.tethers.stiffness = rng.range(0.1, 1.0);
    cloth.config.tethers.scale = rng.range(0.5, 1.2);
    if family != 3 {
        cloth.config.air.wind_velocity = rng.point(-10.0, 10.0);
        cloth.config.air.drag = rng.range(0.0, 0.8);
        cloth.config.air.lift = rng.range(0.1, 0.8);
        cloth.config.air.density = rng.range(0.1, 2.0) / 50.0;
        cloth.config.air.pressure = 20.0 * (cloth.config.air.lift - 0.4);
    }
    cloth.config.inertia.linear = rng.point(0.0, 1.0);
    cloth.config.inertia.angular = rng.point(0.0, 1.0);
    cloth.config.inertia.centrifugal = rng.point(0.0, 1.0);
    cloth.config.inertia.linear_drag = rng.point(0.0, 1.0);
    cloth.config.inertia.angular_drag = rng.point(0.0, 1.0);
    cloth.config.contact.friction = [0.0, rng.range(0.0, 1.0)][rng.index(2)];
    cloth.config.contact.friction_holds = rng.index(2) == 0;
    cloth.config.contact.friction_slop = [0.0, 1e-3][rng.index(2)];
    cloth.config.contact.mass_scale = [0.0, rng.range(0.0, 100.0)][rng.index(2)];
    cloth.config.contact.continuous = family == 1;
    cloth.config.contact.continuous_reach = [0.2, 1e6][rng.index(2)];
    let is_gentle = cloth.config.contact.continuous_reach < 1.0;
    cloth.config.contact.depenetration_speed = if is_gentle { 0.3 } else { 1e6 };
    cloth.config.sleep.threshold = if family == 3 { 0.0 } else { [1e-3, 100.0][rng.index(2)] };
    cloth.config.sleep.test_interval = 3;
    let (gauss_seidel, semi_implicit) =
        (Some(FiberSolver::GaussSeidel), Some(FiberSolver::SemiImplicit));
    let mut phase = |(number, &index): (usize, &u32)| {
        let any = [gauss_seidel, semi_implicit, None][rng.index(3)];
        // At least one phase of each kind, so that every seed needs the same kernel.
        let of_even = [gauss_seidel, semi_implicit].get(number).copied().unwrap_or(any);
        let phase = PbdPhase {
            fiber_solver: if has_whole_fibers { of_even } else { gauss_seidel },
            stiffness: rng.range(0.05, 1.0),
            stiffness_multiplier: rng.range(0.0, 1.0),
            compression_limit: rng.range(0.5, 1.0),
            stretch_limit: rng.range(1.0, 2.0),
        };
        (index, phase)
    };
    let single = cloth.phase_order.iter().enumerate().map(&mut phase).collect();
    let phases = Phases { single, ..Phases::default() };
    cloth.config.solver = Pbd { frequency, phases, ..Pbd::default() }.into();
    if family.is_multiple_of(2) {
        cloth.config.self_collision.distance = Some(rng.range(0.2, 0.6));
        cloth.config.self_collision.stiffness = rng.range(0.5, 1.0);
        cloth.config.self_collision.friction = [0.0, rng.range(0.0, 1.0)][rng.index(2)];
        cloth.config.self_collision.limit_velocity = rng.index(2) == 0;
        cloth.rest_positions = (0..particle_count).map(|_| rng.point(-1.0, 1.0)).collect();
        if rng.index(2) == 0 {
            cloth.self_collision_indices =
                (0..particle_count).rev().filter(|_| rng.index(4) != 0).collect();
        }
    }
    cloth.validate().expect("random cloths are valid");
    cloth
}

/// Creates colliders of all kinds in the space of random cloths; with `many`, enough of them that
/// trees are used. Two calls with the same counts give a start and a target. Among the shapes are
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

/// Sets the inputs of a simulated cloth by its family (see [`random_cloth`]) and a seed: motion and
/// separation spheres with a target, moving colliders of all kinds, and a moving and rotating local
/// space.
///
/// # Panics
/// Panics if the cloth rejects an input, which would be a bug of this function.
pub fn equip(host: &mut LiveCloth, seed: u64) {
    let mut rng = Rng::new(seed ^ 0xE9);
    let count = host.cloth().particle_count();
    let mut spheres = |low: f32| -> Vec<Sphere> {
        let mut sphere = || Sphere { center: rng.point(-1.0, 1.0), radius: rng.range(low, 0.6) };
        (0..count).map(|_| sphere()).collect()
    };
    let family = host.cloth().particle_count() % 4;
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

/// Creates a cloth with degenerate states that every stage must survive: coincident particles, zero
/// rest lengths, huge and tiny masses, far-away particles, a fiber with only pins, empty sets.
///
/// # Panics
/// Panics if the cloth is not valid, which would be a bug of this function.
pub fn degenerate_cloth() -> Cloth {
    let mut fabric = random_fabric(&mut Rng::new(7), 24, 6);
    let count = fabric.edge_count();
    for (edge, length) in fabric.rest_lengths.iter_mut().enumerate() {
        *length = [0.0, 1e-9, 1.0, 1e6][edge % 4];
    }
    assert!(count > 8, "the degenerate cloth needs edges of each kind");
    fabric.tethers_per_particle = 2;
    fabric.tether_anchors = (0..48).map(|k| if k < 24 { k } else { 0 }).collect();
    fabric.tether_lengths = (0..48).map(|k| [0.0, 1e-9, 1.0][k % 3]).collect();
    fabric.triangles = vec![[0, 1, 2], [0, 0, 9], [8, 9, 8], [16, 17, 18], [0, 16, 17]];
    let corners = [[0, 1, 2], [8, 9, 10], [8, 9, 10], [16, 17, 18], [0, 16, 17]];
    let weights =
        [[0.25, 0.5, 0.25], [1.0, 0.0, 0.0], [8.0, -8.0, 1.0], [1e-3, 0.0, 0.0], [0.4, 0.3, 0.3]];
    let point = |(corners, weights)| VirtualParticle { corners, weights };
    fabric.virtual_particles = corners.into_iter().zip(weights).map(point).collect();
    let mut particles = vec![[0.25, -0.5, 0.125, 1.0]; 24];
    for (i, particle) in particles.iter_mut().enumerate().skip(8) {
        particle[3] = [0.0, 1e-9, 1e9, 1.0][i % 4];
        if i >= 16 {
            particle[0] = [1e9, -1e-20, 1e4, 0.0][i % 4];
        }
    }
    let mut cloth = Cloth::new(Arc::new(fabric), particles);
    cloth.config.tethers.scale = 0.0;
    cloth.config.air.drag = 1.0;
    cloth.config.air.lift = 1.0;
    cloth.config.air.wind_velocity = [1e3, 0.0, 0.0];
    // Particles that coincide, with and without coincident rest positions, and some far away.
    cloth.config.self_collision.distance = Some(0.5);
    cloth.config.self_collision.friction = 1.0;
    cloth.config.sleep.threshold = 1e-3;
    cloth.rest_positions = (0..24).map(|k| [(k / 3) as f32, 0.0, 0.0]).collect();
    cloth.validate().expect("the degenerate cloth is valid");
    cloth
}

/// Creates a random cloth (see [`random_cloth`]) with compliance, damping and random bends for XPBD
/// with one substep; `particle_count % 4 == 2` needs the fewest kernels.
///
/// # Panics
/// Panics if the cloth is not valid, which would be a bug of this function.
pub fn random_xpbd_cloth(seed: u64, particle_count: u32) -> Cloth {
    let mut cloth = random_cloth(seed, particle_count);
    let mut rng = Rng::new(seed ^ 0xBE);
    let fabric = Arc::make_mut(&mut cloth.fabric);
    fabric.edge_stiffness_log2.clear();
    for _ in 0..6 {
        let mut order: Vec<u32> = (0..particle_count).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, rng.index(i + 1));
        }
        fabric.bends.extend(order.as_chunks::<4>().0.iter().map(|&particles| Bend {
            particles,
            rest_angle: rng.range(-3.1, 3.1),
            weight: rng.range(0.1, 5.0),
            wings:
                [(); 2].map(|()| Wing { height: rng.range(0.01, 2.0), foot: rng.range(-1.0, 2.0) }),
        }));
        fabric.bend_set_ends.push(fabric.bends.len() as u32);
    }
    let mut phase = |index: u32| {
        let compliance = [0.0, 1e-7, 1e-4, 10.0][rng.index(4)];
        let damping = if compliance > 0.0 { [0.0, 100.0][rng.index(2)] } else { 0.0 };
        let fiber_solver = [None, Some(FiberSolver::GaussSeidel)][rng.index(2)];
        (index, XpbdPhase { fiber_solver, compliance, damping })
    };
    let single = cloth.phase_order.iter().map(|&index| phase(index)).collect();
    let xpbd = use_xpbd(&mut cloth, Phases { single, ..Phases::default() });
    (xpbd.bending_rigidity, xpbd.bending_damping) = (rng.range(0.1, 1e3), [0.0, 1.0][rng.index(2)]);
    cloth.validate().expect("random cloths are valid");
    cloth
}

/// Creates the cloth of [`random_xpbd_cloth`] with random triangle rest shapes and the implicit
/// solver in one step; models, damping and iteration counts depend on the seed.
///
/// # Panics
/// Panics if the cloth is not valid, which would be a bug of this function.
pub fn random_implicit_cloth(seed: u64, particle_count: u32) -> Cloth {
    let mut cloth = random_xpbd_cloth(seed, particle_count);
    let mut rng = Rng::new(seed ^ 0x1A);
    let fabric = Arc::make_mut(&mut cloth.fabric);
    fabric.triangle_shapes = fabric
        .triangles
        .iter()
        .map(|_| match rng.index(8) {
            0 => [0.0; 4],
            _ => [
                rng.range(0.3, 1.0),
                rng.range(-0.2, 0.2),
                rng.range(-0.2, 0.2),
                rng.range(0.3, 1.0),
            ],
        })
        .collect();
    use_implicit(&mut cloth, seed);
    cloth.validate().expect("random cloths are valid");
    cloth
}

/// Sets the implicit solver by seed: eight consecutive seeds cover every model with and without
/// damping, twelve cover every combination of models.
fn use_implicit(cloth: &mut Cloth, seed: u64) {
    let mut rng = Rng::new(seed ^ 0x1B);
    let damping = if seed & 4 == 0 { 0.0 } else { 1e-3 };
    let bend = BendModel::ALL[(seed % 4) as usize];
    cloth.config.solver = Implicit {
        substeps: 1,
        stretch: StretchModel::ALL[(seed % 3) as usize],
        stretch_stiffness: [rng.range(10.0, 1e3), rng.range(10.0, 1e3)],
        shear_stiffness: rng.range(0.0, 300.0),
        poisson_ratio: rng.range(-0.5, 0.45),
        compression: rng.range(0.0, 1.0),
        bend,
        bending_rigidity: [0.0, 1e-3, 1e-2, 1.0][rng.index(4)],
        stretch_damping: damping,
        bending_damping: damping,
        tolerance: 0.01,
        max_iterations: 1 + rng.index(12) as u32,
        preconditioner: Preconditioner::ALL[rng.index(2)],
        max_halvings: (seed % 3) as u32,
    }
    .into();
    let fabric = Arc::make_mut(&mut cloth.fabric);
    let limit = bend.max_rest_angle().min(1.1);
    for bend in &mut fabric.bends {
        bend.rest_angle = bend.rest_angle.clamp(-limit, limit);
    }
    fabric.edge_breadths = fabric
        .rest_lengths
        .iter()
        .map(|_| if rng.index(8) == 0 { 0.0 } else { rng.range(0.1, 1.0) })
        .collect();
    if bend == BendModel::Springs {
        fabric.phases[0].kind = PhaseKind::Bending;
    }
}

/// Creates the cloth of [`degenerate_xpbd_cloth`] with the implicit solver and triangle rest shapes
/// that are huge, tiny or without area.
///
/// # Panics
/// Panics if the cloth is not valid, which would be a bug of this function.
pub fn degenerate_implicit_cloth(seed: u64) -> Cloth {
    let mut cloth = degenerate_xpbd_cloth();
    let fabric = Arc::make_mut(&mut cloth.fabric);
    let shapes = [[1.0, 0.0, 0.0, 1.0], [0.0; 4], [1e-9, 0.0, 0.0, 1e-9], [1e6, 0.0, 1e6, 1e6]];
    fabric.triangles = fabric
        .bends
        .iter()
        .flat_map(|bend| {
            let [a, b, c, d] = bend.particles;
            [[a, b, c], [b, a, d]]
        })
        .collect();
    fabric.triangle_shapes = (0..fabric.triangles.len()).map(|k| shapes[k % 4]).collect();
    use_implicit(&mut cloth, seed);
    cloth.validate().expect("the degenerate cloth is valid");
    cloth
}

/// Creates a sheet like [`hanging_sheet`] with the implicit solver: two steps per frame with few
/// iterations, each divided into up to four parts.
pub fn implicit_sheet(columns: u32, rows: u32) -> Cloth {
    let depth = (rows - 1) as f32 / (columns - 1) as f32;
    let options = CookOptions { pins: vec![0, columns - 1], bends: true, ..CookOptions::default() };
    let cooked = cook(&Mesh::grid(columns, rows, 1.0, depth), &options).expect("a grid cooks");
    let mut cloth = cooked.into_cloth();
    cloth.config.solver = Implicit {
        substeps: 2,
        bending_rigidity: 1e-5,
        max_iterations: 12,
        max_halvings: 2,
        ..Implicit::default()
    }
    .into();
    cloth
}

/// Creates ropes for cyclic reduction: long chains with at most one pin, with PBD for even and XPBD
/// for odd seeds. Some edges have no length. `particle_count % 4 == 2` avoids motion spheres, which
/// would rule out cyclic reduction.
///
/// # Panics
/// Panics if the cloth is not valid, which would be a bug of this function.
pub fn random_ropes(seed: u64, particle_count: u32) -> Cloth {
    let mut rng = Rng::new(seed ^ 0x40);
    let mut fabric = random_fabric(&mut rng, particle_count, 70);
    fabric
        .rest_lengths
        .iter_mut()
        .filter(|length| **length < 0.05)
        .for_each(|length| *length = 0.0);
    let mut particles: Vec<_> = (0..particle_count)
        .map(|_| {
            let [x, y, z] = rng.point(-1.0, 1.0);
            [x, y, z, rng.range(0.1, 50.0)]
        })
        .collect();
    particles[rng.index(particle_count as usize)][3] = 0.0;
    let twin = rng.index(particle_count as usize - 1);
    (0..3).for_each(|k| particles[twin][k] = particles[twin + 1][k]);
    let mut cloth = Cloth::new(Arc::new(fabric), particles);
    cloth.previous_positions = cloth
        .particles
        .iter()
        .map(|p| std::array::from_fn(|k| p.position[k] + rng.range(-0.05, 0.05)))
        .collect();
    let fiber_solver = Some(FiberSolver::CyclicReduction);
    let order = cloth.phase_order.clone().into_iter();
    if seed.is_multiple_of(2) {
        let phase = |index| {
            let phase = PbdPhase {
                fiber_solver,
                stiffness: rng.range(0.1, 1.0),
                stiffness_multiplier: [1.0, rng.range(0.0, 1.0)][rng.index(2)],
                compression_limit: rng.range(0.5, 1.0),
                stretch_limit: rng.range(1.0, 2.0),
            };
            (index, phase)
        };
        let phases = Phases { single: order.map(phase).collect(), ..Phases::default() };
        cloth.config.solver = Pbd { phases, ..Pbd::default() }.into();
        cloth.config.sleep.threshold = 1e-3;
    } else {
        let phase = |index| {
            let compliance = [0.0, 1e-6, 1e-3][rng.index(3)];
            let damping = if compliance > 0.0 { [0.0, 10.0][rng.index(2)] } else { 0.0 };
            (index, XpbdPhase { fiber_solver, compliance, damping })
        };
        let phases = Phases { single: order.map(phase).collect(), ..Phases::default() };
        use_xpbd(&mut cloth, phases);
    }
    cloth.validate().expect("random ropes are valid");
    cloth
}

/// Sets XPBD with one substep and without bending rigidity.
fn use_xpbd(cloth: &mut Cloth, phases: Phases<XpbdPhase>) -> &mut Xpbd {
    cloth.config.sleep.threshold = 1e-3;
    cloth.config.solver = Xpbd { substeps: 1, phases, ..Xpbd::default() }.into();
    cloth.config.solver.as_xpbd_mut().expect("it was just set")
}

/// Creates a cloth with degenerate fibers and bends: those of [`degenerate_cloth`], and hinges that
/// are flat, folded to 0 and to pi, without length, without area, with only pins, huge and tiny.
///
/// # Panics
/// Panics if the cloth is not valid, which would be a bug of this function.
pub fn degenerate_xpbd_cloth() -> Cloth {
    let edge = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]];
    let wings: [[[f32; 3]; 2]; 10] = [
        [[0.5, 1.0, 0.0], [0.5, -1.0, 0.0]],
        [[0.5, 1.0, 0.0], [0.5, 1.0, 0.0]],
        [[0.5, 1.0, 1e-6], [0.5, 1.0, -1e-6]],
        [[0.5, 0.0, 1.0], [0.5, -1.0, 0.0]],
        [[2.0, 0.0, 0.0], [0.5, -1.0, 0.0]],
        [[0.5, 1.0, 0.0], [0.0, 0.0, 0.0]],
        [[0.5, 1e-7, 0.0], [0.5, -1e-7, 1e-7]],
        [[9.0, 1.0, 0.3], [-8.0, -1.0, 0.3]],
        [[0.5, 1e9, 0.0], [0.5, 0.0, 1e9]],
        [[0.5, -1.0, 1e-3], [0.5, 1.0, 1e-3]],
    ];
    let (sizes, masses) = (
        [1.0f32, 1e-3, 1e-12, 1e6],
        [[1.0; 4], [0.0, 0.0, 1.0, 1.0], [1.0, 2.0, 0.0, 0.0], [0.0; 4]],
    );
    let mut particles = vec![[0.25, -0.5, 0.125, 1.0]; 2];
    let mut bends = Vec::new();
    for (wing, rest_angle) in wings.iter().zip([0.0, 3.0, -3.0, 1.0, -1.0].into_iter().cycle()) {
        for (size, masses) in sizes.into_iter().zip(masses) {
            let begin = particles.len() as u32;
            bends.push(Bend {
                particles: [0, 1, 2, 3].map(|k| begin + k),
                rest_angle,
                weight: 2.0,
                wings: [Wing { height: size, foot: 0.5 }; 2],
            });
            let corners = [edge[0], edge[1], wing[0], wing[1]];
            let chain_particles =
                corners.iter().zip(masses).map(|(p, w)| [p[0] * size, p[1] * size, p[2] * size, w]);
            particles.extend(chain_particles);
        }
    }
    // One hinge has no length, and the bend of another has no weight.
    bends[1].weight = 0.0;
    let hinge = bends[0].particles;
    particles[hinge[1] as usize] = particles[hinge[0] as usize];
    let count = particles.len() as u32;
    let mut fabric = random_fabric(&mut Rng::new(8), count, 6);
    for (index, length) in fabric.rest_lengths.iter_mut().enumerate() {
        *length = [0.0, 1e-9, 1.0, 1e6, 0.5][index % 5];
    }
    (fabric.bend_set_ends, fabric.bends) = (vec![bends.len() as u32], bends);
    (fabric.tethers_per_particle, fabric.tether_anchors) = (1, (0..count).collect());
    fabric.tether_lengths = vec![1.0; count as usize];
    let mut cloth = Cloth::new(Arc::new(fabric), particles);
    let soft = |compliance| XpbdPhase { compliance, ..XpbdPhase::default() };
    let phases = Phases {
        bending: soft(0.0),
        shearing: soft(1e-9),
        horizontal: soft(1.0),
        vertical: soft(1e9),
        single: Vec::new(),
    };
    use_xpbd(&mut cloth, phases).bending_rigidity = 10.0;
    // Same stages as the random cloths, to compile no further kernel.
    cloth.config.air.drag = 0.1;
    cloth.validate().expect("the degenerate cloth is valid");
    cloth
}

/// Creates chains of up to `longest` edges through all particles in random order, several sets of
/// them in each phase. Chains of a set share no particle.
fn random_fabric(rng: &mut Rng, particle_count: u32, longest: usize) -> Fabric {
    let mut fabric = Fabric {
        particle_count,
        set_fiber_begin: vec![0],
        fiber_edge_begin: vec![0],
        ..Default::default()
    };
    let kinds = PhaseKind::ALL;
    for (phase, &kind) in kinds.iter().enumerate() {
        let set_begin = fabric.set_fiber_begin.len() as u32 - 1;
        for _ in 0..=phase {
            let mut order: Vec<u32> = (0..particle_count).collect();
            for i in (1..order.len()).rev() {
                order.swap(i, rng.index(i + 1));
            }
            let mut rest = order.as_slice();
            while rest.len() > 1 {
                let (fiber, others) = rest.split_at((2 + rng.index(longest)).min(rest.len()));
                rest = others;
                fabric.fiber_vertices.extend(fiber);
                fabric.rest_lengths.extend((1..fiber.len()).map(|_| rng.range(0.0, 1.0)));
                fabric.fiber_edge_begin.push(fabric.rest_lengths.len() as u32);
            }
            fabric.set_fiber_begin.push(fabric.fiber_edge_begin.len() as u32 - 1);
        }
        fabric.phases.push(Phase {
            kind,
            set_begin,
            set_end: fabric.set_fiber_begin.len() as u32 - 1,
        });
    }
    fabric
}
