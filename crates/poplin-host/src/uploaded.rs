//! Location of uploaded rows, by which changed and moved rows are found.

use poplin_layout::NO_OFFSET;

/// Address at which the device has some rows; none if they have changed since their last upload. It
/// belongs to these rows alone: the device does not have a clone of them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Uploaded(u32);

impl Clone for Uploaded {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Default for Uploaded {
    fn default() -> Self {
        Self(NO_OFFSET)
    }
}

impl Uploaded {
    /// Notes that the rows have changed.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    /// True if the rows have changed since their last upload.
    pub(crate) fn is_nowhere(&self) -> bool {
        *self == Self::default()
    }

    /// Notes that the device has the rows at `address` from now on; returns true if it did not
    /// before.
    pub(crate) fn move_to(&mut self, address: u32) -> bool {
        std::mem::replace(&mut self.0, address) != address
    }
}
