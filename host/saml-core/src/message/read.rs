//! Readers for the value types of the SAML schema.

use super::FormError;
use super::instant::instant;
use super::names::{AUTHN_CONTEXT_CLASS_REF, ISSUER};
use crate::xml::{Element, is_ncname};
use assent_model::clock::Timestamp;

/// The maximum length of an ID, in bytes. It is limited, because IDs are stored and returned.
const ID_BYTES: usize = 256;
/// The maximum length of a URI or a name, in bytes. An entity ID has at most 1024 characters (SAML core section 8.3.6).
const VALUE_BYTES: usize = 4096;

/// Removes the white space around a URI, a number, a boolean or a time (XML Schema part 2 section 4.3.6).
fn trim_space(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\n', '\r'])
}

/// Checks that a text is not empty (SAML core section 1.3.1) and not too long.
fn check_text<'d>(name: &'static str, text: &'d str) -> Result<&'d str, FormError> {
    if trim_space(text).is_empty() || text.len() > VALUE_BYTES {
        return Err(FormError::Value {
            name,
            must: "a text of 1 to 4096 bytes",
        });
    }
    Ok(text)
}

/// Reads the text of an element, unchanged.
pub(super) fn text(element: Element<'_>, name: &'static str) -> Result<String, FormError> {
    check_text(name, element.text()?).map(str::to_owned)
}

/// Reads the text of an element, unchanged. An empty one counts as absent, as in [`attribute`].
pub(super) fn optional_text(
    element: Element<'_>,
    name: &'static str,
) -> Result<Option<String>, FormError> {
    let text = Some(element.text()?).filter(|text| !trim_space(text).is_empty());
    text.map(|text| check_text(name, text).map(str::to_owned))
        .transpose()
}

/// Reads the URI in an element.
///
/// # Errors
/// [`FormError`] if the text is empty or too long, or the element contains elements.
pub fn uri_text(element: Element<'_>, name: &'static str) -> Result<String, FormError> {
    check_text(name, element.text()?).map(|text| trim_space(text).to_owned())
}

/// Returns an attribute, without the white space around it. An empty attribute counts as absent: programs write their
/// empty settings that way.
pub fn attribute<'d>(element: Element<'d>, name: &'static str) -> Option<&'d str> {
    element
        .attribute(name)
        .map(trim_space)
        .filter(|value| !value.is_empty())
}

/// Reads an attribute, unchanged. An empty one counts as absent.
pub(super) fn string(
    element: Element<'_>,
    name: &'static str,
) -> Result<Option<String>, FormError> {
    element
        .attribute(name)
        .filter(|value| !trim_space(value).is_empty())
        .map(|value| check_text(name, value).map(str::to_owned))
        .transpose()
}

/// Reads a URI attribute. An empty one counts as absent.
///
/// # Errors
/// [`FormError::Value`] if the text is too long.
pub fn uri(element: Element<'_>, name: &'static str) -> Result<Option<String>, FormError> {
    attribute(element, name)
        .map(|value| check_text(name, value).map(str::to_owned))
        .transpose()
}

/// Requires an attribute.
///
/// # Errors
/// [`FormError::Missing`] without a value.
pub fn require<T>(name: &'static str, value: Option<T>) -> Result<T, FormError> {
    value.ok_or(FormError::Missing(name))
}

/// Reads the ID of a message (`xs:ID`, `xs:NCName`).
pub(super) fn id(element: Element<'_>, name: &'static str) -> Result<Option<String>, FormError> {
    let Some(id) = attribute(element, name) else {
        return Ok(None);
    };
    if id.len() > ID_BYTES || !is_ncname(id) {
        return Err(FormError::Value {
            name,
            must: "an xs:ID of at most 256 bytes",
        });
    }
    Ok(Some(id.to_owned()))
}

/// Reads a time attribute.
///
/// # Errors
/// [`FormError::Value`] for an invalid time.
pub fn moment(element: Element<'_>, name: &'static str) -> Result<Option<Timestamp>, FormError> {
    let Some(value) = attribute(element, name) else {
        return Ok(None);
    };
    let moment = instant(value);
    moment.map(Some).ok_or(FormError::Value {
        name,
        must: "a time with its zone, such as 2026-11-21T08:00:00Z",
    })
}

/// Reads a boolean attribute, which is false if it is missing or empty (XML Schema part 2 section 3.2.2). Programs in
/// Python and .NET write `True` and `False`, so the case does not matter.
///
/// # Errors
/// [`FormError::Value`] for an invalid boolean.
pub fn boolean(element: Element<'_>, name: &'static str) -> Result<bool, FormError> {
    match attribute(element, name)
        .map(str::to_ascii_lowercase)
        .as_deref()
    {
        None | Some("false" | "0") => Ok(false),
        Some("true" | "1") => Ok(true),
        Some(_) => Err(FormError::Value {
            name,
            must: "true or false",
        }),
    }
}

/// Reads an index attribute (`xs:unsignedShort`).
///
/// # Errors
/// [`FormError::Value`] for an invalid index.
pub fn index(element: Element<'_>, name: &'static str) -> Result<Option<u16>, FormError> {
    let Some(value) = attribute(element, name) else {
        return Ok(None);
    };
    let index = value.parse();
    index.map(Some).map_err(|_| FormError::Value {
        name,
        must: "a number from 0 to 65535",
    })
}

/// Reads the sender of a message: an entity, so its format is optional (SAML core section 3.2.1). White space around
/// its URI is dropped, as in other readers.
pub(super) fn issuer(root: Element<'_>) -> Result<Option<String>, FormError> {
    let Some(issuer) = root.optional_child(ISSUER)? else {
        return Ok(None);
    };
    let format = uri(issuer, "Format")?;
    if format.is_some_and(|format| format != "urn:oasis:names:tc:SAML:2.0:nameid-format:entity") {
        return Err(FormError::Value {
            name: "the Format of the Issuer",
            must: "urn:oasis:names:tc:SAML:2.0:nameid-format:entity; omit it",
        });
    }
    uri_text(issuer, "the Issuer").map(Some)
}

/// Reads the authentication context classes in an element. Empty ones are ignored.
pub(super) fn classes(context: Element<'_>) -> Result<Vec<String>, FormError> {
    let named = context
        .children()
        .filter(|child| child.is(AUTHN_CONTEXT_CLASS_REF))
        .filter(|class| !class.text().is_ok_and(|text| trim_space(text).is_empty()));
    named
        .map(|class| uri_text(class, "an AuthnContextClassRef"))
        .collect()
}
