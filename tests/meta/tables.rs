//! The tables of README and guide that programs compute. Each test fails if the text has drifted;
//! `cargo xtask tables` rewrites it.

use std::path::Path;

use poplin::Backend;
use poplin_host::TierLimits;
use poplin_io::FRAME_FORMATS;
use poplin_io::scene::{scene_keys, scene_schema, sweep_schema};
use poplin_layout::{MemoryTier, Oracle, STAGES, StageRow};
use poplin_measure::bench::Workload;
use poplin_measure::case::Case;
use poplin_measure::conform::run_case;
use poplin_measure::table::Table;
use poplin_model::Material;
use poplin_testkit::generated::{
    assert_block, assert_file, block, block_names, markdown_table, root,
};

/// Where the pages of the guide are.
const GUIDE: &str = "crates/poplin/guide";

/// Where measurements are, a folder per machine.
const RESULTS: &str = "benches/results";

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Names of the entries of a folder, sorted.
fn entries(folder: &str) -> Vec<String> {
    let entries =
        root().join(folder).read_dir().unwrap_or_else(|error| panic!("{folder}: {error}"));
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Fails unless the block of a guide page is this text.
#[track_caller]
fn assert_guide(page: &str, name: &str, text: &str) {
    assert_block(&format!("{GUIDE}/{page}.md"), name, text);
}

// ---- stages ----

/// Where the oracle is.
const ORACLE_FOLDER: &str = "crates/poplin-reference/src/oracle";

/// Names of a folder's files with this extension, without it.
fn stems(folder: &str, extension: &str) -> Vec<String> {
    entries(folder)
        .iter()
        .filter_map(|name| Some(name.strip_suffix(extension)?.to_owned()))
        .collect()
}

/// Names of the functions that a source text defines with this prefix.
fn functions<'a>(text: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |line| line.strip_prefix(prefix)?.split('(').next())
}

/// Every oracle function with its file.
fn oracle_functions() -> Vec<(String, String)> {
    let files =
        stems(ORACLE_FOLDER, ".rs").into_iter().map(|stem| format!("{ORACLE_FOLDER}/{stem}.rs"));
    files
        .flat_map(|file| {
            functions(&read(&file), "pub fn ")
                .map(|name| (name.to_owned(), file.clone()))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Public functions of a file.
fn functions_of(file: &str) -> impl Iterator<Item = String> + use<> {
    let text = read(file);
    functions(&text, "pub fn ").map(str::to_owned).collect::<Vec<_>>().into_iter()
}

#[test]
fn table_of_stages() {
    let row = |row: &StageRow| {
        let called: Vec<_> = row.tasks.iter().map(|task| format!("`{}`", task.name())).collect();
        let oracle = match row.oracle {
            Oracle::None(reason) => reason.to_owned(),
            Oracle::Functions(functions) => {
                let names = functions.iter().map(|(_, function)| format!("`{function}`"));
                names.collect::<Vec<_>>().join(", ")
            }
        };
        vec![row.name.to_owned(), called.join(", "), oracle]
    };
    let rows: Vec<_> = STAGES.iter().map(row).collect();
    let table = markdown_table(&["stage", "called by the kernel", "oracle"], &rows);
    assert_guide("architecture", "stages", &table);
}

/// Text of a stage: its file and the files in a folder of the same name, or either.
fn read_stage(path: &str) -> String {
    let (folder, extension) = path.rsplit_once('.').unwrap();
    let parts = if root().join(folder).is_dir() { entries(folder) } else { Vec::new() };
    let parts = parts.iter().filter(|part| part.ends_with(extension));
    let own = root().join(path).is_file() || !root().join(folder).is_dir();
    let text = if own { read(path) } else { String::new() };
    parts.fold(text, |text, part| text + &read(&format!("{folder}/{part}")))
}

#[test]
fn every_row_of_the_table_of_stages_names_what_is_there() {
    let kernel_text = read("shaders/kernel/simulate_cloth.wgsl");
    for row in STAGES {
        let name = row.name;
        let (source, mirror) = (
            format!("shaders/stage/{name}.wgsl"),
            format!("crates/poplin-reference/src/stage/{name}.rs"),
        );
        let (source_text, mirror_text) = (read_stage(&source), read_stage(&mirror));
        assert!(
            kernel_text.contains(&format!("#import stage/{name}\n")),
            "the kernel does not import stage/{name}"
        );
        for task in row.tasks.iter().map(|task| task.name()) {
            let is_in = |text, prefix| functions(text, prefix).any(|known| known == task);
            assert!(is_in(&source_text, "fn "), "{source} does not have `{task}`");
            assert!(is_in(&mirror_text, "pub fn "), "{mirror} does not mirror `{task}`");
        }
        let Oracle::Functions(functions) = row.oracle else { continue };
        for (file, function) in functions {
            let file = format!("{ORACLE_FOLDER}/{file}.rs");
            let has_function = functions_of(&file).any(|known| known == *function);
            assert!(has_function, "{file} has no `pub fn {function}`");
            let tests = ["tests/oracle.rs", "tests/collision.rs", "tests/self_collision.rs"];
            let is_called = tests.iter().any(|file| read(file).contains(&format!("{function}(")));
            assert!(is_called, "none of {tests:?} calls `{function}`");
        }
    }
}

#[test]
fn every_stage_file_is_a_stage() {
    let known: Vec<_> = STAGES.iter().map(|row| row.name).collect();
    let shaders = stems("shaders/stage", ".wgsl");
    let mirrors = stems("crates/poplin-reference/src/stage", ".rs");
    for stem in shaders.iter().chain(mirrors.iter().filter(|stem| *stem != "mod")) {
        assert!(
            known.contains(&stem.as_str()),
            "the stage file `{stem}` is not in the table of stages"
        );
    }
}

#[test]
fn every_oracle_is_in_the_table() {
    // That of contact of triangles is of no stage: it is between the kernels.
    let (outside, stages): (Vec<_>, Vec<_>) =
        oracle_functions().into_iter().partition(|(_, file)| file.ends_with("triangle_contact.rs"));
    let tests = read("tests/triangle_contact_oracle.rs");
    for (function, _) in outside {
        assert!(tests.contains(&function), "tests/triangle_contact_oracle.rs has no {function}");
    }
    for known in stages {
        let is_named = STAGES.iter().any(|row| match row.oracle {
            Oracle::Functions(functions) => functions.iter().any(|(file, function)| {
                known == ((*function).to_owned(), format!("{ORACLE_FOLDER}/{file}.rs"))
            }),
            Oracle::None(_) => false,
        });
        assert!(is_named, "{known:?} is in no row of the table of stages");
    }
}

// ---- memory tiers ----

#[test]
fn table_of_tiers() {
    let rows = MemoryTier::ALL.map(|tier| {
        let held = match tier {
            MemoryTier::Resident => "current and previous",
            MemoryTier::HalfResident => "current",
            MemoryTier::Streamed => "nothing",
        };
        let mut row = vec![
            tier.name().to_owned(),
            format!("{held}: {} bytes a particle", tier.bytes_per_particle()),
        ];
        row.extend([16_384, 32_768, 49_152].map(|workgroup_bytes| {
            let limits = TierLimits { workgroup_bytes, ..TierLimits::DEFAULT };
            limits.particles_in(tier).map_or("any".to_owned(), |count| count.to_string())
        }));
        row
    });
    let head = ["tier", "in workgroup memory", "particles in 16 KiB", "32 KiB", "48 KiB"];
    assert_guide("architecture", "tiers", &markdown_table(&head, &rows));
}

// ---- materials ----

#[test]
fn table_of_materials() {
    let rows = Material::ALL.map(|material| {
        let Material { name, about, density, stretch: [warp, weft], shear, bending, .. } = material;
        let Material { damping_time, friction, thickness, .. } = material;
        let short =
            |value: f32| if value < 1e-3 { format!("{value:e}") } else { value.to_string() };
        let values = [density, warp, weft, shear, bending, damping_time, friction, thickness];
        [format!("`{name}`"), about.into()].into_iter().chain(values.map(short)).collect()
    });
    let head = [
        "name",
        "which",
        "kg/m^2",
        "warp, N/m",
        "weft, N/m",
        "shear, N/m",
        "bending, N m",
        "damping, s",
        "friction",
        "thickness, m",
    ];
    assert_guide("solvers", "materials", &markdown_table(&head, &rows));
}

// ---- scene keys ----

#[test]
fn table_of_scene_keys() {
    let keys = scene_keys();
    let mut tables = Vec::new();
    for key in &keys {
        if !tables.contains(&key.table()) {
            tables.push(key.table());
        }
    }
    let tables = tables.into_iter().map(|table| {
        let rows = keys.iter().filter(|key| key.table() == table).map(|key| {
            let [kind, meaning] =
                [&key.kind, &key.meaning].map(|text| escaped(text).replace('|', "\\|"));
            vec![format!("`{}`", key.name()), kind, meaning]
        });
        let rows: Vec<_> = rows.collect();
        let table =
            if table.is_empty() { "At the top of the file".into() } else { format!("`{table}`") };
        format!("**{table}**\n\n{}", markdown_table(&["key", "value", "meaning"], &rows))
    });
    assert_guide("keys", "scene_keys", &tables.collect::<Vec<_>>().join("\n"));
}

/// Where the schemas for editors are.
const SCHEMAS: &str = "crates/poplin-cli/scenes";

#[test]
fn table_of_schemas() {
    for (name, schema) in [("scene", scene_schema()), ("sweep", sweep_schema())] {
        assert_file(&format!("{SCHEMAS}/{name}.schema.json"), &format!("{schema:#}\n"));
    }
}

/// A text whose brackets are no link. In code, every second piece, they never are.
fn escaped(text: &str) -> String {
    let pieces = text.split('`').enumerate().map(|(index, piece)| match index % 2 {
        0 => piece.replace('[', "\\[").replace(']', "\\]"),
        _ => piece.to_owned(),
    });
    pieces.collect::<Vec<_>>().join("`")
}

// ---- formats ----

#[test]
fn table_of_frame_formats() {
    let rows: Vec<_> = FRAME_FORMATS
        .iter()
        .map(|format| vec![format!("`{format}`"), escaped(format.doc)])
        .collect();
    assert_guide("formats", "frame_formats", &markdown_table(&["format", "what it is"], &rows));
}

// ---- reference cases ----

#[test]
fn table_of_reference_cases() {
    let files = entries("tests/cases").into_iter().filter(|name| name.ends_with(".json"));
    let rows: Vec<_> = files
        .map(|name| {
            let case = Case::load(&root().join("tests/cases").join(&name)).unwrap();
            let verdict = run_case(&case, &Backend::Cpu.into()).unwrap();
            assert!(verdict.passes(), "{name} does not pass: {:?}", verdict.worst());
            let worst = verdict.worst().unwrap();
            vec![
                case.name.clone(),
                case.frames.len().to_string(),
                verdict.snapshots.len().to_string(),
                micrometers(worst.error),
                micrometers(worst.tolerance),
            ]
        })
        .collect();
    let head = ["case", "frames", "comparisons", "worst \\[µm\\]", "allowed \\[µm\\]"];
    assert_guide("validation", "cases", &markdown_table(&head, &rows));
}

/// Metres as micrometres with two digits behind the point.
fn micrometers(metres: f32) -> String {
    format!("{:.2}", 1e6 * metres)
}

// ---- measurements ----

/// A CSV file of measurements: `#` lines of what, when and where, then a head and rows.
struct Measurements {
    remarks: Vec<(String, String)>,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Measurements {
    fn parse(text: &str) -> Self {
        let (remarks, table): (Vec<&str>, Vec<&str>) =
            text.lines().partition(|line| line.starts_with('#'));
        let remarks = remarks.iter().filter_map(|line| line[1..].trim().split_once(": "));
        let mut rows = table.into_iter().map(cells);
        let head = rows.next().unwrap_or_default();
        let rows: Vec<_> = rows.collect();
        assert!(rows.iter().all(|row| row.len() == head.len()), "ragged rows");
        let remarks = remarks.map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
        Self { remarks, head, rows }
    }

    fn remark(&self, name: &str) -> &str {
        let found = self.remarks.iter().find(|(known, _)| known == name);
        found.map_or_else(|| panic!("no `# {name}:` line"), |(_, text)| text.as_str())
    }

    /// The median of a benchmark \[ms\], as it was written.
    fn median(&self, benchmark: &str) -> Option<String> {
        let row = self.rows.iter().find(|row| row[0] == benchmark)?;
        row[1].parse::<f64>().ok().map(milliseconds)
    }
}

/// Cells of a line of CSV; cells with commas are quoted.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut quoted) = (vec![String::new()], false);
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            letter => cells.last_mut().unwrap().push(letter),
        }
    }
    cells
}

/// Two or three significant digits.
fn milliseconds(value: f64) -> String {
    let digits = match value {
        ..1.0 => 2,
        ..50.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$}")
}

/// Every machine with results, and its file of this name.
fn machines(file: &str) -> Vec<(String, Measurements)> {
    let folders = entries(RESULTS).into_iter();
    let found: Vec<_> = folders
        .filter(|machine| root().join(RESULTS).join(machine).join(file).exists())
        .map(|machine| {
            let measured = Measurements::parse(&read(&format!("{RESULTS}/{machine}/{file}")));
            (machine, measured)
        })
        .collect();
    assert!(!found.is_empty(), "no machine has {file} under {RESULTS}");
    found
}

/// Benchmarks of a table of the performance page, with what they are.
type Benchmarks = &'static [(&'static str, &'static str)];

const FRAMES: Benchmarks = &[
    ("sheet_16", "256 particles, 1,378 edges"),
    ("sheet_32", "1,024 particles, 5,826 edges"),
    ("sheet_64", "4,096 particles, 23,938 edges"),
    ("sheet_128", "16,384 particles, 97,026 edges"),
    ("sheet_32_xpbd", "1,024 particles, 5,826 edges"),
    ("sheet_64_xpbd", "4,096 particles, 23,938 edges"),
    ("sheet_64_xpbd_bends", "4,096 particles, 16,002 edges, bends in place of two-ring edges"),
    ("batch_64_of_16", "64 sheets of 256 particles"),
    ("batch_256_of_32", "256 sheets of 1,024 particles"),
];

const SLEEP: Benchmarks =
    &[("awake", "all awake"), ("ninety_percent_asleep", "90 % of them asleep")];

const SHAPES: Benchmarks = &[
    ("none", "the sheet alone"),
    ("eight", "4 spheres and 4 tapered capsules"),
    ("eight_of_520", "the same and 512 more far away"),
    ("eight_continuous", "the same 8, continuous"),
    ("eight_one_a_body", "the same 8, one of them a rigid body that feels the cloth"),
    ("eight_virtual_particles", "the same 8, 4 virtual particles a triangle"),
    ("spheres_256", "256 spheres under the sheet"),
    ("mesh_5k", "closed mesh of 5,040 triangles"),
    ("mesh_100k", "closed mesh of 100,488 triangles"),
];

const SELF_COLLISION: Benchmarks = &[
    ("hanging_without", "hanging by two corners, without"),
    ("hanging_with", "with thickness"),
    ("folded_without", "in folds over a ball, without"),
    ("folded_with", "with thickness"),
];

const CONTACTS: Benchmarks = &[
    ("none", "four sheets, no collision between cloths"),
    ("four_sheets", "default: after each of 5 iterations, 2 passes"),
    ("four_sheets_one_pass", "the same, 1 pass"),
    ("four_sheets_once_a_frame", "once a frame, 2 passes"),
    ("apart_none", "64 sheets that are apart, without"),
    ("apart", "with"),
];

const COOK: Benchmarks =
    &[("grid_128", "128 x 128 particles"), ("grid_512", "512 x 512 particles")];

/// A table of medians \[ms\]: a row per benchmark, a column per machine and criterion group that has one.
fn bench_table(name: &str, groups: &[&str], benchmarks: Benchmarks) {
    let machines = machines("bench.csv");
    let columns: Vec<_> = machines
        .iter()
        .flat_map(|(machine, measured)| groups.iter().map(move |group| (machine, measured, *group)))
        .filter(|(_, measured, group)| {
            let prefix = format!("{group}/");
            measured.rows.iter().any(|row| row[0].starts_with(&prefix))
        })
        .collect();
    let mut head = vec!["bench".to_owned(), "what".to_owned()];
    head.extend(columns.iter().map(|(machine, _, group)| {
        let backend =
            group.strip_prefix("frame_").map_or(String::new(), |name| format!("{name}, "));
        format!("{backend}{machine} \\[ms\\]")
    }));
    let rows: Vec<_> = benchmarks
        .iter()
        .map(|(bench, what)| {
            let mut row = vec![format!("`{bench}`"), (*what).to_owned()];
            row.extend(columns.iter().map(|(_, measured, group)| {
                measured.median(&format!("{group}/{bench}")).unwrap_or_default()
            }));
            assert!(row[2..].iter().any(|cell| !cell.is_empty()), "nobody has measured {bench}");
            row
        })
        .collect();
    assert_guide("performance", name, &markdown_table(&head, &rows));
}

#[test]
fn table_of_benches() {
    bench_table("bench_frame", &["frame_cpu", "frame_gpu"], FRAMES);
    bench_table("bench_sleep", &["sleep"], SLEEP);
    bench_table("bench_shapes", &["shapes"], SHAPES);
    bench_table("bench_self_collision", &["self_collision"], SELF_COLLISION);
    bench_table("bench_contacts", &["contacts"], CONTACTS);
    bench_table("bench_cook", &["cook"], COOK);
}

#[test]
fn every_measured_bench_is_in_a_table() {
    // `fibers` times iterations for people who work on them; `common` is what `poplin bench` reports.
    let has_none =
        |row: &Vec<String>| row[0].starts_with("fibers_") || row[0].starts_with("common_");
    let tables = [FRAMES, SLEEP, SHAPES, SELF_COLLISION, CONTACTS, COOK].concat();
    for (machine, measured) in machines("bench.csv") {
        for row in measured.rows.iter().filter(|row| !has_none(row)) {
            let bench = row[0].rsplit('/').next().unwrap();
            let known = tables.iter().any(|(name, _)| *name == bench);
            assert!(known, "{machine}: {} is in no table of tests/tables.rs", row[0]);
        }
    }
}

#[test]
fn table_of_machines() {
    let rows: Vec<_> = machines("bench.csv")
        .into_iter()
        .map(|(name, measured)| {
            let remark = |name| measured.remark(name).to_owned();
            vec![name, remark("machine"), remark("date"), remark("commit")]
        })
        .collect();
    let table = markdown_table(&["name", "machine", "date", "commit"], &rows);
    assert_guide("performance", "bench_machines", &table);
}

/// Tables of the guide that are a CSV file of each machine: page, block (which is also the file).
const MEASURED: &[(&str, &str)] = &[
    ("performance", "first_frame"),
    ("contact", "ball"),
    ("fibers", "fibers_one_iteration"),
    ("fibers", "fibers_iteration_time"),
    ("fibers", "fibers_at_rest"),
    ("fibers", "fibers_time_to_one_percent"),
    ("validation", "implicit_theory"),
    ("validation", "implicit_cantilever"),
    ("validation", "buckling"),
];

#[test]
fn table_of_measurements() {
    for (page, name) in MEASURED {
        let tables: Vec<_> = machines(&format!("{name}.csv"))
            .into_iter()
            .map(|(machine, measured)| {
                let table = markdown_table(&measured.head, &measured.rows);
                let (date, commit) = (measured.remark("date"), measured.remark("commit"));
                format!("{table}\n*{machine}, {date}, commit {commit}*\n")
            })
            .collect();
        assert_guide(page, name, &escaped(&tables.join("\n")));
    }
}

/// What `poplin bench --csv` has written, as it prints it.
#[test]
fn table_of_workloads() {
    let of_machine = |(machine, measured): (String, Measurements)| {
        let (date, commit) = (measured.remark("date"), measured.remark("commit"));
        let remark = format!("*{machine}, {date}, commit {commit}: {}*\n", measured.remark("how"));
        let all = Table { head: measured.head.clone(), rows: measured.rows.clone() };
        let of_workload = |workload: Workload| {
            let table = all.part(workload.name).markdown();
            format!("`{}`: {}\n\n{table}\n", workload.name, workload.about)
        };
        Workload::ALL.map(of_workload).concat() + &remark
    };
    let machines: Vec<_> = machines("workloads.csv").into_iter().map(of_machine).collect();
    assert_guide("performance", "workloads", &escaped(&machines.join("\n")));
}

/// A file of results as a table of a page, for each machine that has it.
#[track_caller]
fn whole_table(page: &str, name: &str) {
    let of_machine = |(machine, measured): (String, Measurements)| {
        let (date, commit) = (measured.remark("date"), measured.remark("commit"));
        let remark = format!("*{machine}, {date}, commit {commit}: {}*\n", measured.remark("how"));
        Table { head: measured.head, rows: measured.rows }.markdown() + "\n" + &remark
    };
    let machines: Vec<_> = machines(&format!("{name}.csv")).into_iter().map(of_machine).collect();
    assert_guide(page, name, &escaped(&machines.join("\n")));
}

#[test]
fn table_of_host_time() {
    whole_table("performance", "host");
}

#[test]
fn table_of_ray() {
    whole_table("python", "ray");
}

/// The family of which the guide has the table.
const FAMILY: &str = "RADV NAVI21";

#[test]
fn table_of_gpu_stats() {
    let measured = Measurements::parse(&read(&format!("{RESULTS}/radv/gpu_stats.csv")));
    let all = Table { head: measured.head, rows: measured.rows };
    assert_guide(
        "performance",
        "gpu_stats",
        &escaped(&all.part(FAMILY).part("simulate_cloth").markdown()),
    );
}

/// The row of `poplin bench` that README quotes.
const QUOTED: [&str; 2] = ["w3-64", "as chosen, 300 Hz"];

#[test]
fn table_of_the_row_in_readme() {
    let (machine, measured) = machines("workloads.csv").remove(0);
    let row = measured.rows.iter().find(|row| row[..2] == QUOTED).expect("the row is measured");
    let cell = |name: &str| {
        let column = measured.head.iter().position(|head| head == name);
        row[column.unwrap_or_else(|| panic!("no column `{name}`"))].as_str()
    };
    let longer = |name| cell(name).split(", ").next().unwrap().to_owned();
    let (p99, longest) = (longer("p99, p1 at the end [%]"), longer("longest, shortest [%]"));
    let text = format!(
        "A sheet of 64 x 64 that swings down onto a ball, friction 0.2, takes {} ms a frame on one thread\n\
         ({machine}) by the settings that poplin chooses; 99 % of its edges end up at most\n\
         {p99} % too long, the worst {longest} % (`poplin bench --workload w3-64`).",
        cell("ms a frame")
    );
    assert_block("README.md", "quoted_row", &text);
}

// ---- all blocks ----

#[test]
fn every_generated_block_is_filled_and_has_a_test() {
    let pages = entries(GUIDE).into_iter().filter(|name| name.ends_with(".md"));
    let pages = pages.map(|name| format!("{GUIDE}/{name}")).chain(["README.md".to_owned()]);
    let tests: String = stems("tests", ".rs")
        .iter()
        .map(|stem| format!("tests/{stem}.rs"))
        .chain(["crates/poplin-cli/src/args/documented.rs".to_owned()])
        .filter(|path| Path::new(&root().join(path)).exists())
        .map(|path| read(&path))
        .collect();
    let mut count = 0;
    for path in pages {
        let page = read(&path);
        for name in block_names(&page) {
            count += 1;
            let text = block(&page, name).unwrap_or_else(|| panic!("{path}: `{name}` has no end"));
            assert!(!text.is_empty(), "{path}: the block `{name}` is empty");
            assert!(tests.contains(&format!("\"{name}\"")), "{path}: no test writes `{name}`");
        }
    }
    assert!(count > 15, "only {count} generated blocks");
}
