//! The HTTP Redirect binding (SAML bindings section 3.4). Its signature is over the octets of the query, so these are
//! kept as they came: two encoders seldom make the same of a text.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::deflate::{deflate, inflate};
use super::incoming::{Incoming, MessageCarrier};
use super::parameters::{MessageParameters, document};
use super::relay_state::RELAY_STATE;
use super::{BindingError, MessageKind, SendError};
use crate::binding::detached::{ALGORITHM, Detached, SIGNATURE};
use crate::xml::{Signer, XmlLimits};

const ENCODING: &str = "SAMLEncoding";
/// The one encoding (SAML bindings section 3.4.4.1).
const DEFLATE: &[u8] = b"urn:oasis:names:tc:SAML:2.0:bindings:URL-Encoding:DEFLATE";
/// All but the unreserved characters (RFC 3986 section 2.3).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

impl Incoming {
    /// Reads a query: what stands after the `?`, exactly as it came.
    ///
    /// # Errors
    /// [`BindingError`] unless there is one message that is XML, signed wholly or not at all.
    pub fn read_redirect(query: &[u8]) -> Result<Self, BindingError> {
        let parameters = MessageParameters::find(query, &[ENCODING, ALGORITHM, SIGNATURE])?;
        if parameters
            .decoded(ENCODING)?
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
            carrier: MessageCarrier::Redirect(detached),
        })
    }
}

/// The address that a browser is sent to with a message: `url`, which has no fragment, with the message added to its
/// query. With a signer the query is signed, and then the message has no signature in it.
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
