//! Random values of a sweep. Each follows from its index only.

use poplin_geometry::split_mix;
use schemars::JsonSchema;
use serde::Deserialize;

/// Distribution of random numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Distribution {
    /// Uniform between two numbers.
    Uniform([f64; 2]),
    /// Uniform in the logarithm: as probable from 1 to 2 as from 2 to 4.
    LogUniform([f64; 2]),
    /// Normal distribution.
    Normal(Normal),
}

/// Normal distribution.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Normal {
    /// Mean.
    pub(super) mean: f64,
    /// Standard deviation, 0 or more.
    pub(super) deviation: f64,
}

impl Distribution {
    /// Returns the value of a parameter in a job.
    pub(super) fn sample(self, seed: u64, job: u64, parameter: u64) -> f64 {
        let stream = split_mix(split_mix(seed, job), parameter);
        match self {
            Self::Uniform([min, max]) => min + (max - min) * fraction(stream, 0),
            Self::LogUniform([min, max]) => {
                let log = min.ln() + (max.ln() - min.ln()) * fraction(stream, 0);
                // exp(ln x) may round past the ends.
                log.exp().clamp(min, max)
            }
            // Box and Muller, "A note on the generation of random normal deviates", 1958: sqrt(-2
            // ln u1) cos(2 pi u2) is normal.
            Self::Normal(Normal { mean, deviation }) => {
                let radius = (-2.0 * fraction(stream, 0).ln()).sqrt();
                let angle = std::f64::consts::TAU * fraction(stream, 1);
                mean + deviation * radius * angle.cos()
            }
        }
    }
}

/// Random number in the open interval `0..1`.
fn fraction(stream: u64, index: u64) -> f64 {
    ((split_mix(stream, index) >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(distribution: Distribution) -> [f64; 4] {
        let samples: Vec<_> = (0..20_000).map(|job| distribution.sample(7, job, 3)).collect();
        let mean = samples.iter().sum::<f64>() / 20_000.0;
        let variance = samples.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 20_000.0;
        let least = samples.iter().copied().fold(f64::INFINITY, f64::min);
        [mean, variance.sqrt(), least, samples.into_iter().fold(f64::NEG_INFINITY, f64::max)]
    }

    #[test]
    fn samples_have_the_moments_of_their_distribution() {
        let [mean, deviation, least, most] = moments(Distribution::Uniform([2.0, 4.0]));
        assert!((mean - 3.0).abs() < 0.02 && (deviation - 1.0 / 3f64.sqrt()).abs() < 0.02);
        assert!(least >= 2.0 && most <= 4.0);
        let normal = Normal { mean: 1.0, deviation: 2.0 };
        let [mean, deviation, ..] = moments(Distribution::Normal(normal));
        assert!((mean - 1.0).abs() < 0.05 && (deviation - 2.0).abs() < 0.05);
        let [mean, _, least, most] = moments(Distribution::LogUniform([0.1, 10.0]));
        // (b - a) / ln(b / a)
        assert!((mean - 9.9 / 100f64.ln()).abs() < 0.06, "{mean}");
        assert!(least >= 0.1 && most <= 10.0);
    }

    #[test]
    fn jobs_parameters_and_seeds_have_independent_streams() {
        let sample =
            |seed, job, parameter| Distribution::Uniform([0.0, 1.0]).sample(seed, job, parameter);
        let all = [sample(0, 0, 0), sample(1, 0, 0), sample(0, 1, 0), sample(0, 0, 1)];
        let differ = |i: usize| all.iter().enumerate().all(|(k, x)| k == i || *x != all[i]);
        assert!((0..4).all(differ), "{all:?}");
    }
}
