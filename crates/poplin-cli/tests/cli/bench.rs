//! Temporary folder and helper to run the binary.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Temporary folder of a test, removed at the end.
pub(crate) struct Bench(PathBuf);

/// Output and exit code of a call.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Bench {
    pub(crate) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("poplin-cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Returns a command that runs the binary in the folder.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_poplin"));
        command.args(args).current_dir(&self.0).stdin(Stdio::null());
        command.env_remove("RUST_LOG").env("XDG_RUNTIME_DIR", &self.0);
        command
    }

    /// Runs the binary and asserts that it does not panic.
    pub(crate) fn poplin(&self, args: &[&str]) -> Ended {
        Ended::of(self.command(args).output().unwrap())
    }

    pub(crate) fn json(&self, name: &str) -> serde_json::Value {
        serde_json::from_str(&std::fs::read_to_string(self.path(name)).unwrap()).unwrap()
    }
}

impl AsRef<Path> for Bench {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Ended {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let ended = Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        };
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
        ended
    }

    /// Asserts the exit code, and that stderr contains every one of these texts.
    pub(crate) fn says(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{}{}", self.stdout, self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "no `{word}` in: {}", self.stderr);
        }
    }

    /// Asserts exit code 0.
    pub(crate) fn succeeds(&self) -> &Self {
        assert_eq!(self.code, Some(0), "{}{}", self.stdout, self.stderr);
        self
    }
}

/// Sheet of 5 x 4 vertices that hangs by a corner.
pub(crate) const SHEET: &str = "frames = 10\n\n[[cloth]]\nname = \"sheet\"\n\
    grid = { columns = 5, rows = 4, width = 1.0, height = 1.0 }\npins = [\"corner:top-left\"]\n";

/// Square of two triangles, as OBJ.
pub(crate) const SQUARE: &str = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3\nf 1 3 4\n";

/// Returns a scene of two sheets with triangle contact, a pinned one and one across it at `x` with
/// these pins: they start crossed at 0.18 m, which untangles over the border, and not at 0.25.
pub(crate) fn crossed_sheets(x: f32, pins: &str) -> String {
    let sheet = |name: &str, rest: &str| {
        format!(
            "[[cloth]]\nname = \"{name}\"\ngrid = {{ columns = 5, rows = 5, width = 0.2, height = 0.2 }}\n\
             thickness = 0.005\n{rest}\n"
        )
    };
    let other = format!(
        "{pins}\ntransform = {{ translation = [{x}, 0.013, 0.001], rotation = [0, 90, 0] }}"
    );
    let head = "frames = 4\n[cloth_contact_solver]\ncontact = \"triangles\"\n";
    format!("{head}{}{}", sheet("sheet", "pins = [\"all\"]"), sheet("other", &other))
}
