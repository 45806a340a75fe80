//! Numbers in one or several lanes. A stage is written once, generic over [`Real`]: one lane is
//! the twin of a kernel, 4, 8 or 16 lanes are the CPU backend, with the same bits.
//!
//! No closure over vectors is passed to `map`, `fold` or `then`, here and in the stages: these
//! functions are compiled without the closure's target features, so the closure would be called in
//! every round instead of being inlined.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, BitAnd, BitOr, Div, Mul, Neg, Not, Sub, SubAssign};

use fearless_simd::{f32x4, f32x8, f32x16, mask32x4, mask32x8, mask32x16, prelude::*};

use super::transpose::{
    columns_4, columns_8, columns_16, gathered_4, gathered_8, gathered_16, rows_4, rows_8, rows_16,
};

/// Largest number of lanes of a vector.
pub(crate) const MAX_LANES: usize = 16;

/// Number, or one number per lane.
pub trait Real:
    Copy
    + Debug
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Mul<f32, Output = Self>
    + Div<Output = Self>
    + AddAssign
    + SubAssign
{
    /// Proof that the instruction set is there; `()` for one lane.
    type Token: Copy;
    /// Result of a comparison, per lane.
    type Mask: LaneMask<Self>;

    /// Number of lanes.
    const LEN: usize;

    /// Broadcasts `value` to all lanes.
    fn splat(simd: Self::Token, value: f32) -> Self;
    /// Loads one number per lane.
    fn from_slice(simd: Self::Token, values: &[f32]) -> Self;
    /// Computes one number per lane.
    fn from_fn(simd: Self::Token, value: impl FnMut(usize) -> f32) -> Self;
    /// Stores one number per lane.
    fn store_slice(self, values: &mut [f32]);
    /// Square root.
    fn sqrt(self) -> Self;
    /// Magnitude.
    fn abs(self) -> Self;
    /// Tests for NaN.
    fn is_nan(self) -> Self::Mask;
    /// Tests for equality.
    fn simd_eq(self, other: Self) -> Self::Mask;
    /// Tests for less than; false if either is NaN.
    fn simd_lt(self, other: Self) -> Self::Mask;
    /// Tests for less than or equal; false if either is NaN.
    fn simd_le(self, other: Self) -> Self::Mask;
    /// Tests for greater than or equal; false if either is NaN.
    fn simd_ge(self, other: Self) -> Self::Mask;
    /// Smallest number of all lanes, NaN ignored.
    fn reduce_min(self) -> f32;
    /// Largest number of all lanes, NaN ignored.
    fn reduce_max(self) -> f32;

    /// Transposes the first `LEN` rows into four columns.
    fn columns(simd: Self::Token, rows: &[[f32; 4]]) -> [Self; 4];

    /// Gathers the rows at `indices` and transposes them into four columns.
    fn gathered(simd: Self::Token, rows: &[[f32; 4]], indices: &[u32; MAX_LANES]) -> [Self; 4];

    /// Transposes four columns back and writes one row per lane.
    fn rows(columns: [Self; 4], rows: &mut [[f32; 4]]);

    /// Adds `row` to `sum`.
    fn add_row(simd: Self::Token, sum: &mut [f32; 4], row: &[f32; 4]);

    /// Subtracts `row` from `sum`.
    fn subtract_row(simd: Self::Token, sum: &mut [f32; 4], row: &[f32; 4]);

    /// Proof that came with this number.
    fn token(self) -> Self::Token;

    /// Broadcasts `value` to all lanes.
    #[inline(always)]
    fn all(self, value: f32) -> Self {
        Self::splat(self.token(), value)
    }

    /// Clamps to 0..=1; NaN becomes 0, and 0 is positive.
    #[inline(always)]
    fn clamp_unit(self) -> Self {
        let [zero, one] = [self.all(0.0), self.all(1.0)];
        zero.simd_lt(self).select(self.lesser(one), zero)
    }

    /// Returns the smaller of both; `other` if either is NaN.
    #[inline(always)]
    fn lesser(self, other: Self) -> Self {
        self.simd_lt(other).select(self, other)
    }

    /// Returns the larger of both; `other` if either is NaN.
    #[inline(always)]
    fn greater(self, other: Self) -> Self {
        other.simd_lt(self).select(self, other)
    }
}

/// One truth value per lane of `V`.
pub trait LaneMask<V: Real>:
    Copy + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self>
{
    /// Sets the lanes whose bit is set.
    fn from_bitmask(simd: V::Token, bits: u64) -> Self;
    /// Bit mask of the set lanes.
    fn to_bitmask(self) -> u64;
    /// Tests whether any lane is set.
    fn any_true(self) -> bool;
    /// Tests whether all lanes are set.
    fn all_true(self) -> bool;
    /// Returns `first` where the mask is set, `second` elsewhere.
    fn select(self, first: V, second: V) -> V;
}

impl Real for f32 {
    type Token = ();
    type Mask = bool;

    const LEN: usize = 1;

    #[inline(always)]
    fn splat((): (), value: f32) -> Self {
        value
    }

    #[inline(always)]
    fn from_slice((): (), values: &[f32]) -> Self {
        values[0]
    }

    #[inline(always)]
    fn from_fn((): (), mut value: impl FnMut(usize) -> f32) -> Self {
        value(0)
    }

    #[inline(always)]
    fn store_slice(self, values: &mut [f32]) {
        values[0] = self;
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        f32::sqrt(self)
    }

    #[inline(always)]
    fn abs(self) -> Self {
        f32::abs(self)
    }

    #[inline(always)]
    fn is_nan(self) -> bool {
        f32::is_nan(self)
    }

    #[inline(always)]
    fn simd_eq(self, other: Self) -> bool {
        self == other
    }

    #[inline(always)]
    fn simd_lt(self, other: Self) -> bool {
        self < other
    }

    #[inline(always)]
    fn simd_le(self, other: Self) -> bool {
        self <= other
    }

    #[inline(always)]
    fn simd_ge(self, other: Self) -> bool {
        self >= other
    }

    #[inline(always)]
    fn reduce_min(self) -> f32 {
        self
    }

    #[inline(always)]
    fn reduce_max(self) -> f32 {
        self
    }

    #[inline(always)]
    fn columns((): (), rows: &[[f32; 4]]) -> [Self; 4] {
        rows[0]
    }

    #[inline(always)]
    fn gathered((): (), rows: &[[f32; 4]], indices: &[u32; MAX_LANES]) -> [Self; 4] {
        rows[indices[0] as usize]
    }

    #[inline(always)]
    fn rows(columns: [Self; 4], rows: &mut [[f32; 4]]) {
        rows[0] = columns;
    }

    #[inline(always)]
    fn token(self) {}

    #[inline(always)]
    fn add_row((): (), sum: &mut [f32; 4], row: &[f32; 4]) {
        *sum = [sum[0] + row[0], sum[1] + row[1], sum[2] + row[2], sum[3] + row[3]];
    }

    #[inline(always)]
    fn subtract_row((): (), sum: &mut [f32; 4], row: &[f32; 4]) {
        *sum = [sum[0] - row[0], sum[1] - row[1], sum[2] - row[2], sum[3] - row[3]];
    }
}

impl LaneMask<f32> for bool {
    #[inline(always)]
    fn from_bitmask((): (), bits: u64) -> Self {
        bits & 1 != 0
    }

    #[inline(always)]
    fn to_bitmask(self) -> u64 {
        u64::from(self)
    }

    #[inline(always)]
    fn any_true(self) -> bool {
        self
    }

    #[inline(always)]
    fn all_true(self) -> bool {
        self
    }

    #[inline(always)]
    fn select(self, first: f32, second: f32) -> f32 {
        if self { first } else { second }
    }
}

/// Implements [`Real`] for a vector of `fearless_simd`, except for the transpositions.
macro_rules! impl_real {
    ($vector:ident, $mask:ident, $len:literal, $columns:ident, $gathered:ident, $rows:ident) => {
        impl<S: Simd> Real for $vector<S> {
            type Token = S;
            type Mask = $mask<S>;

            const LEN: usize = $len;

            #[inline(always)]
            fn splat(simd: S, value: f32) -> Self {
                <Self as SimdBase<S>>::splat(simd, value)
            }

            #[inline(always)]
            fn from_slice(simd: S, values: &[f32]) -> Self {
                <Self as SimdBase<S>>::from_slice(simd, values)
            }

            #[inline(always)]
            fn from_fn(simd: S, value: impl FnMut(usize) -> f32) -> Self {
                <Self as SimdBase<S>>::from_fn(simd, value)
            }

            #[inline(always)]
            fn store_slice(self, values: &mut [f32]) {
                SimdBase::store_slice(&self, values);
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                SimdFloat::sqrt(self)
            }

            #[inline(always)]
            fn abs(self) -> Self {
                SimdBase::abs(self)
            }

            #[inline(always)]
            fn is_nan(self) -> Self::Mask {
                SimdFloat::is_nan(self)
            }

            #[inline(always)]
            fn simd_eq(self, other: Self) -> Self::Mask {
                SimdBase::simd_eq(self, other)
            }

            #[inline(always)]
            fn simd_lt(self, other: Self) -> Self::Mask {
                SimdBase::simd_lt(self, other)
            }

            #[inline(always)]
            fn simd_le(self, other: Self) -> Self::Mask {
                SimdBase::simd_le(self, other)
            }

            #[inline(always)]
            fn simd_ge(self, other: Self) -> Self::Mask {
                SimdBase::simd_ge(self, other)
            }

            #[inline(always)]
            fn reduce_min(self) -> f32 {
                self.reduce_min_precise()
            }

            #[inline(always)]
            fn reduce_max(self) -> f32 {
                self.reduce_max_precise()
            }

            #[inline(always)]
            fn columns(simd: S, rows: &[[f32; 4]]) -> [Self; 4] {
                $columns(simd, rows)
            }

            #[inline(always)]
            fn gathered(simd: S, rows: &[[f32; 4]], indices: &[u32; MAX_LANES]) -> [Self; 4] {
                $gathered(simd, rows, indices)
            }

            #[inline(always)]
            fn rows(columns: [Self; 4], rows: &mut [[f32; 4]]) {
                $rows(columns, rows);
            }

            #[inline(always)]
            fn token(self) -> S {
                self.simd
            }

            #[inline(always)]
            fn add_row(simd: S, sum: &mut [f32; 4], row: &[f32; 4]) {
                let total = f32x4::simd_from(simd, *sum) + f32x4::simd_from(simd, *row);
                *sum = total.into();
            }

            #[inline(always)]
            fn subtract_row(simd: S, sum: &mut [f32; 4], row: &[f32; 4]) {
                let rest = f32x4::simd_from(simd, *sum) - f32x4::simd_from(simd, *row);
                *sum = rest.into();
            }
        }

        impl<S: Simd> LaneMask<$vector<S>> for $mask<S> {
            #[inline(always)]
            fn from_bitmask(simd: S, bits: u64) -> Self {
                <Self as SimdMask<S>>::from_bitmask(simd, bits)
            }

            #[inline(always)]
            fn to_bitmask(self) -> u64 {
                SimdMask::to_bitmask(self)
            }

            #[inline(always)]
            fn any_true(self) -> bool {
                SimdMask::any_true(self)
            }

            #[inline(always)]
            fn all_true(self) -> bool {
                SimdMask::all_true(self)
            }

            #[inline(always)]
            fn select(self, first: $vector<S>, second: $vector<S>) -> $vector<S> {
                Select::select(self, first, second)
            }
        }
    };
}

impl_real!(f32x4, mask32x4, 4, columns_4, gathered_4, rows_4);
impl_real!(f32x8, mask32x8, 8, columns_8, gathered_8, rows_8);
impl_real!(f32x16, mask32x16, 16, columns_16, gathered_16, rows_16);

/// Gathers one row per lane from `row(lane)` and transposes the rows into columns.
#[inline(always)]
pub(crate) fn gather<V: Real>(simd: V::Token, row: impl Fn(usize) -> [f32; 4]) -> [V; 4] {
    let mut rows = [[0.0; 4]; MAX_LANES];
    for (lane, slot) in rows.iter_mut().enumerate().take(V::LEN) {
        *slot = row(lane);
    }
    V::columns(simd, &rows)
}

/// Transposes columns into rows and calls `store(lane, row)` for every lane.
#[inline(always)]
pub(crate) fn scatter<V: Real>(columns: [V; 4], mut store: impl FnMut(usize, [f32; 4])) {
    let mut rows = [[0.0; 4]; MAX_LANES];
    V::rows(columns, &mut rows);
    for (lane, row) in rows.into_iter().enumerate().take(V::LEN) {
        store(lane, row);
    }
}

/// Lane-wise minimum with the rules of `f32::min`: if one operand is NaN, the other one; of equal
/// operands, the first.
#[inline(always)]
pub(crate) fn min<V: Real>(a: V, b: V) -> V {
    // A NaN in `b` fails the comparison and selects `a`.
    (b.simd_lt(a) | a.is_nan()).select(b, a)
}

/// Lane-wise maximum with the rules of `f32::max`: if one operand is NaN, the other one; of equal
/// operands, the first.
#[inline(always)]
pub(crate) fn max<V: Real>(a: V, b: V) -> V {
    (a.simd_lt(b) | a.is_nan()).select(b, a)
}
