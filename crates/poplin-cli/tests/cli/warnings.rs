//! Warnings about the result: on stderr, in `summary.json`, and with `--strict` in the exit code.

use crate::bench::{Bench, SHEET, crossed_sheets};

fn run(bench: &Bench, scene: &str, options: &[&str]) -> crate::bench::Ended {
    bench.write("scene.toml", scene);
    bench.poplin(&[&["run", "scene.toml", "--backend", "cpu"], options].concat())
}

/// Returns the first warning of the last run.
fn warning(bench: &Bench) -> serde_json::Value {
    bench.json("out/scene/summary.json")["warnings"][0].clone()
}

#[test]
fn warns_of_cloth_that_starts_inside_a_collider() {
    let bench = Bench::new("inside");
    let ball = "[[collider]]\nsphere = { radius = 0.2, center = [0.5, -0.5, 0] }\n";
    let scene = format!("{SHEET}gravity = [0, 0, 0]\n{ball}");
    let ended = run(&bench, &scene, &[]);
    assert!(ended.succeeds().stderr.contains("warning: cloth `sheet` starts inside a collider: "));
    let warning = warning(&bench);
    assert_eq!((&warning["kind"], &warning["cloth"]), (&"starts_inside".into(), &"sheet".into()));
    assert_eq!(warning["free_particles"], 19);
    // Columns 0.25 m, rows 0.33 m apart: the two middle particles of the middle column, 0.03 m
    // deep.
    let expected = 0.2 - 1.0 / 6.0;
    assert_eq!(warning["particles_inside"], 2);
    assert!((warning["deepest_m"].as_f64().unwrap() - expected).abs() < 1e-6, "{warning}");
    assert!(ended.stderr.contains(warning["text"].as_str().unwrap()), "{}", ended.stderr);
    // The record beside its details.
    assert_eq!((&warning["subject"], &warning["limit"]), (&"sheet".into(), &0.0.into()));
    assert!((warning["value"].as_f64().unwrap() - expected).abs() < 1e-6, "{warning}");
    run(&bench, &scene, &["--strict"]).says(1, &["2 of 19 free particles, up to 33.3 mm deep"]);
}

#[test]
fn warns_of_overstretched_edges_with_position_and_frame() {
    let bench = Bench::new("stretched");
    // One corner is pulled away for a tenth of a second and comes back.
    let keys = [(0.0, 0), (0.05, 3), (0.1, 0)]
        .map(|(time, x)| format!("{{ time = {time}, translation = [{x}, 0, 0] }}"))
        .join(", ");
    let keys = format!("keys = [{keys}]\n");
    let pulled = "[[cloth.animated_pins]]\npins = \"indices:4\"\n";
    let scene = format!("{SHEET}{pulled}{keys}").replace("frames = 10", "frames = 30");
    run(&bench, &scene, &[]).succeeds();
    let warning = warning(&bench);
    assert_eq!((&warning["kind"], &warning["limit"]), (&"overstretched".into(), &0.5.into()));
    assert_eq!(warning["value"], warning["longest_strain"]);
    let at = |key: &str| warning[key].as_u64().unwrap();
    // Pulled from frame 1 to 6; then the sheet swings, and hangs at rest at the end.
    assert!((1..=6).contains(&at("first_frame")) && at("frame") >= at("first_frame"), "{warning}");
    assert!(at("frame") < 15 && at("most_edges") > 0 && at("edges_at_end") == 0, "{warning}");
    assert!(warning["longest_strain"].as_f64().unwrap() > 0.5, "{warning}");
    run(&bench, &scene, &["--strict"])
        .says(1, &["warning: cloth `sheet` is stretched beyond what cloth survives"]);
}

#[test]
fn a_valid_run_has_no_warning() {
    let bench = Bench::new("sound");
    let ended = run(&bench, SHEET, &["--strict"]);
    assert!(!ended.succeeds().stderr.contains("warning"), "{}", ended.stderr);
    assert_eq!(bench.json("out/scene/summary.json")["warnings"], serde_json::json!([]));
}

/// Returns the kinds of the warnings of a run.
fn kinds(bench: &Bench) -> Vec<String> {
    let summary = bench.json("out/scene/summary.json");
    let warnings = summary["warnings"].as_array().unwrap();
    warnings.iter().map(|warning| warning["kind"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn warns_of_settings_and_motion_beyond_the_step() {
    let bench = Bench::new("doubtful");
    let solver =
        |frequency: f32| format!("{SHEET}solver = {{ pbd = {{ frequency = {frequency} }} }}\n");
    let jump = |to: f32| {
        format!(
            "[[cloth.animated_pins]]\npins = \"indices:4\"\nkeys = [{{ time = 0, translation = [0, 0, 0] }}, \
             {{ time = 0.05, translation = [0, 0, 0] }}, {{ time = 0.0667, translation = [{to}, 0, 0] }}]\n"
        )
    };
    let collider = |speed: f32| {
        format!(
            "{SHEET}[[collider]]\nsphere = {{ radius = 0.1, center = [0, 90, 0] }}\nkeys = [{{ time = 0 }}, \
             {{ time = 1, translation = [{speed}, 0, 0] }}]\n"
        )
    };
    // Far from the cloth.
    let body =
        "[[collider]]\nsphere = { radius = 0.1, center = [0, 300, 0] }\nbody = { mass = 1 }\n";
    let bent = |substeps: u32, rigidity: f32| {
        format!(
            "{SHEET}solver = {{ xpbd = {{ substeps = {substeps}, bending_rigidity = {rigidity} }} }}\n"
        )
    };
    let stretched = |substeps: u32, stiffness: f32| {
        format!(
            "{SHEET}solver = {{ xpbd = {{ substeps = {substeps}, membrane = {{ stretch = [{stiffness}, {stiffness}] }} }} }}\n"
        )
    };
    let implicit = |stiffness: f32| {
        format!(
            "{SHEET}solver = {{ implicit = {{ max_iterations = 400, stretch_stiffness = [{stiffness}, {stiffness}] }} }}\n"
        )
    };
    let windy = |density: f32| {
        format!(
            "{SHEET}air = {{ drag_coefficient = 1.2, density = {density} }}\n[wind]\nvelocity = [2, 0, 0]\n"
        )
    };
    let far = |by: f32| format!("{SHEET}transform = {{ translation = [{by}, 0, 0] }}\n");
    for (kind, words, doubtful, sound) in [
        ("other_frequency", "60 times per second instead of 80", solver(80.0), solver(62.0)),
        (
            "other_frequency",
            "because rigid bodies split a frame into 8 steps, each with whole iterations, so its \
             stiffness differs; set a multiple of 480 Hz",
            solver(1200.0) + body,
            solver(960.0) + body,
        ),
        (
            "other_substeps",
            "24 substeps per frame instead of 20, because rigid bodies split a frame into 8 steps",
            bent(20, 1e-3) + body,
            bent(24, 1e-3) + body,
        ),
        (
            "fast",
            "a pin of cloth `sheet` moves at 12",
            SHEET.to_owned() + &jump(2.0),
            SHEET.to_owned() + &jump(0.01),
        ),
        (
            "fast",
            "collider `collider 0` of cloth `sheet` moves at 150 m/s",
            collider(150.0),
            collider(50.0),
        ),
        (
            "coarse",
            " m from the origin: positions are rounded to multiples of 12 mm",
            far(1e5),
            far(100.0),
        ),
        ("soft_bends", "needs a step of at most", bent(4, 10.0), bent(20, 1e-3)),
        ("floored", "rounding to f32 leaves residuals", implicit(1e6), implicit(1e3)),
        ("unsure_stretch", "than its stiffness states", stretched(4, 1e5), stretched(20, 10.0)),
        ("bounded_air", "feels at most the air force of", windy(1000.0), windy(1.2)),
        (
            "long_step",
            "in which gravity moves it by 2725.0 mm",
            solver(60.0) + "gravity = [0, -9810, 0]\n",
            solver(60.0) + "gravity = [0, -98, 0]\n",
        ),
    ] {
        let ended = run(&bench, &doubtful, &[]);
        assert!(ended.succeeds().stderr.contains(words), "{kind}: {}", ended.stderr);
        assert!(kinds(&bench).iter().any(|it| it == kind), "{kind}: {:?}", kinds(&bench));
        run(&bench, &sound, &[]).succeeds();
        assert!(!kinds(&bench).iter().any(|it| it == kind), "{kind} without reason");
    }
}

#[test]
fn warns_of_dropped_faces() {
    let bench = Bench::new("lost");
    let square = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n";
    for (lost, text) in [("", 0), ("f 1 2 2\n", 1), ("f 1 2 3 4\nf 1 3 1\n", 2)]
        .map(|(faces, lost)| (lost, format!("{square}{faces}")))
    {
        bench.write("square.obj", &text);
        let ended =
            bench.poplin(&["run", "--mesh", "square.obj", "--pin", "top:3%", "--frames", "2"]);
        let said = format!("has {lost} of {} faces dropped", lost + 1);
        assert_eq!(ended.succeeds().stderr.contains(&said), lost > 0, "{}", ended.stderr);
    }
}

#[test]
fn warns_of_faces_with_a_flipped_triangle() {
    let bench = Bench::new("twisted");
    // An arrow tip, which can be triangulated, beside a bow tie.
    let text = |face: &str| {
        format!("v 0 0 0\nv 2 0 0\nv 2 2 0\nv 0 2 0\nv 0.5 1 0\nv 4 1 0\nf 1 2 3 4 5\nf {face}\n")
    };
    let run = ["run", "--mesh", "bow.obj", "--pin", "all", "--frames", "1", "--backend", "cpu"];
    bench.write("bow.obj", &text("2 6 3"));
    let ended = bench.poplin(&run);
    assert!(!ended.succeeds().stderr.contains("flipped"), "{}", ended.stderr);
    assert!(bench.poplin(&["cook", "bow.obj"]).stdout.contains("area              5.5000  m^2"));
    bench.write("bow.obj", &text("2 3 6 1"));
    let ended = bench.poplin(&run);
    let said = "cloth `bow` has 1 face in its file that cannot be triangulated without a flipped triangle, the first in line 8";
    assert!(ended.succeeds().stderr.contains(said), "{}", ended.stderr);
    let summary = bench.json("out/bow/summary.json");
    assert_eq!(summary["warnings"][0]["kind"], "twisted_faces", "{summary}");
    assert_eq!(summary["cloths"][0]["cooking"]["twisted_faces"], 1);
    let cooked = bench.poplin(&["cook", "bow.obj"]);
    let said = "twisted                1  faces with a flipped triangle, the first in line 8";
    assert!(cooked.succeeds().stdout.contains(said), "{}", cooked.stdout);
    // A collider is reported once.
    let collider = ["--collider", "bow.obj", "--open-collider"];
    bench.write("square.obj", crate::bench::SQUARE);
    let square = run.map(|word| if word == "bow.obj" { "square.obj" } else { word });
    let ended = bench.poplin(&[&square[..], &collider].concat());
    assert!(ended.succeeds().stderr.contains("collider `bow` has 1 face"), "{}", ended.stderr);
}

#[test]
fn the_strain_is_signed() {
    let bench = Bench::new("signed");
    // A corner moves away from the other, or towards it.
    for (to, is_long) in [(0.2, true), (-0.5, false)] {
        let keys = format!(
            "[[cloth.animated_pins]]\npins = \"corner:top-right\"\nkeys = [{{ time = 0, translation = [0, 0, 0] }}, \
             {{ time = 0.1, translation = [{to}, 0, 0] }}]\n"
        );
        let ended =
            run(&bench, &format!("{SHEET}perturbation = 0\ngravity = [0, 0, 0]\n{keys}"), &[]);
        let summary = bench.json("out/scene/summary.json");
        let at = |key: &str| summary[key].as_f64().unwrap();
        let text = format!(
            "the longest by {:+.2} %, the shortest by {:+.2} % (at the end",
            100.0 * at("longest_edge_strain"),
            100.0 * at("shortest_edge_strain")
        );
        assert!(ended.stdout.contains(&text), "{}", ended.stdout);
        let largest = at("longest_edge_strain").max(-at("shortest_edge_strain"));
        assert!((at("max_edge_strain") - largest).abs() < 1e-6, "{summary}");
        assert_eq!(at("longest_edge_strain") > -at("shortest_edge_strain"), is_long, "{text}");
        assert!(largest > 0.01, "{text}");
    }
}

#[test]
fn warns_of_virtual_particles_without_effect() {
    let bench = Bench::new("idle-points");
    let points = format!("{SHEET}fabric = {{ virtual_particles = {{ per_triangle = 2 }} }}\n");
    let with = |shape: &str| format!("{points}[[collider]]\n{shape}\n");
    let ground = with("plane = { normal = [0, 1, 0], offset = -9 }");
    let ended = run(&bench, &ground, &[]);
    assert!(
        ended.succeeds().stderr.contains("the virtual particles of cloth `sheet` have no effect")
    );
    assert_eq!(warning(&bench)["kind"], "idle_points");
    let ball = with("sphere = { radius = 0.1, center = [0, -9, 0] }");
    run(&bench, &ball, &["--strict"]).succeeds();
}

#[test]
fn warns_of_settings_that_do_not_fit_the_mesh() {
    let bench = Bench::new("odd-settings");
    let small =
        SHEET.replace("width = 1.0", "width = 0.001").replace("height = 1.0", "height = 0.001");
    let cases = [
        (
            format!("{SHEET}wind = {{ velocity = [1, 0, 0] }}\n"),
            "idle_wind",
            "wind has no effect on cloth",
        ),
        (
            format!("{SHEET}material = 'silk'\nsolver.pbd.frequency = 300\n"),
            "idle_material",
            "only density, friction and thickness of silk",
        ),
        (
            format!(
                "{SHEET}thickness = 0.005\nsolver.multilevel.substeps = 2\n\
                 [cloth_contact_solver]\ncontact = \"triangles\"\n"
            ),
            "contact_behind",
            "keeps moving where it lies on cloth",
        ),
        (format!("{SHEET}max_speed = 0\n"), "no_speed", "cannot move: its `max_speed` is 0 m/s"),
        (SHEET.replace("pins = ", "pins = \"all\" # "), "all_pinned", "all 20 particles"),
        (format!("{SHEET}transform = {{ scale = 1000 }}\n"), "odd_size", "1414 m across"),
        (small, "odd_size", "1.41 mm across"),
        (format!("{SHEET}thickness = 3\n"), "thick", "3.00 m thick, with a mean edge of "),
        (format!("{SHEET}thickness = 0.01\ncount = 2\n"), "coincident", "set `spacing`"),
        (format!("{SHEET}tethers.scale = 0\n"), "squashed", "is compressed"),
    ];
    for (scene, kind, text) in cases {
        let ended = run(&bench, &scene, &["--picture", "none"]);
        assert!(ended.succeeds().stderr.contains(text), "{kind}: {}", ended.stderr);
        let warnings = bench.json("out/scene/summary.json")["warnings"].clone();
        let kinds = warnings.as_array().unwrap().iter().map(|warning| warning["kind"].clone());
        assert!(kinds.into_iter().any(|found| found == kind), "{kind}: {warnings}");
    }
}

/// Returns a scene of a sheet with triangle contact.
fn sheet_with_triangles(pins: &str) -> String {
    format!(
        "frames = 30\n[cloth_contact_solver]\ncontact = \"triangles\"\n[[cloth]]\nname = \"sheet\"\n\
         grid = {{ columns = 9, rows = 9, width = 0.4, height = 0.4 }}\npins = [\"{pins}\"]\nthickness = 0.005\n"
    )
}

#[test]
fn warns_of_a_box_that_passes_through_cloth() {
    let bench = Bench::new("rammed");
    let keys = "keys = [{ time = 0, translation = [0, 0, 0.3] }, { time = 0.5, translation = [0, 0, -0.3] }]\n";
    let size = "box = { size = [0.2, 0.2, 0.2], center = [0.21, -0.19, 0] }\n";
    let scene = format!("{}[[collider]]\n{size}{keys}", sheet_with_triangles("all"));
    let ended = run(&bench, &scene, &[]);
    let said = "warning: cloth `sheet` intersects, mostly with a collider: up to ";
    assert!(ended.succeeds().stderr.contains(said), "{}", ended.stderr);
    let warning = warning(&bench);
    assert_eq!((&warning["kind"], &warning["cloth"]), (&"crossed".into(), &"sheet".into()));
    assert_eq!(warning["partner"], "collider");
    // The front of the box reaches the pinned sheet after a third of the run.
    let at = |key: &str| warning[key].as_u64().unwrap();
    assert!((10..=12).contains(&at("first_frame")), "{warning}");
    assert_eq!(at("last_frame"), 30);
    assert!(at("most_pairs") > 10, "{warning}");
    assert!(at("crossings_at_start") == 0 && at("crossings_at_end") > 10, "{warning}");
    assert!(warning["position_m"][2].as_f64().unwrap().abs() < 0.01, "{warning}");
    run(&bench, &scene, &["--strict"]).says(1, &["warning: cloth `sheet` intersects"]);
    let round = scene.replace(size, "sphere = { radius = 0.1, center = [0.21, -0.19, 0] }\n");
    let said = "warning: a sphere, capsule or plane passes through cloth `sheet`: ";
    run(&bench, &round, &[]).says(0, &[said]);
}

#[test]
fn warns_of_cloth_that_starts_crossed() {
    let bench = Bench::new("crossed");
    // A free cloth across a pinned one, which untangles, and a pinned one, which does not.
    let other = |pins: &str, x: f32| {
        format!(
            "[[cloth]]\nname = \"other\"\ngrid = {{ columns = 9, rows = 9, width = 0.4, height = 0.4 }}\n\
             pins = [\"{pins}\"]\nthickness = 0.005\ntransform = {{ translation = [{x}, 0.013, 0.001], rotation = [0, 90, 0] }}\n"
        )
    };
    let free = format!("{}{}", sheet_with_triangles("all"), other("none", 0.377));
    let said = "warning: cloth `sheet` starts intersecting, mostly with other cloth: up to ";
    run(&bench, &free, &[]).says(0, &[said, "; none since frame "]);
    let found = warning(&bench);
    assert_eq!((&found["kind"], &found["first_frame"]), (&"crossed".into(), &0.into()));
    assert!(found["crossings_at_start"].as_u64().unwrap() > 4, "{found}");
    assert_eq!(found["crossings_at_end"], 0);
    let stuck = format!("{}{}", sheet_with_triangles("all"), other("all", 0.213));
    run(&bench, &stuck, &[]).says(
        0,
        &[said, " in frames 0 to 30, near (0.2", " remain at the end: move the layers apart"],
    );
}

#[test]
fn warns_of_cloth_that_is_crossed_on_a_gpu() {
    let bench = Bench::new("crossed-gpu");
    // A box and a mesh that enter a pinned cloth in the second frame.
    let mesh = "v 0.1 -0.3 -0.1\nv 0.3 -0.3 -0.1\nv 0.1 -0.3 0.1\nv 0.1 -0.1 -0.1\nf 1 2 3\nf 1 4 2\nf 2 4 3\nf 3 4 1\n";
    bench.write("wedge.obj", mesh);
    let keys = "keys = [{ time = 0, translation = [0, 0, 0.22] }, { time = 0.033333, translation = [0, 0, 0.05] }]\n";
    let colliders = [
        "[[collider]]\nbox = { size = [0.2, 0.2, 0.2], center = [0.21, -0.19, 0] }\n",
        "[[collider]]\nmesh = \"wedge.obj\"\n",
    ];
    let said = [
        "warning: cloth `sheet` intersects, mostly with a collider: up to ",
        " edge-triangle crossings in frame 2, near (",
        " remain at the end: a GPU does not untangle, use --backend cpu",
    ];
    for collider in colliders {
        let scene = format!("{}{collider}{keys}", sheet_with_triangles("all"));
        bench.write("scene.toml", &scene.replace("= 30", "= 2"));
        let args = ["run", "scene.toml", "--backend", "gpu", "--no-cache"];
        bench.poplin(&args).says(0, &said);
        let found = warning(&bench);
        assert_eq!((&found["kind"], &found["partner"]), (&"crossed".into(), &"collider".into()));
        assert_eq!(found["crossings_at_end"], found["most_pairs"]);
    }
}

#[test]
fn cloth_that_starts_crossed_is_untangled_on_the_cpu_first() {
    let bench = Bench::new("untangled");
    let pinned = "pins = [\"all\"]";
    let run = |x: f32, pins: &str, backend: &str| {
        bench.write("scene.toml", &crossed_sheets(x, pins));
        let args = ["run", "scene.toml", "--backend", backend, "--no-cache", "--out", backend];
        bench.poplin(&args).succeeds().stdout.clone()
    };
    // The cloth leaves the sheet over its border.
    let [on_cpu, on_gpu] = ["cpu", "gpu"].map(|backend| run(0.18, "", backend));
    assert!(!on_cpu.contains("untangles"), "{on_cpu}");
    assert!(on_gpu.contains("; the first 2 frames on the CPU, which untangles)"), "{on_gpu}");
    let [cpu, gpu] = ["cpu", "gpu"].map(|backend| {
        let mesh = std::fs::read(bench.path(backend).join("other.obj")).unwrap();
        let warnings = bench.json(&format!("{backend}/summary.json"))["warnings"].clone();
        let keys = ["cloth", "crossings_at_start", "crossings_at_end", "last_frame", "most_pairs"];
        let crossed = warnings.as_array().unwrap().iter().filter(|it| it["kind"] == "crossed");
        let crossed: Vec<_> = crossed.map(|it| keys.map(|key| it[key].clone())).collect();
        (mesh, crossed)
    });
    assert!(cpu.0 == gpu.0, "other cloth");
    assert_eq!(cpu.1, gpu.1);
    assert_eq!(gpu.1.len(), 2, "{:?}", gpu.1);
    // With both pinned it stays crossed and on the CPU.
    let stuck = run(0.113, pinned, "gpu");
    assert!(stuck.contains("a GPU does not untangle, and cloth was still crossed"), "{stuck}");
    // Without crossings the GPU starts at once.
    let free = run(0.25, "", "gpu");
    assert!(free.starts_with("gpu backend") && !free.contains("the first"), "{free}");
}

#[test]
fn warns_of_a_thickness_above_the_edges_in_triangle_contact() {
    let bench = Bench::new("thick-triangles");
    // Sides of 50 mm and diagonals of 71 mm.
    let scene = |thickness: f32| {
        let line = format!("thickness = {thickness}");
        sheet_with_triangles("top:3%").replace("thickness = 0.005", &line).replace("= 30", "= 1")
    };
    let said = "cloth `sheet` is 70 mm thick, with a mean edge of 50 mm: triangle contact";
    run(&bench, &scene(0.07), &[]).says(0, &[said, "at most a third of the edges"]);
    let found = warning(&bench);
    assert_eq!((&found["kind"], &found["contact"]), (&"thick".into(), &"triangles".into()));
    let checked = bench.poplin(&["check", "scene.toml"]);
    assert!(checked.succeeds().stdout.contains(said), "{}", checked.stdout);
    run(&bench, &scene(0.045), &["--strict"]).succeeds();
    // Particle contact allows that distance.
    run(&bench, &scene(0.07), &["--strict", "--contact", "particles"]).succeeds();
}

#[test]
fn the_warning_of_cloth_inside_a_collider_names_its_contact() {
    let bench = Bench::new("inside-triangles");
    let cube = "[[collider]]\nbox = { size = [0.1, 0.1, 0.1], center = [0.21, -0.19, 0] }\n";
    let scene = format!("{}{cube}", sheet_with_triangles("top:3%"));
    let ended = run(&bench, &scene, &["--frames", "2"]);
    let said = "mm deep; triangle contact pushes them out through the nearest face, some possibly on the wrong side";
    assert!(ended.succeeds().stderr.contains(said), "{}", ended.stderr);
    assert!(!ended.stderr.contains("depenetration_speed"), "{}", ended.stderr);
    let found = warning(&bench);
    assert_eq!(found["kind"], "starts_inside");
    assert_eq!(found.get("depenetration_speed_m_per_s"), None, "{found}");
    let particles = run(&bench, &scene, &["--frames", "2", "--contact", "particles"]);
    particles.says(0, &["contact pushes them out at 0.05 m/s (`contact.depenetration_speed`)"]);
    // Without a thickness only particles collide with colliders.
    let thin = scene.replace("thickness = 0.005", "thickness = 0");
    run(&bench, &thin, &["--frames", "2"]).says(0, &["contact pushes them out at 0.05 m/s"]);
}

#[test]
fn warns_of_rigid_bodies_in_triangle_contact() {
    let bench = Bench::new("body-triangles");
    let body = "[[collider]]\nname = \"stone\"\nsphere = { radius = 0.1, center = [5, 0, 0] }\nbody = { mass = 1 }\n";
    let rammed = "[[collider]]\nbox = { size = [0.2, 0.2, 0.2], center = [0.21, -0.19, 0] }\n\
        keys = [{ time = 0, translation = [0, 0, 0.3] }, { time = 0.5, translation = [0, 0, -0.3] }]\n";
    let scene = format!("{}{body}{rammed}", sheet_with_triangles("all"));
    let said = "warning: collider `stone`, a rigid body, collides only with particles of cloth";
    run(&bench, &scene, &[]).says(0, &[said]);
    // Frames have eight steps each; the warning counts frames.
    let found = warning(&bench);
    assert_eq!((&found["kind"], &found["last_frame"]), (&"crossed".into(), &30.into()), "{found}");
    assert!((10..=12).contains(&found["first_frame"].as_u64().unwrap()), "{found}");
    let checked = bench.poplin(&["check", "scene.toml"]).succeeds().stdout.clone();
    assert!(
        checked.contains("collider `stone`, a rigid body") && checked.contains("3:1"),
        "{checked}"
    );
    let two = format!("{}{body}{body}", sheet_with_triangles("all"));
    let said = "warning: 2 rigid bodies, the first collider `stone`, collide only with particles";
    run(&bench, &two.replacen("stone", "rock", 1), &["--frames", "1"])
        .says(0, &[&said.replace("stone", "rock")]);
    // Cloth that starts inside a body is moved out by particle contact.
    let inside = scene.replace("center = [5, 0, 0]", "center = [0.2, -0.1, 0]");
    let inside = inside.replace("pins = [\"all\"]", "pins = [\"top:3%\"]");
    run(&bench, &inside, &["--frames", "1"]).says(0, &["contact pushes them out at 0.05 m/s"]);
}

#[test]
fn warns_of_triangle_contact_without_thickness() {
    let bench = Bench::new("idle-contact");
    let thin = sheet_with_triangles("top:3%").replace("thickness = 0.005", "thickness = 0");
    let said = "triangle contact has no effect: no cloth has a `thickness`";
    let frames = ["--frames", "1"];
    run(&bench, &thin, &frames).says(0, &[said]);
    assert_eq!(warning(&bench)["kind"], "idle_contact");
    let record = warning(&bench);
    assert_eq!((&record["subject"], &record["value"]), (&"".into(), &serde_json::Value::Null));
    let checked = bench.poplin(&["check", "scene.toml"]).succeeds().stdout.clone();
    assert!(checked.contains(said) && checked.contains("scene.toml:3:1"), "{checked}");
    // One cloth with a thickness is enough.
    let other = "[[cloth]]\ngrid = { columns = 3, rows = 3, width = 0.4, height = 0.4 }\nthickness = 0.01\n\
        transform = { translation = [0, 0, 1] }\npins = \"top:3%\"\n";
    run(&bench, &(thin + other), &[&frames[..], &["--strict"]].concat()).succeeds();
}
