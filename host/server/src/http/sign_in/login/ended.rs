//! The pages that end a sign-in.

use axum::http::StatusCode;
use axum::response::Response;

use crate::domain::operations::telemetry::error_references::ErrorReference;
use crate::domain::sign_in::context::log_plugin_denial;
use crate::domain::sign_in::login::view;
use crate::domain::sign_in::login::{self, OpenLogin};
use crate::domain::{InternalError, Services};
use crate::http::context::{Browser, STAY};
use crate::http::csrf;
use crate::http::devices::recover::recover_address;
use crate::http::page_error::PageError;
use crate::http::pages::login::{EndedPage, EndedPageKind, ReturnNotice};
use crate::http::reply::{layout, page};
use crate::http::request_id;
use crate::http::sign_in::login::asking::requesting_application;
use crate::messages::Message;
use assent_model::login::{Login, LoginRequest, LoginStage, SignInDenied};
use assent_model::secret::Digest;
use assent_model::user::User;

/// The time in seconds after which the page of a failed sign-in returns to the application. The user can stop the
/// return (WCAG 2.2.1).
const RETURN_AFTER: u32 = 10;

/// Returns the purpose of the token with which the page of a failed sign-in returns to the application by itself.
pub(super) fn return_of(login: &Login) -> String {
    match &login.stage {
        LoginStage::Asked(approval) => format!("return {} {approval}", login.id),
        LoginStage::SignedIn(session) => format!("return {} {session}", login.id),
        LoginStage::Identify | LoginStage::Answered(_) => format!("return {}", login.id),
    }
}

/// Returns the automatic return of a failed sign-in to the application. A sign-in to this server's own pages has no
/// application, and another user's test sign-in has had its response already. The other ends ask the user for a choice.
fn automatic_return(
    services: &Services,
    browser: &Browser,
    login: &Login,
    ended: &EndedPageKind,
) -> Result<Option<ReturnNotice>, InternalError> {
    let waits = matches!(login.request, LoginRequest::Oidc(_) | LoginRequest::Saml(_));
    let failed = match ended {
        EndedPageKind::Denied | EndedPageKind::Expired | EndedPageKind::NumberMismatch => true,
        EndedPageKind::Rejected(_) => *ended != rejection_kind(SignInDenied::OthersTestSignIn),
        EndedPageKind::Cancelled | EndedPageKind::Conflict | EndedPageKind::Replaced => false,
    };
    if browser.stays() || !waits || !failed {
        return Ok(None);
    }
    let page = format!("/login/{}", login.id);
    let token = csrf::token(services, browser, &return_of(login))?;
    Ok(Some(ReturnNotice {
        address: format!("{page}/return?token={token}"),
        seconds: RETURN_AFTER,
        stay: format!("{page}?{STAY}"),
    }))
}

pub(super) async fn ended_page(
    services: &Services,
    browser: &Browser,
    login: &Login,
    kind: EndedPageKind,
) -> Result<Response, PageError> {
    let name = view::typed_name(services, login.id).await?;
    page_of_end(services, browser, login, kind, name, None).await
}

/// Returns the reference on the page of a rejected sign-in. It stays the same when the user loads the page again, for
/// example to stop its return to the application.
fn rejection_reference(login: &Login) -> String {
    let digest = Digest::sha256(format!("rejected {}", return_of(login)).as_bytes());
    digest
        .to_text()
        .chars()
        .take(8)
        .collect::<String>()
        .to_uppercase()
}

/// Returns the page for a user who approved, and may not sign in. Without a user the page shows the typed name.
pub(super) async fn rejected_page(
    services: &Services,
    browser: &Browser,
    login: &Login,
    why: SignInDenied,
    user: Option<&User>,
) -> Result<Response, PageError> {
    let name = match user {
        Some(user) => Some(user.display_name().to_owned()),
        None => view::typed_name(services, login.id).await?,
    };
    let reference = rejection_reference(login);
    // The user may load the page again.
    if services.error_references.find(&reference).is_none() {
        record_rejection(services, browser, login, &why, user, &reference).await?;
    }
    let kind = rejection_kind(why);
    // Rejections are rare, and boxing keeps the futures of the other cases small.
    Box::pin(page_of_end(
        services,
        browser,
        login,
        kind,
        name,
        Some(reference),
    ))
    .await
}

/// Records a rejected sign-in where administrators and operators look for its reference: in the log, in the list of
/// references, and in the audit log.
async fn record_rejection(
    services: &Services,
    browser: &Browser,
    login: &Login,
    why: &SignInDenied,
    user: Option<&User>,
    reference: &str,
) -> Result<(), InternalError> {
    if matches!(why, SignInDenied::Plugin { .. }) {
        let application = login.request.application();
        log_plugin_denial(
            OpenLogin::Stored(login.id),
            application,
            why,
            Some(reference),
        );
    } else {
        tracing::info!(reference, login = %login.id, reason = why.as_str(), "sign-in rejected");
    }
    services.error_references.record(ErrorReference {
        reference: reference.to_owned(),
        request: request_id::current(),
        at: services.now(),
        status: StatusCode::OK.as_u16(),
        page: "Sign-in rejected".to_owned(),
        cause: format!("{why} (sign-in {})", login.id),
    });
    // A test sign-in records its own steps.
    match user {
        Some(user) if login.request.purpose().is_application() => {
            let from = browser.origin();
            login::record_rejection(services, login, user.id, from, why, reference).await
        }
        _ => Ok(()),
    }
}

async fn page_of_end(
    services: &Services,
    browser: &Browser,
    login: &Login,
    ended: EndedPageKind,
    name: Option<String>,
    reference: Option<String>,
) -> Result<Response, PageError> {
    let id = login.id.to_string();
    let asking = requesting_application(services, login).await?;
    let returns = match asking.enabled {
        true => automatic_return(services, browser, login, &ended)?,
        false => None,
    };
    let ended = EndedPage {
        layout: layout(services, browser.language()),
        application: asking.name,
        returns,
        ended,
        name,
        reference,
        recover: recover_address(login.id),
        again: format!("/login/{id}/again"),
        leave: asking.enabled.then(|| format!("/login/{id}/leave")),
        csrf: csrf::token(services, browser, &id)?,
    };
    Ok(page(&ended, asking.form_target.as_deref()))
}

fn rejection_kind(why: SignInDenied) -> EndedPageKind {
    EndedPageKind::Rejected(match why {
        SignInDenied::ApplicationGone => Message::new("rejected-application-deleted"),
        SignInDenied::ApplicationDisabled(name) => {
            Message::new("rejected-application-disabled").text("application", name)
        }
        SignInDenied::AddressGone => Message::new("rejected-redirect-uri-removed"),
        SignInDenied::NoAccount(name) => {
            Message::new("rejected-no-account").text("application", name)
        }
        SignInDenied::AccountClosed(name) => {
            Message::new("rejected-account-inactive").text("application", name)
        }
        SignInDenied::AddressNotConfirmed(name) => {
            Message::new("rejected-address-not-confirmed").text("application", name)
        }
        SignInDenied::UserInactive => Message::new("rejected-user-inactive"),
        SignInDenied::OthersTestSignIn => Message::new("rejected-other-test-sign-in"),
        SignInDenied::Plugin { reason, .. } => {
            Message::new("rejected-by-plugin").text("reason", reason)
        }
    })
}
