//! Contact of triangles: a sheet that falls over a ball and a box.

use poplin::cook::{CookOptions, cook};
use poplin::model::{
    ClothContactSolver, ContactMode, Mesh, Parallelepiped, Pose, Shape, Solver, Sphere,
};
use poplin::{Error, Simulation};

use super::{Finding, Patient, Verdict, milliseconds};
use crate::bench::median_time;
use crate::depth::DepthField;
use crate::tangle::TangleField;

/// Particles along each side.
const SIDE: u32 = 24;

/// Frames.
const FRAMES: u32 = 30;

/// Particles along each side on a software adapter.
const SHORT_SIDE: u32 = 12;

/// Thickness of the sheet \[m\].
const THICKNESS: f32 = 0.006;

/// Time of a frame above which a device is slow \[ms\].
const SLOW: f64 = 30.0;

/// Depth of a particle that contact has let in \[m\].
const DEEP: f64 = 1e-4;

/// Drops a sheet on shapes, and counts crossings.
pub(super) fn triangles(patient: &Patient) -> Result<Finding, String> {
    drop_sheet(patient).map_err(|error| error.to_string())
}

fn drop_sheet(patient: &Patient) -> Result<Finding, Error> {
    let side = if patient.is_short { SHORT_SIDE } else { SIDE };
    let mut mesh = Mesh::grid(side, side, 0.5, 0.5);
    for [x, _, z] in &mut mesh.positions {
        (*x, *z) = (*x - 0.25, *z - 0.25);
    }
    mesh.positions.iter_mut().for_each(|position| position[1] = 0.03);
    let options = CookOptions { density: 0.2, ..CookOptions::default() };
    let mut cloth = cook(&mesh, &options).expect("a grid cooks").into_cloth();
    cloth.config.gravity = [0.0, -9.81, 0.0];
    cloth.config.thickness = THICKNESS;
    cloth.config.solver = Solver::xpbd(4);
    let ball: Shape = Sphere { center: [-0.12, -0.1, 0.0], radius: 0.1 }.into();
    let mut block = Parallelepiped::cuboid([0.08, 0.05, 0.1]);
    for (corner, center) in block.corner.iter_mut().zip([0.12, -0.07, 0.02]) {
        *corner += center;
    }
    let shapes = [ball, block.into()];
    let mut simulation = Simulation::new(patient.options.clone())?;
    simulation.set_cloth_contact_solver(ClothContactSolver {
        contact: ContactMode::Triangles,
        ..ClothContactSolver::default()
    })?;
    for shape in &shapes {
        simulation.colliders_mut().add(shape.clone())?;
    }
    let id = simulation.add(cloth.clone())?;
    let step = || simulation.step(1.0 / 60.0).and_then(|()| simulation.wait());
    let time = milliseconds(median_time(FRAMES, step)?);
    let state = simulation.state()?;
    let particles = state.current(id);
    let mut field = TangleField::default();
    field.add(&cloth, THICKNESS, Pose::default(), particles);
    let crossings = field.measure().map_or(0, |it| it.crossings);
    let depth = DepthField::new(&shapes).measure(Pose::default(), particles).deepest_m;
    let is_finite = particles.iter().flat_map(|it| it.position).all(f32::is_finite);
    let wrong = (crossings > 0 || depth > DEEP || !is_finite).then(|| {
        format!("a sheet on a ball and a box has {crossings} crossings and is {depth:.1e} m deep in them")
    });
    let text = format!(
        "a sheet of {side} x {side} on a ball and a box crosses nothing, {time:.1} ms a frame"
    );
    let mut finding = Finding::judged("triangles", wrong, text)
        .with("crossings", crossings as f64)
        .with("deepest_m", depth)
        .with("frame_ms", time);
    if finding.verdict == Verdict::Ok && time > SLOW {
        finding.verdict = Verdict::Slow;
        finding = finding.advise("simulate contact of triangles with --backend cpu");
    }
    Ok(finding)
}
