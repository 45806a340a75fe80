//! The guide: how poplin works, what it can do, and how it is verified.
//!
//! | page | |
//! |---|---|
//! | [`scenes`] | scene files, the command `poplin` and its options |
//! | [`keys`] | every key of a scene file or setting of a cloth: units, ranges, defaults |
//! | [`embedding`] | cloth in a program: headless, in a renderer, in a browser, with rigid bodies |
//! | [`python`] | the Python package: cloths as NumPy arrays, sweeps, many environments at once |
//! | [`formats`] | files in and out |
//! | [`limits`] | known limits and their workarounds |
//! | [`architecture`] | crates, buckets, memory tiers, stages |
//! | [`solvers`] | PBD and XPBD, automatic choices, sources |
//! | [`fibers`] | chains of edges, how they are made and solved, and what each solver costs |
//! | [`contact`] | shapes, self collision, collision between cloths |
//! | [`decisions`] | design decisions and their reasons |
//! | [`testing`] | how to run the tests, and what each file tests |
//! | [`validation`] | measured trajectories and analytic results |
//! | [`performance`] | frame times per machine |
//! | [`glossary`] | terms used in the code |
//!
//! The pages are Markdown files under `crates/poplin/guide`; their examples are doc tests.

/// A page of the guide: a module that is a Markdown file.
///
/// Pages link to each other by reference. The files define the references as file links for readers
/// of the repository; the definitions below come first, take precedence, and lead to modules.
macro_rules! page {
    ($name:ident, $file:literal $(, $plot:literal)?) => {
        #[doc = "
[architecture]: crate::guide::architecture
[contact]: crate::guide::contact
[decisions]: crate::guide::decisions
[embedding]: crate::guide::embedding
[fibers]: crate::guide::fibers
[formats]: crate::guide::formats
[glossary]: crate::guide::glossary
[keys]: crate::guide::keys
[limits]: crate::guide::limits
[performance]: crate::guide::performance
[python]: crate::guide::python
[scenes]: crate::guide::scenes
[solvers]: crate::guide::solvers
[testing]: crate::guide::testing
[validation]: crate::guide::validation
[plot]: #plot

"]
        #[doc = include_str!(concat!("../guide/", $file))]
        $(
            #[doc = "\n\n# Plot\n"]
            #[doc = include_str!(concat!("../guide/", $plot))]
        )?
        pub mod $name {}
    };
}

page!(architecture, "architecture.md");
page!(contact, "contact.md");
page!(decisions, "decisions.md");
page!(embedding, "embedding.md");
page!(fibers, "fibers.md", "fibers.svg");
page!(formats, "formats.md");
page!(glossary, "glossary.md");
page!(keys, "keys.md");
page!(limits, "limits.md");
page!(performance, "performance.md");
page!(python, "python.md");
page!(scenes, "scenes.md");
page!(solvers, "solvers.md");
page!(testing, "testing.md");
page!(validation, "validation.md", "flag_energy.svg");
