//! One kind of shape at a time: pushes out of random spheres, capsules, convexes, boxes and meshes.

use poplin_geometry::Rng;
use poplin_layout::Stage;
use poplin_measure::shape_arrays::ShapeArrays;
use poplin_model::Parallelepiped;
use poplin_oracle::{
    WayOut, keep_outside, leave_convex, leave_parallelepiped, nearest_triangle, touch_round_cone,
    touch_shapes,
};

use super::{
    Judged, after_stage, assert_near, capsules_of, cloud, cross, distance, dot, length, minus,
    plus, random_particles, random_sphere, shape_scale, spheres_of, unit, wide, wide_points,
};

#[test]
fn a_sphere_pushes_to_its_surface_whatever_the_mass() {
    let mut rng = Rng::new(101);
    let mut judged = Judged::default();
    for round in 0..300 {
        let mut cloth = cloud(random_particles(&mut rng, 16));
        let sphere = random_sphere(&mut rng, 1.5);
        let shapes = ShapeArrays { spheres: vec![sphere], ..Default::default() };
        cloth.colliders = shapes.to_set().unwrap();
        let got = after_stage(&cloth, Stage::CollideShape);
        for (i, &particle) in cloth.particles.iter().enumerate() {
            let expected = keep_outside(wide(particle), wide(sphere), f64::from(sphere[3]));
            let scale = shape_scale(wide(particle), &spheres_of(&[sphere]), &[]);
            assert_near(&format!("round {round} particle {i}"), got[i], expected, scale);
            assert_eq!(got[i][3], particle.inverse_mass, "without mass scale masses stay");
            judged.takes(1.0);
            judged.note_push(expected != wide(particle));
        }
    }
    judged.assert_most("spheres", 0.1);
}

#[test]
fn a_capsule_pushes_to_the_nearest_point_of_its_hull() {
    let mut rng = Rng::new(103);
    let mut judged = Judged::default();
    for round in 0..400 {
        let mut cloth = cloud(random_particles(&mut rng, 16));
        let rows = vec![random_sphere(&mut rng, 0.9), random_sphere(&mut rng, 0.9)];
        let [a, b] = [spheres_of(&rows)[0], spheres_of(&rows)[1]];
        if distance(a.0, b.0) - (a.1 - b.1).abs() < 0.02 {
            // One sphere nearly contains the other: the side degenerates to a point.
            continue;
        }
        let shapes = ShapeArrays { spheres: rows, capsules: vec![[0, 1]], ..Default::default() };
        cloth.colliders = shapes.to_set().unwrap();
        let got = after_stage(&cloth, Stage::CollideShape);
        for (i, &particle) in cloth.particles.iter().enumerate() {
            let touch = touch_round_cone(wide(particle), a, b);
            let is_inside = touch.distance < 0.0;
            if judged.takes(if is_inside { touch.clearance } else { touch.distance }) {
                let scale = shape_scale(wide(particle), &[a, b], &[[0, 1]]);
                let expected = plus(wide(particle), touch.push);
                assert_near(&format!("round {round} particle {i}"), got[i], expected, scale);
                judged.note_push(is_inside);
            }
        }
    }
    judged.assert_most("capsules", 0.1);
}

#[test]
fn overlapping_spheres_and_capsules_push_by_their_mean() {
    let mut rng = Rng::new(107);
    let mut judged = Judged::default();
    let mut several = 0;
    for round in 0..300 {
        let mut cloth = cloud(random_particles(&mut rng, 16));
        let rows: Vec<_> = (0..6).map(|_| random_sphere(&mut rng, 0.6)).collect();
        // A chain of two capsules, a branch, a capsule across two others, and a free sphere.
        let pairs = vec![[0, 1], [1, 2], [1, 3], [4, 0], [2, 4]];
        let (spheres, capsules) = (spheres_of(&rows), capsules_of(&pairs));
        let gap = |&[a, b]: &[usize; 2]| {
            (distance(spheres[a].0, spheres[b].0) - (spheres[a].1 - spheres[b].1).abs()).abs()
        };
        if capsules.iter().any(|capsule| gap(capsule) < 0.02) {
            continue;
        }
        let shapes = ShapeArrays { spheres: rows, capsules: pairs, ..Default::default() };
        cloth.colliders = shapes.to_set().unwrap();
        let got = after_stage(&cloth, Stage::CollideShape);
        for (i, &particle) in cloth.particles.iter().enumerate() {
            let found = touch_shapes(wide(particle), &spheres, &capsules);
            if judged.takes(found.clearance) {
                let scale = shape_scale(wide(particle), &spheres, &capsules);
                assert_near(
                    &format!("round {round} particle {i}"),
                    got[i],
                    plus(wide(particle), found.mean()),
                    scale,
                );
                judged.note_push(!found.touches.is_empty());
                several += usize::from(found.touches.len() > 1);
            }
        }
    }
    judged.assert_most("branching capsules", 0.1);
    assert!(several > 100, "only {several} touched several shapes");
}

/// Half-space whose boundary is at `height` from the origin.
fn random_plane(rng: &mut Rng, height: f32) -> [f32; 4] {
    let normal = unit(rng.point(-1.0, 1.0).map(f64::from)).map(|x| x as f32);
    [normal[0], normal[1], normal[2], -height]
}

#[test]
fn convexes_push_through_their_nearest_plane() {
    let mut rng = Rng::new(109);
    let mut judged = Judged::default();
    for round in 0..300 {
        let mut cloth = cloud(random_particles(&mut rng, 16));
        let planes: Vec<_> = (0..8)
            .map(|_| {
                let height = rng.range(-0.1, 1.0);
                random_plane(&mut rng, height)
            })
            .collect();
        // Planes are shared between convexes; the last convex is a single plane.
        let convexes = vec![vec![0, 1, 2, 3, 4], vec![4, 5, 6], vec![7]];
        let shapes = ShapeArrays {
            planes: planes.clone(),
            convexes: convexes.clone(),
            ..Default::default()
        };
        cloth.colliders = shapes.to_set().unwrap();
        let got = after_stage(&cloth, Stage::CollideConvex);
        for (i, &particle) in cloth.particles.iter().enumerate() {
            let of_convex = |convex: &Vec<u32>| {
                let own: Vec<_> =
                    convex.iter().map(|&plane| planes[plane as usize].map(f64::from)).collect();
                let height = own
                    .iter()
                    .map(|p| dot([p[0], p[1], p[2]], wide(particle)) + p[3])
                    .fold(f64::MIN, f64::max);
                (leave_convex(wide(particle), &own), height.abs())
            };
            judge_exits(
                &mut judged,
                &format!("round {round} particle {i}"),
                got[i],
                particle.into(),
                convexes.iter().map(of_convex),
            );
        }
    }
    judged.assert_most("convexes", 0.3);
}

/// Compares a particle with the mean of the pushes out of shapes; each comes with the distance to
/// its surface.
#[track_caller]
fn judge_exits(
    judged: &mut Judged,
    what: &str,
    got: [f32; 4],
    particle: [f32; 4],
    exits: impl Iterator<Item = (Option<WayOut>, f64)>,
) {
    let (mut sum, mut count, mut clearance) = ([0.0; 3], 0, f64::INFINITY);
    for (exit, surface) in exits {
        clearance = clearance.min(surface);
        if let Some(exit) = exit {
            sum = plus(sum, exit.push);
            clearance = clearance.min(exit.clearance);
            count += 1;
        }
    }
    if judged.takes(clearance) {
        let expected = plus(wide(particle), sum.map(|x| x / f64::from(count.max(1))));
        assert_near(what, got, expected, 4.0);
        judged.note_push(count > 0);
    }
}

/// Skewed box without thin faces: a face normal is a cross product, which loses digits there.
fn random_box(rng: &mut Rng) -> Parallelepiped {
    loop {
        let shape = Parallelepiped {
            corner: rng.point(-1.0, 0.5),
            edges: [(); 3].map(|()| rng.point(-1.5, 1.5)),
        };
        let [a, b, c] = shape.edges.map(|edge| edge.map(f64::from));
        let has_wide_faces =
            [(a, b), (b, c), (c, a)].iter().all(|&(p, q)| length(cross(p, q)) > 0.3);
        if has_wide_faces && dot(a, cross(b, c)).abs() > 0.3 {
            return shape;
        }
    }
}

#[test]
fn skewed_boxes_push_through_their_nearest_face() {
    let mut rng = Rng::new(113);
    let mut judged = Judged::default();
    for round in 0..400 {
        let mut cloth = cloud(random_particles(&mut rng, 16));
        let boxes: Vec<_> = (0..1 + rng.index(3)).map(|_| random_box(&mut rng)).collect();
        let shapes = ShapeArrays { boxes: boxes.clone(), ..Default::default() };
        cloth.colliders = shapes.to_set().unwrap();
        let got = after_stage(&cloth, Stage::CollideBox);
        for (i, &particle) in cloth.particles.iter().enumerate() {
            let exits = boxes.iter().map(|shape| {
                let edges = shape.edges.map(|edge| edge.map(f64::from));
                let exit = leave_parallelepiped(wide(particle), shape.corner.map(f64::from), edges);
                // Near the surface of a single box the push is short and nothing jumps; with
                // several boxes the number of pushes does.
                (
                    exit,
                    if boxes.len() > 1 { exit.map_or(1.0, |exit| length(exit.push)) } else { 1.0 },
                )
            });
            let what = format!("round {round} particle {i}");
            judge_exits(&mut judged, &what, got[i], particle.into(), exits);
        }
    }
    judged.assert_most("boxes", 0.05);
}

#[test]
fn a_mesh_pushes_points_behind_its_nearest_triangle() {
    let mut rng = Rng::new(127);
    let mut judged = Judged::default();
    for round in 0..300 {
        let mut cloth = cloud(random_particles(&mut rng, 16));
        let vertices: Vec<_> = (0..9).map(|_| rng.point(-1.0, 1.0)).collect();
        let corner = |rng: &mut Rng| rng.index(vertices.len()) as u32;
        // Loose triangles, some with a repeated corner: no sensible mesh, but valid input.
        let triangles: Vec<[u32; 3]> =
            (0..1 + rng.index(20)).map(|_| std::array::from_fn(|_| corner(&mut rng))).collect();
        let shapes = ShapeArrays {
            mesh_vertices: vertices.clone(),
            mesh_triangles: triangles.clone(),
            ..Default::default()
        };
        cloth.colliders = shapes.to_set().unwrap();
        let got = after_stage(&cloth, Stage::CollideTriangle);
        for (i, &particle) in cloth.particles.iter().enumerate() {
            let nearest =
                nearest_triangle(wide(particle), &wide_points(&vertices), &triangles, 1e-5);
            let (push, clearance) = nearest
                .map_or(([0.0; 3], 1.0), |(_, closest, clearance)| (closest.push(), clearance));
            if judged.takes(clearance) {
                // Normals of slivers lose digits.
                let scale = 4.0
                    + nearest
                        .map_or(0.0, |(number, ..)| sliver_scale(&vertices, triangles[number]));
                assert_near(
                    &format!("round {round} particle {i}"),
                    got[i],
                    plus(wide(particle), push),
                    scale,
                );
                judged.note_push(push != [0.0; 3]);
            }
        }
    }
    // A nearest point is often shared by two triangles, which is not judged.
    eprintln!("triangles: {judged:?}");
    assert!(
        judged.judged * 10 > judged.seen * 8 && judged.pushed * 4 > judged.judged,
        "{judged:?}"
    );
}

/// Rounding error of a triangle's unit normal at coordinates of 4, relative to that of a
/// well-shaped triangle.
fn sliver_scale(vertices: &[[f32; 3]], triangle: [u32; 3]) -> f64 {
    let [a, b, c] = triangle.map(|vertex| vertices[vertex as usize].map(f64::from));
    let area = length(cross(minus(b, a), minus(c, a)));
    let side = length(minus(b, a)).max(length(minus(c, a)));
    4.0 * side * side / area.max(1e-30)
}
