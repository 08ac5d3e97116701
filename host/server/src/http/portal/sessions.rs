//! The browsers in which the user is signed in.

use axum::response::Response;

use super::forms::PortalForm;
use super::pages::{SessionCard, SessionsPage, Tab};
use super::sign_out::{ENDED, sign_out_response};
use super::words::{PageTime, browser_of, place_of};
use crate::domain::InternalError;
use crate::domain::portal::{self, EndForm, EndedSession};
use crate::domain::sessions::session;
use crate::http::page_error::PageError;
use crate::http::portal::form_outcome::FormResult;
use crate::http::portal::owner::Owner;
use crate::http::reply::page;
use assent_model::id::SessionId;
use assent_model::login::LocalPage;
use assent_store::OpenSession;

/// `GET /sessions`
pub(super) async fn list(owner: Owner) -> Result<Response, PageError> {
    Ok(page(&sessions_page(&owner).await?, None))
}

async fn sessions_page(owner: &Owner) -> Result<SessionsPage, InternalError> {
    let sessions = portal::sessions(&owner.services, &owner.signed_in.user).await?;
    Ok(SessionsPage {
        layout: owner.layout(),
        frame: owner.frame(Tab::Sessions)?,
        // With only one session there are no others.
        end_others: if sessions.len() > 1 {
            Some(owner.form("/sessions/end-others")?)
        } else {
            None
        },
        end_all: owner.form("/sessions/end-all")?,
        sessions: sessions
            .into_iter()
            .map(|open| card(owner, open))
            .collect::<Result<_, _>>()?,
    })
}

fn card(owner: &Owner, open: OpenSession) -> Result<SessionCard, InternalError> {
    Ok(SessionCard {
        browser: browser_of(&open.from),
        place: place_of(&owner.services, &open.from, owner.browser.language()),
        without_browser: open.without_browser,
        here: open.id == owner.signed_in.session.id,
        begun: PageTime::new(open.signed_in_at),
        used: open.used_at.map(PageTime::new),
        ends: PageTime::new(if open.is_test_sign_in {
            open.expires_at
        } else {
            session::latest_end(&owner.services, open.signed_in_at, open.expires_at)
        }),
        applications: open.applications,
        end: owner.form(&format!("/sessions/{}/end", open.id))?,
    })
}

/// `POST /sessions/{id}/end`
pub(super) async fn end(posted: PortalForm) -> Result<Response, PageError> {
    let owner = &posted.owner;
    let id: SessionId = Tab::Sessions.parse_id(&posted.id)?;
    if id == owner.signed_in.session.id {
        return sign_out_here(owner).await;
    }
    let ended = portal::end(
        &owner.services,
        &owner.signed_in.user,
        id,
        owner.browser.origin(),
    )
    .await?;
    let result = match ended {
        Some(EndedSession { not_notified: true }) => FormResult::EndedNotNotified,
        Some(EndedSession {
            not_notified: false,
        }) => FormResult::Ended,
        None if owner.sent_before(EndForm::Session(id)).await? => FormResult::Ended,
        None => return Err(Tab::Sessions.nothing_here()),
    };
    owner.redirect_with_result(LocalPage::Sessions, result)
}

/// `POST /sessions/end-others`
pub(super) async fn end_others(posted: PortalForm) -> Result<Response, PageError> {
    let owner = &posted.owner;
    let EndedSession { not_notified } =
        portal::end_others(&owner.services, &owner.signed_in, owner.browser.origin()).await?;
    owner.redirect_with_result(
        LocalPage::Sessions,
        if not_notified {
            FormResult::OthersEndedNotNotified
        } else {
            FormResult::OthersEnded
        },
    )
}

/// `POST /sessions/end-all`: ends the other sessions, and then this one, whose service providers this browser can
/// notify.
pub(super) async fn end_all(posted: PortalForm) -> Result<Response, PageError> {
    let owner = &posted.owner;
    portal::end_others(&owner.services, &owner.signed_in, owner.browser.origin()).await?;
    sign_out_here(owner).await
}

/// Ends the session of this browser, like a sign-out.
async fn sign_out_here(owner: &Owner) -> Result<Response, PageError> {
    let ended = session::end(&owner.services, &owner.signed_in, owner.browser.origin()).await?;
    sign_out_response(owner, ended, ENDED).await
}
