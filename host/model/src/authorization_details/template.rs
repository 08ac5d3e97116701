//! The texts of types, such as `Pay {amount} {currency} to {creditor.name}`.

use std::collections::BTreeSet;

use crate::printable::is_printable;

/// The largest length of a template, in characters.
const LONGEST: usize = 300;

/// The text of a type in one language, with the paths of members in braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    source: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Member(String),
}

/// An invalid template, for the administrator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// It is empty, too long, or has unprintable characters.
    #[error("use 1 to 300 printable characters")]
    Text,
    /// A brace has no partner, or there is nothing between two.
    #[error(
        "write each member as its path in braces, such as {{creditor.name}}; other braces are not permitted"
    )]
    Brace,
    /// A member is shown twice.
    #[error("show each member once")]
    Repeated,
}

impl Template {
    /// Parses a template.
    ///
    /// # Errors
    /// [`TemplateError`] if it is not valid.
    pub fn parse(source: &str) -> Result<Self, TemplateError> {
        let length = source.chars().count();
        if !(1..=LONGEST).contains(&length) || !source.chars().all(is_printable) {
            return Err(TemplateError::Text);
        }
        let mut parts = Vec::new();
        let mut rest = source;
        while let Some((text, after)) = rest.split_once('{') {
            let (member, after) = after.split_once('}').ok_or(TemplateError::Brace)?;
            let is_path = !member.is_empty() && !member.contains(['{', ' ']);
            if text.contains('}') || !is_path {
                return Err(TemplateError::Brace);
            }
            parts.push(Part::Text(text.to_owned()));
            parts.push(Part::Member(member.to_owned()));
            rest = after;
        }
        if rest.contains('}') {
            return Err(TemplateError::Brace);
        }
        parts.push(Part::Text(rest.to_owned()));
        let template = Self {
            source: source.to_owned(),
            parts,
        };
        let members: BTreeSet<&str> = template.members().collect();
        match members.len() == template.members().count() {
            true => Ok(template),
            false => Err(TemplateError::Repeated),
        }
    }

    /// The text as it was written.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// The paths of the members that it shows, in their order.
    pub fn members(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Member(member) => Some(member.as_str()),
            Part::Text(_) => None,
        })
    }

    /// Returns the text with a text in place of each member.
    pub fn filled(&self, text_of: impl Fn(&str) -> String) -> String {
        let parts = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.clone(),
            Part::Member(member) => text_of(member),
        });
        parts.collect()
    }
}
