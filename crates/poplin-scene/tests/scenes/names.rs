//! Unknown keys and names.

use super::{message, parse, with};

#[test]
fn keys_of_other_tables_are_rejected_with_their_path() {
    for (lines, expected) in [
        (
            "friction = 0.4",
            "scene.toml:3:1: `friction` is not a key in [[cloth]]; write `contact.friction` or `self_collision.friction` in \
             [[cloth]]",
        ),
        ("copies = 3", "scene.toml:3:1: unknown key `copies` in [[cloth]]; did you mean `count`?"),
        ("mass = 3", "scene.toml:3:1: unknown key `mass` in [[cloth]]; did you mean `density`?"),
        (
            "translation = [0, 1, 0]",
            "scene.toml:3:1: `translation` is not a key in [[cloth]]; write `transform.translation` or \
             `animated_pins.keys.translation` or `frame.keys.translation` in [[cloth]]",
        ),
        (
            "\nsolver_frequency = 600",
            "scene.toml:4:1: `solver_frequency` is not a key in [[cloth]]; write `solver.pbd.frequency` or \
             `solver.xpbd.frequency` or `solver.implicit.frequency` or `solver.multilevel.frequency` in [[cloth]]",
        ),
        (
            "fabric = { density = 0.3 }",
            "scene.toml:3:12: `density` is not a key in [cloth.fabric]; write `density` in [[cloth]]",
        ),
        (
            "fabric.gravity = [1, 0, 0]",
            "scene.toml:3:8: `gravity` is not a key in [cloth.fabric]; write `gravity` in [[cloth]]",
        ),
        (
            "[cloth.fabric]\npins = [3]",
            "scene.toml:4:1: `pins` is not a key in [cloth.fabric]; write `pins` in [[cloth]]",
        ),
    ] {
        assert_eq!(message(&with(lines)), expected);
    }
}

#[test]
fn unknown_names_come_with_a_suggestion() {
    assert_eq!(
        message(&with("denisty = 0.2")),
        "scene.toml:3:1: unknown key `denisty` in [[cloth]]; did you mean `density`?"
    );
    assert_eq!(
        message(&with("fabric = { tethers = \"geodesik\" }")),
        "scene.toml:3:22: unknown value `geodesik` in [cloth.fabric]; did you mean `geodesic`?"
    );
    assert_eq!(
        message(&with("solver.pbd = { freqency = 300 }")),
        "scene.toml:3:16: unknown key `freqency` in [cloth.solver.pbd]; did you mean `frequency`?"
    );
    assert_eq!(
        message("hats = 3\n"),
        "scene.toml:1:1: unknown key `hats` at the top of the file; expected one of `title`, `frames`, `frame_rate`, `formats`, `wind`, `camera`, `cloth_contact_solver`, `cloth`, `collider`"
    );
    assert_eq!(
        message(&with("[cloth.wind]\ngusts = 1")),
        "scene.toml:4:1: unknown key `gusts` in [cloth.wind]; did you mean `gust`?"
    );
    assert_eq!(
        message("[wind]\ngust = { strenght = 1 }"),
        "scene.toml:2:10: unknown key `strenght` in [wind.gust]; did you mean `strength`?"
    );
    assert_eq!(
        message(&with("frame = { keys = [{ time = 0, rotaton = [0, 0, 0] }] }")),
        "scene.toml:3:31: unknown key `rotaton` in [[cloth.frame.keys]]; did you mean `rotation`?"
    );
    assert!(
        message(&with("[cloth.solver.pbd.phases.bending]\nstifness = 1"))
            .contains("in [cloth.solver.pbd.phases.bending]; did you mean `stiffness`?")
    );
}

#[test]
fn cloth_names_are_unique() {
    let named = |name: &str| with(&format!("name = '{name}'"));
    assert_eq!(
        message(&(named("a") + &named("b") + &named("a"))),
        "scene.toml:9:1: cloth[2].name: `a` is the name of cloth[0], too; colliders and files refer to cloths by name, so \
         each cloth needs its own"
    );
    // Default names count, too.
    assert!(message(&(named("cloth 1") + &with(""))).contains("4:1: cloth[1].name: `cloth 1`"));
    assert_eq!(parse(&(named("a") + &named("A") + &with(""))).unwrap().cloths.len(), 3);
}
