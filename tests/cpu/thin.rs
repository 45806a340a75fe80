//! Thin plates stop cloth: boxes, convexes and meshes, at rest and moving, from scene files.

use poplin_testkit::beams::Cells;

use crate::friction::{IMPLICIT, PBD, XPBD, hexahedron, run_files};
use crate::yarns::obj;

/// Size of the cloth \[m\].
const SIZE: f64 = 0.4;

/// Returns an OBJ of a cloth of `rows x rows` cells around the origin, at a height.
fn cloth_of(cells: Cells, rows: u32, height: f64) -> String {
    let scale = SIZE / f64::from(rows);
    obj(&cells.mesh(rows, rows), |[x, _, z]| {
        [scale * x - 0.5 * SIZE, height, scale * z - 0.5 * SIZE]
    })
}

/// Plate of a thickness \[m\] with its middle in the plane y = 0, as the keys of a collider.
fn plate(kind: &str, thickness: f64) -> String {
    match kind {
        "box" => format!("box = {{ size = [1.2, {thickness}, 1.2] }}"),
        "cylinder" => format!("cylinder = {{ height = {thickness}, radius = 0.6 }}"),
        _ => String::from("mesh = \"slab.obj\""),
    }
}

/// Returns the lowest particle of a cloth after `frames` frames relative to the bottom of a plate
/// that ends at a height \[m\].
fn lowest(
    [kind, solver, lines]: [&str; 3],
    cells: (Cells, u32),
    thickness: f64,
    frame_rate: u32,
    frames: u32,
    end: f64,
) -> f64 {
    let text = format!(
        "frame_rate = {frame_rate}\n[[cloth]]\nmesh = \"cloth.obj\"\nfabric = {{ tethers = \"none\" }}\n\
         {lines}{solver}[[collider]]\n{}\n",
        plate(kind, thickness)
            + if end > 0.0 {
                "\nkeys = [{ time = 0 }, { time = 0.1, translation = [0, 1, 0] }]"
            } else {
                ""
            }
    );
    let height = if end > 0.0 { 0.4 } else { 0.3 };
    let files = [
        ("slab.obj", hexahedron(|[x, y, z]| [0.6 * x, 0.5 * thickness * y, 0.6 * z])),
        ("cloth.obj", cloth_of(cells.0, cells.1, height)),
    ];
    let name = format!("thin-{kind}-{thickness}-{frame_rate}-{}-{}-{end}", cells.1, solver.len());
    let files = files.each_ref().map(|(name, text)| (*name, text.as_str()));
    let paths = run_files(&name, &text, &files, frames);
    let heights = paths[frames as usize].iter().map(|position| position[1]);
    heights.fold(f64::INFINITY, f64::min) - (end - 0.5 * thickness)
}

/// Meshes of cloth.
const MESHES: [(Cells, u32); 4] =
    [(Cells::Quads, 8), (Cells::Quads, 16), (Cells::Irregular, 10), (Cells::OneWay, 12)];

#[test]
fn a_napkin_that_falls_on_a_thin_plate_stays_on_it() {
    let mut through = Vec::new();
    for kind in ["box", "cylinder", "mesh"] {
        for solver in [PBD, XPBD, IMPLICIT] {
            for (index, cells) in MESHES.into_iter().enumerate() {
                for thickness in [0.005, 0.001] {
                    let frame_rate = [60, 24][index % 2];
                    let frames = frame_rate;
                    let low = lowest([kind, solver, ""], cells, thickness, frame_rate, frames, 0.0);
                    if low < 0.9 * thickness {
                        through.push(format!("{kind} {solver} {cells:?} {thickness}: {low:.4} m"));
                    }
                }
            }
        }
    }
    assert!(through.is_empty(), "{}", through.join("\n"));
}

#[test]
fn a_plate_that_rises_at_10_m_s_lifts_a_napkin() {
    let mut through = Vec::new();
    for kind in ["box", "cylinder", "mesh"] {
        for solver in [PBD, XPBD, IMPLICIT] {
            for (cells, thickness) in MESHES.into_iter().zip([0.005, 0.002, 0.005, 0.002]) {
                let low = lowest([kind, solver, ""], cells, thickness, 60, 8, 1.0);
                if low < 0.5 * thickness {
                    through.push(format!("{kind} {solver} {cells:?} {thickness}: {low:.4} m"));
                }
            }
        }
    }
    assert!(through.is_empty(), "{}", through.join("\n"));
}

#[test]
fn without_continuous_collision_it_falls_through() {
    let off = "contact = { continuous = false }\n";
    for kind in ["box", "cylinder", "mesh"] {
        let low = lowest([kind, PBD, off], (Cells::Quads, 8), 0.001, 60, 60, 0.0);
        assert!(low < -0.5, "{kind}: {low}");
    }
}
