//! The CPU backend against the mirror: stage by stage and whole, at every width that the machine has and split over threads, bit
//! for bit.

use std::sync::{Arc, Mutex};

use poplin_cpu::{CpuEngine, WideTeam};
use poplin_host::{ClothId, Engine as _, FramePart};
use poplin_layout::{Feedback, MAX_COORDINATE, STAGES, StageMask};
use poplin_measure::shape_arrays::{ArrayBody, ShapeArrays, cuboid};
use poplin_model::{Cloth, Fabric, FiberSolver, Frame, Particle, Phase, PhaseKind, Pose};
use poplin_reference::contact::ContactMemory;
use poplin_reference::{
    ClothMemory, LaneEngine, LaneOrder, Parts, ReferenceEngine, Team, Work, Workers,
};
use poplin_testkit::compare::same_bits;
use poplin_testkit::inputs::{
    cloths, equip_with_masses, equip_with_masses_by_seed, implicit_cloths_among_shapes, inputs_of,
};
use poplin_testkit::rng::Rng;
use poplin_testkit::scenes::{hanging_sheet, loose_particles};
use rayon::ThreadPoolBuilder;

/// Current and previous particles, and the report.
type Outcome = (Vec<[f32; 4]>, Vec<[f32; 4]>, Feedback);

fn run<W: Workers + Default + Clone + Send + Sync>(
    cloth: &Cloth,
    frames: &[Frame],
    stages: StageMask,
    workers: &mut impl Workers<Kept = W::Kept>,
) -> Outcome {
    let mut engine = LaneEngine::<W>::new();
    let id = engine.add(cloth.clone()).unwrap();
    equip_with_masses(engine.cloth_mut(id).unwrap());
    for frame in frames {
        engine.begin_frame(frame).unwrap();
        engine.run_part(id, &FramePart { stages, ..FramePart::WHOLE }, workers).unwrap();
    }
    let [current, previous] = [engine.current(id), engine.previous(id)].map(Particle::rows);
    (current.to_vec(), previous.to_vec(), engine.feedback(id))
}

/// By the widest team, every loop in as many parts as there are threads.
fn run_split(cloth: &Cloth, frames: &[Frame], stages: StageMask, threads: usize) -> Outcome {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let mut engine = CpuEngine::new();
        engine.force_parts(threads);
        let id = engine.add(cloth.clone()).unwrap();
        equip_with_masses(engine.cloth_mut(id).unwrap());
        let mut team = WideTeam::default();
        for frame in frames {
            engine.begin_frame(frame).unwrap();
            let part = FramePart { stages, ..FramePart::WHOLE };
            engine.run_part_split(id, &part, &mut team).unwrap();
        }
        let [current, previous] = [engine.current(id), engine.previous(id)].map(Particle::rows);
        (current.to_vec(), previous.to_vec(), engine.feedback(id))
    })
}

#[track_caller]
fn assert_outcome(what: &str, got: &Outcome, expected: &Outcome) {
    same_bits(what, &got.0, &expected.0).unwrap();
    same_bits(what, &got.1, &expected.1).unwrap();
    assert_eq!(got.2, expected.2, "{what}: the reports differ");
}

#[track_caller]
fn assert_same(what: &str, cloth: &Cloth, frames: &[Frame], stages: StageMask) {
    let expected = run::<Team>(cloth, frames, stages, &mut Team::single());
    for mut team in WideTeam::all() {
        let what = format!("{what}, {}", team.describe());
        let got = run::<WideTeam>(cloth, frames, stages, &mut team);
        assert_outcome(&what, &got, &expected);
    }
    for threads in THREADS {
        let got = run_split(cloth, frames, stages, threads);
        assert_outcome(&format!("{what}, {threads} threads"), &got, &expected);
    }
}

/// Threads that loops are split over.
const THREADS: [usize; 4] = [1, 2, 3, 7];

const ONE_ITERATION: Frame = Frame { dt: 1.0 / 300.0 };
const SOME: [Frame; 3] =
    [Frame { dt: 1.0 / 60.0 }, Frame { dt: 1.0 / 50.0 }, Frame { dt: 1.0 / 60.0 }];

#[test]
fn every_stage_has_the_mirrors_bits_at_every_width() {
    for row in STAGES {
        for (name, cloth) in inputs_of(row.stage) {
            let stages = StageMask::only(row.stage);
            assert_same(&format!("{}, {name}", row.name), &cloth, &[ONE_ITERATION], stages);
        }
    }
}

#[test]
fn whole_frames_have_the_mirrors_bits_at_every_width() {
    for (name, cloth) in cloths().into_iter().chain(implicit_cloths_among_shapes()) {
        assert_same(&name, &cloth, &SOME, StageMask::ALL);
    }
}

#[test]
fn every_fiber_solver_has_the_mirrors_bits_at_every_width() {
    for solver in [FiberSolver::GaussSeidel, FiberSolver::SemiImplicit] {
        for (name, mut cloth) in cloths() {
            if !cloth.fabric.edge_stiffness_log2.is_empty() && solver != FiberSolver::GaussSeidel {
                continue;
            }
            cloth.config.solver.set_fiber_solver(Some(solver));
            assert_same(&format!("{solver:?}, {name}"), &cloth, &SOME[..1], StageMask::FIBERS);
        }
    }
}

/// Sixteen rings of four edges in one set, each pulled out of shape.
fn rings() -> Cloth {
    const COUNT: u32 = 16;
    let begin = |fiber: u32| 4 * fiber;
    let fabric = Fabric {
        particle_count: 4 * COUNT,
        phases: vec![Phase { kind: PhaseKind::Vertical, set_begin: 0, set_end: 1 }],
        set_fiber_begin: vec![0, COUNT],
        fiber_edge_begin: (0..=COUNT).map(begin).collect(),
        fiber_vertices: (0..COUNT).flat_map(|k| [0, 1, 2, 3, 0].map(|v| begin(k) + v)).collect(),
        rest_lengths: vec![1.0; 4 * COUNT as usize],
        ..Fabric::default()
    };
    let mut rng = Rng::new(3);
    let corners = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];
    let particles = (0..COUNT).flat_map(|k| corners.map(|[x, y]| [x, y, k as f32]));
    let disturbed = particles.map(|[x, y, z]| [x, y, z].map(|v| v + rng.range(-0.2, 0.2)));
    let rows: Vec<[f32; 4]> = disturbed.map(|[x, y, z]| [x, y, z, 1.0]).collect();
    let mut cloth = Cloth::new(Arc::new(fabric), rows);
    cloth.config.gravity = [0.0; 3];
    cloth
}

#[test]
fn rings_are_solved_edge_by_edge_whatever_is_asked_for() {
    let cloth = rings();
    let mut expected = cloth.clone();
    expected.config.solver.set_fiber_solver(Some(FiberSolver::GaussSeidel));
    let expected = run::<Team>(&expected, &SOME, StageMask::FIBERS, &mut Team::single());
    for solver in [None, Some(FiberSolver::SemiImplicit), Some(FiberSolver::CyclicReduction)] {
        let mut cloth = cloth.clone();
        cloth.config.solver.set_fiber_solver(solver);
        let what = format!("{solver:?}");
        let mut backward = Team::new(32, LaneOrder::Reversed);
        let got = run::<Team>(&cloth, &SOME, StageMask::FIBERS, &mut backward);
        assert_outcome(&what, &got, &expected);
        assert_same(&what, &cloth, &SOME, StageMask::FIBERS);
    }
}

/// Copies of a cloth, every one in a state of its own; some begin with a fault.
fn copies<W: Workers + Default + Clone + Send + Sync>(
    cloth: &Cloth,
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
            // As far as a particle may be, and moving on.
            current[copy % cloth.particle_count()].position[1] = MAX_COORDINATE;
        }
        engine.set_state(id, &current, &previous).unwrap();
    }
    (engine, ids)
}

/// A cloth in several copies, side by side in batches, at every width; returns the largest batch.
#[track_caller]
fn assert_same_side_by_side(
    what: &str,
    cloth: &Cloth,
    frames: &[Frame],
    part: &FramePart,
) -> usize {
    let count = 18;
    let (mut mirror, ids) = copies::<Team>(cloth, count);
    for frame in frames {
        mirror.begin_frame(frame).unwrap();
        for &id in &ids {
            mirror.run_part(id, part, &mut Team::single()).unwrap();
        }
    }
    let mut largest = 0;
    for mut team in WideTeam::all() {
        let what = format!("{what}, {}", team.describe());
        let (mut wide, ids) = copies::<WideTeam>(cloth, count);
        for frame in frames {
            wide.begin_frame(frame).unwrap();
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

/// Loose particles in a cube of 2 m among shapes, of which as many as in every other one, but not the same, belong to a body and
/// make convexes.
fn among_shapes(k: usize) -> Cloth {
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

/// One iteration of cloths of one fabric with shapes of their own, side by side.
#[track_caller]
fn assert_same_together(cloths: &[Cloth]) {
    fn all<W: Workers + Default + Clone + Send + Sync>(cloths: &[Cloth]) -> LaneEngine<W> {
        let mut engine = LaneEngine::<W>::new();
        for cloth in cloths {
            let fabric = cloths[0].fabric.clone();
            engine.add(Cloth { fabric, ..cloth.clone() }).unwrap();
        }
        engine.begin_frame(&ONE_ITERATION).unwrap();
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
fn particles_beyond_the_box_of_a_capsule_are_left_as_in_the_mirror() {
    // Where it is long and thin, its side is found by a difference of large squares, whose rounding exceeds the radius.
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
    for frame in &SOME {
        wide.step(frame).unwrap();
        mirror.step(frame).unwrap();
    }
    let [got, expected] = [wide.state().unwrap(), mirror.state().unwrap()];
    for (&id, &same) in wide.ids().iter().zip(mirror.ids()) {
        same_bits("many", got.current(id), expected.current(same)).unwrap();
        same_bits("many", got.previous(id), expected.previous(same)).unwrap();
        assert_eq!(wide.feedback(id), mirror.feedback(same), "the reports differ");
    }
}

/// Cloths of many fabrics, five of each between those of others, so that they are sorted before they are side by side.
fn of_many<W: Workers + Default + Clone + Send + Sync>() -> LaneEngine<W> {
    let mut engine = LaneEngine::<W>::new();
    let first: Vec<_> = cloths().into_iter().map(|(_, cloth)| engine.add(cloth).unwrap()).collect();
    for copy in 0..5 {
        for &id in &first {
            let id = if copy == 0 { id } else { engine.clone_cloth(id, 1).unwrap()[0] };
            let host = engine.cloth_mut(id).unwrap();
            let seed = host.cloth().particle_count() + 15 * copy;
            equip_with_masses_by_seed(host, seed as u64);
        }
    }
    engine
}

#[test]
fn cloths_that_share_a_worker_have_the_bits_of_cloths_alone() {
    // One thread: one worker, whose memory a cloth finds as another left it.
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        let mut together = CpuEngine::new();
        for (_, cloth) in cloths() {
            let id = together.add(cloth).unwrap();
            equip_with_masses(together.cloth_mut(id).unwrap());
        }
        SOME.iter().for_each(|frame| together.step(frame).unwrap());
        for (&id, (name, cloth)) in together.ids().iter().zip(cloths()) {
            let mut engine = CpuEngine::new();
            let alone = engine.add(cloth).unwrap();
            equip_with_masses(engine.cloth_mut(alone).unwrap());
            SOME.iter().for_each(|frame| engine.step(frame).unwrap());
            same_bits(&name, together.current(id), engine.current(alone)).unwrap();
            assert_eq!(together.body_impulses(id), engine.body_impulses(alone), "{name}");
        }
    });
}

/// A team that notes what leave to split it receives.
#[derive(Clone, Default)]
struct Noting(Team);

/// The parts of each cloth since the last look.
static PARTS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

impl Workers for Noting {
    type Kept = ();
    type Contacts = ContactMemory;

    fn in_parts<R: Send>(
        &mut self,
        parts: Parts<Self>,
        run: impl FnOnce(&mut Self) -> R + Send,
    ) -> R {
        PARTS.lock().unwrap().push(parts.count());
        run(self)
    }

    fn work(&mut self, work: Work, memory: &mut ClothMemory<'_>) {
        self.0.work(work, memory);
    }

    fn barrier(&mut self, memory: &mut ClothMemory<'_>) {
        self.0.barrier(memory);
    }
}

#[test]
fn only_a_large_cloth_that_others_would_wait_for_is_split() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let parts_of = |sizes: &[u32]| {
        let mut engine = LaneEngine::<Noting>::new();
        for &size in sizes {
            engine.add(hanging_sheet(size, size)).unwrap();
        }
        pool.install(|| engine.step(&SOME[0])).unwrap();
        let mut parts = std::mem::take(&mut *PARTS.lock().unwrap());
        parts.sort_unstable();
        parts
    };
    assert_eq!(parts_of(&[64]), [2], "a large cloth alone");
    assert_eq!(parts_of(&[16]), [1], "a small one alone");
    assert_eq!(parts_of(&[64; 8]), [1; 8], "large ones that keep all threads busy");
    assert_eq!(parts_of(&[64, 64, 64]), [2; 3], "three for two threads");
    assert_eq!(parts_of(&[64, 16, 16, 16, 16]), [1, 1, 1, 1, 2], "a large one among small ones");
}

#[test]
fn a_large_cloth_has_the_mirrors_bits_on_any_count_of_threads() {
    let mut mirror = ReferenceEngine::new();
    let mut sheet = hanging_sheet(72, 72);
    sheet.config.thickness = 0.02;
    let id = mirror.add(sheet.clone()).unwrap();
    SOME.iter().for_each(|frame| mirror.step(frame).unwrap());
    for threads in THREADS {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut wide = CpuEngine::new();
        let same = wide.add(sheet.clone()).unwrap();
        // From outside of the pool's threads too.
        SOME.iter().for_each(|frame| pool.install(|| wide.step(frame)).unwrap());
        let what = format!("{threads} threads");
        same_bits(&what, wide.current(same), mirror.current(id)).unwrap();
    }
}

#[test]
fn a_small_cloth_takes_little_memory() {
    const COPIES: u64 = 1000;
    for (name, distance) in [("default", None), ("self collision off", Some(0.0))] {
        let mut engine = CpuEngine::new();
        let mut cloth = hanging_sheet(16, 16);
        cloth.config.self_collision.distance = distance;
        let id = engine.add(cloth).unwrap();
        engine.clone_cloth(id, COPIES as usize - 1).unwrap();
        engine.step(&SOME[0]).unwrap();
        // Two rows of 16 bytes for each of the 256 particles are 8 KiB.
        let bytes = engine.memory_bytes() / COPIES;
        assert!((8 * 1024..11 * 1024).contains(&bytes), "{name}: {bytes} bytes a cloth");
    }
}

#[test]
fn cloths_cooked_apart_from_one_mesh_are_simulated_side_by_side() {
    let mut engine = CpuEngine::new();
    let ids = [(); 3].map(|()| engine.add(hanging_sheet(8, 8)).unwrap());
    engine.add(hanging_sheet(8, 9)).unwrap();
    let run = |engine: &mut CpuEngine| {
        engine.begin_frame(&SOME[0]).unwrap();
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
