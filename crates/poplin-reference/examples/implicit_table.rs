//! scratch
#![allow(clippy::print_stdout)]
use poplin_reference::oracle::implicit::*;

fn sheet(side: usize, k: f64, pins: bool) -> ImplicitSimulation {
    let grid = GridSheet::square(side);
    let (x, t) = (grid.positions(), grid.triangles());
    let mut w: Vec<f64> = triangle_masses(&x, &t, 0.2).iter().map(|m| 1.0 / m).collect();
    if pins {
        w[0] = 0.0;
        w[side - 1] = 0.0;
    }
    let cloth = ImplicitCloth {
        inverse_masses: w,
        stretch: grid.springs([k; 2], 0.3 * k, 1.0),
        bends: bends(&x, &t, 1e-5, BendModel::FaceAngle),
        ..Default::default()
    };
    ImplicitSimulation::new(cloth, &x, x.clone())
}

fn strains(sim: &ImplicitSimulation, out: &mut Vec<f64>) {
    for e in &sim.cloth.stretch {
        if let Law::Spring(s) = e.law {
            let [a, b] = [e.particles[0], e.particles[1]];
            let d: f64 = (0..3).map(|k| (sim.positions[a][k] - sim.positions[b][k]).powi(2)).sum();
            out.push((d.sqrt() / s.rest_length - 1.0).abs());
        }
    }
}

fn row(name: &str, side: usize, k: f64, rate: f64, settings: ImplicitSettings) {
    let mut sim = sheet(side, k, true);
    sim.settings = settings;
    let frames = (2.0 * rate) as usize;
    let mut all = Vec::new();
    let (mut its, mut second, mut grads, mut rej, mut steps, mut unc) = (0, 0, 0, 0, 0, 0);
    let mut max = 0;
    for f in 0..frames {
        let fb = sim.run_frame(1.0 / rate);
        its += fb.iterations;
        grads += fb.gradients;
        rej += fb.rejections;
        steps += fb.steps;
        unc += fb.unconverged;
        max = max.max(fb.iterations);
        if f >= frames / 2 {
            second += fb.iterations;
            strains(&sim, &mut all);
        }
    }
    all.sort_by(f64::total_cmp);
    let n = frames as f64;
    println!(
        "{side} K {k} {rate}/s {name}: p99 {:.2} % p50 {:.2} max {:.2}, its {:.1} (2nd s {:.1}, max {max}), grads {:.1}, steps {:.2}, rej {rej}, unconv {unc}",
        100.0 * all[all.len() * 99 / 100],
        100.0 * all[all.len() / 2],
        100.0 * all[all.len() - 1],
        its as f64 / n,
        2.0 * second as f64 / n,
        grads as f64 / n,
        steps as f64 / n
    );
}

fn main() {
    let fixed = |substeps, growth| ImplicitSettings {
        control: StepControl::Fixed { substeps },
        iterations: 2000,
        growth,
        ..Default::default()
    };
    for g in [8.0, 4.0, 2.0, 1.5] {
        row(&format!("growth {g}"), 16, 1000.0, 60.0, fixed(1, g));
        row(&format!("growth {g} x 4"), 16, 1000.0, 60.0, fixed(4, g));
        row(
            &format!("growth {g} adaptive"),
            16,
            1000.0,
            60.0,
            ImplicitSettings { growth: g, ..Default::default() },
        );
    }
}
