//! Energies, one element or one deformed sheet at a time.

use poplin_geometry::Rng;

use super::common::{assert_near, cross, dot, length, minus};
use poplin_oracle::bend_angle;
use poplin_oracle::implicit::{
    BendModel, Diagonals, Element, FaceAngle, GridSheet, ImplicitCloth, Isometric, Law,
    PlaneProjection, Spring, StretchShear, Trispring, bends, stretch_shear, trisprings,
};

const FLAT: [[f64; 3]; 4] = [[0.0; 3], [1.0, 0.1, 0.0], [0.4, 0.9, 0.0], [0.5, -0.8, 0.0]];

/// One of each law, with the rest shape `FLAT`.
fn laws() -> Vec<Law> {
    let coordinates = [0, 1, 2].map(|i| [FLAT[i][0], FLAT[i][1]]);
    let corners = [FLAT[0], FLAT[1], FLAT[2]];
    let spring = |compression| {
        Law::Spring(Spring { stiffness: 300.0, rest_length: length(FLAT[1]), compression })
    };
    vec![
        spring(1.0),
        spring(0.25),
        Law::StretchShear(StretchShear::new(coordinates, [200.0, 300.0], 80.0)),
        Law::Trispring(Trispring::new(corners, 250.0, 0.3)),
        Law::Trispring(Trispring::new(corners, 250.0, -0.5)),
        Law::FaceAngle(FaceAngle { stiffness: 2.0, rest_angle: 0.4 }),
        Law::PlaneProjection(PlaneProjection::new(FLAT, 2.0, 0.4).expect("FLAT has heights")),
        Law::Isometric(Isometric::new(FLAT, 2.0).expect("FLAT has heights")),
    ]
}

/// Flat, random and folded shapes, none exactly at rest: there a spring that is softer in
/// compression has a kink.
fn shapes() -> Vec<[[f64; 3]; 4]> {
    let mut rng = Rng::new(5);
    let mut shapes = vec![FLAT.map(|x| x.map(|x| 1.05 * x))];
    shapes.extend((0..30).map(|_| {
        FLAT.map(|x| {
            let shift = rng.point_f64(-0.4, 0.4);
            [0, 1, 2].map(|k| x[k] + shift[k])
        })
    }));
    shapes.extend([0.5, 1.5, 2.5, 3.0, -1.0, -2.9].map(|angle: f64| {
        let mut folded = FLAT.map(|x| x.map(|x| 1.05 * x));
        folded[3] = [0.5, -0.8 * angle.cos(), 0.8 * angle.sin()];
        folded
    }));
    shapes
}

/// Laws without damping, and with damping from another shape.
fn damped_laws() -> Vec<Law> {
    let before = shapes()[3];
    laws().into_iter().flat_map(|law| [law, law.damped(before, 0.7)]).collect()
}

#[test]
fn gradients_are_the_differences_of_energies() {
    for law in damped_laws() {
        for x in shapes() {
            let gradient = law.gradient(x);
            let scale = gradient.iter().map(|&g| length(g)).fold(1e-3, f64::max);
            for i in 0..law.arity() {
                for axis in 0..3 {
                    let at = |shift: f64| {
                        let mut x = x;
                        x[i][axis] += shift;
                        law.energy(x)
                    };
                    let step = 1e-5;
                    // Fourth order, so that a step well above rounding is accurate.
                    let difference = (8.0 * (at(step) - at(-step)) - at(2.0 * step)
                        + at(-2.0 * step))
                        / (12.0 * step);
                    let error = (difference - gradient[i][axis]).abs() / scale;
                    assert!(error < 1e-6, "{law:?} at {x:?}: {error:e}");
                }
            }
        }
    }
}

#[test]
fn forces_and_torques_sum_to_0() {
    for law in damped_laws() {
        // The rest vector of a damped isometric bend is fixed in space.
        let is_anchored = matches!(law, Law::Isometric(bend) if bend.rest != [0.0; 3]);
        for x in shapes() {
            let gradient = law.gradient(x);
            let scale = gradient.iter().map(|&g| length(g)).fold(1e-3, f64::max);
            let sum = |of: &dyn Fn(usize) -> [f64; 3]| {
                (0..4).map(of).fold([0.0; 3], |sum, v| [0, 1, 2].map(|k| sum[k] + v[k]))
            };
            assert!(length(sum(&|i| gradient[i])) < 1e-12 * scale, "{law:?} at {x:?}");
            let torque = length(sum(&|i| cross(x[i], gradient[i])));
            assert!(is_anchored || torque < 1e-12 * scale, "{law:?} at {x:?}: {torque:e}");
        }
    }
}

#[test]
fn products_with_the_hessian_are_symmetric_and_never_negative() {
    let mut rng = Rng::new(9);
    let inner = |a: [[f64; 3]; 4], b: [[f64; 3]; 4]| -> f64 {
        a.iter().zip(b).map(|(&a, b)| dot(a, b)).sum()
    };
    for law in damped_laws() {
        for x in shapes() {
            let [a, b] = [(); 2].map(|()| [(); 4].map(|()| rng.point_f64(-1.0, 1.0)));
            let (ha, hb) = (law.hessian_product(x, a), law.hessian_product(x, b));
            let scale = inner(ha, ha).sqrt() + inner(hb, hb).sqrt();
            assert!((inner(ha, b) - inner(hb, a)).abs() <= 1e-12 * scale, "{law:?} at {x:?}");
            assert!(inner(ha, a) >= -1e-12 * scale, "{law:?} at {x:?}");
        }
    }
}

#[test]
fn without_stress_the_hessian_is_the_difference_of_gradients() {
    let mut rng = Rng::new(10);
    for law in laws() {
        // Without force the terms that the positive semi-definite part drops are 0.
        let mut x = FLAT;
        if let Law::FaceAngle(_) | Law::PlaneProjection(_) = law {
            let (sin, cos) = 0.4f64.sin_cos();
            let (edge, far) = (FLAT[1], FLAT[3]);
            let foot = dot(far, edge) / dot(edge, edge);
            let arm = minus(far, edge.map(|e| foot * e));
            x[3] = [0, 1, 2].map(|k| foot * edge[k] + cos * arm[k]);
            x[3][2] = -sin * length(arm);
        }
        assert!(law.energy(x) < 1e-20, "{law:?}: {}", law.energy(x));
        if matches!(law, Law::Spring(spring) if spring.compression < 1.0) {
            continue;
        }
        let v = [(); 4].map(|()| rng.point_f64(-1.0, 1.0));
        let step = 1e-5;
        let at = |factor: f64| {
            let mut x = x;
            x.as_flattened_mut()
                .iter_mut()
                .zip(v.as_flattened())
                .for_each(|(x, v)| *x += factor * v);
            law.gradient(x)
        };
        let (ahead, behind, product) = (at(step), at(-step), law.hessian_product(x, v));
        let scale = product.iter().map(|&g| length(g)).fold(0.0, f64::max);
        for i in 0..4 {
            for k in 0..3 {
                let difference = (ahead[i][k] - behind[i][k]) / (2.0 * step);
                assert_near(&format!("{law:?}"), product[i][k], difference, 1e-6 * scale);
            }
        }
    }
}

#[test]
fn a_degenerate_element_does_nothing() {
    let thin = [[0.0; 3], [1.0, 0.0, 0.0], [0.3, 1e-7, 0.0], [0.6, -1.0, 0.0]];
    let hinge = |law: &&Law| matches!(law, Law::FaceAngle(_) | Law::PlaneProjection(_));
    for law in laws().iter().filter(hinge) {
        assert_eq!((law.energy(thin), law.gradient(thin)), (0.0, [[0.0; 3]; 4]), "{law:?}");
    }
    for law in laws() {
        assert_eq!(law.gradient([[0.0; 3]; 4]), [[0.0; 3]; 4], "{law:?}");
    }
    let line = [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]];
    let flat = [[0.0; 3], [1.0, 1.0, 0.0], [2.0, 2.0, 0.0]];
    for law in [
        Law::StretchShear(StretchShear::new(line, [1.0; 2], 1.0)),
        Law::Trispring(Trispring::new(flat, 1.0, 0.3)),
    ] {
        assert_eq!(law.gradient(FLAT), [[0.0; 3]; 4], "{law:?}");
    }
    assert_eq!(PlaneProjection::new(thin, 1.0, 0.0), None);
    assert_eq!(Isometric::new(thin, 1.0), None);
}

#[test]
fn the_angle_of_a_hinge_is_that_around_its_edge() {
    for x in shapes() {
        // A unit stiffness and no rest angle: the energy is half the squared angle.
        let angle = (2.0 * FaceAngle { stiffness: 1.0, rest_angle: 0.0 }.energy(x)).sqrt();
        assert_near("angle", angle, bend_angle(x).abs(), 1e-12);
    }
}

#[test]
fn the_error_of_an_angle_is_the_shorter_rotation() {
    let mut x = FLAT;
    // p3 folded by 3 rad about the edge from p0 to p1, relative to a rest angle of -3: 6 rad, or 6
    // - 2 pi.
    let axis = FLAT[1].map(|e| e / length(FLAT[1]));
    let foot = axis.map(|a| a * dot(FLAT[3], axis));
    let arm = minus(FLAT[3], foot);
    let up = cross(axis, arm);
    x[3] = [0, 1, 2].map(|k| foot[k] + 3f64.cos() * arm[k] + 3f64.sin() * up[k]);
    let angle = bend_angle(x);
    assert_near("angle", angle.abs(), 3.0, 1e-12);
    let law = FaceAngle { stiffness: 2.0, rest_angle: -angle };
    assert_near("energy", law.energy(x), (std::f64::consts::TAU - 6.0).powi(2), 1e-12);
    let damped = law.damped(x, 1.0);
    assert_near(
        "rest",
        (damped.rest_angle + angle).abs(),
        0.5 * (std::f64::consts::TAU - 6.0),
        1e-12,
    );
}

#[test]
fn below_its_length_a_spring_has_the_fraction_of_compression() {
    let law = |compression| Spring { stiffness: 10.0, rest_length: 1.0, compression };
    let at = |length: f64| [[0.0; 3], [length, 0.0, 0.0]];
    for compression in [0.0, 0.3, 1.0] {
        assert_near("short", law(compression).gradient(at(0.8))[1][0], -2.0 * compression, 1e-12);
        assert_near("long", law(compression).gradient(at(1.2))[1][0], 2.0, 1e-12);
    }
}

/// Energy of a cloth of these elements per area, on a sheet of 1 m that `map` deforms.
fn energy(elements: Vec<Element>, grid: &GridSheet, map: impl Fn([f64; 2]) -> [f64; 3]) -> f64 {
    let cloth = ImplicitCloth { stretch: elements, ..ImplicitCloth::default() };
    cloth.potential(&grid.coordinates().into_iter().map(map).collect::<Vec<_>>())
}

const K: f64 = 1000.0;
const SHEAR: f64 = 300.0;

#[test]
fn a_strain_stores_half_of_stiffness_times_its_square() {
    let grid = GridSheet::square(9);
    let triangles = grid.triangles();
    let eps = 1e-4;
    let poisson_ratio = 0.3;
    let without_shear = grid.springs([K; 2], 0.0, 1.0);
    let membrane = || stretch_shear(&grid.coordinates(), &triangles, [K; 2], SHEAR);
    let trispring = || trisprings(&grid.positions(), &triangles, K, poisson_ratio);
    let narrow = |[u, v]: [f64; 2]| [u * (1.0 + eps), v * (1.0 - poisson_ratio * eps), 0.0];
    let stretched = [
        energy(without_shear.clone(), &grid, |[u, v]| [u * (1.0 + eps), v, 0.0]),
        energy(without_shear, &grid, |[u, v]| [u, v * (1.0 + eps), 0.0]),
        energy(membrane(), &grid, |[u, v]| [u * (1.0 + eps), v, 0.0]),
        energy(trispring(), &grid, narrow),
    ];
    for energy in stretched {
        assert_near("stretch", energy / (0.5 * K * eps * eps), 1.0, 5e-4);
    }
    let sheared = |elements| energy(elements, &grid, |[u, v]| [u + eps * v, v, 0.0]);
    let mu = K / (2.0 * (1.0 + poisson_ratio));
    for (elements, modulus) in
        [(grid.springs([0.0; 2], SHEAR, 1.0), SHEAR), (membrane(), SHEAR), (trispring(), mu)]
    {
        assert_near("shear", sheared(elements) / (0.5 * modulus * eps * eps), 1.0, 5e-4);
    }
}

/// Energy of bends of 1 N m over `kappa^2 / 2` on a cylinder of `angle` a hinge, its rest lengths
/// laid along arcs.
fn cylinder(model: BendModel, diagonals: Diagonals, angle: f64) -> f64 {
    let grid = GridSheet { columns: 9, rows: 5, spacing: [0.1, 0.15], diagonals };
    let elements = bends(&grid.positions(), &grid.triangles(), 1.0, model);
    let radius = 0.1 / angle;
    let map = |[u, v]: [f64; 2]| [radius * (u / radius).sin(), v, radius * (u / radius).cos()];
    // Seven of the eight columns of cells have their bend.
    let area = 7.0 * 0.1 * 4.0 * 0.15;
    energy(elements, &grid, map) / (0.5 * area / radius.powi(2))
}

#[test]
fn cylinder_energy_is_half_rigidity_times_squared_curvature() {
    for diagonals in [Diagonals::Forward, Diagonals::Backward, Diagonals::Alternating] {
        for model in BendModel::ALL {
            let energy = cylinder(model, diagonals, 0.01);
            assert_near(&format!("{model:?}"), energy, 1.0, 5e-4);
        }
    }
}

#[test]
fn a_plane_projection_softens_as_a_hinge_folds() {
    for (angle, expected) in [(0.1, 0.996), (0.5, 0.90), (1.0, 0.65)] {
        let ratio = cylinder(BendModel::PlaneProjection, Diagonals::Alternating, angle)
            / cylinder(BendModel::FaceAngle, Diagonals::Alternating, angle);
        assert_near("plane over face", ratio, expected, if angle < 0.2 { 5e-4 } else { 5e-3 });
    }
}

/// Force on the last row of a sheet sheared by 0.1, along the shear \[N\].
fn shear_force(elements: Vec<Element>, grid: &GridSheet) -> f64 {
    let cloth = ImplicitCloth { stretch: elements, ..ImplicitCloth::default() };
    let x: Vec<_> = grid.coordinates().into_iter().map(|[u, v]| [u + 0.1 * v, v, 0.0]).collect();
    cloth.gradient(&x)[grid.columns * (grid.rows - 1)..].iter().map(|g| g[0]).sum()
}

#[test]
fn a_shear_of_a_tenth_takes_the_force_of_the_closed_form() {
    let grid = GridSheet::square(9);
    let triangles = grid.triangles();
    let membrane = stretch_shear(&grid.coordinates(), &triangles, [K; 2], SHEAR);
    assert_near("stretch/shear", shear_force(membrane, &grid), 30.496, 1e-3);
    let trispring = trisprings(&grid.positions(), &triangles, K, 0.3);
    assert_near("trispring", shear_force(trispring, &grid), 39.011, 1e-3);
}
