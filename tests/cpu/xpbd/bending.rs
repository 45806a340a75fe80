//! Cantilevers against the elastica, and strips and sheets on end against the buckling load.

use std::sync::Arc;

use poplin::model::{ClothConfig, ClothDesc, Xpbd};
use poplin_testkit::beams::{
    Cells, G, GREENHILL, SIGMA, bowed, damping, edge_on_end, sheet_on_end, strip_on_end,
};
use poplin_testkit::nth_cloth;

use super::{CANTILEVERS, cantilever, run};

/// Segments, substeps of a frame of 1/60 s, and the allowed error, of second order in the segments.
const CANTILEVER_MESHES: [(u32, u32, f64); 3] = [(5, 10, 0.025), (10, 20, 0.008), (20, 40, 0.008)];

pub(super) fn cantilever_rows() -> Vec<(f64, u32, u32, f64, f64)> {
    let rows = CANTILEVERS.iter().flat_map(|&(load, expected)| {
        CANTILEVER_MESHES.map(|(segments, substeps, _)| {
            // The longest step of bends is shorter at the lightest load, that of the stiffest
            // strip.
            let substeps = if load < 2.0 && segments == 20 { 46 } else { substeps };
            (load, segments, substeps, expected, cantilever(segments, load, substeps))
        })
    });
    // Bends this close need many steps (see `stage/bend.wgsl`), in which gravity adds less than the
    // spacing of positions: remainders of displacements keep it.
    let fine = CANTILEVERS[1..].iter().zip([160, 100, 80]);
    rows.chain(fine.map(|(&(load, expected), substeps)| {
        (load, 40, substeps, expected, cantilever(40, load, substeps))
    }))
    .collect()
}

#[test]
fn a_heavy_cantilever_is_the_elastica() {
    let rows = cantilever_rows();
    let error =
        |&(.., expected, drop): &(f64, u32, u32, f64, f64)| (drop / expected - 1.0f64).abs();
    // The hinge at the clamp has the moment of the clamp over half an edge. That moment changes by
    // w L per length, which adds (edge/L)^2 of the drop.
    let at_clamp = |segments: u32| 1.0 + f64::from(segments).powi(-2);
    for row in &rows {
        eprintln!(
            "G = {}, {} segments x {}: {:.5} of {}, {:+.4}",
            row.0,
            row.1,
            row.2,
            row.4,
            row.3,
            row.4 / row.3 - 1.0
        );
        let mesh = CANTILEVER_MESHES.iter().find(|mesh| mesh.0 == row.1);
        let allowed = mesh.map_or(0.01, |mesh| mesh.2);
        assert!((row.4 / row.3 - at_clamp(row.1)).abs() < allowed, "{row:?}");
    }
    for mesh in rows[..12].chunks(3) {
        assert!(
            error(&mesh[0]) > 2.5 * error(&mesh[1]),
            "the mesh error is of second order: {mesh:?}"
        );
    }
}

#[test]
fn drop_does_not_depend_on_the_number_of_steps() {
    for substeps in [40, 80, 160] {
        let (load, expected) = CANTILEVERS[1];
        let drop = cantilever(20, load, substeps);
        eprintln!("{substeps} substeps: {:+.4}", drop / expected - 1.0);
        assert!((drop / expected - 1.0).abs() < 0.01, "{substeps} substeps: {drop}");
    }
}

/// Deviation of the top of a cloth on end after 8 s, relative to the start, with a load `w L^3 / B`
/// and steps of `step` times `a^2 sqrt(sigma / B)`.
fn bow(mut cloth: ClothDesc, segments: u32, load: f64, step: f64) -> f64 {
    let (edge, rigidity) = (edge_on_end(segments), SIGMA * G / load);
    Arc::make_mut(&mut cloth.fabric).bends.iter_mut().for_each(|bend| bend.rest_angle = 0.0);
    // The longest stable step of bends is proportional to a^2 sqrt(sigma / B).
    let longest = step * edge * edge * (SIGMA / rigidity).sqrt();
    let substeps = (1.0 / 60.0 / longest).ceil() as u32;
    let bending_rigidity = rigidity as f32;
    cloth.config = ClothConfig {
        solver: Xpbd { substeps, bending_rigidity, ..Xpbd::default() }.into(),
        damping: damping(1.0),
        ..ClothConfig::default()
    };
    let state = run(cloth, 1.0 / 60.0, 8.0);
    let top = f64::from(state.current(nth_cloth(0)).last().unwrap().position[0]);
    (top / bowed(1.0 + edge, edge)).abs()
}

#[test]
fn a_strip_on_end_buckles_under_the_load_of_theory() {
    for (segments, steps) in [(10, vec![0.5, 0.25]), (20, vec![0.5, 0.25]), (40, vec![0.5])] {
        for step in steps {
            let [holds, falls] = [0.95, 1.05]
                .map(|part| bow(strip_on_end(segments), segments, part * GREENHILL, step));
            eprintln!("{segments} segments, step {step}: {holds:.3} at 0.95, {falls:.1} at 1.05");
            assert!(holds < 0.5 && falls > 5.0, "{segments}, {step}: {holds}, {falls}");
        }
    }
    // Control: twice the step that holds a strip.
    assert!(bow(strip_on_end(20), 20, 0.7 * GREENHILL, 1.0) > 5.0);
}

#[test]
fn a_sheet_on_end_buckles_under_the_load_of_theory() {
    for segments in [10, 20] {
        for step in [0.5, 0.25] {
            let [holds, falls] = [0.95, 1.05].map(|part| {
                bow(sheet_on_end(Cells::Quads, 8, segments), segments, part * GREENHILL, step)
            });
            eprintln!("{segments} segments, step {step}: {holds:.3} at 0.95, {falls:.1} at 1.05");
            assert!(holds < 0.5 && falls > 5.0, "{segments}, {step}: {holds}, {falls}");
        }
    }
    // Control: twice the step that holds a sheet.
    assert!(bow(sheet_on_end(Cells::Quads, 8, 20), 20, 0.7 * GREENHILL, 1.0) > 5.0);
}
