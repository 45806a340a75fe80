//! Builder of glTF files for tests.

use serde_json::{Value, json};

use super::accessor::FLOAT;

/// Builder of a glTF file.
#[derive(Default)]
pub(super) struct File {
    pub(super) accessors: Vec<Value>,
    views: Vec<Value>,
    bytes: Vec<u8>,
}

impl File {
    /// Adds an accessor of these bytes.
    pub(super) fn list(&mut self, kind: &str, component: u64, count: usize, bytes: &[u8]) -> usize {
        let begin = self.bytes.len();
        self.views.push(json!({ "buffer": 0, "byteOffset": begin, "byteLength": bytes.len() }));
        self.bytes.extend(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        let view = self.views.len() - 1;
        self.accessors.push(json!({
            "bufferView": view, "componentType": component, "count": count, "type": kind,
        }));
        self.accessors.len() - 1
    }

    /// Adds an accessor of floats.
    pub(super) fn floats<const N: usize>(&mut self, items: &[[f32; N]]) -> usize {
        let kind = match N {
            1 => "SCALAR",
            3 => "VEC3",
            4 => "VEC4",
            _ => "MAT4",
        };
        let bytes: Vec<u8> = items.iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
        self.list(kind, FLOAT, items.len(), &bytes)
    }

    /// Adds an accessor of zeros with these items replaced.
    pub(super) fn sparse(&mut self, count: usize, items: &[(u16, [f32; 3])]) -> usize {
        let indices: Vec<u8> = items.iter().flat_map(|(k, _)| k.to_le_bytes()).collect();
        self.list("SCALAR", 5123, items.len(), &indices);
        let values: Vec<_> = items.iter().map(|(_, value)| *value).collect();
        self.floats(&values);
        let [indices, values] = [self.views.len() - 2, self.views.len() - 1];
        self.accessors.push(json!({
            "componentType": FLOAT, "count": count, "type": "VEC3",
            "sparse": {
                "count": items.len(),
                "indices": { "bufferView": indices, "componentType": 5123 },
                "values": { "bufferView": values },
            },
        }));
        self.accessors.len() - 1
    }

    /// Builds a GLB with one mesh of only this accessor.
    pub(super) fn glb_of(mut self, positions: Value) -> Vec<u8> {
        self.accessors.push(positions);
        self.glb(json!({
            "nodes": [{ "mesh": 0 }],
            "meshes": [{ "primitives": [{ "attributes": { "POSITION": 0 } }] }],
        }))
    }

    /// Builds a GLB from the remaining JSON.
    pub(super) fn glb(self, mut root: Value) -> Vec<u8> {
        root["asset"] = json!({ "version": "2.0" });
        root["accessors"] = json!(self.accessors);
        root["bufferViews"] = json!(self.views);
        root["buffers"] = json!([{ "byteLength": self.bytes.len() }]);
        let mut text = root.to_string();
        text.push_str(&" ".repeat(text.len().next_multiple_of(4) - text.len()));
        let words =
            |words: &[u32]| words.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<_>>();
        let (length, size) = (text.len() as u32, self.bytes.len() as u32);
        [
            b"glTF".to_vec(),
            words(&[2, 28 + length + size, length]),
            b"JSON".to_vec(),
            text.into_bytes(),
            words(&[size]),
            b"BIN\0".to_vec(),
            self.bytes,
        ]
        .concat()
    }
}
