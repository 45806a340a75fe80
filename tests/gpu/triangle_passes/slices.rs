//! Whole slices on the GPU and in the mirror: search, rounds, carried velocities.

use poplin_cpu::triangle_contact::Role;
use poplin_geometry::Rng;
use poplin_gpu::{EngineOptions, Headless, TriangleProgress, TriangleRounds, wgpu};
use poplin_layout::{
    TRIANGLE_BLOCKS, TRIANGLE_CARRIES, TRIANGLE_MAX_LATE_ROUNDS, TRIANGLE_MAX_ROUNDS,
    TRIANGLE_STARTS, TRIANGLE_TARGETS, TriangleBodies, TriangleRound,
};
use poplin_testkit::adapter::{Rounding, headless_as_mirror};

use super::scene::{random_moves, random_scene, sum};
use super::{STEP, crossings, devices, differ, faces_of, pushing, starts};

/// Largest number of rounds of a slice.
const MAX_ROUNDS: u32 = TRIANGLE_MAX_ROUNDS + TRIANGLE_MAX_LATE_ROUNDS;

/// Capacity of the candidate list of a random slice.
const CAPACITY: usize = 20_000;

/// One slice of the mirror: state before and after.
pub(super) struct Slice {
    bodies: TriangleBodies,
    before: TriangleRound,
    pub(super) after: TriangleRound,
    iterations: u32,
    /// Corner rows of the faces of all bodies.
    faces: Vec<[u32; 3]>,
}

/// Runs a slice on a GPU whose candidate list holds `capacity` candidates.
fn slice_on_gpu(
    gpu: &Headless,
    kernels: &mut TriangleRounds,
    slice: &Slice,
    capacity: usize,
) -> (TriangleRound, TriangleProgress) {
    let (device, queue) = (gpu.device(), gpu.queue());
    kernels.upload(device, queue, &slice.before, &slice.bodies, capacity, MAX_ROUNDS).unwrap();
    let submit = |record: &dyn Fn(&mut wgpu::CommandEncoder)| {
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        record(&mut encoder);
        queue.submit([encoder.finish()]);
    };
    submit(&|encoder| kernels.encode_begin(device, encoder));
    let mut progress = kernels.progress(device, queue).unwrap();
    // Two rounds per submission; the last one may be empty and only reports that the slice is done.
    for _ in 0..=MAX_ROUNDS / 2 {
        submit(&|encoder| {
            kernels.encode_next(device, encoder, slice.iterations);
            kernels.encode_next(device, encoder, slice.iterations);
        });
        progress = kernels.progress(device, queue).unwrap();
        if progress.is_done {
            break;
        }
    }
    assert!(progress.is_done, "{progress:?}");
    submit(&|encoder| kernels.encode_finish(device, encoder));
    (kernels.read(device, queue, &slice.before).unwrap(), progress)
}

/// Returns the first result of a slice that differs from the mirror.
fn slice_difference(gpu: &TriangleRound, mirror: &TriangleRound) -> Option<String> {
    let report = |it: &TriangleRound| {
        [it.rounds, it.contacts, it.held_rows, it.forced, it.least_gap.to_bits()]
    };
    let row_count = gpu.rows.len();
    let sections = [
        ("start", TRIANGLE_STARTS),
        ("block", TRIANGLE_BLOCKS),
        ("carry", TRIANGLE_CARRIES),
        ("target", TRIANGLE_TARGETS),
    ];
    let ranks = gpu.candidates.iter().map(|candidate| candidate.rank);
    if !ranks.is_sorted_by(|a, b| a < b) {
        return Some("candidates are not in the order of their ranks".to_owned());
    }
    let found = differ("report", &report(gpu), &report(mirror));
    let found = found.or_else(|| differ("held", &pushing(gpu), &pushing(mirror)));
    sections.iter().fold(found, |found, (what, section)| {
        let begin = *section as usize * row_count;
        let rows = |round: &TriangleRound| round.moves[begin..begin + row_count].to_vec();
        found.or_else(|| differ(what, &rows(gpu), &rows(mirror)))
    })
}

/// First seed of scenes in which only cloth moves, fast: rounds restart though nothing is pressed.
pub(super) const STILL: u64 = 1000;

/// Returns slices of a random scene, each with the multipliers of the previous one.
pub(super) fn random_slices(seed: u64) -> Vec<Slice> {
    let mut rng = Rng::new(10_000 + seed);
    let (mut contact, thickness) = random_scene(&mut rng);
    let slice = |_| {
        let mut moves = random_moves(&mut rng, &contact, thickness);
        if seed >= STILL {
            for (step, mass) in moves.iter_mut().zip(&contact.inverse_mass) {
                *step *= if *mass == 0.0 { 0.0 } else { 4.0 };
            }
        }
        contact.target = sum(&contact.start, &moves);
        let iterations = rng.index(4) as u32;
        let step = STEP * [1.0, 0.5][rng.index(2)];
        let bodies = contact.packed_bodies();
        let least = contact.bodies.iter().filter(|body| matches!(body.role, Role::Cloth { .. }));
        let least = least.map(|body| 2.0 * contact.radius[body.rows.start]).fold(1.0, f32::min);
        let [mut before, after] = contact.run_slice(least, step, iterations);
        before.candidates.clear();
        Slice { bodies, before, after, iterations, faces: faces_of(&contact) }
    };
    (0..3).map(slice).collect()
}

/// Returns the first slice in which these kernels differ from the mirror, and the difference.
pub(super) fn first_slice_failure(
    gpu: &Headless,
    engine: &EngineOptions,
    slices: &[Slice],
) -> Option<String> {
    let mut kernels = TriangleRounds::new(gpu.device(), engine).unwrap();
    slices.iter().enumerate().find_map(|(index, slice)| {
        let (found, progress) = slice_on_gpu(gpu, &mut kernels, slice, CAPACITY);
        assert_eq!(progress.lack, None);
        let difference = slice_difference(&found, &slice.after)?;
        Some(format!("slice {index}: {difference}"))
    })
}

#[test]
fn slices_equal_the_mirror_from_search_to_carry() {
    let slices: Vec<Slice> = (0..18).chain(STILL..STILL + 6).flat_map(random_slices).collect();
    let rounds: Vec<u32> = slices.iter().map(|slice| slice.after.rounds).collect();
    let several = rounds.iter().filter(|&&rounds| rounds > 2).count();
    assert!(several > 10, "{rounds:?}");
    let contacts = slices.iter().filter(|slice| slice.after.contacts > 0).count();
    assert!(contacts > 15, "only {contacts} slices have contacts");
    for (gpu, engine, rounding) in devices() {
        match rounding {
            Rounding::AsMirror => assert_eq!(first_slice_failure(&gpu, &engine, &slices), None),
            // A slice that starts without crossings ends without, unless pins or colliders force
            // some.
            Rounding::MayFuse => {
                let mut kernels = TriangleRounds::new(gpu.device(), &engine).unwrap();
                let is_free = |slice: &&Slice| crossings(&slice.before, &slice.faces) == 0;
                let mut count = 0;
                for slice in slices.iter().filter(is_free) {
                    let (found, progress) = slice_on_gpu(&gpu, &mut kernels, slice, CAPACITY);
                    assert_eq!(progress.lack, None);
                    if found.forced == 0 {
                        assert_eq!(crossings(&found, &slice.faces), 0, "{:?}", slice.after);
                        count += 1;
                    }
                }
                assert!(count > 8, "only {count} slices are free of crossings");
            }
        }
    }
}

#[test]
fn a_full_candidate_list_moves_nothing_and_reports_the_lack() {
    let engine = EngineOptions::default();
    let Some(gpu) = headless_as_mirror(engine.clone()) else { return };
    let mut kernels = TriangleRounds::new(gpu.device(), &engine).unwrap();
    let all: Vec<Slice> = (0..48).flat_map(random_slices).collect();
    // Only slices of one round: with several, `candidates` holds those of the last round.
    let mut slices = all.iter().filter(|slice| slice.after.rounds == 1);
    let (slice, count) = slices
        .find_map(|slice| {
            let (found, _) = slice_on_gpu(&gpu, &mut kernels, slice, CAPACITY);
            (found.candidates.len() > 100).then_some((slice, found.candidates.len()))
        })
        .unwrap();
    let (found, progress) = slice_on_gpu(&gpu, &mut kernels, slice, count - 1);
    assert_eq!(progress, TriangleProgress { rounds: 1, is_done: true, lack: Some(count as u32) });
    assert_eq!(differ("start", &starts(&found), &starts(&slice.before)), None);
    let (found, progress) = slice_on_gpu(&gpu, &mut kernels, slice, count);
    assert_eq!(progress.lack, None);
    assert_eq!(slice_difference(&found, &slice.after), None);
}
