//! What happened lately in the person's name.

use std::collections::HashMap;

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::response::Response;
use serde::Deserialize;

use super::pages::{ActivityPage, ActivityRow, Tab};
use super::tone::Tone;
use super::words::{PageTime, activity_message, browser_of, by_whom, origin_for, place_of};
use crate::domain::protected_actions::{PastAction, TargetNames};
use crate::domain::{InternalError, audit};
use crate::http::portal::owner::Owner;
use crate::http::texts::Message;
use assent_model::audit::{Entry, Event};
use assent_model::id::{AuditId, Did};

/// How many entries a page shows.
const ROWS: u32 = 30;

/// Which page of the list it is.
#[derive(Debug, Default, Deserialize)]
pub(super) struct From {
    /// The id of the last entry of the page before.
    #[serde(default)]
    before: String,
}

/// `GET /activity`
pub(super) async fn list(owner: Owner, from: Result<Query<From>, QueryRejection>) -> Response {
    // What names no entry names the first page.
    let before = from.ok().and_then(|Query(from)| from.before.parse().ok());
    owner.page(listed(&owner, before).await)
}

async fn listed(owner: &Owner, before: Option<AuditId>) -> Result<ActivityPage, InternalError> {
    let (services, user) = (&owner.services, &owner.signed_in.user);
    let mut entries = audit::of_user(services, user.id, before, ROWS + 1).await?;
    let more = entries.len() > ROWS as usize;
    entries.truncate(ROWS as usize);
    let older = entries
        .last()
        .filter(|_| more)
        .map(|last| format!("/activity?before={}", last.id));
    let mut names: HashMap<Did, Option<String>> = HashMap::new();
    let mut targets = TargetNames::for_viewer(Some(user));
    let mut rows = Vec::with_capacity(entries.len());
    for entry in entries {
        if let Some(id) = entry
            .application
            .clone()
            .filter(|id| !names.contains_key(id))
        {
            let found = services.store.registered(&id).await?;
            names.insert(id, found.map(|application| application.name().to_owned()));
        }
        let action = targets.action_of(&services.store, &entry).await?;
        rows.push(row(owner, (&entry, action), &names));
    }
    Ok(ActivityPage {
        layout: owner.layout(),
        frame: owner.frame(Tab::Activity)?,
        rows,
        older,
        first: before.is_none(),
    })
}

fn row(
    owner: &Owner,
    (entry, action): (&Entry, Option<PastAction>),
    names: &HashMap<Did, Option<String>>,
) -> ActivityRow {
    let (services, user) = (&owner.services, &owner.signed_in.user);
    let application = match &entry.application {
        // The server's own pages.
        None => Message::new("activity-application")
            .text("application", services.settings.operator.as_str()),
        Some(id) => match names.get(id).and_then(Option::as_deref) {
            Some(name) => Message::new("activity-application").text("application", name),
            None => Message::new("activity-application-deleted-since"),
        },
    };
    let from = origin_for(user, entry);
    ActivityRow {
        tone: Tone::of_event(entry.event),
        what: activity_message(entry, action.as_ref(), &application),
        when: PageTime::new(entry.at),
        by: by_whom(user, entry, &application),
        place: from
            .as_ref()
            .and_then(|from| place_of(services, from, owner.browser.language())),
        browser: from.as_ref().and_then(browser_of),
        is_access: is_access(entry.event),
    }
}

/// Whether it is a way into the account: a sign-in, or a new or changed device.
const fn is_access(event: Event) -> bool {
    matches!(
        event,
        Event::SignedIn
            | Event::SignInApproved
            | Event::DeviceEnrolled
            | Event::DeviceRenamed
            | Event::DeviceRevoked
            | Event::PasskeyAdded
            | Event::PasskeyRemoved
            | Event::PasskeySignInAllowed
            | Event::RecoveryCodeUsed
    )
}
