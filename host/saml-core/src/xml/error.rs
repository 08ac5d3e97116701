//! The reasons to reject a document.

/// The rejection of a complete document: no part of it can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct XmlError {
    /// The reason.
    pub problem: XmlProblem,
    /// The line where reading stopped, from 1.
    pub line: usize,
}

/// The reason to reject a document. The texts contain no part of the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum XmlProblem {
    /// The document exceeds [`XmlLimits::bytes`](super::XmlLimits).
    #[error("the document is too long")]
    TooLong,
    /// The document exceeds [`XmlLimits::nodes`](super::XmlLimits).
    #[error("the document has too many elements and texts")]
    TooManyNodes,
    /// The document exceeds [`XmlLimits::DEPTH`](super::XmlLimits::DEPTH).
    #[error("the elements are nested too deeply")]
    TooDeep,
    /// An element exceeds [`XmlLimits::ATTRIBUTES`](super::XmlLimits::ATTRIBUTES).
    #[error("an element has too many attributes")]
    TooManyAttributes,
    /// The declarations exceed [`XmlLimits::NAMESPACES`](super::XmlLimits::NAMESPACES).
    #[error("too many namespaces are declared at once")]
    TooManyNamespaces,
    /// The document is in none of the supported encodings, or its bytes are not valid in the declared one.
    #[error("the document is not in UTF-8, UTF-16 or ISO-8859-1")]
    Encoding,
    /// A character that XML does not allow (XML 1.0 section 2.2), literal or as a reference.
    #[error("there is a character that XML does not allow")]
    Character,
    /// An XML declaration that is malformed, misplaced, or of another version.
    #[error("the XML declaration is not one of XML 1.0 at the beginning")]
    Declaration,
    /// A document type declaration. The reader never accepts one.
    #[error("a DOCTYPE is not allowed")]
    Doctype,
    /// A processing instruction.
    #[error("a processing instruction is not allowed")]
    Instruction,
    /// A comment within text, as in `<NameID>ada@example.org<!-- -->.example.com</NameID>`.
    #[error("a comment in the middle of text is not allowed")]
    CommentInText,
    /// An entity other than the five predefined ones.
    #[error("an entity other than &lt; &gt; &amp; &apos; &quot; is not allowed")]
    Entity,
    /// A tag, comment or section that is malformed or not closed.
    #[error("the document is not well-formed")]
    Syntax,
    /// An end tag that does not match, or is missing.
    #[error("the end tags do not match the start tags")]
    Tags,
    /// A name with an invalid character, or with two colons.
    #[error("an element or attribute has a malformed name")]
    Name,
    /// An attribute without a quoted value, or without white space before it.
    #[error("an attribute is malformed")]
    Attribute,
    /// Two attributes of an element have the same name, or the same namespace and local name.
    #[error("an attribute is repeated")]
    RepeatedAttribute,
    /// A prefix without a bound namespace.
    #[error("a prefix is bound to no namespace")]
    UnboundPrefix,
    /// `xml` or `xmlns`, or their namespaces, are bound differently (Namespaces in XML 1.0 section 3).
    #[error(
        "the prefixes xml and xmlns and their namespaces are reserved and cannot be bound again"
    )]
    ReservedPrefix,
    /// A prefix that is bound to the empty name, or a namespace that is not an absolute URI and so has no canonical
    /// form.
    #[error("a namespace is not an absolute URI")]
    Namespace,
    /// Content outside the root element, or no root element.
    #[error("the document is not one element")]
    NotOneRoot,
}

/// A mismatch between a document and the structure that its reader expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// An element that may occur only once is repeated.
    #[error("there is more than one {0}")]
    Repeated(&'static str),
    /// An element is missing.
    #[error("there is no {0}")]
    Missing(&'static str),
    /// An element that should contain only text contains elements.
    #[error("an element that should hold text holds other elements")]
    NotText,
}
