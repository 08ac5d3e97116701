//! The limits of each kind of request: the pending requests of a user, the unexpired ones, and the requests that a new
//! one replaces.

use crate::tables::approvals::request::{ApprovalRequest, BackchannelDraft, UnexpiredRequest};
use assent_model::approval::{MatchingNumber, RequestKind};

/// The most pending requests of a user from unknown browsers, by typed names.
const PENDING_TYPED: usize = 5;
/// The most known browsers of a user with a pending request.
const PENDING_KNOWN: usize = 5;
/// Requests from unknown browsers. Pending requests of a stale browser count as such.
const UNKNOWN: &[RequestKind] = &[RequestKind::Typed, RequestKind::StaleBrowser];
/// The most unexpired requests of one typed name from unknown browsers, without approved ones: a user who approves each
/// sign-in may begin the next one. A user has two names, so they take at most 60 of the 90 numbers. The limit is per
/// name only: a limit per user would reveal which names belong to one user.
const TYPED_PER_NAME: usize = 30;
/// The most unexpired requests by all names of a user, because names change.
const TYPED_PER_USER: usize = 60;
/// The most unexpired requests of a user from known browsers, which may be shared with others. Together with those
/// of unknown browsers they leave numbers for QR sign-ins and protected actions.
const KNOWN_PER_USER: usize = 15;

/// The most open back-channel requests of a user with two digits, which applications choose. The others have three or
/// four. So sign-ins keep their numbers.
const BACKCHANNEL_OF_TWO_DIGITS: usize = 5;

/// The limit that rejects a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestLimit {
    TypedPerName,
    TypedPerUser,
    KnownPerUser,
    Backchannel,
    CallerCheck,
    Numbers,
}

impl RequestLimit {
    /// Returns the limit in words for the operator.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::TypedPerName => "30 unexpired requests of one typed name from unknown browsers",
            Self::TypedPerUser => "60 unexpired requests of one user from unknown browsers",
            Self::KnownPerUser => "15 unexpired requests of one user from known browsers",
            Self::Backchannel => "oidc.backchannel.open_requests of one application for one user",
            Self::CallerCheck => "one pending check of a caller for one user",
            Self::Numbers => "the matching numbers that no unexpired request has",
        }
    }
}

/// Whether a request began with a typed name.
pub(super) fn is_typed(kind: &str) -> bool {
    [
        RequestKind::Typed,
        RequestKind::KnownBrowser,
        RequestKind::StaleBrowser,
    ]
    .iter()
    .any(|one| one.as_str() == kind)
}

/// The first number that no unexpired request of the user or name has. `None` for a back-channel request without digits
/// to type, such as one with the code of a device.
///
/// # Errors
/// The limit, if there are too many requests.
pub(super) fn free_number(
    unexpired: &[UnexpiredRequest],
    request: &ApprovalRequest,
) -> std::result::Result<Option<MatchingNumber>, RequestLimit> {
    if let Some(draft) = &request.backchannel {
        if !has_backchannel_place(unexpired, draft, request.kind) {
            return Err(RequestLimit::Backchannel);
        }
        if request.numbers.is_empty() {
            return Ok(None);
        }
    }
    let is_pending_check = |other: &UnexpiredRequest| {
        other.is_kind(RequestKind::CallerCheck) && other.state == "requested"
    };
    // Otherwise the numbers of two help desks could be confused.
    if request.kind == RequestKind::CallerCheck && unexpired.iter().any(is_pending_check) {
        return Err(RequestLimit::CallerCheck);
    }
    if request.kind == RequestKind::Typed {
        let name = request.approval.name_digest.to_text();
        let typed = || {
            unexpired
                .iter()
                .filter(|other| other.is_kind(RequestKind::Typed))
        };
        let of_name = typed()
            .filter(|other| other.name_digest == name && other.state != "approved")
            .count();
        if of_name >= TYPED_PER_NAME {
            return Err(RequestLimit::TypedPerName);
        }
        if typed().count() >= TYPED_PER_USER {
            return Err(RequestLimit::TypedPerUser);
        }
    }
    // A stale browser counts as a known one, because a rejection is visible on the page.
    const KNOWN: [RequestKind; 2] = [RequestKind::KnownBrowser, RequestKind::StaleBrowser];
    let known = || {
        unexpired
            .iter()
            .filter(|other| KNOWN.iter().any(|kind| other.is_kind(*kind)))
    };
    if KNOWN.contains(&request.kind) && known().count() >= KNOWN_PER_USER {
        return Err(RequestLimit::KnownPerUser);
    }
    let of_two_digits = unexpired.iter().filter(|other| {
        other.is_kind(RequestKind::Backchannel)
            && keeps_number(other)
            && other
                .number
                .as_ref()
                .is_some_and(|number| number.len() == 2)
    });
    let is_full_of_two_digits = of_two_digits.count() >= BACKCHANNEL_OF_TWO_DIGITS;
    // Email addresses and other names have different numbers, for every user. Otherwise an observer of two names with
    // pages that never show the same number would conclude that they belong to one user.
    let is_address = request.approval.shown.account.contains('@');
    let is_free = |number: &MatchingNumber| {
        if request.kind == RequestKind::Typed && number.is_even() != is_address {
            return false;
        }
        if request.backchannel.is_some() && number.has_two_digits() && is_full_of_two_digits {
            return false;
        }
        let number = number.to_string();
        let has_it = |other: &UnexpiredRequest| other.number.as_deref() == Some(number.as_str());
        !unexpired
            .iter()
            .any(|other| keeps_number(other) && has_it(other))
    };
    let number = request.numbers.iter().copied().find(is_free);
    number.map(Some).ok_or(RequestLimit::Numbers)
}

/// Whether no other request may have the number of this unexpired one. A back-channel request may be valid for a day,
/// so its end frees its number.
fn keeps_number(other: &UnexpiredRequest) -> bool {
    !other.is_kind(RequestKind::Backchannel) || is_open(other)
}

/// Whether a back-channel request looks pending to its application.
fn is_open(other: &UnexpiredRequest) -> bool {
    matches!(other.state.as_str(), "requested" | "withdrawn" | "reported")
}

/// Whether the application may have another open request for the user. Requests that reach no device count too, because
/// the application must not learn which ones do. A request that the application withdrew counts until it would have
/// expired, so that withdrawals do not prompt the user more often.
fn has_backchannel_place(
    unexpired: &[UnexpiredRequest],
    draft: &BackchannelDraft,
    kind: RequestKind,
) -> bool {
    let application = draft.request.application.to_string();
    let is_counted = |other: &&UnexpiredRequest| {
        other.is_kind(kind)
            && other.application_id.as_deref() == Some(application.as_str())
            && (is_open(other) || other.state == "cancelled")
    };
    let open = unexpired.iter().filter(is_counted).count();
    u32::try_from(open).is_ok_and(|open| open < draft.most_open)
}

/// Whether the user's devices have room for the request. A held request takes a place too, because it is sent later.
/// QR sign-ins and protected actions always have a place. So do back-channel requests and checks of callers, which have
/// limits of their own.
pub(super) fn has_place(pending: &[&UnexpiredRequest], request: &ApprovalRequest) -> bool {
    let (kinds, most) = match request.kind {
        RequestKind::Typed | RequestKind::StaleBrowser => (UNKNOWN, PENDING_TYPED),
        RequestKind::KnownBrowser => (&[RequestKind::KnownBrowser][..], PENDING_KNOWN),
        RequestKind::Qr
        | RequestKind::Action
        | RequestKind::Passkey
        | RequestKind::Backchannel
        | RequestKind::DeviceAuthorization
        | RequestKind::SecondApproval
        | RequestKind::CallerCheck => return true,
    };
    let user = request
        .approval
        .user_id
        .map(|id| id.to_string())
        .unwrap_or_default();
    let takes_place = |other: &&&UnexpiredRequest| {
        kinds.iter().any(|kind| other.is_kind(*kind)) && other.is_for(&user)
    };
    pending.iter().filter(takes_place).count() < most
}

macro_rules! replace_of_user {
    ($kind:literal) => {
        concat!(
            "UPDATE approvals SET state = 'replaced', decided_at = $3
             WHERE browser = $1 AND named_user = $2 AND kind = '",
            $kind,
            "' AND state = 'requested' AND expires_at > $3
             RETURNING id"
        )
    };
}

/// The statement that replaces the pending requests of the same browser, and its subject. A typed request replaces a
/// typed one for the same name. A QR sign-in or a protected action replaces one of the same kind for the same user. No
/// request replaces one of another browser.
pub(super) fn replaced_requests(request: &ApprovalRequest) -> Option<(&'static str, String)> {
    let name = request.approval.name_digest.to_text();
    let user = request.known.map(|user| user.to_string());
    match request.kind {
        // By the name only: a replacement by the user would reveal which names belong to one user.
        RequestKind::Typed | RequestKind::KnownBrowser | RequestKind::StaleBrowser => Some((
            "UPDATE approvals SET state = 'replaced', decided_at = $3
             WHERE browser = $1 AND name_digest = $2 AND kind IN ('typed', 'known_browser', 'stale_browser')
               AND state IN ('requested', 'withdrawn', 'reported') AND expires_at > $3 RETURNING id",
            name,
        )),
        RequestKind::Qr => Some((replace_of_user!("qr"), user.unwrap_or(name))),
        RequestKind::Action => Some((replace_of_user!("action"), user.unwrap_or(name))),
        // No device receives a request for a passkey: see `passkey_sign_ins`.
        RequestKind::Passkey => None,
        // An application ends its request by letting it expire.
        RequestKind::Backchannel
        | RequestKind::DeviceAuthorization
        | RequestKind::SecondApproval => None,
        // A user has one at most.
        RequestKind::CallerCheck => None,
    }
}
