//! Field of 4,096 flags: their cloths in one engine, and their drawing.

use std::error::Error;

use poplin::gpu::wgpu::util::{BufferInitDescriptor, DeviceExt};
use poplin::gpu::wgpu::*;
use poplin::gpu::{EngineOptions, GpuEngine};
use poplin::prelude::*;

/// Number of particle columns of a flag.
const COLUMNS: u32 = 13;
/// Number of particle rows of a flag.
const ROWS: u32 = 9;
/// Number of flags along each side of the field.
const FIELD: usize = 64;
/// Distance between two poles \[m\].
const SPACING: f32 = 1.5;
const SAMPLES: u32 = 4;
const DEPTH: TextureFormat = TextureFormat::Depth32Float;
const SKY: Color = Color { r: 0.62, g: 0.74, b: 0.86, a: 1.0 };

pub(crate) struct Field {
    device: Device,
    queue: Queue,
    engine: GpuEngine,
    flags: Vec<ClothId>,
    /// Wind of each flag [m/s].
    winds: Vec<[f32; 3]>,
    clock: FixedStep,
    frame: usize,
    view: Buffer,
    /// First particle of each flag, per instance.
    firsts: Buffer,
    indices: Buffer,
    index_count: u32,
    flag_pipeline: RenderPipeline,
    pole_pipeline: RenderPipeline,
    meadow_pipeline: RenderPipeline,
    targets: Option<Targets>,
}

/// Multisampled targets of one size, before the resolve.
struct Targets {
    size: [u32; 2],
    color: TextureView,
    depth: TextureView,
}

impl Field {
    /// Cooks one flag and clones it 4,095 times on the device; all share a fabric.
    pub(crate) fn new(
        device: &Device,
        queue: &Queue,
        format: TextureFormat,
    ) -> Result<Self, Box<dyn Error>> {
        // 0.9 m x 0.6 m, pinned along its left edge.
        let mut mesh = Mesh::grid(COLUMNS, ROWS, 0.9, 0.6);
        mesh.positions.iter_mut().for_each(|[_, y, z]| (*y, *z) = (-*z, 0.0));
        let pins = (0..ROWS).map(|row| COLUMNS * row).collect();
        let options = CookOptions { pins, ..CookOptions::default() };
        let mut cloth = cook(&mesh, &options)?.into_cloth();
        cloth.config.damping = [0.05; 3];
        cloth.config.air = Air { drag: 0.04, lift: 0.04, ..Air::default() };

        let fabric = cloth.fabric.clone();
        let mut engine = GpuEngine::new(device, queue, EngineOptions::default())?;
        let first = engine.add(cloth)?;
        let mut flags = vec![first];
        flags.extend(engine.clone_cloth(first, FIELD * FIELD - 1)?);
        // A different wind for each flag.
        let hash = |seed: usize| (seed * 2_654_435_761 % 4_093) as f32 / 4_093.0;
        let wind = |flag| {
            [4.0 + 2.0 * hash(flag), 0.6 * hash(3 * flag + 1), 3.0 * hash(7 * flag + 2) - 1.5]
        };
        let winds: Vec<_> = (0..flags.len()).map(wind).collect();

        let firsts = flags
            .iter()
            .map(|&flag| Ok(engine.particle_range(flag)?.start))
            .collect::<Result<Vec<u32>, Box<dyn Error>>>()?;
        let buffer = |contents: &[u32], usage| {
            let bytes: Vec<u8> = contents.iter().flat_map(|word| word.to_le_bytes()).collect();
            device.create_buffer_init(&BufferInitDescriptor {
                label: None,
                contents: &bytes,
                usage,
            })
        };
        let index_count = 3 * fabric.triangles.len() as u32;
        let firsts = buffer(&firsts, BufferUsages::VERTEX);
        let indices = buffer(fabric.triangles.as_flattened(), BufferUsages::INDEX);
        let view = buffer(&[0; 8], BufferUsages::UNIFORM | BufferUsages::COPY_DST);

        let [flag_pipeline, pole_pipeline, meadow_pipeline] = pipelines(device, format);
        let mut field = Self {
            device: device.clone(),
            queue: queue.clone(),
            engine,
            flags,
            winds,
            clock: FixedStep::default(),
            frame: 0,
            view,
            firsts,
            indices,
            index_count,
            flag_pipeline,
            pole_pipeline,
            meadow_pipeline,
            targets: None,
        };
        for flag in 0..field.flags.len() {
            field.blow(flag, 1.0)?;
        }
        Ok(field)
    }

    /// Sets a flag's wind to `strength` times its usual wind.
    fn blow(&mut self, flag: usize, strength: f32) -> Result<(), Box<dyn Error>> {
        let cloth = self.engine.cloth_mut(self.flags[flag])?;
        let mut config = cloth.desc().config.clone();
        config.air.wind_velocity = self.winds[flag].map(|speed| strength * speed);
        Ok(cloth.set_config(config)?)
    }

    /// Records a frame: all flags in one dispatch. A gust crosses the field by one column of flags
    /// per frame.
    fn simulate(&mut self, encoder: &mut CommandEncoder) -> Result<(), Box<dyn Error>> {
        let (rising, falling) = (self.frame % 96, (self.frame + 72) % 96);
        for (column, strength) in [(rising, 2.4), (falling, 1.0)] {
            if column < FIELD {
                for row in 0..FIELD {
                    self.blow(FIELD * row + column, strength)?;
                }
            }
        }
        self.frame += 1;
        Ok(self.engine.encode_frame(encoder, self.clock.dt())?)
    }

    /// Records the due frames of `seconds` and a picture.
    pub(crate) fn draw(
        &mut self,
        encoder: &mut CommandEncoder,
        picture: &Texture,
        seconds: f64,
    ) -> Result<(), Box<dyn Error>> {
        for _ in 0..self.clock.advance(seconds).count {
            self.simulate(encoder)?;
        }
        let [width, height] = [picture.width(), picture.height()];
        let angle = 1.1 + 0.0015 * self.frame as f32;
        let [eye, target] = [[40.0 * angle.cos(), 6.5, 40.0 * angle.sin()], [0.0, -5.0, 0.0]];
        let (aspect, zoom) = (width as f32 / height as f32, 1.9);
        let view = [eye[0], eye[1], eye[2], aspect, target[0], target[1], target[2], zoom];
        let view: Vec<u8> = view.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.queue.write_buffer(&self.view, 0, &view);

        if self.targets.as_ref().is_none_or(|targets| targets.size != [width, height]) {
            self.targets = Some(targets(&self.device, picture));
        }
        let Some(Targets { color, depth, .. }) = &self.targets else { return Ok(()) };
        // The engine may replace its buffers when they grow, so bind them for every picture.
        let group = |pipeline: &RenderPipeline| {
            self.device.create_bind_group(&BindGroupDescriptor {
                label: None,
                layout: &pipeline.get_bind_group_layout(0),
                entries: &[
                    BindGroupEntry { binding: 0, resource: self.view.as_entire_binding() },
                    BindGroupEntry {
                        binding: 1,
                        resource: self.engine.particle_buffer().as_entire_binding(),
                    },
                ],
            })
        };
        let group = group(&self.flag_pipeline);
        let resolved = picture.create_view(&Default::default());
        let mut pass = encoder.begin_render_pass(&RenderPassDescriptor {
            color_attachments: &[Some(RenderPassColorAttachment {
                view: color,
                depth_slice: None,
                resolve_target: Some(&resolved),
                ops: Operations { load: LoadOp::Clear(SKY), store: StoreOp::Discard },
            })],
            depth_stencil_attachment: Some(RenderPassDepthStencilAttachment {
                view: depth,
                depth_ops: Some(Operations { load: LoadOp::Clear(0.0), store: StoreOp::Discard }),
                stencil_ops: None,
            }),
            ..Default::default()
        });
        let flag_count = self.flags.len() as u32;
        pass.set_bind_group(0, &group, &[]);
        pass.set_pipeline(&self.meadow_pipeline);
        pass.draw(0..4, 0..1);
        pass.set_pipeline(&self.pole_pipeline);
        pass.draw(0..4, 0..flag_count);
        pass.set_pipeline(&self.flag_pipeline);
        pass.set_vertex_buffer(0, self.firsts.slice(..));
        pass.set_index_buffer(self.indices.slice(..), IndexFormat::Uint32);
        pass.draw_indexed(0..self.index_count, 0, 0..flag_count);
        Ok(())
    }

    pub(crate) fn particle_count(&self) -> usize {
        self.engine.particle_count() as usize
    }
}

fn targets(device: &Device, picture: &Texture) -> Targets {
    let target = |format| {
        let texture = device.create_texture(&TextureDescriptor {
            label: None,
            size: picture.size(),
            mip_level_count: 1,
            sample_count: SAMPLES,
            dimension: TextureDimension::D2,
            format,
            usage: TextureUsages::RENDER_ATTACHMENT,
            view_formats: &[],
        });
        texture.create_view(&Default::default())
    };
    let size = [picture.width(), picture.height()];
    Targets { size, color: target(picture.format()), depth: target(DEPTH) }
}

/// Creates the pipelines of flags, poles and meadow.
fn pipelines(device: &Device, format: TextureFormat) -> [RenderPipeline; 3] {
    let module = &device.create_shader_module(include_wgsl!("flags.wgsl"));
    let entry = |binding, ty| BindGroupLayoutEntry {
        binding,
        visibility: ShaderStages::VERTEX_FRAGMENT,
        ty: BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
        count: None,
    };
    let entries = [
        entry(0, BufferBindingType::Uniform),
        entry(1, BufferBindingType::Storage { read_only: true }),
    ];
    let group = device
        .create_bind_group_layout(&BindGroupLayoutDescriptor { label: None, entries: &entries });
    let layout = device.create_pipeline_layout(&PipelineLayoutDescriptor {
        bind_group_layouts: &[Some(&group)],
        ..Default::default()
    });
    let constants = [
        ("columns", f64::from(COLUMNS)),
        ("rows", f64::from(ROWS)),
        ("field", FIELD as f64),
        ("spacing", f64::from(SPACING)),
    ];
    let options = || PipelineCompilationOptions { constants: &constants, ..Default::default() };
    let first = VertexBufferLayout {
        array_stride: 4,
        step_mode: VertexStepMode::Instance,
        attributes: &vertex_attr_array![0 => Uint32],
    };
    let pipeline = |vertex, fragment, topology, buffers: &[Option<VertexBufferLayout<'_>>]| {
        device.create_render_pipeline(&RenderPipelineDescriptor {
            label: Some(vertex),
            layout: Some(&layout),
            vertex: VertexState {
                module,
                entry_point: Some(vertex),
                compilation_options: options(),
                buffers,
            },
            primitive: PrimitiveState { topology, ..Default::default() },
            depth_stencil: Some(DepthStencilState {
                format: DEPTH,
                depth_write_enabled: Some(true),
                depth_compare: Some(CompareFunction::Greater),
                stencil: Default::default(),
                bias: Default::default(),
            }),
            multisample: MultisampleState { count: SAMPLES, ..Default::default() },
            fragment: Some(FragmentState {
                module,
                entry_point: Some(fragment),
                compilation_options: options(),
                targets: &[Some(format.into())],
            }),
            multiview_mask: None,
            cache: None,
        })
    };
    use PrimitiveTopology::{TriangleList, TriangleStrip};
    [
        pipeline("vertex_of_flag", "fragment", TriangleList, &[Some(first)]),
        pipeline("vertex_of_pole", "fragment", TriangleStrip, &[]),
        pipeline("vertex_of_meadow", "fragment_of_meadow", TriangleStrip, &[]),
    ]
}
