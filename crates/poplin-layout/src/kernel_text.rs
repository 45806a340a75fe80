//! Kernel `simulate_cloth`: `simulate_cloth.wgsl` beside this file, with the loops of the schedule.

use poplin_model::FiberSolver;

use crate::{Barrier, Fence, ITERATION, Items, Repeat, STAGES, Stage, StageMask, Step, Task};

/// Entry point without its stages and loops, whose places two comments hold.
const FRAME: &str = include_str!("simulate_cloth.wgsl");

/// Exit of an implicit solve.
const LEAVE_IF_SOLVED: &str = "
    // See `shared_is_done`: 1 ends the solve, bit 0 asks for new factors, the rest is
    // the halving.
    let verdict = workgroupUniformLoad(&shared_is_done);
    if (verdict == 1u) {
        break;
    }
    factor_passes = verdict & 1u;
    set_halvings((verdict >> 1u) - 1u);
";

/// Returns the text of the kernel.
pub(crate) fn simulate_cloth() -> String {
    let imports = STAGES.iter().map(|row| format!("#import stage/{}\n", row.name));
    let mut loops = Lines { text: String::new(), depth: 1, solver: None };
    loops.push_steps(&[Step::Repeat(Repeat::Iterations, ITERATION)]);
    FRAME
        .replace("// <stages>\n", &imports.collect::<String>())
        .replace("    // <iterations>\n", &loops.text)
}

/// Lines of WGSL, indented by the braces around them.
struct Lines {
    text: String,
    depth: usize,
    /// Fiber solver of which the innermost loop has repetitions; others have none.
    solver: Option<FiberSolver>,
}

impl Lines {
    /// Appends lines.
    fn push(&mut self, lines: &str) {
        for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
            self.depth -= usize::from(line.starts_with('}'));
            self.text += &format!("{:1$}{line}\n", "", 4 * self.depth);
            self.depth += usize::from(line.ends_with('{'));
        }
    }

    fn push_steps(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Stages(mask, steps) => {
                    let is_implicit = *mask == StageMask::only(Stage::Implicit);
                    self.push(&format!("if ((STAGES & {}) != 0u) {{", mask.constant()));
                    if is_implicit {
                        self.push("set_halvings(min(next_halvings, frame_pool[phases + 5u].x));");
                    }
                    self.push_steps(steps);
                    if is_implicit {
                        self.push("next_halvings = u32(load_scratch(solve_state(5u)).x);");
                    }
                    self.push("}");
                }
                Step::Repeat(repeat, steps) => {
                    self.push(head(*repeat));
                    self.solver = match repeat {
                        Repeat::ReductionSteps => Some(FiberSolver::CyclicReduction),
                        Repeat::WholeFibers => Some(FiberSolver::SemiImplicit),
                        _ => None,
                    };
                    self.push_steps(steps);
                    self.solver = None;
                    if *repeat == Repeat::Iterations {
                        self.push("ran += u32(is_alive);");
                    }
                    self.push("}");
                }
                Step::Work(items, tasks) => self.push_work(*items, tasks),
                Step::Barrier(barrier) => self.push(&barrier_text(barrier)),
                Step::LeaveIfSolved => self.push(LEAVE_IF_SOLVED),
                Step::SolveLevels | Step::RepairLevels => {}
                Step::StopAtFault => {
                    self.push("is_alive = is_alive && atomicLoad(&shared_fault_count) == 0u;");
                }
            }
        }
    }

    /// Appends the loop of each lane over its items.
    fn push_work(&mut self, items: Items, tasks: &[Task]) {
        let Range { item, begin, end } = Range::of(items);
        match items {
            Items::One => self.push("if (is_alive && lane == 0u) {"),
            Items::Fibers(solver) | Items::Edges(solver) if self.solver != Some(solver) => {
                let solver = match solver {
                    FiberSolver::GaussSeidel => "SOLVER_GAUSS_SEIDEL",
                    FiberSolver::SemiImplicit => "SOLVER_SEMI_IMPLICIT",
                    FiberSolver::CyclicReduction => "SOLVER_CYCLIC_REDUCTION",
                };
                self.push(&format!("if (is_alive && solver.x == {solver}) {{"));
            }
            _ => self.push("if (is_alive) {"),
        }
        if items != Items::One {
            // Calls and loads are evaluated once.
            let is_plain = !end.contains(['(', '[']);
            if !is_plain {
                self.push(&format!("let end = {end};"));
            }
            let end = if is_plain { end } else { "end" };
            self.push(&format!("for (var {item} = {begin}; {item} < {end}; {item} += LANES) {{"));
        }
        let is_of_many = tasks.iter().any(|task| task.stage() != tasks[0].stage());
        for task in tasks {
            let separator = if task.arguments().is_empty() { "" } else { ", " };
            let call = format!("{}({item}{separator}{});", task.name(), task.arguments());
            let stage = task.stage().filter(|_| is_of_many).map(|stage| {
                let mask = StageMask::only(stage).constant();
                format!("(STAGES & {mask}) != 0u")
            });
            match stage.as_deref().or(condition(*task)) {
                Some(condition) => self.push(&format!("if ({condition}) {{\n{call}\n}}")),
                None => self.push(&call),
            }
        }
        self.push(if items == Items::One { "}" } else { "}\n}" });
    }
}

/// Text of the barriers of a step.
fn barrier_text(barrier: &Barrier) -> String {
    let calls = |fence: Fence| {
        let calls =
            [(fence.workgroup, "workgroupBarrier();"), (fence.storage, "storageBarrier();")];
        let calls = calls.into_iter().filter(|(is_called, _)| *is_called).map(|(_, call)| call);
        calls.collect::<Vec<_>>()
    };
    let (shared, streamed) = (calls(barrier.shared), calls(barrier.streamed));
    if shared == streamed {
        return shared.join("\n");
    }
    let text = format!("if ({}) {{ {} }}", barrier.location.name(), shared.join(" "));
    if streamed.is_empty() { text } else { format!("{text} else {{ {} }}", streamed.join(" ")) }
}

/// Condition of a call that only some repetitions make.
fn condition(task: Task) -> Option<&'static str> {
    task.is_of_first_step().map(|is_first| if is_first { "step == 0u" } else { "step > 0u" })
}

/// Items of a loop in WGSL.
struct Range {
    /// Name of an item.
    item: &'static str,
    /// First item of the lane.
    begin: &'static str,
    /// End of the items.
    end: &'static str,
}

impl Range {
    fn of(items: Items) -> Self {
        let (item, begin, end) = match items {
            Items::Shapes => ("shape", "lane", "prepared_count()"),
            Items::Particles => ("i", "lane", "particle_count"),
            Items::TestedParticles => {
                ("i", "lane", "select(0u, particle_count, is_sleep_test(shared_sleep_time))")
            }
            Items::Triangles => ("t", "lane", "cloth.fabric.triangle_count"),
            Items::Anchors => ("slot", "lane", "cloth.fabric.anchor_count"),
            Items::Fibers(_) => ("fiber", "fiber_begin + lane", "fiber_end"),
            Items::Edges(_) => ("edge", "edges.x + lane", "edges.y"),
            Items::Yarns => ("yarn", "fabric_pool[yarns] + lane", "fabric_pool[yarns + 1u]"),
            Items::Bends => ("bend", "fabric_pool[bends] + lane", "fabric_pool[bends + 1u]"),
            Items::Cells => ("cell", "lane", "GRID_CELLS"),
            Items::CellParts => ("part", "lane", "GRID_PARTS"),
            Items::Members => {
                ("member", "lane", "cloth_parameters[cloth_slot].self_collision.member_count")
            }
            Items::Chunks => ("chunk", "lane", "(particle_count + CHUNK - 1u) / CHUNK"),
            Items::Bodies => ("body", "lane", "cloth_parameters[cloth_slot].colliders.body_count"),
            Items::Bundles => {
                ("bundle", "fabric_pool[bundles] + lane", "fabric_pool[bundles + 1u]")
            }
            Items::ProbedParticles => {
                ("i", "lane", "select(0u, particle_count, probes_contacts())")
            }
            Items::StretchedTriangles => {
                ("t", "lane", "select(cloth.fabric.triangle_count, 0u, stretches_springs())")
            }
            Items::TakenBends => {
                ("bend", "lane", "select(0u, bend_count(), takes_bends() && !bends_springs())")
            }
            Items::Chains => ("chain", "lane", "chain_end()"),
            Items::SolveParts => ("part", "lane", "SOLVE_PARTS"),
            Items::SolveSums => ("sum", "lane", "SOLVE_SUMS"),
            Items::One => ("0u", "", ""),
        };
        Self { item, begin, end }
    }
}

/// Head of a loop and the registers that it sets.
fn head(repeat: Repeat) -> &'static str {
    match repeat {
        Repeat::Iterations => {
            "
            for (var k = iteration_begin; k < iteration_end; k++) {
                iteration = load_iteration(k);
                rotation_columns = cloth.rotation_begin + select(6u, 0u, k == 0u);
            "
        }
        Repeat::Phases => {
            "
            for (var constants = phase_begin; constants < phase_end; constants += PHASE_ROWS) {
                let phase = load_phase(constants);
                let sets = frame_pool[constants + 1u];
                let solver = frame_pool[constants + 2u];
                // Passes of cyclic reduction: one builds the rows, each of the others reduces them.
                let step_count = select(0u, solver.z + 1u, solver.x == SOLVER_CYCLIC_REDUCTION);
                let solve_count = select(0u, 1u, solver.x == SOLVER_SEMI_IMPLICIT);
            "
        }
        Repeat::FiberSets => {
            "
            for (var set_index = sets.x; set_index < sets.y; set_index++) {
                let fiber_begin = fabric_pool[set_begin + set_index];
                let fiber_end = fabric_pool[set_begin + set_index + 1u];
                let edges = vec2<u32>(fabric_pool[cloth.fabric.fiber_begin + fiber_begin], fabric_pool[cloth.fabric.fiber_begin + fiber_end]);
            "
        }
        Repeat::ReductionSteps => {
            "for (var step = 0u; step < step_count; step++) {"
        }
        Repeat::WholeFibers => {
            "for (var solve = 0u; solve < solve_count; solve++) {"
        }
        Repeat::YarnSets => "for (var yarns = yarn_begin; yarns < yarn_end; yarns++) {",
        Repeat::BendSets => "for (var bends = bend_begin; bends < bend_end; bends++) {",
        Repeat::BodyVisits => {
            "
            // The first visit sums the mass that hits each body, the second exchanges impulses.
            for (var visit = 0u; visit < 2u; visit++) {
            "
        }
        Repeat::BundleSets => {
            "for (var bundles = virtual_begin; bundles < virtual_end; bundles++) {"
        }
        Repeat::Evaluations => {
            "
            let evaluation_end = frame_pool[phases + 4u].w;
            let chain_passes = select(0u, 1u, frame_pool[phases + 4u].x == PRECONDITIONER_FIBERS);
            // Chains are factored at the first evaluation and at some checks, solved at each.
            var factor_passes = 1u;
            // A cloth with a fault leaves at once: it chooses no step.
            if (lane == 0u) {
                shared_is_done = 1u;
            }
            for (var evaluation = 0u; evaluation < evaluation_end; evaluation++) {
            "
        }
        Repeat::Chains => "for (var chain_pass = 0u; chain_pass < chain_passes; chain_pass++) {",
        Repeat::Factors => {
            "for (var factor_pass = 0u; factor_pass < factor_passes; factor_pass++) {"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indents_blocks_by_their_braces() {
        let mut lines = Lines { text: String::new(), depth: 1, solver: None };
        lines.push("if (a) {\nfor (;;) {\n  b();\n\n}\n}");
        assert_eq!(
            lines.text,
            "    if (a) {\n        for (;;) {\n            b();\n        }\n    }\n"
        );
    }

    #[test]
    fn barriers_depend_on_their_override() {
        let (both, none) = (Fence { workgroup: true, storage: true }, Fence::default());
        let barrier = |shared, streamed| Barrier { shared, streamed, ..Barrier::default() };
        for (barrier, text) in [
            (barrier(both, both), "workgroupBarrier();\nstorageBarrier();"),
            (barrier(both, none), "if (CURRENT_SHARED) { workgroupBarrier(); storageBarrier(); }"),
        ] {
            assert_eq!(barrier_text(&barrier), text);
        }
    }
}
