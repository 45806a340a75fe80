//! Benchmark rows as a table.

use super::{Row, RowTangle};
use crate::strain::SignedStrain;
use crate::table::Table;

/// Column names.
const HEAD: [&str; 14] = [
    "workload",
    "settings",
    "ms a frame",
    "least ms",
    "ns a particle",
    "ns an edge",
    "p99, p1 at the end [%]",
    "longest, shortest [%]",
    "p99, p1 in the 2nd half [%]",
    "longest, shortest in it [%]",
    "in the shapes [mm]",
    "below the floor [mm]",
    "crossings at the end (most)",
    "close pairs",
];

/// Additional column names, for devices with timestamps.
const GPU_HEAD: [&str; 3] = ["ms on the GPU", "uploaded [KB]", "of the bandwidth [%]"];

/// Formats one line per row, with all workloads under one head: [`Table::part`] extracts the table
/// of one workload.
pub fn table(rows: &[Row]) -> Table {
    let mut table =
        Table { head: HEAD.map(str::to_owned).to_vec(), rows: rows.iter().map(cells).collect() };
    if rows.iter().any(|row| row.gpu.is_some()) {
        table.head.extend(GPU_HEAD.map(str::to_owned));
        for (cells, row) in table.rows.iter_mut().zip(rows) {
            cells.extend(row.gpu.map_or_else(Default::default, |gpu| {
                let uploaded = format!("{:.1}", gpu.uploaded_kilobytes);
                [milliseconds(gpu.ms), uploaded, percent(gpu.bandwidth_fraction as f32)]
            }));
        }
    }
    table
}

fn cells(row: &Row) -> Vec<String> {
    let pair = |a: f32, b: f32| format!("{}, {}", percent(a), percent(b));
    let percentiles = |strain: &SignedStrain| pair(strain.p99, strain.p1);
    let extremes = |strain: &SignedStrain| pair(strain.longest, strain.shortest);
    let depth = |depth: Option<f64>| depth.map_or_else(String::new, |depth| format!("{depth:.1}"));
    let tangle = |cell: fn(RowTangle) -> String| row.tangle.map_or_else(String::new, cell);
    vec![
        row.workload.clone(),
        row.settings.clone(),
        milliseconds(row.ms_a_frame.median),
        milliseconds(row.ms_a_frame.least),
        format!("{:.1}", row.ns_a_particle()),
        format!("{:.1}", row.ns_an_edge()),
        percentiles(&row.strain_at_end),
        extremes(&row.strain_at_end),
        percentiles(&row.strain_in_second_half),
        extremes(&row.strain_in_second_half),
        depth(row.depth_in_shapes_mm),
        depth(row.depth_in_floor_mm),
        tangle(|tangle| format!("{} ({})", tangle.crossings_at_end, tangle.most_crossings)),
        tangle(|tangle| tangle.close_pairs_at_end.to_string()),
    ]
}

/// Formats a time with about three significant digits.
fn milliseconds(value: f64) -> String {
    let digits = match value {
        ..0.1 => 4,
        ..1.0 => 3,
        ..10.0 => 2,
        _ => 1,
    };
    format!("{value:.digits$}")
}

/// Formats a fraction in percent, with two or three significant digits.
fn percent(fraction: f32) -> String {
    let value = 100.0 * fraction;
    let digits = match value.abs() {
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$}")
}
