//! Parser of OBJ text.

use std::io::{BufRead, Read};
use std::ops::Range;
use std::path::Path;

use glam::DVec3;
use poplin_model::{CornerUvs, MAX_COORDINATE, MAX_PARTICLES, Mesh};

use super::MAX_FACES;
use crate::IoError;
use crate::mesh_file::{Parsed, TwistedFaces};
use crate::polygon::{Cut, cut};
use crate::text::shortened;

/// Limit of a line with its continuation lines \[bytes\]; a face of three million corners fits.
const MAX_LINE: usize = 64 << 20;

/// Parses OBJ text; `path` is only used in errors.
pub(super) fn parse_obj(mut reader: impl BufRead, path: &Path) -> Result<Parsed, IoError> {
    let mut parser = Parser {
        path,
        line: 0,
        mesh: Mesh::default(),
        positions: Vec::new(),
        uncut: Vec::new(),
        twisted: TwistedFaces::default(),
        uvs: Vec::new(),
        corner_uvs: Vec::new(),
        pending: Vec::new(),
    };
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        parser.line += 1;
        let mut continued = 0;
        loop {
            let begin = bytes.len();
            // One byte over the limit tells a long line from one of maximum length, without reading
            // all of it.
            let room = (MAX_LINE + 1 - begin) as u64;
            let read = reader.by_ref().take(room).read_until(b'\n', &mut bytes);
            let is_end = read.map_err(IoError::read(path))? == 0;
            if is_end && bytes.is_empty() {
                return parser.finish();
            }
            // A NUL byte: a binary file, reported before its "lines" are collected.
            if bytes[begin..].contains(&0) {
                return Err(IoError::NotText { path: path.to_path_buf(), line: parser.line });
            }
            if bytes.len() > MAX_LINE {
                let (path, line) = (path.to_path_buf(), parser.line);
                return Err(IoError::LineTooLong { path, line, limit: MAX_LINE });
            }
            let own = bytes[begin..].trim_ascii_end();
            let end = begin + own.len();
            // A backslash at the end of a comment, such as a Windows path, continues nothing.
            let is_continued = own.ends_with(b"\\") && !own.contains(&b'#') && is_element(&bytes);
            if is_end || !is_continued {
                break;
            }
            // Replaces the backslash by a space.
            bytes.truncate(end - 1);
            bytes.push(b' ');
            continued += 1;
        }
        // Names and comments may have any encoding; the lines that matter are ASCII.
        let text = String::from_utf8_lossy(&bytes);
        // Some editors start UTF-8 text with a byte order mark.
        parser.read_line(text.strip_prefix('\u{feff}').unwrap_or(&text))?;
        // Errors in a continued line name its first line; the next line counts all of them.
        parser.line += continued;
    }
}

/// Tests whether a line starts with a keyword that is read.
fn is_element(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let keywords: [&[u8]; 3] = [b"v", b"vt", b"f"];
    let rests = keywords.iter().filter_map(|keyword| line.strip_prefix(*keyword)?.first());
    rests.into_iter().any(|after| after.is_ascii_whitespace())
}

/// Texture coordinates found for a vertex so far: none, one, or several.
#[derive(Clone, Copy, PartialEq)]
enum CornerUv {
    Unset,
    One(usize),
    Mixed,
}

/// Face of more than three corners.
enum Face {
    /// Index among the quads.
    Quad(usize),
    /// Range of its triangles, still a fan.
    Fan(Range<usize>),
}

struct Parser<'a> {
    path: &'a Path,
    /// Current line, from 1.
    line: usize,
    mesh: Mesh,
    /// Vertices in double precision.
    positions: Vec<DVec3>,
    /// Faces that use vertices further down in the file, with their lines.
    uncut: Vec<(usize, Face)>,
    twisted: TwistedFaces,
    uvs: Vec<[f32; 2]>,
    /// Texture coordinate of each vertex that a face has used so far.
    corner_uvs: Vec<CornerUv>,
    /// Indices past the elements read so far: `(line, element, index from 0)`.
    pending: Vec<(usize, &'static str, usize)>,
}

impl Parser<'_> {
    fn read_line(&mut self, line: &str) -> Result<(), IoError> {
        let text = line.split('#').next().unwrap_or_default().trim();
        let mut words = text.split_ascii_whitespace();
        match words.next() {
            Some("v") => {
                let position =
                    self.numbers::<3>(text, "vertex", 3, self.mesh.positions.len(), "v x y z")?;
                self.mesh.positions.push(position);
                let mut precise = position.map(f64::from);
                // Parsed again in double precision for meshes far from the origin.
                for (x, word) in precise.iter_mut().zip(words) {
                    *x = word.parse().unwrap_or(*x);
                }
                self.positions.push(precise.into());
                self.limit("mesh vertices", self.mesh.positions.len(), MAX_PARTICLES)
            }
            Some("vt") => {
                let uv =
                    self.numbers::<2>(text, "texture coordinate", 1, self.uvs.len(), "vt u v")?;
                self.uvs.push(uv);
                self.limit("mesh texture coordinates", self.uvs.len(), MAX_FACES)
            }
            Some("f") => self.read_face(text),
            _ => Ok(()),
        }
    }

    /// Parses the first `N` numbers after the keyword, of which `required` must exist.
    fn numbers<const N: usize>(
        &self,
        text: &str,
        element: &'static str,
        required: usize,
        index: usize,
        expected: &'static str,
    ) -> Result<[f32; N], IoError> {
        let mut numbers = [0.0; N];
        let mut words = text.split_ascii_whitespace().skip(1);
        for (position, number) in numbers.iter_mut().enumerate() {
            match words.next() {
                Some(word) => *number = word.parse().map_err(|_| self.malformed(text, expected))?,
                None if position < required => return Err(self.malformed(text, expected)),
                None => break,
            }
        }
        match numbers
            .into_iter()
            .find(|number: &f32| number.is_nan() || number.abs() > MAX_COORDINATE)
        {
            None => Ok(numbers),
            Some(value) => {
                let (path, line) = (self.path.to_path_buf(), self.line);
                Err(IoError::NotFinite { path, line, element, index: index + 1, value })
            }
        }
    }

    fn read_face(&mut self, text: &str) -> Result<(), IoError> {
        let mut corners: Vec<u32> = Vec::with_capacity(4);
        let mut uvs: Vec<u32> = Vec::with_capacity(4);
        for word in text.split_ascii_whitespace().skip(1) {
            let mut fields = word.split('/');
            let vertex = self.index(
                text,
                fields.next().unwrap_or_default(),
                "vertex",
                self.mesh.positions.len(),
            )?;
            let uv = match fields.next() {
                None | Some("") => CornerUv::Mixed,
                Some(field) => {
                    CornerUv::One(self.index(text, field, "texture coordinate", self.uvs.len())?)
                }
            };
            self.note_uv(vertex, uv);
            corners.push(vertex as u32);
            uvs.push(if let CornerUv::One(uv) = uv { uv as u32 } else { CornerUvs::NONE });
        }
        match corners[..] {
            [] => return Err(self.malformed(text, "a face of at least 3 corners")),
            // A loose edge or point, as Blender 2.6 wrote them: a face without area.
            [a] | [a, _] => {
                let last = corners.len() - 1;
                self.mesh.triangles.push([a, corners[last], corners[last]]);
                self.mesh.corner_uvs.triangles.push([uvs[0], uvs[last], uvs[last]]);
            }
            [a, b, c, d] => {
                self.mesh.quads.push([a, b, c, d]);
                self.mesh.corner_uvs.quads.push([uvs[0], uvs[1], uvs[2], uvs[3]]);
                self.cut_or_wait(&corners, Face::Quad(self.mesh.quads.len() - 1));
            }
            // Triangles and larger polygons: a fan, replaced below if it flips a triangle.
            [first, ref others @ ..] => {
                let begin = self.mesh.triangles.len();
                self.mesh.triangles.extend(others.windows(2).map(|pair| [first, pair[0], pair[1]]));
                let fan = uvs[1..].windows(2).map(|pair| [uvs[0], pair[0], pair[1]]);
                self.mesh.corner_uvs.triangles.extend(fan);
                if corners.len() > 3 {
                    self.cut_or_wait(&corners, Face::Fan(begin..self.mesh.triangles.len()));
                }
            }
        }
        self.limit("mesh faces", self.mesh.triangles.len() + self.mesh.quads.len(), MAX_FACES)
    }

    /// Triangulates a face, or defers it until its vertices are known.
    fn cut_or_wait(&mut self, corners: &[u32], face: Face) {
        if corners.iter().all(|&corner| (corner as usize) < self.positions.len()) {
            self.cut(self.line, face);
        } else {
            self.uncut.push((self.line, face));
        }
    }

    /// Triangulates a face without flipped triangles, or counts it as twisted.
    fn cut(&mut self, line: usize, face: Face) {
        let Mesh { triangles, quads, corner_uvs, .. } = &mut self.mesh;
        let at = |corner: &u32| self.positions[*corner as usize];
        match face {
            Face::Quad(index) => match cut(&quads[index].each_ref().map(at)) {
                Cut::Fan => {}
                Cut::Ears(_) => {
                    // The other diagonal of a concave quad is inside.
                    quads[index].rotate_left(1);
                    corner_uvs.quads[index].rotate_left(1);
                }
                Cut::Twisted => self.twisted.add(line),
            },
            Face::Fan(range) => {
                let corners = corners_of_fan(&triangles[range.clone()]);
                match cut(&corners.iter().map(at).collect::<Vec<_>>()) {
                    Cut::Fan => {}
                    Cut::Ears(ears) => {
                        let uvs = corners_of_fan(&corner_uvs.triangles[range.clone()]);
                        for (index, ear) in range.zip(ears) {
                            triangles[index] = ear.map(|corner| corners[corner]);
                            corner_uvs.triangles[index] = ear.map(|corner| uvs[corner]);
                        }
                    }
                    Cut::Twisted => self.twisted.add(line),
                }
            }
        }
    }

    /// Converts an index to count from 0; in the file it counts from 1, or back from the current
    /// line if negative.
    fn index(
        &mut self,
        text: &str,
        field: &str,
        element: &'static str,
        count: usize,
    ) -> Result<usize, IoError> {
        let number: i64 = field
            .parse()
            .map_err(|_| self.malformed(text, "a face like `f 1 2 3` or `f 1/1 2/2 3/3`"))?;
        let index =
            if number < 0 { number.checked_add(count as i64) } else { number.checked_sub(1) };
        match index.and_then(|index| usize::try_from(index).ok()) {
            // A vertex may be listed after its face; one that no accepted file can have is rejected
            // at once.
            Some(index) if index < count => Ok(index),
            Some(index) if index < MAX_FACES => {
                self.pending.push((self.line, element, index));
                Ok(index)
            }
            _ => Err(self.out_of_range(self.line, element, number, count)),
        }
    }

    fn note_uv(&mut self, vertex: usize, uv: CornerUv) {
        // A vertex further down is handled in `finish`, which rejects it or drops the texture
        // coordinates.
        let vertex_count = self.mesh.positions.len();
        if vertex >= vertex_count {
            return;
        }
        if self.corner_uvs.len() < vertex_count {
            self.corner_uvs.resize(vertex_count, CornerUv::Unset);
        }
        let known = &mut self.corner_uvs[vertex];
        if *known == CornerUv::Unset {
            *known = uv;
        } else if *known != uv {
            *known = CornerUv::Mixed;
        }
    }

    fn finish(mut self) -> Result<Parsed, IoError> {
        let path = self.path.to_path_buf();
        let vertex_count = self.mesh.positions.len();
        if vertex_count == 0 {
            return Err(IoError::Empty { path, what: "vertices" });
        }
        // Indices that pointed past the elements at their line must exist now.
        for &(line, element, index) in &self.pending {
            let count = if element == "vertex" { vertex_count } else { self.uvs.len() };
            if index >= count {
                return Err(self.out_of_range(line, element, index as i64 + 1, count));
            }
        }
        if self.mesh.triangles.is_empty() && self.mesh.quads.is_empty() {
            return Err(IoError::Empty { path, what: "faces" });
        }
        for (line, face) in std::mem::take(&mut self.uncut) {
            self.cut(line, face);
        }
        let uv_of = |known: &CornerUv| match *known {
            CornerUv::One(index) => self.uvs.get(index).copied(),
            CornerUv::Unset | CornerUv::Mixed => None,
        };
        // Every vertex with exactly one coordinate: per-vertex uvs; otherwise they stay per corner.
        if self.corner_uvs.len() == vertex_count {
            self.mesh.uvs =
                self.corner_uvs.iter().map(uv_of).collect::<Option<_>>().unwrap_or_default();
        }
        if self.mesh.uvs.is_empty() && !self.uvs.is_empty() {
            self.mesh.corner_uvs.coordinates = self.uvs;
        } else {
            self.mesh.corner_uvs = CornerUvs::default();
        }
        self.mesh.validate().map_err(|source| IoError::Mesh { path, source })?;
        Ok(Parsed { mesh: self.mesh, positions: self.positions, twisted: self.twisted })
    }

    fn limit(&self, what: &'static str, count: usize, limit: usize) -> Result<(), IoError> {
        if count > limit {
            Err(IoError::TooMany { path: self.path.to_path_buf(), what, count, limit })
        } else {
            Ok(())
        }
    }

    fn malformed(&self, text: &str, expected: &'static str) -> IoError {
        let text = shortened(text);
        IoError::Malformed { path: self.path.to_path_buf(), line: self.line, text, expected }
    }

    fn out_of_range(
        &self,
        line: usize,
        element: &'static str,
        index: i64,
        count: usize,
    ) -> IoError {
        IoError::IndexOutOfRange { path: self.path.to_path_buf(), line, element, index, count }
    }
}

/// Recovers the corners of a polygon from its fan.
fn corners_of_fan(fan: &[[u32; 3]]) -> Vec<u32> {
    let first = fan.iter().take(1).flat_map(|&[a, b, _]| [a, b]);
    first.chain(fan.iter().map(|&[_, _, c]| c)).collect()
}
