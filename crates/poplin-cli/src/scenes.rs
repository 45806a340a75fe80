//! `poplin scenes`: shipped scenes, and the keys of scene files.

use anyhow::anyhow;
use poplin_run::{Failure, shipped};
use poplin_scene::{SceneKey, keys_like, scene_keys, scene_schema};
use textwrap::Options;

use crate::args::ScenesArgs;
use crate::failure::Exit;
use crate::output::say;

/// Width of a line \[characters\].
const WIDTH: usize = 100;

/// Lists the shipped scenes, or prints one, the keys of a scene file, or its schema.
pub(crate) fn scenes(args: &ScenesArgs) -> Result<Exit, Failure> {
    match (&args.name, &args.keys) {
        (Some(name), _) => say!("{}", shipped::text(name)?.trim_end()),
        (_, Some(table)) => keys(table.trim_matches(['[', ']']))?,
        _ if args.schema => say!("{:#}", scene_schema()),
        _ => shipped::list().for_each(|(name, about)| say!("{name:<14}{about}")),
    }
    Ok(Exit::Success)
}

/// Prints the keys of a table and its subtables, or of the whole file if `table` is empty.
fn keys(table: &str) -> Result<(), Failure> {
    let is_within = |key: &SceneKey| {
        table.is_empty()
            || key.path.strip_prefix(table).is_some_and(|it| it.is_empty() || it.starts_with('.'))
    };
    let all = scene_keys();
    let found: Vec<_> = all.iter().filter(|key| is_within(key)).collect();
    if found.is_empty() {
        let mut tables: Vec<_> =
            all.iter().map(SceneKey::table).filter(|table| !table.is_empty()).collect();
        tables.sort_unstable();
        tables.dedup();
        let meant: Vec<_> = keys_like(table).iter().map(|key| format!("`{key}`")).collect();
        let hint = match meant.is_empty() {
            true => format!("tables are {}", tables.join(", ")),
            false => format!("did you mean {}?", meant.join(" or ")),
        };
        return Err(Failure::BadInput(anyhow!("a scene has no table or key `{table}`; {hint}")));
    }
    let indent = "      ";
    let layout = Options::new(WIDTH).initial_indent(indent).subsequent_indent(indent);
    for key in found {
        say!("{} ({})", key.path, key.kind);
        say!("{}", textwrap::fill(&key.meaning, &layout));
    }
    Ok(())
}
