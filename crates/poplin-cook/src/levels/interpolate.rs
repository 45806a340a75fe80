//! Interpolation of the nodes of a level from those of the coarser one.

use glam::{DVec2, DVec3};
use poplin_model::Parents;

use super::Nodes;

/// Nearest nodes among which the triangle around a node is searched.
const NEAREST: usize = 10;

/// Distance within which the corners of that triangle lie, in radii: no circle without a node in it
/// is larger than a disk.
const REACH: f64 = 2.0;

/// Least double area of such a triangle, in squares of the radius.
const MIN_AREA: f64 = 0.05;

/// Weights below this are dropped.
const MIN_WEIGHT: f64 = 1e-4;

/// Weight of a node from which it lies outside a triangle, in double areas: rounding.
const OUTSIDE: f64 = -1e-9;

/// Parents with these weights, without small ones, and with a sum of 1.
fn parents_of(weighted: &[(u32, f64)]) -> Parents {
    let mut kept: Vec<_> =
        weighted.iter().copied().filter(|(_, weight)| *weight >= MIN_WEIGHT).collect();
    kept.sort_unstable_by_key(|(node, _)| *node);
    let sum: f64 = kept.iter().map(|(_, weight)| weight).sum();
    let mut parents = Parents::default();
    for (k, (node, weight)) in kept.into_iter().enumerate() {
        parents.nodes[k] = node;
        parents.weights[k] = (weight / sum) as f32;
    }
    parents
}

/// Finds the parents of every node among the chosen ones, which are `radius` \[m\] apart; none for
/// those that are `fixed` or have no neighbours.
pub(super) fn interpolation(
    nodes: &Nodes,
    chosen: &[u32],
    radius: f64,
    fixed: impl Fn(usize) -> bool,
) -> Vec<Parents> {
    let mut coarse_of = vec![u32::MAX; nodes.len()];
    (0..).zip(chosen).for_each(|(coarse, &node)| coarse_of[node as usize] = coarse);
    let mut seen = vec![u32::MAX; nodes.len()];
    let (mut near, mut queue) = (Vec::new(), Vec::new());
    let mut find = |node: u32| {
        let coarse = coarse_of[node as usize];
        if coarse != u32::MAX {
            return parents_of(&[(coarse, 1.0)]);
        }
        near.clear();
        nodes.within(node, REACH * radius, (&mut seen, node), &mut queue, |other, squared| {
            if coarse_of[other as usize] != u32::MAX {
                near.push((squared, coarse_of[other as usize]));
            }
        });
        near.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        near.truncate(NEAREST);
        let center = nodes.positions[node as usize];
        let chart = Chart::new(nodes.normals[node as usize]);
        let corners: Vec<(u32, DVec2)> = near
            .iter()
            .map(|&(_, coarse)| {
                let other = chosen[coarse as usize] as usize;
                (coarse, chart.flat(nodes.positions[other] - center))
            })
            .collect();
        around(&corners, MIN_AREA * radius * radius)
            .or_else(|| beside(&corners))
            // Every node is within a radius of a chosen one.
            .or_else(|| corners.first().map(|it| parents_of(&[(it.0, 1.0)])))
            .unwrap_or_default()
    };
    (0..nodes.len())
        .map(|node| {
            if fixed(node) || !nodes.is_connected(node) {
                Parents::default()
            } else {
                find(node as u32)
            }
        })
        .collect()
}

/// Tangent plane of a node.
struct Chart {
    axes: [DVec3; 2],
}

impl Chart {
    /// Any plane for a normal of 0.
    fn new(normal: DVec3) -> Self {
        let normal = if normal == DVec3::ZERO { DVec3::Z } else { normal };
        let (a, b) = normal.any_orthonormal_pair();
        Self { axes: [a, b] }
    }

    /// Turns an offset into the plane, at its length.
    fn flat(&self, offset: DVec3) -> DVec2 {
        let flat = DVec2::new(self.axes[0].dot(offset), self.axes[1].dot(offset));
        flat.normalize_or_zero() * offset.length()
    }
}

/// Weights of the corners of the triangle around the origin whose farthest corner is the nearest.
fn around(corners: &[(u32, DVec2)], min_area: f64) -> Option<Parents> {
    for far in 2..corners.len() {
        for middle in 1..far {
            for near in 0..middle {
                let [a, b, c] = [near, middle, far].map(|k| corners[k].1);
                let area = (b - a).perp_dot(c - a);
                if area.abs() < min_area {
                    continue;
                }
                let weights = [b.perp_dot(c), c.perp_dot(a), a.perp_dot(b)].map(|it| it / area);
                if weights.iter().all(|&weight| weight >= OUTSIDE) {
                    let nodes = [near, middle, far].map(|k| corners[k].0);
                    let pairs: Vec<_> = nodes.into_iter().zip(weights).collect();
                    return Some(parents_of(&pairs));
                }
            }
        }
    }
    None
}

/// Weights of the ends of the segment nearest to the origin, if its nearest point is not an end.
fn beside(corners: &[(u32, DVec2)]) -> Option<Parents> {
    let mut best: Option<(f64, Parents)> = None;
    for far in 1..corners.len() {
        for near in 0..far {
            let [a, b] = [near, far].map(|k| corners[k].1);
            let along = (-a).dot(b - a) / (b - a).length_squared();
            let distance = a.lerp(b, along).length();
            let is_between = along > 0.0 && along < 1.0;
            if is_between && best.as_ref().is_none_or(|(least, _)| distance < *least) {
                let pairs = [(corners[near].0, 1.0 - along), (corners[far].0, along)];
                best = Some((distance, parents_of(&pairs)));
            }
        }
    }
    best.map(|(_, parents)| parents)
}
