//! Warnings of connected parts of cloths and colliders, and of triangles that face differently.

use std::fmt::Write as _;

use crate::bench::{Bench, Ended};

/// Square with its lower left corner at `[x, 0, z]`, as OBJ faces of its own vertices, which follow
/// `before` others.
fn square(x: f32, z: f32, before: u32, is_flipped: bool) -> String {
    let mut text = String::new();
    for [u, w] in [[0.0, 0.0], [0.4, 0.0], [0.4, 0.4], [0.0, 0.4]] {
        writeln!(text, "v {} 0 {}", x + u, z + w).unwrap();
    }
    let [a, b, c, d] = [1, 2, 3, 4].map(|corner| corner + before);
    let face = |[a, b, c]: [u32; 3]| format!("f {a} {b} {c}\n");
    let second = if is_flipped { [a, d, c] } else { [a, c, d] };
    text + &face([a, b, c]) + &face(second)
}

/// Runs a mesh with these keys of the cloth and lines after it. Returns the end of the command and
/// the kinds of its warnings.
fn run(bench: &Bench, mesh: &str, keys: &str, after: &str) -> (Ended, Vec<String>) {
    bench.write("mesh.obj", mesh);
    let text =
        format!("frames = 2\n[[cloth]]\nname = \"panels\"\nmesh = \"mesh.obj\"\n{keys}\n{after}\n");
    bench.write("scene.toml", &text);
    let ended = bench.poplin(&["run", "scene.toml", "--backend", "cpu"]);
    ended.succeeds();
    let summary = bench.json("out/scene/summary.json");
    let warnings = summary["warnings"].as_array().unwrap();
    let kinds = warnings.iter().map(|warning| warning["kind"].as_str().unwrap().to_owned());
    (ended, kinds.collect())
}

#[test]
fn warns_of_seams_that_are_not_joined_and_parts_that_fall() {
    let bench = Bench::new("panels");
    let panels = |gap: f32| square(0.0, 0.0, 0, false) + &square(0.4 + gap, 0.0, 4, false);
    let pins = "pins = [\"indices:0,3\"]";
    let (ended, kinds) = run(&bench, &panels(1e-4), pins, "");
    assert!(kinds.contains(&"open_seam".into()), "{kinds:?}");
    let said = "cloth `panels` has 2 parts, 1 of them without a pin; 4 vertices are on their rims, within ";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
    let weld = format!("{pins}\nfabric = {{ weld = {{ distance = 2e-4 }} }}");
    let (_, kinds) = run(&bench, &panels(1e-4), &weld, "");
    assert!(!kinds.contains(&"open_seam".into()), "{kinds:?}");
    let (ended, kinds) = run(&bench, &panels(0.1), pins, "");
    assert!(kinds.contains(&"loose_part".into()), "{kinds:?}");
    assert!(ended.stderr.contains("nothing holds these"), "{}", ended.stderr);
    for (pins, after) in [
        // Each part has a pin; there are no pins at all; something may hold the part.
        ("pins = [\"indices:0,7\"]", ""),
        ("", ""),
        (pins, "[[collider]]\nplane = { normal = [0, 1, 0], offset = -1 }"),
    ] {
        let (_, kinds) = run(&bench, &panels(0.1), pins, after);
        assert!(!kinds.contains(&"loose_part".into()), "{kinds:?}");
    }
}

#[test]
fn warns_of_neighbours_that_face_differently_under_pressure() {
    let bench = Bench::new("winding");
    let pressure = "air = { pressure = 1 }";
    for (is_flipped, keys, is_warned) in
        [(true, pressure, true), (false, pressure, false), (true, "", false)]
    {
        let (ended, kinds) = run(&bench, &square(0.0, 0.0, 0, is_flipped), keys, "");
        assert_eq!(kinds.contains(&"mixed_winding".into()), is_warned, "{kinds:?}");
        let said = "1 edge between triangles that face differently: pressure acts along";
        assert_eq!(ended.stderr.contains(said), is_warned, "{}", ended.stderr);
    }
}

#[test]
fn warns_of_parts_of_a_collider_without_a_volume() {
    let bench = Bench::new("label");
    let mut solid = String::from("v 5 0 0\nv 6 0 0\nv 5 1 0\nv 5 0 1\n");
    solid += "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
    let collider = "[[collider]]\nname = \"shelf\"\nmesh = \"shelf.obj\"\n";
    let sheet = square(0.0, 0.0, 0, false);
    bench.write("shelf.obj", &solid);
    let (_, kinds) = run(&bench, &sheet, "", collider);
    assert!(!kinds.contains(&"left_out_parts".into()), "{kinds:?}");
    bench.write("shelf.obj", &(solid + &square(0.0, -1.0, 4, false)));
    let (ended, kinds) = run(&bench, &sheet, "", collider);
    assert!(kinds.contains(&"left_out_parts".into()), "{kinds:?}");
    let said = "collider `shelf` has 1 part without a volume (2 triangles)";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
    // Cloth that is nowhere near is not inside.
    assert!(!kinds.contains(&"starts_inside".into()), "{kinds:?}");
}

#[test]
fn other_formats_are_named_and_a_vrm_is_read_as_glb() {
    let bench = Bench::new("formats");
    for (name, said) in [
        ("shirt.fbx", "FBX is not read: export OBJ, PLY, STL or glTF"),
        ("shirt.DAE", "COLLADA is not read"),
        ("shirt.usda", "USD is not read"),
        ("shirt.vrm", "VRM is not read"),
    ] {
        bench.write(name, "; a text of this format\n");
        for command in [&["cook", name][..], &["run", "--mesh", name, "--pin", "none"]] {
            let ended = bench.poplin(command);
            assert_eq!(ended.code, Some(2), "{}", ended.stderr);
            assert!(ended.stderr.contains(said), "{}", ended.stderr);
        }
    }
    bench.write("avatar.vrm", "glTF\u{1}");
    let ended = bench.poplin(&["cook", "avatar.vrm"]);
    assert!(!ended.stderr.contains("not read"), "{}", ended.stderr);
    // Loose edges are faces without area.
    bench.write("loose.obj", &(square(0.0, 0.0, 0, false) + "f 1 3\nf 2\n"));
    let ended = bench.poplin(&["cook", "loose.obj"]);
    assert!(ended.succeeds().stdout.contains("degenerate"), "{}", ended.stdout);
}
