//! The information about an application for its users (OpenID Connect Dynamic Client Registration 1.0 section 2). The
//! consent page shows it.

use serde::{Deserialize, Serialize};
use url::Url;

use super::browser_address::browser_address;
use crate::name::display_text;

/// The largest number of contacts of an application.
pub const MOST_CONTACTS: usize = 10;
/// The maximum length of a contact, in bytes. An email address is not longer (RFC 5321 section 4.5.3.1.3).
const LONGEST_CONTACT: usize = 254;

/// The information about an application for its users.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationInformation {
    /// The page about the application's use of the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_uri: Option<InformationUri>,
    /// The terms of service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tos_uri: Option<InformationUri>,
    /// The page about the application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_uri: Option<InformationUri>,
    /// The contacts of the application's owners.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contacts: Vec<Contact>,
    /// The address from which the server fetched the logo. Pages never contain it: they show the stored image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logo_uri: Option<Url>,
}

impl ApplicationInformation {
    /// Whether it has no value.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The address of a page with information about an application. A link on the consent page opens it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InformationUri(Url);

/// A text that is not a valid address of such a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected an address that starts with https://, or http:// on this machine (localhost), without user name"
)]
pub struct InformationUriError;

impl InformationUri {
    /// Parses an address, which must use https or a loopback address.
    ///
    /// # Errors
    /// [`InformationUriError`] for any other text.
    pub fn parse(text: &str) -> Result<Self, InformationUriError> {
        browser_address(text).map(Self).ok_or(InformationUriError)
    }

    /// Returns the address as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns the host to which the link leads, with a port that is not the default of the scheme. An
    /// internationalised name is in A-labels (RFC 5890), so that it cannot look like another one.
    pub fn host(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        match self.0.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }
}

/// A contact of an application: usually an email address, or another text that users read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Contact(String);

/// A text that is not a valid contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected 1 to 254 bytes without control or invisible characters")]
pub struct ContactError;

impl Contact {
    /// Parses a contact. Characters that change the direction of the text are not permitted.
    ///
    /// # Errors
    /// [`ContactError`] for any other text.
    pub fn parse(text: &str) -> Result<Self, ContactError> {
        display_text(text, LONGEST_CONTACT)
            .filter(|text| text.len() <= LONGEST_CONTACT)
            .map(Self)
            .ok_or(ContactError)
    }

    /// Returns the contact as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_at_an_https_or_loopback_address() {
        let long = format!("https://rp.example/{}", "a".repeat(2000));
        for (text, host) in [
            ("https://rp.example/privacy#data", Some("rp.example")),
            ("https://rp.example:8443/", Some("rp.example:8443")),
            ("https://rp.example:443/", Some("rp.example")),
            ("http://localhost:3000/terms", Some("localhost:3000")),
            ("http://[::1]:3000/", Some("[::1]:3000")),
            (
                "https://b\u{fc}cher.example/",
                Some("xn--bcher-kva.example"),
            ),
            ("http://rp.example/", None),
            ("https://ada@rp.example/", None),
            ("https://:secret@rp.example/", None),
            ("javascript:alert(1)", None),
            ("data:text/html,x", None),
            ("//rp.example/", None),
            ("", None),
            (long.as_str(), None),
        ] {
            let parsed = InformationUri::parse(text).ok();
            assert_eq!(parsed.map(|uri| uri.host()).as_deref(), host, "{text}");
        }
    }

    #[test]
    fn a_contact_is_a_short_visible_text() {
        let longest = "a".repeat(254);
        for (text, expected) in [
            (" support@rp.example ", Some("support@rp.example")),
            ("<script>", Some("<script>")),
            (longest.as_str(), Some(longest.as_str())),
            ("", None),
            ("  ", None),
            ("a\nb", None),
            ("\u{202e}support", Some("support")),
            ("support\u{202e}elpmaxe.pr", None),
            ("a\u{2066}b", None),
            (&"a".repeat(255), None),
            (&"\u{fc}".repeat(128), None),
        ] {
            let parsed = Contact::parse(text).ok();
            assert_eq!(parsed.as_ref().map(Contact::as_str), expected, "{text:?}");
        }
    }

    #[test]
    fn stored_applications_without_information_have_none() {
        let empty: ApplicationInformation = serde_json::from_str("{}").unwrap();
        assert!(empty.is_empty());
        assert_eq!(serde_json::to_string(&empty).unwrap(), "{}");
    }
}
