#import stage/collide_shape

/// Pushes the virtual particles of a bundle, one after another, out of spheres and capsules.
///
/// A virtual particle is at p = sum w_k x_k. A push d is distributed to the corners as w_k / (w .
/// w) d, so that p moves by d; pinned corners stay. Source: Kim, "Character Clothing in PhysX-3",
/// 2011.
fn collide_bundle(bundle: u32) {
    let row = cloth.fabric.virtual_bundle_begin + 5u * bundle;
    let end = fabric_pool[row + 4u];
    for (var point = fabric_pool[row + 3u]; point < end; point++) {
        let weights_begin = cloth.fabric.virtual_weight_begin + 3u * point;
        var x = vec3<f32>(0.0);
        var before = vec3<f32>(0.0);
        var weight_square = 0.0;
        for (var k = 0u; k < 3u; k++) {
            let weight = bitcast<f32>(fabric_pool[weights_begin + k]);
            let corner = fabric_pool[row + k];
            x += load_current(corner).xyz * weight;
            before += load_previous(corner).xyz * weight;
            weight_square += weight * weight;
        }
        var contacts = no_contacts();
        touch_shapes(x, &contacts);
        if (contacts.count > 0.0) {
            let push = contacts.push / contacts.count;
            var fractions = vec2<f32>(1.0, 0.0);
            if (is_deep(push)) {
                fractions = push_fractions(x - before, contacts);
                contacts.axis *= fractions.x;
                contacts.grip *= fractions.x;
            }
            var slide = vec3<f32>(0.0);
            if (cloth_parameters[cloth_slot].colliders.friction > 0.0) {
                slide = friction_slide(x - before, contacts);
            }
            // Mass scaling as in `scaled_mass`: w / (1 + gain) = w (1 - loss), shared by weight.
            let gain = cloth_parameters[cloth_slot].colliders.mass_scale * dot3(push, push);
            let loss = gain / (1.0 + gain);
            for (var k = 0u; k < 3u; k++) {
                let weight = bitcast<f32>(fabric_pool[weights_begin + k]);
                let corner = fabric_pool[row + k];
                let fraction = weight / weight_square;
                let particle = load_current(corner);
                if (particle.w > 0.0) {
                    let w = particle.w * max(1.0 - weight * loss, 0.0);
                    var displacement = push * fractions.x;
                    var change = push * fractions.y;
                    if (cloth_parameters[cloth_slot].colliders.friction_holds != 0u) {
                        displacement -= slide;
                    } else {
                        change += slide;
                    }
                    let previous_particle = load_previous(corner);
                    store_previous(corner, vec4<f32>(previous_particle.xyz + change * fraction, previous_particle.w));
                    store_current(corner, vec4<f32>(particle.xyz + displacement * fraction, w));
                }
            }
        }
    }
}
