//! Motion that drives a cloth: the causes to look for where it was frozen.

use poplin_scene::FrameKey;

use super::JobCloth;

/// Says what moved a frozen cloth; empty without anything.
pub(crate) fn moved_by(drivers: &[&str]) -> String {
    match drivers {
        [] => String::new(),
        [only] => format!("; it was moved by {only}"),
        [most @ .., last] => format!("; it was moved by {} and {last}", most.join(", ")),
    }
}

impl JobCloth {
    /// Returns the keys of its local space, rising in time; none if it does not move.
    pub(crate) fn frame_keys(&self) -> &[FrameKey] {
        self.frame.as_ref().map_or(&[], |frame| &frame.keys)
    }

    /// Returns the time of the last key of its pins, accelerations and local space \[s\].
    pub(crate) fn last_key(&self) -> f64 {
        let pins = self.moving.iter().flat_map(|moving| {
            moving.path.keys.last().map(|key| key.time).into_iter().chain(moving.path.release)
        });
        let pulls = self.accelerations.iter().filter_map(|pull| pull.keys.last());
        let frame = self.frame.iter().filter_map(|frame| frame.keys.last());
        let times = pins.chain(pulls.map(|key| key.time)).chain(frame.map(|key| key.time));
        times.map(f64::from).fold(0.0, f64::max)
    }

    /// Names of what moves the cloth besides gravity, constraints and colliders.
    pub(crate) fn drivers(&self) -> Vec<&'static str> {
        let air = &self.cloth.config.air;
        let is_blown = self.wind.is_some() || air.wind_velocity != [0.0; 3];
        [
            (air.feels_wind() && is_blown, "wind"),
            (air.pressure != 0.0, "pressure"),
            (!self.accelerations.is_empty(), "accelerations"),
            (!self.moving.is_empty(), "moving pins"),
            (self.has_moving_frame(), "the motion of its local space"),
            (!self.motion_spheres.is_empty(), "motion spheres"),
        ]
        .into_iter()
        .filter_map(|(acts, what)| acts.then_some(what))
        .collect()
    }

    /// Tests whether the local space moves.
    pub(crate) fn has_moving_frame(&self) -> bool {
        self.frame.is_some()
    }
}
