//! Binary glTF 2.0: a mesh with a morph target for every frame after the first, and an animation of
//! the weights.
//!
//! At the time of frame `k` the weight of its target is 1 and all other weights are 0; between
//! frames, weights and so positions are linear. Normals are morphed, too. A vertex with several
//! texture coordinates is listed once for each: first the vertices of the mesh in their order, then
//! the additional ones.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};

use poplin_model::{CornerUvs, Mesh, halves_of_quad};
use serde_json::{Value, json};

use super::FrameFormat;
use super::spool::{Recording, Spool, bounds, normals, write_floats};

/// GLB entry of the format table.
pub(super) const FORMAT: FrameFormat = FrameFormat {
    name: "glb",
    doc: "binary glTF, a morph target per frame (viewers, engines, browsers, Blender); up to 2048 frames",
    is_sequence: false,
    create: |path, source| {
        // Sizes in the file are u32: positions and normals of all frames, and their weights, with
        // room for the rest.
        let vertex_count = Corners::new(&source.joined()).vertices.len() as u64;
        let fits = |frames: &u64| {
            24 * vertex_count * frames + 4 * frames * frames + 64 * vertex_count < MAX_LENGTH
        };
        let max_frames = (0..=MAX_FRAMES).rev().find(fits).unwrap_or(0);
        Spool::create(path, source, max_frames as u32, write)
    },
};

/// Maximum number of frames: graphics APIs guarantee texture arrays of 2048 layers, which viewers
/// use for targets.
const MAX_FRAMES: u64 = 2048;

/// Limit of the binary data \[bytes\], with 64 MiB left for the text.
const MAX_LENGTH: u64 = u32::MAX as u64 - (64 << 20);

const U32: u32 = 5125;
const F32: u32 = 5126;
const ARRAY_BUFFER: u32 = 34962;
const ELEMENT_ARRAY_BUFFER: u32 = 34963;

/// Triangles of a mesh with one texture coordinate per vertex.
struct Corners {
    /// Vertex of the mesh for each vertex here; first those of the mesh.
    vertices: Vec<u32>,
    /// Texture coordinates, shape `[vertices]`, or empty. `v` points down, as in glTF.
    uvs: Vec<[f32; 2]>,
    triangles: Vec<[u32; 3]>,
}

impl Corners {
    fn new(mesh: &Mesh) -> Self {
        let mut vertices: Vec<u32> = (0..mesh.positions.len() as u32).collect();
        let mut uvs = mesh.uvs.clone();
        let mut triangles = mesh.triangulated();
        let own = &mesh.corner_uvs;
        if !own.coordinates.is_empty() {
            uvs.resize(vertices.len(), [0.0; 2]);
            let mut first = vec![None; vertices.len()];
            let mut others = HashMap::new();
            let halves = own.quads.iter().flat_map(|&quad| halves_of_quad(quad));
            let triangle_uvs = own.triangles.iter().copied().chain(halves);
            for (vertex, uv) in triangles.iter_mut().flatten().zip(triangle_uvs.flatten()) {
                if uv == CornerUvs::NONE {
                    continue;
                }
                // The first coordinate of a vertex stays with it; each further one gets a copy of
                // the vertex.
                let known = *first[*vertex as usize].get_or_insert(uv);
                if known != uv {
                    let of = *vertex;
                    *vertex = *others.entry((of, uv)).or_insert_with(|| {
                        vertices.push(of);
                        uvs.push(own.coordinates[uv as usize]);
                        vertices.len() as u32 - 1
                    });
                } else {
                    uvs[*vertex as usize] = own.coordinates[uv as usize];
                }
            }
        }
        uvs.iter_mut().for_each(|uv| uv[1] = 1.0 - uv[1]);
        Self { vertices, uvs, triangles }
    }
}

/// Layout of the binary chunk: buffer views and accessors.
#[derive(Default)]
struct Layout {
    length: usize,
    views: Vec<Value>,
    accessors: Vec<Value>,
}

impl Layout {
    /// Starts a buffer view of `length` bytes, a multiple of 4.
    fn view(&mut self, length: usize, target: Option<u32>) {
        let mut view = json!({ "buffer": 0, "byteOffset": self.length, "byteLength": length });
        if let Some(target) = target {
            view["target"] = json!(target);
            if target == ARRAY_BUFFER {
                view["byteStride"] = json!(12);
            }
        }
        self.views.push(view);
        self.length += length;
    }

    /// Adds an accessor to the last view and returns its index.
    fn accessor(
        &mut self,
        component: u32,
        kind: &str,
        count: usize,
        offset: usize,
        bounds: Option<[Value; 2]>,
    ) -> usize {
        let view = self.views.len() - 1;
        let mut accessor = json!({
            "bufferView": view, "byteOffset": offset, "componentType": component, "type": kind, "count": count,
        });
        if let Some([low, high]) = bounds {
            (accessor["min"], accessor["max"]) = (low, high);
        }
        self.accessors.push(accessor);
        self.accessors.len() - 1
    }
}

/// Positions and normals of a frame, or their differences from the first frame.
#[derive(Default)]
struct Shape {
    positions: Vec<[f32; 3]>,
    normals: Vec<[f32; 3]>,
}

impl Shape {
    fn new(corners: &Corners, triangles: &[[u32; 3]], positions: &[[f32; 3]]) -> Self {
        // JSON has no NaN.
        let finite = |p: [f32; 3]| p.map(|x| if x.is_finite() { x } else { 0.0 });
        let of_mesh = normals(triangles, positions);
        let pick =
            |of: &[[f32; 3]]| corners.vertices.iter().map(|&k| finite(of[k as usize])).collect();
        Self { positions: pick(positions), normals: pick(&of_mesh) }
    }

    fn minus(mut self, first: &Self) -> Self {
        let pairs = self.positions.iter_mut().zip(&first.positions);
        let pairs = pairs.chain(self.normals.iter_mut().zip(&first.normals));
        pairs.for_each(|(own, first)| (0..3).for_each(|k| own[k] -= first[k]));
        self
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        write_floats(out, self.positions.as_flattened())?;
        write_floats(out, self.normals.as_flattened())
    }

    fn bounds(&self) -> [Value; 2] {
        bounds(&self.positions).map(|end| json!(end))
    }
}

fn write(recording: &Recording<'_>, out: &mut BufWriter<File>) -> io::Result<()> {
    let corners = Corners::new(recording.mesh);
    let triangles = recording.mesh.triangulated();
    let (vertex_count, frames) = (corners.vertices.len(), recording.frame_count as usize);
    let rest = Shape::new(&corners, &triangles, &recording.mesh.positions);
    let mut layout = Layout::default();
    layout.view(12 * triangles.len(), Some(ELEMENT_ARRAY_BUFFER));
    let indices = layout.accessor(U32, "SCALAR", 3 * triangles.len(), 0, None);
    let mut attributes = json!({});
    if !corners.uvs.is_empty() {
        layout.view(8 * vertex_count, None);
        attributes["TEXCOORD_0"] = json!(layout.accessor(F32, "VEC2", vertex_count, 0, None));
        let last = layout.views.len() - 1;
        layout.views[last]["target"] = json!(ARRAY_BUFFER);
    }
    let shapes = frames.max(1);
    layout.view(24 * vertex_count * shapes, Some(ARRAY_BUFFER));
    let mut first = rest;
    let mut targets = Vec::new();
    // A first pass for the bounds, which the text before the data needs; a second one for the data.
    recording.visit(|frame, positions| {
        let shape = Shape::new(&corners, &triangles, positions);
        let at = 24 * vertex_count * frame as usize;
        if frame == 0 {
            first = shape;
            return Ok(());
        }
        let shape = shape.minus(&first);
        let position = layout.accessor(F32, "VEC3", vertex_count, at, Some(shape.bounds()));
        let normal = layout.accessor(F32, "VEC3", vertex_count, at + 12 * vertex_count, None);
        targets.push(json!({ "POSITION": position, "NORMAL": normal }));
        Ok(())
    })?;
    attributes["POSITION"] =
        json!(layout.accessor(F32, "VEC3", vertex_count, 0, Some(first.bounds())));
    attributes["NORMAL"] =
        json!(layout.accessor(F32, "VEC3", vertex_count, 12 * vertex_count, None));
    let mut primitive = json!({ "attributes": attributes, "indices": indices, "material": 0 });
    let mut mesh = json!({ "name": "cloth" });
    let mut root = json!({
        "asset": { "version": "2.0", "generator": "poplin" },
        "scene": 0,
        "scenes": [{ "nodes": [0] }],
        "nodes": [{ "name": "cloth", "mesh": 0 }],
        "materials": [{
            "name": "cloth", "doubleSided": true, "pbrMetallicRoughness": { "metallicFactor": 0, "roughnessFactor": 0.9 },
        }],
    });
    if !targets.is_empty() {
        let names: Vec<_> = (1..frames).map(|frame| format!("frame {frame}")).collect();
        mesh["extras"] = json!({ "targetNames": names });
        mesh["weights"] = json!(vec![0; targets.len()]);
        let weights = frames * targets.len();
        layout.view(4 * (frames + weights), None);
        let bounds = [json!([0.0]), json!([recording.time(recording.frame_count - 1)])];
        let input = layout.accessor(F32, "SCALAR", frames, 0, Some(bounds));
        let output = layout.accessor(F32, "SCALAR", weights, 4 * frames, None);
        primitive["targets"] = json!(targets);
        root["animations"] = json!([{
            "name": "simulation",
            "samplers": [{ "input": input, "output": output, "interpolation": "LINEAR" }],
            "channels": [{ "sampler": 0, "target": { "node": 0, "path": "weights" } }],
        }]);
    }
    mesh["primitives"] = json!([primitive]);
    root["meshes"] = json!([mesh]);
    root["buffers"] = json!([{ "byteLength": layout.length }]);
    root["bufferViews"] = json!(layout.views);
    root["accessors"] = json!(layout.accessors);
    let mut text = root.to_string();
    // Chunks are aligned to 4 bytes.
    text.push_str(&" ".repeat(text.len().next_multiple_of(4) - text.len()));
    // 12-byte header and two 8-byte chunk headers.
    let total = 28 + text.len() + layout.length;
    let total = u32::try_from(total).map_err(|_| io::Error::other("more than 4 GiB"))?;
    for word in
        [u32::from_le_bytes(*b"glTF"), 2, total, text.len() as u32, u32::from_le_bytes(*b"JSON")]
    {
        out.write_all(&word.to_le_bytes())?;
    }
    out.write_all(text.as_bytes())?;
    out.write_all(&(layout.length as u32).to_le_bytes())?;
    out.write_all(b"BIN\0")?;
    corners
        .triangles
        .iter()
        .flatten()
        .try_for_each(|corner| out.write_all(&corner.to_le_bytes()))?;
    write_floats(out, corners.uvs.as_flattened())?;
    first.write(out)?;
    recording.visit(|frame, positions| match frame {
        0 => Ok(()),
        _ => Shape::new(&corners, &triangles, positions).minus(&first).write(out),
    })?;
    if !targets.is_empty() {
        (0..recording.frame_count)
            .try_for_each(|frame| write_floats(out, &[recording.time(frame)]))?;
        for frame in 0..frames {
            // Target k belongs to frame k + 1; frame 0 is the base mesh.
            let weight = |target: usize| if target + 1 == frame { 1.0 } else { 0.0 };
            (0..targets.len()).try_for_each(|target| write_floats(out, &[weight(target)]))?;
        }
    }
    Ok(())
}
