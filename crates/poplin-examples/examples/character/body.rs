//! The character: skeleton, distance field of the body, skinning weights and animation.

use std::f32::consts::TAU;
use std::ops::Range;

use glam::{Affine3A, EulerRot, Quat, Vec3, vec3};

/// Bone: its joint to the parent and the tapered capsule of the body around it, in the rest pose
/// \[m\].
pub(crate) struct Bone {
    parent: Option<usize>,
    joint: Vec3,
    pub(crate) ends: [Vec3; 2],
    pub(crate) radii: [f32; 2],
}

pub(crate) const BONES: usize = 18;

// Of paired bones this is the left one; the right one follows.
pub(crate) const HIPS: usize = 0;
pub(crate) const SPINE: usize = 1;
const CHEST: usize = 2;
const SHOULDERS: usize = 3;
const NECK: usize = 4;
const HEAD: usize = 5;
pub(crate) const UPPER_ARM: usize = 6;
const FOREARM: usize = 8;
pub(crate) const THIGH: usize = 12;
const SHIN: usize = 14;
const FOOT: usize = 16;

/// Bones from the hips to the shoulders.
pub(crate) const TRUNK: Range<usize> = HIPS..NECK;
/// Bones from the hips to the elbows.
pub(crate) const TORSO: Range<usize> = HIPS..FOREARM;

/// Duration of an animation cycle \[s\].
const CYCLE: f64 = 7.5;
/// Duration of the walk in a cycle \[s\].
const WALK: f32 = 4.0;
/// Length of the walk in a cycle \[m\].
const DISTANCE: f32 = 3.6;
/// Radius of the circular path \[m\].
const CIRCLE_RADIUS: f32 = 1.7;
/// Length of two steps \[m\].
const STRIDE: f32 = 1.3;

/// Pose of the character.
pub(crate) struct BodyPose {
    /// Transform from the local space of character and clothes to world space. The character stands
    /// at the local origin and faces z.
    pub(crate) root: Affine3A,
    /// Transform of each bone from the rest pose to this pose, in local space.
    pub(crate) bones: [Affine3A; BONES],
}

/// Skinning weights of a point; they add up to 1.
#[derive(Clone, Copy, Default)]
pub(crate) struct Weights {
    pub(crate) bones: [u32; 4],
    pub(crate) weights: [f32; 4],
}

pub(crate) struct Body {
    pub(crate) bones: Vec<Bone>,
}

impl Body {
    pub(crate) fn new() -> Self {
        let mut bones = Vec::new();
        let mut add = |parent, joint, ends: [Vec3; 2], radii| {
            bones.push(Bone { parent, joint, ends, radii });
        };
        let across = |x: f32, y: f32, z: f32| [vec3(-x, y, z), vec3(x, y, z)];
        add(None, vec3(0.0, 0.97, 0.0), across(0.062, 0.93, -0.01), [0.1; 2]);
        let spine = [vec3(0.0, 1.02, -0.005), vec3(0.0, 1.22, 0.0)];
        add(Some(HIPS), vec3(0.0, 1.02, 0.0), spine, [0.096, 0.1]);
        add(Some(SPINE), vec3(0.0, 1.16, 0.0), across(0.055, 1.28, -0.005), [0.1; 2]);
        add(Some(CHEST), vec3(0.0, 1.3, 0.0), across(0.115, 1.388, -0.02), [0.06; 2]);
        let neck = [vec3(0.0, 1.41, -0.015), vec3(0.0, 1.52, 0.0)];
        add(Some(SHOULDERS), neck[0], neck, [0.055, 0.047]);
        let head = [vec3(0.0, 1.57, 0.025), vec3(0.0, 1.645, 0.0)];
        add(Some(NECK), vec3(0.0, 1.53, 0.0), head, [0.07, 0.09]);
        for (parent, a, b, radii) in [
            (SHOULDERS, vec3(0.16, 1.39, -0.015), vec3(0.3, 1.15, -0.015), [0.052, 0.04]),
            (UPPER_ARM, vec3(0.3, 1.15, -0.015), vec3(0.42, 0.935, 0.0), [0.039, 0.027]),
            (FOREARM, vec3(0.42, 0.935, 0.0), vec3(0.46, 0.85, 0.01), [0.03, 0.026]),
            (HIPS, vec3(0.088, 0.92, 0.0), vec3(0.095, 0.5, 0.0), [0.086, 0.055]),
            (THIGH, vec3(0.095, 0.5, 0.0), vec3(0.1, 0.09, -0.02), [0.055, 0.036]),
            (SHIN, vec3(0.1, 0.07, -0.03), vec3(0.11, 0.035, 0.12), [0.045, 0.032]),
        ] {
            for (side, x) in [1.0, -1.0].into_iter().enumerate() {
                // Trunk bones are the only unpaired parents.
                let parent = if TRUNK.contains(&parent) { parent } else { parent + side };
                let mirror = vec3(x, 1.0, 1.0);
                add(Some(parent), a * mirror, [a * mirror, b * mirror], radii);
            }
        }
        Self { bones }
    }

    /// Returns the signed distance from the capsule of a bone \[m\], below 0 inside.
    pub(crate) fn bone_distance(&self, bone: usize, point: Vec3) -> f32 {
        let Bone { ends: [a, b], radii, .. } = self.bones[bone];
        let (axis, length) = (b - a).normalize_and_length();
        let along = (point - a).dot(axis);
        let across = (point - a - axis * along).length();
        // The normals of the cone lean by asin(taper) towards the thin end, which shifts the center
        // of the nearest sphere.
        let taper = (radii[0] - radii[1]) / length;
        let center = (along - across * taper / (1.0 - taper * taper).sqrt()).clamp(0.0, length);
        (along - center).hypot(across) - radii[0] + taper * center
    }

    /// Returns the signed distance from the body of some bones in the rest pose \[m\], below 0
    /// inside. Bones blend smoothly within half of their radius.
    pub(crate) fn distance(&self, point: Vec3, bones: Range<usize>) -> f32 {
        bones.fold(f32::MAX, |before, bone| {
            let distance = self.bone_distance(bone, point);
            let blend = 0.5 * self.bones[bone].radii[1];
            // Polynomial smooth minimum of width `blend`.
            let overlap = (1.0 - (before - distance).abs() / blend).max(0.0);
            before.min(distance) - overlap * overlap * blend / 4.0
        })
    }

    /// Returns the gradient of the distance, by central differences.
    pub(crate) fn normal(&self, point: Vec3, bones: Range<usize>) -> Vec3 {
        let distance = |offset| self.distance(point + offset, bones.clone());
        let slope = Vec3::AXES.map(|axis| distance(1e-3 * axis) - distance(-1e-3 * axis));
        Vec3::from(slope).normalize_or_zero()
    }

    /// Projects a point to `margin` \[m\] outside the body, if it is closer or inside.
    pub(crate) fn outside(&self, mut point: Vec3, bones: Range<usize>, margin: f32) -> Vec3 {
        for _ in 0..8 {
            let missing = margin - self.distance(point, bones.clone());
            point += missing.max(0.0) * self.normal(point, bones.clone());
        }
        point
    }

    /// Returns the skinning weights of the four nearest bones at a point of the rest pose. They
    /// fall by a factor of e per `reach` \[m\] from the bone.
    pub(crate) fn weights(
        &self,
        point: Vec3,
        bones: impl IntoIterator<Item = usize>,
        reach: f32,
    ) -> Weights {
        let weight = |bone| (bone, (-self.bone_distance(bone, point) / reach).exp());
        let mut by_weight: Vec<_> = bones.into_iter().map(weight).collect();
        by_weight.sort_by(|a, b| b.1.total_cmp(&a.1));
        by_weight.truncate(4);
        let sum: f32 = by_weight.iter().map(|(_, weight)| weight).sum();
        let mut weights = Weights::default();
        for (slot, (bone, weight)) in by_weight.into_iter().enumerate() {
            (weights.bones[slot], weights.weights[slot]) = (bone as u32, weight / sum);
        }
        weights
    }

    /// Returns the pose at a time \[s\]. A cycle walks, waves and spins around once.
    pub(crate) fn pose(&self, time: f64) -> BodyPose {
        let cycle = (time / CYCLE).floor();
        let time = (time - cycle * CYCLE) as f32;
        let ramp = |start: f32, end: f32| {
            let x = ((time - start) / (end - start)).clamp(0.0, 1.0);
            x * x * (3.0 - 2.0 * x)
        };
        let walked = ramp(0.0, WALK);
        let part = (time / WALK).clamp(0.0, 1.0);
        let effort = 4.0 * part * (1.0 - part); // speed over the largest
        let (sin, cos) = (TAU * walked * DISTANCE / STRIDE).sin_cos();
        let wave = ramp(WALK - 0.3, WALK + 0.4) * (1.0 - ramp(WALK + 1.4, WALK + 2.0));
        let swing = wave * 0.35 * (11.0 * time).sin();

        let mut angles = [Vec3::ZERO; BONES]; // about x, y, z
        angles[HIPS] = vec3(0.03, 0.12 * sin, 0.03 * cos) * effort;
        angles[SPINE] = vec3(0.02, -0.1 * sin, -0.03 * cos) * effort;
        angles[CHEST] = vec3(0.02, -0.14 * sin, 0.0) * effort;
        angles[NECK] = vec3(-0.03, 0.06 * sin, 0.0) * effort;
        angles[HEAD] = vec3(0.0, 0.06 * sin * effort - 0.25 * wave, 0.1 * wave);
        for (side, x) in [1.0, -1.0].into_iter().enumerate() {
            let (sin, cos) = (x * sin * effort, x * cos * effort);
            let lifted = cos.max(0.0);
            angles[THIGH + side].x = -0.45 * sin - 0.12 * lifted;
            angles[SHIN + side].x = 0.12 * effort + 0.75 * lifted;
            angles[FOOT + side].x = 0.25 * sin - 0.15 * lifted;
            angles[UPPER_ARM + side] = vec3(0.4 * sin, 0.0, -0.34 * x);
            angles[FOREARM + side].x = -0.2 - 0.3 * effort - 0.15 * sin;
        }
        let right = |bone: usize| bone + 1;
        angles[right(UPPER_ARM)] = angles[right(UPPER_ARM)].lerp(vec3(-0.25, 0.0, -1.1), wave);
        angles[right(FOREARM)] =
            angles[right(FOREARM)].lerp(vec3(0.0, 0.0, -1.35), wave) + swing * Vec3::Z;

        let mut bones = [Affine3A::IDENTITY; BONES];
        for (index, Bone { parent, joint, .. }) in self.bones.iter().enumerate() {
            let Vec3 { x, y, z } = angles[index];
            let rotation = Quat::from_euler(EulerRot::YXZ, y, x, z);
            let about = Affine3A::from_rotation_translation(rotation, joint - rotation * joint);
            bones[index] = parent.map_or(about, |parent| bones[parent] * about);
        }
        // Moves the lower foot to the ground.
        let height = |bone: usize, end: usize| {
            let Bone { ends, radii, .. } = &self.bones[bone];
            bones[bone].transform_point3(ends[end]).y - radii[end]
        };
        let lowest = [(FOOT, 0), (FOOT, 1), (FOOT + 1, 0), (FOOT + 1, 1)]
            .into_iter()
            .map(|(bone, end)| height(bone, end))
            .fold(f32::MAX, f32::min);
        let down = Affine3A::from_translation(vec3(0.0, -lowest, 0.0));
        bones.iter_mut().for_each(|bone| *bone = down * *bone);

        let revolutions = (cycle + f64::from(walked)) * f64::from(DISTANCE / CIRCLE_RADIUS / TAU);
        let angle = TAU * revolutions.fract() as f32;
        let whirl = TAU * ramp(WALK + 1.9, WALK + 3.2);
        let position = CIRCLE_RADIUS * vec3(-angle.cos(), 0.0, angle.sin());
        let root =
            Affine3A::from_rotation_translation(Quat::from_rotation_y(angle + whirl), position);
        BodyPose { root, bones }
    }
}

impl Weights {
    /// Returns the transform of these weights from the rest pose, by linear blend skinning.
    pub(crate) fn blend(&self, pose: &BodyPose) -> Affine3A {
        let mut sum = Affine3A::ZERO;
        for (&bone, &weight) in self.bones.iter().zip(&self.weights) {
            let bone = pose.bones[bone as usize];
            sum.matrix3 += bone.matrix3 * weight;
            sum.translation += bone.translation * weight;
        }
        sum
    }
}
