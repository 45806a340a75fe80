//! Strips and sheets stretched by their weight: length by stiffness, independent of step and mesh.

use poplin::cook::{CookOptions, Tethers, cook};
use poplin::model::{ClothConfig, FiberSolver, Material, Mesh, Solver};
use poplin_testkit::beams::{damping, strip};
use poplin_testkit::nth_cloth;

use super::{STRAIN, elongation, run};

#[test]
fn a_hanging_strip_has_the_length_of_its_stiffness() {
    let expected = STRAIN / 2.0;
    let mut found = Vec::new();
    for (segments, frame_rate, substeps) in [
        (32, 60.0, 5),
        (32, 60.0, 10),
        (32, 60.0, 20),
        (32, 60.0, 40),
        (32, 30.0, 10),
        (32, 120.0, 10),
        (32, 240.0, 10),
        (16, 60.0, 10),
        (64, 60.0, 10),
    ] {
        let elongation = elongation(segments, 1.0 / frame_rate, substeps);
        eprintln!(
            "{segments} segments, {frame_rate} Hz x {substeps}: {elongation:.6} of {expected}"
        );
        found.push(elongation);
    }
    assert!(found.iter().all(|elongation| (elongation / expected - 1.0).abs() < 0.02), "{found:?}");
    assert!(found.iter().all(|elongation| (elongation / found[1] - 1.0).abs() < 0.01), "{found:?}");
}

/// Strain of a square sheet of 0.2 m that hangs by its upper edge and weighs `load` times what its
/// material does, and the strain `density * load * length / (2 K)` of a membrane of stiffness K.
fn hung_strain(material: &Material, side: u32, load: f64) -> [f64; 2] {
    let length = 0.2;
    let options = CookOptions {
        density: material.density,
        pins: (0..side).collect(),
        bending: false,
        bends: true,
        tethers: Tethers::None,
        max_fiber_length: Some(1024),
        gravity: [0.0, 0.0, 1.0],
        ..CookOptions::default()
    };
    let mut cloth =
        cook(&Mesh::grid(side, side, length as f32, length as f32), &options).unwrap().into_cloth();
    material.apply(&mut cloth.config);
    cloth.set_membrane(material);
    cloth.config.thickness = 0.0;
    // Grids are in the plane of x and z.
    cloth.config.gravity = [0.0, 0.0, load as f32];
    cloth.config.damping = damping(60.0);
    let state = run(cloth, 1.0 / 60.0, 1.0);
    let lowest: Vec<_> = state.current(nth_cloth(0))[(side * (side - 1)) as usize..]
        .iter()
        .map(|it| f64::from(it.position[2]))
        .collect();
    let mean = lowest.iter().sum::<f64>() / lowest.len() as f64;
    let expected =
        f64::from(material.density) * load * length / (2.0 * f64::from(material.stretch[0]));
    [mean / length - 1.0, expected]
}

#[test]
fn a_sheet_stretches_by_its_material_on_any_mesh() {
    // Leather resists shear as much as stretch, so that the upper edge, which cannot narrow, makes
    // it stiffer.
    let [cotton, silk, leather] = [Material::COTTON, Material::SILK, Material::LEATHER];
    for (material, load, allowed) in
        [(cotton, 4000.0, 0.01), (silk, 4000.0, 0.01), (leather, 2400.0, 0.06)]
    {
        // A hundredth of stiffness and load for the same strain: otherwise the sheet falls too fast
        // for the steps.
        let stretch = material.stretch.map(|stiffness| stiffness / 100.0);
        let soft = Material { stretch, shear: material.shear / 100.0, ..material };
        for side in [6, 11, 21] {
            let [strain, expected] = hung_strain(&soft, side, load / 100.0);
            assert!(
                (strain / expected - 1.0).abs() < allowed,
                "{} {side}: {strain}, {expected}",
                material.name
            );
        }
    }
}

#[test]
fn iterations_stretch_a_strip_with_gauss_seidel_not_with_xpbd() {
    let pbd = [300.0, 600.0, 1200.0].map(|frequency| {
        let mut cloth = strip(32, 1.0 / 32.0, |along, side| [side, -along, 0.0], 1);
        let solver = Solver::pbd(frequency);
        cloth.config = ClothConfig { solver, damping: damping(8.0), ..ClothConfig::default() };
        cloth.config.solver.set_fiber_solver(Some(FiberSolver::GaussSeidel));
        -f64::from(run(cloth, 1.0 / 60.0, 3.0).current(nth_cloth(0)).last().unwrap().position[1])
            - 1.0
    });
    let xpbd = [5, 10, 20].map(|substeps| elongation(32, 1.0 / 60.0, substeps));
    eprintln!("stretch at 5, 10, 20 iterations a frame: PBD {pbd:.5?}, XPBD {xpbd:.5?}");
    assert!(pbd[0] > 2.0 * pbd[2], "{pbd:?}");
    assert!((xpbd[0] / xpbd[2] - 1.0).abs() < 0.01, "{xpbd:?}");
}
