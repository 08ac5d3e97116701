//! The changes after a backup, read from an export of the audit log.

use std::collections::{BTreeMap, HashSet};
use std::io::BufRead;

use serde_json::{Map, Value};

use super::verify::{ExportError, read_export};
use assent_model::audit::Event;
use assent_model::audit::chain::{Heads, LaneBreak, Mark, Positions, Record};
use assent_model::clock::Timestamp;
use assent_model::id::{DeviceId, Did, UserId};
use assent_model::secret::Digest;
use assent_model::user::LifecycleState;
use assent_store::Revocation;

/// The changes after a backup that are relevant for a restore.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaterChanges {
    /// The changes that a restore applies again, in their order, without suspensions that were lifted.
    pub revocations: Vec<Revocation>,
    /// The changes that may have revoked access and that no restore applies, in their order.
    pub to_repeat: Vec<RepeatedChange>,
    /// The number of entries after the backup.
    pub entries: u64,
    /// The time of the last one.
    pub last: Option<Timestamp>,
}

/// A change that the operator must repeat manually. The identifiers are those of the export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepeatedChange {
    /// The id of the audit entry, which begins with its time.
    pub entry: String,
    /// The time.
    pub at: Timestamp,
    /// The event.
    pub event: Event,
    /// The affected user.
    pub user: Option<String>,
    /// The affected application.
    pub application: Option<String>,
    /// The details as JSON, such as the id of a group or a key.
    pub detail: String,
}

/// The reason why an export does not show the changes after a backup.
#[derive(Debug, thiserror::Error)]
pub enum ContinuationError {
    /// The export cannot be read.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// The export was tampered with.
    #[error("the hash chain is broken: {0}")]
    Broken(LaneBreak),
    /// Entries between the backup and the export are missing.
    #[error(
        "lane {lane} begins with entry {first}, and the backup ends with entry {last}. Entries between the two are \
         missing; export with: assent audit export --after {after}"
    )]
    Gap {
        /// The lane.
        lane: i64,
        /// The first position in the export.
        first: i64,
        /// The last position in the backup.
        last: i64,
        /// The positions at which the backup ends.
        after: Positions,
    },
    /// The export is of another log.
    #[error(
        "lane {lane}: entry {seq} does not continue the backup's audit log. The export is of another database"
    )]
    Foreign {
        /// The lane.
        lane: i64,
        /// The position at which the two differ.
        seq: i64,
    },
    /// The export ends before the backup.
    #[error(
        "lane {lane} ends with entry {seq}, and the backup with entry {last}. The export is older than the backup"
    )]
    Older {
        /// The lane.
        lane: i64,
        /// The last position in the export.
        seq: i64,
        /// The last position in the backup.
        last: i64,
    },
    /// An entry of a revocation does not name the revoked object.
    #[error("entry {0} does not name its object, so it cannot be applied again")]
    Unreadable(String),
}

/// The effect of an event on a restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// The restore applies the change again.
    Reapply,
    /// The change revoked access. The operator must repeat it.
    Repeat,
    /// The restore ends all objects of this kind, or the loss of the change is no risk.
    None,
}

/// Each event has a decision. The match is exhaustive, so that a new event needs one too.
const fn effect(event: Event) -> Effect {
    match event {
        Event::UserLifecycleChanged
        | Event::UserErased
        | Event::UserDeleted
        | Event::AccountLifecycleChanged
        | Event::AccountDeleted
        | Event::DeviceRevoked => Effect::Reapply,
        // A former name, address or identifier at a vendor may belong to another user by now.
        Event::UserUpdated
        | Event::ExternalAuthenticatorSet
        | Event::GroupUpdated
        | Event::PasskeyRemoved
        | Event::PasskeySignInStopped
        | Event::AccountUpdated
        | Event::GroupDeleted
        | Event::GroupMemberRemoved
        | Event::AccessAssigned
        | Event::AccessRemoved
        | Event::ExternalAuthenticatorRemoved
        | Event::ApplicationUpdated
        | Event::ApplicationDeleted
        | Event::MetadataApplied
        | Event::ClientSecretRotated
        | Event::ClientSecretDeleted
        | Event::CertificateWithdrawn
        | Event::SigningKeyRevoked => Effect::Repeat,
        // The restore ends sessions, tokens, links, codes, consents and known browsers.
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
        | Event::BackchannelPermitted
        | Event::EnrolmentLinkCreated
        | Event::InvitationSent
        | Event::InvitationFailed
        | Event::InvitationResent
        | Event::InvitationWithdrawn
        | Event::RecoveryCodesCreated
        | Event::RecoveryCodeUsed
        | Event::RecoveryFailed
        | Event::ConsentGranted
        | Event::ConsentWithdrawn
        | Event::RefreshTokenReused
        | Event::BackchannelResultAbandoned
        | Event::TokensRevoked
        | Event::DatabaseRestored
        | Event::AdminTokenCreated
        | Event::RegistrationTokenCreated
        | Event::RegistrationTokenDeleted
        | Event::DetailsTypeRegistered
        | Event::DetailsTypeDeleted
        | Event::SignInRejected
        | Event::TestSignInStarted
        | Event::TestSignInEnded => Effect::None,
        // Without the user's stop, a request of the application needs the user's approval as before.
        Event::BackchannelStopped => Effect::None,
        // Added or exported data is lost, and grants no access.
        Event::MailTested
        | Event::DeviceEnrolled
        | Event::DeviceRenamed
        | Event::PasskeyAdded
        | Event::PasskeySignInAllowed
        | Event::PasskeyCloneSuspected
        | Event::UserCreated
        | Event::UsersExported
        | Event::UsersImported
        | Event::AccountCreated
        | Event::AccountsExported
        | Event::AccountsImported
        | Event::AccessExported
        | Event::GroupCreated
        | Event::GroupMemberAdded
        | Event::GroupMembersExported
        | Event::ApplicationCreated
        | Event::ApplicationRegistered
        | Event::ClientSecretCreated
        | Event::LogoSet
        | Event::LogoRemoved
        | Event::CertificatePublished
        | Event::CertificateActivated
        | Event::SigningKeyPublished
        | Event::SigningKeyActivated
        | Event::SealingKeyCreated
        | Event::SealingKeyDeleted
        | Event::PluginsReloaded
        | Event::PluginsRolledBack
        | Event::ClaimsCompared => Effect::None,
    }
}

/// Reads an export of the audit log, or the file of a stream, that continues the log of a backup with these heads.
///
/// # Errors
/// [`ContinuationError`] if the export was tampered with, or does not continue that log.
pub fn later_changes(
    lines: impl BufRead,
    heads: &Heads,
) -> Result<LaterChanges, ContinuationError> {
    let mut reader = Reader {
        heads,
        lanes: HashSet::new(),
        later: LaterChanges::default(),
        changes: Vec::new(),
        mismatch: None,
    };
    let verdict = read_export(lines, |record| reader.read(record))?;
    if let Some(broken) = verdict.broken {
        return Err(ContinuationError::Broken(broken));
    }
    if let Some(mismatch) = reader.mismatch {
        return Err(mismatch);
    }
    for (lane, end) in verdict.heads.iter() {
        let last = heads.seq(lane);
        if end.seq < last {
            let seq = end.seq;
            return Err(ContinuationError::Older { lane, seq, last });
        }
    }
    // Identifiers begin with the time, so this is the order of all lanes together.
    reader.changes.sort_by(|one, other| one.0.cmp(&other.0));
    let to_repeat = &mut reader.later.to_repeat;
    to_repeat.sort_by(|one, other| one.entry.cmp(&other.entry));
    reader.later.revocations = last_states(reader.changes.into_iter().map(|(_, change)| change));
    Ok(reader.later)
}

/// A change that a restore applies again, or that reverses an earlier one.
enum LaterChange {
    Revoked(Revocation),
    UserReopened(UserId),
    AccountReopened(UserId, Did),
}

struct Reader<'h> {
    heads: &'h Heads,
    /// The lanes of the export.
    lanes: HashSet<i64>,
    later: LaterChanges,
    changes: Vec<(String, LaterChange)>,
    /// The first reason why the export does not match.
    mismatch: Option<ContinuationError>,
}

impl Reader<'_> {
    fn read(&mut self, record: &Record) {
        if self.mismatch.is_none()
            && let Err(mismatch) = self.read_next(record)
        {
            self.mismatch = Some(mismatch);
        }
    }

    fn read_next(&mut self, record: &Record) -> Result<(), ContinuationError> {
        let (lane, seq) = (record.lane, record.seq);
        let head = self.heads.get(lane).unwrap_or(&Mark::START);
        let next = head.seq.saturating_add(1);
        if self.lanes.insert(lane) && seq > next {
            return Err(ContinuationError::Gap {
                lane,
                first: seq,
                last: head.seq,
                after: self.heads.iter().map(|(lane, at)| (lane, at.seq)).collect(),
            });
        }
        let differs = |digest: &str| Digest::from_text(digest) != Some(head.digest);
        if (seq == head.seq && differs(&record.digest))
            || (seq == next && differs(&record.previous))
        {
            return Err(ContinuationError::Foreign { lane, seq });
        }
        if seq <= head.seq {
            return Ok(());
        }
        self.later.entries += 1;
        let at = Timestamp::from_millis(record.at);
        self.later.last = self.later.last.max(Some(at));
        self.note(record)
    }

    fn note(&mut self, record: &Record) -> Result<(), ContinuationError> {
        // A later release may have written events that this release does not know.
        let Some(event) = Event::parse(&record.event) else {
            return Ok(());
        };
        let unreadable = || ContinuationError::Unreadable(record.id.clone());
        let detail: Map<String, Value> =
            serde_json::from_str(&record.detail).map_err(|_| unreadable())?;
        match effect(event) {
            Effect::None => {}
            Effect::Repeat => {
                self.later.to_repeat.push(RepeatedChange {
                    entry: record.id.clone(),
                    at: Timestamp::from_millis(record.at),
                    event,
                    user: record.user.clone(),
                    application: record.application.clone(),
                    detail: record.detail.clone(),
                });
            }
            Effect::Reapply => {
                let change = change(event, record, &detail).ok_or_else(unreadable)?;
                self.changes
                    .extend(change.map(|change| (record.id.clone(), change)));
            }
        }
        Ok(())
    }
}

/// Returns the change of an entry. The outer `None`: the entry names no object. The inner `None`: it revoked nothing.
fn change(
    event: Event,
    record: &Record,
    detail: &Map<String, Value>,
) -> Option<Option<LaterChange>> {
    let user: UserId = record.user.as_deref()?.parse().ok()?;
    let application = || record.application.as_deref()?.parse::<Did>().ok();
    let text = |name: &str| detail.get(name).and_then(Value::as_str);
    let state = || LifecycleState::parse(text("after")?);
    let change = match event {
        Event::UserErased => LaterChange::Revoked(Revocation::UserErased(user)),
        Event::UserDeleted => LaterChange::Revoked(Revocation::UserDeleted(user)),
        Event::DeviceRevoked => {
            let device: DeviceId = text("device")?.parse().ok()?;
            LaterChange::Revoked(Revocation::DeviceRevoked(user, device))
        }
        Event::AccountDeleted => {
            LaterChange::Revoked(Revocation::AccountDeleted(user, application()?))
        }
        Event::UserLifecycleChanged => match state()? {
            LifecycleState::Suspended => LaterChange::Revoked(Revocation::UserSuspended(user)),
            LifecycleState::Terminated => LaterChange::Revoked(Revocation::UserTerminated(user)),
            LifecycleState::Invited | LifecycleState::Active => LaterChange::UserReopened(user),
        },
        Event::AccountLifecycleChanged => {
            let place = application()?;
            match state()? {
                LifecycleState::Suspended => {
                    LaterChange::Revoked(Revocation::AccountSuspended(user, place))
                }
                LifecycleState::Terminated => {
                    LaterChange::Revoked(Revocation::AccountTerminated(user, place))
                }
                LifecycleState::Invited | LifecycleState::Active => {
                    LaterChange::AccountReopened(user, place)
                }
            }
        }
        _ => return Some(None),
    };
    Some(Some(change))
}

/// Returns the revocations without the suspensions that were lifted.
fn last_states(changes: impl Iterator<Item = LaterChange>) -> Vec<Revocation> {
    let mut revocations: Vec<Option<Revocation>> = Vec::new();
    // The index of the suspension of each user or account.
    let mut suspended: BTreeMap<(String, Option<String>), usize> = BTreeMap::new();
    let key = |user: &UserId, place: Option<&Did>| (user.to_string(), place.map(Did::to_string));
    for change in changes {
        let lifted = match &change {
            LaterChange::UserReopened(user) => Some(key(user, None)),
            LaterChange::AccountReopened(user, place) => Some(key(user, Some(place))),
            LaterChange::Revoked(_) => None,
        };
        if let Some(position) = lifted.and_then(|key| suspended.remove(&key))
            && let Some(slot) = revocations.get_mut(position)
        {
            *slot = None;
        }
        let LaterChange::Revoked(revocation) = change else {
            continue;
        };
        match &revocation {
            Revocation::UserSuspended(user) => {
                suspended.insert(key(user, None), revocations.len());
            }
            Revocation::AccountSuspended(user, place) => {
                suspended.insert(key(user, Some(place)), revocations.len());
            }
            _ => {}
        }
        revocations.push(Some(revocation));
    }
    revocations.into_iter().flatten().collect()
}
