//! Wide (SIMD) forms of the stages, each over the items of one loop.

pub(crate) mod contacts;
pub(crate) mod fibers;
pub(crate) mod gauss_seidel;
pub(crate) mod implicit;
pub(crate) mod integrate;
pub(crate) mod particles;
pub(crate) mod self_collide;
pub(crate) mod semi_implicit;
pub(crate) mod shapes;
pub(crate) mod tether;
pub(crate) mod wind;
