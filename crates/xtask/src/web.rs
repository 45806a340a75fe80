//! Builds the page of `poplin-web` and tests it in a browser.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::install::{answers, install};
use crate::run::{cargo_program, must_pass, root, run_program, say};
use crate::serve::serve;

const TARGET: &str = "wasm32-unknown-unknown";

/// Number of frames after which the page posts its particles, as in `page/test.js`.
const FRAMES: &str = "60";

/// Time limit of the browser for one run.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// Smallest move of the farthest dragged particle that passes the test \[m\].
const DRAGGED: f32 = 0.05;

/// Programs of Chromium and Chrome, in order of preference.
const BROWSERS: [&str; 4] =
    ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/// Switches for WebGPU without a GPU: SwiftShader runs WebGPU and also draws the rest of the page.
const SWIFTSHADER: [&str; 5] = [
    "--enable-unsafe-webgpu",
    "--enable-features=Vulkan",
    "--use-angle=vulkan",
    "--use-vulkan=swiftshader",
    "--disable-vulkan-surface",
];

/// Host on which pages may use WebGPU without https.
const LOCAL: &str = "127.0.0.1";

/// Cases without WebGPU: host, switch, and start of the message of the page. The first has no
/// adapter, the second no WebGPU at all, like any remote host without https.
const WITHOUT_WEBGPU: [(&str, &str, &str); 2] = [
    (LOCAL, "--disable-features=WebGPUService", "WebGPU finds no graphics card"),
    (
        "poplin.test",
        "--host-resolver-rules=MAP poplin.test 127.0.0.1",
        "This browser has no WebGPU",
    ),
];

const NO_TARGET: &str = "Rust has no wasm32-unknown-unknown here: rustup target add wasm32-unknown-unknown; on Debian without \
                         rustup: apt install rustc-web rust-web-src";
const NO_BROWSER: &str = "no Chromium: apt install chromium on Debian, snap install chromium on Ubuntu, or set CHROME to the \
                          browser's program";

/// Builds the page and tests it in Chromium.
pub(crate) fn test() -> Result<(), String> {
    let page = build()?;
    let browser = browser()?;
    let reference = folder("reference")?;
    let to = reference.to_string_lossy();
    must_pass(&[
        "run",
        "--quiet",
        "--package",
        "poplin-web",
        "--example",
        "reference",
        "--",
        &to,
        FRAMES,
    ])?;

    let results = open(&browser, &page, LOCAL, &SWIFTSHADER)?;
    let pictures = folder("pictures")?;
    for (name, picture) in results.iter().filter(|(name, _)| name.ends_with(".png")) {
        std::fs::write(pictures.join(name), picture).map_err(|error| format!("{name}: {error}"))?;
    }
    let passed = compare(&results, &reference);
    say(&format!("pictures are in {}\n", pictures.display()));
    passed?;

    for (host, switch, expected) in WITHOUT_WEBGPU {
        let results = open(&browser, &page, host, &[switch])?;
        let said = text(&results, "done")?;
        if !said.starts_with(expected) {
            return Err(format!("with {switch} the page says `{said}`, not `{expected}`"));
        }
        say(&format!("without WebGPU the page says: {expected}\n"));
    }
    Ok(())
}

/// Builds the page and serves it until the command is interrupted.
pub(crate) fn show() -> Result<(), String> {
    let page = build()?;
    let (address, results) = serve(&page, 8080)?;
    say(&format!("the page is at http://{address}/; Ctrl-C ends\n"));
    results.iter().for_each(drop);
    Ok(())
}

/// Checks that every scene has the bits of the CPU backend and that the drag moved the cloth.
fn compare(results: &BTreeMap<String, Vec<u8>>, reference: &Path) -> Result<(), String> {
    let done = text(results, "done")?;
    if done != "passed" {
        return Err(format!("the page failed: {done}"));
    }
    let complaints = text(results, "kernels.txt")?;
    if !complaints.is_empty() {
        return Err(format!("the browser refuses kernels:\n{complaints}"));
    }
    say("the browser compiles every kernel\n");
    let entries =
        reference.read_dir().map_err(|error| format!("{}: {error}", reference.display()))?;
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let mut failed = Vec::new();
    for path in paths {
        let scene = path.file_stem().unwrap_or_default().to_string_lossy();
        let expected =
            std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let got =
            results.get(&format!("{scene}.bin")).ok_or_else(|| format!("{scene}: no particles"))?;
        let pairs = expected.chunks(16).zip(got.chunks(16));
        let differing = pairs.filter(|(expected, got)| expected != got).count();
        if differing > 0 || expected.len() != got.len() {
            let distance = distance(&expected, got);
            failed.push(format!(
                "{scene}: {differing} of {} particles differ from the CPU backend after {FRAMES} frames, by {distance} m at most",
                expected.len() / 16
            ));
            continue;
        }
        let time = text(results, &format!("{scene}.txt"))?;
        let count = expected.len() / 16;
        say(&format!(
            "{scene}: {count} particles have the bits of the CPU backend after {FRAMES} frames; {time}\n"
        ));
    }
    if !failed.is_empty() {
        return Err(failed.join("\n"));
    }
    let [begin, end] = ["ball.bin", "drag.bin"].map(|name| results.get(name));
    let moved = begin.zip(end).map_or(0.0, |(begin, end)| distance(begin, end));
    let drag = text(results, "drag.txt")?;
    if drag != "held and released" || moved.is_nan() || moved < DRAGGED {
        return Err(format!(
            "drag: {drag}; the cloth has moved by {moved} m, not by {DRAGGED} m or more"
        ));
    }
    say(&format!("drag: {drag}, moved by {moved:.2} m\n"));
    Ok(())
}

/// Returns the largest difference of a coordinate over all particles \[m\].
fn distance(a: &[u8], b: &[u8]) -> f32 {
    let value = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().unwrap_or_default());
    let positions = |particles: &[u8]| -> Vec<f32> {
        particles.chunks_exact(16).flat_map(|row| row[..12].chunks_exact(4).map(value)).collect()
    };
    let pairs = positions(a).into_iter().zip(positions(b));
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// Returns a posted result as text.
fn text(results: &BTreeMap<String, Vec<u8>>, name: &str) -> Result<String, String> {
    let bytes = results.get(name).ok_or_else(|| format!("the page has posted no `{name}`"))?;
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// Opens the test page under `host`, a name of this machine, in a new browser; returns the posted
/// results.
fn open(
    browser: &str,
    page: &Path,
    host: &str,
    switches: &[&str],
) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let (address, results) = serve(page, 0)?;
    // A new profile: touches no other profile and restores no tabs.
    let profile = folder("profile")?.join(address.port().to_string());
    let mut child = Command::new(browser)
        .args(["--headless=new", "--no-sandbox", "--disable-gpu-sandbox", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--disable-dev-shm-usage", "--window-size=1280,800"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(switches)
        .arg(format!("http://{host}:{}/?test", address.port()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{browser}: {error}"))?;
    let outcome = wait(&mut child, &results);
    // Errors are ignored: the browser may have ended by itself.
    let _ = child.kill();
    let _ = child.wait();
    let _ = std::fs::remove_dir_all(&profile);
    outcome.map_err(|error| format!("{browser}: {error}"))
}

/// Collects results until the page is done; fails if the browser ends or exceeds [`TIME_LIMIT`].
fn wait(
    child: &mut Child,
    results: &Receiver<(String, Vec<u8>)>,
) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let end = Instant::now() + TIME_LIMIT;
    let mut found = BTreeMap::new();
    while !found.contains_key("done") {
        match results.recv_timeout(Duration::from_secs(1)) {
            Ok((name, bytes)) => {
                found.insert(name, bytes);
            }
            Err(RecvTimeoutError::Disconnected) => return Err("the server has ended".to_owned()),
            Err(RecvTimeoutError::Timeout) => {
                if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
                    return Err(format!("it ended with {status} before the page was done"));
                }
                if Instant::now() > end {
                    let seen: Vec<_> = found.keys().map(String::as_str).collect();
                    return Err(format!(
                        "not done after {} s, only {}",
                        TIME_LIMIT.as_secs(),
                        seen.join(", ")
                    ));
                }
            }
        }
    }
    Ok(found)
}

/// Builds the page and returns its folder.
fn build() -> Result<PathBuf, String> {
    let bindgen = bindgen()?;
    let build = root().join("target/web/build");
    let mut command = Command::new(cargo_program());
    command.current_dir(root()).args([
        "build",
        "--package",
        "poplin-web",
        "--lib",
        "--profile",
        "web",
    ]);
    command.args(["--target", TARGET, "--target-dir"]).arg(&build);
    compiler(&mut command)?;
    run_program(&mut command)?;
    let page = folder("page")?;
    let module = build.join(TARGET).join("web/poplin_web.wasm");
    run_program(
        Command::new(bindgen)
            .args(["--target", "web", "--no-typescript", "--out-dir"])
            .arg(&page)
            .arg(module),
    )?;
    let sources = root().join("crates/poplin-web/page");
    for entry in sources.read_dir().map_err(|error| format!("{}: {error}", sources.display()))? {
        let path = entry.map_err(|error| error.to_string())?.path();
        let to = page.join(path.file_name().unwrap_or_default());
        std::fs::copy(&path, to).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(page)
}

/// Makes a command use a compiler with the target: the default one, whose target rustup adds if it
/// is missing, or Debian's `rustc-web`, which comes with the source of the standard library instead
/// of a build.
fn compiler(command: &mut Command) -> Result<(), String> {
    let libraries = |rustc: &str| {
        let output = Command::new(rustc)
            .args(["--print", "target-libdir", "--target", TARGET])
            .output()
            .ok()?;
        let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
        path.exists().then_some(path)
    };
    let has_target = || libraries("rustc").is_some();
    if has_target() || (answers("rustup", &["target", "add", TARGET]) && has_target()) {
        return Ok(());
    }
    let sources = Path::new("/usr/lib/rustlib/src/rust/library/Cargo.lock");
    if !sources.exists() {
        say("Installing rustc-web, which compiles for browsers (600 MB)\n");
        install(&["rustc-web", "rust-web-src"], NO_TARGET)?;
    }
    let output = Command::new("rustc").args(["--print", "target-libdir"]).output();
    let output = output.map_err(|error| format!("rustc: {error}"))?;
    let linker = Path::new(String::from_utf8_lossy(&output.stdout).trim()).join("../bin/rust-lld");
    command.env("RUSTC", "/usr/bin/rustc").env("RUSTC_BOOTSTRAP", "1");
    command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
    command.arg("-Zbuild-std=std,panic_abort");
    Ok(())
}

/// Returns the `wasm-bindgen` program of the version in `Cargo.lock`; builds it if it is missing.
fn bindgen() -> Result<PathBuf, String> {
    let lock = std::fs::read_to_string(root().join("Cargo.lock"))
        .map_err(|error| format!("Cargo.lock: {error}"))?;
    let (_, rest) = lock
        .split_once("name = \"wasm-bindgen\"\nversion = \"")
        .ok_or("Cargo.lock has no wasm-bindgen")?;
    let (version, _) = rest.split_once('"').unwrap_or_default();
    let has_version = |program: &Path| {
        let output = Command::new(program).arg("--version").output();
        output.is_ok_and(|output| {
            output.stdout.trim_ascii_end() == format!("wasm-bindgen {version}").as_bytes()
        })
    };
    let tools = root().join("target/web/tools");
    let own = tools.join("bin/wasm-bindgen");
    if let Some(program) =
        [PathBuf::from("wasm-bindgen"), own.clone()].into_iter().find(|it| has_version(it))
    {
        return Ok(program);
    }
    say(&format!("Building wasm-bindgen {version}, once; it takes minutes\n"));
    run_program(
        Command::new(cargo_program())
            .args([
                "install",
                "--quiet",
                "wasm-bindgen-cli",
                "--version",
                version,
                "--force",
                "--root",
            ])
            .arg(&tools),
    )?;
    Ok(own)
}

/// Returns the program of the browser; installs Chromium if there is none.
fn browser() -> Result<String, String> {
    let find = || {
        let named = std::env::var("CHROME").ok();
        let mut programs = named.into_iter().chain(BROWSERS.map(str::to_owned));
        programs.find(|program| answers(program, &["--version"]))
    };
    if let Some(program) = find() {
        return Ok(program);
    }
    say("Installing Chromium (100 MB)\n");
    install(&["chromium"], NO_BROWSER)?;
    find().ok_or_else(|| NO_BROWSER.to_owned())
}

/// Creates an empty folder under `target/web`.
fn folder(name: &str) -> Result<PathBuf, String> {
    let path = root().join("target/web").join(name);
    // Errors are ignored: the folder may not exist.
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))
}
