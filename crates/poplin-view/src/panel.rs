//! Panel beside the picture.

use std::path::{Path, PathBuf};

use egui_plot::{Legend, Line, Plot, PlotPoints};

use crate::LineLayers;
use crate::Show;
use crate::history::History;
use crate::tuning;

/// Width of the panel \[points\].
const WIDTH: f32 = 320.0;

/// Height of a plot \[points\].
const PLOT_HEIGHT: f32 = 72.0;

/// Optional layers of the picture.
#[derive(Debug)]
pub(crate) struct Layers {
    pub(crate) lines: LineLayers,
    pub(crate) has_pins: bool,
    pub(crate) has_solids: bool,
    pub(crate) has_strain: bool,
    /// Strain with the strongest colour \[%\].
    strain_percent: f32,
}

impl Layers {
    /// Returns the strain with the strongest colour; 0 if strain is not shown.
    pub(crate) fn strain_limit(&self) -> f32 {
        if self.has_strain { self.strain_percent * 0.01 } else { 0.0 }
    }
}

/// State of the panel.
#[derive(Debug)]
pub(crate) struct Panel {
    pub(crate) is_playing: bool,
    /// True to simulate a single frame.
    pub(crate) is_stepping: bool,
    pub(crate) layers: Layers,
    /// Index of the cloth that is tuned.
    cloth: usize,
    /// Last message or error.
    message: Option<Result<String, String>>,
}

impl Default for Panel {
    fn default() -> Self {
        let layers = Layers {
            lines: LineLayers::default(),
            has_pins: false,
            has_solids: true,
            has_strain: false,
            strain_percent: 5.0,
        };
        Self { is_playing: true, is_stepping: false, layers, cloth: 0, message: None }
    }
}

impl Panel {
    /// Shows a message, or an error, which pauses the scene.
    pub(crate) fn report<E: std::error::Error>(&mut self, done: Result<Option<String>, E>) {
        match done {
            Ok(None) => {}
            Ok(Some(text)) => self.message = Some(Ok(text)),
            Err(error) => {
                // An error would repeat every frame.
                self.is_playing = false;
                self.message = Some(Err(error.to_string()));
            }
        }
    }

    /// Returns the last error, if the last message is one.
    pub(crate) fn fault(&self) -> Option<&str> {
        self.message.as_ref()?.as_ref().err().map(String::as_str)
    }

    /// Resets the panel for a new scene.
    pub(crate) fn open(&mut self) {
        (self.cloth, self.message, self.is_playing) = (0, None, true);
    }
}

/// Command of the user, other than a change of settings.
#[derive(Debug)]
pub(crate) enum Command {
    /// Open a scene or a mesh.
    Open(PathBuf),
    /// Reset the scene.
    Reset,
    /// Begin or end a recording.
    Record,
    /// Write the picture to a file.
    Screenshot,
    /// Write the settings to a file.
    Save,
    /// Reset the camera.
    Frame,
}

/// Data shown by the panel.
pub(crate) struct Shown<'a> {
    pub(crate) names: &'a [&'static str],
    pub(crate) scene: &'a Path,
    pub(crate) history: &'a History,
}

/// Lays out the panel and returns the commands of the user.
pub(crate) fn show(
    ui: &mut egui::Ui,
    panel: &mut Panel,
    show: &mut dyn Show,
    shown: &Shown<'_>,
) -> Vec<Command> {
    let mut commands = Vec::new();
    keys(ui, panel, &mut commands);
    egui::Panel::right("panel").exact_size(WIDTH).resizable(false).show(ui, |ui| {
        egui::ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            ui.add_space(6.0);
            head(ui, show, shown, &mut commands);
            play(ui, panel, show, &mut commands);
            message(ui, panel);
            ui.separator();
            layers(ui, &mut panel.layers);
            ui.separator();
            let tuned = tuning::show(ui, &mut panel.cloth, show);
            panel.report(tuned.map(|()| None));
            ui.separator();
            plots(ui, shown.history);
            ui.add_space(8.0);
            ui.weak("Drag the cloth to move it, or beside it to orbit; shift or the middle button pans, the wheel zooms. Drop a mesh or a scene here to open it.");
        });
    });
    commands
}

fn keys(ui: &egui::Ui, panel: &mut Panel, commands: &mut Vec<Command>) {
    if ui.ctx().egui_wants_keyboard_input() {
        return;
    }
    ui.input(|input| {
        if input.key_pressed(egui::Key::Space) {
            panel.is_playing = !panel.is_playing;
        }
        if input.key_pressed(egui::Key::ArrowRight) {
            (panel.is_playing, panel.is_stepping) = (false, true);
        }
        if input.key_pressed(egui::Key::R) {
            commands.push(Command::Reset);
        }
        if input.key_pressed(egui::Key::F) {
            commands.push(Command::Frame);
        }
    });
}

/// Lays out the title and the menu of scenes.
fn head(ui: &mut egui::Ui, show: &dyn Show, shown: &Shown<'_>, commands: &mut Vec<Command>) {
    ui.horizontal(|ui| {
        ui.heading(show.title());
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            let present = shown.scene.display().to_string();
            egui::ComboBox::from_id_salt("scenes").selected_text("Scenes").width(90.0).show_ui(
                ui,
                |ui| {
                    for name in shown.names {
                        if ui.selectable_label(present == *name, *name).clicked() {
                            commands.push(Command::Open(PathBuf::from(name)));
                        }
                    }
                },
            );
        });
    });
}

fn play(ui: &mut egui::Ui, panel: &mut Panel, show: &mut dyn Show, commands: &mut Vec<Command>) {
    let frame = show.frame();
    let time = frame as f32 / show.frame_rate();
    ui.label(format!("frame {frame}, {time:.2} s"));
    ui.weak(show.simulation().backend().adapter.clone());
    ui.horizontal(|ui| {
        if ui
            .button(if panel.is_playing { "Pause" } else { "Play" })
            .on_hover_text("space")
            .clicked()
        {
            panel.is_playing = !panel.is_playing;
        }
        if ui.button("Step").on_hover_text("right arrow").clicked() {
            (panel.is_playing, panel.is_stepping) = (false, true);
        }
        let mut button = |ui: &mut egui::Ui, name: &str, about: &str, command: Command| {
            if ui.button(name).on_hover_text(about).clicked() {
                commands.push(command);
            }
        };
        button(ui, "Reset", "R: reset the scene, keep the settings", Command::Reset);
        button(ui, "Frame", "F: reset the camera", Command::Frame);
    });
    ui.horizontal(|ui| {
        let mut button = |ui: &mut egui::Ui, name: &str, about: &str, command: Command| {
            if ui.button(name).on_hover_text(about).clicked() {
                commands.push(command);
            }
        };
        let record = if show.is_recording() { "Stop" } else { "Record" };
        let about = "record from the start into the files of `poplin run`";
        button(ui, record, about, Command::Record);
        button(ui, "Screenshot", "write a PNG to the working folder", Command::Screenshot);
        button(ui, "Save settings", "write a scene file to the working folder", Command::Save);
    });
}

fn message(ui: &mut egui::Ui, panel: &mut Panel) {
    match &panel.message {
        None => {}
        Some(Ok(text)) => {
            ui.label(text);
        }
        Some(Err(text)) => {
            ui.colored_label(ui.visuals().error_fg_color, text);
        }
    }
}

fn layers(ui: &mut egui::Ui, layers: &mut Layers) {
    ui.horizontal(|ui| {
        ui.checkbox(&mut layers.has_pins, "pins");
        ui.checkbox(&mut layers.has_solids, "colliders");
        ui.checkbox(&mut layers.has_strain, "strain");
    });
    ui.horizontal_wrapped(|ui| {
        let lines = &mut layers.lines;
        for (name, about, is_shown) in [
            ("edges", "coloured by set", &mut lines.edges),
            ("normals", "of triangles", &mut lines.normals),
            ("tethers", "from particles to their tether anchors", &mut lines.tethers),
            ("spheres", "green: motion; orange: separation", &mut lines.spheres),
            ("contacts", "normals where particles touch colliders", &mut lines.contacts),
        ] {
            ui.checkbox(is_shown, name).on_hover_text(about);
        }
    });
    if layers.has_strain {
        let limit = egui::Slider::new(&mut layers.strain_percent, 0.1..=50.0);
        ui.add(limit.logarithmic(true).suffix(" %").text("strongest colour"));
    }
}

fn plots(ui: &mut egui::Ui, history: &History) {
    let line = |name: &str, values: &std::collections::VecDeque<f32>| {
        let points: PlotPoints<'static> =
            values.iter().enumerate().map(|(x, y)| [x as f64, f64::from(*y)]).collect();
        Line::new(name.to_owned(), points)
    };
    let plot = |ui: &mut egui::Ui, name: &str, lines: Vec<Line<'static>>| {
        ui.label(name);
        Plot::new(name.to_owned())
            .height(PLOT_HEIGHT)
            .show_x(false)
            .show_axes([false, true])
            .y_axis_min_width(28.0)
            .include_y(0.0)
            .allow_drag(false)
            .allow_zoom(false)
            .allow_scroll(false)
            .legend(Legend::default().position(egui_plot::Corner::LeftTop))
            .show(ui, |plot| lines.into_iter().for_each(|line| plot.line(line)));
    };
    plot(ui, "Strain [%]", vec![line("p99", &history.p99), line("longest", &history.longest)]);
    let last = history.times.back().copied().unwrap_or_default();
    ui.add_space(4.0);
    plot(ui, &format!("Frame time [ms], now {last:.1}"), vec![line("simulation", &history.times)]);
}
