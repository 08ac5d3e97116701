//! Applications that register, update and delete themselves (RFC 7591, RFC 7592). All rules of the admin API hold for
//! them, and the limits of their initial access token.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::change::apply;
use super::commands::new_client;
use super::document::ClientChange;
use super::queries::application;
use super::secrets::{forget_unfit_secrets, replace_secrets};
use crate::domain::Services;
use crate::domain::admin::changes::{AuditedSettings, application_deletion, client_update};
use crate::domain::admin::execution::{Execution, Recorder};
use crate::domain::admin::fetched_logos::{LogoBefore, logo_of_change};
use crate::domain::admin::{AdminError, Result, invalid};
use crate::domain::keys::signing_keys;
use crate::domain::operations::traffic::rate_limits::limit::RateLimitError;
use assent_model::application::security_profile::SecurityProfile;
use assent_model::application::{Application, OidcSettings, RegisteredApplication};
use assent_model::application_type::ApplicationType;
use assent_model::audit::{Actor, AuditContext, Entry, Event, Origin};
use assent_model::client_auth::ClientAuthMethod;
use assent_model::client_registration::{
    ClientRegistration, RegistrationSource, RegistrationToken, RegistrationViolation, raised_right,
};
use assent_model::id::{Did, RegistrationTokenId, TokenId};
use assent_model::secret::{Secret, Token};
use assent_model::token::prefix;
use assent_store::AdminWrite;

/// The number of unused applications that are read at once.
const PAGE: u32 = 100;

/// The metadata of an application that registers or updates itself.
#[derive(Clone, Debug)]
pub struct RegistrationRequest {
    /// The application type.
    pub application_type: ApplicationType,
    /// The settings, by their members in the admin API.
    pub members: Map<String, Value>,
    /// The accepted metadata without a setting of the application.
    pub metadata: Map<String, Value>,
}

/// An application that registered or updated itself.
#[derive(Debug)]
pub struct RegisteredClient {
    /// The application.
    pub application: Application,
    /// Its registration.
    pub registration: ClientRegistration,
    /// The client secret, if it is a new one.
    pub secret: Option<Secret>,
}

/// Returns the initial access token with this text, unless it is unknown or has expired.
pub async fn registration_token(
    services: &Services,
    text: &str,
) -> Result<Option<RegistrationToken>> {
    let Ok(token) = Token::parse_for_people(prefix::INITIAL_ACCESS, text) else {
        return Ok(None);
    };
    let id = RegistrationTokenId::from_bytes(token.id());
    let known = services.store.registration_token(id).await?;
    Ok(known.filter(|known| known.digest == token.digest() && known.expires_at > services.now()))
}

/// Returns the registration of an application, if this is its registration access token.
pub async fn client_registration(
    services: &Services,
    id: &Did,
    text: &str,
) -> Result<Option<ClientRegistration>> {
    let Some(token) = Token::parse(prefix::REGISTRATION_ACCESS, text) else {
        return Ok(None);
    };
    let known = services.store.client_registration(id).await?;
    Ok(known.filter(|known| known.digest == token.digest()))
}

/// Registers an application with an initial access token, and fetches its logo. Returns the application and its
/// registration access token.
///
/// # Errors
/// [`AdminError::Invalid`] if the metadata exceeds the limits of the token or a rule of the admin API, or the logo
/// cannot be fetched; [`AdminError::Forbidden`] if a quota of the token is exhausted.
pub async fn register_client(
    services: &Arc<Services>,
    token: &RegistrationToken,
    from: Origin,
    request: RegistrationRequest,
) -> Result<(RegisteredClient, Token)> {
    must_have_quota(services, token)?;
    let mut members = request.members;
    let enabled = !services.settings.oidc.registration.approval_required;
    members.insert("enabled".to_owned(), json!(enabled));
    let kind = request.application_type;
    let mut application = described(services, kind, members, token.limits.security_profile)?;
    application.settings.awaits_approval = !enabled;
    must_be_permitted(token.limits.violation(&application.settings))?;
    let secret = application
        .settings
        .auth_method()
        .uses_secret()
        .then(|| replace_secrets(services, &mut application))
        .transpose()?;
    let id = TokenId::new(services.now(), &*services.entropy);
    let access = Token::new(
        prefix::REGISTRATION_ACCESS,
        id.as_bytes(),
        &*services.entropy,
    );
    let registration = ClientRegistration {
        application: application.id.clone(),
        digest: access.digest(),
        source: RegistrationSource {
            token: token.id,
            token_name: token.name.clone(),
            registered_at: application.created_at,
        },
        limits: token.limits.clone(),
        metadata: request.metadata,
    };
    let by = AuditContext::new(Actor::Application(application.id.clone()), from);
    let recorder = Recorder::of_command(services, &by);
    let logo = logo_of_change(&recorder, LogoBefore::Known(None), &application).await?;
    signing_keys::create_first_keys(services, &application.settings, &by).await?;
    let entry = named(
        recorder.entry(Event::ApplicationRegistered),
        &registration.source,
    );
    let entry = entry.in_application(application.id.clone());
    let entry = AuditedSettings::of_client(&application).creation_entry(entry);
    let write = AdminWrite::RegisterClient(application.clone(), Box::new(registration.clone()));
    let mut writes = vec![(write, vec![entry])];
    writes.extend(logo);
    must_be_done(&recorder.write(writes).await?)?;
    tracing::info!(
        application = %application.id, token = %token.id,
        "application registered itself"
    );
    let registered = RegisteredClient {
        application,
        registration,
        secret,
    };
    Ok((registered, access))
}

/// Rejects a registration with a token of which a quota is exhausted.
///
/// # Errors
/// [`AdminError::Forbidden`].
pub fn must_have_quota(services: &Services, token: &RegistrationToken) -> Result<()> {
    match token.exhausted_quota(services.now()) {
        None => Ok(()),
        Some(quota) => Err(AdminError::Forbidden(quota.text())),
    }
}

/// Counts an attempt to register with a token, before it fetches a document.
///
/// # Errors
/// [`RateLimitError`] if too many attempts with the token failed.
pub fn count_registration_attempt(
    services: &Services,
    token: &RegistrationToken,
) -> std::result::Result<(), RateLimitError> {
    let limit = &services.rate_limits.registrations_per_token;
    limit.count_call(&token.id, services.now())
}

/// Takes back an attempt that registered an application: the quotas of the token count it.
pub fn take_back_registration_attempt(services: &Services, token: &RegistrationToken) {
    let limit = &services.rate_limits.registrations_per_token;
    limit.take_back(&token.id);
}

/// Counts an update of an application by itself. Each may fetch a document, and is an entry of the audit log.
///
/// # Errors
/// [`RateLimitError`] if the limit of the application is reached.
pub fn count_client_update(
    services: &Services,
    registration: &ClientRegistration,
) -> std::result::Result<(), RateLimitError> {
    let limit = &services.rate_limits.registration_updates;
    limit.count_call(&registration.application, services.now())
}

/// Updates an application by its registration. An update without a difference writes nothing.
///
/// # Errors
/// [`AdminError::Invalid`] if the metadata would raise the application's rights, or exceeds a limit or a rule of the
/// admin API; [`AdminError::Forbidden`] if only administrators may change the application now;
/// [`AdminError::Conflict`] if another request changed it at the same time.
pub async fn update_registered_client(
    services: &Arc<Services>,
    registration: ClientRegistration,
    from: Origin,
    request: RegistrationRequest,
) -> Result<RegisteredClient> {
    let before = own_client(services, &registration).await?;
    if request.application_type != before.settings.application_type {
        let expected = "it cannot be changed; register a new application";
        return Err(invalid("application_type", expected));
    }
    let mut after = before.clone();
    apply(services, &mut after, change_of(request.members)?)?;
    must_be_permitted(registration.limits.violation(&after.settings))?;
    must_be_permitted(raised_right(&before.settings, &after.settings))?;
    let needs_secret = needs_secret(&before.settings, &after);
    let is_changed = after.name != before.name || after.settings != before.settings;
    if !is_changed && !needs_secret && request.metadata == registration.metadata {
        return Ok(RegisteredClient {
            application: before,
            registration,
            secret: None,
        });
    }
    after.updated_at = services.now();
    let secret = needs_secret
        .then(|| replace_secrets(services, &mut after))
        .transpose()?;
    forget_unfit_secrets(&mut after);
    if is_changed && services.settings.oidc.registration.approval_required {
        // An administrator approved other values. One that an administrator disabled waits for nothing.
        after.settings.awaits_approval |= before.settings.enabled;
        after.settings.enabled = false;
    }
    let registration = ClientRegistration {
        metadata: request.metadata,
        ..registration
    };
    let by = AuditContext::new(Actor::Application(after.id.clone()), from);
    let recorder = Recorder::of_command(services, &by);
    must_own_logo(services, &before, &after).await?;
    let logo_before = LogoBefore::of_update(services, &before, &after).await?;
    let logo = logo_of_change(&recorder, logo_before, &after).await?;
    let mut writes = client_update(&recorder, &before, after.clone(), None).await?;
    writes.extend(logo);
    let source = &registration.source;
    for (_, entries) in &mut writes {
        let own = std::mem::take(entries).into_iter();
        *entries = own.map(|entry| named(entry, source)).collect();
    }
    let write = AdminWrite::UpdateRegistration(Box::new(registration.clone()));
    writes.push((write, Vec::new()));
    must_be_done(&recorder.write(writes).await?)?;
    after.version += 1;
    tracing::info!(application = %after.id, "application updated itself");
    Ok(RegisteredClient {
        application: after,
        registration,
        secret,
    })
}

/// Deletes an application by its registration.
///
/// # Errors
/// As [`update_registered_client`].
pub async fn delete_registered_client(
    services: &Arc<Services>,
    registration: &ClientRegistration,
    from: Origin,
) -> Result<()> {
    let known = own_client(services, registration).await?;
    let by = AuditContext::new(Actor::Application(known.id.clone()), from);
    let recorder = Recorder::of_command(services, &by);
    let id = known.id.clone();
    let mut writes =
        application_deletion(&recorder, &RegisteredApplication::Client(Arc::new(known)));
    for (_, entries) in &mut writes {
        let own = std::mem::take(entries).into_iter();
        *entries = own
            .map(|entry| named(entry, &registration.source))
            .collect();
    }
    must_be_done(&recorder.write(writes).await?)?;
    tracing::info!(application = %id, "application deleted itself");
    Ok(())
}

/// Deletes the applications that registered themselves and were not used within `unused_expiry`. Returns their number.
pub async fn delete_unused_registrations(services: &Arc<Services>) -> Result<u64> {
    let expiry = services.settings.oidc.registration.unused_expiry.get();
    let before = services.now() - expiry;
    let recorder = Recorder::of_command(services, &AuditContext::SERVER);
    let (mut after, mut deleted) = (None, 0);
    loop {
        let ids = services
            .store
            .unused_registrations(before, after.as_ref(), PAGE)
            .await?;
        for id in &ids {
            let Some(known) = services.store.application(id).await? else {
                continue;
            };
            // An administrator has granted rights of its own to such an application.
            if known.settings.is_service_account() {
                continue;
            }
            let entry = recorder
                .entry(Event::ApplicationDeleted)
                .in_application(id.clone())
                .with("reason", "unused_registration");
            let entry = AuditedSettings::of_client(&known).deletion_entry(entry);
            let write = AdminWrite::DeleteUnusedClient((*known).clone(), before);
            if let Execution::Done(()) = recorder.write(vec![(write, vec![entry])]).await? {
                tracing::info!(application = %id, "unused application deleted, which registered itself");
                deleted += 1;
            }
        }
        if ids.len() < PAGE as usize {
            return Ok(deleted);
        }
        after = ids.last().cloned();
    }
}

/// Returns the application of a registration, if the application may change itself.
async fn own_client(services: &Services, registration: &ClientRegistration) -> Result<Application> {
    let known = application(services, &registration.application).await?;
    if known.settings.is_service_account() {
        return Err(AdminError::Forbidden(
            "the application has admin scopes; only an owner may change it",
        ));
    }
    let management = services.store.management_of_application(&known.id).await?;
    match management {
        None => Ok(known),
        Some(_) => Err(AdminError::Forbidden(
            "a manifest manages the application; change it there",
        )),
    }
}

/// Returns a new application with these settings, and with a security profile. Rules of the profile with one permitted
/// value are fulfilled without a member in the metadata.
fn described(
    services: &Services,
    kind: ApplicationType,
    mut members: Map<String, Value>,
    profile: Option<SecurityProfile>,
) -> Result<Application> {
    let plain = new_client(services, kind, change_of(members.clone())?)?;
    let Some(profile) = profile else {
        return Ok(plain);
    };
    let receives_certificates = services.settings.http.receives_certificates();
    for unmet in profile.unmet_rules(&plain.settings, receives_certificates) {
        if unmet.is_settable
            && let Some(value) = unmet.expected.into_iter().next()
        {
            members.insert(unmet.member.to_owned(), value);
        }
    }
    members.insert("security_profile".to_owned(), json!(profile));
    new_client(services, kind, change_of(members)?)
}

/// Reads settings by their members in the admin API.
fn change_of(members: Map<String, Value>) -> Result<ClientChange> {
    serde_json::from_value(Value::Object(members))
        .map_err(|error| invalid("metadata", error.to_string()))
}

/// Whether an update needs a new client secret: its method is new, and has no secret that it can use.
fn needs_secret(before: &OidcSettings, after: &Application) -> bool {
    let method = after.settings.auth_method();
    let is_new = method != before.auth_method();
    is_new
        && method.uses_secret()
        && (method == ClientAuthMethod::ClientSecretJwt || after.secrets.is_empty())
}

/// Rejects a new address of a logo, if an administrator uploaded the current one.
async fn must_own_logo(
    services: &Services,
    before: &Application,
    after: &Application,
) -> Result<()> {
    let (was, is) = (
        &before.settings.information.logo_uri,
        &after.settings.information.logo_uri,
    );
    if was.is_none() && is.is_some() && services.store.logo_digest(&before.id).await?.is_some() {
        return Err(invalid("logo_uri", "an administrator has set the logo"));
    }
    Ok(())
}

fn must_be_permitted(violation: Option<RegistrationViolation>) -> Result<()> {
    match violation {
        None => Ok(()),
        Some(RegistrationViolation { member, expected }) => Err(invalid(member, expected)),
    }
}

fn must_be_done(execution: &Execution<()>) -> Result<()> {
    match execution {
        Execution::Done(()) => Ok(()),
        Execution::Overtaken => Err(AdminError::Conflict(
            "another request changed the application at the same time; try again",
        )),
    }
}

/// Adds the initial access token of the application to an entry.
fn named(entry: Entry, source: &RegistrationSource) -> Entry {
    entry
        .with("registration_token", source.token.to_string())
        .with("registration_token_name", source.token_name.as_str())
}
