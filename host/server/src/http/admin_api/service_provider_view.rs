//! A service provider as the API shows it.

use serde::Serialize;
use utoipa::ToSchema;

use crate::http::admin_api::application_usage::UsageView;
use crate::http::admin_api::management_view::ManagementView;
use crate::http::admin_api::values::moment;
use crate::keys::client;
use assent_model::saml::{
    AssertionConsumer, CustomAttribute, IdpInitiated, NameIdFormat, NameIdSource, SamlKey,
    SamlKeyStage, SamlSettings, ServiceProvider, SingleLogout,
};

/// The protocol of a SAML service provider.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Saml {
    Saml,
}

/// A SAML service provider.
#[derive(Serialize, ToSchema)]
#[schema(as = ServiceProvider)]
pub(super) struct ServiceProviderView {
    id: String,
    name: String,
    /// Whether users can sign in to it.
    enabled: bool,
    #[schema(inline)]
    protocol: Saml,
    entity_id: String,
    acs: Vec<AssertionConsumer>,
    single_logout: Option<SingleLogout>,
    name_id_format: NameIdFormat,
    other_name_id_formats: Vec<NameIdFormat>,
    name_id_source: NameIdSource,
    require_signed_requests: bool,
    certificates: Vec<String>,
    custom_attributes: Vec<CustomAttribute>,
    idp_initiated: bool,
    default_relay_state: Option<String>,
    relay_states: Vec<String>,
    clock_skew_seconds: u32,
    not_before_margin_seconds: u32,
    idp_entity_id: Option<String>,
    metadata_url: Option<String>,
    /// Whether users who agreed to it sign in with a passkey on the login page, without an approval.
    passkey_sign_in: bool,
    /// The recipe of the console by which it is connected, such as `zabbix`.
    recipe: Option<String>,
    /// Whether the service provider receives email addresses that are not confirmed.
    unconfirmed_email: bool,
    #[schema(format = DateTime)]
    created_at: String,
    #[schema(format = DateTime)]
    updated_at: String,
    /// Warnings about the stored service provider: parts that the import omitted, and settings without effect. Only
    /// responses to a change have them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// How it is used. Only lists have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    usage: Option<UsageView>,
    /// The manifest that manages it. Lists and the responses to POST and PATCH lack it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    managed_by: Option<ManagementView>,
}

impl ServiceProviderView {
    /// Adds the usage.
    pub(super) fn with_usage(self, usage: UsageView) -> Self {
        Self {
            usage: Some(usage),
            ..self
        }
    }

    /// Adds the manifest.
    pub(super) fn with_management(self, managed_by: Option<ManagementView>) -> Self {
        Self { managed_by, ..self }
    }

    /// Adds the notes for the administrator who saved the service provider.
    pub(super) fn with_notes(self, notes: Vec<String>) -> Self {
        Self { notes, ..self }
    }
}

pub(super) fn view(provider: ServiceProvider) -> ServiceProviderView {
    // The pattern names each setting, so that the compiler reports a setting that the view lacks.
    let ServiceProvider {
        id,
        name,
        settings,
        version: _,
        created_at,
        updated_at,
    } = provider;
    let SamlSettings {
        enabled,
        entity_id,
        acs,
        single_logout,
        name_id,
        require_signed_requests,
        certificates,
        custom_attributes,
        idp_initiated,
        clock_skew,
        not_before_margin,
        idp_entity_id,
        metadata_url,
        passkey_sign_in,
        recipe,
        unconfirmed_email,
    } = settings;
    let IdpInitiated {
        enabled: is_idp_initiated,
        relay_state,
        relay_states,
    } = idp_initiated;
    ServiceProviderView {
        id: id.to_string(),
        name,
        enabled,
        protocol: Saml::Saml,
        entity_id,
        acs,
        single_logout,
        name_id_format: name_id.default,
        other_name_id_formats: name_id.formats().skip(1).collect(),
        name_id_source: name_id.source,
        require_signed_requests,
        certificates: certificates
            .into_iter()
            .map(|certificate| certificate.pem)
            .collect(),
        custom_attributes,
        idp_initiated: is_idp_initiated,
        default_relay_state: relay_state,
        relay_states,
        clock_skew_seconds: clock_skew,
        not_before_margin_seconds: not_before_margin,
        idp_entity_id,
        metadata_url: metadata_url.map(String::from),
        passkey_sign_in,
        recipe,
        unconfirmed_email,
        created_at: moment(created_at),
        updated_at: moment(updated_at),
        notes: Vec::new(),
        usage: None,
        managed_by: None,
    }
}

/// A certificate that signs responses, or will sign them.
#[derive(Serialize, ToSchema)]
#[schema(as = Certificate)]
pub(super) struct CertificateView {
    id: String,
    stage: SamlKeyStage,
    /// In PEM form.
    certificate: String,
    /// The SHA-256 digest, in hexadecimal.
    sha256: String,
    #[schema(format = DateTime)]
    created_at: String,
    #[schema(format = DateTime)]
    signs_from: String,
    #[schema(format = DateTime)]
    expires_at: String,
}

pub(super) fn certificate(key: SamlKey, stage: SamlKeyStage) -> CertificateView {
    CertificateView {
        id: key.id.to_string(),
        stage,
        sha256: client::certificate_digest(&key.certificate),
        certificate: key.certificate,
        created_at: moment(key.created_at),
        signs_from: moment(key.signs_from),
        expires_at: moment(key.expires_at),
    }
}
