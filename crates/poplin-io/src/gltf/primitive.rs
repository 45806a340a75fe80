//! Primitives of a mesh: vertices, morph targets, texture coordinates, triangles and joints.

use poplin_model::{CornerUvs, MAX_COORDINATE, MAX_PARTICLES};

use super::accessor::{Accessor, Width};
use super::json::Json;
use super::rig::{Morph, Part};
use super::{
    Drawn, MAX_INFLUENCES, MAX_MORPHED, PRIMITIVE_COST, Reader, UNPACKED, VertexUv, extension,
};
use crate::IoError;
use crate::obj::MAX_FACES;

impl Reader<'_> {
    pub(super) fn read_primitive(
        &mut self,
        primitive: &Json<'_>,
        mode: u64,
        drawn: &mut Drawn,
        target_count: &mut Option<usize>,
    ) -> Result<(), IoError> {
        let first = self.vertex_count as u32;
        let attributes = primitive.field("attributes")?;
        let Some(position) = attributes.get("POSITION") else { return Ok(()) };
        if let Some(packed) = extension(primitive, "KHR_draco_mesh_compression") {
            let own = self.buffers.item("accessors", &position)?;
            if own.get("bufferView").is_none() {
                return Err(packed.fault("compressed vertices".to_owned(), UNPACKED));
            }
        }
        let positions = Accessor::read(&position, Width::Vec3, &mut self.buffers)?;
        self.count(positions.count)?;
        let known = drawn.weld.positions.len();
        let mut vertices = Vec::with_capacity(positions.count);
        // Accessor item of every new vertex.
        let mut items: Vec<u32> = Vec::new();
        for k in 0..positions.count {
            let own = positions.vector::<3>(k).into();
            let vertex = drawn.weld.vertex(own);
            // New in the weld: the first item at its position represents the vertex.
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
                        // Exporters fill unused joints with arbitrary indices.
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
}

/// Rejects a list whose length differs from that of the positions.
fn check_count(list: &Json<'_>, count: usize, expected: usize) -> Result<(), IoError> {
    match count == expected {
        true => Ok(()),
        false => Err(list.fault(format!("{count} items"), &format!("{expected}, as of POSITION"))),
    }
}
