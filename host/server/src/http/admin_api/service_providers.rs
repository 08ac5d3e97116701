//! The certificates of SAML service providers.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::context::Context;
use super::input::{List, id_of};
use super::routes::Area;
use crate::domain::admin::{
    ActivateCertificate, CertificateOf, IssueCertificate, WithdrawCertificate,
};
use crate::domain::audit::moment_text;
use crate::domain::{Services, admin};
use crate::http::problem::Problem;
use crate::keys::client;
use assent_model::administration::{Permission, ProtectedActionKind};
use assent_model::saml::{SamlKey, SamlKeyStage};

pub(super) fn routes() -> Area {
    Area::new()
        .noun(
            "applications.certificates",
            "The certificates that a SAML application trusts for signatures of responses and assertions.",
        )
        .route("list", Permission::ApplicationsRead, routes!(list))
        .route("create", Permission::ApplicationsWrite, routes!(issue))
        .protected(ProtectedActionKind::RotateKey)
        .route("delete", Permission::ApplicationsWrite, routes!(withdraw))
        .protected(ProtectedActionKind::RevokeKey)
        .route("activate", Permission::ApplicationsWrite, routes!(activate))
        .protected(ProtectedActionKind::RotateKey)
        .noun("applications.metadata", "The metadata of a SAML application.")
        .route("refresh", Permission::ApplicationsWrite, routes!(super::saml_metadata::refresh))
        .protected(ProtectedActionKind::ApplyMetadata)
}

/// List the certificates of a SAML application.
#[utoipa::path(
    get,
    path = "/applications/{id}/certificates",
    responses((status = 200, description = "All certificates, the latest first.", body = List<CertificateView>))
)]
async fn list(
    State(services): State<Arc<Services>>,
    Path(id): Path<String>,
) -> Result<Json<List<CertificateView>>, Problem> {
    let staged = admin::saml_certificates(&services, &id_of(&id, "application")?).await?;
    Ok(Json(List::whole(
        staged
            .into_iter()
            .map(|(key, stage)| certificate(key, stage)),
    )))
}

/// Publish the next certificate of a SAML application.
#[utoipa::path(
    post,
    path = "/applications/{id}/certificates",
    responses((status = 201, description = "The published certificate.", body = CertificateView))
)]
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
#[utoipa::path(
    post,
    path = "/applications/{id}/certificates/{certificate}/activate",
    responses((status = 200, description = "The active certificate.", body = CertificateView))
)]
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

/// Withdraw a certificate that does not sign from the metadata, at once.
#[utoipa::path(
    delete,
    path = "/applications/{id}/certificates/{certificate}",
    responses((status = 204, description = "The certificate is withdrawn."))
)]
async fn withdraw(
    context: Context,
    Path(path): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    context
        .no_content(WithdrawCertificate(certificate_of(&path)?))
        .await
}

/// A certificate that signs responses, or will sign them.
#[derive(Serialize, ToSchema)]
#[schema(as = Certificate)]
struct CertificateView {
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

fn certificate(key: SamlKey, stage: SamlKeyStage) -> CertificateView {
    CertificateView {
        id: key.id.to_string(),
        stage,
        sha256: client::certificate_digest(&key.certificate),
        certificate: key.certificate,
        created_at: moment_text(key.created_at),
        signs_from: moment_text(key.signs_from),
        expires_at: moment_text(key.expires_at),
    }
}
