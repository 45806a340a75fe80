//! Validation of a fabric.

use super::{Fabric, PhaseKind, Wing, Yarn};
use crate::error::{ModelError, check_indices, check_range};

impl Fabric {
    /// Checks every index, prefix sum and length, independent of which particles are pinned.
    ///
    /// # Errors
    /// The first [`ModelError`] found, with its position.
    pub fn validate(&self) -> Result<(), ModelError> {
        let particles = self.particle_count as usize;
        if particles == 0 {
            return Err(ModelError::Empty { what: "fabric particles" });
        }
        if particles > crate::MAX_PARTICLES {
            return Err(ModelError::TooMany {
                what: "fabric particles",
                count: particles,
                limit: crate::MAX_PARTICLES,
            });
        }
        check_prefix_sums("fabric set_fiber_begin", &self.set_fiber_begin, self.fiber_count())?;
        check_prefix_sums("fabric fiber_edge_begin", &self.fiber_edge_begin, self.edge_count())?;
        let expected = self.edge_count() + self.fiber_count();
        if self.fiber_vertices.len() != expected {
            return Err(ModelError::Length {
                what: "fabric fiber_vertices",
                len: self.fiber_vertices.len(),
                expected,
            });
        }
        check_indices("fabric fiber_vertices", self.fiber_vertices.iter().copied(), particles)?;
        for (position, phase) in self.phases.iter().enumerate() {
            if phase.set_begin > phase.set_end || phase.set_end as usize > self.set_count() {
                return Err(ModelError::IndexOutOfRange {
                    what: "fabric phase set",
                    position,
                    index: phase.set_end,
                    count: self.set_count(),
                });
            }
        }
        check_lengths("fabric rest_lengths", &self.rest_lengths)?;
        if !self.edge_stiffness_log2.is_empty() {
            let (len, expected) = (self.edge_stiffness_log2.len(), self.edge_count());
            if len != expected {
                return Err(ModelError::Length {
                    what: "fabric edge_stiffness_log2",
                    len,
                    expected,
                });
            }
            for &value in &self.edge_stiffness_log2 {
                check_range("fabric edge_stiffness_log2", value, -128.0, 0.0)?;
            }
        }
        let expected = particles * self.tethers_per_particle as usize;
        for (what, len) in [
            ("fabric tether_anchors", self.tether_anchors.len()),
            ("fabric tether_lengths", self.tether_lengths.len()),
        ] {
            if len != expected {
                return Err(ModelError::Length { what, len, expected });
            }
        }
        check_indices("fabric tether_anchors", self.tether_anchors.iter().copied(), particles)?;
        check_lengths("fabric tether_lengths", &self.tether_lengths)?;
        check_indices(
            "fabric triangle corner",
            self.triangles.iter().flatten().copied(),
            particles,
        )?;
        self.validate_triangle_shapes()?;
        let (len, expected) = (self.edge_breadths.len(), self.edge_count());
        if len != 0 && len != expected {
            return Err(ModelError::Length { what: "fabric edge_breadths", len, expected });
        }
        check_lengths("fabric edge_breadths", &self.edge_breadths)?;
        let corners = self.virtual_particles.iter().flat_map(|point| point.corners);
        check_indices("fabric virtual_particles corner", corners, particles)?;
        for (index, point) in self.virtual_particles.iter().enumerate() {
            let [a, b, c] = point.corners;
            if a == b || b == c || c == a {
                return Err(ModelError::RepeatedCorner {
                    what: "fabric virtual_particles",
                    index,
                    corners: point.corners,
                });
            }
            point.weights.iter().try_for_each(|&weight| {
                check_range("virtual particle weight", weight, -8.0, 8.0)
            })?;
            // A push divides by the sum of squares.
            let square = point.weights.iter().map(|weight| weight * weight).sum();
            check_range("sum of a virtual particle's squared weights", square, 1e-6, 192.0)?;
        }
        self.validate_bends()?;
        self.validate_yarns()?;
        match &self.hierarchy {
            Some(hierarchy) => hierarchy.validate(particles, self.edge_count()),
            None => Ok(()),
        }
    }

    fn validate_triangle_shapes(&self) -> Result<(), ModelError> {
        let (len, expected) = (self.triangle_shapes.len(), self.triangles.len());
        if len != 0 && len != expected {
            return Err(ModelError::Length { what: "fabric triangle_shapes", len, expected });
        }
        let limit = crate::MAX_COORDINATE;
        self.triangle_shapes
            .as_flattened()
            .iter()
            .try_for_each(|&value| check_range("fabric triangle_shapes", value, -limit, limit))
    }

    fn validate_bends(&self) -> Result<(), ModelError> {
        let total = self.bends.len();
        let begins = with_zero(&self.bend_set_ends);
        check_prefix_sums("fabric bend_set_ends (with a leading 0)", &begins, total)?;
        let particles = self.bends.iter().flat_map(|bend| bend.particles);
        check_indices("fabric bends particle", particles, self.particle_count as usize)?;
        for (index, bend) in self.bends.iter().enumerate() {
            let particles = bend.particles;
            if (1..4).any(|k| particles[..k].contains(&particles[k])) {
                return Err(ModelError::RepeatedBendParticle { index, particles });
            }
            check_range(
                "fabric bends rest_angle",
                bend.rest_angle,
                -std::f32::consts::PI,
                std::f32::consts::PI,
            )?;
            check_range("fabric bends weight", bend.weight, 0.0, 1e9)?;
            for Wing { height, foot } in bend.wings {
                check_range("fabric bends wing height", height, 0.0, crate::MAX_COORDINATE)?;
                check_range("fabric bends wing foot", foot, -1e9, 1e9)?;
            }
        }
        Ok(())
    }

    fn validate_yarns(&self) -> Result<(), ModelError> {
        let begins = with_zero(&self.yarn_set_ends);
        check_prefix_sums("fabric yarn_set_ends (with a leading 0)", &begins, self.yarns.len())?;
        let total = self.yarn_points.len();
        let mut begin = 0;
        for (position, &Yarn { kind, point_end, breadth }) in self.yarns.iter().enumerate() {
            if point_end < begin + 2 || point_end as usize > total || kind == PhaseKind::Bending {
                let what = "fabric yarns (two points each, not bending)";
                return Err(ModelError::PrefixSum { what, position, value: point_end, total });
            }
            check_range("fabric yarns breadth", breadth, 1e-9, crate::MAX_COORDINATE)?;
            begin = point_end;
        }
        if begin as usize != total {
            return Err(ModelError::Length {
                what: "fabric yarn_points",
                len: total,
                expected: begin as usize,
            });
        }
        let particles = self.yarn_points.iter().flat_map(|point| point.particles);
        check_indices("fabric yarn_points particle", particles, self.particle_count as usize)?;
        self.yarn_points.iter().try_for_each(|point| {
            let [first, second] = point.shares;
            check_range("fabric yarn_points weight", point.weight, 0.0, 1.0)?;
            check_range("fabric yarn_points share", first, 0.0, 1e6)?;
            check_range("fabric yarn_points share", second, 0.0, 1e6)?;
            let length = point.rest_length;
            check_range("fabric yarn_points rest_length", length, 0.0, crate::MAX_COORDINATE)
        })
    }

    /// Checks that the fibers, the bends, and the yarns, of every set share no moving particle
    /// (`inverse_mass(particle) > 0`).
    ///
    /// # Errors
    /// [`ModelError::SharedParticle`], [`ModelError::SharedBendParticle`] or
    /// [`ModelError::SharedYarnParticle`] for the first pair that would race.
    pub fn validate_sets(&self, inverse_mass: impl Fn(u32) -> f32) -> Result<(), ModelError> {
        let mut owners = Owners::new(self.particle_count);
        let moving = |particle: &u32| inverse_mass(*particle) > 0.0;
        // A fiber may visit its own particle twice: one lane processes it in order.
        let of_fiber = |fiber| self.fiber_vertices(fiber).iter().copied().filter(moving);
        let shared = owners.first_shared(&self.set_fiber_begin, true, of_fiber);
        if let Some(Shared { set, first, second, particle }) = shared {
            return Err(ModelError::SharedParticle { set, first, second, particle });
        }
        let of_bend = |bend: usize| self.bends[bend].particles.into_iter().filter(moving);
        let shared = owners.first_shared(&with_zero(&self.bend_set_ends), false, of_bend);
        if let Some(Shared { set, first, second, particle }) = shared {
            return Err(ModelError::SharedBendParticle { set, first, second, particle });
        }
        // So may a yarn.
        let of_yarn = |yarn| {
            let points = &self.yarn_points[self.points_of_yarn(yarn)];
            points.iter().flat_map(|point| point.particles).filter(moving)
        };
        let shared = owners.first_shared(&with_zero(&self.yarn_set_ends), true, of_yarn);
        if let Some(Shared { set, first, second, particle }) = shared {
            return Err(ModelError::SharedYarnParticle { set, first, second, particle });
        }
        Ok(())
    }
}

/// Two items of a set that share a particle.
struct Shared {
    set: usize,
    first: usize,
    second: usize,
    particle: u32,
}

/// Last set that used each particle, and the item that did.
struct Owners(Vec<(usize, usize)>);

impl Owners {
    fn new(particle_count: u32) -> Self {
        Self(vec![(usize::MAX, 0); particle_count as usize])
    }

    /// Finds the first two items of a set that share a particle; `begins` has the first item of
    /// each set and one past the last. With `revisits` an item may have a particle twice.
    fn first_shared<P: Iterator<Item = u32>>(
        &mut self,
        begins: &[u32],
        revisits: bool,
        particles_of: impl Fn(usize) -> P,
    ) -> Option<Shared> {
        self.0.fill((usize::MAX, 0));
        for (set, pair) in begins.windows(2).enumerate() {
            for second in pair[0] as usize..pair[1] as usize {
                for particle in particles_of(second) {
                    let (last_set, first) = self.0[particle as usize];
                    if last_set == set && !(revisits && first == second) {
                        return Some(Shared { set, first, second, particle });
                    }
                    self.0[particle as usize] = (set, second);
                }
            }
        }
        None
    }
}

/// Begins of sets from their ends.
fn with_zero(ends: &[u32]) -> Vec<u32> {
    std::iter::once(0).chain(ends.iter().copied()).collect()
}

fn check_prefix_sums(what: &'static str, begins: &[u32], total: usize) -> Result<(), ModelError> {
    if begins.is_empty() && total == 0 {
        return Ok(());
    }
    let mut last = 0;
    for (position, &value) in begins.iter().enumerate() {
        let wrong_start = position == 0 && value != 0;
        let wrong_end = position + 1 == begins.len() && value as usize != total;
        if wrong_start || wrong_end || value < last {
            return Err(ModelError::PrefixSum { what, position, value, total });
        }
        last = value;
    }
    if begins.is_empty() { Err(ModelError::Empty { what }) } else { Ok(()) }
}

fn check_lengths(what: &'static str, lengths: &[f32]) -> Result<(), ModelError> {
    lengths.iter().try_for_each(|&length| check_range(what, length, 0.0, crate::MAX_COORDINATE))
}
