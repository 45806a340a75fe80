//! Scalar and vector traits: geometry is written once and runs on one pair, or on eight side by
//! side with identical bits.
//!
//! A generic function must be inlined into the caller that enables the SIMD instructions. That
//! excludes `map` on arrays, and closures that are not short.

use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, Sub};

use fearless_simd::{f32x4, f32x8, mask32x8, prelude::*};
use glam::Vec3;

/// Number of SIMD lanes: pairs processed side by side.
pub(super) const LANES: usize = 8;

/// Number, or several numbers side by side.
pub trait Real:
    Copy
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Mul<f32, Output = Self>
    + Div<Output = Self>
{
    /// Result of a comparison, per lane.
    type Mask: Copy
        + BitAnd<Output = Self::Mask>
        + BitOr<Output = Self::Mask>
        + Not<Output = Self::Mask>;

    /// Broadcasts `value` to all lanes.
    fn all(self, value: f32) -> Self;
    /// Tests for less than; false if either is NaN.
    fn is_less(self, other: Self) -> Self::Mask;
    /// Tests for less than or equal; false if either is NaN.
    fn is_at_most(self, other: Self) -> Self::Mask;
    /// Tests for equality.
    fn is_equal(self, other: Self) -> Self::Mask;
    /// Returns `first` where the mask is set, `second` elsewhere.
    fn select(mask: Self::Mask, first: Self, second: Self) -> Self;
    /// Square root.
    fn square_root(self) -> Self;
    /// Magnitude.
    fn magnitude(self) -> Self;
    /// Tests whether the mask is set in all lanes.
    fn is_all(mask: Self::Mask) -> bool;

    /// Clamps to 0..=1; NaN becomes 0, and 0 is positive.
    #[inline(always)]
    fn clamp_unit(self) -> Self {
        let [zero, one] = [self.all(0.0), self.all(1.0)];
        Self::select(zero.is_less(self), self.lesser(one), zero)
    }

    /// Returns the smaller of both; `other` if either is NaN.
    #[inline(always)]
    fn lesser(self, other: Self) -> Self {
        Self::select(self.is_less(other), self, other)
    }

    /// Returns the larger of both; `other` if either is NaN.
    #[inline(always)]
    fn greater(self, other: Self) -> Self {
        Self::select(other.is_less(self), self, other)
    }
}

impl Real for f32 {
    type Mask = bool;

    #[inline(always)]
    fn all(self, value: f32) -> Self {
        value
    }

    #[inline(always)]
    fn is_less(self, other: Self) -> bool {
        self < other
    }

    #[inline(always)]
    fn is_at_most(self, other: Self) -> bool {
        self <= other
    }

    #[inline(always)]
    fn is_equal(self, other: Self) -> bool {
        self == other
    }

    #[inline(always)]
    fn select(mask: bool, first: Self, second: Self) -> Self {
        if mask { first } else { second }
    }

    #[inline(always)]
    fn square_root(self) -> Self {
        self.sqrt()
    }

    #[inline(always)]
    fn magnitude(self) -> Self {
        self.abs()
    }

    #[inline(always)]
    fn is_all(mask: bool) -> bool {
        mask
    }
}

impl<S: Simd> Real for f32x8<S> {
    type Mask = mask32x8<S>;

    #[inline(always)]
    fn all(self, value: f32) -> Self {
        Self::simd_from(self.simd, value)
    }

    #[inline(always)]
    fn is_less(self, other: Self) -> mask32x8<S> {
        self.simd_lt(other)
    }

    #[inline(always)]
    fn is_at_most(self, other: Self) -> mask32x8<S> {
        self.simd_le(other)
    }

    #[inline(always)]
    fn is_equal(self, other: Self) -> mask32x8<S> {
        self.simd_eq(other)
    }

    #[inline(always)]
    fn select(mask: mask32x8<S>, first: Self, second: Self) -> Self {
        mask.select(first, second)
    }

    #[inline(always)]
    fn square_root(self) -> Self {
        self.simd.sqrt_f32x8(self)
    }

    #[inline(always)]
    fn magnitude(self) -> Self {
        self.simd.abs_f32x8(self)
    }

    #[inline(always)]
    fn is_all(mask: mask32x8<S>) -> bool {
        mask.all_true()
    }
}

/// Vector of three such numbers.
pub trait Vector:
    Copy
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Self::Real, Output = Self>
    + Div<Self::Real, Output = Self>
{
    /// Type of a coordinate.
    type Real: Real;

    /// Creates a vector from its coordinates.
    fn of(coordinates: [Self::Real; 3]) -> Self;
    /// Returns its coordinates.
    fn coordinates(self) -> [Self::Real; 3];

    /// Dot product, summed in order of the coordinates.
    #[inline(always)]
    fn dot3(self, other: Self) -> Self::Real {
        let ([a, b, c], [x, y, z]) = (self.coordinates(), other.coordinates());
        a * x + b * y + c * z
    }

    /// Cross product.
    #[inline(always)]
    fn cross3(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.coordinates(), other.coordinates());
        Self::of([b * z - c * y, c * x - a * z, a * y - b * x])
    }

    /// Returns `first` where the mask is set, `second` elsewhere.
    #[inline(always)]
    fn select(mask: <Self::Real as Real>::Mask, first: Self, second: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (first.coordinates(), second.coordinates());
        let [first, second] = [Self::Real::select(mask, a, x), Self::Real::select(mask, b, y)];
        Self::of([first, second, Self::Real::select(mask, c, z)])
    }
}

impl Vector for Vec3 {
    type Real = f32;

    #[inline(always)]
    fn of(coordinates: [f32; 3]) -> Self {
        coordinates.into()
    }

    #[inline(always)]
    fn coordinates(self) -> [f32; 3] {
        self.into()
    }
}

/// Eight vectors side by side.
#[derive(Clone, Copy)]
pub(super) struct Wide<S: Simd>(pub(super) [f32x8<S>; 3]);

impl<S: Simd> Vector for Wide<S> {
    type Real = f32x8<S>;

    #[inline(always)]
    fn of(coordinates: [f32x8<S>; 3]) -> Self {
        Self(coordinates)
    }

    #[inline(always)]
    fn coordinates(self) -> [f32x8<S>; 3] {
        self.0
    }
}

impl<S: Simd> Neg for Wide<S> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        let [x, y, z] = self.0;
        Self([-x, -y, -z])
    }
}

impl<S: Simd> Add for Wide<S> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Self([a + x, b + y, c + z])
    }
}

impl<S: Simd> Sub for Wide<S> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        Self([a - x, b - y, c - z])
    }
}

impl<S: Simd> Mul<f32x8<S>> for Wide<S> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, factor: f32x8<S>) -> Self {
        let [x, y, z] = self.0;
        Self([x * factor, y * factor, z * factor])
    }
}

impl<S: Simd> Div<f32x8<S>> for Wide<S> {
    type Output = Self;

    #[inline(always)]
    fn div(self, divisor: f32x8<S>) -> Self {
        let [x, y, z] = self.0;
        Self([x / divisor, y / divisor, z / divisor])
    }
}

/// Gathers one part of eight chosen rows that have `N` parts each, transposed to columns.
#[inline(always)]
pub(super) fn columns<S: Simd, const N: usize>(
    simd: S,
    rows: &[[f32; 4]],
    part: usize,
    chosen: &[u32; LANES],
) -> [f32x8<S>; 4] {
    let [a, b, c, d, e, f, g, h] = *chosen;
    let low = four_columns::<S, N>(simd, rows, part, [a, b, c, d]);
    let high = four_columns::<S, N>(simd, rows, part, [e, f, g, h]);
    [
        simd.combine_f32x4(low[0], high[0]),
        simd.combine_f32x4(low[1], high[1]),
        simd.combine_f32x4(low[2], high[2]),
        simd.combine_f32x4(low[3], high[3]),
    ]
}

/// Gathers and transposes four rows.
#[inline(always)]
fn four_columns<S: Simd, const N: usize>(
    simd: S,
    rows: &[[f32; 4]],
    part: usize,
    [a, b, c, d]: [u32; 4],
) -> [f32x4<S>; 4] {
    let (a, b) = (&rows[N * a as usize + part], &rows[N * b as usize + part]);
    let (c, d) = (&rows[N * c as usize + part], &rows[N * d as usize + part]);
    let (a, b) = (f32x4::from_slice(simd, a), f32x4::from_slice(simd, b));
    let (c, d) = (f32x4::from_slice(simd, c), f32x4::from_slice(simd, d));
    let (ac, bd) = (a.zip_low(c), b.zip_low(d));
    let (ac_high, bd_high) = (a.zip_high(c), b.zip_high(d));
    [ac.zip_low(bd), ac.zip_high(bd), ac_high.zip_low(bd_high), ac_high.zip_high(bd_high)]
}

impl<S: Simd> Wide<S> {
    /// Loads eight vectors from arrays of their coordinates.
    #[inline(always)]
    pub(super) fn load(simd: S, [x, y, z]: &[[f32; LANES]; 3]) -> Self {
        let (x, y) = (f32x8::from_slice(simd, x), f32x8::from_slice(simd, y));
        Self([x, y, f32x8::from_slice(simd, z)])
    }
}
