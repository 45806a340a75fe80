//! Warnings about the connected parts of cloths and colliders, and how their triangles face.

use std::collections::{HashMap, HashSet};

use glam::DVec3;
use poplin_geometry::{Bounds, BoxTree, wide};
use poplin_scene::BuiltCollider;

use super::Warning;
use crate::job_cloth::{JobCloth, mean_rest_length};
use crate::numbers::{counted, short_length};

/// Distance of vertices on the rims of two parts that are probably a seam, in mean edges.
const SEAM: f32 = 0.02;

/// Returns the sides of triangles, from and to, by edge with its lower end first.
fn sides(triangles: &[[u32; 3]]) -> HashMap<[u32; 2], Vec<[u32; 2]>> {
    let mut edges: HashMap<_, Vec<_>> = HashMap::new();
    for &[a, b, c] in triangles {
        for [from, to] in [[a, b], [b, c], [c, a]] {
            edges.entry([from.min(to), from.max(to)]).or_default().push([from, to]);
        }
    }
    edges
}

/// Returns the number of rim vertices within `reach` of a rim vertex of another part, and their
/// largest distance \[m\].
fn near_rims(rims: &[(u32, DVec3)], reach: f64) -> (usize, f64) {
    let boxes = rims.iter().map(|rim| (Bounds::of([rim.1]), rim));
    let tree = BoxTree::new(boxes, |bounds, _| bounds.low);
    let (mut count, mut farthest) = (0, 0.0f64);
    for (part, at) in rims {
        let mut nearest = f64::INFINITY;
        tree.visit(&Bounds::of([*at - reach, *at + reach]), |(other, there)| {
            if other != part {
                nearest = nearest.min(there.distance(*at));
            }
        });
        if nearest <= reach {
            (count, farthest) = (count + 1, farthest.max(nearest));
        }
    }
    (count, farthest)
}

impl Warning {
    /// Warns of parts that are not joined where they nearly touch, and of parts without pins that
    /// nothing holds.
    pub(super) fn of_parts(job_cloth: &JobCloth) -> Option<Self> {
        let JobCloth { name, cloth, report, .. } = job_cloth;
        let parts = report.component_count;
        if parts < 2 {
            return None;
        }
        let particles = &cloth.particles;
        let triangles = &cloth.fabric.triangles;
        let (mut sets, corners) = job_cloth.parts();
        let is_pinned = |&it: &u32| particles[it as usize].is_pinned();
        let held: HashSet<u32> =
            corners.iter().filter(|it| is_pinned(it)).map(|&it| sets.root(it)).collect();
        let loose: HashSet<u32> =
            corners.iter().map(|&it| sets.root(it)).filter(|root| !held.contains(root)).collect();
        let rim: HashSet<u32> = sides(triangles)
            .into_iter()
            .filter(|(_, sides)| sides.len() == 1)
            .flat_map(|(edge, _)| edge)
            .collect();
        let at = |it: u32| wide(particles[it as usize].position);
        let rims: Vec<_> = rim.into_iter().map(|it| (sets.root(it), at(it))).collect();
        let reach = f64::from(SEAM * mean_rest_length(&cloth.fabric));
        let (gaps, gap_m) = if reach > 0.0 { near_rims(&rims, reach) } else { (0, 0.0) };
        let is_falling = !held.is_empty() && !loose.is_empty() && !job_cloth.has_colliders();
        if gaps == 0 && !is_falling {
            return None;
        }
        let pins = match (held.is_empty(), loose.len()) {
            (true, _) | (_, 0) => String::new(),
            (false, 1) => ", 1 of them without a pin".to_owned(),
            (false, count) => format!(", {count} of them without a pin"),
        };
        let advice = if gaps > 0 {
            format!(
                "{} on their rims, within {} of another part: if that is a seam, weld it \
                 (--weld, `fabric.weld = {{ distance = ... }}`)",
                if gaps == 1 { "1 vertex is".into() } else { format!("{gaps} vertices are") },
                short_length(gap_m as f32)
            )
        } else {
            "nothing holds these: pin them, or leave them out".to_owned()
        };
        let text = format!("cloth `{name}` has {parts} parts{pins}; {advice}");
        let warning = Self::of_cloth(if gaps > 0 { "open_seam" } else { "loose_part" }, name, text);
        Some(
            warning
                .detail("parts", parts)
                .detail("loose_parts", loose.len())
                .detail("seam_vertices", gaps)
                .detail("gap_m", gap_m),
        )
    }

    /// Warns of neighbouring triangles that face differently where that matters: pressure and
    /// separation spheres act along their normals.
    pub(super) fn of_winding(job_cloth: &JobCloth) -> Option<Self> {
        let JobCloth { name, cloth, .. } = job_cloth;
        let what = match (cloth.config.air.pressure != 0.0, job_cloth.separation_spheres.is_empty())
        {
            (true, true) => "pressure acts",
            (false, false) => "separation spheres act",
            (true, false) => "pressure and separation spheres act",
            (false, true) => return None,
        };
        let edges = sides(&cloth.fabric.triangles);
        let differs = |sides: &&Vec<[u32; 2]>| matches!(sides[..], [a, b] if a == b);
        let edges = edges.values().filter(differs).count();
        (edges > 0).then(|| {
            let text = format!(
                "cloth `{name}` has {} between triangles that face differently: {what} along their \
                 normals, in opposite directions there; let all faces point outwards",
                counted(edges, "edge")
            );
            Self::of_cloth("mixed_winding", name, text)
                .at("mesh")
                .beyond(edges as f32, 0.0)
                .detail("edges", edges)
        })
    }

    /// Warns of parts of a collider that enclose no volume, so that cloth passes through them.
    pub(super) fn of_left_out(collider: &BuiltCollider) -> Option<Self> {
        let parts = collider.repairs.left_out_parts;
        let name = &collider.name;
        (parts > 0).then(|| {
            let triangles = collider.repairs.left_out_triangles;
            let text = format!(
                "collider `{name}` has {} without a volume ({}), which cloth passes through: a \
                 sheet, an open tube, or both sides of a sheet; give it a thickness, or close it",
                counted(parts, "part"),
                counted(triangles, "triangle")
            );
            Self::new("left_out_parts", name, text)
                .at("mesh")
                .beyond(parts as f32, 0.0)
                .detail("collider", name)
                .detail("parts", parts)
                .detail("triangles", triangles)
        })
    }
}
