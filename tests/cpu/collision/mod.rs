//! Every collision stage of the CPU twin against exact geometry in `f64`, on random and degenerate
//! input.

mod continuous;
mod crowd;
mod degenerate;
mod friction;
mod refusals;
mod repeat;
mod shape;
mod sweep;
mod virtual_particles;

use std::sync::Arc;

use poplin_cpu::{ReferenceEngine, Team};
use poplin_geometry::Rng;
use poplin_host::{Cloth, Engine as _, FramePart};
use poplin_layout::{Stage, StageMask};
use poplin_measure::shape_arrays::ShapeArrays;
use poplin_model::{ClothDesc, Fabric, Particle, Phase, PhaseKind};
use poplin_oracle::{Sphere, touch_round_cone};
use poplin_testkit::nth_cloth;

/// Allowed error in units of `f32::EPSILON * scale`: about ten roundings at that scale.
const FACTOR: f64 = 32.0;

/// Distance \[m\] from a point of discontinuity of the answer below which samples are not judged:
/// rounding may move them across.
const BOUNDARY: f64 = 1e-5;

type Vec3 = [f64; 3];

fn wide(particle: impl Into<[f32; 4]>) -> Vec3 {
    let p = particle.into();
    [p[0], p[1], p[2]].map(f64::from)
}

fn minus(a: Vec3, b: Vec3) -> Vec3 {
    std::array::from_fn(|k| a[k] - b[k])
}

fn plus(a: Vec3, b: Vec3) -> Vec3 {
    std::array::from_fn(|k| a[k] + b[k])
}

fn dot(a: Vec3, b: Vec3) -> f64 {
    (0..3).map(|k| a[k] * b[k]).sum()
}

fn length(a: Vec3) -> f64 {
    dot(a, a).sqrt()
}

fn distance(a: Vec3, b: Vec3) -> f64 {
    length(minus(a, b))
}

/// Copy of `shapes` with these spheres.
fn with_spheres(shapes: &ShapeArrays, spheres: &[[f32; 4]]) -> ShapeArrays {
    ShapeArrays { spheres: spheres.to_vec(), ..shapes.clone() }
}

fn is_finite(particles: &[[f32; 4]]) -> bool {
    particles.iter().flatten().all(|value| value.is_finite())
}

/// Cloth of loose particles: its only edge is not solved in a collision stage.
fn cloud(particles: Vec<[f32; 4]>) -> ClothDesc {
    let fabric = Fabric {
        particle_count: particles.len() as u32,
        phases: vec![Phase { kind: PhaseKind::Vertical, set_begin: 0, set_end: 1 }],
        set_fiber_begin: vec![0, 1],
        fiber_edge_begin: vec![0, 1],
        fiber_vertices: vec![0, 1],
        rest_lengths: vec![1.0],
        ..Default::default()
    };
    let mut cloth = ClothDesc::new(Arc::new(fabric), particles);
    // Friction then only changes the previous positions.
    cloth.config.contact.friction_holds = false;
    cloth
}

/// Current and previous particles after a run.
struct After {
    current: Vec<[f32; 4]>,
    previous: Vec<[f32; 4]>,
}

/// Runs one frame of `iterations` iterations with these stages, after `equip` has set the inputs.
fn after(
    cloth: &ClothDesc,
    stages: StageMask,
    iterations: u32,
    equip: impl FnOnce(&mut Cloth),
) -> After {
    let mut engine = ReferenceEngine::new();
    engine.add(cloth.clone()).unwrap();
    equip(engine.cloth_mut(nth_cloth(0)).unwrap());
    engine
        .begin_frame(iterations as f32 / cloth.config.solver.as_pbd().unwrap().frequency)
        .unwrap();
    engine
        .run_part(nth_cloth(0), &FramePart { stages, ..FramePart::WHOLE }, &mut Team::single())
        .unwrap();
    assert_eq!(engine.feedback(nth_cloth(0)).iteration_total, iterations);
    After {
        current: Particle::rows(engine.current(nth_cloth(0))).to_vec(),
        previous: Particle::rows(engine.previous(nth_cloth(0))).to_vec(),
    }
}

/// Returns the particles after one iteration of one stage.
fn after_stage(cloth: &ClothDesc, stage: Stage) -> Vec<[f32; 4]> {
    after(cloth, StageMask::only(stage), 1, |_| ()).current
}

#[track_caller]
fn assert_near(what: &str, got: [f32; 4], expected: Vec3, scale: f64) {
    let allowed = FACTOR * f64::from(f32::EPSILON) * scale;
    let error = distance(wide(got), expected);
    assert!(
        error <= allowed,
        "{what}: {got:?} against {expected:?}: {error:e} above {FACTOR} eps x {scale}"
    );
}

/// Counts of samples, so that a test that judges nothing fails.
#[derive(Debug, Default)]
struct Judged {
    seen: usize,
    judged: usize,
    pushed: usize,
}

impl Judged {
    /// Counts a sample and returns true if it is far enough from a discontinuity to be judged.
    fn takes(&mut self, clearance: f64) -> bool {
        self.seen += 1;
        self.judged += usize::from(clearance > BOUNDARY);
        clearance > BOUNDARY
    }

    fn note_push(&mut self, is_pushed: bool) {
        self.pushed += usize::from(is_pushed);
    }

    /// Requires that 95 % of the samples were judged and that a fraction `pushed` of these was
    /// pushed.
    #[track_caller]
    fn assert_most(&self, what: &str, pushed: f64) {
        eprintln!("{what}: {self:?}");
        assert!(self.judged * 20 >= self.seen * 19, "{what}: too few are judged: {self:?}");
        assert!(
            self.pushed as f64 >= pushed * self.judged as f64,
            "{what}: too few touch anything: {self:?}"
        );
    }
}

fn random_particle(rng: &mut Rng) -> [f32; 4] {
    let [x, y, z] = rng.point(-1.0, 1.0);
    [x, y, z, if rng.index(5) == 0 { 0.0 } else { rng.range(0.01, 20.0) }]
}

fn random_particles(rng: &mut Rng, count: usize) -> Vec<[f32; 4]> {
    (0..count).map(|_| random_particle(rng)).collect()
}

fn random_sphere(rng: &mut Rng, radius: f32) -> [f32; 4] {
    let [x, y, z] = rng.point(-1.0, 1.0);
    [x, y, z, rng.range(0.0, radius)]
}

fn spheres_of(rows: &[[f32; 4]]) -> Vec<Sphere> {
    rows.iter().map(|&row| (wide(row), f64::from(row[3]))).collect()
}

fn capsules_of(pairs: &[[u32; 2]]) -> Vec<[usize; 2]> {
    pairs.iter().map(|pair| pair.map(|end| end as usize)).collect()
}

/// Rounding scale of the push of spheres and capsules at x: coordinates of up to 4, and the squared
/// distance to center or axis, guarded by EPSILON, whose error rotates the push by more the closer
/// x is to them.
fn shape_scale(x: Vec3, spheres: &[Sphere], capsules: &[[usize; 2]]) -> f64 {
    let of_point = |center: Vec3, radius: f64| radius / distance(x, center).powi(2);
    let spheres_scale: f64 =
        spheres.iter().filter(|s| distance(x, s.0) < s.1).map(|s| of_point(s.0, s.1)).sum();
    let of_capsule = |&[a, b]: &[usize; 2]| {
        let touch = touch_round_cone(x, spheres[a], spheres[b]);
        let [axis, d] = [minus(spheres[b].0, spheres[a].0), minus(x, spheres[a].0)];
        // Squared distance from the axis, |d|^2 - (d . axis)^2 / |axis|^2.
        let across = dot(d, d) - dot(d, axis).powi(2) / dot(axis, axis).max(1e-30);
        // 1 / cos^2 of the half angle of the cone.
        let side =
            dot(axis, axis) / (dot(axis, axis) - (spheres[b].1 - spheres[a].1).powi(2)).max(1e-30);
        if touch.distance < 0.0 {
            side * (1.0 + dot(d, d)) * spheres[a].1.max(spheres[b].1) / across.max(1e-30)
        } else {
            0.0
        }
    };
    4.0 + spheres_scale + capsules.iter().map(of_capsule).sum::<f64>()
}

fn unit(v: Vec3) -> Vec3 {
    let length = length(v);
    v.map(|x| x / length)
}

fn cross(a: Vec3, b: Vec3) -> Vec3 {
    std::array::from_fn(|k| a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3])
}

fn wide_points(vertices: &[[f32; 3]]) -> Vec<Vec3> {
    vertices.iter().map(|v| v.map(f64::from)).collect()
}

/// Closed sphere of radius 1 with bumps of `height` \[m\], from an icosahedron whose triangles are
/// split `splits` times.
fn bumpy_sphere(splits: u32, height: f64, center: [f32; 3]) -> (Vec<[f32; 3]>, Vec<[u32; 3]>) {
    let phi = (1.0 + 5f64.sqrt()) / 2.0;
    let mut points: Vec<Vec3> = Vec::new();
    for (a, b) in [(1.0, phi), (-1.0, phi), (1.0, -phi), (-1.0, -phi)] {
        points.extend([[0.0, a, b], [a, b, 0.0], [b, 0.0, a]]);
    }
    points.iter_mut().for_each(|p| *p = unit(*p));
    let mut triangles: Vec<[u32; 3]> = Vec::new();
    for a in 0..12u32 {
        for b in a + 1..12 {
            for c in b + 1..12 {
                let [p, q, r] = [a, b, c].map(|i| points[i as usize]);
                if [distance(p, q), distance(q, r), distance(r, p)].iter().all(|side| *side < 1.1) {
                    // Counter-clockwise from outside: the normal points away from the center.
                    let is_outward = dot(cross(minus(q, p), minus(r, p)), p) > 0.0;
                    triangles.push(if is_outward { [a, b, c] } else { [a, c, b] });
                }
            }
        }
    }
    for _ in 0..splits {
        let mut middles = std::collections::HashMap::new();
        triangles = triangles
            .iter()
            .flat_map(|&[a, b, c]| {
                let mut middle = |p: u32, q: u32| {
                    *middles.entry([p.min(q), p.max(q)]).or_insert_with(|| {
                        points.push(unit(plus(points[p as usize], points[q as usize])));
                        points.len() as u32 - 1
                    })
                };
                let [ab, bc, ca] = [middle(a, b), middle(b, c), middle(c, a)];
                [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
            })
            .collect();
    }
    let bumps =
        |p: Vec3| 1.0 + height * ((7.0 * p[0]).sin() * (6.0 * p[1]).cos() + (5.0 * p[2]).sin());
    let vertices = points
        .iter()
        .map(|&p| std::array::from_fn(|k| (p[k] * bumps(p)) as f32 + center[k]))
        .collect();
    (vertices, triangles)
}

fn shifted(colliders: &ShapeArrays, shift: [f32; 3]) -> ShapeArrays {
    let mut moved = colliders.clone();
    let by = |p: &mut [f32]| p.iter_mut().zip(shift).for_each(|(x, s)| *x += s);
    moved.spheres.iter_mut().for_each(|row| by(&mut row[..3]));
    moved.boxes.iter_mut().for_each(|shape| by(&mut shape.corner));
    moved.mesh_vertices.iter_mut().for_each(|vertex| by(vertex));
    moved
}
