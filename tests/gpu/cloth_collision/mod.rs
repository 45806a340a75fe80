//! Collision between cloths: kernels = mirror pass by pass and over frames, mirror = `f64` geometry by trying all pairs,
//! momentum, local frames, groups, sleep, and what must not change where nothing collides.

mod groups;
mod mirror;
mod oracle;

use groups::run_on_gpu;
use oracle::{Oracle, Rows};
use poplin_cook::{CookOptions, cook};
use poplin_gpu::{EngineOptions, Headless};
use poplin_host::Engine as _;
use poplin_measure::separation::between;
use poplin_model::{Cloth, ClothContactSolver, Frame, Mesh, Particle, Pose};
use poplin_reference::{LaneEngine, ReferenceEngine, Team, Workers};
use poplin_testkit::adapter::{Rounding, devices};
use poplin_testkit::compare::{close, near, same_bits};
use poplin_testkit::nth_cloth;
use poplin_testkit::rng::Rng;
use poplin_testkit::scenes::loose_particles;

/// One iteration.
const STEP: Frame = Frame { dt: 1.0 / 300.0 };

/// Particles that nothing connects and no force moves.
fn cloud(particles: Vec<[f32; 4]>, distance: f32) -> Cloth {
    let mut cloth = loose_particles(particles);
    cloth.config.cloth_collision.distance = Some(distance);
    cloth
}

/// A cloud in a cube of `size` metres, some of its particles pinned, moving.
fn random_cloud(rng: &mut Rng, count: usize, size: f32, distance: f32) -> Cloth {
    let mut particle = || {
        let [x, y, z] = rng.point(-0.5 * size, 0.5 * size);
        [x, y, z, if rng.index(5) == 0 { 0.0 } else { rng.range(0.1, 50.0) }]
    };
    let mut cloth = cloud((0..count).map(|_| particle()).collect(), distance);
    cloth.previous_positions = cloth
        .particles
        .iter()
        .map(|p| std::array::from_fn(|k| p.position[k] + rng.range(-0.01, 0.01)))
        .collect();
    cloth
}

/// A quaternion of this rotation vector, by half angles.
fn rotation(rng: &mut Rng) -> [f32; 4] {
    let [x, y, z] = rng.point(-1.0, 1.0);
    let length = (x * x + y * y + z * z + 0.3).sqrt();
    [x / length, y / length, z / length, 0.3f32.sqrt() / length]
}

fn sheet(columns: u32, width: f32, height: f32, distance: f32) -> Cloth {
    let mesh = Mesh::grid(columns, columns, width, width);
    let mut cloth = cook(&mesh, &CookOptions::default()).unwrap().into_cloth();
    for particle in &mut cloth.particles {
        particle.position = [particle.position[0] - 0.5 * width, height, particle.position[2]];
    }
    cloth.config.cloth_collision.distance = Some(distance);
    cloth
}

/// Cloths and settings of a run, with how many frames.
struct Setup {
    name: &'static str,
    cloths: Vec<Cloth>,
    settings: ClothContactSolver,
    frames: Vec<Frame>,
}

/// A sheet that has fallen asleep when another one falls on it.
fn sleepers() -> Setup {
    let mut cloths: Vec<_> = [0.0, 0.25].map(|height| sheet(8, 0.4, height, 0.06)).to_vec();
    cloths[0].config.gravity = [0.0; 3];
    cloths[0].config.sleep.threshold = 0.05;
    cloths[0].config.sleep.after_count = 2;
    let settings = ClothContactSolver { friction: 0.3, ..ClothContactSolver::default() };
    Setup { name: "sleepers", cloths, settings, frames: vec![Frame::default(); 20] }
}

fn on_mirror(setup: &Setup) -> ReferenceEngine {
    on_workers(setup, Team::single())
}

/// The frames of a setup on the CPU.
fn on_workers<W: Workers + Clone + Send + Sync>(setup: &Setup, workers: W) -> LaneEngine<W> {
    let mut engine = LaneEngine::with_workers(workers);
    engine.set_cloth_contact_solver(setup.settings).unwrap();
    setup.cloths.iter().for_each(|cloth| assert!(engine.add(cloth.clone()).is_ok()));
    for (index, frame) in setup.frames.iter().enumerate() {
        move_space(engine.cloth_mut(nth_cloth(setup.cloths.len() - 1)).unwrap(), index);
        engine.step(frame).unwrap();
    }
    engine
}

/// The last cloth's local space moves and rotates.
fn move_space(host: &mut poplin::LiveCloth, index: usize) {
    if index > 0 {
        let half = 0.01 * index as f32;
        let translation = host.pose().translation.map(|x| x + 0.002);
        host.set_pose(Pose { translation, rotation: [0.0, half.sin(), 0.0, half.cos()] }).unwrap();
    }
}

/// What the last pass of a GPU leaves in its buffers.
struct Buffers {
    rows: Rows,
    sorted: Vec<u32>,
    counts: Vec<u32>,
}

fn buffers(gpu: &Headless, row_count: usize, sorted_count: usize) -> Buffers {
    let [rows, entries] =
        gpu.engine().contact_buffers().map(|buffer| gpu.read_buffer(buffer).unwrap());
    let rows: Vec<[f32; 4]> = bytemuck::pod_collect_to_vec(&rows);
    let entries: Vec<u32> = bytemuck::pod_collect_to_vec(&entries);
    let list = |number: usize, len: usize| entries[number * row_count..][..len].to_vec();
    Buffers {
        rows: Rows {
            positions: rows[..row_count].to_vec(),
            motions: rows[row_count..][..row_count].to_vec(),
            cloths: list(0, row_count),
        },
        sorted: list(3, sorted_count),
        counts: list(4, row_count),
    }
}

/// Differences in bits between a GPU and the mirror: what a pass leaves in its buffers, then the particles.
fn differing_bits(gpu: &mut Headless, setup: &Setup) -> Vec<String> {
    let ids = run_on_gpu(gpu, setup);
    let engine = on_mirror(setup);
    let memory = engine.contact_memory();
    let mut found = Vec::new();
    let own = buffers(gpu, memory.positions.len(), memory.sorted.len());
    for (name, own, mirror) in [
        ("positions", &own.rows.positions, &memory.positions),
        ("motions", &own.rows.motions, &memory.motions),
    ] {
        found.extend(same_bits(name, own, mirror).err().map(|difference| difference.to_string()));
    }
    for (name, own, mirror) in [
        ("cloths of rows", &own.rows.cloths, &memory.slots),
        ("sorted rows", &own.sorted, &memory.sorted),
        ("contacts", &own.counts, &memory.counts),
    ] {
        // Where no cloth meets another, nothing is counted.
        let is_left = name == "contacts" && memory.sorted.is_empty();
        found.extend((own != mirror && !is_left).then(|| format!("{name} differ")));
    }
    let snapshot = gpu.state().unwrap();
    for (cloth, &id) in ids.iter().enumerate() {
        let mirror = nth_cloth(cloth);
        let current = same_bits("current", snapshot.current(id), engine.current(mirror));
        let previous = same_bits("previous", snapshot.previous(id), engine.previous(mirror));
        let difference = current.and(previous).err();
        found.extend(difference.map(|difference| format!("cloth {cloth}: {difference}")));
        if snapshot.feedback(id) != engine.feedback(mirror) {
            found.push(format!(
                "feedback of {cloth}: {:?} against {:?}",
                snapshot.feedback(id),
                engine.feedback(mirror)
            ));
        }
    }
    found.into_iter().map(|text| format!("{}: {text}", setup.name)).collect()
}

/// Difference that is one of rounding only, of coordinates and of distances, as a fraction of either.
const ROUNDING: f64 = 1e-6;

/// What is wrong with the first pass on a GPU that may fuse. Its rows must be the mirror's; whom they touch and where they are
/// pushed must be what trying all pairs of these rows finds. Where a distance is the limit but for rounding, either is right.
fn wrong_in_first_pass(gpu: &mut Headless, setup: &Setup) -> Vec<String> {
    let setup = Setup {
        settings: ClothContactSolver { iterations: 1, ..setup.settings },
        cloths: setup.cloths.clone(),
        frames: vec![STEP],
        ..*setup
    };
    let ids = run_on_gpu(gpu, &setup);
    let engine = on_mirror(&setup);
    let memory = engine.contact_memory();
    let count = memory.positions.len();
    let mut own = buffers(gpu, count, memory.sorted.len());
    let mut found = Vec::new();
    for (name, own, mirror) in [
        ("positions", &own.rows.positions, &memory.positions),
        ("motions", &own.rows.motions, &memory.motions),
    ] {
        let difference = close(name, own, mirror, 8.0, 1.0).err();
        found.extend(difference.map(|difference| difference.to_string()));
    }
    let mut sorted = memory.sorted.clone();
    sorted.sort_unstable();
    own.sorted.sort_unstable();
    found.extend((own.sorted != sorted).then(|| "not every row is in a bucket".to_owned()));
    found.extend((own.rows.cloths != memory.slots).then(|| "cloths of rows differ".to_owned()));

    let oracle = Oracle::new(&setup, &own.rows);
    let snapshot = gpu.state().unwrap();
    let after = ids
        .iter()
        .zip(&setup.cloths)
        .flat_map(|(&id, cloth)| snapshot.current(id).iter().map(|p| cloth.pose.apply(p.position)));
    let mut doubtful_count = 0;
    for (i, after) in after.enumerate().filter(|_| !sorted.is_empty()) {
        let [least, most] = [-ROUNDING, ROUNDING].map(|slack| oracle.count(i, slack));
        if !(least..=most).contains(&own.counts[i]) {
            found.push(format!("row {i} touches {} rows, not {least}", own.counts[i]));
        }
        if least != most {
            doubtful_count += 1;
            continue;
        }
        let expected = oracle.pushed(i, &own.counts);
        let is_near = |k: usize| {
            (f64::from(after[k]) - expected[k]).abs() <= ROUNDING * expected[k].abs().max(1.0)
        };
        if !(0..3).all(is_near) {
            found.push(format!("row {i} is pushed to {after:?}, not {expected:?}"));
        }
    }
    found.extend((doubtful_count > count / 50).then(|| format!("{doubtful_count} in doubt")));
    found.into_iter().map(|text| format!("{}: {text}", setup.name)).collect()
}

/// What is wrong with the frames of a setup on a GPU that may fuse: they must be near the mirror's, with the same cloths asleep, and
/// no pair of cloths nearer.
fn wrong_in_frames(gpu: &mut Headless, setup: &Setup) -> Vec<String> {
    let ids = run_on_gpu(gpu, setup);
    let engine = on_mirror(setup);
    let snapshot = gpu.state().unwrap();
    let mut found = Vec::new();
    for (index, &id) in ids.iter().enumerate() {
        let (own, mirror) = (snapshot.current(id), engine.current(nth_cloth(index)));
        let difference = near("current", own, mirror, 3e-4).err();
        found.extend(difference.map(|difference| difference.to_string()));
        if snapshot.feedback(id) != engine.feedback(nth_cloth(index)) {
            found.push(format!("feedback of {index}: {:?}", snapshot.feedback(id)));
        }
        for (other, &id) in ids[..index].iter().enumerate() {
            let own = between(own, snapshot.current(id));
            let expected = between(mirror, engine.current(nth_cloth(other)));
            // NaN is not apart.
            let is_apart = own > expected - 3e-4;
            if !is_apart {
                found.push(format!("{index} is {own} m from {other}, not {expected} m"));
            }
        }
    }
    found.into_iter().map(|text| format!("{}: {text}", setup.name)).collect()
}

/// What is wrong with some setups on the GPU: as the mirror it has the mirror's bits, else it is asked what may not be wrong.
fn wrong(setups: &[Setup], may_fuse: fn(&mut Headless, &Setup) -> Vec<String>) -> Vec<String> {
    let mut found = Vec::new();
    for (mut gpu, rounding) in devices(&EngineOptions::default()) {
        let wrong_in = match rounding {
            Rounding::AsMirror => differing_bits,
            Rounding::MayFuse => may_fuse,
        };
        found.extend(setups.iter().flat_map(|setup| wrong_in(&mut gpu, setup)));
    }
    found
}

/// A state as one list.
fn all(engine: &ReferenceEngine) -> Vec<[f32; 4]> {
    let ids = engine.ids().iter();
    ids.flat_map(|&id| Particle::rows(engine.current(id)).to_vec()).collect()
}
