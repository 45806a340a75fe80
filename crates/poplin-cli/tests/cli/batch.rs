//! `poplin batch`: jobs, their files and their failures.

mod resume;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

use super::bench::{Bench, Ended, crossed_sheets};

/// Sheet that falls onto a moving ball.
const SCENE: &str = "\
[[cloth]]
name = \"sheet\"
grid = { columns = 9, rows = 9, width = 1.0, height = 1.0, plane = \"xz\" }
pins = [\"corner:top-left\"]
damping = [0.1, 0.1, 0.1]
[[collider]]
name = \"ball\"
sphere = { radius = 0.2 }
keys = [{ time = 0.0, translation = [0.5, -0.4, 0.5] }, { time = 1.0, translation = [0.5, 0.2, 0.5] }]
";

/// Sweep of 3 x 2 x 2 jobs.
const SWEEP: &str = "\
scene = \"scene.toml\"
frames = 12
seed = 7
count = 2
[[vary]]
key = \"cloth.sheet.density\"
log = { from = 0.1, to = 0.4, count = 3 }
[[vary]]
key = \"cloth[0].damping[1]\"
uniform = [0.0, 0.3]
[[vary]]
key = \"collider.ball.sphere.radius\"
values = [0.25, 0.15]
[output]
arrays = [\"positions\", \"velocities\", \"normals\"]
every = 6
";

fn bench(name: &str, sweep: &str) -> Bench {
    let bench = Bench::new(name);
    bench.write("scene.toml", SCENE);
    bench.write("sweep.toml", sweep);
    bench
}

fn batch(bench: &Bench, out: &str, more: &[&str]) -> Ended {
    let args = ["batch", "sweep.toml", "--backend", "cpu", "--out", out];
    bench.poplin(&[&args, more].concat())
}

fn ok(ended: &Ended) {
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
}

/// Returns the files of jobs, by job and name.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for job in folder.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
        let name = job.file_name().unwrap().to_string_lossy().into_owned();
        assert!(!name.starts_with('.'), "{name} was left behind");
        for file in job.read_dir().into_iter().flatten().map(|entry| entry.unwrap().path()) {
            let name = format!("{name}/{}", file.file_name().unwrap().to_string_lossy());
            files.insert(name, std::fs::read(file).unwrap());
        }
    }
    files
}

/// Returns the rows of all manifests by job, without the keys that depend on time and grouping.
/// Asserts that each job has one row.
fn rows(folder: &Path) -> BTreeMap<u64, serde_json::Value> {
    let mut rows = BTreeMap::new();
    for path in folder.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let mut row: serde_json::Value = serde_json::from_str(line).unwrap();
            let fields = row.as_object_mut().unwrap();
            fields.remove("seconds");
            fields.remove("group");
            let job = row["job"].as_u64().unwrap();
            assert!(rows.insert(job, row).is_none(), "job {job} has two rows");
        }
    }
    rows
}

fn assert_same(bench: &Bench, a: &str, b: &str) {
    assert_eq!(rows(&bench.path(a)), rows(&bench.path(b)));
    assert!(files(&bench.path(a)) == files(&bench.path(b)), "the files of {a} and {b} differ");
}

#[test]
fn a_dry_run_shows_the_jobs_and_writes_nothing() {
    let bench = bench("batch-dry", SWEEP);
    let ended = batch(&bench, "out", &["--dry-run", "--jobs", "0..3"]);
    ok(&ended);
    assert!(!bench.path("out").exists());
    let lines: Vec<_> = ended.stdout.lines().collect();
    assert_eq!(
        lines[0],
        "| job | cloth.sheet.density | cloth[0].damping[1] | collider.ball.sphere.radius |"
    );
    assert_eq!(lines.len(), 5);
    assert!(
        lines[4].starts_with("| 2 | 0.1 | ") && lines[4].ends_with(" | 0.15 |"),
        "{}",
        lines[4]
    );
    let json = batch(&bench, "out", &["--dry-run", "--json"]);
    assert_eq!(json.stdout.lines().count(), 12);
    let last: serde_json::Value =
        serde_json::from_str(json.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["parameters"]["cloth.sheet.density"], 0.4);
}

#[test]
fn shards_and_single_jobs_equal_the_whole_sweep() {
    let bench = bench("batch-shards", SWEEP);
    ok(&batch(&bench, "whole", &[]));
    assert_eq!(rows(&bench.path("whole")).len(), 12);
    assert_eq!(files(&bench.path("whole")).len(), 36);
    for shard in ["0/2", "1/2"] {
        ok(&batch(&bench, "shards", &["--shard", shard]));
    }
    assert_same(&bench, "whole", "shards");
    for job in 0..12 {
        ok(&batch(&bench, "single", &["--jobs", &format!("{job}..{}", job + 1)]));
    }
    assert_same(&bench, "whole", "single");
}

#[test]
fn cloths_of_different_jobs_do_not_collide() {
    // All jobs are at the same position; with two cloths a job collides with itself.
    for count in [1, 2] {
        let bench = bench(&format!("batch-thick-{count}"), SWEEP);
        let thick = format!("thickness = 0.05\ncount = {count}\nspacing = [0, 0.05, 0]\ndamping");
        bench.write("scene.toml", &SCENE.replace("damping", &thick));
        ok(&batch(&bench, "whole", &[]));
        for job in 0..12 {
            ok(&batch(&bench, "single", &["--jobs", &format!("{job}..{}", job + 1)]));
        }
        assert_same(&bench, "whole", "single");
    }
}

#[test]
fn a_job_has_the_bits_of_a_run() {
    let sweep = SWEEP.replace("arrays", "final_obj = true\narrays");
    let bench = bench("batch-run", &sweep);
    ok(&batch(&bench, "out", &["--jobs", "6..7"]));
    let values = &rows(&bench.path("out"))[&6]["parameters"];
    let damping = values["cloth[0].damping[1]"].to_string();
    let scene = SCENE
        .replace(
            "damping = [0.1, 0.1, 0.1]",
            &format!(
                "density = {}\ndamping = [0.1, {damping}, 0.1]",
                values["cloth.sheet.density"]
            ),
        )
        .replace("radius = 0.2", &format!("radius = {}", values["collider.ball.sphere.radius"]));
    bench.write("job.toml", &scene);
    ok(&bench.poplin(&["run", "job.toml", "--frames", "12", "--backend", "cpu", "--out", "run"]));
    let [own, run] = ["out/job-0000006/sheet.obj", "run/sheet.obj"]
        .map(|name| std::fs::read_to_string(bench.path(name)).unwrap());
    assert!(own.lines().count() > 81 && own == run);
}

#[test]
fn a_broken_job_fails_without_the_others() {
    let mesh = "v 0 0 0\nv 1 0 0\nv 1 0 1\nv 0 0 1\nf 1 2 3 4\n";
    let sweep = "\
scene = \"mesh.toml\"
frames = 5
[[vary]]
key = \"cloth[0].mesh\"
glob = \"meshes/*.obj\"
[[vary]]
key = \"cloth[0].gravity[1]\"
values = [-9.81, 0.0, VALUE]
";
    let bench = bench("batch-broken", &sweep.replace("VALUE", "-1e30"));
    bench.write("mesh.toml", "[[cloth]]\nname = \"a\"\nmesh = \"meshes/a.obj\"\ngravity = [0, 0, 0]\npins = \"indices:0\"\n");
    std::fs::create_dir(bench.path("meshes")).unwrap();
    bench.write("meshes/a.obj", mesh);
    bench.write("meshes/b.obj", "v 0 0 nonsense\n");
    bench.write("meshes/c.obj", mesh);
    let ended = batch(&bench, "broken", &[]);
    assert_eq!(ended.code, Some(1), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("5 jobs of 9 failed (2, 3, 4, 5, 8)"), "{}", ended.stderr);
    let broken = rows(&bench.path("broken"));
    let message = |job: u64| broken[&job]["message"].as_str().unwrap_or_default().to_owned();
    assert!(message(3).contains("b.obj:1: cannot read"), "{}", message(3));
    assert!(!message(2).is_empty(), "{}", broken[&2]);
    assert!(!bench.path("broken/job-0000002").exists());
    bench.write("sweep.toml", &sweep.replace("VALUE", "-1.0"));
    ok(&batch(&bench, "well", &["--jobs", "0..2"]));
    let well = rows(&bench.path("well"));
    for job in [0, 1] {
        assert_eq!(well[&job]["particle_hash"], broken[&job]["particle_hash"]);
    }
}

#[test]
fn an_exploding_cloth_fails_without_the_others() {
    let sweep = "\
scene = \"far.toml\"
frames = 4
[[vary]]
key = \"cloth[0].gravity[1]\"
values = [-1.0, -1e15, -2.0]
";
    let bench = bench("batch-explodes", sweep);
    bench.write(
        "far.toml",
        "\
frame_rate = 0.1
[[cloth]]
name = \"sheet\"
grid = { columns = 9, rows = 9, width = 1.0, height = 1.0 }
gravity = [0, -1, 0]
solver.pbd.frequency = 300
",
    );
    let ended = batch(&bench, "out", &[]);
    assert_eq!(ended.code, Some(1), "{}{}", ended.stdout, ended.stderr);
    let rows = rows(&bench.path("out"));
    let message = rows[&1]["message"].as_str().unwrap();
    assert!(message.starts_with("cloth `sheet` is frozen: 81 particles"), "{message}");
    assert!(!bench.path("out/job-0000001").exists());
    bench.write("sweep.toml", &sweep.replace("-1e15, ", ""));
    ok(&batch(&bench, "well", &[]));
    let well = self::rows(&bench.path("well"));
    assert_eq!(well[&0]["particle_hash"], rows[&0]["particle_hash"]);
    assert_eq!(well[&1]["particle_hash"], rows[&2]["particle_hash"]);
}

#[test]
fn jobs_with_warnings_are_named_after_run_and_resume() {
    // Too heavy for a corner pin and few iterations: overstretched.
    let scene =
        SCENE.replace("damping", "gravity = [0, -9.8, 0]\nsolver.pbd.frequency = 60\ndamping");
    // The ball stays below: this coarse cloth would cut it.
    let scene = scene.replace("0.2, 0.5] }]", "-0.4, 0.5] }]");
    let sweep = "scene = \"scene.toml\"\nframes = 60\n[[vary]]\nkey = \"cloth[0].gravity[1]\"\nvalues = [0, -500]\n";
    let bench = bench("batch-doubtful", sweep);
    bench.write("scene.toml", &scene);
    for more in [&[][..], &["--resume"]] {
        let ended = batch(&bench, "out", more);
        ok(&ended);
        assert!(
            ended.stderr.contains("1 job of 2 may have wrong results (1); see the manifests in"),
            "{}",
            ended.stderr
        );
    }
    let rows = rows(&bench.path("out"));
    assert_eq!(rows[&0]["warnings"].as_array().unwrap().len(), 0);
    assert!(!rows[&1]["warnings"].as_array().unwrap().is_empty());
}

#[test]
fn a_job_too_long_for_its_format_fails_without_the_others() {
    let sweep = "scene = \"scene.toml\"\n[[vary]]\nkey = \"frames\"\nvalues = [2, 2048]\n\
        [output]\narrays = []\nformats = [\"glb\"]\n";
    let bench = bench("batch-format", sweep);
    let ended = batch(&bench, "out", &[]);
    assert_eq!(ended.code, Some(1), "{}{}", ended.stdout, ended.stderr);
    let rows = rows(&bench.path("out"));
    assert_eq!((&rows[&0]["status"], &rows[&1]["status"]), (&"done".into(), &"failed".into()));
    assert!(rows[&1]["message"].as_str().unwrap().contains("2048"), "{}", rows[&1]);
}

#[test]
fn caches_and_an_overview_are_the_same_in_one_go_and_in_parts() {
    let output = "[output]\narrays = []\nformats = [\"pc2\", \"npz\", \"pc2\"]\nevery = 4\noverview = true\n";
    let sweep = SWEEP.split("[output]").next().unwrap().to_owned() + output;
    let bench = bench("batch-overview", &sweep);
    let ended = batch(&bench, "whole", &[]);
    ok(&ended);
    assert!(ended.stdout.contains("whole, overview.png"), "{}", ended.stdout);
    let names: Vec<_> =
        files(&bench.path("whole")).into_keys().filter(|it| it.contains("0000003/")).collect();
    let names: Vec<_> = names.iter().map(|name| name.rsplit('/').next().unwrap()).collect();
    assert_eq!(names, ["picture.png", "sheet.npz", "sheet.pc2"]);
    let cache = poplin_io::PointCache::read(bench.path("whole/job-0000003/sheet.pc2")).unwrap();
    assert_eq!((cache.frame_count(), cache.frame(0).unwrap().len()), (4, 81));
    ok(&batch(&bench, "parts", &["--shard", "1/2"]));
    assert!(!bench.path("parts/overview.png").exists(), "half of the jobs are not done");
    ok(&batch(&bench, "parts", &["--shard", "0/2"]));
    assert_same(&bench, "whole", "parts");
    // At once, neither knows of the other's jobs when it begins.
    let shard = |shard: &str| {
        let args =
            ["batch", "sweep.toml", "--backend", "cpu", "--out", "at-once", "--shard", shard];
        bench.command(&args).stdout(Stdio::null()).spawn().unwrap()
    };
    for mut child in [shard("0/2"), shard("1/2")] {
        assert!(child.wait().unwrap().success());
    }
    let overview =
        |folder: &str| std::fs::read(bench.path(&format!("{folder}/overview.png"))).unwrap();
    assert!(overview("whole") == overview("parts") && overview("whole") == overview("at-once"));
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error() {
    let bench = bench("batch-unwritable", SWEEP);
    bench.write("file", "");
    let ended = batch(&bench, "file/out", &[]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("cannot create the output folder"), "{}", ended.stderr);
}

#[test]
fn mistakes_in_a_sweep_are_bad_input_with_a_suggestion() {
    let bench = bench("batch-mistakes", SWEEP);
    let refused = |sweep: String, expected: &str| {
        bench.write("sweep.toml", &sweep);
        let ended = batch(&bench, "out", &[]);
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
        assert!(!bench.path("out").exists());
    };
    refused(
        SWEEP.replace("sheet.density", "sheet.densty"),
        "sweep.toml:6:1: vary[0].key: `cloth.sheet.densty`: unknown key `densty` in [[cloth]]; did you mean `density`?",
    );
    refused(
        SWEEP.replace("cloth.sheet", "cloth.shet"),
        "the scene has no cloth `shet`, did you mean `sheet`?",
    );
    refused(SWEEP.replace("damping[1]", "damping[3]"), "cloth[0].damping has only 3");
    refused(SWEEP.replace("\"scene.toml\"", "\"flg\""), "no shipped scene `flg`");
    refused(SWEEP.replace("uniform", "unifrom"), "did you mean `uniform`?");
    let ended = bench.poplin(&["batch", "sweep.toml", "--shard", "2/2"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("counted from 0"), "{}", ended.stderr);
}

#[test]
fn cloth_that_starts_crossed_is_untangled_on_the_cpu_first() {
    let bench = Bench::new("batch-untangled");
    bench.write("scene.toml", &crossed_sheets(0.18, ""));
    // The first job starts crossed, the second does not and follows in the same simulation.
    bench.write(
        "sweep.toml",
        "scene = \"scene.toml\"\nframes = 4\n[[vary]]\nkey = \"cloth.other.transform.translation[0]\"\n\
         values = [0.18, 0.25]\n",
    );
    let [cpu, gpu] = ["cpu", "gpu"].map(|backend| {
        ok(&bench.poplin(&["batch", "sweep.toml", "--backend", backend, "--out", backend]));
        rows(&bench.path(backend))
    });
    for job in [0, 1] {
        assert_eq!(gpu[&job]["backend"], "gpu");
        assert_eq!(cpu[&job]["particle_hash"], gpu[&job]["particle_hash"], "job {job}");
    }
    let warning = |rows: &BTreeMap<u64, serde_json::Value>, job: u64| {
        rows[&job]["warnings"]
            .as_array()
            .unwrap()
            .iter()
            .any(|it| it["text"].as_str().unwrap().contains("cross"))
    };
    assert!(warning(&gpu, 0) && !warning(&gpu, 1), "{:?}", gpu[&0]["warnings"]);
}
