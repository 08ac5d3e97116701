//! Users.

pub(crate) mod actions;
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
use update::{is_last_owner, read_user};

use crate::engine::rows::to_json;
use crate::tables::approvals::repeat;
use crate::{Result, StoreError, VersionedWrite, audit};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::id::UserId;
use assent_model::search::search_form;
use assent_model::user::profile::Profile;
use assent_model::user::{LifecycleState, User};

use guard::UserGuard;

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

/// Deletes this version of a user, unless the user is the last owner.
async fn delete_version(
    db: &mut Connection,
    id: UserId,
    version: i64,
    now: Timestamp,
) -> Result<()> {
    let found = read_user(db, id).await?;
    let user = found
        .filter(|user| user.version == version)
        .ok_or(StoreError::Stale)?;
    if is_last_owner(db, id, user.console_role).await? {
        return Err(StoreError::LastOwner);
    }
    // The lock lasts until the commit, so that nothing is ended for a changed user.
    UserGuard::from(&user).lock(db).await?;
    delete(db, &user, now).await
}

/// Deletes a user with all dependent rows, even the last owner.
pub(crate) async fn delete(db: &mut Connection, user: &User, now: Timestamp) -> Result<()> {
    let id = user.id;
    deprovisioning::deprovision_user(db, id, LifecycleState::Terminated, now).await?;
    deprovisioning::erase_user(db, id, now).await?;
    sql::query("DELETE FROM users WHERE id = $1")
        .bind(id.to_string())
        .execute(&mut *db)
        .await?;
    counts::record_changes(db, &[(user.state, -1)]).await?;
    audit::erase(db, id).await?;
    repeat::erase(db, id).await
}

/// Erases the personal data of this version of a terminated user, whose name becomes `name`.
pub(crate) async fn erase(
    db: &mut Connection,
    id: UserId,
    version: i64,
    name: &str,
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
    Ok(VersionedWrite::Done)
}
