//! What is drawn of a run.

use clap::{Args, ValueEnum};
use poplin_io::picture::View;

use super::ranges::whole;

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
}

/// Kinds of pictures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum PictureKind {
    /// Nothing: a short run takes half the time
    None,
    /// The last frame, picture.png
    Last,
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
            Self::Sheet => Some("contact-sheet.png"),
        }
    }
}

impl PictureArgs {
    /// A picture of the last frame alone, of so many pixels a side.
    pub(crate) fn of_last_frame(size: u32) -> Self {
        Self { picture: PictureKind::Last, picture_size: Some(size), camera: None }
    }

    /// Side of the picture, or of a tile of the sheet \[pixels\].
    pub(crate) fn size(&self) -> u32 {
        self.picture_size.unwrap_or(if self.picture == PictureKind::Last { 1024 } else { 400 })
    }
}
