#import contact/triangle_slice

/// Rewrites stored multipliers to the new body indices.
@compute @workgroup_size(1)
fn triangle_remap_multipliers() {
    remap_multipliers();
}
