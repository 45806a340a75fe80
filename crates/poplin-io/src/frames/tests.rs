//! Tests of frame files.

use std::path::PathBuf;

use poplin_model::Mesh;

use super::*;
use crate::{IoError, load_mesh, read_obj};
use poplin_testkit::Scratch;

fn format(name: &str) -> FrameFormat {
    name.parse().unwrap()
}

/// Two quads and two triangles, with a seam and a face without texture coordinates.
fn seam(folder: &Scratch) -> Mesh {
    let text = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 2 0 0\nv 2 1 0\nv 0 2 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nvt 0.5 0\n\
                f 1/1 2/2 3/3 4/4\nf 2/1 5/2 6/3 3/4\nf 4/5 3/2 7/3\nf 3 6 7\n";
    std::fs::write(folder.path("seam.obj"), text).unwrap();
    read_obj(folder.path("seam.obj")).unwrap()
}

fn frames(mesh: &Mesh) -> Vec<Vec<[f32; 3]>> {
    let frame = |k: u32| {
        mesh.positions.iter().map(|p| [p[0], p[1] + 0.1 * k as f32, 1.5e-7 * k as f32]).collect()
    };
    (0..3).map(frame).collect()
}

/// Writes three frames.
fn write(name: &str, folder: &Scratch, mesh: &Mesh) -> PathBuf {
    let path = folder.path(format(name).file_name("cloth"));
    let source = FrameSource { parts: &[(mesh, 1)], frame_rate: 50.0, frame_count: 3 };
    let mut sink = (format(name).create)(&path, &source).unwrap();
    frames(mesh).iter().for_each(|frame| sink.push(frame).unwrap());
    sink.finish().unwrap();
    path
}

#[test]
fn mdd_has_the_published_layout() {
    let folder = Scratch::new("mdd");
    let mesh = seam(&folder);
    let bytes = std::fs::read(write("mdd", &folder, &mesh)).unwrap();
    assert_eq!(bytes[..8], [0, 0, 0, 3, 0, 0, 0, 7]);
    let (words, _) = bytes[8..].as_chunks::<4>();
    let floats: Vec<_> = words.iter().map(|word| f32::from_be_bytes(*word)).collect();
    assert_eq!(floats[..3], [0.0, 0.02, 0.04]);
    assert_eq!(floats[3..], *frames(&mesh).concat().as_flattened());
}

#[test]
fn sequences_round_trip_with_their_uvs() {
    let folder = Scratch::new("sequence");
    for mesh in [seam(&folder), Mesh::grid(4, 3, 1.0, 1.0)] {
        for name in ["obj", "ply"] {
            let path = write(name, &folder, &mesh);
            for (k, frame) in frames(&mesh).into_iter().enumerate() {
                let read = load_mesh(path.join(format!("00000{k}.{name}"))).unwrap().mesh;
                assert_eq!(read.positions, frame, "{name}");
                assert_eq!(
                    (&read.quads, &read.triangles),
                    (&mesh.quads, &mesh.triangles),
                    "{name}"
                );
                assert_eq!(read.uvs, mesh.uvs);
                let corners = |mesh: &Mesh| {
                    let all = source::faces(mesh).flat_map(|(_, uvs)| uvs.unwrap_or_default());
                    all.map(|&uv| mesh.corner_uvs.coordinates.get(uv as usize).copied())
                        .collect::<Vec<_>>()
                };
                assert_eq!(corners(&read), corners(&mesh), "{name}");
            }
        }
    }
}

#[test]
fn frames_of_an_earlier_run_are_removed_and_other_files_stay() {
    let folder = Scratch::new("stale");
    let mesh = Mesh::grid(2, 2, 1.0, 1.0);
    let path = folder.path("cloth-obj");
    std::fs::create_dir_all(&path).unwrap();
    for name in ["000007.obj", "notes.txt", "shirt.obj"] {
        std::fs::write(path.join(name), "").unwrap();
    }
    write("obj", &folder, &mesh);
    let exists = |name: &str| path.join(name).exists();
    assert!(
        !exists("000007.obj") && exists("notes.txt") && exists("shirt.obj") && exists("000002.obj")
    );
    remove_frames(&path).unwrap();
    assert!(!exists("000002.obj") && exists("notes.txt"));
}

#[test]
fn npz_members_are_complete_with_checksums() {
    let folder = Scratch::new("npz");
    let mesh = seam(&folder);
    let bytes = std::fs::read(write("npz", &folder, &mesh)).unwrap();
    let u16_at = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    // The end record has the offset of the directory.
    let end = bytes.len() - 22;
    assert_eq!(bytes[end..end + 4], *b"PK\x05\x06");
    let record = u64_at(end - 20 + 8);
    assert_eq!(bytes[record..record + 4], *b"PK\x06\x06");
    let (count, mut at) = (u64_at(record + 32), u64_at(record + 48));
    let mut members = Vec::new();
    for _ in 0..count {
        assert_eq!(bytes[at..at + 4], *b"PK\x01\x02");
        let name_length = u16_at(at + 28);
        let name = String::from_utf8(bytes[at + 46..at + 46 + name_length].to_vec()).unwrap();
        let extra = at + 46 + name_length + 4;
        let (size, local) = (u64_at(extra), u64_at(extra + 16));
        assert_eq!(bytes[local..local + 4], *b"PK\x03\x04");
        let begin = local + 30 + u16_at(local + 26) + u16_at(local + 28);
        let data = &bytes[begin..begin + size];
        assert_eq!(crc32fast::hash(data).to_le_bytes(), bytes[local + 14..local + 18], "{name}");
        assert_eq!(bytes[local + 14..local + 18], bytes[at + 16..at + 20]);
        members.push((name, data));
        at = extra + 24;
    }
    let names: Vec<_> = members.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["positions.npy", "faces.npy", "corner_uvs.npy", "frame_rate.npy"]);
    let all: Vec<u8> =
        frames(&mesh).concat().as_flattened().iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(members[0].1[128..], all);
    let text = |k: usize| String::from_utf8_lossy(&members[k].1[10..128]).trim().to_owned();
    assert_eq!(text(1), "{'descr': '<i4', 'fortran_order': False, 'shape': (4, 4), }");
    assert_eq!(text(3), "{'descr': '<f4', 'fortran_order': False, 'shape': (), }");
}

#[test]
fn glb_targets_are_differences_of_frames_with_weights() {
    let folder = Scratch::new("glb");
    let mesh = seam(&folder);
    let bytes = std::fs::read(write("glb", &folder, &mesh)).unwrap();
    let length = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
    let root: serde_json::Value = serde_json::from_slice(&bytes[20..20 + length]).unwrap();
    let array = |index: &serde_json::Value, width: usize| {
        let accessor = &root["accessors"][index.as_u64().unwrap() as usize];
        let view = &root["bufferViews"][accessor["bufferView"].as_u64().unwrap() as usize];
        let size = |value: &serde_json::Value| value.as_u64().unwrap() as usize;
        let begin = 28 + length + size(&view["byteOffset"]) + size(&accessor["byteOffset"]);
        let words = bytes[begin..].as_chunks::<4>().0;
        let count = width * size(&accessor["count"]);
        words[..count].iter().map(|word| f32::from_le_bytes(*word)).collect::<Vec<_>>()
    };
    let primitive = &root["meshes"][0]["primitives"][0];
    let base = array(&primitive["attributes"]["POSITION"], 3);
    assert_eq!(primitive["targets"].as_array().unwrap().len(), 2);
    for (k, frame) in frames(&mesh).iter().enumerate().skip(1) {
        let target = array(&primitive["targets"][k - 1]["POSITION"], 3);
        let index = primitive["targets"][k - 1]["POSITION"].as_u64().unwrap() as usize;
        let least = |axis: usize| {
            target.iter().skip(axis).step_by(3).copied().fold(f32::INFINITY, f32::min)
        };
        assert_eq!(
            root["accessors"][index]["min"],
            serde_json::json!([least(0), least(1), least(2)])
        );
        let sum: Vec<_> = base.iter().zip(&target).map(|(a, b)| a + b).collect();
        // Vertices along the seam are repeated at the end.
        let own = frame.as_flattened();
        assert!(sum.len() > own.len());
        assert!(sum.iter().zip(own).all(|(a, b)| (a - b).abs() < 1e-6), "{k}: {sum:?}");
    }
    let sampler = &root["animations"][0]["samplers"][0];
    assert_eq!(array(&sampler["input"], 1), [0.0, 0.02, 0.04]);
    assert_eq!(array(&sampler["output"], 1), [0.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
}

#[test]
fn usd_has_a_sample_per_frame() {
    let folder = Scratch::new("usd");
    let mesh = seam(&folder);
    let text = std::fs::read_to_string(write("usda", &folder, &mesh)).unwrap();
    for part in [
        "#usda 1.0\n",
        "endTimeCode = 2\n",
        "timeCodesPerSecond = 50\n",
        "int[] faceVertexCounts = [4, 4, 3, 3]\n",
        "int[] primvars:st:indices = [0, 1, 2, 3, 0, 1, 2, 3, 4, 1, 2, 5, 5, 5]\n",
        "        2: [(0, 0.2, 0.0000003), (1, 0.2, 0.0000003)",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    assert_eq!(text.matches("\n        1: [").count(), 3, "extent, points and normals");
}

#[test]
fn runs_too_long_for_a_format_are_rejected_at_the_start() {
    let mesh = Mesh::grid(2, 2, 1.0, 1.0);
    let path = std::env::temp_dir().join(format!("poplin-io-long-{}.glb", std::process::id()));
    let create = |mesh: &Mesh, copies, frame_count| {
        let source = FrameSource { parts: &[(mesh, copies)], frame_rate: 60.0, frame_count };
        (format("glb").create)(&path, &source).map(drop)
    };
    create(&mesh, 1, 2048).unwrap();
    let message = create(&mesh, 1, 2049).unwrap_err().to_string();
    assert!(
        message.ends_with(
            "frames for this format and these vertices: 2049 is more than the limit 2048"
        ),
        "{message}"
    );
    // 200,000 vertices take 4.8 MB per frame.
    let large = Mesh::grid(500, 400, 1.0, 1.0);
    create(&large, 1, 700).unwrap();
    assert!(matches!(
        create(&large, 1, 1000),
        Err(IoError::TooMany { count: 1000, limit: 800..900, .. })
    ));
    assert!(!path.exists());
}

#[test]
fn failed_writes_name_the_file_and_leave_nothing() {
    let folder = Scratch::new("fails");
    let mesh = Mesh::grid(2, 2, 1.0, 1.0);
    let source = FrameSource { parts: &[(&mesh, 1)], frame_rate: 60.0, frame_count: 1 };
    for format in FRAME_FORMATS.iter().filter(|format| !format.is_sequence) {
        let path = folder.path("no/such/folder").join(format.file_name("cloth"));
        let message = (format.create)(&path, &source).map(drop).unwrap_err().to_string();
        assert!(message.starts_with("cannot write "), "{message}");
    }
    // A folder blocks the rename to the final file.
    let path = folder.path("cloth.mdd");
    let mut sink = (format("mdd").create)(&path, &source).unwrap();
    sink.push(&mesh.positions).unwrap();
    std::fs::create_dir_all(path.join("inside")).unwrap();
    assert!(sink.finish().unwrap_err().to_string().starts_with("cannot write "));
    assert_eq!(std::fs::read_dir(folder.path("")).unwrap().count(), 1, "temporary files are left");
}
