//! The applications to which something grants a user access.

use super::details::EffectiveAccess;
use crate::engine::rows::{cell, parse};
use crate::engine::sql;
use crate::tables::groups::access::granting_applications;
use crate::{ApplicationCursor, Result, Store};
use assent_model::id::{Did, UserId};
use assent_model::search::search_form;

/// Up to `$4` applications that grant the user `$1` access and follow the application with the id `$2` and the search
/// key `$3`. The applications are few, so the database sorts them.
const OF_USER: &str = concat!(
    "SELECT applications.id FROM applications
     WHERE applications.id IN (",
    granting_applications!(),
    ") AND ($2 = '' OR (applications.search_key, applications.id) > ($3, $2))
     ORDER BY applications.search_key, applications.id LIMIT $4"
);

impl Store {
    /// Up to `limit` applications that follow `after`, to which something grants a user access, in the order of their
    /// names. An assignment to everyone counts for each user.
    pub async fn access_of_user(
        &self,
        user: UserId,
        after: Option<&ApplicationCursor>,
        limit: u32,
    ) -> Result<Vec<EffectiveAccess>> {
        let rows: Vec<(String,)> = sql::query_as(OF_USER)
            .bind(user.to_string())
            .bind(after.map(|after| after.id.to_string()).unwrap_or_default())
            .bind(
                after
                    .map(|after| search_form(&after.name))
                    .unwrap_or_default(),
            )
            .bind(limit)
            .fetch_all(&self.readers)
            .await?;
        let applications = rows
            .into_iter()
            .map(|(id,)| parse(&id, cell("applications", "id", &id)))
            .collect::<Result<Vec<Did>>>()?;
        self.access_to_applications(user, &applications).await
    }
}
