//! The settings of a service provider.

use serde::{Deserialize, Serialize};
use url::Url;

use crate::clock::Timestamp;
use crate::id::Did;
use crate::redirect::{CheckedRedirect, RedirectUri};
use crate::saml::name_id::NameIdSettings;

/// A SAML service provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceProvider {
    /// The `{applicationId}` in the application's paths.
    pub id: Did,
    /// The name that users see.
    pub name: String,
    /// The settings that an administrator can change.
    pub settings: SamlSettings,
    /// The number of changes, for optimistic concurrency: an update succeeds only on the newest version.
    pub version: i64,
    /// The creation time.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub updated_at: Timestamp,
}

/// The settings of a service provider. A setting that a later release adds needs a default, because stored applications
/// do not have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SamlSettings {
    /// Whether users can sign in to the application.
    pub enabled: bool,
    /// The SP entity ID, which is the audience of assertions.
    pub entity_id: String,
    /// The endpoints that receive responses: at least one, with distinct indexes.
    pub acs: Vec<AssertionConsumer>,
    /// The endpoint for single logout, if the service provider supports it.
    pub single_logout: Option<SingleLogout>,
    /// The settings for the identification of users.
    pub name_id: NameIdSettings,
    /// Whether the server rejects an AuthnRequest without a signature.
    pub require_signed_requests: bool,
    /// The certificates of the service provider's signing keys.
    pub certificates: Vec<PartnerCertificate>,
    /// The attributes that the plugin for SAML attributes adds to assertions.
    pub custom_attributes: Vec<CustomAttribute>,
    /// IdP-initiated sign-on.
    pub idp_initiated: IdpInitiated,
    /// The maximum clock skew of the service provider, in seconds.
    pub clock_skew: u32,
    /// The time by which assertions are valid before they are issued, in seconds: for a service provider with a slow
    /// clock.
    pub not_before_margin: u32,
    /// The entity ID of this server for the service provider. The default is the issuer's URL.
    pub idp_entity_id: Option<String>,
    /// The URL from which the metadata can be read again.
    pub metadata_url: Option<Url>,
    /// Whether users who agreed to passkey sign-in can sign in with a passkey on the login page.
    pub passkey_sign_in: bool,
    /// The recipe of the console by which the application was connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<String>,
    /// Whether the service provider receives addresses that are not confirmed.
    pub unconfirmed_email: bool,
}

impl SamlSettings {
    /// The clock skew of a new application, in seconds.
    pub const CLOCK_SKEW: u32 = 60;

    /// Returns the settings of a new application, which still needs an assertion consumer service.
    pub const fn new(entity_id: String) -> Self {
        Self {
            enabled: true,
            entity_id,
            acs: Vec::new(),
            single_logout: None,
            name_id: NameIdSettings::new(),
            require_signed_requests: false,
            certificates: Vec::new(),
            custom_attributes: Vec::new(),
            idp_initiated: IdpInitiated::new(),
            clock_skew: Self::CLOCK_SKEW,
            not_before_margin: 0,
            idp_entity_id: None,
            metadata_url: None,
            passkey_sign_in: false,
            recipe: None,
            unconfirmed_email: false,
        }
    }

    /// Returns the assertion consumer service with exactly this URL.
    pub fn acs_by_url(&self, url: &str) -> Option<CheckedRedirect> {
        self.acs
            .iter()
            .find(|acs| acs.url.as_str() == url)
            .map(|acs| acs.url.to_checked())
    }

    /// Returns the assertion consumer service with this index.
    pub fn acs_by_index(&self, index: u16) -> Option<CheckedRedirect> {
        self.acs
            .iter()
            .find(|acs| acs.index == index)
            .map(|acs| acs.url.to_checked())
    }

    /// Returns the assertion consumer service for requests without one: the default, or else the first (SAML metadata
    /// section 2.2.3).
    pub fn default_acs(&self) -> Option<CheckedRedirect> {
        self.acs
            .iter()
            .find(|acs| acs.default)
            .or_else(|| self.acs.first())
            .map(|acs| acs.url.to_checked())
    }
}

/// An assertion consumer service, by HTTP POST (SAML metadata section 2.4.4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AssertionConsumer {
    /// Its URL.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub url: RedirectUri,
    /// Its index, which a request may specify.
    pub index: u16,
    /// Whether it is the default for requests that specify none.
    pub default: bool,
}

/// A single logout service of a service provider (SAML metadata section 2.4.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SingleLogout {
    /// The URL of requests.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub url: RedirectUri,
    /// The URL of responses, if it differs.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub response_url: Option<RedirectUri>,
    /// The binding of its messages.
    pub binding: Binding,
}

impl SingleLogout {
    /// Returns the URL of responses.
    pub fn responses(&self) -> &RedirectUri {
        self.response_url.as_ref().unwrap_or(&self.url)
    }
}

/// The SAML binding of a message (SAML bindings sections 3.4 and 3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Binding {
    /// The query of a URL.
    Redirect,
    /// A form.
    Post,
}

impl Binding {
    /// Returns the URI.
    pub const fn uri(self) -> &'static str {
        match self {
            Self::Redirect => "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect",
            Self::Post => "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST",
        }
    }
}

/// The certificate of a service provider's signing key. Only its key matters: trust comes from the registration by an
/// administrator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartnerCertificate {
    /// The certificate in PEM form.
    pub pem: String,
}

/// A custom attribute in each assertion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CustomAttribute {
    /// `Name`.
    pub name: String,
    /// Its values; the plugin that adds them documents the placeholders.
    pub values: Vec<String>,
}

/// IdP-initiated sign-on (SAML profiles section 4.1.5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdpInitiated {
    /// Whether IdP-initiated sign-on is enabled.
    pub enabled: bool,
    /// The default RelayState.
    pub relay_state: Option<String>,
    /// Further RelayStates that a link may specify.
    pub relay_states: Vec<String>,
}

impl IdpInitiated {
    const fn new() -> Self {
        Self {
            enabled: true,
            relay_state: None,
            relay_states: Vec::new(),
        }
    }

    /// Returns the RelayState for a link.
    ///
    /// # Errors
    /// [`RelayStateError`] if the requested RelayState is not registered.
    pub fn relay_state(&self, requested: Option<&str>) -> Result<Option<String>, RelayStateError> {
        match requested {
            None => Ok(self.relay_state.clone()),
            Some(requested) => {
                let known = self
                    .relay_state
                    .iter()
                    .chain(&self.relay_states)
                    .any(|known| known == requested);
                if known {
                    Ok(Some(requested.to_owned()))
                } else {
                    Err(RelayStateError)
                }
            }
        }
    }
}

/// The requested RelayState of a link is not registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the RelayState of the link is not registered for this application")]
pub struct RelayStateError;
