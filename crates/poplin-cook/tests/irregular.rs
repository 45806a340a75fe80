//! Fibers on triangle meshes without rows and columns: sheets, garments, closed and non-manifold
//! surfaces.

use std::collections::BTreeMap;
use std::f32::consts::{FRAC_PI_4, TAU};

use glam::Vec3;
use poplin_cook::{CookOptions, Cooked, cook};
use poplin_geometry::Rng;
use poplin_model::{Mesh, PhaseKind};

/// Irregular triangles over a parameter plane, mapped to space at the end.
struct Patch {
    /// Positions in the plane; columns and rows are 1 apart before jitter.
    points: Vec<[f32; 2]>,
    triangles: Vec<[u32; 3]>,
}

impl Patch {
    /// Creates rows that are shifted by half a column against each other, with jitter; `is_tube`
    /// closes each row to a ring.
    fn new(columns: u32, rows: u32, jitter: f32, is_tube: bool, rng: &mut Rng) -> Self {
        let mut points = Vec::new();
        for row in 0..rows {
            for column in 0..columns {
                let shift = 0.5 * (row % 2) as f32;
                let [x, y] =
                    [column as f32 + shift, row as f32].map(|x| x + jitter * (rng.unit() - 0.5));
                points.push([x, y]);
            }
        }
        let mut triangles = Vec::new();
        for row in 0..rows - 1 {
            for column in 0..if is_tube { columns } else { columns - 1 } {
                let at =
                    |down: u32, across: u32| (row + down) * columns + (column + across) % columns;
                let [a, b, c, d] = [at(0, 0), at(0, 1), at(1, 1), at(1, 0)];
                triangles.extend(if row % 2 == 0 {
                    [[a, d, b], [b, d, c]]
                } else {
                    [[a, d, c], [a, c, b]]
                });
            }
        }
        Self { points, triangles }
    }

    /// Flips edges at random, provided both triangles keep their orientation.
    fn flip(mut self, fraction: f32, rng: &mut Rng) -> Self {
        let mut of_edge = BTreeMap::<[u32; 2], Vec<usize>>::new();
        for (index, &[a, b, c]) in self.triangles.iter().enumerate() {
            for [a, b] in [[a, b], [b, c], [c, a]] {
                of_edge.entry([a.min(b), a.max(b)]).or_default().push(index);
            }
        }
        let mut is_changed = vec![false; self.triangles.len()];
        for ([a, b], triangles) in &of_edge {
            let &[first, second] = &triangles[..] else { continue };
            if is_changed[first] || is_changed[second] || rng.unit() >= fraction {
                continue;
            }
            let apex = |index: usize| {
                self.triangles[index]
                    .into_iter()
                    .find(|corner| corner != a && corner != b)
                    .expect("a third corner")
            };
            let [c, d] = [first, second].map(apex);
            let oriented = |[a, b, c]: [u32; 3], [x, y, z]: [u32; 3]| {
                let area = |[a, b, c]: [u32; 3]| {
                    let [a, b, c] = [a, b, c].map(|k| self.points[k as usize]);
                    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
                };
                area([a, b, c]) * area([x, y, z]) > 0.05
            };
            let before = self.triangles[first];
            let after = [[c, d, *b], [d, c, *a]].map(|flipped| {
                if oriented(flipped, before) {
                    flipped
                } else {
                    [flipped[1], flipped[0], flipped[2]]
                }
            });
            if c != d
                && !of_edge.contains_key(&[c.min(d), c.max(d)])
                && after.iter().all(|&flipped| oriented(flipped, before))
            {
                (self.triangles[first], self.triangles[second]) = (after[0], after[1]);
                (is_changed[first], is_changed[second]) = (true, true);
            }
        }
        self
    }

    fn mesh(self, position: impl Fn([f32; 2]) -> [f32; 3]) -> Mesh {
        Mesh {
            positions: self.points.into_iter().map(position).collect(),
            triangles: self.triangles,
            ..Mesh::default()
        }
    }
}

/// A hanging sheet with a spacing of 1 cm.
fn sheet(columns: u32, rows: u32, jitter: f32, flips: f32, rng: &mut Rng) -> Mesh {
    Patch::new(columns, rows, jitter, false, rng)
        .flip(flips, rng)
        .mesh(|[x, y]| [0.01 * x, -0.01 * y, 0.002 * (0.4 * x).sin()])
}

/// A garment: a tube that widens downwards, with a waist and a spacing of 1 cm.
fn garment(columns: u32, rows: u32, jitter: f32, flips: f32, rng: &mut Rng) -> Mesh {
    let mut patch = Patch::new(columns, rows, jitter, true, rng);
    // The seam of the plane does not exist in space: flips across it would see triangles as wide as
    // the plane.
    let rim: Vec<_> =
        patch.triangles.iter().copied().filter(|t| t.iter().any(|k| k % columns < 2)).collect();
    patch.triangles.retain(|t| t.iter().all(|k| k % columns >= 2));
    let mut patch = patch.flip(flips, rng);
    patch.triangles.extend(rim);
    let radius = 0.01 * columns as f32 / TAU;
    patch.mesh(move |[x, y]| {
        let (sin, cos) = (x / columns as f32 * TAU).sin_cos();
        let radius = radius * (1.0 + 0.3 * y / rows as f32 - 0.15 * (6.0 * y / rows as f32).sin());
        [radius * cos, -0.01 * y, 0.7 * radius * sin]
    })
}

/// A subdivided octahedron: closed, with vertices of four and six edges.
fn sphere(level: u32, rng: &mut Rng) -> Mesh {
    let mut positions =
        [[1., 0., 0.], [-1., 0., 0.], [0., 1., 0.], [0., -1., 0.], [0., 0., 1.], [0., 0., -1.]]
            .map(Vec3::from)
            .to_vec();
    let mut triangles = vec![
        [0, 2, 4],
        [2, 1, 4],
        [1, 3, 4],
        [3, 0, 4],
        [2, 0, 5],
        [1, 2, 5],
        [3, 1, 5],
        [0, 3, 5],
    ];
    for _ in 0..level {
        let mut middles = BTreeMap::new();
        let mut middle = |a: u32, b: u32| {
            *middles.entry([a.min(b), a.max(b)]).or_insert_with(|| {
                let jitter = Vec3::new(rng.unit(), rng.unit(), rng.unit()) - 0.5;
                let length = positions[a as usize].distance(positions[b as usize]);
                positions.push(
                    (positions[a as usize] + positions[b as usize] + jitter * 0.3 * length)
                        .normalize(),
                );
                positions.len() as u32 - 1
            })
        };
        triangles = triangles
            .into_iter()
            .flat_map(|[a, b, c]| {
                let [ab, bc, ca] = [middle(a, b), middle(b, c), middle(c, a)];
                [[a, ab, ca], [b, bc, ab], [c, ca, bc], [ab, bc, ca]]
            })
            .collect();
    }
    Mesh { positions: positions.iter().map(Vec3::to_array).collect(), triangles, ..Mesh::default() }
}

/// Two sheets that cross in a common column: edges of four faces.
fn crossed(rng: &mut Rng) -> Mesh {
    let mut mesh = sheet(15, 20, 0.3, 0.1, rng);
    let first = mesh.positions.len() as u32;
    let column = |k: u32| k % 15 == 7;
    let rotated: Vec<_> = mesh.positions.iter().map(|&[x, y, z]| [0.07 + z, y, x - 0.07]).collect();
    mesh.positions.extend(rotated);
    let joined = |k: u32| if column(k) { k } else { k + first };
    let again: Vec<_> = mesh.triangles.iter().map(|triangle| triangle.map(joined)).collect();
    mesh.triangles.extend(again);
    mesh
}

/// Checks cooked meshes of every kind with a few pins.
fn for_meshes(check: impl Fn(&str, &CookOptions, &Cooked)) {
    for seed in 0..12 {
        let mut rng = Rng::new(seed);
        let (jitter, flips) = (rng.unit() * 0.6, rng.unit() * 0.4);
        let meshes = [
            ("sheet", sheet(20, 25, jitter, flips, &mut rng)),
            ("garment", garment(40, 20, jitter, flips, &mut rng)),
            ("sphere", sphere(3, &mut rng)),
            ("crossed sheets", crossed(&mut rng)),
        ];
        for (name, mesh) in meshes {
            let count = mesh.positions.len() as u32;
            let options = CookOptions {
                pins: (0..rng.below(12)).map(|_| rng.below(count)).collect(),
                max_turn: if seed % 3 == 0 { 0.3 + rng.unit() } else { FRAC_PI_4 },
                max_fiber_length: Some([16, 1, 5, 1024][seed as usize % 4]),
                gravity: [0.0, -9.8, 0.0],
                ..CookOptions::default()
            };
            let cooked = cook(&mesh, &options).expect("the mesh cooks");
            cooked
                .clone()
                .into_cloth()
                .validate()
                .unwrap_or_else(|error| panic!("{name}, seed {seed}: {error}"));
            check(&format!("{name}, seed {seed}"), &options, &cooked);
        }
    }
}

/// Fibers of one kind.
fn fibers_of(cooked: &Cooked, kind: PhaseKind) -> Vec<Vec<u32>> {
    let fabric = &cooked.fabric;
    let phases = fabric.phases.iter().filter(|phase| phase.kind == kind);
    let sets = phases.flat_map(|phase| phase.set_begin as usize..phase.set_end as usize);
    let fibers = sets.flat_map(|set| fabric.set_fiber_begin[set]..fabric.set_fiber_begin[set + 1]);
    fibers.map(|fiber| fabric.fiber_vertices(fiber as usize).to_vec()).collect()
}

fn stretch_fibers(cooked: &Cooked) -> Vec<Vec<u32>> {
    [fibers_of(cooked, PhaseKind::Vertical), fibers_of(cooked, PhaseKind::Horizontal)].concat()
}

fn position(cooked: &Cooked, particle: u32) -> Vec3 {
    glam::Vec3::from(cooked.particles[particle as usize].position)
}

fn is_pinned(cooked: &Cooked, particle: u32) -> bool {
    cooked.particles[particle as usize].is_pinned()
}

#[test]
fn every_non_diagonal_side_is_in_exactly_one_stretch_fiber() {
    for_meshes(|name, _, cooked| {
        let pairs = |fibers: Vec<Vec<u32>>| -> Vec<[u32; 2]> {
            fibers
                .iter()
                .flat_map(|fiber| {
                    fiber.windows(2).map(|pair| [pair[0].min(pair[1]), pair[0].max(pair[1])])
                })
                .collect()
        };
        let mut stretch = pairs(stretch_fibers(cooked));
        stretch.sort_unstable();
        let shearing = pairs(fibers_of(cooked, PhaseKind::Shearing));
        let sides = cooked.fabric.triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
        let mut sides: Vec<_> = sides
            .map(|[a, b]| [a.min(b), a.max(b)])
            .filter(|pair| !shearing.contains(pair))
            .collect();
        sides.retain(|&[a, b]| !is_pinned(cooked, a) || !is_pinned(cooked, b));
        sides.sort_unstable();
        sides.dedup();
        assert_eq!(stretch, sides, "{name}");
        let report = &cooked.report;
        assert_eq!(
            (report.stretch_edge_count, report.stretch_coverage()),
            (sides.len(), 1.0),
            "{name}"
        );
        assert_eq!(report.stretch_lengths().edge_count(), sides.len(), "{name}");
    });
}

#[test]
fn fibers_respect_the_turn_limit_and_visit_particles_once() {
    for_meshes(|name, options, cooked| {
        let mut normals = vec![Vec3::ZERO; cooked.particles.len()];
        for triangle in &cooked.fabric.triangles {
            let [a, b, c] = triangle.map(|corner| position(cooked, corner));
            triangle.iter().for_each(|&corner| normals[corner as usize] += (b - a).cross(c - a));
        }
        for fiber in PhaseKind::ALL.into_iter().flat_map(|kind| fibers_of(cooked, kind)) {
            for triple in fiber.windows(3) {
                let [a, b, c] = [0, 1, 2].map(|k| position(cooked, triple[k]));
                let normal = normals[triple[1] as usize].normalize();
                let flat =
                    |direction: Vec3| (direction - normal * normal.dot(direction)).normalize();
                let deflection = flat(b - a).angle_between(flat(c - b));
                assert!(
                    deflection <= options.max_turn + 2e-3,
                    "{name}: {deflection} at {triple:?}"
                );
            }
            let mut vertices = fiber.clone();
            vertices.sort_unstable();
            vertices.dedup();
            assert_eq!(vertices.len(), fiber.len(), "{name}");
            assert!(fiber.len() - 1 <= options.max_fiber_length.unwrap() as usize, "{name}");
        }
    });
}

#[test]
fn pins_are_at_fiber_ends_and_fibers_begin_at_the_top() {
    for_meshes(|name, _, cooked| {
        for kind in PhaseKind::ALL {
            for fiber in fibers_of(cooked, kind) {
                let (first, last) = (fiber[0], fiber[fiber.len() - 1]);
                assert!(
                    fiber[1..fiber.len() - 1].iter().all(|&inner| !is_pinned(cooked, inner)),
                    "{name}: {fiber:?}"
                );
                let [at_first, at_last] = [first, last].map(|end| is_pinned(cooked, end));
                assert!(at_first || !at_last, "{name}: the pin of {fiber:?} is its end");
                if kind == PhaseKind::Vertical && at_first == at_last {
                    assert!(
                        position(cooked, first).y >= position(cooked, last).y,
                        "{name}: {fiber:?} begins below"
                    );
                }
            }
        }
    });
}

#[test]
fn fibers_of_a_set_share_no_moving_particle() {
    for_meshes(|name, _, cooked| {
        let fabric = &cooked.fabric;
        for set in fabric.set_fiber_begin.windows(2) {
            let fibers = (set[0]..set[1]).map(|fiber| fabric.fiber_vertices(fiber as usize));
            let mut moving: Vec<u32> =
                fibers.flatten().copied().filter(|&vertex| !is_pinned(cooked, vertex)).collect();
            let count = moving.len();
            moving.sort_unstable();
            moving.dedup();
            assert_eq!(moving.len(), count, "{name}");
        }
    });
}

#[test]
fn stretch_fibers_follow_their_direction() {
    for seed in 0..10 {
        let mut rng = Rng::new(seed);
        let mesh = sheet(40, 40, 0.6, 0.1, &mut rng);
        let cooked =
            cook(&mesh, &CookOptions { max_fiber_length: Some(1024), ..CookOptions::default() })
                .unwrap();
        for (kind, sign) in [(PhaseKind::Vertical, 1.0), (PhaseKind::Horizontal, -1.0)] {
            for fiber in fibers_of(&cooked, kind) {
                let steps = fiber.windows(2).map(|pair| {
                    (position(&cooked, pair[1]) - position(&cooked, pair[0])).truncate()
                });
                let along: Vec<f32> = steps
                    .map(|d| sign * (d.y * d.y / d.length_squared() - 0.5) * d.length())
                    .collect();
                // Edges are 1 cm long: a chain as a whole keeps its direction, and no part of it
                // deviates by much more than the two edges that a cut costs.
                assert!(along.iter().sum::<f32>() > -5e-4, "seed {seed}: {kind:?} {fiber:?}");
                let strays = along.iter().fold((0.0f32, 0.0f32), |(now, worst), x| {
                    ((now + x).min(0.0), worst.min(now + x))
                });
                assert!(strays.1 > -0.03, "seed {seed}: {kind:?} {fiber:?} strays by {}", strays.1);
            }
        }
    }
}

#[test]
fn cooking_is_deterministic() {
    for_meshes(|name, options, cooked| {
        let mesh = Mesh {
            positions: cooked.particles.iter().map(|particle| particle.position).collect(),
            triangles: cooked.fabric.triangles.clone(),
            ..Mesh::default()
        };
        assert_eq!(cook(&mesh, options), cook(&mesh, options), "{name}");
    });
}

#[test]
fn longest_fibers_of_an_irregular_garment_average_8_edges() {
    for seed in 0..4 {
        // Two thirds of the vertices have six edges, the rest mostly five or seven: similar to
        // garments from a modelling tool.
        let mesh = garment(90, 70, 0.2, 0.04, &mut Rng::new(seed));
        let pins = (0..90).collect();
        let report = cook(&mesh, &CookOptions { pins, ..CookOptions::default() }).unwrap().report;
        assert_eq!(report.stretch_coverage(), 1.0);
        assert!(
            report.stretch_fiber_length() >= 8.0,
            "seed {seed}: {}",
            report.stretch_fiber_length()
        );
        let sets = report.phases.iter().map(|phase| phase.set_count).collect::<Vec<_>>();
        assert!(sets.iter().all(|&count| count <= 8), "seed {seed}: {sets:?}");
    }
}

#[test]
fn vertical_fibers_of_a_rough_sheet_average_5_edges() {
    for seed in 0..4 {
        let mut rng = Rng::new(seed);
        let report =
            cook(&sheet(60, 60, 0.4, 0.05, &mut rng), &CookOptions::default()).unwrap().report;
        let vertical =
            report.phases.iter().find(|phase| phase.kind == PhaseKind::Vertical).unwrap();
        assert!(vertical.lengths.mean() >= 5.0, "seed {seed}: {}", vertical.lengths.mean());
    }
}
