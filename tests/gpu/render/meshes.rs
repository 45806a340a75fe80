//! Render meshes of an application: adding, removing, steady memory and errors.

use std::sync::Arc;

use poplin_gpu::{EngineOptions, Error, Headless, RenderMeshes, wgpu};
use poplin_host::Engine as _;
use poplin_model::RenderMesh;
use poplin_testkit::adapter::headless;

use super::{cut_mesh, error_of, particle_buffer, submit};

#[test]
fn meshes_come_and_go_and_frames_between_allocate_nothing() {
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
        engine.encode_changes(&mut encoder).unwrap();
        meshes.keep(&mut encoder, engine.particle_buffer()).unwrap();
        engine.encode_frame(&mut encoder, 1.0 / 60.0).unwrap();
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
    // `encode` at 0.5 interpolates between the frames: alpha 1 gives other vertices.
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
    assert!(matches!(meshes.remove(ids[1]), Err(Error::NoSuchRenderMesh)));
    assert!(matches!(meshes.vertex_range(ids[1]), Err(Error::NoSuchRenderMesh)));
    let again = meshes.add_with_tangents(&mesh, range(&gpu, 1)).unwrap();
    assert_ne!(again, ids[1]);
    frame(&mut gpu, &mut meshes);
    assert_eq!(rows(&gpu, &meshes, 0), rows(&gpu, &meshes, 2));
}

#[test]
fn invalid_meshes_and_short_buffers_are_rejected() {
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
