//! Random cloths for PBD, XPBD and the implicit solver.

use std::sync::Arc;

use poplin_model::{
    Bend, BendModel, ClothDesc, Fabric, FiberSolver, Implicit, Membrane, Pbd, PbdPhase, Phase,
    PhaseKind, Phases, Preconditioner, StretchModel, VirtualParticle, Wing, Xpbd, XpbdPhase, Yarn,
    YarnPoint,
};

use poplin_geometry::Rng;

/// Creates a cloth of random chains over random particles: pins, accelerations, stiffness per edge,
/// soft ranges, several tethers, non-default settings. The same seed gives the same cloth.
///
/// `particle_count % 4` decides which stages the cloth needs, also in [`super::equip`], so that
/// tests compile few kernels: 0 everything with discrete collision; 1 with continuous collision and
/// without self collision; 2 no colliders and no motion spheres; 3 only colliders. Cloths with an
/// odd remainder may have a stiffness per edge and are solved by Gauss-Seidel; the others also have
/// phases of whole fibers.
///
/// # Panics
/// Panics if the cloth is not valid, which would be a bug of this function.
pub fn random_cloth(seed: u64, particle_count: u32) -> ClothDesc {
    let mut rng = Rng::new(seed);
    let mut fabric = random_fabric(&mut rng, particle_count, 6);
    let edge_count = fabric.edge_count();
    // Families, see above.
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
    let mut cloth = ClothDesc::new(Arc::new(fabric), particles);
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

/// Creates a random cloth (see [`random_cloth`]) with compliance, damping and random bends for XPBD
/// with one substep; `particle_count % 4 == 2` needs the fewest kernels.
///
/// # Panics
/// Panics if the cloth is not valid, which would be a bug of this function.
pub fn random_xpbd_cloth(seed: u64, particle_count: u32) -> ClothDesc {
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
    xpbd.second_order = 0.8;
    cloth.validate().expect("random cloths are valid");
    cloth
}

/// Creates the cloth of [`random_xpbd_cloth`] with random yarns of two to six points on the edges
/// between four to eight particles, several in a set, and a membrane.
///
/// # Panics
/// Panics if the cloth is not valid, which would be a bug of this function.
pub fn random_yarn_cloth(seed: u64, particle_count: u32) -> ClothDesc {
    let mut cloth = random_xpbd_cloth(seed, particle_count);
    let mut rng = Rng::new(seed ^ 0xCA);
    let fabric = Arc::make_mut(&mut cloth.fabric);
    for set in 0..6 {
        let kind = [PhaseKind::Shearing, PhaseKind::Horizontal, PhaseKind::Vertical][set % 3];
        let mut order: Vec<u32> = (0..particle_count).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, rng.index(i + 1));
        }
        let mut left = &order[..];
        while left.len() >= 8 {
            let (group, rest) = left.split_at(4 + rng.index(5));
            left = rest;
            for _ in 0..2 + rng.index(5) {
                let first = rng.index(group.len());
                let second = (first + 1 + rng.index(group.len() - 1)) % group.len();
                fabric.yarn_points.push(YarnPoint {
                    particles: [group[first], group[second]],
                    weight: [0.0, rng.range(0.0, 1.0), 1.0][rng.index(3)],
                    shares: [rng.range(0.1, 3.0), rng.range(0.1, 3.0)],
                    rest_length: [0.0, rng.range(0.01, 1.0)][rng.index(2)],
                });
            }
            let point_end = fabric.yarn_points.len() as u32;
            fabric.yarns.push(Yarn { kind, point_end, breadth: rng.range(0.01, 1.0) });
        }
        fabric.yarn_set_ends.push(fabric.yarns.len() as u32);
    }
    let mut stiffness = || [1e-3, rng.range(1.0, 1e3), 1e6][rng.index(3)];
    let (stretch, shear) = ([stiffness(), stiffness()], stiffness());
    let shear_damping = [0.0, 0.01][rng.index(2)];
    let xpbd = cloth.config.solver.as_xpbd_mut().expect("the cloth has XPBD");
    xpbd.membrane = Some(Membrane { stretch, shear, shear_damping });
    cloth.validate().expect("random cloths are valid");
    cloth
}

/// Creates the cloth of [`random_xpbd_cloth`] with random triangle rest shapes and the implicit
/// solver in one step; models, damping and iteration counts depend on the seed.
///
/// # Panics
/// Panics if the cloth is not valid, which would be a bug of this function.
pub fn random_implicit_cloth(seed: u64, particle_count: u32) -> ClothDesc {
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
pub(super) fn use_implicit(cloth: &mut ClothDesc, seed: u64) {
    let mut rng = Rng::new(seed ^ 0x1B);
    let damping = if seed & 4 == 0 { 0.0 } else { 1e-3 };
    let bend = BendModel::ALL[seed as usize % BendModel::ALL.len()];
    cloth.config.solver = Implicit {
        substeps: 1,
        frequency: None,
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

/// Creates ropes for cyclic reduction: long chains with at most one pin, with PBD for even and XPBD
/// for odd seeds. Some edges have no length. `particle_count % 4 == 2` avoids motion spheres, which
/// would rule out cyclic reduction.
///
/// # Panics
/// Panics if the cloth is not valid, which would be a bug of this function.
pub fn random_ropes(seed: u64, particle_count: u32) -> ClothDesc {
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
    let mut cloth = ClothDesc::new(Arc::new(fabric), particles);
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
pub(super) fn use_xpbd(cloth: &mut ClothDesc, phases: Phases<XpbdPhase>) -> &mut Xpbd {
    cloth.config.sleep.threshold = 1e-3;
    cloth.config.solver = Xpbd { substeps: 1, phases, ..Xpbd::default() }.into();
    cloth.config.solver.as_xpbd_mut().expect("it was just set")
}

/// Creates chains of up to `longest` edges through all particles in random order, several sets of
/// them in each phase. Chains of a set share no particle.
pub(super) fn random_fabric(rng: &mut Rng, particle_count: u32, longest: usize) -> Fabric {
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
