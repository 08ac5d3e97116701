//! The observer of a test sign-in: only the administrator who started it may complete it, and each step is recorded.

use serde_json::json;

use crate::domain::claims::name_id::MissingName;
use crate::domain::claims::traces;
use crate::domain::sign_in::access::AccessDenied;
use crate::domain::sign_in::context::{
    Admission, Agreement, NoObserver, Observation, SignInEvent, SignInObserver,
};
use crate::domain::sign_in::test_sign_in::record::{fail, record_denial, record_step};
use crate::domain::{InternalError, Services};
use assent_model::id::{LoginId, TestSignInId, UserId};
use assent_model::purpose::SignInPurpose;
use assent_model::saml::NameId;
use assent_model::test_sign_in::{StepNote, TestSignInStage, TestSignInStep};
use assent_plugin_host::{MapFailure, MapperRun, Sink};

/// Returns the observer of a sign-in for this purpose.
pub fn observer(services: &Services, purpose: SignInPurpose) -> Box<dyn SignInObserver + '_> {
    match purpose {
        SignInPurpose::Application => Box::new(NoObserver),
        SignInPurpose::TestSignIn(id) => Box::new(TestSignInObserver { services, id }),
    }
}

struct TestSignInObserver<'h> {
    services: &'h Services,
    id: TestSignInId,
}

impl SignInObserver for TestSignInObserver<'_> {
    fn admit(&self, login: LoginId, user: UserId) -> Observation<'_, Admission> {
        Box::pin(self.admission(login, user))
    }

    fn observe<'a>(&'a self, event: SignInEvent<'a>) -> Observation<'a> {
        Box::pin(self.record(event))
    }
}

impl TestSignInObserver<'_> {
    async fn admission(&self, login: LoginId, user: UserId) -> Result<Admission, InternalError> {
        let Self { services, id } = *self;
        let Some(test_sign_in) = services.store.test_sign_in(id).await? else {
            return Ok(Admission::Expired);
        };
        if test_sign_in.stage != TestSignInStage::Open
            || test_sign_in.login != Some(login)
            || services.now() >= test_sign_in.expires_at
        {
            return Ok(Admission::Expired);
        }
        if test_sign_in.user == user {
            return Ok(Admission::Admitted);
        }
        let detail = "another user than the one who started the test sign-in approved; the result shows nothing \
            about them";
        record_step(
            services,
            id,
            TestSignInStep::Approval,
            StepNote::bad(detail),
        )
        .await?;
        fail(services, &test_sign_in, "different_user", detail).await?;
        Ok(Admission::OtherUser)
    }

    async fn record(&self, event: SignInEvent<'_>) -> Result<(), InternalError> {
        let Self { services, id } = *self;
        let (step, detail) = match event {
            SignInEvent::AccountFound => (
                TestSignInStep::Account,
                StepNote::good("you have an active account"),
            ),
            SignInEvent::NameIdChosen(name) => (TestSignInStep::NameId, of_name(name)),
            SignInEvent::ClaimsMapped { sink, result } => {
                (TestSignInStep::Claims, of_claims(sink, result))
            }
            SignInEvent::Granted { session, agreement } => {
                services.store.set_test_sign_in_session(id, session).await?;
                match agreement {
                    Some(agreement) => (TestSignInStep::Consent, of_agreement(agreement)),
                    None => return Ok(()),
                }
            }
            SignInEvent::Denied(reason) => return record_denial(services, id, reason).await,
        };
        record_step(services, id, step, detail).await
    }
}

fn of_name(name: Result<&NameId, MissingName>) -> StepNote {
    match name {
        Ok(name) => StepNote::good("the NameID of the assertion")
            .with(json!({ "format": name.format.uri(), "value": name.value })),
        Err(why) => StepNote::bad(AccessDenied::of_missing_name(why).words()),
    }
}

fn of_claims(sink: Sink, result: Result<&[MapperRun], &MapFailure>) -> StepNote {
    let (note, steps) = match result {
        Ok(steps) => {
            let detail = match sink {
                Sink::SamlAssertion => "the attributes of the assertion are complete",
                _ => "the claims of the ID token are complete",
            };
            (StepNote::good(detail), steps)
        }
        Err(failure) => (StepNote::bad(failure.to_string()), &*failure.steps),
    };
    note.with(json!({ "calls": traces::explain(steps) }))
}

fn of_agreement(agreement: Agreement) -> StepNote {
    StepNote::good(match agreement {
        Agreement::Given => "you gave consent on the page",
        Agreement::Open => {
            "no consent was needed: you gave it before, or the application needs none"
        }
    })
}
