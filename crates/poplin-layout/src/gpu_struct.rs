//! Structs and constants that Rust and WGSL share, each declared once: here in Rust, with a description from which
//! [`crate::wgsl`] writes the WGSL text.

/// What WGSL calls a Rust type of the same size and alignment.
pub(crate) trait WgslType {
    /// The type's name in WGSL.
    const NAME: &'static str;
}

impl WgslType for u32 {
    const NAME: &'static str = "u32";
}

impl WgslType for f32 {
    const NAME: &'static str = "f32";
}

impl WgslType for [u32; 4] {
    const NAME: &'static str = "vec4<u32>";
}

impl WgslType for [f32; 4] {
    const NAME: &'static str = "vec4<f32>";
}

/// A struct that lies in a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StructDescription {
    /// Its name, the same in Rust and WGSL.
    pub name: &'static str,
    /// Its doc comment, line by line.
    pub doc: &'static [&'static str],
    /// Its members in order.
    pub fields: &'static [FieldDescription],
    /// Its size in Rust \[bytes\].
    pub size: usize,
}

/// A member of a [`StructDescription`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldDescription {
    /// Its name, the same in Rust and WGSL.
    pub name: &'static str,
    /// Its doc comment, line by line.
    pub doc: &'static [&'static str],
    /// Its type in WGSL.
    pub wgsl_type: &'static str,
    /// Where it begins in Rust \[bytes\].
    pub offset: usize,
}

/// A constant that the shaders know too.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConstantDescription {
    /// Its name, the same in Rust and WGSL.
    pub name: &'static str,
    /// Its doc comment, line by line.
    pub doc: &'static [&'static str],
    /// Its value.
    pub value: ConstantValue,
}

/// The value of a [`ConstantDescription`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ConstantValue {
    /// A `u32`.
    U32(u32),
    /// An `f32`.
    F32(f32),
}

/// Declares a `#[repr(C)]` struct and its `DESCRIPTION`. Members are `u32`, `f32`, four of either or another such struct.
macro_rules! gpu_struct {
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
            /// The struct as the shaders are to declare it.
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
