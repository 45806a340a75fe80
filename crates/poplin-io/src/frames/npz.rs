//! NPZ archives: frames, faces and texture coordinates as NumPy arrays, in a ZIP file without
//! compression.
//!
//! ZIP (PKWARE, APPNOTE 6.3.10): each member has a local header before its bytes; a directory is at
//! the end. Sizes are in 64-bit fields (ZIP64), for long runs.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use poplin_model::Mesh;

use super::FrameFormat;
use super::npy::{ElementType, header};
use super::source::faces;
use super::spool::{Recording, Spool, write_floats};

/// NPZ entry of the format table.
pub(super) const FORMAT: FrameFormat = FrameFormat {
    name: "npz",
    doc: "NumPy arrays positions [frame, vertex, 3], faces, uvs and frame_rate (numpy.load)",
    is_sequence: false,
    create: |path, source| Spool::create(path, source, i32::MAX as u32, write),
};

fn write(recording: &Recording<'_>, out: &mut BufWriter<File>) -> io::Result<()> {
    let mesh = recording.mesh;
    let mut zip = Zip { out, members: Vec::new() };
    let shape = [recording.frame_count as usize, mesh.positions.len(), 3];
    zip.member("positions", ElementType::F32, &shape, |out| {
        recording.visit(|_, positions| write_floats(out, positions.as_flattened()))
    })?;
    // Triangles among quads have -1 as their fourth corner.
    let width = if mesh.quads.is_empty() { 3 } else { 4 };
    let count = mesh.quads.len() + mesh.triangles.len();
    zip.member("faces", ElementType::I32, &[count, width], |out| {
        for (corners, _) in faces(mesh) {
            for k in 0..width {
                let corner = corners.get(k).map_or(-1, |&corner| corner as i32);
                out.write_all(&corner.to_le_bytes())?;
            }
        }
        Ok(())
    })?;
    if !mesh.uvs.is_empty() {
        zip.member("uvs", ElementType::F32, &[mesh.uvs.len(), 2], |out| {
            write_floats(out, mesh.uvs.as_flattened())
        })?;
    } else if !mesh.corner_uvs.coordinates.is_empty() {
        zip.member("corner_uvs", ElementType::F32, &[count, width, 2], |out| {
            faces(mesh).try_for_each(|(_, uvs)| write_corner_uvs(out, mesh, uvs, width))
        })?;
    }
    zip.member("frame_rate", ElementType::F32, &[], |out| {
        write_floats(out, &[recording.frame_rate])
    })?;
    zip.finish()
}

/// Writes the texture coordinates of a face; NaN for a corner without one.
fn write_corner_uvs(
    out: &mut dyn Write,
    mesh: &Mesh,
    uvs: Option<&[u32]>,
    width: usize,
) -> io::Result<()> {
    for k in 0..width {
        let uv = uvs.and_then(|uvs| uvs.get(k));
        let uv = uv.and_then(|&uv| mesh.corner_uvs.coordinates.get(uv as usize));
        write_floats(out, uv.unwrap_or(&[f32::NAN; 2]))?;
    }
    Ok(())
}

/// Version 4.5 of the format, required for ZIP64.
const VERSION: u16 = 45;

/// First day of 1980: the archive depends only on its contents.
const DATE: u16 = 0x21;

/// Archive that is being written.
struct Zip<'a> {
    out: &'a mut BufWriter<File>,
    members: Vec<Member>,
}

/// File in the archive.
struct Member {
    name: String,
    checksum: u32,
    size: u64,
    offset: u64,
}

impl Zip<'_> {
    /// Adds an array.
    fn member(
        &mut self,
        name: &str,
        element: ElementType,
        shape: &[usize],
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let offset = self.out.stream_position()?;
        let mut member = Member { name: format!("{name}.npy"), checksum: 0, size: 0, offset };
        member.write_local(self.out)?;
        let mut counted = Counted { out: self.out, hasher: crc32fast::Hasher::new(), size: 0 };
        counted.write_all(&header(element, shape))?;
        write(&mut counted)?;
        (member.checksum, member.size) = (counted.hasher.finalize(), counted.size);
        // Rewrites the header with the size and checksum.
        let end = self.out.stream_position()?;
        self.out.seek(SeekFrom::Start(offset))?;
        member.write_local(self.out)?;
        self.out.seek(SeekFrom::Start(end))?;
        self.members.push(member);
        Ok(())
    }

    /// Writes the central directory and the ZIP64 end records.
    fn finish(self) -> io::Result<()> {
        let begin = self.out.stream_position()?;
        for member in &self.members {
            let mut bytes = b"PK\x01\x02".to_vec();
            bytes.extend(VERSION.to_le_bytes());
            member.extend_common(&mut bytes, 28);
            // No comment, disk 0, no attributes, the offset in the extra field.
            bytes.extend([0; 10]);
            bytes.extend(u32::MAX.to_le_bytes());
            bytes.extend(member.name.as_bytes());
            bytes.extend([1, 0, 24, 0]);
            bytes.extend(
                [member.size, member.size, member.offset].map(u64::to_le_bytes).as_flattened(),
            );
            self.out.write_all(&bytes)?;
        }
        let end = self.out.stream_position()?;
        let count = self.members.len() as u64;
        let mut bytes = b"PK\x06\x06".to_vec();
        bytes.extend(44_u64.to_le_bytes());
        bytes.extend([VERSION, VERSION].map(u16::to_le_bytes).as_flattened());
        bytes.extend([0; 8]);
        bytes.extend([count, count, end - begin, begin].map(u64::to_le_bytes).as_flattened());
        bytes.extend(b"PK\x06\x07\0\0\0\0");
        bytes.extend(end.to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend(b"PK\x05\x06\0\0\0\0");
        // Counts, size and offset are in the record before; no comment.
        bytes.extend([0xff; 12]);
        bytes.extend([0; 2]);
        self.out.write_all(&bytes)
    }
}

impl Member {
    fn write_local(&self, out: &mut impl Write) -> io::Result<()> {
        let mut bytes = b"PK\x03\x04".to_vec();
        self.extend_common(&mut bytes, 20);
        bytes.extend(self.name.as_bytes());
        bytes.extend([1, 0, 16, 0]);
        bytes.extend([self.size, self.size].map(u64::to_le_bytes).as_flattened());
        out.write_all(&bytes)
    }

    /// Appends the fields common to both headers: version, no flags, stored, time and date,
    /// checksum, sizes in an extra field of this length.
    fn extend_common(&self, bytes: &mut Vec<u8>, extra_length: u16) {
        bytes.extend([VERSION, 0, 0, 0, DATE].map(u16::to_le_bytes).as_flattened());
        bytes.extend([self.checksum, u32::MAX, u32::MAX].map(u32::to_le_bytes).as_flattened());
        bytes.extend([self.name.len() as u16, extra_length].map(u16::to_le_bytes).as_flattened());
    }
}

/// Writer that counts bytes and computes their checksum.
struct Counted<'a> {
    out: &'a mut BufWriter<File>,
    hasher: crc32fast::Hasher,
    size: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        self.size += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
