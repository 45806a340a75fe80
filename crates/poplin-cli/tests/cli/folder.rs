//! Output folder: one run at a time, without files of the previous run.

use std::process::Stdio;
use std::time::{Duration, Instant};

use poplin_io::PointCache;

use crate::bench::{Bench, SHEET};

#[test]
fn a_second_run_into_a_folder_is_rejected() {
    let bench = Bench::new("claimed");
    bench.write("scene.toml", SHEET);
    let args = ["run", "scene.toml", "--backend", "cpu", "--frames", "1000000"];
    let mut first =
        bench.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let cache = bench.path("out/scene/sheet.pc2");
    let begin = Instant::now();
    let count = || PointCache::read(&cache).map_or(0, |cache| cache.frame_count());
    while count() < 20 {
        assert!(begin.elapsed() < Duration::from_secs(20), "no frames after 20 s");
        std::thread::sleep(Duration::from_millis(10));
    }
    let second = bench.poplin(&["run", "scene.toml", "--backend", "cpu"]);
    let reached = count();
    // A killed run unlocks the folder.
    first.kill().unwrap();
    first.wait().unwrap();
    second.says(1, &["another run is writing to out", "choose another folder with --out"]);
    assert!(reached >= 20, "{reached} frames");
    bench.poplin(&["run", "scene.toml", "--backend", "cpu"]).succeeds();
    assert_eq!(PointCache::read(&cache).unwrap().frame_count(), 11);
}

#[test]
fn removes_files_of_the_previous_run_but_not_of_the_user() {
    let bench = Bench::new("stale");
    bench.write("scene.toml", SHEET);
    let run = || bench.poplin(&["run", "scene.toml", "--backend", "cpu"]);
    run().succeeds();
    bench.write("out/scene/notes.txt", "mine");
    bench.write("scene.toml", &SHEET.replace("\"sheet\"", "\"towel\""));
    let said = run().succeeds().stdout.clone();
    assert!(said.contains("removed files of the previous run: sheet.pc2, sheet.obj\n"), "{said}");
    let mut names: Vec<_> = std::fs::read_dir(bench.path("out/scene"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let expected = [
        ".poplin.lock",
        "contact-sheet.png",
        "notes.txt",
        "summary.json",
        "towel.obj",
        "towel.pc2",
    ];
    assert_eq!(names, expected);
    // Paths in the summary that lead outside the folder are ignored.
    let summary = "{ \"format\": \"poplin-summary/1\", \"files\": [\"../../scene.toml\", \"..\"] }";
    bench.write("out/scene/summary.json", summary);
    run().succeeds();
    run().succeeds();
}

#[test]
fn does_not_overwrite_files_of_the_user() {
    let bench = Bench::new("foreign");
    bench.write("scene.toml", SHEET);
    let run = || bench.poplin(&["run", "scene.toml", "--backend", "cpu", "--picture", "none"]);
    std::fs::create_dir_all(bench.path("out/scene")).unwrap();
    for name in ["sheet.obj", "summary.json"] {
        bench.write(&format!("out/scene/{name}"), "mine");
        run().says(1, &[&format!("{name} exists and is not from an earlier run"), "--out"]);
        let kept = std::fs::read_to_string(bench.path(&format!("out/scene/{name}"))).unwrap();
        assert_eq!(kept, "mine");
        std::fs::remove_file(bench.path(&format!("out/scene/{name}"))).unwrap();
    }
    run().succeeds();
    run().succeeds();
    // A killed run has no summary.
    std::fs::remove_file(bench.path("out/scene/summary.json")).unwrap();
    run().succeeds();
}

#[test]
fn bench_results_stay_until_there_are_others() {
    let bench = Bench::new("whole");
    bench.write("old.json", "old");
    bench.poplin(&["bench", "--json", "a", "--csv", "a"]).says(2, &["name the same file"]);
    bench.poplin(&["bench", "--workload", "nothing", "--json", "old.json"]).says(2, &["nothing"]);
    assert_eq!(std::fs::read_to_string(bench.path("old.json")).unwrap(), "old");
}
