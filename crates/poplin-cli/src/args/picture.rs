//! Options of the picture of a run.

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use poplin_picture::View;
use poplin_run::{Failure, PictureOptions};

use super::ranges::{degrees, whole};

/// Options of the picture of a run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Picture")]
pub(crate) struct PictureArgs {
    /// Picture to draw
    #[arg(long, value_enum, default_value_t = PictureKind::Sheet)]
    picture: PictureKind,
    /// Side of the picture, or of a tile of the sheet, in pixels, 32 to 2048 [default: 400; 1024
    /// with last]
    #[arg(long, value_name = "PIXELS", value_parser = whole(32..=2048), allow_negative_numbers = true)]
    picture_size: Option<u32>,
    /// View: front, side, top, or AZIMUTH,ELEVATION in degrees [default: the scene's, or chosen
    /// from the cloth]
    #[arg(long, value_name = "VIEW", allow_hyphen_values = true)]
    camera: Option<View>,
    /// Rotation of the camera around the scene over an animation, in degrees, -3600 to 3600; 360 is
    /// one revolution [default: 0]
    #[arg(long, value_name = "DEGREES", value_parser = degrees, allow_negative_numbers = true)]
    orbit: Option<f32>,
    /// Pictures per second of an animation, 1 to 60; a long run has fewer, at most 600 in all
    /// [default: 25]
    #[arg(long, value_name = "RATE", value_parser = whole(1..=60), allow_negative_numbers = true)]
    picture_rate: Option<u32>,
}

/// Kinds of pictures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum PictureKind {
    /// No picture: halves the time of a short run
    None,
    /// The last frame, picture.png
    Last,
    /// The whole run in real time, animation.png (APNG: browsers play it)
    Animation,
    /// Eight frames spread over the run, contact-sheet.png
    #[default]
    Sheet,
}

impl PictureArgs {
    /// Rejects options of an animation for any other kind of picture.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let stated =
            [("--orbit", self.orbit.is_some()), ("--picture-rate", self.picture_rate.is_some())];
        match stated.iter().find(|(_, is_stated)| *is_stated) {
            Some((option, _)) if self.picture != PictureKind::Animation => {
                Err(Failure::BadInput(anyhow!("{option} needs --picture animation")))
            }
            _ => Ok(()),
        }
    }

    /// Returns the options as those of a job.
    pub(crate) fn options(&self) -> PictureOptions {
        PictureOptions {
            kind: match self.picture {
                PictureKind::None => poplin_run::PictureKind::None,
                PictureKind::Last => poplin_run::PictureKind::Last,
                PictureKind::Animation => poplin_run::PictureKind::Animation,
                PictureKind::Sheet => poplin_run::PictureKind::Sheet,
            },
            size: self.picture_size,
            view: self.camera,
            orbit: self.orbit.unwrap_or(0.0).into(),
            rate: self.picture_rate,
        }
    }
}
