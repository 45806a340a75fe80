//! MDD point caches of LightWave: Blender's Mesh Cache modifier, Houdini, Cinema 4D and others read them.
//!
//! Layout, big-endian: frame count (i32), vertex count (i32), the time of every frame in seconds (f32), then
//! `frame_count * vertex_count` positions of three f32.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use super::FrameFormat;
use super::spool::{Film, Spool};

/// MDD in the table of formats.
pub(super) const FORMAT: FrameFormat = FrameFormat {
    name: "mdd",
    doc: "MDD point cache (LightWave; Blender: Mesh Cache modifier, Houdini, Cinema 4D)",
    is_sequence: false,
    create: |path, source| Spool::create(path, source, i32::MAX as u32, write),
};

fn write(film: &Film<'_>, out: &mut BufWriter<File>) -> io::Result<()> {
    out.write_all(&film.frame_count.to_be_bytes())?;
    out.write_all(&(film.mesh.positions.len() as u32).to_be_bytes())?;
    for frame in 0..film.frame_count {
        out.write_all(&film.time(frame).to_be_bytes())?;
    }
    film.visit(|_, positions| {
        positions.iter().flatten().try_for_each(|x| out.write_all(&x.to_be_bytes()))
    })
}
