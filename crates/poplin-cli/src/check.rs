//! `poplin check`: errors and warnings of scenes and sweeps, without simulating.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use anyhow::anyhow;
use poplin_run::{CheckedFile, Failure, Finding, check_files, counted};
use poplin_scene::Location;
use serde::Serialize;

use crate::args::CheckArgs;
use crate::failure::Exit;
use crate::output::say;

/// JSON row of a finding.
#[derive(Serialize)]
struct Row<'a> {
    path: String,
    line: Option<usize>,
    column: Option<usize>,
    end_column: Option<usize>,
    severity: &'static str,
    message: &'a str,
}

/// Checks every file.
pub(crate) fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let checked = check_files(&args.files);
    let mut counts = [0, 0];
    for file in &checked {
        for finding in &file.findings {
            counts[usize::from(!finding.is_error)] += 1;
            match args.json {
                true => say!("{}", json(file, finding)),
                false => say!("{}\n", report(file, finding)),
            }
        }
    }
    let [errors, warnings] = counts;
    let found = match counts {
        [_, 0] => counted(errors, "error"),
        [0, _] => counted(warnings, "warning"),
        _ => format!("{} and {}", counted(errors, "error"), counted(warnings, "warning")),
    };
    let all = format!("{found} in {}", counted(checked.len(), "file"));
    if errors > 0 {
        return Err(Failure::BadInput(anyhow!(all)));
    }
    if !args.json {
        say!(
            "{}",
            if warnings > 0 {
                all
            } else {
                format!("{} without errors", counted(checked.len(), "file"))
            }
        );
    }
    Ok(Exit::Success)
}

/// Formats a finding with its source line, like a compiler.
fn report(file: &CheckedFile, Finding { is_error, at, message }: &Finding) -> String {
    let level = if *is_error { Level::ERROR } else { Level::WARNING };
    let Some(at) = at else {
        let kind = if *is_error { "error" } else { "warning" };
        return format!("{kind}: {message}");
    };
    let path = at.path.display().to_string();
    let mark = AnnotationKind::Primary.span(at.span.clone());
    let snippet = Snippet::source(file.text.as_str()).path(path).annotation(mark);
    Renderer::plain().render(&[level.primary_title(message.as_str()).element(snippet)]).to_string()
}

/// Formats a finding as a line of JSON.
fn json(file: &CheckedFile, Finding { is_error, at, message }: &Finding) -> String {
    let width =
        |at: &Location| file.text.get(at.span.clone()).map_or(0, |text| text.chars().count());
    let row = Row {
        path: file.path.display().to_string(),
        line: at.as_ref().map(|at| at.line),
        column: at.as_ref().map(|at| at.column),
        end_column: at.as_ref().map(|at| at.column + width(at)),
        severity: if *is_error { "error" } else { "warning" },
        message,
    };
    serde_json::to_string(&row).unwrap_or_default()
}
