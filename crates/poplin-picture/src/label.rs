//! Text in a picture, in the antialiased bitmap font Noto Sans Mono.

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};

use super::{Color, Image};

const WEIGHT: FontWeight = FontWeight::Regular;
const HEIGHT: RasterHeight = RasterHeight::Size16;

/// Height of a line of text in pixels.
pub(super) const TEXT_HEIGHT: u32 = 16;

/// Width of a text in pixels.
pub(super) fn text_width(text: &str) -> u32 {
    (text.chars().count() * get_raster_width(WEIGHT, HEIGHT)).try_into().unwrap_or(u32::MAX)
}

/// Draws a text with its upper left corner at `(left, top)`, cropped at `right`. Characters missing
/// in the font become a question mark.
pub(super) fn draw_text(
    image: &mut Image,
    text: &str,
    left: u32,
    top: u32,
    right: u32,
    ink: Color,
) {
    let mut begin = left;
    for character in text.chars() {
        let Some(raster) =
            get_raster(character, WEIGHT, HEIGHT).or_else(|| get_raster('?', WEIGHT, HEIGHT))
        else {
            continue;
        };
        for (row, line) in raster.rows().enumerate() {
            for (column, &strength) in line.iter().enumerate() {
                let (x, y) = (begin + column as u32, top + row as u32);
                if x < right {
                    image.blend(x, y, ink, strength);
                }
            }
        }
        begin = begin.saturating_add(raster.width() as u32);
        if begin >= right {
            return;
        }
    }
}
