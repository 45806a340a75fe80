//! Meshes that a scene generates, and their transforms.

use std::f32::consts::TAU;
use std::path::PathBuf;

use glam::{DQuat, DVec3, EulerRot, Quat, Vec3};
use poplin_geometry::wide;
use poplin_model::Mesh;
use schemars::JsonSchema;
use serde::Deserialize;

use poplin_io::MeshFile;
use poplin_io::origin_of;

/// Source of the mesh of a cloth.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// Rectangle of quads.
    Grid(GridShape),
    /// Tube of quads, or a sector of a tube.
    Tube(TubeShape),
    /// Mesh file ([`poplin_io::MESH_FORMATS`]), its path resolved against the scene file.
    Mesh(PathBuf),
}

/// Rectangle of quads, row after row, corner 0 or the middle at the origin.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GridShape {
    /// Vertices along x, 2 or more.
    pub columns: u32,
    /// Vertices along the other side, 2 or more.
    pub rows: u32,
    /// Length along x \[m\], above 0.
    pub width: f32,
    /// Length of the other side \[m\], above 0.
    pub height: f32,
    /// Plane of the grid (default `"xy"`: hanging).
    #[serde(default)]
    pub plane: GridPlane,
    /// Puts the middle of the grid at the origin, in place of corner 0 (default false), so that
    /// `transform` turns it about its middle.
    #[serde(default)]
    pub centered: bool,
}

/// Plane of a grid.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GridPlane {
    /// Upright like a flag or a curtain: rows go down, along -y, from the origin; the front faces
    /// +z.
    #[default]
    Xy,
    /// Flat like a table cloth: rows go towards the viewer, along +z; the front faces up.
    Xz,
}

/// Tube of quads around the y axis, ring 0 at `y = 0` and the other rings below it; the front faces
/// outwards.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TubeShape {
    /// Vertices per ring, 3 or more; an open arc has one at each end.
    pub segments: u32,
    /// Number of rings, 2 or more.
    pub rings: u32,
    /// Radius of ring 0 \[m\], above 0.
    pub top_radius: f32,
    /// Radius of the last ring \[m\], above 0.
    pub bottom_radius: f32,
    /// Distance from the first ring to the last along y \[m\], 0 or more.
    pub height: f32,
    /// Angle covered by the tube \[degrees\], `1..=360` (default 360: closed). A smaller angle
    /// leaves the tube open, its middle towards the viewer (+z): a cape seen from behind.
    #[serde(default = "full_circle")]
    pub arc: f32,
}

fn full_circle() -> f32 {
    360.0
}

/// Transform of a cloth: scale, then rotation, then translation.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Transform {
    /// Displacement \[m\] (default 0).
    pub translation: [f32; 3],
    /// Rotations \[degrees\] (default 0) around the world's x axis first, then y, then z.
    pub rotation: [f32; 3],
    /// Factor on all lengths, `1e-6..=1e6` (default 1).
    pub scale: f32,
}

impl Default for Transform {
    fn default() -> Self {
        Self { translation: [0.0; 3], rotation: [0.0; 3], scale: 1.0 }
    }
}

impl Transform {
    /// Transforms a position \[m\] of the mesh to the world \[m\].
    pub fn apply(&self, position: [f32; 3]) -> [f32; 3] {
        let [x, y, z] = self.rotation.map(f32::to_radians);
        // R = Rz Ry Rx: x first.
        let rotation = Quat::from_euler(EulerRot::ZYX, z, y, x);
        (rotation * (Vec3::from(position) * self.scale) + Vec3::from(self.translation)).to_array()
    }

    /// Transforms a mesh from its file to the world, in double precision if it is far from the
    /// origin in either.
    pub fn apply_to(&self, file: &mut MeshFile) {
        let (from, rotation) = (DVec3::from(file.origin), self.precise_rotation());
        let translation = wide(self.translation);
        let moved =
            |p: &[f32; 3]| rotation * ((wide(*p) + from) * f64::from(self.scale)) + translation;
        let world: Vec<_> = file.mesh.positions.iter().map(moved).collect();
        let origin = origin_of(&file.mesh, &world);
        let positions = &mut file.mesh.positions;
        if [from, origin] == [DVec3::ZERO; 2] {
            positions.iter_mut().for_each(|position| *position = self.apply(*position));
        } else {
            *positions = world.iter().map(|p| (p - origin).as_vec3().to_array()).collect();
        }
        file.origin = origin.to_array();
    }

    /// Rotation in double precision.
    pub(super) fn precise_rotation(&self) -> DQuat {
        let [x, y, z] = self.rotation.map(|angle| f64::from(angle).to_radians());
        DQuat::from_euler(EulerRot::ZYX, z, y, x)
    }
}

impl GridShape {
    /// Number of vertices, not yet checked against any limit.
    pub fn particle_count(&self) -> u64 {
        u64::from(self.columns) * u64::from(self.rows)
    }

    /// Generates the mesh. The sizes must be valid.
    pub(super) fn mesh(&self) -> Mesh {
        let mut mesh = Mesh::grid(self.columns, self.rows, self.width, self.height);
        if self.centered {
            let middle = [0.5 * self.width, 0.0, 0.5 * self.height];
            let moved = |x: &mut [f32; 3]| *x = std::array::from_fn(|k| x[k] - middle[k]);
            mesh.positions.iter_mut().for_each(moved);
        }
        if self.plane == GridPlane::Xy {
            // 0 - z and not -z: no negative zeros.
            mesh.positions
                .iter_mut()
                .for_each(|position| *position = [position[0], 0.0 - position[2], 0.0]);
        }
        mesh
    }
}

impl TubeShape {
    /// Number of vertices, not yet checked against any limit.
    pub fn particle_count(&self) -> u64 {
        u64::from(self.segments) * u64::from(self.rings)
    }

    /// Generates the mesh. The sizes must be valid.
    pub(super) fn mesh(&self) -> Mesh {
        if self.arc >= 360.0 {
            return Mesh::tube(
                self.segments,
                self.rings,
                self.top_radius,
                self.bottom_radius,
                self.height,
            );
        }
        // A grid wrapped around the axis: u goes around, v down.
        let mut mesh = Mesh::grid(self.segments, self.rings, 1.0, 1.0);
        for (position, [u, v]) in mesh.positions.iter_mut().zip(&mesh.uvs) {
            let radius = self.top_radius + (self.bottom_radius - self.top_radius) * v;
            // The middle of the arc, u = 0.5, is at +z.
            let angle = 0.25 * TAU + (0.5 - u) * self.arc.to_radians();
            *position = [radius * angle.cos(), -self.height * v, radius * angle.sin()];
        }
        mesh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(mesh: &Mesh, quad: usize) -> Vec3 {
        let [a, b, c, _] =
            mesh.quads[quad].map(|vertex| Vec3::from(mesh.positions[vertex as usize]));
        (b - a).cross(c - a).normalize()
    }

    const GRID: GridShape = GridShape {
        columns: 3,
        rows: 2,
        width: 2.0,
        height: 1.0,
        plane: GridPlane::Xy,
        centered: false,
    };

    const CAPE: TubeShape = TubeShape {
        segments: 9,
        rings: 4,
        top_radius: 0.2,
        bottom_radius: 0.5,
        height: 1.0,
        arc: 180.0,
    };

    #[test]
    fn a_hanging_grid_goes_down_from_the_origin_and_faces_forward() {
        let mesh = GRID.mesh();
        assert_eq!(
            mesh.positions,
            [
                [0.0, 0.0, 0.0],
                [1.0, 0.0, 0.0],
                [2.0, 0.0, 0.0],
                [0.0, -1.0, 0.0],
                [1.0, -1.0, 0.0],
                [2.0, -1.0, 0.0]
            ]
        );
        assert_eq!(normal(&mesh, 0), Vec3::Z);
    }

    #[test]
    fn a_centered_grid_has_its_middle_at_the_origin() {
        for plane in [GridPlane::Xy, GridPlane::Xz] {
            let positions = GridShape { plane, centered: true, ..GRID }.mesh().positions;
            let other = if plane == GridPlane::Xy { [0.5, 0.0] } else { [0.0, -0.5] };
            assert_eq!(positions[0], [-1.0, other[0], other[1]], "{plane:?}");
            assert_eq!(positions[5], [1.0, 0.0 - other[0], 0.0 - other[1]], "{plane:?}");
        }
    }

    #[test]
    fn a_lying_grid_faces_up() {
        let grid = GridShape { plane: GridPlane::Xz, ..GRID };
        assert_eq!(normal(&grid.mesh(), 0), Vec3::Y);
    }

    #[test]
    fn tubes_face_outwards_closed_or_open() {
        for arc in [360.0, 180.0] {
            let mesh = TubeShape { arc, ..CAPE }.mesh();
            for quad in 0..mesh.quads.len() {
                let center = Vec3::from(mesh.positions[mesh.quads[quad][0] as usize])
                    * Vec3::new(1.0, 0.0, 1.0);
                assert!(normal(&mesh, quad).dot(center) > 0.0, "arc {arc}, quad {quad}");
            }
        }
    }

    #[test]
    fn the_middle_of_an_open_tube_faces_the_viewer() {
        let mesh = CAPE.mesh();
        assert_eq!((mesh.positions.len(), mesh.quads.len()), (36, 24));
        assert!(mesh.positions.iter().all(|position| position[2] > -1e-6));
    }

    #[test]
    fn rotations_go_around_x_then_y_then_z() {
        let transform =
            Transform { rotation: [90.0, 90.0, 0.0], translation: [1.0, 0.0, 0.0], scale: 2.0 };
        // y -> (around x) z -> (around y) x
        let moved = Vec3::from(transform.apply([0.0, 1.0, 0.0]));
        assert!(moved.abs_diff_eq(Vec3::new(3.0, 0.0, 0.0), 1e-6), "{moved}");
    }
}
