//! Debug lines: drawn into a target, and targets that are rejected.

use poplin_gpu::{DebugLines, DebugPass, DebugTarget, DebugView, EngineOptions, Headless, wgpu};
use poplin_model::{Mesh, Particle};
use poplin_testkit::adapter::headless;

use super::{cooked, particle_buffer, submit};

/// Draws lines over particles into 64 x 64 texels with four samples; returns the resolved texels.
fn draw_lines(
    gpu: &Headless,
    lines: &DebugLines,
    particles: &wgpu::Buffer,
    view: DebugView,
) -> Vec<[u8; 4]> {
    let (device, format) = (gpu.device(), wgpu::TextureFormat::Rgba8Unorm);
    let texture = |sample_count, format, usage| {
        let size = wgpu::Extent3d { width: 64, height: 64, depth_or_array_layers: 1 };
        let texture = device.create_texture(&wgpu::TextureDescriptor {
            label: None,
            size,
            mip_level_count: 1,
            sample_count,
            dimension: wgpu::TextureDimension::D2,
            format,
            usage,
            view_formats: &[],
        });
        (texture.create_view(&wgpu::TextureViewDescriptor::default()), texture)
    };
    let attachment = wgpu::TextureUsages::RENDER_ATTACHMENT;
    let depth_format = wgpu::TextureFormat::Depth32Float;
    let (samples, _) = texture(4, format, attachment);
    let (depth, _) = texture(4, depth_format, attachment);
    let (resolved, copied) = texture(1, format, attachment | wgpu::TextureUsages::COPY_SRC);
    let depth_state = wgpu::DepthStencilState {
        format: depth_format,
        depth_write_enabled: Some(true),
        depth_compare: Some(wgpu::CompareFunction::LessEqual),
        stencil: wgpu::StencilState::default(),
        bias: wgpu::DepthBiasState::default(),
    };
    let target = DebugTarget { format, depth: Some(depth_state), sample_count: 4 };
    let debug = DebugPass::new(device, gpu.queue(), &target).unwrap();
    let mut list = debug.list();
    debug.set(&mut list, lines).unwrap();
    let staging = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 64 * 64 * 4,
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC,
        mapped_at_creation: false,
    });
    submit(gpu, |encoder| {
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: &samples,
                depth_slice: None,
                resolve_target: Some(&resolved),
                ops: wgpu::Operations {
                    load: wgpu::LoadOp::Clear(wgpu::Color::BLACK),
                    store: wgpu::StoreOp::Discard,
                },
            })],
            depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
                view: &depth,
                depth_ops: Some(wgpu::Operations {
                    load: wgpu::LoadOp::Clear(1.0),
                    store: wgpu::StoreOp::Discard,
                }),
                stencil_ops: None,
            }),
            ..Default::default()
        });
        debug.draw(&mut pass, &mut list, particles, &view).unwrap();
        drop(pass);
        encoder.copy_texture_to_buffer(
            copied.as_image_copy(),
            wgpu::TexelCopyBufferInfo {
                buffer: &staging,
                layout: wgpu::TexelCopyBufferLayout {
                    offset: 0,
                    bytes_per_row: Some(256),
                    rows_per_image: None,
                },
            },
            copied.size(),
        );
    });
    bytemuck::cast_slice(&gpu.read_buffer(&staging).unwrap()).to_vec()
}

#[test]
fn lines_follow_the_particles_and_show_strain() {
    let Some(gpu) = headless(EngineOptions::default()) else { return };
    let cooked = cooked(&Mesh::grid(5, 5, 1.0, 1.0));
    // View from above: x and z from -0.25 to 1.25 m fill the target.
    let scale = 2.0 / 1.5;
    let view = DebugView {
        clip_from_local: [
            [scale, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.5, 0.0],
            [0.0, scale, 0.0, 0.0],
            [-2.0 / 3.0, -2.0 / 3.0, 0.5, 1.0],
        ],
        particle_begin: 2,
        strain_limit: 0.1,
    };
    let stretched = |factor: f32| {
        let mut particles = vec![Particle::default(); 2];
        particles.extend(&cooked.particles);
        particles.iter_mut().for_each(|particle| particle.position[0] *= factor);
        particle_buffer(&gpu, &particles)
    };
    let count = |texels: &[[u8; 4]], is: &dyn Fn(&[u8; 4]) -> bool| {
        texels.iter().filter(|texel| is(texel)).count()
    };
    let mut lines = DebugLines::new();
    lines.strain(&cooked.fabric);
    let is_red = |texel: &[u8; 4]| texel[0] > 150 && texel[1] < 80;
    let is_blue = |texel: &[u8; 4]| texel[2] > 150 && texel[0] < 80;
    let at_rest = draw_lines(&gpu, &lines, &stretched(1.0), view);
    assert_eq!((count(&at_rest, &is_red), count(&at_rest, &is_blue)), (0, 0));
    assert!(count(&at_rest, &|texel| texel[0] > 60) > 300);
    let long = draw_lines(&gpu, &lines, &stretched(1.12), view);
    assert!(count(&long, &is_red) > 100 && count(&long, &is_blue) == 0);
    let short = draw_lines(&gpu, &lines, &stretched(0.85), view);
    assert!(count(&short, &is_blue) > 50 && count(&short, &is_red) == 0);

    let mut sets = DebugLines::new();
    sets.fibers(&cooked.fabric).tethers(&cooked.fabric, [255; 4]);
    sets.pins(&cooked.particles, 0.1, [255, 0, 255, 255]);
    let drawn = draw_lines(&gpu, &sets, &stretched(1.0), view);
    let pink = count(&drawn, &|texel| texel[0] > 100 && texel[1] < 60 && texel[2] > 100);
    assert!(pink >= 2, "the pin has {pink} texels");

    // View from the side, x to the right and y upwards: the sheet is a line at height 0, and its
    // normals are above it.
    let side = DebugView {
        clip_from_local: [
            [scale, 0.0, 0.0, 0.0],
            [0.0, scale, 0.0, 0.0],
            [0.0, 0.0, 0.5, 0.0],
            [-2.0 / 3.0, 0.0, 0.25, 1.0],
        ],
        ..view
    };
    let green = [0, 255, 0, 255];
    let mut normals = DebugLines::new();
    normals.normals(&cooked.fabric.triangles, 0.3, green);
    let drawn = draw_lines(&gpu, &normals, &stretched(1.0), side);
    let rows: Vec<_> = drawn.chunks(64).map(|row| count(row, &|texel| texel[1] > 100)).collect();
    // 64 texels show 1.5 m: a normal of 0.3 m covers 12.8 rows above the middle.
    assert!(rows[20..31].iter().all(|&texels| texels >= 4), "{rows:?}");
    assert_eq!(rows[..18].iter().chain(&rows[33..]).sum::<usize>(), 0, "{rows:?}");
    let flat = draw_lines(&gpu, &normals, &stretched(0.0), side);
    assert_eq!(count(&flat, &|texel| texel[1] > 100), 0, "triangles without area have no normal");
    let mut contacts = DebugLines::new();
    contacts.vectors([(12, [0.0, -0.4, 0.0]), (24, [0.0, -0.2, 0.0])], green);
    let drawn = draw_lines(&gpu, &contacts, &stretched(1.0), side);
    let rows: Vec<_> = drawn.chunks(64).map(|row| count(row, &|texel| texel[1] > 40)).collect();
    assert!(rows[33..40].iter().all(|&texels| texels >= 2), "{rows:?}");
    assert!(rows[42..48].iter().all(|&texels| (1..=2).contains(&texels)), "{rows:?}");
    assert_eq!(rows[..31].iter().chain(&rows[51..]).sum::<usize>(), 0, "{rows:?}");

    let mut colliders = poplin_model::ColliderSet::new();
    colliders.add(poplin_model::Shape::sphere(0.4)).unwrap();
    colliders.add(poplin_model::Shape::cuboid([0.2; 3])).unwrap();
    colliders.add(poplin_model::Shape::capsule(0.3, [0.1, 0.2])).unwrap();
    let mut shapes = DebugLines::new();
    shapes.colliders(&colliders, [255; 4]);
    assert_eq!(shapes.len(), 3 * 24 + 12 + 4 + 2 * 3 * 24);
    assert!(count(&draw_lines(&gpu, &shapes, &stretched(1.0), view), &|texel| texel[0] > 60) > 50);
}

#[test]
fn unsupported_targets_are_rejected() {
    let Some(gpu) = headless(EngineOptions::default()) else { return };
    let refusal = |format, depth: Option<wgpu::TextureFormat>, sample_count| {
        let depth = depth.map(|format| wgpu::DepthStencilState {
            format,
            depth_write_enabled: Some(true),
            depth_compare: Some(wgpu::CompareFunction::Less),
            stencil: wgpu::StencilState::default(),
            bias: wgpu::DepthBiasState::default(),
        });
        let target = DebugTarget { format, depth, sample_count };
        DebugPass::new(gpu.device(), gpu.queue(), &target).map(|_| ()).unwrap_err().to_string()
    };
    use wgpu::TextureFormat::{Bc1RgbaUnorm, R32Uint, Rgba8Unorm};
    for (found, expected) in [
        (
            refusal(R32Uint, None, 1),
            "R32Uint with 1 samples: the format does not accept float output",
        ),
        (
            refusal(Bc1RgbaUnorm, None, 1),
            "Bc1RgbaUnorm with 1 samples: this device cannot render to the format",
        ),
        (
            refusal(Rgba8Unorm, None, 3),
            "Rgba8Unorm with 3 samples: this device does not support the sample count for the format",
        ),
        (
            refusal(Rgba8Unorm, Some(Rgba8Unorm), 1),
            "Rgba8Unorm with 1 samples: the format has no depth",
        ),
    ] {
        assert_eq!(found, format!("cannot draw into {expected}"));
    }
}
