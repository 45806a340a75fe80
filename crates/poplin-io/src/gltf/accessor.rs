//! Accessors: typed lists of numbers in the buffers of a glTF file.

use std::sync::Arc;

use super::buffers::Buffers;
use super::json::Json;
use crate::IoError;

/// Shape of an accessor item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    Scalar,
    Vec2,
    Vec3,
    Vec4,
    Mat4,
}

impl Width {
    fn name(self) -> &'static str {
        match self {
            Self::Scalar => "SCALAR",
            Self::Vec2 => "VEC2",
            Self::Vec3 => "VEC3",
            Self::Vec4 => "VEC4",
            Self::Mat4 => "MAT4",
        }
    }

    fn count(self) -> usize {
        match self {
            Self::Scalar => 1,
            Self::Vec2 => 2,
            Self::Vec3 => 3,
            Self::Vec4 => 4,
            Self::Mat4 => 16,
        }
    }
}

/// Component type of 4-byte floats.
pub(super) const FLOAT: u64 = 5126;

/// List of items, all in memory.
#[derive(Debug, Clone)]
pub(super) struct Accessor {
    pub(super) count: usize,
    items: Items,
    /// Component type, as in the file.
    pub(super) component: u64,
    is_normalized: bool,
}

/// Location of items in a buffer.
#[derive(Debug, Clone)]
struct Items {
    bytes: Arc<[u8]>,
    begin: usize,
    stride: usize,
}

impl Items {
    /// Locates `count` items of `item` bytes in the buffer view of `json`, and checks the bounds.
    /// Errors about the count name `owner`.
    fn read(
        json: &Json<'_>,
        owner: &Json<'_>,
        [count, item]: [usize; 2],
        buffers: &mut Buffers<'_>,
    ) -> Result<Self, IoError> {
        let size_of = |json: &Json<'_>, key| json.get(key).map_or(Ok(0), |it| it.size());
        let view = buffers.item("bufferViews", &json.field("bufferView")?)?;
        let bytes = buffers.bytes(&view.field("buffer")?)?;
        let (view_begin, view_length) =
            (size_of(&view, "byteOffset")?, view.field("byteLength")?.size()?);
        // The view must be within its buffer.
        if view_begin + view_length > bytes.len() {
            let found = format!("{view_length} bytes from byte {view_begin}");
            return Err(
                view.fault(found, &format!("no more than the {} of the buffer", bytes.len()))
            );
        }
        let stride = match size_of(&view, "byteStride")? {
            // Without a stride items are tightly packed.
            0 => item,
            stride if stride < item => {
                return Err(
                    view.fault(format!("a stride of {stride} bytes"), &format!("{item} or more"))
                );
            }
            stride => stride,
        };
        let offset = size_of(json, "byteOffset")?;
        // Sizes are below 2^32, so only the product may overflow 64 bits.
        let length =
            count.checked_sub(1).map_or(Some(0), |last| Some(stride.checked_mul(last)? + item));
        if length.and_then(|length| length.checked_add(offset)).is_none_or(|end| end > view_length)
        {
            let found = format!("{count} items of {stride} bytes from byte {offset}");
            return Err(owner.fault(
                found,
                &format!("no more than the {view_length} bytes of the buffer view"),
            ));
        }
        Ok(Self { bytes, begin: view_begin + offset, stride })
    }

    /// Bytes from the start of an item.
    fn at(&self, index: usize) -> &[u8] {
        &self.bytes[self.begin + index * self.stride..]
    }
}

/// Size of a component type \[bytes\].
fn size_of(component: &Json<'_>) -> Result<usize, IoError> {
    match component.integer()? {
        5120 | 5121 => Ok(1),
        5122 | 5123 => Ok(2),
        5125 | FLOAT => Ok(4),
        other => Err(component.fault(other.to_string(), "5120 to 5123, 5125 or 5126")),
    }
}

impl Accessor {
    /// Reads and checks the accessor `index`.
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
        let component = accessor.field("componentType")?;
        let item = size_of(&component)? * width.count();
        let count = accessor.field("count")?.size()?;
        let given = match accessor.get("bufferView") {
            Some(_) => Some(Items::read(&accessor, &accessor, [count, item], buffers)?),
            None => None,
        };
        let items = match (given, accessor.get("sparse")) {
            (Some(items), None) => items,
            (given, sparse) => dense(given, sparse, [count, item], buffers)?,
        };
        let is_normalized = accessor.get("normalized").is_some_and(|it| it.is_true());
        Ok(Self { count, items, component: component.integer()?, is_normalized })
    }

    /// Returns item `index`, below the count, as `N` numbers.
    pub(super) fn vector<const N: usize>(&self, index: usize) -> [f64; N] {
        let item = self.items.at(index);
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
            if self.is_normalized && self.component != FLOAT {
                // Normalized integers (glTF 2.0, section 3.11): max(c / max, -1).
                (value / most).max(-1.0)
            } else {
                value
            }
        })
    }
}

/// Builds items that no buffer view has as they are: zeros without a view, with the sparse items
/// replaced.
fn dense(
    given: Option<Items>,
    sparse: Option<Json<'_>>,
    [count, item]: [usize; 2],
    buffers: &mut Buffers<'_>,
) -> Result<Items, IoError> {
    let length = count.saturating_mul(item);
    buffers.make(length)?;
    let mut bytes = vec![0; length];
    if let Some(given) = given {
        for (k, own) in bytes.chunks_exact_mut(item).enumerate() {
            own.copy_from_slice(&given.at(k)[..item]);
        }
    }
    if let Some(sparse) = sparse {
        let replaced = sparse.field("count")?.size()?;
        let (indices, values) = (sparse.field("indices")?, sparse.field("values")?);
        let component = indices.field("componentType")?;
        let size = size_of(&component)?;
        let list = Accessor {
            count: replaced,
            items: Items::read(&indices, &sparse, [replaced, size], buffers)?,
            component: component.integer()?,
            is_normalized: false,
        };
        let values = Items::read(&values, &sparse, [replaced, item], buffers)?;
        for k in 0..replaced {
            let [index] = list.vector::<1>(k);
            if index < 0.0 || index >= count as f64 || index.fract() != 0.0 {
                let expected = format!("an index below {count}, the items of the accessor");
                return Err(indices.fault(format!("{index} in item {k}"), &expected));
            }
            let begin = index as usize * item;
            bytes[begin..begin + item].copy_from_slice(&values.at(k)[..item]);
        }
    }
    Ok(Items { bytes: bytes.into(), begin: 0, stride: item })
}
