//! Wide (SIMD) forms of the stages, each over the items of one loop.

pub(crate) mod self_collide;
