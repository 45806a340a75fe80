//! Wind on the mesh of `--mesh`.

use clap::Args;
use poplin_model::Air;

use super::position::first_stated;
use super::ranges::{air_coefficient, fraction, wind};

/// Default drag and lift with --wind: those of the shipped flag.
const DEFAULT_DRAG: f32 = 0.04;

/// Density of air [kg/m^3].
const AIR_DENSITY: f32 = 1.2;

/// Options of the air around the cloth.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Air (around --mesh)")]
pub(crate) struct WindArgs {
    /// Steady wind in metres per second, each -1000 to 1000 [default: still air]
    #[arg(long, value_name = "X,Y,Z", value_parser = wind, allow_hyphen_values = true)]
    pub(crate) wind: Option<[f32; 3]>,
    /// Drag of the cloth in the air, 0 to 1 [default: 0; 0.04 with --wind and no coefficient]
    #[arg(long, value_name = "FRACTION", value_parser = fraction, allow_negative_numbers = true)]
    pub(crate) drag: Option<f32>,
    /// Lift of the cloth in the air, 0 to 1 [default: 0; 0.04 with --wind and no coefficient]
    #[arg(long, value_name = "FRACTION", value_parser = fraction, allow_negative_numbers = true)]
    pub(crate) lift: Option<f32>,
    /// Drag coefficient of the cloth, 0 to 100: a square plate has 1.2 [default: 0]
    #[arg(long, value_name = "C", value_parser = air_coefficient, allow_negative_numbers = true)]
    pub(crate) drag_coefficient: Option<f32>,
    /// Lift coefficient of the cloth, 0 to 100 [default: 0]
    #[arg(long, value_name = "C", value_parser = air_coefficient, allow_negative_numbers = true)]
    pub(crate) lift_coefficient: Option<f32>,
}

impl WindArgs {
    /// Returns the first option that is stated.
    pub(crate) fn stated(&self) -> Option<&'static str> {
        first_stated([
            (self.wind.is_some(), "--wind"),
            (self.drag.is_some(), "--drag"),
            (self.lift.is_some(), "--lift"),
            (self.drag_coefficient.is_some(), "--drag-coefficient"),
            (self.lift_coefficient.is_some(), "--lift-coefficient"),
        ])
    }

    /// Returns the air, with a line for the summary if drag or lift are defaults; `None` for a wind
    /// without effect.
    pub(crate) fn air(&self) -> Option<(Air, Option<String>)> {
        let has_coefficients = self.drag_coefficient.or(self.lift_coefficient).is_some();
        let is_usual = self.wind.is_some() && !has_coefficients;
        let usual = if is_usual { DEFAULT_DRAG } else { 0.0 };
        let air = Air {
            wind_velocity: self.wind.unwrap_or_default(),
            drag: self.drag.unwrap_or(usual),
            lift: self.lift.unwrap_or(usual),
            drag_coefficient: self.drag_coefficient.unwrap_or_default(),
            lift_coefficient: self.lift_coefficient.unwrap_or_default(),
            density: AIR_DENSITY,
            ..Air::default()
        };
        let is_chosen = is_usual && (self.drag.is_none() || self.lift.is_none());
        let line = is_chosen
            .then(|| format!("air    drag {}, lift {} (--drag, --lift)", air.drag, air.lift));
        (self.wind.is_none() || air.feels_wind()).then_some((air, line))
    }
}
