//! Self collision with neighbor lists that are kept between iterations, against the reference,
//! which searches in every iteration: bit for bit at every width, whatever moves the particles or
//! changes the settings that lists depend on.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod common;

use common::loose;
use poplin_cpu::{CpuEngine, WideTeam};
use poplin_cpu::{LaneEngine, ReferenceEngine, Team, Workers};
use poplin_geometry::Rng;
use poplin_host::{ClothId, Engine as _, FramePart, ParticleMotion};
use poplin_model::{ClothDesc, Particle};

/// Distance kept between particles \[m\].
const DISTANCE: f32 = 0.02;

/// Particles along each side of the square in which they rest, closer than the distance.
const SIDE: usize = 14;

const FRAMES: usize = 24;

/// Unconnected particles in a square, spaced 2.8 mm closer than the distance; some are pinned.
fn square() -> ClothDesc {
    let particle = |k: usize| {
        let [x, z] = [k % SIDE, k / SIDE].map(|step| 0.86 * DISTANCE * step as f32);
        [x, 0.0, z, if k % 13 == 5 { 0.0 } else { 1.0 + (k % 7) as f32 }]
    };
    let mut cloth = loose((0..SIDE * SIDE).map(particle));
    cloth.config.self_collision.distance = Some(DISTANCE);
    cloth.config.self_collision.friction = 0.4;
    cloth.config.damping = [0.3; 3];
    cloth
}

/// Moves every particle to a random point in a cube of half side `size`, some of them to the same
/// point.
fn crumple(particles: &mut [Particle], rng: &mut Rng, size: f32) {
    for particle in particles.iter_mut() {
        particle.position = rng.point(-size, size);
    }
    let one = particles[3].position;
    particles[30..34].iter_mut().for_each(|particle| particle.position = one);
    // A pinned particle, which must not even change from -0 to +0.
    particles[5].position = [-0.0; 3];
    particles[6].position = [0.3 * DISTANCE, 0.0, 0.0];
}

/// Change made to a cloth before a frame.
type Edit = fn(&mut dyn Subject, usize, &mut Rng);

/// Engine with one cloth, for any kind of workers.
trait Subject {
    fn particles(&self) -> Vec<Particle>;
    fn set_particles(&mut self, particles: &[Particle]);
    fn cloth_mut(&mut self) -> &mut poplin_host::Cloth;
    fn reset(&mut self);
    /// Replaces the cloth by a new one that continues at the same positions.
    fn replace(&mut self);
}

struct Run<W: Workers> {
    engine: LaneEngine<W>,
    id: ClothId,
    team: W,
    rng: Rng,
}

impl<W: Workers + Default + Clone + Send + Sync + 'static> Run<W> {
    fn new(team: W) -> Self {
        let mut engine = LaneEngine::new();
        let id = engine.add(square()).unwrap();
        Self { engine, id, team, rng: Rng::new(3) }
    }

    fn step(&mut self, edit: Edit, frame: usize) -> Vec<[u32; 4]> {
        let mut rng = std::mem::replace(&mut self.rng, Rng::new(0));
        edit(self, frame, &mut rng);
        self.rng = rng;
        self.engine.begin_frame(1.0 / 60.0).unwrap();
        self.engine.run_part(self.id, &FramePart::WHOLE, &mut self.team).unwrap();
        let states = [self.engine.current(self.id), self.engine.previous(self.id)];
        states.concat().into_iter().map(|row| <[f32; 4]>::from(row).map(f32::to_bits)).collect()
    }
}

impl<W: Workers + Default + Clone + Send + Sync + 'static> Subject for Run<W> {
    fn particles(&self) -> Vec<Particle> {
        self.engine.current(self.id).to_vec()
    }

    fn set_particles(&mut self, particles: &[Particle]) {
        self.engine.set_particles(self.id, particles, ParticleMotion::Rest).unwrap();
    }

    fn cloth_mut(&mut self) -> &mut poplin_host::Cloth {
        self.engine.cloth_mut(self.id).unwrap()
    }

    fn reset(&mut self) {
        self.engine.reset(self.id).unwrap();
    }

    fn replace(&mut self) {
        let particles = self.particles();
        self.engine.remove(self.id).unwrap();
        self.id = self.engine.add(square()).unwrap();
        self.set_particles(&particles);
    }
}

#[track_caller]
fn assert_same(what: &str, edit: Edit) {
    let mut mirror = Run::<Team>::new(Team::single());
    let mut wide: Vec<_> = WideTeam::all().into_iter().map(Run::<WideTeam>::new).collect();
    let start = mirror.particles();
    let mut has_moved = false;
    for frame in 0..FRAMES {
        let expected = mirror.step(edit, frame);
        has_moved |= mirror.particles() != start;
        for run in &mut wide {
            let got = run.step(edit, frame);
            let differing = got.iter().zip(&expected).filter(|(a, b)| a != b).count();
            let lanes = run.team.describe();
            assert_eq!(differing, 0, "{what}, {lanes}: particles that differ after frame {frame}");
        }
    }
    assert!(has_moved, "{what}: nothing has moved");
}

#[test]
fn crumpled_cloth_unfolds_as_in_the_reference() {
    for (what, edit) in [
        (
            "dense",
            (|it, frame, rng| {
                let mut particles = it.particles();
                if frame == 0 {
                    crumple(&mut particles, rng, 3.0 * DISTANCE);
                    it.set_particles(&particles);
                }
            }) as Edit,
        ),
        ("loose", |it, frame, rng| {
            let mut particles = it.particles();
            if frame == 0 {
                crumple(&mut particles, rng, 7.0 * DISTANCE);
                it.set_particles(&particles);
            }
        }),
    ] {
        assert_same(what, edit);
    }
}

#[test]
fn contacts_on_cell_borders_keep_the_reference_order() {
    assert_same("borders", |it, frame, _| {
        let mut particles = it.particles();
        if frame % 8 == 0 {
            for (k, particle) in particles.iter_mut().enumerate() {
                let cell = 0.5 * 1.01 * DISTANCE;
                let step = [k % 6, k / 6 % 6, k / 36].map(|step| step as f32 - 3.0);
                particle.position = step.map(|step| cell * step);
            }
            it.set_particles(&particles);
        }
    });
}

#[test]
fn lists_are_rebuilt_when_particles_come_close() {
    // One particle moves through the others, by steps of less and of more than the margin of a
    // search.
    for (what, edit) in [
        ("slow", (|it, frame, _| shoot(it, frame, 0.3)) as Edit),
        ("fast", |it, frame, _| shoot(it, frame, 1.7)),
    ] {
        assert_same(what, edit);
    }
}

fn shoot(it: &mut dyn Subject, frame: usize, steps: f32) {
    let mut particles = it.particles();
    let height = DISTANCE * (4.0 - steps * frame as f32);
    particles[50].position = [5.3 * DISTANCE, height, 3.2 * DISTANCE];
    it.set_particles(&particles);
}

#[test]
fn lists_follow_scattered_and_moved_particles() {
    assert_same("moved", |it, frame, rng| {
        let mut particles = it.particles();
        if frame % 6 == 0 {
            crumple(&mut particles, rng, 4.0 * DISTANCE);
        }
        // Beyond 65,536 cells.
        let step = if frame == 6 { 3000.0 } else { 0.3 * DISTANCE };
        for (k, particle) in particles.iter_mut().enumerate() {
            particle.position[0] += step;
            if frame % 4 == 3 && k < SIDE * SIDE / 2 {
                particle.position[1] += 0.4 * DISTANCE;
            }
        }
        it.set_particles(&particles);
    });
}

#[test]
fn approaching_blocks_are_found() {
    for (what, edit) in [
        ("from next to it", (|it, frame, _| approach(it, 11.0 - 0.25 * frame as f32)) as Edit),
        ("from afar", |it, frame, _| approach(it, if frame < 9 { 60.0 } else { 6.5 })),
    ] {
        assert_same(what, edit);
    }
}

/// Two separate blocks of particles, one of them at `x` times the distance.
fn approach(it: &mut dyn Subject, x: f32) {
    let mut particles = it.particles();
    let half = particles.len() / 2;
    for (k, particle) in particles.iter_mut().enumerate() {
        let [i, j, l] =
            [k % half % 5, k % half / 5 % 5, k % half / 25].map(|step| 1.5 * step as f32);
        let x = if k < half { 0.0 } else { x };
        particle.position = [x + i, j, l].map(|step| DISTANCE * step);
    }
    it.set_particles(&particles);
}

#[test]
fn changed_settings_rebuild_the_lists() {
    assert_same("settings", |it, frame, rng| {
        let mut particles = it.particles();
        // Afterwards they stay close enough that lists are kept.
        if frame % 12 == 0 {
            crumple(&mut particles, rng, 2.0 * DISTANCE);
            it.set_particles(&particles);
        }
        let cloth = it.cloth_mut();
        let mut config = cloth.desc().config.clone();
        config.gravity = [0.0; 3];
        config.self_collision.stiffness = 0.01;
        config.damping = [0.99; 3];
        match frame {
            3 => config.self_collision.distance = Some(1.5 * DISTANCE),
            6 => config.self_collision.distance = Some(0.0),
            8 => config.self_collision.distance = Some(DISTANCE),
            _ => {}
        }
        cloth.set_config(config).unwrap();
        match frame {
            14 => {
                let wider: Vec<_> = particles.iter().map(|p| p.position.map(|x| 3.0 * x)).collect();
                cloth.set_rest_positions(&wider).unwrap();
            }
            16 => cloth.set_self_collision_indices(&(1..98).collect::<Vec<_>>()).unwrap(),
            // These are the same rows, since rows are padded with zeros.
            18 => {
                cloth.set_self_collision_indices(&(1..98).chain([0]).collect::<Vec<_>>()).unwrap()
            }
            20 => {
                let others: Vec<_> = (98..195).chain([0]).collect();
                cloth.set_self_collision_indices(&others).unwrap();
            }
            _ => {}
        }
    });
}

#[test]
fn reset_and_replaced_cloths_are_searched_again() {
    assert_same("exchanged", |it, frame, rng| match frame % 6 {
        1 => {
            let mut particles = it.particles();
            crumple(&mut particles, rng, 4.0 * DISTANCE);
            it.set_particles(&particles);
        }
        3 => it.replace(),
        5 => it.reset(),
        _ => {}
    });
}

#[test]
fn whole_steps_match_the_reference() {
    let (mut wide, mut mirror) = (CpuEngine::new(), ReferenceEngine::new());
    let ids = [wide.add(square()).unwrap(), mirror.add(square()).unwrap()];
    let mut particles = wide.current(ids[0]).to_vec();
    crumple(&mut particles, &mut Rng::new(8), 4.0 * DISTANCE);
    wide.set_particles(ids[0], &particles, ParticleMotion::Rest).unwrap();
    mirror.set_particles(ids[1], &particles, ParticleMotion::Rest).unwrap();
    for _ in 0..FRAMES {
        wide.step(1.0 / 60.0).unwrap();
        mirror.step(1.0 / 60.0).unwrap();
    }
    assert_eq!(wide.current(ids[0]), mirror.current(ids[1]));
}
