//! Checks the commands and option tables of README and guide against the arguments.

use clap::{Arg, CommandFactory, Parser};
use poplin_testkit::generated::{assert_block, markdown_table, root};

use super::Cli;

/// The page with the option tables.
const PAGE: &str = "crates/poplin/guide/scenes.md";

/// Returns every line that calls `poplin` in the shell blocks of README and guide, with its file.
fn documented_commands() -> Vec<(String, String)> {
    let guide = root().join("crates/poplin/guide");
    let pages = guide.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let pages = pages.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let mut commands = Vec::new();
    for path in pages.chain([root().join("README.md")]) {
        let text = std::fs::read_to_string(&path).unwrap();
        let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
        for line in blocks.flat_map(str::lines) {
            let line = line.split(" # ").next().unwrap_or_default().trim();
            let through_cargo = line.strip_prefix("cargo run --release -p poplin-cli ");
            let through_cargo = through_cargo.and_then(|rest| rest.split_once("-- "));
            let command = through_cargo.map(|(_, words)| words).or(line.strip_prefix("poplin "));
            commands.extend(command.map(|words| (path.display().to_string(), words.to_owned())));
        }
    }
    commands
}

#[test]
fn parses_the_commands_of_readme_and_guide() {
    let commands = documented_commands();
    assert!(commands.len() > 8, "only {} commands", commands.len());
    for (path, command) in commands {
        let words = std::iter::once("poplin").chain(command.split_whitespace());
        if let Err(error) = Cli::try_parse_from(words) {
            panic!("{path}: `poplin {command}`: {error}");
        }
    }
}

#[test]
fn rejects_an_unknown_option() {
    assert!(Cli::try_parse_from(["poplin", "run", "flag", "--pins", "top:3%"]).is_err());
}

/// Returns a table row for each visible option: its usage, and its help with the default.
fn option_rows(command: &str) -> Vec<Vec<String>> {
    let cli = Cli::command();
    let command = cli.find_subcommand(command).unwrap();
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set() && !arg.is_global_set());
    let own = shown.filter(|arg| arg.get_id() != "help");
    own.map(|arg| vec![format!("`{}`", usage(arg)), meaning(arg)]).collect()
}

fn usage(arg: &Arg) -> String {
    let values: Vec<_> =
        arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    let takes_value = arg.get_action().takes_values();
    let value = match (takes_value, values.is_empty()) {
        (false, _) => String::new(),
        (true, false) => values.join("\\|"),
        (true, true) => arg.get_value_names().unwrap_or_default().join(" "),
    };
    match arg.get_long() {
        Some(long) if value.is_empty() => format!("--{long}"),
        Some(long) if arg.is_require_equals_set() => format!("--{long}[={value}]"),
        Some(long) => format!("--{long} {value}"),
        None => value,
    }
}

fn meaning(arg: &Arg) -> String {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let default: Vec<_> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    let default = match default.is_empty() || !arg.get_action().takes_values() {
        true => String::new(),
        false => format!(" [default: {}]", default.join(" ")),
    };
    format!("{help}{default}").replace('|', "\\|").replace('[', "\\[").replace(']', "\\]")
}

#[test]
fn table_of_options() {
    let head = ["option", "meaning"];
    for (command, name) in [
        ("run", "options_run"),
        ("batch", "options_batch"),
        ("view", "options_view"),
        ("cook", "options_cook"),
        ("scenes", "options_scenes"),
        ("check", "options_check"),
        ("conform", "options_conform"),
        ("bench", "options_bench"),
    ] {
        assert_block(PAGE, name, &markdown_table(&head, &option_rows(command)));
    }
}
