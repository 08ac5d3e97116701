//! Assignments of applications to groups and to everyone.

use crate::engine::rows::{cell, from_json, parse, to_json};
use crate::engine::sql;
use crate::engine::sql::Connection;
use crate::tables::actors::actor_json;
use crate::{Result, Store, StoreError};
use assent_model::audit::Actor;
use assent_model::clock::Timestamp;
use assent_model::group::{Assignee, Assignment};
use assent_model::id::{Did, GroupId};

use super::lost_access;
use super::row::lock;

/// The number of accounts that are read for the known roles of an application.
const ACCOUNTS_WITH_ROLES: i64 = 500;

crate::engine::sql::row! {
    pub(crate) struct AssignmentRow of group_assignments {
        application_id: String,
        group_id: String,
        roles: String,
    }
}

impl TryFrom<AssignmentRow> for Assignment {
    type Error = StoreError;
    fn try_from(row: AssignmentRow) -> Result<Self> {
        let cell = |column| cell("group_assignments", column, &row.group_id);
        Ok(Self {
            application: parse(&row.application_id, cell("application_id"))?,
            group: parse(&row.group_id, cell("group_id"))?,
            roles: from_json(&row.roles, cell("roles"))?,
        })
    }
}

impl Store {
    /// The assignments of an application to groups, in the order of their names.
    pub async fn assignments_of(&self, application: &Did) -> Result<Vec<Assignment>> {
        self.assignments(
            "SELECT group_assignments.application_id, group_assignments.group_id, group_assignments.roles
             FROM group_assignments JOIN user_groups ON user_groups.id = group_assignments.group_id
             WHERE group_assignments.application_id = $1 ORDER BY user_groups.name_key",
            application.to_string(),
        )
        .await
    }

    async fn assignments(&self, statement: &'static str, id: String) -> Result<Vec<Assignment>> {
        sql::query_as::<AssignmentRow>(statement)
            .bind(id)
            .fetch_values(&self.readers)
            .await
    }

    /// The roles that an application assigns to everyone; `None` if it is not assigned to everyone.
    pub async fn roles_of_everyone(&self, application: &Did) -> Result<Option<Vec<String>>> {
        let row: Option<(Option<String>,)> =
            sql::query_as("SELECT everyone_roles FROM applications WHERE id = $1")
                .bind(application.to_string())
                .fetch_optional(&self.readers)
                .await?;
        let roles = row.and_then(|(roles,)| roles);
        roles
            .map(|text| {
                from_json(
                    &text,
                    cell("applications", "everyone_roles", application.as_str()),
                )
            })
            .transpose()
    }

    /// The known roles of an application: those of its assignments and of its newest accounts, sorted.
    pub async fn known_roles(&self, application: &Did) -> Result<Vec<String>> {
        let rows: Vec<(String,)> = sql::query_as(
            "SELECT roles FROM group_assignments WHERE application_id = $1
             UNION SELECT everyone_roles FROM applications WHERE id = $1 AND everyone_roles IS NOT NULL
             UNION SELECT roles FROM (SELECT roles FROM accounts WHERE application_id = $1
                                      ORDER BY id DESC LIMIT $2) AS newest",
        )
        .bind(application.to_string())
        .bind(ACCOUNTS_WITH_ROLES)
        .fetch_all(&self.readers)
        .await?;
        let mut known: Vec<String> = Vec::new();
        for (roles,) in rows {
            let roles: Vec<String> =
                from_json(&roles, cell("accounts", "roles", application.as_str()))?;
            known.extend(roles);
        }
        known.sort_unstable();
        known.dedup();
        Ok(known)
    }
}

/// Assigns an application to a group or to everyone, with these roles, or replaces the roles. `by` gave a new
/// assignment.
pub(crate) async fn assign(
    db: &mut Connection,
    application: &Did,
    to: Assignee,
    roles: &[String],
    by: Option<&Actor>,
    now: Timestamp,
) -> Result<()> {
    let (application, roles) = (application.to_string(), to_json(&roles)?);
    let assignment = match to {
        Assignee::Everyone => sql::query(
            "UPDATE applications SET everyone_since = CASE WHEN everyone_roles IS NULL THEN $3
                                                               ELSE everyone_since END,
                                         everyone_by = CASE WHEN everyone_roles IS NULL THEN CAST($4 AS TEXT)
                                                            ELSE everyone_by END,
                                         everyone_roles = $2
                 WHERE id = $1",
        )
        .bind(&application)
        .bind(roles)
        .bind(now.millis())
        .bind(actor_json(by)?),
        Assignee::Group(group) => {
            // Groups are locked before applications, as in all transactions.
            lock(db, group).await?;
            sql::query(
                "INSERT INTO group_assignments (application_id, group_id, roles, assigned_at, assigned_by)
                 VALUES ($1, $2, $3, $4, $5)
                 ON CONFLICT (application_id, group_id) DO UPDATE SET roles = excluded.roles",
            )
            .bind(&application)
            .bind(group.to_string())
            .bind(roles)
            .bind(now.millis())
            .bind(actor_json(by)?)
        }
    };
    increment_version(db, &application, now).await?;
    assignment.execute(db).await?;
    Ok(())
}

/// Removes an assignment.
pub(crate) async fn unassign(
    db: &mut Connection,
    application: &Did,
    from: Assignee,
    now: Timestamp,
) -> Result<()> {
    let application = application.to_string();
    increment_version(db, &application, now).await?;
    let removed = match from {
        Assignee::Group(group) => remove(db, &application, group, now).await?,
        Assignee::Everyone => remove_everyone(db, &application, now).await?,
    };
    if removed {
        Ok(())
    } else {
        Err(StoreError::Overtaken(
            "the assignment was removed meanwhile",
        ))
    }
}

/// Increments the version of an application because of a change of its assignments, and locks it.
async fn increment_version(db: &mut Connection, application: &str, now: Timestamp) -> Result<()> {
    let changed =
        sql::query("UPDATE applications SET version = version + 1, updated_at = $2 WHERE id = $1")
            .bind(application.to_owned())
            .bind(now.millis())
            .execute(db)
            .await?;
    if changed == 0 {
        return Err(StoreError::Overtaken(
            "the application was deleted meanwhile",
        ));
    }
    Ok(())
}

/// Increments the versions of the applications that are assigned to a group, and locks them. Returns their ids.
pub(super) async fn increment_versions(
    db: &mut Connection,
    group: GroupId,
    now: Timestamp,
) -> Result<Vec<String>> {
    let applications: Vec<(String,)> = sql::query_as(
        "UPDATE applications SET version = version + 1, updated_at = $2
         WHERE id IN (SELECT application_id FROM group_assignments WHERE group_id = $1) RETURNING id",
    )
    .bind(group.to_string())
    .bind(now.millis())
    .fetch_all(db)
    .await?;
    Ok(applications.into_iter().map(|(id,)| id).collect())
}

/// Locks the applications that are assigned to a group, and returns their ids. A concurrent removal of an assignment
/// waits. So one of the two transactions detects that a member has no access any more.
pub(super) async fn lock_assigned(db: &mut Connection, group: GroupId) -> Result<Vec<String>> {
    let applications: Vec<(String,)> = sql::query_as(
        "UPDATE applications SET version = version
         WHERE id IN (SELECT application_id FROM group_assignments WHERE group_id = $1) RETURNING id",
    )
    .bind(group.to_string())
    .fetch_all(db)
    .await?;
    Ok(applications.into_iter().map(|(id,)| id).collect())
}

/// Removes the assignment of an application to a group. The row of the application is locked. Returns whether there was
/// an assignment.
pub(super) async fn remove(
    db: &mut Connection,
    application: &str,
    group: GroupId,
    now: Timestamp,
) -> Result<bool> {
    let removed =
        sql::query("DELETE FROM group_assignments WHERE application_id = $1 AND group_id = $2")
            .bind(application.to_owned())
            .bind(group.to_string())
            .execute(&mut *db)
            .await?;
    lost_access::end_of_members(db, application, group, now).await?;
    Ok(removed > 0)
}

async fn remove_everyone(db: &mut Connection, application: &str, now: Timestamp) -> Result<bool> {
    let removed = sql::query(
        "UPDATE applications SET everyone_roles = NULL, everyone_since = NULL, everyone_by = NULL,
                                 everyone_managed_by = NULL
         WHERE id = $1 AND everyone_roles IS NOT NULL",
    )
    .bind(application.to_owned())
    .execute(&mut *db)
    .await?;
    lost_access::end_of_everyone(db, application, now).await?;
    Ok(removed > 0)
}
