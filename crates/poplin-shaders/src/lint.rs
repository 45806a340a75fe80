//! Rules that naga does not enforce, on barriers, returns and divisors.

use naga::{
    Arena, BinaryOperator, Block, Expression, Function, Handle, Literal, Module, Statement,
};

/// Violation of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Function that violates the rule.
    pub function: String,
    /// Rule, and the reason for it.
    pub rule: &'static str,
}

/// Rule against barriers in stage functions.
pub(crate) const BARRIER_IN_STAGE: &str = "barrier outside a kernel: only kernels own barriers";
/// Rule against barriers under a condition that may differ between lanes.
pub(crate) const DIVERGENT_BARRIER: &str =
    "barrier under a condition that is not made of overrides: lanes may diverge";
/// Rule against early returns in kernels.
pub(crate) const EARLY_RETURN: &str =
    "return in a kernel: other lanes would wait at the next barrier forever";

/// Rule against divisors that are known at compile time.
pub(crate) const CONSTANT_DIVISOR: &str =
    "division by a constant: drivers multiply by its rounded reciprocal, which has other bits";

/// Checks every function of a module.
///
/// A barrier may be in an entry point at statement level, in a loop, or under an `if` whose
/// condition is made of overrides, constants and literals only. Loop bounds are checked by `tint`,
/// which analyses uniformity. A float may be divided by a constant only if that is a power of two,
/// whose reciprocal is exact.
pub fn lint(module: &Module) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (_, function) in module.functions.iter() {
        let name = function.name.clone().unwrap_or_default();
        if contains_barrier(&function.body) {
            findings.push(Finding { function: name.clone(), rule: BARRIER_IN_STAGE });
        }
        if divides_by_constant(module, function) {
            findings.push(Finding { function: name, rule: CONSTANT_DIVISOR });
        }
    }
    for entry in &module.entry_points {
        let mut walk =
            Walk { function: &entry.function, name: &entry.name, findings: &mut findings };
        walk.block(&entry.function.body, true, true);
        if divides_by_constant(module, &entry.function) {
            walk.report(CONSTANT_DIVISOR);
        }
    }
    findings
}

/// Traversal of an entry point.
struct Walk<'a> {
    function: &'a Function,
    name: &'a str,
    findings: &'a mut Vec<Finding>,
}

impl Walk<'_> {
    fn report(&mut self, rule: &'static str) {
        self.findings.push(Finding { function: self.name.to_owned(), rule });
    }

    /// Checks a block. `is_uniform`: all lanes run it or none. `is_tail`: it ends the function,
    /// where naga adds a return to every path.
    fn block(&mut self, block: &Block, is_uniform: bool, is_tail: bool) {
        for (index, statement) in block.iter().enumerate() {
            let is_tail = is_tail && index + 1 == block.len();
            match statement {
                Statement::ControlBarrier(_) | Statement::WorkGroupUniformLoad { .. }
                    if !is_uniform =>
                {
                    self.report(DIVERGENT_BARRIER)
                }
                Statement::Return { .. } if !is_tail => self.report(EARLY_RETURN),
                Statement::Block(inner) => self.block(inner, is_uniform, is_tail),
                Statement::If { condition, accept, reject } => {
                    let is_uniform = is_uniform && self.is_override_expression(*condition);
                    self.block(accept, is_uniform, is_tail);
                    self.block(reject, is_uniform, is_tail);
                }
                Statement::Switch { cases, .. } => {
                    cases.iter().for_each(|case| self.block(&case.body, false, is_tail))
                }
                Statement::Loop { body, continuing, .. } => {
                    self.block(body, is_uniform, false);
                    self.block(continuing, is_uniform, false);
                }
                _ => {}
            }
        }
    }

    /// Tests whether an expression is made of overrides, constants and literals only.
    fn is_override_expression(&self, handle: naga::Handle<Expression>) -> bool {
        match &self.function.expressions[handle] {
            Expression::Override(_) | Expression::Constant(_) | Expression::Literal(_) => true,
            Expression::Binary { left, right, .. } => {
                self.is_override_expression(*left) && self.is_override_expression(*right)
            }
            Expression::Unary { expr, .. } => self.is_override_expression(*expr),
            _ => false,
        }
    }
}

/// Tests whether a function divides a float by a constant with an inexact reciprocal.
fn divides_by_constant(module: &Module, function: &Function) -> bool {
    function.expressions.iter().any(|(_, expression)| match expression {
        Expression::Binary { op: BinaryOperator::Divide, right, .. } => {
            is_inexact_divisor(module, &function.expressions, *right)
        }
        _ => false,
    })
}

/// Tests whether an expression is a float that is known at pipeline creation and no power of two.
fn is_inexact_divisor(
    module: &Module,
    expressions: &Arena<Expression>,
    handle: Handle<Expression>,
) -> bool {
    let of_module =
        |init: Handle<Expression>| is_inexact_divisor(module, &module.global_expressions, init);
    match &expressions[handle] {
        // A power of two has an empty mantissa.
        Expression::Literal(Literal::F32(value)) => value.to_bits() & 0x7f_ffff != 0,
        Expression::Constant(constant) => of_module(module.constants[*constant].init),
        Expression::Override(handle) => module.overrides[*handle].init.is_some_and(of_module),
        Expression::Splat { value, .. } => is_inexact_divisor(module, expressions, *value),
        Expression::Compose { components, .. } => {
            components.iter().any(|component| is_inexact_divisor(module, expressions, *component))
        }
        _ => false,
    }
}

/// Tests whether a block contains a barrier at any depth.
fn contains_barrier(block: &Block) -> bool {
    block.iter().any(|statement| match statement {
        Statement::ControlBarrier(_) | Statement::WorkGroupUniformLoad { .. } => true,
        Statement::Block(inner) => contains_barrier(inner),
        Statement::If { accept, reject, .. } => {
            contains_barrier(accept) || contains_barrier(reject)
        }
        Statement::Switch { cases, .. } => cases.iter().any(|case| contains_barrier(&case.body)),
        Statement::Loop { body, continuing, .. } => {
            contains_barrier(body) || contains_barrier(continuing)
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(body: &str) -> Vec<&'static str> {
        let text = format!(
            "override FLAG: bool = true;\nconst THREE: f32 = 3.0;\nvar<workgroup> w: u32;\n\
             @compute @workgroup_size(4) fn k(@builtin(local_invocation_index) lane: u32) {{ {body} }}"
        );
        let module = naga::front::wgsl::parse_str(&text).expect("test shader parses");
        lint(&module).into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn accepts_barriers_at_statement_level_in_loops_and_overrides() {
        let body = "workgroupBarrier(); for (var i = 0u; i < 3u; i++) { if (lane < i) { w = i; } workgroupBarrier(); } \
                    if (FLAG) { workgroupBarrier(); } else { storageBarrier(); }";
        assert!(rules(body).is_empty());
    }

    #[test]
    fn finds_a_barrier_under_a_lane_condition() {
        assert_eq!(rules("if (lane == 0u) { workgroupBarrier(); }"), [DIVERGENT_BARRIER]);
        assert_eq!(
            rules("for (var i = 0u; i < 2u; i++) { if (FLAG && lane > i) { storageBarrier(); } }"),
            [DIVERGENT_BARRIER]
        );
    }

    #[test]
    fn finds_an_early_return() {
        assert_eq!(rules("if (lane == 0u) { return; } workgroupBarrier();"), [EARLY_RETURN]);
    }

    #[test]
    fn finds_constant_divisors_other_than_powers_of_two() {
        let rules_of = |divisor: &str| {
            rules(&format!("let x = vec2<f32>(f32(lane)) / {divisor}; w = u32(x.x);"))
        };
        assert!(rules_of("4.0").is_empty());
        assert!(rules_of("f32(lane)").is_empty());
        for divisor in ["3.0", "vec2<f32>(2.0, 3.0)", "THREE"] {
            assert_eq!(rules_of(divisor), [CONSTANT_DIVISOR], "{divisor}");
        }
    }

    #[test]
    fn finds_a_barrier_in_a_helper() {
        let text =
            "fn helper() { workgroupBarrier(); }\n@compute @workgroup_size(4) fn k() { helper(); }";
        let findings = lint(&naga::front::wgsl::parse_str(text).unwrap());
        assert_eq!(findings, [Finding { function: "helper".to_owned(), rule: BARRIER_IN_STAGE }]);
    }
}
