//! Internal crate of [poplin](https://docs.rs/poplin), no API of its own: depend on `poplin`.
//!
//! The WGSL kernels of poplin: embedded, composed from small files, validated and reflected with
//! naga, and linted.
//!
//! Sources are in `shaders/` at the top of the repository. `#import folder/stem` lines at the top
//! of a file include other files, each once. Names are not mangled, so overrides, struct members
//! and doc comments keep theirs.

mod compose;
mod error;
mod kernel;
mod lint;
mod reflect;
mod schedule;
mod sources;
mod specialise;

pub use compose::{Composed, compose, compose_with};
pub use error::ShaderError;
pub use kernel::{Kernel, OverrideValues};
pub use lint::{Finding, lint};
pub use reflect::{StructLayout, parse, struct_layouts, undocumented, validate, workgroup_bytes};
pub use schedule::kernel_events;
pub use sources::{SOURCES, source};
pub use specialise::{coherent, specialise};
