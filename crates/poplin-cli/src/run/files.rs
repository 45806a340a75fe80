//! The output folder, its files of frames and final meshes.

use std::path::{Path, PathBuf};

use poplin_io::{FrameFormat, FrameSink, IoError, write_obj};
use poplin_model::{CornerUvs, MAX_PARTICLES, Mesh};

use crate::failure::{Failure, OrFail};
use crate::garment::Garment;

/// Files of one garment: all copies in one file of each format and in one mesh.
pub(super) struct GarmentFiles {
    /// File name without extension.
    stem: String,
    /// What takes the frames, with the name of its file.
    sinks: Vec<(String, Box<dyn FrameSink>)>,
}

impl GarmentFiles {
    /// Opens the files of every garment.
    pub(super) fn create(
        garments: &[Garment],
        folder: &Path,
        formats: &[FrameFormat],
    ) -> Result<Vec<Self>, Failure> {
        let names: Vec<&str> = garments.iter().map(|garment| garment.name.as_str()).collect();
        let open = |(garment, stem): (&Garment, String)| {
            let sink = |format: &FrameFormat| {
                let name = format!("{stem}.{format}");
                let sink = Self::create_sink(garment, *format, &folder.join(&name))?;
                Ok::<_, Failure>((name, sink))
            };
            let sinks = formats.iter().map(sink).collect::<Result<_, _>>()?;
            Ok(Self { stem, sinks })
        };
        garments.iter().zip(file_stems(&names)).map(open).collect()
    }

    fn create_sink(
        garment: &Garment,
        format: FrameFormat,
        path: &Path,
    ) -> Result<Box<dyn FrameSink>, Failure> {
        let count = garment.vertex_count();
        if count > MAX_PARTICLES {
            let (name, copies) = (&garment.name, garment.offsets.len());
            return Err(Failure::BadInput(anyhow::anyhow!(
                "the {copies} copies of cloth `{name}` have {count} vertices; a file of frames takes {MAX_PARTICLES}: use --no-cache"
            )));
        }
        (format.create)(path, count).or_failed()
    }

    /// Appends a frame to every file of frames.
    pub(super) fn push(&mut self, vertices: &[[f32; 3]]) -> Result<(), Failure> {
        self.sinks.iter_mut().try_for_each(|(_, sink)| sink.push(vertices)).or_failed()
    }

    /// Completes the files of frames and writes the last one as a mesh. Returns the names of the files.
    pub(super) fn finish(
        self,
        folder: &Path,
        garment: &Garment,
        vertices: &[[f32; 3]],
    ) -> Result<Vec<String>, IoError> {
        let mut names = Vec::new();
        for (name, sink) in self.sinks {
            sink.finish()?;
            names.push(name);
        }
        let name = format!("{}.obj", self.stem);
        let path: PathBuf = folder.join(&name);
        match garment.offsets.len() {
            1 => write_obj(path, &garment.mesh, vertices)?,
            count => write_obj(path, &repeated(&garment.mesh, count), vertices)?,
        }
        names.push(name);
        Ok(names)
    }
}

/// The mesh of several copies, one after another.
fn repeated(mesh: &Mesh, count: usize) -> Mesh {
    let step = mesh.positions.len() as u32;
    let shifted = |copy: usize| move |index: u32| index + step * copy as u32;
    Mesh {
        positions: mesh.positions.repeat(count),
        uvs: mesh.uvs.repeat(count),
        triangles: (0..count)
            .flat_map(|copy| mesh.triangles.iter().map(move |face| face.map(shifted(copy))))
            .collect(),
        quads: (0..count)
            .flat_map(|copy| mesh.quads.iter().map(move |face| face.map(shifted(copy))))
            .collect(),
        // All copies have the same.
        corner_uvs: CornerUvs {
            coordinates: mesh.corner_uvs.coordinates.clone(),
            triangles: mesh.corner_uvs.triangles.repeat(count),
            quads: mesh.corner_uvs.quads.repeat(count),
        },
    }
}

/// A file name for each cloth name: harmless characters only, no two alike even where case does not count.
fn file_stems(names: &[&str]) -> Vec<String> {
    let mut stems: Vec<String> = Vec::with_capacity(names.len());
    for name in names {
        let harmless = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
        let plain: String = name.chars().map(harmless).take(64).collect();
        let plain = match plain.trim_start_matches('.') {
            "" => "cloth",
            plain => plain,
        };
        let is_free =
            |stem: &str| stems.iter().all(|other| other.to_lowercase() != stem.to_lowercase());
        let numbered = (2..).map(|suffix| format!("{plain}-{suffix}"));
        stems.extend(std::iter::once(plain.to_owned()).chain(numbered).find(|stem| is_free(stem)));
    }
    stems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_harmless_and_differ() {
        let names = ["flag", "Flag", "../x y", "", "flag-2", "flag"];
        assert_eq!(file_stems(&names), ["flag", "Flag-2", "_x_y", "cloth", "flag-2-2", "flag-3"]);
    }

    #[test]
    fn copies_follow_each_other() {
        let mesh = repeated(&Mesh::grid(2, 2, 1.0, 1.0), 3);
        assert_eq!((mesh.positions.len(), mesh.uvs.len(), mesh.quads.len()), (12, 12, 3));
        assert_eq!(mesh.quads[2], Mesh::grid(2, 2, 1.0, 1.0).quads[0].map(|index| index + 8));
        mesh.validate().unwrap();
    }
}
