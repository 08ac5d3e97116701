//! The members of groups.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::engine::batch::bulk_sql::{BulkSql, MOST};
use crate::engine::rows::{cell, moment, parse};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::tables::actors::actor_json;
use crate::tables::users::row::UserRow;
use crate::{Result, Store, StoreError};
use assent_model::audit::Actor;
use assent_model::clock::Timestamp;
use assent_model::group::{Group, GroupName, Membership};
use assent_model::id::{GroupId, UserId};
use assent_model::user::User;

use super::assignments;
use super::lost_access::end_lost_access;
use super::row::{GroupRow, lock};

/// The users that a change adds to a group and removes from it, each in the version that was read.
#[derive(Clone, Debug, Default)]
pub struct MemberChange {
    /// New members.
    pub added: Vec<(UserId, i64)>,
    /// Former members.
    pub removed: Vec<(UserId, i64)>,
}

static INCREMENT: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "UPDATE users SET version = version + 1, updated_at = $1 WHERE id IN ({$}) RETURNING id, version",
        1,
    )
});
static ADD: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "INSERT INTO group_members (group_id, user_id, added_at, added_by)
         SELECT $1, users.id, CAST($2 AS BIGINT), CAST($3 AS TEXT) FROM users WHERE users.id IN ({$})
         ON CONFLICT DO NOTHING",
        3,
    )
});
static REMOVE: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "DELETE FROM group_members WHERE group_id = $1 AND user_id IN ({$})",
        1,
    )
});
static GROUP_NAMES: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "SELECT group_members.user_id, user_groups.name
         FROM group_members JOIN user_groups ON user_groups.id = group_members.group_id
         WHERE group_members.user_id IN ({$}) ORDER BY user_groups.search_key, user_groups.name_key",
        0,
    )
});
static MEMBERS: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "SELECT user_id FROM group_members WHERE group_id = $1 AND user_id IN ({$})",
        1,
    )
});

crate::engine::sql::row! {
    struct MemberRow {
        added_at: i64,
        user: UserRow,
    }
}

impl Store {
    /// Up to `limit` members of a group that follow a user, in the order of the users' creation.
    pub async fn members_of(
        &self,
        group: GroupId,
        after: Option<UserId>,
        limit: u32,
    ) -> Result<Vec<(Membership, User)>> {
        let rows: Vec<MemberRow> = sql::query_as(sql::statement!(
            "SELECT group_members.added_at, ",
            UserRow::COLUMNS,
            " FROM group_members JOIN users ON users.id = group_members.user_id
             WHERE group_members.group_id = $1 AND group_members.user_id > $2
             ORDER BY group_members.user_id LIMIT $3"
        ))
        .bind(group.to_string())
        .bind(after.map(|id| id.to_string()).unwrap_or_default())
        .bind(limit)
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter()
            .map(|row| {
                let user = User::try_from(row.user)?;
                let membership = Membership {
                    user: user.id,
                    added_at: moment(row.added_at),
                };
                Ok((membership, user))
            })
            .collect()
    }

    /// Those of these users who are members of a group.
    pub async fn members_among(&self, group: GroupId, users: &[UserId]) -> Result<Vec<UserId>> {
        let mut members = Vec::new();
        for users in users.chunks(MOST) {
            let mut query =
                sql::query_as::<(String,)>(MEMBERS.sql_for(users.len())).bind(group.to_string());
            for user in MEMBERS.padded(users) {
                query = query.bind(user.to_string());
            }
            for (id,) in query.fetch_all(&self.readers).await? {
                members.push(parse(&id, cell("group_members", "user_id", &id))?);
            }
        }
        Ok(members)
    }

    /// The names of each user's groups, in their order. A user without a group is missing.
    pub async fn group_names_of(
        &self,
        users: &[UserId],
    ) -> Result<HashMap<UserId, Vec<GroupName>>> {
        let mut names: HashMap<UserId, Vec<GroupName>> = HashMap::new();
        for users in users.chunks(MOST) {
            let mut query = sql::query_as::<(String, String)>(GROUP_NAMES.sql_for(users.len()));
            for user in GROUP_NAMES.padded(users) {
                query = query.bind(user.to_string());
            }
            for (id, name) in query.fetch_all(&self.readers).await? {
                let user = parse(&id, cell("group_members", "user_id", &id))?;
                let name = parse(&name, cell("user_groups", "name", &name))?;
                names.entry(user).or_default().push(name);
            }
        }
        Ok(names)
    }

    /// Up to `limit` groups of a user, in the order of their names.
    pub async fn groups_of(&self, user: UserId, limit: u32) -> Result<Vec<Group>> {
        sql::query_as::<GroupRow>(sql::statement!(
            "SELECT ",
            GroupRow::COLUMNS,
            " FROM group_members JOIN user_groups ON user_groups.id = group_members.group_id
             WHERE group_members.user_id = $1 ORDER BY user_groups.search_key, user_groups.name_key LIMIT $2"
        ))
        .bind(user.to_string())
        .bind(limit)
        .fetch_values(&self.readers)
        .await
    }
}

/// Changes the members of a group. The users' rows are locked, and their versions were incremented. `by` adds the new
/// members.
pub(crate) async fn change_members(
    db: &mut Connection,
    group: GroupId,
    change: &MemberChange,
    by: Option<&Actor>,
    now: Timestamp,
) -> Result<()> {
    lock(db, group).await?;
    let applications = assignments::lock_assigned(db, group).await?;
    for added in change.added.chunks(MOST) {
        let mut query = sql::query(ADD.sql_for(added.len()))
            .bind(group.to_string())
            .bind(now.millis())
            .bind(actor_json(by)?);
        for (user, _) in ADD.padded(added) {
            query = query.bind(user.to_string());
        }
        query.execute(&mut *db).await?;
    }
    for removed in change.removed.chunks(MOST) {
        let mut query = sql::query(REMOVE.sql_for(removed.len())).bind(group.to_string());
        for (user, _) in REMOVE.padded(removed) {
            query = query.bind(user.to_string());
        }
        query.execute(&mut *db).await?;
    }
    let removed: Vec<String> = change
        .removed
        .iter()
        .map(|(user, _)| user.to_string())
        .collect();
    for application in applications {
        end_lost_access(db, &application, &removed, now).await?;
    }
    Ok(())
}

/// Increments the versions of the users, which locks them, and compares them with those that were read.
pub(crate) async fn increment_versions(
    db: &mut Connection,
    change: &MemberChange,
    now: Timestamp,
) -> Result<()> {
    let mut users: Vec<(UserId, i64)> = change
        .added
        .iter()
        .chain(&change.removed)
        .copied()
        .collect();
    users.sort_unstable();
    users.dedup();
    for users in users.chunks(MOST) {
        let mut query =
            sql::query_as::<(String, i64)>(INCREMENT.sql_for(users.len())).bind(now.millis());
        for (user, _) in INCREMENT.padded(users) {
            query = query.bind(user.to_string());
        }
        let found: HashMap<String, i64> = query.fetch_all(&mut *db).await?.into_iter().collect();
        for (user, version) in users {
            if found.get(&user.to_string()) != Some(&(version + 1)) {
                return Err(StoreError::Stale);
            }
        }
    }
    Ok(())
}
