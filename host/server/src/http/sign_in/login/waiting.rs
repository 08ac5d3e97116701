//! The page that waits for an approval.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};

use crate::domain::approvals::{approval, channels};
use crate::domain::sign_in::login::LoginView;
use crate::domain::sign_in::qr_sign_in;
use crate::domain::{InternalError, Services};
use crate::http::context::Browser;
use crate::http::csrf;
use crate::http::devices::recover::recover_address;
use crate::http::operations::logos;
use crate::http::pages::{Scan, WaitingPage};
use crate::http::reply::{internal_error, layout, page};
use crate::http::sign_in::login::posted::find;
use assent_model::approval::Approval;
use assent_model::login::Login;

/// `GET /login/{id}/events`: one event, `changed`, as soon as the page has changed.
pub(crate) async fn events(
    State(services): State<Arc<Services>>,
    Path(id): Path<String>,
    browser: Browser,
) -> Response {
    let (browser, found) = find(&services, &id, browser).await;
    let view = match found {
        Ok(LoginView::Unknown) => return StatusCode::NOT_FOUND.into_response(),
        Ok(view) => view,
        Err(error) => return internal_error(&services, browser.language(), &error),
    };
    let Some(holding) = services
        .rate_limits
        .event_streams
        .hold(browser.origin().address.into())
    else {
        return StatusCode::TOO_MANY_REQUESTS.into_response();
    };
    let once = stream::once(async move {
        let _holding = holding;
        let news = async {
            match view {
                LoginView::Waiting(_, approval) => approval::decided(&services, approval.id)
                    .await
                    .map(|()| true),
                LoginView::Identify(login) => qr_sign_in::is_scanned(&services, login.id).await,
                _ => Ok(true),
            }
        };
        let news = tokio::select! {
            news = news => news,
            () = services.draining.interrupts() => Ok(false),
        };
        if let Err(error) = &news {
            tracing::error!(%error, "waiting page not notified");
        }
        // Without a change the stream ends, and the browser reconnects.
        news.unwrap_or(true)
            .then(|| Ok::<_, Infallible>(Event::default().event("changed").data("changed")))
    })
    .filter_map(std::future::ready);
    let mut response = Sse::new(once)
        .keep_alive(KeepAlive::default())
        .into_response();
    // Proxies that buffer responses must not buffer this one.
    response.headers_mut().insert(
        "x-accel-buffering",
        axum::http::HeaderValue::from_static("no"),
    );
    response
}

/// The time after which the page asks whether no request arrived. It is the same for every name.
const LATE: Duration = Duration::from_secs(15);

pub(super) async fn waiting_page(
    services: &Services,
    browser: &Browser,
    login: &Login,
    approval: &Approval,
) -> Result<Response, InternalError> {
    let id = login.id.to_string();
    // The value is rounded up, so that the page does not show zero while time is left.
    let seconds_left = approval
        .remaining(services.now())
        .as_millis()
        .div_ceil(1000);
    let delegation = channels::delegation(services, &login.request);
    let waiting = WaitingPage {
        layout: layout(services, browser.language()),
        application: approval.shown.application_name.clone(),
        logo: logos::address_of(services, login.request.application()).await?,
        name: approval
            .scanned_by
            .is_none()
            .then(|| approval.shown.account.clone()),
        number: approval
            .number
            .map(|number| number.to_string())
            .unwrap_or_default(),
        // These depend only on the request, and so reveal nothing about the name.
        delegated: delegation.possible,
        binding: delegation
            .with_letters
            .then(|| channels::binding(services, approval.id))
            .transpose()?,
        seconds_left: u32::try_from(seconds_left).unwrap_or(u32::MAX),
        seconds_total: services.settings.lifetimes.approval.whole_seconds(),
        events: format!("/login/{id}/events"),
        // A user who typed a name may scan the code instead, whether the request was sent or not.
        scan: match approval.scanned_by {
            None => Scan::new(
                &services.settings.origin(),
                qr_sign_in::path(services, login)?,
            ),
            Some(_) => None,
        },
        is_late: approval.requested_at + LATE <= services.now(),
        again: format!("/login/{id}/again"),
        recover: recover_address(login.id),
        cancel: format!("/login/{id}/cancel"),
        csrf: csrf::token(services, browser, &id)?,
    };
    Ok(page(&waiting, None))
}
