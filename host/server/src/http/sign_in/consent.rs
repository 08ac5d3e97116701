//! Consent: the page that requests it during a login, and its withdrawal on the portal.

pub(crate) mod question;

use axum::Form;
use axum::response::Response;
use serde::Deserialize;

use crate::domain::sessions::session::BrowserSession;
use crate::domain::sign_in::consent;
use crate::domain::sign_in::context::Agreement;
use crate::domain::sign_in::login::view::LoginView;
use crate::domain::sign_in::scope_words;
use crate::domain::{InternalError, Services};
use crate::http::context::Browser;
use crate::http::csrf;
use crate::http::page_error::PageError;
use crate::http::page_routes::Visitor;
use crate::http::pages::{ConsentRow, Consents, Withdrawn};
use crate::http::portal::owner::is_enough;
use crate::http::reply::see_other;
use crate::http::sign_in::consent::question::shown_to;
use crate::http::sign_in::login::finish::{approved_user, finish, resumed_user};
use crate::http::sign_in::login::leave::deny_login;
use crate::http::sign_in::login::posted::LoginPost;
use crate::http::sign_in::login::repeat::repeated_response;
use crate::messages::Message;
use crate::oidc::authorize::answer::DenialReason;
use assent_model::application::ConsentPolicy;
use assent_model::id::Did;
use assent_model::login::{LocalPage, LoginRequest};
use assent_model::scope::Scope;
use assent_model::user::User;

const WITHDRAW: &str = "/consents/withdraw";

/// `POST /login/{id}/consent`: the user allows or denies.
pub(crate) async fn decide(posted: LoginPost) -> Result<Response, PageError> {
    let LoginPost {
        services,
        browser,
        form,
        view,
        ..
    } = &posted;
    let (login, user) = match view {
        LoginView::Approved(login, approved) => (
            login,
            approved_user(services, browser, login, approved).await?,
        ),
        LoginView::SignedIn(login, session) => (
            login,
            resumed_user(services, browser, login, *session).await?,
        ),
        LoginView::Answered(login, given) => {
            return Box::pin(repeated_response(services, browser, login, given)).await;
        }
        _ => return Ok(posted.redirect_to_current_page()),
    };
    let (Some(user), LoginRequest::Oidc(_)) = (user, &login.request) else {
        return Ok(posted.redirect_to_current_page());
    };
    posted.require_page_of_user(&shown_to(login.id, &user.signed_in.user))?;
    match form.decision.as_str() {
        "allow" => Box::pin(finish(services, browser, login, &user, Agreement::Given)).await,
        "deny" => deny_login(services, browser, login, DenialReason::NoConsent).await,
        _ => Ok(posted.redirect_to_current_page()),
    }
}

/// A form of the portal.
#[derive(Debug, Deserialize)]
pub(crate) struct Withdrawal {
    #[serde(default)]
    csrf: String,
    #[serde(default)]
    application: String,
}

/// `POST /consents/withdraw`: the user withdraws the consent to an application. A browser without a sufficient session
/// goes to the page, which leads to the sign-in.
pub(crate) async fn withdraw(
    Visitor { services, browser }: Visitor,
    Form(form): Form<Withdrawal>,
) -> Result<Response, PageError> {
    let consents = || LocalPage::Consents.path().into_owned();
    let signed_in = browser.signed_in(&services).await?;
    let user = signed_in.as_ref().map(|signed_in| signed_in.user.id);
    csrf::require_user(&services, &browser, WITHDRAW, user, &form.csrf, consents)?;
    let application: Option<Did> = form.application.parse().ok();
    let signed_in =
        signed_in.filter(|signed_in| is_enough(&services, LocalPage::Consents, signed_in));
    let (Some(BrowserSession { user, .. }), Some(application)) = (signed_in, application) else {
        return Ok(see_other(&consents()));
    };
    consent::withdraw(&services, &user, application.clone(), browser.origin()).await?;
    let notice = withdrawal_notice_url(&services, &browser, &user, &application)?;
    Ok(see_other(&notice))
}

/// The query of the portal's page after a withdrawal.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct WithdrawalNotice {
    /// The application of the withdrawn consent.
    #[serde(default)]
    withdrawn: String,
    /// The token that proves that this browser did it.
    #[serde(default)]
    token: String,
}

/// Returns the page's address after a withdrawal.
fn withdrawal_notice_url(
    services: &Services,
    browser: &Browser,
    user: &User,
    application: &Did,
) -> Result<String, InternalError> {
    let token = csrf::token(services, browser, &withdrawal_purpose(user, application))?;
    let mut query = form_urlencoded::Serializer::new(String::new());
    query
        .append_pair("withdrawn", application.as_str())
        .append_pair("token", &token);
    Ok(format!("/consents?{}", query.finish()))
}

fn withdrawal_purpose(user: &User, application: &Did) -> String {
    format!("{WITHDRAW} {} {application}", user.id)
}

/// Returns the consent that this user withdrew, if this server created the address and the consent is still withdrawn.
pub(crate) async fn withdrawn_consent(
    services: &Services,
    browser: &Browser,
    signed_in: &BrowserSession,
    notice: &WithdrawalNotice,
) -> Result<Option<Withdrawn>, InternalError> {
    let user = &signed_in.user;
    let Ok(application) = notice.withdrawn.parse::<Did>() else {
        return Ok(None);
    };
    if !csrf::is_token(
        services,
        browser,
        &withdrawal_purpose(user, &application),
        &notice.token,
    )? || consent::consents_of(services, user)
        .await?
        .iter()
        .any(|consent| consent.application == application)
    {
        return Ok(None);
    }
    let found = services.store.application(&application).await?;
    Ok(found.map(|application| Withdrawn {
        application: application.name.clone(),
        asks_again: application.settings.consent == ConsentPolicy::Ask,
    }))
}

pub(crate) async fn list(
    services: &Services,
    browser: &Browser,
    signed_in: &BrowserSession,
) -> Result<Consents, InternalError> {
    let rows = consent::consents_of(services, &signed_in.user)
        .await?
        .into_iter()
        .map(|consent| ConsentRow {
            application: consent.application_name,
            client_id: consent.application.to_string(),
            scopes: scope_words::in_words(&consent.scopes),
            offline: consent.scopes.has(Scope::OfflineAccess),
            since: Message::day(consent.granted_at),
            until: Message::day(consent.expires_at),
        });
    Ok(Consents {
        rows: rows.collect(),
        withdraw: WITHDRAW.to_owned(),
        csrf: csrf::user_token(services, browser, WITHDRAW, signed_in.user.id)?,
    })
}
