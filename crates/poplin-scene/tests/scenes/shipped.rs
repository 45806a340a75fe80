//! Shipped scenes, and those of the documentation.

use poplin_scene::{Scene, Shape};

use super::{parse, shipped};

#[test]
fn every_shipped_scene_builds() {
    let mut count = 0;
    for entry in std::fs::read_dir(shipped()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let scene = Scene::load(&path).unwrap();
            let colliders = scene.build_colliders().unwrap();
            for index in 0..scene.cloths.len() {
                let built = scene.build_cloth(index).unwrap();
                assert!(
                    !built.pinned.is_empty() || !colliders.is_empty(),
                    "{}: nothing holds it",
                    path.display()
                );
            }
            count += 1;
        }
    }
    assert!(count >= 3);
}

#[test]
fn the_curtain_hangs_on_nine_moving_hooks() {
    let built = Scene::load(shipped().join("curtain.toml")).unwrap().build_cloth(0).unwrap();
    assert_eq!(built.moving.len(), 9);
    assert!(built.moving.iter().all(|hook| hook.vertices.len() > 3), "a spike at each");
    assert_eq!(built.moving[8].motion(10.0).apply([0.0; 3]), [-1.2, 0.0, -0.08]);
}

#[test]
fn the_scenes_of_the_documentation_are_valid() {
    let source = include_str!("../../src/lib.rs");
    let mut blocks = 0;
    for block in source.split("//! ```toml\n").skip(1) {
        let lines = block
            .lines()
            .take_while(|line| *line != "//! ```")
            .map(|line| line.trim_start_matches("//!").trim_start());
        let text: Vec<_> = lines.collect();
        let scene = parse(&text.join("\n")).unwrap();
        scene.build_cloth(0).unwrap();
        scene.build_colliders().unwrap();
        blocks += 1;
    }
    assert_eq!(blocks, 5);
}

#[test]
fn mutated_scenes_never_panic() {
    let mut random = poplin_geometry::Rng::new(1);
    let mut next = move |bound: usize| random.index(bound);
    let alphabet = b"0123456789-.e[]{}=\"', \n#axn";
    let good = ["cape.toml", "legs.toml", "drape.toml"]
        .map(|name| std::fs::read(shipped().join(name)).unwrap());
    // The nightly run damages twenty times as many scenes.
    let count = if std::env::var_os("POPLIN_NIGHTLY").is_some() { 20_000 } else { 1000 };
    for round in 0..count {
        let mut bytes = good[round % good.len()].clone();
        for _ in 0..1 + next(4) {
            let at = next(bytes.len());
            match next(3) {
                0 => bytes[at] = alphabet[next(alphabet.len())],
                1 => bytes.insert(at, alphabet[next(alphabet.len())]),
                _ => drop(bytes.drain(at..(at + next(40)).min(bytes.len()))),
            }
        }
        if let Ok(scene) = Scene::parse(&String::from_utf8_lossy(&bytes), "mutant.toml") {
            let is_small = |scene: &Scene| matches!(&scene.cloths[0].shape, Shape::Tube(tube) if tube.particle_count() < 100_000);
            if let Ok(built) = scene.build_colliders() {
                built.iter().for_each(|it| it.shape_at(0.7).unwrap().validate().unwrap());
            }
            if is_small(&scene) {
                let _ = scene.build_cloth(0);
            }
        }
    }
}
