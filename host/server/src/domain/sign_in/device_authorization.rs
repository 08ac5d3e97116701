//! Sign-in on a device whose code the user enters (RFC 8628): the codes, and their entry in an authenticator.
//!
//! The entry of a code decides nothing. It creates an approval request of the user whose authenticator entered it,
//! which shows the application, the location and the age of the request (section 5.4). A code is entered once.

use std::sync::Arc;

use crate::domain::approvals::purpose::BackchannelQuestion;
use crate::domain::approvals::request;
use crate::domain::operations::traffic::rate_limits::keys::Network;
use crate::domain::operations::traffic::rate_limits::limit::RateLimitError;
use crate::domain::sign_in::access::{Access, access};
use crate::domain::{InternalError, Services};
use assent_model::application::{Application, GrantType};
use assent_model::audit::Origin;
use assent_model::authorization_details::requested::AuthorizationDetails;
use assent_model::backchannel::{BackchannelBinding, BackchannelRequest};
use assent_model::device::Device;
use assent_model::device_authorization::{DeviceAuthorization, EnteredCode, UserCode};
use assent_model::id::{ApprovalId, BackchannelRequestId};
use assent_model::secret::Digest;
use assent_model::user::{LifecycleState, User};
use assent_store::RequestOutcome;

/// The path of the page for browsers (`verification_uri`).
pub const PAGE: &str = "/device";

/// Returns the path of the page that shows this code (`verification_uri_complete`).
pub fn page_of_code(code: &UserCode) -> String {
    format!("{PAGE}?user_code={code}")
}

/// Returns the digest by which a code is stored. A code has only 34 bits, so its digest needs a key.
pub fn digest_of_code(services: &Services, code: &UserCode) -> Result<Digest, InternalError> {
    let digest = services.root_secret.derive("user code", code.as_bytes())?;
    Ok(Digest::from_bytes(digest))
}

/// The outcome of an entered code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryOutcome {
    /// The user received an approval request.
    Asked(ApprovalId),
    /// No open request has this code, or another user entered it before.
    UnknownCode,
    /// The user or the account in the application is suspended.
    Closed,
    /// The user has no access to the application.
    NoAccess,
    /// The network entered too many wrong codes, or the device or the user has too many requests.
    TooMany(RateLimitError),
}

/// Processes a code that the user typed or scanned in the authenticator. A user may repeat it, because the response may
/// have been lost. A code without effect does not end the wait of the device.
pub async fn enter(
    services: &Arc<Services>,
    device: &Device,
    typed: &str,
    from: Origin,
) -> Result<EntryOutcome, InternalError> {
    let network = Network::from(from.address);
    // The attempt counts before the search, so that concurrent attempts do not exceed the limit.
    let wrong_codes = &services.rate_limits.wrong_user_codes;
    if let Err(exhausted) = wrong_codes.count_call(&network, services.now()) {
        return Ok(EntryOutcome::TooMany(exhausted));
    }
    let Some(found) = find(services, device, typed).await? else {
        tracing::info!(device = %device.id, "user code rejected: unknown, expired or used");
        return Ok(EntryOutcome::UnknownCode);
    };
    wrong_codes.take_back(&network);
    let (entry, application) = match found {
        Found::Open(entry, application) => (entry, application),
        Found::Asked(approval) => return Ok(EntryOutcome::Asked(approval)),
    };
    let user = services.store.user(device.user_id).await?;
    let Some(user) = user.filter(|user| user.state == LifecycleState::Active) else {
        return Ok(EntryOutcome::Closed);
    };
    match access(services, &user, &application.id).await? {
        Access::Granted(_) => {}
        Access::NoAccount => return Ok(EntryOutcome::NoAccess),
        Access::Closed => return Ok(EntryOutcome::Closed),
    }
    let actions = &services.rate_limits.actions_per_device;
    if let Err(exhausted) = actions.count_call(&device.id, services.now()) {
        return Ok(EntryOutcome::TooMany(exhausted));
    }
    ask(services, (device, &user), *entry, &application, from).await
}

/// A code that no user has entered, with its request.
struct OpenCode {
    code: UserCode,
    request: DeviceAuthorization,
}

/// The request of a code.
enum Found {
    /// No user has entered the code.
    Open(Box<OpenCode>, Arc<Application>),
    /// The user of the device entered the code before.
    Asked(ApprovalId),
}

/// Returns the request of a typed code, if the user of the device may enter it.
async fn find(
    services: &Services,
    device: &Device,
    typed: &str,
) -> Result<Option<Found>, InternalError> {
    let Some(code) = UserCode::parse_typed(typed) else {
        return Ok(None);
    };
    let digest = digest_of_code(services, &code)?;
    let found = services
        .store
        .device_authorization_of_code(digest, services.now())
        .await?;
    let Some(request) = found else {
        return Ok(None);
    };
    if request.is_entered {
        let own = own_approval(services, device, request.id).await?;
        return Ok(own.map(Found::Asked));
    }
    let application = services.store.application(&request.application).await?;
    let application = application.filter(|application| {
        let settings = &application.settings;
        settings.enabled && settings.grant_types.contains(&GrantType::DeviceCode)
    });
    Ok(application
        .map(|application| Found::Open(Box::new(OpenCode { code, request }), application)))
}

/// Returns the approval request of an entered code, if the user of the device entered it.
async fn own_approval(
    services: &Services,
    device: &Device,
    id: BackchannelRequestId,
) -> Result<Option<ApprovalId>, InternalError> {
    let found = services.store.approval_of_backchannel(id).await?;
    let own = found.filter(|approval| approval.user_id == Some(device.user_id));
    Ok(own.map(|approval| approval.id))
}

/// Requests the approval from the user who entered the code.
async fn ask(
    services: &Arc<Services>,
    (device, user): (&Device, &User),
    OpenCode { code, request }: OpenCode,
    application: &Application,
    from: Origin,
) -> Result<EntryOutcome, InternalError> {
    let DeviceAuthorization {
        id,
        digest,
        scopes,
        origin,
        requested_at: asked_at,
        expires_at,
        ..
    } = request;
    let question = BackchannelQuestion {
        request: BackchannelRequest {
            id,
            digest,
            application: application.id.clone(),
            user_id: user.id,
            scopes,
            details: AuthorizationDetails::default(),
            message: None,
            // The user compares the code.
            binding: BackchannelBinding::Shown,
            entered_code: Some(EnteredCode { code, asked_at }),
            second: None,
            requested_at: services.now(),
            expires_at,
            is_claimed: false,
        },
        delivery: None,
        application_name: application.name.clone(),
        chosen_number: None,
        seconds: Vec::new(),
    };
    let outcome =
        request::ask_by_user_code(services, &question, (device, user), origin, from).await?;
    Ok(match outcome {
        // Another call of the same user may have entered the code at this moment.
        RequestOutcome::Prompted(_) | RequestOutcome::NotOpen => {
            match own_approval(services, device, id).await? {
                Some(approval) => EntryOutcome::Asked(approval),
                None => EntryOutcome::UnknownCode,
            }
        }
        // The user was suspended at this moment.
        RequestOutcome::NotPrompted => EntryOutcome::Closed,
        // The request has no number that could be taken.
        RequestOutcome::TooMany | RequestOutcome::NumberTaken => EntryOutcome::TooMany(
            RateLimitError::within(services.settings.oidc.device_authorization.interval.get()),
        ),
    })
}
