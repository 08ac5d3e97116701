//! A writer with output in exclusive canonical form, so that signing needs no parser.
//!
//! The writer declares a namespace at its first use, as the canonical form does, and sorts attributes. Names are
//! constants, and values are escaped. So no input can become markup.

mod signed;

use std::borrow::Cow;
use std::collections::BTreeSet;

use openssl::error::ErrorStack;

use super::chars::is_text;
use super::escape;
use super::names::{Name, Namespace, XML_URI};

/// Writes elements. [`Self::finish`] reports the first error, and then returns no output.
#[derive(Debug, Default)]
pub struct Writer {
    out: String,
    /// The namespaces that the open elements declare, the innermost last.
    scope: Vec<Namespace>,
    /// The open elements that will be signed, the innermost last.
    signed: Vec<SignedElement>,
    error: Option<WriteError>,
}

/// An element that will be signed once it is complete.
#[derive(Debug)]
struct SignedElement {
    /// The number of namespaces that are declared outside the element. It must not use them, because its canonical form
    /// would have to declare them again.
    outer_scope: usize,
    /// The prefixes in the element that are declared only for values.
    inclusive: BTreeSet<&'static str>,
}

/// The reasons to return no output.
#[derive(Clone, Debug, thiserror::Error)]
pub enum WriteError {
    /// A value contains a character that XML does not allow, such as NUL.
    #[error("a value has a character that XML does not allow")]
    Character,
    /// The output would exceed [`Writer::MAX_BYTES`].
    #[error("the values are too long for an XML message")]
    TooLong,
    /// An ID is not an `xs:ID`.
    #[error(
        "an ID begins with a letter or an underscore, and has letters, digits, '.', '-' and '_'"
    )]
    Id,
    /// An element has an attribute twice.
    #[error("an attribute is written twice")]
    RepeatedAttribute,
    /// A namespace has no unique canonical form: a signed element uses an outer declaration, or an element uses one
    /// prefix for two namespaces.
    #[error("the namespace {0} cannot be used there")]
    Namespace(&'static str),
    /// OpenSSL failed.
    #[error("cannot sign: {0}")]
    Signing(#[from] ErrorStack),
}

impl Writer {
    /// The maximum length of the output, in bytes.
    pub const MAX_BYTES: usize = 1024 * 1024;

    /// Returns a writer for one document.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins an element. The start tag is written together with the content.
    pub fn open(&mut self, name: Name) -> ElementStart<'_, '_> {
        ElementStart {
            writer: self,
            name,
            attributes: Vec::new(),
            declared: Vec::new(),
        }
    }

    /// Returns the output.
    ///
    /// # Errors
    /// [`WriteError`]: the first error.
    pub fn finish(self) -> Result<String, WriteError> {
        match self.error {
            Some(error) => Err(error),
            // Escaping can make values longer.
            None if self.out.len() > Self::MAX_BYTES => Err(WriteError::TooLong),
            None => Ok(self.out),
        }
    }

    fn fail(&mut self, error: WriteError) {
        self.error.get_or_insert(error);
    }

    /// Checks a value before it is escaped. Returns false if the value must not be written.
    fn admits(&mut self, value: &str) -> bool {
        if self.out.len().saturating_add(value.len()) > Self::MAX_BYTES {
            self.fail(WriteError::TooLong);
        } else if !is_text(value) {
            self.fail(WriteError::Character);
        }
        self.error.is_none()
    }

    /// Whether an enclosing element declares the namespace.
    fn is_declared(&mut self, namespace: Namespace) -> bool {
        let found = self
            .scope
            .iter()
            .rposition(|declared| declared.prefix == namespace.prefix);
        let Some((at, declared)) = found.and_then(|at| Some((at, *self.scope.get(at)?))) else {
            return false;
        };
        if declared.uri != namespace.uri
            || self
                .signed
                .last()
                .is_some_and(|signed| at < signed.outer_scope)
        {
            self.fail(WriteError::Namespace(namespace.uri));
        }
        true
    }

    /// Writes the declarations that a start tag needs, sorted by prefix.
    fn declare(&mut self, mut namespaces: Vec<Namespace>) {
        namespaces.sort_unstable_by_key(|namespace| (namespace.prefix, namespace.uri));
        namespaces.dedup();
        for namespace in namespaces {
            if namespace.uri == XML_URI || self.is_declared(namespace) {
                continue;
            }
            self.out.push_str(if namespace.prefix.is_empty() {
                " xmlns"
            } else {
                " xmlns:"
            });
            self.out.push_str(namespace.prefix);
            self.assign(namespace.uri);
            self.scope.push(namespace);
        }
    }

    fn qualified(&mut self, name: Name) {
        if !name.namespace.prefix.is_empty() {
            self.out.push_str(name.namespace.prefix);
            self.out.push(':');
        }
        self.out.push_str(name.local);
    }

    fn assign(&mut self, value: &str) {
        self.out.push_str("=\"");
        if self.admits(value) {
            escape::attribute(&mut self.out, value);
        }
        self.out.push('"');
    }

    fn end(&mut self, name: Name, outer_scope: usize) {
        self.out.push_str("</");
        self.qualified(name);
        self.out.push('>');
        self.scope.truncate(outer_scope);
    }
}

/// An incomplete start tag. It is written together with the content of the element.
#[derive(Debug)]
#[must_use = "an element is written by `empty`, `text`, `content` or `signed`"]
pub struct ElementStart<'w, 'v> {
    writer: &'w mut Writer,
    name: Name,
    attributes: Vec<(Option<Namespace>, &'static str, Cow<'v, str>)>,
    declared: Vec<Namespace>,
}

impl<'w, 'v> ElementStart<'w, 'v> {
    /// Adds an attribute without a namespace.
    pub fn attribute(mut self, name: &'static str, value: impl Into<Cow<'v, str>>) -> Self {
        self.attributes.push((None, name, value.into()));
        self
    }

    /// Adds an attribute without a namespace, if the value is present.
    pub fn optional_attribute<V: Into<Cow<'v, str>>>(
        self,
        name: &'static str,
        value: Option<V>,
    ) -> Self {
        match value {
            Some(value) => self.attribute(name, value),
            None => self,
        }
    }

    /// Adds an attribute in a namespace, such as `xsi:type`.
    pub fn qualified_attribute(mut self, name: Name, value: impl Into<Cow<'v, str>>) -> Self {
        self.attributes
            .push((Some(name.namespace), name.local, value.into()));
        self
    }

    /// Declares a namespace that only values use, such as `xs:string` in `xsi:type`. The signatures of the enclosing
    /// elements list its prefix in `InclusiveNamespaces`, so that they cover it.
    pub fn declare(mut self, namespace: Namespace) -> Self {
        self.declared.push(namespace);
        self
    }

    /// Writes an empty element.
    pub fn empty(self) {
        self.content(|_| {});
    }

    /// Writes the element with a text.
    pub fn text(self, text: &str) {
        self.content(|writer| {
            if writer.admits(text) {
                escape::text(&mut writer.out, text);
            }
        });
    }

    /// Writes the element with the output of the function as content.
    pub fn content(self, content: impl FnOnce(&mut Writer)) {
        let (name, outer_scope) = (self.name, self.writer.scope.len());
        let writer = self.tag();
        content(writer);
        writer.end(name, outer_scope);
    }

    /// Writes the start tag.
    fn tag(mut self) -> &'w mut Writer {
        let writer = self.writer;
        for element in &mut writer.signed {
            element
                .inclusive
                .extend(self.declared.iter().map(|namespace| namespace.prefix));
        }
        writer.out.push('<');
        writer.qualified(self.name);
        let of_attributes = self
            .attributes
            .iter()
            .filter_map(|(namespace, _, _)| *namespace);
        self.declared
            .extend(of_attributes.chain([self.name.namespace]));
        writer.declare(self.declared);

        self.attributes
            .sort_unstable_by_key(|(namespace, local, _)| {
                (namespace.map_or("", |name| name.uri), *local)
            });
        let mut before = None;
        for (namespace, local, value) in &self.attributes {
            let name = (namespace.map(|name| name.uri), *local);
            if before.replace(name) == Some(name) {
                writer.fail(WriteError::RepeatedAttribute);
            }
            writer.out.push(' ');
            writer.qualified(namespace.unwrap_or(Namespace::new("", "")).name(local));
            writer.assign(value);
        }
        writer.out.push('>');
        writer
    }
}

#[cfg(test)]
mod tests;
