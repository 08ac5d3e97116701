//! Device activity: the outcomes of a user's last approval requests, as the authenticator shows them. They come from
//! the audit log, so its retention applies, and an erasure removes the personal data.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::domain::protected_actions::{PastAction, TargetNames};
use crate::domain::{InternalError, Services, audit};
use assent_model::audit::{Entry, Event};
use assent_model::clock::Timestamp;
use assent_model::device::Device;
use assent_model::id::{Did, UserId};
use assent_model::login::BrowserContext;

/// The largest number of requests in the list.
const MOST: usize = 50;
/// The number of entries that are read for the list. A sign-in has several entries.
const READ: u32 = 400;

/// An ended approval request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastRequest {
    /// The outcome.
    pub outcome: PastOutcome,
    /// The application. `None` for the server's own pages.
    pub application: Option<Did>,
    /// The current name of the application.
    pub application_name: String,
    /// The protected action, if the request was not about a sign-in.
    pub action: Option<PastAction>,
    /// The typed name. Empty if it is not known any more.
    pub account: String,
    /// The browser, in English. Its texts are empty if they are not known any more.
    pub browser: BrowserContext,
    /// Whether an application asked without a browser, or the user entered the code of a device.
    pub without_browser: bool,
    /// Whether a help desk asked whether the user is on the phone.
    pub is_caller_check: bool,
    /// The time of the decision, or of the request if it was not answered.
    pub at: Timestamp,
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PastOutcome {
    /// It was approved.
    Approved,
    /// It was denied.
    Denied,
    /// The user reported that the request was not the user's own.
    Reported,
    /// The number was wrong too often.
    NumberMismatch,
    /// It expired, or was cancelled in the browser.
    Unanswered,
}

/// Returns the outcomes of the last requests to a device's owner, on any device, the latest first.
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
        requests.push(past(services, outcome, entry, action, &names));
    }
    Ok(requests)
}

/// Returns the entries with the outcomes of a user's requests, the latest first.
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
            // A request that no device received was never seen by the user.
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

fn request(entry: &Entry) -> Option<&Value> {
    entry.detail.get("request")
}

/// Returns the outcome of a request, if the entry records one.
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
    entry: Entry,
    action: Option<PastAction>,
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
        browser: BrowserContext {
            place: text("requested_from"),
            browser: text("requested_with"),
            ..BrowserContext::default()
        },
        action,
        without_browser: ["backchannel_request", "device_authorization"]
            .iter()
            .any(|subject| entry.detail.contains_key(*subject)),
        is_caller_check: entry.detail.contains_key("caller_check"),
        at: entry.at,
        application: entry.application,
    }
}
