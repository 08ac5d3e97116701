//! The strict reader. quick-xml finds the markup; this module checks namespaces, and the rules that quick-xml does not
//! enforce.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use quick_xml::Reader as Events;
use quick_xml::errors::{Error as EventError, IllFormedError, SyntaxError};
use quick_xml::events::{BytesStart, Event};

use super::chars::{is_char, is_space};
use super::error::{XmlError, XmlProblem};
use super::limits::XmlLimits;
use super::markup::{
    attributes, check_declaration, declared_prefix, is_absolute, reference, split_name,
};
use super::names::{XML_URI, XMLNS_URI};
use super::tree::{Attribute, Document, ElementNode, Node, PrefixBinding};

impl Document {
    /// Reads a document.
    ///
    /// # Errors
    /// [`XmlError`] if the document or its namespaces are not well-formed, or if it exceeds the limits. The same
    /// applies to constructs that SAML messages never need: a document type, processing instructions, entities,
    /// comments within text.
    pub fn read(bytes: &[u8], limits: XmlLimits) -> Result<Self, XmlError> {
        let text = decode(bytes, limits).map_err(|problem| XmlError { problem, line: 1 })?;
        let mut reader = Reader::new(&text, limits);
        reader.read().map_err(|problem| XmlError {
            problem,
            line: reader.line(),
        })
    }
}

/// Decodes the document's text and normalizes line ends to line feeds (XML 1.0 section 2.11).
fn decode(bytes: &[u8], limits: XmlLimits) -> Result<Cow<'_, str>, XmlProblem> {
    if bytes.len() > limits.bytes {
        return Err(XmlProblem::TooLong);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| XmlProblem::Encoding)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    Ok(match text.contains('\r') {
        true => Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n")),
        false => Cow::Borrowed(text),
    })
}

struct Reader<'t> {
    text: &'t str,
    events: Events<&'t [u8]>,
    limits: XmlLimits,
    root: Option<ElementNode>,
    nodes: Vec<Node>,
    /// The open elements.
    open: Vec<OpenElement>,
    /// Whether further text would continue the preceding text, because only comments separate them.
    in_text: bool,
    /// The declarations in scope, those of the innermost element last.
    scope: Vec<Arc<PrefixBinding>>,
    /// The binding of the prefix `xml`, which needs no declaration.
    xml: Arc<PrefixBinding>,
}

/// An element without its end tag.
struct OpenElement {
    /// The place, as in [`ElementNode::parent`].
    place: usize,
    /// The number of declarations in scope outside the element.
    outer_scope: usize,
    has_text: bool,
    has_comment: bool,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str, limits: XmlLimits) -> Self {
        let mut events = Events::from_str(text);
        events.config_mut().check_comments = true;
        let xml = Arc::new(PrefixBinding {
            prefix: "xml".into(),
            uri: XML_URI.into(),
        });
        let (nodes, open, scope) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            text,
            events,
            limits,
            root: None,
            nodes,
            open,
            in_text: false,
            scope,
            xml,
        }
    }

    fn position(&self) -> usize {
        usize::try_from(self.events.buffer_position()).unwrap_or(usize::MAX)
    }

    /// Returns the line where reading stopped.
    fn line(&self) -> usize {
        self.text
            .bytes()
            .take(self.position())
            .filter(|byte| *byte == b'\n')
            .count()
            + 1
    }

    fn read(&mut self) -> Result<Document, XmlProblem> {
        if !self.text.chars().all(is_char) {
            return Err(XmlProblem::Character);
        }
        loop {
            let before = self.position();
            // The parser does not receive any text that begins like a document type.
            if matches!(
                self.text.as_bytes().get(before..),
                Some([b'<', b'!', b'D' | b'd', ..])
            ) {
                return Err(XmlProblem::Doctype);
            }
            match self.events.read_event().map_err(|error| problem(&error))? {
                Event::Start(tag) => self.start(&tag)?,
                Event::End(_) => self.end()?,
                Event::Empty(tag) => {
                    self.start(&tag)?;
                    self.end()?;
                }
                Event::Text(text) => {
                    let text = text.into_inner();
                    if text.contains("]]>") {
                        return Err(XmlProblem::Syntax);
                    }
                    self.characters(&text)?;
                }
                Event::CData(_) | Event::GeneralRef(_) if self.open.is_empty() => {
                    return Err(XmlProblem::NotOneRoot);
                }
                Event::CData(section) => self.characters(&section.into_inner())?,
                Event::GeneralRef(name) => {
                    let character = reference(&name.into_inner())?;
                    self.characters(character.encode_utf8(&mut [0; 4]))?;
                }
                Event::Comment(_) => self.comment()?,
                Event::Decl(_) if before > 0 => return Err(XmlProblem::Declaration),
                Event::Decl(_) => {
                    check_declaration(self.text.get(..self.position()).unwrap_or_default())?;
                }
                Event::PI(_) => return Err(XmlProblem::Instruction),
                Event::DocType(_) => return Err(XmlProblem::Doctype),
                Event::Eof => break,
            }
        }
        if !self.open.is_empty() {
            return Err(XmlProblem::Tags);
        }
        let root = self.root.take().ok_or(XmlProblem::NotOneRoot)?;
        Ok(Document {
            root,
            nodes: std::mem::take(&mut self.nodes),
            limits: self.limits,
        })
    }

    fn start(&mut self, tag: &BytesStart<'_>) -> Result<(), XmlProblem> {
        let parent = self.open.last().map(|open| open.place);
        if parent.is_none() && self.root.is_some() {
            return Err(XmlProblem::NotOneRoot);
        }
        if self.open.len() >= XmlLimits::DEPTH {
            return Err(XmlProblem::TooDeep);
        }
        let attributes = attributes(tag.attributes_raw())?;
        let outer_scope = self.scope.len();
        self.declare(&attributes)?;
        let declared = self.scope.get(outer_scope..).unwrap_or_default().to_vec();
        let (prefix, local) = split_name(tag.name().into_inner())?;
        let node = ElementNode {
            namespace: self.bound(prefix)?,
            local: local.into(),
            declared,
            attributes: self.attributes(attributes)?,
            parent,
            size: 0,
        };
        let place = match parent {
            None => {
                self.root = Some(node);
                0
            }
            Some(_) => {
                self.push(Node::Element(node))?;
                self.nodes.len()
            }
        };
        self.in_text = false;
        self.open.push(OpenElement {
            place,
            outer_scope,
            has_text: false,
            has_comment: false,
        });
        Ok(())
    }

    /// Adds the declarations among an element's attributes to the scope.
    fn declare(&mut self, attributes: &[(&str, String)]) -> Result<(), XmlProblem> {
        let mut prefixes = HashSet::new();
        for (name, uri) in attributes {
            let Some(prefix) = declared_prefix(name)? else {
                continue;
            };
            if !prefixes.insert(prefix) {
                return Err(XmlProblem::RepeatedAttribute);
            }
            if prefix == "xmlns" || uri == XMLNS_URI || (prefix == "xml") != (uri == XML_URI) {
                return Err(XmlProblem::ReservedPrefix);
            }
            if prefix == "xml" {
                continue;
            }
            let undoes_default = prefix.is_empty() && uri.is_empty();
            if !undoes_default && !is_absolute(uri) {
                return Err(XmlProblem::Namespace);
            }
            if self.scope.len() >= XmlLimits::NAMESPACES {
                return Err(XmlProblem::TooManyNamespaces);
            }
            self.scope.push(Arc::new(PrefixBinding {
                prefix: prefix.into(),
                uri: uri.as_str().into(),
            }));
        }
        Ok(())
    }

    /// Returns an element's attributes, without its declarations of namespaces.
    fn attributes(&self, raw: Vec<(&str, String)>) -> Result<Vec<Attribute>, XmlProblem> {
        let mut attributes = Vec::with_capacity(raw.len());
        for (name, value) in raw {
            if declared_prefix(name)?.is_some() {
                continue;
            }
            let (prefix, local) = split_name(name)?;
            // The default namespace does not apply to attributes.
            let namespace = if prefix.is_empty() {
                None
            } else {
                self.bound(prefix)?
            };
            attributes.push(Attribute {
                namespace,
                local: local.into(),
                value: value.into(),
            });
        }
        let mut names = HashSet::with_capacity(attributes.len());
        if !attributes
            .iter()
            .all(|attribute| names.insert((attribute.uri(), &*attribute.local)))
        {
            return Err(XmlProblem::RepeatedAttribute);
        }
        Ok(attributes)
    }

    /// Returns the binding of a prefix. The empty prefix applies to elements without a prefix.
    fn bound(&self, prefix: &str) -> Result<Option<Arc<PrefixBinding>>, XmlProblem> {
        if prefix == "xml" {
            return Ok(Some(Arc::clone(&self.xml)));
        }
        match self
            .scope
            .iter()
            .rev()
            .find(|binding| &*binding.prefix == prefix)
        {
            Some(binding) if binding.uri.is_empty() => Ok(None),
            Some(binding) => Ok(Some(Arc::clone(binding))),
            None if prefix.is_empty() => Ok(None),
            None => Err(XmlProblem::UnboundPrefix),
        }
    }

    fn end(&mut self) -> Result<(), XmlProblem> {
        let open = self.open.pop().ok_or(XmlProblem::Tags)?;
        self.in_text = false;
        self.scope.truncate(open.outer_scope);
        let size = self.nodes.len().saturating_sub(open.place);
        let node = match open.place.checked_sub(1) {
            None => self.root.as_mut(),
            Some(below) => match self.nodes.get_mut(below) {
                Some(Node::Element(node)) => Some(node),
                _ => None,
            },
        };
        node.ok_or(XmlProblem::Tags)?.size = size;
        Ok(())
    }

    fn characters(&mut self, text: &str) -> Result<(), XmlProblem> {
        let is_blank = text.chars().all(is_space);
        let Some(open) = self.open.last_mut() else {
            return if is_blank {
                Ok(())
            } else {
                Err(XmlProblem::NotOneRoot)
            };
        };
        open.has_text |= !is_blank;
        if open.has_text && open.has_comment {
            return Err(XmlProblem::CommentInText);
        }
        match self.nodes.last_mut() {
            Some(Node::Text(last)) if self.in_text => last.push_str(text),
            _ if text.is_empty() => {}
            _ => {
                self.push(Node::Text(text.to_owned()))?;
                self.in_text = true;
            }
        }
        Ok(())
    }

    fn comment(&mut self) -> Result<(), XmlProblem> {
        if let Some(open) = self.open.last_mut() {
            open.has_comment = true;
            if open.has_text {
                return Err(XmlProblem::CommentInText);
            }
        }
        Ok(())
    }

    fn push(&mut self, node: Node) -> Result<(), XmlProblem> {
        if self.nodes.len() >= self.limits.nodes {
            return Err(XmlProblem::TooManyNodes);
        }
        self.nodes.push(node);
        Ok(())
    }
}

/// Maps an error of quick-xml.
fn problem(error: &EventError) -> XmlProblem {
    match error {
        EventError::Syntax(SyntaxError::UnclosedDoctype) => XmlProblem::Doctype,
        EventError::IllFormed(
            IllFormedError::MismatchedEndTag { .. } | IllFormedError::UnmatchedEndTag(_),
        ) => XmlProblem::Tags,
        _ => XmlProblem::Syntax,
    }
}

#[cfg(test)]
mod tests;
