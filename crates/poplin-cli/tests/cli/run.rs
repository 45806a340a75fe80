//! `poplin run`: its files, options and pictures.

use std::path::{Path, PathBuf};

use poplin_io::{FRAME_FORMATS, FrameFormat, FrameSource, PointCache, load_mesh, read_obj};
use poplin_testkit::skip::is_gpu_off;

use crate::bench::{Bench, SHEET, SQUARE};

#[test]
fn a_run_writes_cache_mesh_summary_and_picture() {
    let bench = Bench::new("files");
    bench.write("scene.toml", SHEET);
    let ended = bench.poplin(&["run", "scene.toml", "--backend", "cpu", "--frames", "20"]);
    ended.succeeds();
    for word in [
        "cpu backend on",
        "requested",
        "1 cloth, 20 particles",
        "ms per frame",
        "strain",
        "out/scene",
    ] {
        assert!(ended.stdout.contains(word), "no `{word}` in: {}", ended.stdout);
    }
    assert!(ended.stderr.is_empty(), "no progress bar and no noise in a pipe: {}", ended.stderr);

    let cache = PointCache::read(bench.path("out/scene/sheet.pc2")).unwrap();
    assert_eq!((cache.vertex_count, cache.frame_count(), cache.start_frame), (20, 21, 0.0));
    let mesh = read_obj(bench.path("out/scene/sheet.obj")).unwrap();
    assert_eq!(cache.frame(20).unwrap(), mesh.positions, "the mesh is the last frame");
    assert_eq!(cache.frame(0).unwrap()[0], [0.0, 0.0, 0.0], "frame 0 is the start");
    assert_ne!(cache.frame(0).unwrap()[19], cache.frame(20).unwrap()[19], "the cloth moves");
    assert_eq!(&std::fs::read(bench.path("out/scene/contact-sheet.png")).unwrap()[1..4], b"PNG");

    let summary = bench.json("out/scene/summary.json");
    for (key, value) in [
        ("frames", 20),
        ("frames_asked", 20),
        ("cloth_count", 1),
        ("particle_count", 20),
        ("iterations", 100),
    ] {
        assert_eq!(summary[key], value, "{key}");
    }
    assert_eq!(summary["backend"], "cpu");
    assert_eq!((&summary["finite"], &summary["interrupted"]), (&true.into(), &false.into()));
    assert_eq!(summary["files"].as_array().unwrap().len(), 4);
    assert!(summary["ms_per_frame"]["median"].as_f64().unwrap() > 0.0);
    let strain = |key: &str| summary[key].as_f64().unwrap();
    assert!(
        strain("p99_edge_strain") <= strain("max_edge_strain") && strain("max_edge_strain") < 1.0
    );
    assert!(strain("max_speed_m_per_s") > 0.1);
}

#[test]
fn a_scene_runs_with_either_solver() {
    let bench = Bench::new("solver");
    bench.write("scene.toml", SHEET);
    let run = |options: &[&str]| {
        let all = [&["run", "scene.toml", "--backend", "cpu", "--frames", "5"], options].concat();
        bench.poplin(&all).succeeds();
        bench.json("out/scene/summary.json")["iterations"].as_u64().unwrap()
    };
    assert_eq!(run(&["--solver", "xpbd"]), 100);
    assert_eq!(run(&["--solver", "xpbd", "--substeps", "7", "--bending-rigidity", "0"]), 35);
    assert_eq!(run(&["--solver", "xpbd", "--solver-frequency", "600"]), 50);
    assert_eq!(run(&["--solver", "pbd"]), 25);
    let solve = |options: &[&str]| {
        assert_eq!(run(&[&["--solver", "implicit"], options].concat()), 20);
        let report = bench.json("out/scene/summary.json")["cloths"][0]["implicit"].clone();
        assert_eq!((&report["steps"], &report["held"]), (&20.into(), &0.into()), "{report}");
        report
    };
    solve(&["--stretch", "trispring", "--bend", "plane-projection"]);
    let by_mass = solve(&["--max-iterations", "1000"])["iterations"].as_u64().unwrap();
    let by_fibers = solve(&["--max-iterations", "1000", "--preconditioner", "fibers"]);
    assert!(by_fibers["iterations"].as_u64().unwrap() < by_mass, "{by_mass} {by_fibers}");
    // The first step is solved at once.
    assert_eq!(solve(&["--max-iterations", "2"])["unconverged"], 19);
    for (options, expected) in [
        (
            ["--solver", "xpbd", "--stretch", "trispring"],
            "--stretch needs the solver implicit or multilevel, but cloth `sheet` uses xpbd",
        ),
        (
            ["--solver", "xpbd", "--max-iterations", "9"],
            "--max-iterations needs the solver implicit, but cloth `sheet` uses xpbd",
        ),
        (
            ["--damping", "0.1", "--preconditioner", "fibers"],
            "--preconditioner needs the solver implicit, but cloth `sheet` uses pbd",
        ),
        (
            ["--solver", "pbd", "--substeps", "7"],
            "--substeps needs the solver xpbd or implicit or multilevel, but cloth `sheet` uses pbd",
        ),
        (
            ["--damping", "0.1", "--bending-rigidity", "1"],
            "--bending-rigidity needs the solver xpbd or implicit or multilevel, but cloth `sheet` uses pbd",
        ),
    ] {
        let refused = bench.poplin(&[&["run", "scene.toml"], &options[..]].concat());
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    }
}

#[test]
fn a_material_hangs_alike_at_any_frame_rate() {
    let bench = Bench::new("frame_rates");
    // Positions after half a second at 24 to 120 frames a second.
    let hung = |solver: &str, options: &[&str]| {
        [24, 60, 120].map(|rate| {
            let frames = rate / 2;
            let head = format!("frame_rate = {rate}\nframes = {frames}\n");
            bench.write("towel.toml", &format!("{head}{TOWEL}material = \"cotton\"\n{solver}\n"));
            let all = [&["run", "towel.toml", "--backend", "cpu", "--picture", "none"], options];
            bench.poplin(&all.concat()).succeeds();
            read_obj(bench.path("out/towel/towel.obj")).unwrap().positions
        })
    };
    let farthest = |[slow, usual, fast]: [Vec<[f32; 3]>; 3]| {
        let pairs = slow
            .iter()
            .zip(&usual)
            .chain(usual.iter().zip(&fast))
            .flat_map(|(a, b)| a.iter().zip(b).map(|(a, b)| (a - b).abs()));
        pairs.fold(0.0, f32::max)
    };
    for (solver, substeps) in [("", "20"), ("solver.implicit = {}", "4")] {
        let alike = farthest(hung(solver, &[]));
        let apart = farthest(hung(solver, &["--substeps", substeps]));
        assert!(alike < 1e-4 && apart > 3e-3, "{solver}: {alike} m apart, {apart} m by substeps");
    }
    let both = "solver.xpbd = { substeps = 20, frequency = 1200 }";
    bench.write("towel.toml", &format!("{TOWEL}{both}\n"));
    let refused = bench.poplin(&["run", "towel.toml"]);
    let expected = "needs exactly one of `substeps` and `frequency`; it has";
    assert!(refused.stderr.contains(expected), "{}", refused.stderr);
}

/// Coarse sheet.
const TOWEL: &str = "[[cloth]]\nname = \"towel\"\npins = \"corner:top-left\"\n\
    grid = { columns = 9, rows = 9, width = 0.4, height = 0.4 }\n";

#[test]
fn an_unstated_frequency_is_chosen_with_its_reason() {
    let bench = Bench::new("chosen");
    bench.write("towel.toml", TOWEL);
    let run = |options: &[&str]| {
        let all = [&["run", "towel.toml", "--backend", "cpu", "--frames", "2"], options].concat();
        let ended = bench.poplin(&all);
        ended.succeeds();
        let line = ended.stdout.lines().find(|line| line.starts_with("solver"));
        let summary = bench.json("out/towel/summary.json");
        let iterations = summary["iterations"].as_u64().unwrap();
        (line.map(str::to_owned), iterations, summary["cloths"][0]["solver"].clone())
    };
    let (line, iterations, summary) = run(&[]);
    let why =
        "420 Hz, all fibers semi-implicit: longest chain 11 edges of 50.0 mm, held by tethers";
    assert_eq!((line, iterations), (Some(format!("solver {why}")), 14));
    assert_eq!((&summary["why"], &summary["held_by"]), (&why.into(), &"tethers".into()));
    assert_eq!((&summary["frequency_hz"], &summary["chain_edges"]), (&420.0.into(), &11.into()));

    let without_tethers = run(&["--tethers", "none"]).0.unwrap();
    assert!(without_tethers.ends_with("held by pins without tethers"), "{without_tethers}");
    let mixed = run(&["--fiber-solver", "mixed"]);
    assert!(mixed.0.unwrap().starts_with("solver 420 Hz: longest"));
    for stated in [&["--solver-frequency", "240"][..], &["--solver", "xpbd", "--substeps", "4"]] {
        let (line, iterations, summary) = run(stated);
        assert_eq!((line, iterations, summary.is_null()), (None, 8, true), "{stated:?}");
    }
    let napkin = TOWEL.replace("towel", "napkin");
    for (end, lines) in [
        ("", &["\nsolver 420 Hz, "][..]),
        ("tethers = { stiffness = 0 }\n", &["solver of towel: 420 Hz, ", "solver of napkin: "]),
    ] {
        bench.write("two.toml", &[TOWEL, &napkin, end].concat());
        let ended = bench.poplin(&["run", "two.toml", "--backend", "cpu", "--frames", "1"]);
        ended.succeeds();
        for line in lines {
            assert!(ended.stdout.contains(line), "{}", ended.stdout);
        }
    }
}

#[test]
fn a_mesh_keeps_its_vertices_even_unused_ones() {
    let bench = Bench::new("unused");
    bench.write(
        "square.obj",
        &format!("v 7 7 7\n{}", SQUARE.replace("f 1 2 3\nf 1 3 4", "f 2 3 4\nf 2 4 5")),
    );
    bench
        .poplin(&[
            "run",
            "--mesh",
            "square.obj",
            "--pin",
            "indices:1",
            "--frames",
            "5",
            "--backend",
            "cpu",
        ])
        .succeeds();
    let cache = PointCache::read(bench.path("out/square/square.pc2")).unwrap();
    assert_eq!((cache.vertex_count, cache.frame_count()), (5, 6));
    assert_eq!(
        cache.frame(5).unwrap()[..2],
        [[7.0; 3], [0.0; 3]],
        "the unused vertex and the pin stay"
    );
    assert!(cache.frame(5).unwrap()[3][1] < 1.0, "the free vertices fall");
}

#[test]
fn pins_follow_their_keyframes() {
    let bench = Bench::new("keys");
    let keys = "keys = [{ time = 0, translation = [0, 0, 0] }, { time = 0.1, translation = [-0.3, 0, 0] }]\n";
    bench.write(
        "scene.toml",
        &format!("{SHEET}[[cloth.animated_pins]]\npins = \"indices:4\"\n{keys}"),
    );
    bench.poplin(&["run", "scene.toml", "--backend", "cpu"]).succeeds();
    let cache = PointCache::read(bench.path("out/scene/sheet.pc2")).unwrap();
    for (frame, x) in [(0, 1.0), (3, 0.85), (6, 0.7), (10, 0.7)] {
        assert!((cache.frame(frame).unwrap()[4][0] - x).abs() < 1e-6, "frame {frame}");
    }
}

#[test]
fn copies_share_one_cache_and_move_alike() {
    let bench = Bench::new("copies");
    bench.write("scene.toml", &format!("{SHEET}count = 3\nspacing = [2.0, 0.0, 0.0]\n"));
    bench.poplin(&["run", "scene.toml", "--backend", "cpu"]).succeeds();
    let cache = PointCache::read(bench.path("out/scene/sheet.pc2")).unwrap();
    let mesh = read_obj(bench.path("out/scene/sheet.obj")).unwrap();
    assert_eq!((cache.vertex_count, mesh.positions.len(), mesh.quads.len()), (60, 60, 36));
    let last = cache.frame(10).unwrap();
    for copy in 1..3 {
        let shift = 2.0 * copy as f32;
        assert!(
            (0..20).all(|v| (last[20 * copy + v][0] - last[v][0] - shift).abs() < 1e-3),
            "copy {copy}"
        );
    }
    let summary = bench.json("out/scene/summary.json");
    assert_eq!((&summary["cloth_count"], &summary["cloths"][0]["copies"]), (&3.into(), &3.into()));
}

#[test]
fn a_picture_reports_omitted_copies() {
    let bench = Bench::new("left-out");
    bench.write("scene.toml", &format!("{SHEET}count = 10\nspacing = [2.0, 0.0, 0.0]\n"));
    let ended = bench.poplin(&["run", "scene.toml", "--backend", "cpu"]);
    assert!(
        ended.succeeds().stdout.contains("the picture shows 8 of 10 cloths"),
        "{}",
        ended.stdout
    );
}

#[test]
fn without_cache_the_last_frame_is_the_same() {
    let bench = Bench::new("no-cache");
    bench.write("scene.toml", SHEET);
    let args = ["run", "scene.toml", "--backend", "cpu", "--frames", "60", "--out"];
    bench.poplin(&[&args[..], &["a"]].concat()).succeeds();
    bench.poplin(&[&args[..], &["b", "--no-cache"]].concat()).succeeds();
    assert!(!bench.path("b/sheet.pc2").exists());
    let read = |name: &str| std::fs::read(bench.path(name)).unwrap();
    assert!(
        read("a/sheet.obj") == read("b/sheet.obj")
            && read("a/contact-sheet.png") == read("b/contact-sheet.png")
    );
}

/// Bytes of a file, or of all files of a folder by name.
fn bytes_of(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = vec![path.to_path_buf()];
    if path.is_dir() {
        files = path.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    }
    files.sort();
    let named = |file: PathBuf| (file.file_name().unwrap().into(), std::fs::read(file).unwrap());
    files.into_iter().map(named).collect()
}

#[test]
fn every_format_holds_the_same_frames() {
    let bench = Bench::new("formats");
    bench.write("scene.toml", &format!("formats = [\"pc2\"]\n{SHEET}"));
    let formats = FRAME_FORMATS.iter().flat_map(|format| ["--format", format.name]);
    let args = ["run", "scene.toml", "--backend", "cpu", "--frames", "3", "--out", "out"];
    // A repeated format is one file.
    let args: Vec<_> = args.into_iter().chain(formats).chain(["--format", "pc2"]).collect();
    bench.poplin(&args).succeeds();
    let cache = PointCache::read(bench.path("out/sheet.pc2")).unwrap();
    assert_eq!(cache.frame_count(), 4);
    // The files are those of the formats' own sinks for the frames of the cache.
    let mut mesh = load_mesh(bench.path("out/sheet.obj")).unwrap().mesh;
    mesh.positions = cache.frame(0).unwrap().to_vec();
    let source = FrameSource { parts: &[(&mesh, 1)], frame_rate: 60.0, frame_count: 4 };
    for format in FRAME_FORMATS {
        let [written, expected] =
            ["out", "."].map(|at| bench.path(at).join(format.file_name("sheet")));
        let mut sink = (format.create)(&expected, &source).unwrap();
        (0..4).for_each(|k| sink.push(cache.frame(k).unwrap()).unwrap());
        sink.finish().unwrap();
        assert!(bytes_of(&written) == bytes_of(&expected), "{format} does not hold the frames");
    }
    bench
        .poplin(&["run", "scene.toml", "--backend", "cpu", "--frames", "1", "--out", "out"])
        .succeeds();
    let is_left =
        |format: &&FrameFormat| bench.path("out").join(format.file_name("sheet")).exists();
    let left: Vec<_> = FRAME_FORMATS.iter().filter(is_left).map(|format| format.name).collect();
    assert_eq!(left, ["pc2"], "the others are those of the run before");
    bench
        .poplin(&["run", "scene.toml", "--format", "pc3"])
        .says(2, &["there is no frame format `pc3`; expected one of pc2"]);
}

#[test]
fn options_override_the_scene() {
    let bench = Bench::new("replace");
    bench.write("scene.toml", SHEET);
    let options = [
        "--no-bending",
        "--tethers",
        "none",
        "--max-fiber-length",
        "1",
        "--solver-frequency",
        "120",
        "--density",
        "2",
    ];
    bench.poplin(&[&["run", "scene.toml", "--backend", "cpu"][..], &options].concat()).succeeds();
    let summary = bench.json("out/scene/summary.json");
    let cooking = &summary["cloths"][0]["cooking"];
    assert_eq!(
        (&cooking["longest_fiber"], &cooking["tethers_per_particle"]),
        (&1.into(), &0.into())
    );
    assert_eq!((&cooking["mass_kg"], &summary["iterations"]), (&2.0.into(), &20.into()));
    assert!(cooking["phases"].as_array().unwrap().iter().all(|phase| phase["kind"] != "bending"));
}

#[test]
fn a_frozen_cloth_fails_after_everything_is_written() {
    let bench = Bench::new("fault");
    let falling = SHEET.replace("corner:top-left", "none");
    bench.write(
        "scene.toml",
        &format!(
            "frame_rate = 0.1\n{falling}gravity = [0, -1e15, 0]\nsolver.pbd.frequency = 300\n\
             air.pressure = 1\n"
        ),
    );
    let ended = bench.poplin(&["run", "scene.toml", "--backend", "cpu"]);
    ended.says(1, &["cloth `sheet`", "frozen", "particle", "moved by pressure"]);
    let summary = bench.json("out/scene/summary.json");
    // No figures of iterations that did not run.
    assert_eq!(summary["warnings"], serde_json::json!([]), "{}", ended.stderr);
    let speed = summary["cloths"][0]["max_speed_m_per_s"].as_f64();
    assert!(speed.is_some_and(|speed| speed < 1e4), "{}", summary["cloths"][0]);
    assert_eq!((&summary["faulted_cloth_count"], &summary["finite"]), (&1.into(), &true.into()));
    assert!(summary["cloths"][0]["faults"][0]["particles"].as_u64().unwrap() > 0);
    assert_eq!(PointCache::read(bench.path("out/scene/sheet.pc2")).unwrap().frame_count(), 11);
    assert!(bench.path("out/scene/contact-sheet.png").is_file());
}

#[test]
fn hundreds_of_cloths_share_one_file_with_an_index() {
    let bench = Bench::new("hundreds");
    let cloth = |index: u32| {
        let (columns, count) = (2 + index % 2, 1 + index % 3);
        format!(
            "[[cloth]]\nname = 'c{index}'\ngrid = {{ columns = {columns}, rows = 2, width = 1, height = 1 }}\npins = 'all'\n\
             count = {count}\n"
        )
    };
    bench.write("scene.toml", &(0..300).map(cloth).collect::<String>());
    let ended = bench.poplin(&[
        "run",
        "scene.toml",
        "--backend",
        "cpu",
        "--frames",
        "1",
        "--picture",
        "none",
    ]);
    let stdout = &ended.succeeds().stdout;
    assert!(stdout.contains("cloths.pc2, cloths.obj, cloths.json, summary.json"), "{stdout}");
    assert!(stdout.lines().count() < 20, "{stdout}");
    let index = bench.json("out/scene/cloths.json");
    let cloths = index.as_array().unwrap();
    assert_eq!(cloths.len(), 300);
    let last = cloths.last().unwrap();
    assert_eq!(
        (&last["name"], &last["copies"], &last["vertices"]),
        (&"c299".into(), &3.into(), &6.into())
    );
    let cache = PointCache::read(bench.path("out/scene/cloths.pc2")).unwrap();
    let end = last["first_vertex"].as_u64().unwrap() + 18;
    assert_eq!(cache.vertex_count as u64, end);
    let mesh = poplin_io::read_obj(bench.path("out/scene/cloths.obj")).unwrap();
    assert_eq!(
        (mesh.positions.len() as u64, mesh.quads.len()),
        (end, (0..300).map(|k| (1 + k % 2) * (1 + k % 3)).sum())
    );
}

#[test]
fn the_picture_is_a_sheet_the_last_frame_or_nothing() {
    let bench = Bench::new("picture");
    bench.write("scene.toml", SHEET);
    let run = ["run", "scene.toml", "--backend", "cpu", "--frames", "2"];
    for (kind, file) in
        [("none", None), ("last", Some("picture.png")), ("sheet", Some("contact-sheet.png"))]
    {
        let options = ["--picture", kind, "--picture-size", "64", "--camera", "top", "--out", kind];
        bench.poplin(&[&run[..], &options].concat()).succeeds();
        for name in ["picture.png", "contact-sheet.png"] {
            assert_eq!(
                bench.path(&format!("{kind}/{name}")).is_file(),
                file == Some(name),
                "{kind}: {name}"
            );
        }
    }
    bench.poplin(&["run", "flag", "--camera", "above"]).says(2, &["`above` is not a camera"]);
}

#[test]
fn the_gpu_gives_the_picture_of_the_cpu() {
    if is_gpu_off() {
        return;
    }
    let bench = Bench::new("gpu");
    bench.write("scene.toml", SHEET);
    for backend in ["cpu", "gpu"] {
        bench.poplin(&["run", "scene.toml", "--backend", backend, "--out", backend]).succeeds();
    }
    assert_eq!(bench.json("gpu/summary.json")["backend"], "gpu");
    let [cpu, gpu] =
        ["cpu", "gpu"].map(|name| PointCache::read(bench.path(name).join("sheet.pc2")).unwrap());
    let pairs = cpu.positions.as_flattened().iter().zip(gpu.positions.as_flattened());
    assert!(
        pairs.clone().count() == 20 * 11 * 3 && pairs.clone().all(|(a, b)| (a - b).abs() < 1e-4)
    );
}
