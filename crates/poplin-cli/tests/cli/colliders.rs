//! Colliders in `poplin run`: their picture, depth and options.

use crate::bench::{Bench, SHEET, SQUARE};

/// Settings without gravity.
const WEIGHTLESS: &str = "gravity = [0, 0, 0]\n";

/// Closed tetrahedron between 0 and 1, faces outward.
const TETRAHEDRON: &str =
    "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";

fn run(bench: &Bench, name: &str, scene: &str) -> String {
    bench.write(&format!("{name}.toml"), scene);
    let ended = bench.poplin(&["run", &format!("{name}.toml"), "--backend", "cpu", "--no-cache"]);
    ended.succeeds().stdout.clone()
}

#[test]
fn the_depth_is_of_the_last_frame_and_needs_colliders() {
    let bench = Bench::new("depth");
    assert!(!run(&bench, "plain", &format!("{SHEET}{WEIGHTLESS}")).contains("depth"));
    assert!(bench.json("out/plain/summary.json").get("collider_depth").is_none());
    // A ball that starts in the sheet and has left it after a tenth of a second; pins do not count.
    let keys = "keys = [{ time = 0 }, { time = 0.1, translation = [0, 0, 5] }]";
    let scene = format!(
        "{SHEET}{WEIGHTLESS}[[collider]]\nsphere = {{ radius = 0.1, center = [0.5, -0.5, 0] }}\n{keys}\n"
    );
    let output = run(&bench, "ball", &scene);
    assert!(
        output.contains(
            "depth  0 of 19 free particles inside colliders, deepest 0.0 mm (at the end)\n"
        ),
        "{output}"
    );
    let depth = &bench.json("out/ball/summary.json")["collider_depth"];
    assert_eq!((&depth["free_particles"], &depth["particles_inside"]), (&19.into(), &0.into()));
    assert_eq!(depth["deepest_m"], 0.0);
}

#[test]
fn colliders_are_drawn_and_do_not_move_distant_cloth() {
    let bench = Bench::new("drawn");
    run(&bench, "plain", &format!("{SHEET}{WEIGHTLESS}"));
    run(
        &bench,
        "ball",
        &format!(
            "{SHEET}{WEIGHTLESS}[[collider]]\nsphere = {{ radius = 0.1, center = [0.5, -0.5, 0.3] }}\n"
        ),
    );
    let read = |name: &str| std::fs::read(bench.path(name)).unwrap();
    assert_eq!(read("out/plain/sheet.obj"), read("out/ball/sheet.obj"));
    assert!(read("out/plain/contact-sheet.png") != read("out/ball/contact-sheet.png"));
}

#[test]
fn a_collider_for_another_cloth_does_not_count() {
    let bench = Bench::new("other");
    let sheets = format!(
        "{SHEET}{WEIGHTLESS}{}{WEIGHTLESS}",
        &SHEET.replace("frames = 10", "").replace("sheet", "other")
    );
    let scene = format!(
        "{sheets}transform = {{ translation = [3, 0, 0] }}\n[[collider]]\nplane = {{ normal = [0, 1, 0], offset = -2 }}\n"
    );
    assert!(run(&bench, "both", &scene).contains("depth  0 of 38 free particles"));
    assert!(
        run(&bench, "one", &format!("{scene}cloths = ['other']\n"))
            .contains("depth  0 of 19 free particles")
    );
}

#[test]
fn a_mesh_falls_on_a_body_without_pins() {
    let bench = Bench::new("body");
    bench.write("square.obj", SQUARE);
    bench.write("body.obj", TETRAHEDRON);
    let ended = bench.poplin(&[
        "run",
        "--mesh",
        "square.obj",
        "--collider",
        "body.obj",
        "--frames",
        "1",
        "--backend",
        "cpu",
    ]);
    assert!(
        ended.succeeds().stdout.contains("of 4 free particles inside colliders"),
        "{}",
        ended.stdout
    );
    bench.poplin(&["run", "--mesh", "square.obj", "--collider", "no.obj"]).says(2, &["no.obj"]);
    bench.write("scene.toml", SHEET);
    bench
        .poplin(&["run", "scene.toml", "--collider", "body.obj"])
        .says(2, &["--collider needs --mesh", "[[collider]]"]);
    bench
        .poplin(&["run", "--mesh", "square.obj", "--friction", "-1"])
        .says(2, &["--friction", "-1 is outside 0..=100"]);
}

#[test]
fn the_scene_of_shirt_and_bunny_loads_its_meshes() {
    let bench = Bench::new("bunny");
    bench.write(
        "scene.toml",
        include_str!("../../../poplin-run/scenes/meshes/shirt-over-bunny.toml"),
    );
    bench.poplin(&["run", "scene.toml"]).says(2, &["cloth[0].mesh", "no file", "unisex_shirt.obj"]);
    bench.write("unisex_shirt.obj", SQUARE);
    bench.write("bunny.obj", TETRAHEDRON);
    bench.poplin(&["run", "scene.toml", "--backend", "cpu", "--frames", "2"]).succeeds();
}

#[test]
fn virtual_particles_are_cooked_and_reported() {
    let bench = Bench::new("virtual");
    bench.write(
        "scene.toml",
        &format!("{SHEET}fabric = {{ virtual_particles = {{ per_triangle = 4 }} }}\n"),
    );
    let ended = bench.poplin(&["cook", "scene.toml"]);
    assert!(
        ended.succeeds().stdout.contains("virtual               96  collision points on triangles"),
        "{}",
        ended.stdout
    );
    let ended = bench.poplin(&["cook", "scene.toml", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&ended.succeeds().stdout).unwrap();
    assert_eq!(report[0]["virtual_particles"], 96);
}

/// Faces of a cube of 0.4 m around the origin.
const CUBE: [&str; 6] = ["1 5 7 3", "2 4 8 6", "1 2 6 5", "3 7 8 4", "1 3 4 2", "5 6 8 7"];

fn cube(faces: &[&str]) -> String {
    let corner = |k: u32| [k & 1, k >> 1 & 1, k >> 2 & 1].map(|bit| 0.4 * bit as f32 - 0.2);
    let vertices = (0..8).map(corner).map(|[x, y, z]| format!("v {x} {y} {z}\n"));
    vertices.chain(faces.iter().map(|face| format!("f {face}\n"))).collect()
}

#[test]
fn inward_meshes_are_repaired_and_open_ones_rejected() {
    let bench = Bench::new("repair");
    bench.write("square.obj", "v 1 1 0\nv 2 1 0\nv 2 2 0\nv 1 2 0\nf 1 2 3 4\n");
    let scene = format!("{SHEET}[[collider]]\nname = \"die\"\nmesh = \"die.obj\"\n");
    bench.write("scene.toml", &scene);
    let run = |faces: &[&str], options: &[&str]| {
        bench.write("die.obj", &cube(faces));
        bench.poplin(&[&["run"], options, &["--frames", "2", "--backend", "cpu"]].concat())
    };
    let mesh = ["--mesh", "square.obj", "--pin", "all", "--collider", "die.obj"];
    // One face inward, then all faces.
    let one = [&["1 3 7 5"], &CUBE[1..]].concat();
    let all = ["1 3 7 5", "2 6 8 4", "1 5 6 2", "3 4 8 7", "1 2 4 3", "5 7 8 6"];
    for (faces, count) in [(&one[..], 2), (&all[..], 12)] {
        for options in [&["scene.toml"][..], &mesh] {
            let ended = run(faces, options);
            let said = format!("{count} triangles flipped");
            assert!(ended.succeeds().stdout.contains(&said), "{}", ended.stdout);
        }
    }
    assert!(!run(&CUBE, &mesh).succeeds().stdout.contains("repair"));
    let open = "die.obj is not closed: it has 1 large hole with 4 edges, the largest near (-0.200, 0.000, 0.000) m";
    run(&CUBE[1..], &mesh).says(2, &[open, "collider `die`", "--open-collider"]);
    run(&CUBE[1..], &["scene.toml"]).says(2, &[open]);
    run(&CUBE[1..], &[&mesh[..], &["--open-collider"]].concat()).succeeds();
    bench.write("scene.toml", &format!("{scene}open = true\n"));
    run(&CUBE[1..], &["scene.toml"]).succeeds();
}

#[test]
fn a_collider_inside_a_triangle_is_reported() {
    let bench = Bench::new("pierced");
    // A small box in the middle of a quad, away from its corners; then beside the sheet.
    for (z, inside) in [(0.0, 2), (0.5, 0)] {
        let scene = format!(
            "{SHEET}{WEIGHTLESS}perturbation = 0\n[[collider]]\nbox = {{ size = [0.1, 0.1, 0.04], center = [0.375, -0.5, {z}] }}\n"
        );
        bench.write("scene.toml", &scene);
        let ended = bench.poplin(&["run", "scene.toml", "--backend", "cpu", "--no-cache"]);
        let said = "2 of 22 triangles more than 1 mm inside, deepest 20.0 mm";
        assert_eq!(ended.succeeds().stdout.contains(said), inside > 0, "{}", ended.stdout);
        let summary = bench.json("out/scene/summary.json");
        assert_eq!(summary["triangle_depth"]["triangles_inside"], inside, "{summary}");
        assert_eq!(summary["collider_depth"]["particles_inside"], 0);
    }
}

/// Writes a point cache of a closed tetrahedron that rises at `speed` [m/s], with 10 samples per
/// second.
fn rising(bench: &Bench, speed: f32) {
    bench.write("body.obj", TETRAHEDRON);
    let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0_f32]];
    let mut writer =
        poplin_io::PointCacheWriter::create(bench.path("body.pc2"), 4, 0.0, 1.0).unwrap();
    for sample in 0..=10 {
        let up = speed * sample as f32 / 10.0;
        writer.push(&corners.map(|[x, y, z]| [x, y + up, z])).unwrap();
    }
    writer.finish().unwrap();
}

/// Scene of a sheet above the tetrahedron, which a cache lifts into it.
const LIFTED: &str = "frames = 30\n[[cloth]]\nname = \"sheet\"\n\
    grid = { columns = 21, rows = 21, width = 0.4, height = 0.4, plane = \"xz\" }\n\
    transform = { translation = [0.1, 1.2, 0.1] }\ngravity = [0, 0, 0]\n\
    [[collider]]\nname = \"body\"\nmesh = \"body.obj\"\ncache = \"body.pc2\"\ncache_rate = 10\n";

#[test]
fn a_collider_moved_by_a_cache_pushes_cloth_in_runs_and_sweeps() {
    let bench = Bench::new("cache");
    rising(&bench, 2.0);
    run(&bench, "lifted", LIFTED);
    let summary = bench.json("out/lifted/summary.json");
    assert_eq!(summary["collider_depth"]["particles_inside"], 0, "{summary}");
    let highest = |name: &str| {
        let text = std::fs::read_to_string(bench.path(name)).unwrap();
        let heights = text.lines().filter_map(|line| {
            line.strip_prefix("v ")?.split_whitespace().nth(1)?.parse::<f64>().ok()
        });
        heights.fold(0.0, f64::max)
    };
    // The top of the collider rises by 1 m, beside and below the sheet.
    let height = highest("out/lifted/sheet.obj");
    assert!(height > 1.4, "the sheet is at {height} m");
    let read = |name: &str| std::fs::read(bench.path(name)).unwrap();
    let moved = read("out/lifted/contact-sheet.png");
    rising(&bench, 0.0);
    run(&bench, "still", LIFTED);
    let height = highest("out/still/sheet.obj");
    assert!((height - 1.2).abs() < 0.01, "the sheet is at {height} m");
    assert!(moved != read("out/still/contact-sheet.png"));
    // Jobs that vary the playback of the cache.
    rising(&bench, 2.0);
    let sweep = "scene = 'lifted.toml'\n[[vary]]\nkey = 'collider.body.speed'\nvalues = [0.001, 1]\n\
        [output]\nfinal_obj = true\n";
    bench.write("sweep.toml", sweep);
    bench.write("lifted.toml", &format!("{LIFTED}speed = 1\n"));
    bench.poplin(&["batch", "sweep.toml", "--backend", "cpu"]).succeeds();
    assert!((highest("out/sweep/job-0000000/sheet.obj") - 1.2).abs() < 0.01);
    let last = |name: &str| {
        read(name).split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>()
    };
    let corners = |name: &str| -> Vec<_> {
        last(name).into_iter().filter(|line| line.starts_with(b"v ")).collect()
    };
    assert_eq!(corners("out/sweep/job-0000001/sheet.obj"), corners("out/lifted/sheet.obj"));
}

#[test]
fn the_figure_of_the_guide_walks_in_its_skirt() {
    let bench = Bench::new("figure");
    bench.write("walk.toml", include_str!("../../../poplin-run/scenes/meshes/walk.toml"));
    let figure = include_bytes!("../../../poplin-run/scenes/meshes/figure.glb");
    std::fs::write(bench.path("figure.glb"), figure).unwrap();
    let ended = bench.poplin(&[
        "run",
        "walk.toml",
        "--backend",
        "cpu",
        "--no-cache",
        "--picture",
        "none",
        "--frames",
        "24",
        "-v",
    ]);
    let output = &ended.succeeds().stdout;
    assert!(output.contains("0 of 3,072 free particles inside colliders"), "{output}");
    assert!(
        !ended.stderr.contains("warning") && !output.contains("repair"),
        "{output}{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("collider `figure`: mesh of 5,624 triangles"),
        "{}",
        ended.stderr
    );
}

#[test]
fn an_animation_shows_the_run_and_orbits_it() {
    let bench = Bench::new("animation");
    bench.write("sheet.toml", &SHEET.replace("frames = 10", "frames = 60"));
    let run = |options: &[&str]| {
        let fixed = ["run", "sheet.toml", "--backend", "cpu", "--no-cache"];
        bench.poplin(&[&fixed, options].concat())
    };
    let count = |name: &str| {
        let bytes = std::fs::read(bench.path(name)).unwrap();
        let at = bytes.windows(4).position(|it| it == b"acTL").unwrap() + 4;
        u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
    };
    let size = ["--picture", "animation", "--picture-size", "64"];
    let ended = run(&[&size[..], &["--out", "still"]].concat());
    assert!(ended.succeeds().stdout.contains("animation.png"), "{}", ended.stdout);
    assert_eq!(count("still/animation.png"), 26, "60 frames are a second, and the first");
    run(&[&size[..], &["--picture-rate", "60", "--orbit", "90", "--out", "around"]].concat())
        .succeeds();
    assert_eq!(count("around/animation.png"), 61);
    let mut files: Vec<_> = std::fs::read_dir(bench.path("around"))
        .unwrap()
        .map(|it| it.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, [".poplin.lock", "animation.png", "sheet.obj", "summary.json"]);
    run(&["--orbit", "90"]).says(2, &["--orbit needs --picture animation"]);
    run(&["--picture", "last", "--picture-rate", "9"])
        .says(2, &["--picture-rate needs --picture animation"]);
    run(&["--picture", "animation", "--orbit", "nan"]).says(2, &["--orbit"]);
}

#[test]
fn triangle_contact_is_chosen_by_scene_or_option() {
    let bench = Bench::new("triangles");
    let scene =
        format!("{SHEET}thickness = 0.02\n[cloth_contact_solver]\ncontact = \"triangles\"\n");
    bench.write("sheet.toml", &scene);
    let run = |args: &[&str]| bench.poplin(&[&["run", "sheet.toml", "--no-cache"], args].concat());
    let chosen = run(&[]).succeeds().stdout.clone();
    assert!(chosen.starts_with("cpu backend"), "{chosen}");
    assert!(chosen.contains("0 edge-triangle crossings"), "{chosen}");
    let other = run(&["--contact", "particles", "--backend", "gpu"]).succeeds().stdout.clone();
    assert!(other.starts_with("gpu backend"), "{other}");
    let on_gpu = run(&["--backend", "gpu"]).succeeds().stdout.clone();
    assert!(on_gpu.starts_with("gpu backend"), "{on_gpu}");
    assert!(on_gpu.contains("0 edge-triangle crossings"), "{on_gpu}");
    run(&["--contact", "cubes"]).says(2, &["particles", "triangles"]);
}
