//! Device activity: the outcomes of a user's last approval requests, as the authenticator shows them. They come from
//! the audit log, so its retention applies, and an erasure removes the personal data.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use crate::domain::protected_actions::{PastAction, TargetNames};
use crate::domain::{InternalError, Services, audit};
use assent_model::audit::{Entry, Event};
use assent_model::clock::Timestamp;
use assent_model::device::Device;
use assent_model::id::{Did, UserId};

/// How many requests are told of.
const MOST: usize = 50;
/// How many entries of the log are read for that. A sign-in has a handful of them.
const READ: u32 = 400;

/// A request that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastRequest {
    /// What became of it.
    pub outcome: PastOutcome,
    /// The application; `None` for the server's own pages.
    pub application: Option<Did>,
    /// The current name of the application.
    pub application_name: String,
    /// The protected action, if the request was not about a sign-in.
    pub action: Option<PastAction>,
    /// The name that was typed; empty where it is not known any more.
    pub account: String,
    /// Where the browser seemed to be; empty where that is not known.
    pub place: String,
    /// The browser and system in plain words; empty where they are not known.
    pub browser: String,
    /// When it was decided, or asked for where nobody answered.
    pub at: Timestamp,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PastOutcome {
    /// It was approved.
    Approved,
    /// It was denied.
    Denied,
    /// The person said that it was not theirs.
    Reported,
    /// The number was wrong too often.
    NumberMismatch,
    /// Nobody answered in time, or it was given up in the browser.
    Unanswered,
}

/// What became of the last requests of a device's owner, on whichever device, the latest first.
///
/// # Errors
/// If the database fails.
pub async fn past_requests(
    services: &Services,
    device: &Device,
) -> Result<Vec<PastRequest>, InternalError> {
    let mut entries = over(services, device.user_id).await?;
    entries.truncate(MOST);
    let mut names: HashMap<Did, String> = HashMap::new();
    for application in entries
        .iter()
        .filter_map(|(_, entry)| entry.application.as_ref())
    {
        if !names.contains_key(application) {
            let registered = services.store.registered(application).await?;
            let name =
                registered.map_or_else(|| application.to_string(), |found| found.name().to_owned());
            names.insert(application.clone(), name);
        }
    }
    let viewer = services.store.user(device.user_id).await?;
    let mut targets = TargetNames::for_viewer(viewer.as_ref());
    let mut requests = Vec::with_capacity(entries.len());
    for (outcome, entry) in entries {
        let action = targets.action_of(&services.store, &entry).await?;
        requests.push(past(services, outcome, (entry, action), &names));
    }
    Ok(requests)
}

/// The entries that tell how a person's requests ended, the latest first.
async fn over(
    services: &Services,
    user: UserId,
) -> Result<Vec<(PastOutcome, Entry)>, InternalError> {
    let ended = services.now() - services.settings.lifetimes.approval.get();
    let entries = audit::of_user(services, user, None, READ).await?;
    let decided: HashSet<Value> = entries
        .iter()
        .filter(|entry| decision(entry).is_some())
        .filter_map(|entry| request(entry))
        .cloned()
        .collect();
    let over = entries.into_iter().filter_map(|entry| {
        let unanswered = |entry: &Entry| {
            // What reached no phone the person never saw.
            entry.event == Event::SignInRequested
                && entry.detail.get("prompted") == Some(&true.into())
                && entry.at <= ended
                && request(entry).is_some_and(|request| !decided.contains(request))
        };
        let outcome =
            decision(&entry).or_else(|| unanswered(&entry).then_some(PastOutcome::Unanswered))?;
        Some((outcome, entry.entry))
    });
    Ok(over.collect())
}

/// The request that an entry is about.
fn request(entry: &Entry) -> Option<&Value> {
    entry.detail.get("request")
}

/// How a request ended, if the entry tells of that.
fn decision(entry: &Entry) -> Option<PastOutcome> {
    Some(match entry.event {
        Event::SignInApproved => PastOutcome::Approved,
        Event::SignInDenied => PastOutcome::Denied,
        Event::SignInReported => PastOutcome::Reported,
        Event::NumberMatchFailed if entry.detail.get("attempts_left") == Some(&0.into()) => {
            PastOutcome::NumberMismatch
        }
        _ => return None,
    })
}

fn past(
    services: &Services,
    outcome: PastOutcome,
    (entry, action): (Entry, Option<PastAction>),
    names: &HashMap<Did, String>,
) -> PastRequest {
    let text = |name: &str| {
        entry
            .personal
            .get(name)
            .and_then(|value| value.as_str())
            .unwrap_or_default()
            .to_owned()
    };
    let name = entry
        .application
        .as_ref()
        .and_then(|application| names.get(application));
    PastRequest {
        outcome,
        application_name: name
            .cloned()
            .unwrap_or_else(|| services.settings.operator.clone()),
        account: text("name"),
        place: text("requested_from"),
        browser: text("requested_with"),
        action,
        at: entry.at,
        application: entry.application,
    }
}
