//! The logos of applications.

use super::command::{AdminCommand, AdminContext, ApprovedPlan, Planned};
use super::execution::{Execution, Recorder, Writes};
use super::{AdminError, Result, invalid, registered_application};
use crate::domain::{Services, audit};
use assent_model::application::RegisteredApplication;
use assent_model::audit::Event;
use assent_model::id::Did;
use assent_model::logo::ApplicationLogo;
use assent_store::{AdminWrite, ExpectedVersions};

/// Returns the logo of an application.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such application or logo.
pub async fn logo(services: &Services, application: &Did) -> Result<ApplicationLogo> {
    services
        .store
        .logo(application)
        .await?
        .ok_or(AdminError::NotFound("logo"))
}

/// Sets or removes the logo of an application that has the logo with the digest `before`.
pub(super) fn logo_change(
    recorder: &Recorder<'_>,
    application: &Did,
    before: Option<String>,
    after: Option<ApplicationLogo>,
) -> Writes {
    let entry = match &after {
        Some(logo) => audit::entry(recorder.services, Event::LogoSet, recorder.by)
            .in_application(application.clone())
            .with("media_type", logo.kind.media_type())
            .with("bytes", logo.bytes.len()),
        None => audit::entry(recorder.services, Event::LogoRemoved, recorder.by)
            .in_application(application.clone()),
    };
    let write = AdminWrite::ChangeLogo {
        application: application.clone(),
        before,
        after,
    };
    vec![(write, vec![recorder.with_plan(entry)])]
}

/// The change of the logo of an application.
#[derive(Clone, Debug)]
pub struct LogoChange {
    application: RegisteredApplication,
    /// The digest of the current logo.
    before: Option<String>,
    after: Option<ApplicationLogo>,
}

impl LogoChange {
    /// Plans the change of the logo of an existing application. The logo of a client with `logo_uri` is always the
    /// image of that address.
    async fn plan(services: &Services, id: &Did, after: Option<ApplicationLogo>) -> Result<Self> {
        let application = registered_application(services, id).await?;
        if let RegisteredApplication::Client(client) = &application
            && client.settings.information.logo_uri.is_some()
        {
            return Err(AdminError::Conflict(
                "the logo of this application comes from its logo_uri; remove logo_uri first",
            ));
        }
        Ok(Self {
            application,
            before: services.store.logo_digest(id).await?,
            after,
        })
    }

    /// Expects the planned version of the application, which may have a `logo_uri` by now.
    async fn execute(&self, recorder: &Recorder<'_>) -> Result<Execution<()>> {
        let id = self.application.id();
        let writes = logo_change(recorder, id, self.before.clone(), self.after.clone());
        let expected = ExpectedVersions {
            applications: vec![(id.clone(), self.application.version())],
            ..ExpectedVersions::default()
        };
        recorder.execute(expected, writes).await
    }
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
    type Plan = LogoChange;
    type Outcome = ApplicationLogo;

    async fn plan(&self, context: &AdminContext) -> Result<Planned<LogoChange>> {
        let authorization = context.caller.authorize_application_writes()?;
        let logo = ApplicationLogo::new(self.image.clone())
            .map_err(|unfit| invalid("the body", unfit.to_string()))?;
        let plan = LogoChange::plan(&context.services, &self.application, Some(logo)).await?;
        Ok(Planned::harmless(authorization, plan))
    }

    async fn execute(approved: ApprovedPlan<'_, LogoChange>) -> Result<Execution<ApplicationLogo>> {
        let (plan, recorder) = approved.into_parts();
        let (Execution::Done(()), Some(logo)) = (plan.execute(&recorder).await?, plan.after) else {
            return Ok(Execution::Overtaken);
        };
        tracing::info!(application = %plan.application.id(), logo = logo.digest, "application logo set");
        Ok(Execution::Done(logo))
    }
}

assent_model::admin_command! {
    /// Removes the logo of an application. Succeeds if there is none.
    #[derive(Clone, Debug, serde::Serialize)]
    pub struct RemoveLogo(target Did);
}

impl AdminCommand for RemoveLogo {
    type Plan = LogoChange;
    type Outcome = ();

    async fn plan(&self, context: &AdminContext) -> Result<Planned<LogoChange>> {
        let authorization = context.caller.authorize_application_writes()?;
        let plan = LogoChange::plan(&context.services, &self.0, None).await?;
        Ok(Planned::harmless(authorization, plan))
    }

    async fn execute(approved: ApprovedPlan<'_, LogoChange>) -> Result<Execution<()>> {
        let (plan, recorder) = approved.into_parts();
        if plan.before.is_none() {
            return Ok(Execution::Done(()));
        }
        let removed = plan.execute(&recorder).await?;
        Ok(removed.map(|()| {
            tracing::info!(application = %plan.application.id(), "application logo removed");
        }))
    }
}
