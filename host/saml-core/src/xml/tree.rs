//! A document as a tree of elements and text.

use std::sync::Arc;

use super::error::ShapeError;
use super::limits::XmlLimits;
use super::names::{Name, SIGNATURE};

/// A document that was read whole and is well-formed. Its content is what a stranger claims, until a signature is
/// checked.
///
/// Comments are not in it. It has no processing instructions and no document type, since such documents are refused.
#[derive(Clone, Debug)]
pub struct Document {
    pub(super) root: ElementNode,
    /// What is in the root, in the document's order: an element is followed by what it holds.
    pub(super) nodes: Vec<Node>,
    /// What it was read within, for what is made of it.
    pub(super) limits: XmlLimits,
}

#[derive(Clone, Debug)]
pub(super) enum Node {
    Element(ElementNode),
    /// Never next to another text.
    Text(String),
}

#[derive(Clone, Debug)]
pub(super) struct ElementNode {
    /// What its prefix is bound to; `None` outside every namespace.
    pub(super) namespace: Option<Arc<PrefixBinding>>,
    pub(super) local: Box<str>,
    /// The namespaces that it declares, itself.
    pub(super) declared: Vec<Arc<PrefixBinding>>,
    pub(super) attributes: Vec<Attribute>,
    /// Where the element around it is: 0 is the root, and 1 the first of the nodes in it. `None` for the root itself.
    pub(super) parent: Option<usize>,
    /// How many nodes are in it.
    pub(super) size: usize,
}

/// A prefix and its namespace.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PrefixBinding {
    /// Empty for the default namespace.
    pub(super) prefix: Box<str>,
    /// Empty where the default namespace is undone.
    pub(super) uri: Box<str>,
}

#[derive(Clone, Debug)]
pub(super) struct Attribute {
    pub(super) namespace: Option<Arc<PrefixBinding>>,
    pub(super) local: Box<str>,
    pub(super) value: Box<str>,
}

impl Attribute {
    /// Its namespace's name, empty outside every namespace.
    pub(super) fn uri(&self) -> &str {
        self.namespace.as_ref().map_or("", |binding| &binding.uri)
    }
}

impl Document {
    /// The root element, **as anybody could have written it**. For messages that need no signature; what is signed
    /// comes from [`Self::verify`].
    pub fn unverified(&self) -> Element<'_> {
        self.root()
    }

    /// Whether there is a signature anywhere, be it good or not.
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

    /// The element at a place, as [`ElementNode::parent`] counts them.
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

/// An element of a document, with what is in it.
#[derive(Clone, Copy, Debug)]
pub struct Element<'d> {
    document: &'d Document,
    pub(super) node: &'d ElementNode,
    inside: &'d [Node],
}

/// What an element holds, one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) enum NodeContent<'d> {
    Element(Element<'d>),
    Text(&'d str),
}

impl<'d> Element<'d> {
    /// Whether it has this name. Prefixes do not matter.
    pub fn is(self, name: Name) -> bool {
        self.local_name() == name.local && self.namespace() == name.namespace.uri
    }

    /// Its namespace's name, empty outside every namespace.
    pub fn namespace(self) -> &'d str {
        self.node
            .namespace
            .as_ref()
            .map_or("", |binding| &binding.uri)
    }

    /// Its name in the namespace.
    pub fn local_name(self) -> &'d str {
        &self.node.local
    }

    /// The value of an attribute that is in no namespace, as those of SAML are.
    pub fn attribute(self, name: &str) -> Option<&'d str> {
        self.attribute_in("", name)
    }

    /// The value of an attribute in a namespace, such as `xsi:type`.
    pub fn qualified_attribute(self, name: Name) -> Option<&'d str> {
        self.attribute_in(name.namespace.uri, name.local)
    }

    fn attribute_in(self, uri: &str, local: &str) -> Option<&'d str> {
        let mut attributes = self.node.attributes.iter();
        attributes
            .find(|attribute| &*attribute.local == local && attribute.uri() == uri)
            .map(|found| &*found.value)
    }

    /// The elements directly in it.
    pub fn children(self) -> Children<'d> {
        Children(self.content())
    }

    /// The one element of this name directly in it, if there is any.
    ///
    /// # Errors
    /// [`ShapeError::Repeated`], since which of two is meant is not for us to guess.
    pub fn optional_child(self, name: Name) -> Result<Option<Self>, ShapeError> {
        let mut named = self.children().filter(|child| child.is(name));
        let found = named.next();
        if named.next().is_some() {
            return Err(ShapeError::Repeated(name.local));
        }
        Ok(found)
    }

    /// The one element of this name directly in it.
    ///
    /// # Errors
    /// [`ShapeError::Missing`] or [`ShapeError::Repeated`].
    pub fn child(self, name: Name) -> Result<Self, ShapeError> {
        self.optional_child(name)?
            .ok_or(ShapeError::Missing(name.local))
    }

    /// Its text, with white space as it is; empty if it holds nothing.
    ///
    /// # Errors
    /// [`ShapeError::NotText`] if it holds elements.
    pub fn text(self) -> Result<&'d str, ShapeError> {
        match self.inside {
            [] => Ok(""),
            [Node::Text(text)] => Ok(text),
            _ => Err(ShapeError::NotText),
        }
    }

    /// It and every element in it, in the document's order.
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

    /// Whether it is the very same, and not just one like it.
    pub(super) fn is_same(self, other: Self) -> bool {
        std::ptr::eq(self.node, other.node)
    }

    pub(super) fn document(self) -> &'d Document {
        self.document
    }

    /// What a prefix is bound to where the element stands, by itself or by an element around it.
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

/// The elements directly in an element.
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
