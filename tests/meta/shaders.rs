//! Every composed kernel is valid, documented and linted, has the layouts of the Rust declarations
//! and stays within the default limits.

use poplin_host::{MemoryNeeds, TierLimits};
use poplin_layout::{
    CONSTANTS, CONTACT_STRUCTS, ConstantValue, Memory, MemoryTier, RENDER_STRUCTS, SIMULATION,
    SOLVER_STRUCTS, STAGES, ScheduleEvent, StageMask, StructDescription, TASKS, TRIANGLE_STRUCTS,
    generated_shaders, schedule_events,
};
use poplin_shaders::{
    Kernel, OverrideValues, SOURCES, compose, compose_with, kernel_events, lint, parse, source,
    struct_layouts, undocumented, validate, workgroup_bytes,
};

#[test]
fn every_kernel_is_valid_documented_and_clean() {
    for kernel in Kernel::ALL {
        let composed = compose(&kernel.path()).unwrap();
        let module = parse(&composed).unwrap_or_else(|error| panic!("{}: {error}", kernel.name()));
        validate(&composed, &module).unwrap_or_else(|error| panic!("{}: {error}", kernel.name()));
        assert_eq!(undocumented(&module), Vec::<String>::new(), "{}", kernel.name());
        assert_eq!(lint(&module), [], "{}", kernel.name());
        assert_eq!(module.entry_points.len(), 1);
        assert_eq!(module.entry_points[0].name, kernel.name());
    }
}

/// Negated expressions of a WGSL text that contain an ordered comparison.
fn negated_comparisons(text: &str) -> Vec<&str> {
    let compares =
        |inner: &&str| [" < ", " <= ", " > ", " >= "].iter().any(|op| inner.contains(op));
    let code = text.lines().map(|line| line.split("//").next().unwrap_or(line));
    code.flat_map(|line| {
        line.match_indices("!(").map(|(at, _)| {
            let inner = &line[at + 1..];
            let mut depth = 0;
            let end = inner.find(|c| {
                depth += i32::from(c == '(') - i32::from(c == ')');
                depth == 0
            });
            &inner[..end.map_or(inner.len(), |end| end + 1)]
        })
    })
    .filter(compares)
    .collect()
}

#[test]
fn no_comparison_is_negated() {
    // Where compilers take for granted that no float is NaN, as Metal's do by default, a negated
    // comparison is the opposite one.
    for (name, text) in SOURCES {
        assert_eq!(negated_comparisons(text), Vec::<&str>::new(), "shaders/{name}.wgsl");
    }
    let faulty = "let is_near = !(abs(x) <= MOST && f(y)) || !(a == b) || !is_far; // !(a < b)";
    assert_eq!(negated_comparisons(faulty), ["(abs(x) <= MOST && f(y))"]);
}

/// Runs `tint` on a WGSL text; `None` if it is not installed.
fn tint(name: &str, text: &str) -> Option<Result<(), String>> {
    let path = std::env::temp_dir().join(format!("poplin-{}-{name}.wgsl", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let run = std::process::Command::new("tint").arg("--format").arg("wgsl").arg(&path).output();
    let _ = std::fs::remove_file(&path);
    let output = run.ok()?;
    Some(if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    })
}

#[test]
fn line_shaders_are_valid_and_documented() {
    let composed = compose(LINES).unwrap();
    let module = parse(&composed).unwrap();
    validate(&composed, &module).unwrap();
    assert_eq!(undocumented(&module), Vec::<String>::new());
}

/// Shaders that draw debug lines.
const LINES: &str = "draw/debug_lines";

#[test]
fn every_kernel_passes_tint_where_it_is_installed() {
    let paths = Kernel::ALL.map(Kernel::path).into_iter().chain([LINES.to_owned()]);
    for path in paths {
        let name = path.replace('/', "-");
        match tint(&name, &compose(&path).unwrap().text) {
            Some(verdict) => assert_eq!(verdict, Ok(()), "{name}"),
            None => {
                return poplin_testkit::skip::skip(
                    "no `tint` on this machine: browsers' uniformity rules are not checked",
                );
            }
        }
    }
    // See it fail: a barrier under a lane condition, which naga accepts.
    let divergent = "@compute @workgroup_size(4) fn k(@builtin(local_invocation_index) lane: u32) { if (lane == 0u) { workgroupBarrier(); } }";
    assert!(tint("divergent", divergent).is_some_and(|verdict| verdict.is_err()));
}

#[test]
fn generated_shaders_are_as_declared_in_rust() {
    for (name, text) in generated_shaders() {
        assert!(
            source(name) == Some(&text),
            "shaders/{name}.wgsl is not what poplin-layout declares: run `cargo xtask generate`"
        );
    }
}

/// Returns the structs whose WGSL layout (member offsets, size) differs from Rust.
fn differing_layouts(module: &naga::Module, structs: &[StructDescription]) -> Vec<String> {
    let layouts = struct_layouts(module);
    let mut found = Vec::new();
    for description in structs {
        let name = description.name;
        let layout = layouts.iter().find(|layout| layout.name == name).expect(name);
        let fields = description.fields.iter();
        let expected: Vec<_> =
            fields.map(|field| (field.name.to_owned(), field.offset as u32)).collect();
        if layout.members != expected || layout.size as usize != description.size {
            found.push(format!("{name}: {layout:?} is not {description:?}"));
        }
    }
    found
}

#[test]
fn structs_lie_in_memory_as_in_rust() {
    let solver = parse(&compose("kernel/simulate_cloth").unwrap()).unwrap();
    assert_eq!(differing_layouts(&solver, SOLVER_STRUCTS), Vec::<String>::new());
    let contact = parse(&compose("contact/buffers").unwrap()).unwrap();
    assert_eq!(differing_layouts(&contact, CONTACT_STRUCTS), Vec::<String>::new());
    let triangles = parse(&compose("contact/triangle_buffers").unwrap()).unwrap();
    assert_eq!(differing_layouts(&triangles, TRIANGLE_STRUCTS), Vec::<String>::new());
    let render = parse(&compose("render/buffers").unwrap()).unwrap();
    assert_eq!(differing_layouts(&render, RENDER_STRUCTS), Vec::<String>::new());
    // See it fail: WGSL aligns a vec3 to 16 bytes, Rust does not.
    let text = "struct ContactCloth { axis_x: vec3<f32>, axis_y: vec4<f32> }";
    let wrong = naga::front::wgsl::parse_str(text).unwrap();
    assert_eq!(differing_layouts(&wrong, &CONTACT_STRUCTS[..1]).len(), 1);
}

#[test]
fn constants_have_the_same_bits_as_in_rust() {
    let module = parse(&compose("state/constants").unwrap()).unwrap();
    for constant in CONSTANTS {
        let (_, found) = module
            .constants
            .iter()
            .find(|(_, found)| found.name.as_deref() == Some(constant.name))
            .expect(constant.name);
        match (&module.global_expressions[found.init], constant.value) {
            (naga::Expression::Literal(naga::Literal::U32(bits)), ConstantValue::U32(value)) => {
                assert_eq!(*bits, value, "{}", constant.name)
            }
            (naga::Expression::Literal(naga::Literal::F32(number)), ConstantValue::F32(value)) => {
                assert_eq!(number.to_bits(), value.to_bits(), "{}", constant.name)
            }
            (found, value) => panic!("{}: {found:?} is not {value:?}", constant.name),
        }
    }
}

/// Returns the schedule of a WGSL text: tasks, barriers and branches in order.
fn schedule_of(text: &str) -> Vec<ScheduleEvent> {
    let module = naga::front::wgsl::parse_str(text).unwrap();
    kernel_events(&module, |name| TASKS.iter().any(|task| task.name() == name))
}

#[test]
fn the_kernel_has_the_schedule_of_the_mirror() {
    let text = compose("kernel/simulate_cloth").unwrap().text;
    assert_eq!(schedule_of(&text), schedule_events(SIMULATION));
}

#[test]
fn each_dropped_or_changed_barrier_of_the_kernel_is_seen() {
    let text = compose("kernel/simulate_cloth").unwrap().text;
    let expected = schedule_events(SIMULATION);
    let mut count = 0;
    for (kind, other) in
        [("workgroupBarrier()", "storageBarrier()"), ("storageBarrier()", "workgroupBarrier()")]
    {
        for (begin, _) in text.match_indices(kind) {
            let with = |replacement: &str| {
                format!("{}{replacement}{}", &text[..begin], &text[begin + kind.len()..])
            };
            let line = text[..begin].lines().count();
            assert_ne!(schedule_of(&with("_ = lane")), expected, "line {line} without {kind}");
            assert_ne!(schedule_of(&with(other)), expected, "line {line} with {other}");
            count += 1;
        }
    }
    assert!(count > 40, "only {count} barriers were found");
}

#[test]
fn each_missing_step_and_each_unguarded_stage_is_seen() {
    let text = compose("kernel/simulate_cloth").unwrap().text;
    let expected = schedule_events(SIMULATION);
    let (head, kernel) = text.split_at(text.find("fn simulate_cloth(").unwrap());
    for task in TASKS {
        let call = format!(" {}(", task.name());
        let begin = kernel.find(&call).unwrap_or_else(|| panic!("{}", task.name()));
        let end = begin + kernel[begin..].find(';').unwrap();
        let without = format!("{head}{} _ = lane{}", &kernel[..begin], &kernel[end..]);
        assert_ne!(schedule_of(&without), expected, "without {}", task.name());
    }
    // A solve leaves its loop early when it has converged; the damaged condition is never true.
    let leave = "verdict == 1u) {\n                    break;";
    assert!(kernel.contains(leave));
    let without = kernel.replacen(leave, "lane > LANES) {\n                    break;", 1);
    assert_ne!(schedule_of(&format!("{head}{without}")), expected, "without leaving a solve");
    for row in STAGES {
        let guard = format!("(STAGES & STAGE_{}) != 0u", row.name.to_uppercase());
        let without = format!("{head}{}", kernel.replacen(&guard, "true", 1));
        assert_ne!(schedule_of(&without), expected, "without {guard}");
    }
}

#[test]
fn stages_write_only_their_declared_memory() {
    let composed = compose("kernel/simulate_cloth").unwrap();
    let module = parse(&composed).unwrap();
    let info = validate(&composed, &module).unwrap();
    for row in STAGES {
        let mut written = std::collections::BTreeSet::new();
        for (handle, function) in module.functions.iter() {
            let is_own = |name: &str| row.tasks.iter().any(|task| task.name() == name);
            if !function.name.as_deref().is_some_and(is_own) {
                continue;
            }
            for (global, variable) in module.global_variables.iter() {
                if !info[handle][global].contains(naga::valid::GlobalUse::WRITE) {
                    continue;
                }
                written.extend(match (variable.name.as_deref(), variable.space) {
                    (Some("current" | "shared_current"), _) => Some(Memory::Current),
                    (Some("previous" | "shared_previous"), _) => Some(Memory::Previous),
                    (Some("scratch"), _) => Some(Memory::Scratch),
                    (_, naga::AddressSpace::WorkGroup) => Some(Memory::Workgroup),
                    (_, naga::AddressSpace::Private) => None,
                    (name, _) => panic!("{} writes {name:?}", row.name),
                });
            }
        }
        let written: Vec<_> = written.into_iter().collect();
        assert_eq!(written, row.writes, "{}", row.name);
    }
}

#[test]
fn eight_storage_buffers_suffice() {
    for kernel in Kernel::ALL {
        let module = parse(&compose(&kernel.path()).unwrap()).unwrap();
        let is_storage = |space| matches!(space, naga::AddressSpace::Storage { .. });
        let storage = module
            .global_variables
            .iter()
            .filter(|(_, variable)| is_storage(variable.space))
            .count();
        assert!(storage <= 8, "{}: {storage} storage buffers", kernel.name());
    }
}

#[test]
fn workgroup_memory_stays_within_the_tier_budget() {
    let composed = compose("kernel/simulate_cloth").unwrap();
    let module = parse(&composed).unwrap();
    let info = validate(&composed, &module).unwrap();
    let limits = TierLimits::DEFAULT;
    let bytes = |memory| {
        let overrides = OverrideValues { lane_count: 256, stages: StageMask::ALL, memory };
        workgroup_bytes(&module, &info, &overrides).unwrap()
    };
    for tier in MemoryTier::ALL {
        let capacity = limits.particles_in(tier).unwrap_or(1);
        for particle_count in [64, 256, 500, capacity] {
            for member_count in [None, Some(particle_count)] {
                let plan = |row_len| {
                    limits.plan(MemoryNeeds { particle_count, member_count, row_len }, Some(tier))
                };
                // Includes the longest rows of whole fibers that fit beside the particles.
                let most = (0..2000).rev().find(|&len| plan(len).row_capacity > 0);
                for row_len in [0, 100, 500, most.unwrap_or(900)] {
                    let plan = plan(row_len);
                    let bytes = bytes(plan);
                    let range = plan.bytes()..=limits.workgroup_bytes;
                    assert!(range.contains(&bytes), "{plan:?}: {bytes} bytes");
                }
            }
        }
    }
}

#[test]
fn a_broken_stage_is_reported_with_its_file_and_line() {
    let damaged = |name: &str| {
        let text = source(name)?.to_owned();
        Some(if name == "stage/tether" {
            text.replace("let particle = load_current(i);", "let particle = load_curent(i);")
        } else {
            text
        })
    };
    let error =
        parse(&compose_with("kernel/simulate_cloth", damaged).unwrap()).unwrap_err().to_string();
    assert!(error.starts_with("stage/tether.wgsl:1") && error.contains("load_curent"), "{error}");
}

/// Returns the shader files below a folder as `folder/stem`, subfolders included.
fn shader_files(root: &std::path::Path, folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root.join(folder)).unwrap();
    let files = entries.flat_map(|entry| {
        let path = entry.unwrap().path();
        let name = format!("{folder}/{}", path.file_stem().unwrap().to_str().unwrap());
        if path.is_dir() { shader_files(root, &name) } else { vec![name] }
    });
    files.collect()
}

#[test]
fn every_shader_file_is_embedded() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
    for folder in ["lib", "state", "stage", "contact", "render", "draw", "kernel"] {
        for name in shader_files(&root, folder) {
            assert!(
                source(&name).is_some(),
                "{name} is not in SOURCES: run `cargo xtask generate`"
            );
        }
    }
}
