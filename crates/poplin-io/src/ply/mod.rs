//! Reading of PLY meshes, ASCII and binary in either byte order (Greg Turk, "The PLY Polygon File
//! Format", 1994).
//!
//! Reads `x y z` and texture coordinates (`s t`, `u v` or `texture_u texture_v`) of the element
//! `vertex`; of `face`, the list `vertex_indices` or `vertex_index`, and the texture coordinates of
//! corners, `texcoord`, as in MeshLab. Everything else is skipped. The order of vertices is kept.

mod header;
mod values;

use std::path::Path;

use glam::DVec3;
use poplin_model::{CornerUvs, MAX_COORDINATE, MAX_PARTICLES, Mesh};

use self::header::{Element, Header, Kind, Scalar};
use self::values::Values;
use crate::mesh_file::{MeshFormat, Parsed, TwistedFaces, read_bytes};
use crate::obj::MAX_FACES;
use crate::polygon::add_face;
use crate::{FilePosition, IoError};

/// PLY entry of the format table.
pub(crate) const MESH_FORMAT: MeshFormat = MeshFormat {
    extension: "ply",
    doc: "PLY, ASCII and binary: triangles, quads and polygons, texture coordinates of vertices",
    read: |path| parse(&read_bytes(path)?, path),
};

/// Names of the two texture coordinates.
const UV_NAMES: [[&str; 2]; 3] = [["s", "t"], ["u", "v"], ["texture_u", "texture_v"]];

/// Parses a PLY file; `path` is only used in errors.
pub(crate) fn parse(bytes: &[u8], path: &Path) -> Result<Parsed, IoError> {
    let header = Header::parse(bytes, path)?;
    let mut values = Values::new(bytes, &header, path);
    let mut reader =
        Reader { path, positions: Vec::new(), uvs: Vec::new(), faces: Faces::default() };
    for element in &header.elements {
        values.check_room(element)?;
        match element.name.as_str() {
            "vertex" if reader.positions.is_empty() => {
                reader.read_vertices(element, &mut values)?
            }
            "face" => reader.read_faces(element, &mut values)?,
            _ => values.skip(element)?,
        }
    }
    reader.finish()
}

/// Polygons in concatenated arrays.
#[derive(Default)]
struct Faces {
    corners: Vec<u32>,
    /// Length and line of each polygon.
    faces: Vec<Face>,
    /// Texture coordinates of corners.
    uvs: Vec<[f32; 2]>,
    /// Line of the element in the header.
    header_line: usize,
}

/// Polygon.
struct Face {
    /// Number of corners.
    length: u32,
    /// Line in the file, 0 in a binary file.
    line: u32,
    /// Index of its first texture coordinate, if every corner has one.
    first_uv: Option<u32>,
}

struct Reader<'a> {
    path: &'a Path,
    positions: Vec<DVec3>,
    uvs: Vec<[f32; 2]>,
    faces: Faces,
}

impl Reader<'_> {
    fn read_vertices(&mut self, element: &Element, values: &mut Values<'_>) -> Result<(), IoError> {
        self.limit("mesh vertices", element.count, MAX_PARTICLES)?;
        let find = |name: &str| element.properties.iter().position(|it| it.name == name);
        let mut columns = [0; 3];
        for (column, name) in columns.iter_mut().zip(["x", "y", "z"]) {
            let found = find(name).filter(|&k| matches!(element.properties[k].kind, Kind::One(_)));
            *column = found.ok_or_else(|| {
                let found = format!("no property `{name}`");
                element.unexpected(self.path, found, "x, y and z, a number each, of every vertex")
            })?;
        }
        let uvs = UV_NAMES.iter().find_map(|[u, v]| Some([find(u)?, find(v)?]));
        let is_read = |k: usize| columns.contains(&k) || uvs.is_some_and(|uvs| uvs.contains(&k));
        let is_read: Vec<bool> = (0..element.properties.len()).map(is_read).collect();
        let mut row = vec![0.0; element.properties.len()];
        // Safe: `check_room` has compared the count with the file size.
        self.positions.reserve(element.count);
        for _ in 0..element.count {
            for ((property, value), is_read) in
                element.properties.iter().zip(&mut row).zip(&is_read)
            {
                match property.kind {
                    Kind::One(scalar) => *value = values.next(scalar)?,
                    Kind::List(length, scalar) => values.skip_list(length, scalar)?,
                }
                if *is_read && (value.is_nan() || value.abs() > f64::from(MAX_COORDINATE)) {
                    let found = format!("{} {value} of a vertex", property.name);
                    let expected = format!("a finite number below {MAX_COORDINATE:e}");
                    return Err(values.unexpected(found, expected));
                }
            }
            self.positions.push(columns.map(|column| row[column]).into());
            if let Some(uvs) = uvs {
                self.uvs.push(uvs.map(|column| row[column] as f32));
            }
        }
        Ok(())
    }

    fn read_faces(&mut self, element: &Element, values: &mut Values<'_>) -> Result<(), IoError> {
        self.limit("mesh faces", element.count, MAX_FACES)?;
        let is_list = |name: &str| name == "vertex_indices" || name == "vertex_index";
        let column = element.properties.iter().position(|property| is_list(&property.name));
        let has_list = column.is_some_and(|k| matches!(element.properties[k].kind, Kind::List(..)));
        if !has_list {
            let found = "no list `vertex_indices`".to_owned();
            return Err(element.unexpected(self.path, found, "one in the element `face`"));
        }
        self.faces.header_line = element.line;
        self.faces.faces.reserve(element.count);
        for _ in 0..element.count {
            let (mut length, mut uvs) = (0, self.faces.uvs.len()..self.faces.uvs.len());
            for (k, property) in element.properties.iter().enumerate() {
                match property.kind {
                    Kind::One(scalar) => drop(values.next(scalar)?),
                    Kind::List(count, scalar) if Some(k) == column => {
                        length =
                            self.read_corners(values.length(count, scalar)?, scalar, values)?;
                    }
                    Kind::List(count, scalar) if property.name == "texcoord" => {
                        let count = values.length(count, scalar)?;
                        self.read_uvs(count, scalar, values)?;
                        uvs.end = self.faces.uvs.len();
                    }
                    Kind::List(count, scalar) => values.skip_list(count, scalar)?,
                }
            }
            // `texcoord` has two numbers per corner, or is ignored.
            let first_uv = (uvs.len() == length).then_some(uvs.start as u32);
            let line = values.line() as u32;
            self.faces.faces.push(Face { length: length as u32, line, first_uv });
        }
        Ok(())
    }

    fn read_corners(
        &mut self,
        count: usize,
        scalar: Scalar,
        values: &mut Values<'_>,
    ) -> Result<usize, IoError> {
        if count == 0 {
            let found = "a face of 0 corners".to_owned();
            return Err(values.unexpected(found, "3 or more".to_owned()));
        }
        self.limit("corners of faces", self.faces.corners.len() + count, 4 * MAX_FACES)?;
        self.faces.corners.reserve(count);
        for _ in 0..count {
            let corner = values.next(scalar)?;
            // Compared with the vertex count in `finish`: faces may precede vertices.
            if corner < 0.0 || corner >= MAX_PARTICLES as f64 || corner.fract() != 0.0 {
                let found = format!("the vertex {corner} of a face");
                let expected = format!("an index below {MAX_PARTICLES}");
                return Err(values.unexpected(found, expected));
            }
            self.faces.corners.push(corner as u32);
        }
        // A loose edge or point is a face without area.
        if let Some(&last) = self.faces.corners.last() {
            self.faces.corners.extend((count..3).map(|_| last));
        }
        Ok(count.max(3))
    }

    fn read_uvs(
        &mut self,
        count: usize,
        scalar: Scalar,
        values: &mut Values<'_>,
    ) -> Result<(), IoError> {
        self.limit("mesh texture coordinates", self.faces.uvs.len() + count / 2, 4 * MAX_FACES)?;
        let mut uv = [0.0; 2];
        for k in 0..count {
            let x = values.next(scalar)?;
            if x.is_nan() || x.abs() > f64::from(MAX_COORDINATE) {
                let expected = format!("a finite number below {MAX_COORDINATE:e}");
                return Err(values.unexpected(format!("{x} in texcoord"), expected));
            }
            uv[k % 2] = x as f32;
            if k % 2 == 1 {
                self.faces.uvs.push(uv);
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Parsed, IoError> {
        let path = self.path.to_path_buf();
        if self.positions.is_empty() {
            return Err(IoError::Empty { path, what: "vertices" });
        }
        if self.faces.faces.is_empty() {
            return Err(IoError::Empty { path, what: "faces" });
        }
        let singles = self.positions.iter().map(|position| position.as_vec3().to_array()).collect();
        let mut mesh = Mesh { positions: singles, uvs: self.uvs, ..Mesh::default() };
        let mut twisted = TwistedFaces::default();
        let mut rest = self.faces.corners.as_slice();
        let count = self.positions.len();
        for (face, Face { length, line, first_uv }) in self.faces.faces.into_iter().enumerate() {
            let (corners, after) = rest.split_at(length as usize);
            rest = after;
            if let Some(corner) = corners.iter().find(|&&corner| corner as usize >= count) {
                let (found, expected) = (
                    format!("face {face} with vertex {corner}"),
                    format!("an index below {count}"),
                );
                let position = FilePosition::Line(if line > 0 {
                    line as usize
                } else {
                    self.faces.header_line
                });
                return Err(IoError::Unexpected { path, position, found, expected });
            }
            let uv = |k: usize| first_uv.map_or(CornerUvs::NONE, |first| first + k as u32);
            if add_face(&mut mesh, &self.positions, corners, uv) {
                twisted.add(line as usize);
            }
        }
        // Coordinates of vertices win over those of corners.
        if mesh.uvs.is_empty() && !self.faces.uvs.is_empty() {
            mesh.corner_uvs.coordinates = self.faces.uvs;
        } else {
            mesh.corner_uvs = CornerUvs::default();
        }
        mesh.validate().map_err(|source| IoError::Mesh { path, source })?;
        Ok(Parsed { mesh, positions: self.positions, twisted })
    }

    fn limit(&self, what: &'static str, count: usize, limit: usize) -> Result<(), IoError> {
        match count > limit {
            true => Err(IoError::TooMany { path: self.path.to_path_buf(), what, count, limit }),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poplin_testkit::fuzz;

    fn read(bytes: &[u8]) -> Result<Mesh, IoError> {
        parse(bytes, Path::new("test.ply")).map(|parsed| parsed.mesh)
    }

    fn message(text: &str) -> String {
        read(text.as_bytes()).unwrap_err().to_string()
    }

    const TEXT: &str = "ply\nformat ascii 1.0\ncomment made by hand\nelement vertex 5\nproperty float x\nproperty double y\n\
        property float z\nproperty uchar red\nproperty float s\nproperty float t\nelement face 2\n\
        property list uchar int vertex_indices\nproperty list uchar float texcoord\nend_header\n\
        0 0 0 255 0 0\n1 0 0 0 1 0\n1 1 0 0 1 1\n0 1 0 0 0 1\n\n0.5 2 0 7 0.5 2\n4 0 1 2 3 0\n3 3 2 4 1 0.5\n";

    /// Encodes [`TEXT`] in binary, in either byte order.
    fn binary(is_big: bool) -> Vec<u8> {
        let name = if is_big { "binary_big_endian" } else { "binary_little_endian" };
        let (header, body) = TEXT.split_once("end_header\n").unwrap();
        let mut bytes = header.replace("ascii", name).into_bytes();
        bytes.extend(b"end_header\n");
        let mut words = body.split_ascii_whitespace();
        let push = |bytes: &mut Vec<u8>, mut word: Vec<u8>| {
            if is_big {
                word.reverse();
            }
            bytes.extend(word);
        };
        for _ in 0..5 {
            for column in 0..6 {
                let value: f64 = words.next().unwrap().parse().unwrap();
                push(
                    &mut bytes,
                    match column {
                        1 => value.to_le_bytes().to_vec(),
                        3 => vec![value as u8],
                        _ => (value as f32).to_le_bytes().to_vec(),
                    },
                );
            }
        }
        for _ in 0..2 {
            for is_index in [true, false] {
                let length: u8 = words.next().unwrap().parse().unwrap();
                bytes.push(length);
                for word in words.by_ref().take(length.into()) {
                    let value: f64 = word.parse().unwrap();
                    let index = (value as i32).to_le_bytes();
                    push(
                        &mut bytes,
                        if is_index { index } else { (value as f32).to_le_bytes() }.to_vec(),
                    );
                }
            }
        }
        bytes
    }

    #[test]
    fn all_three_encodings_give_the_same_mesh() {
        let mesh = read(TEXT.as_bytes()).unwrap();
        assert_eq!((&mesh.quads[..], &mesh.triangles[..]), (&[[0, 1, 2, 3]][..], &[[3, 2, 4]][..]));
        assert_eq!(mesh.positions[4], [0.5, 2.0, 0.0]);
        assert_eq!(mesh.uvs, [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.5, 2.0]]);
        for is_big in [false, true] {
            assert_eq!(read(&binary(is_big)).unwrap(), mesh, "{is_big}");
        }
    }

    #[test]
    fn faces_may_precede_vertices_and_concave_ones_are_cut() {
        let text = "ply\nformat ascii 1.0\nelement face 2\nproperty list uchar int vertex_index\nelement vertex 6\n\
            property float x\nproperty float y\nproperty float z\nend_header\n6 0 1 2 3 4 5\n4 5 3 0 4\n\
            2 0 0\n2 1 0\n1 1 0\n1 2 0\n0 2 0\n0 0 0\n";
        let parsed = parse(text.as_bytes(), Path::new("test.ply")).unwrap();
        assert_eq!(parsed.mesh.triangles.len(), 4);
        assert!(!parsed.mesh.triangles.contains(&[0, 2, 3]), "a fan");
        assert_eq!(parsed.twisted, TwistedFaces { count: 1, first_line: 11 });
    }

    #[test]
    fn errors_name_the_position_and_the_limit() {
        let cases = [
            (
                "",
                "",
                "test.ply:1: the end of the file; expected `ply`, the first line of a PLY file",
            ),
            (
                "vertex 5",
                "vertex 4000000000",
                "test.ply:4: 4000000000 of element `vertex`; expected no more than 7, as the rest of the file has room for",
            ),
            (
                "vertex 5",
                "vertex 500",
                "test.ply:4: 500 of element `vertex`; expected no more than 7, as the rest of the file has room for",
            ),
            (
                "property float z\n",
                "",
                "test.ply:4: no property `z`; expected x, y and z, a number each, of every vertex",
            ),
            (
                "4 0 1 2 3 0",
                "4 0 1 2 5 0",
                "test.ply:21: face 0 with vertex 5; expected an index below 5",
            ),
            (
                "4 0 1 2 3 0",
                "4 0 1 2 -3 0",
                "test.ply:21: the vertex -3 of a face; expected an index below 16777216",
            ),
            ("4 0 1 2 3 0", "0 0", "test.ply:21: a face of 0 corners; expected 3 or more"),
            (
                "4 0 1 2 3 0",
                "99 0 1 2 3 0",
                "test.ply:21: a list of 99 items; expected a count up to 12, as the rest of the file has room for",
            ),
            (
                "1 0 0 0 1 0",
                "1 nan 0 0 1 0",
                "test.ply:16: y NaN of a vertex; expected a finite number below 1e15",
            ),
            ("1 0 0 0 1 0", "1 zero 0 0 1 0", "test.ply:16: `zero`; expected a number"),
            ("float s", "quad s", "test.ply:9: `property quad s`; expected format"),
            (
                "vertex_indices",
                "corners",
                "test.ply:11: no list `vertex_indices`; expected one in the element `face`",
            ),
            ("end_header", "comment", "test.ply:15: `0 0 0 255 0 0`; expected format"),
        ];
        for (old, new, expected) in cases {
            let text = if old.is_empty() { String::new() } else { TEXT.replacen(old, new, 1) };
            let message = message(&text);
            assert!(message.starts_with(expected), "{message}\n{expected}");
        }
        let bytes = binary(true);
        assert_eq!(
            read(&bytes[..bytes.len() - 1])
                .unwrap_err()
                .to_string()
                .split_once(", byte")
                .unwrap()
                .1,
            format!(
                " {}: a list of 1 items; expected a count up to 0, as the rest of the file has room for",
                bytes.len() - 4
            )
        );
    }

    #[test]
    fn mutated_files_never_panic() {
        let samples = [TEXT.as_bytes().to_vec(), binary(false), binary(true)];
        fuzz::run(&samples, 6000, |bytes| read(bytes).map(|mesh| mesh.validate().unwrap()).is_ok());
    }
}
