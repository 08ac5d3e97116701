//! The parts of markup that quick-xml does not process: attributes, names, references, the XML declaration.

use super::chars::{is_char, is_ncname, is_space};
use super::error::XmlProblem;
use super::limits::XmlLimits;

/// Parses the attributes of a start tag (XML 1.0 production 40) from the text after its name. Returns unchecked names,
/// and normalized values (section 3.3.3), which may contain any character that XML allows.
pub(super) fn attributes(raw: &str) -> Result<Vec<(&str, String)>, XmlProblem> {
    let mut attributes = Vec::new();
    let mut rest = raw;
    loop {
        let next = rest.trim_start_matches(is_space);
        if next.is_empty() {
            return Ok(attributes);
        }
        if next.len() == rest.len() {
            // White space before the attribute is missing.
            return Err(XmlProblem::Attribute);
        }
        if attributes.len() >= XmlLimits::ATTRIBUTES {
            return Err(XmlProblem::TooManyAttributes);
        }
        let (name, quoted) = next.split_once('=').ok_or(XmlProblem::Attribute)?;
        let quoted = quoted.trim_start_matches(is_space);
        let quote = quoted
            .chars()
            .next()
            .filter(|c| matches!(c, '"' | '\''))
            .ok_or(XmlProblem::Attribute)?;
        let (value, after) = quoted
            .get(1..)
            .and_then(|text| text.split_once(quote))
            .ok_or(XmlProblem::Attribute)?;
        attributes.push((name.trim_end_matches(is_space), expand(value)?));
        rest = after;
    }
}

/// Expands the raw value of an attribute, without its quotes.
fn expand(raw: &str) -> Result<String, XmlProblem> {
    if raw.contains('<') {
        return Err(XmlProblem::Attribute);
    }
    let mut value = String::with_capacity(raw.len());
    let mut parts = raw.split('&');
    let literal = |value: &mut String, text: &str| {
        value.extend(text.chars().map(|c| if is_space(c) { ' ' } else { c }));
    };
    literal(&mut value, parts.next().unwrap_or_default());
    for part in parts {
        let (name, after) = part.split_once(';').ok_or(XmlProblem::Entity)?;
        value.push(reference(name)?);
        literal(&mut value, after);
    }
    Ok(value)
}

/// Resolves a reference, without its `&` and `;`, to a character (XML 1.0 section 4.1).
pub(super) fn reference(name: &str) -> Result<char, XmlProblem> {
    match name {
        "amp" => return Ok('&'),
        "lt" => return Ok('<'),
        "gt" => return Ok('>'),
        "apos" => return Ok('\''),
        "quot" => return Ok('"'),
        _ => {}
    }
    let number = name.strip_prefix('#').ok_or(XmlProblem::Entity)?;
    let (digits, radix) = match number.strip_prefix('x') {
        Some(digits) => (digits, 16),
        None => (number, 10),
    };
    // `from_str_radix` would accept a sign.
    if !digits.chars().all(|c| c.is_digit(radix)) {
        return Err(XmlProblem::Entity);
    }
    let code = u32::from_str_radix(digits, radix).map_err(|_| XmlProblem::Character)?;
    char::from_u32(code)
        .filter(|c| is_char(*c))
        .ok_or(XmlProblem::Character)
}

/// Splits a name into its prefix (possibly empty) and its local part (Namespaces in XML 1.0, production 7).
pub(super) fn split_name(name: &str) -> Result<(&str, &str), XmlProblem> {
    let (prefix, local) = match name.split_once(':') {
        Some((prefix, local)) if is_ncname(prefix) => (prefix, local),
        Some(_) => return Err(XmlProblem::Name),
        None => ("", name),
    };
    // The prefix is unbound without this check, too, but this error is more specific.
    if prefix == "xmlns" {
        return Err(XmlProblem::ReservedPrefix);
    }
    if is_ncname(local) {
        Ok((prefix, local))
    } else {
        Err(XmlProblem::Name)
    }
}

/// Returns the prefix that this attribute declares, empty for the default namespace, or `None` for other attributes.
pub(super) fn declared_prefix(name: &str) -> Result<Option<&str>, XmlProblem> {
    match name.strip_prefix("xmlns") {
        Some("") => Ok(Some("")),
        Some(rest) => match rest.strip_prefix(':') {
            Some(prefix) if is_ncname(prefix) => Ok(Some(prefix)),
            Some(_) => Err(XmlProblem::Name),
            None => Ok(None),
        },
        None => Ok(None),
    }
}

/// Whether the text is an absolute URI: a scheme and valid characters (RFC 3986).
pub(super) fn is_absolute(uri: &str) -> bool {
    let Some((scheme, rest)) = uri.split_once(':') else {
        return false;
    };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
        && rest
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(c))
}

/// Checks an XML declaration (XML 1.0 production 23): version 1.0, and UTF-8 if it specifies an encoding.
pub(super) fn check_declaration(text: &str) -> Result<(), XmlProblem> {
    let inside = text
        .strip_prefix("<?xml")
        .and_then(|text| text.strip_suffix("?>"));
    let attributes =
        attributes(inside.ok_or(XmlProblem::Declaration)?).map_err(|_| XmlProblem::Declaration)?;
    let mut parts = attributes
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .peekable();
    if parts.next() != Some(("version", "1.0")) {
        return Err(XmlProblem::Declaration);
    }
    if let Some((_, encoding)) = parts.next_if(|(name, _)| *name == "encoding")
        && !encoding.eq_ignore_ascii_case("utf-8")
    {
        return Err(XmlProblem::Encoding);
    }
    parts.next_if(|part| matches!(part, ("standalone", "yes" | "no")));
    if parts.next().is_some() {
        Err(XmlProblem::Declaration)
    } else {
        Ok(())
    }
}
