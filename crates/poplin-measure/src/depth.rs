//! Penetration depth of particles and triangles inside colliders.

use glam::{DQuat, DVec3};
use poplin::cook::Solids;
use poplin_geometry::wide;
use poplin_model::{Particle, Pose, Shape};
use serde::Serialize;

/// Depth up to which a particle lies on a surface \[m\]: rounding of `f32` and of the contact
/// itself.
const SKIN: f64 = 1e-5;

/// Increase of [`SKIN`] per meter of the largest coordinate, for the rounding of coordinates.
const SKIN_PER_METRE: f64 = 1e-6;

/// Free particles inside colliders at one time, measured in world coordinates and double precision.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Depth {
    /// Number of finite particles that are not pinned.
    pub free_particles: usize,
    /// Number of particles deeper than a hundredth of a millimeter (more, far from the origin).
    pub particles_inside: usize,
    /// Depth of the deepest particle \[m\]; 0 if none is inside.
    pub deepest_m: f64,
}

/// Cloth triangles inside colliders at one time. At edges and corners of colliders, triangles
/// visibly penetrate even if all particles are outside.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct TriangleDepth {
    /// Number of measured triangles.
    pub triangles: usize,
    /// Number of triangles that are somewhere deeper than [`VISIBLE_DEPTH`].
    pub triangles_inside: usize,
    /// Depth of the deepest triangle \[m\], underestimated by at most a sixth of its longest side;
    /// 0 if none is inside.
    pub deepest_m: f64,
}

/// Depth from which a triangle counts as inside \[m\].
pub const VISIBLE_DEPTH: f64 = 1e-3;

/// Largest number of subdivisions of a triangle into four, in search of its deepest point.
const QUARTERINGS: u32 = 2;

/// Depth field of solids.
#[derive(Debug)]
pub struct DepthField(Solids);

impl TriangleDepth {
    /// Combines both results.
    pub fn and(self, other: Self) -> Self {
        Self {
            triangles: self.triangles + other.triangles,
            triangles_inside: self.triangles_inside + other.triangles_inside,
            deepest_m: self.deepest_m.max(other.deepest_m),
        }
    }
}

impl Depth {
    /// Combines both results.
    pub fn and(self, other: Self) -> Self {
        Self {
            free_particles: self.free_particles + other.free_particles,
            particles_inside: self.particles_inside + other.particles_inside,
            deepest_m: self.deepest_m.max(other.deepest_m),
        }
    }
}

impl DepthField {
    /// Creates the depth field of valid shapes in world space.
    pub fn new(shapes: &[Shape]) -> Self {
        Self(Solids::new(shapes))
    }

    /// Measures particles in the local space at `pose`; particles with inverse mass 0 are pinned.
    pub fn measure(&self, pose: Pose, particles: &[Particle]) -> Depth {
        let rotation = DQuat::from_array(pose.rotation.map(f64::from)).normalize();
        let mut depth = Depth::default();
        for &Particle { position, inverse_mass } in particles {
            let point = rotation * wide(position) + wide(pose.translation);
            if inverse_mass <= 0.0 || !point.is_finite() {
                continue;
            }
            depth.free_particles += 1;
            let deepest = self.0.depth(point.to_array());
            if deepest > SKIN + SKIN_PER_METRE * point.abs().max_element() {
                depth.particles_inside += 1;
                depth.deepest_m = depth.deepest_m.max(deepest);
            }
        }
        depth
    }

    /// Measures triangles of points in world space \[m\].
    pub fn measure_triangles(
        &self,
        points: &[[f32; 3]],
        triangles: impl IntoIterator<Item = [u32; 3]>,
    ) -> TriangleDepth {
        let mut depth = TriangleDepth::default();
        for triangle in triangles {
            let corners = triangle.map(|corner| wide(points[corner as usize]));
            if !corners.iter().all(|corner| corner.is_finite()) {
                continue;
            }
            depth.triangles += 1;
            let mut deepest = VISIBLE_DEPTH;
            self.search(corners, QUARTERINGS, &mut deepest);
            if deepest > VISIBLE_DEPTH {
                depth.triangles_inside += 1;
                depth.deepest_m = depth.deepest_m.max(deepest);
            }
        }
        depth
    }

    /// Raises `deepest` to the depth of the deepest point of a triangle. Depth has the Lipschitz
    /// constant 1: parts that cannot be deeper are skipped.
    fn search(&self, corners: [DVec3; 3], quarterings: u32, deepest: &mut f64) {
        let [a, b, c] = corners;
        let middle = (a + b + c) / 3.0;
        let depth = self.0.depth(middle.to_array());
        *deepest = deepest.max(depth);
        let reach = corners.iter().map(|corner| corner.distance(middle)).fold(0.0, f64::max);
        // No point of the triangle is deeper than depth(middle) + its distance from the middle.
        if quarterings == 0 || depth + reach <= *deepest {
            return;
        }
        let [ab, bc, ca] = [a.midpoint(b), b.midpoint(c), c.midpoint(a)];
        for part in [[ab, bc, ca], [a, ab, ca], [ab, b, bc], [ca, bc, c]] {
            self.search(part, quarterings - 1, deepest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poplin_model::Plane;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-6, "{a} is not {b}");
    }

    #[test]
    fn triangles_can_be_inside_with_all_corners_outside() {
        let field = DepthField::new(&[Shape::cuboid([0.5, 0.2, 0.5])]);
        // The corner of a box through a large triangle, whose middle is 0.1 m below the top of it.
        let corner = |x: f32, z: f32| [x, 0.1, z];
        let points = [corner(-2.0, -2.0), corner(2.0, -2.0), corner(0.0, 3.0), [0.0, 9.0, 0.0]];
        let depth = field.measure_triangles(&points, [[0, 1, 2], [0, 1, 3]]);
        assert_eq!((depth.triangles, depth.triangles_inside), (2, 1));
        near(depth.deepest_m, 0.1);
        let nan = [[f32::NAN; 3]; 3];
        assert_eq!(field.measure_triangles(&nan, [[0, 1, 2]]), TriangleDepth::default());
    }

    #[test]
    fn pins_and_particles_on_a_surface_do_not_count() {
        let floor = [Shape::from(Plane { normal: [0.0, 1.0, 0.0], offset: 0.0 })];
        let particles = [
            [0.0, -1.0, 0.0, 0.0],
            [0.0, -5e-6, 0.0, 1.0],
            [0.0, -0.01, 0.0, 1.0],
            [0.0, 1.0, 0.0, 1.0],
            [f32::NAN, 0.0, 0.0, 1.0],
        ];
        let depth =
            DepthField::new(&floor).measure(Pose::default(), Particle::from_rows(&particles));
        assert_eq!((depth.free_particles, depth.particles_inside), (3, 1));
        near(depth.deepest_m, 0.01);
        let raised = Pose { translation: [0.0, 1.0, 0.0], ..Pose::default() };
        assert_eq!(
            DepthField::new(&floor)
                .measure(raised, Particle::from_rows(&particles))
                .particles_inside,
            0
        );
    }
}
