//! Collision between cloths. Twin of `shaders/contact` and of the kernels `contact_*`, each a pass
//! over rows or cloths.
//!
//! A row is a particle of a cloth that takes part. Sums over the rows of a bucket follow the order
//! of the rows, so no result depends on thread timing; passes run in parallel over cloths or rows.

mod gather;
mod grid;
mod memory;
mod push;

pub use memory::{ContactBody, ContactMemory, ContactPasses, wants};
