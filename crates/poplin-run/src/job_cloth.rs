//! Cloths of a job: cooking of their meshes, and conversion between mesh vertices and particles.

mod continuous;
pub(crate) mod drivers;
mod middle;
mod parts;
mod perturb;
mod slack;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use glam::Vec3;
use poplin_cook::{CookOptions, CookReport};
use poplin_io::TwistedFaces;
use poplin_measure::depth::{Depth, DepthField};
use poplin_model::{
    ClothDesc, ColliderId, Fabric, MAX_COORDINATE, Material, Mesh, Particle, Pose,
    Shape as SolidShape, SolverChoice, Sphere,
};
use poplin_scene::{
    BuiltCloth, BuiltCollider, LocalFrame, MovingPins, SceneCloth, Shape, VertexAcceleration, Wind,
    groups_of_cloth,
};

use crate::bodies::{ColliderPoses, FrameSplit};
use crate::choices;
use crate::cook_cache::CookCache;
use crate::failure::{Failure, OrFail};
use crate::memory;
use perturb::perturb;
use slack::{slack_scale, weight_strain};

/// Depth at the start that contact resolves at once, in mean edges: cloth that lies on a collider
/// is as deep by rounding and by its perturbation.
const SHALLOW: f32 = 0.01;

/// Default depenetration speed of a cloth that starts inside colliders [m/s].
const GENTLE_SPEED: f32 = 0.05;

/// Cloth of a job: its mesh, the cooked cloth, its copies and its motion.
#[derive(Debug)]
pub struct JobCloth {
    /// Name in the scene.
    pub name: String,
    /// Mesh in local space.
    pub(crate) mesh: Mesh,
    /// Particle of every mesh vertex, shape `[vertex_count]`; `None` where no face is left.
    pub(crate) vertex_to_particle: Vec<Option<u32>>,
    /// Cooked cloth in local space, shared by all copies.
    pub cloth: ClothDesc,
    /// Reasons for the solver's frequency, if it was chosen automatically.
    pub(crate) solver_choice: Option<SolverChoice>,
    /// Division of frames for rigid bodies.
    pub(crate) split: FrameSplit,
    /// Animated and released pins.
    pub(crate) moving: Vec<MovingParticles>,
    /// Velocity of each particle at the start, axes of the local space [m/s]; empty if at rest.
    pub(crate) velocities: Vec<[f32; 3]>,
    /// Angular speed at the start [rad/s].
    pub(crate) spin: f32,
    /// Motion sphere of each particle in local space; empty without any.
    pub(crate) motion_spheres: Vec<Sphere>,
    /// Separation sphere of each particle in local space; empty without any.
    pub(crate) separation_spheres: Vec<Sphere>,
    /// Accelerations added to gravity; their indices are particles, not vertices.
    accelerations: Vec<VertexAcceleration>,
    /// Path of the local space, if it moves.
    frame: Option<LocalFrame>,
    /// Colliders that act on the cloth.
    colliders: Vec<Arc<BuiltCollider>>,
    /// Ids of these colliders in the set of the cloth, if they are not in that of the simulation.
    pub(crate) own_colliders: Vec<ColliderId>,
    /// Time-dependent wind that acts on the cloth.
    pub wind: Option<Wind>,
    /// True if the scene has wind that does not act on the cloth, which has no drag and no lift.
    pub(crate) has_idle_wind: bool,
    /// Strain at its top by its weight; `None` if it does not stretch.
    pub(crate) weight_strain: Option<f32>,
    /// True if continuous collision was stated, on or off.
    states_continuous: bool,
    /// Material, if one was stated.
    pub(crate) material: Option<Material>,
    /// Faces of the mesh file whose triangulation has a flipped triangle.
    pub twisted: TwistedFaces,
    /// Cooking report.
    pub report: CookReport,
    /// Duration of cooking.
    pub cook_time: Duration,
    /// Depth of all copies inside colliders before the first frame.
    pub(crate) start_depth: Depth,
    /// World position of each copy's local space \[m\], at least one.
    pub offsets: Vec<[f32; 3]>,
}

/// Pinned or held particles that move together.
#[derive(Debug)]
pub(crate) struct MovingParticles {
    /// Particles in rising order.
    pub(crate) particles: Vec<u32>,
    /// Path of the particles.
    pub(crate) path: MovingPins,
}

impl JobCloth {
    /// Cooks the mesh of a scene's cloth, and keeps those of the colliders that act on it.
    pub(crate) fn cook(
        scene: &SceneCloth,
        built: BuiltCloth,
        colliders: &[Arc<BuiltCollider>],
        cache: &CookCache,
    ) -> Result<Self, Failure> {
        memory::check(&scene.name, built.mesh.positions.len(), scene.count as usize)?;
        let pins = built.pinned.len();
        let options = cook_options(scene, built.pinned);
        let begin = Instant::now();
        let cooked = cache
            .cook(&built.mesh, &options)
            .with_context(|| format!("cannot cook {}", described(scene)))
            .or_bad_input()?;
        let cook_time = begin.elapsed();
        let (report, vertex_to_particle) =
            (cooked.report.clone(), cooked.vertex_to_particle.clone());
        log::info!(
            "cooked cloth `{}` in {:.1} ms: {} of {} vertices welded away, {} islands of pins, {:.3} m^2, {:.3} kg",
            scene.name,
            cook_time.as_secs_f64() * 1e3,
            report.welded_vertex_count,
            report.vertex_count,
            report.island_count,
            report.area,
            report.mass
        );
        log::debug!("cooking of `{}`:\n{report}", scene.name);
        if pins > 0 && report.pinned_count == 0 {
            return Err(Failure::BadInput(anyhow!(
                "{}: no face uses {}, so the cloth has no pins",
                described(scene),
                if pins == 1 {
                    "the pinned vertex".into()
                } else {
                    format!("any of the {pins} pinned vertices")
                }
            )));
        }
        let mut cloth = cooked.cloth.clone();
        cloth.config = scene.config.clone();
        perturb(&mut cloth, scene.perturbation);
        if !scene.phase_order.is_empty() {
            let phases: Vec<_> = (0..).zip(&cloth.fabric.phases).collect();
            let of_kind = |kind| {
                phases.iter().filter(move |(_, phase)| phase.kind == kind).map(|(index, _)| *index)
            };
            cloth.phase_order = scene.phase_order.iter().flat_map(|&kind| of_kind(kind)).collect();
        }
        scene.set_membrane(&mut cloth);
        let solver_choice = cloth.choose_solver(scene.chosen);
        let weight_strain = weight_strain(&cloth, &report);
        if let (Some(strain), false) = (weight_strain, scene.stated.states("tethers.scale")) {
            cloth.config.tethers.scale = slack_scale(strain);
        }
        log::debug!("settings of `{}`: {:#?}", scene.name, cloth.config);
        let velocities = scene.velocities(&cloth.particles);
        let moving = built.moving.into_iter();
        let moving = moving.map(|path| MovingParticles::new(path, &vertex_to_particle)).collect();
        let of_particles = |spheres: &[Option<Sphere>], none: Sphere| {
            spheres_of(spheres, none, &vertex_to_particle, cloth.particle_count())
        };
        let motion_spheres = of_particles(&built.motion_spheres, EVERYWHERE);
        let separation_spheres = of_particles(&built.separation_spheres, NOWHERE);
        let accelerations = built.accelerations.into_iter().map(|pull| VertexAcceleration {
            vertices: particles_of(&pull.vertices, &vertex_to_particle),
            ..pull
        });
        let accelerations = accelerations.collect();
        let offsets = (0..scene.count).map(|copy| scene.copy_offset(copy)).collect();
        // Wind without effect would only keep the cloth from sleeping.
        let feels_wind = scene.config.air.feels_wind();
        let (name, mesh, frame) = (scene.name.clone(), built.mesh, scene.frame.clone());
        let wind = scene.wind.filter(|_| feels_wind);
        let has_idle_wind = scene.wind.is_some() && !feels_wind;
        cloth.collider_groups = groups_of_cloth(colliders.iter().map(Arc::as_ref), &name);
        let colliders =
            colliders.iter().filter(|collider| collider.acts_on(&name)).cloned().collect();
        let mut job_cloth = Self {
            name,
            mesh,
            vertex_to_particle,
            cloth,
            solver_choice,
            split: FrameSplit::default(),
            moving,
            velocities,
            spin: Vec3::from(scene.angular_velocity).length().to_radians(),
            motion_spheres,
            separation_spheres,
            accelerations,
            frame,
            colliders,
            own_colliders: Vec::new(),
            wind,
            has_idle_wind,
            weight_strain,
            states_continuous: scene.stated.states("contact.continuous"),
            material: scene.material,
            twisted: built.twisted,
            report,
            cook_time,
            start_depth: Depth::default(),
            offsets,
        };
        job_cloth.cloth.particle_accelerations = job_cloth.accelerations_at(0.0);
        job_cloth.start_depth = job_cloth.depth_at_start()?;
        if job_cloth.starts_inside() && !scene.stated.states("contact.depenetration_speed") {
            job_cloth.cloth.config.contact.depenetration_speed = GENTLE_SPEED;
        }
        job_cloth.cloth.validate().or_bad_input()?;
        Ok(job_cloth)
    }

    /// Tests whether the cloth starts so deep inside a collider that pushing it out at once would
    /// tear it.
    pub(crate) fn starts_inside(&self) -> bool {
        let shallow = SHALLOW * mean_rest_length(&self.cloth.fabric);
        self.start_depth.deepest_m > f64::from(shallow)
    }

    fn depth_at_start(&self) -> Result<Depth, Failure> {
        if !self.has_colliders() {
            return Ok(Depth::default());
        }
        let field = DepthField::new(&self.shapes_in(&ColliderPoses::start())?);
        let of_copy = |copy| field.measure(self.pose_at(copy, 0.0), &self.cloth.particles);
        Ok((0..self.offsets.len()).map(of_copy).fold(Depth::default(), Depth::and))
    }

    /// Returns the cloth of a copy with the pose of its local space; all copies share one fabric.
    pub(crate) fn copy(&self, copy: usize) -> ClothDesc {
        ClothDesc { pose: self.pose_at(copy, 0.0), ..self.cloth.clone() }
    }

    /// Returns the world-space shapes that the copies collide with.
    pub(crate) fn shapes_in(
        &self,
        collider_poses: &ColliderPoses,
    ) -> Result<Vec<SolidShape>, Failure> {
        collider_poses.shapes(&self.colliders).or_bad_input()
    }

    /// Tests whether accelerations added to gravity change over time.
    pub(crate) fn has_changing_accelerations(&self) -> bool {
        self.accelerations.iter().any(|pull| pull.keys.len() > 1)
    }

    /// Returns the acceleration of each particle added to gravity at a time \[s\] [m/s^2]; empty if
    /// there are none.
    pub(crate) fn accelerations_at(&self, time: f32) -> Vec<[f32; 3]> {
        if self.accelerations.is_empty() {
            return Vec::new();
        }
        let mut all = vec![[0.0; 3]; self.cloth.particle_count()];
        for pull in &self.accelerations {
            let more = pull.at(time);
            for &particle in &pull.vertices {
                let sum = &mut all[particle as usize];
                *sum = std::array::from_fn(|k| sum[k] + more[k]);
            }
        }
        all
    }

    /// Returns the mesh triangles of all copies without pinned corners, as indices into the
    /// vertices of [`JobCloth::append_vertices`].
    pub(crate) fn free_triangles(&self) -> impl Iterator<Item = [u32; 3]> {
        let is_free = |&vertex: &u32| {
            let particle = self.vertex_to_particle[vertex as usize];
            particle.is_some_and(|particle| !self.cloth.particles[particle as usize].is_pinned())
        };
        let own: Vec<_> = self.mesh.triangulated();
        let own: Vec<_> = own.into_iter().filter(|triangle| triangle.iter().all(is_free)).collect();
        // Vertices of copy k begin at k * step.
        let step = self.mesh.positions.len() as u32;
        (0..self.offsets.len() as u32).flat_map(move |copy| {
            own.clone().into_iter().map(move |it| it.map(|k| k + copy * step))
        })
    }

    /// Returns the colliders that act on the copies.
    pub(crate) fn colliders(&self) -> impl Iterator<Item = &BuiltCollider> {
        self.colliders.iter().map(Arc::as_ref)
    }

    /// Returns the bounding box of the particles before the first frame, in local space \[m\].
    pub(crate) fn bounds(&self) -> [Vec3; 2] {
        choices::bounds(self.cloth.particles.iter().map(|particle| &particle.position))
    }

    /// Tests whether the local space of every copy is world space.
    pub(crate) fn is_in_the_world(&self) -> bool {
        self.frame.is_none() && self.offsets.iter().all(|offset| *offset == [0.0; 3])
    }

    /// Adds the colliders to the set of the cloth instead of that of the simulation. The local
    /// space of every copy must be world space.
    pub(crate) fn own_colliders(&mut self) -> Result<(), Failure> {
        let set = &mut self.cloth.colliders;
        let add = |collider: &Arc<BuiltCollider>| {
            set.add(collider.collider_at(0.0).or_bad_input()?).or_bad_input()
        };
        self.own_colliders = self.colliders.iter().map(add).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Tests whether any collider acts on the cloth.
    pub(crate) fn has_colliders(&self) -> bool {
        !self.colliders.is_empty()
    }

    /// Returns the pose of a copy's local space at a time \[s\].
    pub(crate) fn pose_at(&self, copy: usize, time: f64) -> Pose {
        let pose = self.frame.as_ref().map_or_else(Pose::default, |frame| frame.pose_at(time));
        let offset = self.offsets[copy];
        Pose { translation: [0, 1, 2].map(|axis| pose.translation[axis] + offset[axis]), ..pose }
    }

    /// Returns the number of particles of all copies.
    pub(crate) fn particle_count(&self) -> usize {
        self.cloth.particle_count() * self.offsets.len()
    }

    /// Returns the number of edges of all copies.
    pub(crate) fn edge_count(&self) -> usize {
        self.cloth.fabric.edge_count() * self.offsets.len()
    }

    /// Returns the number of mesh vertices of all copies.
    pub(crate) fn vertex_count(&self) -> usize {
        self.mesh.positions.len() * self.offsets.len()
    }

    /// Appends the world positions of a copy's mesh vertices \[m\], given its particles and the
    /// pose of its local space. A vertex without a particle keeps its rest position in local space.
    pub(crate) fn append_vertices(
        &self,
        pose: Pose,
        particles: &[Particle],
        vertices: &mut Vec<[f32; 3]>,
    ) {
        vertices.extend(self.vertex_to_particle.iter().zip(&self.mesh.positions).map(
            |(particle, &start)| {
                match particle.and_then(|particle| particles.get(particle as usize)) {
                    Some(particle) => pose.apply(particle.position),
                    None => pose.apply(start),
                }
            },
        ));
    }
}

impl MovingParticles {
    fn new(path: MovingPins, vertex_to_particle: &[Option<u32>]) -> Self {
        Self { particles: particles_of(&path.vertices, vertex_to_particle), path }
    }
}

/// Motion sphere that limits no particle.
const EVERYWHERE: Sphere = Sphere { center: [0.0; 3], radius: MAX_COORDINATE };

/// Separation sphere that contains no particle.
const NOWHERE: Sphere = Sphere { center: [0.0; 3], radius: 0.0 };

/// Returns the particles of vertices, sorted and unique.
fn particles_of(vertices: &[u32], vertex_to_particle: &[Option<u32>]) -> Vec<u32> {
    let particle = |&vertex: &u32| *vertex_to_particle.get(vertex as usize)?;
    let mut particles: Vec<u32> = vertices.iter().filter_map(particle).collect();
    particles.sort_unstable();
    particles.dedup();
    particles
}

/// Maps spheres of vertices to particles, with `none` for particles without one; empty without any.
fn spheres_of(
    spheres: &[Option<Sphere>],
    none: Sphere,
    vertex_to_particle: &[Option<u32>],
    count: usize,
) -> Vec<Sphere> {
    if spheres.is_empty() {
        return Vec::new();
    }
    let mut all = vec![none; count];
    for (sphere, particle) in spheres.iter().zip(vertex_to_particle) {
        if let (Some(sphere), Some(particle)) = (sphere, particle) {
            all[*particle as usize] = *sphere;
        }
    }
    all
}

/// Returns the mean rest length of the edges \[m\], 0 without edges.
pub(crate) fn mean_rest_length(fabric: &Fabric) -> f32 {
    let lengths = &fabric.rest_lengths;
    lengths.iter().sum::<f32>() / lengths.len().max(1) as f32
}

fn cook_options(scene: &SceneCloth, pins: Vec<u32>) -> CookOptions {
    let SceneCloth { fabric, config, .. } = scene;
    CookOptions {
        pins,
        // Without gravity, cooking still needs a downward direction.
        gravity: if config.gravity == [0.0; 3] { fabric.gravity } else { config.gravity },
        // XPBD solves each fiber as one linear system: longer fibers converge better.
        max_fiber_length: fabric.max_fiber_length.or(config.solver.is_xpbd().then_some(1024)),
        bends: fabric.bends || config.solver.needs_bends(),
        bending: fabric.bending || config.solver.needs_two_ring_edges(),
        yarns: scene.yarns(),
        levels: fabric.levels || config.solver.as_multilevel().is_some(),
        ..fabric.clone()
    }
}

fn described(scene: &SceneCloth) -> String {
    match &scene.shape {
        Shape::Mesh(path) => format!("cloth `{}` from {}", scene.name, path.display()),
        Shape::Grid(_) | Shape::Tube(_) => format!("cloth `{}`", scene.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use poplin_scene::Scene;

    /// Cooks a sheet with a collider; `frame` and `keys` are TOML lines of the sheet and the
    /// collider.
    fn job_cloth(frame: &str, keys: &str) -> JobCloth {
        let sheet = "[[cloth]]\ngrid = { columns = 3, rows = 3, width = 1, height = 1 }";
        let text = format!("{sheet}\n{frame}\n[[collider]]\nsphere = {{ radius = 1 }}\n{keys}\n");
        let scene = Scene::parse(&text, "scene.toml").unwrap();
        let colliders: Vec<_> =
            scene.build_colliders().unwrap().into_iter().map(Arc::new).collect();
        JobCloth::cook(
            &scene.cloths[0],
            scene.build_cloth(0).unwrap(),
            &colliders,
            &CookCache::default(),
        )
        .unwrap()
    }

    const KEYS: &str = "keys = [{ time = 0 }, { time = 1, translation = [0, 2, 0] }, { time = 2, translation = [0, 2, 0] }]";

    /// Returns the poses of colliders at a time \[s\].
    fn at(time: f64) -> ColliderPoses {
        crate::bodies::Bodies::default().collider_poses(time)
    }

    #[test]
    fn copies_are_spaced_and_share_colliders() {
        let job_cloth =
            job_cloth(&format!("count = 2\nspacing = [5, 0, 0]\nframe = {{ {KEYS} }}"), "");
        assert_eq!(job_cloth.copy(1).pose.translation, [5.0, 0.0, 0.0]);
        assert_eq!(job_cloth.pose_at(1, 0.5).translation, [5.0, 1.0, 0.0]);
        assert_eq!(job_cloth.shapes_in(&at(0.5)).unwrap(), [SolidShape::sphere(1.0)]);
    }

    #[test]
    fn collider_shapes_follow_their_keys() {
        let moved = job_cloth("", KEYS).shapes_in(&at(0.5)).unwrap();
        let center = [0.0, 1.0, 0.0];
        assert_eq!(moved, [poplin_model::Sphere { center, radius: 1.0 }.into()]);
    }

    #[test]
    fn a_stated_compliance_of_zero_stays_beside_a_material() {
        let phases = |lines: &str| {
            let job_cloth = job_cloth(&format!("material = 'silk'\n{lines}"), "");
            job_cloth.cloth.config.solver.as_xpbd().unwrap().phases.clone()
        };
        let silk = phases("").shearing;
        assert!(silk.compliance > 0.0 && silk.damping > 0.0);
        let stated = phases("solver.xpbd.phases.shearing.compliance = 0");
        assert_eq!((stated.shearing.compliance, stated.shearing.damping), (0.0, 0.0));
        assert!(stated.vertical.compliance > 0.0);
        let undamped = phases("solver.xpbd.phases.shearing.damping = 0").shearing;
        assert_eq!((undamped.compliance, undamped.damping), (silk.compliance, 0.0));
    }

    #[test]
    fn a_stated_depenetration_speed_is_kept_inside_a_collider() {
        let speed = |lines| job_cloth(lines, "").cloth.config.contact.depenetration_speed;
        // Its lower edge on top of the ball, and 1 mm inside it with edges of 0.5 m.
        assert!(speed("transform = { translation = [-0.5, 2, 0] }") > 1e5);
        assert!(speed("transform = { translation = [-0.5, 1.999, 0] }") > 1e5);
        assert_eq!(speed(""), GENTLE_SPEED);
        assert_eq!(speed("contact.depenetration_speed = 1e6"), 1e6);
    }
}
