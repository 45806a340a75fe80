//! Tables that are printed as Markdown and written as CSV.

use std::path::Path;

/// Table: header and rows of cells.
pub(crate) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<T: ToString>(header: impl IntoIterator<Item = T>) -> Self {
        Self { header: header.into_iter().map(|cell| cell.to_string()).collect(), rows: Vec::new() }
    }

    pub(crate) fn push<T: ToString>(&mut self, row: impl IntoIterator<Item = T>) {
        self.rows.push(row.into_iter().map(|cell| cell.to_string()).collect());
    }

    /// Prints the table as Markdown, with the first column left-aligned and the others
    /// right-aligned.
    #[expect(clippy::print_stdout, reason = "this is what the example is for")]
    pub(crate) fn print(&self, title: &str) {
        let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
        println!(
            "\n{title}\n\n{}\n|---{}|",
            line(&self.header),
            "|---:".repeat(self.header.len() - 1)
        );
        self.rows.iter().for_each(|row| println!("{}", line(row)));
    }

    pub(crate) fn write_csv(&self, path: &Path) -> std::io::Result<()> {
        let cell =
            |cell: &String| if cell.contains(',') { format!("\"{cell}\"") } else { cell.clone() };
        let line =
            |cells: &Vec<String>| cells.iter().map(cell).collect::<Vec<_>>().join(",") + "\n";
        std::fs::write(
            path,
            std::iter::once(&self.header).chain(&self.rows).map(line).collect::<String>(),
        )
    }
}

/// Formats a fraction in percent, to three digits or 0.0001 %, whichever is coarser.
pub(crate) fn percent(fraction: f32) -> String {
    let value = 100.0 * fraction;
    match value.abs() {
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        size if size >= 0.9995 => format!("{value:.2}"),
        size if size >= 0.09995 => format!("{value:.3}"),
        size if size >= 0.00005 => format!("{value:.4}"),
        _ => "0".to_owned(),
    }
}
