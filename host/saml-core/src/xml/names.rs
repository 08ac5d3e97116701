//! The known names of elements and attributes. They are constants, so that no input can become a name.

/// A namespace with its prefix in written documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// The prefix for [`Writer`](super::Writer). Readers ignore it.
    pub prefix: &'static str,
    /// The namespace's name, an absolute URI.
    pub uri: &'static str,
}

impl Namespace {
    /// Returns a namespace with its usual prefix.
    pub const fn new(prefix: &'static str, uri: &'static str) -> Self {
        Self { prefix, uri }
    }

    /// Returns a name in this namespace.
    pub const fn name(self, local: &'static str) -> Name {
        Name {
            namespace: self,
            local,
        }
    }
}

/// The name of an element, or of an attribute in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// The namespace.
    pub namespace: Namespace,
    /// The local name, an `NCName`.
    pub local: &'static str,
}

/// The namespace of the prefix `xml` (Namespaces in XML 1.0 section 3).
pub(super) const XML_URI: &str = "http://www.w3.org/XML/1998/namespace";
/// The namespace of the prefix `xmlns`.
pub(super) const XMLNS_URI: &str = "http://www.w3.org/2000/xmlns/";

/// XML Signature (XML-DSig core section 1.3).
pub const DSIG: Namespace = Namespace::new("ds", "http://www.w3.org/2000/09/xmldsig#");
/// Exclusive XML Canonicalization: both the algorithm without comments, and the namespace of its parameter.
pub const EXC_C14N: Namespace = Namespace::new("ec", "http://www.w3.org/2001/10/xml-exc-c14n#");
/// XML Schema, for the names of types.
pub const XS: Namespace = Namespace::new("xs", "http://www.w3.org/2001/XMLSchema");
/// XML Schema's own attributes, such as `xsi:type`.
pub const XSI: Namespace = Namespace::new("xsi", "http://www.w3.org/2001/XMLSchema-instance");

pub(super) const SIGNATURE: Name = DSIG.name("Signature");
pub(super) const SIGNED_INFO: Name = DSIG.name("SignedInfo");
pub(super) const CANONICALIZATION_METHOD: Name = DSIG.name("CanonicalizationMethod");
pub(super) const SIGNATURE_METHOD: Name = DSIG.name("SignatureMethod");
pub(super) const REFERENCE: Name = DSIG.name("Reference");
pub(super) const TRANSFORMS: Name = DSIG.name("Transforms");
pub(super) const TRANSFORM: Name = DSIG.name("Transform");
pub(super) const DIGEST_METHOD: Name = DSIG.name("DigestMethod");
pub(super) const DIGEST_VALUE: Name = DSIG.name("DigestValue");
pub(super) const SIGNATURE_VALUE: Name = DSIG.name("SignatureValue");
pub(super) const KEY_INFO: Name = DSIG.name("KeyInfo");
pub(super) const X509_DATA: Name = DSIG.name("X509Data");
pub(super) const X509_CERTIFICATE: Name = DSIG.name("X509Certificate");
pub(super) const INCLUSIVE_NAMESPACES: Name = EXC_C14N.name("InclusiveNamespaces");

/// The transform that omits the enclosing signature (XML-DSig core section 6.6.4).
pub(super) const ENVELOPED_SIGNATURE: &str =
    "http://www.w3.org/2000/09/xmldsig#enveloped-signature";
