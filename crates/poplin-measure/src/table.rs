//! Tables that can be written as Markdown and CSV.

/// Table: column names and rows of cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Column names.
    pub head: Vec<String>,
    /// Rows of cells, each as long as the head.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Returns the rows whose first cell is `first`, without that column and without columns that
    /// are empty in all of them.
    #[must_use]
    pub fn part(&self, first: &str) -> Self {
        let rows = || self.rows.iter().filter(|row| row[0] == first);
        let is_kept = |column: &usize| *column > 0 && rows().any(|row| !row[*column].is_empty());
        let kept: Vec<_> = (0..self.head.len()).filter(is_kept).collect();
        let of_line =
            |line: &Vec<String>| kept.iter().map(|&column| line[column].clone()).collect();
        Self { head: of_line(&self.head), rows: rows().map(of_line).collect() }
    }

    /// Formats the table as Markdown. The first column is left-aligned, and columns with only
    /// numeric cells are right-aligned.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let is_numeric = |column: usize| {
            let mut cells =
                self.rows.iter().map(|row| row[column].as_str()).filter(|cell| !cell.is_empty());
            column > 0 && cells.all(is_number)
        };
        let rule = |column: usize| if is_numeric(column) { "---:" } else { "---" };
        let rules: Vec<_> = (0..self.head.len()).map(rule).collect();
        let mut text = line(&self.head) + &format!("|{}|\n", rules.join("|"));
        self.rows.iter().for_each(|row| text += &line(row));
        text
    }

    /// Formats the table as CSV. Cells with commas are quoted; no cell may contain a quote.
    pub fn csv(&self) -> String {
        let cell =
            |cell: &String| if cell.contains(',') { format!("\"{cell}\"") } else { cell.clone() };
        let line =
            |cells: &Vec<String>| cells.iter().map(cell).collect::<Vec<_>>().join(",") + "\n";
        std::iter::once(&self.head).chain(&self.rows).map(line).collect()
    }
}

/// Tests whether a cell consists of numbers with at most short units: `1.5`, `> 2,400`, `3.9 %`,
/// `-0.1, 0.2`, `1680: 0.923 ms`.
fn is_number(cell: &str) -> bool {
    let mut words = cell.split(|letter: char| !letter.is_ascii_alphabetic());
    cell.starts_with(|letter: char| letter.is_ascii_digit() || "->".contains(letter))
        && words.all(|word| word.len() < 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(head: &[&str], rows: &[&[&str]]) -> Table {
        let cells = |cells: &[&str]| cells.iter().map(|&cell| cell.to_owned()).collect();
        Table { head: cells(head), rows: rows.iter().map(|row| cells(row)).collect() }
    }

    #[test]
    fn numeric_columns_are_right_aligned() {
        let text = table(&["x", "y", "z"], &[&["a", "> 1.5 ms", "4 spheres"]]).markdown();
        assert_eq!(text, "| x | y | z |\n|---|---:|---|\n| a | > 1.5 ms | 4 spheres |\n");
    }

    #[test]
    fn a_part_has_only_the_columns_of_its_rows() {
        let all = table(
            &["scene", "how", "depth", "count"],
            &[&["a", "x", "", "1"], &["b", "x", "2", ""], &["a", "y", "", ""]],
        );
        assert_eq!(all.part("a"), table(&["how", "count"], &[&["x", "1"], &["y", ""]]));
        assert_eq!(all.part("c"), table(&[], &[]));
    }

    #[test]
    fn cells_with_commas_are_quoted() {
        assert_eq!(table(&["x", "y"], &[&["1, 2", "3"]]).csv(), "x,y\n\"1, 2\",3\n");
    }
}
