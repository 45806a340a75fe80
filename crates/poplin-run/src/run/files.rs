//! Files of frames and final meshes.

use std::ops::Range;
use std::path::Path;

use anyhow::Context;
use poplin_io::{FrameFormat, FrameSink, FrameSource, write_joined_obj};
use poplin_model::MAX_PARTICLES;
use serde::Serialize;

use crate::failure::{Failure, OrFail};
use crate::job::Job;
use crate::job_cloth::JobCloth;

/// Most cloths with separate files; more share one file per format.
const MAX_SEPARATE: usize = 256;

/// Stem of the shared files of all cloths, and of their index.
const TOGETHER: &str = "cloths";

/// Files of one cloth, or of all cloths: one file per format and one mesh, with all copies one
/// after another.
pub(super) struct ClothFiles {
    /// File name without extension.
    stem: String,
    /// Indices of the cloths in the job.
    job_cloths: Range<usize>,
    /// Sinks of the frames, with their file names.
    sinks: Vec<(String, Box<dyn FrameSink>)>,
    /// Scratch buffer with the vertices of all cloths, used for more than one.
    joined: Vec<[f32; 3]>,
}

/// Returns the stem of each file with the range of its cloths.
fn groups(job_cloths: &[JobCloth]) -> Vec<(String, Range<usize>)> {
    if job_cloths.len() > MAX_SEPARATE {
        vec![(TOGETHER.to_owned(), 0..job_cloths.len())]
    } else {
        let names: Vec<&str> = job_cloths.iter().map(|job_cloth| job_cloth.name.as_str()).collect();
        let one = |(index, stem)| (stem, index..index + 1);
        file_stems(&names).into_iter().enumerate().map(one).collect()
    }
}

/// Vertex range of a cloth in the shared files.
#[derive(Serialize)]
struct IndexEntry {
    name: String,
    copies: usize,
    first_vertex: usize,
    /// Number of vertices of one copy.
    vertices: usize,
}

impl ClothFiles {
    /// Opens the files of every cloth.
    pub(super) fn create(job: &Job, folder: &Path) -> Result<Vec<Self>, Failure> {
        let job_cloths = &job.cloths;
        let open = |(stem, members): (String, Range<usize>)| {
            let sink = |format: &FrameFormat| {
                let name = format.file_name(&stem);
                let sink = Self::create_sink(job, members.clone(), *format, &folder.join(&name))?;
                Ok::<_, Failure>((name, sink))
            };
            let sinks = job.formats.iter().map(sink).collect::<Result<_, _>>()?;
            Ok(Self { stem, job_cloths: members, sinks, joined: Vec::new() })
        };
        groups(job_cloths).into_iter().map(open).collect()
    }

    /// Returns the names of the files that will be written.
    pub(super) fn names(job_cloths: &[JobCloth], formats: &[FrameFormat]) -> Vec<String> {
        let names = groups(job_cloths).into_iter().flat_map(|(stem, members)| {
            let frames = formats.iter().map(|format| format.file_name(&stem));
            let index = (members.len() > 1).then(|| format!("{stem}.json"));
            frames.chain([format!("{stem}.obj")]).chain(index).collect::<Vec<_>>()
        });
        names.collect()
    }

    fn create_sink(
        job: &Job,
        members: Range<usize>,
        format: FrameFormat,
        path: &Path,
    ) -> Result<Box<dyn FrameSink>, Failure> {
        let job_cloths = &job.cloths[members];
        let count: usize = job_cloths.iter().map(JobCloth::vertex_count).sum();
        if count > MAX_PARTICLES {
            let what = match job_cloths {
                [one] => format!("the {} copies of cloth `{}`", one.offsets.len(), one.name),
                all => format!("the {} cloths", all.len()),
            };
            return Err(Failure::BadInput(anyhow::anyhow!(
                "{what} have {count} vertices, and a frame file holds at most {MAX_PARTICLES}: use --no-cache"
            )));
        }
        let parts: Vec<_> =
            job_cloths.iter().map(|job_cloth| (&job_cloth.mesh, job_cloth.offsets.len())).collect();
        let (frame_rate, frame_count) = (job.frame_rate, job.frames.saturating_add(1));
        (format.create)(path, &FrameSource { parts: &parts, frame_rate, frame_count }).or_failed()
    }

    /// Appends a frame to every frame file; `vertices` are those of all cloths of the run.
    pub(super) fn push(&mut self, vertices: &[Vec<[f32; 3]>]) -> Result<(), Failure> {
        let own = &vertices[self.job_cloths.clone()];
        let frame = match own {
            [one] => one.as_slice(),
            _ if self.sinks.is_empty() => return Ok(()),
            _ => {
                self.joined.clear();
                own.iter().for_each(|vertices| self.joined.extend(vertices));
                &self.joined
            }
        };
        self.sinks.iter_mut().try_for_each(|(_, sink)| sink.push(frame)).or_failed()
    }

    /// Completes the frame files and writes the last frame as a mesh. Returns the file names.
    pub(super) fn finish(
        self,
        folder: &Path,
        job: &Job,
        vertices: &[Vec<[f32; 3]>],
    ) -> Result<Vec<String>, anyhow::Error> {
        let mut names = Vec::new();
        for (name, sink) in self.sinks {
            sink.finish()?;
            names.push(name);
        }
        let name = format!("{}.obj", self.stem);
        let job_cloths = &job.cloths[self.job_cloths.clone()];
        let parts =
            job_cloths.iter().zip(&vertices[self.job_cloths]).flat_map(|(job_cloth, vertices)| {
                let copies = vertices.chunks(job_cloth.mesh.positions.len().max(1));
                copies.map(|copy| (&job_cloth.mesh, copy))
            });
        write_joined_obj(folder.join(&name), parts, job.origin)?;
        names.push(name);
        if job_cloths.len() > 1 {
            let name = format!("{}.json", self.stem);
            write_index(job_cloths, &folder.join(&name))?;
            names.push(name);
        }
        Ok(names)
    }
}

/// Writes the vertex range of each cloth in the shared files as JSON.
fn write_index(job_cloths: &[JobCloth], path: &Path) -> Result<(), anyhow::Error> {
    let mut first_vertex = 0;
    let entry = |job_cloth: &'_ JobCloth| {
        let (copies, vertices) = (job_cloth.offsets.len(), job_cloth.mesh.positions.len());
        let entry = IndexEntry { name: job_cloth.name.clone(), copies, first_vertex, vertices };
        first_vertex += copies * vertices;
        entry
    };
    let entries: Vec<_> = job_cloths.iter().map(entry).collect();
    let text = serde_json::to_string_pretty(&entries)?;
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Returns a file stem for each cloth name: only safe characters, unique even without case.
pub(crate) fn file_stems(names: &[&str]) -> Vec<String> {
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
    fn file_stems_are_safe_and_unique() {
        let names = ["flag", "Flag", "../x y", "", "flag-2", "flag"];
        assert_eq!(file_stems(&names), ["flag", "Flag-2", "_x_y", "cloth", "flag-2-2", "flag-3"]);
    }
}
