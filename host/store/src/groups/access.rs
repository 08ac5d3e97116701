//! A user's access to an application by assignments, as columns of other statements.

use crate::rows::{cell, from_json};
use crate::sql::{self, Field, Row};
use crate::{Result, StoreError};
use assent_model::group::{AssignedAccess, AssignedGroup};

/// The separator between the groups, and between a group's name and roles. Names of groups and JSON contain no control
/// characters.
const BETWEEN_GROUPS: char = '\u{1e}';
const BEFORE_ROLES: char = '\u{1f}';

/// The groups of a user that an application is assigned to, as one text, so that statements need no row for each group.
macro_rules! assigned_groups {
    ($user:literal, $application:literal) => {
        concat!(
            "(SELECT string_agg(user_groups.name || '\u{1f}' || group_assignments.roles, '\u{1e}')
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
    /// The columns for the user `$1`, for a statement with the table `applications`.
    pub(crate) const OF_USER: &'static str = concat!(
        assigned_groups!("CAST($1 AS TEXT)", "applications.id"),
        ", applications.everyone_roles"
    );
}

impl Field for AssignedAccessRow {
    /// The columns for a statement with the table `accounts`.
    const COLUMNS: Option<&'static str> = Some(concat!(
        assigned_groups!("accounts.user_id", "accounts.application_id"),
        ", (SELECT everyone_roles FROM applications WHERE applications.id = accounts.application_id) AS everyone_roles"
    ));

    fn find(columns: &[String], _: &str, places: &mut Vec<usize>) -> sql::Result<()> {
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
        let roles =
            |text: &str, name: &str| from_json(text, cell("group_assignments", "roles", name));
        let group = |text: &str| {
            let (name, json) = text
                .split_once(BEFORE_ROLES)
                .ok_or_else(|| cell("user_groups", "name", text).unexpected())?;
            Ok(AssignedGroup {
                name: name.to_owned(),
                roles: roles(json, name)?,
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
    use super::*;

    #[test]
    fn groups_are_read_in_the_order_of_their_names() {
        let row = AssignedAccessRow {
            assigned_groups: Some("Staff\u{1f}[\"a\"]\u{1e}Admins\u{1f}[]".to_owned()),
            everyone_roles: Some("[\"guest\"]".to_owned()),
        };
        let access = AssignedAccess::try_from(row).unwrap();
        assert_eq!(access.group_names(), ["Admins", "Staff"]);
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
