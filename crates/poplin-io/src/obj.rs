//! Wavefront OBJ meshes: reading and writing.
//!
//! This reader replaces the `tobj` crate because cloth needs what tobj drops: the file's own vertex
//! order (a point cache is applied to the file in another program; tobj renumbers by first use and
//! splits at groups and materials, which would cut a garment apart), line numbers in every error,
//! and the difference between a corner with and without a texture coordinate. The tests compare
//! this reader with tobj.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::ops::Range;
use std::path::Path;

use glam::DVec3;
use poplin_model::{CornerUvs, MAX_COORDINATE, MAX_PARTICLES, Mesh};

use crate::IoError;
use crate::frames::faces;
use crate::mesh_file::{MeshFormat, Parsed, TwistedFaces};
use crate::polygon::{Cut, cut};
use crate::text::shortened;

/// Limit of a line with its continuation lines \[bytes\]; a face of three million corners fits.
const MAX_LINE: usize = 64 << 20;

/// Maximum number of faces after triangulation, and of texture coordinates; meshes have about two
/// triangles per vertex.
pub(crate) const MAX_FACES: usize = 4 * MAX_PARTICLES;

/// OBJ entry of the format table.
pub(crate) const MESH_FORMAT: MeshFormat = MeshFormat {
    extension: "obj",
    doc: "Wavefront OBJ: triangles, quads and polygons, texture coordinates",
    read,
};

/// Reads the faces of an OBJ file as one mesh, with vertices in the file's order.
///
/// Quads stay quads, larger polygons become triangles: fans if they are convex. A concave quad is
/// rotated to start at a corner whose diagonal is inside. Objects, groups and materials are merged:
/// their faces share the file's vertices. Texture coordinates become [`Mesh::uvs`] if every vertex
/// has exactly one, otherwise [`Mesh::corner_uvs`]. Normals, colours, a fourth `w` coordinate,
/// lines, points and curves are ignored. A `\` at the end of a line continues it on the next line.
///
/// # Errors
/// [`IoError`] with the file and, where there is one, the line: a file that is missing, unreadable
/// or not text, has no vertices or no faces, a coordinate that is not finite, an index out of
/// range, or more than [`poplin_model::MAX_PARTICLES`] vertices.
pub fn read_obj(path: impl AsRef<Path>) -> Result<Mesh, IoError> {
    read(path.as_ref()).map(|parsed| parsed.mesh)
}

fn read(path: &Path) -> Result<Parsed, IoError> {
    let file = File::open(path).map_err(IoError::open(path))?;
    parse_obj(BufReader::new(file), path)
}

/// Writes a mesh as OBJ text with `positions` (one frame of a simulation) instead of the mesh's
/// own, quads first, with its texture coordinates.
///
/// # Errors
/// [`IoError::FrameLength`] if `positions` and the mesh differ in their vertex count,
/// [`IoError::Write`] if the file cannot be written.
pub fn write_obj(
    path: impl AsRef<Path>,
    mesh: &Mesh,
    positions: &[[f32; 3]],
) -> Result<(), IoError> {
    write_joined_obj(path, [(mesh, positions)], [0.0; 3])
}

/// Writes several meshes as one, like [`write_obj`]; the vertices of each follow those of the
/// previous one. `origin` \[m\] is added to all positions in double precision.
///
/// # Errors
/// Same as [`write_obj`], for the first mesh with a fault.
pub fn write_joined_obj<'a>(
    path: impl AsRef<Path>,
    parts: impl IntoIterator<Item = (&'a Mesh, &'a [[f32; 3]])>,
    origin: [f64; 3],
) -> Result<(), IoError> {
    let path = path.as_ref();
    let parts: Vec<_> = parts.into_iter().collect();
    for (mesh, positions) in &parts {
        IoError::check_frame(path, 0, [positions.len(), mesh.positions.len()])?;
    }
    let file = File::create(path).map_err(IoError::write(path))?;
    write_text(BufWriter::new(file), &parts, origin).map_err(IoError::write(path))
}

pub(crate) fn write_text(
    mut out: impl Write,
    parts: &[(&Mesh, &[[f32; 3]])],
    origin: [f64; 3],
) -> std::io::Result<()> {
    for position in parts.iter().flat_map(|(_, positions)| *positions) {
        write!(out, "v")?;
        for (x, from) in position.iter().zip(origin) {
            // Without an origin the shortest decimal form of the f32 suffices.
            match from == 0.0 {
                true => write!(out, " {x}")?,
                false => write!(out, " {}", f64::from(*x) + from)?,
            }
        }
        writeln!(out)?;
    }
    for (mesh, _) in parts {
        for [u, v] in mesh.uvs.iter().chain(&mesh.corner_uvs.coordinates) {
            writeln!(out, "vt {u} {v}")?;
        }
    }
    // OBJ indices start at 1.
    let [mut first_vertex, mut first_uv] = [1u64; 2];
    for (mesh, positions) in parts {
        write_faces(&mut out, mesh, [first_vertex, first_uv])?;
        first_vertex += positions.len() as u64;
        first_uv += (mesh.uvs.len() + mesh.corner_uvs.coordinates.len()) as u64;
    }
    out.flush()
}

/// Writes the faces of a mesh, given the file indices of its first vertex and texture coordinate.
fn write_faces(
    mut out: impl Write,
    mesh: &Mesh,
    [first_vertex, first_uv]: [u64; 2],
) -> std::io::Result<()> {
    for (face, uvs) in faces(mesh) {
        // A face has texture coordinates at all corners or at none.
        let uvs = uvs.filter(|uvs| uvs.iter().all(|&uv| uv != CornerUvs::NONE));
        write!(out, "f")?;
        for (k, corner) in face.iter().map(|&corner| u64::from(corner) + first_vertex).enumerate() {
            match uvs {
                Some(uvs) => write!(out, " {corner}/{}", u64::from(uvs[k]) + first_uv)?,
                None => write!(out, " {corner}")?,
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Parses OBJ text; `path` is only used in errors.
fn parse_obj(mut reader: impl BufRead, path: &Path) -> Result<Parsed, IoError> {
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
            let room = (MAX_LINE + 1 - begin) as u64;
            let read = reader.by_ref().take(room).read_until(b'\n', &mut bytes);
            let is_end = read.map_err(IoError::read(path))? == 0;
            if is_end && bytes.is_empty() {
                return parser.finish();
            }
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
            bytes.truncate(end - 1);
            bytes.push(b' ');
            continued += 1;
        }
        // Names and comments may have any encoding; the lines that matter are ASCII.
        let text = String::from_utf8_lossy(&bytes);
        // Some editors start UTF-8 text with a byte order mark.
        parser.read_line(text.strip_prefix('\u{feff}').unwrap_or(&text))?;
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
            [] | [_] | [_, _] => return Err(self.malformed(text, "a face of at least 3 corners")),
            [a, b, c, d] => {
                self.mesh.quads.push([a, b, c, d]);
                self.mesh.corner_uvs.quads.push([uvs[0], uvs[1], uvs[2], uvs[3]]);
                self.cut_or_wait(&corners, Face::Quad(self.mesh.quads.len() - 1));
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fuzz, load_mesh};

    fn parse(text: impl AsRef<[u8]>) -> Result<Mesh, IoError> {
        parse_obj(text.as_ref(), Path::new("test.obj")).map(|parsed| parsed.mesh)
    }

    fn message(text: impl AsRef<[u8]>) -> String {
        parse(text).unwrap_err().to_string()
    }

    const SQUARE: &str = "o a\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nf 1/1 2/2 3/3 4/4\n";

    #[test]
    fn quads_stay_quads_and_uvs_follow_the_vertices() {
        let mesh = parse(SQUARE).unwrap();
        assert_eq!((mesh.quads, mesh.triangles.len()), (vec![[0, 1, 2, 3]], 0));
        assert_eq!(mesh.uvs, [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]);
    }

    #[test]
    fn larger_polygons_become_fans() {
        let mesh = parse("v 0 0 0\nv 1 0 0\nv 2 1 0\nv 1 2 0\nv 0 1 0\nf 1 2 3 4 5\n").unwrap();
        assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3], [0, 3, 4]]);
    }

    /// An L with its inner corner at vertex 3, and a quad like an arrowhead.
    const CONCAVE: &str =
        "v 2 0 0\nv 2 1 0\nv 1 1 0\nv 1 2 0\nv 0 2 0\nv 0 0 0\nv 3 0 0\nv 3 2 0\nv 2.5 1 0\n";

    /// Signed area of a triangle seen from the front.
    fn area(mesh: &Mesh, [a, b, c]: [u32; 3]) -> f32 {
        let [a, b, c] = [a, b, c].map(|vertex| mesh.positions[vertex as usize]);
        0.5 * ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
    }

    #[test]
    fn no_triangle_of_a_concave_polygon_is_flipped() {
        let faces = "f 1 2 3 4 5 6\nf 7/1 8/2 2/3 9/4\nvt 7 0\nvt 8 0\nvt 2 0\nvt 9 0\n";
        // Faces before and after their vertices.
        for text in [format!("{faces}{CONCAVE}"), format!("{CONCAVE}{faces}")] {
            let mesh = parse(text).unwrap();
            let areas: Vec<_> = mesh.triangulated().iter().map(|&it| area(&mesh, it)).collect();
            assert!(areas.len() == 6 && areas.iter().all(|&area| area > 0.1), "{areas:?}");
            assert!((areas.iter().sum::<f32>() - 3.75).abs() < 1e-5, "{areas:?}");
            assert_eq!(mesh.quads, [[7, 1, 8, 6]]);
            // Corners keep their texture coordinates.
            let uvs = mesh.corner_uvs.quads[0].map(|uv| mesh.corner_uvs.coordinates[uv as usize]);
            assert_eq!(uvs.map(|[u, _]| u), [8.0, 2.0, 9.0, 7.0]);
        }
    }

    #[test]
    fn self_intersecting_polygons_are_counted_with_the_first_line() {
        let twisted = |faces: &str| {
            let text = format!("{CONCAVE}{faces}");
            parse_obj(text.as_bytes(), Path::new("test.obj")).unwrap().twisted
        };
        assert_eq!(twisted("f 1 2 3 4 5 6\nf 1 2 4 5\n"), TwistedFaces::default());
        let expected = TwistedFaces { count: 2, first_line: 11 };
        assert_eq!(twisted("f 6 1 4\nf 6 4 1 5\nf 6 3 1 4 2\n"), expected);
        let mesh = parse(format!("{CONCAVE}f 6 3 1 4 2\n")).unwrap();
        assert_eq!(mesh.triangles, [[5, 2, 0], [5, 0, 3], [5, 3, 1]], "a fan");
    }

    #[test]
    fn a_distant_mesh_keeps_its_shape_relative_to_an_origin() {
        let path = std::env::temp_dir().join(format!("poplin-io-far-{}.obj", std::process::id()));
        let sheet = Mesh::grid(5, 5, 2.0, 2.0);
        let write = |by: f64| {
            let vertex = |p: &[f32; 3]| format!("v {} {} {}\n", f64::from(p[0]) + by, p[1], p[2]);
            let faces = sheet.quads.iter().map(|q| {
                let [a, b, c, d] = q.map(|corner| corner + 1);
                format!("f {a} {b} {c} {d}\n")
            });
            let text: String = sheet.positions.iter().map(vertex).chain(faces).collect();
            std::fs::write(&path, text).unwrap();
        };
        for (by, origin) in [(0.0, 0.0), (1000.0, 0.0), (1e7, 10_000_001.0), (-1e7, -9_999_999.0)] {
            write(by);
            let far = load_mesh(&path).unwrap();
            assert_eq!(far.origin, [origin, 0.0, 0.0]);
            let shift = (by - origin) as f32;
            let expected: Vec<_> =
                sheet.positions.iter().map(|&[x, y, z]| [x + shift, y, z]).collect();
            assert_eq!(far.mesh.positions, expected, "{by}");
            // Round trip.
            write_joined_obj(&path, [(&far.mesh, &far.mesh.positions[..])], far.origin).unwrap();
            assert_eq!(load_mesh(&path).unwrap(), far);
        }
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn objects_and_materials_share_the_vertices_of_the_file() {
        let mesh =
            parse("v 0 0 0\nv 1 0 0\nv 0 1 0\no a\nusemtl x\nf 3 2 1\nv 1 1 0\no b\nusemtl y\nf -1 2 3\nl 1 2\np 1\n").unwrap();
        assert_eq!(mesh.triangles, [[2, 1, 0], [3, 1, 2]]);
    }

    #[test]
    fn uvs_on_a_seam_are_per_corner_and_round_trip() {
        // Two quads and a triangle share a seam at vertices 2 and 3, which have two coordinates;
        // the pentagon has none.
        let text = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 2 0 0\nv 2 1 0\nv 0 2 0\nv 1 2 0\n\
                    vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nvt 0.5 0\n\
                    f 1/1 2/2 3/3 4/4\nf 2/1 5/2 6/3 3/4\nf 4/5 3/2 8/3\nf 4 8 7 1 2\n";
        let mesh = parse(text).unwrap();
        assert!(mesh.uvs.is_empty());
        assert_eq!(mesh.corner_uvs.coordinates.len(), 5);
        assert_eq!(mesh.corner_uvs.quads, [[0, 1, 2, 3], [0, 1, 2, 3]]);
        assert_eq!(mesh.corner_uvs.triangles[0], [4, 1, 2]);
        assert_eq!(mesh.corner_uvs.triangles[1..], [[CornerUvs::NONE; 3]; 3]);
        let mut written = Vec::new();
        write_text(&mut written, &[(&mesh, &mesh.positions)], [0.0; 3]).unwrap();
        let written = String::from_utf8(written).unwrap();
        for line in ["f 1/1 2/2 3/3 4/4", "f 2/1 5/2 6/3 3/4", "f 4/5 3/2 8/3", "f 4 8 7"] {
            assert!(written.lines().any(|it| it == line), "no `{line}` in\n{written}");
        }
        assert_eq!(parse(&written).unwrap(), mesh);
    }

    #[test]
    fn a_corner_without_uv_drops_all_uvs() {
        assert!(parse(format!("{SQUARE}f 1 2 3\n")).unwrap().uvs.is_empty());
    }

    #[test]
    fn a_face_may_precede_its_vertices() {
        assert_eq!(parse("f 1 2 3\nv 0 0 0\nv 1 0 0\nv 0 1 0\n").unwrap().triangles, [[0, 1, 2]]);
    }

    #[test]
    fn errors_name_the_line_and_the_limit() {
        let cases = [
            (
                "v 0 0 0\nv 1 nan 0\n",
                "test.obj:2: vertex 2 has the coordinate NaN, which is not a finite number below 1e15",
            ),
            (
                "v 1e30 0 0\n",
                "test.obj:1: vertex 1 has the coordinate 1e30, which is not a finite number below 1e15",
            ),
            ("v 0 0\n", "test.obj:1: cannot read `v 0 0`; expected v x y z"),
            (
                "v 0 0 0\nf 1 1\n",
                "test.obj:2: cannot read `f 1 1`; expected a face of at least 3 corners",
            ),
            (
                "v 0 0 0\nf 1 1 x\n",
                "test.obj:2: cannot read `f 1 1 x`; expected a face like `f 1 2 3` or `f 1/1 2/2 3/3`",
            ),
            ("v 0 0 0\nf 1 1 7\n", "test.obj:2: the face uses vertex 7, but there are only 1"),
            ("v 0 0 0\nf 1 1 0\n", "test.obj:2: the face uses vertex 0, but there are only 1"),
            ("v 0 0 0\nf 1 1 -2\n", "test.obj:2: the face uses vertex -2, but there are only 1"),
            (
                "v 0 0 0\nf 1/1 1/-9 1\n",
                "test.obj:2: the face uses texture coordinate -9, but there are only 0",
            ),
            ("", "test.obj: the file has no vertices"),
            ("v 0 0 0\n", "test.obj: the file has no faces"),
            ("v 0 0 0\n\0\x01\x02", "test.obj:2: this is not an OBJ text file"),
        ];
        for (text, expected) in cases {
            assert_eq!(message(text), expected);
        }
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        let text = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
        assert_eq!(parse(format!("\u{feff}{text}")).unwrap(), parse(text).unwrap());
    }

    #[test]
    fn lines_may_be_continued() {
        let text =
            "v 0 0 \\\n0\nv 1 0 0\r\n# in C:\\models\\\nv 0 1 0 # here\\\nf 1 \\\r\n2 \\\n 3\n";
        let plain = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
        assert_eq!(parse(text).unwrap(), parse(plain).unwrap());
        assert_eq!(parse(format!("{plain}f 1 \\")).unwrap_err().to_string().lines().count(), 1);
        // Line numbers count physical lines.
        let wrong = format!("{text}f 1 2\n");
        assert!(message(&wrong).starts_with("test.obj:9: "), "{}", message(&wrong));
        // A face longer than a megabyte.
        let many: String = (0..200_000).map(|k| format!(" {}", k % 3 + 1)).collect();
        assert_eq!(parse(format!("{plain}f{many}\n")).unwrap().triangles.len(), 1 + 199_998);
    }

    #[test]
    fn an_endless_line_is_rejected_early() {
        let endless = std::io::BufReader::new(std::io::repeat(b'v'));
        assert!(matches!(
            parse_obj(endless, Path::new("x")),
            Err(IoError::LineTooLong { line: 1, .. })
        ));
        let binary = std::io::BufReader::new(std::io::repeat(0));
        assert!(matches!(parse_obj(binary, Path::new("x")), Err(IoError::NotText { line: 1, .. })));
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = read_obj("no/such/shirt.obj").unwrap_err();
        assert!(error.to_string().starts_with("cannot open no/such/shirt.obj: "), "{error}");
    }

    #[test]
    fn comments_may_have_any_encoding() {
        let mut bytes = b"# Gr\xf6\xdfe\n".to_vec();
        bytes.extend_from_slice(SQUARE.as_bytes());
        parse(bytes).unwrap();
    }

    #[test]
    fn mutated_files_never_panic() {
        let samples = [
            SQUARE.as_bytes().to_vec(),
            format!("f 1 2 3 4 5 6\n{CONCAVE}f -1 -2 -3\n").into_bytes(),
        ];
        fuzz::run(&samples, 5000, |bytes| {
            parse(bytes).map(|mesh| mesh.validate().unwrap()).is_ok()
        });
    }

    #[test]
    fn written_meshes_round_trip() {
        let path = std::env::temp_dir().join(format!("poplin-io-obj-{}.obj", std::process::id()));
        for mesh in [
            Mesh::grid(5, 4, 1.0, 0.3),
            Mesh { uvs: Vec::new(), ..Mesh::tube(7, 3, 0.1, 0.3, 1.0) },
        ] {
            write_obj(&path, &mesh, &mesh.positions).unwrap();
            assert_eq!(read_obj(&path).unwrap(), mesh);
        }
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn positions_with_another_vertex_count_are_rejected() {
        let error = write_obj("unused.obj", &Mesh::grid(2, 2, 1.0, 1.0), &[[0.0; 3]]).unwrap_err();
        assert!(matches!(error, IoError::FrameLength { vertex_count: 1, expected: 4, .. }));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_reported() {
        let mesh = Mesh::grid(2, 2, 1.0, 1.0);
        let error = write_obj("/dev/full", &mesh, &mesh.positions).unwrap_err();
        assert!(matches!(error, IoError::Write { .. }), "{error}");
    }

    #[test]
    fn faces_match_those_of_tobj() {
        let mesh = Mesh::tube(9, 6, 0.2, 0.5, 1.0);
        let mut text = Vec::new();
        write_text(&mut text, &[(&mesh, &mesh.positions)], [0.0; 3]).unwrap();
        let ours = parse(&text).unwrap();
        let (models, _) = tobj::load_obj_buf(&mut &text[..], &tobj::LoadOptions::default(), |_| {
            Err(tobj::LoadError::GenericFailure)
        })
        .unwrap();
        let theirs = &models[0].mesh;
        let corners = theirs
            .indices
            .iter()
            .map(|&index| &theirs.positions[index as usize * 3..index as usize * 3 + 3]);
        let our_corners =
            ours.quads.iter().flatten().map(|&index| &ours.positions[index as usize][..]);
        assert!(our_corners.eq(corners));
    }
}
