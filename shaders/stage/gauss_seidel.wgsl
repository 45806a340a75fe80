#import lib/math
#import state/shared

/// Solves the edges of one fiber in order, each immediately.
///
/// C = |pb - pa| - L. With e = 1 - L/|d|, d = pb - pa, the mass-weighted projection is
///   pa += d * e * k * wa / (wa + wb),   pb -= d * e * k * wb / (wa + wb).
/// Source: Mueller et al., "Position Based Dynamics", 2006, eq. 10-11; EPSILON guards both
/// divisions. Between the phase's compression and stretch limits the fraction `multiplier` of e is
/// not corrected. With compliance the divisor is (1 + gamma) (wa + wb) + alpha~, and gamma times
/// the rate of |d| adds to the error (Macklin et al., "XPBD", 2016, eq. 26).
fn project_fiber(fiber: u32, phase: PhaseConstants) {
    let edge_begin = fabric_pool[cloth.fabric.fiber_begin + fiber];
    let edge_end = fabric_pool[cloth.fabric.fiber_begin + fiber + 1u];
    let vertices = cloth.fabric.vertex_begin + fiber;
    var a = fabric_pool[vertices + edge_begin];
    var pa = load_current(a);
    for (var edge = edge_begin; edge < edge_end; edge++) {
        let b = fabric_pool[vertices + edge + 1u];
        var pb = load_current(b);
        let rest_length = rest_length_of(edge);
        var stiffness = phase.stiffness;
        if (cloth.fabric.edge_stiffness_begin != NO_OFFSET) {
            let log2_rest = bitcast<f32>(fabric_pool[cloth.fabric.edge_stiffness_begin + edge]);
            // Stiffness of the edge, independent of the step: 1 - (1 - k)^exponent.
            stiffness = 1.0 - exp2_portable(log2_rest * cloth.stiffness_exponent);
        }
        let delta = vector_between(a, pa, b, pb);
        var error = 0.0;
        if (rest_length > EPSILON) {
            error = 1.0 - rest_length / sqrt(guarded_square(delta));
        }
        // Soft range: part of the error between both limits is allowed.
        error -= phase.multiplier * max(phase.compression, min(error, phase.stretch));
        var weight = EPSILON + pa.w + pb.w;
        if (phase.compliance > 0.0 && rest_length > EPSILON) {
            let displacement = displacement_of(pb, b) - displacement_of(pa, a);
            error += phase.damping * (dot3(delta, displacement) / guarded_square(delta));
            weight = weight + phase.damping * (pa.w + pb.w) + phase.compliance;
        }
        let correction = error * stiffness / weight;
        // A particle without mass may belong to other fibers of the set: it is read, never written.
        if (pa.w > 0.0) {
            store_current(a, vec4<f32>(pa.xyz + delta * (correction * pa.w), pa.w));
        }
        if (pb.w > 0.0) {
            pb = vec4<f32>(pb.xyz - delta * (correction * pb.w), pb.w);
        }
        a = b;
        pa = pb;
    }
    if (pa.w > 0.0) {
        store_current(a, pa);
    }
}
