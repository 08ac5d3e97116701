//! Values in settings: templates with names, and the values of SAML attributes. It needs the feature `values`.
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

/// Returns a JSON value as text: a string as it is, and other values as JSON. `null` has no text.
pub fn text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(Cow::Borrowed(text)),
        other => Some(Cow::Owned(other.to_string())),
    }
}

/// Returns a JSON value as texts: one for each member of a list except `null`, one for any other value.
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

/// The error for a setting that is not a name format. The text is the middle of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected basic, uri, unspecified or a URI as `name_format`")]
pub struct UnknownNameFormat;

/// Returns the `NameFormat` of an attribute (SAML 2.0 Core, section 8.2) for its name in settings: `basic`, `uri`,
/// `unspecified` or any URI. `None` is the basic format, which is the default for an attribute.
///
/// # Errors
/// [`UnknownNameFormat`] for any other setting.
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
