//! Order in which lanes arrive at the lists of corners: it shows in no result, and thousands of
//! corners at a row stay cheap.

use glam::Vec3;
use poplin_cpu::triangle_contact::{Candidate, Kind, TriangleContact};
use poplin_geometry::Rng;
use poplin_gpu::{EngineOptions, TriangleRounds};
use poplin_layout::{NO_OFFSET, TriangleRound};
use poplin_shaders::{Kernel, compose};
use poplin_testkit::adapter::headless_as_mirror;

use super::rounds::{Trial, first_failure, on_gpu, random_trials};

/// Number of vertices of a collider within reach of one triangle of cloth.
const CROWD: usize = 3000;

/// Returns a round in which `CROWD` immovable vertices touch the same movable triangle.
fn crowded_trial() -> Trial {
    let mut rng = Rng::new(7);
    let mut contact = TriangleContact::default();
    contact.start = vec![Vec3::ZERO, Vec3::X, Vec3::Y];
    let weight = |rng: &mut Rng| rng.range(0.1, 0.4);
    contact.start.extend((0..CROWD).map(|_| {
        let (x, y) = (weight(&mut rng), weight(&mut rng));
        Vec3::new(x, y, rng.range(1e-4, 9e-4))
    }));
    let count = contact.start.len();
    contact.rest.clone_from(&contact.start);
    contact.candidates = (3..count as u32)
        .map(|row| Candidate {
            rows: [row, 0, 1, 2],
            kind: Kind::VertexFace,
            owned: 63,
            beyond: [NO_OFFSET; 3],
            friction: 0.5,
            rest: f32::INFINITY,
            is_own: false,
            rank: [0, 0, row, 0],
        })
        .collect();
    contact.inverse_mass = (0..count).map(|row| if row < 3 { 1000.0 } else { 0.0 }).collect();
    contact.radius = vec![5e-4; count];
    contact.hard = vec![0.0; count];
    contact.carry = vec![Vec3::ZERO; count];
    contact.set_spins(&vec![Vec3::ZERO; count], 1.0);
    let moves: Vec<Vec3> = (0..count).map(|_| Vec3::new(0.0, 0.0, -1e-5)).collect();
    Trial::new(&mut rng, &mut contact, &moves, 1e-3, 1.0, 2)
}

/// Returns the text of a kernel with `wrong` in place of `right`.
fn replaced(kernel: Kernel, right: &str, wrong: &str) -> (Kernel, String) {
    let text = compose(&kernel.path()).unwrap().text;
    assert!(text.contains(right), "{kernel:?} has no `{right}`");
    (kernel, text.replace(right, wrong))
}

/// Returns options with kernels that build pairs in the order of `index`, an expression of WGSL of
/// the index `i` of `count` candidates.
fn in_order(index: &str) -> EngineOptions {
    let call = format!("build_pair({index});");
    let shader_texts = [replaced(Kernel::TriangleBuildPairs, "build_pair(i);", &call)].into();
    EngineOptions { shader_texts, ..EngineOptions::default() }
}

/// Orders of arrival: reversed, and mixed by a prime factor that divides no count of candidates
/// here.
const ORDERS: [&str; 2] = ["count - 1u - i", "(7919u * i) % count"];

/// Returns the largest number of corners at a row, and the number of corners at immovable rows.
fn corners(round: &TriangleRound) -> [u32; 2] {
    let counts = || round.rows.iter().zip(round.begins.windows(2).map(|ends| ends[1] - ends[0]));
    let immovable = counts().filter(|(row, _)| row.inverse_mass == 0.0);
    [counts().map(|(_, count)| count).max().unwrap_or(0), immovable.map(|(_, count)| count).sum()]
}

#[test]
fn the_order_of_arrival_shows_in_no_result() {
    let trials: Vec<Trial> = (0..12).flat_map(random_trials).chain([crowded_trial()]).collect();
    let most = trials.iter().map(|trial| corners(&trial.after));
    assert_eq!(most.clone().map(|it| it[0]).max(), Some(CROWD as u32));
    assert!(most.map(|it| it[1]).all(|count| count == 0), "sums are kept for immovable rows");
    for order in ORDERS {
        let options = in_order(order);
        let Some(gpu) = headless_as_mirror(options.clone()) else { return };
        assert_eq!(first_failure(&gpu, &options, &trials), None, "{order}");
    }
}

#[test]
fn a_lane_that_sorts_takes_one_step_for_each_corner_of_its_row() {
    let trial = crowded_trial();
    let mut options = in_order(ORDERS[1]);
    // Counts the steps beside the contacts of the round.
    let step = "place += u32(";
    let counted = format!("atomicAdd(&triangle_lists.round.contact_count, 1u); {step}");
    options.shader_texts.extend([replaced(Kernel::TriangleSortIncidence, step, &counted)]);
    let Some(gpu) = headless_as_mirror(options.clone()) else { return };
    let mut kernels = TriangleRounds::new(gpu.device(), &options).unwrap();
    let round = on_gpu(&gpu, &mut kernels, &trial.before, trial.iterations);
    let steps = (round.contacts - trial.after.contacts) as usize;
    assert_eq!(steps, trial.after.corners.len() * CROWD);
}
