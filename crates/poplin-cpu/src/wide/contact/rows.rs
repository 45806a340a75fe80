//! Particles of colliding cloths as rows in world space.

use fearless_simd::{f32x4, prelude::*};
use poplin_layout::ContactCloth;

/// Particles of the cloths that meet other cloths, cloth after cloth.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    /// Cloth index and particle index of each row.
    pub(super) slots: Vec<u32>,
    pub(super) particles: Vec<u32>,
    /// World position \[m\] and inverse mass [1/kg].
    pub(super) now: Vec<[f32; 4]>,
    /// Displacement in the last iteration \[m\] and radius \[m\].
    pub(super) motions: Vec<[f32; 4]>,
    /// Key of the cell in the grid of the reference.
    pub(super) cells: Vec<u64>,
}

/// Affine transform: three columns of a matrix and a translation.
struct Affine<S: Simd>([f32x4<S>; 4]);

impl<S: Simd> Affine<S> {
    #[inline(always)]
    fn new(simd: S, columns: [&[f32; 4]; 4]) -> Self {
        let load = |k: usize| f32x4::from_slice(simd, columns[k]);
        Self([load(0), load(1), load(2), load(3)])
    }

    /// Product of the matrix and a vector, without translation, in the order of operations of the
    /// reference.
    #[inline(always)]
    fn rotate(&self, simd: S, v: &[f32; 4]) -> f32x4<S> {
        let splat = |k: usize| f32x4::splat(simd, v[k]);
        self.0[0] * splat(0) + self.0[1] * splat(1) + self.0[2] * splat(2)
    }

    #[inline(always)]
    fn apply(&self, simd: S, v: &[f32; 4]) -> f32x4<S> {
        self.rotate(simd, v) + self.0[3]
    }
}

/// World bounds of a cloth \[m\], or `None` if a coordinate is NaN or infinite.
#[inline(always)]
pub(super) fn bounds<S: Simd>(
    simd: S,
    cloth: &ContactCloth,
    current: &[[f32; 4]],
) -> Option<[[f32; 4]; 2]> {
    let to_world = Affine::new(simd, [&cloth.axis_x, &cloth.axis_y, &cloth.axis_z, &cloth.origin]);
    let mut low = f32x4::splat(simd, f32::INFINITY);
    let mut high = f32x4::splat(simd, f32::NEG_INFINITY);
    // 0 * x is NaN for NaN and infinite x: a sum other than 0 shows that one was there.
    let zero = f32x4::splat(simd, 0.0);
    let mut nothing = zero;
    for row in current {
        let position = to_world.apply(simd, row);
        low = low.min(position);
        high = high.max(position);
        nothing += zero * position;
    }
    let [mut low_row, mut high_row, mut zeros] = [[0.0; 4]; 3];
    low.store_slice(&mut low_row);
    high.store_slice(&mut high_row);
    nothing.store_slice(&mut zeros);
    (zeros[..3] == [0.0; 3]).then_some([low_row, high_row])
}

/// Computes the rows of consecutive particles of a cloth: world position, inverse mass,
/// displacement and radius.
#[inline(always)]
pub(super) fn gather_rows<S: Simd>(
    simd: S,
    cloth: &ContactCloth,
    is_still: bool,
    [current, previous]: [&[[f32; 4]]; 2],
    [now, motions]: [&mut [[f32; 4]]; 2],
) {
    let to_world = Affine::new(simd, [&cloth.axis_x, &cloth.axis_y, &cloth.axis_z, &cloth.origin]);
    let of_frame = Affine::new(simd, [&cloth.turn_x, &cloth.turn_y, &cloth.turn_z, &cloth.shift]);
    let rows = current.iter().zip(previous).zip(now.iter_mut().zip(motions));
    for ((current, previous), (now, motion)) in rows {
        to_world.apply(simd, current).store_slice(now);
        now[3] = if is_still { 0.0 } else { current[3] };
        *motion = [0.0; 4];
        if !is_still {
            let mut moved = *current;
            (f32x4::from_slice(simd, current) - f32x4::from_slice(simd, previous))
                .store_slice(&mut moved);
            // Motion in world space: that in local space plus that of the cloth's frame.
            let own = to_world.rotate(simd, &moved);
            (own + of_frame.apply(simd, previous)).store_slice(motion);
        }
        motion[3] = cloth.radius;
    }
}

/// Squared distance of two rows, with the rounding of the reference \[m^2\].
#[inline(always)]
pub(super) fn square_between(a: &[f32; 4], b: &[f32; 4]) -> f32 {
    let between = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    between[0] * between[0] + between[1] * between[1] + between[2] * between[2]
}
