#import contact/triangle_state

/// Ranges along the axes that a row or box covers at the start and at the end of a move [m]. The
/// axes: x, y, z; x + y, x - y, y + z; y - z, z + x, z - x.
struct Path {
    /// Lowest coordinates at the start [m].
    low_start: array<vec3<f32>, TRIANGLE_AXES>,
    /// Lowest coordinates at the end [m].
    low_end: array<vec3<f32>, TRIANGLE_AXES>,
    /// Highest coordinates at the start [m].
    high_start: array<vec3<f32>, TRIANGLE_AXES>,
    /// Highest coordinates at the end [m].
    high_end: array<vec3<f32>, TRIANGLE_AXES>,
}

/// Coordinates of a vector along the axes; those along diagonals are larger by the root of 2.
fn along_axes(v: vec3<f32>) -> array<vec3<f32>, TRIANGLE_AXES> {
    let second = vec3<f32>(v.x + v.y, v.x - v.y, v.y + v.z);
    let third = vec3<f32>(v.y - v.z, v.z + v.x, v.z - v.x);
    return array<vec3<f32>, TRIANGLE_AXES>(v, second, third);
}

/// Lengths of three of the axes, rounded up.
fn axis_lengths(axes: u32) -> vec3<f32> {
    return vec3<f32>(select(TRIANGLE_DIAGONAL, 1.0, axes == 0u));
}

/// Path of a row in this round.
fn path_of(row: u32) -> Path {
    var path: Path;
    for (var k = 0u; k < TRIANGLE_AXES; k++) {
        let section = TRIANGLE_STEPS + 4u * k;
        path.low_start[k] = load_row(section, row);
        path.low_end[k] = load_row(section + 1u, row);
        path.high_start[k] = load_row(section + 2u, row);
        path.high_end[k] = load_row(section + 3u, row);
    }
    return path;
}

/// Smallest path around two paths.
fn join(a: Path, b: Path) -> Path {
    var path: Path;
    for (var k = 0u; k < TRIANGLE_AXES; k++) {
        path.low_start[k] = min(a.low_start[k], b.low_start[k]);
        path.low_end[k] = min(a.low_end[k], b.low_end[k]);
        path.high_start[k] = max(a.high_start[k], b.high_start[k]);
        path.high_end[k] = max(a.high_end[k], b.high_end[k]);
    }
    return path;
}

/// Tests whether an axis separates two paths throughout the move.
fn misses(a: Path, b: Path) -> bool {
    var is_apart = false;
    for (var k = 0u; k < TRIANGLE_AXES; k++) {
        // Ends move linearly: apart at both ends on the same side is apart in between.
        let below = (a.high_start[k] < b.low_start[k]) & (a.high_end[k] < b.low_end[k]);
        let above = (b.high_start[k] < a.low_start[k]) & (b.high_end[k] < a.low_end[k]);
        is_apart = is_apart || any(below | above);
    }
    return is_apart;
}
