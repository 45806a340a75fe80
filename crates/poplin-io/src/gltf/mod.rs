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
mod nodes;
mod rig;

use std::path::{Path, PathBuf};

use glam::DMat4;
use poplin_model::{CornerUvs, MAX_COORDINATE, MAX_PARTICLES, Mesh};
use serde_json::Value;

use self::accessor::{Accessor, Width};
use self::buffers::{Buffers, Container};
pub use self::clip::AnimationChoice;
use self::clip::Clip;
use self::json::Json;
use self::nodes::Nodes;
use self::rig::{Morph, Part, Rig, Skin};
use crate::IoError;
use crate::mesh_file::{MeshFormat, Parsed, TwistedFaces, VertexMotion, read_bytes};
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
const KNOWN_EXTENSIONS: [&str; 5] =
    ["KHR_materials_", "KHR_texture_", "KHR_lights_", "EXT_texture_", "KHR_mesh_quantization"];

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

/// Reads a mesh at rest, and the motion of its vertices in one animation of the file.
pub(crate) fn load_animated(
    path: &Path,
    choice: &AnimationChoice,
) -> Result<(Parsed, Box<dyn VertexMotion>), IoError> {
    let (parsed, rig) = parse(read_bytes(path)?, path, Some(choice))?;
    Ok((parsed, Box::new(rig)))
}

fn check_asset(root: &Json<'_>) -> Result<(), IoError> {
    let version = root.field("asset")?.field("version")?;
    if !version.text()?.starts_with("2.") {
        return Err(version.fault(format!("version {}", version.text()?), "2.0"));
    }
    for extension in root.list("extensionsRequired")? {
        let name = extension.text()?;
        if !KNOWN_EXTENSIONS.iter().any(|known| name.starts_with(known)) {
            let expected = "a file without it: export it uncompressed";
            return Err(extension.fault(format!("the extension {name:?}"), expected));
        }
    }
    Ok(())
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
        // Depth first in file order: the stack has the next node last.
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
        waiting.reverse();
        while let Some(index) = waiting.pop() {
            let node = self.nodes[index].clone();
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

    fn read_primitive(
        &mut self,
        primitive: &Json<'_>,
        mode: u64,
        drawn: &mut Drawn,
        target_count: &mut Option<usize>,
    ) -> Result<(), IoError> {
        let first = self.vertex_count as u32;
        let attributes = primitive.field("attributes")?;
        let Some(position) = attributes.get("POSITION") else { return Ok(()) };
        let positions = Accessor::read(&position, Width::Vec3, &mut self.buffers)?;
        self.count(positions.count)?;
        let known = drawn.weld.positions.len();
        let mut vertices = Vec::with_capacity(positions.count);
        // Accessor item of every new vertex.
        let mut items: Vec<u32> = Vec::new();
        for k in 0..positions.count {
            let own = positions.vector::<3>(k).into();
            let vertex = drawn.weld.vertex(own);
            if vertex as usize == known + items.len() {
                items.push(k as u32);
            }
            vertices.push(first + vertex);
            let count = first as usize + drawn.weld.positions.len();
            self.limit("mesh vertices", count, MAX_PARTICLES)?;
        }
        if drawn.part.skin.is_some() {
            self.read_influences(&attributes, positions.count, &items, &mut drawn.part)?;
        }
        let targets = primitive.list("targets")?;
        if *target_count.get_or_insert(targets.len()) != targets.len() {
            let found = format!("{} morph targets", targets.len());
            return Err(primitive.fault(found, "as many as the first primitive of the mesh"));
        }
        if drawn.has_morphs {
            let mut read = Vec::with_capacity(targets.len());
            for target in &targets {
                self.count(PRIMITIVE_COST)?;
                self.morphed_count = self.morphed_count.saturating_add(items.len());
                self.limit("vertices of morph targets", self.morphed_count, MAX_MORPHED)?;
                read.push(match target.get("POSITION") {
                    None => None,
                    Some(json) => {
                        let moved = Accessor::read(&json, Width::Vec3, &mut self.buffers)?;
                        check_count(&json, moved.count, positions.count)?;
                        Some(moved)
                    }
                });
            }
            drawn.part.morphs.push(Morph { first: known, items, targets: read });
        }
        let count = first as usize + drawn.weld.positions.len();
        self.vertex_uvs.resize(count, VertexUv::Unset);
        let uvs = match attributes.get("TEXCOORD_0") {
            None => None,
            Some(uv) => {
                let uvs = Accessor::read(&uv, Width::Vec2, &mut self.buffers)?;
                if uvs.count != positions.count {
                    let found = format!("{} texture coordinates", uvs.count);
                    return Err(uv.fault(found, &format!("{}, as of POSITION", positions.count)));
                }
                let first_uv = self.mesh.corner_uvs.coordinates.len() as u32;
                self.limit("mesh texture coordinates", first_uv as usize + uvs.count, MAX_FACES)?;
                for k in 0..uvs.count {
                    let [u, v] = uvs.vector::<2>(k);
                    // glTF's v points down, ours up.
                    let own = [u as f32, (1.0 - v) as f32];
                    if !own.iter().all(|x| x.abs() <= MAX_COORDINATE) {
                        let expected = format!("finite numbers below {MAX_COORDINATE:e}");
                        return Err(uv.fault(format!("coordinate {k} at {u}, {v}"), &expected));
                    }
                    self.mesh.corner_uvs.coordinates.push(own);
                }
                Some(first_uv)
            }
        };
        let indices = match primitive.get("indices") {
            None => (0..positions.count as u32).collect(),
            Some(json) => {
                let indices = Accessor::read(&json, Width::Scalar, &mut self.buffers)?;
                self.count(indices.count)?;
                let mut list = Vec::with_capacity(indices.count);
                for k in 0..indices.count {
                    let [index] = indices.vector::<1>(k);
                    if index < 0.0 || index >= positions.count as f64 || index.fract() != 0.0 {
                        let expected =
                            format!("an index below {}, the vertices of POSITION", positions.count);
                        return Err(json.fault(format!("{index} in item {k}"), &expected));
                    }
                    list.push(index as u32);
                }
                list
            }
        };
        self.limit("mesh faces", self.mesh.triangles.len() + indices.len(), MAX_FACES)?;
        let count = if mode == 4 { indices.len() / 3 } else { indices.len().saturating_sub(2) };
        for k in 0..count {
            let mut corners = match mode {
                4 => [3 * k, 3 * k + 1, 3 * k + 2],
                // Every second triangle of a strip is reversed (glTF 2.0, section 3.7.2.1).
                5 => [k, k + 1 + k % 2, k + 2 - k % 2],
                _ => [k + 1, k + 2, 0],
            };
            if drawn.is_mirrored {
                corners.swap(1, 2);
            }
            let corners = corners.map(|corner| indices[corner]);
            let [a, b, c] = corners.map(|corner| vertices[corner as usize]);
            // Merged vertices leave degenerate triangles.
            if a == b || b == c || c == a {
                continue;
            }
            self.mesh.triangles.push([a, b, c]);
            let own = corners.map(|corner| uvs.map_or(CornerUvs::NONE, |first| first + corner));
            self.mesh.corner_uvs.triangles.push(own);
            for (vertex, uv) in [a, b, c].into_iter().zip(own) {
                let uv = self.mesh.corner_uvs.coordinates.get(uv as usize);
                let uv = uv.map_or(VertexUv::Mixed, |uv| VertexUv::One(*uv));
                let known = &mut self.vertex_uvs[vertex as usize];
                // One coordinate as long as all corners agree.
                *known = if [VertexUv::Unset, uv].contains(known) { uv } else { VertexUv::Mixed };
            }
        }
        Ok(())
    }

    /// Reads joints and weights of the vertices given as accessor items.
    fn read_influences(
        &mut self,
        attributes: &Json<'_>,
        count: usize,
        items: &[u32],
        part: &mut Part,
    ) -> Result<(), IoError> {
        let joint_count = part.skin.and_then(|skin| self.rig.skins[skin].as_ref());
        let joint_count = joint_count.map_or(0, |skin| skin.joints.len());
        let mut sets = Vec::new();
        while let Some(json) = attributes.get(&format!("JOINTS_{}", sets.len())) {
            self.count(PRIMITIVE_COST + count)?;
            let weights_json = attributes.field(&format!("WEIGHTS_{}", sets.len()))?;
            let joints = Accessor::read(&json, Width::Vec4, &mut self.buffers)?;
            let weights = Accessor::read(&weights_json, Width::Vec4, &mut self.buffers)?;
            check_count(&json, joints.count, count)?;
            check_count(&weights_json, weights.count, count)?;
            sets.push((json, joints, weights_json, weights));
        }
        if sets.is_empty() {
            return Err(attributes.fault("no \"JOINTS_0\"".to_owned(), "one, for the skin"));
        }
        for &item in items {
            let begin = part.influences.len();
            for (json, joints, weights_json, weights) in &sets {
                let (joints, weights) =
                    (joints.vector::<4>(item as usize), weights.vector::<4>(item as usize));
                for (joint, weight) in joints.into_iter().zip(weights) {
                    if !(weight >= 0.0 && weight.is_finite()) {
                        let found = format!("weight {weight} of vertex {item}");
                        return Err(weights_json.fault(found, "finite values, 0 or more"));
                    }
                    if !(joint >= 0.0 && joint < joint_count as f64) {
                        if weight == 0.0 {
                            continue;
                        }
                        let found = format!("joint {joint} of vertex {item}");
                        let expected = format!("joints below {joint_count}, as of its skin");
                        return Err(json.fault(found, &expected));
                    }
                    if weight as f32 > 0.0 {
                        part.influences.push((joint as u16, weight as f32));
                    }
                }
            }
            if part.influences.len() == begin {
                // Without influences the weighted mean would be 0 / 0.
                part.influences.push((0, 1.0));
            }
            let own = part.influences.len() - begin;
            self.influence_count += own;
            self.limit("joints of all vertices", self.influence_count, MAX_INFLUENCES)?;
            part.influence_ends.push(part.influences.len() as u32);
        }
        Ok(())
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

/// Rejects a list whose length differs from that of the positions.
fn check_count(list: &Json<'_>, count: usize, expected: usize) -> Result<(), IoError> {
    match count == expected {
        true => Ok(()),
        false => Err(list.fault(format!("{count} items"), &format!("{expected}, as of POSITION"))),
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

#[cfg(test)]
mod motion_tests;
#[cfg(test)]
mod tests;
