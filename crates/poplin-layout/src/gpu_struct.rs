//! Structs and constants shared by Rust and WGSL. Each is declared once, in Rust, with a
//! description from which [`crate::wgsl`] generates the WGSL text.

/// Mapping of a Rust type to the WGSL type of the same size and alignment.
pub(crate) trait WgslType {
    /// Name of the type in WGSL.
    const NAME: &'static str;
}

impl WgslType for u32 {
    const NAME: &'static str = "u32";
}

impl WgslType for f32 {
    const NAME: &'static str = "f32";
}

impl WgslType for [u32; 1] {
    const NAME: &'static str = "array<u32, 1>";
}

impl WgslType for [u32; 2] {
    const NAME: &'static str = "array<u32, 2>";
}

impl WgslType for [u32; 3] {
    const NAME: &'static str = "array<u32, 3>";
}

impl WgslType for [u32; 4] {
    const NAME: &'static str = "vec4<u32>";
}

impl WgslType for [f32; 4] {
    const NAME: &'static str = "vec4<f32>";
}

/// Description of a struct that is stored in a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StructDescription {
    /// Name in Rust and WGSL.
    pub name: &'static str,
    /// Doc comment, line by line.
    pub doc: &'static [&'static str],
    /// Members in order.
    pub fields: &'static [FieldDescription],
    /// Size in Rust \[bytes\].
    pub size: usize,
}

/// Member of a [`StructDescription`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldDescription {
    /// Name in Rust and WGSL.
    pub name: &'static str,
    /// Doc comment, line by line.
    pub doc: &'static [&'static str],
    /// Type in WGSL.
    pub wgsl_type: &'static str,
    /// Offset in Rust \[bytes\].
    pub offset: usize,
}

/// Description of a constant shared with the shaders.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConstantDescription {
    /// Name in Rust and WGSL.
    pub name: &'static str,
    /// Doc comment, line by line.
    pub doc: &'static [&'static str],
    /// Value.
    pub value: ConstantValue,
}

/// Value of a [`ConstantDescription`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ConstantValue {
    /// A `u32`.
    U32(u32),
    /// An `f32`.
    F32(f32),
}

/// Declares a `#[repr(C)]` struct and its `DESCRIPTION`. Members are `u32`, `f32`, four of either
/// or another such struct. After `in rows`, one to four more words fill the last of its rows of
/// 16 bytes.
macro_rules! gpu_struct {
    (
        in rows
        $(#[doc = $doc:literal])+
        pub struct $name:ident {
            $($(#[doc = $field_doc:literal])+ pub $field:ident: $type:ty,)+
        }
    ) => {
        $crate::gpu_struct::gpu_struct! {
            $(#[doc = $doc])+
            pub struct $name {
                $($(#[doc = $field_doc])+ pub $field: $type,)+
                /// Fills the struct to a multiple of 16 bytes.
                pub padding: [u32; 4 - (0 $(+ size_of::<$type>())+) / 4 % 4],
            }
        }
    };
    (
        $(#[doc = $doc:literal])+
        pub struct $name:ident {
            $($(#[doc = $field_doc:literal])+ pub $field:ident: $type:ty,)+
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
        #[repr(C)]
        pub struct $name {
            $($(#[doc = $field_doc])+ pub $field: $type,)+
        }

        impl $crate::gpu_struct::WgslType for $name {
            const NAME: &'static str = stringify!($name);
        }

        impl $name {
            /// Description from which the WGSL declaration is generated.
            pub const DESCRIPTION: $crate::StructDescription = $crate::StructDescription {
                name: stringify!($name),
                doc: &[$($doc),+],
                fields: &[$($crate::FieldDescription {
                    name: stringify!($field),
                    doc: &[$($field_doc),+],
                    wgsl_type: <$type as $crate::gpu_struct::WgslType>::NAME,
                    offset: std::mem::offset_of!($name, $field),
                }),+],
                size: size_of::<$name>(),
            };
        }
    };
}

/// Declares constants of type `u32` or `f32` and a table of their descriptions.
macro_rules! shared_constants {
    (
        $(#[doc = $table_doc:literal])+ $table:ident;
        $($(#[doc = $doc:literal])+ pub const $name:ident: $type:ident = $value:expr;)+
    ) => {
        $($(#[doc = $doc])+ pub const $name: $type = $value;)+

        $(#[doc = $table_doc])+
        pub const $table: &[$crate::ConstantDescription] = &[$($crate::ConstantDescription {
            name: stringify!($name),
            doc: &[$($doc),+],
            value: shared_constants!(@value $type $name),
        }),+];
    };
    (@value u32 $name:ident) => { $crate::ConstantValue::U32($name) };
    (@value f32 $name:ident) => { $crate::ConstantValue::F32($name) };
}

pub(crate) use {gpu_struct, shared_constants};
