//! The applications that may ask the user without a browser, and what they asked.

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::response::Response;
use serde::Deserialize;

use super::forms::PortalForm;
use super::pages::{PausedRequests, RequestRow, RequesterCard, RequestsPage, Tab};
use super::tone::Tone;
use super::words::PageTime;
use crate::domain::InternalError;
use crate::domain::portal::{self, PauseReason, Requester, RequesterStanding};
use crate::domain::sign_in::scope_words;
use crate::http::page_error::PageError;
use crate::http::portal::form_outcome::FormResult;
use crate::http::portal::owner::{Owner, sign_in_url};
use crate::http::reply::{page, see_other};
use crate::messages::Message;
use assent_model::backchannel_history::BackchannelOutcome;
use assent_model::id::{BackchannelRequestId, Did};
use assent_model::login::LocalPage;
use assent_store::PastBackchannelRequest;

/// The number of requests on a page.
const ROWS: u32 = 20;

/// The query that selects a page of the list.
#[derive(Debug, Default, Deserialize)]
pub(super) struct From {
    /// The id of the last request of the previous page.
    #[serde(default)]
    before: String,
}

/// `GET /requests`
pub(super) async fn list(
    owner: Owner,
    from: Result<Query<From>, QueryRejection>,
) -> Result<Response, PageError> {
    let from = from.map(|Query(from)| from).unwrap_or_default();
    // An id of another form selects the first page.
    let before = from.before.parse().ok();
    Ok(page(&requests_page(&owner, before).await?, None))
}

async fn requests_page(
    owner: &Owner,
    before: Option<BackchannelRequestId>,
) -> Result<RequestsPage, InternalError> {
    let (services, user) = (&owner.services, &owner.signed_in.user);
    let requesters = portal::requesters(services, user).await?;
    let mut past = portal::past_requests(services, user, before, ROWS + 1).await?;
    let has_more = past.len() > ROWS as usize;
    past.truncate(ROWS as usize);
    let last = past.last().filter(|_| has_more);
    let older = last.map(|last| format!("/requests?before={}", last.id));
    let paused = match portal::paused_until(services, user.id).await? {
        Some(until) => Some(PausedRequests {
            until: PageTime::new(until),
            lift: owner.form("/requests/resume")?,
        }),
        None => None,
    };
    Ok(RequestsPage {
        layout: owner.layout(),
        frame: owner.frame(Tab::Requests)?,
        paused,
        applications: requesters
            .into_iter()
            .map(|requester| card(owner, requester))
            .collect::<Result<_, _>>()?,
        rows: past.into_iter().map(row).collect(),
        older,
        first: before.is_none(),
    })
}

fn card(owner: &Owner, requester: Requester) -> Result<RequesterCard, InternalError> {
    let Requester { id, name, standing } = requester;
    let form = |verb: &str| owner.form(&format!("/requests/{id}/{verb}"));
    let (since, until) = match standing {
        RequesterStanding::Permitted => (None, None),
        RequesterStanding::PausedUntil(until, reason) => {
            (None, Some((pause_words(reason), PageTime::new(until))))
        }
        RequesterStanding::StoppedSince(since) => (Some(PageTime::new(since)), None),
    };
    Ok(RequesterCard {
        name,
        stop: match since {
            Some(_) => None,
            None => Some(form("stop")?),
        },
        permit: match standing {
            RequesterStanding::Permitted => None,
            RequesterStanding::PausedUntil(..) | RequesterStanding::StoppedSince(_) => {
                Some(form("permit")?)
            }
        },
        stopped_since: since,
        paused_until: until,
    })
}

const fn pause_words(reason: PauseReason) -> Message {
    match reason {
        PauseReason::Refused => Message::new("requests-paused-until"),
        PauseReason::Unanswered => Message::new("requests-paused-unanswered"),
    }
}

fn row(past: PastBackchannelRequest) -> RequestRow {
    let scopes = scope_words::in_words(&past.scopes);
    RequestRow {
        tone: tone(past.outcome),
        application: past.application_name,
        message: past.message.map(|message| message.as_str().to_owned()),
        outcome: words(past.outcome),
        when: PageTime::new(past.requested_at),
        decided: past.decided_at.map(PageTime::new),
        device: past.device,
        scopes,
    }
}

const fn tone(outcome: BackchannelOutcome) -> Tone {
    match outcome {
        BackchannelOutcome::Approved => Tone::Good,
        BackchannelOutcome::Denied | BackchannelOutcome::NumberMismatch => Tone::Warn,
        BackchannelOutcome::Reported => Tone::Bad,
        BackchannelOutcome::Waiting
        | BackchannelOutcome::Expired
        | BackchannelOutcome::NotShown
        | BackchannelOutcome::Withdrawn => Tone::Calm,
    }
}

const fn words(outcome: BackchannelOutcome) -> Message {
    match outcome {
        BackchannelOutcome::Waiting => Message::new("requests-waiting"),
        BackchannelOutcome::Approved => Message::new("requests-approved"),
        BackchannelOutcome::Denied => Message::new("requests-denied"),
        BackchannelOutcome::Reported => Message::new("requests-reported"),
        BackchannelOutcome::Expired => Message::new("requests-expired"),
        BackchannelOutcome::NotShown => Message::new("requests-not-shown"),
        BackchannelOutcome::Withdrawn => Message::new("requests-withdrawn"),
        BackchannelOutcome::NumberMismatch => Message::new("requests-number-mismatch"),
    }
}

/// `POST /requests/{id}/stop`: no device receives the requests of the application any more. This reduces access, so any
/// session of the user may do it.
pub(super) async fn stop(posted: PortalForm) -> Result<Response, PageError> {
    choose(&posted, true).await
}

/// `POST /requests/{id}/permit`: devices receive the requests of the application again. A user who did not sign in a
/// moment ago must do it first.
pub(super) async fn permit(posted: PortalForm) -> Result<Response, PageError> {
    let owner = &posted.owner;
    if !portal::is_recent(&owner.services, &owner.signed_in) {
        return Ok(see_other(&sign_in_url(LocalPage::Requests)));
    }
    choose(&posted, false).await
}

async fn choose(posted: &PortalForm, is_stopped: bool) -> Result<Response, PageError> {
    let owner = &posted.owner;
    let application: Did = Tab::Requests.parse_id(&posted.id)?;
    let (services, user) = (&owner.services, &owner.signed_in.user);
    let origin = owner.browser.origin();
    if !portal::choose(services, user, &application, is_stopped, origin).await? {
        return Err(Tab::Requests.nothing_here());
    }
    let result = match is_stopped {
        true => FormResult::RequestsStopped,
        false => FormResult::RequestsPermitted,
    };
    owner.redirect_with_result(LocalPage::Requests, result)
}

/// `POST /requests/resume`: ends the pause of all requests. A user who did not sign in a moment ago must do it first.
pub(super) async fn resume(posted: PortalForm) -> Result<Response, PageError> {
    let owner = &posted.owner;
    if !portal::is_recent(&owner.services, &owner.signed_in) {
        return Ok(see_other(&sign_in_url(LocalPage::Requests)));
    }
    let user = owner.signed_in.user.id;
    portal::lift_pause(&owner.services, user, owner.browser.origin()).await?;
    owner.redirect_with_result(LocalPage::Requests, FormResult::PauseLifted)
}
