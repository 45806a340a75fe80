//! Warnings from the reports of triangle contact.

use poplin::Backend;
use poplin_model::{ContactPartner, ContactReport, Trouble};

use super::Warning;
use crate::job_cloth::JobCloth;
use crate::numbers::{counted, grouped};

impl Warning {
    /// Warns of what triangle contact could not keep apart. `reports` has one report per copy; each
    /// kind of warning names the copy with the most pairs.
    pub(in crate::run) fn of_contact(
        job_cloth: &JobCloth,
        reports: &[ContactReport],
        backend: &str,
    ) -> impl Iterator<Item = Self> + use<> {
        let worst = |pick: fn(&ContactReport) -> Option<Trouble>| {
            let all = (0..).zip(reports);
            let all = all.filter_map(|(copy, report)| Some((copy, report, pick(report)?)));
            // The first of equal copies.
            all.reduce(|a, b| if b.2.most_pairs > a.2.most_pairs { b } else { a })
        };
        let name = &job_cloth.name;
        let is_on_gpu = backend == Backend::Gpu.name();
        let of_crossed = worst(|report| report.crossed).map(|(copy, report, trouble)| {
            Self::of_trouble("crossed", name, copy, &trouble, crossed(report, &trouble, is_on_gpu))
                .detail("crossings_at_start", report.start_crossings)
                .detail("crossings_at_end", report.crossings)
        });
        let of = |kind, pick, text: fn(&Trouble, &str, &str) -> String| {
            worst(pick).map(|(copy, _, trouble)| {
                Self::of_trouble(kind, name, copy, &trouble, |cloth, place| {
                    text(&trouble, cloth, place)
                })
            })
        };
        let others = [
            of("forced", |report| report.forced, forced),
            of("hurried", |report| report.hurried, hurried),
            of("unlisted", |report| report.unlisted, unlisted),
        ];
        [of_crossed].into_iter().chain(others).flatten()
    }

    /// Creates a warning about a copy of a cloth. `text` gets the name of the copy, and the frames
    /// and the position in words.
    fn of_trouble(
        kind: &'static str,
        cloth: &str,
        copy: usize,
        trouble: &Trouble,
        text: impl Fn(&str, &str) -> String,
    ) -> Self {
        let name = match copy {
            0 => format!("cloth `{cloth}`"),
            copy => format!("copy {copy} of cloth `{cloth}`"),
        };
        let Trouble { first_frame, last_frame, position_m: [x, y, z], .. } = trouble;
        let frames = if first_frame == last_frame {
            format!("in frame {first_frame}")
        } else {
            format!("in frames {first_frame} to {last_frame}")
        };
        let place = format!("{frames}, near ({x:.3}, {y:.3}, {z:.3}) m");
        Self::of_cloth(kind, cloth, text(&name, &place))
            .beyond(trouble.most_pairs as f32, 0.0)
            .detail("copy", copy)
            .details(trouble)
    }
}

/// Edges crossed triangles of cloth or of colliders.
fn crossed(
    report: &ContactReport,
    trouble: &Trouble,
    is_on_gpu: bool,
) -> impl Fn(&str, &str) -> String + use<> {
    let most = counted(trouble.most_pairs as usize, "edge-triangle crossing");
    let is_from_start = report.start_crossings > 0;
    let what = if is_from_start { "starts intersecting" } else { "intersects" };
    // GPU contact does not untangle.
    let cure = match (is_on_gpu, is_from_start) {
        (true, _) => "a GPU does not untangle, use --backend cpu",
        (false, true) => "move the layers apart",
        _ => "check for pins and colliders that leave it no room, or slow them",
    };
    let with = match trouble.partner {
        ContactPartner::Itself => "itself",
        ContactPartner::OtherCloth => "other cloth",
        ContactPartner::Collider => "a collider",
    };
    let end = match report.crossings {
        // On a GPU crossings are counted only in frames that are read back.
        0 if is_on_gpu => String::from("none at the end"),
        0 => format!("none since frame {}", trouble.last_frame + 1),
        count => format!("{} remain at the end: {cure}", grouped(count as usize)),
    };
    move |cloth, place| format!("{cloth} {what}, mostly with {with}: up to {most} {place}; {end}")
}

/// Spheres, capsules or planes passed through cloth, forced by pins or by their own motion. They
/// have no triangles, so these pairs are estimated, not counted exactly.
fn forced(trouble: &Trouble, cloth: &str, place: &str) -> String {
    format!(
        "a sphere, capsule or plane passes through {cloth}: up to {} in one iteration {place}; \
         move it and the pins apart, or slow them",
        counted(trouble.most_pairs as usize, "pair"),
    )
}

/// Pins or colliders moved too far in one iteration to be tracked.
fn hurried(trouble: &Trouble, cloth: &str, place: &str) -> String {
    let what = match trouble.partner {
        ContactPartner::Itself => "its own pins move",
        ContactPartner::OtherCloth => "pins of other cloth move",
        ContactPartner::Collider => "a collider moves",
    };
    format!(
        "{what} too fast for {cloth} {place}: at many thicknesses per iteration, contact may miss \
         it; slow the motion, or raise the frequency"
    )
}

/// The contact pairs of a cloth exceeded the capacity of their list.
fn unlisted(trouble: &Trouble, cloth: &str, place: &str) -> String {
    format!(
        "too many contact pairs ({} or more) near {cloth} {place}: their list is full, and parts \
         that may touch do not move in those iterations; use a smaller thickness, longer edges or, \
         on a GPU, --backend cpu",
        counted(trouble.most_pairs as usize, "pair"),
    )
}
