//! Vectors of one pair or of eight side by side, with identical bits: geometry is written once.
//!
//! A generic function must be inlined into the caller that enables the SIMD instructions. That
//! excludes `map` on arrays, and closures that are not short.

use std::ops::{Add, Div, Mul, Neg, Sub};

use fearless_simd::{Simd, f32x8};
use glam::Vec3;

use crate::lanes::{LaneMask as _, MAX_LANES, Real};
use crate::vector::Vec3 as Lanes;

/// Number of SIMD lanes: pairs processed side by side.
pub(super) const LANES: usize = 8;

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
        Self::of([mask.select(a, x), mask.select(b, y), mask.select(c, z)])
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

impl<V: Real> Vector for Lanes<V> {
    type Real = V;

    #[inline(always)]
    fn of([x, y, z]: [V; 3]) -> Self {
        Self::new(x, y, z)
    }

    #[inline(always)]
    fn coordinates(self) -> [V; 3] {
        [self.x, self.y, self.z]
    }
}

/// Eight vectors side by side.
pub(super) type Wide<S> = Lanes<f32x8<S>>;

/// Gathers one part of eight chosen rows that have `N` parts each, transposed to columns.
#[inline(always)]
pub(super) fn columns<S: Simd, const N: usize>(
    simd: S,
    rows: &[[f32; 4]],
    part: usize,
    chosen: &[u32; LANES],
) -> [f32x8<S>; 4] {
    let mut indices = [0; MAX_LANES];
    for (index, row) in indices.iter_mut().zip(chosen) {
        *index = N as u32 * row + part as u32;
    }
    f32x8::gathered(simd, rows, &indices)
}

/// Loads eight vectors from arrays of their coordinates.
#[inline(always)]
pub(super) fn load<S: Simd>(simd: S, [x, y, z]: &[[f32; LANES]; 3]) -> Wide<S> {
    let (x, y) = (f32x8::from_slice(simd, x), f32x8::from_slice(simd, y));
    Wide::new(x, y, f32x8::from_slice(simd, z))
}
