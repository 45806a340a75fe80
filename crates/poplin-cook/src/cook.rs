//! Pipeline from a mesh to a fabric.

use std::sync::Arc;

use poplin_model::{ClothDesc, Fabric, Mesh, Particle, Phase, PhaseKind};

use crate::bends::Bends;
use crate::breadths::edge_breadths;
use crate::chains::Ground;
use crate::edges::Edges;
use crate::grain::{face_verticals, vertex_normals};
use crate::levels::coarsened;
use crate::mass::{Masses, area_vector, particle_stiffness_log2};
use crate::quadify::QuadPairs;
use crate::report::PhaseReport;
use crate::sets::color_fibers;
use crate::surface::Surface;
use crate::tethers::TetherTable;
use crate::thread::thread_fibers;
use crate::topology::Topology;
use crate::triangle_shapes::triangle_shapes;
use crate::virtual_particles::spread_virtual_particles;
use crate::yarns::weave;
use crate::{CookError, CookOptions, CookReport, Yarns};

/// Largest fraction of the area in triangles that form no quads on a mesh without yarns.
const MAX_LOOSE_YARNS: f64 = 0.1;

/// That fraction on a mesh whose bends need not be fitted. Triangles along the border of a mesh of
/// four triangles a square let it twist.
const MAX_LOOSE_BENDS: f64 = 0.03;

/// A cooked mesh.
#[derive(Debug, Clone, PartialEq)]
pub struct Cooked {
    /// Constraints.
    pub fabric: Fabric,
    /// All particles, shape `[particle_count]`.
    pub particles: Vec<Particle>,
    /// Particle of each mesh vertex, shape `[vertex_count]`; `None` if no face uses the vertex.
    /// Maps simulated positions back to the mesh.
    pub vertex_to_particle: Vec<Option<u32>>,
    /// Statistics of the cook.
    pub report: CookReport,
}

impl Cooked {
    /// Creates a cloth at rest with default settings.
    pub fn into_cloth(self) -> ClothDesc {
        ClothDesc::new(Arc::new(self.fabric), self.particles)
    }
}

/// Cooks a mesh into a fabric that passes [`Fabric::validate`] and [`Fabric::validate_sets`].
///
/// Deterministic: the same mesh and options yield a bit-identical fabric.
///
/// # Errors
/// [`CookError`] if the mesh or an option is out of range, no face has an area, a free vertex has
/// no mass, a vertex has more than a thousand neighbours, or there are too many virtual particles.
pub fn cook(mesh: &Mesh, options: &CookOptions) -> Result<Cooked, CookError> {
    mesh.validate()?;
    options.validate()?;
    options.check_against(mesh)?;
    let surface = Surface::new(mesh, options.weld)?;
    let masses = Masses::new(&surface, options)?;
    let topology = Topology::new(&surface)?;
    let mut report = describe(mesh, options, &surface, &topology, &masses);

    let quad_pairs = QuadPairs::find(&surface, &topology);
    let inverse_masses = &masses.inverse_masses;
    let mut fabric =
        thread_fabric(mesh, options, &surface, &topology, &quad_pairs, inverse_masses, &mut report);
    let tethers = TetherTable::find(&surface, &topology, inverse_masses, options);
    (report.island_count, report.tethers_per_particle) =
        (tethers.island_count, tethers.per_particle as usize);
    fabric.tethers_per_particle = tethers.per_particle;
    (fabric.tether_anchors, fabric.tether_lengths) = (tethers.anchors, tethers.lengths);
    fabric.virtual_particles =
        spread_virtual_particles(&surface, inverse_masses, options.virtual_particles)?;
    report.virtual_particle_count = fabric.virtual_particles.len();
    let loose = loose_share(&surface, &quad_pairs);
    if options.bends {
        let found = match options.isotropic_bends && loose > MAX_LOOSE_BENDS {
            true => Bends::fit(&surface, inverse_masses),
            false => Bends::find(&surface, &quad_pairs, inverse_masses),
        };
        (fabric.bends, fabric.bend_set_ends) = (found.bends, found.set_ends);
    }
    let weaves = match options.yarns {
        Yarns::None => false,
        Yarns::Irregular => loose > MAX_LOOSE_YARNS,
        Yarns::All => true,
    };
    if weaves {
        weave(&mut fabric, &surface.positions, inverse_masses);
    }
    (report.yarn_count, report.yarn_set_count) = (fabric.yarns.len(), fabric.yarn_set_ends.len());
    (report.bend_count, report.bend_set_count) = (fabric.bends.len(), fabric.bend_set_ends.len());
    fabric.validate()?;

    let particle = |(&vertex, &inverse_mass): (&u32, &f32)| Particle {
        position: mesh.positions[vertex as usize],
        inverse_mass,
    };
    let particles = surface.particle_to_vertex.iter().zip(inverse_masses);
    let particles: Vec<Particle> = particles.map(particle).collect();
    if options.levels {
        fabric.hierarchy = Some(coarsened(&fabric, &particles));
    }
    Ok(Cooked { fabric, particles, vertex_to_particle: surface.vertex_to_particle, report })
}

/// Returns the fraction of the area in triangles that form no quads.
fn loose_share(surface: &Surface, quad_pairs: &QuadPairs) -> f64 {
    let faces = surface.faces.iter().zip(&quad_pairs.is_paired);
    let (loose, all) = faces.fold((0.0, 0.0), |(loose, all), (face, &is_paired)| {
        let area = area_vector(face, &surface.positions).length();
        (if is_paired || face.is_quad() { loose } else { loose + area }, all + area)
    });
    loose / all
}

/// Builds everything except tethers: edges on fibers in sets, phases in the order of
/// [`PhaseKind::ALL`], and triangles with their rest shapes.
fn thread_fabric(
    mesh: &Mesh,
    options: &CookOptions,
    surface: &Surface,
    topology: &Topology,
    quad_pairs: &QuadPairs,
    inverse_masses: &[f32],
    report: &mut CookReport,
) -> Fabric {
    let verticals = face_verticals(surface, mesh, options);
    let normals = vertex_normals(surface);
    let edges =
        Edges::find(surface, topology, quad_pairs, &verticals, &normals, inverse_masses, options);
    let mut fabric = Fabric {
        particle_count: surface.positions.len() as u32,
        set_fiber_begin: vec![0],
        fiber_edge_begin: vec![0],
        triangles: surface.triangles().collect(),
        triangle_shapes: triangle_shapes(surface, &verticals),
        ..Fabric::default()
    };
    let ground = Ground { positions: &surface.positions, normals: &normals, inverse_masses };
    let threaded = PhaseKind::ALL.into_iter().zip(thread_fibers(&edges, ground, options));
    for (kind, fibers) in threaded.filter(|(_, fibers)| fibers.len() > 0) {
        // Fibers are stored set by set, in the order of the lanes.
        let sets = color_fibers(&fibers, inverse_masses);
        let set_begin = fabric.set_count() as u32;
        for set in &sets {
            set.iter().for_each(|&fiber| {
                push_fiber(&mut fabric, fibers.vertices(fiber as usize), surface)
            });
            fabric.set_fiber_begin.push(fabric.fiber_count() as u32);
        }
        fabric.phases.push(Phase { kind, set_begin, set_end: fabric.set_count() as u32 });
        report.phases.push(PhaseReport::new(kind, &fibers, &sets));
    }
    report.read_fabric(&edges.stretch, &fabric);
    fabric.edge_breadths = edge_breadths(&fabric);
    if !options.vertex_stiffness.is_empty() {
        let stiffness = particle_stiffness_log2(surface, &options.vertex_stiffness);
        // log2(1 - stiffness) decreases with stiffness, so the smaller stiffness is the larger
        // value.
        let of_edge = |[a, b]: [u32; 2]| stiffness[a as usize].max(stiffness[b as usize]);
        fabric.edge_stiffness_log2 = fabric.edges().map(|(_, pair)| of_edge(pair)).collect();
    }
    fabric
}

fn push_fiber(fabric: &mut Fabric, vertices: &[u32], surface: &Surface) {
    fabric.fiber_vertices.extend_from_slice(vertices);
    for pair in vertices.windows(2) {
        let [a, b] = [pair[0], pair[1]].map(|vertex| surface.positions[vertex as usize]);
        fabric.rest_lengths.push(a.distance(b) as f32);
    }
    fabric.fiber_edge_begin.push(fabric.rest_lengths.len() as u32);
}

fn describe(
    mesh: &Mesh,
    options: &CookOptions,
    surface: &Surface,
    topology: &Topology,
    masses: &Masses,
) -> CookReport {
    let is_dropped = |pin: &&u32| surface.vertex_to_particle[**pin as usize].is_none();
    CookReport {
        vertex_count: mesh.positions.len(),
        welded_vertex_count: surface.welded_vertex_count,
        dropped_vertex_count: surface.dropped_vertex_count,
        face_count: mesh.triangles.len() + mesh.quads.len(),
        degenerate_face_count: surface.degenerate_face_count,
        duplicate_face_count: surface.duplicate_face_count,
        particle_count: surface.positions.len(),
        pinned_count: masses.inverse_masses.iter().filter(|&&w| w == 0.0).count(),
        dropped_pin_count: options.pins.iter().filter(is_dropped).count(),
        component_count: topology.component_count,
        boundary_edge_count: topology.boundary_edge_count(),
        non_manifold_edge_count: topology.non_manifold_edge_count(),
        area: masses.areas.iter().sum(),
        mass: masses.masses.iter().sum(),
        ..CookReport::default()
    }
}
