//! Applications: OpenID Connect clients, and their common parts with SAML service providers.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use url::Url;

use crate::administration::AdminScopes;
use crate::authorization_details::name::TypeName;
use crate::backchannel::{BackchannelBinding, LongestExpiry};
use crate::backchannel_delivery::BackchannelDelivery;
use crate::client_algorithm::ClientAlgorithm;
use crate::client_auth::{ClientAuthMethod, ClientAuthentication, ClientKeys};
use crate::client_secret::ClientSecrets;
use crate::clock::Timestamp;
use crate::id::{Did, GroupId};
use crate::key::SigningAlgorithm;
use crate::redirect::RedirectUri;
use crate::saml::ServiceProvider;
use crate::scope::{Scope, Scopes};

use crate::application_type::ApplicationType;

mod browser_address;
pub mod information;
pub mod profile_rules;
pub mod security_profile;

use browser_address::browser_address;
use information::ApplicationInformation;
use security_profile::SecurityProfile;

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
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum GrantType {
    /// RFC 6749 section 4.1.
    AuthorizationCode,
    /// RFC 6749 section 6.
    RefreshToken,
    /// RFC 6749 section 4.4: the application acts as itself.
    ClientCredentials,
    /// OpenID CIBA Core 1.0 section 10.1: the application asks for a user without a browser.
    #[serde(rename = "urn:openid:params:grant-type:ciba")]
    #[strum(serialize = "urn:openid:params:grant-type:ciba")]
    Ciba,
    /// RFC 8628 section 3.4: the user signs in on a device without a browser, by a code.
    #[serde(rename = "urn:ietf:params:oauth:grant-type:device_code")]
    #[strum(serialize = "urn:ietf:params:oauth:grant-type:device_code")]
    DeviceCode,
}
crate::enum_texts!(GrantType);

impl GrantType {
    /// The grant types of a new application. It may not ask for users without a browser, because each such request
    /// reaches a device of a user. Nor may it show codes, which users enter without a sight of its address.
    pub const DEFAULT: [Self; 3] = [
        Self::AuthorizationCode,
        Self::RefreshToken,
        Self::ClientCredentials,
    ];
}

/// The subject identifier that an application receives for a user (OpenID Connect Core section 8).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubjectType {
    /// The same subject in every application.
    #[default]
    Public,
    /// A different subject in each sector, so that applications of different sectors cannot correlate users.
    Pairwise {
        /// The sector: the host name that the application's redirect URIs share, or a configured one.
        sector: String,
    },
}

/// Whether users are asked for consent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ConsentPolicy {
    /// Users are asked, and their answer is stored.
    #[default]
    Ask,
    /// Users are not asked, because the operator runs the application. Only `prompt=consent` asks.
    Implied,
}

/// The key to which the access tokens of an application are bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SenderConstraint {
    /// To a DPoP key, if the token request has a proof; otherwise to none.
    #[default]
    Optional,
    /// To the certificate of the TLS connection (RFC 8705 section 3), which each token request must have. A proof has
    /// no effect.
    Certificate,
    /// To a DPoP key (RFC 9449): each token request must have a proof.
    DpopKey,
}

impl SenderConstraint {
    const fn is_default(&self) -> bool {
        matches!(self, Self::Optional)
    }
}

/// An application's endpoint for notifications of ended sessions (OpenID Connect Back-Channel Logout section 2.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackchannelLogout {
    /// The address that receives the logout token.
    pub uri: Url,
    /// Whether the application requires `sid` in the logout token. The server always includes it.
    pub session_required: bool,
}

/// An application's sign-out page for the browser of an ended session (OpenID Connect Front-Channel Logout section 2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrontchannelLogout {
    /// The address that the browser loads in a hidden frame.
    pub uri: FrontchannelLogoutUri,
    /// Whether the application requires `iss` and `sid` in the query. The server always adds both.
    pub session_required: bool,
}

/// The address of an application's sign-out page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FrontchannelLogoutUri(Url);

/// A text that is not a valid address of a sign-out page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected an address that starts with https://, or http:// on this machine (localhost), without user name, \
     fragment, IPv6 address or a parameter iss or sid"
)]
pub struct FrontchannelLogoutUriError;

impl FrontchannelLogoutUri {
    /// Parses an address, which must use https or a loopback address. The Content-Security-Policy of the page with the
    /// frames names its origin, and such a policy cannot name an IPv6 address.
    ///
    /// # Errors
    /// [`FrontchannelLogoutUriError`] for any other text.
    pub fn parse(text: &str) -> Result<Self, FrontchannelLogoutUriError> {
        browser_address(text)
            .filter(|url| url.fragment().is_none())
            .filter(|url| !matches!(url.host(), Some(url::Host::Ipv6(_))))
            .filter(|url| {
                url.query_pairs()
                    .all(|(name, _)| name != "iss" && name != "sid")
            })
            .map(Self)
            .ok_or(FrontchannelLogoutUriError)
    }

    /// Returns the address as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns the origin (RFC 6454).
    pub fn origin(&self) -> String {
        self.0.origin().ascii_serialization()
    }

    /// Returns the address for the browser of an ended session, with the issuer and the session's id.
    pub fn with_session(&self, issuer: &str, sid: &str) -> Url {
        let mut address = self.0.clone();
        address
            .query_pairs_mut()
            .append_pair("iss", issuer)
            .append_pair("sid", sid);
        address
    }
}

/// The address at which an application starts a sign-in with this server (OpenID Connect Core section 4). The server
/// sends the user's browser there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InitiateLoginUri(Url);

/// A text that is not a valid login address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected an address that starts with https://, or http:// on this machine (localhost), without user name, \
     fragment or a parameter iss"
)]
pub struct LoginUriError;

impl InitiateLoginUri {
    /// Parses an address, which must use https or a loopback address.
    ///
    /// # Errors
    /// [`LoginUriError`] for any other text.
    pub fn parse(text: &str) -> Result<Self, LoginUriError> {
        browser_address(text)
            .filter(|url| url.fragment().is_none())
            .filter(|url| url.query_pairs().all(|(name, _)| name != "iss"))
            .map(Self)
            .ok_or(LoginUriError)
    }

    /// Returns the address as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns the host.
    pub fn host(&self) -> Option<&str> {
        self.0.host_str()
    }

    /// Returns the address for the browser, with the issuer, so that the application knows which server starts the
    /// sign-in.
    pub fn with_issuer(&self, issuer: &str) -> Url {
        let mut address = self.0.clone();
        address.query_pairs_mut().append_pair("iss", issuer);
        address
    }

    /// Returns the address for the browser with the issuer, and with the page that the application shows after the
    /// sign-in (`target_link_uri`), unless the registered address names one.
    pub fn with_target(&self, issuer: &str, target: &Url) -> Url {
        const TARGET: &str = "target_link_uri";
        let mut address = self.with_issuer(issuer);
        if self.0.query_pairs().all(|(name, _)| name != TARGET) {
            address
                .query_pairs_mut()
                .append_pair(TARGET, target.as_str());
        }
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
    /// The settings that an administrator can change.
    pub settings: OidcSettings,
    /// The client secrets.
    pub secrets: ClientSecrets,
    /// The number of changes, for optimistic concurrency: an update succeeds only on the newest version.
    pub version: i64,
    /// The creation time.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub updated_at: Timestamp,
}

/// An application of either protocol.
#[derive(Clone, Debug)]
pub enum RegisteredApplication {
    /// OpenID Connect.
    Client(Arc<Application>),
    /// SAML 2.0.
    ServiceProvider(Arc<ServiceProvider>),
}

impl RegisteredApplication {
    /// Returns the id.
    pub fn id(&self) -> &Did {
        match self {
            Self::Client(client) => &client.id,
            Self::ServiceProvider(provider) => &provider.id,
        }
    }

    /// Returns the name that users see.
    pub fn name(&self) -> &str {
        match self {
            Self::Client(client) => &client.name,
            Self::ServiceProvider(provider) => &provider.name,
        }
    }

    /// Returns the protocol.
    pub const fn protocol(&self) -> Protocol {
        match self {
            Self::Client(_) => Protocol::OpenidConnect,
            Self::ServiceProvider(_) => Protocol::Saml,
        }
    }

    /// Whether users can sign in to the application.
    pub fn is_enabled(&self) -> bool {
        match self {
            Self::Client(client) => client.settings.enabled,
            Self::ServiceProvider(provider) => provider.settings.enabled,
        }
    }

    /// Whether users who agreed to passkey sign-in can sign in with a passkey on the login page.
    pub fn permits_passkeys(&self) -> bool {
        match self {
            Self::Client(client) => client.settings.passkey_sign_in,
            Self::ServiceProvider(provider) => provider.settings.passkey_sign_in,
        }
    }

    /// Returns the number of changes.
    pub fn version(&self) -> i64 {
        match self {
            Self::Client(client) => client.version,
            Self::ServiceProvider(provider) => provider.version,
        }
    }

    /// Returns the OpenID Connect client, if the application is one.
    pub fn client(self) -> Option<Arc<Application>> {
        match self {
            Self::Client(client) => Some(client),
            Self::ServiceProvider(_) => None,
        }
    }

    /// Returns the SAML service provider, if the application is one.
    pub fn service_provider(self) -> Option<Arc<ServiceProvider>> {
        match self {
            Self::Client(_) => None,
            Self::ServiceProvider(provider) => Some(provider),
        }
    }
}

/// The settings of an OpenID Connect client. A setting that a later release adds needs a default, because stored
/// applications do not have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OidcSettings {
    /// Whether users can sign in to the application, and its tokens are valid.
    pub enabled: bool,
    /// Whether the application is disabled because it registered or changed itself, and no administrator has decided
    /// since then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub awaits_approval: bool,
    /// Web application, SPA or native app.
    pub application_type: ApplicationType,
    /// The redirect URIs.
    pub redirect_uris: Vec<RedirectUri>,
    /// The redirect URIs after logout.
    pub post_logout_redirect_uris: Vec<RedirectUri>,
    /// The scopes that the application may request.
    pub scopes: Scopes,
    /// The grant types that the application may use.
    pub grant_types: BTreeSet<GrantType>,
    /// The authentication method of a web application. SPAs and native apps ignore it, because they cannot
    /// authenticate: see [`OidcSettings::auth_method`].
    pub authentication: ClientAuthentication,
    /// The keys that verify request objects of an application that does not authenticate with keys: see
    /// [`OidcSettings::signing_keys`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_keys: Option<ClientKeys>,
    /// The addresses of request objects to which a request may refer (RFC 9101 section 5.2), without fragments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub request_uris: Vec<Url>,
    /// Whether each authorization request must be a signed request object (RFC 9101).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub require_signed_request_object: bool,
    /// The only algorithm of its request objects; `None`: each supported one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_object_algorithm: Option<ClientAlgorithm>,
    /// The only algorithm of its signed back-channel requests, which it must then sign; `None`: each supported one. See
    /// [`OidcSettings::signs_backchannel_requests`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backchannel_request_algorithm: Option<ClientAlgorithm>,
    /// The way in which users connect its back-channel requests with it.
    #[serde(default, skip_serializing_if = "BackchannelBinding::is_default")]
    pub backchannel_binding: BackchannelBinding,
    /// The longest expiry that its back-channel requests may ask for.
    #[serde(default, skip_serializing_if = "LongestExpiry::is_default")]
    pub backchannel_longest_expiry: LongestExpiry,
    /// The group of which a member must approve each of its back-channel requests, beside the user (four eyes).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_approver_group: Option<GroupId>,
    /// The only algorithm of its assertions with a key; `None`: each supported one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assertion_algorithm: Option<ClientAlgorithm>,
    /// The security profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security_profile: Option<SecurityProfile>,
    /// The algorithm that signs the application's ID tokens.
    pub id_token_algorithm: SigningAlgorithm,
    /// Whether only UserInfo returns the claims of the scopes. ID tokens then omit them.
    pub slim_id_token: bool,
    /// Whether the token response contains `session_state` with the value of the ID token's `sid`. Keycloak as a broker
    /// finds sessions by it when it receives a logout token.
    pub session_state: bool,
    /// The type of subject identifier.
    pub subject_type: SubjectType,
    /// Whether users are asked for consent.
    pub consent: ConsentPolicy,
    /// Whether users who agreed to passkey sign-in can sign in with a passkey on the login page.
    pub passkey_sign_in: bool,
    /// The application's endpoint for notifications of ended sessions.
    pub backchannel_logout: Option<BackchannelLogout>,
    /// The application's sign-out page for the browser of an ended session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frontchannel_logout: Option<FrontchannelLogout>,
    /// The address at which the server starts a sign-in to the application (OpenID Connect Core section 4).
    pub initiate_login_uri: Option<InitiateLoginUri>,
    /// Whether client assertions may use the token endpoint as their audience, instead of the issuer. See
    /// [`OidcSettings::accepts_token_endpoint_audience`].
    pub lenient_assertion_audience: bool,
    /// The recipe of the console by which the application was connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<String>,
    /// The information for its users.
    #[serde(default, skip_serializing_if = "ApplicationInformation::is_empty")]
    pub information: ApplicationInformation,
    /// Whether a web application must use PKCE. Other applications always must: see [`OidcSettings::needs_pkce`].
    pub require_pkce: bool,
    /// Whether each authorization request must be pushed (RFC 9126).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub require_pushed_authorization_requests: bool,
    /// The algorithm that signs authorization responses in JWTs (JARM); `None`: that of ID tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization_response_algorithm: Option<SigningAlgorithm>,
    /// The algorithm that signs UserInfo responses; `None`: they are plain JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub userinfo_algorithm: Option<SigningAlgorithm>,
    /// The algorithm that signs introspection responses, if the request accepts a JWT (RFC 9701); `None`: that of ID
    /// tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub introspection_algorithm: Option<SigningAlgorithm>,
    /// The key to which access tokens are bound.
    #[serde(default, skip_serializing_if = "SenderConstraint::is_default")]
    pub sender_constraint: SenderConstraint,
    /// The types of authorization details that the application may request (RFC 9396 section 10).
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub authorization_details_types: BTreeSet<TypeName>,
    /// The delivery of the results of its back-channel requests (OpenID CIBA Core 1.0 section 4).
    #[serde(default, skip_serializing_if = "BackchannelDelivery::is_poll")]
    pub backchannel_delivery: BackchannelDelivery,
    /// The permissions of the application in the admin API as a service account.
    #[serde(default, skip_serializing_if = "AdminScopes::is_empty")]
    pub admin_scopes: AdminScopes,
}

impl OidcSettings {
    /// Returns the settings of a new application of this type.
    pub fn new(application_type: ApplicationType) -> Self {
        Self {
            enabled: true,
            awaits_approval: false,
            application_type,
            redirect_uris: Vec::new(),
            post_logout_redirect_uris: Vec::new(),
            scopes: Scope::DEFAULT.into_iter().collect(),
            grant_types: GrantType::DEFAULT.into(),
            authentication: ClientAuthentication::default(),
            request_keys: None,
            request_uris: Vec::new(),
            require_signed_request_object: false,
            request_object_algorithm: None,
            backchannel_request_algorithm: None,
            backchannel_binding: BackchannelBinding::default(),
            backchannel_longest_expiry: LongestExpiry::default(),
            second_approver_group: None,
            assertion_algorithm: None,
            security_profile: None,
            id_token_algorithm: SigningAlgorithm::default(),
            slim_id_token: false,
            session_state: false,
            subject_type: SubjectType::default(),
            consent: ConsentPolicy::default(),
            passkey_sign_in: false,
            backchannel_logout: None,
            frontchannel_logout: None,
            initiate_login_uri: None,
            lenient_assertion_audience: false,
            recipe: None,
            information: ApplicationInformation::default(),
            require_pkce: !application_type.is_confidential(),
            require_pushed_authorization_requests: false,
            authorization_response_algorithm: None,
            userinfo_algorithm: None,
            introspection_algorithm: None,
            sender_constraint: SenderConstraint::default(),
            authorization_details_types: BTreeSet::new(),
            backchannel_delivery: BackchannelDelivery::default(),
            admin_scopes: AdminScopes::default(),
        }
    }

    /// Whether the application may use the admin API as itself. A caller who can change such an application can act as
    /// it.
    pub fn is_service_account(&self) -> bool {
        !self.admin_scopes.is_empty()
    }

    /// Whether each authorization request must have a `code_challenge` (RFC 7636). A public client has no other proof
    /// that it began the sign-in.
    pub const fn needs_pkce(&self) -> bool {
        self.require_pkce || !self.application_type.is_confidential()
    }

    /// Whether client assertions may use the token endpoint as their audience, as clients of the profile FAPI-CIBA do.
    /// Never for a service account: a malicious server could publish that endpoint in its metadata, and use the
    /// received assertion here.
    pub fn accepts_token_endpoint_audience(&self) -> bool {
        let is_lenient = self.lenient_assertion_audience
            || self.security_profile == Some(SecurityProfile::FapiCiba);
        is_lenient && !self.is_service_account()
    }

    /// Whether each back-channel request must be a signed JWT (OpenID CIBA Core 1.0 section 7.1.1): the application
    /// fixed its algorithm, or its profile requires it.
    pub fn signs_backchannel_requests(&self) -> bool {
        self.backchannel_request_algorithm.is_some()
            || self.security_profile == Some(SecurityProfile::FapiCiba)
    }

    /// Returns the current scopes of the application in the admin API, with a token that was issued with these scopes.
    pub fn admin_scopes_of(&self, token: &AdminScopes) -> AdminScopes {
        let as_itself = self.application_type.is_confidential()
            && self.grant_types.contains(&GrantType::ClientCredentials);
        if as_itself {
            self.admin_scopes.both(token)
        } else {
            AdminScopes::default()
        }
    }

    /// Returns the authentication method of the application at the token endpoint.
    pub const fn auth_method(&self) -> ClientAuthMethod {
        if self.application_type.is_confidential() {
            self.authentication.method()
        } else {
            ClientAuthMethod::None
        }
    }

    /// The algorithms of this server's signatures for the application.
    pub fn response_algorithms(&self) -> impl Iterator<Item = SigningAlgorithm> {
        let further = [
            self.authorization_response_algorithm,
            self.userinfo_algorithm,
            self.introspection_algorithm,
        ];
        std::iter::once(self.id_token_algorithm).chain(further.into_iter().flatten())
    }

    /// Returns the keys that verify the application's request objects: those with which it authenticates, or else those
    /// that are registered for this.
    pub const fn signing_keys(&self) -> Option<&ClientKeys> {
        match &self.authentication {
            ClientAuthentication::PrivateKeyJwt(keys) => Some(keys),
            _ => self.request_keys.as_ref(),
        }
    }

    /// Returns the origins (RFC 6454) of the requests from its pages, if it is a single-page application.
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
