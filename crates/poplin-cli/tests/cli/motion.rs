//! Wind, moving local spaces and sleep in `poplin run`.

use poplin_io::PointCache;

use crate::bench::{Bench, SHEET};

/// Keys of a move along x and a rotation around y within a sixth of a second.
const FRAME: &str = "frame = { keys = [\n  { time = 0, translation = [1, 2, 3] },\n  \
    { time = 0.1, translation = [2, 2, 3] },\n  { time = 0.15, translation = [2, 2, 3], rotation = [0, 90, 0] },\n] }\n";

/// Settings without inertia: the cloth moves rigidly with its local space.
const STILL: &str = "gravity = [0, 0, 0]\nperturbation = 0\n\
    inertia = { linear = [0, 0, 0], angular = [0, 0, 0], centrifugal = [0, 0, 0] }\n";

const WIND: &str = "air = { drag = 0.05, lift = 0.05 }\n[cloth.wind]\nvelocity = [2, 0, 5]\n";

fn run(bench: &Bench, name: &str, scene: &str) -> PointCache {
    bench.write(&format!("{name}.toml"), scene);
    let ended = bench.poplin(&["run", &format!("{name}.toml"), "--backend", "cpu"]);
    assert!(ended.succeeds().stderr.is_empty(), "{}", ended.stderr);
    PointCache::read(bench.path(&format!("out/{name}/sheet.pc2"))).unwrap()
}

#[test]
fn a_cloth_without_inertia_moves_with_its_frame_in_the_world() {
    let bench = Bench::new("frame");
    let cache = run(&bench, "scene", &format!("{SHEET}{STILL}{FRAME}"));
    let start = |vertex: usize| [0.25 * (vertex % 5) as f32, -((vertex / 5) as f32) / 3.0];
    let holds = |frame: usize, position: fn([f32; 2]) -> [f32; 3]| {
        for (vertex, &got) in cache.frame(frame).unwrap().iter().enumerate() {
            let expected = position(start(vertex));
            assert!(
                (0..3).all(|axis| (got[axis] - expected[axis]).abs() < 1e-4),
                "{frame} {vertex}: {got:?} {expected:?}"
            );
        }
    };
    holds(0, |[x, y]| [x + 1.0, y + 2.0, 3.0]);
    // Halfway along the path.
    holds(3, |[x, y]| [x + 1.5, y + 2.0, 3.0]);
    // Rotated at the end: local x is world -z.
    holds(10, |[x, y]| [2.0, y + 2.0, 3.0 - x]);
}

#[test]
fn a_cloth_with_inertia_lags_behind_its_frame() {
    let bench = Bench::new("inertia");
    let cache = run(&bench, "scene", &format!("{SHEET}{FRAME}"));
    let last = cache.frame(3).unwrap();
    assert!((last[0][0] - 1.5).abs() < 1e-5, "the pin rides on the frame: {:?}", last[0]);
    assert!(last[19][0] < 2.4, "the free corner does not come along at once: {:?}", last[19]);
}

#[test]
fn animated_pins_move_inside_the_frame() {
    let bench = Bench::new("frame-pins");
    let pins = "[[cloth.animated_pins]]\npins = \"indices:4\"\nkeys = [{ time = 0, translation = [0, 0, 0] }, \
        { time = 0.15, translation = [-0.5, 0, 0] }]\n";
    let cache = run(&bench, "scene", &format!("{SHEET}{STILL}{FRAME}{pins}"));
    // At local x = 0.5 of a local space whose rotation takes local x to world -z.
    let got = cache.frame(10).unwrap()[4];
    assert!((0..3).all(|axis| (got[axis] - [2.0, 2.0, 2.5][axis]).abs() < 1e-5), "{got:?}");
}

#[test]
fn copies_on_a_frame_are_spaced_in_world_space() {
    let bench = Bench::new("frame-copies");
    let cache =
        run(&bench, "scene", &format!("{SHEET}{FRAME}count = 2\nspacing = [0.0, 0.0, -8.0]\n"));
    let last = cache.frame(10).unwrap();
    let apart = |v: usize| [0, 1, 2].map(|axis| last[20 + v][axis] - last[v][axis]);
    assert!(
        (0..20).all(|v| apart(v)[0].abs() + apart(v)[1].abs() + (apart(v)[2] + 8.0).abs() < 1e-5)
    );
}

#[test]
fn the_seed_determines_the_cache() {
    let bench = Bench::new("gust");
    let gusty = |seed: u32| {
        format!("{SHEET}{WIND}gust = {{ strength = 3, period = 0.1, seed = {seed} }}\n")
    };
    for (name, scene) in
        [("a", gusty(1)), ("b", gusty(1)), ("c", gusty(2)), ("steady", format!("{SHEET}{WIND}"))]
    {
        run(&bench, name, &scene);
    }
    let read = |name: &str| std::fs::read(bench.path(&format!("out/{name}/sheet.pc2"))).unwrap();
    assert!(read("a") == read("b"), "the same seed");
    assert!(read("a") != read("c") && read("a") != read("steady"), "another seed, no gust");
}

#[test]
fn the_wind_of_the_scene_acts_on_cloths_without_own_wind() {
    let bench = Bench::new("scene-wind");
    let wind = |of_scene: &str, own: &str| {
        let cloth = SHEET.replace("frames = 10\n", "");
        format!("frames = 10\n{of_scene}{cloth}air = {{ drag = 0.05 }}\nperturbation = 0\n{own}")
    };
    let (strong, none) = ("velocity = [0, 0, 9]\n", "velocity = [0, 0, 0]\n");
    let of_scene = run(&bench, "scene", &wind(&format!("[wind]\n{strong}"), ""));
    let own = run(&bench, "own", &wind("", &format!("[cloth.wind]\n{strong}")));
    let own_wins =
        run(&bench, "wins", &wind(&format!("[wind]\n{strong}"), &format!("[cloth.wind]\n{none}")));
    assert!(
        of_scene.frame(10).unwrap() == own.frame(10).unwrap()
            && own.frame(10).unwrap()[19][2] > 0.01
    );
    assert_eq!(own_wins.frame(10).unwrap()[19][2], 0.0);
}

#[test]
fn sleeping_cloths_are_counted() {
    let bench = Bench::new("sleep");
    let settings =
        "gravity = [0, 0, 0]\nsleep = { threshold = 0.01, test_interval = 20, after_count = 2 }\n";
    bench.write("scene.toml", &format!("{SHEET}{settings}count = 2\n"));
    let ended = bench.poplin(&["run", "scene.toml", "--backend", "cpu", "--frames", "30"]);
    let summary = bench.json("out/scene/summary.json");
    let slept = summary["slept_frames"].as_u64().unwrap();
    assert!((30..60).contains(&slept), "{slept}");
    assert_eq!(summary["cloths"][0]["slept_frames"], slept);
    let line = format!("sleep  {slept} of 60 frames, summed over cloths");
    assert!(ended.succeeds().stdout.contains(&line), "{}", ended.stdout);
    assert_eq!(
        bench
            .poplin(&["run", "scene.toml", "--backend", "cpu", "--frames", "2"])
            .succeeds()
            .stdout
            .find("sleep "),
        None
    );
}

#[test]
fn a_flag_with_the_largest_drag_and_lift_flies() {
    let bench = Bench::new("gale");
    let flag = "frames = 60\n[[cloth]]\nname = \"flag\"\npins = \"left:1%\"\n\
                grid = { columns = 21, rows = 21, width = 1.0, height = 1.0 }\n";
    for (name, air, wind) in [
        ("drag", "air = { drag = 1.0 }", "velocity = [3, 0, 0]"),
        ("lift", "air = { lift = 1.0 }", "velocity = [3, 0, 0]"),
        (
            "silk",
            "material = \"silk\"\nair = { drag = 0.5, lift = 0.3 }",
            "velocity = [14, 0, 0], gust = { strength = 20, period = 0.5, seed = 1 }",
        ),
        (
            "plate",
            "material = \"silk\"\nair = { drag_coefficient = 1.2, lift_coefficient = 1.2 }",
            "velocity = [14, 0, 0], gust = { strength = 20, period = 0.5, seed = 1 }",
        ),
    ] {
        bench.write(&format!("{name}.toml"), &format!("{flag}{air}\nwind = {{ {wind} }}\n"));
        let ended = bench.poplin(&["run", &format!("{name}.toml"), "--backend", "cpu"]);
        ended.succeeds();
        let summary = bench.json(&format!("out/{name}/summary.json"));
        let speed = summary["cloths"][0]["max_speed_m_per_s"].as_f64().unwrap();
        eprintln!("{name}: {speed} m/s at most; {}", ended.stderr);
        assert!(speed < 100.0, "{name}: {speed} m/s");
    }
}

#[test]
fn wind_without_effect_is_a_warning() {
    let bench = Bench::new("unfelt");
    bench.write("scene.toml", &format!("{SHEET}wind = {{ velocity = [1, 0, 0] }}\n"));
    let ended = bench.poplin(&["run", "scene.toml", "--backend", "cpu"]);
    ended.says(0, &["warning: wind has no effect on cloth `sheet`", "`drag` and `lift`"]);
    let summary = bench.json("out/scene/summary.json");
    assert_eq!(summary["warnings"][0]["kind"], "idle_wind");
}

#[test]
fn a_sheet_that_hangs_in_its_plane_folds() {
    let bench = crate::bench::Bench::new("plane");
    // The upper corners approach each other within the plane.
    let pin = |corner: &str, to: f32| {
        format!(
            "[[cloth.animated_pins]]\npins = \"corner:top-{corner}\"\nkeys = [{{ time = 0, translation = [0, 0, 0] }}, \
             {{ time = 1, translation = [{to}, 0, 0] }}]\n"
        )
    };
    let sheet = "frames = 120\n[[cloth]]\nname = \"sheet\"\n\
                 grid = { columns = 17, rows = 17, width = 1.0, height = 1.0 }\n";
    let folds = |options: &[&str]| {
        bench.write("scene.toml", &format!("{sheet}{}{}", pin("left", 0.3), pin("right", -0.3)));
        bench.poplin(&[&["run", "scene.toml", "--backend", "cpu"], options].concat()).succeeds();
        let text = std::fs::read_to_string(bench.path("out/scene/sheet.obj")).unwrap();
        let z = text.lines().filter_map(|line| line.strip_prefix("v ")?.split(' ').nth(2));
        z.map(|word| word.parse::<f32>().unwrap().abs()).fold(0.0, f32::max)
    };
    assert_eq!(folds(&["--perturbation", "0"]), 0.0);
    let depth = folds(&[]);
    assert!(depth > 0.1, "{depth} m out of the plane");
    assert_eq!(depth.to_bits(), folds(&[]).to_bits(), "each time alike");
}
