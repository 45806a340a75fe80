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
