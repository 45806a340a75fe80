//! Multilevel solver: strain of fine sheets at the moduli of real cloth, laws, and odd starts, on
//! fabrics that were cooked from meshes and in scene files.

use std::sync::Arc;

use poplin::model::{ClothDesc, Hierarchy, Implicit, Mesh, Multilevel, Solver, StretchModel};
use poplin::{Backend, ClothId, ParticleMotion, Simulation};
use poplin_cook::{CookOptions, Tethers, cook};
use poplin_geometry::Rng;
use poplin_testkit::beams::Cells;
use poplin_testkit::skip::part;

use crate::friction::run_files;

mod contact;

const FRAME: f32 = 1.0 / 60.0;
const GRAVITY: f32 = 9.81;

/// Sheet of 1 m and 0.2 kg/m^2 that swings down from level.
struct Sheet {
    simulation: Simulation,
    id: ClothId,
    cloth: ClothDesc,
}

impl Sheet {
    /// Square sheet that two corners of its first row hold.
    fn hung(mesh: &Mesh, stretch: f32, effort: [u32; 2]) -> Self {
        Self::with(mesh, &held_corners(mesh), solver(stretch, effort), &|_| ())
    }

    /// Sheet whose levels are changed.
    fn with(
        mesh: &Mesh,
        pins: &[u32],
        solver: impl Into<Solver>,
        change: &dyn Fn(&mut Hierarchy),
    ) -> Self {
        let options = CookOptions {
            pins: pins.to_vec(),
            density: 0.2,
            tethers: Tethers::None,
            bends: true,
            levels: true,
            ..Default::default()
        };
        let mut cloth = cook(mesh, &options).unwrap().into_cloth();
        cloth.config.solver = solver.into();
        let fabric = Arc::make_mut(&mut cloth.fabric);
        change(fabric.hierarchy.as_mut().unwrap());
        let mut simulation = Simulation::new(Backend::Cpu).unwrap();
        let id = simulation.add(cloth.clone()).unwrap();
        Self { simulation, id, cloth }
    }

    /// Gives particles new positions and velocities.
    fn set(
        &mut self,
        position: impl FnMut([f32; 3]) -> [f32; 3],
        velocity: impl FnMut() -> [f32; 3],
    ) {
        let (mut position, mut velocity) = (position, velocity);
        let mut particles = self.cloth.particles.clone();
        for particle in particles.iter_mut().filter(|it| !it.is_pinned()) {
            particle.position = position(particle.position);
        }
        let velocities: Vec<_> = particles.iter().map(|_| velocity()).collect();
        let motion = ParticleMotion::Velocities(&velocities);
        self.simulation.set_particles(self.id, &particles, motion).unwrap();
    }

    fn positions(&mut self) -> Vec<[f32; 3]> {
        let state = self.simulation.state().unwrap();
        state.positions(self.id).collect()
    }

    /// 99th percentile of the strain of the edges that resist stretch, and the largest \[%\].
    fn strains(&mut self) -> [f32; 2] {
        let positions = self.positions();
        let fabric = &self.cloth.fabric;
        let kinds = fabric.edge_kinds();
        let stretch = fabric.edges().filter(|(edge, _)| kinds[*edge].is_stretch());
        let mut strains: Vec<f32> = stretch
            .map(|(edge, [a, b])| {
                let [a, b] = [a, b].map(|it| glam::Vec3::from(positions[it as usize]));
                100.0 * (a.distance(b) / fabric.rest_lengths[edge] - 1.0)
            })
            .collect();
        strains.sort_unstable_by(f32::total_cmp);
        [strains[strains.len() * 99 / 100], strains[strains.len() - 1]]
    }

    /// Mean height by mass \[m\].
    fn mean_height(&mut self) -> f64 {
        let positions = self.positions();
        let rows = positions.iter().zip(&self.cloth.particles);
        let (sum, all) = rows.fold((0.0, 0.0), |(sum, all), (position, particle)| {
            let mass = f64::from(particle.inverse_mass).recip();
            (sum + mass * f64::from(position[1]), all + mass)
        });
        sum / all
    }

    /// Simulates frames. Returns the 99th percentile of the strain of the second half: its mean and
    /// its worst frame, and the largest strain at the end \[%\].
    fn run(&mut self, frames: usize) -> [f32; 3] {
        let (mut sum, mut worst, mut last) = (0.0, 0.0f32, 0.0);
        for frame in 0..frames {
            self.simulation.step(FRAME).unwrap();
            if frame >= frames / 2 {
                let [most, largest] = self.strains();
                sum += most;
                worst = worst.max(most);
                last = largest;
            }
        }
        [sum / (frames - frames / 2) as f32, worst, last]
    }
}

/// Solver with a stretch stiffness, and steps per frame and iterations of each.
fn solver(stretch: f32, [substeps, iterations]: [u32; 2]) -> Multilevel {
    Multilevel {
        substeps,
        iterations: Some(iterations),
        stretch: StretchModel::Springs,
        stretch_stiffness: [stretch; 2],
        shear_stiffness: 0.1 * stretch,
        ..Multilevel::default()
    }
}

/// Both ends of the first row.
fn held_corners(mesh: &Mesh) -> [u32; 2] {
    let ends = mesh.positions.iter().take_while(|place| place[2] == 0.0).count();
    [0, ends as u32 - 1]
}

/// Sheet of 1 m with `side` vertices on a side, or nearly so.
fn square(cells: Cells, side: u32) -> Mesh {
    let mut mesh = cells.mesh(side - 1, side - 1);
    let edge = ((side - 1) as f32).recip();
    mesh.positions.iter_mut().for_each(|place| *place = place.map(|x| x * edge));
    mesh
}

fn grid(side: u32) -> Mesh {
    square(Cells::Quads, side)
}

#[test]
fn fine_sheets_hold_their_lengths() {
    use StretchModel::{Springs, StretchShear, Trispring};
    // Steps per frame and iterations of each, largest mean and worst frame [%].
    for (mesh, model, effort, [mean, worst]) in [
        (grid(64), Springs, [1, 4], [0.6, 0.8]),
        (grid(64), Springs, [4, 4], [0.5, 0.8]),
        (grid(64), StretchShear, [4, 4], [0.5, 0.8]),
        (grid(64), Trispring, [4, 4], [0.5, 0.8]),
        (grid(128), Springs, [4, 5], [0.35, 0.5]),
        (square(Cells::OneWay, 64), Springs, [4, 5], [0.5, 0.8]),
        (square(Cells::Irregular, 64), Springs, [4, 5], [0.5, 0.8]),
        (square(Cells::Irregular, 64), StretchShear, [4, 5], [0.5, 0.8]),
    ] {
        let solver = Multilevel { stretch: model, ..solver(5000.0, effort) };
        let found = Sheet::with(&mesh, &held_corners(&mesh), solver, &|_| ()).run(60);
        let count = mesh.positions.len();
        assert!(
            found[0] <= mean && found[1] <= worst,
            "{count} particles, {model:?}, {effort:?}: {found:?}"
        );
    }
}

#[test]
fn stiff_sheets_need_no_more_iterations() {
    let found = Sheet::hung(&grid(64), 1e5, [4, 5]).run(60);
    assert!(found[0] <= 0.2 && found[1] <= 0.3 && found[2] <= 3.0, "{found:?}");
}

#[test]
fn levels_and_their_blocks_make_the_difference() {
    let mesh = grid(64);
    let swung = |iterations: u32, change: &dyn Fn(&mut Hierarchy)| {
        let solver = solver(5000.0, [4, iterations]);
        let mut sheet = Sheet::with(&mesh, &held_corners(&mesh), solver, change);
        sheet.run(30);
        sheet
    };
    let mut converged = swung(64, &|_| ());
    let mut error =
        |change: &dyn Fn(&mut Hierarchy)| distance(&mut swung(4, change), &mut converged);
    let whole = error(&|_| ());
    let without = error(&|hierarchy| hierarchy.levels.clear());
    assert!(without > 10.0 * whole, "{without} without levels, {whole} with");
    let apart = error(&|hierarchy| {
        for level in &mut hierarchy.levels {
            let mut begin = 0;
            for (&[a, b], &end) in level.blocks.iter().zip(&level.block_ends) {
                if a != b {
                    level.terms[begin..end as usize].iter_mut().for_each(|it| it.factor = 0.0);
                }
                begin = end as usize;
            }
        }
    });
    assert!(apart > 1.5 * whole, "{apart} with diagonal blocks alone, {whole} with all");
}

#[test]
fn odd_starts_come_back() {
    let mut rng = Rng::new(2);
    let mut heap = Sheet::hung(&grid(32), 5000.0, [2, 5]);
    heap.set(|_| rng.point(-5e-4, 5e-4), || [0.0; 3]);
    let mut spot = Sheet::hung(&grid(32), 5000.0, [2, 5]);
    spot.set(|_| [0.5, 0.0, 0.0], || [0.0; 3]);
    let mut noise = Sheet::hung(&grid(32), 5000.0, [4, 4]);
    noise.set(|it| it, || rng.point(-50.0, 50.0));
    let mut single = Sheet::hung(&grid(32), 5000.0, [1, 1]);
    single.set(|it| it, || rng.point(-50.0, 50.0));
    for (name, mut sheet, most) in [
        ("heap", heap, 3.0),
        // On a line nothing turns an edge to the side.
        ("one spot", spot, f32::INFINITY),
        ("noise", noise, 3.0),
        ("one iteration", single, 20.0),
    ] {
        sheet.run(120);
        let [strain, _] = sheet.strains();
        assert!(strain < most, "{name}: {strain}");
        assert!(sheet.positions().as_flattened().iter().all(|x| x.is_finite()), "{name}");
    }
}

/// Root mean square of the distances between the particles of two sheets \[m\].
fn distance(a: &mut Sheet, b: &mut Sheet) -> f64 {
    let (a, b) = (a.positions(), b.positions());
    let square = |(a, b): (&[f32; 3], &[f32; 3])| {
        a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>()
    };
    (a.iter().zip(&b).map(square).sum::<f64>() / a.len() as f64).sqrt()
}

#[test]
fn sheets_swing_as_with_converged_steps() {
    for cells in [Cells::Quads, Cells::Irregular] {
        let mesh = square(cells, 33);
        let implicit = Implicit {
            substeps: 4,
            stretch: StretchModel::Springs,
            stretch_stiffness: [5000.0; 2],
            shear_stiffness: 500.0,
            bending_rigidity: 0.0,
            tolerance: 0.001,
            max_iterations: 1000,
            ..Implicit::default()
        };
        let mut converged = Sheet::with(&mesh, &held_corners(&mesh), implicit, &|_| ());
        let mut sheet = Sheet::hung(&mesh, 5000.0, [4, 4]);
        for most in [0.0025, 0.02] {
            sheet.run(15);
            converged.run(15);
            let found = distance(&mut sheet, &mut converged);
            assert!(found < most, "{cells:?}: {found} m apart instead of {most}");
        }
    }
}

#[test]
fn a_free_sheet_falls_as_its_mass_does() {
    let mut rng = Rng::new(4);
    let mut sheet = Sheet::with(&grid(32), &[], solver(5000.0, [2, 3]), &|_| ());
    sheet.set(|it| it, || rng.point(-1.0, 1.0));
    sheet.simulation.step(FRAME).unwrap();
    let before = sheet.mean_height();
    sheet.simulation.step(FRAME).unwrap();
    let after = sheet.mean_height();
    sheet.run(30);
    let found = sheet.mean_height();
    // 31 frames from the first height; in the first, it fell `before - after`.
    let expected =
        before + 31.0 * (after - before) - f64::from(GRAVITY * FRAME * FRAME) * (31.0 * 30.0 / 2.0);
    assert!((found - expected).abs() < 1e-4, "{found} instead of {expected} m");
}

/// Change of the lowest height of a sheet of 1 m that its first row holds, once it rests \[m\].
fn rest(cells: Cells, side: u32, solver: impl Into<Solver>) -> f32 {
    let mut mesh = square(cells, side);
    mesh.positions.iter_mut().for_each(|place| *place = [place[0], -place[2], 0.0]);
    let pins: Vec<u32> =
        (0u32..).zip(&mesh.positions).filter(|(_, it)| it[1] == 0.0).map(|it| it.0).collect();
    let mut sheet = Sheet::with(&mesh, &pins, solver, &|_| ());
    let lowest = |sheet: &mut Sheet| sheet.positions().iter().map(|it| it[1]).fold(0.0, f32::min);
    let start = lowest(&mut sheet);
    sheet.run(240);
    lowest(&mut sheet) - start
}

#[test]
fn a_hung_sheet_lengthens_by_its_weight() {
    // Threads alone carry: rho g L^2 / (2 K).
    let stretch = 50.0;
    let law = -0.2 * GRAVITY / (2.0 * stretch);
    let threads = |stretch| Multilevel { stretch: StretchModel::StretchShear, ..stretch };
    for (cells, side) in [
        (Cells::Quads, 17),
        (Cells::Quads, 33),
        (Cells::OneWay, 17),
        (Cells::Alternating, 17),
        (Cells::Irregular, 17),
    ] {
        let found = rest(cells, side, threads(solver(stretch, [4, 8])));
        assert!((found / law - 1.0).abs() < 0.02, "{cells:?} {side}: {found} m, law {law} m");
    }
    // It is the equilibrium of the implicit solver.
    for cells in [Cells::Quads, Cells::OneWay, Cells::Irregular] {
        for model in StretchModel::ALL {
            let fine = rest(cells, 17, Multilevel { stretch: model, ..solver(stretch, [4, 8]) });
            let implicit = Implicit {
                stretch: model,
                stretch_stiffness: [stretch; 2],
                shear_stiffness: 0.1 * stretch,
                max_iterations: 400,
                ..Implicit::default()
            };
            let other = rest(cells, 17, implicit);
            let ratio = fine / other;
            assert!(
                (ratio - 1.0).abs() < 0.01,
                "{cells:?} {model:?}: {fine} m, implicit {other} m"
            );
        }
    }
}

/// Droop of the free end of a strip of cloth of 0.2 x 0.1 m that stands out level, after it came to
/// rest \[m\].
fn droop(cells: Cells, columns: u32, solver: &str) -> f64 {
    let mesh = cells.mesh(columns, columns / 2);
    let edge = 0.2 / f64::from(columns);
    let file = crate::yarns::obj(&mesh, |[x, _, z]| [edge * x, 0.0, edge * z]);
    let pins: Vec<String> = (0..mesh.positions.len())
        .filter(|&vertex| mesh.positions[vertex][0] < 1.2)
        .map(|vertex| vertex.to_string())
        .collect();
    let text = format!(
        "frame_rate = 60\n[[cloth]]\nname = \"strip\"\nmesh = \"strip.obj\"\ndensity = 0.2\n\
         perturbation = 0\ndamping = [0.9, 0.9, 0.9]\npins = [{}]\n{solver}",
        pins.join(",")
    );
    let name =
        format!("multilevel-droop-{columns}-{}-{}", cells.name().replace(' ', "-"), solver.len());
    let frames = run_files(&name, &text, &[("strip.obj", &file)], 240);
    let lowest = |frame: &Vec<[f64; 3]>| frame.iter().map(|it| it[1]).fold(0.0, f64::min);
    let (last, before) = (lowest(&frames[240]), lowest(&frames[200]));
    assert!((last / before - 1.0).abs() < 0.01, "{name} still moves: {before}, {last}");
    last
}

#[test]
fn a_membrane_narrows_or_widens_as_with_the_implicit_solver() {
    for poisson_ratio in [-0.9, -0.5, 0.0, 0.45] {
        for cells in [Cells::Quads, Cells::Irregular] {
            let multilevel = Multilevel {
                stretch: StretchModel::Trispring,
                poisson_ratio,
                ..solver(50.0, [4, 8])
            };
            let implicit = Implicit {
                stretch: StretchModel::Trispring,
                stretch_stiffness: [50.0; 2],
                poisson_ratio,
                max_iterations: 400,
                ..Implicit::default()
            };
            let (fine, other) = (rest(cells, 17, multilevel), rest(cells, 17, implicit));
            assert!(
                (fine / other - 1.0).abs() < 0.01,
                "{cells:?}, ratio {poisson_ratio}: {fine} m, implicit {other} m"
            );
        }
    }
}

#[test]
fn a_strip_droops_as_with_the_implicit_solver() {
    for (cells, columns) in part(
        [(Cells::Quads, 10), (Cells::Quads, 20), (Cells::Irregular, 20), (Cells::Alternating, 10)],
        2,
    ) {
        let keys =
            "bending_rigidity = 1e-3\nstretch_stiffness = [5000, 5000]\nshear_stiffness = 500\n";
        let fine =
            droop(cells, columns, &format!("[cloth.solver.multilevel]\nsubsteps = 4\n{keys}"));
        let other = droop(
            cells,
            columns,
            &format!(
                "[cloth.solver.implicit]\nsubsteps = 4\nmax_iterations = 1000\ntolerance = 0.001\n{keys}"
            ),
        );
        assert!(
            (fine / other - 1.0).abs() < 0.02,
            "{cells:?} {columns}: {fine} m, implicit {other} m"
        );
        assert!(fine < -0.005, "{fine} m");
    }
}

#[test]
fn snapshots_and_clones_keep_the_motion() {
    let solver = Multilevel { bending_rigidity: 1e-5, ..solver(5000.0, [4, 5]) };
    let mesh = grid(48);
    let mut sheet = Sheet::with(&mesh, &held_corners(&mesh), solver, &|_| ());
    sheet.run(10);
    let copies = sheet.simulation.clone_cloth(sheet.id, 2).unwrap();
    let bytes = sheet.simulation.save().unwrap().to_bytes().unwrap();
    sheet.run(10);
    let expected = sheet.positions();
    let state = sheet.simulation.state().unwrap();
    for copy in copies {
        assert_eq!(state.positions(copy).collect::<Vec<_>>(), expected);
    }
    let snapshot = poplin::Snapshot::from_bytes(&bytes).unwrap();
    let mut other = Simulation::new(Backend::Cpu).unwrap();
    let ids = other.restore(&snapshot).unwrap();
    (0..10).for_each(|_| other.step(FRAME).unwrap());
    let state = other.state().unwrap();
    assert_eq!(state.positions(ids[0]).collect::<Vec<_>>(), expected);
}

#[test]
fn threads_share_a_solve_without_changing_it() {
    let found = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mesh = grid(48);
            let solver = Multilevel { bending_rigidity: 1e-5, ..solver(5000.0, [4, 5]) };
            let mut sheet = Sheet::with(&mesh, &held_corners(&mesh), solver, &|_| ());
            sheet.run(10);
            sheet.positions()
        })
    };
    let alone = found(1);
    for threads in [2, 3] {
        assert_eq!(found(threads), alone, "{threads} threads");
    }
}

#[test]
fn a_fabric_without_levels_is_refused() {
    let mut cloth = cook(&grid(8), &CookOptions::default()).unwrap().into_cloth();
    cloth.config.solver = Multilevel::default().into();
    let error = Simulation::new(Backend::Cpu).unwrap().add(cloth).unwrap_err().to_string();
    assert!(error.contains("cook it with `levels`"), "{error}");
}

#[test]
fn a_hung_sheet_comes_to_rest() {
    for columns in [21, 31, 41] {
        let scene = format!(
            "frame_rate = 60
            [[cloth]]
            name = \"sheet\"
            grid = {{ columns = {columns}, rows = {columns}, width = 0.6, height = 0.6, plane = \"xz\" }}
            density = 0.2
            damping = [0.2, 0.2, 0.2]
            pins = [\"corner:back-left\", \"corner:back-right\"]
            solver.multilevel.bending_rigidity = 1e-5
            "
        );
        let frames = run_files("multilevel-hung", &scene, &[], 300);
        let squared = |[a, b]: [[f64; 3]; 2]| glam::DVec3::from(a).distance_squared(b.into());
        let of = |pair: &[Vec<[f64; 3]>]| -> f64 {
            let moves = pair[0].iter().zip(&pair[1]);
            moves.map(|(&a, &b)| squared([a, b])).sum::<f64>() / pair[0].len() as f64
        };
        let last = &frames[frames.len() - 21..];
        let speed = 60.0 * (last.windows(2).map(of).sum::<f64>() / 20.0).sqrt();
        eprintln!("{columns} columns: {speed} m/s");
        assert!(speed < 0.01, "{columns} columns: {speed} m/s");
    }
}
