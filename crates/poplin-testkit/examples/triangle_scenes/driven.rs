//! Scenes in which cloth is pulled, twisted, shot at or thrown.

use std::f32::consts::PI;

use poplin::model::{Collider, Shape, TriangleMesh};
use poplin_testkit::crossing_scene::{at, floor, weightless};

use crate::scene::{
    Kind, Scene, ball, cuboid, distance, moved, pinned_sheet, set, sheet, smooth, upright,
};

/// Sheet pulled from under three others, 1.2 m in 0.8 s. Reports how far the others move with it.
/// Drawn in motion.
pub(crate) fn from_under(kind: Kind) -> Scene {
    let columns = kind.count(32);
    let edge: Vec<u32> = (0..columns).map(|row| row * columns + columns - 1).collect();
    let lowest = moved(pinned_sheet(kind, [columns; 2], [0.8; 2], &edge), [0.0, 0.0026, 0.0]);
    let held: Vec<_> = edge.iter().map(|&i| (i, lowest.particles[i as usize].position)).collect();
    let upper = (1..4)
        .map(|k| moved(sheet(kind, [16; 2], [0.3; 2]), [0.0, 0.0026 + 0.0051 * k as f32, 0.0]));
    let cloths: Vec<_> = [lowest].into_iter().chain(upper).collect();
    let begin = cloths[0].particles.len();
    let pins = move |time: f32| {
        let x = 1.2 * smooth((time - 0.5) / 0.8);
        held.iter().map(|&(i, p)| (i, [p[0] + x, p[1], p[2]])).collect()
    };
    let watch = move |_: f32, now: &[[f32; 3]]| {
        let upper = &now[begin..];
        let mean = upper.iter().map(|p| p[0]).sum::<f32>() / upper.len() as f32;
        Some(format!("the stack goes {:.0} mm with it", 1e3 * mean))
    };
    Scene {
        pins: Some(Box::new(pins)),
        watch: Some(Box::new(watch)),
        shown: 0.95,
        ..Scene::new(cloths, vec![floor()], 2.0)
    }
    .seen_from(20.0, 28.0)
}

/// Ribbon twisted by `revolutions` in 3.5 s and back, with its ends moving closer meanwhile. Drawn
/// when it is most twisted.
pub(crate) fn ribbon(kind: Kind, revolutions: f32) -> Scene {
    let counts = [kind.count(11), kind.count(101)];
    let ends: Vec<u32> =
        (0..counts[0]).chain(counts[0] * (counts[1] - 1)..counts[0] * counts[1]).collect();
    let scene = twisted(kind, counts, [0.1, 1.0], ends, 0.005, revolutions, 3.5);
    Scene { seconds: 8.0, shown: 3.5, ..scene }
}

/// Towel of 1 m by 40 cm with 126 x 317 particles, 1 mm thick, held by both entire ends and twisted
/// by four revolutions in 4 s.
pub(crate) fn towel(kind: Kind) -> Scene {
    let counts = [kind.count(126), kind.count(317)];
    let ends = (0..counts[0]).chain(counts[0] * (counts[1] - 1)..counts[0] * counts[1]).collect();
    let scene = twisted(kind, counts, [0.4, 1.0], ends, 0.001, 4.0, 4.0);
    Scene { seconds: 4.0, shown: 4.0, ..scene }
}

/// Square meter of 200 x 200 particles, 2 mm thick, held by a tenth of two sides, around which the
/// rest is wound, and twisted by four revolutions in 2 s.
pub(crate) fn grip(kind: Kind) -> Scene {
    let columns = kind.count(200);
    let (middle, grip) = (columns / 2, columns / 20);
    let middle = middle - grip..middle + grip;
    let ends = middle.clone().chain(middle.map(|it| columns * (columns - 1) + it)).collect();
    let scene = twisted(kind, [columns; 2], [1.0; 2], ends, 0.002, 4.0, 2.0);
    Scene { seconds: 2.0, shown: 2.0, ..scene }
}

/// Sheet along z that is held by its ends, which rotate against each other by `revolutions` in
/// `seconds` and back.
fn twisted(
    kind: Kind,
    counts: [u32; 2],
    size: [f32; 2],
    ends: Vec<u32>,
    thickness: f32,
    revolutions: f32,
    seconds: f32,
) -> Scene {
    let mut cloth = pinned_sheet(kind, counts, size, &ends);
    set(&mut cloth, thickness, 0.3);
    cloth.config.damping = [0.5; 3];
    let flat: Vec<[f32; 3]> = cloth.particles.iter().map(|particle| particle.position).collect();
    let pins = move |time: f32| {
        let fraction = time.min(2.0 * seconds - time.min(2.0 * seconds)) / seconds;
        let pose = |&i: &u32| {
            let [x, _, z] = flat[i as usize];
            let (sin, cos) = (fraction * revolutions * PI * z.signum()).sin_cos();
            let nearer = 0.06 * revolutions * fraction;
            (i, [x * cos, x * sin, z - nearer * z.signum()])
        };
        ends.iter().map(pose).collect()
    };
    Scene { pins: Some(Box::new(pins)), ..Scene::new(vec![cloth], vec![], seconds) }
        .seen_from(70.0, 12.0)
}

/// Torus around the y axis.
fn torus(major: f32, minor: f32) -> TriangleMesh {
    let (around, across) = (32u32, 12u32);
    let mut vertices = Vec::new();
    let mut triangles = Vec::new();
    for i in 0..around {
        for k in 0..across {
            let (u, v) = (2.0 * PI * i as f32 / around as f32, 2.0 * PI * k as f32 / across as f32);
            let r = major + minor * v.cos();
            vertices.push([r * u.cos(), minor * v.sin(), r * u.sin()]);
            let index = |i: u32, k: u32| i % around * across + k % across;
            let [a, b, c, d] = [index(i, k), index(i + 1, k), index(i + 1, k + 1), index(i, k + 1)];
            triangles.extend([[a, c, b], [a, d, c]]);
        }
    }
    TriangleMesh { vertices: vertices.into(), triangles: triangles.into() }
}

/// Sheet pulled by its middle through a ring that it barely fits. Reports its highest point at the
/// end. Drawn half through.
pub(crate) fn ring(kind: Kind) -> Scene {
    let columns = kind.count(32) | 1;
    let middle = columns / 2 * (columns + 1);
    let mut cloth = pinned_sheet(kind, [columns; 2], [0.5; 2], &[middle]);
    set(&mut cloth, 0.003, 0.2);
    let cloth = moved(cloth, [0.0, 0.03, 0.0]);
    let pins = move |time: f32| vec![(middle, [0.0, 0.03 - 0.15 * (time - 0.5).max(0.0), 0.0])];
    let watch = |_: f32, now: &[[f32; 3]]| {
        let highest = now.iter().map(|p| p[1]).fold(f32::NEG_INFINITY, f32::max);
        Some(format!("highest at {:.0} mm", 1e3 * highest))
    };
    let ring = Shape::TriangleMesh(torus(0.08, 0.015)).into();
    Scene {
        pins: Some(Box::new(pins)),
        watch: Some(Box::new(watch)),
        shown: 2.0,
        ..Scene::new(vec![cloth], vec![ring], 5.0)
    }
    .seen_from(32.0, 10.0)
}

/// Ball of 5 cm that flies at 50 m/s into a sheet pinned at its border, and stops 0.15 m behind the
/// border. Reports how far it takes the sheet along: 200 mm if it does not pass through.
pub(crate) fn shot(kind: Kind) -> Scene {
    let columns = kind.count(32);
    let last = columns - 1;
    let border = |&i: &u32| [i % columns, i / columns].iter().any(|&it| it == 0 || it == last);
    let pins: Vec<u32> = (0..columns * columns).filter(border).collect();
    let cloth = upright(pinned_sheet(kind, [columns; 2], [1.0; 2], &pins));
    let pose = |time: f32| at([0.011, 0.007, (-0.15 + 50.0 * (2.0 / 60.0 - time)).max(-0.15)]);
    let bullet = Collider { pose: pose(0.0), ..ball([0.0; 3], 0.05) };
    let poses = Box::new(move |time: f32| vec![pose(time)]);
    let watch = |_: f32, now: &[[f32; 3]]| {
        let farthest = now.iter().map(|p| -p[2]).fold(0.0, f32::max);
        Some(format!("the sheet reaches {:.0} mm behind its border", 1e3 * farthest))
    };
    let scene = Scene::new(vec![cloth], vec![bullet], 0.5);
    Scene { poses: Some(poses), watch: Some(Box::new(watch)), shown: 0.1, ..scene }
        .seen_from(150.0, 15.0)
}

/// Two sheets that collide edge on at 20 m/s each. Drawn shortly after.
pub(crate) fn edge_on(kind: Kind) -> Scene {
    let half = |x: f32| {
        let cloth = upright(sheet(kind, [16; 2], [0.5; 2]));
        weightless(moved(cloth, [x, 0.0, 0.0013 * x]))
    };
    let scene = Scene::new([0.3, -0.3].map(half).to_vec(), vec![], 1.0);
    Scene { velocities: vec![[-20.0, 0.0, 0.0], [20.0, 0.0, 0.0]], shown: 0.03, ..scene }
        .seen_from(35.0, 30.0)
}

/// Sheet between two plates that close to 0.9 thicknesses and move 0.4 m in 1 s. Reports how far
/// the sheet slips.
pub(crate) fn pinch(kind: Kind) -> Scene {
    let cloth = sheet(kind, [24; 2], [0.3; 2]);
    let thickness = cloth.config.thickness;
    let poses = move |time: f32| {
        let closed = (4.0 * time).min(1.0);
        let height = 0.02 + 0.5 * thickness * (2.0 - 1.1 * closed);
        let x = 0.4 * smooth(time - 0.5);
        [-1.0, 1.0].map(|sign| at([x, sign * height, 0.0])).to_vec()
    };
    let colliders =
        poses(0.0).into_iter().map(|pose| Collider { pose, ..cuboid([0.08, 0.02, 0.08]) });
    let colliders = colliders.collect();
    let mut grasp: Vec<[f32; 3]> = Vec::new();
    let watch = move |time: f32, now: &[[f32; 3]]| {
        if time < 0.501 {
            grasp = now.to_vec();
        }
        let x = 0.4 * smooth(time - 0.5);
        let slip = |reach: f32| {
            let pairs = grasp.iter().zip(now);
            // Without the parts that hang beside the plates and swing under them.
            let inside = pairs.filter(|(p, _)| {
                [p[0], p[2]].iter().all(|it| it.abs() < reach) && p[1].abs() < thickness
            });
            let slips = inside.map(|(p, now)| distance([p[0] + x, p[1], p[2]], *now));
            1e3 * slips.fold(0.0, f32::max)
        };
        Some(format!(
            "slips by {:.2} mm, by {:.2} mm 3 cm from the border",
            slip(0.075),
            slip(0.05)
        ))
    };
    Scene {
        poses: Some(Box::new(poses)),
        watch: Some(Box::new(watch)),
        ..Scene::new(vec![cloth], colliders, 1.5)
    }
    .seen_from(25.0, 8.0)
}
