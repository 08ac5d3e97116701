//! Applies the revocations again that happened after the backup.

use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::operations::backup::plan::{RestorePlan, Revocation};
use crate::tables::sessions::portal;
use crate::tables::users;
use crate::tables::users::search_index;
use crate::tables::users::update;
use crate::tables::users::{counts, deprovisioning};
use crate::{Result, VersionedWrite, audit};
use assent_model::audit::{Entry, Event};
use assent_model::id::{DeviceId, Did, UserId};
use assent_model::recovery::CodesOfDevice;
use assent_model::user::{LifecycleState, User};

/// The numbers of applied revocations, by their kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReapplyCounts {
    /// Suspended users.
    pub users_suspended: u64,
    /// Terminated users.
    pub users_terminated: u64,
    /// Erased users.
    pub users_erased: u64,
    /// Deleted users.
    pub users_deleted: u64,
    /// Accounts that were suspended, terminated or deleted.
    pub accounts_closed: u64,
    /// Revoked devices.
    pub devices_revoked: u64,
    /// Revocations that the backup contains already.
    pub unchanged: u64,
    /// The users of revocations that are not in the backup, because they were created later.
    pub unknown_users: Vec<UserId>,
    /// Revocations of accounts and devices of known users that are not in the backup.
    pub unknown_others: u64,
}

impl ReapplyCounts {
    /// The number of revocations of objects that are not in the backup.
    pub fn unknown(&self) -> u64 {
        u64::try_from(self.unknown_users.len()).unwrap_or(u64::MAX) + self.unknown_others
    }

    pub(super) fn write_into(&self, entry: Entry) -> Entry {
        entry
            .with("users_suspended", self.users_suspended)
            .with("users_terminated", self.users_terminated)
            .with("users_erased", self.users_erased)
            .with("users_deleted", self.users_deleted)
            .with("accounts_closed", self.accounts_closed)
            .with("devices_revoked", self.devices_revoked)
            .with("unknown", self.unknown())
    }
}

/// The outcome of a revocation.
enum Outcome {
    Applied,
    /// The backup contains it already.
    Unchanged,
    /// The account or device is not in the backup.
    Unknown,
}

/// Applies the revocations in their order. Each one with an effect has an entry in the audit log.
pub(super) async fn reapply(
    db: &mut Connection,
    plan: &RestorePlan,
    revocations: &[Revocation],
) -> Result<ReapplyCounts> {
    let mut counts = ReapplyCounts::default();
    for revocation in revocations {
        let id = revocation.user();
        let Some(user) = update::read_user(db, id).await? else {
            if !counts.unknown_users.contains(&id) {
                counts.unknown_users.push(id);
            }
            continue;
        };
        let outcome = apply(db, plan, revocation, user).await?;
        let count = match outcome {
            Outcome::Unchanged => &mut counts.unchanged,
            Outcome::Unknown => &mut counts.unknown_others,
            Outcome::Applied => match revocation {
                Revocation::UserSuspended(_) => &mut counts.users_suspended,
                Revocation::UserTerminated(_) => &mut counts.users_terminated,
                Revocation::UserErased(_) => &mut counts.users_erased,
                Revocation::UserDeleted(_) => &mut counts.users_deleted,
                Revocation::AccountSuspended(..)
                | Revocation::AccountTerminated(..)
                | Revocation::AccountDeleted(..) => &mut counts.accounts_closed,
                Revocation::DeviceRevoked(..) => &mut counts.devices_revoked,
            },
        };
        *count += 1;
    }
    Ok(counts)
}

async fn apply(
    db: &mut Connection,
    plan: &RestorePlan,
    revocation: &Revocation,
    user: User,
) -> Result<Outcome> {
    match revocation {
        Revocation::UserSuspended(_) => {
            close_user(db, plan, &user, LifecycleState::Suspended).await
        }
        Revocation::UserTerminated(_) => {
            close_user(db, plan, &user, LifecycleState::Terminated).await
        }
        Revocation::UserErased(_) => erase_user(db, plan, user).await,
        Revocation::UserDeleted(_) => {
            users::delete(db, &user, plan.now).await?;
            audit::append(db, &[entry(plan, Event::UserDeleted, user.id)]).await?;
            Ok(Outcome::Applied)
        }
        Revocation::AccountSuspended(_, application) => {
            close_account(db, plan, &user, application, LifecycleState::Suspended).await
        }
        Revocation::AccountTerminated(_, application) => {
            close_account(db, plan, &user, application, LifecycleState::Terminated).await
        }
        Revocation::AccountDeleted(_, application) => {
            delete_account(db, plan, &user, application).await
        }
        Revocation::DeviceRevoked(_, device) => revoke_device(db, plan, &user, *device).await,
    }
}

fn entry(plan: &RestorePlan, event: Event, user: UserId) -> Entry {
    plan.entry(event).about(user).with("reapplied", true)
}

/// Suspends or terminates a user, even the last owner, because a revoked access must not return. The operator of the
/// machine always has access.
async fn close_user(
    db: &mut Connection,
    plan: &RestorePlan,
    user: &User,
    state: LifecycleState,
) -> Result<Outcome> {
    if user.state == state || user.state == LifecycleState::Terminated {
        return Ok(Outcome::Unchanged);
    }
    sql::query("UPDATE users SET state = $2, version = version + 1, updated_at = $3 WHERE id = $1")
        .bind(user.id.to_string())
        .bind(state.as_str())
        .bind(plan.now.millis())
        .execute(&mut *db)
        .await?;
    search_index::set_user_state(db, user.id, state).await?;
    counts::record_change(db, user.state, state).await?;
    deprovisioning::deprovision_user(db, user.id, state, plan.now).await?;
    let entry = entry(plan, Event::UserLifecycleChanged, user.id)
        .with("before", user.state.as_str())
        .with("after", state.as_str());
    audit::append(db, &[entry]).await?;
    Ok(Outcome::Applied)
}

async fn erase_user(db: &mut Connection, plan: &RestorePlan, user: User) -> Result<Outcome> {
    if user.is_erased() {
        return Ok(Outcome::Unchanged);
    }
    // Only a terminated user can be erased.
    close_user(db, plan, &user, LifecycleState::Terminated).await?;
    let Some(user) = update::read_user(db, user.id).await? else {
        return Ok(Outcome::Unknown);
    };
    let name = user.erased_name();
    match users::erase(db, user.id, user.version, &name, plan.now).await? {
        VersionedWrite::Done => {
            audit::append(db, &[entry(plan, Event::UserErased, user.id)]).await?;
            Ok(Outcome::Applied)
        }
        VersionedWrite::Stale => Ok(Outcome::Unchanged),
    }
}

async fn close_account(
    db: &mut Connection,
    plan: &RestorePlan,
    user: &User,
    application: &Did,
    state: LifecycleState,
) -> Result<Outcome> {
    let known: Option<(String, String)> =
        sql::query_as("SELECT id, state FROM accounts WHERE user_id = $1 AND application_id = $2")
            .bind(user.id.to_string())
            .bind(application.to_string())
            .fetch_optional(&mut *db)
            .await?;
    let Some((id, before)) = known else {
        return Ok(Outcome::Unknown);
    };
    if before == state.as_str() || before == LifecycleState::Terminated.as_str() {
        return Ok(Outcome::Unchanged);
    }
    sql::query(
        "UPDATE accounts SET state = $2, version = version + 1, updated_at = $3 WHERE id = $1",
    )
    .bind(&id)
    .bind(state.as_str())
    .bind(plan.now.millis())
    .execute(&mut *db)
    .await?;
    search_index::set_account_state(db, &id, state).await?;
    let (whose, place) = (user.id.to_string(), application.to_string());
    deprovisioning::deprovision_account(db, whose, place, state, plan.now).await?;
    let entry = entry(plan, Event::AccountLifecycleChanged, user.id)
        .in_application(application.clone())
        .with("account", id)
        .with("before", before)
        .with("after", state.as_str());
    audit::append(db, &[entry]).await?;
    Ok(Outcome::Applied)
}

async fn delete_account(
    db: &mut Connection,
    plan: &RestorePlan,
    user: &User,
    application: &Did,
) -> Result<Outcome> {
    let deleted: Option<(String,)> = sql::query_as(
        "DELETE FROM accounts WHERE user_id = $1 AND application_id = $2 RETURNING id",
    )
    .bind(user.id.to_string())
    .bind(application.to_string())
    .fetch_optional(&mut *db)
    .await?;
    let Some((id,)) = deleted else {
        return Ok(Outcome::Unknown);
    };
    let (whose, place) = (user.id.to_string(), application.to_string());
    let state = LifecycleState::Terminated;
    deprovisioning::deprovision_account(db, whose, place, state, plan.now).await?;
    let entry = entry(plan, Event::AccountDeleted, user.id)
        .in_application(application.clone())
        .with("account", id);
    audit::append(db, &[entry]).await?;
    Ok(Outcome::Applied)
}

async fn revoke_device(
    db: &mut Connection,
    plan: &RestorePlan,
    user: &User,
    device: DeviceId,
) -> Result<Outcome> {
    let entry = entry(plan, Event::DeviceRevoked, user.id).with("device", device.to_string());
    let codes = CodesOfDevice::End;
    if portal::revoke_device(db, user.id, device, codes, &entry, plan.now)
        .await?
        .is_some()
    {
        return Ok(Outcome::Applied);
    }
    let known: Option<(i64,)> =
        sql::query_as("SELECT 1 FROM devices WHERE id = $1 AND user_id = $2")
            .bind(device.to_string())
            .bind(user.id.to_string())
            .fetch_optional(db)
            .await?;
    Ok(match known {
        Some(_) => Outcome::Unchanged,
        None => Outcome::Unknown,
    })
}
