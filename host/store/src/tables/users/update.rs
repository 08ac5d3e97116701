//! Updates of users, one or several in one write.

use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::tables::devices::enrolment_links;

use crate::engine::rows::to_json;
use crate::tables::accounts;
use crate::tables::administration::action_approvals;
use crate::tables::approvals::receipts;
use crate::tables::users::insert::{add_login_names, insert_all};
use crate::tables::users::row::UserRow;
use crate::tables::users::search_index;
use crate::tables::users::{counts, deprovisioning};
use crate::{Result, Store, StoreError, audit};
use assent_model::audit::Entry;
use assent_model::id::UserId;
use assent_model::name::LoginName;
use assent_model::search::sort_key;
use assent_model::secret::Digest;
use assent_model::user::{ConsoleRole, LifecycleState, User};

/// One user of a batch of writes.
#[derive(Clone, Debug)]
pub struct UserWrite {
    /// The user to store.
    pub user: User,
    /// The state of the stored user; `None` if the user is new.
    pub before: Option<LifecycleState>,
    /// The entries for the audit log.
    pub entries: Vec<Entry>,
}

/// Whether a user is the last owner who may sign in. A row lock serializes the checks. Otherwise two concurrent
/// transactions could remove the last two owners, each because the other one still exists.
pub(super) async fn is_last_owner(
    db: &mut Connection,
    id: UserId,
    role: Option<ConsoleRole>,
) -> Result<bool> {
    if role != Some(ConsoleRole::Owner) {
        return Ok(false);
    }
    sql::query("UPDATE row_locks SET name = name WHERE name = 'owners'")
        .execute(&mut *db)
        .await?;
    Ok(sql::query(IS_LAST_OWNER)
        .bind(id.to_string())
        .exists(db)
        .await?)
}

const IS_LAST_OWNER: &str = "SELECT 1 FROM users
     WHERE id = $1 AND console_role = 'owner' AND state IN ('invited', 'active')
       AND NOT EXISTS (SELECT 1 FROM users AS other
                       WHERE other.console_role = 'owner' AND other.state = 'active' AND other.id <> $1)";

/// Replaces a user: see [`UserAction::Update`](crate::UserAction::Update).
pub(super) async fn update(
    db: &mut Connection,
    user: &User,
    before: LifecycleState,
    entries: &mut [Entry],
) -> Result<()> {
    let found = read_user(db, user.id).await?;
    let was = found
        .filter(|was| was.version == user.version)
        .ok_or(StoreError::Stale)?;
    let stays_owner = user.console_role == Some(ConsoleRole::Owner) && user.state.is_open();
    if !stays_owner && is_last_owner(db, user.id, was.console_role).await? {
        return Err(StoreError::LastOwner);
    }
    let result = sql::query(
        "UPDATE users SET name = $2, email = $3, profile = $4, console_role = $5, state = $6,
                          was_active = CASE WHEN $6 = 'active' THEN 1 ELSE was_active END,
                          version = version + 1, updated_at = $7, email_confirmed = $9,
                          search_key = $10
         WHERE id = $1 AND version = $8",
    )
    .bind(user.id.to_string())
    .bind(user.name.to_string())
    .bind(user.email.as_ref().map(ToString::to_string))
    .bind(to_json(&user.profile)?)
    .bind(user.console_role.map(ConsoleRole::as_str))
    .bind(user.state.as_str())
    .bind(user.updated_at.millis())
    .bind(user.version)
    .bind(user.email_confirmed)
    .bind(sort_key(user))
    .execute(&mut *db)
    .await?;
    if result == 0 {
        return Err(StoreError::Stale);
    }
    sql::query("DELETE FROM login_names WHERE user_id = $1")
        .bind(user.id.to_string())
        .execute(&mut *db)
        .await?;
    add_login_names(db, std::slice::from_ref(user)).await?;
    search_index::replace_user(db, &was, user).await?;
    // The link went to the former address, or was handed to a user with the former name.
    if (&was.name, &was.email) != (&user.name, &user.email) {
        enrolment_links::end_links(db, user.id).await?;
        keep_former_names(db, &was, user).await?;
        let renamed = accounts::replace_unconfirmed_names(db, &was, user).await?;
        if let Some(entry) = entries.first_mut().filter(|_| !renamed.is_empty()) {
            let renamed = renamed.iter().map(ToString::to_string).collect();
            entry.detail.insert("renamed_accounts".to_owned(), renamed);
        }
    }
    if user.state != before {
        counts::record_change(db, was.state, user.state).await?;
        deprovisioning::deprovision_user(db, user.id, user.state, user.updated_at).await?;
        if was.state == LifecycleState::Invited {
            enrolment_links::end_links(db, user.id).await?;
        }
    }
    if let Some(role) = user
        .console_role
        .filter(|_| user.console_role != was.console_role)
    {
        enrolment_links::end_links(db, user.id).await?;
        // An administrator who could enrol a device for the user before may have begun the sign-ins.
        if !was
            .console_role
            .is_some_and(|before| before.may_act_upon(Some(role)))
        {
            deprovisioning::end_sign_ins_of(db, user.id, user.updated_at).await?;
        }
    }
    Ok(())
}

/// Adds the user name to the actions and receipts that have a name which the user loses. Their text has the former
/// name, and the erasure of the user knows only the names at that time.
async fn keep_former_names(db: &mut Connection, was: &User, user: &User) -> Result<()> {
    let digest = |name: &LoginName| Digest::sha256(name.as_str().as_bytes());
    for name in std::iter::once(&was.name).chain(&was.email) {
        if *name == user.name || Some(name) == user.email.as_ref() {
            continue;
        }
        // An answer reads the names of its action, so the action comes first.
        action_approvals::rename_user(db, digest(name), digest(&user.name)).await?;
        receipts::rename_user(db, digest(name), digest(&user.name)).await?;
    }
    Ok(())
}

impl Store {
    /// Adds and replaces users, all of them or none.
    ///
    /// # Errors
    /// [`StoreError::Overtaken`] if a user was changed since it was read, or is the last owner; [`StoreError::Taken`]
    /// if another user has a name of theirs.
    pub async fn save_users(&self, writes: Vec<UserWrite>) -> Result<()> {
        self.write(writes, |db, writes| {
            Box::pin(async move {
                let mut writes = writes.clone();
                for write in &mut writes {
                    let Some(before) = write.before else { continue };
                    let updated = update(db, &write.user, before, &mut write.entries).await;
                    updated.map_err(|error| match error {
                        StoreError::Stale => {
                            StoreError::Overtaken("the user was changed meanwhile")
                        }
                        StoreError::LastOwner => {
                            StoreError::Overtaken("the user is the last owner that can sign in")
                        }
                        error => error,
                    })?;
                }
                let new: Vec<User> = writes
                    .iter()
                    .filter(|write| write.before.is_none())
                    .map(|write| write.user.clone())
                    .collect();
                insert_all(db, &new).await?;
                for write in &writes {
                    audit::append(db, &write.entries).await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// Whether the user is currently the last owner who can sign in. Writes check it again under a lock.
    pub async fn is_last_owner(&self, id: UserId) -> Result<bool> {
        Ok(sql::query(IS_LAST_OWNER)
            .bind(id.to_string())
            .exists(&self.readers)
            .await?)
    }
}

/// The user in this transaction.
pub(crate) async fn read_user(db: &mut Connection, id: UserId) -> Result<Option<User>> {
    sql::query_as::<UserRow>(sql::statement!(
        "SELECT ",
        UserRow::COLUMNS,
        " FROM users WHERE id = $1"
    ))
    .bind(id.to_string())
    .fetch_value(db)
    .await
}
