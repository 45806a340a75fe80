#import contact/triangle_slice

/// Keeps the multipliers of bodies that have other indices now.
@compute @workgroup_size(1)
fn triangle_remap_multipliers() {
    remap_multipliers();
}
