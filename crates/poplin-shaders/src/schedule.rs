//! Schedule of a kernel, read from its IR, to compare with that of the Rust twin.

use std::cell::Cell;

use naga::{Block, Expression, Function, Handle, Literal, Module, Statement};
use poplin_layout::{Barrier, Fence, Location, ScheduleEvent, StageMask};

/// Returns the events of the first entry point, in the order of the text. `is_counted` selects the
/// functions whose calls are events.
///
/// A loop without a barrier, and a condition other than `(STAGES & mask) != 0`, is no event itself;
/// the calls and barriers inside are.
pub fn kernel_events(module: &Module, is_counted: impl Fn(&str) -> bool) -> Vec<ScheduleEvent> {
    let mut events = Vec::new();
    if let Some(entry) = module.entry_points.first() {
        let reader = Reader {
            module,
            function: &entry.function,
            is_counted: &is_counted,
            depth: Cell::new(0),
        };
        reader.read(&entry.function.body, &mut events);
    }
    events
}

/// Reader of an entry point.
struct Reader<'a> {
    module: &'a Module,
    function: &'a Function,
    is_counted: &'a dyn Fn(&str) -> bool,
    /// Number of repetitions around the current block.
    depth: Cell<u32>,
}

impl Reader<'_> {
    /// Appends the events of a block.
    fn read(&self, block: &Block, events: &mut Vec<ScheduleEvent>) {
        // Adjacent fences are one barrier.
        let mut fences: Option<Fence> = None;
        for statement in block {
            if let Statement::ControlBarrier(barrier) = statement {
                add(fences.get_or_insert_default(), *barrier);
                continue;
            }
            if !matches!(statement, Statement::Emit(_)) {
                flush(&mut fences, events);
            }
            match statement {
                Statement::Call { function, .. } => {
                    let name = self.module.functions[*function].name.clone().unwrap_or_default();
                    if (self.is_counted)(&name) {
                        events.push(ScheduleEvent::Call(name));
                    }
                }
                Statement::Block(inner) => self.read(inner, events),
                // A uniform condition is an event only if it leaves a repetition.
                Statement::If { condition, accept, .. }
                    if self.depth.get() > 0
                        && matches!(accept[..], [Statement::Break])
                        && self.is_decided_alike(*condition) =>
                {
                    events.push(ScheduleEvent::Leave);
                }
                Statement::If { condition, accept, reject } => {
                    self.read_condition(*condition, accept, reject, events);
                }
                Statement::Switch { cases, .. } => {
                    cases.iter().for_each(|case| self.read(&case.body, events));
                }
                Statement::Loop { body, continuing, .. } => {
                    let is_repeat = has_barrier(body) || has_barrier(continuing);
                    if is_repeat {
                        self.depth.update(|depth| depth + 1);
                        events.push(ScheduleEvent::Repeat);
                    }
                    self.read(body, events);
                    self.read(continuing, events);
                    if is_repeat {
                        self.depth.update(|depth| depth - 1);
                        events.push(ScheduleEvent::End);
                    }
                }
                _ => {}
            }
        }
        flush(&mut fences, events);
    }

    /// Appends the events of an `if`: a barrier by location, stages, or the contents of both
    /// branches.
    fn read_condition(
        &self,
        condition: Handle<Expression>,
        accept: &Block,
        reject: &Block,
        events: &mut Vec<ScheduleEvent>,
    ) {
        if let (Some(shared), Some(streamed)) = (fence_of(accept), fence_of(reject))
            && (shared, streamed) != (Fence::default(), Fence::default())
        {
            let name = self.override_name(condition);
            let location = Location::ALL.into_iter().find(|location| Some(location.name()) == name);
            events.push(match location {
                Some(location) => ScheduleEvent::Barrier(Barrier { location, shared, streamed }),
                None => ScheduleEvent::UnknownBarrier,
            });
        } else if let Some(mask) = self.stage_mask(condition) {
            events.push(ScheduleEvent::Stages(mask));
            self.read(accept, events);
            events.push(ScheduleEvent::End);
            self.read(reject, events);
        } else {
            self.read(accept, events);
            self.read(reject, events);
        }
    }

    /// Tests whether a condition compares the result of a `workgroupUniformLoad`.
    fn is_decided_alike(&self, condition: Handle<Expression>) -> bool {
        let expressions = &self.function.expressions;
        let Expression::Binary { left, .. } = expressions[condition] else {
            return false;
        };
        matches!(expressions[left], Expression::WorkGroupUniformLoadResult { .. })
    }

    /// Returns the name of an override.
    fn override_name(&self, expression: Handle<Expression>) -> Option<&str> {
        match self.function.expressions[expression] {
            Expression::Override(handle) => self.module.overrides[handle].name.as_deref(),
            _ => None,
        }
    }

    /// Returns the mask of `(STAGES & mask) != 0`.
    fn stage_mask(&self, condition: Handle<Expression>) -> Option<StageMask> {
        let Expression::Binary { op: naga::BinaryOperator::NotEqual, left, right } =
            self.function.expressions[condition]
        else {
            return None;
        };
        let Expression::Binary { op: naga::BinaryOperator::And, left: stages, right: mask } =
            self.function.expressions[left]
        else {
            return None;
        };
        let is_mask = self.override_name(stages) == Some("STAGES") && self.number(right) == Some(0);
        self.number(mask).filter(|_| is_mask).map(StageMask)
    }

    /// Returns the value of a `u32` literal or constant.
    fn number(&self, expression: Handle<Expression>) -> Option<u32> {
        let literal = match &self.function.expressions[expression] {
            Expression::Constant(handle) => {
                &self.module.global_expressions[self.module.constants[*handle].init]
            }
            other => other,
        };
        match literal {
            Expression::Literal(Literal::U32(number)) => Some(*number),
            _ => None,
        }
    }
}

/// Adds the memory of a barrier to a fence.
fn add(fence: &mut Fence, barrier: naga::Barrier) {
    fence.workgroup |= barrier.contains(naga::Barrier::WORK_GROUP);
    fence.storage |= barrier.contains(naga::Barrier::STORAGE);
}

/// Appends the collected fences as one barrier.
fn flush(fences: &mut Option<Fence>, events: &mut Vec<ScheduleEvent>) {
    if let Some(fence) = fences.take() {
        events.push(ScheduleEvent::Barrier(Barrier::always(fence)));
    }
}

/// Returns the fences of a block that contains only barriers, otherwise `None`.
fn fence_of(block: &Block) -> Option<Fence> {
    let mut fence = Fence::default();
    for statement in block {
        match statement {
            Statement::ControlBarrier(barrier) => add(&mut fence, *barrier),
            // naga adds a return to every branch that ends a function.
            Statement::Return { value: None } => {}
            _ => return None,
        }
    }
    Some(fence)
}

/// Tests whether a block contains a barrier at any depth.
fn has_barrier(block: &Block) -> bool {
    block.iter().any(|statement| match statement {
        Statement::ControlBarrier(_) => true,
        Statement::Block(inner) => has_barrier(inner),
        Statement::If { accept, reject, .. } => has_barrier(accept) || has_barrier(reject),
        Statement::Loop { body, continuing, .. } => has_barrier(body) || has_barrier(continuing),
        Statement::Switch { cases, .. } => cases.iter().any(|case| has_barrier(&case.body)),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_calls_guards_repetitions_and_barrier_kinds() {
        let text = "override CURRENT_SHARED: bool = true; override ROWS_APART: bool = true; override F: bool = true;
            override STAGES: u32 = 1u; const STAGE_A: u32 = 4u; fn a() {} fn b() {}
            @compute @workgroup_size(4) fn k() {
                for (var i = 0u; i < 2u; i++) { a(); }
                workgroupBarrier(); storageBarrier();
                if ((STAGES & STAGE_A) != 0u) {
                    for (var i = 0u; i < 2u; i++) { b(); if (CURRENT_SHARED) { storageBarrier(); } }
                    if (ROWS_APART) { storageBarrier(); }
                }
                if (F) { workgroupBarrier(); }
            }";
        let module = naga::front::wgsl::parse_str(text).unwrap();
        let (storage, both) =
            (Fence { workgroup: false, storage: true }, Fence { workgroup: true, storage: true });
        let barrier = |location| {
            ScheduleEvent::Barrier(Barrier {
                location,
                shared: storage,
                streamed: Fence::default(),
            })
        };
        assert_eq!(
            kernel_events(&module, |_| true),
            [
                ScheduleEvent::Call("a".to_owned()),
                ScheduleEvent::Barrier(Barrier::always(both)),
                ScheduleEvent::Stages(StageMask(4)),
                ScheduleEvent::Repeat,
                ScheduleEvent::Call("b".to_owned()),
                barrier(Location::Current),
                ScheduleEvent::End,
                barrier(Location::RowsApart),
                ScheduleEvent::End,
                ScheduleEvent::UnknownBarrier,
            ]
        );
    }
}
