//! Legal scenes whose result differs from what their keys say: a warning, or the right result.

use poplin_io::PointCache;

use crate::bench::{Bench, Ended};

/// Grid of 9 x 9 vertices, 0.4 m wide, that hangs.
const HANGING: &str = "grid = { columns = 9, rows = 9, width = 0.4, height = 0.4 }\n";

/// Grid of the same size that lies.
const LYING: &str = "grid = { columns = 9, rows = 9, width = 0.4, height = 0.4, plane = \"xz\" }\n";

struct Result {
    ended: Ended,
    kinds: Vec<String>,
    summary: serde_json::Value,
    last: Vec<[f32; 3]>,
}

/// Runs a scene whose first cloth is `sheet`.
fn run(bench: &Bench, frames: usize, scene: &str) -> Result {
    let text = format!("frames = {frames}\n[[cloth]]\nname = \"sheet\"\n{scene}");
    bench.write("scene.toml", &text);
    let ended = bench.poplin(&["run", "scene.toml", "--backend", "cpu", "--picture", "none"]);
    ended.succeeds();
    let summary = bench.json("out/scene/summary.json");
    let warnings = summary["warnings"].as_array().unwrap().iter();
    let kinds = warnings.map(|it| it["kind"].as_str().unwrap().to_owned()).collect();
    let cache = PointCache::read(bench.path("out/scene/sheet.pc2")).unwrap();
    let last = cache.frame(frames).unwrap().to_vec();
    Result { ended, kinds, summary, last }
}

fn kinds(bench: &Bench, frames: usize, scene: &str) -> Vec<String> {
    run(bench, frames, scene).kinds
}

#[test]
fn warns_of_cloths_that_start_too_close() {
    let bench = Bench::new("close");
    let two = |gap: f32| {
        let other = format!("[[cloth]]\n{HANGING}pins = \"top:0%\"\nthickness = 0.01\n");
        format!(
            "{HANGING}pins = \"top:0%\"\nthickness = 0.01\n{other}transform = {{ translation = [0, 0, {gap}] }}\n"
        )
    };
    let close = run(&bench, 1, &two(0.012));
    assert_eq!(close.kinds, ["close_start"], "{}", close.ended.stderr);
    let text = close.summary["warnings"][0]["text"].as_str().unwrap();
    assert!(text.contains("start 12 mm apart and keep 50 mm"), "{text}");
    assert!(kinds(&bench, 1, &two(0.06)).is_empty());
    // Copies, too.
    let copies = |gap: f32| {
        format!(
            "{HANGING}pins = \"top:0%\"\nthickness = 0.01\ncount = 3\nspacing = [0, 0, {gap}]\n"
        )
    };
    assert_eq!(kinds(&bench, 1, &copies(0.03)), ["close_start"]);
    assert!(kinds(&bench, 1, &copies(0.06)).is_empty());
}

#[test]
fn warns_of_pins_that_jump_and_of_turns_by_half_a_turn() {
    let bench = Bench::new("jumps");
    let pins = |keys: &str| {
        format!("{HANGING}[[cloth.animated_pins]]\npins = \"top:0%\"\nkeys = [{keys}]\n")
    };
    let jump = "{ time = 0.5, translation = [0, 0.3, 0] }";
    assert_eq!(kinds(&bench, 1, &pins(jump)), ["pins_jump"]);
    assert!(kinds(&bench, 1, &pins(&format!("{{ time = 0 }}, {jump}"))).is_empty());
    let turn = |angle: f32| format!("{{ time = 0 }}, {{ time = 1, rotation = [0, {angle}, 0] }}");
    assert_eq!(kinds(&bench, 1, &pins(&turn(270.0))), ["long_turn"]);
    assert!(kinds(&bench, 1, &pins(&turn(170.0))).is_empty());
    let frame = |angle| format!("{HANGING}pins = [0]\nframe = {{ keys = [{}] }}\n", turn(angle));
    let text = run(&bench, 1, &frame(360.0)).ended.stderr;
    assert!(text.contains("differ by 360 degrees") && text.contains("here 0;"), "{text}");
    let collider = |angle| {
        let ball = "[[collider]]\nname = \"ball\"\nsphere = { radius = 0.1, center = [3, 0, 0] }\n";
        format!("{HANGING}pins = [0]\n{ball}keys = [{}]\n", turn(angle))
    };
    assert_eq!(kinds(&bench, 1, &collider(180.0)), ["long_turn"]);
    assert!(kinds(&bench, 1, &collider(120.0)).is_empty());
}

#[test]
fn warns_of_steps_and_motions_that_the_solver_cannot_follow() {
    let bench = Bench::new("steps");
    let steps = |solver: &str, substeps: u32| {
        format!("{HANGING}pins = [0]\nsolver = {{ {solver} = {{ substeps = {substeps} }} }}\n")
    };
    assert!(kinds(&bench, 1, &steps("multilevel", 5000)).contains(&"short_step".into()));
    assert!(kinds(&bench, 1, &steps("multilevel", 100)).is_empty());
    assert!(kinds(&bench, 1, &steps("xpbd", 5000)).is_empty());
    // In a storm, a step turns edges so far that one Newton step does not follow.
    let storm = |newton_steps: u32| {
        format!(
            "{HANGING}pins = \"left:0%\"\nair = {{ drag = 0.04, lift = 0.04, density = 1.2 }}\n\
             solver.multilevel = {{ max_newton_steps = {newton_steps} }}\n\
             [wind]\nvelocity = [8, 0, 0]\ngust = {{ strength = 6, period = 0.3, direction_spread = 1 }}\n"
        )
    };
    let single = run(&bench, 60, &storm(1));
    assert!(single.kinds.contains(&"unconverged".into()), "{:?}", single.kinds);
    assert_eq!(single.summary["cloths"][0]["implicit"]["steps"], 240);
    let usual = kinds(&bench, 60, &storm(4));
    assert!(!usual.contains(&"unconverged".into()), "{usual:?}");
    // With stiffnesses a thousandfold apart, the iterations leave large residuals.
    let weft = |stiffness: f32| {
        format!(
            "{LYING}transform = {{ translation = [0, 0.3, 0] }}\ncontact.friction = 1.5\n\
             solver.multilevel = {{ stretch_stiffness = [20000, {stiffness}], \
             shear_stiffness = {} }}\n\
             [[collider]]\nsphere = {{ radius = 0.15, center = [0.2, 0, 0.2] }}\n",
            0.1 * stiffness
        )
    };
    assert!(kinds(&bench, 60, &weft(20.0)).contains(&"unconverged".into()));
    let even = kinds(&bench, 60, &weft(20000.0));
    assert!(!even.contains(&"unconverged".into()), "{even:?}");
    let spin = |speed: f32, solver: &str| {
        format!("{LYING}gravity = [0, 0, 0]\nangular_velocity = [0, {speed}, 0]\n{solver}\n")
    };
    assert_eq!(kinds(&bench, 1, &spin(1080.0, "")), ["fading_spin"]);
    assert!(kinds(&bench, 1, &spin(180.0, "")).is_empty());
    let ball = |speed: f32| {
        let to = 0.04 * speed;
        format!(
            "{LYING}gravity = [0, 0, 0]\n[[collider]]\nsphere = {{ radius = 0.1, center = [0.2, -1, 0.2] }}\n\
             keys = [{{ time = 0 }}, {{ time = 0.04, translation = [0, {to}, 0] }}]\n"
        )
    };
    assert!(kinds(&bench, 3, &ball(70.0)).contains(&"skipping_collider".into()));
    assert!(!kinds(&bench, 3, &ball(10.0)).contains(&"skipping_collider".into()));
    let shear = |shear: f32| {
        format!(
            "{HANGING}pins = \"top:0%\"\nsolver = {{ xpbd = {{ frequency = 1200, membrane = {{ stretch = [1000, 1000], \
             shear = {shear} }} }} }}\n"
        )
    };
    assert!(kinds(&bench, 1, &shear(3000.0)).contains(&"stiff_shear".into()));
    assert!(kinds(&bench, 1, &shear(100.0)).is_empty());
    let density = |value: f32| format!("{HANGING}pins = [0]\ndensity = {value}\n");
    assert_eq!(kinds(&bench, 1, &density(150.0)), ["odd_density"]);
    assert!(kinds(&bench, 1, &density(0.15)).is_empty());
}

/// Returns the displacement of the middle of the lower edge after two seconds \[m\].
fn hangs(bench: &Bench, keys: &str) -> f32 {
    let scene = format!("{HANGING}pins = \"top:0%\"\nperturbation = 0\n{keys}\n");
    let result = run(bench, 120, &scene);
    assert!(!result.kinds.contains(&"stretchy".into()), "{}", result.ended.stderr);
    -result.last[76][1] - 0.4
}

#[test]
fn tethers_and_rigid_edges_leave_a_stated_stretch() {
    let bench = Bench::new("stretch");
    // A sheet of sigma kg/m^2 lengthens by sigma g L^2 / 2 K.
    let law = |sigma: f32, stiffness: f32| sigma * 9.81 * 0.16 / (2.0 * stiffness);
    for (keys, expected) in [
        (
            "density = 2\ndamping = [0.5, 0.5, 0.5]\nsolver = { implicit = { stretch_stiffness = [50, 50] } }",
            law(2.0, 50.0),
        ),
        (
            "density = 10\ndamping = [0.9, 0.9, 0.9]\nsolver = { xpbd = { frequency = 1200, membrane = { stretch = \
             [1000, 1000] } } }",
            law(10.0, 1000.0),
        ),
        // Columns 0.05 m apart, of edges of 0.05 m: a compliance of 1e-3 m/N is 1000 N/m.
        (
            "density = 10\ndamping = [0.9, 0.9, 0.9]\nsolver = { xpbd = { frequency = 1200, phases = { vertical = { \
             compliance = 1e-3 }, shearing = { compliance = 1e3 } } } }",
            law(10.0, 1000.0),
        ),
    ] {
        let got = hangs(&bench, keys);
        assert!((got / expected - 1.0).abs() < 0.06, "{keys}: {got} is not {expected}");
        // With a stated scale they hold.
        let held = hangs(&bench, &format!("tethers = {{ scale = 1 }}\n{keys}"));
        assert!(held < 0.3 * expected, "{keys}: {held}");
    }
}

#[test]
fn bodies_rest_on_pins_and_are_reported_where_they_are() {
    let bench = Bench::new("bodies-on-pins");
    for mass in [0.01, 10.0] {
        let ball = "[[collider]]\nsphere = { radius = 0.05, center = [0.2, 0.1, 0.2] }";
        let scene = format!("{LYING}pins = \"all\"\n{ball}\nbody = {{ mass = {mass} }}\n");
        let bodies = run(&bench, 240, &scene).summary["bodies"].clone();
        let height = bodies[0]["center_m"][1].as_f64().unwrap();
        assert!((height - 0.05).abs() < 1e-3, "{mass} kg: {height}");
    }
    let rail = format!(
        "{LYING}pins = \"left:0%\"\n[[collider]]\nsphere = {{ radius = 0.1, center = [0.2, 5, 0.2] }}\n\
         body = {{ mass = 1, axis = [0, 1, 0] }}\n"
    );
    let result = run(&bench, 30, &rail);
    let height = result.summary["bodies"][0]["center_m"][1].as_f64().unwrap();
    assert!((height - (5.0 - 4.905 * 0.25)).abs() < 0.01, "{height}");
    assert!(!result.kinds.contains(&"body_falls".into()), "{}", result.ended.stderr);
}

#[test]
fn the_largest_speed_includes_that_at_the_start() {
    let bench = Bench::new("start-speed");
    let ground = "[[collider]]\nplane = { normal = [0, 1, 0], offset = -0.3 }\n";
    let scene = format!("{LYING}velocity = [0, -20, 0]\n{ground}");
    let speed = run(&bench, 10, &scene).summary["max_speed_m_per_s"].as_f64().unwrap();
    assert!((speed - 20.0).abs() < 1e-3, "{speed}");
}

/// Tetrahedron with a sharp tip at the origin, as OBJ.
const BLADE: &str = "v 0 0 0\nv -1 0 0\nv -1 0.0994 -0.316\nv -1 -0.0994 -0.316\nf 3 2 1\nf 2 4 1\nf 4 3 1\nf 3 4 2\n";

#[test]
fn cloth_beside_the_tip_of_a_closed_mesh_is_outside() {
    let bench = Bench::new("blade");
    bench.write("blade.obj", BLADE);
    let patch = "grid = { columns = 3, rows = 3, width = 0.1, height = 0.1 }\n\
        transform = { translation = [0.055, 0.299, 0.0] }\n";
    let blade = "[[collider]]\nmesh = \"blade.obj\"\ntransform = { rotation = [-90, 0, 0] }\n";
    let result = run(&bench, 1, &format!("{patch}{blade}"));
    assert!(result.kinds.is_empty(), "{}", result.ended.stderr);
    assert_eq!(result.summary["collider_depth"]["particles_inside"], 0);
}

#[test]
fn a_mesh_with_vertices_of_each_face_is_the_welded_one() {
    let bench = Bench::new("unwelded");
    // A cube of 12 triangles, welded, with a vertex at each corner of each, and with each twice.
    let corner = |k: usize| [k & 1, k >> 1 & 1, k >> 2 & 1];
    let faces = [
        [0, 2, 1],
        [1, 2, 3],
        [4, 5, 6],
        [5, 7, 6],
        [0, 1, 4],
        [1, 5, 4],
        [2, 6, 3],
        [3, 6, 7],
        [0, 4, 2],
        [2, 4, 6],
        [1, 3, 5],
        [3, 7, 5],
    ];
    let line = |[x, y, z]: [usize; 3]| format!("v {x} {y} {z}\n");
    let welded = (0..8).map(|k| line(corner(k))).collect::<String>()
        + &faces.map(|[a, b, c]| format!("f {} {} {}\n", a + 1, b + 1, c + 1)).concat();
    let split = faces.iter().flatten().map(|&k| line(corner(k))).collect::<String>()
        + &(0..12)
            .map(|k| format!("f {} {} {}\n", 3 * k + 1, 3 * k + 2, 3 * k + 3))
            .collect::<String>();
    let doubled = split.clone()
        + &(0..12)
            .map(|k| format!("f {} {} {}\n", 3 * k + 2, 3 * k + 3, 3 * k + 1))
            .collect::<String>();
    let falls = |text: &str| {
        bench.write("cube.obj", text);
        let sheet = "grid = { columns = 15, rows = 15, width = 1.6, height = 1.6, plane = \"xz\" }\n\
            transform = { translation = [-0.3, 1.1, -0.3] }\ncontact = { friction = 0.3 }\n";
        run(&bench, 40, &format!("{sheet}[[collider]]\nmesh = \"cube.obj\"\n")).last
    };
    let expected = falls(&welded);
    assert!(expected.iter().any(|x| x[1] > 0.99 && x[1] < 1.01), "it lies on the cube");
    assert_eq!(falls(&split), expected);
    assert_eq!(falls(&doubled), expected);
}

#[test]
fn tables_written_as_lists_are_refused() {
    let bench = Bench::new("lists");
    let refuse = |scene: &str, words: &str| {
        bench.write("scene.toml", scene);
        let ended = bench.poplin(&["run", "scene.toml"]);
        ended.says(2, &[words, "expected a table of keys, `{ key = value }`, not a list"]);
    };
    let cloth = format!("[[cloth]]\n{HANGING}");
    refuse(&format!("wind = [3, 0, 0]\n{cloth}"), "scene.toml:1:8: wind: ");
    refuse(&format!("{cloth}solver.pbd = [600]\n"), "scene.toml:3:14: cloth[0].solver.pbd: ");
    refuse("[[cloth]]\ngrid = [5, 9, 0.4, 0.8]\n", "scene.toml:2:8: cloth[0].grid: ");
    let keys = "[[collider]]\nsphere = { radius = 1 }\nkeys = [[0.0], [1.0, [1, 0, 0]]]\n";
    refuse(&format!("{cloth}{keys}"), "scene.toml:5:9: collider[0].keys[0]: ");
    refuse(&format!("{cloth}transform = [[0, 1, 0]]\n"), "cloth[0].transform: ");
}
