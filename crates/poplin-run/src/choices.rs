//! Automatic choices for a mesh: position, floor and thickness.

use std::sync::Arc;

use glam::Vec3;
use poplin_measure::depth::DepthField;
use poplin_model::{ContactMode, Mesh, Particle, Pose, Shape};
use poplin_scene::{BuiltCollider, ColliderShape, PlaneShape, SceneCollider};

use crate::failure::{Failure, OrFail};
use crate::mesh_job::Ground;
use crate::numbers::{grouped, short_length};

/// Thickness of a mesh with particle contact, in mean edges. It keeps only particles apart, not
/// triangles: a shirt that falls on a body crosses itself in 106 spots with 0.5, in 19 with 1.
const THICKNESS: f32 = 1.0;
/// Depth at the start beyond which a mesh is moved out of the collider: the smaller of this many
/// mean edges and this fraction of the collider's smallest side. Contact resolves smaller depths.
const DEEP: [f32; 2] = [3.0, 0.1];
/// Thickness of a mesh with triangle contact, in mean edges.
const TRIANGLE_THICKNESS: f32 = 1.0 / 3.0;
/// Gap between mesh and collider or floor, in mean edges.
const ROOM: f32 = 1.0;

/// Returns the mean length of the sides of the faces \[m\], 0 without faces.
pub(crate) fn mean_edge(mesh: &Mesh) -> f32 {
    let faces =
        mesh.quads.iter().map(|quad| &quad[..]).chain(mesh.triangles.iter().map(|it| &it[..]));
    let (mut sum, mut count) = (0.0, 0.0);
    for face in faces {
        for (k, &corner) in face.iter().enumerate() {
            let ends = [corner, face[(k + 1) % face.len()]];
            let [a, b] = ends.map(|end| mesh.positions[end as usize].map(f64::from));
            sum += (0..3).map(|axis| (b[axis] - a[axis]).powi(2)).sum::<f64>().sqrt();
            count += 1.0;
        }
    }
    if count > 0.0 { (sum / count) as f32 } else { 0.0 }
}

/// Returns the thickness for a mean edge \[m\], with a line for the summary. Particle contact needs
/// a thickness at which no edge slips between particles; triangle contact keeps any thickness.
pub(crate) fn thickness(mean_edge: f32, contact: ContactMode) -> (f32, String) {
    let (fraction, words) = match contact {
        ContactMode::Particles => (THICKNESS, "the mean edge"),
        ContactMode::Triangles => (TRIANGLE_THICKNESS, "a third of the mean edge"),
    };
    // Upper limit of the setting; a mesh of this size has its own warning.
    let thickness = (fraction * mean_edge).min(1000.0);
    let line = format!(
        "thick  {:.1} mm, {words}, against passing through itself (--thickness)",
        1e3 * thickness
    );
    (thickness, line)
}

/// Returns the bounding box of points \[m\], lowest and highest corner.
pub(crate) fn bounds<'a>(points: impl IntoIterator<Item = &'a [f32; 3]>) -> [Vec3; 2] {
    let all = points.into_iter().map(|&point| Vec3::from(point));
    all.fold([Vec3::INFINITY, Vec3::NEG_INFINITY], |[low, high], p| [low.min(p), high.max(p)])
}

/// Returns the bounding box of a mesh collider \[m\].
fn bounds_of(collider: &BuiltCollider) -> [Vec3; 2] {
    match &collider.shape {
        Shape::TriangleMesh(mesh) => bounds(mesh.vertices.iter()),
        _ => bounds([]),
    }
}

/// Moves a mesh that would start deep inside a collider to above it. Returns a line for the
/// summary.
pub(crate) fn lift(
    mesh: &mut Mesh,
    pinned: &[u32],
    collider: &BuiltCollider,
    mean_edge: f32,
) -> Option<String> {
    let mut particles: Vec<_> =
        mesh.positions.iter().map(|&position| Particle { position, inverse_mass: 1.0 }).collect();
    for &vertex in pinned {
        particles[vertex as usize].inverse_mass = 0.0;
    }
    let field = DepthField::new(std::slice::from_ref(&collider.shape));
    let depth = field.measure(Pose::default(), &particles);
    let ([low, high], [from, to]) = (bounds_of(collider), bounds(&mesh.positions));
    // Depths below this limit are left to contact.
    let deep = (DEEP[0] * mean_edge).min(DEEP[1] * (high - low).min_element());
    if depth.deepest_m <= deep.into() {
        return None;
    }
    // Centers the mesh over the collider, with its lowest point a gap above the highest.
    let mut by = 0.5 * ((low + high) - (from + to));
    by.y = high.y - from.y + ROOM * mean_edge;
    mesh.positions.iter_mut().for_each(|p| *p = (Vec3::from(*p) + by).to_array());
    Some(format!(
        "moved  above the collider, as with --translate {:.3},{:.3},{:.3}: {} of {} free vertices would start inside, up to {:.0} mm deep \
         (--allow-inside)",
        by.x,
        by.y,
        by.z,
        grouped(depth.particles_inside),
        grouped(depth.free_particles),
        1e3 * depth.deepest_m
    ))
}

/// Returns a line for the summary for each repaired collider.
pub(crate) fn repairs(colliders: &[Arc<BuiltCollider>]) -> impl Iterator<Item = String> {
    let repaired = colliders.iter().filter(|collider| collider.repairs.is_any());
    repaired.map(|it| format!("repair collider `{}`: {}", it.name, it.repairs))
}

/// Returns a line for the summary about the origin of a mesh far from the world's origin.
pub(crate) fn origin(origin: [f64; 3]) -> Option<String> {
    let [x, y, z] = origin;
    let farthest = origin.into_iter().map(f64::abs).fold(0.0, f64::max);
    (farthest > 0.0).then(|| {
        format!(
            "origin ({x}, {y}, {z}) m, because f32 rounds positions there to multiples of {}: the OBJ of the last frame keeps world \
             positions, all else is relative to it (`origin_m` in summary.json)",
            short_length((farthest * f64::from(f32::EPSILON)) as f32)
        )
    })
}

/// Returns the requested floor, or one below a mesh and its collider with a line for the summary.
pub(crate) fn floor(
    ground: Option<Ground>,
    mesh: &Mesh,
    collider: Option<&BuiltCollider>,
    mean_edge: f32,
    origin: [f64; 3],
) -> Result<Option<(BuiltCollider, Option<String>)>, Failure> {
    let (offset, line) = match (ground, collider) {
        (Some(Ground::None), _) | (None, None) => return Ok(None),
        (Some(Ground::At(height)), _) => ((height - origin[1]) as f32, None),
        (None, Some(collider)) => {
            let [body, cloth] =
                [bounds_of(collider), bounds(&mesh.positions)].map(|[low, _]| low.y);
            let offset = body.min(cloth - ROOM * mean_edge);
            let height = f64::from(offset) + origin[1];
            (offset, Some(format!("floor  at y = {height:.3} m (--ground HEIGHT, --ground none)")))
        }
    };
    let shape = ColliderShape::Plane(PlaneShape { normal: [0.0, 1.0, 0.0], offset });
    let floor = SceneCollider::new("ground", shape);
    Ok(Some((floor.build().or_bad_input()?, line)))
}
