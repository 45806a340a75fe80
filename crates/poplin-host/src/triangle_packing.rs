//! Packing of the bodies of triangle contact for the search on a GPU.

use poplin_layout::{
    NO_OFFSET, TRIANGLE_CHILDREN, TRIANGLE_FACE_WORDS, TRIANGLE_IS_CLOTH, TRIANGLE_IS_PLANE,
    TriangleBodies, TriangleNode, TriangleTask,
};

use crate::TriangleBody;
use crate::surface::NO_CORNER;

/// Adds trees, each given by the begin of its simplices, the words of one simplex and their count.
/// Returns the root nodes; [`NO_OFFSET`] for an empty tree.
fn add_trees(packed: &mut TriangleBodies, trees: &[(u32, u32, u32)]) -> Vec<u32> {
    let fan = TRIANGLE_CHILDREN;
    let mut roots = vec![NO_OFFSET; trees.len()];
    // Nodes of each tree on the level below.
    let mut below: Vec<std::ops::Range<u32>> = Vec::new();
    for &(simplices, words, all) in trees {
        let begin = packed.nodes.len() as u32;
        for first in (0..all).step_by(fan as usize) {
            let count = fan.min(all - first);
            packed.nodes.push(TriangleNode { first, count, simplices, words });
        }
        below.push(begin..packed.nodes.len() as u32);
    }
    loop {
        // All trees are built level by level together, so that one dispatch fits a level of all of
        // them.
        packed.levels.push(packed.nodes.len() as u32);
        for (nodes, root) in below.iter_mut().zip(&mut roots) {
            // A single node is the root: the tree has no further levels.
            if nodes.len() == 1 {
                *root = nodes.start;
                *nodes = 0..0;
            }
            let begin = packed.nodes.len() as u32;
            for first in nodes.clone().step_by(fan as usize) {
                let count = fan.min(nodes.end - first);
                packed.nodes.push(TriangleNode { first, count, simplices: 0, words: 0 });
            }
            *nodes = begin..packed.nodes.len() as u32;
        }
        if below.iter().all(std::ops::Range::is_empty) {
            return roots;
        }
    }
}

/// Packs bodies for the search on a GPU, cloths first.
pub fn pack_triangle_bodies(bodies: &[&TriangleBody]) -> TriangleBodies {
    let mut packed = TriangleBodies { count: bodies.len() as u32, ..Default::default() };
    packed.cloth_count = bodies.iter().filter(|body| body.is_cloth()).count() as u32;
    let flags = bodies.iter().map(|body| {
        let plane = if body.is_plane { TRIANGLE_IS_PLANE } else { 0 };
        if body.is_cloth() { TRIANGLE_IS_CLOTH } else { plane }
    });
    packed.simplices.extend(flags);
    let (mut trees, mut lists) = (Vec::new(), Vec::new());
    for body in bodies {
        let (begin, surface) = (body.rows.start as u32, &body.surface);
        let rows = |of: &[u32]| of.iter().map(|row| begin + row).collect::<Vec<_>>();
        let mut list = |words: Vec<u32>| {
            let begin = packed.simplices.len() as u32;
            packed.simplices.extend(words);
            begin
        };
        let row = |corner: u32| if corner == NO_CORNER { NO_OFFSET } else { begin + corner };
        let faces = surface.faces.iter().zip(&surface.owned).zip(&surface.beyond);
        let faces = faces.flat_map(|((corners, owned), beyond)| {
            let [a, b, c] = corners.map(row);
            let [d, e, f] = beyond.map(row);
            [a, b, c, u32::from(*owned), d, e, f]
        });
        let faces = list(faces.collect());
        let edges = list(rows(surface.edges.as_flattened()));
        lists.push([list(rows(surface.vertices.as_flattened())), edges]);
        trees.push((faces, TRIANGLE_FACE_WORDS, surface.faces.len() as u32));
        trees.push((edges, 2, surface.edges.len() as u32));
    }
    let roots = add_trees(&mut packed, &trees);
    for (a, b) in (0..bodies.len()).flat_map(|a| (a..bodies.len()).map(move |b| (a, b))) {
        // kind 0: vertices of a, faces of b; 1: vertices of b, faces of a; 2: edges of both
        let pair = [a, b].map(|index| bodies[index]);
        let is_wanted = match a == b {
            true => pair[0].meets_itself,
            false => pair[0].wants(a as u32, pair[1], b as u32),
        };
        for kind in (0..3).filter(|&kind| is_wanted && (kind != 1 || a != b)) {
            let is_of_edges = usize::from(kind == 2);
            let (first, second) = if kind == 1 { (b, a) } else { (a, b) };
            let other = bodies[second];
            let is_plane = other.is_plane && kind != 2;
            packed.tasks.push(TriangleTask {
                first_body: a as u32,
                second_body: b as u32,
                kind,
                query_begin: packed.query_count,
                items: lists[first][is_of_edges],
                root: roots[2 * second + is_of_edges],
                plane: if is_plane { other.rows.start as u32 } else { NO_OFFSET },
                friction: pair[0].friction_with(pair[1]),
            });
            let surface = &bodies[first].surface;
            let counts = [surface.vertices.len(), surface.edges.len()];
            packed.query_count += counts[is_of_edges] as u32;
        }
    }
    packed
}
