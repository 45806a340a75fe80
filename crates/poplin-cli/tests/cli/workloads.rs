//! `poplin bench`: tables, JSON and CSV of workloads.

use crate::bench::Bench;

#[test]
fn a_workload_is_printed_as_a_table_and_written_as_json_and_csv() {
    let bench = Bench::new("workloads");
    let ended = bench.poplin(&[
        "bench",
        "--backend",
        "cpu",
        "--workload",
        "w1",
        "w4",
        "--frames",
        "3",
        "--repeat",
        "2",
        "--threads",
        "1",
        "--json",
        "bench.json",
        "--csv",
        "bench.csv",
    ]);
    ended.succeeds();
    let tables: Vec<_> = ended.stdout.split("\n\n").collect();
    let [on, w1, swings, cut, w4, drops, _] = tables[..] else { panic!("{}", ended.stdout) };
    let said = "cover the first 3 frames instead of the 120 of this scene.";
    assert!(cut.ends_with(said) && swings.contains(", 3 frames of 120 |"), "{cut}");
    assert!(on.contains("cpu backend on 1 CPU thread, ") && on.contains("; commit "), "{on}");
    assert!(w1.starts_with("w1: ") && w4.starts_with("w4: "), "{}", ended.stdout);
    // Header, rule and rows; columns without values are omitted.
    assert_eq!((swings.lines().count(), drops.trim_end().lines().count()), (9, 8));
    assert!(!swings.contains("crossings") && drops.contains("crossings"), "{}", ended.stdout);

    let json = bench.json("bench.json");
    for key in ["machine", "date", "commit", "adapter"] {
        assert!(json[key].as_str().is_some_and(|text| !text.is_empty()), "{key}: {json}");
    }
    assert_eq!((&json["backend"], &json["threads"]), (&"cpu".into(), &1.into()));
    assert_eq!(json["date"].as_str().unwrap().len(), "2026-11-22".len());
    assert_eq!(json["repeat"], 2);
    let rows = json["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 13);
    for row in rows {
        let frames_of_scene = if row["workload"] == "w1" { 120 } else { 180 };
        assert_eq!([&row["frames"], &row["frames_of_scene"]], [3, frames_of_scene]);
        let time = |key: &str| row["ms_a_frame"][key].as_f64().unwrap();
        assert!(time("least") > 0.0 && time("least") <= time("median"), "{row}");
        let end = |key: &str| row["strain_at_end"][key].as_f64().unwrap();
        assert!(end("shortest") <= end("p1") && end("p99") <= end("longest"), "{row}");
        assert_eq!(row["tangle"].is_null(), row["workload"] == "w1", "{row}");
    }
    // Two sheets of 16 x 16, counted by hand: 2 x 240 stretch, 450 shear, 448 bending edges.
    assert_eq!((&rows[0]["particles"], &rows[0]["edges"]), (&256.into(), &1378.into()));

    let csv = std::fs::read_to_string(bench.path("bench.csv")).unwrap();
    let remarks: Vec<_> = csv.lines().take(4).collect();
    for (remark, name) in remarks.iter().zip(["machine", "date", "commit", "how"]) {
        assert!(remark.starts_with(&format!("# {name}: ")), "{remark}");
    }
    assert_eq!(csv.lines().filter(|line| line.starts_with("w1,\"default, ")).count(), 2);
    assert_eq!(csv.lines().count(), 4 + 1 + 13);
}

#[test]
fn an_unknown_workload_lists_all_workloads() {
    let bench = Bench::new("no-workload");
    let words = ["--workload", "there is no workload `w2`", "headline", "w3-64", "w4-frictions"];
    bench.poplin(&["bench", "--workload", "w2"]).says(2, &words);
    bench.poplin(&["bench", "--repeat", "0"]).says(2, &["--repeat", "1..=1000"]);
    bench.poplin(&["bench", "--threads", "0"]).says(2, &["--threads", "1..=1024"]);
    let nowhere = ["bench", "--workload", "w1", "--json", "no/such/folder.json"];
    let ended = bench.poplin(&nowhere);
    ended.says(1, &["cannot write no/such/folder.json"]);
    assert!(ended.stdout.is_empty(), "refused before anything is timed: {}", ended.stdout);
}

#[test]
fn help_explains_workloads_and_columns() {
    let help = Bench::new("bench-help").poplin(&["bench", "--help"]).succeeds().stdout.clone();
    for word in ["headline ", "w4-frictions ", "p99, p1", "crossings", "--threads", "--csv"] {
        assert!(help.contains(word), "no `{word}` in: {help}");
    }
}
