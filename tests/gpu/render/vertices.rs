//! Vertices, normals and tangents: kernels against the CPU version, and both against the surface.

use std::sync::Arc;

use bytemuck::cast_slice;
use glam::Vec3;
use poplin::cook::{CookOptions, RenderMeshOptions, SkinOptions, cook};
use poplin_cpu::{DrawnParticles, render_vertices};
use poplin_geometry::Rng;
use poplin_gpu::{EngineOptions, Headless, RenderMeshes};
use poplin_host::Engine as _;
use poplin_model::{Corners, Mesh, Particle, RenderMesh, RenderVertex, VertexBinding};
use poplin_shaders::{Kernel, compose};
use poplin_testkit::adapter::headless;

use super::{cooked, cut_mesh, moved, particle_buffer, skinned_mesh, submit};

/// Bits of the vertices (position and normal) and of the tangents, a row each.
type Rows = (Vec<[u32; 8]>, Vec<[u32; 4]>);

/// Returns what the kernels compute from particles at the end of a buffer. `damage` replaces a text
/// of one kernel.
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
    // A small mesh comes first in every buffer, so that all offsets of the compared one are
    // nonzero.
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

/// Returns what the CPU version computes.
fn on_cpu(mesh: &RenderMesh, drawn: DrawnParticles<'_>) -> Rows {
    let mut vertices = vec![RenderVertex::default(); mesh.vertex_count()];
    let mut tangents = vec![[0.0; 4]; mesh.uvs.len()];
    render_vertices(mesh, drawn, &mut vertices, &mut tangents).unwrap();
    (cast_slice(&vertices).to_vec(), cast_slice(&tangents).to_vec())
}

/// Returns the first row that differs, with both versions.
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

#[test]
fn kernels_give_the_bits_of_the_cpu_version_between_frames_too() {
    let Some(gpu) = headless(EngineOptions::default()) else { return };
    let mut rng = Rng::new(3);
    for (name, (mesh, cooked)) in [("cut", cut_mesh()), ("skinned", skinned_mesh())] {
        let kept = moved(&cooked.particles, 0.05, &mut rng);
        let mut now = moved(&kept, 0.1, &mut rng);
        for alpha in [1.0, 0.0, 0.37, f32::NAN, -1.0, 7.0] {
            let drawn = DrawnParticles { now: &now, kept: &kept, alpha };
            // The kernels clamp negative values; the CPU version takes 1 and more, and NaN, as 1.
            let clamped = if alpha < 0.0 { 0.0 } else { alpha };
            let expected = on_cpu(&mesh, DrawnParticles { alpha: clamped, ..drawn });
            assert_eq!(
                difference(&on_gpu(&gpu, &mesh, drawn, None), &expected),
                None,
                "{name}, alpha {alpha}"
            );
        }
        // Degenerate triangles: all particles on a line, or at one point.
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
    // y = 0.1 sin(3 x): slope 0.3 cos(3 x). The UV map is a rotation and reflection of (x, z).
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
        // u grows along (0.6, 0.8) in x and z, lifted onto the surface: dy = slope dx.
        let along = Vec3::new(0.6, 0.6 * slope, 0.8);
        let flat = (along - normal * normal.dot(along)).normalize();
        assert!(tangent_found.dot(flat) > 0.99, "{tangent_found} is not {flat}");
        assert!(tangent_found.dot(found).abs() < 1e-5);
        assert_eq!(tangent[3], faces_up, "the bitangent has the wrong sign");
    }
}

#[test]
fn skinning_100k_vertices_inverts_no_triangle_by_itself() {
    // A skirt of 1,012 particles that the wind throws over itself into folds.
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
    let mut cloth = poplin_model::ClothDesc::new(fabric.clone(), rest);
    cloth.config.air.wind_velocity = [6.0, 3.0, 2.0];
    cloth.config.air.drag = 0.3;
    let id = engine.add(cloth).unwrap();
    let mut vertices = vec![RenderVertex::default(); skin.mesh.vertex_count()];
    for frame in 0..60 {
        engine.step(1.0 / 60.0).unwrap();
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
            // An inversion counts only where the cloth itself is not folded: all normals of the
            // triangles around the bound particles agree.
            let near: Vec<_> =
                bound.iter().flatten().flat_map(|&particle| &around[particle as usize]).collect();
            let is_folded = near.iter().any(|m| near.iter().any(|n| m.dot(**n) < 0.0));
            inverted += usize::from(!is_folded);
        }
        assert_eq!(inverted, 0, "frame {frame}");
    }
}
