//! Statistics of the kernels as Mesa's compiler for AMD GPUs builds them, without such a GPU.

use std::path::Path;

use crate::run::{cargo_with, root, say};

/// GPU families, one per generation: GCN 5, RDNA 1, 2 and 3.
const FAMILIES: [&str; 4] = ["vega10", "navi10", "navi21", "gfx1100"];

/// Possible driver files of Mesa's driver for AMD GPUs.
const DRIVERS: [&str; 2] =
    ["/usr/share/vulkan/icd.d/radeon_icd.x86_64.json", "/etc/vulkan/icd.d/radeon_icd.x86_64.json"];

/// Path of the table, relative to the root.
const TABLE: &str = "benches/results/radv/gpu_stats.csv";

/// Returns the driver file of Mesa's driver for AMD GPUs.
fn driver() -> Option<&'static str> {
    DRIVERS.into_iter().find(|path| Path::new(path).exists())
}

/// Compiles every kernel for a family; returns true if no common kernel spills vector registers,
/// and the lines of the table.
fn compile(driver: &str, family: &str, has_head: bool) -> Result<(bool, String), String> {
    let environment = [
        ("VK_DRIVER_FILES", driver),
        ("VK_ICD_FILENAMES", driver),
        ("RADV_FORCE_FAMILY", family),
        ("RADV_DEBUG", "nocache"),
    ];
    let head: &[&str] = if has_head { &[] } else { &["--", "--no-head"] };
    let command = [&["run", "--quiet", "--package", "poplin-gpu-stats"], head].concat();
    let mut lines = String::new();
    let passed = cargo_with(&command, &environment, |line| {
        lines.push_str(line.trim_end());
        lines.push('\n');
    })?;
    Ok((passed, lines))
}

/// Compiles every kernel for every family and writes the table.
///
/// # Errors
/// Names the families for which a common kernel spills vector registers.
pub(crate) fn write() -> Result<(), String> {
    let driver = driver().ok_or_else(|| {
        format!(
            "no Vulkan driver for AMD GPUs: none of {}; on Debian: apt install mesa-vulkan-drivers",
            DRIVERS.join(", ")
        )
    })?;
    let mut table = String::new();
    let mut failed = Vec::new();
    for (index, family) in FAMILIES.into_iter().enumerate() {
        let (passed, lines) = compile(driver, family, index == 0)?;
        table.push_str(&lines);
        if !passed {
            failed.push(family);
        }
    }
    let path = root().join(TABLE);
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder
        .and_then(|()| std::fs::write(&path, &table))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    say(&format!("wrote {TABLE}\n"));
    if failed.is_empty() { Ok(()) } else { Err(format!("failed for {}", failed.join(", "))) }
}

/// Compiles every kernel for RDNA 2, whose table the guide shows, if there is a driver; fails like
/// [`write()`].
pub(crate) fn check() -> Result<(), String> {
    let family = FAMILIES[2];
    say(&format!("\n$ cargo xtask gpu-stats, only {family}\n"));
    let Some(driver) = driver() else {
        say("SKIPPED gpu-stats: no Vulkan driver for AMD GPUs\n");
        return Ok(());
    };
    if compile(driver, family, true)?.0 {
        Ok(())
    } else {
        Err(format!("kernels spill vector registers or do not compile for {family}"))
    }
}
