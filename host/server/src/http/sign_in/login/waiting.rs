//! The page that waits for an approval.

use std::time::Duration;

use axum::response::Response;

use crate::domain::Services;
use crate::domain::approvals::channel;
use crate::domain::sign_in::qr_sign_in;
use crate::http::context::Browser;
use crate::http::csrf;
use crate::http::devices::recover::recover_address;
use crate::http::operations::logos;
use crate::http::page_error::PageError;
use crate::http::pages::login::{Scan, WaitingPage};
use crate::http::reply::{layout, page};
use crate::http::sign_in::login::followed;
use assent_model::approval::Approval;
use assent_model::login::Login;

/// The time after which the page asks whether no request arrived. It is the same for every name.
const LATE: Duration = Duration::from_secs(15);

pub(super) async fn waiting_page(
    services: &Services,
    browser: &Browser,
    login: &Login,
    approval: &Approval,
) -> Result<Response, PageError> {
    let id = login.id.to_string();
    // The value is rounded up, so that the page does not show zero while time is left.
    let seconds_left = approval
        .remaining(services.now())
        .as_millis()
        .div_ceil(1000);
    let delegation = channel::delegation(services, &login.request);
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
            .then(|| channel::binding(services, approval.id))
            .transpose()?,
        seconds_left: u32::try_from(seconds_left).unwrap_or(u32::MAX),
        seconds_total: services.settings.lifetimes.approval.whole_seconds(),
        follow: followed::waiting_page(login.id, approval),
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
