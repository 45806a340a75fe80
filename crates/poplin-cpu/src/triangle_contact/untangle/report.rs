//! Contact reports of cloths.

use glam::Vec3;
use poplin_host::{contact_partner, report_crossings};
use poplin_model::{ContactPartner, ContactReport, Trouble};

use crate::triangle_contact::memory::TriangleContact;
use crate::triangle_contact::path::Path;

impl TriangleContact {
    /// Begins a frame in the report of the `index`th cloth of the frame, with the crossings before
    /// it.
    pub fn report_start(&self, index: usize, report: &mut ContactReport) {
        let is_first = report.frames == 0;
        report.frames += u32::from(!is_first);
        self.report_crossings(index, report);
        if is_first {
            report.start_crossings = report.crossings;
            report.frames = 1;
        }
    }

    /// Adds the results of one slice to the report of the `index`th cloth of the frame.
    pub fn report_slice(&self, index: usize, report: &mut ContactReport) {
        let Some(body) = self.bodies.get(index) else { return };
        let is_own = |rows: &&[u32; 4]| rows.iter().any(|&row| body.rows.contains(&(row as usize)));
        let mut forced = self.tangles.forced.iter().filter(is_own);
        let frame = report.frames;
        if let Some(rows) = forced.clone().next() {
            let at = self.start[rows[0] as usize].to_array();
            let count = forced.by_ref().count() as u32;
            let now = Trouble::in_frame(frame, count, ContactPartner::Collider, at);
            Trouble::add(&mut report.forced, now);
        }
        let hurried = self.tangles.hurried.iter().find(|([cloth, _], _)| *cloth as usize == index);
        if let Some((pair, at)) = hurried {
            let partner = contact_partner(index as u32, *pair, |body| self.is_cloth(body));
            let now = Trouble::in_frame(frame, 1, partner, at.to_array());
            Trouble::add(&mut report.hurried, now);
        }
        if self.report.unlisted > 0 {
            let corners = Path::between(&self.start[body.rows.clone()]).corners();
            let middle = corners.map_or(Vec3::ZERO, |[low, high]| (low + high) * 0.5).to_array();
            let (count, partner) = (self.report.unlisted, ContactPartner::Itself);
            Trouble::add(&mut report.unlisted, Trouble::in_frame(frame, count, partner, middle));
        }
        self.report_crossings(index, report);
    }

    /// Adds the current crossings to the report of a cloth.
    fn report_crossings(&self, index: usize, report: &mut ContactReport) {
        let crossings = self.tangles.crossings.iter().map(|it| (it.pair, it.at));
        report_crossings(index as u32, crossings, |body| self.is_cloth(body), report);
    }
}
