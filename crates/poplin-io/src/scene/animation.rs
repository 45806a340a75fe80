//! Pins that move by keyframes.

use schemars::JsonSchema;
use serde::Deserialize;

use super::PinRule;

/// Pins that move together along a path, linear between keyframes.
#[derive(Debug, Clone, PartialEq)]
pub struct AnimatedPins {
    /// The vertices; they are pinned.
    pub pins: Vec<PinRule>,
    /// Displacements from the first position, at least one, rising in time.
    pub keys: Vec<Keyframe>,
}

/// Where animated pins are at one time.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keyframe {
    /// Time since the first frame \[s\], 0 or more.
    pub time: f32,
    /// Displacement from the position in the mesh, world axes \[m\].
    pub translation: [f32; 3],
}

/// Displacement \[m\] at a time \[s\]: linear between keyframes, held before the first and after the last.
pub(super) fn translation_at(keys: &[Keyframe], time: f32) -> [f32; 3] {
    let next = keys.partition_point(|key| key.time <= time);
    let (before, after) = (keys.get(next.wrapping_sub(1)), keys.get(next));
    match (before, after) {
        (Some(before), Some(after)) => {
            let fraction = (time - before.time) / (after.time - before.time);
            [0, 1, 2].map(|axis| {
                before.translation[axis]
                    + (after.translation[axis] - before.translation[axis]) * fraction
            })
        }
        (Some(key), None) | (None, Some(key)) => key.translation,
        (None, None) => [0.0; 3],
    }
}

impl AnimatedPins {
    /// Displacement of the pins \[m\] at a time \[s\]: linear between keyframes, held before the first and after the last.
    pub fn translation(&self, time: f32) -> [f32; 3] {
        translation_at(&self.keys, time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_move_linearly_between_keys_and_hold_at_the_ends() {
        let keys = [(1.0, 2.0), (2.0, 4.0), (4.0, 0.0)]
            .map(|(time, x)| Keyframe { time, translation: [x, 0.0, 1.0] });
        for (time, x) in [
            (-1.0, 2.0),
            (1.0, 2.0),
            (1.5, 3.0),
            (2.0, 4.0),
            (3.0, 2.0),
            (4.0, 0.0),
            (9.0, 0.0),
            (f32::NAN, 2.0),
        ] {
            assert_eq!(translation_at(&keys, time), [x, 0.0, 1.0], "at {time} s");
        }
        assert_eq!(translation_at(&[], 1.0), [0.0; 3]);
    }
}
