//! Tests of the `poplin` binary: exit codes, messages, files.
#![expect(clippy::unwrap_used, reason = "test helpers may panic")]

mod bad_input;
mod batch;
mod bench;
mod check;
mod colliders;
mod conform;
mod doubts;
mod ending;
mod folder;
mod interrupt;
mod machine;
mod motion;
mod moved;
mod output;
mod parts;
mod placing;
mod run;
mod shipped;
mod warnings;
mod workloads;
