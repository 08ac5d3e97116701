//! SAML service providers, which are applications too.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::context::Context;
use super::input::List;
use super::routes::Area;
use super::{id_of, moment};
use crate::domain::Host;
use crate::domain::admin::{
    self, ActivateCertificate, CertificateOf, IssueCertificate, WithdrawCertificate,
};
use crate::http::problem::Problem;
use crate::keys::client;
use assent_model::administration::{Permission, ProtectedActionKind};
use assent_model::saml::{
    AssertionConsumer, CustomAttribute, NameIdFormat, NameIdSource, SamlKey, SamlKeyStage,
    ServiceProvider, SingleLogout,
};

pub(super) fn routes() -> Area {
    Area::new()
        .noun(
            "applications.certificates",
            "The certificates that a SAML application trusts for the signatures of its assertions.",
        )
        .noun(
            "applications.metadata",
            "The metadata of a SAML application.",
        )
        .route(
            "applications.certificates.list",
            Permission::ApplicationsRead,
            routes!(list),
        )
        .protected(
            "applications.certificates.create",
            Permission::ApplicationsWrite,
            ProtectedActionKind::RotateKey,
            routes!(issue),
        )
        .protected(
            "applications.certificates.delete",
            Permission::ApplicationsWrite,
            ProtectedActionKind::RevokeKey,
            routes!(withdraw),
        )
        .protected(
            "applications.certificates.activate",
            Permission::ApplicationsWrite,
            ProtectedActionKind::RotateKey,
            routes!(activate),
        )
        .protected(
            "applications.metadata.refresh",
            Permission::ApplicationsWrite,
            ProtectedActionKind::ApplyMetadata,
            routes!(super::saml_metadata::refresh),
        )
}

/// What a SAML service provider speaks.
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
    idp_entity_id: Option<String>,
    metadata_url: Option<String>,
    #[schema(format = DateTime)]
    created_at: String,
    #[schema(format = DateTime)]
    updated_at: String,
    /// Warnings about the saved service provider: parts that the import left out, and settings without effect. Other answers do
    /// not have it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl ServiceProviderView {
    /// Adds the notes for the administrator who saved it.
    pub(super) fn with_notes(self, notes: Vec<String>) -> Self {
        Self { notes, ..self }
    }
}

pub(super) fn view(provider: ServiceProvider) -> ServiceProviderView {
    let settings = provider.settings;
    ServiceProviderView {
        id: provider.id.to_string(),
        name: provider.name,
        protocol: Saml::Saml,
        entity_id: settings.entity_id,
        acs: settings.acs,
        single_logout: settings.single_logout,
        name_id_format: settings.name_id.default,
        other_name_id_formats: settings.name_id.formats().skip(1).collect(),
        name_id_source: settings.name_id.source,
        require_signed_requests: settings.require_signed_requests,
        certificates: settings
            .certificates
            .into_iter()
            .map(|certificate| certificate.pem)
            .collect(),
        custom_attributes: settings.custom_attributes,
        idp_initiated: settings.idp_initiated.enabled,
        default_relay_state: settings.idp_initiated.relay_state,
        relay_states: settings.idp_initiated.relay_states,
        clock_skew_seconds: settings.clock_skew,
        idp_entity_id: settings.idp_entity_id,
        metadata_url: settings.metadata_url.map(String::from),
        created_at: moment(provider.created_at),
        updated_at: moment(provider.updated_at),
        notes: Vec::new(),
    }
}

/// A certificate that responses are signed with, or will be.
#[derive(Serialize, ToSchema)]
#[schema(as = Certificate)]
struct CertificateView {
    id: String,
    stage: SamlKeyStage,
    /// In PEM form.
    certificate: String,
    /// Its digest, in hexadecimal.
    sha256: String,
    #[schema(format = DateTime)]
    created_at: String,
    #[schema(format = DateTime)]
    signs_from: String,
    #[schema(format = DateTime)]
    expires_at: String,
}

fn certificate(key: SamlKey, stage: SamlKeyStage) -> CertificateView {
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

/// List the certificates of a SAML application.
#[utoipa::path(get, path = "/applications/{id}/certificates", responses((status = 200, description = "All of them, the latest first.", body = List<CertificateView>)))]
async fn list(
    State(host): State<Arc<Host>>,
    Path(id): Path<String>,
) -> Result<Json<List<CertificateView>>, Problem> {
    let staged = admin::saml_certificates(&host, &id_of(&id, "application")?).await?;
    Ok(Json(List::whole(
        staged
            .into_iter()
            .map(|(key, stage)| certificate(key, stage)),
    )))
}

/// Publish the next certificate of a SAML application.
#[utoipa::path(post, path = "/applications/{id}/certificates", responses((status = 201, description = "The next one.", body = CertificateView)))]
async fn issue(
    context: Context,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<CertificateView>), Problem> {
    let key = context
        .run(IssueCertificate(id_of(&id, "application")?))
        .await?;
    let view = certificate(key, SamlKeyStage::Published);
    Ok((StatusCode::CREATED, Json(view)))
}

/// Activate a published certificate: it signs from now on.
#[utoipa::path(post, path = "/applications/{id}/certificates/{certificate}/activate", responses((status = 200, description = "It signs.", body = CertificateView)))]
async fn activate(
    context: Context,
    Path(path): Path<(String, String)>,
) -> Result<Json<CertificateView>, Problem> {
    let key = context
        .run(ActivateCertificate(certificate_of(&path)?))
        .await?;
    Ok(Json(certificate(key, SamlKeyStage::Signing)))
}

/// The certificate that a path names.
fn certificate_of((id, key): &(String, String)) -> Result<CertificateOf, Problem> {
    Ok(CertificateOf {
        application: id_of(id, "application")?,
        certificate: id_of(key, "certificate")?,
    })
}

/// Take a certificate that does not sign out of the metadata, at once.
#[utoipa::path(delete, path = "/applications/{id}/certificates/{certificate}", responses((status = 204, description = "It is out.")))]
async fn withdraw(
    context: Context,
    Path(path): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    context
        .run(WithdrawCertificate(certificate_of(&path)?))
        .await?;
    Ok(StatusCode::NO_CONTENT)
}
