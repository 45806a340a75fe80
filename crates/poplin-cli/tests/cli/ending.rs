//! Warnings about where cloth and bodies end, and thin colliders.

use poplin_testkit::skip::part;

use crate::bench::{Bench, crossed_sheets};

/// Runs a scene and returns the kinds of its warnings, after checking that `--strict` fails with
/// any.
fn kinds(bench: &Bench, scene: &str) -> Vec<String> {
    bench.write("scene.toml", scene);
    let run = ["run", "scene.toml", "--backend", "cpu", "--picture", "none", "--no-cache"];
    let ended = bench.poplin(&[&run[..], &["--strict"]].concat());
    let warnings = bench.json("out/scene/summary.json")["warnings"].clone();
    let warnings = warnings.as_array().unwrap();
    let code = i32::from(!warnings.is_empty());
    let texts: Vec<_> = warnings.iter().map(|it| it["text"].as_str().unwrap()).collect();
    ended.says(code, &texts);
    warnings.iter().map(|warning| warning["kind"].as_str().unwrap().to_owned()).collect()
}

/// Returns a scene of a level square of cloth, with more keys, at a height.
fn level(columns: u32, height: f32, keys: &str) -> String {
    format!(
        "frames = 60\n[[cloth]]\nname = \"napkin\"\n\
         grid = {{ columns = {columns}, rows = {columns}, width = 0.8, height = 0.8, plane = \"xz\" }}\n\
         transform = {{ translation = [-0.4, {height}, -0.4] }}\n{keys}"
    )
}

const TRAY: &str = "[[collider]]\nname = \"tray\"\nbox = { size = [1.2, 0.005, 1.2] }\n";

#[test]
fn warns_of_cloth_in_free_fall() {
    let bench = Bench::new("falls");
    let ground = "[[collider]]\nplane = { normal = [0, 1, 0], offset = -1 }\n";
    let rod = "[[collider]]\nname = \"rod\"\ncapsule = { from = [-1, 0, 0], to = [1, 0, 0], radius = 0.02 }\n";
    let off = "contact = { continuous = false }\n";
    let narrow_and_falls = ["falls_away", "narrow_collider"];
    for (scene, expected) in [
        (level(9, 0.3, ""), &["falls_away"][..]),
        // The plane catches it later.
        (level(9, 9.3, "") + ground, &[]),
        (level(9, 0.3, "pins = [\"corner:top-left\"]\n"), &[]),
        (level(9, 0.3, "gravity = [0, 0, 0]\n"), &[]),
        // Between the particles, which are 0.1 m apart.
        (level(9, 0.3, "") + rod, &narrow_and_falls),
        // Continuous collision is chosen for the thin tray.
        (level(9, 0.3, "") + TRAY, &[]),
        (level(9, 0.3, off) + TRAY, &["falls_away"]),
    ] {
        assert_eq!(kinds(&bench, &scene), expected, "{scene}");
    }
    // One of two parts has no pin.
    let parts = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 3 0 0\nv 4 0 0\nv 4 1 0\nv 3 1 0\nf 1 2 3 4\nf 5 6 7 8\n";
    bench.write("parts.obj", parts);
    let scene = "[[cloth]]\nname = \"parts\"\nmesh = \"parts.obj\"\npins = [\"indices:2,3\"]\n\
                 [[collider]]\nsphere = { radius = 0.6, center = [0.5, 3, 0] }\n";
    assert_eq!(kinds(&bench, scene), ["falls_away"]);
    let warning = bench.json("out/scene/summary.json")["warnings"][0].clone();
    assert_eq!((&warning["falling_parts"], &warning["parts"]), (&1.into(), &2.into()));
    assert!(warning["text"].as_str().unwrap().starts_with("1 of 2 parts of cloth `parts` ends"));
}

#[test]
fn says_that_a_thin_collider_is_swept() {
    let bench = Bench::new("swept");
    let lines = |scene: &str| {
        bench.write("scene.toml", scene);
        let ended = bench.poplin(&["run", "scene.toml", "--backend", "cpu", "--picture", "none"]);
        ended.succeeds().stdout.contains("as collider `tray` is 5.00 mm thin")
    };
    assert!(lines(&(level(9, 0.1, "") + TRAY)));
    assert!(!lines(&(level(9, 0.1, "") + &TRAY.replace("0.005", "0.05"))));
    assert!(!lines(&(level(9, 0.1, "contact = { continuous = true }\n") + TRAY)));
    assert!(!lines(&(level(9, 0.1, "contact = { continuous = false }\n") + TRAY)));
}

#[test]
fn warns_of_cloth_that_ends_inside_a_collider() {
    let bench = Bench::new("ends-inside");
    // Particles 0.1 m apart on a ball of 0.2 m: triangles cut it, particles do not.
    let ball = "[[collider]]\nsphere = { radius = 0.2 }\n";
    let on_ball = |columns| level(columns, 0.22, "contact = { friction = 1 }\n") + ball;
    assert_eq!(kinds(&bench, &on_ball(9)), ["triangles_inside"]);
    assert_eq!(kinds(&bench, &on_ball(33)), [""; 0]);
    // At 0.05 m/s it leaves a ball in which it starts later than the run ends.
    let inside = level(17, 0.1, "gravity = [0, 0, 0]\n").replace("frames = 60", "frames = 10");
    assert_eq!(kinds(&bench, &(inside + ball)), ["starts_inside", "ends_inside"]);
}

#[test]
fn warns_of_sheets_that_end_crossed_with_contact_of_particles() {
    let bench = Bench::new("ends-crossed");
    let crossed = |contact: &str| {
        crossed_sheets(0.18, "pins = [\"all\"]").replace("\"triangles\"", &format!("\"{contact}\""))
    };
    let found = kinds(&bench, &crossed("particles"));
    assert!(found.contains(&"ends_crossed".into()), "{found:?}");
    let found = kinds(&bench, &crossed("triangles"));
    assert!(!found.contains(&"ends_crossed".into()), "{found:?}");
}

#[test]
fn warns_of_a_body_that_falls_below_all_cloth() {
    let bench = Bench::new("body-falls");
    let ball = |x: f32| {
        format!(
            "[[collider]]\nname = \"ball\"\nsphere = {{ radius = 0.1, center = [{x}, 0.5, 0] }}\n\
             body = {{ mass = 0.1 }}\n"
        )
    };
    let sheet = level(17, 0.3, "pins = [\"left:2%\", \"right:2%\"]\n");
    // Beside the sheet, and on it.
    assert_eq!(kinds(&bench, &(sheet.clone() + &ball(1.0))), ["body_falls"]);
    let found = kinds(&bench, &(sheet + &ball(0.0)));
    assert!(!found.contains(&"body_falls".into()), "{found:?}");
}

#[test]
fn heavy_bodies_raise_the_frequency_until_cloth_holds_them() {
    let bench = Bench::new("heavy");
    let scene = |columns: u32, mass: f32, shape: &str| {
        format!(
            "frames = 60\n[[cloth]]\nname = \"sheet\"\n\
             grid = {{ columns = {columns}, rows = {columns}, width = 1.0, height = 1.0, plane = \"xz\" }}\n\
             transform = {{ translation = [-0.5, 0.0, -0.5] }}\n\
             pins = [\"left:0%\", \"right:0%\", \"front:0%\", \"back:0%\"]\ndamping = [0.1, 0.1, 0.1]\n\
             [[collider]]\nname = \"load\"\n{shape}\nbody = {{ mass = {mass} }}\n"
        )
    };
    let ball = "sphere = { radius = 0.15, center = [0.0, 0.3, 0.0] }";
    let chest = "box = { size = [0.3, 0.2, 0.3], center = [0.0, 0.25, 0.0] }";
    for (columns, mass, shape) in
        [(33, 3.0, ball), (17, 10.0, ball), (17, 30.0, ball), (33, 3.0, chest), (17, 20.0, chest)]
    {
        // Coarse cloth cuts corners.
        let found = kinds(&bench, &scene(columns, mass, shape));
        let is_bad = |kind: &String| kind != "triangles_inside";
        assert!(!found.iter().any(is_bad), "{columns} {mass} {shape}: {found:?}");
        let summary = bench.json("out/scene/summary.json");
        let choices = summary["choices"].as_array().unwrap();
        let is_said = |it: &serde_json::Value| it.as_str().unwrap().contains("as body `load` has");
        assert!(choices.iter().any(is_said), "{choices:?}");
        let height = summary["bodies"][0]["center_m"][1].as_f64().unwrap();
        assert!(height > -0.2, "{columns} {mass} {shape}: {height}");
    }
    // The largest frequency that is a multiple of the 480 steps of bodies, whatever the mass.
    kinds(&bench, &scene(17, 5000.0, ball).replace("frames = 60", "frames = 10"));
    let summary = bench.json("out/scene/summary.json");
    assert_eq!(summary["cloths"][0]["solver"]["frequency_hz"], 9600.0, "{summary}");
    // A light ball changes nothing.
    kinds(&bench, &scene(17, 0.1, ball));
    let summary = bench.json("out/scene/summary.json");
    assert_eq!(summary["choices"], serde_json::json!([]));
}

#[test]
fn scenes_of_the_guide_have_no_warnings() {
    let bench = Bench::new("guide");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../poplin/guide");
    let mut scenes = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        // Pictures are no text.
        let Ok(page) = std::fs::read_to_string(entry.unwrap().path()) else { continue };
        let blocks = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
        scenes.extend(blocks.filter(|block| block.contains("[[cloth]]")).map(str::to_owned));
    }
    // The fine sheet of this one takes half a minute.
    scenes.retain(|scene| !scene.contains("rows = 60"));
    assert!(scenes.len() >= 8, "only {} scenes found", scenes.len());
    scenes.sort_unstable();
    for scene in part(scenes, 3) {
        assert_eq!(kinds(&bench, &scene), [""; 0], "{scene}");
    }
}
