//! The audit log.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::actor_view::{ActorView, actor_view};
use super::input::{List, id_of};
use super::routes::Area;
use crate::domain::admin::{Caller, Names};
use crate::domain::audit::moment_text;
use crate::domain::protected_actions::outline_of;
use crate::domain::{InternalError, Services, audit, browser_words};
use crate::http::problem::Problem;
use crate::http::texts::PageLanguage;
use assent_model::administration::Permission;
use assent_model::audit::chain::Place;
use assent_model::audit::{Actor, Entry, Event};
use assent_model::language::Language;
use assent_store::{AuditFilter, StoredEntry};

pub(super) fn routes() -> Area {
    Area::new()
        .noun("audit", "The audit log.")
        .route("list", Permission::AuditRead, routes!(list))
        .noun("audit.events", "The names of the events in the audit log.")
        .route("list", Permission::AuditRead, routes!(events))
        .noun(
            "audit.verification",
            "The verification of the hash chain of the audit log.",
        )
        .route("show", Permission::AuditRead, routes!(verification))
}

/// An entry of the audit log.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditEntry)]
pub(super) struct EntryView {
    /// The lane of the log: 1, 2, ... Each lane is a hash chain.
    lane: i64,
    /// The position in the lane: 1, 2, ...
    seq: i64,
    id: String,
    at: String,
    event: &'static str,
    actor: ActorView,
    user_id: Option<String>,
    /// The current name of the user.
    user_name: Option<String>,
    application_id: Option<String>,
    /// The current name of the application.
    application_name: Option<String>,
    /// The approval that permitted the action.
    approval_id: Option<String>,
    /// The current name of the user in `detail.target_user`: the target of a protected action.
    target_user_name: Option<String>,
    /// The current name of the application in `detail.target_application`.
    target_application_name: Option<String>,
    /// Further details, without personal data.
    #[schema(value_type = Object)]
    detail: Map<String, Value>,
    /// Personal data. Empty after its erasure.
    #[schema(value_type = Object)]
    personal: Map<String, Value>,
    /// The place of the IP address by GeoIP, such as `Linköping, Sweden`, in the language of the request; `null` if it
    /// is unknown. It is not part of the stored entry.
    place: Option<String>,
    /// The browser, such as `Firefox on Linux`, in the language of the request; `null` if there was none, or after the
    /// erasure. It is not part of the stored entry.
    browser: Option<String>,
    /// The SHA-256 digest of this entry and all previous ones of the lane, in hexadecimal.
    digest: String,
}

/// Returns the views of entries, with the current names of users and applications.
///
/// A protected action of an administrator can concern an application that is unrelated to the user. So a reader of a
/// user's activity sees the application's name only with a permission to read applications or the audit log.
pub(super) async fn views(
    services: &Services,
    caller: &Caller,
    found: Vec<StoredEntry>,
    language: Language,
) -> Result<Vec<EntryView>, Problem> {
    let sees_targets =
        caller.may(Permission::ApplicationsRead) || caller.may(Permission::AuditRead);
    let users = found.iter().flat_map(|stored| {
        let actor = if let Actor::User(id) = stored.entry.actor {
            Some(id)
        } else {
            None
        };
        let target = outline_of(&stored.entry).and_then(|outline| outline.target_user);
        actor.into_iter().chain(stored.entry.user).chain(target)
    });
    let applications = found.iter().flat_map(|stored| {
        let actor = if let Actor::Application(id) = &stored.entry.actor {
            Some(id)
        } else {
            None
        };
        let target = outline_of(&stored.entry).and_then(|outline| outline.target_application);
        let own = actor.into_iter().chain(&stored.entry.application).cloned();
        own.chain(target)
    });
    let names = Names::read(services, users.collect(), applications.collect()).await?;
    let shown = found.into_iter().map(|found| {
        let origin = OriginTexts {
            place: place_of(services, &found.entry, language),
            browser: browser_of(&found.entry, language),
        };
        view(found, origin, &names, sees_targets)
    });
    Ok(shown.collect())
}

/// The location of an entry's IP address. Folded entries have the address of a network, whose location is not looked
/// up.
fn place_of(services: &Services, entry: &Entry, language: Language) -> Option<String> {
    let address = entry.personal.get("ip_address")?.as_str()?;
    services
        .geoip
        .place_of(address.parse().ok()?, language.tag())
}

/// The browser of an entry, which is stored in English.
fn browser_of(entry: &Entry, language: Language) -> Option<String> {
    let browser = entry.personal.get("browser")?.as_str()?;
    Some(browser_words::stored_browser(browser).plain(language))
}

/// The origin of a request, in the language of the reader.
struct OriginTexts {
    place: Option<String>,
    browser: Option<String>,
}

fn view(
    StoredEntry {
        lane,
        seq,
        digest,
        entry,
    }: StoredEntry,
    OriginTexts { place, browser }: OriginTexts,
    names: &Names,
    sees_targets: bool,
) -> EntryView {
    let outline = outline_of(&entry);
    let outline = outline.as_ref();
    EntryView {
        lane,
        seq,
        id: entry.id.to_string(),
        at: moment_text(entry.at),
        event: entry.event.as_str(),
        actor: actor_view(&entry.actor, names),
        user_name: entry.user.and_then(|id| names.user(id)),
        application_name: entry
            .application
            .as_ref()
            .and_then(|id| names.application(id)),
        user_id: entry.user.map(|id| id.to_string()),
        application_id: entry.application.map(|id| id.to_string()),
        approval_id: entry.approval.map(|id| id.to_string()),
        target_user_name: outline
            .and_then(|outline| outline.target_user)
            .and_then(|id| names.user(id)),
        target_application_name: outline
            .and_then(|outline| outline.target_application.as_ref())
            .filter(|_| sees_targets)
            .and_then(|id| names.application(id)),
        detail: entry.detail,
        personal: entry.personal,
        place,
        browser,
        digest,
    }
}

/// The filters of the audit log.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct AuditQuery {
    user: Option<String>,
    application: Option<String>,
    event: Option<String>,
    /// Only entries of the actor with this id.
    actor: Option<String>,
    /// Only entries from this time or day on (RFC 3339).
    since: Option<String>,
    /// Only entries before this time or day (RFC 3339).
    until: Option<String>,
    /// Only entries about protected actions, or only others. Requests for actions have the events of sign-ins.
    #[param(inline)]
    subject: Option<SubjectQuery>,
    after: Option<String>,
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// What entries are about.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = AuditSubject)]
enum SubjectQuery {
    /// Protected actions.
    Action,
    /// All others, such as sign-ins.
    Other,
}

/// List the audit log, the latest first.
///
/// With several filters or with `subject`, a page may have fewer items than `limit`, or none, together with `next`: a
/// filter rejected many entries.
#[utoipa::path(
    get,
    path = "/audit",
    params(AuditQuery),
    responses((status = 200, description = "A page of entries.", body = List<EntryView>)),
)]
async fn list(
    State(services): State<Arc<Services>>,
    Extension(caller): Extension<Caller>,
    PageLanguage(language): PageLanguage,
    query: Result<Query<AuditQuery>, QueryRejection>,
) -> Result<Json<List<EntryView>>, Problem> {
    let Query(query) = query.map_err(|_| {
        let detail = "the query may have `user`, `application`, `event`, `actor`, `since` and `until` (RFC 3339), \
                      `subject`, `after` and `limit` (1 to 200)";
        Problem::new(StatusCode::BAD_REQUEST, detail)
    })?;
    let unfit = |detail: &str| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, detail);
    let limit = query.limit.unwrap_or(50);
    if !(1..=200).contains(&limit) {
        return Err(unfit("limit: expected 1 to 200"));
    }
    let event = |name: &str| {
        let known = || Event::ALL.map(Event::as_str).join(", ");
        Event::parse(name).ok_or_else(|| unfit(&format!("event: expected one of {}", known())))
    };
    let before = query.after.as_deref().map(str::parse).transpose();
    let before = before.map_err(|_| unfit("after: expected `next` of the page before"))?;
    let at = |name: &str, text: Option<&str>| {
        let expected = || {
            unfit(&format!(
                "{name}: expected a moment (2026-11-22T09:30:00Z) or a day (2026-11-22)"
            ))
        };
        text.map(|text| audit::moment(text).ok_or_else(expected))
            .transpose()
    };
    let filter = AuditFilter {
        user: query
            .user
            .as_deref()
            .map(|id| id_of(id, "user"))
            .transpose()?,
        application: query
            .application
            .as_deref()
            .map(|id| id_of(id, "application"))
            .transpose()?,
        event: query.event.as_deref().map(event).transpose()?,
        actor: query.actor,
        since: at("since", query.since.as_deref())?,
        until: at("until", query.until.as_deref())?,
        action: query
            .subject
            .map(|subject| matches!(subject, SubjectQuery::Action)),
    };
    let page = audit::list(&services, &filter, before, limit).await?;
    let items = views(&services, &caller, page.entries, language).await?;
    Ok(Json(List {
        items,
        next: page.next.map(|seq| seq.to_string()),
    }))
}

/// List the names of the events.
#[utoipa::path(
    get,
    path = "/audit/events",
    responses((status = 200, description = "All of them.", body = List<String>))
)]
async fn events() -> Json<List<String>> {
    let mut names: Vec<String> = Event::ALL
        .iter()
        .map(|event| event.as_str().to_owned())
        .collect();
    names.sort();
    Json(List::whole(names))
}

/// The number of entries that the API verifies. So few entries cause no noticeable delay. `assent audit verify`
/// verifies all.
const VERIFIED: i64 = 10_000;

/// The result of a verification.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditVerification)]
pub(super) struct VerificationView {
    valid: bool,
    /// The number of verified entries.
    entries: u64,
    first: Option<PlaceView>,
    last: Option<PlaceView>,
    /// The SHA-256 digest of the last entries of all lanes, in hexadecimal.
    digest: String,
    /// The first break.
    broken: Option<BreakView>,
}

/// The position of an entry.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditPosition)]
struct PlaceView {
    lane: i64,
    seq: i64,
    at: String,
}

/// The first break of the hash chain.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditChainBreak)]
struct BreakView {
    kind: &'static str,
    /// The lane; `null` for the root of all lanes.
    lane: Option<i64>,
    seq: Option<i64>,
    message: String,
}

/// Verify the hash chain of the last 10,000 entries of the audit log.
#[utoipa::path(
    get,
    path = "/audit/verification",
    responses((status = 200, description = "The result.", body = VerificationView))
)]
async fn verification(
    State(services): State<Arc<Services>>,
) -> Result<Json<VerificationView>, Problem> {
    let verdict = audit::verify::verify(&services.store, Some(VERIFIED))
        .await
        .map_err(InternalError::from)?;
    let place = |place: Option<Place>| {
        place.map(|place| PlaceView {
            lane: place.lane,
            seq: place.seq,
            at: moment_text(place.at),
        })
    };
    let broken = verdict.broken.map(|broken| BreakView {
        kind: broken.what.kind(),
        lane: broken.lane,
        seq: broken.what.seq(),
        message: broken.to_string(),
    });
    Ok(Json(VerificationView {
        valid: broken.is_none(),
        entries: verdict.checked.entries,
        first: place(verdict.checked.first),
        last: place(verdict.checked.last),
        digest: verdict.heads.digest().to_text(),
        broken,
    }))
}
