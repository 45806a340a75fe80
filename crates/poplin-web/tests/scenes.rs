//! Scenes of the page on the CPU backend.

use poplin::{Backend, Simulation};
use poplin_web::{NAMES, Scene, WebError};

#[test]
fn every_scene_moves_and_stays_in_its_frame() {
    for name in NAMES {
        let scene = Scene::new(name).unwrap();
        let mut simulation = Simulation::new(Backend::Cpu).unwrap();
        for shape in &scene.shapes {
            simulation.colliders_mut().add(shape.clone()).unwrap();
        }
        let cloth = simulation.add(scene.cloth.clone()).unwrap();
        for frame in 0..10 {
            scene.prepare(simulation.cloth_mut(cloth).unwrap(), frame).unwrap();
            simulation.step(1.0 / 60.0).unwrap();
        }
        let state = simulation.state().unwrap();
        assert_eq!(state.fault_count(cloth), 0, "{name}");
        let pose = simulation.cloth(cloth).unwrap().pose();
        let begin = scene.cloth.particles.iter().map(|it| scene.cloth.pose.apply(it.position));
        let mut farthest = 0.0_f32;
        for (begin, end) in begin.zip(state.positions(cloth).map(|it| pose.apply(it))) {
            let [low, high] = scene.framed;
            let is_framed =
                (0..3).all(|k| (low[k] - 0.05..high[k] + 0.05).contains(&f64::from(end[k])));
            assert!(is_framed, "{name}: {end:?}");
            farthest = (0..3).map(|k| (begin[k] - end[k]).abs()).fold(farthest, f32::max);
        }
        assert!(farthest > 0.01, "{name}: {farthest} m");
    }
}

#[test]
fn an_unknown_scene_lists_all_scenes() {
    let error = Scene::new("cape").unwrap_err();
    assert!(matches!(&error, WebError::NoSuchScene { name } if name == "cape"));
    assert_eq!(error.to_string(), "there is no scene `cape`; available: ball, flag, skirt");
}
