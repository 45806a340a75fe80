//! Formatting of numbers.

/// Formats a count with thousands separators, for example `12,345`.
pub fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a count with its noun, for example `1 cloth`, `1,536 particles`.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// Formats a length \[m\] with two or three digits in um, mm or m.
pub fn short_length(metres: f32) -> String {
    let (value, unit) = match metres {
        length if length < 1e-3 => (length * 1e6, "um"),
        length if length < 1.0 => (length * 1e3, "mm"),
        length => (length, "m"),
    };
    if value >= 10.0 { format!("{value:.0} {unit}") } else { format!("{value:.2} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_counts_with_separators_and_nouns() {
        assert_eq!(
            [0, 12, 999, 1000, 1_234_567].map(grouped),
            ["0", "12", "999", "1,000", "1,234,567"]
        );
        assert_eq!(
            (counted(1, "cloth"), counted(1200, "edge")),
            ("1 cloth".to_owned(), "1,200 edges".to_owned())
        );
    }
}
