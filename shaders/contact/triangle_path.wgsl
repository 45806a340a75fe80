#import contact/triangle_state

/// Boxes around the start and the end of a path.
struct Path {
    /// Lowest corner at the start [m].
    low_start: vec3<f32>,
    /// Lowest corner at the end [m].
    low_end: vec3<f32>,
    /// Highest corner at the start [m].
    high_start: vec3<f32>,
    /// Highest corner at the end [m].
    high_end: vec3<f32>,
}

/// The path of a row in this round.
fn path_of(row: u32) -> Path {
    let low_start = load_row(TRIANGLE_STEPS, row);
    let low_end = load_row(TRIANGLE_STEPS + 1u, row);
    let high_start = load_row(TRIANGLE_STEPS + 2u, row);
    let high_end = load_row(TRIANGLE_STEPS + 3u, row);
    return Path(low_start, low_end, high_start, high_end);
}

/// Around both.
fn join(a: Path, b: Path) -> Path {
    let low_start = min(a.low_start, b.low_start);
    let low_end = min(a.low_end, b.low_end);
    return Path(low_start, low_end, max(a.high_start, b.high_start), max(a.high_end, b.high_end));
}

/// Whether an axis keeps them apart all the time.
fn misses(a: Path, b: Path) -> bool {
    let below = (a.high_start < b.low_start) & (a.high_end < b.low_end);
    let above = (b.high_start < a.low_start) & (b.high_end < a.low_end);
    return any(below | above);
}
