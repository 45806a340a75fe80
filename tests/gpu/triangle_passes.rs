//! Contact of triangles: the kernels of a round against their mirror, pass by pass, bit by bit on software adapters.

use std::sync::Arc;

use bytemuck::{NoUninit, Zeroable, cast_slice, pod_collect_to_vec};
use glam::{Mat3, Vec3};
use poplin_gpu::{EngineOptions, Headless, TriangleProgress, TriangleRounds, wgpu};
use poplin_layout::{
    ContactCloth, Feedback, NO_OFFSET, TRIANGLE_AIMS, TRIANGLE_BLOCKS, TRIANGLE_CARRIES,
    TRIANGLE_MAX_LATE_ROUNDS, TRIANGLE_MAX_ROUNDS, TRIANGLE_MOVES, TRIANGLE_STARTS, TRIANGLE_STEPS,
    TRIANGLE_TARGETS, TriangleBodies, TrianglePair, TriangleRound,
};
use poplin_measure::entanglement::EntanglementCounter;
use poplin_reference::contact::ContactBody;
use poplin_reference::triangle_contact::{Body, Candidate, Kind, Role, Surface, TriangleContact};
use poplin_shaders::{Kernel, compose};
use poplin_testkit::adapter::{Rounding, headless, roundings};
use poplin_testkit::rng::Rng;
use poplin_testkit::triangles::{
    direction, point, power, random_edge_edge, random_sheet, random_triangles, random_vertex_face,
    rotation,
};

/// Most rounds of a slice.
const MAX_ROUNDS: u32 = TRIANGLE_MAX_ROUNDS + TRIANGLE_MAX_LATE_ROUNDS;
/// Length of a solver iteration \[s\].
const STEP: f32 = 1.0 / 300.0;
/// Every group of colliders.
const ALL: [u32; 2] = [u32::MAX; 2];

/// Runs the passes of a round on a GPU.
fn on_gpu(
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

/// Runs a slice on a GPU, with room for so many candidates.
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
    // One round more than there may be finds that there is none.
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

/// The first of two lists of rows that differ in their bits.
fn differ<T: NoUninit + std::fmt::Debug>(what: &str, gpu: &[T], mirror: &[T]) -> Option<String> {
    if gpu.len() != mirror.len() {
        return Some(format!("{what}: {} on the GPU, {} in the mirror", gpu.len(), mirror.len()));
    }
    let bytes = |row: &T| cast_slice::<T, u8>(std::slice::from_ref(row)).to_vec();
    let same = |(gpu, mirror): (&T, &T)| bytes(gpu) == bytes(mirror);
    let index = gpu.iter().zip(mirror).position(|pair| !same(pair))?;
    Some(format!("{what} {index}: {:?} on the GPU, {:?} in the mirror", gpu[index], mirror[index]))
}

/// The first pass of a round after which what it leaves differs from the mirror. Each leaves its results to the end of the round.
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

/// Multipliers that push: the mirror keeps no others.
fn pushing(round: &TriangleRound) -> Vec<poplin_layout::TriangleMultiplier> {
    round.held.iter().filter(|held| held.drag[3] > 0.0).copied().collect()
}

/// Bodies among each other with their least thickness \[m\]: sheets and loose triangles, some of the rows of which are pinned, a
/// plane, a ball, a capsule and a tetrahedron.
fn random_scene(rng: &mut Rng) -> (TriangleContact, f32) {
    let thickness = power(rng, -2.7, -1.7);
    let edge = thickness * rng.range(0.5, 5.0);
    let mut contact = TriangleContact::default();
    for layer in 0..2 + rng.index(2) {
        let mut surface = match rng.index(3) {
            0 => {
                let count = 1 + rng.index(6);
                random_triangles(rng, count, 2.0 * edge)
            }
            _ => {
                let [columns, rows] = [(); 2].map(|()| 2 + rng.index(4));
                random_sheet(rng, columns, rows, edge)
            }
        };
        let spin = rotation(rng);
        let flat = rng.index(3) > 0;
        let offset = point(rng, edge) + Vec3::Z * (layer as f32 * thickness * rng.range(0.1, 2.0));
        surface.rest.iter_mut().for_each(|x| *x = if flat { *x } else { spin * *x } + offset);
        let role = Role::Cloth { group: 1, mask: 1, colliders: ALL };
        let friction = [0.0, rng.range(0.0, 1.0)][rng.index(2)];
        let begin = contact.start.len();
        let radius = 0.5 * thickness * rng.range(1.0, 1.5);
        contact.add(Body::new(Arc::new(surface), role, friction), radius, 0.0);
        let pins = [0, 0, 4][rng.index(3)];
        for inverse_mass in &mut contact.inverse_mass[begin..] {
            *inverse_mass = if rng.index(8) < pins { 0.0 } else { 1.0 / rng.range(0.001, 0.01) };
        }
    }
    let collider = Role::Collider { owner: None, groups: ALL };
    let mut add = |surface: Surface, radius: f32, normal: Option<Vec3>, friction: f32| {
        let mut body = Body::new(Arc::new(surface), collider, friction);
        body.is_plane = normal.is_some();
        contact.add(body, radius, radius);
        if let Some(normal) = normal {
            *contact.rest.last_mut().unwrap() = normal;
        }
    };
    let at = |rng: &mut Rng| point(rng, 2.0 * edge) - Vec3::Z * edge;
    if rng.index(2) == 0 {
        let plane = Surface { rest: vec![at(rng)], ..Surface::default() };
        let (normal, friction) = (direction(rng), rng.range(0.0, 1.0));
        add(plane, 0.0, Some(normal), friction);
    }
    if rng.index(2) == 0 {
        let ball = Surface { rest: vec![at(rng)], vertices: vec![[0]], ..Surface::default() };
        add(ball, edge * rng.range(0.1, 1.0), None, 0.5);
    }
    if rng.index(2) == 0 {
        let capsule = Surface::of_capsule([at(rng), at(rng)]);
        add(capsule, edge * rng.range(0.1, 1.0), None, 0.5);
    }
    if rng.index(2) == 0 {
        let rest = (0..4).map(|_| at(rng)).collect();
        let faces = [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]];
        add(Surface::of_triangles(rest, &faces), 0.0, None, 0.5);
    }
    contact.target.clone_from(&contact.start);
    (contact, thickness)
}

/// Random moves: each row on its own, bodies as a whole, all towards a point, only what something can stop, all of it
/// alike.
fn random_moves(rng: &mut Rng, contact: &TriangleContact, thickness: f32) -> Vec<Vec3> {
    let size = thickness * power(rng, -2.0, 0.5);
    let middle = contact.start.iter().sum::<Vec3>() / contact.start.len() as f32;
    let (kind, common) = (rng.index(6), point(rng, 5.0 * thickness));
    let mut moves = Vec::new();
    for body in &contact.bodies {
        let offset = point(rng, size);
        for row in body.rows.clone() {
            moves.push(match kind {
                0 => offset,
                1 => point(rng, size),
                2 => (middle - contact.start[row]).clamp_length_max(size) + 0.1 * offset,
                3 => offset + point(rng, 0.3 * size),
                _ if contact.inverse_mass[row] == 0.0 => Vec3::ZERO,
                4 => offset + point(rng, size),
                _ => common,
            });
        }
    }
    moves
}

fn sum(a: &[Vec3], b: &[Vec3]) -> Vec<Vec3> {
    a.iter().zip(b).map(|(a, b)| *a + *b).collect()
}

/// A round in the mirror.
struct Trial {
    before: TriangleRound,
    after: TriangleRound,
    iterations: u32,
    /// Corners of the faces of all bodies, by row.
    faces: Vec<[u32; 3]>,
}

impl Trial {
    /// Runs a round in which rows move like this and some may be held back, in some rounds all.
    fn new(
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

/// Edges through triangles, counted exactly.
fn crossings(round: &TriangleRound, faces: &[[u32; 3]]) -> usize {
    let rows: Vec<_> = starts(round).iter().map(|at| at.to_array()).collect();
    EntanglementCounter::new(&rows, faces, &[]).crossings(&rows)
}

/// Corners of the faces of all bodies, by row.
fn faces_of(contact: &TriangleContact) -> Vec<[u32; 3]> {
    let of_body = |body: &Body| {
        let begin = body.rows.start as u32;
        body.surface.faces.iter().map(move |face| face.map(|row| begin + row)).collect::<Vec<_>>()
    };
    contact.bodies.iter().flat_map(of_body).collect()
}

/// Positions of the rows.
fn starts(round: &TriangleRound) -> Vec<Vec3> {
    let rows = &round.moves[TRIANGLE_STARTS as usize * round.rows.len()..][..round.rows.len()];
    rows.iter().map(|&[x, y, z, _]| Vec3::new(x, y, z)).collect()
}

/// A slice in the mirror.
struct Slice {
    bodies: TriangleBodies,
    before: TriangleRound,
    after: TriangleRound,
    iterations: u32,
    /// Corners of the faces of all bodies, by row.
    faces: Vec<[u32; 3]>,
}

/// What a slice leaves that differs from the mirror.
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

/// Slices of a random scene, each with the multipliers of the last one.
fn random_slices(seed: u64) -> Vec<Slice> {
    let mut rng = Rng::new(10_000 + seed);
    let (mut contact, thickness) = random_scene(&mut rng);
    let slice = |_| {
        let moves = random_moves(&mut rng, &contact, thickness);
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

/// Rounds of a random scene, some of them with candidates and multipliers of earlier ones.
fn random_trials(seed: u64) -> Vec<Trial> {
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

/// A round of simplices of every degenerate kind, each with four rows of its own, all in reach.
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
    let rest = |candidate: &Candidate| contact.rest_of(candidate);
    let rest: Vec<f32> = contact.candidates.iter().map(rest).collect();
    contact.candidates.iter_mut().zip(rest).for_each(|(candidate, rest)| candidate.rest = rest);
    let moves: Vec<Vec3> = (0..rows).map(|_| point(&mut rng, 0.01)).collect();
    Trial::new(&mut rng, &mut contact, &moves, thickness, 1.0, 2)
}

/// The first trial of which these kernels leave something else than the mirror, and what.
fn first_failure(gpu: &Headless, engine: &EngineOptions, trials: &[Trial]) -> Option<String> {
    let mut kernels = TriangleRounds::new(gpu.device(), engine);
    trials.iter().enumerate().find_map(|(index, trial)| {
        let found = on_gpu(gpu, &mut kernels, &trial.before, trial.iterations);
        let difference = first_difference(&found, &trial.after)?;
        Some(format!("trial {index}: {difference}"))
    })
}

/// Whether all pairs are as far apart as in the mirror, within what the oracle allows each.
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
fn degenerate_pairs_are_those_of_the_mirror() {
    let trials: Vec<Trial> = (0..4).map(|seed| degenerate_trial(seed, 3000)).collect();
    let in_reach: usize = trials.iter().map(|trial| trial.after.pairs.len()).sum();
    assert!(in_reach > 11_000, "only {in_reach} pairs have a corner that can move");
    for (gpu, engine, rounding) in devices() {
        match rounding {
            Rounding::AsMirror => assert_eq!(first_failure(&gpu, &engine, &trials), None),
            Rounding::MayFuse => {
                let mut kernels = TriangleRounds::new(gpu.device(), &engine);
                for trial in &trials {
                    let found = on_gpu(&gpu, &mut kernels, &trial.before, trial.iterations);
                    assert_near(&found, trial);
                }
            }
        }
    }
}

#[test]
fn rounds_are_those_of_the_mirror_pass_by_pass() {
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
            // Rounding may choose other pairs, but what crosses nothing in the mirror crosses nothing.
            Rounding::MayFuse => {
                let mut kernels = TriangleRounds::new(gpu.device(), &engine);
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

/// The first slice of which these kernels leave something else than the mirror, and what.
fn first_slice_failure(gpu: &Headless, engine: &EngineOptions, slices: &[Slice]) -> Option<String> {
    let mut kernels = TriangleRounds::new(gpu.device(), engine);
    slices.iter().enumerate().find_map(|(index, slice)| {
        let (found, progress) = slice_on_gpu(gpu, &mut kernels, slice, CAPACITY);
        assert_eq!(progress.lack, None);
        let difference = slice_difference(&found, &slice.after)?;
        Some(format!("slice {index}: {difference}"))
    })
}

/// Candidates that a random slice has room for.
const CAPACITY: usize = 20_000;

#[test]
fn slices_are_those_of_the_mirror_from_the_search_to_the_carry() {
    let slices: Vec<Slice> = (0..18).flat_map(random_slices).collect();
    let rounds: Vec<u32> = slices.iter().map(|slice| slice.after.rounds).collect();
    let several = rounds.iter().filter(|&&rounds| rounds > 2).count();
    assert!(several > 10, "{rounds:?}");
    let contacts = slices.iter().filter(|slice| slice.after.contacts > 0).count();
    assert!(contacts > 15, "only {contacts} slices have contacts");
    for (gpu, engine, rounding) in devices() {
        match rounding {
            Rounding::AsMirror => assert_eq!(first_slice_failure(&gpu, &engine, &slices), None),
            // What crosses nothing goes on to do so, unless pins or colliders force it.
            Rounding::MayFuse => {
                let mut kernels = TriangleRounds::new(gpu.device(), &engine);
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
fn a_search_that_finds_more_than_there_is_room_for_moves_nothing_and_says_how_much() {
    let engine = EngineOptions::default();
    let Some(gpu) = headless(engine.clone()) else { return };
    let mut kernels = TriangleRounds::new(gpu.device(), &engine);
    let all: Vec<Slice> = (0..48).flat_map(random_slices).collect();
    // Of several rounds the last finds what is left in `candidates`.
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

/// A buffer with these contents.
fn buffer<T: NoUninit>(gpu: &Headless, contents: &[T]) -> wgpu::Buffer {
    let usage =
        wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    let size = size_of_val(contents).max(4) as u64;
    let descriptor = wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
    let buffer = gpu.device().create_buffer(&descriptor);
    gpu.queue().write_buffer(&buffer, 0, cast_slice(contents));
    buffer
}

/// Particles of the cloths of a scene in local spaces of their own, some of them asleep or frozen.
struct Particles {
    cloths: Vec<ContactCloth>,
    current: Vec<[f32; 4]>,
    previous: Vec<[f32; 4]>,
    reports: Vec<Feedback>,
}

impl Particles {
    fn random(rng: &mut Rng, contact: &TriangleContact) -> Self {
        let mut particles =
            Self { cloths: vec![], current: vec![], previous: vec![], reports: vec![] };
        let is_cloth = |body: &&Body| matches!(body.role, Role::Cloth { .. });
        for body in contact.bodies.iter().filter(is_cloth) {
            let spin = Mat3::from_quat(rotation(rng));
            let row = |v: Vec3| [v.x, v.y, v.z, 0.0];
            let mut cloth = ContactCloth::zeroed();
            [cloth.axis_x, cloth.axis_y, cloth.axis_z] =
                spin.to_cols_array_2d().map(|axis| row(axis.into()));
            cloth.origin = row(point(rng, 1.0));
            // Particles of nobody in between.
            cloth.particle_begin = particles.current.len() as u32 + 3;
            cloth.particle_count = body.rows.len() as u32;
            cloth.row_begin = body.rows.start as u32;
            cloth.cloth = particles.cloths.len() as u32;
            let mut random =
                |w: f32| [rng.range(-1.0, 1.0), rng.range(-1.0, 1.0), rng.range(-1.0, 1.0), w];
            for k in 0..body.rows.len() + 3 {
                particles.current.push(random([0.0, 50.0, 100.0][k % 3]));
                particles.previous.push(random(100.0));
            }
            let mut report = Feedback::zeroed();
            report.is_asleep = u32::from(rng.index(6) == 0);
            report.fault_count = 2 * u32::from(rng.index(6) == 0);
            particles.reports.push(report);
            particles.cloths.push(cloth);
        }
        particles
    }

    /// The cloths as the mirror has them.
    fn members(&mut self) -> Vec<ContactBody<'_>> {
        let (mut current, mut previous) = (&mut self.current[..], &mut self.previous[..]);
        let cloths = self.cloths.iter().zip(&mut self.reports);
        let member = |(cloth, feedback): (&ContactCloth, _)| {
            let count = cloth.particle_count as usize;
            let own = [&mut current, &mut previous].map(|rows| particles_of(rows, count));
            let [current, previous] = own;
            ContactBody { current, previous, feedback }
        };
        cloths.map(member).collect()
    }
}

/// Takes the particles of a cloth from the front of those of all.
fn particles_of<'a>(rows: &mut &'a mut [[f32; 4]], count: usize) -> &'a mut [[f32; 4]] {
    &mut rows.split_off_mut(..count + 3).unwrap()[3..]
}

/// What these kernels make of particles, or of what particles become, that differs from the mirror.
fn first_particle_failure(gpu: &Headless, engine: &EngineOptions) -> Option<String> {
    let (device, queue) = (gpu.device(), gpu.queue());
    let mut kernels = TriangleRounds::new(device, engine);
    (0..30).find_map(|seed| {
        let mut rng = Rng::new(20_000 + seed);
        let (mut contact, thickness) = random_scene(&mut rng);
        let mut particles = Particles::random(&mut rng, &contact);
        let ends: Vec<Vec3> = contact.start.iter().map(|at| *at + point(&mut rng, 0.1)).collect();
        let fraction = [rng.range(0.0, 1.0), 1.0][rng.index(2)];
        contact.set_frame(&ends);
        let buffers = [
            buffer(gpu, &particles.cloths),
            buffer(gpu, &particles.current),
            buffer(gpu, &particles.previous),
            buffer(gpu, &particles.reports),
        ];
        let mut run = |before: &TriangleRound, bodies: &TriangleBodies, is_apply: bool| {
            kernels.upload(device, queue, before, bodies, 0, 1).unwrap();
            let mut encoder =
                device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            if is_apply {
                kernels.encode_apply(device, &mut encoder, buffers.each_ref());
            } else {
                kernels.encode_targets(device, &mut encoder, buffers.each_ref());
            }
            queue.submit([encoder.finish()]);
            kernels.read(device, queue, before).unwrap()
        };

        let bodies = contact.packed_bodies();
        let before = TriangleRound { fraction, ..contact.packed(thickness) };
        let found = run(&before, &bodies, false);
        let cloths = particles.cloths.clone();
        contact.set_targets(&cloths, &particles.members(), fraction);
        let after = contact.packed(thickness);
        let targets = differ("target", &found.moves, &after.moves);
        let targets = targets.or_else(|| differ("target: row", &found.rows, &after.rows));

        contact.start.iter_mut().for_each(|at| *at += point(&mut rng, 0.01));
        contact.carry.iter_mut().for_each(|carry| *carry = point(&mut rng, 0.01));
        run(&contact.packed(thickness), &bodies, true);
        contact.write_particles(&cloths, &mut particles.members());
        let read = |index: usize| gpu.read_buffer(&buffers[index]).unwrap();
        let [current, previous] =
            [1, 2].map(|index| pod_collect_to_vec::<u8, [f32; 4]>(&read(index)));
        let applied = differ("apply: current", &current, &particles.current);
        let applied = applied.or_else(|| differ("apply: previous", &previous, &particles.previous));
        targets.or(applied).map(|difference| format!("seed {seed}: {difference}"))
    })
}

#[test]
fn particles_become_targets_and_move_as_in_the_mirror() {
    let engine = EngineOptions::default();
    let Some(gpu) = headless(engine.clone()) else { return };
    assert_eq!(first_particle_failure(&gpu, &engine), None);
}

/// Devices with how they round.
fn devices() -> impl Iterator<Item = (Headless, EngineOptions, Rounding)> {
    let all = roundings(&EngineOptions::default()).into_iter();
    all.filter_map(|(engine, rounding)| Some((headless(engine.clone())?, engine, rounding)))
}

#[test]
fn a_fault_in_any_pass_is_seen_and_the_first_pass_that_shows_it_named() {
    let faults = [
        (Kernel::TriangleBoundMoves, "starts[k] - around", "starts[k] + around", "step"),
        (Kernel::TriangleBoundMoves, "step, may_hold(i)", "step, true", "step"),
        (Kernel::TriangleFlagPairs, "|| may_push || may_cross", "|| may_push", "reach"),
        (Kernel::TriangleBuildPairs, "on_border(p, a, b, c);", "on_border(p, b, a, c);", "narrow"),
        (
            Kernel::TriangleBuildPairs,
            "height) > TRIANGLE_BEYOND",
            "height) < TRIANGLE_BEYOND",
            "scatter",
        ),
        (Kernel::TriangleBuildPairs, "held.w > 0.0) {", "held.w < 0.0) {", "push"),
        (Kernel::TriangleScatterIncidence, "sum += weights[k] *", "sum +=", "scatter"),
        (Kernel::TriangleSortIncidence, "before < corner", "before > corner", "tie"),
        (Kernel::TriangleSolvePairs, "+ triangle_pairs[i].closing)", ")", "push"),
        (Kernel::TriangleGatherCorrections, "sum * triangle_rows[i].inverse_mass", "sum", "push"),
        (
            Kernel::TriangleIteratePinned,
            "along < -TRIANGLE_APPROACH",
            "along > -TRIANGLE_APPROACH",
            "push",
        ),
        (Kernel::TriangleReduceOverlaps, "TRIANGLE_RECOVERY *", "TRIANGLE_APPROACH *", "recover"),
        (Kernel::TriangleTruncateMoves, "TRIANGLE_APPROACH * gap", "gap", "cut"),
        (
            Kernel::TriangleTruncateMoves,
            "select(coming, max(coming, 0.0), may_hold(row))",
            "coming",
            "cut",
        ),
        (Kernel::TriangleMarkLimitingPairs, "atomicMin", "atomicMax", "block"),
        (Kernel::TriangleCheckTruncation, "triangle.reserve / off", "0.5", "move"),
        (Kernel::TriangleCheckTruncation, "hold_word(i)], 1u", "hold_word(i)], 0u", "hold"),
        (Kernel::TriangleMoveRows, "* fraction", "", "move"),
        (Kernel::TriangleCountForced, "first - second <=", "first - second >", "report"),
    ];
    let slice_faults = [
        (Kernel::TriangleClearState, "0xff800000u", "0x80000000u", "report"),
        (Kernel::TriangleBoundBodies, "store_row(TRIANGLE_BEGUN, i, start)", "", ""),
        (Kernel::TriangleBeginRound, "u32(made == 1.0)", "1u", ""),
        (Kernel::TriangleBeginRound, "2u * (round + 1u) >= triangle.max_rounds", "true", ""),
        (Kernel::TriangleBeginRound, "TRIANGLE_GAIN * before", "before", ""),
        (Kernel::TrianglePlanMoves, "(goal - start) / count", "(goal - start)", ""),
        (Kernel::TriangleLimitFraction, "room / forced", "1.0", "report"),
        (Kernel::TriangleIteratePinned, "TRIANGLE_REACH *", "0.5 *", "report"),
        (Kernel::TriangleIteratePinned, "min(part, TRIANGLE_PRESSED_PART)", "part", ""),
        (Kernel::TriangleRefitTrees, "path = join(path, child);", "path = child;", ""),
        (Kernel::TriangleCountCandidates, "count = visit_query(query, 0u, false);", "", ""),
        (Kernel::TriangleListCandidates, "child_count - 1u - k", "k", "candidates"),
        (Kernel::TriangleRestoreVelocities, "lost - block", "lost + block", "carry"),
    ];
    let particle_faults = [
        (
            Kernel::TriangleSetTargets,
            "inverse_mass = particle.w;",
            "inverse_mass = 0.0;",
            "target: row",
        ),
        (
            Kernel::TriangleSetTargets,
            "(goal - start) * triangle.fraction",
            "goal - start",
            "target",
        ),
        (Kernel::TriangleWriteParticles, "previous.xyz + carry", "previous.xyz", "apply: previous"),
    ];
    let Some(gpu) = headless(EngineOptions::default()) else { return };
    let mut unseen = Vec::new();
    let trials: Vec<Trial> = (0..12).flat_map(random_trials).collect();
    let slices: Vec<Slice> = (0..12).flat_map(random_slices).collect();
    let slices: Vec<Slice> = slices.into_iter().filter(|slice| slice.after.rounds < 12).collect();
    let with = |(kernel, right, wrong, _): Fault| {
        let text = compose(&kernel.path()).unwrap().text;
        assert!(text.contains(right), "{kernel:?} has no `{right}`");
        let shader_texts = [(kernel, text.replace(right, wrong))].into();
        EngineOptions { shader_texts, ..EngineOptions::default() }
    };
    let found = faults.map(|fault| (fault, first_failure(&gpu, &with(fault), &trials)));
    let found_in_slices =
        slice_faults.map(|fault| (fault, first_slice_failure(&gpu, &with(fault), &slices)));
    let found_in_particles =
        particle_faults.map(|fault| (fault, first_particle_failure(&gpu, &with(fault))));
    let found = found.into_iter().chain(found_in_slices).chain(found_in_particles);
    for ((kernel, _, wrong, pass), failure) in found {
        let is_named = failure.as_ref().is_some_and(|found| found.contains(&format!(": {pass}")));
        if !is_named {
            unseen.push(format!("`{wrong}` in {kernel:?}: {failure:?}"));
        }
    }
    assert_eq!(unseen, Vec::<String>::new());
}

/// A kernel, what is right in its text, what is wrong, and what that shows in.
type Fault = (Kernel, &'static str, &'static str, &'static str);
