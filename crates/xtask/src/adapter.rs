//! Makes sure that the machine has an adapter for wgpu.

use std::path::Path;
use std::process::Command;

use crate::install::{answers, install};
use crate::run::say;

/// Folders in which Vulkan drivers register on Linux.
const DRIVER_FOLDERS: [&str; 4] = [
    "/usr/share/vulkan/icd.d",
    "/etc/vulkan/icd.d",
    "/usr/local/share/vulkan/icd.d",
    "/usr/local/etc/vulkan/icd.d",
];

/// Driver files of SwiftShader, the software adapter that Chromium installs.
const SWIFTSHADER: [&str; 4] = [
    "/usr/lib/chromium/vk_swiftshader_icd.json",
    "/usr/lib/chromium-browser/vk_swiftshader_icd.json",
    "/usr/lib64/chromium-browser/vk_swiftshader_icd.json",
    "/opt/google/chrome/vk_swiftshader_icd.json",
];

/// Returns the driver file of SwiftShader, the second adapter of the tests; `None` if it is not
/// installed or `POPLIN_GPU=off`.
pub(crate) fn swiftshader() -> Option<String> {
    let is_off = std::env::var("POPLIN_GPU").is_ok_and(|value| value == "off");
    let found = SWIFTSHADER.into_iter().find(|path| Path::new(path).exists());
    found.filter(|_| !is_off).map(str::to_owned)
}

/// Tests for `CI=true`, under which missing tools are installed and skips are restricted.
pub(crate) fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}

/// Packages of a software Vulkan adapter on Debian and Ubuntu.
const PACKAGES: [&str; 2] = ["mesa-vulkan-drivers", "libvulkan1"];

/// Installs the second adapter under `CI=true` if it is missing and `POPLIN_GPU` is not set.
pub(crate) fn ensure_second() -> Result<(), String> {
    let is_wanted = is_ci() && cfg!(target_os = "linux") && answers("apt-get", &["--version"]);
    if is_wanted && swiftshader().is_none() && std::env::var_os("POPLIN_GPU").is_none() {
        say("Installing Chromium for SwiftShader, the second adapter of the tests (100 MB)\n");
        install(&["chromium"], "install Chromium, or set POPLIN_GPU")?;
    }
    Ok(())
}

/// Installs a software Vulkan adapter if there is no adapter.
///
/// # Errors
/// Says how to install one where apt cannot.
pub(crate) fn ensure() -> Result<(), String> {
    if !cfg!(target_os = "linux")
        || has_driver()
        || std::env::var("POPLIN_GPU").is_ok_and(|value| value == "off")
    {
        return Ok(());
    }
    say(
        "No Vulkan driver found; installing Mesa's software adapter (mesa-vulkan-drivers, libvulkan1), which takes a minute\n",
    );
    let how = "install a Vulkan driver (Debian, Ubuntu: apt install mesa-vulkan-drivers libvulkan1; Fedora: dnf install \
               mesa-vulkan-drivers vulkan-loader; Arch: pacman -S vulkan-swrast vulkan-icd-loader), or set POPLIN_GPU=off to \
               skip the tests of the GPU backend";
    install(&PACKAGES, how)?;
    if has_driver() { Ok(()) } else { Err(format!("apt-get installed no Vulkan driver: {how}")) }
}

/// Tests for a registered Vulkan driver and the Vulkan loader.
fn has_driver() -> bool {
    let named =
        ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"].iter().any(|name| std::env::var_os(name).is_some());
    let announced = DRIVER_FOLDERS.iter().any(|folder| {
        let entries = Path::new(folder).read_dir().into_iter().flatten().flatten();
        entries
            .into_iter()
            .any(|entry| entry.path().extension().is_some_and(|extension| extension == "json"))
    });
    (named || announced) && has_loader()
}

/// Tests for the Vulkan loader among the libraries of the system.
fn has_loader() -> bool {
    let listed = Command::new("ldconfig")
        .arg("-p")
        .output()
        .or_else(|_| Command::new("/sbin/ldconfig").arg("-p").output());
    // Without ldconfig (musl, NixOS) assume a loader: if there is none, the tests report it.
    listed.map_or(true, |output| String::from_utf8_lossy(&output.stdout).contains("libvulkan.so.1"))
}
