//! The limits of a document.

/// The maximum size of a document. The complete document is read into memory, and some parts several times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XmlLimits {
    /// The length of the document, and of its canonical form, in bytes.
    pub bytes: usize,
    /// The number of elements and texts.
    pub nodes: usize,
}

impl XmlLimits {
    /// The maximum depth of nested elements.
    pub const DEPTH: usize = 64;
    /// The maximum number of attributes of an element, including declarations of namespaces.
    pub const ATTRIBUTES: usize = 64;
    /// The maximum number of declarations of namespaces that are in scope together.
    pub const NAMESPACES: usize = 64;
    /// The limits of a protocol message. Usually a message has about 3 KB, or 10 KB with a chain of certificates.
    pub const MESSAGE: Self = Self {
        bytes: 128 * 1024,
        nodes: 4_000,
    };
    /// The limits of the metadata of one service provider.
    pub const METADATA: Self = Self {
        bytes: 1024 * 1024,
        nodes: 40_000,
    };
}
