//! Vertices that nodes, skins and morph targets move.

use std::collections::HashMap;
use std::path::PathBuf;

use glam::{DMat4, DVec3};
use poplin_model::MAX_COORDINATE;

use super::accessor::{Accessor, FLOAT, Width};
use super::buffers::Buffers;
use super::clip::Clip;
use super::json::Json;
use super::nodes::{Local, Nodes};
use crate::mesh_file::VertexMotion;
use crate::{FilePosition, IoError};

/// Most joints of a skin: what vertices can name.
const MAX_JOINTS: usize = 1 << 16;

/// Joints, and where the mesh was bound to them.
#[derive(Debug)]
pub(super) struct Skin {
    pub(super) joints: Vec<usize>,
    /// From the mesh to each joint.
    inverse_binds: Vec<DMat4>,
}

impl Skin {
    pub(super) fn read(
        skin: &Json<'_>,
        node_count: usize,
        buffers: &mut Buffers<'_>,
    ) -> Result<Self, IoError> {
        let joints = skin.list("joints")?;
        let joints: Vec<_> = joints
            .iter()
            .map(|joint| joint.index(node_count, "nodes"))
            .collect::<Result<_, _>>()?;
        if !(1..=MAX_JOINTS).contains(&joints.len()) {
            let found = format!("{} joints", joints.len());
            return Err(skin.fault(found, &format!("1 to {MAX_JOINTS}")));
        }
        let inverse_binds = match skin.get("inverseBindMatrices") {
            None => vec![DMat4::IDENTITY; joints.len()],
            Some(json) => {
                let matrices = Accessor::read(&json, Width::Mat4, buffers)?;
                if matrices.component != FLOAT || matrices.count < joints.len() {
                    let found = format!(
                        "{} matrices of component type {}",
                        matrices.count, matrices.component
                    );
                    let expected = format!("one of type 5126 for each of {} joints", joints.len());
                    return Err(json.fault(found, &expected));
                }
                let matrix = |k| DMat4::from_cols_array(&matrices.vector::<16>(k));
                (0..joints.len()).map(matrix).collect()
            }
        };
        Ok(Self { joints, inverse_binds })
    }
}

/// Morph targets of the vertices of a primitive.
#[derive(Debug)]
pub(super) struct Morph {
    /// The first of its vertices in those of its part.
    pub(super) first: usize,
    /// Of each, the item of its accessors.
    pub(super) items: Vec<u32>,
    /// Displacements, if the target has any.
    pub(super) targets: Vec<Option<Accessor>>,
}

/// The mesh of a node.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) node: usize,
    pub(super) skin: Option<usize>,
    /// The vertices as the file has them.
    pub(super) vertices: Vec<DVec3>,
    /// Joints of the skin and their weights, those of one vertex after those of the one before.
    pub(super) influences: Vec<(u16, f32)>,
    /// Where those of each vertex end.
    pub(super) influence_ends: Vec<u32>,
    /// Weights of the morph targets.
    pub(super) weights: Vec<f64>,
    pub(super) morphs: Vec<Morph>,
}

/// Where nodes are, and weights of morph targets that are not those of the file.
#[derive(Debug)]
pub(super) struct Pose {
    pub(super) locals: Vec<Local>,
    pub(super) weights: HashMap<usize, Vec<f64>>,
}

/// The vertices of a file and what moves them.
#[derive(Debug)]
pub(super) struct Rig {
    pub(super) path: PathBuf,
    pub(super) nodes: Nodes,
    pub(super) skins: Vec<Option<Skin>>,
    pub(super) parts: Vec<Part>,
    pub(super) clip: Option<Clip>,
}

impl Rig {
    /// The pose of the file.
    pub(super) fn rest(&self) -> Pose {
        Pose { locals: self.nodes.locals.clone(), weights: HashMap::new() }
    }

    /// All vertices in a pose, those of one part after those of the one before.
    pub(super) fn pose(&self, pose: &Pose) -> Result<Vec<DVec3>, IoError> {
        let matrices = self.nodes.matrices(&pose.locals);
        let of_skin = |skin: &Option<Skin>| {
            let skin = skin.as_ref()?;
            let joints = skin.joints.iter().zip(&skin.inverse_binds);
            Some(joints.map(|(&joint, bind)| matrices[joint] * *bind).collect())
        };
        let skins: Vec<Option<Vec<DMat4>>> = self.skins.iter().map(of_skin).collect();
        let mut positions = Vec::new();
        for part in &self.parts {
            let mut vertices = part.vertices.clone();
            let weights = pose.weights.get(&part.node).unwrap_or(&part.weights);
            part.morphs.iter().for_each(|morph| morph.apply(weights, &mut vertices));
            match part.skin.and_then(|skin| skins.get(skin)?.as_ref()) {
                // The joints alone move a skinned mesh.
                Some(joints) => part.skinned(joints, &mut vertices),
                None => {
                    let matrix = matrices[part.node];
                    vertices.iter_mut().for_each(|x| *x = matrix.transform_point3(*x));
                }
            }
            for (k, x) in vertices.iter().enumerate() {
                if x.is_nan() || x.abs().max_element() > f64::from(MAX_COORDINATE) {
                    return Err(IoError::Unexpected {
                        path: self.path.clone(),
                        position: FilePosition::Json(format!("nodes[{}]", part.node)),
                        found: format!("vertex {k} at {x}"),
                        expected: format!("finite numbers below {MAX_COORDINATE:e} in the scene"),
                    });
                }
            }
            positions.append(&mut vertices);
        }
        Ok(positions)
    }
}

impl Morph {
    fn apply(&self, weights: &[f64], vertices: &mut [DVec3]) {
        for (target, &weight) in self.targets.iter().zip(weights) {
            let Some(target) = target.as_ref().filter(|_| weight != 0.0) else { continue };
            for (vertex, &item) in vertices[self.first..].iter_mut().zip(&self.items) {
                *vertex += weight * DVec3::from(target.vector::<3>(item as usize));
            }
        }
    }
}

impl Part {
    /// Moves vertices by the mean of what their joints do.
    fn skinned(&self, joints: &[DMat4], vertices: &mut [DVec3]) {
        let mut begin = 0;
        for (vertex, &end) in vertices.iter_mut().zip(&self.influence_ends) {
            let (mut moved, mut sum) = (DVec3::ZERO, 0.0);
            for &(joint, weight) in &self.influences[begin..end as usize] {
                let weight = f64::from(weight);
                moved += weight * joints[usize::from(joint)].transform_point3(*vertex);
                sum += weight;
            }
            *vertex = moved / sum;
            begin = end as usize;
        }
    }
}

impl VertexMotion for Rig {
    fn span(&self) -> [f64; 2] {
        self.clip.as_ref().map_or([0.0; 2], |clip| clip.span)
    }

    fn positions(&self, time: f64) -> Result<Vec<DVec3>, IoError> {
        let mut pose = self.rest();
        if let Some(clip) = &self.clip {
            clip.apply(time, &mut pose);
        }
        self.pose(&pose)
    }
}
