//! A user's access to an application by assignments, as conditions and columns of other statements.

use crate::engine::rows::{cell, from_json, moment, parse};
use crate::engine::sql;
use crate::engine::sql::{Field, Row};
use crate::tables::actors::actor;
use crate::{Result, StoreError};
use assent_model::group::{AssignedAccess, AssignedGroup};

/// The separators between the groups, and between the values of a group. Names of groups and JSON contain no control
/// characters.
const BETWEEN_GROUPS: char = '\u{1e}';
const BETWEEN_VALUES: char = '\u{1f}';

/// The condition that an application is assigned to a group of a user. It is a scalar subquery, because PostgreSQL may
/// read all members of all groups for an `EXISTS`.
macro_rules! in_assigned_group {
    ($user:literal, $application:literal) => {
        concat!(
            "((SELECT 1 FROM group_members AS membership
               JOIN group_assignments ON group_assignments.group_id = membership.group_id
               WHERE membership.user_id = ",
            $user,
            " AND group_assignments.application_id = ",
            $application,
            " LIMIT 1) IS NOT NULL)"
        )
    };
}
pub(crate) use in_assigned_group;

/// The applications that grant the user `$1` access: by an own account, by a group, or because they are assigned to
/// everyone, which means all users who are not terminated.
macro_rules! granting_applications {
    () => {
        "SELECT application_id FROM accounts WHERE user_id = $1 AND individual = 1
         UNION SELECT group_assignments.application_id FROM group_members
               JOIN group_assignments ON group_assignments.group_id = group_members.group_id
               WHERE group_members.user_id = $1
         UNION SELECT id FROM applications
               WHERE everyone_roles IS NOT NULL
                 AND EXISTS (SELECT 1 FROM users WHERE users.id = $1 AND users.state <> 'terminated')"
    };
}
pub(crate) use granting_applications;

/// The groups of a user that an application is assigned to, as one text, so that statements need no row for each group.
macro_rules! assigned_groups {
    ($user:literal, $application:literal) => {
        concat!(
            "(SELECT string_agg(user_groups.id || '\u{1f}' || user_groups.name || '\u{1f}' || group_assignments.roles
                                || '\u{1f}' || CAST(CASE WHEN group_members.added_at > group_assignments.assigned_at
                                                         THEN group_members.added_at
                                                         ELSE group_assignments.assigned_at END AS TEXT)
                                || '\u{1f}' || COALESCE(CASE WHEN group_members.added_at > group_assignments.assigned_at
                                                             THEN group_members.added_by
                                                             ELSE group_assignments.assigned_by END, ''), '\u{1e}')
              FROM group_members
              JOIN group_assignments ON group_assignments.group_id = group_members.group_id
              JOIN user_groups ON user_groups.id = group_members.group_id
              WHERE group_members.user_id = ",
            $user,
            " AND group_assignments.application_id = ",
            $application,
            ") AS assigned_groups"
        )
    };
}

/// A user's access to an application by assignments: two columns.
pub(crate) struct AssignedAccessRow {
    assigned_groups: Option<String>,
    everyone_roles: Option<String>,
}

impl AssignedAccessRow {
    /// The columns for a statement with the tables `accounts` and `applications`.
    pub(crate) const OF_ACCOUNT: &'static str = concat!(
        assigned_groups!("accounts.user_id", "accounts.application_id"),
        ", applications.everyone_roles"
    );
    /// The columns for a statement with the tables `users` and `applications`.
    pub(crate) const OF_USER_AND_APPLICATION: &'static str = concat!(
        assigned_groups!("users.id", "applications.id"),
        ", applications.everyone_roles"
    );
    /// The columns for the users `v.column1`, for a statement with the table `applications`.
    pub(crate) const OF_ASKED_USER: &'static str = concat!(
        assigned_groups!("v.column1", "applications.id"),
        ", applications.everyone_roles"
    );
}

impl Field for AssignedAccessRow {
    /// The columns for a statement with the table `accounts`.
    const COLUMNS: Option<&'static str> = Some(concat!(
        assigned_groups!("accounts.user_id", "accounts.application_id"),
        ", (SELECT everyone_roles FROM applications WHERE applications.id = accounts.application_id) AS everyone_roles"
    ));

    fn find(columns: &sql::Columns, _: &str, places: &mut Vec<usize>) -> sql::Result<()> {
        <Option<String> as Field>::find(columns, "assigned_groups", places)?;
        <Option<String> as Field>::find(columns, "everyone_roles", places)
    }

    fn read(row: &mut Row, places: &mut sql::Places<'_>) -> sql::Result<Self> {
        Ok(Self {
            assigned_groups: Field::read(row, places)?,
            everyone_roles: Field::read(row, places)?,
        })
    }
}

impl TryFrom<AssignedAccessRow> for AssignedAccess {
    type Error = StoreError;
    fn try_from(row: AssignedAccessRow) -> Result<Self> {
        let group = |text: &str| {
            let column = |column| cell("group_assignments", column, text);
            let mut values = text.split(BETWEEN_VALUES);
            let mut next = |column| {
                values
                    .next()
                    .ok_or_else(|| cell("user_groups", column, text).unexpected())
            };
            Ok(AssignedGroup {
                id: parse(next("id")?, cell("user_groups", "id", text))?,
                name: next("name")?.to_owned(),
                roles: from_json(next("roles")?, column("roles"))?,
                since: moment(parse(next("assigned_at")?, column("assigned_at"))?),
                by: Some(next("assigned_by")?)
                    .filter(|by| !by.is_empty())
                    .map(|by| actor(by, column("assigned_by")))
                    .transpose()?,
            })
        };
        let mut groups = row
            .assigned_groups
            .iter()
            .flat_map(|text| text.split(BETWEEN_GROUPS))
            .map(group)
            .collect::<Result<Vec<_>>>()?;
        // The databases aggregate in no defined order.
        groups.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        let everyone = row.everyone_roles.as_deref();
        Ok(Self {
            groups,
            everyone: everyone
                .map(|text| from_json(text, cell("applications", "everyone_roles", "")))
                .transpose()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use assent_model::audit::Actor;
    use assent_model::entropy::SystemEntropy;
    use assent_model::id::GroupId;

    use super::*;

    #[test]
    fn groups_are_read_in_the_order_of_their_names() {
        let [one, other] = [1, 2].map(|at| GroupId::new(moment(at), &SystemEntropy));
        let row = AssignedAccessRow {
            assigned_groups: Some(format!(
                "{one}\u{1f}Staff\u{1f}[\"a\"]\u{1f}5\u{1f}[\"server\",null]\u{1e}\
                 {other}\u{1f}Admins\u{1f}[]\u{1f}7\u{1f}"
            )),
            everyone_roles: Some("[\"guest\"]".to_owned()),
        };
        let access = AssignedAccess::try_from(row).unwrap();
        assert_eq!(access.group_names(), ["Admins", "Staff"]);
        let ids: Vec<GroupId> = access.groups.iter().map(|group| group.id).collect();
        assert_eq!(ids, [other, one]);
        let since: Vec<i64> = access
            .groups
            .iter()
            .map(|group| group.since.millis())
            .collect();
        assert_eq!(since, [7, 5]);
        let by: Vec<Option<Actor>> = access.groups.iter().map(|group| group.by.clone()).collect();
        assert_eq!(by, [None, Some(Actor::Server)]);
        let roles: Vec<&String> = access.roles().collect();
        assert_eq!(roles, ["a", "guest"]);
    }

    #[test]
    fn without_an_assignment_there_is_no_access() {
        let row = AssignedAccessRow {
            assigned_groups: None,
            everyone_roles: None,
        };
        assert!(!AssignedAccess::try_from(row).unwrap().gives_access());
    }
}
