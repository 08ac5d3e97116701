//! Test sign-ins: the sign-in of an application, performed by its administrator.

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
use super::input::{Query, id_of};
use super::routes::Area;
use crate::domain::Services;
use crate::domain::admin::AdminError;
use crate::domain::audit::moment_text;
use crate::domain::sign_in::test_sign_in;
use crate::domain::sign_in::test_sign_in::TestSignInState;
use crate::http::problem::Problem;
use crate::test_sign_in::{StartTestSignIn, StartedTestSignIn};
use assent_model::administration::Permission;
use assent_model::id::TestSignInId;
use assent_model::test_sign_in::TestSignInStep;

/// The maximum time for which a response waits, in seconds.
const LONGEST_WAIT: u64 = 25;

pub(super) fn routes() -> Area {
    Area::new()
        .noun(
            "test-sign-ins",
            "Test sign-ins: an administrator tries an application's sign-in.",
        )
        .route("start", Permission::ApplicationsWrite, routes!(begin))
        .route("show", Permission::ApplicationsWrite, routes!(read))
}

/// A new test sign-in.
#[derive(Serialize, ToSchema)]
#[schema(as = NewTestSignIn)]
struct BegunView {
    id: String,
    /// The URL that begins the sign-in, for another tab of the same browser.
    url: String,
    /// When it can no longer be completed or read.
    #[schema(format = DateTime)]
    expires_at: String,
}

/// Start a test sign-in to an application.
///
/// Only a console session can start one. It is a real sign-in of the administrator with the application's own settings,
/// and needs a new approval. It ends the session's previous test sign-in. Only this administrator can complete it. The
/// application receives nothing, and the issued tokens are not valid.
#[utoipa::path(
    post,
    path = "/applications/{id}/test-sign-ins",
    responses((status = 201, description = "The test sign-in.", body = BegunView)),
)]
async fn begin(
    context: Context,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<BegunView>), Problem> {
    let application = id_of(&id, "application")?;
    let StartedTestSignIn {
        id,
        url,
        expires_at,
    } = context.run(StartTestSignIn(application)).await?;
    let begun = BegunView {
        id: id.to_string(),
        url,
        expires_at: moment_text(expires_at),
    };
    Ok((StatusCode::CREATED, Json(begun)))
}

/// A test sign-in.
#[derive(Serialize, ToSchema)]
#[schema(as = TestSignIn)]
struct TestSignInView {
    id: String,
    application_id: String,
    state: TestSignInState,
    #[schema(format = DateTime)]
    expires_at: String,
    /// The steps, in their order.
    steps: Vec<StepView>,
    /// The result, once the test sign-in is completed or failed.
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
    /// A short title.
    title: &'static str,
    /// Whether the step succeeded.
    succeeded: bool,
    /// The result, in a sentence.
    detail: String,
    /// Further data of the step; of the steps `claims` and `userinfo`, the plugin calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Value>,
}

/// The result of a test sign-in: the data that the application would have received.
#[derive(Serialize, Deserialize, Default, ToSchema)]
#[serde(default)]
struct TestSignInResult {
    /// `openid_connect` or `saml`; `null` if the sign-in ended before the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    protocol: Option<String>,
    /// The token response, with only the beginning of each token.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = std::collections::BTreeMap<String, Value>, required = false)]
    token_response: Option<Value>,
    /// The ID token.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    id_token: Option<DecodedToken>,
    /// The UserInfo response.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = std::collections::BTreeMap<String, Value>, required = false)]
    userinfo: Option<Value>,
    /// The XML of the response, without the values of its signatures.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    response: Option<String>,
    /// The status of the response, with its message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    status: Option<String>,
    /// The NameID of the assertion.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    name_id: Option<NameView>,
    /// The attributes of the assertion.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    attributes: Option<Vec<AttributeView>>,
    /// The error code.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<String>,
    /// The reason for the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error_description: Option<String>,
}

/// A decoded JWT, without its signature.
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

/// The query parameter of the wait for progress.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ProgressWaitQuery {
    /// The time to wait, in seconds; 25 at most. The response comes as soon as there is another step or a result, and
    /// at once if two requests of the session wait already.
    #[serde(default)]
    #[param(minimum = 0, maximum = 25)]
    wait: u64,
}

/// Read a test sign-in of this console session.
#[utoipa::path(
    get,
    path = "/test-sign-ins/{id}",
    params(ProgressWaitQuery),
    responses((status = 200, description = "The test sign-in.", body = TestSignInView))
)]
async fn read(
    State(services): State<Arc<Services>>,
    session: Option<Extension<ConsoleSession>>,
    Path(id): Path<String>,
    Query(ProgressWaitQuery { wait }): Query<ProgressWaitQuery>,
) -> Result<Json<TestSignInView>, Problem> {
    let id: TestSignInId = id_of(&id, "test sign-in")?;
    let Some(Extension(ConsoleSession { console, .. })) = session else {
        return Err(AdminError::NotFound("test sign-in").into());
    };
    let patience = std::time::Duration::from_secs(wait.min(LONGEST_WAIT));
    // After the wait the response has the current state. It has it at once if enough other requests of the session
    // wait.
    let waiting = services
        .rate_limits
        .test_sign_in_waits
        .hold(console.signed_in.session.id);
    let patience = waiting
        .as_ref()
        .map_or(std::time::Duration::ZERO, |_| patience);
    tokio::select! {
        biased;
        changed = test_sign_in::wait_for_change(&services, &console, id) => changed?,
        () = tokio::time::sleep(patience) => {}
        () = services.draining.interrupts() => {}
    }
    drop(waiting);
    let shown = test_sign_in::show(&services, &console, id)
        .await?
        .ok_or(AdminError::NotFound("test sign-in"))?;
    let step =
        |(name, at, note): (TestSignInStep, _, assent_model::test_sign_in::StepNote)| StepView {
            at: moment_text(at),
            name,
            title: name.title(),
            succeeded: note.succeeded,
            detail: note.detail,
            data: note.data,
        };
    Ok(Json(TestSignInView {
        id: id.to_string(),
        application_id: shown.test_sign_in.application.to_string(),
        state: shown.state,
        expires_at: moment_text(shown.test_sign_in.expires_at),
        steps: shown.steps.into_iter().map(step).collect(),
        result: shown
            .result
            .and_then(|result| serde_json::from_value(result).ok()),
    }))
}
