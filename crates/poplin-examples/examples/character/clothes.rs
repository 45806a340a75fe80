//! Clothes of the character. Every frame the rest shape of a garment is skinned like the body and
//! determines the motion and separation spheres of its particles.

use std::error::Error;
use std::f32::consts::TAU;
use std::sync::Arc;

use glam::{Affine3A, Vec3, vec3};
use poplin::model::{ColliderId, Inertia, ModelError, RenderMesh, Xpbd};
use poplin::prelude::*;

use super::body::{BONES, Body, BodyPose, HIPS, SPINE, THIGH, TORSO, TRUNK, Weights};

/// Distance of clothes from the skin \[m\].
const MARGIN: f32 = 0.016;
/// Distance of colliders from the capsules of the body \[m\].
pub(crate) const COLLIDER_MARGIN: f32 = 0.01;

const SUBSTEPS: u32 = 10;

/// Skinned rest point of a particle.
struct SkinPoint {
    /// Rest position of the particle in the rest pose \[m\].
    rest: Vec3,
    /// Direction away from the body.
    normal: Vec3,
    weights: Weights,
    /// Radius of the motion sphere \[m\]; 0 pins the particle.
    max_distance: f32,
    /// Distance from the body in the rest pose, the largest motion against the normal \[m\].
    clearance: f32,
}

/// Garment: cloth, render mesh, and its attachment to the body.
pub(crate) struct Garment {
    pub(crate) cloth: ClothDesc,
    pub(crate) render_mesh: Arc<RenderMesh>,
    pub(crate) worn: Worn,
}

/// Attachment of a garment to the body.
pub(crate) struct Worn {
    /// Skinned rest point of each particle.
    skin: Vec<SkinPoint>,
    /// Capsule collider of each bone.
    limbs: Vec<ColliderId>,
}

/// Builds a cape that lies on the shoulders and hangs down the back.
pub(crate) fn cape(body: &Body) -> Result<Garment, Box<dyn Error>> {
    const COLUMNS: u32 = 41;
    const ROWS: u32 = 35;
    const STEP: f32 = 0.03;
    let mut mesh = Mesh::grid(COLUMNS, ROWS, 1.0, 1.0);
    for column in 0..COLUMNS {
        // From the left front around the back to the right front.
        let (sin, cos) = ((column as f32 / (COLUMNS - 1) as f32 - 0.5) * 3.1).sin_cos();
        let outward = vec3(-sin, 0.0, -cos);
        let mut point = body.outside(vec3(0.0, 1.46, -0.01) + 0.07 * outward, TORSO, MARGIN);
        for row in 0..ROWS {
            mesh.positions[(row * COLUMNS + column) as usize] = point.to_array();
            // Outward along the shoulders, then down along the body or freely.
            let slope = if row < 5 { 2.5 } else { 0.38 };
            let down = (slope * outward - Vec3::Y).normalize();
            let next = body.outside(point + STEP * down, TORSO, MARGIN);
            let next = point + STEP * (next - point).normalize();
            point = body.outside(next, TORSO, MARGIN);
        }
    }
    let max_distance = |vertex: u32| {
        let length = (vertex / COLUMNS) as f32 * STEP;
        (0.7 * (length - 0.07)).clamp(0.0, 0.5)
    };
    Garment::new(body, &mesh, (TRUNK.collect(), 0.06), max_distance, 0.25)
}

/// Builds a skirt from the waist to the knees.
pub(crate) fn skirt(body: &Body) -> Result<Garment, Box<dyn Error>> {
    const SEGMENTS: u32 = 64;
    const RINGS: u32 = 23;
    const STEP: f32 = 0.025;
    const FLARE: f32 = 0.45;
    let mut mesh = Mesh::tube(SEGMENTS, RINGS, 1.0, 1.0, 1.0);
    for segment in 0..SEGMENTS {
        let (sin, cos) = (segment as f32 / SEGMENTS as f32 * TAU).sin_cos();
        let outward = vec3(cos, 0.0, sin);
        let mut radius = 0.05;
        for ring in 0..RINGS {
            let height = 1.05 - STEP * ring as f32;
            // Horizontal march out of the body; the distance is a lower bound of the step.
            for _ in 0..30 {
                let point = radius * outward + height * Vec3::Y;
                radius += (MARGIN - body.distance(point, 0..BONES)).max(0.0);
            }
            mesh.positions[(ring * SEGMENTS + segment) as usize] =
                (radius * outward + height * Vec3::Y).to_array();
            radius += FLARE * STEP;
        }
    }
    let max_distance = |vertex: u32| {
        let length = (vertex / SEGMENTS) as f32 * STEP;
        (length - 0.03).clamp(0.0, 0.4)
    };
    Garment::new(body, &mesh, (vec![HIPS, SPINE, THIGH, THIGH + 1], 0.03), max_distance, 0.15)
}

impl Garment {
    /// Cooks a mesh in the rest pose of the body, and computes skinning weights and motion limits
    /// of its vertices.
    fn new(
        body: &Body,
        mesh: &Mesh,
        (bones, reach): (Vec<usize>, f32),
        max_distance: impl Fn(u32) -> f32,
        density: f32,
    ) -> Result<Self, Box<dyn Error>> {
        let painted = |(vertex, &position): (usize, &[f32; 3])| {
            let rest = Vec3::from(position);
            SkinPoint {
                rest,
                normal: body.normal(rest, 0..BONES),
                weights: body.weights(rest, bones.iter().copied(), reach),
                max_distance: max_distance(vertex as u32),
                clearance: body.distance(rest, 0..BONES),
            }
        };
        let skin: Vec<_> = mesh.positions.iter().enumerate().map(painted).collect();
        let is_pinned = |&vertex: &u32| skin[vertex as usize].max_distance == 0.0;
        let options = CookOptions {
            density,
            pins: (0..skin.len() as u32).filter(is_pinned).collect(),
            bending: false,
            bends: true,
            ..CookOptions::default()
        };
        // No two vertices coincide: vertex and particle indices are equal.
        let cooked = cook(mesh, &options)?;
        let render_mesh = Arc::new(cooked.render_mesh(mesh, &Default::default())?);
        let mut cloth = cooked.into_cloth();
        let mut xpbd = Xpbd { substeps: SUBSTEPS, bending_rigidity: 3e-5, ..Xpbd::default() };
        xpbd.phases.shearing.compliance = 0.02;
        cloth.config.solver = xpbd.into();
        cloth.config.damping = [0.2; 3];
        cloth.config.contact.friction = 0.2;
        cloth.config.air = Air { drag: 0.02, lift: 0.01, ..Air::default() };
        cloth.config.cloth_collision.distance = Some(0.03);
        // Game characters accelerate too fast: halve the inertial forces.
        cloth.config.inertia =
            Inertia { linear: [0.5; 3], angular: [0.5; 3], ..Inertia::default() };
        // Fully stiff constraints, such as motion spheres, correct the full error in every substep.
        cloth.config.set_stiffness_frequency(60.0 * SUBSTEPS as f32);
        let mut limbs = Vec::new();
        for bone in &body.bones {
            let ball = |end: usize| Sphere {
                center: bone.ends[end].to_array(),
                radius: bone.radii[end] + COLLIDER_MARGIN,
            };
            limbs.push(cloth.colliders.add(Capsule { ends: [ball(0), ball(1)] })?);
        }
        let worn = Worn { skin, limbs };
        // Starts in the first pose of the character.
        let pose = body.pose(0.0);
        cloth.pose = pose_of(&pose.root);
        for (particle, (skin, _)) in cloth.particles.iter_mut().zip(worn.spheres(&pose)) {
            particle.position = skin.center;
        }
        for (&limb, bone) in worn.limbs.iter().zip(&pose.bones) {
            cloth.colliders.teleport(limb, pose_of(bone))?;
        }
        Ok(Self { cloth, render_mesh, worn })
    }
}

impl Worn {
    /// Returns the motion and separation sphere of each particle in a pose.
    pub(crate) fn spheres(&self, pose: &BodyPose) -> impl Iterator<Item = (Sphere, Sphere)> {
        const BACKSTOP_RADIUS: f32 = 0.15;
        self.skin.iter().map(|point| {
            let moved = point.weights.blend(pose);
            let center = moved.transform_point3(point.rest).to_array();
            let normal = moved.transform_vector3(point.normal).normalize_or_zero().to_array();
            // Far from the body, limbs pass below the cloth: colliders instead of a backstop.
            let radius = if point.clearance < 0.05 { BACKSTOP_RADIUS } else { 0.0 };
            let motion = Sphere { center, radius: point.max_distance };
            (motion, Sphere::backstop(center, normal, point.clearance, radius))
        })
    }

    /// Moves the targets of a cloth to a pose of the body at the end of the next frame.
    pub(crate) fn follow(&self, pose: &BodyPose, cloth: &mut Cloth) -> Result<(), ModelError> {
        let (motion, separation): (Vec<_>, Vec<_>) = self.spheres(pose).unzip();
        cloth.set_pose(pose_of(&pose.root))?;
        cloth.set_motion_spheres(&motion)?;
        cloth.set_separation_spheres(&separation)?;
        for (&limb, bone) in self.limbs.iter().zip(&pose.bones) {
            cloth.colliders_mut().set_pose(limb, pose_of(bone))?;
        }
        Ok(())
    }
}

fn pose_of(placement: &Affine3A) -> Pose {
    let (_, rotation, translation) = placement.to_scale_rotation_translation();
    Pose { translation: translation.to_array(), rotation: rotation.to_array() }
}
