//! New recovery codes in the portal: requested, approved on the user's device, shown once, and confirmed.

use std::time::Duration;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::forms::PortalForm;
use super::pages::{
    NewRecoveryCodesPage, PendingRequest, RecoveryCodesPage, RecoveryCodesRequestPage, Tab,
};
use crate::domain::admin::action_approvals::{self, Console};
use crate::domain::devices::recovery;
use crate::domain::portal::{self, CodesRequest};
use crate::http::page_error::PageError;
use crate::http::portal::form_outcome::FormResult;
use crate::http::portal::owner::Owner;
use crate::http::reply::{page, see_other};
use crate::messages::Message;
use assent_model::id::ActionApprovalId;
use assent_model::login::LocalPage;

/// The path of the pages.
const PATH: &str = "/devices/recovery-codes";

/// The maximum time for which a script waits for a decision in one request, in seconds.
const LONGEST_WAIT: u64 = 25;

/// The time for which a script waits for a decision.
#[derive(Default, Deserialize)]
pub(super) struct Wait {
    /// In seconds; 25 at most.
    #[serde(default)]
    wait: u64,
}

/// `GET /devices/recovery-codes`
pub(super) async fn show(owner: Owner) -> Result<Response, PageError> {
    overview(&owner, None).await
}

/// The page with the number of codes, and the form for new ones. `problem` is the reason why the last attempt failed.
async fn overview(owner: &Owner, problem: Option<Message>) -> Result<Response, PageError> {
    let user = owner.signed_in.user.id;
    let template = RecoveryCodesPage {
        layout: owner.layout(),
        frame: owner.frame(Tab::Devices)?,
        left: recovery::remaining_codes(&owner.services, user).await?,
        problem,
        create: owner.form(PATH)?,
    };
    Ok(page(&template, None))
}

/// `POST /devices/recovery-codes`: requests an approval on the device.
pub(super) async fn ask(posted: PortalForm) -> Result<Response, PageError> {
    let owner = &posted.owner;
    match portal::ask_for_codes(&owner.services, &console(owner)).await? {
        Some(pending) => Ok(see_other(&format!("{PATH}/{}", pending.id))),
        None => {
            let problem = Message::new("portal-codes-cannot-ask");
            let mut response = overview(owner, Some(problem)).await?;
            *response.status_mut() = StatusCode::CONFLICT;
            Ok(response)
        }
    }
}

/// `GET /devices/recovery-codes/{id}`: waits for the device, then offers the codes.
pub(super) async fn request(owner: Owner, Path(id): Path<String>) -> Result<Response, PageError> {
    let id: ActionApprovalId = Tab::Devices.parse_id(&id)?;
    let state = portal::codes_request(&owner.services, &console(&owner), id).await?;
    let pending = match state {
        None => return Err(Tab::Devices.nothing_here()),
        Some(CodesRequest::Pending(pending)) => Some(PendingRequest {
            number: pending.number,
            seconds_left: u32::try_from(
                pending.expires_at.remaining(owner.services.now()).as_secs(),
            )
            .unwrap_or(u32::MAX),
            seconds_total: owner.services.settings.lifetimes.approval.whole_seconds(),
        }),
        Some(CodesRequest::Approved) => None,
        Some(CodesRequest::Denied) => {
            return overview(&owner, Some(Message::new("portal-codes-denied"))).await;
        }
        Some(CodesRequest::Ended) => {
            return overview(&owner, Some(Message::new("portal-codes-ended"))).await;
        }
    };
    let template = RecoveryCodesRequestPage {
        layout: owner.layout(),
        frame: owner.frame(Tab::Devices)?,
        pending,
        decided: format!("{PATH}/{id}/decided"),
        show: owner.form(&format!("{PATH}/{id}"))?,
    };
    Ok(page(&template, None))
}

/// `GET /devices/recovery-codes/{id}/decided`: the long poll of a script. The response is 204 while the request is
/// pending.
pub(super) async fn await_decision(
    owner: Owner,
    Path(id): Path<String>,
    query: Result<Query<Wait>, QueryRejection>,
) -> Result<Response, PageError> {
    let Query(Wait { wait }) = query.unwrap_or_default();
    let Ok(id) = id.parse::<ActionApprovalId>() else {
        return Ok(StatusCode::NOT_FOUND.into_response());
    };
    let console = console(&owner);
    tokio::select! {
        biased;
        decided = action_approvals::wait_for_decision(&owner.services, &console, id) => decided?,
        () = tokio::time::sleep(Duration::from_secs(wait.min(LONGEST_WAIT))) => {}
        () = owner.services.draining.interrupts() => {}
    }
    let state = portal::codes_request(&owner.services, &console, id).await?;
    Ok(match state {
        Some(CodesRequest::Pending(_)) => StatusCode::NO_CONTENT,
        Some(_) => StatusCode::OK,
        None => StatusCode::NOT_FOUND,
    }
    .into_response())
}

/// `POST /devices/recovery-codes/{id}`: creates the codes, and shows them once.
pub(super) async fn create(posted: PortalForm) -> Result<Response, PageError> {
    let owner = &posted.owner;
    let id: ActionApprovalId = Tab::Devices.parse_id(&posted.id)?;
    let (console, browser) = (console(owner), owner.browser.secret());
    let Some(codes) = portal::create_codes(&owner.services, &console, browser, id).await? else {
        return overview(owner, Some(Message::new("portal-codes-ended"))).await;
    };
    let user = &owner.signed_in.user;
    let file_title = Message::new("app-recovery-file")
        .text("account", user.name.to_string())
        .text("operator", owner.services.settings.operator.as_str());
    let template = NewRecoveryCodesPage {
        layout: owner.layout(),
        frame: owner.frame(Tab::Devices)?,
        codes: codes.iter().map(|code| code.grouped()).collect(),
        has_earlier: recovery::remaining_codes(&owner.services, user.id).await? > 0,
        file_title: file_title.plain(owner.browser.language()),
        recover: format!("{}/recover", owner.services.settings.origin()),
        confirm: owner.form(&format!("{PATH}/{id}/confirm"))?,
    };
    Ok(page(&template, None))
}

/// `POST /devices/recovery-codes/{id}/confirm`: confirms that the codes are saved, and invalidates the earlier ones.
pub(super) async fn confirm(posted: PortalForm) -> Result<Response, PageError> {
    let owner = &posted.owner;
    let id: ActionApprovalId = Tab::Devices.parse_id(&posted.id)?;
    match portal::confirm_codes(&owner.services, &console(owner), id).await? {
        true => owner.redirect_with_result(LocalPage::Devices, FormResult::CodesConfirmed),
        false => overview(owner, Some(Message::new("portal-codes-unconfirmed"))).await,
    }
}

/// Returns this browser, because an approval counts only for its session.
fn console(owner: &Owner) -> Console {
    Console {
        browser: owner.browser.digest(),
        context: owner.browser.context(&owner.services),
        origin: owner.browser.origin(),
        signed_in: owner.signed_in.clone(),
    }
}
