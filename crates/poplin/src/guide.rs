//! The guide: how to use poplin, how it works, and what its tests prove.
//!
//! | page | |
//! |---|---|
//! | [`scenes`] | scene files, the command `poplin` and its options |
//! | [`keys`] | every key of a scene file or setting of a cloth: units, ranges, defaults |
//! | [`embedding`] | cloth in a program: headless, in a renderer, in a browser, with rigid bodies |
//! | [`python`] | the Python package: cloths as NumPy arrays, sweeps, many environments at once |
//! | [`formats`] | files in and out |
//! | [`contact`] | colliders, self and cloth collision, triangle contact: settings, warnings |
//! | [`limits`] | what does not work, and what to do about it |
//! | [`status`] | what works, what is not proved, what comes next |
//! | [`architecture`] | crates, data flow, buffers, stages, the CPU backend |
//! | [`frame`] | one frame, stage by stage |
//! | [`solvers`] | PBD, XPBD and implicit, settings chosen from the cloth, sources |
//! | [`fibers`] | chains of edges, how they are made and solved, and what each solver costs |
//! | [`contact_passes`] | particle contact and triangle contact, pass by pass |
//! | [`contact_scenes`] | triangle contact measured on 30 scenes |
//! | [`invariants`] | properties that always hold, each with its test |
//! | [`decisions`] | reasons for design choices |
//! | [`testing`] | how to run the tests, and what each file checks |
//! | [`bits`] | how to find the cause of a difference of one bit |
//! | [`validation`] | measured trajectories and analytic results |
//! | [`performance`] | milliseconds, per machine |
//! | [`glossary`] | definitions of the project's terms |
//!
//! The pages are Markdown files under `crates/poplin/guide`; their examples are doc tests.

/// A page of the guide: a module whose documentation is a Markdown file.
///
/// Pages link to each other by reference. The files define the references as paths, for readers of
/// the repository. The definitions here come first, take precedence, and lead to modules.
macro_rules! page {
    ($name:ident, $file:literal $(, $plot:literal)?) => {
        #[doc = "
[architecture]: crate::guide::architecture
[bits]: crate::guide::bits
[contact]: crate::guide::contact
[contact_passes]: crate::guide::contact_passes
[contact_scenes]: crate::guide::contact_scenes
[decisions]: crate::guide::decisions
[embedding]: crate::guide::embedding
[fibers]: crate::guide::fibers
[formats]: crate::guide::formats
[frame]: crate::guide::frame
[glossary]: crate::guide::glossary
[invariants]: crate::guide::invariants
[keys]: crate::guide::keys
[limits]: crate::guide::limits
[performance]: crate::guide::performance
[python]: crate::guide::python
[scenes]: crate::guide::scenes
[solvers]: crate::guide::solvers
[status]: crate::guide::status
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
page!(bits, "bits.md");
page!(contact, "contact.md");
page!(contact_passes, "contact_passes.md");
page!(contact_scenes, "contact_scenes.md");
page!(decisions, "decisions.md");
page!(embedding, "embedding.md");
page!(fibers, "fibers.md", "fibers.svg");
page!(formats, "formats.md");
page!(frame, "frame.md");
page!(glossary, "glossary.md");
page!(invariants, "invariants.md");
page!(keys, "keys.md");
page!(limits, "limits.md");
page!(performance, "performance.md");
page!(python, "python.md");
page!(scenes, "scenes.md");
page!(solvers, "solvers.md");
page!(status, "status.md");
page!(testing, "testing.md");
page!(validation, "validation.md", "flag_energy.svg");
