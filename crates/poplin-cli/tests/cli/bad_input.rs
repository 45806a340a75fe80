//! Bad input ends with exit code 2 and a message that names the location and the limit.

use poplin_testkit::skip::is_gpu_off;

use crate::bench::{Bench, SHEET, SQUARE};

/// Asserts that the text of an OBJ file is rejected.
fn rejects_mesh(name: &str, text: &str, words: &[&str]) {
    let bench = Bench::new(name);
    bench.write("mesh.obj", text);
    bench
        .poplin(&["run", "--mesh", "mesh.obj", "--pin", "none", "--backend", "cpu"])
        .says(2, words);
    bench.poplin(&["cook", "mesh.obj"]).says(2, words);
    assert!(!bench.path("out").exists(), "nothing is written for rejected input");
}

/// Asserts that the text of a scene file is rejected.
fn rejects_scene(name: &str, text: &str, words: &[&str]) {
    let bench = Bench::new(name);
    bench.write("scene.toml", text);
    bench.poplin(&["run", "scene.toml", "--backend", "cpu"]).says(2, words);
    assert!(!bench.path("out").exists(), "nothing is written for rejected input");
}

#[test]
fn empty_mesh() {
    rejects_mesh("empty", "", &["mesh.obj", "no v"]);
    rejects_mesh("no-faces", "v 0 0 0\n", &["mesh.obj", "no faces"]);
}

#[test]
fn nan_vertex() {
    rejects_mesh(
        "nan",
        &SQUARE.replacen("v 1 0 0", "v 1 nan 0", 1),
        &["mesh.obj:2", "NaN", "finite"],
    );
}

#[test]
fn index_out_of_range() {
    rejects_mesh(
        "index",
        &SQUARE.replacen("f 1 3 4", "f 1 3 9", 1),
        &["mesh.obj:6", "vertex 9", "only 4"],
    );
}

#[test]
fn mesh_of_degenerate_faces() {
    rejects_mesh(
        "degenerate",
        "v 0 0 0\nv 0 0 0\nv 0 0 0\nf 1 2 3\n",
        &["mesh.obj", "no face is left", "degenerate"],
    );
}

#[test]
fn binary_mesh() {
    rejects_mesh("binary", "v 0 0 0\nv 1 0 \u{0}\u{1}\nf 1 1 1\n", &["mesh.obj:2"]);
}

#[test]
fn no_particles() {
    rejects_scene(
        "zero",
        &SHEET.replace("columns = 5", "columns = 0"),
        &["scene.toml:5", "cloth[0].grid.columns", "0 is outside 2"],
    );
}

#[test]
fn too_many_particles() {
    let text = SHEET.replace("columns = 5, rows = 4", "columns = 1000000, rows = 1000");
    rejects_scene(
        "many",
        &text,
        &["scene.toml:5", "1000000000 particles", "the limit is 16777216"],
    );
}

#[test]
fn negative_density() {
    rejects_scene(
        "density",
        &format!("{SHEET}density = -1\n"),
        &["scene.toml:7", "cloth[0].density = -1", "outside", "kg/m^2"],
    );
}

#[test]
fn a_sweep_in_place_of_a_scene_and_the_reverse() {
    let bench = Bench::new("other-file");
    bench.write("scene.toml", SHEET);
    let sweep = "scene = \"scene.toml\"\n[[vary]]\nkey = \"cloth[0].density\"\nvalues = [1]\n";
    bench.write("sweep.toml", sweep);
    let said = ["sweep.toml:1", "this is a sweep, not a scene: run it with `poplin batch`"];
    bench.poplin(&["run", "sweep.toml"]).says(2, &said);
    let said = ["scene.toml:3", "this is a scene, not a sweep: run it with `poplin run`"];
    bench.poplin(&["batch", "scene.toml"]).says(2, &said);
}

#[test]
fn a_word_in_place_of_a_table_and_two_solvers() {
    rejects_scene(
        "word",
        &format!("wind = \"strong\"\n{SHEET}"),
        &["scene.toml:1:8", "expected a table of keys: `{ key = value }`"],
    );
    rejects_scene(
        "solvers",
        &format!("{SHEET}solver = {{ pbd = {{}}, xpbd = {{}} }}\n"),
        &["scene.toml:7", "expected one key in this table, found more"],
    );
}

#[test]
fn unknown_key() {
    rejects_scene(
        "key",
        &format!("{SHEET}densty = 1\n"),
        &["scene.toml:7", "unknown key `densty`", "did you mean `density`"],
    );
}

#[test]
fn not_toml() {
    rejects_scene("syntax", "frames = = 1\n", &["scene.toml:1"]);
}

#[test]
fn bad_pin_rules_of_a_scene() {
    rejects_scene(
        "pin",
        &SHEET.replace("corner:top-left", "topp:0%"),
        &["scene.toml:6", "cannot read the pin rule `topp:0%`", "accepted are"],
    );
    rejects_scene(
        "nothing",
        &SHEET.replace("corner:top-left", "box:5,5,5,6,6,6"),
        &["scene.toml:6", "selects none of the 20 vertices"],
    );
}

#[test]
fn missing_mesh_of_a_scene() {
    rejects_scene(
        "missing-mesh",
        "[[cloth]]\nmesh = \"shirt.obj\"\n",
        &["scene.toml:2", "cloth[0].mesh", "no file", "shirt.obj"],
    );
}

#[test]
fn too_many_iterations_per_frame() {
    let text = format!("frame_rate = 0.1\n{SHEET}solver.pbd.frequency = 9999\n");
    rejects_scene_late("iterations", &text, &["iterations of a frame", "limit 20000"]);
}

/// Asserts that a scene is rejected by the simulation of its first frame.
fn rejects_scene_late(name: &str, text: &str, words: &[&str]) {
    let bench = Bench::new(name);
    bench.write("scene.toml", text);
    bench.poplin(&["run", "scene.toml", "--backend", "cpu"]).says(2, words);
}

#[test]
fn bad_options() {
    let bench = Bench::new("options");
    bench.write("mesh.obj", SQUARE);
    bench.write("scene.toml", SHEET);
    let mesh = ["run", "--mesh", "mesh.obj"];
    for (args, words) in [
        (vec!["run"], vec!["poplin run flag", "--pin top:3%", "flag, curtain, cape"]),
        (vec!["run", "flga"], vec!["no scene file `flga`", "flag, curtain, cape"]),
        (vec!["run", "nothing.toml"], vec!["cannot open nothing.toml"]),
        (vec!["run", "."], vec!["."]),
        (vec!["run", "mesh.obj"], vec!["is a mesh", "--mesh mesh.obj --pin"]),
        (vec!["run", "flag", "--mesh", "mesh.obj"], vec!["cannot be used with"]),
        (vec!["run", "scene.toml", "--pin", "all"], vec!["--pin needs a mesh", "scene.toml"]),
        (vec!["run", "scene.toml", "--frames", "0"], vec!["--frames", "1..=1000000"]),
        (vec!["run", "scene.toml", "--frames", "-3"], vec!["--frames", "-3"]),
        (
            vec!["run", "scene.toml", "--frames", "abc"],
            vec!["'abc' for '--frames <N>': not a whole number in 1..=1000000"],
        ),
        (
            vec!["run", "scene.toml", "--picture-size", "4e2"],
            vec!["--picture-size", "not a whole number in 32..=2048"],
        ),
        (
            vec!["run", "scene.toml", "--frame-rate", "nan"],
            vec!["--frame-rate", "NaN is outside 0.1..=10000 1/s"],
        ),
        (
            vec!["run", "scene.toml", "--density", "-1"],
            vec!["--density", "-1 is outside", "kg/m^2"],
        ),
        (
            vec!["run", "scene.toml", "--max-fiber-length", "0"],
            vec!["--max-fiber-length", "1..=16777216"],
        ),
        (
            vec!["run", "scene.toml", "--tethers", "geodesik"],
            vec!["--tethers", "[possible values: geodesic, euclidean, none]", "'geodesic'"],
        ),
        (
            vec!["run", "scene.toml", "--fiber-solver", "gauss"],
            vec!["mixed, gauss-seidel, semi-implicit, cyclic-reduction", "'gauss-seidel'"],
        ),
        (vec!["run", "scene.toml", "--backend", "tpu"], vec!["--backend", "auto, gpu, cpu"]),
        (vec!["run", "scene.toml", "--backend", "cpu", "--adapter", "x"], vec!["--adapter"]),
        (vec!["run", "scene.toml", "--scale", "2"], vec!["--mesh"]),
        (vec![mesh[0], mesh[1], mesh[2]], vec!["mesh.obj has no pins", "--pin none"]),
        (vec![mesh[0], mesh[1], "no.obj", "--pin", "all"], vec!["cannot open no.obj"]),
        (
            vec![mesh[0], mesh[1], mesh[2], "--pin", "topp:3%"],
            vec!["--pin", "cannot read the pin rule `topp:3%`", "accepted are"],
        ),
        (
            vec![mesh[0], mesh[1], mesh[2], "--pin", "box:5,5,5,6,6,6"],
            vec!["--pin", "mesh.obj", "selects none of the 4 vertices"],
        ),
        (
            vec![mesh[0], mesh[1], mesh[2], "--pin", "indices:4"],
            vec!["names vertex 4", "only 4 (0 to 3)"],
        ),
        (
            vec![mesh[0], mesh[1], mesh[2], "--pin", "all", "--direction", "uv"],
            vec!["mesh.obj", "no uvs"],
        ),
        (vec!["cook", "nothing.obj"], vec!["cannot open nothing.obj"]),
        (vec!["conform"], vec!["CASE.json"]),
        (vec!["conform", "nothing.json"], vec!["file nothing.json does not exist"]),
        (vec!["flag"], vec!["unrecognized subcommand"]),
    ] {
        bench.poplin(&args).says(2, &words);
    }
    assert!(!bench.path("out").exists(), "nothing is written for rejected input");
}

#[cfg(target_os = "linux")]
#[test]
fn an_unknown_adapter_name_lists_the_adapters() {
    if is_gpu_off() {
        return;
    }
    let bench = Bench::new("adapter");
    let info = bench.poplin(&["info"]).stdout;
    let name = info.lines().find_map(|line| line.strip_prefix("adapter 0: ")).unwrap();
    let said = ["no GPU adapter has `no such adapter` in its name (--adapter); available: ", name];
    for command in [&["run", "flag"][..], &["bench", "--workload", "w1"]] {
        let ended = bench.poplin(&[command, &["--adapter", "no such adapter"]].concat());
        ended.says(2, &said);
        assert!(!ended.stderr.contains("install"), "{}", ended.stderr);
    }
}

#[test]
fn two_cloths_with_one_name() {
    let again = SHEET.replace("frames = 10\n", "");
    rejects_scene(
        "twins",
        &format!("{SHEET}{again}"),
        &["scene.toml:9", "cloth[1].name: `sheet` is the name of cloth[0], too"],
    );
}

#[test]
fn an_empty_convex() {
    let planes = "[{ normal = [1, 0, 0], offset = -1 }, { normal = [-1, 0, 0], offset = -1 }]";
    rejects_scene(
        "empty-convex",
        &format!("{SHEET}[[collider]]\nconvex.planes = {planes}\n"),
        &[
            "scene.toml:8",
            "collider[0].convex.planes is empty: no point is behind all of its 2 planes",
        ],
    );
}

#[test]
fn a_scene_for_a_mesh_and_a_file_that_is_neither() {
    let bench = Bench::new("neither");
    bench.write("scene.toml", SHEET);
    bench.write("notes.txt", "hello\n");
    let words = ["scene.toml is a scene, not a mesh", "poplin run scene.toml"];
    bench.poplin(&["run", "--mesh", "scene.toml"]).says(2, &words);
    bench.poplin(&["run", "--mesh", "scene.toml", "--pin", "top:3%"]).says(2, &words);
    bench.poplin(&["run", "--mesh", "flag"]).says(2, &["flag is a scene, not a mesh"]);
    for command in ["run", "cook"] {
        let words = ["notes.txt:1:6", "read as a scene", ".obj"];
        bench.poplin(&[command, "notes.txt"]).says(2, &words);
    }
}
