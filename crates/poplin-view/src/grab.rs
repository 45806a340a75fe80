//! A patch of cloth that follows the pointer.

use glam::{DVec3, Vec3};
use poplin::{ClothId, LiveCloth};
use poplin_model::{ModelError, Sphere};

use crate::cast::{Cast, CastCloth, world_from_local};

/// Radius of the patch, in mean edges of the triangle that is hit.
const RADIUS: f32 = 1.6;

/// A sphere that nothing leaves \[m\].
const ANYWHERE: Sphere = Sphere { center: [0.0; 3], radius: 1e6 };

/// A grabbed patch.
#[derive(Debug)]
pub(crate) struct Grab {
    pub(crate) cloth: ClothId,
    /// How far ahead of the eye it is held \[m\].
    pub(crate) depth: f64,
    /// The particles, and where they are from the point that is held, local axes \[m\].
    patch: Vec<(u32, Vec3)>,
}

/// Where a ray hits a cloth.
struct Hit {
    distance: f32,
    /// In the local space \[m\].
    point: Vec3,
    mean_edge: f32,
}

impl Grab {
    /// The patch of the nearest cloth that the ray from `eye` hits; `ahead` is where the camera looks.
    pub(crate) fn pick(cast: &Cast, eye: DVec3, ray: DVec3, ahead: DVec3) -> Option<Self> {
        let hits = cast.cloths.iter().filter_map(|cloth| Some((cloth, hit(cloth, eye, ray)?)));
        let (cloth, hit) = hits.min_by(|a, b| a.1.distance.total_cmp(&b.1.distance))?;
        let around = (0..).zip(cloth.particles()).filter_map(|(index, particle)| {
            let offset = Vec3::from(particle.position) - hit.point;
            (offset.length() <= hit.mean_edge * RADIUS).then_some((index, offset))
        });
        let depth = f64::from(hit.distance) * ray.dot(ahead);
        Some(Self { cloth: cloth.id, depth, patch: around.collect() })
    }

    /// Draws the patch to a point of the world \[m\] over the next frame.
    pub(crate) fn hold(&self, cloth: &mut LiveCloth, point: DVec3) -> Result<(), ModelError> {
        let local = world_from_local(cloth.pose()).inverse().transform_point3(point.as_vec3());
        let mut spheres = vec![ANYWHERE; cloth.cloth().particle_count()];
        for &(particle, offset) in &self.patch {
            let center = (local + offset).to_array();
            spheres[particle as usize] = Sphere { center, radius: 0.0 };
        }
        cloth.set_motion_spheres(&spheres)
    }

    /// Lets go.
    pub(crate) fn release(&self, cloth: &mut LiveCloth) -> Result<(), ModelError> {
        cloth.set_motion_spheres(&[])
    }
}

/// Where a ray meets a cloth first.
fn hit(cloth: &CastCloth, eye: DVec3, ray: DVec3) -> Option<Hit> {
    let local = world_from_local(cloth.pose).inverse();
    let origin = local.transform_point3(eye.as_vec3());
    let direction = local.transform_vector3(ray.as_vec3());
    let at = |corner: u32| cloth.particles().get(corner as usize).map(|it| Vec3::from(it.position));
    let hits = cloth.triangles().iter().filter_map(|&[a, b, c]| {
        let corners = [at(a)?, at(b)?, at(c)?];
        let distance = distance_to_triangle(origin, direction, corners)?;
        let [a, b, c] = corners;
        let mean_edge = (a.distance(b) + b.distance(c) + c.distance(a)) / 3.0;
        Some(Hit { distance, point: origin + direction * distance, mean_edge })
    });
    hits.min_by(|a, b| a.distance.total_cmp(&b.distance))
}

/// Distance along a ray to a triangle, from either side (Möller and Trumbore, "Fast, minimum storage ray-triangle intersection",
/// 1997).
fn distance_to_triangle(origin: Vec3, direction: Vec3, [a, b, c]: [Vec3; 3]) -> Option<f32> {
    let (u_edge, v_edge) = (b - a, c - a);
    let across = direction.cross(v_edge);
    let determinant = u_edge.dot(across);
    if determinant == 0.0 {
        return None;
    }
    let from_a = origin - a;
    let u = from_a.dot(across) / determinant;
    let upward = from_a.cross(u_edge);
    let v = direction.dot(upward) / determinant;
    let distance = v_edge.dot(upward) / determinant;
    (u >= 0.0 && v >= 0.0 && u + v <= 1.0 && distance > 0.0).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ray_hits_a_triangle_from_both_sides_and_not_beside_it() {
        let triangle = [Vec3::ZERO, Vec3::X, Vec3::Y];
        let from = |x: f32, y: f32, z: f32| {
            distance_to_triangle(Vec3::new(x, y, z), Vec3::new(0.0, 0.0, -z.signum()), triangle)
        };
        assert_eq!((from(0.2, 0.2, 2.0), from(0.2, 0.2, -3.0)), (Some(2.0), Some(3.0)));
        assert_eq!(from(0.8, 0.8, 2.0), None);
        assert_eq!(distance_to_triangle(Vec3::Z, Vec3::Z, triangle), None, "it is behind");
    }
}
