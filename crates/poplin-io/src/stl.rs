//! Reading of STL meshes, binary and ASCII.
//!
//! The format lists three positions per triangle: vertices at exactly the same position are merged,
//! in the order of first use, and triangles with fewer than three distinct vertices are dropped.
//! Normals and attributes are ignored.
//!
//! Layout of the binary form, little-endian: 80 arbitrary bytes, number of triangles (u32), then
//! per triangle a normal and three positions of three f32 each, and two bytes of attributes.

use std::path::Path;

use glam::DVec3;
use poplin_model::{MAX_COORDINATE, MAX_PARTICLES, Mesh};

use crate::mesh_file::{MeshFormat, Parsed, TwistedFaces, read_bytes};
use crate::text::Words;
use crate::weld::Weld;
use crate::{FilePosition, IoError};

/// STL entry of the format table.
pub(crate) const MESH_FORMAT: MeshFormat = MeshFormat {
    extension: "stl",
    doc: "STL, binary and ASCII: triangles, vertices at the same position are one",
    read: |path| parse(&read_bytes(path)?, path),
};

/// Size of the header \[bytes\].
const HEADER_LENGTH: usize = 84;

/// Size of a triangle \[bytes\].
const TRIANGLE_LENGTH: usize = 50;

/// Parses an STL file; `path` is only used in errors.
pub(crate) fn parse(bytes: &[u8], path: &Path) -> Result<Parsed, IoError> {
    let mut builder = Builder { path, weld: Weld::default(), triangles: Vec::new() };
    let declared = bytes.get(80..84).map_or(0, |word| {
        u32::from_le_bytes(word.try_into().expect("the range is four bytes long")) as usize
    });
    // Some binary files start with `solid`, too, but their length matches the triangle count.
    let is_binary = declared > 0 && bytes.len() == HEADER_LENGTH + declared * TRIANGLE_LENGTH;
    if is_binary || !bytes.trim_ascii_start().starts_with(b"solid") {
        read_binary(bytes, declared, &mut builder)?;
    } else {
        read_text(bytes, &mut builder)?;
    }
    builder.finish()
}

fn read_binary(bytes: &[u8], declared: usize, builder: &mut Builder<'_>) -> Result<(), IoError> {
    let body = bytes.get(HEADER_LENGTH..).unwrap_or_default();
    let held = body.len() / TRIANGLE_LENGTH;
    // Fewer bytes than a triangle may follow the last one.
    if bytes.len() < HEADER_LENGTH || declared != held {
        let found = format!("{declared} triangles in a file of {} bytes", bytes.len());
        let expected = "the header of a binary STL, then 50 bytes for each triangle, or `solid`";
        return Err(builder.unexpected(FilePosition::Byte(80), found, expected));
    }
    for (index, triangle) in body.chunks_exact(TRIANGLE_LENGTH).take(declared).enumerate() {
        let (words, _) = triangle[12..48].as_chunks::<4>();
        let (corners, _) = words.as_chunks::<3>();
        // Byte of the corner, after the normal of its triangle.
        let position = |corner: usize| {
            FilePosition::Byte(HEADER_LENGTH + index * TRIANGLE_LENGTH + 12 * (corner + 1))
        };
        let mut vertices = [0; 3];
        for (corner, vertex) in vertices.iter_mut().enumerate() {
            let coordinates = corners[corner].map(|word| f64::from(f32::from_le_bytes(word)));
            *vertex = builder.vertex(coordinates, || position(corner))?;
        }
        builder.add(vertices);
    }
    Ok(())
}

fn read_text(bytes: &[u8], builder: &mut Builder<'_>) -> Result<(), IoError> {
    let mut words = Words::new(bytes);
    let mut corners: Vec<u32> = Vec::with_capacity(3);
    while let Some(word) = words.next() {
        let at = words.position();
        match word.to_ascii_lowercase().as_slice() {
            // A name follows, which may have any words.
            b"solid" | b"endsolid" => words.skip_line(),
            b"facet" => corners.clear(),
            b"vertex" => {
                let mut coordinates = [0.0; 3];
                for x in &mut coordinates {
                    let word = words.next().unwrap_or_default();
                    *x = Words::number(word).ok_or_else(|| {
                        builder.unexpected(at.clone(), Words::show(word), "vertex x y z")
                    })?;
                }
                if corners.len() == 3 {
                    let found = "a fourth vertex".to_owned();
                    return Err(builder.unexpected(at, found, "three in each facet"));
                }
                corners.push(builder.vertex(coordinates, || at)?);
            }
            b"endfacet" => match corners[..] {
                [a, b, c] => {
                    builder.add([a, b, c]);
                    corners.clear();
                }
                _ => {
                    let found = format!("a facet of {} vertices", corners.len());
                    return Err(builder.unexpected(at, found, "three in each facet"));
                }
            },
            b"outer" | b"loop" | b"endloop" | b"normal" => {}
            word if Words::number(word).is_some() => {}
            word => {
                let expected = "facet, outer loop, vertex, endloop, endfacet or endsolid";
                return Err(builder.unexpected(at, Words::show(word), expected));
            }
        }
    }
    if corners.is_empty() {
        Ok(())
    } else {
        let found = "the end of the file".to_owned();
        Err(builder.unexpected(words.position(), found, "endfacet"))
    }
}

/// Mesh that is being built.
struct Builder<'a> {
    path: &'a Path,
    weld: Weld,
    triangles: Vec<[u32; 3]>,
}

impl Builder<'_> {
    fn vertex(
        &mut self,
        coordinates: [f64; 3],
        position: impl FnOnce() -> FilePosition,
    ) -> Result<u32, IoError> {
        let limit = f64::from(MAX_COORDINATE);
        if let Some(x) = coordinates.into_iter().find(|x| x.is_nan() || x.abs() > limit) {
            let expected = format!("a finite number below {MAX_COORDINATE:e}");
            return Err(self.unexpected(position(), format!("the coordinate {x}"), &expected));
        }
        let vertex = self.weld.vertex(DVec3::from(coordinates));
        let count = self.weld.positions.len();
        if count > MAX_PARTICLES {
            let (path, what, limit) = (self.path.to_path_buf(), "mesh vertices", MAX_PARTICLES);
            return Err(IoError::TooMany { path, what, count, limit });
        }
        Ok(vertex)
    }

    fn add(&mut self, [a, b, c]: [u32; 3]) {
        if a != b && b != c && c != a {
            self.triangles.push([a, b, c]);
        }
    }

    fn finish(self) -> Result<Parsed, IoError> {
        let path = self.path.to_path_buf();
        if self.triangles.is_empty() {
            return Err(IoError::Empty { path, what: "triangles" });
        }
        let positions = self.weld.positions;
        let singles = positions.iter().map(|position| position.as_vec3().to_array()).collect();
        let mesh = Mesh { positions: singles, triangles: self.triangles, ..Mesh::default() };
        mesh.validate().map_err(|source| IoError::Mesh { path, source })?;
        Ok(Parsed { mesh, positions, twisted: TwistedFaces::default() })
    }

    fn unexpected(&self, position: FilePosition, found: String, expected: &str) -> IoError {
        let (path, expected) = (self.path.to_path_buf(), expected.to_owned());
        IoError::Unexpected { path, position, found, expected }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poplin_testkit::fuzz;

    fn read(bytes: &[u8]) -> Result<Mesh, IoError> {
        parse(bytes, Path::new("test.stl")).map(|parsed| parsed.mesh)
    }

    fn message(bytes: &[u8]) -> String {
        read(bytes).unwrap_err().to_string()
    }

    /// Two triangles of a square; -0 and 0 are the same position.
    const TEXT: &str = "solid a square\nfacet normal 0 0 1\n outer loop\n  vertex 0 0 0\n  vertex 1 0 0\n  vertex 1 1 0\n \
        endloop\nendfacet\nFACET NORMAL 0 0 1\n outer loop\n  vertex -0 0 0\n  vertex 1 1 0\n  vertex 0 1 0\n endloop\nendfacet\n\
        endsolid a square\n";

    pub(crate) fn binary() -> Vec<u8> {
        let mut bytes = vec![b' '; 80];
        bytes[..5].copy_from_slice(b"solid");
        bytes.extend(2_u32.to_le_bytes());
        for corners in [[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], [[-0.0, 0.0], [1.0, 1.0], [0.0, 1.0]]]
        {
            bytes.extend([0; 12]);
            bytes.extend(
                corners.iter().flat_map(|&[x, y]| [x, y, 0.0_f32]).flat_map(f32::to_le_bytes),
            );
            bytes.extend([0; 2]);
        }
        bytes
    }

    #[test]
    fn both_forms_are_merged_in_the_order_of_first_use() {
        for bytes in [TEXT.as_bytes(), &binary()] {
            let mesh = read(bytes).unwrap();
            let square = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
            assert_eq!(mesh.positions, square);
            assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3]]);
        }
    }

    #[test]
    fn errors_name_the_position_and_the_limit() {
        let mut many = binary();
        many[80..84].copy_from_slice(&u32::MAX.to_le_bytes());
        many[0] = b'x';
        assert_eq!(
            message(&many),
            "test.stl, byte 80: 4294967295 triangles in a file of 184 bytes; expected the header of a binary STL, then 50 bytes for \
             each triangle, or `solid`"
        );
        let mut wrong = binary();
        wrong[84 + 12..84 + 16].copy_from_slice(&f32::NAN.to_le_bytes());
        assert_eq!(
            message(&wrong),
            "test.stl, byte 96: the coordinate NaN; expected a finite number below 1e15"
        );
        let text = TEXT.replace("vertex 1 0 0", "vertex 1 x 0");
        assert_eq!(message(text.as_bytes()), "test.stl:5: `x`; expected vertex x y z");
        let text = TEXT.replacen("  vertex 1 1 0\n", "", 1);
        assert_eq!(
            message(text.as_bytes()),
            "test.stl:7: a facet of 2 vertices; expected three in each facet"
        );
        assert_eq!(message(b"solid"), "test.stl: the file has no triangles");
        assert!(message(b"").starts_with("test.stl, byte 80: 0 triangles in a file of 0 bytes"));
    }

    #[test]
    fn mutated_files_never_panic() {
        let samples = [TEXT.as_bytes().to_vec(), binary()];
        fuzz::run(&samples, 4000, |bytes| read(bytes).map(|mesh| mesh.validate().unwrap()).is_ok());
    }
}
