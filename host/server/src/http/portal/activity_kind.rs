//! The kinds of events by which users filter their activity.

use assent_model::administration::ProtectedActionKind;
use assent_model::audit::{Entry, Event};
use assent_model::id::AuditId;

use crate::domain::protected_actions::outline_of;
use crate::messages::Message;

/// A kind of events, in the order of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum ActivityKind {
    /// Every event.
    #[default]
    #[strum(serialize = "")]
    All,
    /// Sign-ins and their requests, sessions, and cooldowns.
    SignIns,
    /// Devices, their passkeys, and the codes and links that enrol another one.
    Devices,
    /// All other events: changes of the user, their accounts, permissions and groups.
    Changes,
}
assent_model::enum_texts!(ActivityKind);

impl ActivityKind {
    /// Returns the kind that the query of an address names; by default every event.
    pub(super) fn from_name(name: &str) -> Self {
        Self::parse(name).unwrap_or_default()
    }

    pub(super) const fn is_all(self) -> bool {
        matches!(self, Self::All)
    }

    pub(super) const fn label(self) -> Message {
        match self {
            Self::All => Message::new("activity-kind-all"),
            Self::SignIns => Message::new("activity-kind-sign-ins"),
            Self::Devices => Message::new("activity-kind-devices"),
            Self::Changes => Message::new("activity-kind-changes"),
        }
    }

    /// Returns the address of the page with the latest events of this kind.
    pub(super) fn first_page(self) -> String {
        self.address(None)
    }

    /// Returns the address of the page with the events of this kind before the entry `before`.
    pub(super) fn address(self, before: Option<AuditId>) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if !self.is_all() {
            query.append_pair("kind", self.as_str());
        }
        if let Some(before) = before {
            query.append_pair("before", &before.to_string());
        }
        match query.finish() {
            query if query.is_empty() => "/activity".to_owned(),
            query => format!("/activity?{query}"),
        }
    }

    pub(super) fn includes(self, entry: &Entry) -> bool {
        self.is_all() || self == Self::of_entry(entry)
    }

    /// The events of a request belong to a sign-in unless the request is for a protected action. In that case they have
    /// the kind of the action's result.
    fn of_entry(entry: &Entry) -> Self {
        let action = outline_of(entry).map(|outline| outline.kind);
        match (Self::of_event(entry.event), action) {
            (Self::SignIns, Some(ProtectedActionKind::CreateRecoveryCodes)) => Self::Devices,
            (Self::SignIns, Some(_)) => Self::Changes,
            (kind, _) => kind,
        }
    }

    const fn of_event(event: Event) -> Self {
        match event {
            Event::SignInRequested
            | Event::SignInApproved
            | Event::SignInDenied
            | Event::SignInReported
            | Event::ReportSettled
            | Event::NumberMatchFailed
            | Event::SignInCancelled
            | Event::SignInExpired
            | Event::SignedIn
            | Event::SignedOut
            | Event::SessionEnded
            | Event::CooldownStarted
            | Event::CooldownLifted
            | Event::SignInRejected
            | Event::TestSignInStarted
            | Event::TestSignInEnded
            | Event::PasskeyCloneSuspected => Self::SignIns,
            Event::EnrolmentLinkCreated
            | Event::DeviceEnrolled
            | Event::DeviceRenamed
            | Event::DeviceRevoked
            | Event::PasskeyAdded
            | Event::PasskeyRemoved
            | Event::PasskeySignInAllowed
            | Event::PasskeySignInStopped
            | Event::RecoveryCodesCreated
            | Event::RecoveryCodeUsed
            | Event::RecoveryFailed
            | Event::ExternalAuthenticatorSet
            | Event::ExternalAuthenticatorRemoved => Self::Devices,
            _ => Self::Changes,
        }
    }
}
