//! Tests of sweeps.

use super::*;

const SCENE: &str = "\
[[cloth]]
name = \"flag\"
grid = { columns = 3, rows = 3, width = 1.0, height = 1.0 }
damping = [0.1, 0.2, 0.3]
[[cloth]]
grid = { columns = 4, rows = 4, width = 1.0, height = 1.0 }
[[collider]]
name = \"left arm\"
sphere = { radius = 1 }
keys = [{ time = 0.0 }, { time = 1.0, translation = [0, 1, 0] }]
";

fn jobs(sweep: &str) -> Result<SweepJobs, SweepError> {
    let scene = Scene::parse(SCENE, "scene.toml").unwrap();
    Sweep::parse(format!("scene = \"scene.toml\"\n{sweep}"), "sweep.toml")?.of_scene(&scene)
}

fn vary(key: &str, values: &str) -> String {
    format!("[[vary]]\nkey = '{key}'\n{values}\n")
}

fn refused(sweep: &str) -> String {
    jobs(sweep).unwrap_err().to_string()
}

fn all(jobs: &SweepJobs) -> Vec<String> {
    (0..jobs.count()).map(|job| serde_json::to_string(&jobs.values(job)).unwrap()).collect()
}

#[test]
fn paths_reach_every_kind_of_key() {
    let sweep = [
        vary("cloth[0].density", "values = [0.5]"),
        vary("cloth.flag.damping[1]", "values = [0.9]"),
        vary(
            "cloth.\"cloth 1\".grid.columns",
            "linear = { from = 5, to = 5, count = 1 }\nwhole = true",
        ),
        vary("collider.left arm.keys[1].translation", "values = [[0, 2, 0]]"),
        vary("wind.gust.strength", "values = [3]"),
        vary("cloth.flag.fabric.tethers", "values = ['none']"),
        vary("frame_rate", "values = [30]"),
    ];
    let scene = jobs(&sweep.concat()).unwrap().scene_of(0).unwrap();
    assert_eq!(scene.cloths[0].fabric.density, 0.5);
    assert_eq!(scene.cloths[0].config.damping, [0.1, 0.9, 0.3]);
    assert_eq!(scene.colliders[0].keys[1].translation, [0.0, 2.0, 0.0]);
    assert_eq!(scene.cloths[1].wind.unwrap().gust.strength, 3.0);
    assert_eq!(scene.cloths[0].fabric.tethers, poplin_cook::Tethers::None);
    assert_eq!(scene.frame_rate, 30.0);
    let super::super::Shape::Grid(grid) = &scene.cloths[1].shape else { panic!() };
    assert_eq!(grid.columns, 5);
}

#[test]
fn unknown_paths_suggest_similar_names() {
    let one = |key: &str| refused(&vary(key, "values = [1]"));
    for (key, expected) in [
        ("cloth.density", "the scene has no cloth `density`; there are `flag`, `cloth 1`"),
        ("cloth", "does not say which cloth: write `cloth[0]` or `cloth.NAME`"),
        ("cloth[2].density", "no cloth `2`"),
        ("cloth.falg.density", "did you mean `flag`?"),
        (
            "cloth[0].densty",
            "sweep.toml:3:1: vary[0].key: `cloth[0].densty`: unknown key `densty` in [[cloth]]; did you mean `density`?",
        ),
        ("cloth[0].friction", "write `contact.friction`"),
        ("cloth[0].damping[3]", "cloth[0].damping has only 3, counted from 0"),
        ("cloth[0].gravity[1]", "cloth[0].gravity is not stated in the scene"),
        ("cloth[0].name.x", "cloth[0].name is a text, not a table: it has no key `x`"),
        ("cloth[0]..x", "is not the path of a key"),
    ] {
        assert!(one(key).contains(expected), "{key}: {}", one(key));
    }
    let twice =
        vary("cloth[0].density", "values = [1]") + &vary("cloth.flag.density", "values = [2]");
    assert!(refused(&twice).contains("varied twice"));
}

#[test]
fn axes_are_crossed_and_zipped_ones_advance_together() {
    let sweep = [
        vary("cloth[0].density", "values = [1.0, 2.0]"),
        vary("cloth[0].damping[0]", "linear = { from = 0.0, to = 1.0, count = 3 }\nzip = 'a'"),
        vary("cloth[0].damping[1]", "log = { from = 0.01, to = 1.0, count = 3 }\nzip = 'a'"),
    ];
    let jobs = jobs(&sweep.concat()).unwrap();
    let expected = [
        "[1.0,0.0,0.01]",
        "[1.0,0.5,0.1]",
        "[1.0,1.0,1.0]",
        "[2.0,0.0,0.01]",
        "[2.0,0.5,0.1]",
        "[2.0,1.0,1.0]",
    ];
    assert_eq!(all(&jobs), expected);
    let uneven = sweep[1].clone() + &vary("cloth[0].density", "values = [1]\nzip = 'a'");
    assert!(
        refused(&uneven)
            .contains("zipped as `a` and has 1 values, but the first parameter of that name has 3")
    );
}

#[test]
fn random_values_depend_only_on_seed_and_job() {
    let sweep = |seed: u32, count: u32| {
        let random = vary("cloth[0].density", "values = [1.0, 2.0]")
            + &vary("cloth[0].damping[0]", "uniform = [0.0, 1.0]")
            + &vary("cloth[1].grid.rows", "log_uniform = [2, 9]\nwhole = true");
        all(&jobs(&format!("seed = {seed}\ncount = {count}\n{random}")).unwrap())
    };
    let all = sweep(1, 4);
    assert_eq!(all.len(), 8);
    assert_eq!(all, sweep(1, 4));
    assert_ne!(all, sweep(2, 4));
    let distinct: std::collections::BTreeSet<_> = all.iter().collect();
    assert_eq!(distinct.len(), 8);
    // Pinned value: a job must be the same in every version.
    assert_eq!(all[5], GOLDEN);
}

/// Values of job 5 of the sweep above.
const GOLDEN: &str = "[2.0,0.49032357,4]";

#[test]
fn invalid_values_are_reported_without_a_line() {
    let jobs = jobs(&vary("cloth[0].density", "values = [1, -1]")).unwrap();
    let error = jobs.scene_of(1).unwrap_err().to_string();
    assert_eq!(error, "cloth[0].density = -1 is outside 1e-9..=1000000000 kg/m^2");
}

#[test]
fn kinds_of_values_are_checked() {
    for (values, expected) in [
        ("", "needs exactly one of `values`"),
        ("values = [1]\nuniform = [0, 1]", "needs exactly one of"),
        ("values = []", "needs at least one value"),
        ("log = { from = 0, to = 1, count = 2 }", "must be above 0"),
        ("uniform = [2, 1]", "must be [least, most]"),
        ("glob = 'no-such-*.obj'", "matches no file"),
        ("linear = { from = 0, to = 1, count = 0 }", "count"),
        ("uniform = [0, 1]\nzip = 'a'", "cannot advance together"),
    ] {
        let text = refused(&vary("cloth[0].density", values));
        assert!(text.contains(expected), "{values}: {text}");
    }
    let many = "linear = { from = 0.0, to = 1.0, count = 10000 }";
    let many = vary("cloth[0].damping[0]", many) + &vary("cloth[0].damping[1]", many);
    assert!(refused(&many).contains("100000000 jobs; the limit is 10000000"));
}
