//! What a service provider calls a person (SAML core section 8.3).

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
    /// The same opaque text at each sign-on, and another for each service provider.
    Persistent,
    /// An opaque text that is good for one session.
    Transient,
    /// Whatever the two parties agreed on.
    Unspecified,
}

impl NameIdFormat {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::EmailAddress,
        Self::Persistent,
        Self::Transient,
        Self::Unspecified,
    ];

    /// Its URI.
    pub const fn uri(self) -> &'static str {
        match self {
            Self::EmailAddress => "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress",
            Self::Persistent => "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent",
            Self::Transient => "urn:oasis:names:tc:SAML:2.0:nameid-format:transient",
            Self::Unspecified => "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified",
        }
    }

    /// The format with this URI.
    pub fn from_uri(uri: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.uri() == uri)
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

/// How a service provider is told who somebody is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameIdSettings {
    /// The format for requests that name none.
    pub default: NameIdFormat,
    /// What else a request may ask for. The default one is never in it.
    pub others: BTreeSet<NameIdFormat>,
    /// The source of the NameID in formats that are not opaque.
    pub source: NameIdSource,
}

impl NameIdSettings {
    /// Those of a new application.
    pub const fn new() -> Self {
        Self {
            default: NameIdFormat::EmailAddress,
            others: BTreeSet::new(),
            source: NameIdSource::UserEmail,
        }
    }

    /// The formats that are configured, the default one first.
    pub fn formats(&self) -> impl Iterator<Item = NameIdFormat> {
        std::iter::once(self.default).chain(
            self.others
                .iter()
                .copied()
                .filter(|format| *format != self.default),
        )
    }

    /// The format of a request that asks for this one, if it may have it. `unspecified` leaves the choice to this host
    /// (SAML core section 3.4.1.1), unless it is configured itself.
    pub fn asked(&self, uri: &str) -> Option<NameIdFormat> {
        match NameIdFormat::from_uri(uri)? {
            NameIdFormat::Unspecified if !self.others.contains(&NameIdFormat::Unspecified) => {
                Some(self.default)
            }
            format => self.formats().find(|configured| *configured == format),
        }
    }
}

/// A person's name as a service provider is told it (SAML core section 2.2.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameId {
    /// Its format.
    pub format: NameIdFormat,
    /// Its text.
    pub value: String,
}
