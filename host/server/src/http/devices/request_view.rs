//! Approval requests, as devices show them.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::Services;
use crate::domain::approvals::prompt::Prompt;
use crate::domain::approvals::purpose::PurposeText;
use crate::http::operations::logos;
use assent_model::approval::ApprovalStage;
use assent_model::backchannel::BackchannelBinding;
use assent_model::id::ApprovalId;
use assent_model::secret::Digest;
use assent_model::statement::application_identifier;

/// The application that a user signs in to.
#[derive(Serialize, ToSchema)]
pub(super) struct RequestApplication {
    /// Its identifier, a DID; the issuer's URL for the server's own pages. The signature covers it.
    id: String,
    /// Its name. The signature covers it.
    name: String,
    /// The path of its logo on this server.
    #[schema(required)]
    logo: Option<String>,
}

/// A pending approval request: everything that the device shows and signs. The matching number is only in the browser.
#[derive(Serialize, ToSchema)]
pub(super) struct ApprovalRequest {
    /// The request's id.
    #[schema(value_type = String, pattern = "^[0-9a-f]{32}$")]
    id: ApprovalId,
    application: RequestApplication,
    /// The name that was typed in the browser, or the name of the user for whom an application asks.
    account: String,
    /// The location of the browser's IP address, in the language that `Accept-Language` prefers. The decision is sent
    /// with the same header, since the signature covers this text.
    place: String,
    /// The browser and operating system, by its own account, in the same language.
    browser: String,
    /// The summary of the protected action, in the same language; `null` for another request.
    #[schema(required)]
    action: Option<String>,
    /// The back-channel request of an application; `null` for another request.
    #[schema(required)]
    backchannel: Option<BackchannelDetails>,
    /// The question of a help desk whether the user is on the phone; `null` for another request.
    #[schema(required)]
    caller_check: Option<CallerCheckDetails>,
    /// The sign-in on a device whose code the user entered; missing for another request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    device_authorization: Option<DeviceAuthorizationDetails>,
    /// The second approval of a back-channel request for another user; missing for another request. `account` is the
    /// name of the device's own user.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    second_approval: Option<SecondApprovalDetails>,
    /// The texts of the authorization details that the application asks the user to permit, in the same language;
    /// missing if there are none. The device shows each of them completely, and signs them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    details: Vec<String>,
    /// When it was requested, in seconds since the epoch.
    requested_at: i64,
    /// When it expires, in seconds since the epoch.
    expires_at: i64,
    /// How often a number can still be typed.
    attempts_left: u32,
    /// Whether the sign-in is in the browser that sent the call, by its cookie. The user needs no number then.
    same_browser: bool,
}

/// What a device shows and signs of a back-channel request. It has no browser, so `place` and `browser` are empty.
#[derive(Serialize, ToSchema)]
pub(super) struct BackchannelDetails {
    /// The message that the user compares with that of the application.
    #[schema(required)]
    message: Option<String>,
    /// The permissions that the approval gives, in the same language.
    scopes: Vec<String>,
    /// What the user does: compare the message (`shown`), type two to four digits that the application shows (`typed`),
    /// or approve with the passkey of the device (`none`).
    binding: BackchannelBinding,
}

/// What a device shows and signs of a sign-in on another device (RFC 8628 section 5.4). `place` is the location of that
/// device, `browser` is empty, and the user types no number.
#[derive(Serialize, ToSchema)]
pub(super) struct DeviceAuthorizationDetails {
    /// The code that the user entered, which the other device shows.
    #[schema(pattern = "^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$")]
    user_code: String,
    /// When the other device asked, in seconds since the epoch.
    asked_at: i64,
    /// The permissions that the approval gives, in the same language.
    scopes: Vec<String>,
}

/// What a device shows and signs of a second approval (four eyes). `place` and `browser` are empty, and the user types
/// no number. It has nothing of the decision of the other user.
#[derive(Serialize, ToSchema)]
pub(super) struct SecondApprovalDetails {
    /// The account for which the application asks.
    #[serde(rename = "for")]
    first: String,
    /// The message of the application.
    #[schema(required)]
    message: Option<String>,
    /// The permissions that the application gets for that account, in the same language.
    scopes: Vec<String>,
    /// Whether only an approval with the passkey of the device counts.
    passkey: bool,
}

/// What a device shows and signs of the check of a caller. It has no browser, so `place` and `browser` are empty. The
/// user types the number that the administrator reads aloud. An approval grants nothing.
#[derive(Serialize, ToSchema)]
pub(super) struct CallerCheckDetails {
    /// The name of the administrator who asks.
    administrator: String,
}

/// The state of a request that is not the one that the user answered.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum OtherRequestState {
    /// The user can answer it.
    Pending,
    /// A newer request took its place.
    Replaced,
    /// The user cancelled it in the browser, or it met another request of the same user.
    Cancelled,
}

/// Another unexpired request of the same user, which has the typed number. It has all members that the signature of a
/// report covers.
#[derive(Serialize, ToSchema)]
pub(super) struct OtherRequest {
    #[serde(flatten)]
    request: ApprovalRequest,
    state: OtherRequestState,
}

/// Returns a request, with the logo of its application by its digest.
pub(super) fn approval_request(
    services: &Services,
    prompt: &Prompt,
    logo: Option<&str>,
    browser: Option<Digest>,
) -> ApprovalRequest {
    let Prompt {
        approval,
        browser: waiting,
        text,
        details,
    } = prompt;
    let (mut action, mut backchannel) = (None, None);
    let (mut device_authorization, mut caller_check) = (None, None);
    let mut second_approval = None;
    match text {
        PurposeText::SignIn => {}
        PurposeText::Action(summary) => action = Some(summary.clone()),
        PurposeText::DeviceAuthorization {
            code,
            asked_at,
            scopes,
        } => {
            device_authorization = Some(DeviceAuthorizationDetails {
                user_code: code.clone(),
                asked_at: asked_at.seconds(),
                scopes: scopes.clone(),
            });
        }
        PurposeText::CallerCheck(administrator) => {
            caller_check = Some(CallerCheckDetails {
                administrator: administrator.clone(),
            });
        }
        PurposeText::SecondApproval {
            first,
            message,
            scopes,
            by_passkey,
        } => {
            second_approval = Some(SecondApprovalDetails {
                first: first.clone(),
                message: message.as_ref().map(|message| message.as_str().to_owned()),
                scopes: scopes.clone(),
                passkey: *by_passkey,
            });
        }
        PurposeText::Backchannel {
            message,
            scopes,
            binding,
        } => {
            backchannel = Some(BackchannelDetails {
                message: message.as_ref().map(|message| message.as_str().to_owned()),
                scopes: scopes.clone(),
                binding: *binding,
            });
        }
    }
    let shown = &approval.shown;
    let logo = shown
        .application
        .as_ref()
        .zip(logo)
        .map(|(application, digest)| logos::address(application, digest));
    ApprovalRequest {
        id: approval.id,
        application: RequestApplication {
            id: application_identifier(shown.application.as_ref(), &services.issuer).to_owned(),
            name: shown.application_name.clone(),
            logo,
        },
        account: shown.account.clone(),
        place: waiting.place.clone(),
        browser: waiting.browser.clone(),
        action,
        backchannel,
        caller_check,
        device_authorization,
        second_approval,
        details: details.clone(),
        requested_at: approval.requested_at.seconds(),
        expires_at: approval.expires_at.seconds(),
        attempts_left: approval.attempts_left,
        same_browser: browser.is_some_and(|browser| approval.is_sign_in_in(browser)),
    }
}

/// Returns the request with the typed number.
pub(super) fn other_request(services: &Services, other: &Prompt) -> OtherRequest {
    let state = match other.approval.stage {
        ApprovalStage::Replaced => OtherRequestState::Replaced,
        ApprovalStage::Cancelled | ApprovalStage::Conflicted => OtherRequestState::Cancelled,
        _ => OtherRequestState::Pending,
    };
    OtherRequest {
        request: approval_request(services, other, None, None),
        state,
    }
}
