//! Specialisation of kernels: the cloth kernel to a set of stages, and any to coherent storage.

use poplin_layout::{STAGE_SETS, STAGES, StageMask};

/// Returns the text of [`Kernel::SimulateCloth`](crate::Kernel) without the blocks
/// `if ((STAGES & ...) != 0u) { ... }` that have no bit in `stages`.
///
/// The override `STAGES` would remove these blocks as well, but only after naga has written and the
/// driver has parsed them. Functions that only these blocks call become unused, and naga drops
/// them. A block ends at the brace below its `if`, so the text must be indented like the shipped
/// files.
pub fn specialise(text: &str, stages: StageMask) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut end_of_skipped = None;
    for line in text.lines() {
        if let Some(end) = &end_of_skipped {
            if line == end {
                end_of_skipped = None;
            }
            continue;
        }
        if condition(line).is_some_and(|needed| !needed.intersects(stages)) {
            let indent = &line[..line.len() - line.trim_start().len()];
            end_of_skipped = Some(format!("{indent}}}"));
            continue;
        }
        kept.push_str(line);
        kept.push('\n');
    }
    kept
}

/// Returns the text of a kernel with its writable storage buffers `@coherent`, if lanes exchange
/// values through them: if it has a storage barrier.
///
/// WGSL's storage barriers make writes visible to the workgroup. naga's SPIR-V promises that only
/// for buffers with this attribute (wgpu issue 9221). Without, each of the two compute units that
/// share a workgroup on AMD's RDNA may read its own first-level cache, with values from before the
/// barrier. Devices accept the attribute with `Features::MEMORY_DECORATION_COHERENT`.
pub fn coherent(text: &str) -> String {
    if text.contains("storageBarrier();") {
        text.replace("var<storage, read_write>", "@coherent var<storage, read_write>")
    } else {
        text.to_owned()
    }
}

/// Stages of which at least one is required by a line that opens a block; `None` for any other
/// line.
fn condition(line: &str) -> Option<StageMask> {
    let name = line.trim_start().strip_prefix("if ((STAGES & ")?.strip_suffix(") != 0u) {")?;
    if let Some((_, _, set)) = STAGE_SETS.iter().find(|(set, _, _)| *set == name) {
        return Some(*set);
    }
    let name = name.strip_prefix("STAGE_")?.to_lowercase();
    let row = STAGES.iter().find(|row| row.name == name)?;
    Some(StageMask::only(row.stage))
}

#[cfg(test)]
mod tests {
    use poplin_layout::Stage;

    use super::*;
    use crate::{Composed, compose, parse, validate};

    /// Text of the cloth kernel.
    fn kernel() -> String {
        compose("kernel/simulate_cloth").unwrap().text
    }

    #[test]
    fn only_kernels_with_storage_barriers_have_coherent_buffers() {
        for kernel in crate::Kernel::ALL {
            let text = compose(&kernel.path()).unwrap().text;
            let module = naga::front::wgsl::parse_str(&coherent(&text)).unwrap();
            let writable = naga::StorageAccess::STORE;
            let count = |is_coherent: bool| {
                let of = |(_, it): (_, &naga::GlobalVariable)| {
                    matches!(it.space, naga::AddressSpace::Storage { access } if access.contains(writable))
                        && it.memory_decorations.contains(naga::MemoryDecorations::COHERENT)
                            == is_coherent
                };
                module.global_variables.iter().filter(|it| of(*it)).count()
            };
            let exchanges = text.contains("storageBarrier()");
            assert_eq!(count(exchanges), count(true) + count(false), "{}", kernel.name());
            let expected = [crate::Kernel::SimulateCloth, crate::Kernel::TriangleIteratePinned];
            assert_eq!(exchanges, expected.contains(&kernel), "{}", kernel.name());
        }
    }

    #[test]
    fn parses_every_stage_condition() {
        let text = kernel();
        let opening = |line: &&str| line.trim_start().starts_with("if ((STAGES &");
        let lines: Vec<_> = text.lines().filter(opening).collect();
        assert!(lines.len() > STAGES.len(), "too few stage conditions were found in the kernel");
        for line in &lines {
            assert!(condition(line).is_some(), "{line}");
        }
        assert_eq!(specialise(&text, StageMask::ALL), text);
        let left = specialise(&text, StageMask(0));
        assert_eq!(left.lines().filter(opening).collect::<Vec<_>>(), Vec::<&str>::new());
    }

    #[test]
    fn a_stage_keeps_only_the_functions_that_it_calls() {
        let calls = |text: &str, name: &str| {
            let body = text.split("fn simulate_cloth").nth(1).unwrap();
            body.contains(&format!("{name}("))
        };
        for row in STAGES {
            let text = specialise(&kernel(), StageMask::only(row.stage));
            let mut composed = Composed::default();
            text.clone_into(&mut composed.text);
            let module = parse(&composed).unwrap();
            validate(&composed, &module).unwrap();
            for (stage, task) in
                [(Stage::Bend, "solve_bend"), (Stage::CollideConvex, "collide_convex")]
            {
                assert_eq!(calls(&text, task), row.stage == stage, "{} and {task}", row.name);
            }
            let is_shape = StageMask::SHAPES.contains(row.stage);
            assert_eq!(calls(&text, "prepare_shape"), is_shape, "{}", row.name);
        }
    }
}
