//! Settings of self collision: thickness, refusals, changes during the simulation.

use poplin::cook::{CookOptions, cook};
use poplin::model::{ClothDesc, Mesh, Particle};
use poplin_cpu::{HostCloth, ReferenceEngine};
use poplin_host::Engine as _;
use poplin_layout::Stage;
use poplin_testkit::nth_cloth;
use poplin_testkit::scenes::loose_particles as loose;

use super::{apart, distance};

#[test]
fn thickness_enables_self_collision() {
    let mut cloth =
        cook(&Mesh::grid(11, 11, 1.0, 1.0), &CookOptions::default()).unwrap().into_cloth();
    assert_eq!(cloth.contact_distances()[0], 0.0);
    assert!(!HostCloth::new(cloth.clone()).unwrap().stages().contains(Stage::SelfCollide));
    cloth.config.thickness = 0.01;
    assert!(
        (cloth.contact_distances()[0] - 0.1).abs() < 1e-6,
        "the spacing, below which layers slip through"
    );
    assert!(HostCloth::new(cloth.clone()).unwrap().stages().contains(Stage::SelfCollide));
    cloth.config.thickness = 0.2;
    assert_eq!(cloth.contact_distances()[0], 0.2);
    cloth.config.self_collision.distance = Some(0.05);
    assert_eq!(cloth.contact_distances()[0], 0.05);
    cloth.config.self_collision.distance = Some(0.0);
    assert!(!HostCloth::new(cloth).unwrap().stages().contains(Stage::SelfCollide));
}

#[test]
fn bad_settings_are_refused_by_name() {
    let refusal = |edit: fn(&mut ClothDesc)| {
        let mut cloth = loose(vec![[0.0, 0.0, 0.0, 1.0]; 3]);
        edit(&mut cloth);
        HostCloth::new(cloth).unwrap_err().to_string()
    };
    let messages = [
        refusal(|cloth| cloth.config.thickness = -1.0),
        refusal(|cloth| cloth.config.self_collision.distance = Some(f32::NAN)),
        refusal(|cloth| cloth.config.self_collision.friction = 1.5),
        refusal(|cloth| cloth.self_collision_indices = vec![0, 3]),
        refusal(|cloth| cloth.self_collision_indices = vec![2, 0, 2]),
        refusal(|cloth| cloth.rest_positions = vec![[0.0; 3]; 2]),
        refusal(|cloth| cloth.rest_positions = vec![[0.0, f32::INFINITY, 0.0]; 3]),
    ];
    let expected = [
        "thickness",
        "self_collision.distance",
        "self_collision.friction",
        "self_collision_indices[1] is 3, but there are only 3",
        "self_collision_indices[2] is 2, which is already in the list",
        "rest_positions",
        "rest_positions",
    ];
    for (message, expected) in messages.iter().zip(expected) {
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn changed_settings_apply_from_the_next_frame() {
    let mut engine = ReferenceEngine::new();
    let mut cloth = apart(vec![[0.0, 0.0, 0.0, 1.0], [0.04, 0.0, 0.0, 1.0]], 0.1);
    cloth.config.self_collision.distance = None;
    engine.add(cloth).unwrap();
    let gap = |engine: &ReferenceEngine| {
        let rows = Particle::rows(engine.current(nth_cloth(0)));
        distance(&rows[0], &rows[1])
    };
    engine.step(1.0 / 60.0).unwrap();
    assert_eq!(gap(&engine), f64::from(0.04f32));
    let host = engine.cloth_mut(nth_cloth(0)).unwrap();
    let mut config = host.desc().config.clone();
    config.self_collision.distance = Some(0.1);
    host.set_config(config).unwrap();
    host.set_self_collision_indices(&[1]).unwrap();
    engine.step(1.0 / 60.0).unwrap();
    assert_eq!(gap(&engine), f64::from(0.04f32));
    engine.cloth_mut(nth_cloth(0)).unwrap().set_self_collision_indices(&[]).unwrap();
    engine.cloth_mut(nth_cloth(0)).unwrap().set_rest_positions(&[[0.0; 3]; 2]).unwrap();
    engine.step(1.0 / 60.0).unwrap();
    assert_eq!(gap(&engine), f64::from(0.04f32));
    engine.cloth_mut(nth_cloth(0)).unwrap().set_rest_positions(&[[0.0; 3], [1.0; 3]]).unwrap();
    engine.step(1.0 / 60.0).unwrap();
    assert!(gap(&engine) > 0.0999, "{}", gap(&engine));
}
