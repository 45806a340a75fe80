//! Tests of the levels.

use glam::{DMat3, DVec3};
use poplin_geometry::Rng;
use poplin_model::{Mesh, Parents, Particle};

use super::*;
use crate::test_meshes::irregular;
use crate::{CookOptions, Cooked, cook};

fn cooked(mesh: &Mesh, pins: &[u32]) -> (Cooked, Hierarchy) {
    let cooked = cook(mesh, &CookOptions { pins: pins.to_vec(), ..Default::default() }).unwrap();
    let hierarchy = coarsened(&cooked.fabric, &cooked.particles);
    (cooked, hierarchy)
}

/// A closed tube and a sheet apart from it.
fn tube_and_sheet() -> Mesh {
    let mut mesh = irregular(40, 20);
    mesh.uvs.clear();
    let sheet = irregular(12, 12);
    let count = mesh.positions.len() as u32;
    for position in &mut mesh.positions {
        let (sin, cos) = (0.9 * std::f32::consts::TAU * position[0]).sin_cos();
        *position = [0.15 * cos, position[2], 0.15 * sin];
    }
    mesh.positions.extend(sheet.positions.iter().map(|[x, y, z]| [x + 3.0, *y, *z]));
    mesh.triangles.extend(sheet.triangles.iter().map(|it| it.map(|corner| corner + count)));
    mesh
}

fn position(particle: &Particle) -> DVec3 {
    wide(particle.position)
}

#[test]
fn levels_shrink_by_nine_on_a_grid() {
    let (_, hierarchy) = cooked(&Mesh::grid(64, 64, 1.0, 1.0), &[]);
    let counts: Vec<_> = hierarchy.levels.iter().map(Level::node_count).collect();
    assert_eq!(counts, [22 * 22, 64, 9]);
    let terms = hierarchy.levels[0].terms.len() as f64 / 4096.0;
    assert!(terms < 21.0, "{terms} terms per particle");
}

#[test]
fn weights_add_up_to_one() {
    for mesh in [Mesh::grid(31, 17, 1.0, 0.5), irregular(40, 30), tube_and_sheet()] {
        let pins = [3, 77];
        let (_, hierarchy) = cooked(&mesh, &pins);
        for (index, level) in hierarchy.levels.iter().enumerate() {
            for (node, parents) in level.parents.iter().enumerate() {
                let sum: f32 = parents.weights.iter().sum();
                let is_pin = index == 0 && pins.contains(&(node as u32));
                // Parts of one node have no parents either.
                let is_alone = index > 0 && sum == 0.0 && {
                    let blocks = &hierarchy.levels[index - 1].blocks;
                    !blocks.iter().any(|[a, b]| a != b && [*a, *b].contains(&(node as u32)))
                };
                let expected = if is_pin || is_alone { 0.0 } else { 1.0 };
                assert!((sum - expected).abs() < 2e-7, "node {node} of level {index}: {sum}");
            }
        }
    }
}

#[test]
fn linear_fields_are_exact() {
    for (mesh, least) in [(Mesh::grid(64, 48, 1.0, 0.75), 1.0), (irregular(60, 60), 0.95)] {
        let (cooked, hierarchy) = cooked(&mesh, &[]);
        let mut finer: Vec<u32> = (0..cooked.particles.len() as u32).collect();
        for level in &hierarchy.levels {
            let field = |particle: u32| {
                let it = position(&cooked.particles[particle as usize]);
                0.3 + 2.0 * it.x - 1.5 * it.z
            };
            let error = |(node, parents): (&u32, &Parents)| {
                let of = |(node, weight): (u32, f32)| {
                    f64::from(weight) * field(level.particles[node as usize])
                };
                (parents.iter().map(of).sum::<f64>() - field(*node)).abs()
            };
            let errors: Vec<f64> = finer.iter().zip(&level.parents).map(error).collect();
            let exact = errors.iter().filter(|it| **it < 1e-6).count() as f64 / errors.len() as f64;
            assert!(exact >= least, "{exact} of {} nodes are exact", errors.len());
            finer.clone_from(&level.particles);
        }
    }
}

/// Matrix of a level as dense rows of 3x3 blocks.
fn dense(count: usize, blocks: &[[u32; 2]], values: &[DMat3]) -> Vec<Vec<DMat3>> {
    let mut rows = vec![vec![DMat3::ZERO; count]; count];
    for (&[a, b], value) in blocks.iter().zip(values) {
        rows[a as usize][b as usize] = *value;
        rows[b as usize][a as usize] = *value;
    }
    rows
}

#[test]
fn matrices_are_those_of_galerkin() {
    for (mesh, pins) in [(Mesh::grid(21, 17, 1.0, 0.8), vec![0, 20]), (irregular(18, 18), vec![5])]
    {
        let (cooked, hierarchy) = cooked(&mesh, &pins);
        let mut rng = Rng::new(1);
        let mut random = || {
            let mut x = || rng.range_f64(-1.0, 1.0);
            let q = DVec3::new(x(), x(), x());
            DMat3::from_cols(q * q.x, q * q.y, q * q.z) + DMat3::from_diagonal(DVec3::splat(0.1))
        };
        let springs: Vec<DMat3> = hierarchy.springs.iter().map(|_| random()).collect();
        let masses: Vec<DMat3> = cooked.particles.iter().map(|_| random()).collect();
        let count = cooked.particles.len();
        let mut fine = vec![vec![DMat3::ZERO; count]; count];
        (0..count).for_each(|k| fine[k][k] += masses[k]);
        for (&[a, b], value) in hierarchy.springs.iter().zip(&springs) {
            let [a, b] = [a as usize, b as usize];
            fine[a][a] += *value;
            fine[b][b] += *value;
            fine[a][b] -= *value;
            fine[b][a] -= *value;
        }
        let mut sources: Vec<DMat3> = springs.iter().chain(&masses).copied().collect();
        for level in &hierarchy.levels {
            let count = level.node_count();
            // P^T A P
            let mut expected = vec![vec![DMat3::ZERO; count]; count];
            for (row, rows) in level.parents.iter().zip(&fine) {
                for (column, value) in level.parents.iter().zip(rows) {
                    for (a, v) in row.iter() {
                        for (b, w) in column.iter() {
                            expected[a as usize][b as usize] +=
                                *value * f64::from(v) * f64::from(w);
                        }
                    }
                }
            }
            let of_block = |block: usize| {
                level.terms_of(block).iter().fold(DMat3::ZERO, |sum, term| {
                    sum + sources[term.source as usize] * f64::from(term.factor)
                })
            };
            let values: Vec<DMat3> = (0..level.blocks.len()).map(of_block).collect();
            let found = dense(count, &level.blocks, &values);
            for (expected, found) in expected.iter().flatten().zip(found.iter().flatten()) {
                assert!((*expected - *found).abs_diff_eq(DMat3::ZERO, 1e-5), "{expected} {found}");
            }
            (fine, sources) = (expected, values);
        }
        assert!(hierarchy.levels.len() > 1, "a level over another one is tested");
    }
}

#[test]
fn parents_are_of_the_same_part_and_side() {
    let mut mesh = tube_and_sheet();
    // A second sheet right above the first: near, but not connected.
    let (count, first) = (mesh.positions.len() as u32, 41 * 21);
    let above: Vec<_> =
        mesh.positions[first..].iter().map(|[x, y, z]| [*x, y + 1e-3, *z]).collect();
    mesh.positions.extend(above);
    let shifted = mesh.triangles.iter().filter(|it| it[0] >= first as u32);
    let shifted: Vec<_> =
        shifted.map(|it| it.map(|corner| corner - first as u32 + count)).collect();
    mesh.triangles.extend(shifted);
    let part =
        |particle: u32| usize::from(particle >= first as u32) + usize::from(particle >= count);
    let (_, hierarchy) = cooked(&mesh, &[]);
    let mut finer: Vec<u32> = (0..mesh.positions.len() as u32).collect();
    for level in &hierarchy.levels {
        for (node, parents) in finer.iter().zip(&level.parents) {
            for (parent, _) in parents.iter() {
                assert_eq!(part(level.particles[parent as usize]), part(*node));
            }
        }
        finer.clone_from(&level.particles);
    }
    assert!(finer.len() >= 3, "every part has a node: {}", finer.len());
}

#[test]
fn odd_cloths_have_levels() {
    let counts =
        |hierarchy: &Hierarchy| hierarchy.levels.iter().map(Level::node_count).collect::<Vec<_>>();
    let mesh = Mesh::grid(40, 40, 1.0, 1.0);
    let (_, hierarchy) = cooked(&mesh, &(0..1600).collect::<Vec<_>>());
    assert!(counts(&hierarchy).is_empty(), "all pinned");
    // Pins without springs are no nodes.
    let (_, hierarchy) = cooked(&mesh, &(0..1599).collect::<Vec<_>>());
    assert!(counts(&hierarchy)[0] <= 2, "{:?}", counts(&hierarchy));
    let triangle = Mesh {
        positions: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
        triangles: vec![[0, 1, 2]],
        ..Mesh::default()
    };
    assert_eq!(counts(&cooked(&triangle, &[]).1), [1]);
    let apart = Fabric { particle_count: 2, ..Fabric::default() };
    assert!(counts(&coarsened(&apart, &[Particle::default(); 2])).is_empty());
}

#[test]
fn parts_of_one_node_end_their_levels() {
    let mut mesh = Mesh::default();
    for k in 0..40 {
        let part = Mesh::grid(4, 4, 0.1, 0.1);
        let first = mesh.positions.len() as u32;
        mesh.positions.extend(part.positions.iter().map(|[x, y, z]| [x + k as f32, *y, *z]));
        mesh.quads.extend(part.quads.iter().map(|it| it.map(|corner| corner + first)));
    }
    let (_, hierarchy) = cooked(&mesh, &[]);
    let counts: Vec<_> = hierarchy.levels.iter().map(Level::node_count).collect();
    assert_eq!(counts, [160, 40], "four corners of each part, then one");
}
