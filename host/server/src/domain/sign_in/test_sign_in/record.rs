//! The steps of a test sign-in, as they are recorded.

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

/// What is said where the reason is over by the time that somebody asks for it.
const CLOSED: &str =
    "you were not permitted to sign in at that moment, and would be now: try again";

/// Notes what became of a step.
///
/// # Errors
/// If the database or the cryptographic library fails.
pub async fn record_step(
    services: &Services,
    id: TestSignInId,
    name: TestSignInStep,
    note: StepNote,
) -> Result<(), InternalError> {
    Ok(services
        .store
        .record_test_sign_in_step(id, kept(services, name, &note)?)
        .await?)
}

pub(super) fn kept(
    services: &Services,
    name: TestSignInStep,
    note: &StepNote,
) -> Result<StepRecord, InternalError> {
    Ok(StepRecord {
        name,
        at: services.now(),
        sealed: sealed(services, &json!(note))?,
    })
}

pub(super) fn sealed(services: &Services, value: &Value) -> Result<String, InternalError> {
    Ok(services.seal("test-sign-in", value.to_string().as_bytes())?)
}

pub(super) fn unsealed(services: &Services, sealed: &str) -> Result<Value, InternalError> {
    Ok(
        serde_json::from_slice(&services.sealing_keys.open("test-sign-in", sealed)?)
            .unwrap_or_default(),
    )
}

/// Notes why a person was turned away who had approved, which ends the test sign-in.
///
/// # Errors
/// If the database or the cryptographic library fails.
pub async fn refused(
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
        SignInDenied::AccountClosed(_) | SignInDenied::PersonClosed => (
            TestSignInStep::Account,
            kept_out(services, id)
                .await?
                .map_or(CLOSED, AccessDenied::words)
                .to_owned(),
        ),
        SignInDenied::Plugin(reason) => (
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

/// What keeps whoever began a test sign-in out of its application by now.
pub(super) async fn kept_out(
    services: &Services,
    id: TestSignInId,
) -> Result<Option<AccessDenied>, InternalError> {
    let Some(test_sign_in) = services.store.test_sign_in(id).await? else {
        return Ok(None);
    };
    let Some(user) = services.store.user(test_sign_in.user).await? else {
        return Ok(None);
    };
    access::kept_out(services, &user, &test_sign_in.application).await
}

/// Ends a test sign-in with an error.
///
/// # Errors
/// If the database or the cryptographic library fails.
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

/// A step, when it was, and what is known of it.
pub type RecordedStep = (TestSignInStep, Timestamp, StepNote);

/// What was noted, in the order of the steps.
pub(super) fn opened(
    services: &Services,
    kept: Vec<StepRecord>,
) -> Result<Vec<RecordedStep>, InternalError> {
    let mut steps = Vec::new();
    for StepRecord { name, at, sealed } in kept {
        let note: Option<StepNote> = serde_json::from_value(unsealed(services, &sealed)?).ok();
        steps.extend(note.map(|note| (name, at, note)));
    }
    Ok(steps)
}

/// Ends a test sign-in: the result is kept until the test sign-in is over, and what it gave is over at once.
///
/// # Errors
/// If the database or the cryptographic library fails.
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
        result: sealed(services, &result)?,
        family,
        entry,
    };
    // If it ended before, it has its result.
    let _ = services
        .store
        .finish_test_sign_in(test_sign_in.id, end, services.now())
        .await?;
    Ok(())
}
