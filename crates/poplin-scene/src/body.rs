//! Rigid bodies of a scene, and mass properties of their shapes.

use glam::{DMat3, DVec3};
use poplin_geometry::{MassProperties, outer, wide};
use poplin_model::Shape;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Extent;

/// Rigid body: a collider that cloths and gravity move. It passes through all other colliders and
/// bodies.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SceneBody {
    /// Mass \[kg\], `1e-9..=1e9`.
    pub mass: f32,
    /// Moments of inertia about the center of mass [kg m^2], `1e-15..=1e15`, around the world's
    /// axes in the start pose (default: those of its shape as a solid of uniform density).
    pub inertia: Option<[f32; 3]>,
    /// Center of mass at the start, in the world \[m\] (default: that of its shape as a solid of
    /// uniform density).
    pub center: Option<[f32; 3]>,
    /// Velocity of the center of mass at the start [m/s], each `-10000..=10000` (default 0).
    #[serde(default)]
    pub velocity: [f32; 3],
    /// Angular velocity at the start [degrees/s] around the world's axes, each `-36000..=36000`
    /// (default 0).
    #[serde(default)]
    pub angular_velocity: [f32; 3],
    /// Restitution: ratio of the speed of separation of cloth and body to their speed of approach,
    /// `0..=1` (default 0).
    #[serde(default)]
    pub restitution: f32,
    /// Acceleration of the body, world axes [m/s^2], each `-1e6..=1e6` (default 0, -9.81, 0).
    #[serde(default = "earth")]
    pub gravity: [f32; 3],
    /// Direction of a rail, world axes, of any length but 0: the body moves along it only and does
    /// not rotate, like the jaw of a gripper (default none: it is free).
    pub axis: Option<[f32; 3]>,
    /// Force along `axis` \[N\], `-1e9..=1e9` (default 0). In balance, cloth between the body
    /// and a collider at rest carries it.
    #[serde(default)]
    pub force: f32,
    /// Speed at which the drive no longer pushes along `axis` [m/s], `1e-6..=10000` (default 0.1):
    /// its force falls from `force` at rest to 0, linearly. Lower values damp more.
    #[serde(default = "default_max_speed")]
    pub max_speed: f32,
}

fn default_max_speed() -> f32 {
    0.1
}

fn earth() -> [f32; 3] {
    [0.0, -9.81, 0.0]
}

/// Rigid body in its start pose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BuiltBody {
    /// Keys of the body in the scene.
    pub scene: SceneBody,
    /// Center of mass in the world \[m\]; 0 on a rail, where nothing depends on it.
    pub center: DVec3,
    /// Displacement from it to the point that is reported as the body's position \[m\]: 0 unless it
    /// is on a rail.
    pub offset: DVec3,
    /// Inertia about the center of mass, world axes [kg m^2], symmetric and invertible.
    pub inertia: DMat3,
    /// Unit direction of the rail, if the body is on one.
    pub axis: Option<DVec3>,
}

impl BuiltBody {
    /// Creates the body of a shape in its start pose; `None` if the shape has no volume, or its
    /// inertia has no inverse.
    pub(super) fn new(scene: SceneBody, shape: &Shape) -> Option<Self> {
        if let Some(axis) = scene.axis {
            // A body on a rail does not rotate.
            let axis = wide(axis).try_normalize()?;
            let (center, inertia) = (DVec3::ZERO, DMat3::IDENTITY);
            let middle = || solid_of(shape).map(|solid| solid.center);
            let offset = scene.center.map(wide).or_else(middle).unwrap_or_default();
            return Some(Self { scene, center, offset, inertia, axis: Some(axis) });
        }
        let mass = f64::from(scene.mass);
        let solid = match (scene.center, scene.inertia) {
            (Some(_), Some(_)) => None,
            _ => Some(solid_of(shape)?),
        };
        let center = match (scene.center, &solid) {
            (None, Some(solid)) => solid.center,
            (stated, _) => wide(stated?),
        };
        let inertia = match (scene.inertia, &solid) {
            (None, Some(solid)) => {
                // Parallel axis theorem: I += m (r^2 1 - r r^T), as a stated center may differ from
                // the shape's.
                let arm = center - solid.center;
                let shift =
                    DMat3::from_diagonal(DVec3::splat(arm.length_squared())) - outer(arm, arm);
                (solid.inertia + shift) * mass
            }
            (stated, _) => DMat3::from_diagonal(wide(stated?)),
        };
        let is_sound = center.is_finite() && inertia.inverse().is_finite();
        is_sound.then_some(Self { scene, center, offset: DVec3::ZERO, inertia, axis: None })
    }

    /// Returns the velocity at the end of a step of `dt` seconds without contact, from that at its
    /// start [m/s].
    pub fn accelerated(&self, velocity: DVec3, dt: f64) -> DVec3 {
        let gravity = wide(self.scene.gravity);
        let Some(axis) = self.axis else { return velocity + gravity * dt };
        // m dv/dt = F (1 - v / v_max) + m g . a, implicit in v
        let push = f64::from(self.scene.force) / f64::from(self.scene.mass);
        let speed = velocity.dot(axis) + (push + gravity.dot(axis)) * dt;
        axis * (speed / (1.0 + push.abs() * dt / f64::from(self.scene.max_speed)))
    }

    /// Returns the velocity after an impulse \[N s\] [m/s].
    pub fn struck(&self, velocity: DVec3, impulse: DVec3) -> DVec3 {
        let velocity = velocity + impulse / f64::from(self.scene.mass);
        self.axis.map_or(velocity, |axis| axis * velocity.dot(axis))
    }
}

/// Mass properties of a shape as a solid; `None` if it has no volume.
fn solid_of(shape: &Shape) -> Option<MassProperties> {
    match shape {
        Shape::Sphere(ball) => Some(MassProperties::of_ball(wide(ball.center), ball.radius.into())),
        Shape::Capsule(capsule) => MassProperties::of_round_cone(
            capsule.ends.map(|end| (wide(end.center), f64::from(end.radius))),
        ),
        Shape::Parallelepiped(it) => {
            Some(MassProperties::of_parallelepiped(wide(it.corner), it.edges.map(wide)))
        }
        _ => match Extent::of(shape) {
            Extent::Surface(triangles) => MassProperties::of_triangles(&triangles),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poplin_model::{Capsule, Parallelepiped, Placement, Plane, Rigid, Sphere, TriangleMesh};

    /// Computes center and inertia of 1 kg of a solid by the midpoints of a fine grid.
    fn counted(low: f64, high: f64, is_inside: impl Fn(DVec3) -> bool) -> (DVec3, DMat3) {
        let count = 60;
        let step = (high - low) / f64::from(count);
        let at = |k: i32| low + (f64::from(k) + 0.5) * step;
        let (mut volume, mut first, mut second) = (0.0, DVec3::ZERO, DMat3::ZERO);
        for (i, j, k) in (0..count)
            .flat_map(|i| (0..count).flat_map(move |j| (0..count).map(move |k| (i, j, k))))
        {
            let x = DVec3::new(at(i), at(j), at(k));
            if is_inside(x) {
                volume += 1.0;
                first += x;
                second += outer(x, x);
            }
        }
        let counted = MassProperties::of_integrals(DVec3::ZERO, volume, first, second).unwrap();
        (counted.center, counted.inertia)
    }

    fn assert_near(
        solid: MassProperties,
        (center, inertia): (DVec3, DMat3),
        error: f64,
        what: &str,
    ) {
        assert!(
            (solid.center - center).length() < error,
            "{what}: {} is not {center}",
            solid.center
        );
        let difference = solid.inertia - inertia;
        let largest = difference.to_cols_array().map(f64::abs).into_iter().fold(0.0, f64::max);
        assert!(largest < error, "{what}: {} is not {inertia}", solid.inertia);
    }

    #[test]
    fn capsule_mass_properties_match_a_voxel_count() {
        for radii in [[0.3, 0.3], [0.2, 0.5], [0.6, 0.1], [0.9, 0.1]] {
            let centers = [[-0.2, 0.1, 0.0], [0.3, -0.2, 0.3]];
            let [a, b] = std::array::from_fn(|k| Sphere { center: centers[k], radius: radii[k] });
            let solid = solid_of(&Capsule { ends: [a, b] }.into()).unwrap();
            // A point is in the hull if it is in the ball at the best position between the ends.
            let is_inside = |x: DVec3| {
                (0..=100).any(|step| {
                    let t = f64::from(step) / 100.0;
                    let center = wide(a.center).lerp(wide(b.center), t);
                    let radius = f64::from(a.radius) + t * f64::from(b.radius - a.radius);
                    x.distance_squared(center) <= radius * radius
                })
            };
            let reach = f64::from(radii[0].max(radii[1])) + 0.3;
            assert_near(solid, counted(-reach, reach, is_inside), 2e-3, &format!("{radii:?}"));
        }
    }

    #[test]
    fn boxes_agree_as_edges_as_planes_and_as_triangles() {
        let shape = Parallelepiped {
            corner: [-0.1, -0.2, -0.3],
            edges: [[0.2, 0.0, 0.0], [0.0, 0.4, 0.0], [0.0, 0.0, 0.6]],
        };
        let of_box = solid_of(&shape.into()).unwrap();
        let moments = DVec3::new(0.16 + 0.36, 0.04 + 0.36, 0.04 + 0.16) / 12.0;
        let expected = (DVec3::ZERO, DMat3::from_diagonal(moments));
        assert_near(of_box, expected, 1e-7, "edges");
        let plane = |axis: usize, sign: f32| {
            let mut normal = [0.0; 3];
            normal[axis] = sign;
            Plane { normal, offset: 0.1 * (axis + 1) as f32 }
        };
        let planes = (0..3).flat_map(|axis| [plane(axis, 1.0), plane(axis, -1.0)]).collect();
        let of_planes = solid_of(&Shape::Convex(planes)).unwrap();
        assert_near(of_planes, expected, 1e-6, "planes");
        let corner = |k: u32| {
            let bit = |axis: u32| if k >> axis & 1 == 1 { 0.1 } else { -0.1 };
            [bit(0), 2.0 * bit(1), 3.0 * bit(2)]
        };
        let sides =
            [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        let triangles: Vec<_> =
            sides.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
        let mesh =
            TriangleMesh { vertices: (0..8).map(corner).collect(), triangles: triangles.into() };
        assert_near(solid_of(&mesh.into()).unwrap(), expected, 1e-7, "triangles");
    }

    #[test]
    fn shapes_without_volume_need_a_stated_center_and_inertia() {
        let body = SceneBody {
            mass: 1.0,
            inertia: None,
            center: None,
            velocity: [0.0; 3],
            angular_velocity: [0.0; 3],
            restitution: 0.0,
            gravity: earth(),
            axis: None,
            force: 0.0,
            max_speed: default_max_speed(),
        };
        let half_space = Plane { normal: [0.0, 1.0, 0.0], offset: 0.0 };
        for shape in [half_space.into(), Shape::Convex(vec![half_space].into())] {
            assert_eq!(BuiltBody::new(body, &shape), None, "{shape:?}");
            let stated = SceneBody { inertia: Some([1.0; 3]), center: Some([0.0; 3]), ..body };
            assert!(BuiltBody::new(stated, &shape).is_some());
        }
    }

    #[test]
    fn a_body_on_a_rail_moves_along_its_axis_only() {
        let text = "[[cloth]]\ngrid = { columns = 2, rows = 2, width = 1, height = 1 }\n[[collider]]\n\
            sphere = { radius = 1 }\n[collider.body]\nmass = 0.5\ngravity = [0, 0, 0]\naxis = [0, 0, -2]\n\
            force = 3\nmax_speed = 0.2\n";
        let scene = crate::Scene::parse(text, "scene.toml").unwrap();
        let body = scene.build_colliders().unwrap()[0].body.unwrap();
        let dt = 1.0 / 480.0;
        let mut velocity = DVec3::ZERO;
        (0..2000).for_each(|_| velocity = body.accelerated(velocity, dt));
        assert!((velocity - DVec3::new(0.0, 0.0, -0.2)).length() < 1e-7, "{velocity}");
        // The impulse of 3 N over a step balances the force at rest.
        let kicked = body.accelerated(DVec3::ZERO, dt);
        let struck = body.struck(kicked, DVec3::new(7.0, 5.0, 0.5 * kicked.length()));
        assert!(struck.length() < 1e-9, "{struck}");
        // Reported where the shape is.
        let text = text.replace("radius = 1", "radius = 1, center = [0, 5, 2]");
        let scene = crate::Scene::parse(&text, "scene.toml").unwrap();
        let body = scene.build_colliders().unwrap()[0].body.unwrap();
        assert_eq!(body.center + body.offset, DVec3::new(0.0, 5.0, 2.0));
    }

    #[test]
    fn a_polygonal_cylinder_has_nearly_the_inertia_of_a_round_one() {
        let rotation = glam::DQuat::from_rotation_z(0.5 * std::f64::consts::PI);
        let at = Placement::new(1.0, Rigid { translation: DVec3::X, rotation });
        let shape = Shape::cylinder(0.5, [0.2, 0.2], 64).transformed(&at);
        let (square, length) = (0.04, 1.0);
        let [around, across] = [square / 2.0, square / 4.0 + length / 12.0];
        let expected = (DVec3::X, DMat3::from_diagonal(DVec3::new(around, across, across)));
        assert_near(solid_of(&shape).unwrap(), expected, 2e-4, "cylinder");
    }
}
