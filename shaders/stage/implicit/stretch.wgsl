#import stage/implicit/addresses
#import stage/implicit/edges

/// Computes the gradient of the energy of triangle t at its corners and writes it to scratch.
///
/// With wu and wv the derivatives of position by the rest coordinates u and v, and A the rest area,
/// the energies are
///   threads: A/2 (Ku (|wu| - 1)^2 + Kv (|wv| - 1)^2 + G (wu . wv)^2),
///   trispring: A (mu |E|^2 + lambda/2 tr(E)^2),  E the Green strain.
/// Threads follow Baraff, Witkin, "Large Steps in Cloth Simulation", 1998, eqs. 9 to 11, with A
/// once instead of squared; trisprings are the quadratic springs of Delingette, "Triangular Springs
/// for Modeling Nonlinear Membranes", 2008. Damping resists the change of |wu|, |wv| and wu . wv,
/// or of E, since the last step: a stiffness larger by beta/h against a shape between the rest
/// shape and the last one.
fn stretch_triangle(t: u32) {
    let corners = cloth.fabric.triangle_begin + 3u * t;
    let i0 = fabric_pool[corners];
    let i1 = fabric_pool[corners + 1u];
    let i2 = fabric_pool[corners + 2u];
    let by_u = vec2<f32>(shape_value(0u, t), shape_value(1u, t));
    let by_v = vec2<f32>(shape_value(2u, t), shape_value(3u, t));
    let area = shape_value(4u, t);
    let p = trial_edge(i0, i1);
    let q = trial_edge(i0, i2);
    // Deformation gradient: wu = dx/du, wv = dx/dv.
    let wu = p * by_u.x + q * by_u.y;
    let wv = p * by_v.x + q * by_v.y;
    let stiffness_u = load_implicit().stiffness_u;
    let stiffness_v = load_implicit().stiffness_v;
    let memory = load_implicit().stretch_memory;
    var last_u = vec3<f32>(0.0);
    var last_v = vec3<f32>(0.0);
    if (memory > 0.0) {
        let last_p = previous_edge(i0, i1);
        let last_q = previous_edge(i0, i2);
        last_u = last_p * by_u.x + last_q * by_u.y;
        last_v = last_p * by_v.x + last_q * by_v.y;
    }
    let last_shear = dot3(last_u, last_v) * memory;
    var pu = vec3<f32>(0.0);
    var pv = vec3<f32>(0.0);
    if (load_implicit().stretch_model == STRETCH_THREADS) {
        let share = load_implicit().rest_fraction;
        let shear = load_implicit().shear_stiffness * (dot3(wu, wv) - last_shear);
        let rest_u = share + sqrt(dot3(last_u, last_u)) * memory;
        let rest_v = share + sqrt(dot3(last_v, last_v)) * memory;
        // pu = dE/dwu / A = Ku (|wu| - L) wu/|wu| + G (wu . wv) wv
        pu = wu * (stiffness_u * slack(wu, rest_u)) + wv * shear;
        pv = wv * (stiffness_v * slack(wv, rest_v)) + wu * shear;
    } else {
        var strain_u = excess_square(wu);
        var strain_v = excess_square(wv);
        if (memory > 0.0) {
            strain_u -= excess_square(last_u) * memory;
            strain_v -= excess_square(last_v) * memory;
        }
        // These strains are twice the Green strains, hence the factor 1/2.
        let pressure = stiffness_u * 0.5 * (strain_u + strain_v);
        let shear = stiffness_v * (dot3(wu, wv) - last_shear);
        pu = wu * (stiffness_v * strain_u + pressure) + wv * shear;
        pv = wv * (stiffness_v * strain_v + pressure) + wu * shear;
    }
    // The area multiplies each term: drivers factor it out of a sum (Mesa does), which rounds
    // differently.
    let gradient_1 = pu * (by_u.x * area) + pv * (by_v.x * area);
    let gradient_2 = pu * (by_u.y * area) + pv * (by_v.y * area);
    let row = corner_row(3u * t);
    store_scratch(row, vec4<f32>(-(gradient_1 + gradient_2), 0.0));
    store_scratch(row + 1u, vec4<f32>(gradient_1, 0.0));
    store_scratch(row + 2u, vec4<f32>(gradient_2, 0.0));
}
