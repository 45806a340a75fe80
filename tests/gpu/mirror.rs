//! GPU kernel against its CPU mirror: stage by stage and whole, from the same input.
//!
//! On software adapters every bit must agree. Real GPUs may fuse multiply and add: there, and for kernels that are fused by hand,
//! the allowance is `FACTOR * f32::EPSILON * scale` per stage run from the same input.

use std::sync::Arc;

use poplin_gpu::{Compilation, EngineOptions, FramePart};
use poplin_host::{ClothId, Engine as _, HostCloth};
use poplin_layout::{Feedback, MemoryTier, STAGES, Stage, StageMask, Task};
use poplin_model::{BendModel, Cloth, Frame, Implicit, Particle, Preconditioner, StretchModel};
use poplin_reference::{LaneOrder, ReferenceEngine, Team};
use poplin_shaders::Kernel;
use poplin_testkit::adapter::{Rounding, devices, headless, roundings};
use poplin_testkit::compare::{same_bits, within};
use poplin_testkit::fused::{fuse, fused_texts};
use poplin_testkit::inputs::{
    cloths, equip_with_masses, fast_particles, implicit_cloths_among_shapes, inputs_of,
};
use poplin_testkit::nth_cloth;
use poplin_testkit::rng::Rng;
use poplin_testkit::scenes::{
    equip, hanging_sheet, implicit_sheet, loose_particles, random_cloth, random_implicit_cloth,
};

/// Allowance of a real GPU after one stage: a chain of up to 8 edges, each some ten roundings.
const FACTOR: f32 = 256.0;

type State = (Vec<[f32; 4]>, Vec<[f32; 4]>);

/// Seeds that name every kind of input at least once; a cloth is equipped by its particle count.
fn seed_of(cloth: &Cloth) -> u64 {
    cloth.particle_count() as u64
}

/// One frame of `stages` on the mirror.
fn run_on_mirror(
    cloth: &Cloth,
    frame: &Frame,
    stages: StageMask,
    team: &mut Team,
) -> (ReferenceEngine, ClothId) {
    let mut engine = ReferenceEngine::new();
    let id = engine.add(cloth.clone()).unwrap();
    equip_with_masses(engine.cloth_mut(id).unwrap());
    engine.begin_frame(frame).unwrap();
    engine.run_part(id, &FramePart { stages, ..FramePart::WHOLE }, team).unwrap();
    (engine, id)
}

/// What [`run_on_mirror`] leaves.
fn on_mirror(cloth: &Cloth, frame: &Frame, stages: StageMask, team: &mut Team) -> State {
    let (engine, id) = run_on_mirror(cloth, frame, stages, team);
    state_of(&engine, id)
}

/// Current and previous particles of a cloth.
fn state_of(engine: &ReferenceEngine, id: ClothId) -> State {
    (Particle::rows(engine.current(id)).to_vec(), Particle::rows(engine.previous(id)).to_vec())
}

/// One iteration for every cloth of these tests, so that differences of a real GPU cannot grow.
const ONE_ITERATION: Frame = Frame { dt: 1.0 / 300.0 };

/// Options for runs of single stages.
fn of_stages() -> EngineOptions {
    EngineOptions {
        compilation: Compilation::WhenNeeded,
        lane_count: Some(64),
        ..EngineOptions::default()
    }
}

/// The same where many cloths by the implicit solver share a kernel, which compiles for most of a minute with all colliders.
fn of_many_models() -> EngineOptions {
    EngineOptions { all_implicit_parts: true, ..of_stages() }
}

/// Runs of the mirror from disturbed input, and how many times what they differ by a GPU that fuses may differ.
const DISTURBED_RUNS: u64 = 64;
const SPREAD: f32 = 8.0;

/// The cloth with every number of its particles and every rest length smaller by at most one epsilon of it.
fn disturbed(cloth: &Cloth, seed: u64) -> Cloth {
    let mut rng = Rng::new(seed);
    let mut disturb = |x: &mut f32| *x -= *x * rng.range(0.0, 1.0) * f32::EPSILON;
    let mut cloth = cloth.clone();
    bytemuck::cast_slice_mut(&mut cloth.particles).iter_mut().for_each(&mut disturb);
    cloth.previous_positions.as_flattened_mut().iter_mut().for_each(&mut disturb);
    Arc::make_mut(&mut cloth.fabric).rest_lengths.iter_mut().for_each(disturb);
    cloth
}

/// How far a GPU that fuses may be from each value of the mirror: some roundings, and what the same relative error of the input
/// does to the mirror. A fold or a coupling that is nearly singular magnifies both alike.
///
/// Wild: multipliers of 1e15 N s^2, the difference of which is their rounding, move the degenerate cloth by 1e9 m in its
/// semi-implicit fibers. There anything finite is allowed.
///
/// And the reports of these runs: where rounding decides when an implicit solve ends, a GPU that fuses may end as one of them does.
fn allowances(
    cloth: &Cloth,
    stages: StageMask,
    mirror: &State,
    is_wild: bool,
) -> (State, Vec<Feedback>) {
    let mut reports = Vec::new();
    let of_value = |x: f32| {
        if is_wild { f32::MAX } else { FACTOR * f32::EPSILON * x.abs().max(1.0) }
    };
    let of_roundings = |p: &[f32; 4]| p.map(of_value);
    let mut allowed: State =
        (mirror.0.iter().map(of_roundings).collect(), mirror.1.iter().map(of_roundings).collect());
    for seed in 0..DISTURBED_RUNS {
        let cloth = disturbed(cloth, seed);
        let (engine, index) = run_on_mirror(&cloth, &ONE_ITERATION, stages, &mut Team::single());
        reports.push(engine.feedback(index));
        let other = state_of(&engine, index);
        for (allowed, (mirror, other)) in
            [(&mut allowed.0, (&mirror.0, &other.0)), (&mut allowed.1, (&mirror.1, &other.1))]
        {
            let values = mirror.as_flattened().iter().zip(other.as_flattened());
            for (allowed, (a, b)) in allowed.as_flattened_mut().iter_mut().zip(values) {
                *allowed = allowed.max(SPREAD * (a - b).abs());
            }
        }
    }
    (allowed, reports)
}

/// All disagreements of a kernel with the mirror over some cloths, for one stage mask.
fn disagreements(
    cloths: &[(String, Cloth)],
    stages: StageMask,
    (options, rounding): &(EngineOptions, Rounding),
) -> Vec<String> {
    let Some(mut gpu) = headless(options.clone()) else { return Vec::new() };
    let mut ids = Vec::new();
    for (_, cloth) in cloths {
        let id = gpu.add(cloth.clone()).unwrap();
        equip_with_masses(gpu.engine_mut().cloth_mut(id).unwrap());
        ids.push(id);
    }
    gpu.engine_mut().begin_frame(&ONE_ITERATION).unwrap();
    gpu.step_part(&FramePart { stages, ..FramePart::WHOLE }).unwrap();
    let snapshot = gpu.state().unwrap();
    let found = cloths.iter().zip(ids).filter_map(|((name, cloth), id)| {
        let (engine, index) = run_on_mirror(cloth, &ONE_ITERATION, stages, &mut Team::single());
        let is_degenerate = name == "degenerate";
        let name = format!("{name}, {rounding:?}");
        let has_report = |expected: Feedback| snapshot.feedback(id) == expected;
        let has_reports = has_report(engine.feedback(index));
        if !has_reports && *rounding == Rounding::AsMirror {
            return Some(format!("{name}: the reports differ"));
        }
        let rows = |particles| Particle::rows(particles).to_vec();
        let own = (rows(snapshot.current(id)), rows(snapshot.previous(id)));
        let mirror = state_of(&engine, index);
        let difference = match rounding {
            Rounding::AsMirror => same_bits(&name, &own.0, &mirror.0)
                .and_then(|()| same_bits(&name, &own.1, &mirror.1)),
            Rounding::MayFuse => {
                let is_wild = is_degenerate && stages.contains(Stage::SemiImplicit);
                let (allowed, reports) = allowances(cloth, stages, &mirror, is_wild);
                if !has_reports && !reports.into_iter().any(has_report) {
                    return Some(format!("{name}: no disturbed run has this report"));
                }
                within(&name, &own.0, &mirror.0, &allowed.0)
                    .and_then(|()| within(&name, &own.1, &mirror.1, &allowed.1))
            }
        };
        difference.err().map(|difference| difference.to_string())
    });
    found.collect()
}

#[test]
fn the_limit_of_velocity_agrees() {
    let integrate = StageMask::only(Stage::Integrate);
    for lane in roundings(&of_stages()) {
        assert_eq!(disagreements(&fast_particles(), integrate, &lane), Vec::<String>::new());
    }
    assert_seen(
        "position = particle.xyz + displacement * limit;",
        "position = particle.xyz;",
        &fast_particles(),
        integrate,
    );
}

#[test]
fn every_stage_changes_its_inputs() {
    for row in STAGES {
        let stages = StageMask::only(row.stage);
        let is_changed = inputs_of(row.stage).iter().any(|(_, cloth)| {
            let states = [StageMask(0), stages].map(|stages| {
                let (engine, id) =
                    run_on_mirror(cloth, &ONE_ITERATION, stages, &mut Team::single());
                let Feedback { sleep_time, sleep_pass_count, .. } = engine.feedback(id);
                (
                    engine.current(id).to_vec(),
                    engine.previous(id).to_vec(),
                    sleep_time,
                    sleep_pass_count,
                )
            });
            states[0] != states[1]
        });
        assert!(is_changed, "{} does nothing to any of its inputs", row.name);
    }
}

/// Tests of one stage each: their kernels compile for seconds to minutes on a software adapter, so
/// they are to run beside one another.
macro_rules! stage_tests {
    ($($name:ident => $stage:ident,)+) => {
        mod stage_agrees {
            $(#[test]
            fn $name() {
                super::assert_stage_agrees(poplin_layout::Stage::$stage);
            })+
        }

        /// Stages with a test.
        const TESTED_STAGES: &[Stage] = &[$(Stage::$stage),+];
    };
}

stage_tests! {
    integrate => Integrate,
    wind => Wind,
    motion => Motion,
    tether => Tether,
    implicit => Implicit,
    gauss_seidel => GaussSeidel,
    semi_implicit => SemiImplicit,
    cyclic_reduction => CyclicReduction,
    bend => Bend,
    separation => Separation,
    self_collide => SelfCollide,
    collide_convex => CollideConvex,
    collide_box => CollideBox,
    collide_triangle => CollideTriangle,
    mass => Mass,
    collide_shape => CollideShape,
    collide_continuous => CollideContinuous,
    collide_body => CollideBody,
    virtual_particles => VirtualParticles,
    limit_speed => LimitSpeed,
    sleep => Sleep,
}

#[test]
fn every_stage_has_a_test() {
    let stages: Vec<_> = STAGES.iter().map(|row| row.stage).collect();
    assert_eq!(TESTED_STAGES, stages);
}

/// Compares one stage on its inputs with each rounding.
fn assert_stage_agrees(stage: Stage) {
    for lane in &roundings(&of_stages()) {
        let found = disagreements(&inputs_of(stage), StageMask::only(stage), lane);
        assert_eq!(found, Vec::<String>::new());
    }
}

/// Compares a whole iteration with one of the [`roundings`]; a machine may have the first alone.
fn assert_iteration_agrees(cloths: &[(String, Cloth)], rounding: usize) {
    if let Some(lane) = roundings(&of_many_models()).get(rounding) {
        assert_eq!(disagreements(cloths, StageMask::ALL, lane), Vec::<String>::new());
    }
}

#[test]
fn a_whole_iteration_agrees() {
    assert_iteration_agrees(&cloths(), 0);
}

#[test]
fn a_whole_fused_iteration_agrees() {
    // The family with the fewest stages: the kernels of all of them compile for a minute.
    let mut cloths = cloths();
    cloths.retain(|(_, cloth)| cloth.particle_count() % 4 == 2);
    assert_iteration_agrees(&cloths, 1);
}

#[test]
fn an_implicit_solve_agrees_with_the_shapes_that_it_looks_for() {
    let stages = StageMask::PROBES.with(Stage::Implicit);
    let cloths = implicit_cloths_among_shapes();
    for lane in roundings(&of_many_models()) {
        assert_eq!(disagreements(&cloths, stages, &lane), Vec::<String>::new());
    }
}

#[test]
fn a_damaged_contact_of_an_implicit_solve_is_seen() {
    let few = StageMask::only(Stage::CollideShape).with(Stage::Implicit);
    let cloths = simplest_first(implicit_cloths_among_shapes());
    for (from, to) in [
        ("force -= plane.xyz", "force += plane.xyz"),
        ("1.0 + borne_push(i, push)", "borne_push(i, push)"),
    ] {
        assert_seen(from, to, &cloths, few);
    }
}

#[test]
fn thirty_frames_agree() {
    let cloth = hanging_sheet(12, 12);
    let mut engine = ReferenceEngine::new();
    engine.add(cloth.clone()).unwrap();
    (0..30).for_each(|_| engine.step(&Frame::default()).unwrap());
    let (current, previous) = (engine.current(nth_cloth(0)), engine.previous(nth_cloth(0)));
    for (mut gpu, rounding) in devices(&EngineOptions::default()) {
        let id = gpu.add(cloth.clone()).unwrap();
        (0..30).for_each(|_| gpu.step(&Frame::default()).unwrap());
        let snapshot = gpu.state().unwrap();
        rounding.agree("current", snapshot.current(id), current, FACTOR).unwrap();
        rounding.agree("previous", snapshot.previous(id), previous, FACTOR).unwrap();
        assert_eq!(snapshot.feedback(id), engine.feedback(nth_cloth(0)), "{rounding:?}");
    }
}

#[test]
fn fused_kernels_round_a_multiply_add_once() {
    let mut rng = Rng::new(8);
    let mut points: Vec<_> =
        (0..400).map(|_| (rng.point(-1.0, 1.0), rng.point(-3e4, 3e4))).collect();
    // The displacement by an acceleration of 1 m/s^2.
    points[0] = ([0.0; 3], [1.0; 3]);
    let particles = points.iter().map(|([x, y, z], _)| [*x, *y, *z, 1.0]).collect();
    let accelerations: Vec<_> = points.iter().map(|(_, acceleration)| *acceleration).collect();
    let options = EngineOptions { shader_texts: fused_texts().clone(), ..of_stages() };
    let Some(mut gpu) = headless(options) else { return };
    let id = gpu.add(loose_particles(particles)).unwrap();
    let host = gpu.engine_mut().cloth_mut(id).unwrap();
    host.set_particle_accelerations(&accelerations).unwrap();
    gpu.engine_mut().begin_frame(&ONE_ITERATION).unwrap();
    let stages = StageMask::only(Stage::Integrate);
    gpu.step_part(&FramePart { stages, ..FramePart::WHOLE }).unwrap();
    let state = gpu.state().unwrap();
    let scale = state.current(id)[0].position[0];
    let mut rounded_twice = 0;
    for ((position, acceleration), moved) in points.iter().zip(state.current(id)) {
        for k in 0..3 {
            assert_eq!(moved.position[k], acceleration[k].mul_add(scale, position[k]));
            rounded_twice +=
                usize::from(moved.position[k] != acceleration[k] * scale + position[k]);
        }
    }
    assert!(rounded_twice > 100, "only {rounded_twice} differ from rounding twice");
}

/// Bits after some frames in a tier with some lanes.
fn in_tier(cloth: &Cloth, options: EngineOptions) -> Option<State> {
    let mut gpu = headless(options)?;
    let id = gpu.add(cloth.clone()).unwrap();
    equip(gpu.engine_mut().cloth_mut(id).unwrap(), seed_of(cloth));
    for _ in 0..3 {
        gpu.step(&Frame::default()).unwrap();
    }
    let snapshot = gpu.state().unwrap();
    Some((
        Particle::rows(snapshot.current(id)).to_vec(),
        Particle::rows(snapshot.previous(id)).to_vec(),
    ))
}

#[test]
fn tiers_and_lane_counts_and_split_dispatches_give_identical_bits() {
    // Cloths with many stages compile for seconds in each tier and lane count: the second one has other lanes than the kernel that
    // it is compared with, the third split dispatches only.
    let cases: [(Cloth, &[u32], &[u64]); 4] = [
        (hanging_sheet(14, 13), &[32, 128], &[u64::MAX, 1]),
        (implicit_sheet(9, 8), &[128], &[u64::MAX, 1]),
        (random_cloth(3, 62), &[128], &[u64::MAX, 1]),
        (random_cloth(4, 60), &[32], &[1]),
    ];
    for (cloth, lane_counts, trips) in cases {
        let options = EngineOptions {
            tier: Some(MemoryTier::Resident),
            lane_count: Some(32),
            ..Default::default()
        };
        let Some(resident) = in_tier(&cloth, options) else {
            return;
        };
        for tier in MemoryTier::ALL {
            for &lane_count in lane_counts {
                for &trips_per_dispatch in trips {
                    let options = EngineOptions {
                        tier: Some(tier),
                        lane_count: Some(lane_count),
                        trips_per_dispatch,
                        ..Default::default()
                    };
                    let other = in_tier(&cloth, options).unwrap();
                    let what = format!(
                        "{} with {lane_count} lanes, {trips_per_dispatch} trips",
                        tier.name()
                    );
                    same_bits(&what, &other.0, &resident.0).unwrap();
                    same_bits(&what, &other.1, &resident.1).unwrap();
                }
            }
        }
    }
}

#[test]
fn a_cloth_gives_the_same_bits_alone_and_in_a_batch() {
    let options = EngineOptions { lane_count: Some(64), ..EngineOptions::default() };
    let Some(mut gpu) = headless(options.clone()) else { return };
    // Two sets of stages, all and those without colliders: kernels compile for seconds on a software adapter.
    let cloths: Vec<Cloth> = (0..64)
        .map(|seed| match seed % 16 {
            5 => random_implicit_cloth(seed, 34),
            _ => random_cloth(seed, 34 + 2 * (seed as u32 % 15)),
        })
        .collect();
    let ids: Vec<_> = cloths.iter().map(|cloth| gpu.add(cloth.clone()).unwrap()).collect();
    for (id, cloth) in ids.iter().zip(&cloths) {
        equip(gpu.engine_mut().cloth_mut(*id).unwrap(), seed_of(cloth));
    }
    for _ in 0..2 {
        gpu.step(&Frame::default()).unwrap();
    }
    let batch = gpu.state().unwrap();
    for index in [0, 5, 17, 37, 63] {
        let mut alone = headless(options.clone()).unwrap();
        let id = alone.add(cloths[index].clone()).unwrap();
        equip(alone.engine_mut().cloth_mut(id).unwrap(), seed_of(&cloths[index]));
        for _ in 0..2 {
            alone.step(&Frame::default()).unwrap();
        }
        same_bits(
            &format!("cloth {index}"),
            alone.state().unwrap().current(id),
            batch.current(ids[index]),
        )
        .unwrap();
    }
}

#[test]
fn lane_orders_give_identical_bits() {
    for (name, cloth) in cloths() {
        let run = |lanes, order| {
            on_mirror(&cloth, &Frame::default(), StageMask::ALL, &mut Team::new(lanes, order))
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

/// Whether lane orders disagree on some cloth once the barrier after `work` is dropped; an index that went astray counts.
fn races_without_barrier(work: Task) -> bool {
    cloths().iter().any(|(_, cloth)| {
        let run = |order| {
            on_mirror(
                cloth,
                &Frame::default(),
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

/// Damages the kernel by replacing a text: it must be seen to disagree with the mirror by the comparison that allows most, that of
/// fused kernels where there are two. The cloths run one by one until one shows it, so that no more kernels are compiled than that takes.
fn assert_seen(from: &str, to: &str, cloths: &[(String, Cloth)], stages: StageMask) {
    let text = poplin_shaders::compose("kernel/simulate_cloth").unwrap().text;
    assert!(text.contains(from), "the kernel no longer contains `{from}`");
    let damaged = text.replacen(from, to, 1);
    let Some((mut options, rounding)) = roundings(&of_stages()).pop() else { return };
    let is_fused = !options.shader_texts.is_empty();
    options
        .shader_texts
        .insert(Kernel::SimulateCloth, if is_fused { fuse(&damaged) } else { damaged });
    let lane = (options, rounding);
    let is_seen = cloths
        .iter()
        .any(|cloth| !disagreements(std::slice::from_ref(cloth), stages, &lane).is_empty());
    assert!(is_seen, "{stages:?} with `{to}` passes, {rounding:?}");
}

/// Those with the fewest stages and parts of the implicit one first: their kernels compile fastest.
fn simplest_first(mut cloths: Vec<(String, Cloth)>) -> Vec<(String, Cloth)> {
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
fn a_flipped_gradient_and_a_wrong_coupling_are_seen() {
    for (stage, from, to) in [
        (
            Stage::Bend,
            "normal_2 * (-edge_length / square_2)",
            "normal_2 * (edge_length / square_2)",
        ),
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

/// What a damage replaces, with what, and which cloths may show it.
type Damage<'a> = (&'a str, &'a str, fn(&Implicit) -> bool);

/// Kernels of an implicit solve compile for long on a software adapter: several tests, so that
/// several compile at once.
fn assert_implicit_seen(damages: &[Damage<'_>]) {
    let cloths = simplest_first(cloths());
    for (from, to, may_show) in damages {
        let is_shown =
            |(_, cloth): &&(String, Cloth)| cloth.config.solver.as_implicit().is_some_and(may_show);
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
