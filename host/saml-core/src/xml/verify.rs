//! Checks a signature, and returns the signed content.
//!
//! The check accepts a strict subset of the XML signatures that SAML allows (SAML core section 5.4). A document must
//! have one signature, directly in the root. It must have one reference, to the root, with the transforms enveloped
//! signature and exclusive canonicalization. So the signed content is unambiguous. The content is then read again from
//! the same bytes that the digest covers. No other part of the document is returned ("see what is signed", XML-DSig
//! core section 8.1).

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use openssl::error::ErrorStack;

use super::algorithm::{AlgorithmError, DigestAlgorithm, SignatureAlgorithm, TrustedKey};
use super::c14n::canonical;
use super::chars::{is_ncname, is_space};
use super::error::{ShapeError, XmlError, XmlProblem};
use super::names::{
    CANONICALIZATION_METHOD, DIGEST_METHOD, DIGEST_VALUE, ENVELOPED_SIGNATURE, EXC_C14N,
    INCLUSIVE_NAMESPACES, KEY_INFO, REFERENCE, SIGNATURE, SIGNATURE_METHOD, SIGNATURE_VALUE,
    SIGNED_INFO, TRANSFORM, TRANSFORMS,
};
use super::tree::{Document, Element};

/// The content that a trusted key signed: the root element without its signature, read from its canonical form.
#[derive(Clone, Debug)]
pub struct SignedDocument {
    document: Document,
    algorithm: SignatureAlgorithm,
}

impl SignedDocument {
    /// Returns the root element of the signed content.
    pub fn root(&self) -> Element<'_> {
        self.document.root()
    }

    /// Returns the signature algorithm.
    pub const fn algorithm(&self) -> SignatureAlgorithm {
        self.algorithm
    }
}

/// The reasons to reject a signature. The texts contain no part of the document.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SignatureError {
    /// The document has no signature.
    #[error("the message is not signed")]
    Missing,
    /// The document has several signatures, or parts of several.
    #[error("the message has more than one signature")]
    Several,
    /// The signature is not directly in the root element.
    #[error("the signature does not cover the whole message")]
    Misplaced,
    /// The signature has other elements than SAML allows.
    #[error("the signature is malformed: {0}")]
    Malformed(&'static str),
    /// The signature uses a rejected algorithm.
    #[error(transparent)]
    Algorithm(#[from] AlgorithmError),
    /// The signature uses another canonicalization or other transforms.
    #[error(
        "a signature must use the enveloped-signature transform and http://www.w3.org/2001/10/xml-exc-c14n#"
    )]
    Transforms,
    /// The signature has no reference, several references, or a reference to another element than the root.
    #[error("the signature must have exactly one reference, to the whole message")]
    Reference,
    /// Two elements have the same ID.
    #[error("two elements of the message have the same ID")]
    RepeatedId,
    /// No trusted key created the signature.
    #[error("the signature was not made with a registered certificate")]
    Untrusted,
    /// The message was changed after it was signed.
    #[error("the message was changed after it was signed")]
    Digest,
    /// The canonical form exceeds the limits.
    #[error("the signed content cannot be read: {0}")]
    Unreadable(#[from] XmlProblem),
    /// OpenSSL failed.
    #[error("the signature could not be checked: {0}")]
    Broken(#[from] ErrorStack),
}

impl From<ShapeError> for SignatureError {
    fn from(_: ShapeError) -> Self {
        Self::Malformed("an element that should hold text holds other elements")
    }
}

/// Omits the line, because it refers to the internal canonical form.
impl From<XmlError> for SignatureError {
    fn from(error: XmlError) -> Self {
        Self::Unreadable(error.problem)
    }
}

impl Document {
    /// Checks the document's signature with the trusted keys, and returns the signed content. `KeyInfo` is ignored.
    ///
    /// # Errors
    /// [`SignatureError`] unless the document has exactly one signature over this root element, in the form that SAML
    /// requires, by one of the keys.
    pub fn verify(&self, keys: &[TrustedKey]) -> Result<SignedDocument, SignatureError> {
        let root = self.root();
        let signature = only_signature(root)?;
        check_ids(root)?;
        let parts = SignatureElements::read(signature)?;
        parts.reference.check_uri(root)?;

        let signed_info = canonical(parts.signed_info, &parts.inclusive, None)?;
        let is_trusted =
            |key: &TrustedKey| key.verifies(parts.algorithm, signed_info.as_bytes(), &parts.value);
        if !keys.iter().any(is_trusted) {
            return Err(SignatureError::Untrusted);
        }
        let covered = canonical(root, &parts.reference.inclusive, Some(signature))?;
        if parts.reference.algorithm.digest(covered.as_bytes())? != parts.reference.digest {
            return Err(SignatureError::Digest);
        }
        let document = Self::read(covered.as_bytes(), self.limits)?;
        Ok(SignedDocument {
            document,
            algorithm: parts.algorithm,
        })
    }
}

/// Returns the only signature, which is directly in the root.
fn only_signature(root: Element<'_>) -> Result<Element<'_>, SignatureError> {
    // A part of a second signature counts as a second one, so that no reader can confuse it with a part of the first.
    let mut found = root.descendants().filter(|element| element.is(SIGNATURE));
    let first = found.next().ok_or(SignatureError::Missing)?;
    let infos = root
        .descendants()
        .filter(|element| element.is(SIGNED_INFO))
        .count();
    if found.next().is_some() || infos > 1 {
        return Err(SignatureError::Several);
    }
    let is_direct = root.children().any(|child| child.is_same(first));
    if is_direct {
        Ok(first)
    } else {
        Err(SignatureError::Misplaced)
    }
}

/// Rejects two elements with the same ID, for every attribute that a reader could interpret as an ID.
fn check_ids(root: Element<'_>) -> Result<(), SignatureError> {
    let mut ids = HashSet::new();
    for element in root.descendants() {
        let mut own = element
            .node
            .attributes
            .iter()
            .filter(|attribute| attribute.local.eq_ignore_ascii_case("id"));
        if !own.all(|attribute| ids.insert(&*attribute.value)) {
            return Err(SignatureError::RepeatedId);
        }
    }
    Ok(())
}

/// The parsed elements of a signature.
struct SignatureElements<'d> {
    signed_info: Element<'d>,
    /// The inclusive prefixes for the canonicalization of `SignedInfo`.
    inclusive: Vec<&'d str>,
    algorithm: SignatureAlgorithm,
    reference: Reference<'d>,
    value: Vec<u8>,
}

/// The reference to the signed content.
struct Reference<'d> {
    uri: &'d str,
    inclusive: Vec<&'d str>,
    algorithm: DigestAlgorithm,
    digest: Vec<u8>,
}

impl<'d> SignatureElements<'d> {
    fn read(signature: Element<'d>) -> Result<Self, SignatureError> {
        let parts: Vec<_> = signature.children().collect();
        let (signed_info, value) = match *parts.as_slice() {
            [info, value] if have_names([info, value], [SIGNED_INFO, SIGNATURE_VALUE]) => {
                (info, value)
            }
            [info, value, key]
                if have_names([info, value, key], [SIGNED_INFO, SIGNATURE_VALUE, KEY_INFO]) =>
            {
                (info, value)
            }
            _ => {
                return Err(SignatureError::Malformed(
                    "it must have SignedInfo, SignatureValue and optionally KeyInfo",
                ));
            }
        };
        let parts: Vec<_> = signed_info.children().collect();
        let (form, method, references) = match *parts.as_slice() {
            [form, method, ref references @ ..]
                if have_names([form, method], [CANONICALIZATION_METHOD, SIGNATURE_METHOD]) =>
            {
                (form, method, references)
            }
            _ => {
                return Err(SignatureError::Malformed(
                    "SignedInfo must begin with its two methods",
                ));
            }
        };
        let reference = match *references {
            [reference] if reference.is(REFERENCE) => Reference::read(reference)?,
            _ => return Err(SignatureError::Reference),
        };
        let algorithm = SignatureAlgorithm::from_uri(algorithm_of_leaf(method)?)?;
        Ok(Self {
            signed_info,
            inclusive: exclusive_form(form)?,
            algorithm,
            reference,
            value: bytes(value)?,
        })
    }
}

impl<'d> Reference<'d> {
    fn read(reference: Element<'d>) -> Result<Self, SignatureError> {
        let parts: Vec<_> = reference.children().collect();
        let (transforms, method, value) = match *parts.as_slice() {
            [a, b, c] if have_names([a, b, c], [TRANSFORMS, DIGEST_METHOD, DIGEST_VALUE]) => {
                (a, b, c)
            }
            _ => {
                return Err(SignatureError::Malformed(
                    "Reference must have Transforms, DigestMethod and DigestValue",
                ));
            }
        };
        let parts: Vec<_> = transforms.children().collect();
        let inclusive = match *parts.as_slice() {
            [enveloped, form] if have_names([enveloped, form], [TRANSFORM, TRANSFORM]) => {
                if algorithm_of_leaf(enveloped)? != ENVELOPED_SIGNATURE {
                    return Err(SignatureError::Transforms);
                }
                exclusive_form(form)?
            }
            _ => return Err(SignatureError::Transforms),
        };
        let uri = reference
            .attribute("URI")
            .ok_or(SignatureError::Reference)?;
        let algorithm = DigestAlgorithm::from_uri(algorithm_of_leaf(method)?)?;
        Ok(Self {
            uri,
            inclusive,
            algorithm,
            digest: bytes(value)?,
        })
    }

    /// Rejects a reference to another element than the root. The root is referenced by its ID, or by the empty URI,
    /// which means the complete document.
    fn check_uri(&self, root: Element<'_>) -> Result<(), SignatureError> {
        let is_root = match self.uri.strip_prefix('#') {
            // An ID that is not a name could be an XPointer, such as `#xpointer(/)`.
            Some(id) => is_ncname(id) && root.attribute("ID") == Some(id),
            None => self.uri.is_empty(),
        };
        if is_root {
            Ok(())
        } else {
            Err(SignatureError::Reference)
        }
    }
}

fn have_names<const N: usize>(elements: [Element<'_>; N], names: [super::Name; N]) -> bool {
    elements
        .into_iter()
        .zip(names)
        .all(|(element, name)| element.is(name))
}

fn algorithm_of(method: Element<'_>) -> Result<&str, SignatureError> {
    method
        .attribute("Algorithm")
        .ok_or(SignatureError::Malformed("a method has no Algorithm"))
}

/// Returns the algorithm of a method without parameters.
fn algorithm_of_leaf(method: Element<'_>) -> Result<&str, SignatureError> {
    if method.children().next().is_some() {
        return Err(SignatureError::Malformed("a method has parameters"));
    }
    algorithm_of(method)
}

/// Returns the inclusive prefixes of an exclusive canonicalization. Every other method is rejected, including the one
/// with comments.
fn exclusive_form(method: Element<'_>) -> Result<Vec<&str>, SignatureError> {
    if algorithm_of(method)? != EXC_C14N.uri {
        return Err(SignatureError::Transforms);
    }
    let parameters: Vec<_> = method.children().collect();
    match *parameters.as_slice() {
        [] => Ok(Vec::new()),
        [list] if list.is(INCLUSIVE_NAMESPACES) && list.children().next().is_none() => Ok(list
            .attribute("PrefixList")
            .unwrap_or_default()
            .split_ascii_whitespace()
            .collect()),
        _ => Err(SignatureError::Transforms),
    }
}

/// Decodes the base64 content of an element, which may contain line breaks.
fn bytes(element: Element<'_>) -> Result<Vec<u8>, SignatureError> {
    let text: String = element.text()?.chars().filter(|c| !is_space(*c)).collect();
    STANDARD
        .decode(text)
        .map_err(|_| SignatureError::Malformed("a value is not in base64"))
}

#[cfg(test)]
mod tests;
