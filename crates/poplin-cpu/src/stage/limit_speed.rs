//! Twin of `shaders/stage/limit_speed.wgsl`.

use crate::ClothMemory;
use crate::math::{dot3, particle as pack, xyz};

/// Limits the displacement of particle i in this iteration to the largest move.
pub fn limit_speed(memory: &mut ClothMemory<'_>, i: u32) {
    let particle = memory.load_current(i);
    let before = xyz(memory.load_previous(i));
    let displacement = xyz(particle) - before;
    let square = dot3(displacement, displacement);
    let max_move = memory.cloth.max_move;
    if particle[3] > 0.0 && square > max_move * max_move {
        memory.store_current(
            i,
            pack(before + displacement * (max_move / square.sqrt()), particle[3]),
        );
    }
}
