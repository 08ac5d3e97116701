//! An application as the API shows it.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::domain::admin::SubjectKind;
use crate::http::admin_api::application_usage::UsageView;
use crate::http::admin_api::management_view::ManagementView;
use crate::http::admin_api::service_provider_view;
use crate::http::admin_api::service_provider_view::ServiceProviderView;
use crate::http::admin_api::values::moment;
use assent_model::administration::{AdminScope, AdminScopes};
use assent_model::application::{
    Application, ConsentPolicy, GrantType, OidcSettings, RegisteredApplication, SubjectType,
};
use assent_model::application_type::ApplicationType;
use assent_model::client_auth::{ClientAuthMethod, ClientAuthentication, ClientKeys};
use assent_model::key::SigningAlgorithm;
use assent_model::management::Management;
use assent_model::redirect::RedirectUri;
use assent_model::scope::{Scope, Scopes};

/// An OpenID Connect client. Only the response to a change that created a secret contains the secret.
#[derive(Serialize, ToSchema)]
#[schema(as = Client)]
pub(super) struct ApplicationView {
    /// The Client ID, a DID.
    pub(super) id: String,
    /// The name that users see.
    pub(super) name: String,
    /// Whether users can sign in to it, and its tokens are valid.
    pub(super) enabled: bool,
    #[schema(inline)]
    pub(super) protocol: OpenIdConnect,
    pub(super) application_type: ApplicationType,
    /// The redirect URIs.
    #[schema(value_type = Vec<String>)]
    pub(super) redirect_uris: Vec<RedirectUri>,
    /// The redirect URIs after signing out.
    #[schema(value_type = Vec<String>)]
    pub(super) post_logout_redirect_uris: Vec<RedirectUri>,
    /// The scopes that it may request.
    #[schema(value_type = Vec<Scope>)]
    pub(super) scopes: Scopes,
    pub(super) grant_types: Vec<GrantType>,
    pub(super) token_endpoint_auth_method: ClientAuthMethod,
    pub(super) has_secret: bool,
    /// The new secret, if this change created one. Only this response contains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) client_secret: Option<String>,
    #[serde(flatten)]
    pub(super) keys: ClientKeysView,
    pub(super) id_token_signed_response_alg: SigningAlgorithm,
    pub(super) slim_id_token: bool,
    /// Whether the token response has `session_state`, with the value of the ID token's `sid`.
    pub(super) session_state: bool,
    pub(super) subject_type: SubjectKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sector_identifier: Option<String>,
    pub(super) consent: ConsentPolicy,
    /// Whether users who agreed to it sign in with a passkey on the login page, without an approval.
    pub(super) passkey_sign_in: bool,
    pub(super) backchannel_logout_uri: Option<String>,
    pub(super) backchannel_logout_session_required: bool,
    pub(super) initiate_login_uri: Option<String>,
    /// Whether its client assertions may name the token endpoint as their audience, and not the issuer.
    pub(super) lenient_assertion_audience: bool,
    /// The recipe of the console by which it is connected, such as `grafana`.
    pub(super) recipe: Option<String>,
    /// Whether each sign-in must use PKCE.
    pub(super) require_pkce: bool,
    /// Its permissions in the admin API as a service account.
    #[schema(value_type = Vec<AdminScope>)]
    pub(super) admin_scopes: AdminScopes,
    #[schema(format = DateTime)]
    pub(super) created_at: String,
    #[schema(format = DateTime)]
    pub(super) updated_at: String,
    /// How it is used. Only lists have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) usage: Option<UsageView>,
    /// The manifest that manages it. Lists and the responses to POST and PATCH lack it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) managed_by: Option<ManagementView>,
}

/// The protocol of an OpenID Connect client.
#[derive(Clone, Copy, Default, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum OpenIdConnect {
    #[default]
    OpenidConnect,
}

/// The key of the client authentication method: one of these, or none.
#[derive(Default, Serialize, ToSchema)]
#[schema(as = ClientKeys)]
pub(super) struct ClientKeysView {
    /// A JSON Web Key Set (RFC 7517 section 5).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    jwks: Option<Value>,
    /// The URL of the key set.
    #[serde(skip_serializing_if = "Option::is_none")]
    jwks_uri: Option<String>,
    /// A certificate in PEM form.
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate: Option<String>,
}

pub(super) fn view(application: Application) -> ApplicationView {
    let token_endpoint_auth_method = application.settings.auth_method();
    // The pattern names each setting, so that the compiler reports a setting that the view lacks.
    let Application {
        id,
        name,
        settings,
        secrets,
        version: _,
        created_at,
        updated_at,
    } = application;
    let OidcSettings {
        enabled,
        application_type,
        redirect_uris,
        post_logout_redirect_uris,
        scopes,
        grant_types,
        authentication,
        id_token_algorithm,
        slim_id_token,
        session_state,
        subject_type,
        consent,
        passkey_sign_in,
        backchannel_logout,
        initiate_login_uri,
        lenient_assertion_audience,
        recipe,
        require_pkce,
        admin_scopes,
    } = settings;
    let (subject_type, sector_identifier) = match subject_type {
        SubjectType::Public => (SubjectKind::Public, None),
        SubjectType::Pairwise { sector } => (SubjectKind::Pairwise, Some(sector)),
    };
    let (uri, session_required) = backchannel_logout
        .map(|logout| (logout.uri.to_string(), logout.session_required))
        .unzip();
    ApplicationView {
        id: id.to_string(),
        name,
        enabled,
        protocol: OpenIdConnect::OpenidConnect,
        application_type,
        redirect_uris,
        post_logout_redirect_uris,
        scopes,
        grant_types: grant_types.into_iter().collect(),
        token_endpoint_auth_method,
        has_secret: !secrets.is_empty(),
        client_secret: None,
        keys: keys(authentication),
        id_token_signed_response_alg: id_token_algorithm,
        slim_id_token,
        session_state,
        subject_type,
        sector_identifier,
        consent,
        passkey_sign_in,
        backchannel_logout_uri: uri,
        backchannel_logout_session_required: session_required.unwrap_or(false),
        initiate_login_uri: initiate_login_uri.map(|uri| uri.as_str().to_owned()),
        lenient_assertion_audience,
        recipe,
        require_pkce,
        admin_scopes,
        created_at: moment(created_at),
        updated_at: moment(updated_at),
        usage: None,
        managed_by: None,
    }
}

fn keys(authentication: ClientAuthentication) -> ClientKeysView {
    let none = ClientKeysView::default();
    match authentication {
        ClientAuthentication::PrivateKeyJwt(ClientKeys::Jwks(keys)) => ClientKeysView {
            jwks: Some(json!({"keys": keys})),
            ..none
        },
        ClientAuthentication::PrivateKeyJwt(ClientKeys::JwksUri(uri)) => ClientKeysView {
            jwks_uri: Some(uri.into()),
            ..none
        },
        ClientAuthentication::TlsClientCertificate(certificate) => ClientKeysView {
            certificate: Some(certificate.pem),
            ..none
        },
        _ => none,
    }
}

/// An application of either protocol.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = Application)]
pub(super) enum RegisteredApplicationView {
    Client(Box<ApplicationView>),
    ServiceProvider(Box<ServiceProviderView>),
}

impl RegisteredApplicationView {
    /// Adds the usage of the application.
    pub(super) fn with_usage(self, usage: UsageView) -> Self {
        match self {
            Self::Client(mut view) => {
                view.usage = Some(usage);
                Self::Client(view)
            }
            Self::ServiceProvider(view) => Self::ServiceProvider(Box::new(view.with_usage(usage))),
        }
    }

    /// Adds the manifest that manages the application.
    pub(super) fn with_management(self, management: Option<Management>) -> Self {
        let managed_by = management.map(ManagementView::from);
        match self {
            Self::Client(view) => Self::Client(Box::new(ApplicationView {
                managed_by,
                ..*view
            })),
            Self::ServiceProvider(view) => {
                Self::ServiceProvider(Box::new(view.with_management(managed_by)))
            }
        }
    }
}

impl From<RegisteredApplication> for RegisteredApplicationView {
    fn from(application: RegisteredApplication) -> Self {
        match application {
            RegisteredApplication::Client(client) => {
                Self::Client(Box::new(view(Arc::unwrap_or_clone(client))))
            }
            RegisteredApplication::ServiceProvider(provider) => Self::ServiceProvider(Box::new(
                service_provider_view::view(Arc::unwrap_or_clone(provider)),
            )),
        }
    }
}
