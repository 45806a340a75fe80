//! Tests of the glTF reader.

use poplin_model::halves_of_quad;

use super::*;
use crate::{FRAME_FORMATS, FrameSource};
use poplin_testkit::fuzz;

fn read(bytes: &[u8]) -> Result<Mesh, IoError> {
    parse(bytes.to_vec(), Path::new("test.glb"), None).map(|(parsed, _)| parsed.mesh)
}

/// Two nodes with one mesh, one the parent of the other: a square of two triangles whose vertices
/// are listed twice along the diagonal, with texture coordinates that differ there. All data is in
/// the text.
fn text() -> String {
    // Positions, texture coordinates and indices of six vertices.
    let data = "AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAACAPwAAgD8AAAAAAAAAAAAAAAAAAAAAAACAPwAAgD8AAAAAAAAAAAAAgD8AAAAA\
        AAAAAAAAAAAAAIA/AAAAAAAAgD8AAIA/AAAAAAAAgD8AAIA/AACAPwAAAAAAAAAAAAABAAIAAwAEAAUA";
    format!(
        r#"{{ "asset": {{ "version": "2.0" }}, "scene": 0, "scenes": [{{ "nodes": [0] }}],
        "nodes": [{{ "mesh": 0, "children": [1] }}, {{ "mesh": 0, "translation": [0, 0, 2], "scale": [-1, 1, 1] }}],
        "meshes": [{{ "primitives": [{{ "attributes": {{ "POSITION": 0, "TEXCOORD_0": 1 }}, "indices": 2 }}] }}],
        "accessors": [
            {{ "bufferView": 0, "componentType": 5126, "count": 6, "type": "VEC3" }},
            {{ "bufferView": 0, "byteOffset": 72, "componentType": 5126, "count": 6, "type": "VEC2" }},
            {{ "bufferView": 1, "componentType": 5123, "count": 6, "type": "SCALAR" }}],
        "bufferViews": [{{ "buffer": 0, "byteLength": 120 }}, {{ "buffer": 0, "byteOffset": 120, "byteLength": 12 }}],
        "buffers": [{{ "byteLength": 132, "uri": "data:application/octet-stream;base64,{data}" }}] }}"#
    )
}

/// Grid written by the GLB frame writer.
fn glb() -> (Mesh, Vec<u8>) {
    let mesh = Mesh::grid(4, 3, 1.0, 0.5);
    let path = std::env::temp_dir().join(format!("poplin-io-gltf-{}.glb", std::process::id()));
    let format = FRAME_FORMATS.iter().find(|format| format.name == "glb").unwrap();
    let source = FrameSource { parts: &[(&mesh, 1)], frame_rate: 60.0, frame_count: 3 };
    let mut sink = (format.create)(&path, &source).unwrap();
    for k in 0..3 {
        let moved: Vec<_> = mesh.positions.iter().map(|p| [p[0], k as f32, p[2]]).collect();
        sink.push(&moved).unwrap();
    }
    sink.finish().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    (mesh, bytes)
}

#[test]
fn vertices_are_merged_per_node_and_seams_keep_their_uvs() {
    let mesh = read(text().as_bytes()).unwrap();
    assert_eq!(mesh.positions.len(), 8, "four of each node");
    assert_eq!(
        mesh.positions[..4],
        [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
    );
    assert_eq!(mesh.positions[5], [-1.0, 0.0, 2.0]);
    // The second node mirrors: its triangles still face along z.
    assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3], [4, 6, 5], [4, 7, 6]]);
    assert!(mesh.uvs.is_empty(), "there is a seam");
    let uvs =
        |k: usize| mesh.corner_uvs.triangles[k].map(|uv| mesh.corner_uvs.coordinates[uv as usize]);
    assert_eq!(uvs(0), [[0.0, 1.0], [1.0, 1.0], [1.0, 0.0]], "v counts up");
    assert_eq!(uvs(1)[0], [0.0, 0.0]);
}

#[test]
fn strips_and_fans_become_triangles() {
    let fan = text().replace(r#""indices": 2"#, r#""indices": 2, "mode": 6"#);
    // Vertices 0 and 3, and 2 and 4, are merged: triangles with both are dropped.
    assert_eq!(read(fan.as_bytes()).unwrap().triangles[..2], [[1, 2, 0], [2, 3, 0]]);
    let strip = text().replace(r#""indices": 2"#, r#""indices": 2, "mode": 5"#);
    assert_eq!(read(strip.as_bytes()).unwrap().triangles[..1], [[0, 1, 2]]);
}

#[test]
fn a_glb_of_frames_reads_as_its_first_frame() {
    let (mesh, bytes) = glb();
    let read = read(&bytes).unwrap();
    assert_eq!(read.positions, mesh.positions);
    let halves: Vec<_> = mesh.quads.iter().flat_map(|&quad| halves_of_quad(quad)).collect();
    assert_eq!(read.triangles, halves);
    let close = |(a, b): (&[f32; 2], &[f32; 2])| (a[0] - b[0]).abs() + (a[1] - b[1]).abs() < 1e-6;
    assert!(read.uvs.iter().zip(&mesh.uvs).all(close));
}

#[test]
fn errors_name_the_path_and_the_limit() {
    let cases = [
        ("\"2.0\"", "\"1.0\"", "asset.version: version 1.0; expected 2.0"),
        (
            "\"mesh\": 0,",
            "\"mesh\": 7,",
            "nodes[0].mesh: 7; expected an index of \"meshes\", which has 1 items",
        ),
        (
            "[1] }",
            "[0] }",
            "nodes[0].children[0]: node 0 again; expected each node below one parent",
        ),
        (
            "\"count\": 6, \"type\": \"VEC3\"",
            "\"count\": 4000000000, \"type\": \"VEC3\"",
            "accessors[0]: 4000000000 items of 12 bytes from byte 0; expected no more than the 120 bytes of the buffer view",
        ),
        ("VEC3", "MAT4", "accessors[0].type: \"MAT4\"; expected VEC3"),
        ("5123", "5130", "accessors[2].componentType: 5130; expected 5120 to 5123, 5125 or 5126"),
        (
            "\"byteLength\": 120 ",
            "\"byteLength\": 999 ",
            "bufferViews[0]: 999 bytes from byte 0; expected no more than the 132 of the buffer",
        ),
        (
            "132,",
            "1320,",
            "buffers[0]: a buffer of 1320 bytes; expected no more than the 132 bytes that it has",
        ),
        ("base64,A", "base64,?", "buffers[0].uri: a byte that is not base64; expected base64"),
        (
            "data:application/octet-stream;base64,",
            "../../secret",
            "expected a file in the folder of this one, or data in base64",
        ),
        (
            "[0, 0, 2]",
            "[0, 2]",
            "nodes[1].translation: a list of 2 items; expected a list of 3 numbers",
        ),
        (
            "\"scene\": 0,",
            "\"extensionsRequired\": [\"KHR_draco_mesh_compression\"],",
            "extensionsRequired[0]: the extension \"KHR_draco_mesh_compression\"; expected a file without it: export it uncompressed",
        ),
        ("[0, 0, 2]", "[0, 0, 1e300]", "expected finite numbers below 1e15 in the scene"),
    ];
    for (old, new, expected) in cases {
        let message = read(text().replacen(old, new, 1).as_bytes()).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}\n{expected}");
    }
    assert!(read(b"{").unwrap_err().to_string().starts_with("test.glb:1: EOF while parsing"));
    let (_, bytes) = glb();
    assert!(read(&bytes[..bytes.len() - 4]).unwrap_err().to_string().contains(": a chunk of"));
}

#[test]
fn repeated_references_to_one_mesh_are_limited() {
    let list = |item: &str, count: usize| vec![item; count].join(",");
    let text = format!(
        r#"{{ "asset": {{ "version": "2.0" }}, "nodes": [{}], "meshes": [{{ "primitives": [{}] }}],
        "accessors": [{{ "bufferView": 0, "componentType": 5126, "count": 0, "type": "VEC3" }}],
        "bufferViews": [{{ "buffer": 0, "byteLength": 0 }}], "buffers": [{{ "byteLength": 0, "uri": "data:;base64," }}] }}"#,
        list(r#"{"mesh":0}"#, 50_000),
        list(r#"{"attributes":{"POSITION":0}}"#, 50_000)
    );
    let message = read(text.as_bytes()).unwrap_err().to_string();
    assert!(message.starts_with("test.glb: vertices and corners of all nodes: "), "{message}");
    let many = format!("[{}]", list("0", 2_000_000));
    let message = read(many.as_bytes()).unwrap_err().to_string();
    assert_eq!(
        message,
        "test.glb: values in the JSON text: 2000000 is more than the limit 1048576"
    );
}

#[test]
fn mutated_files_never_panic() {
    let samples = [text().into_bytes(), glb().1];
    fuzz::run(&samples, 20_000, |bytes| read(bytes).map(|mesh| mesh.validate().unwrap()).is_ok());
}
