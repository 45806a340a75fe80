//! Canaries pass on the adapter, fail where an adapter is wrong, and say why.

use poplin_gpu::{CanaryReport, Subnormals, WrongValue, run_canaries, run_canary_texts};
use poplin_shaders::Kernel;

use crate::engine::device;

#[test]
fn canaries_pass_or_say_what_must_be_split() {
    let Some((device, queue)) = device() else { return };
    let report = run_canaries(&device, &queue).unwrap();
    assert!(report.check("this adapter").is_ok());
    if let Some(limit) = report.loop_limit {
        assert!(limit >= 60_000, "loops stop at {limit}");
        assert_eq!(report.engine_loop_limit(), Some(limit / 2));
    }
}

#[test]
fn indices_passed_as_floats_fail_the_subnormal_canary() {
    let Some((device, queue)) = device() else { return };
    // Simulates an adapter that flushes rows of floats.
    let flush = "fn flush(x: f32) -> u32 { return select(0u, bitcast<u32>(x), abs(x) >= 1.17549435e-38); }\n";
    let report = run_canary_texts(&device, &queue, |kernel, text| match kernel {
        Kernel::CanarySubnormal => {
            let as_float = "flush(bitcast<f32>(row.w)));";
            assert!(text.contains("row.w);"));
            flush.to_owned() + &text.replacen("row.w);", as_float, 1)
        }
        _ => text,
    })
    .unwrap();
    assert_eq!(
        report.check("this adapter").unwrap_err().to_string(),
        "adapter this adapter failed the index canary: value 0 of 5 is 0x0, not 0x1"
    );
}

#[test]
fn the_nan_canary_sees_compilers_that_take_no_float_for_nan() {
    let Some((device, queue)) = device() else { return };
    for (test, without_nan) in [
        ("(bitcast<u32>(x) & 0x7fffffffu) <= bitcast<u32>(most)", "!(abs(x) > most)"),
        ("bitcast<u32>(x) - 1u < 0x7f800000u", "!(x <= 0.0)"),
    ] {
        let report = run_canary_texts(&device, &queue, |kernel, text| {
            assert!(kernel != Kernel::CanaryNan || text.contains(test));
            text.replace(test, without_nan)
        });
        let error = report.unwrap().check("this adapter").unwrap_err().to_string();
        assert!(error.starts_with("adapter this adapter failed the NaN canary"), "{error}");
    }
}

#[test]
fn a_failed_canary_refuses_the_adapter_with_the_reason() {
    let report = CanaryReport {
        loop_limit: None,
        nan: Ok(()),
        barrier: Err(WrongValue { index: 3, count: 256, expected: 18, actual: 7 }),
        indices: Ok(()),
        subnormals: Subnormals { are_passed: true, are_added: true },
    };
    let message = report.check("Acme 1").unwrap_err().to_string();
    assert_eq!(
        message,
        "adapter Acme 1 failed the barrier canary: value 3 of 256 is 0x7, not 0x12"
    );
}
