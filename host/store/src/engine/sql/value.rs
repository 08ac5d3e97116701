//! The values of statements and rows. Both databases know integers, texts and bytes.

use std::sync::Arc;

use super::error::{Error, Result};

/// A value for a placeholder of a statement. `None` is NULL.
#[derive(Clone)]
pub enum Argument {
    /// An integer.
    Integer(Option<i64>),
    /// A text.
    Text(Option<Arc<str>>),
    /// Bytes.
    Bytes(Option<Vec<u8>>),
}

macro_rules! arguments {
    ($($from:ty => $variant:ident($into:expr);)*) => {$(
        impl From<$from> for Argument {
            fn from(value: $from) -> Self {
                let into: fn($from) -> _ = $into;
                Self::$variant(Some(into(value)))
            }
        }
        impl From<Option<$from>> for Argument {
            fn from(value: Option<$from>) -> Self {
                Self::$variant(value.map($into))
            }
        }
    )*};
}

arguments! {
    i64 => Integer(|value| value);
    i32 => Integer(i64::from);
    u32 => Integer(i64::from);
    bool => Integer(i64::from);
    String => Text(Arc::from);
    &String => Text(|text| Arc::from(text.as_str()));
    &'static str => Text(Arc::from);
    Vec<u8> => Bytes(|value| value);
    &Vec<u8> => Bytes(Clone::clone);
}

impl From<&Option<String>> for Argument {
    fn from(value: &Option<String>) -> Self {
        Self::from(value.as_ref())
    }
}

/// A value of a row.
#[derive(Clone, PartialEq, Eq)]
pub enum Value {
    /// NULL.
    Null,
    /// An integer, or a truth value (0 or 1).
    Integer(i64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Value {
    const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::Integer(_) => "an integer",
            Self::Text(_) => "a text",
            Self::Bytes(_) => "bytes",
        }
    }

    fn mismatch(&self, wanted: &'static str) -> Error {
        Error::Mismatch(format!("a column has {}, not {wanted}", self.kind()))
    }
}

/// A Rust type into which a column's values are converted.
pub trait FromValue: Sized {
    /// Converts the value to this type.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the value has another type.
    fn from_value(value: Value) -> Result<Self>;
}

impl FromValue for Value {
    fn from_value(value: Value) -> Result<Self> {
        Ok(value)
    }
}

impl FromValue for i64 {
    fn from_value(value: Value) -> Result<Self> {
        match value {
            Value::Integer(value) => Ok(value),
            other => Err(other.mismatch("an integer")),
        }
    }
}

impl FromValue for bool {
    fn from_value(value: Value) -> Result<Self> {
        i64::from_value(value).map(|value| value != 0)
    }
}

impl FromValue for String {
    fn from_value(value: Value) -> Result<Self> {
        match value {
            Value::Text(value) => Ok(value),
            other => Err(other.mismatch("a text")),
        }
    }
}

impl FromValue for Vec<u8> {
    fn from_value(value: Value) -> Result<Self> {
        match value {
            Value::Bytes(value) => Ok(value),
            other => Err(other.mismatch("bytes")),
        }
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Value) -> Result<Self> {
        match value {
            Value::Null => Ok(None),
            value => T::from_value(value).map(Some),
        }
    }
}
