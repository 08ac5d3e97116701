//! The changes that create or update an OpenID Connect client.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::authentication::{AuthenticationChange, authentication};
use super::values::{application_name, recipe_id, server_address};
use crate::domain::Services;
use crate::domain::admin::scopes::require_known_scopes;
use crate::domain::admin::{Result, invalid};
use assent_model::administration::{AdminScope, AdminScopes};
use assent_model::application::{
    Application, BackchannelLogout, ConsentPolicy, GrantType, InitiateLoginUri, OidcSettings,
    SubjectType,
};
use assent_model::application_type::ApplicationType;
use assent_model::client_auth::ClientAuthMethod;
use assent_model::command::{empty_if_null, removable};
use assent_model::key::SigningAlgorithm;
use assent_model::redirect::RedirectUri;
use assent_model::scope::{Scope, Scopes};
use assent_plugin_host::egress::Egress;

/// The largest number of redirect URIs of one kind.
const MOST_URIS: usize = 50;

assent_model::admin_command! {
    /// A new OpenID Connect client, or an update. A missing member leaves its value unchanged; a new client has the
    /// default.
    #[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
    #[serde(deny_unknown_fields)]
    pub struct ClientChange, protected ProtectedClientMembers {
        /// The application type: required for a new application, and fixed afterwards.
        protected application_type: Option<ApplicationType>,
        /// The name that users see. Required for a new application.
        protected explained name: Option<String>,
        /// Whether users can sign in to it, and its tokens are valid. Disabling it revokes its tokens.
        protected explained enabled: Option<bool>,
        /// The redirect URIs, compared character by character; null removes all.
        #[serde(default, deserialize_with = "empty_if_null")]
        protected explained redirect_uris: Option<Vec<String>>,
        /// The redirect URIs after signing out; null removes all.
        #[serde(default, deserialize_with = "empty_if_null")]
        protected explained post_logout_redirect_uris: Option<Vec<String>>,
        /// The scopes that the application may request.
        #[schema(value_type = Option<Vec<Scope>>)]
        protected scopes: Option<Vec<String>>,
        /// The grant types that the application may use.
        protected grant_types: Option<Vec<GrantType>>,
        /// The client authentication method.
        protected token_endpoint_auth_method: Option<ClientAuthMethod>,
        /// A JSON Web Key Set (RFC 7517 section 5); null removes it with another authentication method or key.
        #[serde(default, deserialize_with = "removable")]
        #[schema(value_type = Option<Object>)]
        protected explained jwks: Option<Option<Value>>,
        /// The URL of the key set; null removes it with another authentication method or key.
        #[serde(default, deserialize_with = "removable")]
        protected explained jwks_uri: Option<Option<String>>,
        /// A public key in PEM form; null removes it with another authentication method or key.
        #[serde(default, deserialize_with = "removable")]
        protected explained public_key: Option<Option<String>>,
        /// A certificate in PEM form; null removes it with another authentication method or key.
        #[serde(default, deserialize_with = "removable")]
        protected explained certificate: Option<Option<String>>,
        /// The algorithm that signs the ID tokens of the application.
        protected id_token_signed_response_alg: Option<SigningAlgorithm>,
        /// Whether the claims of the scopes are only at UserInfo, and not in the ID tokens.
        harmless slim_id_token: Option<bool>,
        /// Whether the token response has `session_state`, with the value of the ID token's `sid`. Keycloak as a broker
        /// needs it for back-channel logout.
        harmless session_state: Option<bool>,
        /// Whether users have a `sub` of the application's sector.
        protected subject_type: Option<SubjectKind>,
        /// The host name of the sector; by default the common host name of the redirect URIs; null removes it with the
        /// subject type public.
        #[serde(default, deserialize_with = "removable")]
        protected sector_identifier: Option<Option<String>>,
        /// Whether users are asked for consent.
        protected consent: Option<ConsentPolicy>,
        /// Whether users who agreed to it sign in with a passkey on the login page, without an approval.
        // This setting permits sign-ins without a request on any device. It is therefore protected, like the other
        // settings of authentication.
        protected explained passkey_sign_in: Option<bool>,
        /// The URI that receives logout tokens; null removes it.
        #[serde(default, deserialize_with = "removable")]
        protected explained backchannel_logout_uri: Option<Option<String>>,
        /// Whether the application requires `sid` in a logout token.
        harmless backchannel_logout_session_required: Option<bool>,
        /// The URI that begins a sign-in at the application; null removes it.
        #[serde(default, deserialize_with = "removable")]
        protected explained initiate_login_uri: Option<Option<String>>,
        /// Whether client assertions may name the token endpoint as their audience, and not the issuer. A server that
        /// knows such an assertion could then use it here. Not for an application with `admin_scopes`.
        protected lenient_assertion_audience: Option<bool>,
        /// The recipe of the console by which the application is connected, such as `grafana`; null removes it. The
        /// console shows its guide.
        #[serde(default, deserialize_with = "removable")]
        harmless recipe: Option<Option<String>>,
        /// Whether each sign-in must use PKCE (RFC 7636). `false` by default for web applications; other types always
        /// use it.
        protected explained require_pkce: Option<bool>,
        /// The permissions of the application in the admin API as a service account; null removes all. Only an owner
        /// may set them.
        #[serde(default, deserialize_with = "empty_if_null")]
        #[schema(value_type = Option<Vec<AdminScope>>)]
        protected explained admin_scopes: Option<AdminScopes>,
    }
}

/// Whether the `sub` claim is the same for all applications, or differs by sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = SubjectType)]
pub enum SubjectKind {
    /// One `sub` per user, the same for all applications.
    Public,
    /// One `sub` per user and sector.
    Pairwise,
}

pub(super) fn apply(
    services: &Services,
    application: &mut Application,
    change: ClientChange,
) -> Result<()> {
    let ClientChange {
        // A new application already has the settings of its type. The type of an existing one cannot change.
        application_type: _,
        name,
        enabled,
        redirect_uris,
        post_logout_redirect_uris,
        scopes: scope_names,
        grant_types,
        token_endpoint_auth_method: method,
        jwks,
        jwks_uri,
        public_key,
        certificate,
        id_token_signed_response_alg,
        slim_id_token,
        session_state,
        subject_type: subject_kind,
        sector_identifier,
        consent,
        passkey_sign_in,
        backchannel_logout_uri,
        backchannel_logout_session_required,
        initiate_login_uri,
        lenient_assertion_audience,
        recipe,
        require_pkce,
        admin_scopes,
    } = change;
    let keys = AuthenticationChange {
        method,
        jwks,
        jwks_uri,
        public_key,
        certificate,
    };
    let (allow_insecure, egress) = (
        services.settings.allow_insecure_redirect_uris,
        &services.egress,
    );
    if let Some(name) = name {
        application.name = application_name(&name)?;
    }
    let settings = &mut application.settings;
    settings.enabled = enabled.unwrap_or(settings.enabled);
    let kind = settings.application_type;
    if let Some(texts) = redirect_uris {
        settings.redirect_uris = uris("redirect_uris", &texts, kind, allow_insecure)?;
    }
    if let Some(texts) = post_logout_redirect_uris {
        settings.post_logout_redirect_uris =
            uris("post_logout_redirect_uris", &texts, kind, allow_insecure)?;
    }
    if let Some(names) = scope_names {
        settings.scopes = scopes(&names)?;
    }
    if let Some(grant_types) = grant_types {
        settings.grant_types = grant_types.into_iter().collect();
        if settings.grant_types.is_empty() {
            return Err(invalid("grant_types", "expected one at least"));
        }
    }
    settings.authentication = authentication(settings, keys, egress)?;
    settings.id_token_algorithm =
        id_token_signed_response_alg.unwrap_or(settings.id_token_algorithm);
    settings.slim_id_token = slim_id_token.unwrap_or(settings.slim_id_token);
    settings.session_state = session_state.unwrap_or(settings.session_state);
    settings.consent = consent.unwrap_or(settings.consent);
    settings.passkey_sign_in = passkey_sign_in.unwrap_or(settings.passkey_sign_in);
    let pairwise = subject_kind.map(|kind| kind == SubjectKind::Pairwise);
    settings.subject_type = subject_type(settings, pairwise, sector_identifier)?;
    settings.backchannel_logout = backchannel_logout(
        settings,
        backchannel_logout_uri,
        backchannel_logout_session_required,
        egress,
    )?;
    if let Some(uri) = initiate_login_uri {
        let checked = uri.map(|text| InitiateLoginUri::parse(&text)).transpose();
        settings.initiate_login_uri =
            checked.map_err(|unfit| invalid("initiate_login_uri", unfit.to_string()))?;
    }
    if let Some(recipe) = recipe {
        settings.recipe = recipe.map(recipe_id).transpose()?;
    }
    settings.admin_scopes = admin_scopes.unwrap_or_else(|| settings.admin_scopes.clone());
    settings.lenient_assertion_audience =
        lenient_assertion_audience.unwrap_or(settings.lenient_assertion_audience);
    settings.require_pkce = require_pkce.unwrap_or(settings.require_pkce);
    must_fit_together(settings)
}

/// Rejects settings that are valid separately, but not together.
fn must_fit_together(settings: &OidcSettings) -> Result<()> {
    if settings.admin_scopes_of(&settings.admin_scopes) != settings.admin_scopes {
        return Err(invalid(
            "admin_scopes",
            "expected a web application with the grant type client_credentials",
        ));
    }
    if settings.lenient_assertion_audience && settings.is_service_account() {
        return Err(invalid(
            "lenient_assertion_audience",
            "expected false for an application with admin_scopes: the audience of its client assertions must be the \
             issuer",
        ));
    }
    if settings.needs_pkce() && !settings.require_pkce {
        return Err(invalid(
            "require_pkce",
            "expected true: only a web application, which authenticates itself, may omit PKCE",
        ));
    }
    if settings.redirect_uris.is_empty()
        && settings.grant_types.contains(&GrantType::AuthorizationCode)
    {
        return Err(invalid("redirect_uris", "enter at least one redirect URI"));
    }
    Ok(())
}

/// Returns the back-channel logout settings of the application after the change.
fn backchannel_logout(
    settings: &OidcSettings,
    uri: Option<Option<String>>,
    session_required: Option<bool>,
    egress: &Egress,
) -> Result<Option<BackchannelLogout>> {
    let known = settings.backchannel_logout.clone();
    let logout = match uri {
        None => known,
        Some(None) => None,
        Some(Some(text)) => Some(BackchannelLogout {
            uri: server_address("backchannel_logout_uri", &text, egress)?,
            session_required: known.is_some_and(|logout| logout.session_required),
        }),
    };
    match (session_required, logout) {
        (Some(session_required), Some(logout)) => Ok(Some(BackchannelLogout {
            session_required,
            ..logout
        })),
        (Some(true), None) => Err(invalid(
            "backchannel_logout_session_required",
            "expected a backchannel_logout_uri with it",
        )),
        (_, logout) => Ok(logout),
    }
}

fn uris(
    field: &'static str,
    texts: &[String],
    kind: ApplicationType,
    allow_insecure: bool,
) -> Result<Vec<RedirectUri>> {
    if texts.len() > MOST_URIS {
        return Err(invalid(field, format!("expected {MOST_URIS} at most")));
    }
    let position = |index: usize| match texts.len() {
        1 => String::new(),
        _ => format!("[{index}]: "),
    };
    texts
        .iter()
        .enumerate()
        .map(|(index, text)| {
            RedirectUri::register(text, kind, allow_insecure)
                .map_err(|error| invalid(field, format!("{}{error}", position(index))))
        })
        .collect()
}

pub(super) fn scopes(names: &[String]) -> Result<Scopes> {
    require_known_scopes("scopes", names.iter().map(String::as_str))?;
    let scopes = Scopes::parse_known(&names.join(" "));
    if !scopes.has(Scope::OpenId) {
        return Err(invalid("scopes", "expected openid among them"));
    }
    Ok(scopes)
}

pub(super) fn subject_type(
    settings: &OidcSettings,
    pairwise: Option<bool>,
    sector: Option<Option<String>>,
) -> Result<SubjectType> {
    const FIELD: &str = "sector_identifier";
    let known = match &settings.subject_type {
        SubjectType::Public => None,
        SubjectType::Pairwise { sector } => Some(sector.clone()),
    };
    if !pairwise.unwrap_or(known.is_some()) {
        return match sector {
            None | Some(None) => Ok(SubjectType::Public),
            Some(Some(_)) => Err(invalid(FIELD, "expected subject_type pairwise with it")),
        };
    }
    if sector == Some(None) && known.is_some() {
        return Err(invalid(
            FIELD,
            "pairwise subjects depend on it; enter another host name, or set subject_type to public",
        ));
    }
    if let Some(text) = sector.flatten() {
        return match url::Host::parse(&text) {
            Ok(host) => Ok(SubjectType::Pairwise {
                sector: host.to_string(),
            }),
            Err(_) => Err(invalid(
                FIELD,
                "expected a host name such as app.example.org",
            )),
        };
    }
    // OpenID Connect Core section 8.1: without a sector identifier, the sector is the single host of the redirect URIs.
    let mut hosts: Vec<String> = settings
        .redirect_uris
        .iter()
        .filter_map(RedirectUri::host)
        .collect();
    hosts.dedup();
    match (known, hosts.as_slice()) {
        (Some(sector), _) => Ok(SubjectType::Pairwise { sector }),
        (None, [host]) => Ok(SubjectType::Pairwise {
            sector: host.clone(),
        }),
        (None, _) => Err(invalid(
            FIELD,
            "the redirect URIs have several hosts; expected a host name for their sector",
        )),
    }
}
