//! The request to sign a user out, and its response. The server both receives and sends them.

use super::names::{LOGOUT_REQUEST, LOGOUT_RESPONSE, SESSION_INDEX};
use super::{Header, MessageError, NameId, Status, instant_text, read};
use crate::xml::{Element, ShapeError, Signer, WriteError};
use assent_model::clock::Timestamp;

/// A request to sign a user out (SAML core section 3.7.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogoutRequest {
    /// The common header.
    pub header: Header,
    /// The time at which the request expires.
    pub not_on_or_after: Option<Timestamp>,
    /// The user to sign out.
    pub name_id: NameId,
    /// The sessions to end. If empty, all sessions of the user. An empty element names no session.
    pub session_indexes: Vec<String>,
    /// The reason, usually a URI.
    pub reason: Option<String>,
}

/// The response to a logout request (SAML core section 3.7.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogoutResponse {
    /// The common header.
    pub header: Header,
    /// The ID of the request.
    pub in_response_to: Option<String>,
    /// The result of the request.
    pub status: Status,
}

impl LogoutRequest {
    /// Reads a request.
    ///
    /// # Errors
    /// [`MessageError::Malformed`] if the request violates the schema or SAML core. [`MessageError::Unsupported`] for
    /// another version, and for a user without a `NameID`.
    pub fn read(root: Element<'_>) -> Result<Self, MessageError> {
        let header = Header::read(root, LOGOUT_REQUEST)?;
        let indexes = root.children().filter(|child| child.is(SESSION_INDEX));
        Ok(Self {
            not_on_or_after: read::moment(root, "NotOnOrAfter")?,
            name_id: NameId::within(root, &header)?.ok_or(ShapeError::Missing("NameID"))?,
            session_indexes: indexes
                .filter_map(|index| read::optional_text(index, "a SessionIndex").transpose())
                .collect::<Result<_, _>>()?,
            // Informative only, so an invalid value is ignored: pysaml2 sends an empty one.
            reason: read::string(root, "Reason").unwrap_or_default(),
            header,
        })
    }

    /// Writes the request. With a signer the request itself is signed, as the POST binding requires. A redirect signs
    /// the query instead.
    ///
    /// # Errors
    /// [`WriteError`]
    pub fn write(&self, signer: Option<&Signer>) -> Result<String, WriteError> {
        let not_on_or_after = self.not_on_or_after.map(instant_text);
        let attributes = [
            ("NotOnOrAfter", not_on_or_after.as_deref()),
            ("Reason", self.reason.as_deref()),
        ];
        self.header
            .write(LOGOUT_REQUEST, signer, attributes, |request| {
                self.name_id.write(request);
                for index in &self.session_indexes {
                    request.open(SESSION_INDEX).text(index);
                }
            })
    }
}

impl LogoutResponse {
    /// Reads a response.
    ///
    /// # Errors
    /// [`MessageError::Malformed`] if the response violates the schema or SAML core, and [`MessageError::Unsupported`]
    /// for another version.
    pub fn read(root: Element<'_>) -> Result<Self, MessageError> {
        Ok(Self {
            header: Header::read(root, LOGOUT_RESPONSE)?,
            in_response_to: read::id(root, "InResponseTo")?,
            status: Status::read(root)?,
        })
    }

    /// Writes the response, as [`LogoutRequest::write`] does.
    ///
    /// # Errors
    /// [`WriteError`]
    pub fn write(&self, signer: Option<&Signer>) -> Result<String, WriteError> {
        let attributes = [("InResponseTo", self.in_response_to.as_deref())];
        self.header
            .write(LOGOUT_RESPONSE, signer, attributes, |response| {
                self.status.write(response);
            })
    }
}
