#import contact/gather

/// Lowest corner of this workgroup's cloth, as ordered bits.
var<workgroup> shared_low: array<atomic<u32>, 3>;
/// Highest corner, likewise.
var<workgroup> shared_high: array<atomic<u32>, 3>;

/// Transforms the particles of one cloth per workgroup to world space and computes their bounds.
@compute @workgroup_size(CONTACT_LANES)
fn contact_gather_particles(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let slot = workgroup.y * workgroups.x + workgroup.x;
    let is_inside = slot < contact.cloth_count;
    let k = contact.cloth_begin + min(slot, contact.cloth_count - 1u);
    if (lane < 3u) {
        atomicStore(&shared_low[lane], 0xffffffffu);
        atomicStore(&shared_high[lane], 0u);
    }
    workgroupBarrier(); // clear -> gather

    var low = vec3<u32>(0xffffffffu);
    var high = vec3<u32>(0u);
    let particle_count = select(0u, contact_cloths[k].particle_count, is_inside);
    for (var i = lane; i < particle_count; i += CONTACT_LANES) {
        let position = gather_particle(slot, i);
        let bits = vec3<u32>(ordered_bits(position.x), ordered_bits(position.y), ordered_bits(position.z));
        low = min(low, bits);
        high = max(high, bits);
    }
    atomicMin(&shared_low[0], low.x);
    atomicMin(&shared_low[1], low.y);
    atomicMin(&shared_low[2], low.z);
    atomicMax(&shared_high[0], high.x);
    atomicMax(&shared_high[1], high.y);
    atomicMax(&shared_high[2], high.z);
    workgroupBarrier(); // gather -> bounds

    if (is_inside && lane < 3u) {
        contact_bounds[6u * slot + lane] = atomicLoad(&shared_low[lane]);
        contact_bounds[6u * slot + 3u + lane] = atomicLoad(&shared_high[lane]);
    }
}
