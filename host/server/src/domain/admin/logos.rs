//! The logos of applications.

use super::command::{AdminCommand, AdminContext, ApprovedPlan, Execution, Planned};
use super::{AdminError, Result, invalid, registered};
use crate::domain::{Services, audit};
use assent_model::audit::{AuditContext, Entry, Event};
use assent_model::id::Did;
use assent_model::logo::ApplicationLogo;

/// Returns the logo of an application.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such application or logo. Otherwise if the database fails.
pub async fn logo(services: &Services, application: &Did) -> Result<ApplicationLogo> {
    services
        .store
        .logo(application)
        .await?
        .ok_or(AdminError::NotFound("logo"))
}

/// Returns the audit entry of a new logo.
pub(super) fn setting(
    services: &Services,
    application: &Did,
    logo: &ApplicationLogo,
    by: &AuditContext,
) -> Entry {
    audit::entry(services, Event::LogoSet, by)
        .in_application(application.clone())
        .with("media_type", logo.kind.media_type())
        .with("bytes", logo.bytes.len())
}

/// Returns the audit entry of a removed logo.
pub(super) fn removal(services: &Services, application: &Did, by: &AuditContext) -> Entry {
    audit::entry(services, Event::LogoRemoved, by).in_application(application.clone())
}

assent_model::admin_command! {
    /// Sets or replaces the logo of an application.
    #[derive(Clone, Debug, serde::Serialize)]
    pub struct SetLogo {
        /// The application.
        target application: Did,
        /// The image.
        harmless image: Vec<u8>,
    }
}

impl AdminCommand for SetLogo {
    type Plan = (Did, ApplicationLogo);
    type Outcome = ApplicationLogo;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<(Did, ApplicationLogo)>> {
        let authorization = context.caller.authorize_application_writes()?;
        let logo = ApplicationLogo::new(self.image.clone())
            .map_err(|unfit| invalid("the body", unfit.to_string()))?;
        let plan = (self.application.clone(), logo);
        Ok(Planned::harmless(authorization, plan))
    }

    async fn execute(
        context: &AdminContext,
        approved: ApprovedPlan<(Did, ApplicationLogo)>,
        by: &AuditContext,
    ) -> Result<Execution<ApplicationLogo>> {
        let (application, logo) = approved.into_plan();
        let services = &context.services;
        let entry = setting(services, &application, &logo, by);
        if !services
            .store
            .set_logo(application.clone(), logo.clone(), entry)
            .await?
        {
            return Err(AdminError::NotFound("application"));
        }
        tracing::info!(%application, logo = logo.digest, "application logo set");
        Ok(Execution::Done(logo))
    }
}

assent_model::admin_command! {
    /// Removes the logo of an application. Succeeds if there is none.
    #[derive(Clone, Debug, serde::Serialize)]
    pub struct RemoveLogo(target Did);
}

impl AdminCommand for RemoveLogo {
    type Plan = Did;
    type Outcome = ();

    async fn plan(&self, context: &AdminContext) -> Result<Planned<Did>> {
        let authorization = context.caller.authorize_application_writes()?;
        registered(&context.services, &self.0).await?;
        Ok(Planned::harmless(authorization, self.0.clone()))
    }

    async fn execute(
        context: &AdminContext,
        approved: ApprovedPlan<Did>,
        by: &AuditContext,
    ) -> Result<Execution<()>> {
        let application = approved.into_plan();
        let services = &context.services;
        let entry = removal(services, &application, by);
        if services
            .store
            .remove_logo(application.clone(), entry)
            .await?
        {
            tracing::info!(%application, "application logo removed");
        }
        Ok(Execution::Done(()))
    }
}
