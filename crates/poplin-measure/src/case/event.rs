//! Events of reference cases: settings that change before a frame.

use poplin::Cloth;
use poplin_model::{
    ClothConfig, FiberSolver, Pbd, PbdPhase, Phases, Pose, Sphere, VirtualParticle,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{CaseError, particles, rows};
use crate::shape_arrays::ShapeArrays;

/// Reach of continuous collision in the cases \[radii\]. The measured program sorts shapes into a
/// coarse grid and tests a particle only against shapes whose sweep meets the cell in which the
/// particle ends. In `ccd_sphere_small` it therefore misses a particle that ends 0.2 radii away; in
/// `ccd_capsule` it finds one at 0.13.
const MEASURED_REACH: f32 = 1.0 / 6.0;

/// Friction slop of the cases \[m\]: the measured program adds the f32 epsilon to squared pushes
/// and displacements. At 120 Hz this removes a tenth of the friction of cloth at rest, at 300 Hz
/// two thirds.
const MEASURED_SLOP: f32 = 3.452_67e-4;

/// Setting that changes before a frame.
#[derive(Debug, Clone, Deserialize)]
pub struct Event {
    /// Index of the cloth.
    #[serde(default)]
    pub cloth: usize,
    /// Name of the setting.
    pub set: String,
    /// Value or values of the setting.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

/// Solver settings of a phase.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct CasePhaseConfig {
    phase: u32,
    stiffness: f32,
    stiffness_multiplier: f32,
    compression_limit: f32,
    stretch_limit: f32,
}

impl CasePhaseConfig {
    fn settings(self) -> PbdPhase {
        let Self { phase: _, stiffness, stiffness_multiplier, compression_limit, stretch_limit } =
            self;
        PbdPhase {
            // The measured program solves edges one by one.
            fiber_solver: Some(FiberSolver::GaussSeidel),
            stiffness,
            stiffness_multiplier,
            compression_limit,
            stretch_limit,
        }
    }
}

/// PBD settings of a cloth; all cases are solved with PBD.
fn pbd(config: &mut ClothConfig) -> Result<&mut Pbd, CaseError> {
    let unsupported = || CaseError::Unsupported("a solver other than pbd".into());
    config.solver.as_pbd_mut().ok_or_else(unsupported)
}

fn spheres(values: &[f32]) -> Vec<Sphere> {
    rows(values).into_iter().map(Sphere::from).collect()
}

impl Event {
    pub(super) fn floats(&self, field: &str) -> Result<Vec<f32>, CaseError> {
        let wrong = || {
            CaseError::Unsupported(format!(
                "{}: field `{field}` is neither a number nor an array of numbers",
                self.set
            ))
        };
        let value = self.fields.get(field).ok_or_else(wrong)?;
        let number = |value: &Value| value.as_f64().map(|number| number as f32).ok_or_else(wrong);
        match value {
            Value::Array(values) => values.iter().map(number).collect(),
            value => Ok(vec![number(value)?]),
        }
    }

    pub(super) fn numbers(&self, field: &str) -> Result<Vec<u32>, CaseError> {
        let wrong = || {
            CaseError::Unsupported(format!(
                "{}: field `{field}` is not an array of integers",
                self.set
            ))
        };
        let values = self.fields.get(field).and_then(Value::as_array).ok_or_else(wrong)?;
        values
            .iter()
            .map(|value| {
                value.as_u64().and_then(|value| u32::try_from(value).ok()).ok_or_else(wrong)
            })
            .collect()
    }

    pub(super) fn virtual_particles(&self) -> Result<Vec<VirtualParticle>, CaseError> {
        let weights = rows::<3>(&self.floats("weights")?);
        let point = |&[a, b, c, row]: &[u32; 4]| {
            let missing =
                || CaseError::Unsupported(format!("virtual_particles: weights have no row {row}"));
            let weights = *weights.get(row as usize).ok_or_else(missing)?;
            Ok(VirtualParticle { corners: [a, b, c], weights })
        };
        self.numbers("corners_and_weight")?.as_chunks::<4>().0.iter().map(point).collect()
    }

    fn array<const N: usize>(&self, field: &str) -> Result<[f32; N], CaseError> {
        let wrong =
            |_| CaseError::Unsupported(format!("{}: field `{field}` is not {N} numbers", self.set));
        self.floats(field)?.try_into().map_err(wrong)
    }

    /// Returns the cloth that the event applies to.
    pub(super) fn find<'a, T>(&self, cloths: &'a mut [T]) -> Result<&'a mut T, CaseError> {
        let count = cloths.len();
        let what = || format!("event for cloth {}: the case has {count} cloths", self.cloth);
        cloths.get_mut(self.cloth).ok_or_else(|| CaseError::Unsupported(what()))
    }

    pub(super) fn scalar(&self, field: &str) -> Result<f32, CaseError> {
        self.array::<1>(field).map(|[value]| value)
    }

    /// Applies the event to a simulated cloth. `shapes` holds the shapes set by earlier events,
    /// none at first.
    ///
    /// # Errors
    /// [`CaseError::Unsupported`] if the setting is not implemented, [`CaseError::Model`] if the
    /// cloth rejects the value.
    pub fn apply(&self, host: &mut Cloth, shapes: &mut ShapeArrays) -> Result<(), CaseError> {
        let mut config = host.desc().config.clone();
        match self.set.as_str() {
            "gravity" => config.gravity = self.array("value")?,
            "damping" => config.damping = self.array("value")?,
            "solver_frequency" => pbd(&mut config)?.frequency = self.scalar("value")?,
            "stiffness_frequency" => config.stiffness_frequency = self.scalar("value")?,
            "tether_stiffness" => config.tethers.stiffness = self.scalar("value")?,
            "tether_scale" => config.tethers.scale = self.scalar("value")?,
            "wind_velocity" => config.air.wind_velocity = self.array("value")?,
            "drag_coefficient" => config.air.drag = self.scalar("value")?,
            "lift_coefficient" => config.air.lift = self.scalar("value")?,
            "fluid_density" => config.air.density = self.scalar("value")?,
            "linear_inertia" => config.inertia.linear = self.array("value")?,
            "angular_inertia" => config.inertia.angular = self.array("value")?,
            "centrifugal_inertia" => config.inertia.centrifugal = self.array("value")?,
            "linear_drag" => config.inertia.linear_drag = self.array("value")?,
            "angular_drag" => config.inertia.angular_drag = self.array("value")?,
            "motion_stiffness" => config.motion.stiffness = self.scalar("value")?,
            "motion_scale_bias" => {
                config.motion.scale = self.scalar("scale")?;
                config.motion.bias = self.scalar("bias")?;
            }
            "sleep_threshold" => config.sleep.threshold = self.scalar("value")?,
            "sleep_test_interval" => config.sleep.test_interval = self.scalar("value")? as u32,
            // The measured program continues to simulate sleeping cloths, so that the cloth must
            // not fall asleep here either; the runner compares the count.
            "sleep_after_count" => config.sleep.after_count = 10_000,
            "friction" => {
                config.contact.friction = self.scalar("value")?;
                config.contact.friction_slop = MEASURED_SLOP;
                // The measured program slows particles down and lets them creep.
                config.contact.friction_holds = false;
            }
            "collision_mass_scale" => config.contact.mass_scale = self.scalar("value")?,
            "continuous_collision" => {
                config.contact.continuous = self.fields.get("value") == Some(&Value::Bool(true));
                config.contact.continuous_reach = MEASURED_REACH;
            }
            "spheres" => shapes.spheres = rows(&self.floats("value")?),
            "spheres_start_target" => {
                shapes.spheres = rows(&self.floats("start")?);
                shapes.put(host.colliders_mut())?;
                shapes.spheres = rows(&self.floats("target")?);
            }
            "capsules" => shapes.capsules = self.numbers("value")?.as_chunks::<2>().0.to_vec(),
            "planes" => shapes.planes = rows(&self.floats("value")?),
            "convexes" => {
                let of_mask = |mask: &u32| (0..32).filter(|plane| mask >> plane & 1 == 1).collect();
                shapes.convexes = self.numbers("value")?.iter().map(of_mask).collect();
            }
            "triangles" => {
                shapes.mesh_vertices = rows::<3>(&self.floats("value")?);
                shapes.mesh_triangles = (0..shapes.mesh_vertices.len() as u32 / 3)
                    .map(|t| [3 * t, 3 * t + 1, 3 * t + 2])
                    .collect();
            }
            // Part of the fabric, which `Case::cloths` builds.
            "virtual_particles" => return Ok(()),
            "self_collision_distance" => {
                config.self_collision.distance = Some(self.scalar("value")?)
            }
            "self_collision_stiffness" => config.self_collision.stiffness = self.scalar("value")?,
            "self_collision_indices" => {
                return Ok(host.set_self_collision_indices(&self.numbers("indices")?)?);
            }
            "rest_positions" => {
                let positions: Vec<_> = rows::<4>(&self.floats("xyzw")?)
                    .iter()
                    .map(|&[x, y, z, _]| [x, y, z])
                    .collect();
                return Ok(host.set_rest_positions(&positions)?);
            }
            "motion_spheres" => {
                return Ok(host.set_motion_spheres(&spheres(&self.floats("value")?))?);
            }
            "separation_spheres" => {
                return Ok(host.set_separation_spheres(&spheres(&self.floats("value")?))?);
            }
            "frame_translation" => {
                return Ok(host
                    .set_pose(Pose { translation: self.array("value")?, ..host.target_pose() })?);
            }
            "frame_rotation" => {
                return Ok(
                    host.set_pose(Pose { rotation: self.array("value")?, ..host.target_pose() })?
                );
            }
            "teleport" => return Ok(host.teleport(self.array("value")?)?),
            "teleport_to" => {
                let pose = Pose {
                    translation: self.array("translation")?,
                    rotation: self.array("rotation")?,
                };
                return Ok(host.teleport_to(pose)?);
            }
            "ignore_velocity_discontinuity" => {
                host.ignore_velocity_discontinuity();
                return Ok(());
            }
            "clear_inertia" => {
                host.clear_inertia();
                return Ok(());
            }
            "particle_accelerations" => {
                let values: Vec<_> = rows::<4>(&self.floats("xyzw")?)
                    .iter()
                    .map(|&[x, y, z, _]| [x, y, z])
                    .collect();
                return Ok(host.set_particle_accelerations(&values)?);
            }
            "current_particles" => {
                let indices: Vec<_> =
                    self.floats("indices")?.iter().map(|&index| index as u32).collect();
                return Ok(host.write_particles(&indices, &particles(&self.floats("xyzw")?))?);
            }
            "phase_configs" => {
                let value = self.fields.get("value").cloned().unwrap_or(Value::Null);
                let phases: Vec<CasePhaseConfig> = serde_json::from_value(value)
                    .map_err(|error| CaseError::Unsupported(error.to_string()))?;
                let order: Vec<u32> = phases.iter().map(|phase| phase.phase).collect();
                host.set_phase_order(&order)?;
                let single = phases.into_iter().map(|phase| (phase.phase, phase.settings()));
                pbd(&mut config)?.phases = Phases { single: single.collect(), ..Phases::default() };
            }
            other => return Err(CaseError::Unsupported(other.to_owned())),
        }
        shapes.reach(host.colliders_mut())?;
        Ok(host.set_config(config)?)
    }
}
