//! GPU kernel against its CPU mirror: stage by stage and whole, from the same input.
//!
//! On software adapters every bit must agree. Real GPUs may fuse multiply and add: there the allowance is
//! `FACTOR * f32::EPSILON * scale` per stage run from the same input.

use poplin_gpu::{EngineOptions, FramePart};
use poplin_host::Engine as _;
use poplin_layout::{MemoryTier, Stage, StageMask};
use poplin_model::{Cloth, FiberSolver, Frame};
use poplin_reference::{LaneOrder, ReferenceEngine, Team};
use poplin_testkit::adapter::{headless, is_strict};
use poplin_testkit::compare::{Difference, close, same_bits};
use poplin_testkit::nth_cloth;
use poplin_testkit::rng::Rng;
use poplin_testkit::scenes::{
    degenerate_cloth, degenerate_xpbd_cloth, equip, hanging_sheet, loose_particles, random_cloth,
    random_ropes, random_xpbd_cloth,
};

/// Allowance of a real GPU after one stage: a chain of up to 8 edges, each some ten roundings.
const FACTOR: f32 = 256.0;

fn cloths() -> Vec<(String, Cloth)> {
    let mut cloths: Vec<_> = (0..12)
        .map(|seed| (format!("random {seed}"), random_cloth(seed, 20 + 3 * seed as u32)))
        .collect();
    cloths.push(("degenerate".to_owned(), degenerate_cloth()));
    cloths.push(("sheet".to_owned(), hanging_sheet(12, 12)));
    cloths.extend(
        (0..6).map(|seed| (format!("xpbd {seed}"), random_xpbd_cloth(seed, 22 + 4 * seed as u32))),
    );
    cloths.push(("degenerate xpbd".to_owned(), degenerate_xpbd_cloth()));
    cloths.extend(
        (0..4).map(|seed| (format!("ropes {seed}"), random_ropes(seed, 150 + 4 * seed as u32))),
    );
    cloths
}

type State = (Vec<[f32; 4]>, Vec<[f32; 4]>);

/// Seeds that name every kind of input at least once; a cloth is equipped by its particle count.
fn seed_of(cloth: &Cloth) -> u64 {
    cloth.particle_count() as u64
}

/// One frame of `stages` on the mirror.
fn on_mirror(cloth: &Cloth, frame: &Frame, stages: StageMask, team: &mut Team<'_>) -> State {
    let mut engine = ReferenceEngine::new();
    let id = engine.add(cloth.clone()).unwrap();
    equip(engine.cloth_mut(id).unwrap(), seed_of(cloth));
    engine.begin_frame(frame).unwrap();
    engine.run_part(id, &FramePart { stages, ..FramePart::WHOLE }, team).unwrap();
    (engine.current(id).to_vec(), engine.previous(id).to_vec())
}

fn compare(strict: bool, what: &str, gpu: &State, mirror: &State) -> Result<(), Difference> {
    if strict {
        same_bits(what, &gpu.0, &mirror.0)?;
        return same_bits(what, &gpu.1, &mirror.1);
    }
    close(what, &gpu.0, &mirror.0, FACTOR, 1.0)?;
    close(what, &gpu.1, &mirror.1, FACTOR, 1.0)
}

/// One iteration for every cloth of these tests, so that differences of a real GPU cannot grow.
const ONE_ITERATION: Frame = Frame { dt: 1.0 / 300.0 };

/// All disagreements of a kernel text (`None` = the shipped one) with the mirror over all cloths, for one stage mask.
fn disagreements(stages: StageMask, shader_text: Option<String>) -> Option<Vec<String>> {
    disagreements_over(&cloths(), stages, shader_text)
}

fn disagreements_over(
    cloths: &[(String, Cloth)],
    stages: StageMask,
    shader_text: Option<String>,
) -> Option<Vec<String>> {
    let mut gpu = headless(EngineOptions {
        shader_text,
        lazy_pipelines: true,
        lane_count: Some(64),
        ..EngineOptions::default()
    })?;
    let mut ids = Vec::new();
    for (_, cloth) in cloths {
        let id = gpu.add(cloth.clone()).unwrap();
        equip(gpu.engine_mut().cloth_mut(id).unwrap(), seed_of(cloth));
        ids.push(id);
    }
    gpu.engine_mut().begin_frame(&ONE_ITERATION).unwrap();
    gpu.step_part(&FramePart { stages, ..FramePart::WHOLE }).unwrap();
    let snapshot = gpu.state().unwrap();
    let strict = is_strict(&gpu);
    let found = cloths.iter().zip(ids).filter_map(|((name, cloth), id)| {
        let mirror = on_mirror(cloth, &ONE_ITERATION, stages, &mut Team::single());
        let own = (snapshot.current(id).to_vec(), snapshot.previous(id).to_vec());
        compare(strict, name, &own, &mirror).err().map(|difference| difference.to_string())
    });
    Some(found.collect())
}

#[test]
fn integrate_agrees() {
    assert_eq!(
        disagreements(StageMask::only(Stage::Integrate), None).unwrap_or_default(),
        Vec::<String>::new()
    );
}

/// Particles that move by up to 3.5 cm, of which the limit leaves 1 cm.
fn fast_particles() -> Vec<(String, Cloth)> {
    let mut rng = Rng::new(15);
    let particles = (0..66).map(|_| rng.point(-1.0, 1.0)).map(|[x, y, z]| [x, y, z, 1.0]).collect();
    let mut cloth = loose_particles(particles);
    cloth.previous_positions = cloth
        .particles
        .iter()
        .map(|p| std::array::from_fn(|k| p[k] + rng.range(-0.02, 0.02)))
        .collect();
    cloth.config.self_collision_distance = Some(0.02);
    cloth.config.limit_velocity = true;
    vec![("fast".to_owned(), cloth)]
}

#[test]
fn the_limit_of_velocity_agrees() {
    let integrate = StageMask::only(Stage::Integrate);
    assert_eq!(
        disagreements_over(&fast_particles(), integrate, None).unwrap_or_default(),
        Vec::<String>::new()
    );
    // See it fail.
    let text = damaged(
        "position = particle.xyz + way * (max_move / sqrt(way_square));",
        "position = particle.xyz;",
    );
    if let Some(found) = disagreements_over(&fast_particles(), integrate, Some(text)) {
        assert!(!found.is_empty());
    }
}

#[test]
fn tether_agrees() {
    assert_eq!(
        disagreements(StageMask::only(Stage::Tether), None).unwrap_or_default(),
        Vec::<String>::new()
    );
}

#[test]
fn gauss_seidel_agrees() {
    assert_eq!(
        disagreements(StageMask::only(Stage::GaussSeidel), None).unwrap_or_default(),
        Vec::<String>::new()
    );
}

#[test]
fn semi_implicit_fibers_agree() {
    assert_eq!(
        disagreements(StageMask::only(Stage::SemiImplicit), None).unwrap_or_default(),
        Vec::<String>::new()
    );
}

#[test]
fn cyclic_reduction_agrees() {
    assert_eq!(
        disagreements(StageMask::only(Stage::CyclicReduction), None).unwrap_or_default(),
        Vec::<String>::new()
    );
}

#[test]
fn bends_agree() {
    assert_eq!(
        disagreements(StageMask::only(Stage::Bend), None).unwrap_or_default(),
        Vec::<String>::new()
    );
}

#[test]
fn wind_agrees() {
    assert_eq!(
        disagreements(StageMask::only(Stage::Wind), None).unwrap_or_default(),
        Vec::<String>::new()
    );
}

#[test]
fn motion_agrees() {
    assert_eq!(
        disagreements(StageMask::only(Stage::Motion), None).unwrap_or_default(),
        Vec::<String>::new()
    );
}

#[test]
fn separation_agrees() {
    assert_eq!(
        disagreements(StageMask::only(Stage::Separation), None).unwrap_or_default(),
        Vec::<String>::new()
    );
}

#[test]
fn sleep_agrees() {
    assert_eq!(
        disagreements(StageMask::only(Stage::Sleep), None).unwrap_or_default(),
        Vec::<String>::new()
    );
}

#[test]
fn self_collide_agrees() {
    assert_eq!(
        disagreements(StageMask::only(Stage::SelfCollide), None).unwrap_or_default(),
        Vec::<String>::new()
    );
}

#[test]
fn collide_convex_agrees() {
    assert_eq!(
        disagreements(StageMask::only(Stage::CollideConvex), None).unwrap_or_default(),
        Vec::<String>::new()
    );
}

#[test]
fn collide_box_agrees() {
    assert_eq!(
        disagreements(StageMask::only(Stage::CollideBox), None).unwrap_or_default(),
        Vec::<String>::new()
    );
}

#[test]
fn collide_triangle_agrees() {
    assert_eq!(
        disagreements(StageMask::only(Stage::CollideTriangle), None).unwrap_or_default(),
        Vec::<String>::new()
    );
}

#[test]
fn collide_shape_agrees() {
    assert_eq!(
        disagreements(StageMask::only(Stage::CollideShape), None).unwrap_or_default(),
        Vec::<String>::new()
    );
}

#[test]
fn collide_continuous_agrees() {
    assert_eq!(
        disagreements(StageMask::only(Stage::CollideContinuous), None).unwrap_or_default(),
        Vec::<String>::new()
    );
}

#[test]
fn collide_body_agrees() {
    assert_eq!(
        disagreements(StageMask::only(Stage::CollideBody), None).unwrap_or_default(),
        Vec::<String>::new()
    );
}

#[test]
fn virtual_particles_agree() {
    assert_eq!(
        disagreements(StageMask::only(Stage::VirtualParticles), None).unwrap_or_default(),
        Vec::<String>::new()
    );
}

#[test]
fn mass_agrees() {
    assert_eq!(
        disagreements(StageMask::only(Stage::Mass), None).unwrap_or_default(),
        Vec::<String>::new()
    );
}

#[test]
fn a_whole_iteration_agrees() {
    assert_eq!(disagreements(StageMask::ALL, None).unwrap_or_default(), Vec::<String>::new());
}

#[test]
fn thirty_frames_agree_to_the_bit_on_a_software_adapter() {
    let Some(mut gpu) = headless(EngineOptions::default()) else { return };
    if !is_strict(&gpu) {
        return eprintln!("not a software adapter: long runs are compared by invariants instead");
    }
    let cloth = hanging_sheet(12, 12);
    let mut engine = ReferenceEngine::new();
    engine.add(cloth.clone()).unwrap();
    let id = gpu.add(cloth).unwrap();
    for _ in 0..30 {
        engine.step(&Frame::default()).unwrap();
        gpu.step(&Frame::default()).unwrap();
    }
    let snapshot = gpu.state().unwrap();
    same_bits("current", snapshot.current(id), engine.current(nth_cloth(0))).unwrap();
    same_bits("previous", snapshot.previous(id), engine.previous(nth_cloth(0))).unwrap();
    assert_eq!(snapshot.feedback(id), engine.feedback(nth_cloth(0)));
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
    Some((snapshot.current(id).to_vec(), snapshot.previous(id).to_vec()))
}

#[test]
fn tiers_and_lane_counts_and_split_dispatches_give_identical_bits() {
    // The cloth with all stages compiles for seconds in each tier: it gets one number of lanes,
    // and split dispatches only.
    let cases: [(Cloth, &[u32], &[u64]); 3] = [
        (hanging_sheet(12, 12), &[32, 128], &[u64::MAX, 1]),
        (random_cloth(3, 126), &[32, 128], &[u64::MAX, 1]),
        (random_cloth(4, 124), &[32], &[1]),
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
    let cloths: Vec<Cloth> =
        (0..64).map(|seed| random_cloth(seed, 66 + 2 * (seed as u32 % 31))).collect();
    let ids: Vec<_> = cloths.iter().map(|cloth| gpu.add(cloth.clone()).unwrap()).collect();
    for (id, cloth) in ids.iter().zip(&cloths) {
        equip(gpu.engine_mut().cloth_mut(*id).unwrap(), seed_of(cloth));
    }
    for _ in 0..2 {
        gpu.step(&Frame::default()).unwrap();
    }
    let batch = gpu.state().unwrap();
    for index in [0, 17, 63] {
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
fn races_without_barrier(work: &'static str) -> bool {
    cloths().iter().any(|(_, cloth)| {
        let run = |order| {
            on_mirror(
                cloth,
                &Frame::default(),
                StageMask::ALL,
                &mut Team::new(32, order).with_dropped_barrier(work),
            )
        };
        let differs =
            || same_bits(work, &run(LaneOrder::Forward).0, &run(LaneOrder::Reversed).0).is_err();
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(differs)).unwrap_or(true)
    })
}

#[test]
fn the_lane_order_check_sees_a_dropped_barrier() {
    for work in [
        "integrate_particle",
        "blow_triangle",
        "gather_wind",
        "constrain_motion",
        "gather_anchor",
        "constrain_tethers",
        "project_fiber",
        "clear_cell",
        "count_member",
        "sum_cells",
        "scan_cells",
        "scatter_member",
        "sort_member",
        "count_contacts",
        "push_apart",
        "solve_fiber",
        "build_row",
        "reduce_row",
        "pull_edge",
        "move_edge",
        "solve_bend",
        "visit_chunk",
        "sum_chunks",
        "collide_bundle",
    ] {
        assert!(
            races_without_barrier(work),
            "without the barrier after {work} no lane order differs"
        );
    }
}

/// The shipped kernel with one text replaced.
fn damaged(from: &str, to: &str) -> String {
    let text = poplin_shaders::compose("kernel/simulate_cloth").unwrap().text;
    assert!(text.contains(from), "the kernel no longer contains `{from}`");
    text.replacen(from, to, 1)
}

#[test]
fn a_flipped_sign_is_seen() {
    let text =
        damaged("pb.xyz - delta * (correction * pb.w)", "pb.xyz + delta * (correction * pb.w)");
    if let Some(found) = disagreements(StageMask::only(Stage::GaussSeidel), Some(text)) {
        assert!(!found.is_empty());
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
        (Stage::SemiImplicit, "var between = -scale * pa.w", "var between = scale * pa.w"),
        (Stage::CyclicReduction, "row.y = -scale * pb.w", "row.y = scale * pb.w"),
        (Stage::CyclicReduction, "- row.y * high.z", "- row.y * low.z"),
        (Stage::CyclicReduction, "(pull.xyz - push) * pb.w", "pull.xyz * pb.w"),
    ] {
        if let Some(found) = disagreements(StageMask::only(stage), Some(damaged(from, to))) {
            assert!(!found.is_empty(), "{stage:?}");
        }
    }
}

#[test]
fn a_swapped_index_is_seen() {
    let text =
        damaged("k * cloth.particle_count + i;", "i * cloth.fabric.tethers_per_particle + k;");
    if let Some(found) = disagreements(StageMask::only(Stage::Tether), Some(text)) {
        assert!(!found.is_empty());
    }
}

/// Barrier intervals of a kernel text: the stage functions called in each.
fn intervals_of_shader(text: &str) -> Vec<Vec<String>> {
    let sources = poplin_shaders::SOURCES.iter().filter(|(path, _)| path.starts_with("stage/"));
    let stage_text: String = sources.map(|(_, text)| *text).collect();
    let module = naga::front::wgsl::parse_str(text).unwrap();
    let is_counted = |name: &str| {
        name.ends_with("_particle")
            || name == "prepare_shape"
            || !name.starts_with("is_") && stage_text.contains(&format!("fn {name}("))
    };
    poplin_shaders::barrier_intervals(&module, is_counted)
}

/// Barrier intervals of the mirror in one iteration with one set per phase: a run by PBD and Gauss-Seidel, one with continuous
/// collision, one by XPBD and whole fibers and the fibers of one by cyclic reduction, laid over one another.
fn intervals_of_mirror() -> Vec<Vec<String>> {
    let mut intervals = intervals_of_run(false, false);
    let mut lay_over = |others: Vec<Vec<String>>, after: &str, new: &str| {
        assert_eq!(intervals.len(), others.len());
        for (names, others) in intervals.iter_mut().zip(others) {
            let place =
                names.iter().position(|name| name == after).map_or(names.len(), |place| place + 1);
            names.splice(place..place, others.into_iter().filter(|name| name == new));
        }
    };
    lay_over(intervals_of_run(true, false), "collide_shape", "collide_continuous");
    let mut of_xpbd = intervals_of_run(false, true);
    let bends = of_xpbd.iter().position(|names| names[0] == "solve_bend").unwrap();
    let interval = of_xpbd.remove(bends);
    lay_over(of_xpbd, "project_fiber", "solve_fiber");
    intervals.insert(bends, interval);
    // The kernel loops over what the mirror does one after the other: a row is built, reduced and turned into a pull.
    let mut ropes = random_ropes(0, 150);
    ropes.phase_configs.truncate(1);
    let of_ropes = intervals_of(&ropes);
    let mut names: Vec<_> = of_ropes
        .iter()
        .map(|names| names[0].clone())
        .filter(|name| name.ends_with("_row"))
        .collect();
    names.dedup();
    names.push("pull_edge".to_owned());
    let fibers = intervals.iter().position(|names| names[0] == "project_fiber").unwrap();
    intervals[fibers].insert(0, "move_edge".to_owned());
    assert!(
        of_ropes.iter().any(|names| *names == ["pull_edge"])
            && of_ropes.iter().any(|names| *names == ["move_edge"])
    );
    intervals.insert(fibers, names);
    intervals
}

fn intervals_of_run(is_continuous: bool, is_xpbd: bool) -> Vec<Vec<String>> {
    // Of this size a cloth is equipped with every kind of input; its first phase has one set.
    let mut cloth = if is_xpbd { random_xpbd_cloth(1, 60) } else { random_cloth(1, 60) };
    if let Some(&end) = cloth.fabric.bend_set_ends.first() {
        let fabric = std::sync::Arc::make_mut(&mut cloth.fabric);
        fabric.bends.truncate(end as usize);
        fabric.bend_set_ends.truncate(1);
    }
    cloth.phase_configs.truncate(1);
    let solver = if is_xpbd { FiberSolver::SemiImplicit } else { FiberSolver::GaussSeidel };
    cloth.phase_configs[0].fiber_solver = Some(solver);
    cloth.config.sleep_threshold = 1.0;
    cloth.config.drag_coefficient = 0.5;
    cloth.config.continuous_collision = is_continuous;
    std::sync::Arc::make_mut(&mut cloth.fabric).virtual_particles.truncate(1);
    assert!(cloth.fabric.tethers_per_particle > 0);
    let mut names = vec![vec!["fetch_particle".to_owned()]];
    names.extend(intervals_of(&cloth));
    names.push(vec!["flush_particle".to_owned()]);
    // The kernel loops over what the mirror does twice: counting at bodies, then pushing.
    let second = names.iter().rposition(|names| names[0] == "visit_chunk").unwrap();
    names.drain(second..second + 2);
    names
}

/// The work between the barriers of one iteration of a cloth.
fn intervals_of(cloth: &Cloth) -> Vec<Vec<String>> {
    let mut names: Vec<Vec<String>> = Vec::new();
    let mut observer = |works: &[poplin_reference::Work], _: &poplin_reference::ClothMemory<'_>| {
        names.push(works.iter().map(|work| work.name.to_owned()).collect());
    };
    on_mirror(
        cloth,
        &ONE_ITERATION,
        StageMask::ALL,
        &mut Team::new(4, LaneOrder::Forward).with_observer(&mut observer),
    );
    names
}

#[test]
fn kernel_and_mirror_have_the_same_work_between_the_same_barriers() {
    let text = poplin_shaders::compose("kernel/simulate_cloth").unwrap().text;
    assert_eq!(intervals_of_shader(&text), intervals_of_mirror());
}

#[test]
fn each_dropped_barrier_of_the_kernel_is_seen() {
    // What must go for each hand-over; comments of the kernel name them.
    let drops: [(&str, &[&str]); 25] = [
        ("fetch -> iterations", &["workgroupBarrier(); // fetch -> iterations"]),
        (
            "integrate -> next stage",
            &["workgroupBarrier();\n            storageBarrier(); // integrate -> next stage"],
        ),
        (
            "anchors -> tethers",
            &["workgroupBarrier();\n            storageBarrier(); // anchors -> tethers"],
        ),
        (
            "triangles -> particles",
            &["workgroupBarrier();\n            storageBarrier(); // triangles -> particles"],
        ),
        (
            "wind -> motion",
            &["workgroupBarrier();\n            storageBarrier(); // wind -> motion"],
        ),
        (
            "motion -> anchors",
            &[
                "if (CURRENT_SHARED) { workgroupBarrier(); } else { storageBarrier(); } // motion -> anchors",
            ],
        ),
        (
            "shapes -> particles",
            &["workgroupBarrier();\n            storageBarrier(); // shapes -> particles"],
        ),
        (
            "particles and bodies -> chunks",
            &[
                "workgroupBarrier();\n                storageBarrier(); // particles and bodies -> chunks",
            ],
        ),
        (
            "chunks -> bodies",
            &["workgroupBarrier();\n                storageBarrier(); // chunks -> bodies"],
        ),
        (
            "particles -> bundles",
            &["workgroupBarrier();\n            storageBarrier(); // particles -> bundles"],
        ),
        (
            "bundles -> next bundles",
            &["workgroupBarrier();\n                storageBarrier(); // bundles -> next bundles"],
        ),
        (
            "particles and empty buckets -> counts",
            &[
                "workgroupBarrier();\n            storageBarrier(); // particles and empty buckets -> counts",
            ],
        ),
        ("counts -> sums", &["workgroupBarrier(); // counts -> sums"]),
        ("sums -> places", &["workgroupBarrier(); // sums -> places"]),
        ("places -> buckets", &["workgroupBarrier(); // places -> buckets"]),
        (
            "buckets -> sorted buckets",
            &["workgroupBarrier();\n            storageBarrier(); // buckets -> sorted buckets"],
        ),
        ("sorted buckets -> contacts", &["storageBarrier(); // sorted buckets -> contacts"]),
        ("contacts -> pushes", &["storageBarrier(); // contacts -> pushes"]),
        (
            "pushes -> shapes",
            &[
                "if (CURRENT_SHARED) { workgroupBarrier(); } else { storageBarrier(); } // pushes -> shapes",
            ],
        ),
        ("test -> count", &["workgroupBarrier(); // test -> count"]),
        (
            "tethers -> fabric",
            &[
                "if (CURRENT_SHARED) { workgroupBarrier(); } else { storageBarrier(); } // tethers -> fabric",
            ],
        ),
        (
            "rows -> next rows",
            &[
                "workgroupBarrier();\n                            storageBarrier(); // rows -> next rows",
            ],
        ),
        (
            "set -> next set",
            &[
                "if (CURRENT_SHARED) { workgroupBarrier(); } else { storageBarrier(); } // set -> next set",
            ],
        ),
        (
            "bends -> next bends",
            &[
                "if (CURRENT_SHARED) { workgroupBarrier(); } else { storageBarrier(); } // bends -> next bends",
            ],
        ),
        (
            "iteration -> next iteration",
            &[
                "if (CURRENT_SHARED) { workgroupBarrier(); } else { workgroupBarrier(); storageBarrier(); } // iteration -> next iteration",
            ],
        ),
    ];
    for (name, texts) in drops {
        let shipped = poplin_shaders::compose("kernel/simulate_cloth").unwrap().text;
        let text = texts.iter().fold(shipped, |text, barrier| {
            assert!(text.contains(barrier), "the kernel no longer contains `{barrier}`");
            text.replacen(barrier, "", 1)
        });
        assert_ne!(intervals_of_shader(&text), intervals_of_mirror(), "without `{name}`");
    }
}
