//! The state of a sign-in for the pages that wait: a stream of events, and a question for browsers in which the stream
//! is blocked or held back.

use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use axum::http::header::CACHE_CONTROL;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Serialize;
use tokio::time::interval;

use crate::domain::approvals::request;
use crate::domain::sign_in::login::view::LoginView;
use crate::domain::sign_in::qr_sign_in;
use crate::domain::{InternalError, Services};
use crate::http::pages::login::FollowedSignIn;
use crate::http::sign_in::login::posted::LoginVisit;
use assent_model::approval::Approval;
use assent_model::id::LoginId;

/// The time between two events without a change. The first is sent at once. A page that receives none asks for the
/// state, because a proxy or a blocker may hold the stream back.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// The state of a sign-in for which the login page waits.
const IDENTIFY: &str = "identify";
/// Any state in which no page waits.
const CHANGED: &str = "changed";

/// The state of a page that waits for this approval. Another approval of the same sign-in has another number, so its
/// page has another state.
fn waiting_for(approval: &Approval) -> String {
    format!("waiting-{}", approval.requested_at.millis())
}

/// The state for the script of the login page.
pub(super) fn login_page(id: LoginId) -> FollowedSignIn {
    followed_sign_in(id, IDENTIFY.to_owned())
}

/// The state for the script of a page that waits for this approval.
pub(super) fn waiting_page(id: LoginId, approval: &Approval) -> FollowedSignIn {
    followed_sign_in(id, waiting_for(approval))
}

fn followed_sign_in(id: LoginId, state: String) -> FollowedSignIn {
    FollowedSignIn {
        events: format!("/login/{id}/events"),
        ask: format!("/login/{id}/state"),
        state,
    }
}

/// The state of a sign-in, as the pages compare it.
#[derive(Serialize)]
struct SignInState {
    state: String,
}

/// `GET /login/{id}/state`: whether a waiting page is still current, without a change of the sign-in.
pub(crate) async fn state(visit: LoginVisit) -> Response {
    let state = state_of(&visit.view);
    ([(CACHE_CONTROL, "no-store")], Json(SignInState { state })).into_response()
}

/// The state of a sign-in, as the pages compare it. A page of an unknown sign-in then shows that it has expired.
fn state_of(view: &LoginView) -> String {
    match view {
        LoginView::Identify(_) => IDENTIFY.to_owned(),
        LoginView::Waiting(_, approval) => waiting_for(approval),
        _ => CHANGED.to_owned(),
    }
}

/// `GET /login/{id}/events`: an event `alive` with the state at once and at each heartbeat, then one event `changed`,
/// as soon as the page has changed. A page that connects late receives the current state.
pub(crate) async fn events(visit: LoginVisit) -> Response {
    let LoginVisit {
        services,
        browser,
        view,
    } = visit;
    if matches!(view, LoginView::Unknown) {
        return StatusCode::NOT_FOUND.into_response();
    }
    let Some(holding) = services
        .rate_limits
        .event_streams
        .hold(browser.origin().address.into())
    else {
        return StatusCode::TOO_MANY_REQUESTS.into_response();
    };
    let state = state_of(&view);
    let news = Box::pin(async move {
        let _holding = holding;
        let changed = tokio::select! {
            changed = await_change(&services, view) => changed,
            () = services.draining.interrupts() => Ok(false),
        };
        if let Err(error) = &changed {
            tracing::error!(%error, "waiting page not notified");
        }
        changed.unwrap_or(true)
    });
    let open = Some((news, interval(HEARTBEAT), state));
    let events = stream::unfold(open, |open| async move {
        let (mut news, mut heartbeat, state) = open?;
        tokio::select! {
            // The first heartbeat is due at once.
            biased;
            _ = heartbeat.tick() => {
                let alive = event("alive", &state);
                Some((alive, Some((news, heartbeat, state))))
            }
            // Without a change the stream ends, and the browser reconnects.
            changed = &mut news => changed.then(|| (event("changed", CHANGED), None)),
        }
    });
    let mut response = Sse::new(events).into_response();
    // Proxies that buffer responses must not buffer this one.
    response.headers_mut().insert(
        "x-accel-buffering",
        axum::http::HeaderValue::from_static("no"),
    );
    response
}

fn event(name: &'static str, state: &str) -> Result<Event, Infallible> {
    Ok(Event::default().event(name).data(state))
}

/// Waits until the page of this state has changed. Returns false if it ends before.
async fn await_change(services: &Services, view: LoginView) -> Result<bool, InternalError> {
    match view {
        LoginView::Waiting(_, approval) => {
            request::decided(services, approval.id).await.map(|()| true)
        }
        LoginView::Identify(login) => qr_sign_in::is_scanned(services, login.id).await,
        _ => Ok(true),
    }
}
