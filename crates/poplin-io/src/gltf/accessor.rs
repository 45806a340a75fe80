//! Accessors: lists of numbers in the buffers of a glTF file.

use std::rc::Rc;

use super::buffers::Buffers;
use super::json::Json;
use crate::IoError;

/// How many numbers an item has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    Scalar,
    Vec2,
    Vec3,
}

impl Width {
    fn name(self) -> &'static str {
        match self {
            Self::Scalar => "SCALAR",
            Self::Vec2 => "VEC2",
            Self::Vec3 => "VEC3",
        }
    }
}

/// A list whose items are all in its buffer.
pub(super) struct Accessor {
    pub(super) count: usize,
    bytes: Rc<[u8]>,
    begin: usize,
    stride: usize,
    component: u64,
    is_normalized: bool,
}

impl Accessor {
    /// The accessor of an index, checked.
    pub(super) fn read(
        index: &Json<'_>,
        width: Width,
        buffers: &mut Buffers<'_>,
    ) -> Result<Self, IoError> {
        let accessor = buffers.item("accessors", index)?;
        let kind = accessor.field("type")?;
        if kind.text()? != width.name() {
            return Err(kind.fault(format!("{:?}", kind.text()?), width.name()));
        }
        if let Some(sparse) = accessor.get("sparse") {
            return Err(sparse.fault("a sparse accessor".to_owned(), "one without"));
        }
        let component = accessor.field("componentType")?;
        let size = match component.integer()? {
            5120 | 5121 => 1,
            5122 | 5123 => 2,
            5125 | 5126 => 4,
            other => return Err(component.fault(other.to_string(), "5120 to 5123, 5125 or 5126")),
        };
        let item = size * (width as usize + 1);
        let size_of = |json: &Json<'_>, key| json.get(key).map_or(Ok(0), |it| it.size());
        let count = accessor.field("count")?.size()?;
        let view = buffers.item("bufferViews", &accessor.field("bufferView")?)?;
        let bytes = buffers.bytes(&view.field("buffer")?)?;
        let (view_begin, view_length) =
            (size_of(&view, "byteOffset")?, view.field("byteLength")?.size()?);
        if view_begin + view_length > bytes.len() {
            let found = format!("{view_length} bytes from byte {view_begin}");
            return Err(
                view.fault(found, &format!("no more than the {} of the buffer", bytes.len()))
            );
        }
        let stride = match size_of(&view, "byteStride")? {
            0 => item,
            stride if stride < item => {
                return Err(
                    view.fault(format!("a stride of {stride} bytes"), &format!("{item} or more"))
                );
            }
            stride => stride,
        };
        let offset = size_of(&accessor, "byteOffset")?;
        // Sizes are below 2^32: no overflow in 64 bits but of the product.
        let length =
            count.checked_sub(1).map_or(Some(0), |last| Some(stride.checked_mul(last)? + item));
        if length.and_then(|length| length.checked_add(offset)).is_none_or(|end| end > view_length)
        {
            let found = format!("{count} items of {stride} bytes from byte {offset}");
            return Err(accessor.fault(
                found,
                &format!("no more than the {view_length} bytes of the buffer view"),
            ));
        }
        let is_normalized = accessor.get("normalized").is_some_and(|it| it.is_true());
        let (component, begin) = (component.integer()?, view_begin + offset);
        Ok(Self { count, bytes, begin, stride, component, is_normalized })
    }

    /// An item; its index is below the count, and it has this many numbers.
    pub(super) fn vector<const N: usize>(&self, index: usize) -> [f64; N] {
        let item = &self.bytes[self.begin + index * self.stride..];
        std::array::from_fn(|k| {
            let bytes = |size: usize| &item[k * size..];
            let one = || bytes(1)[0];
            let two = || [bytes(2)[0], bytes(2)[1]];
            let four = || [bytes(4)[0], bytes(4)[1], bytes(4)[2], bytes(4)[3]];
            let (value, most) = match self.component {
                5120 => (f64::from(one() as i8), f64::from(i8::MAX)),
                5121 => (f64::from(one()), f64::from(u8::MAX)),
                5122 => (f64::from(i16::from_le_bytes(two())), f64::from(i16::MAX)),
                5123 => (f64::from(u16::from_le_bytes(two())), f64::from(u16::MAX)),
                5125 => (f64::from(u32::from_le_bytes(four())), f64::from(u32::MAX)),
                _ => (f64::from(f32::from_le_bytes(four())), 1.0),
            };
            if self.is_normalized && self.component != 5126 {
                (value / most).max(-1.0)
            } else {
                value
            }
        })
    }
}
