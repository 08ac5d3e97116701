//! Commands about the certificates that sign for a service provider.

use serde::Serialize;

use crate::domain::Services;
use crate::domain::admin::command::{AdminCommand, AdminContext, ApprovedPlan, Planned};
use crate::domain::admin::execution::Execution;
use crate::domain::admin::service_providers::commands::service_provider;
use crate::domain::admin::{AdminError, Result, invalid};
use crate::domain::keys::saml_keys;
use crate::domain::protected_actions::ProtectedAction;
use crate::keys::client;
use assent_model::caller::Authorization;
use assent_model::id::{Did, KeyId};
use assent_model::saml::{SamlKey, SamlKeyStage};

/// Returns the keys of a service provider, the latest first.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such SAML application.
pub async fn saml_certificates(
    services: &Services,
    id: &Did,
) -> Result<Vec<(SamlKey, SamlKeyStage)>> {
    service_provider(services, id).await?;
    Ok(saml_keys::keys_with_stage(services, id).await?)
}

assent_model::admin_command! {
    /// Publishes the next certificate of a service provider.
    #[derive(Clone, Debug, Serialize)]
    pub struct IssueCertificate(target Did);
}

impl AdminCommand for IssueCertificate {
    type Plan = Did;
    type Outcome = SamlKey;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<Did>> {
        let provider = service_provider(&context.services, &self.0).await?;
        let authorization = context.caller.authorize_application_writes()?;
        let action = ProtectedAction::IssueCertificate(provider.id.clone());
        Ok(Planned::protected(authorization, provider.id, action))
    }

    async fn execute(approved: ApprovedPlan<'_, Did>) -> Result<Execution<SamlKey>> {
        let (id, recorder) = approved.into_parts();
        let key = saml_keys::renew(recorder.services, &id, recorder.by).await?;
        Ok(Execution::Done(key))
    }
}

assent_model::admin_command! {
    /// A certificate of a service provider.
    #[derive(Clone, Debug, Serialize)]
    pub struct CertificateOf {
        /// The service provider.
        target application: Did,
        /// The certificate.
        target certificate: KeyId,
    }
}

impl CertificateOf {
    /// Returns the digest of the certificate, if its stage permits the command.
    async fn digest(
        &self,
        context: &AdminContext,
        fits: impl Fn(SamlKeyStage) -> bool + Send,
        expected: &'static str,
    ) -> Result<(Authorization, String)> {
        let authorization = context.caller.authorize_application_writes()?;
        let all = saml_certificates(&context.services, &self.application).await?;
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

assent_model::admin_command! {
    /// Activates a published certificate, which signs from now on.
    #[derive(Clone, Debug, Serialize)]
    pub struct ActivateCertificate(classified CertificateOf);
}

/// The error if a certificate cannot be activated.
const EXPECTED_PUBLISHED: &str = "expected a published certificate that does not sign yet";

/// The error if a certificate cannot be withdrawn.
const EXPECTED_IDLE: &str = "it signs; activate another certificate first";

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

    async fn execute(approved: ApprovedPlan<'_, CertificateOf>) -> Result<Execution<SamlKey>> {
        let (plan, recorder) = approved.into_parts();
        let CertificateOf {
            application,
            certificate,
        } = plan;
        let changed =
            saml_keys::take_over(recorder.services, &application, certificate, recorder.by).await?;
        changed_key(changed, EXPECTED_PUBLISHED).map(Execution::Done)
    }
}

assent_model::admin_command! {
    /// Removes a certificate that does not sign from the metadata.
    #[derive(Clone, Debug, Serialize)]
    pub struct WithdrawCertificate(classified CertificateOf);
}

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

    async fn execute(approved: ApprovedPlan<'_, CertificateOf>) -> Result<Execution<SamlKey>> {
        let (plan, recorder) = approved.into_parts();
        let CertificateOf {
            application,
            certificate,
        } = plan;
        let changed =
            saml_keys::withdraw(recorder.services, &application, certificate, recorder.by).await?;
        changed_key(changed, EXPECTED_IDLE).map(Execution::Done)
    }
}

pub(super) fn changed_key(
    changed: saml_keys::KeyChange,
    expected: &'static str,
) -> Result<SamlKey> {
    match changed {
        saml_keys::KeyChange::Done(key) => Ok(key),
        saml_keys::KeyChange::Unknown => Err(AdminError::NotFound("certificate")),
        saml_keys::KeyChange::WrongStage => Err(invalid("certificate", expected)),
    }
}
