//! Render meshes: kernels against their twin, skinning, interpolation, refusals, steady state.

use std::sync::Arc;

use bytemuck::cast_slice;
use glam::Vec3;
use poplin::cook::{CookOptions, Cooked, RenderMeshOptions, SkinOptions, cook};
use poplin_cpu::{DrawnParticles, render_vertices};
use poplin_gpu::{
    DebugLines, DebugPass, DebugTarget, DebugView, EngineOptions, GpuError, Headless, RenderMeshes,
    wgpu,
};
use poplin_host::Engine as _;
use poplin_model::{
    CornerUvs, Corners, Frame, Mesh, Particle, RenderMesh, RenderVertex, VertexBinding,
};
use poplin_shaders::{Kernel, compose};
use poplin_testkit::adapter::headless;
use poplin_testkit::rng::Rng;

/// A buffer of particles that the application owns.
fn particle_buffer(gpu: &Headless, particles: &[Particle]) -> wgpu::Buffer {
    wgpu::util::DeviceExt::create_buffer_init(
        gpu.device(),
        &wgpu::util::BufferInitDescriptor {
            label: Some("particles"),
            contents: cast_slice(particles),
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
        },
    )
}

fn submit(gpu: &Headless, record: impl FnOnce(&mut wgpu::CommandEncoder)) {
    let mut encoder =
        gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    record(&mut encoder);
    gpu.queue().submit([encoder.finish()]);
}

/// Vertices and tangents as rows of bits.
type Rows = (Vec<[u32; 8]>, Vec<[u32; 4]>);

/// What the kernels make of particles at the end of a buffer, with the damage in one of their texts.
fn on_gpu(
    gpu: &Headless,
    mesh: &RenderMesh,
    drawn: DrawnParticles<'_>,
    damage: Option<(Kernel, &str, &str)>,
) -> Rows {
    let mut options = EngineOptions::default();
    if let Some((kernel, from, to)) = damage {
        let text = compose(&kernel.path()).unwrap().text;
        assert!(text.contains(from), "the kernel no longer contains `{from}`");
        options.shader_texts.insert(kernel, text.replacen(from, to, 1));
    }
    let mut meshes = RenderMeshes::with_texts(gpu.device(), gpu.queue(), &options).unwrap();
    let mesh = Arc::new(mesh.clone());
    // Something else lies before what is compared, in every buffer.
    let first = [Particle::default(); 3];
    let buffer = |particles: &[Particle]| particle_buffer(gpu, &[&first, particles].concat());
    let (kept, now) = (buffer(drawn.kept), buffer(drawn.now));
    let other = RenderMesh {
        particle_count: 3,
        bindings: [0, 1, 2].map(VertexBinding::particle).to_vec(),
        triangles: vec![[0, 1, 2]],
        source_vertices: vec![0, 1, 2],
        corners: Corners::of_triangles(&[[0, 1, 2]], 3),
        own_corner_counts: vec![1; 3],
        ..RenderMesh::default()
    };
    meshes.add(&Arc::new(other), 0..3).unwrap();
    let range = 3..3 + mesh.particle_count;
    let added = match mesh.uvs.is_empty() {
        true => meshes.add(&mesh, range),
        false => meshes.add_with_tangents(&mesh, range),
    };
    let id = added.unwrap();
    submit(gpu, |encoder| meshes.keep(encoder, &kept).unwrap());
    submit(gpu, |encoder| meshes.encode(encoder, &now, drawn.alpha).unwrap());
    let vertices = gpu.read_buffer(meshes.vertex_buffer()).unwrap();
    let range = meshes.vertex_range(id).unwrap();
    let vertices =
        &bytemuck::cast_slice::<u8, [u32; 8]>(&vertices)[range.start as usize..range.end as usize];
    let tangents = gpu.read_buffer(meshes.tangent_buffer()).unwrap();
    let range = meshes.tangent_range(id).unwrap().unwrap_or_default();
    let tangents =
        &bytemuck::cast_slice::<u8, [u32; 4]>(&tangents)[range.start as usize..range.end as usize];
    (vertices.to_vec(), tangents.to_vec())
}

fn on_cpu(mesh: &RenderMesh, drawn: DrawnParticles<'_>) -> Rows {
    let mut vertices = vec![RenderVertex::default(); mesh.vertex_count()];
    let mut tangents = vec![[0.0; 4]; mesh.uvs.len()];
    render_vertices(mesh, drawn, &mut vertices, &mut tangents).unwrap();
    (cast_slice(&vertices).to_vec(), cast_slice(&tangents).to_vec())
}

/// The first row that differs.
fn difference(a: &Rows, b: &Rows) -> Option<String> {
    let floats = |row: &[u32]| row.iter().map(|&bits| f32::from_bits(bits)).collect::<Vec<_>>();
    let row = |k: usize, a: &[u32], b: &[u32]| {
        (a != b).then(|| format!("{k}: {:?} is not {:?}", floats(a), floats(b)))
    };
    let vertices = a.0.iter().zip(&b.0).enumerate().find_map(|(k, (a, b))| row(k, a, b));
    let tangents = || a.1.iter().zip(&b.1).enumerate().find_map(|(k, (a, b))| row(k, a, b));
    assert_eq!((a.0.len(), a.1.len()), (b.0.len(), b.1.len()));
    vertices.or_else(tangents)
}

fn cooked(mesh: &Mesh) -> Cooked {
    cook(mesh, &CookOptions { pins: vec![0], ..CookOptions::default() }).unwrap()
}

/// The particles, each moved by up to `size` metres.
fn moved(particles: &[Particle], size: f32, rng: &mut Rng) -> Vec<Particle> {
    let mut particles = particles.to_vec();
    for particle in &mut particles {
        let [x, y, z] = rng.point(-size, size);
        particle.position[0] += x;
        particle.position[1] += y;
        particle.position[2] += z;
    }
    particles
}

/// A grid whose texture is cut into quads, with a crease, its own particles.
fn cut_mesh() -> (RenderMesh, Cooked) {
    let mut mesh = Mesh::grid(9, 7, 1.0, 0.8);
    mesh.positions.iter_mut().filter(|p| p[0] > 0.5).for_each(|p| p[1] = 0.5 - p[0]);
    mesh.corner_uvs = CornerUvs {
        coordinates: mesh.uvs.iter().flat_map(|&[u, v]| [[u, v], [1.0 - u, v]]).collect(),
        triangles: Vec::new(),
        quads: (0..)
            .zip(&mesh.quads)
            .map(|(k, quad)| quad.map(|corner| 2 * corner + k % 2))
            .collect(),
    };
    mesh.uvs.clear();
    let cooked = cooked(&mesh);
    let options = RenderMeshOptions { crease_angle: 30.0 };
    (cooked.render_mesh(&mesh, &options).unwrap(), cooked)
}

/// A fine grid that follows a coarse one at an offset.
fn skinned_mesh() -> (RenderMesh, Cooked) {
    let coarse = cooked(&Mesh::grid(6, 5, 1.0, 1.0));
    let mut fine = Mesh::grid(23, 19, 1.04, 1.04);
    for [x, y, z] in &mut fine.positions {
        *y = 0.02 * (9.0 * *x).sin() * (7.0 * *z).cos();
        *x -= 0.02;
        *z -= 0.02;
    }
    (coarse.skin(&fine, &SkinOptions::default()).unwrap().mesh, coarse)
}

#[test]
fn vertices_normals_tangents_and_what_lies_between_frames_have_the_bits_of_the_twin() {
    let Some(gpu) = headless(EngineOptions::default()) else { return };
    let mut rng = Rng::new(3);
    for (name, (mesh, cooked)) in [("cut", cut_mesh()), ("skinned", skinned_mesh())] {
        let kept = moved(&cooked.particles, 0.05, &mut rng);
        let mut now = moved(&kept, 0.1, &mut rng);
        for alpha in [1.0, 0.0, 0.37, f32::NAN, -1.0, 7.0] {
            let drawn = DrawnParticles { now: &now, kept: &kept, alpha };
            let clamped = if alpha < 0.0 { 0.0 } else { alpha };
            let expected = on_cpu(&mesh, DrawnParticles { alpha: clamped, ..drawn });
            assert_eq!(
                difference(&on_gpu(&gpu, &mesh, drawn, None), &expected),
                None,
                "{name}, alpha {alpha}"
            );
        }
        // All at one point, and all on a line.
        for squash in [Vec3::ZERO, Vec3::X] {
            for particle in &mut now {
                particle.position = (Vec3::from(particle.position) * squash).to_array();
            }
            let drawn = DrawnParticles { now: &now, kept: &kept, alpha: 1.0 };
            let expected = on_cpu(&mesh, drawn);
            let found = difference(&on_gpu(&gpu, &mesh, drawn, None), &expected);
            assert_eq!(found, None, "{name} squashed by {squash}");
            for row in &expected.0 {
                assert!(
                    row.iter().all(|&bits| f32::from_bits(bits).is_finite()),
                    "{name}: {row:?}"
                );
            }
        }
    }
}

#[test]
fn a_damaged_kernel_is_seen() {
    let Some(gpu) = headless(EngineOptions::default()) else { return };
    let (cut, skinned) = (cut_mesh(), skinned_mesh());
    let mut rng = Rng::new(4);
    for ((mesh, cooked), kernel, from, to) in [
        (
            &skinned,
            Kernel::RenderFindNormals,
            "add_cross(sum, next - x, last - x)",
            "add_cross(sum, last - x, next - x)",
        ),
        (
            &skinned,
            Kernel::RenderPlaceVertices,
            "b * weights.y + c * weights.z",
            "b * weights.z + c * weights.y",
        ),
        (&skinned, Kernel::RenderPlaceVertices, "x * render.alpha", "x"),
        (&cut, Kernel::RenderOrientVertices, "add_cross(sum, p, q)", "add_cross(sum, q, p)"),
        (&cut, Kernel::RenderOrientVertices, "corner < own_end", "corner < end"),
        (&cut, Kernel::RenderOrientVertices, "along_u - normal *", "along_u + normal *"),
    ] {
        let kept = moved(&cooked.particles, 0.05, &mut rng);
        let now = moved(&kept, 0.1, &mut rng);
        let drawn = DrawnParticles { now: &now, kept: &kept, alpha: 0.4 };
        let is_seen = on_gpu(&gpu, mesh, drawn, Some((kernel, from, to))) != on_cpu(mesh, drawn);
        assert!(is_seen, "`{to}` passes");
    }
}

#[test]
fn normals_and_tangents_are_those_of_the_surface() {
    // A wave whose normal is known, its texture rotated.
    let mut mesh = Mesh::grid(81, 41, 2.0, 1.0);
    for ([x, y, z], uv) in mesh.positions.iter_mut().zip(&mut mesh.uvs) {
        *y = 0.1 * (3.0 * *x).sin();
        *uv = [0.6 * *x + 0.8 * *z, 0.8 * *x - 0.6 * *z];
    }
    let cooked = cooked(&mesh);
    let drawn = cooked.render_mesh(&mesh, &RenderMeshOptions::default()).unwrap();
    let mut vertices = vec![RenderVertex::default(); drawn.vertex_count()];
    let mut tangents = vec![[0.0; 4]; drawn.vertex_count()];
    let particles = DrawnParticles::from(cooked.particles.as_slice());
    render_vertices(&drawn, particles, &mut vertices, &mut tangents).unwrap();
    let faces_up = vertices[0].normal[1].signum();
    for (vertex, tangent) in vertices.iter().zip(&tangents) {
        let [x, _, _, _] = vertex.position;
        let slope = 0.3 * (3.0 * x).cos();
        let normal = Vec3::new(-slope, 1.0, 0.0).normalize() * faces_up;
        let found = Vec3::from_slice(&vertex.normal[..3]);
        assert!(found.dot(normal) > 0.999, "{found} is not {normal}");
        let tangent_found = Vec3::from_slice(&tangent[..3]);
        // The inverse of the texture's map: u grows along (0.6, 0.8) in x and z.
        let along = Vec3::new(0.6, 0.6 * slope, 0.8);
        let flat = (along - normal * normal.dot(along)).normalize();
        assert!(tangent_found.dot(flat) > 0.99, "{tangent_found} is not {flat}");
        assert!(tangent_found.dot(found).abs() < 1e-5);
        assert_eq!(tangent[3], faces_up, "the bitangent is on the other side");
    }
}

#[test]
fn a_skinned_garment_of_100k_vertices_has_no_inverted_triangle_of_its_own() {
    // A skirt of 1,012 particles that swirls, is thrown over itself and lies in folds.
    let coarse = cook(
        &Mesh::tube(46, 22, 0.2, 0.5, 0.7),
        &CookOptions { pins: (0..46).collect(), ..CookOptions::default() },
    )
    .unwrap();
    let fine = Mesh::tube(460, 220, 0.2, 0.5, 0.7);
    let skin = coarse.skin(&fine, &SkinOptions::default()).unwrap();
    assert_eq!(skin.mesh.vertex_count(), 101_200);
    assert!(skin.report.max_error < 1e-4, "{:?}", skin.report);
    let (fabric, rest) = (Arc::new(coarse.fabric.clone()), coarse.particles.clone());
    let mut engine = poplin_cpu::CpuEngine::default();
    let mut cloth = poplin_model::Cloth::new(fabric.clone(), rest);
    cloth.config.air.wind_velocity = [6.0, 3.0, 2.0];
    cloth.config.air.drag = 0.3;
    let id = engine.add(cloth).unwrap();
    let mut vertices = vec![RenderVertex::default(); skin.mesh.vertex_count()];
    for frame in 0..60 {
        engine.step(&Frame::default()).unwrap();
        if frame % 10 != 9 {
            continue;
        }
        let state = engine.state().unwrap();
        let particles = state.current(id);
        render_vertices(&skin.mesh, particles.into(), &mut vertices, &mut []).unwrap();
        let of = |particle: u32| Vec3::from(particles[particle as usize].position);
        // Normals of the triangles around each particle.
        let normal_of = |triangle: [u32; 3]| {
            let [a, b, c] = triangle.map(of);
            (b - a).cross(c - a)
        };
        let mut around = vec![Vec::new(); particles.len()];
        for &triangle in &fabric.triangles {
            for particle in triangle {
                around[particle as usize].push(normal_of(triangle));
            }
        }
        let mut inverted = 0;
        for triangle in &skin.mesh.triangles {
            let [a, b, c] =
                triangle.map(|vertex| Vec3::from_slice(&vertices[vertex as usize].position[..3]));
            let normal = (b - a).cross(c - a);
            let bound = triangle.map(|vertex| skin.mesh.bindings[vertex as usize].particles);
            if bound.iter().any(|&bound| normal.dot(normal_of(bound)) > 0.0) {
                continue;
            }
            // The cloth itself is folded there.
            let near: Vec<_> =
                bound.iter().flatten().flat_map(|&particle| &around[particle as usize]).collect();
            let is_folded = near.iter().any(|m| near.iter().any(|n| m.dot(**n) < 0.0));
            inverted += usize::from(!is_folded);
        }
        assert_eq!(inverted, 0, "frame {frame}");
    }
}

#[test]
fn meshes_come_and_go_with_their_cloths_and_nothing_is_made_in_between() {
    let Some(mut gpu) = headless(EngineOptions::default()) else { return };
    let (mesh, cooked) = cut_mesh();
    let (mesh, cloth) = (Arc::new(mesh), cooked.into_cloth());
    let mut meshes =
        RenderMeshes::new(gpu.device(), gpu.queue(), poplin_gpu::RenderOptions::default()).unwrap();
    let cloths: Vec<_> = (0..3).map(|_| gpu.add(cloth.clone()).unwrap()).collect();
    let range = |gpu: &Headless, k: usize| gpu.engine().particle_range(cloths[k]).unwrap();
    let ids: Vec<_> =
        (0..3).map(|k| meshes.add_with_tangents(&mesh, range(&gpu, k)).unwrap()).collect();
    let frame = |gpu: &mut Headless, meshes: &mut RenderMeshes| {
        let mut encoder =
            gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let engine = gpu.engine_mut();
        engine.encode_changes(&mut encoder);
        meshes.keep(&mut encoder, engine.particle_buffer()).unwrap();
        engine.encode_frame(&mut encoder, &Frame { dt: 1.0 / 60.0 }).unwrap();
        meshes.encode(&mut encoder, engine.particle_buffer(), 0.5).unwrap();
        gpu.queue().submit([encoder.finish()]);
    };
    let rows = |gpu: &Headless, meshes: &RenderMeshes, k: usize| {
        let range = meshes.vertex_range(ids[k]).unwrap();
        let all = gpu.read_buffer(meshes.vertex_buffer()).unwrap();
        all[32 * range.start as usize..32 * range.end as usize].to_vec()
    };
    frame(&mut gpu, &mut meshes);
    frame(&mut gpu, &mut meshes);
    assert_eq!(rows(&gpu, &meshes, 0), rows(&gpu, &meshes, 2));
    // Between the frames, not at the end of the last.
    let between = rows(&gpu, &meshes, 0);
    submit(&gpu, |encoder| {
        let particles = gpu.engine().particle_buffer();
        meshes.encode(encoder, particles, 1.0).unwrap();
    });
    assert_ne!(between, rows(&gpu, &meshes, 0));
    let memory = (meshes.memory_bytes(), gpu.memory_bytes());
    for _ in 0..8 {
        frame(&mut gpu, &mut meshes);
    }
    assert_eq!((meshes.memory_bytes(), gpu.memory_bytes()), memory);

    meshes.remove(ids[1]).unwrap();
    assert!(matches!(meshes.remove(ids[1]), Err(GpuError::NoSuchRenderMesh)));
    assert!(matches!(meshes.vertex_range(ids[1]), Err(GpuError::NoSuchRenderMesh)));
    let again = meshes.add_with_tangents(&mesh, range(&gpu, 1)).unwrap();
    assert_ne!(again, ids[1]);
    frame(&mut gpu, &mut meshes);
    assert_eq!(rows(&gpu, &meshes, 0), rows(&gpu, &meshes, 2));
}

fn error_of<T: std::fmt::Debug>(result: Result<T, GpuError>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let Some(gpu) = headless(EngineOptions::default()) else { return };
    let (mesh, cooked) = cut_mesh();
    let options = poplin_gpu::RenderOptions::default();
    let mut meshes = RenderMeshes::new(gpu.device(), gpu.queue(), options).unwrap();
    let count = mesh.particle_count;
    let arc = |mesh: &RenderMesh| Arc::new(mesh.clone());
    assert_eq!(
        error_of(meshes.add(&arc(&mesh), 0..count - 1)),
        format!("render particles has {} entries; expected {count}", count - 1)
    );
    let damaged = |damage: &dyn Fn(&mut RenderMesh)| {
        let mut damaged = mesh.clone();
        damage(&mut damaged);
        Arc::new(damaged)
    };
    for (bad, message) in [
        (damaged(&|mesh| mesh.triangles[2][1] = 9999), "render mesh triangles[7] is 9999"),
        (
            damaged(&|mesh| mesh.bindings[1].particles[2] = count),
            "render mesh bindings.particles[5]",
        ),
        (damaged(&|mesh| mesh.bindings[1].weights[0] = f32::NAN), "render mesh bindings[1] = NaN"),
        (damaged(&|mesh| mesh.bindings[1].offset = 0.1), "render mesh surface.begin has 0"),
        (damaged(&|mesh| mesh.corners.following[0][0] = 9999), "render mesh corners.following[0]"),
        (damaged(&|mesh| mesh.corners.begin[1] = 9999), "render mesh corners.begin[0] is 9999"),
        (damaged(&|mesh| mesh.own_corner_counts[0] = 99), "render mesh own_corner_counts[0]"),
        (damaged(&|mesh| mesh.uvs.truncate(1)), "render mesh uvs has 1"),
        (damaged(&|mesh| mesh.triangles.clear()), "render mesh is empty"),
    ] {
        let error = error_of(meshes.add(&bad, 0..count));
        assert!(error.starts_with(message), "{error}");
    }
    let bare = damaged(&|mesh| mesh.uvs.clear());
    assert_eq!(error_of(meshes.add_with_tangents(&bare, 0..count)), "render mesh uvs is empty");
    assert!(meshes.is_empty());
    meshes.add(&arc(&mesh), 4..count + 4).unwrap();
    let short = particle_buffer(&gpu, &cooked.particles);
    submit(&gpu, |encoder| {
        let message = error_of(meshes.encode(encoder, &short, 1.0));
        let (has, needs) = (16 * count, 16 * (count + 4));
        assert_eq!(message, format!("the buffer of particles has {has} bytes; it needs {needs}"));
    });
}

/// Draws lines over particles into 64 x 64 texels of four samples; the resolved texels.
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
    // Seen from above: x and z of -0.25..1.25 fill the target.
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

    // Seen from the side, x to the right and y upwards, the sheet is a line at the height 0: what is above it are normals.
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
    // A normal is 0.3 m of the 1.5 m that 64 texels show.
    assert!(rows[20..31].iter().all(|&texels| texels >= 4), "{rows:?}");
    assert_eq!(rows[..18].iter().chain(&rows[33..]).sum::<usize>(), 0, "{rows:?}");
    let flat = draw_lines(&gpu, &normals, &stretched(0.0), side);
    assert_eq!(count(&flat, &|texel| texel[1] > 100), 0, "triangles of no area have no normal");
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
fn targets_that_cannot_be_drawn_into_are_refused() {
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
