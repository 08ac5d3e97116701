//! What happened lately in the person's name.

use std::collections::HashMap;

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::response::Response;
use serde::Deserialize;

use super::activity_kind::ActivityKind;
use super::activity_rows::folded;
use super::pages::{ActivityPage, ActivityRow, Tab};
use super::tone::Tone;
use super::words::{PageTime, activity_message, browser_of, by_whom, origin_for, place_of};
use crate::domain::protected_actions::{PastAction, TargetNames};
use crate::domain::{InternalError, audit};
use crate::http::portal::owner::Owner;
use crate::http::texts::Message;
use assent_model::audit::{Entry, Event};
use assent_model::id::{AuditId, DeviceId, Did};
use assent_store::StoredEntry;

/// How many entries a page shows.
const ROWS: u32 = 30;
/// How many entries a page of one kind looks at, so that a kind of which there are few costs no more than this.
const SEARCHED: u32 = 300;

/// The names that the entries leave out.
struct Names {
    /// Those of the applications; `None` for one that is deleted.
    applications: HashMap<Did, Option<String>>,
    /// Those of the person's devices, without the removed ones.
    devices: HashMap<DeviceId, String>,
}

/// Which page of the list it is.
#[derive(Debug, Default, Deserialize)]
pub(super) struct From {
    /// The id of the last entry of the page before.
    #[serde(default)]
    before: String,
    /// The kind of the entries.
    #[serde(default)]
    kind: String,
}

/// `GET /activity`
pub(super) async fn list(owner: Owner, from: Result<Query<From>, QueryRejection>) -> Response {
    let from = from.map(|Query(from)| from).unwrap_or_default();
    // What names no entry names the first page.
    let before = from.before.parse().ok();
    owner.page(listed(&owner, ActivityKind::named(&from.kind), before).await)
}

/// The names of the person's devices.
async fn device_names(owner: &Owner) -> Result<HashMap<DeviceId, String>, InternalError> {
    let user = owner.signed_in.user.id;
    let devices = owner.services.store.devices_of(user).await?;
    Ok(devices
        .into_iter()
        .map(|device| (device.id, device.name))
        .collect())
}

async fn listed(
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
        let row = row(owner, (&entry, action), &names);
        rows.push((entry, row));
    }
    Ok(ActivityPage {
        layout: owner.layout(),
        frame: owner.frame(Tab::Activity)?,
        rows: folded(rows),
        older,
        first: before.is_none(),
        kind,
    })
}

/// The entries that a page shows of those that were found, one more than are searched, and the id of the entry before
/// which the next page begins, if there is more. A page of one kind may be short or even empty, and still have a next
/// one.
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

fn row(owner: &Owner, (entry, action): (&Entry, Option<PastAction>), names: &Names) -> ActivityRow {
    let (services, user) = (&owner.services, &owner.signed_in.user);
    let application = match &entry.application {
        // The server's own pages.
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
        what: activity_message(entry, action.as_ref(), &application),
        when: PageTime::new(entry.at),
        by: by_whom(user, entry, &application, &names.devices),
        place: from
            .as_ref()
            .and_then(|from| place_of(services, from, owner.browser.language())),
        browser: from.as_ref().and_then(browser_of),
        is_access: is_access(entry.event),
        approved: None,
        request: None,
    }
}

/// Whether a stranger may have done it to get or keep access: a sign-in or its end elsewhere, a permission, a new or
/// changed device, or the codes and links that enrol one.
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
