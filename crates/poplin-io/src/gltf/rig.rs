//! Vertices moved by nodes, skins and morph targets.

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

/// Maximum number of joints of a skin: joint indices have 16 bits.
const MAX_JOINTS: usize = 1 << 16;

/// Joints with their bind poses.
#[derive(Debug)]
pub(super) struct Skin {
    pub(super) joints: Vec<usize>,
    /// Inverse bind matrices, from the mesh to each joint.
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

/// Morph targets of the vertices of one primitive.
#[derive(Debug)]
pub(super) struct Morph {
    /// Index of its first vertex in the part.
    pub(super) first: usize,
    /// Accessor item of each vertex.
    pub(super) items: Vec<u32>,
    /// Displacements per target, if it has any.
    pub(super) targets: Vec<Option<Accessor>>,
}

/// Mesh of a node.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) node: usize,
    pub(super) skin: Option<usize>,
    /// Vertices as in the file.
    pub(super) vertices: Vec<DVec3>,
    /// Joints and weights of all vertices, vertex after vertex.
    pub(super) influences: Vec<(u16, f32)>,
    /// End of the influences of each vertex (prefix sum).
    pub(super) influence_ends: Vec<u32>,
    /// Weights of the morph targets at rest.
    pub(super) weights: Vec<f64>,
    pub(super) morphs: Vec<Morph>,
}

/// Local transforms of nodes, and animated weights of morph targets by node.
#[derive(Debug)]
pub(super) struct Pose {
    pub(super) locals: Vec<Local>,
    pub(super) weights: HashMap<usize, Vec<f64>>,
}

/// Vertices of a file with the data that moves them.
#[derive(Debug)]
pub(super) struct Rig {
    pub(super) path: PathBuf,
    pub(super) nodes: Nodes,
    pub(super) skins: Vec<Option<Skin>>,
    pub(super) parts: Vec<Part>,
    pub(super) clip: Option<Clip>,
}

impl Rig {
    /// Rest pose of the file.
    pub(super) fn rest(&self) -> Pose {
        Pose { locals: self.nodes.locals.clone(), weights: HashMap::new() }
    }

    /// Computes all vertices in a pose, part after part.
    pub(super) fn pose(&self, pose: &Pose) -> Result<Vec<DVec3>, IoError> {
        let matrices = self.nodes.matrices(&pose.locals);
        let of_skin = |skin: &Option<Skin>| {
            let skin = skin.as_ref()?;
            let joints = skin.joints.iter().zip(&skin.inverse_binds);
            // Joint matrix: global transform of the joint times its inverse bind matrix.
            Some(joints.map(|(&joint, bind)| matrices[joint] * *bind).collect())
        };
        let skins: Vec<Option<Vec<DMat4>>> = self.skins.iter().map(of_skin).collect();
        let mut positions = Vec::new();
        for part in &self.parts {
            let mut vertices = part.vertices.clone();
            let weights = pose.weights.get(&part.node).unwrap_or(&part.weights);
            part.morphs.iter().for_each(|morph| morph.apply(weights, &mut vertices));
            match part.skin.and_then(|skin| skins.get(skin)?.as_ref()) {
                // Only joints move a skinned mesh; its own node does not.
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
    /// Linear blend skinning: x' = sum(w J x) / sum(w).
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
