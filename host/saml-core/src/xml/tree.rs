//! A document as a tree of elements and text.

use std::sync::Arc;

use super::error::ShapeError;
use super::limits::XmlLimits;
use super::names::{Name, SIGNATURE};

/// A complete and well-formed document. Its content is untrusted until a signature is checked.
///
/// It contains no comments. It has no processing instructions and no document type, because such documents are
/// rejected.
#[derive(Clone, Debug)]
pub struct Document {
    pub(super) root: ElementNode,
    /// The content of the root in document order: each element precedes its content.
    pub(super) nodes: Vec<Node>,
    /// The limits of the document, which also apply to derived documents.
    pub(super) limits: XmlLimits,
}

#[derive(Clone, Debug)]
pub(super) enum Node {
    Element(ElementNode),
    /// Never adjacent to another text.
    Text(String),
}

#[derive(Clone, Debug)]
pub(super) struct ElementNode {
    /// The binding of the prefix; `None` outside every namespace.
    pub(super) namespace: Option<Arc<PrefixBinding>>,
    pub(super) local: Box<str>,
    /// The namespaces that the element itself declares.
    pub(super) declared: Vec<Arc<PrefixBinding>>,
    pub(super) attributes: Vec<Attribute>,
    /// The place of the parent element: 0 is the root, and 1 the first node in it. `None` for the root itself.
    pub(super) parent: Option<usize>,
    /// The number of nodes in the element.
    pub(super) size: usize,
}

/// A prefix and its namespace.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PrefixBinding {
    /// The prefix, empty for the default namespace.
    pub(super) prefix: Box<str>,
    /// The namespace, empty if the default namespace is reset.
    pub(super) uri: Box<str>,
}

#[derive(Clone, Debug)]
pub(super) struct Attribute {
    pub(super) namespace: Option<Arc<PrefixBinding>>,
    pub(super) local: Box<str>,
    pub(super) value: Box<str>,
}

impl Attribute {
    /// Returns the name of the namespace, empty outside every namespace.
    pub(super) fn uri(&self) -> &str {
        self.namespace.as_ref().map_or("", |binding| &binding.uri)
    }
}

impl Document {
    /// Returns the root element, **which any sender may have written**. Only for messages that need no signature;
    /// [`Self::verify`] returns signed content.
    pub fn unverified(&self) -> Element<'_> {
        self.root()
    }

    /// Whether the document contains a signature, valid or not.
    pub fn has_signature(&self) -> bool {
        self.root()
            .descendants()
            .any(|element| element.is(SIGNATURE))
    }

    pub(super) fn root(&self) -> Element<'_> {
        Element {
            document: self,
            node: &self.root,
            inside: &self.nodes,
        }
    }

    /// Returns the element at a place, as in [`ElementNode::parent`].
    fn element_at(&self, place: usize) -> Option<&ElementNode> {
        match place.checked_sub(1) {
            None => Some(&self.root),
            Some(below) => match self.nodes.get(below)? {
                Node::Element(node) => Some(node),
                Node::Text(_) => None,
            },
        }
    }
}

/// An element of a document, with its content.
#[derive(Clone, Copy, Debug)]
pub struct Element<'d> {
    document: &'d Document,
    pub(super) node: &'d ElementNode,
    inside: &'d [Node],
}

/// An item of an element's content.
#[derive(Clone, Copy, Debug)]
pub(super) enum NodeContent<'d> {
    Element(Element<'d>),
    Text(&'d str),
}

impl<'d> Element<'d> {
    /// Whether the element has this name. Prefixes are ignored.
    pub fn is(self, name: Name) -> bool {
        self.local_name() == name.local && self.namespace() == name.namespace.uri
    }

    /// Returns the name of the namespace, empty outside every namespace.
    pub fn namespace(self) -> &'d str {
        self.node
            .namespace
            .as_ref()
            .map_or("", |binding| &binding.uri)
    }

    /// Returns the local name.
    pub fn local_name(self) -> &'d str {
        &self.node.local
    }

    /// Returns the value of an attribute without a namespace, as SAML defines its attributes.
    pub fn attribute(self, name: &str) -> Option<&'d str> {
        self.attribute_in("", name)
    }

    /// Returns the value of an attribute in a namespace, such as `xsi:type`.
    pub fn qualified_attribute(self, name: Name) -> Option<&'d str> {
        self.attribute_in(name.namespace.uri, name.local)
    }

    fn attribute_in(self, uri: &str, local: &str) -> Option<&'d str> {
        let mut attributes = self.node.attributes.iter();
        attributes
            .find(|attribute| &*attribute.local == local && attribute.uri() == uri)
            .map(|found| &*found.value)
    }

    /// Whether the element has attributes, apart from declarations of namespaces.
    pub fn has_attributes(self) -> bool {
        !self.node.attributes.is_empty()
    }

    /// Returns the child elements.
    pub fn children(self) -> Children<'d> {
        Children(self.content())
    }

    /// Returns the only child element with this name, if there is one.
    ///
    /// # Errors
    /// [`ShapeError::Repeated`] for several child elements, because choosing one of them would be unsafe.
    pub fn optional_child(self, name: Name) -> Result<Option<Self>, ShapeError> {
        let mut named = self.children().filter(|child| child.is(name));
        let found = named.next();
        if named.next().is_some() {
            return Err(ShapeError::Repeated(name.local));
        }
        Ok(found)
    }

    /// Returns the only child element with this name.
    ///
    /// # Errors
    /// [`ShapeError::Missing`] or [`ShapeError::Repeated`].
    pub fn child(self, name: Name) -> Result<Self, ShapeError> {
        self.optional_child(name)?
            .ok_or(ShapeError::Missing(name.local))
    }

    /// Returns the text with its white space, empty if the element has no content.
    ///
    /// # Errors
    /// [`ShapeError::NotText`] if the element contains elements.
    pub fn text(self) -> Result<&'d str, ShapeError> {
        match self.inside {
            [] => Ok(""),
            [Node::Text(text)] => Ok(text),
            _ => Err(ShapeError::NotText),
        }
    }

    /// Returns the element and all its descendants in document order.
    pub fn descendants(self) -> impl Iterator<Item = Self> {
        let mut rest = self.inside;
        let below = std::iter::from_fn(move || {
            loop {
                let (first, others) = rest.split_first()?;
                rest = others;
                if let Node::Element(node) = first {
                    break Some(Self {
                        document: self.document,
                        node,
                        inside: rest.get(..node.size)?,
                    });
                }
            }
        });
        std::iter::once(self).chain(below)
    }

    pub(super) fn content(self) -> Inside<'d> {
        Inside {
            document: self.document,
            nodes: self.inside,
        }
    }

    /// Whether both are the same element, not only equal elements.
    pub(super) fn is_same(self, other: Self) -> bool {
        std::ptr::eq(self.node, other.node)
    }

    pub(super) fn document(self) -> &'d Document {
        self.document
    }

    /// Returns the binding of a prefix that is in scope at the element.
    pub(super) fn binding(self, prefix: &str) -> Option<&'d PrefixBinding> {
        let mut node = self.node;
        loop {
            if let Some(found) = node
                .declared
                .iter()
                .find(|binding| &*binding.prefix == prefix)
            {
                return Some(found);
            }
            node = self.document.element_at(node.parent?)?;
        }
    }
}

/// The content of an element, one level deep.
#[derive(Clone, Debug)]
pub(super) struct Inside<'d> {
    document: &'d Document,
    nodes: &'d [Node],
}

impl<'d> Iterator for Inside<'d> {
    type Item = NodeContent<'d>;

    fn next(&mut self) -> Option<Self::Item> {
        let (first, rest) = self.nodes.split_first()?;
        match first {
            Node::Text(text) => {
                self.nodes = rest;
                Some(NodeContent::Text(text))
            }
            Node::Element(node) => {
                let (inside, after) = rest.split_at_checked(node.size)?;
                self.nodes = after;
                Some(NodeContent::Element(Element {
                    document: self.document,
                    node,
                    inside,
                }))
            }
        }
    }
}

/// The child elements of an element.
#[derive(Clone, Debug)]
pub struct Children<'d>(Inside<'d>);

impl<'d> Iterator for Children<'d> {
    type Item = Element<'d>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.find_map(|content| match content {
            NodeContent::Element(element) => Some(element),
            NodeContent::Text(_) => None,
        })
    }
}
