//! Wind with gusts: seeded noise in time.
//!
//! A wind of direction `a` has at time `t` the gust
//! `strength * (n0(t) a + direction_spread * (m(t) - (m(t) . a) a))`, with `m = (n1, n2, n3)`.
//! Each `n` is value noise of two octaves, `(2 v(t/period) + v(2 t/period)) / 3`; `v` interpolates
//! one random number per interval, uniform in `-1..1`, with the cubic `3 s^2 - 2 s^3`. A gust
//! therefore has mean zero, is continuous with continuous slope, and along the wind never exceeds
//! its strength. The random numbers are SplitMix64 of seed, channel and interval. All arithmetic is
//! correctly rounded: a scene has bit-identical wind on every machine.

use glam::DVec3;
use poplin_geometry::{split_mix, wide};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Wind, uniform around a cloth. Acts only with a drag or lift coefficient above 0 in the cloth's
/// settings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Wind {
    /// Mean velocity, world axes \[m/s\], each `-1000..=1000` (default 0).
    pub velocity: [f32; 3],
    /// Variation of the velocity in time (default none: a steady wind).
    pub gust: Gust,
}

/// Variation of a wind in time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Gust {
    /// Maximum change along the wind \[m/s\], `0..=1000` (default 0: none).
    pub strength: f32,
    /// Time from one gust to the next \[s\], `0.01..=1e6` (default 1); the finer of the two octaves
    /// has half of it.
    pub period: f32,
    /// Seed of the noise (default 0).
    pub seed: u64,
    /// Change across the wind as a fraction of `strength`, per axis, `0..=1` (default 0.3). In
    /// still air (`velocity` 0) there is no "along": gusts then have this fraction of `strength` in
    /// every direction.
    pub direction_spread: f32,
}

impl Default for Gust {
    fn default() -> Self {
        Self { strength: 0.0, period: 1.0, seed: 0, direction_spread: 0.3 }
    }
}

impl Default for Wind {
    fn default() -> Self {
        Self { velocity: [0.0; 3], gust: Gust::default() }
    }
}

impl Wind {
    /// Returns the velocity [m/s] at a time \[s\] from the start of the scene.
    pub fn velocity_at(&self, time: f64) -> [f32; 3] {
        if self.gust.strength == 0.0 {
            return self.velocity;
        }
        let mean = wide(self.velocity);
        (mean + self.gust.at(mean, time)).to_array().map(|component| component as f32)
    }
}

impl Gust {
    /// Returns the deviation from the mean wind [m/s] at a time \[s\].
    fn at(&self, mean: DVec3, time: f64) -> DVec3 {
        let phase = time / f64::from(self.period);
        let noise = |channel: u64| noise(self.seed, channel, phase);
        // In still air `along` is 0, so that the gust has no preferred direction.
        let along = mean / mean.length().max(f64::MIN_POSITIVE);
        let any = DVec3::new(noise(1), noise(2), noise(3));
        // Projection perpendicular to the wind.
        let across = any - along * any.dot(along);
        (along * noise(0) + across * f64::from(self.direction_spread)) * f64::from(self.strength)
    }
}

/// Noise of two octaves in `-1..1`, with mean zero; `phase` is in intervals of the coarser octave.
fn noise(seed: u64, channel: u64, phase: f64) -> f64 {
    (2.0 * value_noise(seed, 2 * channel, phase) + value_noise(seed, 2 * channel + 1, 2.0 * phase))
        / 3.0
}

/// Random values at whole phases, interpolated by cubics with zero slope at both ends.
fn value_noise(seed: u64, channel: u64, phase: f64) -> f64 {
    let begin = phase.floor();
    let fraction = phase - begin;
    // smoothstep: 3 s^2 - 2 s^3
    let smooth = fraction * fraction * (3.0 - 2.0 * fraction);
    let interval = begin as i64 as u64;
    let [from, to] =
        [interval, interval.wrapping_add(1)].map(|interval| random(seed, channel, interval));
    from + (to - from) * smooth
}

/// Random number in the open interval `-1..1`, symmetric about 0.
fn random(seed: u64, channel: u64, interval: u64) -> f64 {
    let stream = split_mix(split_mix(seed, channel), interval);
    // 52 random bits and a half: (2 k + 1) / 2^52 - 1 is exact.
    ((stream >> 12) as f64 + 0.5) / (1_u64 << 51) as f64 - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIND: Wind = Wind {
        velocity: [3.0, 0.0, 4.0],
        gust: Gust { strength: 2.0, period: 0.7, seed: 5, direction_spread: 0.25 },
    };

    fn gust(time: f64) -> DVec3 {
        DVec3::from(WIND.velocity_at(time).map(f64::from)) - DVec3::new(3.0, 0.0, 4.0)
    }

    const ALONG: DVec3 = DVec3::new(0.6, 0.0, 0.8);

    #[test]
    fn equal_seeds_give_equal_bits_and_different_seeds_differ() {
        assert_eq!(WIND.velocity_at(1.234).map(f32::to_bits), GOLDEN);
        let other = Wind { gust: Gust { seed: 6, ..WIND.gust }, ..WIND };
        assert_ne!(WIND.velocity_at(1.234), other.velocity_at(1.234));
    }

    const GOLDEN: [u32; 3] = [1_079_185_765, 3_197_530_583, 1_083_375_101];

    #[test]
    fn gusts_cancel_out_in_the_long_run() {
        let count = 200_000;
        let mean = (0..count).map(|k| gust(f64::from(k) * 0.05)).sum::<DVec3>() / f64::from(count);
        // About 14,000 independent intervals: the standard error is below 1 % of the strength.
        assert!(mean.length() < 0.04, "{mean}");
    }

    #[test]
    fn gusts_keep_within_their_strength_and_use_most_of_it() {
        let gusts: Vec<DVec3> = (0..50_000).map(|k| gust(f64::from(k) * 0.03)).collect();
        let largest =
            |part: fn(DVec3) -> f64| gusts.iter().map(|&g| part(g).abs()).fold(0.0, f64::max);
        let along = largest(|g| g.dot(ALONG));
        let across = largest(|g| (g - ALONG * g.dot(ALONG)).length());
        assert!((1.6..=2.0001).contains(&along), "{along}");
        assert!((0.4..=2.0 * 0.25 * 3.0_f64.sqrt()).contains(&across), "{across}");
    }

    #[test]
    fn gusts_have_neither_steps_nor_kinks() {
        let step = 1e-4;
        let slope = |time: f64| (value_noise(5, 0, time + step) - value_noise(5, 0, time)) / step;
        for k in 0..20_000 {
            let time = f64::from(k) * 1e-3;
            assert!(slope(time).abs() <= 3.001, "at {time}: at most 1.5 times the span of 2");
            assert!(
                (slope(time + step) - slope(time)).abs() < 2e-3,
                "at {time}: at most 6 times the span per interval"
            );
        }
    }

    #[test]
    fn steady_wind_is_constant_and_still_air_gusts_everywhere() {
        let steady = Wind { gust: Gust { strength: 0.0, ..WIND.gust }, ..WIND };
        assert_eq!(steady.velocity_at(9.87), WIND.velocity);
        let still = Wind { velocity: [0.0; 3], ..WIND };
        assert!(
            (0..100)
                .map(|k| still.velocity_at(f64::from(k)))
                .all(|v| v.iter().all(|x| x.abs() <= 0.5 && *x != 0.0))
        );
    }
}
