//! The worker that runs stages in SIMD lanes, and the contact of particles with neighbor lists. A
//! lane holds a fiber or a particle of one cloth, or one of several cloths that share a fabric. The
//! loops of a large cloth are split over several threads.

mod cloths;
mod contact;
mod near;
mod neighbors;
mod solve;
mod split;
mod team;

pub use contact::ContactLists;
pub use neighbors::Neighbors;
pub(crate) use team::WideKept;
pub use team::WideTeam;
