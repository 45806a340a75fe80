//! Damaged kernels: the comparison with the mirror fails for each.

use poplin_host::HostCloth;
use poplin_layout::{Stage, StageMask};
use poplin_model::{BendModel, ClothDesc, Implicit, Preconditioner, StretchModel};
use poplin_shaders::Kernel;
use poplin_testkit::adapter::roundings;
use poplin_testkit::fused::approximate;
use poplin_testkit::inputs::{cloths, implicit_cloths_among_shapes, particles_past_plates};

use super::comparison::disagreements;
use super::of_stages;

/// Asserts that the kernel with `from` replaced by `to` disagrees with the mirror on some cloth.
///
/// Uses the comparison with the largest tolerance, which is that of fused kernels if there are two.
/// Runs the cloths one by one until one disagrees, to compile as few kernels as possible.
pub(super) fn assert_seen(from: &str, to: &str, cloths: &[(String, ClothDesc)], stages: StageMask) {
    let text = poplin_shaders::compose("kernel/simulate_cloth").unwrap().text;
    assert!(text.contains(from), "the kernel no longer contains `{from}`");
    let damaged = text.replacen(from, to, 1);
    let Some((mut options, rounding)) = roundings(&of_stages()).pop() else { return };
    let is_fused = !options.shader_texts.is_empty();
    options
        .shader_texts
        .insert(Kernel::SimulateCloth, if is_fused { approximate(&damaged) } else { damaged });
    let lane = (options, rounding);
    let is_seen = cloths
        .iter()
        .any(|cloth| !disagreements(std::slice::from_ref(cloth), stages, &lane).is_empty());
    assert!(is_seen, "{stages:?} with `{to}` passes, {rounding:?}");
}

/// Sorts cloths by their number of stages and of parts of the implicit stage: kernels of few stages
/// compile fastest.
fn simplest_first(mut cloths: Vec<(String, ClothDesc)>) -> Vec<(String, ClothDesc)> {
    cloths.sort_by_cached_key(|(_, cloth)| {
        HostCloth::new(cloth.clone()).unwrap().stages().0.count_ones()
    });
    cloths
}

#[test]
fn a_flipped_sign_is_seen() {
    let (from, to) =
        ("pb.xyz - delta * (correction * pb.w)", "pb.xyz + delta * (correction * pb.w)");
    assert_seen(from, to, &cloths(), StageMask::only(Stage::GaussSeidel));
}

#[test]
fn a_faster_turn_or_slide_of_a_collider_is_seen() {
    // A thousand times as fast: kernels that fuse may differ by more than the motion itself.
    for (stage, from, to) in [
        (Stage::CollideShape, "return cross3(spin, arm)", "return 1e3 * cross3(spin, arm)"),
        (Stage::CollideConvex, "let travel = (shift", "let travel = 1e3 * (shift"),
    ] {
        assert_seen(from, to, &cloths(), StageMask::only(stage));
    }
}

#[test]
fn wrong_paths_past_plates_are_seen() {
    for (from, to) in [
        ("if (time > (*sweep).enter)", "if (time < (*sweep).enter)"),
        ("-2.0 * entry.end * found.enter", "-1.0 * entry.end * found.enter"),
        ("beta + gamma <= dot3(n, n)", "beta <= dot3(n, n)"),
        ("0.25 * thickness", "0.5 * thickness"),
    ] {
        assert_seen(from, to, &particles_past_plates(), StageMask::only(Stage::Sweep));
    }
}

#[test]
fn a_flipped_gradient_and_a_wrong_coupling_are_seen() {
    for (stage, from, to) in [
        (
            Stage::Bend,
            "normal_2 * (-edge_length / square_2)",
            "normal_2 * (edge_length / square_2)",
        ),
        (Stage::Yarn, "(1.0 + damping) * last.w", "(1.0 + damping) * next.w"),
        (Stage::Yarn, "impulse, 1.0 - weight", "impulse, weight"),
        (
            Stage::SemiImplicit,
            "values.x, -(1.0 + phase.damping)",
            "values.x, (1.0 + phase.damping)",
        ),
        (Stage::CyclicReduction, "row.y = -scale * pb.w", "row.y = scale * pb.w"),
        (Stage::CyclicReduction, "- row.y * high.z", "- row.y * low.z"),
        (Stage::CyclicReduction, "(pull - push) * pb.w", "pull * pb.w"),
    ] {
        assert_seen(from, to, &cloths(), StageMask::only(stage));
    }
}

/// Text that a damage replaces, its replacement, and a predicate of the cloths that may show it.
type Damage<'a> = (&'a str, &'a str, fn(&Implicit) -> bool);

/// Asserts that each damage of the implicit stage is seen.
///
/// Several tests call it with a few damages each, so that their slow kernels compile in parallel.
fn assert_implicit_seen(damages: &[Damage<'_>]) {
    let cloths = simplest_first(cloths());
    for (from, to, may_show) in damages {
        let is_shown = |(_, cloth): &&(String, ClothDesc)| {
            cloth.config.solver.as_implicit().is_some_and(may_show)
        };
        let cloths: Vec<_> = cloths.iter().filter(is_shown).cloned().collect();
        assert_seen(from, to, &cloths, StageMask::only(Stage::Implicit));
    }
}

fn by_springs(implicit: &Implicit) -> bool {
    implicit.stretch == StretchModel::Springs
}

fn by_fibers(implicit: &Implicit) -> bool {
    implicit.preconditioner == Preconditioner::Fibers
}

fn by_angles(implicit: &Implicit) -> bool {
    implicit.bend == BendModel::FaceAngle && implicit.bending_rigidity > 0.0
}

#[test]
fn a_damaged_element_of_an_implicit_solve_is_seen() {
    assert_implicit_seen(&[
        ("1.0 - rest / sqrt(square)", "1.0 - 1.0 / sqrt(square)", by_springs),
        ("- gradient_3 * (dot3(side_3, edge)", "+ gradient_3 * (dot3(side_3, edge)", by_angles),
        ("gradient -= edge * pull;", "gradient += edge * pull;", by_springs),
    ]);
}

#[test]
fn a_damaged_chain_or_step_of_an_implicit_solve_is_seen() {
    assert_implicit_seen(&[
        ("(load_implicit().step_square * prediction.w)", "load_implicit().step_square", |_| true),
        (") - carried;", ") + carried;", by_fibers),
        ("own_diagonal * scale - (l0", "own_diagonal * scale + (l0", by_fibers),
        ("max(0.0, (rr - overlap) / products.x)", "rr / products.x", |_| true),
    ]);
}

#[test]
fn a_swapped_index_is_seen() {
    let (from, to) =
        ("k * cloth.particle_count + i;", "i * cloth.fabric.tethers_per_particle + k;");
    assert_seen(from, to, &cloths(), StageMask::only(Stage::Tether));
}

#[test]
fn a_damaged_contact_of_an_implicit_solve_is_seen() {
    let few = StageMask::only(Stage::CollideShape).with(Stage::Implicit);
    let cloths = simplest_first(implicit_cloths_among_shapes());
    for (from, to) in [
        ("force -= plane.xyz", "force += plane.xyz"),
        ("plane.xyz * push, push * travel.w", "plane.xyz * push, travel.w"),
    ] {
        assert_seen(from, to, &cloths, few);
    }
}
