//! The command line of poplin.
fn main() {}
