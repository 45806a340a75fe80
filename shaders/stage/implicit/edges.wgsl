#import lib/math
#import state/shared

/// Edge from particle a to particle b at the trial [m].
fn trial_edge(a: u32, b: u32) -> vec3<f32> {
    // Displacements are subtracted by themselves: their difference keeps its digits.
    return load_previous(b).xyz - load_previous(a).xyz + (load_current(b).xyz - load_current(a).xyz);
}

/// Edge from particle a to particle b one step ago [m].
fn previous_edge(a: u32, b: u32) -> vec3<f32> {
    return load_previous(b).xyz - load_previous(a).xyz;
}

/// Relative excess of a length over its rest, 1 - rest/|w|; 0 if the length vanishes.
fn slack(w: vec3<f32>, rest: f32) -> f32 {
    let square = dot3(w, w);
    if (square > MIN_EDGE_SQUARE) {
        return 1.0 - rest / sqrt(square);
    }
    return 0.0;
}

/// Squared length less 1, -1 + |d|^2. The constant stands first because drivers pull constants out
/// of sums (Mesa does), and this order survives that.
fn excess_square(d: vec3<f32>) -> f32 {
    return -1.0 + d.x * d.x + d.y * d.y + d.z * d.z;
}
