//! Warnings about the start position, mesh and settings of a cloth, and about colliders.

use std::sync::Arc;

use poplin_io::{MAX_RESOLUTION, TwistedFaces};
use poplin_model::{ContactMode, Shape};
use poplin_scene::BuiltCollider;

use super::Warning;
use crate::choices::mean_edge;
use crate::job_cloth::{JobCloth, mean_rest_length};

/// Largest fraction of dropped faces that is not reported.
const MAX_LOST_FACES: f32 = 0.01;

/// Sizes of cloth that are not reported \[m\]: a mesh in millimetres, or one in metres scaled by a
/// thousandth, is outside.
pub(super) const USUAL_SIZES: [f32; 2] = [0.01, 100.0];

/// Largest thickness with particle contact that is not reported, in mean edges.
const MAX_THICKNESS: f32 = 5.0;

/// Largest thickness with triangle contact that is not reported, in mean edges: beyond it most
/// contact pairs are neighbours along the cloth.
const MAX_TRIANGLE_THICKNESS: f32 = 1.0;

impl Warning {
    /// Warns of a cloth that starts inside colliders.
    pub(in crate::run) fn of_start(job_cloth: &JobCloth, contact: ContactMode) -> Option<Self> {
        let config = &job_cloth.cloth.config;
        // Rigid bodies collide only with particles.
        let has_triangles = contact == ContactMode::Triangles
            && config.thickness > 0.0
            && job_cloth.colliders().all(|collider| collider.body.is_none());
        let speed = config.contact.depenetration_speed;
        let depenetration_speed_m_per_s = (!has_triangles).then_some(speed);
        let depth = (job_cloth.start_depth.particles_inside > 0).then_some(job_cloth.start_depth);
        depth.map(|depth| Self::StartsInside {
            cloth: job_cloth.name.clone(),
            depth,
            depenetration_speed_m_per_s,
        })
    }

    /// Warns of a coarse or damaged mesh and of settings that do not fit it.
    pub(in crate::run) fn of_mesh(
        job_cloth: &JobCloth,
        contact: ContactMode,
    ) -> impl Iterator<Item = Self> {
        let cloth = || job_cloth.name.clone();
        let positions = job_cloth.cloth.particles.iter().flat_map(|particle| particle.position);
        let farthest_m = positions.map(f32::abs).fold(0.0, f32::max);
        let (resolution_m, mean_edge_m) =
            (farthest_m * f32::EPSILON, mean_rest_length(&job_cloth.cloth.fabric));
        // The spacing of f32 values at coordinate x is about x * EPSILON.
        let is_coarse = mean_edge_m > 0.0 && resolution_m > MAX_RESOLUTION * mean_edge_m;
        let coarse = is_coarse.then(|| Self::Coarse {
            cloth: cloth(),
            farthest_m,
            resolution_m,
            mean_edge_m,
        });
        let report = &job_cloth.report;
        let faces = report.degenerate_face_count + report.duplicate_face_count;
        let all_faces = report.face_count;
        let are_many = faces as f32 > MAX_LOST_FACES * all_faces as f32;
        let welded_vertices = report.welded_vertex_count;
        let lost =
            are_many.then(|| Self::LostFaces { cloth: cloth(), faces, all_faces, welded_vertices });
        // Virtual particles collide only with spheres and capsules that are not rigid bodies.
        let is_round = |collider: &BuiltCollider| {
            collider.body.is_none()
                && matches!(collider.shape, Shape::Sphere(_) | Shape::Capsule(_))
        };
        let has_points = !job_cloth.cloth.fabric.virtual_particles.is_empty();
        let are_idle =
            has_points && job_cloth.has_colliders() && !job_cloth.colliders().any(is_round);
        let idle = are_idle.then(|| Self::IdlePoints { cloth: cloth() });
        let twisted = Self::of_faces(|| format!("cloth `{}`", job_cloth.name), job_cloth.twisted);
        let of_mesh = coarse.into_iter().chain(lost).chain(twisted).chain(idle);
        of_mesh.chain(Self::of_settings(job_cloth, contact))
    }

    /// Warns of triangle contact where no cloth has a thickness, or where rigid bodies collide only
    /// with particles.
    pub(crate) fn of_mode(
        job_cloths: &[JobCloth],
        colliders: &[Arc<BuiltCollider>],
        contact: ContactMode,
    ) -> Option<Self> {
        if contact != ContactMode::Triangles {
            return None;
        }
        if job_cloths.iter().all(|job_cloth| job_cloth.cloth.config.thickness == 0.0) {
            return Some(Self::IdleContact);
        }
        let bodies = colliders.iter().filter(|collider| collider.body.is_some());
        let first = bodies.clone().next()?;
        let collider = first.name.clone();
        Some(Self::BodyAmongTriangles { collider, bodies: bodies.count() })
    }

    /// Warns of damaged or distant collider meshes.
    pub(crate) fn of_colliders(
        job_cloths: &[JobCloth],
        colliders: &[Arc<BuiltCollider>],
    ) -> impl Iterator<Item = Self> {
        let edges = job_cloths.iter().map(|it| mean_rest_length(&it.cloth.fabric));
        let mean_edge_m = edges.filter(|&edge| edge > 0.0).fold(f32::INFINITY, f32::min);
        colliders.iter().flat_map(move |collider| {
            let twisted =
                Self::of_faces(|| format!("collider `{}`", collider.name), collider.twisted);
            twisted.into_iter().chain(Self::of_far_collider(collider, mean_edge_m))
        })
    }

    /// Warns of a mesh whose nearest vertex is so far out that `f32` is coarse against
    /// `mean_edge_m`.
    fn of_far_collider(collider: &BuiltCollider, mean_edge_m: f32) -> Option<Self> {
        let Shape::TriangleMesh(mesh) = &collider.shape else { return None };
        let farthest_axis =
            |vertex: &[f32; 3]| vertex.map(f32::abs).into_iter().fold(0.0, f32::max);
        let nearest_m = mesh.vertices.iter().map(farthest_axis).fold(f32::INFINITY, f32::min);
        let resolution_m = nearest_m * f32::EPSILON;
        (resolution_m.is_finite() && resolution_m > MAX_RESOLUTION * mean_edge_m).then(|| {
            let collider = collider.name.clone();
            Self::CoarseCollider { collider, nearest_m, resolution_m, mean_edge_m }
        })
    }

    /// Warns of faces that could not be triangulated without a flipped triangle.
    fn of_faces(what: impl Fn() -> String, twisted: TwistedFaces) -> Option<Self> {
        let TwistedFaces { count: faces, first_line } = twisted;
        (faces > 0).then(|| Self::TwistedFaces { what: what(), faces, first_line })
    }

    /// Warns of settings that have no effect or do not fit the mesh.
    fn of_settings(job_cloth: &JobCloth, contact: ContactMode) -> impl Iterator<Item = Self> {
        let cloth = || job_cloth.name.clone();
        let (all, config) = (&job_cloth.cloth.particles, &job_cloth.cloth.config);
        let wind = job_cloth.has_idle_wind.then(|| Self::IdleWind { cloth: cloth() });
        let unread = job_cloth.material.filter(|_| config.solver.as_pbd().is_some());
        let material =
            unread.map(|material| Self::IdleMaterial { cloth: cloth(), material: material.name });
        let pinned = all
            .iter()
            .all(|particle| particle.is_pinned())
            .then(|| Self::AllPinned { cloth: cloth(), particles: all.len() });
        let [low, high] = job_cloth.bounds();
        let size_m = (high - low).length();
        let is_odd = !(USUAL_SIZES[0]..=USUAL_SIZES[1]).contains(&size_m);
        let odd = is_odd.then(|| Self::OddSize { cloth: cloth(), size_m });
        let thickness_m = config.thickness;
        let (mean_edge_m, most) = match contact {
            ContactMode::Particles => (mean_rest_length(&job_cloth.cloth.fabric), MAX_THICKNESS),
            ContactMode::Triangles => (mean_edge(&job_cloth.mesh), MAX_TRIANGLE_THICKNESS),
        };
        let is_thick = mean_edge_m > 0.0 && thickness_m > most * mean_edge_m;
        let thick =
            is_thick.then(|| Self::Thick { cloth: cloth(), contact, thickness_m, mean_edge_m });
        let is_still = config.max_speed == Some(0.0);
        let still = is_still.then(|| Self::NoSpeed { cloth: cloth() });
        let copies = job_cloth.offsets.len();
        let are_one =
            thickness_m > 0.0 && copies > 1 && job_cloth.offsets[0] == job_cloth.offsets[1];
        let coincident = are_one.then(|| Self::Coincident { cloth: cloth(), copies });
        [wind, material, pinned, still, odd, thick, coincident].into_iter().flatten()
    }
}
