//! Warnings about how a scene starts: cloths that are too close, pins that jump, keys that turn too
//! far, spins that fade.

use std::collections::HashMap;

use glam::{IVec3, Vec3};
use poplin_model::ContactMode;
use poplin_scene::FrameKey;

use super::Warning;
use crate::job_cloth::{JobCloth, mean_rest_length};
use crate::numbers::short_length;

/// Part of the collision distance below which cloths push each other apart visibly.
const CLOSE: f32 = 0.7;

/// Particles of a scene beyond which distances at the start are not measured.
const MAX_MEASURED: usize = 2_000_000;

/// Difference of two angles from which a turn between two keys is ambiguous [degrees].
const HALF_TURN: f32 = 180.0;

/// Part of its spin that cloth loses per second and that is not reported.
const MAX_LOSS: f32 = 0.15;

/// Loss of spin per second over `omega^2 h`, for an angular velocity omega and a step h;
/// `tests/cpu/second_order.rs` has measurements.
const LOSS: f32 = 0.7;

impl Warning {
    /// Warns of two cloths whose particles start closer than their collision distance.
    pub(super) fn of_distance(job_cloths: &[JobCloth], contact: ContactMode) -> Option<Self> {
        let particles = job_cloths.iter().map(|it| it.particle_count() * it.offsets.len());
        if contact == ContactMode::Triangles || particles.sum::<usize>() > MAX_MEASURED {
            return None;
        }
        let cell = job_cloths.iter().map(cloth_distance).fold(0.0, f32::max);
        let at = |x: Vec3| (x / cell).floor().as_ivec3();
        let mut cells: HashMap<IVec3, Vec<&Start>> = HashMap::new();
        let starts: Vec<_> = starts(job_cloths).collect();
        let mut nearest: Option<(f32, f32, usize, usize)> = None;
        for start in &starts {
            let near = neighbours(at(start.position));
            let others = near.filter_map(|cell| cells.get(&cell)).flatten();
            for other in others.filter(|other| other.copy != start.copy) {
                let keeps = start.distance.min(other.distance);
                let part = start.position.distance(other.position) / keeps;
                if part < nearest.map_or(CLOSE, |(part, ..)| part) {
                    nearest = Some((part, keeps, other.cloth, start.cloth));
                }
            }
            cells.entry(at(start.position)).or_default().push(start);
        }
        let (part, keeps_m, first, second) = nearest?;
        let [first, second] = [first, second].map(|index| job_cloths[index].name.as_str());
        let starts_m = part * keeps_m;
        let between = if first == second {
            format!("copies of cloth `{first}`")
        } else {
            format!("cloths `{first}` and `{second}`")
        };
        let text = format!(
            "{between} start {} apart and keep {} between their particles: contact throws them \
             apart; move them, use finer cloth or triangle contact, or set \
             `cloth_collision.distance`",
            short_length(starts_m),
            short_length(keeps_m)
        );
        let warning = Self::of_cloth("close_start", second, text).beyond(starts_m, keeps_m);
        Some(warning.detail("other_cloth", first))
    }

    /// Warns of pins whose path begins elsewhere than the mesh has them.
    pub(super) fn of_pins(job_cloth: &JobCloth) -> Option<Self> {
        let name = &job_cloth.name;
        let mean_edge_m = mean_rest_length(&job_cloth.cloth.fabric);
        let jumps = job_cloth.moving.iter().flat_map(|moving| {
            let start = moving.path.motion(0.0);
            moving.particles.iter().map(move |&particle| {
                let at = job_cloth.cloth.particles[particle as usize].position;
                Vec3::from(start.apply(at)).distance(Vec3::from(at))
            })
        });
        let jump_m = jumps.fold(0.0, f32::max);
        (jump_m > mean_edge_m).then(|| {
            let text = format!(
                "animated pins of cloth `{name}` begin {} from where its mesh has them, and jump \
                 there within the first frame, ahead of the cloth; begin their keys with the pose of the \
                 mesh (`{{ time = 0 }}`), or move the mesh there by `transform`",
                short_length(jump_m)
            );
            Self::of_cloth("pins_jump", name, text).beyond(jump_m, mean_edge_m).at("animated_pins")
        })
    }

    /// Warns of two successive keys of a path whose angles differ by half a turn or more.
    pub(super) fn of_turn(subject: &str, what: &str, keys: &[FrameKey]) -> Option<Self> {
        let turn = |pair: &[FrameKey]| {
            let by = (0..3).map(|k| (pair[1].rotation[k] - pair[0].rotation[k]).abs());
            let (stated, [from, to]) =
                (by.fold(0.0, f32::max), [&pair[0], &pair[1]].map(FrameKey::quaternion));
            let actual = from.angle_between(to).to_degrees() as f32;
            (stated >= HALF_TURN).then_some((pair[0].time, pair[1].time, stated, actual))
        };
        let (from, to, stated, actual) = keys.windows(2).find_map(turn)?;
        let text = format!(
            "{what} has keys at {from} s and {to} s whose angles differ by {stated:.0} degrees: \
             between keys it turns by the smaller angle, here {actual:.0}; add keys less than 180 degrees \
             apart, or give a collider a `spin`"
        );
        let warning = Self::new("long_turn", subject, text).beyond(stated, HALF_TURN);
        Some(warning.detail("actual_degrees", actual))
    }

    /// Warns of cloth that starts to spin so fast that the solver slows it.
    pub(super) fn of_spin(job_cloth: &JobCloth, step_s: f32) -> Option<Self> {
        let (name, spin) = (&job_cloth.name, job_cloth.spin);
        let share = job_cloth.cloth.config.solver.as_xpbd().map_or(0.0, |xpbd| xpbd.second_order);
        let loss = LOSS * spin * spin * step_s * (1.0 - share);
        (loss > MAX_LOSS && loss.is_finite()).then(|| {
            let needed_hz = (loss / MAX_LOSS / step_s).ceil();
            let text = format!(
                "cloth `{name}` spins at {:.0} degrees/s, and the solver, with {:.0} steps per second, \
                 takes about {:.0} % of that per second; use {needed_hz:.0} Hz, or `second_order` with \
                 xpbd",
                spin.to_degrees(),
                step_s.recip(),
                100.0 * (1.0 - (-loss).exp())
            );
            Self::of_cloth("fading_spin", name, text).beyond(loss, MAX_LOSS)
        })
    }
}

/// Particle at the start, of a cloth that collides with others.
struct Start {
    position: Vec3,
    /// Collision distance of its cloth [m].
    distance: f32,
    /// Index of its cloth.
    cloth: usize,
    /// Indices of its cloth and its copy.
    copy: (usize, usize),
}

fn cloth_distance(job_cloth: &JobCloth) -> f32 {
    job_cloth.cloth.contact_distances()[1]
}

/// Particles of all copies of the cloths that collide with others, in the world.
fn starts(job_cloths: &[JobCloth]) -> impl Iterator<Item = Start> {
    let all = job_cloths.iter().enumerate().map(|(cloth, it)| (cloth, it, cloth_distance(it)));
    all.filter(|(.., distance)| *distance > 0.0).flat_map(|(cloth, job_cloth, distance)| {
        (0..job_cloth.offsets.len()).flat_map(move |copy| {
            let pose = job_cloth.pose_at(copy, 0.0);
            job_cloth.cloth.particles.iter().map(move |particle| Start {
                position: pose.apply(particle.position).into(),
                distance,
                cloth,
                copy: (cloth, copy),
            })
        })
    })
}

/// Cells around a cell, with itself.
fn neighbours(cell: IVec3) -> impl Iterator<Item = IVec3> {
    (0..27).map(move |k| cell + IVec3::new(k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1))
}
