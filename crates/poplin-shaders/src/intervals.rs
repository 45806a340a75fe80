//! What runs between the barriers of a kernel, read from its IR, to compare with what the mirror runs.

use naga::{Block, Module, Statement};

/// Names of the called functions of each barrier interval of the first entry point, in the order of the text; intervals
/// without calls are left out. `is_counted` picks the functions that matter.
///
/// An `if` whose branches hold nothing but barriers, in both, counts as a barrier; loops are read once.
pub fn barrier_intervals(module: &Module, is_counted: impl Fn(&str) -> bool) -> Vec<Vec<String>> {
    let mut intervals = vec![Vec::new()];
    if let Some(entry) = module.entry_points.first() {
        walk(module, &entry.function.body, &is_counted, &mut intervals);
    }
    intervals.retain(|interval| !interval.is_empty());
    intervals
}

fn walk(
    module: &Module,
    block: &Block,
    is_counted: &impl Fn(&str) -> bool,
    intervals: &mut Vec<Vec<String>>,
) {
    for statement in block {
        match statement {
            Statement::ControlBarrier(_) => intervals.push(Vec::new()),
            Statement::Call { function, .. } => {
                let name = module.functions[*function].name.clone().unwrap_or_default();
                if is_counted(&name)
                    && let Some(interval) = intervals.last_mut()
                {
                    interval.push(name);
                }
            }
            Statement::Block(inner) => walk(module, inner, is_counted, intervals),
            Statement::If { accept, reject, .. } => {
                if is_barriers(accept) && is_barriers(reject) {
                    intervals.push(Vec::new());
                } else if !is_barriers(accept) && !is_barriers(reject) {
                    walk(module, accept, is_counted, intervals);
                    walk(module, reject, is_counted, intervals);
                }
            }
            Statement::Switch { cases, .. } => {
                cases.iter().for_each(|case| walk(module, &case.body, is_counted, intervals))
            }
            Statement::Loop { body, continuing, .. } => {
                walk(module, body, is_counted, intervals);
                walk(module, continuing, is_counted, intervals);
            }
            _ => {}
        }
    }
}

/// Nothing but barriers, and at least one.
fn is_barriers(block: &Block) -> bool {
    !block.is_empty()
        && block.iter().all(|statement| matches!(statement, Statement::ControlBarrier(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_in_one_branch_only_does_not_count() {
        let text = "override F: bool = true; fn a() {} fn b() {} fn c() {}
            @compute @workgroup_size(4) fn k() {
                a(); if (F) { workgroupBarrier(); } else { storageBarrier(); }
                for (var i = 0u; i < 2u; i++) { b(); if (F) { workgroupBarrier(); } c(); workgroupBarrier(); }
                a();
            }";
        let module = naga::front::wgsl::parse_str(text).unwrap();
        assert_eq!(barrier_intervals(&module, |_| true), [vec!["a"], vec!["b", "c"], vec!["a"]]);
    }
}
