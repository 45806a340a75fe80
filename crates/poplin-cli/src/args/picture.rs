//! What is drawn of a run.

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use poplin_io::picture::View;

use super::ranges::{degrees, whole};
use crate::failure::Failure;

/// The picture of a run.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Picture")]
pub(crate) struct PictureArgs {
    /// What to draw
    #[arg(long, value_enum, default_value_t = PictureKind::Sheet)]
    pub(crate) picture: PictureKind,
    /// Side of the picture, or of a tile of the sheet, in pixels, 32 to 2048 [default: 400; 1024 with last]
    #[arg(long, value_name = "PIXELS", value_parser = whole(32..=2048), allow_negative_numbers = true)]
    picture_size: Option<u32>,
    /// From where it is seen: front, side, top, or AZIMUTH,ELEVATION in degrees [default: the scene's, or as suits the cloth]
    #[arg(long, value_name = "VIEW", allow_hyphen_values = true)]
    pub(crate) camera: Option<View>,
    /// How far the camera goes around in an animation, in degrees, -3600 to 3600; 360 is once around [default: 0]
    #[arg(long, value_name = "DEGREES", value_parser = degrees, allow_negative_numbers = true)]
    orbit: Option<f32>,
    /// Pictures per second of an animation, 1 to 60; of a long run fewer, 600 at most [default: 25]
    #[arg(long, value_name = "RATE", value_parser = whole(1..=60), allow_negative_numbers = true)]
    picture_rate: Option<u32>,
}

/// Kinds of pictures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum PictureKind {
    /// Nothing: a short run takes half the time
    None,
    /// The last frame, picture.png
    Last,
    /// The whole run, at the speed that it has, animation.png (APNG: browsers play it)
    Animation,
    /// Eight moments from the first frame to the last, contact-sheet.png
    #[default]
    Sheet,
}

impl PictureKind {
    /// The name of its file, if there is one.
    pub(crate) fn file(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Last => Some("picture.png"),
            Self::Animation => Some("animation.png"),
            Self::Sheet => Some("contact-sheet.png"),
        }
    }
}

impl PictureArgs {
    /// A picture of the last frame alone, of so many pixels a side.
    pub(crate) fn of_last_frame(size: u32) -> Self {
        Self { picture: PictureKind::Last, picture_size: Some(size), ..Self::default() }
    }

    /// Refuses options of an animation where there is none.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let stated =
            [("--orbit", self.orbit.is_some()), ("--picture-rate", self.picture_rate.is_some())];
        match stated.iter().find(|(_, is_stated)| *is_stated) {
            Some((option, _)) if self.picture != PictureKind::Animation => {
                Err(Failure::BadInput(anyhow!("{option} goes with --picture animation")))
            }
            _ => Ok(()),
        }
    }

    /// How far the camera goes around \[degrees\].
    pub(crate) fn orbit(&self) -> f64 {
        self.orbit.unwrap_or(0.0).into()
    }

    /// Pictures per second of an animation \[1/s\].
    pub(crate) fn rate(&self) -> u32 {
        self.picture_rate.unwrap_or(25)
    }

    /// Side of the picture, or of a tile of the sheet \[pixels\].
    pub(crate) fn size(&self) -> u32 {
        self.picture_size.unwrap_or(if self.picture == PictureKind::Last { 1024 } else { 400 })
    }
}
