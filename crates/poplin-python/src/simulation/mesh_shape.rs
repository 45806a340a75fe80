//! Meshes as shapes of colliders.

use poplin::model::{Mesh, Shape, TriangleMesh};
use poplin_scene::{close_surface, compact_surface};
use pyo3::PyResult;
use pyo3::exceptions::PyValueError;

use crate::errors::OrRaise;

/// Returns a mesh as the shape of a collider, closed unless it may be open.
pub(super) fn mesh_shape(mesh: Mesh, is_open: bool) -> PyResult<Shape> {
    mesh.validate().or_raise()?;
    let triangles = mesh.triangulated().into();
    let mesh = compact_surface(TriangleMesh { triangles, vertices: mesh.positions.into() });
    if is_open {
        return Ok(mesh.into());
    }
    let closed = close_surface(&mesh).map_err(|surface| {
        PyValueError::new_err(format!(
            "the mesh of the collider is not closed: {surface}; close it, make it a solid, or pass open=True, which \
             treats everything behind a triangle as inside"
        ))
    })?;
    Ok(closed.0.into())
}
