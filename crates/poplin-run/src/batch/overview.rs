//! Overview picture: the last frames of all jobs side by side.

use std::path::Path;

use poplin_picture::{Image, MosaicTile};
use poplin_scene::SweepOutput;

use super::store::{Status, Store, job_name};
use crate::failure::{Failure, OrFail};
use crate::picture::PictureOptions;

/// File name in the folder of the sweep.
const NAME: &str = "overview.png";

/// File name of the picture of a job.
const TILE: &str = "picture.png";

/// Side of the picture of a job in pixels, without its border.
const TILE_SIZE: u32 = 192;

/// Most jobs that are shown; of more jobs, an evenly spaced selection.
const MAX_TILES: usize = 1024;

/// Returns the picture options of a job.
pub(super) fn tile() -> PictureOptions {
    PictureOptions::of_last_frame(TILE_SIZE)
}

/// Draws the pictures of all jobs into one, if requested and all jobs are finished, including those
/// of other writers. Returns its name.
pub(super) fn write(
    folder: &Path,
    output: &SweepOutput,
    store: &mut Store,
    count: usize,
) -> Result<Option<&'static str>, Failure> {
    if !output.overview || count == 0 {
        return Ok(None);
    }
    // Other processes may have finished jobs; the writer of the last row sees all of them.
    store.refresh()?;
    if (0..count).any(|job| store.status(job).is_none()) {
        return Ok(None);
    }
    let shown = count.min(MAX_TILES);
    let tiles: Vec<_> = (0..shown)
        .map(|index| {
            let job = index * count / shown;
            if store.status(job) == Some(Status::Failed) {
                return MosaicTile { label: format!("job {job} failed"), image: None };
            }
            let image = Image::read_png(folder.join(job_name(job)).join(TILE));
            // A missing picture, deleted by the user, leaves an empty tile.
            let image = image.map_err(|error| log::warn!("{error}")).ok();
            MosaicTile { label: format!("job {job}"), image }
        })
        .collect();
    let side = tiles.iter().find_map(|tile| tile.image.as_ref()).map_or(TILE_SIZE, |it| it.width);
    let (path, temporary) = (folder.join(NAME), folder.join(store.temporary(NAME)));
    Image::mosaic(side, &tiles).write_png(&temporary).or_failed()?;
    std::fs::rename(&temporary, &path).or_failed()?;
    Ok(Some(NAME))
}
