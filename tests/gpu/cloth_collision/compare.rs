//! Comparisons of a GPU with the CPU twin: bits on adapters that round alike, bounds on others.

use poplin_gpu::{ClothId, EngineOptions, Headless};
use poplin_host::Engine as _;
use poplin_measure::separation::between;
use poplin_model::ClothContactSolver;
use poplin_testkit::adapter::{Rounding, devices};
use poplin_testkit::compare::{close, near, same_bits};
use poplin_testkit::nth_cloth;

use super::all_pairs::{Oracle, Rows};
use super::{STEP, Setup, move_space, on_mirror};

/// Runs a setup on the GPU, after removing earlier cloths.
pub(super) fn run_on_gpu(gpu: &mut Headless, setup: &Setup) -> Vec<ClothId> {
    gpu.clear();
    gpu.engine_mut().set_cloth_contact_solver(setup.settings).unwrap();
    let ids: Vec<_> = setup.cloths.iter().map(|cloth| gpu.add(cloth.clone()).unwrap()).collect();
    for (index, &dt) in setup.frames.iter().enumerate() {
        move_space(gpu.engine_mut().cloth_mut(ids[ids.len() - 1]).unwrap(), index);
        gpu.step(dt).unwrap();
    }
    ids
}

/// Contact buffers after the last pass on a GPU.
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

/// Lists the bit differences between a GPU and the twin: contact buffers first, then particles and
/// feedback.
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
        // Without any possible contact nothing is counted.
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

/// Relative difference of coordinates or distances that counts as rounding.
const ROUNDING: f64 = 1e-6;

/// Lists errors of the first pass on a GPU that may fuse. Its rows must equal those of the twin
/// within rounding; contact counts and pushed positions must equal those of all pairs of these
/// rows. If a distance is at the limit within rounding, either count is right.
pub(super) fn wrong_in_first_pass(gpu: &mut Headless, setup: &Setup) -> Vec<String> {
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
        // Counts with the contact distance shortened and extended by rounding.
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

/// Lists errors of whole frames on a GPU that may fuse: particles must be near those of the twin,
/// the same cloths asleep, and no pair of cloths closer.
pub(super) fn wrong_in_frames(gpu: &mut Headless, setup: &Setup) -> Vec<String> {
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
            // False for NaN.
            let is_apart = own > expected - 3e-4;
            if !is_apart {
                found.push(format!("{index} is {own} m from {other}, not {expected} m"));
            }
        }
    }
    found.into_iter().map(|text| format!("{}: {text}", setup.name)).collect()
}

/// Lists errors of these setups on the GPU: bit differences if it rounds like the twin, otherwise
/// what `may_fuse` finds.
pub(super) fn wrong(
    setups: &[Setup],
    may_fuse: fn(&mut Headless, &Setup) -> Vec<String>,
) -> Vec<String> {
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
