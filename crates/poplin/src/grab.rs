//! Cloth in hand.

use poplin_cook::path_lengths;
use poplin_host::{HoldId, LiveCloth};
use poplin_model::{Cloth, Frame, ModelError, Particle, Sphere, check_finite};

/// How cloth is grabbed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GrabOptions {
    /// How far along the cloth particles are kept from straying from the one that is grabbed \[m\], `0..=1000` (default 0.05): the
    /// pull spreads over as much cloth. 0 pulls at one particle.
    pub radius: f32,
    /// Speed at which the grabbed particle follows at most [m/s], `0..=1000` (default 3).
    pub max_speed: f32,
    /// How much farther away from other particles than along the cloth it may be, as a fraction, `0..=10` (default 0.02): taut
    /// cloth holds it back.
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

/// A particle that follows a point, such as the mouse, until it is let go. Any number of grabs may hold a cloth; of two that hold
/// the same particle the later one counts.
///
/// The particle is held where the point is, or as far on the way as speed and stretch permit:
///
/// ```text
/// |hold - last hold| <= max_speed dt
/// |hold - x_j|       <= path_j + max(max_stretch path_j, max_speed dt)    for every particle j
/// ```
///
/// with `path_j` from the grabbed particle along the cloth at rest, so that taut cloth holds it back whatever it hangs on, and
/// a mouse that jumps does not tear it. A particle that is pinned or held itself does not follow and has no `max_speed dt`; cloth that was stretched more when it was
/// grabbed may stay so. Particles within `radius` along the cloth stay as near to the hold as they are along the cloth. All of that
/// is a [`LiveCloth::hold`], which leaves the other inputs alone. The `x_j` are where the cloth was read last: with a state that is `k`
/// frames old the particle follows at `max_speed / (k + 1)`.
///
/// A pinned particle can be grabbed too, and stays where it is let go.
#[derive(Debug)]
pub struct Grab {
    hold: HoldId,
    options: GrabOptions,
    /// Radii of the spheres of the held particles \[m\], 0 for the grabbed one.
    radii: Vec<f32>,
    /// Length of the path along the cloth to every particle \[m\], infinite if none leads there, and how far from it the grabbed one
    /// may be.
    paths: Vec<[f64; 2]>,
    /// Where it is held, in the local space \[m\].
    at: [f32; 3],
    /// Where it is to go, in the world \[m\].
    target: Option<[f32; 3]>,
}

impl Grab {
    /// Grabs a particle of a cloth where it is. `particles` are all of the cloth as they were read last, `State::current`.
    ///
    /// # Errors
    /// [`ModelError`] if an option is out of range, the particle does not exist, or `particles` are not those of the cloth; nothing is
    /// grabbed.
    pub fn new(
        cloth: &mut LiveCloth,
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
        let path = |(path, now): (f64, f64)| [path, now.max(stretch * path)];
        let lengths = paths(cloth.cloth(), particle);
        let is_near = |&index: &u32| {
            index != particle
                && lengths[index as usize] <= options.radius.into()
                && !cloth.cloth().particles[index as usize].is_pinned()
        };
        let near = (0..particles.len() as u32).filter(is_near);
        let held: Vec<u32> = std::iter::once(particle).chain(near).collect();
        let radius = |&index: &u32| {
            let now = distance(at, particles[index as usize].position);
            now.max(lengths[index as usize]) as f32
        };
        let radii: Vec<f32> = held.iter().map(radius).collect();
        let paths = lengths.iter().copied().zip(now).map(path).collect();
        let hold = cloth.hold(&held, &spheres(at, &radii))?;
        Ok(Self { hold, options, radii, paths, at, target: None })
    }

    /// Sets where the particle is to go \[m\], in the world. It stays there relative to the world, not to the local space.
    ///
    /// # Errors
    /// [`ModelError::NotFinite`]; the old target stays.
    pub fn move_to(&mut self, target: [f32; 3]) -> Result<(), ModelError> {
        check_finite("grab target", &[target])?;
        self.target = Some(target);
        Ok(())
    }

    /// Moves the particle over the next frame; call it before every frame, after the pose of the cloth is set. `particles` are all
    /// of the cloth as they were read last, or none if nothing was read.
    ///
    /// # Errors
    /// [`ModelError::StaleHandle`] if a reset or [`set_particles`](crate::Engine::set_particles) has let go;
    /// [`ModelError`] if the frame is out of range or `particles` are not those of the cloth.
    pub fn apply(
        &mut self,
        cloth: &mut LiveCloth,
        particles: &[Particle],
        frame: &Frame,
    ) -> Result<(), ModelError> {
        frame.validate()?;
        if !particles.is_empty() {
            check_particles(cloth, particles)?;
        }
        let target = self.target.map_or(self.at, |target| cloth.target_pose().to_local(target));
        let at = self.reach(target, particles, frame);
        cloth.move_hold(self.hold, &spheres(at, &self.radii))?;
        self.at = at;
        Ok(())
    }

    /// Lets go: the particle goes on with the velocity that it has. Of a cloth that was removed there is nothing to let go.
    pub fn release(self, cloth: &mut LiveCloth) {
        cloth.release(self.hold);
    }

    /// The point nearest to `target`, roughly, at which the particle may be.
    fn reach(&self, target: [f32; 3], particles: &[Particle], frame: &Frame) -> [f32; 3] {
        let move_limit = f64::from(self.options.max_speed) * f64::from(frame.dt);
        let mut point = target.map(f64::from);
        for (particle, &[path, reach]) in particles.iter().zip(&self.paths) {
            // What is held itself does not follow.
            let lag = if particle.is_pinned() && path > 0.0 { 0.0 } else { move_limit };
            pull(&mut point, particle.position, reach.max(path + lag));
        }
        pull(&mut point, self.at, move_limit);
        point.map(|x| x as f32)
    }
}

/// Pulls a point to within `limit` of a center.
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

fn check_particles(cloth: &LiveCloth, particles: &[Particle]) -> Result<(), ModelError> {
    let (len, expected) = (particles.len(), cloth.cloth().particle_count());
    if len != expected {
        return Err(ModelError::Length { what: "particles of the grabbed cloth", len, expected });
    }
    Ok(())
}

/// How far every particle is from one of them along the cloth at rest.
fn paths(cloth: &Cloth, from: u32) -> Vec<f64> {
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
