//! Slack of tethers, which do not stretch, beside cloth that does.

use glam::Vec3;
use poplin_cook::CookReport;
use poplin_model::{ClothDesc, PhaseKind, Solver};

use super::JobCloth;

/// Strain that tethers leave to cloth, in strains by its own weight: as much as it takes when it
/// falls into its pins.
const SHARE: f32 = 4.0;

/// Gravity of cloth that has none [m/s^2]: wind and colliders pull as well.
const EARTH: f64 = 9.81;

/// Slack that is said.
const SAID: f32 = 0.01;

impl JobCloth {
    /// Returns a line for the summary about tethers that are slack.
    pub(crate) fn slack_line(&self) -> Option<String> {
        let strain = self.weight_strain?;
        let scale = slack_scale(strain);
        let is_said = self.cloth.config.tethers.scale == scale && scale - 1.0 > SAID;
        is_said.then(|| {
            format!(
                "tether those of `{}` are {:.0} % longer than the cloth at rest, as its weight stretches it by {:.1} %",
                self.name,
                100.0 * (scale - 1.0),
                100.0 * strain
            )
        })
    }
}

/// Returns the factor on the tethers of a cloth that its weight stretches by this strain, with
/// which they do not carry it.
pub(super) fn slack_scale(strain: f32) -> f32 {
    (1.0 + SHARE * strain).min(1000.0)
}

/// Returns the strain at the top of a cloth with a stretch stiffness K \[N/m\] by its weight: a
/// sheet of `sigma` kg/m^2 and length L below its pins has `sigma g L / K`. `None` without pins, or
/// where it does not stretch.
pub(super) fn weight_strain(cloth: &ClothDesc, report: &CookReport) -> Option<f32> {
    let longest = longest_hang(cloth);
    let stiffness = stretch_stiffness(cloth, report.area)?;
    let square: f64 = cloth.config.gravity.iter().map(|&g| f64::from(g).powi(2)).sum();
    let weight = report.mass / report.area * square.sqrt().max(EARTH);
    let strain = weight * f64::from(longest) / stiffness;
    (strain > 0.0 && strain.is_finite()).then_some(strain as f32)
}

/// Returns the longest tether \[m\], or without tethers the size of a cloth that has pins; 0
/// without pins.
fn longest_hang(cloth: &ClothDesc) -> f32 {
    let tether = cloth.fabric.tether_lengths.iter().copied().fold(0.0, f32::max);
    if tether > 0.0 || cloth.particles.iter().all(|particle| !particle.is_pinned()) {
        return tether;
    }
    let bound = |side: f32| {
        let corners = cloth.particles.iter().map(|it| side * Vec3::from(it.position));
        corners.reduce(Vec3::max).unwrap_or_default()
    };
    (bound(1.0) + bound(-1.0)).max_element()
}

/// Returns the smaller stretch stiffness of warp and weft [N/m]; `None` if one does not stretch.
fn stretch_stiffness(cloth: &ClothDesc, area: f64) -> Option<f64> {
    let least = |[warp, weft]: [f32; 2]| f64::from(warp.min(weft));
    match &cloth.config.solver {
        Solver::Pbd(_) => None,
        Solver::Implicit(implicit) => Some(least(implicit.stretch_stiffness)),
        Solver::Multilevel(multilevel) => Some(least(multilevel.stretch_stiffness)),
        Solver::Xpbd(xpbd) => {
            if let Some(membrane) = xpbd.membrane.filter(|_| !cloth.fabric.yarns.is_empty()) {
                return Some(least(membrane.stretch));
            }
            let kinds = cloth.fabric.edge_kinds();
            let of_kind = |kind: PhaseKind| {
                let compliance = f64::from(xpbd.phases.kind(kind).compliance);
                let edges = kinds.iter().zip(&cloth.fabric.rest_lengths);
                let squares: f64 = edges
                    .filter(|(of_edge, _)| **of_edge == kind)
                    .map(|(_, &length)| f64::from(length).powi(2))
                    .sum();
                // c = sum(L^2) / (K A), as of a material.
                (compliance > 0.0 && squares > 0.0).then(|| squares / (compliance * area))
            };
            let both = [PhaseKind::Vertical, PhaseKind::Horizontal].map(of_kind);
            both.into_iter().flatten().min_by(f64::total_cmp)
        }
    }
}
