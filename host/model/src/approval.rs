//! An approval: the question put to a person's phone, and its answer.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::action_approval::ActionOutline;
use crate::clock::Timestamp;
use crate::entropy::Entropy;
use crate::id::{ActionApprovalId, ApprovalId, DeviceId, Did, LoginId, UserId};
use crate::secret::Digest;
use crate::session::{Amr, Authentication};

/// How often a person may type a number before the request fails.
pub const NUMBER_ATTEMPTS: u32 = 3;

/// The question put to a person's phone.
#[derive(Clone, Debug)]
pub struct Approval {
    /// The row's id.
    pub id: ApprovalId,
    /// What it permits.
    pub subject: ApprovalSubject,
    /// The user who received the request on the devices. `None` where the name belongs to no user who may sign in,
    /// during a cooldown, and where too many requests are pending: the browser gets the same page for the same time, so
    /// the page does not reveal which names exist.
    pub user_id: Option<UserId>,
    /// The digest of the name that was typed.
    pub name_digest: Digest,
    /// The digest of the cookie of the browser that waits.
    pub browser: Digest,
    /// The person's own device, if it scanned the code of the login's page, or its passkey was used there; `None`
    /// after a typed name.
    pub scanned_by: Option<DeviceId>,
    /// Whether that device is in the browser that waits: the user of the one is the user of the other.
    pub is_same_browser: bool,
    /// The number that the browser shows and the user types. No two unexpired requests of one user or name have the
    /// same one. `None` for a sign-in by a passkey, which no device is asked about.
    pub number: Option<MatchingNumber>,
    /// What the person is shown.
    pub shown: PromptDetails,
    /// When it was asked for.
    pub requested_at: Timestamp,
    /// Until when it can be answered.
    pub expires_at: Timestamp,
    /// How often a number may still be typed.
    pub attempts_left: u32,
    /// How far it has come.
    pub stage: ApprovalStage,
}

/// What an approval permits. It decides once, and about nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalSubject {
    /// A sign-in, whose browser waits for it.
    SignIn(LoginId),
    /// A protected action in the console.
    ProtectedAction {
        /// Its approval.
        id: ActionApprovalId,
        /// Its kind, and the ids of what it concerns.
        outline: ActionOutline,
    },
}

/// What a person is shown about a request, and signs. Of a protected action the summary comes to it, which is not
/// stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptDetails {
    /// The application; `None` for the host's own pages.
    pub application: Option<Did>,
    /// The application's name.
    pub application_name: String,
    /// The name that was typed.
    pub account: String,
    /// Where the browser seems to be.
    pub place: String,
    /// The browser and operating system.
    pub browser: String,
}

/// How far an approval has come. All but `Requested` are final.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalStage {
    /// Waits for the person.
    Requested,
    /// The person approved.
    Approved {
        /// How that is known.
        by: Approver,
        /// When it became known.
        at: Timestamp,
    },
    /// The person denied.
    Denied,
    /// Nobody answered in time.
    Expired,
    /// The person gave up in the browser.
    Cancelled,
    /// Another request for the same name was pending in another browser, and a channel without letters may carry one of
    /// them. None of them can be approved. Its page shows it.
    Conflicted,
    /// A newer request of the same browser replaced it. Its page shows it.
    Replaced,
    /// The user may no longer sign in there. The page waits to its end, as it would for an unknown name.
    Withdrawn,
    /// The user reported it, or another request while this one was pending ("this was not me"). The page waits to its
    /// end: it must not show that a user answered.
    Reported,
    /// It cannot be approved any more.
    Failed(FailureReason),
}

impl ApprovalStage {
    /// Whether the page in the browser waits. A withdrawn or reported request looks there as if it were still pending.
    pub const fn is_waiting(&self) -> bool {
        matches!(self, Self::Requested | Self::Withdrawn | Self::Reported)
    }
}

/// How an approval request began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// A name was typed in a browser in which the user never signed in, as far as its cookies show.
    Typed,
    /// A name was typed in a browser in which its user signed in before.
    KnownBrowser,
    /// The same, but a report revoked the trust in the user's browsers since.
    StaleBrowser,
    /// The user's own device scanned the code of a page.
    Qr,
    /// An administrator's protected action.
    Action,
    /// A passkey was used on the login page: the approval is given as the row begins.
    Passkey,
}

impl RequestKind {
    /// The kind's name in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Typed => "typed",
            Self::KnownBrowser => "known_browser",
            Self::StaleBrowser => "stale_browser",
            Self::Qr => "qr",
            Self::Action => "action",
            Self::Passkey => "passkey",
        }
    }
}

/// How it is known that a person approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approver {
    /// One of their devices proved it, and the proof was verified.
    Device {
        /// The device that the proof is of.
        id: DeviceId,
        /// What the proof shows.
        amr: Vec<Amr>,
    },
    /// A vendor said so, through the delegated channel with this name.
    Channel(String),
    /// The passkey of this device answered the challenge of the login page.
    Passkey(DeviceId),
}

impl Approver {
    /// How the person was authenticated by what became known at `at`. Of what happened at a vendor nothing more is
    /// known than that it was over another channel than the browser's.
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

/// Why an approval failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureReason {
    /// The number was wrong too often.
    NumberMismatch,
}

impl Approval {
    /// Whether the approval is of a sign-in in the browser with this cookie, so that an authenticator in that browser
    /// needs no number. Protected actions always need the number.
    pub fn is_sign_in_in(&self, browser: Digest) -> bool {
        matches!(self.subject, ApprovalSubject::SignIn(_)) && self.browser == browser
    }

    /// How far it has come at `now`: time alone makes a request expire.
    pub fn stage_at(&self, now: Timestamp) -> ApprovalStage {
        match &self.stage {
            stage if stage.is_waiting() && now >= self.expires_at => ApprovalStage::Expired,
            stage => stage.clone(),
        }
    }

    /// How long it can still be answered.
    pub fn remaining(&self, now: Timestamp) -> Duration {
        self.expires_at.remaining(now)
    }
}

/// The start and the length of cooldowns. During a cooldown requests with the typed name are held, and sent to the
/// user's devices when it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CooldownPolicy {
    /// The length of the first cooldown, the second, and so on; the last for all further ones. Empty: no cooldown after
    /// denials.
    pub steps: Vec<Duration>,
    /// The time without a denial after which they begin with the first again.
    pub forgotten_after: Duration,
    /// The first cooldown begins at the second denial within this time.
    pub within: Duration,
    /// For a report, which begins a cooldown at once: its least length. `None` for a denial.
    pub report: Option<Duration>,
}

impl CooldownPolicy {
    /// The length of the cooldown after this number of denials; `None` if there is none.
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

/// The two digits that the browser shows and the person types on the phone. Never sent to the phone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MatchingNumber(u32);

impl MatchingNumber {
    /// All numbers, 10 to 99, in random order (a Fisher-Yates shuffle): the request gets the first that is free.
    pub fn shuffled(entropy: &dyn Entropy) -> Vec<Self> {
        let mut numbers: Vec<Self> = (10..100).map(Self).collect();
        for last in (1..numbers.len()).rev() {
            let bound = u32::try_from(last + 1).unwrap_or(u32::MAX);
            let other = usize::try_from(entropy.below(bound)).unwrap_or(0);
            numbers.swap(last, other);
        }
        numbers
    }

    /// Whether it can be divided by two.
    pub const fn is_even(self) -> bool {
        self.0.is_multiple_of(2)
    }

    /// Reads the two digits.
    pub fn parse(text: &str) -> Option<Self> {
        let two_digits = text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit());
        two_digits.then(|| text.parse().ok()).flatten().map(Self)
    }
}

impl fmt::Display for MatchingNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}", self.0)
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
    fn cooldowns_begin_at_the_second_denial_or_at_a_report_and_grow_to_the_last() {
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
    fn numbers_have_two_digits() {
        let mut numbers = MatchingNumber::shuffled(&SystemEntropy);
        for number in &numbers {
            assert_eq!(MatchingNumber::parse(&number.to_string()), Some(*number));
        }
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 90);
        for text in ["", "1", "123", "+1", " 1", "１２"] {
            assert_eq!(MatchingNumber::parse(text), None, "{text:?}");
        }
    }
}
