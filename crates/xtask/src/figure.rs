//! Writes the figure that walks in `scenes/meshes/walk.toml`: a skinned closed surface around
//! bones, as GLB.

use std::collections::BTreeMap;

use serde_json::json;

use crate::run::{root, say};

/// Path of the figure.
const PATH: &str = "crates/poplin-run/scenes/meshes/figure.glb";

/// Cell size of the grid on which the surface is extracted \[m\].
const CELL: f64 = 0.028;

/// Distance over which limbs blend into one another where they meet \[m\].
const MELT: f64 = 0.035;

/// Distance over which skin weights fall off \[m\].
const BLEND: f64 = 0.03;

/// Animation keys of one walk cycle, which is a step of each leg and takes 1 s.
const KEYS: u32 = 16;

type Vector = [f64; 3];

/// Bone: parent, both ends of its limb (the first is the joint) and the radii there \[m\].
struct Bone {
    name: &'static str,
    parent: Option<usize>,
    ends: [Vector; 2],
    radii: [f64; 2],
}

/// Bones of the figure, which faces +z with its arms slightly away from its sides.
const BONES: [Bone; 12] = [
    bone("hips", None, [0.0, 0.93, 0.0], [0.0, 1.05, 0.0], [0.115, 0.1]),
    bone("chest", Some(0), [0.0, 1.1, 0.0], [0.0, 1.36, 0.0], [0.1, 0.12]),
    bone("neck", Some(1), [0.0, 1.42, 0.0], [0.0, 1.56, 0.01], [0.05, 0.05]),
    bone("head", Some(2), [0.0, 1.58, 0.01], [0.0, 1.68, 0.02], [0.075, 0.09]),
    bone("left thigh", Some(0), [0.085, 0.9, 0.0], [0.095, 0.5, 0.0], [0.085, 0.055]),
    bone("left shin", Some(4), [0.095, 0.5, 0.0], [0.1, 0.08, -0.01], [0.052, 0.038]),
    bone("right thigh", Some(0), [-0.085, 0.9, 0.0], [-0.095, 0.5, 0.0], [0.085, 0.055]),
    bone("right shin", Some(6), [-0.095, 0.5, 0.0], [-0.1, 0.08, -0.01], [0.052, 0.038]),
    bone("left arm", Some(1), [0.16, 1.4, 0.0], [0.33, 1.18, 0.0], [0.055, 0.04]),
    bone("left forearm", Some(8), [0.33, 1.18, 0.0], [0.46, 0.98, 0.04], [0.038, 0.032]),
    bone("right arm", Some(1), [-0.16, 1.4, 0.0], [-0.33, 1.18, 0.0], [0.055, 0.04]),
    bone("right forearm", Some(10), [-0.33, 1.18, 0.0], [-0.46, 0.98, 0.04], [0.038, 0.032]),
];

/// Returns a bone.
const fn bone(
    name: &'static str,
    parent: Option<usize>,
    from: Vector,
    to: Vector,
    radii: [f64; 2],
) -> Bone {
    Bone { name, parent, ends: [from, to], radii }
}

fn minus(a: Vector, b: Vector) -> Vector {
    std::array::from_fn(|k| a[k] - b[k])
}

fn dot(a: Vector, b: Vector) -> f64 {
    (0..3).map(|k| a[k] * b[k]).sum()
}

impl Bone {
    /// Returns the signed distance of a point from the surface of the limb, a round cone \[m\].
    fn distance(&self, point: Vector) -> f64 {
        let [from, to] = self.ends;
        let (along, out) = (minus(to, from), minus(point, from));
        // t = (d . v) / |d|^2, clamped to the segment; the radius is interpolated by t.
        let t = (dot(along, out) / dot(along, along)).clamp(0.0, 1.0);
        let rest: Vector = std::array::from_fn(|k| out[k] - t * along[k]);
        dot(rest, rest).sqrt() - (self.radii[0] + t * (self.radii[1] - self.radii[0]))
    }
}

/// Returns the signed distance of a point from the surface of the figure, a smooth union of all
/// limbs and two feet \[m\].
fn distance(point: Vector) -> f64 {
    let feet = [0.1_f64, -0.1].map(|x| Bone {
        name: "",
        parent: None,
        ends: [[x, 0.05, -0.02], [x, 0.045, 0.12]],
        radii: [0.042, 0.035],
    });
    // Polynomial smooth minimum: min(a, b) - h^2 k / 4 with h = max(k - |a - b|, 0) / k.
    let melt = |a: f64, b: f64| {
        let h = (MELT - (a - b).abs()).max(0.0) / MELT;
        a.min(b) - h * h * MELT / 4.0
    };
    BONES.iter().chain(&feet).map(|bone| bone.distance(point)).fold(f64::INFINITY, melt)
}

/// Extracts the surface by surface nets (Gibson 1998): a vertex per cell that the surface crosses,
/// a quad per crossed grid edge, cut into triangles that face outwards.
fn surface() -> (Vec<Vector>, Vec<[u16; 3]>) {
    let low = [-0.6, -0.06, -0.3];
    let counts = [44, 66, 22];
    let at =
        |cell: [i32; 3]| -> Vector { std::array::from_fn(|k| low[k] + CELL * f64::from(cell[k])) };
    let mut field = BTreeMap::new();
    for x in 0..=counts[0] {
        for y in 0..=counts[1] {
            for z in 0..=counts[2] {
                field.insert([x, y, z], distance(at([x, y, z])));
            }
        }
    }
    let corner = |cell: [i32; 3], k: usize| -> [i32; 3] {
        std::array::from_fn(|axis| cell[axis] + (k >> axis & 1) as i32)
    };
    let (mut vertices, mut of_cell) = (Vec::new(), BTreeMap::new());
    for &cell in field.keys() {
        if (0..3).any(|k| cell[k] == counts[k]) {
            continue;
        }
        // The vertex is the mean of the points where edges of the cell cross the surface.
        let (mut sum, mut count) = ([0.0; 3], 0.0);
        for a in 0..8 {
            for axis in 0..3 {
                let b = a | 1 << axis;
                if a == b {
                    continue;
                }
                let [from, to] = [a, b].map(|k| corner(cell, k));
                let [f, g] = [field[&from], field[&to]];
                if (f < 0.0) != (g < 0.0) {
                    // Linear interpolation: f + t (g - f) = 0.
                    let (t, [p, q]) = (f / (f - g), [at(from), at(to)]);
                    (0..3).for_each(|k| sum[k] += p[k] + t * (q[k] - p[k]));
                    count += 1.0;
                }
            }
        }
        if count > 0.0 {
            of_cell.insert(cell, vertices.len() as u16);
            vertices.push(sum.map(|x| x / count));
        }
    }
    let mut triangles = Vec::new();
    for (&cell, &f) in &field {
        for axis in 0..3 {
            let mut next = cell;
            next[axis] += 1;
            let Some(&g) = field.get(&next) else { continue };
            if (f < 0.0) == (g < 0.0) {
                continue;
            }
            // The four cells around the crossed edge, in order around `axis`.
            let [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
            let around = [[0, 0], [1, 0], [1, 1], [0, 1]].map(|[a, b]| {
                let mut other = cell;
                other[u] -= a;
                other[v] -= b;
                of_cell[&other]
            });
            let [a, b, c, d] =
                if f < 0.0 { around } else { [around[3], around[2], around[1], around[0]] };
            triangles.extend([[a, b, c], [a, c, d]]);
        }
    }
    (vertices, triangles)
}

/// Returns the four bones with the largest skin weights, and the weights in 255ths, which sum to
/// 255.
fn influences(point: Vector) -> ([u8; 4], [u8; 4]) {
    let nearest = BONES.iter().map(|bone| bone.distance(point)).fold(f64::INFINITY, f64::min);
    let mut all: Vec<(f64, u8)> = (0..)
        .zip(&BONES)
        .map(|(k, bone)| ((-((bone.distance(point) - nearest) / BLEND).powi(2)).exp(), k))
        .collect();
    // weight = exp(-((d - d_min) / BLEND)^2)
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let sum: f64 = all[..4].iter().map(|(weight, _)| weight).sum();
    let mut weights: [u8; 4] = std::array::from_fn(|k| (255.0 * all[k].0 / sum).floor() as u8);
    // The largest weight takes the rounding.
    weights[0] += 255 - weights.iter().sum::<u8>();
    // glTF requires joint 0 where the weight is 0.
    let joints = std::array::from_fn(|k| if weights[k] > 0 { all[k].1 } else { 0 });
    (joints, weights)
}

/// Returns the quaternion (x, y, z, w) of a rotation about x, then about z \[degrees\].
fn quaternion(about_x: f64, about_z: f64) -> [f32; 4] {
    let [(sx, cx), (sz, cz)] = [about_x, about_z].map(|angle| (0.5 * angle.to_radians()).sin_cos());
    [cz * sx, sz * sx, sz * cx, cz * cx].map(|x| x as f32)
}

/// Returns the rotation of a bone at a time \[s\] of the walk cycle; `None` for bones that rest.
fn walk(name: &str, time: f64) -> Option<[f32; 4]> {
    let phase = std::f64::consts::TAU * time;
    let swing = |shift: f64| (phase + shift).sin();
    let (left, right) = (0.0, std::f64::consts::PI);
    // The knee bends while its leg swings forward.
    let knee = |shift: f64| 8.0 + 42.0 * (phase + shift + 0.4).cos().max(0.0).powi(2);
    Some(match name {
        "chest" => quaternion(3.0, 2.0 * swing(left)),
        "left thigh" => quaternion(-4.0 - 28.0 * swing(left), 0.0),
        "right thigh" => quaternion(-4.0 - 28.0 * swing(right), 0.0),
        "left shin" => quaternion(knee(left), 0.0),
        "right shin" => quaternion(knee(right), 0.0),
        "left arm" => quaternion(26.0 * swing(left), -22.0),
        "right arm" => quaternion(26.0 * swing(right), 22.0),
        "left forearm" => quaternion(-22.0 + 10.0 * swing(left), 0.0),
        "right forearm" => quaternion(-22.0 + 10.0 * swing(right), 0.0),
        _ => return None,
    })
}

/// Binary chunk of a GLB with its buffer views and accessors.
#[derive(Default)]
struct Binary {
    bytes: Vec<u8>,
    views: Vec<serde_json::Value>,
    accessors: Vec<serde_json::Value>,
}

impl Binary {
    /// Appends bytes, padded to 4, with a view and an accessor; returns the index of the accessor.
    fn add(&mut self, kind: &str, component: u32, count: usize, bytes: Vec<u8>) -> usize {
        let (begin, length) = (self.bytes.len(), bytes.len());
        self.bytes.extend(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.views.push(json!({ "buffer": 0, "byteOffset": begin, "byteLength": length }));
        let view = self.views.len() - 1;
        self.accessors.push(json!({
            "bufferView": view, "componentType": component, "count": count, "type": kind,
        }));
        self.accessors.len() - 1
    }

    /// Appends floats; returns the index of their accessor.
    fn floats<const N: usize>(&mut self, kind: &str, items: &[[f32; N]]) -> usize {
        let bytes = items.iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
        self.add(kind, 5126, items.len(), bytes)
    }
}

/// Writes the figure with its walk animation.
pub(crate) fn write() -> Result<(), String> {
    let (vertices, triangles) = surface();
    let mut binary = Binary::default();
    let floats: Vec<[f32; 3]> = vertices.iter().map(|p| p.map(|x| x as f32)).collect();
    let position = binary.floats("VEC3", &floats);
    let least = |k: usize| floats.iter().map(|p| p[k]).fold(f32::INFINITY, f32::min);
    let most = |k: usize| floats.iter().map(|p| p[k]).fold(f32::NEG_INFINITY, f32::max);
    binary.accessors[position]["min"] = json!([0, 1, 2].map(least));
    binary.accessors[position]["max"] = json!([0, 1, 2].map(most));
    let (joints, weights): (Vec<_>, Vec<_>) = vertices.iter().map(|&p| influences(p)).unzip();
    let joints = binary.add("VEC4", 5121, vertices.len(), joints.concat());
    let weights = binary.add("VEC4", 5121, vertices.len(), weights.concat());
    binary.accessors[weights]["normalized"] = json!(true);
    let indices = triangles.iter().flatten().flat_map(|k| k.to_le_bytes()).collect();
    let indices = binary.add("SCALAR", 5123, 3 * triangles.len(), indices);
    let binds: Vec<[f32; 16]> = BONES
        .iter()
        .map(|bone| {
            let [x, y, z] = bone.ends[0].map(|x| -x as f32);
            [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, x, y, z, 1.0]
        })
        .collect();
    let binds = binary.floats("MAT4", &binds);
    let times: Vec<[f32; 1]> = (0..=KEYS).map(|k| [k as f32 / KEYS as f32]).collect();
    let input = binary.floats("SCALAR", &times);
    (binary.accessors[input]["min"], binary.accessors[input]["max"]) = (json!([0.0]), json!([1.0]));
    let (mut samplers, mut channels, mut nodes) = (Vec::new(), Vec::new(), Vec::new());
    for (k, bone) in BONES.iter().enumerate() {
        let base = bone.parent.map_or([0.0; 3], |parent| BONES[parent].ends[0]);
        let own = minus(bone.ends[0], base).map(|x| x as f32);
        let mut node = json!({ "name": bone.name, "translation": own });
        let children: Vec<_> =
            (0..BONES.len()).filter(|&child| BONES[child].parent == Some(k)).collect();
        if !children.is_empty() {
            node["children"] = json!(children);
        }
        nodes.push(node);
        let keys: Option<Vec<_>> =
            (0..=KEYS).map(|key| walk(bone.name, f64::from(key) / f64::from(KEYS))).collect();
        if let Some(keys) = keys {
            let output = binary.floats("VEC4", &keys);
            samplers.push(json!({ "input": input, "output": output }));
            let target = json!({ "node": k, "path": "rotation" });
            channels.push(json!({ "sampler": samplers.len() - 1, "target": target }));
        }
    }
    nodes.push(json!({ "name": "figure", "mesh": 0, "skin": 0 }));
    let attributes = json!({ "POSITION": position, "JOINTS_0": joints, "WEIGHTS_0": weights });
    let text = json!({
        "asset": { "version": "2.0", "generator": "cargo xtask figure" },
        "scene": 0,
        "scenes": [{ "nodes": [0, BONES.len()] }],
        "nodes": nodes,
        "meshes": [{ "primitives": [{ "attributes": attributes, "indices": indices }] }],
        "skins": [{ "joints": (0..BONES.len()).collect::<Vec<_>>(), "inverseBindMatrices": binds, "skeleton": 0 }],
        "animations": [{ "name": "Walk", "samplers": samplers, "channels": channels }],
        "accessors": binary.accessors,
        "bufferViews": binary.views,
        "buffers": [{ "byteLength": binary.bytes.len() }],
    });
    // GLB: header, then a JSON chunk padded with spaces and a binary chunk, each with length and
    // type.
    let mut text = text.to_string();
    text.push_str(&" ".repeat(text.len().next_multiple_of(4) - text.len()));
    let (length, size) = (text.len() as u32, binary.bytes.len() as u32);
    let mut file = b"glTF".to_vec();
    [2, 28 + length + size, length].iter().for_each(|it: &u32| file.extend(it.to_le_bytes()));
    file.extend(b"JSON");
    file.extend(text.as_bytes());
    file.extend(size.to_le_bytes());
    file.extend(b"BIN\0");
    file.extend(binary.bytes);
    let path = root().join(PATH);
    std::fs::write(&path, &file).map_err(|error| format!("{}: {error}", path.display()))?;
    let (vertices, triangles) = (vertices.len(), triangles.len());
    say(&format!(
        "wrote {PATH}: {vertices} vertices, {triangles} triangles, {} bytes\n",
        file.len()
    ));
    Ok(())
}
