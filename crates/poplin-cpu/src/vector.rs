//! 3D vectors in SIMD lanes, with the functions of `crate::math`.

use std::ops::{Add, Div, Mul, Neg, Sub};

use poplin_layout::EPSILON;

use crate::lanes::{LaneMask as _, Real};

/// One 3D vector per lane.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Vec3<V: Real> {
    pub(crate) x: V,
    pub(crate) y: V,
    pub(crate) z: V,
}

impl<V: Real> Vec3<V> {
    #[inline(always)]
    pub(crate) fn new(x: V, y: V, z: V) -> Self {
        Self { x, y, z }
    }

    /// Positions of particles, without their inverse masses.
    #[inline(always)]
    pub(crate) fn xyz([x, y, z, _]: [V; 4]) -> Self {
        Self::new(x, y, z)
    }

    #[inline(always)]
    pub(crate) fn splat(simd: V::Token, [x, y, z]: [f32; 3]) -> Self {
        Self::new(V::splat(simd, x), V::splat(simd, y), V::splat(simd, z))
    }

    /// Component-wise product.
    #[inline(always)]
    pub(crate) fn scale(self, other: Self) -> Self {
        Self::new(self.x * other.x, self.y * other.y, self.z * other.z)
    }

    #[inline(always)]
    pub(crate) fn dot(self, other: Self) -> V {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    #[inline(always)]
    pub(crate) fn cross(self, other: Self) -> Self {
        Self::new(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )
    }

    /// Product of the matrix with columns `a`, `b`, `c` and this vector.
    #[inline(always)]
    pub(crate) fn transformed(self, [a, b, c]: [Self; 3]) -> Self {
        a * self.x + b * self.y + c * self.z
    }

    /// Squared length plus `EPSILON`, so that its root is a safe divisor: `EPSILON + |d|^2`.
    #[inline(always)]
    pub(crate) fn guarded_square(self, simd: V::Token) -> V {
        V::splat(simd, EPSILON) + self.x * self.x + self.y * self.y + self.z * self.z
    }

    /// Selects `self` where the mask is set, else `other`.
    #[inline(always)]
    pub(crate) fn or(self, mask: V::Mask, other: Self) -> Self {
        Self::new(
            mask.select(self.x, other.x),
            mask.select(self.y, other.y),
            mask.select(self.z, other.z),
        )
    }

    /// Particles at these positions with inverse mass `w`.
    #[inline(always)]
    pub(crate) fn with(self, w: V) -> [V; 4] {
        [self.x, self.y, self.z, w]
    }
}

impl<V: Real> Neg for Vec3<V> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Self::new(-self.x, -self.y, -self.z)
    }
}

impl<V: Real> Add for Vec3<V> {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self::new(self.x + other.x, self.y + other.y, self.z + other.z)
    }
}

impl<V: Real> Sub for Vec3<V> {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self::new(self.x - other.x, self.y - other.y, self.z - other.z)
    }
}

impl<V: Real> Mul<V> for Vec3<V> {
    type Output = Self;

    #[inline(always)]
    fn mul(self, factor: V) -> Self {
        Self::new(self.x * factor, self.y * factor, self.z * factor)
    }
}

impl<V: Real> Div<V> for Vec3<V> {
    type Output = Self;

    #[inline(always)]
    fn div(self, divisor: V) -> Self {
        Self::new(self.x / divisor, self.y / divisor, self.z / divisor)
    }
}

impl From<glam::Vec3> for Vec3<f32> {
    #[inline(always)]
    fn from(glam::Vec3 { x, y, z }: glam::Vec3) -> Self {
        Self::new(x, y, z)
    }
}

impl From<Vec3<f32>> for glam::Vec3 {
    #[inline(always)]
    fn from(Vec3 { x, y, z }: Vec3<f32>) -> Self {
        Self::new(x, y, z)
    }
}
