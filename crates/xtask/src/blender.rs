//! Checks exported frames in other programs (NumPy, OpenUSD, Blender, Khronos's glTF validator) and
//! a character from Blender as a collider.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::install::environment;
use crate::run::{cargo_with, root, run_program, say};

/// Python packages installed into `target/blender`, in two steps. The module of Blender 5.0 is
/// built for Python 3.11 and NumPy 1.
const PACKAGES: [&[&str]; 2] = [&["numpy<2", "usd-core==26.11"], &["bpy==5.0.1"]];

/// Python version that the module of Blender needs.
const PYTHON: &str = "python3.11";

/// Scenes by name and arguments: UVs per vertex, several cloths, and a mesh with a UV seam.
const SCENES: [(&str, &[&str]); 3] = [
    ("flag", &["flag"]),
    ("dress", &["dress"]),
    ("seam", &["--mesh", "crates/xtask/blender/seam.obj", "--pin", "top:3%"]),
];

/// Number of frames of each scene.
const FRAMES: &str = "30";

/// Formats of frames that are checked.
const FORMATS: [&str; 8] = ["pc2", "mdd", "npy", "npz", "glb", "usda", "obj", "ply"];

/// Runs the scenes with every format and compares each file with the NPZ, in every program that can
/// be installed; prints the programs that cannot.
pub(crate) fn check() -> Result<(), String> {
    let scripts = root().join("crates/xtask/blender");
    let folder = root().join("target/blender");
    let mut failed = Vec::new();
    let folders: Vec<_> = SCENES.iter().map(|(name, _)| folder.join("out").join(name)).collect();
    for ((name, scene), out) in SCENES.iter().zip(&folders) {
        let out = out.display().to_string();
        let mut arguments = vec!["run", "--release", "--quiet", "--package", "poplin-cli", "--"];
        arguments.push("run");
        arguments.extend(*scene);
        arguments.extend(["--frames", FRAMES, "--backend", "cpu", "--out", &out]);
        arguments.extend(FORMATS.iter().flat_map(|format| ["--format", format]));
        if !cargo_with(&arguments, &[], |_| ())? {
            return Err(format!("the scene {name} does not run"));
        }
    }
    for (packages, programs) in PACKAGES.iter().zip([&["numpy", "usd"][..], &["blender"]]) {
        let python = match environment(PYTHON, &folder.join("venv"), packages) {
            Ok(python) => python,
            Err(missing) => {
                say(&format!("not checked with {}: {missing}\n", programs.join(" and ")));
                continue;
            }
        };
        for program in programs {
            for out in &folders {
                let mut command = Command::new(&python);
                command.arg(scripts.join("check.py")).arg(program).arg(out);
                if run_program(&mut command).is_err() {
                    failed.push(format!("{program} of {}", out.display()));
                }
            }
            if *program == "blender"
                && let Err(fault) = character(&scripts, &folder, &python)
            {
                failed.push(format!("the Blender character ({fault})"));
            }
        }
    }
    match validate(&scripts, &folder, &folders) {
        Ok(true) => {}
        Ok(false) => failed.push("the glTF validator".to_owned()),
        Err(missing) => say(&format!("not checked with the glTF validator: {missing}\n")),
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("files differ: {}", failed.join(", "))),
    }
}

/// Checks that a character made and animated in Blender plays as Blender shows it.
fn character(scripts: &Path, folder: &Path, python: &Path) -> Result<(), String> {
    let folder = folder.join("out/character");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let script = |task: &str| {
        let mut command = Command::new(python);
        command.arg(scripts.join("character.py")).arg(task).arg(&folder);
        run_program(&mut command)
    };
    script("make")?;
    let [scene, played] =
        ["scene.toml", "played.pc2"].map(|name| folder.join(name).display().to_string());
    let play = ["--example", "play_collider", "--", &scene, &played];
    let arguments = ["run", "--release", "--quiet", "--package", "poplin-scene"];
    if !cargo_with(&[&arguments[..], &play].concat(), &[], |_| ())? {
        return Err("it does not play".to_owned());
    }
    script("compare")
}

/// Tests whether the glTF validator, installed with npm, finds neither errors nor warnings.
fn validate(scripts: &Path, folder: &Path, outs: &[PathBuf]) -> Result<bool, String> {
    run_program(
        Command::new("npm")
            .args(["install", "--silent", "--prefix"])
            .arg(folder)
            .arg("gltf-validator"),
    )?;
    let mut command = Command::new("node");
    command.env("NODE_PATH", folder.join("node_modules")).arg(scripts.join("validate.js"));
    for out in outs {
        let entries = out.read_dir().map_err(|error| format!("{}: {error}", out.display()))?;
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        command.args(paths.filter(|path| path.extension().is_some_and(|it| it == "glb")));
    }
    Ok(run_program(&mut command).is_ok())
}
