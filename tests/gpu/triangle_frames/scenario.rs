//! Frames with every change that an application may make between them: the GPU follows the mirror.

use poplin_gpu::{EngineOptions, wgpu};
use poplin_host::{Engine, ParticleMotion};
use poplin_model::{ClothContactSolver, Particle, Pose, RigidBody};
use poplin_shaders::{Kernel, compose};
use poplin_testkit::adapter::{Rounding, headless_as_mirror};
use poplin_testkit::compare::same_bits;
use poplin_testkit::crossing_scene::at;

use super::{FRAME, Twins, both, colliders, settings, sheet, stack, twins};

/// Runs a scene through every change that an application may make between frames.
fn scenario(it: &mut Twins) -> Result<(), String> {
    let none = ClothContactSolver::default();
    both!(it, |engine| engine.set_cloth_contact_solver(none).unwrap());
    it.run("particle contact", 2, FRAME)?;
    both!(it, |engine| engine.set_cloth_contact_solver(settings()).unwrap());
    it.run("triangle contact again", 2, FRAME)?;
    it.run("falling", 6, FRAME)?;
    assert!(it.mirror.triangle_contact().report.contacts > 0, "nothing touches after the fall");
    it.run("a longer step", 2, 1.0 / 40.0)?;
    it.run("a frame of zero duration", 1, 0.0)?;

    let ball = it.mirror.colliders().iter().nth(1).unwrap().0;
    both!(it, |engine| engine.colliders_mut().set_pose(ball, at([0.005, 0.01, 0.0])).unwrap());
    it.run("a collider that moves", 2, FRAME)?;
    let round: Vec<_> = it.mirror.colliders().iter().take(3).map(|(id, _)| id).collect();
    for id in round {
        let now = it.mirror.colliders().get(id).unwrap().pose;
        let turned = Pose { rotation: [0.02, 0.03, -0.01, 1.0], ..now };
        both!(it, |engine| engine.colliders_mut().set_pose(id, turned).unwrap());
    }
    it.run("colliders that turn", 2, FRAME)?;
    let rotated = it.cloths[1];
    let rotation = [0.0, 0.1_f32.sin(), 0.0, 0.1_f32.cos()];
    let space = Pose { translation: [0.01, 0.0, 0.0], rotation };
    both!(it, |engine| engine.cloth_mut(rotated).unwrap().set_pose(space).unwrap());
    it.run("a local space that moves", 2, FRAME)?;
    both!(it, |engine| {
        engine.cloth_mut(rotated).unwrap().teleport([0.03, 0.0, 0.0]).unwrap();
    });
    it.run("a local space that teleports", 1, FRAME)?;

    let last = it.cloths.remove(2);
    both!(it, |engine| engine.remove(last).unwrap());
    it.run("a removed cloth", 2, FRAME)?;
    let new = sheet([0.0, 0.45, 0.0], 5, false);
    let id = both!(it, |engine| engine.add(new.clone()).unwrap());
    it.cloths.push(id);
    it.run("an added cloth", 3, FRAME)?;
    let heavy = RigidBody { inverse_mass: 0.5, center: [0.055, 0.11, 0.0], ..RigidBody::default() };
    let body = both!(it, |engine| engine.colliders_mut().add_body(heavy).unwrap());
    both!(it, |engine| engine.colliders_mut().attach(ball, Some(body)).unwrap());
    it.run("a rigid body", 2, FRAME)?;
    let [of_mirror, of_gpu] =
        [it.mirror.state().unwrap(), it.gpu.state().unwrap()].map(|state| state.body_impulse(body));
    assert!(of_mirror.contact_count > 0, "nothing touches the body");
    assert!(it.rounding == Rounding::MayFuse || of_mirror == of_gpu, "{of_mirror:?}, {of_gpu:?}");
    both!(it, |engine| engine.colliders_mut().remove(ball).unwrap());
    it.run("a removed collider", 2, FRAME)?;

    let slick = it.cloths[0];
    both!(it, |engine| {
        let mut config = engine.cloth(slick).unwrap().desc().config.clone();
        config.contact.friction = 0.0;
        engine.cloth_mut(slick).unwrap().set_config(config).unwrap();
    });
    it.run("changed friction", 2, FRAME)?;

    let particles = it.mirror.current(slick).to_vec();
    both!(it, |engine| engine.set_particles(slick, &particles, ParticleMotion::Rest).unwrap());
    it.run("particles set by the application", 2, FRAME)?;
    both!(it, |engine| engine.reset(id).unwrap());
    it.run("a cloth that is reset", 2, FRAME)?;
    Ok(())
}

#[test]
fn frames_equal_the_mirror_through_all_changes() {
    for mut it in twins(&stack(), &colliders()) {
        assert_eq!(scenario(&mut it), Ok(()));
    }
}

#[test]
fn a_fault_in_a_pass_of_whole_frames_is_seen() {
    let faults = [
        (
            Kernel::TriangleGatherPositions,
            "triangle.cloth_begin + body",
            "body",
            "space that moves",
        ),
        (
            Kernel::TriangleSetTargets,
            "load_row(TRIANGLE_SPINS, i) * triangle.slice_part",
            "load_row(TRIANGLE_SPINS, i)",
            "colliders that turn",
        ),
        (Kernel::TriangleRemapMultipliers, "held.rank.y = second;", "", "a removed cloth"),
        (Kernel::TriangleUpdateReports, "frames += triangle.is_first", "frames += 1u", "frames: "),
    ];
    // `seen_in` is the part of the scenario, or of the report, that has to differ first.
    for (kernel, right, wrong, seen_in) in faults {
        let text = compose(&kernel.path()).unwrap().text;
        assert!(text.contains(right), "{kernel:?} has no `{right}`");
        let shader_texts = [(kernel, text.replace(right, wrong))].into();
        let options = EngineOptions { shader_texts, ..EngineOptions::default() };
        let Some(gpu) = headless_as_mirror(options) else { return };
        let seen = scenario(&mut Twins::new(gpu, Rounding::AsMirror, &stack(), &colliders()));
        let is_seen = seen.as_ref().is_err_and(|seen| seen.contains(seen_in));
        assert!(is_seen, "`{wrong}` in {kernel:?}: {seen:?}");
    }
}

#[test]
fn snapshots_of_each_backend_continue_on_the_other() {
    for mut it in twins(&stack()[..2], &colliders()).filter(|it| it.rounding == Rounding::AsMirror)
    {
        it.run("falling", 10, FRAME).unwrap();
        assert!(it.mirror.triangle_contact().report.contacts > 0);
        let [of_mirror, of_gpu] = [it.mirror.save().unwrap(), it.gpu.save().unwrap()];
        assert!(!of_gpu.multipliers().pairs.is_empty());
        assert_eq!(of_mirror.multipliers(), of_gpu.multipliers());
        it.run("continued", 2, FRAME).unwrap();
        let after: Vec<Particle> =
            it.cloths.iter().flat_map(|&id| it.mirror.current(id).to_vec()).collect();
        // Each backend restores the snapshot of the other one.
        it.cloths = it.mirror.restore(&of_gpu).unwrap();
        let ids = it.gpu.restore(&of_mirror).unwrap();
        let again = it.gpu.save().unwrap();
        assert_eq!(again.multipliers(), of_mirror.multipliers(), "saved before a frame");
        for _ in 0..2 {
            it.mirror.step(FRAME).unwrap();
            it.gpu.step(FRAME).unwrap();
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
fn frames_recorded_in_one_encoder_equal_single_steps() {
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
            it.mirror.step(FRAME).unwrap();
            it.gpu.engine_mut().encode_frame(&mut encoder, FRAME).unwrap();
        }
        it.gpu.queue().submit([encoder.finish()]);
        it.compare().unwrap();
    }
}
