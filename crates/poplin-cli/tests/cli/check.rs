//! `poplin check`: all errors and warnings with their lines, as text and as JSON.

use crate::bench::{Bench, SHEET};

/// Two cloths and a collider, each with an error outside the scene file.
const BEHIND: &str = "\
[[cloth]]
name = \"a\"
grid = { columns = 3, rows = 3, width = 1.0, height = 1.0 }
pins = [\"indices:77\", \"box:9,9,9,10,10,10\"]
[[cloth]]
name = \"b\"
mesh = \"broken.obj\"
[[collider]]
mesh = \"open.obj\"
";

/// Returns the lines of --json.
fn rows(stdout: &str) -> Vec<serde_json::Value> {
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_valid_scene_has_no_findings() {
    let bench = Bench::new("check-sound");
    bench.write("scene.toml", SHEET);
    let ended = bench.poplin(&["check", "scene.toml", "flag", "drape"]);
    assert_eq!(ended.succeeds().stdout, "3 files without errors\n");
    assert_eq!(bench.poplin(&["check", "scene.toml", "--json"]).succeeds().stdout, "");
}

#[test]
fn errors_are_shown_under_their_lines() {
    let bench = Bench::new("check-errors");
    bench.write("scene.toml", &format!("{SHEET}densty = 3\ndamping = [2, 0, 0]\n"));
    let ended = bench.poplin(&["check", "scene.toml"]);
    ended.says(2, &["error: 2 errors in 1 file"]);
    let expected = "error: unknown key `densty` in [[cloth]]; did you mean `density`?\n --> scene.toml:7:1\n  |\n\
        7 | densty = 3\n  | ^^^^^^\n";
    assert!(ended.stdout.contains(expected), "{}", ended.stdout);
    assert!(
        ended.stdout.contains("8 | damping = [2, 0, 0]\n  | ^^^^^^^^^^^^^^^^^^^"),
        "{}",
        ended.stdout
    );
}

#[test]
fn json_has_a_line_per_finding() {
    let bench = Bench::new("check-json");
    bench.write("scene.toml", &format!("{SHEET}densty = 3\nwind = {{ velocity = [1, 0, 0] }}\n"));
    let ended = bench.poplin(&["check", "scene.toml", "--json"]);
    assert_eq!(ended.code, Some(2));
    let rows = rows(&ended.stdout);
    assert_eq!(rows.len(), 1, "the cloth is not cooked: {}", ended.stdout);
    assert_eq!(rows[0]["path"], "scene.toml");
    let columns = ["line", "column", "end_column"].map(|key| rows[0][key].as_u64().unwrap());
    assert_eq!((columns, rows[0]["severity"].as_str()), ([7, 1, 7], Some("error")));
}

#[test]
fn warnings_point_at_their_key() {
    let bench = Bench::new("check-warnings");
    let wind = "wind = { velocity = [1, 0, 0] }\nmax_speed = 0\n";
    bench.write(
        "scene.toml",
        &format!(
            "{SHEET}{wind}[[collider]]\nsphere = {{ radius = 0.3, center = [0.5, -0.5, 0] }}\n"
        ),
    );
    let ended = bench.poplin(&["check", "scene.toml", "--json"]);
    let rows = rows(&ended.succeeds().stdout);
    let found: Vec<_> = rows
        .iter()
        .map(|row| (row["line"].as_u64().unwrap(), row["message"].as_str().unwrap()))
        .collect();
    assert!(rows.iter().all(|row| row["severity"] == "warning"));
    for (line, words) in
        [(3, "starts inside a collider"), (7, "wind has no effect on cloth"), (8, "max_speed")]
    {
        assert!(
            found.iter().any(|(at, text)| *at == line && text.contains(words)),
            "{line} {words}: {found:?}"
        );
    }
    let ended = bench.poplin(&["check", "scene.toml"]);
    assert!(ended.succeeds().stdout.ends_with("3 warnings in 1 file\n"), "{}", ended.stdout);
}

#[test]
fn files_named_by_the_scene_are_checked() {
    let bench = Bench::new("check-behind");
    bench.write("broken.obj", "v 0 0 x\n");
    bench.write("open.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
    bench.write("scene.toml", BEHIND);
    let ended = bench.poplin(&["check", "scene.toml", "--json"]);
    ended.says(2, &["4 errors in 1 file"]);
    let rows = rows(&ended.stdout);
    let found: Vec<_> = rows
        .iter()
        .map(|row| (row["line"].as_u64().unwrap(), row["message"].as_str().unwrap()))
        .collect();
    for (line, words) in
        [(4, "vertex 77"), (4, "selects none"), (7, "broken.obj:1"), (9, "is not closed")]
    {
        assert!(
            found.iter().any(|(at, text)| *at == line && text.contains(words)),
            "{line} {words}: {found:?}"
        );
    }
}

#[test]
fn valid_cloths_are_built_beside_faulty_ones() {
    let bench = Bench::new("check-beside");
    bench.write("scene.toml", &format!("{SHEET}density = -1\n[[cloth]]\ngrid = {{ columns = 3, rows = 3, width = 1, height = 1 }}\npins = \"indices:9\"\n"));
    let ended = bench.poplin(&["check", "scene.toml"]);
    ended.says(2, &["2 errors in 1 file"]);
    assert!(ended.stdout.contains("names vertex 9"), "{}", ended.stdout);
}

#[test]
fn sweeps_are_checked_with_their_scene_and_jobs() {
    let bench = Bench::new("check-sweep");
    bench.write("scene.toml", SHEET);
    let sweep =
        "scene = \"scene.toml\"\n[[vary]]\nkey = \"cloth[0].density\"\nvalues = [1, -1, 2, -2]\n";
    bench.write("sweep.toml", sweep);
    let ended = bench.poplin(&["check", "sweep.toml"]);
    ended.says(2, &["2 errors in 2 files"]);
    assert!(ended.stdout.contains("job 1: cloth[0].density = -1 is outside"), "{}", ended.stdout);
    bench.write("sweep.toml", &sweep.replace("density", "densty"));
    bench.poplin(&["check", "sweep.toml"]).says(2, &["1 error in 2 files"]);
    bench.write("sweep.toml", &sweep.replace("-1, 2, -2", "2"));
    assert_eq!(
        bench.poplin(&["check", "sweep.toml"]).succeeds().stdout,
        "2 files without errors\n"
    );
    bench.write("scene.toml", &format!("{SHEET}densty = 1\n"));
    bench.poplin(&["check", "sweep.toml"]).says(2, &["1 error in 2 files"]);
}

#[test]
fn files_other_than_scenes_are_errors() {
    let bench = Bench::new("check-no-file");
    std::fs::write(bench.path("bytes.toml"), b"title = '\xff'\n").unwrap();
    let ended = bench.poplin(&["check", "no.toml", "bytes.toml", "nosuch"]);
    ended.says(2, &["3 errors in 3 files"]);
    for words in ["no.toml", "this is not UTF-8 text", "no shipped scene `nosuch`"] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
}

#[test]
fn a_sweep_of_itself_ends_in_errors() {
    let bench = Bench::new("check-itself");
    bench.write("a.toml", "scene = \"b.toml\"\n[[vary]]\nkey = \"frames\"\nvalues = [1]\n");
    bench.write("b.toml", "scene = \"a.toml\"\n");
    for name in ["a.toml", "b.toml"] {
        let ended = bench.poplin(&["check", name]);
        assert_eq!(ended.code, Some(2), "{}{}", ended.stdout, ended.stderr);
        assert!(ended.stdout.contains("unknown key `scene`"), "{}", ended.stdout);
    }
}

#[test]
fn errors_of_cooking_are_found() {
    let bench = Bench::new("check-cooked");
    let phases = "[cloth.solver.pbd]\nphases.single = [[77, {}]]\n";
    bench.write("scene.toml", &format!("{SHEET}{phases}"));
    let ended = bench.poplin(&["check", "scene.toml"]);
    ended.says(2, &["1 error in 1 file"]);
    let run = bench.poplin(&["run", "scene.toml", "--backend", "cpu"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    for text in [&ended.stdout, &run.stderr] {
        assert!(text.contains("phases.single[0] is 77"), "{text}");
    }
}

#[test]
fn a_broken_cache_is_found_at_its_key() {
    let bench = Bench::new("check-cache");
    let tetrahedron = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
    bench.write("body.obj", tetrahedron);
    bench.write("body.pc2", "no cache");
    bench.write(
        "scene.toml",
        &format!("{SHEET}[[collider]]\nmesh = \"body.obj\"\ncache = \"body.pc2\"\n"),
    );
    let ended = bench.poplin(&["check", "scene.toml"]);
    ended.says(2, &["1 error in 1 file"]);
    let run = bench.poplin(&["run", "scene.toml", "--backend", "cpu"]);
    for text in [&ended.stdout, &run.stderr] {
        assert!(text.contains("collider[0].cache: "), "{text}");
    }
}

#[test]
fn counts_unchecked_and_faulty_jobs() {
    let bench = Bench::new("check-many");
    bench.write("scene.toml", SHEET);
    let sweep = "scene = \"scene.toml\"\n[[vary]]\nkey = \"cloth[0].density\"\nlinear = { from = 1, to = LAST, count = 1200 }\n";
    bench.write("sweep.toml", &sweep.replace("LAST", "2"));
    let ended = bench.poplin(&["check", "sweep.toml"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stdout);
    assert!(ended.stdout.contains("only the first 1000 of 1,200 jobs"), "{}", ended.stdout);
    bench.write("sweep.toml", &sweep.replace("LAST", "-1"));
    let ended = bench.poplin(&["check", "sweep.toml"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stdout.contains("more jobs have errors"), "{}", ended.stdout);
}
