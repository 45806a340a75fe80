//! Renderer of a scene into a texture: first the shadow map of the key light, then the picture.

use bytemuck::{Pod, Zeroable};
use glam::camera::rh::proj::directx::orthographic;
use glam::camera::rh::view::look_to_mat4;
use glam::{DVec3, Mat4, Quat, Vec3};
use poplin::gpu::wgpu::util::DeviceExt;
use poplin::gpu::{RenderId, RenderMeshes, wgpu};
use poplin::model::{Pose, RenderVertex, Shape};
use poplin_picture::studio::{self, to_linear};
use poplin_picture::{Orbit, Surface, cloth_color};

use crate::{Scene, WebError};

/// Samples per pixel.
const SAMPLES: u32 = 4;

/// Side of the shadow map \[texels\].
const MAP_TEXELS: u32 = 2048;

const DEPTH: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;

/// Half side of the box that clips infinite colliders \[m\].
const REACH: f64 = 50.0;

/// Uniform `View` of the shader.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct ViewUniform {
    clip_from_world: Mat4,
    map_from_world: Mat4,
    eye: Vec3,
    wrap: f32,
    key_direction: Vec3,
    transmission: f32,
    fill_direction: Vec3,
    sheen: f32,
    key: Vec3,
    bounce: f32,
    fill: Vec3,
    texel: f32,
    sky: Vec3,
    grid_spacing: f32,
    floor: Vec3,
    line_width: f32,
    ground: Vec3,
    ground_radius: f32,
    grid_line: Vec3,
    shadow_fraction: f32,
    shadow: Vec3,
    solid_distance: f32,
    ground_center: Vec3,
    unused: f32,
}

/// Drawn object: rows of its matrix, colours of front and back.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Instance {
    rows: [[f32; 4]; 3],
    front: [f32; 4],
    back: [f32; 4],
}

const INSTANCE: [wgpu::VertexAttribute; 5] = wgpu::vertex_attr_array![
    4 => Float32x4, 5 => Float32x4, 6 => Float32x4, 7 => Float32x4, 8 => Float32x4
];

/// Vertex buffer slot of instances, after those of [`RenderMeshes::draw`].
const INSTANCE_SLOT: u32 = 3;

/// Collider mesh, in world space or in the local space of the cloth.
#[derive(Debug)]
struct Solid {
    vertices: wgpu::Buffer,
    indices: wgpu::Buffer,
    index_count: u32,
}

/// Ground and lights of a scene.
#[derive(Debug, Clone, Copy)]
struct Surroundings {
    center: Vec3,
    radius: f32,
    key_direction: Vec3,
    color: usize,
}

/// Contents of a picture.
#[derive(Debug)]
pub(crate) struct Picture<'a> {
    pub(crate) orbit: &'a Orbit,
    /// Width and height \[pixels\].
    pub(crate) size: [u32; 2],
    pub(crate) meshes: &'a RenderMeshes,
    pub(crate) cloth: RenderId,
    pub(crate) world_from_cloth: Pose,
}

/// Renderer of pictures.
#[derive(Debug)]
pub(crate) struct Renderer {
    device: wgpu::Device,
    queue: wgpu::Queue,
    format: wgpu::TextureFormat,
    /// Bind group of only the view, for drawing the shadow map.
    map: wgpu::RenderPipeline,
    map_group: wgpu::BindGroup,
    surface: wgpu::RenderPipeline,
    ground: wgpu::RenderPipeline,
    group: wgpu::BindGroup,
    shadow_map: wgpu::TextureView,
    view: wgpu::Buffer,
    instances: wgpu::Buffer,
    /// Solids in world space, and in the local space of the cloth.
    solids: [Solid; 2],
    surroundings: Surroundings,
    targets: Option<Targets>,
}

/// Multisampled targets of one size, before the resolve.
#[derive(Debug)]
struct Targets {
    size: [u32; 2],
    color: wgpu::TextureView,
    depth: wgpu::TextureView,
}

impl Renderer {
    /// Creates a renderer into textures of this sRGB format.
    pub(crate) fn new(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        format: wgpu::TextureFormat,
    ) -> Self {
        let shadow_map = texture(device, DEPTH, [MAP_TEXELS; 2], 1);
        let compare = device.create_sampler(&wgpu::SamplerDescriptor {
            label: Some("poplin.web.compare"),
            mag_filter: wgpu::FilterMode::Linear,
            min_filter: wgpu::FilterMode::Linear,
            compare: Some(wgpu::CompareFunction::LessEqual),
            ..Default::default()
        });
        let buffer = |label, size, usage| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size,
                usage: usage | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        };
        let view =
            buffer("poplin.web.view", size_of::<ViewUniform>() as u64, wgpu::BufferUsages::UNIFORM);
        let instances = buffer(
            "poplin.web.instances",
            3 * size_of::<Instance>() as u64,
            wgpu::BufferUsages::VERTEX,
        );
        let module = device.create_shader_module(wgpu::include_wgsl!("renderer.wgsl"));
        let pipeline = |entries, is_deep| pipeline(device, &module, format, entries, is_deep);
        let map = pipeline(("place_in_map", None), true);
        let surface = pipeline(("place_vertex", Some("shade")), true);
        let ground = pipeline(("place_ground", Some("shade_ground")), false);
        let resources = [
            view.as_entire_binding(),
            wgpu::BindingResource::TextureView(&shadow_map),
            wgpu::BindingResource::Sampler(&compare),
        ];
        let entries: Vec<_> = (0..)
            .zip(resources)
            .map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource })
            .collect();
        let group = |layout: &wgpu::BindGroupLayout, entries: &[wgpu::BindGroupEntry<'_>]| {
            let label = Some("poplin.web.group");
            device.create_bind_group(&wgpu::BindGroupDescriptor { label, layout, entries })
        };
        let none = || Solid::new(device, &[]);
        Self {
            map_group: group(&map.layout, &entries[..1]),
            group: group(&surface.layout, &entries),
            map: map.pipeline,
            surface: surface.pipeline,
            ground: ground.pipeline,
            solids: [none(), none()],
            surroundings: Surroundings {
                center: Vec3::ZERO,
                radius: 1.0,
                key_direction: Vec3::Y,
                color: 0,
            },
            targets: None,
            device: device.clone(),
            queue: queue.clone(),
            format,
            shadow_map,
            view,
            instances,
        }
    }

    /// Uploads the solids of a scene and positions its light relative to `first_look`; the light
    /// does not follow the camera later.
    pub(crate) fn set_scene(&mut self, scene: &Scene, first_look: &Orbit) {
        let body: Vec<_> =
            scene.cloth.colliders.iter().map(|(_, collider)| collider.shape.clone()).collect();
        self.solids = [&scene.shapes, &body].map(|shapes| Solid::new(&self.device, shapes));
        let [low, high] = scene.framed.map(DVec3::from);
        let [right, up, ahead] = first_look.axes();
        let [x, y, z] = studio::KEY_DIRECTION.to_array();
        self.surroundings = Surroundings {
            center: ((low + high) * 0.5).as_vec3(),
            radius: ((high - low).length() * 0.5) as f32,
            key_direction: (right * x + up * y + ahead * z).normalize().as_vec3(),
            color: scene.color,
        };
    }

    /// Records a picture into `target`, which has the size of the picture and the format of the
    /// renderer.
    pub(crate) fn draw(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        target: &wgpu::TextureView,
        picture: &Picture<'_>,
    ) -> Result<(), WebError> {
        self.upload(picture);
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("poplin.web.map"),
            depth_stencil_attachment: Some(cleared(&self.shadow_map)),
            ..Default::default()
        });
        pass.set_pipeline(&self.map);
        pass.set_bind_group(0, &self.map_group, &[]);
        self.draw_bodies(&mut pass, picture)?;
        drop(pass);

        let targets = match self.targets.take() {
            Some(targets) if targets.size == picture.size => targets,
            _ => Targets::new(&self.device, picture.size, self.format),
        };
        let [r, g, b] = to_linear(studio::PAPER_TOP).to_array().map(f64::from);
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("poplin.web.picture"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: &targets.color,
                depth_slice: None,
                resolve_target: Some(target),
                ops: wgpu::Operations {
                    load: wgpu::LoadOp::Clear(wgpu::Color { r, g, b, a: 1.0 }),
                    store: wgpu::StoreOp::Discard,
                },
            })],
            depth_stencil_attachment: Some(cleared(&targets.depth)),
            ..Default::default()
        });
        pass.set_bind_group(0, &self.group, &[]);
        pass.set_pipeline(&self.ground);
        pass.draw(0..4, 0..1);
        pass.set_pipeline(&self.surface);
        self.draw_bodies(&mut pass, picture)?;
        drop(pass);
        self.targets = Some(targets);
        Ok(())
    }

    /// Draws the cloth (instance 0) and the solids.
    fn draw_bodies(
        &self,
        pass: &mut wgpu::RenderPass<'_>,
        picture: &Picture<'_>,
    ) -> Result<(), WebError> {
        pass.set_vertex_buffer(INSTANCE_SLOT, self.instances.slice(..));
        picture.meshes.draw(pass, picture.cloth, 0..1)?;
        for (instance, solid) in (1..).zip(&self.solids).filter(|(_, solid)| solid.index_count > 0)
        {
            pass.set_vertex_buffer(0, solid.vertices.slice(..));
            pass.set_index_buffer(solid.indices.slice(..), wgpu::IndexFormat::Uint32);
            pass.draw_indexed(0..solid.index_count, 0, instance..instance + 1);
        }
        Ok(())
    }

    fn upload(&self, picture: &Picture<'_>) {
        let Surroundings { center, radius, key_direction, color } = self.surroundings;
        let size = picture.size.map(f64::from);
        let [right, up, ahead] = picture.orbit.axes().map(DVec3::as_vec3);
        let fill = studio::FILL_DIRECTION.normalize();
        let (across, _) = key_direction.any_orthonormal_pair();
        // The light is wide enough that dragged cloth keeps its shadow.
        let reach = 1.5 * radius;
        let ground_radius = radius * studio::GROUND_RADIUS as f32;
        let spacing = studio::round_length(f64::from(ground_radius) / studio::LINES_PER_RADIUS);
        let view = ViewUniform {
            clip_from_world: picture.orbit.clip_from_world(size),
            map_from_world: orthographic(-reach, reach, -reach, reach, -reach, reach)
                * look_to_mat4(center, -key_direction, across),
            eye: picture.orbit.eye().as_vec3(),
            wrap: studio::WRAP,
            key_direction,
            transmission: studio::TRANSMISSION,
            fill_direction: right * fill.x + up * fill.y + ahead * fill.z,
            sheen: studio::SHEEN,
            key: studio::KEY,
            bounce: studio::BOUNCE,
            fill: studio::FILL,
            texel: 2.0 * reach / MAP_TEXELS as f32,
            sky: studio::SKY,
            grid_spacing: spacing as f32,
            floor: studio::FLOOR,
            line_width: studio::LINE_WIDTH as f32,
            ground: to_linear(studio::GROUND),
            ground_radius,
            grid_line: to_linear(studio::GRID_LINE),
            shadow_fraction: studio::SHADOW_FRACTION,
            shadow: to_linear(studio::SHADOW),
            solid_distance: studio::SOLID_DISTANCE as f32,
            ground_center: center.with_y(0.0),
            unused: 0.0,
        };
        self.queue.write_buffer(&self.view, 0, bytemuck::bytes_of(&view));
        let [cloth, solid] = [cloth_color(color), studio::SOLID].map(studio::sides);
        let instances = [
            Instance::new(picture.world_from_cloth, cloth, 0.0),
            Instance::new(Pose::default(), solid, 1.0),
            Instance::new(picture.world_from_cloth, solid, 1.0),
        ];
        self.queue.write_buffer(&self.instances, 0, bytemuck::cast_slice(&instances));
    }
}

impl Instance {
    fn new(pose: Pose, [front, back]: [Vec3; 2], is_solid: f32) -> Self {
        let rotation = Quat::from_array(pose.rotation).normalize();
        let matrix = Mat4::from_rotation_translation(rotation, Vec3::from(pose.translation));
        let rows = matrix.transpose();
        Self {
            rows: [rows.x_axis, rows.y_axis, rows.z_axis].map(|row| row.to_array()),
            front: front.extend(is_solid).to_array(),
            back: back.extend(0.0).to_array(),
        }
    }
}

impl Solid {
    fn new(device: &wgpu::Device, shapes: &[Shape]) -> Self {
        let (surface, _) = studio::collider_surface(shapes, [[-REACH; 3], [REACH; 3]]);
        let normals = surface.normals();
        let Surface { positions, triangles, .. } = surface;
        let vertex = |(&[x, y, z], normal): (&[f32; 3], DVec3)| RenderVertex {
            position: [x, y, z, 1.0],
            normal: normal.as_vec3().extend(0.0).to_array(),
        };
        let vertices: Vec<_> = positions.iter().zip(normals).map(vertex).collect();
        let buffer = |contents: &[u8], usage| {
            // Browsers reject empty vertex buffers.
            let contents = if contents.is_empty() { &[0; 32] } else { contents };
            let label = Some("poplin.web.solid");
            device.create_buffer_init(&wgpu::util::BufferInitDescriptor { label, contents, usage })
        };
        let indices = bytemuck::cast_slice(triangles.as_flattened());
        Self {
            vertices: buffer(bytemuck::cast_slice(&vertices), wgpu::BufferUsages::VERTEX),
            indices: buffer(indices, wgpu::BufferUsages::INDEX),
            index_count: triangles.len() as u32 * 3,
        }
    }
}

impl Targets {
    fn new(device: &wgpu::Device, size: [u32; 2], format: wgpu::TextureFormat) -> Self {
        let [color, depth] = [format, DEPTH].map(|format| texture(device, format, size, SAMPLES));
        Self { size, color, depth }
    }
}

fn texture(
    device: &wgpu::Device,
    format: wgpu::TextureFormat,
    [width, height]: [u32; 2],
    sample_count: u32,
) -> wgpu::TextureView {
    let attachment = wgpu::TextureUsages::RENDER_ATTACHMENT;
    let read = if sample_count == 1 { wgpu::TextureUsages::TEXTURE_BINDING } else { attachment };
    let texture = device.create_texture(&wgpu::TextureDescriptor {
        label: Some("poplin.web.target"),
        size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage: attachment | read,
        view_formats: &[],
    });
    texture.create_view(&Default::default())
}

fn cleared(view: &wgpu::TextureView) -> wgpu::RenderPassDepthStencilAttachment<'_> {
    let depth_ops =
        Some(wgpu::Operations { load: wgpu::LoadOp::Clear(1.0), store: wgpu::StoreOp::Store });
    wgpu::RenderPassDepthStencilAttachment { view, depth_ops, stencil_ops: None }
}

/// Pipeline with the layout of its bind group.
struct Laid {
    pipeline: wgpu::RenderPipeline,
    layout: wgpu::BindGroupLayout,
}

/// Creates a pipeline of two entry points. Without a fragment entry it draws only depth and binds
/// only the view. Without depth test it draws the background.
fn pipeline(
    device: &wgpu::Device,
    module: &wgpu::ShaderModule,
    format: wgpu::TextureFormat,
    (vertex, fragment): (&str, Option<&str>),
    is_deep: bool,
) -> Laid {
    let stages = wgpu::ShaderStages::VERTEX_FRAGMENT;
    let types = [
        wgpu::BindingType::Buffer {
            ty: wgpu::BufferBindingType::Uniform,
            has_dynamic_offset: false,
            min_binding_size: None,
        },
        wgpu::BindingType::Texture {
            sample_type: wgpu::TextureSampleType::Depth,
            view_dimension: wgpu::TextureViewDimension::D2,
            multisampled: false,
        },
        wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Comparison),
    ];
    let count = if fragment.is_some() { types.len() } else { 1 };
    let entries: Vec<_> = (0..)
        .zip(types)
        .take(count)
        .map(|(binding, ty)| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: stages,
            ty,
            count: None,
        })
        .collect();
    let label = Some("poplin.web");
    let layout = device
        .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label, entries: &entries });
    let whole = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label,
        bind_group_layouts: &[Some(&layout)],
        immediate_size: 0,
    });
    let instance = wgpu::VertexBufferLayout {
        array_stride: size_of::<Instance>() as u64,
        step_mode: wgpu::VertexStepMode::Instance,
        attributes: &INSTANCE,
    };
    let buffers = [Some(RenderMeshes::VERTEX_LAYOUT), None, None, Some(instance)];
    let targets = [Some(wgpu::ColorTargetState {
        format,
        blend: Some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING),
        write_mask: wgpu::ColorWrites::ALL,
    })];
    let (topology, buffers) = if is_deep {
        (wgpu::PrimitiveTopology::TriangleList, buffers.as_slice())
    } else {
        (wgpu::PrimitiveTopology::TriangleStrip, [].as_slice())
    };
    let compare =
        if is_deep { wgpu::CompareFunction::LessEqual } else { wgpu::CompareFunction::Always };
    let pipeline = device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some(vertex),
        layout: Some(&whole),
        vertex: wgpu::VertexState {
            module,
            entry_point: Some(vertex),
            compilation_options: Default::default(),
            buffers,
        },
        primitive: wgpu::PrimitiveState { topology, ..Default::default() },
        depth_stencil: Some(wgpu::DepthStencilState {
            format: DEPTH,
            depth_write_enabled: Some(is_deep),
            depth_compare: Some(compare),
            stencil: Default::default(),
            bias: Default::default(),
        }),
        multisample: wgpu::MultisampleState {
            count: if fragment.is_some() { SAMPLES } else { 1 },
            ..Default::default()
        },
        fragment: fragment.map(|entry| wgpu::FragmentState {
            module,
            entry_point: Some(entry),
            compilation_options: Default::default(),
            targets: &targets,
        }),
        multiview_mask: None,
        cache: None,
    });
    Laid { pipeline, layout }
}
