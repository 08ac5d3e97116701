//! The icon of an event in the user's activity.

use assent_model::audit::{Actor, Entry, Event};

/// The attention that an event needs from the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Tone {
    /// The user's own action succeeded.
    Good,
    /// An operation was rejected, or something was removed or ended. The user should know the reason.
    Warn,
    /// An attacker may have tried to sign in as the user.
    Bad,
    /// All other events.
    Calm,
}
assent_model::enum_texts!(Tone);

impl Tone {
    /// Returns the tone of an entry. Sessions that the user ended need no attention.
    pub(super) fn of_entry(entry: &Entry) -> Self {
        let is_own = matches!(&entry.actor, Actor::User(actor) if entry.user == Some(*actor));
        match entry.event {
            Event::SessionEnded if is_own => Self::Calm,
            event => Self::of_event(event),
        }
    }

    const fn of_event(event: Event) -> Self {
        match event {
            Event::SignedIn
            | Event::SignInApproved
            | Event::DeviceEnrolled
            | Event::PasskeyAdded
            | Event::PasskeySignInAllowed => Self::Good,
            Event::SignInDenied
            | Event::SignInRejected
            | Event::NumberMatchFailed
            | Event::CooldownStarted
            | Event::SessionEnded
            | Event::DeviceRevoked
            | Event::PasskeyRemoved
            | Event::PasskeySignInStopped
            | Event::RecoveryCodeUsed
            | Event::RecoveryFailed => Self::Warn,
            Event::SignInReported | Event::PasskeyCloneSuspected => Self::Bad,
            _ => Self::Calm,
        }
    }

    /// The path of the icon, in a square of 24 by 24.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::Good => "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Zm-4-9 3 3 5-6",
            Self::Warn => "M12 4 2.5 20h19L12 4Zm0 6v5m0 2.4v.1",
            Self::Bad => "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM9 9l6 6m0-6-6 6",
            Self::Calm => "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Zm0-10v5m0-8.5v.1",
        }
    }
}
