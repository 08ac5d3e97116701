//! The audit log.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{List, id_of, moment};
use crate::clock::Timestamp;
use crate::domain::{Broken, Host, audit};
use crate::http::problem::Problem;
use crate::model::audit::Event;
use crate::store::{AuditFilter, KeptEntry};

/// An entry as the API shows it.
#[derive(Serialize)]
pub(super) struct EntryView {
    seq: i64,
    id: String,
    at: String,
    event: &'static str,
    actor: ActorView,
    user_id: Option<String>,
    application_id: Option<String>,
    /// The approval on a phone that allowed it.
    approval_id: Option<String>,
    detail: Map<String, Value>,
    personal: Map<String, Value>,
    digest: String,
}

#[derive(Serialize)]
struct ActorView {
    kind: &'static str,
    id: Option<String>,
}

fn view(KeptEntry { seq, digest, entry }: KeptEntry) -> EntryView {
    EntryView {
        seq,
        id: entry.id.to_string(),
        at: moment(entry.at),
        event: entry.event.as_str(),
        actor: ActorView { kind: entry.actor.kind(), id: entry.actor.id() },
        user_id: entry.user.map(|id| id.to_string()),
        application_id: entry.application.map(|id| id.to_string()),
        approval_id: entry.approval.map(|id| id.to_string()),
        detail: entry.detail,
        personal: entry.personal,
        digest,
    }
}

/// Which entries are listed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AuditQuery {
    user: Option<String>,
    application: Option<String>,
    event: Option<String>,
    actor: Option<String>,
    since: Option<String>,
    until: Option<String>,
    after: Option<String>,
    limit: Option<u32>,
}

/// `GET /audit`: the latest first.
pub(super) async fn list(
    State(host): State<Arc<Host>>,
    query: Result<Query<AuditQuery>, QueryRejection>,
) -> Result<Json<List<EntryView>>, Problem> {
    let Query(query) = query.map_err(|_| {
        let detail = "the query may have `user`, `application`, `event`, `actor`, `since` and `until` (RFC 3339), \
                      `after` and `limit` (1 to 200)";
        Problem::new(StatusCode::BAD_REQUEST, detail)
    })?;
    let unfit = |detail: &str| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail);
    let limit = query.limit.unwrap_or(50);
    if !(1..=200).contains(&limit) {
        return Err(unfit("limit: expected 1 to 200"));
    }
    let event = |name: &str| {
        let known = || Event::ALL.iter().map(|event| event.as_str()).collect::<Vec<_>>().join(", ");
        Event::parse(name).ok_or_else(|| unfit(&format!("event: expected one of {}", known())))
    };
    let before = query.after.as_deref().map(str::parse).transpose();
    let before = before.map_err(|_| unfit("after: expected `next` of the page before"))?;
    let at = |name: &str, text: Option<&str>| {
        let expected = || unfit(&format!("{name}: expected a moment (2026-11-22T09:30:00Z) or a day (2026-11-22)"));
        text.map(|text| audit::moment(text).ok_or_else(expected)).transpose()
    };
    let filter = AuditFilter {
        user: query.user.as_deref().map(|id| id_of(id, "user")).transpose()?,
        application: query.application.as_deref().map(|id| id_of(id, "application")).transpose()?,
        event: query.event.as_deref().map(event).transpose()?,
        actor: query.actor,
        since: at("since", query.since.as_deref())?,
        until: at("until", query.until.as_deref())?,
    };
    let found = audit::list(&host, &filter, before, limit + 1).await?;
    Ok(Json(List::of(found, limit, |entry| entry.seq.to_string(), view)))
}

/// How many entries the API verifies: so many take no time that anybody notices. `assent audit verify` looks at all.
const VERIFIED: i64 = 10_000;

/// What a verification came to.
#[derive(Serialize)]
pub(super) struct VerificationView {
    good: bool,
    /// How many entries were found good, from where to where.
    entries: u64,
    first: Option<PlaceView>,
    last: Option<PlaceView>,
    /// The digest of the last one.
    digest: String,
    /// The first break.
    broken: Option<BreakView>,
}

#[derive(Serialize)]
struct PlaceView {
    seq: i64,
    at: String,
}

#[derive(Serialize)]
struct BreakView {
    kind: &'static str,
    seq: Option<i64>,
    message: String,
}

/// `GET /audit/verification`: whether the last entries are as they were written.
pub(super) async fn verification(State(host): State<Arc<Host>>) -> Result<Json<VerificationView>, Problem> {
    let verdict = audit::verify(&host.store, Some(VERIFIED)).await.map_err(Broken::from)?;
    let place = |place: Option<(i64, Timestamp)>| place.map(|(seq, at)| PlaceView { seq, at: moment(at) });
    let broken =
        verdict.broken.map(|broken| BreakView { kind: broken.kind(), seq: broken.seq(), message: broken.to_string() });
    Ok(Json(VerificationView {
        good: broken.is_none(),
        entries: verdict.checked.entries,
        first: place(verdict.checked.first),
        last: place(verdict.checked.last),
        digest: verdict.last.digest.to_text(),
        broken,
    }))
}
