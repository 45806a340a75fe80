//! Tables of measurements: CSV files of each machine under `benches/results`.

use poplin_measure::bench::Workload;
use poplin_measure::table::Table;
use poplin_testkit::generated::{assert_block, block, markdown_table, root};

use super::{GUIDE, assert_guide, entries, escaped, read};

/// Folder of measurements, with one folder per machine.
const RESULTS: &str = "benches/results";

/// CSV file of measurements: `# name: text` lines (machine, date, commit), then a head and rows.
pub(super) struct Measurements {
    remarks: Vec<(String, String)>,
    head: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Measurements {
    /// Parses a CSV text; all rows must be as long as the head.
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

    /// Returns the text of a `# name: text` line.
    fn remark(&self, name: &str) -> &str {
        let found = self.remarks.iter().find(|(known, _)| known == name);
        found.map_or_else(|| panic!("no `# {name}:` line"), |(_, text)| text.as_str())
    }

    /// Returns the median of a benchmark \[ms\], rounded for a table.
    pub(super) fn median(&self, benchmark: &str) -> Option<String> {
        let row = self.rows.iter().find(|row| row[0] == benchmark)?;
        row[1].parse::<f64>().ok().map(milliseconds)
    }
}

/// Splits a line of CSV into cells; cells with commas are quoted.
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

/// Formats a time with two or three significant digits.
fn milliseconds(value: f64) -> String {
    let digits = match value {
        ..1.0 => 2,
        ..50.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$}")
}

/// Returns every machine that has a file of this name, with the file.
pub(super) fn machines(file: &str) -> Vec<(String, Measurements)> {
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

/// Tables of the guide that show a CSV file of each machine: page, and block (also the file name).
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

/// Blocks of the validation page that `cargo xtask validation` writes, and their rows.
const PRINTED: [(&str, usize); 5] = [
    ("hold_gripper", 8),
    ("hold_ramps", 16),
    ("hold_edges", 8),
    ("drape_materials", 4),
    ("drape_steps", 4),
];

#[test]
fn printed_tables_are_whole() {
    let page = read(&format!("{GUIDE}/validation.md"));
    for (name, rows) in PRINTED {
        let table = block(&page, name).unwrap_or_else(|| panic!("no block `{name}`"));
        let lengths: Vec<_> = table.lines().map(|line| line.matches(" |").count()).collect();
        assert_eq!(lengths.len(), rows + 2, "{name}: head, rule and rows");
        assert!(lengths.iter().skip(2).all(|&length| length == lengths[0]), "{name}: {table}");
    }
}

/// Workloads of `poplin bench` that the guide shows, of one machine. The CSV files have all.
const SHOWN: [&str; 4] = ["headline", "w3-64", "w3-128", "w4"];

#[test]
fn table_of_workloads() {
    // The CSV of `poplin bench --csv`, laid out as the command prints it.
    let (machine, measured) = machines("workloads.csv").remove(0);
    let (date, commit) = (measured.remark("date"), measured.remark("commit"));
    let remark = format!("*{machine}, {date}, commit {commit}: {}*\n", measured.remark("how"));
    let all = Table { head: measured.head.clone(), rows: measured.rows.clone() };
    let of_workload = |workload: Workload| {
        let table = all.part(workload.name).markdown();
        format!("`{}`: {}\n\n{table}\n", workload.name, workload.about)
    };
    let shown: Vec<_> =
        Workload::ALL.into_iter().filter(|it| SHOWN.contains(&it.name)).map(of_workload).collect();
    assert_eq!(shown.len(), SHOWN.len());
    assert_guide("performance", "workloads", &escaped(&(shown.concat() + &remark)));
}

/// Asserts that a page shows a whole file of results for each machine that has it.
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

/// GPU family whose statistics the guide shows.
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

#[test]
fn lanes_that_exchange_values_bypass_the_first_cache() {
    // On RDNA a workgroup runs on two compute units, each with a first-level cache of its own.
    let all = Measurements::parse(&read(&format!("{RESULTS}/radv/gpu_stats.csv")));
    let column = |name: &str| all.head.iter().position(|head| head == name).expect("a column");
    let [family, kernel, coherent] = ["family", "kernel", "coherent loads"].map(column);
    let exchanges = ["simulate_cloth", "triangle_iterate_pinned"];
    let rows = || all.rows.iter().filter(|row| exchanges.contains(&&*row[kernel]));
    for name in ["RADV NAVI10", "RADV NAVI21", "RADV GFX1100"] {
        assert!(rows().filter(|row| row[family] == name).count() > 30, "{name}");
    }
    for row in rows() {
        let count: u32 = row[coherent].parse().unwrap();
        assert!(count >= 8, "{row:?}");
    }
}

/// Workload and settings of the row of `poplin bench` that README quotes.
const QUOTED: [&str; 2] = ["w3-64", "as chosen, 300 Hz"];

#[test]
fn table_of_the_row_in_readme() {
    let (machine, measured) = machines("workloads.csv").remove(0);
    let row =
        measured.rows.iter().find(|row| row[..2] == QUOTED).expect("the quoted row is measured");
    let cell = |name: &str| {
        let column = measured.head.iter().position(|head| head == name);
        row[column.unwrap_or_else(|| panic!("no column `{name}`"))].as_str()
    };
    // Cells hold two values, of longer and of shorter edges: the first one counts.
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
