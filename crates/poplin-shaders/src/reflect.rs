//! Parsing, validation and reflection with naga.

use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{AddressSpace, Module, TypeInner};

use crate::{Composed, OverrideValues, ShaderError};

/// Size and members of a WGSL struct in the layout of naga.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StructLayout {
    /// Name of the struct.
    pub name: String,
    /// Size of the struct \[bytes\].
    pub size: u32,
    /// Member names and offsets \[bytes\], in order.
    pub members: Vec<(String, u32)>,
}

/// Parses composed WGSL, keeping doc comments.
///
/// # Errors
/// [`ShaderError::Invalid`] with the file and line that the error falls in.
pub fn parse(composed: &Composed) -> Result<Module, ShaderError> {
    let options = naga::front::wgsl::Options {
        parse_doc_comments: true,
        ..naga::front::wgsl::Options::new()
    };
    naga::front::wgsl::Frontend::new_with_options(options).parse(&composed.text).map_err(|error| {
        let line =
            error.location(&composed.text).map_or(0, |location| location.line_number as usize);
        let (file, line) = composed.origin(line).unwrap_or(("?", 0));
        ShaderError::Invalid { file: file.to_owned(), line, message: error.message().to_owned() }
    })
}

/// Validates a module with every check of naga and no optional capability.
///
/// # Errors
/// [`ShaderError::Invalid`] with the file and line that the error falls in.
pub fn validate(composed: &Composed, module: &Module) -> Result<ModuleInfo, ShaderError> {
    Validator::new(ValidationFlags::all(), Capabilities::empty()).validate(module).map_err(
        |error| {
            let line = error
                .spans()
                .next()
                .map_or(0, |(span, _)| span.location(&composed.text).line_number as usize);
            let (file, line) = composed.origin(line).unwrap_or(("?", 0));
            ShaderError::Invalid {
                file: file.to_owned(),
                line,
                message: format!("{:?}", error.into_inner()),
            }
        },
    )
}

/// Layouts of all named structs of a module.
pub fn struct_layouts(module: &Module) -> Vec<StructLayout> {
    let layout = |(_, ty): (_, &naga::Type)| match (&ty.name, &ty.inner) {
        (Some(name), TypeInner::Struct { members, span }) => Some(StructLayout {
            name: name.clone(),
            size: *span,
            members: members
                .iter()
                .map(|m| (m.name.clone().unwrap_or_default(), m.offset))
                .collect(),
        }),
        _ => None,
    };
    module.types.iter().filter_map(layout).collect()
}

/// Workgroup memory of a module with these override values \[bytes\]. Each variable is rounded up
/// to 16, as WebGPU counts it ("maxComputeWorkgroupStorageSize").
///
/// # Errors
/// [`ShaderError::Invalid`] if the overrides do not resolve.
pub fn workgroup_bytes(
    module: &Module,
    info: &ModuleInfo,
    overrides: &OverrideValues,
) -> Result<u32, ShaderError> {
    let constants =
        overrides.constants().iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    let invalid =
        |message: String| ShaderError::Invalid { file: "overrides".to_owned(), line: 0, message };
    let (module, _) =
        naga::back::pipeline_constants::process_overrides(module, info, None, &constants)
            .map_err(|error| invalid(error.to_string()))?;
    let mut layouter = naga::proc::Layouter::default();
    layouter.update(module.to_ctx()).map_err(|error| invalid(error.to_string()))?;
    let workgroup = module
        .global_variables
        .iter()
        .filter(|(_, variable)| variable.space == AddressSpace::WorkGroup);
    Ok(workgroup.map(|(_, variable)| layouter[variable.ty].size.next_multiple_of(16)).sum())
}

/// Names of structs, members, functions, constants and globals that have no doc comment.
pub fn undocumented(module: &Module) -> Vec<String> {
    let mut missing = Vec::new();
    let Some(docs) = &module.doc_comments else {
        return vec!["(the module was parsed without doc comments)".to_owned()];
    };
    for (handle, ty) in module.types.iter() {
        if let (Some(name), TypeInner::Struct { members, .. }) = (&ty.name, &ty.inner) {
            if !docs.types.contains_key(&handle) {
                missing.push(format!("struct {name}"));
            }
            for (index, member) in members.iter().enumerate() {
                if !docs.struct_members.contains_key(&(handle, index)) {
                    missing.push(format!("{name}.{}", member.name.as_deref().unwrap_or("?")));
                }
            }
        }
    }
    for (handle, function) in module.functions.iter() {
        if !docs.functions.contains_key(&handle) {
            missing.push(format!("fn {}", function.name.as_deref().unwrap_or("?")));
        }
    }
    for (index, entry) in module.entry_points.iter().enumerate() {
        if !docs.entry_points.contains_key(&index) {
            missing.push(format!("fn {}", entry.name));
        }
    }
    for (handle, constant) in module.constants.iter() {
        if constant.name.is_some() && !docs.constants.contains_key(&handle) {
            missing.push(format!("const {}", constant.name.as_deref().unwrap_or("?")));
        }
    }
    for (handle, global) in module.global_variables.iter() {
        if !docs.global_variables.contains_key(&handle) {
            missing.push(format!("var {}", global.name.as_deref().unwrap_or("?")));
        }
    }
    missing
}
