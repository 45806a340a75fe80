//! Shipped scenes, each run to its end in a test of its own: together they take minutes.

use crate::bench::Bench;

/// Makes one test for each scene, and a test that no scene is missing.
macro_rules! scene_tests {
    ($($name:ident)+) => {
        $(#[test]
        fn $name() {
            assert_scene_ends_without_a_warning(stringify!($name));
        })+

        #[test]
        fn every_scene_has_a_test() {
            let bench = Bench::new("shipped");
            let ended = bench.poplin(&["scenes"]);
            let lines = ended.succeeds().stdout.lines();
            let names: Vec<_> = lines.filter_map(|line| line.split_whitespace().next()).collect();
            assert_eq!(names, [$(stringify!($name)),+]);
        }
    };
}

scene_tests! {
    flag curtain cape skirt drape ball legs layers dress tablecloth catch handkerchiefs
}

/// Runs a scene with `--strict`: its cloth stays finite, nearly unstretched and outside colliders.
fn assert_scene_ends_without_a_warning(name: &str) {
    let bench = Bench::new(&format!("shipped-{name}"));
    let run = ["run", name, "--backend", "cpu", "--no-cache", "--picture", "none", "--strict"];
    bench.poplin(&run).succeeds();
    let summary = bench.json(&format!("out/{name}/summary.json"));
    let strain = summary["p99_edge_strain"].as_f64().unwrap();
    assert!(summary["finite"] == true && strain < 0.03, "{name}: {strain}");
    let depth = summary["collider_depth"]["deepest_m"].as_f64().unwrap();
    assert!(depth < 1e-3, "{name}: a particle is {depth} m deep in a collider");
}
