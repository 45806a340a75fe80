//! Kernels of triangle contact against the mirror, pass by pass; bit-identical on software
//! adapters.

mod arrival;
mod faults;
mod particles;
mod rounds;
mod scene;
mod slices;

use bytemuck::{NoUninit, cast_slice};
use glam::Vec3;
use poplin_cpu::triangle_contact::{Body, TriangleContact};
use poplin_gpu::{EngineOptions, Headless};
use poplin_layout::{TRIANGLE_STARTS, TriangleRound};
use poplin_measure::entanglement::EntanglementCounter;
use poplin_testkit::adapter::{Rounding, headless, roundings};

/// Length of a solver iteration \[s\].
const STEP: f32 = 1.0 / 300.0;

/// Returns every device with its engine options and its rounding.
fn devices() -> impl Iterator<Item = (Headless, EngineOptions, Rounding)> {
    let all = roundings(&EngineOptions::default()).into_iter();
    all.filter_map(|(engine, rounding)| Some((headless(engine.clone())?, engine, rounding)))
}

/// Returns the first row whose bits differ between the GPU and the mirror.
fn differ<T: NoUninit + std::fmt::Debug>(what: &str, gpu: &[T], mirror: &[T]) -> Option<String> {
    if gpu.len() != mirror.len() {
        return Some(format!("{what}: {} on the GPU, {} in the mirror", gpu.len(), mirror.len()));
    }
    let bytes = |row: &T| cast_slice::<T, u8>(std::slice::from_ref(row)).to_vec();
    let same = |(gpu, mirror): (&T, &T)| bytes(gpu) == bytes(mirror);
    let index = gpu.iter().zip(mirror).position(|pair| !same(pair))?;
    Some(format!("{what} {index}: {:?} on the GPU, {:?} in the mirror", gpu[index], mirror[index]))
}

/// Returns the multipliers with a push; the mirror keeps only these.
fn pushing(round: &TriangleRound) -> Vec<poplin_layout::TriangleMultiplier> {
    round.held.iter().filter(|held| held.drag[3] > 0.0).copied().collect()
}

/// Returns the number of edges through triangles (exact).
fn crossings(round: &TriangleRound, faces: &[[u32; 3]]) -> usize {
    let rows: Vec<_> = starts(round).iter().map(|at| at.to_array()).collect();
    EntanglementCounter::new(&rows, faces, &[]).crossings(&rows)
}

/// Returns the corner rows of the faces of all bodies.
fn faces_of(contact: &TriangleContact) -> Vec<[u32; 3]> {
    let of_body = |body: &Body| {
        let begin = body.rows.start as u32;
        body.surface.faces.iter().map(move |face| face.map(|row| begin + row)).collect::<Vec<_>>()
    };
    contact.bodies.iter().flat_map(of_body).collect()
}

/// Returns the positions of all rows at the start of the round.
fn starts(round: &TriangleRound) -> Vec<Vec3> {
    let rows = &round.moves[TRIANGLE_STARTS as usize * round.rows.len()..][..round.rows.len()];
    rows.iter().map(|&[x, y, z, _]| Vec3::new(x, y, z)).collect()
}
