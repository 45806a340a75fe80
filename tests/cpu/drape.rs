//! Cusick's drape test of the materials, from the scene file of the example `drape`.

#[path = "../../crates/poplin-run/examples/drape/disc.rs"]
mod disc;
#[path = "../../crates/poplin-run/examples/drape/shadow.rs"]
mod shadow;
#[path = "../../crates/poplin-run/examples/drape/specimen.rs"]
mod specimen;

use std::sync::atomic::{AtomicU32, Ordering};

use disc::{Cells, Disc};
use poplin_testkit::Scratch;
use specimen::{Drape, drape};

/// Number of specimens, so that each has a folder of its own.
static SPECIMENS: AtomicU32 = AtomicU32::new(0);

/// The solver of scenes with a material and without further settings.
const XPBD: &str = "xpbd = {}";

const MULTILEVEL: &str = "multilevel = {}";

/// Drapes a disc of a material.
fn draped(material: &str, cells: Cells, count: usize, solver: &str) -> Drape {
    let scratch = Scratch::new(&format!("drape-{}", SPECIMENS.fetch_add(1, Ordering::Relaxed)));
    let named = format!("material = \"{material}\"");
    let folder = scratch.path("");
    let changes = [["material = \"cotton\"", &*named], [MULTILEVEL, solver]];
    let drape = drape(&Disc::new(cells, count), &folder, &changes);
    let drape = drape.unwrap_or_else(|error| panic!("{material}: {error}"));
    eprintln!("{material}, {cells:?}, {count} edges, {solver}: {drape:?}");
    assert!(drape.change < 0.005, "{material} is not at rest: {drape:?}");
    drape
}

/// Asserts that a material drapes within the published band \[%\], alike at two resolutions: with
/// multilevel on both kinds of meshes or, where triangles of 1 cm are too coarse, on quads.
#[track_caller]
fn assert_drapes(material: &str, [low, high]: [f64; 2], meshes: &[Cells]) {
    let multilevel = meshes.iter().map(|&cells| (cells, MULTILEVEL));
    for (cells, solver) in multilevel.chain([(Cells::Quads, XPBD)]) {
        let drapes = [15, 25].map(|count| draped(material, cells, count, solver));
        for drape in drapes {
            let percent = 100.0 * drape.coefficient;
            assert!((low..=high).contains(&percent), "{material}: {drape:?}");
            assert!((3..=12).contains(&drape.folds), "{material}: {drape:?}");
        }
        let ratio = drapes[0].coefficient / drapes[1].coefficient;
        let most = if solver == MULTILEVEL { 0.06 } else { 0.05 };
        assert!((ratio - 1.0).abs() < most, "{material}: {drapes:?}");
    }
}

#[test]
fn silk_drapes_like_silk() {
    assert_drapes("silk", [20.0, 40.0], &[Cells::Quads]);
}

#[test]
fn wool_drapes_like_wool() {
    assert_drapes("wool", [40.0, 70.0], &[Cells::Quads, Cells::Triangles]);
}

#[test]
fn cotton_drapes_like_cotton() {
    assert_drapes("cotton", [60.0, 76.0], &[Cells::Quads, Cells::Triangles]);
}

#[test]
fn denim_drapes_like_denim() {
    assert_drapes("denim", [70.0, 90.0], &[Cells::Quads, Cells::Triangles]);
}

#[test]
fn materials_drape_in_the_order_of_their_stiffness() {
    let order = ["silk", "wool", "cotton", "denim"];
    let drapes = order.map(|material| draped(material, Cells::Quads, 15, XPBD).coefficient);
    assert!(drapes.is_sorted_by(|a, b| a < b), "{order:?}: {drapes:?}");
}

/// The vertices that are clamped reach to 9.5 cm on quads of 1 cm and to 9.0 cm on triangles, so
/// that the free ring is narrower on quads: by 4 % to 18 % in stiffness, by mode.
#[test]
fn a_disc_drapes_alike_on_irregular_triangles() {
    let [quads, triangles] =
        [Cells::Quads, Cells::Triangles].map(|cells| draped("cotton", cells, 15, XPBD).coefficient);
    assert!((quads / triangles - 1.0).abs() < 0.08, "{quads}, {triangles}");
}

#[test]
fn a_flat_disc_covers_its_area() {
    for cells in [Cells::Quads, Cells::Triangles] {
        for count in [15, 25, 40] {
            let disc = Disc::new(cells, count);
            let shadow = shadow::Shadow::new(&disc, &disc.vertices);
            let ratio = shadow.area() / (std::f64::consts::PI * disc::RADIUS.powi(2));
            assert!((ratio - 1.0).abs() < 0.02, "{cells:?}, {count} edges: {ratio}");
            assert_eq!((shadow.coefficient(&disc), shadow.folds()), (1.0, 0));
            let edge = disc::RADIUS / count as f64;
            let is_clamped = |&[x, z]: &[f64; 2]| x.hypot(z) < disc::CLAMP + edge;
            assert!(disc.vertices[..disc.clamped].iter().all(is_clamped));
        }
    }
}

#[test]
fn folds_of_a_waved_outline_are_counted() {
    let disc = Disc::new(Cells::Triangles, 25);
    for folds in [0, 4, 7] {
        let waved = disc.vertices.iter().map(|&[x, z]| {
            let scale = 0.8 + 0.1 * (f64::from(folds) * z.atan2(x)).cos();
            [x * scale, z * scale]
        });
        let shadow = shadow::Shadow::new(&disc, &waved.collect::<Vec<_>>());
        assert_eq!(shadow.folds(), folds as usize);
    }
}
