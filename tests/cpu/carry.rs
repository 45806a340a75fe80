//! Colliders that move along their own surface carry cloth by friction: every kind of collider,
//! shifted and turned about each axis, from scene files as users write them.

use glam::{DQuat, DVec3};

use crate::friction::{IMPLICIT, MULTILEVEL, PBD, XPBD, hexahedron, run_positions};

/// Distance from the center of a shape to its top, and half the length of boxes \[m\].
const RADIUS: f64 = 0.5;
/// Thickness of cloth in triangle contact \[m\].
const THICKNESS: f64 = 0.004;
/// Frames before a motion, in which cloth settles on the shape, and frames of the motion.
const FRAMES: [u32; 2] = [30, 120];

/// Kinds of colliders with their center at the origin, by name.
const SHAPES: [(&str, &str); 8] = [
    ("sphere", "sphere = { radius = 0.5 }"),
    ("capsule", "capsule = { from = [-0.4, 0, 0], to = [0.4, 0, 0], radius = 0.5 }"),
    (
        "lying cylinder",
        "cylinder = { height = 1, radius = 0.5, sides = 128 }\ntransform = { rotation = [0, 0, 90] }",
    ),
    ("standing cylinder", "cylinder = { height = 1, radius = 0.5 }"),
    ("plane", "plane = { normal = [0, 1, 0], offset = 0.5 }"),
    ("box", "box = { size = [1, 1, 1] }"),
    (
        "convex",
        "convex = { planes = [{ normal = [0, 1, 0], offset = 0.5 }, { normal = [0, -1, 0], offset = 0.5 }, \
         { normal = [1, -1, 0], offset = 0.5 }, { normal = [-1, -1, 0], offset = 0.5 }, \
         { normal = [0, 0, 1], offset = 0.5 }, { normal = [0, 0, -1], offset = 0.5 }] }",
    ),
    ("mesh", "mesh = \"slab.obj\""),
];

/// Motions: shift \[m\] and rotation \[degrees\].
const MOTIONS: [(&str, [f64; 3], [f64; 3]); 5] = [
    ("shift along x", [0.3, 0.0, 0.0], [0.0; 3]),
    ("turn about x", [0.0; 3], [30.0, 0.0, 0.0]),
    ("turn about y", [0.0; 3], [0.0, 30.0, 0.0]),
    ("turn about z", [0.0; 3], [0.0, 0.0, 30.0]),
    ("shift and turn", [0.1, 0.0, 0.2], [0.0, -30.0, 0.0]),
];

/// Returns the largest distance of a patch from where its collider carried it, and the farthest
/// that the collider carried a particle \[m\].
fn distance_carried(
    shape: &str,
    (motion, shift, degrees): (&str, [f64; 3], [f64; 3]),
    solver: &str,
    contact: &str,
) -> [f64; 2] {
    let thickness = if contact == "triangles" { THICKNESS } else { 0.0 };
    let [begin, end] = [FRAMES[0], FRAMES[0] + FRAMES[1]];
    let times = [begin, end].map(|frame| f64::from(frame) / 60.0);
    let text = format!(
        "cloth_contact_solver = {{ contact = \"{contact}\" }}\n[[cloth]]\nname = \"patch\"\n\
         grid = {{ columns = 5, rows = 5, width = 0.08, height = 0.08, plane = \"xz\" }}\n\
         transform = {{ translation = [-0.04, {}, -0.04] }}\nperturbation = 0\n\
         thickness = {thickness}\ncontact = {{ friction = 1 }}\nfabric = {{ tethers = \"none\" }}\n{solver}\
         [[collider]]\n{shape}\n\
         keys = [{{ time = {} }}, {{ time = {}, translation = {shift:?}, rotation = {degrees:?} }}]\n",
        RADIUS + 0.5 * thickness + 1e-5,
        times[0],
        times[1],
    );
    let name = format!("carry-{}-{motion}-{contact}-{}", shape.len(), solver.len());
    let paths = run_positions(&name, &text, &hexahedron(|corner| corner.map(|x| RADIUS * x)), end);
    let (start, end) = (&paths[begin as usize], &paths[end as usize]);
    let [x, y, z] = degrees.map(f64::to_radians);
    let rotation = DQuat::from_euler(glam::EulerRot::ZYX, z, y, x);
    let mut farthest = [0.0f64; 2];
    for (&from, &to) in start.iter().zip(end) {
        let (from, to) = (DVec3::from(from), DVec3::from(to));
        let carried = rotation * from + DVec3::from(shift);
        farthest[0] = farthest[0].max(carried.distance(to));
        farthest[1] = farthest[1].max(carried.distance(from));
    }
    farthest
}

/// Checks that every motion of every kind of collider carries a patch along within `most` of the
/// way, next to the 1 mm over which friction brings it up to speed.
fn check(solver: &str, contact: &str, most: f64) {
    let mut slipped = Vec::new();
    for (name, shape) in SHAPES {
        for motion in MOTIONS {
            let [off, way] = distance_carried(shape, motion, solver, contact);
            let [off, way] = [off, way].map(|length| 1e3 * length);
            let what = format!("{name}, {}: {off:.2} mm off on a way of {way:.1} mm", motion.0);
            eprintln!("{what}");
            if off > 1.5 + most * way {
                slipped.push(what);
            }
        }
    }
    assert!(slipped.is_empty(), "{contact}:\n{}", slipped.join("\n"));
}

#[test]
fn pbd_particles_are_carried_by_every_collider() {
    check(PBD, "particles", 0.02);
}

#[test]
fn xpbd_particles_are_carried_by_every_collider() {
    check(XPBD, "particles", 0.02);
}

#[test]
fn implicit_particles_are_carried_by_every_collider() {
    check(IMPLICIT, "particles", 0.02);
}

#[test]
fn multilevel_particles_are_carried_by_every_collider() {
    check(MULTILEVEL, "particles", 0.02);
}

#[test]
fn pbd_triangles_are_carried_by_every_collider() {
    check(PBD, "triangles", 0.02);
}

#[test]
fn xpbd_triangles_are_carried_by_every_collider() {
    check(XPBD, "triangles", 0.02);
}

#[test]
fn multilevel_triangles_are_carried_by_every_collider() {
    check(MULTILEVEL, "triangles", 0.02);
}

#[test]
fn implicit_triangles_are_carried_by_every_collider() {
    check(IMPLICIT, "triangles", 0.02);
}
