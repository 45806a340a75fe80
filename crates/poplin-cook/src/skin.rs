//! Skinning: a fine mesh that follows a coarse cloth.

use glam::{DMat3, DVec3};
use poplin_geometry::{Bounds, NearestTriangle, TriangleTree, wide};
use poplin_model::{Corners, Mesh, RenderMesh, VertexBinding};

use crate::grain::vertex_normals;
use crate::options::check_option;
use crate::render_mesh::Drawn;
use crate::surface::Surface;
use crate::{CookError, Cooked, RenderMeshOptions, Weld};

/// Distance ratio beyond which a vertex is bound to a triangle that faces away instead of to one
/// that faces the same way.
const FACING: f64 = 4.0;

/// Iterations that solve for the weights and the normal of a vertex.
const ROUNDS: usize = 16;

/// Largest amount by which weights may exceed the triangle.
const MAX_OVERHANG: f64 = 1.0;

/// Options of [`Cooked::skin`].
#[derive(Debug, Clone, PartialEq)]
pub struct SkinOptions {
    /// Largest distance of a vertex from the cloth \[m\], above 0. Default: the longest side of a
    /// triangle of the cloth.
    pub max_distance: Option<f32>,
    /// Welding of the fine mesh; welded vertices share a normal. Default: that of cooking.
    pub weld: Weld,
    /// Options for splitting its vertices.
    pub drawn: RenderMeshOptions,
}

impl Default for SkinOptions {
    fn default() -> Self {
        let drawn = RenderMeshOptions::default();
        Self { max_distance: None, weld: Weld::Relative(1e-6), drawn }
    }
}

/// A fine mesh bound to a cloth.
#[derive(Debug, Clone, PartialEq)]
pub struct Skin {
    /// Render mesh.
    pub mesh: RenderMesh,
    /// Accuracy of the binding.
    pub report: SkinReport,
}

/// Accuracy of the binding of a fine mesh, at rest.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SkinReport {
    /// Largest distance of a vertex from the cloth \[m\].
    pub max_distance: f64,
    /// Largest distance of a bound vertex from its original position \[m\], where the cloth bends
    /// too sharply for its offset.
    pub max_error: f64,
    /// Number of vertices with an error above a thousandth of the mesh's size.
    pub inexact_count: usize,
}

impl Cooked {
    /// Binds a fine mesh to the cloth at rest: every vertex to a point of a triangle of particles
    /// with an offset along the normal there, interpolated between the particle normals, so that
    /// the result is continuous across edges.
    ///
    /// A vertex is bound to the nearest triangle that faces the same way, which separates the two
    /// layers of a fold or a lining; to a triangle that faces away only if the others are four
    /// times as far, as on the inner side of a mesh with thickness. The choice is made once, at
    /// rest, so that nothing jumps when the cloth folds. Beyond the boundary of the cloth the
    /// outermost triangle is extrapolated.
    ///
    /// # Errors
    /// [`CookError`] if the mesh or an option is out of range, or [`CookError::FarFromCloth`] with
    /// the farthest vertex.
    pub fn skin(&self, mesh: &Mesh, options: &SkinOptions) -> Result<Skin, CookError> {
        mesh.validate()?;
        options.drawn.validate()?;
        let fine = Surface::new(mesh, options.weld)?;
        let cloth = Cloth::new(self);
        let limit = options.max_distance.map_or(cloth.longest_side, f64::from);
        let range = [f32::MIN_POSITIVE.into(), poplin_model::MAX_COORDINATE.into()];
        check_option("max_distance", limit as f32, range, "m")?;
        let normals = vertex_normals(&fine);
        let mut report = SkinReport::default();
        let mut furthest = None;
        let size = Bounds::of(fine.positions.iter().copied()).size();
        let tolerance = 1e-3 * size.length();
        let bindings: Vec<VertexBinding> = fine
            .positions
            .iter()
            .zip(&normals)
            .enumerate()
            .map(|(site, (&position, &normal))| {
                let nearest = cloth.nearest(position, normal);
                let distance = nearest.map_or(f64::INFINITY, |nearest| nearest.square.sqrt());
                if distance > report.max_distance {
                    report.max_distance = distance;
                    furthest = Some((site, distance));
                }
                let Some(nearest) = nearest else { return VertexBinding::default() };
                let (binding, error) = cloth.bind(position, nearest);
                report.max_error = report.max_error.max(error);
                report.inexact_count += usize::from(error > tolerance);
                binding
            })
            .collect();
        if let Some((site, distance)) = furthest.filter(|&(_, distance)| distance > limit) {
            let vertex = fine.particle_to_vertex[site];
            return Err(CookError::FarFromCloth { vertex, distance, limit });
        }
        let drawn = Drawn { mesh, sites: &fine.vertex_to_particle, options: &options.drawn };
        let bind = |vertex: u32| {
            let site = fine.vertex_to_particle[vertex as usize].unwrap_or_default();
            bindings[site as usize]
        };
        let mut mesh = drawn.render_mesh(self.fabric.particle_count, bind)?;
        mesh.surface = Corners::of_triangles(&self.fabric.triangles, self.particles.len());
        Ok(Skin { mesh, report })
    }
}

/// The cloth at rest.
struct Cloth<'a> {
    triangles: &'a [[u32; 3]],
    positions: Vec<DVec3>,
    normals: Vec<DVec3>,
    tree: TriangleTree,
    /// Longest side of a triangle \[m\].
    longest_side: f64,
}

impl<'a> Cloth<'a> {
    fn new(cooked: &'a Cooked) -> Self {
        let triangles = cooked.fabric.triangles.as_slice();
        let positions: Vec<DVec3> =
            cooked.particles.iter().map(|particle| wide(particle.position)).collect();
        let corners = |triangle: &[u32; 3]| triangle.map(|particle| positions[particle as usize]);
        let mut normals = vec![DVec3::ZERO; positions.len()];
        let mut longest_side: f64 = 0.0;
        for triangle in triangles {
            let [a, b, c] = corners(triangle);
            let normal = (b - a).cross(c - a);
            triangle.iter().for_each(|&particle| normals[particle as usize] += normal);
            for side in [b - a, c - b, a - c] {
                longest_side = longest_side.max(side.length());
            }
        }
        // Same fallback as for render vertices without area.
        let normals = normals.into_iter().map(|sum| sum.normalize_or(DVec3::Y)).collect();
        let tree = TriangleTree::new(triangles.iter().map(corners));
        Self { triangles, positions, normals, tree, longest_side }
    }

    fn nearest(&self, position: DVec3, normal: DVec3) -> Option<NearestTriangle> {
        let any = self.tree.nearest(position, |_| true)?;
        let facing = self.tree.nearest(position, |own| own.dot(normal) > 0.0);
        // FACING is a ratio of distances; the tree returns squares.
        let is_near = |found: &NearestTriangle| found.square <= FACING * FACING * any.square;
        Some(facing.filter(is_near).unwrap_or(any))
    }

    /// Binds a point to its triangle; returns the binding and the distance of the bound point from
    /// the original \[m\].
    ///
    /// Weights and offset are the coordinates of the point along two sides and the interpolated
    /// normal; since the normal depends on the weights, they are found by fixed-point iteration
    /// from the nearest point.
    fn bind(&self, position: DVec3, nearest: NearestTriangle) -> (VertexBinding, f64) {
        let particles = self.triangles[nearest.triangle as usize];
        let [a, b, c] = particles.map(|particle| self.positions[particle as usize]);
        let [na, nb, nc] = particles.map(|particle| self.normals[particle as usize]);
        let normal_at =
            |[v, w]: [f64; 2]| (na * (1.0 - v - w) + nb * v + nc * w).normalize_or_zero();
        let point_at = |[v, w]: [f64; 2], offset: f64| {
            a + (b - a) * v + (c - a) * w + normal_at([v, w]) * offset
        };
        // Start: the nearest point, with the offset along the normal there.
        let flat = (b - a).cross(c - a).normalize_or_zero();
        let coordinates = |point: DVec3, normal: DVec3| {
            // point - a = v (b - a) + w (c - a) + offset normal
            let solved = DMat3::from_cols(b - a, c - a, normal).inverse() * (point - a);
            ([solved.x, solved.y], solved.z)
        };
        let (start, _) = coordinates(nearest.point, flat);
        let mut best = (start, (position - nearest.point).dot(normal_at(start)));
        let error_of =
            |(weights, offset): ([f64; 2], f64)| point_at(weights, offset).distance(position);
        let mut best_error = error_of(best);
        let mut weights = start;
        for _ in 0..ROUNDS {
            let found = coordinates(position, normal_at(weights));
            let ([v, w], _) = found;
            let is_near = [v, w, 1.0 - v - w].iter().all(|part| *part >= -MAX_OVERHANG);
            // The comparison is false for NaN.
            if !is_near {
                break;
            }
            let error = error_of(found);
            if error < best_error {
                (best, best_error) = (found, error);
            }
            weights = found.0;
        }
        let ([v, w], offset) = best;
        let weights = [1.0 - v - w, v, w].map(|weight| weight as f32);
        (VertexBinding { particles, weights, offset: offset as f32 }, best_error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CookOptions, cook};

    fn cooked(mesh: &Mesh) -> Cooked {
        cook(mesh, &CookOptions { pins: vec![0], ..CookOptions::default() }).unwrap()
    }

    #[test]
    fn finer_grid_with_overhang_is_bound_exactly() {
        let coarse = cooked(&Mesh::grid(5, 5, 1.0, 1.0));
        let mut fine = Mesh::grid(41, 41, 1.02, 1.02);
        for position in &mut fine.positions {
            *position =
                [position[0] - 0.01, 0.005 * (20.0 * position[0]).sin(), position[2] - 0.01];
        }
        let Skin { mesh, report } = coarse.skin(&fine, &SkinOptions::default()).unwrap();
        mesh.validate().unwrap();
        assert!(report.max_error < 1e-9 && report.inexact_count == 0, "{report:?}");
        assert!(report.max_distance > 0.01 && report.max_distance < 0.02, "{report:?}");
    }

    #[test]
    fn fine_tube_around_a_coarse_one_is_bound_exactly() {
        let coarse = cooked(&Mesh::tube(12, 8, 0.3, 0.3, 0.7));
        let fine = Mesh::tube(120, 60, 0.31, 0.31, 0.7);
        let report = coarse.skin(&fine, &SkinOptions::default()).unwrap().report;
        assert!(report.max_error < 1e-6, "{report:?}");
    }

    #[test]
    fn layers_of_a_fold_are_bound_separately() {
        // Two sheets that face away from each other, a centimetre apart.
        let sheet = |columns: u32, height: f32, is_up: bool| {
            let mut mesh = Mesh::grid(columns, columns, 1.0, 1.0);
            mesh.positions.iter_mut().for_each(|position| position[1] = height);
            if !is_up {
                mesh.quads.iter_mut().for_each(|quad| quad.reverse());
            }
            mesh
        };
        let join = |mut a: Mesh, b: Mesh| {
            let count = a.positions.len() as u32;
            a.positions.extend(b.positions);
            a.uvs.extend(b.uvs);
            a.quads.extend(b.quads.into_iter().map(|quad| quad.map(|corner| corner + count)));
            a
        };
        let up = Mesh::grid(2, 2, 1.0, 1.0).quads[0];
        let positions = Mesh::grid(2, 2, 1.0, 1.0).positions;
        let at = |k: usize| glam::Vec3::from(positions[up[k] as usize]);
        let faces_up = (at(1) - at(0)).cross(at(2) - at(0)).y > 0.0;
        let coarse = cooked(&join(sheet(5, 0.01, faces_up), sheet(5, 0.0, !faces_up)));
        // Each fine layer is nearer to the other coarse layer than to its own.
        let fine = join(sheet(9, 0.004, faces_up), sheet(9, 0.006, !faces_up));
        let skin = coarse.skin(&fine, &SkinOptions::default()).unwrap().mesh;
        for (binding, &source) in skin.bindings.iter().zip(&skin.source_vertices) {
            let layer = u32::from(source >= 81);
            assert!(binding.particles.iter().all(|&particle| particle / 25 == layer), "{source}");
        }
    }

    #[test]
    fn rejects_distant_meshes_with_the_farthest_vertex() {
        let coarse = cooked(&Mesh::grid(5, 5, 1.0, 1.0));
        let mut fine = Mesh::grid(9, 9, 1.0, 1.0);
        fine.positions[40] = [0.5, 2.0, 0.5];
        let error = coarse.skin(&fine, &SkinOptions::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "mesh vertex 40 is 2.000 m from the cloth; at most 0.354 m are allowed (max_distance)"
        );
        let options = SkinOptions { max_distance: Some(3.0), ..SkinOptions::default() };
        assert!(coarse.skin(&fine, &options).is_ok());
        let options = SkinOptions { max_distance: Some(f32::NAN), ..SkinOptions::default() };
        assert!(coarse.skin(&fine, &options).is_err());
    }
}
