//! Statistics of Mesa's compiler for AMD GPUs on the kernels: registers, spills, workgroup memory,
//! occupancy, estimated latency, code size and coherent loads. `cargo xtask gpu-stats` runs it for
//! several families; no GPU is needed.
//!
//! RADV compiles pipelines for a family of GPUs that is not present (`RADV_FORCE_FAMILY`) and
//! reports their needs by `VK_KHR_pipeline_executable_properties`. Prints CSV; fails if a kernel of
//! a common set of stages spills vector registers.
#![expect(clippy::print_stdout, reason = "printing the table is its purpose")]

mod vulkan;

use std::process::ExitCode;

use naga::back::spv;
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use poplin_host::{MemoryNeeds, TierLimits};
use poplin_layout::{Stage, StageMask};
use poplin_shaders::{Kernel, OverrideValues, coherent, compose, specialise};
use vulkan::{Compiled, Compiler};

/// Statistics in the table: the name in RADV, and the name of the column.
const STATISTICS: [(&str, &str); 9] = [
    ("VGPRs", "VGPRs"),
    ("SGPRs", "SGPRs"),
    (SPILLED, "spilled VGPRs"),
    ("Spilled SGPRs", "spilled SGPRs"),
    ("LDS size", "LDS [bytes]"),
    ("Subgroups per SIMD", "subgroups per SIMD"),
    ("Latency", "latency [cycles]"),
    ("Instructions", "instructions"),
    ("Code size", "code [bytes]"),
];

/// Counts loads from storage, and those among them that bypass the caches of a compute unit.
fn storage_loads(assembly: &str) -> [usize; 2] {
    let loads = || assembly.lines().filter(|line| line.contains("buffer_load_"));
    [loads().count(), loads().filter(|line| line.contains(" glc")).count()]
}

const SPILLED: &str = "Spilled VGPRs";

/// Typical sets of stages, and all stages at once.
fn sets() -> Vec<(&'static str, StageMask)> {
    let with = |mask: StageMask, stages: &[Stage]| {
        stages.iter().fold(mask, |mask, &stage| mask.with(stage))
    };
    let plain = with(
        StageMask::only(Stage::Integrate),
        &[Stage::Tether, Stage::GaussSeidel, Stage::SemiImplicit, Stage::Mass],
    );
    let shapes = with(plain, &[Stage::CollideShape]);
    let implicit = with(StageMask::only(Stage::Integrate), &[Stage::Implicit, Stage::Mass]);
    vec![
        ("plain", plain),
        (
            "whole fibers",
            with(StageMask::only(Stage::Integrate), &[Stage::SemiImplicit, Stage::Mass]),
        ),
        (
            "cyclic reduction",
            with(StageMask::only(Stage::Integrate), &[Stage::CyclicReduction, Stage::Mass]),
        ),
        ("implicit", implicit.union(StageMask::TRIANGLES).union(StageMask::BENDS)),
        (
            "implicit by fibers",
            implicit
                .union(StageMask::TRIANGLES)
                .union(StageMask::BENDS)
                .union(StageMask::CHAINS)
                .union(StageMask::HALVINGS),
        ),
        ("implicit springs", implicit.union(StageMask::SPRINGS)),
        ("shapes", shapes),
        ("game", with(shapes, &[Stage::Wind, Stage::Motion, Stage::Sleep])),
        ("self collision", with(shapes, &[Stage::SelfCollide])),
        (
            "all colliders",
            with(
                shapes,
                &[
                    Stage::CollideConvex,
                    Stage::CollideBox,
                    Stage::CollideTriangle,
                    Stage::CollideBody,
                ],
            ),
        ),
        (ALL, StageMask::ALL),
    ]
}

/// Kernel that spills vector registers, and the most that it may: 11 on RDNA 3 alone.
const SPILLING: (Kernel, u64) = (Kernel::TriangleListCandidates, 11);

/// Name of the set that may spill, as no cloth needs all stages at once.
const ALL: &str = "all stages";

/// Overrides for sheets of 16 x 16, 32 x 32 and 64 x 64 particles: the smallest with WebGPU's 16
/// KiB of workgroup memory, the others with 48 KiB.
fn sheets(stages: StageMask) -> [(&'static str, OverrideValues); 3] {
    let of = |side: u32, lane_count, workgroup_bytes| {
        let particle_count = side * side;
        let has_rows = stages.intersects(StageMask::WHOLE_FIBERS);
        let needs = MemoryNeeds {
            particle_count,
            member_count: stages.contains(Stage::SelfCollide).then_some(particle_count),
            row_len: if has_rows { 2 * side * (side - 1) } else { 0 },
        };
        let limits = TierLimits { workgroup_bytes, ..TierLimits::DEFAULT };
        OverrideValues { lane_count, stages, memory: limits.plan(needs, None) }
    };
    [
        ("16 x 16", of(16, 128, 16_384)),
        ("32 x 32", of(32, 256, 49_152)),
        ("64 x 64", of(64, 512, 49_152)),
    ]
}

/// Generates SPIR-V like wgpu does for a device with `VK_EXT_robustness2`.
fn spirv(
    text: &str,
    entry_point: &str,
    overrides: Option<&OverrideValues>,
) -> Result<Vec<u32>, String> {
    let text = coherent(text);
    let module = naga::front::wgsl::parse_str(&text).map_err(|error| error.to_string())?;
    let validated = |module: &naga::Module| -> Result<ModuleInfo, String> {
        let mut validator =
            Validator::new(ValidationFlags::all(), Capabilities::MEMORY_DECORATION_COHERENT);
        validator.validate(module).map_err(|error| format!("{:?}", error.into_inner()))
    };
    let info = validated(&module)?;
    let constants = overrides.map(|values| values.constants()).into_iter().flatten();
    let constants = constants.map(|(name, value)| (name.to_owned(), value)).collect();
    let entry = (naga::ShaderStage::Compute, entry_point);
    let (module, info) =
        naga::back::pipeline_constants::process_overrides(&module, &info, Some(entry), &constants)
            .map_err(|error| error.to_string())?;
    let policies = naga::proc::BoundsCheckPolicies {
        index: naga::proc::BoundsCheckPolicy::Restrict,
        // With robustness2 the device itself checks buffer accesses.
        buffer: naga::proc::BoundsCheckPolicy::Unchecked,
        ..Default::default()
    };
    let options = spv::Options {
        lang_version: (1, 3),
        flags: spv::WriterFlags::empty(),
        bounds_check_policies: policies,
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        force_loop_bounding: true,
        ..spv::Options::default()
    };
    let pipeline = spv::PipelineOptions {
        shader_stage: naga::ShaderStage::Compute,
        entry_point: entry_point.to_owned(),
    };
    spv::write_vec(&module, &info, &options, Some(&pipeline)).map_err(|error| error.to_string())
}

/// Kernel, stages, sheet and SPIR-V.
type Pipeline = (Kernel, &'static str, &'static str, Vec<u32>);

/// Generates every pipeline of the table.
fn pipelines() -> Result<Vec<Pipeline>, String> {
    let text = |kernel: Kernel| {
        compose(&kernel.path()).map(|composed| composed.text).map_err(|error| error.to_string())
    };
    let mut pipelines = Vec::new();
    let whole = text(Kernel::SimulateCloth)?;
    for (set, stages) in sets() {
        let text = specialise(&whole, stages);
        for (sheet, values) in sheets(stages) {
            let words = spirv(&text, Kernel::SimulateCloth.name(), Some(&values))?;
            pipelines.push((Kernel::SimulateCloth, set, sheet, words));
        }
    }
    let is_other =
        |kernel: &Kernel| *kernel != Kernel::SimulateCloth && !kernel.name().starts_with("canary");
    for kernel in Kernel::ALL.into_iter().filter(is_other) {
        pipelines.push((kernel, "", "", spirv(&text(kernel)?, kernel.name(), None)?));
    }
    Ok(pipelines)
}

#[expect(clippy::print_stderr, reason = "times are not part of the table")]
fn print(has_head: bool) -> Result<(), String> {
    let compiler = Compiler::new()?;
    if has_head {
        let columns = STATISTICS.map(|(_, column)| column).join(",");
        println!(
            "family,kernel,stages,sheet,SPIR-V [bytes],{columns},storage loads,coherent loads"
        );
    }
    let (mut spilling, mut slowest) = (Vec::new(), (0.0, String::new()));
    for (kernel, set, sheet, words) in pipelines()? {
        let begin = std::time::Instant::now();
        let Compiled { statistics: found, assembly } = compiler.compile(&words, kernel.name())?;
        let time = 1e3 * begin.elapsed().as_secs_f64();
        if set != ALL && time > slowest.0 {
            slowest = (time, format!("{} {set} {sheet}", kernel.name()));
        }
        let value =
            |name: &str| found.iter().find(|(found, _)| found == name).map(|(_, value)| *value);
        let cells =
            STATISTICS.map(|(name, _)| value(name).map_or_else(String::new, |it| it.to_string()));
        let (family, name) = (compiler.family(), kernel.name());
        let [loads, coherent_loads] = storage_loads(&assembly);
        println!(
            "{family},{name},{set},{sheet},{},{},{loads},{coherent_loads}",
            4 * words.len(),
            cells.join(",")
        );
        let most = if kernel == SPILLING.0 { SPILLING.1 } else { 0 };
        if set != ALL && value(SPILLED).is_none_or(|spilled| spilled > most) {
            spilling.push(format!("{family}: {name} {set} {sheet}"));
        }
    }
    // Times are not in the table, which is the same on every machine.
    let (time, name) = slowest;
    eprintln!("{}: no common kernel took longer than {time:.0} ms ({name})", compiler.family());
    if spilling.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "kernels spill vector registers, or their spills are not reported:\n{}",
            spilling.join("\n")
        ))
    }
}

#[expect(clippy::print_stderr, reason = "errors go to stderr")]
fn main() -> ExitCode {
    let has_head = !std::env::args().any(|argument| argument == "--no-head");
    match print(has_head) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
