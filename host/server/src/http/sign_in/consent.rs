//! Consent: the page that requests it during a login, and its withdrawal on the portal.

pub(crate) mod question;

use std::sync::Arc;

use axum::Form;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;

use crate::domain::sessions::session::BrowserSession;
use crate::domain::sign_in::context::Agreement;
use crate::domain::sign_in::login::OpenLogin;
use crate::domain::sign_in::login::view::LoginView;
use crate::domain::sign_in::{consent, login};
use crate::domain::{InternalError, Services};
use crate::http::context::Browser;
use crate::http::csrf;
use crate::http::csrf::UserToken;
use crate::http::pages::{ConsentRow, Consents, Withdrawn};
use crate::http::portal::owner::is_enough;
use crate::http::reply::{forged, internal_error, other_user, see_other};
use crate::http::sign_in::answer::deliver;
use crate::http::sign_in::consent::question::{in_words, shown_to};
use crate::http::sign_in::login::finish::{finish, resumed, session_before};
use crate::http::sign_in::login::posted::LoginPost;
use crate::http::sign_in::login::repeat::{answered_meanwhile, repeated};
use crate::messages::Message;
use crate::oidc::authorize::answer;
use crate::oidc::authorize::answer::DenialReason;
use assent_model::application::ConsentPolicy;
use assent_model::id::Did;
use assent_model::login::{LocalPage, LoginRequest};
use assent_model::scope::Scope;
use assent_model::user::User;

const WITHDRAW: &str = "/consents/withdraw";

/// `POST /login/{id}/consent`: the user allows or denies.
pub(crate) async fn decide(posted: LoginPost) -> Response {
    let LoginPost {
        services,
        browser,
        form,
        view,
        ..
    } = &posted;
    let reply = async {
        let mut old = None;
        let (login, authenticated_user) = match view {
            LoginView::Approved(login, approved) => {
                old = session_before(services, browser, login).await?;
                (
                    login,
                    login::authenticated_user(
                        services,
                        approved,
                        old.as_ref(),
                        (browser.secret(), browser.origin()),
                    )
                    .await?,
                )
            }
            LoginView::SignedIn(login, session) => {
                (login, resumed(services, browser, login, *session).await?)
            }
            LoginView::Answered(login, given) => {
                return Box::pin(repeated(services, browser, login, given)).await;
            }
            _ => return Ok(posted.redirect_to_current_page()),
        };
        let (Some(authenticated_user), LoginRequest::Oidc(request)) =
            (authenticated_user, &login.request)
        else {
            return Ok(posted.redirect_to_current_page());
        };
        if !csrf::is_token(
            services,
            browser,
            &shown_to(login.id, &authenticated_user.signed_in.user),
            &form.user,
        )? {
            return Ok(posted.redirect_to_current_page());
        }
        match form.decision.as_str() {
            "allow" => {
                finish(
                    services,
                    browser,
                    login,
                    &authenticated_user,
                    old.as_ref(),
                    Agreement::Given,
                )
                .await
            }
            "deny" => {
                let answer = answer::deny(
                    services,
                    OpenLogin::Stored(login.id),
                    request,
                    DenialReason::NoConsent,
                )
                .await?;
                match answer {
                    Some(answer) => {
                        Ok(deliver(services, browser.language(), &answer, login.id).await)
                    }
                    None => answered_meanwhile(services, browser, login.id).await,
                }
            }
            _ => Ok(posted.redirect_to_current_page()),
        }
    };
    posted.reply(Box::pin(reply).await)
}

/// A form of the portal.
#[derive(Debug, Deserialize)]
pub(crate) struct Withdrawal {
    #[serde(default)]
    csrf: String,
    #[serde(default)]
    application: String,
}

/// `POST /consents/withdraw`: the user withdraws the consent to an application.
pub(crate) async fn withdraw(
    State(services): State<Arc<Services>>,
    browser: Browser,
    Form(form): Form<Withdrawal>,
) -> Response {
    let reply = async {
        let signed_in = browser.signed_in(&services).await?;
        let user = signed_in.as_ref().map(|signed_in| signed_in.user.id);
        match csrf::check_user_token(&services, &browser, WITHDRAW, user, &form.csrf)? {
            UserToken::Valid => {}
            // The page leads to the sign-in.
            UserToken::OtherUser if user.is_none() => return Ok(see_other("/consents")),
            UserToken::OtherUser => {
                let page = "/consents".to_owned();
                return Ok(other_user(&services, browser.language(), page));
            }
            UserToken::Forged => return Ok(forged(&services, browser.language())),
        }
        let application: Option<Did> = form.application.parse().ok();
        let signed_in =
            signed_in.filter(|signed_in| is_enough(&services, LocalPage::Consents, signed_in));
        if let (Some(signed_in), Some(application)) = (signed_in, application) {
            consent::withdraw(
                &services,
                &signed_in.user,
                application.clone(),
                browser.origin(),
            )
            .await?;
            return Ok(see_other(&withdrawal_notice_url(
                &services,
                &browser,
                &signed_in.user,
                &application,
            )?));
        }
        Ok(see_other("/consents"))
    };
    reply.await.unwrap_or_else(|error: InternalError| {
        internal_error(&services, browser.language(), &error)
    })
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
    let token = csrf::token(services, browser, &withdrawn_by(user, application))?;
    let mut query = form_urlencoded::Serializer::new(String::new());
    query
        .append_pair("withdrawn", application.as_str())
        .append_pair("token", &token);
    Ok(format!("/consents?{}", query.finish()))
}

fn withdrawn_by(user: &User, application: &Did) -> String {
    format!("{WITHDRAW} {} {application}", user.id)
}

/// Returns the consent that this user withdrew, if this server created the address and the consent is still withdrawn.
pub(crate) async fn withdrawn(
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
        &withdrawn_by(user, &application),
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

/// Returns the consents of the user.
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
            scopes: in_words(&consent.scopes),
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
