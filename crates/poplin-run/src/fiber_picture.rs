//! Picture of `poplin cook`: fibers over the mesh, one colour per set.

use std::path::Path;
use std::sync::Arc;

use poplin_model::{Fabric, PhaseKind};
use poplin_picture::{ContactSheet, Line, PictureError, Surface, View, fitting_view, line_color};

use crate::job_cloth::JobCloth;
use crate::numbers::{counted, grouped};

/// Phase kinds in the order of the columns.
const KINDS: [PhaseKind; 4] =
    [PhaseKind::Vertical, PhaseKind::Horizontal, PhaseKind::Shearing, PhaseKind::Bending];

/// Side of a tile in pixels.
const TILE_SIZE: u32 = 760;

/// Colour of the cloth under the fibers.
const CLOTH: [u8; 3] = [224, 222, 218];

/// Draws the fibers of the first copy of every cloth at its start, one column per phase: upper row
/// from the front, lower row from the back.
///
/// # Errors
/// [`PictureError`] if the file cannot be written.
pub fn write_fiber_picture(path: &Path, job_cloths: &[JobCloth]) -> Result<(), PictureError> {
    let has = |kind: &PhaseKind| {
        job_cloths
            .iter()
            .any(|job_cloth| job_cloth.cloth.fabric.phases.iter().any(|phase| phase.kind == *kind))
    };
    let kinds: Vec<_> = KINDS.into_iter().filter(has).collect();
    let mut sheet = ContactSheet::new(kinds.len().max(1) as u32, 2, TILE_SIZE)?;
    let mut positions: Vec<Vec<[f32; 3]>> = job_cloths.iter().map(world_positions).collect();
    center(&mut positions);
    let triangles: Vec<Arc<[[u32; 3]]>> = job_cloths
        .iter()
        .map(|job_cloth| job_cloth.cloth.fabric.triangles.clone().into())
        .collect();
    let surfaces = |positions: &[Vec<[f32; 3]>]| -> Vec<Surface> {
        let parts = positions.iter().zip(&triangles);
        parts
            .map(|(positions, triangles)| Surface::new(positions.clone(), triangles.clone(), CLOTH))
            .collect()
    };
    // Flat cloth is seen from above, hanging cloth from the side.
    let flat = fitting_view(&[surfaces(&positions)]) == View::ABOVE;
    sheet = sheet.with_view(if flat {
        View { azimuth: 0.0, elevation: 50.0 }
    } else {
        View { azimuth: 12.0, elevation: 8.0 }
    });
    for side in [Side::Front, Side::Back] {
        let rotated: Vec<_> = positions.iter().map(|positions| side.rotated(positions)).collect();
        let surfaces = surfaces(&rotated);
        for &kind in &kinds {
            let parts = job_cloths.iter().zip(&rotated);
            let lines = parts.flat_map(|(job_cloth, positions)| {
                fiber_lines(&job_cloth.cloth.fabric, kind, positions)
            });
            sheet.add_with_lines(
                legend(job_cloths, kind, side),
                surfaces.clone(),
                lines.collect(),
            )?;
        }
    }
    sheet.write_png(path)
}

/// Side from which the cloth is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Front,
    Back,
}

impl Side {
    /// Rotates positions so that this side faces the front.
    fn rotated(self, positions: &[[f32; 3]]) -> Vec<[f32; 3]> {
        match self {
            Self::Front => positions.to_vec(),
            Self::Back => positions.iter().map(|&[x, y, z]| [-x, y, -z]).collect(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Front => "front",
            Self::Back => "back",
        }
    }
}

/// Returns the world positions of the particles of a cloth's first copy at the start \[m\].
fn world_positions(job_cloth: &JobCloth) -> Vec<[f32; 3]> {
    let pose = job_cloth.pose_at(0, 0.0);
    job_cloth.cloth.particles.iter().map(|particle| pose.apply(particle.position)).collect()
}

/// Centers the cloths on the vertical axis about which they are rotated.
fn center(positions: &mut [Vec<[f32; 3]>]) {
    for axis in [0, 2] {
        let values = || positions.iter().flatten().map(|position| position[axis]);
        let middle = 0.5
            * (values().fold(f32::INFINITY, f32::min) + values().fold(f32::NEG_INFINITY, f32::max));
        positions.iter_mut().flatten().for_each(|position| position[axis] -= middle);
    }
}

/// The fibers of a kind as lines in the colours of their sets.
fn fiber_lines(fabric: &Fabric, kind: PhaseKind, positions: &[[f32; 3]]) -> Vec<Line> {
    let phases = fabric.phases.iter().filter(|phase| phase.kind == kind);
    let sets =
        phases.flat_map(|phase| (phase.set_begin as usize..phase.set_end as usize).enumerate());
    let fibers =
        sets.flat_map(|(color, set)| fabric.fibers_of_set(set).map(move |fiber| (color, fiber)));
    let points = |fiber: usize| {
        fabric.fiber_vertices(fiber).iter().map(|&particle| positions[particle as usize]).collect()
    };
    fibers.map(|(color, fiber)| Line { points: points(fiber), color: line_color(color) }).collect()
}

/// Returns the legend of a tile, for example `vertical, front: 6 sets, 1,230 fibers, mean 6.4
/// edges`. Of several cloths: the most sets.
fn legend(job_cloths: &[JobCloth], kind: PhaseKind, side: Side) -> String {
    let phases = || {
        job_cloths
            .iter()
            .flat_map(|job_cloth| &job_cloth.report.phases)
            .filter(|phase| phase.kind == kind)
    };
    let (edges, fibers) = phases().fold((0, 0), |(edges, fibers), phase| {
        (edges + phase.edge_count, fibers + phase.fiber_count)
    });
    let sets = counted(phases().map(|phase| phase.set_count).max().unwrap_or(0), "set");
    let mean = edges as f64 / fibers.max(1) as f64;
    format!(
        "{}, {}: {sets}, {} fibers, mean {mean:.1} edges",
        kind.name(),
        side.name(),
        grouped(fibers)
    )
}
