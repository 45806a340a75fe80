//! Damaged scene files end in an error, not in a panic.

use poplin_scene::Scene;
use poplin_testkit::fuzz;

#[test]
fn mutated_scenes_never_panic() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../poplin-run/scenes");
    let samples = ["flag", "legs", "cape", "curtain", "ball", "meshes/walk"].map(|name| {
        let text = std::fs::read_to_string(format!("{folder}/{name}.toml")).unwrap();
        // The figure's path is relative to its scene, not to the parsed one.
        text.replace("figure.glb", &format!("{folder}/meshes/figure.glb")).into_bytes()
    });
    fuzz::run(&samples, 500, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let check = Scene::check_text(&text, "x.toml");
        for at in check.faults.iter().filter_map(|fault| fault.location()) {
            assert!(text.get(at.span.clone()).is_some(), "{:?} are no characters", at.span);
        }
        let parsed = Scene::parse(&text, "x.toml").is_ok();
        assert_eq!(parsed, check.faults.is_empty(), "{:?}", check.faults);
        parsed
    });
}
