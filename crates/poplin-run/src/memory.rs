//! Check of the available memory, so that a job that is too large fails before it allocates.

use anyhow::anyhow;
use sysinfo::{MemoryRefreshKind, RefreshKind, System};

use crate::failure::Failure;
use crate::numbers::grouped;

/// Estimated memory of cooking per particle \[bytes\]; 540 measured on a sheet of 1,000 x 1,000.
const COOKED_BYTES: u64 = 600;

/// Estimated memory of simulation per particle and copy \[bytes\]; 100 measured on 2,000 sheets of
/// 32 x 32.
const COPY_BYTES: u64 = 110;

/// Rejects a cloth whose particles and copies need more memory than is available.
pub(crate) fn check(name: &str, particles: usize, copies: usize) -> Result<(), Failure> {
    let memory = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(memory);
    // A container has its own limit.
    let free =
        system.cgroup_limits().map_or(system.available_memory(), |limits| limits.free_memory);
    check_against(name, particles, copies, free)
}

/// Checks against `free` bytes; 0 is unknown.
fn check_against(name: &str, particles: usize, copies: usize, free: u64) -> Result<(), Failure> {
    let of_copies = COPY_BYTES.saturating_mul(copies as u64);
    let needed = (particles as u64).saturating_mul(COOKED_BYTES.saturating_add(of_copies));
    if free == 0 || needed <= free {
        return Ok(());
    }
    let gigabytes = |bytes: u64| bytes as f64 / 1e9;
    let (copies, particles) = (grouped(copies), grouped(particles));
    Err(Failure::Failed(anyhow!(
        "cloth `{name}`, {copies} x {particles} particles, needs about {:.1} GB of memory, and {:.1} GB are free: use fewer or \
         coarser copies, or split the scene",
        gigabytes(needed),
        gigabytes(free)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_cloth_beyond_the_free_memory() {
        assert!(check_against("a", 1_000_000, 10, 2_000_000_000).is_ok());
        assert!(check_against("a", 1_000_000, 10, 0).is_ok(), "unknown");
        let Err(Failure::Failed(error)) = check_against("a", 1_000_000, 100, 2_000_000_000) else {
            panic!("11.6 GB do not fit into 2");
        };
        let text = error.to_string();
        let expected = "cloth `a`, 100 x 1,000,000 particles, needs about 11.6 GB of memory, and 2.0 GB are free";
        assert!(text.starts_with(expected), "{text}");
        assert!(check_against("a", usize::MAX, usize::MAX, 1).is_err());
    }
}
