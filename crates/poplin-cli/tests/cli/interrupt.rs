//! Ctrl-C ends a run with complete files.

#![cfg(unix)]

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use poplin_io::PointCache;

use crate::bench::{Bench, Ended, SHEET};

fn wait_for_frames(child: &mut Child, cache: &std::path::Path, count: usize) {
    let begin = Instant::now();
    while PointCache::read(cache).map_or(0, |cache| cache.frame_count()) < count {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was asked to");
        assert!(begin.elapsed() < Duration::from_secs(20), "no frames after 20 s");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn signals_end_a_run_with_valid_files() {
    for signal in ["-INT", "-TERM"] {
        let bench = Bench::new(&format!("interrupt{signal}"));
        bench.write("scene.toml", SHEET);
        let args = ["run", "scene.toml", "--backend", "cpu", "--frames", "1000000"];
        let pipes = || std::process::Stdio::piped();
        let mut child = bench.command(&args).stdout(pipes()).stderr(pipes()).spawn().unwrap();
        wait_for_frames(&mut child, &bench.path("out/scene/sheet.pc2"), 20);
        assert!(
            Command::new("kill")
                .args([signal, &child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
        let ended = Ended::of(child.wait_with_output().unwrap());
        ended.says(130, &[]);
        assert!(ended.stdout.contains("(interrupted)"), "{}", ended.stdout);

        let summary = bench.json("out/scene/summary.json");
        assert_eq!(
            (&summary["interrupted"], &summary["frames_asked"]),
            (&true.into(), &1_000_000.into())
        );
        let cache = PointCache::read(bench.path("out/scene/sheet.pc2")).unwrap();
        assert_eq!(summary["frames"], cache.frame_count() - 1);
        let mesh = poplin_io::read_obj(bench.path("out/scene/sheet.obj")).unwrap();
        assert_eq!(cache.frame(cache.frame_count() - 1).unwrap(), mesh.positions);
        assert!(bench.path("out/scene/contact-sheet.png").is_file());
    }
}
