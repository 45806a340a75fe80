//! Vertices of a surface, the stencils over the triangles around them, and what their weights have
//! to keep in balance.

use glam::{DMat3, DVec2, DVec3};
use poplin_geometry::Csr;

use super::patch::{Patch, components, tensor};
use crate::surface::Surface;

/// Smallest sine of the angle of a wing at the center of its patch.
const MIN_SINE: f64 = 0.3;

/// Largest distance of the foot of a wing from the center, over the length of its edge.
const MAX_FOOT: f64 = 1.2;

/// Smallest angle of a stencil per curvature, over the length of its edge.
const MIN_ANGLE: f64 = 0.05;

/// Weight of the energy that a border does not have: across it.
const ACROSS: f64 = 0.05;

/// Cosine between the sides of a border above which it has a corner.
const CORNER_COSINE: f64 = -0.8;

/// Position of a patch on its surface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Place {
    Inside,
    Border,
    /// Between triangles of three pins and others.
    Clamp,
}

/// Four particles and how their normal displacements add up to the angle between the two triangles
/// over the first two. Compact, since all of them are read in every iteration.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stencil {
    /// Center of the patch (0) and entries of its ring, from 1.
    pub(super) slots: [u8; 4],
    pub(super) factors: [f32; 4],
    /// Angle for each unit of curvature, in the plane of the patch.
    tensor: [f32; 3],
    /// That angle in the basis in which the energy of the patch is measured.
    measured: [f32; 3],
    /// Weight over that of a bend of the same four particles.
    pub(super) scale: f32,
}

impl Stencil {
    /// Angle for each unit of curvature, in the plane of the patch.
    pub(super) fn tensor(&self) -> DVec3 {
        DVec3::from_array(self.tensor.map(f64::from))
    }

    /// That angle in the basis in which the energy of the patch is measured.
    pub(super) fn measured(&self) -> DVec3 {
        DVec3::from_array(self.measured.map(f64::from))
    }

    /// Makes its weight that times the square of a factor.
    pub(super) fn scale(&mut self, factor: f64) {
        let factor = factor as f32;
        self.factors = self.factors.map(|it| it * factor);
        self.tensor = self.tensor.map(|it| it * factor);
        self.measured = self.measured.map(|it| it * factor);
        self.scale *= factor * factor;
    }
}

/// A vertex whose stencils carry the energy of the area around it.
pub(super) struct Owner {
    pub(super) place: Place,
    /// The vertex, then its ring.
    pub(super) particles: Vec<u32>,
    pub(super) area: f64,
    pub(super) stencils: Vec<Stencil>,
    /// Weights of the components of the energy, squared.
    pub(super) importance: DMat3,
    /// Owners of the same kind around it: their share in its mean energy, and the matrix from their
    /// tensors to its own.
    pub(super) around: Vec<(usize, f64, DMat3)>,
    /// For each entry of the patch: what has to be 0 there, from the sum of factor times tensor.
    pub(super) balances: Vec<DMat3>,
}

/// The triangles around all vertices.
pub(super) struct Net<'a> {
    surface: &'a Surface,
    triangles: Vec<[u32; 3]>,
    /// Triangles at each vertex.
    at: Csr<u32>,
    /// `None` where triangles do not form one fan.
    patches: Vec<Option<Patch>>,
    places: Vec<Place>,
    /// Angle of the normal of a border or a clamp in the plane of its patch.
    normals: Vec<f64>,
    is_pinned: Vec<bool>,
}

impl<'a> Net<'a> {
    pub(super) fn new(surface: &'a Surface, inverse_masses: &[f32]) -> Self {
        let triangles: Vec<[u32; 3]> = surface.triangles().collect();
        let corners = (0u32..).zip(&triangles).flat_map(|(k, it)| it.map(|corner| (corner, k)));
        let count = surface.positions.len();
        let at = Csr::new(count, corners);
        let unfold = |vertex: u32| {
            let others: Vec<[u32; 2]> = (at.row(vertex as usize).iter())
                .map(|&triangle| others(triangles[triangle as usize], vertex))
                .collect();
            Patch::unfold(vertex, &others, &surface.positions)
        };
        let patches = (0..count as u32).map(unfold).collect();
        let is_pinned = inverse_masses.iter().map(|&it| it == 0.0).collect();
        let (places, normals) = (vec![Place::Inside; count], vec![0.0; count]);
        let mut net = Self { surface, triangles, at, patches, places, normals, is_pinned };
        for vertex in 0..count {
            (net.places[vertex], net.normals[vertex]) = net.place(vertex);
        }
        net
    }

    /// True if all corners of a triangle are pinned.
    fn is_rigid(&self, triangle: u32) -> bool {
        self.triangles[triangle as usize].iter().all(|&corner| self.is_pinned[corner as usize])
    }

    /// Place of a vertex, and the angle of the normal there.
    fn place(&self, vertex: usize) -> (Place, f64) {
        let Some(patch) = &self.patches[vertex] else { return (Place::Inside, 0.0) };
        let (rigid, others): (Vec<u32>, Vec<u32>) =
            self.at.row(vertex).iter().partition(|&&triangle| self.is_rigid(triangle));
        if !rigid.is_empty() && !others.is_empty() {
            let held = |slot: &usize| {
                let neighbour = patch.ring[*slot];
                let is_corner = |&it: &u32| self.triangles[it as usize].contains(&neighbour);
                self.is_pinned[neighbour as usize] && others.iter().any(is_corner)
            };
            let held: Vec<usize> = (0..patch.ring.len()).filter(held).collect();
            return (Place::Clamp, patch.normal_angle(&held));
        }
        if patch.is_closed {
            return (Place::Inside, 0.0);
        }
        (Place::Border, patch.normal_angle(&[0, patch.ring.len() - 1]))
    }

    /// True for a vertex of a border that turns there.
    fn is_corner(&self, vertex: u32) -> bool {
        let patch = &self.patches[vertex as usize];
        patch.as_ref().is_none_or(|it| !it.is_closed && it.angle.cos() > CORNER_COSINE)
    }

    /// Finds the vertices whose neighbours can measure the curvature, if these are usable.
    pub(super) fn owners(&self, is_usable: impl Fn(&Owner) -> bool) -> Vec<Owner> {
        let owner = |vertex: u32| {
            let place = self.places[vertex as usize];
            let stencils = self.stencils(vertex)?;
            let ring = self.patches[vertex as usize].as_ref()?.ring.iter().copied();
            let particles = std::iter::once(vertex).chain(ring).collect();
            let importance = importance(place);
            let (around, balances) = (Vec::new(), Vec::new());
            let owner =
                Owner { place, particles, area: 0.0, stencils, importance, around, balances };
            is_usable(&owner).then_some(owner)
        };
        (0..self.patches.len() as u32).filter_map(owner).collect()
    }

    /// Pairs of triangles over each edge to a vertex, one for each four particles: across a mesh
    /// edge if there is such a one, else the one with the widest angles.
    fn stencils(&self, vertex: u32) -> Option<Vec<Stencil>> {
        let patch = self.patches[vertex as usize].as_ref()?;
        if self.at.row(vertex as usize).iter().all(|&triangle| self.is_rigid(triangle)) {
            return None;
        }
        let place = self.places[vertex as usize];
        let basis = match place {
            Place::Inside => DMat3::IDENTITY,
            _ => components(self.normals[vertex as usize]),
        };
        let count = patch.ring.len();
        let mut stencils = Vec::new();
        for i in 0..count {
            for j in i + 1..count {
                for k in j + 1..count {
                    let mut best: Option<(f64, Stencil)> = None;
                    for hinge in [[i, j, k], [j, i, k], [k, i, j]] {
                        let [b, c, d] = hinge;
                        let is_across = patch.are_beside(b, c) && patch.are_beside(b, d);
                        let Some((sine, factors)) = unfold_hinge(patch, hinge) else { continue };
                        let score = sine + if is_across { 1.0 } else { 0.0 };
                        let at = |ring: usize| {
                            let is_held =
                                place == Place::Clamp && self.is_pinned[patch.ring[ring] as usize];
                            // Where cloth is clamped, pins have no displacement.
                            if is_held { DVec2::ZERO } else { patch.places[ring] }
                        };
                        let tensor = tensor(factors, [DVec2::ZERO, at(b), at(c), at(d)]);
                        let is_better = best.as_ref().is_none_or(|(most, _)| score > *most)
                            && tensor.length() > MIN_ANGLE * patch.places[b].length();
                        if is_better {
                            let stencil = Stencil {
                                slots: [0, b + 1, c + 1, d + 1].map(|slot| slot as u8),
                                factors: factors.map(|it| it as f32),
                                tensor: tensor.to_array().map(|it| it as f32),
                                measured: (basis * tensor).to_array().map(|it| it as f32),
                                scale: 1.0,
                            };
                            best = Some((score, stencil));
                        }
                    }
                    let particles = [vertex, patch.ring[i], patch.ring[j], patch.ring[k]];
                    let moves = particles.iter().any(|&it| !self.is_pinned[it as usize]);
                    stencils.extend(best.filter(|_| moves).map(|(_, stencil)| stencil));
                }
            }
        }
        (!stencils.is_empty()).then_some(stencils)
    }

    /// Index of the owner at each vertex; `usize::MAX` without one.
    fn index(&self, owners: &[Owner]) -> Vec<usize> {
        let mut index = vec![usize::MAX; self.patches.len()];
        (0..).zip(owners).for_each(|(k, owner)| index[owner.particles[0] as usize] = k);
        index
    }

    /// Gives the area of each triangle to the owners among its corners, or beside them.
    pub(super) fn share_area(&self, owners: &mut [Owner]) {
        let index = self.index(owners);
        for triangle in 0..self.triangles.len() as u32 {
            if self.is_rigid(triangle) {
                continue;
            }
            let corners = self.triangles[triangle as usize];
            let [a, b, c] = corners.map(|corner| self.surface.positions[corner as usize]);
            let area = 0.5 * (b - a).cross(c - a).length();
            let owner_of = |&corner: &u32| index[corner as usize];
            let mut takers: Vec<usize> = corners.iter().map(owner_of).collect();
            takers.retain(|&it| it != usize::MAX);
            if takers.is_empty() {
                let around = corners.iter().flat_map(|&corner| self.at.row(corner as usize));
                let around = around.flat_map(|&it| &self.triangles[it as usize]);
                takers = around.map(owner_of).filter(|&it| it != usize::MAX).collect();
                takers.sort_unstable();
                takers.dedup();
            }
            for &taker in &takers {
                owners[taker].area += area / takers.len() as f64;
            }
        }
    }

    /// Finds what each owner has to balance with those around it.
    pub(super) fn connect(&self, owners: &mut [Owner]) {
        let index = self.index(owners);
        let balances: Vec<Option<Balance>> =
            (0..self.patches.len() as u32).map(|vertex| self.balance(vertex)).collect();
        for k in 0..owners.len() {
            let owner = &owners[k];
            let (vertex, place) = (owner.particles[0], owner.place);
            let Some(patch) = &self.patches[vertex as usize] else { continue };
            let mut around = vec![(k, owner.area, DMat3::IDENTITY)];
            for &neighbour in &patch.ring {
                let other = index[neighbour as usize];
                let Some(it) = owners.get(other).filter(|it| it.place == place) else { continue };
                let from = match place {
                    Place::Inside => self.transport(neighbour, vertex),
                    _ => Some(DMat3::IDENTITY),
                };
                around.extend(from.map(|matrix| (other, it.area, matrix)));
            }
            let total: f64 = around.iter().map(|(_, area, _)| area).sum();
            around.iter_mut().for_each(|(_, share, _)| *share /= total.max(f64::MIN_POSITIVE));
            let area = owner.area;
            let balance = |slot: usize| {
                let there = if slot == 0 { vertex } else { patch.ring[slot - 1] };
                let balance = balances[there as usize].as_ref()?;
                if place == Place::Clamp && !balance.at_clamp {
                    return None;
                }
                let to = match slot {
                    0 => DMat3::IDENTITY,
                    _ => self.transport(vertex, there)?,
                };
                Some(area * (DMat3::from_diagonal(balance.kept) * balance.basis * to))
            };
            let slots = 0..=patch.ring.len();
            owners[k].balances = slots.map(|slot| balance(slot).unwrap_or(DMat3::ZERO)).collect();
            owners[k].around = around;
        }
    }

    /// Matrix from the tensors of a patch to those of the patch of a neighbour.
    fn transport(&self, from: u32, to: u32) -> Option<DMat3> {
        let patch = self.patches[from as usize].as_ref()?;
        patch.transport(from, patch.slot(to)?, self.patches[to as usize].as_ref()?)
    }

    /// Components of the curvature that exert no force on a particle.
    fn balance(&self, vertex: u32) -> Option<Balance> {
        let patch = self.patches[vertex as usize].as_ref()?;
        if self.is_pinned[vertex as usize] {
            return None;
        }
        let near = || std::iter::once(&vertex).chain(&patch.ring);
        let first = |place| near().copied().find(|&it| self.places[it as usize] == place);
        let open = |it: &&u32| self.patches[**it as usize].as_ref().is_none_or(|it| !it.is_closed);
        let (border, clamp) = (near().find(open).copied(), first(Place::Clamp));
        if near().any(|&it| self.is_corner(it)) {
            return None;
        }
        let (at, kept) = match (border, clamp) {
            (_, Some(clamp)) => (clamp, DVec3::X),
            (Some(border), None) => (border, DVec3::new(0.0, 1.0, 1.0)),
            (None, None) => (vertex, DVec3::ONE),
        };
        // From the plane of the particle to that of the border or clamp.
        let to = if at == vertex { DMat3::IDENTITY } else { self.transport(vertex, at)? };
        let basis = components(self.normals[at as usize]) * to;
        Some(Balance { basis, kept, at_clamp: clamp.is_some() })
    }
}

/// Components of the curvature without a force on a particle.
struct Balance {
    /// From tensors in the plane of the particle to components.
    basis: DMat3,
    /// 1 for each component that has to be 0.
    kept: DVec3,
    at_clamp: bool,
}

/// The two corners of a triangle beside a vertex.
fn others([a, b, c]: [u32; 3], vertex: u32) -> [u32; 2] {
    if a == vertex {
        [b, c]
    } else if b == vertex {
        [c, a]
    } else {
        [a, b]
    }
}

/// Finds how the center, ring entry `b` and the wings `c` and `d` displace the angle over the edge
/// between the first two, and the smallest sine of the wings.
fn unfold_hinge(patch: &Patch, [b, c, d]: [usize; 3]) -> Option<(f64, [f64; 4])> {
    let edge = patch.places[b];
    let length = edge.length();
    let along = edge / length;
    let [above, below] = [c, d].map(|wing| along.perp_dot(patch.places[wing]));
    let feet = [c, d].map(|wing| along.dot(patch.places[wing]) / length);
    let [high, low] = [above.abs(), below.abs()];
    let sine = (high / patch.places[c].length()).min(low / patch.places[d].length());
    let is_usable =
        above * below < 0.0 && sine >= MIN_SINE && feet.iter().all(|foot| foot.abs() < MAX_FOOT);
    let factors = [
        -(1.0 - feet[0]) / high - (1.0 - feet[1]) / low,
        -feet[0] / high - feet[1] / low,
        1.0 / high,
        1.0 / low,
    ];
    is_usable.then_some((sine, factors))
}

/// Squared weights of the components of the energy: there is none across a border and along a
/// clamp.
fn importance(place: Place) -> DMat3 {
    let [across, along] = match place {
        Place::Inside => [1.0, 1.0],
        Place::Border => [ACROSS * ACROSS, 1.0],
        Place::Clamp => return DMat3::from_diagonal(DVec3::X),
    };
    let column = DVec3::new(across, along, along);
    DMat3::from_cols(DVec3::splat(across), column, column)
}
