//! An approval: the question put to a person's phone, and its answer.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::entropy::Entropy;
use crate::id::{ApprovalId, DeviceId, Did, LoginId, UserId};
use crate::model::session::{Amr, Authentication};
use crate::model::step::{Mentioned, ShownStep};
use crate::secret::Digest;

/// How often a person may type a number before the request fails.
pub const NUMBER_ATTEMPTS: u32 = 3;

/// The question put to a person's phone.
#[derive(Clone, Debug)]
pub struct Approval {
    /// The row's id.
    pub id: ApprovalId,
    /// The login that waits for it.
    pub login_id: LoginId,
    /// Who was asked. `None` where the name belongs to nobody who may sign in, or to somebody who denied a request a moment
    /// ago: the browser sees the same page and the same two minutes, but no phone is asked, so the answer does not tell
    /// who exists.
    pub user_id: Option<UserId>,
    /// The digest of the name that was typed. A person has one open request, by whichever name; of a name that reaches
    /// nobody there is one as well.
    pub name_digest: Digest,
    /// The person's own device, where it scanned the code of the login's page; `None` where somebody typed a name.
    pub scanned_by: Option<DeviceId>,
    /// The number that the browser shows and the person types.
    pub number: MatchingNumber,
    /// What the person is shown.
    pub shown: Shown,
    /// The person mentioned in the words of a step, if one is.
    pub mentions: Option<Mentioned>,
    /// When it was asked for.
    pub requested_at: Timestamp,
    /// Until when it can be answered.
    pub expires_at: Timestamp,
    /// How often a number may still be typed.
    pub attempts_left: u32,
    /// How far it has come.
    pub stage: ApprovalStage,
}

/// What a person is shown about a request, and signs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// The application; `None` for the host's own pages.
    pub application: Option<Did>,
    /// The application's name.
    pub application_name: String,
    /// The name that was typed.
    pub account: String,
    /// Where the browser seems to be.
    pub place: String,
    /// The browser and system in plain words.
    pub browser: String,
    /// What is to happen in place of a sign-in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<ShownStep>,
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
    /// It can't be answered any more, and its browser is not told: a newer request of the same person took its place, or
    /// the person may no longer sign in. The page waits on to its end, as it would for a name that nobody has.
    Replaced,
    /// It cannot be approved any more.
    Failed(FailureReason),
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
}

impl Approver {
    /// How the person was authenticated by what became known at `at`. Of what happened at a vendor nothing more is known
    /// than that it was over another channel than the browser's.
    pub fn authentication(&self, at: Timestamp) -> Authentication {
        match self {
            Self::Device { amr, .. } => Authentication { at, amr: amr.clone(), channel: None },
            Self::Channel(channel) => Authentication { at, amr: vec![Amr::Mca], channel: Some(channel.clone()) },
        }
    }
}

/// Why an approval failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureReason {
    /// The number was wrong too often.
    WrongNumber,
}

impl Approval {
    /// How far it has come at `now`: time alone makes a request expire.
    pub fn stage_at(&self, now: Timestamp) -> ApprovalStage {
        match &self.stage {
            ApprovalStage::Requested | ApprovalStage::Replaced if now >= self.expires_at => ApprovalStage::Expired,
            stage => stage.clone(),
        }
    }

    /// How long it can still be answered.
    pub fn remaining(&self, now: Timestamp) -> Duration {
        self.expires_at.remaining(now)
    }
}

/// For how long requests reach no phone of a person who denied one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// After the first denial, the second in a row, and so on; the last for all further ones. None: no pause.
    pub steps: Vec<Duration>,
    /// After what time without a denial they begin anew.
    pub forgotten_after: Duration,
    /// At least so long.
    pub least: Duration,
}

impl Pause {
    /// How long the pause is after so many denials in a row; `None` if there is none.
    pub fn length(&self, denials: u32) -> Option<Duration> {
        let index = usize::try_from(denials.saturating_sub(1)).unwrap_or(usize::MAX);
        let step = self.steps.get(index).or_else(|| self.steps.last()).copied().unwrap_or_default();
        Some(step.max(self.least)).filter(|length| !length.is_zero())
    }
}

/// The two digits that the browser shows and the person types on the phone. Never sent to the phone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MatchingNumber(u32);

impl MatchingNumber {
    /// A random number from 10 to 99.
    pub fn random(entropy: &dyn Entropy) -> Self {
        Self(10 + entropy.below(90))
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
    fn pauses_grow_to_the_last_and_there_may_be_none() {
        let seconds = Duration::from_secs;
        let pause = |steps: &[u64], least| Pause {
            steps: steps.iter().copied().map(seconds).collect(),
            forgotten_after: seconds(60),
            least: seconds(least),
        };
        let lengths =
            |pause: Pause| [1, 2, 3, u32::MAX].map(|denials| pause.length(denials).map(|length| length.as_secs()));
        assert_eq!(lengths(pause(&[30, 120], 0)), [Some(30), Some(120), Some(120), Some(120)]);
        assert_eq!(lengths(pause(&[30, 120], 60)), [Some(60), Some(120), Some(120), Some(120)]);
        assert_eq!(lengths(pause(&[], 0)), [None; 4]);
    }

    #[test]
    fn numbers_have_two_digits() {
        for _ in 0..1000 {
            let number = MatchingNumber::random(&SystemEntropy);
            assert_eq!(MatchingNumber::parse(&number.to_string()), Some(number));
        }
        for text in ["", "1", "123", "+1", " 1", "１２"] {
            assert_eq!(MatchingNumber::parse(text), None, "{text:?}");
        }
    }
}
