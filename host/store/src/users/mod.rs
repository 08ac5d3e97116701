//! Users.

mod bulk;
mod listing;
mod row;
pub(crate) mod search_index;

use std::sync::LazyLock;

use row::SummaryRow;
use sqlx::AnyConnection;

use crate::batch::bulk_sql::{BulkSql, MOST};
use crate::rows::{moment, to_json};
use crate::{Result, Store, StoreError, audit, counts, deprovisioning, devices, mentions};
use assent_model::audit::Entry;
use assent_model::clock::Timestamp;
use assent_model::id::UserId;
use assent_model::name::LoginName;
use assent_model::user::{ConsoleRole, LifecycleState, User};

pub(crate) use row::UserRow;
pub use row::UserSummary;

/// What came of a change of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserUpdateOutcome {
    /// It is kept.
    Done,
    /// Nothing: the user was changed, or deleted, since it was read.
    Stale,
    /// Nothing: no owner that may sign in would be left.
    LastOwner,
}

/// To whom something is done: to a person, whoever they are by now, or only as they were seen. What was checked of a person holds
/// for that version alone, so nothing is done to somebody who was given a role in the console meanwhile by whoever may not act
/// upon those who have one.
#[derive(Clone, Copy, Debug)]
pub struct UserGuard {
    id: UserId,
    version: Option<i64>,
}

impl From<UserId> for UserGuard {
    /// Whoever they are by now.
    fn from(id: UserId) -> Self {
        Self { id, version: None }
    }
}

impl From<&User> for UserGuard {
    /// As they were seen.
    fn from(user: &User) -> Self {
        Self {
            id: user.id,
            version: Some(user.version),
        }
    }
}

impl UserGuard {
    /// Holds a person who is to be as they were seen until the transaction ends: whoever changes them waits, or was before.
    ///
    /// # Errors
    /// [`StoreError::Stale`] if they are not as they were seen.
    pub(crate) async fn held(self, db: &mut AnyConnection) -> Result<UserId> {
        let Some(version) = self.version else {
            return Ok(self.id);
        };
        let held = sqlx::query("UPDATE users SET version = version WHERE id = $1 AND version = $2")
            .bind(self.id.to_string())
            .bind(version)
            .execute(db)
            .await?;
        if held.rows_affected() > 0 {
            Ok(self.id)
        } else {
            Err(StoreError::Stale)
        }
    }

    /// Refuses a person, who is held, where they are not as they were seen.
    ///
    /// # Errors
    /// [`StoreError::Stale`].
    pub(crate) fn must_be(self, user: &User) -> Result<()> {
        let is_seen = self.version.is_none_or(|version| version == user.version);
        if is_seen && self.id == user.id {
            Ok(())
        } else {
            Err(StoreError::Stale)
        }
    }
}

/// A user that is kept, in one write with others.
#[derive(Clone, Debug)]
pub struct UserWrite {
    /// The user as it shall be.
    pub user: User,
    /// The state of one that is there; `None` of a new one.
    pub before: Option<LifecycleState>,
    /// What the audit log is told.
    pub entries: Vec<Entry>,
}

/// The user as it is in this transaction.
async fn read(db: &mut AnyConnection, id: UserId) -> Result<Option<User>> {
    let row: Option<UserRow> = sqlx::query_as("SELECT * FROM users WHERE id = $1")
        .bind(id.to_string())
        .fetch_optional(db)
        .await?;
    row.map(User::try_from).transpose()
}

/// Whether a user is an owner who may sign in, and no other one is there. Only one transaction at a time may ask, so that of
/// the last two owners not each goes because the other is there.
async fn is_last_owner(
    db: &mut AnyConnection,
    id: UserId,
    role: Option<ConsoleRole>,
) -> Result<bool> {
    if role != Some(ConsoleRole::Owner) {
        return Ok(false);
    }
    sqlx::query("UPDATE row_locks SET name = name WHERE name = 'owners'")
        .execute(&mut *db)
        .await?;
    let last: Option<(i64,)> = sqlx::query_as(IS_LAST_OWNER)
        .bind(id.to_string())
        .fetch_optional(db)
        .await?;
    Ok(last.is_some())
}

const IS_LAST_OWNER: &str = "SELECT 1 FROM users
     WHERE id = $1 AND console_role = 'owner' AND state IN ('invited', 'active')
       AND NOT EXISTS (SELECT 1 FROM users AS other
                       WHERE other.console_role = 'owner' AND other.state = 'active' AND other.id <> $1)";

const LOGIN: &str = "the name or e-mail address";

static INSERT: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "INSERT INTO users (id, did, subject, name, email, profile, console_role, state, version, created_at, updated_at)
         VALUES {($, $, $, $, $, $, $, $, $, $, $)} ON CONFLICT DO NOTHING",
        0,
    )
});
static INSERT_LOGIN_NAMES: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "INSERT INTO login_names (name, user_id) VALUES {($, $)} ON CONFLICT (name) DO NOTHING",
        0,
    )
});

/// Keeps what people sign in with who have no such names: the name, and the e-mail address. Neither may be anything of another's.
async fn add_login_names(db: &mut AnyConnection, users: &[User]) -> Result<()> {
    let names = |user: &'_ User| {
        let email = user.email.iter().filter(|email| **email != user.name);
        std::iter::once(&user.name)
            .chain(email)
            .cloned()
            .map(|name| (name, user.id))
            .collect::<Vec<_>>()
    };
    let names: Vec<(LoginName, UserId)> = users.iter().flat_map(names).collect();
    for rows in names.chunks(MOST) {
        let mut query = sqlx::query(INSERT_LOGIN_NAMES.of(rows.len()));
        for (name, user) in INSERT_LOGIN_NAMES.filled(rows) {
            query = query.bind(name.to_string()).bind(user.to_string());
        }
        all_of(
            rows.len(),
            query.execute(&mut *db).await?.rows_affected(),
            LOGIN,
        )?;
    }
    Ok(())
}

/// Fails where fewer rows were kept than there are: somebody has one already.
pub(crate) fn all_of(rows: usize, kept: u64, what: &'static str) -> Result<()> {
    if kept == rows as u64 {
        Ok(())
    } else {
        Err(StoreError::Taken(what))
    }
}

/// Adds a user.
pub(crate) async fn insert(db: &mut AnyConnection, user: &User) -> Result<()> {
    insert_all(db, std::slice::from_ref(user)).await
}

async fn insert_all(db: &mut AnyConnection, users: &[User]) -> Result<()> {
    for rows in users.chunks(MOST) {
        let mut query = sqlx::query(INSERT.of(rows.len()));
        for user in INSERT.filled(rows) {
            query = query
                .bind(user.id.to_string())
                .bind(user.did.to_string())
                .bind(user.subject.clone())
                .bind(user.name.to_string())
                .bind(user.email.as_ref().map(ToString::to_string))
                .bind(to_json(&user.profile)?)
                .bind(user.console_role.map(ConsoleRole::as_str))
                .bind(user.state.as_str())
                .bind(user.version)
                .bind(user.created_at.millis())
                .bind(user.updated_at.millis());
        }
        all_of(
            rows.len(),
            query.execute(&mut *db).await?.rows_affected(),
            "the user's identifier",
        )?;
    }
    let in_state = |state| users.iter().filter(|user| user.state == state).count();
    let counts = LifecycleState::ALL
        .map(|state| (state, i64::try_from(in_state(state)).unwrap_or(i64::MAX)));
    counts::note(
        db,
        &counts
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .collect::<Vec<_>>(),
    )
    .await?;
    add_login_names(db, users).await?;
    mentions::are(db, users).await?;
    search_index::add_users(db, users).await
}

/// Replaces what may change of a user: see [`Store::update_user`].
async fn update(
    db: &mut AnyConnection,
    user: &User,
    before: LifecycleState,
) -> Result<UserUpdateOutcome> {
    let Some(was) = read(db, user.id)
        .await?
        .filter(|was| was.version == user.version)
    else {
        return Ok(UserUpdateOutcome::Stale);
    };
    let stays_owner = user.console_role == Some(ConsoleRole::Owner) && user.state.is_open();
    if !stays_owner && is_last_owner(db, user.id, was.console_role).await? {
        return Ok(UserUpdateOutcome::LastOwner);
    }
    let result = sqlx::query(
        "UPDATE users SET name = $2, email = $3, profile = $4, console_role = $5, state = $6,
                          version = version + 1, updated_at = $7
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
    .execute(&mut *db)
    .await?;
    if result.rows_affected() == 0 {
        return Ok(UserUpdateOutcome::Stale);
    }
    sqlx::query("DELETE FROM login_names WHERE user_id = $1")
        .bind(user.id.to_string())
        .execute(&mut *db)
        .await?;
    add_login_names(db, std::slice::from_ref(user)).await?;
    if user.name != was.name {
        mentions::are(db, std::slice::from_ref(user)).await?;
    }
    search_index::replace_user(db, &was, user).await?;
    if user.state != before {
        counts::note_change(db, was.state, user.state).await?;
        deprovisioning::of_user(db, user.id, user.state, user.updated_at).await?;
        if was.state == LifecycleState::Invited {
            devices::end_links(db, user.id).await?;
        }
    }
    if let Some(role) = user
        .console_role
        .filter(|_| user.console_role != was.console_role)
    {
        devices::end_links(db, user.id).await?;
        // Whoever could enrol a phone for the person before may have begun them.
        if !was
            .console_role
            .is_some_and(|before| before.may_act_upon(Some(role)))
        {
            deprovisioning::of_sign_ins(db, user.id, user.updated_at).await?;
        }
    }
    Ok(UserUpdateOutcome::Done)
}

/// Holds a person until the transaction ends, in whatever state: whoever changes them waits, or was before.
pub(crate) async fn hold(db: &mut AnyConnection, id: UserId) -> Result<()> {
    sqlx::query("UPDATE users SET version = version WHERE id = $1")
        .bind(id.to_string())
        .execute(db)
        .await?;
    Ok(())
}

/// Whether somebody is still there and called as in these words, which are about them. Whoever erases them waits until the transaction
/// ends, and finds what it keeps; or was before.
pub(crate) async fn is_still_called_as_in(
    db: &mut AnyConnection,
    id: UserId,
    words: &str,
) -> Result<bool> {
    hold(db, id).await?;
    let name: Option<(String,)> = sqlx::query_as("SELECT name FROM users WHERE id = $1")
        .bind(id.to_string())
        .fetch_optional(db)
        .await?;
    Ok(name.is_some_and(|(name,)| words.contains(&name)))
}

/// Notes that a person has something to approve with: who was invited is active from then on, which `entry` tells of. Links that
/// are left over end, since they were made without a phone being asked.
pub(crate) async fn activate(
    db: &mut AnyConnection,
    id: UserId,
    entry: Option<&Entry>,
    now: Timestamp,
) -> Result<()> {
    let activated = sqlx::query(
        "UPDATE users SET state = 'active', version = version + 1, updated_at = $2 WHERE id = $1 AND state = 'invited'",
    )
    .bind(id.to_string())
    .bind(now.millis())
    .execute(&mut *db)
    .await?;
    if activated.rows_affected() > 0 {
        search_index::set_user_state(db, id, LifecycleState::Active).await?;
        counts::note_change(db, LifecycleState::Invited, LifecycleState::Active).await?;
        devices::end_links(db, id).await?;
        audit::append(db, entry.map(std::slice::from_ref).unwrap_or_default()).await?;
    }
    Ok(())
}

impl Store {
    /// Adds a user.
    pub async fn insert_user(&self, user: User, entries: Vec<Entry>) -> Result<()> {
        self.write(move |db| {
            let (user, entries) = (user.clone(), entries.clone());
            Box::pin(async move {
                insert(db, &user).await?;
                audit::append(db, &entries).await
            })
        })
        .await
    }

    /// Replaces what may change of a user, all but the ids. `false`, and nothing done, if the user was changed since it
    /// was read: nobody's change undoes another's unseen. Where the state is another than `before`, what was begun in the
    /// person's name is over. Where a console role is given, so are links that enrol a phone, and with a greater one than
    /// before the person's sessions: who made them, or a way to sign in, may do less.
    pub async fn update_user(
        &self,
        user: User,
        before: LifecycleState,
        entries: Vec<Entry>,
    ) -> Result<UserUpdateOutcome> {
        self.write(move |db| {
            let (user, entries) = (user.clone(), entries.clone());
            Box::pin(async move {
                let kept = update(db, &user, before).await?;
                if kept == UserUpdateOutcome::Done {
                    audit::append(db, &entries).await?;
                }
                Ok(kept)
            })
        })
        .await
    }

    /// Adds and replaces users, all of them or none.
    ///
    /// # Errors
    /// [`StoreError::Overtaken`] where one was changed since it was read, or is the last owner;
    /// [`StoreError::Taken`] where somebody has a name of theirs.
    pub async fn save_users(&self, writes: Vec<UserWrite>) -> Result<()> {
        self.write(move |db| {
            let writes = writes.clone();
            Box::pin(async move {
                for write in &writes {
                    let Some(before) = write.before else { continue };
                    match update(db, &write.user, before).await? {
                        UserUpdateOutcome::Done => {}
                        UserUpdateOutcome::Stale => {
                            return Err(StoreError::Overtaken("the user was changed meanwhile"));
                        }
                        UserUpdateOutcome::LastOwner => {
                            return Err(StoreError::Overtaken(
                                "the user is the last owner that can sign in",
                            ));
                        }
                    }
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

    /// Deletes this version of a user with everything that belongs to it. The applications of its sessions are to be told. Of
    /// the audit log what is personal goes, and the entries stay.
    pub async fn delete_user(
        &self,
        id: UserId,
        version: i64,
        entries: Vec<Entry>,
        now: Timestamp,
    ) -> Result<UserUpdateOutcome> {
        self.write(move |db| {
            let entries = entries.clone();
            Box::pin(async move {
                let Some(was) = read(db, id).await?.filter(|was| was.version == version) else {
                    return Ok(UserUpdateOutcome::Stale);
                };
                if is_last_owner(db, id, was.console_role).await? {
                    return Ok(UserUpdateOutcome::LastOwner);
                }
                // Held until the commit, so that nothing ends of a user who is another by now.
                match UserGuard::from(&was).held(db).await {
                    Err(StoreError::Stale) => return Ok(UserUpdateOutcome::Stale),
                    held => held?,
                };
                deprovisioning::of_user(db, id, LifecycleState::Terminated, now).await?;
                let names = deprovisioning::erase(db, id, now).await?;
                sqlx::query("DELETE FROM users WHERE id = $1")
                    .bind(id.to_string())
                    .execute(&mut *db)
                    .await?;
                counts::note(db, &[(was.state, -1)]).await?;
                let emptied = audit::erase(db, id, &names).await?;
                audit::append(db, &mentions::naming(entries, &emptied)).await?;
                Ok(UserUpdateOutcome::Done)
            })
        })
        .await
    }

    /// Whether the user is the last owner that can sign in, at this moment. The writes check it again under a lock.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn is_last_owner(&self, id: UserId) -> Result<bool> {
        let last: Option<(i64,)> = sqlx::query_as(IS_LAST_OWNER)
            .bind(id.to_string())
            .fetch_optional(&self.readers)
            .await?;
        Ok(last.is_some())
    }

    /// Erases the personal data of this version of a terminated user. The row stays, so that no other user ever has its identifiers;
    /// its name becomes `name`, with which nobody can sign in. `false`, and nothing done, if the user is another version or is not
    /// terminated.
    pub async fn erase_user(
        &self,
        (id, version): (UserId, i64),
        name: LoginName,
        entries: Vec<Entry>,
        now: Timestamp,
    ) -> Result<bool> {
        self.write(move |db| {
            let (name, entries) = (name.clone(), entries.clone());
            Box::pin(async move {
                let erased = sqlx::query(
                    "UPDATE users SET name = $2, email = NULL, profile = '{}', console_role = NULL,
                                      version = version + 1, updated_at = $3
                     WHERE id = $1 AND state = 'terminated' AND version = $4",
                )
                .bind(id.to_string())
                .bind(name.to_string())
                .bind(now.millis())
                .bind(version)
                .execute(&mut *db)
                .await?;
                if erased.rows_affected() == 0 {
                    return Ok(false);
                }
                deprovisioning::of_user(db, id, LifecycleState::Terminated, now).await?;
                let names = deprovisioning::erase(db, id, now).await?;
                let emptied = audit::erase(db, id, &names).await?;
                audit::append(db, &mentions::naming(entries, &emptied)).await?;
                Ok(true)
            })
        })
        .await
    }

    /// The user with this id.
    pub async fn user(&self, id: UserId) -> Result<Option<User>> {
        let row: Option<UserRow> = sqlx::query_as("SELECT * FROM users WHERE id = $1")
            .bind(id.to_string())
            .fetch_optional(&self.readers)
            .await?;
        row.map(User::try_from).transpose()
    }

    /// The user with this `sub`.
    pub async fn user_by_subject(&self, subject: &str) -> Result<Option<User>> {
        let row: Option<UserRow> = sqlx::query_as("SELECT * FROM users WHERE subject = $1")
            .bind(subject.to_owned())
            .fetch_optional(&self.readers)
            .await?;
        row.map(User::try_from).transpose()
    }

    /// The user who signs in with this name or e-mail address.
    pub async fn user_by_login(&self, name: &LoginName) -> Result<Option<User>> {
        let row: Option<UserRow> = sqlx::query_as(
            "SELECT users.* FROM login_names JOIN users ON users.id = login_names.user_id WHERE login_names.name = $1",
        )
        .bind(name.to_string())
        .fetch_optional(&self.readers)
        .await?;
        row.map(User::try_from).transpose()
    }

    /// The time from which a sign-in adds a known browser of this user; `None` if there is no such user.
    pub async fn browsers_known_from(&self, user: UserId) -> Result<Option<Timestamp>> {
        let row: Option<(i64,)> =
            sqlx::query_as("SELECT browsers_known_from FROM users WHERE id = $1")
                .bind(user.to_string())
                .fetch_optional(&self.readers)
                .await?;
        Ok(row.map(|(from,)| moment(from)))
    }

    /// Up to `limit` users after `after`, in the order in which they were made.
    pub async fn users(&self, after: Option<UserId>, limit: u32) -> Result<Vec<UserSummary>> {
        let rows: Vec<SummaryRow> = sqlx::query_as(
            "SELECT users.*,
                    (SELECT COUNT(*) FROM devices WHERE devices.user_id = users.id AND revoked_at IS NULL) AS devices,
                    (SELECT COUNT(*) FROM accounts WHERE accounts.user_id = users.id) AS accounts
             FROM users WHERE id > $1 ORDER BY id LIMIT $2",
        )
        .bind(after.map(|id| id.to_string()).unwrap_or_default())
        .bind(i64::from(limit))
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter()
            .map(|row| {
                Ok(UserSummary {
                    user: row.user.try_into()?,
                    devices: u32::try_from(row.devices).unwrap_or(u32::MAX),
                    accounts: u32::try_from(row.accounts).unwrap_or(u32::MAX),
                })
            })
            .collect()
    }
}
