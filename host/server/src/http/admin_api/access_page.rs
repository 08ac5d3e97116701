//! A page of the users with access to an application, for the list and the export.

use super::input::{PageLimit, after};
use crate::domain::Services;
use crate::domain::admin::{self, AccessQuery, AccessRow};
use crate::http::problem::Problem;
use assent_model::id::Did;
use assent_store::AccessFilter;

/// Returns the users of a page after a cursor and the next one, each with its own cursor.
pub(super) async fn page(
    services: &Services,
    application: &Did,
    q: Option<String>,
    denied: bool,
    cursor: Option<&str>,
    limit: PageLimit,
) -> Result<Vec<AccessRow>, Problem> {
    let limit = limit.and_one();
    let filter = if denied {
        AccessFilter::Denied
    } else {
        AccessFilter::All
    };
    let Some(q) = q else {
        return Ok(admin::access_to(services, application, filter, after(cursor)?, limit).await?);
    };
    let query = AccessQuery {
        q,
        filter,
        after: after(cursor)?,
    };
    Ok(admin::find_access(services, application, &query, limit).await?)
}
