//! The command `poplin`.

use std::process::ExitCode;

fn main() -> ExitCode {
    quiet_vulkan();
    ExitCode::from(poplin_cli::command(std::env::args_os()))
}

/// Keeps Mesa's Vulkan layer that orders devices from asking Wayland where there is none, which
/// prints `error: XDG_RUNTIME_DIR is invalid or not set` for each device. poplin orders devices
/// itself, and a user's own choice stays.
fn quiet_vulkan() {
    let is_set = |name| std::env::var_os(name).is_some();
    if is_set("XDG_RUNTIME_DIR") || is_set("MESA_VK_DEVICE_SELECT") {
        return;
    }
    #[expect(unsafe_code, reason = "the layer reads the environment of the process alone")]
    // SAFETY: no other thread has begun that could read the environment.
    unsafe {
        std::env::set_var("NODEVICE_SELECT", "1");
    }
}
