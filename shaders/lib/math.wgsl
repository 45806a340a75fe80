#import state/constants

/// Dot product with a fixed order of additions, so that every adapter and the Rust twin round
/// alike.
fn dot3(a: vec3<f32>, b: vec3<f32>) -> f32 {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

/// Cross product with a fixed order of subtractions.
fn cross3(a: vec3<f32>, b: vec3<f32>) -> vec3<f32> {
    return vec3<f32>(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

/// Length of a vector.
fn length3(a: vec3<f32>) -> f32 {
    return sqrt(dot3(a, a));
}

/// Clamps the length of a vector to `most`.
fn shorten(a: vec3<f32>, most: f32) -> vec3<f32> {
    let length = length3(a);
    if (length > most) {
        return a * (most / length);
    }
    return a;
}

/// Tests whether the magnitude of x is at most `most`, which is finite and not negative. False for
/// NaN and infinities.
///
/// Compares bits, whose order as integers is that of magnitudes: by default Metal's compiler takes
/// for granted that no float is NaN, and may turn `!(x <= most)` into `x > most`.
fn is_within(x: f32, most: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) <= bitcast<u32>(most);
}

/// Tests whether x is above 0, by its bits as is_within does. False for NaN, true for infinity.
fn is_positive(x: f32) -> bool {
    // 0 wraps to the largest number; the bits of infinity are 7f800000.
    return bitcast<u32>(x) - 1u < 0x7f800000u;
}

/// Clamps x to 0..=1; 0 for NaN, and 0 has no sign.
fn clamp_unit(x: f32) -> f32 {
    return select(0.0, min(x, 1.0), is_positive(x));
}

/// Squared length plus EPSILON. The constant stands first because drivers pull constants out of
/// sums (Mesa does), and this order survives that.
fn guarded_square(d: vec3<f32>) -> f32 {
    return EPSILON + d.x * d.x + d.y * d.y + d.z * d.z;
}

/// Bits whose order as integers is that of the floats: their minimum and maximum do not depend on
/// the order of lanes.
fn ordered_bits(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    return select(bits | 0x80000000u, ~bits, (bits & 0x80000000u) != 0u);
}

/// Float of ordered bits.
fn from_ordered(bits: u32) -> f32 {
    return bitcast<f32>(select(~bits, bits & 0x7fffffffu, (bits & 0x80000000u) != 0u));
}

/// Tests whether a coordinate is NaN, infinite or beyond MAX_COORDINATE.
fn is_faulty(position: vec3<f32>) -> bool {
    return !(is_within(position.x, MAX_COORDINATE) && is_within(position.y, MAX_COORDINATE) && is_within(position.z, MAX_COORDINATE));
}

/// Computes 2^x for x <= 0 with only + - * and bit operations: the same bits on every adapter,
/// error below 3 ulp.
///
/// x = k + f with |f| <= 1/2;  2^f by its Taylor series to f^6, 2^k by the exponent bits. x below
/// -126 yields 2^-126.
fn exp2_portable(x: f32) -> f32 {
    let clamped = max(x, -126.0);
    let whole = floor(clamped + 0.5);
    let f = clamped - whole;
    var series = 1.5403530e-4;
    series = series * f + 1.3333558e-3;
    series = series * f + 9.6181291e-3;
    series = series * f + 5.5504109e-2;
    series = series * f + 2.4022651e-1;
    series = series * f + 6.9314718e-1;
    series = series * f + 1.0;
    return series * bitcast<f32>(u32(i32(whole) + 127) << 23u);
}

/// Angle of the point (x, y) in -PI..=PI, 0 at the origin, with only + - * / and comparisons: the
/// same bits on every adapter, error below 4e-7 rad.
///
/// arctan of 0..=1 by Abramowitz and Stegun, "Handbook of Mathematical Functions", 1964, 4.4.49
/// (2e-8), then the octant.
fn atan2_portable(y: f32, x: f32) -> f32 {
    let far = max(abs(x), abs(y));
    if (far == 0.0) {
        return 0.0;
    }
    let slope = min(abs(x), abs(y)) / far;
    let square = slope * slope;
    var series = 0.0028662257;
    series = series * square - 0.0161657367;
    series = series * square + 0.0429096138;
    series = series * square - 0.0752896400;
    series = series * square + 0.1065626393;
    series = series * square - 0.1420889944;
    series = series * square + 0.1999355085;
    series = series * square - 0.3333314528;
    let cube = square * slope;
    var angle = slope + cube * series;
    if (abs(y) > abs(x)) {
        angle = 0.5 * PI - angle;
    }
    if (x < 0.0) {
        angle = PI - angle;
    }
    return select(angle, -angle, y < 0.0);
}
