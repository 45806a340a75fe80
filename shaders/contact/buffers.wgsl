#import lib/math
#import lib/grid
#import state/constants
#import contact/types

/// Parameters of this collision.
@group(0) @binding(0) var<uniform> contact: ContactParameters;
/// Cloths that take part, one entry per collision of the frame.
@group(0) @binding(1) var<storage, read> contact_cloths: array<ContactCloth>;
/// Position [m] and working inverse mass [1/kg], in local space.
@group(0) @binding(2) var<storage, read_write> contact_current: array<vec4<f32>>;
/// Position one iteration ago [m], in local space.
@group(0) @binding(3) var<storage, read> contact_previous: array<vec4<f32>>;
/// Reports of the cloths.
@group(0) @binding(4) var<storage, read_write> contact_feedback: array<atomic<u32>>;
/// Position in the world [m] and inverse mass [1/kg] of each row, then motion of the last iteration [m] and radius [m].
@group(0) @binding(5) var<storage, read_write> contact_rows: array<vec4<f32>>;
/// Row counts of each bucket and of each block of buckets; after the scan: where their rows begin.
@group(0) @binding(6) var<storage, read_write> contact_cells: array<atomic<u32>>;
/// Five lists with an entry per row: its cloth; its index in its bucket; rows by bucket; the same in order; contact counts.
@group(0) @binding(7) var<storage, read_write> contact_entries: array<u32>;
/// Lowest and highest corner of each cloth as ordered bits, then whether it meets another cloth.
@group(0) @binding(8) var<storage, read_write> contact_bounds: array<u32>;

/// Whether two cloths of the running collision collide: each must want the other.
fn wants(a: u32, b: u32) -> bool {
    let first = contact.cloth_begin + a;
    let second = contact.cloth_begin + b;
    let is_wanted = (contact_cloths[first].group & contact_cloths[second].mask) != 0u;
    return is_wanted && (contact_cloths[second].group & contact_cloths[first].mask) != 0u && a != b;
}

/// Whether row i belongs to a cloth that meets another.
fn is_met(i: u32) -> bool {
    return contact_bounds[6u * contact.cloth_count + contact_entries[i]] != 0u;
}

/// Whether a cloth sleeps or is frozen: it is not moved.
fn is_held(slot: u32) -> bool {
    let report = REPORT_WORDS * contact_cloths[contact.cloth_begin + slot].cloth;
    let is_frozen = atomicLoad(&contact_feedback[report + REPORT_FAULT_COUNT]) != 0u;
    return is_frozen || atomicLoad(&contact_feedback[report + REPORT_IS_ASLEEP]) != 0u;
}

/// The cell of a point.
fn cell_of(point: vec3<f32>) -> vec3<i32> {
    return vec3<i32>(clamp(floor(point * contact.cell_scale), vec3<f32>(-CONTACT_MAX_CELL), vec3<f32>(CONTACT_MAX_CELL)));
}

/// The bucket of a cell.
fn bucket_of(cell: vec3<i32>) -> u32 {
    return bucket_of_cell(cell, contact.bucket_count);
}

/// Where the rows of a bucket begin in the sorted list; bucket `bucket_count` is the end of the last.
fn bucket_begin(bucket: u32) -> u32 {
    let block = contact.bucket_count + SCAN_BLOCK + bucket / SCAN_BLOCK;
    return atomicLoad(&contact_cells[bucket]) + atomicLoad(&contact_cells[block]);
}

/// First bucket of line k of the 9 lines of three cells along x that are a cell and its neighbours. The buckets of a line
/// follow one another, and so do their rows, but for a line that wraps from the last bucket to the first.
fn line_of(cell: vec3<i32>, k: u32) -> u32 {
    return bucket_of(cell + vec3<i32>(-1, i32(k % 3u) - 1, i32(k / 3u) - 1));
}

/// Parts of a line: 2 if it wraps from the last bucket to the first.
fn part_count(first: u32) -> u32 {
    return select(1u, 2u, first + 3u > contact.bucket_count);
}

/// Where the rows of a part of a line begin and end in the sorted list.
fn part_range(first: u32, part: u32) -> vec2<u32> {
    if (part == 0u) {
        return vec2<u32>(bucket_begin(first), bucket_begin(min(first + 3u, contact.bucket_count)));
    }
    return vec2<u32>(bucket_begin(0u), bucket_begin(first + 3u - contact.bucket_count));
}
