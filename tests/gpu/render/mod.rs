//! Render meshes and debug lines: kernels against the CPU version, skinning, interpolation, errors.

mod lines;
mod meshes;
mod vertices;

use bytemuck::cast_slice;
use poplin::cook::{CookOptions, Cooked, RenderMeshOptions, SkinOptions, cook};
use poplin_geometry::Rng;
use poplin_gpu::{Error, Headless, wgpu};
use poplin_model::{CornerUvs, Mesh, Particle, RenderMesh};

/// Returns a buffer of particles that the application owns.
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

/// Records commands and submits them.
fn submit(gpu: &Headless, record: impl FnOnce(&mut wgpu::CommandEncoder)) {
    let mut encoder =
        gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    record(&mut encoder);
    gpu.queue().submit([encoder.finish()]);
}

/// Returns the message of an error.
fn error_of<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    result.unwrap_err().to_string()
}

/// Returns the mesh cooked with its first vertex pinned.
fn cooked(mesh: &Mesh) -> Cooked {
    cook(mesh, &CookOptions { pins: vec![0], ..CookOptions::default() }).unwrap()
}

/// Returns the particles, each coordinate moved by up to `size` metres.
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

/// Returns the render mesh of a creased grid whose quads alternate between two UV maps, so that
/// vertices split at the seams.
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

/// Returns a fine grid skinned to a coarse one at an offset.
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
