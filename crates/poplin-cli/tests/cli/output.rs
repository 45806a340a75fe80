//! Unwritable output ends with exit code 1 and the name of the file.

use crate::bench::{Bench, SHEET};

fn bench(name: &str) -> Bench {
    let bench = Bench::new(name);
    bench.write("scene.toml", SHEET);
    bench
}

#[test]
fn folder_below_a_file() {
    let bench = bench("below");
    bench.write("file", "");
    bench
        .poplin(&["run", "scene.toml", "--out", "file/out"])
        .says(1, &["cannot create the output folder", "file/out"]);
    bench
        .poplin(&["run", "scene.toml", "--out", "file"])
        .says(1, &["cannot create the output folder file"]);
}

#[test]
fn a_run_stops_at_rest_on_request() {
    let bench = Bench::new("rest");
    let scene = |keys: &str| {
        format!(
            "frames = 400\n[[cloth]]\nname = \"sheet\"\ndamping = [0.5, 0.5, 0.5]\n\
             grid = {{ columns = 5, rows = 5, width = 0.2, height = 0.2, plane = \"xz\" }}\n\
             transform = {{ translation = [0, 0.05, 0] }}\n[cloth.contact]\nfriction = 0.5\n\
             [[collider]]\nplane = {{ normal = [0, 1, 0] }}\n{keys}\n"
        )
    };
    let frames = |keys: &str, more: &[&str]| {
        bench.write("scene.toml", &scene(keys));
        let args = ["run", "scene.toml", "--backend", "cpu", "--picture", "none", "--out", "out"];
        let ended = bench.poplin(&[&args[..], more].concat());
        ended.succeeds();
        let cache = poplin_io::PointCache::read(bench.path("out/sheet.pc2")).unwrap();
        let frames = bench.json("out/summary.json")["frames"].as_u64().unwrap();
        assert_eq!(cache.frame_count() as u64, frames + 1, "{}", ended.stdout);
        let says = ended.stdout.contains(&format!("ended after frame {frames} of 400"));
        assert_eq!(says, frames < 400, "{}", ended.stdout);
        frames
    };
    assert_eq!(frames("", &[]), 400);
    // It falls for 0.1 s, and half a second at rest follows.
    let rests = frames("", &["--stop-at-rest"]);
    assert!((36..120).contains(&rests), "{rests}");
    // Nothing moves as slowly as that in f32.
    let later = frames("", &["--stop-at-rest=0.000001"]);
    assert!(later >= rests, "{later}");
    // A key that is still to come is waited for.
    let keys = "keys = [{ time = 3 }, { time = 3.5, translation = [0, 0.1, 0] }]";
    assert!(frames(keys, &["--stop-at-rest"]) > 210);
    // So are the vertices of a mesh that move late.
    bench.write(
        "far.obj",
        "v 9 0 0\nv 10 0 0\nv 9 1 0\nv 9 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n",
    );
    let corners =
        |shift: f32| [[9.0, 0.0, 0.0], [10.0, 0.0, 0.0], [9.0, 1.0, 0.0], [9.0, shift, 1.0]];
    let mut cache =
        poplin_io::PointCacheWriter::create(bench.path("far.pc2"), 4, 0.0, 1.0).unwrap();
    for shift in [0.0, 0.0, 0.0, 0.1] {
        cache.push(&corners(shift)).unwrap();
    }
    cache.finish().unwrap();
    let late = "[[collider]]\nmesh = \"far.obj\"\ncache = \"far.pc2\"\ncache_rate = 1";
    assert!(frames(late, &["--stop-at-rest"]) >= 180);
    let refused = bench.poplin(&["run", "scene.toml", "--stop-at-rest=0"]);
    refused.says(2, &["0.000001..=1000 m/s"]);
    for words in
        [["scene.toml", "--stop-at-rest", "0.05"], ["--stop-at-rest", "0.05", "scene.toml"]]
    {
        let apart = bench.poplin(&[["run"].as_slice(), &words].concat());
        assert!(apart.stderr.contains("write '--stop-at-rest=0.05'"), "{}", apart.stderr);
    }
    // What follows the option without a value is the scene.
    let before = bench.poplin(&["run", "--stop-at-rest", "scene.toml", "--frames", "2"]);
    before.succeeds();
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_named_with_the_file() {
    for (file, code) in
        [("sheet.pc2", 1), ("sheet.obj", 1), ("contact-sheet.png", 1), ("summary.json", 1)]
    {
        let bench = bench(&format!("full-{file}"));
        // After a first run the files count as its own and may be overwritten.
        let run = ["run", "scene.toml", "--out", "out", "--backend", "cpu"];
        bench.poplin(&run).succeeds();
        for name in ["summary.json", file] {
            let _ = std::fs::remove_file(bench.path("out").join(name));
        }
        std::os::unix::fs::symlink("/dev/full", bench.path("out").join(file)).unwrap();
        let ended = bench.poplin(&run);
        ended.says(code, &["cannot write", file, "No space left on device"]);
        let is_summary_written = bench.path("out").join("summary.json").is_file();
        assert_eq!(
            is_summary_written,
            file == "sheet.obj" || file == "contact-sheet.png",
            "{file}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_stdout_fails_and_a_closed_one_does_not() {
    let bench = bench("stdout");
    let full = || std::fs::File::options().write(true).open("/dev/full").unwrap();
    let args = ["run", "scene.toml", "--backend", "cpu"];
    let ended = crate::bench::Ended::of(bench.command(&args).stdout(full()).output().unwrap());
    ended.says(1, &["standard output", "No space left"]);
    let mut child = bench.command(&args).stdout(std::process::Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
}
