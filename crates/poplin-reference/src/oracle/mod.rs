//! Every constraint again in `f64`, from its paper, in its plainest form. Nothing here shares code with the stages.

mod distance;
mod integrate;
mod sphere;
mod tether;
mod wind;

pub use distance::{SoftRange, project_distance};
pub use integrate::integrate;
pub use sphere::{keep_inside, keep_outside};
pub use tether::constrain_to_anchors;
pub use wind::{Air, air_impulse};
