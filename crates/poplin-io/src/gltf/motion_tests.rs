//! Tests of animations: skins, nodes and morph targets against formulas.

use glam::{DQuat, DVec3};
use poplin_geometry::wide;
use serde_json::json;

use super::accessor::FLOAT;
use super::test_file::File;
use super::*;
use crate::{FRAME_FORMATS, FrameSource};
use poplin_testkit::fuzz;

/// Vertices of an upright cylinder 2 m high, rings from the bottom up, and its triangles.
fn cylinder() -> (Vec<[f32; 3]>, Vec<[u16; 3]>) {
    let (rings, segments) = (9_u16, 8_u16);
    let mut vertices = Vec::new();
    for ring in 0..rings {
        for k in 0..segments {
            let angle = std::f32::consts::TAU * f32::from(k) / f32::from(segments);
            let y = 2.0 * f32::from(ring) / f32::from(rings - 1);
            vertices.push([0.3 * angle.cos(), y, -0.3 * angle.sin()]);
        }
    }
    let at = |ring: u16, k: u16| ring * segments + k % segments;
    let mut triangles = Vec::new();
    for k in 0..segments {
        for ring in 0..rings - 1 {
            let [a, b, c, d] = [at(ring, k), at(ring, k + 1), at(ring + 1, k + 1), at(ring + 1, k)];
            triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    let fan =
        |ring: u16| (1..segments - 1).map(move |k| [at(ring, 0), at(ring, k), at(ring, k + 1)]);
    triangles.extend(fan(0).map(|[a, b, c]| [a, c, b]));
    triangles.extend(fan(rings - 1));
    (vertices, triangles)
}

/// Weight of the upper bone at a height.
fn upper(y: f32) -> f32 {
    let t = ((y - 0.5) / 1.0).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Cylinder on two bones: in one second the upper one bends by 90 degrees and the lower one moves
/// by 2 m. Each of `sets` joint sets names the upper bone.
fn bent(sets: usize) -> Vec<u8> {
    let mut file = File::default();
    let (vertices, triangles) = cylinder();
    let count = vertices.len();
    let position = file.floats(&vertices);
    let indices: Vec<u8> = triangles.iter().flatten().flat_map(|k| k.to_le_bytes()).collect();
    let indices = file.list("SCALAR", 5123, 3 * triangles.len(), &indices);
    let joints = file.list("VEC4", 5121, count, &[0, 1, 0, 0].repeat(count));
    let part = 1.0 / sets as f32;
    let weights: Vec<_> =
        vertices.iter().map(|p| [1.0 - upper(p[1]), part * upper(p[1]), 0.0, 0.0]).collect();
    let weights = file.floats(&weights);
    let mut attributes = json!({ "POSITION": position, "JOINTS_0": joints, "WEIGHTS_0": weights });
    for set in 1..sets {
        let joints = file.list("VEC4", 5121, count, &[9, 9, 9, 1].repeat(count));
        let weights: Vec<_> =
            vertices.iter().map(|p| [0.0, 0.0, 0.0, part * upper(p[1])]).collect();
        attributes[format!("JOINTS_{set}")] = json!(joints);
        attributes[format!("WEIGHTS_{set}")] = json!(file.floats(&weights));
    }
    let bind =
        |y: f32| [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, -y, 0.0, 1.0];
    let binds = file.floats(&[bind(0.0), bind(1.0)]);
    let times = file.floats(&[[0.5], [1.5]]);
    let half = std::f32::consts::FRAC_PI_4;
    let rotations = file.floats(&[[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, half.sin(), half.cos()]]);
    let moves = file.floats(&[[0.0; 3], [2.0, 0.0, 0.0]]);
    file.glb(json!({
        "nodes": [
            // The node of a skinned mesh does not move the mesh.
            { "mesh": 0, "skin": 0, "translation": [7, 7, 7] },
            { "name": "lower", "children": [2] },
            { "name": "upper", "translation": [0, 1, 0] },
        ],
        "meshes": [{ "primitives": [{ "attributes": attributes, "indices": indices }] }],
        "skins": [{ "joints": [1, 2], "inverseBindMatrices": binds }],
        "animations": [
            { "name": "Still", "channels": [{ "sampler": 0, "target": { "node": 1, "path": "translation" } }],
              "samplers": [{ "input": times, "output": moves, "interpolation": "STEP" }] },
            { "name": "Bend", "channels": [
                { "sampler": 0, "target": { "node": 2, "path": "rotation" } },
                { "sampler": 1, "target": { "node": 1, "path": "translation" } },
            ], "samplers": [{ "input": times, "output": rotations }, { "input": times, "output": moves }] },
        ],
    }))
}

fn load(bytes: &[u8], animation: &str) -> Result<(Mesh, Rig), IoError> {
    let choice = AnimationChoice::Name(animation.to_owned());
    let (parsed, rig) = parse(bytes.to_vec(), Path::new("test.glb"), Some(&choice))?;
    Ok((parsed.mesh, rig))
}

fn assert_near(a: &[DVec3], b: &[DVec3], what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (k, (a, b)) in a.iter().zip(b).enumerate() {
        assert!(a.distance(*b) < 1e-6, "{what}, vertex {k}: {a} is not {b}");
    }
}

#[test]
fn a_skinned_cylinder_matches_the_skinning_formula() {
    for sets in 1..=4 {
        let (mesh, rig) = load(&bent(sets), "Bend").unwrap();
        let (vertices, triangles) = cylinder();
        assert_eq!((mesh.positions, mesh.triangles.len()), (vertices.clone(), triangles.len()));
        assert_eq!(rig.span(), [0.5, 1.5]);
        for time in [0.0, 0.5, 0.75, 1.1, 1.5, 3.0] {
            let t = (time - 0.5_f64).clamp(0.0, 1.0);
            let (sin, cos) = (t * std::f64::consts::FRAC_PI_2).sin_cos();
            let moved = |p: &[f32; 3]| {
                let weight = f64::from(upper(p[1]));
                let [x, y, z] = p.map(f64::from);
                let rotated =
                    DVec3::new(cos * x - sin * (y - 1.0), 1.0 + sin * x + cos * (y - 1.0), z);
                DVec3::new(x, y, z).lerp(rotated, weight) + DVec3::new(2.0 * t, 0.0, 0.0)
            };
            let expected: Vec<_> = vertices.iter().map(moved).collect();
            assert_near(&rig.positions(time).unwrap(), &expected, &format!("at {time} s"));
        }
    }
}

#[test]
fn a_file_at_rest_has_the_pose_of_its_nodes() {
    let bytes = bent(1);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    assert!(text.contains(r#""translation":[0,1,0]"#));
    let moved = replaced(&bytes, br#""translation":[0,1,0]"#, br#""translation":[0,3,0]"#);
    let (parsed, _) = parse(moved, Path::new("test.glb"), None).unwrap();
    let highest = parsed.mesh.positions.iter().map(|p| p[1]).fold(0.0, f32::max);
    assert_eq!(highest, 4.0, "the upper bone is 2 m higher than where it was bound");
}

fn replaced(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let at = bytes.windows(old.len()).position(|it| it == old).unwrap();
    let mut bytes = bytes.to_vec();
    bytes.splice(at..at + old.len(), new.iter().copied());
    bytes
}

/// Triangle below two nodes with these channels: node, path, interpolation, values of keys at 0, 1
/// and 3 s.
fn hierarchy(channels: &[(usize, &str, &str, Vec<[f32; 4]>)]) -> Vec<u8> {
    let mut file = File::default();
    let position = file.floats(&[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
    let times = file.floats(&[[0.0], [1.0], [3.0]]);
    let (mut samplers, mut list) = (Vec::new(), Vec::new());
    for (k, (node, path, interpolation, values)) in channels.iter().enumerate() {
        let output = if *path == "rotation" {
            file.floats(values)
        } else {
            let values: Vec<_> = values.iter().map(|&[x, y, z, _]| [x, y, z]).collect();
            file.floats(&values)
        };
        samplers.push(json!({ "input": times, "output": output, "interpolation": interpolation }));
        list.push(json!({ "sampler": k, "target": { "node": node, "path": path } }));
    }
    file.glb(json!({
        "nodes": [{ "children": [1], "translation": [0, 0, 5] }, { "mesh": 0, "scale": [2, 2, 2] }],
        "meshes": [{ "primitives": [{ "attributes": { "POSITION": position } }] }],
        "animations": [{ "name": "it", "channels": list, "samplers": samplers }],
    }))
}

/// Position of the corner (1, 0, 0) at a time.
fn corner(bytes: &[u8], time: f64) -> DVec3 {
    load(bytes, "it").unwrap().1.positions(time).unwrap()[1]
}

#[test]
fn nodes_move_their_children_with_step_and_linear_keys() {
    // A quarter turn about y, then one about z.
    let half = std::f32::consts::FRAC_1_SQRT_2;
    let about = [[0.0, 0.0, 0.0, 1.0], [0.0, half, 0.0, half], [0.0, 0.0, half, half]];
    let along = [[0.0; 4], [4.0, 0.0, 0.0, 0.0], [4.0, 8.0, 0.0, 0.0]];
    let file = hierarchy(&[
        (0, "rotation", "STEP", about.to_vec()),
        (1, "translation", "LINEAR", along.to_vec()),
    ]);
    let expect = |time: f64, x: [f64; 3]| {
        let at = corner(&file, time);
        assert!(at.distance(x.into()) < 1e-6, "at {time} s: {at}");
    };
    expect(0.0, [2.0, 0.0, 5.0]);
    expect(0.5, [4.0, 0.0, 5.0]);
    // The parent faces along x: its x axis is -z of the world.
    expect(1.0, [0.0, 0.0, -1.0]);
    expect(2.0, [0.0, 4.0, -1.0]);
    // The parent lies on its side: its x axis is y, its y axis -x.
    expect(3.0, [-8.0, 6.0, 5.0]);
    expect(9.0, [-8.0, 6.0, 5.0]);
}

#[test]
fn rotations_take_the_short_path_at_a_constant_rate() {
    // 0, 120 and 210 degrees about z, the second and third as the quaternion of the opposite sign.
    let about = |degrees: f32, sign: f32| {
        let (sin, cos) = (0.5 * degrees.to_radians()).sin_cos();
        [0.0, 0.0, sign * sin, sign * cos]
    };
    let keys = vec![about(0.0, 1.0), about(120.0, -1.0), about(210.0, 1.0)];
    let file = hierarchy(&[(1, "rotation", "LINEAR", keys)]);
    for (time, degrees) in [(0.25, 30.0), (0.5, 60.0), (1.0, 120.0), (2.0, 165.0), (3.0, 210.0)] {
        let (sin, cos) = f64::to_radians(degrees).sin_cos();
        let at = corner(&file, time);
        assert!(at.distance(DVec3::new(2.0 * cos, 2.0 * sin, 5.0)) < 1e-6, "at {time} s: {at}");
    }
}

#[test]
fn cubic_splines_follow_appendix_c() {
    // In-tangent, value, out-tangent of each key.
    let values = [
        [[9.0, 9.0, 9.0], [0.0, 1.0, 2.0], [3.0, -1.0, 0.5]],
        [[-2.0, 4.0, 0.0], [5.0, 1.0, -3.0], [1.0, 1.0, 1.0]],
        [[0.0, -6.0, 2.0], [2.0, 2.0, 2.0], [9.0, 9.0, 9.0]],
    ];
    let keys = values.iter().flatten().map(|&[x, y, z]| [x, y, z, 0.0]).collect();
    let file = hierarchy(&[(1, "translation", "CUBICSPLINE", keys)]);
    let times = [0.0, 1.0, 3.0];
    for time in [0.0, 0.3, 0.9, 1.0, 1.4, 2.8, 3.0, 7.0] {
        let k = if time < 1.0 { 0 } else { 1 };
        let step: f64 = times[k + 1] - times[k];
        let t = ((time - times[k]) / step).min(1.0);
        // Khronos glTF 2.0, appendix C.5.
        let of = |axis: usize| {
            let [v0, b0, a1, v1] = [values[k][1], values[k][2], values[k + 1][0], values[k + 1][1]]
                .map(|it| f64::from(it[axis]));
            (2.0 * t.powi(3) - 3.0 * t.powi(2) + 1.0) * v0
                + step * (t.powi(3) - 2.0 * t.powi(2) + t) * b0
                + (-2.0 * t.powi(3) + 3.0 * t.powi(2)) * v1
                + step * (t.powi(3) - t.powi(2)) * a1
        };
        let expected = DVec3::new(of(0) + 2.0, of(1), of(2) + 5.0);
        let at = corner(&file, time);
        assert!(at.distance(expected) < 1e-6, "at {time} s: {at} is not {expected}");
    }
    // An interpolated rotation is normalized.
    let half = std::f32::consts::FRAC_1_SQRT_2;
    let none = [0.0; 4];
    let ends = [[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, half, half], [0.0, 0.0, 0.0, 1.0]];
    let keys = ends.iter().flat_map(|&value| [none, value, none]).collect();
    let file = hierarchy(&[(1, "rotation", "CUBICSPLINE", keys)]);
    let middle = DQuat::from_xyzw(0.0, 0.0, f64::from(half), 1.0 + f64::from(half)).normalize();
    let expected = middle * DVec3::new(2.0, 0.0, 0.0) + DVec3::new(0.0, 0.0, 5.0);
    assert!(corner(&file, 0.5).distance(expected) < 1e-6);
}

#[test]
fn dense_and_sparse_morph_targets_move_vertices() {
    let mut file = File::default();
    let position = file.floats(&[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
    let up = file.floats(&[[0.0, 0.0, 4.0], [0.0; 3], [0.0; 3]]);
    let aside = file.sparse(3, &[(1, [8.0, 0.0, 0.0])]);
    let times = file.floats(&[[0.0], [1.0]]);
    let weights = file.floats(&[[1.0], [0.0], [0.0], [0.5]]);
    let bytes = file.glb(json!({
        "nodes": [{ "mesh": 0 }],
        "meshes": [{
            "primitives": [{ "attributes": { "POSITION": position }, "targets": [{ "POSITION": up }, { "POSITION": aside }] }],
            "weights": [0, 0.25],
        }],
        "animations": [{ "name": "it", "channels": [{ "sampler": 0, "target": { "node": 0, "path": "weights" } }],
            "samplers": [{ "input": times, "output": weights }] }],
    }));
    let (parsed, _) = parse(bytes.clone(), Path::new("test.glb"), None).unwrap();
    assert_eq!(parsed.mesh.positions[..2], [[0.0; 3], [3.0, 0.0, 0.0]], "weights of the mesh");
    let (_, rig) = load(&bytes, "it").unwrap();
    let at = |time| rig.positions(time).unwrap()[..2].to_vec();
    assert_eq!(at(0.0), [DVec3::new(0.0, 0.0, 4.0), DVec3::X]);
    assert_eq!(at(0.5), [DVec3::new(0.0, 0.0, 2.0), DVec3::new(3.0, 0.0, 0.0)]);
    assert_eq!(at(1.0), [DVec3::ZERO, DVec3::new(5.0, 0.0, 0.0)]);
}

#[test]
fn written_glb_frames_play_back() {
    let mesh = Mesh::grid(4, 3, 1.0, 0.5);
    let path = std::env::temp_dir().join(format!("poplin-io-played-{}.glb", std::process::id()));
    let format = FRAME_FORMATS.iter().find(|format| format.name == "glb").unwrap();
    let source = FrameSource { parts: &[(&mesh, 1)], frame_rate: 10.0, frame_count: 4 };
    let mut sink = (format.create)(&path, &source).unwrap();
    let frame = |k: usize| -> Vec<[f32; 3]> {
        mesh.positions.iter().map(|p| [p[0], (k * k) as f32 * p[2], p[2]]).collect()
    };
    (0..4).for_each(|k| sink.push(&frame(k)).unwrap());
    sink.finish().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    let (_, rig) = load(&bytes, "simulation").unwrap();
    for k in 0..4 {
        let expected: Vec<_> = frame(k).iter().copied().map(wide).collect();
        assert_near(&rig.positions(k as f64 / 10.0).unwrap(), &expected, &format!("frame {k}"));
    }
}

#[test]
fn errors_of_animations_name_the_path_and_the_limit() {
    let bytes = bent(1);
    let cases = [
        (
            r#""sampler":1"#,
            r#""sampler":7"#,
            "animations[1].channels[1].sampler: 7; expected an index of \"samplers\", which has 2 items",
        ),
        (
            r#"[1,2]"#,
            r#"[1,9]"#,
            "skins[0].joints[1]: 9; expected an index of \"nodes\", which has 3 items",
        ),
        (
            r#"[1,2]"#,
            r#"[1]  "#,
            "JOINTS_0: joint 1 of vertex 24; expected joints below 1, as of its skin",
        ),
        (
            r#""rotation""#,
            r#""weights" "#,
            "path: weights of node 2, which has no morph targets; expected a node that has them",
        ),
        (
            r#""sampler":1,"target":{"node":1,"path":"translation"}"#,
            r#""sampler":1,"target":{"node":2,"path":"rotation"}   "#,
            "path: rotation of node 2 again; expected each property in one channel",
        ),
        (
            r#""translation":[0,1,0]"#,
            r#""matrix":[1,0,0,0,0,1,0,0,0,0,1,0,0,1,0,1]"#,
            "node: node 2, which has a matrix; expected one with translation, rotation and scale",
        ),
        (
            r#""interpolation":"STEP""#,
            r#""interpolation":"SPIN""#,
            "interpolation: \"SPIN\"; expected STEP, LINEAR or CUBICSPLINE",
        ),
        (
            r#""inverseBindMatrices":4"#,
            r#""inverseBindMatrices":0"#,
            "accessors[0].type: \"VEC3\"; expected MAT4",
        ),
    ];
    for (old, new, expected) in cases {
        let name = if old.contains("STEP") { "Still" } else { "Bend" };
        let damaged = replaced(&bytes, old.as_bytes(), new.as_bytes());
        // Update the length of the text chunk.
        let text_length = damaged.len() - bytes.len();
        let mut damaged = damaged;
        let length = u32::from_le_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]);
        damaged[12..16].copy_from_slice(&(length + text_length as u32).to_le_bytes());
        let message = load(&damaged, name).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}\n{expected}");
    }
    let message = load(&bytes, "Wave").unwrap_err().to_string();
    assert_eq!(
        message,
        "test.glb, animations: no animation \"Wave\"; expected one of its 2: 0 \"Still\", 1 \"Bend\""
    );
    let keys = vec![[0.0; 4], [1.0; 4]];
    let message = load(&hierarchy(&[(1, "scale", "LINEAR", keys)]), "it").unwrap_err().to_string();
    assert!(message.ends_with("output: 2 values for 3 keys; expected 1 of each key"), "{message}");
    let keys = vec![[0.0; 4], [f32::NAN; 4], [0.0; 4]];
    let message = load(&hierarchy(&[(1, "scale", "STEP", keys)]), "it").unwrap_err().to_string();
    assert!(message.ends_with("output: key 1; expected finite numbers"), "{message}");
    let keys = vec![[0.0; 4], [1e20; 4], [0.0; 4]];
    let (_, rig) = load(&hierarchy(&[(0, "translation", "LINEAR", keys)]), "it").unwrap();
    let message = rig.positions(0.5).unwrap_err().to_string();
    assert!(
        message.contains("nodes[1]: vertex 0 at") && message.contains("below 1e15"),
        "{message}"
    );
}

#[test]
fn generated_zeros_are_limited() {
    let zeros = |count: u32| {
        File::default().glb_of(json!({ "componentType": FLOAT, "count": count, "type": "VEC3" }))
    };
    let message = parse(zeros(30_000_000), Path::new("test.glb"), None).unwrap_err().to_string();
    assert_eq!(
        message,
        "test.glb: bytes of sparse items: 360000000 is more than the limit 268435456"
    );
    let message = parse(zeros(300), Path::new("test.glb"), None).unwrap_err().to_string();
    assert_eq!(message, "test.glb: the file has no triangles", "all vertices are one");
}

#[test]
fn repeated_joint_sets_are_limited() {
    let count = 1 << 16;
    let mut file = File::default();
    let joints = file.list("VEC4", 5121, count, &vec![0; 4 * count]);
    let weights = file.list("VEC4", 5121, count, &vec![0; 4 * count]);
    let positions = json!({ "componentType": FLOAT, "count": count, "type": "VEC3" });
    file.accessors.push(positions);
    let mut attributes = json!({ "POSITION": 2 });
    for set in 0..5000 {
        attributes[format!("JOINTS_{set}")] = json!(joints);
        attributes[format!("WEIGHTS_{set}")] = json!(weights);
    }
    let bytes = file.glb(json!({
        "nodes": [{ "mesh": 0, "skin": 0 }],
        "meshes": [{ "primitives": [{ "attributes": attributes }] }],
        "skins": [{ "joints": [0] }],
    }));
    let message = parse(bytes, Path::new("test.glb"), None).unwrap_err().to_string();
    assert!(
        message.starts_with("test.glb: vertices and corners of all nodes: ")
            && message.ends_with(" is more than the limit 268435456"),
        "{message}"
    );
}

#[test]
fn mutated_animations_never_panic() {
    let half = std::f32::consts::FRAC_1_SQRT_2;
    let quarter = [0.0, half, 0.0, half];
    let nodes = hierarchy(&[
        (0, "rotation", "LINEAR", vec![quarter; 3]),
        (1, "translation", "CUBICSPLINE", vec![[1.0; 4]; 9]),
    ]);
    let samples = [bent(1), bent(2), nodes];
    fuzz::run(&samples, 6000, |bytes| {
        let choice = AnimationChoice::Index(0);
        let Ok((parsed, rig)) = parse(bytes.to_vec(), Path::new("test.glb"), Some(&choice)) else {
            return false;
        };
        parsed.mesh.validate().unwrap();
        let [begin, end] = rig.span();
        for time in [begin - 1.0, 0.6 * begin + 0.4 * end, end, f64::NAN] {
            if let Ok(positions) = rig.positions(time) {
                assert_eq!(positions.len(), parsed.mesh.positions.len());
                assert!(positions.iter().all(|p| p.is_finite()));
            }
        }
        true
    });
}
