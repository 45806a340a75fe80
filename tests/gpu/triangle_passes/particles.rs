//! Passes between particles and rows: targets before a slice, new particles after it.

use bytemuck::{NoUninit, Zeroable, cast_slice, pod_collect_to_vec};
use glam::{Mat3, Vec3};
use poplin_cpu::contact::ContactBody;
use poplin_cpu::triangle_contact::{Body, Role, TriangleContact};
use poplin_geometry::Rng;
use poplin_gpu::{EngineOptions, Headless, TriangleRounds, wgpu};
use poplin_layout::{ContactCloth, Feedback, TriangleBodies, TriangleRound};
use poplin_testkit::adapter::headless_as_mirror;
use poplin_testkit::triangles::{point, rotation};

use super::differ;
use super::scene::random_scene;

/// Returns a storage buffer with these contents.
fn buffer<T: NoUninit>(gpu: &Headless, contents: &[T]) -> wgpu::Buffer {
    let usage =
        wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    let size = size_of_val(contents).max(4) as u64;
    let descriptor = wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
    let buffer = gpu.device().create_buffer(&descriptor);
    gpu.queue().write_buffer(&buffer, 0, cast_slice(contents));
    buffer
}

/// Particles of the cloths of a scene, each cloth in a local space of its own; some cloths are
/// asleep or frozen.
struct Particles {
    cloths: Vec<ContactCloth>,
    current: Vec<[f32; 4]>,
    previous: Vec<[f32; 4]>,
    reports: Vec<Feedback>,
}

impl Particles {
    fn random(rng: &mut Rng, contact: &TriangleContact) -> Self {
        let mut particles =
            Self { cloths: vec![], current: vec![], previous: vec![], reports: vec![] };
        let is_cloth = |body: &&Body| matches!(body.role, Role::Cloth { .. });
        for body in contact.bodies.iter().filter(is_cloth) {
            let spin = Mat3::from_quat(rotation(rng));
            let row = |v: Vec3| [v.x, v.y, v.z, 0.0];
            let mut cloth = ContactCloth::zeroed();
            [cloth.axis_x, cloth.axis_y, cloth.axis_z] =
                spin.to_cols_array_2d().map(|axis| row(axis.into()));
            cloth.origin = row(point(rng, 1.0));
            // Three unused particles before each cloth.
            cloth.particle_begin = particles.current.len() as u32 + 3;
            cloth.particle_count = body.rows.len() as u32;
            cloth.row_begin = body.rows.start as u32;
            cloth.cloth = particles.cloths.len() as u32;
            let mut random =
                |w: f32| [rng.range(-1.0, 1.0), rng.range(-1.0, 1.0), rng.range(-1.0, 1.0), w];
            for k in 0..body.rows.len() + 3 {
                particles.current.push(random([0.0, 50.0, 100.0][k % 3]));
                particles.previous.push(random(100.0));
            }
            let mut report = Feedback::zeroed();
            report.is_asleep = u32::from(rng.index(6) == 0);
            report.fault_count = 2 * u32::from(rng.index(6) == 0);
            particles.reports.push(report);
            particles.cloths.push(cloth);
        }
        particles
    }

    /// Returns the cloths in the form that the mirror takes.
    fn members(&mut self) -> Vec<ContactBody<'_>> {
        let (mut current, mut previous) = (&mut self.current[..], &mut self.previous[..]);
        let cloths = self.cloths.iter().zip(&mut self.reports);
        let member = |(cloth, feedback): (&ContactCloth, _)| {
            let count = cloth.particle_count as usize;
            let own = [&mut current, &mut previous].map(|rows| particles_of(rows, count));
            let [current, previous] = own;
            ContactBody { current, previous, feedback }
        };
        cloths.map(member).collect()
    }
}

/// Splits the particles of the next cloth, after three unused ones, off the front of all particles.
fn particles_of<'a>(rows: &mut &'a mut [[f32; 4]], count: usize) -> &'a mut [[f32; 4]] {
    &mut rows.split_off_mut(..count + 3).unwrap()[3..]
}

/// Returns the first difference from the mirror in the targets that these kernels compute from
/// particles, or in the particles that they write back.
pub(super) fn first_particle_failure(gpu: &Headless, engine: &EngineOptions) -> Option<String> {
    let (device, queue) = (gpu.device(), gpu.queue());
    let mut kernels = TriangleRounds::new(device, engine).unwrap();
    (0..30).find_map(|seed| {
        let mut rng = Rng::new(20_000 + seed);
        let (mut contact, thickness) = random_scene(&mut rng);
        let mut particles = Particles::random(&mut rng, &contact);
        let ends: Vec<Vec3> = contact.start.iter().map(|at| *at + point(&mut rng, 0.1)).collect();
        let fraction = [rng.range(0.0, 1.0), 1.0][rng.index(2)];
        contact.set_frame(&ends);
        let buffers = [
            buffer(gpu, &particles.cloths),
            buffer(gpu, &particles.current),
            buffer(gpu, &particles.previous),
            buffer(gpu, &particles.reports),
        ];
        let mut run = |before: &TriangleRound, bodies: &TriangleBodies, is_apply: bool| {
            kernels.upload(device, queue, before, bodies, 0, 1).unwrap();
            let mut encoder =
                device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            if is_apply {
                kernels.encode_apply(device, &mut encoder, buffers.each_ref());
            } else {
                kernels.encode_targets(device, &mut encoder, buffers.each_ref());
            }
            queue.submit([encoder.finish()]);
            kernels.read(device, queue, before).unwrap()
        };

        let bodies = contact.packed_bodies();
        let before = TriangleRound { fraction, ..contact.packed(thickness) };
        let found = run(&before, &bodies, false);
        let cloths = particles.cloths.clone();
        contact.set_targets(&cloths, &particles.members(), [fraction, before.slice_part]);
        let after = contact.packed(thickness);
        let targets = differ("target", &found.moves, &after.moves);
        let targets = targets.or_else(|| differ("target: row", &found.rows, &after.rows));

        contact.start.iter_mut().for_each(|at| *at += point(&mut rng, 0.01));
        contact.carry.iter_mut().for_each(|carry| *carry = point(&mut rng, 0.01));
        run(&contact.packed(thickness), &bodies, true);
        contact.write_particles(&cloths, &mut particles.members());
        let read = |index: usize| gpu.read_buffer(&buffers[index]).unwrap();
        let [current, previous] =
            [1, 2].map(|index| pod_collect_to_vec::<u8, [f32; 4]>(&read(index)));
        let applied = differ("apply: current", &current, &particles.current);
        let applied = applied.or_else(|| differ("apply: previous", &previous, &particles.previous));
        targets.or(applied).map(|difference| format!("seed {seed}: {difference}"))
    })
}

#[test]
fn targets_and_written_particles_equal_the_mirror() {
    let engine = EngineOptions::default();
    let Some(gpu) = headless_as_mirror(engine.clone()) else { return };
    assert_eq!(first_particle_failure(&gpu, &engine), None);
}
