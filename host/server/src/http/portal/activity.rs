//! The recent activity of the user.

use std::collections::HashMap;

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::response::Response;
use serde::Deserialize;

use super::activity_kind::ActivityKind;
use super::activity_rows::folded_rows;
use super::pages::{ActivityPage, ActivityRow, Tab};
use super::tone::Tone;
use super::words::{PageTime, activity_message, actor_message, browser_of, origin_for, place_of};
use crate::domain::protected_actions::{PastAction, TargetNames};
use crate::domain::{InternalError, audit};
use crate::http::page_error::PageError;
use crate::http::portal::owner::Owner;
use crate::http::reply::page;
use crate::messages::Message;
use assent_model::audit::{Entry, Event};
use assent_model::id::{AuditId, DeviceId, Did};
use assent_store::StoredEntry;

/// The number of entries on a page.
const ROWS: u32 = 30;
/// The number of entries that a page of one kind searches, which bounds the cost of a rare kind.
const SEARCHED: u32 = 300;

/// The names that the entries lack.
struct Names {
    /// The names of the applications; `None` for a deleted one.
    applications: HashMap<Did, Option<String>>,
    /// The names of the user's current devices.
    devices: HashMap<DeviceId, String>,
}

/// The query that selects a page of the list.
#[derive(Debug, Default, Deserialize)]
pub(super) struct From {
    /// The id of the last entry of the previous page.
    #[serde(default)]
    before: String,
    /// The kind of the entries.
    #[serde(default)]
    kind: String,
}

/// `GET /activity`
pub(super) async fn list(
    owner: Owner,
    from: Result<Query<From>, QueryRejection>,
) -> Result<Response, PageError> {
    let from = from.map(|Query(from)| from).unwrap_or_default();
    // An id of another form selects the first page.
    let before = from.before.parse().ok();
    Ok(page(
        &activity_page(&owner, ActivityKind::from_name(&from.kind), before).await?,
        None,
    ))
}

/// Returns the names of the user's devices.
async fn device_names(owner: &Owner) -> Result<HashMap<DeviceId, String>, InternalError> {
    let user = owner.signed_in.user.id;
    let devices = owner.services.store.devices_of(user).await?;
    Ok(devices
        .into_iter()
        .map(|device| (device.id, device.name))
        .collect())
}

async fn activity_page(
    owner: &Owner,
    kind: ActivityKind,
    before: Option<AuditId>,
) -> Result<ActivityPage, InternalError> {
    let (services, user) = (&owner.services, &owner.signed_in.user);
    let searched = if kind.is_all() { ROWS } else { SEARCHED };
    let found = audit::of_user(services, user.id, before, searched + 1).await?;
    let (entries, next) = page_of(found, searched as usize, kind);
    let older = next.map(|last| kind.address(Some(last)));
    let mut names = Names {
        applications: HashMap::new(),
        devices: device_names(owner).await?,
    };
    let mut targets = TargetNames::for_viewer(Some(user));
    let mut rows = Vec::with_capacity(entries.len());
    for entry in entries {
        if let Some(id) = entry
            .application
            .clone()
            .filter(|id| !names.applications.contains_key(id))
        {
            let found = services.store.registered(&id).await?;
            let name = found.map(|application| application.name().to_owned());
            names.applications.insert(id, name);
        }
        let action = targets.action_of(&services.store, &entry).await?;
        let row = row(owner, &entry, action.as_ref(), &names);
        rows.push((entry, row));
    }
    Ok(ActivityPage {
        layout: owner.layout(),
        frame: owner.frame(Tab::Activity)?,
        rows: folded_rows(rows),
        older,
        first: before.is_none(),
        kind,
    })
}

/// Selects the entries of a page from the found ones, of which there is one more than the number to search. Also
/// returns the id of the entry before which the next page begins, if there is one. A page of one kind may be short or
/// empty and still have a next page.
fn page_of(
    mut found: Vec<StoredEntry>,
    searched: usize,
    kind: ActivityKind,
) -> (Vec<StoredEntry>, Option<AuditId>) {
    let has_more = found.len() > searched;
    found.truncate(searched);
    let last_searched = found.last().map(|last| last.id).filter(|_| has_more);
    found.retain(|entry| kind.includes(entry));
    let is_full = found.len() > ROWS as usize;
    found.truncate(ROWS as usize);
    let last_shown = found.last().map(|last| last.id).filter(|_| is_full);
    (found, last_shown.or(last_searched))
}

fn row(owner: &Owner, entry: &Entry, action: Option<&PastAction>, names: &Names) -> ActivityRow {
    let (services, user) = (&owner.services, &owner.signed_in.user);
    let application = match &entry.application {
        // The entry is about the server's own pages.
        None => Message::new("activity-application")
            .text("application", services.settings.operator.as_str()),
        Some(id) => match names.applications.get(id).and_then(Option::as_deref) {
            Some(name) => Message::new("activity-application").text("application", name),
            None => Message::new("activity-application-deleted-since"),
        },
    };
    let from = origin_for(user, entry);
    ActivityRow {
        tone: Tone::of_entry(entry),
        what: activity_message(entry, action, &application),
        when: PageTime::new(entry.at),
        by: actor_message(user, entry, &application, &names.devices),
        place: from
            .as_ref()
            .and_then(|from| place_of(services, from, owner.browser.language())),
        browser: from.as_ref().and_then(browser_of),
        is_access: is_access(entry.event),
        approved: None,
        request: None,
    }
}

/// Whether an attacker may have caused the event to get or keep access. Such events are a sign-in or its end in another
/// browser, a permission, a new or changed device, or the codes and links that enrol one.
const fn is_access(event: Event) -> bool {
    matches!(
        event,
        Event::SignedIn
            | Event::SignInApproved
            | Event::SessionEnded
            | Event::ConsentGranted
            | Event::EnrolmentLinkCreated
            | Event::DeviceEnrolled
            | Event::DeviceRenamed
            | Event::DeviceRevoked
            | Event::PasskeyAdded
            | Event::PasskeyRemoved
            | Event::PasskeySignInAllowed
            | Event::ExternalAuthenticatorSet
            | Event::RecoveryCodesCreated
            | Event::RecoveryCodeUsed
    )
}
