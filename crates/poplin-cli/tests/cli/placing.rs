//! Automatic choices of `poplin run --mesh`, and their lines in the output.

use crate::bench::{Bench, Ended};

/// Sheet of 1 m in the plane y = 0 around the origin, as OBJ.
fn sheet() -> String {
    const SIDE: usize = 9;
    let mut text = String::new();
    for k in 0..SIDE * SIDE {
        let at = |k: usize| k as f32 / (SIDE - 1) as f32 - 0.5;
        text += &format!("v {} 0 {}\n", at(k % SIDE), at(k / SIDE));
    }
    for k in (0..SIDE * (SIDE - 1)).filter(|k| (k + 1) % SIDE > 0) {
        let corner = k + 1;
        text += &format!("f {corner} {} {} {}\n", corner + SIDE, corner + SIDE + 1, corner + 1);
    }
    text
}

/// Cube of 0.4 m around the origin, as OBJ.
fn cube() -> String {
    let corner = |k: u32| [k & 1, k >> 1 & 1, k >> 2 & 1].map(|bit| 0.4 * bit as f32 - 0.2);
    let mut text: String = (0..8).map(corner).map(|[x, y, z]| format!("v {x} {y} {z}\n")).collect();
    for [a, b, c, d] in
        [[1, 5, 7, 3], [2, 4, 8, 6], [1, 2, 6, 5], [3, 7, 8, 4], [1, 3, 4, 2], [5, 6, 8, 7]]
    {
        text += &format!("f {a} {b} {c} {d}\n");
    }
    text
}

fn run(bench: &Bench, options: &[&str]) -> Ended {
    bench.write("sheet.obj", &sheet());
    bench.write("cube.obj", &cube());
    let mesh =
        ["run", "--mesh", "sheet.obj", "--pin", "none", "--frames", "30", "--backend", "cpu"];
    let ended = bench.poplin(&[&mesh[..], options].concat());
    ended.succeeds();
    ended
}

#[test]
fn a_mesh_inside_a_collider_is_moved_above_it() {
    let bench = Bench::new("lifted");
    let ended = run(&bench, &["--collider", "cube.obj"]);
    let said = "moved  above the collider, as with --translate 0.000,0.325,0.000: 9 of 81 free vertices would start inside";
    assert!(ended.stdout.contains(said), "{}", ended.stdout);
    assert!(ended.stdout.contains("floor  at y = -0.200 m"), "{}", ended.stdout);
    let summary = bench.json("out/sheet/summary.json");
    assert_eq!(summary["choices"].as_array().unwrap().len(), 3, "{summary}");
    // Edges of 125 mm cut the corners of the cube.
    let warnings = summary["warnings"].as_array().unwrap();
    let kinds: Vec<_> = warnings.iter().map(|warning| warning["kind"].clone()).collect();
    assert_eq!(kinds, ["triangles_inside"], "{summary}");
    // The option from the message gives the same result.
    let bits = || std::fs::read(bench.path("out/sheet/sheet.obj")).unwrap();
    let lifted = bits();
    run(&bench, &["--collider", "cube.obj", "--translate", "0,0.325,0"]);
    assert!(lifted == bits());
}

#[test]
fn a_mesh_kept_inside_a_collider_is_not_torn() {
    let bench = Bench::new("left");
    for options in [["--allow-inside", "--no-cache"], ["--translate", "0,0,0"]] {
        let ended = run(&bench, &[&["--collider", "cube.obj"], &options[..]].concat());
        assert!(!ended.stdout.contains("moved "), "{}", ended.stdout);
        assert!(ended.stderr.contains("9 of 81 free particles"), "{}", ended.stderr);
        let summary = bench.json("out/sheet/summary.json");
        let warning = &summary["warnings"][0];
        assert_eq!(warning["kind"], "starts_inside");
        assert!((warning["depenetration_speed_m_per_s"].as_f64().unwrap() - 0.05).abs() < 1e-6);
        let strain = summary["worst_max_edge_strain"].as_f64().unwrap();
        let speed = summary["max_speed_m_per_s"].as_f64().unwrap();
        assert!(strain < 0.5 && speed < 10.0, "strain {strain}, {speed} m/s");
    }
}

#[test]
fn mesh_collider_and_floor_follow_their_options() {
    let bench = Bench::new("put");
    let positions = |options: &[&str]| {
        run(&bench, options);
        let text = std::fs::read_to_string(bench.path("out/sheet/sheet.obj")).unwrap();
        let rows = text.lines().filter_map(|line| line.strip_prefix("v "));
        rows.map(|row| row.split(' ').map(|word| word.parse().unwrap()).collect())
            .collect::<Vec<Vec<f32>>>()
    };
    // It falls for half a second onto the floor beside the cube.
    let away = ["--collider", "cube.obj", "--collider-translate", "5,0,0", "--ground", "-0.5"];
    for row in positions(&[&away[..], &["--translate", "1,-0.3,0"]].concat()) {
        assert!((row[1] + 0.5).abs() < 1e-3 && row[0] > 0.4, "{row:?}");
    }
    // Upright, at half size, without a floor.
    let rows = positions(&["--rotate", "90,0,0", "--scale", "0.5"]);
    let low = rows.iter().map(|row| row[1]).fold(f32::INFINITY, f32::min);
    let high = rows.iter().map(|row| row[1]).fold(f32::NEG_INFINITY, f32::max);
    assert!(low < -1.0 && (high - low - 0.5).abs() < 0.05, "from {low} to {high}");
}

/// Returns a sheet of 5 x 5 vertices and 2 m around a point, and a cube of 0.4 m half a metre below
/// its middle.
fn far_meshes(from: [f64; 3]) -> [String; 2] {
    let vertex =
        |p: [f64; 3]| format!("v {} {} {}\n", p[0] + from[0], p[1] + from[1], p[2] + from[2]);
    let at = |k: u32| 0.5 * f64::from(k) - 1.0;
    let mut sheet: String = (0..25).map(|k| vertex([at(k % 5), 0.0, at(k / 5)])).collect();
    for k in (1..20).filter(|k| k % 5 > 0) {
        sheet += &format!("f {k} {} {} {}\n", k + 5, k + 6, k + 1);
    }
    let corner = |k: u32| [k & 1, k >> 1 & 1, k >> 2 & 1].map(|bit| 0.5 * f64::from(bit) - 0.25);
    let lower = |[x, y, z]: [f64; 3]| [x, y - 0.5, z];
    let faces = cube()
        .lines()
        .filter(|line| line.starts_with('f'))
        .fold(String::new(), |all, line| all + line + "\n");
    [sheet, (0..8).map(|k| vertex(lower(corner(k)))).collect::<String>() + &faces]
}

#[test]
fn a_mesh_far_from_the_origin_is_simulated_like_one_at_it() {
    let bench = Bench::new("far");
    let far = [1e7, -2e7, 3.0];
    let run = |from: [f64; 3], out: &str| {
        let [sheet, cube] = far_meshes(from);
        bench.write("sheet.obj", &sheet);
        bench.write("cube.obj", &cube);
        let height = (from[1] - 1.0).to_string();
        let pin = format!(
            "box:{0},{1},{2},{3},{1},{4}",
            from[0] - 1.0,
            from[1],
            from[2] - 1.0,
            from[0] - 0.75,
            from[2] + 1.0
        );
        let mesh = [
            "run",
            "--mesh",
            "sheet.obj",
            "--collider",
            "cube.obj",
            "--frames",
            "30",
            "--backend",
            "cpu",
        ];
        let ended = bench
            .poplin(&[&mesh[..], &["--ground", &height, "--pin", &pin, "--out", out]].concat());
        ended.succeeds();
        ended
    };
    let near = run([0.0, 0.0, 3.0], "near");
    assert!(!near.stdout.contains("origin"), "{}", near.stdout);
    let ended = run(far, "far");
    let said = "origin (10000000, -20000000, 0) m, because f32 rounds positions there to multiples of 2.38 m: the OBJ";
    assert!(
        ended.stdout.contains(said) && ended.stdout.contains("25 particles"),
        "{}",
        ended.stdout
    );
    assert!(!ended.stderr.contains("from the origin"), "{}", ended.stderr);
    let summary = bench.json("far/summary.json");
    assert!(summary["choices"][0].as_str().unwrap().starts_with(said), "{summary}");
    assert_eq!(summary["origin_m"], serde_json::json!([1e7, -2e7, 0.0]));
    assert!(bench.json("near/summary.json").get("origin_m").is_none());
    assert_eq!(summary["cloths"][0]["cooking"]["pinned"], 5);
    let read = |name: &str| std::fs::read(bench.path(name)).unwrap();
    assert!(read("near/sheet.pc2") == read("far/sheet.pc2"));
    // The OBJ keeps world position and shape.
    let rows = |name: &str| -> Vec<Vec<f64>> {
        let text = String::from_utf8(read(name)).unwrap();
        let rows = text.lines().filter_map(|line| line.strip_prefix("v "));
        rows.map(|row| row.split(' ').map(|word| word.parse().unwrap()).collect()).collect()
    };
    let (there, here) = (rows("far/sheet.obj"), rows("near/sheet.obj"));
    assert_eq!(there.len(), 25);
    for (there, here) in there.iter().zip(&here) {
        let origin = [1e7, -2e7, 0.0];
        assert!(
            (0..3).all(|k| (there[k] - origin[k] - here[k]).abs() < 1e-7),
            "{there:?} {here:?}"
        );
    }
    // A collider at a different origin loses its precision and is out of reach.
    let [_, cube] = far_meshes([0.0; 3]);
    bench.write("left.obj", &cube);
    let mesh =
        ["run", "--mesh", "sheet.obj", "--pin", "indices:0", "--frames", "1", "--backend", "cpu"];
    let ended = bench.poplin(&[&mesh[..], &["--collider", "left.obj"]].concat());
    let said = "collider `left` is 20000000 m from the origin of positions: they are rounded to multiples of 2.38 m there";
    assert!(ended.succeeds().stderr.contains(said), "{}", ended.stderr);
    let ended = bench.poplin(&[&mesh[..], &["--collider", "cube.obj"]].concat());
    assert!(!ended.succeeds().stderr.contains("count from"), "{}", ended.stderr);
    // The same for a collider that is moved away, or back.
    let [sheet, _] = far_meshes(far);
    bench.write("sheet.obj", &sheet);
    let mesh = ["run", "--mesh", "sheet.obj", "--pin", "all", "--frames", "1", "--backend", "cpu"];
    let ended = bench.poplin(&[&mesh[..], &["--translate", "-1e7,2e7,0"]].concat());
    assert!(!ended.succeeds().stdout.contains("origin"), "{}", ended.stdout);
    assert!(ended.stdout.contains("25 particles"), "{}", ended.stdout);
    let ended = bench.poplin(&[&mesh[..], &["--translate", "-1e7,2e7,1e9"]].concat());
    assert!(ended.succeeds().stdout.contains("origin (0, 0, 1000000003) m"), "{}", ended.stdout);
}

#[test]
fn thickness_is_the_mean_edge_unless_it_is_stated() {
    let bench = Bench::new("thick");
    let ended = run(&bench, &[]);
    assert!(ended.stdout.contains("thick  125.0 mm, the mean edge"), "{}", ended.stdout);
    assert!(ended.stdout.contains("tangle 0 particle pairs"), "{}", ended.stdout);
    let ended = run(&bench, &["--thickness", "0"]);
    assert!(!ended.stdout.contains("thick ") && !ended.stdout.contains("tangle"));
}

#[test]
fn rejects_invalid_positions() {
    let bench = Bench::new("no-position");
    bench.write("sheet.obj", &sheet());
    for (options, words) in [
        (["--translate", "1,2"], "three numbers"),
        (["--rotate", "1,2,x"], "not a number"),
        (["--translate", "0,1e30,0"], "outside"),
        (["--ground", "low"], "not a number"),
        (["--collider-scale", "0"], "outside"),
    ] {
        let mesh = ["run", "--mesh", "sheet.obj", "--pin", "none"];
        bench.poplin(&[&mesh[..], &options[..]].concat()).says(2, &[words]);
    }
    bench.poplin(&["run", "flag", "--rotate", "0,90,0"]).says(2, &["--rotate needs --mesh"]);
}
