//! One round on the GPU and in the mirror, compared pass by pass.

use glam::Vec3;
use poplin_cpu::triangle_contact::{Candidate, Kind, TriangleContact};
use poplin_geometry::Rng;
use poplin_gpu::{EngineOptions, Headless, TriangleRounds, wgpu};
use poplin_layout::{
    NO_OFFSET, TRIANGLE_AIMS, TRIANGLE_BLOCKS, TRIANGLE_CARRIES, TRIANGLE_MOVES, TRIANGLE_STARTS,
    TRIANGLE_STEPS, TRIANGLE_TARGETS, TriangleBodies, TrianglePair, TriangleRound,
};
use poplin_testkit::adapter::Rounding;
use poplin_testkit::triangles::{direction, point, power, random_edge_edge, random_vertex_face};

use super::scene::{random_moves, random_scene, sum};
use super::{STEP, crossings, devices, differ, faces_of, pushing, starts};

/// Runs the passes of one round on a GPU.
pub(super) fn on_gpu(
    gpu: &Headless,
    kernels: &mut TriangleRounds,
    round: &TriangleRound,
    iterations: u32,
) -> TriangleRound {
    let (device, queue) = (gpu.device(), gpu.queue());
    kernels.upload(device, queue, round, &TriangleBodies::default(), 1, 1).unwrap();
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    kernels.encode_round(device, &mut encoder, iterations);
    queue.submit([encoder.finish()]);
    kernels.read(device, queue, round).unwrap()
}

/// Returns the first pass of a round whose results differ from the mirror. The results of each pass
/// stay readable until the end of the round.
fn first_difference(gpu: &TriangleRound, mirror: &TriangleRound) -> Option<String> {
    let row_count = gpu.rows.len();
    let section = |index: u32| {
        let rows = index as usize * row_count..(index as usize + 1) * row_count;
        move |round: &TriangleRound| round.moves[rows.clone()].to_vec()
    };
    let rows = |what: &str, index: u32| {
        let section = section(index);
        differ(what, &section(gpu), &section(mirror))
    };
    let pairs = |what: &str, field: fn(&TrianglePair) -> [u32; 4]| {
        let fields = |round: &TriangleRound| round.pairs.iter().map(field).collect::<Vec<_>>();
        differ(what, &fields(gpu), &fields(mirror))
    };
    let mut found = None;
    let mut check = |difference: &dyn Fn() -> Option<String>| {
        if found.is_none() {
            found = difference();
        }
    };
    check(&|| rows("step: aim of row", TRIANGLE_AIMS));
    for k in 0..4 {
        check(&|| rows("step: box of row", TRIANGLE_STEPS + k));
    }
    check(&|| pairs("reach: candidate of pair", |pair| [pair.candidate; 4]));
    check(&|| pairs("narrow: rows of pair", |pair| pair.rows));
    check(&|| pairs("narrow: weights of pair", |pair| pair.weights.map(f32::to_bits)));
    check(&|| pairs("narrow: normal and gap of pair", |pair| pair.normal.map(f32::to_bits)));
    check(&|| {
        pairs("narrow: closing, hard, overlap, friction of pair", |pair| {
            [pair.closing, pair.hard, pair.overlap, pair.friction].map(f32::to_bits)
        })
    });
    check(&|| pairs("narrow: slide of pair", |pair| pair.slide.map(f32::to_bits)));
    check(&|| pairs("scatter: state of pair", |pair| [pair.first_count, pair.is_active, 0, 0]));
    check(&|| pairs("scatter: compliance of pair", |pair| [pair.change[3].to_bits(); 4]));
    check(&|| differ("scan: begin of row", &gpu.begins, &mirror.begins));
    check(&|| differ("tie: corner", &gpu.corners, &mirror.corners));
    check(&|| pairs("push: multipliers of pair", |pair| pair.drag.map(f32::to_bits)));
    check(&|| pairs("recover: change of pair", |pair| pair.change.map(f32::to_bits)));
    check(&|| rows("gather: move of row", TRIANGLE_MOVES));
    check(&|| rows("gather: carry of row", TRIANGLE_CARRIES));
    check(&|| differ("recover: held", &pushing(gpu), &pushing(mirror)));
    check(&|| pairs("cut: fractions of pair", |pair| pair.fractions.map(f32::to_bits)));
    check(&|| pairs("cut: press on pair", |pair| [pair.is_pressed; 4]));
    check(&|| rows("block: of row", TRIANGLE_BLOCKS));
    check(&|| differ("hold: of row", &gpu.holds, &mirror.holds));
    check(&|| rows("move: start of row", TRIANGLE_STARTS));
    check(&|| rows("move: target of row", TRIANGLE_TARGETS));
    let report =
        |it: &TriangleRound| [it.contacts, it.held_rows, it.forced, it.least_gap.to_bits()];
    check(&|| differ("report", &report(gpu), &report(mirror)));
    found
}

/// One round of the mirror: state before and after.
pub(super) struct Trial {
    pub(super) before: TriangleRound,
    pub(super) after: TriangleRound,
    pub(super) iterations: u32,
    /// Corner rows of the faces of all bodies.
    faces: Vec<[u32; 3]>,
}

impl Trial {
    /// Runs a round with these moves. Random rows may be truncated, in a careful round all rows.
    pub(super) fn new(
        rng: &mut Rng,
        contact: &mut TriangleContact,
        moves: &[Vec3],
        thickness: f32,
        part: f32,
        iterations: u32,
    ) -> Self {
        contact.target = sum(&contact.start, moves);
        let (rate, is_careful) = ([0.0, 0.1, 0.9][rng.index(3)], rng.index(3) == 0);
        let holds = contact.inverse_mass.iter().map(|&it| it > 0.0 && rng.range(0.0, 1.0) < rate);
        let holds: Vec<bool> = holds.collect();
        let [before, after] =
            contact.run_round(moves, thickness, part, iterations, &holds, is_careful);
        Self { before, after, iterations, faces: faces_of(contact) }
    }
}

/// Returns rounds of a random scene, some of them with candidates and multipliers of earlier
/// rounds.
pub(super) fn random_trials(seed: u64) -> Vec<Trial> {
    let mut rng = Rng::new(seed);
    let (mut contact, thickness) = random_scene(&mut rng);
    let mut trials = Vec::new();
    for _ in 0..2 {
        let moves = random_moves(&mut rng, &contact, thickness);
        contact.target = sum(&contact.start, &moves);
        contact.advance(STEP, 4);
        for part in [0.5, 0.0] {
            let moves = random_moves(&mut rng, &contact, thickness);
            let iterations = rng.index(4) as u32;
            trials.push(Trial::new(&mut rng, &mut contact, &moves, thickness, part, iterations));
        }
        contact.target.clone_from(&contact.start);
    }
    trials
}

/// Returns a round of `count` candidates of every degenerate kind, each with four rows of its own,
/// all within reach.
fn degenerate_trial(seed: u64, count: usize) -> Trial {
    let mut rng = Rng::new(seed);
    let mut contact = TriangleContact::default();
    let thickness = 1000.0;
    let mut candidates = Vec::new();
    for index in 0..count {
        let kind = [Kind::VertexFace, Kind::EdgeEdge, Kind::VertexPlane][rng.index(9) % 7 % 3];
        let mut corners = || match kind {
            Kind::EdgeEdge => random_edge_edge(&mut rng),
            _ => random_vertex_face(&mut rng),
        };
        let (start, rest) = (corners(), corners());
        let begin = 4 * index as u32;
        let mut rows = [begin, begin + 1, begin + 2, begin + 3];
        contact.start.extend(start);
        contact.rest.extend(rest);
        if kind == Kind::VertexPlane {
            rows = [begin, begin + 1, begin + 1, begin + 1];
            contact.rest[begin as usize + 1] = direction(&mut rng);
        }
        candidates.push(Candidate {
            rows,
            kind,
            owned: rng.index(64) as u8,
            beyond: [0; 3].map(|_| [NO_OFFSET, rng.index(index + 1) as u32][rng.index(2)]),
            friction: rng.range(0.0, 1.0),
            rest: f32::INFINITY,
            is_own: rng.index(2) == 0,
            rank: [0, 0, index as u32, 0],
        });
    }
    let rows = 4 * count;
    contact.candidates = candidates;
    contact.inverse_mass =
        (0..rows).map(|_| [0.0, 1.0 / rng.range(0.001, 0.01)][rng.index(4).min(1)]).collect();
    contact.radius = (0..rows).map(|_| 0.5 * power(&mut rng, -4.0, -1.0)).collect();
    contact.hard = contact.radius.iter().map(|radius| radius * [0.0, 1.0][rng.index(2)]).collect();
    contact.carry = vec![Vec3::ZERO; rows];
    let spins: Vec<Vec3> = (0..rows).map(|_| direction(&mut rng) * rng.index(2) as f32).collect();
    contact.set_spins(&spins, 0.5);
    let rest = |candidate: &Candidate| contact.rest_of(candidate);
    let rest: Vec<f32> = contact.candidates.iter().map(rest).collect();
    contact.candidates.iter_mut().zip(rest).for_each(|(candidate, rest)| candidate.rest = rest);
    let moves: Vec<Vec3> = (0..rows).map(|_| point(&mut rng, 0.01)).collect();
    Trial::new(&mut rng, &mut contact, &moves, thickness, 1.0, 2)
}

/// Returns the first trial in which these kernels differ from the mirror, and the difference.
pub(super) fn first_failure(
    gpu: &Headless,
    engine: &EngineOptions,
    trials: &[Trial],
) -> Option<String> {
    let mut kernels = TriangleRounds::new(gpu.device(), engine).unwrap();
    trials.iter().enumerate().find_map(|(index, trial)| {
        let found = on_gpu(gpu, &mut kernels, &trial.before, trial.iterations);
        let difference = first_difference(&found, &trial.after)?;
        Some(format!("trial {index}: {difference}"))
    })
}

/// Asserts that the gaps of all pairs equal those of the mirror within the tolerance of the oracle,
/// which scales with the size of the pair.
fn assert_near(found: &TriangleRound, trial: &Trial) {
    let starts = starts(&trial.before);
    assert_eq!(found.pairs.len(), trial.after.pairs.len());
    for (found, pair) in found.pairs.iter().zip(&trial.after.pairs) {
        let corners = pair.rows.map(|row| starts[row as usize]);
        let size = corners.map(|corner| (corner - corners[0]).abs().max_element());
        let allowed = 320.0 * f32::EPSILON * size.into_iter().fold(1e-3, f32::max);
        let [found_distance, distance] = [found, pair].map(|pair| pair.normal[3] + pair.hard);
        assert!((found_distance - distance).abs() <= allowed, "{found:?} and {pair:?}");
    }
}

#[test]
fn degenerate_pairs_equal_the_mirror() {
    let trials: Vec<Trial> = (0..4).map(|seed| degenerate_trial(seed, 3000)).collect();
    let in_reach: usize = trials.iter().map(|trial| trial.after.pairs.len()).sum();
    assert!(in_reach > 11_000, "only {in_reach} pairs have a corner that can move");
    for (gpu, engine, rounding) in devices() {
        match rounding {
            Rounding::AsMirror => assert_eq!(first_failure(&gpu, &engine, &trials), None),
            Rounding::MayFuse => {
                let mut kernels = TriangleRounds::new(gpu.device(), &engine).unwrap();
                for trial in &trials {
                    let found = on_gpu(&gpu, &mut kernels, &trial.before, trial.iterations);
                    assert_near(&found, trial);
                }
            }
        }
    }
}

#[test]
fn rounds_equal_the_mirror_pass_by_pass() {
    let trials: Vec<Trial> = (0..60).flat_map(random_trials).collect();
    let count =
        |has: fn(&TriangleRound) -> bool| trials.iter().filter(|trial| has(&trial.after)).count();
    let counts = [
        count(|after| !after.pairs.is_empty()),
        count(|after| after.contacts > 0),
        count(|after| after.held_rows > 0),
        count(|after| after.forced > 0),
        count(|after| after.holds.contains(&1) && after.held_rows == 0),
        count(|after| after.pairs.iter().any(|pair| pair.is_pressed != 0)),
        count(|after| after.pairs.iter().any(|pair| pair.change[..3] != [0.0; 3])),
    ];
    assert!(counts.iter().all(|&count| count > 10), "{counts:?} of {} trials", trials.len());
    for (gpu, engine, rounding) in devices() {
        match rounding {
            Rounding::AsMirror => assert_eq!(first_failure(&gpu, &engine, &trials), None),
            // Rounding may select different pairs; a round without crossings in the mirror still
            // has none.
            Rounding::MayFuse => {
                let mut kernels = TriangleRounds::new(gpu.device(), &engine).unwrap();
                let is_free = |trial: &&Trial| {
                    [&trial.before, &trial.after].iter().all(|it| crossings(it, &trial.faces) == 0)
                };
                let free: Vec<&Trial> = trials.iter().filter(is_free).collect();
                assert!(free.len() > 60, "only {} trials cross nothing", free.len());
                for trial in free {
                    let found = on_gpu(&gpu, &mut kernels, &trial.before, trial.iterations);
                    assert_eq!(crossings(&found, &trial.faces), 0, "{:?}", trial.after);
                }
            }
        }
    }
}
