//! The error codes of the authenticator API.

use crate::http::api::error_kinds::error_kinds;

error_kinds! {
    ErrorCode, "The fault. The names are stable: apps rely on them.";
    /// A part of the token of a link is missing or was changed. The end of a token is a check, by which a client can
    /// see that itself.
    LinkDamaged = "link_damaged", BAD_REQUEST, "This link is damaged. Open it again, or copy all of it.";
    /// The body or the query is not valid for the operation.
    InvalidRequest = "invalid_request", BAD_REQUEST, "The server cannot read the request.";
    /// No device has this id, the device was revoked, or the signature of the call is not the device's.
    DeviceNotEnrolled = "device_not_enrolled", UNAUTHORIZED,
        "This phone is not enrolled any more. Ask your administrator for a new link.";
    /// The time of the call differs from the server's by more than 60 seconds. `now` is the server's; the client signs
    /// the call with it again.
    ClockDifference = "clock_difference", UNAUTHORIZED, "The phone's clock is wrong.";
    /// A page of another site sent the request.
    CrossSiteRequest = "cross_site_request", FORBIDDEN, "A page of another site cannot call the authenticator.";
    /// The signature in the body is not the device's signature of the expected text.
    InvalidProof = "invalid_proof", FORBIDDEN, "The signature is not valid. Load the app again and repeat.";
    /// The browser cookie of the call is not that of the sign-in, so the user has to type the number.
    OtherBrowser = "other_browser", FORBIDDEN, "The sign-in is in another browser: type its number.";
    /// The assertion or credential is not the answer to the last options, or the options expired.
    InvalidPasskey = "invalid_passkey", FORBIDDEN, "The answer of this phone's passkey is not valid. Try again.";
    /// The application accepts only approvals with a passkey, and the device has none. The request remains pending.
    PasskeyMissing = "passkey_missing", FORBIDDEN,
        "The application accepts only approvals with a passkey: add one to this phone first.";
    /// The user is suspended or terminated.
    UserInactive = "user_inactive", FORBIDDEN, "Your account cannot be used. Ask your administrator.";
    /// The user has no access to the application on the other device.
    NoAccess = "no_access", FORBIDDEN, "You have no access to this application. Ask your administrator.";
    /// The user has no device with this id.
    DeviceNotFound = "device_not_found", NOT_FOUND, "You have no such device.";
    /// The user has no approval request with this id.
    RequestNotFound = "request_not_found", NOT_FOUND, "There is no such request for you.";
    /// The request was decided before.
    AlreadyDecided = "already_decided", CONFLICT, "This request was decided already.";
    /// Another enrolment has this public key.
    KeyInUse = "key_in_use", CONFLICT, "This key is enrolled already. Load the page again and repeat.";
    /// The device has a passkey, or another device has this one.
    PasskeyExists = "passkey_exists", CONFLICT, "This phone has a passkey already. Remove that one first.";
    /// The device has a passkey, and the call must be sent again with its assertion for `options`. The first call
    /// changed nothing.
    PasskeyRequired = "passkey_required", CONFLICT,
        "This phone has a passkey: confirm with it, in the browser that it was added in.";
    /// The issuer has an IP address instead of a domain name, so it cannot have passkeys.
    PasskeysUnsupported = "passkeys_unsupported", CONFLICT,
        "This server has an address in place of a name, and passkeys need a name.";
    /// The user has 20 devices, which is the limit.
    TooManyDevices = "too_many_devices", CONFLICT,
        "You have reached the limit of devices. Remove one, then open the link again.";
    /// The approval request expired.
    Expired = "expired", GONE, "This request has expired.";
    /// The server does not know the enrolment link. It may be of another server, or was deleted after its retention.
    LinkNotFound = "link_not_found", GONE,
        "This server does not know this link. Ask your administrator for a new one.";
    /// The enrolment link was used. The device with the key that used it gets its result again instead.
    LinkUsed = "link_used", GONE, "This link was used already. Ask your administrator for a new one.";
    /// The enrolment link expired unused.
    LinkExpired = "link_expired", GONE, "This link has expired. Ask your administrator for a new one.";
    /// The enrolment link was withdrawn or replaced by a newer one, or its user may not sign in any more.
    LinkWithdrawn = "link_withdrawn", GONE,
        "This link was withdrawn or replaced. Ask your administrator for a new one.";
    /// The user has no new recovery codes with this id. They were created more than 30 minutes ago, or newer ones were
    /// created since.
    RecoveryCodesNotFound = "recovery_codes_not_found", GONE,
        "These codes cannot be confirmed any more. Create new ones.";
    /// The sign-in of the code ended, has a user already, or never existed.
    SignInNotFound = "sign_in_not_found", GONE,
        "This code was used already, or it has expired. Load the sign-in page again.";
    /// No device that waits has this code, or another user has entered it.
    UserCodeNotFound = "user_code_not_found", GONE,
        "This code is wrong or has expired. Compare it with the other device.";
    /// A device name has 1 to 80 characters, none of them a control character.
    InvalidName = "invalid_name", UNPROCESSABLE_ENTITY, "Give the device a name of 1 to 80 characters.";
    /// The endpoint is not a URL with a host and at most 2000 bytes, or the keys cannot encrypt.
    InvalidSubscription = "invalid_subscription", UNPROCESSABLE_ENTITY, "This subscription cannot be used.";
    /// The number differs from the number in the browser. `attempts_left` says how often it can still be typed.
    NumberMismatch = "number_mismatch", UNPROCESSABLE_ENTITY, "That is not the number in the browser.";
    /// The device exceeded a rate limit. `retry_after` says when to try again.
    TooManyCalls = "too_many_calls", TOO_MANY_REQUESTS,
        "This phone did that so often that the server rejected it this time. Wait and try again.";
    /// The device began too many QR sign-ins. `retry_after` says when to try again.
    TooManySignIns = "too_many_sign_ins", TOO_MANY_REQUESTS,
        "This phone scanned so many codes that the server rejected this one. Wait a minute and try again.";
    /// The network exceeded the rate limit of calls with an invalid link or signature. The header `Retry-After` says
    /// when to try again.
    TooManyRequests = "too_many_requests", TOO_MANY_REQUESTS,
        "There were too many failed attempts from your network. Wait a minute and try again.";
    /// The server cannot reach its database, or too many requests wait. The header `Retry-After` says when to try
    /// again.
    TemporarilyUnavailable = "temporarily_unavailable", SERVICE_UNAVAILABLE,
        "The server cannot reach its database at the moment. Try again in a few seconds.";
    /// The server failed.
    ServerError = "server_error", INTERNAL_SERVER_ERROR, "The server could not do this. Try again in a moment.";
}

impl ErrorCode {
    /// Whether the caller had neither a valid link nor a valid signature. The rate limit of a network counts these.
    pub(super) const fn is_unauthenticated(self) -> bool {
        matches!(
            self,
            Self::LinkNotFound
                | Self::LinkUsed
                | Self::LinkExpired
                | Self::LinkWithdrawn
                | Self::DeviceNotEnrolled
        )
    }
}
