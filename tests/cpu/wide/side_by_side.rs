//! Several small cloths side by side in the lanes of one worker.

use poplin_cpu::{CpuEngine, WideTeam};
use poplin_cpu::{LaneEngine, Team, Workers};
use poplin_geometry::Rng;
use poplin_host::{ClothId, Engine as _, FramePart};
use poplin_layout::{MAX_COORDINATE, STAGES, StageMask};
use poplin_measure::shape_arrays::{ArrayBody, ShapeArrays, cuboid};
use poplin_model::{ClothDesc, FiberSolver, Particle, Pose};
use poplin_testkit::compare::same_bits;
use poplin_testkit::inputs::{cloths, equip_with_masses, equip_with_masses_by_seed, inputs_of};
use poplin_testkit::scenes::{hanging_sheet, loose_particles};
use rayon::ThreadPoolBuilder;

use super::{ONE_ITERATION, SOME};

/// Copies of a cloth in different states; some start with a fault.
fn copies<W: Workers + Default + Clone + Send + Sync + 'static>(
    cloth: &ClothDesc,
    count: usize,
) -> (LaneEngine<W>, Vec<ClothId>) {
    let mut engine = LaneEngine::<W>::new();
    let id = engine.add(cloth.clone()).unwrap();
    let mut ids = vec![id];
    ids.extend(engine.clone_cloth(id, count - 1).unwrap());
    for (copy, &id) in ids.iter().enumerate() {
        let seed = cloth.particle_count() + 15 * copy;
        equip_with_masses_by_seed(engine.cloth_mut(id).unwrap(), seed as u64);
        let mut rng = Rng::new(seed as u64);
        let mut moved = |particles: &[Particle]| {
            let mut move_one = |particle: &Particle| Particle {
                position: particle.position.map(|x| x + rng.range(-0.02, 0.02)),
                ..*particle
            };
            particles.iter().map(&mut move_one).collect::<Vec<_>>()
        };
        let (mut current, previous) = (moved(engine.current(id)), moved(engine.previous(id)));
        if copy % 7 == 3 {
            // At the largest valid coordinate, and moving on.
            current[copy % cloth.particle_count()].position[1] = MAX_COORDINATE;
        }
        engine.set_state(id, &current, &previous).unwrap();
    }
    (engine, ids)
}

/// Compares copies of a cloth, solved side by side in batches at every width, with the twin;
/// returns the size of the largest batch.
#[track_caller]
fn assert_same_side_by_side(
    what: &str,
    cloth: &ClothDesc,
    frames: &[f32],
    part: &FramePart,
) -> usize {
    let count = 18;
    let (mut mirror, ids) = copies::<Team>(cloth, count);
    for &dt in frames {
        mirror.begin_frame(dt).unwrap();
        for &id in &ids {
            mirror.run_part(id, part, &mut Team::single()).unwrap();
        }
    }
    let mut largest = 0;
    for mut team in WideTeam::all() {
        let what = format!("{what}, {}", team.describe());
        let (mut wide, ids) = copies::<WideTeam>(cloth, count);
        for &dt in frames {
            wide.begin_frame(dt).unwrap();
            largest = largest.max(wide.run_alike(part, &mut team));
        }
        for (copy, &id) in ids.iter().enumerate() {
            let what = format!("{what}, copy {copy}");
            same_bits(&what, Particle::rows(wide.current(id)), Particle::rows(mirror.current(id)))
                .unwrap();
            same_bits(
                &what,
                Particle::rows(wide.previous(id)),
                Particle::rows(mirror.previous(id)),
            )
            .unwrap();
            assert_eq!(wide.feedback(id), mirror.feedback(id), "{what}: the reports differ");
            assert_eq!(wide.body_impulses(id), mirror.body_impulses(id), "{what}: impulses differ");
        }
    }
    largest
}

#[test]
fn every_stage_has_the_mirrors_bits_side_by_side() {
    for row in STAGES {
        let mut largest = 0;
        for (name, cloth) in inputs_of(row.stage) {
            let stages = StageMask::only(row.stage);
            let part = FramePart { stages, ..FramePart::WHOLE };
            let what = format!("{}, {name}", row.name);
            largest = largest.max(assert_same_side_by_side(&what, &cloth, &[ONE_ITERATION], &part));
        }
        assert!(largest > 4, "{}: no more than {largest} cloths are simulated together", row.name);
    }
}

#[test]
fn whole_frames_have_the_mirrors_bits_side_by_side() {
    for (name, cloth) in cloths() {
        let largest = assert_same_side_by_side(&name, &cloth, &SOME, &FramePart::WHOLE);
        assert!(largest > 4, "{name}: no more than {largest} cloths are simulated together");
    }
}

#[test]
fn every_fiber_solver_has_the_mirrors_bits_side_by_side() {
    let part = FramePart { stages: StageMask::FIBERS, ..FramePart::WHOLE };
    for solver in [FiberSolver::GaussSeidel, FiberSolver::SemiImplicit] {
        for (name, mut cloth) in cloths() {
            if !cloth.fabric.edge_stiffness_log2.is_empty() && solver != FiberSolver::GaussSeidel {
                continue;
            }
            cloth.config.solver.set_fiber_solver(Some(solver));
            assert_same_side_by_side(&format!("{solver:?}, {name}"), &cloth, &SOME[..1], &part);
        }
    }
}

/// Loose particles in a cube of 2 m among shapes. The number of shapes that belong to a body or
/// form convexes is the same for every k, but not which ones.
fn among_shapes(k: usize) -> ClothDesc {
    let mut rng = Rng::new(k as u64);
    let mut particle = || {
        let [x, y, z] = rng.point(-1.0, 1.0);
        [x, y, z, rng.range(0.1, 3.0)]
    };
    let mut cloth = loose_particles((0..300).map(|_| particle()).collect());
    let mut sphere = |radius: f32| {
        let [x, y, z] = rng.point(-1.0, 1.0);
        [x, y, z, radius]
    };
    let pose = |x: f32| Pose { translation: [x, 0.1, -0.2], ..Pose::default() };
    let body = ArrayBody {
        spheres: [vec![4], vec![4, 5]][k % 2].clone(),
        convexes: [vec![0, 1], vec![0]][k / 2 % 2].clone(),
        boxes: [vec![1, 2], vec![0]][k % 2].clone(),
        ..ArrayBody::default()
    };
    let shapes = ShapeArrays {
        spheres: [0.3, 0.4, 0.2, 0.3, 0.3, 0.4].map(&mut sphere).to_vec(),
        capsules: vec![[0, 1], [2, 3]],
        planes: vec![
            [0.0, 1.0, 0.0, 0.3],
            [1.0, 0.0, 0.0, 0.2],
            [-0.6, 0.8, 0.0, 0.1],
            [0.0, 0.0, 1.0, -0.3],
        ],
        convexes: [
            vec![vec![0], vec![1, 3], vec![2, 3, 1]],
            vec![vec![0, 1, 2, 3], vec![2], vec![3]],
        ][k / 3 % 2]
            .clone(),
        boxes: [-0.5, 0.0, 0.5].map(|x| cuboid(pose(x), [0.4, 0.5, 0.3])).to_vec(),
        bodies: vec![body],
        ..ShapeArrays::default()
    };
    cloth.colliders = shapes.to_set().unwrap();
    cloth.config.contact.friction = [0.0, 0.4, 0.9][k % 3];
    cloth
}

/// Compares one iteration of cloths that share a fabric, but not their shapes, with the twin.
#[track_caller]
fn assert_same_together(cloths: &[ClothDesc]) {
    fn all<W: Workers + Default + Clone + Send + Sync + 'static>(
        cloths: &[ClothDesc],
    ) -> LaneEngine<W> {
        let mut engine = LaneEngine::<W>::new();
        for cloth in cloths {
            // Cloths are solved side by side only if they share their fabric.
            let fabric = cloths[0].fabric.clone();
            engine.add(ClothDesc { fabric, ..cloth.clone() }).unwrap();
        }
        engine.begin_frame(ONE_ITERATION).unwrap();
        engine
    }
    let mut mirror = all::<Team>(cloths);
    let ids = mirror.ids().to_vec();
    for &id in &ids {
        mirror.run_part(id, &FramePart::WHOLE, &mut Team::single()).unwrap();
    }
    for mut team in WideTeam::all() {
        let mut wide = all::<WideTeam>(cloths);
        let largest = wide.run_alike(&FramePart::WHOLE, &mut team);
        assert!(largest > 3, "no more than {largest} cloths are simulated together");
        for (&id, &same) in wide.ids().iter().zip(&ids) {
            let what = format!("{}, {id:?}", team.describe());
            same_bits(&what, wide.current(id), mirror.current(same)).unwrap();
            same_bits(&what, wide.previous(id), mirror.previous(same)).unwrap();
        }
    }
}

#[test]
fn cloths_side_by_side_meet_their_own_shapes() {
    assert_same_together(&(0..24).map(among_shapes).collect::<Vec<_>>());
}

#[test]
fn particles_beyond_the_bounds_of_a_capsule_match_the_mirror() {
    // On a long thin capsule the side is found from a difference of large squares, whose rounding
    // error exceeds the radius.
    let particles = (0..400).map(|k| {
        let x = 20.0 + 0.15 * (k % 200) as f32;
        [x, 0.0008 + 4e-6 * k as f32, 0.7 * x, 1.0]
    });
    let mut cloth = loose_particles(particles.collect());
    let shapes = ShapeArrays {
        spheres: vec![[-60.0, 0.0, -42.0, 1e-3], [60.0, 0.0, 42.0, 1e-3]],
        capsules: vec![[0, 1]],
        ..ShapeArrays::default()
    };
    cloth.colliders = shapes.to_set().unwrap();
    assert_same_together(&vec![cloth; 16]);
}

#[test]
fn many_cloths_have_the_mirrors_bits() {
    let mut wide = of_many::<WideTeam>();
    let mut mirror = of_many::<Team>();
    for dt in SOME {
        wide.step(dt).unwrap();
        mirror.step(dt).unwrap();
    }
    let [got, expected] = [wide.state().unwrap(), mirror.state().unwrap()];
    for (&id, &same) in wide.ids().iter().zip(mirror.ids()) {
        same_bits("many", got.current(id), expected.current(same)).unwrap();
        same_bits("many", got.previous(id), expected.previous(same)).unwrap();
        assert_eq!(wide.feedback(id), mirror.feedback(same), "the reports differ");
    }
}

/// Builds cloths of many fabrics, with the five of each interleaved, so that they must be sorted
/// into batches.
fn of_many<W: Workers + Default + Clone + Send + Sync + 'static>() -> LaneEngine<W> {
    let mut engine = LaneEngine::<W>::new();
    let first: Vec<_> = cloths().into_iter().map(|(_, cloth)| engine.add(cloth).unwrap()).collect();
    for copy in 0..5 {
        for &id in &first {
            let id = if copy == 0 { id } else { engine.clone_cloth(id, 1).unwrap()[0] };
            let host = engine.cloth_mut(id).unwrap();
            let seed = host.desc().particle_count() + 15 * copy;
            equip_with_masses_by_seed(host, seed as u64);
        }
    }
    engine
}

#[test]
fn cloths_that_share_a_worker_have_the_bits_of_cloths_alone() {
    // One thread has one worker, whose memory still holds the data of another cloth.
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        let mut together = CpuEngine::new();
        for (_, cloth) in cloths() {
            let id = together.add(cloth).unwrap();
            equip_with_masses(together.cloth_mut(id).unwrap());
        }
        SOME.into_iter().for_each(|dt| together.step(dt).unwrap());
        for (&id, (name, cloth)) in together.ids().iter().zip(cloths()) {
            let mut engine = CpuEngine::new();
            let alone = engine.add(cloth).unwrap();
            equip_with_masses(engine.cloth_mut(alone).unwrap());
            SOME.into_iter().for_each(|dt| engine.step(dt).unwrap());
            same_bits(&name, together.current(id), engine.current(alone)).unwrap();
            assert_eq!(together.body_impulses(id), engine.body_impulses(alone), "{name}");
        }
    });
}

#[test]
fn cloths_cooked_apart_from_one_mesh_are_simulated_side_by_side() {
    let mut engine = CpuEngine::new();
    let ids = [(); 3].map(|()| engine.add(hanging_sheet(8, 8)).unwrap());
    engine.add(hanging_sheet(8, 9)).unwrap();
    let run = |engine: &mut CpuEngine| {
        engine.begin_frame(SOME[0]).unwrap();
        engine.run_alike(&FramePart::WHOLE, &mut WideTeam::default())
    };
    assert_eq!(run(&mut engine), 3);
    let bytes = engine.memory_bytes();
    engine.remove(ids[0]).unwrap();
    assert_eq!(run(&mut engine), 2, "the packed fabric goes with its last cloth");
    let alike = engine.add(hanging_sheet(8, 8)).unwrap();
    assert_eq!((run(&mut engine), engine.memory_bytes()), (3, bytes));
    for id in [ids[1], ids[2], alike] {
        engine.remove(id).unwrap();
    }
    assert_eq!(run(&mut engine), 1);
}
