//! SAML service providers.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::applications::server_address;
use super::changes::Settings;
use super::command::{
    AdminCommand, AdminContext, ApprovedPlan, Execution, Planned, changed_members,
};
use super::custom_attributes::{self, CustomAttributeChange};
use super::{AdminError, Result, fresh_did, invalid};
use crate::domain::keys::saml_keys;
use crate::domain::protected_actions::{ProtectedAction, ServiceProviderState};
use crate::domain::{Host, audit};
use crate::keys::{client, saml};
use assent_model::application::ApplicationType;
use assent_model::audit::{AuditContext, Entry, Event};
use assent_model::caller::Authorization;
use assent_model::id::{Did, KeyId};
use assent_model::name::display_text;
use assent_model::redirect::RedirectUri;
use assent_model::saml::{
    AssertionConsumer, Binding, NameIdFormat, NameIdSource, SamlKey, SamlKeyStage, SamlSettings,
    ServiceProvider, SingleLogout,
};
use assent_store::VersionedWrite;

/// How many assertion consumers, certificates or RelayStates a service provider may have.
const MOST: usize = 50;
/// How long an entity ID may be, in characters (SAML core section 8.3.6).
const LONGEST_ENTITY_ID: usize = 1024;
/// How long a RelayState may be, in bytes.
const LONGEST_RELAY_STATE: usize = 2048;
/// How far clocks may be apart, in seconds.
const MOST_CLOCK_SKEW: u32 = 600;

assent_model::admin_command! {
/// What an administrator says of a service provider, with the names of the admin API. What is not there leaves a value
/// as it is.
#[derive(Clone, Debug, Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServiceProviderChange, protected ProtectedServiceProviderMembers {
    /// The name that people see.
    protected name: Option<String>,
    /// The SP entity ID.
    protected entity_id: Option<String>,
    /// Where responses are posted.
    protected acs: Option<Vec<AcsChange>>,
    /// Where it takes part in single logout; null takes it away.
    #[serde(deserialize_with = "present")]
    protected single_logout: Option<Option<SingleLogoutChange>>,
    /// The format of the name for requests that name none.
    protected name_id_format: Option<NameIdFormat>,
    /// What else a request may ask for.
    protected other_name_id_formats: Option<Vec<NameIdFormat>>,
    /// What is told in the formats that are not opaque.
    protected name_id_source: Option<NameIdSource>,
    /// Whether an AuthnRequest without its signature is refused.
    protected require_signed_requests: Option<bool>,
    /// What it signs with, in PEM form.
    protected certificates: Option<Vec<String>>,
    /// What is added to each assertion.
    protected custom_attributes: Option<Vec<CustomAttributeChange>>,
    /// Whether sign-on may begin at this host.
    protected idp_initiated: Option<bool>,
    /// The RelayState of such a sign-on; null takes it away.
    #[serde(deserialize_with = "present")]
    protected default_relay_state: Option<Option<String>>,
    /// What else a link may choose as RelayState.
    protected relay_states: Option<Vec<String>>,
    /// How far its clock may be from ours.
    protected clock_skew_seconds: Option<u32>,
    /// What this host calls itself towards it; null is the issuer's URL.
    #[serde(deserialize_with = "present")]
    protected idp_entity_id: Option<Option<String>>,
    /// Where its metadata is read from again; null takes it away.
    #[serde(deserialize_with = "present")]
    protected metadata_url: Option<Option<String>>,
}
}

/// An assertion consumer.
#[derive(Clone, Debug, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an object such as {\"url\": \"https://app.example.org/acs\"}"
)]
pub struct AcsChange {
    /// Its address.
    pub url: String,
    /// Its number; its place in the list where there is none.
    #[serde(default)]
    pub index: Option<u16>,
    /// Whether it is the one for requests that name none.
    #[serde(default)]
    pub default: bool,
}

/// A single logout service.
#[derive(Clone, Debug, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an object such as {\"url\": \"https://app.example.org/slo\", \"binding\": \"redirect\"}"
)]
pub struct SingleLogoutChange {
    /// Where requests go.
    pub url: String,
    /// Where responses go, if that is elsewhere.
    #[serde(default)]
    pub response_url: Option<String>,
    /// How they travel.
    pub binding: Binding,
}

/// A member that is there, null or not: null takes the value away (RFC 7396).
fn present<'de, D, T>(deserializer: D) -> std::result::Result<Option<Option<T>>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Some)
}

/// Creates a service provider, with a key and certificate of its own. Its id is a fresh DID.
#[derive(Clone, Debug, serde::Serialize)]
pub struct CreateServiceProvider(pub ServiceProviderChange);

impl AdminCommand for CreateServiceProvider {
    type Plan = ServiceProvider;
    type Outcome = ServiceProvider;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<ServiceProvider>> {
        let (host, Self(change)) = (&context.host, self);
        let authorization = context.caller.authorize_application_writes()?;
        let now = host.now();
        let entity_id = change.entity_id.clone();
        let entity_id = entity_id.ok_or_else(|| {
            invalid(
                "entity_id",
                "expected the entity ID of the service provider",
            )
        })?;
        let mut provider = ServiceProvider {
            id: fresh_did()?,
            name: String::new(),
            settings: SamlSettings::new(entity_id),
            version: 1,
            created_at: now,
            updated_at: now,
        };
        // SimpleSAMLphp and mod_auth_mellon ask for a transient name unless they are told otherwise, and it tells the least.
        provider.settings.name_id.others = BTreeSet::from([NameIdFormat::Transient]);
        if change.name.is_none() {
            return Err(invalid("name", "expected a name"));
        }
        apply(host, &mut provider, change.clone())?;
        Ok(Planned::harmless(authorization, provider))
    }

    async fn execute(
        context: &AdminContext,
        approved: ApprovedPlan<ServiceProvider>,
        by: &AuditContext,
    ) -> Result<Execution<ServiceProvider>> {
        let provider = approved.into_plan();
        let host = &context.host;
        let key = saml_keys::first(host, &provider.id).await?;
        let entry = audit::entry(host, Event::ApplicationCreated, by).of(provider.id.clone());
        let entry = Settings::of_service_provider(&provider).made(entry);
        host.store
            .insert_service_provider(provider.clone(), key, vec![entry])
            .await?;
        tracing::info!(application = %provider.id, "service provider created");
        Ok(Execution::Done(provider))
    }
}

/// Updates a service provider.
#[derive(Clone, Debug, serde::Serialize)]
pub struct UpdateServiceProvider {
    /// The service provider.
    pub application: Did,
    /// What changes.
    pub change: ServiceProviderChange,
}

/// A service provider before and after an update.
#[derive(Clone, Debug)]
pub struct ServiceProviderUpdate {
    /// Before.
    pub before: ServiceProvider,
    /// After.
    pub after: ServiceProvider,
}

impl AdminCommand for UpdateServiceProvider {
    type Plan = ServiceProviderUpdate;
    type Outcome = ServiceProvider;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<ServiceProviderUpdate>> {
        let host = &context.host;
        let authorization = context.caller.authorize_application_writes()?;
        let before = service_provider(host, &self.application).await?;
        context.expected.check(before.version)?;
        let after = changed_service_provider(host, before.clone(), self.change.clone())?;
        let members = self.change.members();
        let is_protected = members.iter().any(|member| member.is_protected);
        let action = is_protected.then(|| ProtectedAction::UpdateServiceProvider {
            application: before.id.clone(),
            before: ServiceProviderState::of(&before),
            after: ServiceProviderState::of(&after),
            members: changed_members(members, false),
        });
        let plan = ServiceProviderUpdate { before, after };
        Ok(Planned::new(authorization, plan, action))
    }

    async fn execute(
        context: &AdminContext,
        approved: ApprovedPlan<ServiceProviderUpdate>,
        by: &AuditContext,
    ) -> Result<Execution<ServiceProvider>> {
        let ServiceProviderUpdate { before, after } = approved.into_plan();
        let host = &context.host;
        let entry = audit::entry(host, Event::ApplicationChanged, by);
        let replaced = replace(host, &before, after, entry).await?;
        Ok(replaced.map_or(Execution::Overtaken, Execution::Done))
    }
}

/// Keeps what [`changed_service_provider`] made of `before` by its metadata. `None`, and nothing done, if the service provider was
/// changed since it was read.
///
/// # Errors
/// If the database fails.
pub async fn replace_service_provider(
    host: &Host,
    before: &ServiceProvider,
    provider: ServiceProvider,
    by: &AuditContext,
) -> Result<Option<ServiceProvider>> {
    replace(
        host,
        before,
        provider,
        audit::entry(host, Event::MetadataApplied, by),
    )
    .await
}

async fn replace(
    host: &Host,
    before: &ServiceProvider,
    mut provider: ServiceProvider,
    entry: Entry,
) -> Result<Option<ServiceProvider>> {
    provider.updated_at = host.now();
    let settings = Settings::of_service_provider;
    let entry = settings(before).change(settings(&provider), entry.of(provider.id.clone()));
    let written = host
        .store
        .update_service_provider(provider.clone(), entry.into_iter().collect())
        .await?;
    if written == VersionedWrite::Stale {
        return Ok(None);
    }
    provider.version += 1;
    tracing::info!(application = %provider.id, "service provider changed");
    Ok(Some(provider))
}

/// The service provider with this id.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such SAML application. Otherwise if the database fails.
pub async fn service_provider(host: &Host, id: &Did) -> Result<ServiceProvider> {
    let found = host.store.service_provider(id).await?;
    found
        .map(Arc::unwrap_or_clone)
        .ok_or(AdminError::NotFound("SAML application"))
}

/// What a service provider would be after a change, which is not made.
///
/// # Errors
/// [`AdminError::Invalid`] if the service provider could not be like that.
pub fn changed_service_provider(
    host: &Host,
    mut provider: ServiceProvider,
    change: ServiceProviderChange,
) -> Result<ServiceProvider> {
    apply(host, &mut provider, change)?;
    Ok(provider)
}

/// The keys of a service provider, the latest first.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such SAML application. Otherwise if the database fails.
pub async fn saml_certificates(host: &Host, id: &Did) -> Result<Vec<(SamlKey, SamlKeyStage)>> {
    service_provider(host, id).await?;
    Ok(saml_keys::keys_with_stage(host, id).await?)
}

/// Publishes the next certificate of a service provider.
#[derive(Clone, Debug, serde::Serialize)]
pub struct IssueCertificate(pub Did);

impl AdminCommand for IssueCertificate {
    type Plan = Did;
    type Outcome = SamlKey;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<Did>> {
        let provider = service_provider(&context.host, &self.0).await?;
        let authorization = context.caller.authorize_application_writes()?;
        let action = ProtectedAction::IssueCertificate(provider.id.clone());
        Ok(Planned::protected(authorization, provider.id, action))
    }

    async fn execute(
        context: &AdminContext,
        approved: ApprovedPlan<Did>,
        by: &AuditContext,
    ) -> Result<Execution<SamlKey>> {
        let id = approved.into_plan();
        let key = saml_keys::renew(&context.host, &id, by).await?;
        Ok(Execution::Done(key))
    }
}

/// A certificate of a service provider.
#[derive(Clone, Debug, Serialize)]
pub struct CertificateOf {
    /// The service provider.
    pub application: Did,
    /// The certificate.
    pub certificate: KeyId,
}

impl CertificateOf {
    /// The digest of the certificate, where its stage fits.
    async fn digest(
        &self,
        context: &AdminContext,
        fits: impl Fn(SamlKeyStage) -> bool + Send,
        expected: &'static str,
    ) -> Result<(Authorization, String)> {
        let authorization = context.caller.authorize_application_writes()?;
        let all = saml_certificates(&context.host, &self.application).await?;
        let (key, stage) = all
            .iter()
            .find(|(known, _)| known.id == self.certificate)
            .ok_or(AdminError::NotFound("certificate"))?;
        if !fits(*stage) {
            return Err(invalid("certificate", expected));
        }
        Ok((authorization, client::certificate_digest(&key.certificate)))
    }
}

/// Lets a published certificate sign from now on.
#[derive(Clone, Debug, serde::Serialize)]
pub struct ActivateCertificate(pub CertificateOf);

/// What a certificate must be to sign.
const EXPECTED_PUBLISHED: &str = "expected one that is published and does not sign yet";
/// What a certificate must be to be withdrawn.
const EXPECTED_IDLE: &str = "it signs; let another take over first";

impl AdminCommand for ActivateCertificate {
    type Plan = CertificateOf;
    type Outcome = SamlKey;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<CertificateOf>> {
        let Self(certificate) = self;
        let (authorization, sha256) = certificate
            .digest(
                context,
                |stage| stage == SamlKeyStage::Published,
                EXPECTED_PUBLISHED,
            )
            .await?;
        let action = ProtectedAction::ActivateCertificate {
            application: certificate.application.clone(),
            sha256,
        };
        Ok(Planned::protected(
            authorization,
            certificate.clone(),
            action,
        ))
    }

    async fn execute(
        context: &AdminContext,
        approved: ApprovedPlan<CertificateOf>,
        by: &AuditContext,
    ) -> Result<Execution<SamlKey>> {
        let plan = approved.into_plan();
        let CertificateOf {
            application,
            certificate,
        } = plan;
        let changed = saml_keys::take_over(&context.host, &application, certificate, by).await?;
        done(changed, EXPECTED_PUBLISHED).map(Execution::Done)
    }
}

/// Takes a certificate that does not sign out of the metadata.
#[derive(Clone, Debug, serde::Serialize)]
pub struct WithdrawCertificate(pub CertificateOf);

impl AdminCommand for WithdrawCertificate {
    type Plan = CertificateOf;
    type Outcome = SamlKey;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<CertificateOf>> {
        let Self(certificate) = self;
        let (authorization, sha256) = certificate
            .digest(
                context,
                |stage| stage != SamlKeyStage::Signing,
                EXPECTED_IDLE,
            )
            .await?;
        let action = ProtectedAction::WithdrawCertificate {
            application: certificate.application.clone(),
            sha256,
        };
        Ok(Planned::protected(
            authorization,
            certificate.clone(),
            action,
        ))
    }

    async fn execute(
        context: &AdminContext,
        approved: ApprovedPlan<CertificateOf>,
        by: &AuditContext,
    ) -> Result<Execution<SamlKey>> {
        let plan = approved.into_plan();
        let CertificateOf {
            application,
            certificate,
        } = plan;
        let changed = saml_keys::withdraw(&context.host, &application, certificate, by).await?;
        done(changed, EXPECTED_IDLE).map(Execution::Done)
    }
}

fn done(changed: saml_keys::KeyChange, expected: &'static str) -> Result<SamlKey> {
    match changed {
        saml_keys::KeyChange::Done(key) => Ok(key),
        saml_keys::KeyChange::Unknown => Err(AdminError::NotFound("certificate")),
        saml_keys::KeyChange::WrongStage => Err(invalid("certificate", expected)),
    }
}

fn apply(host: &Host, provider: &mut ServiceProvider, change: ServiceProviderChange) -> Result<()> {
    let allow_insecure = host.settings.allow_insecure_redirect_uris;
    if let Some(name) = change.name {
        provider.name = display_text(&name, 120).ok_or_else(|| {
            invalid(
                "name",
                "expected 1 to 120 characters, none of them control characters",
            )
        })?;
    }
    let attributes = change
        .custom_attributes
        .map(|attributes| custom_attributes::checked(host, provider, attributes));
    let settings = &mut provider.settings;
    settings.entity_id = match change.entity_id {
        Some(text) => entity_id("entity_id", text)?,
        None => entity_id("entity_id", settings.entity_id.clone())?,
    };
    if let Some(acs) = change.acs {
        settings.acs = consumers(acs, allow_insecure)?;
    }
    if settings.acs.is_empty() {
        return Err(invalid(
            "acs",
            "expected one ACS URL at least, such as [{\"url\": \"https://app.example.org/acs\"}]",
        ));
    }
    if let Some(logout) = change.single_logout {
        settings.single_logout = logout
            .map(|logout| single_logout(&logout, allow_insecure))
            .transpose()?;
    }
    settings.name_id.default = change.name_id_format.unwrap_or(settings.name_id.default);
    if let Some(others) = change.other_name_id_formats {
        settings.name_id.others = others.into_iter().collect();
    }
    settings.name_id.source = change.name_id_source.unwrap_or(settings.name_id.source);
    settings.require_signed_requests = change
        .require_signed_requests
        .unwrap_or(settings.require_signed_requests);
    if let Some(texts) = change.certificates {
        let certificates = bounded("certificates", texts)?
            .into_iter()
            .map(|text| saml::partner_certificate(&text));
        let checked = certificates.collect::<std::result::Result<_, _>>();
        settings.certificates =
            checked.map_err(|error| invalid("certificates", error.to_string()))?;
    }
    if settings.require_signed_requests && settings.certificates.is_empty() {
        return Err(invalid(
            "require_signed_requests",
            "expected the service provider's certificates with it",
        ));
    }
    if let Some(attributes) = attributes.transpose()? {
        settings.custom_attributes = attributes;
    }
    settings.idp_initiated.enabled = change
        .idp_initiated
        .unwrap_or(settings.idp_initiated.enabled);
    if let Some(state) = change.default_relay_state {
        settings.idp_initiated.relay_state = state
            .map(|text| relay_state("default_relay_state", text))
            .transpose()?;
    }
    if let Some(states) = change.relay_states {
        let checked = bounded("relay_states", states)?
            .into_iter()
            .map(|text| relay_state("relay_states", text));
        settings.idp_initiated.relay_states = checked.collect::<Result<_>>()?;
    }
    settings.clock_skew = change.clock_skew_seconds.unwrap_or(settings.clock_skew);
    if settings.clock_skew > MOST_CLOCK_SKEW {
        return Err(invalid(
            "clock_skew_seconds",
            format!("expected 0 to {MOST_CLOCK_SKEW}"),
        ));
    }
    if let Some(own) = change.idp_entity_id {
        settings.idp_entity_id = own
            .map(|text| entity_id("idp_entity_id", text))
            .transpose()?;
    }
    if let Some(url) = change.metadata_url {
        let checked = url.map(|text| server_address("metadata_url", &text, &host.egress));
        settings.metadata_url = checked.transpose()?;
    }
    Ok(())
}

fn bounded<T>(field: &'static str, list: Vec<T>) -> Result<Vec<T>> {
    if list.len() > MOST {
        Err(invalid(field, format!("expected {MOST} at most")))
    } else {
        Ok(list)
    }
}

/// An entity ID is a URI, though not all are; what can't be compared by eye is refused.
fn entity_id(field: &'static str, text: String) -> Result<String> {
    let fits = (1..=LONGEST_ENTITY_ID).contains(&text.chars().count())
        && !text
            .chars()
            .any(|character| character.is_whitespace() || character.is_control());
    let expected =
        "expected 1 to 1,024 characters without blanks, such as https://app.example.org/saml";
    if fits {
        Ok(text)
    } else {
        Err(invalid(field, expected))
    }
}

fn address(field: &'static str, text: &str, allow_insecure: bool) -> Result<RedirectUri> {
    RedirectUri::register(text, ApplicationType::Web, allow_insecure).map_err(|_| {
        let expected = "expected an address that starts with https://, without user name or fragment (http://localhost \
                        only where the configuration says `allow_insecure_redirect_uris = true`)";
        invalid(field, expected)
    })
}

fn consumers(list: Vec<AcsChange>, allow_insecure: bool) -> Result<Vec<AssertionConsumer>> {
    let mut consumers: Vec<AssertionConsumer> = Vec::new();
    for (
        place,
        AcsChange {
            url,
            index,
            default,
        },
    ) in bounded("acs", list)?.into_iter().enumerate()
    {
        let index = index
            .or_else(|| u16::try_from(place).ok())
            .unwrap_or_default();
        if consumers.iter().any(|other| other.index == index) {
            return Err(invalid(
                "acs",
                format!("expected each index once; {index} is there twice"),
            ));
        }
        if default && consumers.iter().any(|other| other.default) {
            return Err(invalid("acs", "expected one default at most"));
        }
        consumers.push(AssertionConsumer {
            url: address("acs", &url, allow_insecure)?,
            index,
            default,
        });
    }
    Ok(consumers)
}

fn single_logout(change: &SingleLogoutChange, allow_insecure: bool) -> Result<SingleLogout> {
    let check = |text: &str| address("single_logout", text, allow_insecure);
    Ok(SingleLogout {
        url: check(&change.url)?,
        response_url: change.response_url.as_deref().map(check).transpose()?,
        binding: change.binding,
    })
}

fn relay_state(field: &'static str, text: String) -> Result<String> {
    let fits =
        (1..=LONGEST_RELAY_STATE).contains(&text.len()) && !text.chars().any(char::is_control);
    if fits {
        Ok(text)
    } else {
        Err(invalid(
            field,
            "expected 1 to 2,048 bytes without control characters",
        ))
    }
}
