//! `poplin conform` judges cases and counts them.

use poplin_testkit::skip::is_gpu_off;

use crate::bench::Bench;

/// Case of a free particle that falls for a frame of 0.1 s in one iteration: y = -g h^2.
fn falling_case(name: &str, expected_y: f32, event: &str) -> String {
    format!(
        r#"{{ "format": "poplin-case/1", "name": "{name}", "compare": "trajectory",
  "cloths": [ {{ "particles": [0, 0, 0, 1], "previous_particles": null,
    "fabric": {{ "particle_count": 1, "phases": [], "set_ends": [], "edges": [], "rest_lengths": [],
      "edge_log2_one_minus_stiffness": [], "tether_anchors": [], "tether_lengths": [], "triangles": [] }} }} ],
  "setup": [ {{ "cloth": 0, "set": "gravity", "value": [0, -10, 0] }}, {{ "cloth": 0, "set": "solver_frequency", "value": 10 }}{event} ],
  "frames": [ {{ "dt": 0.1, "events": [] }} ],
  "expected": [ {{ "frame": 1, "tolerance_m": 1e-4, "particles": [[0, {expected_y}, 0, 1]] }} ] }}"#
    )
}

fn bench(name: &str) -> Bench {
    let bench = Bench::new(name);
    bench.write("right.json", &falling_case("right", -0.1, ""));
    bench.write("wrong.json", &falling_case("wrong", -0.2, ""));
    bench.write(
        "later.json",
        &falling_case("later", -0.1, r#", { "cloth": 0, "set": "hats", "value": 1 }"#),
    );
    bench
}

#[test]
fn a_passing_case_is_one_line_and_a_count() {
    let bench = bench("pass");
    let ended = bench.poplin(&["conform", "right.json", "--backend", "cpu"]);
    let lines: Vec<_> = ended.succeeds().stdout.lines().collect();
    assert!(
        lines[0].starts_with("right  cpu  pass  worst ")
            && lines[0].ends_with(" of 1.0e-4 m at frame 1 (1 snapshots)"),
        "{lines:?}"
    );
    assert_eq!(lines[1..], ["1 passed, 0 failed"]);
    let verbose = bench.poplin(&["conform", "right.json", "--backend", "cpu", "-v"]);
    assert!(verbose.succeeds().stdout.contains("    frame 1 "), "{}", verbose.stdout);
}

#[test]
fn the_cases_inside_the_program_pass() {
    let bench = Bench::new("builtin");
    let ended = bench.poplin(&["conform", "--builtin", "--backend", "cpu"]);
    let lines: Vec<_> = ended.succeeds().stdout.lines().collect();
    assert!(lines.iter().any(|line| line.contains("stages of frame")), "{lines:?}");
    assert!(lines.last().unwrap().ends_with(" passed, 0 failed"), "{lines:?}");
}

#[test]
fn a_failing_case_fails_the_command() {
    let bench = bench("fail");
    let ended =
        bench.poplin(&["conform", "right.json", "wrong.json", "later.json", "--backend", "cpu"]);
    ended.says(1, &[]);
    assert!(
        ended.stdout.contains("wrong  cpu  FAIL  worst 1.0e-1 of 1.0e-4 m"),
        "{}",
        ended.stdout
    );
    assert!(ended.stdout.contains("later  cpu  unsupported  hats"), "{}", ended.stdout);
    assert_eq!(ended.stdout.lines().last(), Some("1 passed, 1 failed, 1 skipped"));
}

#[test]
fn a_different_sleep_state_is_reported() {
    let bench = bench("sleeps");
    let event = r#", { "cloth": 0, "set": "sleep_after_count", "value": 2 }"#;
    let case = falling_case("dozing", -0.1, event)
        .replace("\"tolerance_m\"", "\"sleep_pass_count\": [1], \"tolerance_m\"");
    bench.write("dozing.json", &case);
    let ended = bench.poplin(&["conform", "dozing.json", "--backend", "cpu", "-v"]);
    ended.says(1, &[]);
    let line =
        "dozing  cpu  FAIL  sleep state differs from the measured one at frame 1 (1 snapshots)";
    assert!(ended.stdout.contains(line) && !ended.stdout.contains("inf"), "{}", ended.stdout);
}

#[test]
fn a_run_without_cases_fails() {
    let bench = bench("nothing");
    let ended = bench.poplin(&["conform", "later.json", "--backend", "cpu"]);
    ended.says(1, &["no case ran"]);
    assert_eq!(ended.stdout.lines().last(), Some("0 passed, 0 failed, 1 skipped"));
}

#[test]
fn an_invalid_case_is_bad_input_and_the_others_run() {
    let bench = bench("broken");
    bench.write("broken.json", "{ \"format\": ");
    let ended = bench.poplin(&["conform", "broken.json", "right.json", "--backend", "cpu"]);
    ended.says(2, &["error: broken.json: not JSON"]);
    assert!(ended.stdout.contains("broken  cpu  FAIL  broken.json: not JSON"), "{}", ended.stdout);
    assert_eq!(ended.stdout.lines().last(), Some("1 passed, 1 failed"));
    // Reported once for any number of backends.
    bench.write("scene.json", "{ \"format\": \"other\" }");
    let mut command = bench.command(&["conform", "broken.json", "scene.json"]);
    let ended = crate::bench::Ended::of(command.env("POPLIN_GPU", "off").output().unwrap());
    ended.says(2, &["broken.json: not JSON", "; scene.json: "]);
    assert_eq!(ended.stderr.matches("broken.json").count(), 1, "{}", ended.stderr);
}

#[test]
fn stages_of_another_case_fail() {
    let bench = bench("stages");
    bench.write(
        "stages.json",
        r#"{ "format": "poplin-stages/1", "case": "other", "frame_index": 0, "stages": [] }"#,
    );
    let ended =
        bench.poplin(&["conform", "right.json", "--backend", "cpu", "--stages", "stages.json"]);
    ended.says(1, &[]);
    assert!(ended.stdout.contains("stages.json  FAIL  the case `other`"), "{}", ended.stdout);
}

#[test]
fn the_gpu_line_names_the_adapter_and_its_canaries() {
    let bench = bench("gpu-case");
    if is_gpu_off() {
        return;
    }
    let ended = bench.poplin(&["conform", "right.json"]);
    let lines: Vec<_> = ended.succeeds().stdout.lines().collect();
    assert!(lines[0].starts_with("gpu: ") && lines[0].contains("barrier scan ok"), "{lines:?}");
    assert_eq!((lines.len(), lines[3]), (4, "2 passed, 0 failed"));
}

#[test]
fn a_gpu_that_is_switched_off_counts_as_skipped() {
    let bench = bench("off");
    let output =
        bench.command(&["conform", "right.json"]).env("POPLIN_GPU", "off").output().unwrap();
    let ended = crate::bench::Ended::of(output);
    assert!(
        ended.succeeds().stdout.ends_with("1 passed, 0 failed, 1 skipped\n"),
        "{}",
        ended.stdout
    );
}
