//! The details of users' access, for the rows of a page.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::engine::batch::bulk_sql::{BulkSql, MOST};
use crate::engine::rows::{NEVER, cell, moment, parse};
use crate::engine::sql;
use crate::tables::accounts::user_account::UserAccountRow;
use crate::tables::actors::actor;
use crate::tables::groups::access::AssignedAccessRow;
use crate::tables::users::row::UserRow;
use crate::{Result, Store, StoreError};
use assent_model::account::Account;
use assent_model::audit::Actor;
use assent_model::clock::Timestamp;
use assent_model::group::AssignedAccess;
use assent_model::id::{Did, UserId};
use assent_model::user::User;

/// The access of a user to an application, with everything that decides about it at a sign-in.
#[derive(Clone, Debug)]
pub struct EffectiveAccess {
    /// The user.
    pub user: User,
    /// The application.
    pub application: Did,
    /// The name of the application.
    pub application_name: String,
    /// Whether the application is enabled.
    pub application_enabled: bool,
    /// The stored account.
    pub account: Option<Account>,
    /// The access by groups and by an assignment to everyone.
    pub assigned: AssignedAccess,
    /// Who gave the access by the account itself, as far as it is known.
    pub granted_by: Option<Actor>,
    /// When an account that existed before began to give access itself. Otherwise its creation did.
    pub granted_at: Option<Timestamp>,
    /// When the application was assigned to everyone.
    pub everyone_since: Option<Timestamp>,
    /// Who assigned it to everyone, as far as it is known.
    pub everyone_by: Option<Actor>,
    /// When the user last signed in to the application. The time may be up to ten minutes too early.
    pub used_at: Option<Timestamp>,
}

crate::engine::sql::row! {
    struct AccessRow {
        application_name: String,
        application_grants_not_before: i64,
        everyone_since: Option<i64>,
        everyone_by: Option<String>,
        granted_by: Option<String>,
        granted_at: Option<i64>,
        last_use_at: Option<i64>,
        held: UserAccountRow,
    }
}

/// The access of users to applications; a condition follows. Without an account, `account_id` is empty.
const DETAILS: &str = sql::statement!(
    "SELECT applications.name AS application_name,
    applications.grants_not_before AS application_grants_not_before, applications.everyone_since,
    applications.everyone_by, accounts.granted_by, accounts.granted_at, account_use.signed_in_at AS last_use_at,
    COALESCE(accounts.id, '') AS account_id,
    applications.id AS application_id, COALESCE(accounts.name, '') AS account_name,
    COALESCE(accounts.roles, '[]') AS roles, COALESCE(accounts.short_code, '') AS short_code,
    COALESCE(accounts.state, '') AS account_state, COALESCE(accounts.individual, 0) AS individual,
    COALESCE(accounts.version, 0) AS account_version, COALESCE(accounts.created_at, 0) AS account_created_at,
    COALESCE(accounts.updated_at, 0) AS account_updated_at,
    applications.version AS application_version, applications.updated_at AS application_updated_at, ",
    AssignedAccessRow::OF_USER_AND_APPLICATION,
    ", ",
    UserRow::COLUMNS,
    " FROM users CROSS JOIN applications
     LEFT JOIN accounts ON accounts.user_id = users.id AND accounts.application_id = applications.id
     LEFT JOIN account_use ON account_use.user_id = users.id AND account_use.application_id = applications.id "
);

static OF_USERS: LazyLock<BulkSql> = LazyLock::new(|| {
    const SQL: &str = sql::statement!(DETAILS, "WHERE applications.id = $1 AND users.id IN ({$})");
    BulkSql::new(SQL, 1)
});
static OF_APPLICATIONS: LazyLock<BulkSql> = LazyLock::new(|| {
    const SQL: &str = sql::statement!(DETAILS, "WHERE users.id = $1 AND applications.id IN ({$})");
    BulkSql::new(SQL, 1)
});

impl TryFrom<AccessRow> for EffectiveAccess {
    type Error = StoreError;
    fn try_from(row: AccessRow) -> Result<Self> {
        let id = row.held.application_id.clone();
        let by = |text: &Option<String>, table, column| {
            let actor = text
                .as_deref()
                .map(|text| actor(text, cell(table, column, &id)));
            actor.transpose()
        };
        let granted_by = by(&row.granted_by, "accounts", "granted_by")?;
        let everyone_by = by(&row.everyone_by, "applications", "everyone_by")?;
        let (user, account, assigned) = row.held.into_access()?;
        Ok(Self {
            user,
            application: parse(&id, cell("applications", "id", &id))?,
            application_name: row.application_name,
            application_enabled: row.application_grants_not_before != NEVER,
            account,
            assigned,
            granted_by,
            granted_at: row.granted_at.map(moment),
            everyone_by,
            everyone_since: row.everyone_since.map(moment),
            used_at: row.last_use_at.map(moment),
        })
    }
}

impl Store {
    /// The access of these users to an application, in their order. A deleted user is missing.
    pub async fn access_of_users(
        &self,
        application: &Did,
        users: &[UserId],
    ) -> Result<Vec<EffectiveAccess>> {
        let mut found = HashMap::with_capacity(users.len());
        for users in users.chunks(MOST) {
            let ids: Vec<String> = users.iter().map(ToString::to_string).collect();
            for access in self
                .details(&OF_USERS, application.to_string(), &ids)
                .await?
            {
                found.insert(access.user.id, access);
            }
        }
        Ok(users.iter().filter_map(|id| found.remove(id)).collect())
    }

    /// The access of a user to these applications, in their order. A deleted application is missing.
    pub(super) async fn access_to_applications(
        &self,
        user: UserId,
        applications: &[Did],
    ) -> Result<Vec<EffectiveAccess>> {
        let mut found = HashMap::with_capacity(applications.len());
        for applications in applications.chunks(MOST) {
            let ids: Vec<String> = applications.iter().map(ToString::to_string).collect();
            for access in self
                .details(&OF_APPLICATIONS, user.to_string(), &ids)
                .await?
            {
                found.insert(access.application.clone(), access);
            }
        }
        let in_order = applications.iter().filter_map(|id| found.remove(id));
        Ok(in_order.collect())
    }

    async fn details(
        &self,
        statement: &BulkSql,
        of: String,
        ids: &[String],
    ) -> Result<Vec<EffectiveAccess>> {
        let mut query = sql::query_as::<AccessRow>(statement.sql_for(ids.len())).bind(of);
        for id in statement.padded(ids) {
            query = query.bind(id);
        }
        query.fetch_values(&self.readers).await
    }
}
