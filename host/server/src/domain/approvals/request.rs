//! Requests for an approval: for a typed name, a QR sign-in and a protected action.

use std::sync::Arc;

use super::draft::{ApprovalDraft, RequestSubject, RequestedAction, open_request};
use super::name_owner::{NameOwner, name_owner};
use crate::domain::approvals::channel;
use crate::domain::sign_in::known_browsers::BrowserStatus;
use crate::domain::{InternalError, Services};
use assent_model::action_approval::ActionRequester;
use assent_model::approval::RequestKind;
use assent_model::audit::Origin;
use assent_model::device::Device;
use assent_model::id::DeviceId;
use assent_model::login::{BrowserContext, Login};
use assent_model::name::LoginName;
use assent_model::secret::Digest;
use assent_model::user::User;
use assent_store::{RefusedRequest, RequestOutcome};
use assent_telemetry::SPANS;

/// Requests an approval for a typed name.
///
/// The response must not reveal which names exist. An unknown name, and a user who may not sign in or has a cooldown,
/// get the same page, queries and waiting time. Only the request is not sent.
///
/// `standing` says whether the user of the name signed in in this browser before. The rate limits count a request from
/// a stale browser like one from a known browser. Therefore the response does not reveal the report either. Such a
/// request reaches the devices only within the number of pending requests for unknown browsers.
///
/// # Errors
/// If the store fails.
#[tracing::instrument(target = SPANS, skip_all, name = "approval.request")]
pub async fn ask(
    services: &Arc<Services>,
    login: &Login,
    (name, standing): (&LoginName, BrowserStatus),
    context: BrowserContext,
    from: Origin,
) -> Result<RequestOutcome, InternalError> {
    let kind = match standing {
        BrowserStatus::Known => RequestKind::KnownBrowser,
        BrowserStatus::Stale => RequestKind::StaleBrowser,
        BrowserStatus::Unknown => RequestKind::Typed,
    };
    let NameOwner {
        known,
        prompted_user: user_id,
        is_open,
    } = name_owner(services, name, standing, login.request.application()).await?;
    let draft = ApprovalDraft {
        subject: RequestSubject::SignIn(login),
        name,
        known,
        user_id,
        is_open,
        kind,
        scanned_by: None,
        context,
        is_same_browser: false,
    };
    open_request(services, draft, from).await
}

/// Records that a rate limit rejected a typed name. The user of the rejected page now expects a prompt, although the
/// page waits for none. An attacker who used up the limit must not receive the user's approval for the attacker's
/// request. The record therefore counts like a second request, if a channel without letters could carry the attacker's
/// request.
///
/// It is written although a limit was reached. The rate limit of login pages bounds these writes. The queries are the
/// same for any name.
///
/// # Errors
/// If the store fails.
pub async fn refuse(
    services: &Services,
    login: &Login,
    name: &LoginName,
) -> Result<(), InternalError> {
    if !channel::are_letterless(services) {
        return Ok(());
    }
    let known = services
        .store
        .user_by_login(name)
        .await?
        .map(|user| user.id);
    let refused_at = services.now();
    let refused = RefusedRequest {
        name_digest: Digest::sha256(name.as_str().as_bytes()),
        known,
        browser: login.browser,
        refused_at,
        counts_until: refused_at + services.settings.lifetimes.approval.get(),
    };
    Ok(services.store.refuse_request(refused).await?)
}

/// Requests an approval from the devices of a user who started a QR sign-in with one of them. Other clients that type
/// the user's name cannot delay it: it ignores cooldowns and their rate limits.
pub(crate) async fn ask_by_scan(
    services: &Arc<Services>,
    login: &Login,
    (device, user): (&Device, &User),
    is_same_browser: bool,
    from: Origin,
) -> Result<RequestOutcome, InternalError> {
    let draft = ApprovalDraft {
        subject: RequestSubject::SignIn(login),
        name: &user.name,
        known: Some(user.id),
        user_id: Some(user.id),
        is_open: true,
        kind: RequestKind::Qr,
        scanned_by: Some(device.id),
        context: login.context.clone(),
        is_same_browser,
    };
    open_request(services, draft, from).await
}

/// Requests the approval of a protected action from the devices of the administrator. In the console, `device` approved
/// the session. The limits of typed names therefore do not apply, as with a QR sign-in. A caller with a token is not
/// authenticated by the administrator's device, so a cooldown holds its request.
///
/// # Errors
/// If the store fails.
pub(crate) async fn ask_about_action(
    services: &Arc<Services>,
    action: &RequestedAction,
    (device, user): (DeviceId, &User),
    context: BrowserContext,
    from: Origin,
) -> Result<RequestOutcome, InternalError> {
    let draft = ApprovalDraft {
        subject: RequestSubject::ProtectedAction(action),
        name: &user.name,
        known: Some(user.id),
        user_id: Some(user.id),
        is_open: true,
        kind: RequestKind::Action,
        scanned_by: match action.approval.requester {
            ActionRequester::Session(_) => Some(device),
            ActionRequester::Token => None,
        },
        context,
        is_same_browser: false,
    };
    open_request(services, draft, from).await
}
