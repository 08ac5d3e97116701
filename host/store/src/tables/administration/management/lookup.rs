//! Lookups of managed objects.

use crate::engine::rows::{cell, from_json, parse};
use crate::engine::sql;
use crate::tables::accounts::user_account::{ACCOUNTS_WITH_USERS, HeldAccount, UserAccountRow};
use crate::tables::applications::row::ApplicationRow;
use crate::tables::groups::assignments::AssignmentRow;
use crate::tables::groups::row::GroupRow;
use crate::{Result, Store, UserAccount};
use assent_model::application::RegisteredApplication;
use assent_model::group::{Assignment, Group};
use assent_model::id::{Did, GroupId};
use assent_model::management::{Management, ManifestKey, ManifestOwner};

crate::engine::sql::row! {
    struct ManagedApplicationRow {
        managed_key: String,
        application: ApplicationRow,
    }
}

crate::engine::sql::row! {
    struct ManagedGroupRow {
        managed_key: String,
        group: GroupRow,
    }
}

const MANAGED_ACCOUNTS: &str = sql::statement!(
    ACCOUNTS_WITH_USERS,
    "WHERE accounts.id IN (SELECT account_id FROM managed_accounts WHERE managed_by = $1) ORDER BY accounts.id"
);

/// Returns the objects in the order of their keys, because the databases sort by different collations.
fn by_key<T>(
    found: impl Iterator<Item = Result<(ManifestKey, T)>>,
) -> Result<Vec<(ManifestKey, T)>> {
    let mut found = found.collect::<Result<Vec<_>>>()?;
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(found)
}

impl Store {
    /// The manifest owners, sorted.
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
        by_key(rows.into_iter().map(|row| {
            let key = cell("applications", "managed_key", &row.managed_key);
            Ok((parse(&row.managed_key, key)?, row.application.try_into()?))
        }))
    }

    /// The application with this key of an owner.
    pub async fn managed_application(
        &self,
        Management { owner, key }: &Management,
    ) -> Result<Option<RegisteredApplication>> {
        sql::query_as::<ApplicationRow>(sql::statement!(
            "SELECT ",
            ApplicationRow::COLUMNS,
            " FROM applications WHERE applications.managed_by = $1 AND applications.managed_key = $2"
        ))
        .bind(owner.to_string())
        .bind(key.to_string())
        .fetch_value(&self.readers)
        .await
    }

    /// The owner and key of an application that a manifest manages.
    pub async fn management_of_application(&self, id: &Did) -> Result<Option<Management>> {
        const STATEMENT: &str = "SELECT managed_by, managed_key FROM applications
             WHERE id = $1 AND managed_by IS NOT NULL";
        self.read_management("applications", STATEMENT, id.to_string())
            .await
    }

    /// The owner and key of a group that a manifest manages.
    pub async fn management_of_group(&self, id: GroupId) -> Result<Option<Management>> {
        const STATEMENT: &str = "SELECT managed_by, managed_key FROM user_groups
             WHERE id = $1 AND managed_by IS NOT NULL";
        self.read_management("user_groups", STATEMENT, id.to_string())
            .await
    }

    async fn read_management(
        &self,
        table: &'static str,
        statement: &'static str,
        id: String,
    ) -> Result<Option<Management>> {
        let row: Option<(String, String)> = sql::query_as(statement)
            .bind(id)
            .fetch_optional(&self.readers)
            .await?;
        row.map(|(owner, key)| {
            Ok(Management {
                owner: parse(&owner, cell(table, "managed_by", &owner))?,
                key: parse(&key, cell(table, "managed_key", &key))?,
            })
        })
        .transpose()
    }

    /// The groups of an owner with their keys, in the order of the keys.
    pub async fn managed_groups(&self, owner: &ManifestOwner) -> Result<Vec<(ManifestKey, Group)>> {
        let rows: Vec<ManagedGroupRow> = sql::query_as(sql::statement!(
            "SELECT user_groups.managed_key, ",
            GroupRow::COLUMNS,
            " FROM user_groups WHERE user_groups.managed_by = $1"
        ))
        .bind(owner.to_string())
        .fetch_all(&self.readers)
        .await?;
        by_key(rows.into_iter().map(|row| {
            let key = cell("user_groups", "managed_key", &row.managed_key);
            Ok((parse(&row.managed_key, key)?, row.group.try_into()?))
        }))
    }

    /// The assignments to groups that an owner manages, of the owner's applications.
    pub async fn managed_assignments(&self, owner: &ManifestOwner) -> Result<Vec<Assignment>> {
        let rows: Vec<AssignmentRow> = sql::query_as(
            "SELECT group_assignments.application_id, group_assignments.group_id, group_assignments.roles
             FROM group_assignments JOIN applications ON applications.id = group_assignments.application_id
             WHERE applications.managed_by = $1 AND group_assignments.managed_by = $1
             ORDER BY group_assignments.application_id, group_assignments.group_id",
        )
        .bind(owner.to_string())
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter().map(TryInto::try_into).collect()
    }

    /// The applications of an owner with an assignment to everyone that the owner manages, with the roles.
    pub async fn managed_everyone(&self, owner: &ManifestOwner) -> Result<Vec<(Did, Vec<String>)>> {
        let rows: Vec<(String, String)> = sql::query_as(
            "SELECT id, everyone_roles FROM applications
             WHERE managed_by = $1 AND everyone_managed_by = $1 AND everyone_roles IS NOT NULL ORDER BY id",
        )
        .bind(owner.to_string())
        .fetch_all(&self.readers)
        .await?;
        rows.into_iter()
            .map(|(id, roles)| {
                Ok((
                    parse(&id, cell("applications", "id", &id))?,
                    from_json(&roles, cell("applications", "everyone_roles", &id))?,
                ))
            })
            .collect()
    }

    /// The accounts that an owner manages.
    pub async fn managed_accounts(&self, owner: &ManifestOwner) -> Result<Vec<UserAccount>> {
        let rows: Vec<UserAccountRow> = sql::query_as(MANAGED_ACCOUNTS)
            .bind(owner.to_string())
            .fetch_all(&self.readers)
            .await?;
        rows.into_iter()
            .map(|row| Ok(HeldAccount::try_from(row)?.user_account))
            .collect()
    }
}
