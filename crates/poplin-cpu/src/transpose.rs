//! Transposition between particle rows (one particle each) and lane columns (one coordinate each).

use fearless_simd::{f32x4, f32x8, f32x16, prelude::*};

use super::lanes::MAX_LANES;

/// Transposes a 4 x 4 matrix.
#[inline(always)]
fn transpose<S: Simd>([a, b, c, d]: [f32x4<S>; 4]) -> [f32x4<S>; 4] {
    let (ac, bd) = (a.zip_low(c), b.zip_low(d));
    let (ac_high, bd_high) = (a.zip_high(c), b.zip_high(d));
    [ac.zip_low(bd), ac.zip_high(bd), ac_high.zip_low(bd_high), ac_high.zip_high(bd_high)]
}

#[inline(always)]
pub(crate) fn columns_4<S: Simd>(simd: S, rows: &[[f32; 4]]) -> [f32x4<S>; 4] {
    transpose([
        f32x4::from_slice(simd, &rows[0]),
        f32x4::from_slice(simd, &rows[1]),
        f32x4::from_slice(simd, &rows[2]),
        f32x4::from_slice(simd, &rows[3]),
    ])
}

#[inline(always)]
pub(crate) fn gathered_4<S: Simd>(
    simd: S,
    rows: &[[f32; 4]],
    indices: &[u32; MAX_LANES],
) -> [f32x4<S>; 4] {
    transpose([
        f32x4::from_slice(simd, &rows[indices[0] as usize]),
        f32x4::from_slice(simd, &rows[indices[1] as usize]),
        f32x4::from_slice(simd, &rows[indices[2] as usize]),
        f32x4::from_slice(simd, &rows[indices[3] as usize]),
    ])
}

#[inline(always)]
pub(crate) fn rows_4<S: Simd>(columns: [f32x4<S>; 4], rows: &mut [[f32; 4]]) {
    let [a, b, c, d] = transpose(columns);
    a.store_slice(&mut rows[0]);
    b.store_slice(&mut rows[1]);
    c.store_slice(&mut rows[2]);
    d.store_slice(&mut rows[3]);
}

/// Interleaves the low halves and the high halves of every group of four lanes, like `unpcklps` and
/// `unpckhps`: one instruction each, since AVX2 works within 128-bit halves.
#[inline(always)]
fn unpack<S: Simd>(simd: S, a: f32x8<S>, b: f32x8<S>) -> [f32x8<S>; 2] {
    let (first, second) = simd.interleave_f32x8(a, b);
    let ((low, high), (low_of_second, high_of_second)) =
        (simd.split_f32x8(first), simd.split_f32x8(second));
    [simd.combine_f32x4(low, low_of_second), simd.combine_f32x4(high, high_of_second)]
}

/// Concatenation of two rows.
#[inline(always)]
fn two_rows<S: Simd>(simd: S, rows: &[[f32; 4]], first: usize, second: usize) -> f32x8<S> {
    let (first, second) = (&rows[first], &rows[second]);
    simd.combine_f32x4(f32x4::from_slice(simd, first), f32x4::from_slice(simd, second))
}

/// Columns of eight rows that are loaded in pairs: rows 0 and 4, 1 and 5, 2 and 6, 3 and 7.
#[inline(always)]
fn columns_of_pairs<S: Simd>(simd: S, [a, b, c, d]: [f32x8<S>; 4]) -> [f32x8<S>; 4] {
    // Two rounds of unpacking transpose both 4 x 4 halves at once.
    let ([xy, zw], [xy_odd, zw_odd]) = (unpack(simd, a, c), unpack(simd, b, d));
    let ([x, y], [z, w]) = (unpack(simd, xy, xy_odd), unpack(simd, zw, zw_odd));
    [x, y, z, w]
}

#[inline(always)]
pub(crate) fn columns_8<S: Simd>(simd: S, rows: &[[f32; 4]]) -> [f32x8<S>; 4] {
    let (a, b) = (two_rows(simd, rows, 0, 4), two_rows(simd, rows, 1, 5));
    let (c, d) = (two_rows(simd, rows, 2, 6), two_rows(simd, rows, 3, 7));
    columns_of_pairs(simd, [a, b, c, d])
}

#[inline(always)]
pub(crate) fn gathered_8<S: Simd>(
    simd: S,
    rows: &[[f32; 4]],
    indices: &[u32; MAX_LANES],
) -> [f32x8<S>; 4] {
    let at = indices.map(|index| index as usize);
    let (a, b) = (two_rows(simd, rows, at[0], at[4]), two_rows(simd, rows, at[1], at[5]));
    let (c, d) = (two_rows(simd, rows, at[2], at[6]), two_rows(simd, rows, at[3], at[7]));
    columns_of_pairs(simd, [a, b, c, d])
}

#[inline(always)]
pub(crate) fn rows_8<S: Simd>([x, y, z, w]: [f32x8<S>; 4], rows: &mut [[f32; 4]]) {
    let simd = x.token();
    let ([xz, xz_odd], [yw, yw_odd]) = (unpack(simd, x, z), unpack(simd, y, w));
    let ([a, b], [c, d]) = (unpack(simd, xz, yw), unpack(simd, xz_odd, yw_odd));
    let (low, high) = rows.split_at_mut(4);
    let (first, second) = simd.split_f32x8(a);
    first.store_slice(&mut low[0]);
    second.store_slice(&mut high[0]);
    let (first, second) = simd.split_f32x8(b);
    first.store_slice(&mut low[1]);
    second.store_slice(&mut high[1]);
    let (first, second) = simd.split_f32x8(c);
    first.store_slice(&mut low[2]);
    second.store_slice(&mut high[2]);
    let (first, second) = simd.split_f32x8(d);
    first.store_slice(&mut low[3]);
    second.store_slice(&mut high[3]);
}

/// Concatenation of four rows.
#[inline(always)]
fn four_rows<S: Simd>(simd: S, rows: &[[f32; 4]], [a, b, c, d]: [usize; 4]) -> f32x16<S> {
    simd.combine_f32x8(two_rows(simd, rows, a, b), two_rows(simd, rows, c, d))
}

/// Columns of sixteen rows that are loaded in groups of four consecutive rows.
#[inline(always)]
fn columns_of_fours<S: Simd>(simd: S, [a, b, c, d]: [f32x16<S>; 4]) -> [f32x16<S>; 4] {
    // Each round separates even from odd elements: xyzw... -> xz, yw -> x, y, z, w.
    let (xz, yw) = simd.deinterleave_f32x16(a, b);
    let (xz_high, yw_high) = simd.deinterleave_f32x16(c, d);
    let (x, z) = simd.deinterleave_f32x16(xz, xz_high);
    let (y, w) = simd.deinterleave_f32x16(yw, yw_high);
    [x, y, z, w]
}

#[inline(always)]
pub(crate) fn columns_16<S: Simd>(simd: S, rows: &[[f32; 4]]) -> [f32x16<S>; 4] {
    let a = four_rows(simd, rows, [0, 1, 2, 3]);
    let b = four_rows(simd, rows, [4, 5, 6, 7]);
    let c = four_rows(simd, rows, [8, 9, 10, 11]);
    let d = four_rows(simd, rows, [12, 13, 14, 15]);
    columns_of_fours(simd, [a, b, c, d])
}

#[inline(always)]
pub(crate) fn gathered_16<S: Simd>(
    simd: S,
    rows: &[[f32; 4]],
    indices: &[u32; MAX_LANES],
) -> [f32x16<S>; 4] {
    let at = indices.map(|index| index as usize);
    let a = four_rows(simd, rows, [at[0], at[1], at[2], at[3]]);
    let b = four_rows(simd, rows, [at[4], at[5], at[6], at[7]]);
    let c = four_rows(simd, rows, [at[8], at[9], at[10], at[11]]);
    let d = four_rows(simd, rows, [at[12], at[13], at[14], at[15]]);
    columns_of_fours(simd, [a, b, c, d])
}

#[inline(always)]
pub(crate) fn rows_16<S: Simd>([x, y, z, w]: [f32x16<S>; 4], rows: &mut [[f32; 4]]) {
    let simd = x.token();
    // The inverse of `columns_of_fours`.
    let (xz, xz_high) = simd.interleave_f32x16(x, z);
    let (yw, yw_high) = simd.interleave_f32x16(y, w);
    let (a, b) = simd.interleave_f32x16(xz, yw);
    let (c, d) = simd.interleave_f32x16(xz_high, yw_high);
    // Each result holds four consecutive rows.
    let rows = rows.as_flattened_mut();
    a.store_slice(&mut rows[..16]);
    b.store_slice(&mut rows[16..32]);
    c.store_slice(&mut rows[32..48]);
    d.store_slice(&mut rows[48..64]);
}
