//! Requests for an approval: for a typed name, a scanned code and a protected action.

use std::sync::Arc;

use super::draft::{ApprovalDraft, RequestSubject, RequestedAction, open_request};
use super::name_owner::{NameOwner, name_owner};
use crate::domain::approvals::channels;
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
/// An unknown name, and a user who may not sign in or has a cooldown, get the same page, the same queries and the same
/// two minutes; only the request is not sent. So the answer does not reveal which names exist. `standing` says whether
/// the user of the name signed in in this browser before. The limits count a request from a stale browser as one from a
/// known browser, so the answer does not reveal the report either. It reaches the devices only within the places of
/// unknown browsers.
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
        asked: user_id,
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

/// Notes that a limit refused a typed name. The refused page waits for nothing, but its user expects a prompt now. A
/// stranger who used up the limit on purpose must not have the user approve the stranger's: so it counts as a second
/// request does, where a channel without letters could carry the other one.
///
/// It writes even though a limit was reached, which the limit of pages for each network bounds. The queries are the
/// same for any name.
///
/// # Errors
/// If the store fails.
pub async fn refuse(
    services: &Services,
    login: &Login,
    name: &LoginName,
) -> Result<(), InternalError> {
    if !channels::are_letterless(services) {
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

/// Asks the phones of a person one of whose devices, the one that says so, scanned the code of a login's page. What
/// others who type the person's name do to it does not hold it up: no pause, and no limit of theirs.
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
/// the session, so, as with a QR sign-in, the limits of typed names do not apply. A caller with a token may be anybody
/// for the administrator, so a cooldown holds the request.
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
