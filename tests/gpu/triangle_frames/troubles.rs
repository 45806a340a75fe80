//! Reports of a full candidate list and of moves that are too fast.

use poplin_gpu::EngineOptions;
use poplin_host::Engine;
use poplin_shaders::{Kernel, compose};
use poplin_testkit::adapter::{Rounding, headless};
use poplin_testkit::crossing_scene::at;
use poplin_testkit::skip::is_gpu_off;

use super::{FRAME, Twins, both, colliders, sheet, stack, twins};

#[test]
fn unlisted_pairs_are_reported_and_fit_in_the_next_frame() {
    // Shrunk until the thickness is four edge lengths: every pair is a candidate.
    let mut cloth = sheet([0.0, 0.3, 0.0], 8, false);
    cloth.particles.iter_mut().for_each(|it| {
        let [x, y, z] = it.position;
        it.position = [0.1 * x, y, 0.1 * z];
    });
    for mut it in twins(&[cloth], &[]) {
        let id = it.cloths[0];
        it.gpu.step(FRAME).unwrap();
        let report = it.gpu.read(id).unwrap().contact_report(id);
        let trouble = report.unlisted.expect("the list is too short");
        assert_eq!((trouble.first_frame, trouble.last_frame), (1, 1));
        assert!(trouble.most_pairs > 32 * 81, "{trouble:?}");
        assert!((trouble.position_m[1] - 0.3).abs() < 0.1, "{trouble:?}");
        it.gpu.step(FRAME).unwrap();
        it.gpu.step(FRAME).unwrap();
        let after = it.gpu.read(id).unwrap().contact_report(id);
        assert_eq!(after.unlisted, Some(trouble), "the list has grown");
        assert_eq!(after.frames, 3);
    }
}

/// Runs two frames in the second of which a ball moves too fast for a sheet; returns the last frame
/// with such a report in the mirror and on the GPU.
fn hurry(mut it: Twins) -> [Option<u32>; 2] {
    let ball = it.mirror.colliders().iter().next().unwrap().0;
    both!(&mut it, |engine| engine.colliders_mut().set_pose(ball, at([0.3, 0.6, 0.0])).unwrap());
    both!(&mut it, |engine| engine.step(FRAME).unwrap());
    // The pinned corner is in the path of the ball and cannot give way.
    both!(&mut it, |engine| engine.colliders_mut().set_pose(ball, at([0.15, -0.3, -0.1])).unwrap());
    both!(&mut it, |engine| engine.step(FRAME).unwrap());
    let id = it.cloths[0];
    let reports =
        [it.mirror.read(id).unwrap(), it.gpu.read(id).unwrap()].map(|it| it.contact_report(id));
    reports.map(|report| Some(report.hurried?.last_frame))
}

#[test]
fn moves_that_are_too_fast_are_reported_as_in_the_mirror() {
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
