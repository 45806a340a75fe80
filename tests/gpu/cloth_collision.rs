//! Collision between cloths: kernels = mirror pass by pass and over frames, mirror = `f64` geometry by trying all pairs,
//! momentum, local frames, groups, sleep, and what must not change where nothing collides.

use poplin_cook::{CookOptions, cook};
use poplin_cpu::WideTeam;
use poplin_gpu::{ClothId, EngineOptions, Headless};
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

/// Clouds in random frames, and every degenerate kind of cloth.
fn clouds() -> Vec<Setup> {
    let mut setups = Vec::new();
    let friction =
        ClothContactSolver { friction: 0.4, iterations: 1, ..ClothContactSolver::default() };
    for seed in 0..4 {
        let mut rng = Rng::new(seed);
        let mut cloths: Vec<_> = (0..6)
            .map(|k| random_cloud(&mut rng, 40 + 30 * k, 1.0, 0.08 + 0.02 * k as f32))
            .collect();
        for cloth in &mut cloths {
            cloth.pose = Pose { translation: rng.point(-0.3, 0.3), rotation: rotation(&mut rng) };
            cloth.config.cloth_collision.group = 1 << rng.index(3);
            cloth.config.cloth_collision.mask = rng.next_u64() as u32 | 1;
        }
        setups.push(Setup { name: "random", cloths, settings: friction, frames: vec![STEP] });
    }
    let mut rng = Rng::new(9);
    let settings =
        ClothContactSolver { friction: 1.0, stiffness: 0.7, iterations: 3, ..Default::default() };
    let mut add = |name, cloths: Vec<Cloth>| {
        setups.push(Setup { name, cloths, settings, frames: vec![STEP; 2] })
    };
    let position = [0.5, -0.25, 3.0, 2.0];
    add(
        "coincident",
        vec![
            cloud(vec![position; 40], 0.1),
            cloud(vec![position; 30], 0.3),
            cloud(vec![position], 0.1),
        ],
    );
    let pinned = |rng: &mut Rng| {
        let mut cloth = random_cloud(rng, 50, 0.5, 0.2);
        cloth.particles.iter_mut().for_each(|particle| particle.inverse_mass = 0.0);
        cloth
    };
    add(
        "all pinned",
        vec![pinned(&mut rng), pinned(&mut rng), random_cloud(&mut rng, 30, 0.5, 0.2)],
    );
    add(
        "one particle each",
        (0..50).map(|k| cloud(vec![[0.03 * k as f32, 0.0, 0.0, 1.0]], 0.1)).collect(),
    );
    let far = |x: f32| cloud((0..20).map(|k| [x, -x, 0.011 * k as f32, 1.0]).collect(), 0.1);
    add(
        "huge coordinates",
        vec![far(1e6), far(1e6), far(-1e14), far(-1e14), far(9e14), far(1e-30)],
    );
    let mut deaf = random_cloud(&mut rng, 60, 0.4, 0.1);
    deaf.config.cloth_collision.mask = 0;
    let mut nobody = random_cloud(&mut rng, 60, 0.4, 0.1);
    nobody.config.cloth_collision.group = 0;
    let free = random_cloud(&mut rng, 60, 0.4, 0.1);
    add("empty masks", vec![deaf, nobody, free.clone(), free.clone()]);
    add(
        "far apart",
        vec![
            free.clone(),
            Cloth { pose: Pose { translation: [50.0, 0.0, 0.0], ..Pose::default() }, ..free },
        ],
    );
    add(
        "tiny and huge masses",
        vec![
            cloud(vec![[0.0, 0.0, 0.0, 1e-9], [0.02, 0.0, 0.0, 1e15]], 0.1),
            cloud(vec![[0.01, 0.03, 0.0, 1e9], [0.01, 0.0, 0.04, 1e-15]], 0.1),
        ],
    );
    setups
}

/// Sheets that fall on one another, at different rates, in frames that move, with sleep.
fn sheets() -> Vec<Setup> {
    let mut setups = Vec::new();
    for (every, iterations) in [(1, 2), (0, 1), (2, 1)] {
        let mut cloths: Vec<_> = (0..3).map(|k| sheet(8, 0.4, 0.06 * k as f32, 0.06)).collect();
        cloths[0].particles.iter_mut().for_each(|particle| particle.inverse_mass = 0.0);
        cloths[1].config.solver.as_pbd_mut().unwrap().frequency = 120.0;
        cloths[2].pose.translation = [0.013, 0.005, 0.007];
        let settings = ClothContactSolver {
            friction: 0.3,
            iterations,
            every,
            ..ClothContactSolver::default()
        };
        setups.push(Setup { name: "sheets", cloths, settings, frames: vec![Frame::default(); 12] });
    }
    setups
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

/// The frames of a setup on a GPU, whose earlier cloths go.
fn run_on_gpu(gpu: &mut Headless, setup: &Setup) -> Vec<ClothId> {
    gpu.clear();
    gpu.engine_mut().set_cloth_contact_solver(setup.settings).unwrap();
    let ids: Vec<_> = setup.cloths.iter().map(|cloth| gpu.add(cloth.clone()).unwrap()).collect();
    for (index, frame) in setup.frames.iter().enumerate() {
        move_space(gpu.engine_mut().cloth_mut(ids[ids.len() - 1]).unwrap(), index);
        gpu.step(frame).unwrap();
    }
    ids
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

#[test]
fn every_pass_agrees_with_the_mirror() {
    assert_eq!(wrong(&clouds(), wrong_in_first_pass), Vec::<String>::new());
}

#[test]
fn whole_frames_agree_with_the_mirror() {
    let setups: Vec<_> = sheets().into_iter().chain([sleepers()]).collect();
    assert_eq!(wrong(&setups, wrong_in_frames), Vec::<String>::new());
}

#[test]
fn the_cpu_backend_has_the_mirrors_bits_at_every_width() {
    for setup in clouds().iter().chain(&sheets()).chain([&sleepers()]) {
        let expected = on_mirror(setup);
        for team in WideTeam::all() {
            let lanes = team.describe();
            let got = on_workers(setup, team);
            for index in 0..setup.cloths.len() {
                let (id, what) =
                    (nth_cloth(index), format!("{}: cloth {index}, {lanes}", setup.name));
                same_bits(&what, got.current(id), expected.current(id)).unwrap();
                same_bits(&what, got.previous(id), expected.previous(id)).unwrap();
                assert_eq!(got.feedback(id), expected.feedback(id), "{what}");
            }
        }
    }
}

#[test]
fn the_clouds_touch_where_they_should() {
    for mut setup in clouds() {
        (setup.settings.iterations, setup.frames) = (1, vec![STEP]);
        let contacts: u32 = on_mirror(&setup).contact_memory().counts.iter().sum();
        assert_eq!(contacts > 0, setup.name != "far apart", "{}: {contacts} contacts", setup.name);
    }
}

type Point = [f64; 3];

fn wide(row: &[f32; 4]) -> Point {
    std::array::from_fn(|k| f64::from(row[k]))
}

fn minus(a: Point, b: Point) -> Point {
    std::array::from_fn(|k| a[k] - b[k])
}

fn dot(a: Point, b: Point) -> f64 {
    (0..3).map(|k| a[k] * b[k]).sum()
}

/// Rows of a pass: world position and inverse mass, motion, cloth of each.
struct Rows {
    positions: Vec<[f32; 4]>,
    motions: Vec<[f32; 4]>,
    cloths: Vec<u32>,
}

/// One pass by trying all pairs in `f64`.
struct Oracle<'a> {
    setup: &'a Setup,
    x: Vec<Point>,
    v: Vec<Point>,
    w: Vec<f64>,
    cloths: &'a [u32],
}

impl<'a> Oracle<'a> {
    fn new(setup: &'a Setup, rows: &'a Rows) -> Self {
        Self {
            setup,
            x: rows.positions.iter().map(wide).collect(),
            v: rows.motions.iter().map(wide).collect(),
            w: rows.positions.iter().map(|row| f64::from(row[3])).collect(),
            cloths: &rows.cloths,
        }
    }

    /// How far two rows overlap, if they do; with slack the limit of the distance is larger by that fraction.
    fn overlap(&self, i: usize, j: usize, slack: f64) -> Option<f64> {
        let config = |i: usize| &self.setup.cloths[self.cloths[i] as usize].config.cloth_collision;
        let (a, b) = (config(i), config(j));
        let wanted = a.group & b.mask != 0 && b.group & a.mask != 0;
        if !wanted || self.cloths[i] == self.cloths[j] {
            return None;
        }
        let d = 0.5 * (f64::from(a.distance.unwrap()) + f64::from(b.distance.unwrap()));
        let delta = minus(self.x[i], self.x[j]);
        let gap = dot(delta, delta).sqrt();
        (gap < d * (1.0 + slack)).then_some(d - gap)
    }

    /// How many rows a row touches; none if it cannot move.
    fn count(&self, i: usize, slack: f64) -> u32 {
        let touched = (0..self.x.len()).filter(|&j| self.overlap(i, j, slack).is_some());
        if self.w[i] > 0.0 { touched.count() as u32 } else { 0 }
    }

    /// Where a row is pushed to, with the contact counts of all.
    fn pushed(&self, i: usize, counts: &[u32]) -> Point {
        let settings = self.setup.settings;
        let (x, v, w) = (&self.x, &self.v, &self.w);
        let mut position = x[i];
        for j in 0..x.len() {
            let (true, Some(overlap)) = (w[i] > 0.0, self.overlap(i, j, 0.0)) else { continue };
            let delta = minus(x[i], x[j]);
            let length = dot(delta, delta).sqrt();
            let up = if i < j { 1.0 } else { -1.0 };
            let n = if length > 1e-15 { delta.map(|d| d / length) } else { [0.0, up, 0.0] };
            let fraction = w[i] / (w[i] + w[j]) / f64::from(counts[i].max(counts[j]).max(1));
            let relative = minus(v[j], v[i]);
            let across = dot(relative, n);
            for k in 0..3 {
                position[k] += fraction * f64::from(settings.stiffness) * overlap * n[k];
                position[k] +=
                    fraction * f64::from(settings.friction) * (relative[k] - across * n[k]);
            }
        }
        position
    }
}

#[test]
fn a_pass_is_what_trying_all_pairs_gives() {
    let mut rng = Rng::new(77);
    for (friction, stiffness) in [(0.0, 1.0), (0.7, 0.6), (1.0, 0.0)] {
        let mut cloths: Vec<_> =
            (0..5).map(|k| random_cloud(&mut rng, 60, 0.6, 0.06 + 0.03 * k as f32)).collect();
        cloths.push(cloud(vec![[0.1, 0.1, 0.1, 1.0]; 4], 0.1));
        cloths.push(cloud(vec![[0.1, 0.1, 0.1, 3.0]; 4], 0.2));
        cloths[1].config.cloth_collision.mask = 2;
        cloths[2].config.cloth_collision.group = 3;
        let settings =
            ClothContactSolver { friction, stiffness, iterations: 1, ..Default::default() };
        let setup = Setup { name: "oracle", cloths, settings, frames: vec![STEP] };
        let engine = on_mirror(&setup);
        let memory = engine.contact_memory();
        let rows = Rows {
            positions: memory.positions.clone(),
            motions: memory.motions.clone(),
            cloths: memory.slots.clone(),
        };
        let oracle = Oracle::new(&setup, &rows);
        let counts: Vec<_> = (0..rows.cloths.len()).map(|i| oracle.count(i, 0.0)).collect();
        assert_eq!(memory.counts, counts);
        assert!(counts.iter().sum::<u32>() > 200);
        let mut row = 0;
        for (cloth, source) in setup.cloths.iter().enumerate() {
            for (i, after) in engine.current(nth_cloth(cloth)).iter().enumerate() {
                // Where one iteration without forces takes the particle, before the pass.
                let Particle { position: [x, y, z], inverse_mass: w } = source.particles[i];
                let old = source.previous_positions.get(i).copied().unwrap_or([x, y, z]);
                let moves = if w > 0.0 { 2.0 } else { 1.0 };
                let free: Point = std::array::from_fn(|k| {
                    f64::from(old[k])
                        + moves * (f64::from(source.particles[i].position[k]) - f64::from(old[k]))
                });
                let pushed = oracle.pushed(row, &counts);
                for k in 0..3 {
                    assert!(
                        (f64::from(memory.positions[row][k]) - free[k]).abs() < 1e-6,
                        "row {row} of cloth {cloth}"
                    );
                    assert!(
                        (f64::from(after.position[k]) - pushed[k]).abs() < 1e-6,
                        "row {row} of cloth {cloth}: {after:?}"
                    );
                }
                row += 1;
            }
        }
    }
}

/// A state as one list.
fn all(engine: &ReferenceEngine) -> Vec<[f32; 4]> {
    let ids = engine.ids().iter();
    ids.flat_map(|&id| Particle::rows(engine.current(id)).to_vec()).collect()
}

#[test]
fn momentum_stays_whatever_the_masses() {
    for ratio in [1.0f32, 30.0, 1e4] {
        let mut rng = Rng::new(5);
        let mut cloths = [0.0, 0.0].map(|_| random_cloud(&mut rng, 120, 0.5, 0.1));
        cloths
            .iter_mut()
            .flat_map(|cloth| &mut cloth.particles)
            .for_each(|particle| particle.inverse_mass = particle.inverse_mass.max(0.5));
        cloths[1].particles.iter_mut().for_each(|particle| particle.inverse_mass *= ratio);
        let settings = ClothContactSolver { friction: 0.8, ..ClothContactSolver::default() };
        let setup =
            Setup { name: "momentum", cloths: cloths.to_vec(), settings, frames: vec![STEP] };
        let none = Setup {
            settings: ClothContactSolver { stiffness: 0.0, friction: 0.0, ..settings },
            ..setup
        };
        let setup = Setup {
            settings,
            name: "momentum",
            cloths: none.cloths.clone(),
            frames: none.frames.clone(),
        };
        let (pushed, free) = (all(&on_mirror(&setup)), all(&on_mirror(&none)));
        let (mut sum, mut size) = ([0.0; 3], 0.0);
        for (a, b) in pushed.iter().zip(&free) {
            for k in 0..3 {
                let impulse = (f64::from(a[k]) - f64::from(b[k])) / f64::from(a[3]);
                sum[k] += impulse;
                size += impulse.abs();
            }
        }
        assert!(size > 0.1 / f64::from(ratio), "ratio {ratio}: only {size:e} was exchanged");
        // Positions are rounded to some 3e-8 m, which for the heavier cloth is much momentum.
        let rounding: f64 = pushed.iter().map(|row| 3e-8 / f64::from(row[3])).sum();
        let error = sum.iter().fold(0.0f64, |worst, sum| worst.max(sum.abs()));
        assert!(
            error < rounding.min(0.05 * size),
            "ratio {ratio}: {error:e} of {size:e} is lost, rounding {rounding:e}"
        );
    }
}

/// World positions of all cloths.
fn in_world(engine: &ReferenceEngine) -> Vec<[f32; 3]> {
    let of_cloth = |cloth: usize| {
        let pose = engine.cloth(nth_cloth(cloth)).unwrap().pose();
        engine
            .current(nth_cloth(cloth))
            .iter()
            .map(move |particle| pose.apply(particle.position))
            .collect::<Vec<_>>()
    };
    (0..engine.ids().len()).flat_map(of_cloth).collect()
}

#[test]
fn the_local_frame_of_a_cloth_does_not_matter() {
    let mut rng = Rng::new(21);
    let cloths: Vec<_> = (0..3).map(|k| sheet(7, 0.3, 0.04 * k as f32, 0.06)).collect();
    let mut rotated = cloths.clone();
    for cloth in &mut rotated {
        let pose = Pose { translation: rng.point(-2.0, 2.0), rotation: rotation(&mut rng) };
        let [x, y, z, w] = pose.rotation;
        let back = Pose { translation: [0.0; 3], rotation: [-x, -y, -z, w] };
        for particle in &mut cloth.particles {
            let [x, y, z] =
                back.apply(std::array::from_fn(|k| particle.position[k] - pose.translation[k]));
            particle.position = [x, y, z];
        }
        cloth.pose = pose;
    }
    let run = |cloths: &[Cloth], settings| {
        let mut engine = ReferenceEngine::new();
        engine.set_cloth_contact_solver(settings).unwrap();
        cloths.iter().for_each(|cloth| assert!(engine.add(cloth.clone()).is_ok()));
        (0..3).for_each(|_| engine.step(&Frame::default()).unwrap());
        in_world(&engine)
    };
    let apart = |a: &[[f32; 3]], b: &[[f32; 3]]| {
        a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    };
    let settings = ClothContactSolver { friction: 0.5, ..ClothContactSolver::default() };
    let plain = run(&cloths, settings);
    let (error, effect) = (
        apart(&plain, &run(&rotated, settings)),
        apart(
            &plain,
            &run(&cloths, ClothContactSolver { stiffness: 0.0, friction: 0.0, ..settings }),
        ),
    );
    assert!(error < 1e-4 && effect > 0.1, "{error:e} m apart, collision moves {effect:e} m");
}

#[test]
fn motion_is_seen_from_the_world() {
    // Pinned particles in a local space that moves and rotates: friction sees their motion in the world.
    let mut rng = Rng::new(3);
    let mut cloths = [0.0, 0.0].map(|_| random_cloud(&mut rng, 30, 0.4, 0.2));
    cloths.iter_mut().for_each(|cloth| {
        cloth.previous_positions.clear();
        cloth.particles.iter_mut().for_each(|particle| particle.inverse_mass = 0.0);
    });
    let mut engine = ReferenceEngine::new();
    engine
        .set_cloth_contact_solver(ClothContactSolver {
            friction: 1.0,
            ..ClothContactSolver::default()
        })
        .unwrap();
    cloths.into_iter().for_each(|cloth| assert!(engine.add(cloth).is_ok()));
    engine.step(&STEP).unwrap();
    for index in 1..5 {
        let before = engine.contact_memory().positions.clone();
        move_space(engine.cloth_mut(nth_cloth(1)).unwrap(), index);
        engine.step(&STEP).unwrap();
        let memory = engine.contact_memory();
        let mut largest = 0.0f32;
        for (row, motion) in memory.motions.iter().enumerate() {
            for k in 0..3 {
                let moved = memory.positions[row][k] - before[row][k];
                largest = largest.max(moved.abs());
                assert!((motion[k] - moved).abs() < 1e-6, "row {row}: {motion:?}");
            }
        }
        assert!(largest > 1e-3);
    }
}

/// Whether two sheets that overlap are pushed.
fn are_pushed(groups: [u32; 2], masks: [u32; 2]) -> bool {
    let mut cloths = [0.0, 0.02].map(|height| sheet(5, 0.2, height, 0.06));
    for ((cloth, group), mask) in cloths.iter_mut().zip(groups).zip(masks) {
        (cloth.config.cloth_collision.group, cloth.config.cloth_collision.mask) = (group, mask);
    }
    let setup =
        |settings| Setup { name: "groups", cloths: cloths.to_vec(), settings, frames: vec![STEP] };
    let off = ClothContactSolver { stiffness: 0.0, ..ClothContactSolver::default() };
    all(&on_mirror(&setup(ClothContactSolver::default()))) != all(&on_mirror(&setup(off)))
}

#[test]
fn cloths_collide_only_where_each_wants_the_other() {
    assert!(are_pushed([1, 1], [u32::MAX; 2]));
    assert!(are_pushed([1, 4], [4, 1]));
    assert!(!are_pushed([1, 4], [4, 4]), "the second does not want the first");
    assert!(!are_pushed([1, 4], [1, 1]), "the first does not want the second");
    assert!(!are_pushed([0, 1], [u32::MAX; 2]), "the first belongs to no group");
    assert!(!are_pushed([1, 1], [0, u32::MAX]), "the first wants none");
}

#[test]
fn a_hundred_cloths_in_one_place_leave_none_out() {
    let mut rng = Rng::new(11);
    let cloths: Vec<_> = (0..100).map(|_| random_cloud(&mut rng, 10, 0.03, 0.1)).collect();
    let settings = ClothContactSolver { iterations: 1, ..ClothContactSolver::default() };
    let engine = on_mirror(&Setup { name: "hundred", cloths, settings, frames: vec![STEP] });
    let memory = engine.contact_memory();
    for (row, &count) in memory.counts.iter().enumerate() {
        let expected = if memory.positions[row][3] > 0.0 { 990 } else { 0 };
        assert_eq!(count, expected, "row {row}");
    }
}

#[test]
fn two_thousand_cloths_are_no_limit() {
    let at = |k: usize| {
        [0.05 * (k % 40) as f32, 0.05 * (k / 40 % 10) as f32, 0.05 * (k / 400) as f32, 1.0]
    };
    let cloths: Vec<_> = (0..2000).map(|k| cloud(vec![at(k), at(k)], 0.08)).collect();
    let setup =
        Setup { name: "many", cloths, settings: ClothContactSolver::default(), frames: vec![STEP] };
    let setups = [setup];
    assert_eq!(wrong(&setups, wrong_in_first_pass), Vec::<String>::new());
    let [setup] = setups;
    assert!(on_mirror(&setup).contact_memory().counts.iter().all(|&count| count >= 6));
}

#[test]
fn nothing_changes_where_nothing_can_collide() {
    let cloths =
        |distances: [f32; 2]| [0, 1].map(|k| sheet(6, 0.3, 0.02 * k as f32, distances[k])).to_vec();
    let setup = |distances, settings| Setup {
        name: "off",
        cloths: cloths(distances),
        settings,
        frames: vec![Frame::default(); 3],
    };
    let on = ClothContactSolver { friction: 1.0, ..ClothContactSolver::default() };
    let off = ClothContactSolver { stiffness: 0.0, ..ClothContactSolver::default() };
    let without = all(&on_mirror(&setup([0.0; 2], ClothContactSolver::default())));
    let mut gpus: Vec<_> = devices(&EngineOptions::default()).collect();
    for setup in [setup([0.0; 2], on), setup([0.05, 0.0], on), setup([0.05; 2], off)] {
        let engine = on_mirror(&setup);
        assert!(engine.contact_memory().positions.is_empty(), "a pass was run");
        same_bits("cloths", &all(&engine), &without).unwrap();
        for (gpu, rounding) in &mut gpus {
            let ids = run_on_gpu(gpu, &setup);
            let snapshot = gpu.state().unwrap();
            for (cloth, &id) in ids.iter().enumerate() {
                let mirror = engine.current(nth_cloth(cloth));
                rounding.agree(setup.name, snapshot.current(id), mirror, 64.0).unwrap();
            }
        }
    }
    // The control: two cloths that take part are pushed.
    assert!(same_bits("cloths", &all(&on_mirror(&setup([0.05; 2], on))), &without).is_err());
}

#[test]
fn a_pair_gives_the_same_bits_alone_in_a_batch_and_again() {
    let pair = || [0, 1].map(|k| sheet(8, 0.4, 0.05 * k as f32, 0.06)).to_vec();
    let mut batch = pair();
    for k in 0..30 {
        let pose = Pose { translation: [3.0 + 2.0 * k as f32, 0.0, -1.0], ..Pose::default() };
        batch
            .extend([0, 1].map(|layer| Cloth { pose, ..sheet(8, 0.4, 0.05 * layer as f32, 0.06) }));
    }
    let settings = ClothContactSolver { friction: 0.2, ..ClothContactSolver::default() };
    let run = |cloths: Vec<Cloth>| {
        let mut engine = ReferenceEngine::new();
        engine.set_cloth_contact_solver(settings).unwrap();
        cloths.into_iter().for_each(|cloth| assert!(engine.add(cloth).is_ok()));
        (0..6).for_each(|_| engine.step(&Frame::default()).unwrap());
        engine
    };
    let (alone, crowd) = (run(pair()), run(batch.clone()));
    for cloth in 0..2 {
        same_bits(
            "alone or in a batch",
            alone.current(nth_cloth(cloth)),
            crowd.current(nth_cloth(cloth)),
        )
        .unwrap();
    }
    same_bits("run to run", &all(&crowd), &all(&run(batch.clone()))).unwrap();
    // On a GPU the order in which particles reach their buckets changes from run to run.
    for (mut gpu, rounding) in devices(&EngineOptions::default()) {
        gpu.engine_mut().set_cloth_contact_solver(settings).unwrap();
        let ids: Vec<_> = batch.iter().map(|cloth| gpu.add(cloth.clone()).unwrap()).collect();
        (0..6).for_each(|_| gpu.step(&Frame::default()).unwrap());
        let snapshot = gpu.state().unwrap();
        for (cloth, &id) in ids[..2].iter().enumerate() {
            let mirror = alone.current(nth_cloth(cloth));
            rounding.agree("in a batch", snapshot.current(id), mirror, 64.0).unwrap();
        }
    }
}

#[test]
fn the_order_of_adding_does_not_matter() {
    let cloths: Vec<_> = (0..4).map(|k| sheet(7, 0.3, 0.03 * k as f32, 0.05)).collect();
    let run = |cloths: Vec<Cloth>| {
        let settings = ClothContactSolver { friction: 0.4, ..ClothContactSolver::default() };
        let mut engine = ReferenceEngine::new();
        engine.set_cloth_contact_solver(settings).unwrap();
        cloths.into_iter().for_each(|cloth| assert!(engine.add(cloth).is_ok()));
        (0..5).for_each(|_| engine.step(&Frame::default()).unwrap());
        engine
    };
    let (forward, reversed) = (run(cloths.clone()), run(cloths.into_iter().rev().collect()));
    for cloth in 0..4 {
        for (a, b) in
            forward.current(nth_cloth(cloth)).iter().zip(reversed.current(nth_cloth(3 - cloth)))
        {
            assert!(
                (0..3).all(|k| (a.position[k] - b.position[k]).abs() < 1e-4),
                "{a:?} against {b:?}"
            );
        }
    }
}

#[test]
fn a_sleeping_cloth_is_held_until_something_that_moves_touches_it() {
    let setup = sleepers();
    let mut engine = ReferenceEngine::new();
    engine.set_cloth_contact_solver(setup.settings).unwrap();
    setup.cloths.iter().for_each(|cloth| assert!(engine.add(cloth.clone()).is_ok()));
    let mut slept = 0;
    let mut touched = None;
    for (index, frame) in setup.frames.iter().enumerate() {
        let before = engine.current(nth_cloth(0)).to_vec();
        engine.step(frame).unwrap();
        if engine.feedback(nth_cloth(0)).is_asleep != 0 {
            slept += 1;
            same_bits("the sleeping sheet", engine.current(nth_cloth(0)), &before).unwrap();
        }
        let gap = between(engine.current(nth_cloth(0)), engine.current(nth_cloth(1)));
        if gap < 0.0601 && touched.is_none() {
            touched = Some(index);
        }
    }
    let touched = touched.expect("the second sheet reaches the first");
    assert!(slept > 2 && touched > 5, "slept {slept} frames, touched in frame {touched}");
    assert_eq!(engine.feedback(nth_cloth(0)).is_asleep, 0);
    assert!(
        engine.current(nth_cloth(0))[0].position[1] < -1e-3,
        "the first sheet is not pushed down"
    );
}

#[test]
fn settings_out_of_range_are_refused() {
    let mut engine = ReferenceEngine::new();
    let wrong = ClothContactSolver { iterations: 0, ..ClothContactSolver::default() };
    assert!(engine.set_cloth_contact_solver(wrong).is_err());
    assert_eq!(engine.cloth_contact_solver(), ClothContactSolver::default());
    let mut cloth = sheet(3, 0.1, 0.0, -0.1);
    assert!(engine.add(cloth.clone()).is_err());
    cloth.config.cloth_collision.distance = Some(f32::NAN);
    assert!(engine.add(cloth).is_err());
}
