//! Pins, keyframes, wind and camera.

use poplin_model::{Particle, View};

use super::{message, parse, with};

#[test]
fn vertices_without_faces_are_ignored_by_pin_rules() {
    let mut mesh = poplin_model::Mesh::grid(3, 3, 1.0, 1.0);
    mesh.positions.push([0.0, 0.0, -90.0]);
    let picked =
        |rule: &str| rule.parse::<poplin_scene::PinRule>().unwrap().select_in(&mesh).unwrap();
    assert_eq!(picked("back:1%"), [0, 1, 2]);
    assert_eq!(picked("indices:9"), [9]);
}

#[test]
fn a_scene_states_its_camera() {
    let lines = |camera: &str| format!("[camera]\n{camera}\n{}", with(""));
    let view = parse(&lines("azimuth = 90")).unwrap().view.unwrap();
    assert_eq!((view.azimuth, view.elevation), (90.0, 16.0));
    assert_eq!(
        message(&lines("elevation = 90")),
        "scene.toml:2:1: camera.elevation = 90 is outside -89..=89 degrees"
    );
    for (text, expected) in [("top", View::TOP), ("90,0", View::SIDE)] {
        assert_eq!(text.parse(), Ok(expected));
    }
    assert!(
        "above"
            .parse::<View>()
            .unwrap_err()
            .to_string()
            .starts_with("`above` is not a camera: expected front")
    );
    assert!("nan,0".parse::<View>().is_err());
}

#[test]
fn copies_are_offset_by_the_spacing() {
    let scene = parse(&with("count = 3\nspacing = [1.5, 0.0, -1.0]")).unwrap();
    assert_eq!(scene.cloths[0].copy_offset(2), [3.0, 0.0, -2.0]);
}

#[test]
fn pins_are_selected_before_the_transform() {
    let built = parse(&with(
        "pins = \"top:0%\"\ntransform = { rotation = [0, 0, 180], translation = [5, 0, 0] }",
    ))
    .unwrap()
    .build_cloth(0)
    .unwrap();
    assert_eq!(built.pinned, [0, 1, 2]);
    assert!((built.mesh.positions[2][0] - 4.0).abs() < 1e-6);
}

#[test]
fn a_cloth_has_exactly_one_shape() {
    assert_eq!(
        message("[[cloth]]\nname = 'x'\n"),
        "scene.toml:1:1: cloth[0] needs exactly one of `grid`, `tube` and `mesh`; it has none"
    );
    assert_eq!(
        message(&with("mesh = 'shirt.obj'")),
        "scene.toml:1:1: cloth[0] needs exactly one of `grid`, `tube` and `mesh`; it has `grid`, `mesh`"
    );
}

#[test]
fn a_scene_needs_a_cloth() {
    assert_eq!(
        message("title = 'empty'\n"),
        "scene.toml:1:1: cloth is empty; it needs at least one [[cloth]]"
    );
}

#[test]
fn faulty_pins_are_reported_with_their_line() {
    assert!(
        message(&with("pins = ['top:1%',\n  'topp:1%']"))
            .starts_with("scene.toml:4:3: cloth[0].pins[1]: cannot read the pin rule `topp:1%`: no such rule; accepted are ")
    );
    assert!(message(&with("pins = 'indices:12'")).starts_with(
        "scene.toml:3:1: cloth[0].pins[0]: the pin rule `indices:12` names vertex 12"
    ));
    let beyond = message(&with("pins = [3, 12]"));
    assert!(beyond.starts_with("scene.toml:3:"), "{beyond}");
    assert!(
        beyond.contains("cloth[0].pins[1]: the pin rule `indices:12` names vertex 12"),
        "{beyond}"
    );
    assert!(message(&with("pins = 'box:9,9,9,9,9,9'")).contains("selects none of the 12 vertices"));
    assert!(
        message(&with("pins = true")).contains(
            "expected a pin rule like \"top:3%\", the index of a vertex, or a list of them"
        )
    );
}

#[test]
fn keyframes_must_rise_in_time() {
    let keys = |keys: &str| {
        message(&with(&format!("animated_pins = [{{ pins = 'all', keys = [{keys}] }}]")))
    };
    let key = |time: f32| format!("{{ time = {time}, translation = [0, 0, 0] }}");
    assert_eq!(
        keys(&format!("{}, {}", key(1.0), key(1.0))),
        "scene.toml:3:81: cloth[0].animated_pins[0].keys[1]: time 1 s is not after the previous key at 1 s"
    );
    assert!(
        keys("")
            .contains("cloth[0].animated_pins[0].keys is empty; it needs at least one keyframe")
    );
    assert!(
        message(&with("animated_pins = [{ pins = 'all' }]"))
            .contains("cloth[0].animated_pins[0].keys is empty; it needs at least one keyframe")
    );
    assert!(keys(&key(-1.0)).contains("keys[0].time = -1 is outside 0..=1000000 s"));
}

#[test]
fn released_pins_need_no_keyframes_and_are_not_pinned() {
    let released = "animated_pins = [{ pins = 'top:0%', release = 0.5 }]";
    let built = parse(&with(released)).unwrap().build_cloth(0).unwrap();
    assert_eq!((built.pinned.len(), built.moving[0].vertices.len()), (0, 3));
    assert_eq!(built.moving[0].motion(9.0).apply([1.0, 2.0, 3.0]), [1.0, 2.0, 3.0]);
    assert!(
        message(&with("animated_pins = [{ pins = 'all', release = -1 }]"))
            .contains("cloth[0].animated_pins[0].release = -1 is outside 0..=1000000 s")
    );
    assert_eq!(
        message(&with(&format!("pins = 'corner:top-left'\n{released}"))),
        "scene.toml:4:18: cloth[0].animated_pins[0].release lets vertex 0 go, which other pins of the cloth hold"
    );
}

#[test]
fn a_cloth_turns_about_the_center_of_mass_of_its_free_vertices() {
    let text = with("velocity = [1, 0, 0]\nangular_velocity = [0, 0, 90]");
    let scene = parse(&text).unwrap();
    let particle = |x, inverse_mass| Particle { position: [x, 0.0, 0.0], inverse_mass };
    // 1 kg at 0 m and 0.5 kg at 3 m: center at 1 m.
    let particles = [particle(0.0, 1.0), particle(3.0, 2.0), particle(5.0, 0.0)];
    let velocities = scene.cloths[0].velocities(&particles);
    let quarter = std::f32::consts::FRAC_PI_2;
    assert_eq!(velocities, [[1.0, -quarter, 0.0], [1.0, 2.0 * quarter, 0.0], [0.0; 3]]);
    assert_eq!(parse(&with("")).unwrap().cloths[0].velocities(&particles), [[0.0; 3]; 0]);
    assert!(
        message(&with("velocity = [0, 20000, 0]"))
            .contains("cloth[0].velocity = 20000 is outside -10000..=10000 m/s")
    );
}

#[test]
fn frames_need_keyframes_that_rise_in_time() {
    assert_eq!(
        message(&with("frame = { keys = [] }")),
        "scene.toml:3:11: cloth[0].frame.keys is empty; it needs at least one keyframe"
    );
    assert_eq!(
        message(&with("frame = { keys = [\n{ time = 1 },\n{ time = 0.5 }] }")),
        "scene.toml:5:1: cloth[0].frame.keys[1]: time 0.5 s is not after the previous key at 1 s"
    );
}

#[test]
fn a_cloth_has_one_wind() {
    let expected =
        "cloth[0].air.wind_velocity is set beside a `wind` of the cloth or the scene; set only one";
    let settings = "air = { drag = 0.1, wind_velocity = [1, 0, 0] }";
    assert_eq!(
        message(&with(&format!("{settings}\nwind = {{}}"))),
        format!("scene.toml:3:21: {expected}")
    );
    assert_eq!(
        message(&format!("wind = {{}}\n{}", with(settings))),
        format!("scene.toml:4:21: {expected}")
    );
    assert_eq!(parse(&with(settings)).unwrap().cloths[0].wind, None);
}

#[test]
fn a_cloth_inherits_the_wind_of_the_scene() {
    let text = format!("wind = {{ velocity = [3, 0, 0] }}\n{}{}", with(""), with("wind = {}"));
    let winds =
        parse(&text).unwrap().cloths.into_iter().map(|cloth| cloth.wind.unwrap().velocity_at(0.5));
    assert_eq!(winds.collect::<Vec<_>>(), [[3.0, 0.0, 0.0], [0.0; 3]]);
}

#[test]
fn two_animations_may_not_move_one_vertex() {
    let animated = "{ pins = 'top:0%', keys = [{ time = 0, translation = [0, 0, 0] }] }";
    let text = with(&format!("animated_pins = [\n{animated},\n{animated}]"));
    assert_eq!(
        message(&text),
        "scene.toml:5:1: cloth[0].animated_pins[1] moves vertex 0, which an earlier animation of the cloth moves"
    );
}
