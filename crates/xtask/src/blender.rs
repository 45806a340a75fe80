//! Files of frames as other programs read them: NumPy, OpenUSD, Blender and Khronos's validator of glTF; and a character of Blender as
//! a collider.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::install::environment;
use crate::run::{cargo_with, root, run_program, say};

/// What is installed into `target/blender`. Blender 5.0 as a module is built for Python 3.11 and NumPy 1.
const PACKAGES: [&[&str]; 2] = [&["numpy<2", "usd-core==26.11"], &["bpy==5.0.1"]];

/// Python that Blender as a module needs.
const PYTHON: &str = "python3.11";

/// What is run: texture coordinates of vertices, several cloths, and a mesh with a seam.
const SCENES: [(&str, &[&str]); 3] = [
    ("flag", &["flag"]),
    ("dress", &["dress"]),
    ("seam", &["--mesh", "crates/xtask/blender/seam.obj", "--pin", "top:3%"]),
];

/// Frames of each.
const FRAMES: &str = "30";

/// Every format of frames.
const FORMATS: [&str; 8] = ["pc2", "mdd", "npy", "npz", "glb", "usda", "obj", "ply"];

/// Runs the scenes with every format and compares each file with the NPZ, in every program that can be installed; says which cannot.
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
            return Err(format!("{name} could not be run"));
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
                failed.push(format!("the character of Blender ({fault})"));
            }
        }
    }
    match validate(&scripts, &folder, &folders) {
        Ok(true) => {}
        Ok(false) => failed.push("the validator of glTF".to_owned()),
        Err(missing) => say(&format!("not checked with the validator of glTF: {missing}\n")),
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("files differ: {}", failed.join(", "))),
    }
}

/// Checks that a character that Blender makes and animates is played as Blender shows it.
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
    let arguments = ["run", "--release", "--quiet", "--package", "poplin-io"];
    if !cargo_with(&[&arguments[..], &play].concat(), &[], |_| ())? {
        return Err("it could not be played".to_owned());
    }
    script("compare")
}

/// Whether the validator, which is installed with npm, finds neither errors nor warnings.
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
