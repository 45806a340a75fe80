//! Cost of the implicit solver on a swinging sheet: `cargo run --release -p poplin-oracle
//! --example implicit_table [frame|newton|contact [SIDE]]`.
//!
//! `frame` prints CSV of strains, steps and iterations per frame by step control, over 2 s: the
//! table of section 5 of the design. `newton` prints CSV of one step from states of that swing:
//! iterations and times of conjugate gradients, and of Newton's method preconditioned by blocks and
//! by fibers, to a tenth of a step of gravity. `contact` prints CSV of a free sheet that falls onto
//! a sphere with and without planes in the potential, by steps and by the largest growth of a step.

#![expect(clippy::print_stdout, reason = "the table is what it is for")]

use std::time::Instant;

use poplin_oracle::implicit::{
    BendModel, ContactPlane, GridSheet, ImplicitCloth, ImplicitFeedback, ImplicitSettings,
    ImplicitSimulation, Law, Objective, Preconditioner, StepControl, bends, minimize,
    minimize_by_newton, triangle_masses,
};

/// Level sheet of 1 m and 0.2 kg held by two corners, with springs of K and G [N/m] and face angles
/// of 1e-5 N m.
fn hung_sheet(side: usize, stretch: f64, shear: f64) -> ImplicitSimulation {
    let grid = GridSheet::square(side);
    let (rest, triangles) = (grid.positions(), grid.triangles());
    let masses = triangle_masses(&rest, &triangles, 0.2);
    let mut inverse_masses: Vec<f64> = masses.iter().map(|m| 1.0 / m).collect();
    (inverse_masses[0], inverse_masses[side - 1]) = (0.0, 0.0);
    let cloth = ImplicitCloth {
        inverse_masses,
        stretch: grid.springs([stretch; 2], shear, 1.0),
        bends: bends(&rest, &triangles, 1e-5, BendModel::FaceAngle),
        ..ImplicitCloth::default()
    };
    ImplicitSimulation::new(cloth, &rest, rest.clone())
}

fn fixed(substeps: u32, iterations: usize) -> ImplicitSettings {
    let control = StepControl::Fixed { substeps };
    ImplicitSettings { control, iterations, ..ImplicitSettings::default() }
}

/// Appends the strains of the springs along threads and across them.
fn append_strains(simulation: &ImplicitSimulation, side: usize, strains: &mut [Vec<f64>; 2]) {
    for element in &simulation.cloth.stretch {
        let Law::Spring(spring) = element.law else { continue };
        let [a, b] = [0, 1].map(|i| element.particles[i]);
        let [p, q] = [a, b].map(|i| simulation.positions[i]);
        let square: f64 = (0..3).map(|k| (p[k] - q[k]).powi(2)).sum();
        let is_thread = b == a + 1 || b == a + side;
        strains[usize::from(!is_thread)].push((square.sqrt() / spring.rest_length - 1.0).abs());
    }
}

/// Returns the 99th percentile in per cent.
fn percentile(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    100.0 * values[values.len() * 99 / 100]
}

fn print_frames(name: &str, side: usize, stretch: f64, rate: u32, settings: ImplicitSettings) {
    let mut simulation = hung_sheet(side, stretch, 0.3 * stretch);
    simulation.settings = settings;
    let (mut sum, mut strains) = (ImplicitFeedback::default(), [Vec::new(), Vec::new()]);
    for frame in 0..2 * rate {
        let feedback = simulation.run_frame(1.0 / f64::from(rate));
        sum.steps += feedback.steps;
        sum.iterations += feedback.iterations;
        sum.gradients += feedback.gradients;
        sum.rejections += feedback.rejections;
        sum.unconverged += feedback.unconverged;
        if frame >= rate {
            append_strains(&simulation, side, &mut strains);
        }
    }
    let mean = |count: usize| count as f64 / f64::from(2 * rate);
    let [mut along, mut across] = strains;
    println!(
        "{side},{stretch},{rate},{name},{:.2},{:.2},{:.2},{:.1},{:.1},{},{}",
        percentile(&mut along),
        percentile(&mut across),
        mean(sum.steps),
        mean(sum.iterations),
        mean(sum.gradients),
        sum.rejections,
        sum.unconverged
    );
}

fn print_frame_table(sides: &[usize]) {
    println!(
        "side,K,frames/s,control,p99 along [%],p99 across [%],steps,iterations,gradients,rejections,unconverged"
    );
    for &side in sides {
        for substeps in [1, 2, 4, 8] {
            let settings = fixed(substeps, 4000);
            let each = ImplicitSettings { interval: 1, ..settings };
            print_frames(&format!("{substeps} steps"), side, 1000.0, 60, settings);
            print_frames(&format!("{substeps} steps tested each"), side, 1000.0, 60, each);
        }
        let adaptive = ImplicitSettings::default();
        print_frames("adaptive", side, 1000.0, 60, adaptive);
        let each = ImplicitSettings { interval: 1, ..adaptive };
        print_frames("adaptive tested each", side, 1000.0, 60, each);
        print_frames("1 step", side, 1000.0, 30, fixed(1, 4000));
        for (substeps, iterations) in
            [(2, 80), (4, 40), (8, 20), (1, 80), (4, 20), (1, 40), (2, 20)]
        {
            let name = format!("{substeps} x {iterations}");
            print_frames(&name, side, 1000.0, 60, fixed(substeps, iterations));
        }
        print_frames("1 step", side, 5000.0, 60, fixed(1, 4000));
    }
}

/// Returns the minimum and the maximum.
fn range<T: PartialOrd + Copy + std::fmt::Display>(values: &[T]) -> String {
    let least = values.iter().copied().reduce(|a, b| if b < a { b } else { a });
    let largest = values.iter().copied().reduce(|a, b| if b > a { b } else { a });
    least.zip(largest).map_or_else(String::new, |(a, b)| format!("{a:.0}-{b:.0}"))
}

fn print_newton(side: usize, stretch: f64, shear_ratio: f64, frames: u32) {
    let mut simulation = hung_sheet(side, stretch, shear_ratio * stretch);
    let budget = side as f64 * 5.0 * (stretch / 1000.0).sqrt();
    simulation.settings = fixed(2, budget as usize / 2);
    let fibers = GridSheet::square(side).fibers();
    let step = 1.0 / 60.0;
    let (mut counts, mut times) = (vec![Vec::new(); 4], vec![Vec::new(); 3]);
    for frame in 1..=frames {
        simulation.run_frame(step);
        if frame % 15 != 0 {
            continue;
        }
        let prediction = simulation.prediction(step);
        let objective =
            Objective::new(&simulation.cloth, &simulation.positions, &prediction, step, &[]);
        let mut options = simulation.minimize_options(step, false);
        options.iterations = 4000;
        let begin = Instant::now();
        counts[0].push(minimize(&objective, &options).iterations);
        times[0].push(1e3 * begin.elapsed().as_secs_f64());
        let preconditioners = [Preconditioner::Jacobi, Preconditioner::Fibers(&fibers)];
        for (k, preconditioner) in preconditioners.into_iter().enumerate() {
            let begin = Instant::now();
            let found = minimize_by_newton(
                &objective,
                &prediction,
                preconditioner,
                options.tolerance,
                20_000,
            );
            times[1 + k].push(1e3 * begin.elapsed().as_secs_f64());
            counts[1 + k].push(found.iterations);
            counts[3].push(found.systems);
        }
    }
    let [ncg, jacobi, by_fibers, systems] = [0, 1, 2, 3].map(|k| range(&counts[k]));
    let [ncg_time, jacobi_time, fiber_time] = [0, 1, 2].map(|k| range(&times[k]));
    println!(
        "{side},{stretch},{shear_ratio},{ncg},{jacobi},{by_fibers},{systems},{ncg_time},{jacobi_time},{fiber_time}"
    );
}

fn print_newton_table(sides: &[usize]) {
    println!(
        "side,K,G/K,NCG,PCG blocks,PCG fibers,systems,NCG [ms],PCG blocks [ms],PCG fibers [ms]"
    );
    for &side in sides {
        for stretch in [1000.0, 5000.0] {
            for shear_ratio in [0.3, 0.1, 0.03] {
                print_newton(side, stretch, shear_ratio, 60);
            }
        }
    }
}

/// Radius \[m\] and friction of the sphere below the middle of the sheet.
const SPHERE: (f64, f64) = (0.3, 0.5);

fn print_contact(side: usize, rate: u32, has_planes: bool, growth: f64) {
    let (radius, friction) = SPHERE;
    let mut simulation = hung_sheet(side, 1000.0, 300.0);
    let w = simulation.cloth.inverse_masses[side * (side - 1)];
    (simulation.cloth.inverse_masses[0], simulation.cloth.inverse_masses[side - 1]) = (w, w);
    simulation.settings = ImplicitSettings { growth, ..fixed(1, 2000) };
    let center = [0.5, 0.5, -radius - 0.02];
    let step = 1.0 / f64::from(rate);
    // Push of a particle at x.
    let push = |x: [f64; 3]| {
        let d: [f64; 3] = [0, 1, 2].map(|k| x[k] - center[k]);
        let length = d.iter().map(|d| d * d).sum::<f64>().sqrt();
        d.map(|d| d * (radius / length - 1.0).max(0.0))
    };
    let (mut iterations, mut unconverged, mut frames) = (0, 0, 0u32);
    let (mut strains, mut pushes) = ([Vec::new(), Vec::new()], Vec::new());
    for tick in 0..2 * rate {
        let y = simulation.prediction(step);
        let planes = simulation.positions.iter().zip(&y).map(|(x, u)| {
            let y = [0, 1, 2].map(|k| x[k] + u[k]);
            ContactPlane::from_push(y, push(y), 1000.0).filter(|_| has_planes)
        });
        simulation.planes = planes.collect();
        let feedback = simulation.run_frame(step);
        for i in 0..simulation.positions.len() {
            let x = simulation.positions[i];
            let delta = push(x);
            let depth = delta.iter().map(|d| d * d).sum::<f64>().sqrt();
            let plane = simulation.planes[i];
            let w = simulation.cloth.inverse_masses[i];
            let reaction = depth + plane.map_or(0.0, |plane| plane.push(x, w, step));
            if reaction == 0.0 {
                continue;
            }
            let outward: [f64; 3] = [0, 1, 2].map(|k| (x[k] - center[k]) / radius);
            let u = simulation.displacements[i];
            let along: f64 = (0..3).map(|k| u[k] * outward[k]).sum();
            let slide: [f64; 3] = [0, 1, 2].map(|k| u[k] - along * outward[k]);
            let speed = slide.iter().map(|s| s * s).sum::<f64>().sqrt();
            let kept = 1.0 - (friction * reaction / speed.max(1e-12)).min(1.0);
            // Friction slows the next step; the push moves the particle and its displacement.
            simulation.positions[i] = [0, 1, 2].map(|k| x[k] + delta[k]);
            simulation.displacements[i] =
                [0, 1, 2].map(|k| kept * slide[k] + along * outward[k] + delta[k]);
            if tick >= rate {
                pushes.push(1e3 * depth);
            }
        }
        if tick >= rate {
            frames += 1;
            iterations += feedback.iterations;
            unconverged += feedback.unconverged;
            append_strains(&simulation, side, &mut strains);
        }
    }
    let per_frame = iterations as f64 / f64::from(frames) * f64::from(rate) / 60.0;
    let [mut along, _] = strains;
    let push = percentile(&mut pushes) / 100.0;
    println!(
        "{side},{rate},{has_planes},{growth},{:.2},{push:.2},{per_frame:.1},{unconverged}",
        percentile(&mut along)
    );
}

fn print_contact_table(sides: &[usize]) {
    println!("side,steps/s,planes,growth,p99 along [%],p99 push [mm],iterations,unconverged");
    for &side in sides {
        for rate in [60, 240] {
            for (has_planes, growth) in [(false, 8.0), (true, 8.0), (true, 4.0), (true, 2.0)] {
                print_contact(side, rate, has_planes, growth);
            }
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let table = arguments.first().map_or("", String::as_str);
    let side = arguments.get(1).and_then(|side| side.parse().ok());
    let is_wanted = |name: &str| table.is_empty() || table == name;
    if is_wanted("contact") {
        print_contact_table(&side.map_or(vec![16], |side| vec![side]));
    }
    if is_wanted("frame") {
        print_frame_table(&side.map_or(vec![16, 32], |side| vec![side]));
    }
    if is_wanted("newton") {
        print_newton_table(&side.map_or(vec![16, 32, 64], |side| vec![side]));
    }
}
