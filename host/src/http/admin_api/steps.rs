//! Dangerous steps: in the console each is approved on the phone first. Whoever holds the machine's token or a service account's
//! has no phone, and needs none.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequestParts, Path, RawPathParams, Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::authorize::ConsoleSession;
use super::conditional::IfMatch;
use super::input::{self, Query};
use super::routes::{Area, Rule};
use super::transfers::{self, Foreseen};
use super::{applications, claims, id_of, moment, saml_metadata, users};
use crate::domain::Host;
use crate::domain::admin::steps::{self, Console, StepState};
use crate::domain::admin::{Caller, Refused};
use crate::http::problem::{Problem, ProblemKind, StepView};
use crate::id::LoginId;
use crate::model::administration::{Danger, Permission};
use crate::model::step::Words;
use crate::secret::Digest;

/// The header that names the step which was approved.
pub(super) const STEP: &str = "x-assent-step";
/// How long an answer waits at most, in seconds.
const LONGEST_WAIT: u64 = 25;

pub(super) fn routes() -> Area {
    Area::new("Steps").route(Permission::Me, routes!(read)).route(Permission::Me, routes!(give_up))
}

/// Lets a dangerous request of the console through only with an approval for it; without one, the phone is asked.
pub(super) async fn approved(
    State(host): State<Arc<Host>>,
    Extension(rule): Extension<Rule>,
    Extension(caller): Extension<Caller>,
    session: Option<Extension<ConsoleSession>>,
    path: RawPathParams,
    request: Request,
    next: Next,
) -> Response {
    let (Some(danger), Some(Extension(session))) = (rule.danger, session) else { return next.run(request).await };
    match checked(&host, danger, (&caller, &session.console), &path, request).await {
        Ok(request) => next.run(request).await,
        Err(answer) => answer,
    }
}

async fn checked(
    host: &Arc<Host>,
    danger: Danger,
    (caller, console): (&Caller, &Console),
    path: &RawPathParams,
    request: Request,
) -> Result<Request, Response> {
    let (mut parts, body) = request.into_parts();
    let whole = Request::from_parts(parts.clone(), body);
    let bytes = input::body(whole, &()).await.map_err(IntoResponse::into_response)?;
    let of_path = |name: &str| path.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
    let Ok(when) = IfMatch::from_request_parts(&mut parts, host).await;
    let mut component = None;
    let words = if danger == Danger::TryComponent {
        match claims::new_component(host, &bytes).map_err(problem)? {
            None => None,
            Some((plugin, digest)) => {
                let known = steps::may_try(host, console, (&plugin, &digest)).await;
                let known = known.map_err(|broken| problem(broken.into()))?;
                let words = steps::component_in_words(&plugin, &digest);
                component = Some((plugin, digest));
                (!known).then_some(words)
            }
        }
    } else if danger == Danger::ImportTable {
        let foreseen = transfers::foreseen(host, caller, &mut parts, of_path("id"), bytes.clone()).await;
        match foreseen.map_err(problem)? {
            Foreseen::Checked => None,
            Foreseen::Step(words) => Some(words),
            Foreseen::Nothing(answer) => return Err(*answer),
        }
    } else {
        // What can't be read is refused here: it must not pass for harmless, and be read another way further on.
        let members: Map<String, Value> = match &bytes[..] {
            [] => Map::new(),
            text => serde_json::from_slice(text).map_err(|_| problem(Problem::no_object()))?,
        };
        let part = ["kid", "key", "channel"].into_iter().find_map(of_path);
        let words = steps::in_words(host, caller, danger, (of_path("id"), part), &members).await;
        match (danger, words.map_err(|refused| problem(refused.into()))?) {
            (Danger::ApplyMetadata, Some(_)) => {
                saml_metadata::in_words(host, of_path("id"), &bytes).await.map_err(problem)?
            }
            (Danger::GiveAdminScopes | Danger::ChangeApplication, Some(words)) => {
                let foreseen = applications::foresee(host, caller, of_path("id"), &when, &bytes).await;
                let foreseen = foreseen.map_err(problem)?;
                Some(foreseen.map_or(words, |foreseen| steps::application_in_words(&foreseen, &members)))
            }
            (_, words) => words,
        }
    };
    let Some(words) = words else { return Ok(Request::from_parts(parts, Body::from(bytes))) };
    let address = parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    let digest = digest(parts.method.as_str(), &address, &bytes);
    let Some(named) = parts.headers.get(STEP) else {
        // Nobody approves in vain because of a value that was mistyped.
        if danger == Danger::ChangeUser {
            users::foresee(host, caller, of_path("id"), &when, &bytes).await.map_err(problem)?;
        }
        return Err(ask(host, console, danger, words, digest).await.into_response());
    };
    let id = named.to_str().ok().and_then(|id| id.parse::<LoginId>().ok());
    let approval = match id {
        Some(id) => {
            steps::claim(host, console, id, (&digest, &words.text)).await.map_err(|broken| problem(broken.into()))?
        }
        None => None,
    };
    let Some(approval) = approval else {
        let detail = "this step was not approved for this request, was taken before, or too long ago, or the request would do \
                      something else by now; send it without X-Assent-Step to be asked on your phone again";
        return Err(problem(Problem::of(ProblemKind::Forbidden, detail)));
    };
    if let Some((plugin, component)) = component {
        steps::let_try(host, console, (&plugin, &component)).await.map_err(|broken| problem(broken.into()))?;
    }
    let caller = Caller { by: caller.by.clone().with_approval(approval), standing: caller.standing.clone() };
    parts.extensions.insert(caller.by.clone());
    parts.extensions.insert(caller);
    Ok(Request::from_parts(parts, Body::from(bytes)))
}

fn problem(problem: Problem) -> Response {
    problem.into_response()
}

/// Asks the phone, and says so.
async fn ask(host: &Arc<Host>, console: &Console, danger: Danger, words: Words, request: String) -> Problem {
    let text = words.text.clone();
    match steps::ask(host, console, request, (danger, words)).await {
        Ok(Some(asked)) => Problem::approval_required(StepView {
            id: asked.id.to_string(),
            words: text,
            number: asked.number,
            expires_at: moment(asked.expires_at),
        }),
        Ok(None) => Refused::Forbidden(
            "your phone can't be asked: it was asked too often in the last minute, or the phone with which you signed in was \
             removed; wait a minute, or sign in again",
        )
        .into(),
        Err(broken) => broken.into(),
    }
}

/// The digest of a request: method, address with the query, and body, each with its length before it.
fn digest(method: &str, address: &str, body: &[u8]) -> String {
    let mut message = Vec::new();
    for part in [method.as_bytes(), address.as_bytes(), body] {
        message.extend_from_slice(&(part.len() as u64).to_be_bytes());
        message.extend_from_slice(part);
    }
    Digest::of(&message).to_text()
}

/// How a step stands.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum StateView {
    /// The phone was asked.
    Waiting,
    /// The request may be sent again, once, with the header `X-Assent-Step`, within two minutes.
    Approved,
    /// The person denied it.
    Denied,
    /// Nobody approved in time, or it was taken.
    Over,
}

/// A step in the console.
#[derive(Serialize, ToSchema)]
#[schema(as = StepStanding)]
struct Standing {
    state: StateView,
}

/// How long to wait for a decision.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Wait {
    /// In seconds, 25 at most.
    #[serde(default)]
    #[param(minimum = 0, maximum = 25)]
    wait: u64,
}

/// Read how a dangerous step stands, which the phone was asked about.
#[utoipa::path(get, path = "/steps/{id}", params(Wait), responses((status = 200, description = "How it stands.", body = Standing)))]
async fn read(
    State(host): State<Arc<Host>>,
    session: Option<Extension<ConsoleSession>>,
    Path(id): Path<String>,
    Query(Wait { wait }): Query<Wait>,
) -> Result<Json<Standing>, Problem> {
    let id: LoginId = id_of(&id, "step")?;
    let Some(Extension(ConsoleSession { console, .. })) = session else { return Err(Refused::NotFound("step").into()) };
    let patience = std::time::Duration::from_secs(wait.min(LONGEST_WAIT));
    // Whoever is still waiting then is told so.
    if let Ok(decided) = tokio::time::timeout(patience, steps::decided(&host, &console, id)).await {
        decided?;
    }
    let state = steps::state(&host, &console, id).await?.ok_or(Refused::NotFound("step"))?;
    Ok(Json(Standing {
        state: match state {
            StepState::Waiting => StateView::Waiting,
            StepState::Approved => StateView::Approved,
            StepState::Denied => StateView::Denied,
            StepState::Over => StateView::Over,
        },
    }))
}

/// Give up a step that was asked about in this session of the console.
///
/// The phone does not ask any longer.
#[utoipa::path(delete, path = "/steps/{id}", responses((status = 204, description = "Given up, if it was not decided yet.")))]
async fn give_up(
    State(host): State<Arc<Host>>,
    session: Option<Extension<ConsoleSession>>,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let id: LoginId = id_of(&id, "step")?;
    let Some(Extension(ConsoleSession { console, .. })) = session else { return Err(Refused::NotFound("step").into()) };
    if !steps::give_up(&host, &console, id).await? {
        return Err(Refused::NotFound("step").into());
    }
    Ok(StatusCode::NO_CONTENT)
}
