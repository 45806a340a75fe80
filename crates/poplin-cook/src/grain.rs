//! Vertical direction at each face and vertex of the surface.

use glam::DVec3;
use poplin_geometry::wide;
use poplin_model::Mesh;

use crate::mass::area_vector;
use crate::surface::{Face, Surface};
use crate::{CookOptions, Direction};

/// Tangential fraction below which a direction counts as normal to the surface: about 11 degrees.
const MIN_TANGENT_PART: f64 = 0.2;

/// Bias that counts edges at 45 degrees as slightly upright, so that rounding does not split them
/// between both kinds.
const UPRIGHT_MARGIN: f64 = 1e-3;

/// Computes the unit vertical tangent of each face, zero if there is none.
///
/// Gravity is projected into the face. If it is normal to the face (a horizontal sheet), the first
/// of z, x, y that lies well within the face replaces it, so that a horizontal sheet still has rows
/// and columns. Texture directions are the gradient of v (mean over the two triangles of a quad);
/// faces with constant v fall back to gravity.
pub(crate) fn face_verticals(surface: &Surface, mesh: &Mesh, options: &CookOptions) -> Vec<DVec3> {
    let gravity = wide(options.gravity).normalize_or_zero();
    surface
        .faces
        .iter()
        .map(|face| {
            let normal = area_vector(face, &surface.positions).normalize_or_zero();
            let texture = (options.direction == Direction::Uv)
                .then(|| texture_gradient(face, surface, &mesh.uvs));
            texture
                .filter(|gradient| *gradient != DVec3::ZERO)
                .unwrap_or_else(|| tangent(gravity, normal))
        })
        .collect()
}

/// Unit tangent along a unit `axis`, or along the first of z, x, y that lies well within the plane
/// of `normal` if the axis does not.
pub(crate) fn tangent(axis: DVec3, normal: DVec3) -> DVec3 {
    [axis, DVec3::Z, DVec3::X, DVec3::Y]
        .into_iter()
        .map(|axis| axis - normal * normal.dot(axis))
        .find(|tangent| tangent.length() >= MIN_TANGENT_PART)
        .map_or(DVec3::ZERO, DVec3::normalize)
}

fn texture_gradient(face: &Face, surface: &Surface, uvs: &[[f32; 2]]) -> DVec3 {
    let corners = face.corners();
    let position = |k: usize| surface.positions[corners[k] as usize];
    let v = |k: usize| f64::from(uvs[face.mesh_vertices()[k] as usize][1]);
    let gradient = |a: usize, b: usize, c: usize| {
        let (ab, ac) = (position(b) - position(a), position(c) - position(a));
        let normal = ab.cross(ac);
        // grad v . ab = v_b - v_a,  grad v . ac = v_c - v_a,  grad v . n = 0  (up to the positive
        // factor 1/n.n)
        ((v(b) - v(a)) * ac.cross(normal) + (v(c) - v(a)) * normal.cross(ab)).normalize_or_zero()
    };
    let first = gradient(0, 1, 2);
    if face.is_quad() { (first + gradient(2, 3, 0)).normalize_or_zero() } else { first }
}

/// Uprightness of an edge in its faces: cos^2 of the angle to their vertical, minus 1/2; +1/2 along
/// it, 0 at 45 degrees, -1/2 across.
pub(crate) fn uprightness(edge: DVec3, verticals: impl Iterator<Item = DVec3>) -> f64 {
    // A vertical is an axis without sign: mirrored texture islands point in the opposite direction.
    let sum =
        verticals.fold(DVec3::ZERO, |sum, v| if sum.dot(v) < 0.0 { sum - v } else { sum + v });
    let cosine = edge.normalize_or_zero().dot(sum.normalize_or_zero());
    cosine * cosine - (0.5 - UPRIGHT_MARGIN)
}

/// Unit normal of each vertex, area weighted; zero if the incident faces cancel out.
pub(crate) fn vertex_normals(surface: &Surface) -> Vec<DVec3> {
    let mut sums = vec![(DVec3::ZERO, 0.0); surface.positions.len()];
    for face in &surface.faces {
        let area = area_vector(face, &surface.positions);
        for &corner in face.corners() {
            let (normal, total) = &mut sums[corner as usize];
            *normal += area;
            *total += area.length();
        }
    }
    sums.into_iter()
        .map(|(sum, total)| if sum.length() > 0.1 * total { sum.normalize() } else { DVec3::ZERO })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Weld;

    fn verticals(mesh: &Mesh, direction: Direction, gravity: [f32; 3]) -> Vec<DVec3> {
        let options = CookOptions { direction, gravity, ..CookOptions::default() };
        face_verticals(&Surface::new(mesh, Weld::Off).unwrap(), mesh, &options)
    }

    fn along(mesh: &Mesh, gravity: [f32; 3]) -> Vec<DVec3> {
        verticals(mesh, Direction::Gravity, gravity)
    }

    #[test]
    fn gravity_is_projected_and_horizontal_sheets_use_z() {
        let mut mesh = Mesh::grid(2, 2, 1.0, 1.0);
        assert_eq!(along(&mesh, [0.0, -9.8, 0.0]), [DVec3::Z]);
        assert_eq!(along(&mesh, [3.0, -3.0, 0.0]), [DVec3::X]);
        mesh.positions.iter_mut().for_each(|p| *p = [p[0], -p[2], p[2] * 0.1]);
        let [vertical] = along(&mesh, [0.0, -9.8, 0.0])[..] else { panic!("one face") };
        assert!(vertical.distance(DVec3::new(0.0, -1.0, 0.1).normalize()) < 1e-6);
    }

    #[test]
    fn uv_direction_falls_back_to_gravity_where_v_is_constant() {
        let mut mesh = Mesh::grid(2, 2, 1.0, 1.0);
        mesh.positions.iter_mut().for_each(|p| *p = [p[0], p[2], p[0]]);
        let verticals = |mesh: &Mesh| verticals(mesh, Direction::Uv, [1.0, 0.0, 1.0])[0];
        assert!(verticals(&mesh).distance(DVec3::Y) < 1e-6, "{}", verticals(&mesh));
        mesh.uvs.iter_mut().for_each(|uv| uv[1] = 0.5);
        let along = DVec3::new(1.0, 0.0, 1.0).normalize();
        assert!(verticals(&mesh).distance(along) < 1e-6, "{}", verticals(&mesh));
    }
}
