//! Keys that stand elsewhere in a cloth than where they were looked for.

use poplin_cook::CookOptions;

use super::SceneError;
use super::locate::Source;

/// Keys of former scenes, most of them in the `config` of a cloth, and what replaces them in `[[cloth]]`.
const MOVED: [(&str, &str); 37] = [
    ("config", "its settings, such as `contact.friction`, without it"),
    ("phases", "`solver.pbd.phases`"),
    ("weld_tolerance", "`fabric.weld = { distance = ... }`"),
    ("solver_frequency", "`solver.pbd.frequency`"),
    ("acceleration_filter_width", "`solver.pbd.acceleration_filter_width`"),
    ("bending_rigidity", "`solver.xpbd.bending_rigidity`"),
    ("bending_damping", "`solver.xpbd.bending_damping`"),
    ("tether_stiffness", "`tethers.stiffness`"),
    ("tether_scale", "`tethers.scale`"),
    ("wind_velocity", "`air.wind_velocity`"),
    ("drag_coefficient", "`air.drag`"),
    ("lift_coefficient", "`air.lift`"),
    ("fluid_density", "`air.density`"),
    ("linear_inertia", "`inertia.linear`"),
    ("angular_inertia", "`inertia.angular`"),
    ("centrifugal_inertia", "`inertia.centrifugal`"),
    ("linear_drag", "`inertia.linear_drag`"),
    ("angular_drag", "`inertia.angular_drag`"),
    ("motion_scale", "`motion.scale`"),
    ("motion_bias", "`motion.bias`"),
    ("motion_stiffness", "`motion.stiffness`"),
    ("friction", "`contact.friction`"),
    ("friction_slop", "`contact.friction_slop`"),
    ("friction_holds", "`contact.friction_holds`"),
    ("collision_mass_scale", "`contact.mass_scale`"),
    ("continuous_collision", "`contact.continuous`"),
    ("continuous_reach", "`contact.continuous_reach`"),
    ("self_collision_distance", "`self_collision.distance`"),
    ("self_collision_stiffness", "`self_collision.stiffness`"),
    ("self_collision_friction", "`self_collision.friction`"),
    ("limit_velocity", "`self_collision.limit_velocity`"),
    ("cloth_collision_distance", "`cloth_collision.distance`"),
    ("collision_group", "`cloth_collision.group`"),
    ("collision_mask", "`cloth_collision.mask`"),
    ("sleep_threshold", "`sleep.threshold`"),
    ("sleep_test_interval", "`sleep.test_interval`"),
    ("sleep_after_count", "`sleep.after_count`"),
];

/// What replaces an unknown key, if it was one once.
pub(super) fn moved_key(name: &str) -> Option<&'static str> {
    MOVED.iter().find(|(old, _)| *old == name).map(|(_, instead)| *instead)
}

/// Refuses options of cooking that the cloth itself has a key for.
pub(super) fn refuse_keys_of_the_cloth(
    fabric: &CookOptions,
    field: &str,
    source: &Source<'_>,
) -> Result<(), SceneError> {
    let default = CookOptions::default();
    let keys = [
        ("density", "`density`", fabric.density != default.density),
        ("gravity", "`gravity`", fabric.gravity != default.gravity),
        ("pins", "`pins`", fabric.pins != default.pins),
    ];
    match keys.into_iter().find(|(_, _, is_set)| *is_set) {
        Some((name, instead, _)) => Err(SceneError::Moved {
            at: source.location(&format!("{field}.{name}")),
            name: name.into(),
            table: "[cloth.fabric]".into(),
            instead,
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Scene;

    #[test]
    fn what_takes_the_place_of_a_key_is_one() {
        let sheet = "[[cloth]]\ngrid = { columns = 2, rows = 2, width = 1, height = 1 }";
        for (old, new) in MOVED.iter().skip(3) {
            let message = |key: &str| {
                let scene = Scene::parse(&format!("{sheet}\n{key} = 'x'\n"), "scene.toml");
                scene.unwrap_err().to_string()
            };
            assert!(message(new.trim_matches('`')).contains("invalid type"), "{new}");
            let refused = format!("`{old}` is no key in [[cloth]]; write {new} in [[cloth]]");
            assert!(message(old).ends_with(&refused), "{}", message(old));
        }
    }
}
