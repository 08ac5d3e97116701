//! Claims: what an application would be told, and why it was told what it was.

use std::sync::Arc;

use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::context::Context;
use super::input::{Body, Limit, List, Query, after};
use super::routes::Area;
use crate::domain::admin::{
    self, AdminError, Caller, Comparison, Deed, Difference, Origin, Preview, PreviewRequest,
    PreviewedName, PreviewedToken, Stopped, Told, TryCandidate,
};
use crate::domain::claims::token_claims::{AtSignIn, OfToken};
use crate::domain::claims::traces;
use crate::domain::claims::traces::{Explained, ExplainedAttribute, Outcome, ShownTrace};
use crate::domain::operations::rate_limits::CallerKey;
use crate::domain::sign_in::access::Obstacle;
use crate::domain::{Host, InternalError};
use crate::http::admin_api::values::{id_of, moment};
use crate::http::problem::{Problem, ProblemKind};
use assent_model::administration::{Permission, ProtectedActionKind};
use assent_model::id::{AccountId, Did};
use assent_model::name::Quoted;
use assent_model::scope::Scope;
use assent_plugin_host::{Candidate, LogLine, Sink};

/// The largest component of a candidate, in bytes.
const LARGEST_COMPONENT: usize = 8 << 20;

pub(super) fn routes() -> Area {
    Area::new()
        .noun("claims", "The claims that applications receive.")
        .noun(
            "claim-traces",
            "Which plugin made which claim of an issued token or assertion.",
        )
        .route("claims.preview", Permission::ClaimsRead, routes!(preview))
        .protected(
            "claims.compare",
            Permission::PluginsWrite,
            ProtectedActionKind::TryComponent,
            routes!(compare),
        )
        .route("claim-traces.list", Permission::ClaimsRead, routes!(list))
        .route("claim-traces.show", Permission::ClaimsRead, routes!(read))
}

/// What is to be previewed.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(
    dead_code,
    reason = "it describes the query, which is read by hand: `sink` may come several times"
)]
struct PreviewQuery {
    /// Whose claims.
    account: String,
    /// The scopes, one space between them; all that the application may ask for without it.
    scope: Option<String>,
    /// Where the claims would go, once for each place; every place of the application's protocol without it.
    #[param(inline)]
    sink: Option<Vec<Sink>>,
}

/// Reads the query. What is unknown or repeated is an error, but for `sink`.
fn read_query(query: &str) -> Result<PreviewRequest, Problem> {
    let malformed = |detail: String| Problem::of(ProblemKind::Malformed, detail);
    let (mut account, mut scope, mut sinks) = (None, None, Vec::new());
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let value = value.into_owned();
        let twice = match name.as_ref() {
            "account" => account.replace(value).is_some(),
            "scope" => scope.replace(value).is_some(),
            "sink" => {
                let known = Sink::ALL.into_iter().find(|sink| sink.as_str() == value);
                sinks.push(known.ok_or_else(|| {
                    malformed(format!(
                        "sink: expected one of {}",
                        Sink::ALL.map(Sink::as_str).join(", ")
                    ))
                })?);
                false
            }
            _ => {
                return Err(malformed(format!(
                    "the query has the unknown parameter {}",
                    Quoted::new(&name)
                )));
            }
        };
        if twice {
            return Err(malformed(format!("the parameter {name} comes twice")));
        }
    }
    let account =
        account.ok_or_else(|| malformed("the parameter account is missing".to_owned()))?;
    Ok(PreviewRequest {
        account: id_of(&account, "account")?,
        scope,
        sinks,
    })
}

/// What an application would be told of a person.
#[derive(Serialize, ToSchema)]
#[schema(as = ClaimsPreview)]
struct PreviewView {
    /// The application.
    application: String,
    /// The account.
    account: String,
    /// The places that it would be told in.
    sinks: Vec<SinkView>,
}

/// What it would be told in one place: `claims` or `attributes`, but where a plugin keeps it from being told; and in `stopped` why
/// nobody would be signed in.
#[derive(Serialize, ToSchema)]
#[schema(as = SinkPreview)]
struct SinkView {
    sink: Sink,
    /// The scopes that count, one space between them.
    scope: String,
    /// What an ID token says of itself and of the sign-in, beside `claims`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    token: Option<TokenView>,
    /// What an assertion calls the person, in the format that a request gets which asks for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    name_id: Option<NameView>,
    /// Claims, without those of a token itself, such as `exp`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    claims: Option<Map<String, Value>>,
    /// Attributes of the assertion.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    attributes: Option<Vec<ExplainedAttribute>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    stopped: Option<StoppedView>,
    /// Where each value comes from; those that a plugin removed too.
    origins: Vec<OriginView>,
    /// What each plugin did, in their order.
    steps: Vec<Explained>,
}

/// What an ID token says of itself and of the sign-in.
#[derive(Serialize, ToSchema)]
#[schema(as = TokenPreview)]
struct TokenView {
    /// The issuer.
    iss: String,
    /// The application.
    aud: String,
    /// The claims that the sign-in adds; `nonce` only where the request has one.
    at_sign_in: Vec<AtSignIn>,
    /// Whether the application has `slim_id_token`: the claims of the scopes are at UserInfo alone then.
    slim_id_token: bool,
}

/// What an assertion calls a person.
#[derive(Serialize, ToSchema)]
#[schema(as = NameIdPreview)]
struct NameView {
    /// The URI of the format.
    format: &'static str,
    /// The text; `null` for a transient one, which each session has of its own.
    value: Option<String>,
}

/// Why nobody would be signed in.
#[derive(Serialize, ToSchema)]
#[schema(as = StoppedPreview)]
struct StoppedView {
    /// The plugin that keeps the application from being told; `null` for the host itself, which comes first. It shows all the same
    /// what would be told once that is mended.
    plugin: Option<String>,
    outcome: Outcome,
    /// Why; of the host with what to do.
    reason: String,
}

/// Where a value comes from.
#[derive(Serialize, ToSchema)]
#[schema(as = ValueOrigin)]
struct OriginView {
    /// The claim, or the attribute's name.
    name: String,
    /// The plugin that had the last word; `null` for the host itself.
    plugin: Option<String>,
    what: DeedView,
    /// The scope that stands for the claim, for which the host tells it.
    scope: Option<Scope>,
}

/// What was done to a value.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ValueDeed)]
enum DeedView {
    /// The host told it.
    Told,
    /// A plugin added it.
    Added,
    /// A plugin put it in the place of another value.
    Overwrote,
    /// A plugin removed it.
    Removed,
}

fn view(application: &Did, account: AccountId, previews: Vec<Preview>) -> PreviewView {
    let sinks = previews.into_iter().map(sink_view).collect();
    PreviewView {
        application: application.to_string(),
        account: account.to_string(),
        sinks,
    }
}

fn sink_view(preview: Preview) -> SinkView {
    let Preview {
        sink,
        scopes,
        obstacle,
        token,
        name_id,
        told,
        origins,
        steps,
    } = preview;
    let (claims, attributes, by_plugin) = match told {
        Ok(Told::Claims(claims)) => (Some(claims), None, None),
        Ok(Told::Attributes(attributes)) => (
            None,
            Some(attributes.iter().map(traces::explain_attribute).collect()),
            None,
        ),
        Err(Stopped {
            plugin,
            denied,
            reason,
        }) => {
            let outcome = if denied {
                Outcome::Denied
            } else {
                Outcome::Failed
            };
            (
                None,
                None,
                Some(StoppedView {
                    plugin: Some(plugin),
                    outcome,
                    reason,
                }),
            )
        }
    };
    let stopped = obstacle.map(by_host).or(by_plugin);
    let origin = |Origin {
                      name,
                      plugin,
                      what,
                      scope,
                  }| OriginView {
        name,
        plugin,
        what: match what {
            Deed::Told => DeedView::Told,
            Deed::Added => DeedView::Added,
            Deed::Overwrote => DeedView::Overwrote,
            Deed::Removed => DeedView::Removed,
        },
        scope,
    };
    let origins = origins.into_iter().map(origin).collect();
    SinkView {
        sink,
        scope: scopes.to_string(),
        token: token.map(token_view),
        name_id: name_id.map(|PreviewedName { format, value }| NameView {
            format: format.uri(),
            value,
        }),
        claims,
        attributes,
        stopped,
        origins,
        steps: traces::explain(&steps),
    }
}

fn token_view(
    PreviewedToken {
        known: OfToken { iss, aud },
        slim,
    }: PreviewedToken,
) -> TokenView {
    TokenView {
        iss,
        aud: aud.to_string(),
        at_sign_in: AtSignIn::ALL.to_vec(),
        slim_id_token: slim,
    }
}

fn by_host(obstacle: Obstacle) -> StoppedView {
    let outcome = if obstacle.is_decision() {
        Outcome::Denied
    } else {
        Outcome::Failed
    };
    StoppedView {
        plugin: None,
        outcome,
        reason: obstacle.words().to_owned(),
    }
}

/// Preview what an application would be told of a person.
///
/// Made as a sign-in at this moment would, without one, by the same code.
#[utoipa::path(get, path = "/applications/{id}/claims-preview", params(PreviewQuery), responses((status = 200, description = "What it would be told, in each place.", body = PreviewView)))]
async fn preview(
    State(host): State<Arc<Host>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Json<PreviewView>, Problem> {
    let request = read_query(&query.unwrap_or_default())?;
    let application: Did = id_of(&id, "application")?;
    let held = host
        .rate_limits
        .previews
        .hold(CallerKey::from(&caller.by.actor));
    let _held = held.ok_or_else(|| {
        Problem::of(
            ProblemKind::TooMany,
            "you make too many previews at this moment; try again when one is done",
        )
    })?;
    let previews = admin::preview(&host, &application, &request).await?;
    Ok(Json(view(&application, request.account, previews)))
}

/// What is to be compared.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CandidatePreview {
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
    /// The claim mapper in whose place it runs. With a name that none has, it runs after the others, and may write the claims
    /// that its description names one by one, where no other plugin does.
    #[schema(pattern = "^[a-z0-9-]{1,64}$")]
    plugin: String,
    /// The component, in base64, of 8 MiB at most. That of the plugin without it.
    #[schema(nullable = false)]
    component: Option<String>,
    /// Its settings. Those of the plugin without it, where the component is the one that is loaded; another one needs its own.
    #[schema(nullable = false)]
    config: Option<Map<String, Value>>,
}

/// What changes with a candidate.
#[derive(Serialize, ToSchema)]
#[schema(as = ClaimsComparison)]
struct ComparisonView {
    /// By the plugins of today.
    today: PreviewView,
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
    /// The value's place in the preview of its sink: a JSON pointer (RFC 6901), as `/claims/email` or `/attributes/role`;
    /// `/stopped` where a plugin keeps the application from being told.
    path: String,
    /// Its value today, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    today: Option<Value>,
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
/// The candidate is compiled, checks its settings, and runs in the sandbox of every plugin, with the grants of the plugin that
/// it replaces. Nothing of it is kept, and nothing changes. It needs the permission claims:read too. A host tries one
/// candidate at a time.
///
/// In the console, a component that is not loaded needs an approval on the phone, once for each plugin name, component and
/// session. A service account can't upload any.
#[utoipa::path(post, path = "/applications/{id}/claims-preview", request_body = CandidatePreview, responses((status = 200, description = "Both, and what differs.", body = ComparisonView)))]
async fn compare(
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
        today,
        candidate,
        differences,
        log,
    } = context.run(command).await?;
    let difference = |Difference {
                          sink,
                          path,
                          today,
                          candidate,
                      }| DifferenceView {
        sink,
        path,
        today,
        candidate,
    };
    Ok(Json(ComparisonView {
        today: view(&application, account, today),
        candidate: view(&application, account, candidate),
        differences: differences.into_iter().map(difference).collect(),
        log: log
            .into_iter()
            .map(|LogLine { level, message }| LogLineView { level, message })
            .collect(),
    }))
}

/// Which traces are listed.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct TracesQuery {
    /// About whom.
    user: String,
    /// For this application alone.
    application: Option<String>,
    /// Where the page begins: `next` of the page before.
    after: Option<String>,
    /// How many items the page has at most.
    #[serde(default)]
    #[param(value_type = u32, minimum = 1, maximum = 200, default = 50, required = false)]
    limit: Limit,
}

/// List what the plugins did for tokens about a person, the latest first.
#[utoipa::path(get, path = "/claim-traces", params(TracesQuery), responses((status = 200, description = "A page of traces.", body = List<ShownTrace>)))]
async fn list(
    State(host): State<Arc<Host>>,
    Query(query): Query<TracesQuery>,
) -> Result<Json<List<ShownTrace>>, Problem> {
    let application: Option<Did> = query
        .application
        .as_deref()
        .map(|id| id_of(id, "application"))
        .transpose()?;
    let before = after(query.after.as_deref())?;
    let user = id_of(&query.user, "user")?;
    let found = host
        .store
        .traces(user, application.as_ref(), before, query.limit.and_one())
        .await
        .map_err(InternalError::from)?;
    Ok(Json(List::of(
        found,
        query.limit.get(),
        |trace| trace.id.to_string(),
        |trace| traces::show(&trace, moment),
    )))
}

/// Read what the plugins did for a token.
#[utoipa::path(get, path = "/claim-traces/{token}", responses((status = 200, description = "The trace.", body = ShownTrace)))]
async fn read(
    State(host): State<Arc<Host>>,
    Path(token): Path<String>,
) -> Result<Json<ShownTrace>, Problem> {
    let found = host
        .store
        .trace(&traces::reference_of(&token))
        .await
        .map_err(InternalError::from)?;
    let Some(trace) = found else {
        let retention = host.settings.plugins.trace_retention;
        let detail = format!(
            "nothing is kept about this token: no plugin served it, or it is older than {retention}"
        );
        return Err(Problem::new(StatusCode::NOT_FOUND, detail));
    };
    Ok(Json(traces::show(&trace, moment)))
}
