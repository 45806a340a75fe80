//! Tests of OBJ files.

use std::path::Path;

use poplin_model::{CornerUvs, Mesh};

use super::parser::parse_obj;
use super::{read_obj, write_joined_obj, write_obj, write_text};
use crate::mesh_file::TwistedFaces;
use crate::{IoError, load_mesh};
use poplin_testkit::fuzz;

fn parse(text: impl AsRef<[u8]>) -> Result<Mesh, IoError> {
    parse_obj(text.as_ref(), Path::new("test.obj")).map(|parsed| parsed.mesh)
}

fn message(text: impl AsRef<[u8]>) -> String {
    parse(text).unwrap_err().to_string()
}

const SQUARE: &str =
    "o a\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nf 1/1 2/2 3/3 4/4\n";

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
        let expected: Vec<_> = sheet.positions.iter().map(|&[x, y, z]| [x + shift, y, z]).collect();
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
        ("v 0 0 0\nf \n", "test.obj:2: cannot read `f`; expected a face of at least 3 corners"),
        (
            "v 0 0 0\nf 1 1 x\n",
            "test.obj:2: cannot read `f 1 1 x`; expected a face like `f 1 2 3` or `f 1/1 2/2 3/3`",
        ),
        ("v 0 0 0\nf 1 1 7\n", "test.obj:2: the face uses vertex 7, but there are only 1"),
        ("v 0 0 0\nf 1 1 0\n", "test.obj:2: the face uses vertex 0, but they count from 1"),
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
    let text = "v 0 0 \\\n0\nv 1 0 0\r\n# in C:\\models\\\nv 0 1 0 # here\\\nf 1 \\\r\n2 \\\n 3\n";
    let plain = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
    assert_eq!(parse(text).unwrap(), parse(plain).unwrap());
    assert_eq!(parse(format!("{plain}f \\")).unwrap_err().to_string().lines().count(), 1);
    // Line numbers count physical lines.
    let wrong = format!("{text}f 1 x\n");
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
    let samples =
        [SQUARE.as_bytes().to_vec(), format!("f 1 2 3 4 5 6\n{CONCAVE}f -1 -2 -3\n").into_bytes()];
    fuzz::run(&samples, 5000, |bytes| parse(bytes).map(|mesh| mesh.validate().unwrap()).is_ok());
}

#[test]
fn written_meshes_round_trip() {
    let path = std::env::temp_dir().join(format!("poplin-io-obj-{}.obj", std::process::id()));
    for mesh in
        [Mesh::grid(5, 4, 1.0, 0.3), Mesh { uvs: Vec::new(), ..Mesh::tube(7, 3, 0.1, 0.3, 1.0) }]
    {
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
    let our_corners = ours.quads.iter().flatten().map(|&index| &ours.positions[index as usize][..]);
    assert!(our_corners.eq(corners));
}
