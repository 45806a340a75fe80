//! Generated WGSL: shared structs and constants, and the kernel of the schedule. The files are
//! committed for readers; `cargo xtask generate` writes them again, and a test compares them.

use std::fmt::Write as _;

use crate::{
    ConstantDescription, ConstantValue, STAGE_SETS, STAGES, StageMask, StageRow, StructDescription,
    kernel_text,
};

/// First line of a generated file.
const HEADER: &str = "// Written by `cargo xtask generate` from crates/poplin-layout: change the declaration there.\n";

/// Files of the constants with a name prefix; the file of all other constants imports them.
const CONSTANT_FILES: [(&str, &str); 2] =
    [("contact/triangle_constants", "TRIANGLE_"), ("state/solve_constants", "SOLVE_")];

/// File of the stage bits, which the file of constants imports.
const STAGE_FILE: &str = "state/stage_bits";

/// Files of some structs of the solver, which the file of all others imports.
const STRUCT_FILES: [(&str, &[&str]); 2] = [
    ("state/collider_types", &["ColliderParameters", "SelfCollisionParameters"]),
    ("state/iteration_types", &["IterationConstants", "PhaseConstants", "ImplicitConstants"]),
];

/// Returns the generated shader files as `folder/stem`, with their text.
pub fn generated_shaders() -> Vec<(&'static str, String)> {
    let file = |imports: &[&str], text: String| {
        let imports = imports.iter().map(|import| format!("#import {import}\n"));
        HEADER.to_owned() + &imports.collect::<String>() + &text
    };
    let of_prefix = |prefix: &str| {
        crate::CONSTANTS.iter().copied().filter(|it| it.name.starts_with(prefix)).collect()
    };
    let is_other = |it: &ConstantDescription| {
        CONSTANT_FILES.iter().all(|(_, prefix)| !it.name.starts_with(prefix))
    };
    let others: Vec<_> = crate::CONSTANTS.iter().copied().filter(is_other).collect();
    let constant_imports = [CONSTANT_FILES[0].0, CONSTANT_FILES[1].0, STAGE_FILE];
    let struct_imports = STRUCT_FILES.map(|(name, _)| name);
    let file_of = |it: &StructDescription| {
        STRUCT_FILES.iter().find(|(_, names)| names.contains(&it.name)).map(|(name, _)| *name)
    };
    let in_file = |name: Option<&str>| -> Vec<_> {
        crate::SOLVER_STRUCTS.iter().copied().filter(|it| file_of(it) == name).collect()
    };
    let mut files = vec![
        ("state/constants", file(&constant_imports, constants(&others))),
        (STAGE_FILE, file(&[], stage_bits())),
        ("kernel/simulate_cloth", file(&[], kernel_text::simulate_cloth())),
        ("state/types", file(&struct_imports, structs(&in_file(None)))),
        ("contact/types", file(&[], structs(crate::CONTACT_STRUCTS))),
        ("contact/triangle_types", file(&[], structs(crate::TRIANGLE_STRUCTS))),
        ("render/types", file(&[], structs(crate::RENDER_STRUCTS))),
    ];
    for (name, prefix) in CONSTANT_FILES {
        let group: Vec<_> = of_prefix(prefix);
        files.push((name, file(&[], constants(&group))));
    }
    for name in struct_imports {
        files.push((name, file(&[], structs(&in_file(Some(name))))));
    }
    files
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
        let mask = StageMask::only(*stage);
        let (constant, bits) = (mask.constant(), mask.0);
        let _ = writeln!(
            text,
            "\n/// Bit of the stage `{name}` in `STAGES`.\nconst {constant}: u32 = {bits:#x}u;"
        );
    }
    for (name, doc, mask) in STAGE_SETS {
        let bits = mask.0;
        let _ = writeln!(text, "\n/// Bits of {doc}.\nconst {name}: u32 = {bits:#x}u;");
    }
    text
}
