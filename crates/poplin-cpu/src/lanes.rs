//! Particles of several lanes: from rows, one particle each, to columns, one coordinate each, and back.
//!
//! Here and in the stages no closure over vectors goes to `map`, `fold` or `then`: those are compiled without the instructions of
//! the closure, which is then called in every round instead of being inlined.

use fearless_simd::{f32x4, f32x8, f32x16, prelude::*};

/// Most lanes of a vector.
pub(crate) const MAX_LANES: usize = 16;

/// A vector of `f32` with a particle's coordinate in each lane.
pub(crate) trait Lanes<S: Simd>: SimdFloat<S, Element = f32> {
    /// The four columns of as many rows as there are lanes.
    fn columns(simd: S, rows: &[[f32; 4]]) -> [Self; 4];

    /// Writes the row of every lane.
    fn rows(columns: [Self; 4], rows: &mut [[f32; 4]]);
}

/// The columns of the rows of all lanes, wherever they are.
#[inline(always)]
pub(crate) fn gather<S: Simd, V: Lanes<S>>(simd: S, row: impl Fn(usize) -> [f32; 4]) -> [V; 4] {
    let mut rows = [[0.0; 4]; MAX_LANES];
    for (lane, slot) in rows.iter_mut().enumerate().take(V::LEN) {
        *slot = row(lane);
    }
    V::columns(simd, &rows)
}

/// Passes on the row of every lane.
#[inline(always)]
pub(crate) fn scatter<S: Simd, V: Lanes<S>>(
    columns: [V; 4],
    mut store: impl FnMut(usize, [f32; 4]),
) {
    let mut rows = [[0.0; 4]; MAX_LANES];
    V::rows(columns, &mut rows);
    for (lane, row) in rows.into_iter().enumerate().take(V::LEN) {
        store(lane, row);
    }
}

/// Transposes a square of four rows.
#[inline(always)]
fn transpose<S: Simd>([a, b, c, d]: [f32x4<S>; 4]) -> [f32x4<S>; 4] {
    let (ac, bd) = (a.zip_low(c), b.zip_low(d));
    let (ac_high, bd_high) = (a.zip_high(c), b.zip_high(d));
    [ac.zip_low(bd), ac.zip_high(bd), ac_high.zip_low(bd_high), ac_high.zip_high(bd_high)]
}

impl<S: Simd> Lanes<S> for f32x4<S> {
    #[inline(always)]
    fn columns(simd: S, rows: &[[f32; 4]]) -> [Self; 4] {
        transpose([
            Self::from_slice(simd, &rows[0]),
            Self::from_slice(simd, &rows[1]),
            Self::from_slice(simd, &rows[2]),
            Self::from_slice(simd, &rows[3]),
        ])
    }

    #[inline(always)]
    fn rows(columns: [Self; 4], rows: &mut [[f32; 4]]) {
        let [a, b, c, d] = transpose(columns);
        a.store_slice(&mut rows[0]);
        b.store_slice(&mut rows[1]);
        c.store_slice(&mut rows[2]);
        d.store_slice(&mut rows[3]);
    }
}

macro_rules! halves {
    ($vector:ident, $half:ident, $combine:ident, $split:ident, $lanes:literal) => {
        impl<S: Simd> Lanes<S> for $vector<S> {
            #[inline(always)]
            fn columns(simd: S, rows: &[[f32; 4]]) -> [Self; 4] {
                let low = <$half<S> as Lanes<S>>::columns(simd, &rows[..$lanes]);
                let high = <$half<S> as Lanes<S>>::columns(simd, &rows[$lanes..]);
                [
                    simd.$combine(low[0], high[0]),
                    simd.$combine(low[1], high[1]),
                    simd.$combine(low[2], high[2]),
                    simd.$combine(low[3], high[3]),
                ]
            }

            #[inline(always)]
            fn rows(columns: [Self; 4], rows: &mut [[f32; 4]]) {
                let simd = columns[0].token();
                let (x, y) = (simd.$split(columns[0]), simd.$split(columns[1]));
                let (z, w) = (simd.$split(columns[2]), simd.$split(columns[3]));
                <$half<S> as Lanes<S>>::rows([x.0, y.0, z.0, w.0], &mut rows[..$lanes]);
                <$half<S> as Lanes<S>>::rows([x.1, y.1, z.1, w.1], &mut rows[$lanes..]);
            }
        }
    };
}

halves!(f32x8, f32x4, combine_f32x4, split_f32x8, 4);
halves!(f32x16, f32x8, combine_f32x8, split_f32x16, 8);

/// The smaller of two; the other one if one is NaN, the first of equal ones, as `f32::min` does.
#[inline(always)]
pub(crate) fn min<S: Simd, V: Lanes<S>>(a: V, b: V) -> V {
    (b.simd_lt(a) | a.is_nan()).select(b, a)
}

/// The larger of two; the other one if one is NaN, the first of equal ones, as `f32::max` does.
#[inline(always)]
pub(crate) fn max<S: Simd, V: Lanes<S>>(a: V, b: V) -> V {
    (a.simd_lt(b) | a.is_nan()).select(b, a)
}
