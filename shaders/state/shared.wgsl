#import state/types
#import state/bindings

// Memory budget of a workgroup [bytes]:
//   shared_current   16 * CURRENT_CAPACITY    resident, half-resident: the particle capacity; streamed: 1
//   shared_previous  16 * PREVIOUS_CAPACITY   resident: the particle capacity; else 1
//   fault counters   8

/// Threads of a workgroup; one workgroup simulates one cloth.
override LANES: u32 = 64u;
/// Particles whose current state fits in workgroup memory.
override CURRENT_CAPACITY: u32 = 1u;
/// Particles whose previous state fits in workgroup memory.
override PREVIOUS_CAPACITY: u32 = 1u;
/// Current particles are in workgroup memory (resident and half-resident tiers).
override CURRENT_SHARED: bool = false;
/// Previous particles are in workgroup memory (resident tier).
override PREVIOUS_SHARED: bool = false;
/// Stages that are compiled in, one bit each.
override STAGES: u32 = 0xffffffffu;

/// Bit of the integrate stage in STAGES.
const STAGE_INTEGRATE: u32 = 0x1u;
/// Bit of the tether stage in STAGES.
const STAGE_TETHER: u32 = 0x8u;
/// Bit of the fabric stage in STAGES.
const STAGE_GAUSS_SEIDEL: u32 = 0x10u;
/// Bit of the mass stage in STAGES.
const STAGE_MASS: u32 = 0x100u;

/// Current particles of this workgroup's cloth.
var<workgroup> shared_current: array<vec4<f32>, CURRENT_CAPACITY>;
/// Previous particles of this workgroup's cloth.
var<workgroup> shared_previous: array<vec4<f32>, PREVIOUS_CAPACITY>;
/// Particles that would have left the number range.
var<workgroup> shared_fault_count: atomic<u32>;
/// The lowest such particle.
var<workgroup> shared_fault_particle: atomic<u32>;

/// The cloth of this workgroup.
var<private> cloth: ClothFrame;
/// The running iteration.
var<private> iteration: IterationConstants;

/// Current state of particle i of the cloth.
fn load_current(i: u32) -> vec4<f32> {
    if (CURRENT_SHARED) {
        return shared_current[i];
    }
    return current[cloth.particle_begin + i];
}

/// Writes the current state of particle i.
fn store_current(i: u32, particle: vec4<f32>) {
    if (CURRENT_SHARED) {
        shared_current[i] = particle;
    } else {
        current[cloth.particle_begin + i] = particle;
    }
}

/// Previous state of particle i of the cloth.
fn load_previous(i: u32) -> vec4<f32> {
    if (PREVIOUS_SHARED) {
        return shared_previous[i];
    }
    return previous[cloth.particle_begin + i];
}

/// Writes the previous state of particle i.
fn store_previous(i: u32, particle: vec4<f32>) {
    if (PREVIOUS_SHARED) {
        shared_previous[i] = particle;
    } else {
        previous[cloth.particle_begin + i] = particle;
    }
}

/// Brings particle i into workgroup memory, as far as the tier keeps it there.
fn fetch_particle(i: u32) {
    if (CURRENT_SHARED) {
        shared_current[i] = current[cloth.particle_begin + i];
    }
    if (PREVIOUS_SHARED) {
        shared_previous[i] = previous[cloth.particle_begin + i];
    }
}

/// Writes particle i back from workgroup memory.
fn flush_particle(i: u32) {
    if (CURRENT_SHARED) {
        current[cloth.particle_begin + i] = shared_current[i];
    }
    if (PREVIOUS_SHARED) {
        previous[cloth.particle_begin + i] = shared_previous[i];
    }
}

/// Constants of iteration k of the cloth.
fn load_iteration(k: u32) -> IterationConstants {
    let begin = cloth.iteration_begin + k * 3u;
    return IterationConstants(frame_pool[begin], frame_pool[begin + 1u], frame_pool[begin + 2u]);
}

/// Constants whose first vec4 stands at `begin` in `frame_pool`.
fn load_phase(begin: u32) -> PhaseConstants {
    let values = frame_pool[begin];
    let sets = bitcast<vec4<u32>>(frame_pool[begin + 1u]);
    return PhaseConstants(values.x, values.y, values.z, values.w, sets.x, sets.y, sets.zw);
}
