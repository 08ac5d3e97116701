//! The description of an OpenID Connect client in the admin API.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;
use utoipa::ToSchema;

use crate::domain::admin::documents::{ManagementView, RegistrationSourceView, UsageView};
use crate::domain::audit::moment_text;
use assent_model::administration::{AdminScope, AdminScopes};
use assent_model::application::information::InformationUri;
use assent_model::application::security_profile::SecurityProfile;
use assent_model::application::{
    Application, ConsentPolicy, GrantType, OidcSettings, SenderConstraint, SubjectType,
};
use assent_model::application_type::ApplicationType;
use assent_model::backchannel::BackchannelBinding;
use assent_model::backchannel_delivery::DeliveryMode;
use assent_model::certificate_name::CertificateNameKind;
use assent_model::client_algorithm::ClientAlgorithm;
use assent_model::client_auth::{
    CertificateIdentity, ClientAuthMethod, ClientAuthentication, ClientKeys,
};
use assent_model::key::SigningAlgorithm;
use assent_model::redirect::RedirectUri;
use assent_model::scope::Scope;

assent_model::resource! {
    /// An OpenID Connect client. Only the response to a change that created a secret contains the secret.
    #[derive(Serialize, ToSchema)]
    #[schema(as = Client)]
    pub struct ClientDocument;

    /// A new OpenID Connect client, or an update. A missing member leaves its value unchanged; a new client has the
    /// default.
    #[derive(Clone, Debug, Default, Deserialize, Serialize, ToSchema)]
    #[serde(deny_unknown_fields)]
    pub struct ClientChange, protected ProtectedClientMembers;

    /// The Client ID, a DID.
    shown id: String,
    /// The application type: required for a new application, and fixed afterwards.
    protected sent application_type: ApplicationType,
    /// The name that users see. Required for a new application.
    protected(explained) plain name: String,
    /// Whether users can sign in to it, and its tokens are valid. Disabling it revokes its tokens.
    protected(explained) plain enabled: bool,
    /// Whether it is disabled until an administrator approves it, because it registered or changed itself. Enabling it
    /// approves it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    shown awaits_approval: bool,
    #[allow(missing_docs, reason = "with a text beside the inlined type, the schema would require an object")]
    #[schema(inline)]
    shown protocol: OpenIdConnect,
    /// The application type.
    shown application_type: ApplicationType,
    /// The redirect URIs, compared character by character; null removes all.
    protected(explained) emptied redirect_uris: Vec<String>,
    /// The redirect URIs after signing out; null removes all.
    protected(explained) emptied post_logout_redirect_uris: Vec<String>,
    /// The scopes that the application may request.
    protected plain scopes: Vec<String> as Vec<Scope>,
    /// The grant types that the application may use.
    protected plain grant_types: Vec<GrantType>,
    /// The client authentication method.
    protected plain token_endpoint_auth_method: ClientAuthMethod,
    /// Whether it has a client secret.
    shown has_secret: bool,
    /// The new secret, if this change created one. Only this response contains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    shown client_secret: Option<String>,
    /// A JSON Web Key Set (RFC 7517 section 5); null removes it with another authentication method or key.
    protected(explained) omitted jwks: Value as Object,
    /// The URL of the key set; null removes it with another authentication method or key.
    protected(explained) omitted jwks_uri: String,
    /// A public key in PEM form; null removes it with another authentication method or key.
    protected(explained) sent_removable public_key: String,
    /// A certificate in PEM form, or two with `tls_client_certificate` while one replaces the other; null removes it
    /// with another authentication method or key.
    protected(explained) omitted certificate: String,
    /// The subject (RFC 4514) in any certificate of the server's authorities, for `tls_client_certificate` in place of
    /// `certificate` (RFC 8705 section 2.1.2); null removes it with another authentication method or key.
    protected(explained) omitted tls_client_auth_subject_dn: String,
    /// In place of `tls_client_auth_subject_dn`: a host name (dNSName) in the certificate, where a wildcard matches
    /// nothing; null removes it with another authentication method or key.
    protected(explained) omitted tls_client_auth_san_dns: String,
    /// In place of `tls_client_auth_subject_dn`: a URI (uniformResourceIdentifier) in the certificate; null removes it
    /// with another authentication method or key.
    protected(explained) omitted tls_client_auth_san_uri: String,
    /// In place of `tls_client_auth_subject_dn`: an IP address (iPAddress) in the certificate; null removes it with
    /// another authentication method or key.
    protected(explained) omitted tls_client_auth_san_ip: String,
    /// In place of `tls_client_auth_subject_dn`: an email address (rfc822Name) in the certificate; null removes it with
    /// another authentication method or key.
    protected(explained) omitted tls_client_auth_san_email: String,
    /// The addresses of request objects to which the application refers with `request_uri`; null removes all.
    protected emptied request_uris: Vec<String>,
    /// Whether each authorization request must be a signed request object (RFC 9101), which `jwks` or `jwks_uri`
    /// verifies.
    protected plain require_signed_request_object: bool,
    /// The only algorithm of its request objects; null permits each supported one. Another one is rejected.
    protected omitted request_object_signing_alg: ClientAlgorithm,
    /// The only algorithm of its signed back-channel requests, each of which must then be signed; null permits unsigned
    /// requests, unless the security profile is `fapi-ciba`.
    protected omitted backchannel_authentication_request_signing_alg: ClientAlgorithm,
    /// The way in which users connect its back-channel requests with it: they compare the binding message (`shown`),
    /// type digits that it shows (`typed`), or approve with a passkey (`none`).
    protected plain backchannel_binding: BackchannelBinding,
    /// The longest `requested_expiry` of its back-channel requests in seconds, 10 to 86400.
    protected plain backchannel_longest_expiry: u32,
    /// The id of the group of which a member must approve each of its back-channel requests, beside the user and never
    /// for themselves (four eyes); null if the approval of the user is enough.
    protected removable second_approver_group: String,
    /// The only algorithm of its assertions with `private_key_jwt`; null permits each supported one. Another one is
    /// rejected.
    protected omitted token_endpoint_auth_signing_alg: ClientAlgorithm,
    /// The security profile, whose rules the other settings must fulfil; null for none.
    protected removable security_profile: SecurityProfile,
    /// The algorithm that signs the ID tokens of the application.
    protected plain id_token_signed_response_alg: SigningAlgorithm,
    /// The algorithm that signs authorization responses with `response_mode=jwt`; null for that of ID tokens.
    protected removable authorization_signed_response_alg: SigningAlgorithm,
    /// The algorithm that signs UserInfo responses; null for plain JSON.
    protected removable userinfo_signed_response_alg: SigningAlgorithm,
    /// The algorithm that signs introspection responses, if the request accepts a JWT; null for that of ID tokens.
    protected removable introspection_signed_response_alg: SigningAlgorithm,
    /// Whether the claims of the scopes are only at UserInfo, and not in the ID tokens.
    harmless plain slim_id_token: bool,
    /// Whether the token response has `session_state`, with the value of the ID token's `sid`. Keycloak as a broker
    /// needs it for back-channel logout.
    harmless plain session_state: bool,
    /// Whether users have a `sub` of the application's sector.
    protected plain subject_type: SubjectKind,
    /// The host name of the sector; by default the common host name of the redirect URIs; null removes it with the
    /// subject type public.
    protected omitted sector_identifier: String,
    /// Whether users are asked for consent.
    protected plain consent: ConsentPolicy,
    /// Whether users who agreed to it sign in with a passkey on the login page, without an approval.
    // This setting permits sign-ins without a request on any device. It is therefore protected, like the other
    // settings of authentication.
    protected(explained) plain passkey_sign_in: bool,
    /// The URI that receives logout tokens; null removes it.
    protected(explained) removable backchannel_logout_uri: String,
    /// Whether the application requires `sid` in a logout token.
    harmless plain backchannel_logout_session_required: bool,
    /// The URI that the browser loads in a hidden frame when a session ends, with `iss` and `sid`; null removes it. Its
    /// scheme, host and port must be those of a redirect URI.
    protected(explained) removable frontchannel_logout_uri: String,
    /// Whether the application requires `iss` and `sid` at the front-channel logout URI.
    harmless plain frontchannel_logout_session_required: bool,
    /// The URI that begins a sign-in at the application; null removes it.
    protected(explained) removable initiate_login_uri: String,
    /// Whether client assertions may name the token endpoint as their audience, and not the issuer. A server that
    /// knows such an assertion could then use it here. Not for an application with `admin_scopes`.
    protected plain lenient_assertion_audience: bool,
    /// The recipe of the console by which the application is connected, such as `grafana`; null removes it. The
    /// console shows its guide.
    harmless removable recipe: String,
    /// The address of the application's privacy policy, for the consent page; null removes it.
    protected removable policy_uri: String,
    /// The address of the application's terms of service, for the consent page; null removes it.
    protected removable tos_uri: String,
    /// The address of a page about the application, for the consent page; null removes it.
    protected removable client_uri: String,
    /// Up to 10 email addresses or other contacts of the owners of the application, for the consent page; null removes
    /// all.
    protected emptied contacts: Vec<String>,
    /// The address of the logo, an image in PNG, JPEG or WebP format of 64 KiB at most. The server fetches it once when
    /// the address changes, and stores it as the application's logo; null removes address and logo.
    protected removable logo_uri: String,
    /// Whether each sign-in must use PKCE (RFC 7636). `false` by default for web applications; other types always
    /// use it.
    protected(explained) plain require_pkce: bool,
    /// Whether each authorization request must be pushed (RFC 9126).
    protected plain require_pushed_authorization_requests: bool,
    /// Whether access tokens are bound to the certificate of the TLS connection (RFC 8705 section 3). `true` by default
    /// for the authentication method `tls_client_certificate`.
    protected plain tls_client_certificate_bound_access_tokens: bool,
    /// Whether each token request must have a DPoP proof, to whose key access tokens are bound (RFC 9449). Without this
    /// setting a proof is optional. Not with `tls_client_certificate_bound_access_tokens`.
    protected plain dpop_bound_access_tokens: bool,
    /// The types of authorization details that the application may request (RFC 9396 section 10), 50 at most; null
    /// removes all. Each request needs an approval on a device, which shows the details.
    protected emptied authorization_details_types: Vec<String>,
    /// How the application receives the results of its back-channel requests (OpenID CIBA Core 1.0 section 4): it
    /// polls, the server notifies it, or, with the setting `oidc.backchannel.push`, the server sends it the tokens. The
    /// latter not with tokens that are bound to a key.
    protected plain backchannel_token_delivery_mode: DeliveryMode,
    /// The https address that receives the notifications or tokens, with the mode `ping` or `push`; null removes it
    /// with the mode `poll`.
    protected removable backchannel_client_notification_endpoint: String,
    /// The permissions of the application in the admin API as a service account; null removes all. Only an owner
    /// may set them.
    owner(explained) emptied admin_scopes: AdminScopes as Vec<AdminScope>,
    /// When it was created.
    #[schema(format = DateTime)]
    shown created_at: String,
    /// When it was last changed.
    #[schema(format = DateTime)]
    shown updated_at: String,
    /// How it is used. Only lists have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    shown usage: Option<UsageView>,
    /// The manifest that manages it. Lists and the responses to POST and PATCH lack it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    shown managed_by: Option<ManagementView>,
    /// The source of an application that registered itself. The responses to POST and PATCH lack it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    shown registered_by: Option<RegistrationSourceView>,
}

/// The protocol of an OpenID Connect client.
#[derive(Clone, Copy, Default, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OpenIdConnect {
    /// OpenID Connect.
    #[default]
    OpenidConnect,
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

impl ClientDocument {
    /// Describes a client as it is stored.
    #[expect(
        clippy::too_many_lines,
        reason = "each member of the description has its lines"
    )]
    pub fn new(application: &Application) -> Self {
        let settings = &application.settings;
        // Each setting has a member.
        let OidcSettings {
            enabled,
            awaits_approval,
            application_type,
            redirect_uris,
            post_logout_redirect_uris,
            scopes,
            grant_types,
            authentication,
            request_keys: _,
            request_uris,
            require_signed_request_object,
            request_object_algorithm,
            backchannel_request_algorithm,
            backchannel_binding,
            backchannel_longest_expiry,
            second_approver_group,
            assertion_algorithm,
            security_profile,
            id_token_algorithm,
            slim_id_token,
            session_state,
            subject_type,
            consent,
            passkey_sign_in,
            backchannel_logout,
            frontchannel_logout,
            initiate_login_uri,
            lenient_assertion_audience,
            recipe,
            information,
            require_pkce,
            require_pushed_authorization_requests,
            authorization_response_algorithm,
            userinfo_algorithm,
            introspection_algorithm,
            sender_constraint,
            authorization_details_types,
            backchannel_delivery,
            admin_scopes,
        } = settings;
        let (subject_type, sector_identifier) = match subject_type {
            SubjectType::Public => (SubjectKind::Public, None),
            SubjectType::Pairwise { sector } => (SubjectKind::Pairwise, Some(sector.clone())),
        };
        let (jwks, jwks_uri) = match settings.signing_keys() {
            Some(ClientKeys::Jwks(keys)) => (Some(json!({"keys": keys})), None),
            Some(ClientKeys::JwksUri(uri)) => (None, Some(uri.to_string())),
            None => (None, None),
        };
        let name = |kind| certificate_name(authentication, kind);
        let logout = backchannel_logout.as_ref();
        let logout_page = frontchannel_logout.as_ref();
        let page = |uri: &Option<InformationUri>| uri.as_ref().map(|uri| uri.as_str().to_owned());
        let texts = |uris: &[RedirectUri]| uris.iter().map(|uri| uri.as_str().to_owned()).collect();
        Self {
            id: application.id.to_string(),
            name: application.name.clone(),
            enabled: *enabled,
            awaits_approval: *awaits_approval,
            protocol: OpenIdConnect::OpenidConnect,
            application_type: *application_type,
            redirect_uris: texts(redirect_uris),
            post_logout_redirect_uris: texts(post_logout_redirect_uris),
            scopes: scopes
                .iter()
                .map(|scope| scope.as_str().to_owned())
                .collect(),
            grant_types: grant_types.iter().copied().collect(),
            token_endpoint_auth_method: settings.auth_method(),
            has_secret: !application.secrets.is_empty(),
            client_secret: None,
            jwks,
            jwks_uri,
            certificate: certificates(authentication),
            tls_client_auth_subject_dn: name(CertificateNameKind::SubjectDn),
            tls_client_auth_san_dns: name(CertificateNameKind::SanDns),
            tls_client_auth_san_uri: name(CertificateNameKind::SanUri),
            tls_client_auth_san_ip: name(CertificateNameKind::SanIp),
            tls_client_auth_san_email: name(CertificateNameKind::SanEmail),
            request_uris: request_uris.iter().map(ToString::to_string).collect(),
            require_signed_request_object: *require_signed_request_object,
            request_object_signing_alg: *request_object_algorithm,
            backchannel_authentication_request_signing_alg: *backchannel_request_algorithm,
            backchannel_binding: *backchannel_binding,
            backchannel_longest_expiry: backchannel_longest_expiry.seconds(),
            second_approver_group: second_approver_group.map(|group| group.to_string()),
            token_endpoint_auth_signing_alg: *assertion_algorithm,
            security_profile: *security_profile,
            id_token_signed_response_alg: *id_token_algorithm,
            authorization_signed_response_alg: *authorization_response_algorithm,
            userinfo_signed_response_alg: *userinfo_algorithm,
            introspection_signed_response_alg: *introspection_algorithm,
            slim_id_token: *slim_id_token,
            session_state: *session_state,
            subject_type,
            sector_identifier,
            consent: *consent,
            passkey_sign_in: *passkey_sign_in,
            backchannel_logout_uri: logout.map(|logout| logout.uri.to_string()),
            backchannel_logout_session_required: logout
                .is_some_and(|logout| logout.session_required),
            frontchannel_logout_uri: logout_page.map(|logout| logout.uri.as_str().to_owned()),
            frontchannel_logout_session_required: logout_page
                .is_some_and(|logout| logout.session_required),
            initiate_login_uri: initiate_login_uri
                .as_ref()
                .map(|uri| uri.as_str().to_owned()),
            lenient_assertion_audience: *lenient_assertion_audience,
            recipe: recipe.clone(),
            policy_uri: page(&information.policy_uri),
            tos_uri: page(&information.tos_uri),
            client_uri: page(&information.client_uri),
            contacts: information
                .contacts
                .iter()
                .map(|contact| contact.as_str().to_owned())
                .collect(),
            logo_uri: information.logo_uri.as_ref().map(Url::to_string),
            require_pkce: *require_pkce,
            require_pushed_authorization_requests: *require_pushed_authorization_requests,
            tls_client_certificate_bound_access_tokens: *sender_constraint
                == SenderConstraint::Certificate,
            dpop_bound_access_tokens: *sender_constraint == SenderConstraint::DpopKey,
            authorization_details_types: authorization_details_types
                .iter()
                .map(ToString::to_string)
                .collect(),
            backchannel_token_delivery_mode: backchannel_delivery.mode(),
            backchannel_client_notification_endpoint: backchannel_delivery
                .endpoint()
                .map(Url::to_string),
            admin_scopes: admin_scopes.clone(),
            created_at: moment_text(application.created_at),
            updated_at: moment_text(application.updated_at),
            usage: None,
            managed_by: None,
            registered_by: None,
        }
    }
}

/// Returns the registered certificates in PEM form.
fn certificates(authentication: &ClientAuthentication) -> Option<String> {
    match authentication {
        ClientAuthentication::TlsClientCertificate(CertificateIdentity::Registered(registered)) => {
            Some(registered.to_pem())
        }
        _ => None,
    }
}

/// Returns the name in certificates, if it is of this kind.
fn certificate_name(
    authentication: &ClientAuthentication,
    kind: CertificateNameKind,
) -> Option<String> {
    match authentication {
        ClientAuthentication::TlsClientCertificate(CertificateIdentity::Named(name)) => {
            (name.kind() == kind).then(|| name.to_text())
        }
        _ => None,
    }
}
