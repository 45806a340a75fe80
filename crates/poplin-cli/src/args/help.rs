//! Examples and explanations at the end of the help pages.

use poplin_io::{FRAME_FORMATS, FrameFormat};
use poplin_measure::bench::Workload;

use poplin_run::shipped;

/// Below `poplin --help`.
pub(super) const POPLIN: &str = "\
Examples:
  poplin run flag                                  simulate a shipped scene, write to out/flag
  poplin run --mesh shirt.obj --pin top:3%         hang up a mesh by its top
  poplin view flag                                 watch and grab it in a window (needs the cargo feature `view`)
  poplin scenes --keys                             every key of a scene file
  poplin info                                      the GPU that would be used, and why
  poplin doctor                                    whether it computes right, and how fast
  poplin run --help                                more about a command

Exit codes:
  0    success
  1    the run failed (no adapter, output not writable), a cloth faulted, a case or a job of a sweep failed, or there is
       a warning with --strict
  2    usage or bad input: an option, a scene, a mesh
  130  interrupted (Ctrl-C); the results until then are written";

/// Below `poplin batch --help`.
pub(super) const BATCH: &str = "\
A sweep:
  scene = \"flag\"                       a scene file in the same folder, or a shipped scene
  frames = 60                          default: the scene's
  seed = 1                             for random values
  count = 10                           jobs of each combination of the other values
  [[vary]]
  key = \"cloth.flag.density\"           or \"cloth[0].damping[1]\", \"wind.velocity[0]\", \"collider.ball.keys[1].translation\"
  values = [0.1, 0.2, 0.4]             or linear or log = { from = 0.1, to = 1, count = 4 }, glob = \"meshes/*.obj\",
                                       uniform or log_uniform = [0.1, 0.5], normal = { mean = 0.2, deviation = 0.05 }
  zip = \"a\"                            groups keys that advance together; others are combined, the first changing slowest
  whole = true                         rounds to whole numbers
  [output]
  arrays = [\"positions\"]               and normals, velocities: NPY files, shape [frame, vertex, 3]
  every = 10                           frames 0, 10, 20, ... [default: the last]
  precision = \"f16\"                    [default: f32]
  final_obj = true                     the last frame as OBJ
  picture = true                       a contact sheet

Files written: job-NNNNNNN, one folder per job, which appears only when complete; manifest-WRITER.jsonl, one row per job
with its values, strain, depth, warnings, a hash of the particles and the error of a failed job; sweep.json, which
identifies the sweep. Parts of a sweep may write to one folder at once. A failed job does not affect other jobs, and none
of its files are written.

Examples:
  poplin batch sweep.toml --dry-run                list the jobs
  poplin batch sweep.toml --out /data/sweep        run all jobs
  poplin batch sweep.toml --out /data/sweep --resume
                                                   continue after an interruption or crash
  poplin batch sweep.toml --out /data/sweep --shard 0/8
                                                   run the share of one of eight machines";

/// Below `poplin view --help`.
pub(super) const VIEW: &str = "\
Only in a build with the cargo feature `view`: cargo run --release -p poplin-cli --features view -- view flag

Drag the cloth to move it; drag beside it to orbit, with shift or the middle button to pan; the wheel zooms. Space plays
and pauses, the right arrow steps one frame, R resets the scene, F the camera. Drop a mesh or a scene file on the window
to open it. Record resets the scene and writes the files of `poplin run` to out/NAME.

Examples:
  poplin view flag                                 open a window
  poplin view --mesh shirt.obj                     show a mesh, held at its top
  poplin view ball --frames 90 --screenshot ball.png
                                                   write a picture after 90 frames, without a window
  poplin view ball --screenshot lines.png --show edges,contacts";

/// Below `poplin cook --help`.
pub(super) const COOK: &str = "\
Examples:
  poplin cook shirt.obj --pin top:3%               particles, edges, fibers, sets, islands of pins
  poplin cook shirt.obj --max-fiber-length 1       classical coloured edges instead of fibers
  poplin cook shirt.obj --picture fibers.png       draw the fibers, one colour per set
  poplin cook curtain --json                       report on a shipped scene, for other programs";

/// Below `poplin scenes --help`.
pub(super) const SCENES: &str = "\
Examples:
  poplin scenes                                    list the shipped scenes
  poplin scenes drape > my-scene.toml              write a file to start from
  poplin scenes --keys cloth.contact               list the keys of a table
  poplin scenes --schema > scene.schema.json       for `#:schema ./scene.schema.json` in the first line of a scene";

/// Below `poplin check --help`.
pub(super) const CHECK: &str = "\
Reports every error with its line, not only the first: TOML syntax, unknown keys, types and ranges; then unreadable
meshes, rules that select no vertex, and cloth that cannot be cooked. Warnings are those of `poplin run` that are known
before the simulation.

Each line of --json has path, line, column, end_column (from 1, in characters), severity (error or warning) and message.

Examples:
  poplin check my-scene.toml                       check one scene
  poplin check scenes/*.toml sweep.toml            check several files, a sweep with its scene and its jobs
  poplin check my-scene.toml --json                print JSON for other programs

Exit code 0 without errors, 2 with errors.";

/// Below `poplin doctor --help`.
pub(super) const DOCTOR: &str = "\
The GPU that --backend auto takes, or a named adapter. Each line: ok | slow | FAILED, the check, what it found; below, what to do about it.
  device        the adapter, whose canaries pass
  exchange      what lanes exchange through storage arrives
  dispatches    a thousand in order, and the time of one; workgroups: all of a large dispatch run;
                bindings: a large one is written to its end
  cases         the reference cases inside this program, on both backends; stages: one by one
  cloths        random ones in every memory tier: as on the CPU but for rounding, and the same bits twice
  triangles     a sheet on a ball and a box crosses nothing
  speed         beside that of the CPU

Examples:
  poplin doctor                                    check the GPU that --backend auto takes
  poplin doctor --adapter llvmpipe --full          check a software adapter, in minutes
  poplin doctor --json doctor.json                 write what a report of a fault needs

Exit codes: 0 nothing is wrong, 1 a check failed, 2 there is no GPU to check.";

/// Below `poplin conform --help`.
pub(super) const CONFORM: &str = "\
Examples:
  poplin conform --builtin                         run the cases inside this program on the CPU and on the GPU
  poplin conform cases/*.json                      run these cases
  poplin conform edges.json --backend cpu -v       run one case, print every snapshot
  poplin conform limits.json --stages stages/limits.json
                                                   find the wrong stage of a frame

Each line: case, backend, pass | FAIL | unsupported, and the snapshot with the largest error relative to its tolerance.
The last line counts the lines above. Exit code 1 if a case fails or nothing can run, 2 if a file is not a case.
POPLIN_GPU=off skips the GPU (its lines count as skipped).";

/// Below `poplin bench --help`.
pub(super) fn bench() -> String {
    let line = |workload: Workload| format!("  {:<14}{}", workload.name, workload.about);
    format!(
        "\
Workloads:
{workloads}

Sheets of 1 m x 1 m and 0.2 kg, 60 frames per second; the ball collider is 5 mm larger than the ball. Timed runs measure
nothing else; a separate run measures the results. Columns, as far as a workload has them:
  ms a frame     median over the frames of a run: the median and the minimum of the runs
  ns             time per particle or edge, and per iteration
  p99, p1        percentiles of the signed strain of horizontal and vertical edges: above 0 edges are longer than at
                 rest, below 0 shorter; after the last frame, and over all frames of the second half
  longest, shortest  extremes of the strain of these edges
  in the shapes, below the floor  depth of the deepest particle in the second half, against the true ball
  crossings      edge-triangle crossings after the last frame, and the maximum over every second frame
  close pairs    particle pairs closer than half the thickness that are not neighbours, after the last frame
  ms on the GPU, uploaded, of the bandwidth  on a GPU with timestamps: GPU time of a frame, bytes uploaded by the last
                 frame, and the fraction of that time in which it could copy both states of every particle

Examples:
  poplin bench --workload w1 w4                    print the tables of two workloads
  poplin bench --threads 1 --json bench.json       run all workloads on one thread, write JSON
  poplin bench --backend gpu --workload headline   run many small cloths on the GPU",
        workloads = Workload::ALL.map(line).join("\n"),
    )
}

/// Help text of `--format`.
pub(super) fn format() -> String {
    let default = FRAME_FORMATS[0];
    format!(
        "Format of the frames (see below); may be repeated [default: the scene's, or {default}]"
    )
}

/// Formats of frames, one per line.
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
  NAME.FORMAT        the start and every frame (obj and ply: a folder NAME-FORMAT), for the vertices of the source mesh
                     in their order, copies of a cloth one after another; in world space, also for cloths in a moving
                     local space. Formats:
{formats}
  NAME.obj           the last frame, with faces that match the frames; a mesh far from the origin keeps its position
                     here, all other files are relative to `origin_m` of the summary
                     more than 256 cloths share cloths.FORMAT and cloths.obj; cloths.json lists their vertex ranges
  summary.json       sizes, time per frame, strain, speed, depth in colliders, slept frames, faults, warnings, cooking report
  contact-sheet.png  eight frames spread over the run (the first eight copies of a cloth), colliders in grey;
                     picture.png with --picture last
Only one run at a time writes to a folder; files of the previous run are removed, other files stay.

Examples:
  poplin run flag
  poplin run my-scene.toml --frames 300 --out /tmp/test
  poplin run --mesh shirt.obj --pin top:3% --backend cpu
  poplin run --mesh shirt.obj --collider body.obj
  poplin run --mesh towel.obj --pin corner:top-left --pin corner:top-right --density 0.4

Ctrl-C ends a run after the current frame with all files written; a second Ctrl-C ends it at once.",
        formats = formats(),
        names = shipped::names()
    )
}
