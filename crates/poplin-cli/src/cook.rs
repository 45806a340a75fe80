//! `poplin cook`: report on a cooked mesh.

use anyhow::anyhow;
use poplin_io::TwistedFaces;
use poplin_run::{CookSummary, Failure, Job, OrFail, in_line, shipped, write_fiber_picture};
use poplin_scene::SceneCloth;

use crate::args::CookArgs;
use crate::failure::{Exit, has_own_pins};
use crate::output::say;

/// Builds the job of a mesh or scene.
fn job(args: &CookArgs) -> Result<Job, Failure> {
    let change = |cloth: &mut SceneCloth| args.fabric.apply(cloth, None);
    if shipped::is_mesh(&args.file) {
        Job::of_cooked_mesh(&args.file, &args.pins, change)
    } else if args.pins.is_empty() {
        Job::of_scene(&args.file, None, change)
    } else {
        Err(has_own_pins(&args.file))
    }
}

/// Cooks the cloths of a mesh or scene and prints their reports.
pub(crate) fn cook(args: &CookArgs) -> Result<Exit, Failure> {
    let job = job(args)?;
    if let Some(path) = &args.picture {
        if path.extension().is_none_or(|extension| !extension.eq_ignore_ascii_case("png")) {
            return Err(Failure::BadInput(anyhow!(
                "--picture {}: the picture is a PNG, so its name must end in .png",
                path.display()
            )));
        }
        write_fiber_picture(path, &job.cloths).or_failed()?;
    }
    if args.json {
        let summaries: Vec<_> = job.cloths.iter().map(CookSummary::new).collect();
        say!("{}", serde_json::to_string_pretty(&summaries).or_failed()?);
        return Ok(Exit::Success);
    }
    print_reports(&job);
    job.choices.iter().for_each(|choice| say!("{choice}"));
    if let Some(path) = &args.picture {
        say!("{:<12}{}", "picture", path.display());
    }
    Ok(Exit::Success)
}

fn print_reports(job: &Job) {
    for (index, job_cloth) in job.cloths.iter().enumerate() {
        if index > 0 {
            say!("");
        }
        let copies = match job_cloth.offsets.len() {
            1 => String::new(),
            count => format!(", {count} copies; values of one copy"),
        };
        say!(
            "{} (cooked in {:.1} ms{copies})",
            job_cloth.name,
            job_cloth.cook_time.as_secs_f64() * 1e3
        );
        say!("{}", job_cloth.report);
        let TwistedFaces { count, first_line } = job_cloth.twisted;
        if count > 0 {
            say!(
                "{:<12}{count:>12}  faces with a flipped triangle{}",
                "twisted",
                in_line(first_line)
            );
        }
    }
}
