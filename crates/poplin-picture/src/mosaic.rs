//! Mosaics of separately drawn pictures.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use super::label::{TEXT_HEIGHT, draw_text};
use super::sheet::INK;
use super::{Color, Image};
use crate::PictureError;

const EMPTY: Color = [226, 222, 215];

/// Maximum side of a tile in pixels.
const MAX_SIDE: u32 = 4096;

/// Distance of a label from the sides of its tile in pixels.
const INSET: u32 = 8;

/// Tile of a mosaic.
#[derive(Debug, Clone)]
pub struct MosaicTile {
    /// Label at the bottom.
    pub label: String,
    /// Picture; `None` leaves the tile grey.
    pub image: Option<Image>,
}

impl Image {
    /// Reads an RGB picture as written by [`Image::write_png`].
    ///
    /// # Errors
    /// [`PictureError::Open`] if the file is missing, [`PictureError::PngRead`] if it is damaged,
    /// not 8-bit RGB, or has more than 4096 pixels along a side.
    pub fn read_png(path: impl AsRef<Path>) -> Result<Self, PictureError> {
        let path = path.as_ref();
        let file = File::open(path).map_err(PictureError::open(path))?;
        let refused = |reason: String| PictureError::PngRead { path: path.to_path_buf(), reason };
        let mut reader = png::Decoder::new(BufReader::new(file))
            .read_info()
            .map_err(|error| refused(error.to_string()))?;
        let info = reader.info();
        let (width, height) = (info.width, info.height);
        if (info.color_type, info.bit_depth) != (png::ColorType::Rgb, png::BitDepth::Eight)
            || width.max(height) > MAX_SIDE
        {
            return Err(refused(format!(
                "{width} x {height} pixels of {:?}; wanted 8 bits of RGB, at most {MAX_SIDE} pixels along a side",
                info.color_type
            )));
        }
        let mut pixels = vec![[0; 3]; width as usize * height as usize];
        let read = reader.next_frame(pixels.as_flattened_mut());
        read.map_err(|error| refused(error.to_string()))?;
        Ok(Self { width, height, pixels })
    }

    /// Draws pictures in a nearly square arrangement, each in a square of `side` pixels; larger
    /// pictures are cropped.
    pub fn mosaic(side: u32, tiles: &[MosaicTile]) -> Self {
        let columns = (tiles.len() as f64).sqrt().ceil().max(1.0) as u32;
        let rows = (tiles.len() as u32).div_ceil(columns).max(1);
        let mut mosaic = Self::filled(columns * side, rows * side, EMPTY);
        for (index, MosaicTile { label, image }) in (0..).zip(tiles) {
            let [left, top] = [index % columns * side, index / columns * side];
            if let Some(image) = image {
                mosaic.paste(image, [left, top], side);
            }
            let bottom = top + side.saturating_sub(TEXT_HEIGHT + INSET);
            draw_text(&mut mosaic, label, left + INSET, bottom, left + side, INK);
        }
        mosaic
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RED: Color = [200, 10, 10];

    fn tile(color: Color) -> MosaicTile {
        let image = Image::filled(40, 40, color);
        MosaicTile { label: String::new(), image: Some(image) }
    }

    #[test]
    fn tiles_follow_one_another_in_rows() {
        let none = MosaicTile { label: "failed".into(), image: None };
        let mosaic = Image::mosaic(40, &[tile(RED), none, tile([0, 0, 200])]);
        assert_eq!((mosaic.width, mosaic.height), (80, 80));
        let at = |x: usize, y: usize| mosaic.pixels[y * 80 + x];
        assert_eq!([at(3, 3), at(43, 3), at(3, 43), at(43, 43)], [RED, EMPTY, [0, 0, 200], EMPTY]);
        assert!((40..80).any(|x| at(x, 25) != EMPTY), "the label is written");
        assert_eq!(Image::mosaic(16, &[]).pixels, vec![EMPTY; 256]);
    }

    #[test]
    fn larger_pictures_are_cropped_and_smaller_ones_leave_a_rim() {
        let large = Image::mosaic(32, &[tile(RED)]);
        assert_eq!(large.pixels, vec![RED; 32 * 32]);
        let small = Image::mosaic(48, &[tile(RED)]);
        assert_eq!(
            [small.pixels[39], small.pixels[40], small.pixels[40 * 48]],
            [RED, EMPTY, EMPTY]
        );
    }

    #[test]
    fn pictures_round_trip_and_damaged_ones_are_rejected() {
        let path = std::env::temp_dir().join(format!("poplin-mosaic-{}.png", std::process::id()));
        let image = Image::mosaic(40, &[tile(RED), tile(EMPTY)]);
        image.write_png(&path).unwrap();
        assert_eq!(Image::read_png(&path).unwrap(), image);
        let bytes = std::fs::read(&path).unwrap();
        for end in [0, 20, bytes.len() / 2] {
            std::fs::write(&path, &bytes[..end]).unwrap();
            let error = Image::read_png(&path).unwrap_err().to_string();
            assert!(error.contains("poplin-mosaic"), "{error}");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(Image::read_png(&path).is_err());
    }
}
