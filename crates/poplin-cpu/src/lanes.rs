//! Particles of several lanes: from rows, one particle each, to columns, one coordinate each, and back.

use fearless_simd::{f32x4, f32x8, f32x16, prelude::*};

/// Most lanes of a vector.
pub(crate) const MAX_LANES: usize = 16;

/// A vector of `f32` with a particle's coordinate in each lane.
pub(crate) trait Lanes<S: Simd>: SimdFloat<S, Element = f32> {
    /// The four columns of the rows of all lanes.
    fn columns(simd: S, row: impl Fn(usize) -> [f32; 4]) -> [Self; 4];

    /// Passes on the row of every lane.
    fn rows(columns: [Self; 4], store: impl FnMut(usize, [f32; 4]));
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
    fn columns(simd: S, row: impl Fn(usize) -> [f32; 4]) -> [Self; 4] {
        transpose([0, 1, 2, 3].map(|lane| Self::from_slice(simd, &row(lane))))
    }

    #[inline(always)]
    fn rows(columns: [Self; 4], mut store: impl FnMut(usize, [f32; 4])) {
        let rows = transpose(columns);
        store(0, *rows[0]);
        store(1, *rows[1]);
        store(2, *rows[2]);
        store(3, *rows[3]);
    }
}

macro_rules! halves {
    ($vector:ident, $half:ident, $combine:ident, $split:ident, $lanes:literal) => {
        impl<S: Simd> Lanes<S> for $vector<S> {
            #[inline(always)]
            fn columns(simd: S, row: impl Fn(usize) -> [f32; 4]) -> [Self; 4] {
                let low = <$half<S> as Lanes<S>>::columns(simd, &row);
                let high = <$half<S> as Lanes<S>>::columns(simd, |lane| row(lane + $lanes));
                [
                    simd.$combine(low[0], high[0]),
                    simd.$combine(low[1], high[1]),
                    simd.$combine(low[2], high[2]),
                    simd.$combine(low[3], high[3]),
                ]
            }

            #[inline(always)]
            fn rows(columns: [Self; 4], mut store: impl FnMut(usize, [f32; 4])) {
                let simd = columns[0].token();
                let [x, y, z, w] = columns.map(|column| simd.$split(column));
                <$half<S> as Lanes<S>>::rows([x.0, y.0, z.0, w.0], &mut store);
                <$half<S> as Lanes<S>>::rows([x.1, y.1, z.1, w.1], |lane, row| {
                    store(lane + $lanes, row)
                });
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
