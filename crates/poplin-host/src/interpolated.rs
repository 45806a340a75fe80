//! Arrays that are interpolated from a start to a target over a frame, such as motion spheres.

#[cfg(feature = "save")]
use poplin_model::{ModelError, check_finite};

use crate::uploaded::Uploaded;

/// Array that is interpolated over a frame. The first array ever set is the start, without
/// interpolation; every later one is the target at which the frame ends and from which the next
/// frame starts.
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "save", derive(serde::Serialize, serde::Deserialize))]
pub struct InterpolatedArray {
    halves: [Vec<[f32; 4]>; 2],
    start: usize,
    has_target: bool,
    #[cfg_attr(feature = "save", serde(skip))]
    uploaded: [Uploaded; 2],
}

/// Change of an array's path over the next frame.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct PathChange {
    /// True if the next frame starts elsewhere than the last one ended.
    pub(crate) is_jump: bool,
    /// True if the next frame ends elsewhere than before the change.
    pub(crate) is_motion: bool,
}

impl PathChange {
    /// True if anything changed.
    pub(crate) fn is_any(self) -> bool {
        self.is_jump || self.is_motion
    }
}

impl InterpolatedArray {
    /// True if there is an array.
    pub fn is_set(&self) -> bool {
        !self.halves[self.start].is_empty()
    }

    /// Replaces the array; an empty one switches the feature off. Returns true if anything changed.
    pub fn set(&mut self, values: &[[f32; 4]]) -> bool {
        if values.is_empty() {
            let was_set = self.is_set();
            *self = Self::default();
            return was_set;
        }
        if values.len() != self.halves[self.start].len() {
            // A different length leaves nothing to interpolate from.
            *self = Self { halves: [values.to_vec(), Vec::new()], ..Self::default() };
            return true;
        }
        // The target goes to the other half; end_frame swaps them.
        let half = 1 - self.start;
        let is_changed = self.halves[self.start] != values
            || (self.has_target && self.halves[1 - self.start] != values);
        self.has_target = true;
        values.clone_into(&mut self.halves[half]);
        self.uploaded[half].forget();
        is_changed
    }

    /// Validates an array that was read, which has `len` entries or none.
    #[cfg(feature = "save")]
    pub(crate) fn validate(&self, what: &'static str, len: usize) -> Result<(), ModelError> {
        let count = self.halves.len();
        let start = self.halves.get(self.start).ok_or(ModelError::IndexOutOfRange {
            what,
            position: 0,
            index: self.start.min(u32::MAX as usize) as u32,
            count,
        })?;
        let expected = if start.is_empty() { 0 } else { len };
        for (half, values) in self.halves.iter().enumerate() {
            // A half that is neither start nor target may be empty.
            let may_miss = half != self.start && !self.has_target;
            if values.len() != expected && !(may_miss && values.is_empty()) {
                return Err(ModelError::Length { what, len: values.len(), expected });
            }
            check_finite(what, values)?;
        }
        Ok(())
    }

    /// Sets start and target of the next frame, of equal length. Unchanged halves are not uploaded
    /// again.
    pub(crate) fn lead(&mut self, start: &[[f32; 4]], target: &[[f32; 4]]) -> PathChange {
        let mut change = PathChange::default();
        // A different length resets the array, which is a jump.
        if start.len() != self.halves[self.start].len() {
            change.is_jump = self.set(start);
        } else if self.start() != start {
            start.clone_into(&mut self.halves[self.start]);
            self.uploaded[self.start].forget();
            change.is_jump = true;
        }
        if start != target {
            change.is_motion = self.target() != target;
            self.has_target = true;
            let half = 1 - self.start;
            // The half may still have these values from an earlier frame.
            if self.halves[half] != target {
                target.clone_into(&mut self.halves[half]);
                self.uploaded[half].forget();
            }
        } else {
            // Without motion one half is enough: start and target share it.
            change.is_motion = std::mem::take(&mut self.has_target);
        }
        change
    }

    /// Values at the start of the next frame.
    pub fn start(&self) -> &[[f32; 4]] {
        &self.halves[self.start]
    }

    /// True if the next frame ends elsewhere than it starts.
    pub fn has_target(&self) -> bool {
        self.has_target
    }

    /// Values at the end of the next frame.
    pub fn target(&self) -> &[[f32; 4]] {
        if self.has_target { &self.halves[1 - self.start] } else { &self.halves[self.start] }
    }

    /// See [`crate::HostCloth::fetch_lists`].
    pub(crate) fn fetch(&self) -> u32 {
        self.halves.iter().fold(0, |sum, half| sum ^ half.first().map_or(0, |row| row[3].to_bits()))
    }

    /// Upper bound of the motion of any sphere of a sphere array over the next frame along one
    /// axis, plus its change of radius \[m\].
    pub(crate) fn drift(&self) -> f32 {
        if !self.has_target {
            return 0.0;
        }
        let of_sphere = |(a, b): (&[f32; 4], &[f32; 4])| {
            let [x, y, z, radius] = std::array::from_fn(|k| (b[k] - a[k]).abs());
            // A box grows by at most this along each axis.
            x.max(y).max(z) + radius
        };
        self.start().iter().zip(self.target()).map(of_sphere).fold(0.0, f32::max)
    }

    /// Makes the next [`InterpolatedArray::take_changed`] upload both halves.
    pub fn forget_uploads(&mut self) {
        self.uploaded = Default::default();
    }

    /// Offsets of start and target of this frame in the concatenated halves.
    pub fn offsets(&self) -> [u32; 2] {
        let len = self.halves[self.start].len() as u32;
        let start = self.start as u32 * len;
        [start, if self.has_target { (1 - self.start as u32) * len } else { start }]
    }

    /// Ends the frame: the target becomes the start. Returns true if there was a target.
    pub fn end_frame(&mut self) -> bool {
        let has_moved = std::mem::take(&mut self.has_target);
        if has_moved {
            self.start = 1 - self.start;
        }
        has_moved
    }

    /// Uploads each half that changed or moved since the last call, with its address; the halves
    /// begin at the address `begin`.
    pub fn take_changed(&mut self, begin: u32, mut upload: impl FnMut(u32, &[[f32; 4]])) {
        let mut address = begin;
        for (values, uploaded) in self.halves.iter().zip(&mut self.uploaded) {
            if !values.is_empty() && uploaded.move_to(address) {
                upload(address, values);
            }
            address = address.wrapping_add(values.len() as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_array_is_the_start_and_later_ones_are_targets() {
        let mut array = InterpolatedArray::default();
        let rows = |x: f32| vec![[x, 0.0, 0.0, 1.0]; 3];
        assert!(array.set(&rows(1.0)));
        assert_eq!(array.offsets(), [0, 0]);
        array.end_frame();
        assert!(array.set(&rows(2.0)));
        assert_eq!(array.offsets(), [0, 3]);
        array.end_frame();
        assert_eq!(array.offsets(), [3, 3]);
        assert!(!array.set(&rows(2.0)), "the same array again changes nothing");
        assert!(array.set(&[]));
        assert!(!array.is_set());
    }

    #[test]
    fn a_start_at_the_last_target_is_no_jump() {
        let mut array = InterpolatedArray::default();
        let rows = |x: f32| [[x; 4]];
        let change = |is_jump, is_motion| PathChange { is_jump, is_motion };
        assert_eq!(array.lead(&rows(1.0), &rows(2.0)), change(true, true));
        assert_eq!(array.lead(&rows(1.0), &rows(2.0)), change(false, false));
        array.end_frame();
        assert_eq!(array.lead(&rows(2.0), &rows(2.0)), change(false, false));
        assert_eq!(array.lead(&rows(2.0), &rows(3.0)), change(false, true));
        assert_eq!(
            array.lead(&rows(2.0), &rows(2.0)),
            change(false, true),
            "the target is withdrawn"
        );
        assert_eq!(array.lead(&rows(5.0), &rows(5.0)), change(true, false));
        assert_eq!(array.offsets(), [1, 1]);
    }

    #[test]
    fn only_changed_and_moved_halves_are_uploaded() {
        let mut array = InterpolatedArray::default();
        array.set(&[[1.0; 4]]);
        array.end_frame();
        array.set(&[[2.0; 4]]);
        let mut seen = Vec::new();
        array.take_changed(0, |address, values| seen.push((address, values[0][0])));
        assert_eq!(seen, [(0, 1.0), (1, 2.0)]);
        array.take_changed(0, |_, _| panic!("nothing has changed"));
        array.take_changed(5, |address, values| seen.push((address, values[0][0])));
        assert_eq!(seen[2..], [(5, 1.0), (6, 2.0)]);
    }
}
