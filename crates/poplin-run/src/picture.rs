//! Options of the picture of a run.

use poplin_picture::View;

/// Kinds of pictures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PictureKind {
    /// No picture: halves the time of a short run.
    None,
    /// The last frame, `picture.png`.
    Last,
    /// The whole run in real time, `animation.png` (APNG).
    Animation,
    /// Eight frames spread over the run, `contact-sheet.png`.
    #[default]
    Sheet,
}

impl PictureKind {
    /// Returns the name of its file, if there is one.
    pub(crate) fn file(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Last => Some("picture.png"),
            Self::Animation => Some("animation.png"),
            Self::Sheet => Some("contact-sheet.png"),
        }
    }
}

/// Options of the picture of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PictureOptions {
    /// Picture to draw.
    pub kind: PictureKind,
    /// Side of the picture, or of a tile of the sheet \[pixels\], `32..=2048` (default 400; 1024
    /// for the last frame).
    pub size: Option<u32>,
    /// View (default: the scene's, or chosen from the cloth).
    pub view: Option<View>,
    /// Rotation of the camera around the scene over an animation \[degrees\] (default 0).
    pub orbit: f64,
    /// Pictures per second of an animation [1/s], `1..=60`; a long run has fewer, at most 600 in
    /// all (default 25).
    pub rate: Option<u32>,
}

impl PictureOptions {
    /// Returns options for a picture of only the last frame, of `size` pixels a side.
    pub(crate) fn of_last_frame(size: u32) -> Self {
        Self { kind: PictureKind::Last, size: Some(size), ..Self::default() }
    }

    /// Returns the pictures per second of an animation [1/s].
    pub(crate) fn rate(&self) -> u32 {
        self.rate.unwrap_or(25)
    }

    /// Returns the side of the picture, or of a tile of the sheet \[pixels\].
    pub(crate) fn size(&self) -> u32 {
        self.size.unwrap_or(if self.kind == PictureKind::Last { 1024 } else { 400 })
    }
}
