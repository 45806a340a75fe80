//! Holds the README to the code: its generated tables, its two examples, the files it names.

use std::error::Error;
use std::path::{Path, PathBuf};

use poplin::cook::{CookOptions, cook};
use poplin::gpu::{Engine, EngineOptions, list_adapters, wgpu};
use poplin::model::{Frame, Mesh};
use poplin_host::TierLimits;
use poplin_layout::{MemoryTier, Stage};

/// What holds each stage in `f64`: functions in `crates/poplin-reference/src/oracle`, or why there is none.
const ORACLES: &[(Stage, Result<&[&str], &str>)] = &[
    (Stage::Integrate, Ok(&["integrate"])),
    (Stage::Wind, Ok(&["air_impulse"])),
    (Stage::Motion, Ok(&["keep_inside"])),
    (Stage::Tether, Ok(&["constrain_to_anchors"])),
    (Stage::GaussSeidel, Ok(&["project_distance"])),
    (Stage::SemiImplicit, Ok(&["solve_chain"])),
    (Stage::CyclicReduction, Ok(&["solve_chain"])),
    (Stage::Bend, Ok(&["bend_angle", "bend_gradient", "solve_bend"])),
    (Stage::Separation, Ok(&["keep_outside"])),
    (Stage::SelfCollide, Ok(&["push_apart"])),
    (Stage::CollideConvex, Ok(&["leave_convex", "coulomb"])),
    (Stage::CollideBox, Ok(&["leave_parallelepiped"])),
    (Stage::CollideTriangle, Ok(&["nearest_triangle"])),
    (Stage::Mass, Err("none: it copies")),
    (Stage::CollideShape, Ok(&["touch_shapes", "touch_round_cone", "weigh_pushed"])),
    (Stage::CollideContinuous, Ok(&["sweep_sphere", "sweep_side"])),
    (Stage::CollideBody, Err("momentum, in [bodies.rs](tests/bodies.rs)")),
    (Stage::VirtualParticles, Err("that of the shapes, in [collision.rs](tests/collision.rs)")),
    (Stage::Sleep, Err("none: it counts")),
];

/// Where the oracle stands.
const ORACLE_FOLDER: &str = "crates/poplin-reference/src/oracle";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Names of the entries of a folder, sorted.
fn entries(folder: &str) -> Vec<String> {
    let entries =
        root().join(folder).read_dir().unwrap_or_else(|error| panic!("{folder}: {error}"));
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Names of a folder's files with this extension, without it.
fn stems(folder: &str, extension: &str) -> Vec<String> {
    entries(folder)
        .iter()
        .filter_map(|name| Some(name.strip_suffix(extension)?.to_owned()))
        .collect()
}

/// What stands between `<!-- name begin -->` and `<!-- name end -->`, without blank lines around it.
fn section<'a>(text: &'a str, name: &str) -> &'a str {
    let (begin, end) = (format!("<!-- {name} begin -->"), format!("<!-- {name} end -->"));
    let (_, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("README.md has no `{begin}`"));
    rest.split_once(&end).unwrap_or_else(|| panic!("README.md has no `{end}`")).0.trim()
}

/// The section must be this text; the message is what to paste there.
#[track_caller]
fn assert_section(name: &str, expected: &str) {
    let text = read("README.md");
    assert!(
        section(&text, name) == expected.trim(),
        "README.md between the `{name}` comments must be:\n\n{expected}\n"
    );
}

/// A markdown link to a file, named by the file's name.
fn link(path: &str) -> String {
    format!("[`{}`]({path})", Path::new(path).file_name().unwrap().to_str().unwrap())
}

/// Names of the functions that a source text defines with this prefix.
fn functions<'a>(text: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |line| line.strip_prefix(prefix)?.split('(').next())
}

/// Every oracle function with its file.
fn oracle_functions() -> Vec<(String, String)> {
    let files =
        stems(ORACLE_FOLDER, ".rs").into_iter().map(|stem| format!("{ORACLE_FOLDER}/{stem}.rs"));
    files
        .flat_map(|file| {
            functions(&read(&file), "pub fn ")
                .map(|name| (name.to_owned(), file.clone()))
                .collect::<Vec<_>>()
        })
        .collect()
}

fn stage_row(stage: Stage, oracle: &Result<&[&str], &str>) -> String {
    let name = stage.name();
    let (source, mirror) = (
        format!("shaders/stage/{name}.wgsl"),
        format!("crates/poplin-reference/src/stage/{name}.rs"),
    );
    let (source_text, mirror_text, kernel_text) =
        (read(&source), read(&mirror), read("shaders/kernel/simulate_cloth.wgsl"));
    assert!(
        kernel_text.contains(&format!("#import stage/{name}\n")),
        "the kernel does not import stage/{name}"
    );
    let is_called = |function: &&str| kernel_text.contains(&format!(" {function}("));
    let called: Vec<_> = functions(&source_text, "fn ").filter(is_called).collect();
    assert!(!called.is_empty(), "the kernel calls nothing of {source}");
    for function in &called {
        assert!(
            functions(&mirror_text, "pub fn ").any(|known| known == *function),
            "{mirror} does not mirror `{function}`"
        );
    }
    let known = oracle_functions();
    let oracle = oracle.map_or_else(str::to_owned, |names| {
        let files = names.iter().map(|name| {
            let found = known.iter().find(|(function, _)| function == name);
            let (_, file) =
                found.unwrap_or_else(|| panic!("no file in {ORACLE_FOLDER} has `pub fn {name}`"));
            let tests = ["tests/oracle.rs", "tests/collision.rs", "tests/self_collision.rs"];
            let is_called = tests.iter().any(|file| read(file).contains(&format!("{name}(")));
            assert!(is_called, "none of {tests:?} calls `{name}`");
            format!("[`{name}`]({file})")
        });
        files.collect::<Vec<_>>().join(", ")
    });
    format!(
        "| {name} | {} | `{}` | {} | {oracle} |\n",
        link(&source),
        called.join("`, `"),
        link(&mirror)
    )
}

#[test]
fn the_stage_table_is_generated() {
    let mut table =
        "| stage | source | called by the kernel | mirror | oracle |\n|---|---|---|---|---|\n"
            .to_owned();
    for stage in Stage::ALL {
        let row = ORACLES.iter().find(|(known, _)| *known == stage);
        let (_, oracle) =
            row.unwrap_or_else(|| panic!("ORACLES in tests/readme.rs has no row for {stage:?}"));
        table += &stage_row(stage, oracle);
    }
    assert_section("stages", &table);
}

#[test]
fn every_stage_file_is_a_stage() {
    let known = Stage::ALL.map(Stage::name);
    let shaders = stems("shaders/stage", ".wgsl");
    let mirrors = stems("crates/poplin-reference/src/stage", ".rs");
    for stem in shaders.iter().chain(mirrors.iter().filter(|stem| *stem != "mod")) {
        assert!(known.contains(&stem.as_str()), "the stage file `{stem}` is not in Stage::ALL");
    }
}

#[test]
fn every_oracle_is_in_the_table() {
    let named: Vec<_> = ORACLES.iter().filter_map(|(_, oracle)| oracle.ok()).flatten().collect();
    for (function, file) in oracle_functions() {
        assert!(
            named.iter().any(|name| **name == function),
            "`{function}` of {file} is in no row of ORACLES in tests/readme.rs"
        );
    }
}

#[test]
fn the_tier_table_is_generated() {
    let sizes = [16_384, 32_768, 49_152];
    let mut table =
        "| tier | in workgroup memory | particles in 16 KiB | 32 KiB | 48 KiB |\n|---|---|---:|---:|---:|\n".to_owned();
    for tier in MemoryTier::ALL {
        let held = match tier {
            MemoryTier::Resident => "current and previous",
            MemoryTier::HalfResident => "current",
            MemoryTier::Streamed => "nothing",
        };
        let capacity = |workgroup_bytes| {
            TierLimits { workgroup_bytes, ..TierLimits::DEFAULT }.particles_in(tier)
        };
        let counts = sizes
            .map(|bytes| capacity(bytes).map_or("any".to_owned(), |count| count.to_string()))
            .join(" | ");
        table += &format!(
            "| {} | {held}: {} bytes a particle | {counts} |\n",
            tier.name(),
            tier.bytes_per_particle()
        );
    }
    assert_section("tiers", &table);
}

/// The lines between two marks, without the indentation of the first.
fn between(text: &str, begin: &str, end: &str) -> String {
    let lines = text.lines().skip_while(|line| line.trim() != begin).skip(1);
    let lines: Vec<_> = lines.take_while(|line| line.trim() != end).collect();
    let indent = lines[0].len() - lines[0].trim_start().len();
    lines.iter().map(|line| format!("{}\n", line.get(indent..).unwrap_or_default())).collect()
}

#[test]
fn the_library_example_is_the_doc_test_of_the_crate() {
    let docs = read("crates/poplin/src/lib.rs").replace("//! ", "    ").replace("//!", "");
    let example = between(&docs, "```", "```");
    // `# ` hides a line of a doc test.
    let shown: String = example
        .lines()
        .filter(|line| !line.starts_with("# "))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_section("library", &format!("```rust\n{shown}```"));
}

#[test]
fn the_scene_example_is_a_scene() {
    let scene =
        poplin_io::scene::Scene::parse(&between(&read("README.md"), "```toml", "```"), "README.md")
            .unwrap();
    scene.build_cloth(0).unwrap();
}

#[test]
fn the_embedding_example_is_the_code_that_is_tested() {
    let example = between(include_str!("readme.rs"), "// embedding begin", "// embedding end");
    assert_section("embedding", &format!("```rust\n{example}```"));
}

const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::R8Unorm;

/// Side of the picture [px], the least whose rows can be copied to a buffer.
const SIDE: u32 = 256;

/// A renderer's pipeline for particles, seen from above: x and z of 0 to 1 m fill a quarter of the picture.
fn particle_pipeline(device: &wgpu::Device) -> wgpu::RenderPipeline {
    let text =
        "@vertex fn vertex(@location(0) particle: vec4<f32>) -> @builtin(position) vec4<f32> {
                    return vec4<f32>(particle.xz, 0.5, 1.0);
                }
                @fragment fn fragment() -> @location(0) vec4<f32> { return vec4<f32>(1.0); }";
    let source = wgpu::ShaderSource::Wgsl(text.into());
    let module = &device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
    let attributes = &wgpu::vertex_attr_array![0 => Float32x4];
    let particles = wgpu::VertexBufferLayout {
        array_stride: 16,
        step_mode: wgpu::VertexStepMode::Vertex,
        attributes,
    };
    let (entry_point, targets) = (None, &[Some(FORMAT.into())]);
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: None,
        layout: None,
        vertex: wgpu::VertexState {
            module,
            entry_point,
            compilation_options: Default::default(),
            buffers: &[Some(particles)],
        },
        primitive: Default::default(),
        depth_stencil: None,
        multisample: Default::default(),
        fragment: Some(wgpu::FragmentState {
            module,
            entry_point,
            compilation_options: Default::default(),
            targets,
        }),
        multiview_mask: None,
        cache: None,
    })
}

fn picture(device: &wgpu::Device) -> wgpu::Texture {
    device.create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d { width: SIDE, height: SIDE, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: FORMAT,
        usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
        view_formats: &[],
    })
}

fn buffer(device: &wgpu::Device, size: usize, usage: wgpu::BufferUsages) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: size as u64,
        usage,
        mapped_at_creation: false,
    })
}

#[test]
fn the_embedding_example_draws_the_cloth() -> Result<(), Box<dyn Error>> {
    // The test kit says loudly where there is no adapter.
    let Some(_) = poplin_testkit::adapter::headless(EngineOptions::default()) else {
        return Ok(());
    };
    let adapter = list_adapters().into_iter().next().ok_or("no adapter")?;
    let (device, queue) =
        pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor::default()))?;
    let cooked = cook(
        &Mesh::grid(20, 20, 1.0, 1.0),
        &CookOptions { pins: vec![0, 19], ..CookOptions::default() },
    )?;
    let corners = cooked.fabric.triangles.as_flattened().to_vec();
    let index_count = corners.len() as u32;
    let indices = buffer(
        &device,
        4 * corners.len(),
        wgpu::BufferUsages::INDEX | wgpu::BufferUsages::COPY_DST,
    );
    queue.write_buffer(&indices, 0, bytemuck::cast_slice(&corners));
    let (pipeline, picture) = (particle_pipeline(&device), picture(&device));
    let view = picture.create_view(&Default::default());
    let color = wgpu::RenderPassColorAttachment {
        view: &view,
        depth_slice: None,
        resolve_target: None,
        ops: Default::default(),
    };
    let target =
        wgpu::RenderPassDescriptor { color_attachments: &[Some(color)], ..Default::default() };
    let mut encoder = device.create_command_encoder(&Default::default());

    // embedding begin
    // Once. WebGPU's default limits suffice; `required_limits(&adapter)` names those that make cloths faster or larger.
    let mut engine = Engine::new(&device, &queue, EngineOptions::default())?;
    let cloth = engine.add(cooked.into_cloth())?;
    let particles = engine.particle_range(cloth)?;

    // Every frame: simulate and draw in your encoder. The engine submits nothing and waits for nothing.
    engine.encode_frame(&mut encoder, &Frame { dt: 1.0 / 60.0 })?;
    let mut pass = encoder.begin_render_pass(&target);
    pass.set_pipeline(&pipeline);
    // Stride 16, one Float32x4: position [m] and inverse mass [1/kg]. Indices: `Fabric::triangles`.
    pass.set_vertex_buffer(0, engine.particle_buffer().slice(..));
    pass.set_index_buffer(indices.slice(..), wgpu::IndexFormat::Uint32);
    pass.draw_indexed(0..index_count, particles.start as i32, 0..1);
    // embedding end

    drop(pass);
    let staging = buffer(
        &device,
        (SIDE * SIDE) as usize,
        wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
    );
    let layout =
        wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(SIDE), rows_per_image: None };
    let copy = wgpu::TexelCopyBufferInfo { buffer: &staging, layout };
    encoder.copy_texture_to_buffer(picture.as_image_copy(), copy, picture.size());
    queue.submit([encoder.finish()]);
    staging.map_async(wgpu::MapMode::Read, .., |mapped| mapped.expect("the device answers"));
    device.poll(wgpu::PollType::Wait {
        submission_index: None,
        timeout: Some(std::time::Duration::from_secs(60)),
    })?;
    let covered = staging.get_mapped_range(..)?.iter().filter(|&&texel| texel > 0).count();
    let quarter = (SIDE * SIDE / 4) as usize;
    assert!(
        covered.abs_diff(quarter) < quarter / 20,
        "{covered} texels are covered, not some {quarter}"
    );
    Ok(())
}

#[test]
fn the_files_that_the_readme_links_to_exist() {
    let text = read("README.md");
    let targets: Vec<_> =
        text.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    let local: Vec<_> = targets
        .iter()
        .filter(|target| !target.starts_with("http") && !target.starts_with('#'))
        .collect();
    assert!(local.len() > 10, "only {} links to files", local.len());
    for target in local {
        assert!(root().join(target).exists(), "README.md links to {target}, which is not there");
    }
}

#[test]
fn every_crate_and_test_file_is_in_the_readme() {
    let text = read("README.md");
    for stem in stems("tests", ".rs") {
        assert!(
            text.contains(&format!("(tests/{stem}.rs)")),
            "README.md does not say what tests/{stem}.rs holds"
        );
    }
    for name in entries("crates") {
        assert!(
            text.contains(&format!("| `{name}` |")),
            "README.md has no row for the crate {name}"
        );
    }
}
