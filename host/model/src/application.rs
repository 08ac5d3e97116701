//! Applications: OpenID Connect clients, and what they have in common with SAML service providers.

mod application_type;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use url::Url;

use crate::administration::AdminScopes;
use crate::client_auth::{ClientAuthMethod, ClientAuthentication};
use crate::client_secret::ClientSecrets;
use crate::clock::Timestamp;
use crate::id::Did;
use crate::key::SigningAlgorithm;
use crate::redirect::RedirectUri;
use crate::saml::ServiceProvider;
use crate::scope::{Scope, Scopes};

pub use application_type::ApplicationType;

/// The protocol of an application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// OpenID Connect.
    #[default]
    OpenidConnect,
    /// SAML 2.0.
    Saml,
}

/// A grant type that an application may use at the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum GrantType {
    /// RFC 6749 section 4.1.
    AuthorizationCode,
    /// RFC 6749 section 6.
    RefreshToken,
    /// RFC 6749 section 4.4: the application acts as itself.
    ClientCredentials,
}

impl GrantType {
    /// Every grant type there is, which is what a new application gets.
    pub const ALL: [Self; 3] = [
        Self::AuthorizationCode,
        Self::RefreshToken,
        Self::ClientCredentials,
    ];

    /// The grant type's name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AuthorizationCode => "authorization_code",
            Self::RefreshToken => "refresh_token",
            Self::ClientCredentials => "client_credentials",
        }
    }
}

/// What an application calls a person (OpenID Connect Core section 8).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubjectType {
    /// The same in every application.
    #[default]
    Public,
    /// Another in each sector, so that applications of different sectors can't tell that two people are one.
    Pairwise {
        /// The sector: a host name that the application's redirect URIs have in common, or one that was given.
        sector: String,
    },
}

/// Whether users are asked for consent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ConsentPolicy {
    /// They are asked, and their answer is remembered.
    #[default]
    Ask,
    /// They are not, since the operator runs the application; only `prompt=consent` asks.
    Implied,
}

/// Where an application is told that a session ended (OpenID Connect Back-Channel Logout section 2.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackchannelLogout {
    /// Where the logout token is posted.
    pub uri: Url,
    /// Whether the application needs `sid` in it. It is always there.
    pub session_required: bool,
}

/// Where the browser of a person is sent to have an application begin a sign-in with this host (OpenID Connect Core
/// section 4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InitiateLoginUri(Url);

/// An address that is not for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected an address that starts with https://, or http:// on this machine (localhost), without user name, \
     fragment or a parameter iss"
)]
pub struct LoginUriError;

impl InitiateLoginUri {
    /// The address that a text is: by https, or on a loopback address.
    pub fn parse(text: &str) -> Result<Self, LoginUriError> {
        let url = (text.len() <= 2000)
            .then(|| Url::parse(text).ok())
            .flatten();
        let fits = |url: &Url| {
            let loopback = match url.host() {
                Some(url::Host::Domain(name)) => name == "localhost",
                Some(url::Host::Ipv4(address)) => address.is_loopback(),
                Some(url::Host::Ipv6(address)) => address.is_loopback(),
                None => false,
            };
            (url.scheme() == "https" && url.has_host() || url.scheme() == "http" && loopback)
                && url.username().is_empty()
                && url.password().is_none()
                && url.fragment().is_none()
                && url.query_pairs().all(|(name, _)| name != "iss")
        };
        url.filter(fits).map(Self).ok_or(LoginUriError)
    }

    /// The address as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Where the browser is sent, so that the application knows which host asks.
    pub fn with_issuer(&self, issuer: &str) -> Url {
        let mut address = self.0.clone();
        address.query_pairs_mut().append_pair("iss", issuer);
        address
    }
}

/// An OpenID Connect client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Application {
    /// The Client ID.
    pub id: Did,
    /// The name that users see.
    pub name: String,
    /// What an administrator may set.
    pub settings: OidcSettings,
    /// The client secrets.
    pub secrets: ClientSecrets,
    /// How often it was changed: a change counts only if it was made to the newest version.
    pub version: i64,
    /// When the application was made.
    pub created_at: Timestamp,
    /// When the application was last changed.
    pub updated_at: Timestamp,
}

/// An application, whichever protocol it speaks.
#[derive(Clone, Debug)]
pub enum RegisteredApplication {
    /// OpenID Connect.
    Client(Arc<Application>),
    /// SAML 2.0.
    ServiceProvider(Arc<ServiceProvider>),
}

impl RegisteredApplication {
    /// Its id.
    pub fn id(&self) -> &Did {
        match self {
            Self::Client(client) => &client.id,
            Self::ServiceProvider(provider) => &provider.id,
        }
    }

    /// The name that users see.
    pub fn name(&self) -> &str {
        match self {
            Self::Client(client) => &client.name,
            Self::ServiceProvider(provider) => &provider.name,
        }
    }

    /// What it speaks.
    pub const fn protocol(&self) -> Protocol {
        match self {
            Self::Client(_) => Protocol::OpenidConnect,
            Self::ServiceProvider(_) => Protocol::Saml,
        }
    }

    /// Whether users can sign in to it.
    pub fn is_enabled(&self) -> bool {
        match self {
            Self::Client(client) => client.settings.enabled,
            Self::ServiceProvider(provider) => provider.settings.enabled,
        }
    }

    /// Whether users who agreed to it sign in with a passkey on the login page.
    pub fn permits_passkeys(&self) -> bool {
        match self {
            Self::Client(client) => client.settings.passkey_sign_in,
            Self::ServiceProvider(provider) => provider.settings.passkey_sign_in,
        }
    }

    /// How often it was changed.
    pub fn version(&self) -> i64 {
        match self {
            Self::Client(client) => client.version,
            Self::ServiceProvider(provider) => provider.version,
        }
    }

    /// The OpenID Connect client, if it is one.
    pub fn client(self) -> Option<Arc<Application>> {
        match self {
            Self::Client(client) => Some(client),
            Self::ServiceProvider(_) => None,
        }
    }

    /// The SAML service provider, if it is one.
    pub fn service_provider(self) -> Option<Arc<ServiceProvider>> {
        match self {
            Self::Client(_) => None,
            Self::ServiceProvider(provider) => Some(provider),
        }
    }
}

/// The settings of an OpenID Connect client. What was not there when the application was kept has its default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OidcSettings {
    /// Whether users can sign in to it, and its tokens are valid.
    #[serde(default = "crate::application::enabled")]
    pub enabled: bool,
    /// Web application, SPA or native app.
    pub application_type: ApplicationType,
    /// The redirect URIs.
    pub redirect_uris: Vec<RedirectUri>,
    /// The redirect URIs after signing out.
    #[serde(default)]
    pub post_logout_redirect_uris: Vec<RedirectUri>,
    /// What the application may ask for.
    pub scopes: Scopes,
    /// The grant types that it may use.
    pub grant_types: BTreeSet<GrantType>,
    /// How a web application authenticates itself. SPAs and native apps can't, whatever stands here: see
    /// [`OidcSettings::auth_method`].
    #[serde(default)]
    pub authentication: ClientAuthentication,
    /// The algorithm that signs its ID tokens.
    #[serde(default)]
    pub id_token_algorithm: SigningAlgorithm,
    /// Whether the claims of the scopes are only at UserInfo, and not in its ID tokens.
    #[serde(default)]
    pub slim_id_token: bool,
    /// Whether the token response has `session_state`, with the value of the ID token's `sid`. Keycloak as a broker
    /// looks for sessions by it when it receives a logout token.
    #[serde(default)]
    pub session_state: bool,
    /// What it calls people.
    #[serde(default)]
    pub subject_type: SubjectType,
    /// Whether users are asked for consent.
    #[serde(default)]
    pub consent: ConsentPolicy,
    /// Whether users who agreed to it sign in with a passkey on the login page.
    #[serde(default)]
    pub passkey_sign_in: bool,
    /// Where it is told that a session ended.
    #[serde(default)]
    pub backchannel_logout: Option<BackchannelLogout>,
    /// Where a sign-in to it can be begun from here (OpenID Connect Core section 4).
    #[serde(default)]
    pub initiate_login_uri: Option<InitiateLoginUri>,
    /// Whether its client assertions may name the token endpoint as their audience, and not the issuer. See
    /// [`OidcSettings::accepts_token_endpoint_audience`].
    #[serde(default)]
    pub lenient_assertion_audience: bool,
    /// Its permissions in the admin API as a service account.
    #[serde(default, skip_serializing_if = "AdminScopes::is_empty")]
    pub admin_scopes: AdminScopes,
}

/// An application is enabled unless its settings say otherwise.
pub(crate) const fn enabled() -> bool {
    true
}

impl OidcSettings {
    /// The settings of a new application of this type.
    pub fn new(application_type: ApplicationType) -> Self {
        Self {
            enabled: true,
            application_type,
            redirect_uris: Vec::new(),
            post_logout_redirect_uris: Vec::new(),
            scopes: Scope::DEFAULT.into_iter().collect(),
            grant_types: GrantType::ALL.into(),
            authentication: ClientAuthentication::default(),
            id_token_algorithm: SigningAlgorithm::default(),
            slim_id_token: false,
            session_state: false,
            subject_type: SubjectType::default(),
            consent: ConsentPolicy::default(),
            passkey_sign_in: false,
            backchannel_logout: None,
            initiate_login_uri: None,
            lenient_assertion_audience: false,
            admin_scopes: AdminScopes::default(),
        }
    }

    /// Whether it may act in the admin API as itself. Who may change such an application may act as it does.
    pub fn is_service_account(&self) -> bool {
        !self.admin_scopes.is_empty()
    }

    /// Whether the audience of its client assertions may be the token endpoint. Never for a service account: a hostile
    /// server could name that endpoint in its metadata, and use the received assertion here.
    pub fn accepts_token_endpoint_audience(&self) -> bool {
        self.lenient_assertion_audience && !self.is_service_account()
    }

    /// What it may do in the admin API now, with a token that was given these scopes.
    pub fn admin_scopes_of(&self, token: &AdminScopes) -> AdminScopes {
        let as_itself = self.application_type.is_confidential()
            && self.grant_types.contains(&GrantType::ClientCredentials);
        if as_itself {
            self.admin_scopes.both(token)
        } else {
            AdminScopes::default()
        }
    }

    /// How the application authenticates itself at the token endpoint.
    pub const fn auth_method(&self) -> ClientAuthMethod {
        if self.application_type.is_confidential() {
            self.authentication.method()
        } else {
            ClientAuthMethod::None
        }
    }

    /// The origins that its pages call from (RFC 6454), if it is a single-page application.
    pub fn origins(&self) -> BTreeSet<String> {
        if self.application_type != ApplicationType::Spa {
            return BTreeSet::new();
        }
        self.redirect_uris
            .iter()
            .filter_map(RedirectUri::origin)
            .collect()
    }
}

#[cfg(test)]
mod tests;
