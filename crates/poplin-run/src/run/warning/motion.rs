//! Warnings about moving pins, local spaces and colliders.

use super::Warning;
use crate::job_cloth::JobCloth;

/// Speed of pins, local spaces and colliders beyond which they are reported [m/s].
const MAX_SPEED: f32 = 100.0;

impl Warning {
    /// Warns of pins, a local space and colliders of a cloth that move faster than [`MAX_SPEED`].
    pub(in crate::run) fn of_motion(
        frames: u32,
        frame_rate: f32,
        job_cloth: &JobCloth,
    ) -> impl Iterator<Item = Self> + use<> {
        let fastest = |subject: &str, what: String, position: &dyn Fn(f64) -> [f32; 3]| {
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
            let (speed_m_per_s, frame) = fastest;
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
            fastest(&collider.name, what, &|time| {
                collider.rigid_at(time).translation.as_vec3().to_array()
            })
        });
        pins.chain(frame.flatten()).chain(colliders).collect::<Vec<_>>().into_iter()
    }
}
