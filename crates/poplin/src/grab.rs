//! Interactive grabbing: a particle that follows a point.

use poplin_cook::path_lengths;
use poplin_host::{Cloth, HoldId};
use poplin_model::{ClothDesc, ModelError, Particle, Sphere, check_dt, check_finite};

/// Options of [`Grab::new`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GrabOptions {
    /// Radius around the grabbed particle, measured along the cloth, within which particles are
    /// held with it \[m\], `0..=1000` (default 0.05). It spreads the pull over that area; 0 pulls
    /// at a single particle.
    pub radius: f32,
    /// Maximum speed of the grabbed particle towards its target [m/s], `0..=1000` (default 3).
    pub max_speed: f32,
    /// Maximum stretch of the cloth by the grab: excess of the distance between the grabbed
    /// particle and any other over their path length along the cloth, as a fraction of that length,
    /// `0..=10` (default 0.02). Taut cloth limits the motion.
    pub max_stretch: f32,
}

impl Default for GrabOptions {
    fn default() -> Self {
        Self { radius: 0.05, max_speed: 3.0, max_stretch: 0.02 }
    }
}

impl GrabOptions {
    /// Checks the ranges given in the field docs.
    ///
    /// # Errors
    /// [`ModelError::OutOfRange`] that names the first field out of range.
    pub fn validate(&self) -> Result<(), ModelError> {
        for (field, value, max) in [
            ("grab.radius", self.radius, 1000.0),
            ("grab.max_speed", self.max_speed, 1000.0),
            ("grab.max_stretch", self.max_stretch, 10.0),
        ] {
            if !(0.0..=max).contains(&value) {
                return Err(ModelError::OutOfRange { field: field.into(), value, min: 0.0, max });
            }
        }
        Ok(())
    }
}

/// A particle that follows a point, such as the mouse pointer, until it is released. Any number of
/// grabs may hold a cloth; if two hold the same particle, the later one wins.
///
/// The particle is held at the target, or as near to it as the limits of speed and stretch permit:
///
/// ```text
/// |hold - last hold| <= max_speed dt
/// |hold - x_j|       <= path_j + max(max_stretch path_j, max_speed dt)    for every particle j
/// ```
///
/// with `path_j` the length of the path from the grabbed particle to particle j along the cloth at
/// rest. Taut cloth therefore stops the grab whatever the cloth hangs on, and a jump of the mouse
/// does not tear it. A particle that is pinned or held does not follow and has no `max_speed dt`
/// term; cloth that was already stretched further when it was grabbed may stay so. Particles within
/// `radius` along the cloth stay within their path length of the held position. All of this uses
/// [`Cloth::hold`], which does not change the other inputs. The `x_j` are the positions read
/// last: with a state that is `k` frames old the particle follows at `max_speed / (k + 1)`.
///
/// A pinned particle can be grabbed too; it stays where it is released.
#[derive(Debug)]
pub struct Grab {
    hold: HoldId,
    options: GrabOptions,
    /// Radii of the spheres of the held particles \[m\], 0 for the grabbed one.
    radii: Vec<f32>,
    /// Per particle: path length from the grabbed particle along the cloth \[m\], infinite if there
    /// is no path, and the largest distance allowed between the two \[m\].
    paths: Vec<[f64; 2]>,
    /// Current held position, in local space \[m\].
    at: [f32; 3],
    /// Target position, in world space \[m\].
    target: Option<[f32; 3]>,
}

impl Grab {
    /// Grabs a particle of a cloth at its current position. `particles` are all particles of the
    /// cloth as read last, `State::current`.
    ///
    /// # Errors
    /// [`ModelError`] if an option is out of range, the particle does not exist, or the length of
    /// `particles` is not the particle count of the cloth; nothing is grabbed.
    pub fn new(
        cloth: &mut Cloth,
        particles: &[Particle],
        particle: u32,
        options: GrabOptions,
    ) -> Result<Self, ModelError> {
        options.validate()?;
        check_particles(cloth, particles)?;
        let Some(&Particle { position: at, .. }) = particles.get(particle as usize) else {
            let (what, count) = ("grabbed particle", particles.len());
            return Err(ModelError::IndexOutOfRange { what, position: 0, index: particle, count });
        };
        let stretch = 1.0 + f64::from(options.max_stretch);
        let now = particles.iter().map(|other| distance(at, other.position));
        // Cloth that is already stretched beyond the limit keeps its present distance.
        let path = |(path, now): (f64, f64)| [path, now.max(stretch * path)];
        let lengths = paths(cloth.desc(), particle);
        let is_near = |&index: &u32| {
            index != particle
                && lengths[index as usize] <= options.radius.into()
                && !cloth.desc().particles[index as usize].is_pinned()
        };
        let near = (0..particles.len() as u32).filter(is_near);
        // The grabbed particle first: its sphere has radius 0.
        let held: Vec<u32> = std::iter::once(particle).chain(near).collect();
        // Neighbours move freely in a sphere around the hold, as far as the cloth between reaches.
        let radius = |&index: &u32| {
            let now = distance(at, particles[index as usize].position);
            now.max(lengths[index as usize]) as f32
        };
        let radii: Vec<f32> = held.iter().map(radius).collect();
        let paths = lengths.iter().copied().zip(now).map(path).collect();
        let hold = cloth.hold(&held, &spheres(at, &radii))?;
        Ok(Self { hold, options, radii, paths, at, target: None })
    }

    /// Sets the target of the particle in world space \[m\]. The target is fixed in the world and
    /// does not move with the local space.
    ///
    /// # Errors
    /// [`ModelError::NotFinite`]; the old target is kept.
    pub fn move_to(&mut self, target: [f32; 3]) -> Result<(), ModelError> {
        check_finite("grab target", &[target])?;
        self.target = Some(target);
        Ok(())
    }

    /// Moves the particle over the next frame of `dt` seconds; call it before every frame, after
    /// the pose of the cloth is set. `particles` are all particles of the cloth as read last, or an
    /// empty slice if nothing was read.
    ///
    /// # Errors
    /// [`ModelError::StaleHandle`] if a reset or [`set_particles`](crate::Engine::set_particles)
    /// has ended the hold; [`ModelError`] if the frame is out of range or the length of `particles`
    /// is not the particle count of the cloth.
    pub fn apply(
        &mut self,
        cloth: &mut Cloth,
        particles: &[Particle],
        dt: f32,
    ) -> Result<(), ModelError> {
        check_dt(dt)?;
        if !particles.is_empty() {
            check_particles(cloth, particles)?;
        }
        let target = self.target.map_or(self.at, |target| cloth.target_pose().to_local(target));
        let at = self.reach(target, particles, dt);
        cloth.move_hold(self.hold, &spheres(at, &self.radii))?;
        self.at = at;
        Ok(())
    }

    /// Releases the particle, which keeps its current velocity. Does nothing if the cloth was
    /// removed.
    pub fn release(self, cloth: &mut Cloth) {
        cloth.release(self.hold);
    }

    /// Approximates the point nearest to `target` that satisfies every limit of stretch and speed.
    fn reach(&self, target: [f32; 3], particles: &[Particle], dt: f32) -> [f32; 3] {
        // Free particles may follow by this much within the frame.
        let move_limit = f64::from(self.options.max_speed) * f64::from(dt);
        let mut point = target.map(f64::from);
        // Sequential projection onto the spheres: one pass, not the exact intersection.
        for (particle, &[path, reach]) in particles.iter().zip(&self.paths) {
            // A particle that is held itself does not follow.
            let lag = if particle.is_pinned() && path > 0.0 { 0.0 } else { move_limit };
            pull(&mut point, particle.position, reach.max(path + lag));
        }
        // Last, so that the speed limit always holds exactly.
        pull(&mut point, self.at, move_limit);
        point.map(|x| x as f32)
    }
}

/// Projects a point into the sphere of radius `limit` around a center.
fn pull(point: &mut [f64; 3], center: [f32; 3], limit: f64) {
    let center = center.map(f64::from);
    let delta: [f64; 3] = std::array::from_fn(|k| point[k] - center[k]);
    let square: f64 = delta.iter().map(|x| x * x).sum();
    if square > limit * limit {
        *point = std::array::from_fn(|k| center[k] + delta[k] * (limit / square.sqrt()));
    }
}

fn spheres(center: [f32; 3], radii: &[f32]) -> Vec<Sphere> {
    radii.iter().map(|&radius| Sphere { center, radius }).collect()
}

fn check_particles(cloth: &Cloth, particles: &[Particle]) -> Result<(), ModelError> {
    let (len, expected) = (particles.len(), cloth.desc().particle_count());
    if len != expected {
        return Err(ModelError::Length { what: "particles of the grabbed cloth", len, expected });
    }
    Ok(())
}

/// Path length from particle `from` to every particle along the cloth at rest \[m\].
fn paths(cloth: &ClothDesc, from: u32) -> Vec<f64> {
    let positions = if cloth.rest_positions.is_empty() {
        cloth.particles.iter().map(|particle| particle.position).collect()
    } else {
        cloth.rest_positions.clone()
    };
    path_lengths(&cloth.fabric.triangles, &positions, from)
}

fn distance(a: [f32; 3], b: [f32; 3]) -> f64 {
    (0..3).map(|k| (f64::from(a[k]) - f64::from(b[k])).powi(2)).sum::<f64>().sqrt()
}
