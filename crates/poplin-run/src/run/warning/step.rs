//! Warnings about the solver step: its length, its frequency and its convergence.

use glam::Vec3;
use poplin_model::{Implicit, ImplicitReport, Solver};

use super::Warning;
use crate::bodies::FrameSplit;
use crate::job_cloth::{JobCloth, mean_rest_length};
use crate::numbers::{counted, grouped};

/// Largest fraction of unconverged implicit steps that is not reported.
const MAX_UNCONVERGED: f64 = 0.1;

/// Relative error of the stretch of a cloth with yarns, over the square of the distance that a wave
/// of stretch travels in a step, as a fraction of the size of the cloth. `tests/cpu/yarns.rs` and
/// the solvers page of the guide have the measurements.
const STRETCH_ERROR: f32 = 0.6;

/// Largest such error that is not reported.
const MAX_STRETCH_ERROR: f32 = 0.1;

/// Least displacement by gravity in a multilevel step that is not reported, in multiples of the
/// spacing of `f32` at the farthest coordinate.
const MIN_FALL: f32 = 0.1;

/// Largest shear stiffness that is not reported, in stretch stiffnesses.
const MAX_SHEAR: f32 = 0.5;

/// Largest relative deviation from the requested frequency that is not reported.
const MAX_RATE_ERROR: f32 = 0.1;

impl Warning {
    /// Warns of a step that is too long for the cloth, or of a frequency other than requested,
    /// given frames per second and iterations per frame.
    pub(in crate::run) fn of_step(
        job_cloth: &JobCloth,
        frame_rate: f32,
        iterations: f32,
    ) -> impl Iterator<Item = Self> {
        let name = &job_cloth.name;
        let config = &job_cloth.cloth.config;
        let frequency_hz = frame_rate * iterations;
        let step_s = frequency_hz.recip();
        let gravity = config.gravity.iter().map(|value| value * value).sum::<f32>().sqrt();
        // Displacement by gravity in one step: g dt^2.
        let (fall_m, mean_edge_m) =
            (gravity * step_s * step_s, mean_rest_length(&job_cloth.cloth.fabric));
        let is_long = iterations > 0.0 && mean_edge_m > 0.0 && fall_m > mean_edge_m;
        let long = is_long.then(|| {
            let text = format!(
                "cloth `{name}` has a step of {:.1} ms, in which gravity moves it by {:.1} mm, more \
                 than its mean edge of {:.1} mm; raise the frequency or the frame rate",
                1e3 * step_s,
                1e3 * fall_m,
                1e3 * mean_edge_m
            );
            Self::of_cloth("long_step", name, text)
                .beyond(fall_m, mean_edge_m)
                .detail("step_s", step_s)
                .detail("fall_m", fall_m)
                .detail("mean_edge_m", mean_edge_m)
        });
        let soft = Self::of_bends(job_cloth, frame_rate, step_s);
        let unsure = Self::of_membrane(job_cloth, frame_rate, step_s);
        let weak = Self::of_air(job_cloth, frequency_hz);
        let tiny = Self::of_rounding(job_cloth, fall_m, gravity, frequency_hz);
        let sheared = Self::of_shear(job_cloth);
        let spin = Self::of_spin(job_cloth, step_s).filter(|_| iterations > 0.0);
        let asked = config.solver.frequency();
        // Stiffness of PBD depends on the frequency; the others only gain by more.
        let is_off = |ratio: f32| match config.solver {
            Solver::Pbd(_) => (ratio - 1.0).abs() > MAX_RATE_ERROR,
            _ => 1.0 - ratio > MAX_RATE_ERROR,
        };
        let other = asked.filter(|asked| iterations > 0.0 && is_off(frequency_hz / asked)).map(
            |asked_hz| {
                let steps = job_cloth.split.steps;
                let whole_hz = frame_rate * steps as f32;
                let why = match steps {
                    1 => "a frame has whole iterations".to_owned(),
                    _ => format!(
                        "rigid bodies split a frame into {steps} steps, each with whole iterations"
                    ),
                };
                let is_pbd = config.solver.as_pbd().is_some();
                let effect = if is_pbd { ", so its stiffness differs" } else { "" };
                let text = format!(
                    "cloth `{name}` is solved {frequency_hz:.0} times per second instead of \
                     {asked_hz:.0}, because {why}{effect}; set a multiple of {whole_hz:.0} Hz"
                );
                Self::of_cloth("other_frequency", name, text)
                    .beyond(frequency_hz, asked_hz)
                    .detail("asked_hz", asked_hz)
                    .detail("frequency_hz", frequency_hz)
            },
        );
        let FrameSplit { steps, asked_substeps: asked } = job_cloth.split;
        let substeps = asked.div_ceil(steps) * steps;
        let more = (substeps != asked).then(|| {
            let text = format!(
                "cloth `{name}` has {substeps} substeps per frame instead of {asked}, because rigid \
                 bodies split a frame into {steps} steps, each with whole substeps; set a multiple of \
                 {steps}"
            );
            Self::of_cloth("other_substeps", name, text)
                .beyond(substeps as f32, asked as f32)
                .detail("asked_substeps", asked)
                .detail("substeps", substeps)
        });
        let of_settings = [other, more, soft, unsure, weak, tiny, sheared, spin];
        long.into_iter().chain(of_settings.into_iter().flatten())
    }

    /// Warns of multilevel steps so short that gravity moves cloth by less than its
    /// positions resolve.
    fn of_rounding(
        job_cloth: &JobCloth,
        fall_m: f32,
        gravity: f32,
        frequency_hz: f32,
    ) -> Option<Self> {
        job_cloth.cloth.config.solver.as_multilevel()?;
        let name = &job_cloth.name;
        let particles = job_cloth.cloth.particles.iter();
        let farthest_m = particles.flat_map(|it| it.position).map(f32::abs).fold(0.0, f32::max);
        let resolution_m = farthest_m * f32::EPSILON;
        let least_m = MIN_FALL * resolution_m;
        (gravity > 0.0 && frequency_hz.is_finite() && fall_m < least_m).then(|| {
            let most_hz = (gravity / least_m).sqrt();
            let text = format!(
                "cloth `{name}` is solved {frequency_hz:.0} times per second: gravity moves it by less \
                 in a step than its positions resolve, so that it falls too fast or too slowly and does \
                 not rest; use at most {most_hz:.0} Hz"
            );
            Self::of_cloth("short_step", name, text)
                .beyond(fall_m, least_m)
                .detail("most_hz", most_hz)
        })
    }

    /// Warns of XPBD yarns or diagonals so stiff in shear that they carry the stretch.
    fn of_shear(job_cloth: &JobCloth) -> Option<Self> {
        let JobCloth { cloth, name, .. } = job_cloth;
        let membrane = cloth.config.solver.as_xpbd()?.membrane.filter(|_| {
            // Without yarns a membrane has no effect.
            !cloth.fabric.yarns.is_empty()
        })?;
        let stretch = membrane.stretch[0].min(membrane.stretch[1]);
        let ratio = membrane.shear / stretch;
        (ratio > MAX_SHEAR).then(|| {
            let text = format!(
                "the shear stiffness of cloth `{name}`, {} N/m, is {ratio:.1} times its stretch \
                 stiffness of {stretch} N/m: the diagonals that resist shear carry stretch as well, and \
                 hold it where it cannot narrow; use at most {:.0} N/m, or solve it implicitly (--solver \
                 implicit)",
                membrane.shear,
                MAX_SHEAR * stretch
            );
            Self::of_cloth("stiff_shear", name, text)
                .beyond(ratio, MAX_SHEAR)
                .at("solver.xpbd.membrane.shear")
        })
    }

    /// Warns of a step in which XPBD bends are softer than their rigidity B.
    ///
    /// The longest step that keeps the rigidity is `a^2 sqrt(sigma / (16 B))` (`tests/cpu/xpbd`),
    /// with the mean stretch edge `a` and `sigma a^2`, the mean mass of the free particles.
    fn of_bends(job_cloth: &JobCloth, frame_rate: f32, step_s: f32) -> Option<Self> {
        let rigidity = job_cloth.cloth.config.solver.as_xpbd()?.bending_rigidity;
        let fabric = &job_cloth.cloth.fabric;
        let free = job_cloth.cloth.particles.iter().filter(|particle| !particle.is_pinned());
        let (mass, count) = free.fold((0.0, 0.0f32), |(mass, count), particle| {
            (mass + particle.inverse_mass.recip(), count + 1.0)
        });
        let edges = fabric.edge_kinds().into_iter().zip(&fabric.rest_lengths);
        let (length, edge_count) = edges
            .filter(|(kind, _)| kind.is_stretch())
            .fold((0.0, 0.0f32), |(sum, count), (_, length)| (sum + length, count + 1.0));
        let longest_step_s = length / edge_count * (mass / (16.0 * rigidity * count)).sqrt();
        let is_soft = !fabric.bends.is_empty()
            && rigidity > 0.0
            && longest_step_s > 0.0
            && step_s > longest_step_s;
        let substeps = (longest_step_s * frame_rate).recip().ceil() as u32;
        let name = &job_cloth.name;
        is_soft.then(|| {
            let text = format!(
                "cloth `{name}` bends more easily than its rigidity states: its mesh needs a step \
                 of at most {:.2} ms, and has {:.2} ms; use {substeps} substeps ({:.0} Hz), a coarser \
                 mesh or a lower rigidity",
                1e3 * longest_step_s,
                1e3 * step_s,
                substeps as f32 * frame_rate
            );
            Self::of_cloth("soft_bends", name, text)
                .beyond(step_s, longest_step_s)
                .detail("step_s", step_s)
                .detail("longest_step_s", longest_step_s)
                .detail("substeps", substeps)
        })
    }

    /// Warns of wind whose force does not reach what its coefficients say, since it would take more
    /// than all motion relative to the air in a step from most triangles that face it.
    fn of_air(job_cloth: &JobCloth, frequency_hz: f32) -> Option<Self> {
        let JobCloth { cloth, name, .. } = job_cloth;
        let air = &cloth.config.air;
        let wind_m_s = job_cloth.wind.map_or_else(
            || Vec3::from(air.wind_velocity).length(),
            |wind| Vec3::from(wind.velocity).length() + wind.gust.strength,
        );
        let coefficient = air.drag_coefficient.max(air.lift_coefficient);
        let mut counts = vec![0.0f32; cloth.particle_count()];
        let triangles = || cloth.fabric.triangles.iter().map(|it| it.map(|k| k as usize));
        triangles().flatten().for_each(|corner| counts[corner] += 1.0);
        let part_of = |corners: [usize; 3]| {
            let [a, b, c] = corners.map(|corner| Vec3::from(cloth.particles[corner].position));
            let double_area = (b - a).cross(c - a).length();
            let shares = corners.map(|it| cloth.particles[it].inverse_mass * counts[it]);
            let share = shares.into_iter().fold(0.0, f32::max);
            // A = s rho |N| C v / 12 f, see `shaders/stage/wind.wgsl`
            share * air.density * double_area * coefficient * wind_m_s / (12.0 * frequency_hz)
        };
        let mut parts: Vec<f32> = triangles().map(part_of).filter(|part| *part > 0.0).collect();
        parts.sort_unstable_by(f32::total_cmp);
        let part = parts.get(parts.len() / 2).copied()?;
        (part > 1.0 && part.is_finite()).then(|| {
            let most_m_s = wind_m_s / part;
            let needed_hz = frequency_hz * part;
            let text = format!(
                "cloth `{name}` feels at most the air force of {most_m_s:.3} m/s, and the wind \
                 reaches {wind_m_s:.3} m/s: beyond, a step takes all motion relative to the air; for \
                 the force of its coefficients, use at least {needed_hz:.0} Hz, or heavier cloth"
            );
            Self::of_cloth("bounded_air", name, text)
                .beyond(wind_m_s, most_m_s)
                .detail("largest_wind_m_s", wind_m_s)
                .detail("largest_full_wind_m_s", most_m_s)
                .detail("needed_hz", needed_hz)
        })
    }

    /// Warns of a step in which yarns do not have their stiffness K, since a wave of stretch, of
    /// speed `sqrt(K / density)`, crosses too much of the cloth.
    fn of_membrane(job_cloth: &JobCloth, frame_rate: f32, step_s: f32) -> Option<Self> {
        let JobCloth { cloth, report, name, .. } = job_cloth;
        let membrane = cloth.config.solver.as_xpbd()?.membrane?;
        let [low, high] = job_cloth.bounds();
        let density = (report.mass / report.area) as f32;
        let stiffness = membrane.stretch[0].max(membrane.stretch[1]);
        let travel_m = step_s * (stiffness / density).sqrt();
        let size_m = (high - low).max_element();
        let error = STRETCH_ERROR * (travel_m / size_m).powi(2);
        let longest_step_s = step_s * (MAX_STRETCH_ERROR / error).sqrt();
        let is_unsure = !cloth.fabric.yarns.is_empty() && error > MAX_STRETCH_ERROR;
        is_unsure.then(|| {
            let substeps = (longest_step_s * frame_rate).recip().ceil() as u32;
            let text = format!(
                "cloth `{name}` stretches up to {:.0} % more or less than its stiffness states: a \
                 wave of stretch travels {travel_m:.2} m in a step, and the cloth has {size_m:.2} m; \
                 use {substeps} substeps ({:.0} Hz), or solve it implicitly (--solver implicit)",
                100.0 * error,
                substeps as f32 * frame_rate
            );
            Self::of_cloth("unsure_stretch", name, text)
                .beyond(error, MAX_STRETCH_ERROR)
                .detail("step_s", step_s)
                .detail("longest_step_s", longest_step_s)
                .detail("substeps", substeps)
        })
    }

    /// Warns of implicit and multilevel steps that did not converge or had no finite solution.
    pub(in crate::run) fn of_solves(
        job_cloth: &JobCloth,
        report: &ImplicitReport,
    ) -> impl Iterator<Item = Self> + use<> {
        let name = &job_cloth.name;
        let ImplicitReport { steps, unconverged, held, floored, .. } = *report;
        let solver = job_cloth.cloth.config.solver.as_implicit();
        let multilevel = job_cloth.cloth.config.solver.as_multilevel();
        let most = MAX_UNCONVERGED * f64::from(steps);
        let unsolved = solver.filter(|_| f64::from(unconverged) > most).map(|solver| {
            let Implicit { max_iterations, max_halvings, .. } = *solver;
            let (halved, more) = match max_halvings {
                0 => (String::new(), "halving of such steps (--max-halvings 6), "),
                count => (format!(", halved up to {}", counted(count as usize, "time")), ""),
            };
            let text = format!(
                "cloth `{name}` is softer than its stiffness states: {} of its {} steps do not \
                 converge in {max_iterations} iterations{halved}; use {more}shorter steps \
                 (--solver-frequency), more iterations (--max-iterations), a coarser mesh or a lower \
                 stiffness",
                grouped(unconverged as usize),
                grouped(steps as usize),
            );
            Self::of_cloth("unconverged", name, text)
                .beyond(unconverged as f32, most as f32)
                .detail("steps", steps)
                .detail("unconverged", unconverged)
                .detail("max_iterations", max_iterations)
                .detail("max_halvings", max_halvings)
        });
        let turned = multilevel.filter(|_| f64::from(unconverged) > most).map(|solver| {
            let max_newton_steps = solver.max_newton_steps;
            let text = format!(
                "cloth `{name}` stretches more than its stiffness states: in {} of its {} steps more \
                 than 1 % of its edges are off by more than 0.3 % after {}, or the residuals fall too \
                 slowly; use shorter steps (--solver-frequency), more Newton steps \
                 (--max-newton-steps), more `iterations` or stiffnesses that differ less",
                grouped(unconverged as usize),
                grouped(steps as usize),
                counted(max_newton_steps as usize, "Newton step"),
            );
            Self::of_cloth("unconverged", name, text)
                .beyond(unconverged as f32, most as f32)
                .detail("steps", steps)
                .detail("unconverged", unconverged)
                .detail("max_newton_steps", max_newton_steps)
        });
        let rough = solver.filter(|_| f64::from(floored) > most).map(|solver| {
            let tolerance = solver.tolerance;
            let text = format!(
                "cloth `{name}` stretches more or less than its stiffness states: in {} of its {} \
                 steps rounding to f32 leaves residuals above four times the tolerance, {tolerance} \
                 of gravity; use a lower stiffness, a coarser mesh or a heavier cloth",
                grouped(floored as usize),
                grouped(steps as usize),
            );
            Self::of_cloth("floored", name, text)
                .beyond(floored as f32, most as f32)
                .detail("steps", steps)
                .detail("floored", floored)
                .detail("tolerance", tolerance)
        });
        let held = (held > 0).then(|| {
            let text = format!(
                "cloth `{name}` does not move in {} of its {} steps, in which its solver finds no \
                 finite solution; check for pins and colliders that jump, and for masses or \
                 stiffnesses that differ by many orders of magnitude",
                grouped(held as usize),
                grouped(steps as usize),
            );
            Self::of_cloth("held", name, text)
                .beyond(held as f32, 0.0)
                .detail("steps", steps)
                .detail("held", held)
        });
        [unsolved, turned, rough, held].into_iter().flatten()
    }
}
