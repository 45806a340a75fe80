//! Faulty kernels: each fault is seen, and in the pass that has it.

use poplin_gpu::EngineOptions;
use poplin_shaders::{Kernel, compose};
use poplin_testkit::adapter::headless_as_mirror;

use super::particles::first_particle_failure;
use super::rounds::{Trial, first_failure, random_trials};
use super::slices::{STILL, Slice, first_slice_failure, random_slices};

/// Kernel, text of it, faulty replacement, and the first pass whose results differ.
type Fault = (Kernel, &'static str, &'static str, &'static str);

#[test]
fn a_fault_in_any_pass_is_seen_and_its_pass_is_named() {
    let faults = [
        (Kernel::TriangleBoundMoves, "starts[k] - around", "starts[k] + around", "step"),
        (Kernel::TriangleBoundMoves, "step, may_hold(i)", "step, true", "step"),
        (Kernel::TriangleFlagPairs, "|| may_push || may_cross", "|| may_push", "reach"),
        (Kernel::TriangleBuildPairs, "on_border(p, a, b, c);", "on_border(p, b, a, c);", "narrow"),
        (
            Kernel::TriangleBuildPairs,
            "height) > TRIANGLE_BEYOND",
            "height) < TRIANGLE_BEYOND",
            "scatter",
        ),
        (Kernel::TriangleBuildPairs, "held.w > 0.0) {", "held.w < 0.0) {", "push"),
        (Kernel::TriangleScatterIncidence, "sum += weights[k] *", "sum +=", "scatter"),
        (Kernel::TriangleSortIncidence, ") < corner", ") > corner", "tie"),
        (Kernel::TriangleFindPressed, "is_pressed, 1u", "is_pressed, 0u", "push"),
        (Kernel::TriangleSolvePairs, "+ triangle_pairs[i].closing)", ")", "push"),
        (Kernel::TriangleGatherCorrections, "sum * triangle_rows[i].inverse_mass", "sum", "push"),
        (
            Kernel::TriangleIteratePinned,
            "along < -TRIANGLE_APPROACH",
            "along > -TRIANGLE_APPROACH",
            "push",
        ),
        (Kernel::TriangleReduceOverlaps, "TRIANGLE_RECOVERY *", "TRIANGLE_APPROACH *", "recover"),
        (Kernel::TriangleTruncateMoves, "TRIANGLE_APPROACH * gap", "gap", "cut"),
        (
            Kernel::TriangleTruncateMoves,
            "select(coming, max(coming, 0.0), may_hold(row))",
            "coming",
            "cut",
        ),
        (Kernel::TriangleMarkLimitingPairs, "atomicMin", "atomicMax", "block"),
        (Kernel::TriangleCheckTruncation, "triangle.reserve / off", "0.5", "move"),
        (Kernel::TriangleCheckTruncation, "hold_word(i)], 1u", "hold_word(i)], 0u", "hold"),
        (Kernel::TriangleMoveRows, "* fraction", "", "move"),
        (Kernel::TriangleCountForced, "first - second <=", "first - second >", "report"),
    ];
    let slice_faults = [
        (Kernel::TriangleClearState, "0xff800000u", "0x80000000u", "report"),
        (Kernel::TriangleBoundBodies, "store_row(TRIANGLE_BEGUN, i, start)", "", ""),
        (Kernel::TriangleBeginRound, "u32(made == 1.0)", "1u", ""),
        (Kernel::TriangleBeginRound, "2u * (round + 1u) >= triangle.max_rounds", "true", ""),
        (Kernel::TriangleBeginRound, "TRIANGLE_GAIN * before", "before", ""),
        (Kernel::TrianglePlanMoves, "(goal - start) / count", "(goal - start)", ""),
        (Kernel::TriangleLimitFraction, "room / forced", "1.0", "report"),
        (Kernel::TriangleFindPressed, "length > room", "false", ""),
        (Kernel::TriangleIteratePinned, "TRIANGLE_REACH *", "0.5 *", "report"),
        (Kernel::TriangleIteratePinned, "min(part, TRIANGLE_PRESSED_PART)", "part", ""),
        (Kernel::TriangleRefitTrees, "path = join(path, child);", "path = child;", ""),
        (Kernel::TriangleCountCandidates, "count = visit_query(query, 0u, false);", "", ""),
        (Kernel::TriangleListCandidates, "child_count - 1u - k", "k", "candidates"),
        (Kernel::TriangleRestoreVelocities, "lost - block", "lost + block", "carry"),
    ];
    let particle_faults = [
        (
            Kernel::TriangleSetTargets,
            "inverse_mass = particle.w;",
            "inverse_mass = 0.0;",
            "target: row",
        ),
        (
            Kernel::TriangleSetTargets,
            "(goal - start) * triangle.fraction",
            "goal - start",
            "target",
        ),
        (Kernel::TriangleWriteParticles, "previous.xyz + carry", "previous.xyz", "apply: previous"),
    ];
    let Some(gpu) = headless_as_mirror(EngineOptions::default()) else { return };
    let mut unseen = Vec::new();
    let trials: Vec<Trial> = (0..12).flat_map(random_trials).collect();
    let slices: Vec<Slice> = (0..12).flat_map(random_slices).collect();
    let slices = slices.into_iter().filter(|slice| slice.after.rounds < 12);
    let slices: Vec<Slice> = slices.chain((STILL..STILL + 4).flat_map(random_slices)).collect();
    let with = |(kernel, right, wrong, _): Fault| {
        let text = compose(&kernel.path()).unwrap().text;
        assert!(text.contains(right), "{kernel:?} has no `{right}`");
        let shader_texts = [(kernel, text.replace(right, wrong))].into();
        EngineOptions { shader_texts, ..EngineOptions::default() }
    };
    let found = faults.map(|fault| (fault, first_failure(&gpu, &with(fault), &trials)));
    let found_in_slices =
        slice_faults.map(|fault| (fault, first_slice_failure(&gpu, &with(fault), &slices)));
    let found_in_particles =
        particle_faults.map(|fault| (fault, first_particle_failure(&gpu, &with(fault))));
    let found = found.into_iter().chain(found_in_slices).chain(found_in_particles);
    for ((kernel, _, wrong, pass), failure) in found {
        let is_named = failure.as_ref().is_some_and(|found| found.contains(&format!(": {pass}")));
        if !is_named {
            unseen.push(format!("`{wrong}` in {kernel:?}: {failure:?}"));
        }
    }
    assert_eq!(unseen, Vec::<String>::new());
}
