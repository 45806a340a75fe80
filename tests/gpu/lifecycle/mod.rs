//! Cloths that are added, copied, reset, replaced and removed, on both backends: the same bits as
//! in a new engine.

mod device;
mod memory;
mod reuse;
mod state;

use poplin::{ClothId, ClothState, Simulation, State};
use poplin_testkit::compare::same_bits;
use poplin_testkit::scenes::{equip, random_cloth};

fn run(simulation: &mut Simulation, frames: usize) {
    (0..frames).for_each(|_| simulation.step(1.0 / 60.0).unwrap());
}

/// Checks that a cloth has the same particles and counters, bit by bit, in both states;
/// `wake_count` only counts changes of inputs.
fn same_cloth(what: &str, (a, a_id): (&State, ClothId), (b, b_id): (&State, ClothId)) {
    let (a, b) = (a.cloth(a_id).unwrap(), b.cloth(b_id).unwrap());
    same_bits(&format!("{what}: current"), a.current, b.current).unwrap();
    same_bits(&format!("{what}: previous"), a.previous, b.previous).unwrap();
    same_counters(what, &a, &b);
    assert_eq!(a.body_impulses, b.body_impulses, "{what}");
}

fn same_counters(what: &str, a: &ClothState<'_>, b: &ClothState<'_>) {
    let counters = |state: &poplin::Feedback| poplin::Feedback { wake_count: 0, ..*state };
    assert_eq!(counters(a.feedback), counters(b.feedback), "{what}");
    assert_eq!(a.slept_frames, b.slept_frames, "{what}");
}

/// Adds a cloth with inputs of every kind, bodies included; all are of one family
/// ([`random_cloth`]) and share a kernel.
fn equipped(simulation: &mut Simulation, seed: u64) -> ClothId {
    let mut cloth = random_cloth(seed, 20 + 4 * (seed * 7 % 11) as u32);
    cloth.config.cloth_collision.distance = Some(0.0);
    let id = simulation.add(cloth).unwrap();
    equip(simulation.cloth_mut(id).unwrap(), seed);
    id
}
