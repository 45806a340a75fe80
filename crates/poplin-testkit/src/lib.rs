//! Test tools of poplin: reference cases, comparators, seeded scenes, metrics.
#![warn(missing_docs)]

pub mod adapter;
mod box_tree;
pub mod case;
pub mod compare;
pub mod conform;
pub mod entanglement;
pub mod fibers;
pub mod generated;
pub mod metrics;
pub mod rng;
pub mod scenes;
pub mod separation;
pub mod stage_case;
pub mod stage_runner;
