//! The plan of a restore.

use assent_model::audit::{AuditContext, Entry, Event};
use assent_model::clock::Timestamp;
use assent_model::entropy::SharedEntropy;
use assent_model::id::{DeviceId, Did, UserId};

/// The changes of a restore besides the restored rows.
#[derive(Clone, Debug)]
pub struct RestorePlan {
    /// The time of the backup.
    pub backup_at: Timestamp,
    /// The time of the restore.
    pub now: Timestamp,
    /// The revocations after the backup, in their order; `None` if the operator has no audit export
    /// and accepts that these revocations are lost.
    pub revocations: Option<Vec<Revocation>>,
    /// The source of randomness for the ids of audit entries.
    pub entropy: SharedEntropy,
}

impl RestorePlan {
    pub(super) fn entry(&self, event: Event) -> Entry {
        Entry::new(event, &AuditContext::SERVER, self.now, &*self.entropy)
    }
}

/// A revocation in the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Revocation {
    /// A user was suspended.
    UserSuspended(UserId),
    /// A user was terminated.
    UserTerminated(UserId),
    /// A user's personal data was erased.
    UserErased(UserId),
    /// A user was deleted.
    UserDeleted(UserId),
    /// A user's account in an application was suspended.
    AccountSuspended(UserId, Did),
    /// A user's account in an application was terminated.
    AccountTerminated(UserId, Did),
    /// A user's account in an application was deleted.
    AccountDeleted(UserId, Did),
    /// A device of a user was revoked.
    DeviceRevoked(UserId, DeviceId),
}

impl Revocation {
    /// The user of the revocation.
    pub const fn user(&self) -> UserId {
        match self {
            Self::UserSuspended(user)
            | Self::UserTerminated(user)
            | Self::UserErased(user)
            | Self::UserDeleted(user)
            | Self::AccountSuspended(user, _)
            | Self::AccountTerminated(user, _)
            | Self::AccountDeleted(user, _)
            | Self::DeviceRevoked(user, _) => *user,
        }
    }
}
