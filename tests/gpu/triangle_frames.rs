//! Contact of triangles on the GPU: whole frames = mirror, through everything that an application may do between them; nothing is
//! crossed where products are fused; what there is no room for, and what is forced, is reported.

use poplin::cook::{CookOptions, cook};
use poplin_gpu::{EngineOptions, Headless, wgpu};
use poplin_host::{ClothId, Engine, ParticleMotion, Reading as _, State};
use poplin_measure::entanglement::EntanglementCounter;
use poplin_model::{
    Capsule, Cloth, ClothContactSolver, Collider, ContactMode, ContactPartner, ContactReport,
    Frame, Mesh, Parallelepiped, Particle, Plane, Pose, RigidBody, Shape, Sphere, TriangleMesh,
    Trouble,
};
use poplin_reference::ReferenceEngine;
use poplin_shaders::{Kernel, compose};
use poplin_testkit::adapter::{Rounding, devices, headless};
use poplin_testkit::compare::same_bits;
use poplin_testkit::crossing_scene::at;
use poplin_testkit::skip::is_gpu_off;

/// Thickness of every cloth \[m\].
const THICKNESS: f32 = 0.02;
/// Four iterations.
const FRAME: Frame = Frame { dt: 1.0 / 60.0 };

/// A level sheet around a point, with a pinned corner if asked for.
fn sheet(center: [f32; 3], columns: u32, is_pinned: bool) -> Cloth {
    let width = 0.05 * columns as f32;
    let mut mesh = Mesh::grid(columns, columns, width, width);
    for [x, y, z] in &mut mesh.positions {
        (*x, *y, *z) = (*x - 0.5 * width + center[0], center[1], *z - 0.5 * width + center[2]);
    }
    let mut cloth = cook(&mesh, &CookOptions::default()).unwrap().into_cloth();
    for (index, particle) in cloth.particles.iter_mut().enumerate() {
        particle.inverse_mass = if is_pinned && index == 0 { 0.0 } else { 100.0 };
    }
    cloth.config.thickness = THICKNESS;
    cloth.config.contact.friction = 0.4;
    cloth.config.solver.as_pbd_mut().unwrap().frequency = 240.0;
    cloth
}

/// A weightless sheet of 6 x 6 whose points, from -0.15 to 0.15 m along x and z, are put elsewhere.
fn bent(at: impl Fn(f32, f32) -> [f32; 3], is_pinned: bool) -> Cloth {
    let mut cloth = sheet([0.0; 3], 6, false);
    for it in &mut cloth.particles {
        let [x, _, z] = it.position;
        it.position = at(x, z);
        it.inverse_mass = if is_pinned { 0.0 } else { 100.0 };
    }
    cloth.config.gravity = [0.0; 3];
    cloth
}

/// An upright sheet, askew so that no vertex is in a plane of another one.
fn upright(x: f32, is_pinned: bool) -> Cloth {
    bent(move |u, v| [x + 0.1 * v + 0.003, u + 0.007, v + 0.011], is_pinned)
}

/// A level sheet.
fn level(is_pinned: bool) -> Cloth {
    bent(|u, v| [u, 0.02 * u, v], is_pinned)
}

/// A box with a corner there.
fn cuboid(corner: [f32; 3]) -> Collider {
    let edges = [[0.12, 0.0, 0.0], [0.0, 0.13, 0.0], [0.0, 0.0, 0.14]];
    Shape::from(Parallelepiped { corner, edges }).into()
}

/// A tetrahedron with a corner there, as a mesh.
fn tetrahedron([x, y, z]: [f32; 3]) -> Collider {
    let vertices = [[x, y, z], [x + 0.2, y, z], [x, y, z + 0.2], [x, y + 0.2, z]];
    let triangles = [[0, 1, 2], [0, 3, 1], [1, 3, 2], [2, 3, 0]];
    let mesh = TriangleMesh { vertices: vertices.into(), triangles: triangles.to_vec().into() };
    Shape::TriangleMesh(mesh).into()
}

/// Colliders of every shape under the sheets.
fn colliders() -> Vec<Collider> {
    let ball = |x: f32, radius: f32| Sphere { center: [x, 0.1, 0.0], radius };
    let tip = TriangleMesh {
        vertices: vec![[-0.1, 0.0, -0.1], [0.1, 0.0, -0.1], [0.0, 0.0, 0.12], [0.0, 0.16, 0.0]]
            .into(),
        triangles: vec![[0, 1, 2], [0, 3, 1], [1, 3, 2], [2, 3, 0]].into(),
    };
    let ends = [ball(-0.15, 0.03), ball(-0.05, 0.05)];
    let half = Parallelepiped {
        corner: [0.07, 0.0, 0.05],
        edges: [[0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.1]],
    };
    vec![
        Shape::from(Plane { normal: [0.0, 1.0, 0.0], offset: 0.0 }).into(),
        Shape::from(ball(0.05, 0.08)).into(),
        Shape::from(Capsule { ends }).into(),
        Shape::from(half).into(),
        Shape::from(tip).into(),
    ]
}

fn settings() -> ClothContactSolver {
    ClothContactSolver {
        contact: ContactMode::Triangles,
        iterations: 3,
        every: 2,
        max_rounds: 4,
        ..ClothContactSolver::default()
    }
}

/// The same scene on the mirror and on a device.
struct Twins {
    mirror: ReferenceEngine,
    gpu: Headless,
    rounding: Rounding,
    cloths: Vec<ClothId>,
    what: &'static str,
}

/// Does the same with both engines.
macro_rules! both {
    ($twins:expr, |$engine:ident| $body:expr) => {{
        let twins: &mut Twins = $twins;
        let of_mirror = {
            let $engine = &mut twins.mirror;
            $body
        };
        let of_gpu = {
            let $engine = &mut twins.gpu;
            $body
        };
        assert_eq!(of_mirror, of_gpu, "{}", twins.what);
        of_mirror
    }};
}

impl Twins {
    fn new(gpu: Headless, rounding: Rounding, cloths: &[Cloth], colliders: &[Collider]) -> Self {
        let mut mirror = ReferenceEngine::new();
        mirror.set_cloth_contact_solver(settings()).unwrap();
        let mut it = Self { mirror, gpu, rounding, cloths: Vec::new(), what: "" };
        it.gpu.set_cloth_contact_solver(settings()).unwrap();
        for cloth in cloths {
            let id = both!(&mut it, |engine| engine.add(cloth.clone()).unwrap());
            it.cloths.push(id);
        }
        for collider in colliders {
            both!(&mut it, |engine| engine.colliders_mut().add(collider.clone()).unwrap());
        }
        it
    }

    /// Some frames, after which both have the same particles.
    fn run(&mut self, what: &'static str, frames: usize, frame: Frame) -> Result<(), String> {
        self.what = what;
        for _ in 0..frames {
            both!(self, |engine| engine.step(&frame).unwrap());
        }
        self.compare()
    }

    /// Whether both have the same particles and reports, or where products may be fused nothing is crossed.
    fn compare(&mut self) -> Result<(), String> {
        let what = self.what;
        let [mirror, gpu] = [self.mirror.state().unwrap(), self.gpu.state().unwrap()];
        if self.rounding == Rounding::MayFuse {
            return match self.crossings() {
                0 => Ok(()),
                crossings => Err(format!("{what}: {crossings} crossings")),
            };
        }
        for &id in &self.cloths {
            let rows = [&gpu, &mirror].map(|it| [it.current(id), it.previous(id)].concat());
            same_bits(what, Particle::rows(&rows[0]), Particle::rows(&rows[1]))
                .map_err(|difference| format!("{difference:?}"))?;
            // The GPU says where the cloth was that something was too fast for, not what was.
            let [gpu, mirror] = [&gpu, &mirror].map(|it| {
                let report = it.contact_report(id);
                let hurried = report.hurried.map(|it| Trouble { position_m: [0.0; 3], ..it });
                ContactReport { hurried, ..report }
            });
            if gpu != mirror {
                return Err(format!("{what}: {gpu:?} on the GPU, {mirror:?} in the mirror"));
            }
        }
        Ok(())
    }

    /// What a mirror finds crossed in these particles of all cloths before its first frame, with colliders where they are now.
    fn start_reports(&self, state: &State) -> Vec<ContactReport> {
        let mut mirror = ReferenceEngine::new();
        mirror.set_cloth_contact_solver(settings()).unwrap();
        let add = |&id: &ClothId| {
            let now = self.gpu.cloth(id).unwrap();
            let new = mirror.add(now.cloth().clone()).unwrap();
            mirror.cloth_mut(new).unwrap().teleport_to(now.pose()).unwrap();
            mirror.set_particles(new, state.current(id), ParticleMotion::Rest).unwrap();
            new
        };
        let ids: Vec<_> = self.cloths.iter().map(add).collect();
        for (_, collider) in self.gpu.colliders().iter() {
            mirror.colliders_mut().add(collider.clone()).unwrap();
        }
        mirror.step(&FRAME).unwrap();
        let state = mirror.state().unwrap();
        ids.iter().map(|&id| state.contact_report(id)).collect()
    }

    /// Edges of cloths through triangles of cloths on the device.
    fn crossings(&mut self) -> usize {
        let (mut rows, mut triangles, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        let state = self.gpu.state().unwrap();
        for &id in &self.cloths {
            let base = rows.len() as u32;
            rows.extend(state.current(id).iter().map(|it| it.position));
            let fabric = &self.gpu.cloth(id).unwrap().cloth().fabric;
            triangles.extend(fabric.triangles.iter().map(|it| it.map(|corner| base + corner)));
            ends.push(rows.len());
        }
        EntanglementCounter::new(&rows, &triangles, &ends).crossings(&rows)
    }
}

/// Scenes on every device.
fn twins(cloths: &[Cloth], colliders: &[Collider]) -> impl Iterator<Item = Twins> {
    let options = EngineOptions { frames_per_submit: 4, ..EngineOptions::default() };
    let all: Vec<_> = devices(&options).collect();
    all.into_iter().map(move |(gpu, rounding)| Twins::new(gpu, rounding, cloths, colliders))
}

fn stack() -> Vec<Cloth> {
    vec![
        sheet([0.0, 0.25, 0.0], 6, false),
        sheet([0.01, 0.29, 0.02], 6, false),
        sheet([0.3, 0.3, 0.0], 4, true),
    ]
}

/// A scene through everything that an application may do between frames.
fn story(it: &mut Twins) -> Result<(), String> {
    let none = ClothContactSolver::default();
    both!(it, |engine| engine.set_cloth_contact_solver(none).unwrap());
    it.run("particles that meet", 2, FRAME)?;
    both!(it, |engine| engine.set_cloth_contact_solver(settings()).unwrap());
    it.run("triangles again", 2, FRAME)?;
    it.run("falling", 6, FRAME)?;
    assert!(it.mirror.triangle_contact().report.contacts > 0, "nothing touches after the fall");
    it.run("a longer step", 2, Frame { dt: 1.0 / 40.0 })?;
    it.run("a frame without time", 1, Frame { dt: 0.0 })?;

    let ball = it.mirror.colliders().iter().nth(1).unwrap().0;
    both!(it, |engine| engine.colliders_mut().set_pose(ball, at([0.005, 0.01, 0.0])).unwrap());
    it.run("a collider that moves", 2, FRAME)?;
    let rotated = it.cloths[1];
    let rotation = [0.0, 0.1_f32.sin(), 0.0, 0.1_f32.cos()];
    let space = Pose { translation: [0.01, 0.0, 0.0], rotation };
    both!(it, |engine| engine.cloth_mut(rotated).unwrap().set_pose(space).unwrap());
    it.run("a local space that moves", 2, FRAME)?;
    both!(it, |engine| {
        engine.cloth_mut(rotated).unwrap().teleport([0.03, 0.0, 0.0]).unwrap();
    });
    it.run("a local space elsewhere", 1, FRAME)?;

    let last = it.cloths.remove(2);
    both!(it, |engine| engine.remove(last).unwrap());
    it.run("a cloth less", 2, FRAME)?;
    let new = sheet([0.0, 0.45, 0.0], 5, false);
    let id = both!(it, |engine| engine.add(new.clone()).unwrap());
    it.cloths.push(id);
    it.run("a cloth more", 3, FRAME)?;
    let heavy = RigidBody { inverse_mass: 0.5, center: [0.055, 0.11, 0.0], ..RigidBody::default() };
    let body = both!(it, |engine| engine.colliders_mut().add_body(heavy).unwrap());
    both!(it, |engine| engine.colliders_mut().attach(ball, Some(body)).unwrap());
    it.run("a rigid body", 2, FRAME)?;
    let [of_mirror, of_gpu] =
        [it.mirror.state().unwrap(), it.gpu.state().unwrap()].map(|state| state.body_impulse(body));
    assert!(of_mirror.contact_count > 0, "nothing touches the body");
    assert!(it.rounding == Rounding::MayFuse || of_mirror == of_gpu, "{of_mirror:?}, {of_gpu:?}");
    both!(it, |engine| engine.colliders_mut().remove(ball).unwrap());
    it.run("a collider less", 2, FRAME)?;

    let slick = it.cloths[0];
    both!(it, |engine| {
        let mut config = engine.cloth(slick).unwrap().cloth().config.clone();
        config.contact.friction = 0.0;
        engine.cloth_mut(slick).unwrap().set_config(config).unwrap();
    });
    it.run("other friction", 2, FRAME)?;

    let particles = it.mirror.current(slick).to_vec();
    both!(it, |engine| engine.set_particles(slick, &particles, ParticleMotion::Rest).unwrap());
    it.run("particles that are set", 2, FRAME)?;
    both!(it, |engine| engine.reset(id).unwrap());
    it.run("a cloth that is reset", 2, FRAME)?;
    Ok(())
}

#[test]
fn frames_are_those_of_the_mirror_whatever_comes_and_goes() {
    for mut it in twins(&stack(), &colliders()) {
        assert_eq!(story(&mut it), Ok(()));
    }
}

#[test]
fn a_fault_in_a_pass_that_only_frames_have_is_seen() {
    let faults = [
        (
            Kernel::TriangleGatherPositions,
            "triangle.cloth_begin + body",
            "body",
            "space that moves",
        ),
        (Kernel::TriangleRemapMultipliers, "held.rank.y = second;", "", "a cloth less"),
        (Kernel::TriangleUpdateReports, "frames += triangle.is_first", "frames += 1u", "frames: "),
    ];
    if is_gpu_off() {
        return;
    }
    for (kernel, right, wrong, seen_in) in faults {
        let text = compose(&kernel.path()).unwrap().text;
        assert!(text.contains(right), "{kernel:?} has no `{right}`");
        let shader_texts = [(kernel, text.replace(right, wrong))].into();
        let gpu = headless(EngineOptions { shader_texts, ..EngineOptions::default() }).unwrap();
        let seen = story(&mut Twins::new(gpu, Rounding::AsMirror, &stack(), &colliders()));
        let is_seen = seen.as_ref().is_err_and(|seen| seen.contains(seen_in));
        assert!(is_seen, "`{wrong}` in {kernel:?}: {seen:?}");
    }
}

#[test]
fn snapshots_go_on_as_if_nothing_had_been_on_either_backend() {
    for mut it in twins(&stack()[..2], &colliders()).filter(|it| it.rounding == Rounding::AsMirror)
    {
        it.run("falling", 10, FRAME).unwrap();
        assert!(it.mirror.triangle_contact().report.contacts > 0);
        let [of_mirror, of_gpu] = [it.mirror.save().unwrap(), it.gpu.save().unwrap()];
        assert!(!of_gpu.multipliers().pairs.is_empty());
        assert_eq!(of_mirror.multipliers(), of_gpu.multipliers());
        it.run("gone on", 2, FRAME).unwrap();
        let after: Vec<Particle> =
            it.cloths.iter().flat_map(|&id| it.mirror.current(id).to_vec()).collect();
        it.cloths = it.mirror.restore(&of_gpu).unwrap();
        let ids = it.gpu.restore(&of_mirror).unwrap();
        let again = it.gpu.save().unwrap();
        assert_eq!(again.multipliers(), of_mirror.multipliers(), "saved before a frame");
        for _ in 0..2 {
            it.mirror.step(&FRAME).unwrap();
            it.gpu.step(&FRAME).unwrap();
        }
        let state = it.gpu.state().unwrap();
        let restored: Vec<Particle> =
            ids.iter().flat_map(|&id| state.current(id).to_vec()).collect();
        same_bits("gpu", Particle::rows(&restored), Particle::rows(&after)).unwrap();
        let restored: Vec<Particle> =
            it.cloths.iter().flat_map(|&id| it.mirror.current(id).to_vec()).collect();
        same_bits("mirror", Particle::rows(&restored), Particle::rows(&after)).unwrap();
    }
}

#[test]
fn frames_that_are_recorded_together_are_those_that_are_stepped_one_by_one() {
    for mut it in twins(&stack()[..1], &colliders()) {
        let ball = it.mirror.colliders().iter().nth(1).unwrap().0;
        let mut encoder =
            it.gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        it.what = "recorded together";
        for k in 0..4 {
            let pose = at([0.0, 0.04 * k as f32, 0.0]);
            both!(&mut it, |engine| engine.colliders_mut().set_pose(ball, pose).unwrap());
            if k == 2 {
                let new = sheet([0.0, 0.4, 0.0], 4, false);
                let id = both!(&mut it, |engine| engine.add(new.clone()).unwrap());
                it.cloths.push(id);
            }
            it.mirror.step(&FRAME).unwrap();
            it.gpu.engine_mut().encode_frame(&mut encoder, &FRAME).unwrap();
        }
        it.gpu.queue().submit([encoder.finish()]);
        it.compare().unwrap();
    }
}

#[test]
fn pairs_without_room_are_reported_and_find_room_in_the_next_frame() {
    // Four times as thick as its edges are long: everything is near everything.
    let mut cloth = sheet([0.0, 0.3, 0.0], 8, false);
    cloth.particles.iter_mut().for_each(|it| {
        let [x, y, z] = it.position;
        it.position = [0.1 * x, y, 0.1 * z];
    });
    for mut it in twins(&[cloth], &[]) {
        let id = it.cloths[0];
        it.gpu.step(&FRAME).unwrap();
        let report = it.gpu.read(id).unwrap().contact_report(id);
        let trouble = report.unlisted.expect("no room");
        assert_eq!((trouble.first_frame, trouble.last_frame), (1, 1));
        assert!(trouble.most_pairs > 32 * 81, "{trouble:?}");
        assert!((trouble.position_m[1] - 0.3).abs() < 0.1, "{trouble:?}");
        it.gpu.step(&FRAME).unwrap();
        it.gpu.step(&FRAME).unwrap();
        let after = it.gpu.read(id).unwrap().contact_report(id);
        assert_eq!(after.unlisted, Some(trouble), "there is room now");
        assert_eq!(after.frames, 3);
    }
}

/// In which frame a ball was last too fast for a sheet in the mirror and on the GPU, of two.
fn hurry(mut it: Twins) -> [Option<u32>; 2] {
    let ball = it.mirror.colliders().iter().next().unwrap().0;
    both!(&mut it, |engine| engine.colliders_mut().set_pose(ball, at([0.3, 0.6, 0.0])).unwrap());
    both!(&mut it, |engine| engine.step(&FRAME).unwrap());
    // The pinned corner is in its path.
    both!(&mut it, |engine| engine.colliders_mut().set_pose(ball, at([0.15, -0.3, -0.1])).unwrap());
    both!(&mut it, |engine| engine.step(&FRAME).unwrap());
    let id = it.cloths[0];
    let reports =
        [it.mirror.read(id).unwrap(), it.gpu.read(id).unwrap()].map(|it| it.contact_report(id));
    reports.map(|report| Some(report.hurried?.last_frame))
}

#[test]
fn what_is_too_fast_is_reported_as_in_the_mirror() {
    let (cloths, colliders) = (&stack()[2..], &colliders()[1..2]);
    for it in twins(cloths, colliders) {
        assert_eq!(hurry(it), [Some(2); 2]);
    }
    if !is_gpu_off() {
        let kernel = Kernel::TriangleFindForcedMoves;
        let text = compose(&kernel.path()).unwrap().text;
        let shader_texts = [(kernel, text.replace("(longest & 0xfffffffcu)", "0u"))].into();
        let gpu = headless(EngineOptions { shader_texts, ..EngineOptions::default() }).unwrap();
        let it = Twins::new(gpu, Rounding::AsMirror, cloths, colliders);
        assert_eq!(hurry(it), [Some(2), None], "a fault is seen");
    }
}

/// Whether reads count what starts crossed, mostly with this partner, as the mirror does.
fn counts_as_the_mirror(
    what: &str,
    cloths: &[Cloth],
    colliders: &[Collider],
    with: ContactPartner,
) {
    for mut it in twins(cloths, colliders) {
        // A local space that is not the world.
        let rotation = [0.0, 0.6, 0.0, 0.8];
        let space = Pose { translation: [0.01, 0.02, 0.0], rotation };
        let first = it.cloths[0];
        if with == ContactPartner::Itself {
            it.gpu.cloth_mut(first).unwrap().teleport_to(space).unwrap();
        }
        for frame in 1..=2 {
            it.gpu.step(&FRAME).unwrap();
            let state = it.gpu.state().unwrap();
            for (&id, expected) in it.cloths.iter().zip(it.start_reports(&state)) {
                let found = state.contact_report(id);
                assert!(found.crossings > 4, "{what}: {found:?}");
                assert_eq!(found.crossings, expected.start_crossings, "{what}");
                let crossed = found.crossed.expect("it is crossed");
                assert_eq!((crossed.first_frame, crossed.last_frame), (1, frame), "{what}");
                assert_eq!(crossed.partner, with, "{what}");
                let expected = expected.crossed.expect("it is crossed");
                if frame == 1 && expected.most_pairs == found.crossings {
                    assert_eq!(crossed.position_m, expected.position_m, "{what}");
                }
                // One cloth alone is read as with all others.
                assert_eq!(it.gpu.read(id).unwrap().contact_report(id), found, "{what}");
            }
        }
    }
}

#[test]
fn cloth_through_cloth_is_counted_when_it_is_read_as_the_mirror_counts_it() {
    let sheets = [level(false), upright(0.0, false)];
    counts_as_the_mirror("two sheets", &sheets, &[], ContactPartner::OtherCloth);
    // x = t^3 - t and y = t^2 cross themselves where t is 1 and -1.
    let curve = |u: f32, v: f32| {
        let t = 9.0 * u;
        [0.2 * (t * t * t - t), 0.1 * t * t, v + 0.1 * u]
    };
    counts_as_the_mirror("itself", &[bent(curve, false)], &[], ContactPartner::Itself);
}

#[test]
fn cloth_through_colliders_is_counted_when_it_is_read_as_the_mirror_counts_it() {
    let hull = cuboid([0.01, -0.06, 0.013]);
    counts_as_the_mirror("a box", &[level(false)], &[hull], ContactPartner::Collider);
    let mesh = tetrahedron([-0.04, -0.06, -0.03]);
    counts_as_the_mirror("a mesh", &[level(false)], &[mesh], ContactPartner::Collider);
}

#[test]
fn what_crosses_nothing_is_reported_by_nobody() {
    // Apart; and through a collider, another sheet and itself, which it does not meet.
    let mut blind = [level(false), upright(0.0, false)];
    for cloth in &mut blind {
        cloth.config.cloth_collision.distance = Some(0.0);
        cloth.config.self_collision.distance = Some(0.0);
        cloth.collider_groups.filter = 0;
    }
    let apart = [level(false), upright(0.2, false)];
    let ball = Shape::from(Sphere { center: [-0.05, -0.02, 0.0], radius: 0.05 }).into();
    for (cloths, colliders) in [(&blind, [cuboid([0.01, -0.06, 0.013])]), (&apart, [ball])] {
        for mut it in twins(cloths, &colliders) {
            both!(&mut it, |engine| engine.step(&FRAME).unwrap());
            if it.rounding == Rounding::AsMirror {
                it.compare().unwrap();
            }
            let state = it.gpu.state().unwrap();
            for &id in &it.cloths {
                let report = state.contact_report(id);
                assert_eq!((report.frames, report.crossings, report.crossed), (1, 0, None));
            }
        }
    }
}

#[test]
fn a_collider_is_crossed_where_it_is_after_the_frame_that_was_read() {
    for mut it in twins(&[level(true)], &[cuboid([0.01, 0.1, 0.013])]) {
        let (id, hull) = (it.cloths[0], it.gpu.colliders().iter().next().unwrap().0);
        let read = |it: &mut Twins| it.gpu.read(id).unwrap().contact_report(id);
        it.gpu.step(&FRAME).unwrap();
        assert_eq!(read(&mut it).crossed, None);
        // Pins keep the sheet where it is.
        it.gpu.colliders_mut().set_pose(hull, at([0.0, -0.16, 0.0])).unwrap();
        assert_eq!(read(&mut it).crossed, None, "it has not moved yet");
        it.gpu.step(&FRAME).unwrap();
        let state = it.gpu.state().unwrap();
        let report = state.contact_report(id);
        assert_eq!(report.crossings, it.start_reports(&state)[0].start_crossings);
        assert!(report.crossings > 4, "{report:?}");
        it.gpu.colliders_mut().set_pose(hull, at([0.0, 0.2, 0.0])).unwrap();
        it.gpu.step(&FRAME).unwrap();
        it.gpu.step(&FRAME).unwrap();
        let after = read(&mut it);
        assert_eq!((after.crossings, after.crossed), (0, report.crossed));
        assert_eq!(after.crossed.map(|it| (it.first_frame, it.last_frame)), Some((2, 2)));
    }
}

#[test]
fn reads_on_the_way_are_of_their_frame_whatever_comes_and_goes_meanwhile() {
    for mut it in twins(&[level(true), upright(0.0, true)], &[]) {
        let [first, second] = [it.cloths[0], it.cloths[1]];
        let mut reads = Vec::new();
        for _ in 0..3 {
            it.gpu.step(&FRAME).unwrap();
            reads.push(it.gpu.begin_read(&[first]).unwrap());
        }
        it.gpu.remove(second).unwrap();
        reads.push(it.gpu.begin_read(&[first]).unwrap());
        it.gpu.step(&FRAME).unwrap();
        reads.push(it.gpu.begin_read(&[first]).unwrap());
        it.gpu.set_cloth_contact_solver(ClothContactSolver::default()).unwrap();
        it.gpu.step(&FRAME).unwrap();
        reads.push(it.gpu.begin_read(&[first]).unwrap());
        it.gpu.set_cloth_contact_solver(settings()).unwrap();
        it.gpu.reset(first).unwrap();
        reads.push(it.gpu.begin_read(&[first]).unwrap());
        it.gpu.step(&FRAME).unwrap();
        it.gpu.wait().unwrap();
        let mut poll = |k: usize| {
            let state = reads[k].poll().unwrap().expect("it was waited for");
            let report = state.contact_report(first);
            let frames = report.crossed.map(|it| [it.first_frame, it.last_frame]);
            (report.frames, report.crossings, frames)
        };
        let (frame, count, frames) = poll(1);
        assert!(frame == 2 && count > 4 && frames == Some([2, 2]), "{frame} {count} {frames:?}");
        assert_eq!(poll(2), (3, count, Some([2, 3])));
        assert_eq!(poll(4), (4, 0, Some([2, 3])), "the other cloth is gone");
        assert_eq!(poll(0), (1, count, Some([1, 3])), "an older one came later");
        assert_eq!(poll(5), (4, 0, Some([1, 3])), "after a frame without contact of triangles");
        assert_eq!(poll(3), (3, 0, Some([1, 3])), "the other cloth was just removed");
        assert_eq!(poll(6), (0, 0, None), "after a reset");
        let report = it.gpu.read(first).unwrap().contact_report(first);
        assert_eq!((report.frames, report.crossings, report.crossed), (1, 0, None));
    }
}

#[test]
fn particles_that_are_set_or_move_without_contact_of_triangles_are_not_counted() {
    for mut it in twins(&[level(true), upright(0.0, true)], &[]) {
        let id = it.cloths[0];
        let read = |it: &mut Twins| {
            let report = it.gpu.read(id).unwrap().contact_report(id);
            (report.frames, report.crossed.map_or(0, |it| it.last_frame))
        };
        assert_eq!(read(&mut it), (0, 0), "before the first frame");
        it.gpu.step(&FRAME).unwrap();
        it.gpu.step(&Frame { dt: 0.0 }).unwrap();
        assert_eq!(read(&mut it), (1, 1));
        it.gpu.set_cloth_contact_solver(ClothContactSolver::default()).unwrap();
        it.gpu.step(&FRAME).unwrap();
        assert_eq!(read(&mut it), (1, 1), "particles that meet");
        it.gpu.set_cloth_contact_solver(settings()).unwrap();
        it.gpu.step(&FRAME).unwrap();
        let particles = it.gpu.state().unwrap().current(id).to_vec();
        let moved: Vec<_> = particles
            .iter()
            .map(|&Particle { position: [x, y, z], inverse_mass }| Particle {
                position: [x, y + 1.0, z],
                inverse_mass,
            })
            .collect();
        it.gpu.set_particles(id, &moved, ParticleMotion::Rest).unwrap();
        let report = it.gpu.read(id).unwrap().contact_report(id);
        assert!(report.crossings > 4, "those after the last frame: {report:?}");
        it.gpu.step(&FRAME).unwrap();
        let report = it.gpu.read(id).unwrap().contact_report(id);
        assert_eq!((report.frames, report.crossings), (3, 0));
    }
}
