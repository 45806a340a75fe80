//! USD as text: a mesh whose points and normals have one sample per frame.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use poplin_model::CornerUvs;

use super::FrameFormat;
use super::source::faces;
use super::spool::{Recording, Spool, bounds, normals};

/// USD entry of the format table.
pub(super) const FORMAT: FrameFormat = FrameFormat {
    name: "usda",
    doc: "USD text, a mesh with a sample of points and normals per frame (Blender, Houdini, Maya, Omniverse)",
    is_sequence: false,
    create: |path, source| Spool::create(path, source, i32::MAX as u32, write),
};

fn write(recording: &Recording<'_>, out: &mut BufWriter<File>) -> io::Result<()> {
    let mesh = recording.mesh;
    write!(
        out,
        "#usda 1.0\n(\n    defaultPrim = \"cloth\"\n    startTimeCode = 0\n    endTimeCode = {}\n    timeCodesPerSecond = {rate}\n    \
         framesPerSecond = {rate}\n    metersPerUnit = 1\n    upAxis = \"Y\"\n)\n\ndef Mesh \"cloth\"\n{{\n    \
         uniform token subdivisionScheme = \"none\"\n    uniform token orientation = \"rightHanded\"\n    \
         uniform bool doubleSided = 1\n",
        recording.frame_count.saturating_sub(1),
        rate = recording.frame_rate,
    )?;
    write_list(out, "int[] faceVertexCounts", faces(mesh).map(|(corners, _)| corners.len()), "")?;
    write_list(out, "int[] faceVertexIndices", faces(mesh).flat_map(|(corners, _)| corners), "")?;
    let uv = |[u, v]: &[f32; 2]| format!("({u}, {v})");
    if !mesh.uvs.is_empty() {
        let suffix = " (\n        interpolation = \"vertex\"\n    )";
        write_list(out, "texCoord2f[] primvars:st", mesh.uvs.iter().map(uv), suffix)?;
    } else if !mesh.corner_uvs.coordinates.is_empty() {
        // Corners without a coordinate use an additional last one, at 0.
        let coordinates = &mesh.corner_uvs.coordinates;
        let suffix = " (\n        interpolation = \"faceVarying\"\n    )";
        let all = coordinates.iter().chain([&[0.0; 2]]).map(uv);
        write_list(out, "texCoord2f[] primvars:st", all, suffix)?;
        let index = |&uv: &u32| if uv == CornerUvs::NONE { coordinates.len() as u32 } else { uv };
        let indices = faces(mesh).flat_map(|(_, uvs)| uvs.unwrap_or_default()).map(index);
        write_list(out, "int[] primvars:st:indices", indices, "")?;
    }
    writeln!(out, "    float3[] extent.timeSamples = {{")?;
    recording.visit(|frame, positions| write_sample(out, frame, &bounds(positions)))?;
    writeln!(out, "    }}\n    point3f[] points.timeSamples = {{")?;
    recording.visit(|frame, positions| write_sample(out, frame, positions))?;
    writeln!(out, "    }}\n    normal3f[] normals (\n        interpolation = \"vertex\"\n    )")?;
    writeln!(out, "    normal3f[] normals.timeSamples = {{")?;
    let triangles = mesh.triangulated();
    recording
        .visit(|frame, positions| write_sample(out, frame, &normals(&triangles, positions)))?;
    writeln!(out, "    }}\n}}")
}

fn write_list(
    out: &mut BufWriter<File>,
    name: &str,
    items: impl Iterator<Item = impl std::fmt::Display>,
    suffix: &str,
) -> io::Result<()> {
    write!(out, "    {name} = [")?;
    for (k, item) in items.enumerate() {
        write!(out, "{}{item}", if k > 0 { ", " } else { "" })?;
    }
    writeln!(out, "]{suffix}")
}

fn write_sample(out: &mut BufWriter<File>, frame: u32, vectors: &[[f32; 3]]) -> io::Result<()> {
    write!(out, "        {frame}: [")?;
    for (k, &[x, y, z]) in vectors.iter().enumerate() {
        let comma = if k > 0 { ", " } else { "" };
        match [x, y, z].iter().all(|x| x.is_finite()) {
            true => write!(out, "{comma}({x}, {y}, {z})")?,
            // USD writes `nan` and `inf` in lower case.
            false => write!(out, "{comma}{}", format!("({x}, {y}, {z})").to_lowercase())?,
        }
    }
    writeln!(out, "],")
}
