//! Twin of `shaders/stage/mass.wgsl`.

use crate::ClothMemory;

/// Restores the user's inverse mass of particle i, unless this iteration holds it at 0.
pub fn restore_mass(memory: &mut ClothMemory<'_>, i: u32) {
    let [x, y, z, w] = memory.load_current(i);
    if w > 0.0 {
        memory.store_current(i, [x, y, z, memory.load_previous(i)[3]]);
    }
}
