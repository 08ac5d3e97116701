//! The pages of a login, under `/login/{id}`.

pub mod asking;
pub mod begin;
mod delivery;
mod ended;
pub mod finish;
pub mod followed;
pub mod identify;
pub mod leave;
pub mod no_login;
pub mod passkey;
pub mod posted;
pub mod repeat;
mod waiting;

use asking::disabled_denial;
use axum::response::Response;
use ended::{ended_page, rejected_page};
use identify::{IdentifyError, identify_page};
use no_login::unknown_login;
use waiting::waiting_page;

use crate::domain::Services;
use crate::domain::sign_in::context::Agreement;
use crate::domain::sign_in::login;
use crate::domain::sign_in::login::view::{GivenApproval, LoginEnd, LoginView};
use crate::http::context::Browser;
use crate::http::page_error::PageError;
use crate::http::pages::login::EndedPageKind;
use crate::http::sign_in::confirm;
use assent_model::login::{Login, SignInDenied};

use finish::{approved_user, finish, resumed_user};
use posted::{LoginPost, LoginVisit};
use repeat::repeated_response;

/// `GET /login/{id}`: the page for the state of the login. After the approval it responds to the application.
pub(crate) async fn show(visit: LoginVisit) -> Result<Response, PageError> {
    let LoginVisit {
        services,
        browser,
        view,
    } = visit;
    Box::pin(show_view(&services, &browser, view)).await
}

async fn show_view(
    services: &Services,
    browser: &Browser,
    view: LoginView,
) -> Result<Response, PageError> {
    if let Some(login) = view.login()
        && !matches!(view, LoginView::Answered(..))
        && let Some(why) = disabled_denial(services, login).await?
    {
        return rejected_page(services, browser, login, why, None).await;
    }
    match view {
        LoginView::Identify(login) => {
            identify_page(services, browser, &login, IdentifyError::None).await
        }
        LoginView::Waiting(login, approval) => {
            waiting_page(services, browser, &login, &approval).await
        }
        LoginView::Ended(login, why) => {
            let kind = match why {
                LoginEnd::Denied => EndedPageKind::Denied,
                LoginEnd::Expired => EndedPageKind::Expired,
                LoginEnd::Cancelled => EndedPageKind::Cancelled,
                LoginEnd::Conflict => EndedPageKind::Conflict,
                LoginEnd::Replaced => EndedPageKind::Replaced,
                LoginEnd::NumberMismatch => EndedPageKind::NumberMismatch,
            };
            ended_page(services, browser, &login, kind).await
        }
        LoginView::SignedIn(login, session) => {
            match resumed_user(services, browser, &login, session).await? {
                Some(user) => finish(services, browser, &login, &user, Agreement::Open).await,
                None => {
                    login::again(services, &login).await?;
                    identify_page(services, browser, &login, IdentifyError::None).await
                }
            }
        }
        LoginView::Approved(login, approved) => {
            Box::pin(approved_reply(services, browser, &login, &approved)).await
        }
        LoginView::Answered(login, given) => {
            Box::pin(repeated_response(services, browser, &login, &given)).await
        }
        LoginView::Unknown => Err(unknown_login()),
    }
}

async fn approved_reply(
    services: &Services,
    browser: &Browser,
    login: &Login,
    approved: &GivenApproval,
) -> Result<Response, PageError> {
    let Some(user) = approved_user(services, browser, login, approved).await? else {
        // The user was suspended between approval and use.
        return rejected_page(services, browser, login, SignInDenied::UserInactive, None).await;
    };
    if confirm::is_needed(services, browser, approved, &user.signed_in.user).await? {
        return confirm::ask(services, browser, login, &user.signed_in.user).await;
    }
    finish(services, browser, login, &user, Agreement::Open).await
}

/// `POST /login/{id}/cancel`: the user cancels the wait.
pub(crate) async fn cancel(posted: LoginPost) -> Result<Response, PageError> {
    if let LoginView::Waiting(login, _) = &posted.view {
        login::cancel(&posted.services, login).await?;
    }
    Ok(posted.redirect_to_current_page())
}

/// `POST /login/{id}/again`: the user starts again, also while a request is pending. The page keeps the typed name. It
/// drops the name of a user who approved or had a session, because another user wants to sign in.
pub(crate) async fn again(posted: LoginPost) -> Result<Response, PageError> {
    match &posted.view {
        LoginView::Ended(login, _) | LoginView::Waiting(login, _) => {
            login::again(&posted.services, login).await?;
            Ok(posted.redirect_to_retry())
        }
        LoginView::Approved(login, _) | LoginView::SignedIn(login, _) => {
            login::again(&posted.services, login).await?;
            Ok(posted.redirect_to_current_page())
        }
        // The user pressed the button twice.
        LoginView::Identify(_) => Ok(posted.redirect_to_retry()),
        LoginView::Answered(..) | LoginView::Unknown => Ok(posted.redirect_to_current_page()),
    }
}
