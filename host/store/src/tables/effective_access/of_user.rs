//! The applications to which something grants a user access.

use super::details::EffectiveAccess;
use super::totals::{AccessTotals, LIMIT, TotalsRow};
use crate::engine::rows::{cell, parse};
use crate::engine::sql;
use crate::tables::groups::access::granting_applications;
use crate::{ApplicationCursor, Result, Store};
use assent_model::clock::Timestamp;
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

/// Of the first `$2` applications that the user `$1` can open: the state of the user and of the account, and the last
/// use.
const TOTALS: &str = concat!(
    "SELECT (SELECT users.state FROM users WHERE users.id = $1),
            (SELECT accounts.state FROM accounts
             WHERE accounts.user_id = $1 AND accounts.application_id = found.application_id),
            (SELECT account_use.signed_in_at FROM account_use
             WHERE account_use.user_id = $1 AND account_use.application_id = found.application_id)
     FROM (SELECT granting.application_id FROM (",
    granting_applications!(),
    ") AS granting ORDER BY granting.application_id LIMIT $2) AS found"
);

impl Store {
    /// The totals of the applications that a user can open. `unused_since` is the time from which on a use counts.
    pub async fn access_totals_of(
        &self,
        user: UserId,
        unused_since: Timestamp,
    ) -> Result<AccessTotals> {
        let rows = sql::query_as::<TotalsRow>(TOTALS)
            .bind(user.to_string())
            .bind(LIMIT)
            .fetch_all(&self.readers)
            .await?;
        Ok(AccessTotals::of(rows, unused_since))
    }

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
