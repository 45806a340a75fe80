//! Warnings from the reports of triangle contact.

use poplin::Backend;
use poplin_model::{ContactReport, Trouble};

use super::Warning;
use crate::job_cloth::JobCloth;

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
        let cloth = || job_cloth.name.clone();
        let crossed = worst(|report| report.crossed);
        let crossed = crossed.map(|(copy, report, trouble)| Self::Crossed {
            cloth: cloth(),
            copy,
            crossings_at_start: report.start_crossings,
            crossings_at_end: report.crossings,
            is_on_gpu: backend == Backend::Gpu.name(),
            trouble,
        });
        let forced = worst(|report| report.forced).map(|(copy, _, trouble)| Self::Forced {
            cloth: cloth(),
            copy,
            trouble,
        });
        let hurried = worst(|report| report.hurried).map(|(copy, _, trouble)| Self::Hurried {
            cloth: cloth(),
            copy,
            trouble,
        });
        let unlisted = worst(|report| report.unlisted).map(|(copy, _, trouble)| Self::Unlisted {
            cloth: cloth(),
            copy,
            trouble,
        });
        [crossed, forced, hurried, unlisted].into_iter().flatten()
    }
}
