//! MDD point caches of LightWave, for Blender's Mesh Cache modifier, Houdini, Cinema 4D and other
//! programs.
//!
//! Layout, big-endian: frame count (i32), vertex count (i32), the time of every frame in seconds
//! (f32), then `frame_count * vertex_count` positions of three f32.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use super::FrameFormat;
use super::spool::{Recording, Spool};

/// MDD entry of the format table.
pub(super) const FORMAT: FrameFormat = FrameFormat {
    name: "mdd",
    doc: "MDD point cache (LightWave; Blender: Mesh Cache modifier, Houdini, Cinema 4D)",
    is_sequence: false,
    create: |path, source| Spool::create(path, source, i32::MAX as u32, write),
};

fn write(recording: &Recording<'_>, out: &mut BufWriter<File>) -> io::Result<()> {
    out.write_all(&recording.frame_count.to_be_bytes())?;
    out.write_all(&(recording.mesh.positions.len() as u32).to_be_bytes())?;
    for frame in 0..recording.frame_count {
        out.write_all(&recording.time(frame).to_be_bytes())?;
    }
    recording.visit(|_, positions| {
        positions.iter().flatten().try_for_each(|x| out.write_all(&x.to_be_bytes()))
    })
}
