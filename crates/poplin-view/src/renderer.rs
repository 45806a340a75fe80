//! Renderer into a texture: first the depth maps of the lights, then the picture.

use bytemuck::{Pod, Zeroable};
use glam::{Mat4, Vec3};
use poplin::gpu::DebugTarget;
use poplin::model::{ModelError, RenderVertex};

use crate::body::{Body, Instance, Kind};
use crate::lines::Lines;
use crate::pipelines::{DEPTH, Pipelines, SAMPLES, depth_state};
use crate::render_meshes::of_surface;
use crate::uniform::{LIGHTS, Surroundings, ViewUniform};
use crate::{Orbit, ViewError};

/// Side of the key light's depth map \[texels\].
const KEY_TEXELS: u32 = 1024;

/// Side of the depth map of a sky light \[texels\].
const SKY_TEXELS: u32 = 256;

/// Alignment of dynamic uniform offsets that every adapter supports \[bytes\].
const UNIFORM_ALIGNMENT: u64 = 256;

/// Shift of lines towards the eye, as a fraction of their distance.
const AHEAD: f32 = 0.002;

/// Number of rings of the ground mesh.
const GROUND_RINGS: u32 = 40;
/// Number of sectors of the ground mesh.
const GROUND_SECTORS: u32 = 64;

/// Dot in world space, hidden by bodies in front of it.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Dot {
    /// World position \[m\].
    pub(crate) position: [f32; 3],
    /// Radius in pixels.
    pub(crate) radius: f32,
    /// Linear colour and opacity.
    pub(crate) color: [f32; 4],
}

/// Contents of a picture.
#[derive(Debug)]
pub(crate) struct Picture<'a> {
    pub(crate) orbit: &'a Orbit,
    pub(crate) surroundings: &'a Surroundings,
    /// Width and height of the target in pixels.
    pub(crate) size: [u32; 2],
    /// Area of the target that shows the scene: left, top, width, height \[pixels\].
    pub(crate) area: [u32; 4],
    pub(crate) bodies: &'a [&'a Body],
    /// Strain with the strongest colour; 0 shows the colours of cloths.
    pub(crate) strain_limit: f32,
    pub(crate) dots: &'a [Dot],
}

/// Renderer of pictures.
#[derive(Debug)]
pub(crate) struct Renderer {
    device: wgpu::Device,
    queue: wgpu::Queue,
    format: wgpu::TextureFormat,
    pipelines: Pipelines,
    view: wgpu::Buffer,
    view_group: wgpu::BindGroup,
    map_view_group: wgpu::BindGroup,
    light_group: wgpu::BindGroup,
    /// Depth map of each light.
    maps: Vec<wgpu::TextureView>,
    instances: Rows,
    dots: Rows,
    ground: Body,
    targets: Option<Targets>,
}

/// Multisampled targets of one size, before the resolve.
#[derive(Debug)]
struct Targets {
    size: [u32; 2],
    color: wgpu::TextureView,
    depth: wgpu::TextureView,
}

/// Growing vertex buffer of rows that change every frame.
#[derive(Debug)]
struct Rows {
    label: &'static str,
    buffer: wgpu::Buffer,
}

impl Rows {
    fn new(device: &wgpu::Device, label: &'static str, size: u64) -> Self {
        let usage = wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::COPY_DST;
        let descriptor =
            wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false };
        Self { label, buffer: device.create_buffer(&descriptor) }
    }

    fn write<T: Pod>(&mut self, device: &wgpu::Device, queue: &wgpu::Queue, rows: &[T]) {
        let bytes: &[u8] = bytemuck::cast_slice(rows);
        if bytes.len() as u64 > self.buffer.size() {
            *self = Self::new(device, self.label, bytes.len().next_power_of_two() as u64);
        }
        queue.write_buffer(&self.buffer, 0, bytes);
    }
}

impl Renderer {
    /// Creates a renderer into textures of this sRGB format.
    pub(crate) fn new(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        format: wgpu::TextureFormat,
    ) -> Result<Self, ViewError> {
        let pipelines = Pipelines::new(device, format);
        let [key_map, sky_maps] = [(KEY_TEXELS, 1), (SKY_TEXELS, LIGHTS as u32 - 1)]
            .map(|(texels, layers)| depth_texture(device, [texels; 2], layers, 1));
        let layer = |texture: &wgpu::Texture, index| {
            texture.create_view(&wgpu::TextureViewDescriptor {
                dimension: Some(wgpu::TextureViewDimension::D2),
                base_array_layer: index,
                array_layer_count: Some(1),
                ..wgpu::TextureViewDescriptor::default()
            })
        };
        let mut maps = vec![layer(&key_map, 0)];
        maps.extend((0..LIGHTS as u32 - 1).map(|index| layer(&sky_maps, index)));
        let all_sky = sky_maps.create_view(&wgpu::TextureViewDescriptor {
            dimension: Some(wgpu::TextureViewDimension::D2Array),
            ..wgpu::TextureViewDescriptor::default()
        });
        let view = uniform_buffer(device, "poplin.view.view", size_of::<ViewUniform>() as u64);
        let lights =
            uniform_buffer(device, "poplin.view.lights", LIGHTS as u64 * UNIFORM_ALIGNMENT);
        for light in 0..LIGHTS as u32 {
            let number = [light, 0, 0, 0];
            let offset = u64::from(light) * UNIFORM_ALIGNMENT;
            queue.write_buffer(&lights, offset, bytemuck::cast_slice(&number));
        }
        let compare = device.create_sampler(&wgpu::SamplerDescriptor {
            label: Some("poplin.view.compare"),
            mag_filter: wgpu::FilterMode::Linear,
            min_filter: wgpu::FilterMode::Linear,
            compare: Some(wgpu::CompareFunction::LessEqual),
            ..wgpu::SamplerDescriptor::default()
        });
        let group = |layout: &wgpu::BindGroupLayout, resources: Vec<wgpu::BindingResource<'_>>| {
            let entries: Vec<_> = (0..)
                .zip(resources)
                .map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource })
                .collect();
            let label = Some("poplin.view");
            device.create_bind_group(&wgpu::BindGroupDescriptor {
                label,
                layout,
                entries: &entries,
            })
        };
        let view_group = group(
            &pipelines.view_layout,
            vec![
                view.as_entire_binding(),
                wgpu::BindingResource::TextureView(&maps[0]),
                wgpu::BindingResource::TextureView(&all_sky),
                wgpu::BindingResource::Sampler(&compare),
            ],
        );
        let map_view_group = group(&pipelines.map_view_layout, vec![view.as_entire_binding()]);
        let one_light =
            wgpu::BufferBinding { buffer: &lights, offset: 0, size: std::num::NonZeroU64::new(16) };
        let light_group =
            group(&pipelines.light_layout, vec![wgpu::BindingResource::Buffer(one_light)]);
        let (vertices, triangles) = ground_mesh()?;
        Ok(Self {
            device: device.clone(),
            queue: queue.clone(),
            format,
            pipelines,
            view,
            view_group,
            map_view_group,
            light_group,
            maps,
            instances: Rows::new(device, "poplin.view.instances", 4096),
            dots: Rows::new(device, "poplin.view.dots", 4096),
            ground: Body::new(device, &vertices, &triangles),
            targets: None,
        })
    }

    /// Returns the target description for lines over the cloths.
    pub(crate) fn line_target(&self) -> DebugTarget {
        let depth = Some(depth_state(true));
        DebugTarget { format: self.format, depth, sample_count: SAMPLES }
    }

    /// Records a picture into `target`, which has the size of the picture and the format of the
    /// renderer.
    ///
    /// # Errors
    /// [`ViewError`] if lines cannot be drawn; the rest is drawn anyway.
    pub(crate) fn draw(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        target: &wgpu::TextureView,
        picture: &Picture<'_>,
        lines: &mut Lines,
    ) -> Result<(), ViewError> {
        self.upload(picture);
        self.draw_maps(encoder, picture.bodies);
        let targets = match self.targets.take() {
            Some(targets) if targets.size == picture.size => targets,
            _ => Targets::new(&self.device, picture.size, self.format),
        };
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("poplin.view.picture"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: &targets.color,
                depth_slice: None,
                resolve_target: Some(target),
                ops: wgpu::Operations {
                    load: wgpu::LoadOp::Clear(wgpu::Color::WHITE),
                    store: wgpu::StoreOp::Discard,
                },
            })],
            depth_stencil_attachment: Some(cleared(&targets.depth, wgpu::StoreOp::Discard)),
            ..wgpu::RenderPassDescriptor::default()
        });
        let drawn = self.draw_picture(&mut pass, picture, lines);
        drop(pass);
        self.targets = Some(targets);
        drawn
    }

    /// Uploads the data of a frame. Instance 0 is the ground, then one per body.
    fn upload(&mut self, picture: &Picture<'_>) {
        let texels = [KEY_TEXELS, SKY_TEXELS];
        let Picture {
            orbit, surroundings, area: [_, _, width, height], strain_limit, bodies, ..
        } = *picture;
        let view = ViewUniform::new(orbit, surroundings, [width, height], strain_limit, texels);
        self.queue.write_buffer(&self.view, 0, bytemuck::bytes_of(&view));
        let ground = Mat4::from_translation(surroundings.ground().as_vec3())
            * Mat4::from_scale(Vec3::splat(surroundings.ground_radius() as f32));
        let mut instances = vec![Instance::new(ground, [Vec3::ONE; 2], Kind::Ground)];
        instances.extend(bodies.iter().map(|body| body.instance()));
        self.instances.write(&self.device, &self.queue, &instances);
        self.dots.write(&self.device, &self.queue, picture.dots);
    }

    /// Draws the depth map of each light.
    fn draw_maps(&self, encoder: &mut wgpu::CommandEncoder, bodies: &[&Body]) {
        for (index, map) in (0u32..).zip(&self.maps) {
            let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
                label: Some("poplin.view.map"),
                depth_stencil_attachment: Some(cleared(map, wgpu::StoreOp::Store)),
                ..wgpu::RenderPassDescriptor::default()
            });
            pass.set_pipeline(&self.pipelines.map);
            pass.set_bind_group(0, &self.map_view_group, &[]);
            pass.set_bind_group(1, &self.light_group, &[index * UNIFORM_ALIGNMENT as u32]);
            pass.set_vertex_buffer(2, self.instances.buffer.slice(..));
            for (instance, body) in (1..).zip(bodies) {
                pass.set_vertex_buffer(0, body.vertices.slice(..));
                pass.set_index_buffer(body.triangles.slice(..), wgpu::IndexFormat::Uint32);
                pass.draw_indexed(0..body.index_count, 0, instance..instance + 1);
            }
        }
    }

    fn draw_picture(
        &self,
        pass: &mut wgpu::RenderPass<'_>,
        picture: &Picture<'_>,
        lines: &mut Lines,
    ) -> Result<(), ViewError> {
        let [left, top, width, height] = picture.area.map(|it| it as f32);
        pass.set_viewport(left, top, width, height, 0.0, 1.0);
        pass.set_bind_group(0, &self.view_group, &[]);
        pass.set_pipeline(&self.pipelines.paper);
        pass.draw(0..3, 0..1);
        pass.set_vertex_buffer(2, self.instances.buffer.slice(..));
        pass.set_pipeline(&self.pipelines.ground);
        draw_body(pass, &self.ground, 0);
        pass.set_pipeline(&self.pipelines.surface);
        for (instance, body) in (1..).zip(picture.bodies) {
            draw_body(pass, body, instance);
        }
        let eye = picture.orbit.eye().as_vec3();
        // p -> eye A + p (1 - A): scales the scene towards the eye.
        let ahead =
            Mat4::from_translation(eye * AHEAD) * Mat4::from_scale(Vec3::splat(1.0 - AHEAD));
        let [_, _, width, height] = picture.area.map(f64::from);
        lines.draw(pass, picture.orbit.clip_from_world([width, height]) * ahead)?;
        if !picture.dots.is_empty() {
            pass.set_pipeline(&self.pipelines.dot);
            pass.set_vertex_buffer(0, self.dots.buffer.slice(..));
            pass.draw(0..4, 0..picture.dots.len() as u32);
        }
        Ok(())
    }
}

impl Targets {
    fn new(device: &wgpu::Device, size: [u32; 2], format: wgpu::TextureFormat) -> Self {
        let color = device.create_texture(&wgpu::TextureDescriptor {
            label: Some("poplin.view.samples"),
            size: extent(size, 1),
            mip_level_count: 1,
            sample_count: SAMPLES,
            dimension: wgpu::TextureDimension::D2,
            format,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT,
            view_formats: &[],
        });
        let depth = depth_texture(device, size, 1, SAMPLES);
        let [color, depth] = [color, depth].map(|texture| texture.create_view(&Default::default()));
        Self { size, color, depth }
    }
}

fn draw_body(pass: &mut wgpu::RenderPass<'_>, body: &Body, instance: u32) {
    pass.set_vertex_buffer(0, body.vertices.slice(..));
    pass.set_vertex_buffer(1, body.strains.slice(..));
    pass.set_index_buffer(body.triangles.slice(..), wgpu::IndexFormat::Uint32);
    pass.draw_indexed(0..body.index_count, 0, instance..instance + 1);
}

fn extent([width, height]: [u32; 2], layers: u32) -> wgpu::Extent3d {
    wgpu::Extent3d { width, height, depth_or_array_layers: layers }
}

fn depth_texture(
    device: &wgpu::Device,
    size: [u32; 2],
    layers: u32,
    samples: u32,
) -> wgpu::Texture {
    let attachment = wgpu::TextureUsages::RENDER_ATTACHMENT;
    let read = if samples == 1 { wgpu::TextureUsages::TEXTURE_BINDING } else { attachment };
    device.create_texture(&wgpu::TextureDescriptor {
        label: Some("poplin.view.depth"),
        size: extent(size, layers),
        mip_level_count: 1,
        sample_count: samples,
        dimension: wgpu::TextureDimension::D2,
        format: DEPTH,
        usage: attachment | read,
        view_formats: &[],
    })
}

fn cleared(
    view: &wgpu::TextureView,
    store: wgpu::StoreOp,
) -> wgpu::RenderPassDepthStencilAttachment<'_> {
    wgpu::RenderPassDepthStencilAttachment {
        view,
        depth_ops: Some(wgpu::Operations { load: wgpu::LoadOp::Clear(1.0), store }),
        stencil_ops: None,
    }
}

fn uniform_buffer(device: &wgpu::Device, label: &'static str, size: u64) -> wgpu::Buffer {
    let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
    let descriptor =
        wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false };
    device.create_buffer(&descriptor)
}

/// Returns a disc of radius 1 that faces up, finer near its center, where shadows fall.
fn ground_mesh() -> Result<(Vec<RenderVertex>, Vec<[u32; 3]>), ModelError> {
    let mut positions = Vec::new();
    let mut triangles = Vec::new();
    for ring in 0..=GROUND_RINGS {
        // Exponent above 1: rings are denser near the center.
        let radius = (ring as f32 / GROUND_RINGS as f32).powf(1.3);
        for sector in 0..GROUND_SECTORS {
            let angle = std::f32::consts::TAU * sector as f32 / GROUND_SECTORS as f32;
            positions.push([radius * angle.cos(), 0.0, radius * angle.sin()]);
        }
    }
    for ring in 0..GROUND_RINGS {
        for sector in 0..GROUND_SECTORS {
            let at = |ring: u32, sector: u32| ring * GROUND_SECTORS + sector % GROUND_SECTORS;
            let [a, b] = [at(ring, sector), at(ring, sector + 1)];
            let [c, d] = [at(ring + 1, sector + 1), at(ring + 1, sector)];
            triangles.extend([[a, b, c], [c, d, a]]);
        }
    }
    Ok((of_surface(&positions, &triangles)?, triangles))
}
