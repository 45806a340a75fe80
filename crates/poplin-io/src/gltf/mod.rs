//! Reading of glTF 2.0 meshes: `.gltf` with its buffers and `.glb`.
//!
//! Reads the triangles of all meshes of the scene, transformed by their nodes, skins and morph
//! targets, at rest or at a time of one animation. Exporters list a vertex once for each normal and
//! texture coordinate: within a node, vertices at exactly the same position are merged, in the
//! order of their first use. The merged vertex moves like the first of them, and texture
//! coordinates that differ along a seam are stored per corner.
//!
//! This reader replaces the `gltf` crate so that damaged files give an error with a JSON path, and
//! never a panic.

mod accessor;
mod buffers;
mod clip;
mod json;
#[cfg(test)]
mod motion_tests;
mod nodes;
mod primitive;
mod rig;
#[cfg(test)]
mod test_file;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use glam::DMat4;
use poplin_model::{CornerUvs, Mesh};
use serde_json::Value;

use self::buffers::{Buffers, Container};
pub use self::clip::AnimationChoice;
use self::clip::Clip;
use self::json::Json;
use self::nodes::Nodes;
use self::rig::{Part, Rig, Skin};
use crate::IoError;
use crate::mesh_file::{MeshFile, MeshFormat, Parsed, TwistedFaces, VertexMotion, read_bytes};
use crate::obj::MAX_FACES;
use crate::weld::Weld;

/// glTF entry of the format table.
pub(crate) const GLTF: MeshFormat = MeshFormat {
    extension: "gltf",
    doc: "glTF 2.0: triangles of all meshes of the scene, texture coordinates, skins and morph targets at rest",
    read: |path| parse(read_bytes(path)?, path, None).map(|(parsed, _)| parsed),
};

/// Binary glTF entry of the format table.
pub(crate) const GLB: MeshFormat =
    MeshFormat { extension: "glb", doc: "glTF 2.0 in one binary file: the same", ..GLTF };

/// Cost of a primitive, in vertices that take as long to read.
const PRIMITIVE_COST: usize = 1000;

/// Maximum number of vertices of all morph targets together: a minute at 60 Hz of 18,000 vertices.
const MAX_MORPHED: usize = 1 << 26;

/// Maximum number of joint influences of all vertices together.
const MAX_INFLUENCES: usize = 1 << 26;

/// Prefixes of extensions that do not affect geometry, or are supported.
const KNOWN_EXTENSIONS: [&str; 6] = [
    "KHR_materials_",
    "KHR_texture_",
    "KHR_lights_",
    "EXT_texture_",
    "KHR_mesh_quantization",
    "KHR_node_visibility",
];

/// Expectation in messages about compressed geometry.
const UNPACKED: &str = "a file without it: export it uncompressed";

/// Parses a file, and one of its animations if one is chosen; external buffers are in the folder of
/// `path`.
fn parse(
    bytes: Vec<u8>,
    path: &Path,
    choice: Option<&AnimationChoice>,
) -> Result<(Parsed, Rig), IoError> {
    let Container { text, binary } = Container::open(&bytes, path)?;
    let value: Value = json::parse(text, path)?;
    let root = Json::root(&value, path);
    check_asset(&root)?;
    let mut buffers = Buffers::new(root.clone(), binary, path);
    let (nodes, meshes) = (root.list("nodes")?, root.list("meshes")?);
    let hierarchy = Nodes::read(&nodes)?;
    let clip = match choice {
        None => None,
        Some(choice) => {
            let counts = target_counts(&nodes, &meshes)?;
            Some(Clip::read(&root, choice, (&hierarchy, &counts), &mut buffers, path.into())?)
        }
    };
    // Targets without weight and animation are not read.
    let mut is_morphed = vec![false; nodes.len()];
    clip.iter().flat_map(Clip::morphed).for_each(|node| is_morphed[node] = true);
    let skins = root.list("skins")?;
    let read_skins = skins.iter().map(|_| None).collect();
    let path = path.to_path_buf();
    let mut reader = Reader {
        nodes,
        meshes,
        skins,
        is_morphed,
        buffers,
        mesh: Mesh::default(),
        vertex_count: 0,
        influence_count: 0,
        morphed_count: 0,
        corners_read: 0,
        vertex_uvs: Vec::new(),
        rig: Rig { path, nodes: hierarchy, skins: read_skins, parts: Vec::new(), clip },
    };
    reader.read_scene(&root)?;
    reader.finish()
}

/// Lists the files beside a glTF file with its buffers; empty if the file has none or is damaged.
pub(crate) fn buffer_files(path: &Path) -> Vec<PathBuf> {
    let found = || {
        let bytes = read_bytes(path)?;
        let value = json::parse(Container::open(&bytes, path)?.text, path)?;
        let root = Json::root(&value, path);
        let buffers = Buffers::new(root.clone(), None, path);
        let uris = root.list("buffers")?.into_iter().filter_map(|buffer| buffer.get("uri"));
        Ok::<_, IoError>(uris.filter_map(|uri| buffers.file_of(&uri).ok()).collect())
    };
    found().unwrap_or_default()
}

/// Reads a mesh of a glTF file at rest, and the motion of its vertices in one animation of the
/// file.
///
/// # Errors
/// Same as [`load_mesh`](crate::load_mesh), also if there is no such animation.
pub fn load_animated_mesh(
    path: &Path,
    choice: &AnimationChoice,
) -> Result<(MeshFile, Box<dyn VertexMotion>), IoError> {
    let (parsed, rig) = parse(read_bytes(path)?, path, Some(choice))?;
    Ok((parsed.into(), Box::new(rig)))
}

fn check_asset(root: &Json<'_>) -> Result<(), IoError> {
    let version = root.field("asset")?.field("version")?;
    // Any minor version of 2 is compatible.
    if !version.text()?.starts_with("2.") {
        return Err(version.fault(format!("version {}", version.text()?), "2.0"));
    }
    for extension in root.list("extensionsRequired")? {
        let name = extension.text()?;
        if !KNOWN_EXTENSIONS.iter().any(|known| name.starts_with(known)) {
            let packs = ["KHR_draco", "EXT_meshopt", "KHR_meshopt"];
            let expected = if packs.iter().any(|pack| name.starts_with(pack)) {
                UNPACKED
            } else {
                "a file that does not require it"
            };
            return Err(extension.fault(format!("the extension {name:?}"), expected));
        }
    }
    Ok(())
}

/// Extension of an object, if it has it.
fn extension<'a>(of: &Json<'a>, name: &str) -> Option<Json<'a>> {
    of.get("extensions")?.get(name)
}

/// Tests whether a node is hidden, and its children with it.
fn is_hidden(node: &Json<'_>) -> bool {
    match extension(node, "KHR_node_visibility").and_then(|it| it.get("visible")) {
        Some(visible) => !visible.is_true(),
        None => false,
    }
}

/// Number of morph targets of the mesh of every node.
fn target_counts(nodes: &[Json<'_>], meshes: &[Json<'_>]) -> Result<Vec<usize>, IoError> {
    let of_mesh = |mesh: &Json<'_>| {
        let first = mesh.list("primitives")?.into_iter().next();
        first.map_or(Ok(0), |primitive| Ok(primitive.list("targets")?.len()))
    };
    let of_meshes = meshes.iter().map(of_mesh).collect::<Result<Vec<usize>, IoError>>()?;
    let of_node = |node: &Json<'_>| match node.get("mesh") {
        Some(mesh) => Ok(of_meshes[mesh.index(meshes.len(), "meshes")?]),
        None => Ok(0),
    };
    nodes.iter().map(of_node).collect()
}

struct Reader<'a> {
    nodes: Vec<Json<'a>>,
    meshes: Vec<Json<'a>>,
    skins: Vec<Json<'a>>,
    /// True for nodes whose morph targets are animated.
    is_morphed: Vec<bool>,
    buffers: Buffers<'a>,
    /// Mesh without its positions.
    mesh: Mesh,
    vertex_count: usize,
    influence_count: usize,
    morphed_count: usize,
    /// Number of vertices and corners read so far, including merged ones.
    corners_read: usize,
    /// Texture coordinate of each vertex used by a triangle.
    vertex_uvs: Vec<VertexUv>,
    rig: Rig,
}

/// Texture coordinates found for a vertex so far: none, one, or several.
#[derive(Debug, Clone, Copy, PartialEq)]
enum VertexUv {
    Unset,
    One([f32; 2]),
    Mixed,
}

/// Part that is being read.
struct Drawn {
    part: Part,
    weld: Weld,
    /// True if the node mirrors its triangles.
    is_mirrored: bool,
    has_morphs: bool,
}

impl Reader<'_> {
    fn read_scene(&mut self, root: &Json<'_>) -> Result<(), IoError> {
        let matrices = self.rig.nodes.matrices(&self.rig.nodes.locals);
        let count = self.nodes.len();
        let mut is_visited = vec![false; count];
        let scenes = root.list("scenes")?;
        let mut waiting: Vec<usize> = Vec::new();
        if scenes.is_empty() {
            waiting.extend(self.rig.nodes.roots());
            waiting.iter().for_each(|&node| is_visited[node] = true);
        } else {
            let scene =
                root.get("scene").map_or(Ok(0), |scene| scene.index(scenes.len(), "scenes"))?;
            for node in scenes[scene].list("nodes")? {
                waiting.push(visit(&node, &mut is_visited)?);
            }
        }
        // Depth first in file order: the next node is last on the stack.
        waiting.reverse();
        while let Some(index) = waiting.pop() {
            let node = self.nodes[index].clone();
            if is_hidden(&node) {
                continue;
            }
            if let Some(instances) = extension(&node, "EXT_mesh_gpu_instancing") {
                let expected = "each instance as a node: apply instances before the export";
                return Err(instances.fault("instances of a mesh".to_owned(), expected));
            }
            if let Some(mesh) = node.get("mesh") {
                let mesh = self.meshes[mesh.index(self.meshes.len(), "meshes")?].clone();
                self.read_mesh(&node, index, &mesh, matrices[index])?;
            }
            for child in node.list("children")?.iter().rev() {
                waiting.push(visit(child, &mut is_visited)?);
            }
        }
        Ok(())
    }

    fn read_mesh(
        &mut self,
        node: &Json<'_>,
        index: usize,
        mesh: &Json<'_>,
        matrix: DMat4,
    ) -> Result<(), IoError> {
        let skin = node.get("skin").map(|skin| self.skin(&skin)).transpose()?;
        let weights = match node.get("weights") {
            Some(_) => node.list("weights")?,
            None => mesh.list("weights")?,
        };
        let weights: Vec<f64> = weights.iter().map(Json::number).collect::<Result<_, _>>()?;
        let has_morphs = self.is_morphed[index] || weights.iter().any(|&weight| weight != 0.0);
        let part = Part {
            node: index,
            skin,
            vertices: Vec::new(),
            influences: Vec::new(),
            influence_ends: Vec::new(),
            weights,
            morphs: Vec::new(),
        };
        // Only joints move a skinned mesh; its own node does not.
        // A negative determinant flips the orientation of triangles.
        let is_mirrored = skin.is_none() && matrix.determinant() < 0.0;
        let mut drawn = Drawn { part, weld: Weld::default(), is_mirrored, has_morphs };
        let primitives = mesh.list("primitives")?;
        let mut target_count = None;
        for primitive in &primitives {
            self.count(PRIMITIVE_COST)?;
            let mode = primitive.get("mode").map_or(Ok(4), |mode| mode.integer())?;
            // Modes 0 to 3 are points and lines, 4 to 6 triangles, strips and fans.
            if (4..=6).contains(&mode) {
                self.read_primitive(primitive, mode, &mut drawn, &mut target_count)?;
            }
        }
        let Drawn { mut part, weld, .. } = drawn;
        self.vertex_count += weld.positions.len();
        part.vertices = weld.positions;
        self.rig.parts.push(part);
        Ok(())
    }

    /// Returns the index of a skin, which is read when first needed.
    fn skin(&mut self, index: &Json<'_>) -> Result<usize, IoError> {
        let index = index.index(self.skins.len(), "skins")?;
        if self.rig.skins[index].is_none() {
            let skin = Skin::read(&self.skins[index], self.nodes.len(), &mut self.buffers)?;
            self.rig.skins[index] = Some(skin);
        }
        Ok(index)
    }

    fn finish(self) -> Result<(Parsed, Rig), IoError> {
        let Self { mut mesh, rig, vertex_uvs, .. } = self;
        let path = rig.path.clone();
        if mesh.triangles.is_empty() {
            return Err(IoError::Empty { path, what: "triangles" });
        }
        let positions = rig.pose(&rig.rest())?;
        mesh.positions = positions.iter().map(|p| p.as_vec3().to_array()).collect();
        let one = |uv: &VertexUv| match uv {
            VertexUv::One(uv) => Some(*uv),
            // Not used by any triangle.
            VertexUv::Unset => Some([0.0; 2]),
            VertexUv::Mixed => None,
        };
        mesh.uvs = vertex_uvs.iter().map(one).collect::<Option<_>>().unwrap_or_default();
        if !mesh.uvs.is_empty() || mesh.corner_uvs.coordinates.is_empty() {
            mesh.corner_uvs = CornerUvs::default();
        }
        mesh.validate().map_err(|source| IoError::Mesh { path, source })?;
        Ok((Parsed { mesh, positions, twisted: TwistedFaces::default() }, rig))
    }

    /// Counts vertices or corners that are read: a small file may reference the same ones many
    /// times.
    fn count(&mut self, more: usize) -> Result<(), IoError> {
        self.corners_read = self.corners_read.saturating_add(more);
        self.limit("vertices and corners of all nodes", self.corners_read, 4 * MAX_FACES)
    }

    fn limit(&self, what: &'static str, count: usize, limit: usize) -> Result<(), IoError> {
        match count > limit {
            true => Err(IoError::TooMany { path: self.rig.path.clone(), what, count, limit }),
            false => Ok(()),
        }
    }
}

/// Returns the index of a node, which must not be visited twice.
fn visit(node: &Json<'_>, is_visited: &mut [bool]) -> Result<usize, IoError> {
    let index = node.index(is_visited.len(), "nodes")?;
    match std::mem::replace(&mut is_visited[index], true) {
        true => Err(node.fault(format!("node {index} again"), "each node below one parent")),
        false => Ok(index),
    }
}
