//! Motion of cloth in scenes: rotating pins, spheres, accelerations, rigid bodies; and wind on a
//! mesh.

use poplin_io::PointCache;

use crate::bench::{Bench, SHEET, SQUARE};

/// Sheet of 5 x 5 vertices in the plane y = 0, from 0 to 1, for ten frames.
const LYING: &str = "frames = 10\n\n[[cloth]]\nname = \"sheet\"\n\
    grid = { columns = 5, rows = 5, width = 1.0, height = 1.0, plane = \"xz\" }\nperturbation = 0\n";

const WEIGHTLESS: &str = "gravity = [0, 0, 0]\n";

fn run(bench: &Bench, name: &str, scene: &str) -> PointCache {
    bench.write(&format!("{name}.toml"), scene);
    let ended = bench.poplin(&["run", &format!("{name}.toml"), "--backend", "cpu"]);
    ended.succeeds();
    PointCache::read(bench.path(&format!("out/{name}/sheet.pc2"))).unwrap()
}

/// Returns the positions of the last frame.
fn last(bench: &Bench, name: &str, scene: &str) -> Vec<[f32; 3]> {
    run(bench, name, scene).frame(10).unwrap().to_vec()
}

fn distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f32>().sqrt()
}

#[test]
fn pins_rotate_about_their_middle_and_about_a_pivot() {
    let bench = Bench::new("rotating");
    let pins = |pivot: &str| {
        format!(
            "{LYING}{WEIGHTLESS}[[cloth.animated_pins]]\npins = \"left:0%\"\n{pivot}\nkeys = [{{ time = 0 }}, \
             {{ time = 0.15, rotation = [90, 0, 0] }}]\n"
        )
    };
    // Pins along z with their middle at (0, 0, 0.5); the rotation around x takes +z to -y.
    let cache = run(&bench, "middle", &pins(""));
    for (frame, angle) in [(3, 30.0f32), (9, 90.0), (10, 90.0)] {
        let (sin, cos) = angle.to_radians().sin_cos();
        let positions = cache.frame(frame).unwrap();
        for row in 0..5 {
            let arm = 0.25 * row as f32 - 0.5;
            let expected = [0.0, -arm * sin, 0.5 + arm * cos];
            let got = positions[5 * row];
            assert!(distance(got, expected) < 1e-5, "frame {frame}: {got:?} is not {expected:?}");
        }
    }
    let about_corner = last(&bench, "corner", &pins("pivot = [0, 0, 0]"));
    assert!(distance(about_corner[20], [0.0, -1.0, 0.0]) < 1e-5, "{:?}", about_corner[20]);
}

#[test]
fn a_spinning_collider_carries_cloth_as_keys_do() {
    let bench = Bench::new("spinning");
    let grid = "grid = { columns = 5, rows = 5, width = 0.2, height = 0.2, plane = \"xz\", centered = true }";
    for shape in [
        "plane = { normal = [0, 1, 0] }",
        "cylinder = { height = 1, radius = 1, center = [0, -0.5, 0] }",
    ] {
        let table = |name: &str, motion: &str| {
            let scene = format!(
                "frames = 30\n[[cloth]]\nname = \"sheet\"\n{grid}\ntransform = {{ translation = [0.3, 0, 0] }}\n\
                 contact = {{ friction = 1.0 }}\n[[collider]]\n{shape}\n{motion}\n"
            );
            run(&bench, name, &scene).frame(30).unwrap().to_vec()
        };
        let keyed = table("keyed", "keys = [{ time = 0 }, { time = 1, rotation = [0, 30, 0] }]");
        let spun = table("spun", "pivot = [0, 0, 0]\nspin = [0, 30, 0]");
        // Half a second: 15 degrees, of which the sheet slips 1.3 mm before it moves along.
        let (sin, cos) = 15.0f32.to_radians().sin_cos();
        let middle = spun[12];
        assert!(distance(middle, [0.3 * cos, 0.0, -0.3 * sin]) < 5e-3, "{shape}: {middle:?}");
        for (a, b) in keyed.iter().zip(&spun) {
            assert!(distance(*a, *b) < 1e-4, "{shape}: {a:?} is not {b:?}");
        }
    }
}

#[test]
fn motion_spheres_hold_a_sheet_near_its_start() {
    let bench = Bench::new("motion-spheres");
    let spheres =
        "[[cloth.motion_spheres]]\nvertices = \"all\"\nradii = [0.0, 0.04]\nfrom = \"left\"\n";
    let free = last(&bench, "free", LYING);
    let held = last(&bench, "held", &format!("{LYING}{spheres}"));
    for (vertex, (&free, &held)) in free.iter().zip(&held).enumerate() {
        let start = [0.25 * (vertex % 5) as f32, 0.0, 0.25 * (vertex / 5) as f32];
        let most = 0.01 * (vertex % 5) as f32;
        assert!(distance(free, start) > 0.1, "{vertex} falls: {free:?}");
        assert!(distance(held, start) < most + 1e-5, "{vertex} is held: {held:?}");
    }
    assert!(held[4][1] < -0.035, "it falls as far as it may: {:?}", held[4]);
}

#[test]
fn spheres_move_with_the_local_space() {
    let bench = Bench::new("sphere-frame");
    let frame = "frame = { keys = [{ time = 0 }, { time = 0.15, translation = [0, 3, 0], rotation = [0, 90, 0] }] }\n";
    let spheres = "[[cloth.motion_spheres]]\nvertices = \"all\"\nradius = 0.01\n";
    let moved = last(&bench, "scene", &format!("{LYING}{frame}{spheres}"));
    // Local x is world -z.
    assert!(distance(moved[4], [0.0, 3.0, -1.0]) < 0.0101, "{:?}", moved[4]);
}

#[test]
fn separation_spheres_stop_a_sheet_behind_its_start() {
    let bench = Bench::new("separation-spheres");
    let spheres = "[[cloth.separation_spheres]]\nvertices = \"all\"\nradius = 5.0\noffset = 0.03\n";
    let stopped = last(&bench, "scene", &format!("{LYING}{spheres}"));
    for position in stopped {
        assert!((-0.0301..-0.02).contains(&position[1]), "{position:?}");
    }
}

#[test]
fn accelerations_add_up_and_change_over_time() {
    let bench = Bench::new("accelerations");
    let pull = |more: &str| format!("[[cloth.accelerations]]\nvertices = \"all\"\n{more}\n");
    let steady = pull("acceleration = [0, 4, 0]") + &pull("acceleration = [0, 2, 0]");
    let time = 10.0f32 / 60.0;
    let z = last(&bench, "steady", &format!("{LYING}{WEIGHTLESS}{steady}"))[7][1];
    assert!((z - 3.0 * time * time).abs() < 0.003, "{z}");
    // Linear from 0 to 12: x = a t^2 / 6 at the end.
    let rising = pull(
        "keys = [{ time = 0, acceleration = [0, 0, 0] }, { time = 0.16666667, acceleration = [0, 12, 0] }]",
    );
    let z = last(&bench, "rising", &format!("{LYING}{WEIGHTLESS}{rising}"))[7][1];
    assert!((z - 2.0 * time * time).abs() < 0.003, "{z}");
}

/// Ball above the sheet, which is pinned at its corners.
fn ball(body: &str) -> String {
    let held = LYING.replace("frames = 10", "frames = 30");
    format!(
        "{held}pins = [\"corner:back-left\", \"corner:back-right\", \"corner:front-left\", \"corner:front-right\"]\n\
         contact = {{ friction = 0.3 }}\n[[collider]]\nname = \"ball\"\nsphere = {{ radius = 0.3, center = [0.5, 0.35, 0.5] }}\n{body}\n"
    )
}

fn body(bench: &Bench, name: &str, scene: &str) -> serde_json::Value {
    run(bench, name, scene);
    bench.json(&format!("out/{name}/summary.json"))["bodies"][0].clone()
}

#[test]
fn a_body_falls_freely_until_a_cloth_catches_it() {
    let bench = Bench::new("body-falls");
    let state =
        |body: &serde_json::Value, key: &str, axis: usize| body[key][axis].as_f64().unwrap();
    // A collider that acts only on another cloth exchanges no impulse with the sheet.
    let apart = format!(
        "{}cloths = [\"other\"]\n[[cloth]]\nname = \"other\"\n\
        grid = {{ columns = 2, rows = 2, width = 1, height = 1 }}\npins = \"all\"\ntransform = {{ translation = [9, 0, 0] }}\n",
        ball("body = { mass = 0.2, velocity = [1, 0, 0], angular_velocity = [0, 90, 0] }")
    );
    let free = body(&bench, "free", &apart);
    assert_eq!(free["contacts"], 0);
    let (time, step) = (0.5, 1.0 / 480.0);
    let fall = 0.35 - 0.5 * 9.81 * time * (time + step);
    assert!((state(&free, "center_m", 1) - fall).abs() < 1e-4, "{free}");
    assert!((state(&free, "center_m", 0) - 1.0).abs() < 1e-6, "{free}");
    assert!((state(&free, "angular_velocity_deg_per_s", 1) - 90.0).abs() < 1e-3, "{free}");
    let caught = body(&bench, "caught", &ball("body = { mass = 0.2 }"));
    assert!(caught["contacts"].as_u64().unwrap() > 100, "{caught}");
    let (height, speed) = (state(&caught, "center_m", 1), state(&caught, "velocity_m_per_s", 1));
    assert!(height > fall + 0.5 && speed > -2.0, "{caught}");
}

#[test]
fn a_light_body_moves_a_cloth_less_than_a_heavy_one() {
    let bench = Bench::new("body-mass");
    let depth = |name: &str, mass: f32| {
        let cache = run(&bench, name, &ball(&format!("body = {{ mass = {mass} }}")));
        cache.frame(12).unwrap()[12][1]
    };
    let (light, heavy) = (depth("light", 0.02), depth("heavy", 2.0));
    assert!(heavy < light - 0.02, "{heavy} is not below {light}");
}

#[test]
fn bodies_vary_in_sweeps_with_the_bits_of_their_runs() {
    let bench = Bench::new("body-sweep");
    bench.write("scene.toml", &ball("body = { mass = 0.1 }"));
    bench.write(
        "sweep.toml",
        "scene = \"scene.toml\"\n[[vary]]\nkey = \"collider.ball.body.mass\"\nvalues = [0.05, 0.1, 0.4]\n\
         [[vary]]\nkey = \"collider[0].body.restitution\"\nvalues = [0.0]\n",
    );
    bench.poplin(&["batch", "sweep.toml", "--backend", "cpu"]).succeeds();
    let positions = |job: usize| {
        std::fs::read(bench.path(&format!("out/sweep/job-000000{job}/sheet-positions.npy")))
            .unwrap()
    };
    assert!(positions(0) != positions(1) && positions(1) != positions(2), "each has its mass");
    let alone = run(&bench, "scene", &ball("body = { mass = 0.1 }"));
    let bits: Vec<u8> =
        alone.frame(30).unwrap().iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
    assert!(positions(1).ends_with(&bits), "the bits of a run");
}

#[test]
fn rejects_invalid_bodies() {
    let bench = Bench::new("body-refused");
    for (collider, word) in [
        ("plane = { normal = [0, 1, 0] }\nbody = { mass = 1 }", "needs a shape with a volume"),
        (
            "sphere = { radius = 1 }\nbody = { mass = 1 }\nkeys = [{ time = 0 }]",
            "cannot have `keys` or `spin` beside it",
        ),
        (
            "sphere = { radius = 1 }\nbody = { mass = 0 }",
            "body.mass = 0 is outside 1e-9..=1000000000 kg",
        ),
        (
            "convex = { planes = [{ normal = [0, 1, 0] }, { normal = [0, -1, 0], offset = 1 }] }\nbody = { mass = 1 }",
            "encloses no volume",
        ),
    ] {
        bench.write("scene.toml", &format!("{SHEET}[[collider]]\n{collider}\n"));
        bench.poplin(&["run", "scene.toml", "--backend", "cpu"]).says(2, &[word]);
    }
}

#[test]
fn wind_blows_a_mesh_aside() {
    let bench = Bench::new("mesh-wind");
    bench.write("square.obj", SQUARE);
    let run = |out: &str, options: &[&str]| {
        let words = [
            "run",
            "--mesh",
            "square.obj",
            "--pin",
            "top:0%",
            "--frames",
            "20",
            "--backend",
            "cpu",
            "--out",
            out,
        ];
        bench.poplin(&[&words[..], options].concat())
    };
    let calm = run("calm", &[]);
    calm.succeeds();
    let windy = run("windy", &["--wind", "0,0,8"]);
    windy.succeeds();
    assert!(
        windy.stdout.contains("air    drag 0.04, lift 0.04 (--drag, --lift)"),
        "{}",
        windy.stdout
    );
    let deepest = |out: &str| {
        let cache = PointCache::read(bench.path(&format!("{out}/square.pc2"))).unwrap();
        cache.frame(20).unwrap().iter().map(|it| it[2]).fold(f32::MIN, f32::max)
    };
    assert!(deepest("windy") > deepest("calm") + 0.01, "{} {}", deepest("windy"), deepest("calm"));
    run("x", &["--wind", "0,0,8", "--drag", "0", "--lift", "0"]).says(2, &["--wind has no effect"]);
    run("x", &["--wind", "0,0,8", "--drag-coefficient", "0"]).says(2, &["--wind has no effect"]);
    let plate = run("plate", &["--wind", "0,0,8", "--drag-coefficient", "1.2"]);
    plate.succeeds();
    assert!(!plate.stdout.contains("air    drag"), "{}", plate.stdout);
    assert!(deepest("plate") > deepest("calm") + 0.01, "{}", deepest("plate"));
    run("x", &["--wind", "0,0,8000"]).says(2, &["8000 is outside -1000..=1000 m/s"]);
    bench.poplin(&["run", "flag", "--wind", "1,0,0"]).says(2, &["--wind needs --mesh", "[wind]"]);
    bench.poplin(&["run", "flag", "--drag", "1"]).says(2, &["--drag needs --mesh"]);
}
