//! Twin of `shaders/stage/gauss_seidel.wgsl`.

use poplin_layout::{EPSILON, NO_OFFSET};

use crate::ClothMemory;
use crate::math::{dot3, exp2_portable, guarded_square, particle as pack, xyz};

/// Solves the edges of one fiber in order, each with the updated positions.
pub fn project_fiber(memory: &mut ClothMemory<'_>, fiber: u32) {
    let phase = memory.registers.phase;
    let edge_begin = memory.fabric(memory.cloth.fabric.fiber_begin + fiber);
    let edge_end = memory.fabric(memory.cloth.fabric.fiber_begin + fiber + 1);
    let vertices = memory.cloth.fabric.vertex_begin + fiber;
    let mut a = memory.fabric(vertices + edge_begin);
    let mut pa = memory.load_current(a);
    for edge in edge_begin..edge_end {
        let b = memory.fabric(vertices + edge + 1);
        let mut pb = memory.load_current(b);
        let rest_length = memory.rest_length_of(edge);
        let mut stiffness = phase.stiffness;
        if memory.cloth.fabric.edge_stiffness_begin != NO_OFFSET {
            let log2_rest = memory.fabric_f32(memory.cloth.fabric.edge_stiffness_begin + edge);
            stiffness = 1.0 - exp2_portable(log2_rest * memory.cloth.stiffness_exponent);
        }
        let delta = xyz(pb) - xyz(pa);
        let mut error = 0.0;
        if rest_length > EPSILON {
            // error = 1 - L / |d|
            error = 1.0 - rest_length / guarded_square(delta).sqrt();
        }
        // Soft range: a fraction of the error within the limits stays.
        error -= phase.multiplier * phase.compression.max(error.min(phase.stretch));
        let mut weight = EPSILON + pa[3] + pb[3];
        if phase.compliance > 0.0 && rest_length > EPSILON {
            let displacement =
                (xyz(pb) - xyz(memory.load_previous(b))) - (xyz(pa) - xyz(memory.load_previous(a)));
            error += phase.damping * (dot3(delta, displacement) / guarded_square(delta));
            weight = weight + phase.damping * (pa[3] + pb[3]) + phase.compliance;
        }
        let correction = error * stiffness / weight;
        // An immovable particle may belong to other fibers of the set: it is read, never written.
        if pa[3] > 0.0 {
            memory.store_current(a, pack(xyz(pa) + delta * (correction * pa[3]), pa[3]));
        }
        if pb[3] > 0.0 {
            pb = pack(xyz(pb) - delta * (correction * pb[3]), pb[3]);
        }
        a = b;
        pa = pb;
    }
    if pa[3] > 0.0 {
        memory.store_current(a, pa);
    }
}
