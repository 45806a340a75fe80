//! Paths of particles through boxes, convexes and meshes.

use glam::DVec3;
use poplin_geometry::Rng;
use poplin_layout::{Stage, StageMask};
use poplin_model::{Parallelepiped, Placement, Plane, Pose, Rigid, Shape};
use poplin_oracle::sweep_convex;

use super::{Judged, after, assert_near, cloud, plus, random_particles, wide};

/// Block from 1 mm to 0.4 m thick.
fn random_block(rng: &mut Rng) -> Parallelepiped {
    let thin = [0.0005, 0.0025, 0.02, 0.2][rng.index(4)];
    Parallelepiped::cuboid([rng.range(0.2, 1.0), thin, rng.range(0.2, 1.0)])
}

fn random_pose(rng: &mut Rng, far: f32) -> Pose {
    let [x, y, z] = rng.point(-1.0, 1.0);
    Pose { translation: rng.point(-far, far), rotation: [x, y, z, rng.range(0.2, 1.0)] }
}

/// Planes of a placed block, their normals out of it.
fn planes_of(block: &Parallelepiped) -> Vec<Plane> {
    let [corner, edges @ ..] = block.rows().map(|row| DVec3::from(row.map(f64::from)));
    let plane = |k: usize| {
        let edge = edges[k];
        let across = edges[(k + 1) % 3].cross(edges[(k + 2) % 3]).normalize();
        let normal = across * across.dot(edge).signum();
        [(-normal, corner), (normal, corner + edge)].map(|(normal, point)| Plane {
            normal: normal.as_vec3().to_array(),
            offset: normal.dot(point) as f32,
        })
    };
    (0..3).flat_map(plane).collect()
}

/// Kinds of shapes that a block can be.
const KINDS: [&str; 3] = ["box", "convex", "mesh"];

fn shape_of(kind: &str, block: &Parallelepiped) -> Shape {
    match kind {
        "box" => (*block).into(),
        "convex" => Shape::Convex(planes_of(block).into()),
        _ => Shape::from(*block).mesh().unwrap().into_owned().into(),
    }
}

#[test]
fn paths_through_moving_blocks_end_at_the_face_that_they_enter() {
    for kind in KINDS {
        let mut rng = Rng::new(811);
        let mut judged = Judged::default();
        for round in 0..400 {
            let mut cloth = cloud(random_particles(&mut rng, 16));
            cloth.config.contact.continuous = true;
            let long = [0.02, 0.3, 2.0][round % 3];
            let block = random_block(&mut rng);
            // Paths around the block: few random ones meet it.
            let pose = random_pose(&mut rng, 0.3);
            let shift = rng.point(-long, long);
            let moved = [0, 1, 2].map(|k| pose.translation[k] + shift[k]);
            let [start, target] = [pose, Pose { translation: moved, ..pose }].map(|pose| {
                let block = Shape::from(block).transformed(&Placement::new(1.0, Rigid::new(pose)));
                let Shape::Parallelepiped(block) = block else { unreachable!() };
                block
            });
            // Each path leads through a point of the block as it moves.
            let mut previous = Vec::new();
            for particle in &mut cloth.particles {
                let mut point = target.corner;
                for edge in target.edges {
                    let fraction = rng.range(0.0, 1.0);
                    point = [0, 1, 2].map(|k| point[k] + fraction * edge[k]);
                }
                let step = rng.point(-long, long);
                let [ahead, behind] = [rng.range(0.0, 1.0), rng.range(0.0, 1.0)];
                particle.position = [0, 1, 2].map(|k| point[k] + ahead * step[k]);
                previous.push([0, 1, 2].map(|k| point[k] - shift[k] - behind * step[k]));
            }
            cloth.previous_positions.clone_from(&previous);
            let id = cloth.colliders.add(shape_of(kind, &start)).unwrap();
            let got = after(&cloth, StageMask::only(Stage::Sweep), 1, |host| {
                host.colliders_mut().set_shape(id, shape_of(kind, &target)).unwrap();
            })
            .current;
            let rows = |block: &Parallelepiped| {
                let planes = planes_of(block).into_iter();
                planes.map(|Plane { normal: [a, b, c], offset }| [a, b, c, -offset].map(f64::from))
            };
            let planes: Vec<_> = rows(&start).zip(rows(&target)).map(|(a, b)| [a, b]).collect();
            for (i, &particle) in cloth.particles.iter().enumerate() {
                let sweep = sweep_convex(previous[i].map(f64::from), wide(particle), &planes);
                // Edges of triangles have some slack.
                let scale = if kind == "mesh" { 20.0 } else { 1.0 };
                if sweep.starts_outside && judged.takes(sweep.clearance / scale) {
                    let what = format!("{kind}, round {round}, particle {i}, {sweep:?}");
                    assert_near(&what, got[i], plus(wide(particle), sweep.back), 40.0);
                    judged.note_push(sweep.back != [0.0; 3]);
                }
            }
        }
        judged.assert_most(kind, 0.5);
    }
}

#[test]
fn thin_plates_that_turn_fast_let_nothing_pass() {
    for kind in KINDS {
        let mut rng = Rng::new(821);
        let mut hits = 0;
        for round in 0..200 {
            // A plate that sweeps 20 degrees about an axis in it, past particles at rest.
            let block = Parallelepiped::cuboid([0.5, 0.002, 0.5]);
            let pose = |degrees: f32| {
                let (sine, cosine) = (0.5 * degrees.to_radians()).sin_cos();
                Pose { translation: [0.0; 3], rotation: [sine, 0.0, 0.0, cosine] }
            };
            let placed = |degrees: f32| {
                let at = Placement::new(1.0, Rigid::new(pose(degrees)));
                let Shape::Parallelepiped(block) = Shape::from(block).transformed(&at) else {
                    unreachable!()
                };
                block
            };
            let mut cloth = cloud(
                (0..16)
                    .map(|_| {
                        // In the sector that the plate sweeps, in front of it.
                        let (angle, arm) =
                            (rng.range(2.0, 18.0f32).to_radians(), rng.range(0.1, 0.45));
                        [rng.range(-0.4, 0.4), -arm * angle.sin(), arm * angle.cos(), 1.0]
                    })
                    .collect(),
            );
            cloth.config.contact.continuous = true;
            cloth.previous_positions =
                cloth.particles.iter().map(|particle| particle.position).collect();
            let id = cloth.colliders.add(shape_of(kind, &placed(0.0))).unwrap();
            let stages = [Stage::CollideConvex, Stage::CollideBox, Stage::CollideTriangle];
            let stages = stages.into_iter().fold(StageMask::only(Stage::Sweep), StageMask::with);
            let got = after(&cloth, stages, 1, |host| {
                host.colliders_mut().set_shape(id, shape_of(kind, &placed(-20.0))).unwrap();
            })
            .current;
            let (sine, cosine) = (-20.0f32).to_radians().sin_cos();
            for (i, row) in got.iter().enumerate() {
                // Height over the plate that has turned: its normal is (0, cos, sin).
                let height = -(row[1] * cosine + row[2] * sine);
                assert!(height >= 0.002 - 1e-5, "{kind} {round} {i}: {row:?} at {height}");
                hits += 1;
            }
        }
        assert!(hits > 1000, "{hits}");
    }
}
