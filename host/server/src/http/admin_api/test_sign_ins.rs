//! Test sign-ins: the sign-in of an application, as its administrator goes through it.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::authorize::ConsoleSession;
use super::context::Context;
use super::input::Query;
use super::routes::Area;
use crate::domain::Host;
use crate::domain::admin::{self, AdminError};
use crate::domain::sign_in::test_sign_in;
use crate::domain::sign_in::test_sign_in::TestSignInState;
use crate::http::admin_api::values::{id_of, moment};
use crate::http::problem::{Problem, ProblemKind};
use crate::test_sign_in::{oidc, saml};
use assent_model::administration::Permission;
use assent_model::application::RegisteredApplication;
use assent_model::id::{Did, TestSignInId};
use assent_model::test_sign_in::TestSignInStep;

/// How long an answer waits at most, in seconds.
const LONGEST_WAIT: u64 = 25;

pub(super) fn routes() -> Area {
    Area::new()
        .noun(
            "test-sign-ins",
            "Test sign-ins: an administrator tries an application's sign-in.",
        )
        .route(
            "test-sign-ins.start",
            Permission::ApplicationsWrite,
            routes!(begin),
        )
        .route(
            "test-sign-ins.show",
            Permission::ApplicationsWrite,
            routes!(read),
        )
}

/// A test sign-in that began.
#[derive(Serialize, ToSchema)]
#[schema(as = TestSignInStarted)]
struct BegunView {
    id: String,
    /// Where the sign-in begins: for another tab of the same browser.
    url: String,
    /// Until when it can be completed, and read.
    #[schema(format = DateTime)]
    expires_at: String,
}

/// Begin to try the sign-in of an application.
///
/// For a session of the console alone. It is a real login of whoever is signed in there, by the application's own settings; the
/// phone is asked anew. It ends the test sign-in before of that session. Nobody else can complete it, the application hears nothing of it, and what it gives is of no use.
#[utoipa::path(post, path = "/applications/{id}/test-sign-ins", responses((status = 201, description = "It began.", body = BegunView)))]
async fn begin(
    Context(context): Context,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<BegunView>), Problem> {
    let host = &context.host;
    let application: Did = id_of(&id, "application")?;
    let (test_sign_in, application) = test_sign_in::prepare(&context, &application).await?;
    let alone = host.rate_limits.test_sign_in.hold(test_sign_in.session);
    let _alone = alone.ok_or_else(|| {
        Problem::of(
            ProblemKind::TooMany,
            "another test sign-in is begun at this moment",
        )
    })?;
    let (url, request) = match &application {
        RegisteredApplication::Client(client) => {
            let user = admin::user(host, test_sign_in.user).await?;
            oidc::request(host, &test_sign_in, client, &user.name)?
        }
        RegisteredApplication::ServiceProvider(provider) => {
            saml::request(host, &test_sign_in, provider)?
        }
    };
    test_sign_in::begin(host, &test_sign_in, request, &context.caller.by).await?;
    let begun = BegunView {
        id: test_sign_in.id.to_string(),
        url,
        expires_at: moment(test_sign_in.expires_at),
    };
    Ok((StatusCode::CREATED, Json(begun)))
}

/// How a test sign-in stands.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = TestSignInState)]
enum StateView {
    /// The sign-in goes on.
    Pending,
    /// The application would have signed the person in.
    Completed,
    /// It would not.
    Failed,
    /// Its time is over; nothing of it is shown any more.
    Expired,
}

/// A test sign-in.
#[derive(Serialize, ToSchema)]
#[schema(as = TestSignIn)]
struct TestSignInView {
    id: String,
    application_id: String,
    state: StateView,
    #[schema(format = DateTime)]
    expires_at: String,
    /// What it went through, in this order.
    steps: Vec<StepView>,
    /// What the application would have been told, once the test sign-in is done or has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    result: Option<TestSignInResult>,
}

/// A step of a test sign-in.
#[derive(Serialize, ToSchema)]
#[schema(as = TestSignInStep)]
struct StepView {
    #[schema(format = DateTime)]
    at: String,
    #[schema(inline)]
    name: TestSignInStep,
    /// What it is, in a few words.
    title: &'static str,
    /// Whether it went well.
    succeeded: bool,
    /// What happened, in a sentence.
    detail: String,
    /// More of it, as the step has it; of `claims` and `userinfo` `steps`, what each plugin did.
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

/// What an application would have been told.
#[derive(Serialize, Deserialize, Default, ToSchema)]
#[serde(default)]
struct TestSignInResult {
    /// `openid_connect` or `saml`; none where the sign-in ended before anything was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    protocol: Option<String>,
    /// The token response. Of its tokens only the beginning is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = std::collections::BTreeMap<String, Value>, required = false)]
    token_response: Option<Value>,
    /// The ID token.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    id_token: Option<DecodedToken>,
    /// What UserInfo answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = std::collections::BTreeMap<String, Value>, required = false)]
    userinfo: Option<Value>,
    /// The response as it was sent, XML, without the values of its signatures.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    response: Option<String>,
    /// The status of the response, with what it says besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    status: Option<String>,
    /// What the assertion calls the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    name_id: Option<NameView>,
    /// The attributes of the assertion.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    attributes: Option<Vec<AttributeView>>,
    /// Why it failed, as a code.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<String>,
    /// Why it failed, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error_description: Option<String>,
}

/// A JWT, without its signature.
#[derive(Serialize, Deserialize, ToSchema)]
struct DecodedToken {
    #[schema(value_type = std::collections::BTreeMap<String, Value>)]
    header: Value,
    #[schema(value_type = std::collections::BTreeMap<String, Value>)]
    claims: Value,
}

/// A `NameID`.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = TestSignInNameId)]
struct NameView {
    format: Option<String>,
    value: String,
}

/// An attribute of an assertion.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = TestSignInAttribute)]
struct AttributeView {
    name: Option<String>,
    format: Option<String>,
    friendly_name: Option<String>,
    values: Vec<String>,
}

/// How long to wait for news.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Wait {
    /// In seconds, 25 at most. It is answered as soon as there is another step, or a result, and at once where two calls of the
    /// session wait already.
    #[serde(default)]
    #[param(minimum = 0, maximum = 25)]
    wait: u64,
}

/// Read a test sign-in that was begun in this session of the console.
#[utoipa::path(get, path = "/test-sign-ins/{id}", params(Wait), responses((status = 200, description = "How it stands.", body = TestSignInView)))]
async fn read(
    State(host): State<Arc<Host>>,
    session: Option<Extension<ConsoleSession>>,
    Path(id): Path<String>,
    Query(Wait { wait }): Query<Wait>,
) -> Result<Json<TestSignInView>, Problem> {
    let id: TestSignInId = id_of(&id, "test sign-in")?;
    let Some(Extension(ConsoleSession { console, .. })) = session else {
        return Err(AdminError::NotFound("test sign-in").into());
    };
    let patience = std::time::Duration::from_secs(wait.min(LONGEST_WAIT));
    // Whoever is still waiting then is told how it stands, and at once where enough others wait.
    let waiting = host
        .rate_limits
        .test_sign_in_waits
        .hold(console.signed_in.session.id);
    let patience = waiting
        .as_ref()
        .map_or(std::time::Duration::ZERO, |_| patience);
    tokio::select! {
        biased;
        changed = test_sign_in::changed(&host, &console, id) => changed?,
        () = tokio::time::sleep(patience) => {}
        () = host.draining.interrupts() => {}
    }
    drop(waiting);
    let shown = test_sign_in::show(&host, &console, id)
        .await?
        .ok_or(AdminError::NotFound("test sign-in"))?;
    let step =
        |(name, at, note): (TestSignInStep, _, assent_model::test_sign_in::StepNote)| StepView {
            at: moment(at),
            name,
            title: name.title(),
            succeeded: note.succeeded,
            detail: note.detail,
            data: note.data,
        };
    Ok(Json(TestSignInView {
        id: id.to_string(),
        application_id: shown.test_sign_in.application.to_string(),
        state: match shown.state {
            TestSignInState::Pending => StateView::Pending,
            TestSignInState::Completed => StateView::Completed,
            TestSignInState::Failed => StateView::Failed,
            TestSignInState::Expired => StateView::Expired,
        },
        expires_at: moment(shown.test_sign_in.expires_at),
        steps: shown.steps.into_iter().map(step).collect(),
        result: shown
            .result
            .and_then(|result| serde_json::from_value(result).ok()),
    }))
}
