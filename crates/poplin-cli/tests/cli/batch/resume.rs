//! Sweeps that are stopped, killed or changed, and resumed: the result has the same bytes.

use std::process::Stdio;
use std::time::Duration;

use poplin_testkit::skip::is_nightly;

use super::{SCENE, SWEEP, assert_same, batch, bench, ok};

#[test]
fn a_folder_belongs_to_one_sweep_and_resumes_on_request() {
    let bench = bench("batch-resume", SWEEP);
    ok(&batch(&bench, "out", &["--shard", "1/3"]));
    let ended = batch(&bench, "out", &["--shard", "1/3"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("has results of 4 jobs") && ended.stderr.contains("--resume"));
    ok(&batch(&bench, "out", &["--resume"]));
    ok(&batch(&bench, "whole", &[]));
    assert_same(&bench, "out", "whole");
    for (name, text) in [
        ("sweep.toml", SWEEP.replace("seed = 7", "seed = 8")),
        ("scene.toml", SCENE.replace("9,", "10,")),
    ] {
        let before = std::fs::read_to_string(bench.path(name)).unwrap();
        bench.write(name, &text);
        let ended = batch(&bench, "out", &["--resume"]);
        assert_eq!(ended.code, Some(2));
        assert!(ended.stderr.contains("belongs to another sweep"), "{}", ended.stderr);
        bench.write(name, &before);
    }
}

#[test]
fn a_changed_mesh_makes_another_sweep() {
    let square = "v 0 0 0\nv 1 0 0\nv 1 0 1\nv 0 0 1\nf 1 4 3 2\n";
    let folded = square.replace("v 1 0 1", "v 1 0.5 1");
    let of_scene = "scene = \"scene.toml\"\nframes = 2\n";
    // Named by the scene, for a cloth and for a collider; by values of the sweep; by a glob.
    let varied = |values: &str| format!("{of_scene}[[vary]]\nkey = \"cloth[0].mesh\"\n{values}\n");
    let cloth = "[[cloth]]\nmesh = \"a.obj\"\n";
    let collider = "[[cloth]]\ngrid = { columns = 2, rows = 2, width = 1.0, height = 1.0 }\n\
        [[collider]]\nmesh = \"a.obj\"\n";
    for (number, (scene, sweep)) in [
        (cloth, of_scene.to_owned()),
        (collider, of_scene.to_owned()),
        (cloth, varied("values = [\"b.obj\"]")),
        (cloth, varied("glob = \"b*.obj\"")),
    ]
    .into_iter()
    .enumerate()
    {
        let bench = bench(&format!("batch-mesh-{number}"), &sweep);
        bench.write("scene.toml", scene);
        ["a.obj", "b.obj"].iter().for_each(|name| bench.write(name, square));
        // An open collider is read too, and fails the job.
        let first = batch(&bench, "out", &[]);
        assert!(matches!(first.code, Some(0 | 1)), "{}{}", first.stdout, first.stderr);
        let again = batch(&bench, "out", &["--resume"]);
        assert_eq!(again.code, first.code, "{}", again.stderr);
        bench.write(if number < 2 { "a.obj" } else { "b.obj" }, &folded);
        let ended = batch(&bench, "out", &["--resume"]);
        assert_eq!(ended.code, Some(2), "{number}");
        assert!(ended.stderr.contains("belongs to another sweep"), "{number}: {}", ended.stderr);
    }
}

#[test]
fn the_buffer_of_a_gltf_file_is_part_of_the_fingerprint() {
    let gltf = r#"{ "asset": { "version": "2.0" }, "buffers": [{ "uri": "a%20b.bin", "byteLength": 36 }],
        "bufferViews": [{ "buffer": 0, "byteLength": 36 }],
        "accessors": [{ "bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 1] }],
        "meshes": [{ "primitives": [{ "attributes": { "POSITION": 0 } }] }], "nodes": [{ "mesh": 0 }] }"#;
    let bench = bench("batch-gltf", "scene = \"scene.toml\"\nframes = 2\n");
    bench.write("scene.toml", "[[cloth]]\nmesh = \"a.gltf\"\n");
    bench.write("a.gltf", gltf);
    let corners = |x: f32| {
        let corners = [[0.0, 0.0, 0.0], [x, 0.0, 0.0], [0.0, 1.0, 0.0f32]];
        corners.as_flattened().iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>()
    };
    std::fs::write(bench.path("a b.bin"), corners(1.0)).unwrap();
    ok(&batch(&bench, "out", &[]));
    ok(&batch(&bench, "out", &["--resume"]));
    std::fs::write(bench.path("a b.bin"), corners(0.5)).unwrap();
    let ended = batch(&bench, "out", &["--resume"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("belongs to another sweep"), "{}", ended.stderr);
    // A binary glTF file may have an external buffer too.
    let mut text = gltf.as_bytes().to_vec();
    text.resize(text.len().next_multiple_of(4), b' ');
    let words = [2, 20 + text.len() as u32, text.len() as u32];
    let [version, length, chunk] = words.map(u32::to_le_bytes);
    let glb = [b"glTF", &version[..], &length, &chunk, b"JSON", &text].concat();
    std::fs::write(bench.path("a.glb"), glb).unwrap();
    bench.write("scene.toml", "[[cloth]]\nmesh = \"a.glb\"\n");
    ok(&batch(&bench, "binary", &[]));
    std::fs::write(bench.path("a b.bin"), corners(1.0)).unwrap();
    let ended = batch(&bench, "binary", &["--resume"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("belongs to another sweep"), "{}", ended.stderr);
}

#[test]
fn a_folder_resumes_only_on_its_backend() {
    let bench = bench("batch-backend", SWEEP);
    ok(&batch(&bench, "out", &["--jobs", "0..1"]));
    let mark = std::fs::read_to_string(bench.path("out/sweep.json")).unwrap();
    assert!(mark.contains("\"backend\": \"cpu\""), "{mark}");
    bench.write("out/sweep.json", &mark.replace("\"cpu\"", "\"gpu\""));
    let ended = batch(&bench, "out", &["--jobs", "1..2"]);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("was started on the gpu backend, this is the cpu, which may round differently: continue with --backend gpu"),
        "{}",
        ended.stderr
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_the_batch_resumes() {
    let bench = bench("batch-full", SWEEP);
    ok(&batch(&bench, "whole", &[]));
    // Simulates a full disk by a limit of the file size, which arrays and manifest reach.
    let limited = |blocks: u32| {
        let line = format!("ulimit -f {blocks}; trap '' XFSZ; exec \"$@\"");
        let words = ["batch", "sweep.toml", "--backend", "cpu", "--out", "out", "--resume"];
        let ended = std::process::Command::new("bash")
            .args(["-c", &line, "bash", env!("CARGO_BIN_EXE_poplin")])
            .args(words)
            .current_dir(bench.path(""))
            .output()
            .unwrap();
        (ended.status.code(), String::from_utf8_lossy(&ended.stderr).into_owned())
    };
    // First the arrays do not fit, then the rows.
    for blocks in [1, 4] {
        let (code, message) = limited(blocks);
        assert_eq!(code, Some(1), "{message}");
        assert!(message.contains("too large"), "{message}");
    }
    ok(&batch(&bench, "out", &["--resume"]));
    assert_same(&bench, "whole", "out");
}

#[test]
fn a_batch_resumes_after_a_crash_at_any_step() {
    let bench = bench("batch-crash", SWEEP);
    ok(&batch(&bench, "whole", &[]));
    let manifest = std::fs::read_to_string(bench.path("whole/manifest-all.jsonl")).unwrap();
    let rows: Vec<_> = manifest.split_inclusive('\n').collect();
    // An unpublished folder, a folder without a row, and a truncated row.
    for torn in [0, 1, 20, rows[4].len() - 1] {
        let out = format!("out-{torn}");
        ok(&batch(&bench, &out, &[]));
        let path = |name: &str| bench.path(&format!("{out}/{name}"));
        std::fs::create_dir(path(".job-0000007.all.tmp")).unwrap();
        std::fs::write(path(".job-0000007.all.tmp/sheet-positions.npy"), "half").unwrap();
        std::fs::remove_dir_all(path("job-0000007")).unwrap();
        std::fs::write(path("job-0000006/sheet-positions.npy"), "of another time").unwrap();
        let text = rows[..4].concat() + &rows[4][..torn];
        std::fs::write(path("manifest-all.jsonl"), text).unwrap();
        ok(&batch(&bench, &out, &["--resume"]));
        assert_same(&bench, "whole", &out);
    }
}

#[test]
fn a_batch_killed_repeatedly_has_the_same_result() {
    // Cloths that collide with each other: each job is its own group, so that kills interrupt the
    // batch.
    let scene =
        SCENE.replace("damping", "thickness = 0.05\ncount = 2\nspacing = [0, 0.2, 0]\ndamping");
    let bench = bench("batch-killed", &SWEEP.replace("count = 2", "count = 4"));
    bench.write("scene.toml", &scene);
    ok(&batch(&bench, "whole", &[]));
    let args = ["batch", "sweep.toml", "--backend", "cpu", "--out", "out", "--resume"];
    let mut kills = 0;
    let most = if is_nightly() { 200 } else { 8 };
    for attempt in 0..most {
        let mut child =
            bench.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Pseudo-random delays (Knuth's multiplicative hash).
        std::thread::sleep(Duration::from_millis(30 + attempt * 2_654_435_761 % 170));
        match child.try_wait().unwrap() {
            Some(status) => {
                assert!(status.success());
                break;
            }
            None => {
                child.kill().unwrap();
                child.wait().unwrap();
                kills += 1;
            }
        }
    }
    assert!(kills > 1, "it was over before it could be killed");
    ok(&batch(&bench, "out", &["--resume"]));
    assert_same(&bench, "whole", "out");
}
