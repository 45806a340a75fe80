//! Stages in SIMD lanes, and the worker that runs them. A lane holds a fiber or a particle of one
//! cloth, or one of several cloths that share a fabric. The loops of a large cloth are split over
//! several threads.

mod cloths;
mod contact;
mod near;
mod solve;
mod split;
mod stage;
mod team;

pub use contact::ContactLists;
pub use stage::self_collide::Neighbors;
pub use team::WideTeam;
