//! Warnings about moving pins, local spaces and colliders.

use poplin_model::Rigid;
use poplin_scene::{BuiltCollider, Extent};

use super::Warning;
use crate::job_cloth::JobCloth;
use crate::numbers::short_length;

/// Speed of pins, local spaces and colliders beyond which they are reported [m/s].
const MAX_SPEED: f32 = 100.0;

/// Motion of a collider in an iteration, in its thickness, beyond which it may pass through cloth.
const MAX_TRAVEL: f32 = 0.5;

impl Warning {
    /// Warns of pins, a local space and colliders of a cloth that move faster than [`MAX_SPEED`].
    pub(in crate::run) fn of_motion(
        frames: u32,
        frame_rate: f32,
        job_cloth: &JobCloth,
    ) -> impl Iterator<Item = Self> + use<> {
        let speed_of = |position: &dyn Fn(f64) -> [f32; 3]| {
            let time = |frame: u32| f64::from(frame) / f64::from(frame_rate);
            // Speed by differences of positions from frame to frame.
            let mut fastest = (0.0, 0);
            let mut before = position(0.0);
            for frame in 1..=frames {
                let now = position(time(frame));
                let square = (0..3).map(|axis| (now[axis] - before[axis]).powi(2)).sum::<f32>();
                let speed = square.sqrt() * frame_rate;
                if speed > fastest.0 {
                    fastest = (speed, frame);
                }
                before = now;
            }
            fastest
        };
        let fastest = |subject: &str, what: String, position: &dyn Fn(f64) -> [f32; 3]| {
            let (speed_m_per_s, frame) = speed_of(position);
            (speed_m_per_s > MAX_SPEED).then(|| {
                let text = format!(
                    "{what} moves at {speed_m_per_s:.0} m/s in frame {frame}, more than \
                     {MAX_SPEED} m/s; check the times and units of its keys"
                );
                Self::new("fast", subject, text)
                    .beyond(speed_m_per_s, MAX_SPEED)
                    .detail("what", what)
                    .detail("speed_m_per_s", speed_m_per_s)
                    .detail("frame", frame)
            })
        };
        let name = &job_cloth.name;
        let frequency = job_cloth.frequency(job_cloth.split.steps, frame_rate);
        let pins = job_cloth.moving.iter().filter_map(|moving| {
            // Of rotating pins the one farthest from the pivot is the fastest.
            let pins = moving.particles.iter();
            let pins = pins.map(|&particle| job_cloth.cloth.particles[particle as usize].position);
            // Squared distance from the pivot.
            let arm = |pin: &[f32; 3]| -> f32 {
                (0..3).map(|k| (pin[k] - moving.path.pivot[k]).powi(2)).sum()
            };
            let farthest = pins.max_by(|a, b| arm(a).total_cmp(&arm(b)))?;
            fastest(name, format!("a pin of cloth `{name}`"), &|time| {
                moving.path.motion(time).apply(farthest)
            })
        });
        let frame = job_cloth.has_moving_frame().then(|| {
            fastest(name, format!("the local space of cloth `{name}`"), &|time| {
                job_cloth.pose_at(0, time).translation
            })
        });
        let colliders = job_cloth.colliders().filter_map(|collider| {
            let what = format!("collider `{}` of cloth `{name}`", collider.name);
            // A turning collider carries its middle around its pivot.
            let middle = Extent::of(&collider.shape).middle().unwrap_or_default();
            let position = |time: f64| {
                let Rigid { translation, rotation } = collider.rigid_at(time);
                (rotation * middle + translation).as_vec3().to_array()
            };
            let fast = fastest(&collider.name, what, &position);
            fast.or_else(|| Self::of_skip(job_cloth, collider, speed_of(&position), frequency))
        });
        let fast = pins.chain(frame.flatten()).chain(colliders);
        let paths = job_cloth.moving.iter().map(|moving| {
            Self::of_turn(name, &format!("an animated pin of cloth `{name}`"), &moving.path.keys)
        });
        let of_frame = job_cloth.frame_keys();
        let of_frame = Self::of_turn(name, &format!("the local space of cloth `{name}`"), of_frame);
        let turns = paths.flatten().chain(of_frame).map(|warning| warning.detail("cloth", name));
        fast.chain(turns).chain(Self::of_pins(job_cloth)).collect::<Vec<_>>().into_iter()
    }

    /// Warns of a collider that passes through cloth between two iterations.
    fn of_skip(
        job_cloth: &JobCloth,
        collider: &BuiltCollider,
        (speed_m_per_s, frame): (f32, u32),
        frequency_hz: f32,
    ) -> Option<Self> {
        let (travel_m, thickness_m) = (speed_m_per_s / frequency_hz, collider.sizes()[0]);
        let skips =
            travel_m > MAX_TRAVEL * thickness_m && !job_cloth.cloth.config.contact.continuous;
        skips.then(|| {
            let (name, collider) = (&job_cloth.name, &collider.name);
            let needed_hz = (speed_m_per_s / (MAX_TRAVEL * thickness_m)).ceil();
            let text = format!(
                "collider `{collider}` moves by {} in an iteration of cloth `{name}`, at \
                 {speed_m_per_s:.0} m/s in frame {frame}, and is {} thin: it may pass through; use \
                 {needed_hz:.0} Hz, or `contact.continuous`",
                short_length(travel_m),
                short_length(thickness_m)
            );
            Self::of_cloth("skipping_collider", name, text)
                .beyond(travel_m, MAX_TRAVEL * thickness_m)
                .detail("collider", collider)
                .detail("needed_hz", needed_hz)
        })
    }
}
