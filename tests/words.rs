//! Rejects retired words: the list is `words.txt`, what to write is the guide's glossary.
//!
//! A line of the list is `reject|report code|text PHRASE -> INSTEAD ; ok: PHRASE, PHRASE`. A phrase is
//! words, `*` stands for any letters at a word's begin or end, and case counts only if the phrase has
//! capitals. `text` looks at comments, docs and string literals, `code` at everything. `ok` phrases are
//! left alone where they cover the hit. `report` lines do not fail: `cargo xtask words` prints every hit
//! of all lines, with file and line, and counts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use poplin_testkit::generated::root;

/// The retired words.
const LIST: &str = include_str!("words.txt");

/// Files and folders that are searched.
const SEARCHED: &[&str] = &[
    "README.md",
    ".github",
    "benches",
    "bevy_poplin/README.md",
    "bevy_poplin/examples",
    "bevy_poplin/src",
    "bevy_poplin/tests",
    "crates",
    "shaders",
    "tests",
];

/// Files that name retired words: the list, its test, the glossary, and what was renamed.
const EXEMPT: &[&str] = &[
    "crates/poplin/CHANGELOG.md",
    "crates/poplin/guide/glossary.md",
    "tests/words.rs",
    "tests/words.txt",
];

/// Where a word is retired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// In comments, docs and string literals.
    Text,
    /// Everywhere.
    Code,
}

/// A line of the list.
#[derive(Debug)]
struct Retired {
    is_rejected: bool,
    scope: Scope,
    phrase: Phrase,
    instead: &'static str,
    exceptions: Vec<Phrase>,
}

/// Words in a row.
#[derive(Debug)]
struct Phrase {
    text: &'static str,
    words: Vec<&'static str>,
    has_case: bool,
}

impl Phrase {
    fn new(text: &'static str) -> Self {
        let text = text.trim();
        let words: Vec<_> = text.split_whitespace().collect();
        assert!(!words.is_empty(), "an empty phrase");
        Self { text, words, has_case: text.chars().any(char::is_uppercase) }
    }

    /// Whether the words begin with this phrase.
    fn begins(&self, words: &[&str]) -> bool {
        let fits = |(pattern, word): (&&str, &&str)| match self.has_case {
            true => fits(pattern, word),
            false => fits(pattern, &word.to_lowercase()),
        };
        self.words.len() <= words.len() && self.words.iter().zip(words).all(fits)
    }
}

/// A word fits a pattern with `*` at its begin or end.
fn fits(pattern: &str, word: &str) -> bool {
    let core = pattern.trim_matches('*');
    match (pattern.starts_with('*'), pattern.ends_with('*')) {
        (false, false) => word == core,
        (false, true) => word.starts_with(core),
        (true, false) => word.ends_with(core),
        (true, true) => word.contains(core),
    }
}

fn list() -> Vec<Retired> {
    let lines = LIST.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (rule, exceptions) = line.split_once("; ok:").unwrap_or((line, ""));
            let (rule, instead) =
                rule.split_once("->").unwrap_or_else(|| panic!("words.txt: no `->` in `{line}`"));
            let mut words = rule.trim().splitn(3, ' ');
            let is_rejected = match words.next() {
                Some("reject") => true,
                Some("report") => false,
                other => panic!("words.txt: `{line}` begins with {other:?}"),
            };
            let scope = match words.next() {
                Some("text") => Scope::Text,
                Some("code") => Scope::Code,
                other => panic!("words.txt: `{line}` has {other:?} for text or code"),
            };
            let exceptions = exceptions.split(',').filter(|text| !text.trim().is_empty());
            Retired {
                is_rejected,
                scope,
                phrase: Phrase::new(words.next().unwrap_or_default()),
                instead: instead.trim(),
                exceptions: exceptions.map(Phrase::new).collect(),
            }
        })
        .collect()
}

/// Words of a line: letters, digits and underscores. A stop between two words parts phrases.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut begin = None;
    for (at, letter) in line.char_indices().chain([(line.len(), ' ')]) {
        let is_word = letter.is_alphanumeric() || letter == '_';
        match (is_word, begin) {
            (true, None) => begin = Some(at),
            (false, Some(start)) => {
                words.push(&line[start..at]);
                begin = None;
            }
            _ => {}
        }
        if ".;:(){}".contains(letter) {
            words.push("");
        }
    }
    words
}

impl Retired {
    /// Hits in the words of a line.
    fn count(&self, words: &[&str]) -> usize {
        let is_hit = |&at: &usize| self.phrase.begins(&words[at..]) && !self.is_excepted(words, at);
        (0..words.len()).filter(is_hit).count()
    }

    fn is_excepted(&self, words: &[&str], at: usize) -> bool {
        let end = at + self.phrase.words.len();
        self.exceptions.iter().any(|exception| {
            let length = exception.words.len();
            let first = end.saturating_sub(length);
            (first..=at).any(|from| exception.begins(&words[from..]))
        })
    }
}

/// Replaces everything but comments and string literals with spaces, line by line.
fn text_of(path: &Path, source: &str) -> String {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("rs") => rust_text(source),
        Some("wgsl") => source.lines().map(|line| format!("{}\n", after(line, "//"))).collect(),
        Some("toml") => source.lines().map(|line| format!("{}\n", after(line, "#"))).collect(),
        _ => source.to_owned(),
    }
}

fn after<'a>(line: &'a str, mark: &str) -> &'a str {
    line.split_once(mark).map_or("", |(_, text)| text)
}

fn rust_text(source: &str) -> String {
    #[derive(PartialEq)]
    enum In {
        Code,
        Comment,
        Block,
        String,
        Raw(String),
    }
    let (mut text, mut state, mut rest) = (String::with_capacity(source.len()), In::Code, source);
    while let Some(letter) = rest.chars().next() {
        let mut length = letter.len_utf8();
        match &state {
            In::Code if rest.starts_with("//") => state = In::Comment,
            In::Code if rest.starts_with("/*") => state = In::Block,
            In::Code if rest.starts_with("r\"") || rest.starts_with("r#") => {
                let hashes = rest[1..].chars().take_while(|letter| *letter == '#').count();
                if rest[1 + hashes..].starts_with('"') {
                    state = In::Raw(format!("\"{}", "#".repeat(hashes)));
                    length = 2 + hashes;
                }
            }
            In::Code if letter == '"' => state = In::String,
            In::Code if rest.starts_with("'\"'") => length = 3,
            In::Code if rest.starts_with("'\\\"'") => length = 4,
            In::Comment if letter == '\n' => state = In::Code,
            In::Block if rest.starts_with("*/") => state = In::Code,
            In::String if letter == '\\' => {
                length += rest[length..].chars().next().map_or(0, char::len_utf8);
            }
            In::String if letter == '"' => state = In::Code,
            In::Raw(end) if rest.starts_with(end.as_str()) => {
                length = end.len();
                state = In::Code;
            }
            _ => {}
        }
        for letter in rest[..length].chars() {
            text.push(if state == In::Code && letter != '\n' { ' ' } else { letter });
        }
        rest = &rest[length..];
    }
    text
}

fn files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open: Vec<_> = SEARCHED.iter().map(|path| root().join(path)).collect();
    while let Some(path) = open.pop() {
        // The shaders' crate sees the folder of shaders through a link: once is enough.
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            open.extend(path.read_dir().unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| {
            ["rs", "wgsl", "toml", "md", "txt"].contains(&extension.to_str().unwrap_or_default())
        }) {
            found.push(path);
        }
    }
    found.sort();
    let is_exempt = |path: &PathBuf| EXEMPT.iter().any(|exempt| *path == root().join(exempt));
    found.retain(|path| !is_exempt(path));
    found
}

#[test]
fn no_retired_word_is_used() {
    let is_report = std::env::var("POPLIN_WORDS").is_ok_and(|value| value == "report");
    let list = list();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut rejected = Vec::new();
    for path in files() {
        let source = std::fs::read_to_string(&path).unwrap();
        let text = text_of(&path, &source);
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        for (index, (line, text)) in source.lines().zip(text.lines()).enumerate() {
            let (code, text) = (words(line), words(text));
            for retired in &list {
                let words = if retired.scope == Scope::Code { &code } else { &text };
                let count = retired.count(words);
                if count == 0 {
                    continue;
                }
                *counts.entry(retired.phrase.text).or_default() += count;
                let (phrase, instead) = (retired.phrase.text, retired.instead);
                let (at, line) = (index + 1, line.trim());
                let hit = format!("{name}:{at}: `{phrase}` -> {instead}: {line}");
                if is_report {
                    println!("{hit}");
                }
                if retired.is_rejected {
                    rejected.push(hit);
                }
            }
        }
    }
    if is_report {
        counts.iter().for_each(|(phrase, count)| println!("{count:6} {phrase}"));
    }
    assert!(rejected.is_empty(), "retired words:\n{}", rejected.join("\n"));
}

#[test]
fn every_exception_holds_its_phrase() {
    for retired in list() {
        for exception in &retired.exceptions {
            let covers =
                (0..exception.words.len()).any(|at| retired.phrase.begins(&exception.words[at..]));
            let (text, phrase) = (exception.text, retired.phrase.text);
            assert!(covers, "words.txt: `{text}` does not hold `{phrase}`");
        }
        assert!(!retired.instead.is_empty(), "{retired:?} does not say what to write");
    }
}

#[test]
fn hits_are_found_and_exceptions_are_not() {
    let retired = Retired {
        is_rejected: true,
        scope: Scope::Text,
        phrase: Phrase::new("turn*"),
        instead: "rotate",
        exceptions: vec![Phrase::new("in turn"), Phrase::new("turned off")],
    };
    let count = |line| retired.count(&words(line));
    assert_eq!(count("the frame turns, it turned"), 2);
    assert_eq!(count("one in turn, turned off"), 0);
    assert_eq!(count("they come in. Turn it"), 1, "a stop parts phrases");
    assert_eq!(count("return, overturn"), 0);
}

#[test]
fn text_is_comments_and_strings() {
    let source =
        "let way = 1; // a way\nsay(\"the \\\" way\", '\"', way); /* way */ way\nr#\"way\"#";
    let text = rust_text(source);
    let lines: Vec<_> = text.lines().map(|line| words(line).join(" ")).collect();
    let ways = |line: &str| line.matches("way").count();
    assert_eq!(lines.iter().map(|line| ways(line)).collect::<Vec<_>>(), [1, 2, 1], "{lines:?}");
}
