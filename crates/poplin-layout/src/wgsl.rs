//! Generated WGSL declarations of shared structs and constants. The files are committed for
//! readers; regenerate them with `cargo xtask generate`. A test compares them with the
//! declarations.

use std::fmt::Write as _;

use crate::{
    ConstantDescription, ConstantValue, STAGE_SETS, STAGES, StageMask, StageRow, StructDescription,
};

/// First line of a generated file.
const HEADER: &str = "// Written by `cargo xtask generate` from crates/poplin-layout: change the declaration there.\n";

/// Generated shader files, as `folder/stem`, with their text.
pub fn generated_shaders() -> [(&'static str, String); 5] {
    [
        ("state/types", HEADER.to_owned() + &structs(crate::SOLVER_STRUCTS)),
        ("state/constants", HEADER.to_owned() + &constants(crate::CONSTANTS) + &stage_bits()),
        ("contact/types", HEADER.to_owned() + &structs(crate::CONTACT_STRUCTS)),
        ("contact/triangle_types", HEADER.to_owned() + &structs(crate::TRIANGLE_STRUCTS)),
        ("render/types", HEADER.to_owned() + &structs(crate::RENDER_STRUCTS)),
    ]
}

/// Writes a Rust doc comment as a WGSL one, without link markup.
fn push_doc(text: &mut String, indent: &str, doc: &[&str]) {
    for line in doc {
        let line =
            line.replace("[`", "`").replace("`]", "`").replace("\\[", "[").replace("\\]", "]");
        let _ = writeln!(text, "{indent}///{line}");
    }
}

fn structs(descriptions: &[StructDescription]) -> String {
    let mut text = String::new();
    for description in descriptions {
        text.push('\n');
        push_doc(&mut text, "", description.doc);
        let _ = writeln!(text, "struct {} {{", description.name);
        for field in description.fields {
            push_doc(&mut text, "    ", field.doc);
            let _ = writeln!(text, "    {}: {},", field.name, field.wgsl_type);
        }
        text.push_str("}\n");
    }
    text
}

fn constants(descriptions: &[ConstantDescription]) -> String {
    let mut text = String::new();
    for description in descriptions {
        text.push('\n');
        push_doc(&mut text, "", description.doc);
        let name = description.name;
        let _ = match description.value {
            ConstantValue::U32(u32::MAX) => writeln!(text, "const {name}: u32 = 0xffffffffu;"),
            ConstantValue::U32(value) => writeln!(text, "const {name}: u32 = {value}u;"),
            // Shortest decimal that parses to the same float.
            ConstantValue::F32(value) if value.abs() > 1e6 => {
                writeln!(text, "const {name}: f32 = {value:e};")
            }
            ConstantValue::F32(value) => writeln!(text, "const {name}: f32 = {value:?};"),
        };
    }
    text
}

fn stage_bits() -> String {
    let mut text = String::new();
    for StageRow { stage, name, .. } in STAGES {
        let (constant, bits) = (name.to_uppercase(), StageMask::only(*stage).0);
        let _ = writeln!(
            text,
            "\n/// Bit of the stage `{name}` in `STAGES`.\nconst STAGE_{constant}: u32 = {bits:#x}u;"
        );
    }
    for (name, doc, mask) in STAGE_SETS {
        let bits = mask.0;
        let _ = writeln!(text, "\n/// Bits of {doc}.\nconst {name}: u32 = {bits:#x}u;");
    }
    text
}
