//! A comparison of a candidate plugin with the loaded ones.

use axum::Json;
use axum::extract::Path;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::domain::admin::{
    AdminError, Difference, PreviewComparison, PreviewRequest, PreviewedAccount, TryCandidate,
};
use crate::http::admin_api::claims::preview_view::{PreviewView, view};
use crate::http::admin_api::context::Context;
use crate::http::admin_api::input::{Body, id_of};
use crate::http::problem::{Problem, ProblemKind};
use assent_model::id::Did;
use assent_plugin_host::{Candidate, LogLine, Sink};

/// The maximum size of a candidate's component, in bytes.
const LARGEST_COMPONENT: usize = 8 << 20;

/// A comparison with a candidate plugin.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CandidatePreview {
    /// The account. Either this or `user` is present.
    #[schema(nullable = false)]
    account: Option<String>,
    /// The user. The comparison uses the account that a sign-in of the user would use, even if an assignment implies
    /// it and it is not stored yet.
    #[schema(nullable = false)]
    user: Option<String>,
    /// The scopes, separated by spaces; by default all scopes that the application may request.
    #[schema(nullable = false)]
    scope: Option<String>,
    /// The sinks; by default all sinks of the application's protocol.
    #[serde(default)]
    sinks: Vec<Sink>,
    candidate: CandidateInput,
}

/// A candidate for a claim mapper. At least one of `component` and `config` is present.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PluginCandidate)]
struct CandidateInput {
    /// The claim mapper that it replaces. Under a new name it runs after the others, and may write the claims that its
    /// description lists one by one and that no other plugin writes.
    #[schema(pattern = "^[a-z0-9-]{1,64}$")]
    plugin: String,
    /// The component, in base64; 8 MiB at most. By default the component of the plugin.
    #[schema(nullable = false)]
    component: Option<String>,
    /// Its settings. By default those of the plugin, if the component is the loaded one; another component needs
    /// its own.
    #[schema(nullable = false)]
    config: Option<Map<String, Value>>,
}

/// The differences that a candidate plugin makes.
#[derive(Serialize, ToSchema)]
#[schema(as = ClaimsComparison)]
pub(super) struct ComparisonView {
    /// The claims of the loaded plugins.
    current: PreviewView,
    /// The claims with the candidate.
    candidate: PreviewView,
    /// The differences.
    differences: Vec<DifferenceView>,
    /// The candidate's log lines, 256 at most.
    log: Vec<LogLineView>,
}

/// A log line of a plugin.
#[derive(Serialize, ToSchema)]
#[schema(as = PluginLogLine)]
struct LogLineView {
    /// `debug`, `info`, `warn` or `error`.
    level: &'static str,
    /// The text, of at most 1,024 bytes, without control characters.
    message: String,
}

/// A value that differs with the candidate.
#[derive(Serialize, ToSchema)]
#[schema(as = ClaimsDifference)]
struct DifferenceView {
    sink: Sink,
    /// The position in the preview of the sink, as a JSON pointer (RFC 6901), such as `/claims/email` or
    /// `/attributes/role`; `/stopped` if a plugin prevents the sign-in.
    path: String,
    /// The current value, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<Value>,
    /// The value with the candidate, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    candidate: Option<Value>,
}

fn decode_component(component: Option<String>) -> Result<Option<Vec<u8>>, Problem> {
    let component = component.map(|text| STANDARD.decode(text)).transpose();
    let component = component.ok().filter(|bytes| {
        bytes
            .as_ref()
            .is_none_or(|bytes| bytes.len() <= LARGEST_COMPONENT)
    });
    component.ok_or_else(|| {
        let expected = "expected a component in base64, of 8 MiB at most".to_owned();
        AdminError::Invalid {
            field: "component",
            expected,
        }
        .into()
    })
}

/// Compare the claims of the loaded plugins with those of a candidate plugin.
///
/// The candidate is compiled, checks its settings, and runs in the sandbox of every plugin, with the grants of the
/// plugin that it replaces. The server stores nothing of it. The request also needs the permission `claims:read`. An
/// instance tests one candidate at a time.
///
/// In the console, a component that is not loaded needs an action approval, once for each plugin name, component and
/// session. A service account cannot upload a component.
#[utoipa::path(
    post,
    path = "/applications/{id}/claims-preview",
    request_body = CandidatePreview,
    responses((status = 200, description = "Both results, and the differences.", body = ComparisonView)),
)]
pub(super) async fn compare(
    context: Context,
    Path(id): Path<String>,
    Body(body): Body<CandidatePreview>,
) -> Result<Json<ComparisonView>, Problem> {
    let application: Did = id_of(&id, "application")?;
    let CandidatePreview {
        account,
        user,
        scope,
        sinks,
        candidate,
    } = body;
    let account = previewed_account(account.as_deref(), user.as_deref())?;
    let request = PreviewRequest {
        account,
        scope,
        sinks,
    };
    let CandidateInput {
        plugin,
        component,
        config,
    } = candidate;
    let candidate = Candidate {
        plugin,
        component: decode_component(component)?,
        config,
    };
    let command = TryCandidate {
        application: application.clone(),
        request,
        candidate,
    };
    let PreviewComparison {
        current,
        candidate,
        differences,
        log,
    } = context.run(command).await?;
    let difference = |Difference {
                          sink,
                          path,
                          current,
                          candidate,
                      }| DifferenceView {
        sink,
        path,
        current,
        candidate,
    };
    Ok(Json(ComparisonView {
        current: view(&application, account, current),
        candidate: view(&application, account, candidate),
        differences: differences.into_iter().map(difference).collect(),
        log: log
            .into_iter()
            .map(|LogLine { level, message }| LogLineView { level, message })
            .collect(),
    }))
}

/// Returns the account that a request names by its id or by its user.
pub(super) fn previewed_account(
    account: Option<&str>,
    user: Option<&str>,
) -> Result<PreviewedAccount, Problem> {
    match (account, user) {
        (Some(account), None) => Ok(PreviewedAccount::Stored(id_of(account, "account")?)),
        (None, Some(user)) => Ok(PreviewedAccount::OfUser(id_of(user, "user")?)),
        _ => Err(Problem::with_kind(
            ProblemKind::Malformed,
            "name either the account or the user",
        )),
    }
}
