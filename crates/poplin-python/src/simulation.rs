//! Simulation of cloths.

mod mesh_shape;
mod pinned;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use poplin::model::{Collider, Particle, Pose, Sphere, check_dt};
use poplin::{ClothId, ParticleMotion, Ray, Snapshot};
use poplin_run::{StretchEdges, simulation_options};
use poplin_scene::{SceneCollider, contact_solver_of_keys};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arrays::{bytes, rows};
use crate::cooked::{Cooked, MeshBytes, mesh_of};
use crate::errors::OrRaise;
use crate::json::{to_keys, to_python, to_value};
use crate::process;
use crate::settings::changes;
use crate::signals::Signals;
use crate::state::StateRead;
use mesh_shape::mesh_shape;
use pinned::{PinnedSimulation, PoseRow, ids_of, part, pose_of, row};

/// Simulation on one backend. Handles are integers; arrays of rows are passed as bytes.
///
/// The interpreter's lock is never held while waiting for the lock of the simulation, to avoid a
/// deadlock.
#[pyclass(frozen, module = "poplin._poplin")]
pub(crate) struct Simulation(Mutex<PinnedSimulation>);

impl Simulation {
    /// Locks the simulation and runs an action without the interpreter's lock.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        action: impl FnOnce(&mut PinnedSimulation) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        process::with(py, &self.0, action)
    }
}

#[pymethods]
impl Simulation {
    #[new]
    fn new(py: Python<'_>, backend: &str, adapter: Option<String>) -> PyResult<Self> {
        process::enter()?;
        let options = simulation_options(backend, adapter).or_raise()?;
        let simulation = py.detach(|| poplin::Simulation::new(options)).or_raise()?;
        Ok(Self(Mutex::new(PinnedSimulation { simulation, pins: HashMap::new() })))
    }

    /// Returns name, adapter and reason.
    fn backend(&self, py: Python<'_>) -> PyResult<(String, String, String)> {
        self.with(py, |inner| {
            let choice = inner.simulation.backend();
            let name = choice.backend.name().to_lowercase();
            Ok((name, choice.adapter.clone(), choice.reason.clone()))
        })
    }

    fn memory_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |inner| Ok(inner.simulation.memory_bytes()))
    }

    /// Returns the handles of cloths in the order of adding.
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bits = |id: &ClothId| id.to_bits();
        let ids: Vec<_> =
            self.with(py, |inner| Ok(inner.simulation.ids().iter().map(bits).collect::<Vec<_>>()))?;
        Ok(bytes(py, &ids))
    }

    /// Adds a copy for each pose; adds none after an error.
    fn add<'py>(
        &self,
        py: Python<'py>,
        cooked: &Bound<'py, Cooked>,
        keys: &str,
        poses: &[u8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        let poses: Vec<PoseRow> = rows(poses);
        let changes = changes(keys)?;
        let cooked = cooked.get();
        let ids = self.with(py, |inner| {
            let mut cloth = cooked.cloth().clone();
            cloth.config = changes.over(&cloth.config).or_raise()?;
            let mut ids = Vec::with_capacity(poses.len());
            for pose in poses {
                let copy = poplin::model::ClothDesc { pose: pose_of(pose), ..cloth.clone() };
                match inner.simulation.add(copy) {
                    Ok(id) => ids.push(id),
                    Err(error) => {
                        for id in ids {
                            inner.simulation.remove(id).or_raise()?;
                        }
                        return Err(error).or_raise();
                    }
                }
            }
            Ok(ids.into_iter().map(ClothId::to_bits).collect::<Vec<_>>())
        })?;
        Ok(bytes(py, &ids))
    }

    fn remove(&self, py: Python<'_>, ids: &[u8]) -> PyResult<()> {
        let ids = ids_of(ids);
        self.with(py, |inner| {
            inner.check(&ids)?;
            ids.iter().try_for_each(|id| {
                inner.pins.remove(id);
                inner.simulation.remove(*id).or_raise()
            })
        })
    }

    fn reset(&self, py: Python<'_>, ids: &[u8]) -> PyResult<()> {
        let ids = ids_of(ids);
        self.with(py, |inner| {
            inner.check(&ids)?;
            ids.iter().try_for_each(|id| {
                // A reset releases all holds.
                inner.pins.remove(id);
                inner.simulation.reset(*id).or_raise()
            })
        })
    }

    /// Simulates frames. Unlocks the simulation between frames, and checks signals.
    fn step(&self, py: Python<'_>, frames: u32, frame_rate: f32) -> PyResult<()> {
        process::enter()?;
        let signals = Signals::new();
        // The same rounding as in the command line.
        let dt = frame_rate.recip();
        check_dt(dt).or_raise()?;
        py.detach(|| -> PyResult<()> {
            for _ in 0..frames {
                let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                inner.simulation.step(dt).or_raise()?;
                drop(inner);
                if signals.is_raised() {
                    break;
                }
            }
            Ok(())
        })?;
        signals.check()
    }

    /// Reads all cloths, or the given ones.
    fn read(&self, py: Python<'_>, ids: Option<&[u8]>) -> PyResult<StateRead> {
        let ids = ids.map(ids_of);
        self.with(py, |inner| {
            let simulation = &mut inner.simulation;
            let state = match ids.as_deref() {
                None => simulation.state().or_raise()?,
                Some([id]) => simulation.read(*id).or_raise()?,
                Some(ids) => {
                    inner.check(ids)?;
                    let simulation = &mut inner.simulation;
                    let mut reading = simulation.begin_read(ids).or_raise()?;
                    simulation.wait().or_raise()?;
                    reading.poll().or_raise()?.unwrap_or_default()
                }
            };
            StateRead::new(state, &inner.simulation)
        })
    }

    /// Returns the settings of a cloth.
    fn settings<'py>(&self, py: Python<'py>, id: u64) -> PyResult<Bound<'py, PyAny>> {
        let config =
            self.with(py, |inner| Ok(inner.live(ClothId::from_bits(id))?.desc().config.clone()))?;
        crate::settings::to_dict(py, &config)
    }

    /// Changes settings of cloths; changes none after an error.
    fn set_settings(&self, py: Python<'_>, ids: &[u8], keys: &str) -> PyResult<()> {
        let (ids, changes) = (ids_of(ids), changes(keys)?);
        self.with(py, |inner| {
            inner.check(&ids)?;
            let mut changed = Vec::with_capacity(ids.len());
            for &id in &ids {
                let cloth = inner.live(id)?.desc();
                let config = changes.over(&cloth.config).or_raise()?;
                cloth.validate_config(&config).or_raise()?;
                changed.push(config);
            }
            for (&id, config) in ids.iter().zip(changed) {
                inner.live(id)?.set_config(config).or_raise()?;
            }
            Ok(())
        })
    }

    /// Returns the settings of cloth contact.
    fn cloth_contact_solver<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let settings = self.with(py, |inner| Ok(inner.simulation.cloth_contact_solver()))?;
        to_python(py, &to_value(&settings)?)
    }

    /// Changes settings of cloth contact.
    fn set_cloth_contact_solver(&self, py: Python<'_>, keys: &str) -> PyResult<()> {
        self.with(py, |inner| {
            let settings = inner.simulation.cloth_contact_solver();
            let changed = contact_solver_of_keys(&settings, &to_keys(keys)?).or_raise()?;
            inner.simulation.set_cloth_contact_solver(changed).or_raise()
        })
    }

    /// Sets the wind of cloths, one row for all or one per cloth.
    fn set_wind(&self, py: Python<'_>, ids: &[u8], velocities: &[u8]) -> PyResult<()> {
        let (ids, velocities) = (ids_of(ids), rows::<[f32; 3]>(velocities));
        self.with(py, |inner| {
            inner.check(&ids)?;
            for (index, &id) in ids.iter().enumerate() {
                let live = inner.live(id)?;
                let wind_velocity = row(&velocities, index);
                if live.desc().config.air.wind_velocity != wind_velocity {
                    let mut config = live.desc().config.clone();
                    config.air.wind_velocity = wind_velocity;
                    live.set_config(config).or_raise()?;
                }
            }
            Ok(())
        })
    }

    /// Moves local spaces over the next frame, or teleports them.
    fn set_pose(&self, py: Python<'_>, ids: &[u8], poses: &[u8], teleport: bool) -> PyResult<()> {
        let (ids, poses) = (ids_of(ids), rows::<PoseRow>(poses));
        self.with(py, |inner| {
            inner.check(&ids)?;
            poses.iter().try_for_each(|&pose| pose_of(pose).validate()).or_raise()?;
            for (index, &id) in ids.iter().enumerate() {
                let pose = pose_of(row(&poses, index));
                let live = inner.live(id)?;
                let set = if teleport { live.teleport_to(pose) } else { live.set_pose(pose) };
                set.or_raise()?;
            }
            Ok(())
        })
    }

    /// Returns the poses of local spaces after the last frame.
    fn poses<'py>(&self, py: Python<'py>, ids: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let ids = ids_of(ids);
        let poses = self.with(py, |inner| {
            let pose = |&id: &ClothId| {
                let Pose { translation: [x, y, z], rotation: [a, b, c, w] } =
                    inner.live(id)?.pose();
                Ok([x, y, z, a, b, c, w])
            };
            ids.iter().map(pose).collect::<PyResult<Vec<PoseRow>>>()
        })?;
        Ok(bytes(py, &poses))
    }

    /// Makes particles of each cloth follow targets in its local space. `targets` has rows for all
    /// cloths, one after another.
    fn set_pins(
        &self,
        py: Python<'_>,
        ids: &[u8],
        particles: &[u8],
        targets: &[u8],
    ) -> PyResult<()> {
        let (ids, particles) = (ids_of(ids), rows::<u32>(particles));
        let targets: Vec<[f32; 3]> = rows(targets);
        self.with(py, |inner| {
            inner.check(&ids)?;
            poplin::model::check_finite("pin target", &targets).or_raise()?;
            for &id in &ids {
                let count = inner.live(id)?.desc().particle_count();
                if let Some(particle) = particles.iter().find(|&&it| it as usize >= count) {
                    let id = id.to_bits();
                    return Err(PyValueError::new_err(format!(
                        "no particle {particle} to pin: cloth {id} has {count}"
                    )));
                }
            }
            let count = particles.len();
            for (index, &id) in ids.iter().enumerate() {
                inner.pin(id, &particles, &targets[index * count..][..count])?;
            }
            Ok(())
        })
    }

    /// Sets the motion or separation spheres of cloths: a row for each particle, of one cloth for
    /// all or of each one after another; none switches them off.
    fn set_spheres(
        &self,
        py: Python<'_>,
        ids: &[u8],
        spheres: &[u8],
        are_separation: bool,
    ) -> PyResult<()> {
        let (ids, spheres) = (ids_of(ids), rows::<Sphere>(spheres));
        self.with(py, |inner| {
            inner.check_rows("spheres", &ids, spheres.len())?;
            for (index, &id) in ids.iter().enumerate() {
                let live = inner.live(id)?;
                let spheres = part(&spheres, index, ids.len());
                match are_separation {
                    true => live.set_separation_spheres(spheres).or_raise()?,
                    false => live.set_motion_spheres(spheres).or_raise()?,
                }
            }
            Ok(())
        })
    }

    /// Sets the accelerations of particles, with rows like those of spheres.
    fn set_accelerations(&self, py: Python<'_>, ids: &[u8], rows_of: &[u8]) -> PyResult<()> {
        let (ids, accelerations) = (ids_of(ids), rows::<[f32; 3]>(rows_of));
        self.with(py, |inner| {
            inner.check_rows("accelerations", &ids, accelerations.len())?;
            for (index, &id) in ids.iter().enumerate() {
                let accelerations = part(&accelerations, index, ids.len());
                inner.live(id)?.set_particle_accelerations(accelerations).or_raise()?;
            }
            Ok(())
        })
    }

    /// Returns the strain of cloths as a list of dicts.
    fn strain<'py>(&self, py: Python<'py>, ids: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        let ids = ids_of(ids);
        let strain = self.with(py, |inner| {
            inner.check(&ids)?;
            let state = inner.simulation.state().or_raise()?;
            let measure = |&id: &ClothId| {
                let mut edges =
                    StretchEdges::new(&inner.simulation.cloth(id).or_raise()?.desc().fabric);
                Ok(edges.measure(state.current(id)))
            };
            ids.iter().map(measure).collect::<PyResult<Vec<_>>>()
        })?;
        to_python(py, &to_value(&strain)?)
    }

    /// Releases the held particles of cloths.
    fn release_pins(&self, py: Python<'_>, ids: &[u8]) -> PyResult<()> {
        let ids = ids_of(ids);
        self.with(py, |inner| {
            inner.check(&ids)?;
            for id in ids {
                if let Some((_, hold)) = inner.pins.remove(&id) {
                    inner.live(id)?.release(hold);
                }
            }
            Ok(())
        })
    }

    /// Sets all particles of a cloth, at rest or with velocities.
    fn set_particles(
        &self,
        py: Python<'_>,
        id: u64,
        particles: &[u8],
        velocities: Option<&[u8]>,
    ) -> PyResult<()> {
        let id = ClothId::from_bits(id);
        let particles: Vec<[f32; 4]> = rows(particles);
        let velocities: Option<Vec<[f32; 3]>> = velocities.map(rows);
        self.with(py, |inner| {
            let motion =
                velocities.as_deref().map_or(ParticleMotion::Rest, ParticleMotion::Velocities);
            inner
                .simulation
                .set_particles(id, Particle::from_rows(&particles), motion)
                .or_raise()?;
            inner.pins.remove(&id);
            Ok(())
        })
    }

    /// Adds a collider to the shared set, or one to the set of each cloth; adds none after an
    /// error.
    fn add_collider<'py>(
        &self,
        py: Python<'py>,
        keys: &str,
        mesh: Option<(MeshBytes<'py>, bool)>,
        cloths: Option<&[u8]>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let keys = to_keys(keys)?;
        let mesh = mesh.map(|(arrays, is_open)| (mesh_of(arrays), is_open));
        let cloths: Option<Vec<u64>> = cloths.map(rows);
        let ids = self.with(py, |inner| {
            let mut collider = SceneCollider::of_keys(&keys).or_raise()?;
            if let Some((mesh, is_open)) = mesh {
                collider.shape = mesh_shape(mesh, is_open)?;
            }
            let Some(cloths) = cloths else {
                return Ok(vec![inner.colliders(None)?.add(collider).or_raise()?.to_bits()]);
            };
            let ids: Vec<_> = cloths.iter().copied().map(ClothId::from_bits).collect();
            inner.check(&ids)?;
            let mut added: Vec<u64> = Vec::with_capacity(cloths.len());
            for &cloth in &cloths {
                match inner.colliders(Some(cloth))?.add(Collider::clone(&collider)) {
                    Ok(id) => added.push(id.to_bits()),
                    Err(error) => {
                        inner.each_collider(&added, Some(&cloths), |set, _, id| {
                            set.remove(id).map(drop)
                        })?;
                        return Err(error).or_raise();
                    }
                }
            }
            Ok(added)
        })?;
        Ok(bytes(py, &ids))
    }

    /// Moves colliders over the next frame, or teleports them.
    fn move_collider(
        &self,
        py: Python<'_>,
        colliders: &[u8],
        cloths: Option<&[u8]>,
        poses: &[u8],
        teleport: bool,
    ) -> PyResult<()> {
        let (colliders, cloths) = (rows::<u64>(colliders), cloths.map(rows::<u64>));
        let poses: Vec<PoseRow> = rows(poses);
        self.with(py, |inner| {
            poses.iter().try_for_each(|&pose| pose_of(pose).validate()).or_raise()?;
            inner.each_collider(&colliders, cloths.as_deref(), |set, index, id| {
                let pose = pose_of(row(&poses, index));
                if teleport { set.teleport(id, pose) } else { set.set_pose(id, pose) }
            })
        })
    }

    fn remove_collider(
        &self,
        py: Python<'_>,
        colliders: &[u8],
        cloths: Option<&[u8]>,
    ) -> PyResult<()> {
        let (colliders, cloths) = (rows::<u64>(colliders), cloths.map(rows::<u64>));
        self.with(py, |inner| {
            inner
                .each_collider(&colliders, cloths.as_deref(), |set, _, id| set.remove(id).map(drop))
        })
    }

    /// Returns the first hit of a ray.
    fn pick<'py>(
        &self,
        py: Python<'py>,
        origin: [f32; 3],
        direction: [f32; 3],
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let hit = self.with(py, |inner| {
            let state = inner.simulation.state().or_raise()?;
            inner.simulation.pick(&state, &Ray { origin, direction }).or_raise()
        })?;
        let Some(hit) = hit else { return Ok(None) };
        let dict = PyDict::new(py);
        dict.set_item("cloth", hit.cloth.to_bits())?;
        dict.set_item("triangle", hit.at.triangle)?;
        dict.set_item("weights", hit.at.weights)?;
        dict.set_item("particle", hit.at.particle)?;
        dict.set_item("distance", hit.at.distance)?;
        dict.set_item("point", hit.at.point)?;
        dict.set_item("is_front", hit.at.is_front)?;
        Ok(Some(dict))
    }

    /// Returns the full simulation state.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let saved = self.with(py, |inner| {
            let snapshot = inner.simulation.save().or_raise()?;
            snapshot.to_bytes().map_err(poplin::Error::from).or_raise()
        })?;
        Ok(PyBytes::new(py, &saved))
    }

    /// Restores a snapshot. Returns the new handles of the cloths.
    fn restore<'py>(&self, py: Python<'py>, saved: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let ids = self.with(py, |inner| {
            let snapshot = Snapshot::from_bytes(saved).map_err(poplin::Error::from).or_raise()?;
            let ids = inner.simulation.restore(&snapshot).or_raise()?;
            inner.pins.clear();
            Ok(ids.into_iter().map(ClothId::to_bits).collect::<Vec<_>>())
        })?;
        Ok(bytes(py, &ids))
    }
}
