//! Results that should not be trusted say so: on stderr, in `summary.json`, and with `--strict` by the exit code.

use crate::bench::{Bench, SHEET};

fn run(bench: &Bench, scene: &str, options: &[&str]) -> crate::bench::Ended {
    bench.write("scene.toml", scene);
    bench.poplin(&[&["run", "scene.toml", "--backend", "cpu"], options].concat())
}

/// The only warning of the last run.
fn warning(bench: &Bench) -> serde_json::Value {
    let summary = bench.json("out/scene/summary.json");
    let warnings = summary["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    warnings[0].clone()
}

#[test]
fn a_cloth_that_starts_inside_a_collider_is_named_with_count_and_depth() {
    let bench = Bench::new("inside");
    let ball = "[[collider]]\nsphere = { radius = 0.2, center = [0.5, -0.5, 0] }\n";
    let scene = format!("{SHEET}gravity = [0, 0, 0]\n{ball}");
    let ended = run(&bench, &scene, &[]);
    assert!(ended.succeeds().stderr.contains("warning: cloth `sheet` starts inside a collider: "));
    let warning = warning(&bench);
    assert_eq!((&warning["kind"], &warning["cloth"]), (&"starts_inside".into(), &"sheet".into()));
    assert_eq!(warning["free_particles"], 19);
    // Columns 0.25 m, rows 0.33 m apart: the two in the middle of the middle column, both 0.03 m deep.
    let expected = 0.2 - 1.0 / 6.0;
    assert_eq!(warning["particles_inside"], 2);
    assert!((warning["deepest_m"].as_f64().unwrap() - expected).abs() < 1e-6, "{warning}");
    assert!(ended.stderr.contains(warning["message"].as_str().unwrap()), "{}", ended.stderr);
    run(&bench, &scene, &["--strict"]).says(1, &["2 of 19 free particles, up to 33.3 mm deep"]);
}

#[test]
fn edges_longer_than_those_of_any_cloth_are_reported_with_place_and_time() {
    let bench = Bench::new("stretched");
    // One corner is pulled away for a tenth of a second and comes back.
    let keys = [(0.0, 0), (0.05, 3), (0.1, 0)]
        .map(|(time, x)| format!("{{ time = {time}, translation = [{x}, 0, 0] }}"))
        .join(", ");
    let keys = format!("keys = [{keys}]\n");
    let pulled = "[[cloth.animated_pins]]\npins = \"indices:4\"\n";
    let scene = format!("{SHEET}{pulled}{keys}").replace("frames = 10", "frames = 30");
    run(&bench, &scene, &[]).succeeds();
    let warning = warning(&bench);
    assert_eq!(warning["kind"], "overstretched");
    let at = |key: &str| warning[key].as_u64().unwrap();
    // Pulled from frame 1 to 6; the sheet swings on for a while, and hangs at rest at the end.
    assert!((1..=6).contains(&at("first_frame")) && at("frame") >= at("first_frame"), "{warning}");
    assert!(at("frame") < 15 && at("most_edges") > 0 && at("edges_at_end") == 0, "{warning}");
    assert!(warning["longest_strain"].as_f64().unwrap() > 0.5, "{warning}");
    run(&bench, &scene, &["--strict"])
        .says(1, &["warning: cloth `sheet` is stretched as no cloth is"]);
}

#[test]
fn a_sound_run_has_no_warning() {
    let bench = Bench::new("sound");
    let ended = run(&bench, SHEET, &["--strict"]);
    assert!(!ended.succeeds().stderr.contains("warning"), "{}", ended.stderr);
    assert_eq!(bench.json("out/scene/summary.json")["warnings"], serde_json::json!([]));
}
