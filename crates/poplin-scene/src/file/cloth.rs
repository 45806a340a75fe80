//! Conversion of `[[cloth]]` to a [`SceneCloth`].

use toml::Table;

use super::choice::{beside, one_or_two, present, refuse_shape};
use super::rules::parse_rules;
use super::{
    AccelerationFile, AnimatedPinsFile, ClothFile, MotionSpheresFile, SeparationSpheresFile,
};
use crate::locate::Source;
use crate::moved::refuse_keys_of_the_cloth;
use crate::{
    AccelerationKey, AnimatedPins, BaseSettings, GridPlane, GridShape, SceneAcceleration,
    SceneCloth, SceneError, SceneSpheres, Settings, Shape, Wind,
};

impl ClothFile {
    /// Converts the cloth; `stated` is its table.
    pub(super) fn convert(
        self,
        index: usize,
        scene_wind: Option<Wind>,
        stated: Table,
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
                let AnimatedPinsFile { pins, pivot, keys, release } = animated;
                AnimatedPins { pins: parse_rules(pins, &field, source), pivot, keys, release }
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
        let name = self.name.unwrap_or_else(|| format!("cloth {index}"));
        let mut cloth = SceneCloth {
            transform: self.transform,
            pins: parse_rules(self.pins, &format!("{field}.pins"), source),
            animated_pins,
            motion_spheres,
            separation_spheres,
            accelerations,
            velocity: self.velocity,
            angular_velocity: self.angular_velocity,
            frame: self.frame,
            wind: self.wind.or(scene_wind),
            stated: Settings::of_table(stated),
            phase_order: self.phase_order,
            count: self.count,
            spacing: self.spacing,
            ..SceneCloth::new(name, shape, BaseSettings::default())
        };
        if let Err(error) = cloth.settle() {
            let (at, message) = (source.location(&field), error.to_string());
            source.refuse(SceneError::Syntax { at, message });
        }
        let solver = format!("solver.{}", cloth.config.solver.name());
        let states = |key| cloth.stated.states(&format!("{solver}.{key}"));
        if states("substeps") && states("frequency") {
            let found = vec!["substeps", "frequency"];
            refuse_shape(source, &format!("{field}.{solver}"), "`substeps` and `frequency`", found);
        }
        let rigidity = format!("{solver}.bending_rigidity");
        let has_rigidity = cloth.stated.number(&rigidity).is_some_and(|rigidity| rigidity > 0.0);
        if cloth.without_bends && has_rigidity {
            let (bends, rigidity) =
                (format!("{field}.fabric.bends"), format!("{field}.{rigidity}"));
            source.refuse(SceneError::NoBends { at: source.location(&bends), bends, rigidity });
        }
        cloth
    }
}

/// Stand-in for a missing or ambiguous shape.
const NO_SHAPE: GridShape = GridShape {
    columns: 2,
    rows: 2,
    width: 1.0,
    height: 1.0,
    plane: GridPlane::Xy,
    centered: false,
};

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
