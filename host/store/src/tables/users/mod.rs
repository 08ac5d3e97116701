//! Users.

mod bulk;
pub(crate) mod counts;
pub(crate) mod deprovisioning;
pub(crate) mod external_authenticators;
pub(crate) mod guard;
pub(crate) mod insert;
pub(crate) mod invitations;
pub(crate) mod listing;
mod lookup;
pub(crate) mod row;
pub(crate) mod search_index;
pub(crate) mod sign_ins;
mod unconfirmed;
pub(crate) mod update;

use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::tables::devices::enrolment_links;
use update::is_last_owner;
use update::read_user;

use crate::engine::rows::to_json;
use crate::tables::approvals::repeat;
use crate::{Result, Store, StoreError, VersionedWrite, audit};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::id::UserId;
use assent_model::name::LoginName;
use assent_model::search::search_form;
use assent_model::user::profile::Profile;
use assent_model::user::{LifecycleState, User};

use guard::UserGuard;
use insert::insert;
use update::UserUpdateOutcome;

/// Locks a user, in any state, until the transaction ends. A concurrent change of the user waits, or came first.
pub(crate) async fn lock_user(db: &mut Connection, id: UserId) -> Result<()> {
    sql::query("UPDATE users SET version = version WHERE id = $1")
        .bind(id.to_string())
        .execute(db)
        .await?;
    Ok(())
}

/// Activates an invited user, who can approve from now on; `entry` records it. The user's unused links end, because
/// they were created without an approval by a device.
pub(crate) async fn activate(
    db: &mut Connection,
    id: UserId,
    entry: Option<&Entry>,
    now: Timestamp,
) -> Result<()> {
    let activated = sql::query(
        "UPDATE users SET state = 'active', was_active = 1, version = version + 1, updated_at = $2
         WHERE id = $1 AND state = 'invited'",
    )
    .bind(id.to_string())
    .bind(now.millis())
    .execute(&mut *db)
    .await?;
    if activated > 0 {
        search_index::set_user_state(db, id, LifecycleState::Active).await?;
        counts::record_change(db, LifecycleState::Invited, LifecycleState::Active).await?;
        enrolment_links::end_links(db, id).await?;
        audit::append(db, entry.map(std::slice::from_ref).unwrap_or_default()).await?;
    }
    Ok(())
}

/// Records that the user received a link at the email address. A name that is another address stays unconfirmed.
pub(crate) async fn confirm_email(db: &mut Connection, id: UserId) -> Result<()> {
    let found = read_user(db, id).await?;
    let Some(mut user) = found.filter(|user| user.email.is_some()) else {
        return Ok(());
    };
    user.confirm_email();
    let profile = Profile {
        email_verified: true,
        ..user.profile
    };
    sql::query("UPDATE users SET email_confirmed = $3, profile = $2 WHERE id = $1")
        .bind(id.to_string())
        .bind(to_json(&profile)?)
        .bind(user.email_confirmed)
        .execute(db)
        .await?;
    Ok(())
}

/// Deletes a user: see [`Store::delete_user`].
pub(crate) async fn delete(
    db: &mut Connection,
    user: &User,
    entries: &[Entry],
    now: Timestamp,
) -> Result<()> {
    let id = user.id;
    deprovisioning::deprovision_user(db, id, LifecycleState::Terminated, now).await?;
    deprovisioning::erase_user(db, id, now).await?;
    sql::query("DELETE FROM users WHERE id = $1")
        .bind(id.to_string())
        .execute(&mut *db)
        .await?;
    counts::record_changes(db, &[(user.state, -1)]).await?;
    audit::erase(db, id).await?;
    repeat::erase(db, id).await?;
    audit::append(db, entries).await
}

/// Erases the personal data of a terminated user: see [`Store::erase_user`].
pub(crate) async fn erase(
    db: &mut Connection,
    (id, version): (UserId, i64),
    name: &str,
    entries: &[Entry],
    now: Timestamp,
) -> Result<VersionedWrite> {
    let erased = sql::query(
        "UPDATE users SET name = $2, email = NULL, email_confirmed = 0, profile = '{}', console_role = NULL,
                          version = version + 1, updated_at = $3, search_key = $5
         WHERE id = $1 AND state = 'terminated' AND version = $4",
    )
    .bind(id.to_string())
    .bind(name.to_owned())
    .bind(now.millis())
    .bind(version)
    .bind(search_form(name))
    .execute(&mut *db)
    .await?;
    if erased == 0 {
        return Ok(VersionedWrite::Stale);
    }
    deprovisioning::deprovision_user(db, id, LifecycleState::Terminated, now).await?;
    deprovisioning::erase_user(db, id, now).await?;
    audit::erase(db, id).await?;
    repeat::erase(db, id).await?;
    audit::append(db, entries).await?;
    Ok(VersionedWrite::Done)
}

impl Store {
    /// Adds a user.
    ///
    /// # Errors
    /// [`StoreError::Taken`] if another user has the name or the email address.
    pub async fn insert_user(&self, user: User, entries: Vec<Entry>) -> Result<()> {
        self.write((user, entries), |db, (user, entries)| {
            Box::pin(async move {
                insert(db, user).await?;
                audit::append(db, entries).await
            })
        })
        .await
    }

    /// Deletes this version of a user with all dependent rows. The applications of the user's sessions must be
    /// notified. The audit log keeps its entries, without their personal data.
    pub async fn delete_user(
        &self,
        id: UserId,
        version: i64,
        entries: Vec<Entry>,
        now: Timestamp,
    ) -> Result<UserUpdateOutcome> {
        self.write(entries, move |db, entries| {
            Box::pin(async move {
                let Some(was) = read_user(db, id)
                    .await?
                    .filter(|was| was.version == version)
                else {
                    return Ok(UserUpdateOutcome::Stale);
                };
                if is_last_owner(db, id, was.console_role).await? {
                    return Ok(UserUpdateOutcome::LastOwner);
                }
                // The lock lasts until the commit, so that nothing is ended for a changed user.
                match UserGuard::from(&was).lock(db).await {
                    Err(StoreError::Stale) => return Ok(UserUpdateOutcome::Stale),
                    held => held?,
                };
                delete(db, &was, entries, now).await?;
                Ok(UserUpdateOutcome::Done)
            })
        })
        .await
    }

    /// Erases the personal data of this version of a terminated user. The row stays, so that no other user ever has its
    /// identifiers. The user's name becomes `name`, which is no sign-in name. Returns [`VersionedWrite::Stale`] also if
    /// the user is not terminated.
    pub async fn erase_user(
        &self,
        (id, version): (UserId, i64),
        name: LoginName,
        entries: Vec<Entry>,
        now: Timestamp,
    ) -> Result<VersionedWrite> {
        self.write((name, entries), move |db, (name, entries)| {
            Box::pin(erase(db, (id, version), name.as_str(), entries, now))
        })
        .await
    }
}
