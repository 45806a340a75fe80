#import lib/math
#import lib/grid

/// One cloth in one collision of cloths.
struct ContactCloth {
    /// Local x axis in the world; w unused.
    axis_x: vec4<f32>,
    /// Local y axis in the world.
    axis_y: vec4<f32>,
    /// Local z axis in the world.
    axis_z: vec4<f32>,
    /// Origin of the local frame in the world [m].
    origin: vec4<f32>,
    /// What the local x axis has changed by in the last iteration.
    turn_x: vec4<f32>,
    /// What the local y axis has changed by.
    turn_y: vec4<f32>,
    /// What the local z axis has changed by.
    turn_z: vec4<f32>,
    /// What the origin has moved by in the last iteration [m].
    shift: vec4<f32>,
    /// First particle in `current` and `previous`.
    particle_begin: u32,
    /// Number of particles.
    particle_count: u32,
    /// First row of the contacts.
    row_begin: u32,
    /// Slot in `feedback`.
    cloth: u32,
    /// Groups that the cloth belongs to.
    group: u32,
    /// Groups that it collides with.
    mask: u32,
    /// Half the distance that it keeps [m].
    radius: f32,
    /// Move per iteration from which another cloth's particle wakes this one [m].
    wake_distance: f32,
}

/// The uniform of one collision of cloths.
struct ContactParameters {
    /// First entry of `contact_cloths`.
    cloth_begin: u32,
    /// Number of cloths.
    cloth_count: u32,
    /// Particles of all cloths.
    row_count: u32,
    /// Buckets of the grid, a power of two.
    bucket_count: u32,
    /// One over the side of a cell [1/m].
    cell_scale: f32,
    /// Share of an overlap removed per pass.
    stiffness: f32,
    /// Share of the motion along one another removed per pass.
    friction: f32,
    /// Fills the struct to a multiple of 16 bytes.
    padding: u32,
}

/// Lanes of a workgroup of the contact kernels.
const CONTACT_LANES: u32 = 64u;
/// Buckets that one workgroup sums up.
const SCAN_BLOCK: u32 = 1024u;
/// Largest coordinate of a cell: whole numbers stay exact and neighbours stay in range.
const MAX_CELL: f32 = 1.0e9;
/// Squared distance below which two particles coincide [m^2].
const MIN_SQUARE: f32 = 1.0e-30;
/// Words of a cloth's report in `feedback`.
const REPORT_WORDS: u32 = 9u;
/// Place of `fault_count` in a report.
const REPORT_FAULT_COUNT: u32 = 0u;
/// Place of `sleep_pass_count` in a report.
const REPORT_SLEEP_PASS_COUNT: u32 = 5u;
/// Place of `is_asleep` in a report.
const REPORT_IS_ASLEEP: u32 = 8u;

/// What this collision works with.
@group(0) @binding(0) var<uniform> contact: ContactParameters;
/// Cloths that take part, once for each collision of the frame.
@group(0) @binding(1) var<storage, read> contact_cloths: array<ContactCloth>;
/// Position [m] and working inverse mass [1/kg], in local frames.
@group(0) @binding(2) var<storage, read_write> contact_current: array<vec4<f32>>;
/// Position one iteration ago [m], in local frames.
@group(0) @binding(3) var<storage, read> contact_previous: array<vec4<f32>>;
/// Reports of the cloths.
@group(0) @binding(4) var<storage, read_write> contact_feedback: array<atomic<u32>>;
/// Position in the world [m] and inverse mass [1/kg] of each row, then motion of the last iteration [m] and radius [m].
@group(0) @binding(5) var<storage, read_write> contact_rows: array<vec4<f32>>;
/// Rows of each bucket, of each block of buckets; summed up: where they begin.
@group(0) @binding(6) var<storage, read_write> contact_cells: array<atomic<u32>>;
/// Five lists by row: its cloth; its number in its bucket; rows by bucket; the same in order; contacts.
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
    return vec3<i32>(clamp(floor(point * contact.cell_scale), vec3<f32>(-MAX_CELL), vec3<f32>(MAX_CELL)));
}

/// The bucket of a cell.
fn bucket_of(cell: vec3<i32>) -> u32 {
    return bucket_of_cell(cell, contact.bucket_count);
}

/// Where the rows of a bucket begin in the sorted list; those of the last end where one more would begin.
fn bucket_begin(bucket: u32) -> u32 {
    let block = contact.bucket_count + SCAN_BLOCK + bucket / SCAN_BLOCK;
    return atomicLoad(&contact_cells[bucket]) + atomicLoad(&contact_cells[block]);
}

/// First bucket of line k of the 9 lines of three cells along x that are a cell and its neighbours. The buckets of a line
/// follow one another, and so do their rows, but for a line that goes on from the last bucket to the first.
fn line_of(cell: vec3<i32>, k: u32) -> u32 {
    return bucket_of(cell + vec3<i32>(-1, i32(k % 3u) - 1, i32(k / 3u) - 1));
}

/// Parts of a line: 2 if it goes on from the last bucket to the first.
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
