//! Applications: OpenID Connect clients (SAML service providers join them with their own settings).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::Did;
use crate::model::redirect::RedirectUri;
use crate::model::scope::Scopes;
use crate::secret::Digest;

/// The specification's three types of OpenID Connect application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApplicationType {
    /// Confidential: runs on a server and keeps a secret.
    Web,
    /// Public: runs in a browser.
    Spa,
    /// Public: runs on a person's device.
    Native,
}

impl ApplicationType {
    /// Whether the application authenticates itself at the token endpoint.
    pub const fn is_confidential(self) -> bool {
        matches!(self, Self::Web)
    }
}

/// A grant type that an application may use at the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantType {
    /// RFC 6749 section 4.1.
    AuthorizationCode,
}

/// An OpenID Connect client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Application {
    /// The Client ID.
    pub id: Did,
    /// The name that people see.
    pub name: String,
    /// What an administrator may set.
    pub settings: OidcSettings,
    /// The digest of the client secret, once one was made.
    pub secret: Option<Digest>,
    /// How often it was changed: a change counts only if it was made to the newest version.
    pub version: i64,
    /// When the application was made.
    pub created_at: Timestamp,
    /// When the application was last changed.
    pub updated_at: Timestamp,
}

/// The settings of an OpenID Connect client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OidcSettings {
    /// Web application, SPA or native app.
    pub application_type: ApplicationType,
    /// Where a person may be sent back to.
    pub redirect_uris: Vec<RedirectUri>,
    /// What the application may ask for.
    pub scopes: Scopes,
    /// The grant types that it may use.
    pub grant_types: BTreeSet<GrantType>,
}
