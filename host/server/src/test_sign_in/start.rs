//! The command that starts a test sign-in.

use super::{oidc, saml};
use crate::domain::admin::{
    self, AdminCommand, AdminContext, AdminError, ApprovedPlan, Execution, Planned,
};
use crate::domain::sign_in::test_sign_in;
use assent_model::application::RegisteredApplication;
use assent_model::clock::Timestamp;
use assent_model::id::{Did, TestSignInId};
use assent_model::test_sign_in::TestSignIn;

assent_model::admin_command! {
    /// Starts a test sign-in of an application by the administrator of a console session.
    #[derive(Clone, Debug, serde::Serialize)]
    pub struct StartTestSignIn(target Did);
}

/// A test sign-in that was started.
#[derive(Clone, Debug)]
pub struct StartedTestSignIn {
    /// The id.
    pub id: TestSignInId,
    /// The address at which the sign-in begins.
    pub url: String,
    /// The time at which it expires.
    pub expires_at: Timestamp,
}

impl AdminCommand for StartTestSignIn {
    type Plan = (TestSignIn, RegisteredApplication);
    type Outcome = StartedTestSignIn;

    async fn plan(
        &self,
        context: &AdminContext,
    ) -> admin::Result<Planned<(TestSignIn, RegisteredApplication)>> {
        let authorization = context.caller.authorize_application_writes()?;
        let plan = test_sign_in::prepare(context, &self.0).await?;
        Ok(Planned::harmless(authorization, plan))
    }

    async fn execute(
        approved: ApprovedPlan<'_, (TestSignIn, RegisteredApplication)>,
    ) -> admin::Result<Execution<StartedTestSignIn>> {
        let ((test_sign_in, application), recorder) = approved.into_parts();
        let services = recorder.services;
        let permit = services.rate_limits.test_sign_in.hold(test_sign_in.session);
        let _permit = permit.ok_or(AdminError::TooMany(
            "another test sign-in is starting at this moment",
        ))?;
        let (url, request) = match &application {
            RegisteredApplication::Client(client) => {
                let user = admin::user(services, test_sign_in.user).await?;
                oidc::request(services, &test_sign_in, client, &user.name)?
            }
            RegisteredApplication::ServiceProvider(provider) => {
                saml::request(services, &test_sign_in, provider)?
            }
        };
        test_sign_in::begin(services, &test_sign_in, request, recorder.by).await?;
        Ok(Execution::Done(StartedTestSignIn {
            id: test_sign_in.id,
            url,
            expires_at: test_sign_in.expires_at,
        }))
    }
}
