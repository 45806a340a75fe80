//! Writing of simulated frames, in every format of [`FRAME_FORMATS`].

mod cache_motion;
mod format;
mod glb;
mod mdd;
pub(crate) mod npy;
mod npz;
mod point_cache;
mod sequence;
mod source;
mod spool;
#[cfg(test)]
mod tests;
mod usd;

pub use cache_motion::CacheMotion;
pub use format::{CreateFrameSink, FRAME_FORMATS, FrameFormat, FrameSink};
pub use point_cache::{PointCache, PointCacheWriter};
pub use sequence::remove_frames;
pub use source::FrameSource;
pub(crate) use source::faces;
