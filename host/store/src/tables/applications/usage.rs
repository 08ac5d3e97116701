//! The usage of applications: the number of users with access, and the last sign-in.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::engine::batch::bulk_sql::{BulkSql, MOST};
use crate::engine::rows::{cell, moment, parse};
use crate::engine::sql;
use crate::tables::effective_access::count_users;
use crate::{Result, Store};
use assent_model::clock::Timestamp;
use assent_model::id::Did;

/// The usage of an application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApplicationUsage {
    /// The number of users who can open it; one more than [`MOST_COUNTED`](crate::MOST_COUNTED) if there are more.
    pub users: u32,
    /// When a user last signed in to it. The time may be up to ten minutes too early.
    pub last_sign_in_at: Option<Timestamp>,
    /// The digest of its logo.
    pub logo: Option<String>,
}

crate::engine::sql::row! {
    struct UsageRow {
        id: String,
        signed_in_at: Option<i64>,
        logo: Option<String>,
    }
}

static USAGE: LazyLock<BulkSql> = LazyLock::new(|| {
    BulkSql::new(
        "SELECT applications.id, application_use.signed_in_at, application_logos.digest AS logo
         FROM applications
         LEFT JOIN application_use ON application_use.application_id = applications.id
         LEFT JOIN application_logos ON application_logos.application_id = applications.id
         WHERE applications.id IN ({$})",
        0,
    )
});

impl Store {
    /// The usage of each of these applications.
    pub async fn application_usage(
        &self,
        applications: &[Did],
    ) -> Result<HashMap<Did, ApplicationUsage>> {
        let users = count_users(self, applications).await?;
        let mut found = HashMap::with_capacity(applications.len());
        for applications in applications.chunks(MOST) {
            let mut query = sql::query_as::<UsageRow>(USAGE.sql_for(applications.len()));
            for id in USAGE.padded(applications) {
                query = query.bind(id.to_string());
            }
            for row in query.fetch_all(&self.readers).await? {
                let id = parse(&row.id, cell("applications", "id", &row.id))?;
                let usage = ApplicationUsage {
                    users: users.get(&id).copied().unwrap_or_default(),
                    last_sign_in_at: row.signed_in_at.map(moment),
                    logo: row.logo,
                };
                found.insert(id, usage);
            }
        }
        Ok(found)
    }
}
