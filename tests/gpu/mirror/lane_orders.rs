//! Lane orders of the mirror: none changes a bit, and a dropped barrier shows in some order.

use poplin_cpu::{LaneOrder, Team};
use poplin_layout::{StageMask, Task};
use poplin_model::ClothDesc;
use poplin_testkit::compare::same_bits;
use poplin_testkit::inputs::cloths;

use super::on_mirror;

/// Cloths whose XPBD takes three iterations: what one leaves in scratch moves particles by then.
fn iterated_cloths() -> Vec<(String, ClothDesc)> {
    let mut cloths = cloths();
    for (_, cloth) in &mut cloths {
        if let Some(xpbd) = cloth.config.solver.as_xpbd_mut() {
            xpbd.substeps = 3;
        }
    }
    cloths
}

#[test]
fn lane_orders_give_identical_bits() {
    for (name, cloth) in iterated_cloths() {
        let run = |lanes, order| {
            on_mirror(&cloth, 1.0 / 60.0, StageMask::ALL, &mut Team::new(lanes, order))
        };
        let single = run(1, LaneOrder::Forward);
        for lanes in [2, 7, 32, 256] {
            for order in [
                LaneOrder::Forward,
                LaneOrder::Reversed,
                LaneOrder::Shuffled(1),
                LaneOrder::Shuffled(2),
            ] {
                let other = run(lanes, order);
                same_bits(&format!("{name}, {lanes} lanes {order:?}"), &other.0, &single.0)
                    .unwrap();
                same_bits(&format!("{name}, {lanes} lanes {order:?}"), &other.1, &single.1)
                    .unwrap();
            }
        }
    }
}

/// Tests whether lane orders disagree on some cloth once the barrier after `work` is dropped; a
/// panic for an index out of range counts as disagreement.
fn races_without_barrier(work: Task) -> bool {
    iterated_cloths().iter().any(|(_, cloth)| {
        let run = |order| {
            on_mirror(
                cloth,
                1.0 / 60.0,
                StageMask::ALL,
                &mut Team::new(32, order).with_dropped_barrier(work),
            )
        };
        let differs = || {
            same_bits(work.name(), &run(LaneOrder::Forward).0, &run(LaneOrder::Reversed).0).is_err()
        };
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(differs)).unwrap_or(true)
    })
}

#[test]
fn the_lane_order_check_sees_a_dropped_barrier() {
    for work in [
        Task::IntegrateParticle,
        Task::BlowTriangle,
        Task::GatherWind,
        Task::ConstrainMotion,
        Task::GatherAnchor,
        Task::ConstrainTethers,
        Task::NotePrediction,
        Task::ProjectFiber,
        Task::ClearCell,
        Task::CountMember,
        Task::SumCells,
        Task::ScanCells,
        Task::ScatterMember,
        Task::SortMember,
        Task::CountContacts,
        Task::PushApart,
        Task::BeginSolve,
        Task::FoldBend,
        Task::FindResidual,
        Task::DirectTriangle,
        Task::SolveChain,
        Task::SumPart,
        Task::SumParts,
        Task::TakeStep,
        Task::ChooseStep,
        Task::BuildEquation,
        Task::SolveFiber,
        Task::PushEdge,
        Task::BuildRow,
        Task::ReduceRow,
        Task::MoveEdge,
        Task::SolveYarn,
        Task::SolveBend,
        Task::VisitChunk,
        Task::SumChunks,
        Task::CollideBundle,
    ] {
        assert!(
            races_without_barrier(work),
            "without the barrier after {work:?} no lane order differs"
        );
    }
}
