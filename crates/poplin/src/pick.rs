//! Picking: intersection of a ray with cloth.

use poplin_host::{Cloth, ClothId};
use poplin_model::{ModelError, Particle, Pose, check_finite};

/// A ray, for example from the camera through a pixel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ray {
    /// Origin \[m\].
    pub origin: [f32; 3],
    /// Direction; need not be normalised, but its length must be at least `1.2e-38`.
    pub direction: [f32; 3],
}

/// Intersection of a ray with one of several cloths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// The cloth.
    pub cloth: ClothId,
    /// Hit on the cloth, in world space.
    pub at: TriangleHit,
}

/// Intersection of a ray with a triangle, in the space of the ray.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TriangleHit {
    /// Index of the triangle.
    pub triangle: u32,
    /// Barycentric weights of the triangle's corners; they sum to 1.
    pub weights: [f32; 3],
    /// Corner with the largest weight.
    pub particle: u32,
    /// Distance from the ray's origin \[m\].
    pub distance: f32,
    /// Intersection point \[m\].
    pub point: [f32; 3],
    /// True if the ray hits the front side, from which the corners are counterclockwise.
    pub is_front: bool,
}

impl Ray {
    /// Checks that origin and direction are finite and the direction is not zero.
    ///
    /// # Errors
    /// [`ModelError`] that names the field.
    pub fn validate(&self) -> Result<(), ModelError> {
        check_finite("ray origin", &[self.origin])?;
        check_finite("ray direction", &[self.direction])?;
        let (value, min) = (self.length() as f32, f32::MIN_POSITIVE);
        if value < min {
            let (field, max) = ("ray direction length".into(), f32::MAX);
            return Err(ModelError::OutOfRange { field, value, min, max });
        }
        Ok(())
    }

    /// Transforms a ray from the world to a local space.
    fn to_local(self, pose: &Pose) -> Self {
        let axes = Pose { translation: [0.0; 3], ..*pose };
        let direction = axes.to_local(self.unit().map(|x| x as f32));
        Self { origin: pose.to_local(self.origin), direction }
    }

    /// Length of the direction.
    fn length(&self) -> f64 {
        self.direction.map(|x| f64::from(x).powi(2)).iter().sum::<f64>().sqrt()
    }

    /// The unit direction.
    fn unit(&self) -> [f64; 3] {
        let length = self.length();
        self.direction.map(|x| f64::from(x) / length)
    }

    /// The point at a distance along the ray \[m\].
    fn at(&self, distance: f64) -> [f32; 3] {
        let unit = self.unit();
        std::array::from_fn(|k| (f64::from(self.origin[k]) + distance * unit[k]) as f32)
    }
}

/// Returns the first hit of a world-space ray on one cloth, given its `particles` as read last
/// (`State::current`) and its current pose. For use with engines directly;
/// [`Simulation::pick`](crate::Simulation::pick) tests all cloths.
///
/// # Errors
/// [`ModelError`] if the ray is not valid or the length of `particles` is not the particle count of
/// the cloth.
pub fn pick_cloth(
    cloth: &Cloth,
    particles: &[Particle],
    ray: &Ray,
) -> Result<Option<TriangleHit>, ModelError> {
    ray.validate()?;
    let hit =
        pick_triangles(&cloth.desc().fabric.triangles, particles, &ray.to_local(&cloth.pose()))?;
    Ok(hit.map(|hit| TriangleHit { point: ray.at(hit.distance.into()), ..hit }))
}

/// Returns the first hit of a ray on triangles; `particles` and ray are in the same space. On a tie
/// the triangle with the lowest index wins. A ray through a shared edge or corner hits one of the
/// triangles; degenerate triangles, and those with a corner that is not finite, are never hit.
///
/// Every triangle is tested: about 15 ns each in a release build, 1.5 ms for 100,000.
///
/// Source: Woop, Benthin, Wald, "Watertight Ray/Triangle Intersection", 2013; here in `f64`, and a
/// ray exactly through an edge or corner hits every triangle that shares it.
///
/// # Errors
/// [`ModelError`] if the ray is not valid, or a corner index is not less than the particle count.
pub fn pick_triangles(
    triangles: &[[u32; 3]],
    particles: &[Particle],
    ray: &Ray,
) -> Result<Option<TriangleHit>, ModelError> {
    ray.validate()?;
    let shear = Shear::new(ray);
    let mut nearest: Option<(f64, u32, [f64; 3], bool)> = None;
    for (triangle, corners) in triangles.iter().enumerate() {
        let mut points = [[0.0; 3]; 3];
        for (point, &index) in points.iter_mut().zip(corners) {
            let particle = particles.get(index as usize).ok_or(ModelError::IndexOutOfRange {
                what: "triangle corners",
                position: triangle,
                index,
                count: particles.len(),
            })?;
            // Shared corners are transformed identically for all their triangles.
            *point = shear.apply(particle.position);
        }
        if let Some((distance, weights, is_front)) = hit(points)
            && nearest.is_none_or(|(other, ..)| distance < other)
        {
            nearest = Some((distance, triangle as u32, weights, is_front));
        }
    }
    Ok(nearest.map(|(distance, triangle, weights, is_front)| {
        let largest = (1..3).fold(0, |best, k| if weights[k] > weights[best] { k } else { best });
        TriangleHit {
            triangle,
            weights: weights.map(|weight| weight as f32),
            particle: triangles[triangle as usize][largest],
            distance: distance as f32,
            point: ray.at(distance),
            is_front,
        }
    }))
}

/// Transform that maps the ray to the z axis: x' = x - s_x z and y' = y - s_y z relative to the
/// ray's origin, where z is the axis of the largest component of the direction.
struct Shear {
    origin: [f64; 3],
    /// Permutation of the coordinates to x, y and z.
    axes: [usize; 3],
    shear: [f64; 2],
    /// Distance along the ray per metre of z.
    scale: f64,
}

impl Shear {
    fn new(ray: &Ray) -> Self {
        let unit = ray.unit();
        // The dominant axis becomes z, which keeps the shear factors at most 1.
        let z = (1..3).fold(0, |z, k| if unit[k].abs() > unit[z].abs() { k } else { z });
        let (mut x, mut y) = ((z + 1) % 3, (z + 2) % 3);
        if unit[z] < 0.0 {
            // Swapping x and y keeps the winding of triangles as seen along the ray.
            (x, y) = (y, x);
        }
        Self {
            origin: ray.origin.map(f64::from),
            axes: [x, y, z],
            shear: [unit[x] / unit[z], unit[y] / unit[z]],
            scale: 1.0 / unit[z],
        }
    }

    /// Transforms a point; the resulting z is the distance along the ray.
    fn apply(&self, point: [f32; 3]) -> [f64; 3] {
        let [x, y, z] = self.axes.map(|k| f64::from(point[k]) - self.origin[k]);
        [x - self.shear[0] * z, y - self.shear[1] * z, self.scale * z]
    }
}

/// Intersects the +z axis with a triangle: distance, barycentric weights and facing.
fn hit([a, b, c]: [[f64; 3]; 3]) -> Option<(f64, [f64; 3], bool)> {
    // 2D edge functions. Two triangles that share an edge compute exactly opposite values, so that
    // no ray passes between them.
    let across = |p: [f64; 3], q: [f64; 3]| p[0] * q[1] - p[1] * q[0];
    let areas = [across(c, b), across(a, c), across(b, a)];
    let is_front = areas.iter().all(|&area| area >= 0.0);
    if !is_front && !areas.iter().all(|&area| area <= 0.0) {
        return None;
    }
    // Barycentric weights are sub-areas over the whole area.
    let area: f64 = areas.iter().sum();
    let weights = areas.map(|part| part / area);
    let distance = weights[0] * a[2] + weights[1] * b[2] + weights[2] * c[2];
    // The weights of a degenerate triangle are not finite.
    (distance >= 0.0 && distance.is_finite()).then_some((distance, weights, is_front))
}
