//! Limits of numbers and counts.

use poplin_scene::{MAX_SCENE_PARTICLES, Shape};

use super::{message, parse, with};

#[test]
fn numbers_out_of_range_name_line_field_value_and_limit() {
    let cases = [
        (
            "density = -1",
            "scene.toml:3:1: cloth[0].density = -1 is outside 1e-9..=1000000000 kg/m^2",
        ),
        (
            "density = nan",
            "scene.toml:3:1: cloth[0].density = NaN is outside 1e-9..=1000000000 kg/m^2",
        ),
        ("count = 0", "scene.toml:3:1: cloth[0].count = 0 is outside 1..=268435456"),
        (
            "\nspacing = [0, inf, 0]",
            "scene.toml:4:1: cloth[0].spacing = inf is outside -1000000..=1000000 m",
        ),
        ("damping = [0, 2, 0]", "scene.toml:3:1: cloth[0].damping = 2 is outside 0..=1"),
        (
            "solver.pbd = { frequency = 0.1 }",
            "scene.toml:3:16: cloth[0].solver.pbd.frequency = 0.1 is outside 1..=10000",
        ),
        ("gravity = [0, nan, 0]", "scene.toml:3:1: cloth[0].gravity = NaN is outside -1e15..=1e15"),
        (
            "fabric = { max_fiber_length = 0 }",
            "scene.toml:3:12: cloth[0].fabric.max_fiber_length = 0 is outside 1..=16777216",
        ),
        (
            "fabric.weld = { relative = 1.5 }",
            "scene.toml:3:17: cloth[0].fabric.weld.relative = 1.5 is outside 0..=1",
        ),
        (
            "fabric.masses = [1, -0.1]",
            "scene.toml:3:21: cloth[0].fabric.masses[1] = -0.1 is outside 0..=1e15",
        ),
        (
            "[cloth.solver.pbd.phases.shearing]\nstretch_limit = 0.5",
            "scene.toml:4:1: cloth[0].solver.pbd.phases.shearing.stretch_limit = 0.5 is outside 1..=1000",
        ),
        ("air = { drag = 2 }", "scene.toml:3:9: cloth[0].air.drag = 2 is outside 0..=1"),
        ("air = { lift = nan }", "scene.toml:3:9: cloth[0].air.lift = NaN is outside 0..=1"),
        (
            "air = { density = -1 }",
            "scene.toml:3:9: cloth[0].air.density = -1 is outside 0..=1000000",
        ),
        (
            "inertia = { angular = [0, 0, 2] }",
            "scene.toml:3:13: cloth[0].inertia.angular = 2 is outside 0..=1",
        ),
        (
            "[cloth.sleep]\ntest_interval = 0",
            "scene.toml:4:1: cloth[0].sleep.test_interval = 0 is outside 1..=60000",
        ),
        (
            "[cloth.wind]\nvelocity = [0, nan, 0]",
            "scene.toml:4:1: cloth[0].wind.velocity = NaN is outside -1000..=1000 m/s",
        ),
        (
            "[cloth.wind]\ngust = { strength = -1 }",
            "scene.toml:4:10: cloth[0].wind.gust.strength = -1 is outside 0..=1000 m/s",
        ),
        (
            "[cloth.wind]\ngust = { strength = 1, period = -0.5 }",
            "scene.toml:4:24: cloth[0].wind.gust.period = -0.5 is outside 0.01..=1000000 s",
        ),
        (
            "[cloth.wind.gust]\ndirection_spread = 1.5",
            "scene.toml:4:1: cloth[0].wind.gust.direction_spread = 1.5 is outside 0..=1",
        ),
        (
            "[cloth.frame]\nkeys = [{ time = 0, rotation = [0, inf, 0] }]",
            "scene.toml:4:21: cloth[0].frame.keys[0].rotation = inf is outside -36000..=36000 degrees",
        ),
        (
            "[cloth.frame]\nkeys = [{ time = nan }]",
            "scene.toml:4:11: cloth[0].frame.keys[0].time = NaN is outside 0..=1000000 s",
        ),
        (
            "transform = { scale = 0 }",
            "scene.toml:3:15: cloth[0].transform.scale = 0 is outside 1e-6..=1000000",
        ),
    ];
    for (lines, expected) in cases {
        assert_eq!(message(&with(lines)), expected);
    }
    assert_eq!(message("frames = 0\n"), "scene.toml:1:1: frames = 0 is outside 1..=1000000");
    assert_eq!(
        message(&format!("[wind]\nvelocity = [0, 1e4, 0]\n{}", with(""))),
        "scene.toml:2:1: wind.velocity = 10000 is outside -1000..=1000 m/s"
    );
    assert!(
        message(&with("[cloth.wind]\ngust = { seed = -1 }"))
            .starts_with("scene.toml:4:17: cloth[0].wind.gust.seed: invalid value")
    );
    assert_eq!(
        message("frame_rate = 0\n"),
        "scene.toml:1:1: frame_rate = 0 is outside 0.1..=10000 1/s"
    );
}

#[test]
fn grids_out_of_range_are_rejected_before_generation() {
    let grid = |columns: u32, rows: u32| {
        message(&format!(
            "[[cloth]]\ngrid = {{ columns = {columns}, rows = {rows}, width = 1, height = 1 }}"
        ))
    };
    assert_eq!(grid(0, 5), "scene.toml:2:10: cloth[0].grid.columns = 0 is outside 2..=4294967295");
    assert_eq!(
        grid(100_000, 10_000),
        "scene.toml:2:1: cloth[0].grid asks for 1000000000 particles; the limit is 16777216 per cloth"
    );
    assert!(grid(u32::MAX, u32::MAX).contains("asks for 18446744065119617025 particles"));
}

#[test]
fn all_copies_together_are_limited() {
    assert_eq!(
        message(&with("count = 100000000")),
        "scene.toml:3:1: cloth[0].count asks for 1200000000 particles; the limit is 268435456 per scene"
    );
    assert_eq!(MAX_SCENE_PARTICLES, 268_435_456);
}

#[test]
fn a_shape_changed_after_the_check_is_checked_again() {
    let mut scene = parse(&with("")).unwrap();
    if let Shape::Grid(grid) = &mut scene.cloths[0].shape {
        grid.rows = 0;
    }
    assert!(scene.build_cloth(0).is_err());
}
