//! The audit log: the events, their actors, the affected users and applications, and their times.
//!
//! Personal data is separate from the other data of an entry, so that it can be erased while the entry stays. An entry
//! never contains a secret, token, code or matching number.

pub mod chain;
pub mod jsonl;

use std::net::IpAddr;

use serde_json::{Map, Value};

use crate::clock::Timestamp;
use crate::entropy::Entropy;
use crate::id::{ApprovalId, AuditId, DeviceId, Did, TokenId, UserId};

/// Members of the personal data that describe the origin of an action.
const ORIGIN: [&str; 2] = ["ip_address", "browser"];

/// The kind of actor for users.
pub const USER_KIND: &str = "user";

/// An entry of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The id, ordered by time.
    pub id: AuditId,
    /// The time of the event.
    pub at: Timestamp,
    /// The event.
    pub event: Event,
    /// The actor.
    pub actor: Actor,
    /// The affected user.
    pub user: Option<UserId>,
    /// The affected application.
    pub application: Option<Did>,
    /// The approval on a device that permitted the action, if one was required.
    pub approval: Option<ApprovalId>,
    /// Further details, without personal data.
    pub detail: Map<String, Value>,
    /// Personal data: addresses, browsers, names. Empty after erasure.
    pub personal: Map<String, Value>,
    /// See [`AuditContext::keyed_request`]. It is not part of the stored entry.
    pub keyed_request: Option<RequestAttempt>,
}

impl Entry {
    /// Returns an entry without an affected user.
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

    /// Splits the personal data. The first part is the actor's address and browser, if a user changed another user's
    /// object. It is data of the actor. The second part is the other personal data, of the affected user.
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

    /// Returns the entry with this affected user.
    #[must_use]
    pub fn about(mut self, user: UserId) -> Self {
        self.user = Some(user);
        self
    }

    /// Returns the entry with this affected application.
    #[must_use]
    pub fn in_application(mut self, application: Did) -> Self {
        self.application = Some(application);
        self
    }

    /// Returns the entry with a further detail, which must not be personal data.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.detail.insert(name.to_owned(), value.into());
        self
    }

    /// Returns the entry with further personal data.
    #[must_use]
    pub fn personal(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.personal.insert(name.to_owned(), value.into());
        self
    }
}

/// The actor of an action, and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditContext {
    /// The actor.
    pub actor: Actor,
    /// The origin.
    pub origin: Origin,
    /// The approval on the actor's device that permitted the action, if one was required.
    pub approval: Option<ApprovalId>,
    /// The attempt, if the request has an `Idempotency-Key`. The transaction of each change records that the request
    /// was executed.
    pub keyed_request: Option<RequestAttempt>,
}

/// An attempt to execute a request with an `Idempotency-Key`. Only the attempt that claimed the key may make changes.
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
        origin: Origin::NONE,
        approval: None,
        keyed_request: None,
    };

    /// Returns a context with this actor and this origin.
    pub const fn new(actor: Actor, origin: Origin) -> Self {
        Self {
            actor,
            origin,
            approval: None,
            keyed_request: None,
        }
    }

    /// Returns the context with this approval.
    #[must_use]
    pub const fn with_approval(mut self, approval: ApprovalId) -> Self {
        self.approval = Some(approval);
        self
    }
}

/// The origin of an action.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The IP address of the request.
    pub address: Option<IpAddr>,
    /// The browser and operating system.
    pub browser: Option<String>,
}

impl Origin {
    /// The origin of an action without a request.
    pub const NONE: Self = Self {
        address: None,
        browser: None,
    };
}

/// The actor of an action.
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
    /// Returns the stable name of the kind of actor.
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

    /// Returns the id of the actor; `None` for the server.
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

    /// Returns the actor with this kind and id.
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
        /// An event of the audit log. The names are stable, because readers of the log depend on them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
        pub enum Event {
            $($(#[$doc])* #[strum(serialize = $text)] $name,)*
        }
        crate::enum_texts!(Event);
    };
}

events! {
    /// A browser requested a sign-in with a user's name. `prompted` in the detail says whether a device received the
    /// request.
    SignInRequested = "sign-in.requested",
    /// The user approved the sign-in.
    SignInApproved = "sign-in.approved",
    /// The user denied the sign-in.
    SignInDenied = "sign-in.denied",
    /// The user reported that the sign-in was not theirs.
    SignInReported = "sign-in.reported",
    /// An administrator settled a user's report, with a note.
    ReportSettled = "report.settled",
    /// The user typed a wrong number for the sign-in.
    NumberMatchFailed = "sign-in.number-match-failed",
    /// The user approved, and may not sign in to the application. `reason` in the detail says why; the page that the
    /// user saw has the `reference`.
    SignInRejected = "sign-in.rejected",
    /// The sign-in was cancelled in the browser, before the user decided on the device.
    SignInCancelled = "sign-in.cancelled",
    /// The request for the sign-in on the user's devices expired without a decision.
    SignInExpired = "sign-in.expired",
    /// The user signed in.
    SignedIn = "sign-in.completed",
    /// The user signed out.
    SignedOut = "session.signed-out",
    /// A session was ended, but not from its own browser.
    SessionEnded = "session.ended",
    /// A cooldown started: no device of the user receives requests.
    CooldownStarted = "cooldown.started",
    /// The user ended the cooldown.
    CooldownLifted = "cooldown.lifted",
    /// The user stopped an application from asking without a browser.
    BackchannelStopped = "backchannel.stopped",
    /// The user permits an application to ask without a browser again, or lifted the pause after a denial.
    BackchannelPermitted = "backchannel.permitted",
    /// A link to enrol an authenticator was created.
    EnrolmentLinkCreated = "enrolment.link-created",
    /// The email with an invitation was sent.
    InvitationSent = "invitation.sent",
    /// The server stopped its attempts to send the email with an invitation.
    InvitationFailed = "invitation.failed",
    /// A new link replaced the earlier link of an invited user.
    InvitationResent = "invitation.resent",
    /// The link of an invited user was withdrawn.
    InvitationWithdrawn = "invitation.withdrawn",
    /// A test email was sent.
    MailTested = "mail.tested",
    /// An authenticator was enrolled.
    DeviceEnrolled = "device.enrolled",
    /// An authenticator was renamed.
    DeviceRenamed = "device.renamed",
    /// An authenticator was revoked.
    DeviceRevoked = "device.revoked",
    /// A passkey was added to an authenticator, which can now approve only with the passkey.
    PasskeyAdded = "passkey.added",
    /// A passkey was removed, authorized by an assertion of the passkey.
    PasskeyRemoved = "passkey.removed",
    /// A user allowed a passkey to sign in without an approval in applications that permit this. The passkey may be a
    /// new one that replaces another.
    PasskeySignInAllowed = "passkey.sign-in-allowed",
    /// A user withdrew the permission for a passkey to sign in without an approval.
    PasskeySignInStopped = "passkey.sign-in-stopped",
    /// The signature counter of a passkey went backwards, so an attacker may have a copy. The server approved nothing.
    PasskeyCloneSuspected = "passkey.clone-suspected",
    /// Recovery codes were created, which replaced all earlier ones.
    RecoveryCodesCreated = "recovery.codes-created",
    /// A recovery code was used, and the user received a link to enrol an authenticator.
    RecoveryCodeUsed = "recovery.code-used",
    /// A recovery attempt with the user's name failed, because the code was wrong or already used.
    RecoveryFailed = "recovery.failed",
    /// A user was created.
    UserCreated = "user.created",
    /// A user was changed, except the lifecycle state.
    UserUpdated = "user.updated",
    /// The lifecycle state of a user changed.
    UserLifecycleChanged = "user.lifecycle-changed",
    /// A user's personal data was erased.
    UserErased = "user.erased",
    /// A user was deleted.
    UserDeleted = "user.deleted",
    /// A list of users was exported to a file.
    UsersExported = "users.exported",
    /// A table of users was imported. Each created or changed user has an event of its own.
    UsersImported = "users.imported",
    /// An account was created.
    AccountCreated = "account.created",
    /// An account was changed, except the lifecycle state.
    AccountUpdated = "account.updated",
    /// The lifecycle state of an account changed.
    AccountLifecycleChanged = "account.lifecycle-changed",
    /// An account was deleted.
    AccountDeleted = "account.deleted",
    /// A list of an application's accounts was exported to a file.
    AccountsExported = "accounts.exported",
    /// A table of an application's accounts was imported. Each created or changed account has an event of its own.
    AccountsImported = "accounts.imported",
    /// A list of the users with access to an application, or of the applications that a user can open, was exported to
    /// a file.
    AccessExported = "access.exported",
    /// A group was created.
    GroupCreated = "group.created",
    /// The name or description of a group changed.
    GroupUpdated = "group.updated",
    /// A group was deleted.
    GroupDeleted = "group.deleted",
    /// A user was added to a group.
    GroupMemberAdded = "group.member-added",
    /// A user was removed from a group.
    GroupMemberRemoved = "group.member-removed",
    /// The members of a group were exported to a file.
    GroupMembersExported = "group.members-exported",
    /// An application was assigned to a group or to everyone, or the roles of an assignment changed.
    AccessAssigned = "application.access-assigned",
    /// An assignment was removed.
    AccessRemoved = "application.access-removed",
    /// A user's identifier at a vendor's authenticator was set.
    ExternalAuthenticatorSet = "external-authenticator.set",
    /// A user's identifier at a vendor's authenticator was removed.
    ExternalAuthenticatorRemoved = "external-authenticator.removed",
    /// A user consented to give an application access to more data.
    ConsentGranted = "consent.granted",
    /// A user withdrew a consent.
    ConsentWithdrawn = "consent.withdrawn",
    /// A refresh token was reused, so the server revoked its token family.
    RefreshTokenReused = "refresh-token.reused",
    /// The server stopped its attempts to send an application the result of a back-channel request.
    BackchannelResultAbandoned = "backchannel-result.abandoned",
    /// An application or service provider was created.
    ApplicationCreated = "application.created",
    /// An application registered itself. The detail names the initial access token.
    ApplicationRegistered = "application.registered",
    /// An application or service provider was changed.
    ApplicationUpdated = "application.updated",
    /// An application or service provider was deleted, with its accounts.
    ApplicationDeleted = "application.deleted",
    /// A service provider was changed according to its metadata.
    MetadataApplied = "application.metadata-applied",
    /// An application got a client secret, which replaced all others.
    ClientSecretRotated = "application.secret-rotated",
    /// An application got an additional client secret.
    ClientSecretCreated = "application.secret-created",
    /// A client secret of an application was deleted.
    ClientSecretDeleted = "application.secret-deleted",
    /// The logo of an application was set.
    LogoSet = "application.logo-set",
    /// The logo of an application was removed.
    LogoRemoved = "application.logo-removed",
    /// The next certificate for a service provider was published.
    CertificatePublished = "certificate.published",
    /// A certificate for a service provider was activated, so that its key signs.
    CertificateActivated = "certificate.activated",
    /// A certificate was removed from the metadata for a service provider.
    CertificateWithdrawn = "certificate.withdrawn",
    /// The next signing key for ID tokens was published.
    SigningKeyPublished = "signing-key.published",
    /// A signing key for ID tokens was activated.
    SigningKeyActivated = "signing-key.activated",
    /// A signing key for ID tokens was revoked.
    SigningKeyRevoked = "signing-key.revoked",
    /// A sealing key was created, because the master key was replaced.
    SealingKeyCreated = "sealing-key.created",
    /// Replaced sealing keys, which nothing used any more, were deleted.
    SealingKeyDeleted = "sealing-key.deleted",
    /// The operator revoked all access and refresh tokens.
    TokensRevoked = "tokens.revoked",
    /// A backup was restored. All single-use and revocable objects ended.
    DatabaseRestored = "database.restored",
    /// The plugins were replaced.
    PluginsReloaded = "plugins.reloaded",
    /// An administrator computed a user's claims with a candidate plugin.
    ClaimsCompared = "claims.compared",
    /// An administrator started a test sign-in.
    TestSignInStarted = "test-sign-in.started",
    /// A test sign-in has a result.
    TestSignInEnded = "test-sign-in.ended",
    /// The plugins before the last replacement were restored.
    PluginsRolledBack = "plugins.rolled-back",
    /// A token for the admin API was created.
    AdminTokenCreated = "admin-token.created",
    /// An initial access token was created, with which applications register themselves.
    RegistrationTokenCreated = "registration-token.created",
    /// An initial access token was deleted.
    RegistrationTokenDeleted = "registration-token.deleted",
    /// A type of authorization details was registered or replaced.
    DetailsTypeRegistered = "details-type.registered",
    /// A type of authorization details was deleted.
    DetailsTypeDeleted = "details-type.deleted",
}

impl Event {
    /// Whether the user's devices show the event as an account notification, because it grants or removes access.
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
}

#[cfg(test)]
mod tests;
