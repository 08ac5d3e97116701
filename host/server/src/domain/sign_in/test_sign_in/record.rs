//! The recorded steps of a test sign-in.

use std::time::Duration;

use serde_json::{Value, json};

use crate::domain::sign_in::access;
use crate::domain::sign_in::access::AccessDenied;
use crate::domain::{InternalError, Services, audit};
use assent_model::audit::{Actor, AuditContext, Event};
use assent_model::clock::Timestamp;
use assent_model::id::{FamilyId, TestSignInId};
use assent_model::login::SignInDenied;
use assent_model::test_sign_in::{StepNote, TestSignIn, TestSignInOutcome, TestSignInStep};
use assent_store::{StepRecord, TestSignInResult};

/// The message if the reason does not exist any more when it is read.
const CLOSED: &str =
    "you were not permitted to sign in at that moment, and would be now: try again";

/// Records the outcome of a step.
pub async fn record_step(
    services: &Services,
    id: TestSignInId,
    name: TestSignInStep,
    note: StepNote,
) -> Result<(), InternalError> {
    Ok(services
        .store
        .record_test_sign_in_step(id, step_record(services, name, &note)?)
        .await?)
}

pub(super) fn step_record(
    services: &Services,
    name: TestSignInStep,
    note: &StepNote,
) -> Result<StepRecord, InternalError> {
    Ok(StepRecord {
        name,
        at: services.now(),
        sealed: seal_value(services, &json!(note))?,
    })
}

pub(super) fn seal_value(services: &Services, value: &Value) -> Result<String, InternalError> {
    Ok(services.seal("test-sign-in", value.to_string().as_bytes())?)
}

pub(super) fn open_value(services: &Services, sealed: &str) -> Result<Value, InternalError> {
    Ok(
        serde_json::from_slice(&services.sealing_keys.open("test-sign-in", sealed)?)
            .unwrap_or_default(),
    )
}

/// Records the reason why a user was denied after the approval, which ends the test sign-in.
pub async fn record_denial(
    services: &Services,
    id: TestSignInId,
    why: &SignInDenied,
) -> Result<(), InternalError> {
    let (step, detail) = match why {
        SignInDenied::ApplicationGone => (
            TestSignInStep::Account,
            "the application was deleted in the meantime".to_owned(),
        ),
        SignInDenied::ApplicationDisabled(_) => (
            TestSignInStep::Account,
            "the application is disabled: enable it first".to_owned(),
        ),
        SignInDenied::AddressGone => (
            TestSignInStep::Account,
            "the redirect URI is not registered for the application".to_owned(),
        ),
        SignInDenied::NoAccount(_) => (
            TestSignInStep::Account,
            AccessDenied::NoAccount.words().to_owned(),
        ),
        SignInDenied::AccountClosed(_) | SignInDenied::UserInactive => (
            TestSignInStep::Account,
            access_denial(services, id)
                .await?
                .map_or(CLOSED, AccessDenied::words)
                .to_owned(),
        ),
        SignInDenied::AddressNotConfirmed(_) => (
            TestSignInStep::NameId,
            AccessDenied::UnconfirmedAddress.words().to_owned(),
        ),
        SignInDenied::Plugin { reason, .. } => (
            TestSignInStep::Claims,
            format!("a plugin rejects you: {reason}"),
        ),
        SignInDenied::OthersTestSignIn => return Ok(()),
    };
    let Some(test_sign_in) = services.store.test_sign_in(id).await? else {
        return Ok(());
    };
    if step == TestSignInStep::Account {
        record_step(services, id, step, StepNote::bad(detail.clone())).await?;
    }
    fail(services, &test_sign_in, "rejected", &detail).await
}

/// Returns the reason why the administrator of a test sign-in currently has no access to its application.
pub(super) async fn access_denial(
    services: &Services,
    id: TestSignInId,
) -> Result<Option<AccessDenied>, InternalError> {
    let Some(test_sign_in) = services.store.test_sign_in(id).await? else {
        return Ok(None);
    };
    let Some(user) = services.store.user(test_sign_in.user).await? else {
        return Ok(None);
    };
    access::access_denial(services, &user, &test_sign_in.application).await
}

/// Ends a test sign-in with an error.
pub async fn fail(
    services: &Services,
    test_sign_in: &TestSignIn,
    error: &str,
    description: &str,
) -> Result<(), InternalError> {
    let result = json!({ "error": error, "error_description": description });
    end(
        services,
        test_sign_in,
        TestSignInOutcome::Failed,
        result,
        None,
    )
    .await
}

/// A step, its time and its note.
pub type RecordedStep = (TestSignInStep, Timestamp, StepNote);

/// Returns the recorded steps in their order.
pub(super) fn open_steps(
    services: &Services,
    records: Vec<StepRecord>,
) -> Result<Vec<RecordedStep>, InternalError> {
    let mut steps = Vec::new();
    for StepRecord { name, at, sealed } in records {
        let note: Option<StepNote> = serde_json::from_value(open_value(services, &sealed)?).ok();
        steps.extend(note.map(|note| (name, at, note)));
    }
    Ok(steps)
}

/// Ends a test sign-in. The result is stored until the test sign-in expires. The issued tokens and codes are revoked at
/// once.
pub async fn end(
    services: &Services,
    test_sign_in: &TestSignIn,
    outcome: TestSignInOutcome,
    result: Value,
    family: Option<FamilyId>,
) -> Result<(), InternalError> {
    let by = AuditContext {
        actor: Actor::User(test_sign_in.user),
        ..AuditContext::SERVER
    };
    let entry = audit::entry(services, Event::TestSignInEnded, &by)
        .about(test_sign_in.user)
        .in_application(test_sign_in.application.clone());
    let entry = entry
        .with("test_sign_in", test_sign_in.id.to_string())
        .with("outcome", outcome.as_str());
    let end = TestSignInResult {
        outcome,
        result: seal_value(services, &result)?,
        family,
        entry,
    };
    // A test sign-in that ended before has a result already.
    let _ = services
        .store
        .finish_test_sign_in(test_sign_in.id, end, services.now())
        .await?;
    Ok(())
}

/// The lifetime of a test sign-in, and the retention of its steps.
pub const LIFE: Duration = Duration::from_secs(15 * 60);
