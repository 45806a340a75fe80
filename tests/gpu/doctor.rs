//! Self-check of an adapter: one that computes right is healthy, also with fused products, and a
//! wrong kernel is found.

use poplin::gpu::{EngineOptions, HeadlessOptions};
use poplin_measure::doctor::{Diagnosis, Extent, Verdict, examine};
use poplin_shaders::{Kernel, compose};
use poplin_testkit::adapter::{Rounding, roundings};
use poplin_testkit::skip::{is_gpu_off, part};

/// Text of a kernel, and one that projects edges by a hundredth too little.
const DAMAGE: [&str; 2] =
    ["pb.xyz - delta * (correction * pb.w)", "pb.xyz - delta * (0.99 * correction * pb.w)"];

/// Checks the adapter with these engine options.
fn diagnose(engine: EngineOptions) -> Diagnosis {
    let options = HeadlessOptions { engine, ..HeadlessOptions::default() };
    examine(&options, Extent::Usual, |finding| {
        eprintln!("{:<7} {:<12}{}", finding.verdict.word(), finding.check, finding.text);
    })
    .unwrap()
}

#[test]
fn an_adapter_that_computes_right_is_healthy() {
    for (engine, rounding) in part(roundings(&EngineOptions::default()), 2) {
        let diagnosis = diagnose(engine);
        assert!(diagnosis.is_healthy(), "{rounding:?}: {:?}", diagnosis.findings);
        let checks: Vec<_> = diagnosis.findings.iter().map(|finding| finding.check).collect();
        let expected = [
            "device",
            "exchange",
            "dispatches",
            "workgroups",
            "bindings",
            "cases",
            "stages",
            "cloths",
            "triangles",
            "speed",
        ];
        assert_eq!(checks, expected);
        let roundings = diagnosis.findings[7].numbers["roundings"];
        assert_eq!(roundings == 0.0, rounding == Rounding::AsMirror, "{roundings}");
        assert!(!diagnosis.adapter.is_empty() && diagnosis.limits["binding_bytes"] > 0);
    }
}

#[test]
fn a_wrong_kernel_is_found() {
    if is_gpu_off() {
        return;
    }
    let kernel = Kernel::SimulateCloth;
    let text = compose(&kernel.path()).unwrap().text;
    let [right, wrong] = DAMAGE;
    assert!(text.contains(right), "the kernel has no `{right}`");
    let shader_texts = [(kernel, text.replace(right, wrong))].into();
    let diagnosis = diagnose(EngineOptions { shader_texts, ..EngineOptions::default() });
    let failed = |check: &str| {
        let mut findings = diagnosis.findings.iter();
        let finding = findings.find(|finding| finding.check == check).unwrap();
        assert_eq!(finding.verdict, Verdict::Failed, "{finding:?}");
        assert!(finding.advice.as_ref().is_some_and(|advice| advice.contains("--json")));
    };
    ["cases", "stages", "cloths"].into_iter().for_each(failed);
    assert!(!diagnosis.is_healthy());
}
