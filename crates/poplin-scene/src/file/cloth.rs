//! Conversion of `[[cloth]]` to a [`SceneCloth`].

use poplin_cook::CookOptions;
use poplin_model::{Chosen, ClothConfig};

use super::choice::{beside, one_or_two, present, refuse_shape};
use super::rules::parse_rules;
use super::{
    AccelerationFile, AnimatedPinsFile, ClothFile, MaterialName, MotionSpheresFile,
    SeparationSpheresFile,
};
use crate::locate::Source;
use crate::moved::refuse_keys_of_the_cloth;
use crate::{
    AccelerationKey, AnimatedPins, DEFAULT_PERTURBATION, GridPlane, GridShape, SceneAcceleration,
    SceneCloth, SceneError, SceneSpheres, Shape, Wind,
};

impl ClothFile {
    pub(super) fn convert(
        self,
        index: usize,
        scene_wind: Option<Wind>,
        source: &Source<'_>,
    ) -> SceneCloth {
        let field = format!("cloth[{index}]");
        let shape = match (self.grid, self.tube, self.mesh) {
            (Some(grid), None, None) => Shape::Grid(grid),
            (None, Some(tube), None) => Shape::Tube(tube),
            (None, None, Some(mesh)) => Shape::Mesh(beside(source, mesh)),
            (grid, tube, mesh) => {
                let found =
                    [("grid", grid.is_some()), ("tube", tube.is_some()), ("mesh", mesh.is_some())];
                let found = present(&found);
                refuse_shape(source, &field, "`grid`, `tube` and `mesh`", found);
                Shape::Grid(NO_SHAPE)
            }
        };
        let animated_pins =
            self.animated_pins.into_iter().enumerate().map(|(position, animated)| {
                let field = format!("{field}.animated_pins[{position}].pins");
                let AnimatedPinsFile { pins, pivot, keys } = animated;
                AnimatedPins { pins: parse_rules(pins, &field, source), pivot, keys }
            });
        let animated_pins = animated_pins.collect();
        let motion_spheres = self.motion_spheres.into_iter().enumerate().map(|(position, file)| {
            file.convert(&format!("{field}.motion_spheres[{position}]"), source)
        });
        let motion_spheres = motion_spheres.collect();
        let separation_spheres = self.separation_spheres.into_iter().enumerate();
        let separation_spheres = separation_spheres.map(|(position, file)| {
            file.convert(&format!("{field}.separation_spheres[{position}]"), source)
        });
        let separation_spheres = separation_spheres.collect();
        let accelerations = self.accelerations.into_iter().enumerate().map(|(position, file)| {
            file.convert(&format!("{field}.accelerations[{position}]"), source)
        });
        let accelerations = accelerations.collect();
        refuse_keys_of_the_cloth(&self.fabric, &format!("{field}.fabric"), source);
        let material = self.material.map(|MaterialName(material)| material);
        let density = self.density.or(material.map(|material| material.density));
        let density = density.unwrap_or(self.fabric.density);
        let default = ClothConfig::default();
        // A stated PBD frequency is an explicit choice of solver settings: nothing is chosen
        // automatically.
        let chosen = if source.states(&format!("{field}.solver.pbd.frequency")) {
            Chosen::NONE
        } else {
            Chosen { stiffness_frequency: self.stiffness_frequency.is_none(), ..Chosen::ALL }
        };
        let mut config = ClothConfig {
            gravity: self.gravity.unwrap_or(default.gravity),
            damping: self.damping.unwrap_or(default.damping),
            stiffness_frequency: self.stiffness_frequency.unwrap_or(default.stiffness_frequency),
            thickness: self.thickness.unwrap_or(default.thickness),
            max_speed: self.max_speed,
            solver: self.solver,
            tethers: self.tethers,
            air: self.air,
            inertia: self.inertia,
            motion: self.motion,
            contact: self.contact,
            self_collision: self.self_collision,
            cloth_collision: self.cloth_collision,
            sleep: self.sleep,
        };
        if let Some(material) = &material {
            // `fill` only replaces defaults, so a stated value equal to its default is restored
            // afterwards.
            let stated = config.clone();
            material.fill(&mut config);
            let states = |key: &str| source.states(&format!("{field}.{key}"));
            if states("thickness") {
                config.thickness = stated.thickness;
            }
            if states("contact.friction") {
                config.contact.friction = stated.contact.friction;
            }
            if states("solver.pbd") {
                config.solver = stated.solver.clone();
            }
            if let (Some(filled), Some(stated)) =
                (config.solver.as_xpbd_mut(), stated.solver.as_xpbd())
            {
                if states("solver.xpbd.bending_rigidity") {
                    filled.bending_rigidity = stated.bending_rigidity;
                }
                if states("solver.xpbd.bending_damping") {
                    filled.bending_damping = stated.bending_damping;
                }
            }
            if let (Some(filled), Some(stated)) =
                (config.solver.as_implicit_mut(), stated.solver.as_implicit())
            {
                if states("solver.implicit.stretch_stiffness") {
                    filled.stretch_stiffness = stated.stretch_stiffness;
                }
                if states("solver.implicit.shear_stiffness") {
                    filled.shear_stiffness = stated.shear_stiffness;
                }
                if states("solver.implicit.bending_rigidity") {
                    filled.bending_rigidity = stated.bending_rigidity;
                }
                if states("solver.implicit.bending_damping") {
                    filled.bending_damping = stated.bending_damping;
                }
            }
        }
        let mut fabric = CookOptions { density, ..self.fabric };
        let bends = format!("{field}.fabric.bends");
        let without_bends = !fabric.bends && source.states(&bends);
        let stated_rigidity = format!("{field}.solver.{}.bending_rigidity", config.solver.name());
        if without_bends
            && config.solver.bending_rigidity() > 0.0
            && source.states(&stated_rigidity)
        {
            let (at, bends) = (source.location(&bends), bends.clone());
            source.refuse(SceneError::NoBends { at, bends, rigidity: stated_rigidity });
        }
        // Bending elements [N m] replace two-ring edges, which would be redundant beside
        // inextensible edges.
        if config.solver.bending_rigidity() > 0.0
            && !source.states(&format!("{field}.fabric.bending"))
        {
            fabric.bending = false;
        }
        if without_bends {
            config.solver.set_bending_rigidity(0.0);
        }
        SceneCloth {
            name: self.name.unwrap_or_else(|| format!("cloth {index}")),
            shape,
            transform: self.transform,
            pins: parse_rules(self.pins, &format!("{field}.pins"), source),
            animated_pins,
            motion_spheres,
            separation_spheres,
            accelerations,
            frame: self.frame,
            wind: self.wind.or(scene_wind),
            config,
            chosen,
            fabric,
            without_bends,
            material,
            phase_order: self.phase_order,
            count: self.count,
            spacing: self.spacing,
            perturbation: self.perturbation.unwrap_or(DEFAULT_PERTURBATION),
        }
    }
}

/// Stand-in for a missing or ambiguous shape.
const NO_SHAPE: GridShape =
    GridShape { columns: 2, rows: 2, width: 1.0, height: 1.0, plane: GridPlane::Xy };

impl MotionSpheresFile {
    fn convert(self, field: &str, source: &Source<'_>) -> SceneSpheres {
        let Self { vertices, radius, radii, from } = self;
        let offset = 0.0;
        SeparationSpheresFile { vertices, radius, radii, from, offset }.convert(field, source)
    }
}

impl SeparationSpheresFile {
    fn convert(self, field: &str, source: &Source<'_>) -> SceneSpheres {
        let Self { vertices, radius, radii, from, offset } = self;
        if let (Some(_), Some(_), None) = (from, radius, radii) {
            let field = format!("{field}.from");
            let message = format!("{field} needs `radii`: a `radius` is the same everywhere");
            source.refuse(SceneError::Syntax { at: source.location(&field), message });
        }
        SceneSpheres {
            vertices: parse_rules(vertices, &format!("{field}.vertices"), source),
            radii: one_or_two(radius, radii, field, source),
            from: from.unwrap_or_default(),
            offset,
        }
    }
}

impl AccelerationFile {
    fn convert(self, field: &str, source: &Source<'_>) -> SceneAcceleration {
        let keys = match (self.acceleration, self.keys) {
            (Some(acceleration), None) => vec![AccelerationKey { time: 0.0, acceleration }],
            (None, Some(keys)) => keys,
            (acceleration, keys) => {
                let found = [("acceleration", acceleration.is_some()), ("keys", keys.is_some())];
                refuse_shape(source, field, "`acceleration` and `keys`", present(&found));
                vec![AccelerationKey { time: 0.0, acceleration: [0.0; 3] }]
            }
        };
        let vertices = parse_rules(self.vertices, &format!("{field}.vertices"), source);
        SceneAcceleration { vertices, keys }
    }
}
