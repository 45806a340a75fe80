//! Kernels with the rounding that a real GPU may have: products in sums stay unrounded, quotients
//! and square roots are inexact.
//!
//! Vulkan and WGSL let a quotient be off by 2.5 units in the last place; GPUs multiply by an
//! approximate reciprocal. Here `a / b` is `a * (1 / b)` and `sqrt(x)` is `x * (1 / sqrt(x))`: off
//! by up to 1.5 units.
//!
//! Software adapters may round the product of WGSL's `fma`, and do (llvmpipe and SwiftShader). A
//! fused multiply-add is therefore computed here from the product and its error: Dekker, "A
//! Floating-Point Technique for Extending the Available Precision", 1971, and Knuth's exact sum.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::LazyLock;

use naga::{BinaryOperator, Expression, Function, Handle, Scalar, TypeInner};
use poplin_shaders::{Composed, Kernel, compose, parse, validate};

/// Every kernel of the engine with the rounding of a real GPU, for
/// [`EngineOptions::shader_texts`](poplin_gpu::EngineOptions).
///
/// # Panics
/// Panics if a kernel does not compose.
pub fn fused_texts() -> &'static HashMap<Kernel, String> {
    static TEXTS: LazyLock<HashMap<Kernel, String>> = LazyLock::new(|| {
        let kernels =
            [Kernel::SimulateCloth].into_iter().chain(Kernel::CONTACT).chain(Kernel::TRIANGLES);
        let text = |kernel: Kernel| {
            let composed = compose(&kernel.path());
            approximate(&composed.expect("the embedded kernels compose; a test holds it").text)
        };
        kernels.map(|kernel| (kernel, text(kernel))).collect()
    });
    &TEXTS
}

/// Gives a text the rounding of a real GPU.
///
/// # Panics
/// Panics if the text is not valid.
pub fn approximate(text: &str) -> String {
    divide_inexactly(&fuse(text))
}

/// Rewrites each division of floats and each square root as a call of `DIVIDE` or `ROOT`.
fn divide_inexactly(text: &str) -> String {
    let mut inexact = rewrite(text, |function, expression, type_of| {
        let is_root = match function.expressions[expression] {
            Expression::Binary { op: BinaryOperator::Divide, .. } => false,
            Expression::Math { fun: naga::MathFunction::Sqrt, .. } => true,
            _ => return None,
        };
        let span = function.expressions.get_span(expression).to_range()?;
        Some((span, Quotient { ty: float_type(type_of(expression))?, is_root }))
    });
    for (name, ty) in TYPES {
        for function in [DIVIDE, ROOT] {
            inexact.push_str(&function.replace("NAME", name).replace("TYPE", ty));
        }
    }
    inexact
}

/// WGSL function for a quotient by the reciprocal, where that is in range.
const DIVIDE: &str = "
fn divide_NAME(a: TYPE, b: TYPE) -> TYPE {
    let is_in_range = abs(b) >= TYPE(1e-37) & abs(b) <= TYPE(1e37);
    return select(a / b, a * (TYPE(1.0) / b), is_in_range);
}
";

/// WGSL function for a square root by the reciprocal root, where that is in range.
const ROOT: &str = "
fn root_NAME(x: TYPE) -> TYPE {
    let is_in_range = x >= TYPE(1e-37) & x <= TYPE(1e37);
    return select(sqrt(x), x * (TYPE(1.0) / sqrt(x)), is_in_range);
}
";

/// Type of an expression of a function.
type TypeOf<'a> = &'a dyn Fn(Handle<Expression>) -> &'a TypeInner;

/// Rewrites each part of a text that `find` returns, with its span, for an expression.
///
/// # Panics
/// Panics if the text is not valid.
fn rewrite<R: Rewrite>(
    text: &str,
    find: impl Fn(&Function, Handle<Expression>, TypeOf<'_>) -> Option<(Range<usize>, R)>,
) -> String {
    let mut composed = Composed::default();
    text.clone_into(&mut composed.text);
    let module = parse(&composed).unwrap_or_else(|error| panic!("{error}"));
    let info = validate(&composed, &module).unwrap_or_else(|error| panic!("{error}"));
    let mut found = BTreeMap::new();
    let functions = module.functions.iter().map(|(handle, function)| (function, &info[handle]));
    let entries = module.entry_points.iter().enumerate();
    let entries = entries.map(|(index, entry)| (&entry.function, info.get_entry_point(index)));
    for (function, info) in functions.chain(entries) {
        for (handle, _) in function.expressions.iter() {
            let type_of = |handle: Handle<Expression>| info[handle].ty.inner_with(&module.types);
            if let Some((span, part)) = find(function, handle, &type_of) {
                // Of parts with the same start, the longest comes first.
                found.insert((span.start, usize::MAX - span.end), (span, part));
            }
        }
    }
    let found: Vec<_> = found.into_values().collect();
    write(text, 0..text.len(), &found)
}

/// Part of a text that is rewritten.
trait Rewrite: Sized {
    /// Writes the part; the rewrites within it are among `all`.
    fn write(&self, text: &str, span: &Range<usize>, all: &[(Range<usize>, Self)]) -> String;
}

/// Division or square root.
struct Quotient {
    /// Name and text of the type.
    ty: (&'static str, &'static str),
    is_root: bool,
}

impl Rewrite for Quotient {
    fn write(&self, text: &str, span: &Range<usize>, all: &[(Range<usize>, Self)]) -> String {
        let (name, ty) = self.ty;
        let part = |range: Range<usize>| write(text, range, all).trim().to_owned();
        if self.is_root {
            let call = "sqrt";
            assert!(text[span.clone()].starts_with(call), "a root is a call");
            return format!("root_{name}{}", part(span.start + call.len()..span.end));
        }
        let [a, b] = operands(text, span, b'/');
        let is_assignment = text[b.clone()].starts_with('=');
        let (a, b) = (part(a), part(b.start + usize::from(is_assignment)..b.end));
        let target = if is_assignment { format!("{a} = ") } else { String::new() };
        // A scalar operand of a vector becomes a vector.
        format!("{target}divide_{name}({ty}({a}), {ty}({b}))")
    }
}

/// Rewrites each `a * b + c` and `a * b - c` of floats, in either order, as a call of
/// `MULTIPLY_ADD`. If both sides are products, the right one is fused. Products in a `let` of their
/// own stay as they are.
///
/// # Panics
/// Panics if the text is not valid.
pub fn fuse(text: &str) -> String {
    let find = |function: &Function, expression, type_of: TypeOf<'_>| {
        Fusion::find(text, function, expression, type_of)
    };
    let mut fused = rewrite(text, find);
    for (name, ty) in TYPES {
        let bits = ty.replace("f32", "u32");
        let function =
            MULTIPLY_ADD.replace("NAME", name).replace("BITS", &bits).replace("TYPE", ty);
        fused.push_str(&function);
    }
    fused
}

/// WGSL function for `a * b + c` with one rounding, except for a last bit where the two errors are
/// themselves rounded.
///
/// Floats are split into halves of 12 bits, whose products are exact. The maximum changes no finite
/// sum; it prevents drivers from replacing (x + y) - x by y (Mesa does).
const MULTIPLY_ADD: &str = "
fn multiply_add_NAME(a: TYPE, b: TYPE, c: TYPE) -> TYPE {
    let high_a = bitcast<TYPE>(bitcast<BITS>(a) & BITS(0xfffff000u));
    let high_b = bitcast<TYPE>(bitcast<BITS>(b) & BITS(0xfffff000u));
    let low_a = a - high_a;
    let low_b = b - high_b;
    let product = a * b;
    let of_product = low_a * low_b - (((product - high_a * high_b) - low_a * high_b) - high_a * low_b);
    let sum = max(product + c, TYPE(-3.4028234e38));
    let added = sum - product;
    let of_sum = (product - max(sum - added, TYPE(-3.4028234e38))) + (c - added);
    let exact = sum + (of_product + of_sum);
    return select(product + c, exact, abs(exact) <= TYPE(3.4028234e38));
}
";

/// Multiply-add with the text ranges of its parts.
struct Fusion {
    /// Name and text of the type.
    ty: (&'static str, &'static str),
    factors: [Range<usize>; 2],
    addend: Range<usize>,
    /// Signs before the product and before the addend: empty or a minus.
    signs: [&'static str; 2],
    /// True for a compound assignment, whose addend is also its target.
    is_assignment: bool,
}

impl Fusion {
    /// Finds the multiply-add of an expression and its span in the text, if it is one.
    fn find(
        text: &str,
        function: &Function,
        sum: Handle<Expression>,
        type_of: TypeOf<'_>,
    ) -> Option<(Range<usize>, Self)> {
        let Expression::Binary { op, left, right } = function.expressions[sum] else { return None };
        let is_difference = match op {
            BinaryOperator::Add => false,
            BinaryOperator::Subtract => true,
            _ => return None,
        };
        let ty = float_type(type_of(sum))?;
        let whole = function.expressions.get_span(sum).to_range()?;
        // A name refers to the expression that it was bound to, which is elsewhere in the text.
        let product_of = |side: Handle<Expression>| {
            let span = function.expressions.get_span(side).to_range()?;
            let is_product = match function.expressions[side] {
                Expression::Binary { op: BinaryOperator::Multiply, left, right } => {
                    [left, right].iter().all(|factor| float_type(type_of(*factor)).is_some())
                }
                _ => false,
            };
            (is_product && whole.start <= span.start && span.end <= whole.end).then_some(span)
        };
        let (product, is_left) = match (product_of(left), product_of(right)) {
            (_, Some(product)) => (product, false),
            (Some(product), None) => (product, true),
            (None, None) => return None,
        };
        let factors = operands(text, &product, b'*');
        let outer = with_parentheses(text, &product);
        if is_left {
            let rest = text[outer.end..whole.end].trim_start();
            let addend = whole.end - rest.len() + 1..whole.end;
            let signs = ["", if is_difference { "-" } else { "" }];
            return Some((whole, Self { ty, factors, addend, signs, is_assignment: false }));
        }
        let before = text[whole.start..outer.start].trim_end();
        let is_assignment = before.ends_with('=');
        let addend = whole.start..whole.start + before.trim_end_matches(['=', '+', '-']).len();
        let signs = [if is_difference { "-" } else { "" }, ""];
        let span = whole.start..outer.end;
        Some((span, Self { ty, factors, addend, signs, is_assignment }))
    }
}

impl Rewrite for Fusion {
    fn write(&self, text: &str, _: &Range<usize>, fusions: &[(Range<usize>, Self)]) -> String {
        let part = |range: &Range<usize>| write(text, range.clone(), fusions).trim().to_owned();
        let [a, b] = self.factors.each_ref().map(part);
        let (c, (name, ty), [of_product, of_addend]) = (part(&self.addend), self.ty, self.signs);
        let target = if self.is_assignment { format!("{c} = ") } else { String::new() };
        // A scalar factor of a vector becomes a vector.
        format!(
            "{target}multiply_add_{name}({of_product}{ty}({a}), {ty}({b}), {of_addend}{ty}({c}))"
        )
    }
}

/// Writes a part of the text with the rewrites in it.
fn write<R: Rewrite>(text: &str, part: Range<usize>, rewrites: &[(Range<usize>, R)]) -> String {
    let mut written = String::new();
    let mut done = part.start;
    for (span, rewrite) in rewrites {
        if span.start >= done && span.end <= part.end {
            written.push_str(&text[done..span.start]);
            written.push_str(&rewrite.write(text, span, rewrites));
            done = span.end;
        }
    }
    written + &text[done..part.end]
}

/// Name and text of each float type.
const TYPES: [(&str, &str); 4] =
    [("f32", "f32"), ("vec2", "vec2<f32>"), ("vec3", "vec3<f32>"), ("vec4", "vec4<f32>")];

/// Entry of [`TYPES`] for a type, if it is a float type.
fn float_type(ty: &TypeInner) -> Option<(&'static str, &'static str)> {
    match *ty {
        TypeInner::Scalar(Scalar::F32) => Some(TYPES[0]),
        TypeInner::Vector { size, scalar: Scalar::F32 } => Some(TYPES[size as usize - 1]),
        _ => None,
    }
}

/// Operands of a product or quotient: the text left and right of its last operator outside
/// parentheses.
fn operands(text: &str, product: &Range<usize>, sign: u8) -> [Range<usize>; 2] {
    let mut depth = 0;
    let mut operator = product.start;
    for (index, byte) in text[product.clone()].bytes().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            _ if byte == sign && depth == 0 => operator = product.start + index,
            _ => {}
        }
    }
    [product.start..operator, operator + 1..product.end]
}

/// Range extended by the parentheses around it.
fn with_parentheses(text: &str, range: &Range<usize>) -> Range<usize> {
    let mut outer = range.clone();
    loop {
        let before = text[..outer.start].trim_end();
        let after = text[outer.end..].trim_start();
        if !before.ends_with('(') || !after.starts_with(')') {
            return outer;
        }
        outer = before.len() - 1..text.len() - after.len() + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fused(body: &str) -> String {
        let head = "fn f(a: f32, b: f32, c: f32, v: vec3<f32>, m: mat3x3<f32>) {\n";
        let fused = fuse(&format!("{head}{body}\n}}"));
        let (function, _) = fused.strip_prefix(head).unwrap().split_once("\n}").unwrap();
        function.to_owned()
    }

    #[test]
    fn sums_of_products_are_fused() {
        for (body, expected) in [
            ("let x = a * b + c;", "let x = multiply_add_f32(f32(a), f32(b), f32(c));"),
            ("let x = a - b * c;", "let x = multiply_add_f32(-f32(b), f32(c), f32(a));"),
            ("let x = (a * b) - c;", "let x = multiply_add_f32(f32(a), f32(b), -f32(c));"),
            ("let x = a * b + b * c;", "let x = multiply_add_f32(f32(b), f32(c), f32(a * b));"),
            (
                "let x = v - (a + b * c) * v;",
                "let x = multiply_add_vec3(-vec3<f32>((multiply_add_f32(f32(b), f32(c), f32(a)))), vec3<f32>(v), vec3<f32>(v));",
            ),
            (
                "var x = v; x.y -= a / b * c;",
                "var x = v; x.y = multiply_add_f32(-f32(a / b), f32(c), f32(x.y));",
            ),
        ] {
            assert_eq!(fused(body), expected);
        }
    }

    #[test]
    fn divisions_and_roots_are_inexact() {
        for (body, expected) in [
            ("let x = a / b;", "let x = divide_f32(f32(a), f32(b));"),
            (
                "let x = v / sqrt(a / (b / c));",
                "let x = divide_vec3(vec3<f32>(v), vec3<f32>(root_f32(divide_f32(f32(a), \
                 f32((divide_f32(f32(b), f32(c))))))));",
            ),
            ("let x = a / b * c;", "let x = divide_f32(f32(a), f32(b)) * c;"),
            ("var x = a; x /= b;", "var x = a; x = divide_f32(f32(x), f32(b));"),
            ("let x = u32(a) / 3u;", "let x = u32(a) / 3u;"),
        ] {
            let head = "fn f(a: f32, b: f32, c: f32, v: vec3<f32>) {\n";
            let text = divide_inexactly(&format!("{head}{body}\n}}"));
            let (function, _) = text.strip_prefix(head).unwrap().split_once("\n}").unwrap();
            assert_eq!(function, expected);
        }
    }

    #[test]
    fn nothing_else_is_touched() {
        for body in [
            "let x = (a + b) * c;",
            "let x = a * b; let y = x + c;",
            "let x = m * v + v;",
            "let x = 2u * u32(a) + 1u;",
        ] {
            assert_eq!(fused(body), body);
        }
    }

    #[test]
    fn every_kernel_that_computes_is_fused_and_valid() {
        for (kernel, text) in fused_texts() {
            assert!(text.matches("= multiply_add_").count() > 2, "{}", kernel.name());
            let mut composed = Composed::default();
            text.clone_into(&mut composed.text);
            validate(&composed, &parse(&composed).unwrap()).unwrap();
        }
    }
}
