//! Every constraint again in `f64`, from its paper, in its plainest form. Nothing here shares code with the stages.

mod distance;
mod integrate;
mod tether;

pub use distance::{SoftRange, project_distance};
pub use integrate::integrate;
pub use tether::constrain_to_anchors;
