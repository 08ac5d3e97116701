//! The parameters that carry a message, as received octets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode;

use super::kind::{RELAY_STATE, RELAY_STATE_BYTES};
use super::{BindingError, MessageKind};
use crate::xml::{Document, XmlLimits, to_utf8};

/// The known parameters of a query or a form, each at most once. Unknown parameters are ignored, because intermediate
/// systems add their own.
#[derive(Debug)]
pub(super) struct MessageParameters<'q>(Vec<(&'static str, &'q [u8])>);

impl<'q> MessageParameters<'q> {
    /// Finds the message, the relay state, and those of the `others` that are present.
    ///
    /// # Errors
    /// [`BindingError::Repeated`]. Names are compared after percent-decoding, so an encoded name counts as a
    /// repetition.
    pub(super) fn find(encoded: &'q [u8], others: &[&'static str]) -> Result<Self, BindingError> {
        let own = [
            MessageKind::Request.parameter(),
            MessageKind::Response.parameter(),
            RELAY_STATE,
        ];
        let mut found: Vec<(&str, &[u8])> = Vec::new();
        for pair in encoded.split(|byte| *byte == b'&') {
            let mut halves = pair.splitn(2, |byte| *byte == b'=');
            let name = halves.next().unwrap_or_default();
            let mut known = own.iter().chain(others);
            let Some(known) = known.find(|known| percent_decode(name).eq(known.bytes())) else {
                continue;
            };
            if found.iter().any(|(name, _)| name == known) {
                return Err(BindingError::Repeated(known));
            }
            found.push((known, halves.next().unwrap_or_default()));
        }
        Ok(Self(found))
    }

    /// Returns the received octets of a value.
    pub(super) fn raw(&self, name: &str) -> Option<&'q [u8]> {
        self.0
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| *value)
    }

    /// Returns a percent-decoded value, in which `+` is a space.
    ///
    /// # Errors
    /// [`BindingError::Escape`]
    pub(super) fn decode(&self, name: &'static str) -> Result<Option<Vec<u8>>, BindingError> {
        let Some(raw) = self.raw(name) else {
            return Ok(None);
        };
        let is_escape = |after: &[u8]| matches!(after, [a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit());
        if !raw.split(|byte| *byte == b'%').skip(1).all(is_escape) {
            return Err(BindingError::Escape(name));
        }
        let spaced: Vec<u8> = raw
            .iter()
            .map(|byte| if *byte == b'+' { b' ' } else { *byte })
            .collect();
        Ok(Some(percent_decode(&spaced).collect()))
    }

    /// Returns the base64-decoded value. White space is ignored, because some senders break the value into lines,
    /// contrary to the standard.
    ///
    /// # Errors
    /// [`BindingError::Base64`], and [`BindingError::TooLong`] for a value that exceeds every message.
    pub(super) fn base64(&self, name: &'static str) -> Result<Option<Vec<u8>>, BindingError> {
        let Some(mut text) = self.decode(name)? else {
            return Ok(None);
        };
        text.retain(|byte| !byte.is_ascii_whitespace());
        // Rejected before decoding, because it cannot be a message. Padding accounts for up to three bytes.
        if text.len() / 4 * 3 > XmlLimits::MESSAGE.bytes.saturating_add(3) {
            return Err(BindingError::TooLong);
        }
        STANDARD
            .decode(text)
            .map(Some)
            .map_err(|_| BindingError::Base64(name))
    }

    /// Returns whether the parameters contain a request or a response.
    ///
    /// # Errors
    /// [`BindingError::Missing`] or [`BindingError::Both`]
    pub(super) fn kind(&self) -> Result<MessageKind, BindingError> {
        match (
            self.raw(MessageKind::Request.parameter()),
            self.raw(MessageKind::Response.parameter()),
        ) {
            (Some(_), None) => Ok(MessageKind::Request),
            (None, Some(_)) => Ok(MessageKind::Response),
            (Some(_), Some(_)) => Err(BindingError::Both),
            (None, None) => Err(BindingError::Missing),
        }
    }

    /// Returns the base64-decoded message, which may still be compressed.
    pub(super) fn message(&self) -> Result<(MessageKind, Vec<u8>), BindingError> {
        let kind = self.kind()?;
        Ok((
            kind,
            self.base64(kind.parameter())?
                .ok_or(BindingError::Missing)?,
        ))
    }

    /// Returns the relay state.
    ///
    /// # Errors
    /// [`BindingError::RelayStateTooLong`] or [`BindingError::RelayStateEncoding`], because a modified relay state is
    /// useless to its sender.
    pub(super) fn relay_state(&self) -> Result<Option<String>, BindingError> {
        let Some(bytes) = self.decode(RELAY_STATE)? else {
            return Ok(None);
        };
        if bytes.len() > RELAY_STATE_BYTES {
            return Err(BindingError::RelayStateTooLong);
        }
        String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| BindingError::RelayStateEncoding)
    }
}

/// Reads a message's XML, which may be in UTF-16 or ISO 8859-1.
pub(super) fn document(bytes: &[u8]) -> Result<Document, BindingError> {
    Ok(Document::read(&to_utf8(bytes)?, XmlLimits::MESSAGE)?)
}
