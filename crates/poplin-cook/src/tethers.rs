//! Tethers: largest distance of each particle from the pins.

use glam::DVec3;
use poplin_geometry::Bounds;

use crate::geodesic::{March, Path};
use crate::surface::Surface;
use crate::topology::{Topology, connected_parts};
use crate::{CookOptions, Tethers};

/// Tethers of all particles.
#[derive(Debug, Clone, Default)]
pub(crate) struct TetherTable {
    /// Number of tethers per particle.
    pub(crate) per_particle: u32,
    /// Anchor particles; tether `k` of particle `i` is at index `k * particle_count + i`.
    pub(crate) anchors: Vec<u32>,
    /// Largest distance to each anchor \[m\].
    pub(crate) lengths: Vec<f32>,
    /// Number of islands: connected components of the pinned particles.
    pub(crate) island_count: usize,
}

impl TetherTable {
    /// Finds the tethers from particles to pins, the nearest anchor first; on ties the island with
    /// the lower first particle.
    ///
    /// A particle with fewer paths to islands than others (in an unpinned part of the cloth, or one
    /// with fewer islands) is filled up with tethers to itself, which never act, because cloth
    /// without a pin on its surface must fall. A pinned particle has only those: the solver applies
    /// tethers regardless of mass, and would displace pins that are moved apart.
    pub(crate) fn find(
        surface: &Surface,
        topology: &Topology,
        inverse_masses: &[f32],
        options: &CookOptions,
    ) -> Self {
        let is_pinned = |vertex: u32| inverse_masses[vertex as usize] == 0.0;
        let (island, island_count) =
            connected_parts(inverse_masses.len(), &topology.edges, is_pinned);
        let none = Self { island_count, ..Self::default() };
        if island_count == 0 {
            return none;
        }
        let is_surface = topology.non_manifold_edge_count() == 0;
        match options.tethers {
            Tethers::None => none,
            Tethers::Geodesic if is_surface => {
                let limit = (options.max_tethers_per_particle as usize).min(island_count);
                Self { island_count, ..geodesic(surface, topology, &island, limit) }
            }
            Tethers::Geodesic | Tethers::Euclidean => {
                let pins: Vec<u32> =
                    (0..inverse_masses.len() as u32).filter(|&vertex| is_pinned(vertex)).collect();
                Self { island_count, ..euclidean(&surface.positions, pins) }
            }
        }
    }
}

/// Finds one tether per particle and island, for the `limit` nearest islands.
///
/// The islands march one after the other. A march does not pass through a vertex for which `limit`
/// islands are clearly nearer, because these are nearer to everything behind it too. Many islands
/// therefore cost little more than `limit` of them.
fn geodesic(surface: &Surface, topology: &Topology, island: &[u32], limit: usize) -> TetherTable {
    let particle_count = island.len();
    let mut pins: Vec<(u32, u32)> = island
        .iter()
        .zip(0u32..)
        .filter(|&(&island, _)| island != u32::MAX)
        .map(|(&island, pin)| (island, pin))
        .collect();
    pins.sort_unstable();
    // The paths of particle i are at i * limit .., nearest first; an infinite length marks an empty
    // slot.
    let mut paths = vec![Path { pin: 0, length: f64::INFINITY }; particle_count * limit];
    let mut march = March::new(&surface.positions, surface.triangles());
    let mut reached = Vec::new();
    // A straight path crosses triangles whose corners are at most one edge h off it. If it leads to
    // one of the nearest islands, that island is, at such a corner, at most 2 h farther than the
    // last of the nearest.
    let edge_lengths = topology.edges.iter().map(|pair| {
        let [a, b] = pair.map(|vertex| surface.positions[vertex as usize]);
        a.distance(b)
    });
    let slack = 2.0 * edge_lengths.fold(0.0, f64::max);
    for group in pins.chunk_by(|a, b| a.0 == b.0) {
        let is_far = |vertex: u32, length: f64| {
            paths[vertex as usize * limit + limit - 1].length + slack < length
        };
        march.run(group.iter().map(|&(_, pin)| pin), is_far, |vertex, path| {
            reached.push((vertex, path))
        });
        for (vertex, path) in reached.drain(..) {
            // Insert into the sorted slots; the last path drops out.
            let slots = &mut paths[vertex as usize * limit..][..limit];
            let slot = slots.partition_point(|known| known.length <= path.length);
            if slot < limit {
                slots[slot..].rotate_right(1);
                slots[slot] = path;
            }
        }
    }
    let mut table = TetherTable { per_particle: limit as u32, ..TetherTable::default() };
    for k in 0..limit {
        for particle in 0..particle_count {
            let path = paths[particle * limit + k];
            let is_pinned = island[particle] != u32::MAX;
            let (anchor, length) = if path.length.is_finite() && !is_pinned {
                (path.pin, path.length)
            } else {
                (particle as u32, 0.0)
            };
            table.anchors.push(anchor);
            table.lengths.push(length as f32);
        }
    }
    table
}

/// Finds one tether per particle to the nearest pin in a straight line; on ties the pin with the
/// lower index.
fn euclidean(positions: &[DVec3], mut pins: Vec<u32>) -> TetherTable {
    let at = |vertex: u32| positions[vertex as usize];
    // Sorted along their longest axis, pins near a particle are adjacent: search outwards from its
    // position.
    let axis = Bounds::of(pins.iter().map(|&pin| at(pin))).size().max_position();
    let coordinate = |vertex: u32| at(vertex)[axis];
    pins.sort_by(|&a, &b| coordinate(a).total_cmp(&coordinate(b)));
    let mut table = TetherTable { per_particle: 1, ..TetherTable::default() };
    for particle in 0..positions.len() as u32 {
        let start = pins.partition_point(|&pin| coordinate(pin) < coordinate(particle));
        let mut best = (f64::INFINITY, u32::MAX);
        let mut consider = |pin: u32| {
            // The gap along one axis is a lower bound of the distance.
            let gap = coordinate(pin) - coordinate(particle);
            let near = gap * gap <= best.0;
            if near {
                let candidate = (at(pin).distance_squared(at(particle)), pin);
                best = if candidate < best { candidate } else { best };
            }
            near
        };
        // all() stops at the first pin that is too far along the axis.
        let _ = pins[start..].iter().all(|&pin| consider(pin))
            | pins[..start].iter().rev().all(|&pin| consider(pin));
        table.anchors.push(best.1);
        table.lengths.push(best.0.sqrt() as f32);
    }
    table
}
