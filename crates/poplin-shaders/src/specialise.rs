//! Leaves out of the cloth kernel what a set of stages never runs.

use poplin_layout::{STAGE_SETS, STAGES, StageMask};

/// The text of [`Kernel::SimulateCloth`](crate::Kernel) without the blocks `if ((STAGES & ...) != 0u) { ... }` of which no bit is in
/// `stages`.
///
/// The override `STAGES` would fold them away as well, but only after naga has written them and the driver has read them; what they
/// call is then unused, and naga drops it. A block ends at the brace below its `if`, so the text must be indented as the shipped
/// files are.
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

/// The stages of which a line that opens a block wants one; `None` of any other line.
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

    fn kernel() -> String {
        compose("kernel/simulate_cloth").unwrap().text
    }

    #[test]
    fn every_condition_is_understood() {
        let text = kernel();
        let opening = |line: &&str| line.trim_start().starts_with("if ((STAGES &");
        let lines: Vec<_> = text.lines().filter(opening).collect();
        assert!(lines.len() > STAGES.len(), "the kernel asks for its stages in other words");
        for line in &lines {
            assert!(condition(line).is_some(), "{line}");
        }
        assert_eq!(specialise(&text, StageMask::ALL), text);
        let left = specialise(&text, StageMask(0));
        assert_eq!(left.lines().filter(opening).collect::<Vec<_>>(), Vec::<&str>::new());
    }

    #[test]
    fn a_stage_keeps_what_it_calls_and_no_other() {
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
