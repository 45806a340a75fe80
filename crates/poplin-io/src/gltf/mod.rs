//! glTF 2.0 meshes in: `.gltf` with its buffers and `.glb`.
//!
//! The triangles of all meshes of the scene, each where its node puts it. Exporters list a vertex once for each normal and texture
//! coordinate: within a node, those at exactly the same position become one, in the order of their first use, and coordinates that
//! differ along a seam become those of corners. Skins, morph targets and animations are not read: a skinned mesh is in its bind
//! pose.
//!
//! Read here and not with the `gltf` crate, so that damaged files end in an error with its path, and never in a panic.

mod accessor;
mod buffers;
mod json;

use std::path::{Path, PathBuf};

use glam::{DMat4, DQuat, DVec3};
use poplin_model::{CornerUvs, MAX_COORDINATE, MAX_PARTICLES, Mesh};
use serde_json::Value;

use self::accessor::{Accessor, Width};
use self::buffers::{Buffers, Container};
use self::json::Json;
use crate::IoError;
use crate::mesh_file::{MeshFormat, Parsed, TwistedFaces, read_bytes};
use crate::obj::MAX_FACES;
use crate::weld::Weld;

/// glTF in the table of formats.
pub(crate) const GLTF: MeshFormat = MeshFormat {
    extension: "gltf",
    doc: "glTF 2.0: triangles of all meshes of the scene, texture coordinates; no skins or animations",
    read: |path| parse(read_bytes(path)?, path),
};

/// Binary glTF in the table of formats.
pub(crate) const GLB: MeshFormat =
    MeshFormat { extension: "glb", doc: "glTF 2.0 in one binary file: the same", ..GLTF };

/// Vertices that take as long to read as a primitive of none.
const PRIMITIVE_COST: usize = 1000;

/// Extensions that change nothing of what is read, or are read.
const KNOWN_EXTENSIONS: [&str; 5] =
    ["KHR_materials_", "KHR_texture_", "KHR_lights_", "EXT_texture_", "KHR_mesh_quantization"];

/// Reads a file; buffers of their own count from the folder of `path`.
pub(crate) fn parse(bytes: Vec<u8>, path: &Path) -> Result<Parsed, IoError> {
    let Container { text, binary } = Container::open(&bytes, path)?;
    let value: Value = json::parse(text, path)?;
    let root = Json::root(&value, path);
    check_asset(&root)?;
    let mut reader = Reader {
        path,
        root: root.clone(),
        buffers: Buffers::new(root, binary, path),
        mesh: Mesh::default(),
        positions: Vec::new(),
        corners_read: 0,
        vertex_uvs: Vec::new(),
    };
    reader.read_scene()?;
    reader.finish()
}

/// The files beside a glTF file that hold its buffers; none of a file that is none or is damaged.
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

struct Reader<'a> {
    path: &'a Path,
    root: Json<'a>,
    buffers: Buffers<'a>,
    mesh: Mesh,
    positions: Vec<DVec3>,
    /// Vertices and corners read so far, those that were welded too.
    corners_read: usize,
    /// Texture coordinate of each vertex that a triangle has used.
    vertex_uvs: Vec<VertexUv>,
}

/// What is known of a vertex.
#[derive(Debug, Clone, Copy, PartialEq)]
enum VertexUv {
    Unset,
    One([f32; 2]),
    Mixed,
}

impl Reader<'_> {
    fn read_scene(&mut self) -> Result<(), IoError> {
        let root = self.root.clone();
        let nodes = root.list("nodes")?;
        let mut is_visited = vec![false; nodes.len()];
        let scenes = root.list("scenes")?;
        let mut waiting: Vec<(Json<'_>, DMat4)> = Vec::new();
        if scenes.is_empty() {
            let mut is_child = vec![false; nodes.len()];
            for node in &nodes {
                for child in node.list("children")? {
                    is_child[child.index(nodes.len(), "nodes")?] = true;
                }
            }
            let roots =
                nodes.iter().zip(is_child).enumerate().filter(|(_, (_, is_child))| !is_child);
            for (k, (node, _)) in roots {
                is_visited[k] = true;
                waiting.push((node.clone(), DMat4::IDENTITY));
            }
        } else {
            let scene =
                root.get("scene").map_or(Ok(0), |scene| scene.index(scenes.len(), "scenes"))?;
            for node in scenes[scene].list("nodes")? {
                let index = visit(&node, &mut is_visited)?;
                waiting.push((nodes[index].clone(), DMat4::IDENTITY));
            }
        }
        waiting.reverse();
        let meshes = root.list("meshes")?;
        while let Some((node, parent)) = waiting.pop() {
            let matrix = parent * local_matrix(&node)?;
            if let Some(mesh) = node.get("mesh") {
                let mesh = &meshes[mesh.index(meshes.len(), "meshes")?];
                // The joints alone move a skinned mesh.
                let matrix = if node.get("skin").is_some() { DMat4::IDENTITY } else { matrix };
                self.read_mesh(mesh, matrix)?;
            }
            for child in node.list("children")?.iter().rev() {
                let index = visit(child, &mut is_visited)?;
                waiting.push((nodes[index].clone(), matrix));
            }
        }
        Ok(())
    }

    fn read_mesh(&mut self, mesh: &Json<'_>, matrix: DMat4) -> Result<(), IoError> {
        let first = self.positions.len() as u32;
        let mut weld = Weld::default();
        for primitive in mesh.list("primitives")? {
            self.count(PRIMITIVE_COST)?;
            let mode = primitive.get("mode").map_or(Ok(4), |mode| mode.integer())?;
            // 0 to 3 are points and lines.
            if (4..=6).contains(&mode) {
                self.read_primitive(&primitive, mode, matrix, &mut weld, first)?;
            }
        }
        self.positions.append(&mut weld.positions);
        Ok(())
    }

    fn read_primitive(
        &mut self,
        primitive: &Json<'_>,
        mode: u64,
        matrix: DMat4,
        weld: &mut Weld,
        first: u32,
    ) -> Result<(), IoError> {
        let attributes = primitive.field("attributes")?;
        let Some(position) = attributes.get("POSITION") else { return Ok(()) };
        let positions = Accessor::read(&position, Width::Vec3, &mut self.buffers)?;
        self.count(positions.count)?;
        let mut vertices = Vec::with_capacity(positions.count);
        for k in 0..positions.count {
            let moved = matrix.transform_point3(positions.vector::<3>(k).into());
            if moved.is_nan() || moved.abs().max_element() > f64::from(MAX_COORDINATE) {
                let expected = format!("finite numbers below {MAX_COORDINATE:e} in the scene");
                return Err(position.fault(format!("vertex {k} at {moved}"), &expected));
            }
            vertices.push(first + weld.vertex(moved));
            self.limit("mesh vertices", first as usize + weld.positions.len(), MAX_PARTICLES)?;
        }
        self.vertex_uvs.resize(first as usize + weld.positions.len(), VertexUv::Unset);
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
        let is_mirrored = matrix.determinant() < 0.0;
        let count = if mode == 4 { indices.len() / 3 } else { indices.len().saturating_sub(2) };
        for k in 0..count {
            let mut corners = match mode {
                4 => [3 * k, 3 * k + 1, 3 * k + 2],
                5 => [k, k + 1 + k % 2, k + 2 - k % 2],
                _ => [k + 1, k + 2, 0],
            };
            if is_mirrored {
                corners.swap(1, 2);
            }
            let corners = corners.map(|corner| indices[corner]);
            let [a, b, c] = corners.map(|corner| vertices[corner as usize]);
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
                *known = if [VertexUv::Unset, uv].contains(known) { uv } else { VertexUv::Mixed };
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Parsed, IoError> {
        let (path, mut mesh) = (self.path.to_path_buf(), self.mesh);
        if mesh.triangles.is_empty() {
            return Err(IoError::Empty { path, what: "triangles" });
        }
        mesh.positions = self.positions.iter().map(|p| p.as_vec3().to_array()).collect();
        let one = |uv: &VertexUv| match uv {
            VertexUv::One(uv) => Some(*uv),
            // No triangle uses it.
            VertexUv::Unset => Some([0.0; 2]),
            VertexUv::Mixed => None,
        };
        mesh.uvs = self.vertex_uvs.iter().map(one).collect::<Option<_>>().unwrap_or_default();
        if !mesh.uvs.is_empty() || mesh.corner_uvs.coordinates.is_empty() {
            mesh.corner_uvs = CornerUvs::default();
        }
        mesh.validate().map_err(|source| IoError::Mesh { path, source })?;
        Ok(Parsed { mesh, positions: self.positions, twisted: TwistedFaces::default() })
    }

    /// Notes that so many vertices or corners are read: a small file may name the same ones very often.
    fn count(&mut self, more: usize) -> Result<(), IoError> {
        self.corners_read = self.corners_read.saturating_add(more);
        self.limit("vertices and corners of all nodes", self.corners_read, 4 * MAX_FACES)
    }

    fn limit(&self, what: &'static str, count: usize, limit: usize) -> Result<(), IoError> {
        match count > limit {
            true => Err(IoError::TooMany { path: self.path.to_path_buf(), what, count, limit }),
            false => Ok(()),
        }
    }
}

/// The index of a node that nothing else has led to.
fn visit(node: &Json<'_>, is_visited: &mut [bool]) -> Result<usize, IoError> {
    let index = node.index(is_visited.len(), "nodes")?;
    match std::mem::replace(&mut is_visited[index], true) {
        true => Err(node.fault(format!("node {index} again"), "each node below one parent")),
        false => Ok(index),
    }
}

fn local_matrix(node: &Json<'_>) -> Result<DMat4, IoError> {
    if let Some(matrix) = node.get("matrix") {
        return Ok(DMat4::from_cols_array(&matrix.numbers::<16>()?));
    }
    let scale = node.get("scale").map_or(Ok([1.0; 3]), |it| it.numbers())?;
    let rotation = node.get("rotation").map_or(Ok([0.0, 0.0, 0.0, 1.0]), |it| it.numbers())?;
    let translation = node.get("translation").map_or(Ok([0.0; 3]), |it| it.numbers())?;
    let length = rotation.iter().map(|x: &f64| x * x).sum::<f64>().sqrt();
    let rotation = match length > 1e-6 && length < 1e6 {
        true => DQuat::from_array(rotation.map(|x| x / length)),
        false => DQuat::IDENTITY,
    };
    Ok(DMat4::from_scale_rotation_translation(scale.into(), rotation, translation.into()))
}

#[cfg(test)]
mod tests;
