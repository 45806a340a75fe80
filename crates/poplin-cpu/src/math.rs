//! Twin of `shaders/lib/math.wgsl`.

use glam::Vec3;
use poplin_layout::{EPSILON, MAX_COORDINATE, PI};

use crate::lanes::{LaneMask as _, Real, max, min};

/// Dot product with the fixed order of additions of the shader.
#[inline]
pub fn dot3(a: Vec3, b: Vec3) -> f32 {
    a.x * b.x + a.y * b.y + a.z * b.z
}

/// Cross product with the fixed order of subtractions of the shader.
#[inline]
pub fn cross3(a: Vec3, b: Vec3) -> Vec3 {
    Vec3::new(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)
}

/// Length of a vector.
#[inline]
pub fn length3(a: Vec3) -> f32 {
    dot3(a, a).sqrt()
}

/// Returns a vector, shortened to the length `most` if it is longer.
#[inline]
pub fn shorten(a: Vec3, most: f32) -> Vec3 {
    let length = length3(a);
    if length > most { a * (most / length) } else { a }
}

/// Clamps x to 0..=1; NaN becomes 0, and 0 is positive.
#[inline]
pub fn clamp_unit(x: f32) -> f32 {
    if x > 0.0 { x.min(1.0) } else { 0.0 }
}

/// Returns EPSILON + |d|^2, in the order of additions of the shader.
#[inline]
pub fn guarded_square(d: Vec3) -> f32 {
    EPSILON + d.x * d.x + d.y * d.y + d.z * d.z
}

/// Tests whether a coordinate is NaN, infinite or beyond [`MAX_COORDINATE`].
#[inline]
pub fn is_faulty(position: Vec3) -> bool {
    let sane = position.x.abs() <= MAX_COORDINATE
        && position.y.abs() <= MAX_COORDINATE
        && position.z.abs() <= MAX_COORDINATE;
    !sane
}

/// Returns 2^x for x <= 0 with only + - * and bit operations; see the shader for the derivation.
#[inline]
pub fn exp2_portable(x: f32) -> f32 {
    let clamped = x.max(-126.0);
    // 2^x = 2^whole 2^f, |f| <= 1/2: polynomial for 2^f, exponent bits for 2^whole
    let whole = (clamped + 0.5).floor();
    let f = clamped - whole;
    let mut series = 1.540_353e-4;
    series = series * f + 1.333_355_8e-3;
    series = series * f + 9.618_129e-3;
    series = series * f + 5.550_411e-2;
    series = series * f + 2.402_265e-1;
    series = series * f + std::f32::consts::LN_2;
    series = series * f + 1.0;
    series * f32::from_bits(((whole as i32 + 127) as u32) << 23)
}

/// Angles of the points (x, y) in -PI..=PI, 0 at the origin; see the shader for the derivation.
#[inline(always)]
pub(crate) fn atan2_portable<V: Real>(simd: V::Token, y: V, x: V) -> V {
    let splat = |value: f32| V::splat(simd, value);
    let (across, along) = (y.abs(), x.abs());
    let far = max(along, across);
    // atan on 0..=1, then reflected into the octant of the point
    let slope = min(along, across) / far;
    let square = slope * slope;
    let mut series = splat(0.002_866_225_8);
    series = series * square - splat(0.016_165_737);
    series = series * square + splat(0.042_909_615);
    series = series * square - splat(0.075_289_64);
    series = series * square + splat(0.106_562_64);
    series = series * square - splat(0.142_089);
    series = series * square + splat(0.199_935_51);
    series = series * square - splat(0.333_331_47);
    let cube = square * slope;
    let mut angle = slope + cube * series;
    angle = along.simd_lt(across).select(splat(0.5 * PI) - angle, angle);
    angle = x.simd_lt(splat(0.0)).select(splat(PI) - angle, angle);
    angle = y.simd_lt(splat(0.0)).select(-angle, angle);
    far.simd_eq(splat(0.0)).select(splat(0.0), angle)
}

/// Position of a particle.
#[inline]
pub fn xyz(particle: [f32; 4]) -> Vec3 {
    Vec3::new(particle[0], particle[1], particle[2])
}

/// Packs a particle from position and inverse mass.
#[inline]
pub fn particle(position: Vec3, w: f32) -> [f32; 4] {
    [position.x, position.y, position.z, w]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp2_is_within_three_ulp() {
        for k in 0..200_000 {
            let x = -(k as f32) * 126.0 / 200_000.0;
            let exact = f64::from(x).exp2();
            let error = (f64::from(exp2_portable(x)) - exact).abs() / exact;
            assert!(error < 3.0 * f64::from(f32::EPSILON), "2^{x}: relative error {error:e}");
        }
        assert_eq!(exp2_portable(0.0), 1.0);
    }

    #[test]
    fn atan2_is_within_four_tenths_of_a_millionth() {
        for k in 0..=400_000 {
            let (exact_y, exact_x) =
                (std::f64::consts::TAU * (f64::from(k) / 400_000.0 - 0.5)).sin_cos();
            let (y, x) = ((1e-3 * exact_y) as f32, (1e-3 * exact_x) as f32);
            let error =
                (f64::from(atan2_portable((), y, x)) - f64::from(y).atan2(f64::from(x))).abs();
            assert!(error < 4e-7, "atan2({y}, {x}): {error:e}");
        }
        let corners = [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0)];
        assert_eq!(
            corners.map(|(y, x)| atan2_portable((), y, x)),
            [0.0, 0.0, 0.5 * PI, PI, -0.5 * PI]
        );
    }

    #[test]
    fn faults_are_nan_infinities_and_the_far_away() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 2e15] {
            assert!(is_faulty(Vec3::new(0.0, bad, 0.0)));
        }
        assert!(!is_faulty(Vec3::new(-1e15, 0.0, f32::MIN_POSITIVE)));
    }
}
