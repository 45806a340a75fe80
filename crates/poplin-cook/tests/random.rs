//! Invariants of cooking on random meshes: soups of faces, crumpled grids, and grids with holes.

use poplin_cook::{CookOptions, Cooked, Direction, Tethers, Weld, cook};
use poplin_geometry::Rng;
use poplin_model::Mesh;

/// Faces between random vertices, some of them coincident, which do not form a surface.
fn soup(rng: &mut Rng) -> Mesh {
    let count = 3 + rng.below(40);
    let mut mesh = Mesh::default();
    for _ in 0..count {
        let coarse = rng.below(2) == 0;
        mesh.positions.push(
            [(); 3].map(|()| if coarse { (rng.unit() * 3.0).floor() } else { rng.unit() * 2.0 }),
        );
        mesh.uvs.push([rng.unit(), rng.unit()]);
    }
    for _ in 0..1 + rng.below(60) {
        mesh.triangles.push([(); 3].map(|()| rng.below(count)));
    }
    for _ in 0..rng.below(30) {
        mesh.quads.push([(); 4].map(|()| rng.below(count)));
    }
    mesh
}

/// A grid of triangles and quads with jitter and holes.
fn crumpled(rng: &mut Rng) -> Mesh {
    let mut mesh = Mesh::grid(2 + rng.below(12), 2 + rng.below(12), 1.0, 1.0);
    let jitter = rng.unit() * 0.1;
    for position in &mut mesh.positions {
        position.iter_mut().for_each(|x| *x += (rng.unit() - 0.5) * jitter);
    }
    for [a, b, c, d] in std::mem::take(&mut mesh.quads) {
        match rng.below(5) {
            0 => mesh.quads.push([a, b, c, d]),
            1 | 2 => mesh.triangles.extend([[a, b, c], [c, d, a]]),
            3 => mesh.triangles.extend([[b, c, d], [d, a, b]]),
            _ => {}
        }
    }
    mesh
}

fn options(rng: &mut Rng, mesh: &Mesh) -> CookOptions {
    let count = mesh.positions.len() as u32;
    CookOptions {
        weld: [Weld::Off, Weld::Distance(0.0), Weld::Relative(1e-6), Weld::Distance(0.05)]
            [rng.below(4) as usize],
        pins: (0..rng.below(6)).map(|_| rng.below(count)).collect(),
        direction: Direction::ALL[rng.below(2) as usize],
        gravity: [rng.unit() - 0.5, -0.3, 0.1],
        max_fiber_length: Some(1 + rng.below(20)),
        max_turn: rng.unit() * 3.0,
        bending: rng.below(4) > 0,
        quadify: rng.below(2) == 0,
        tethers: [Tethers::None, Tethers::Euclidean, Tethers::Geodesic][rng.below(3) as usize],
        max_tethers_per_particle: 1 + rng.below(4),
        vertex_stiffness: if rng.below(2) == 0 {
            Vec::new()
        } else {
            (0..count).map(|_| rng.unit()).collect()
        },
        ..CookOptions::default()
    }
}

fn cook_random(seed: u64) -> Option<(Mesh, CookOptions, Cooked)> {
    let mut rng = Rng::new(seed);
    let mesh = if seed.is_multiple_of(2) { soup(&mut rng) } else { crumpled(&mut rng) };
    let options = options(&mut rng, &mesh);
    // A soup may lose every face, and a grid may consist of holes; both cases are errors.
    let cooked = cook(&mesh, &options).ok()?;
    Some((mesh, options, cooked))
}

fn for_random_meshes(mut check: impl FnMut(u64, &Mesh, &CookOptions, &Cooked)) {
    let mut cooked_count = 0;
    for seed in 0..400 {
        if let Some((mesh, options, cooked)) = cook_random(seed) {
            check(seed, &mesh, &options, &cooked);
            cooked_count += 1;
        }
    }
    assert!(cooked_count > 350, "only {cooked_count} of 400 meshes cooked");
}

#[test]
fn every_fabric_is_valid_and_race_free() {
    for_random_meshes(|seed, _, _, cooked| {
        let result = cooked.clone().into_cloth().validate();
        assert!(result.is_ok(), "seed {seed}: {result:?}");
    });
}

#[test]
fn every_edge_is_in_one_fiber_and_none_joins_two_pins() {
    for_random_meshes(|seed, _, _, cooked| {
        let mut pairs: Vec<[u32; 2]> =
            cooked.fabric.edges().map(|(_, [a, b])| [a.min(b), a.max(b)]).collect();
        let count = pairs.len();
        pairs.sort_unstable();
        pairs.dedup();
        assert_eq!(pairs.len(), count, "seed {seed}: a pair occurs twice");
        let pinned = |particle: u32| cooked.particles[particle as usize].is_pinned();
        assert!(pairs.iter().all(|&[a, b]| a != b && !(pinned(a) && pinned(b))), "seed {seed}");
    });
}

#[test]
fn every_side_of_a_face_is_an_edge() {
    for_random_meshes(|seed, _, _, cooked| {
        let mut pairs: Vec<[u32; 2]> =
            cooked.fabric.edges().map(|(_, [a, b])| [a.min(b), a.max(b)]).collect();
        pairs.sort_unstable();
        for &[a, b, c] in &cooked.fabric.triangles {
            for [a, b] in [[a, b], [b, c], [c, a]] {
                let [p, q] = [a, b].map(|corner| cooked.particles[corner as usize]);
                if (p.inverse_mass > 0.0 || q.inverse_mass > 0.0) && p.position != q.position {
                    assert!(
                        pairs.binary_search(&[a.min(b), a.max(b)]).is_ok(),
                        "seed {seed}: {a} {b} can stretch"
                    );
                }
            }
        }
    });
}

#[test]
fn fibers_respect_the_length_limit_and_visit_particles_once() {
    for_random_meshes(|seed, _, options, cooked| {
        for fiber in 0..cooked.fabric.fiber_count() {
            let mut vertices = cooked.fabric.fiber_vertices(fiber).to_vec();
            assert!(
                (2..=options.max_fiber_length.unwrap() as usize + 1).contains(&vertices.len()),
                "seed {seed}"
            );
            vertices.sort_unstable();
            assert!(
                vertices.windows(2).all(|pair| pair[0] != pair[1]),
                "seed {seed}: fiber {fiber} meets itself"
            );
        }
    });
}

#[test]
fn rest_lengths_are_distances_and_tethers_are_not_shorter() {
    for_random_meshes(|seed, _, _, cooked| {
        let at = |particle: u32| glam::Vec3::from(cooked.particles[particle as usize].position);
        for (edge, [a, b]) in cooked.fabric.edges() {
            assert!(
                (cooked.fabric.rest_lengths[edge] - at(a).distance(at(b))).abs() < 1e-5,
                "seed {seed}"
            );
        }
        let count = cooked.particles.len();
        for (k, (&anchor, &length)) in
            cooked.fabric.tether_anchors.iter().zip(&cooked.fabric.tether_lengths).enumerate()
        {
            let particle = (k % count) as u32;
            assert!(
                length >= at(anchor).distance(at(particle)) - 1e-5,
                "seed {seed}: tether {k} would pull at rest"
            );
            assert!(
                anchor == particle || cooked.particles[anchor as usize].is_pinned(),
                "seed {seed}: no pin"
            );
        }
    });
}

#[test]
fn triangle_shapes_match_side_lengths_or_are_zero() {
    for_random_meshes(|seed, _, _, cooked| {
        let at = |particle: u32| glam::Vec3::from(cooked.particles[particle as usize].position);
        assert_eq!(cooked.fabric.triangle_shapes.len(), cooked.fabric.triangles.len());
        for (corners, shape) in cooked.fabric.triangles.iter().zip(&cooked.fabric.triangle_shapes) {
            let [a, b, c] = corners.map(|corner| at(corner).as_dvec3());
            let sides = [b - a, c - b, a - c].map(|side| side.length());
            let longest = sides.into_iter().fold(0.0, f64::max);
            let height = (b - a).cross(c - a).length() / longest.max(f64::MIN_POSITIVE);
            if *shape == [0.0; 4] {
                assert!(height <= 1e-6 * longest, "seed {seed}: {corners:?} has an area");
                continue;
            }
            let [u1, v1, u2, v2] = shape.map(f64::from);
            let of_shape = [u1.hypot(v1), (u2 - u1).hypot(v2 - v1), u2.hypot(v2)];
            for (side, expected) in of_shape.into_iter().zip(sides) {
                assert!((side - expected).abs() < 1e-6 * longest, "seed {seed}: {corners:?}");
            }
            assert!(u1 * v2 - u2 * v1 > 0.0, "seed {seed}: {corners:?} runs clockwise");
        }
    });
}

#[test]
fn every_kept_vertex_is_at_its_particle() {
    for_random_meshes(|seed, mesh, options, cooked| {
        let tolerance = if let Weld::Distance(distance) = options.weld { distance } else { 1e-5 };
        for (vertex, particle) in cooked.vertex_to_particle.iter().enumerate() {
            if let Some(particle) = particle {
                let at = glam::Vec3::from(cooked.particles[*particle as usize].position);
                let distance = at.distance(glam::Vec3::from(mesh.positions[vertex]));
                assert!(
                    distance <= tolerance * 1.001,
                    "seed {seed}: vertex {vertex} is {distance} m off"
                );
            }
        }
    });
}

#[test]
fn cooking_is_deterministic() {
    for_random_meshes(|seed, mesh, options, cooked| {
        assert_eq!(cook(mesh, options).as_ref(), Ok(cooked), "seed {seed}");
    });
}
