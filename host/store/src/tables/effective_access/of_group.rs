//! The access by a group: its members with their last use of its applications, and its applications.

use super::totals::{AccessTotals, LIMIT, TotalsRow};
use crate::engine::rows::{NEVER, cell, from_json, moment, parse};
use crate::engine::sql;
use crate::tables::actors::actor;
use crate::tables::users::row::UserRow;
use crate::{Result, Store, StoreError};
use assent_model::audit::Actor;
use assent_model::clock::Timestamp;
use assent_model::id::{Did, GroupId, UserId};
use assent_model::user::User;

/// The last use of an application of the group by the member. A member has few applications, and so has a group.
macro_rules! last_use {
    () => {
        "(SELECT MAX(account_use.signed_in_at) FROM group_assignments
          JOIN account_use ON account_use.application_id = group_assignments.application_id
          WHERE group_assignments.group_id = group_members.group_id
            AND account_use.user_id = group_members.user_id)"
    };
}

/// Up to `$3` members of the group `$1` that follow the user `$2`. A join of PostgreSQL reads no earlier users.
const MEMBERS: &str = sql::statement!(
    "SELECT group_members.added_at, group_members.added_by, ",
    last_use!(),
    " AS last_use_at, ",
    UserRow::COLUMNS,
    " FROM group_members JOIN users ON users.id = group_members.user_id
     WHERE group_members.group_id = $1 AND group_members.user_id > $2 AND users.id > $2
     ORDER BY group_members.user_id LIMIT $3"
);

/// Of the first `$2` members of the group `$1`: the state, no account, and the last use.
const TOTALS: &str = concat!(
    "SELECT (SELECT users.state FROM users WHERE users.id = group_members.user_id), CAST(NULL AS TEXT), ",
    last_use!(),
    " FROM group_members WHERE group_members.group_id = $1 ORDER BY group_members.user_id LIMIT $2"
);

/// A member of a group, with the last use.
#[derive(Clone, Debug)]
pub struct MemberUse {
    /// The user.
    pub user: User,
    /// When the user was added.
    pub added_at: Timestamp,
    /// Who added the user, as far as it is known.
    pub added_by: Option<Actor>,
    /// When the user last signed in to one of the applications that are assigned to the group. The time may be up to
    /// ten minutes too early.
    pub used_at: Option<Timestamp>,
}

/// An application that is assigned to a group.
#[derive(Clone, Debug)]
pub struct GroupApplication {
    /// The application.
    pub id: Did,
    /// Its name.
    pub name: String,
    /// Whether it is enabled.
    pub enabled: bool,
    /// The members' roles in the application.
    pub roles: Vec<String>,
    /// When it was assigned.
    pub assigned_at: Timestamp,
    /// Who assigned it, as far as it is known.
    pub assigned_by: Option<Actor>,
}

crate::engine::sql::row! {
    struct MemberUseRow {
        added_at: i64,
        added_by: Option<String>,
        last_use_at: Option<i64>,
        user: UserRow,
    }
}

crate::engine::sql::row! {
    struct GroupApplicationRow {
        application_id: String,
        application_name: String,
        grants_not_before: i64,
        roles: String,
        assigned_at: i64,
        assigned_by: Option<String>,
    }
}

impl TryFrom<MemberUseRow> for MemberUse {
    type Error = StoreError;
    fn try_from(row: MemberUseRow) -> Result<Self> {
        let user = User::try_from(row.user)?;
        let id = user.id.to_string();
        let added_by = row
            .added_by
            .map(|text| actor(&text, cell("group_members", "added_by", &id)))
            .transpose()?;
        Ok(Self {
            user,
            added_at: moment(row.added_at),
            added_by,
            used_at: row.last_use_at.map(moment),
        })
    }
}

impl TryFrom<GroupApplicationRow> for GroupApplication {
    type Error = StoreError;
    fn try_from(row: GroupApplicationRow) -> Result<Self> {
        let cell = |column| cell("group_assignments", column, &row.application_id);
        Ok(Self {
            id: parse(&row.application_id, cell("application_id"))?,
            name: row.application_name,
            enabled: row.grants_not_before != NEVER,
            roles: from_json(&row.roles, cell("roles"))?,
            assigned_at: moment(row.assigned_at),
            assigned_by: row
                .assigned_by
                .map(|text| actor(&text, cell("assigned_by")))
                .transpose()?,
        })
    }
}

impl Store {
    /// Up to `limit` members of a group that follow `after`, in the order of the users' creation, with their last use.
    pub async fn access_by_group(
        &self,
        group: GroupId,
        after: Option<UserId>,
        limit: u32,
    ) -> Result<Vec<MemberUse>> {
        sql::query_as::<MemberUseRow>(MEMBERS)
            .bind(group.to_string())
            .bind(after.map(|id| id.to_string()).unwrap_or_default())
            .bind(limit)
            .fetch_values(&self.readers)
            .await
    }

    /// The totals of the members of a group. `unused_since` is the time from which on a use counts.
    pub async fn access_totals_by(
        &self,
        group: GroupId,
        unused_since: Timestamp,
    ) -> Result<AccessTotals> {
        let rows = sql::query_as::<TotalsRow>(TOTALS)
            .bind(group.to_string())
            .bind(LIMIT)
            .fetch_all(&self.readers)
            .await?;
        Ok(AccessTotals::of(rows, unused_since))
    }

    /// The applications that are assigned to a group, in the order of their names.
    pub async fn applications_of_group(&self, group: GroupId) -> Result<Vec<GroupApplication>> {
        sql::query_as::<GroupApplicationRow>(
            "SELECT applications.id AS application_id, applications.name AS application_name,
                    applications.grants_not_before, group_assignments.roles, group_assignments.assigned_at,
                    group_assignments.assigned_by
             FROM group_assignments JOIN applications ON applications.id = group_assignments.application_id
             WHERE group_assignments.group_id = $1 ORDER BY applications.search_key, applications.id",
        )
        .bind(group.to_string())
        .fetch_values(&self.readers)
        .await
    }
}
