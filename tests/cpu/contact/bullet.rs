//! Bullets shot through a sheet with continuous collision.

use std::sync::Arc;

use poplin::model::FiberSolver;
use poplin_measure::shape_arrays::ShapeArrays;
use poplin_testkit::nth_cloth;

use super::{Vec3, play, positions, sheet, simulation};

/// Radius of the bullets \[m\].
const RADIUS: f32 = 0.02;

/// Depth below the sheet at which the bullet's center stops \[m\]: particles in its path are then
/// pushed down by two radii. A taut sheet that is pushed much farther opens around a small bullet
/// at any speed, which is not a miss.
const DEPTH: f32 = 0.02;

/// Shape that is shot at the sheet.
#[derive(Debug, Clone, Copy)]
enum Bullet {
    Sphere,
    Capsule,
}

fn bullet(kind: Bullet, y: f32) -> ShapeArrays {
    match kind {
        Bullet::Sphere => {
            ShapeArrays { spheres: vec![[0.0, y, 0.0, RADIUS]], ..ShapeArrays::default() }
        }
        // The second end has half the radius.
        Bullet::Capsule => ShapeArrays {
            spheres: vec![[-0.05, y, 0.0, RADIUS], [0.05, y, 0.0, 0.5 * RADIUS]],
            capsules: vec![[0, 1]],
            ..ShapeArrays::default()
        },
    }
}

/// Tests whether a point is within `fraction` radii of the path of the bullet's axis.
fn is_in_tube(kind: Bullet, p: Vec3, fraction: f64) -> bool {
    let radius = f64::from(RADIUS) * fraction;
    match kind {
        Bullet::Sphere => p[0].hypot(p[2]) < radius,
        Bullet::Capsule => {
            let t = (p[0] + 0.05) / 0.1;
            (0.0..=1.0).contains(&t) && p[2].abs() < radius * (1.0 - 0.5 * t)
        }
    }
}

/// Number of free particles in the path of the bullet, and how many of them are above it in the
/// end. The bullet comes down on a pinned sheet at `speed` radii per frame and stops below it.
///
/// Solved edge by edge, a taut sheet stays on the bullet. Fibers solved as a whole pull so hard
/// that it opens, so that sheet is slack and iterates four times as often.
fn left_behind(
    kind: Bullet,
    speed: f32,
    is_continuous: bool,
    fiber_solver: FiberSolver,
) -> [usize; 2] {
    let count = 41;
    let pins = (0..count * count)
        .filter(|i| [0, count - 1].contains(&(i % count)) || [0, count - 1].contains(&(i / count)))
        .collect();
    let mut cloth = sheet(count, count, 0.4, pins);
    if fiber_solver == FiberSolver::SemiImplicit {
        Arc::make_mut(&mut cloth.fabric).scale_rest_lengths(1.04);
        cloth.config.solver.as_pbd_mut().unwrap().frequency = 1200.0;
    } else {
        cloth.config.solver.set_fiber_solver(Some(fiber_solver));
    }
    cloth.config.contact.continuous = is_continuous;
    cloth.config.gravity = [0.0; 3];
    cloth.config.damping = [0.5; 3];
    let step = speed * RADIUS;
    // The last frame ends DEPTH below the sheet; the bullet starts clear above it.
    let frames = ((DEPTH + 2.5 * RADIUS) / step).ceil();
    let at = |frame: f32| bullet(kind, -DEPTH + step * (frames - frame).max(0.0));
    cloth.colliders = at(0.0).to_set().unwrap();
    let tube: Vec<usize> = (0..cloth.particle_count())
        .filter(|&i| {
            is_in_tube(kind, [0, 1, 2].map(|k| f64::from(cloth.particles[i].position[k])), 0.75)
        })
        .collect();
    let mut simulation = simulation(cloth);
    for frame in 1..=frames as u32 {
        let set = simulation.cloth_mut(nth_cloth(0)).unwrap().colliders_mut();
        at(frame as f32).reach(set).unwrap();
        play(&mut simulation, 1);
    }
    play(&mut simulation, 5);
    let points = positions(&mut simulation);
    [tube.len(), tube.iter().filter(|&&i| points[i][1] > -f64::from(DEPTH)).count()]
}

#[test]
fn continuous_collision_leaves_no_particle_behind_a_fast_shape() {
    for kind in [Bullet::Sphere, Bullet::Capsule] {
        let mut discrete = Vec::new();
        let mut continuous = Vec::new();
        for speed in [1.0, 3.0, 10.0, 30.0, 100.0] {
            discrete.push(left_behind(kind, speed, false, FiberSolver::GaussSeidel));
            continuous.push(left_behind(kind, speed, true, FiberSolver::GaussSeidel));
            continuous.push(left_behind(kind, speed, true, FiberSolver::SemiImplicit));
        }
        eprintln!(
            "{kind:?} at 1, 3, 10, 30, 100 radii a frame, [in the path, left behind]: discrete {discrete:?}"
        );
        eprintln!("{kind:?}, continuous, by edges and by fibers in turn: {continuous:?}");
        assert!(discrete[0][0] >= 5, "too few in the path to mean anything");
        assert!(
            discrete[3..].iter().all(|left| left[1] > left[0] / 2),
            "{kind:?}: the discrete test must lose at speed: {discrete:?}"
        );
        assert!(continuous.iter().all(|left| left[1] == 0), "{kind:?}: {continuous:?}");
    }
}
