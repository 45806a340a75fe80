//! Cooking options that are keys of the cloth.

use poplin_cook::CookOptions;

use super::SceneError;
use super::keys::KEYS_OF_THE_CLOTH;
use super::locate::Source;

/// Rejects cooking options in `fabric` that are keys of the cloth itself.
pub(super) fn refuse_keys_of_the_cloth(fabric: &CookOptions, field: &str, source: &Source<'_>) {
    let default = CookOptions::default();
    let is_set = [
        fabric.density != default.density,
        fabric.gravity != default.gravity,
        fabric.pins != default.pins,
    ];
    for (name, _) in KEYS_OF_THE_CLOTH.into_iter().zip(is_set).filter(|(_, is_set)| *is_set) {
        source.refuse(SceneError::Elsewhere {
            at: source.location(&format!("{field}.{name}")),
            name: name.into(),
            table: "[cloth.fabric]".into(),
            instead: vec![name.into()],
        });
    }
}
