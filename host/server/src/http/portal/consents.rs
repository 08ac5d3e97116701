//! The user's consents to applications. The withdrawal is in [`crate::http::sign_in::consent`].

use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::response::Response;

use super::pages::{ConsentsPage, Tab};
use crate::domain::InternalError;
use crate::http::page_error::PageError;
use crate::http::portal::owner::Owner;
use crate::http::reply::page;
use crate::http::sign_in::consent;
use crate::http::sign_in::consent::WithdrawalNotice;

/// `GET /consents`
pub(super) async fn list(
    owner: Owner,
    notice: Result<Query<WithdrawalNotice>, QueryRejection>,
) -> Result<Response, PageError> {
    // An address with a malformed query leads to the page, too.
    let notice = notice.map(|Query(notice)| notice).unwrap_or_default();
    Ok(page(&consents_page(&owner, &notice).await?, None))
}

async fn consents_page(
    owner: &Owner,
    notice: &WithdrawalNotice,
) -> Result<ConsentsPage, InternalError> {
    let Owner {
        services,
        browser,
        signed_in,
        ..
    } = owner;
    Ok(ConsentsPage {
        layout: owner.layout(),
        frame: owner.frame(Tab::Consents)?,
        consents: consent::list(services, browser, signed_in).await?,
        withdrawn: consent::withdrawn_consent(services, browser, signed_in, notice).await?,
    })
}
