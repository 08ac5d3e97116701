//! What became of a request.

use super::names::{STATUS, STATUS_CODE, STATUS_MESSAGE};
use super::{FormError, read};
use crate::xml::{Element, Writer};

/// It was done.
pub const SUCCESS: &str = "urn:oasis:names:tc:SAML:2.0:status:Success";
/// It was not, for something that the one who asked did.
pub const REQUESTER: &str = "urn:oasis:names:tc:SAML:2.0:status:Requester";
/// It was not, for something here.
pub const RESPONDER: &str = "urn:oasis:names:tc:SAML:2.0:status:Responder";
/// It was not, for the version of the message.
pub const VERSION_MISMATCH: &str = "urn:oasis:names:tc:SAML:2.0:status:VersionMismatch";
/// Second level: not all who should have signed the person out did.
pub const PARTIAL_LOGOUT: &str = "urn:oasis:names:tc:SAML:2.0:status:PartialLogout";
/// Second level: no user here has the name of the request in its format.
pub const UNKNOWN_PRINCIPAL: &str = "urn:oasis:names:tc:SAML:2.0:status:UnknownPrincipal";
/// Second level: what was asked for is not supported.
pub const REQUEST_UNSUPPORTED: &str = "urn:oasis:names:tc:SAML:2.0:status:RequestUnsupported";

/// What became of a request (SAML core section 3.2.2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// One of the four of the first level, a URI.
    pub code: String,
    /// Why, as a URI.
    pub second: Option<String>,
    /// Why, in words.
    pub message: Option<String>,
}

impl Status {
    /// A status without words.
    pub fn new(code: &str, second: Option<&str>) -> Self {
        Self {
            code: code.to_owned(),
            second: second.map(str::to_owned),
            message: None,
        }
    }

    /// That it was done.
    pub fn success() -> Self {
        Self::new(SUCCESS, None)
    }

    /// That the person is signed out here, and perhaps not everywhere (SAML core section 3.7.3.2).
    pub fn partial_logout() -> Self {
        Self::new(SUCCESS, Some(PARTIAL_LOGOUT))
    }

    /// Whether it was done, if only in part.
    pub fn is_success(&self) -> bool {
        self.code == SUCCESS
    }

    /// Reads the status of a response. Levels below the second say nothing that anybody defined.
    pub(super) fn read(response: Element<'_>) -> Result<Self, FormError> {
        let status = response.child(STATUS)?;
        let code = status.child(STATUS_CODE)?;
        let value = |code| read::required("Value", read::uri(code, "Value")?);
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
