//! A flag in the wind, in a window: simulated and drawn on one device and in one encoder, without
//! copies.
//!
//! `cargo run --release -p poplin-examples --example winit_minimal`; with `-- --frames 10000` it
//! ends after that many frames and prints its allocations.

#![expect(clippy::print_stdout, reason = "output of an example")]

use std::{error::Error, sync::Arc, time::Instant};

use poplin::gpu::wgpu::{CurrentSurfaceTexture::*, *};
use poplin::gpu::{GpuEngine, RenderMeshes, required_features, required_limits};
use poplin::prelude::*;
use winit::{application::ApplicationHandler, event::WindowEvent, event_loop::*, window::*};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;
type Draw = Box<dyn FnMut(&ActiveEventLoop) -> Outcome>;

fn set_up(window: Arc<Window>, end: u64) -> Outcome<Draw> {
    let instance = Instance::default();
    let surface = instance.create_surface(window.clone())?;
    let wanted = RequestAdapterOptions { compatible_surface: Some(&surface), ..Default::default() };
    let adapter = pollster::block_on(instance.request_adapter(&wanted))?;
    let needs = DeviceDescriptor {
        required_features: required_features(&adapter),
        required_limits: required_limits(&adapter),
        ..Default::default()
    };
    let (device, queue) = pollster::block_on(adapter.request_device(&needs))?;
    let mut config = surface
        .get_default_config(&adapter, 0, 0)
        .ok_or("the adapter cannot draw to the window")?;

    let module = &device.create_shader_module(include_wgsl!("winit_minimal.wgsl"));
    let (entry_point, compilation_options) = (None, Default::default());
    let (buffers, targets) = (&[Some(RenderMeshes::VERTEX_LAYOUT)], &[Some(config.format.into())]);
    let vertex =
        VertexState { module, entry_point, compilation_options: Default::default(), buffers };
    let (depth_write_enabled, depth_compare) = (Some(true), Some(CompareFunction::Greater));
    let (stencil, bias) = Default::default();
    let format = TextureFormat::Depth32Float;
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
    // 1.5 m x 1 m, pinned along its left edge.
    let mut mesh = Mesh::grid(37, 25, 1.5, 1.0);
    mesh.positions.iter_mut().for_each(|[_, y, z]| (*y, *z) = (-*z, 0.0));
    let pins = (0..25).map(|row| 37 * row).collect();
    let cooked = cook(&mesh, &CookOptions { pins, ..CookOptions::default() })?;
    let shown = Arc::new(cooked.render_mesh(&mesh, &Default::default())?);
    let mut cloth = cooked.into_cloth();
    cloth.config.damping = [0.05; 3];
    cloth.config.air =
        Air { wind_velocity: [7.0, 0.0, 1.0], drag: 0.04, lift: 0.04, ..Air::default() };
    let mut engine = GpuEngine::new(&device, &queue, Default::default())?;
    let flag = engine.add(cloth)?;
    let mut meshes = RenderMeshes::new(&device, &queue, Default::default())?;
    let drawn = meshes.add(&shown, engine.particle_range(flag)?)?;
    let (mut clock, mut last, mut depth, mut number) =
        (FixedStep::default(), Instant::now(), None, 0);
    Ok(Box::new(move |events| {
        window.request_redraw();
        let (width, height) = window.inner_size().into();
        if (config.width, config.height) != (width, height) && width * height > 0 {
            (config.width, config.height) = (width, height);
            surface.configure(&device, &config);
            let texture = device.create_texture(&TextureDescriptor {
                label: None,
                size: Extent3d { width, height, depth_or_array_layers: 1 },
                mip_level_count: 1,
                sample_count: 1,
                dimension: TextureDimension::D2,
                format,
                usage: TextureUsages::RENDER_ATTACHMENT,
                view_formats: &[],
            });
            depth = Some(texture.create_view(&Default::default()));
        }
        let (Success(target) | Suboptimal(target)) = surface.get_current_texture() else {
            config.width = 0; // reconfigures with the next picture
            return Ok(());
        };
        let passed = std::mem::replace(&mut last, Instant::now()).elapsed();
        let steps = clock.advance(passed.as_secs_f64());
        let mut encoder = device.create_command_encoder(&Default::default());
        for _ in 0..steps.count {
            meshes.encode_frame(&mut engine, &mut encoder, clock.dt())?;
        }
        meshes.encode(&mut encoder, engine.particle_buffer(), steps.alpha)?;
        let view = &target.texture.create_view(&Default::default());
        let (ops, depth_ops) = (Operations::default(), Some(Operations::default())); // cleared to 0
        let to = RenderPassColorAttachment { view, depth_slice: None, resolve_target: None, ops };
        let depth = depth.as_ref().map(|view| RenderPassDepthStencilAttachment {
            view,
            depth_ops,
            stencil_ops: None,
        });
        let mut pass = encoder.begin_render_pass(&RenderPassDescriptor {
            color_attachments: &[Some(to)],
            depth_stencil_attachment: depth,
            ..Default::default()
        });
        let [width, height] = [width, height].map(|side: u32| side as f32);
        let side = width.min(height);
        pass.set_viewport((width - side) / 2.0, (height - side) / 2.0, side, side, 0.0, 1.0);
        pass.set_pipeline(&pipeline);
        meshes.draw(&mut pass, drawn, 0..1)?;
        drop(pass);
        queue.submit([encoder.finish()]);
        queue.present(target);
        number += 1;
        if number == 600 || number == end {
            let hub = instance.generate_report().ok_or("no report")?.hub;
            println!("{engine:?} {meshes:?} {:?} {:?}", hub.buffers, hub.compute_pipelines);
        }
        if number == end {
            events.exit();
        }
        Ok(())
    }))
}

/// Number of the last picture, and the function that draws.
struct App(u64, Option<Draw>);

impl ApplicationHandler for App {
    fn resumed(&mut self, events: &ActiveEventLoop) {
        let window = events.create_window(Window::default_attributes()).expect("a window");
        self.1 = Some(set_up(window.into(), self.0).expect("a picture"));
    }

    fn window_event(&mut self, events: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        match (event, &mut self.1) {
            (WindowEvent::RedrawRequested, Some(draw)) => draw(events).expect("a picture"),
            (WindowEvent::CloseRequested, _) => events.exit(),
            _ => {}
        }
    }
}

fn main() -> Outcome {
    let end = std::env::args().nth(2).map_or(Ok(u64::MAX), |count| count.parse())?;
    Ok(EventLoop::new()?.run_app(&mut App(end, None))?)
}
