//! Checks a signature, and hands out what it covers.
//!
//! Of XML Signature this takes what SAML allows (SAML core section 5.4), and there only one way to say it: one
//! signature in the document, directly in the root; one reference, to the root; enveloped signature and exclusive
//! canonicalization. So there is no choice about what is signed. What is signed is then read anew from the very bytes
//! whose digest was compared, and nothing else of the document is handed out ("see what is signed", XML-DSig core
//! section 8.1).

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

/// What a trusted key signed: the root element without its signature, read from its canonical form.
#[derive(Clone, Debug)]
pub struct SignedDocument {
    document: Document,
    algorithm: SignatureAlgorithm,
}

impl SignedDocument {
    /// The root element, as it was signed.
    pub fn root(&self) -> Element<'_> {
        self.document.root()
    }

    /// How it was signed.
    pub const fn algorithm(&self) -> SignatureAlgorithm {
        self.algorithm
    }
}

/// Why a signature does not count. The messages hold nothing of the document.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SignatureError {
    /// There is none.
    #[error("the message is not signed")]
    Missing,
    /// There are several, or parts of several.
    #[error("the message has more than one signature")]
    Several,
    /// It is not directly in the root element.
    #[error("the signature is not that of the whole message")]
    Misplaced,
    /// It is made of other parts than the ones that SAML allows.
    #[error("the signature is malformed: {0}")]
    Malformed(&'static str),
    /// It uses an algorithm that is refused.
    #[error(transparent)]
    Algorithm(#[from] AlgorithmError),
    /// It is canonicalized in another way, or what it covers is transformed in another way.
    #[error(
        "a signature is made with the enveloped-signature transform and http://www.w3.org/2001/10/xml-exc-c14n#"
    )]
    Transforms,
    /// It has no reference, or several, or one to something else than the root element.
    #[error("the signature does not refer to the whole message, and to it alone")]
    Reference,
    /// Two elements have one ID.
    #[error("two elements of the message have the same ID")]
    RepeatedId,
    /// No trusted key made it.
    #[error("the signature is not one of the registered certificates'")]
    Untrusted,
    /// The message was changed after it was signed.
    #[error("the message is not the one that was signed")]
    Digest,
    /// Its canonical form is over the limits.
    #[error("what is signed can't be read: {0}")]
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

/// Without the line: it would be one of the canonical form, which nobody sees.
impl From<XmlError> for SignatureError {
    fn from(error: XmlError) -> Self {
        Self::Unreadable(error.problem)
    }
}

impl Document {
    /// Checks the document's signature with the keys that are trusted, and gives what it covers. `KeyInfo` is not
    /// looked at.
    ///
    /// # Errors
    /// [`SignatureError`] unless there is exactly one signature, in the form that SAML demands, by one of the keys,
    /// over this root element.
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

/// The one signature, which stands directly in the root.
fn only_signature(root: Element<'_>) -> Result<Element<'_>, SignatureError> {
    // A part of a second one is a second one: nobody is to take it for a part of the first.
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

/// Refuses two elements with one ID, whichever attribute anybody may take for an ID.
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

/// A signature, taken apart.
struct SignatureElements<'d> {
    signed_info: Element<'d>,
    /// The prefixes of its own canonicalization.
    inclusive: Vec<&'d str>,
    algorithm: SignatureAlgorithm,
    reference: Reference<'d>,
    value: Vec<u8>,
}

/// What the signature covers.
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
            [info, value] if named([info, value], [SIGNED_INFO, SIGNATURE_VALUE]) => (info, value),
            [info, value, key]
                if named([info, value, key], [SIGNED_INFO, SIGNATURE_VALUE, KEY_INFO]) =>
            {
                (info, value)
            }
            _ => {
                return Err(SignatureError::Malformed(
                    "it has SignedInfo, SignatureValue and perhaps KeyInfo",
                ));
            }
        };
        let parts: Vec<_> = signed_info.children().collect();
        let (form, method, references) = match *parts.as_slice() {
            [form, method, ref references @ ..]
                if named([form, method], [CANONICALIZATION_METHOD, SIGNATURE_METHOD]) =>
            {
                (form, method, references)
            }
            _ => {
                return Err(SignatureError::Malformed(
                    "SignedInfo begins with its two methods",
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
            [a, b, c] if named([a, b, c], [TRANSFORMS, DIGEST_METHOD, DIGEST_VALUE]) => (a, b, c),
            _ => {
                return Err(SignatureError::Malformed(
                    "Reference has Transforms, DigestMethod and DigestValue",
                ));
            }
        };
        let parts: Vec<_> = transforms.children().collect();
        let inclusive = match *parts.as_slice() {
            [enveloped, form] if named([enveloped, form], [TRANSFORM, TRANSFORM]) => {
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

    /// Refuses a reference to anything but the root: by its ID, or by the empty URI, which is the whole document.
    fn check_uri(&self, root: Element<'_>) -> Result<(), SignatureError> {
        let is_root = match self.uri.strip_prefix('#') {
            // An ID that is no name could be a pointer, such as #xpointer(/).
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

/// Whether the elements have these names.
fn named<const N: usize>(elements: [Element<'_>; N], names: [super::Name; N]) -> bool {
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

/// The algorithm of a method that takes no parameters.
fn algorithm_of_leaf(method: Element<'_>) -> Result<&str, SignatureError> {
    if method.children().next().is_some() {
        return Err(SignatureError::Malformed("a method has parameters"));
    }
    algorithm_of(method)
}

/// The prefixes that an exclusive canonicalization takes as inclusive. Every other method is refused, the one that
/// keeps comments too.
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

/// The bytes that an element holds in base64, which may be in lines.
fn bytes(element: Element<'_>) -> Result<Vec<u8>, SignatureError> {
    let text: String = element.text()?.chars().filter(|c| !is_space(*c)).collect();
    STANDARD
        .decode(text)
        .map_err(|_| SignatureError::Malformed("a value is not in base64"))
}

#[cfg(test)]
mod tests;
