//! Values that settings describe: texts with names in them, and what a SAML attribute takes. With the feature `values`.
//!
//! ```
//! use assent_plugin_sdk::claims::ValueType;
//! use assent_plugin_sdk::values::{Template, write};
//!
//! let template = Template::parse("{given_name}@example.org").expect("braces in pairs");
//! assert_eq!(template.fill(|_name| vec!["ada".to_owned()]), Ok(vec!["ada@example.org".to_owned()]));
//! assert_eq!(write(ValueType::Boolean, "yes".to_owned()), None);
//! ```

mod template;
mod types;

use std::borrow::Cow;

use serde_json::Value;

pub use template::{MOST, Template, TemplateError, TooManyValuesError};
pub use types::{name as type_name, write};

/// A JSON value as text: a text as it is, anything else as JSON has it. `null` says nothing.
pub fn text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(Cow::Borrowed(text)),
        other => Some(Cow::Owned(other.to_string())),
    }
}

/// A JSON value as texts: one for each member of a list that says something, one for any other value.
pub fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(members) => members
            .iter()
            .filter_map(text)
            .map(Cow::into_owned)
            .collect(),
        other => text(other).map(Cow::into_owned).into_iter().collect(),
    }
}

/// A setting is no name format. It reads as the middle of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected basic, uri, unspecified or a URI as `name_format`")]
pub struct UnknownNameFormat;

/// The `NameFormat` of an attribute (SAML 2.0 Core, section 8.2) as settings name it: `basic`, `uri`, `unspecified` or
/// any URI. `None` is the basic one, which an attribute has that names none.
pub fn name_format(setting: &str) -> Result<Option<&str>, UnknownNameFormat> {
    match setting {
        "basic" => Ok(None),
        "uri" => Ok(Some("urn:oasis:names:tc:SAML:2.0:attrname-format:uri")),
        "unspecified" => Ok(Some(
            "urn:oasis:names:tc:SAML:2.0:attrname-format:unspecified",
        )),
        other if other.contains(':') && !other.contains(char::is_whitespace) => Ok(Some(other)),
        _ => Err(UnknownNameFormat),
    }
}
