//! Examples and explanations at the end of the help pages.

use poplin_io::{FRAME_FORMATS, FrameFormat};
use poplin_measure::bench::Workload;

use crate::shipped;

/// Below `poplin --help`.
pub(super) const POPLIN: &str = "\
Examples:
  poplin run flag                                  simulate a shipped scene, write to out/flag
  poplin run --mesh shirt.obj --pin top:3%         hang up a mesh by its top
  poplin view flag                                 watch and grab it in a window, in a build with the feature `view`
  poplin scenes --keys                             everything that a scene file may say
  poplin info                                      which GPU would be used, and why
  poplin run --help                                more about a command

Exit codes:
  0    all is well
  1    the run failed (no adapter, output not writable), a cloth faulted, a case or a job of a sweep failed, or with --strict a
       warning
  2    usage or bad input: an option, a scene, a mesh
  130  interrupted (Ctrl-C); what was done until then is written";

/// Below `poplin batch --help`.
pub(super) const BATCH: &str = "\
A sweep:
  scene = \"flag\"                       a scene file beside it, or a shipped scene
  frames = 60                          default: the scene's
  seed = 1                             of random values
  count = 10                           jobs of each combination of the other values
  [[vary]]
  key = \"cloth.flag.density\"           or \"cloth[0].damping[1]\", \"wind.velocity[0]\", \"collider.ball.keys[1].translation\"
  values = [0.1, 0.2, 0.4]             or linear or log = { from = 0.1, to = 1, count = 4 }, glob = \"meshes/*.obj\",
                                       uniform or log_uniform = [0.1, 0.5], normal = { mean = 0.2, deviation = 0.05 }
  zip = \"a\"                            of keys that advance together; others are crossed, the first changing slowest
  whole = true                         rounds
  [output]
  arrays = [\"positions\"]               and normals, velocities: NPY files, shape [frame, vertex, 3]
  every = 10                           frames 0, 10, 20, ... [default: the last]
  precision = \"f16\"                    [default: f32]
  final_obj = true                     the last frame as OBJ
  picture = true                       a contact sheet

Files written: job-NNNNNNN, a folder for each job, whole or not there; manifest-WRITER.jsonl, a row for each job with its
values, strain, depth, warnings, a hash of the particles and why it failed; sweep.json, which sweep it is. Parts of a sweep
may write to one folder at once. A job that fails changes no other, and none of its files are written.

Examples:
  poplin batch sweep.toml --dry-run                the jobs
  poplin batch sweep.toml --out /data/sweep        all of them
  poplin batch sweep.toml --out /data/sweep --resume
                                                   go on after it was stopped, however
  poplin batch sweep.toml --out /data/sweep --shard 0/8
                                                   one of eight machines";

/// Below `poplin view --help`.
pub(super) const VIEW: &str = "\
Only in a build with the cargo feature `view`: cargo run --release -p poplin-cli --features view -- view flag

Drag the cloth, or beside it to orbit; with shift or the middle button to pan; the wheel zooms. Space plays and pauses, the
arrow to the right is one frame, R goes back to the start, F to the first camera. A mesh or a scene file that is dropped
on the window is opened. Record goes back to the start and writes what `poplin run` does to out/NAME.

Examples:
  poplin view flag                                 a window
  poplin view --mesh shirt.obj                     a mesh, held at its top
  poplin view ball --frames 90 --screenshot ball.png
                                                   no window, a picture after 90 frames
  poplin view ball --screenshot lines.png --show edges,contacts";

/// Below `poplin cook --help`.
pub(super) const COOK: &str = "\
Examples:
  poplin cook shirt.obj --pin top:3%               particles, edges, fibers, sets, islands of pins
  poplin cook shirt.obj --max-fiber-length 1       the same as classical coloured edges
  poplin cook shirt.obj --picture fibers.png       draw the fibers, one colour for each set
  poplin cook curtain --json                       a shipped scene, for other programs";

/// Below `poplin scenes --help`.
pub(super) const SCENES: &str = "\
Examples:
  poplin scenes                                    the shipped scenes, a line each
  poplin scenes drape > my-scene.toml              a file to start from
  poplin scenes --keys cloth.contact               what a table may hold
  poplin scenes --schema > scene.schema.json       for `#:schema ./scene.schema.json` in the first line of a scene";

/// Below `poplin check --help`.
pub(super) const CHECK: &str = "\
Every error is said with its line, not only the first: of TOML, unknown keys, types and ranges; then meshes that cannot be read,
rules that pick no vertex and what cannot be cooked. Warnings are those of `poplin run` that are known before it simulates.

Each line of --json has path, line, column, end_column (from 1, in characters), severity (error or warning) and message.

Examples:
  poplin check my-scene.toml                       one scene
  poplin check scenes/*.toml sweep.toml            several, a sweep with its scene and its jobs
  poplin check my-scene.toml --json                for other programs

Exit code 0 if there is no error, 2 if there is one.";

/// Below `poplin conform --help`.
pub(super) const CONFORM: &str = "\
Examples:
  poplin conform cases/*.json                      every case on the CPU and on the GPU
  poplin conform edges.json --backend cpu -v       one case, every snapshot
  poplin conform limits.json --stages stages/limits.json
                                                   which stage of a frame is wrong

Each line: case, backend, pass | FAIL | unsupported, and the snapshot that is worst in relation to its tolerance. The
last line counts the lines above it. Exit code 1 if one fails, or if nothing could run, 2 if a file is no case.
POPLIN_GPU=off leaves the GPU out (its lines count as skipped).";

/// Below `poplin bench --help`.
pub(super) fn bench() -> String {
    let line = |workload: Workload| format!("  {:<14}{}", workload.name, workload.about);
    format!(
        "\
Workloads:
{workloads}

Sheets of 1 m x 1 m and 0.2 kg, 60 frames per second; the ball is modelled 5 mm larger than it is. A run that is
timed does nothing else; one more is measured. Columns, those that a workload has:
  ms a frame     median over the frames of a run: the median of the runs, and the least of them
  ns             the same by particles or edges, and iterations
  p99, p1        percentiles of the strain of horizontal and vertical edges with its sign: above 0 edges are longer
                 than at rest, below 0 shorter; after the last frame, and of all frames of the second half together
  longest, shortest  the extremes of the same edges
  in the shapes, below the floor  depth of the deepest particle in the second half, against the true ball
  crossings      edges through triangles after the last frame, and the most of every second frame
  close pairs    particles closer than half the thickness that are not neighbours, after the last frame
  ms on the GPU, uploaded, of the bandwidth  on a GPU that takes times: its own time for a frame, what the last one
                 uploaded, and the fraction of that time in which it could have copied both states of every particle

Examples:
  poplin bench --workload w1 w4                    the tables of two workloads
  poplin bench --threads 1 --json bench.json       everything on one thread, for other programs too
  poplin bench --backend gpu --workload headline   many small cloths on the GPU",
        workloads = Workload::ALL.map(line).join("\n"),
    )
}

/// Of `--format`.
pub(super) fn format() -> String {
    let default = FRAME_FORMATS[0];
    format!("Format of the frames, see below; may be repeated [default: the scene's, or {default}]")
}

/// Every format of frames, a line each.
fn formats() -> String {
    let line =
        |format: &FrameFormat| format!("                       {:<6}{}", format.name, format.doc);
    FRAME_FORMATS.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Below `poplin run --help`.
pub(super) fn run() -> String {
    format!(
        "\
Shipped scenes: {names}

Pin rules:
  top:3%                 within 3 % of the height from the top (also bottom, left, right, front, back)
  corner:top-left        the vertex nearest to a corner
  box:x0,y0,z0,x1,y1,z1  inside a box, in metres
  indices:0,5,7-12       vertices by index, from 0
  all, none              every vertex, no vertex

Files written (NAME is the name of each cloth of the scene):
  NAME.FORMAT        the start and every frame (obj and ply: a folder NAME-FORMAT), for the vertices of the source mesh in their order; copies of a
                     cloth follow one another in one file. World space, here and in the mesh, also for cloths in
                     a moving local space. Formats:
{formats}
  NAME.obj           the last frame, with the faces that fit the cache; of a mesh far from the origin where it was, while all else
                     counts from `origin_m` of the summary
                     more than 256 cloths share cloths.FORMAT and cloths.obj; cloths.json says where each is
  summary.json       sizes, time per frame, strain, speed, depth in colliders, slept frames, faults, warnings, cooking report
  contact-sheet.png  eight picture_frames from the first frame to the last (of the first eight copies of a cloth), colliders in
                     grey; picture.png with --picture last
One run at a time writes to a folder; what the run before wrote there is removed, other files stay.

Examples:
  poplin run flag
  poplin run my-scene.toml --frames 300 --out /tmp/test
  poplin run --mesh shirt.obj --pin top:3% --backend cpu
  poplin run --mesh shirt.obj --collider body.obj
  poplin run --mesh towel.obj --pin corner:top-left --pin corner:top-right --density 0.4

Ctrl-C ends a run after the present frame with all files written; a second Ctrl-C ends it at once.",
        formats = formats(),
        names = shipped::names()
    )
}
