//! The HTTP Redirect binding (SAML bindings section 3.4). Its signature covers the octets of the query. The octets are
//! stored as received, because two encoders seldom encode a text identically.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::deflate::{deflate, inflate};
use super::incoming::{Incoming, MessageCarrier};
use super::kind::RELAY_STATE;
use super::parameters::{MessageParameters, document};
use super::{BindingError, MessageKind, SendError};
use crate::binding::detached::{ALGORITHM, Detached, SIGNATURE};
use crate::xml::{Signer, XmlLimits};
use assent_model::secret::Digest;

const ENCODING: &str = "SAMLEncoding";
/// The only supported encoding (SAML bindings section 3.4.4.1).
const DEFLATE: &[u8] = b"urn:oasis:names:tc:SAML:2.0:bindings:URL-Encoding:DEFLATE";
/// All characters except the unreserved ones (RFC 3986 section 2.3).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

impl Incoming {
    /// Reads a query: the received text after the `?`, unchanged.
    ///
    /// # Errors
    /// [`BindingError`] unless the query contains exactly one message, the message is XML, and the signature is
    /// complete or absent.
    pub fn read_redirect(query: &[u8]) -> Result<Self, BindingError> {
        let parameters = MessageParameters::find(query, &[ENCODING, ALGORITHM, SIGNATURE])?;
        if parameters
            .decode(ENCODING)?
            .is_some_and(|encoding| encoding != DEFLATE)
        {
            return Err(BindingError::Encoding);
        }
        let (kind, compressed) = parameters.message()?;
        let relay_state = parameters.relay_state()?;
        let detached = Detached::from_query(&parameters, kind)?;
        let message = inflate(&compressed, XmlLimits::MESSAGE.bytes)?;
        Ok(Self {
            kind,
            relay_state,
            document: document(&message)?,
            digest: Digest::sha256(&message),
            carrier: MessageCarrier::Redirect(detached),
        })
    }
}

/// Returns the redirect address for a message: `url` (without a fragment) with the message added to its query. With a
/// signer the query is signed, and the message must contain no signature.
///
/// # Errors
/// [`SendError`]
pub fn redirect_location(
    url: &str,
    kind: MessageKind,
    xml: &str,
    relay_state: Option<&str>,
    signer: Option<&Signer>,
) -> Result<String, SendError> {
    let message = STANDARD.encode(deflate(xml.as_bytes())?);
    let mut query = parameter(kind.parameter(), &message);
    if let Some(relay_state) = relay_state {
        query = format!("{query}&{}", parameter(RELAY_STATE, relay_state));
    }
    if let Some(signer) = signer {
        query = format!("{query}&{}", parameter(ALGORITHM, Signer::ALGORITHM.uri()));
        let signature = STANDARD.encode(signer.sign(query.as_bytes())?);
        query = format!("{query}&{}", parameter(SIGNATURE, &signature));
    }
    let mark = if url.contains('?') { '&' } else { '?' };
    Ok(format!("{url}{mark}{query}"))
}
pub(super) fn parameter(name: &str, value: &str) -> String {
    format!("{name}={}", utf8_percent_encode(value, ESCAPED))
}
