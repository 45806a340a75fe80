//! Tables of criterion benchmarks on the performance page.

use poplin_testkit::generated::markdown_table;

use super::assert_guide;
use super::measurements::machines;

/// Benchmarks of a table of the performance page: name and description.
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

/// Asserts a table of medians \[ms\]: a row per benchmark, a column per machine and criterion group
/// that has one of the benchmarks.
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
            assert!(row[2..].iter().any(|cell| !cell.is_empty()), "{bench} has no measurement");
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
    // `fibers_*` times single iterations for developers; `common_*` is reported by `poplin bench`.
    let has_none =
        |row: &Vec<String>| row[0].starts_with("fibers_") || row[0].starts_with("common_");
    let tables = [FRAMES, SLEEP, SHAPES, SELF_COLLISION, CONTACTS, COOK].concat();
    for (machine, measured) in machines("bench.csv") {
        for row in measured.rows.iter().filter(|row| !has_none(row)) {
            let bench = row[0].rsplit('/').next().unwrap();
            let known = tables.iter().any(|(name, _)| *name == bench);
            assert!(
                known,
                "{machine}: {} is in no table of tests/meta/tables/benchmarks.rs",
                row[0]
            );
        }
    }
}
