//! Why a document is refused.

/// A document that is refused as a whole: nothing of it can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct XmlError {
    /// What is wrong.
    pub problem: XmlProblem,
    /// The line where reading stopped, from 1.
    pub line: usize,
}

/// What is wrong with a document. The messages hold nothing of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum XmlProblem {
    /// Over [`XmlLimits::bytes`](super::XmlLimits).
    #[error("the document is too long")]
    TooLong,
    /// Over [`XmlLimits::nodes`](super::XmlLimits).
    #[error("the document has too many elements and texts")]
    TooManyNodes,
    /// Over [`XmlLimits::DEPTH`](super::XmlLimits::DEPTH).
    #[error("the elements are nested too deeply")]
    TooDeep,
    /// Over [`XmlLimits::ATTRIBUTES`](super::XmlLimits::ATTRIBUTES).
    #[error("an element has too many attributes")]
    TooManyAttributes,
    /// Over [`XmlLimits::NAMESPACES`](super::XmlLimits::NAMESPACES).
    #[error("too many namespaces are declared at once")]
    TooManyNamespaces,
    /// It is not UTF-8, or says that it is something else.
    #[error("the document is not in UTF-8")]
    Encoding,
    /// A character that XML does not allow (XML 1.0 section 2.2), as itself or as a reference.
    #[error("there is a character that XML does not allow")]
    Character,
    /// An XML declaration that is malformed, misplaced, or of another version.
    #[error("the XML declaration is not one of XML 1.0 at the beginning")]
    Declaration,
    /// A document type declaration. None is ever read.
    #[error("a DOCTYPE is not allowed")]
    Doctype,
    /// A processing instruction.
    #[error("a processing instruction is not allowed")]
    Instruction,
    /// A comment that parts text, as in `<NameID>ada@example.org<!-- -->.example.com</NameID>`.
    #[error("a comment in the middle of text is not allowed")]
    CommentInText,
    /// An entity other than the five of XML itself.
    #[error("an entity other than &lt; &gt; &amp; &apos; &quot; is not allowed")]
    Entity,
    /// A tag, comment or section that is malformed or never closed.
    #[error("the document is not well-formed")]
    Syntax,
    /// An end tag that does not fit, or is missing.
    #[error("the end tags do not fit the start tags")]
    Tags,
    /// A name with a character that names do not have, or with two colons.
    #[error("an element or attribute has a malformed name")]
    Name,
    /// An attribute without a value in quotes, or one that touches another.
    #[error("an attribute is malformed")]
    Attribute,
    /// Two attributes of an element have one name, or one namespace and local name.
    #[error("an attribute is repeated")]
    RepeatedAttribute,
    /// A prefix that no namespace is bound to.
    #[error("a prefix is bound to no namespace")]
    UnboundPrefix,
    /// `xml` or `xmlns`, or their namespaces, put to another use (Namespaces in XML 1.0 section 3).
    #[error("the prefixes xml and xmlns, and their namespaces, can't be bound anew")]
    ReservedPrefix,
    /// A prefix that is bound to the empty name, or a namespace that is no absolute URI, which has no canonical form.
    #[error("a namespace is not an absolute URI")]
    Namespace,
    /// Something beside the one root element, or no root at all.
    #[error("the document is not one element")]
    NotOneRoot,
}

/// A document that has another shape than its reader needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// An element that may occur once occurs again.
    #[error("there is more than one {0}")]
    Repeated(&'static str),
    /// An element is missing.
    #[error("there is no {0}")]
    Missing(&'static str),
    /// An element that should hold text alone holds elements.
    #[error("an element that should hold text holds other elements")]
    NotText,
}
