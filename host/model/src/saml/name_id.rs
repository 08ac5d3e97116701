//! The identifiers of users for service providers (SAML core section 8.3).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// A supported NameID format (SAML core section 8.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum NameIdFormat {
    /// An email address.
    #[default]
    EmailAddress,
    /// The same opaque identifier at each sign-on, different for each service provider.
    Persistent,
    /// An opaque identifier that is valid for one session.
    Transient,
    /// An identifier that both parties agreed on.
    Unspecified,
}

impl NameIdFormat {
    /// All formats.
    pub const ALL: [Self; 4] = [
        Self::EmailAddress,
        Self::Persistent,
        Self::Transient,
        Self::Unspecified,
    ];

    /// Returns the URI.
    pub const fn uri(self) -> &'static str {
        match self {
            Self::EmailAddress => "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress",
            Self::Persistent => "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent",
            Self::Transient => "urn:oasis:names:tc:SAML:2.0:nameid-format:transient",
            Self::Unspecified => "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified",
        }
    }

    /// Returns the format with this URI. The first edition of the standard named `unspecified` for SAML 2.0, and
    /// programs still send that name; some send `emailAddress` in the same way.
    pub fn from_uri(uri: &str) -> Option<Self> {
        match uri {
            "urn:oasis:names:tc:SAML:2.0:nameid-format:unspecified" => Some(Self::Unspecified),
            "urn:oasis:names:tc:SAML:2.0:nameid-format:emailAddress" => Some(Self::EmailAddress),
            uri => Self::ALL.into_iter().find(|format| format.uri() == uri),
        }
    }
}

/// The source of the NameID in formats that are not opaque.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum NameIdSource {
    /// The user's email address.
    #[default]
    UserEmail,
    /// The name of the user's account in the application.
    AccountName,
}

/// The settings for the identification of users to a service provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameIdSettings {
    /// The format for requests without a format.
    pub default: NameIdFormat,
    /// The other formats that a request may specify. They never include the default one.
    pub others: BTreeSet<NameIdFormat>,
    /// The source of the NameID in formats that are not opaque.
    pub source: NameIdSource,
}

impl NameIdSettings {
    /// Returns the settings of a new application.
    pub const fn new() -> Self {
        Self {
            default: NameIdFormat::EmailAddress,
            others: BTreeSet::new(),
            source: NameIdSource::UserEmail,
        }
    }

    /// Returns the configured formats, the default one first.
    pub fn formats(&self) -> impl Iterator<Item = NameIdFormat> {
        std::iter::once(self.default).chain(
            self.others
                .iter()
                .copied()
                .filter(|format| *format != self.default),
        )
    }

    /// Returns the format for a request with this format, if it is permitted. `unspecified` leaves the choice to this
    /// server (SAML core section 3.4.1.1), unless it is configured itself.
    pub fn requested_format(&self, uri: &str) -> Option<NameIdFormat> {
        match NameIdFormat::from_uri(uri)? {
            NameIdFormat::Unspecified if !self.others.contains(&NameIdFormat::Unspecified) => {
                Some(self.default)
            }
            format => self.formats().find(|configured| *configured == format),
        }
    }
}

/// The identifier of a user for a service provider (SAML core section 2.2.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameId {
    /// The format.
    pub format: NameIdFormat,
    /// The text.
    pub value: String,
}
