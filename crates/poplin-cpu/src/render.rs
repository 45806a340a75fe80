//! Twin of `shaders/render`: vertices of a render mesh, for renderers that draw from the CPU and
//! for tests.

use glam::{Vec2, Vec3};
use poplin_layout::MIN_SHADED_SQUARE;
use poplin_model::{ModelError, Particle, RenderMesh, RenderVertex};

use crate::math::{cross3, dot3};

/// Particles between two frames.
#[derive(Debug, Clone, Copy)]
pub struct DrawnParticles<'a> {
    /// Particles after the last frame, shape `[particle_count]`.
    pub now: &'a [Particle],
    /// Particles after the frame before it, shape `[particle_count]`.
    pub kept: &'a [Particle],
    /// Interpolation between `kept` at 0 and `now` at 1; 1 and above is `now`.
    pub alpha: f32,
}

impl<'a> From<&'a [Particle]> for DrawnParticles<'a> {
    /// Draws particles without interpolation.
    fn from(now: &'a [Particle]) -> Self {
        Self { now, kept: now, alpha: 1.0 }
    }
}

/// Computes the vertices of a valid render mesh, as [`poplin_model::RenderMesh`] describes, with
/// the bits of the kernels wherever these round like the CPU. `tangents`, for a mesh with texture
/// coordinates, may be empty: xyz is the direction of the first coordinate, w the side of the
/// bitangent.
///
/// # Errors
/// [`ModelError::Length`] if `particles` are not those of the mesh, or `vertices` or `tangents`
/// have a different length than its vertices.
pub fn render_vertices(
    mesh: &RenderMesh,
    particles: DrawnParticles<'_>,
    vertices: &mut [RenderVertex],
    tangents: &mut [[f32; 4]],
) -> Result<(), ModelError> {
    let (particle_count, vertex_count) = (mesh.particle_count as usize, mesh.vertex_count());
    let has_tangents = !tangents.is_empty();
    let tangent_count = if has_tangents { vertex_count } else { 0 };
    let uv_count = if has_tangents { vertex_count } else { mesh.uvs.len() };
    for (what, len, expected) in [
        ("render particles", particles.now.len(), particle_count),
        ("kept render particles", particles.kept.len(), particle_count),
        ("render vertices", vertices.len(), vertex_count),
        ("render tangents", tangents.len(), tangent_count),
        ("render mesh uvs", mesh.uvs.len(), uv_count),
    ] {
        if len != expected {
            return Err(ModelError::Length { what, len, expected });
        }
    }
    let normals: Vec<Vec3> = if mesh.has_offsets() {
        (0..particle_count).map(|particle| find_normal(mesh, particles, particle)).collect()
    } else {
        Vec::new()
    };
    for (vertex, row) in vertices.iter_mut().enumerate() {
        row.position = place_vertex(mesh, particles, &normals, vertex).extend(1.0).to_array();
    }
    for vertex in 0..vertex_count {
        let (normal, tangent) = orient_vertex(mesh, vertices, has_tangents, vertex);
        vertices[vertex].normal = normal.extend(0.0).to_array();
        if let Some(row) = tangents.get_mut(vertex) {
            *row = tangent;
        }
    }
    Ok(())
}

/// Returns the interpolated position of a particle \[m\].
fn drawn_position(particles: DrawnParticles<'_>, particle: u32) -> Vec3 {
    let mut x = Vec3::from(particles.now[particle as usize].position);
    if particles.alpha < 1.0 {
        let kept = Vec3::from(particles.kept[particle as usize].position);
        x = kept * (1.0 - particles.alpha) + x * particles.alpha;
    }
    x
}

/// Adds the cross product of two edges to a sum, product by product.
fn add_cross(sum: Vec3, p: Vec3, q: Vec3) -> Vec3 {
    Vec3::new(
        sum.x + p.y * q.z - p.z * q.y,
        sum.y + p.z * q.x - p.x * q.z,
        sum.z + p.x * q.y - p.y * q.x,
    )
}

/// Interpolates a point or direction of a triangle by barycentric weights.
fn weigh([a, b, c]: [Vec3; 3], weights: [f32; 3]) -> Vec3 {
    a * weights[0] + b * weights[1] + c * weights[2]
}

/// Normalizes a sum of cross products; returns +y for a zero sum.
fn unit_normal(sum: Vec3) -> Vec3 {
    let square = dot3(sum, sum);
    if square > MIN_SHADED_SQUARE {
        return sum * (1.0 / square.sqrt());
    }
    Vec3::Y
}

/// Returns the area-weighted normal of a particle.
fn find_normal(mesh: &RenderMesh, particles: DrawnParticles<'_>, particle: usize) -> Vec3 {
    let x = drawn_position(particles, particle as u32);
    let mut sum = Vec3::ZERO;
    for &[next, last] in mesh.surface.of(particle) {
        let (next, last) = (drawn_position(particles, next), drawn_position(particles, last));
        sum = add_cross(sum, next - x, last - x);
    }
    unit_normal(sum)
}

/// Returns the position of a vertex: a point of its triangle of particles, offset along the
/// interpolated normal.
fn place_vertex(
    mesh: &RenderMesh,
    particles: DrawnParticles<'_>,
    normals: &[Vec3],
    vertex: usize,
) -> Vec3 {
    let binding = mesh.bindings[vertex];
    let corners = binding.particles.map(|particle| drawn_position(particles, particle));
    let mut position = weigh(corners, binding.weights);
    if !normals.is_empty() {
        let of_corners = binding.particles.map(|particle| normals[particle as usize]);
        let mixed = weigh(of_corners, binding.weights);
        let square = dot3(mixed, mixed);
        if square > MIN_SHADED_SQUARE {
            position += mixed * (binding.offset / square.sqrt());
        }
    }
    position
}

/// Returns the area-weighted normal and the tangent of a vertex.
fn orient_vertex(
    mesh: &RenderMesh,
    vertices: &[RenderVertex],
    has_tangents: bool,
    vertex: usize,
) -> (Vec3, [f32; 4]) {
    let placed = |vertex: u32| {
        let [x, y, z, _] = vertices[vertex as usize].position;
        Vec3::new(x, y, z)
    };
    let x = placed(vertex as u32);
    let own_count = mesh.own_corner_counts[vertex] as usize;
    let (mut sum, mut along_u, mut along_v) = (Vec3::ZERO, Vec3::ZERO, Vec3::ZERO);
    for (corner, &[next, last]) in mesh.corners.of(vertex).iter().enumerate() {
        let (p, q) = (placed(next) - x, placed(last) - x);
        sum = add_cross(sum, p, q);
        if has_tangents && corner < own_count {
            let uv_of = |vertex: u32| Vec2::from(mesh.uvs[vertex as usize]);
            let uv = uv_of(vertex as u32);
            let (s, t) = (uv_of(next) - uv, uv_of(last) - uv);
            let side = if s.x * t.y - t.x * s.y < 0.0 { -1.0 } else { 1.0 };
            along_u += (p * t.y - q * s.y) * side;
            along_v += (q * s.x - p * t.x) * side;
        }
    }
    let normal = unit_normal(sum);
    // Gram-Schmidt: tangent perpendicular to the normal.
    let flat = along_u - normal * dot3(normal, along_u);
    let square = dot3(flat, flat);
    let side = if dot3(cross3(normal, along_u), along_v) < 0.0 { -1.0 } else { 1.0 };
    let mut tangent = any_tangent(normal);
    if square > MIN_SHADED_SQUARE {
        tangent = flat * (1.0 / square.sqrt());
    }
    (normal, tangent.extend(side).to_array())
}

/// Returns a direction perpendicular to a normal, for vertices without a texture direction.
fn any_tangent(normal: Vec3) -> Vec3 {
    if normal.x.abs() < 0.5 {
        return unit_normal(Vec3::new(0.0, normal.z, -normal.y));
    }
    unit_normal(Vec3::new(-normal.y, normal.x, 0.0))
}
