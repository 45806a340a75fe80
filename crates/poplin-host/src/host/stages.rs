//! Stages and fiber solvers that a cloth needs in its kernel.

use poplin_layout::{STAGES, Stage, StageMask};
use poplin_model::{
    BendModel, ClothDesc, FiberSolver, Phase, PhaseKind, Preconditioner, StretchModel,
};

use super::HostCloth;
use crate::MemoryNeeds;

impl HostCloth {
    /// Solver of the fibers of a phase in the next frame, and its rounds of cyclic reduction.
    pub fn fiber_solver(&self, phase: u32) -> (FiberSolver, u32) {
        let solver = self.live.cloth.fiber_solver(phase);
        if solver == FiberSolver::GaussSeidel {
            return (solver, 0);
        }
        let ClothDesc { fabric, .. } = &self.live.cloth;
        let of = |phase| WholeFibers::of(&self.live.cloth, phase);
        match self.whole_fibers.get_or_init(|| fabric.phases.iter().map(of).collect())
            [phase as usize]
        {
            WholeFibers::Knotted => (FiberSolver::GaussSeidel, 0),
            WholeFibers::Free { rounds }
                // Motion spheres can pin any particle, so a fiber may have two pins.
                if solver == FiberSolver::CyclicReduction && !self.live.has_motion_spheres() =>
            {
                (solver, rounds)
            }
            _ => (FiberSolver::SemiImplicit, 0),
        }
    }

    /// Solved phases in order, each with its fiber solver.
    pub(super) fn solved_phases(&self) -> impl Iterator<Item = (u32, (FiberSolver, u32))> + Clone {
        let ClothDesc { fabric, config, phase_order, .. } = &self.live.cloth;
        let has_yarns = self.has_yarns();
        let is_solved = move |&index: &u32| {
            let kind = fabric.phases[index as usize].kind;
            config.solver.solves(index, kind) && !(has_yarns && kind != PhaseKind::Bending)
        };
        let phases = phase_order.iter().copied().filter(is_solved);
        phases.map(|phase| (phase, self.fiber_solver(phase)))
    }

    /// True if yarns resist stretch and shear in place of edges.
    fn has_yarns(&self) -> bool {
        let ClothDesc { fabric, config, .. } = &self.live.cloth;
        let membrane = config.solver.as_xpbd().and_then(|xpbd| xpbd.membrane);
        membrane.is_some() && !fabric.yarns.is_empty()
    }

    /// Number of lanes that the widest fiber set of the solved phases keeps busy.
    pub fn fiber_width(&self) -> u32 {
        let fabric = &self.live.cloth.fabric;
        let widths = self
            .solved_phases()
            .map(|(phase, (solver, _))| fabric.width_of_phase(phase as usize, solver));
        widths.max().unwrap_or(0) as u32
    }

    /// Stages that this cloth needs in its kernel.
    pub fn stages(&self) -> StageMask {
        let fibers = self.fiber_stages();
        let needed = STAGES.iter().map(|row| row.stage).filter(|stage| self.needs(*stage, fibers));
        let is_multilevel = self.live.cloth.config.solver.as_multilevel().is_some();
        let levels = if is_multilevel { StageMask::LEVELS } else { StageMask(0) };
        needed.fold(self.implicit_parts().union(levels), StageMask::with)
    }

    /// Stages of the solvers of fibers that this cloth needs.
    fn fiber_stages(&self) -> StageMask {
        self.solved_phases().fold(StageMask(0), |stages, (_, (solver, _))| {
            stages.with(match solver {
                FiberSolver::GaussSeidel => Stage::GaussSeidel,
                FiberSolver::SemiImplicit => Stage::SemiImplicit,
                FiberSolver::CyclicReduction => Stage::CyclicReduction,
            })
        })
    }

    /// Parts of [`Stage::Implicit`] that this cloth needs.
    fn implicit_parts(&self) -> StageMask {
        let ClothDesc { config, fabric, .. } = &self.live.cloth;
        let Some(implicit) = config.solver.as_implicit() else {
            return StageMask(0);
        };
        let bends = implicit.bending_rigidity > 0.0;
        // Springs along edges, then for bending.
        let has_springs = [
            implicit.stretch == StretchModel::Springs,
            bends && implicit.bend == BendModel::Springs,
        ];
        let parts = [
            (!has_springs[0], StageMask::TRIANGLES),
            (bends && !has_springs[1] && !fabric.bends.is_empty(), StageMask::BENDS),
            (has_springs.contains(&true), StageMask::SPRINGS),
            (implicit.preconditioner == Preconditioner::Fibers, StageMask::CHAINS),
            (implicit.max_halvings > 0, StageMask::HALVINGS),
        ];
        let needed = parts.into_iter().filter_map(|(is_needed, part)| is_needed.then_some(part));
        needed.fold(StageMask(0), StageMask::union)
    }

    /// True if a stage has an effect on this cloth, given the stages of its fibers.
    fn needs(&self, stage: Stage, fibers: StageMask) -> bool {
        let live = &self.live;
        let (config, colliders, fabric) = (&live.cloth.config, &live.colliders, &live.cloth.fabric);
        match stage {
            Stage::Integrate | Stage::Mass => true,
            Stage::GaussSeidel | Stage::SemiImplicit | Stage::CyclicReduction => {
                fibers.contains(stage)
            }
            Stage::Implicit => config.solver.as_implicit().is_some(),
            Stage::Yarn => self.has_yarns(),
            Stage::Bend => {
                // Only the XPBD solver has this stage; the implicit stage includes bending.
                let rigidity = config.solver.as_xpbd().map_or(0.0, |xpbd| xpbd.bending_rigidity);
                rigidity > 0.0 && !fabric.bends.is_empty()
            }
            Stage::Displacement => self.displaces(),
            Stage::SecondOrder => config.solver.second_order() > 0.0,
            Stage::Wind => config.air.acts(),
            Stage::Motion => !live.holds.is_empty() || live.acting_spheres().is_some(),
            Stage::Tether => fabric.tethers_per_particle > 0 && config.tethers.stiffness > 0.0,
            Stage::Separation => live.separation_spheres.is_set(),
            Stage::SelfCollide => {
                live.self_collision.is_on() && config.self_collision.stiffness > 0.0
            }
            Stage::Sweep => {
                config.contact.continuous
                    && (colliders.has_free_convexes()
                        || colliders.has_free_boxes()
                        || colliders.has_free_mesh())
            }
            Stage::CollideConvex => colliders.has_free_convexes(),
            Stage::CollideBox => colliders.has_free_boxes(),
            Stage::CollideTriangle => colliders.has_free_mesh(),
            Stage::CollideShape => colliders.has_free_shapes() && !config.contact.continuous,
            Stage::CollideContinuous => colliders.has_free_shapes() && config.contact.continuous,
            Stage::CollideBody => colliders.has_bodies() && !colliders.is_empty(),
            Stage::VirtualParticles => {
                colliders.has_free_shapes() && !fabric.virtual_particles.is_empty()
            }
            Stage::LimitSpeed => config.max_speed.is_some(),
            Stage::Sleep => config.sleep.threshold > 0.0,
        }
    }

    /// Needs of the cloth in workgroup memory for its [`HostCloth::stages`], with `fiber_row_count`
    /// rows in each half of the rows of whole fibers.
    pub fn memory_needs(&self, stages: StageMask, fiber_row_count: u32) -> MemoryNeeds {
        let has_rows = stages.intersects(StageMask::WHOLE_FIBERS);
        MemoryNeeds {
            particle_count: self.desc().particle_count() as u32,
            member_count: stages.contains(Stage::SelfCollide).then(|| self.self_collision_count()),
            row_len: if has_rows { 2 * fiber_row_count } else { 0 },
        }
    }
}

/// Solvability of the fibers of a phase as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WholeFibers {
    /// Only edge by edge: a fiber visits a particle twice, so two of its edges would move it at
    /// once.
    Knotted,
    /// Only by the pass along the fiber: a fiber has two pins, so its system may be singular, which
    /// only that pass guards against.
    Held,
    /// Also by cyclic reduction, in `rounds` rounds for the longest fiber.
    Free { rounds: u32 },
}

impl WholeFibers {
    fn of(cloth: &ClothDesc, phase: &Phase) -> Self {
        let fabric = &cloth.fabric;
        let mut visitor = vec![usize::MAX; cloth.particle_count()];
        let (mut longest, mut is_held) = (1, false);
        for fiber in fabric.fibers_of_phase(phase) {
            let vertices = fabric.fiber_vertices(fiber);
            let mut pin_count = 0;
            for &vertex in vertices {
                if cloth.particles[vertex as usize].is_pinned() {
                    // Pinned particles do not move, so a fiber may visit them twice.
                    pin_count += 1;
                } else if std::mem::replace(&mut visitor[vertex as usize], fiber) == fiber {
                    return Self::Knotted;
                }
            }
            is_held |= pin_count > 1;
            // Edges, one less than vertices.
            longest = longest.max(vertices.len() as u32 - 1);
        }
        if is_held {
            return Self::Held;
        }
        // Each round halves the system: ceil(log2(edges)) rounds.
        Self::Free { rounds: longest.next_power_of_two().ilog2() }
    }
}
