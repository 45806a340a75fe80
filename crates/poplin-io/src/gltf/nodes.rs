//! Nodes of a glTF file, each in the space of its parent.

use glam::{DMat4, DQuat, DVec3};

use super::json::Json;
use crate::IoError;

/// Local transform of a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Local {
    pub(super) scale: DVec3,
    pub(super) rotation: DQuat,
    pub(super) translation: DVec3,
    /// Matrix instead of the other fields, if the file has one; such a node cannot be animated.
    matrix: Option<DMat4>,
}

impl Local {
    fn read(node: &Json<'_>) -> Result<Self, IoError> {
        let scale = node.get("scale").map_or(Ok([1.0; 3]), |it| it.numbers())?;
        let rotation = node.get("rotation").map_or(Ok([0.0, 0.0, 0.0, 1.0]), |it| it.numbers())?;
        let translation = node.get("translation").map_or(Ok([0.0; 3]), |it| it.numbers())?;
        let matrix = node.get("matrix").map(|it| it.numbers::<16>()).transpose()?;
        Ok(Self {
            scale: scale.into(),
            rotation: unit(rotation),
            translation: translation.into(),
            matrix: matrix.map(|columns| DMat4::from_cols_array(&columns)),
        })
    }

    fn matrix(&self) -> DMat4 {
        let own =
            || DMat4::from_scale_rotation_translation(self.scale, self.rotation, self.translation);
        self.matrix.unwrap_or_else(own)
    }

    /// Tests whether the file states a matrix.
    pub(super) fn is_matrix(&self) -> bool {
        self.matrix.is_some()
    }
}

/// Normalizes a quaternion; the identity if its length is near 0 or infinite.
pub(super) fn unit(quaternion: [f64; 4]) -> DQuat {
    let length = quaternion.iter().map(|x: &f64| x * x).sum::<f64>().sqrt();
    match length > 1e-6 && length < 1e6 {
        true => DQuat::from_array(quaternion.map(|x| x / length)),
        false => DQuat::IDENTITY,
    }
}

/// All nodes of a file.
#[derive(Debug)]
pub(super) struct Nodes {
    /// Local transforms as in the file.
    pub(super) locals: Vec<Local>,
    parents: Vec<Option<usize>>,
    /// Topological order: every node after its parent.
    order: Vec<usize>,
}

impl Nodes {
    pub(super) fn read(nodes: &[Json<'_>]) -> Result<Self, IoError> {
        let locals = nodes.iter().map(Local::read).collect::<Result<_, _>>()?;
        let mut parents: Vec<Option<usize>> = vec![None; nodes.len()];
        let mut children: Vec<Vec<usize>> = Vec::with_capacity(nodes.len());
        let again = |child: &Json<'_>, index: usize| {
            child.fault(format!("node {index} again"), "each node below one parent")
        };
        for (parent, node) in nodes.iter().enumerate() {
            let mut own = Vec::new();
            for child in node.list("children")? {
                let index = child.index(nodes.len(), "nodes")?;
                if parents[index].replace(parent).is_some() {
                    return Err(again(&child, index));
                }
                own.push(index);
            }
            children.push(own);
        }
        let mut order: Vec<_> = (0..nodes.len()).filter(|&k| parents[k].is_none()).collect();
        let mut is_visited = vec![false; nodes.len()];
        let mut next = 0;
        while let Some(&node) = order.get(next) {
            is_visited[node] = true;
            order.extend(&children[node]);
            next += 1;
        }
        // Nodes that no root leads to are part of a cycle.
        if let Some(lost) = is_visited.iter().position(|is_visited| !is_visited) {
            let parent = parents[lost].unwrap_or(lost);
            for child in nodes[parent].list("children")? {
                if child.index(nodes.len(), "nodes")? == lost {
                    return Err(again(&child, lost));
                }
            }
        }
        Ok(Self { locals, parents, order })
    }

    /// Nodes without a parent, in the order of the file.
    pub(super) fn roots(&self) -> impl Iterator<Item = usize> {
        self.order.iter().copied().take_while(|&node| self.parents[node].is_none())
    }

    /// Computes the world matrix of every node from the given local transforms.
    pub(super) fn matrices(&self, locals: &[Local]) -> Vec<DMat4> {
        let mut matrices = vec![DMat4::IDENTITY; locals.len()];
        for &node in &self.order {
            let own = locals[node].matrix();
            matrices[node] = match self.parents[node] {
                Some(parent) => matrices[parent] * own,
                None => own,
            };
        }
        matrices
    }
}
