//! Random cloths in every memory tier, against the CPU.

use poplin::cook::{CookOptions, cook};
use poplin::gpu::{MemoryTier, tier_limits};
use poplin::model::{ClothDesc, Implicit, Mesh, Particle, Plane, Solver, Sphere};
use poplin::{Backend, Error, Simulation, SimulationOptions};

use super::{Finding, Patient, REPORT, Verdict};
use crate::conform::max_distance;

/// Frames of a cloth.
const FRAMES: u32 = 3;

/// Cloths of each tier.
const CLOTHS: u64 = 6;

/// Cloths of each tier on a software adapter.
const FEW: u64 = 2;

/// Largest distance of a particle from where the CPU has it \[m\]: rounding differs, and contact
/// magnifies it. Fused products make 3e-5, edges projected by a hundredth too little 1e-2.
const TOLERANCE: f32 = 1e-3;

/// Relative spacing of `f32`.
const ROUNDING: f32 = f32::EPSILON / 2.0;

/// Simulates random cloths on the CPU, and twice on the GPU.
pub(super) fn cloths(patient: &Patient) -> Result<Finding, String> {
    let limits = tier_limits(&patient.headless.device().limits());
    let count = if patient.is_short { FEW } else { CLOTHS };
    let mut cloths = Vec::new();
    let mut smallest = 8;
    for tier in MemoryTier::ALL {
        let side: u32 = smallest;
        cloths.extend((0..count).map(|seed| random(side, seed)));
        let capacity = limits.particles_in(tier).map_or(0.0, f64::from);
        smallest = 2 + capacity.sqrt() as u32;
    }
    let cpu = simulate(&cloths, &Backend::Cpu.into()).map_err(|error| error.to_string())?;
    let gpu = simulate(&cloths, &patient.options).map_err(|error| error.to_string())?;
    let again = simulate(&cloths, &patient.options).map_err(|error| error.to_string())?;
    let distances = cpu.iter().zip(&gpu).map(|(a, b)| max_distance(a, b));
    let largest = distances.fold(0.0, |a: f32, b| if b.is_nan() { b } else { a.max(b) });
    let reach =
        cpu.iter().flatten().flat_map(|it| it.position).fold(0.0, |a: f32, x| a.max(x.abs()));
    let roundings = largest / (ROUNDING * reach);
    let finding = if largest.is_nan() || largest > TOLERANCE {
        let text = format!("random cloths end up to {largest:.1e} m from those of the CPU");
        Finding::new("cloths", Verdict::Failed, text).advise(REPORT)
    } else if Particle::rows(&gpu.concat()) != Particle::rows(&again.concat()) {
        let text = "random cloths end elsewhere when they are simulated again".to_owned();
        Finding::new("cloths", Verdict::Failed, text).advise(REPORT)
    } else {
        let text = format!(
            "{} random ones in {} tiers, {FRAMES} frames: within {roundings:.0} roundings of the CPU, the same bits twice",
            cloths.len(),
            MemoryTier::ALL.len()
        );
        Finding::new("cloths", Verdict::Ok, text)
    };
    Ok(finding.with("largest_m", f64::from(largest)).with("roundings", f64::from(roundings)))
}

/// Simulates cloths together, and returns their particles.
fn simulate(
    cloths: &[ClothDesc],
    options: &SimulationOptions,
) -> Result<Vec<Vec<Particle>>, Error> {
    let mut simulation = Simulation::new(options.clone())?;
    let ids = cloths.iter().map(|cloth| simulation.add(cloth.clone()));
    let ids = ids.collect::<Result<Vec<_>, _>>()?;
    for _ in 0..FRAMES {
        simulation.step(1.0 / 60.0)?;
    }
    let state = simulation.state()?;
    Ok(ids.into_iter().map(|id| state.current(id).to_vec()).collect())
}

/// Sheet of 1 m with this number of particles a side that moves at random over a ball and a floor.
fn random(side: u32, seed: u64) -> ClothDesc {
    let mut random = Random(seed * 1000 + u64::from(side));
    let mut mesh = Mesh::grid(side, side, 1.0, 1.0);
    for position in &mut mesh.positions {
        *position = [position[0] - 0.5, 0.05 + 0.02 * random.next(), position[2] - 0.5];
    }
    let options = CookOptions {
        density: 0.2,
        pins: if seed.is_multiple_of(2) { vec![0] } else { Vec::new() },
        bends: seed % 3 == 2,
        ..CookOptions::default()
    };
    let mut cloth = cook(&mesh, &options).expect("a grid cooks").into_cloth();
    cloth.config.gravity = [0.0, -9.81, 0.0];
    cloth.config.contact.friction = 0.4;
    cloth.config.solver = match seed % 3 {
        0 => Solver::default(),
        1 => Solver::xpbd(4),
        _ => Implicit { substeps: 1, ..Implicit::default() }.into(),
    };
    for particle in &mut cloth.particles {
        let moved = [random.next(), random.next(), random.next()].map(|it| 0.2 / side as f32 * it);
        particle.position = std::array::from_fn(|axis| particle.position[axis] + moved[axis]);
    }
    let ball = Sphere { center: [0.1, -0.2, 0.0], radius: 0.25 };
    let floor = Plane { normal: [0.0, 1.0, 0.0], offset: 0.1 };
    cloth.colliders.add(ball).expect("the ball is valid");
    cloth.colliders.add(floor).expect("the floor is valid");
    cloth
}

/// Numbers of `-0.5..0.5`, by a linear congruential generator (Knuth, MMIX).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1u32 << 24) as f32 - 0.5
    }
}
