//! Lookups of managed objects.

use crate::accounts::{ACCOUNTS_WITH_USERS, HeldAccount, UserAccountRow};
use crate::applications::ApplicationRow;
use crate::groups::assignments::AssignmentRow;
use crate::groups::row::GroupRow;
use crate::rows::{cell, from_json, parse};
use crate::sql;
use crate::{Result, Store, UserAccount};
use assent_model::application::RegisteredApplication;
use assent_model::group::{Assignment, Group};
use assent_model::id::{Did, GroupId};
use assent_model::management::{Management, ManifestKey, ManifestOwner};

crate::sql::row! {
    struct ManagedApplicationRow {
        managed_key: String,
        application: ApplicationRow,
    }
}

crate::sql::row! {
    struct ManagedGroupRow {
        managed_key: String,
        group: GroupRow,
    }
}

crate::sql::row! {
    struct ManagedAssignmentRow {
        managed_by: Option<String>,
        assignment: AssignmentRow,
    }
}

const MANAGED_ACCOUNTS: &str = sql::statement!(
    ACCOUNTS_WITH_USERS,
    "WHERE accounts.id IN (SELECT account_id FROM managed_accounts WHERE managed_by = $1) ORDER BY accounts.id"
);

impl Store {
    /// Those who manage objects, sorted.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn manifest_owners(&self) -> Result<Vec<ManifestOwner>> {
        let rows: Vec<(String,)> = sql::query_as(
            "SELECT managed_by FROM applications WHERE managed_by IS NOT NULL
             UNION SELECT managed_by FROM user_groups WHERE managed_by IS NOT NULL ORDER BY managed_by",
        )
        .fetch_all(&self.readers)
        .await?;
        let mut owners = rows
            .into_iter()
            .map(|(owner,)| parse(&owner, cell("applications", "managed_by", &owner)))
            .collect::<Result<Vec<ManifestOwner>>>()?;
        // The databases sort by different collations.
        owners.sort();
        Ok(owners)
    }

    /// The applications of an owner with their keys, in the order of the keys.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn managed_applications(
        &self,
        owner: &ManifestOwner,
    ) -> Result<Vec<(ManifestKey, RegisteredApplication)>> {
        let rows: Vec<ManagedApplicationRow> = sql::query_as(sql::statement!(
            "SELECT applications.managed_key, ",
            ApplicationRow::COLUMNS,
            " FROM applications WHERE applications.managed_by = $1"
        ))
        .bind(owner.to_string())
        .fetch_all(&self.readers)
        .await?;
        let mut found = rows
            .into_iter()
            .map(|row| {
                let key = cell("applications", "managed_key", &row.managed_key);
                Ok((parse(&row.managed_key, key)?, row.application.try_into()?))
            })
            .collect::<Result<Vec<(ManifestKey, RegisteredApplication)>>>()?;
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(found)
    }

    /// The application with this key of an owner.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn managed_application(
        &self,
        Management { owner, key }: &Management,
    ) -> Result<Option<RegisteredApplication>> {
        let row: Option<ApplicationRow> = sql::query_as(sql::statement!(
            "SELECT ",
            ApplicationRow::COLUMNS,
            " FROM applications WHERE applications.managed_by = $1 AND applications.managed_key = $2"
        ))
        .bind(owner.to_string())
        .bind(key.to_string())
        .fetch_optional(&self.readers)
        .await?;
        row.map(RegisteredApplication::try_from).transpose()
    }

    /// Who manages an application, if somebody does.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn management_of_application(&self, id: &Did) -> Result<Option<Management>> {
        self.management(
            "SELECT managed_by, managed_key FROM applications WHERE id = $1 AND managed_by IS NOT NULL",
            id.to_string(),
        )
        .await
    }

    /// Who manages a group, if somebody does.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn management_of_group(&self, id: GroupId) -> Result<Option<Management>> {
        self.management(
            "SELECT managed_by, managed_key FROM user_groups WHERE id = $1 AND managed_by IS NOT NULL",
            id.to_string(),
        )
        .await
    }

    async fn management(&self, statement: &'static str, id: String) -> Result<Option<Management>> {
        let row: Option<(String, String)> = sql::query_as(statement)
            .bind(id)
            .fetch_optional(&self.readers)
            .await?;
        row.map(|(owner, key)| {
            Ok(Management {
                owner: parse(&owner, cell("applications", "managed_by", &owner))?,
                key: parse(&key, cell("applications", "managed_key", &key))?,
            })
        })
        .transpose()
    }

    /// The groups of an owner with their keys, in the order of the keys.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn managed_groups(&self, owner: &ManifestOwner) -> Result<Vec<(ManifestKey, Group)>> {
        let rows: Vec<ManagedGroupRow> = sql::query_as(sql::statement!(
            "SELECT user_groups.managed_key, ",
            GroupRow::COLUMNS,
            " FROM user_groups WHERE user_groups.managed_by = $1"
        ))
        .bind(owner.to_string())
        .fetch_all(&self.readers)
        .await?;
        let mut found = rows
            .into_iter()
            .map(|row| {
                let key = cell("user_groups", "managed_key", &row.managed_key);
                Ok((parse(&row.managed_key, key)?, row.group.try_into()?))
            })
            .collect::<Result<Vec<(ManifestKey, Group)>>>()?;
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(found)
    }

    /// The assignments to groups of the applications of an owner. The owner manages those where the second value is
    /// true.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn managed_assignments(
        &self,
        owner: &ManifestOwner,
    ) -> Result<Vec<(Assignment, bool)>> {
        let rows: Vec<ManagedAssignmentRow> = sql::query_as(
            "SELECT group_assignments.application_id, group_assignments.group_id, group_assignments.roles,
                    group_assignments.managed_by
             FROM group_assignments JOIN applications ON applications.id = group_assignments.application_id
             WHERE applications.managed_by = $1
             ORDER BY group_assignments.application_id, group_assignments.group_id",
        )
        .bind(owner.to_string())
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter()
            .map(|row| {
                let is_managed = row.managed_by.as_deref() == Some(owner.as_str());
                Ok((row.assignment.try_into()?, is_managed))
            })
            .collect()
    }

    /// The applications of an owner that are assigned to everyone, with the roles. The owner manages the assignments
    /// where the last value is true.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn managed_everyone(
        &self,
        owner: &ManifestOwner,
    ) -> Result<Vec<(Did, Vec<String>, bool)>> {
        let rows: Vec<(String, String, Option<String>)> = sql::query_as(
            "SELECT id, everyone_roles, everyone_managed_by FROM applications
             WHERE managed_by = $1 AND everyone_roles IS NOT NULL ORDER BY id",
        )
        .bind(owner.to_string())
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter()
            .map(|(id, roles, managed_by)| {
                Ok((
                    parse(&id, cell("applications", "id", &id))?,
                    from_json(&roles, cell("applications", "everyone_roles", &id))?,
                    managed_by.as_deref() == Some(owner.as_str()),
                ))
            })
            .collect()
    }

    /// The accounts that an owner manages.
    ///
    /// # Errors
    /// If the database fails, or a row cannot be read.
    pub async fn managed_accounts(&self, owner: &ManifestOwner) -> Result<Vec<UserAccount>> {
        let rows: Vec<UserAccountRow> = sql::query_as(MANAGED_ACCOUNTS)
            .bind(owner.to_string())
            .fetch_all(&self.readers)
            .await?;
        rows.into_iter()
            .map(|row| Ok(HeldAccount::try_from(row)?.person))
            .collect()
    }
}
