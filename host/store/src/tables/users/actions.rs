//! The writes of administrators that concern one user.

use crate::engine::sql::Connection;
use crate::tables::approvals::report::{self, ReportWrite};
use crate::tables::devices::enrolment_links;
use crate::tables::users::guard::UserGuard;
use crate::tables::users::invitations::{self, NewInvitation};
use crate::tables::users::{self, external_authenticators, insert, update};
use crate::{Result, StoreError, VersionedWrite};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::delivery::ExternalAuthenticator;
use assent_model::id::{EnrolmentId, UserId};
use assent_model::name::LoginName;
use assent_model::user::{LifecycleState, User};

/// A write that concerns one user. Most of them apply only to the version of the user that the administrator saw.
#[derive(Clone, Debug)]
pub enum UserAction {
    /// Adds the user.
    Insert(User),
    /// Replaces this version of the user, except the ids. Thus no change silently overwrites another one. If the state
    /// differs from this earlier one, the user's sessions, requests and grants end. A new name, address or console role
    /// ends the user's enrolment links, with their queued emails. If it is a higher role, the user's sessions end too.
    /// An administrator with fewer permissions may have created them, or a way to sign in. Accounts whose name was an
    /// unconfirmed address of the user get the new name, and the first audit entry lists their applications.
    Update(User, LifecycleState),
    /// Deletes this version of the user with all dependent rows. The applications of the user's sessions must be
    /// notified. The audit log keeps its entries, without their personal data.
    Delete(UserId, i64),
    /// Erases the personal data of this version of a terminated user. The row stays, so that no other user ever has its
    /// identifiers. The user's name becomes this one, which is no sign-in name. The write is stale also if the user is
    /// not terminated.
    Erase(UserId, i64, LoginName),
    /// Sets the user's identifier for a channel, with which the user can approve.
    SetExternalAuthenticator(UserGuard, ExternalAuthenticator),
    /// Activates the user if the user is invited, which the entry records.
    Activate(UserId, Entry),
    /// Removes the user's identifier for this channel.
    RemoveExternalAuthenticator(UserGuard, String),
    /// Adds a link of the user, and the row of its email. An invited user has one link at a time: a new link
    /// invalidates the earlier one.
    Invite(UserGuard, NewInvitation),
    /// Ends an open enrolment link of the user.
    EndEnrolmentLink(UserGuard, EnrolmentId),
    /// Settles a report of the user, once, with the chosen effects. Of two concurrent settlements one counts.
    SettleReport(UserGuard, Box<ReportWrite>),
}

impl UserAction {
    /// Executes the write. It may complete the `entries`, which the caller appends to the audit log.
    ///
    /// # Errors
    /// [`StoreError::Stale`] if the user has another version; [`StoreError::Missing`] if there is no such object;
    /// [`StoreError::LastOwner`]; [`StoreError::Taken`] if another user has the name or the email address;
    /// [`StoreError::Overtaken`] if a report was settled before, or its device was removed.
    pub(crate) async fn execute(
        &self,
        db: &mut Connection,
        entries: &mut Vec<Entry>,
        now: Timestamp,
    ) -> Result<()> {
        match self {
            Self::Insert(user) => insert::insert(db, user).await,
            Self::Update(user, before) => update::update(db, user, *before, entries).await,
            Self::Delete(id, version) => users::delete_version(db, *id, *version, now).await,
            Self::Erase(id, version, name) => {
                match users::erase(db, *id, *version, name.as_str(), now).await? {
                    VersionedWrite::Done => Ok(()),
                    VersionedWrite::Stale => Err(StoreError::Stale),
                }
            }
            Self::SetExternalAuthenticator(guard, identifier) => {
                external_authenticators::set(db, *guard, identifier).await
            }
            Self::Activate(id, entry) => users::activate(db, *id, Some(entry), now).await,
            Self::RemoveExternalAuthenticator(guard, channel) => {
                external_authenticators::remove(db, *guard, channel).await
            }
            Self::Invite(guard, invitation) => {
                entries.extend(invitations::insert(db, *guard, invitation, now).await?);
                Ok(())
            }
            Self::EndEnrolmentLink(guard, id) => {
                enrolment_links::end_link(db, *guard, *id, now).await
            }
            Self::SettleReport(guard, write) => report::settle(db, *guard, write, now).await,
        }
    }
}
