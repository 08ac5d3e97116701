//! Test sign-ins: an administrator signs in to an application with a real sign-in, and sees each step and the claims
//! that the application would receive. The server acts in place of the application. No other user can complete a test
//! sign-in, and the issued tokens and codes are useless elsewhere.

mod approval;
pub mod approval_request;
pub mod observer;
pub mod record;
pub mod repeat;

use std::sync::Arc;

use approval::of_login;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use record::LIFE;
use record::{RecordedStep, fail, open_steps, open_value, record_step, step_record};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::domain::admin::action_approvals::Console;
use crate::domain::admin::{AdminContext, AdminError};
use crate::domain::sessions::session::BrowserSession;
use crate::domain::sign_in::access;
use crate::domain::sign_in::access::AccessDenied;
use crate::domain::{InternalError, Services, admin, audit};
use assent_model::application::{GrantType, RegisteredApplication};
use assent_model::audit::{AuditContext, Event};
use assent_model::change::Change;
use assent_model::clock::Timestamp;
use assent_model::id::{Did, TestSignInId};
use assent_model::login::Login;
use assent_model::purpose::SignInPurpose;
use assent_model::secret::Digest;
use assent_model::test_sign_in::{
    OpenTestSignIn, RequestMarks, StepNote, TestSignIn, TestSignInOutcome, TestSignInStage,
    TestSignInStep, Visitor,
};
use assent_store::Transition;

/// The path of this server to which the responses are sent.
const PATH: &str = "/admin/test-sign-ins/";

/// A value that the server derives for a test sign-in, so that it need not store a secret.
#[derive(Clone, Copy, Debug, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum DerivedValue {
    /// The `state`, or the relay state.
    State,
    /// The `nonce`.
    Nonce,
    /// The PKCE verifier.
    Verifier,
    /// The ID of the AuthnRequest.
    Message,
}

/// Returns a value of a test sign-in that cannot be guessed without the root secret.
pub fn derived_value(
    services: &Services,
    id: TestSignInId,
    what: DerivedValue,
) -> Result<String, InternalError> {
    let code = services
        .root_secret
        .derive("test-sign-in", format!("{what}\n{id}").as_bytes())?;
    Ok(match what {
        // An `xs:ID` begins with a letter or an underscore.
        DerivedValue::Message => format!("_{}", hex::encode(code)),
        _ => URL_SAFE_NO_PAD.encode(code),
    })
}

/// Returns the value that authenticates a response of a test sign-in: this server created exactly this response for
/// this test sign-in.
pub fn response_seal(
    services: &Services,
    id: TestSignInId,
    answer: &str,
) -> Result<String, InternalError> {
    let message = format!(
        "answer\n{id}\n{}",
        Digest::sha256(answer.as_bytes()).to_text()
    );
    let code = services
        .root_secret
        .derive("test-sign-in", message.as_bytes())?;
    Ok(URL_SAFE_NO_PAD.encode(code))
}

/// Returns the RelayState of a response. For a test sign-in it authenticates the response as one of this server.
pub fn relay_state(
    services: &Services,
    purpose: SignInPurpose,
    requested: Option<&str>,
    response: &str,
) -> Result<Option<String>, InternalError> {
    match purpose {
        SignInPurpose::Application => Ok(requested.map(str::to_owned)),
        SignInPurpose::TestSignIn(id) => response_seal(services, id, response).map(Some),
    }
}

/// Returns the address to which the response of a test sign-in is sent.
pub fn address(services: &Services, id: TestSignInId) -> String {
    format!(
        "{}{PATH}{id}",
        services.settings.base_url.as_str().trim_end_matches('/')
    )
}

/// Returns the test sign-in with this address.
pub fn id_from_address(services: &Services, address: &str) -> Option<TestSignInId> {
    let base = services.settings.base_url.as_str().trim_end_matches('/');
    address.strip_prefix(base)?.strip_prefix(PATH)?.parse().ok()
}

/// Returns a new test sign-in of this application by the administrator of a console session, before its request is
/// created. It is not stored yet.
///
/// # Errors
/// [`AdminError::NotFound`] if there is no such application, [`AdminError::Conflict`] if the sign-in could not succeed,
/// or the caller uses no console session.
pub async fn prepare(
    context: &AdminContext,
    application: &Did,
) -> Result<(TestSignIn, RegisteredApplication), AdminError> {
    let services = &context.services;
    let console = context.console().ok_or(AdminError::Conflict(
        "a test sign-in needs a browser: start it in the console",
    ))?;
    let application = admin::registered_application(services, application).await?;
    if !application.is_enabled() {
        return Err(AdminError::Conflict(
            "the application is disabled; enable it first",
        ));
    }
    let (id, has_codes) = match &application {
        RegisteredApplication::Client(client) => (
            &client.id,
            client
                .settings
                .grant_types
                .contains(&GrantType::AuthorizationCode),
        ),
        RegisteredApplication::ServiceProvider(provider) => (&provider.id, true),
    };
    if !has_codes {
        return Err(AdminError::Conflict(
            "no user can sign in to this application: it may not use authorization_code",
        ));
    }
    let user = &console.signed_in.user;
    match access::access_denial(services, user, id).await? {
        None => {}
        Some(AccessDenied::NoAccount) => {
            return Err(AdminError::Conflict(
                "you have no access to this application; create an account for yourself first",
            ));
        }
        Some(obstacle) => return Err(AdminError::Conflict(obstacle.words())),
    }
    let now = services.now();
    let test_sign_in = TestSignIn {
        id: TestSignInId::new(now, &*services.entropy),
        application: id.clone(),
        user: user.id,
        session: console.signed_in.session.id,
        browser: console.browser,
        login: None,
        created_at: now,
        expires_at: now + LIFE,
        claimed_at: None,
        stage: TestSignInStage::Open,
    };
    Ok((test_sign_in, application))
}

/// Stores a test sign-in with its request, and ends the previous one of that session.
pub async fn begin(
    services: &Services,
    test_sign_in: &TestSignIn,
    request: StepNote,
    by: &AuditContext,
) -> Result<(), InternalError> {
    for before in services
        .store
        .open_test_sign_ins(test_sign_in.session)
        .await?
    {
        fail(
            services,
            &before,
            "replaced",
            "another test sign-in was started in this console session",
        )
        .await?;
    }
    let entry = audit::entry(services, Event::TestSignInStarted, by)
        .about(test_sign_in.user)
        .in_application(test_sign_in.application.clone());
    let entry = entry.with("test_sign_in", test_sign_in.id.to_string());
    services
        .store
        .insert_test_sign_in(
            test_sign_in.clone(),
            step_record(services, TestSignInStep::Request, &request)?,
            entry,
        )
        .await?;
    Ok(())
}

/// Returns the open test sign-in with this identifier, if it belongs to this browser and session.
pub async fn open(
    services: &Services,
    id: TestSignInId,
    browser: Digest,
    signed_in: &BrowserSession,
) -> Result<Option<OpenTestSignIn>, InternalError> {
    let visitor = Visitor {
        browser,
        session: signed_in.session.id,
        user: signed_in.user.id,
    };
    let test_sign_in = services.store.test_sign_in(id).await?;
    let request = RequestMarks {
        address: address(services, id),
        request_id: derived_value(services, id, DerivedValue::Message)?,
        login_hint: signed_in.user.name.clone(),
    };
    Ok(test_sign_in.and_then(|test_sign_in| {
        OpenTestSignIn::for_visitor(test_sign_in, visitor, request, services.now())
    }))
}

/// Records that a sign-in began for a test sign-in. From then on, only this sign-in may answer it. For other sign-ins,
/// nothing is recorded.
pub async fn record_login(services: &Services, login: &Login) -> Result<Transition, InternalError> {
    let Some(id) = login.request.purpose().test_sign_in() else {
        return Ok(Transition::Done);
    };
    let recorded = services
        .store
        .set_test_sign_in_login(id, login.id, login.browser, services.now())
        .await?;
    if recorded == Transition::Done {
        record_step(
            services,
            id,
            TestSignInStep::Validation,
            StepNote::good("the request is accepted, as for any application"),
        )
        .await?;
    }
    Ok(recorded)
}

/// Returns the reason of the last failed step, if there is one. The page at the end of the sign-in shows it.
pub async fn cause(services: &Services, id: TestSignInId) -> Result<Option<String>, InternalError> {
    let (records, _) = services.store.test_sign_in_steps(id).await?;
    let failed = open_steps(services, records)?
        .into_iter()
        .rfind(|(_, _, note)| !note.succeeded);
    Ok(failed.map(|(_, _, note)| note.detail))
}

/// A test sign-in as its administrator sees it.
#[derive(Clone, Debug)]
pub struct TestSignInReport {
    /// The test sign-in.
    pub test_sign_in: TestSignIn,
    /// The state of the test sign-in.
    pub state: TestSignInState,
    /// The recorded steps.
    pub steps: Vec<RecordedStep>,
    /// The content that the application would have received.
    pub result: Option<Value>,
}

/// The state of a test sign-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestSignInState {
    /// It is in progress.
    Pending,
    /// The application would have signed in the user.
    Completed,
    /// The application would not have signed in the user.
    Failed,
    /// It expired.
    Expired,
}

/// Returns a test sign-in of this console. `None` if there is none.
pub async fn show(
    services: &Services,
    console: &Console,
    id: TestSignInId,
) -> Result<Option<TestSignInReport>, InternalError> {
    let signed_in = &console.signed_in;
    let visitor = Visitor {
        browser: console.browser,
        session: signed_in.session.id,
        user: signed_in.user.id,
    };
    let Some(test_sign_in) = services
        .store
        .test_sign_in(id)
        .await?
        .filter(|test_sign_in| test_sign_in.is_of(visitor))
    else {
        return Ok(None);
    };
    let state = match test_sign_in.stage {
        _ if services.now() >= test_sign_in.expires_at => TestSignInState::Expired,
        TestSignInStage::Finished(TestSignInOutcome::Completed) => TestSignInState::Completed,
        TestSignInStage::Finished(TestSignInOutcome::Failed) => TestSignInState::Failed,
        TestSignInStage::Open | TestSignInStage::Claimed => TestSignInState::Pending,
    };
    if state == TestSignInState::Expired {
        return Ok(Some(TestSignInReport {
            test_sign_in,
            state,
            steps: Vec::new(),
            result: None,
        }));
    }
    let (records, result) = services.store.test_sign_in_steps(id).await?;
    let mut steps = open_steps(services, records)?;
    // The sign-in's own rows are newer than the recorded steps.
    for step in of_login(services, &test_sign_in).await? {
        steps.retain(|(known, ..)| *known != step.0);
        steps.push(step);
    }
    steps.sort_by_key(|(name, ..)| *name);
    let result = result
        .map(|sealed| open_value(services, &sealed))
        .transpose()?;
    Ok(Some(TestSignInReport {
        test_sign_in,
        state,
        steps,
        result,
    }))
}

/// Waits until a test sign-in in progress has a change to show.
pub async fn wait_for_change(
    services: &Arc<Services>,
    console: &Console,
    id: TestSignInId,
) -> Result<(), InternalError> {
    let look = async || -> Result<_, InternalError> {
        let shown = show(services, console, id).await?;
        let named = |shown: &TestSignInReport| {
            shown
                .steps
                .iter()
                .map(|(name, _, note)| (*name, note.succeeded))
                .collect()
        };
        Ok(shown.map(|shown| (shown.state, named(&shown))))
    };
    let first: Option<(TestSignInState, Vec<_>)> = look().await?;
    if !matches!(first, Some((TestSignInState::Pending, _))) {
        return Ok(());
    }
    loop {
        let (changes, deadline) = awaited_changes(services, id).await?;
        let mut listener = services.store.listen(changes.clone());
        if look().await? != first {
            return Ok(());
        }
        // The sign-in or its approval may have begun in the meantime.
        if awaited_changes(services, id).await?.0 == changes {
            listener.changed(deadline).await;
        }
    }
}

/// Returns the changes that may affect a test sign-in, and the time at which it changes by itself.
async fn awaited_changes(
    services: &Services,
    id: TestSignInId,
) -> Result<(Vec<Change>, Option<Timestamp>), InternalError> {
    let mut changes = vec![Change::TestSignIn(id)];
    let Some(test_sign_in) = services.store.test_sign_in(id).await? else {
        return Ok((changes, None));
    };
    let mut deadline = test_sign_in.expires_at;
    if let Some(login) = test_sign_in.login {
        changes.push(Change::Login(login));
        if let Some(approval) = services.store.approval_of_login(login).await? {
            changes.push(Change::Approval(approval.id));
            if approval.expires_at > services.now() {
                deadline = deadline.min(approval.expires_at);
            }
        }
    }
    Ok((changes, Some(deadline)))
}
