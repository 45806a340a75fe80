//! Counts of edges through triangles in reports, as the mirror counts them.

use poplin_host::{Engine, ParticleMotion};
use poplin_model::{
    ClothContactSolver, ClothDesc, Collider, ContactPartner, Parallelepiped, Particle, Pose, Shape,
    Sphere, TriangleMesh,
};
use poplin_testkit::adapter::Rounding;
use poplin_testkit::crossing_scene::at;

use super::{FRAME, Twins, both, settings, sheet, twins};

/// Returns a weightless sheet of 6 x 6 particles at `at(x, z)` for x and z from -0.15 to 0.15 m.
fn bent(at: impl Fn(f32, f32) -> [f32; 3], is_pinned: bool) -> ClothDesc {
    let mut cloth = sheet([0.0; 3], 6, false);
    for it in &mut cloth.particles {
        let [x, _, z] = it.position;
        it.position = at(x, z);
        it.inverse_mass = if is_pinned { 0.0 } else { 100.0 };
    }
    cloth.config.gravity = [0.0; 3];
    cloth
}

/// Returns an upright sheet, askew so that no vertex is in a plane of another sheet.
fn upright(x: f32, is_pinned: bool) -> ClothDesc {
    bent(move |u, v| [x + 0.1 * v + 0.003, u + 0.007, v + 0.011], is_pinned)
}

/// Returns a nearly level sheet.
fn level(is_pinned: bool) -> ClothDesc {
    bent(|u, v| [u, 0.02 * u, v], is_pinned)
}

/// Returns a box with this lowest corner.
fn cuboid(corner: [f32; 3]) -> Collider {
    let edges = [[0.12, 0.0, 0.0], [0.0, 0.13, 0.0], [0.0, 0.0, 0.14]];
    Shape::from(Parallelepiped { corner, edges }).into()
}

/// Returns a tetrahedron with this corner as a triangle mesh.
fn tetrahedron([x, y, z]: [f32; 3]) -> Collider {
    let vertices = [[x, y, z], [x + 0.2, y, z], [x, y, z + 0.2], [x, y + 0.2, z]];
    let triangles = [[0, 1, 2], [0, 3, 1], [1, 3, 2], [2, 3, 0]];
    let mesh = TriangleMesh { vertices: vertices.into(), triangles: triangles.to_vec().into() };
    Shape::TriangleMesh(mesh).into()
}

/// Asserts that reads count the same initial crossings as the mirror, mostly with this partner.
fn counts_as_the_mirror(
    what: &str,
    cloths: &[ClothDesc],
    colliders: &[Collider],
    with: ContactPartner,
) {
    for mut it in twins(cloths, colliders) {
        // A local space that differs from the world.
        let rotation = [0.0, 0.6, 0.0, 0.8];
        let space = Pose { translation: [0.01, 0.02, 0.0], rotation };
        let first = it.cloths[0];
        if with == ContactPartner::Itself {
            it.gpu.cloth_mut(first).unwrap().teleport_to(space).unwrap();
        }
        for frame in 1..=2 {
            it.gpu.step(FRAME).unwrap();
            let state = it.gpu.state().unwrap();
            for (&id, expected) in it.cloths.iter().zip(it.start_reports(&state)) {
                let found = state.contact_report(id);
                assert!(found.crossings > 4, "{what}: {found:?}");
                assert_eq!(found.crossings, expected.start_crossings, "{what}");
                let crossed = found.crossed.expect("crossings are reported");
                assert_eq!((crossed.first_frame, crossed.last_frame), (1, frame), "{what}");
                assert_eq!(crossed.partner, with, "{what}");
                let expected = expected.crossed.expect("the mirror reports crossings");
                if frame == 1 && expected.most_pairs == found.crossings {
                    assert_eq!(crossed.position_m, expected.position_m, "{what}");
                }
                // A read of one cloth equals a read of all cloths.
                assert_eq!(it.gpu.read(id).unwrap().contact_report(id), found, "{what}");
            }
        }
    }
}

#[test]
fn reads_count_cloth_through_cloth_as_the_mirror_does() {
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
fn reads_count_cloth_through_colliders_as_the_mirror_does() {
    let hull = cuboid([0.01, -0.06, 0.013]);
    counts_as_the_mirror("a box", &[level(false)], &[hull], ContactPartner::Collider);
    let mesh = tetrahedron([-0.04, -0.06, -0.03]);
    counts_as_the_mirror("a mesh", &[level(false)], &[mesh], ContactPartner::Collider);
}

#[test]
fn cloth_that_crosses_nothing_it_collides_with_has_no_report() {
    // Sheets that are apart, and sheets through each other and a collider with collisions switched
    // off.
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
            both!(&mut it, |engine| engine.step(FRAME).unwrap());
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
fn crossings_use_collider_poses_of_the_frame_that_is_read() {
    for mut it in twins(&[level(true)], &[cuboid([0.01, 0.1, 0.013])]) {
        let (id, hull) = (it.cloths[0], it.gpu.colliders().iter().next().unwrap().0);
        let read = |it: &mut Twins| it.gpu.read(id).unwrap().contact_report(id);
        it.gpu.step(FRAME).unwrap();
        assert_eq!(read(&mut it).crossed, None);
        // Pins keep the sheet where it is.
        it.gpu.colliders_mut().set_pose(hull, at([0.0, -0.16, 0.0])).unwrap();
        assert_eq!(read(&mut it).crossed, None, "it has not moved yet");
        it.gpu.step(FRAME).unwrap();
        let state = it.gpu.state().unwrap();
        let report = state.contact_report(id);
        assert_eq!(report.crossings, it.start_reports(&state)[0].start_crossings);
        assert!(report.crossings > 4, "{report:?}");
        it.gpu.colliders_mut().set_pose(hull, at([0.0, 0.2, 0.0])).unwrap();
        it.gpu.step(FRAME).unwrap();
        it.gpu.step(FRAME).unwrap();
        let after = read(&mut it);
        assert_eq!((after.crossings, after.crossed), (0, report.crossed));
        assert_eq!(after.crossed.map(|it| (it.first_frame, it.last_frame)), Some((2, 2)));
    }
}

#[test]
fn pending_reads_keep_their_frame_through_later_changes() {
    for mut it in twins(&[level(true), upright(0.0, true)], &[]) {
        let [first, second] = [it.cloths[0], it.cloths[1]];
        let mut reads = Vec::new();
        for _ in 0..3 {
            it.gpu.step(FRAME).unwrap();
            reads.push(it.gpu.begin_read(&[first]).unwrap());
        }
        it.gpu.remove(second).unwrap();
        reads.push(it.gpu.begin_read(&[first]).unwrap());
        it.gpu.step(FRAME).unwrap();
        reads.push(it.gpu.begin_read(&[first]).unwrap());
        it.gpu.set_cloth_contact_solver(ClothContactSolver::default()).unwrap();
        it.gpu.step(FRAME).unwrap();
        reads.push(it.gpu.begin_read(&[first]).unwrap());
        it.gpu.set_cloth_contact_solver(settings()).unwrap();
        it.gpu.reset(first).unwrap();
        reads.push(it.gpu.begin_read(&[first]).unwrap());
        it.gpu.step(FRAME).unwrap();
        it.gpu.wait().unwrap();
        let mut poll = |k: usize| {
            let state = reads[k].poll().unwrap().expect("the device is idle");
            let report = state.contact_report(first);
            let frames = report.crossed.map(|it| [it.first_frame, it.last_frame]);
            (report.frames, report.crossings, frames)
        };
        let (frame, count, frames) = poll(1);
        assert!(frame == 2 && count > 4 && frames == Some([2, 2]), "{frame} {count} {frames:?}");
        assert_eq!(poll(2), (3, count, Some([2, 3])));
        assert_eq!(poll(4), (4, 0, Some([2, 3])), "the other cloth is gone");
        assert_eq!(poll(0), (1, count, Some([1, 3])), "polled after a newer read");
        assert_eq!(poll(5), (4, 0, Some([1, 3])), "after a frame without triangle contact");
        assert_eq!(poll(3), (3, 0, Some([1, 3])), "the other cloth was just removed");
        assert_eq!(poll(6), (0, 0, None), "after a reset");
        let report = it.gpu.read(first).unwrap().contact_report(first);
        assert_eq!((report.frames, report.crossings, report.crossed), (1, 0, None));
    }
}

#[test]
fn set_particles_and_particle_contact_frames_are_not_counted() {
    for mut it in twins(&[level(true), upright(0.0, true)], &[]) {
        let id = it.cloths[0];
        let read = |it: &mut Twins| {
            let report = it.gpu.read(id).unwrap().contact_report(id);
            (report.frames, report.crossed.map_or(0, |it| it.last_frame))
        };
        assert_eq!(read(&mut it), (0, 0), "before the first frame");
        it.gpu.step(FRAME).unwrap();
        it.gpu.step(0.0).unwrap();
        assert_eq!(read(&mut it), (1, 1));
        it.gpu.set_cloth_contact_solver(ClothContactSolver::default()).unwrap();
        it.gpu.step(FRAME).unwrap();
        assert_eq!(read(&mut it), (1, 1), "particle contact");
        it.gpu.set_cloth_contact_solver(settings()).unwrap();
        it.gpu.step(FRAME).unwrap();
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
        assert!(report.crossings > 4, "crossings after the last frame: {report:?}");
        it.gpu.step(FRAME).unwrap();
        let report = it.gpu.read(id).unwrap().contact_report(id);
        assert_eq!((report.frames, report.crossings), (3, 0));
    }
}
