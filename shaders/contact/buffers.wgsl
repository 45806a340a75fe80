#import lib/math
#import lib/grid
#import state/constants
#import contact/types

/// Parameters of the pass.
@group(0) @binding(0) var<uniform> contact: ContactParameters;
/// Participating cloths, one entry per collision of the frame.
@group(0) @binding(1) var<storage, read> contact_cloths: array<ContactCloth>;
/// Position [m] and working inverse mass [1/kg], in local space.
@group(0) @binding(2) var<storage, read_write> contact_current: array<vec4<f32>>;
/// Position one iteration ago [m], in local space.
@group(0) @binding(3) var<storage, read> contact_previous: array<vec4<f32>>;
/// Reports of the cloths.
@group(0) @binding(4) var<storage, read_write> contact_feedback: array<atomic<u32>>;
/// World position [m] and inverse mass [1/kg] of each row, then its motion in the last iteration
/// [m] and radius [m].
@group(0) @binding(5) var<storage, read_write> contact_rows: array<vec4<f32>>;
/// Row counts of each bucket and of each block of buckets; after the scan: the first row of each.
@group(0) @binding(6) var<storage, read_write> contact_cells: array<atomic<u32>>;
/// Five lists with an entry per row: its cloth; its index in its bucket; rows by bucket in order of
/// arrival; rows by bucket, sorted; contact counts.
@group(0) @binding(7) var<storage, read_write> contact_entries: array<u32>;
/// Lowest and highest corner of each cloth as ordered bits, then 1 for each cloth that is near
/// another one, else 0.
@group(0) @binding(8) var<storage, read_write> contact_bounds: array<u32>;

/// Tests whether the collision groups of two different cloths let them collide; each must accept
/// the other.
fn wants(a: u32, b: u32) -> bool {
    let first = contact.cloth_begin + a;
    let second = contact.cloth_begin + b;
    let is_wanted = (contact_cloths[first].group & contact_cloths[second].mask) != 0u;
    return is_wanted && (contact_cloths[second].group & contact_cloths[first].mask) != 0u && a != b;
}

/// Tests whether row i belongs to a cloth that is near another one.
fn is_met(i: u32) -> bool {
    return contact_bounds[6u * contact.cloth_count + contact_entries[i]] != 0u;
}

/// Tests whether a cloth sleeps or is frozen, so that contact does not move it.
fn is_held(slot: u32) -> bool {
    let report = REPORT_WORDS * contact_cloths[contact.cloth_begin + slot].cloth;
    let is_frozen = atomicLoad(&contact_feedback[report + REPORT_FAULT_COUNT]) != 0u;
    return is_frozen || atomicLoad(&contact_feedback[report + REPORT_IS_ASLEEP]) != 0u;
}

/// Grid cell of a point.
fn cell_of(point: vec3<f32>) -> vec3<i32> {
    return vec3<i32>(clamp(floor(point * contact.cell_scale), vec3<f32>(-CONTACT_MAX_CELL), vec3<f32>(CONTACT_MAX_CELL)));
}

/// Hash bucket of a cell.
fn bucket_of(cell: vec3<i32>) -> u32 {
    return bucket_of_cell(cell, contact.bucket_count);
}

/// First row of a bucket in the sorted list; bucket `bucket_count` is the end of the last one.
fn bucket_begin(bucket: u32) -> u32 {
    // The scan is in two levels: a bucket's offset in its block, plus that of the block.
    let block = contact.bucket_count + SCAN_BLOCK + bucket / SCAN_BLOCK;
    return atomicLoad(&contact_cells[bucket]) + atomicLoad(&contact_cells[block]);
}

/// First bucket of line k of the nine lines of three cells along x that make up a cell and its
/// neighbours. The buckets of a line are consecutive, as are their rows, except in a line that
/// wraps from the last bucket to the first.
fn line_of(cell: vec3<i32>, k: u32) -> u32 {
    return bucket_of(cell + vec3<i32>(-1, i32(k % 3u) - 1, i32(k / 3u) - 1));
}

/// Number of consecutive ranges of a line: 2 if it wraps from the last bucket to the first.
fn part_count(first: u32) -> u32 {
    return select(1u, 2u, first + 3u > contact.bucket_count);
}

/// Begin and end of a range of a line in the sorted list.
fn part_range(first: u32, part: u32) -> vec2<u32> {
    if (part == 0u) {
        return vec2<u32>(bucket_begin(first), bucket_begin(min(first + 3u, contact.bucket_count)));
    }
    return vec2<u32>(bucket_begin(0u), bucket_begin(first + 3u - contact.bucket_count));
}
