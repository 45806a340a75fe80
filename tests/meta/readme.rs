//! Examples and scenes of README and guide compile and parse. Commands, links and lists are checks
//! of xtask.

use std::error::Error;

use poplin::cook::{CookOptions, cook};
use poplin::gpu::{EngineOptions, GpuEngine, list_adapters, wgpu};
use poplin::model::Mesh;
use poplin_testkit::generated::{assert_block, root};

use crate::tables::{GUIDE, read, stems};

/// Paths and texts of the READMEs, the contribution guide, the change log and the pages of the
/// guide.
fn pages() -> Vec<(String, String)> {
    let guide = stems(GUIDE, ".md").into_iter().map(|stem| format!("{GUIDE}/{stem}.md"));
    let others = [
        "README.md",
        ".github/CONTRIBUTING.md",
        "bevy_poplin/README.md",
        "crates/poplin/CHANGELOG.md",
    ];
    guide
        .chain(others.map(str::to_owned))
        .map(|path| {
            let text = read(&path);
            (path, text)
        })
        .collect()
}

/// Code blocks of a page in this language.
fn code_blocks<'a>(page: &'a str, language: &'a str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

/// Returns the lines between two marks, without the indentation of the first.
fn between(text: &str, begin: &str, end: &str) -> String {
    let lines = text.lines().skip_while(|line| line.trim() != begin).skip(1);
    let lines: Vec<_> = lines.take_while(|line| line.trim() != end).collect();
    let indent = lines[0].len() - lines[0].trim_start().len();
    lines.iter().map(|line| format!("{}\n", line.get(indent..).unwrap_or_default())).collect()
}

#[test]
fn table_library_example() {
    let docs = read("crates/poplin/src/lib.rs").replace("//! ", "    ").replace("//!", "");
    let example = between(&docs, "```", "```");
    // `# ` hides a line of a doc test.
    let shown: String = example
        .lines()
        .filter(|line| !line.starts_with("# "))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_block("README.md", "library", &format!("```rust\n{shown}```"));
}

#[test]
fn table_embedding_example() {
    let example = between(include_str!("readme.rs"), "// embedding begin", "// embedding end");
    assert_block("README.md", "embedding", &format!("```rust\n{example}```"));
}

#[test]
fn the_guide_names_every_kind_of_warning() {
    let guide = read(&format!("{GUIDE}/scenes.md"));
    let mut count = 0;
    for file in std::fs::read_dir(root().join("crates/poplin-run/src/run/warning")).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        for begin in ["of_cloth(\"", "Self::new(\"", "of_trouble(\"", "of(\""] {
            for rest in text.split(begin).skip(1) {
                let kind = rest.split('"').next().unwrap();
                assert!(guide.contains(&format!("`{kind}`")), "{kind}");
                count += 1;
            }
        }
    }
    assert!(count > 30, "only {count} kinds found");
}

#[test]
fn the_scenes_are_scenes() {
    let mut count = 0;
    for (path, page) in pages() {
        for text in code_blocks(&page, "toml") {
            if text.starts_with("scene = ") {
                assert!(poplin_scene::Sweep::parse(text, &path).unwrap().job_count() > 1);
                continue;
            }
            let scene = poplin_scene::Scene::parse(text, &path).unwrap();
            scene.build_cloth(0).unwrap();
            scene.build_colliders().unwrap();
            count += 1;
        }
    }
    assert!(count > 4, "only {count} scenes");
}

const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::R8Unorm;

/// Side of the picture [px], the smallest whose rows can be copied to a buffer.
const SIDE: u32 = 256;

/// Pipeline of a renderer for particles seen from above: x and z of 0 to 1 m fill a quarter of the
/// picture.
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
    // The test kit reports a missing adapter.
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
    // Once. WebGPU's default limits suffice; `required_limits(&adapter)` names those that make
    // cloths faster or larger. On Vulkan request `required_features(&adapter)`.
    let mut engine = GpuEngine::new(&device, &queue, EngineOptions::default())?;
    let cloth = engine.add(cooked.into_cloth())?;
    let particles = engine.particle_range(cloth)?;

    // Every frame: simulate and draw in your encoder. The engine submits nothing and waits for
    // nothing.
    engine.encode_frame(&mut encoder, 1.0 / 60.0)?;
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
