//! The changes that create or update an OpenID Connect client.

use std::collections::BTreeSet;

use serde_json::Value;
use url::Url;

use super::authentication::{AuthenticationChange, authentication, request_keys};
use super::backchannel_delivery;
use super::document::{ClientChange, SubjectKind};
use super::information::InformationChange;
use super::values::{application_name, recipe_id, require_known_scopes, server_address};
use crate::domain::Services;
use crate::domain::admin::{Result, invalid};
use assent_model::application::profile_rules::NO_CERTIFICATES;
use assent_model::application::security_profile::SecurityProfile;
use assent_model::application::{
    Application, BackchannelLogout, FrontchannelLogout, FrontchannelLogoutUri, GrantType,
    InitiateLoginUri, OidcSettings, SenderConstraint, SubjectType,
};
use assent_model::application_type::ApplicationType;
use assent_model::authorization_details::name::{TypeName, TypeNameError};
use assent_model::backchannel::LongestExpiry;
use assent_model::certificate_name::CertificateNameKind;
use assent_model::client_auth::{ClientAuthMethod, ClientAuthentication};
use assent_model::id::GroupId;
use assent_model::redirect::RedirectUri;
use assent_model::scope::{Scope, Scopes};
use assent_plugin_host::egress::Egress;

/// The largest number of redirect URIs of one kind.
const MOST_URIS: usize = 50;

#[expect(
    clippy::too_many_lines,
    reason = "each member of the description has its lines"
)]
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
        request_uris,
        require_signed_request_object,
        request_object_signing_alg,
        backchannel_authentication_request_signing_alg,
        backchannel_binding,
        backchannel_longest_expiry,
        second_approver_group,
        token_endpoint_auth_signing_alg,
        security_profile,
        tls_client_auth_subject_dn,
        tls_client_auth_san_dns,
        tls_client_auth_san_uri,
        tls_client_auth_san_ip,
        tls_client_auth_san_email,
        id_token_signed_response_alg,
        authorization_signed_response_alg,
        userinfo_signed_response_alg,
        introspection_signed_response_alg,
        slim_id_token,
        session_state,
        subject_type: subject_kind,
        sector_identifier,
        consent,
        passkey_sign_in,
        backchannel_logout_uri,
        backchannel_logout_session_required,
        frontchannel_logout_uri,
        frontchannel_logout_session_required,
        initiate_login_uri,
        lenient_assertion_audience,
        recipe,
        policy_uri,
        tos_uri,
        client_uri,
        contacts,
        logo_uri,
        require_pkce,
        require_pushed_authorization_requests,
        tls_client_certificate_bound_access_tokens,
        dpop_bound_access_tokens,
        authorization_details_types,
        backchannel_token_delivery_mode,
        backchannel_client_notification_endpoint,
        admin_scopes,
    } = change;
    let keys = AuthenticationChange {
        method,
        jwks,
        jwks_uri,
        public_key,
        certificate,
        names: [
            (CertificateNameKind::SubjectDn, tls_client_auth_subject_dn),
            (CertificateNameKind::SanDns, tls_client_auth_san_dns),
            (CertificateNameKind::SanUri, tls_client_auth_san_uri),
            (CertificateNameKind::SanIp, tls_client_auth_san_ip),
            (CertificateNameKind::SanEmail, tls_client_auth_san_email),
        ],
        has_authorities: services.client_authorities.is_some(),
    };
    let allow_insecure = services.settings.allow_insecure_redirect_uris;
    let egress = &services.egress;
    if let Some(name) = name {
        application.name = application_name(&name)?;
    }
    let settings = &mut application.settings;
    must_receive_certificates(
        services,
        settings,
        tls_client_certificate_bound_access_tokens,
        security_profile.flatten(),
    )?;
    if let Some(enabled) = enabled {
        settings.enabled = enabled;
        // This is the decision of an administrator.
        settings.awaits_approval = false;
    }
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
    if let Some(named) = grant_types {
        settings.grant_types = at_least_one(named)?;
    }
    let request_keys = request_keys(settings, &keys, egress)?;
    let authentication = authentication(settings, &keys, egress)?;
    settings.sender_constraint = sender_constraint(
        settings,
        &authentication,
        tls_client_certificate_bound_access_tokens,
        dpop_bound_access_tokens,
    )?;
    settings.request_keys = match authentication {
        // It has the keys for request objects, too.
        ClientAuthentication::PrivateKeyJwt(_) => None,
        _ => request_keys,
    };
    settings.authentication = authentication;
    if let Some(texts) = request_uris {
        settings.request_uris = request_object_addresses(&texts, egress)?;
    }
    set(
        &mut settings.require_signed_request_object,
        require_signed_request_object,
    );
    set(
        &mut settings.request_object_algorithm,
        request_object_signing_alg,
    );
    set(
        &mut settings.backchannel_request_algorithm,
        backchannel_authentication_request_signing_alg,
    );
    set(&mut settings.backchannel_binding, backchannel_binding);
    if let Some(seconds) = backchannel_longest_expiry {
        settings.backchannel_longest_expiry = longest_expiry(seconds)?;
    }
    if let Some(group) = second_approver_group {
        settings.second_approver_group = group.as_deref().map(group_id).transpose()?;
    }
    set(
        &mut settings.assertion_algorithm,
        token_endpoint_auth_signing_alg,
    );
    set(&mut settings.security_profile, security_profile);
    set(
        &mut settings.id_token_algorithm,
        id_token_signed_response_alg,
    );
    set(
        &mut settings.authorization_response_algorithm,
        authorization_signed_response_alg,
    );
    set(
        &mut settings.userinfo_algorithm,
        userinfo_signed_response_alg,
    );
    set(
        &mut settings.introspection_algorithm,
        introspection_signed_response_alg,
    );
    set(&mut settings.slim_id_token, slim_id_token);
    set(&mut settings.session_state, session_state);
    set(&mut settings.consent, consent);
    set(&mut settings.passkey_sign_in, passkey_sign_in);
    let pairwise = subject_kind.map(|kind| kind == SubjectKind::Pairwise);
    settings.subject_type = subject_type(settings, pairwise, sector_identifier)?;
    settings.backchannel_logout = backchannel_logout(
        settings,
        backchannel_logout_uri,
        backchannel_logout_session_required,
        egress,
    )?;
    settings.frontchannel_logout = frontchannel_logout(
        settings,
        frontchannel_logout_uri,
        frontchannel_logout_session_required,
    )?;
    if let Some(uri) = initiate_login_uri {
        settings.initiate_login_uri = uri.as_deref().map(login_uri).transpose()?;
    }
    if let Some(recipe) = recipe {
        settings.recipe = recipe.map(recipe_id).transpose()?;
    }
    let information = InformationChange {
        policy_uri,
        tos_uri,
        client_uri,
        contacts,
        logo_uri,
    };
    information.apply(&mut settings.information, egress)?;
    if let Some(names) = authorization_details_types {
        settings.authorization_details_types = details_types(&names)?;
    }
    let delivery = backchannel_delivery::changed(
        &settings.backchannel_delivery,
        backchannel_token_delivery_mode,
        backchannel_client_notification_endpoint,
        egress,
    )?;
    backchannel_delivery::must_be_offered(services, &settings.backchannel_delivery, &delivery)?;
    settings.backchannel_delivery = delivery;
    set(&mut settings.admin_scopes, admin_scopes);
    set(
        &mut settings.lenient_assertion_audience,
        lenient_assertion_audience,
    );
    set(&mut settings.require_pkce, require_pkce);
    set(
        &mut settings.require_pushed_authorization_requests,
        require_pushed_authorization_requests,
    );
    must_fit_together(settings)
}

/// The largest number of types of authorization details of an application.
const MOST_DETAILS_TYPES: usize = 50;

/// Reads the names of types. A type may be registered later.
fn details_types(names: &[String]) -> Result<BTreeSet<TypeName>> {
    const MEMBER: &str = "authorization_details_types";
    if names.len() > MOST_DETAILS_TYPES {
        let expected = format!("expected {MOST_DETAILS_TYPES} at most");
        return Err(invalid(MEMBER, expected));
    }
    let read = |name: &String| {
        name.parse()
            .map_err(|error: TypeNameError| invalid(MEMBER, error.to_string()))
    };
    names.iter().map(read).collect()
}

fn longest_expiry(seconds: u32) -> Result<LongestExpiry> {
    const SHORTEST: u32 = LongestExpiry::SHORTEST;
    const LONGEST: u32 = LongestExpiry::LONGEST;
    LongestExpiry::of_seconds(seconds).map_err(|_| {
        let expected = format!("expected {SHORTEST} to {LONGEST} seconds");
        invalid("backchannel_longest_expiry", expected)
    })
}

/// Reads the id of a group. Without such a group no user can give a second approval.
fn group_id(text: &str) -> Result<GroupId> {
    text.parse()
        .map_err(|_| invalid("second_approver_group", "expected the id of a group"))
}

fn at_least_one(grant_types: Vec<GrantType>) -> Result<BTreeSet<GrantType>> {
    match grant_types.is_empty() {
        true => Err(invalid("grant_types", "expected one at least")),
        false => Ok(grant_types.into_iter().collect()),
    }
}

fn login_uri(text: &str) -> Result<InitiateLoginUri> {
    InitiateLoginUri::parse(text).map_err(|unfit| invalid("initiate_login_uri", unfit.to_string()))
}

/// Sets a value that the change has.
fn set<T>(setting: &mut T, change: Option<T>) {
    if let Some(value) = change {
        *setting = value;
    }
}

/// Returns the key to which tokens are bound after the change. An application that begins to authenticate with its
/// certificate begins to have tokens that are bound to it, unless the change says otherwise.
fn sender_constraint(
    settings: &OidcSettings,
    authentication: &ClientAuthentication,
    to_certificate: Option<bool>,
    to_key: Option<bool>,
) -> Result<SenderConstraint> {
    let known = settings.sender_constraint;
    let certificates = ClientAuthMethod::TlsClientCertificate;
    let begins = authentication.method() == certificates && settings.auth_method() != certificates;
    let to_key = to_key.unwrap_or(known == SenderConstraint::DpopKey);
    let by_default = known == SenderConstraint::Certificate || (begins && !to_key);
    match (to_certificate.unwrap_or(by_default), to_key) {
        (false, false) => Ok(SenderConstraint::Optional),
        (true, false) => Ok(SenderConstraint::Certificate),
        (false, true) => Ok(SenderConstraint::DpopKey),
        (true, true) => Err(invalid(
            "dpop_bound_access_tokens",
            "a token is bound to one key: expected false with tls_client_certificate_bound_access_tokens",
        )),
    }
}

/// Rejects a change that begins to need client certificates on a server that receives none. A setting of an earlier
/// time stays, so that an administrator can change the others.
fn must_receive_certificates(
    services: &Services,
    before: &OidcSettings,
    to_certificate: Option<bool>,
    profile: Option<SecurityProfile>,
) -> Result<()> {
    if services.settings.http.receives_certificates() {
        return Ok(());
    }
    if to_certificate == Some(true) && before.sender_constraint != SenderConstraint::Certificate {
        let member = "tls_client_certificate_bound_access_tokens";
        return Err(invalid(member, NO_CERTIFICATES));
    }
    let ciba = Some(SecurityProfile::FapiCiba);
    if profile == ciba && before.security_profile != ciba {
        return Err(invalid("security_profile", NO_CERTIFICATES));
    }
    Ok(())
}

/// Rejects settings that are valid separately, but not together.
fn must_fit_together(settings: &OidcSettings) -> Result<()> {
    if settings.admin_scopes_of(&settings.admin_scopes) != settings.admin_scopes {
        return Err(invalid(
            "admin_scopes",
            "expected a web application with the grant type client_credentials",
        ));
    }
    if settings.grant_types.contains(&GrantType::Ciba)
        && !settings.application_type.is_confidential()
    {
        return Err(invalid(
            "grant_types",
            "only a web application, which authenticates itself, may have urn:openid:params:grant-type:ciba",
        ));
    }
    backchannel_delivery::must_fit(settings)?;
    if settings.lenient_assertion_audience && settings.is_service_account() {
        return Err(invalid(
            "lenient_assertion_audience",
            "expected false for an application with admin_scopes: the audience of its client assertions must be the \
             issuer",
        ));
    }
    if settings.require_signed_request_object && settings.signing_keys().is_none() {
        return Err(invalid(
            "require_signed_request_object",
            "expected jwks or jwks_uri with it, which verify the request objects",
        ));
    }
    if settings.backchannel_request_algorithm.is_some() && settings.signing_keys().is_none() {
        return Err(invalid(
            "backchannel_authentication_request_signing_alg",
            "expected jwks or jwks_uri with it, which verify the signed requests",
        ));
    }
    if settings.sender_constraint == SenderConstraint::Certificate
        && !settings.application_type.is_confidential()
    {
        return Err(invalid(
            "tls_client_certificate_bound_access_tokens",
            "expected false: only a web application has a client certificate; an SPA or native application can use \
             dpop_bound_access_tokens",
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
    // OpenID Connect Front-Channel Logout section 2. Otherwise an application could send its users to foreign pages.
    let is_own = |logout: &FrontchannelLogout| {
        let origin = Some(logout.uri.origin());
        let mut uris = settings.redirect_uris.iter();
        uris.any(|uri| uri.origin() == origin)
    };
    if settings
        .frontchannel_logout
        .as_ref()
        .is_some_and(|logout| !is_own(logout))
    {
        return Err(invalid(
            "frontchannel_logout_uri",
            "expected an address with the scheme, host and port of a redirect URI of the application",
        ));
    }
    must_fulfil_profile(settings)
}

/// Rejects settings that break a rule of the application's security profile.
fn must_fulfil_profile(settings: &OidcSettings) -> Result<()> {
    let Some(profile) = settings.security_profile else {
        return Ok(());
    };
    // Certificates were required when the profile was set.
    let Some(unmet) = profile.unmet_rules(settings, true).into_iter().next() else {
        return Ok(());
    };
    let expected: Vec<String> = unmet.expected.iter().map(Value::to_string).collect();
    let (profile, expected, rule) = (profile.as_str(), expected.join(" or "), unmet.rule);
    Err(invalid(
        unmet.member,
        format!("the profile {profile} needs {expected} ({rule})"),
    ))
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

fn request_object_addresses(texts: &[String], egress: &Egress) -> Result<Vec<Url>> {
    const FIELD: &str = "request_uris";
    if texts.len() > MOST_URIS {
        return Err(invalid(FIELD, format!("expected {MOST_URIS} at most")));
    }
    texts
        .iter()
        .map(|text| server_address(FIELD, text, egress))
        .collect()
}

/// Returns the front-channel logout settings of the application after the change.
fn frontchannel_logout(
    settings: &OidcSettings,
    uri: Option<Option<String>>,
    session_required: Option<bool>,
) -> Result<Option<FrontchannelLogout>> {
    let known = settings.frontchannel_logout.clone();
    let logout = match uri {
        None => known,
        Some(None) => None,
        Some(Some(text)) => Some(FrontchannelLogout {
            uri: FrontchannelLogoutUri::parse(&text)
                .map_err(|unfit| invalid("frontchannel_logout_uri", unfit.to_string()))?,
            session_required: known.is_some_and(|logout| logout.session_required),
        }),
    };
    match (session_required, logout) {
        (Some(session_required), Some(logout)) => Ok(Some(FrontchannelLogout {
            session_required,
            ..logout
        })),
        (Some(true), None) => Err(invalid(
            "frontchannel_logout_session_required",
            "expected a frontchannel_logout_uri with it",
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
    // A custom scheme has none.
    let hosts: Option<BTreeSet<String>> = settings
        .redirect_uris
        .iter()
        .map(RedirectUri::host)
        .collect();
    let hosts: Vec<String> = hosts.unwrap_or_default().into_iter().collect();
    match (known, hosts.as_slice()) {
        (Some(sector), _) => Ok(SubjectType::Pairwise { sector }),
        (None, [host]) => Ok(SubjectType::Pairwise {
            sector: host.clone(),
        }),
        (None, _) => Err(invalid(
            FIELD,
            "the redirect URIs do not have one host; expected a host name for their sector",
        )),
    }
}
