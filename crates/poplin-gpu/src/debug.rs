//! Debug lines that show the structure of a cloth, drawn directly from its particles.

use bytemuck::{Zeroable, bytes_of, cast_slice};
use glam::{Mat3, Quat, Vec3};
use poplin_layout::{DebugLine, DebugParameters, NO_OFFSET};
use poplin_model::{ColliderSet, Fabric, Parallelepiped, Particle, Pose, Shape, Sphere};
use poplin_shaders::compose;

use crate::Error;
use crate::growable::GrowableBuffer;

/// Number of segments of a circle.
const CIRCLE: usize = 24;

/// Opaque colours with high contrast, used in turn for fiber sets.
const PALETTE: [[u8; 4]; 10] = [
    [230, 25, 75, 255],
    [60, 180, 75, 255],
    [255, 225, 25, 255],
    [0, 130, 200, 255],
    [245, 130, 48, 255],
    [145, 30, 180, 255],
    [70, 240, 240, 255],
    [240, 50, 230, 255],
    [170, 255, 195, 255],
    [170, 110, 40, 255],
];

/// Lines in the local space of a cloth: between its particles, relative to them, or at fixed
/// points. Lines between particles follow their motion without being rebuilt.
#[derive(Debug, Clone, Default)]
pub struct DebugLines {
    lines: Vec<DebugLine>,
}

impl DebugLines {
    /// Creates an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of lines.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// True if there are no lines.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Adds a line between two points \[m\]. Colours are red, green, blue, opacity.
    pub fn line(&mut self, [from, to]: [[f32; 3]; 2], colour: [u8; 4]) -> &mut Self {
        self.push([from, to], [NO_OFFSET; 2], colour, 0.0)
    }

    /// Adds the edges of a fabric, one colour per fiber set: fibers of a set share no particle, so
    /// all of them are solved at once.
    pub fn fibers(&mut self, fabric: &Fabric) -> &mut Self {
        for (set, colour) in (0..fabric.set_count()).zip(PALETTE.iter().cycle()) {
            for fiber in fabric.fibers_of_set(set) {
                for pair in fabric.fiber_vertices(fiber).windows(2) {
                    self.between([pair[0], pair[1]], *colour);
                }
            }
        }
        self
    }

    /// Adds the stretch edges of a fabric, coloured by strain: blue if compressed, grey at rest,
    /// then yellow, and red at [`DebugView::strain_limit`] or more.
    pub fn strain(&mut self, fabric: &Fabric) -> &mut Self {
        let kinds = fabric.edge_kinds();
        for ((edge, ends), rest) in fabric.edges().zip(&fabric.rest_lengths) {
            if kinds[edge].is_stretch() && *rest > 0.0 {
                self.push([[0.0; 3]; 2], ends, [255; 4], *rest);
            }
        }
        self
    }

    /// Adds a cross of this size \[m\] at every pinned particle.
    pub fn pins(&mut self, particles: &[Particle], size: f32, colour: [u8; 4]) -> &mut Self {
        for (particle, _) in (0..).zip(particles).filter(|(_, particle)| particle.is_pinned()) {
            for axis in [Vec3::X, Vec3::Y, Vec3::Z] {
                let half = axis * (0.5 * size);
                self.push([(-half).to_array(), half.to_array()], [particle; 2], colour, 0.0);
            }
        }
        self
    }

    /// Adds a line from every particle to each of its tether anchors.
    pub fn tethers(&mut self, fabric: &Fabric, colour: [u8; 4]) -> &mut Self {
        let count = fabric.particle_count;
        for (index, &anchor) in (0..).zip(&fabric.tether_anchors) {
            // Anchors are stored as one list of all particles per tether.
            let particle = index % count.max(1);
            if anchor != particle && anchor < count {
                self.between([particle, anchor], colour);
            }
        }
        self
    }

    /// Adds a line of this length \[m\] along the normal of every triangle, from its centroid, as
    /// of the time of drawing.
    pub fn normals(&mut self, triangles: &[[u32; 3]], length: f32, colour: [u8; 4]) -> &mut Self {
        self.lines.extend(triangles.iter().map(|&[a, b, third_particle]| DebugLine {
            start_particle: a,
            end_particle: b,
            third_particle,
            normal_length: length,
            ..line(colour)
        }));
        self
    }

    /// Adds a line from each particle along a vector \[m\] of the cloth's local space, for example
    /// a contact normal, a velocity or a push.
    pub fn vectors(
        &mut self,
        vectors: impl IntoIterator<Item = (u32, [f32; 3])>,
        colour: [u8; 4],
    ) -> &mut Self {
        for (particle, vector) in vectors {
            self.push([[0.0; 3], vector], [particle; 2], colour, 0.0);
        }
        self
    }

    /// Adds three circles around each sphere, for example those of
    /// [`poplin_host::Cloth::set_motion_spheres`].
    pub fn spheres(&mut self, spheres: &[Sphere], colour: [u8; 4]) -> &mut Self {
        for sphere in spheres {
            self.circles(sphere, colour);
        }
        self
    }

    /// Adds the outlines of colliders: circles and lines of spheres and capsules, a grid of one
    /// square metre for each plane, also of a convex shape, and the edges of boxes and meshes.
    pub fn colliders(&mut self, colliders: &ColliderSet, colour: [u8; 4]) -> &mut Self {
        for (_, collider) in colliders.iter() {
            self.shape(&collider.shape, collider.pose, colour);
        }
        self
    }

    fn shape(&mut self, shape: &Shape, pose: Pose, colour: [u8; 4]) {
        let rotation = Quat::from_array(pose.rotation);
        let at = |point: [f32; 3]| rotation * Vec3::from(point) + Vec3::from(pose.translation);
        let mut line = |ends: [Vec3; 2]| {
            self.line(ends.map(|end| end.to_array()), colour);
        };
        match shape {
            Shape::Sphere(sphere) => {
                let center = at(sphere.center).to_array();
                self.circles(&Sphere { center, ..*sphere }, colour);
            }
            Shape::Capsule(capsule) => {
                let [a, b] = capsule.ends.map(|end| at(end.center));
                let radii = capsule.ends.map(|end| end.radius);
                // Four lines along the capsule, at right angles around its axis.
                let (u, v) = (b - a).normalize_or(Vec3::Y).any_orthonormal_pair();
                for side in [u, -u, v, -v] {
                    line([a + side * radii[0], b + side * radii[1]]);
                }
                for (center, radius) in [a, b].into_iter().zip(radii) {
                    self.circles(&Sphere { center: center.to_array(), radius }, colour);
                }
            }
            Shape::Plane(plane) => {
                let normal = rotation * Vec3::from(plane.normal);
                // Point of the plane nearest to the origin of the pose.
                let foot = at((Vec3::from(plane.normal) * plane.offset).to_array());
                let (u, v) = normal.normalize_or(Vec3::Y).any_orthonormal_pair();
                for k in -2..=2 {
                    let shift = 0.25 * k as f32;
                    line([foot + u * shift - v * 0.5, foot + u * shift + v * 0.5]);
                    line([foot + v * shift - u * 0.5, foot + v * shift + u * 0.5]);
                }
            }
            Shape::Convex(planes) => {
                for plane in planes.iter() {
                    self.shape(&Shape::Plane(*plane), pose, colour);
                }
            }
            Shape::Parallelepiped(Parallelepiped { corner, edges }) => {
                let edges = Mat3::from_cols_array_2d(edges);
                let corner = Vec3::from(*corner);
                for axis in 0..3 {
                    for k in 0..4 {
                        let mut parts = Vec3::ZERO;
                        // Four parallel edges per axis, one from each corner of the opposite face.
                        parts[(axis + 1) % 3] = (k & 1) as f32;
                        parts[(axis + 2) % 3] = (k >> 1) as f32;
                        let from = corner + edges * parts;
                        line([from, from + edges.col(axis)].map(|end| at(end.to_array())));
                    }
                }
            }
            _ => {
                let mesh = shape.mesh().unwrap_or_default();
                for [a, b, c] in mesh.triangles.iter() {
                    for ends in [[a, b], [b, c], [c, a]] {
                        let [Some(from), Some(to)] =
                            ends.map(|&end| mesh.vertices.get(end as usize))
                        else {
                            continue;
                        };
                        line([at(*from), at(*to)]);
                    }
                }
            }
        }
    }

    fn circles(&mut self, sphere: &Sphere, colour: [u8; 4]) {
        let center = Vec3::from(sphere.center);
        for (u, v) in [(Vec3::X, Vec3::Y), (Vec3::Y, Vec3::Z), (Vec3::Z, Vec3::X)] {
            let at = |k: usize| {
                let (sine, cosine) = (std::f32::consts::TAU * k as f32 / CIRCLE as f32).sin_cos();
                (center + (u * cosine + v * sine) * sphere.radius).to_array()
            };
            for k in 0..CIRCLE {
                self.line([at(k), at(k + 1)], colour);
            }
        }
    }

    fn between(&mut self, ends: [u32; 2], colour: [u8; 4]) {
        self.push([[0.0; 3]; 2], ends, colour, 0.0);
    }

    fn push(
        &mut self,
        [[a, b, c], [d, e, f]]: [[f32; 3]; 2],
        [start_particle, end_particle]: [u32; 2],
        colour: [u8; 4],
        rest_length: f32,
    ) -> &mut Self {
        self.lines.push(DebugLine {
            start: [a, b, c, 0.0],
            end: [d, e, f, 0.0],
            start_particle,
            end_particle,
            rest_length,
            ..line(colour)
        });
        self
    }
}

/// Line without particles at the origin.
fn line(colour: [u8; 4]) -> DebugLine {
    DebugLine {
        start_particle: NO_OFFSET,
        end_particle: NO_OFFSET,
        colour: u32::from_le_bytes(colour),
        third_particle: NO_OFFSET,
        ..DebugLine::zeroed()
    }
}

/// Render target of a [`DebugPass`].
#[derive(Debug, Clone)]
pub struct DebugTarget {
    /// Format of the colour attachment, which must accept float output.
    pub format: wgpu::TextureFormat,
    /// Format and comparison of the depth attachment; `None` for a pass without one.
    pub depth: Option<wgpu::DepthStencilState>,
    /// Sample count of both attachments.
    pub sample_count: u32,
}

/// View for drawing debug lines.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DebugView {
    /// Transform from the local space of the cloth to clip space, column by column.
    pub clip_from_local: [[f32; 4]; 4],
    /// First particle of the cloth in the buffer of particles,
    /// [`crate::GpuEngine::particle_range`].
    pub particle_begin: u32,
    /// Strain that is drawn red, above 0: 0.05 is 5 %.
    pub strain_limit: f32,
}

/// Debug lines on the device.
#[derive(Debug)]
pub struct DebugList {
    lines: GrowableBuffer,
    line_count: u32,
    /// Number of particles that the lines need.
    particle_end: u32,
    uniform: wgpu::Buffer,
    bind_group: Option<(wgpu::Buffer, wgpu::BindGroup)>,
}

/// Draws [`DebugLines`] into a render pass of the application.
#[derive(Debug)]
pub struct DebugPass {
    device: wgpu::Device,
    queue: wgpu::Queue,
    layout: wgpu::BindGroupLayout,
    pipeline: wgpu::RenderPipeline,
}

impl DebugPass {
    /// Creates a pass for targets of this kind.
    ///
    /// # Errors
    /// [`Error::Target`] if this device cannot draw into such a target.
    pub fn new(
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        target: &DebugTarget,
    ) -> Result<Self, Error> {
        check_target(device, target)?;
        let text = compose("draw/debug_lines")
            .expect("the embedded shaders compose; a test checks it")
            .text;
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("poplin.debug"),
            source: wgpu::ShaderSource::Wgsl(text.into()),
        });
        let entry = |binding: u32, ty: wgpu::BufferBindingType| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::VERTEX,
            ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
            count: None,
        };
        let storage = wgpu::BufferBindingType::Storage { read_only: true };
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("poplin.debug.layout"),
            entries: &[
                entry(0, wgpu::BufferBindingType::Uniform),
                entry(1, storage),
                entry(2, storage),
            ],
        });
        let whole =
            crate::pipelines::pipeline_layout(device, "poplin.debug.pipeline_layout", &layout);
        let pipeline = device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: Some("poplin.debug"),
            layout: Some(&whole),
            vertex: wgpu::VertexState {
                module: &module,
                entry_point: Some("debug_line"),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                buffers: &[],
            },
            primitive: wgpu::PrimitiveState {
                topology: wgpu::PrimitiveTopology::LineList,
                ..wgpu::PrimitiveState::default()
            },
            depth_stencil: target.depth.clone(),
            multisample: wgpu::MultisampleState {
                count: target.sample_count,
                ..wgpu::MultisampleState::default()
            },
            fragment: Some(wgpu::FragmentState {
                module: &module,
                entry_point: Some("debug_colour"),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                targets: &[Some(target.format.into())],
            }),
            multiview_mask: None,
            cache: None,
        });
        Ok(Self { device: device.clone(), queue: queue.clone(), layout, pipeline })
    }

    /// Creates an empty list on the device.
    pub fn list(&self) -> DebugList {
        DebugList {
            lines: GrowableBuffer::new(
                &self.device,
                "poplin.debug.lines",
                wgpu::BufferUsages::STORAGE,
            ),
            line_count: 0,
            particle_end: 0,
            uniform: self.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("poplin.debug.parameters"),
                size: size_of::<DebugParameters>() as u64,
                usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            }),
            bind_group: None,
        }
    }

    /// Replaces the lines of a list, before the next submission.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the device cannot bind so long a list; the list keeps its lines.
    pub fn set(&self, list: &mut DebugList, lines: &DebugLines) -> Result<(), Error> {
        if list.lines.upload(&self.device, &self.queue, cast_slice(&lines.lines))? {
            list.bind_group = None;
        }
        list.line_count = lines.lines.len() as u32;
        let particles = lines
            .lines
            .iter()
            .flat_map(|line| [line.start_particle, line.end_particle, line.third_particle]);
        // Lines at fixed points need no particle.
        let ends = particles.filter(|&particle| particle != NO_OFFSET).map(|particle| particle + 1);
        list.particle_end = ends.max().unwrap_or(0);
        Ok(())
    }

    /// Draws the lines of a list with a buffer of particles, [`crate::GpuEngine::particle_buffer`].
    /// Draw each list once per submission, as its uniform is overwritten.
    ///
    /// # Errors
    /// [`Error::ShortBuffer`] if the buffer does not hold the particles of the lines; nothing is
    /// drawn.
    pub fn draw(
        &self,
        pass: &mut wgpu::RenderPass<'_>,
        list: &mut DebugList,
        particles: &wgpu::Buffer,
        view: &DebugView,
    ) -> Result<(), Error> {
        if list.line_count == 0 {
            return Ok(());
        }
        let needed = 16 * (u64::from(view.particle_begin) + u64::from(list.particle_end));
        if particles.size() < needed {
            let (buffer, bytes) = ("the buffer of particles", particles.size());
            return Err(Error::ShortBuffer { buffer, bytes, needed });
        }
        let [clip_x, clip_y, clip_z, clip_w] = view.clip_from_local;
        let parameters = DebugParameters {
            clip_x,
            clip_y,
            clip_z,
            clip_w,
            particle_begin: view.particle_begin,
            // The shader divides by it.
            strain_limit: view.strain_limit.max(f32::MIN_POSITIVE),
            ..DebugParameters::zeroed()
        };
        self.queue.write_buffer(&list.uniform, 0, bytes_of(&parameters));
        if list.bind_group.as_ref().is_none_or(|(bound, _)| bound != particles) {
            let group = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("poplin.debug.bind_group"),
                layout: &self.layout,
                entries: &[
                    wgpu::BindGroupEntry { binding: 0, resource: list.uniform.as_entire_binding() },
                    wgpu::BindGroupEntry {
                        binding: 1,
                        resource: list.lines.buffer().as_entire_binding(),
                    },
                    wgpu::BindGroupEntry { binding: 2, resource: particles.as_entire_binding() },
                ],
            });
            list.bind_group = Some((particles.clone(), group));
        }
        if let Some((_, group)) = &list.bind_group {
            pass.set_pipeline(&self.pipeline);
            pass.set_bind_group(0, group, &[]);
            pass.draw(0..2, 0..list.line_count);
        }
        Ok(())
    }
}

fn check_target(device: &wgpu::Device, target: &DebugTarget) -> Result<(), Error> {
    let refuse = |format: wgpu::TextureFormat, why: &'static str| {
        let format = format!("{format:?}");
        Err(Error::Target { format, sample_count: target.sample_count, why })
    };
    let format = target.format;
    let is_float = matches!(
        format.sample_type(None, Some(device.features())),
        Some(wgpu::TextureSampleType::Float { .. })
    );
    if !is_float {
        return refuse(format, "the format does not accept float output");
    }
    let depth = target.depth.as_ref().map(|depth| depth.format);
    for format in [Some(format), depth].into_iter().flatten() {
        let features = format.guaranteed_format_features(device.features());
        if !features.allowed_usages.contains(wgpu::TextureUsages::RENDER_ATTACHMENT) {
            return refuse(format, "this device cannot render to the format");
        }
        if !features.flags.sample_count_supported(target.sample_count) {
            return refuse(format, "this device does not support the sample count for the format");
        }
    }
    match depth {
        Some(depth) if !depth.is_depth_stencil_format() => refuse(depth, "the format has no depth"),
        _ => Ok(()),
    }
}
