//! A skirt: a coarse cloth on the GPU and a fine skinned mesh, drawn with light and texture.

use std::{error::Error, sync::Arc};

use poplin::gpu::{Headless, HeadlessOptions, RenderMeshes};
use poplin::prelude::*;
use wgpu::util::DeviceExt;
use wgpu::*;

/// Simulates a second and returns the picture, `side` x `side` RGBA texels. `side` must be a
/// multiple of 64.
pub(crate) fn draw(side: u32) -> Result<Vec<u8>, Box<dyn Error>> {
    // 240 particles with a pinned waist, and 97 x 41 vertices on the same cone. Their first and
    // last columns coincide, which makes a seam in the texture but not in the normals.
    let coarse = Mesh::tube(24, 10, 0.14, 0.36, 0.5);
    let mut fine = Mesh::grid(97, 41, -std::f32::consts::TAU, 1.0);
    for [x, y, z] in &mut fine.positions {
        let (radius, (sin, cos)) = (0.14 + 0.22 * *z, x.sin_cos());
        [*x, *y, *z] = [radius * cos, -0.5 * *z, radius * sin];
    }
    let cooked = cook(&coarse, &CookOptions { pins: (0..24).collect(), ..CookOptions::default() })?;
    let skin = Arc::new(cooked.skin(&fine, &Default::default())?.mesh);
    let mut cloth = cooked.into_cloth();
    cloth.config.air = Air { wind_velocity: [2.5, 0.0, 1.0], drag: 0.02, ..Air::default() };
    let mut headless = Headless::new(HeadlessOptions::default())?;
    let id = headless.add(cloth)?;
    for _ in 0..60 {
        headless.step(1.0 / 60.0)?;
    }

    let (device, queue, engine) = (headless.device(), headless.queue(), headless.engine());
    let mut meshes = RenderMeshes::new(device, queue, Default::default())?;
    let skirt = meshes.add(&skin, engine.particle_range(id)?)?;
    let texture = |width, format, usage| TextureDescriptor {
        label: None,
        size: Extent3d { width, height: width, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: TextureDimension::D2,
        format,
        usage,
        view_formats: &[],
    };
    let (color, depth) = (TextureFormat::Rgba8UnormSrgb, TextureFormat::Depth32Float);
    let attachment = TextureUsages::RENDER_ATTACHMENT;
    let target = device.create_texture(&texture(side, color, attachment | TextureUsages::COPY_SRC));
    let far = device.create_texture(&texture(side, depth, attachment));
    let [white, blue] = [[230, 220, 200, 255], [30, 60, 160, 255]];
    let texels = [white, blue, blue, white];
    let checker = texture(2, color, TextureUsages::TEXTURE_BINDING);
    let (order, texels) = (Default::default(), texels.as_flattened());
    let checker = device.create_texture_with_data(queue, &checker, order, texels);

    let module = &device.create_shader_module(include_wgsl!("garment.wgsl"));
    let (entry_point, compilation_options) = (None, Default::default());
    let buffers = &[Some(RenderMeshes::VERTEX_LAYOUT), Some(RenderMeshes::UV_LAYOUT)];
    let vertex =
        VertexState { module, entry_point, compilation_options: Default::default(), buffers };
    let targets = &[Some(color.into())];
    let (depth_write_enabled, depth_compare) = (Some(true), Some(CompareFunction::Greater));
    let (format, (stencil, bias)) = (depth, Default::default());
    let depth = DepthStencilState { format, depth_write_enabled, depth_compare, stencil, bias };
    let pipeline = device.create_render_pipeline(&RenderPipelineDescriptor {
        label: None,
        layout: None,
        vertex,
        primitive: Default::default(),
        depth_stencil: Some(depth),
        multisample: Default::default(),
        fragment: Some(FragmentState { module, entry_point, compilation_options, targets }),
        multiview_mask: None,
        cache: None,
    });
    let view = |texture: &Texture| texture.create_view(&Default::default());
    let resource = BindingResource::TextureView(&view(&checker));
    let group = device.create_bind_group(&BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[BindGroupEntry { binding: 0, resource }],
    });

    let mut encoder = device.create_command_encoder(&Default::default());
    meshes.encode(&mut encoder, engine.particle_buffer(), 1.0)?;
    let (ops, depth_ops) = (Operations::default(), Some(Operations::default())); // cleared to 0
    let (to, far) = (&view(&target), &view(&far));
    let to = RenderPassColorAttachment { view: to, depth_slice: None, resolve_target: None, ops };
    let far = RenderPassDepthStencilAttachment { view: far, depth_ops, stencil_ops: None };
    let mut pass = encoder.begin_render_pass(&RenderPassDescriptor {
        color_attachments: &[Some(to)],
        depth_stencil_attachment: Some(far),
        ..Default::default()
    });
    pass.set_pipeline(&pipeline);
    pass.set_bind_group(0, &group, &[]);
    meshes.draw(&mut pass, skirt, 0..1)?;
    drop(pass);
    let usage = BufferUsages::COPY_DST | BufferUsages::MAP_READ;
    let size = u64::from(4 * side * side);
    let read = BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
    let read = device.create_buffer(&read);
    let layout = TexelCopyBufferLayout { bytes_per_row: Some(4 * side), ..Default::default() };
    let to = TexelCopyBufferInfo { buffer: &read, layout };
    encoder.copy_texture_to_buffer(target.as_image_copy(), to, target.size());
    queue.submit([encoder.finish()]);
    read.map_async(MapMode::Read, .., |mapped| mapped.expect("the device answers"));
    device.poll(PollType::wait_indefinitely())?;
    Ok(read.get_mapped_range(..)?.to_vec())
}
