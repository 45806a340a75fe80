//! Shapes at rest.

use poplin_geometry::Rng;

use super::common::{G, SIGMA, assert_near, dot, fixed, length, minus, settle};
use poplin_oracle::implicit::{
    BendModel, ContactPlane, Diagonals, Element, GridSheet, ImplicitCloth, ImplicitSimulation,
    MinimizeOptions, Mixing, Objective, Outcome, bends, minimize, stretch_shear, trisprings,
};

// ---- hanging strip ----

/// Strip of 1 m and 41 rows, 0.1 m wide, K = 100 N/m, that hangs by its first row along y.
fn hang(grid: &GridSheet, stretch: Vec<Element>) -> Vec<[f64; 3]> {
    let mut inverse_masses: Vec<f64> = grid.masses(SIGMA).iter().map(|m| 1.0 / m).collect();
    inverse_masses[..grid.columns].fill(0.0);
    let cloth = ImplicitCloth { inverse_masses, stretch, ..ImplicitCloth::default() };
    settle(&cloth, &grid.positions(), [0.0, G, 0.0], &grid.fibers(), 1.0, 4)
}

/// Elongation of a St Venant-Kirchhoff strip without lateral contraction \[m\]: at stretch l the
/// nominal tension is `K l (l^2 - 1) / 2`, and at the height y it carries `w (1 - y)`.
fn elongation_of_trisprings(stiffness: f64) -> f64 {
    let stretch_at = |y: f64| {
        let load = SIGMA * G * (1.0 - y) / stiffness;
        (0..50).fold(1.0, |l: f64, _| {
            l - (0.5 * l * (l * l - 1.0) - load) / (0.5 * (3.0 * l * l - 1.0))
        })
    };
    let count = 2000;
    let middles = (0..count).map(|i| (f64::from(i) + 0.5) / f64::from(count));
    middles.map(|y| stretch_at(y) - 1.0).sum::<f64>() / f64::from(count)
}

#[test]
fn a_hanging_strip_is_as_long_as_its_stiffness_says() {
    let grid = GridSheet { columns: 5, rows: 41, ..GridSheet::square(41) };
    let (rest, triangles) = (grid.positions(), grid.triangles());
    let tip = |stretch| {
        let x = hang(&grid, stretch);
        x[grid.columns * 40..].iter().map(|x| x[1] - 1.0).sum::<f64>() / 5.0
    };
    let linear = SIGMA * G / 200.0;
    assert_near("closed form", linear, 9.810e-3, 5e-7);
    assert_near("springs", tip(grid.springs([100.0; 2], 0.0, 1.0)), linear, 1e-6);
    let membrane = stretch_shear(&grid.coordinates(), &triangles, [100.0; 2], 30.0);
    assert_near("stretch/shear", tip(membrane), linear, 2e-6);
    let closed_form = elongation_of_trisprings(100.0);
    assert_near("closed form", closed_form, 9.625e-3, 1e-6);
    assert_near("trispring", tip(trisprings(&rest, &triangles, 100.0, 0.0)), closed_form, 2e-6);
}

#[test]
fn a_hanging_strip_of_trisprings_narrows_by_its_poisson_ratio() {
    let grid = GridSheet { columns: 5, rows: 41, ..GridSheet::square(41) };
    let x = hang(&grid, trisprings(&grid.positions(), &grid.triangles(), 100.0, 0.3));
    let row = 5 * 20;
    assert_near("width", (x[row + 4][0] - x[row][0]) / 0.1, 0.9971, 1e-4);
}

// ---- patch test ----

#[test]
fn an_irregular_patch_held_by_an_affine_border_is_affine() {
    let grid = GridSheet::square(7);
    let mut rng = Rng::new(3);
    let is_inside = |i: usize| (1..6).contains(&(i % 7)) && (1..6).contains(&(i / 7));
    let coordinates: Vec<_> = (0..49)
        .zip(grid.coordinates())
        .map(|(i, x)| if is_inside(i) { x.map(|x| x + 0.05 * rng.range_f64(-1.0, 1.0)) } else { x })
        .collect();
    let rest: Vec<_> = coordinates.iter().map(|&[u, v]| [u, v, 0.0]).collect();
    let affine = |[u, v]: [f64; 2]| [1.1 * u + 0.2 * v, -0.05 * u + 1.2 * v, 0.1 * u];
    let inverse_masses =
        (0..49).map(|i| if is_inside(i) { 1000.0 } else { 0.0 }).collect::<Vec<_>>();
    let triangles = grid.triangles();
    for stretch in [
        stretch_shear(&coordinates, &triangles, [100.0, 150.0], 40.0),
        trisprings(&rest, &triangles, 100.0, 0.3),
    ] {
        let cloth = ImplicitCloth {
            inverse_masses: inverse_masses.clone(),
            stretch,
            ..ImplicitCloth::default()
        };
        // The inner particles start off their solution.
        let start: Vec<_> = (0..49)
            .map(|i| {
                let shift = if is_inside(i) { rng.point_f64(-0.02, 0.02) } else { [0.0; 3] };
                let x = affine(coordinates[i]);
                [0, 1, 2].map(|k| x[k] + shift[k])
            })
            .collect();
        let prediction = vec![[0.0; 3]; 49];
        let mut x = start;
        for _ in 0..4 {
            let objective = Objective::new(&cloth, &x, &prediction, 10.0, &[]);
            let options = MinimizeOptions {
                tolerance: 1e-9,
                iterations: 5000,
                first_step: 1e-9,
                growth: 8.0,
                divergence: f64::INFINITY,
                interval: 10,
                lags_bends: false,
                mixing: Mixing::PolakRibierePlus,
            };
            let found = minimize(&objective, &options);
            assert_eq!(found.outcome, Outcome::Converged, "{:?}", found.residuals);
            let moved = x.iter().zip(&found.displacements);
            x = moved.map(|(x, u)| [0, 1, 2].map(|k| x[k] + u[k])).collect();
        }
        let error =
            (0..49).map(|i| length(minus(x[i], affine(coordinates[i])))).fold(0.0, f64::max);
        assert!(error < 1e-9, "{error:e}");
    }
}

// ---- strips that bend ----

/// Strip of square cells, one wide, with half of the bends along each diagonal: with one diagonal
/// only it twists as it bends. Its cells resist shear, without which plane projections fold it by
/// shearing (drops of 0.75 and 0.66, not 0.70). Its first two rows are clamped, and it is `segments
/// + 1/2` cells long from the middle of the second hinge on: see `tests/cpu/xpbd`.
struct Beam {
    grid: GridSheet,
    cloth: ImplicitCloth,
}

impl Beam {
    fn new(segments: usize, model: BendModel, rigidity: f64, stretch: f64) -> Self {
        let edge = 1.0 / (segments as f64 + 0.5);
        let diagonals = Diagonals::Forward;
        let grid = GridSheet { columns: 2, rows: segments + 2, spacing: [edge; 2], diagonals };
        let rest = grid.positions();
        let both = [Diagonals::Forward, Diagonals::Backward].into_iter().flat_map(|diagonals| {
            let triangles = GridSheet { diagonals, ..grid }.triangles();
            bends(&rest, &triangles, 0.5 * rigidity, model)
        });
        let mut inverse_masses: Vec<f64> = grid.masses(SIGMA).iter().map(|m| 1.0 / m).collect();
        inverse_masses[..4].fill(0.0);
        let cloth = ImplicitCloth {
            inverse_masses,
            stretch: grid.springs([stretch; 2], 0.3 * stretch, 1.0),
            bends: both.collect(),
            ..ImplicitCloth::default()
        };
        Self { grid, cloth }
    }

    /// Mean of an axis over the last row.
    fn tip(&self, x: &[[f64; 3]], axis: usize) -> f64 {
        x[x.len() - 2..].iter().map(|x| 0.5 * x[axis]).sum()
    }
}

/// Load `w L^3 / B` of the cantilever, and the drop of the elastica over its length.
const CANTILEVER: (f64, f64) = (10.0, 0.70020);

/// Returns the elastica of the load, `theta'' = -G (1 - s) cos theta`, as positions of the rows of
/// a beam: shoots for `theta'(1) = 0`.
fn elastica(grid: &GridSheet, load: f64) -> Vec<[f64; 3]> {
    let steps = 2000;
    let ds = 1.0 / f64::from(steps);
    let shoot = |slope: f64| {
        let (mut theta, mut rate, mut at) = (0.0f64, slope, [0.0; 2]);
        let mut path = vec![at];
        for i in 0..steps {
            let s = (f64::from(i) + 0.5) * ds;
            let middle = theta + 0.5 * ds * rate;
            rate -= ds * load * (1.0 - s) * middle.cos();
            theta += ds * rate;
            at = [at[0] + ds * middle.cos(), at[1] - ds * middle.sin()];
            path.push(at);
        }
        (rate, path)
    };
    let (mut low, mut high) = (0.0, 2.0 * load);
    for _ in 0..60 {
        let slope = 0.5 * (low + high);
        if shoot(slope).0 > 0.0 { high = slope } else { low = slope }
    }
    let path = shoot(low).1;
    let edge = grid.spacing[1];
    let coordinates = grid.coordinates();
    let position = coordinates.iter().map(|&[u, v]| {
        let s = v - 0.5 * edge;
        if v < 1.5 * edge {
            return [u, v, 0.0];
        }
        let [ahead, drop] = path[((s / ds).round() as usize).min(path.len() - 1)];
        [u, 0.5 * edge + ahead, drop]
    });
    position.collect()
}

/// Drop of the tip of a beam at rest.
fn drop_at_rest(segments: usize, model: BendModel) -> f64 {
    let beam = Beam::new(segments, model, SIGMA * G / CANTILEVER.0, 1e5);
    let start = elastica(&beam.grid, CANTILEVER.0);
    let x = settle(&beam.cloth, &start, [0.0, 0.0, -G], &beam.grid.fibers(), 0.3, 8);
    -beam.tip(&x, 2)
}

#[test]
fn a_heavy_cantilever_is_the_elastica() {
    // Errors of the design [%] for 10, 20 and 40 segments; it has none for 80 and for isometric
    // bends.
    for (model, expected) in [
        (BendModel::FaceAngle, [-0.56, -0.15, -0.04, -0.01]),
        (BendModel::PlaneProjection, [1.02, 0.25, 0.07, 0.02]),
        (BendModel::Isometric, [-0.20, -0.05, -0.01, 0.0]),
    ] {
        for (segments, expected) in [10, 20, 40, 80].into_iter().zip(expected) {
            let error = 100.0 * (drop_at_rest(segments, model) / CANTILEVER.1 - 1.0);
            eprintln!("{model:?}, {segments} segments: {error:+.3} %");
            assert_near(&format!("{model:?}, {segments} segments"), error, expected, 0.01);
        }
    }
}

/// Drop of the tip of a beam after half a second from the shape of the elastica, with critical
/// damping and `substeps` steps in each of 30 frames.
fn drop_in_motion(segments: usize, model: BendModel, substeps: u32) -> f64 {
    let rigidity = SIGMA * G / CANTILEVER.0;
    let beam = Beam::new(segments, model, rigidity, 1e4);
    let start = elastica(&beam.grid, CANTILEVER.0);
    let mut simulation = ImplicitSimulation::new(beam.cloth.clone(), &beam.grid.positions(), start);
    simulation.settings = fixed(substeps);
    simulation.fade = 2.0 * 3.516 * (rigidity / SIGMA).sqrt();
    (0..30).for_each(|_| _ = simulation.run_frame(1.0 / 60.0));
    -beam.tip(&simulation.positions, 2)
}

#[test]
fn a_heavy_cantilever_drops_alike_at_any_step() {
    for model in BendModel::ALL {
        for segments in [10, 20] {
            let drops = [1, 4, 16].map(|substeps| drop_in_motion(segments, model, substeps));
            eprintln!("{model:?}, {segments} segments, 1, 4, 16 steps a frame: {drops:.4?}");
            for drop in drops {
                assert_near(&format!("{model:?}, {segments}"), drop / CANTILEVER.1, 1.0, 0.02);
            }
        }
    }
}

/// Load `w L^3 / B` above which an upright strip buckles under its weight (Greenhill, 1881).
const BUCKLING: f64 = 7.837;

/// Deviation of the tip of an upright strip from the vertical over its initial deviation, after
/// seconds without inertia.
fn bow(segments: usize, model: BendModel, load: f64) -> f64 {
    let beam = Beam::new(segments, model, SIGMA * G / load, 1e5);
    let mut start = beam.grid.positions();
    let amplitude = 1e-3;
    for x in start.iter_mut().skip(4) {
        x[2] = amplitude * x[1] * x[1];
    }
    let x = settle(&beam.cloth, &start, [0.0, -G, 0.0], &beam.grid.fibers(), 0.8, 6);
    beam.tip(&x, 2) / beam.tip(&start, 2)
}

#[test]
fn a_strip_on_end_buckles_under_the_load_of_theory() {
    for model in BendModel::ALL {
        for segments in [20, 40] {
            let [below, above] = [0.95, 1.05].map(|f| bow(segments, model, f * BUCKLING));
            eprintln!("{model:?}, {segments} segments: {below:.3} below, {above:.1} above");
            assert!(below < 0.5, "{model:?}, {segments}: {below}");
            assert!(above > 5.0, "{model:?}, {segments}: {above}");
        }
    }
}

#[test]
fn a_sheet_of_one_diagonal_a_cell_buckles_early() {
    // Each hinge includes the twist of the cells beside it, and the sheet twists a little to bend
    // more easily.
    let (columns, segments) = (9, 10);
    let spacing = [1.0 / (segments as f64 + 0.5); 2];
    let bow = |load: f64| {
        let diagonals = Diagonals::Forward;
        let grid = GridSheet { columns, rows: segments + 2, spacing, diagonals };
        let rest = grid.positions();
        let mut inverse_masses: Vec<f64> = grid.masses(SIGMA).iter().map(|m| 1.0 / m).collect();
        inverse_masses[..2 * columns].fill(0.0);
        let cloth = ImplicitCloth {
            inverse_masses,
            stretch: grid.springs([5e3; 2], 1.5e3, 1.0),
            bends: bends(&rest, &grid.triangles(), SIGMA * G / load, BendModel::FaceAngle),
            ..ImplicitCloth::default()
        };
        let mut start = rest;
        start.iter_mut().skip(2 * columns).for_each(|x| x[2] = 1e-3 * x[1] * x[1]);
        let x = settle(&cloth, &start, [0.0, -G, 0.0], &grid.fibers(), 0.1, 40);
        x[x.len() - 1][2] / start[x.len() - 1][2]
    };
    let [below, above] = [0.82, 0.92].map(|part| bow(part * BUCKLING));
    eprintln!("{below:.2} at 0.82 of theory, {above:.2} at 0.92");
    assert!(below < 0.8 && above > 1.1, "{below}, {above}");
}

// ---- contact ----

const CONTACT_STIFFNESS: f64 = 500.0;

/// Particle of 10 g that falls onto a plane 0.1 mm above it, h^2 w kc = 14.
fn particle_on_plane(growth: f64) -> (ImplicitSimulation, ContactPlane) {
    let cloth = ImplicitCloth { inverse_masses: vec![100.0], ..ImplicitCloth::default() };
    let normal = [0.6, 0.0, 0.8];
    let y = [0.3, 0.1, -0.02];
    let push = normal.map(|n| 1e-4 * n);
    let plane = ContactPlane::from_push(y, push, CONTACT_STIFFNESS).expect("it is pushed");
    assert_near("offset", plane.offset, dot(normal, y) + 1e-4, 1e-12);
    let mut simulation = ImplicitSimulation::new(cloth, &[y], vec![y]);
    simulation.settings = fixed(1);
    simulation.settings.growth = growth;
    simulation.planes = vec![Some(plane)];
    simulation.gravity = normal.map(|n| -G * n);
    simulation.fade = 20.0;
    (simulation, plane)
}

#[test]
fn a_plane_holds_a_particle_at_the_depth_of_its_weight() {
    let (mut simulation, plane) = particle_on_plane(4.0);
    simulation.settings.tolerance = 1e-6;
    for _ in 0..300 {
        assert_eq!(simulation.run_frame(1.0 / 60.0).unconverged, 0);
    }
    let depth = plane.depth(simulation.positions[0]);
    assert_near("depth", depth, 0.01 * G / CONTACT_STIFFNESS, 1e-8);
    // In each step the plane takes back the displacement by gravity.
    let step = 1.0 / 60.0;
    let push = plane.push(simulation.positions[0], 100.0, step);
    assert_near("push", push, G * step * step, 1e-8);
    assert_eq!(ContactPlane::from_push([0.0; 3], [0.0; 3], 1.0), None);
}

#[test]
fn steps_that_grow_eightfold_cycle_over_the_kink_of_a_plane() {
    // The trial ends in front of the plane, where the secant yields the full step back to the
    // prediction, behind it.
    let (mut simulation, _) = particle_on_plane(8.0);
    assert_eq!(simulation.run_frame(1.0 / 60.0).unconverged, 1);
    let (mut simulation, _) = particle_on_plane(4.0);
    let feedback = simulation.run_frame(1.0 / 60.0);
    assert!(feedback.unconverged == 0 && feedback.iterations < 10, "{feedback:?}");
}
