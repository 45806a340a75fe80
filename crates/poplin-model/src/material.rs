//! Materials by name: measured densities, stiffnesses and friction.

use crate::{ClothConfig, ClothDesc, Membrane, PhaseKind, Solver, Xpbd};

/// Properties of a cloth material, in units independent of mesh and step.
///
/// Stiffnesses are linear: those of fabrics are energy-equivalent between 0 and 490 N/m, where
/// cloth lengthens by 3 to 11 %. Real cloth is softer under its own weight and stiffer beyond that
/// range; shear is that of small angles, without locking, and creases of paper do not stay. Samples
/// of one kind of cloth differ by a factor of two and more. The solvers page of the guide lists the
/// sources.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Material {
    /// Name in scenes and options.
    pub name: &'static str,
    /// Variety of the material.
    pub about: &'static str,
    /// Mass per area [kg/m^2].
    pub density: f32,
    /// Membrane stiffness along warp (vertical) and weft (horizontal), force per width over strain
    /// [N/m].
    pub stretch: [f32; 2],
    /// Shear stiffness, force per width over shear angle [N/m].
    pub shear: f32,
    /// Bending rigidity, moment per width over curvature [N m].
    pub bending: f32,
    /// Damping time of shear, and of bending with [`crate::Implicit`] \[s\]: viscosity over
    /// stiffness.
    pub damping_time: f32,
    /// Coefficient of friction with a smooth body.
    pub friction: f32,
    /// Thickness \[m\].
    pub thickness: f32,
}

impl Material {
    /// Firm plain-woven shirting.
    pub const COTTON: Self = Self {
        name: "cotton",
        about: "firm plain-woven shirting",
        density: 0.15,
        stretch: [8000.0, 4000.0],
        shear: 50.0,
        bending: 1.6e-5,
        damping_time: 0.01,
        friction: 0.3,
        thickness: 0.32e-3,
    };

    /// Charmeuse of 19 momme.
    pub const SILK: Self = Self {
        name: "silk",
        about: "charmeuse, 19 momme",
        density: 0.08,
        stretch: [6000.0, 4000.0],
        shear: 18.0,
        bending: 1.5e-6,
        friction: 0.2,
        thickness: 0.2e-3,
        ..Self::COTTON
    };

    /// Rigid 13 oz denim.
    pub const DENIM: Self = Self {
        name: "denim",
        about: "rigid 13 oz denim",
        density: 0.44,
        stretch: [10_000.0, 5000.0],
        shear: 110.0,
        bending: 8e-5,
        thickness: 0.9e-3,
        ..Self::COTTON
    };

    /// Suiting.
    pub const WOOL: Self = Self {
        name: "wool",
        about: "suiting",
        density: 0.235,
        stretch: [5000.0, 3000.0],
        shear: 40.0,
        bending: 1e-5,
        thickness: 0.57e-3,
        ..Self::COTTON
    };

    /// Sheep leather for garments.
    pub const LEATHER: Self = Self {
        name: "leather",
        about: "sheep leather for garments",
        density: 0.5,
        stretch: [16_000.0, 12_000.0],
        shear: 5000.0,
        bending: 1.5e-4,
        friction: 0.5,
        thickness: 0.8e-3,
        ..Self::COTTON
    };

    /// Copy paper of 80 g/m^2.
    pub const PAPER: Self = Self {
        name: "paper",
        about: "copy paper, 80 g/m^2",
        density: 0.08,
        stretch: [5.3e5, 2.7e5],
        shear: 1.5e5,
        bending: 3e-4,
        damping_time: 0.002,
        friction: 0.3,
        thickness: 0.1e-3,
    };

    /// All materials.
    pub const ALL: [Self; 6] =
        [Self::COTTON, Self::SILK, Self::DENIM, Self::WOOL, Self::LEATHER, Self::PAPER];

    /// Finds a material by name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|material| material.name == name)
    }

    /// Sets the iterations per second of [`Xpbd`] to 1,200, and the steps of [`crate::Implicit`]
    /// and [`crate::Multilevel`] to 240, unless the solver has a frequency: cloth of a material
    /// moves alike at any frame rate of which it is a multiple ([`Xpbd::frequency`]).
    pub fn set_frequency(solver: &mut Solver) {
        match solver {
            Solver::Pbd(_) => {}
            Solver::Xpbd(xpbd) => xpbd.frequency = xpbd.frequency.or(Some(1200.0)),
            Solver::Implicit(implicit) => implicit.frequency = implicit.frequency.or(Some(240.0)),
            Solver::Multilevel(solver) => solver.frequency = solver.frequency.or(Some(240.0)),
        }
    }

    /// Sets the properties of this material: friction with colliders, thickness, and the stiffness
    /// of [`Xpbd`], [`crate::Implicit`] or [`crate::Multilevel`], whose other settings stay. Bends
    /// of [`crate::Implicit`] are damped, those of XPBD are not: its damping takes rigidity from
    /// bends on fine meshes.
    /// [`crate::Pbd`] has no stiffness in N/m and becomes [`Xpbd`] with the frequency of
    /// [`Self::set_frequency`]. Change single values afterwards.
    ///
    /// The density is used in cooking; the stretch and shear compliance of XPBD is set after the
    /// cloth is cooked ([`ClothDesc::set_membrane`]).
    pub fn apply(&self, config: &mut ClothConfig) {
        config.contact.friction = self.friction;
        config.thickness = self.thickness;
        if config.solver.as_pbd().is_some() {
            config.solver = Xpbd::default().into();
            Self::set_frequency(&mut config.solver);
        }
        match &mut config.solver {
            Solver::Pbd(_) => {}
            Solver::Xpbd(xpbd) => {
                xpbd.bending_rigidity = self.bending;
                // A bend sees the bends after it in a step as motion. With a damping time T and
                // W = sum of w |grad C|^2, that leaves 1 / (1 + T W k h / 2) of its stiffness k.
                xpbd.bending_damping = 0.0;
            }
            Solver::Implicit(implicit) => {
                implicit.stretch_stiffness = self.stretch;
                implicit.shear_stiffness = self.shear;
                implicit.bending_rigidity = self.bending;
                implicit.bending_damping = self.damping_time;
            }
            Solver::Multilevel(multilevel) => {
                multilevel.stretch_stiffness = self.stretch;
                multilevel.shear_stiffness = self.shear;
                multilevel.bending_rigidity = self.bending;
            }
        }
    }
}

impl ClothDesc {
    /// Sets compliance and damping of [`Xpbd`] edges to those of a membrane of this material,
    /// independent of the mesh. Change single values afterwards.
    ///
    /// A strain e along the warp has the energy `K e^2 / 2` per area, and each edge of a phase
    /// `(e L)^2 / (2 c)`, so that the compliance is `c = sum(L^2) / (K A)` for a cloth of area A;
    /// diagonals lengthen by half the shear angle, so theirs is `sum(L^2) / (4 G A)`. Diagonals
    /// also resist stretch, and K is reduced accordingly, so that a strip with free sides, pulled
    /// along warp or weft, lengthens as the material specifies. Edges are treated as if they ran
    /// exactly along the direction of their phase. Does nothing with any other solver.
    ///
    /// A fabric with [`crate::Fabric::yarns`] gets [`Xpbd::membrane`] instead, unless it has one.
    pub fn set_membrane(&mut self, material: &Material) {
        if let Some(xpbd) = self.config.solver.as_xpbd_mut()
            && !self.fabric.yarns.is_empty()
        {
            xpbd.membrane.get_or_insert(Membrane {
                stretch: material.stretch,
                shear: material.shear,
                shear_damping: material.damping_time,
            });
            return;
        }
        let kinds = self.fabric.edge_kinds();
        let squares = |kind: PhaseKind| -> f64 {
            let of_kind = (0..kinds.len()).filter(|&edge| kinds[edge] == kind);
            of_kind.map(|edge| f64::from(self.fabric.rest_lengths[edge]).powi(2)).sum()
        };
        let [vertical, horizontal, shearing] =
            [PhaseKind::Vertical, PhaseKind::Horizontal, PhaseKind::Shearing].map(squares);
        let area = self.area();
        let Solver::Xpbd(Xpbd { phases, .. }) = &mut self.config.solver else { return };
        // Diagonals also resist stretch; subtract their part.
        let [warp, weft] = beside_shear(material.stretch.map(f64::from), material.shear.into());
        for (phase, squares, stiffness, damping_time) in [
            (&mut phases.vertical, vertical, warp, 0.0),
            (&mut phases.horizontal, horizontal, weft, 0.0),
            (
                &mut phases.shearing,
                shearing,
                4.0 * f64::from(material.shear),
                material.damping_time,
            ),
        ] {
            // c = sum(L^2) / (K A), with 4 G for K in shear
            let compliance = (squares / (stiffness * area)) as f32;
            if compliance.is_finite() {
                phase.compliance = compliance.min(1e9);
                if compliance > 0.0 {
                    // Viscosity = damping time times stiffness.
                    phase.damping = (damping_time / compliance).min(1e9);
                }
            }
        }
    }

    /// Total area of the triangles at the current particle positions \[m^2\].
    fn area(&self) -> f64 {
        let corner =
            |index: u32| glam::DVec3::from(self.particles[index as usize].position.map(f64::from));
        let double = self.fabric.triangles.iter().map(|triangle| {
            let [a, b, c] = triangle.map(corner);
            (b - a).cross(c - a).length()
        });
        double.sum::<f64>() / 2.0
    }
}

/// Reduces the stiffnesses K1 and K2 by the contribution of diagonals of shear stiffness G \[N/m\].
///
/// Diagonals have the energy `G (e1 + e2)^2 / 2`, so that a strip with free sides has the stiffness
/// `s1 - G^2 / s2` with `s = k + G`; both are as required for `s1 / s2 = K1 / K2`. At least a tenth
/// is kept.
pub(crate) fn beside_shear([first, second]: [f64; 2], shear: f64) -> [f64; 2] {
    // s = K f solves s1 - G^2 / s2 = K1 with f^2 - f = G^2 / (K1 K2)
    let factor = 0.5 * (1.0 + (1.0 + 4.0 * shear * shear / (first * second)).sqrt());
    [first, second].map(|stiffness| (stiffness * factor - shear).max(0.1 * stiffness))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apply_keeps_numerical_settings() {
        let mut config = ClothConfig::default();
        config.contact.friction = 0.7;
        config.solver = Xpbd { substeps: 7, bending_rigidity: 3e-5, ..Xpbd::default() }.into();
        Material::SILK.apply(&mut config);
        let xpbd = config.solver.as_xpbd().unwrap();
        assert_eq!((config.thickness, config.contact.friction), (0.2e-3, 0.2));
        assert_eq!((xpbd.substeps, xpbd.bending_rigidity), (7, Material::SILK.bending));
        let mut config = ClothConfig { solver: Solver::pbd(600.0), ..ClothConfig::default() };
        Material::SILK.apply(&mut config);
        assert_eq!(config.solver.bending_rigidity(), Material::SILK.bending);
    }

    #[test]
    fn materials_are_valid_and_found_by_name() {
        for material in Material::ALL {
            assert_eq!(Material::named(material.name), Some(material));
            let mut config = ClothConfig::default();
            material.apply(&mut config);
            config.validate().unwrap();
            assert_eq!(config.solver.bending_rigidity(), material.bending);
            let mut config = ClothConfig { solver: Solver::implicit(3), ..ClothConfig::default() };
            material.apply(&mut config);
            config.validate().unwrap();
            let implicit = config.solver.as_implicit().unwrap();
            assert_eq!((implicit.substeps, implicit.stretch_stiffness), (3, material.stretch));
            assert_eq!(
                (implicit.shear_stiffness, implicit.bending_rigidity),
                (material.shear, material.bending)
            );
        }
        assert_eq!(Material::named("tweed"), None);
    }
}
