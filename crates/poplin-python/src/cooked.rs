//! Cooked meshes.

use std::path::PathBuf;

use poplin::model::{ClothDesc, Mesh};
use poplin_run::{CookedCloth, cook_cloth};
use poplin_scene::{BuiltCloth, SceneCloth};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::{bytes, rows};
use crate::errors::OrRaise;
use crate::json::{to_keys, to_python, to_value};

/// Cooked cloth, before it is added to a simulation.
#[pyclass(frozen, module = "poplin._poplin")]
pub(crate) struct Cooked(CookedCloth);

impl Cooked {
    /// Returns the cloth; its clones share the fabric.
    pub(crate) fn cloth(&self) -> &ClothDesc {
        &self.0.cloth
    }
}

/// Bytes of positions, texture coordinates, triangles and quads of a mesh.
pub(crate) type MeshBytes<'a> = (&'a [u8], &'a [u8], &'a [u8], &'a [u8]);

/// Builds a mesh from the bytes of its arrays.
pub(crate) fn mesh_of((positions, uvs, triangles, quads): MeshBytes<'_>) -> Mesh {
    Mesh {
        positions: rows(positions),
        uvs: rows(uvs),
        triangles: rows(triangles),
        quads: rows(quads),
        ..Mesh::default()
    }
}

#[pymethods]
impl Cooked {
    /// Cooks a mesh with keys of `[[cloth]]` as JSON; `pinned` are vertices in addition to its pin
    /// rules.
    #[new]
    fn new(py: Python<'_>, mesh: MeshBytes<'_>, pinned: &[u8], keys: &str) -> PyResult<Self> {
        crate::process::enter()?;
        let (mesh, pinned, keys) = (mesh_of(mesh), rows(pinned), to_keys(keys)?);
        py.detach(|| {
            let scene = SceneCloth::of_keys(&keys).or_raise()?;
            cook_cloth(&scene, mesh, pinned).or_raise().map(Self)
        })
    }

    /// Returns position and inverse mass of every particle at rest.
    fn particles<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        bytes(py, poplin::model::Particle::rows(&self.0.cloth.particles))
    }

    /// Returns the particle indices of triangles.
    fn triangles<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        bytes(py, &self.0.cloth.fabric.triangles)
    }

    /// Returns the particle of every vertex, -1 for none.
    fn vertex_to_particle<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let index = |particle: &Option<u32>| particle.map_or(-1, |particle| particle as i32);
        bytes(py, &self.0.vertex_to_particle.iter().map(index).collect::<Vec<_>>())
    }

    /// Returns the cooking report.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.0.report)
    }

    /// Returns the warnings as a list of dicts.
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &to_value(&self.0.warnings)?)
    }

    /// Returns the settings as a dict.
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        crate::settings::to_dict(py, &self.0.cloth.config)
    }
}

/// Bytes of positions, texture coordinates, triangles and quads, as Python objects.
pub(crate) type Arrays<'py> = [Bound<'py, PyBytes>; 4];

pub(crate) fn arrays<'py>(py: Python<'py>, mesh: &Mesh) -> Arrays<'py> {
    [
        bytes(py, &mesh.positions),
        bytes(py, &mesh.uvs),
        bytes(py, &mesh.triangles),
        bytes(py, &mesh.quads),
    ]
}

/// Loads a mesh file. Returns the mesh and the world position that its positions are relative to.
#[pyfunction]
pub(crate) fn load_mesh(py: Python<'_>, path: PathBuf) -> PyResult<(Arrays<'_>, [f64; 3])> {
    crate::process::enter()?;
    let file = py.detach(|| poplin_io::load_mesh(&path)).or_raise()?;
    Ok((arrays(py, &file.mesh), file.origin))
}

/// Returns the normals of the vertices of triangles, whose indices are in range.
#[pyfunction]
pub(crate) fn vertex_normals<'py>(
    py: Python<'py>,
    points: &[u8],
    triangles: &[u8],
) -> Bound<'py, PyBytes> {
    let (points, triangles) = (rows::<[f32; 3]>(points), rows::<[u32; 3]>(triangles));
    let normals = py.detach(|| poplin_io::vertex_normals(&points, triangles));
    let single = normals.into_iter().map(|normal| normal.as_vec3().to_array());
    bytes(py, &single.collect::<Vec<_>>())
}

/// Returns the mesh of a shape from its keys as JSON.
#[pyfunction]
pub(crate) fn shape_mesh<'py>(py: Python<'py>, keys: &str) -> PyResult<Arrays<'py>> {
    let built = BuiltCloth::of_keys(&to_keys(keys)?).or_raise()?;
    Ok(arrays(py, &built.mesh))
}
