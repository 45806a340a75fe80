//! Report on a cooked mesh, as JSON.

use poplin_cook::{CookReport, FiberLengths};
use serde::Serialize;

use crate::job_cloth::JobCloth;

/// Cooking report of one cloth, as JSON.
#[derive(Debug, Serialize)]
pub struct CookSummary {
    name: String,
    cook_ms: f64,
    vertices: usize,
    welded_vertices: usize,
    unused_vertices: usize,
    faces: usize,
    degenerate_faces: usize,
    duplicate_faces: usize,
    /// Faces of the file whose triangulation has a flipped triangle.
    twisted_faces: usize,
    particles: usize,
    pinned: usize,
    pins_on_unused_vertices: usize,
    parts: usize,
    rim_edges: usize,
    non_manifold_edges: usize,
    area_m2: f64,
    mass_kg: f64,
    edges: usize,
    fibers: usize,
    sets: usize,
    longest_fiber: usize,
    mean_fiber_length: f64,
    stretch: StretchSummary,
    widest_set: usize,
    islands: usize,
    tethers_per_particle: usize,
    virtual_particles: usize,
    phases: Vec<PhaseSummary>,
}

/// Vertical and horizontal fibers together, as JSON.
#[derive(Debug, Serialize)]
struct StretchSummary {
    edges: usize,
    covered_edges: usize,
    /// Mean length of the longest fibers that hold 95 % of the edges.
    fiber_length_95: f64,
    lengths: Vec<LengthSummary>,
}

/// Bucket of fibers by length, from `from` edges to below the next bucket, as JSON.
#[derive(Debug, Serialize)]
struct LengthSummary {
    from: usize,
    fibers: usize,
    edges: usize,
}

/// Phase of a cooked fabric, as JSON.
#[derive(Debug, Serialize)]
struct PhaseSummary {
    kind: &'static str,
    edges: usize,
    fibers: usize,
    mean_fiber_length: f64,
    sets: usize,
    idle_fraction: f64,
}

impl StretchSummary {
    fn new(report: &CookReport) -> Self {
        let buckets = FiberLengths::BUCKETS.into_iter().zip(report.stretch_lengths().histogram());
        Self {
            edges: report.stretch_edge_count,
            covered_edges: report.covered_stretch_edge_count,
            fiber_length_95: report.stretch_fiber_length(),
            lengths: buckets
                .map(|(from, (fibers, edges))| LengthSummary { from, fibers, edges })
                .collect(),
        }
    }
}

impl CookSummary {
    /// Returns the values of one copy of a cloth.
    pub fn new(job_cloth: &JobCloth) -> Self {
        let report = &job_cloth.report;
        let phases = report.phases.iter().map(|phase| PhaseSummary {
            kind: phase.kind.name(),
            edges: phase.edge_count,
            fibers: phase.fiber_count,
            mean_fiber_length: phase.lengths.mean(),
            sets: phase.set_count,
            idle_fraction: phase.idle_fraction,
        });
        Self {
            name: job_cloth.name.clone(),
            cook_ms: job_cloth.cook_time.as_secs_f64() * 1e3,
            vertices: report.vertex_count,
            welded_vertices: report.welded_vertex_count,
            unused_vertices: report.dropped_vertex_count,
            faces: report.face_count,
            degenerate_faces: report.degenerate_face_count,
            duplicate_faces: report.duplicate_face_count,
            twisted_faces: job_cloth.twisted.count,
            particles: report.particle_count,
            pinned: report.pinned_count,
            pins_on_unused_vertices: report.dropped_pin_count,
            parts: report.component_count,
            rim_edges: report.boundary_edge_count,
            non_manifold_edges: report.non_manifold_edge_count,
            area_m2: report.area,
            mass_kg: report.mass,
            edges: report.edge_count(),
            fibers: report.fiber_count(),
            sets: report.set_count(),
            longest_fiber: report.longest_fiber,
            mean_fiber_length: report.mean_fiber_length(),
            stretch: StretchSummary::new(report),
            widest_set: report.widest_set,
            islands: report.island_count,
            tethers_per_particle: report.tethers_per_particle,
            virtual_particles: report.virtual_particle_count,
            phases: phases.collect(),
        }
    }
}
