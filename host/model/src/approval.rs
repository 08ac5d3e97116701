//! Approvals: the request that devices show to a user, and its answer.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::action_approval::ActionOutline;
use crate::authorization_details::requested::DetailsTexts;
use crate::backchannel::{BackchannelBinding, BindingMessage, FirstApprover};
use crate::clock::Timestamp;
use crate::device_authorization::EnteredCode;
use crate::entropy::Entropy;
use crate::id::{
    ActionApprovalId, ApprovalId, BackchannelRequestId, CallerCheckId, DeviceId, Did, LoginId,
    UserId,
};
use crate::login::BrowserContext;
use crate::scope::Scopes;
use crate::secret::Digest;
use crate::session::{Amr, Authentication};
use crate::typed::plain_code;

/// The number of attempts to type the matching number before the request fails.
pub const NUMBER_ATTEMPTS: u32 = 3;

/// The approval request for a user's devices.
#[derive(Clone, Debug)]
pub struct Approval {
    /// The row's id.
    pub id: ApprovalId,
    /// The subject of the approval.
    pub subject: ApprovalSubject,
    /// The user whose devices received the request. `None` if no user with this name may sign in, during a cooldown,
    /// and if too many requests are pending. The browser gets the same page for the same time, so the page does not
    /// reveal which names exist.
    pub user_id: Option<UserId>,
    /// The digest of the typed name.
    pub name_digest: Digest,
    /// The digest of the waiting browser's cookie. No browser has that of a back-channel request.
    pub browser: Digest,
    /// The user's own device, if it scanned the code of the login page, or its passkey was used there; `None` after a
    /// typed name.
    pub scanned_by: Option<DeviceId>,
    /// Whether that device is in the waiting browser, so that both have the same user.
    pub is_same_browser: bool,
    /// The number that the browser shows and the user types. Two unexpired requests of one user or name never have the
    /// same number. `None` for a sign-in with a passkey, because no device is prompted, and for a back-channel request
    /// without digits to type.
    pub number: Option<MatchingNumber>,
    /// The details that the device shows.
    pub shown: PromptDetails,
    /// The time of the request.
    pub requested_at: Timestamp,
    /// The expiry of the request.
    pub expires_at: Timestamp,
    /// The remaining attempts to type the number.
    pub attempts_left: u32,
    /// The stage of the approval.
    pub stage: ApprovalStage,
}

/// The subject of an approval. An approval decides only once, and only about its subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalSubject {
    /// A sign-in in a waiting browser.
    SignIn(LoginId),
    /// A protected action in the console.
    ProtectedAction {
        /// The id of the action approval.
        id: ActionApprovalId,
        /// The kind of the action, and the ids of the affected objects.
        outline: ActionOutline,
    },
    /// A back-channel request of an application (OpenID CIBA Core 1.0). The device shows and signs its message and its
    /// scopes.
    Backchannel {
        /// The id of the back-channel request.
        id: BackchannelRequestId,
        /// The message that the user compares with that of the application; `None` if the application sent none.
        message: Option<BindingMessage>,
        /// The scopes to which an approval consents.
        scopes: Scopes,
        /// The way in which the user connects the request with the application.
        binding: BackchannelBinding,
    },
    /// A sign-in on a device whose code the user entered (RFC 8628). The device of the user shows and signs the code,
    /// its age and the scopes.
    DeviceAuthorization {
        /// The id of the back-channel request that the entry of the code created.
        id: BackchannelRequestId,
        /// The code that the user entered.
        entered: EnteredCode,
        /// The scopes to which an approval consents.
        scopes: Scopes,
    },
    /// The second approval of a back-channel request (four eyes). The device of the second approver shows and signs for
    /// whom the application asks, and what that user is asked, but not what that user decided.
    SecondApproval {
        /// The id of the back-channel request.
        id: BackchannelRequestId,
        /// The user for whom the application asks.
        first: FirstApprover,
        /// The message of the application.
        message: Option<BindingMessage>,
        /// The scopes to which the first user consents.
        scopes: Scopes,
        /// The way in which the first user connects the request with the application.
        binding: BackchannelBinding,
    },
    /// A help desk asks whether the user is on the phone. An approval grants nothing.
    CallerCheck {
        /// The id of the check.
        id: CallerCheckId,
        /// The name of the administrator who asks, which the device shows and signs.
        administrator: String,
    },
}

/// Writes the kind and the id of the subject.
impl std::fmt::Display for ApprovalSubject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::SignIn(id) => write!(f, "sign_in:{id}"),
            Self::ProtectedAction { id, .. } => write!(f, "action:{id}"),
            Self::Backchannel { id, .. } => write!(f, "backchannel:{id}"),
            Self::DeviceAuthorization { id, .. } => write!(f, "device_authorization:{id}"),
            Self::SecondApproval { id, .. } => write!(f, "second_approval:{id}"),
            Self::CallerCheck { id, .. } => write!(f, "caller_check:{id}"),
        }
    }
}

/// The details of a request that a device shows and signs. For a protected action the device also shows and signs the
/// summary, which is not stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptDetails {
    /// The application; `None` for the server's own pages.
    pub application: Option<Did>,
    /// The application's name.
    pub application_name: String,
    /// The typed name.
    pub account: String,
    /// The waiting browser, in English.
    pub browser: BrowserContext,
    /// The texts of the authorization details of the request.
    #[serde(default, skip_serializing_if = "DetailsTexts::is_empty")]
    pub details: DetailsTexts,
}

/// The stage of an approval. No stage changes back to `Requested`. A report, a withdrawal or a cancellation can replace
/// another later stage, and none of these permits a sign-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalStage {
    /// Waits for the user.
    Requested,
    /// The user approved.
    Approved {
        /// The evidence of the approval.
        by: Approver,
        /// The time at which the server received the evidence.
        at: Timestamp,
    },
    /// The user denied.
    Denied,
    /// The user did not answer in time.
    Expired,
    /// The user cancelled in the browser.
    Cancelled,
    /// Another request for the same name was pending in another browser. A channel may deliver one of them without the
    /// letters of the waiting page. So no request can be approved. The page shows this.
    Conflicted,
    /// A newer request of the same browser replaced the request. The page shows this.
    Replaced,
    /// The user may no longer sign in to the application. The page waits until the expiry, as for an unknown name.
    Withdrawn,
    /// The user reported the request, or another request while this one was pending ("this was not me"). The page waits
    /// until the expiry, because it must not reveal that a user answered.
    Reported,
    /// The request can no longer be approved.
    Failed(FailureReason),
}

impl ApprovalStage {
    /// Whether the page in the browser waits. A withdrawn or reported request looks pending there.
    pub const fn is_waiting(&self) -> bool {
        matches!(self, Self::Requested | Self::Withdrawn | Self::Reported)
    }
}

/// The origin of an approval request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum RequestKind {
    /// A name was typed in a browser without an earlier sign-in of this user, according to its cookies.
    Typed,
    /// A name was typed in a browser with an earlier sign-in of this user.
    KnownBrowser,
    /// Like [`RequestKind::KnownBrowser`], but a report has since revoked the trust in the user's browsers.
    StaleBrowser,
    /// The user's own device scanned the code of a page.
    Qr,
    /// An administrator's protected action.
    Action,
    /// The user used a passkey on the login page. The approval exists from the beginning.
    Passkey,
    /// An application's back channel, without a browser.
    Backchannel,
    /// The user entered the code of a device.
    DeviceAuthorization,
    /// An application's back channel that asks for another user, and needs a second approval.
    SecondApproval,
    /// A help desk that has a caller on the phone.
    CallerCheck,
}
crate::enum_texts!(RequestKind);

/// The evidence of a user's approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approver {
    /// A device of the user signed a proof, and the server verified it.
    Device {
        /// The device that signed the proof.
        id: DeviceId,
        /// The authentication methods that the proof shows.
        amr: Vec<Amr>,
    },
    /// A vendor confirmed the approval through the delegated channel with this name.
    Channel(String),
    /// The passkey of this device answered the challenge of the login page.
    Passkey(DeviceId),
}

impl Approver {
    /// Returns the user's authentication at the time `at`. For a vendor's approval the server only knows that the
    /// vendor used another channel than the browser's.
    pub fn authentication(&self, at: Timestamp) -> Authentication {
        match self {
            Self::Device { amr, .. } => Authentication {
                at,
                amr: amr.clone(),
                channel: None,
            },
            Self::Channel(channel) => Authentication {
                at,
                amr: vec![Amr::Mca],
                channel: Some(channel.clone()),
            },
            Self::Passkey(_) => Authentication {
                at,
                amr: Amr::BY_PASSKEY.to_vec(),
                channel: None,
            },
        }
    }
}

/// The reason for the failure of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureReason {
    /// The user typed a wrong number too often.
    NumberMismatch,
}

impl Approval {
    /// Whether the approval belongs to a sign-in in the browser with this cookie. An authenticator in that browser then
    /// needs no number. Protected actions always need the number.
    pub fn is_sign_in_in(&self, browser: Digest) -> bool {
        matches!(self.subject, ApprovalSubject::SignIn(_)) && self.browser == browser
    }

    /// Whether an approval with this typed number counts. A request without a number is approved without one, if the
    /// user compares its binding message or the code of the device instead, or uses a passkey.
    pub fn accepts_number(&self, typed: &str) -> bool {
        match (&self.subject, self.number) {
            (_, Some(number)) => MatchingNumber::parse(typed) == Some(number),
            (ApprovalSubject::Backchannel { binding, .. }, None) => {
                *binding != BackchannelBinding::Typed && typed.is_empty()
            }
            (
                ApprovalSubject::DeviceAuthorization { .. }
                | ApprovalSubject::SecondApproval { .. },
                None,
            ) => typed.is_empty(),
            (
                ApprovalSubject::SignIn(_)
                | ApprovalSubject::ProtectedAction { .. }
                | ApprovalSubject::CallerCheck { .. },
                None,
            ) => false,
        }
    }

    /// Whether only an approval with the passkey of a device counts. Digits to type are for the user of the application
    /// only, so a second approver uses a passkey instead.
    pub const fn needs_passkey(&self) -> bool {
        matches!(
            self.subject,
            ApprovalSubject::Backchannel {
                binding: BackchannelBinding::Unbound,
                ..
            } | ApprovalSubject::SecondApproval {
                binding: BackchannelBinding::Typed | BackchannelBinding::Unbound,
                ..
            }
        )
    }

    /// Returns the stage at `now`. A request expires without a write to the database.
    pub fn stage_at(&self, now: Timestamp) -> ApprovalStage {
        match &self.stage {
            stage if stage.is_waiting() && now >= self.expires_at => ApprovalStage::Expired,
            stage => stage.clone(),
        }
    }

    /// Returns the time until the request expires.
    pub fn remaining(&self, now: Timestamp) -> Duration {
        self.expires_at.remaining(now)
    }
}

/// The start and the length of cooldowns. During a cooldown, requests with the typed name are held. They are sent to
/// the user's devices when it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CooldownPolicy {
    /// The length of the first cooldown, the second, and so on; the last applies to all further ones. If empty, denials
    /// start no cooldown.
    pub steps: Vec<Duration>,
    /// The time without a denial that resets the cooldown to its first length.
    pub forgotten_after: Duration,
    /// The time span for the first cooldown: it begins at the second denial within this time.
    pub within: Duration,
    /// The minimum length for a report, which starts a cooldown at once. `None` for a denial.
    pub report: Option<Duration>,
}

impl CooldownPolicy {
    /// Returns the length of the cooldown after this number of denials, or `None` if there is no cooldown.
    pub fn length(&self, denials: u32) -> Option<Duration> {
        if self.report.is_none() && denials < 2 {
            return None;
        }
        let index = usize::try_from(denials.saturating_sub(2)).unwrap_or(usize::MAX);
        let step = self
            .steps
            .get(index)
            .or_else(|| self.steps.last())
            .copied()
            .unwrap_or_default();
        Some(step.max(self.report.unwrap_or_default())).filter(|length| !length.is_zero())
    }
}

/// The digits that the browser or the application shows and the user types on the device. The server never sends them
/// to the device. Those of a sign-in or a protected action are two. Those of a back-channel request are three, or two
/// to four of the application's choice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MatchingNumber {
    /// The number of digits: `042` is not `42`.
    digits: u8,
    value: u32,
}

/// The bounds of the number of digits.
const FEWEST_DIGITS: usize = 2;
const MOST_DIGITS: usize = 4;

impl MatchingNumber {
    /// Returns all numbers of two digits, 10 to 99, in random order. The request gets the first unused number.
    pub fn shuffled(entropy: &dyn Entropy) -> Vec<Self> {
        in_random_order((10..100).map(|value| Self { digits: 2, value }), entropy)
    }

    /// Returns all numbers of three digits, 100 to 999, in random order. So a back-channel request takes no number of a
    /// sign-in.
    pub fn shuffled_of_three_digits(entropy: &dyn Entropy) -> Vec<Self> {
        in_random_order((100..1000).map(|value| Self { digits: 3, value }), entropy)
    }

    /// Whether the number is even.
    pub const fn is_even(self) -> bool {
        self.value.is_multiple_of(2)
    }

    /// Whether a sign-in may have the number.
    pub const fn has_two_digits(self) -> bool {
        self.digits == 2
    }

    /// Parses digits of any script and width, as a user types them.
    pub fn parse_typed(text: &str) -> Option<Self> {
        Self::parse(&plain_code(text))
    }

    /// Parses two to four digits.
    pub fn parse(text: &str) -> Option<Self> {
        let is_number = (FEWEST_DIGITS..=MOST_DIGITS).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_digit());
        let value = is_number.then(|| text.parse().ok()).flatten()?;
        let digits = u8::try_from(text.len()).ok()?;
        Some(Self { digits, value })
    }
}

/// Shuffles numbers (Fisher-Yates).
fn in_random_order(
    numbers: impl Iterator<Item = MatchingNumber>,
    entropy: &dyn Entropy,
) -> Vec<MatchingNumber> {
    let mut numbers: Vec<MatchingNumber> = numbers.collect();
    for last in (1..numbers.len()).rev() {
        let bound = u32::try_from(last + 1).unwrap_or(u32::MAX);
        let other = usize::try_from(entropy.below(bound)).unwrap_or(0);
        numbers.swap(last, other);
    }
    numbers
}

impl fmt::Display for MatchingNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:0width$}",
            self.value,
            width = usize::from(self.digits)
        )
    }
}

impl fmt::Debug for MatchingNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MatchingNumber(**)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::SystemEntropy;

    #[test]
    fn cooldowns_begin_with_the_second_denial_or_a_report_and_grow_to_a_maximum() {
        let seconds = Duration::from_secs;
        let pause = |steps: &[u64], report: Option<u64>| CooldownPolicy {
            steps: steps.iter().copied().map(seconds).collect(),
            forgotten_after: seconds(60),
            within: seconds(60),
            report: report.map(seconds),
        };
        let lengths = |pause: CooldownPolicy| {
            [1, 2, 3, 4, u32::MAX]
                .map(|denials| pause.length(denials).map(|length| length.as_secs()))
        };
        assert_eq!(
            lengths(pause(&[30, 120], None)),
            [None, Some(30), Some(120), Some(120), Some(120)]
        );
        assert_eq!(
            lengths(pause(&[30, 120], Some(60))),
            [Some(60), Some(60), Some(120), Some(120), Some(120)]
        );
        assert_eq!(
            lengths(pause(&[30, 120], Some(0))),
            [Some(30), Some(30), Some(120), Some(120), Some(120)]
        );
        assert_eq!(lengths(pause(&[], None)), [None; 5]);
        assert_eq!(lengths(pause(&[], Some(0))), [None; 5]);
    }

    #[test]
    fn numbers_have_two_to_four_digits() {
        for (mut numbers, all) in [
            (MatchingNumber::shuffled(&SystemEntropy), 90),
            (
                MatchingNumber::shuffled_of_three_digits(&SystemEntropy),
                900,
            ),
        ] {
            for number in &numbers {
                assert_eq!(MatchingNumber::parse(&number.to_string()), Some(*number));
                assert_eq!(number.has_two_digits(), all == 90);
            }
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), all);
        }
        for text in ["00", "042", "0007", "9999"] {
            let number = MatchingNumber::parse(text).expect(text);
            assert_eq!(number.to_string(), text);
        }
        assert_ne!(MatchingNumber::parse("042"), MatchingNumber::parse("42"));
        for text in ["", "1", "12345", "+1", " 1", "１２"] {
            assert_eq!(MatchingNumber::parse(text), None, "{text:?}");
        }
    }
}
