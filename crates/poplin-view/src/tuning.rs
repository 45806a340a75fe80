//! Sliders for the settings of a cloth.

use std::ops::RangeInclusive;

use egui::{CollapsingHeader, ComboBox, Slider, Ui};
use poplin::model::{ClothConfig, PhaseKind, Solver};
use poplin_scene::Wind;

use crate::{Show, ViewError};

/// Upper end of the slider of iterations per second [1/s]; the setting allows more, but not in real
/// time.
const MAX_FREQUENCY: f32 = 3000.0;

/// Width of a slider \[points\].
const SLIDER_WIDTH: f32 = 110.0;

/// Upper end of the slider of substeps.
const MAX_SUBSTEPS: u32 = 60;

/// Lays out the settings of one cloth; changes act from the next frame on.
///
/// # Errors
/// [`ViewError`] if the cloth rejects a setting; the old settings stay.
pub(crate) fn show(ui: &mut Ui, cloth: &mut usize, show: &mut dyn Show) -> Result<(), ViewError> {
    choose(ui, cloth, show);
    let Some(shown) = show.cloths().get(*cloth) else { return Ok(()) };
    let (ids, old_wind) = (shown.ids.clone(), shown.wind);
    let Some(&first) = ids.first() else { return Ok(()) };
    let old = show.simulation().cloth(first)?.desc().config.clone();
    let (mut config, mut wind) = (old.clone(), old_wind);
    ui.spacing_mut().slider_width = SLIDER_WIDTH;
    CollapsingHeader::new("Solver")
        .default_open(true)
        .show(ui, |ui| solver(ui, &mut config.solver));
    CollapsingHeader::new("Motion").default_open(true).show(ui, |ui| motion(ui, &mut config));
    CollapsingHeader::new("Contact").default_open(true).show(ui, |ui| contact(ui, &mut config));
    CollapsingHeader::new("Wind")
        .default_open(false)
        .show(ui, |ui| air(ui, &mut config, &mut wind));
    if wind != old_wind {
        show.cloths_mut()[*cloth].wind = wind;
    }
    if config != old {
        for id in ids {
            show.simulation().cloth_mut(id)?.set_config(config.clone())?;
        }
    }
    Ok(())
}

/// Lays out the choice of the cloth to tune, if there are several.
fn choose(ui: &mut Ui, cloth: &mut usize, show: &dyn Show) {
    let cloths = show.cloths();
    if cloths.len() < 2 {
        return;
    }
    let name = cloths.get(*cloth).map_or("", |cloth| cloth.name.as_str());
    ComboBox::from_label("cloth").selected_text(name).show_ui(ui, |ui| {
        for (index, shown) in cloths.iter().enumerate() {
            ui.selectable_value(cloth, index, &shown.name);
        }
    });
}

fn slide(ui: &mut Ui, name: &str, value: &mut f32, range: RangeInclusive<f32>) {
    ui.add(Slider::new(value, range).text(name));
}

/// Lays out a logarithmic slider with 0 at its left end.
fn slide_powers(ui: &mut Ui, name: &str, value: &mut f32, range: RangeInclusive<f32>, least: f64) {
    let slider = Slider::new(value, range).logarithmic(true).smallest_positive(least);
    ui.add(slider.text(name).custom_formatter(|value, _| match value {
        0.0 => "0".into(),
        value if !(1e-3..1e4).contains(&value) => format!("{value:.1e}"),
        value => format!("{value:.3}"),
    }));
}

fn frequency(ui: &mut Ui, frequency: &mut f32) {
    let most = MAX_FREQUENCY.max(*frequency);
    let slider = Slider::new(frequency, 30.0..=most);
    ui.add(slider.logarithmic(true).integer().text("iterations [1/s]"));
}

/// Lays out the iterations per second, or per frame without a frequency.
fn steps(ui: &mut Ui, per_second: Option<&mut f32>, substeps: &mut u32) {
    match per_second {
        Some(per_second) => frequency(ui, per_second),
        None => {
            let most = MAX_SUBSTEPS.max(*substeps);
            ui.add(Slider::new(substeps, 1..=most).text("iterations per frame"));
        }
    }
}

fn solver(ui: &mut Ui, solver: &mut Solver) {
    match solver {
        Solver::Pbd(pbd) => {
            frequency(ui, &mut pbd.frequency);
            for kind in PhaseKind::ALL {
                slide(ui, kind.name(), &mut pbd.phases.kind_mut(kind).stiffness, 0.0..=1.0);
            }
        }
        Solver::Xpbd(xpbd) => {
            steps(ui, xpbd.frequency.as_mut(), &mut xpbd.substeps);
            ui.weak("compliance [m/N]");
            for kind in PhaseKind::ALL {
                let compliance = &mut xpbd.phases.kind_mut(kind).compliance;
                slide_powers(ui, kind.name(), compliance, 0.0..=1.0, 1e-6);
            }
            slide_powers(ui, "bending [N m]", &mut xpbd.bending_rigidity, 0.0..=1e-2, 1e-7);
        }
        Solver::Implicit(implicit) => {
            steps(ui, implicit.frequency.as_mut(), &mut implicit.substeps);
            stiffnesses(ui, &mut implicit.stretch_stiffness, &mut implicit.shear_stiffness);
            slide_powers(ui, "bending [N m]", &mut implicit.bending_rigidity, 0.0..=1e-2, 1e-7);
        }
        Solver::Multilevel(multilevel) => {
            steps(ui, multilevel.frequency.as_mut(), &mut multilevel.substeps);
            stiffnesses(ui, &mut multilevel.stretch_stiffness, &mut multilevel.shear_stiffness);
            slide_powers(ui, "bending [N m]", &mut multilevel.bending_rigidity, 0.0..=1e-2, 1e-7);
        }
    }
}

/// Lays out the stiffness of a membrane.
fn stiffnesses(ui: &mut Ui, stretch: &mut [f32; 2], shear: &mut f32) {
    for (name, value) in ["warp [N/m]", "weft [N/m]"].iter().zip(stretch) {
        slide_powers(ui, name, value, 1.0..=1e5, 1.0);
    }
    slide_powers(ui, "shear [N/m]", shear, 0.0..=1e5, 0.1);
}

fn motion(ui: &mut Ui, config: &mut ClothConfig) {
    let old = config.damping.iter().copied().fold(0.0, f32::max);
    let mut damping = old;
    slide(ui, "damping", &mut damping, 0.0..=1.0);
    if damping != old {
        config.damping = [damping; 3];
    }
    slide(ui, "gravity [m/s^2]", &mut config.gravity[1], -20.0..=20.0);
}

fn contact(ui: &mut Ui, config: &mut ClothConfig) {
    slide(ui, "friction", &mut config.contact.friction, 0.0..=2.0);
    slide_powers(ui, "thickness [m]", &mut config.thickness, 0.0..=0.1, 1e-4);
    let own = &mut config.self_collision;
    let mut is_stated = own.distance.is_some();
    ui.checkbox(&mut is_stated, "separate self collision distance");
    if is_stated != own.distance.is_some() {
        own.distance = is_stated.then_some(config.thickness);
    }
    if let Some(distance) = &mut own.distance {
        slide_powers(ui, "distance [m]", distance, 0.0..=0.1, 1e-4);
    }
    slide(ui, "self friction", &mut own.friction, 0.0..=1.0);
}

fn air(ui: &mut Ui, config: &mut ClothConfig, wind: &mut Option<Wind>) {
    slide_powers(ui, "drag", &mut config.air.drag, 0.0..=1.0, 1e-3);
    slide_powers(ui, "lift", &mut config.air.lift, 0.0..=1.0, 1e-3);
    slide(ui, "drag coefficient", &mut config.air.drag_coefficient, 0.0..=4.0);
    slide(ui, "lift coefficient", &mut config.air.lift_coefficient, 0.0..=4.0);
    let velocity = match wind {
        Some(wind) => &mut wind.velocity,
        None => &mut config.air.wind_velocity,
    };
    for (axis, value) in ["x [m/s]", "y [m/s]", "z [m/s]"].iter().zip(velocity) {
        slide(ui, axis, value, -20.0..=20.0);
    }
    if let Some(wind) = wind {
        slide(ui, "gusts [m/s]", &mut wind.gust.strength, 0.0..=20.0);
    }
}
