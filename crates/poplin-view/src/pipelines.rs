//! Render pipelines.

use poplin::model::RenderVertex;

use crate::body::Instance;
use crate::renderer::Dot;

/// Samples per pixel.
pub(crate) const SAMPLES: u32 = 4;

/// Format of all depth textures.
pub(crate) const DEPTH: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;

const SURFACE: &str = concat!(include_str!("view.wgsl"), include_str!("surface.wgsl"));
const MARKS: &str = concat!(include_str!("view.wgsl"), include_str!("marks.wgsl"));

/// Vertex attributes: position and normal of a vertex, or position and colour of a dot.
const VERTEX: [wgpu::VertexAttribute; 2] = wgpu::vertex_attr_array![0 => Float32x4, 1 => Float32x4];
const STRAIN: [wgpu::VertexAttribute; 1] = wgpu::vertex_attr_array![2 => Float32];
const INSTANCE: [wgpu::VertexAttribute; 5] = wgpu::vertex_attr_array![
    3 => Float32x4, 4 => Float32x4, 5 => Float32x4, 6 => Float32x4, 7 => Float32x4
];

/// Render pipelines with their bind group layouts.
#[derive(Debug)]
pub(crate) struct Pipelines {
    /// Layout of camera, lights and depth maps.
    pub(crate) view_layout: wgpu::BindGroupLayout,
    /// Layout of only the uniform, for drawing the depth maps.
    pub(crate) map_view_layout: wgpu::BindGroupLayout,
    /// Layout of the index of the light whose map is drawn.
    pub(crate) light_layout: wgpu::BindGroupLayout,
    pub(crate) map: wgpu::RenderPipeline,
    pub(crate) paper: wgpu::RenderPipeline,
    pub(crate) ground: wgpu::RenderPipeline,
    pub(crate) surface: wgpu::RenderPipeline,
    pub(crate) dot: wgpu::RenderPipeline,
}

/// Parameters in which the pipelines differ.
struct Kind<'a> {
    name: &'static str,
    module: &'a wgpu::ShaderModule,
    layout: &'a wgpu::PipelineLayout,
    entries: (&'static str, Option<&'static str>),
    buffers: &'a [Option<wgpu::VertexBufferLayout<'a>>],
    topology: wgpu::PrimitiveTopology,
    cull: Option<wgpu::Face>,
    /// True to test and write depth.
    is_deep: bool,
}

impl Pipelines {
    /// Compiles all pipelines for targets of this format.
    pub(crate) fn new(device: &wgpu::Device, format: wgpu::TextureFormat) -> Self {
        let module = |label, source: &'static str| {
            device.create_shader_module(wgpu::ShaderModuleDescriptor {
                label: Some(label),
                source: wgpu::ShaderSource::Wgsl(source.into()),
            })
        };
        let surface = module("poplin.view.surface", SURFACE);
        let marks = module("poplin.view.marks", MARKS);
        let view_layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("poplin.view.view"),
            entries: &[
                uniform(0, false),
                depth_map(1, wgpu::TextureViewDimension::D2),
                depth_map(2, wgpu::TextureViewDimension::D2Array),
                wgpu::BindGroupLayoutEntry {
                    binding: 3,
                    visibility: wgpu::ShaderStages::VERTEX_FRAGMENT,
                    ty: wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Comparison),
                    count: None,
                },
            ],
        });
        let layout_of = |label, entry| {
            device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: Some(label),
                entries: &[entry],
            })
        };
        let map_view_layout = layout_of("poplin.view.map_view", uniform(0, false));
        let light_layout = layout_of("poplin.view.light", uniform(0, true));
        let layout = |groups: &[Option<&wgpu::BindGroupLayout>]| {
            device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: Some("poplin.view"),
                bind_group_layouts: groups,
                immediate_size: 0,
            })
        };
        let drawn = layout(&[Some(&view_layout)]);
        let mapped = layout(&[Some(&map_view_layout), Some(&light_layout)]);

        let per_vertex = wgpu::VertexStepMode::Vertex;
        let per_instance = wgpu::VertexStepMode::Instance;
        let vertex = buffer_layout::<RenderVertex>(per_vertex, &VERTEX);
        let strain = buffer_layout::<f32>(per_vertex, &STRAIN);
        let instance = buffer_layout::<Instance>(per_instance, &INSTANCE);
        let dot = buffer_layout::<Dot>(per_instance, &VERTEX);
        let mesh = [Some(vertex.clone()), Some(strain), Some(instance.clone())];
        let bare = [Some(vertex), None, Some(instance)];
        let shaded = Kind {
            name: "poplin.view.surface",
            module: &surface,
            layout: &drawn,
            entries: ("place_vertex", Some("shade")),
            buffers: &mesh,
            topology: wgpu::PrimitiveTopology::TriangleList,
            cull: None,
            is_deep: true,
        };
        let create = |kind: &Kind<'_>| create(device, kind, format);
        Self {
            map: create(&Kind {
                name: "poplin.view.map",
                layout: &mapped,
                entries: ("place_in_map", None),
                buffers: &bare,
                ..shaded
            }),
            paper: create(&Kind {
                name: "poplin.view.paper",
                module: &marks,
                entries: ("place_paper", Some("shade_paper")),
                buffers: &[],
                is_deep: false,
                ..shaded
            }),
            ground: create(&Kind {
                name: "poplin.view.ground",
                entries: ("place_vertex", Some("shade_ground")),
                cull: Some(wgpu::Face::Back),
                is_deep: false,
                ..shaded
            }),
            dot: create(&Kind {
                name: "poplin.view.dot",
                module: &marks,
                entries: ("place_dot", Some("shade_mark")),
                buffers: &[Some(dot)],
                topology: wgpu::PrimitiveTopology::TriangleStrip,
                ..shaded
            }),
            surface: create(&shaded),
            view_layout,
            map_view_layout,
            light_layout,
        }
    }
}

/// Returns the depth state, with or without depth test and write.
pub(crate) fn depth_state(is_deep: bool) -> wgpu::DepthStencilState {
    let compare =
        if is_deep { wgpu::CompareFunction::LessEqual } else { wgpu::CompareFunction::Always };
    wgpu::DepthStencilState {
        format: DEPTH,
        depth_write_enabled: Some(is_deep),
        depth_compare: Some(compare),
        stencil: wgpu::StencilState::default(),
        bias: wgpu::DepthBiasState::default(),
    }
}

fn create(
    device: &wgpu::Device,
    kind: &Kind<'_>,
    format: wgpu::TextureFormat,
) -> wgpu::RenderPipeline {
    let target = [Some(wgpu::ColorTargetState {
        format,
        blend: Some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING),
        write_mask: wgpu::ColorWrites::ALL,
    })];
    let fragment = kind.entries.1.map(|entry| wgpu::FragmentState {
        module: kind.module,
        entry_point: Some(entry),
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        targets: &target,
    });
    let samples = if fragment.is_some() { SAMPLES } else { 1 };
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some(kind.name),
        layout: Some(kind.layout),
        vertex: wgpu::VertexState {
            module: kind.module,
            entry_point: Some(kind.entries.0),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            buffers: kind.buffers,
        },
        primitive: wgpu::PrimitiveState {
            topology: kind.topology,
            cull_mode: kind.cull,
            ..wgpu::PrimitiveState::default()
        },
        depth_stencil: Some(depth_state(kind.is_deep)),
        multisample: wgpu::MultisampleState { count: samples, ..wgpu::MultisampleState::default() },
        fragment,
        multiview_mask: None,
        cache: None,
    })
}

fn buffer_layout<T>(
    step_mode: wgpu::VertexStepMode,
    attributes: &[wgpu::VertexAttribute],
) -> wgpu::VertexBufferLayout<'_> {
    wgpu::VertexBufferLayout { array_stride: size_of::<T>() as u64, step_mode, attributes }
}

fn uniform(binding: u32, has_dynamic_offset: bool) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::VERTEX_FRAGMENT,
        ty: wgpu::BindingType::Buffer {
            ty: wgpu::BufferBindingType::Uniform,
            has_dynamic_offset,
            min_binding_size: None,
        },
        count: None,
    }
}

fn depth_map(
    binding: u32,
    view_dimension: wgpu::TextureViewDimension,
) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::VERTEX_FRAGMENT,
        ty: wgpu::BindingType::Texture {
            sample_type: wgpu::TextureSampleType::Depth,
            view_dimension,
            multisampled: false,
        },
        count: None,
    }
}
