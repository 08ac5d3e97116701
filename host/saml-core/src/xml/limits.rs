//! The limits of a document.

/// How much a document may be. All of it is read into memory, and some of it several times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XmlLimits {
    /// The length of the document, and of its canonical form, in bytes.
    pub bytes: usize,
    /// How many elements and texts there are.
    pub nodes: usize,
}

impl XmlLimits {
    /// How deeply elements may stand in each other.
    pub const DEPTH: usize = 64;
    /// How many attributes an element may have, declarations of namespaces among them.
    pub const ATTRIBUTES: usize = 64;
    /// How many declarations of namespaces may be in force at once.
    pub const NAMESPACES: usize = 64;
    /// For a protocol message, which has about 3 KB, or 10 KB with a chain of certificates.
    pub const MESSAGE: Self = Self {
        bytes: 128 * 1024,
        nodes: 4_000,
    };
    /// For the metadata of one service provider.
    pub const METADATA: Self = Self {
        bytes: 1024 * 1024,
        nodes: 40_000,
    };
}
