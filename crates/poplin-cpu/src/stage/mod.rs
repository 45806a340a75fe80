//! Twins of `shaders/stage`, one file per algorithm, with the same functions in the same order of
//! arithmetic. A function that is generic over `lanes::Real` is the twin in one lane
//! and the CPU backend in several.

pub mod bend;
pub mod collide_body;
pub mod collide_box;
pub mod collide_continuous;
pub mod collide_convex;
pub mod collide_shape;
pub mod collide_triangle;
pub mod cyclic_reduction;
pub mod displacement;
pub mod gauss_seidel;
pub mod implicit;
pub mod integrate;
pub mod limit_speed;
pub mod mass;
pub mod motion;
pub mod second_order;
pub mod self_collide;
pub mod semi_implicit;
pub mod separation;
pub mod sleep;
pub mod sweep;
pub mod tether;
pub mod virtual_particles;
pub mod wind;
pub mod yarn;

use poplin_layout::Task;

use self::implicit::ScratchRows;
use crate::colliders::prepare_shape;
use crate::floats::Floats;
use crate::{ClothMemory, StageFunction};

/// Runs a stage in one lane, on one item; `$storage` is an optional further argument.
macro_rules! one_lane {
    ($($stage:ident)::+ $(, $storage:expr)?) => {
        |memory, i| $($stage)::+::<f32>((), memory, i..i + 1 $(, &mut $storage)?)
    };
}

/// Returns the twin of a shader function.
pub fn twin(task: Task) -> StageFunction {
    match task {
        Task::IntegrateParticle => one_lane!(integrate::integrate_particle),
        Task::BlowTriangle => one_lane!(wind::blow_triangle),
        Task::GatherWind => wind::gather_wind,
        Task::ConstrainMotion => one_lane!(motion::constrain_motion),
        Task::GatherAnchor => |memory, slot| tether::gather_anchor(memory, slot..slot + 1),
        Task::ConstrainTethers => one_lane!(tether::constrain_tethers),
        Task::BeginDisplacement => one_lane!(displacement::begin_displacement),
        Task::EndDisplacement => one_lane!(displacement::end_displacement),
        Task::NotePrediction => one_lane!(second_order::note_prediction),
        Task::BeginSolve => one_lane!(implicit::begin_solve, ScratchRows),
        Task::ProbeContacts => implicit::probe_contacts,
        Task::StretchTriangle => one_lane!(implicit::stretch_triangle, ScratchRows),
        Task::FoldBend => one_lane!(implicit::fold_bend, ScratchRows),
        Task::FindResidual => one_lane!(implicit::find_residual, ScratchRows),
        Task::DirectTriangle => one_lane!(implicit::direct_triangle, ScratchRows),
        Task::FactorChain => one_lane!(implicit::factor_chain, ScratchRows),
        Task::SolveChain => one_lane!(implicit::solve_chain, ScratchRows),
        Task::SumPart => one_lane!(implicit::sum_part, ScratchRows),
        Task::SumParts => implicit::sum_parts,
        Task::ChooseStep => implicit::choose_step,
        Task::TakeStep => one_lane!(implicit::take_step, ScratchRows),
        Task::EndSolve => one_lane!(implicit::end_solve, ScratchRows),
        Task::ProjectFiber => |memory, fiber| {
            if memory.is_displaced() {
                gauss_seidel::project_fiber::<f32, true>((), memory, fiber..fiber + 1);
            } else {
                gauss_seidel::project_fiber::<f32, false>((), memory, fiber..fiber + 1);
            }
        },
        Task::BuildEquation => semi_implicit::build_equation,
        Task::SolveFiber => semi_implicit::solve_fiber,
        Task::PushEdge => semi_implicit::push_edge,
        Task::BuildRow => cyclic_reduction::build_row,
        Task::ReduceRow => cyclic_reduction::reduce_row,
        Task::MoveEdge => cyclic_reduction::move_edge,
        Task::SolveYarn => one_lane!(yarn::solve_yarn),
        Task::SolveBend => one_lane!(bend::solve_bend),
        Task::CorrectVelocity => one_lane!(second_order::correct_velocity),
        Task::ConstrainSeparation => one_lane!(separation::constrain_separation),
        Task::ClearCell => self_collide::clear_cell,
        Task::CountMember => self_collide::count_member,
        Task::SumCells => self_collide::sum_cells,
        Task::ScanCells => self_collide::scan_cells,
        Task::ScatterMember => self_collide::scatter_member,
        Task::SortMember => self_collide::sort_member,
        Task::CountContacts => self_collide::count_contacts,
        Task::PushApart => self_collide::push_apart,
        Task::Sweep => sweep::sweep,
        Task::CollideConvex => one_lane!(collide_convex::collide_convex, Floats::default()),
        Task::CollideBox => one_lane!(collide_box::collide_box, Floats::default()),
        Task::CollideTriangle => collide_triangle::collide_triangle,
        Task::RestoreMass => one_lane!(mass::restore_mass),
        Task::CollideShape => one_lane!(collide_shape::collide_shape, Floats::default()),
        Task::CollideContinuous => collide_continuous::collide_continuous,
        Task::VisitChunk => collide_body::visit_chunk,
        Task::SumChunks => collide_body::sum_chunks,
        Task::CollideBundle => virtual_particles::collide_bundle,
        Task::LimitSpeed => one_lane!(limit_speed::limit_speed),
        Task::TestRest => |memory, i| sleep::test_rest(memory, i..i + 1),
        Task::CountSleep => sleep::count_sleep,
        Task::PrepareShape => prepare_shape,
        // The twin works directly on the buffers.
        Task::FetchParticle | Task::FlushParticle => leave,
    }
}

/// Does nothing.
fn leave(_: &mut ClothMemory<'_>, _: u32) {}
