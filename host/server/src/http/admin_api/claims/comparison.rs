//! A candidate plugin compared with the loaded ones.

use axum::Json;
use axum::extract::Path;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::domain::admin::{AdminError, Comparison, Difference, PreviewRequest, TryCandidate};
use crate::http::admin_api::claims::preview_view::{PreviewView, view};
use crate::http::admin_api::context::Context;
use crate::http::admin_api::input::Body;
use crate::http::admin_api::values::id_of;
use crate::http::problem::Problem;
use assent_model::id::Did;
use assent_plugin_host::{Candidate, LogLine, Sink};

/// The largest component of a candidate, in bytes.
const LARGEST_COMPONENT: usize = 8 << 20;

/// What is to be compared.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CandidatePreview {
    /// Whose claims.
    account: String,
    /// The scopes, one space between them; all that the application may ask for without it.
    #[schema(nullable = false)]
    scope: Option<String>,
    /// Where the claims would go; every place of the application's protocol without it.
    #[serde(default)]
    sinks: Vec<Sink>,
    candidate: CandidateInput,
}

/// A claim mapper as it might be. At least one of `component` and `config` is of use.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PluginCandidate)]
struct CandidateInput {
    /// The claim mapper in whose place it runs. With a name that none has, it runs after the others, and may write the
    /// claims that its description names one by one, where no other plugin does.
    #[schema(pattern = "^[a-z0-9-]{1,64}$")]
    plugin: String,
    /// The component, in base64, of 8 MiB at most. That of the plugin without it.
    #[schema(nullable = false)]
    component: Option<String>,
    /// Its settings. Those of the plugin without it, where the component is the one that is loaded; another one needs
    /// its own.
    #[schema(nullable = false)]
    config: Option<Map<String, Value>>,
}

/// What changes with a candidate.
#[derive(Serialize, ToSchema)]
#[schema(as = ClaimsComparison)]
pub(super) struct ComparisonView {
    /// By the plugins of current.
    current: PreviewView,
    /// With the candidate among them.
    candidate: PreviewView,
    /// What is not the same.
    differences: Vec<DifferenceView>,
    /// The candidate's log lines, 256 at most.
    log: Vec<LogLineView>,
}

/// A line that a plugin wrote to the log.
#[derive(Serialize, ToSchema)]
#[schema(as = PluginLogLine)]
struct LogLineView {
    /// `debug`, `info`, `warn` or `error`.
    level: &'static str,
    /// The text, of at most 1,024 bytes, without control characters.
    message: String,
}

/// A value that is not the same with a candidate.
#[derive(Serialize, ToSchema)]
#[schema(as = ClaimsDifference)]
struct DifferenceView {
    sink: Sink,
    /// The value's place in the preview of its sink: a JSON pointer (RFC 6901), as `/claims/email` or
    /// `/attributes/role`; `/stopped` where a plugin keeps the application from being told.
    path: String,
    /// Its value current, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<Value>,
    /// Its value with the candidate, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    candidate: Option<Value>,
}

/// The component of a candidate.
fn decoded(component: Option<String>) -> Result<Option<Vec<u8>>, Problem> {
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

/// Compare what an application would be told today with what a candidate plugin would have it told.
///
/// The candidate is compiled, checks its settings, and runs in the sandbox of every plugin, with the grants of the
/// plugin that it replaces. Nothing of it is kept, and nothing changes. It needs the permission claims:read too. A host
/// tries one candidate at a time.
///
/// In the console, a component that is not loaded needs an approval on the phone, once for each plugin name, component
/// and session. A service account can't upload any.
#[utoipa::path(
    post,
    path = "/applications/{id}/claims-preview",
    request_body = CandidatePreview,
    responses((status = 200, description = "Both, and what differs.", body = ComparisonView))
)]
pub(super) async fn compare(
    context: Context,
    Path(id): Path<String>,
    Body(body): Body<CandidatePreview>,
) -> Result<Json<ComparisonView>, Problem> {
    let application: Did = id_of(&id, "application")?;
    let CandidatePreview {
        account,
        scope,
        sinks,
        candidate,
    } = body;
    let account = id_of(&account, "account")?;
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
        component: decoded(component)?,
        config,
    };
    let command = TryCandidate {
        application: application.clone(),
        request,
        candidate,
    };
    let Comparison {
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
