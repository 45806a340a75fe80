//! JSON values of a glTF file, each with its path for errors.

use std::path::Path;

use serde_json::Value;

use crate::text::shortened;
use crate::{FilePosition, IoError};

/// Maximum number of values in the text: 100 MB in memory, enough for nodes, meshes and accessors
/// of a hundred thousand meshes.
const MAX_VALUES: usize = 1 << 20;

/// Parses JSON with a limited number of values.
pub(super) fn parse(text: &[u8], path: &Path) -> Result<Value, IoError> {
    // Upper bound of the number of values, found without parsing.
    let count = text.iter().filter(|byte| b",:[{".contains(byte)).count();
    if count > MAX_VALUES {
        let (path, what, limit) = (path.to_path_buf(), "values in the JSON text", MAX_VALUES);
        return Err(IoError::TooMany { path, what, count, limit });
    }
    serde_json::from_slice(text).map_err(|error| IoError::Unexpected {
        path: path.to_path_buf(),
        position: FilePosition::Line(error.line()),
        found: error.to_string(),
        expected: "the JSON text of a glTF file, or a GLB".to_owned(),
    })
}

/// Value with its path.
#[derive(Debug, Clone)]
pub(super) struct Json<'a> {
    value: &'a Value,
    path: String,
    file: &'a Path,
}

impl<'a> Json<'a> {
    pub(super) fn root(value: &'a Value, file: &'a Path) -> Self {
        Self { value, path: String::new(), file }
    }

    /// Value of a key, if it exists.
    pub(super) fn get(&self, key: &str) -> Option<Self> {
        let value = self.value.get(key)?;
        let dot = if self.path.is_empty() { "" } else { "." };
        Some(Self { value, path: format!("{}{dot}{key}", self.path), file: self.file })
    }

    /// Value of a required key.
    pub(super) fn field(&self, key: &str) -> Result<Self, IoError> {
        self.get(key).ok_or_else(|| self.fault(format!("no {key:?}"), "an object that has it"))
    }

    /// Items of a list; empty if the key is missing.
    pub(super) fn list(&self, key: &str) -> Result<Vec<Self>, IoError> {
        let Some(json) = self.get(key) else { return Ok(Vec::new()) };
        let items = json.value.as_array().ok_or_else(|| json.fault_of_kind("a list"))?;
        let item =
            |(k, value)| Self { value, path: format!("{}[{k}]", json.path), file: self.file };
        Ok(items.iter().enumerate().map(item).collect())
    }

    /// Item of a list by index, without building all items of a long list.
    pub(super) fn item(&self, key: &str, index: &Json<'_>) -> Result<(usize, Self), IoError> {
        let json = self.field(key)?;
        let items = json.value.as_array().ok_or_else(|| json.fault_of_kind("a list"))?;
        let k = index.index(items.len(), key)?;
        Ok((k, Self { value: &items[k], path: format!("{key}[{k}]"), file: self.file }))
    }

    pub(super) fn text(&self) -> Result<&'a str, IoError> {
        self.value.as_str().ok_or_else(|| self.fault_of_kind("a string"))
    }

    pub(super) fn integer(&self) -> Result<u64, IoError> {
        self.value.as_u64().ok_or_else(|| self.fault_of_kind("an integer of 0 or more"))
    }

    pub(super) fn is_true(&self) -> bool {
        self.value == &Value::Bool(true)
    }

    /// Integer that is a size or count in memory.
    pub(super) fn size(&self) -> Result<usize, IoError> {
        let value = self.integer()?;
        u32::try_from(value)
            .map(|value| value as usize)
            .map_err(|_| self.fault(value.to_string(), "no more than 4294967295"))
    }

    /// Index into the list of this name and length.
    pub(super) fn index(&self, count: usize, list: &str) -> Result<usize, IoError> {
        let index = self.integer()?;
        match usize::try_from(index) {
            Ok(index) if index < count => Ok(index),
            _ => Err(self.fault(
                index.to_string(),
                &format!("an index of {list:?}, which has {count} items"),
            )),
        }
    }

    pub(super) fn number(&self) -> Result<f64, IoError> {
        self.value.as_f64().ok_or_else(|| self.fault_of_kind("a number"))
    }

    pub(super) fn numbers<const N: usize>(&self) -> Result<[f64; N], IoError> {
        let items = self.value.as_array().filter(|items| items.len() == N);
        let numbers: Option<Vec<f64>> =
            items.and_then(|items| items.iter().map(Value::as_f64).collect());
        let numbers = numbers.and_then(|numbers| numbers.try_into().ok());
        numbers.ok_or_else(|| self.fault_of_kind(&format!("a list of {N} numbers")))
    }

    fn fault_of_kind(&self, expected: &str) -> IoError {
        let shown = match self.value {
            Value::Array(items) => format!("a list of {} items", items.len()),
            Value::Object(_) => "an object".to_owned(),
            value => shortened(&value.to_string()),
        };
        self.fault(shown, expected)
    }

    pub(super) fn fault(&self, found: String, expected: &str) -> IoError {
        let path = if self.path.is_empty() { "the JSON text" } else { &self.path };
        IoError::Unexpected {
            path: self.file.to_path_buf(),
            position: FilePosition::Json(path.to_owned()),
            found,
            expected: expected.to_owned(),
        }
    }
}
