//! Cloth: a fabric with particles and settings.

use std::sync::Arc;

use crate::error::{ModelError, check_finite, check_indices, check_range};
use crate::{
    Bend, ClothConfig, ColliderSet, Fabric, FiberSolver, InteractionGroups, Particle, PhaseKind,
    Pose, StretchModel,
};

/// One simulated cloth. Cloths cut from the same [`Fabric`] share it.
#[derive(Debug, Clone, PartialEq)]
pub struct ClothDesc {
    /// Constraints.
    pub fabric: Arc<Fabric>,
    /// All particles, shape `[particle_count]`.
    pub particles: Vec<Particle>,
    /// Positions one iteration earlier \[m\], shape `[particle_count]`, or empty for a cloth at
    /// rest. The initial velocity is `(particles - previous_positions) / h`.
    pub previous_positions: Vec<[f32; 3]>,
    /// Acceleration of each particle in addition to gravity [m/s^2], shape `[particle_count]`, or
    /// empty.
    pub particle_accelerations: Vec<[f32; 3]>,
    /// Positions at rest \[m\], shape `[particle_count]`, or empty to use the initial particles.
    /// Self collision does not push particles further apart than they are at rest.
    pub rest_positions: Vec<[f32; 3]>,
    /// Particles that take part in self collision, each at most once, in any order; empty = all.
    pub self_collision_indices: Vec<u32>,
    /// Initial pose of the cloth's local space in the world (default: at the origin, not rotated).
    /// Particles are in local coordinates.
    pub pose: Pose,
    /// Settings.
    pub config: ClothConfig,
    /// Phases in solving order, as indices into [`Fabric::phases`]. A phase may occur several
    /// times; phases that are not listed are not solved. The response of their edges is set by the
    /// [`crate::Solver`].
    pub phase_order: Vec<u32>,
    /// The cloth's own colliders, in its local space and moving with it; colliders of the
    /// simulation are in world space.
    pub colliders: ColliderSet,
    /// Collision groups that select the colliders the cloth collides with (default: all).
    pub collider_groups: InteractionGroups,
}

impl ClothDesc {
    /// Creates a cloth at rest with default settings: every phase of the fabric once, fully stiff.
    /// Particles may also be rows `[x, y, z, inverse mass]`.
    pub fn new(fabric: Arc<Fabric>, particles: impl IntoIterator<Item: Into<Particle>>) -> Self {
        let phase_order = (0..fabric.phases.len() as u32).collect();
        Self {
            fabric,
            particles: particles.into_iter().map(Into::into).collect(),
            previous_positions: Vec::new(),
            particle_accelerations: Vec::new(),
            rest_positions: Vec::new(),
            self_collision_indices: Vec::new(),
            pose: Pose::default(),
            config: ClothConfig::default(),
            phase_order,
            colliders: ColliderSet::default(),
            collider_groups: InteractionGroups::default(),
        }
    }

    /// Number of particles.
    pub fn particle_count(&self) -> usize {
        self.particles.len()
    }

    /// Checks the fabric, the particles and the settings, and that no set of the fabric has data
    /// races with these inverse masses.
    ///
    /// # Errors
    /// The first [`ModelError`] found, with its position.
    pub fn validate(&self) -> Result<(), ModelError> {
        self.fabric.validate()?;
        let expected = self.fabric.particle_count as usize;
        if self.particles.len() != expected {
            return Err(ModelError::Length {
                what: "cloth particles",
                len: self.particles.len(),
                expected,
            });
        }
        check_finite("cloth particle", Particle::rows(&self.particles))?;
        for particle in &self.particles {
            check_range("inverse mass", particle.inverse_mass, 0.0, crate::MAX_COORDINATE)?;
        }
        for (what, values) in [
            ("cloth previous_positions", &self.previous_positions),
            ("cloth particle_accelerations", &self.particle_accelerations),
            ("cloth rest_positions", &self.rest_positions),
        ] {
            if !values.is_empty() && values.len() != expected {
                return Err(ModelError::Length { what, len: values.len(), expected });
            }
            check_finite(what, values)?;
        }
        self.validate_self_collision_indices(&self.self_collision_indices)?;
        self.config.validate()?;
        self.pose.validate()?;
        self.validate_phase_order(&self.phase_order)?;
        self.validate_config(&self.config)?;
        self.fabric.validate_sets(|particle| self.particles[particle as usize].inverse_mass)
    }

    /// Checks that every particle acceleration is finite.
    ///
    /// # Errors
    /// [`ModelError::NotFinite`] with the particle.
    pub fn validate_accelerations(&self) -> Result<(), ModelError> {
        check_finite("cloth particle_accelerations", &self.particle_accelerations)
    }

    /// Checks that all particles of self collision exist and none is listed twice.
    ///
    /// # Errors
    /// [`ModelError`] with the position in the list.
    pub fn validate_self_collision_indices(&self, indices: &[u32]) -> Result<(), ModelError> {
        let what = "cloth self_collision_indices";
        let mut is_named = vec![false; self.particles.len()];
        for (position, &index) in indices.iter().enumerate() {
            match is_named.get_mut(index as usize) {
                None => {
                    return Err(ModelError::IndexOutOfRange {
                        what,
                        position,
                        index,
                        count: self.particles.len(),
                    });
                }
                Some(named) if *named => {
                    return Err(ModelError::Repeated { what, position, index });
                }
                Some(named) => *named = true,
            }
        }
        Ok(())
    }

    /// Contact distances within the cloth and to other cloths \[m\], 0 if off. Each is the
    /// configured distance, or by default the larger of the thickness and the
    /// [`ClothDesc::particle_spacing`].
    pub fn contact_distances(&self) -> [f32; 2] {
        let config = &self.config;
        // The particle spacing costs a pass over all triangles; compute it only if needed.
        let from_thickness = std::cell::LazyCell::new(|| {
            if config.thickness > 0.0 { config.thickness.max(self.particle_spacing()) } else { 0.0 }
        });
        [config.self_collision.distance, config.cloth_collision.distance]
            .map(|set| set.unwrap_or_else(|| *from_thickness))
    }

    /// Median edge length of the triangles at rest \[m\], with edges shared by two triangles
    /// counted twice; 0 without triangles.
    pub fn particle_spacing(&self) -> f32 {
        let rest = |i: u32| match self.rest_positions.get(i as usize) {
            Some(&position) => position,
            None => self.particles[i as usize].position,
        };
        let length = |[a, b]: [u32; 2]| {
            let (a, b) = (rest(a), rest(b));
            (0..3).map(|k| (f64::from(a[k]) - f64::from(b[k])).powi(2)).sum::<f64>()
        };
        let edges = |&[a, b, c]: &[u32; 3]| [[a, b], [b, c], [c, a]].map(length);
        let mut squares: Vec<f64> = self.fabric.triangles.iter().flat_map(edges).collect();
        let middle = squares.len() / 2;
        if squares.is_empty() {
            0.0
        // Median of the squares, which are ordered like the lengths: one square root.
        } else {
            squares.select_nth_unstable_by(middle, f64::total_cmp).1.sqrt() as f32
        }
    }

    /// Returns the fiber solver of a phase: the one set for the phase, or by default
    ///
    /// - with [`crate::Xpbd`], semi-implicit, because one Gauss-Seidel iteration would be softer
    ///   than the compliance specifies;
    /// - with [`crate::Pbd`], semi-implicit for edges that resist stretch (vertical and
    ///   horizontal), where length errors are visible and loads accumulate, and Gauss-Seidel for
    ///   edges that resist shear and folding, which are rarely meant to be stiff;
    /// - with a stiffness per edge, Gauss-Seidel, because the linear system of a fiber does not
    ///   support it.
    ///
    /// Kim, "Character Clothing in PhysX-3", 2011, solves only vertical fibers semi-implicitly,
    /// because that solver costs more there.
    ///
    /// # Panics
    /// Panics if the fabric has no phase `phase`; the entries of a valid [`ClothDesc::phase_order`]
    /// always exist.
    pub fn fiber_solver(&self, phase: u32) -> FiberSolver {
        let kind = self.fabric.phases[phase as usize].kind;
        self.config.solver.fiber_solver(phase, kind).unwrap_or_else(|| {
            let is_whole = self.fabric.edge_stiffness_log2.is_empty()
                && (self.config.solver.is_xpbd() || kind.is_stretch());
            if is_whole { FiberSolver::SemiImplicit } else { FiberSolver::GaussSeidel }
        })
    }

    /// Checks that all phases of an order exist in the fabric.
    ///
    /// # Errors
    /// [`ModelError::IndexOutOfRange`] with the position in the order.
    pub fn validate_phase_order(&self, order: &[u32]) -> Result<(), ModelError> {
        check_indices("cloth phase_order", order.iter().copied(), self.fabric.phases.len())
    }

    /// Checks the ranges of settings, and their compatibility with this cloth's fabric: single
    /// phases must exist, a stiffness per edge requires [`crate::Pbd`] and
    /// [`FiberSolver::GaussSeidel`], a bending rigidity requires bends, and [`crate::Implicit`]
    /// requires triangle shapes.
    ///
    /// # Errors
    /// [`ModelError`] that names the field.
    pub fn validate_config(&self, config: &ClothConfig) -> Result<(), ModelError> {
        config.validate()?;
        let (solver, fabric) = (&config.solver, &self.fabric);
        solver.validate_indices(fabric.phases.len())?;
        if !fabric.edge_stiffness_log2.is_empty() {
            if solver.as_pbd().is_none() {
                return Err(ModelError::EdgeStiffness {
                    setting: format!("solver.{}", solver.name()),
                    needed: "solver.pbd",
                });
            }
            for (index, phase) in (0..).zip(&fabric.phases) {
                let whole = solver.fiber_solver(index, phase.kind);
                if let Some(whole) = whole.filter(|&whole| whole != FiberSolver::GaussSeidel) {
                    let kind = phase.kind.name();
                    let setting =
                        format!("solver.pbd.phases.{kind}.fiber_solver = {}", whole.name());
                    return Err(ModelError::EdgeStiffness { setting, needed: "gauss_seidel" });
                }
            }
        }
        let rigidity = solver.bending_rigidity();
        if solver.needs_bends() && fabric.bends.is_empty() {
            return Err(ModelError::NoBends { solver: solver.name(), rigidity });
        }
        if let Some(multilevel) = solver.as_multilevel() {
            let has_springs = multilevel.stretch == StretchModel::Springs;
            if !has_springs && fabric.triangle_shapes.is_empty() {
                return Err(ModelError::NoTriangleShapes { solver: solver.name() });
            }
            if fabric.hierarchy.is_none() {
                return Err(ModelError::NoLevels);
            }
            if fabric.edge_breadths.is_empty() {
                return Err(ModelError::NoEdgeBreadths { solver: solver.name() });
            }
        }
        let Some(implicit) = solver.as_implicit() else { return Ok(()) };
        if fabric.triangle_shapes.is_empty() {
            return Err(ModelError::NoTriangleShapes { solver: solver.name() });
        }
        let has_springs =
            implicit.stretch == StretchModel::Springs || solver.needs_two_ring_edges();
        if has_springs && fabric.edge_breadths.is_empty() {
            return Err(ModelError::NoEdgeBreadths { solver: solver.name() });
        }
        let has_two_ring_edges = || fabric.edge_kinds().contains(&PhaseKind::Bending);
        if solver.needs_two_ring_edges() && !has_two_ring_edges() {
            return Err(ModelError::NoTwoRingEdges { rigidity });
        }
        let bends: &[Bend] = if solver.needs_bends() { &fabric.bends } else { &[] };
        let limit = implicit.bend.max_rest_angle();
        for (index, bend) in bends.iter().enumerate() {
            let heights = bend.wings.map(|wing| wing.height);
            if heights.contains(&0.0) {
                return Err(ModelError::BendWithoutWings { index, heights });
            }
            if bend.rest_angle.abs() > limit {
                let (model, angle) = (implicit.bend.name(), bend.rest_angle);
                return Err(ModelError::RestAngle { model, index, angle, limit });
            }
        }
        Ok(())
    }

    /// Checks new particle values (position and working inverse mass) for a write during the
    /// simulation.
    ///
    /// # Errors
    /// [`ModelError`] if the lengths differ, an index is out of range, a value is not finite, or a
    /// pinned particle would get mass.
    pub fn validate_write(
        &self,
        indices: &[u32],
        particles: &[Particle],
    ) -> Result<(), ModelError> {
        if indices.len() != particles.len() {
            return Err(ModelError::Length {
                what: "written particles",
                len: particles.len(),
                expected: indices.len(),
            });
        }
        check_indices("written particle", indices.iter().copied(), self.particles.len())?;
        check_finite("written particle", Particle::rows(particles))?;
        for (&particle, value) in indices.iter().zip(particles) {
            let inverse_mass = value.inverse_mass;
            check_range("inverse mass", inverse_mass, 0.0, crate::MAX_COORDINATE)?;
            // In this order, so that moving a pin does not load its particle.
            if inverse_mass > 0.0 && self.particles[particle as usize].is_pinned() {
                return Err(ModelError::PinnedParticle { particle, inverse_mass });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PbdPhase, Phase, PhaseKind, Solver};

    fn cloth() -> ClothDesc {
        let fabric = Fabric {
            particle_count: 2,
            phases: vec![Phase { kind: PhaseKind::Vertical, set_begin: 0, set_end: 1 }],
            set_fiber_begin: vec![0, 1],
            fiber_edge_begin: vec![0, 1],
            fiber_vertices: vec![0, 1],
            rest_lengths: vec![1.0],
            ..Default::default()
        };
        ClothDesc::new(Arc::new(fabric), vec![[0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 1.0]])
    }

    #[test]
    fn default_cloth_is_valid() {
        cloth().validate().unwrap();
    }

    #[test]
    fn validate_rejects_every_kind_of_damage() {
        let broken: [fn(&mut ClothDesc); 10] = [
            |c| c.particles.pop().map(|_| ()).unwrap(),
            |c| c.particles[1].position[0] = f32::INFINITY,
            |c| c.particles[1].inverse_mass = -1.0,
            |c| c.previous_positions = vec![[0.0; 3]],
            |c| c.particle_accelerations = vec![[f32::NAN; 3]; 2],
            |c| c.config.solver = Solver::pbd(0.0),
            |c| c.config.damping[2] = f32::NAN,
            |c| c.phase_order = vec![0, 1],
            |c| {
                c.config.solver.as_pbd_mut().unwrap().phases.single = vec![(1, PbdPhase::default())]
            },
            |c| c.config.solver.as_pbd_mut().unwrap().phases.vertical.stretch_limit = 0.5,
        ];
        for (index, damage) in broken.iter().enumerate() {
            let mut cloth = cloth();
            damage(&mut cloth);
            assert!(cloth.validate().is_err(), "damage {index} was not detected");
        }
    }

    #[test]
    fn default_fiber_solver_depends_on_phase_and_edge_stiffness() {
        let mut cloth = cloth();
        assert_eq!(cloth.fiber_solver(0), FiberSolver::SemiImplicit);
        cloth.config.solver.set_fiber_solver(Some(FiberSolver::GaussSeidel));
        assert_eq!(cloth.fiber_solver(0), FiberSolver::GaussSeidel);
        cloth.config.solver.set_fiber_solver(None);
        Arc::make_mut(&mut cloth.fabric).phases[0].kind = PhaseKind::Bending;
        assert_eq!(cloth.fiber_solver(0), FiberSolver::GaussSeidel);
        cloth.config.solver = Solver::xpbd(1);
        assert_eq!(cloth.fiber_solver(0), FiberSolver::SemiImplicit);
        cloth.config.solver = Solver::default();
        let fabric = Arc::make_mut(&mut cloth.fabric);
        (fabric.phases[0].kind, fabric.edge_stiffness_log2) = (PhaseKind::Vertical, vec![-1.0]);
        assert_eq!(cloth.fiber_solver(0), FiberSolver::GaussSeidel);
        cloth.validate().unwrap();
    }

    #[test]
    fn rejects_edge_stiffness_with_solvers_that_ignore_it() {
        let mut cloth = cloth();
        Arc::make_mut(&mut cloth.fabric).edge_stiffness_log2 = vec![-1.0];
        for (solver, name) in [
            (FiberSolver::SemiImplicit, "semi_implicit"),
            (FiberSolver::CyclicReduction, "cyclic_reduction"),
        ] {
            cloth.config.solver.set_fiber_solver(Some(solver));
            let setting = format!("solver.pbd.phases.vertical.fiber_solver = {name}");
            let error = ModelError::EdgeStiffness { setting, needed: "gauss_seidel" };
            assert_eq!(cloth.validate().unwrap_err(), error);
        }
        cloth.config.solver = Solver::xpbd(1);
        assert_eq!(
            cloth.validate().unwrap_err().to_string(),
            "the fabric has a stiffness per edge (edge_stiffness_log2), which solver.xpbd does not support; \
             use solver.pbd"
        );
    }

    #[test]
    fn bending_rigidity_requires_bends() {
        let mut cloth = cloth();
        cloth.config.solver = crate::Xpbd { bending_rigidity: 2.0, ..Default::default() }.into();
        assert_eq!(
            cloth.validate().unwrap_err(),
            ModelError::NoBends { solver: "xpbd", rigidity: 2.0 }
        );
    }

    #[test]
    fn range_errors_name_the_field_with_its_groups() {
        let mut config = ClothConfig::default();
        config.air.wind_velocity[1] = f32::NAN;
        assert!(
            config.validate().unwrap_err().to_string().starts_with("air.wind_velocity[0] = NaN")
        );
        config.air.wind_velocity[1] = 0.0;
        config.solver.as_pbd_mut().unwrap().phases.shearing.stiffness = 2.0;
        assert_eq!(
            config.validate().unwrap_err().to_string(),
            "solver.pbd.phases.shearing.stiffness = 2 is outside 0..=1"
        );
    }

    #[test]
    fn single_phase_overrides_its_kind() {
        let mut solver = Solver::default();
        let soft = PbdPhase { stiffness: 0.0, ..PbdPhase::default() };
        solver.as_pbd_mut().unwrap().phases.single = vec![(3, PbdPhase::default()), (3, soft)];
        assert!(solver.solves(2, PhaseKind::Bending) && !solver.solves(3, PhaseKind::Bending));
    }

    #[test]
    fn writes_move_pins_but_do_not_unpin_them() {
        let cloth = cloth();
        cloth.validate_write(&[0], &[Particle::from([5.0, 0.0, 0.0, 0.0])]).unwrap();
        assert_eq!(
            cloth.validate_write(&[0], &[Particle::from([5.0, 0.0, 0.0, 1.0])]).unwrap_err(),
            ModelError::PinnedParticle { particle: 0, inverse_mass: 1.0 }
        );
        assert!(cloth.validate_write(&[2], &[Particle::from([0.0; 4])]).is_err());
        assert!(cloth.validate_write(&[0, 1], &[Particle::from([0.0; 4])]).is_err());
    }
}
