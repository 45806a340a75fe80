//! Command-line arguments.

#[cfg(test)]
mod documented;
mod fabric;
mod help;
mod picture;
mod position;
mod ranges;
mod wind;

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use poplin::SimulationOptions;
use poplin_io::FrameFormat;
use poplin_measure::bench::Workload;
use poplin_model::ContactMode;
use poplin_run::{Failure, Part, simulation_options};
use poplin_scene::PinRule;

pub(crate) use fabric::{FabricArgs, SolverArgs};
pub(crate) use picture::PictureArgs;
pub(crate) use position::PositionArgs;
use ranges::{drag, frame_rate, rest_speed, whole, workload};
pub(crate) use wind::WindArgs;

/// GPU compute cloth: simulates, cooks and checks cloth from the command line.
#[derive(Debug, Parser)]
#[command(name = "poplin", version, after_help = help::POPLIN, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// Command to run.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Log more to stderr: -v steps, -vv details, -vvv wgpu too
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Simulate a scene or a mesh; write frames, meshes, a summary and a picture
    #[command(after_help = help::run())]
    Run(Box<RunArgs>),
    /// Simulate many variants of a scene in parallel; an interrupted sweep can be resumed
    #[command(after_help = help::BATCH)]
    Batch(BatchArgs),
    /// Show a scene or a mesh in a window to watch, grab and tune it; or draw it into a picture
    #[command(after_help = help::VIEW)]
    View(ViewArgs),
    /// Cook a mesh or the cloths of a scene and print the cooking report
    #[command(after_help = help::COOK)]
    Cook(CookArgs),
    /// List the shipped scenes, print one to start from, or every key that a scene file may have
    #[command(after_help = help::SCENES)]
    Scenes(ScenesArgs),
    /// Report all errors and warnings of scenes and sweeps, without simulating
    #[command(after_help = help::CHECK)]
    Check(CheckArgs),
    /// Show the adapters of this machine, their limits, and the one that poplin would use
    Info,
    /// Check that the GPU computes what the CPU does, and how fast
    #[command(after_help = help::DOCTOR)]
    Doctor(DoctorArgs),
    /// Run reference cases and compare with the measured trajectories
    #[command(after_help = help::CONFORM)]
    Conform(ConformArgs),
    /// Time the engine on known scenes and measure the quality of its results
    #[command(after_help = help::bench())]
    Bench(BenchArgs),
}

/// Arguments of `poplin run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Scene file (TOML), or the name of a shipped scene
    #[arg(conflicts_with = "mesh")]
    pub(crate) scene: Option<PathBuf>,
    /// Simulate this mesh (OBJ, PLY, STL, glTF, GLB) instead of a scene; needs --pin or --collider
    #[arg(long, value_name = "MESH")]
    pub(crate) mesh: Option<PathBuf>,
    /// Vertices of the mesh to pin; may be repeated. `none` lets it fall
    #[arg(long = "pin", value_name = "RULE")]
    pub(crate) pins: Vec<PinRule>,
    /// Closed mesh at rest that the cloth of --mesh collides with
    #[arg(long, value_name = "MESH")]
    pub(crate) collider: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) backend: BackendArgs,
    /// Frames to simulate, 1 to 1000000 [default: the scene's, or 120]
    #[arg(long, value_name = "N", value_parser = whole(1..=1_000_000), allow_negative_numbers = true)]
    pub(crate) frames: Option<u32>,
    /// Frames per second [1/s], 0.1 to 10000 [default: the scene's, or 60]
    #[arg(long, value_name = "RATE", value_parser = frame_rate, allow_negative_numbers = true)]
    pub(crate) frame_rate: Option<f32>,
    /// End before the last frame once no vertex has moved faster than this for half a second, after
    /// the last key of the cloths and the last motion of the colliders [m/s], 1e-6 to 1000 [default
    /// without a value: 0.01]
    #[arg(long, value_name = "SPEED", num_args = 0..=1, require_equals = true, default_missing_value = "0.01", value_parser = rest_speed, allow_negative_numbers = true)]
    pub(crate) stop_at_rest: Option<f32>,
    /// Folder to write to, created if missing [default: out/NAME, after the scene or mesh]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[arg(long = "format", value_name = "FORMAT", help = help::format(), conflicts_with = "no_cache")]
    pub(crate) formats: Vec<FrameFormat>,
    /// Write no frames and read back only those of the picture: for big batches
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// Exit with 1 if there is a warning about the result
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) picture: PictureArgs,
    #[command(flatten)]
    pub(crate) position: PositionArgs,
    #[command(flatten)]
    pub(crate) wind: WindArgs,
    #[command(flatten)]
    pub(crate) fabric: FabricArgs,
    #[command(flatten)]
    pub(crate) solver: SolverArgs,
}

impl RunArgs {
    /// Returns the contact mode, by default particles.
    pub(crate) fn contact(&self) -> ContactMode {
        self.solver.contact.map(Into::into).unwrap_or_default()
    }
}

/// Arguments of `poplin batch`.
#[derive(Debug, Args)]
pub(crate) struct BatchArgs {
    /// Sweep file (TOML): a scene, the keys that vary, and the files to write
    #[arg(value_name = "SWEEP.toml")]
    pub(crate) sweep: PathBuf,
    /// Folder to write to, created if missing [default: out/NAME, after the sweep]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    /// Continue in a folder with results: skips finished jobs, including failed ones
    #[arg(long)]
    pub(crate) resume: bool,
    #[command(flatten)]
    pub(crate) backend: BackendArgs,
    /// Print the jobs with their values, without simulating
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print the jobs of --dry-run as JSON, one per line
    #[arg(long, requires = "dry_run")]
    pub(crate) json: bool,
}

/// Selected jobs of a sweep.
#[derive(Debug, Args)]
pub(crate) struct PartArgs {
    /// Only jobs A to B - 1, counted from 0
    #[arg(long, value_name = "A..B", value_parser = Part::range, conflicts_with = "shard")]
    jobs: Option<Part>,
    /// Only jobs whose index modulo N is I, `0..N`
    #[arg(long, value_name = "I/N", value_parser = Part::shard)]
    shard: Option<Part>,
}

impl PartArgs {
    /// Returns the requested part; `None` means all jobs.
    pub(crate) fn part(&self) -> Option<Part> {
        self.jobs.or(self.shard)
    }
}

/// Arguments of `poplin view`.
#[derive(Debug, Args)]
pub(crate) struct ViewArgs {
    /// Scene file (TOML), or the name of a shipped scene
    #[arg(conflicts_with = "mesh")]
    pub(crate) scene: Option<PathBuf>,
    /// Show this mesh (OBJ, PLY, STL, glTF, GLB) instead of a scene, held at its top
    #[arg(long, value_name = "MESH")]
    pub(crate) mesh: Option<PathBuf>,
    /// Vertices of the mesh to pin, as of `poplin run`; may be repeated
    #[arg(long = "pin", value_name = "RULE", default_value = "top:3%", requires = "mesh")]
    pub(crate) pins: Vec<PinRule>,
    #[command(flatten)]
    pub(crate) backend: BackendArgs,
    /// Write a picture of 1280 x 800 pixels and open no window
    #[arg(long, value_name = "FILE.png")]
    pub(crate) screenshot: Option<PathBuf>,
    /// Frames to simulate before the picture, 1 to 1000000 [default: 60]
    #[arg(long, value_name = "N", value_parser = whole(1..=1_000_000), allow_negative_numbers = true, requires = "screenshot")]
    pub(crate) frames: Option<u32>,
    /// Drag the pointer from one pixel to another in the last two thirds of the frames: grabs the
    /// cloth under the first pixel
    #[arg(long, value_name = "X0,Y0,X1,Y1", value_parser = drag, allow_hyphen_values = true, requires = "screenshot")]
    pub(crate) drag: Option<[f32; 4]>,
    /// Layers to show beside the cloths, separated by commas
    #[arg(long, value_name = "LAYERS", value_enum, value_delimiter = ',', requires = "screenshot")]
    pub(crate) show: Vec<Layer>,
}

/// Layers of `poplin view --show`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Layer {
    /// Strain as colour
    Strain,
    /// Edges, coloured by set
    Edges,
    /// Normals of triangles
    Normals,
    /// Lines from particles to their tether anchors
    Tethers,
    /// Motion spheres, green, and separation spheres, orange
    Spheres,
    /// Normals where particles touch colliders
    Contacts,
}

/// Arguments of `poplin cook`.
#[derive(Debug, Args)]
pub(crate) struct CookArgs {
    /// Mesh (OBJ, PLY, STL, glTF, GLB), scene file (TOML), or the name of a shipped scene
    pub(crate) file: PathBuf,
    /// Vertices of the mesh to pin; may be repeated. For a mesh, not for a scene
    #[arg(long = "pin", value_name = "RULE")]
    pub(crate) pins: Vec<PinRule>,
    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Draw the fibers over the mesh, one colour per set, with a gap at each end: one column per
    /// phase, seen from the front and from the back; one copy of each cloth of a scene
    #[arg(long, value_name = "FILE.png")]
    pub(crate) picture: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) fabric: FabricArgs,
}

/// Arguments of `poplin scenes`.
#[derive(Debug, Args)]
pub(crate) struct ScenesArgs {
    /// Print the file of this shipped scene
    #[arg(conflicts_with_all = ["keys", "schema"])]
    pub(crate) name: Option<String>,
    /// Print every key with its type and meaning, or only those of this table and its subtables
    #[arg(long, value_name = "TABLE", num_args = 0..=1, default_missing_value = "")]
    pub(crate) keys: Option<String>,
    /// Print the format as JSON Schema, for editors that check and complete TOML
    #[arg(long, conflicts_with = "keys")]
    pub(crate) schema: bool,
}

/// Arguments of `poplin check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Scene files and sweeps (TOML), or names of shipped scenes
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print the findings as JSON, one per line, for editors
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `poplin doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Take only a GPU adapter whose name contains this, ignoring case, also one that computes on
    /// the CPU
    #[arg(long, value_name = "NAME")]
    pub(crate) adapter: Option<String>,
    /// Check an adapter that computes on the CPU in full, which takes it minutes
    #[arg(long)]
    pub(crate) full: bool,
    /// Write all findings as JSON: what a report of a fault needs
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

/// Arguments of `poplin conform`.
#[derive(Debug, Args)]
pub(crate) struct ConformArgs {
    /// Reference cases (poplin-case/1)
    #[arg(required_unless_present = "builtin", value_name = "CASE.json")]
    pub(crate) cases: Vec<PathBuf>,
    /// Run the cases and the measured stages inside this program
    #[arg(long)]
    pub(crate) builtin: bool,
    /// Backends to run on
    #[arg(long, value_enum, default_value_t = ConformBackend::Both)]
    pub(crate) backend: ConformBackend,
    /// Take only a GPU adapter whose name contains this, ignoring case
    #[arg(long, value_name = "NAME")]
    pub(crate) adapter: Option<String>,
    /// Measured stages (poplin-stages/1) of one of the cases: finds the wrong stage; may be
    /// repeated
    #[arg(long, value_name = "STAGES.json")]
    pub(crate) stages: Vec<PathBuf>,
}

/// Arguments of `poplin bench`.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Workloads to run, see below; may be repeated [default: all]
    #[arg(long = "workload", value_name = "NAME", num_args = 1.., value_parser = workload)]
    pub(crate) workloads: Vec<Workload>,
    #[command(flatten)]
    pub(crate) backend: BackendArgs,
    /// Frames of a run, 1 to 1000000 [default: the workload's]
    #[arg(long, value_name = "N", value_parser = whole(1..=1_000_000), allow_negative_numbers = true)]
    pub(crate) frames: Option<u32>,
    /// Timed runs of each row, 1 to 1000
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = whole(1..=1000), allow_negative_numbers = true)]
    pub(crate) repeat: u32,
    /// Threads of the CPU backend, 1 to 1024 [default: one per hardware thread]
    #[arg(long, value_name = "N", value_parser = whole(1..=1024), allow_negative_numbers = true)]
    pub(crate) threads: Option<u32>,
    /// Write all results as JSON, with machine, date, commit, backend and threads
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the rows of all tables as CSV, as under benches/results
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
}

/// Backends of `poplin conform`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConformBackend {
    /// The best adapter, a software one if there is no other
    Gpu,
    /// The CPU reference
    Cpu,
    /// First the CPU, then the GPU
    Both,
}

/// Options of the backend.
#[derive(Debug, Args)]
pub(crate) struct BackendArgs {
    /// Backend to simulate on [default: auto]
    #[arg(long, value_enum)]
    backend: Option<Backend>,
    /// Take only a GPU adapter whose name contains this, ignoring case
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,
}

/// Backends of `poplin run`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Backend {
    /// A real GPU if there is one, else the CPU
    Auto,
    /// The best adapter, a software one if there is no other
    Gpu,
    /// The CPU, in parallel over cloths and within large ones
    Cpu,
}

impl BackendArgs {
    /// Returns the options of the simulation. A named adapter implies the GPU.
    pub(crate) fn options(&self) -> Result<SimulationOptions, Failure> {
        let backend = match self.backend {
            Some(Backend::Cpu) => "cpu",
            Some(Backend::Gpu) => "gpu",
            Some(Backend::Auto) | None => "auto",
        };
        simulation_options(backend, self.adapter.clone())
    }
}
