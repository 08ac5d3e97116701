//! The audit log: what was done, by whom, about whom, and when.
//!
//! What says who somebody is stands apart from the rest, so that it can be erased while the entry stays. No secret,
//! token, code or matching number is ever in an entry.

pub mod chain;
pub mod jsonl;

use std::net::IpAddr;

use serde_json::{Map, Value};

use crate::clock::Timestamp;
use crate::entropy::Entropy;
use crate::id::{ApprovalId, AuditId, DeviceId, Did, TokenId, UserId};

/// Members of the personal data with the origin of an action.
const ORIGIN: [&str; 2] = ["ip_address", "browser"];

/// The kind of actor that a user is.
pub const USER_KIND: &str = "user";

/// An entry of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Ordered by time.
    pub id: AuditId,
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    pub event: Event,
    /// The actor.
    pub actor: Actor,
    /// The user that it is about.
    pub user: Option<UserId>,
    /// The application that it is about.
    pub application: Option<Did>,
    /// The approval on a phone that allowed it, where one was asked for.
    pub approval: Option<ApprovalId>,
    /// Further details, without personal data.
    pub detail: Map<String, Value>,
    /// What does: addresses, browsers, names. Empty where it was erased.
    pub personal: Map<String, Value>,
    /// See [`AuditContext::keyed_request`]. It is not part of the stored entry.
    pub keyed_request: Option<RequestAttempt>,
}

impl Entry {
    /// An entry about nobody yet.
    pub fn new(event: Event, by: &AuditContext, at: Timestamp, entropy: &dyn Entropy) -> Self {
        let mut entry = Self {
            id: AuditId::new(at, entropy),
            at,
            event,
            actor: by.actor.clone(),
            user: None,
            application: None,
            approval: by.approval,
            detail: Map::new(),
            personal: Map::new(),
            keyed_request: by.keyed_request.clone(),
        };
        if let Some(address) = by.origin.address {
            entry = entry.personal("ip_address", address.to_string());
        }
        if let Some(browser) = &by.origin.browser {
            entry = entry.personal("browser", browser.as_str());
        }
        entry
    }

    /// The actor's address and browser, where a user acts upon another user's object, and the other personal data. The
    /// first is data of the actor, the second of the user in the entry.
    pub fn origin_apart(&self) -> (Map<String, Value>, Map<String, Value>) {
        let is_own = match self.actor {
            Actor::User(actor) => self.user == Some(actor),
            _ => true,
        };
        self.personal
            .clone()
            .into_iter()
            .partition(|(name, _)| !is_own && ORIGIN.contains(&name.as_str()))
    }

    /// The same, about this user.
    #[must_use]
    pub fn about(mut self, user: UserId) -> Self {
        self.user = Some(user);
        self
    }

    /// The same, about this application.
    #[must_use]
    pub fn in_application(mut self, application: Did) -> Self {
        self.application = Some(application);
        self
    }

    /// The same, with more of what happened.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.detail.insert(name.to_owned(), value.into());
        self
    }

    /// The same, with more that says who somebody is.
    #[must_use]
    pub fn personal(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.personal.insert(name.to_owned(), value.into());
        self
    }
}

/// Who does something, and from where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditContext {
    /// Who.
    pub actor: Actor,
    /// From where.
    pub origin: Origin,
    /// The approval on their phone that allowed it, where one was asked for.
    pub approval: Option<ApprovalId>,
    /// The attempt, if the request has an `Idempotency-Key`: the transaction of each of its changes records that the
    /// request was executed.
    pub keyed_request: Option<RequestAttempt>,
}

/// An attempt to execute a request with an `Idempotency-Key`. Only the attempt that has claimed the key may make
/// changes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestAttempt {
    /// The id of the request: the digest of its caller, method, path and key.
    pub request: String,
    /// Random text that identifies the attempt.
    pub attempt: String,
}

impl AuditContext {
    /// The server, or an operator on its machine.
    pub const SERVER: Self = Self {
        actor: Actor::Server,
        origin: Origin::NOWHERE,
        approval: None,
        keyed_request: None,
    };

    /// This one, from there.
    pub const fn new(actor: Actor, origin: Origin) -> Self {
        Self {
            actor,
            origin,
            approval: None,
            keyed_request: None,
        }
    }

    /// The same, allowed by this approval.
    #[must_use]
    pub const fn with_approval(mut self, approval: ApprovalId) -> Self {
        self.approval = Some(approval);
        self
    }
}

/// From where something was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The address that the request came from.
    pub address: Option<IpAddr>,
    /// The browser and operating system.
    pub browser: Option<String>,
}

impl Origin {
    /// Where no request was.
    pub const NOWHERE: Self = Self {
        address: None,
        browser: None,
    };
}

/// Who did something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// The server, or an operator on its machine.
    Server,
    /// An operator, with this token of the admin API.
    AdminToken(TokenId),
    /// A user, in a browser.
    User(UserId),
    /// A user's authenticator.
    Device(DeviceId),
    /// An application.
    Application(Did),
    /// The vendor of the approval channel with this name.
    Channel(String),
}

impl Actor {
    /// What kind of actor it is, by its stable name.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::AdminToken(_) => "admin_token",
            Self::User(_) => USER_KIND,
            Self::Device(_) => "device",
            Self::Application(_) => "application",
            Self::Channel(_) => "channel",
        }
    }

    /// Which one; `None` for the server.
    pub fn id(&self) -> Option<String> {
        match self {
            Self::Server => None,
            Self::AdminToken(token) => Some(token.to_string()),
            Self::User(user) => Some(user.to_string()),
            Self::Device(device) => Some(device.to_string()),
            Self::Application(application) => Some(application.to_string()),
            Self::Channel(name) => Some(name.clone()),
        }
    }

    /// The actor with this kind and id.
    pub fn parse(kind: &str, id: Option<&str>) -> Option<Self> {
        Some(match (kind, id) {
            ("server", None) => Self::Server,
            ("admin_token", Some(id)) => Self::AdminToken(id.parse().ok()?),
            (USER_KIND, Some(id)) => Self::User(id.parse().ok()?),
            ("device", Some(id)) => Self::Device(id.parse().ok()?),
            ("application", Some(id)) => Self::Application(id.parse().ok()?),
            ("channel", Some(name)) => Self::Channel(name.to_owned()),
            _ => return None,
        })
    }
}

/// Defines the events with their stable names.
macro_rules! events {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// What happened. The names are stable: who reads the log relies on them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Event {
            $($(#[$doc])* $name,)*
        }

        impl Event {
            /// All events.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The event's stable name.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

events! {
    /// A browser asked for a sign-in by a person's name. `prompted` in the detail says whether a device received the
    /// request.
    SignInRequested = "sign-in.requested",
    /// The person approved it.
    SignInApproved = "sign-in.approved",
    /// The person denied it.
    SignInDenied = "sign-in.denied",
    /// The person says that it was not theirs.
    SignInReported = "sign-in.reported",
    /// A wrong number was typed for it.
    NumberMatchFailed = "sign-in.number-match-failed",
    /// The person is signed in.
    SignedIn = "sign-in.completed",
    /// The person signed out.
    SignedOut = "session.signed-out",
    /// A session was ended by another than its person's own browser.
    SessionEnded = "session.ended",
    /// A cooldown began: requests reach no device of the user.
    CooldownStarted = "cooldown.started",
    /// The user ended the cooldown.
    CooldownLifted = "cooldown.lifted",
    /// A link to enrol an authenticator was made.
    EnrolmentLinkCreated = "enrolment.link-created",
    /// The email with an invitation was sent.
    InvitationSent = "invitation.sent",
    /// The email with an invitation was given up.
    InvitationFailed = "invitation.failed",
    /// A link took the place of an invited user's earlier one.
    InvitationResent = "invitation.resent",
    /// The link of an invited user was withdrawn.
    InvitationWithdrawn = "invitation.withdrawn",
    /// A test email was sent.
    MailTested = "mail.tested",
    /// An authenticator was enrolled.
    DeviceEnrolled = "device.enrolled",
    /// An authenticator got another name.
    DeviceRenamed = "device.renamed",
    /// An authenticator was revoked.
    DeviceRevoked = "device.revoked",
    /// A passkey was added to an authenticator: from now on it approves with that alone.
    PasskeyAdded = "passkey.added",
    /// It was removed, by an assertion of it.
    PasskeyRemoved = "passkey.removed",
    /// Its user agreed that it signs in by itself where an application permits that. It may be a new one, in place of
    /// the one before.
    PasskeySignInAllowed = "passkey.sign-in-allowed",
    /// Its user withdrew that.
    PasskeySignInStopped = "passkey.sign-in-stopped",
    /// Its signature counter went backwards, so somebody may have a copy of it. Nothing was approved.
    PasskeyCloneSuspected = "passkey.clone-suspected",
    /// Recovery codes were made, in place of those before.
    RecoveryCodesCreated = "recovery.codes-created",
    /// A recovery code was used, which gave a link to enrol an authenticator.
    RecoveryCodeUsed = "recovery.code-used",
    /// Somebody tried to recover with the person's name, and a code that is none of theirs, or was used.
    RecoveryFailed = "recovery.failed",
    /// A user was made.
    UserCreated = "user.created",
    /// A user was changed, but for the state.
    UserUpdated = "user.updated",
    /// A user's state changed.
    UserLifecycleChanged = "user.lifecycle-changed",
    /// A user's personal data was erased.
    UserErased = "user.erased",
    /// A user was deleted.
    UserDeleted = "user.deleted",
    /// A list of users was exported to a file.
    UsersExported = "users.exported",
    /// An account was made.
    AccountCreated = "account.created",
    /// An account was changed, but for the state.
    AccountUpdated = "account.updated",
    /// An account's state changed.
    AccountLifecycleChanged = "account.lifecycle-changed",
    /// An account was deleted.
    AccountDeleted = "account.deleted",
    /// A list of an application's accounts was exported to a file.
    AccountsExported = "accounts.exported",
    /// A group was created.
    GroupCreated = "group.created",
    /// A group got another name or description.
    GroupUpdated = "group.updated",
    /// A group was deleted.
    GroupDeleted = "group.deleted",
    /// A user became a member of a group.
    GroupMemberAdded = "group.member-added",
    /// A user is no member of a group any more.
    GroupMemberRemoved = "group.member-removed",
    /// The members of a group were exported to a file.
    GroupMembersExported = "group.members-exported",
    /// An application was assigned to a group or to everyone, or the roles of an assignment changed.
    AccessAssigned = "application.access-assigned",
    /// An assignment was removed.
    AccessRemoved = "application.access-removed",
    /// What a vendor knows a person by was set.
    ExternalAuthenticatorSet = "external-authenticator.set",
    /// It was removed.
    ExternalAuthenticatorRemoved = "external-authenticator.removed",
    /// The person let an application know more.
    ConsentGranted = "consent.granted",
    /// The person took that back.
    ConsentWithdrawn = "consent.withdrawn",
    /// A refresh token was used twice, so what came of its sign-in is over.
    RefreshTokenReused = "refresh-token.reused",
    /// An application or service provider was made.
    ApplicationCreated = "application.created",
    /// It was changed.
    ApplicationUpdated = "application.updated",
    /// It was deleted, with its accounts.
    ApplicationDeleted = "application.deleted",
    /// It was changed to what its metadata says.
    MetadataApplied = "application.metadata-applied",
    /// It got a client secret, in place of all others.
    ClientSecretRotated = "application.secret-rotated",
    /// It got a client secret beside the others.
    ClientSecretCreated = "application.secret-created",
    /// One of its client secrets was deleted.
    ClientSecretDeleted = "application.secret-deleted",
    /// It got a picture.
    LogoSet = "application.logo-set",
    /// Its picture was taken away.
    LogoRemoved = "application.logo-removed",
    /// The next certificate towards a service provider was published.
    CertificatePublished = "certificate.published",
    /// It signs from now on.
    CertificateActivated = "certificate.activated",
    /// One was taken out of the metadata.
    CertificateWithdrawn = "certificate.withdrawn",
    /// The next key for ID tokens was published.
    SigningKeyPublished = "signing-key.published",
    /// It signs from now on.
    SigningKeyActivated = "signing-key.activated",
    /// One was taken out of use.
    SigningKeyRevoked = "signing-key.revoked",
    /// A sealing key was created, because the master key was replaced.
    SealingKeyCreated = "sealing-key.created",
    /// Sealing keys that were replaced, and that nothing needed any more, were deleted.
    SealingKeyDeleted = "sealing-key.deleted",
    /// The operator revoked all access and refresh tokens.
    TokensRevoked = "tokens.revoked",
    /// A backup was restored: everything that could be used once or revoked has ended.
    DatabaseRestored = "database.restored",
    /// The plugins were exchanged.
    PluginsReloaded = "plugins.reloaded",
    /// An administrator had a candidate plugin make somebody's claims.
    ClaimsCompared = "claims.compared",
    /// An administrator started a test sign-in.
    TestSignInStarted = "test-sign-in.started",
    /// The test sign-in has a result.
    TestSignInEnded = "test-sign-in.ended",
    /// The plugins were put back that were there before the last exchange.
    PluginsRolledBack = "plugins.rolled-back",
    /// A token for the admin API was made.
    AdminTokenCreated = "admin-token.created",
}

impl Event {
    /// Whether a person's devices tell them of it, since it gives somebody a way in or takes one away.
    pub const fn is_account_notification(self) -> bool {
        matches!(
            self,
            Self::EnrolmentLinkCreated
                | Self::DeviceEnrolled
                | Self::DeviceRevoked
                | Self::PasskeyAdded
                | Self::PasskeyRemoved
                | Self::PasskeySignInAllowed
                | Self::PasskeySignInStopped
                | Self::PasskeyCloneSuspected
                | Self::ExternalAuthenticatorSet
                | Self::RecoveryCodesCreated
                | Self::RecoveryCodeUsed
        )
    }

    /// The event with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|event| event.as_str() == name)
    }
}

#[cfg(test)]
mod tests;
