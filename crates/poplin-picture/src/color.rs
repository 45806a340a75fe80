//! Colours: sRGB outside, linear light inside.

use glam::Vec3;

/// An sRGB colour, red, green, blue, `0..=255` each.
pub type Color = [u8; 3];

/// Muted hues, distinct from each other and from the background.
const CLOTH_COLORS: [Color; 8] = [
    [78, 112, 158],
    [196, 104, 82],
    [112, 146, 108],
    [210, 160, 76],
    [136, 96, 138],
    [72, 142, 144],
    [178, 118, 134],
    [128, 124, 112],
];

/// Returns the colour of cloth `index`; colours repeat after eight.
pub fn cloth_color(index: usize) -> Color {
    CLOTH_COLORS[index % CLOTH_COLORS.len()]
}

/// Strong hues for thin lines on pale surfaces; neighbours are distinct.
const LINE_COLORS: [Color; 12] = [
    [31, 119, 180],
    [214, 39, 40],
    [44, 140, 44],
    [255, 127, 14],
    [128, 62, 160],
    [0, 170, 190],
    [120, 72, 50],
    [227, 80, 170],
    [60, 60, 60],
    [150, 150, 20],
    [20, 40, 130],
    [240, 170, 150],
];

/// Returns the colour of line group `index`; colours repeat after twelve.
pub fn line_color(index: usize) -> Color {
    LINE_COLORS[index % LINE_COLORS.len()]
}

/// Converts sRGB to linear light (IEC 61966-2-1).
pub fn to_linear(color: Color) -> Vec3 {
    Vec3::from_array(color.map(|channel| {
        let value = f32::from(channel) / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    }))
}

/// Converts linear light to the nearest sRGB colour; light beyond white is clipped (IEC 61966-2-1).
pub(super) fn to_srgb(light: Vec3) -> Color {
    light.to_array().map(|value| {
        let value = value.clamp(0.0, 1.0);
        let encoded = if value <= 0.003_130_8 {
            value * 12.92
        } else {
            1.055 * value.powf(1.0 / 2.4) - 0.055
        };
        (encoded * 255.0 + 0.5) as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greys_round_trip_through_linear_light() {
        for value in 0..=255 {
            assert_eq!(to_srgb(to_linear([value; 3])), [value; 3]);
        }
    }
}
