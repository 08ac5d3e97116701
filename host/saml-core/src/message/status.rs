//! The results of requests.

use super::names::{STATUS, STATUS_CODE, STATUS_MESSAGE};
use super::{FormError, read};
use crate::xml::{Element, Writer};

/// The request succeeded.
pub const SUCCESS: &str = "urn:oasis:names:tc:SAML:2.0:status:Success";
/// The request failed because of an error of the requester.
pub const REQUESTER: &str = "urn:oasis:names:tc:SAML:2.0:status:Requester";
/// The request failed because of an error of the responder.
pub const RESPONDER: &str = "urn:oasis:names:tc:SAML:2.0:status:Responder";
/// The request failed because of its version.
pub const VERSION_MISMATCH: &str = "urn:oasis:names:tc:SAML:2.0:status:VersionMismatch";
/// Second level: not all session participants completed the logout.
pub const PARTIAL_LOGOUT: &str = "urn:oasis:names:tc:SAML:2.0:status:PartialLogout";
/// Second level: no user has the requested identifier in its format.
pub const UNKNOWN_PRINCIPAL: &str = "urn:oasis:names:tc:SAML:2.0:status:UnknownPrincipal";
/// Second level: the requested feature is not supported.
pub const REQUEST_UNSUPPORTED: &str = "urn:oasis:names:tc:SAML:2.0:status:RequestUnsupported";

/// The result of a request (SAML core section 3.2.2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// One of the four codes of the first level: a URI.
    pub code: String,
    /// The detailed code: a URI.
    pub second: Option<String>,
    /// The reason as a text.
    pub message: Option<String>,
}

impl Status {
    /// Returns a status without a message.
    pub fn new(code: &str, second: Option<&str>) -> Self {
        Self {
            code: code.to_owned(),
            second: second.map(str::to_owned),
            message: None,
        }
    }

    /// Returns the status of a successful request.
    pub fn success() -> Self {
        Self::new(SUCCESS, None)
    }

    /// Returns the status of a logout that may not have reached every session participant (SAML core section 3.7.3.2).
    pub fn partial_logout() -> Self {
        Self::new(SUCCESS, Some(PARTIAL_LOGOUT))
    }

    /// Whether the request succeeded, at least in part.
    pub fn is_success(&self) -> bool {
        self.code == SUCCESS
    }

    /// Reads the status of a response. Levels below the second are ignored, because SAML core does not define any.
    pub(super) fn read(response: Element<'_>) -> Result<Self, FormError> {
        let status = response.child(STATUS)?;
        let code = status.child(STATUS_CODE)?;
        let value = |code| read::require("Value", read::uri(code, "Value")?);
        Ok(Self {
            code: value(code)?,
            second: code.optional_child(STATUS_CODE)?.map(value).transpose()?,
            message: status
                .optional_child(STATUS_MESSAGE)?
                .map(|text| text.text().map(str::to_owned))
                .transpose()?,
        })
    }

    /// Writes `samlp:Status`.
    pub fn write(&self, writer: &mut Writer) {
        writer.open(STATUS).content(|status| {
            status
                .open(STATUS_CODE)
                .attribute("Value", self.code.as_str())
                .content(|code| {
                    if let Some(second) = &self.second {
                        code.open(STATUS_CODE)
                            .attribute("Value", second.as_str())
                            .empty();
                    }
                });
            if let Some(message) = &self.message {
                status.open(STATUS_MESSAGE).text(message);
            }
        });
    }
}
