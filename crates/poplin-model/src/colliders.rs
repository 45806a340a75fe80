//! Shapes that a cloth collides with.

use crate::error::{ModelError, check_finite, check_indices, check_range};
use crate::{MAX_COORDINATE, MAX_PARTICLES, Pose};

/// Most spheres, capsules, planes, convexes or boxes of one cloth, each kind counted on its own.
pub const MAX_SHAPES: usize = 1 << 16;

/// Most rigid bodies that one cloth pushes.
pub const MAX_BODIES: usize = 256;

/// Everything that a cloth collides with, in the cloth's local frame. Particles are points: they are kept out of the shapes.
///
/// Spheres, planes, boxes and mesh vertices move: an array set while the cloth is in simulation is reached over the next
/// frame, linearly.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Colliders {
    /// Center \[m\] and radius \[m\], `>= 0`.
    pub spheres: Vec<[f32; 4]>,
    /// Pairs of spheres whose convex hull, a tapered capsule, is kept free too. A sphere may end several capsules.
    pub capsules: Vec<[u32; 2]>,
    /// Unit normal n and offset d \[m\]: a point x with `n.x + d < 0` is behind the plane. A plane does nothing by itself, only
    /// as part of a convex.
    pub planes: Vec<[f32; 4]>,
    /// Planes of each convex: a particle behind all of them is pushed out through the nearest. One plane is a half-space.
    pub convexes: Vec<Vec<u32>>,
    /// Boxes and skewed boxes.
    pub boxes: Vec<Parallelepiped>,
    /// Vertices of the triangle mesh \[m\].
    pub mesh_vertices: Vec<[f32; 3]>,
    /// Triangles of the mesh. A particle behind the triangle nearest to it is pushed out along that triangle's normal; the
    /// front is where the corners appear counter-clockwise. Triangles without area are ignored.
    pub mesh_triangles: Vec<[u32; 3]>,
    /// Rigid bodies that feel the cloth.
    pub bodies: Vec<RigidBody>,
}

/// A box in any place, turn and skew: a corner and the three edges that leave it. A flat one keeps nothing out.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Parallelepiped {
    /// One corner \[m\].
    pub corner: [f32; 3],
    /// The edges that leave it \[m\].
    pub edges: [[f32; 3]; 3],
}

impl Parallelepiped {
    /// A right-angled box around the origin of `pose`, reaching `half_extents` \[m\] along its axes.
    pub fn cuboid(pose: Pose, half_extents: [f32; 3]) -> Self {
        let [a, b, c] = half_extents;
        let corner = pose.apply([-a, -b, -c]);
        let edge = |to: [f32; 3]| {
            let end = pose.apply(to);
            std::array::from_fn(|k| end[k] - corner[k])
        };
        Self { corner, edges: [edge([a, -b, -c]), edge([-a, b, -c]), edge([-a, -b, c])] }
    }

    /// Its four rows: corner and edges.
    pub fn rows(&self) -> [[f32; 3]; 4] {
        [self.corner, self.edges[0], self.edges[1], self.edges[2]]
    }
}

/// A rigid body of some shapes that feels what the cloth does to it.
///
/// In every iteration a particle that runs into the body exchanges normal velocity with it by conservation of momentum and
/// restitution, and slides with friction; the body's velocity changes within the frame, and the sum of the impulses is
/// reported after it. Moving the body is the host's part: it sets shapes and velocity for the next frame.
/// Shapes of a body collide discretely, not continuously, and not with virtual particles.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RigidBody {
    /// Its spheres. The spheres that end its capsules belong to it and need not be named.
    pub spheres: Vec<u32>,
    /// Its capsules.
    pub capsules: Vec<u32>,
    /// Its convexes.
    pub convexes: Vec<u32>,
    /// Its boxes.
    pub boxes: Vec<u32>,
    /// Whether the triangle mesh belongs to it.
    pub has_mesh: bool,
    /// Inverse mass [1/kg], `>= 0`; 0 = the cloth cannot move it.
    pub inverse_mass: f32,
    /// Inverse inertia about the center of mass [1/(kg m^2)], in the axes of the cloth's local frame, symmetric; 0 = the
    /// cloth cannot turn it.
    pub inverse_inertia: [[f32; 3]; 3],
    /// Center of mass at the beginning of the frame \[m\].
    pub center: [f32; 3],
    /// Velocity of the center of mass [m/s].
    pub velocity: [f32; 3],
    /// Angular velocity [rad/s].
    pub angular_velocity: [f32; 3],
    /// Share of the approach speed with which particles and body part, `0..=1`.
    pub restitution: f32,
}

/// What a cloth did to a rigid body in a frame.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct BodyImpulse {
    /// Impulse on the body [N s], in the axes of the cloth's local frame.
    pub linear: [f32; 3],
    /// Angular impulse about the body's center of mass [N m s].
    pub angular: [f32; 3],
    /// Contacts with particles, summed over the iterations of the frame.
    pub contact_count: u32,
}

fn check_count(what: &'static str, count: usize, limit: usize) -> Result<(), ModelError> {
    if count > limit { Err(ModelError::TooMany { what, count, limit }) } else { Ok(()) }
}

impl Colliders {
    /// Whether there is no shape at all.
    pub fn is_empty(&self) -> bool {
        self.spheres.is_empty()
            && self.convexes.is_empty()
            && self.boxes.is_empty()
            && self.mesh_triangles.is_empty()
    }

    /// Everything but the mesh, which may be large.
    #[must_use]
    pub fn clone_without_mesh(&self) -> Self {
        Self {
            spheres: self.spheres.clone(),
            capsules: self.capsules.clone(),
            planes: self.planes.clone(),
            convexes: self.convexes.clone(),
            boxes: self.boxes.clone(),
            bodies: self.bodies.clone(),
            ..Self::default()
        }
    }

    /// Checks counts, numbers and indices.
    ///
    /// # Errors
    /// The first [`ModelError`] found, with its place.
    pub fn validate(&self) -> Result<(), ModelError> {
        self.validate_spheres()?;
        self.validate_planes()?;
        self.validate_boxes()?;
        self.validate_mesh()?;
        self.validate_bodies()
    }

    /// Checks spheres and the capsules between them.
    ///
    /// # Errors
    /// As [`Colliders::validate`].
    pub fn validate_spheres(&self) -> Result<(), ModelError> {
        check_count("spheres", self.spheres.len(), MAX_SHAPES)?;
        check_finite("spheres", &self.spheres)?;
        self.spheres
            .iter()
            .try_for_each(|sphere| check_range("sphere radius", sphere[3], 0.0, MAX_COORDINATE))?;
        check_count("capsules", self.capsules.len(), MAX_SHAPES)?;
        check_indices("capsules", self.capsules.iter().flatten().copied(), self.spheres.len())
    }

    /// Checks planes and the convexes that they bound.
    ///
    /// # Errors
    /// As [`Colliders::validate`].
    pub fn validate_planes(&self) -> Result<(), ModelError> {
        check_count("planes", self.planes.len(), MAX_SHAPES)?;
        check_finite("planes", &self.planes)?;
        for [x, y, z, _] in &self.planes {
            check_range("length of a plane's normal", (x * x + y * y + z * z).sqrt(), 0.99, 1.01)?;
        }
        check_count("convexes", self.convexes.len(), MAX_SHAPES)?;
        check_count(
            "planes of all convexes",
            self.convexes.iter().map(Vec::len).sum(),
            MAX_PARTICLES,
        )?;
        for convex in &self.convexes {
            if convex.is_empty() {
                return Err(ModelError::Empty { what: "a convex's list of planes" });
            }
            check_indices("planes of a convex", convex.iter().copied(), self.planes.len())?;
        }
        Ok(())
    }

    /// Checks the boxes.
    ///
    /// # Errors
    /// As [`Colliders::validate`].
    pub fn validate_boxes(&self) -> Result<(), ModelError> {
        check_count("boxes", self.boxes.len(), MAX_SHAPES)?;
        self.boxes.iter().try_for_each(|shape| check_finite("rows of a box", &shape.rows()))
    }

    /// Checks the triangle mesh.
    ///
    /// # Errors
    /// As [`Colliders::validate`].
    pub fn validate_mesh(&self) -> Result<(), ModelError> {
        check_count("mesh_vertices", self.mesh_vertices.len(), MAX_PARTICLES)?;
        check_finite("mesh_vertices", &self.mesh_vertices)?;
        check_count("mesh_triangles", self.mesh_triangles.len(), MAX_PARTICLES)?;
        check_indices(
            "mesh_triangles",
            self.mesh_triangles.iter().flatten().copied(),
            self.mesh_vertices.len(),
        )
    }

    /// Checks the bodies; a shape may belong to one body only.
    ///
    /// # Errors
    /// As [`Colliders::validate`].
    pub fn validate_bodies(&self) -> Result<(), ModelError> {
        check_count("bodies", self.bodies.len(), MAX_BODIES)?;
        let mut owned = [
            vec![false; self.capsules.len()],
            vec![false; self.convexes.len()],
            vec![false; self.boxes.len()],
        ];
        let mut sphere_owner = vec![None; self.spheres.len()];
        let mut mesh_owner = None;
        for (number, body) in self.bodies.iter().enumerate() {
            check_indices("spheres of a body", body.spheres.iter().copied(), self.spheres.len())?;
            let lists = [
                ("capsules of a body", &body.capsules),
                ("convexes of a body", &body.convexes),
                ("boxes of a body", &body.boxes),
            ];
            for ((what, list), owned) in lists.into_iter().zip(&mut owned) {
                check_indices(what, list.iter().copied(), owned.len())?;
                for &shape in list {
                    if std::mem::replace(&mut owned[shape as usize], true) {
                        return Err(ModelError::SharedShape { what, shape, body: number });
                    }
                }
            }
            let ends = body.capsules.iter().flat_map(|&capsule| self.capsules[capsule as usize]);
            for sphere in body.spheres.iter().copied().chain(ends) {
                if sphere_owner[sphere as usize]
                    .replace(number)
                    .is_some_and(|owner| owner != number)
                {
                    return Err(ModelError::SharedShape {
                        what: "spheres of a body",
                        shape: sphere,
                        body: number,
                    });
                }
            }
            if body.has_mesh && mesh_owner.replace(number).is_some() {
                return Err(ModelError::SharedShape {
                    what: "mesh of a body",
                    shape: 0,
                    body: number,
                });
            }
            check_range("body inverse_mass", body.inverse_mass, 0.0, MAX_COORDINATE)?;
            check_range("body restitution", body.restitution, 0.0, 1.0)?;
            check_finite(
                "body center, velocity, angular_velocity",
                &[body.center, body.velocity, body.angular_velocity],
            )?;
            check_finite("body inverse_inertia", &body.inverse_inertia)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn colliders() -> Colliders {
        Colliders {
            spheres: vec![[0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.5]],
            capsules: vec![[0, 1]],
            planes: vec![[0.0, 1.0, 0.0, 0.0]],
            convexes: vec![vec![0]],
            boxes: vec![Parallelepiped::cuboid(Pose::default(), [1.0, 2.0, 3.0])],
            mesh_vertices: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
            mesh_triangles: vec![[0, 1, 2]],
            bodies: vec![RigidBody { capsules: vec![0], inverse_mass: 1.0, ..Default::default() }],
        }
    }

    #[test]
    fn a_cuboid_has_its_corner_and_edges() {
        let shape = Parallelepiped::cuboid(Pose::default(), [1.0, 2.0, 3.0]);
        assert_eq!(
            shape.rows(),
            [[-1.0, -2.0, -3.0], [2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 6.0]]
        );
    }

    #[test]
    fn every_kind_of_damage_is_refused() {
        colliders().validate().unwrap();
        let broken: [fn(&mut Colliders); 15] = [
            |c| c.spheres[0][2] = f32::NAN,
            |c| c.spheres[1][3] = -0.1,
            |c| c.capsules[0][1] = 2,
            |c| c.planes[0] = [0.0, 2.0, 0.0, 0.0],
            |c| c.planes[0][3] = f32::INFINITY,
            |c| c.convexes[0] = vec![1],
            |c| c.convexes[0].clear(),
            |c| c.boxes[0].edges[1][1] = f32::NAN,
            |c| c.mesh_vertices[2][0] = 1e20,
            |c| c.mesh_triangles[0][2] = 3,
            |c| c.bodies[0].capsules.push(0),
            |c| c.bodies.push(RigidBody { spheres: vec![1], ..Default::default() }),
            |c| c.bodies[0].restitution = 1.5,
            |c| c.bodies[0].inverse_mass = -1.0,
            |c| c.spheres = vec![[0.0; 4]; MAX_SHAPES + 1],
        ];
        for (index, damage) in broken.iter().enumerate() {
            let mut damaged = colliders();
            damage(&mut damaged);
            assert!(damaged.validate().is_err(), "damage {index} went unnoticed");
        }
    }
}
