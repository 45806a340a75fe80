//! Simulation and drawing in one encoder: cloths by `RenderMeshes`, the body by skinning in the
//! vertex shader.

use std::error::Error;

use bytemuck::{Pod, Zeroable, bytes_of, cast_slice};
use glam::camera::rh::{proj::directx::*, view::look_at_mat4};
use glam::{Mat4, Quat, Vec3, vec3};
use poplin::ClothId;
use poplin::gpu::wgpu::util::{BufferInitDescriptor, DeviceExt};
use poplin::gpu::wgpu::*;
use poplin::gpu::{
    EngineOptions, GpuEngine, RenderId, RenderMeshes, required_features, required_limits,
};
use poplin::model::FixedStep;

use crate::body::{BONES, Body, BodyPose};
use crate::clothes::{Worn, cape, skirt};
use crate::mesh::{BodyVertex, body_mesh};

pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const SAMPLES: u32 = 4;
const DEPTH: TextureFormat = TextureFormat::Depth32Float;
/// Side of the shadow map \[texels\].
const MAP_SIZE: u32 = 2048;
/// Linear colour of the background, `BACKGROUND` of the shader.
const BACKGROUND: Color = Color { r: 0.63, g: 0.68, b: 0.74, a: 1.0 };

/// Uniform `Scene` of the shader.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Uniform {
    clip_from_world: [[f32; 4]; 4],
    map_from_world: [[f32; 4]; 4],
    world_from_local: [[f32; 4]; 4],
    eye: [f32; 4],
    sun: [f32; 4],
    center: [f32; 4],
    bones: [[[f32; 4]; 4]; BONES],
}

/// Camera: angles around the character \[rad\] and distance \[m\].
pub(crate) struct Camera {
    pub(crate) yaw: f32,
    pub(crate) pitch: f32,
    pub(crate) distance: f32,
}

pub(crate) struct Renderer {
    pub(crate) device: Device,
    pub(crate) queue: Queue,
    format: TextureFormat,
    engine: GpuEngine,
    meshes: RenderMeshes,
    /// Attachment, cloth and render mesh of each garment.
    garments: Vec<(Worn, ClothId, RenderId)>,
    body: Body,
    clock: FixedStep,
    /// Number of simulated frames.
    frames: u64,
    pipelines: Pipelines,
    uniform: Buffer,
    scene_group: BindGroup,
    map_group: BindGroup,
    map: TextureView,
    body_vertices: Buffer,
    body_indices: Buffer,
    /// Multisampled colour and depth, of the size of the last picture.
    attachments: Option<[TextureView; 2]>,
}

struct Pipelines {
    ground: RenderPipeline,
    body: RenderPipeline,
    cloth: RenderPipeline,
    body_in_map: RenderPipeline,
    cloth_in_map: RenderPipeline,
}

impl Renderer {
    /// Creates a renderer into views of this format.
    pub(crate) fn new(adapter: &Adapter, format: TextureFormat) -> Outcome<Self> {
        let needs = DeviceDescriptor {
            required_features: required_features(adapter),
            required_limits: required_limits(adapter),
            ..Default::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&needs))?;
        let body = Body::new();
        // Largest number of frames that the clock returns at once.
        let options = EngineOptions { frames_per_submit: 4, ..EngineOptions::default() };
        let mut engine = GpuEngine::new(&device, &queue, options)?;
        let mut meshes = RenderMeshes::new(&device, &queue, Default::default())?;
        let mut garments = Vec::new();
        for garment in [cape(&body)?, skirt(&body)?] {
            let cloth = engine.add(garment.cloth)?;
            garment.worn.follow(&body.pose(0.0), engine.cloth_mut(cloth)?)?;
            let drawn = meshes.add(&garment.render_mesh, engine.particle_range(cloth)?)?;
            garments.push((garment.worn, cloth, drawn));
        }

        let buffer = |contents: &[u8], usage| {
            device.create_buffer_init(&BufferInitDescriptor { label: None, contents, usage })
        };
        let (vertices, indices) = body_mesh(&body);
        let usage = BufferUsages::UNIFORM | BufferUsages::COPY_DST;
        let uniform = buffer(bytes_of(&Uniform::zeroed()), usage);
        let usage = TextureUsages::RENDER_ATTACHMENT | TextureUsages::TEXTURE_BINDING;
        let map = texture(&device, [MAP_SIZE; 2], 1, DEPTH, usage);
        let compare = device.create_sampler(&SamplerDescriptor {
            mag_filter: FilterMode::Linear,
            min_filter: FilterMode::Linear,
            compare: Some(CompareFunction::LessEqual),
            ..Default::default()
        });

        let scene_type = BindingType::Buffer {
            ty: BufferBindingType::Uniform,
            has_dynamic_offset: false,
            min_binding_size: None,
        };
        let map_type = BindingType::Texture {
            sample_type: TextureSampleType::Depth,
            view_dimension: TextureViewDimension::D2,
            multisampled: false,
        };
        let compare_type = BindingType::Sampler(SamplerBindingType::Comparison);
        let scene = (scene_type, uniform.as_entire_binding());
        let map_bindings = [
            (map_type, BindingResource::TextureView(&map)),
            (compare_type, BindingResource::Sampler(&compare)),
        ];
        let (scene_layout, scene_group) = bind_group(&device, [scene]);
        let (map_layout, map_group) = bind_group(&device, map_bindings);

        let module = &device.create_shader_module(include_wgsl!("scene.wgsl"));
        let targets = [Some(format.into())];
        let pipeline = |entry_point, fragment: Option<_>, buffers: &[_]| {
            let layouts = [Some(&scene_layout), Some(&map_layout)];
            // Pipelines without a fragment stage draw into the shadow map.
            let (count, slope_scale) = fragment.map_or((1, 2.0), |_| (SAMPLES, 0.0));
            let layout = device.create_pipeline_layout(&PipelineLayoutDescriptor {
                bind_group_layouts: &layouts[..1 + usize::from(fragment.is_some())],
                ..Default::default()
            });
            let is_ground = buffers.is_empty();
            let topology = if is_ground {
                PrimitiveTopology::TriangleStrip
            } else {
                PrimitiveTopology::TriangleList
            };
            device.create_render_pipeline(&RenderPipelineDescriptor {
                label: Some(entry_point),
                layout: Some(&layout),
                vertex: VertexState {
                    module,
                    entry_point: Some(entry_point),
                    compilation_options: Default::default(),
                    buffers,
                },
                primitive: PrimitiveState { topology, ..Default::default() },
                depth_stencil: Some(DepthStencilState {
                    format: DEPTH,
                    depth_write_enabled: Some(true),
                    depth_compare: Some(CompareFunction::Less),
                    stencil: Default::default(),
                    bias: DepthBiasState { slope_scale, ..Default::default() },
                }),
                multisample: MultisampleState { count, ..Default::default() },
                fragment: fragment.map(|entry_point| FragmentState {
                    module,
                    entry_point: Some(entry_point),
                    compilation_options: Default::default(),
                    targets: &targets,
                }),
                multiview_mask: None,
                cache: None,
            })
        };
        let body_layout = [Some(BodyVertex::LAYOUT)];
        let cloth_layout = [Some(RenderMeshes::VERTEX_LAYOUT)];
        let pipelines = Pipelines {
            ground: pipeline("ground", Some("shade_ground"), &[]),
            body: pipeline("body", Some("shade"), &body_layout),
            cloth: pipeline("cloth", Some("shade"), &cloth_layout),
            body_in_map: pipeline("body_in_map", None, &body_layout),
            cloth_in_map: pipeline("cloth_in_map", None, &cloth_layout),
        };
        Ok(Self {
            body_vertices: buffer(cast_slice(&vertices), BufferUsages::VERTEX),
            body_indices: buffer(cast_slice(&indices), BufferUsages::INDEX),
            device,
            queue,
            format,
            engine,
            meshes,
            garments,
            body,
            clock: FixedStep::default(),
            frames: 0,
            pipelines,
            uniform,
            scene_group,
            map_group,
            map,
            attachments: None,
        })
    }

    /// Simulates `seconds` and draws a picture of the size of the target.
    pub(crate) fn draw(&mut self, target: &TextureView, seconds: f64, camera: &Camera) -> Outcome {
        let steps = self.clock.advance(seconds);
        let mut encoder = self.device.create_command_encoder(&Default::default());
        let dt = f64::from(self.clock.dt());
        for _ in 0..steps.count {
            self.frames += 1;
            let pose = self.body.pose(self.frames as f64 * dt);
            for (worn, cloth, _) in &self.garments {
                worn.follow(&pose, self.engine.cloth_mut(*cloth)?)?;
            }
            self.meshes.encode_frame(&mut self.engine, &mut encoder, self.clock.dt())?;
        }
        self.meshes.encode(&mut encoder, self.engine.particle_buffer(), steps.alpha)?;
        // Interpolates the body between the same two frames as the cloths.
        let frame = (self.frames as f64 + f64::from(steps.alpha) - 1.0).max(0.0);
        let pose = self.body.pose(frame * dt);
        let Extent3d { width, height, .. } = target.texture().size();
        let uniform = Uniform::new(&pose, camera, width as f32 / height as f32);
        self.queue.write_buffer(&self.uniform, 0, bytes_of(&uniform));

        let depth_ops = Some(Operations { load: LoadOp::Clear(1.0), store: StoreOp::Store });
        let depth = |view| RenderPassDepthStencilAttachment { view, depth_ops, stencil_ops: None };
        let mut pass = encoder.begin_render_pass(&RenderPassDescriptor {
            depth_stencil_attachment: Some(depth(&self.map)),
            ..Default::default()
        });
        pass.set_bind_group(0, &self.scene_group, &[]);
        let Pipelines { body_in_map, cloth_in_map, .. } = &self.pipelines;
        self.draw_character(&mut pass, body_in_map, cloth_in_map)?;
        drop(pass);

        let attachments = self.attachments.take().filter(|views| {
            let Extent3d { width: old_width, height: old_height, .. } = views[0].texture().size();
            (old_width, old_height) == (width, height)
        });
        let [color, far] = self.attachments.insert(attachments.unwrap_or_else(|| {
            [self.format, DEPTH].map(|format| {
                let usage = TextureUsages::RENDER_ATTACHMENT;
                texture(&self.device, [width, height], SAMPLES, format, usage)
            })
        }));
        let mut pass = encoder.begin_render_pass(&RenderPassDescriptor {
            color_attachments: &[Some(RenderPassColorAttachment {
                view: color,
                depth_slice: None,
                resolve_target: Some(target),
                ops: Operations { load: LoadOp::Clear(BACKGROUND), store: StoreOp::Discard },
            })],
            depth_stencil_attachment: Some(depth(far)),
            ..Default::default()
        });
        pass.set_bind_group(0, &self.scene_group, &[]);
        pass.set_bind_group(1, &self.map_group, &[]);
        let Pipelines { ground, body, cloth, .. } = &self.pipelines;
        self.draw_character(&mut pass, body, cloth)?;
        pass.set_pipeline(ground);
        pass.draw(0..4, 0..1);
        drop(pass);
        self.queue.submit([encoder.finish()]);
        Ok(())
    }

    fn draw_character(
        &self,
        pass: &mut RenderPass<'_>,
        body: &RenderPipeline,
        cloth: &RenderPipeline,
    ) -> Outcome {
        pass.set_pipeline(body);
        pass.set_vertex_buffer(0, self.body_vertices.slice(..));
        pass.set_index_buffer(self.body_indices.slice(..), IndexFormat::Uint32);
        pass.draw_indexed(0..(self.body_indices.size() / 4) as u32, 0, 0..1);
        pass.set_pipeline(cloth);
        for (number, (_, _, drawn)) in (0..).zip(&self.garments) {
            self.meshes.draw(pass, *drawn, number..number + 1)?;
        }
        Ok(())
    }
}

impl Uniform {
    fn new(pose: &BodyPose, camera: &Camera, aspect: f32) -> Self {
        let center = Vec3::from(pose.root.translation);
        let target = center + vec3(0.0, 0.92, 0.0);
        let direction = Quat::from_rotation_y(camera.yaw) * Quat::from_rotation_x(-camera.pitch);
        let eye = target + direction * vec3(0.0, 0.0, camera.distance);
        let clip_from_eye = perspective(0.6, aspect, 0.1, 50.0);
        let sun = vec3(0.7, 0.8, -0.35).normalize();
        let map_from_sun = orthographic(-1.5, 1.5, -1.5, 1.5, 0.0, 6.0);
        let view = |from, to| look_at_mat4(from, to, Vec3::Y);
        Self {
            clip_from_world: (clip_from_eye * view(eye, target)).to_cols_array_2d(),
            map_from_world: (map_from_sun * view(target + 3.0 * sun, target)).to_cols_array_2d(),
            world_from_local: Mat4::from(pose.root).to_cols_array_2d(),
            eye: eye.extend(1.0).to_array(),
            sun: sun.extend(0.0).to_array(),
            center: center.extend(1.0).to_array(),
            bones: pose.bones.map(|bone| Mat4::from(bone).to_cols_array_2d()),
        }
    }
}

/// Creates a texture and returns a view of it.
pub(crate) fn texture(
    device: &Device,
    [width, height]: [u32; 2],
    sample_count: u32,
    format: TextureFormat,
    usage: TextureUsages,
) -> TextureView {
    let texture = device.create_texture(&TextureDescriptor {
        label: None,
        size: Extent3d { width, height, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count,
        dimension: TextureDimension::D2,
        format,
        usage,
        view_formats: &[],
    });
    texture.create_view(&Default::default())
}

/// Creates a bind group of these bindings, numbered from 0, with its layout.
fn bind_group<const N: usize>(
    device: &Device,
    bindings: [(BindingType, BindingResource<'_>); N],
) -> (BindGroupLayout, BindGroup) {
    let visibility = ShaderStages::VERTEX_FRAGMENT;
    let mut number = 0..;
    let entries = bindings.map(|(ty, resource)| {
        let binding = number.next().unwrap_or(u32::MAX);
        let layout = BindGroupLayoutEntry { binding, visibility, ty, count: None };
        (layout, BindGroupEntry { binding, resource })
    });
    let (label, layouts) = (None, entries.each_ref().map(|(layout, _)| *layout));
    let descriptor = BindGroupLayoutDescriptor { label, entries: &layouts };
    let layout = device.create_bind_group_layout(&descriptor);
    let entries = &entries.map(|(_, entry)| entry);
    let group = device.create_bind_group(&BindGroupDescriptor { label, layout: &layout, entries });
    (layout, group)
}
